# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A daemon with a keeper is killed: Ethernet goes on, and RDMA starts anew in the guests.

Ethernet stands still for less than a second, and RDMA is back after less than five, however
often the daemon is killed.  QEMU is as it is, and nobody does anything to it.  With LAB_LONG=1
in the environment ("make soak") this happens 200 times.
"""

import contextlib
import os
import statistics
import subprocess
import time

import pytest

import lab
from lab import disk
from lab.iperf import Iperf, iperf
from lab.memory import memory, memory_lost
from lab.outage import Outage
from lab.paths import LONG
from lab.patience import PATIENCE, Deadline, crowd
from lab.pingpong import PingPong, pingpong

TIMES = 200 if LONG else 2

# In seconds, of a machine that has nothing else to do.
GOAL_ETHERNET, GOAL_RDMA = 1, 5

COUNT = "dmesg | grep -c 'virtio_net_roce.*: restarted'"


@pytest.fixture(scope="module", name="pair")
def _pair():
    """Two guests, and a daemon that has a keeper."""
    pair = lab.Pair("keeper", daemon_arguments=("--keeper",)).start()
    pair.load_modules()
    yield pair
    pair.stop()


def _restarts(guest):
    return int(guest.run(COUNT, check=False).stdout)


def _link(guest):
    """RDMA device, and its interface."""
    return guest.run("rdma link").stdout


def _wait_restarted(guest, before):
    """The driver has restarted the function, and the port is up."""
    guest.wait_until(f"[ $({COUNT}) -gt {before} ]", 60)
    guest.forget()
    guest.wait_until("rdma link | grep -q 'state ACTIVE'", 60)


def _link_changes(guest):
    """How often Ethernet's link has gone down or up."""
    return int(guest.run(f"cat /sys/class/net/{guest.interface()}/carrier_changes").stdout)


def _kill(pair):
    """Kills the daemon, until RDMA is back in both guests.

    Seconds until then, and seconds that Ethernet stood still.
    """
    links = [_link_changes(guest) for guest in pair.guests]
    outage = Outage(pair.b, pair.a)
    before = [_restarts(guest) for guest in pair.guests]
    began = time.monotonic()
    pair.daemon.kill_kept()
    for guest, number in zip(pair.guests, before):
        _wait_restarted(guest, number)
    took = time.monotonic() - began
    stood = outage.end()
    assert [_link_changes(guest) for guest in pair.guests] == links
    return took, stood


def _allowed(goal):
    """Seconds.  Short tests run on busy machines, where a process may stand still for 3 s."""
    return goal * PATIENCE if LONG else goal * PATIENCE * 4 * crowd() + 6


def _assert_goals(kills):
    """All of what _kill() has returned."""
    rdma, ethernet = zip(*kills)
    for what, times in ("RDMA was back", rdma), ("Ethernet stood still and was back", ethernet):
        print(f"volume: {what} after {statistics.median(times):.2f} s (median), "
              f"{max(times):.2f} s (most) of {len(times)}")
    assert max(rdma) < _allowed(GOAL_RDMA), rdma
    assert max(ethernet) < _allowed(GOAL_ETHERNET), ethernet


def _descriptors(pair):
    """How many the keeper has, and so the daemon; a daemon that is new closes some late."""
    return len(os.listdir(f"/proc/{pair.daemon.pid}/fd"))


