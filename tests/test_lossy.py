# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two daemons, a guest each, and a bad wire between them.

The wire is a third daemon without guests: both others are its uplinks, and one uplink
has faults.  For another wire that daemon is replaced; the guests stay.  storm checks
contents on both sides.  The last tests have Soft-RoCE at the far end, and no third daemon.

With LAB_LONG=1 in the environment ("make soak") each wire carries a million messages.
"""

import contextlib
import types

import pytest

import lab
from lab.count import count
from lab.longform import mostly_long
from lab.paths import LONG
from lab.perftest import check, perftest
from lab.storm import Storm, storm

RETRY_EXC_ERR = 12

# The short form has all faults at once, the full one also none, and each fault alone.
WIRES = {
    "good": [],
    "bad": ["--loss", "1%", "--dup", "1%", "--reorder", "1%", "--corrupt", "0.1%"],
}
if LONG:
    WIRES |= {
        "loss-0.1%": ["--loss", "0.1%"],
        "loss-1%": ["--loss", "1%"],
        "loss-5%": ["--loss", "5%"],
        "dup-1%": ["--dup", "1%"],
        "reorder-1%": ["--reorder", "1%"],
        "corrupt-0.1%": ["--corrupt", "0.1%"],
    }


class Ends:
    """Two daemons and their guests a and b, not connected yet."""

    def __init__(self):
        self.daemons = [
            lab.Daemon(f"lossy-{name}", guests=1, uplink=True,
                       arguments=["--mac-base", f"52:54:00:00:d{number}:01"]).start()
            for number, name in enumerate(("near", "far"))]
        self.guests = [
            lab.Guest(f"lossy-{name}", number, [lab.roce_device(daemon.sockets[0])])
            for number, (name, daemon) in enumerate(zip("ab", self.daemons), 1)]
        for guest in self.guests:
            guest.start()
        for guest in self.guests:
            guest.wait_ready().load_modules()
        a, b = self.guests
        a.know(b)
        b.know(a)

    @contextlib.contextmanager
    def wire(self, arguments):
        """A daemon that connects the two; it ends with the test, since two would make a loop."""
        near, far = (f"connect:{daemon.uplink_socket}" for daemon in self.daemons)
        wire = lab.Daemon("lossy-wire", guests=0, arguments=[
            "--uplink", near, "--uplink", far, *arguments]).start()
        try:
            a, b = self.guests
            # Faults may make this take a while.
            a.run(f"for i in $(seq 50); do ping -c 1 -W 1 {b.address} && exit; done; exit 1")
            yield wire
        finally:
            wire.stop()

    def stop(self):
        """Ends all."""
        for part in (*self.guests, *self.daemons):
            part.stop()


@pytest.fixture(scope="module")
def ends():
    """Both daemons and both guests."""
    ends = Ends()
    yield ends
    ends.stop()


@pytest.mark.parametrize("name", mostly_long(WIRES, short=["bad"]))
def test_storm(ends, name):
    """Nothing is lost, doubled or wrong; and the faults happened."""
    a, b = ends.guests
    with ends.wire(WIRES[name]) as wire:
        counters = ends.daemons[0].stats()["lossy-near.1"]
        # Short, because what gets lost last is waited for; but all retries together must
        # outlast any pause of five processes on two cores: 17 s in the short form.
        storm(b, a, count=1000000 if LONG else 2000, timeout=13 if LONG else 19,
              within=7200 if LONG else 240)
        after = ends.daemons[0].stats()["lossy-near.1"]
        happened = wire.stats()[f"connect:{ends.daemons[1].uplink_socket}"]
    for option, counter in (("--loss", "fault_lost"), ("--dup", "fault_duplicated"),
                            ("--reorder", "fault_reordered"), ("--corrupt", "fault_corrupted")):
        assert (happened[counter] > 0) == (option in WIRES[name]), happened
    if "--loss" in WIRES[name]:
        assert after["completer_retry_err"] > counters["completer_retry_err"]
    if "--corrupt" in WIRES[name]:
        assert after["rx_icrc_errors"] > counters["rx_icrc_errors"]


def test_count(ends):
    """Atomic operations are carried out once, although requests and answers come twice."""
    a, b = ends.guests
    with ends.wire(WIRES["bad"]):
        before = ends.daemons[0].stats()["lossy-near.1"]["duplicate_request"]
        count(a, [b], 1000000 if LONG else 4000, timeout=7200 if LONG else 240)
        assert ends.daemons[0].stats()["lossy-near.1"]["duplicate_request"] > before


def test_cut(ends):
    """The wire is cut for good: both ends get an error within the time that is promised.

    The ACK timeout is 4.096 us * 2^17; a requester may take up to four times that
    for each of its retries and the first attempt, which is 17 s.  Ours takes 4.3.  Ten more
    are for daemons and guests that stand still on a busy machine.
    """
    a, b = ends.guests
    with ends.wire([]) as wire:
        run = Storm(b, a, count=10**9, timeout=17, retry=7)
        for daemon in ends.daemons:
            daemon.wait_traffic()
        wire.control("cut", f"connect:{ends.daemons[1].uplink_socket}", "on")
        promised = 4.096e-3 * 2**17 * (7 + 1) * 4 + 10000
        for status, milliseconds in run.wait_failure(60):
            assert status == RETRY_EXC_ERR
            assert milliseconds < promised
    for daemon in ends.daemons:
        (guest,) = (port for port in daemon.stats().values() if port["kind"] == "guest")
        assert guest["retry_exceeded_err"] > 0
    # The functions go on over another wire.
    with ends.wire([]):
        storm(b, a, count=1000, timeout=19)


@pytest.fixture(scope="module")
def strangers():
    """A guest on our device, and one on Soft-RoCE behind an uplink that loses packets."""
    daemon = lab.Daemon("lossy-strange", guests=1, uplink=True,
                        arguments=["--loss", "1%", "--seed", "7"]).start()
    ours = lab.Guest("lossy-ours", 1, [lab.roce_device(daemon.sockets[0])])
    theirs = lab.StockGuest("lossy-theirs", 2, daemon.uplink_socket)
    for guest in (ours, theirs):
        guest.start()
    for guest in (ours, theirs):
        guest.wait_ready()
    ours.load_modules()
    yield types.SimpleNamespace(
        daemon=daemon, a=ours, b=theirs,
        devices={ours: ours.rdma_device(), theirs: theirs.load_rxe()})
    for part in (ours, theirs, daemon):
        part.stop()


@pytest.mark.long
def test_soft_roce(strangers):
    """It keeps nothing that came too early, and answers no more than the part of a READ."""
    devices = strangers.devices
    storm(strangers.b, strangers.a, count=3000, min_size=1, timeout=17, within=240,
          devices=[devices[strangers.b], devices[strangers.a]])
    for operation in ("read", "write", "send"):
        before = strangers.daemon.stats()["lossy-strange.1"]
        check(perftest(strangers, f"ib_{operation}_bw", "-s", 65536, "-n", 1000, "-u", 17,
                       devices=devices), [65536], 1000)
        after = strangers.daemon.stats()["lossy-strange.1"]
        assert after["completer_retry_err"] > before["completer_retry_err"], operation


@pytest.mark.long
def test_soft_roce_read_of_one_packet(strangers):
    """It takes an ACK with the PSN of such a READ for the answer, and misses the data then."""
    devices = strangers.devices
    storm(strangers.b, strangers.a, count=20000, min_size=1, max_size=1024, timeout=14,
          within=240, devices=[devices[strangers.b], devices[strangers.a]])
