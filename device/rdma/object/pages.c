// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guest memory that a create command names for good: pages of a ring, and blocks.
 */
#include <endian.h>
#include <stdlib.h>

#include "rdma/object/pages.h"

const char *pages_alloc(struct pages *pages, struct rnic_ctx *ctx, uint32_t n)
{
	if (n > RNIC_RING_PAGES_MAX - ctx->ring_pages)
		return "no room for so many pages of rings";
	if (n) {
		pages->addr = calloc(n, sizeof(*pages->addr));
		if (!pages->addr)
			return "out of memory";
	}
	ctx->ring_pages += n;
	pages->ctx = ctx;
	pages->n = n;
	pages->filled = 0;
	return NULL;
}

void pages_free(struct pages *pages)
{
	if (pages->ctx)
		pages->ctx->ring_pages -= pages->n;
	if (pages->ctx)
		rnic_give_back(pages->ctx, pages->addr, pages->n * sizeof(*pages->addr));
	*pages = (struct pages) {};
}

const char *pages_add(struct pages *pages, const __le64 *list, uint32_t n)
{
	uint64_t addr;
	uint32_t i;

	for (i = 0; i < n; i++) {
		addr = le64toh(list[i]);
		if (addr % RNIC_PAGE_SIZE)
			return "page address is not aligned";
		if (!guest_mem_ptr(pages->ctx->mem, addr, RNIC_PAGE_SIZE))
			return "page outside of guest memory";
		pages->addr[pages->filled++] = addr;
	}
	return NULL;
}

bool pages_fit_ring(uint32_t depth, uint8_t shift, uint32_t n)
{
	if (depth > RNIC_DIRECT_WR_MAX || depth & (depth - 1) ||
	    shift < VIRTIO_RDMA_MIN_STRIDE_SHIFT ||
	    shift > VIRTIO_RDMA_MAX_STRIDE_SHIFT)
		return false;
	return n == ((depth << shift) + RNIC_PAGE_SIZE - 1) / RNIC_PAGE_SIZE;
}

void *pages_ptr(const struct pages *pages, uint64_t off)
{
	uint8_t *page = guest_mem_ptr(pages->ctx->mem, pages->addr[off / RNIC_PAGE_SIZE],
				      RNIC_PAGE_SIZE);

	return page ? page + off % RNIC_PAGE_SIZE : NULL;
}

void *pages_find(const struct pages *pages, uint64_t off, struct pages_near *near)
{
	uint8_t *p = pages_ptr(pages, off);

	if (!p)
		return NULL;
	*near = (struct pages_near) {
		.epoch = pages->ctx->mem_epoch,
		.page = off / RNIC_PAGE_SIZE,
		.host = p - off % RNIC_PAGE_SIZE,
	};
	return p;
}

const char *block_init(struct block *block, const struct rnic_ctx *ctx,
		       uint64_t addr, uint32_t len)
{
	if (addr % len)
		return "block of memory is not aligned";
	*block = (struct block) { .ctx = ctx, .addr = addr, .len = len };
	block_translate(block);
	return block->host ? NULL : "block outside of guest memory";
}

void block_translate(struct block *block)
{
	block->host = guest_mem_ptr(block->ctx->mem, block->addr, block->len);
	block->epoch = block->ctx->mem_epoch;
}

void pages_io(struct state *st, struct pages *pages, struct rnic_ctx *ctx)
{
	uint32_t i, n = pages->n;
	const char *why;

	state_count(st, "pages", &n, RNIC_RING_PAGES_MAX, sizeof(*pages->addr));
	if (st->loading) {
		why = pages_alloc(pages, ctx, n);
		if (!state_need(st, !why, "pages", why))
			return;
		pages->filled = n;
	}
	for (i = 0; i < n && !st->failed; i++) {
		state_u64(st, "page", &pages->addr[i], UINT64_MAX);
		state_need(st, !(pages->addr[i] % RNIC_PAGE_SIZE), "page",
			   "its address is not aligned");
	}
}

void block_io(struct state *st, struct block *block, const struct rnic_ctx *ctx,
	      uint32_t len)
{
	uint64_t addr = block->addr;

	state_u64(st, "control", &addr, UINT64_MAX);
	state_need(st, !(addr % len), "control", "its address is not aligned");
	if (!st->loading || st->failed)
		return;
	*block = (struct block) { .ctx = ctx, .addr = addr, .len = len };
	block_translate(block);
}
