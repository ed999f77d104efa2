# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A device that tells nonsense does not harm the guest's kernel.

The daemon is device/tests/hostile.  In the guest run programs, the connection manager and
NVMe, which may fail.  The kernel has nothing to report, our modules can be unloaded and
loaded again, and then all works.  The acts of the device are printed, with its seed;
LAB_SEED sets that.
"""

import os
import pathlib
import signal
import time

import pytest

import lab
from lab import nvme, paths
from lab.devices import VIRTQUEUES, Limits
from lab.hostile_device import HostileDaemon
from lab.patience import Deadline
from lab.pingpong import gid_index, pingpong

PROGRAMS = pathlib.Path(__file__).parent / "guest"

SEED = int(os.environ.get("LAB_SEED", "1"))

# As many answers and completions as this in the first part, in at most so many seconds.
# The others end in the short form when each kind has come, in full with their time.  On a
# busy machine a disk that was lied to needs a minute until it has its connection again.
CHANGES = 1000000 if paths.LONG else 500
SECONDS = 6 * 3600 if paths.LONG else 240
PART_SECONDS = 600 if paths.LONG else 240

# Acts of the device, so often of a thousand times that it could (hostile.h).
ANSWERS = {"ANSWER_BITS": 50, "ANSWER_VALUE": 50, "ANSWER_LATE": 50, "ETH_ACK": 200}
# Acts that cost a queue its requests are seldom, so that most of the time is spent with lies.
USER = {"USER_WR_ID": 10, "USER_BITS": 10, "USER_VALUE": 10, "USER_REPEAT": 500,
        "USER_FORGED": 20, "USER_ID": 5, "USER_LENGTH": 200, "USER_INDEX": 1,
        "USER_FLAGS": 5}
# Once in a millisecond for each queue, as are forged completions of direct CQs.
OTHER = {"CALL_SPURIOUS": 2, "CONFIG_CHANGE": 1}
CONFIG = {"CONFIG_BITS": 300}

# Completions of consumers in the kernel, which name what is called.
KERNEL = {"KERNEL_WR_ID": 20, "KERNEL_BITS": 20, "KERNEL_VALUE": 20, "KERNEL_REPEAT": 100,
          "KERNEL_FORGED": 500, "KERNEL_ID": 5, "KERNEL_LENGTH": 200, "KERNEL_INDEX": 20,
          "KERNEL_FLAGS": 50}
GSI = {"GSI_REPEAT": 100, "GSI_FORGED": 500, "GSI_LENGTH": 200, "GSI_FLAGS": 50}

# Acts that end with a reset of the function, or with memory that it does not let go of.  That
# is freed when the modules are unloaded; else the DMA API would report it.
DYING = {"ANSWER_ACK": 20, "ANSWER_LENGTH": 20, "ANSWER_ID": 5}

# Acts that take completions away from ib_mad, which waits for them until the driver has the
# function reset.
TAKEN = ("GSI_WR_ID",)
if paths.LONG:
    TAKEN += ("GSI_BITS", "GSI_VALUE", "GSI_ID", "GSI_INDEX")

DYING_SLOWLY = {"ANSWER_LOST": 5, "CALL_LOST": 50}

# Direct CQs have no used ring.
USED_RING = ("USER_ID", "USER_LENGTH", "USER_FLAGS",
             "KERNEL_ID", "KERNEL_LENGTH", "KERNEL_FLAGS", "GSI_ID", "GSI_LENGTH", "GSI_FLAGS")
RINGS = {"EVENT_FORGED": 2}

# Queues of the guest: in memory, or virtqueues.
FORMS = ("rings", "virtqueues") if paths.LONG else ("rings",)


@pytest.fixture(scope="module", name="form", params=FORMS)
def _form(request):
    return request.param


@pytest.fixture(scope="module", name="daemon")
def _daemon(form):
    daemon = HostileDaemon(f"hostile-{form}", guests=1, seed=SEED,
                           limits=VIRTQUEUES if form == "virtqueues" else Limits()).start()
    yield daemon
    daemon.stop()


@pytest.fixture(scope="module", name="victim")
def _victim(daemon, form):
    guest = lab.Guest(f"victim-{form}", 1, [lab.roce_device(daemon.sockets[0], daemon.limits)])
    guest.start()
    guest.wait_ready()
    guest.load_modules()
    yield guest
    guest.stop()


class Lies:
    """Acts of the device from now on, until it gets other orders."""

    def __init__(self, daemon, kinds):
        self.daemon = daemon
        if daemon.limits.direct_cqs:
            kinds = {kind: rate for kind, rate in kinds.items() if kind not in USED_RING}
            kinds.update(RINGS)
        self.kinds = kinds
        self.before = daemon.counts()
        daemon.order(kinds)

    def done(self):
        """How often it has done what."""
        return {kind: count - self.before.get(kind, 0)
                for kind, count in self.daemon.counts().items()}

    def count(self):
        """How many answers and completions were not true."""
        return sum(count for kind, count in self.done().items()
                   if kind.startswith(("ANSWER", "USER", "KERNEL", "GSI"))
                   and not kind.endswith("FLAGS"))

    def missing(self):
        """The kinds that have not happened yet."""
        done = self.done()
        return [kind for kind in self.kinds if not done.get(kind)]

    def only(self, kinds):
        """No others from now on."""
        self.daemon.order({kind: self.kinds[kind] for kind in kinds})

    def end(self):
        """The device is honest again; says what there was."""
        done = self.done()
        self.daemon.order({})
        print(f"volume: seed {self.daemon.seed}: {self.count()} answers and completions:",
              " ".join(f"{kind}={count}" for kind, count in done.items() if count))


def unload(guest):
    """The modules, and whatever holds them; none hangs longer than a command may."""
    # A load that was killed may have some commands to wait for.
    guest.run("for i in $(seq 40); do modprobe -r rdma_ucm 2> /dev/null && break; sleep 1;"
              " done; modprobe -r virtio_net_roce virtio_roce", timeout=150)
    guest.forget()


def assert_works(guest):
    """From the beginning, with a device that is honest again."""
    unload(guest)
    guest.configure_network()
    guest.load_modules()
    pingpong(guest, guest, iterations=200)
    guest.run(["ping", "-c", "1", guest.address])


# The loads of victims.sh.
LOADS = ("rc", "ud", "rping", "addresses", "disk")


def rounds(victim):
    """How often each load of victims.sh has begun."""
    said = victim.run("cd /tmp && wc -l victims.* | grep -v total", check=False).stdout
    return {line.split()[1].removeprefix("victims."): int(line.split()[0])
            for line in said.splitlines()}


def suffer(victim, lies, loads, seconds, changes=0):
    """Until each kind has come, and as many as @changes in all, or time is over.

    victims.sh starts again what fails, so that it runs says little: each of its loads must
    have begun.  Some lies need completions of a disk, which others end before it has many: in
    the last half of the time there are only those that are missing.  Others have the function
    reset, after which somebody has to tell the disk's target to listen; or nvme gives the disk
    up, and victims.sh connects it again.
    """
    deadline = Deadline(seconds)
    half = Deadline(seconds / 2)
    alone = False
    while not deadline.over():
        time.sleep(3)
        victim.assert_kernel_clean()
        assert all(load.poll() is None for load in loads), loads[-1].stderr
        nvme.target_keep_listening(victim)
        done = rounds(victim)
        if (lies.count() >= changes and not lies.missing() and (changes or not paths.LONG)
                and all(done.get(load) for load in LOADS)):
            break
        if half.over() and not alone and lies.missing() and lies.count() >= changes:
            lies.only(lies.missing())
            alone = True
    lies.end()
    done = rounds(victim)
    print("volume: rounds of the loads:", done)
    assert all(done.get(load) for load in LOADS), done
    assert lies.count() >= changes and not lies.missing(), (lies.count(), lies.missing())


@pytest.fixture(name="loads")
def _loads(victim):
    """Programs, the connection manager and NVMe; when they end, all must work again."""
    nvme.target_start(victim, 64)
    victim.run("modprobe nvme-rdma")
    connect = nvme.connect_command(victim, "--reconnect-delay=1")
    victim.run(connect)
    device = victim.rdma_device()
    index = gid_index(victim, device)
    patient = victim.put(paths.program("patient"))
    loads = [victim.popen([patient, device, index]),
             victim.popen([victim.put(PROGRAMS / "victims.sh"), device, index,
                           victim.address, victim.interface(), *connect])]
    yield loads
    for load in loads:
        load.kill()
    # nvme_rdma waits 60 s for the answer to its last command; its admin queue does the same.
    # A killed program that was connecting goes on until then.
    victim.run("timeout 240 sh -c 'while pgrep -x nvme; do sleep 0.2; done;"
               f" nvme disconnect -n {nvme.NQN}'; true", timeout=300)
    nvme.target_end(victim)
    assert_works(victim)


def test_under_load(daemon, victim, loads):
    """Answers and interrupts, and completions and rings of processes."""
    suffer(victim, Lies(daemon, {**ANSWERS, **USER, **OTHER}), loads, SECONDS, CHANGES)


@pytest.mark.long
def test_kernel_under_load(daemon, victim, loads):
    """Completions and rings of consumers in the kernel."""
    suffer(victim, Lies(daemon, {**KERNEL, **GSI, **OTHER}), loads, PART_SECONDS)


def test_while_it_dies(daemon, victim, loads):
    """Answers that make the driver give the device up, again and again."""
    kinds = {**DYING, **DYING_SLOWLY} if paths.LONG else DYING
    suffer(victim, Lies(daemon, kinds), loads, PART_SECONDS)


def given_up(victim):
    """How often the driver has missed a completion."""
    return int(victim.run("dmesg | grep -c 'completion of QP 1 does not come'",
                          check=False).stdout)


@pytest.mark.long
@pytest.mark.parametrize("kind", TAKEN)
def test_while_it_takes(daemon, victim, kind):
    """A connection that waits for a completion of ib_mad's fails, and all goes on."""
    if kind in USED_RING and daemon.limits.direct_cqs:
        pytest.skip("a direct CQ has no used ring")
    nvme.target_start(victim, 64)
    victim.run("modprobe nvme-rdma")
    number = given_up(victim)
    lies = Lies(daemon, {kind: 1000})
    connecting = victim.popen(["nvme", "connect", "-t", "rdma", "-a", victim.address, "-s",
                               "4420", "-n", nvme.NQN])
    try:
        # 30 to 40 s, and a restart.
        victim.wait_until(f"[ $(dmesg | grep -c 'completion of QP 1 does not come')"
                          f" -gt {number} ]", 60)
    finally:
        lies.end()
    assert connecting.wait(60).rc > 0
    victim.wait_until("rdma link | grep -q 'state ACTIVE'", 60)
    nvme.target_end(victim)
    assert_works(victim)


