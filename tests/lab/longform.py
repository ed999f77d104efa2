# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which values of a parametrized test "make check" leaves to "make soak"."""

import pytest


def mostly_long(values, short):
    """All values for parametrize(); those that are not among the short ones are marked long."""
    values, short = list(values), list(short)
    assert all(value in values for value in short), (values, short)
    return [value if value in short else _long(value) for value in values]


def _long(value):
    several = value if isinstance(value, tuple) else (value,)
    return pytest.param(*several, marks=pytest.mark.long)
