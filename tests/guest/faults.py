# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Each fault that a program can cause, and the completion status that follows.

faults.py statuses DEVICE    one line for each status seen
faults.py states DEVICE      what SQD, SQE and ERR do to requests
faults.py fill DEVICE        creates as many objects as possible, and counts them
"""

import sys
import time

from pyverbs import enums
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QPAttr
from pyverbs.wr import SGE, SendWR

from ends import ACCESS_ALL, PAGE, End, Memory, check, close, connected, expect, request

READ, WRITE, SEND = enums.IBV_WR_RDMA_READ, enums.IBV_WR_RDMA_WRITE, enums.IBV_WR_SEND
QKEY = 0x11111111
# No region has it.
WRONG_KEY = 0x7fffff00


class Scene:
    """Two ends, and a region of one page for both."""

    def __init__(self, device, **changes):
        self.a, self.b = connected(device, **changes)
        self.memory = Memory(PAGE)
        self.mr = MR(self.a.pd, PAGE, ACCESS_ALL, address=self.memory.address)

    def post(self, opcode, *, length=64, lkey=None, rkey=None, address=None, wr_id=1):
        """A request of end a that is correct except for the arguments."""
        remote = (address or self.memory.address, self.mr.rkey if rkey is None else rkey)
        self.a.qp.post_send(request(opcode, self.mr, self.memory.address, length, lkey=lkey,
                                    remote=remote, wr_id=wr_id))

    def recv(self, length=64, mr=None):
        """A receive request of end b."""
        self.b.recv(mr or self.mr, self.memory.address, length)

    def expect(self, status, other=None):
        """Expects a status at each end; then all later requests are flushed, in order."""
        expect(self.a, status)
        if other:
            expect(self.b, other)
        check(self.a.state() == enums.IBV_QPS_ERR, "end a is not in error")
        for number in range(3):
            self.post(SEND, wr_id=100 + number)
        flushed = [(100 + number, "WR_FLUSH_ERR", 0) for number in range(3)]
        found = self.a.completions(3)
        check([entry[:2] for entry in found] == [entry[:2] for entry in flushed], found)
        close(self.a, self.b)
        print(status, *([other] if other else []), flush=True)


def receive_too_short(device):
    """The receiver's length error is the sender's invalid request."""
    scene = Scene(device)
    scene.recv(length=8)
    scene.post(SEND)
    scene.expect("REM_INV_REQ_ERR", "LOC_LEN_ERR")


def receive_without_key(device):
    """The receiver's protection error is the sender's operation error."""
    scene = Scene(device)
    readable = MR(scene.a.pd, PAGE, 0, address=scene.memory.address)
    scene.recv(mr=readable)
    scene.post(SEND)
    scene.expect("REM_OP_ERR", "LOC_PROT_ERR")


def bad_lkey(device):
    """A local key that is unknown, or that does not cover all bytes."""
    for opcode in (SEND, WRITE, READ):
        scene = Scene(device)
        scene.post(opcode, lkey=WRONG_KEY)
        scene.expect("LOC_PROT_ERR")
    scene = Scene(device)
    scene.post(WRITE, length=PAGE + 1)
    scene.expect("LOC_PROT_ERR")


def bad_rkey(device):
    """A remote key that is unknown, a range past the end, a right that is missing."""
    for opcode in (WRITE, READ):
        scene = Scene(device)
        scene.post(opcode, rkey=WRONG_KEY)
        scene.expect("REM_ACCESS_ERR")
        scene = Scene(device)
        scene.post(opcode, address=scene.memory.address + PAGE - 63)
        scene.expect("REM_ACCESS_ERR")
        right = enums.IBV_ACCESS_REMOTE_READ if opcode == WRITE else enums.IBV_ACCESS_REMOTE_WRITE
        scene = Scene(device)
        mr = MR(scene.a.pd, PAGE, right | enums.IBV_ACCESS_LOCAL_WRITE,
                address=scene.memory.address)
        scene.post(opcode, rkey=mr.rkey)
        scene.expect("REM_ACCESS_ERR")


def forbidden_by_the_qp(device):
    """The QP does not give the right, though the region does."""
    for opcode in (WRITE, READ):
        scene = Scene(device, qp_access_flags=enums.IBV_ACCESS_LOCAL_WRITE)
        scene.post(opcode)
        scene.expect("REM_INV_REQ_ERR")


def reads_without_resources(device):
    """READ on a QP whose max_rd_atomic is 0."""
    scene = Scene(device, max_rd_atomic=0)
    scene.post(READ)
    scene.expect("LOC_QP_OP_ERR")


def never_ready(device):
    """No receive request, and a limited number of RNR retries."""
    scene = Scene(device, rnr_retry=2)
    scene.post(SEND)
    scene.expect("RNR_RETRY_EXC_ERR")


def nobody_there(device):
    """The peer is gone; 4.096 us * 2^10 * (1 + retries) bound the time."""
    scene = Scene(device, timeout=10, retry_cnt=2)
    scene.b.qp.close()
    began = time.monotonic()
    scene.post(SEND)
    expect(scene.a, "RETRY_EXC_ERR")
    # The guest itself may have stood still for some seconds.
    check(time.monotonic() - began < 20, "it took too long")
    scene.a.qp.close()
    print("RETRY_EXC_ERR", flush=True)


def datagram_ends(device, **arguments):
    """Two UD QPs in RTS, and the address handle between them."""
    ends = [End(device, qp_type=enums.IBV_QPT_UD, **arguments)]
    ends.append(End(device, qp_type=enums.IBV_QPT_UD, of=ends[0], **arguments))
    for end in ends:
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        end.qp.to_rts(attr)
    ah = AH(ends[0].pd, attr=AHAttr(port_num=1, is_global=1, gr=GlobalRoute(
        dgid=GID(ends[0].gid), sgid_index=ends[0].gid_index)))
    return (*ends, ah)


def post_datagram(end, other, ah, memory, lkey, length):
    """One SEND."""
    wr = SendWR(7, num_sge=1, sg=[SGE(memory.address, length, lkey)], opcode=SEND,
                send_flags=enums.IBV_SEND_SIGNALED)
    wr.set_wr_ud(ah, other.qp.qp_num, QKEY)
    end.qp.post_send(wr)


def datagram_too_long(device):
    """A datagram is one packet."""
    a, b, ah = datagram_ends(device)
    memory = Memory(4 * PAGE)
    mr = MR(a.pd, memory.length, ACCESS_ALL, address=memory.address)
    try:
        post_datagram(a, b, ah, memory, mr.lkey, 2 * PAGE)
    except PyverbsError:
        pass
    else:
        check(False, "two pages are posted")
    post_datagram(a, b, ah, memory, WRONG_KEY, 8)
    expect(a, "LOC_PROT_ERR")
    check(a.state() == enums.IBV_QPS_SQE, "a UD QP is in", a.state())
    print("LOC_PROT_ERR", flush=True)


def statuses(device):
    """All of them."""
    for fault in (receive_too_short, receive_without_key, bad_lkey, bad_rkey,
                  forbidden_by_the_qp, reads_without_resources, never_ready, nobody_there,
                  datagram_too_long):
        fault(device)


# States

def to_state(end, state, **changes):
    """Modifies the QP to another state."""
    attr, mask = QPAttr(qp_state=state), enums.IBV_QP_STATE
    for name, (value, bit) in changes.items():
        setattr(attr, name, value)
        mask |= bit
    end.qp.modify(attr, mask)
    check(end.state() == state, "state", end.state())


def refused(end, state):
    """The QP stays in its state."""
    before = end.state()
    try:
        end.qp.modify(QPAttr(qp_state=state), enums.IBV_QP_STATE)
        check(False, "from", before, "to", state)
    except PyverbsError:
        check(end.state() == before, "state", end.state())


def drained(device):
    """SQD finishes requests that were begun and holds new ones; RTS goes on with them."""
    scene = Scene(device)
    for _ in range(4):
        scene.recv()
    scene.post(SEND)
    expect(scene.a, "SUCCESS")
    to_state(scene.a, enums.IBV_QPS_SQD)
    scene.post(SEND, wr_id=2)
    time.sleep(0.2)
    check(scene.a.cq.poll(1)[0] == 0, "a drained send queue sent")
    # Receiving goes on.
    scene.a.recv(scene.mr, scene.memory.address, 64, wr_id=3)
    scene.b.send(scene.mr, scene.memory.address, 64)
    check(scene.a.completions()[0][:2] == (3, "SUCCESS"), "SQD does not receive")
    to_state(scene.a, enums.IBV_QPS_SQD, min_rnr_timer=(1, enums.IBV_QP_MIN_RNR_TIMER))
    to_state(scene.a, enums.IBV_QPS_RTS)
    check(scene.a.completions()[0][:2] == (2, "SUCCESS"), "held back for ever")
    close(scene.a, scene.b)
    print("SQD", flush=True)


def send_queue_error(device):
    """SQE flushes sends, goes on receiving, and can go back to RTS."""
    a, b, ah = datagram_ends(device)
    memory = Memory(4 * PAGE)
    mr = MR(a.pd, memory.length, ACCESS_ALL, address=memory.address)
    post_datagram(a, b, ah, memory, WRONG_KEY, 8)
    post_datagram(a, b, ah, memory, mr.lkey, 8)
    check([entry[1] for entry in a.completions(2)] == ["LOC_PROT_ERR", "WR_FLUSH_ERR"], "SQE")
    refused(a, enums.IBV_QPS_SQD)
    a.recv(mr, memory.address, 200)
    post_datagram(b, a, ah, memory, mr.lkey, 8)
    expect(b, "SUCCESS")
    expect(a, "SUCCESS", "a datagram received in SQE")
    to_state(a, enums.IBV_QPS_RTS, cur_qp_state=(enums.IBV_QPS_SQE, enums.IBV_QP_CUR_STATE))
    b.recv(mr, memory.address + PAGE, 200)
    post_datagram(a, b, ah, memory, mr.lkey, 8)
    expect(a, "SUCCESS", "after SQE")
    check(b.completions()[0][1:] == ("SUCCESS", 48), "8 bytes behind 40 of the GRH")
    print("SQE", flush=True)


def errors_flush(device):
    """ERR flushes both queues, each in order; RESET drops everything."""
    scene = Scene(device)
    for number in range(5):
        scene.a.recv(scene.mr, scene.memory.address, 64, wr_id=number)
    to_state(scene.a, enums.IBV_QPS_ERR)
    found = scene.a.completions(5)
    check([entry[:2] for entry in found] == [(number, "WR_FLUSH_ERR") for number in range(5)],
          found)
    for state in (enums.IBV_QPS_INIT, enums.IBV_QPS_RTR, enums.IBV_QPS_RTS, enums.IBV_QPS_SQD):
        refused(scene.a, state)
    to_state(scene.a, enums.IBV_QPS_RESET)
    for state in (enums.IBV_QPS_RTR, enums.IBV_QPS_RTS, enums.IBV_QPS_SQD):
        refused(scene.a, state)
    scene.a.connect(scene.b.qp.qp_num, scene.a.gid)
    to_state(scene.b, enums.IBV_QPS_RESET)
    scene.b.connect(scene.a.qp.qp_num, scene.a.gid)
    scene.recv()
    scene.post(SEND)
    expect(scene.a, "SUCCESS", "after RESET")
    expect(scene.b, "SUCCESS", "after RESET")
    print("ERR", flush=True)


def states(device):
    """All of them."""
    for part in (drained, send_queue_error, errors_flush):
        part(device)


# Objects

def count(make):
    """How many objects can be created; all are kept until creating one fails."""
    made = []
    try:
        while True:
            made.append(make())
    except PyverbsError:
        pass
    for item in made:
        item.close()
    return len(made)


def fill(device):
    """One kind after the other."""
    end = End(device, depth=4)
    memory = Memory(PAGE)
    attr = AHAttr(port_num=1, is_global=1,
                  gr=GlobalRoute(dgid=GID(end.gid), sgid_index=end.gid_index))
    print("pd", count(lambda: PD(end.context)), "cq", count(lambda: CQ(end.context, 4)),
          "qp", count(end.new_qp), "ah", count(lambda: AH(end.pd, attr=attr)),
          "mr", count(lambda: MR(end.pd, PAGE, ACCESS_ALL, address=memory.address)), flush=True)


def main():
    """Does what the command line says."""
    mode, device = sys.argv[1:]
    {"statuses": statuses, "states": states, "fill": fill}[mode](device)


if __name__ == "__main__":
    main()
