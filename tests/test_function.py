# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which functions the driver takes; functions that are plugged in and out."""

import os
import re
import time

import pytest

import lab
from lab.daemon import Daemon
from lab.devices import roce_device, roce_properties
from lab.guest import PATIENCE, Guest
from lab.kernellog import Known
from lab.pingpong import PORT, PingPong, pingpong
from lab.qmp import QmpError
from lab.tap import open_tap

GUEST_USO6 = 55


def test_ordinary_device_with_bit_55_is_left_alone():
    """QEMU's own virtio-net with GUEST_USO6 stays with virtio_pci."""
    tap = open_tap()
    guest = Guest("ordinary", 9, [["-netdev", f"tap,id=net0,fd={tap}", "-device",
                                   "virtio-net-pci,netdev=net0,mac=52:54:00:77:00:09"]],
                  fds=(tap,))
    guest.start()
    os.close(tap)
    guest.wait_ready()
    interface = guest.interface()
    features = guest.run(f"cat /sys/class/net/{interface}/device/features").stdout
    assert features[GUEST_USO6] == "1", "the device does not offer bit 55: nothing is tested"
    index = guest.run(f"cat /sys/class/net/{interface}/ifindex").stdout

    guest.run("modprobe -a virtio_net_roce virtio_roce")
    assert guest.run(f"cat /sys/class/net/{interface}/ifindex").stdout == index
    assert guest.run("ls /sys/bus/pci/drivers/virtio_net_roce | grep -c 0000:",
                     check=False).stdout.strip() == "0"
    assert guest.run("ls /sys/class/infiniband | wc -l").stdout.strip() == "0"
    guest.run("modprobe -r virtio_roce virtio_net_roce")
    assert guest.run(f"cat /sys/class/net/{interface}/ifindex").stdout == index
    guest.assert_kernel_clean()
    guest.stop()


# The RDMA devices of a guest.
COUNT = "ls /sys/class/infiniband | wc -l"


def _plug(guest, daemon):
    guest.qmp("chardev-add", id="plugged-socket", backend={
        "type": "socket", "data": {"addr": {
            "type": "unix", "data": {"path": str(daemon.sockets[0])}}, "server": False}})
    guest.qmp("device_add", **roce_properties("plugged-socket"), id="plugged", bus="port0")
    guest.wait_output(COUNT, "1")


def _unplug(guest):
    guest.qmp("device_del", id="plugged")
    guest.wait_output(COUNT, "0")
    guest.wait_output("ls /sys/class/net | grep -c ^en", "0")
    deadline = time.monotonic() + 20 * PATIENCE
    while any(entry["name"] == "plugged" for entry in
              guest.qmp("qom-list", path="/machine/peripheral")):
        assert time.monotonic() < deadline, "QEMU keeps the device"
        time.sleep(0.1)
    while True:  # the device lets go of it some time later
        try:
            return guest.qmp("chardev-remove", id="plugged-socket")
        except QmpError:
            assert time.monotonic() < deadline, "QEMU keeps the socket"
            time.sleep(0.1)


def test_bounce_buffers_leave_ethernet():
    """With swiotlb=force there is no RDMA device, one message that says why, and Ethernet."""
    daemon = Daemon("bounce-daemon", guests=1, namespace=":",
                    arguments=["--uplink", "tap:lab0"]).start()
    daemon.in_namespace(["ip", "address", "add", "10.77.0.254/24", "dev", "lab0"])
    daemon.in_namespace(["ip", "link", "set", "lab0", "up"])
    guest = Guest("bounce", 8, [roce_device(daemon.sockets[0])], append="swiotlb=force")
    guest.start().wait_ready()
    guest.load_modules()
    assert guest.run("readlink /sys/class/net/*/device/../driver").stdout.strip() \
        .endswith("virtio_net_roce"), "it was not taken over: nothing is tested"
    said = re.findall(r"no RoCE: .*", guest.dmesg())
    assert said == ["no RoCE: memory is behind an IOMMU or bounce buffer, and the device does"
                    " not offer VIRTIO_F_ACCESS_PLATFORM"], said
    assert guest.run(COUNT).stdout.strip() == "0"
    guest.run("ping -q -c 3 -i 0.2 -s 1400 10.77.0.254")
    guest.assert_kernel_clean()
    guest.stop()
    daemon.stop()


