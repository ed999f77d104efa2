# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A program of eight ranks, four in each guest (mpi.c), with the MPIs of Debian."""

import pytest

from lab.again import attempts

# Only our device between the guests.
RC = {"UCX_TLS": "rc_v,sm,self"}
UD = {"UCX_TLS": "ud_v,sm,self"}


def mpich(apps, environment):
    """Its command line up to the program."""
    variables = " ".join(f"-genv {name} {value}" for name, value in environment.items())
    return f"mpirun.mpich -n 8 -ppn 4 -hosts {apps.a.name},{apps.b.name} {variables}"


def openmpi(apps, environment):
    """The same for Open MPI, which uses UCX by default only on devices that it knows."""
    variables = " ".join(f"-x {name}={value}" for name, value in environment.items())
    return ("mpirun.openmpi --allow-run-as-root --bind-to none --mca pml ucx --mca osc ucx"
            f" -n 8 --host {apps.a.name}:4,{apps.b.name}:4 {variables}")


OFI = ("mpirun.openmpi --allow-run-as-root --bind-to none --mca pml cm --mca mtl ofi"
       " --mca mtl_ofi_provider_include 'verbs;ofi_rxm' -n 8 --host {hosts} {program}")

LAUNCHERS = {"mpich": mpich, "openmpi": openmpi}


# UCX 1.18 at times aborts in a flush of all endpoints, which only Open MPI's puts and gets
# ask for.
ABORTED = "Assertion `cfg_index != UCP_WORKER_CFG_INDEX_NULL' failed"


def run(apps, name, environment, arguments):
    """Runs the program and checks the output of all ranks."""
    program = apps.install(f"mpi-{name}")
    line = f"{LAUNCHERS[name](apps, environment)} {program} {arguments}"
    for _ in attempts("UCX aborts in a flush"):
        result = apps.a.run(f"{line} 2>&1", timeout=300, check=False)
        if ABORTED not in result.stdout:
            break
    assert result.rc == 0, str(result)
    lines = result.stdout.splitlines()
    assert "good" in lines, str(result)
    for guest, ranks in zip(apps.pair.guests, (range(4), range(4, 8))):
        for rank in ranks:
            assert f"rank {rank} of 8 on {guest.name}" in lines, str(result)
    return result


LONG = pytest.mark.long


@pytest.mark.parametrize("name, environment", [
    ("mpich", RC), ("openmpi", UD),
    pytest.param("mpich", UD, marks=LONG), pytest.param("openmpi", RC, marks=LONG)],
    ids=["mpich-rc", "openmpi-ud", "mpich-ud", "openmpi-rc"])
def test_messages(apps, name, environment):
    """Ring and alltoall over RDMA, in messages of a packet and of several."""
    with apps.traffic(100):
        run(apps, name, environment, "8 4096")


@pytest.mark.long
@pytest.mark.parametrize("environment", [RC, UD], ids=["rc", "ud"])
@pytest.mark.parametrize("name", LAUNCHERS)
def test_long_messages(apps, name, environment):
    """Large messages, which an MPI announces before it sends them."""
    with apps.traffic(1000):
        run(apps, name, environment, "65536 300000")


@pytest.mark.long
@pytest.mark.parametrize("name", LAUNCHERS)
def test_one_sided(apps, name):
    """Puts and gets, which are RDMA WRITE and READ."""
    with apps.traffic(100):
        run(apps, name, RC, "--one-sided 8 4096 65536")


# Open MPI's osc/ucx asks UCX for a fence between the parts of such an operation, and UCX 1.18
# takes a strong one, which flushes the remote side, unless told otherwise.
ROUND = {
    "weak": RC | {"UCX_FENCE_MODE": "weak"},
    "no-proto": RC | {"UCX_PROTO_ENABLE": "n"},
    "ud": {"UCX_TLS": "ud_v,self,sm"},
}


REFUSED = "flush(remote) is not supported"


@pytest.mark.long
@pytest.mark.parametrize("way", ROUND)
def test_accumulate(apps, way):
    """It is as guest.rst says about "flush(remote) is not supported"."""
    with apps.traffic(100):
        result = run(apps, "openmpi", ROUND[way], "--accumulate 1 2 3")
    assert REFUSED not in result.stdout, str(result)


@pytest.mark.long
def test_accumulate_without_a_way_round(apps):
    """UCX says so, or the ways round would not be needed any more."""
    program = apps.install("mpi-openmpi")
    line = f"{openmpi(apps, RC)} {program} --accumulate 1 2 3"
    result = apps.a.run(f"{line} 2>&1", timeout=300, check=False)
    assert REFUSED in result.stdout, str(result)


@pytest.mark.long
def test_mtl_ofi(apps):
    """Open MPI over libfabric, without UCX."""
    program = apps.install("mpi-openmpi")
    line = OFI.format(hosts=f"{apps.a.name}:4,{apps.b.name}:4", program=program)
    with apps.traffic(100):
        result = apps.a.run(f"{line} 8 4096 2>&1", timeout=300, check=False)
    assert result.rc == 0 and "good" in result.stdout.splitlines(), str(result)


@pytest.mark.long
@pytest.mark.parametrize("name", LAUNCHERS)
def test_nothing_set(apps, name):
    """UCX chooses the device by itself."""
    with apps.traffic(100):
        run(apps, name, {}, "8 4096")


@pytest.mark.long
def test_as_before(apps):
    """A job that uses TCP works as it did before the modules were loaded."""
    run(apps, "mpich", {"UCX_NET_DEVICES": apps.interface}, "8 4096")
