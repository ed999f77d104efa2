# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The outcome and the cost of each test, as a pytest plugin.

With LAB_REPORT in the environment all of it goes to that file as JSON, for
tests/shards.py.
"""

import json
import os
import pathlib
import resource
import time

import pytest

from . import registry

_TICKS = os.sysconf("SC_CLK_TCK")


def process_seconds(pid):
    """User and system time of a process that runs."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return 0
    user, system = stat.rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / _TICKS


def processor_seconds():
    """Processor time of this process, its children, and all guests and daemons that run."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    return (ended.ru_utime + ended.ru_stime + own.ru_utime + own.ru_stime
            + sum(process_seconds(pid) for pid in registry.pids()))


class Report:
    """Counts each test as failed if any phase of it failed, and says at once why it did.

    The text that a test prints after "volume: " is kept, also if it passes: how much it has done.

    The cost of a test is the seconds by the clock, then those of the processors in its
    setup, its own body and its teardown.  The fixtures of a module are in the setup of
    its first test and in the teardown of its last.
    """

    PHASES = ("setup", "call", "teardown")

    def __init__(self):
        self.collected = []
        self.outcomes = {}
        self.reasons = {}
        self.skips = {}
        self.costs = {}
        self.volumes = []
        self._began = self._so_far = 0
        self._phases = {}
        self._terminal = None

    def pytest_sessionstart(self, session):
        """Remembers where to write."""
        self._terminal = session.config.pluginmanager.get_plugin("terminalreporter")

    def pytest_collection_finish(self, session):
        """Remembers which tests were collected."""
        self.collected = [item.nodeid for item in session.items]

    def pytest_runtest_logstart(self):
        """Before each test."""
        self._began, self._so_far = time.monotonic(), processor_seconds()
        self._phases = dict.fromkeys(self.PHASES, 0)

    # Last: the name of the test is in front of what is written here.
    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        """Called for setup, call and teardown of each test."""
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
            reason = self._reason(report)
            self.reasons.setdefault(report.nodeid, reason)
            if self._terminal:
                self._terminal.ensure_newline()
                self._terminal.write_line(f"    {reason}")
        elif report.skipped:
            self.outcomes.setdefault(report.nodeid, "skipped")
            self.skips[report.nodeid] = self._skip_reason(report)
        elif report.when == "call":
            self.outcomes.setdefault(report.nodeid, "passed")
        if report.when == "call":
            self.volumes.extend(f"{report.nodeid}: {line.removeprefix('volume: ')}"
                                for line in report.capstdout.splitlines()
                                if line.startswith("volume: "))
        before, self._so_far = self._so_far, processor_seconds()
        self._phases[report.when] += self._so_far - before

    @staticmethod
    def _skip_reason(report):
        """The reason that the test gives for its skip, in one line."""
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        return " ".join(said.removeprefix("Skipped: ").split())

    @staticmethod
    def _reason(report):
        """In one line: what was raised, and in which phase if not in the test itself.

        The last line is that of a program which ended with an exception of its own.
        """
        crash = getattr(report.longrepr, "reprcrash", None)
        first, *more = (crash.message if crash else str(report.longrepr)).strip().split("\n")
        said = " | ".join(line.strip()[:200] for line in (first, *more[-1:]))
        return said if report.when == "call" else f"{report.when}: {said}"

    def pytest_runtest_logfinish(self, nodeid):
        """After each test."""
        self.costs[nodeid] = [round(seconds, 1) for seconds in
                              (time.monotonic() - self._began, *self._phases.values())]

    def pytest_sessionfinish(self):
        """Writes everything to a file for the process that started this one."""
        if "LAB_REPORT" in os.environ:
            path = pathlib.Path(os.environ["LAB_REPORT"])
            path.write_text(json.dumps({
                "collected": self.collected, "outcomes": self.outcomes,
                "reasons": self.reasons, "skips": self.skips, "costs": self.costs,
                "volumes": self.volumes,
            }), encoding="utf-8")
