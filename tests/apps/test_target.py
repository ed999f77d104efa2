# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""fio on a disk of the daemon's own (--nvmf-target), to which a guest connects by its kernel."""

import contextlib
import json

import pytest

from lab import apps as lab_apps
from lab.fio import moved, reading, verifying
from lab.paths import LONG

# Names by number of the namespace: the kernel's own follow from which one it found first.
DEVICE, NOTHING = "/dev/apps-1", "/dev/apps-2"
STATISTICS = "/sys/block/$(basename $(readlink /dev/apps-1))/stat"
NAMES = "for d in /sys/block/nvme*n*; do ln -sf ${d##*/} /dev/apps-$(cat $d/nsid); done"


@contextlib.contextmanager
def disk(apps):
    """Guest a has it."""
    apps.a.run("modprobe nvme-rdma")
    apps.a.run(["nvme", "connect", "-t", "rdma", "-a", lab_apps.TARGET_ADDRESS, "-s", "4420",
                "-n", lab_apps.TARGET_NQN, "--reconnect-delay=1"])
    try:
        apps.a.wait_until("ls /dev/nvme0n1 /dev/nvme0n2")
        apps.a.run(NAMES)
        yield
    finally:
        apps.a.run(["nvme", "disconnect", "-n", lab_apps.TARGET_NQN])
        apps.a.wait_until("! ls /dev/nvme*n* > /dev/null 2>&1")


def counted(apps):
    """The target's counters."""
    return json.loads(apps.pair.daemon.control("targets", "--json"))[0]


@pytest.mark.parametrize("size", [
    16384, *(pytest.param(size, marks=pytest.mark.long) for size in (4096, 131072, 1 << 20))])
def test_fio_verifies(apps, size):
    """Each block has a checksum; each request reaches the target."""
    total = min(lab_apps.TARGET_SIZE if LONG else 32 << 20, size * 4096)
    before = counted(apps)
    with disk(apps):
        said = apps.a.run(verifying(DEVICE, size, total), timeout=300).stdout
    assert moved(said) == (0, total // size, total // size), said
    after = counted(apps)
    assert after["written_bytes"] - before["written_bytes"] >= total
    assert after["read_bytes"] - before["read_bytes"] >= total
    assert after["errors"] == before["errors"]


@pytest.mark.long
def test_fio_reads_nothing(apps):
    """Random reads of 4 KiB from the namespace that keeps nothing: a million in the long form."""
    count = 1000000 if LONG else 20000
    with disk(apps):
        said = apps.a.run(reading(NOTHING, count), timeout=3600).stdout
    assert moved(said) == (0, 0, count), said


@pytest.mark.long
@pytest.mark.parametrize("how", ["kill_kept", "take_over"])
def test_fio_goes_on(apps, how):
    """The daemon is killed, or another one takes over, while fio writes: no block is lost."""
    total = (128 if LONG else 32) << 20
    restarts = "dmesg | grep -c 'virtio_net_roce.*: restarted'"
    with disk(apps):
        before = [int(guest.run(restarts, check=False).stdout) for guest in apps.pair.guests]
        running = apps.a.popen(verifying(DEVICE, 4096, total))
        apps.a.wait_until(f"[ $(awk '{{ print $5 }}' {STATISTICS}) -gt 200 ]")
        assert running.poll() is None
        getattr(apps.pair.daemon, how)()
        if how == "kill_kept":
            for guest, number in zip(apps.pair.guests, before):
                guest.wait_until(f"[ $({restarts}) -gt {number} ]", 60)
                guest.forget()
        running.wait(300, check=True)
        assert moved(running.stdout) == (0, total // 4096, total // 4096), running.stdout
        assert "Successfully reconnected" in apps.a.dmesg_tail(200)
