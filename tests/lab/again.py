# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs that are tried again because a program of others has a known fault.

A test that needs it reports how often, in the lines at the end of a run, so that a fault of
ours that looks like theirs is seen by its number.
"""

ATTEMPTS = 5


def attempts(why, count=ATTEMPTS):
    """Yields, for each attempt, whether it is the last one.  The caller breaks when content.

    why   names the fault of the others
    """
    for number in range(1, count + 1):
        if number > 1:
            print(f"volume: attempt {number} of {count}: {why}")
        yield number == count
