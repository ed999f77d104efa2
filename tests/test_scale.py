# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Many QPs and connections at once, with traffic on all.

With LAB_LONG=1 in the environment 2000 QPs and 1000 connections, in guests of their own.
"""

import pathlib

import pytest

import lab
from lab import nvme
from lab.iperf import iperf
from lab.paths import LONG
from lab.pingpong import pingpong

PROGRAMS = pathlib.Path(__file__).parent / "guest"
PORT = 18640


@pytest.fixture(scope="module", name="large")
def _large(request):
    """Guests whose device has QPs enough."""
    if not LONG:
        yield request.getfixturevalue("module_pair")
        return
    pair = lab.Pair("large", limits=lab.Limits(direct_qps=4096, direct_cqs=4096, mrs=16384),
                    memory="3G").start()
    pair.load_modules()
    yield pair
    pair.stop()


def run(pair, mode, number, rounds, processes=1):
    """Runs so many programs in each guest; returns what those of the first one said."""
    servers, clients = [], []
    for guest in pair.guests:
        guest.put(PROGRAMS / "ends.py")
        guest.run("modprobe -a rdma_ucm ib_uverbs")
    for process in range(processes):
        for guest, ends, host in ((pair.b, servers, []), (pair.a, clients, [pair.b.address])):
            ends.append(guest.popen(
                ["bash", "-c", 'ulimit -l unlimited -n 65536; exec "$@"', "bash",
                 "python3", guest.put(PROGRAMS / "many.py"), mode, guest.rdma_device(),
                 str(number), str(rounds), str(PORT + process), *host]))
            if not host:
                guest.wait_listening(PORT + process)
    return [end.wait(900, check=True).stdout for end in [*clients, *servers]][:processes]


def test_many_qps(large):
    """A message each way on each, contents checked."""
    processes, number = (4, 500) if LONG else (2, 40)
    said = run(large, "qps", number, 3, processes)
    assert all(f"{number} QPs, 3 rounds" in one for one in said), said


def test_many_connections(large):
    """The same on connections that rdma_cm makes, all open at once."""
    number = 1000 if LONG else 40
    said = run(large, "cm", number, 3)
    assert f"{number} connections, 3 rounds" in said[0], said


def test_memory_of_an_idle_qp(large):
    """At most 8 KiB and its rings, which are two pages here; process and kernel together."""
    guest = large.a
    guest.put(PROGRAMS / "ends.py")
    said = guest.run(["bash", "-c", 'ulimit -l unlimited; exec "$@"', "bash", "python3",
                      guest.put(PROGRAMS / "many.py"), "idle", guest.rdma_device(),
                      str(2000 if LONG else 400)], timeout=300).stdout
    print(said)
    assert 8192 <= int(said.split()[1]) <= 2 * 8192, said


@pytest.mark.skipif(not LONG, reason="sixteen virtual CPUs on two processors take minutes")
def test_nvme_with_32_queues():
    """NVMe has a queue to read and one to write for each processor; data compared."""
    # NVMe has 128 memory regions for each queue.
    daemon = lab.Daemon("queues", guests=2, limits=lab.Limits(mrs=16384)).start()
    host = lab.Guest("queues-host", 1, [lab.roce_device(daemon.sockets[0])],
                     processors=16).start()
    target = lab.Guest("queues-target", 2, [lab.roce_device(daemon.sockets[1])]).start()
    for guest in (host, target):
        guest.wait_ready(600).load_modules()
    host.run("modprobe nvme-rdma")
    nvme.target_start(target, 64)
    nvme.connect(host, target, "--nr-io-queues=16", "--nr-write-queues=16")
    qps = host.run("rdma resource show qp | grep -c 'type RC'").stdout
    assert int(qps) == 33, qps
    # Each processor writes a piece of its own, and another one reads it.
    host.run("head -c 16M /dev/urandom > /tmp/data; for i in $(seq 0 15); do"
             f" taskset -c $i dd if=/tmp/data of={nvme.DEVICE} bs=64k count=16 skip=$((16 * i))"
             " seek=$((16 * i)) oflag=direct conv=notrunc status=none & done; wait", timeout=600)
    host.run("for i in $(seq 0 15); do"
             f" taskset -c $((15 - i)) dd if={nvme.DEVICE} of=/tmp/back bs=64k count=16"
             " skip=$((16 * i)) seek=$((16 * i)) iflag=direct conv=notrunc status=none & done;"
             " wait; cmp /tmp/data /tmp/back", timeout=600)
    nvme.disconnect(host)
    nvme.target_end(target)
    for part in (host, target, daemon):
        part.stop()


@pytest.mark.long
def test_two_processors():
    """Of a stock kernel, so that programs, interrupts and work items of a guest race."""
    pair = lab.Pair("two", processors=2).start()
    pair.load_modules()
    for guest in pair.guests:
        assert guest.run("nproc").stdout.strip() == "2"
    qps, connections = (100, 20) if LONG else (40, 10)
    said = run(pair, "qps", qps, 3, 2)
    assert len(said) == 2 and all(f"{qps} QPs, 3 rounds" in one for one in said), said
    said = run(pair, "cm", connections, 3)
    assert f"{connections} connections, 3 rounds" in said[0], said
    pingpong(pair.a, pair.b, iterations=500, events=True, validate=True)
    iperf(pair.a, pair.b, volume="1M")
    pair.stop()
