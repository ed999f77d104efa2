# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sockets over RDMA: rsockets, by programs that know them and by one that does not."""

import re

import pytest

PRELOAD = "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"

pytestmark = pytest.mark.long


def test_rstream(apps):
    """Streams in all sizes, contents compared."""
    line = "exec rstream -S all -C 50 -T v"
    with apps.traffic(100):
        output = apps.both(line, f"{line} -s {apps.b.address}")
    assert re.search(r"^1m\b", output, re.MULTILINE), output


def test_rcopy(apps):
    """A file of 32 MiB."""
    apps.a.run("head -c 32M /dev/urandom > /tmp/data")
    with apps.traffic(size=32 << 20):
        apps.both("exec rcopy", f"exec rcopy /tmp/data {apps.b.address}:/tmp/data")
    wanted = apps.a.run("sha256sum /tmp/data && rm /tmp/data").stdout
    assert apps.b.run("sha256sum /tmp/data && rm /tmp/data").stdout == wanted


def test_iperf3(apps):
    """A program for TCP, whose sockets are replaced under it."""
    with apps.traffic(size=10 << 20):
        apps.both(f"{PRELOAD} exec iperf3 -s -1",
                  f"{PRELOAD} exec iperf3 -c {apps.b.address} -n 10M")
