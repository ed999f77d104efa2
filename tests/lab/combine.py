# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fewer combinations of parameters."""

import itertools

from . import paths


def combinations(turn, *factors):
    """As few combinations as have each value of each factor once or more.

    turn is from 0 to 3.  A test of another turn has other values together: those of the first
    three factors, if these have two each, all meet in one of the four.  With LAB_LONG=1 in the
    environment all combinations.
    """
    if paths.LONG:
        return list(itertools.product(*factors))
    # How far a factor is ahead of the first one: no two of three are so in each turn.
    shifts = [0, turn & 1, turn >> 1, *[0] * len(factors)]
    return [tuple(factor[(number + shift) % len(factor)]
                  for factor, shift in zip(factors, shifts))
            for number in range(max(map(len, factors)))]
