# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Extended reliable connections: unchanged programs, and processes that share a QP."""


import pytest

from lab import paths
from lab.longform import mostly_long
from lab.perftest import check, perftest
from lab.pingpong import PORT, gid_index


def pingpong(pair, clients, *arguments):
    """ibv_xsrq_pingpong: a server in b, all clients in a; each message by another QP."""
    def line(guest):
        name = guest.rdma_device()
        return ["ibv_xsrq_pingpong", "-d", name, "-g", gid_index(guest, name),
                *map(str, arguments)]

    server = pair.b.popen([*line(pair.b), "-c", str(clients)])
    pair.b.wait_listening(PORT)
    ends = [pair.a.popen([*line(pair.a), pair.b.address]) for _ in range(clients)]
    for end in (*ends, server):
        end.wait(120, check=True)


@pytest.mark.parametrize("clients, arguments", [(1, ()), (4, ("-e", "-s", 65536))])
def test_pingpong(rdma_pair, clients, arguments):
    """libibverbs' own: the server's SRQ is for all clients, and they share its QPs."""
    pingpong(rdma_pair, clients, "-n", 100, *arguments)


@pytest.mark.parametrize("operation", mostly_long(["send", "write", "read", "atomic"],
                                                  short=["send", "atomic"]))
def test_perftest(rdma_pair, operation):
    """perftest with -c XRC: each operation names the SRQ of the peer."""
    size = [] if operation == "atomic" else ["-s", 65536]
    table = perftest(rdma_pair, f"ib_{operation}_bw", "-c", "XRC", "-q", 2, "-n", 200,
                     "-t", 32, *size, *(["-r", 64] if operation == "send" else []))
    check(table, [size[1] if size else 8], 400)


@pytest.mark.debug_kernel
def test_processes(rdma_pair):
    """One QP receives for two processes; it outlives the one that made it."""
    guest = rdma_pair.a
    program = guest.put(paths.program("xrc"))
    device = guest.rdma_device()
    result = guest.run([program, device, gid_index(guest, device)], timeout=120)
    assert result.stdout == "shared\n", str(result)
    assert "dev " not in guest.run("rdma resource show srq").stdout
