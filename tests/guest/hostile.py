# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A program that misuses the device memory that it may map.

hostile.py MODE DEVICE [PAGES OFFSETS]

Creates two connected RC QPs and their CQs with the ordinary library, finds the
mappings of the device, and then
  garbage   fills every writable mapping, available rings and slots, with garbage,
            rings every doorbell, and reports when its QP has failed
  probe     tries OFFSETS offsets of the device file with up to PAGES pages, and prints
            which can be mapped, and whether one has a descriptor table
  keep      maps everything a second time, destroys QPs and CQs, and goes on writing
            garbage to these mappings, until SIGTERM
  fill      creates QPs until it fails, and prints their number
"""

import ctypes
import mmap
import os
import random
import re
import signal
import struct
import sys
import time

from pyverbs import enums
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

ROUNDS = 200
PAGE = mmap.PAGESIZE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                       ctypes.c_int, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
MAP_FAILED = ctypes.c_void_p(-1).value


def device_file():
    """The library's file descriptor of the device."""
    return next(int(name) for name in os.listdir("/proc/self/fd")
                if "uverbs" in os.readlink(f"/proc/self/fd/{name}"))


def map_device(offset, length, protection):
    """Maps a piece of the device; the address, or None."""
    address = _libc.mmap(None, length, protection, mmap.MAP_SHARED, device_file(), offset)
    return None if address == MAP_FAILED else address


def mappings(path="/dev/infiniband/uverbs"):
    """(start, end, writable, readable, file offset) of each mapping of the device."""
    found = []
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            if path not in line:
                continue
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+)", line)
            found.append((int(match[1], 16), int(match[2], 16), match[3][1] == "w",
                          match[3][0] == "r", int(match[4], 16)))
    return found


class Objects:
    """A context with two connected QPs."""

    def __init__(self, device):
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.mr = MR(self.pd, 65536, enums.IBV_ACCESS_LOCAL_WRITE)
        self.cqs = [CQ(self.context, 64) for _ in range(2)]
        caps = QPCap(max_send_wr=64, max_recv_wr=64, max_send_sge=2, max_recv_sge=2,
                     max_inline_data=64)
        self.qps = [QP(self.pd, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=cq, rcq=cq, cap=caps))
                    for cq in self.cqs]
        gid = self.context.query_gid(1, 0)
        for qp, other in zip(self.qps, reversed(self.qps)):
            attr = QPAttr(port_num=1)
            attr.dest_qp_num = other.qp_num
            attr.path_mtu = enums.IBV_MTU_1024
            attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
            attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
            attr.min_rnr_timer = 12
            attr.qp_access_flags = enums.IBV_ACCESS_LOCAL_WRITE
            attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(dgid=gid, sgid_index=0))
            qp.to_rts(attr)

    def post(self):
        """Posts a receive and a send on each QP; errors are ignored."""
        sge = SGE(self.mr.buf, 4096, self.mr.lkey)
        for qp in self.qps:
            for post in (lambda: qp.post_recv(RecvWR(1, num_sge=1, sg=[sge])),
                         lambda: qp.post_send(SendWR(2, num_sge=1, sg=[sge],
                                                     opcode=enums.IBV_WR_SEND,
                                                     send_flags=enums.IBV_SEND_SIGNALED))):
                try:
                    post()
                except Exception:  # a full queue, a failed QP: what we are after
                    pass

    def states(self):
        """Of the QPs."""
        return [qp.query(enums.IBV_QP_STATE)[0].qp_state for qp in self.qps]


