# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The lab: guests, and the device daemon that they share.

The tests and the demo use it.  Everything it starts ends with it.  Logs and other
files that a run leaves are in build/run, see paths.RUN.
"""

from .daemon import Daemon
from .devices import VIRTQUEUES, Limits, roce_device, stream_device
from .guest import CommandTimeout, Guest, GuestError, Result, StockGuest
from .registry import assert_healthy, kill_commands, stop_all
from .pair import Pair

__all__ = [
    "CommandTimeout",
    "Daemon",
    "Guest",
    "GuestError",
    "Limits",
    "Pair",
    "Result",
    "StockGuest",
    "VIRTQUEUES",
    "assert_healthy",
    "kill_commands",
    "roce_device",
    "stop_all",
    "stream_device",
]
