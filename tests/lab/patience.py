# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How long to wait for something that only a mistake keeps from coming."""

import os
import time

from . import paths

# The debug kernel takes several times as long for everything.
PATIENCE = 5 if paths.DEBUG else 1

_LOAD = "/proc/loadavg"

# Beyond this a machine that is busy is one that hangs.
_MOST = 30


def crowd():
    """How many want each processor of this machine; 1 if fewer do.

    The average of a minute, or those who do now: the average needs half a minute to notice.
    """
    with open(_LOAD, encoding="ascii") as file:
        average, _, _, tasks, _ = file.read().split()
    wanted = max(float(average), int(tasks.split("/")[0]))
    return min(_MOST, max(1.0, wanted / (os.cpu_count() or 1)))


class Deadline:
    """The end of a wait, in seconds of a machine that has nothing else to do.

    A second that n others share counts as the n-th part of one.  So a test does not fail
    because of other work on the machine, and on a quiet one a mistake is noticed soon.
    """

    def __init__(self, seconds):
        self._left = seconds * PATIENCE
        self._seen = time.monotonic()

    def over(self):
        """Has it passed?  To be asked every few seconds at least."""
        now = time.monotonic()
        self._left -= (now - self._seen) / crowd()
        self._seen = now
        return self._left < 0

    def wait(self, event):
        """Waits for a threading.Event; false if it does not come before the end."""
        while not event.wait(1):
            if self.over():
                return event.is_set()
        return True
