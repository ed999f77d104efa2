# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A device of the RFC alone, with virtqueues of 256, and one that takes it literally.

The strict device (device/tests/strict) ends at the first thing on which such a device
may fail, and says what it was; the healthy fixture notices.  It is the daemon with --rfc
and a judge, so the daemon alone is of the long form.
"""

import dataclasses
import itertools
import pathlib
import re

import pytest

import lab
from lab import paths
from lab.longform import mostly_long
from lab.perftest import check, perftest
from lab.pingpong import PingPong, pingpong
from lab.programs import rping, rping_server

PROGRAMS = pathlib.Path(__file__).parent / "guest"
# By default the ping-pongs ask for 500 receive requests, which is too many.
DEPTH = ["-r", 100]
DEVICES = {"rfc": {"daemon_arguments": ["--rfc"]}, "strict": {"binary": paths.STRICT_DAEMON}}


def pytest_generate_tests(metafunc):
    """Says which of the devices a test has."""
    if "rfc_holder" in metafunc.fixturenames:
        metafunc.parametrize("rfc_holder", mostly_long(DEVICES, short=["strict"]), indirect=True,
                             scope="module")


@pytest.fixture(scope="module", name="rfc_holder")
def _rfc_holder(request):
    """One pair for each device.  If the device ends, the tests that follow fail, too."""
    pair = lab.Pair(request.param, limits=dataclasses.replace(lab.VIRTQUEUES, queue_size=256),
                    **DEVICES[request.param]).start()
    pair.load_modules()
    yield pair
    pair.stop()


@pytest.fixture(name="rfc_pair")
def _rfc_pair(rfc_holder):
    if not rfc_holder.alive():
        pytest.fail("the device has ended")
    return rfc_holder


def value(guest, name):
    """The value of a limit by ibv_devinfo."""
    return int(re.search(rf"^\s*{name}:\s+(\d+)", guest.run("ibv_devinfo -v").stdout,
                         re.MULTILINE)[1])


def test_limits(rfc_pair):
    """Queues are as deep as their rings, and nothing is offered that the RFC lacks."""
    guest = rfc_pair.a
    assert value(guest, "max_qp_wr") == 256
    assert value(guest, "max_cqe") == 256
    assert value(guest, "max_mcast_grp") == 0
    capabilities = guest.run("ibv_devinfo -v | sed -n '/device_cap_flags/,/max_sge/p'").stdout
    assert "MEM_MGT" not in capabilities, capabilities


@pytest.mark.parametrize("program, wait", mostly_long(
    itertools.product(["rc", "uc", "ud"], ["poll", "events"]),
    short=[("rc", "poll"), ("uc", "poll"), ("ud", "events")]))
def test_pingpong(rfc_pair, program, wait):
    """The programs of libibverbs."""
    pingpong(rfc_pair.a, rfc_pair.b, program=program, events=wait == "events", iterations=200,
             size=1024 if program == "ud" else 65536 if program == "rc" else 4096,
             validate=True, arguments=DEPTH)


def test_connection_manager(rfc_pair):
    """rping, for which ib_mad needs its GSI QP."""
    with rping_server(rfc_pair.a) as address:
        rping(rfc_pair.b, address, 20)


@pytest.mark.parametrize("program", mostly_long(
    ["ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_send_lat", "ib_write_lat", "ib_read_lat"],
    short=["ib_read_bw", "ib_write_lat"]))
def test_perftest(rfc_pair, program):
    """Small messages, with the queue depth that the device allows."""
    depth = ["-r", 64] if "send" in program else []
    check(perftest(rfc_pair, program, "-s", 4096, "-n", 500, *depth), [4096], 500)


@pytest.mark.parametrize("program", mostly_long(
    ["ib_send_bw", "ib_read_bw", "ib_send_lat", "ib_read_lat"],
    short=["ib_send_bw", "ib_read_lat"]))
def test_perftest_events(rfc_pair, program):
    """The same by events.  ib_read_lat has a CQ of one, and polls once after each event."""
    depth = ["-r", 64] if "send" in program else []
    check(perftest(rfc_pair, program, "-e", "-s", 4096, "-n", 500, *depth), [4096], 500)


def run(guest, program, mode, *arguments, timeout=120):
    """One of the programs of tests/guest."""
    guest.put(PROGRAMS / "ends.py")
    return guest.run(["python3", guest.put(PROGRAMS / f"{program}.py"), mode,
                      guest.rdma_device(), *map(str, arguments)], timeout=timeout).stdout


@pytest.mark.long
def test_large_regions(rfc_pair):
    """REG_USER_MR with lists of up to a megabyte, each in one buffer."""
    guest = rfc_pair.a
    for megabytes in (1, 16, 64, 256, 512):
        run(guest, "region", "register", megabytes << 20)


def test_states(rfc_pair):
    """QPs go through ERR to RESET and are used again."""
    assert run(rfc_pair.a, "faults", "states").split() == ["SQD", "SQE", "ERR"]


def test_reset_from_rts(rfc_pair):
    """RESET of a QP whose receive queue is full, again and again: no slot is lost."""
    assert "reset" in run(rfc_pair.a, "region", "reset", 300)


@pytest.mark.long
def test_all_that_was_promised(rfc_pair):
    """The greatest number of objects of each kind, and one more."""
    said = run(rfc_pair.a, "faults", "fill")
    found = dict(zip(said.split()[::2], map(int, said.split()[1::2])))
    assert found["qp"] > 20 and found["cq"] > 50 and found["mr"] > 4000, said
    assert run(rfc_pair.a, "faults", "fill") == said


def test_ethernet(rfc_pair):
    """Ethernet commands on the same control queue."""
    guest = rfc_pair.a
    interface = guest.interface()
    mac = guest.run(f"cat /sys/class/net/{interface}/address").stdout.strip()
    for command in (
            f"ethtool -L {interface} combined 1 || true",
            f"ip link set {interface} promisc on",
            f"ip link set {interface} promisc off",
            f"ip link set {interface} allmulticast on",
            f"ip link set {interface} allmulticast off",
            f"ip maddr add 33:33:00:00:12:34 dev {interface}",
            f"ip maddr del 33:33:00:00:12:34 dev {interface}",
            f"ip link add link {interface} name vlan7 type vlan id 7",
            "ip link set vlan7 up",
            "ip addr add 10.78.0.1/24 dev vlan7",
            "ip link del vlan7",
            f"bridge fdb add 02:00:00:00:00:77 dev {interface} || true",
            f"ethtool -K {interface} gro-hw off || true",
            f"ethtool -K {interface} gro-hw on || true",
            f"ip link set {interface} address 02:00:00:00:00:99",
            f"ip link set {interface} address {mac}",
            f"ip link set {interface} down",
            f"ip link set {interface} up"):
        guest.run(command)
    guest.configure_network()
    guest.run(["ping", "-c", "3", rfc_pair.b.address])


def test_killed(rfc_pair):
    """Objects of a killed program are destroyed in an order that the device accepts."""
    for program in ("rc", "ud"):
        torn = PingPong(*rfc_pair.guests, program=program, size=1024, iterations=100000000,
                        arguments=DEPTH)
        torn.wait_connected()
        torn.kill()
    pingpong(*rfc_pair.guests, iterations=100, arguments=DEPTH)


def test_reload(rfc_pair):
    """The drivers are unloaded and loaded again."""
    for guest in rfc_pair.guests:
        guest.unload_modules()
        guest.load_modules()
    pingpong(*rfc_pair.guests, iterations=100, validate=True, arguments=DEPTH)
