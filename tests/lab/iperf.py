# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""iperf3 between guests."""

import json
import re
import time

from .patience import Deadline


class Iperf:
    """One run, started by its constructor; of 0 seconds it is one that does not end.

    volume   so much is sent, as "1M", however long that takes

    One that ends fails if the connection stands still when it does.
    """

    def __init__(self, server, client, *, seconds=2, volume=None, arguments=()):
        self._seconds = seconds
        self._server = server.popen(["iperf3", "-s", "-1", "--forceflush"])
        self._server.wait_output(r"Server listening")
        self._client = client.popen(["iperf3", "-c", server.address, "-J",
                                     *(["-n", volume] if volume else ["-t", str(seconds)]),
                                     *arguments])

    def runs(self):
        """It has not ended."""
        return self._client.poll() is None

    def intervals(self):
        """How many there were in which the server got something, one each second."""
        return len(re.findall(r"^\[.*-.* sec +(?!0\.00 )", self._server.stdout, re.MULTILINE))

    def assert_moves(self, timeout=60, since=None):
        """The server gets more, by the connection that there is: it may wait before it tries again.

        More than now, or than when intervals() was @since.
        """
        before = self.intervals() if since is None else since
        deadline = Deadline(timeout)
        # The interval in which this begins may have been good before.
        while self.intervals() < before + 2:
            assert not deadline.over(), f"TCP stands still: {self._server.stdout}"
            time.sleep(0.1)
        assert self.runs()

    def kill(self):
        """Ends both."""
        self._client.kill()
        self._client.wait(20)
        self._server.kill()
        self._server.wait(20)

    def wait(self):
        """TCP throughput from client to server, in Mbit/s, as the server measures it."""
        result = self._client.wait(self._seconds + 60, check=True)
        self._server.wait(30, check=True)
        received = json.loads(result.stdout)["end"]["sum_received"]
        assert received["bytes"] > 0, str(result)
        return received["bits_per_second"] / 1e6


def iperf(server, client, **arguments):
    """A run from start to end; Mbit/s."""
    return Iperf(server, client, **arguments).wait()