def test_killed_under_load(pair):
    """Programs end; a TCP connection lives; the device is back under its name, and works.

    Neither guests nor the daemon lose anything, however often it happens.
    """
    links = [_link(guest) for guest in pair.guests]
    left = descriptors = None
    kills = []
    load = Iperf(pair.a, pair.b, seconds=0, arguments=[] if LONG else ["-b", "20M"])
    for times in range(TIMES):
        if times == 1:
            left = memory(pair.a)
            descriptors = _descriptors(pair)
        run = PingPong(pair.a, pair.b, iterations=100000000, events=True)
        run.wait_connected()
        kills.append(_kill(pair))
        moved = load.intervals()
        for end in (run.client, run.server):
            result = end.wait(60)
            assert result.rc > 0, str(result)
        assert [_link(guest) for guest in pair.guests] == links
        pingpong(pair.a, pair.b, iterations=200, validate=True)
        load.assert_moves(since=moved)
    load.kill()
    # A ping-pong's rings and regions alone are 1 MB in each round.
    allowed = 8192 + 100 * TIMES
    lost = memory_lost(pair.a, left, allowed)
    print(f"volume: killed {TIMES} times, {lost} kB lost")
    assert lost < allowed, f"{lost} kB lost in {TIMES} rounds"
    assert _descriptors(pair) == descriptors
    _assert_goals(kills)
    pair.daemon.assert_healthy()
    for guest in pair.guests:
        assert "the device has lost its RDMA objects" in guest.dmesg()


def test_killed_in_a_row(pair):
    """Neither Ethernet nor RDMA wait longer each time."""
    _assert_goals([_kill(pair) for _ in range(4)])


def _wait_gsi(pair):
    """The daemon that runs now has a GSI QP of each guest: RDMA has started anew with it."""
    wanted = {socket.name for socket in pair.daemon.sockets}
    found, deadline = set(), Deadline(60)
    while found != wanted:
        assert not deadline.over(), f"{found}\n{pair.daemon.tail()}"
        time.sleep(0.2)
        # As long as there is no daemon, nobody answers.
        with contextlib.suppress(subprocess.SubprocessError):
            lines = map(str.split, pair.daemon.control("qps").splitlines())
            found = {line[0] for line in lines if "GSI" in line}


@pytest.mark.long
def test_killed_while_it_starts(pair):
    """The next daemon dies when the driver has just begun with it, or begins: all comes back."""
    for pause in (0, 0.4, 1.6):
        before = [_restarts(guest) for guest in pair.guests]
        pair.daemon.kill_kept()
        if pause < 1:
            pair.a.wait_until(f"[ $({COUNT}) -gt {before[0]} ]", 60)
        time.sleep(pause)
        pair.daemon.kill_kept()
        # The port says that it is active until the guest knows that the daemon was killed.
        _wait_gsi(pair)
        for guest in pair.guests:
            guest.forget()
            guest.wait_until("rdma link | grep -q 'state ACTIVE'", 60)
        pingpong(pair.a, pair.b, iterations=200, validate=True)


@pytest.mark.long
def test_killed_without_rdma(pair):
    """A guest whose modules are not loaded keeps its Ethernet, and RDMA works when they are."""
    guest, other = pair.guests
    guest.unload_modules()
    before = _restarts(other)
    pair.daemon.kill_kept()
    _wait_restarted(other, before)
    iperf(guest, other, volume="1M")
    guest.load_modules()
    pingpong(guest, other, iterations=200, validate=True)


@pytest.mark.long
def test_killed_while_paused(pair):
    """A guest that is paused meanwhile finds out when it goes on."""
    guest, other = pair.guests
    before = [_restarts(each) for each in pair.guests]
    guest.qmp("stop")
    try:
        pair.daemon.kill_kept()
        _wait_restarted(other, before[1])
    finally:
        guest.qmp("cont")
    _wait_restarted(guest, before[0])
    pingpong(guest, other, iterations=200, validate=True)


def test_nvme_is_killed(pair):
    """A file system over NVMe: the disk is connected again, and nothing is lost.

    Nobody tells the host or the target anything.
    """
    with disk.mounted(pair.a, pair.b):
        for _ in range(20 if LONG else 1):
            before = [_restarts(guest) for guest in pair.guests]
            copy = disk.Copy(pair.a, 128 if LONG else 64)
            pair.daemon.kill_kept()
            for guest, number in zip(pair.guests, before):
                _wait_restarted(guest, number)
            copy.wait()
        assert "Successfully reconnected" in pair.a.dmesg(), pair.a.dmesg_tail()
