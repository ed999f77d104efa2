// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Staging memory: a buddy allocator over a file in memory.
 *
 * Its lists are the daemon's alone, beside the memory: neither the storage process nor a
 * guest can reach them.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <unistd.h>

#include "storage/staging.h"

#define STAGING_CHUNK_PAGES	(STAGING_BUFFER_MAX / STAGING_PAGE)

/**
 * struct staging_page - a page
 * @entry:	if a free block begins with it: of its order
 * @free:	a free block begins with it
 * @order:	of that
 */
struct staging_page {
	LIST_ENTRY(staging_page) entry;
	bool free;
	uint8_t order;
};

/**
 * struct staging - all
 * @base:	memory
 * @size:	bytes
 * @fd:		its descriptor
 * @lists:	free blocks by order
 * @page:	pages
 */
struct staging {
	uint8_t *base;
	uint64_t size;
	int fd;
	LIST_HEAD(, staging_page) lists[STAGING_ORDERS];
	struct staging_page page[];
};

static void staging_put(struct staging *staging, size_t at, unsigned int order)
{
	struct staging_page *page = &staging->page[at];

	page->free = true;
	page->order = order;
	LIST_INSERT_HEAD(&staging->lists[order], page, entry);
}

static size_t staging_take(struct staging *staging, struct staging_page *page)
{
	page->free = false;
	LIST_REMOVE(page, entry);
	return page - staging->page;
}

static int staging_map(struct staging *staging)
{
	int err;

	staging->fd = memfd_create("vhost-user-roce staging", MFD_CLOEXEC);
	if (staging->fd < 0)
		return -errno;
	if (!ftruncate(staging->fd, staging->size)) {
		staging->base = mmap(NULL, staging->size, PROT_READ | PROT_WRITE, MAP_SHARED,
				     staging->fd, 0);
		if (staging->base != MAP_FAILED)
			return 0;
	}
	err = -errno;
	close(staging->fd);
	return err;
}

struct staging *staging_new(uint64_t size)
{
	const size_t pages = size / STAGING_PAGE;
	struct staging *staging;
	size_t at;
	int err;

	staging = calloc(1, sizeof(*staging) + pages * sizeof(staging->page[0]));
	if (!staging)
		return NULL;
	staging->size = size;
	err = staging_map(staging);
	if (err) {
		free(staging);
		errno = -err;
		return NULL;
	}
	for (at = 0; at < pages; at += STAGING_CHUNK_PAGES)
		staging_put(staging, at, STAGING_ORDERS - 1);
	return staging;
}

void staging_free(struct staging *staging)
{
	munmap(staging->base, staging->size);
	close(staging->fd);
	free(staging);
}

void *staging_base(const struct staging *staging)
{
	return staging->base;
}

uint64_t staging_size(const struct staging *staging)
{
	return staging->size;
}

int staging_fd(const struct staging *staging)
{
	return staging->fd;
}

static unsigned int staging_order(uint32_t len)
{
	unsigned int order = 0;

	while (STAGING_PAGE << order < len)
		order++;
	return order;
}

void *staging_alloc(void *arg, uint32_t len)
{
	struct staging *staging = arg;
	const unsigned int order = staging_order(len);
	unsigned int from = order;
	size_t at;

	while (from < STAGING_ORDERS && LIST_EMPTY(&staging->lists[from]))
		from++;
	if (from == STAGING_ORDERS)
		return NULL;
	at = staging_take(staging, LIST_FIRST(&staging->lists[from]));
	while (from-- > order)
		staging_put(staging, at + (1U << from), from);
	return staging->base + at * STAGING_PAGE;
}

void staging_release(void *arg, void *buf, uint32_t len)
{
	struct staging *staging = arg;
	size_t at = ((uint8_t *)buf - staging->base) / STAGING_PAGE;
	unsigned int order = staging_order(len);
	struct staging_page *buddy;

	for (; order < STAGING_ORDERS - 1; order++) {
		buddy = &staging->page[at ^ (1U << order)];
		if (!buddy->free || buddy->order != order)
			break;
		staging_take(staging, buddy);
		at &= ~(size_t)(1U << order);
	}
	staging_put(staging, at, order);
}

int staging_renew(struct staging *staging, void *buf, uint32_t len)
{
	const uint64_t size = (uint64_t)STAGING_PAGE << staging_order(len);

	(void)staging;
	return madvise(buf, size, MADV_REMOVE) ? -errno : 0;
}
