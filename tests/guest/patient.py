# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A program that takes whatever completions it is given.

patient.py DEVICE

Two connected QPs, of which it polls the CQs and believes nothing; when they are broken
it makes others.  It never ends.
"""

import contextlib
import sys
import time

from pyverbs.pyverbs_error import PyverbsError

from hostile import Objects

ROUNDS = 300


def main():
    """Runs."""
    while True:
        with contextlib.suppress(PyverbsError, OSError):
            objects = Objects(sys.argv[1])
            with objects.context:
                for _ in range(ROUNDS):
                    objects.post()
                    for cq in objects.cqs:
                        cq.poll(64)
                    time.sleep(0.002)
        time.sleep(0.02)


main()
