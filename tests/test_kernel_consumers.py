# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The kernel's own use of the device: connection manager, NVMe over RDMA.

One guest is the target, the other one the host.  The kernel's log is searched after
each test, see conftest.py.
"""

import re
import time

import pytest

from lab.iperf import Iperf
from lab.longform import mostly_long
from lab.mckey import COUNT, multicast
from lab.nvme import DEVICE, NQN, connect, disconnect, target_end, target_start
from lab.paths import LONG
from lab.patience import Deadline
from lab.pingpong import PingPong
from lab.programs import RPING_MAX, cm_program, rping, rping_line, rping_server


@pytest.fixture(scope="module")
def consumers(module_pair):
    """Two guests, for fixtures of this file."""
    return module_pair


def resources(guest):
    """Resources that the kernel counts for our device, without CQs: the core keeps NVMe's."""
    return re.sub(r"^\d+: | cq \d+", "", guest.run("rdma resource show").stdout.strip())


def settled_resources(guest, wanted, timeout=30):
    """The same, when the resources of the last test have gone."""
    deadline = Deadline(timeout)
    while resources(guest) != wanted and not deadline.over():
        time.sleep(0.2)
    return resources(guest)


# Connection manager

@pytest.fixture(name="serving")
def _serving(consumers):
    """An rping server in guest b for any number of clients; they must leave nothing."""
    before = [resources(guest) for guest in consumers.guests]
    with rping_server(consumers.b) as address:
        yield address
    for guest, wanted in zip(consumers.guests, before):
        assert settled_resources(guest, wanted) == wanted


@pytest.mark.debug_kernel
def test_rping_contents(consumers, serving):
    """SEND, WRITE and READ in turns, contents compared, up to rping's largest size."""
    for size in (64, 4096, RPING_MAX):
        rping(consumers.a, serving, 200 if LONG else 40, size)


def test_rping_in_a_row(consumers, serving):
    """40 connections, in full 1000, each made, used and ended."""
    for _ in range(25 if LONG else 1):
        said = consumers.a.run("set -e; for i in $(seq 40); do"
                               f" ({rping_line(serving, 1)}); done", timeout=300).stdout
        assert said == "rdma-ping-0: 74\n" * 40, said


def test_rping_at_once(consumers, serving):
    """25 connections, in full 50, at the same time."""
    number = 50 if LONG else 25
    said = consumers.a.run(
        f"for i in $(seq {number}); do ({rping_line(serving, 20)}) &"
        " clients+=($!); done; for i in ${clients[@]}; do wait $i || exit 1; done",
        timeout=300).stdout
    wanted = [f"rdma-ping-{turn}: 74" for turn in range(20)] * number
    assert sorted(said.splitlines()) == sorted(wanted), said


@pytest.mark.debug_kernel
@pytest.mark.parametrize("program", ["ucmatose", "udaddy"])
def test_cm_programs(consumers, program):
    """Many connections of one program."""
    cm_program(program, consumers.b, consumers.a, connections=20, messages=20, size=1000)


def test_multicast(consumers):
    """Each gets each datagram once: another guest, and a QP beside the sender."""
    before = [resources(guest) for guest in consumers.guests]
    name = consumers.daemon.sockets[1].name
    packets = consumers.daemon.stats()[name]["rcvd_pkts"]
    posted = multicast(consumers.a, [consumers.a, consumers.b])
    came = consumers.daemon.stats()[name]["rcvd_pkts"] - packets
    assert COUNT <= came <= posted, (came, posted)
    multicast(consumers.b, [consumers.a])
    for guest, wanted in zip(consumers.guests, before):
        assert settled_resources(guest, wanted) == wanted


# NVMe over RDMA

@pytest.fixture(scope="module")
def nvme_target(consumers):
    """A subsystem in guest b, with 512 MB of memory as its namespace."""
    target_start(consumers.b)
    consumers.a.run("modprobe nvme-rdma")
    yield consumers.b
    target_end(consumers.b)


@pytest.fixture
def nvme(consumers, nvme_target):
    """The guest that is connected to the target for the time of a test."""
    before = resources(consumers.a)
    connect(consumers.a, nvme_target)
    yield consumers.a
    consumers.a.run("umount /mnt", check=False)
    disconnect(consumers.a)
    assert settled_resources(consumers.a, before) == before


