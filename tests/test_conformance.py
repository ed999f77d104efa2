# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The judge of "make conformance" is given a bad suite and must miss nothing."""

import io
import shutil
import types

import pytest

from conformance import run, suite, table
from conformance.suite import Outcome

# Modules that the tests of rdma-core need, and modules with tests.
SUITE = {
    "args_parser.py": """
import types
parser = types.SimpleNamespace(parse_args=lambda: None)
""",
    "utils.py": "",
    "test_all.py": """
import os, signal, time, unittest
class Case(unittest.TestCase):
    def test_a_passes(self):
        print("to standard output")
        os.system("echo from a child")
    def test_b_skips(self):
        raise unittest.SkipTest("because")
    def test_c_fails(self):
        self.assertEqual(1, 2)
    def test_d_crashes(self):
        os.kill(os.getpid(), signal.SIGSEGV)
    def test_e_hangs(self):
        time.sleep(1000)
    def test_f_fails_in_part(self):
        with self.subTest():
            self.fail("in part")
    def test_g_passes_and_fails_to_clean_up(self):
        self.addCleanup(self.fail, "late")
    def test_h_exits(self):
        os._exit(0)
    @unittest.expectedFailure
    def test_i_does_not_fail(self):
        pass
    def test_j_passes(self):
        pass
""",
    "test_broken.py": "import nothing_of_that_name",
    "test_unfit.py": "import unittest\nraise unittest.SkipTest('not here')",
    "test_end.py": """
import atexit, os, unittest
atexit.register(os._exit, 3)
class Case(unittest.TestCase):
    def test_passes(self):
        pass
""",
}

RESULTS = {
    "test_all": ["passed", "skipped", "failed", "failed", "failed", "failed", "failed", "failed",
                 "failed", "passed"],
    "test_broken": ["failed"],
    "test_unfit": ["skipped"],
    "test_end": ["passed", "failed"],
}


@pytest.fixture(name="machine")
def _machine(pair):
    """Runs modules of SUITE in a guest."""
    guest = pair.a
    directory = guest.share / "bad-suite"
    directory.mkdir(exist_ok=True)
    for name, text in SUITE.items():
        (directory / name).write_text(text, encoding="ascii")
    program = guest.put(suite.PROGRAM)
    yield types.SimpleNamespace(popen=lambda module, done: guest.popen(
        ["python3", program, "/mnt/share/bad-suite", module, str(done)]))
    shutil.rmtree(directory)


@pytest.mark.parametrize("module", RESULTS)
def test_each_result_is_seen(machine, module, monkeypatch):
    """Each way to fail is reported, and the tests that follow are run."""
    monkeypatch.setattr(suite, "TIMEOUT", 8)
    outcomes = suite.ModuleRun(machine, module, io.StringIO()).run()
    assert [outcome.result for outcome in outcomes] == RESULTS[module], outcomes
    if module != "test_all":
        return
    names = [outcome.name for outcome in outcomes]
    assert names == sorted(names) and len(set(names)) == len(names)
    for letter, text in (("b", "because"), ("c", "AssertionError: 1 != 2"), ("d", "status -11"),
                         ("e", "no end within 8 s"), ("f", "in part"), ("g", "late"),
                         ("h", "status 0"), ("i", "should have failed")):
        outcome = outcomes["abcdefghij".index(letter)]
        assert text in outcome.text, outcome


def test_required():
    """A test that is skipped or missing has not passed; a failure is counted once."""
    outcomes = [Outcome("tests.a.A.one", "passed"), Outcome("tests.a.A.two", "skipped", "why"),
                Outcome("tests.a.A.three", "failed", "why")]
    required = {f"tests.a.A.{name}" for name in ("one", "two", "three", "four")}
    assert run.unmet(outcomes, required) == {"tests.a.A.two", "tests.a.A.four"}


def test_required_list():
    """The list of required tests is not empty."""
    required = run.read_required()
    assert len(required) >= 77
    assert all(name.startswith("tests.test_") for name in required)


def test_page(tmp_path, monkeypatch):
    """The document has every result, and a wrong document is noticed."""
    outcomes = [Outcome("tests.a.A.one", "passed"), Outcome("tests.a.A.two", "skipped", "why"),
                Outcome("tests.b.B.one", "skipped", "no"), Outcome("tests.b.B.two", "skipped", "no")]
    text = table.page("1.2", outcomes, {"tests.a.A.one"})
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "a.A.one passed, required —" in rows
    assert "a.A.two skipped why" in rows
    assert "b, all 2 skipped no" in rows
    assert "In all 1 tests pass, 0 fail and 3 are skipped." in text

    monkeypatch.setattr(run, "PAGE", tmp_path / "page.rst")
    assert run.page_is_stale(text, False)
    assert not run.page_is_stale(text, True)
    assert not run.page_is_stale(text, False)
    assert run.page_is_stale(text + "more", False)
