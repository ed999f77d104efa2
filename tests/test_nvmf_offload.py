# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""virtio-roce-nvmft, a target in one guest, and the kernel's initiator in the other one."""

import subprocess
import time

import pytest

import lab
from lab import nvmft, paths
from lab.longform import mostly_long
from lab.nvme import DEVICE
from lab.nvmft import NQN, Target, connected, device, serving
from lab.paths import LONG
from lab.patience import Deadline

SIZE = 256 << 20


@pytest.fixture(scope="module", name="pair")
def _pair():
    """Two guests: a has the program, b the initiator."""
    file = paths.run_directory("nvmf-offload-disk") / "disk"
    with open(file, "wb") as disk:
        disk.truncate(SIZE)
    pair = lab.Pair("offload", daemon_arguments=[
        "--namespace", f"disk=file:{file},guest=offload-daemon.1",
        "--namespace", f"null=null:{SIZE},guest=offload-daemon.1",
        "--namespace", "other=null:1M,guest=offload-daemon.2"]).start()
    pair.host_file = file
    pair.load_modules()
    pair.b.run("modprobe nvme-rdma")
    yield pair
    pair.stop()


@pytest.fixture(scope="module", name="binary")
def _binary(pair):
    """The program, in the guest's own file system."""
    return nvmft.install(pair.a)


def file_system(guest, disk=DEVICE, megabytes=200 if LONG else 30):
    """Made, written, and read after the caches were dropped."""
    guest.run(f"mkfs.ext4 -q {disk} && mount {disk} /mnt", timeout=120)
    guest.run(f"head -c {megabytes}M /dev/urandom > /tmp/data", timeout=120)
    guest.run("cp /tmp/data /mnt/data && sync", timeout=300)
    guest.run(f"umount /mnt && echo 3 > /proc/sys/vm/drop_caches && mount {disk} /mnt")
    guest.run("cmp /tmp/data /mnt/data && umount /mnt && rm /tmp/data", timeout=300)
    guest.run(f"e2fsck -fn {disk}", timeout=120)


@pytest.fixture(scope="module", name="disk")
def _disk(pair):
    """A file of guest a."""
    pair.a.run(f"truncate -s {SIZE} /var/tmp/disk")
    return "/var/tmp/disk"


def test_by_program(pair, binary, disk):
    """Without offload: discovery, a file system, several namespaces, one of them read-only."""
    with serving(pair, binary, "--no-offload", "--namespace", f"file:{disk}",
                 "--namespace", "memory:16M", "--namespace", "memory:8M,ro") as target:
        said = pair.b.run(["nvme", "discover", "-t", "rdma", "-a", pair.a.address, "-s",
                           "4420"]).stdout
        assert f"subnqn:  {NQN}" in said and pair.a.address in said, said
        with connected(pair):
            disks = [f"/dev/{device(pair.b, nsid)}" for nsid in (1, 2, 3)]
            file_system(pair.b, disks[0])
            assert pair.b.run(f"blockdev --getro {disks[2]}").stdout.strip() == "1"
            pair.b.run(f"head -c 8M /dev/urandom > /tmp/data && dd if=/tmp/data of={disks[1]}"
                       f" bs=1M oflag=direct status=none && cmp -n 8M /tmp/data {disks[1]} &&"
                       " rm /tmp/data", timeout=120)
        count = target.count()
        assert count["read"] and count["written"] and not count["offloaded"], count
        assert count["io_capsules"] >= count["read"] + count["written"], count
    # The file has all that.
    pair.a.run(f"e2fsck -fn {disk}", timeout=120)


def test_hosts(pair, binary):
    """Hosts that are not named are refused."""
    with serving(pair, binary, "--no-offload", "--namespace", "memory:8M", "--host",
                 "nqn.2026-11.org.example:b"):
        refused = pair.b.run(["nvme", "connect", "-t", "rdma", "-a", pair.a.address, "-s", "4420",
                              "-n", NQN], check=False)
        assert refused.rc != 0, refused
        with connected(pair, "--hostnqn", "nqn.2026-11.org.example:b"):
            pair.b.run(f"dd if={DEVICE} of=/dev/null bs=1M iflag=direct status=none")


@pytest.mark.long
def test_again_and_again(pair, binary):
    """Connected and disconnected, with requests under way every other time."""
    with serving(pair, binary, "--no-offload", "--namespace", "memory:64M"):
        for cycle in range(20 if LONG else 4):
            with connected(pair):
                if cycle % 2:
                    pair.b.popen(f"dd if={DEVICE} of=/dev/null bs=1M iflag=direct")


def test_program_ends(pair, binary):
    """Of a program that ends the initiator waits for the next one, and goes on."""
    target = Target(pair.a, binary, "--no-offload", "--namespace", "memory:64M")
    with connected(pair, "--reconnect-delay=1"):
        target.stop()
        reader = pair.b.popen(f"dd if={DEVICE} of=/dev/null bs=1M iflag=direct")
        target = Target(pair.a, binary, "--no-offload", "--namespace", "memory:64M")
        reader.wait(120, check=True)
    target.stop()


