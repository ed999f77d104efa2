# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A function is restarted while user space asks its network driver for everything it knows."""

import contextlib
import json
import pathlib
import re
import signal
import time

import pytest

from lab import CommandTimeout, Pair, paths
from lab.devices import Limits
from lab.iperf import iperf
from lab.patience import Deadline
from lab.pingpong import PORT, gid_index, gid_text, pingpong

# How often the function is restarted in each test.
ROUNDS = 100 if paths.LONG else 3

OWN_MAC = "52:54:00:ab:cd:77"

PROGRAMS = pathlib.Path(__file__).parent / "guest"

NO_BPF = "the kernel has no BPF"

# The driver's message when it has restarted a function, and when it cannot do so in place.
RESTARTED = "restarted"
BOUND_ANEW = "cannot be restarted in place"


def program(guest, name="watchnet"):
    """One of tests/guest, in the guest."""
    return guest.put(paths.program(name))


def restart(guest, says=RESTARTED):
    """A reset of the function by sysfs, until the driver says something."""
    count = f"dmesg | grep -c 'virtio_net_roce.*: {says}'"
    number = int(guest.run(count, check=False).stdout)
    guest.run("echo 1 > $(ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*)/reset")
    guest.wait_until(f"[ $({count}) -gt {number} ]", 60)


def wait_up(guest):
    """Ethernet has its link, and RDMA its port."""
    guest.forget()
    try:
        guest.wait_output(f"cat /sys/class/net/{guest.interface()}/carrier", "1", 60)
        guest.wait_until("rdma link | grep -q 'state ACTIVE'", 60)
    except CommandTimeout:
        print(guest.run("ip link; rdma link; dmesg | grep virtio | tail -n 30").stdout)
        raise


@contextlib.contextmanager
def asked(guest, *commands):
    """Commands that run without an end; they end well, and say that they did something."""
    runs = [guest.popen(command) for command in commands]
    yield
    for run in runs:
        assert run.poll() is None, f"{run.command} has ended\n{run.stdout}{run.stderr}"
        run.kill(signal.SIGTERM)
    for run in runs:
        result = run.wait()
        if isinstance(run.command, list):
            counts = [int(number) for number in re.findall(r"\d+", result.stdout)]
            assert counts and counts[0] > 0, str(result)


def settings(guest):
    """Features of ethtool, on and off; coalescing, channels and sizes of rings; MTU and MAC."""
    interface = guest.interface()
    said = "".join(guest.run(["ethtool", option, interface]).stdout for option in
                   ("-k", "-c", "-l", "-g"))
    link = json.loads(guest.run(f"ip -j link show {interface}").stdout)[0]
    return f"{said}\nMTU {link['mtu']} MAC {link['address']}"


def addresses(guest):
    """The interface's own, but for those that the kernel gives it."""
    shown = guest.run(f"ip -j addr show {guest.interface()}").stdout
    return [info["local"] for info in json.loads(shown)[0]["addr_info"]
            if info["scope"] == "global"]


def set_more(guest):
    """MAC address, MTU, no hardware GRO, no segmentation.

    Not "tx-frames 0": with it, virtio_net of Linux 6.12 frees what is in a ring by a wrong
    address, whenever it is unbound, suspended or gets another ring.
    """
    interface = guest.interface()
    guest.run(f"ip link set {interface} address {OWN_MAC} mtu 1400 &&"
              f" ethtool -K {interface} rx-gro-hw off tso off")
    said = settings(guest)
    for word in ("rx-gro-hw: off", "tcp-segmentation-offload: off",
                 f"MTU 1400 MAC {OWN_MAC}"):
        assert word in said, said


def unset_more(guest, mac):
    """The reverse."""
    interface = guest.interface()
    guest.run(f"ip link set {interface} address {mac} mtu 1500 &&"
              f" ethtool -K {interface} rx-gro-hw on tso on")


def can_attach(guest):
    """May XDP programs be loaded in this kernel?"""
    return guest.run("zcat /proc/config.gz 2> /dev/null | cat - /boot/config-$(uname -r) |"
                     " grep -q BPF_SYSCALL=y", check=False).rc == 0


@pytest.mark.debug_kernel
def test_nobody_sees_it(rdma_pair):
    """Attributes, statistics, XDP links and the interface's state meet a living driver."""
    guest, other = rdma_pair.b, rdma_pair.a
    watch, interface = program(guest), guest.interface()
    commands = [[watch, "read", interface],
                f"while ethtool -S {interface} && ip -s link show {interface}; do :; done"
                " > /dev/null"]
    if can_attach(guest):
        commands.append([watch, "attach", interface])
    with asked(guest, *commands):
        for _ in range(ROUNDS):
            restart(guest)
    wait_up(guest)
    pingpong(other, guest, iterations=200, validate=True)
    iperf(other, guest, volume="1M")


