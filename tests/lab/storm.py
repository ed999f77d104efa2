# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""tests/guest/storm.c between two guests: mixed messages, contents checked."""

import re

from . import paths
from .pingpong import gid_index

PORT = 18600

_DONE = re.compile(r"storm: (\d+) requests done, (\d+) messages received, (\d+) bytes, ([\d.]+) s")
_FAILED = re.compile(r"storm: status (\d+) .*, (\d+) ms after the last progress")


class Storm:
    """One run, started by its constructor.

    devices   names of the two RDMA devices; ours if not given
    gids      GID indices; those of the guests' IPv4 addresses if not given
    atomics   with fetch-and-adds, whose results are checked, too
    """

    def __init__(self, server, client, *, count=10000, devices=(None, None), gids=(None, None),
                 mtu=1024, timeout=14, retry=7, window=32, min_size=0, max_size=65536, seed=1,
                 port=PORT, address=None, atomics=False):
        self.count = count
        options = {"-n": count, "-m": mtu, "-t": timeout, "-r": retry, "-w": window,
                   "-l": min_size, "-s": max_size, "-S": seed, "-p": port}
        self.ends = []
        for guest, device, gid, host in zip(
                (server, client), devices, gids, ([], [address or server.address])):
            device = device or guest.rdma_device()
            gid = gid if gid is not None else gid_index(guest, device)
            program = guest.put(paths.program("storm"))
            self.ends.append(guest.popen(
                [program, "-d", device, "-g", str(gid), *(["-a"] if atomics else []),
                 *(str(word) for option in options.items() for word in option), *host]))
            if not host:
                # The client connects only once.
                server.wait_listening(port)

    def wait(self, timeout=120):
        """Waits for both ends, which must succeed; returns the seconds that they took."""
        results = [end.wait(timeout) for end in reversed(self.ends)]
        # Both: one that finds a mistake ends, and the other one's requests fail for that.
        assert all(result.rc == 0 for result in results), "\n".join(map(str, results))
        matches = [_DONE.search(result.stdout) for result in results]
        assert all(match and int(match[1]) == self.count for match in matches), results
        return max(float(match[4]) for match in matches)

    def wait_failure(self, timeout=120):
        """Waits for both ends, whose connection must fail.

        Returns, for each end, the status of the failed completion and the milliseconds
        between the completion before it and this one.
        """
        results = [end.wait(timeout) for end in self.ends]
        matches = [_FAILED.search(result.stderr) for result in results]
        assert all(matches), "\n".join(map(str, results))
        return [(int(match[1]), int(match[2])) for match in matches]


def storm(server, client, **arguments):
    """A run from start to end; seconds."""
    timeout = arguments.pop("within", 120)
    return Storm(server, client, **arguments).wait(timeout)
