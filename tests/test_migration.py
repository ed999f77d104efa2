# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A guest moves between two daemons, which an uplink joins, and back, and its programs go on.

QEMU is patched (upstream/qemu) for the guest that moves; its peers have the stock one: a guest
of each daemon, and one with Soft-RoCE.  With LAB_LONG=1 in the environment ("make soak") there
are a hundred moves.
"""

import contextlib
import dataclasses
import re
import time

import pytest

import lab
from lab import disk, nfs, paths, perftest
from lab.iperf import Iperf
from lab.migration import Copy, MovingGuest, NOT_BUILT, Refused, patched_qemu
from lab.paths import LONG
from lab.patience import Deadline
from lab.pingpong import PingPong, gid_index, pingpong
from lab.storm import PORT as STORM_PORT, Storm

MOVES = 100 if LONG else 4

# Megabytes of a file that is written meanwhile, again and again, and moves in that time.
SIZE = 128 if LONG else 32
COPY_MOVES = 20 if LONG else 2

# Messages of a storm.
STORM = 5000

# Some 2 s until a packet is sent again: longer than QEMU without KVM takes to move a guest on a
# busy machine.
TIMEOUT = 19

# Room for a thousand QPs.
LIMITS = lab.Limits(direct_qps=2048, direct_cqs=2048)


def _pin(number):
    return f",mac=52:54:00:77:01:{number:02x},gid=10.77.0.{number}"


class Stream:
    """A program of perftest that runs until it is ended, and tells each second how far it is."""

    def __init__(self, server, client, program, *arguments, port=perftest.PORT, timeout=TIMEOUT):
        def line(guest):
            device = guest.rdma_device() if guest.install else "rxe0"
            return [program, "-d", device, "-x", gid_index(guest, device), "-F", "-p", str(port),
                    *([] if "atomic" in program else ["-s", "1024"]),
                    "-u", str(timeout), "--run_infinitely", "-D", "1", *map(str, arguments)]

        self.server = server.popen(line(server))
        if "-R" in arguments:
            server.run(f"until rdma resource show cm_id | grep -q 'LISTEN.*:{port}';"
                       " do sleep 0.1; done", timeout=60)
        else:
            server.wait_listening(port)
        self.client = client.popen([*line(client), server.address])

    def lines(self):
        """How many have come."""
        return len(perftest.rows(self.client.stdout))

    def assert_moves(self, timeout=60, before=None):
        """Two more lines come that are not of a stream that stands still.

        before   so many lines do not count; those that have come if not given
        """
        before = self.lines() if before is None else before
        deadline = Deadline(timeout)
        while sum(row[1] > 0 for row in perftest.rows(self.client.stdout)[before:]) < 2:
            for end in (self.client, self.server):
                assert end.poll() is None, f"{end.command}: {end.stdout}{end.stderr}"
            assert not deadline.over(), self.client.stdout
            time.sleep(0.1)

    def kill(self):
        """Ends both."""
        for end in (self.client, self.server):
            end.kill()
            end.wait(20)


def assert_all_move(streams, timeout=300):
    """Each of some streams does."""
    before = [stream.lines() for stream in streams]
    for stream, lines in zip(streams, before):
        stream.assert_moves(timeout, lines)


class Storms:
    """Mixed messages with each of some peers, which begin anew when they are through."""

    def __init__(self, mover, peers, count, timeout=TIMEOUT):
        self.mover = mover
        self.count = count
        self.timeout = timeout
        self.running = {peer: self._begin(peer) for peer in peers}

    def _begin(self, peer):
        soft = "rxe0" if not peer.install else None
        # No empty message to Soft-RoCE: tests/test_interop.py, test_storm(), says why.
        return Storm(peer, self.mover, count=self.count, devices=(soft, None),
                     min_size=1 if soft else 0, port=STORM_PORT + peer.number, atomics=True,
                     timeout=self.timeout, retry=7)

    def go_on(self):
        """One that is through must have succeeded, and another one takes its place."""
        for peer, each in self.running.items():
            if all(end.poll() is not None for end in each.ends):
                each.wait()
                self.running[peer] = self._begin(peer)

    def wait(self):
        """All end well."""
        for each in self.running.values():
            each.wait(600)


class Place:
    """Daemons a and b, a guest that is in a first, and a guest of each that stays."""

    def __init__(self):
        self.here = lab.Daemon("move-a", uplink=True, limits=LIMITS, pins=(_pin(1), _pin(2)))
        self.there = lab.Daemon("move-b", limits=LIMITS, pins=(_pin(1) + ",elsewhere", _pin(3)))
        self.guests = []

    def start(self):
        """Starts all."""
        self.here.start()
        self.uplink = ["--uplink", f"connect:{self.here.uplink_socket}"]
        self.there.arguments = self.uplink
        self.there.start()
        # The one that moves and a server have the disk with NFS.
        self.mover = MovingGuest("move-mover", 1, lab.roce_device(self.here.sockets[0], LIMITS),
                                 disk="apps")
        self.stays = lab.Guest("move-stays", 2, [lab.roce_device(self.here.sockets[1], LIMITS)])
        self.other = lab.Guest("move-other", 3, [lab.roce_device(self.there.sockets[1], LIMITS)],
                               disk="apps")
        self.soft = lab.StockGuest("move-soft", 4, self.here.uplink_socket)
        self.guests = [self.mover, self.stays, self.other, self.soft]
        for guest in self.guests:
            guest.start()
        for guest in self.guests:
            guest.wait_ready()
        for guest in self.guests[:3]:
            guest.load_modules()
        self.soft.load_rxe()
        return self

    def move(self, **arguments):
        """The guest moves to the other daemon; returns what QEMU says."""
        said = self.mover.move(self.there.sockets[0], limits=LIMITS, **arguments)
        self.here, self.there = self.there, self.here
        print(f"migration: {said['downtime']} ms of {said['total-time']} ms,"
              f" {said['ram']['transferred'] >> 20} MiB")
        return said

    def alive(self):
        """All run."""
        return all(part.alive() for part in (self.here, self.there, *self.guests))

    def stop(self):
        """Ends all."""
        with contextlib.ExitStack() as stack:
            for part in (self.here, self.there, *self.guests):
                if part.process:
                    stack.callback(part.stop)


@pytest.fixture(scope="module", name="place")
def _place():
    if not patched_qemu():
        pytest.skip(NOT_BUILT)
    place = Place()
    try:
        yield place.start()
    finally:
        place.stop()


def test_idle(place):
    """The guest moves there and back, and its device works as before."""
    for peer in (place.stays, place.other):
        pingpong(peer, place.mover, iterations=100, validate=True)
    for _ in range(2):
        place.move(compare=True)
        for peer in (place.stays, place.other):
            place.mover.run(["ping", "-c", "1", "-W", "5", peer.address])
            pingpong(peer, place.mover, iterations=100, validate=True)


def test_messages_go_on(place):
    """No message is lost, doubled or wrong, and memory is the same before the guest goes on."""
    storms = Storms(place.mover, (place.stays, place.other, place.soft), STORM)
    for _ in range(MOVES):
        place.move(compare=True)
        storms.go_on()
    storms.wait()


def test_ordinary_timeout(place):
    """With the timeout of 67 ms that many programs have, where nothing prolongs the stop."""
    storms = Storms(place.mover, (place.stays, place.other, place.soft), STORM, timeout=14)
    for _ in range(MOVES):
        place.move()
        storms.go_on()
    storms.wait()


def test_tcp_goes_on(place):
    """A TCP connection lives through all moves that begin before it ends."""
    load = Iperf(place.other, place.mover, seconds=20)
    while load.runs():
        place.move()
    load.wait()


def test_disk_goes_on(place):
    """A file system over NVMe: neither the disk nor its controller notices."""
    with disk.mounted(place.mover, place.stays, SIZE * 2):
        before = len(place.mover.dmesg())
        copy = disk.Copy(place.mover, SIZE)
        for _ in range(COPY_MOVES):
            place.move()
        copy.wait()
        log = place.mover.dmesg()[before:]
        assert "nvme" not in log, log


def test_nfs_goes_on(place):
    """The same over NFS."""
    with nfs.server(place.other), nfs.mounted(place.mover, place.other.address) as mount:
        before = len(place.mover.dmesg())
        copy = disk.Copy(place.mover, SIZE, flags="")
        place.other.wait_until("[ -s /srv/data ]")
        for _ in range(COPY_MOVES):
            place.move()
        copy.wait()
        nfs.compare(place.mover, place.other, mount)
        log = place.mover.dmesg()[before:]
        assert "nfs:" not in log and "rpcrdma:" not in log, log


# The needs that a daemon refuses: its limits and options, the answer, and what the guest's state
# is refused with.
REFUSALS = {
    "limits": (dataclasses.replace(LIMITS, mrs=1024), (), "mrs: 4096, but 1024 here",
               "section limits, mrs"),
    "mtu": (LIMITS, ("--mtu", "1280"), "mtu: 65535, but 1280 here", "section port, mtu"),
    "version": (LIMITS, (), "sections: next-object, which is unknown here", "next-object"),
}


@contextlib.contextmanager
def _next_version(place, monkeypatch):
    """The guest's daemon is of the next version, whose state has a section that we do not know."""
    today = place.here.binary
    monkeypatch.setenv("STATE_NEXT", "section")
    place.here.take_over(paths.NEXT_DAEMON)
    monkeypatch.delenv("STATE_NEXT")
    try:
        yield
    finally:
        place.here.take_over(paths.NEXT_DAEMON)
        place.here.take_over(today)


