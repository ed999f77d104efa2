# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""perftest's programs between two guests.

They compare no contents.  Sizes and counts must be those that were asked for, and there must
be a rate.
"""

import re
import time

from .again import attempts
from .patience import PATIENCE, crowd
from .pingpong import gid_index

PORT = 18700
KIBI = 1024

# A deviation whose square was rounded below zero is "-nan".
NUMBER = re.compile(r"[\d.]+|-?nan")


def rows(output):
    """The table that perftest prints, as a list of numbers for each line."""
    lines = (line.split() for line in output.splitlines())
    return [[float(word) for word in words] for words in lines
            if len(words) > 3 and all(map(NUMBER.fullmatch, words))]


def moved(table):
    """Has the last line a rate?  That of small messages is rounded to zero."""
    return table[-1][0] < 4 * KIBI or table[-1][3] > 0


# Seconds of a machine with nothing else to do in which a run ends that does not stand still.
SOON = 10


def clock_is_wrong(results, table, seconds):
    """Is it perftest's own clock that is wrong, and not the stream?

    It compares two clocks before it shows anything, and if one of them stood still for a
    moment, as on a busy machine, it gives up, or says that all took for ever.  By our clock
    it did not; a run that took long by ours has stood still.
    """
    complains = any("Correlation coefficient" in result.stderr for result in results)
    if complains and any(result.rc for result in results):
        return True
    # It may go on all the same, with numbers that are infinite, or zero.
    counted = bool(table) and moved(table)
    return (complains or bool(table)) and not counted and seconds < SOON * PATIENCE


def by_a_right_clock(run):
    """Runs perftest anew as long as its own clock is wrong.

    run   one run from start to end, which returns the results of its ends
    """
    for _ in attempts("perftest's clock"):
        began = time.monotonic()
        results = run()
        seconds = (time.monotonic() - began) / crowd()
        if not any(clock_is_wrong([result], rows(result.stdout), seconds) for result in results):
            break
    for result in results:
        assert result.rc == 0, str(result)
    return results


def perftest(pair, program, *arguments, timeout=120, devices=None, begin=lambda: None):
    """One run, server in guest b; the client's table.

    devices   names of the devices by guest; ours if not given
    begin     called before each attempt
    """
    def line(guest):
        name = devices[guest] if devices else guest.rdma_device()
        return [program, "-d", name, "-x", gid_index(guest, name), "-F", "-p", str(PORT),
                *map(str, arguments)]

    def run():
        begin()
        server = pair.b.popen(line(pair.b))
        pair.b.wait_listening(PORT)
        client = pair.a.popen([*line(pair.a), pair.b.address])
        return [end.wait(timeout) for end in (client, server)]

    results = by_a_right_clock(run)
    table = rows(results[0].stdout)
    for result in results:
        assert "ompletion with error" not in result.stdout + result.stderr, str(result)
    assert table and moved(table), str(results[0])
    return table


def check(table, sizes, iterations):
    """The table has a line for each size, with so many iterations, and data moved."""
    assert [row[0] for row in table] == sizes, table
    assert all(row[1] == iterations for row in table), table
    assert moved(table), table
