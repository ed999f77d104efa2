# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""qperf, with connections by the connection manager.

Without -cm 1 it makes address vectors that no RoCE device accepts.

Its server tells the client a port before it listens there.  A client that is faster than
that is rejected, also by other devices, and another attempt is made.
"""

import re

import pytest

PORT = 19765
ATTEMPTS = 5


@pytest.mark.parametrize("tests", [
    ["rc_lat", "rc_bw"],
    pytest.param(["rc_bi_bw", "rc_rdma_write_lat", "rc_rdma_write_poll_lat",
                  "rc_rdma_write_bw", "rc_rdma_read_lat", "rc_rdma_read_bw"],
                 marks=pytest.mark.long),
], ids=lambda tests: tests[0])
def test_qperf(apps, tests):
    """Latencies and bandwidths; each runs for a second."""
    client = (f"for i in {{1..{ATTEMPTS}}}; do qperf {apps.b.address} -t 1 -cm 1 {' '.join(tests)}"
              " > /tmp/qperf 2>&1; rc=$?; grep -q 'Event rejected' /tmp/qperf || break; done; cat /tmp/qperf; exit $rc")
    with apps.traffic(100 * len(tests)):
        output = apps.both("exec qperf", client, listens=PORT)
    found = re.findall(r"^(\w+):\n +(?:bw|latency) += +[\d.]+ ", output, re.MULTILINE)
    assert found == tests, output
