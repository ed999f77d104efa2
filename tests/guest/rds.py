# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Messages over RDS, which the kernel carries by RDMA, there and back.

rds.py MINE [PEER COUNT]

Without PEER it sends back what comes.  The sizes are from nothing to 1 MiB.
"""

import random
import socket
import sys

PORT = 4000
LARGEST = 1 << 20
# Messages that are under way at the same time.
WINDOW = 8
SECONDS = 20
# The module has no names for them.
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33


def message(number):
    """One of them; both ends make it from its number."""
    rng = random.Random(number)
    size = rng.choice((0, 1, 64, 4096, 4097, 65536, rng.randrange(LARGEST), LARGEST))
    return rng.randbytes(size)


def echo(endpoint):
    """Until it is killed."""
    print("ready", flush=True)
    while True:
        data, peer = endpoint.recvfrom(LARGEST)
        endpoint.sendto(data, peer)


def exchange(endpoint, peer, count):
    """They come back in order, each once."""
    endpoint.settimeout(SECONDS)
    total = 0
    for number in range(count + WINDOW):
        if number >= WINDOW:
            data, sender = endpoint.recvfrom(LARGEST)
            assert sender == (peer, PORT), sender
            assert data == message(number - WINDOW), (number - WINDOW, len(data))
            total += len(data)
        if number < count:
            endpoint.sendto(message(number), (peer, PORT))
    print(f"{count} messages, {total} bytes")


def main():
    """Does what the command line says."""
    mine, *peer = sys.argv[1:]
    endpoint = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    for option in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
        endpoint.setsockopt(socket.SOL_SOCKET, option, 2 * WINDOW * LARGEST)
    endpoint.bind((mine, PORT))
    if peer:
        exchange(endpoint, peer[0], int(peer[1]))
    else:
        echo(endpoint)


if __name__ == "__main__":
    main()
