# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""qperf, with connections by the connection manager.

Without -cm 1 it makes address vectors that no RoCE device accepts.

Its server tells the client a port before it listens there.  A client that is faster than
that is rejected, also by other devices, and another attempt is made.
"""

import re

import pytest

from lab.again import attempts

PORT = 19765


@pytest.mark.parametrize("tests", [
    ["rc_lat", "rc_bw"],
    pytest.param(["rc_bi_bw", "rc_rdma_write_lat", "rc_rdma_write_poll_lat",
                  "rc_rdma_write_bw", "rc_rdma_read_lat", "rc_rdma_read_bw"],
                 marks=pytest.mark.long),
], ids=lambda tests: tests[0])
def test_qperf(apps, tests):
    """Latencies and bandwidths; each runs for a second."""
    # Both ends register 64 MiB, for which a guest may need longer than the usual 5 s.
    client = f"qperf {apps.b.address} -t 1 --timeout 60 -cm 1 {' '.join(tests)}"
    server = apps.b.popen("exec qperf")
    apps.b.wait_listening(PORT)
    with apps.traffic(100 * len(tests)):
        for _ in attempts("qperf's server listens too late"):
            result = apps.a.run(client, check=False)
            if "Event rejected" not in result.stdout + result.stderr:
                break
    server.kill()
    server.wait(20)
    assert result.rc == 0, str(result)
    output = result.stdout
    found = re.findall(r"^(\w+):\n +(?:bw|latency) += +[\d.]+ ", output, re.MULTILINE)
    assert found == tests, output
