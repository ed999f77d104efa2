/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The pages of a memory region as extents: runs of pages that are adjacent for the guest.
 */
#ifndef DEVICE_RDMA_OBJECT_EXTENTS_H
#define DEVICE_RDMA_OBJECT_EXTENTS_H

#include "rdma/object/ctx.h"

/** EXTENTS_NO_ROOM - why there cannot be one more */
#define EXTENTS_NO_ROOM	"too many scattered pages in memory regions"

/**
 * struct mr_extent - pages of a memory region that lie side by side
 * @page:	number of the first one in the region
 * @npages:	how many they are
 * @addr:	device address
 */
struct mr_extent {
	uint32_t page;
	uint32_t npages;
	uint64_t addr;
};

/**
 * struct extents - a list of extents that grows
 * @extent:	the extents
 * @n:		number of them
 * @max:	how many there is room for
 * @limit:	how many there may be
 * @pages:	pages in them
 */
struct extents {
	struct mr_extent *extent;
	uint32_t n;
	uint32_t max;
	uint32_t limit;
	uint32_t pages;
};

/**
 * struct paging - how pages of a guest's list cover a region
 * @shift:	log2 of the bytes of each, %VIRTIO_RDMA_MR_PAGE_SHIFT at least
 * @skip:	pages of ours at the beginning of the first one that the region leaves out;
 *		0 once that has come
 * @left:	pages of ours that are to come
 */
struct paging {
	unsigned int shift;
	uint32_t skip;
	uint64_t left;
};

/**
 * extents_add_page() - add what a region has of a page
 * @list:	extents of the region
 * @mem:	memory map
 * @addr:	device address of the page, not checked yet
 * @paging:	how the pages cover the region
 * @pieces:	grows by the pieces of memory that this is
 *
 * Return: NULL, or why it failed; then a part of it may have been added.
 */
const char *extents_add_page(struct extents *list, const struct guest_mem *mem,
			     uint64_t addr, struct paging *paging, uint32_t *pieces);

/** extents_free() - free the room of a list */
void extents_free(struct extents *list, struct rnic_ctx *ctx);

/** extents_trim() - free the unused room left by growing in powers of two */
void extents_trim(struct extents *list);

/**
 * extents_find() - the extent of a page
 * @extent:	extents, which have the page
 * @n:		number of them
 * @page:	number of the page in the region
 * @hint:	extent to try first, and the one behind it
 *
 * Return: its index.
 */
uint32_t extents_find(const struct mr_extent *extent, uint32_t n, uint32_t page,
		      uint32_t hint);

#endif /* DEVICE_RDMA_OBJECT_EXTENTS_H */
