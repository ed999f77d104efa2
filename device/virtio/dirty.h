/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The log of the pages that the device has written, for whoever moves a guest.
 *
 * virtio/write.h calls dirty_mark() behind each write to memory of a guest.  While no guest
 * is being moved, that is one branch.
 */
#ifndef DEVICE_DIRTY_H
#define DEVICE_DIRTY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "virtio/mem.h"

/* Of a log, whatever pages the guest and this host have. */
#define DIRTY_PAGE_SIZE		4096u

/**
 * struct dirty_log - the log of one guest
 * @mem:	its memory map
 * @bits:	a bit for each page by its device address, in memory that others read and
 *		clear at the same time
 * @size:	bytes of @bits; pages beyond it are not logged
 * @last:	region that the last write was to, if there are so many
 * @entry:	of the logs that are on
 */
struct dirty_log {
	const struct guest_mem *mem;
	uint8_t *bits;
	uint64_t size;
	unsigned int last;
	LIST_ENTRY(dirty_log) entry;
};

/** dirty_logs - how many logs are on */
extern unsigned int dirty_logs;

/** dirty_log_start() - log from now on, with all but @entry filled in; @mem may change */
void dirty_log_start(struct dirty_log *log);

/** dirty_log_stop() - log no longer */
void dirty_log_stop(struct dirty_log *log);

/** dirty_mark_pages() - as dirty_mark(), while there are logs */
void dirty_mark_pages(const void *p, size_t len);

/**
 * dirty_mark() - memory was written
 * @p:		where; memory that no guest has is not logged
 * @len:	bytes, may be 0
 *
 * Whoever clears the bit of a page and reads the page then finds what was written, or finds
 * the bit set again.
 */
static inline void dirty_mark(const void *p, size_t len)
{
	if (__builtin_expect(dirty_logs, 0))
		dirty_mark_pages(p, len);
}

#endif /* DEVICE_DIRTY_H */
