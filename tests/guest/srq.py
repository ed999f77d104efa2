# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A shared receive queue of many QPs, whose peers are in the same process.

srq.py limit DEVICE QPS ROUNDS   the limit is armed, reached and armed again
srq.py life DEVICE QPS ROUNDS    QPs go to ERR and are destroyed, others go on
srq.py resize DEVICE QPS ROUNDS  it gets larger and smaller while messages come

Each message says which one it is, so that it is seen whether the completion names the
request that it is in.
"""

import collections
import errno
import os
import random
import select
import struct
import sys

from pyverbs import enums
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR, SGE

from ends import ACCESS_ALL, End, Memory, check, close

DEPTH = 128
LIMIT = 32
SLOT = 64
EVENT_MS = 60000


def async_file():
    """The descriptor of asynchronous events: the first one of its kind."""
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        if os.path.realpath(f"/proc/self/fd/{name}").endswith("[infinibandevent]"):
            return int(name)
    raise SystemExit("no file of asynchronous events")


class Receiver(End):
    """An end whose QP takes its receive requests from an SRQ."""

    def __init__(self, device, bed):
        self.bed = bed
        super().__init__(device, of=bed)

    def new_qp(self):
        """A QP in the RESET state."""
        caps = QPCap(max_send_wr=4, max_send_sge=1)
        return QP(self.pd, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=self.cq,
                                       rcq=self.bed.cq, srq=self.bed.srq, cap=caps))


class Bed:
    """An SRQ, its QPs and their peers; memory with a slot for each request."""

    def __init__(self, device, qps):
        self.first = End(device)
        self.context, self.pd = self.first.context, self.first.pd
        self.gid_index = self.first.gid_index
        self.cq = CQ(self.context, 2 * DEPTH)
        self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=DEPTH, max_sge=1)))
        self.memory = Memory(2 * DEPTH * SLOT)
        self.mr = MR(self.pd, self.memory.length, ACCESS_ALL, address=self.memory.address)
        self.random = random.Random(qps)
        self.device = device
        self.senders, self.receivers = [], []
        self.sent = self.received = self.events = 0
        # Slots that are posted, and those that messages have gone to, both in order.
        self.posted, self.taken = collections.deque(), collections.deque()
        self.poll = select.poll()
        self.poll.register(async_file(), select.POLLIN)
        for _ in range(qps):
            self.add()
        for slot in range(DEPTH):
            self.post(slot)

    def add(self):
        """One more QP, with its peer."""
        sender, receiver = End(self.device, of=self.first, depth=16), Receiver(self.device, self)
        sender.connect(receiver.qp.qp_num, self.first.gid)
        receiver.connect(sender.qp.qp_num, self.first.gid)
        self.senders.append(sender)
        self.receivers.append(receiver)

    def drop(self, which, sender_first):
        """Destroys a QP and its peer."""
        pair = [self.senders.pop(which), self.receivers.pop(which)]
        close(*(pair if sender_first else reversed(pair)))

    def close(self):
        """Destroys all, the SRQ with requests in it; Python would do it in any order."""
        while self.receivers:
            self.drop(0, True)
        self.srq.close()
        self.cq.close()
        close(self.first)

    def post(self, slot):
        """A request for the slot of the memory with its number."""
        self.srq.post_recv(RecvWR(slot, num_sge=1, sg=[
            SGE(self.memory.address + slot * SLOT, SLOT, self.mr.lkey)]))
        self.posted.append(slot)

    def send(self, which=None):
        """A message by one of the QPs, some other one each time."""
        sender = self.random.choice(self.senders) if which is None else self.senders[which]
        at = (DEPTH + self.sent % DEPTH) * SLOT
        self.memory.write(struct.pack("<Q", self.sent), at)
        sender.send(self.mr, self.memory.address + at, SLOT, wr_id=self.sent)
        check(sender.status() == "SUCCESS", "message", self.sent)
        self.sent += 1
        self.taken.append(self.posted.popleft())

    def receive(self, count=1):
        """Polls completions of messages that were sent, in order; returns their slots."""
        slots = []
        while len(slots) < count:
            for wc in self.cq.poll(count - len(slots))[1]:
                check(wc.status == enums.IBV_WC_SUCCESS, "status", wc.status)
                check(wc.wr_id == self.taken.popleft(), "request", wc.wr_id)
                found, = struct.unpack("<Q", self.memory.read(8, wc.wr_id * SLOT))
                check(found == self.received, "message", found, "not", self.received)
                self.received += 1
                slots.append(wc.wr_id)
        return slots

    def arm(self, limit=LIMIT):
        """Arms the limit."""
        self.srq.modify(SrqAttr(srq_limit=limit), enums.IBV_SRQ_LIMIT)

    def has_event(self, timeout=0):
        """Is there an asynchronous event?"""
        return bool(self.poll.poll(timeout))

    def event(self, wanted):
        """Takes an asynchronous event, which must be this one."""
        check(self.has_event(EVENT_MS), "no event, wanted", wanted)
        event = self.context.get_async_event()
        event.ack()
        check(event.event_type == wanted, "event", event.event_type, "not", wanted)
        self.events += 1


def play_limit(bed, rounds):
    """The SRQ is emptied to the limit and filled again, in any order.

    Mostly the limit is a few requests away, because messages take the time.
    """
    for number in range(rounds):
        limit = DEPTH - bed.random.randrange(1, 9) if number % 16 else LIMIT
        bed.arm(limit)
        check(bed.srq.query().srq_limit == limit, "not armed")
        slots = []
        while len(slots) <= DEPTH - limit:
            check(not bed.has_event(), "an event with", DEPTH - len(slots), "requests")
            bed.send()
            slots += bed.receive()
        bed.event(enums.IBV_EVENT_SRQ_LIMIT_REACHED)
        check(bed.srq.query().srq_limit == 0, "still armed")
        bed.random.shuffle(slots)
        for slot in slots:
            bed.post(slot)
    check(not bed.has_event(), "one event too many")
    print("the limit was reached", bed.events, "times")


def play_life(bed, rounds):
    """A QP is put in error, another one destroyed with completions that nobody polled."""
    error = QPAttr(qp_state=enums.IBV_QPS_ERR)
    for number in range(rounds):
        victim = bed.random.randrange(len(bed.receivers))
        bed.receivers[victim].qp.modify(error, enums.IBV_QP_STATE)
        bed.event(enums.IBV_EVENT_QP_LAST_WQE_REACHED)
        check(not bed.cq.poll(1)[0], "a request of the SRQ was flushed")
        bed.drop(victim, number % 2)
        victim = bed.random.randrange(len(bed.receivers))
        for _ in range(3):
            bed.send(victim)
        # Completions that were not polled are dropped, and its requests are free.
        bed.drop(victim, number % 2)
        bed.received += 3
        while bed.taken:
            bed.post(bed.taken.popleft())
        check(not bed.cq.poll(1)[0], "a completion of a QP that is gone")
        for _ in range(2):
            bed.add()
        for _ in range(10):
            bed.send()
            bed.post(*bed.receive())
    try:
        bed.post(0)
    except PyverbsRDMAError:
        return
    check(False, "more requests than the SRQ has room for")


def resize(bed, size):
    """Changes how many requests there is room for; returns it, or None if it is refused."""
    try:
        bed.srq.modify(SrqAttr(max_wr=size), enums.IBV_SRQ_MAX_WR)
    except PyverbsRDMAError as error:
        check(error.error_code == errno.EINVAL, "refused:", error)
        return None
    room = bed.srq.query().max_wr
    check(size <= room < 2 * size, "room for", room, "not", size)
    return room


def play_resize(bed, rounds):
    """Refused only if more requests are outstanding; those keep their order."""
    free, room = [], DEPTH
    for _ in range(rounds):
        # Some are complete and not polled, and some are not taken.
        for _ in range(bed.random.randrange(min(4, len(bed.posted) + 1))):
            bed.send()
        outstanding = len(bed.posted) + len(bed.taken)
        size = bed.random.choice((8, 16, 30, 64, 100, 128, 256, 1000))
        got = resize(bed, size)
        check((got is None) == (size < outstanding), "resized to", size, "with", outstanding)
        room = got or room
        free += bed.receive(len(bed.taken))
        for _ in range(bed.random.randrange(len(bed.posted) + 1)):
            bed.send()
            free += bed.receive()
        bed.random.shuffle(free)
        while free and len(bed.posted) < room:
            bed.post(free.pop())
    while len(bed.posted) > 8:
        bed.send()
        bed.receive()
    check(resize(bed, 8) == 8, "not resized")
    while len(bed.posted) < 8:
        bed.post(free.pop())
    try:
        bed.post(0)
    except PyverbsRDMAError:
        return
    check(False, "more requests than the SRQ has room for")


def main():
    """Does what the command line says."""
    mode, device, qps, rounds = sys.argv[1:]
    bed = Bed(device, int(qps))
    {"limit": play_limit, "life": play_life, "resize": play_resize}[mode](bed, int(rounds))
    said = f"{bed.received} messages by {len(bed.senders)} QPs"
    bed.close()
    print(said, flush=True)


if __name__ == "__main__":
    main()
