# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""QPs of several processes count on one word by FETCH_ADD.

count.py serve DEVICE QPS ROUNDS CLIENTS
count.py add DEVICE QPS ROUNDS ADDRESS NUMBER

The server has the word.  Each of its clients, numbered from 0, has QPS QPs, and the server
one more, connected with itself; each posts ROUNDS batches, all at the same time.  Each
number must come back once.
"""

import sys

from ends import ACCESS_ALL, End, Memory, PAGE, Peer, check
from pyverbs import enums
from pyverbs.mr import MR
from pyverbs.qp import QPCap, QPEx, QPInitAttrEx
from pyverbs.wr import SGE

BATCH = 16
WORD = 8
PORT = 18600
ACCESS = ACCESS_ALL | enums.IBV_ACCESS_REMOTE_ATOMIC


class Counter(End):
    """A QP that counts, or lets its peer count, and memory for a batch."""

    def new_qp(self):
        self.memory = Memory(PAGE)
        self.memory.fill(0)
        self.mr = MR(self.pd, PAGE, ACCESS, address=self.memory.address)
        self.last = -1
        self.sum = 0
        return QPEx(self.context, QPInitAttrEx(
            qp_type=self.qp_type, scq=self.cq, rcq=self.cq, pd=self.pd,
            cap=QPCap(max_send_wr=self.depth, max_recv_wr=1),
            send_ops_flags=enums.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
            comp_mask=enums.IBV_QP_INIT_ATTR_PD | enums.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))

    def attach(self, qpn, gid):
        """Connects to the QP of another one."""
        self.connect(qpn, gid, qp_access_flags=ACCESS, timeout=19)

    def post(self, rkey, address):
        """Posts a batch of which the last request leaves a completion."""
        self.qp.wr_start()
        for number in range(BATCH):
            self.qp.wr_id = number
            self.qp.wr_flags = enums.IBV_SEND_SIGNALED if number == BATCH - 1 else 0
            self.qp.wr_atomic_fetch_add(rkey, address, 1)
            self.qp.wr_set_sge(SGE(self.memory.address + WORD * number, WORD, self.mr.lkey))
        self.qp.wr_complete()

    def take(self):
        """Waits for the batch; what one QP fetches grows."""
        found = self.completions()
        check(found[0][:2] == (BATCH - 1, "SUCCESS"), found)
        data = self.memory.read(WORD * BATCH)
        for number in range(BATCH):
            value = int.from_bytes(data[WORD * number:WORD * (number + 1)], sys.byteorder)
            check(value > self.last, value, "after", self.last)
            self.last = value
            self.sum += value


def count(counters, rounds, rkey, address):
    """All count at the same time; the sum of what was fetched."""
    for _ in range(rounds):
        for counter in counters:
            counter.post(rkey, address)
        for counter in counters:
            counter.take()
    return sum(counter.sum for counter in counters)


def counters_of(device, number):
    """So many of them in one context."""
    found = [Counter(device, depth=BATCH)]
    while len(found) < number:
        found.append(Counter(device, of=found[0], depth=BATCH))
    return found


def server(device, qps, rounds, clients):
    """Has the word, and counts on it with a QP of its own."""
    counters = counters_of(device, qps * clients + 2)
    gid, word = counters[0].gid, counters[0].memory
    key, local = counters[0].mr.rkey, counters[-2:]
    peers = [Peer(None, PORT + number) for number in range(clients)]
    for number, peer in enumerate(peers):
        ends = counters[qps * number:qps * (number + 1)]
        other = peer.swap(gid=gid, rkey=key, address=word.address,
                          qpns=[end.qp.qp_num for end in ends])
        for end, qpn in zip(ends, other["qpns"]):
            end.attach(qpn, other["gid"])
    local[0].attach(local[1].qp.qp_num, gid)
    local[1].attach(local[0].qp.qp_num, gid)
    for peer in peers:
        peer.swap()
    total = count(local[:1], rounds, key, word.address)
    total += sum(peer.swap(sum=0)["sum"] for peer in peers)
    counted = (qps * clients + 1) * rounds * BATCH
    found = int.from_bytes(word.read(WORD), sys.byteorder)
    check(found == counted, found, "instead of", counted)
    check(total == counted * (counted - 1) // 2, "a number came twice or never")
    print("counted to", found)


def client(device, qps, rounds, address, number):
    """Counts on the server's word."""
    counters = counters_of(device, qps)
    peer = Peer(address, PORT + number)
    other = peer.swap(gid=counters[0].gid, qpns=[counter.qp.qp_num for counter in counters])
    for counter, qpn in zip(counters, other["qpns"]):
        counter.attach(qpn, other["gid"])
    peer.swap()
    peer.swap(sum=count(counters, rounds, other["rkey"], other["address"]))


def main():
    """Does what the command line says."""
    what, device, qps, rounds, *rest = sys.argv[1:]
    if what == "serve":
        server(device, int(qps), int(rounds), int(rest[0]))
    else:
        client(device, int(qps), int(rounds), rest[0], int(rest[1]))


if __name__ == "__main__":
    main()
