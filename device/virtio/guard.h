/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that its owner can take away at any time.
 *
 * Guest memory is a file of QEMU's.  Where the file is truncated, or has no page
 * to give, touching the mapping raises SIGBUS.  A guard turns this into the end
 * of one guest: where that happens, the mapping is replaced by anonymous memory, so that
 * whatever the daemon was about to do goes on, and the guard's owner is told.
 */
#ifndef DEVICE_GUARD_H
#define DEVICE_GUARD_H

#include <stddef.h>
#include <sys/queue.h>

/**
 * struct mem_guard - a mapping that may go away
 * @map:	what mmap() returned
 * @len:	bytes of it, as for munmap()
 * @part:	how much of it is replaced at a time, a power of two and a multiple of its
 *		pages' size; 0 for all of it
 * @lost:	a part of the mapping was replaced by memory of zeroes.  Called by a signal
 *		handler: only what signal-safety(7) allows
 * @arg:	for @lost
 * @entry:	of the list of all guards
 */
struct mem_guard {
	void *map;
	size_t len;
	size_t part;
	void (*lost)(void *arg);
	void *arg;
	LIST_ENTRY(mem_guard) entry;
};

/**
 * mem_guard_init() - catch SIGBUS from now on
 *
 * A SIGBUS that is not about a guarded mapping ends the process as before.
 *
 * Return: 0 or -errno.
 */
int mem_guard_init(void);

/** mem_guard_add() - guard a mapping, with all but @entry filled in */
void mem_guard_add(struct mem_guard *guard);

/** mem_guard_del() - the mapping is about to be removed */
void mem_guard_del(struct mem_guard *guard);

#endif /* DEVICE_GUARD_H */