# Commands that take something away, of a process's objects.
REFUSED = ("DEREG_MR", "DETACH_MCAST", "DESTROY_QP", "DESTROY_CQ", "DESTROY_SRQ", "DESTROY_AH",
           "DESTROY_PD", "FREE_DOORBELL", "DESTROY_FLOW", "DESTROY_WQ_TABLE")

# Those that a process hears the refusal of, and how.
FAILED = {"MODIFY_QP": "modify QP: Invalid argument", "QUERY_QP": "query QP: Input/output error",
          "CREATE_PD": "make PD: Cannot allocate memory",
          "CREATE_CQ": "make CQ: Cannot allocate memory",
          "CREATE_SRQ": "make SRQ: Cannot allocate memory",
          "CREATE_AH": "make AH: Cannot allocate memory",
          "CREATE_QP": "make QP: Cannot allocate memory",
          "ALLOC_DOORBELL": "make QP: Cannot allocate memory",
          "ALLOC_MW": "make MW: Cannot allocate memory",
          "ATTACH_MCAST": "join group: Cannot allocate memory",
          "REG_USER_MR": "make MR: Cannot allocate memory",
          "CREATE_FLOW": "make rule: Cannot allocate memory",
          "CREATE_FLOW_LONG": "make tagged rule: Cannot allocate memory",
          "QUERY_FLOW": "read counters: Input/output error",
          "CREATE_WQ_TABLE": "make table: Cannot allocate memory",
          "CREATE_RX_HASH_QP": "make hash QP: Cannot allocate memory",
          "MODIFY_CQ": "moderate CQ: Invalid argument",
          "QUERY_CLOCK": "read clock: Input/output error"}

