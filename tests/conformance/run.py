# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs rdma-core's own tests on our device and judges the results.

run.py [--update] SOURCE [MODULE...]

SOURCE is rdma-core's source.  These count as failures: each test that fails, each test
in required.txt that does not pass, and a Documentation/conformance.rst that differs from
the results; with --update the page is written instead.  With MODULEs only these are run,
and the page is not used.
"""

import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from conformance import suite, table  # noqa: E402  (found by the line above)

PAGE = HERE.parents[1] / "Documentation" / "conformance.rst"


def read_required():
    """The names of the tests that must pass."""
    lines = (HERE / "required.txt").read_text(encoding="ascii").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def report(outcome):
    """A line for each test, and all that is known about a failure."""
    print(f"{outcome.result:8}{outcome.name}"
          + (f": {outcome.brief}" if outcome.brief else ""), flush=True)
    if outcome.result == "failed":
        print("".join(f"    {line}\n" for line in outcome.text.splitlines()), end="", flush=True)


def unmet(outcomes, required):
    """The required tests that are not among those that passed; says which."""
    passed = {outcome.name for outcome in outcomes if outcome.result == "passed"}
    failed = {outcome.name for outcome in outcomes if outcome.result == "failed"}
    for name in sorted(required - passed - failed):
        print(f"required, but did not run to the end: {name}")
    return required - passed - failed


def page_is_stale(text, update):
    """Documentation/conformance.rst differs from the text; written if update is true."""
    if update:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text, encoding="utf-8")
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return False
    print(f"{PAGE.name} is not what this run says; scripts/conformance.sh --update writes it")
    return True


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("modules", nargs="*")
    arguments = parser.parse_args()
    required = read_required()
    if arguments.modules:
        required = {name for name in required if name.split(".")[1] in arguments.modules}

    outcomes = suite.run(arguments.source, arguments.modules or suite.modules(arguments.source),
                         report)
    results = [outcome.result for outcome in outcomes]
    failed = results.count("failed") + len(unmet(outcomes, required))
    if not arguments.modules:
        text = table.page(suite.version(arguments.source), outcomes, required)
        failed += page_is_stale(text, arguments.update)
    print(f"{results.count('skipped')} of {len(results)} skipped")
    print(f"{results.count('passed')} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
