# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fixtures for the tests that boot guests."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import lab  # noqa: E402  (found by the line above)
import shards  # noqa: E402
from lab import paths  # noqa: E402
from lab.report import Report  # noqa: E402


def pytest_configure(config):
    """Keeps account from the start."""
    config.pluginmanager.register(Report())
    queue = shards.Queue.of_environment()
    if queue:
        config.pluginmanager.register(queue)
    for marker in ("debug_kernel: also one of those that run on the debug kernel",
                   "alone: compares times, and runs when no other test does"):
        config.addinivalue_line("markers", marker)


@pytest.fixture(autouse=True)
def healthy():
    """After each test: every daemon lives and no kernel has complained."""
    yield
    lab.kill_commands()
    lab.assert_healthy()


class _PairHolder:
    """The pair that tests share, replaced when a test broke it."""

    def __init__(self):
        self.pair = None

    def get(self):
        """The pair, booted if there is none that works."""
        if self.pair and not self.pair.alive():
            broken, self.pair = self.pair, None
            for part in (*broken.guests, broken.daemon):
                try:
                    part.stop()
                except AssertionError:
                    pass  # the test that broke it has said so
        if not self.pair:
            # On the debug kernel it is that of test_kernel_consumers.py, too.
            self.pair = lab.Pair(limits=lab.MANY if paths.DEBUG else lab.Limits())
            if paths.DEBUG:
                self.pair.daemon.binary = paths.SANITIZED_DAEMON
            self.pair.start()
        return self.pair


@pytest.fixture(scope="session")
def _pair_holder():
    holder = _PairHolder()
    yield holder
    if holder.pair:
        holder.pair.stop()


@pytest.fixture(scope="module")
def pair_on_debug_kernel(_pair_holder):
    """The same for all tests, for each boot of a debug kernel takes long; else None."""
    if not paths.DEBUG:
        return None
    pair = _pair_holder.get()
    pair.load_modules()
    return pair


@pytest.fixture
def pair(_pair_holder):
    """A daemon and two guests.  Which test comes first, finds the modules not loaded."""
    return _pair_holder.get()


@pytest.fixture
def rdma_pair(pair):
    """The same with our modules loaded and addresses on the interfaces."""
    pair.load_modules()
    return pair
