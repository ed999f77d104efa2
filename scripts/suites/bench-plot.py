#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""bench-plot.py JSON SVG

Draws the figures of bench.sh as bars.  Each group has a scale of its own.
"""

import json
import pathlib
import re
import sys

GROUPS = [
    ("messages of 64 bytes, million a second", 1e-6, r"rate_(rfc|direct|1024_busy)$"),
    ("the same beside idle QPs", 1e-6, r"rate_beside_(\d+)_idle$"),
    ("latency, microseconds", 1, r"(latency_rfc|latency_direct|event)_us$"),
    ("a QP, microseconds", 1, r"(create|connect|destroy)_us$"),
    ("memory of the daemon for an idle QP, bytes", 1, r"(idle_qp)_bytes$"),
]
WIDTH, LEFT, BAR, LINE = 640, 130, 360, 20


def group(title, factor, pattern, figures, top):
    """Yields the lines of a group, then the place below it."""
    bars = [(match.group(1), value * factor) for name, value in figures.items()
            if (match := re.match(pattern, name))]
    longest = max((value for _, value in bars), default=0) or 1
    yield f'<text x="10" y="{top + 14}" font-weight="bold">{title}</text>'
    for name, value in bars:
        top += LINE
        yield f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">{name}</text>'
        length = BAR * value / longest
        yield (f'<rect x="{LEFT}" y="{top + 3}" width="{length:.1f}" height="{LINE - 6}" '
               'fill="steelblue"/>')
        yield f'<text x="{LEFT + length + 6:.1f}" y="{top + 14}">{value:.4g}</text>'
    yield top + 2 * LINE


def main():
    """Writes the drawing."""
    source, target = map(pathlib.Path, sys.argv[1:])
    figures = json.loads(source.read_text(encoding="utf-8"))
    lines, top = [], 10
    for title, factor, pattern in GROUPS:
        *new, top = group(title, factor, pattern, figures, top)
        lines += new
    target.write_text("\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>', *lines, "</svg>", ""]),
        encoding="utf-8")


if __name__ == "__main__":
    main()
