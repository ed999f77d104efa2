# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The subjects of blktests' nvme group, with RDMA and the daemon's own target.

blktests itself is not run, and nothing here is taken from it. Documentation/storage.rst, "blktests'
nvme group", says which number is which test, and which do not apply.
"""

import json
import os
import signal
import time

import pytest

import lab
from lab import paths
from lab.host_disk import ADDRESS, NQN, connect, connected, counted, disconnect, storage_process
from lab.longform import mostly_long
from lab.nvme import DEVICE
from lab.paths import LONG
from lab.patience import Deadline

DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"
CONTROLLER = "/sys/class/nvme/nvme0"
# The first target is at all of them, so that a log page of discovery is longer than 4 KiB.
ADDRESSES = [f"10.77.0.{number}" for number in range(100, 106)]
# Another one, which has a null namespace beside the file.
BOTH = {"nqn": "nqn.2026-11.org.example:both", "address": "10.77.0.110"}
BLOCK = 512
BLOCKS = (64 << 20) // BLOCK

# Writes and reads until it is told to stop, and compares: each write is of something else.
VERIFIER = (
    "rm -f /tmp/enough; until [ -e /tmp/enough ]; do head -c 1M /dev/urandom > /tmp/data &&"
    f" dd if=/tmp/data of={DEVICE} bs=16k oflag=direct conv=notrunc status=none &&"
    f" dd if={DEVICE} bs=16k count=64 iflag=direct status=none | cmp - /tmp/data || exit 1; done")
# Requests that the namespace has done.
REQUESTS = "awk '{ print $1 + $5 }' /sys/block/nvme0n1/stat"


@pytest.fixture(scope="module", name="pair")
def _pair():
    """Two guests; targets with a file, and with that and with nothing at all."""
    disk = paths.run_directory("nvme-group-disk") / "disk"
    with open(disk, "wb") as file:
        file.truncate(BLOCKS * BLOCK)
    addresses = ",".join(f"address={address}" for address in ADDRESSES)
    pair = lab.Pair("nvme-group", daemon_arguments=[
        "--namespace", f"disk=file:{disk}",
        "--namespace", "nothing=null:32M",
        "--nvmf-target", f"nqn={NQN},{addresses},namespace=disk",
        "--nvmf-target", f"nqn={BOTH['nqn']},address={BOTH['address']},"
                         "namespace=disk,namespace=nothing",
    ]).start()
    pair.load_modules()
    for guest in pair.guests:
        guest.run("modprobe nvme-rdma")
    pair.disk = disk
    yield pair
    pair.stop()


def works(guest):
    """The disk is written to and read."""
    guest.run("head -c 64k /dev/urandom > /tmp/few &&"
              f" dd if=/tmp/few of={DEVICE} bs=64k seek=20 oflag=direct conv=notrunc status=none &&"
              f" dd if={DEVICE} bs=64k skip=20 count=1 iflag=direct status=none | cmp - /tmp/few")


def goes_on(guest, run):
    """Requests are done, and the program that asks for them has not ended."""
    guest.wait_until(f"a=$({REQUESTS}); sleep 0.1; [ $({REQUESTS}) != $a ]", 60)
    assert run.poll() is None, run.stderr


RESET = "nvme reset /dev/nvme0"


def reset(guest):
    """The host connects anew."""
    guest.run(RESET, timeout=120)
    guest.wait_output(f"cat {CONTROLLER}/state", "live", 60)


def told(guest, arguments):
    """The answer of nvme-cli, in JSON."""
    return json.loads(guest.run(f"nvme {arguments} -o json").stdout)


# Which block device has which namespace differs from time to time.
NAMESPACES = "grep -H . /sys/block/nvme0n*/nsid"


def test_names(pair):
    """Each namespace has an identifier, the same after connecting anew and in another guest."""
    said = []
    for guest in (pair.a, pair.a, pair.b):
        with connected(guest, **BOTH):
            guest.wait_until(f"[ $({NAMESPACES} | wc -l) = 2 ]")
            said.append(guest.run("cd /sys/block; for n in nvme0n*; do"
                                  " echo $(cat $n/nsid $n/uuid $n/wwid); done | sort").stdout)
            for device in ("nvme0n1", "nvme0n2"):
                guest.run(f"dd if=/dev/zero of=/dev/{device} bs=64k count=64 conv=fsync,notrunc"
                          f" status=none && nvme flush /dev/{device}")
    (one, first, wwid), (two, second, _) = (line.split() for line in said[0].splitlines())
    assert said[0] == said[1] == said[2] and (one, two) == ("1", "2") and first != second, said
    assert wwid == f"uuid.{first}", said


def test_long_discovery(pair):
    """There is a record for each address; an unknown subsystem is refused, and said so."""
    wanted = sorted([*ADDRESSES, BOTH["address"]])
    for address in (ADDRESSES[0], BOTH["address"]):
        log = told(pair.a, f"discover -t rdma -a {address} -s 4420")
        assert sorted(record["traddr"] for record in log["records"]) == wanted, log
        assert {record["subnqn"] for record in log["records"]} == {NQN, BOTH["nqn"]}, log
    said = connect(pair.a, nqn=NQN + "x", check=False)
    assert said.rc and said.stderr, said


def test_discovery_controller(pair):
    """It stays, with keep-alives, and has no namespace."""
    connect(pair.a, "--keep-alive-tmo=10", nqn=DISCOVERY)
    try:
        # The first keep-alive goes out after 5 s, and may take 10 s.
        pair.a.run("sleep 16; nvme admin-passthru /dev/nvme0 --opcode=0x18")
        pair.a.wait_output(f"cat {CONTROLLER}/state", "live")
        pair.a.run("nvme get-log /dev/nvme0 --log-id=0x70 --log-len=1024 > /dev/null")
        assert not pair.a.run("ls /dev/nvme*n*", check=False).stdout
        assert "keep_alive" not in pair.a.dmesg_tail(10), pair.a.dmesg_tail(10)
    finally:
        disconnect(pair.a, DISCOVERY)


def test_queries(pair):
    """All that nvme-cli asks for is answered."""
    guest = pair.a
    with connected(guest):
        for command in ("id-ctrl /dev/nvme0", f"id-ns {DEVICE}", "list-ns /dev/nvme0",
                        f"ns-descs {DEVICE}", "smart-log /dev/nvme0",
                        f"smart-log {DEVICE}", "error-log /dev/nvme0", "fw-log /dev/nvme0",
                        "changed-ns-list-log /dev/nvme0", "effects-log /dev/nvme0",
                        "show-regs /dev/nvme0", "get-feature /dev/nvme0 -f 7",
                        "get-feature /dev/nvme0 -f 0xb", "get-feature /dev/nvme0 -f 0xf"):
            guest.run(f"nvme {command}")
        assert DEVICE in guest.run("nvme list").stdout
        assert NQN in guest.run("nvme list-subsys").stdout
        assert guest.run("nvme admin-passthru /dev/nvme0 --opcode=0xc1", check=False).rc
        assert guest.run(f"nvme io-passthru {DEVICE} -n 1 --opcode=0x85", check=False).rc
        works(guest)


def test_reset(pair):
    """Reset again and again by its own host; the other one notices nothing."""
    with connected(pair.a), connected(pair.b):
        reader = pair.b.popen(
            f"rm -f /tmp/enough; until [ -e /tmp/enough ]; do dd if={DEVICE} of=/dev/null bs=64k"
            " iflag=direct count=100 status=none || exit 1; done")
        for _ in range(20 if LONG else 3):
            reset(pair.a)
        works(pair.a)
        goes_on(pair.b, reader)
        pair.b.run("touch /tmp/enough")
        reader.wait(60, check=True)


def rescan(guest):
    """The host looks for namespaces."""
    guest.run("nvme ns-rescan /dev/nvme0")


@pytest.mark.parametrize("what", mostly_long([reset, rescan], short=[reset]))
def test_under_load(pair, what):
    """Reset, and told to look for namespaces, while it works: nothing fails or is lost."""
    guest = pair.a
    with connected(guest):
        verifier = guest.popen(VERIFIER)
        for _ in range(20 if LONG else 3):
            goes_on(guest, verifier)
            what(guest)
        goes_on(guest, verifier)
        guest.run("touch /tmp/enough")
        verifier.wait(120, check=True)


def test_reset_while_the_storage_is_busy(pair):
    """A write is under way when the host connects anew, which waits until that is done."""
    guest = pair.a
    with connected(guest):
        verifier = guest.popen(VERIFIER)
        goes_on(guest, verifier)
        pid = storage_process(pair)
        os.kill(pid, signal.SIGSTOP)
        try:
            # A request that is under way now stays so.
            guest.wait_until("grep -q '[1-9]' /sys/block/nvme0n1/inflight")
            before = counted(pair)["waits"]
            anew = guest.popen(RESET)
            deadline = Deadline(60)
            while counted(pair)["waits"] == before:
                assert not deadline.over() and anew.poll() is None, counted(pair)
                time.sleep(0.1)
        finally:
            os.kill(pid, signal.SIGCONT)
        anew.wait(120, check=True)
        guest.wait_output(f"cat {CONTROLLER}/state", "live", 60)
        goes_on(guest, verifier)
        guest.run("touch /tmp/enough")
        verifier.wait(120, check=True)


def test_deleted(pair):
    """Deleted by sysfs while it works, is reset and looks for namespaces; nothing is left."""
    before = counted(pair)["connections"]
    for cycle in range(20 if LONG else 4):
        connect(pair.a)
        pair.a.wait_until(f"[ -b {DEVICE} ]")
        reader = pair.a.popen(f"dd if={DEVICE} of=/dev/null bs=64k iflag=direct")
        if cycle % 2:
            pair.a.run(f"echo 1 > {CONTROLLER}/reset_controller")
        pair.a.run(f"echo 1 > {CONTROLLER}/rescan_controller;"
                   f" echo 1 > {CONTROLLER}/delete_controller", check=False)
        reader.wait(60)
        pair.a.wait_until(f"[ ! -e {CONTROLLER} ] && ! ls /dev/nvme*n* > /dev/null 2>&1")
    deadline = Deadline(60)
    while counted(pair)["connections"] != before:
        assert not deadline.over(), counted(pair)
        time.sleep(0.1)


@pytest.mark.long
def test_deleted_at_once(pair):
    """Deleted as soon as it is there, for hosts of different names."""
    number = "2026-11.org.example:host"
    pair.a.run("set -e; for i in $(seq 6); do nvme connect -t rdma -s 4420"
               f" -a {ADDRESS} -n {NQN} --hostnqn=nqn.{number}$i"
               " --hostid=11111111-2222-4333-8444-$(printf %012d $i);"
               f" nvme disconnect -n {NQN}; done", timeout=120)
    with connected(pair.a):
        works(pair.a)


@pytest.mark.long
def test_twice(pair):
    """Connected once more by the same host: only if it insists, and both are one disk."""
    guest = pair.a
    with connected(guest):
        assert connect(guest, check=False).rc
        connect(guest, "--duplicate-connect")
        guest.wait_output("grep -l live /sys/class/nvme/nvme*/state | wc -l", "2")
        works(guest)


ALL_KINDS = (["--nr-write-queues=1", "--nr-poll-queues=1"], 4, 127)


@pytest.mark.parametrize("arguments, queues, size", mostly_long([
    (["--nr-write-queues=1"], 3, 127),
    ALL_KINDS,
    (["--nr-io-queues=1", "--queue-size=16"], 2, 15),
    (["--queue-size=1024"], 2, 127),
], short=[ALL_KINDS]))
def test_queues(pair, arguments, queues, size):
    """Queues of each kind and size, as many as the host wants and the target has."""
    guest = pair.a
    processors = int(guest.run("nproc").stdout)
    with connected(guest, *arguments):
        said = guest.run(f"cat {CONTROLLER}/queue_count {CONTROLLER}/sqsize").stdout.split()
        assert said == [str(queues), str(size)] or processors > 1 and int(said[1]) == size, said
        works(guest)


def test_wrong_parameters(pair):
    """The host does not connect, and says so; the target has no connection more."""
    before = counted(pair)["connections"]
    for argument in ("--queue-size=8", "--queue-size=1025", "--hostid=nonsense",
                     "--hostnqn=" + 300 * "x"):
        said = connect(pair.a, argument, check=False)
        assert said.rc and said.stderr, said
    assert counted(pair)["connections"] == before


def test_passthrough(pair):
    """Commands of a program: of odd sizes, and beyond the end."""
    guest = pair.a

    def command(what, start, count, file, check=True):
        return guest.run(f"nvme {what} {DEVICE} --start-block={start} --block-count={count - 1}"
                         f" --data-size={count * BLOCK} --data={file}", check=check)

    with connected(guest):
        for start, count in ((1, 512), (1, 511), (1, 513), (511, 1024), (511, 1023), (511, 1025),
                             (BLOCKS - 7, 7)):
            guest.run(f"head -c {count * BLOCK} /dev/urandom > /tmp/data")
            command("write", start, count, "/tmp/data")
            guest.run(f"nvme flush {DEVICE} -n 1")
            command("read", start, count, "/tmp/back")
            guest.run(f"cmp -n {count * BLOCK} /tmp/data /tmp/back")
        for what in ("read", "write"):
            for start in (BLOCKS, BLOCKS - 1, 1 << 40, (1 << 64) - 1):
                said = command(what, start, 2, "/tmp/data", check=False)
                assert said.rc and "LBA" in said.stderr, said
        works(guest)


def test_unprivileged(pair):
    """A user who may open the character device reads by it, and does not write."""
    guest, user = pair.a, "setpriv --reuid=65534 --regid=65534 --clear-groups"
    with connected(guest):
        guest.wait_until("[ -c /dev/ng0n1 ]")
        guest.run("chmod 644 /dev/ng0n1")
        passthru = f"{user} nvme io-passthru /dev/ng0n1 -n 1 --data-len=4096 --cdw12=7"
        guest.run(f"{passthru} --opcode=2 --read > /dev/null")
        guest.run(f"{user} nvme id-ns /dev/ng0n1 > /dev/null")
        assert guest.run(f"{passthru} --opcode=1 --write < /dev/zero", check=False).rc


def test_zeroes(pair):
    """Deallocated and written zeroes to, by a program and by the kernel: just that is zeroes."""
    guest, size = pair.a, 1 << 20

    def check(command, *ranges):
        clear = "".join(f"dd if=/dev/zero of=/tmp/data bs={BLOCK} seek={first} count={count}"
                        " conv=notrunc status=none && " for first, count in ranges)
        guest.run(f"head -c {size} /dev/urandom > /tmp/data &&"
                  f" dd if=/tmp/data of={DEVICE} bs={size} oflag=direct status=none &&"
                  f" {command} > /dev/null && {clear}"
                  f" dd if={DEVICE} bs={size} count=1 iflag=direct status=none | cmp - /tmp/data")

    with connected(guest):
        check(f"nvme dsm {DEVICE} -n 1 --ad --slbs=8,16,32,64,128,256,512,768,1024,2040"
              " --blocks=8,8,8,8,8,8,8,8,8,8",
              (8, 16), *((first, 8) for first in (32, 64, 128, 256, 512, 768, 1024, 2040)))
        check(f"nvme write-zeroes {DEVICE} -n 1 -s 3 -c 99", (3, 100))
        for option in ("", "-z"):
            check(f"blkdiscard -f {option} -o 65536 -l 524288 {DEVICE}", (128, 1024))
        for command in (f"dsm {DEVICE} -n 1 --ad --slbs={BLOCKS} --blocks=8",
                        f"write-zeroes {DEVICE} -n 1 -s {BLOCKS} -c 7"):
            said = guest.run(f"nvme {command}", check=False)
            assert said.rc and "LBA" in said.stderr, said