# Those that the driver and ib_core send when the device is found, but for REQ_NOTIFY_CQ.
AT_START = ("QUERY_DEVICE", "QUERY_PORT", "CREATE_PD", "GET_DMA_MR", "CREATE_CQ", "CREATE_QP",
            "MODIFY_QP", "ADD_GID")


def happened(daemon, before, kind):
    """How often it has since."""
    return daemon.counts().get(kind, 0) - before.get(kind, 0)


def letgo(victim, check=True):
    """One object of each kind, made and destroyed."""
    program = victim.put(paths.program("letgo"))
    device = victim.rdma_device()
    return victim.run([program, device, gid_index(victim, device)], check=check, timeout=100)


def refusals_of_kernel(victim):
    """The lines of the driver about objects of the kernel that were not destroyed."""
    return victim.run("dmesg | grep 'of the kernel: it is given up'", check=False).stdout


def test_refused_to_a_process(daemon, victim, form):
    """An object that a device does not let go of does not keep a process from going, nor its PD."""
    if form == "virtqueues":
        pytest.skip("without SRQs and windows")
    # A disk of the tests before may still be taken down: its regions are the kernel's.
    victim.wait_until("! rdma resource show mr | grep -q 'comm \\[nvme'")
    settled = refusals_of_kernel(victim)
    for command in REFUSED:
        before = daemon.counts()
        daemon.order({f"REFUSE_{command}": 1000})
        # The region stays while there is a window; it is destroyed first.
        result = letgo(victim)
        daemon.order({})
        assert result.stdout == "", (command, str(result))
        assert happened(daemon, before, f"REFUSE_{command}") > 0, command
        victim.assert_kernel_clean()
    assert refusals_of_kernel(victim) == settled
    assert_works(victim)


