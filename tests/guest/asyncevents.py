# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Asynchronous events of QPs and CQs: each from its cause, once, and of the right object.

asyncevents.py events DEVICE ROUNDS
"""

import os
import select
import sys

from ends import ACCESS_ALL, End, Memory, PAGE, check, close, connected, expect, request
from pyverbs import enums
from pyverbs.mr import MR
from pyverbs.qp import QPAttr

NAME = {value: name for name, value in vars(enums).items() if name.startswith("IBV_EVENT_")}
LOST_MS = 20000
QUIET_MS = 50
WRITE = enums.IBV_WR_RDMA_WRITE


def event_file(before):
    """The descriptor of the events of a context that was just opened."""
    return (files() - before).pop()


def files():
    """Descriptors of events."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:[infinibandevent]":
                found.add(int(name))
        except FileNotFoundError:
            pass  # that of the listing
    return found


class Watched:
    """A context, memory, and the events that come."""

    def __init__(self, device):
        before = files()
        self.first = End(device)
        self.poll = select.poll()
        self.poll.register(event_file(before), select.POLLIN)
        self.device = device
        self.memory = Memory(PAGE)
        self.mr = MR(self.first.pd, PAGE, ACCESS_ALL, address=self.memory.address)

    def pair(self, **changes):
        """Two connected ends."""
        return connected(self.device, of=self.first, **changes)

    def expect(self, kind):
        """The next event is of this type."""
        check(self.poll.poll(LOST_MS), "no", NAME[kind])
        event = self.first.context.get_async_event()
        found = event.event_type
        event.ack()
        check(found == kind, NAME[found], "instead of", NAME[kind])

    def quiet(self):
        """No other one comes."""
        check(not self.poll.poll(QUIET_MS), "one event too many")

    def write(self, end, key=0, address=0):
        """An RDMA WRITE; its completion is left to the caller."""
        end.qp.post_send(request(WRITE, self.mr, self.memory.address, 8, remote=(
            self.memory.address + address, self.mr.rkey ^ key)))


def access_error(watched):
    """A key that the peer does not have."""
    a, b = watched.pair()
    watched.write(a, key=0x80)
    expect(a, "REM_ACCESS_ERR")
    watched.expect(enums.IBV_EVENT_QP_ACCESS_ERR)
    check(b.state() == enums.IBV_QPS_ERR, "state")
    close(a, b)


def request_error(watched):
    """Makes a request that the peer's QP does not allow."""
    a, b = watched.pair(qp_access_flags=enums.IBV_ACCESS_LOCAL_WRITE)
    watched.write(a)
    expect(a, "REM_INV_REQ_ERR")
    watched.expect(enums.IBV_EVENT_QP_REQ_ERR)
    check(b.state() == enums.IBV_QPS_ERR, "state")
    close(a, b)


def established(watched):
    """A message for a QP that is in RTR."""
    a, b = (End(watched.device, of=watched.first) for _ in range(2))
    a.connect(b.qp.qp_num, a.gid)
    b.qp.to_rtr(b.attributes(a.qp.qp_num, a.gid))
    for _ in range(3):
        watched.write(a)
        expect(a, "SUCCESS")
    watched.expect(enums.IBV_EVENT_COMM_EST)
    close(a, b)


def drained(watched):
    """A QP that goes to SQD, and one that does not ask for the event."""
    for ask in (0, 1):
        a, b = watched.pair()
        watched.write(a)
        attr = QPAttr(port_num=1)
        attr.qp_state, attr.en_sqd_async_notify = enums.IBV_QPS_SQD, ask
        a.qp.modify(attr, enums.IBV_QP_STATE | enums.IBV_QP_EN_SQD_ASYNC_NOTIFY)
        if ask:
            watched.expect(enums.IBV_EVENT_SQ_DRAINED)
        else:
            watched.quiet()
        # A request that had not begun waits until the QP may send again.
        attr.qp_state = enums.IBV_QPS_RTS
        a.qp.modify(attr, enums.IBV_QP_STATE)
        expect(a, "SUCCESS")
        close(a, b)


def main():
    """Each of them, so many times."""
    device, rounds = sys.argv[2:]
    watched = Watched(device)
    for cause in (access_error, request_error, established, drained):
        for _ in range(int(rounds)):
            cause(watched)
        watched.quiet()
        print(cause.__name__, rounds, flush=True)
    print("all events seen")


if __name__ == "__main__":
    main()
