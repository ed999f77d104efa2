# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The judge of "make fabtests" is given bad results and must miss nothing."""

from fabtests import run, table
from fabtests.suite import Outcome

GOOD = Outcome("verbs", "fi_good", "passed")
BAD = Outcome("verbs", "fi_bad", "failed", "why")
LACKING = Outcome("verbs", "fi_lacking", "not run")


def test_failures():
    """A failure counts unless it is explained."""
    assert run.judge([GOOD, BAD, LACKING], set(), {}) == {"verbs: fi_bad"}
    assert not run.judge([GOOD, BAD, LACKING], set(), {"verbs: fi_bad": "because"})


def test_required():
    """One that is explained, was not run, or is gone has not passed; each counts once."""
    wanted = {"verbs: fi_good", "verbs: fi_bad", "verbs: fi_lacking", "verbs: fi_gone"}
    assert run.judge([GOOD, BAD, LACKING], wanted, {"verbs: fi_bad": "because"}) == \
        wanted - {"verbs: fi_good"}
    assert run.judge([GOOD, BAD], {"verbs: fi_good", "verbs: fi_bad"}, {}) == {"verbs: fi_bad"}


def test_lists():
    """They have something in them, and no test is in both."""
    required, explained = run.required(), run.explained()
    assert len(required) >= 40
    assert explained and all(explained.values())
    assert not required & set(explained)


def test_page():
    """It has every result, and why tests fail."""
    text = table.page([GOOD, BAD], [Outcome("verbs", "fi_good", "failed")], {"verbs: fi_good"},
                      {"verbs: fi_bad": "because"})
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "verbs ``fi_good`` passed, required failed" in rows
    assert "verbs ``fi_bad`` failed not recorded" in rows
    assert "ours 1 1 0" in rows
    assert "``verbs: fi_bad``\n\tbecause" in text
