# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""perftest's programs between two guests: operations, sizes, QPs, ways to wait.

perftest compares no contents; tests/guest/memory.py does for the same operations and
sizes.  Here counts, sizes and exit statuses must be right.
"""

import itertools
import statistics
import types

import pytest

from lab import paths
from lab.longform import mostly_long
from lab.perftest import KIBI, check, perftest
from lab.pingpong import pingpong

SIZES = [2 << exponent for exponent in range(23)]
# It finds out the pace of the processor's clock anew for each size, which takes longer than
# the messages do.
SOME = SIZES if paths.LONG else [2, 4 * KIBI, SIZES[-1]]


def check_sizes(pair, program, *arguments):
    """All sizes in one run, or some, each in a run of its own."""
    if SOME == SIZES:
        check(perftest(pair, program, "-a", *arguments), SIZES, 20)
        return
    for size in SOME:
        check(perftest(pair, program, "-s", size, *arguments), [size], 20)


OPERATIONS = ["send", "write", "read"]

# Receive requests for all of 1000 messages: on UC and UD one that finds none is dropped, and
# then perftest waits for ever.
ROOM = ("-r", 1024)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_bandwidth_of_all_sizes(rdma_pair, operation):
    """2 bytes to 8 MiB on RC; three sizes in the short form."""
    check_sizes(rdma_pair, f"ib_{operation}_bw", "-n", 20, "-Q", 1)


@pytest.mark.parametrize("operation", mostly_long(OPERATIONS, short=["write"]))
def test_latency_of_all_sizes(rdma_pair, operation):
    """The same, one message at a time."""
    check_sizes(rdma_pair, f"ib_{operation}_lat", "-n", 20)


def interrupts(guest):
    """Of our PCI function so far."""
    function = guest.run("basename $(realpath /sys/class/infiniband/"
                         f"{guest.rdma_device()}/device)").stdout.strip()
    return int(guest.run(f"awk '/{function}/ {{ n += $2 }} END {{ print n + 0 }}'"
                         " /proc/interrupts").stdout)


@pytest.mark.alone
def test_a_stream_rings_seldom(rdma_pair):
    """At most 20 doorbells and interrupts for 1000 messages of a stream; 8 at a load of 10."""
    def counts():
        stats = rdma_pair.daemon.stats()
        return (sum(port.get("rdma_doorbells", 0) for port in stats.values()),
                sum(map(interrupts, rdma_pair.guests)))

    messages = 20000
    before = []
    check(perftest(rdma_pair, "ib_write_bw", "-s", 64, "-n", messages,
                   begin=lambda: before.append(counts())), [64], messages)
    doorbells, interrupted = (b - a for a, b in zip(before[-1], counts()))
    print(f"volume: {doorbells} doorbells and {interrupted} interrupts for {messages} messages")
    assert doorbells + interrupted <= 20 * messages // 1000, (doorbells, interrupted)


@pytest.mark.parametrize("kind", ["CMP_AND_SWAP", "FETCH_AND_ADD"])
def test_atomics(rdma_pair, kind):
    """Both kinds, one at a time, many, and of many QPs."""
    check(perftest(rdma_pair, "ib_atomic_lat", "-A", kind, "-n", 200), [8], 200)
    check(perftest(rdma_pair, "ib_atomic_bw", "-A", kind, "-n", 1000), [8], 1000)
    check(perftest(rdma_pair, "ib_atomic_bw", "-A", kind, "-n", 100, "-q", 8, "-t", 32),
          [8], 800)


def test_atomics_in_one_guest(rdma_pair):
    """Server and client in the same guest."""
    one = types.SimpleNamespace(a=rdma_pair.a, b=rdma_pair.a)
    check(perftest(one, "ib_atomic_bw", "-n", 1000), [8], 1000)


@pytest.mark.parametrize("operation, qps", mostly_long(
    itertools.product(OPERATIONS, [2, 16]), short=[("send", 16), ("read", 2)]))
def test_bandwidth_of_many_qps(rdma_pair, operation, qps):
    """Several QPs of one program, in one direction and in both.

    All share one CQ, so their queues must be shorter than perftest's default.
    """
    for more in ((), ("-b",)):
        depths = ["-t", 32, *(["-r", 32] if operation == "send" else [])]
        table = perftest(rdma_pair, f"ib_{operation}_bw", "-q", qps, "-s", 64 * KIBI,
                         "-n", 100, *depths, *more)
        check(table, [64 * KIBI], 100 * qps)


@pytest.mark.parametrize("connection, operation", [
    ("UC", "send"), ("UC", "write"), ("UD", "send")])
def test_other_connections(rdma_pair, connection, operation):
    """UC, and datagrams of a packet."""
    size = 1024 if connection == "UD" else 256 * KIBI
    table = perftest(rdma_pair, f"ib_{operation}_bw", "-c", connection, "-s", size, "-n", 1000,
                     *(ROOM if operation == "send" else ()))
    check(table, [size], 1000)
    table = perftest(rdma_pair, f"ib_{operation}_lat", "-c", connection, "-s", size, "-n", 200)
    check(table, [size], 200)


@pytest.mark.parametrize("connection, operation", mostly_long(
    [("RC", "send"), ("RC", "read"), ("UC", "send"), ("UD", "send")],
    short=[("RC", "read"), ("UD", "send")]))
def test_events(rdma_pair, connection, operation):
    """Sleeping for completions, which perftest does not do for WRITE."""
    size = 1024 if connection == "UD" else 64 * KIBI
    table = perftest(rdma_pair, f"ib_{operation}_bw", "-c", connection, "-e", "-s", size,
                     "-n", 1000, *(ROOM if connection != "RC" else ()))
    check(table, [size], 1000)
    if operation == "send":
        table = perftest(rdma_pair, "ib_send_lat", "-c", connection, "-e", "-s", size,
                         "-n", 200)
        check(table, [size], 200)


@pytest.fixture(name="soft_roce")
def _soft_roce(rdma_pair):
    """Soft-RoCE on our interfaces, beside our devices."""
    for guest in rdma_pair.guests:
        guest.run("modprobe rdma_rxe;"
                  f" rdma link add rxe0 type rxe netdev {guest.interface()}")
    yield "rxe0"
    for guest in rdma_pair.guests:
        guest.run("rdma link delete rxe0")


def latency(pair, device):
    """From a message to the answer, both ends asleep, in microseconds."""
    devices = device and dict.fromkeys(pair.guests, device)
    table = perftest(pair, "ib_send_lat", "-e", "-s", 64, "-n", 300, "-u", 17, devices=devices)
    return table[0][4]


def sleeping_pingpong(pair, device):
    """There and back, 4096 bytes, both ends asleep, in microseconds."""
    return pingpong(pair.b, pair.a, events=True, iterations=300, devices=(device, device))


@pytest.mark.alone
@pytest.mark.parametrize("measure", mostly_long([latency, sleeping_pingpong],
                                                short=[sleeping_pingpong]))
def test_latency_of_events(rdma_pair, soft_roce, measure):
    """Of sleeping programs: a quarter of Soft-RoCE's, in the median of five runs.

    That is the aim, which the long form asks for, of a quiet machine: 0.19 to 0.2 were seen
    there, and 0.19 to 0.35 at a load of 5 to 12.  So the short form, which must not fail by
    chance, asks for a half.
    """
    ours, theirs = [], []
    for _ in range(5):
        ours.append(measure(rdma_pair, None))
        theirs.append(measure(rdma_pair, soft_roce))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"volume: ours {ours}, Soft-RoCE {theirs}, ratio {ratio:.2f}")
    assert ratio <= (0.25 if paths.LONG else 0.5), (ours, theirs)


@pytest.mark.parametrize("connection", mostly_long(["RC", "UC", "UD"], short=["RC"]))
def test_both_directions_of_all(rdma_pair, connection):
    """Events, both directions and many QPs at once."""
    size = 1024 if connection == "UD" else 1 << 20
    table = perftest(rdma_pair, "ib_send_bw", "-c", connection, "-b", "-e", "-q", 8, "-s", size,
                     "-n", 20)
    check(table, [size], 160)


def test_no_stream_stands_still(rdma_pair):
    """Lost wake-ups: only a doorbell tells the daemon that there is more to send.

    A stream that missed one stands still for seconds.  The sender's own time is compared
    with that of other streams in the same guests.
    """
    runs = 100 if paths.LONG else 6
    seconds = []
    for _ in range(runs):
        table = perftest(rdma_pair, "ib_send_bw", "-s", 4 * KIBI, "-n", 10000)
        check(table, [4 * KIBI], 10000)
        size, iterations, _, mebibytes = table[0][:4]
        seconds.append(size * iterations / (1 << 20) / mebibytes)
    usual = statistics.median(seconds)
    # A machine that is busy may keep a guest from running for some seconds.
    assert max(seconds) < max(8, 10 * usual), [f"{value:.2f}" for value in seconds]
