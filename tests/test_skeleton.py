# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two guests on one daemon: Ethernet, verbs, and both at the same time."""

import re
import time

import pytest

from lab import paths
from lab.longform import mostly_long
from lab.patience import Deadline
from lab.pingpong import PORT, PingPong, pingpong


def ping(guest, other, count=3, size=56):
    """Pings the other guest; every echo must come back."""
    guest.run(["ping", "-c", str(count), "-i", "0.2", "-W", "5", "-s", str(size),
               other.address])


def resources(guest):
    """The line of "rdma resource" for our device, without its index."""
    return re.sub(r"^\d+: ", "", guest.run("rdma resource show").stdout.strip())


@pytest.mark.debug_kernel
def test_ethernet_before_and_after_loading(pair):
    """Stock virtio_net drives the function before, and again on top of our driver."""
    for guest in pair.guests:
        if guest.run("test -d /sys/module/virtio_net_roce", check=False).rc == 0:
            guest.unload_modules()
        guest.configure_network()
    before = [(guest.interface(), guest.run("cat /sys/class/net/e*/address").stdout)
              for guest in pair.guests]
    ping(pair.a, pair.b)

    pair.load_modules()
    assert before == [(guest.interface(), guest.run("cat /sys/class/net/e*/address").stdout)
                      for guest in pair.guests]
    for guest in pair.guests:
        driver = guest.run("basename $(readlink /sys/class/net/e*/device/driver)").stdout
        assert driver.strip() == "virtio_net"
        function = guest.run("ls /sys/bus/pci/drivers/virtio_net_roce | grep 0000:").stdout
        assert len(function.split()) == 1
    ping(pair.a, pair.b)
    ping(pair.b, pair.a, size=1400)


@pytest.mark.debug_kernel
def test_device_is_listed(rdma_pair):
    """ibv_devices, ibv_devinfo, rdma link: a RoCEv2 port that is up."""
    guest = rdma_pair.a
    device = guest.rdma_device()
    assert device.startswith("rocep")
    assert device in guest.run("ibv_devices").stdout
    assert re.search(rf"{device}/1 state ACTIVE physical_state LINK_UP netdev "
                     rf"{guest.interface()}", guest.run("rdma link").stdout)

    info = guest.run(f"ibv_devinfo -v -d {device}").stdout
    for pattern in (r"transport:\s+InfiniBand", r"state:\s+PORT_ACTIVE",
                    r"link_layer:\s+Ethernet", r"max_mtu:\s+4096", r"phys_port_cnt:\s+1",
                    r"GID\[\s*1\]:\s+::ffff:10\.77\.0\.1, RoCE v2"):
        assert re.search(pattern, info), f"{pattern} not in\n{info}"
    values = dict(re.findall(r"(\w+):\s+(\d+)\b", info))
    assert int(values["max_qp"]) == rdma_pair.limits.direct_qps
    assert int(values["max_cq"]) == rdma_pair.limits.direct_cqs - 1
    assert int(values["max_qp_wr"]) == 32768
    assert int(values["max_cqe"]) == 4194304
    assert int(values["max_mr"]) > 0 and int(values["max_pd"]) > 0


@pytest.mark.parametrize("events", [False, True], ids=["polling", "events"])
@pytest.mark.parametrize("size", mostly_long([1, 64, 1500, 4096, 65536, 1 << 20],
                                             short=[1, 4096, 1 << 20]))
def test_pingpong(rdma_pair, size, events):
    """Each size with both ways of waiting, and each guest in both roles."""
    iterations = 100 if size > 65536 else 500 if paths.LONG else 200
    for server, client in ((rdma_pair.a, rdma_pair.b), (rdma_pair.b, rdma_pair.a)):
        pingpong(server, client, size=size, events=events, iterations=iterations,
                 validate=True)


