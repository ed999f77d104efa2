# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sockets over RDMA: rsockets, by the programs that come with them."""

import re

import pytest

pytestmark = pytest.mark.long


def test_rstream(apps):
    """10000 messages there and back, contents compared."""
    line = "exec rstream -T v -I 10 -C 1000 -S 1000"
    with apps.traffic(size=20_000_000):
        output = apps.both(line, f"{line} -s {apps.b.address}")
    assert re.search(r"^custom +1000 +1k +10 ", output, re.MULTILINE), output


def test_rcopy(apps):
    """A file of 32 MiB."""
    apps.a.run("head -c 32M /dev/urandom > /tmp/data")
    with apps.traffic(size=32 << 20):
        apps.both("exec rcopy", f"exec rcopy /tmp/data {apps.b.address}:/tmp/data")
    wanted = apps.a.run("sha256sum /tmp/data && rm /tmp/data").stdout
    assert apps.b.run("sha256sum /tmp/data && rm /tmp/data").stdout == wanted
