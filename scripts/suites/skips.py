#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Judges the skipped tests of a suite: those that nobody expects are failures.

skips.py SUITE LOG

Each suite prints a line "SKIP NAME: REASON" for each test that it skips, and REASON may
be empty.  The skips that are expected are in tests/skips.txt.  Prints a line that begins
with FAIL for each of the others, and nothing else.  With LAB_LONG=1 in the environment the
long form of the suites is judged.
"""

import fnmatch
import os
import pathlib
import re
import sys

LIST = pathlib.Path(__file__).resolve().parents[2] / "tests" / "skips.txt"

_SKIP = re.compile(r"^(?:\d+\| )?SKIP (.+?)(?:: (.*)|:)?$")


def skips(log):
    """Name and reason of each test that a log says was skipped, each once."""
    found = (_SKIP.match(line) for line in log.splitlines())
    return list(dict.fromkeys((match[1], match[2] or "") for match in found if match))


def expected(text):
    """The rows of the list: suite, form, name and reason, the last two as patterns."""
    lines = (line.strip() for line in text.splitlines())
    return [line.split(maxsplit=3) for line in lines if line and not line.startswith("#")]


def is_expected(rows, suite, form, name, reason):
    """True if some row says that this form of the suite skips this test for this reason."""
    # Names have brackets, which are not a pattern here.
    def fits(value, pattern):
        return fnmatch.fnmatchcase(value, pattern.replace("[", "[[]"))

    return any(fits(suite, row[0]) and row[1] in (form, "any") and fits(name, row[2])
               and fits(reason, row[3]) for row in rows)


def unexpected(rows, suite, form, log):
    """A line for each skip that no row expects."""
    return [f"FAIL {name}: skipped, which {LIST.name} does not expect: {reason or 'no reason'}"
            for name, reason in skips(log) if not is_expected(rows, suite, form, name, reason)]


def main():
    """Prints the unexpected ones."""
    suite, log = sys.argv[1:]
    form = "long" if "LAB_LONG" in os.environ else "short"
    text = pathlib.Path(log).read_text(encoding="utf-8", errors="replace")
    for line in unexpected(expected(LIST.read_text(encoding="utf-8")), suite, form, text):
        print(line)


if __name__ == "__main__":
    main()
