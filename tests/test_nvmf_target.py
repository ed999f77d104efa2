# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The daemon's own target of NVMe over Fabrics: guests with a stock initiator use its disk.

A guest finds it by discovery and connects, with what its distribution has: the kernel's
nvme-rdma, and nvme-cli.
"""

import os
import re
import signal
import time

import pytest

import lab
from lab import nvme, paths
from lab.host_disk import ADDRESS, NQN, connect, connected, counted, storage_process
from lab.longform import mostly_long
from lab.nvme import DEVICE
from lab.paths import LONG
from lab.patience import Deadline
from lab.report import process_seconds

PRIVATE = "nqn.2026-11.org.example:private"
ADDRESS_V6 = "fd00:77::100"
OTHER = "10.77.0.101"
SECOND = "10.77.0.102"
SIZE = 512 << 20

# Sectors that a guest has read of the disk, and written.
SECTORS = "awk '{ print $3 }' /sys/block/nvme0n1/stat"
WRITTEN = "awk '{ print $7 }' /sys/block/nvme0n1/stat"
# How often it has connected again.
RECONNECTED = "dmesg | grep -c 'Successfully reconnected'"


@pytest.fixture(scope="module", name="pair")
def _pair():
    """Two guests; the second one may not use the second target."""
    disk = paths.run_directory("nvmf-disk") / "disk"
    with open(disk, "wb") as file:
        file.truncate(SIZE)
    arguments = [
        "--namespace", f"disk=file:{disk}",
        "--nvmf-target", f"nqn={NQN},address={ADDRESS},address={ADDRESS_V6},namespace=disk",
        "--nvmf-target", f"nqn={PRIVATE},address={OTHER},readonly=disk,guest=nvmf-daemon.1",
        "--nvmf-target", f"nqn={NQN},address={SECOND},namespace=disk",
    ]
    pair = lab.Pair("nvmf", daemon_arguments=arguments).start()
    pair.load_modules()
    for guest in pair.guests:
        guest.run("modprobe nvme-rdma")
        guest.run(f"ip -6 addr add fd00:77::{guest.number}/64 dev {guest.interface()} nodad")
    pair.disk = disk
    yield pair
    pair.stop()


def test_discovery(pair):
    """The subsystem is listed, by either address."""
    for address in (ADDRESS, ADDRESS_V6):
        said = pair.a.run(["nvme", "discover", "-t", "rdma", "-a", address, "-s", "4420"]).stdout
        assert f"subnqn:  {NQN}" in said and ADDRESS in said, said


def test_file_system(pair):
    """Made, written, read after the caches were dropped, and once more after connecting anew."""
    guest, megabytes = pair.a, 200 if LONG else 40
    with connected(guest):
        guest.run(f"mkfs.ext4 -q {DEVICE} && mount {DEVICE} /mnt", timeout=120)
        guest.run(f"head -c {megabytes}M /dev/urandom > /tmp/data", timeout=120)
        wanted = guest.run("sha256sum < /tmp/data", timeout=120).stdout
        guest.run("cp /tmp/data /mnt/data && sync", timeout=300)
        guest.run(f"umount /mnt && echo 3 > /proc/sys/vm/drop_caches && mount {DEVICE} /mnt")
        assert guest.run("sha256sum < /mnt/data", timeout=300).stdout == wanted
    with connected(guest, address=ADDRESS_V6):
        guest.run(f"e2fsck -fn {DEVICE} && mount {DEVICE} /mnt", timeout=120)
        assert guest.run("sha256sum < /mnt/data", timeout=300).stdout == wanted
    # The other guest has the same disk.
    with connected(pair.b):
        pair.b.run(f"mount -o ro {DEVICE} /mnt")
        assert pair.b.run("sha256sum < /mnt/data", timeout=300).stdout == wanted


@pytest.mark.parametrize("size", mostly_long([4096, 8192, 69632, 1 << 20],
                                             short=[4096, 1 << 20]))
def test_direct(pair, size):
    """Without the page cache, in requests of one size: written, read, compared, counted."""
    before = counted(pair)
    count = min((64 if LONG else 8) * (1 << 20) // size, 500)
    with connected(pair.a):
        pair.a.run(f"head -c {size * count} /dev/urandom > /tmp/data &&"
                   f" dd if=/tmp/data of={DEVICE} bs={size} oflag=direct status=none &&"
                   f" dd if={DEVICE} bs={size} count={count} iflag=direct status=none |"
                   " cmp - /tmp/data && rm /tmp/data", timeout=300)
    after = counted(pair)
    assert after["written_bytes"] - before["written_bytes"] >= size * count
    assert after["read_bytes"] - before["read_bytes"] >= size * count


def test_two_guests_at_once(pair):
    """Both read and write parts of their own of one disk, and find what they have written."""
    with connected(pair.a), connected(pair.b):
        work = [guest.popen(
            f"set -e; for i in $(seq 5); do head -c 4M /dev/urandom > /tmp/data;"
            f" dd if=/tmp/data of={DEVICE} bs=64k seek={2000 * number} oflag=direct"
            f" status=none; dd if={DEVICE} bs=64k skip={2000 * number} count=64 iflag=direct"
            " status=none | cmp - /tmp/data; done") for number, guest in enumerate(pair.guests)]
        for run in work:
            run.wait(300, check=True)


def test_access(pair):
    """A target for one guest: it reads there and cannot write; the other guest is refused."""
    with connected(pair.a, address=OTHER, nqn=PRIVATE):
        pair.a.run(f"dd if={DEVICE} of=/dev/null bs=1M count=8 iflag=direct status=none")
        assert pair.a.run(f"blockdev --getro {DEVICE}").stdout.strip() == "1"
    said = connect(pair.b, address=OTHER, nqn=PRIVATE, check=False)
    assert said.rc != 0, said
    assert not pair.b.run("ls /dev/nvme*n*", check=False).stdout
    # Of a name that there is not, and at an address without a port.
    assert connect(pair.a, nqn=NQN + "x", check=False).rc != 0
    assert pair.a.run(["nvme", "connect", "-t", "rdma", "-a", ADDRESS, "-s", "4421", "-n", NQN],
                      check=False).rc != 0


@pytest.mark.long
def test_again_and_again(pair):
    """Connected and disconnected, every other time with requests under way."""
    for cycle in range(20 if LONG else 4):
        with connected(pair.a):
            if cycle % 2:
                pair.a.popen(f"dd if={DEVICE} of=/dev/null bs=1M iflag=direct")


READ = f"dd if={DEVICE} of=/dev/null bs=64k iflag=direct status=none"


def test_backend_errors(pair):
    """A file that is cut short: reads beyond its end fail, all others do not; then it is whole."""
    before = counted(pair)["errors"]
    with connected(pair.a):
        os.truncate(pair.disk, SIZE // 2)
        said = pair.a.run(f"{READ} skip={SIZE * 3 // 4 >> 16} count=1", check=False)
        assert said.rc and "No data available" in said.stderr, said
        assert counted(pair)["errors"] > before
        pair.a.run(f"{READ} count=100")
        os.truncate(pair.disk, SIZE)
        pair.a.run(f"{READ} skip={SIZE * 3 // 4 >> 16} count=1")


def test_disk_grows(pair):
    """The file is made larger: the operator says so, and a guest has a larger disk at once."""
    with connected(pair.a):
        os.truncate(pair.disk, SIZE + (64 << 20))
        pair.daemon.control("look")
        pair.a.wait_output(f"blockdev --getsize64 {DEVICE}", str(SIZE + (64 << 20)))
        pair.a.run(f"{READ} skip={SIZE >> 16} count=10")
        os.truncate(pair.disk, SIZE)
        pair.daemon.control("look")
        pair.a.wait_output(f"blockdev --getsize64 {DEVICE}", str(SIZE))


def test_storage_process_dies(pair):
    """It is killed again and again under load: the host repeats what it has lost."""
    kills = 20 if LONG else 5
    with connected(pair.a):
        reader = pair.a.popen(f"until [ -e /tmp/enough ]; do {READ} count=200 || exit 1; done")
        for _ in range(kills):
            pair.a.wait_until(f"a=$({SECTORS}); sleep 0.2; [ $({SECTORS}) != $a ]")
            assert reader.poll() is None, reader.stderr
            os.kill(storage_process(pair), signal.SIGKILL)
        pair.a.wait_until(f"a=$({SECTORS}); sleep 0.2; [ $({SECTORS}) != $a ]")
        pair.a.run("touch /tmp/enough")
        reader.wait(300, check=True)
        pair.a.run(f"rm /tmp/enough && {READ} count=100")
    deaths = re.search(r"vhost_user_roce_storage_deaths_total (\d+)\n",
                       pair.daemon.control("metrics"))
    assert int(deaths[1]) >= kills, deaths[0]


def cost(pids, guest, jobs, count):
    """Processor time of processes, in µs, for a read of 4 KiB by a guest, of so many by each job."""
    before = sum(process_seconds(pid) for pid in pids)
    guest.run(f"for i in $(seq {jobs}); do dd if={DEVICE} of=/dev/null bs=4k skip=$((i * 100))"
              f" count={count} iflag=direct status=none & pids=\"$pids $!\"; done;"
              " for i in $pids; do wait $i || exit 1; done", timeout=600)
    return (sum(process_seconds(pid) for pid in pids) - before) * 1e6 / count / jobs


@pytest.mark.skipif(not LONG, reason="a figure: make soak")
@pytest.mark.parametrize("jobs", [1, 16])
def test_processor_time_beside_nvmet(pair, jobs):
    """Of several reads at a time one costs the host a quarter of one from nvmet in another guest.

    All but the initiator's guest counts: the daemon and its storage process with a file on one
    side, the daemon and the guest with memory on the other.  One read at a time is mostly waking
    up: 40 to 47 µs were seen, and 147 to 172; of sixteen at a time 28, and 149.
    """
    count = 50000 // jobs
    with connected(pair.a):
        ours = cost([pair.daemon.pid, storage_process(pair)], pair.a, jobs, count)
    nvme.target_start(pair.b)
    try:
        nvme.connect(pair.a, pair.b)
        theirs = cost([pair.daemon.pid, pair.b.process.pid], pair.a, jobs, count)
        nvme.disconnect(pair.a)
    finally:
        nvme.target_end(pair.b)
    print(f"volume: {jobs} at a time: {ours:.1f} µs a read, {theirs:.1f} with nvmet")
    assert ours * (4 if jobs > 1 else 2) <= theirs


@pytest.mark.long
def test_timeout(pair):
    """Storage stands still for longer than the host waits: that connects again, and goes on.

    As long as requests of before are under way it is told that the target is busy.
    """
    timeout = "/sys/module/nvme_core/parameters/io_timeout"
    old = pair.a.run(f"cat {timeout}").stdout.strip()
    pair.a.run(f"echo 3 > {timeout}")
    stands = storage_process(pair)
    try:
        with connected(pair.a, "--reconnect-delay=1"):
            pair.a.run(f"{READ} count=10")
            os.kill(stands, signal.SIGSTOP)
            reader = pair.a.popen(f"{READ} count=1000")
            refused = counted(pair)["refused"]
            pair.a.wait_until("dmesg | grep -q 'nvme.*Connect.*fail\\|controller busy'", 60)
            assert counted(pair)["refused"] > refused and reader.poll() is None
            os.kill(stands, signal.SIGCONT)
            reader.wait(300, check=True)
            pair.a.run(f"{READ} count=10")
    finally:
        os.kill(stands, signal.SIGCONT)
        pair.a.run(f"echo {old} > {timeout}")


def test_guest_is_unplugged(pair):
    """The device of a guest goes away under load: nothing of it is left, and the other reads on."""
    connections = counted(pair)["connections"]
    with connected(pair.a):
        connect(pair.b, "--ctrl-loss-tmo=2")
        pair.b.wait_until(f"[ -b {DEVICE} ]")
        reader = pair.a.popen(f"{READ} count=4000")
        pair.b.popen(f"{READ} count=4000")
        pair.b.wait_until(f"[ $({SECTORS}) -gt 1000 ]")
        device = pair.b.run("basename $(readlink /sys/class/infiniband/*/device)").stdout.strip()
        pair.b.run(f"echo {device} > /sys/bus/pci/drivers/virtio_net_roce/unbind", timeout=120)
        reader.wait(300, check=True)
    deadline = Deadline(60)
    while counted(pair)["connections"] != connections:
        assert not deadline.over(), counted(pair)
        time.sleep(0.2)
    pair.b.wait_until("! ls /dev/nvme*n* > /dev/null 2>&1", 60)
    pair.b.run(f"echo {device} > /sys/bus/pci/drivers/virtio_net_roce/bind")
    pair.b.forget()
    pair.b.configure_network()
    with connected(pair.b):
        pair.b.run(f"{READ} count=100")


@pytest.mark.long
def test_two_paths(pair):
    """One of two ways to the disk is cut while it is written to: the other one has all of it."""
    guest, device = pair.a, "/dev/nvme0n1"
    alive = "grep -l live /sys/class/nvme/nvme*/state | wc -l"
    with connected(guest, "--keep-alive-tmo=2", "--reconnect-delay=1"):
        connect(guest, "--keep-alive-tmo=2", "--reconnect-delay=1", address=SECOND)
        guest.wait_output(alive, "2")
        # They are one disk.
        guest.wait_output("ls /dev/nvme*n*", device)
        # Each write is of something else.
        writer = guest.popen(
            "until [ -e /tmp/enough ]; do head -c 8M /dev/urandom > /tmp/data &&"
            f" dd if=/tmp/data of={device} bs=16k oflag=direct status=none &&"
            f" dd if={device} bs=16k count=512 iflag=direct status=none | cmp - /tmp/data ||"
            " exit 1; done")
        guest.wait_until(f"[ $({WRITTEN}) -gt 2000 ]")
        pair.daemon.control("cut", "nvmf-target0", "on")
        guest.wait_output(alive, "1", 60)
        guest.wait_until(f"a=$({WRITTEN}); sleep 0.2; [ $({WRITTEN}) != $a ]", 60)
        assert writer.poll() is None, writer.stderr
        guest.run("touch /tmp/enough")
        writer.wait(300, check=True)
        guest.run("rm /tmp/enough /tmp/data")
        pair.daemon.control("cut", "nvmf-target0", "off")
        guest.wait_output(alive, "2", 60)


def test_restart(pair):
    """Another daemon takes over under load: connections end, and the initiator comes back."""
    guest = pair.a
    with connected(guest, "--reconnect-delay=1"):
        before = int(guest.run(RECONNECTED, check=False).stdout)
        reader = guest.popen(f"until [ -e /tmp/enough ]; do {READ} count=200 || exit 1; done")
        guest.wait_until(f"[ $({SECTORS}) -gt 1000 ]")
        pair.daemon.take_over()
        guest.wait_until(f"[ $({RECONNECTED}) -gt {before} ]", 120)
        assert reader.poll() is None, reader.stderr
        guest.run("touch /tmp/enough")
        reader.wait(300, check=True)
        guest.run("rm /tmp/enough")
        guest.run(f"dd if={DEVICE} of=/dev/null bs=1M iflag=direct count=20 status=none")
