// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pages of a memory region as extents.
 *
 * A page of a guest's list has the guest's size, up to 1 GiB.  Here it is so many pages of
 * ours, without those that the region leaves out at its ends: nobody may say that these
 * are memory.
 */
#include <stdlib.h>

#include "rdma/object/extents.h"

static const char extents_no_memory[] = "out of memory";

static bool extents_grow(struct extents *list)
{
	uint32_t max = list->max ? 2 * list->max : 8;
	struct mr_extent *extent;

	extent = realloc(list->extent, max * sizeof(*extent));
	if (!extent)
		return false;
	list->extent = extent;
	list->max = max;
	return true;
}

static const char *extents_add(struct extents *list, uint64_t addr, uint32_t npages)
{
	struct mr_extent *last = list->n ? &list->extent[list->n - 1] : NULL;

	if (last && last->addr + (uint64_t)last->npages * RNIC_PAGE_SIZE == addr) {
		last->npages += npages;
		list->pages += npages;
		return NULL;
	}
	if (list->n == list->limit)
		return EXTENTS_NO_ROOM;
	if (list->n == list->max && !extents_grow(list))
		return extents_no_memory;
	list->extent[list->n++] = (struct mr_extent) {
		.page = list->pages,
		.npages = npages,
		.addr = addr,
	};
	list->pages += npages;
	return NULL;
}

void extents_free(struct extents *list, struct rnic_ctx *ctx)
{
	rnic_give_back(ctx, list->extent, list->max * sizeof(*list->extent));
	list->extent = NULL;
}

void extents_trim(struct extents *list)
{
	struct mr_extent *extent;

	extent = realloc(list->extent, list->n * sizeof(*extent));
	if (!extent)
		return;
	list->extent = extent;
	list->max = list->n;
}

/* The next pages of [@addr, @addr + @npages pages) that lie in one piece of memory; or 0. */
static uint32_t pages_run(const struct guest_mem *mem, uint64_t addr, uint32_t npages)
{
	uint64_t len = (uint64_t)npages * RNIC_PAGE_SIZE;
	uint8_t *host;

	len = guest_mem_contig(mem, addr, len, &host);
	return host ? len / RNIC_PAGE_SIZE : 0;
}

const char *extents_add_page(struct extents *list, const struct guest_mem *mem,
			     uint64_t addr, struct paging *paging, uint32_t *pieces)
{
	const uint64_t size = 1ull << paging->shift;
	uint64_t left = size / RNIC_PAGE_SIZE - paging->skip;
	const char *why;
	uint32_t run;

	if (addr & (size - 1))
		return "page address is not aligned";
	if (left > paging->left)
		left = paging->left;
	addr += (uint64_t)paging->skip * RNIC_PAGE_SIZE;
	paging->skip = 0;
	paging->left -= left;
	for (; left; left -= run) {
		run = pages_run(mem, addr, left);
		if (!run)
			return "page outside of guest memory";
		why = extents_add(list, addr, run);
		if (why)
			return why;
		addr += (uint64_t)run * RNIC_PAGE_SIZE;
		++*pieces;
	}
	return NULL;
}

static bool extent_has(const struct mr_extent *extent, uint32_t page)
{
	return page >= extent->page && page - extent->page < extent->npages;
}

uint32_t extents_find(const struct mr_extent *extent, uint32_t n, uint32_t page,
		      uint32_t hint)
{
	uint32_t low = 0, high = n - 1, mid;

	if (hint < n && extent_has(&extent[hint], page))
		return hint;
	if (hint + 1 < n && extent_has(&extent[hint + 1], page))
		return hint + 1;

	while (low < high) {
		mid = low + (high - low + 1) / 2;
		if (extent[mid].page <= page)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}
