# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Many QPs of one process, and what they cost the guest.

many.py qps DEVICE QPS ROUNDS PORT [SERVER]           connects each to one of the peer's
many.py cm DEVICE CONNECTIONS ROUNDS PORT [SERVER]    by rdma_cm, all open at once
many.py idle DEVICE QPS                               only makes them

Each round sends a message on each of them, with its number, and checks those that come.
"qps" says "memory N": what the kernel of the guest took for each QP, bytes.  "idle" says it
with what the process itself took.
"""

import pathlib
import resource
import struct
import sys

from pyverbs import enums
from pyverbs.cmid import AddrInfo, CMID
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.qp import QP, QPCap, QPInitAttr
import pyverbs.cm_enums as cm

from ends import ACCESS_ALL, End, Memory, Peer, check

SIZE = 64
DEPTH = 4


def fields(path):
    """Of a file of /proc with sizes in KiB; bytes."""
    lines = (line.split() for line in pathlib.Path(path).read_text("ascii").splitlines())
    return {line[0].rstrip(":"): int(line[1]) << 10 for line in lines
            if len(line) > 2 and line[2] == "kB"}


def held():
    """Memory of this process, rings with it, and that of the kernel for objects.

    Free memory tells less: a processor keeps megabytes of free pages for itself.
    """
    pathlib.Path("/proc/sys/vm/stat_refresh").write_text("1", "ascii")
    system, own = fields("/proc/meminfo"), fields("/proc/self/status")
    return (own["VmRSS"] + system["Slab"] + system["PageTables"] + system["Percpu"]
            + system["VmallocUsed"])


def used_by_kernel():
    """Memory that is neither free, nor a file's, nor this process's own."""
    system, own = fields("/proc/meminfo"), fields("/proc/self/status")
    return (system["MemTotal"] - system["MemFree"] - system["Buffers"] - system["Cached"]
            - own["RssAnon"])


class Many(End):
    """An End with one QP more for each number; a CQ holds the completions of all."""

    def __init__(self, device, number):
        super().__init__(device, depth=DEPTH)
        self.numbers = range(number)
        self.cq.close()
        self.cq = CQ(self.context, 2 * DEPTH * number)
        self.memory = Memory(2 * SIZE * number)
        self.mr = MR(self.pd, self.memory.length, ACCESS_ALL, address=self.memory.address)
        before = used_by_kernel()
        self.qps = [self.new_qp() for _ in self.numbers]
        self.cost = (used_by_kernel() - before) // number

    def connect_all(self, peer):
        """Each with the peer's of the same number."""
        theirs = peer.swap(gid=self.gid, qpns=[qp.qp_num for qp in self.qps])
        for self.qp, qpn in zip(self.qps, theirs["qpns"]):
            self.connect(qpn, theirs["gid"])

    def round(self, peer, text):
        """A message each way on each."""
        for n, self.qp in enumerate(self.qps):
            self.memory.write(struct.pack("=I16s", n, text), SIZE * n)
            self.recv(self.mr, self.memory.address + SIZE * (len(self.qps) + n), SIZE)
        peer.swap()
        for n, self.qp in enumerate(self.qps):
            self.send(self.mr, self.memory.address + SIZE * n, SIZE)
        found = self.completions(2 * len(self.qps))
        check(all(status == "SUCCESS" for _, status, _ in found), found[:10])
        for n in self.numbers:
            got = self.memory.read(20, SIZE * (len(self.qps) + n))
            check(got == struct.pack("=I16s", n, text), "QP", n, "got", got)
        peer.swap()


def qps(device, number, rounds, port, server=None):
    """QPs whose numbers the peers tell each other."""
    peer = Peer(server, port)
    end = Many(device, number)
    end.qp.close()
    end.connect_all(peer)
    for n in range(rounds):
        end.round(peer, b"round %d" % n)
    print("memory", end.cost)
    print(number, "QPs,", rounds, "rounds")


def idle(device, number):
    """QPs whose rings, of 32 slots of 64 bytes, take a page each."""
    end = End(device, depth=32)
    caps = QPCap(max_send_wr=32, max_recv_wr=32, max_send_sge=1, max_recv_sge=1)
    attributes = QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=end.cq, rcq=end.cq, cap=caps)

    def make(count):
        return [QP(end.pd, attributes) for _ in range(count)]

    # Caches grow by many objects at a time.
    others = make(50)
    before = held()
    qps = make(number)
    print("memory", (held() - before) // number)
    return others + qps


class Connections:
    """Connections by rdma_cm, each with a region of its own."""

    def __init__(self, connections):
        self.ids = connections
        self.regions = [(one.reg_msgs(SIZE), one.reg_msgs(SIZE)) for one in connections]

    def receive(self):
        """A receive request on each."""
        for one, (region, _) in zip(self.ids, self.regions):
            one.post_recv(region)

    def send(self, text):
        """A message on each."""
        for n, (one, (_, region)) in enumerate(zip(self.ids, self.regions)):
            region.write(struct.pack("=I16s", n, text), 20)
            one.post_send(region)
        for one in self.ids:
            check(one.get_send_comp().status == enums.IBV_WC_SUCCESS)

    def check(self, text):
        """Waits for one on each."""
        for n, (one, (region, _)) in enumerate(zip(self.ids, self.regions)):
            check(one.get_recv_comp().status == enums.IBV_WC_SUCCESS)
            got = region.read(20, 0)
            check(got == struct.pack("=I16s", n, text), "connection", n, "got", got)


def attributes():
    """Of the QP of a connection."""
    return QPInitAttr(qp_type=enums.IBV_QPT_RC, sq_sig_all=1,
                      cap=QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH))


def connect(number, port, server):
    """As many connections, in the order in which they are made."""
    for _ in range(number):
        one = CMID(AddrInfo(dst=server, dst_service=str(port), port_space=cm.RDMA_PS_TCP),
                   attributes())
        one.connect()
        yield one


def accept(number, listener):
    """The other ends."""
    for _ in range(number):
        one = listener.get_request()
        one.accept()
        yield one


def by_cm(_device, number, rounds, port, server=None):
    """Connections by rdma_cm."""
    # Each has an event channel and two completion channels, in librdmacm and in verbs.
    resource.setrlimit(resource.RLIMIT_NOFILE, (8 * number + 256, 8 * number + 256))
    if server:
        peer = Peer(server, port)
        connections = Connections(list(connect(number, port, server)))
    else:
        listener = CMID(AddrInfo(src="0.0.0.0", src_service=str(port),
                                 port_space=cm.RDMA_PS_TCP, flags=cm.RAI_PASSIVE),
                        attributes())
        listener.listen(backlog=128)
        peer = Peer(None, port)
        connections = Connections(list(accept(number, listener)))
    for n in range(rounds):
        connections.receive()
        peer.swap()
        connections.send(b"round %d" % n)
        connections.check(b"round %d" % n)
    peer.swap()
    print(number, "connections,", rounds, "rounds")


if __name__ == "__main__":
    mode, name, count, *more = sys.argv[1:]
    if mode == "idle":
        idle(name, int(count))
    else:
        times, where, *host = more
        {"qps": qps, "cm": by_cm}[mode](name, int(count), int(times), int(where), *host)
