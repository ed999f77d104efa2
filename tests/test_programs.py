# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Habits of programs of others that devices of others allow."""


import pytest

from lab import paths
from lab.pingpong import gid_index
from lab.programs import counters


MAD = 256


@pytest.mark.parametrize("case", ["datagram", "inline", "arm", "rate",
                                  *(pytest.param(name, marks=pytest.mark.debug_kernel)
                                    for name in ("destroy", "shared", "window"))])
def test_habits(rdma_pair, case):
    """tests/guest/habits.c says what each case is."""
    guest = rdma_pair.a
    program = guest.put(paths.program("habits"))
    device = guest.rdma_device()
    said = guest.run([program, device, gid_index(guest, device), case], timeout=120,
                     check=False)
    assert said.stdout == f"{case}\n", str(said)


@pytest.mark.parametrize("kind", ["r", "x"])
def test_xclient(rdma_pair, kind):
    """Two examples of librdmacm, by RC and XRC: inline data of a QP that asked for none."""
    server = rdma_pair.b.popen(["rdma_xserver", "-c", kind])
    rdma_pair.b.wait_listening_cm()
    before = counters(rdma_pair.a)
    rdma_pair.a.run(["rdma_xclient", "-s", rdma_pair.b.address, "-c", kind])
    server.wait(30, check=True)
    after = counters(rdma_pair.a)
    # A message of the connection manager has 256 bytes; those of the program have 16.
    sent = after["sent_bytes"] - before["sent_bytes"]
    assert sent % MAD == 16, (before, after)
