# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""tests/guest/count.py between two guests: atomic operations on one word."""

import pathlib
import re

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "guest"
BATCH = 16


def count(server, clients, to, *, qps=8, timeout=120):
    """QPS QPs of all clients and one of the server count to that many, or a few more.

    The server's guest may have one of the clients, too.
    """
    rounds = -(-to // ((qps + 1) * BATCH))
    each = str(qps // len(clients))

    def start(guest, what, *arguments):
        guest.put(PROGRAMS / "ends.py")
        return guest.popen(["python3", guest.put(PROGRAMS / "count.py"), what,
                            guest.rdma_device(), each, str(rounds), *arguments])

    serving = start(server, "serve", str(len(clients)))
    adding = [start(guest, "add", server.address, str(number))
              for number, guest in enumerate(clients)]
    for end in adding:
        end.wait(timeout, check=True)
    said = serving.wait(timeout, check=True).stdout
    found = re.search(r"counted to (\d+)", said)
    assert found and int(found[1]) == rounds * (qps + 1) * BATCH >= to, said
