# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How long Ethernet stands still between two guests."""

import re
import time

from .patience import Deadline

PERIOD = 0.1


class Outage:
    """Pings from one guest to another all the time, from its constructor until its end."""

    def __init__(self, guest, other):
        self._ping = guest.popen(["ping", "-D", "-i", str(PERIOD), other.address])
        # Any three: some may get lost.
        self._ping.wait_output(r"(?s)(?: bytes from .*?){3}")

    def end(self):
        """The longest time without an answer, in seconds, by the clock of the guest.

        It ends when two more answers have come.
        """
        before = len(self._answers())
        deadline = Deadline(60)
        while len(self._answers()) < before + 2:
            assert not deadline.over(), f"Ethernet stands still: {self._ping.stdout}"
            time.sleep(0.05)
        self._ping.kill()
        self._ping.wait(20)
        answers = self._answers()
        return max(b - a for a, b in zip(answers, answers[1:])) - PERIOD

    def _answers(self):
        """When each came."""
        return [float(when) for when in re.findall(r"^\[([\d.]+)\] .*bytes from ",
                                                   self._ping.stdout, re.MULTILINE)]
