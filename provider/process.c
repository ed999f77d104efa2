// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which process an object belongs to.
 *
 * Theory of operation: a page that the kernel gives zeroed to a child after fork() holds
 * the number of this process.  Each object with queues remembers the number of the
 * process that made it, so a child sees that a queue is its parent's, of which nothing is
 * mapped there.  One page serves all objects, and one comparison tells.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "virtio_roce.h"

/* There is no object before virtio_roce_process() was called. */
static uint64_t nobody;

/* Where the number of this process is; 0 in a child that has no objects of its own. */
uint64_t *virtio_roce_here = &nobody;

/* A child inherits it, so its own number is larger than those of its ancestors. */
static uint64_t last_number;

static uint64_t *map_page(void)
{
	size_t len = sysconf(_SC_PAGESIZE);
	uint64_t *page, *expected = &nobody;

	page = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	/* Of several threads one wins. */
	if (madvise(page, len, MADV_WIPEONFORK) ||
	    !__atomic_compare_exchange_n(&virtio_roce_here, &expected, page, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		munmap(page, len);
		return expected == &nobody ? NULL : expected;
	}
	return page;
}

/**
 * virtio_roce_process() - the number of this process
 *
 * There is no lock, which another thread could hold while a child is forked.
 *
 * Returns a number that no ancestor has whose objects this process may have inherited; 0
 * and errno if there is no memory.
 */
uint64_t virtio_roce_process(void)
{
	uint64_t *here = __atomic_load_n(&virtio_roce_here, __ATOMIC_ACQUIRE);
	uint64_t number, next;

	if (here == &nobody)
		here = map_page();
	if (!here)
		return 0;
	number = __atomic_load_n(here, __ATOMIC_RELAXED);
	if (number)
		return number;
	next = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(here, &number, next, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return next;
	return number;
}

/**
 * virtio_roce_alloc() - zeroed memory for an object that has queues
 * @size: of the object, which begins a cache line
 *
 * Returns it, to be freed with free(); or NULL, and sets errno.
 */
void *virtio_roce_alloc(size_t size)
{
	void *object;
	int err;

	err = posix_memalign(&object, CACHE_LINE, size);
	if (err) {
		errno = err;
		return NULL;
	}
	return memset(object, 0, size);
}
