# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The search for reports in a kernel log finds them, and nothing else."""

import pytest

from lab import kernellog
from lab.guest import Guest
from lab.plug import ZERO_PAGE

BOOT = """\
[    0.000000] kmemleak: Kernel memory leak detector initialized (mem pool available: 29877)
[    0.000000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
[    0.231001] ODEBUG: 29 of 29 active objects replaced
[    0.410021] rcu: RCU lockdep checking is enabled.
[    1.120011] DMA-API: preallocated 65536 debug entries
[    1.120015] DMA-API: debugging enabled by kernel config
[    9.497900] mount (41) used greatest stack depth: 26264 bytes left
[   12.000001] virtio_net_roce 0000:00:03.0: RoCE device: taking it over from virtio-pci""".splitlines()

REPORTS = [
    "BUG: KASAN: slab-use-after-free in vroce_cq_poll+0x12/0x340 [virtio_roce]",
    "WARNING: possible circular locking dependency detected",
    "WARNING: CPU: 0 PID: 12 at mm/rmap.c:12 folio_add_file_rmap_ptes+0x1/0x2",
    "INFO: possible recursive locking detected",
    "INFO: trying to register non-static key.",
    "INFO: task modprobe:123 blocked for more than 120 seconds.",
    "BUG: sleeping function called from invalid context at mm/slab.h:1",
    "BUG: scheduling while atomic: swapper/0/0/0x00000002",
    "BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 30s!",
    "BUG kmalloc-64 (Not tainted): Right Redzone overwritten",
    "WARNING: suspicious RCU usage",
    "UBSAN: array-index-out-of-bounds in drivers/infiniband/hw/virtio_roce/vroce_qp.c:1:2",
    "kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "kmemleak: Cannot allocate a kmemleak_object structure",
    "DMA-API: virtio_net_roce 0000:00:03.0: device driver frees DMA memory it has not allocated",
    "ODEBUG: free active (active state 0) object: 0 object type: timer_list hint: 0x0",
    "refcount_t: underflow; use-after-free.",
    "list_del corruption, 0->next is NULL",
    "Oops: general protection fault, probably for non-canonical address 0xdffffc0000000000",
    "Kernel panic - not syncing: Fatal exception",
]


def test_boot_is_no_trouble():
    """A word of the debug kernel about its own tools is not a report."""
    assert not kernellog.reports(BOOT)


@pytest.mark.parametrize("line", REPORTS)
def test_report_is_found(line):
    """Each is found once, with its first lines and its stack trace, at any place."""
    trace = ["Call Trace:", " <TASK>", " vroce_cq_poll+0x12/0x340", " </TASK>"]
    fresh = [f"[   20.000001] {text}" for text in ("one", line, *trace, "after")]
    found = kernellog.reports(BOOT + fresh)
    assert len(found) == 1
    assert line in found[0] and "</TASK>" in found[0] and "behind" not in found[0]


def test_known_report_is_matched_narrowly():
    """A known report is recognized only if one report has all its texts."""
    known = kernellog.Known("&mm->mmap_lock", "&file->lock")
    assert known.matches("[1] a at: &mm->mmap_lock\n[1] b at: &file->lock")
    assert not known.matches("[1] a at: &mm->mmap_lock\n[1] b at: &other->lock")


@pytest.mark.parametrize("function,known", [("ib_umem_get", True), ("nvme_rdma_alloc_qe", True),
                                            ("vnr_dma_is_physical", False)])
def test_overlaps_are_known_by_who_maps(function, known):
    """Reports of our own driver do not count as known, nor do those around them."""
    log = [
        "DMA-API: virtio_net_roce 0000:00:03.0: cacheline tracking EEXIST, overlapping"
        " mappings aren't supported",
        "WARNING: CPU: 0 PID: 22 at kernel/dma/debug.c:601 add_dma_entry+0x3c3/0x500",
        "Call Trace:", " <TASK>", f" {function}+0x18c/0x480", " </TASK>", "---[ end trace ]---",
        "DMA-API: Mapped at:", " debug_dma_map_page+0x7c/0x480", f" {function}+0x18c/0x480"]
    trace = ["Call Trace:", " <TASK>", " vroce_cq_poll+0x12/0x340", " </TASK>"]
    lines = ["kmemleak: 2 new suspected memory leaks", "------------[ cut here ]------------",
             *log, "BUG: sleeping function called from invalid context at mm/slab.h:1", *trace]
    found = kernellog.reports([f"[   20.000001] {text}" for text in lines])
    assert [any(each.matches(report) for each in kernellog.OVERLAPS) for report in found] == \
        [False, known, known, False]


