# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""qperf, with connections by the connection manager.

Without -cm 1 it makes address vectors that no RoCE device accepts.
"""

import re

import pytest

PORT = 19765


@pytest.mark.parametrize("tests", [
    ["rc_lat", "rc_bw"],
    pytest.param(["rc_bi_bw", "rc_rdma_write_lat", "rc_rdma_write_poll_lat",
                  "rc_rdma_write_bw", "rc_rdma_read_lat", "rc_rdma_read_bw"],
                 marks=pytest.mark.long),
], ids=lambda tests: tests[0])
def test_qperf(apps, tests):
    """Latencies and bandwidths; each runs for a second."""
    with apps.traffic(100 * len(tests)):
        output = apps.both("exec qperf",
                           f"exec qperf {apps.b.address} -t 1 -cm 1 {' '.join(tests)}",
                           listens=PORT)
    found = re.findall(r"^(\w+):\n +(?:bw|latency) += +[\d.]+ ", output, re.MULTILINE)
    assert found == tests, output
