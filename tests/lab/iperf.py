# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""iperf3 between guests."""

import json


class Iperf:
    """One run, started by its constructor."""

    def __init__(self, server, client, *, seconds=2, arguments=()):
        self._seconds = seconds
        self._server = server.popen(["iperf3", "-s", "-1", "--forceflush"])
        self._server.wait_output(r"Server listening")
        self._client = client.popen(["iperf3", "-c", server.address, "-t", str(seconds), "-J",
                                     *arguments])

    def runs(self):
        """It has not ended."""
        return self._client.poll() is None

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
