# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Many QPs and connections at once, with traffic on all.

With LAB_LONG=1 in the environment 2000 QPs and 1000 connections, in guests of their own.
"""

import pathlib

import pytest

import lab
from lab.paths import LONG

PROGRAMS = pathlib.Path(__file__).parent / "guest"
PORT = 18640


@pytest.fixture(scope="module", name="large")
def _large(request):
    """Guests whose device has QPs enough."""
    if not LONG:
        yield request.getfixturevalue("module_pair")
        return
    pair = lab.Pair("large", limits=lab.Limits(direct_qps=4096, direct_cqs=4096),
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
    processes, number = (4, 500) if LONG else (2, 100)
    said = run(large, "qps", number, 3, processes)
    assert all(f"{number} QPs, 3 rounds" in one for one in said), said


def test_many_connections(large):
    """The same on connections that rdma_cm makes, all open at once."""
    number = 1000 if LONG else 60
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
