// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions and windows, saved and loaded.
 *
 * A registration under way is not saved: its command is carried out again.
 */
#include <stdlib.h>
#include <string.h>

#include "rdma/object/mr_image.h"

/* Bytes of the smallest one in a state. */
#define MR_STATE_SIZE		21u
#define EXTENT_STATE_SIZE	12u

/* The kind of a region, as the state has it. */
enum mr_form {
	MR_PAGES,	/* of REG_USER_MR */
	MR_DMA,
	MR_FAST,	/* of ALLOC_MR */
	MR_WINDOW,
	MR_FORMS
};

static uint8_t mr_form(const struct mr *mr)
{
	if (mr->window)
		return MR_WINDOW;
	if (mr->max_pages)
		return MR_FAST;
	return mr->dma ? MR_DMA : MR_PAGES;
}

static void extents_io(struct state *st, struct mr *mr, uint32_t room)
{
	uint32_t i, page = 0;
	uint64_t last;
	struct mr_extent *extent;

	state_count(st, "extents", &mr->n, room ? room : RNIC_MR_EXTENTS_MOST,
		    EXTENT_STATE_SIZE);
	if (st->loading && !room && mr->n)
		mr->extent = calloc(mr->n, sizeof(*mr->extent));
	if (!state_need(st, !mr->n || mr->extent, "extents", "out of memory"))
		return;
	for (i = 0; i < mr->n && !st->failed; i++) {
		extent = &mr->extent[i];
		state_u64(st, "extent", &extent->addr, UINT64_MAX);
		state_u32(st, "pages", &extent->npages, UINT32_MAX);
		state_need(st, extent->npages && extent->npages <= UINT32_MAX - page, "pages",
			   "none, or too many");
		last = UINT64_MAX - (uint64_t)extent->npages * RNIC_PAGE_SIZE;
		state_need(st, !(extent->addr % RNIC_PAGE_SIZE) && extent->addr <= last, "extent",
			   "its address is not that of a page");
		if (st->loading)
			extent->page = page;
		page += extent->npages;
	}
	if (st->loading && !st->failed && (mr->n || !mr->invalid))
		state_need(st, mr->n && page == (mr->first + mr->length + RNIC_PAGE_SIZE - 1) /
					RNIC_PAGE_SIZE,
			   "pages", "they do not cover the region");
}

static void mr_pages_io(struct state *st, struct mr_table *mrs, struct mr *mr, uint32_t room)
{
	const char *why = NULL;

	state_u32(st, "access", &mr->access, UINT32_MAX);
	state_u64(st, "addr", &mr->addr, UINT64_MAX);
	state_u32(st, "first", &mr->first, RNIC_PAGE_SIZE - 1);
	state_u64(st, "length", &mr->length, rnic_mr_size_max(mrs->ctx));
	if (st->loading)
		why = mr_access_check(mrs->ctx, mr->access, !room);
	state_need(st, !why, "access", why);
	state_need(st, mr->addr <= UINT64_MAX - mr->length, "length",
		   "beyond the address space");
	state_need(st, mr->length || mr->invalid, "length", "a region without a byte");
	extents_io(st, mr, room);
}

static void mr_fast_io(struct state *st, struct mr_table *mrs, struct mr *mr)
{
	state_u32(st, "max_pages", &mr->max_pages, RNIC_FAST_REG_PAGES);
	state_bool(st, "invalid", &mr->invalid);
	if (!state_need(st, mr->max_pages, "max_pages", "it is 0"))
		return;
	if (st->loading)
		mr->extent = calloc(mr->max_pages, sizeof(*mr->extent));
	if (state_need(st, mr->extent, "max_pages", "out of memory"))
		mr_pages_io(st, mrs, mr, mr->max_pages);
}