@pytest.fixture(scope="module", name="port")
def _port():
    """A guest with an empty port, and a daemon for it."""
    daemon = Daemon("plug-daemon", guests=1).start()
    guest = Guest("plug", 8).start().wait_ready()
    guest.run("modprobe -a virtio_roce ib_uverbs")
    yield guest, daemon
    guest.stop()
    daemon.stop()


def test_hot_plug_and_unplug(port):
    """A function plugged in while the module is loaded is taken, then released."""
    guest, daemon = port
    assert guest.run(COUNT).stdout.strip() == "0"

    for _ in range(2):
        _plug(guest, daemon)
        device = guest.rdma_device()
        guest.configure_network()
        assert device in guest.run("ibv_devices").stdout
        guest.run(f"ibv_devinfo -d {device} | grep -q PORT_ACTIVE")
        _unplug(guest)
        lab.assert_healthy()


def test_modules_go_when_the_daemon_is_gone():
    """QEMU survives it, because nothing reads the configuration; a new device works."""
    daemon = Daemon("gone-daemon", guests=1).start()
    guest = Guest("gone", 8).start().wait_ready()
    guest.run("modprobe -a virtio_roce ib_uverbs")
    _plug(guest, daemon)
    guest.configure_network()
    daemon.stop()
    guest.run("modprobe -r virtio_roce virtio_net_roce", timeout=120 * PATIENCE)
    assert guest.alive(), "QEMU ended"
    assert "not given back to virtio-pci" in guest.dmesg()
    _unplug(guest)

    daemon = Daemon("next-daemon", guests=1).start()
    guest.run("modprobe -a virtio_roce ib_uverbs")
    _plug(guest, daemon)
    guest.configure_network()
    pingpong(guest, guest, iterations=200, validate=True)
    guest.stop()
    daemon.stop()


# When the function has gone, ib_core gives a process that reads a read-only mapping the
# zero page (rdma_umap_fault), as an ordinary page.  DEBUG_VM warns of that when the page
# is mapped and unmapped.  The reference counts are right, so this is harmless.  A driver
# could prevent it only by leaving the used rings and the completions VM_MAYWRITE, and
# then a process could make them writable.
ZERO_PAGE = (
    Known("VM_WARN_ON_FOLIO(is_zero_folio(folio))", "folio_add_file_rmap_ptes",
          "finish_fault", "Comm: ibv_rc_pingpong"),
    Known("vm_normal_page", "unmap_page_range", "Comm: ibv_rc_pingpong"),
    Known("VM_WARN_ON_FOLIO(is_zero_folio(folio))", "folio_remove_rmap_ptes",
          "unmap_page_range", "Comm: ibv_rc_pingpong"),
)


@pytest.mark.debug_kernel
def test_unplug_under_programs(port):
    """Programs that sleep and programs that poll can be ended; the next function works."""
    guest, daemon = port
    guest.expect_reports(*ZERO_PAGE)
    _plug(guest, daemon)
    guest.configure_network()
    runs = [PingPong(guest, guest, iterations=100000000, events=events, port=port)
            for events, port in ((True, PORT), (False, PORT + 1))]
    for run in runs:
        run.wait_connected()
    ends = [end for run in runs for end in (run.client, run.server)]
    assert all(end.poll() is None for end in ends), [end.stderr for end in ends]

    _unplug(guest)
    for run in runs:
        run.kill()

    _plug(guest, daemon)
    guest.configure_network()
    pingpong(guest, guest, iterations=200, validate=True)
    _unplug(guest)
