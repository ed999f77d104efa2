# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Guests that come and go while the daemon, in its sandbox, goes on."""

import time

import pytest

import lab
from lab import paths
from lab.patience import Deadline
from lab.pingpong import PORT, gid_index, pingpong
from lab.plug import plug, unplug


@pytest.fixture(scope="module", name="world")
def _world():
    """A daemon with one guest, and another guest with an empty port."""
    daemon = lab.Daemon("host-daemon", guests=1).start()
    first = lab.Guest("host-first", 1, [lab.roce_device(daemon.sockets[0])]).start()
    second = lab.Guest("host-second", 2).start()
    first.wait_ready().load_modules()
    second.wait_ready().run("modprobe -a virtio_roce ib_uverbs")
    yield daemon, first, second
    for part in (second, first, daemon):
        part.stop()


def _added(daemon, guest, socket):
    """The guest gets a device at a new socket of the daemon's."""
    daemon.control("guest", "add", str(socket))
    assert f"{socket.name}\tguest\tabsent\n" in daemon.control("ports")
    assert f",path={socket}\n" in daemon.control("qemu-args", socket.name)
    plug(guest, daemon, socket)
    guest.configure_network()
    assert f"{socket.name}\t{socket}\t52:54:00:00:ce:02\tup\n" in daemon.control("guest", "list")


def _writing(daemon, guest, peer):
    """Programs in both guests, of which one writes to the other one's memory without end."""
    port = daemon.sockets[0].name
    command = ["ib_write_bw", "-F", "-D", "100", "-s", "4096"]
    server, client = ([*command, "-d", end.rdma_device(), "-x", gid_index(end, end.rdma_device())]
                      for end in (peer, guest))
    server = peer.popen(server)
    peer.wait_listening(PORT)
    before = daemon.stats()[port]["rdma_writes"]
    client = guest.popen([*client, peer.address])
    deadline = Deadline(30)
    while daemon.stats()[port]["rdma_writes"] < before + 100:
        assert not deadline.over() and client.poll() is None
        time.sleep(0.1)
    return server, client


def test_guest_is_added_and_removed(world):
    """It works with the others; its peer's program fails when it goes; it comes again."""
    daemon, first, second = world
    socket = paths.socket_directory() / "host.added"
    for dies in (True, False):
        _added(daemon, second, socket)
        first.run(["ping", "-q", "-c", "2", "-i", "0.2", second.address])
        pingpong(first, second, iterations=200, validate=True)
        if not dies:
            unplug(second)
            daemon.control("guest", "remove", socket.name)
            continue
        server, client = _writing(daemon, first, second)
        daemon.control("guest", "remove", socket.name)
        assert not socket.exists()
        assert socket.name not in daemon.control("ports")
        result = client.wait(30)
        assert result.rc != 0 and "Failed status 12" in str(result), str(result)
        # The program in the guest that is gone ends when its dead device is unplugged.
        unplug(second)
        server.kill()
        server.wait(30)
        # Nobody else notices.
        pingpong(first, first, iterations=200)
    assert not socket.exists()
    lab.assert_healthy()


def test_errors(world):
    """Each tells its cause in a line, and leaves nothing behind."""
    daemon = world[0]
    directory = paths.socket_directory()
    ports = daemon.control("ports")
    bad = directory / "host.bad"

    assert "Address already in use" in daemon.refused("guest", "add", str(daemon.sockets[0]))
    assert "No such file" in daemon.refused("guest", "add", str(directory / "none" / "bad"))
    assert "same MAC address" in daemon.refused("guest", "add", f"{bad},mac=52:54:00:00:ce:01")
    assert "neither mac= nor gid=" in daemon.refused("guest", "add", f"{bad},vlan=7")
    assert "no such guest: nobody" in daemon.refused("guest", "remove", "nobody")
    assert "no such uplink: unix:x" in daemon.refused("uplink", "remove", "unix:x")
    assert "no known kind" in daemon.refused("uplink", "add", "wire:x")
    assert not bad.exists()
    assert daemon.control("ports") == ports


def test_reload(world):
    """The guests are those of the options, but who is connected stays."""
    daemon = world[0]
    directory = paths.socket_directory()
    new = directory / "host.new"
    connected = str(daemon.sockets[0])
    listed = daemon.control("guest", "list")

    daemon.control("reload", "--qps", "4", "--socket", f"{new},gid=192.0.2.9")
    assert new.exists()
    assert f"{new.name}\t{new}\t" in daemon.control("guest", "list")
    assert f"\t{connected}\t" in daemon.control("guest", "list")
    daemon.control("reload", f"--socket={connected}", "--socket", str(new))
    assert f"\t{new}\t" in daemon.control("guest", "list")
    # It does all that it can, whatever else fails.
    assert "No such file" in daemon.refused("reload", "--socket", connected, "--socket",
                                            str(directory / "none" / "bad"))
    assert not new.exists()
    assert daemon.control("guest", "list") == listed


@pytest.mark.long
def test_uplink_is_added_and_removed(world):
    """A wire to a second daemon, with a guest of its own; it goes, and comes again."""
    daemon, first, second = world
    wire = paths.socket_directory() / "host.wire"
    other = lab.Daemon("host-other", guests=1,
                       arguments=["--mac-base", "52:54:00:00:ce:02"]).start()
    plug(second, other)
    second.configure_network()
    ping = ["ping", "-q", "-c", "2", "-i", "0.2", "-W", "1", second.address]
    for _ in range(2):
        assert first.run(ping, check=False).rc == 1
        daemon.control("uplink", "add", f"unix:{wire}")
        other.control("uplink", "add", f"connect:{wire}")
        first.wait_until(f"ping -c 1 -W 1 {second.address}")
        pingpong(first, second, iterations=200)
        daemon.control("uplink", "remove", f"unix:{wire}")
        assert not wire.exists()
        other.control("uplink", "remove", f"connect:{wire}")
    unplug(second)
    other.stop()
