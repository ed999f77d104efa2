# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs the tests that boot guests in several processes.

shards.py SUITE COUNT PYTEST-ARGUMENT...

Guests wait a third of their time, so two processes need less time than one, also while
other suites run.  Each process collects all tests and takes files of tests from a
queue, one at a time.  Tests marked "alone" run at the end, in one process, when the others
have ended, and when there is no file whose name begins with LAB_BESIDE, which says that other
suites are running, or that the cache is being filled.

The last line is "N passed, N failed, N skipped"; a test that was collected and has no
outcome is a failure, as is a process that ended early.  The cost of each test is in
build/SUITE.times, those first that took most processor time.
"""

import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from lab.report import Report

TOP = pathlib.Path(__file__).resolve().parent.parent

# The files that take longest come first: at the end of the queue they would keep one
# process busy while the others have nothing left.
LONGEST = ("interop", "skeleton", "kernel_consumers", "verbs", "packets", "perftest",
           "function", "hostile", "lossy", "uplink")

# It waits for an image that is made in the time that others leave.
LAST = "packages"


def _place(path):
    """Where a file is in the queue."""
    name = path.stem.removeprefix("test_")
    if name == LAST:
        return len(LONGEST) + 1, name
    return LONGEST.index(name) if name in LONGEST else len(LONGEST), name


def busy():
    """True while other suites run beside this one, or what they need is made."""
    return "LAB_BESIDE" in os.environ and bool(glob.glob(f"{os.environ['LAB_BESIDE']}.*"))


class Queue:
    """The queue as one process sees it, a pytest plugin.

    A file of tests belongs to the process that creates its claim in the directory.
    """

    def __init__(self, directory, number, count):
        self.directory = pathlib.Path(directory)
        self.number = number
        self.count = count

    @classmethod
    def of_environment(cls):
        """The queue that LAB_QUEUE names, or None."""
        if "LAB_QUEUE" not in os.environ:
            return None
        directory, number, count = os.environ["LAB_QUEUE"].split(",")
        return cls(directory, int(number), int(count))

    def _claim(self, path):
        try:
            os.close(os.open(self.directory / path.name, os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False

    def _claimed(self, items):
        """The tests of one file after the other."""
        for path in sorted({item.path for item in items}, key=_place):
            if self._claim(path):
                yield from (item for item in items if item.path == path)

    def _wait_alone(self):
        """Waits until the other processes and other suites have ended."""
        while busy() or len(list(self.directory.glob("ended-*"))) < self.count - 1:
            time.sleep(0.5)

    def ended(self):
        """Tells the other processes that this one has ended."""
        (self.directory / f"ended-{self.number}").touch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Replaces pytest's own loop, unless tests are only listed."""
        if session.config.option.collectonly:
            return None
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        alone = [item for item in session.items if item.get_closest_marker("alone")]
        items = self._claimed([item for item in session.items if item not in alone])
        last = alone if self.number == 0 else []

        def run(item, following):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)

        item = next(items, None)
        while item:
            # pytest keeps the fixtures that this test and the following one share.
            following = next(items, None)
            run(item, following or next(iter(last), None))
            item = following
        if last:
            self._wait_alone()
        for item, following in zip(last, [*last[1:], None]):
            run(item, following)
        return True


def keep_account(config):
    """For pytest_configure() of conftest.py."""
    config.addinivalue_line(
        "markers", "alone: compares times, and runs when no other test does")
    config.pluginmanager.register(Report())
    queue = Queue.of_environment()
    if queue:
        config.pluginmanager.register(queue)


class Shard:
    """One process."""

    def __init__(self, suite, directory, number, count, arguments):
        self.queue = Queue(directory, number, count)
        self.report_path = pathlib.Path(directory) / f"report-{number}"
        self.prefix = f"{number + 1}| " if count > 1 else ""
        environment = {"LAB_RUN": f"{suite}-{number + 1}", "LAB_REPORT": str(self.report_path)}
        if count > 1:
            environment["LAB_QUEUE"] = f"{directory},{number},{count}"
        self.process = subprocess.Popen(
            # The signal of Ctrl-C, so that the guests end, too.
            ["setpriv", "--pdeathsig", "INT", sys.executable, "-m", "pytest", *arguments],
            env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.reader = threading.Thread(target=self._relay)
        self.reader.start()

    def _relay(self):
        for line in self.process.stdout:
            print(f"{self.prefix}{line}", end="", flush=True)
        self.process.wait()
        self.queue.ended()

    def report(self):
        """Waits for the end; returns what lab/report.py wrote."""
        self.reader.join()
        try:
            return json.loads(self.report_path.read_text(encoding="utf-8"))
        except OSError:
            return {"collected": [], "outcomes": {}, "reasons": {}, "skips": {}, "costs": {},
                    "volumes": []}


def merge(reports, statuses):
    """Counts passed, failed and skipped tests; prints a line for each that did not pass.

    It begins with FAIL, also if the test did not run, or with SKIP, for the end of
    scripts/suites/check.sh.
    """
    outcomes, collected = {}, set()
    for report in reports:
        outcomes |= report["outcomes"]
        collected |= set(report["collected"])
        for name, reason in report["reasons"].items():
            print(f"FAIL {name}: {reason}")
        for name, reason in report["skips"].items():
            print(f"SKIP {name}: {reason}")
    results = list(outcomes.values())
    failed = results.count("failed")
    missing = sorted(collected - outcomes.keys())
    for name in missing:
        print(f"FAIL {name}: did not run")
    failed += len(missing)
    # Status 1 says that a test failed, which was counted.
    for number, status in enumerate(statuses, 1):
        if status not in (0, 1) or (status == 1 and not failed):
            print(f"FAIL process {number} ended with status {status}")
            failed += 1
    if not results:
        print("FAIL no test ran")
        failed += 1
    return results.count("passed"), failed, results.count("skipped")


def show_costs(suite, reports):
    """Writes all costs (lab/report.py) to a file, and prints the highest."""
    costs = [(sum(phases), wall, *phases, name) for report in reports
             for name, (wall, *phases) in report["costs"].items()]
    total = sum(cost[0] for cost in costs)
    lines = ["    cpu    wall  =setup    call  teardown",
             *("{:7.1f} {:7.1f} {:7.1f} {:7.1f} {:7.1f} {}".format(*cost)
               for cost in sorted(costs, reverse=True))]
    (TOP / "build" / f"{suite}.times").write_text("".join(f"{line}\n" for line in lines),
                                                  encoding="utf-8")
    print(*lines[:16], f"{total:.0f} s of the processors in all", sep="\n")


def main():
    """Returns the exit status."""
    suite, count, *arguments = sys.argv[1:]
    count = int(count)
    with tempfile.TemporaryDirectory(prefix="lab-queue-") as directory:
        shards = [Shard(suite, directory, number, count, arguments)
                  for number in range(count)]
        try:
            reports = [shard.report() for shard in shards]
        except KeyboardInterrupt:
            for shard in shards:
                shard.reader.join()
            raise
    passed, failed, skipped = merge(reports, [shard.process.returncode for shard in shards])
    show_costs(suite, reports)
    for report in reports:
        print(*report["volumes"], sep="\n", end="\n" if report["volumes"] else "")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
