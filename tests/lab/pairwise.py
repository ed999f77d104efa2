# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fewer combinations of parameters."""

import itertools

from . import paths


def _pairs(combination):
    return set(itertools.combinations(enumerate(combination), 2))


def pairwise(*factors):
    """Combinations in which each two values of different factors meet once at least.

    With LAB_LONG=1 in the environment all combinations.
    """
    every = list(itertools.product(*factors))
    if paths.LONG or len(factors) < 2:
        return every
    chosen, open_pairs = [], set().union(*map(_pairs, every))
    while open_pairs:
        # Of equal ones the last: the values are not all those of the beginning.
        best = max(reversed(every), key=lambda one: len(_pairs(one) & open_pairs))
        chosen.append(best)
        open_pairs -= _pairs(best)
    return sorted(chosen, key=every.index)
