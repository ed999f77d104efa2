# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends packets of each kind that RC, UC and UD QPs send.

opcodes.py server|client DEVICE GID ADDRESS

GID is the one to use, as the device lists it.  ADDRESS is the server's, by which the
two connect.  The client sends and the server answers, with new QPs for each message.
For each the client prints a line: the message, its status, and "intact" if the bytes
have arrived at the other end.
"""

import json
import pathlib
import random
import socket
import sys
import time

from pyverbs import enums
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.wr import RecvWR, SGE, SendWR

PORT = 18600
MTU = 256
SIZE = 8192
QKEY = 0x11111111
IMM = 0x1a2b3c4d
GRH = 40
WAIT = 60
PATIENCE = 1
# ACK timeout and retries: for an end that may stand still for seconds, or if none will do.
PATIENT = (19, 7)
HASTY = (14, 2)
TYPES = {"RC": enums.IBV_QPT_RC, "UC": enums.IBV_QPT_UC, "UD": enums.IBV_QPT_UD}
ACCESS = (enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_WRITE
          | enums.IBV_ACCESS_REMOTE_READ | enums.IBV_ACCESS_FLUSH_GLOBAL
          | enums.IBV_ACCESS_REMOTE_ATOMIC)
ATOMICS = (enums.IBV_WR_ATOMIC_CMP_AND_SWP, enums.IBV_WR_ATOMIC_FETCH_AND_ADD)
WORD = 8
OPERANDS = (0x1122334455667788, 0x99aabbccddeeff00)
EXTENDED = {
    enums.IBV_WR_FLUSH: enums.IBV_QP_EX_WITH_FLUSH,
    enums.IBV_WR_ATOMIC_WRITE: enums.IBV_QP_EX_WITH_ATOMIC_WRITE,
}

# QP type, operation, bytes, and what is wrong with it
MESSAGES = (  # of a user's region SEND with invalidate is always refused
    ("RC", enums.IBV_WR_SEND, 13, None),
    ("RC", enums.IBV_WR_SEND, 0, None),
    ("RC", enums.IBV_WR_SEND, 2 * MTU + 30, None),
    ("RC", enums.IBV_WR_SEND_WITH_IMM, 15, None),
    ("RC", enums.IBV_WR_SEND_WITH_IMM, MTU + 1, None),
    ("RC", enums.IBV_WR_RDMA_WRITE, 6, None),
    ("RC", enums.IBV_WR_RDMA_WRITE, 2 * MTU + 3, None),
    ("RC", enums.IBV_WR_RDMA_WRITE_WITH_IMM, 9, None),
    ("RC", enums.IBV_WR_RDMA_WRITE_WITH_IMM, MTU + 2, None),
    ("RC", enums.IBV_WR_RDMA_READ, 11, None),
    ("RC", enums.IBV_WR_RDMA_READ, 2 * MTU + 7, None),
    ("RC", enums.IBV_WR_SEND_WITH_INV, 5, None),
    ("RC", enums.IBV_WR_SEND_WITH_INV, MTU + 5, None),
    ("RC", enums.IBV_WR_FLUSH, 12, None),
    ("RC", enums.IBV_WR_ATOMIC_CMP_AND_SWP, WORD, None),
    ("RC", enums.IBV_WR_ATOMIC_CMP_AND_SWP, WORD, "another value"),
    ("RC", enums.IBV_WR_ATOMIC_FETCH_AND_ADD, WORD, None),
    ("RC", enums.IBV_WR_ATOMIC_WRITE, WORD, None),
    ("RC", enums.IBV_WR_SEND, 8, "no receive request"),
    ("RC", enums.IBV_WR_SEND, 8, "PSN"),
    ("RC", enums.IBV_WR_RDMA_READ, 8, "key"),
    ("RC", enums.IBV_WR_ATOMIC_FETCH_AND_ADD, WORD, "key"),
    ("RC", enums.IBV_WR_SEND, SIZE, "too long"),
    ("UC", enums.IBV_WR_SEND, 21, None),
    ("UC", enums.IBV_WR_SEND, 2 * MTU + 33, None),
    ("UC", enums.IBV_WR_SEND_WITH_IMM, 7, None),
    ("UC", enums.IBV_WR_SEND_WITH_IMM, MTU + 10, None),
    ("UC", enums.IBV_WR_RDMA_WRITE, 10, None),
    ("UC", enums.IBV_WR_RDMA_WRITE, 2 * MTU + 1, None),
    ("UC", enums.IBV_WR_RDMA_WRITE_WITH_IMM, 3, None),
    ("UC", enums.IBV_WR_RDMA_WRITE_WITH_IMM, MTU + 6, None),
    ("UD", enums.IBV_WR_SEND, 17, None),
    ("UD", enums.IBV_WR_SEND_WITH_IMM, 18, None),
)


class Peer:
    """The other end, by TCP: a JSON line each way at a time."""

    def __init__(self, role, address):
        if role == "server":
            with socket.create_server(("", PORT)) as listener:
                connection = listener.accept()[0]
        else:
            connection = socket.create_connection((address, PORT), WAIT)
            # It was for connecting: the other end may take longer for a message.
            connection.settimeout(None)
        self.file = connection.makefile("rw", encoding="ascii")

    def swap(self, **mine):
        """Sends a value to the other end; returns the other end's."""
        print(json.dumps(mine), file=self.file, flush=True)
        return json.loads(self.file.readline())


