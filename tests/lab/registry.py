# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""All guests and daemons that run now."""

import atexit
import contextlib

_living = []


def add(thing):
    """Adds a guest or daemon that was started.

    thing has process, alive(), kill_commands(), assert_healthy(), stop().
    """
    _living.append(thing)


def remove(thing):
    """Removes one that was stopped."""
    if thing in _living:
        _living.remove(thing)


def assert_healthy():
    """No daemon has died, and no guest's kernel has reported anything since the last call."""
    problems = []
    for thing in list(_living):
        try:
            thing.assert_healthy()
        except AssertionError as error:
            problems.append(str(error))
            if not thing.alive():
                remove(thing)  # a death is reported once
    assert not problems, "\n".join(problems)


def kill_commands():
    """Kills what a failed test left running in the guests."""
    for thing in list(_living):
        if thing.alive():
            thing.kill_commands()


def pids():
    """Their processes."""
    return [thing.process.pid for thing in _living if thing.process]


def stop_all():
    """Stops guests before the daemon that they use: in reverse order of starting."""
    with contextlib.ExitStack() as stack:  # all of them, even if one fails
        for thing in _living:
            stack.callback(thing.stop)


atexit.register(stop_all)