def _refused(place, third, why, loaded):
    """Asked before, it says why, and a move that is tried all the same comes to nothing."""
    needs = place.here.control("guest", "needs", place.here.sockets[0].name).split()
    assert why in third.refused("guest", "check-move", third.sockets[0].name, *needs)
    with pytest.raises(Refused):
        place.mover.move(third.sockets[0], limits=LIMITS)
    assert re.search(f"not loaded: .*{loaded}", third.log.read_text()), third.tail()


@pytest.mark.parametrize("what", REFUSALS)
def test_refused(place, monkeypatch, what):
    """A daemon that does not fit says why before, and its guest goes on in its old place."""
    limits, arguments, why, loaded = REFUSALS[what]
    third = lab.Daemon("move-c", guests=1, limits=limits, pins=(_pin(1) + ",elsewhere",),
                       arguments=[*place.uplink, *arguments]).start()
    storms = Storms(place.mover, (place.stays, place.other), STORM)
    try:
        with _next_version(place, monkeypatch) if what == "version" else contextlib.nullcontext():
            _refused(place, third, why, loaded)
            storms.go_on()
    finally:
        third.stop()
    storms.wait()
    pingpong(place.other, place.mover, iterations=100, validate=True)


def test_fits(place):
    """The daemon that a guest is to go to has nothing against it."""
    needs = place.here.control("guest", "needs", place.here.sockets[0].name).split()
    assert place.there.control("guest", "check-move", place.there.sockets[0].name, *needs) == ""


