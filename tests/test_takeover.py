# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A daemon takes the place of another one, and the guests notice nothing.

With LAB_LONG=1 in the environment ("make soak") this happens 200 times, and again between guests
whose messages are packets.
"""

import statistics
import time

import pytest

import lab
from lab import disk, paths
from lab.iperf import Iperf, iperf
from lab.patience import Deadline
from lab.pingpong import PingPong, pingpong
from lab.storm import Storm

TIMES = 200 if paths.LONG else 3

# Megabytes of a file that is written meanwhile.
SIZE = 128 if paths.LONG else 64

# How messages go from guest to guest, with the daemon's options for it.
FORMS = {"memory": (), "packets": ("--packets",)}


@pytest.fixture(scope="module", name="pair", params=FORMS if paths.LONG else ["memory"])
def _pair(request):
    """Two guests whose daemon has no judge, which would not know what was before it."""
    pair = lab.Pair(f"takeover-{request.param}", daemon_arguments=FORMS[request.param]).start()
    pair.load_modules()
    yield pair
    pair.stop()


def _take_over(pair, times=TIMES):
    took = [pair.daemon.take_over() for _ in range(times)]
    print(f"takeover: {statistics.median(took):.1f} ms (median), {max(took):.1f} ms (most)")


class Checked(Storm):
    """Mixed messages, compared one by one, until kill()."""

    def __init__(self, pair):
        super().__init__(pair.a, pair.b, count=1 << 40)
        self._daemon = pair.daemon

    def _writes(self):
        """Writes that the daemon has done for guest a; ping-pongs have none."""
        return self._daemon.stats()[self._daemon.sockets[0].name]["rdma_writes"]

    def assert_moves(self):
        """More of them come, and all were right so far."""
        before, deadline = self._writes(), Deadline(60)
        while self._writes() < before + 100:
            for end in self.ends:
                assert end.poll() is None, f"{end.stdout}{end.stderr}"
            assert not deadline.over(), "the messages stand still"
            time.sleep(0.1)

    def kill(self):
        """Ends both."""
        for end in self.ends:
            end.kill()
            end.wait(20)


def test_messages_go_on(pair):
    """Programs that send all the time: no message is lost, doubled or wrong."""
    run = PingPong(pair.a, pair.b, iterations=100000000, events=True)
    run.wait_connected()
    checked = Checked(pair)
    for _ in range(TIMES):
        _take_over(pair, 1)
        run.assert_moves()
        checked.assert_moves()
    checked.kill()
    run.kill()


def test_tcp_goes_on(pair):
    """A TCP connection lives through it; what is new afterwards works as before."""
    load = Iperf(pair.a, pair.b, seconds=0)
    _take_over(pair)
    load.assert_moves()
    load.kill()
    iperf(pair.a, pair.b, volume="1M")
    pingpong(pair.a, pair.b, iterations=200, validate=True)


def test_function_goes_on(pair):
    """The function can be unloaded and loaded, and the guest be paused meanwhile."""
    guest, other = pair.guests
    guest.unload_modules()
    _take_over(pair, 1)
    guest.load_modules()
    pingpong(guest, other, iterations=200, validate=True)
    guest.qmp("stop")
    try:
        _take_over(pair, 1)
    finally:
        guest.qmp("cont")
    pingpong(guest, other, iterations=200, validate=True)


def test_next_version_and_back(pair):
    """An upgrade to a daemon whose saved state has more, and back, while programs send."""
    today = pair.daemon.binary
    checked = Checked(pair)
    run = PingPong(pair.a, pair.b, iterations=100000000, events=True)
    run.wait_connected()
    for number in range(TIMES):
        pair.daemon.take_over(today if number % 2 else paths.NEXT_DAEMON)
        run.assert_moves()
    pair.daemon.take_over(today)
    run.assert_moves()
    checked.assert_moves()
    checked.kill()
    run.kill()


@pytest.mark.long
def test_nvme_goes_on(pair):
    """A file system over NVMe: neither the disk nor its controller notices."""
    with disk.mounted(pair.a, pair.b):
        before = len(pair.a.dmesg())
        copy = disk.Copy(pair.a, SIZE)
        _take_over(pair)
        copy.assert_under_way()
        copy.wait()
        log = pair.a.dmesg()[before:]
        assert "nvme" not in log, log