static void mr_window_io(struct state *st, struct mr *mr)
{
	state_u8(st, "type", &mr->window, UINT8_MAX);
	state_need(st, mr->window == VIRTIO_IB_MW_TYPE_1 || mr->window == VIRTIO_IB_MW_TYPE_2,
		   "type", "there is no such window");
	state_bool(st, "invalid", &mr->invalid);
	state_u32(st, "access", &mr->access, UINT32_MAX);
	state_u64(st, "addr", &mr->addr, UINT64_MAX);
	state_u64(st, "length", &mr->length, UINT64_MAX);
	state_u64(st, "base", &mr->base, UINT64_MAX);
	state_u64(st, "user", &mr->user, UINT64_MAX);
	state_u32(st, "of", &mr->of, UINT32_MAX);
	state_u64(st, "bound", &mr->bound, UINT64_MAX);
	/* An address that ends it may be the last one. */
	state_need(st, mr->addr <= UINT64_MAX - mr->length, "length",
		   "beyond the address space");
}

static void mr_form_io(struct state *st, struct mr_table *mrs, struct mr *mr)
{
	uint8_t form = mr_form(mr);
	const char *why = NULL;

	state_u8(st, "form", &form, MR_FORMS - 1);
	if (st->failed)
		return;
	switch (form) {
	case MR_PAGES:
		mr_pages_io(st, mrs, mr, 0);
		break;
	case MR_DMA:
		state_u32(st, "access", &mr->access, UINT32_MAX);
		if (st->loading)
			why = mr_access_check(mrs->ctx, mr->access, false);
		state_need(st, !why, "access", why);
		mr->dma = true;
		mr->length = UINT64_MAX;
		break;
	case MR_FAST:
		mr_fast_io(st, mrs, mr);
		break;
	default:
		mr_window_io(st, mr);
		break;
	}
}

static void mr_io(struct state *st, struct mr_table *mrs, struct mr *mr)
{
	uint32_t pdn = mr->pd ? mr->pd->pdn : 0;

	state_u32(st, "key", &mr->key, UINT32_MAX);
	state_u32(st, "pdn", &pdn, UINT32_MAX);
	state_u64(st, "binding", &mr->binding, mrs->binding);
	mr_form_io(st, mrs, mr);
	if (!st->loading)
		return;
	mr->pd = pd_get(mrs->pds, pdn);
	state_need(st, mr->pd, "pdn", "no such protection domain");
	state_need(st, mr_cost(mr) <= RNIC_MR_EXTENTS_MOST - mrs->extents, "extents",
		   EXTENTS_NO_ROOM);
	if (!st->failed && !obj_put(&mrs->objs, mr->key, mr))
		state_refuse(st, "key", "it is free, or another one's");
}

/* The part of its region that a bound window shows must be a part of it. */
static void mr_check_window(struct state *st, struct mr_table *mrs, const struct mr *window)
{
	struct mr *of = window->invalid ? NULL : mr_of(mrs, window);

	if (!of)
		return;
	of->windows++;
	state_need(st, mr_form(of) == MR_PAGES && of->pd == window->pd, "of",
		   "windows cannot be bound to it");
	state_need(st, window->base >= of->addr && window->length <= of->length &&
		   window->base - of->addr <= of->length - window->length,
		   "base", "a window beyond its region");
}

static void mr_check_all(struct state *st, struct mr_table *mrs)
{
	uint32_t at = 0;
	struct mr *mr;

	while ((mr = obj_next(&mrs->objs, &at)) && !st->failed)
		if (mr->window)
			mr_check_window(st, mrs, mr);
	mrs->unchecked = true;
	if (mrs->ctx->mem->n)
		mr_find_gaps(mrs);
}

void mr_table_io(struct state *st, struct mr_table *mrs)
{
	uint32_t i, at = 0, n = mrs->objs.used;
	struct mr *mr;

	state_bool(st, "gaps", &mrs->gaps);
	state_u64(st, "binding", &mrs->binding, UINT64_MAX / 2);
	obj_table_io(st, &mrs->objs);
	state_count(st, "regions", &n, mrs->objs.max, MR_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++) {
		mr = st->loading ? calloc(1, sizeof(*mr)) : obj_next(&mrs->objs, &at);
		if (!state_need(st, mr, "regions", "out of memory"))
			return;
		mr_io(st, mrs, mr);
		if (!st->loading)
			continue;
		if (st->failed) {
			free(mr->extent);
			free(mr);
			return;
		}
		mr->pd->refs++;
		mrs->extents += mr_cost(mr);
	}
	obj_table_io_end(st, &mrs->objs);
	if (st->loading)
		mr_check_all(st, mrs);
}
