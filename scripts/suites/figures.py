#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Writes the figures of README.md and their plot, from what was measured.

usage: figures.py            takes build/demo.json ("demo.py --sizes") and
                             build/bench/bench.json ("make bench"), keeps both in
                             Documentation/figures/figures.json, and writes the table
                             between the markers of README.md and
                             Documentation/figures/sizes.svg from that
       figures.py --check    says whether table and plot are what figures.json makes
       figures.py --self-test
"""

import json
import math
import pathlib
import re
import statistics
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
README = TOP / "README.md"
KEPT = TOP / "Documentation" / "figures" / "figures.json"
PLOT = TOP / "Documentation" / "figures" / "sizes.svg"
DEMO = TOP / "build" / "demo.json"
BENCH = TOP / "build" / "bench" / "bench.json"

OURS, SOFT = "virtio-net RoCE", "Soft-RoCE"
# A comparison of unequals, which must not look like one of equals.
SLOWED = ("an emulator runs the guests, and slows Soft-RoCE, whose data path is in the guests, far more"
          " than this device, whose data path is in the daemon. With KVM the factors should be much"
          " smaller; nobody has measured them. ")
# Measures of demo.py: the row's title, its unit and whether less is better.
ROWS = {
    "pingpong_us": ("ping-pong of 4 KiB, there and back", "µs", True),
    "write_gbits": ("RDMA WRITE of 64 KiB", "Gbit/s", False),
    "send_mps": ("SEND of 64 bytes", "M/s", False),
}
# The markers in README.md around what is written.
BEGIN, END = "<!-- {}: begin, written by make figures -->\n", "<!-- {}: end -->\n"


def short(value):
    """A figure with the digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.3g}"


def table(figures):
    """The lines between the markers."""
    demo, bench = figures["demo"], figures["bench"]
    yield f"| two guests, one daemon, one host | {OURS} | {SOFT} | factor |"
    yield "|---|---|---|---|"
    for what, (title, unit, less) in ROWS.items():
        ours, soft = (statistics.median(demo["runs"][what][name]) for name in (OURS, SOFT))
        factor = soft / ours if less else ours / soft
        yield f"| {title} | {short(ours)} {unit} | {short(soft)} {unit} | {short(factor)} |"
    yield ""
    yield (f"{demo['date']}, commit {demo['commit']}, {demo['processors']} processors"
           f" ({demo['processor']}), **{'KVM' if demo['kvm'] else 'no KVM'}**:"
           f" {'' if demo['kvm'] else SLOWED}Medians of"
           f" {demo['repeat']} runs, the devices in turn; guests have Linux {demo['guest_kernel']} and MTU"
           f" {demo['mtu']}; load of the machine before: {demo['load']}. The plot has one run of each size,"
           " and differs from the table as runs do here. With native programs in the place of guests"
           f" (`make bench`) the daemon carries {bench['rate_direct'] / 1e6:.2f} million SENDs a second; one"
           f" alone takes {bench['latency_direct_us']:.2g} µs, and a cache line from one processor to the"
           f" other {bench['bare_line_us']:.2g} µs.")


def between(text, name, lines):
    """The text with other lines between the markers of a name."""
    before, rest = text.split(BEGIN.format(name))
    _, after = rest.split(END.format(name))
    return "".join([before, BEGIN.format(name), *(f"{line}\n" for line in lines),
                    END.format(name), after])


def with_figures(readme, figures):
    """README.md with other figures, and the last lines that the demo printed."""
    readme = between(readme, "figures", table(figures))
    return between(readme, "demo", ["```", *figures["demo"]["summary"], "```"])


# The plot: two panels with logarithmic axes.
WIDTH, HEIGHT = 880, 330
PANEL, TALL, TOP_OF, LEFT = 330, 200, 60, 70
COLORS = {OURS: "#1769aa", SOFT: "#b4442d"}


