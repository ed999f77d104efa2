# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A function is restarted while user space asks its network driver for everything it knows."""

import contextlib
import json
import pathlib
import re
import signal

import pytest

from lab import paths
from lab.iperf import iperf
from lab.pingpong import PORT, gid_index, gid_text, pingpong

# How often the function is restarted in each test.
ROUNDS = 100 if paths.LONG else 5

RESTARTED = "dmesg | grep -c 'virtio_net_roce.*: restarted'"


def program(guest):
    """tests/guest/watchnet.c, in the guest."""
    return guest.put(pathlib.Path(paths.script("build/programs.sh")[0]) / "watchnet")


def restart(guest):
    """A reset of the function by sysfs, and what follows."""
    number = int(guest.run(RESTARTED, check=False).stdout)
    guest.run("echo 1 > $(ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*)/reset")
    guest.wait_until(f"[ $({RESTARTED}) -gt {number} ]", 60)


def wait_up(guest):
    """Ethernet has its link, and RDMA its port."""
    guest.forget()
    guest.wait_output(f"cat /sys/class/net/{guest.interface()}/carrier", "1")
    guest.wait_until("rdma link | grep -q 'state ACTIVE'", 60)


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


def features(guest):
    """What ethtool says is on, and off."""
    return guest.run(["ethtool", "-k", guest.interface()]).stdout


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
    assert iperf(other, guest, seconds=1) > 0


def test_up_and_down(rdma_pair):
    """The interface comes and goes meanwhile."""
    guest, other = rdma_pair.b, rdma_pair.a
    interface = guest.interface()
    flip = f"while ip link set {interface} down && ip link set {interface} up; do :; done"
    with asked(guest, flip):
        for _ in range(ROUNDS):
            restart(guest)
    guest.run(f"ip link set {interface} up")
    guest.configure_network()
    wait_up(guest)
    pingpong(other, guest, iterations=200, validate=True)
    assert iperf(other, guest, seconds=1) > 0


def received(other, guest, target):
    """Does a frame with a destination of its own pass the function's filter?"""
    interface = guest.interface()
    read = f"cat /sys/class/net/{interface}/statistics/rx_packets"
    before = int(guest.run(read).stdout)
    other.run(f"ip neigh replace 10.77.0.99 lladdr {target} dev {other.interface()} &&"
              " ping -c 20 -i 0.01 -W 1 10.77.0.99", check=False)
    other.run(f"ip neigh del 10.77.0.99 dev {other.interface()}")
    return int(guest.run(read).stdout) - before >= 20


def test_what_was_set_stays(rdma_pair):
    """MAC address, VLAN, receive filter and offloads, as the device knows them; and XDP."""
    guest, other = rdma_pair.b, rdma_pair.a
    watch, interface = program(guest), guest.interface()
    mac = json.loads(guest.run(f"ip -j link show {interface}").stdout)[0]["address"]
    own, group = "52:54:00:ab:cd:77", "01:00:5e:11:22:33"
    for each, number in ((guest, 2), (other, 1)):
        each.run(f"ip link add link {each.interface()} name vlan7 type vlan id 7 &&"
                 f" ip addr add 10.78.0.{number}/24 dev vlan7 && ip link set vlan7 up")
    guest.run(f"ip link set {interface} address {own} && ip maddr add {group} dev {interface} &&"
              f" ethtool -K {interface} rx-gro-hw off")
    before = features(guest)
    assert "rx-gro-hw: off" in before, before
    counter = guest.popen([watch, "count", interface])
    counter.wait_output(r"^\d+$")
    for _ in range(3):
        restart(guest)
    wait_up(guest)
    assert features(guest) == before
    # Frames to an address of the guest's own, of its group, and to neither.
    assert received(other, guest, own)
    assert received(other, guest, group)
    assert not received(other, guest, "52:54:00:ab:cd:88")
    other.run("ping -c 3 -W 5 10.78.0.2")
    guest.run(f"ip link set {interface} promisc on")
    restart(guest)
    wait_up(guest)
    assert received(other, guest, "52:54:00:ab:cd:88")
    # The program is there, and sees packets.
    assert "xdp" in guest.run(f"ip link show {interface}").stdout
    counts = [int(line) for line in counter.stdout.split()]
    other.run("ping -c 20 -i 0.01 10.78.0.2")
    counter.wait_output(rf"^{counts[-1]}\n\d+$")
    counter.kill(signal.SIGTERM)
    counter.wait(check=True)
    assert iperf(other, guest, seconds=1) > 0
    pingpong(other, guest, iterations=200, validate=True)
    guest.run(f"ip link set {interface} address {mac} promisc off &&"
              f" ip maddr del {group} dev {interface} && ethtool -K {interface} rx-gro-hw on")
    for each in (guest, other):
        each.run("ip link del vlan7")
    guest.forget()


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
    for _ in range(3):
        guest.run(f"echo 1 > {reset} && modprobe -r virtio_net_roce virtio_roce &&"
                  " udevadm settle && ! grep -E '^virtio_(net_)?roce ' /proc/modules")
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
