# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""fio on disks of virtio-roce-nvmft, a target in guest a, which the device serves."""

import pytest

from lab import apps as lab_apps, nvmft
from lab.fio import moved, reading, verifying
from lab.nvmft import connected, device, serving
from lab.paths import LONG

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", name="binary")
def _binary(apps):
    """The program, and a file in guest a."""
    apps.b.run("modprobe nvme-rdma")
    apps.a.run(f"truncate -s {lab_apps.TARGET_SIZE} /var/tmp/disk")
    yield nvmft.install(apps.a)
    apps.a.run("rm /var/tmp/disk")


@pytest.mark.parametrize("size", [4096, 16384, 131072, 1 << 20])
@pytest.mark.parametrize("storage", ["host:offload", "file:/var/tmp/disk"])
def test_fio_verifies(apps, binary, storage, size):
    """Each block has a checksum, with a namespace of the host and with queues in memory."""
    total = min(lab_apps.TARGET_SIZE if LONG else 32 << 20, size * 4096)
    with serving(apps.pair, binary, "--namespace", storage) as target, connected(apps.pair):
        before = target.count()
        disk = f"/dev/{device(apps.b, 1)}"
        said = apps.b.run(verifying(disk, size, total), timeout=900).stdout
        assert moved(said) == (0, total // size, total // size), said
        after = target.count()
        assert before["offloaded"] and after["io_wakeups"] == before["io_wakeups"], after


def test_fio_wakes_nobody(apps, binary):
    """The program is not woken once by random reads: a million of them in the long form."""
    count = 1000000 if LONG else 20000
    with serving(apps.pair, binary, "--namespace", "host:nothing") as target:
        with connected(apps.pair):
            before = target.count()
            said = apps.b.run(reading(f"/dev/{device(apps.b, 1)}", count), timeout=3600).stdout
            assert moved(said) == (0, 0, count), said
            assert target.count() == before
