# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""CQs that hold more completions than a virtqueue has entries, and CQs that are made larger.

Only virtqueues hold some back, and have room for requests whose completions nobody read.
"""

import pathlib

import pytest

import lab
from lab.longform import mostly_long
from lab.perftest import check, perftest
from lab.pingpong import gid_index

PROGRAM = pathlib.Path(__file__).parent / "guest" / "large_cq.py"


@pytest.fixture(scope="module", name="virtqueue_pair")
def _virtqueue_pair():
    pair = lab.Pair("virtqueues", limits=lab.VIRTQUEUES).start()
    pair.load_modules()
    yield pair
    pair.stop()


def _run(guest, mode):
    """All completions arrive, in order; see the program."""
    device = guest.rdma_device()
    result = guest.run(["python3", guest.put(PROGRAM), mode, device, gid_index(guest, device)],
                       timeout=300)
    assert result.stdout.splitlines()[-1:] == ["good"], str(result)


@pytest.mark.parametrize("mode", mostly_long(
    ["late", "resize", "grow", "events", "solicited", "destroy", "overrun"],
    short=["late", "events", "overrun"]))
def test_more_completions_than_slots(virtqueue_pair, mode):
    """The device keeps those that find no slot."""
    _run(virtqueue_pair.a, mode)


def test_grows(rdma_pair):
    """A CQ gets another ring while it is in use."""
    _run(rdma_pair.a, "grow")


@pytest.mark.long
def test_perftest(virtqueue_pair):
    """ib_write_bw asks for a CQ that holds all requests of its QPs."""
    check(perftest(virtqueue_pair, "ib_write_bw", "-q", 8, "-t", 512, "-n", 1000, "-s", 1024),
          [1024], 8000)