def test_up_and_down(rdma_pair):
    """The interface comes and goes meanwhile."""
    guest, other = rdma_pair.b, rdma_pair.a
    interface = guest.interface()
    # The shell ends after what it has begun: a command that waits for the kernel does its work
    # in spite of the signal.
    flip = ("trap exit TERM;"
            f" while ip link set {interface} down && ip link set {interface} up; do :; done")
    with asked(guest, flip):
        for _ in range(ROUNDS):
            restart(guest)
    guest.run(f"ip link set {interface} up")
    guest.configure_network()
    wait_up(guest)
    pingpong(other, guest, iterations=200, validate=True)
    iperf(other, guest, volume="1M")


def received(other, guest, target):
    """Does a frame with a destination of its own pass the function's filter?"""
    device, frames = other.interface(), 50
    attributes = f"/sys/class/net/{guest.interface()}"
    read = f"cat {attributes}/statistics/rx_packets"
    mac = guest.run(f"cat {attributes}/address").stdout.strip()
    before = int(guest.run(read).stdout)
    other.run(f"ip neigh replace 10.77.0.99 lladdr {target} dev {device} &&"
              f" ip neigh replace {guest.address} lladdr {mac} dev {device}")
    other.run(f"ping -c {frames} -i 0.01 -W 1 10.77.0.99", check=False)
    # When those behind them have come to the guest, they have, too, or never will.
    other.wait_until(f"ping -c 1 -W 1 {guest.address} && ping -c 1 -W 1 {guest.address}")
    for address in ("10.77.0.99", guest.address):
        other.run(f"ip neigh del {address} dev {device}")
    return int(guest.run(read).stdout) - before >= frames


def wait_received(other, guest, target):
    """The same, and it must.  Some of the frames may be lost where one end stands still."""
    deadline = Deadline(60)
    while not received(other, guest, target):
        assert not deadline.over(), f"frames to {target} do not pass"


def test_what_was_set_stays(rdma_pair):
    """MAC address, VLAN, receive filter and offloads, as the device knows them; and the rest."""
    guest, other = rdma_pair.b, rdma_pair.a
    interface = guest.interface()
    mac = json.loads(guest.run(f"ip -j link show {interface}").stdout)[0]["address"]
    group = "01:00:5e:11:22:33"
    for each, number in ((guest, 2), (other, 1)):
        each.run(f"ip link add link {each.interface()} name vlan7 type vlan id 7 &&"
                 f" ip addr add 10.78.0.{number}/24 dev vlan7 && ip link set vlan7 up")
    set_more(guest)
    guest.run(f"ip maddr add {group} dev {interface}")
    before = settings(guest), addresses(guest)
    for _ in range(3):
        restart(guest)
    wait_up(guest)
    assert (settings(guest), addresses(guest)) == before
    # Frames to an address of the guest's own, of its group, and to neither.
    wait_received(other, guest, OWN_MAC)
    wait_received(other, guest, group)
    assert not received(other, guest, "52:54:00:ab:cd:88")
    other.run("ping -c 3 -W 5 10.78.0.2")
    guest.run(f"ip link set {interface} promisc on")
    restart(guest)
    wait_up(guest)
    wait_received(other, guest, "52:54:00:ab:cd:88")
    iperf(other, guest, volume="1M")
    pingpong(other, guest, iterations=200, validate=True)
    guest.run(f"ip link set {interface} promisc off && ip maddr del {group} dev {interface}")
    unset_more(guest, mac)
    other.run(f"ip neigh flush dev {other.interface()}")
    for each in (guest, other):
        each.run("ip link del vlan7")
    guest.forget()


def test_xdp_program_stays(rdma_pair):
    """It is attached to the interface, and sees packets."""
    guest, other = rdma_pair.b, rdma_pair.a
    if not can_attach(guest):
        pytest.skip(NO_BPF)
    interface = guest.interface()
    counter = guest.popen([program(guest), "count", interface])
    counter.wait_output(r"^\d+$")
    before = settings(guest)
    for _ in range(3):
        restart(guest)
    wait_up(guest)
    assert settings(guest) == before
    assert "xdp" in guest.run(f"ip link show {interface}").stdout
    count = counter.stdout.split()[-1]
    other.run(f"ping -c 20 -i 0.01 {guest.address}")
    counter.wait_output(rf"^{count}\n\d+$")
    counter.kill(signal.SIGTERM)
    counter.wait(check=True)
    guest.wait_until(f"! ip link show {interface} | grep xdp")


