# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""RDMA WRITEs, each followed by a FLUSH, and a FLUSH without the right to.

flush.py server|client DEVICE GID ADDRESS

Like opcodes.py, which must be in the same directory, but with one connection, and the
result of each request is checked.
"""

import random
import sys

from opcodes import SIZE, End, Peer
from pyverbs import enums

ROUNDS = 20


def data(number):
    """The bytes that are written in a round."""
    return random.Random(number).randbytes(SIZE)


def flush(qp, wr_id, other, kind, level):
    """Adds a FLUSH to what is being posted."""
    qp.wr_id, qp.wr_flags = wr_id, enums.IBV_SEND_SIGNALED
    qp.wr_flush(other["rkey"], other["address"], SIZE, kind, level)


def expect(end, wr_id, status):
    """The next completion."""
    completion = end.completion()
    assert (completion.wr_id, completion.status) == (wr_id, status)
    if status == enums.IBV_WC_SUCCESS:
        assert completion.opcode == enums.IBV_WC_FLUSH


def client(end, peer, qp, other):
    """Writes and flushes."""
    for number in range(ROUNDS):
        end.mr.write(data(number), SIZE)
        qp.wr_start()
        qp.wr_id, qp.wr_flags = 1000, 0
        qp.wr_rdma_write(other["rkey"], other["address"])
        qp.wr_set_sge(end.sge(SIZE)[0])
        flush(qp, number, other, enums.IBV_FLUSH_GLOBAL,
              enums.IBV_FLUSH_MR if number % 2 else enums.IBV_FLUSH_RANGE)
        qp.wr_complete()
        expect(end, number, enums.IBV_WC_SUCCESS)
        peer.swap()
        peer.swap()
    qp.wr_start()
    flush(qp, ROUNDS, other, enums.IBV_FLUSH_PERSISTENT, enums.IBV_FLUSH_RANGE)
    qp.wr_complete()
    expect(end, ROUNDS, enums.IBV_WC_REM_INV_REQ_ERR)


def server(end, peer):
    """Checks that the bytes were written."""
    for number in range(ROUNDS):
        peer.swap()
        assert end.mr.read(SIZE, 0) == data(number), f"round {number}"
        peer.swap()


def main():
    """One connection."""
    role, device, gid, address = sys.argv[1:]
    end, peer = End(device, gid), Peer(role, address)
    qp = end.qp("RC", enums.IBV_WR_FLUSH)
    other = peer.swap(qpn=qp.qp_num, gid=end.gid, rkey=end.mr.rkey, address=end.mr.buf)
    end.connect(qp, "RC", 1000, other)
    peer.swap()
    if role == "client":
        client(end, peer, qp, other)
    else:
        server(end, peer)
    peer.swap()
    print("all flushed")


main()
