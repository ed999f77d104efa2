# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The runner of guest tests loses none of them and counts right."""

import itertools
import pathlib
import re
import subprocess
import sys

import pytest

import shards
import skips
from lab import combine, paths

HERE = pathlib.Path(__file__).parent

NOTHING = {"collected": [], "outcomes": {}, "reasons": {}, "skips": {}, "costs": {}}
FINE = {**NOTHING, "collected": ["a", "b"], "outcomes": {"a": "passed"}}
OTHER = {**FINE, "outcomes": {"b": "passed"}}


@pytest.mark.parametrize("reports, statuses, counts", [
    ([FINE, OTHER], [0, 0], (2, 0, 0)),
    ([FINE, NOTHING], [0, 0], (1, 1, 0)),  # nobody ran b
    ([FINE, OTHER], [0, 2], (2, 1, 0)),
    ([FINE, OTHER], [0, 1], (2, 1, 0)),
    ([FINE, OTHER], [-9, 0], (2, 1, 0)),
    ([{**FINE, "outcomes": {"a": "failed"}}, OTHER], [1, 0], (1, 1, 0)),
    ([NOTHING, NOTHING], [0, 0], (0, 1, 0)),
    ([{**FINE, "outcomes": {"a": "skipped", "b": "skipped"}}], [0], (0, 0, 2)),
])
def test_counts(reports, statuses, counts):
    """A test that is missing is a failure."""
    assert shards.merge(reports, statuses) == counts


TESTS = """
import os, pytest
def test_one(): pass
def test_two(): assert {name!r} != "test_bad"
def test_crash():
    if {name!r} == "test_crash": os._exit(0)
@pytest.mark.skipif({name!r} != "test_skips", reason="of no use")
def test_never(): pytest.skip("not here")
@pytest.mark.alone
def test_alone(): pass
"""


def run(directory, names, monkeypatch):
    """Runs files of tests in two processes; returns their output."""
    tests = directory / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(HERE)!r})\n"
        "from shards import keep_account as pytest_configure\n")
    for name in names:
        (tests / f"{name}.py").write_text(TESTS.format(name=name))
    monkeypatch.delenv("LAB_BESIDE", raising=False)
    return subprocess.run(
        [sys.executable, HERE / "shards.py", "shards-of-test", "2", "-v", "-p",
         "no:cacheprovider", "--import-mode=importlib", str(tests)],
        stdout=subprocess.PIPE, text=True, timeout=60, check=False).stdout


def test_a_list_is_no_run(tmp_path, monkeypatch):
    """A process that only lists tests, started by a test, takes none from the others."""
    claims = tmp_path / "claims"
    claims.mkdir()
    monkeypatch.setenv("LAB_QUEUE", f"{claims},0,2")
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
         str(HERE / "test_shards.py"), "-k", "test_counts"],
        stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
    assert said.count("::test_counts[") == 8, said
    assert not list(claims.iterdir())


def test_each_runs_once(tmp_path, monkeypatch):
    """Each test runs once, in either process."""
    said = run(tmp_path, ["test_a", "test_b", "test_bad"], monkeypatch)
    assert said.splitlines()[-1] == "11 passed, 1 failed, 3 skipped", said
    assert re.search(r"^FAIL \S*test_bad.py::test_two: AssertionError: assert 'test_bad' != 'test_bad'", said,
                     re.MULTILINE), said
    # The reason is there at once, not only at the end.
    assert said.index("|     AssertionError: assert 'test_bad' != ") < \
        said.index("::test_alone PASSED"), said
    for name, test in itertools.product(("test_a", "test_b"), ("one", "two", "crash", "alone")):
        assert said.count(f"{name}.py::test_{test} PASSED") == 1, said
    # Those that must be alone are the last ones.
    assert max(said.rindex(f"::test_{test} PASSED") for test in ("one", "two", "crash")) < \
        said.index("::test_alone PASSED"), said
    (paths.BUILD / "shards-of-test.times").unlink()


def test_crash_is_seen(tmp_path, monkeypatch):
    """Tests of a process that ends in the middle, with status 0, count as failed."""
    said = run(tmp_path, ["test_a", "test_crash"], monkeypatch)
    assert " 0 failed" not in said.splitlines()[-1], said
    (paths.BUILD / "shards-of-test.times").unlink()


def test_skips_are_judged(tmp_path, monkeypatch):
    """A skip is counted and named with its reason, and is a failure if no row expects it."""
    said = run(tmp_path, ["test_a", "test_skips"], monkeypatch)
    assert re.search(r"^SKIP \S*test_a.py::test_never: of no use$", said, re.MULTILINE), said
    assert re.search(r"^SKIP \S*test_skips.py::test_never: not here$", said, re.MULTILINE), said

    def unexpected(*rows, form="short"):
        lines = skips.unexpected(skips.expected("\n".join(["# comment", *rows])), "this", form, said)
        return sorted(re.search(r"(test_\w+).py::", line)[1] for line in lines)

    assert unexpected() == ["test_a", "test_skips"]
    assert unexpected("this short *test_never of no use") == ["test_skips"]
    assert unexpected("this short *test_never of no use", form="long") == ["test_a", "test_skips"]
    assert unexpected("this any *test_never of no use", form="long") == ["test_skips"]
    assert unexpected("other any *test_never *") == ["test_a", "test_skips"]
    assert unexpected("th* any *test_a.py::test_never *", "this any *test_skips* not here") == []
    (paths.BUILD / "shards-of-test.times").unlink()


FACTORS = ([1, 2], ["a", "b"], ["x", "y"], ["1", "2", "3"])


def test_combinations(monkeypatch):
    """Each value has its turn, and in some turn every two of the first three factors meet."""
    monkeypatch.setattr(paths, "LONG", False)
    met = set()
    for turn in range(4):
        chosen = combine.combinations(turn, *FACTORS)
        assert len(chosen) == 3
        for number, factor in enumerate(FACTORS):
            assert {combination[number] for combination in chosen} == set(factor)
        # The third combination is one of the first two again, but for the fourth factor.
        met |= {pair for one in chosen[:2] for pair in itertools.combinations(one[:3], 2)}
    assert met == {pair for factors in itertools.combinations(FACTORS[:3], 2)
                   for pair in itertools.product(*factors)}
    monkeypatch.setattr(paths, "LONG", True)
    assert len(combine.combinations(0, *FACTORS)) == 24
