# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Kernel driver and provider of different age work together.

The newer one is made here: scripts/build/abi.sh builds both for an ABI that has grown.
The older one is that of this tree, and tests/guest/oldabi.c, whose layout never changes.
"""

import contextlib
import pathlib

import pytest

from lab import paths
from lab.pingpong import pingpong
from test_verbs import run

PROVIDER = "/usr/lib/x86_64-linux-gnu/libibverbs/libvirtio_roce-rdmav*.so"

# A feature that the enlarged driver has and ours has not; see tests/abi/enlarge.sed.
ENLARGED = 1 << 63


@pytest.fixture(scope="module", name="enlarged")
def _enlarged():
    return pathlib.Path(paths.script("build/abi.sh")[0])


@contextlib.contextmanager
def driver(guest, module):
    """Another virtio_roce.ko in place of the installed one."""
    # Not modprobe -r, which would take the lower module with it.
    guest.run(["rmmod", "virtio_roce"])
    try:
        guest.run(["insmod", guest.put(module)])
        guest.forget()
        guest.rdma_device()
        yield
    finally:
        guest.run("rmmod virtio_roce; modprobe virtio_roce")
        guest.forget()
        guest.rdma_device()


@contextlib.contextmanager
def provider(guest, library):
    """Another provider in place of the installed one."""
    path = guest.put(library)
    guest.run(f"! cmp -s {path} {PROVIDER} && mount --bind {path} {PROVIDER}")
    try:
        yield
    finally:
        guest.run(f"umount {PROVIDER}")


def old_program(guest):
    """The features that the driver gives to a provider of the first version."""
    program = guest.put(paths.program("oldabi"))
    said = guest.run([program, guest.rdma_device()]).stdout.split()
    assert said[:2] == ["oldabi:", "features"]
    return int(said[2], 0)


def exchange(rdma_pair):
    """Messages of all sizes that matter here: the queues are where the provider maps them."""
    for program in "rc", "ud", "srq":
        pingpong(rdma_pair.b, rdma_pair.a, program=program, size=1024, iterations=100,
                 events=True, validate=program != "ud")
    assert "messages by 4 QPs" in run(rdma_pair.a, "srq", "resize", 4, 10)


def test_newer_provider(rdma_pair, enlarged):
    """It sends more, has room for more, and gets what our driver has."""
    guest = rdma_pair.a
    assert not old_program(guest) & ENLARGED
    with provider(guest, enlarged / "virtio_roce.so"):
        exchange(rdma_pair)


def test_newer_driver(rdma_pair, enlarged):
    """It answers as much as an older provider has room for; and one as new as itself."""
    guest = rdma_pair.a
    with driver(guest, enlarged / "virtio_roce.ko"):
        assert old_program(guest) & ENLARGED
        exchange(rdma_pair)
        with provider(guest, enlarged / "virtio_roce.so"):
            exchange(rdma_pair)
