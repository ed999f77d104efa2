#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Makes seeds for fuzz_packets of golden packets.

usage: fuzz_seeds.py FILE.hex DIRECTORY

One of each packet, aimed and as it is, and some of neighbouring packets: a message of
several packets stands together in the file.
"""

import pathlib
import sys

AIMED, RAW, TIMED = 3, 4, 11
NEIGHBOURS = 6


def seed(how, frames):
    """As the fuzzer takes it."""
    return bytes([how]) + b"".join(len(frame).to_bytes(2, "little") + frame for frame in frames)


def main():
    """Writes them."""
    source, target = map(pathlib.Path, sys.argv[1:])
    frames = [bytes.fromhex(line) for line in source.read_text().split()]
    seeds = [seed(how, [frame]) for how in (AIMED, RAW) for frame in frames]
    seeds += [seed(how, frames[start:start + NEIGHBOURS]) for how in (AIMED, TIMED)
              for start in range(0, len(frames), NEIGHBOURS // 2)]
    target.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds):
        (target / f"seed-{number:04}").write_bytes(data)


main()