# The streams of the guest that moves: the peer, the program, its arguments.
KINDS = (
    ("stays", "ib_send_bw", ("-q", 16, "--use-srq")),
    ("other", "ib_write_bw", ("-q", 16)),
    ("stays", "ib_read_bw", ("-q", 16)),
    ("other", "ib_atomic_bw", ("-q", 16)),
    ("other", "ib_send_bw", ("-c", "XRC", "-q", 2)),
    ("stays", "ib_send_bw", ("-c", "UD")),
    ("other", "ib_write_bw", ("-R",)),
    ("soft", "ib_write_bw", ()),
)


def test_kinds(place):
    """QPs of all kinds at once, 69 of them RC; all of them go on after each move.

    The streams do not look at contents; the storms beside them do, one to each peer.
    """
    streams = [Stream(getattr(place, peer), place.mover, program, *arguments,
                      port=perftest.PORT + number, timeout=14)
               for number, (peer, program, arguments) in enumerate(KINDS)]
    try:
        assert_all_move(streams)
        storms = Storms(place.mover, (place.stays, place.other, place.soft), STORM, timeout=14)
        for _ in range(MOVES):
            place.move()
            assert_all_move(streams)
            storms.go_on()
        storms.wait()
    finally:
        for stream in streams:
            stream.kill()


def test_many(place):
    """A thousand QPs that write; the daemons print how long they took."""
    stream = Stream(place.stays, place.mover, "ib_write_bw", "-q", 1000, "-t", 4)
    stream.assert_moves(120)
    daemons = (place.here, place.there)
    before = [len(daemon.log.read_text()) for daemon in daemons]
    place.move()
    log = "".join(daemon.log.read_text()[at:] for daemon, at in zip(daemons, before))
    stream.assert_moves(120)
    stream.kill()
    print("migration: " + "; ".join(re.findall(
        r"saved, .* ms|its state was taken, .* ms|its state has come, .* ms|loaded, .* ms|"
        r"goes on.* ms", log)))
    size, = re.findall(r"saved, (\d+) bytes", log)
    assert 100 * 1000 < int(size) <= 1024 * 1000, size


def test_copy(place):
    """The state in a file: the guest goes on, and what is started from the file has no peers.

    Its connections end with an error, and new ones work.
    """
    apart = lab.Daemon("move-apart", guests=1, limits=LIMITS, pins=(_pin(1) + ",copy",)).start()
    storms = Storms(place.mover, (place.stays, place.other), STORM)
    events = PingPong(place.stays, place.mover, iterations=100000000, events=True)
    events.wait_connected()
    file = place.mover.directory / "state"
    copy = Copy(place.mover, file, lab.roce_device(apart.sockets[0], LIMITS))
    try:
        copy.start().wait_ready()
        events.assert_moves()
        storms.go_on()
        # The connections of the copy failed before they sent anything.
        copy.wait_until("! pgrep -x storm", 120)
        pingpong(copy, copy, iterations=100, validate=True)
        events.assert_moves()
        storms.wait()
    finally:
        events.kill()
        if copy.process:
            copy.kill()
        apart.stop()
        file.unlink(missing_ok=True)