def lockdep_report(*functions, locks=("nvmet_config_sem", "&id_priv->handler_mutex")):
    """The report of lockdep about two locks, with more functions in the chain."""
    first, second = locks
    return ["=====", "WARNING: possible circular locking dependency detected",
            "6.12.117-kunit-debug #1 Tainted: G           O", "-----",
            "modprobe/700 is trying to acquire lock:",
            f"ffff8880 ({second}){{+.+.}}-{{3:3}}, at: rdma_destroy_id+0x1b/0x40 [rdma_cm]", "",
            "but task is already holding lock:",
            f"ffffffff ({first}){{++++}}-{{3:3}}, at: nvmet_port_subsys_drop_link+0x5c/0x300 [nvmet]",
            "", "which lock already depends on the new lock.", "",
            "the existing dependency chain (in reverse order) is:", "",
            f"-> #1 ({first}){{++++}}-{{3:3}}:", "       down_read+0x9a/0x160",
            *(f"       {function}" for function in functions), "",
            f"-> #0 ({second}){{+.+.}}-{{3:3}}:", "       __lock_acquire+0x2e6a/0x6000", "",
            "other info that might help us debug this:", "", "stack backtrace:",
            "Call Trace:", " <TASK>", " dump_stack_lvl+0x73/0xb0", " </TASK>"]


@pytest.mark.parametrize("report,known", [
    (lockdep_report("nvmet_alloc_ctrl+0x1/0x2 [nvmet]"), True),
    (lockdep_report("vroce_destroy_qp+0x1/0x2 [virtio_roce]"), False),
    (lockdep_report(locks=("nvmet_config_sem", "&dev->lock")), False),
    (lockdep_report(locks=("&dev->lock", "&id_priv->handler_mutex")), False)])
def test_nvmet_against_itself(report, known):
    """lockdep's report about nvmet is known, but not if a lock or a function differs."""
    found = kernellog.reports([f"[   20.000001][  T700] {text}" for text in report])
    assert len(found) == 1
    assert kernellog.NVMET_CONFIG.matches(found[0]) == known


def test_lockdep_may_end_after_a_known_report():
    """And only then."""
    guest = Guest("nobody", 1)
    ended = [kernellog.LOCKDEP_ENDED]
    with pytest.raises(AssertionError):
        guest._judge(ended)
    guest._judge(kernellog.reports(lockdep_report()))
    guest._judge(ended)


@pytest.mark.parametrize("function,known", [
    ("copy_process", True), ("__x64_sys_setgroups", True), ("__x64_sys_capset", True),
    ("vroce_create_cq", False)])
def test_each_leak_is_judged(function, known):
    """Entries of kmemleak's list are reports of their own: one that is known hides no other."""
    leaks = [["unreferenced object 0xffff888004e1a000 (size 64):", '  comm "mischief", pid 175',
              "  backtrace (crc 0):", "    kmemleak_alloc+0x51/0x80", f"    {maker}+0x331/0x5540"]
             for maker in ("copy_process", function, "copy_process")]
    found = kernellog.reports(sum(leaks, []))
    assert [any(each.matches(report) for each in kernellog.REFUSED_CONTEXT)
            for report in found] == [True, known, True]


def test_reports_at_the_same_time_are_taken_apart():
    """Two processors report, line by line in turn: each report is whole, with its page."""
    def report(processor):
        caller = f"[   20.000001][  T15{processor}]"
        return [f"{caller} {text}" for text in (
            "page: refcount:10 mapcount:2 mapping:0000000000000000 index:0x0 pfn:0x3",
            "page dumped because: VM_WARN_ON_FOLIO(is_zero_folio(folio))",
            "------------[ cut here ]------------",
            f"WARNING: CPU: {processor} PID: 15{processor} at include/linux/rmap.h:204"
            " folio_remove_rmap_ptes+0x372/0x490",
            f"CPU: {processor} UID: 0 PID: 15{processor} Comm: ibv_rc_pingpong Not tainted",
            "Call Trace:", " <TASK>", " unmap_page_range+0xdfe/0x2770", " </TASK>")]

    both = [line for pair in zip(report(3), report(4)) for line in pair]
    found = kernellog.reports(both)
    assert len(found) == 2
    assert all(ZERO_PAGE[-1].matches(each) for each in found)
