# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a kernel's log says about the health of the kernel."""

import re

# What a healthy kernel does not say.  At boot the debug kernel says that DMA-API,
# ODEBUG and kmemleak are there.
TROUBLE = re.compile(
    r"WARNING:|\bBUG:|\bBUG \S+ \(|\bOops\b|Call Trace|UBSAN:|KASAN:|KFENCE:|general protection"
    r"|Kernel panic|INFO: (possible|task|rcu|trying|lockdep)|unreferenced object"
    r"|suspected memory leak|sleeping function called|suspicious RCU|refcount_t:"
    r"|detected stall|list_(add|del) corruption"
    r"|DMA-API: (?!preallocated|debugging enabled)"
    r"|ODEBUG: (?!\d+ of \d+ active objects replaced|selftest passed)"
    r"|kmemleak: (?!Kernel memory leak detector|Automatic memory scanning)"
)

_BEFORE = 3
_AFTER = 60
_STAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\] ?")


def _end(lines, start):
    """Where the report that starts in that line ends: after its stack trace.

    What follows it is another one, which must not be taken for a part of one that is known.
    """
    if "DMA-API: Mapped at:" in lines[start]:
        # The only trace without a mark at its end.
        number = start + 1
        while number < len(lines) and plain(lines[number]).startswith(" "):
            number += 1
        return number
    for number in range(start + 1, min(start + 400, len(lines))):
        if "[ cut here ]" in lines[number]:
            return number
        if "</TASK>" in lines[number] or "</IRQ>" in lines[number]:
            return number + 1
    return min(start + _AFTER, len(lines))


def reports(lines):
    """The reports in the lines of a log, each as one text."""
    found = []
    last = number = 0
    while number < len(lines):
        if TROUBLE.search(lines[number]):
            end = _end(lines, number)
            found.append("\n".join(lines[max(last, number - _BEFORE):end]))
            last = number = end
        else:
            number += 1
    return found


def plain(text):
    """The same without time stamps."""
    return "\n".join(_STAMP.sub("", line) for line in text.splitlines())


class Known:
    """A report that is no mistake of ours, told by pieces of text that it holds."""

    def __init__(self, *pieces):
        self.pieces = pieces

    def matches(self, report):
        """All pieces are in it."""
        return all(piece in report for piece in self.pieces)


# Mappings that share a cache line, of whoever's device: DMA_API_DEBUG does not like that,
# and coherent memory does not mind.  Regions of one process, or of several, may share a
# page, and ib_core maps it for each of them; nvme_rdma maps its completions one by one,
# and they have 16 bytes.
OVERLAPS = tuple(known for mapped_by in ("ib_umem_get", "nvme_rdma_alloc_qe")
                 for known in (Known("DMA-API:", "overlapping mappings", mapped_by),
                               Known("DMA-API: Mapped at:", mapped_by)))
