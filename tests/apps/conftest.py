# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fixtures that the tests of applications share."""

import pytest

from lab.apps import Apps


@pytest.fixture(scope="session")
def apps():
    """Two guests with applications, the same for all tests."""
    guests = Apps().start()
    yield guests
    guests.stop()