def tick(value):
    """A power of ten as a reader wants it."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def bytes_text(size):
    """A size with its unit."""
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def panel(left, title, points, sizes):
    """Yields the elements of one panel; points is {name: [value of each size]}."""
    low = math.floor(math.log10(min(min(values) for values in points.values())))
    high = math.ceil(math.log10(max(max(values) for values in points.values())))
    bottom = TOP_OF + TALL

    def x(size):
        first, last = math.log2(sizes[0]), math.log2(sizes[-1])
        return left + PANEL * (math.log2(size) - first) / (last - first)

    def y(value):
        return bottom - TALL * (math.log10(value) - low) / (high - low)

    yield (f'<text x="{left + PANEL / 2:.0f}" y="{TOP_OF - 24}" text-anchor="middle" '
           f'font-size="15" font-weight="bold">{title}</text>')
    for exponent in range(low, high + 1):
        at = y(10 ** exponent)
        yield f'<path d="M{left} {at:.1f} h{PANEL}" stroke="#e4e7eb"/>'
        yield (f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">'
               f'{tick(10 ** exponent)}</text>')
    for size in sizes:
        yield (f'<text x="{x(size):.1f}" y="{bottom + 20}" text-anchor="middle" '
               f'font-size="11">{bytes_text(size)}</text>')
    for name, values in points.items():
        line = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in zip(sizes, values))
        yield (f'<polyline points="{line}" fill="none" stroke="{COLORS[name]}" '
               'stroke-width="2.5"/>')
        for size, value in zip(sizes, values):
            yield f'<circle cx="{x(size):.1f}" cy="{y(value):.1f}" r="3.5" fill="{COLORS[name]}"/>'


def plot(figures):
    """The drawing."""
    demo = figures["demo"]
    sizes = [row["size"] for row in demo["sizes"]]
    panels = []
    for left, title, what in ((LEFT, "ping-pong, µs there and back (less is better)", "pingpong_us"),
                              (LEFT + WIDTH // 2, "RDMA WRITE, Gbit/s (more is better)",
                               "write_gbits")):
        points = {name: [row[what][name] for row in demo["sizes"]] for name in (OURS, SOFT)}
        panels += panel(left, title, points, sizes)
    for place, name in ((250, OURS), (450, SOFT)):
        panels.append(f'<circle cx="{place}" cy="{HEIGHT - 18}" r="5" fill="{COLORS[name]}"/>')
        panels.append(f'<text x="{place + 12}" y="{HEIGHT - 13}" font-size="14">{name}</text>')
    return "\n".join([
        "<!-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB; written by make figures -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Helvetica, Arial, sans-serif" '
        'font-size="12" fill="#1f2933">',
        f"<title>Ping-pong and bandwidth over the size of a message, {demo['date']}, "
        f"{demo['commit']}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>',
        *panels, "</svg>", ""])


def problems(readme, drawing, figures):
    """Places that are not as the figures make them."""
    if with_figures(readme, figures) != readme:
        yield f"{README.name}: error: the table is not what {KEPT.name} makes: make figures"
    if drawing != plot(figures):
        yield f"{PLOT.name}: error: the plot is not what {KEPT.name} makes: make figures"


def self_test():
    """A figure that was written by hand is found."""
    both = {OURS: [1.0, 2.0, 4.0], SOFT: [20.0, 30.0, 50.0]}
    figures = {
        "demo": {"date": "D", "commit": "C", "processor": "P", "processors": 2, "kvm": False,
                 "repeat": 3, "guest_kernel": "K", "mtu": 1500, "summary": ["one", "two"], "load": 0.1,
                 "runs": {what: both for what in ROWS},
                 "sizes": [{"size": size, "pingpong_us": {OURS: 1.5, SOFT: 150},
                            "write_gbits": {OURS: 10, SOFT: 0.1}} for size in (64, 1 << 20)]},
        "bench": {"rate_direct": 1.3e6, "latency_direct_us": 1.56, "bare_line_us": 0.2}}
    empty = "".join(["a\n", *(mark.format(name) for name in ("figures", "demo")
                               for mark in (BEGIN, END)), "b\n"])
    good = with_figures(empty, figures)
    assert "| 2 µs | 30 µs | 15 |" in good and "```\none\ntwo\n```\n" in good, good
    assert good.startswith("a\n") and good.endswith("b\n")
    drawing = plot(figures)
    assert not list(problems(good, drawing, figures))
    assert len(list(problems(good.replace("30 µs", "40 µs"), drawing, figures))) == 1
    assert len(list(problems(good, drawing.replace("1 MiB", "2 MiB"), figures))) == 1
    assert re.search(r">0\.1</text>.*>1</text>.*>10</text>", drawing, re.DOTALL)


def main():
    """Runs what the command line says."""
    if "--self-test" in sys.argv:
        self_test()
        return 0
    if "--check" not in sys.argv:
        KEPT.parent.mkdir(exist_ok=True)
        figures = {"demo": json.loads(DEMO.read_text(encoding="utf-8")),
                   "bench": json.loads(BENCH.read_text(encoding="utf-8"))}
        KEPT.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        README.write_text(with_figures(README.read_text(encoding="utf-8"), figures), encoding="utf-8")
        PLOT.write_text(plot(figures), encoding="utf-8")
        return 0
    found = list(problems(README.read_text(encoding="utf-8"), PLOT.read_text(encoding="utf-8"),
                          json.loads(KEPT.read_text(encoding="utf-8"))))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())
