# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fixtures for the tests that boot guests."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import lab  # noqa: E402  (found by the line above)
import shards  # noqa: E402
from lab import paths  # noqa: E402


def pytest_configure(config):
    """Outcome and cost of each test, from the start."""
    shards.keep_account(config)
    config.addinivalue_line(
        "markers", "debug_kernel: also one of those that run on the debug kernel")
    config.addinivalue_line("markers", "each_device: also with the daemon that has no judge")


@pytest.fixture(autouse=True)
def healthy():
    """After each test: every daemon lives and no kernel has complained."""
    yield
    lab.kill_commands()
    lab.assert_healthy()


class _PairHolder:
    """The pair that tests share, because a boot takes as long as many tests.

    It is replaced when a test broke it, and when a test of another file failed, which
    may have left anything behind.
    """

    def __init__(self, session):
        self.session = session
        self.pair = None
        self.user = (None, 0)

    def _is_good(self, module):
        user, failures = self.user
        return self.pair.alive() and (user == module or failures == self.session.testsfailed)

    def get(self, module):
        """The pair for a file of tests; boots one if there is none that works."""
        if self.pair and not self._is_good(module):
            broken, self.pair = self.pair, None
            for part in (*broken.guests, broken.daemon):
                try:
                    part.stop()
                except AssertionError:
                    pass  # the test that broke it has reported that
        if self.user[0] != module:
            self.user = (module, self.session.testsfailed)
        if not self.pair:
            # With room for regions and messages of 1 GiB.
            self.pair = lab.Pair(limits=lab.MANY, memory="3G")
            if paths.DEBUG:
                self.pair.daemon.binary = paths.SANITIZED_DAEMON
            self.pair.start()
        return self.pair


@pytest.fixture(scope="session")
def _pair_holder(request):
    holder = _PairHolder(request.session)
    yield holder
    if holder.pair:
        holder.pair.stop()


@pytest.fixture
def pair(request, _pair_holder):
    """A daemon and two guests.  The first test finds the modules not loaded."""
    return _pair_holder.get(request.module)


@pytest.fixture
def rdma_pair(pair):
    """The same with our modules loaded and addresses on the interfaces."""
    pair.load_modules()
    return pair


@pytest.fixture(scope="module")
def module_pair(request, _pair_holder):
    """The same for fixtures of a file, which end when a test breaks the pair."""
    pair = _pair_holder.get(request.module)
    pair.load_modules()
    return pair
