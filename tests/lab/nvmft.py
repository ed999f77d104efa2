# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""virtio-roce-nvmft in guest a of a pair, and the kernel's initiator in guest b."""

import contextlib
import json
import signal
import time

from . import paths
from .nvme import DEVICE
from .patience import Deadline
from .programs import meet

NQN = "nqn.2026-11.org.example:offload"


def install(guest):
    """Copies the program into the guest's own file system; returns its path."""
    shared = guest.put(paths.BUILD / "nvmft" / "virtio-roce-nvmft")
    guest.run(["install", shared, "/usr/local/bin/virtio-roce-nvmft"])
    return "/usr/local/bin/virtio-roce-nvmft"


class Target:
    """The program, in guest a."""

    def __init__(self, guest, binary, *arguments):
        self.guest = guest
        self.program = guest.popen([binary, "--address", guest.address, "--nqn", NQN,
                                    *arguments])
        self.program.wait_output("listening\n")
        self.reports = 0

    def count(self):
        """The counters of the program."""
        self.program.kill(signal.SIGUSR1)
        self.reports += 1
        self.program.wait_output(r"listening\n(\{.*\}\n){%d}" % self.reports)
        return json.loads(self.program.stdout.splitlines()[-1])

    def stop(self):
        """It ends by itself, with status 0."""
        self.program.kill(signal.SIGTERM)
        self.program.wait(60, check=True)


@contextlib.contextmanager
def serving(pair, binary, *arguments):
    """The program runs for the time of the body, which the initiator has left at its end."""
    target = Target(pair.a, binary, *arguments)
    try:
        yield target
        # It hears of the end after the initiator has gone on.
        deadline = Deadline(30)
        while target.count()["controllers"]:
            assert not deadline.over(), target.program.stdout
            time.sleep(0.1)
    finally:
        target.stop()


@contextlib.contextmanager
def connected(pair, *arguments):
    """Guest b is connected for the time of the body."""
    meet(pair.b, pair.a.address)
    # On a busy machine one of them may be silent for 5 s, which is the usual time.
    pair.b.run(["nvme", "connect", "-t", "rdma", "-a", pair.a.address, "-s", "4420", "-n", NQN,
                "--keep-alive-tmo=120", *arguments])
    try:
        pair.b.wait_until(f"[ -b {DEVICE} ]")
        yield
    finally:
        pair.b.run("umount /mnt", check=False)
        pair.b.run(["nvme", "disconnect", "-n", NQN])
        pair.b.wait_until("! ls /dev/nvme*n* > /dev/null 2>&1")


def device(guest, nsid):
    """The block device of a namespace: they come in any order."""
    guest.wait_until(f"grep -qx {nsid} /sys/block/nvme[0-9]n*/nsid")
    return guest.run(f"grep -lx {nsid} /sys/block/nvme[0-9]n*/nsid").stdout.split("/")[3]
