# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The patches of "make upstream", in Debian's newest kernel.

virtio_net owns the device, and publishes the auxiliary device for the RDMA driver.
Daemon and provider are those of all other tests.
"""

import functools
import pathlib

import pytest

from lab import paths
from lab.guest import Guest
from lab.pair import Pair
from lab.pingpong import pingpong
from lab.programs import rping, rping_server

pytestmark = pytest.mark.skipif(not paths.LONG or paths.DEBUG,
                                reason="builds modules for another kernel: make soak")


@functools.cache
def files():
    """Kernel, disk, initramfs, and an archive with modules and provider."""
    return [pathlib.Path(line) for line in paths.script("upstream-guest.sh")]


class UpstreamGuest(Guest):
    """A guest with that kernel."""

    def image(self):
        """What it boots: kernel, disk, initramfs."""
        return files()[:3]

    def install_archive(self):
        """What is unpacked in it."""
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


def test_rebind(pair):
    """virtio_net lets go of the function under a program, and takes it again."""
    guest = pair.b
    device = guest.run("basename /sys/bus/virtio/drivers/virtio_net/virtio*").stdout.strip()
    program = guest.popen(["ibv_asyncwatch", "-d", guest.rdma_device()])
    guest.wait_until("ls -l /proc/[0-9]*/fd 2> /dev/null | grep -q uverbs")
    for _ in range(3):
        guest.run(f"echo {device} > /sys/bus/virtio/drivers/virtio_net/unbind")
        assert guest.run("ls /sys/class/infiniband | wc -l").stdout.strip() == "0"
        guest.run(f"echo {device} > /sys/bus/virtio/drivers/virtio_net/bind")
        guest.configure_network()
        guest.rdma_device()
    program.kill()
    program.wait(20)
    pingpong(pair.a, guest)


def test_kernel_log(pair):
    """It has no reports."""
    for guest in pair.guests:
        guest.assert_kernel_clean()
