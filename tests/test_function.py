# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which functions the driver takes, and how they come and go."""

import os
import time

import lab
from lab.daemon import Daemon
from lab.devices import roce_properties, root_port
from lab.guest import Guest
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


def _wait_for(guest, command, text, timeout=20):
    deadline = time.monotonic() + timeout
    while guest.run(command, check=False).stdout.strip() != text:
        assert time.monotonic() < deadline, f"{command}: not {text}\n{guest.dmesg()}"
        time.sleep(0.1)


def test_hot_plug_and_unplug():
    """A function plugged in while the module is loaded is taken, and let go."""
    daemon = Daemon("plug-daemon", guests=1).start()
    guest = Guest("plug", 8, [root_port()]).start().wait_ready()
    guest.run("modprobe -a virtio_roce ib_uverbs")
    count = "ls /sys/class/infiniband | wc -l"
    assert guest.run(count).stdout.strip() == "0"

    for _ in range(2):
        guest.qmp("chardev-add", id="plugged-socket", backend={
            "type": "socket", "data": {"addr": {
                "type": "unix", "data": {"path": str(daemon.sockets[0])}}, "server": False}})
        guest.qmp("device_add", **roce_properties("plugged-socket"), id="plugged", bus="port0")
        _wait_for(guest, count, "1")
        device = guest.rdma_device()
        guest.configure_network()
        assert device in guest.run("ibv_devices").stdout
        guest.run(f"ibv_devinfo -d {device} | grep -q PORT_ACTIVE")

        guest.qmp("device_del", id="plugged")
        _wait_for(guest, count, "0")
        _wait_for(guest, "ls /sys/class/net | grep -c ^en", "0")
        deadline = time.monotonic() + 20
        while any(entry["name"] == "plugged" for entry in
                  guest.qmp("qom-list", path="/machine/peripheral")):
            assert time.monotonic() < deadline, "QEMU keeps the device"
            time.sleep(0.1)
        guest.qmp("chardev-remove", id="plugged-socket")
        lab.assert_healthy()

    guest.stop()
    daemon.stop()
