# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which functions the driver takes; functions that are plugged in and out."""

import os
import pathlib
import re
import time

import pytest

import lab
from lab.daemon import Daemon
from lab.devices import roce_device
from lab.guest import Guest
from lab.patience import PATIENCE
from lab.pingpong import PORT, PingPong, pingpong
from lab.plug import COUNT, ZERO_PAGE, plug
from lab.tap import open_tap

GUEST_USO6 = 55

PROGRAMS = pathlib.Path(__file__).parent / "guest"

# Pieces of memory that are plugged in.
DIMMS = 9

# Where QEMU puts the first DIMM if the guest has less than 2 GiB.
PLUGGED_AT = 4 << 30


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
    guest.run("modprobe -r virtio_net_roce virtio_roce")
    assert guest.run(f"cat /sys/class/net/{interface}/ifindex").stdout == index
    guest.assert_kernel_clean()
    guest.stop()


@pytest.mark.long
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


def test_hot_plug_and_unplug(plug_pair):
    """A function plugged in while the module is loaded is taken, then released."""
    guest = plug_pair.guest
    assert guest.run(COUNT).stdout.strip() == "0"

    for _ in range(2):
        plug_pair.plug()
        device = guest.rdma_device()
        assert device in guest.run("ibv_devices").stdout
        guest.run(f"ibv_devinfo -d {device} | grep -q PORT_ACTIVE")
        plug_pair.unplug()
        lab.assert_healthy()


def test_modules_go_when_the_daemon_is_gone(plug_pair):
    """QEMU survives it, because nothing reads the configuration; a new device works."""
    guest = plug_pair.guest
    plug_pair.plug()
    log = guest.dmesg()
    plug_pair.daemon.stop()
    guest.run("modprobe -r virtio_net_roce virtio_roce", timeout=120 * PATIENCE)
    assert guest.alive(), "QEMU ended"
    assert "not given back to virtio-pci" in guest.dmesg().removeprefix(log)
    plug_pair.unplug()

    plug_pair.new_daemon()
    guest.run("modprobe -a virtio_roce ib_uverbs rdma_ucm")
    plug_pair.plug()
    pingpong(guest, guest, iterations=200, validate=True)
    plug_pair.unplug()


def test_link_changes_without_a_driver(plug_pair):
    """QEMU survives that, and a driver that comes later finds the link as it is."""
    guest = plug_pair.guest
    plug_pair.plug()
    pci = "/sys/bus/pci/drivers"
    function = guest.run(f"basename {pci}/virtio_net_roce/0000:*").stdout.strip()
    guest.run(f"echo {function} > {pci}/virtio_net_roce/unbind")
    guest.wait_output(COUNT, "0")
    port = plug_pair.daemon.sockets[0].name
    for state in ("down", "up", "down"):
        plug_pair.daemon.control("link", port, state)
    time.sleep(1)
    assert guest.alive(), "QEMU ended"

    guest.run(f"echo {function} > {pci}/virtio_net_roce/bind")
    guest.wait_output(COUNT, "1")
    guest.configure_network()
    carrier = f"cat /sys/class/net/{guest.interface()}/carrier"
    guest.wait_output(carrier, "0")
    plug_pair.daemon.control("link", port, "up")
    guest.wait_output(carrier, "1")
    pingpong(guest, guest, iterations=200, validate=True)
    plug_pair.unplug()


def plug_dimm(guest, number, size):
    """Memory that the guest did not have when it started."""
    guest.qmp("object-add", **{"qom-type": "memory-backend-memfd", "id": f"mem{number}",
                               "size": size, "share": True})
    guest.qmp("device_add", driver="pc-dimm", id=f"dimm{number}", memdev=f"mem{number}")


@pytest.mark.long
def test_memory_is_plugged_in():
    """More pieces of memory than SET_MEM_TABLE takes, while RDMA is in use; a page of 1 GiB
    of the first of them is a region."""
    daemon = Daemon("dimm-daemon", guests=1).start()
    guest = Guest("dimm", 8, [["-m", f"slots={DIMMS},maxmem=8G"]], boot=True).start()
    guest.wait_ready()
    guest.run("modprobe -a virtio_roce ib_uverbs")
    plug(guest, daemon)
    guest.configure_network()
    guest.run("echo online_kernel > /sys/devices/system/memory/auto_online_blocks")
    online = "cat /sys/devices/system/memory/memory*/state | grep -c online"
    before = int(guest.run(online).stdout)
    run = PingPong(guest, guest, iterations=100000000, events=True, gently=True)
    run.wait_connected()
    # A block of the kernel's has 128 MiB.
    plug_dimm(guest, 0, 2 << 30)
    for number in range(1, DIMMS):
        plug_dimm(guest, number, 128 << 20)
    guest.wait_output(online, str(before + 16 + DIMMS - 1))
    run.assert_moves()
    run.kill()
    pingpong(guest, guest, iterations=200, validate=True)
    guest.run("echo 1 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages")
    guest.put(PROGRAMS / "ends.py")
    said = guest.run(["python3", guest.put(PROGRAMS / "memory.py"), "gigantic",
                      guest.rdma_device(), hex(PLUGGED_AT)], timeout=120)
    assert "a page of 1 GiB" in said.stdout
    assert "vhost-user request" not in daemon.log.read_text()
    lab.assert_healthy()
    guest.stop()
    daemon.stop()


def test_unplug_under_programs(plug_pair):
    """Programs that sleep and programs that poll can be ended; the next function works."""
    guest = plug_pair.guest
    guest.expect_reports(*ZERO_PAGE)
    plug_pair.plug()
    runs = [PingPong(guest, guest, iterations=100000000, events=events, port=port)
            for events, port in ((True, PORT), (False, PORT + 1))]
    for run in runs:
        run.wait_connected()
    ends = [end for run in runs for end in (run.client, run.server)]
    assert all(end.poll() is None for end in ends), [end.stderr for end in ends]

    plug_pair.unplug()
    for run in runs:
        run.kill()

    plug_pair.plug()
    pingpong(guest, guest, iterations=200, validate=True)
    plug_pair.unplug()
