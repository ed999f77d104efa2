# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fixtures for the tests that boot guests."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(1, str(pathlib.Path(__file__).parents[1] / "scripts" / "suites"))

import lab  # noqa: E402  (found by the line above)
import shards  # noqa: E402
from lab import machine, paths  # noqa: E402
from lab.plug import PlugPair  # noqa: E402


def pytest_configure(config):
    """Outcome and cost of each test, from the start."""
    shards.keep_account(config)
    config.addinivalue_line(
        "markers", "debug_kernel: also one of those that run on the debug kernel, if long as well")
    config.addinivalue_line(
        "markers", 'long: in "make soak", of applications in "make apps", not in "make check"')


@pytest.fixture(autouse=True)
def healthy():
    """After each test: every daemon lives and no kernel has complained."""
    yield
    lab.kill_commands()
    lab.assert_healthy()


class _Holder:
    """Guests that tests share, because a boot takes as long as many tests.

    They are replaced when a test broke them, and when a test of another file failed, which
    may have left anything behind.
    """

    def __init__(self, session, start):
        self.session = session
        self.start = start
        self.guests = None
        self.user = (None, 0)

    def _is_good(self, module):
        user, failures = self.user
        return self.guests.alive() and (user == module or failures == self.session.testsfailed)

    def get(self, module):
        """Those for a file of tests; starts them if there are none that work."""
        if self.guests and not self._is_good(module):
            broken, self.guests = self.guests, None
            for part in broken.parts():
                try:
                    part.stop()
                except AssertionError:
                    pass  # the test that broke it has reported that
        if self.user[0] != module:
            self.user = (module, self.session.testsfailed)
        if not self.guests:
            self.guests = self.start()
        return self.guests

    def stop(self):
        """Ends all."""
        if self.guests:
            self.guests.stop()


def _start_pair():
    # With room for regions and messages of 1 GiB, which the debug kernel has in full only:
    # there kmemleak takes longer the more memory there is.
    memory = machine.MEMORY if paths.DEBUG and not paths.LONG else "3G"
    pair = lab.Pair(memory=memory)
    if paths.DEBUG:
        pair.daemon.binary = paths.SANITIZED_DAEMON
    return pair.start()


@pytest.fixture(scope="session")
def _pair_holder(request):
    holder = _Holder(request.session, _start_pair)
    yield holder
    holder.stop()


@pytest.fixture(scope="session")
def _plug_holder(request):
    holder = _Holder(request.session, lambda: PlugPair("plug", 8))
    yield holder
    holder.stop()


@pytest.fixture
def plug_pair(request, _plug_holder):
    """A guest with an empty port, and a daemon for it."""
    return _plug_holder.get(request.module)


@pytest.fixture(scope="module")
def module_plug_pair(request, _plug_holder):
    """The same for fixtures of a file."""
    return _plug_holder.get(request.module)


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
