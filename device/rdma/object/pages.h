/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Guest memory that a create command names for good: pages of a ring, and blocks.
 *
 * The guest's memory map may change under an object, as often as a guest likes.  So a
 * change costs nothing for each object: the pointer to a block is made anew when it is
 * used next.  Pages, of which there may be millions, are looked up when they are used.
 * A page that is not memory any more has no pointer, and its user fails.
 */
#ifndef DEVICE_RDMA_OBJECT_PAGES_H
#define DEVICE_RDMA_OBJECT_PAGES_H

#include "rdma/object/ctx.h"
#include "state/state.h"

/**
 * struct pages - a list of pages
 * @ctx:	the NIC's context, or NULL if there is no list
 * @n:		number of pages that it has room for
 * @filled:	number of those that are named
 * @addr:	their device addresses
 */
struct pages {
	struct rnic_ctx *ctx;
	uint32_t n;
	uint32_t filled;
	uint64_t *addr;
};

/**
 * pages_alloc() - make room for a list
 * @pages:	zeroes
 * @ctx:	the NIC's context
 * @n:		number of pages, may be 0
 *
 * Return: NULL, or why it failed.
 */
const char *pages_alloc(struct pages *pages, struct rnic_ctx *ctx, uint32_t n);

/** pages_free() - free a list, or what is there of one; it is zeroes then */
void pages_free(struct pages *pages);

/** pages_add() - the next @n pages are these; returns NULL, or why not */
const char *pages_add(struct pages *pages, const __le64 *list, uint32_t n);

/** pages_fit_ring() - is this a work queue that @n pages hold exactly?  No slots will do */
bool pages_fit_ring(uint32_t depth, uint8_t shift, uint32_t n);

/** pages_left() - pages still to be named */
static inline uint32_t pages_left(const struct pages *pages)
{
	return pages->n - pages->filled;
}

/** pages_ptr() - pointer to a byte, by its offset in the list; NULL if it is lost */
void *pages_ptr(const struct pages *pages, uint64_t off);

/**
 * struct pages_near - the page that was looked up last
 * @epoch:	&rnic_ctx.mem_epoch of then
 * @page:	its number in the list
 * @host:	where it is, NULL = none
 */
struct pages_near {
	uint64_t epoch;
	uint64_t page;
	uint8_t *host;
};

/** pages_find() - as pages_ptr(), and remember the page in @near */
void *pages_find(const struct pages *pages, uint64_t off, struct pages_near *near);

/** pages_ptr_near() - as pages_ptr(), quick if it is in the page of @near */
static inline void *pages_ptr_near(const struct pages *pages, uint64_t off,
				   struct pages_near *near)
{
	if (near->host && near->epoch == pages->ctx->mem_epoch &&
	    near->page == off / RNIC_PAGE_SIZE)
		return near->host + off % RNIC_PAGE_SIZE;
	return pages_find(pages, off, near);
}

/**
 * struct block - a piece of memory that lies within a page
 * @ctx:	the NIC's context, or NULL if there is no block
 * @addr:	device address
 * @len:	bytes, a power of two, which @addr is a multiple of
 * @epoch:	&rnic_ctx.mem_epoch as of which @host is right
 * @host:	where it is here, or NULL
 */
struct block {
	const struct rnic_ctx *ctx;
	uint64_t addr;
	uint32_t len;
	uint64_t epoch;
	void *host;
};

/** block_init() - @len bytes at @addr; returns NULL, or why not */
const char *block_init(struct block *block, const struct rnic_ctx *ctx,
		       uint64_t addr, uint32_t len);

/** block_translate() - the memory map has changed since the last time */
void block_translate(struct block *block);

/** block_host() - where a block is here, or NULL; valid until the memory map changes */
static inline void *block_host(struct block *block)
{
	if (block->ctx && block->epoch != block->ctx->mem_epoch)
		block_translate(block);
	return block->host;
}

/**
 * pages_io() - save or load a list that is complete
 * @st:		state
 * @pages:	list; zeroes if it is loaded
 * @ctx:	the NIC's context
 *
 * The pages need not be memory now.
 */
void pages_io(struct state *st, struct pages *pages, struct rnic_ctx *ctx);

/** block_io() - save or load a block of @len bytes, likewise; zeroes if it is loaded */
void block_io(struct state *st, struct block *block, const struct rnic_ctx *ctx,
	      uint32_t len);

#endif /* DEVICE_RDMA_OBJECT_PAGES_H */
