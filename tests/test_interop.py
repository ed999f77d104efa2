# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Another implementation as peer: the kernel's Soft-RoCE, in a stock guest on the switch.

Guest a has our device.  Guest b is a stock Debian with an ordinary virtio-net function,
connected to the daemon's uplink by QEMU's "-netdev stream", and rdma_rxe on it.  None
of our code runs in b.

Once b is the server, once a.  Every two values of MTU, direction and addresses meet in some
test; with LAB_LONG=1 in the environment ("make soak") each test has all combinations and
sizes, with many more messages.
"""

import collections
import re
import types

import pytest

import lab
from lab import nvme
from lab.again import attempts
from lab.capture import ROCE_PORT, frames, icrc_good, tshark
from lab.combine import combinations
from lab.longform import mostly_long
from lab.paths import LONG
from lab.perftest import check, perftest
from lab.pingpong import gid_index, pingpong
from lab.programs import RPING_MAX, cm_program, counters, meet, rping, rping_server
from lab.storm import Storm, storm

# Ethernet MTU by path MTU of RDMA, with room for the headers.
ETHERNET_MTU = {1024: 1500, 4096: 4200}

# Tests whose capture is read: the storm, the ping-pongs, some of perftest; or all.
FRAMES = None if LONG else 150000

# ACK timeout, 2.1 s: eight of them are longer than a guest of a busy machine stands still.
TIMEOUT = 19

IPV6 = {1: "fd77::1", 2: "fd77::2"}

# The parameters of the fixtures, then others by name.
VALUES = {
    "mtu": [1024, 4096],
    "ends": ["rxe-serves", "we-serve"],
    "addresses": ["ipv4", "ipv6"],
}


def combine(turn, **more):
    """Combinations of the three parameters and of more; others for another turn."""
    values = {**VALUES, **more}
    return pytest.mark.parametrize(list(values), combinations(turn, *values.values()),
                                   indirect=list(VALUES))


def each(name, short=None):
    """All values of one of the three; in the short form only the one that is named."""
    values = mostly_long(VALUES[name], [short]) if short else VALUES[name]
    return pytest.mark.parametrize(name, values, indirect=True)


class Lan:
    """The daemon, guest a on our device and guest b on Soft-RoCE."""

    def __init__(self):
        self.daemon = lab.Daemon("interop-daemon", guests=1, pcap=True, uplink=True,
                                 arguments=["--mtu", str(max(ETHERNET_MTU.values()))]).start()
        self.a = lab.Guest("interop-a", 1, [lab.roce_device(self.daemon.sockets[0])])
        self.b = lab.StockGuest("interop-b", 2, self.daemon.uplink_socket)
        self.guests = [self.a, self.b]
        for guest in self.guests:
            guest.start()
        for guest in self.guests:
            guest.wait_ready()
        self.a.load_modules()
        self.device = {self.b: self.b.load_rxe(), self.a: self.a.rdma_device()}
        self.interface = {guest: guest.interface() for guest in self.guests}
        for guest in self.guests:
            guest.run(f"ip addr add {IPV6[guest.number]}/64 dev {self.interface[guest]} nodad")
        for guest, other in (self.guests, self.guests[::-1]):
            meet(guest, IPV6[other.number])
        self.mtu = None

    def set_mtu(self, mtu):
        """Path MTU of RDMA, by the interfaces' MTU."""
        if mtu == self.mtu:
            return
        for guest in self.guests:
            guest.run(f"ip link set {self.interface[guest]} mtu {ETHERNET_MTU[mtu]}")
            code = {1024: 3, 4096: 5}[mtu]
            info = guest.run(f"ibv_devinfo -d {self.device[guest]}").stdout
            assert re.search(rf"active_mtu:\s+{mtu} \({code}\)", info), info
        self.mtu = mtu

    def packets(self):
        """How many packets of RDMA both ends have sent, and how many have come."""
        ends = [counters(guest, self.device[guest]) for guest in self.guests]
        return [sum(end[name] for end in ends) for name in ("sent_pkts", "rcvd_pkts")]

    def stop(self):
        """Ends all."""
        for guest in self.guests:
            guest.stop()
        self.daemon.stop()


