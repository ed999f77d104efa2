# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The patches of "make upstream", in Debian's newest kernel.

virtio_net owns the device, and publishes the auxiliary device for the RDMA driver.
Daemon and provider are those of all other tests.
"""

import functools
import pathlib
import re
import signal
import socket
import time

import pytest

from lab import kernellog, paths
from lab.guest import Guest
from lab.patience import PATIENCE
from lab.pair import Pair
from lab.pingpong import pingpong
from lab.programs import rping, rping_server

pytestmark = pytest.mark.skipif(not paths.LONG or paths.DEBUG,
                                reason="builds modules for another kernel: make soak")


@functools.cache
def files():
    """Kernel, disk, initramfs, and an archive with modules and provider."""
    return [pathlib.Path(line) for line in paths.script("images/upstream-guest.sh")]


class UpstreamGuest(Guest):
    """A guest with that kernel."""

    def image(self):
        """The files that it boots: kernel, disk, initramfs."""
        return files()[:3]

    def install_archive(self):
        """The archive that is unpacked in it."""
        return files()[3]


@pytest.fixture(scope="module", name="pair")
def _pair():
    """Two such guests on one daemon."""
    pair = Pair("upstream", guest=UpstreamGuest, boot=True).start()
    for guest in pair.guests:
        # virtio_net was there before its device was found, but not the rest.
        guest.run("modprobe -a virtio_net virtio_roce ib_uverbs rdma_ucm")
        guest.configure_network()
    yield pair
    pair.stop()


def test_virtio_net_has_the_device(pair):
    """The function stays virtio_pci's, and the RDMA device is on its auxiliary device."""
    for guest in pair.guests:
        device = guest.rdma_device()
        guest.run(f"rdma link show {device}/1 | grep -w 'state ACTIVE'"
                  f" | grep -w 'netdev {guest.interface()}'")
        guest.run("test -e /sys/bus/auxiliary/devices/virtio_net_roce.rdma.0")
        guest.run(f"readlink /sys/class/infiniband/{device}/device/driver | grep -w virtio-pci")


def test_ethernet(pair):
    """Beside RDMA: control commands, and frames."""
    guest = pair.a
    for promiscuous in ("on", "off"):
        guest.run(f"ip link set {guest.interface()} promisc {promiscuous}")
    guest.run(["ping", "-c", "3", "-i", "0.2", pair.b.address])


@pytest.mark.parametrize("program", ("rc", "uc", "ud"))
@pytest.mark.parametrize("events", (False, True), ids=("polling", "events"))
def test_pingpong(pair, program, events):
    """Direct rings, event virtqueues, doorbells by system call."""
    pingpong(pair.a, pair.b, program=program, events=events,
             size=1024 if program == "ud" else 4096)


def test_rping(pair):
    """The connection manager: QP 1, whose queues are virtqueues."""
    with rping_server(pair.a) as address:
        rping(pair.b, address, 5)


def start_program(guest):
    """A program that has the device open and waits for events."""
    program = guest.popen(["ibv_asyncwatch", "-d", guest.rdma_device()])
    guest.wait_until("ls -l /proc/[0-9]*/fd 2> /dev/null | grep -q uverbs")
    return program


def rebind(guest):
    """virtio_net lets go of the function, and takes it again."""
    device = guest.run("basename /sys/bus/virtio/drivers/virtio_net/virtio*").stdout.strip()
    guest.run(f"echo {device} > /sys/bus/virtio/drivers/virtio_net/unbind", timeout=120)
    assert guest.run("ls /sys/class/infiniband | wc -l").stdout.strip() == "0"
    guest.run(f"echo {device} > /sys/bus/virtio/drivers/virtio_net/bind")
    guest.configure_network()
    guest.rdma_device()


def test_rebind(pair):
    """Under a program."""
    guest = pair.b
    program = start_program(guest)
    for _ in range(3):
        rebind(guest)
    program.kill()
    program.wait(20)
    pingpong(pair.a, guest)


def bus_master(guest):
    """The function may touch memory: a bit of the command register."""
    device = f"/sys/class/infiniband/{guest.rdma_device()}/device"
    return int(guest.run(f"od -An -tu1 -j4 -N1 {device}/config").stdout) & 4


def test_command_without_an_answer(pair):
    """The function is cut off from memory, before anybody frees what the device has.

    It is of use again when it was bound again.
    """
    guest, daemon = pair.b, pair.daemon
    program = start_program(guest)
    assert bus_master(guest)
    daemon.process.send_signal(signal.SIGSTOP)
    verb = guest.popen(["ibv_rc_pingpong", "-d", guest.rdma_device(), "-g", "1"])
    # QEMU wants an answer of the daemon when the function loses the bus.
    time.sleep(40 * PATIENCE)
    daemon.process.send_signal(signal.SIGCONT)
    assert verb.wait(60).rc != 0
    guest.wait_until("dmesg | grep -q 'the device does not answer'")
    guest.wait_until(f"rdma link show {guest.rdma_device()}/1 | grep -qw 'state DOWN'")
    assert not bus_master(guest)
    rebind(guest)
    program.kill()
    program.wait(20)
    assert bus_master(guest)
    pingpong(pair.a, guest)


def test_kernel_log(pair):
    """It has no reports."""
    for guest in pair.guests:
        guest.assert_kernel_clean()


class Terminal:
    """The shell on a guest's second serial port.

    The port of the lab's agent does not survive a system sleep with Linux 7.3: virtio_console
    asks the host whether it is connected before there are buffers for the answer.
    """

    def __init__(self, guest):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(guest.shell_socket))

    def run(self, line, timeout=60):
        """Runs a line of bash, and returns what it printed; it must succeed."""
        self.socket.sendall(f"{line}; echo end-$?-\n".encode())
        said = ""
        self.socket.settimeout(timeout * PATIENCE)
        while not (end := re.search(r"end-(\d+)-\r?\n", said)):
            said += self.socket.recv(65536).decode(errors="replace")
        assert end[1] == "0", said
        return said


@pytest.fixture(name="sleeper")
def _sleeper():
    """A guest with a terminal, which is of no other use after it has slept."""
    pair = Pair("upstream-sleep", guest=UpstreamGuest, shell=True).start()
    guest = pair.a
    guest.run("modprobe -a virtio_net virtio_roce ib_uverbs rdma_ucm")
    guest.configure_network()
    yield guest
    for each in pair.guests:
        each.kill()
    pair.daemon.stop()


def test_suspend(sleeper):
    """As far as it goes without a machine that sleeps, with a program on the device."""
    device = sleeper.rdma_device()
    start_program(sleeper)
    terminal = Terminal(sleeper)
    there = f"rdma link show {device}/1 | grep -w 'state ACTIVE'"
    for level in ("freezer", "devices", "devices"):
        terminal.run(f"echo {level} > /sys/power/pm_test")
        terminal.run("echo mem > /sys/power/state")
        terminal.run(f"for _ in {{1..100}}; do {there} && break; sleep 0.1; done; {there}")
        terminal.run(f"ip -br -4 address show {sleeper.interface()} | grep -w UP")
    run = f"ibv_rc_pingpong -d {device} -g 1 -n 100 -c"
    assert "100 iters" in terminal.run(f"{run} & sleep 2; {run} {sleeper.address}")
    log = terminal.run("dmesg")
    assert not kernellog.reports(log.replace("\r", "").splitlines()), log