class End:
    """This end: memory, and objects that are created for each message."""

    def __init__(self, device, gid):
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.mr = MR(self.pd, SIZE, ACCESS)
        gids = pathlib.Path(f"/sys/class/infiniband/{device}/ports/1/gids")
        self.gid = gid
        self.gid_index = next(int(path.name) for path in gids.iterdir()
                              if path.read_text().strip() == gid)

    def ah_attr(self, gid):
        """Address attributes for a GID."""
        return AHAttr(port_num=1, is_global=1,
                      gr=GlobalRoute(dgid=GID(gid), sgid_index=self.gid_index, hop_limit=64))

    def qp(self, kind, opcode):
        """A QP of a type, for an operation."""
        self.cq = CQ(self.context, 64)
        if opcode in EXTENDED:
            return QPEx(self.context, QPInitAttrEx(
                qp_type=TYPES[kind], scq=self.cq, rcq=self.cq, pd=self.pd,
                cap=QPCap(max_send_wr=8, max_recv_wr=8),
                send_ops_flags=EXTENDED[opcode] | enums.IBV_QP_EX_WITH_RDMA_WRITE,
                comp_mask=enums.IBV_QP_INIT_ATTR_PD | enums.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
        return QP(self.pd, QPInitAttr(qp_type=TYPES[kind], scq=self.cq, rcq=self.cq,
                                      cap=QPCap(max_send_wr=8, max_recv_wr=8)))

    def connect(self, qp, kind, psn, other, retries=PATIENT):
        """To RTS."""
        attr = QPAttr(port_num=1)
        attr.sq_psn, attr.rq_psn = psn, 1000
        if kind == "UD":
            attr.qkey = QKEY
        else:
            attr.dest_qp_num = other["qpn"]
            attr.path_mtu = enums.IBV_MTU_256
            attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
            (attr.timeout, attr.retry_cnt), attr.rnr_retry = retries, 2
            attr.min_rnr_timer = 5
            attr.qp_access_flags = ACCESS
            attr.ah_attr = self.ah_attr(other["gid"])
        qp.to_rts(attr)

    def sge(self, length):
        """The beginning of the memory."""
        return [SGE(self.mr.buf, length, self.mr.lkey)]

    def send_extended(self, qp, opcode, length, other):
        """Posts a message that needs another way of posting."""
        qp.wr_start()
        qp.wr_id, qp.wr_flags = 1, enums.IBV_SEND_SIGNALED
        if opcode == enums.IBV_WR_FLUSH:
            qp.wr_flush(other["rkey"], other["address"], length, enums.IBV_FLUSH_GLOBAL,
                        enums.IBV_FLUSH_MR)
        else:
            qp.wr_atomic_write(other["rkey"], other["address"], self.mr.read(length, 0))
        qp.wr_complete()

    def send(self, qp, message, other):
        """The message."""
        kind, opcode, length, wrong = message
        if opcode in EXTENDED:
            self.send_extended(qp, opcode, length, other)
            return
        wr = SendWR(1, num_sge=1, sg=self.sge(length), opcode=opcode,
                    send_flags=enums.IBV_SEND_SIGNALED | enums.IBV_SEND_SOLICITED,
                    imm_data=other["rkey"] if opcode == enums.IBV_WR_SEND_WITH_INV else IMM)
        key = other["rkey"] ^ (wrong == "key")
        if opcode in ATOMICS:
            wr.set_wr_atomic(key, other["address"], operand(message), OPERANDS[1])
        else:
            wr.set_wr_rdma(key, other["address"])
        if kind == "UD":
            # The address handle must live until the message was sent.
            self.address = AH(self.pd, attr=self.ah_attr(other["gid"]))
            wr.set_wr_ud(self.address, other["qpn"], QKEY)
        qp.post_send(wr)

    def completion(self):
        """Waits for a completion, whatever its status."""
        deadline = time.monotonic() + WAIT
        while True:
            count, completions = self.cq.poll()
            if count:
                return completions[0]
            assert time.monotonic() < deadline, "no completion"
            time.sleep(0.01)

    def holds(self, data, offset):
        """Waits until memory holds data, for a while."""
        deadline = time.monotonic() + PATIENCE
        while True:
            # Before the look: this may stand still in between.
            over = time.monotonic() > deadline
            if self.mr.read(len(data), offset) == data:
                return True
            if over:
                return False
            time.sleep(0.01)


def word(data):
    """The number of 8 bytes."""
    return int.from_bytes(data, sys.byteorder)


def operand(message):
    """The number that is compared, or added."""
    _, opcode, length, wrong = message
    if opcode == enums.IBV_WR_ATOMIC_CMP_AND_SWP and not wrong:
        return word(contents(length))
    return OPERANDS[0]


def contents(length):
    """The bytes of a message."""
    return random.Random(1).randbytes(length)


def changed(message):
    """The number that an atomic operation leaves at the server."""
    _, opcode, length, wrong = message
    value = word(contents(length))
    if opcode == enums.IBV_WR_ATOMIC_FETCH_AND_ADD:
        value += OPERANDS[0]
    elif not wrong:
        value = OPERANDS[1]
    return (value % (1 << 64)).to_bytes(length, sys.byteorder)


def run(role, end, peer, message):
    """One message."""
    kind, opcode, length, wrong = message
    qp = end.qp(kind, opcode)
    other = peer.swap(qpn=qp.qp_num, gid=end.gid, rkey=end.mr.rkey, address=end.mr.buf)
    psn = 1002 if wrong == "PSN" and role == "client" else 1000
    end.connect(qp, kind, psn, other, HASTY if wrong == "PSN" else PATIENT)
    if role == "server" and wrong != "no receive request":
        qp.post_recv(RecvWR(2, num_sge=1, sg=end.sge(SIZE // 2)))
    # A READ moves data from the server's memory, the others from the client's.
    fetch = opcode == enums.IBV_WR_RDMA_READ or opcode in ATOMICS
    data = contents(length)
    source = (role == "server") == fetch
    end.mr.write(data if source else bytes(SIZE), len(data) if source else SIZE)
    peer.swap()
    status = None
    if role == "client":
        try:
            end.send(qp, message, other)
            status = end.completion().status
        except PyverbsRDMAError:
            status = "not posted"
    peer.swap()
    if source and opcode in ATOMICS:
        data, source = changed(message), False
    good = wrong in (None, "another value")
    intact = good and (source or end.holds(data, GRH if kind == "UD" else 0))
    theirs = peer.swap(intact=intact)["intact"]
    if role == "client":
        print(kind, opcode, length, wrong, status,
              "intact" if intact and theirs else "lost", sep=",", flush=True)
    qp.close()
    end.cq.close()


def main():
    """All messages."""
    role, device, gid, address = sys.argv[1:]
    end, peer = End(device, gid), Peer(role, address)
    for message in MESSAGES:
        run(role, end, peer, message)


if __name__ == "__main__":
    main()
