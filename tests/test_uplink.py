# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The switch reaches beyond the daemon's own guests.

One daemon, in a network namespace of its own, has all uplinks: a tap, one end of a veth
pair, and a socket with an ordinary guest and a second daemon.
"""

import math
import pathlib
import re
import subprocess
import sys
import time
import types

import pytest

import lab
from lab import paths
from lab.again import attempts
from lab.capture import frames
from lab.iperf import iperf
from lab.longform import mostly_long
from lab.mckey import multicast
from lab.patience import Deadline
from lab.perftest import by_a_right_clock, rows

PROGRAM = pathlib.Path(__file__).parent / "guest" / "transfer.py"
PORT = 7777

# The host's side of each, in subnets of their own.
HOST_SIDES = {"tap": ("lab0", "10.78.0"), "packet": ("lab1peer", "10.79.0")}


def _near(captures):
    """The daemon with the uplinks, and its guest."""
    daemon = lab.Daemon(
        "uplink-near", guests=1, uplink=True,
        binary=paths.BUILD / "device" / "asan" / "vhost-user-roce",
        # Each interface answers for its own address only.
        namespace="echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore;"
                  " ip link add lab1 type veth peer lab1peer; ip link set lab1 up",
        arguments=["--uplink", "tap:lab0", "--pcap", captures / "tap",
                   "--uplink", "packet:lab1", "--pcap", captures / "packet"]).start()
    for interface, subnet in HOST_SIDES.values():
        daemon.in_namespace(["ip", "address", "add", f"{subnet}.254/24", "dev", interface])
        daemon.in_namespace(["ip", "link", "set", interface, "up"])
    return daemon


def _far(near):
    """A daemon that is connected to another by a bad wire."""
    return lab.Daemon(
        "uplink-far", guests=1, binary=near.binary,
        arguments=["--mac-base", "52:54:00:00:cf:01", "--uplink",
                   f"connect:{near.uplink_socket}", "--loss", "5%", "--dup", "5%",
                   "--reorder", "5%", "--corrupt", "2%", "--seed", "7"]).start()


@pytest.fixture(scope="module", name="world")
def _world():
    """Guests ours, stock and far, daemons near and far_daemon."""
    captures = paths.run_directory("uplink-captures")
    near = _near(captures)
    far_daemon = _far(near)
    ours = lab.Guest("uplink-ours", 1, [lab.roce_device(near.sockets[0])])
    stock = lab.StockGuest("uplink-stock", 2, near.uplink_socket)
    far = lab.Guest("uplink-far-guest", 3, [lab.roce_device(far_daemon.sockets[0])])
    guests = (ours, stock, far)
    for guest in guests:
        guest.start()
    for guest in guests:
        guest.wait_ready()
    ours.load_modules()
    far.load_modules()
    stock.configure_network()
    ours.know(far)
    far.know(ours)
    for _, subnet in HOST_SIDES.values():
        ours.run(f"ip address add {subnet}.1/24 dev {ours.interface()}")
    world = types.SimpleNamespace(near=near, far_daemon=far_daemon, ours=ours, stock=stock,
                                  far=far, captures=captures)
    yield world
    # The last test replaces near.
    for part in (*guests, far_daemon, world.near):
        part.stop()


def test_stock_guest_pings(world):
    """Both ways, up to the largest frame."""
    for one, other in ((world.ours, world.stock), (world.stock, world.ours)):
        one.run(["ping", "-c", "5", "-i", "0.2", "-s", "1472", "-M", "do", other.address])


def test_stock_guest_tcp(world):
    """QEMU's sockets take no offloads: the daemon finishes those of our guest."""
    for server, client in ((world.ours, world.stock), (world.stock, world.ours)):
        iperf(server, client, volume="8M")


def test_stock_guest_soft_roce(world):
    """The ordinary guest has Soft-RoCE, which other tests use."""
    assert world.stock.load_rxe() == "rxe0"
    assert "rxe0/1 state ACTIVE" in world.stock.run("rdma link").stdout
    world.stock.run("rdma link del rxe0")


def test_soft_roce_multicast(world):
    """A group that has a member of ours and one with Soft-RoCE."""
    world.stock.load_rxe()
    multicast(world.ours, [world.stock])
    multicast(world.stock, [world.ours], posted=2000)
    world.stock.run("rdma link del rxe0")


def test_stock_guest_ipv6(world):
    """The same over IPv6, with the contents checked."""
    guests = (world.ours, world.stock)
    for guest in guests:
        guest.run(f"ip address add fd77::{guest.number}/64 dev {guest.interface()} nodad")
    for receiver, sender in (guests, guests[::-1]):
        address = f"fd77::{receiver.number}"
        receiving = receiver.popen(["python3", receiver.put(PROGRAM), "receive", address,
                                    str(PORT)])
        receiving.wait_output("listening")
        sent = sender.run(["python3", sender.put(PROGRAM), "send", address, str(PORT), "5"])
        assert sent.stdout.split()[1] in receiving.wait(60, check=True).stdout


