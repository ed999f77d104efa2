// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The log of the pages that the device has written.
 *
 * A write is told by where it is in this process, as that is all that is known where it is
 * made.  Each region is mapped in one place, so that a write is in one region of one log at
 * most, as a rule the one of the write before.  A guest has few regions: a look at each of them
 * finds any other.
 */
#include <stdbool.h>

#include "virtio/dirty.h"

static LIST_HEAD(, dirty_log) logs = LIST_HEAD_INITIALIZER(logs);
unsigned int dirty_logs;

/* Of the last write that was logged, or NULL. */
static struct dirty_log *last_log;

void dirty_log_start(struct dirty_log *log)
{
	LIST_INSERT_HEAD(&logs, log, entry);
	dirty_logs++;
}

void dirty_log_stop(struct dirty_log *log)
{
	LIST_REMOVE(log, entry);
	dirty_logs--;
	if (last_log == log)
		last_log = NULL;
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

static bool dirty_mark_in(const struct dirty_log *log, unsigned int i, const void *p, size_t len)
{
	const struct guest_region *region = &log->mem->region[i];
	const uint64_t off = (uintptr_t)p - (uintptr_t)region->host;

	if (off >= region->size || len > region->size - off)
		return false;
	dirty_mark_region(log, region, off, len);
	return true;
}

/* False if it is not in memory of this guest. */
static bool dirty_mark_log(struct dirty_log *log, const void *p, size_t len)
{
	unsigned int i;

	if (log->last < log->mem->n && dirty_mark_in(log, log->last, p, len))
		return true;
	for (i = 0; i < log->mem->n; i++)
		if (dirty_mark_in(log, i, p, len)) {
			log->last = i;
			return true;
		}
	return false;
}

void dirty_mark_pages(const void *p, size_t len)
{
	struct dirty_log *log;

	if (!len || (last_log && dirty_mark_log(last_log, p, len)))
		return;
	LIST_FOREACH(log, &logs, entry)
		if (log != last_log && dirty_mark_log(log, p, len)) {
			last_log = log;
			return;
		}
}
