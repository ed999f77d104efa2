# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The device daemon, vhost-user-roce."""

import os
import re
import subprocess
import time

from . import living, paths
from .devices import Limits

# What AddressSanitizer, LeakSanitizer and UBSan report.
SANITIZER = re.compile(r"ERROR: \w+Sanitizer|runtime error:|SUMMARY: \w+Sanitizer")


class Daemon:
    """One daemon, with a socket for each guest in self.sockets."""

    def __init__(self, name="daemon", *, guests=2, limits=Limits(), pcap=False, arguments=(),
                 binary=None):
        self.name = name
        self.guests = guests
        self.limits = limits
        self.pcap = pcap
        self.arguments = arguments
        self.binary = binary or paths.BUILD / "device" / "vhost-user-roce"
        self.process = None

    def start(self):
        """Starts it and waits until it listens."""
        self.directory = paths.run_directory(self.name)
        self.log = self.directory / "daemon.log"
        self.sockets = [paths.socket_directory() / f"{self.name}.{number}"
                        for number in range(1, self.guests + 1)]
        command = ["setpriv", "--pdeathsig", "KILL", self.binary,
                   "--qps", str(self.limits.qps), "--cqs", str(self.limits.cqs)]
        for socket in self.sockets:
            socket.unlink(missing_ok=True)
            command += ["--socket", socket]
        if self.pcap:
            command += ["--pcap", self.directory / "wire.pcap"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*command, *self.arguments], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"})
        deadline = time.monotonic() + 10
        while not all(socket.exists() for socket in self.sockets):
            if not self.alive() or time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"{self.name} does not listen\n{self.tail()}")
            time.sleep(0.02)
        living.add(self)
        return self

    @property
    def pid(self):
        """Of the process."""
        return self.process.pid

    def alive(self):
        """It runs."""
        return self.process is not None and self.process.poll() is None

    def kill_commands(self):
        """For living.py: a daemon runs none."""

    def tail(self, lines=60):
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def assert_healthy(self):
        """It lives and no sanitizer has reported anything."""
        status = self.process.poll()
        assert status is None, f"{self.name} ended, status {status}\n{self.tail()}"
        self._assert_log_clean()

    def _assert_log_clean(self):
        text = self.log.read_text(errors="replace")
        match = SANITIZER.search(text)
        assert not match, f"{self.name}:\n{text[match.start():][:6000]}"

    def stop(self):
        """Asks it to end, as an operator would, and sees how it does."""
        if self.process is None:
            return
        process, self.process = self.process, None
        living.remove(self)
        if process.poll() is None:
            process.terminate()
        try:
            status = process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"{self.name} did not end within 10 s\n{self.tail()}") from None
        assert status == 0, f"{self.name} ended, status {status}\n{self.tail()}"
        self._assert_log_clean()
