# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A large region, and a QP that is reset.

region.py MODE DEVICE NUMBER
  register  registers a region of NUMBER bytes and deregisters it
  reset     two QPs connected with each other: NUMBER times one of them, with receive
            requests in its queue, goes to RESET and is connected again
"""

import sys

from ends import ACCESS_ALL, End, Memory, PAGE, check, connected, expect
from pyverbs import enums
from pyverbs.mr import MR
from pyverbs.qp import QPAttr


def register(device, length):
    """See above."""
    end, memory = End(device, depth=4), Memory(length)
    MR(end.pd, length, ACCESS_ALL, address=memory.address).close()
    memory.free()
    print("registered", length)


def to_reset(*ends):
    """MODIFY_QP."""
    attr = QPAttr(port_num=1)
    attr.qp_state = enums.IBV_QPS_RESET
    for end in ends:
        end.qp.modify(attr, enums.IBV_QP_STATE)


def reset(device, times):
    """See above."""
    a, b = connected(device)
    memory = Memory(PAGE)
    mr = MR(a.pd, PAGE, ACCESS_ALL, address=memory.address)
    for turn in range(times):
        for number in range(b.depth):
            b.recv(mr, memory.address, 64, wr_id=1000 * turn + number)
        a.send(mr, memory.address, 8)
        expect(a, "SUCCESS", "in turn", turn)
        found = b.completions()[0][:2]
        check(found == (1000 * turn, "SUCCESS"), found, "in turn", turn)
        to_reset(a, b)
        check(not b.cq.poll(1)[0], "a completion of before RESET, in turn", turn)
        a.connect(b.qp.qp_num, a.gid)
        b.connect(a.qp.qp_num, a.gid)
    print("reset", times)


def main():
    """Does what the command line says."""
    mode, device, number = sys.argv[1:]
    {"register": register, "reset": reset}[mode](device, int(number))


if __name__ == "__main__":
    main()
