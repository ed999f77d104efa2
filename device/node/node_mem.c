// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of a node, in blocks of powers of two.
 *
 * A block that is given back is joined with its other half, if that is free as well.  Pages
 * that were never used take no memory of the host.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "node/node_mem.h"

static size_t block_size(unsigned int order)
{
	return (size_t)NODE_MEM_PAGE << order;
}

static size_t block_number(const struct node_mem *mem, const struct node_block *block)
{
	return block - mem->block;
}

static void block_release(struct node_mem *mem, struct node_block *block, unsigned int order)
{
	block->order = order;
	block->free = true;
	LIST_INSERT_HEAD(&mem->list[order], block, entry);
}

static void block_take(struct node_block *block)
{
	LIST_REMOVE(block, entry);
	block->free = false;
}

int node_mem_init(struct node_mem *mem, size_t size, size_t fixed)
{
	const size_t pages = size / NODE_MEM_PAGE, step = NODE_MEM_LARGEST / NODE_MEM_PAGE;
	unsigned int order;
	size_t i;

	if (!size || size > NODE_MEM_MAX || fixed > size || size % NODE_MEM_LARGEST ||
	    fixed % NODE_MEM_LARGEST)
		return -EINVAL;
	*mem = (struct node_mem) { .size = size, .left = size - fixed };
	mem->block = calloc(pages, sizeof(*mem->block));
	if (!mem->block)
		return -ENOMEM;
	mem->host = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem->host == MAP_FAILED) {
		free(mem->block);
		return -ENOMEM;
	}
	mem->map.n = 1;
	mem->map.region[0] = (struct guest_region) {
		.addr = NODE_MEM_BASE,
		.size = size,
		.host = mem->host,
	};
	for (order = 0; order < NODE_MEM_ORDERS; order++)
		LIST_INIT(&mem->list[order]);
	for (i = pages; i > fixed / NODE_MEM_PAGE; i -= step)
		block_release(mem, &mem->block[i - step], NODE_MEM_ORDERS - 1);
	return 0;
}

void node_mem_share(struct node_mem *mem, void *host, size_t size)
{
	mem->shared = host;
	mem->shared_size = size;
	mem->map.n = 2;
	mem->map.region[1] = (struct guest_region) {
		.addr = NODE_MEM_SHARED_BASE,
		.size = size,
		.host = host,
	};
}

void node_mem_fini(struct node_mem *mem)
{
	munmap(mem->host, mem->size);
	free(mem->block);
}

void *node_mem_get(struct node_mem *mem, size_t len)
{
	struct node_block *block;
	unsigned int order = 0, at;

	while (order < NODE_MEM_ORDERS && block_size(order) < len)
		order++;
	for (at = order; at < NODE_MEM_ORDERS && LIST_EMPTY(&mem->list[at]); at++)
		;
	if (at >= NODE_MEM_ORDERS)
		return NULL;
	block = LIST_FIRST(&mem->list[at]);
	block_take(block);
	/* The first half is ours, and the other one is free. */
	while (at-- > order)
		block_release(mem, block + ((size_t)1 << at), at);
	block->order = order;
	mem->left -= block_size(order);
	return mem->host + block_number(mem, block) * NODE_MEM_PAGE;
}

void node_mem_put(struct node_mem *mem, void *p)
{
	struct node_block *block, *half;
	unsigned int order;

	if (!p)
		return;
	block = &mem->block[((uint8_t *)p - mem->host) / NODE_MEM_PAGE];
	order = block->order;
	mem->left += block_size(order);
	for (; order < NODE_MEM_ORDERS - 1; order++) {
		half = &mem->block[block_number(mem, block) ^ (size_t)1 << order];
		if (!half->free || half->order != order)
			break;
		block_take(half);
		if (half < block)
			block = half;
	}
	block_release(mem, block, order);
}
