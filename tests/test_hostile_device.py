# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A device that tells nonsense does not harm the guest's kernel.

The daemon is device/tests/hostile.  In the guest run programs, the connection manager and
NVMe, which may fail.  The kernel has nothing to report, our modules can be unloaded and
loaded again, and then all works.  What the device did is printed, with its seed; LAB_SEED
sets that.
"""

import os
import pathlib
import time

import pytest

import lab
from lab import nvme, paths
from lab.hostile_device import HostileDaemon
from lab.pingpong import gid_index, pingpong

pytestmark = [
    pytest.mark.debug_kernel,
    # Not in make check: it has not passed yet (Documentation/security.rst).
    pytest.mark.skipif(not (paths.DEBUG and paths.LONG),
                       reason="in make soak, where the debug kernel sees what happens"),
]

PROGRAMS = pathlib.Path(__file__).parent / "guest"

SEED = int(os.environ.get("LAB_SEED", "1"))

# In full, as many answers and completions as this, in at most so many seconds.
CHANGES = 1000000 if paths.LONG else 1000
SECONDS = 6 * 3600 if paths.LONG else 30

# What the device does, so often of a thousand times that it could (hostile.h).
ANSWERS = {"ANSWER_BITS": 100, "ANSWER_VALUE": 100, "ANSWER_LATE": 50, "ETH_ACK": 50}
USER = {"USER_WR_ID": 100, "USER_BITS": 100, "USER_VALUE": 100, "USER_REPEAT": 100,
        "USER_FORGED": 500, "USER_ID": 20, "USER_LENGTH": 200, "USER_INDEX": 20,
        "USER_FLAGS": 50}
OTHER = {"CALL_SPURIOUS": 20, "CONFIG_CHANGE": 5}
CONFIG = {"CONFIG_BITS": 300}

# What the driver does not stand yet.  A kernel consumer's completion is a jump to where the
# device says, or a MAD that the connection manager waits for without end.  A region that
# the device does not let go of is leaked, and the DMA API says so at the end.
KERNEL_LATER = {kind.replace("USER", "KERNEL"): rate for kind, rate in USER.items()}
LATER = {"ANSWER_ACK": 20, "ANSWER_LENGTH": 20, "ANSWER_LOST": 5, "ANSWER_ID": 5,
         "CALL_LOST": 50}

# Those of the above that are on nevertheless: the one constant to change.
NOW = {}


@pytest.fixture(scope="module", name="daemon")
def _daemon():
    daemon = HostileDaemon("hostile-daemon", guests=1, seed=SEED).start()
    yield daemon
    daemon.stop()


@pytest.fixture(scope="module", name="victim")
def _victim(daemon):
    guest = lab.Guest("victim", 1, [lab.roce_device(daemon.sockets[0], daemon.limits)])
    guest.start()
    guest.wait_ready()
    guest.load_modules()
    yield guest
    guest.stop()


def report(daemon, before):
    """Prints what was done since; returns how many answers and completions were not true."""
    done = {kind: count - before.get(kind, 0) for kind, count in daemon.counts().items()}
    print(f"seed {daemon.seed}:", " ".join(f"{kind}={n}" for kind, n in done.items() if n))
    return sum(n for kind, n in done.items()
               if kind.startswith(("ANSWER", "USER", "KERNEL")) and not kind.endswith("FLAGS"))


def unload(guest):
    """The modules, and whatever holds them; none hangs longer than a command may."""
    guest.run("modprobe -r rdma_ucm && modprobe -r virtio_roce virtio_net_roce", timeout=60)
    guest.forget()


def assert_works(guest):
    """From the beginning, with a device that is honest again."""
    unload(guest)
    guest.configure_network()
    guest.load_modules()
    pingpong(guest, guest, iterations=200)
    guest.run(["ping", "-c", "1", guest.address])


def test_under_load(daemon, victim):
    """Completions, rings, answers and interrupts, while programs and NVMe run."""
    nvme.target_start(victim, 64)
    victim.run("modprobe nvme-rdma")
    nvme.connect(victim, victim)
    device = victim.rdma_device()
    loads = [victim.popen([victim.put(PROGRAMS / "victims.sh"), device,
                           gid_index(victim, device), victim.address, victim.interface()])]
    victim.put(PROGRAMS / "hostile.py")
    loads.append(victim.popen(["python3", victim.put(PROGRAMS / "patient.py"), device]))
    before = daemon.counts()
    daemon.order({**ANSWERS, **USER, **OTHER, **NOW})
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        time.sleep(5)
        victim.assert_kernel_clean()
        assert all(load.poll() is None for load in loads), loads[1].stderr
        if paths.LONG and report(daemon, before) > CHANGES:
            break
    daemon.order({})
    done = report(daemon, before)
    for load in loads:
        load.kill()
    victim.run("timeout 60 nvme disconnect -n lab; true", timeout=90)
    nvme.target_end(victim)
    assert_works(victim)
    assert done >= CHANGES


def test_while_it_loads(daemon, victim):
    """Answers and configuration space of a device that the driver gets to know."""
    before = daemon.counts()
    unload(victim)
    for _ in range(100 if paths.LONG else 2):
        daemon.order({**ANSWERS, **CONFIG})
        victim.run("modprobe -a virtio_roce ib_uverbs rdma_ucm; sleep 1", check=False)
        daemon.order({})
        unload(victim)
    victim.load_modules()
    assert_works(victim)
    assert report(daemon, before) > 0
