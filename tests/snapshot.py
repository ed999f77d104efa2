# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Boots a guest and freezes it: snapshot.py DISK MEMORY DIRECTORY.

The guest waits in its agent, for a host that tells it who it is; see
scripts/images/guest-snapshot.sh.
"""

import os
import sys
import time

from lab import frozen
from lab.guest import Guest, GuestError


def main():
    """Writes "state", which QEMU takes as -incoming, and "memory"."""
    disk, memory, directory = sys.argv[1:]
    path = f"{directory}/state"
    guest = Guest("snapshot", 0, memory=memory, disk=disk, install=False,
                  append="lab.freeze").start().wait_ready()
    try:
        guest.qmp("migrate", uri=f"file:{path}")
        while (status := guest.qmp("query-migrate"))["status"] not in ("completed", "failed"):
            time.sleep(0.1)
        if status["status"] == "failed":
            raise GuestError(f"QEMU cannot write it: {status.get('error-desc')}")
        frozen.save(guest.memory_file.fileno(), f"{directory}/memory")
        print(f"{os.stat(f'{directory}/memory').st_blocks >> 11} MiB")
    finally:
        guest.kill()


if __name__ == "__main__":
    main()
