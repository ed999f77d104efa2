# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""fi_pingpong and fi_rma_bw over libfabric's provider for verbs.

fi_rma_bw is built from Debian's sources, because no package has it.
"""

import re

import pytest

PORT = 47592

# At most one datagram, which has 1024 bytes by the RDMA MTU.
DATAGRAMS = ["64", "256", "1k"]
MESSAGES = [*DATAGRAMS, "4k", "64k", "1m"]


@pytest.mark.parametrize("endpoint, sizes", [("msg", MESSAGES), ("dgram", DATAGRAMS)])
def test_pingpong(apps, endpoint, sizes):
    """Connected and not; -c compares contents."""
    line = f"exec fi_pingpong -p verbs -e {endpoint} -c -I 100"
    with apps.traffic(100 * len(sizes)):
        output = apps.both(line, f"{line} {apps.b.address}", listens=PORT)
    assert re.findall(r"^(\w+) +100 +=100 ", output, re.MULTILINE) == sizes, output


@pytest.mark.long
def test_pingpong_rdm(apps):
    """Reliable datagrams, which libfabric builds from messages on many QPs.

    libfabric expects 256 peers, and asks for a CQ with room for the requests of all.
    """
    line = "exec fi_pingpong -p 'verbs;ofi_rxm' -e rdm -c -I 100"
    with apps.traffic(100 * len(MESSAGES)):
        output = apps.both(line, f"{line} {apps.b.address}", listens=PORT)
    assert re.findall(r"^(\w+) +100 +=100 ", output, re.MULTILINE) == MESSAGES, output


@pytest.mark.long
@pytest.mark.parametrize("operation", ["write", "writedata", "read"])
@pytest.mark.parametrize("provider, endpoint", [("verbs", "msg"), ("verbs;ofi_rxm", "rdm")])
def test_rma(apps, provider, endpoint, operation):
    """RDMA WRITE, WRITE with immediate data, and READ; -v compares contents.

    For that it wants FI_DELIVERY_COMPLETE of WRITE and READ, which "verbs" does not have.
    """
    program = apps.install("fi_rma_bw")
    verify = "" if endpoint == "msg" and operation != "writedata" else "-v"
    for size in (4096, 1 << 20):
        line = (f"exec {program} -p '{provider}' -e {endpoint} -o {operation} -S {size} -I 200"
                f" -W 16 {verify}")
        with apps.traffic(size=200 * size):
            output = apps.both(line, f"{line} {apps.b.address}")
        assert re.search(r"^bytes .*\n\S+ +200 ", output, re.MULTILINE), output
