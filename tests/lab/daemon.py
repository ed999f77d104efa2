# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The device daemon, vhost-user-roce."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

from . import paths, registry
from .again import attempts
from .devices import Limits
from .patience import Deadline

# Patterns of what AddressSanitizer, LeakSanitizer and UBSan report.
SANITIZER = re.compile(r"ERROR: \w+Sanitizer|runtime error:|SUMMARY: \w+Sanitizer")

# Seconds: a daemon that does not end, or answer, within them hangs.
CTL_TIMEOUT = 60
END_TIMEOUT = 60

# A daemon says this when it serves all its sockets.
READY = "virtqueues each (num_vqs)"

# One of two daemons says this if the other one does not answer in time.
_LATE = b"Connection timed out"

_LOADED = re.compile(r"loaded the state of \d+ port\(s\) ([\d.]+) ms")


class Daemon:
    """One daemon, with a socket for each guest in self.sockets.

    uplink      with a socket for ordinary guests and other daemons, self.uplink_socket
    pins        for each socket, or none, what is behind its path: ",mac=...,gid=..."
    namespace   in a network namespace of its own, in which this shell command was
                run before it started
    """

    def __init__(self, name="daemon", *, guests=2, limits=Limits(), pcap=False, uplink=False,
                 pins=(), namespace=None, arguments=(), binary=None):
        self.name = name
        self.guests = guests
        self.limits = limits
        self.pcap = pcap
        self.uplink = uplink
        self.pins = pins or [""] * guests
        self.namespace = namespace
        self.arguments = arguments
        self.binary = binary or paths.BUILD / "device" / "vhost-user-roce"
        self.process = None

    def start(self):
        """Starts it and waits until it serves its sockets.

        A socket has its name a moment before it listens, so a name alone says nothing yet.
        """
        self.directory = paths.run_directory(self.name)
        self.log = self.directory / "daemon.log"
        self.sockets = [paths.socket_directory() / f"{self.name}.{number}"
                        for number in range(1, self.guests + 1)]
        self.uplink_socket = paths.socket_directory() / f"{self.name}.uplink"
        self.control_socket = paths.socket_directory() / f"{self.name}.control"
        self.control_socket.unlink(missing_ok=True)
        command = ["setpriv", "--pdeathsig", "KILL"]
        if self.namespace:
            command += ["unshare", "--net", "sh", "-ec", f"{self.namespace}\nexec \"$@\"", "sh"]
        command += [self.binary, "--control", self.control_socket,
                    "--qps", str(self.limits.qps), "--cqs", str(self.limits.cqs),
                    "--queue-size", str(self.limits.queue_size),
                    "--event-queues", str(self.limits.event_queues),
                    "--doorbell-queues", str(self.limits.doorbell_queues),
                    "--direct-qps", str(self.limits.direct_qps),
                    "--direct-cqs", str(self.limits.direct_cqs),
                    "--mrs", str(self.limits.mrs)]
        if self.limits.queue_pairs > 1:  # an older daemon does not know the option
            command += ["--queue-pairs", str(self.limits.queue_pairs)]
        if self.pcap:  # before the ports, so for all of them
            command += ["--pcap", self.directory / "wire.pcap"]
        for socket, pin in zip(self.sockets, self.pins):
            socket.unlink(missing_ok=True)
            command += ["--socket", f"{socket}{pin}"]
        if self.uplink:
            self.uplink_socket.unlink(missing_ok=True)
            command += ["--uplink", f"unix:{self.uplink_socket}"]
        self._command = [*command, *self.arguments]
        self.log.write_bytes(b"")
        self.process = self._spawn()
        deadline = Deadline(10)
        while READY not in self.log.read_text(errors="replace"):
            if not self.alive() or deadline.over():
                self.process.kill()
                raise AssertionError(f"{self.name} does not serve\n{self.tail()}")
            time.sleep(0.02)
        registry.add(self)
        return self

    def _spawn(self, *more):
        with open(self.log, "ab") as log:
            return subprocess.Popen(
                [*self._command, *more], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, process_group=0,
                env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"})

    def take_over(self, binary=None):
        """Another process goes on with all that this one has, which then ends.

        binary   the daemon that takes over, if it is another one
        Returns the milliseconds from when the old one stopped until the new one had loaded.
        """
        before = self.process
        if binary:
            self._command[self._command.index(self.binary)] = self.binary = binary
        for last in attempts("the next daemon came too late"):
            said = len(self.log.read_bytes())
            after = self._spawn("--takeover", self.control_socket)
            deadline = Deadline(60)
            while before.poll() is None and after.poll() is None and not deadline.over():
                time.sleep(0.01)
            # Between daemons each step has 5 s.  If one takes longer, the old one goes on.
            late = _LATE in self.log.read_bytes()[said:]
            if before.poll() is not None or last or not late:
                break
            after.wait(60)
        status = before.poll()
        if status is None:
            after.kill()
            after.wait()
            raise AssertionError(f"{self.name} was not taken over\n{self.tail()}")
        self.process = after
        assert status == 0, f"{self.name} ended, status {status}\n{self.tail()}"
        self.assert_healthy()
        return float(_LOADED.findall(self.log.read_text(errors="replace"))[-1])

    def in_namespace(self, command):
        """Runs a command in the daemon's network namespace; returns what it wrote."""
        return subprocess.run(["nsenter", "-t", str(self.pid), "-n", *command], check=True,
                              stdout=subprocess.PIPE, text=True, timeout=60).stdout

    def popen_in_namespace(self, command):
        """The same, but it runs on; its output is a pipe."""
        return subprocess.Popen(["nsenter", "-t", str(self.pid), "-n", *command],
                                stdout=subprocess.PIPE, text=True)

    def control(self, *command):
        """The answer of vhost-user-roce-ctl to a command."""
        return subprocess.run(
            [paths.BUILD / "device" / "vhost-user-roce-ctl", self.control_socket, *command],
            check=True, stdout=subprocess.PIPE, text=True, timeout=CTL_TIMEOUT).stdout

    def refused(self, *command):
        """The message of vhost-user-roce-ctl, in one line, when a command fails."""
        result = subprocess.run(
            [paths.BUILD / "device" / "vhost-user-roce-ctl", self.control_socket, *command],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=CTL_TIMEOUT)
        assert (result.returncode, result.stdout) == (1, ""), result
        line, = result.stderr.splitlines()
        return line

    def stats(self):
        """Counters by port and name."""
        return json.loads(self.control("stats", "--json"))

    def wait_traffic(self, packets=1000):
        """Waits until so many more packets of RDMA have been received."""
        def received():
            return sum(port.get("rcvd_pkts", 0) for port in self.stats().values())

        goal, deadline = received() + packets, Deadline(60)
        while received() < goal:
            assert not deadline.over(), f"{self.name}: no traffic"
            time.sleep(0.05)

    @property
    def pid(self):
        """Of the process."""
        return self.process.pid

    def alive(self):
        """It runs."""
        return self.process is not None and self.process.poll() is None

    def kill_commands(self):
        """For registry.py: a daemon runs none."""

    def tail(self, lines=60):
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def assert_healthy(self):
        """It runs, and no sanitizer has reported anything."""
        status = self.process.poll()
        assert status is None, f"{self.name} ended, status {status}\n{self.tail()}"
        self._assert_log_clean()

    def _assert_log_clean(self):
        text = self.log.read_text(errors="replace")
        match = SANITIZER.search(text)
        assert not match, f"{self.name}:\n{text[match.start():][:6000]}"

    def kill_kept(self):
        """Ends the daemon without warning, and not its keeper, which starts another one."""
        children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children")
        kept, = children.read_text(encoding="ascii").split()
        os.kill(int(kept), signal.SIGKILL)

    def crash(self):
        """Ends it without warning."""
        process, self.process = self.process, None
        registry.remove(self)
        process.kill()
        process.wait()
        self._assert_log_clean()

    def stop(self):
        """Asks it to end, as an operator would, and checks its exit status."""
        if self.process is None:
            return
        process, self.process = self.process, None
        registry.remove(self)
        if process.poll() is None:
            process.terminate()
        try:
            status = process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(
                f"{self.name} did not end within {END_TIMEOUT} s\n{self.tail()}") from None
        assert status == 0, f"{self.name} ended, status {status}\n{self.tail()}"
        self._assert_log_clean()
