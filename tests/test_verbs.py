# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Verbs as programs use and misuse them: memory, keys, faults, events, ends.

The programs in tests/guest/ compare the contents and know what to expect.
"""

import itertools
import pathlib
import re

import pytest

from lab import paths
from lab.count import count
from lab.longform import mostly_long
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


def program_of_c(guest, name):
    """One of tests/guest, in the guest."""
    return guest.put(paths.program(name))


# Atomic operations

def test_count(rdma_pair):
    """8 QPs of two guests and a local one count on one word."""
    count(rdma_pair.b, [rdma_pair.a, rdma_pair.b], 1000000 if LONG else 4000,
          timeout=3600 if LONG else 120)


# Asynchronous events

def test_events_of_qps(rdma_pair):
    """Each from its cause, exactly once, to the context of its QP; in full of 2 * 10^4 QPs.

    Half of these are in error.
    """
    assert "all events seen" in run(rdma_pair.a, "asyncevents", "events",
                                    5000 if LONG else 20, timeout=7200 if LONG else 120)


def test_asyncwatch(rdma_pair):
    """The unchanged program sees each event there is: of objects, port, GIDs and device.

    Events of objects are for the context that the objects are of, and so a library that
    is loaded into the program makes them.
    """
    guest = rdma_pair.a
    device, interface = guest.rdma_device(), guest.interface()
    reset = guest.run("ls /sys/bus/pci/drivers/virtio_net_roce/0000:*/reset").stdout.strip()
    watch = guest.popen(["ibv_asyncwatch", "-d", device], env={
        "LD_PRELOAD": program_of_c(guest, "async_causes.so"),
        "CAUSES_GID": gid_index(guest, device)})
    watch.wait_output("^async_causes: done$")
    for command, event in (
            (f"ip link set {interface} down", "PORT_ERR"),
            (f"ip link set {interface} up", "PORT_ACTIVE"),
            (f"ip addr add 10.79.0.1/24 dev {interface}", "GID_CHANGE"),
            (f"echo 1 > {reset}", "DEVICE_FATAL")):
        before = watch.stdout
        guest.run(command)
        watch.wait_output(rf"(?s)\A{re.escape(before)}.* event_type IBV_EVENT_{event} ")
    guest.wait_until("rdma link | grep -q ACTIVE", timeout=30)
    watch.kill()
    said = watch.wait().stdout
    # It has no names for events of objects.
    seen = re.findall(r"^  event_type unexpected \((\d+)\), ", said, re.MULTILINE)
    assert sorted(seen) == sorted(re.findall(r"^cause of (\d+)$", said, re.MULTILINE)), said
    assert len(set(seen)) == 9, said
    guest.run(f"ip addr del 10.79.0.1/24 dev {interface}")


# Memory

def anonymous(daemon):
    """KiB of the daemon's own memory."""
    status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1])


@pytest.mark.long
def test_messages_of_a_gigabyte(rdma_pair):
    """SEND, WRITE and READ, one message each, every byte compared."""
    client, server = run_both(rdma_pair, "memory", "large", 1 << 30)
    assert client.count("contents checked") == 1 and server.count("contents checked") == 2


def test_region_sizes(rdma_pair):
    """1 byte to 1 GiB at odd addresses; not a byte before or after."""
    assert f"region of {1 << 30}" in run(rdma_pair.a, "memory", "sizes", timeout=300)


def test_huge_pages(rdma_pair):
    """Regions over pages of 2 MiB, each of which is one entry of the list."""
    guest = rdma_pair.a
    try:
        guest.run("sysctl -w vm.nr_hugepages=34")
        assert "huge pages" in run(guest, "memory", "huge")
    finally:
        guest.run("sysctl -w vm.nr_hugepages=0")


@pytest.mark.parametrize("mode, said", [
    ("readonly", "read-only"), ("again", "registered again"), ("domains", "domains"),
    ("change", "changed"), ("zero", "zero-based"), ("dmabuf", "dma-buf"),
    ("shared", "shared")])
def test_regions(rdma_pair, mode, said):
    """Read-only mappings; registered again, or changed; keys of another PD; zero-based;
    memory of another driver; memory that has a file."""
    assert said in run(rdma_pair.a, "memory", mode)


