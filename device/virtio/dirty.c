// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The log of the pages that the device has written.
 *
 * A write is told by where it is in this process, as that is all that is known where it is
 * made.  A guest has few regions of memory, so that a look at each of them finds its page.
 */
#include "virtio/dirty.h"

static LIST_HEAD(, dirty_log) logs = LIST_HEAD_INITIALIZER(logs);
unsigned int dirty_logs;

void dirty_log_start(struct dirty_log *log)
{
	LIST_INSERT_HEAD(&logs, log, entry);
	dirty_logs++;
}

void dirty_log_stop(struct dirty_log *log)
{
	LIST_REMOVE(log, entry);
	dirty_logs--;
}

/*
 * An operation with a barrier on both sides, even if the bit is set: it may be cleared at
 * this very time by somebody who has not read the page yet.
 */
static void dirty_set(const struct dirty_log *log, uint64_t page)
{
	if (page / 8 < log->size)
		__atomic_fetch_or(&log->bits[page / 8], 1u << page % 8, __ATOMIC_SEQ_CST);
}

static void dirty_mark_region(const struct dirty_log *log, const struct guest_region *region,
			      uint64_t off, uint64_t len)
{
	uint64_t page = (region->addr + off) / DIRTY_PAGE_SIZE;
	uint64_t last = (region->addr + off + len - 1) / DIRTY_PAGE_SIZE;

	for (; page <= last; page++)
		dirty_set(log, page);
}

void dirty_mark_pages(const void *p, size_t len)
{
	const struct guest_region *region;
	const struct dirty_log *log;
	unsigned int i;
	uint64_t off;

	if (!len)
		return;
	LIST_FOREACH(log, &logs, entry) {
		for (i = 0; i < log->mem->n; i++) {
			region = &log->mem->region[i];
			off = (uintptr_t)p - (uintptr_t)region->host;
			if (off < region->size && len <= region->size - off)
				dirty_mark_region(log, region, off, len);
		}
	}
}
