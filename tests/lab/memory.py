# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How much memory a guest has left, to see whether some is lost."""

import re
import time


def memory(guest):
    """Kilobytes that are free or can be had, caches dropped.

    MemAvailable leaves out the free pages that each processor keeps for itself, and these
    can be some ten megabytes.
    """
    guest.run("sync; echo 3 > /proc/sys/vm/drop_caches")
    said = guest.run("cat /proc/meminfo /proc/zoneinfo").stdout
    available = re.search(r"^MemAvailable:\s+(\d+)", said, re.MULTILINE)[1]
    kept = re.findall(r"^\s+cpu: \d+\n\s+count:\s+(\d+)", said, re.MULTILINE)
    assert kept, said
    return int(available) + 4 * sum(map(int, kept))


def memory_lost(guest, before, allowed):
    """Kilobytes less than before.  Some memory is freed later, by work items and RCU."""
    for _ in range(10):
        lost = before - memory(guest)
        if lost < allowed:
            break
        time.sleep(1)
    return lost