@pytest.mark.debug_kernel
def test_memory_registration_is_used(nvme):
    """nvme-rdma needs this: regions that work requests register."""
    regions = nvme.run("rdma resource show mr").stdout
    assert "nvme" in regions, regions


def test_nvme_file_system(consumers, nvme):
    """50 MB, in full 200, through a file system, beside Ethernet and RDMA traffic."""
    megabytes = 200 if LONG else 50
    nvme.run(f"mkfs.ext4 -q {DEVICE} && mount {DEVICE} /mnt")
    nvme.run(f"head -c {megabytes}M /dev/urandom > /tmp/data", timeout=120)
    wanted = nvme.run("sha256sum < /tmp/data", timeout=120).stdout

    beside = PingPong(consumers.b, consumers.a, iterations=100000000, events=True, gently=True)
    beside.wait_connected()
    ethernet = Iperf(consumers.b, nvme, seconds=20 if LONG else 5, arguments=["-b", "20M"])
    nvme.run("cp /tmp/data /mnt/data && sync", timeout=300)
    assert ethernet.wait() > 1
    beside.assert_moves()
    beside.kill()

    nvme.run(f"umount /mnt && echo 3 > /proc/sys/vm/drop_caches && mount {DEVICE} /mnt")
    assert nvme.run("sha256sum < /mnt/data", timeout=300).stdout == wanted
    nvme.run(f"umount /mnt && e2fsck -fn {DEVICE} && rm /tmp/data", timeout=120)


@pytest.mark.parametrize("size", [*mostly_long([4096, 8192, 69632], short=[4096]),
                                  pytest.param(1 << 20, marks=pytest.mark.debug_kernel)])
def test_nvme_direct(nvme, size):
    """Without the page cache, in requests of one size: written, read, compared."""
    count = min((64 if LONG else 16) * (1 << 20) // size, 2000 if LONG else 500)
    nvme.run(f"head -c {size * count} /dev/urandom > /tmp/data &&"
             f" dd if=/tmp/data of={DEVICE} bs={size} oflag=direct status=none &&"
             f" dd if={DEVICE} bs={size} count={count} iflag=direct status=none |"
             " cmp - /tmp/data && rm /tmp/data", timeout=300)


def test_nvme_again_and_again(consumers, nvme_target):
    """Connected and disconnected 6 times, in full 20, half of them with requests under way."""
    before = resources(consumers.a)
    for cycle in range(20 if LONG else 6):
        connect(consumers.a, nvme_target)
        reader = None
        if cycle % 2:
            reader = consumers.a.popen(f"dd if={DEVICE} of=/dev/null bs=1M iflag=direct")
            time.sleep(0.3)
        disconnect(consumers.a)
        if reader:
            reader.wait(30)
    assert settled_resources(consumers.a, before) == before


def test_nvme_target_goes(consumers, nvme_target):
    """The target ends all connections under load; the host finds it again."""
    guest, link = consumers.a, f"/sys/kernel/config/nvmet/ports/1/subsystems/{NQN}"
    connect(guest, nvme_target, "--reconnect-delay=1")
    reconnected = "dmesg | grep -c 'Successfully reconnected'"
    before = int(guest.run(reconnected, check=False).stdout)
    reader = guest.popen("until [ -e /tmp/enough ]; do dd of=/dev/null bs=64k"
                         f" if={DEVICE} iflag=direct count=200 status=none || exit 1; done")
    guest.wait_until("[ $(awk '{ print $3 }' /sys/block/nvme0n1/stat) -gt 1000 ]")
    nvme_target.run(f"rm {link}")
    time.sleep(2)
    nvme_target.run(f"ln -s /sys/kernel/config/nvmet/subsystems/{NQN} {link}")
    guest.wait_until(f"[ $({reconnected}) -gt {before} ]", 120)
    assert reader.poll() is None, reader.stderr
    guest.run("touch /tmp/enough")
    reader.wait(120, check=True)
    guest.run("rm /tmp/enough")
    guest.run(f"dd if={DEVICE} of=/dev/null bs=1M iflag=direct count=20 status=none")
    disconnect(guest)
