# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tests of applications go red when the other end is killed in the middle, or bytes are wrong.

tests/README.rst has the list.
"""

import pytest

import lab
import test_libfabric
import test_mpi
import test_qperf
import test_sockets
import test_storage
import test_ucx
from fabtests import suite

pytestmark = pytest.mark.long

RED = (AssertionError, lab.GuestError)


def _fi_rma_bw(apps):
    suite.install(apps.pair.guests)
    test_libfabric.rma(apps, "verbs", "msg", "write", 65536, 200000)


def _fabtests(apps):
    suite.install(apps.pair.guests)
    outcome = suite.run(*apps.pair.guests, "verbs", "fi_msg_pingpong -S 4096 -I 200000")
    assert outcome.result == "passed", outcome.text


# As "comm" in /proc has it, which ends after 15 characters.
PROGRAMS = {
    "fi_pingpong": lambda apps: test_libfabric.test_pingpong(apps, "msg", test_libfabric.MESSAGES),
    "fi_rma_bw": _fi_rma_bw,
    "fi_msg_pingpong": _fabtests,
    "qperf": lambda apps: test_qperf.test_qperf(apps, ["rc_lat", "rc_bw"]),
    "ucx_perftest": lambda apps: test_ucx.test_perftest(apps, "rc_v", "tag_bw", 65536, 20000),
    # More than 64 MiB, which have arrived before the killer has looked twice.
    "fio": lambda apps: test_storage.fio(apps, "write", 16 << 30),
    "rstream": lambda apps: test_sockets.rstream(apps, 999),
    "mpi-mpich": lambda apps: test_mpi.run(apps, "mpich", test_mpi.RC, ROUNDS),
    "mpi-openmpi": lambda apps: test_mpi.run(apps, "openmpi", test_mpi.UD, ROUNDS),
}

# Some seconds of messages.
ROUNDS = "65536 " * 500


@pytest.mark.parametrize("program", PROGRAMS)
def test_peer_is_killed(apps, program):
    """As soon as it has a QP."""
    killer = apps.b.popen(f"until rdma resource show qp | grep 'comm {program}'"
                          f" | grep -q 'state RT[RS]'; do :; done; pkill -KILL {program}")
    with pytest.raises(RED) as red:
        PROGRAMS[program](apps)
    print(f"volume: {program}: {str(red.value).splitlines()[0][:150]}")
    killer.wait(20, check=True)
    lab.kill_commands()


@pytest.mark.parametrize("name", test_mpi.LAUNCHERS)
def test_wrong_bytes_of_mpi(apps, name):
    """A byte of what the last rank sends is wrong: another rank says so, and all end."""
    with pytest.raises(RED, match="byte .* is wrong"):
        test_mpi.run(apps, name, test_mpi.UD, "--wrong 4096")


def test_mpi_by_tcp(apps):
    """A job that gets all its data right, but not by RDMA."""
    with pytest.raises(AssertionError, match="sent_pkts"):
        with apps.traffic(100):
            test_mpi.run(apps, "mpich", {"UCX_NET_DEVICES": apps.interface}, "8 4096")


def test_wrong_bytes_of_nvme(apps):
    """The target's disk is overwritten behind fio's back: each block has a checksum."""
    with test_storage.nvme_disk(apps):
        spoil = apps.b.popen("while :; do dd if=/dev/zero of=/dev/lab bs=1M count=64"
                             " oflag=direct status=none; done")
        try:
            with pytest.raises(RED, match="verify"):
                test_storage.fio_verifies(apps)
        finally:
            spoil.kill()
            spoil.wait(20)
