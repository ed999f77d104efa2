# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ucx_perftest over RC, which uses an SRQ, and over UD."""

import re

import pytest

from lab.apps import on_terminal

PORT = 13337

# Name of the test, size, count.
TESTS = [
    ("tag_lat", 8, 1000),
    ("tag_lat", 1 << 20, 50),
    ("tag_bw", 65536, 200),
    ("ucp_am_lat", 1024, 1000),
    ("ucp_put_bw", 4096, 1000),
    ("ucp_get", 65536, 300),
    ("ucp_fadd", 8, 500),
    ("ucp_cswap", 8, 500),
    ("stream_bw", 4096, 1000),
]
SHORT = [("rc_v", "tag_bw"), ("ud_v", "tag_lat")]


def cases():
    """Each test over each transport; most are of the long form."""
    for transport in ("rc_v", "ud_v"):
        for test, size, count in TESTS:
            short = (transport, test) in SHORT and size < 1 << 20
            yield pytest.param(transport, test, size, count,
                               marks=() if short else pytest.mark.long)


@pytest.mark.parametrize("transport, test, size, count", cases())
def test_perftest(apps, transport, test, size, count):
    """Messages of one packet and of many; puts, gets and atomic operations.

    UCX builds these from messages where the transport is UD.
    """
    line = (f"export UCX_TLS={transport} UCX_NET_DEVICES={apps.device}:1;"
            f" exec ucx_perftest -p {PORT} -t {test} -s {size} -n {count}")
    with apps.traffic(count, size * count):
        output = apps.both(on_terminal(line), on_terminal(f"{line} {apps.b.address}"),
                           listens=PORT)
    assert re.search(rf"^Final: +{count} ", output, re.MULTILINE), output
