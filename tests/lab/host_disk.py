# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A disk of the host, from the daemon's own target: guests connect with the kernel's initiator."""

import contextlib
import json
import pathlib

from .nvme import DEVICE

NQN = "nqn.2026-11.org.example:disk"
ADDRESS = "10.77.0.100"


def connect(guest, *arguments, address=ADDRESS, nqn=NQN, check=True):
    """Connects; what nvme-cli says."""
    return guest.run(["nvme", "connect", "-t", "rdma", "-a", address, "-s", "4420", "-n", nqn,
                      *arguments], check=check)


def disconnect(guest, nqn=NQN):
    """Disconnects, and waits until the block devices are gone."""
    guest.run(["nvme", "disconnect", "-n", nqn])
    guest.wait_until("! ls /dev/nvme*n* > /dev/null 2>&1")


def counted(pair):
    """The counters of the first target at its first address."""
    return json.loads(pair.daemon.control("targets", "--json"))[0]


@contextlib.contextmanager
def connected(guest, *arguments, **target):
    """Connected for the time of a test."""
    connect(guest, *arguments, **target)
    try:
        guest.wait_until(f"[ -b {DEVICE} ]")
        yield
    finally:
        guest.run("umount /mnt", check=False)
        disconnect(guest, target.get("nqn", NQN))


def storage_process(pair):
    """The process that reads and writes the files, by its pid."""
    pid = pair.daemon.pid
    for _ in ("what starts it", "itself"):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
        pid, = children.read_text(encoding="ascii").split()
    return int(pid)