@pytest.fixture(scope="module")
def lan():
    """Both guests, with addresses and RDMA devices."""
    lan = Lan()
    yield lan
    lan.stop()


@pytest.fixture(scope="module")
def mtu(lan, request):
    """The path MTU of RDMA, set on both sides."""
    lan.set_mtu(request.param)
    return request.param


@pytest.fixture
def ends(lan, request):
    """Server and client."""
    return (lan.b, lan.a) if request.param == "rxe-serves" else (lan.a, lan.b)


@pytest.fixture
def addresses(ends, request):
    """Their addresses."""
    if request.param == "ipv4":
        return [guest.address for guest in ends]
    return [IPV6[guest.number] for guest in ends]


def devices(lan, ends):
    """Names of the RDMA devices."""
    return [lan.device[guest] for guest in ends]


@each("mtu")
def test_ping(lan, mtu):
    """Ethernet, with frames of full length."""
    size = str(ETHERNET_MTU[mtu] - 28)
    lan.a.run(["ping", "-c", "3", "-i", "0.2", "-M", "do", "-s", size, lan.b.address])


@combine(0)
def test_storm(lan, mtu, ends, addresses):
    """Mixed operations and sizes, contents checked on both sides.

    No message is empty: if a READ is repeated and the last request was an empty WRITE,
    rxe looks up the region that the WRITE names (read_reply() of 6.12, "res->replay"),
    warns and ends the connection.
    """
    storm(*ends, count=20000 if LONG else 400, mtu=mtu, min_size=1, timeout=TIMEOUT,
          devices=devices(lan, ends),
          gids=[gid_index(guest, lan.device[guest], address)
                for guest, address in zip(ends, addresses)],
          within=3600 if LONG else 120)


@each("ends", short="rxe-serves")
def test_takeover(lan, ends):
    """Another daemon takes over, in full 200 times, while messages go both ways; none is lost."""
    run = Storm(*ends, count=20000 if LONG else 1500, min_size=1, timeout=TIMEOUT,
                devices=devices(lan, ends))
    before = lan.packets()
    lan.daemon.wait_traffic(100)
    for _ in range(200 if LONG else 3):
        lan.daemon.take_over()
    assert lan.packets() > before
    run.wait(3600 if LONG else 120)


@combine(1, size=["1", "mtu", "65536"])
def test_rc_pingpong(lan, mtu, ends, addresses, size):
    """Of libibverbs, contents checked."""
    pingpong(*ends, size=mtu if size == "mtu" else int(size), iterations=1000 if LONG else 100,
             validate=True, devices=devices(lan, ends), addresses=addresses,
             arguments=["-m", mtu])


@combine(2, program=["uc", "ud"])
def test_datagram_pingpong(lan, mtu, ends, addresses, program):
    """The same for types that do not send again: a packet that a slow guest drops ends the run.

    A run that stands still is tried again if its packets say so: fewer came than were sent.
    """
    arguments = ["-m", mtu] if program == "uc" else []
    for size in (1, mtu, 2 * mtu) if program == "uc" else (1, mtu):
        for last in attempts("a packet was dropped", 3):
            before = lan.packets()
            try:
                pingpong(*ends, program=program, size=size, iterations=100, validate=True,
                         devices=devices(lan, ends), addresses=addresses,
                         arguments=arguments, timeout=20)
                break
            except lab.CommandTimeout:
                sent, came = (after - old for after, old in zip(lan.packets(), before))
                assert came < sent, f"it stands still, and all {sent} packets came"
                lab.kill_commands()
                if last:
                    raise


@each("ends", short="we-serve")
def test_srq_pingpong(ends, lan):
    """QPs that share the receive requests of one SRQ, on each side; contents checked."""
    pingpong(*ends, program="srq", iterations=1000 if LONG else 200, validate=True,
             devices=devices(lan, ends), arguments=["-q", 16])


@each("ends")
def test_rping(ends, lan):
    """The connection manager's MADs go both ways, then contents are compared."""
    server, client = ends
    with rping_server(server) as address:
        for size in (64, 4096, RPING_MAX):
            rping(client, address, 100 if LONG else 10, size)
        for _ in range(100 if LONG else 5):
            rping(client, address, 1)


