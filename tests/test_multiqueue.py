# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Several pairs of Ethernet queues, which stock virtio_net sets up and spreads frames over."""

import pathlib
import re

import pytest

from lab import Pair
from lab.devices import Limits
from lab.iperf import Iperf
from lab.paths import LONG
from lab.pingpong import pingpong
from test_restart import restart, wait_up

QUEUES = pathlib.Path(__file__).parent / "guest" / "queues.py"

PAIRS = 4
FLOWS = 256 if LONG else 128
STREAMS = 8
PORT = 5678


@pytest.fixture(scope="module")
def _spreading():
    pair = Pair("mq", limits=Limits(queue_pairs=PAIRS)).start()
    yield pair
    pair.stop()


@pytest.fixture
def spreading(_spreading):
    """Two guests whose functions have several pairs, all of them in use, with a good table."""
    _spreading.load_modules()
    for guest in _spreading.guests:
        interface = guest.interface()
        guest.run(f"ethtool -L {interface} combined {PAIRS} || true;"
                  f" ethtool -X {interface} equal {PAIRS};"
                  f" ethtool -K {interface} rxhash on;"
                  f" ethtool -N {interface} rx-flow-hash tcp4 sdfn")
    return _spreading


def received(guest):
    """Packets that each queue has received, as the driver counts them."""
    said = guest.run(["python3", guest.put(QUEUES), "received", guest.interface()]).stdout
    return [int(count) for count in said.split()]


def spread(guest, other):
    """Packets that each queue receives of many short TCP connections."""
    before = received(guest)
    server = guest.popen(["python3", guest.put(QUEUES), "serve", str(PORT), str(FLOWS)])
    server.wait_output("ready")
    other.run(["python3", other.put(QUEUES), "connect", guest.address, str(PORT), str(FLOWS)],
              timeout=120)
    server.wait(check=True)
    counts = [now - old for now, old in zip(received(guest), before)]
    print(f"volume: {counts}")
    return counts


def used(counts):
    """Queues of TCP: a connection has three packets at least, and what else comes is little."""
    return [queue for queue, count in enumerate(counts) if count > FLOWS // 4]


def table(guest):
    """The indirection table: queue numbers, and the key."""
    said = guest.run(["ethtool", "-x", guest.interface()]).stdout
    rows = re.findall(r"^\s*\d+:\s+([\d ]+)$", said, re.M)
    key = re.search(r"RSS hash key:\s*\n\s*([0-9a-f:]+)", said)[1]
    return [int(queue) for row in rows for queue in row.split()], key


def channels(guest):
    """Pairs in use, and how many there are."""
    said = guest.run(["ethtool", "-l", guest.interface()]).stdout
    most, now = re.findall(r"Combined:\s+(\d+)", said)
    return int(now), int(most)


def test_spread(spreading):
    """Connections arrive in all queues; with fewer pairs, in these."""
    guest, other = spreading.b, spreading.a
    assert channels(guest) == (PAIRS, PAIRS)
    counts = spread(guest, other)
    assert used(counts) == [0, 1, 2, 3], counts
    # ethtool refuses to take a queue away that a table of the user's own names.
    guest.run(f"ethtool -X {guest.interface()} default; ethtool -L {guest.interface()} combined 2")
    assert channels(guest) == (2, PAIRS)
    counts = spread(guest, other)
    assert used(counts) == [0, 1], counts


def test_table(spreading):
    """The table decides: its entries, and the fields that are hashed."""
    guest, other = spreading.b, spreading.a
    interface = guest.interface()
    entries, key = table(guest)
    assert len(entries) == 128 and set(entries) == set(range(PAIRS)), entries
    assert len(key.split(":")) == 40
    guest.run(f"ethtool -X {interface} weight 1 0 0 1")
    assert set(table(guest)[0]) == {0, 3}
    counts = spread(guest, other)
    assert used(counts) == [0, 3], counts
    # By the addresses alone all connections have one hash.
    guest.run(f"ethtool -N {interface} rx-flow-hash tcp4 sd")
    said = guest.run(f"ethtool -n {interface} rx-flow-hash tcp4").stdout
    assert "IP SA" in said and "L4 bytes" not in said, said
    counts = spread(guest, other)
    assert len(used(counts)) == 1, counts
    guest.run(f"ethtool -N {interface} rx-flow-hash tcp4 sdfn")
    said = guest.run(f"ethtool -n {interface} rx-flow-hash tcp4").stdout
    assert "L4 bytes 2 & 3" in said, said
    # Without it virtio_net asks for no hash: all is unclassified.
    guest.run(f"ethtool -K {interface} rxhash off")
    counts = spread(guest, other)
    assert used(counts) == [0], counts


@pytest.mark.long
def test_restart(spreading):
    """The device is told channels and table again; RDMA works beside all that."""
    guest, other = spreading.b, spreading.a
    interface = guest.interface()
    guest.run(f"ethtool -X {interface} weight 0 1 1 0")
    before = channels(guest), table(guest)
    for _ in range(3):
        restart(guest)
        wait_up(guest)
        assert (channels(guest), table(guest)) == before
        counts = spread(guest, other)
        assert used(counts) == [1, 2], counts
    run = Iperf(guest, other, seconds=2, arguments=["-P", str(STREAMS)])
    pingpong(other, guest, iterations=200, validate=True)
    assert run.wait() > 0


def test_handed_over(spreading):
    """Another daemon goes on with what the guest has set."""
    guest, other = spreading.b, spreading.a
    guest.run(f"ethtool -X {guest.interface()} weight 1 0 1 0")
    spreading.daemon.take_over()
    counts = spread(guest, other)
    assert used(counts) == [0, 2], counts
    pingpong(other, guest, iterations=200, validate=True)


@pytest.mark.long
def test_other_driver(spreading):
    """The stock driver of PCI functions has several queues, too, and so has RoCE after it."""
    guest, other = spreading.b, spreading.a
    guest.unload_modules()
    guest.run(f"ethtool -L {guest.interface()} combined {PAIRS}")
    counts = spread(guest, other)
    assert used(counts) == [0, 1, 2, 3], counts
    guest.load_modules()
    guest.run(f"ethtool -L {guest.interface()} combined {PAIRS}")
    counts = spread(guest, other)
    assert used(counts) == [0, 1, 2, 3], counts
    pingpong(other, guest, iterations=200, validate=True)
