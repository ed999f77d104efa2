# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Datagrams there and back, over IPv4 and IPv6, and what the receiver learns of them.

datagrams.py ping DEVICE [SERVER]

For each address family the client sends one datagram and the server answers.  Both
ends read the kind of the packet from the service level, once by ibv_poll_cq() and once
by the functions of an extended CQ, and compare header and payload.  To the first
datagram the server answers by an address handle that libibverbs makes from the
completion and the header.
"""

import ipaddress
import sys
import time

from pyverbs import enums
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ, CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

from ends import Memory, PAGE, Peer, check, ipv4_gid_index

QKEY = 0x11111111
GRH = 40
# The value that RoCE devices put into the service level, by IP version.
KIND = {4: 2, 6: 1}
TIMEOUT = 30


class Plain:
    """Polls with ibv_poll_cq()."""

    def __init__(self, context):
        self.cq = CQ(context, 16)

    def poll(self):
        """One completion, or None: it, status, flags, service level, sender, length."""
        number, completions = self.cq.poll(1)
        if not number:
            return None
        wc = completions[0]
        return wc, wc.status, wc.wc_flags, wc.sl, wc.src_qp, wc.byte_len


class Extended:
    """Polls with ibv_start_poll() and ibv_wc_read_*()."""

    def __init__(self, context):
        flags = enums.IBV_WC_STANDARD_FLAGS
        self.cq = CQEX(context, CqInitAttrEx(cqe=16, wc_flags=flags))

    def poll(self):
        """As Plain.poll()."""
        if self.cq.start_poll(PollCqAttr()):
            return None
        cq = self.cq
        found = (None, cq.status, cq.read_wc_flags(), cq.read_sl(),
                 cq.read_src_qp(), cq.read_byte_len())
        cq.end_poll()
        return found


class Datagrams:
    """A UD QP on a CQ."""

    def __init__(self, context, completions):
        self.pd = PD(context)
        self.completions = completions
        caps = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=1, max_recv_sge=1)
        self.qp = QP(self.pd, QPInitAttr(qp_type=enums.IBV_QPT_UD, scq=completions.cq,
                                         rcq=completions.cq, cap=caps, sq_sig_all=0))
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        self.qp.to_rts(attr)
        self.memory = Memory(2 * PAGE)
        self.mr = MR(self.pd, self.memory.length, enums.IBV_ACCESS_LOCAL_WRITE,
                     address=self.memory.address)

    def recv(self):
        """Posts one receive request, for the first page."""
        self.memory.fill(0xff, 0, PAGE)
        self.qp.post_recv(RecvWR(1, num_sge=1,
                                 sg=[SGE(self.memory.address, PAGE, self.mr.lkey)]))

    def path(self, gid, gid_index):
        """An address handle."""
        route = GlobalRoute(dgid=GID(gid), sgid_index=gid_index)
        return AH(self.pd, attr=AHAttr(port_num=1, is_global=1, gr=route))

    def path_back(self, wc):
        """An address handle for the sender of what was received."""
        return AH(self.pd, wc=wc, grh=self.memory.address, port_num=1)

    def send(self, payload, path, qpn):
        """Posts one datagram, from the second page."""
        self.memory.write(payload, PAGE)
        wr = SendWR(2, num_sge=1, send_flags=0,
                    sg=[SGE(self.memory.address + PAGE, len(payload), self.mr.lkey)])
        wr.set_wr_ud(path, qpn, QKEY)
        self.qp.post_send(wr)

    def received(self, payload, version, source, destination):
        """Waits for a datagram and checks what is reported about it.

        Returns the completion, if the way of polling has one, and the sender's QPN.
        """
        deadline = time.monotonic() + TIMEOUT
        while not (found := self.completions.poll()):
            check(time.monotonic() < deadline, "no datagram, IPv", version, "from", source)
        wc, status, flags, kind, sender, length = found
        check(status == enums.IBV_WC_SUCCESS, "status", status)
        check(flags & enums.IBV_WC_GRH, "flags", flags)
        check(kind == KIND[version], "service level", kind, "for IPv", version)
        check(length == GRH + len(payload), "length", length)
        check(self.memory.equals(payload, GRH), "payload")
        check_header(self.memory.read(GRH), version, source, destination)
        return wc, sender


def check_header(header, version, source, destination):
    """The network header is of this version, and names these GIDs."""
    if version == 4:
        check(header[:20] == bytes(20), "before the header", header.hex())
        check(header[20] == 0x45, header.hex())
        words = [int.from_bytes(header[at:at + 2]) for at in range(20, GRH, 2)]
        total = sum(words)
        check((total & 0xffff) + (total >> 16) == 0xffff, "checksum", header.hex())
        ends = header[32:36], header[36:40]
    else:
        check(header[0] >> 4 == 6, header.hex())
        ends = header[8:24], header[24:40]
    for found, gid in zip(ends, (source, destination)):
        check(ipaddress.IPv6Address(gid).packed.endswith(found), header.hex(), gid)


def gid_indices(context, device):
    """Indices of two GIDs by IP version: the IPv4 address's and the link-local one."""
    indices = {4: ipv4_gid_index(device)}
    for index in range(8):
        if str(context.query_gid(1, index)).startswith("fe80"):
            indices[6] = index
            break
    return indices


def ping(device, server=None):
    """See above."""
    peer = Peer(server)
    with Context(name=device) as context:
        indices = gid_indices(context, device)
        for version, index in indices.items():
            for completions in (Plain(context), Extended(context)):
                end = Datagrams(context, completions)
                mine = str(context.query_gid(1, index))
                end.recv()
                there = peer.swap(qpn=end.qp.qp_num, gid=mine)
                path = end.path(there["gid"], index)
                if server:
                    end.send(b"ping", path, there["qpn"])
                    _, sender = end.received(b"the answer", version, there["gid"], mine)
                    check(sender == there["qpn"], "QPN of the sender", sender)
                else:
                    wc, sender = end.received(b"ping", version, there["gid"], mine)
                    # It must live until the datagram was sent.
                    back = end.path_back(wc) if wc else path
                    end.send(b"the answer", back, sender)
                peer.swap(done=True)
                print(f"IPv{version} {type(completions).__name__}", flush=True)


def main():
    """Does what the command line says."""
    mode, *arguments = sys.argv[1:]
    {"ping": ping}[mode](*arguments)


if __name__ == "__main__":
    main()
