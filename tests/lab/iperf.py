# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""iperf3 between guests."""

import json


def iperf(server, client, *, seconds=2, arguments=()):
    """TCP throughput from client to server, in Mbit/s, as the server measures it."""
    listening = server.popen(["iperf3", "-s", "-1", "--forceflush"])
    listening.wait_output(r"Server listening")
    result = client.run(["iperf3", "-c", server.address, "-t", str(seconds), "-J", *arguments],
                        timeout=seconds + 60)
    listening.wait(30, check=True)
    return json.loads(result.stdout)["end"]["sum_received"]["bits_per_second"] / 1e6