# Of the offload of NVMe over Fabrics: what a target hears when it starts, and what it does not
# hear when it ends.
NVMF_FAILED = {"SET_SRQ_NVMF": "shared receive queue: ", "CREATE_NVME_CTRL": "1M: ",
               "MAP_NSID": "1M: "}
NVMF_REFUSED = ("UNMAP_NSID", "DESTROY_NVME_CTRL")


@pytest.mark.long
def test_refused_to_a_target(daemon, victim, form):
    """An NVMe controller that is refused, or that the device does not let go of."""
    if form == "virtqueues":
        pytest.skip("without SRQs")
    target = [victim.put(paths.BUILD / "nvmft" / "virtio-roce-nvmft"), "--address",
              victim.address, "--namespace", "memory:1M"]
    victim.run("modprobe rdma_ucm")
    for command, line in NVMF_FAILED.items():
        daemon.order({f"REFUSE_{command}": 1000})
        result = victim.run(target, check=False)
        daemon.order({})
        assert result.rc == 1 and f"offload: {line}" in result.stderr, (command, str(result))
        victim.assert_kernel_clean()
    settled = refusals_of_kernel(victim)
    for command in NVMF_REFUSED:
        before = daemon.counts()
        program = victim.popen(target)
        program.wait_output("listening\n")
        daemon.order({f"REFUSE_{command}": 1000})
        program.kill(signal.SIGTERM)
        program.wait(60, check=True)
        daemon.order({})
        assert happened(daemon, before, f"REFUSE_{command}") > 0, command
        victim.assert_kernel_clean()
    assert refusals_of_kernel(victim) == settled
    assert_works(victim)


def test_refused_to_the_kernel(daemon, victim):
    """The device is reset at once, for buffers of the kernel are freed then."""
    before = daemon.counts()
    told = refusals_of_kernel(victim)
    daemon.order({"REFUSE_DESTROY_QP": 1000})
    unload(victim)
    daemon.order({})
    assert happened(daemon, before, "REFUSE_DESTROY_QP") == 1
    told = refusals_of_kernel(victim).removeprefix(told)
    assert told.count("refused to destroy") == told.count("refused to destroy QP 1 of") == 1
    victim.load_modules()
    assert_works(victim)


