# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Verbs as programs use and misuse them: memory, keys, faults, events, ends.

The programs in tests/guest/ compare the contents and know what to expect.
"""

import pathlib
import re

import pytest

from lab import paths
from lab.count import count
from lab.paths import LONG
from lab.pingpong import gid_index, pingpong

PROGRAMS = pathlib.Path(__file__).parent / "guest"


def command(guest, program, mode, *arguments):
    """Copies a program and its modules to the guest; returns a command line for popen()."""
    guest.put(PROGRAMS / "ends.py")
    return ["python3", guest.put(PROGRAMS / f"{program}.py"), mode, guest.rdma_device(),
            *map(str, arguments)]


def run(guest, program, mode, *arguments, timeout=120):
    """Runs a program to its end and returns what it said."""
    return guest.run(command(guest, program, mode, *arguments), timeout=timeout).stdout


def run_both(pair, program, mode, *arguments, timeout=300):
    """Runs a program in both guests, first in b; returns the output of each."""
    server = pair.b.popen(command(pair.b, program, mode, *arguments))
    client = pair.a.popen(command(pair.a, program, mode, *arguments, pair.b.address))
    return [end.wait(timeout, check=True).stdout for end in (client, server)]


# Atomic operations

def test_count(rdma_pair):
    """8 QPs of one guest and a local one of the other count on one word."""
    count(rdma_pair.b, rdma_pair.a, 1000000 if LONG else 10000, timeout=3600 if LONG else 120)


# Asynchronous events

def test_events_of_qps(rdma_pair):
    """Each from its cause, exactly once, to the context of its QP."""
    assert "all events seen" in run(rdma_pair.a, "asyncevents", "events",
                                    2500 if LONG else 20, timeout=3600 if LONG else 120)


def test_events_of_the_port(rdma_pair):
    """ibv_asyncwatch sees the port go down and up, and GIDs change."""
    guest = rdma_pair.a
    interface = guest.interface()
    watch = guest.popen(["stdbuf", "-oL", "timeout", "20", "ibv_asyncwatch",
                         "-d", guest.rdma_device()])
    guest.run("sleep 2")
    guest.run(f"ip link set {interface} down && sleep 1 && ip link set {interface} up"
              f" && sleep 1 && ip addr add 10.79.0.1/24 dev {interface}"
              f" && sleep 1 && ip addr del 10.79.0.1/24 dev {interface}")
    said = watch.wait(60).stdout
    for event in ("IBV_EVENT_PORT_ERR", "IBV_EVENT_PORT_ACTIVE", "IBV_EVENT_GID_CHANGE"):
        assert event in said, said


# Memory

def test_messages_of_a_gigabyte(rdma_pair):
    """SEND, WRITE and READ, one message each, every byte compared."""
    client, server = run_both(rdma_pair, "memory", "large", 1 << 30)
    assert client.count("contents checked") == 1 and server.count("contents checked") == 2


def test_region_sizes(rdma_pair):
    """1 byte to 1 GiB at odd addresses; not a byte before or after."""
    assert f"region of {1 << 30}" in run(rdma_pair.a, "memory", "sizes", timeout=300)


def test_huge_pages(rdma_pair):
    """Regions over pages of 2 MiB."""
    guest = rdma_pair.a
    try:
        guest.run("sysctl -w vm.nr_hugepages=34")
        assert "huge pages" in run(guest, "memory", "huge")
    finally:
        guest.run("sysctl -w vm.nr_hugepages=0")


@pytest.mark.parametrize("mode, said", [
    ("readonly", "read-only"), ("again", "registered again"), ("domains", "domains"),
    ("change", "changed"), ("zero", "zero-based"), ("dmabuf", "dma-buf")])
def test_regions(rdma_pair, mode, said):
    """Read-only mappings; registered again, or changed; keys of another PD; zero-based;
    memory of another driver."""
    assert said in run(rdma_pair.a, "memory", mode)


def test_deregistered_under_way(rdma_pair):
    """A key ends for work in flight, too: then the memory is the process's alone."""
    said = run(rdma_pair.a, "memory", "deregister", 20 if LONG else 5)
    assert said.count("in the middle") == 6, said


# Faults

def test_statuses(rdma_pair):
    """Each status that a program can cause; requests that follow are flushed."""
    said = run(rdma_pair.a, "faults", "statuses")
    assert set(said.split()) == {
        "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_PROT_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR",
        "REM_OP_ERR", "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR"}, said


def test_states(rdma_pair):
    """SQD holds requests back, SQE and ERR flush them, and each state can be left."""
    assert run(rdma_pair.a, "faults", "states").split() == ["SQD", "SQE", "ERR"]


# Events