@pytest.mark.parametrize("program, ends", combinations(0, ["ucmatose", "udaddy"], VALUES["ends"]),
                         indirect=["ends"])
def test_cm_programs(lan, ends, program):
    """Several connections, or datagrams, of one program."""
    cm_program(program, *ends, connections=5, messages=10, size=1000, measured=lan.a)


@pytest.mark.parametrize("mtu, ends, operation, what", combinations(
    3, VALUES["mtu"], VALUES["ends"], ["send", "write", "read", "atomic"], ["lat", "bw"]),
    indirect=["mtu", "ends"])
def test_perftest(lan, mtu, ends, operation, what):
    """perftest, RC; also UC and UD where it knows them."""
    both = types.SimpleNamespace(a=ends[1], b=ends[0])
    services = {"send": ["RC", "UC", "UD"], "write": ["RC", "UC"]}.get(operation, ["RC"])
    sizes = [4**n for n in range(0, 11)] if LONG else [2, 1 << 20]
    sizes = [8] if operation == "atomic" else sizes
    for service in services:
        # Without ACKs a slow receiver may lose any number of packets.
        if service != "RC" and what == "bw":
            continue
        for size in sizes if service == "RC" else [2, 1024] if LONG else [1024]:
            count = 100 if LONG else 20
            table = perftest(both, f"ib_{operation}_{what}", "-c", service, "-s", size,
                             "-n", count, "-m", mtu, "-u", TIMEOUT, devices=lan.device)
            check(table, [size], count)


@each("ends", short="we-serve")
def test_nvme(lan, ends):
    """One is the NVMe target, the other the host: data is written, read and compared."""
    target, host = ends
    lan.set_mtu(4096)
    megabytes = 64 if LONG else 8
    nvme.target_start(target)
    host.run("modprobe nvme-rdma")
    nvme.connect(host, target)
    host.run(f"head -c {megabytes}M /dev/urandom > /tmp/data &&"
             f" dd if=/tmp/data of={nvme.DEVICE} bs=256k oflag=direct status=none &&"
             f" dd if={nvme.DEVICE} bs=256k count={megabytes * 4} iflag=direct status=none |"
             " cmp - /tmp/data && rm /tmp/data", timeout=900)
    nvme.disconnect(host)
    nvme.target_end(target)


def test_capture(lan):
    """tshark reads what was on the wire: no malformed packet; and each ICRC is good.

    In the short form of the first 150,000 frames.
    """
    capture = lan.daemon.directory / "wire.pcap"
    if sum(1 for _ in frames(capture, 1001)) <= 1000:  # this test runs alone
        storm(lan.b, lan.a, count=1000, min_size=1, timeout=TIMEOUT,
              devices=devices(lan, (lan.b, lan.a)))
        for program in ("uc", "ud"):
            pingpong(lan.b, lan.a, program=program, size=1000, iterations=100,
                     devices=devices(lan, (lan.b, lan.a)))
    opcodes, malformed = collections.Counter(), []
    # A guest answers an ACK that comes after the QP has gone with ICMP, which quotes it.
    for packet in tshark(capture, "infiniband.bth.opcode", "_ws.malformed", "frame.protocols",
                         display=f"udp.dstport == {ROCE_PORT} and not icmp and not icmpv6",
                         count=FRAMES):
        opcodes[int(packet[0])] += 1
        # After "infiniband" tshark names its guess about the random payload, which now
        # and then begins like RoCE v1.
        if packet[1] and re.search(r":udp:infiniband(:data)?$", packet[2]):
            malformed.append(packet)
    assert not malformed, malformed[:10]
    # RC: SEND, WRITE, READ and its response, ACK; SEND of UC and of UD.
    assert opcodes.keys() >= {0x00, 0x04, 0x06, 0x0a, 0x0c, 0x0d, 0x11, 0x24, 0x64}, opcodes

    verdicts = collections.Counter(icrc_good(frame) for frame in frames(capture, FRAMES))
    assert verdicts[True] == opcodes.total() > 1000
    assert verdicts[False] == 0
    capture.unlink()  # it is large