def garbage(objects):
    """Writes garbage everywhere until a QP is in the error state."""
    rng = random.Random(1)
    writable = [m for m in mappings() if m[2]]
    assert writable, "nothing is mapped writable"
    doorbells = [m for m in writable if not m[3]]
    memory = [m for m in writable if m[3]]
    objects.post()
    failed = False
    for number in range(ROUNDS):
        for start, end, *_ in memory:
            length = end - start
            if number % 4 == 0:
                # Small counts keep the index plausible, so that slots are looked at.
                words = [rng.choice((0, 1, 2, 3, 0xffff, rng.getrandbits(16)))
                         for _ in range(16)]
                data = struct.pack("<16H", *words) * (length // 32)
            else:
                data = rng.randbytes(length)
            ctypes.memmove(start, data, length)
        for start, *_ in doorbells:
            ctypes.c_uint16.from_address(start).value = rng.getrandbits(16)
        objects.post()
        failed = failed or enums.IBV_QPS_ERR in objects.states()
    print("QPs failed" if failed else f"no QP failed: {objects.states()}", flush=True)


def looks_like_descriptors(data):
    """Does a page have descriptors: address, length, flags and next in 16 bytes?

    Three neighbours with the same length, the same valid flags and evenly spaced
    addresses are not there by chance.
    """
    entries = list(struct.iter_unpack("<QIHH", data))
    for one, two, three in zip(entries, entries[1:], entries[2:]):
        if one[0] and one[1] and one[1:] == two[1:] == three[1:] and one[2] in (0, 2) and \
                0 < two[0] - one[0] == three[0] - two[0] <= 65536:
            return True
    return False


def probe(objects, most_pages, most_offsets):
    """Maps whatever can be mapped of so many pages, at so many offsets.

    Known mappings are repeated as well, which shows that mapping works.
    """
    objects.post()
    known = {offset: end - start for start, end, _, _, offset in mappings()}
    writable = {offset for _, _, write, _, offset in mappings() if write}
    extra, leaks, wrong, mapped = [], [], [], set()
    for offset in sorted({number * PAGE for number in range(most_offsets)}.union(known)):
        lengths = range(1, most_pages + 1) if offset in known or offset < 64 * PAGE \
            else (1, 2, 3, 4, 8)
        for pages in lengths:
            for protection in (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE,
                               mmap.PROT_WRITE):
                address = map_device(offset, pages * PAGE, protection)
                if address is None:
                    continue
                mapped.add(offset)
                if known.get(offset) != pages * PAGE:
                    extra.append((offset, pages))
                if protection & mmap.PROT_WRITE and offset not in writable:
                    wrong.append(offset)
                # A read-only mapping cannot be made writable afterwards.
                if protection == mmap.PROT_READ and offset not in writable and \
                        _libc.mprotect(address, pages * PAGE,
                                       mmap.PROT_READ | mmap.PROT_WRITE) == 0:
                    wrong.append(offset)
                if protection == mmap.PROT_READ and \
                        looks_like_descriptors(ctypes.string_at(address, pages * PAGE)):
                    leaks.append(offset)
                _libc.munmap(address, pages * PAGE)
    print(f"mapped {len(mapped)} known {len(known)} extra {extra} writable {wrong} "
          f"descriptors {leaks}", flush=True)


def keep(objects):
    """Writes garbage to rings and slots of objects that are gone."""
    objects.post()
    kept = []
    for start, end, write, read, offset in mappings():
        if write and read:
            address = map_device(offset, end - start, mmap.PROT_READ | mmap.PROT_WRITE)
            kept.append((address, end - start))
    for qp in objects.qps:
        qp.close()
    for cq in objects.cqs:
        cq.close()
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    print(f"kept {len(kept)}", flush=True)
    while not ended:
        for address, length in kept:
            ctypes.memmove(address, os.urandom(length), length)
        time.sleep(0.01)
    print("done", flush=True)


def fill(objects):
    """Creates as many QPs as possible."""
    for qp in objects.qps:
        qp.close()
    qps = []
    init = QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=objects.cqs[0], rcq=objects.cqs[0],
                      cap=QPCap())
    try:
        while True:
            qps.append(QP(objects.pd, init))
    except PyverbsError:
        print(len(qps), flush=True)


def main():
    """Does what the command line says."""
    mode, device, *numbers = sys.argv[1:]
    objects = Objects(device)
    {"garbage": garbage, "probe": probe, "keep": keep, "fill": fill}[mode](
        objects, *map(int, numbers))
    time.sleep(0.1)
    # Without the library's destructors, because its rings are garbage now.
    os._exit(0)


if __name__ == "__main__":
    main()
