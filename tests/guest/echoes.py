#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""echoes.py INTERFACE MAC COUNT: frames that tests/guest/xsk.c sends back, one after another.

Each has a number and a length of its own.  It is sent again if its echo does not come within
a second.  Ends with an error if one does not come at all.
"""

import itertools
import socket
import struct
import sys
import time

ECHOED = 0x88b5
LENGTHS = (60, 64, 700, 1514)
PATIENCE = 60


def main(interface, target, count):
    """As above."""
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ECHOED))
    link.bind((interface, ECHOED))
    link.settimeout(1)
    own = link.getsockname()[4]
    other = bytes.fromhex(target.replace(":", ""))
    again = 0
    for number, length in zip(range(count), itertools.cycle(LENGTHS)):
        rest = struct.pack("!HI", ECHOED, number).ljust(length - 12, bytes([number % 256]))
        deadline = time.monotonic() + PATIENCE
        link.send(other + own + rest)
        while True:
            try:
                if link.recv(2048) == own + other + rest:
                    break
            except TimeoutError:
                assert time.monotonic() < deadline, f"frame {number} has no echo"
                again += 1
                link.send(other + own + rest)
    print(f"{count} echoes, {again} frames sent again")


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
