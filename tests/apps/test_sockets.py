# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sockets over RDMA: rsockets, by programs that know them and one that does not; RDS."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.long

RDS = pathlib.Path(__file__).parents[1] / "guest" / "rds.py"
PRELOAD = "export LD_PRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so.1"
PORT = 7000


def test_rstream(apps):
    """10000 messages there and back, contents compared."""
    rstream(apps, 10)


def rstream(apps, iterations):
    """A thousand messages of 1000 bytes, there and back; so often, which is less than 1000."""
    line = f"exec rstream -T v -I {iterations} -C 1000 -S 1000"
    with apps.traffic(size=iterations * 2_000_000):
        output = apps.both(line, f"{line} -s {apps.b.address}")
    assert re.search(rf"^custom +1000 +1k +{iterations} ", output, re.MULTILINE), output


def test_rcopy(apps):
    """A file of 32 MiB."""
    apps.a.run("head -c 32M /dev/urandom > /tmp/data")
    with apps.traffic(size=32 << 20):
        apps.both("exec rcopy", f"exec rcopy /tmp/data {apps.b.address}:/tmp/data")
    apps.same_data()


def test_tcp_program(apps):
    """netcat, which knows TCP only: 32 MiB."""
    apps.a.run("head -c 32M /dev/urandom > /tmp/data")
    server = apps.b.popen(f"{PRELOAD}; exec nc.traditional -l -p {PORT} > /tmp/data")
    apps.b.wait_listening_cm()
    with apps.traffic(size=32 << 20):
        apps.a.run(f"{PRELOAD}; nc.traditional -q 1 {apps.b.address} {PORT} < /tmp/data")
        server.wait(20, check=True)
    apps.same_data()


def test_rds(apps):
    """500 messages of up to 1 MiB over the kernel's RDS, there and back."""
    guests = apps.pair.guests
    program = [guest.put(RDS) for guest in guests][0]
    for guest in guests:
        guest.run("modprobe rds_rdma")
    try:
        echo = apps.b.popen(["python3", program, apps.b.address])
        echo.wait_output("^ready$")
        with apps.traffic(size=100 << 20):
            said = apps.a.run(["python3", program, apps.a.address, apps.b.address, "500"],
                              timeout=120).stdout
        assert said.startswith("500 messages"), said
        echo.kill()
        echo.wait(20)
    finally:
        for guest in guests:
            guest.run("modprobe -r rds_rdma")
    for guest in guests:
        assert "rds_rdma" not in guest.run("rdma resource show cm_id").stdout
