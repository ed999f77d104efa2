# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs rdma-core's own tests on our device and judges the results.

run.py [--update] [--release RELEASE] SOURCE [MODULE...]

SOURCE is rdma-core's source, of the version that Debian 13 has, or RELEASE.  These count
as failures: each test that fails, each test in required.txt that does not pass, and a
Documentation/conformance.rst that differs from the results; with --update the page is
written instead.  RELEASE may have a page of its own, conformance-RELEASE.rst.  With
MODULEs only these are run, and the page is not used.
"""

import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from conformance import suite, table  # noqa: E402  (found by the line above)

# Of rdma-core, in Debian 13.
GUESTS_VERSION = 56.1

PAGE = HERE.parents[1] / "Documentation" / "conformance.rst"

# Names of required tests in versions of rdma-core after that of Debian 13.
RENAMED = {
    "tests.test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_zero_length":
        "tests.test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_zero_size",
}

# Tests that no device can pass on a release's kernel: that of Debian 12 registers no memory that a
# peer may flush.
LACKING = {"bookworm": {"tests.test_qpex.QpExTestCase.test_qp_ex_rc_flush",
                        "tests.test_qpex.QpExTestCase.test_qp_ex_rc_flush_type_violate"}}


def page_of(release):
    """The page with the results of another release."""
    return PAGE.with_stem(f"{PAGE.stem}-{release}") if release else PAGE


def read_required(later=False):
    """The names of the tests that must pass, as they are or as later versions have them."""
    lines = (HERE / "required.txt").read_text(encoding="ascii").splitlines()
    names = {line for line in lines if line and not line.startswith("#")}
    return {RENAMED.get(name, name) for name in names} if later else names


def report(outcome):
    """A line for each test, and all that is known about a failure."""
    # scripts/suites/skips.py looks for this word.
    word = "SKIP " if outcome.result == "skipped" else f"{outcome.result:8}"
    print(f"{word}{outcome.name}"
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


def page_is_stale(text, update, page=None):
    """The page differs from the text; written if update is true."""
    page = page or PAGE
    if update:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    if page.exists() and page.read_text(encoding="utf-8") == text:
        return False
    print(f"{page.name} is not what this run says;"
          " scripts/suites/conformance.sh --update writes it")
    return True


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--release")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("modules", nargs="*")
    arguments = parser.parse_args()
    required = read_required(float(suite.version(arguments.source)) > GUESTS_VERSION)
    required -= LACKING.get(arguments.release, set())
    if arguments.modules:
        required = {name for name in required if name.split(".")[1] in arguments.modules}

    outcomes = suite.run(arguments.source, arguments.modules or suite.modules(arguments.source),
                         report, arguments.release)
    results = [outcome.result for outcome in outcomes]
    failed = results.count("failed") + len(unmet(outcomes, required))
    page = page_of(arguments.release)
    if not arguments.modules and (page == PAGE or arguments.update or page.exists()):
        text = table.page(suite.version(arguments.source), outcomes, required,
                          arguments.release)
        failed += page_is_stale(text, arguments.update, page)
    print(f"{results.count('passed')} passed, {failed} failed, {results.count('skipped')} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
