# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A daemon with a keeper is killed: Ethernet goes on, and RDMA starts anew in the guests.

QEMU is as it is, and nobody does anything to it.  With LAB_LONG=1 in the environment ("make
soak") this happens 200 times.
"""

import os
import pathlib
import signal

import pytest

import lab
from lab.iperf import Iperf, iperf
from lab.paths import LONG
from lab.pingpong import PingPong, pingpong

TIMES = 200 if LONG else 2

COUNT = "dmesg | grep -c 'virtio_net_roce.*: restarted'"


@pytest.fixture(scope="module", name="pair")
def _pair():
    """Two guests, and a daemon that has a keeper."""
    pair = lab.Pair("keeper", daemon_arguments=("--keeper",)).start()
    pair.load_modules()
    yield pair
    pair.stop()


def _kill(pair):
    """Ends the daemon without warning, and not its keeper."""
    keeper = pair.daemon.pid
    children = pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text(encoding="ascii")
    daemon, = children.split()
    os.kill(int(daemon), signal.SIGKILL)


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


def test_killed_under_load(pair):
    """Programs end; a TCP connection lives; the device is back under its name, and works."""
    links = [_link(guest) for guest in pair.guests]
    for _ in range(TIMES):
        run = PingPong(pair.a, pair.b, iterations=100000000, events=True)
        run.wait_connected()
        load = Iperf(pair.a, pair.b, seconds=10)
        before = [_restarts(guest) for guest in pair.guests]
        _kill(pair)
        for guest, number in zip(pair.guests, before):
            _wait_restarted(guest, number)
        for end in (run.client, run.server):
            result = end.wait(60)
            assert result.rc > 0, str(result)
        load.wait()
        assert [_link(guest) for guest in pair.guests] == links
        pingpong(pair.a, pair.b, iterations=200, validate=True)
    pair.daemon.assert_healthy()
    for guest in pair.guests:
        assert "the device has lost its RDMA objects" in guest.dmesg()


def test_killed_without_rdma(pair):
    """A guest whose modules are not loaded keeps its Ethernet, and RDMA works when they are."""
    guest, other = pair.guests
    guest.unload_modules()
    before = _restarts(other)
    _kill(pair)
    _wait_restarted(other, before)
    iperf(guest, other, seconds=1)
    guest.load_modules()
    pingpong(guest, other, iterations=200, validate=True)


def test_killed_while_paused(pair):
    """A guest that is paused meanwhile finds out when it goes on."""
    guest, other = pair.guests
    before = [_restarts(each) for each in pair.guests]
    guest.qmp("stop")
    _kill(pair)
    _wait_restarted(other, before[1])
    guest.qmp("cont")
    _wait_restarted(guest, before[0])
    pingpong(guest, other, iterations=200, validate=True)
