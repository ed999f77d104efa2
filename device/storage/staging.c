// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Staging memory: a buddy allocator over a file in memory.
 *
 * Its lists are the daemon's alone, beside the memory: neither the storage process nor a
 * guest can reach them.
 *
 * Memory is made of chunks, as large as the largest buffer.  A chunk belongs to one owner as
 * long as a buffer of it is used, and an owner has half of the chunks at most.  So buffers that
 * one guest does not give back can be scattered as they like: others have whole chunks.
 *
 * A buffer whose pages could not be replaced is lost: when its owner gives it back nobody gets
 * it, until they can be.
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
 * @entry:	if a free block begins with it: of its order; or of those that are lost
 * @free:	a free block begins with it
 * @lost:	a buffer begins with it whose pages have to be replaced
 * @order:	of that
 */
struct staging_page {
	LIST_ENTRY(staging_page) entry;
	bool free;
	bool lost;
	uint8_t order;
};

/**
 * struct staging_chunk - a chunk
 * @owner:	whose it is, or NULL
 * @orders:	of its free blocks, as bits
 * @lists:	free blocks by order
 */
struct staging_chunk {
	const void *owner;
	unsigned int orders;
	LIST_HEAD(, staging_page) lists[STAGING_ORDERS];
};

/**
 * struct staging - all
 * @base:	memory
 * @size:	bytes
 * @fd:		its descriptor
 * @chunks:	number of @chunk
 * @last:	the one of the last buffer
 * @lost:	buffers that were given back, and are lost
 * @chunk:	chunks
 * @page:	pages
 */
struct staging {
	uint8_t *base;
	uint64_t size;
	int fd;
	size_t chunks;
	struct staging_chunk *last;
	LIST_HEAD(, staging_page) lost;
	struct staging_chunk *chunk;
	struct staging_page page[];
};

static struct staging_chunk *staging_chunk_of(struct staging *staging, size_t at)
{
	return &staging->chunk[at / STAGING_CHUNK_PAGES];
}

static void staging_put(struct staging *staging, size_t at, unsigned int order)
{
	struct staging_chunk *chunk = staging_chunk_of(staging, at);
	struct staging_page *page = &staging->page[at];

	page->free = true;
	page->order = order;
	LIST_INSERT_HEAD(&chunk->lists[order], page, entry);
	chunk->orders |= 1U << order;
}

static size_t staging_take(struct staging *staging, struct staging_page *page)
{
	const size_t at = page - staging->page;
	struct staging_chunk *chunk = staging_chunk_of(staging, at);

	page->free = false;
	LIST_REMOVE(page, entry);
	if (LIST_EMPTY(&chunk->lists[page->order]))
		chunk->orders &= ~(1U << page->order);
	return at;
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
	staging->chunks = pages / STAGING_CHUNK_PAGES;
	staging->chunk = calloc(staging->chunks, sizeof(staging->chunk[0]));
	err = staging->chunk ? staging_map(staging) : -ENOMEM;
	if (err) {
		free(staging->chunk);
		free(staging);
		errno = -err;
		return NULL;
	}
	staging->last = staging->chunk;
	LIST_INIT(&staging->lost);
	for (at = 0; at < pages; at += STAGING_CHUNK_PAGES)
		staging_put(staging, at, STAGING_ORDERS - 1);
	return staging;
}

void staging_free(struct staging *staging)
{
	munmap(staging->base, staging->size);
	close(staging->fd);
	free(staging->chunk);
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

/* A chunk of an owner with a free block of that order or a larger one, or a new one, or NULL. */
static struct staging_chunk *staging_find(struct staging *staging, const void *owner,
					  unsigned int order)
{
	struct staging_chunk *chunk = staging->last, *empty = NULL;
	size_t owned = 0, i;

	if (chunk->owner == owner && chunk->orders >> order)
		return chunk;
	for (i = 0; i < staging->chunks; i++) {
		chunk = &staging->chunk[i];
		if (chunk->owner == owner && chunk->orders >> order)
			return chunk;
		owned += chunk->owner == owner;
		if (!chunk->owner && !empty)
			empty = chunk;
	}
	return owner == staging || owned < (staging->chunks + 1) / 2 ? empty : NULL;
}

/* With what is free beside it. */
static void staging_give(struct staging *staging, size_t at, unsigned int order)
{
	struct staging_page *buddy;

	for (; order < STAGING_ORDERS - 1; order++) {
		buddy = &staging->page[at ^ (1U << order)];
		if (!buddy->free || buddy->order != order)
			break;
		staging_take(staging, buddy);
		at &= ~(size_t)(1U << order);
	}
	staging_put(staging, at, order);
	if (order == STAGING_ORDERS - 1)
		staging_chunk_of(staging, at)->owner = NULL;
}

static int staging_replace(struct staging *staging, size_t at, unsigned int order)
{
	const size_t size = (size_t)STAGING_PAGE << order;

	return madvise(staging->base + at * STAGING_PAGE, size, MADV_REMOVE) ? -errno : 0;
}

/* Buffers that were lost and need not be any more. */
static void staging_regain(struct staging *staging)
{
	struct staging_page *page = LIST_FIRST(&staging->lost), *next;

	for (; page; page = next) {
		next = LIST_NEXT(page, entry);
		if (staging_replace(staging, page - staging->page, page->order))
			continue;
		LIST_REMOVE(page, entry);
		page->lost = false;
		staging_give(staging, page - staging->page, page->order);
	}
}

void *staging_alloc_of(void *arg, const void *owner, uint32_t len)
{
	struct staging *staging = arg;
	const unsigned int order = staging_order(len);
	struct staging_chunk *chunk = staging_find(staging, owner, order);
	unsigned int from;
	size_t at;

	if (!chunk && !LIST_EMPTY(&staging->lost)) {
		staging_regain(staging);
		chunk = staging_find(staging, owner, order);
	}
	if (!chunk)
		return NULL;
	chunk->owner = owner;
	staging->last = chunk;
	from = order + __builtin_ctz(chunk->orders >> order);
	at = staging_take(staging, LIST_FIRST(&chunk->lists[from]));
	while (from-- > order)
		staging_put(staging, at + (1U << from), from);
	return staging->base + at * STAGING_PAGE;
}

void *staging_alloc(void *arg, uint32_t len)
{
	return staging_alloc_of(arg, arg, len);
}

static size_t staging_at(const struct staging *staging, const void *buf)
{
	return ((const uint8_t *)buf - staging->base) / STAGING_PAGE;
}

void staging_release(void *arg, void *buf, uint32_t len)
{
	struct staging *staging = arg;
	const size_t at = staging_at(staging, buf);
	struct staging_page *page = &staging->page[at];

	if (!page->lost) {
		staging_give(staging, at, staging_order(len));
		return;
	}
	page->order = staging_order(len);
	LIST_INSERT_HEAD(&staging->lost, page, entry);
}

void staging_renew(struct staging *staging, void *buf, uint32_t len)
{
	const size_t at = staging_at(staging, buf);

	staging->page[at].lost = staging_replace(staging, at, staging_order(len));
}
