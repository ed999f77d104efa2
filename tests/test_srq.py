# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Shared receive queues: unchanged programs between two guests, limit, QPs that go."""

import pytest

from lab.longform import mostly_long
from lab.nvme import DEVICE, connect, disconnect, target_end, target_start
from lab.paths import LONG
from lab.perftest import check, perftest
from lab.pingpong import pingpong
from test_verbs import run


@pytest.mark.parametrize("qps, size", mostly_long([(1, 64), (16, 4096), (64, 65536)],
                                                  short=[(16, 4096)]))
def test_pingpong(rdma_pair, qps, size):
    """libibverbs' own, each byte compared; asleep and polling."""
    for events in (False, True):
        pingpong(rdma_pair.b, rdma_pair.a, program="srq", size=size, iterations=200,
                 events=events, validate=True, arguments=("-q", qps))


@pytest.mark.parametrize("connection, qps", [("RC", 4), ("UD", 1)])
def test_perftest(rdma_pair, connection, qps):
    """perftest with an SRQ.

    The SRQ has no more requests than a QP has messages, and perftest waits for datagrams
    that found none: so those have one QP.
    """
    size = 1024
    table = perftest(rdma_pair, "ib_send_bw", "--use-srq", "-c", connection, "-q", qps,
                     "-s", size, "-n", 200, "-r", 256, "-t", 32)
    check(table, [size], 200 * qps)


def test_nvme_target(rdma_pair):
    """A consumer in the kernel: the NVMe target has one SRQ for each vector."""
    target, host = rdma_pair.b, rdma_pair.a
    host.run("modprobe nvme-rdma")
    target_start(target, 64, parameters="use_srq=Y")
    try:
        connect(host, target)
        queues = target.run("rdma resource show srq").stdout
        assert "nvmet" in queues, queues
        host.run(f"head -c 16M /dev/urandom > /tmp/data && dd if=/tmp/data of={DEVICE} bs=128k"
                 " oflag=direct")
        host.run(f"dd if={DEVICE} of=/tmp/back bs=64k count=256 iflag=direct &&"
                 " cmp /tmp/data /tmp/back && rm /tmp/data /tmp/back")
        disconnect(host)
    finally:
        target_end(target)


def test_limit(rdma_pair):
    """64 QPs, the limit reached and armed again; each message in the request it names."""
    rounds = 10000 if LONG else 20
    said = run(rdma_pair.a, "srq", "limit", 64, rounds, timeout=3600 if LONG else 120)
    assert said.startswith(f"the limit was reached {rounds} times\n"), said


def test_qps_go(rdma_pair):
    """QPs in error and destroyed ones leave the SRQ to others."""
    rounds = 200 if LONG else 10
    said = run(rdma_pair.a, "srq", "life", 16, rounds, timeout=600)
    assert said == f"{rounds * 13} messages by 16 QPs\n"


def test_resize(rdma_pair):
    """Larger and smaller, with completions that are not polled and requests not taken."""
    rounds = 4000 if LONG else 60
    said = run(rdma_pair.a, "srq", "resize", 16, rounds, timeout=1200)
    assert said.endswith(" messages by 16 QPs\n"), said