@pytest.mark.long
def test_af_xdp(rdma_pair):
    """A socket on a queue sends all the time, and receives again after each restart."""
    guest, other = rdma_pair.b, rdma_pair.a
    if not can_attach(guest):
        pytest.skip(NO_BPF)
    interface = guest.interface()
    mac = json.loads(guest.run(f"ip -j link show {interface}").stdout)[0]["address"]
    echoes = ["python3", other.put(PROGRAMS / "echoes.py"), other.interface(), mac]
    echo = guest.popen([program(guest, "xsk"), interface])
    mode = echo.wait_output(r"^(zero )?copy.*$")[0]
    print(f"volume: {mode}")
    print(f"volume: {other.run([*echoes, '20']).stdout.strip()}")
    for _ in range(ROUNDS):
        sent = int(echo.wait_output(r"^\d+ (\d+)\n\Z")[1])
        restart(guest)
        wait_up(guest)
        other.run([*echoes, "4"], timeout=120)
        assert echo.poll() is None, f"{echo.stdout}{echo.stderr}"
        deadline = Deadline(30)
        while int(echo.wait_output(r"^\d+ (\d+)\n\Z")[1]) <= sent:
            assert not deadline.over(), f"nothing came after {sent}: {echo.stdout[-200:]}"
            time.sleep(0.1)
    # Data sent in between meets no link, a link, and queues that are being replaced.
    for _ in range(ROUNDS):
        restart(guest)
    wait_up(guest)
    print(f"volume: {other.run([*echoes, '20'], timeout=120).stdout.strip()}")
    echo.kill(signal.SIGTERM)
    echo.wait(check=True)
    iperf(other, guest, volume="1M")


def bind_anew(guest):
    """A restart that is not possible in place: the interface is another one, without address."""
    guest.forget()
    index = f"cat /sys/class/net/{guest.interface()}/ifindex"
    before = guest.run(index).stdout.strip()
    restart(guest, BOUND_ANEW)
    guest.wait_until(f"now=$({index}) && [ $now != {before} ]")
    guest.forget()
    assert not addresses(guest)


def test_bound_anew():
    """virtio_net takes no smaller rings than these, so its interface is a new one.

    Nothing that was set is there, which the kernel's log says; all works as after a hot plug.
    """
    pair = Pair("small", limits=Limits(queue_size=32)).start()
    pair.load_modules()
    guest, other = pair.b, pair.a
    watch, before, log = program(guest), settings(guest), guest.dmesg()
    set_more(guest)
    counter = None
    if can_attach(guest):
        counter = guest.popen([watch, "count", guest.interface()])
        counter.wait_output(r"^\d+$")
    with asked(guest, [watch, "read", guest.interface()]):
        for _ in range(ROUNDS):
            bind_anew(guest)
    if counter:
        assert counter.poll() is None, str(counter.stderr)
        counter.kill(signal.SIGTERM)
    assert settings(guest) == before
    assert "xdp" not in guest.run(f"ip link show {guest.interface()}").stdout
    said = [line for line in guest.dmesg().removeprefix(log).splitlines() if BOUND_ANEW in line]
    assert len(said) == ROUNDS, said
    assert all("what was set on the old one is lost" in line for line in said), said
    guest.configure_network()
    wait_up(guest)
    iperf(other, guest, volume="1M")
    pingpong(other, guest, iterations=200, validate=True)
    pair.stop()


def per_frame(guest, other):
    """Bytes of a frame that the interface of a guest gets, when TCP sends as fast as it can."""
    count = (f"cd /sys/class/net/{guest.interface()}/statistics && cat rx_bytes rx_packets")
    before = [int(number) for number in guest.run(count).stdout.split()]
    iperf(guest, other, volume="1M")
    size, frames = (int(number) - old
                    for number, old in zip(guest.run(count).stdout.split(), before))
    return size / frames


def wait_joined(guest, other, size):
    """Frames of TCP become longer than that: a stream that stands still has short ones."""
    deadline = Deadline(30)
    while (found := per_frame(guest, other)) <= size:
        assert not deadline.over(), found


def test_offloads_stay_off(rdma_pair):
    """A router that may not get joined segments gets none after a restart, either."""
    guest, other = rdma_pair.b, rdma_pair.a
    interface = guest.interface()
    largest = 14 + 1500
    wait_joined(guest, other, 2 * largest)
    guest.run(f"ethtool -K {interface} rx-gro-hw off")
    assert per_frame(guest, other) <= largest
    for _ in range(3):
        restart(guest)
        wait_up(guest)
        assert "rx-gro-hw: off" in settings(guest)
        assert per_frame(guest, other) <= largest
    guest.run(f"ethtool -K {interface} rx-gro-hw on")
    restart(guest)
    wait_up(guest)
    wait_joined(guest, other, 2 * largest)


# Pairs of queues, spreading to them, and coalescing, which a device of ours does not offer.
REFUSED = ("-L {} combined 2", "-X {} equal 2", "-X {} hkey " + ":".join(["11"] * 40),
           "-C {} rx-usecs 8", "-C {} rx-frames 8")


