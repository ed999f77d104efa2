# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs libfabric's own tests on our device and judges the results.

run.py [--update] [PATTERN]

These count as failures: each test that fails and is not explained in explained.txt, and
each test in required.txt that does not pass.  With --update the tests are run with
Soft-RoCE in the same guests as well, and Documentation/libfabric.rst is written.  PATTERN,
a regular expression, chooses tests by name; then the page is not used.
"""

import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from fabtests import suite, table  # noqa: E402  (found by the line above)
from lab import paths  # noqa: E402
from lab.apps import Apps  # noqa: E402

PAGE = HERE.parents[1] / "Documentation" / "libfabric.rst"


def read_list(name):
    """The lines of a file that are not comments."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def required():
    """The names of the tests that must pass."""
    return set(read_list("required.txt"))


def explained():
    """Why a test may fail: a reason by name."""
    return dict(re.split(r" {2,}", line, maxsplit=1) for line in read_list("explained.txt"))


def chosen(pattern=""):
    """Provider and line of each test."""
    return [(provider, line) for provider in suite.PROVIDERS for line in suite.lines(provider)
            if re.search(pattern, f"{provider}: {line}")]


def run_all(guests, tests, log, label):
    """Runs tests; prints a line for each."""
    outcomes = []
    for provider, line in tests:
        outcome = suite.run(*guests, provider, line)
        print(f"{label:10}{outcome.result:9}{outcome.name}", flush=True)
        log.write(f"{label}: {outcome.result}: {outcome.name}\n{outcome.text}\n")
        outcomes.append(outcome)
    return outcomes


def judge(outcomes, wanted, reasons):
    """The names of those that are not as they must be; says why."""
    bad = set()
    for outcome in outcomes:
        if outcome.result == "failed" and outcome.name not in reasons:
            print(f"failed: {outcome.name}\n{outcome.text}")
            bad.add(outcome.name)
    passed = {outcome.name for outcome in outcomes if outcome.result == "passed"}
    for name in sorted(wanted - passed - bad):
        print(f"required, and did not pass: {name}")
        bad.add(name)
    return bad


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pattern", nargs="?", default="")
    arguments = parser.parse_args()

    tests = chosen(arguments.pattern)
    wanted = {name for name in required() if re.search(arguments.pattern, name)}
    apps = Apps().start()
    guests = apps.pair.guests
    suite.install(guests)
    rxe = []
    with open(paths.run_directory("fabtests") / "log", "w", encoding="utf-8") as log:
        ours = run_all(guests, tests, log, "ours")
        if arguments.update:
            for guest in guests:
                guest.unload_modules()
                guest.load_rxe()
                guest.wait_until("rdma link show rxe0/1 | grep -qw 'state ACTIVE'")
            rxe = run_all(guests, tests, log, "Soft-RoCE")
    apps.stop()

    bad = judge(ours, wanted, explained())
    if arguments.update and not arguments.pattern:
        PAGE.write_text(table.page(ours, rxe, wanted, explained()), encoding="utf-8")
    # Neither counts as passed: what cannot be run, and what fails for a reason that is known.
    skipped = [outcome for outcome in ours
               if outcome.result != "passed" and outcome.name not in bad]
    for outcome in skipped:
        print(f"SKIP {outcome.name}: "
              + ("fails, explained" if outcome.result == "failed" else "cannot be run"))
    passed = [outcome for outcome in ours if outcome.result == "passed"]
    print(f"{len(passed)} passed, {len(bad)} failed, {len(skipped)} skipped")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