def test_pingpong_long(rdma_pair):
    """3000 iterations, in full 10,000, with the contents checked."""
    pingpong(rdma_pair.a, rdma_pair.b, size=4096, iterations=10000 if paths.LONG else 3000,
             validate=True,
             timeout=300)


@pytest.mark.debug_kernel
def test_pingpong_alone(rdma_pair):
    """Both ends in one guest."""
    pingpong(rdma_pair.a, rdma_pair.a, size=4096, iterations=200, validate=True)


@pytest.mark.parametrize("program", ["uc", *(pytest.param(name, marks=pytest.mark.debug_kernel)
                                             for name in ("rc", "ud"))])
def test_pingpong_of_each_kind(rdma_pair, program):
    """The QP types that processes have."""
    pingpong(rdma_pair.a, rdma_pair.b, program=program, size=1024, events=True,
             iterations=300)


def test_two_pairs_at_once(rdma_pair):
    """One pair of programs each way, at the same time."""
    runs = [PingPong(rdma_pair.a, rdma_pair.b, iterations=1000, events=True, validate=True),
            PingPong(rdma_pair.b, rdma_pair.a, iterations=1000, events=True, validate=True,
                     port=PORT + 1)]
    for run in runs:
        run.wait()


@pytest.mark.debug_kernel
def test_ethernet_control_while_rdma_runs(rdma_pair):
    """MAC address, promiscuous mode and MTU go through the shared control queue."""
    guest, other = rdma_pair.a, rdma_pair.b
    interface = guest.interface()
    old = guest.run(f"cat /sys/class/net/{interface}/address").stdout.strip()
    run = PingPong(other, guest, iterations=100000000, events=True, gently=True)
    run.wait_connected()

    guest.run(f"ip link set {interface} address 52:54:00:ab:cd:ef")
    assert "52:54:00:ab:cd:ef" in guest.run(f"ip link show {interface}").stdout
    other.run(f"ip neigh flush dev {other.interface()}")
    ping(guest, other)
    guest.run(f"ip link set {interface} promisc on")
    guest.run(f"ip link set {interface} promisc off")
    guest.run(f"ip link set {interface} allmulticast on")
    guest.run(f"ip link set {interface} allmulticast off")
    guest.run(f"ip link set {interface} mtu 1400")
    ping(guest, other, size=1300)
    guest.run(f"ip link set {interface} mtu 1500")
    guest.run(f"ip maddr add 01:00:5e:11:22:33 dev {interface}")
    guest.run(f"ip maddr del 01:00:5e:11:22:33 dev {interface}")
    guest.run(f"ip link set {interface} address {old}")
    guest.forget()  # with the address the GIDs were removed and added again
    other.run(f"ip neigh flush dev {other.interface()}")
    ping(guest, other)

    run.assert_moves()
    run.kill()
    pingpong(other, guest, validate=True)


def test_killed_client_leaves_nothing(rdma_pair):
    """SIGKILL during a run: the kernel frees its objects, and the next run works."""
    before = [resources(guest) for guest in rdma_pair.guests]
    for delay in (0.0, 0.3, 1.0):
        run = PingPong(rdma_pair.a, rdma_pair.b, iterations=1000000)
        deadline = Deadline(60)
        while delay and resources(rdma_pair.b) == before[1]:
            assert not deadline.over(), "the client makes nothing"
            time.sleep(0.1)
        time.sleep(delay)
        run.kill()
        assert [resources(guest) for guest in rdma_pair.guests] == before
    pingpong(rdma_pair.a, rdma_pair.b)


@pytest.mark.debug_kernel
def test_modules_stay_while_in_use(rdma_pair):
    """rmmod is refused while a program has the device open."""
    run = PingPong(rdma_pair.a, rdma_pair.b, iterations=100000000, events=True, gently=True)
    run.wait_connected()
    for module in ("virtio_roce", "virtio_net_roce"):
        refused = rdma_pair.b.run(f"rmmod {module}", check=False)
        assert refused.rc != 0 and "in use" in refused.stderr, str(refused)
    run.assert_moves()
    run.kill()