def test_what_cannot_be_set(rdma_pair):
    """A device without multiqueue: ethtool refuses what it cannot do, also after a restart."""
    guest = rdma_pair.b
    interface = guest.interface()
    before = settings(guest)
    for again in (False, True):
        if again:
            restart(guest)
            wait_up(guest)
        for arguments in REFUSED:
            result = guest.run(f"ethtool {arguments.format(interface)}", check=False)
            assert result.rc != 0, str(result)
            assert settings(guest) == before, arguments
    pingpong(rdma_pair.a, guest, iterations=200, validate=True)


def test_rings_are_not_resized(rdma_pair):
    """By nobody but a restart: ethtool -G says what it says without VIRTIO_F_RING_RESET."""
    guest = rdma_pair.b
    interface = guest.interface()
    shown = guest.run(f"ethtool -g {interface}").stdout
    result = guest.run(f"ethtool -G {interface} rx 128", check=False)
    assert result.rc != 0 and "No such file or directory" in result.stderr, str(result)
    restart(guest)
    wait_up(guest)
    assert guest.run(f"ethtool -g {interface}").stdout == shown


def test_unload_in_order(rdma_pair):
    """The lower module first, also while a restart is under way; the other order says so."""
    guest = rdma_pair.b
    wrong, before = "unload virtio_net_roce first", guest.dmesg()
    reset = "$(ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*)/reset"
    unload = "modprobe -r virtio_net_roce virtio_roce && udevadm settle"
    for _ in range(3):
        # udev may not have handled the restart's new device yet, and then loads them again.
        guest.run(f"echo 1 > {reset} && {unload} && {unload} &&"
                  " ! grep -E '^virtio_(net_)?roce ' /proc/modules")
        guest.load_modules()
        wait_up(guest)
    assert wrong not in guest.dmesg().removeprefix(before)
    guest.run("rmmod virtio_roce")
    assert wrong in guest.dmesg().removeprefix(before)
    guest.run("modprobe virtio_roce")
    wait_up(guest)
    pingpong(rdma_pair.a, guest, iterations=200, validate=True)


class Container:
    """A network namespace of a guest, with exclusive RDMA devices, as container plug-ins make it."""

    def __init__(self, guest):
        self.guest = guest
        self.interface, self.device = guest.interface(), guest.rdma_device()
        guest.run("rdma system set netns exclusive && ip netns add inside")

    def take_interface(self):
        """Moves the interface, with an address."""
        self.guest.run(f"ip link set {self.interface} netns inside &&"
                       f" ip -n inside addr add {self.guest.address}/24 dev {self.interface} &&"
                       f" ip -n inside link set {self.interface} up")

    def take_device(self):
        """Moves the RDMA device."""
        self.guest.run(f"rdma dev set {self.device} netns inside")

    def run(self, line):
        """A command in it."""
        return self.guest.run(["ip", "netns", "exec", "inside", "bash", "-c", line])

    def gid_index(self):
        """Index of the GID of the guest's IPv4 address, once there is one."""
        listing = (f"grep -ls {gid_text(self.guest.address)}"
                   f" /sys/class/infiniband/{self.device}/ports/1/gids/*")
        return self.run(f"until {listing}; do sleep 0.1; done").stdout.split()[0].rsplit("/", 1)[1]

    def end(self):
        """Everything is back outside."""
        self.guest.run("ip netns del inside")
        self.guest.wait_until(f"test -e /sys/class/net/{self.interface} &&"
                              f" test -e /sys/class/infiniband/{self.device}", 60)
        self.guest.run("rdma system set netns shared")
        self.guest.forget()
        self.guest.configure_network()


@pytest.mark.parametrize("order", ["interface", "device"])
def test_container(rdma_pair, order):
    """Interface and RDMA device move to a container in either order, and come back."""
    guest, other = rdma_pair.b, rdma_pair.a
    box = Container(guest)
    steps = [box.take_interface, box.take_device]
    for step in steps if order == "interface" else reversed(steps):
        step()
    assert guest.run("ls /sys/class/infiniband").stdout == ""
    box.run(f"until rdma link | grep -q 'state ACTIVE'; do sleep 0.1; done; ping -c 1 {other.address}")
    name = other.rdma_device()
    server = other.popen(["ibv_rc_pingpong", "-d", name, "-g", gid_index(other, name), "-n", "200"])
    other.wait_listening(PORT)
    result = box.run(f"ibv_rc_pingpong -d {box.device} -g {box.gid_index()} -n 200 {other.address}")
    server.wait(check=True)
    assert "200 iters" in result.stdout, result.stdout
    box.end()
    wait_up(guest)
    pingpong(other, guest, iterations=200, validate=True)
