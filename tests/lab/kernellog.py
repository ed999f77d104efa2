# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Finds reports of trouble in a kernel log."""

import re

# A healthy kernel prints none of this.  At boot the debug kernel names DMA-API, ODEBUG
# and kmemleak.
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
# "[   20.000001][   T123] ": the second part, the task or the processor that says it, is
# there if the kernel has PRINTK_CALLER, as the debug kernel has.
_STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *([CT]\d+)\])? ?")


def _end(lines, start):
    """Where the report that starts in that line ends: after its stack trace.

    The text behind it is another report, and must not count as part of a known one.
    """
    if "DMA-API: Mapped at:" in lines[start] or "unreferenced object" in lines[start]:
        # Traces without a mark at their end.
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


def _by_caller(lines):
    """The lines of each task or processor: two may report at the same time."""
    said = {}
    for line in lines:
        stamp = _STAMP.match(line)
        said.setdefault(stamp and stamp[1], []).append(line)
    return said.values()


def reports(lines):
    """The reports in the lines of a log, each as one text."""
    return [report for said in _by_caller(lines) for report in _reports_of_one(said)]


def _reports_of_one(lines):
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
    """The lines without time stamps."""
    return "\n".join(_STAMP.sub("", line) for line in text.splitlines())


class Known:
    """A report that is not caused by our code, recognized by texts that it contains.

    without       texts that must not be in it
    ends_lockdep  it is lockdep's, which turns itself off after its first report
    """

    def __init__(self, *pieces, without=(), ends_lockdep=False):
        self.pieces = pieces
        self.without = without
        self.ends_lockdep = ends_lockdep

    def matches(self, report):
        """All pieces are in it, and nothing that must not be."""
        return all(piece in report for piece in self.pieces) and \
            not any(piece in report for piece in self.without)


# ib_core 6.12 frees a context that it refuses, a process's second one for example,
# without rdma_restrack_put(): what the process consists of is never freed then, its
# credentials included, wherever they were made last.
REFUSED_CONTEXT = (*(Known("unreferenced object", maker) for maker in
                     (" copy_process+", " __x64_sys_setgroups+", " __x64_sys_capset+")),
                   Known("kmemleak: ", "new suspected memory leaks"))

# How our functions appear in a stack trace.
OURS = ("[virtio_roce]", "[virtio_net_roce]")

# nvmet takes nvmet_config_sem and then, by rdma_listen() and rdma_destroy_id(), a
# handler_mutex of rdma_cm.  With the handler_mutex of another id rdma_cm calls nvmet_rdma,
# which flushes its work queue, and a work item there takes nvmet_config_sem.  The ids
# differ, but lockdep knows only the class of a lock.  A report that has a function of ours
# anywhere is not this one.
NVMET_CONFIG = Known("possible circular locking dependency", "nvmet_config_sem",
                     "&id_priv->handler_mutex", without=OURS, ends_lockdep=True)
LOCKDEP_ENDED = "BUG: lockdep has turned itself off"

# DMA_API_DEBUG reports mappings that share a cache line, of any device; with coherent
# memory they are harmless.  Regions of one or several processes may share a page, which
# ib_core maps for each of them; nvme_rdma maps its 16-byte completions one by one.
OVERLAPS = tuple(known for mapped_by in ("ib_umem_get", "nvme_rdma_alloc_qe")
                 for known in (Known("DMA-API:", "overlapping mappings", mapped_by),
                               Known("DMA-API: Mapped at:", mapped_by)))