# One that the daemon keeps 2 MiB at a time, and one with nothing side by side for longer.
@pytest.mark.parametrize("kind", ["huge", "small"] if LONG else ["huge"])
def test_region_of_64_gib(rdma_pair, kind):
    """Of 64 GiB of address space, in a guest that has 3: the daemon has room for its runs."""
    guest, daemon = rdma_pair.a, rdma_pair.daemon
    before = anonymous(daemon)
    try:
        guest.run(f"sysctl -w vm.nr_hugepages={34 if kind == 'huge' else 0}")
        program = guest.popen(command(guest, "memory", "wide", 64 << 30,
                                      (64 if kind == "huge" else 256) << 20, kind))
        program.wait_output("registered", 1800 if LONG else 120)
        grown = anonymous(daemon) - before
        guest.run("touch /tmp/looked-at-the-daemon")
        said = program.wait(600 if LONG else 60, check=True).stdout
        print(said, f"the daemon has {grown} KiB more")
        # 24 bytes for each run: of 2 MiB, or at most as many as a guest may have.
        assert grown < (4 << 10 if kind == "huge" else 100 << 10), grown
    finally:
        guest.run("sysctl -w vm.nr_hugepages=0")


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


# Times

def test_times_of_completions(rdma_pair):
    """Each lies between two looks at the device's clock, which counts nanoseconds."""
    guest = rdma_pair.a
    device = guest.rdma_device()
    program = program_of_c(guest, "timed")
    said = guest.run([program, device, gid_index(guest, device)], timeout=120).stdout
    caps, clock, rounds = (list(map(int, line.split())) for line in said.splitlines())
    assert caps == [(1 << 64) - 1, 1000000], said
    inner, measured, outer = clock
    # The guest's own clock may be a little off.
    assert 0.5 * inner < measured < 1.5 * outer, said
    assert rounds == [300], said


# Events

def counts(said):
    """The line that events.py ends with."""
    return {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", said)}


def test_no_event_is_lost(rdma_pair):
    """1000 armings of each CQ, in full 10^5, in turns in two guests that mostly sleep."""
    rounds = 100000 if LONG else 1000
    ends = [counts(said) for said in run_both(rdma_pair, "events", "next", rounds,
                                             timeout=3600 if LONG else 500)]
    assert sum(end["armed"] for end in ends) >= 2 * rounds, ends
    for end in ends:
        # At most one for each arming; one that was not needed is spurious.
        assert end["spurious"] <= rounds // 2, ends
        # An interrupt for each answer to a command, and one for each event.
        assert end["interrupts"] <= 1.1 * (end["armed"] + end["events"]) + rounds // 50, ends


def test_solicited_events(rdma_pair):
    """Solicited completions and errors always wake, other completions hardly ever."""
    count = 10000 if LONG else 1000
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
    said = guest.run([program_of_c(guest, "group"), device, str(gid_index(guest, device))]).stdout
    assert said == "destroyed\n", said


# Forks

def test_child_with_queues(rdma_pair):
    """Inherited objects fail cleanly, and the parent's go on; own objects work."""
    assert run(rdma_pair.a, "forks", "queues") == "queues\n"


@pytest.mark.parametrize("mode, safe", mostly_long(
    itertools.product(["memory", "huge"], ["plain", "fork_safe"]),
    short=[("memory", "fork_safe"), ("huge", "plain")]))
def test_child_with_regions(rdma_pair, mode, safe):
    """Parent and child write to the same pages: the device sees only the parent's."""
    guest = rdma_pair.a
    env = {"RDMAV_FORK_SAFE": "1", "RDMAV_HUGEPAGES_SAFE": "1"} if safe == "fork_safe" else {}
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
    """8 programs, in full 200, are killed at any moment: all they had is free again."""
    guest, rounds = rdma_pair.a, 100 if LONG else 4
    shown, free = guest.run("rdma resource show").stdout, objects(guest)
    device = guest.rdma_device()
    gid = gid_index(guest, device)
    # A client without a server ends at once, as does a server whose client is killed
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
