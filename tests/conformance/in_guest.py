# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs one module of rdma-core's tests in a guest and reports the results.

in_guest.py DIRECTORY MODULE DONE ARGUMENT...

DIRECTORY holds the tests, DONE is the number of tests of the module to leave out
because an earlier process ran them, ARGUMENTs are those of rdma-core's run_tests.py.
Unlike run_tests.py this loads no other module, and its standard output is for a program:
one JSON object a line.
    {"tests": [NAME...]}                    all of the module, in the order they run
    {"start": NAME}
    {"name": NAME, "result": RESULT, "text": TEXT}
    {"skip": TEXT}                          the whole module, at its import
    {"end": true}                           last, unless the process crashes
RESULT is passed, failed or skipped.  TEXT is the reason of a skip or the traceback of
a failure.
"""

import importlib
import json
import os
import sys
import types
import unittest


class Reporter:
    """Standard output.  The output of tests and their children goes elsewhere."""

    def __init__(self):
        self.file = os.dup(1)
        os.dup2(2, 1)

    def say(self, **message):
        """Prints unbuffered, so that a child does not repeat it and a crash does not lose it."""
        os.write(self.file, json.dumps(message).encode() + b"\n")


class Result(unittest.TestResult):
    """Reports one result for each test: the worst of all."""

    def __init__(self, reporter):
        super().__init__()
        self.reporter = reporter
        self.verdict = None

    def startTest(self, test):
        """Called by unittest, as all of these."""
        super().startTest(test)
        self.verdict = None
        self.reporter.say(start=test.id())

    def stopTest(self, test):
        """Reports the result."""
        super().stopTest(test)
        result, text = self.verdict or ("failed", "the test ended without a result")
        self.reporter.say(name=test.id(), result=result, text=text)

    def _judge(self, result, text=""):
        order = ("passed", "skipped", "failed")
        if self.verdict is None or order.index(result) > order.index(self.verdict[0]):
            self.verdict = (result, text)

    def addSuccess(self, test):
        """See startTest()."""
        self._judge("passed")

    def addSkip(self, test, reason):
        """See startTest()."""
        self._judge("skipped", reason)

    def addFailure(self, test, err):
        """See startTest()."""
        self._judge("failed", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        """See startTest()."""
        if err is not None:
            self._judge("failed", self._exc_info_to_string(err, subtest))

    def addExpectedFailure(self, test, err):
        """See startTest()."""
        self._judge("passed")

    def addUnexpectedSuccess(self, test):
        """See startTest()."""
        self._judge("failed", "it should have failed")


def flatten(suite):
    """The tests of a suite of suites."""
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def main():
    """For the arguments see above."""
    directory, module, done, *arguments = sys.argv[1:]
    reporter = Reporter()
    sys.path.insert(0, directory)
    # The package's own __init__ would import all modules.
    package = types.ModuleType("tests")
    package.__path__ = [directory]
    sys.modules["tests"] = package

    sys.argv = ["run_tests.py", *arguments]
    importlib.import_module("args_parser").parser.parse_args()
    # Modules import each other in a circle, which works if this is the first.
    importlib.import_module("tests.utils")
    try:
        loaded = importlib.import_module(f"tests.{module}")
    except unittest.SkipTest as reason:
        reporter.say(skip=str(reason))
        reporter.say(end=True)
        return
    tests = list(flatten(unittest.TestLoader().loadTestsFromModule(loaded)))
    reporter.say(tests=[test.id() for test in tests])
    result = Result(reporter)
    del tests[:int(done)]
    while tests:
        # Objects that a test left are freed at once, because the device has few QPs.
        tests.pop(0)(result)
    reporter.say(end=True)


if __name__ == "__main__":
    main()