def test_offload(pair, binary):
    """The device serves a file system and more, and the program is not woken for any of it.

    In the long form a million requests of 4 KiB.
    """
    blocks = 500000 if LONG else 2000
    with serving(pair, binary, "--namespace", "host:disk", "--namespace", "host:null") as target:
        with connected(pair):
            disks = [f"/dev/{device(pair.b, nsid)}" for nsid in (1, 2)]
            before = target.count()
            assert before["offloaded"] and before["offloaded"] == before["io_capsules"], before
            file_system(pair.b, disks[0])
            for operation in ("if=/dev/zero of={} oflag=direct", "if={} of=/dev/null iflag=direct"):
                # A disk of so many blocks, again and again.
                rounds = -(-blocks * 4096 // SIZE)
                pair.b.run(f"for i in $(seq {rounds}); do dd {operation.format(disks[1])} bs=4k"
                           f" count={blocks // rounds} status=none || exit 1; done", timeout=3600)
            # Whatever the device does not take, the kernel does by what it does take.
            pair.b.run(f"blkdiscard -z -l 1M {disks[1]}")
            assert pair.b.run(f"blockdev --getsize64 {disks[0]}").stdout.strip() == str(SIZE)
            assert target.count() == before
        # Connect alone has come to the program.
        assert before["io_wakeups"] <= 2 * before["offloaded"], before
    subprocess.run(["/sbin/e2fsck", "-fn", pair.host_file], check=True, capture_output=True)


@pytest.mark.long
def test_queues_in_memory(pair, binary, disk):
    """Controllers whose queues are in the guest's memory, with a thread of the program behind."""
    blocks = 16384 if LONG else 1000
    with serving(pair, binary, "--namespace", f"file:{disk}", "--namespace", "memory:64M",
                 "--namespace", "memory:8M,ro") as target:
        with connected(pair):
            disks = [f"/dev/{device(pair.b, nsid)}" for nsid in (1, 2, 3)]
            before = target.count()
            assert before["offloaded"] and before["offloaded"] == before["io_capsules"], before
            file_system(pair.b, disks[0], 100 if LONG else 15)
            # More commands than staging memory has pieces, and than a queue has entries.
            pair.b.run("head -c 1M /dev/urandom > /tmp/data", timeout=120)
            pair.b.run("for i in $(seq 0 23); do dd if=/tmp/data bs=32k oflag=direct status=none"
                       f" of={disks[1]} seek=$((i * 32)) & done; wait", timeout=300)
            pair.b.run(f"for i in $(seq 0 23); do cmp -n 1M /tmp/data {disks[1]} 0 $((i << 20)) ||"
                       " exit 1; done; rm /tmp/data", timeout=300)
            pair.b.run(f"dd if={disks[1]} of=/dev/null iflag=direct bs=4k count={blocks}"
                       " status=none", timeout=3000)
            assert pair.b.run(f"blockdev --getro {disks[2]}").stdout.strip() == "1"
            after = target.count()
            assert after["queue_commands"] >= before["queue_commands"] + blocks, after
            # The one that serves connections was not woken.
            assert {**after, "queue_commands": 0} == {**before, "queue_commands": 0}
    pair.a.run(f"e2fsck -fn {disk}", timeout=120)


@pytest.mark.parametrize("storage", mostly_long(["host:null", "memory:64M"],
                                                short=["host:null"]))
def test_offload_again_and_again(pair, binary, storage):
    """Connected and disconnected, with requests under way every other time."""
    with serving(pair, binary, "--namespace", storage):
        for cycle in range(20 if LONG else 4):
            with connected(pair):
                if cycle % 2:
                    pair.b.popen(f"dd if={DEVICE} of=/dev/null bs=1M iflag=direct")


def test_offload_killed(pair, binary):
    """A program that is killed leaves nothing behind: the next one has the same namespaces."""
    for _ in range(5 if LONG else 2):
        target = Target(pair.a, binary, "--namespace", "host:disk", "--namespace", "host:null")
        with connected(pair, "--reconnect-delay=1"):
            null = device(pair.b, 2)
            reader = pair.b.popen(f"until [ -e /tmp/enough ]; do dd if=/dev/{null} of=/dev/null"
                                  " bs=1M iflag=direct count=64 status=none || exit 1; done")
            pair.b.wait_until(f"[ $(awk '{{ print $3 }}' /sys/block/{null}/stat) -gt 1000 ]")
            target.program.kill()
            target.program.wait(60)
            target = Target(pair.a, binary, "--namespace", "host:disk", "--namespace", "host:null")
            deadline = Deadline(60)
            while not target.count()["offloaded"]:
                assert not deadline.over(), target.program.stdout
                time.sleep(0.1)
            assert reader.poll() is None, reader.stderr
            pair.b.run("touch /tmp/enough")
            reader.wait(120, check=True)
            pair.b.run("rm /tmp/enough")
        target.stop()


def test_offload_refused(pair, binary):
    """A namespace that there is not, that is another guest's, or that the device alone reaches."""
    for storage, said in (("host:nothing", "No such file"), ("host:other", "No such file"),
                          ("host:null --no-offload", "not with --no-offload")):
        refused = pair.a.run([binary, "--address", pair.a.address, "--namespace",
                              *storage.split()], check=False)
        assert refused.rc != 0 and said in refused.stderr, refused
