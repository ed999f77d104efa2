# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A process that abuses what is mapped to it harms nobody but itself."""

import pathlib
import re
import signal
import time

import pytest

import lab
from lab import kernellog, paths
from lab.patience import Deadline
from lab.pingpong import PingPong, pingpong

PROGRAM = pathlib.Path(__file__).parent / "guest" / "hostile.py"


@pytest.fixture(scope="module", name="sanitized_pair")
def _sanitized_pair(request):
    """Guests on a daemon with sanitizers."""
    if paths.DEBUG:  # all have it
        yield request.getfixturevalue("module_pair")
        return
    pair = lab.Pair("sanitized")
    pair.daemon.binary = paths.SANITIZED_DAEMON
    pair.start()
    pair.load_modules()
    yield pair
    pair.stop()


@pytest.mark.long
@pytest.mark.debug_kernel
def test_garbage_in_rings_and_slots(sanitized_pair):
    """Its QP fails; a ping-pong beside it, Ethernet and the daemon go on."""
    a, b = sanitized_pair.guests
    program = a.put(PROGRAM)
    beside = PingPong(b, a, iterations=100000000, events=True, gently=True)
    beside.wait_connected()
    for _ in range(3 if paths.LONG else 1 if paths.DEBUG else 2):
        result = a.run(["python3", program, "garbage", a.rdma_device()], timeout=120)
        assert "QPs failed" in result.stdout, str(result)
        beside.assert_moves()
    beside.kill()
    a.run(["ping", "-c", "2", b.address])
    pingpong(a, b, iterations=200, validate=True)


def test_only_own_pieces_can_be_mapped(sanitized_pair):
    """No offset of the device file gives more than the provider maps."""
    guest = sanitized_pair.a
    program = guest.put(PROGRAM)
    # Each piece has fewer pages.  In full it takes the debug kernel a quarter of an hour.
    most = ("512", "4096") if paths.LONG and not paths.DEBUG else ("64", "512")
    result = guest.run(["python3", program, "probe", guest.rdma_device(), *most], timeout=300)
    match = re.search(r"mapped (\d+) known (\d+) extra (.*) writable (.*) descriptors (.*)",
                      result.stdout)
    assert match, str(result)
    # A CQ has two pieces, a QP one, and there is the doorbell page with its register.
    assert int(match[1]) == int(match[2]) > 4, str(result)
    assert (match[3], match[4], match[5]) == ("[]", "[]", "[]"), str(result)


def test_mappings_kept_after_destruction(sanitized_pair):
    """A process never gets rings that another process can still reach."""
    a, b = sanitized_pair.guests
    program = a.put(PROGRAM)
    before = a.run("rdma resource show").stdout
    # Three of them in a row: with numbers in turn, some ring would be met again.  On the
    # debug kernel three leave udevd no time.
    hostile = [a.popen(["python3", program, "keep", a.rdma_device()])
               for _ in range(1 if paths.DEBUG else 3)]
    for command in hostile:
        command.wait_output(r"kept [1-9]")
    for number in range(40 if paths.LONG else 4):
        pingpong(b, a, iterations=50, validate=True, events=number % 2 == 0)
    assert all(command.poll() is None for command in hostile), "they ended too early"
    for command in hostile:
        command.kill(signal.SIGTERM)
        assert "done" in command.wait(60, check=True).stdout
    assert a.run("rdma resource show").stdout == before
    # All numbers are free again: the greatest number of QPs can be created.
    for _ in range(2):
        count = a.run(["python3", program, "fill", a.rdma_device()]).stdout
        assert int(count) == sanitized_pair.limits.direct_qps, count


def _wait_as_before(guest, before, program):
    """Waits until all objects of killed processes are gone."""
    deadline = Deadline(30)
    while (left := guest.run("rdma resource show").stdout.strip()) != before:
        assert not deadline.over(), (f"{left}\nbefore: {before}\n"
                                     f"left: {guest.run(f'pgrep -af {program} || true').stdout}")
        time.sleep(0.2)


