# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""fi_pingpong and libfabric's own tests over its provider for verbs.

The latter are built from Debian's sources, because no package has them.  "make fabtests"
runs all of them.
"""

import re

import pytest

from fabtests import run, suite

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


@pytest.fixture(scope="module")
def fabtests(apps):
    """The guests, with libfabric's own tests."""
    suite.install(apps.pair.guests)
    return apps


# Those of the required tests that are content with the memory of these guests.
SMALL = re.compile("fi_(av_xfer|cm_data|cq_data|msg|multi_recv|rdm|rdm_multi_client|rdm_rma_event"
                   "|rdm_tagged_peek|shared_ctx|unexpected_msg)( -[^S].*)?")
SHORT = ("verbs: fi_msg", "verbs;ofi_rxm: fi_rdm")


def small():
    """Each of them by name; most are of the long form."""
    for name in sorted(run.required()):
        if SMALL.fullmatch(name.split(": ")[1]):
            yield pytest.param(name, marks=() if name in SHORT else pytest.mark.long)


@pytest.mark.parametrize("name", small())
def test_fabtests(fabtests, name):
    """They compare contents, where they have any."""
    with fabtests.traffic(1):
        outcome = suite.run(*fabtests.pair.guests, *name.split(": "))
    assert outcome.result == "passed", outcome.text
    assert "rxm" not in name or "before it ends" in outcome.text, outcome.text


@pytest.mark.long
@pytest.mark.parametrize("operation", ["write", "writedata", "read"])
@pytest.mark.parametrize("provider, endpoint", [("verbs", "msg"), ("verbs;ofi_rxm", "rdm")])
def test_rma(fabtests, provider, endpoint, operation):
    """RDMA WRITE, WRITE with immediate data, and READ; -v compares contents.

    For that it wants FI_DELIVERY_COMPLETE of WRITE and READ, which "verbs" does not have.
    """
    for size in (4096, 1 << 20):
        rma(fabtests, provider, endpoint, operation, size, 200)


def rma(apps, provider, endpoint, operation, size, count):
    """So many operations of a size, each counted."""
    verify = "" if endpoint == "msg" and operation != "writedata" else "-v"
    line = (f"exec fi_rma_bw -p '{provider}' -e {endpoint} -o {operation} -S {size} -I {count}"
            f" -W 16 {verify}")
    with apps.traffic(size=count * size):
        output = apps.both(line, f"{line} {apps.b.address}")
    assert re.search(rf"^bytes .*\n\S+ +{count} ", output, re.MULTILINE), output
