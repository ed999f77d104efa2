# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The results as a page of the documentation."""

import itertools

HEAD = """\
.. SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

===========
Conformance
===========

This page has the results of rdma-core's own tests: those of rdma-core {version}, on a
{how}

In all {passed} tests pass, {failed} fail and {skipped} are skipped. {required} tests must
pass: they are listed in ``tests/conformance/required.txt`` and are "required" here.
The reason of a skip is what the test gave. A module of which all tests are skipped
for one reason has one line.

"""

HOW = """\
guest with stock rdma-core and our driver, provider and daemon. ``make conformance``
runs them and fails if the results are not those on this page, which
``scripts/suites/conformance.sh --update`` has written."""

HOW_RELEASE = """\
guest of Debian {release}, its kernel and rdma-core, with our packages. ``make soak``
runs them and fails if the results are not those on this page, which
``scripts/suites/conformance.sh --release {release} --update`` has written."""


def columns(rows):
    """A simple table; no cell is empty, as that would join rows."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def _result(outcome, required):
    if outcome.result == "passed" and outcome.name in required:
        return "passed, required"
    return outcome.result


def _module(outcomes, required):
    """The rows of one module."""
    texts = {outcome.text for outcome in outcomes}
    if len(outcomes) > 1 and len(texts) == 1 and \
            all(outcome.result == "skipped" for outcome in outcomes):
        return [(f"{outcomes[0].module}, all {len(outcomes)}", "skipped", outcomes[0].brief)]
    return [(outcome.name.removeprefix("tests."), _result(outcome, required),
             outcome.brief or "—") for outcome in outcomes]


def page(version, outcomes, required, release=None):
    """The text of Documentation/conformance.rst, or of the page of another release."""
    counts = {result: sum(outcome.result == result for outcome in outcomes)
              for result in ("passed", "failed", "skipped")}
    rows = [("test", "result", "reason")]
    for _, group in itertools.groupby(outcomes, lambda outcome: outcome.module):
        rows += _module(list(group), required)
    how = HOW_RELEASE.format(release=release) if release else HOW
    return HEAD.format(version=version, how=how, required=len(required),
                       **counts) + columns(rows)