@pytest.mark.long
@pytest.mark.debug_kernel
def test_killed_at_any_moment(sanitized_pair):
    """Processes that die while they write garbage leave the device as it was."""
    guest = sanitized_pair.a
    program = guest.put(PROGRAM)
    before = guest.run("rdma resource show").stdout.strip()
    guest.run("for i in $(seq 10); do"
              f" timeout -s KILL $((i / 4)).$((i * 7 % 10)) python3 {program} garbage"
              f" {guest.rdma_device()}; done; true", timeout=120)
    # timeout kills itself as well, so that nobody has waited for the program.
    _wait_as_before(guest, before, "garbage")
    pingpong(sanitized_pair.b, guest, iterations=200)


_CHARGED = """
import sys
from pyverbs import enums
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr

def charged():
    with open("/tmp/charged/roce/memory.current") as file:
        return int(file.read())

context = Context(name=sys.argv[1])
attr = context.query_device()
pd = PD(context)
cq = CQ(context, 16)
cap = QPCap(max_send_wr=attr.max_qp_wr, max_recv_wr=1, max_send_sge=attr.max_sge, max_recv_sge=1)
before = charged()
qps = [QP(pd, QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap)) for _ in range(4)]
print("charged", charged() - before, "of", 4 * attr.max_qp_wr * 16 * attr.max_sge)
"""


def test_queues_are_charged(rdma_pair):
    """Work requests that a process asks for count against its memory cgroup."""
    guest = rdma_pair.a
    guest.run("mkdir /tmp/charged && mount -t cgroup2 none /tmp/charged &&"
              " echo +memory > /tmp/charged/cgroup.subtree_control && mkdir /tmp/charged/roce")
    try:
        result = guest.run(["sh", "-c", "echo $$ > /tmp/charged/roce/cgroup.procs &&"
                            ' exec python3 -c "$0" "$1"', _CHARGED, guest.rdma_device()])
    finally:
        guest.run("rmdir /tmp/charged/roce; umount /tmp/charged; rmdir /tmp/charged")
    match = re.search(r"charged (\d+) of (\d+)", result.stdout)
    assert match and int(match[1]) >= int(match[2]) > 1 << 20, str(result)


# The least of each kind, in the short form, for the rest to be of any use.
_MISCHIEF = re.compile(r"mischief: (\d+) calls .* verbs (\d+)/\d+ writes (\d+)/\d+"
                       r" ioctls (\d+)/\d+ maps (\d+)/\d+ garbage (\d+)/\d+ .*; (\d+) XRC objects,"
                       r" (\d+) for frames")


@pytest.mark.long
@pytest.mark.debug_kernel
def test_mischief(sanitized_pair):
    """Random commands, ioctls, mappings, forks and kills harm nobody beside them."""
    a, b = sanitized_pair.guests
    # Findings of kmemleak are judged one by one.
    a.expect_reports(*kernellog.REFUSED_CONTEXT)
    program = a.put(paths.program("mischief"))
    beside = PingPong(b, a, iterations=100000000, events=True, gently=True)
    beside.wait_connected()
    before = a.run("rdma resource show").stdout.strip()
    volume = (["-f", "-n", "1000000"] if paths.LONG else
              ["-n", "20000" if paths.DEBUG else "50000", "-t", "20", "-m", "3000"])
    result = a.run([program, "-d", a.rdma_device(), *volume], timeout=4 * 3600)
    match = _MISCHIEF.search(result.stdout)
    assert match, str(result)
    print("volume:", match[0])
    assert int(match[1]) >= (1000000 if paths.LONG else 3000), str(result)
    # Of the others, which are made up, hardly one is to succeed.
    assert int(match[2]) >= 20 and int(match[5]) >= 1, str(result)
    # One of some thousand calls: the debug kernel has not always time for one.
    assert int(match[7]) >= 1 or int(match[1]) < 20000, str(result)
    assert int(match[8]) >= 1 or not paths.LONG, str(result)
    beside.assert_moves()
    _wait_as_before(a, before, "mischief")
    beside.kill()
    pingpong(a, b, iterations=200, validate=True)
