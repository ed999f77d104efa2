# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The lab itself sees what goes wrong; no guest boots for that."""

import socket
import subprocess

import pytest

from lab import daemon, guest, patience, perftest, registry


@pytest.fixture(name="pretended")
def _pretended(tmp_path):
    """Starts a guest whose QEMU is another program, and whose agent is a socket of ours."""
    started = []

    def start(command):
        one = guest.Guest("pretended", 1)
        one.console_log = tmp_path / "console.log"
        one.console_log.write_text("the last line\n")
        one.agent, far = socket.socketpair()
        one.process = subprocess.Popen(command, stdin=far.fileno())
        registry.add(one)
        started.append((one, far))
        return one

    yield start
    for one, far in started:
        if one.process:
            one.kill()
        registry.remove(one)
        far.close()


def test_guest_that_powers_off(pretended):
    """stop() is content."""
    pretended(["head", "-n", "1"]).stop()


@pytest.mark.parametrize("command, timeout", [(["sleep", "1000"], 0.5), (["false"], 10)],
                         ids=["hangs", "has died"])
def test_guest_that_does_not_power_off(pretended, monkeypatch, command, timeout):
    """stop() ends it, and fails the test that asks for it."""
    monkeypatch.setattr(guest, "POWER_OFF_TIMEOUT", timeout)
    one = pretended(command)
    process = one.process
    if command == ["false"]:
        process.wait()
        one.agent = None
    with pytest.raises(AssertionError, match="did not power off(.|\n)*the last line"):
        one.stop()
    assert process.poll() is not None
    assert one not in registry._living


# Stops for a moment where a busy machine may, between bind() and listen().
SLOW_DAEMON = """#!/usr/bin/python3
import signal, socket, sys, time
names = [sys.argv[n + 1] for n, word in enumerate(sys.argv) if word == "--socket"]
sockets = [socket.socket(socket.AF_UNIX) for _ in names]
for one, name in zip(sockets, names):
    one.bind(name)
time.sleep(0.3)
for one in sockets:
    one.listen()
print("SAID", flush=True)
signal.pause()
"""


def test_daemon_that_is_slow(tmp_path):
    """When start() returns, each of its sockets can be connected."""
    binary = tmp_path / "slow-daemon"
    binary.write_text(SLOW_DAEMON.replace("SAID", daemon.READY))
    binary.chmod(0o700)
    one = daemon.Daemon("slow", binary=binary).start()
    try:
        for name in one.sockets:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(name))
    finally:
        one.crash()


# Comes too late for the first takeover, or ends for another reason.
LATE_DAEMON = """#!/bin/sh
if mkdir DIRECTORY 2> /dev/null; then echo "WHY" >&2; exit 1; fi
exec REAL "$@"
"""


@pytest.mark.parametrize("why, ends", [("Connection timed out", True), ("out of memory", False)])
def test_daemon_that_is_taken_over_late(tmp_path, why, ends):
    """That is tried again, and nothing else is."""
    one = daemon.Daemon("late", guests=1).start()
    try:
        binary = tmp_path / "late-daemon"
        binary.write_text(LATE_DAEMON.replace("WHY", why).replace("REAL", str(one.binary))
                          .replace("DIRECTORY", str(tmp_path / "once")))
        binary.chmod(0o700)
        if ends:
            one.take_over(binary)
        else:
            with pytest.raises(AssertionError, match="was not taken over"):
                one.take_over(binary)
        one.assert_healthy()
    finally:
        one.stop()


@pytest.mark.parametrize("average, running, seconds", [
    ("0.00", 1, 10), ("1.00", 2, 10), ("2.00", 1, 10), ("8.00", 1, 40), ("0.10", 8, 40),
    ("8.00", 4, 40), ("1000.00", 1, 300), ("0.00", 1000, 300)])
def test_deadline_on_a_busy_machine(monkeypatch, tmp_path, average, running, seconds):
    """Ten seconds of two processors, of which each is shared by others."""
    now = [100]
    load = tmp_path / "loadavg"
    load.write_text(f"{average} 0.00 0.00 {running}/2000 4711\n")
    monkeypatch.setattr(patience, "PATIENCE", 1)
    monkeypatch.setattr(patience, "_LOAD", load)
    monkeypatch.setattr(patience.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    deadline = patience.Deadline(10)
    for _ in range(seconds):
        assert not deadline.over()
        now[0] += 1
    now[0] += 1
    assert deadline.over()


COMPLAINT = "Correlation coefficient r^2: 0.284714 < 0.9"


@pytest.mark.parametrize("rc, complaint, rate, seconds, wrong", [
    (0, "", 100, 1, False),
    (0, "", 0, 1, True),
    (0, "", 0, 10000, False),
    (1, "", None, 1, False),
    (1, COMPLAINT, None, 1, True),
    (0, COMPLAINT, None, 1, True),
    (0, COMPLAINT, 100, 1, False),
    (0, COMPLAINT, 0, 1, True),
    (0, COMPLAINT, 0, 10000, False)])
def test_perftest_clock(rc, complaint, rate, seconds, wrong):
    """A run is repeated if perftest's clock is wrong, and not if the stream stands still."""
    table = [] if rate is None else [[8388608, 20, rate, rate, 0]]
    results = [guest.Result("ib_send_bw", rc, "", complaint)]
    assert perftest.clock_is_wrong(results, table, seconds) == wrong
