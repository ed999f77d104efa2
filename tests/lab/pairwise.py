# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fewer combinations of parameters."""

import itertools

from . import paths


def _pairs(combination):
    return set(itertools.combinations(enumerate(combination), 2))


def pairwise(*factors):
    """Combinations in which every two values of different factors meet at least once.

    With LAB_LONG=1 in the environment all combinations.
    """
    every = list(itertools.product(*factors))
    if paths.LONG or len(factors) < 2:
        return every
    chosen, open_pairs = [], set().union(*map(_pairs, every))
    while open_pairs:
        # Among equally good values the last, so that not all are the first ones.
        best = max(reversed(every), key=lambda one: len(_pairs(one) & open_pairs))
        chosen.append(best)
        open_pairs -= _pairs(best)
    return sorted(chosen, key=every.index)
