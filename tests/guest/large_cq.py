# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A program whose CQ holds more completions than a virtqueue has entries.

large_cq.py MODE DEVICE GID_INDEX

Sends messages from one RC QP to another one, both in this process and on one CQ.
  late     reads no completion before it has sent all messages, then reads them all
  resize   the same, on a CQ that is made larger when it has some completions
  grow     makes the CQ larger again and again, with messages on their way and completions
           unread, and while it is armed
  events   arms the CQ, and reads completions only after an event
  solicited
           waits for the event of the last message before it reads the first one
  destroy  destroys the QPs before it reads; none of their completions may be left
  overrun  sends until the CQ overruns, then does the same with new objects
Prints "good" if the completions of each queue came in order and none was missing.
"""

import sys
import time

from pyverbs import enums
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

DEPTH = 64
MESSAGES = 3000
# Set in work request ids of receives.
RECEIVE = 1 << 32
TIMEOUT = 60


class Deadline:
    """Raises when the time is over."""

    def __init__(self):
        self.end = time.monotonic() + TIMEOUT

    def check(self, what):
        """Call in a loop."""
        if time.monotonic() > self.end:
            raise TimeoutError(what)


class Objects:
    """A CQ and two QPs on it, connected with each other."""

    def __init__(self, context, gid_index, cqe, channel=None):
        self.pd = PD(context)
        self.mr = MR(self.pd, 4096, enums.IBV_ACCESS_LOCAL_WRITE)
        self.cq = CQ(context, cqe, channel=channel)
        caps = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=1, max_recv_sge=1)
        self.qps = [QP(self.pd, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                                           cap=caps, sq_sig_all=1)) for _ in range(2)]
        gid = context.query_gid(1, gid_index)
        for qp, other in zip(self.qps, reversed(self.qps)):
            attr = QPAttr(port_num=1)
            attr.dest_qp_num = other.qp_num
            attr.path_mtu = enums.IBV_MTU_1024
            attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
            attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
            attr.min_rnr_timer = 1
            attr.qp_access_flags = enums.IBV_ACCESS_LOCAL_WRITE
            attr.ah_attr = AHAttr(port_num=1, is_global=1,
                                  gr=GlobalRoute(dgid=gid, sgid_index=gid_index))
            qp.to_rts(attr)
        self.sge = SGE(self.mr.buf, 8, self.mr.lkey)
        # Numbers of the next message to send, and of each queue's next completion.
        self.next = 0
        self.sent = 0
        self.received = 0

    def post(self, function, request):
        """Posts, and waits while the queue is full."""
        # For each request: a busy machine may take long for all of them.
        deadline = Deadline()
        while True:
            try:
                return function(request)
            except PyverbsRDMAError:
                deadline.check(f"no room, states {self.states()}")
                time.sleep(0.001)

    def send(self, count, flags=0):
        """Posts messages and the receive requests for them."""
        for number in range(self.next, self.next + count):
            self.post(self.qps[1].post_recv,
                      RecvWR(RECEIVE + number, num_sge=1, sg=[self.sge]))
            self.post(self.qps[0].post_send,
                      SendWR(number, num_sge=1, sg=[self.sge], opcode=enums.IBV_WR_SEND,
                             send_flags=flags))
        self.next += count

    def settle(self):
        """Gives the device time to finish, which nothing here can observe."""
        time.sleep(1)

    def poll(self):
        """Takes and checks some completions; returns how many."""
        count, completions = self.cq.poll(16)
        for wc in completions:
            assert wc.status == enums.IBV_WC_SUCCESS, f"{wc.wr_id:#x}: status {wc.status}"
            if wc.wr_id < RECEIVE:
                assert wc.wr_id == self.sent, f"send {wc.wr_id} instead of {self.sent}"
                assert wc.qp_num == self.qps[0].qp_num
                self.sent += 1
            else:
                number = wc.wr_id - RECEIVE
                assert number == self.received, f"receive {number} instead of {self.received}"
                assert wc.qp_num == self.qps[1].qp_num
                self.received += 1
        return count

    def complete(self):
        """Are all completions read?"""
        return self.sent == self.next and self.received == self.next

    def read_all(self):
        """Polls until they are, and a little longer."""
        deadline = Deadline()
        while not self.complete():
            if not self.poll():
                deadline.check(f"of {self.next}: {self.sent} sends, {self.received} receives")
        time.sleep(0.05)
        assert not self.poll(), "one completion too many"

    def states(self):
        """Of the QPs."""
        return [qp.query(enums.IBV_QP_STATE)[0].qp_state for qp in self.qps]


def late(context, gid_index):
    """See above."""
    objects = Objects(context, gid_index, 2 * MESSAGES)
    objects.send(MESSAGES)
    objects.settle()
    objects.read_all()
    # The same with a few completions, for which there are slots.
    objects.send(100)
    objects.read_all()


def resize(context, gid_index):
    """See above."""
    objects = Objects(context, gid_index, 100)
    objects.send(50)
    objects.cq.resize(2 * MESSAGES)
    assert objects.cq.cqe >= 2 * MESSAGES, objects.cq.cqe
    objects.send(MESSAGES - 50)
    objects.settle()
    objects.cq.resize(2 * MESSAGES + 1)
    objects.read_all()


def grow(context, gid_index):
    """See above."""
    channel = CompChannel(context)
    objects = Objects(context, gid_index, 2 * DEPTH, channel)
    size = objects.cq.cqe
    while size < 100000:
        # Three times round, as long as the ring is small.
        for _ in range(3):
            objects.send(DEPTH - 5)
            objects.read_all()
        objects.cq.req_notify(False)
        objects.send(DEPTH // 2)
        size *= 2
        objects.cq.resize(size)
        assert objects.cq.cqe >= size, objects.cq.cqe
        channel.get_cq_event(objects.cq)
        objects.read_all()
        # Armed before, and all messages after it.
        objects.cq.req_notify(False)
        size *= 2
        objects.cq.resize(size)
        objects.send(DEPTH)
        channel.get_cq_event(objects.cq)
        objects.cq.ack_events(2)
        objects.read_all()
    assert objects.states() == [enums.IBV_QPS_RTS] * 2, objects.states()
    # It does not shrink.
    objects.cq.resize(10)
    assert objects.cq.cqe >= size, objects.cq.cqe


def events(context, gid_index):
    """See above."""
    channel = CompChannel(context)
    objects = Objects(context, gid_index, 2 * MESSAGES, channel)
    objects.cq.req_notify(False)
    objects.send(MESSAGES)
    while not objects.complete():
        channel.get_cq_event(objects.cq)
        objects.cq.ack_events(1)
        objects.cq.req_notify(False)
        # More completions come while it reads.
        if objects.next < 3 * MESSAGES:
            objects.send(100)
        while objects.poll():
            pass


def solicited(context, gid_index):
    """See above."""
    channel = CompChannel(context)
    objects = Objects(context, gid_index, 2 * MESSAGES + 2, channel)
    objects.send(MESSAGES)
    objects.settle()
    objects.cq.req_notify(True)
    objects.send(1, enums.IBV_SEND_SOLICITED)
    channel.get_cq_event(objects.cq)
    objects.cq.ack_events(1)
    objects.read_all()


def destroy(context, gid_index):
    """See above."""
    objects = Objects(context, gid_index, 2 * MESSAGES)
    objects.send(MESSAGES)
    objects.settle()
    objects.poll()
    for qp in objects.qps:
        qp.close()
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        assert not objects.cq.poll(16)[0], "a completion of a QP that is gone"
    objects.cq.close()


def overrun(context, gid_index):
    """See above."""
    size = context.query_device().max_cqe
    objects = Objects(context, gid_index, size)
    try:
        objects.send(size // 2 + 1)
    except TimeoutError:
        pass
    deadline = Deadline()
    while objects.states() != [enums.IBV_QPS_ERR] * 2:
        deadline.check(f"no overrun after {objects.next} messages, states {objects.states()}")
        time.sleep(0.01)
    while objects.poll():
        pass
    for qp in objects.qps:
        qp.close()
    objects.cq.close()
    late(context, gid_index)


def main():
    """For the arguments see above."""
    mode, device, gid_index = sys.argv[1:]
    modes = {"late": late, "resize": resize, "grow": grow, "events": events,
             "solicited": solicited, "destroy": destroy, "overrun": overrun}
    with Context(name=device) as context:
        modes[mode](context, int(gid_index))
    print("good", flush=True)


if __name__ == "__main__":
    main()