def counts(said):
    """The line that events.py ends with."""
    return {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", said)}


def test_no_event_is_lost(rdma_pair):
    """10^4 armings, in full 10^5, in turns in two guests that mostly sleep."""
    rounds = 50000 if LONG else 5000
    ends = [counts(said) for said in run_both(rdma_pair, "events", "next", rounds,
                                             timeout=500)]
    assert sum(end["armed"] for end in ends) >= 2 * rounds, ends
    for end in ends:
        # At most one for each arming; one that was not needed is spurious.
        assert end["spurious"] <= rounds // 2, ends
        # An interrupt for each answer to a command, and one for each event.
        assert end["interrupts"] <= 1.1 * (end["armed"] + end["events"]) + rounds // 50, ends


def test_solicited_events(rdma_pair):
    """Solicited completions and errors always wake, other completions hardly ever."""
    count = 10000 if LONG else 2000
    end = counts(run(rdma_pair.a, "events", "solicited", count, timeout=200))
    assert end["events"] > count and end["spurious"] <= count // 20, end


# Datagrams

def test_datagrams_tell_their_kind(rdma_pair):
    """IPv4 or IPv6, in the completion and in the network header."""
    for said in run_both(rdma_pair, "datagrams", "ping"):
        assert said.splitlines() == ["IPv4 Plain", "IPv4 Extended", "IPv6 Plain",
                                     "IPv6 Extended"], said


def test_group_keeps_its_qp(rdma_pair):
    """A QP in a multicast group is not destroyed, and works as before."""
    guest = rdma_pair.a
    device = guest.rdma_device()
    program = guest.put(pathlib.Path(paths.script("build-programs.sh")[0]) / "group")
    said = guest.run([program, device, str(gid_index(guest, device))]).stdout
    assert said == "destroyed\n", said


# Forks

def test_child_with_queues(rdma_pair):
    """Inherited objects fail cleanly, and the parent's go on; own objects work."""
    assert run(rdma_pair.a, "forks", "queues") == "queues\n"


@pytest.mark.parametrize("safe", [False, True], ids=["plain", "fork_safe"])
@pytest.mark.parametrize("mode", ["memory", "huge"])
def test_child_with_regions(rdma_pair, mode, safe):
    """Parent and child write to the same pages: the device sees only the parent's."""
    guest = rdma_pair.a
    env = {"RDMAV_FORK_SAFE": "1", "RDMAV_HUGEPAGES_SAFE": "1"} if safe else {}
    try:
        # The pages of the region, and as many for the child.
        guest.run("sysctl -w vm.nr_hugepages=20")
        said = guest.run(command(guest, "forks", mode), env=env, timeout=120).stdout
        assert said.startswith("huge pages" if mode == "huge" else "pages"), said
    finally:
        guest.run("sysctl -w vm.nr_hugepages=0")


# Ends

def objects(guest):
    """How many objects of each kind can be created when all are free."""
    return run(guest, "faults", "fill")


def test_killed_at_random(rdma_pair):
    """24 programs, in full 200, are killed at any moment: all they had is free again."""
    guest, rounds = rdma_pair.a, 100 if LONG else 12
    shown, free = guest.run("rdma resource show").stdout, objects(guest)
    device = guest.rdma_device()
    gid = gid_index(guest, device)
    # A client without a server ends at once, and so does a server whose client is killed
    # while they connect.  So every other client waits for its server.
    killed = guest.run(
        f"RANDOM=1; clients=0 servers=0; for i in $(seq {rounds}); do"
        "  case $((i % 4)) in"
        "  0) program=ibv_rc_pingpong;; 1) program='ibv_rc_pingpong -e';;"
        "  2) program=ibv_uc_pingpong;; 3) program=ibv_ud_pingpong;; esac;"
        f" program=\"$program -d {device} -g {gid} -n 100000000 -s 1024 -p $((20000 + i))\";"
        "  $program > /dev/null 2>&1 & server=$!;"
        "  sleep 0.$((RANDOM % 3))$((RANDOM % 10));"
        "  for wait in $(seq $((i % 2 * 100))); do"
        "    ss -Hltn \"sport = :$((20000 + i))\" | grep -q . && break; sleep 0.05; done;"
        "  $program localhost > /dev/null 2>&1 & client=$!;"
        "  sleep 0.$((RANDOM % 4))$((RANDOM % 10));"
        "  kill -9 $client; [ $((i % 3)) = 0 ] && sleep 0.05; kill -9 $server;"
        "  wait $client 2> /dev/null; [ $? = 137 ] && : $((clients++));"
        "  wait $server 2> /dev/null; [ $? = 137 ] && : $((servers++)); done;"
        " echo $clients $servers", timeout=400).stdout.split()
    assert int(killed[0]) >= rounds / 5 and int(killed[1]) >= rounds / 2, killed
    guest.wait_output("rdma resource show", shown.rstrip("\n"))
    assert objects(guest) == free
    pingpong(rdma_pair.b, guest, iterations=200, validate=True)