@pytest.mark.debug_kernel
def test_load_and_unload(rdma_pair):
    """Many times; in between the interface works with the stock driver."""
    guest, other = rdma_pair.b, rdma_pair.a
    for cycle in range(20 if paths.LONG and not paths.DEBUG else 2 if paths.DEBUG else 3):
        guest.unload_modules()
        assert guest.run("ls /sys/class/infiniband | wc -l").stdout.strip() == "0"
        if cycle % 5 == 0:
            ping(guest, other, count=1)
        guest.load_modules()
        guest.rdma_device()
        if cycle % 5 == 0:
            ping(guest, other, count=1)
            pingpong(guest, other, iterations=50)
    pingpong(guest, other)


@pytest.mark.debug_kernel
def test_interface_down_and_up(rdma_pair):
    """The port follows the link."""
    guest, other = rdma_pair.a, rdma_pair.b
    interface = guest.interface()
    guest.run(f"ip link set {interface} down")
    assert "state DOWN" in guest.run("rdma link").stdout
    guest.configure_network()
    guest.wait_until("rdma link | grep -q 'state ACTIVE'")
    ping(guest, other)
    pingpong(guest, other)


@pytest.mark.debug_kernel
def test_interface_moves_between_namespaces(rdma_pair):
    """The RDMA device stays, and works when the interface is back."""
    guest, other = rdma_pair.b, rdma_pair.a
    interface = guest.interface()
    guest.run("ip netns add moved")
    guest.run(f"ip link set {interface} netns moved")
    guest.run(f"ip netns exec moved ip link set {interface} netns 1")
    guest.run("ip netns del moved")
    guest.configure_network()
    guest.rdma_device()
    ping(guest, other)
    pingpong(guest, other)


def test_no_system_call_per_message(rdma_pair):
    """A polling ping-pong makes the same system calls at any length.

    Between the end of the exchange over TCP and the destruction of the QP are the two
    calls that bring the QP to RTS, and none for a message.  To ask for the time is one only
    while the kernel distrusts the processor's clock.
    """
    calls = {}
    for iterations in (100, 3000):
        trace = f"/tmp/trace.{iterations}"
        PingPong(rdma_pair.a, rdma_pair.b, iterations=iterations,
                 prefix=("strace", "-f", "-o", trace)).wait()
        lines = [match[1] for match in
                 (re.match(r"\d+\s+(\w+\(.*)", line) for line in
                  rdma_pair.b.run(["cat", trace]).stdout.splitlines())
                 if match and not match[1].startswith("gettimeofday(")]
        first = next(number for number, line in enumerate(lines) if '"done' in line)
        last = next(number for number, line in enumerate(lines)
                    if number > first and line.startswith("munmap("))
        between = [line.split("(")[0] for line in lines[first + 1:last]]
        assert between == ["close", "ioctl", "ioctl"], between
        calls[iterations] = len(lines)
    assert calls[100] == calls[3000], calls


def test_no_system_call_to_arm(rdma_pair):
    """A ping-pong that sleeps reads events, but sends no command for them."""
    commands = {}
    for iterations in (100, 1000):
        trace = f"/tmp/trace.{iterations}"
        PingPong(rdma_pair.a, rdma_pair.b, iterations=iterations, events=True,
                 prefix=("strace", "-f", "-e", "trace=ioctl,write,read", "-o", trace)).wait()
        lines = rdma_pair.b.run(["cat", trace]).stdout.splitlines()
        # Commands of uverbs are writes and ioctls; what is printed is a write to stdout.
        commands[iterations] = sum(bool(re.match(r"\d+\s+(ioctl|write)\((?!1,)", line))
                                   for line in lines)
        # An event is read from the completion channel, mostly one for each message.
        assert sum(" read(" in line for line in lines) > iterations / 2
    assert commands[100] == commands[1000], commands
