# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""TCP with its contents checked.

transfer.py receive ADDRESS PORT          says "listening", then "received SUM"
transfer.py send ADDRESS PORT MEBIBYTES   says "sent SUM"
"""

import hashlib
import random
import socket
import sys


def receive(address, port):
    """Accepts one connection and reads it to its end."""
    digest = hashlib.sha256()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as server:
        print("listening", flush=True)
        with server.accept()[0] as connection:
            while data := connection.recv(1 << 20):
                digest.update(data)
    print("received", digest.hexdigest())


def send(address, port, mebibytes):
    """Connects and writes."""
    digest = hashlib.sha256()
    block = random.Random(mebibytes).randbytes(1 << 20)
    with socket.create_connection((address, port), timeout=30) as connection:
        # For as long as the other end may stand still.
        connection.settimeout(None)
        for number in range(mebibytes):
            data = bytes([number % 256]) + block[1:]
            connection.sendall(data)
            digest.update(data)
    print("sent", digest.hexdigest())


if sys.argv[1] == "receive":
    receive(sys.argv[2], int(sys.argv[3]))
else:
    send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
