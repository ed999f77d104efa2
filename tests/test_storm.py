# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Mixed messages with contents checked, between guests of one daemon."""

from lab.paths import LONG
from lab.storm import storm


def test_storm(rdma_pair):
    """Nothing is lost, doubled or wrong."""
    storm(rdma_pair.b, rdma_pair.a, count=50000 if LONG else 10000)


def test_storm_within_a_guest(rdma_pair):
    """The same between two programs of one guest."""
    storm(rdma_pair.a, rdma_pair.a, count=20000 if LONG else 5000)