def _lengths(capture, mac):
    """The longest frame from an address, and the longest from others."""
    longest = {True: 0, False: 0}
    for frame in frames(capture):
        longest[frame[6:12] == mac] = max(longest[frame[6:12] == mac], frame.length)
    return longest[True], longest[False]


def _transfer_to_guest(world, subnet, program):
    receiver = world.ours.popen(["python3", program, "receive", f"{subnet}.1", str(PORT)])
    receiver.wait_output("listening")
    sent = world.near.in_namespace([sys.executable, PROGRAM, "send", f"{subnet}.1",
                                    str(PORT), "20"])
    assert sent.split()[1] in receiver.wait(60, check=True).stdout


def _transfer_from_guest(world, subnet, program):
    command = ["nsenter", "-t", str(world.near.pid), "-n", sys.executable, PROGRAM,
               "receive", f"{subnet}.254", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        try:
            assert receiver.stdout.readline() == "listening\n"
            sent = world.ours.run(["python3", program, "send", f"{subnet}.254", str(PORT), "20"])
            assert sent.stdout.split()[1] in receiver.communicate(timeout=60)[0]
        finally:
            receiver.kill()


@pytest.mark.parametrize("kind", HOST_SIDES)
def test_host(world, kind):
    """Ping, and TCP in both directions, whose segments stay large."""
    _, subnet = HOST_SIDES[kind]
    program = world.ours.put(PROGRAM)
    world.ours.run(["ping", "-c", "3", "-i", "0.2", "-s", "1472", "-M", "do", f"{subnet}.254"])
    _transfer_to_guest(world, subnet, program)
    _transfer_from_guest(world, subnet, program)
    mac = bytes.fromhex(world.ours.run(
        f"cat /sys/class/net/{world.ours.interface()}/address").stdout.replace(":", ""))
    lengths = _lengths(world.captures / kind, mac)
    assert min(lengths) > 4000, lengths


@pytest.mark.parametrize("kind", mostly_long(HOST_SIDES, short=["tap"]))
def test_host_vlan(world, kind):
    """A frame keeps its VLAN tag, also if the kernel passes the tag beside the frame."""
    frame = b"\xff" * 6 + b"\x02\0\0\0\0\x05" + b"\x81\0\0\x05" + b"\x88\xb5" + b"tagged" * 8
    send = ("import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW);"
            f" s.bind(({HOST_SIDES[kind][0]!r}, 0)); s.send(bytes.fromhex({frame.hex()!r}))")
    world.near.in_namespace([sys.executable, "-c", send])
    capture = world.captures / kind
    deadline = Deadline(10)
    while frame[14:] not in capture.read_bytes():
        assert not deadline.over(), "the frame did not come"
        time.sleep(0.1)
    assert frame in capture.read_bytes()


# perftest counts it, though no program sends it.
FCS = 4
STRANGERS = {"tap": "02:72:61:77:00:09", "packet": "02:72:61:77:00:0a"}
COUNT_FRAMES = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
s.bind((sys.argv[1], 0))
s.settimeout(120)
print("ready", flush=True)
n = 0
while n < int(sys.argv[3]):
    try:
        frame = s.recv(65536)
    except TimeoutError:
        break
    n += frame[:6] == bytes.fromhex(sys.argv[2]) and len(frame) == int(sys.argv[4])
print(n)
"""
# To the end: the interface drops frames while the daemon does not get a processor.
SEND_FRAMES = """
import itertools, socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
frame = bytes.fromhex(sys.argv[2]) + bytes.fromhex(sys.argv[4]) + b"\\x88\\xb5"
for i in itertools.count():
    s.send(frame.ljust(int(sys.argv[3]), b"x"))
    if not i % 32:
        time.sleep(0.005)
"""


@pytest.mark.parametrize("kind", mostly_long(HOST_SIDES, short=["packet"]))
def test_host_raw(world, kind):
    """perftest's frames by a raw QP reach a raw socket of the host, and the other way round."""
    guest, (interface, _), count, size = world.ours, HOST_SIDES[kind], 500, 1000
    mac = guest.run(f"cat /sys/class/net/{guest.interface()}/address").stdout.strip()
    stranger = STRANGERS[kind]
    ours, theirs = (text.replace(":", "") for text in (mac, stranger))
    program = ["raw_ethernet_bw", "-d", guest.rdma_device(), "-F", "-B", mac, "-E", stranger,
               "-s", str(size), "-n", str(count)]

    def out():
        with world.near.popen_in_namespace(
                [sys.executable, "-c", COUNT_FRAMES, interface, theirs, str(count),
                 str(size - FCS)]) as host:
            assert host.stdout.readline() == "ready\n"
            result = guest.run([*program, "--client"], check=False)
            # It looks at its clock when it has sent all.
            assert host.stdout.read() == f"{count}\n", str(result)
        return [result]

    def back():
        server = guest.popen([*program, "--server", "--rx-depth", str(count + 12)])
        guest.wait_until("rdma resource show qp | grep -q 'type RAW_PACKET state RTR'")
        with world.near.popen_in_namespace([sys.executable, "-c", SEND_FRAMES, interface, ours,
                                            str(size - FCS), theirs]) as host:
            try:
                return [server.wait()]
            finally:
                host.kill()

    by_a_right_clock(out)
    heard, = by_a_right_clock(back)
    assert [row[:2] for row in rows(heard.stdout)] == [[size, count]], str(heard)


def test_two_daemons(world):
    """TCP data is right over a wire that loses, doubles, delays and damages frames."""
    program = world.ours.put(PROGRAM)
    before = world.far_daemon.stats()
    receiver = world.ours.popen(["python3", program, "receive", world.ours.address, str(PORT)])
    receiver.wait_output("listening")
    sent = world.far.run(["python3", world.far.put(PROGRAM), "send", world.ours.address,
                          str(PORT), "1"], timeout=120)
    assert sent.stdout.split()[1] in receiver.wait(60, check=True).stdout
    after = world.far_daemon.stats()
    name = f"connect:{world.near.uplink_socket}"
    assert after[name]["port_in"] > before[name]["port_in"] + 100


PINGS = 1000


def is_share(number, of, share):
    """It is as great as chance makes it: no farther off than five times the deviation."""
    return abs(number - of * share) <= 5 * math.sqrt(of * share * (1 - share))


def test_faults(world):
    """The shares of lost and of doubled pings are those that were asked for."""
    name = f"connect:{world.near.uplink_socket}"
    # Of many answers at a time, as after a guest stood still, ping's socket drops some.
    for last in attempts("answers of ping came in a burst", 3):
        before = world.far_daemon.stats()[name]
        result = world.far.run(["ping", "-c", str(PINGS), "-i", "0.01", "-W", "1",
                                world.ours.address], timeout=120, check=False)
        match = re.search(rf"{PINGS} packets transmitted, (\d+) received"
                          r"(?:, \+(\d+) duplicates)?", result.stdout)
        assert match, str(result)
        after = world.far_daemon.stats()[name]
        happened = {what: after[what] - before[what] for what in after
                    if after[what] != before[what] and isinstance(after[what], int)}
        frames = happened["port_in"] + happened["port_out"]
        assert frames > 1.5 * PINGS, happened
        for what, share in (("fault_lost", 0.05), ("fault_duplicated", 0.05),
                            ("fault_reordered", 0.05), ("fault_corrupted", 0.02)):
            assert is_share(happened.get(what, 0), frames, share), (what, happened)
        # Request and answer each have a chance of 5 % to get lost, and of 2 % to be damaged;
        # each may be doubled.
        came = (is_share(int(match[1]), PINGS, (0.95 * 0.98) ** 2),
                is_share(int(match[2] or 0), PINGS, 2 * 0.05 * 0.95 * 0.98))
        if all(came):
            break
        assert not last, match[0]


def test_cut_and_link(world):
    """A port that is cut off is silent; a link that is down is seen."""
    near, ours, stock = world.near, world.ours, world.stock
    uplink = f"unix:{near.uplink_socket}"
    guest = near.sockets[0].name
    ping = ["ping", "-c", "2", "-i", "0.2", "-W", "1", stock.address]
    answered = f"ping -c 1 -W 1 {stock.address}"
    ours.wait_until(answered)
    near.control("cut", uplink, "on")
    assert "cut" in near.control("ports")
    assert ours.run(ping, check=False).rc == 1
    assert near.stats()[uplink]["port_cut"] > 0
    near.control("cut", uplink, "off")
    ours.wait_until(answered)

    near.control("link", guest, "down")
    carrier = f"cat /sys/class/net/{ours.interface()}/carrier"
    ours.wait_output(carrier, "0")
    assert "state DOWN" in ours.run("rdma link").stdout
    assert ours.run(ping, check=False).rc != 0
    near.control("link", guest, "up")
    ours.wait_output(carrier, "1")
    ours.wait_until(answered)
    assert near.stats()[guest]["kind"] == "guest"
    assert near.stats()[guest]["eth_tx"] > 0


def test_stock_guest_comes_back(world):
    """Its QEMU ends and another one connects."""
    world.stock.stop()
    assert world.near.stats()[f"unix:{world.near.uplink_socket}"]["peers"] == 1
    world.stock.start().wait_ready()
    world.stock.configure_network()
    world.ours.run(["ping", "-c", "2", "-i", "0.2", world.stock.address])


def test_daemon_comes_back(world):
    """The daemon that connects finds the other one again."""
    far = world.far_daemon
    name = f"connect:{world.near.uplink_socket}"
    assert far.stats()[name]["peers"] == 1
    for part in (world.ours, world.stock, world.near):
        part.stop()
    _wait_peers(far, name, 0)
    world.near = _near(world.captures)
    _wait_peers(far, name, 1)


def _wait_peers(daemon, name, peers):
    deadline = Deadline(10)
    while daemon.stats()[name]["peers"] != peers:
        assert not deadline.over(), daemon.control("ports")
        time.sleep(0.1)