def test_errors(daemon, victim, form):
    """A process hears of a refusal, and nothing else happens."""
    if form == "virtqueues":
        pytest.skip("without SRQs and windows")
    for command, line in FAILED.items():
        daemon.order({f"REFUSE_{command}": 1000})
        result = letgo(victim, check=False)
        daemon.order({})
        assert line in result.stdout.splitlines() and result.rc == 1, (command, str(result))
        victim.assert_kernel_clean()
    assert letgo(victim).stdout == ""


@pytest.mark.long
def test_errors_at_start(daemon, victim):
    """A device that refuses what it is asked first: no harm, and the next time all is well."""
    for command in AT_START:
        unload(victim)
        before = daemon.counts()
        daemon.order({f"REFUSE_{command}": 1000})
        victim.run("modprobe -a virtio_roce ib_uverbs rdma_ucm; udevadm settle; sleep 1",
                   check=False)
        interface = victim.interface()
        victim.run(f"ip addr add 10.78.9.9/32 dev {interface};"
                   f" ip addr del 10.78.9.9/32 dev {interface}", check=False)
        daemon.order({})
        assert happened(daemon, before, f"REFUSE_{command}") > 0, command
        victim.assert_kernel_clean()
    victim.load_modules()
    assert_works(victim)


@pytest.fixture(name="unarmed")
def _unarmed():
    """A function whose CQs are armed by commands, and its daemon."""
    daemon = HostileDaemon("hostile-arm", guests=1, seed=SEED, limits=VIRTQUEUES).start()
    guest = lab.Guest("victim-arm", 1, [lab.roce_device(daemon.sockets[0], daemon.limits)])
    guest.start()
    guest.wait_ready()
    guest.load_modules()
    yield daemon, guest
    guest.stop()
    daemon.stop()


@pytest.mark.long
def test_arming_is_refused(unarmed):
    """The driver says it, for the core tells a process nothing; then all is well again."""
    daemon, victim = unarmed
    before = daemon.counts()
    daemon.order({"REFUSE_REQ_NOTIFY_CQ": 1000})
    letgo(victim, check=False)
    assert happened(daemon, before, "REFUSE_REQ_NOTIFY_CQ") == 1
    victim.run("dmesg | grep -q 'REQ_NOTIFY_CQ failed$'")
    unload(victim)
    before = daemon.counts()
    victim.run("modprobe -a virtio_roce ib_uverbs; udevadm settle")
    victim.wait_until("dmesg | grep -q 'REQ_NOTIFY_CQ failed for CQ'", 30)
    daemon.order({})
    assert happened(daemon, before, "REFUSE_REQ_NOTIFY_CQ") > 0
    victim.assert_kernel_clean()
    assert_works(victim)


@pytest.mark.long
def test_one_answer_never_comes(daemon, victim, form):
    """Of a device that answers all else: the caller fails, and a reset starts it again.

    The driver takes it for one without a daemon, which QEMU could not start.
    """
    if form == "virtqueues":
        pytest.skip("without SRQs and windows")
    before = daemon.counts()
    daemon.order({"SILENT_QUERY_QP": 1000})
    start = time.monotonic()
    result = letgo(victim, check=False)
    daemon.order({})
    assert "query QP: " in result.stdout, str(result)
    assert 25 < time.monotonic() - start < 90, str(result)
    assert happened(daemon, before, "SILENT_QUERY_QP") == 1
    victim.assert_kernel_clean()
    victim.run("echo 1 > $(ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*/reset)", timeout=60)
    victim.wait_until("rdma link | grep -q 'state ACTIVE'", 60)
    assert_works(victim)


def test_while_it_loads(daemon, victim):
    """Answers and configuration space of a device that the driver gets to know."""
    unload(victim)
    count = 0
    missing = {*CONFIG, *(ANSWERS if paths.LONG else ())}
    for _ in range(100 if paths.LONG else 10):
        lies = Lies(daemon, {**ANSWERS, "ANSWER_BITS": 200, "ANSWER_VALUE": 200, **CONFIG})
        victim.run("modprobe -a virtio_roce ib_uverbs rdma_ucm; sleep 1", check=False)
        count += lies.count()
        missing &= set(lies.missing())
        lies.end()
        unload(victim)
        if count and not missing and not paths.LONG:
            break
    victim.load_modules()
    assert_works(victim)
    assert count > 0 and not missing, (count, missing)
