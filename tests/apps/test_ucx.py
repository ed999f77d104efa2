# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ucx_perftest over UD."""

import re

import pytest

from lab.apps import on_terminal

PORT = 13337

# A receive queue is 1024 deep at most, and UCX asks for 4096.
SETTINGS = "UCX_TLS=ud_verbs UCX_UD_VERBS_RX_QUEUE_LEN=1024"


@pytest.mark.parametrize("test, size, count", [
    ("tag_lat", 8, 1000),
    ("tag_bw", 65536, 200),
    pytest.param("am_lat", 1024, 1000, marks=pytest.mark.long),
    pytest.param("tag_lat", 1 << 20, 50, marks=pytest.mark.long),
    pytest.param("ucp_put_bw", 4096, 1000, marks=pytest.mark.long),
    pytest.param("ucp_get", 4096, 500, marks=pytest.mark.long),
    pytest.param("stream_bw", 4096, 1000, marks=pytest.mark.long),
])
def test_perftest_ud(apps, test, size, count):
    """Messages of one packet and of many; puts and gets, which UCX builds from messages."""
    test = {"am_lat": "ucp_am_lat"}.get(test, test)
    line = (f"export {SETTINGS} UCX_NET_DEVICES={apps.device}:1;"
            f" exec ucx_perftest -p {PORT} -t {test} -s {size} -n {count}")
    with apps.traffic(count, size * count):
        output = apps.both(on_terminal(line), on_terminal(f"{line} {apps.b.address}"),
                           listens=PORT)
    assert re.search(rf"^Final: +{count} ", output, re.MULTILINE), output
