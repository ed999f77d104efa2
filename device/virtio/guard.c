// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that its owner can take away at any time.
 *
 * The list of guards is changed by the loop's thread, which is the only one, and
 * read by the handler, which interrupts that thread while it touches guest
 * memory.  Code that changes the list touches none, so that the handler never
 * sees a list that is half changed.
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/util.h"
#include "virtio/guard.h"

static LIST_HEAD(, mem_guard) guards = LIST_HEAD_INITIALIZER(guards);

void mem_guard_add(struct mem_guard *guard)
{
	LIST_INSERT_HEAD(&guards, guard, entry);
}

void mem_guard_del(struct mem_guard *guard)
{
	LIST_REMOVE(guard, entry);
}

static struct mem_guard *guard_find(const void *addr)
{
	struct mem_guard *guard;

	LIST_FOREACH(guard, &guards, entry)
		if ((uintptr_t)addr - (uintptr_t)guard->map < guard->len)
			return guard;
	return NULL;
}

/*
 * To replace all of a large mapping would take as long as to unmap it.  So it is done in
 * parts, when they are touched: the rest goes bit by bit when the guard's owner ends.
 */
static bool guard_replace(const struct mem_guard *guard, const void *addr)
{
	const uintptr_t begin = (uintptr_t)guard->map;
	uintptr_t from = begin, to = begin + guard->len;

	if (guard->part) {
		from = (uintptr_t)addr & ~(uintptr_t)(guard->part - 1);
		if (from + guard->part < to)
			to = from + guard->part;
		if (from < begin)
			from = begin;
	}
	return mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
		    -1, 0) != MAP_FAILED;
}

static void guard_signalled(int sig, siginfo_t *info,
			    void *context __always_unused)
{
	int err = errno;
	struct mem_guard *guard = NULL;

	/* Codes above 0 are the kernel's, with an address. */
	if (info->si_code > 0)
		guard = guard_find(info->si_addr);
	if (guard && guard_replace(guard, info->si_addr)) {
		guard->lost(guard->arg);
		errno = err;
		return;
	}
	/* The instruction faults again; a signal that was sent is sent again. */
	signal(sig, SIG_DFL);
	if (info->si_code <= 0)
		raise(sig);
}

int mem_guard_init(void)
{
	const struct sigaction action = {
		.sa_sigaction = guard_signalled,
		.sa_flags = SA_SIGINFO,
	};

	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}
