# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""tests/guest/count.py between two guests: atomic operations on one word."""

import pathlib
import re

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "guest"
BATCH = 16


def count(server, client, to, *, qps=8, devices=(None, None), timeout=120):
    """QPS QPs of the client and one of the server count to that many, or a few more."""
    rounds = -(-to // ((qps + 1) * BATCH))
    ends = []
    for guest, device, address in zip((server, client), devices, ([], [server.address])):
        guest.put(PROGRAMS / "ends.py")
        ends.append(guest.popen(
            ["python3", guest.put(PROGRAMS / "count.py"), "add", device or guest.rdma_device(),
             str(qps), str(rounds), *address]))
    results = [end.wait(timeout, check=True) for end in reversed(ends)]
    found = re.search(r"counted to (\d+)", results[1].stdout)
    assert found and int(found[1]) == rounds * (qps + 1) * BATCH >= to, results
