# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""fork() in the middle of RDMA.

forks.py queues DEVICE         a child uses the queues of its parent, and its own
forks.py memory DEVICE         parent and child write to pages of a memory region
forks.py huge DEVICE           the same with huge pages
"""

import errno
import os
import random
import signal
import sys
import traceback

from pyverbs import enums
from pyverbs.fork import fork_init, is_fork_initialized
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr

from ends import (ACCESS_ALL, MAP_HUGETLB, MIB, PAGE, Memory, check, connected, expect,
                  request)

READ, WRITE = enums.IBV_WR_RDMA_READ, enums.IBV_WR_RDMA_WRITE
MESSAGES = 500


class Child:
    """A child that runs a generator, one step for each request of the parent."""

    def __init__(self, steps):
        told, self._tell = os.pipe()
        self._hear, says = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(told)
            os.close(says)
            return
        # The child must not clean up objects of the parent when it ends.
        status = 1
        try:
            signal.alarm(60)
            for _ in steps:
                os.write(says, b".")
                os.read(told, 1)
            status = 0
        except BaseException:  # pylint: disable=broad-exception-caught
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)

    def wait_step(self):
        """Waits until the child has done its step."""
        if os.read(self._hear, 1) != b".":
            raise SystemExit(f"failed: the child ended early: {self.status()}")

    def next_step(self):
        """Lets the child do the next step."""
        os.write(self._tell, b".")

    def status(self):
        """Waits for the child; returns how it ended."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def end(self):
        """Lets the child end."""
        self.next_step()
        status = self.status()
        check(status == 0, "the child", status)


# Queues

def refused(call, *arguments):
    """The child must get an error for this."""
    try:
        call(*arguments)
    except PyverbsRDMAError as error:
        check(error.error_code == errno.EFAULT, call, error)
        return
    check(False, call, "worked in a child")


def exchange(a, b, mr, memory, count):
    """Messages from a to b, compared."""
    for number in range(count):
        data = number.to_bytes(4, "little") * 16
        memory.write(data)
        b.recv(mr, memory.address + PAGE, len(data))
        a.send(mr, memory.address, len(data))
        expect(a, "SUCCESS", "send", number)
        expect(b, "SUCCESS", "receive", number)
        check(memory.equals(data, PAGE), "contents of", number)


def buffer_of(end):
    """Memory and its region."""
    memory = Memory(2 * PAGE)
    return memory, MR(end.pd, memory.length, ACCESS_ALL, address=memory.address)


def use_parents(device, ends, mr, memory):
    """Uses the parent's queues in every way, then queues of its own."""
    for end in ends:
        refused(end.send, mr, memory.address, 8)
        refused(end.recv, mr, memory.address, 8)
        refused(end.cq.poll)
        refused(end.cq.req_notify)
        refused(end.cq.resize, 200)
        refused(end.qp.modify, QPAttr(qp_state=enums.IBV_QPS_ERR), enums.IBV_QP_STATE)
        refused(end.qp.close)
        refused(end.cq.close)
    yield
    a, b = connected(device)
    memory, mr = buffer_of(a)
    exchange(a, b, mr, memory, MESSAGES)
    yield


def queues(device):
    """The parent's queues work before, during and after."""
    a, b = connected(device, events=True)
    memory, mr = buffer_of(a)
    exchange(a, b, mr, memory, MESSAGES)
    # The queues are not empty: a receive request, and a completion.
    b.recv(mr, memory.address + PAGE, 64)
    b.recv(mr, memory.address + PAGE, 64)
    a.send(mr, memory.address, 64)
    expect(a, "SUCCESS")
    child = Child(use_parents(device, (a, b), mr, memory))
    child.wait_step()
    expect(b, "SUCCESS", "before the child")
    a.send(mr, memory.address, 64)
    expect(a, "SUCCESS", "after the child")
    expect(b, "SUCCESS", "after the child")
    child.next_step()
    exchange(a, b, mr, memory, MESSAGES)
    child.wait_step()
    child.end()
    exchange(a, b, mr, memory, MESSAGES)
    print("queues", flush=True)


# Memory

def write_all(memory, value):
    """The child writes to its memory, which nothing else may change."""
    check(memory.is_filled(0x11, 0, memory.length), "not what the parent had at the fork")
    memory.fill(value)
    for _ in range(2):
        yield
        check(memory.is_filled(value, 0, memory.length), "the child's memory was changed")


def transfer(a, memory, mr, local, seed):
    """WRITE to a part of the memory and READ of another; the rest must not change."""
    scratch, smr = local
    length, value = memory.length // 4, 0x33 + seed
    data = random.Random(seed).randbytes(length)
    scratch.write(data)
    # The parent stores first: after a fork this could replace its pages by copies.
    memory.fill(value)
    for opcode, offset, place in ((WRITE, length + 77, 0), (READ, 0, length)):
        a.qp.post_send(request(opcode, smr, scratch.address + place, length,
                               remote=(memory.address + offset, mr.rkey)))
        expect(a, "SUCCESS", opcode)
    check(memory.equals(data, length + 77), "what was written is not in the parent's memory")
    check(scratch.is_filled(value, length, length), "what was read is not the parent's")
    check(memory.is_filled(value, 0, length + 77), "written before")
    check(memory.is_filled(value, 2 * length + 77, 2 * length - 77), "written behind")


def pages(device, length, flags):
    """The child writes first, then the parent; the same with a child of a later fork."""
    a, b = connected(device)
    memory = Memory(length, flags=flags)
    scratch = Memory(length)
    local = scratch, MR(a.pd, scratch.length, ACCESS_ALL, address=scratch.address)
    mr = MR(b.pd, memory.length, ACCESS_ALL, address=memory.address)
    for seed in range(3):
        memory.fill(0x11)
        child = Child(write_all(memory, 0x22))
        child.wait_step()
        check(memory.is_filled(0x11, 0, memory.length), "the child's stores are seen here")
        transfer(a, memory, mr, local, seed)
        child.next_step()
        child.wait_step()
        transfer(a, memory, mr, local, seed + 10)
        child.end()
        transfer(a, memory, mr, local, seed + 20)
    status = is_fork_initialized()
    print("huge pages" if flags else "pages", "fork status", int(status), flush=True)


def main():
    """Does what the command line says."""
    mode, device = sys.argv[1:]
    if mode == "queues":
        queues(device)
        return
    # As in programs that were written for old kernels.
    if "RDMAV_FORK_SAFE" in os.environ:
        fork_init()
    if mode == "huge":
        pages(device, 16 * MIB, MAP_HUGETLB)
    else:
        pages(device, MIB, 0)


if __name__ == "__main__":
    main()
