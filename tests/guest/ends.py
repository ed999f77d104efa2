# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Parts that the programs that check contents share: memory, ends of connections, statuses.

They run in a guest, beside this file, with the pyverbs of the guest's rdma-core.
"""

import ctypes
import json
import mmap
import pathlib
import socket
import time

from pyverbs import enums
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CompChannel, CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

PAGE = mmap.PAGESIZE
MIB = 1 << 20
MAP_FIXED, MAP_NORESERVE, MAP_HUGETLB = 0x10, 0x4000, 0x40000

ACCESS_ALL = (enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_WRITE
              | enums.IBV_ACCESS_REMOTE_READ)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                       ctypes.c_int, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

STATUS = {value: name[len("IBV_WC_"):] for name, value in vars(enums).items()
          if name.startswith("IBV_WC_") and (name.endswith("_ERR") or name == "IBV_WC_SUCCESS")}


def ipv4_gid_index(device):
    """The index of the GID of the guest's IPv4 address, which is not always the same."""
    gids = pathlib.Path(f"/sys/class/infiniband/{device}/ports/1/gids")
    return min(int(entry.name) for entry in gids.iterdir()
               if entry.read_text().startswith("0000:0000:0000:0000:0000:ffff:"))


def _mmap(address, length, protection, flags, fd):
    address = _libc.mmap(address, length, protection, flags, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return address


class Memory:
    """Mapped memory of this process."""

    def __init__(self, length, *, flags=0, protection=mmap.PROT_READ | mmap.PROT_WRITE, fd=-1,
                 align=1):
        flags |= 0 if flags & mmap.MAP_SHARED else mmap.MAP_PRIVATE
        flags |= mmap.MAP_ANONYMOUS if fd < 0 else 0
        self.mapped = length + align - 1
        self.at = _mmap(None, self.mapped, protection, flags, fd)
        self.address = -(-self.at // align) * align
        self.length = length

    def free(self):
        """Unmaps it."""
        _libc.munmap(self.at, self.mapped)

    def replace(self, offset, length, fd):
        """A part of it is a file's beginning from now on."""
        _mmap(self.address + offset, length, mmap.PROT_READ | mmap.PROT_WRITE,
              mmap.MAP_SHARED | MAP_FIXED, fd)

    def fill(self, value, offset=0, length=None):
        """Sets all bytes of a part to value."""
        ctypes.memset(self.address + offset, value, self.length if length is None else length)

    def write(self, data, offset=0):
        """Copies bytes into it."""
        ctypes.memmove(self.address + offset, data, len(data))

    def read(self, length, offset=0):
        """The bytes of a part."""
        return ctypes.string_at(self.address + offset, length)

    def equals(self, data, offset=0):
        """Are these the bytes?  data is bytes, or the address and length of some."""
        return _libc.memcmp(self.address + offset, data, len(data)) == 0

    def is_filled(self, value, offset, length):
        """Are all bytes of a part equal to value?"""
        block = bytes([value]) * min(length, MIB)
        return all(self.equals(block[:length - position], offset + position)
                   for position in range(0, length, MIB))


class End:
    """A QP with its CQ; context and PD are new, or those of another End."""

    def __init__(self, device, *, of=None, qp_type=enums.IBV_QPT_RC, depth=64, events=False):
        self.context = of.context if of else Context(name=device)
        # To look for it takes longer than all the rest.
        self.gid_index = of.gid_index if of else ipv4_gid_index(device)
        self.pd = of.pd if of else PD(self.context)
        self.channel = CompChannel(self.context) if events else None
        self.cq = CQ(self.context, 2 * depth, None, self.channel)
        self.qp_type = qp_type
        self.depth = depth
        self.qp = self.new_qp()

    def new_qp(self):
        """A QP in the RESET state."""
        caps = QPCap(max_send_wr=self.depth, max_recv_wr=self.depth, max_send_sge=2,
                     max_recv_sge=2, max_inline_data=64)
        return QP(self.pd, QPInitAttr(qp_type=self.qp_type, scq=self.cq, rcq=self.cq, cap=caps,
                                       sq_sig_all=0))

    @property
    def gid(self):
        """The GID of the guest's IPv4 address, as text."""
        return str(self.context.query_gid(1, self.gid_index))

    def attributes(self, qpn, gid, **changes):
        """For a connection to the other end, with these changes."""
        attr = QPAttr(port_num=1)
        attr.dest_qp_num = qpn
        attr.path_mtu = enums.IBV_MTU_1024
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        attr.min_rnr_timer = 12
        attr.qp_access_flags = ACCESS_ALL
        attr.ah_attr = AHAttr(port_num=1, is_global=1,
                              gr=GlobalRoute(dgid=GID(gid), sgid_index=self.gid_index))
        for name, value in changes.items():
            setattr(attr, name, value)
        return attr

    def connect(self, qpn, gid, **changes):
        """Connects to the other end."""
        self.qp.to_rts(self.attributes(qpn, gid, **changes))

    def state(self):
        """Of the QP."""
        return self.qp.query(enums.IBV_QP_STATE)[0].qp_state

    def send(self, mr, address, length, **arguments):
        """Posts one SEND."""
        self.qp.post_send(request(enums.IBV_WR_SEND, mr, address, length, **arguments))

    def recv(self, mr, address, length, wr_id=0):
        """Posts one receive request."""
        self.qp.post_recv(RecvWR(wr_id, num_sge=1, sg=[SGE(address, length, mr.lkey)]))

    def completions(self, count=1, timeout=60):
        """Polls for count completions: (wr_id, name of the status, length) of each."""
        found = []
        deadline = time.monotonic() + timeout
        while len(found) < count:
            number, completions = self.cq.poll(count - len(found))
            found += [(wc.wr_id, STATUS[wc.status], wc.byte_len) for wc in completions]
            if not number and time.monotonic() > deadline:
                raise SystemExit(f"{len(found)} of {count} completions: {found}")
        return found

    def status(self):
        """The name of the status of the next completion."""
        return self.completions()[0][1]


def request(opcode, mr, address, length, *, wr_id=0, remote=None, flags=0, signaled=True,
            lkey=None):
    """A send request of one element; remote is (address, rkey)."""
    if signaled:
        flags |= enums.IBV_SEND_SIGNALED
    wr = SendWR(wr_id, num_sge=1, sg=[SGE(address, length, mr.lkey if lkey is None else lkey)],
                opcode=opcode, send_flags=flags)
    if remote:
        wr.set_wr_rdma(remote[1], remote[0])
    return wr


def connected(device, *, of=None, qp_type=enums.IBV_QPT_RC, depth=64, events=False, **changes):
    """Two ends in this process, connected; the second one with a channel if events."""
    a = End(device, of=of, qp_type=qp_type, depth=depth)
    b = End(device, of=a, qp_type=qp_type, depth=depth, events=events)
    a.connect(b.qp.qp_num, a.gid, **changes)
    b.connect(a.qp.qp_num, a.gid, **changes)
    return a, b


def close(*ends):
    """Destroys QPs and CQs."""
    for end in ends:
        end.qp.close()
        end.cq.close()


def check(condition, *text):
    """Like assert, but not turned off by an option of Python."""
    if not condition:
        raise SystemExit("failed: " + " ".join(map(str, text)))


def expect(end, status, *text):
    """The next completion has this status."""
    found = end.status()
    check(found == status, found, "instead of", status, *text)


class Peer:
    """The other process: lines of JSON over TCP."""

    def __init__(self, address, port=18600):
        if address:
            deadline = time.monotonic() + 60
            while True:
                try:
                    self.socket = socket.create_connection((address, port))
                    break
                except ConnectionRefusedError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.1)
        else:
            with socket.create_server(("", port)) as server:
                self.socket = server.accept()[0]
        self.file = self.socket.makefile("rw", encoding="ascii")

    def swap(self, **message):
        """Sends a message and returns the peer's."""
        self.file.write(json.dumps(message) + "\n")
        self.file.flush()
        line = self.file.readline()
        if not line:
            raise SystemExit("the peer is gone")
        return json.loads(line)
