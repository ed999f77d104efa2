/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory of a node: what its NIC reaches, and what its queues and data lie in.
 */
#ifndef DEVICE_NODE_MEM_H
#define DEVICE_NODE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "virtio/mem.h"

/* Device address of the first byte: another one than where it is mapped. */
#define NODE_MEM_BASE		0x100000000ull

#define NODE_MEM_PAGE		4096u

/* Blocks have a power of two of pages: one page to 2 MiB. */
#define NODE_MEM_ORDERS		10u
#define NODE_MEM_LARGEST	((size_t)NODE_MEM_PAGE << (NODE_MEM_ORDERS - 1))

/* Memory of others that the NIC reaches as well. */
#define NODE_MEM_SHARED_BASE	0x10000000000ull

/* Bytes of either, at most. */
#define NODE_MEM_MAX		((size_t)1 << 30)

/**
 * struct node_block - a page, as the first one of a block
 * @order:	log2 of the pages of the block
 * @free:	nobody has the block
 * @entry:	of the free blocks of that order
 */
struct node_block {
	uint8_t order;
	bool free;
	LIST_ENTRY(node_block) entry;
};

LIST_HEAD(node_block_list, node_block);

/**
 * struct node_mem - memory of a node
 * @map:	region at NODE_MEM_BASE, and that of node_mem_share() if there is one
 * @host:	where it is mapped
 * @size:	bytes
 * @shared:	memory of others, or NULL
 * @shared_size: bytes of it
 * @left:	bytes that nobody has
 * @block:	by page
 * @list:	free blocks, by order
 */
struct node_mem {
	struct guest_mem map;
	uint8_t *host;
	size_t size;
	uint8_t *shared;
	size_t shared_size;
	size_t left;
	struct node_block *block;
	struct node_block_list list[NODE_MEM_ORDERS];
};

/**
 * node_mem_init() - make the memory, of zeroes
 * @mem:	filled in
 * @size:	bytes, a multiple of NODE_MEM_LARGEST up to NODE_MEM_MAX
 * @fixed:	bytes at its beginning that are in no block, likewise
 *
 * Return: 0 or -errno.
 */
int node_mem_init(struct node_mem *mem, size_t size, size_t fixed);

/**
 * node_mem_share() - the NIC is to reach memory of others, too
 * @mem:	memory that no NIC has yet
 * @host:	that of others
 * @size:	its bytes, a multiple of NODE_MEM_LARGEST up to NODE_MEM_MAX
 */
void node_mem_share(struct node_mem *mem, void *host, size_t size);

/** node_mem_fini() - free it */
void node_mem_fini(struct node_mem *mem);

/**
 * node_mem_get() - take a block
 * @mem:	memory
 * @len:	bytes, up to NODE_MEM_LARGEST
 *
 * Return: the block, aligned to its size, with whatever stood there before; NULL if there
 *	   is no room.
 */
void *node_mem_get(struct node_mem *mem, size_t len);

/** node_mem_put() - give a block back; NULL is none */
void node_mem_put(struct node_mem *mem, void *p);

/** node_mem_is_shared() - is a byte in the memory of others? */
static inline bool node_mem_is_shared(const struct node_mem *mem, const void *p)
{
	const uint8_t *byte = p;

	return mem->shared && byte >= mem->shared && byte < mem->shared + mem->shared_size;
}

/** node_mem_addr() - device address of a byte */
static inline uint64_t node_mem_addr(const struct node_mem *mem, const void *p)
{
	const uint8_t *byte = p;

	if (node_mem_is_shared(mem, p))
		return NODE_MEM_SHARED_BASE + (uint64_t)(byte - mem->shared);
	return NODE_MEM_BASE + (uint64_t)(byte - mem->host);
}

#endif /* DEVICE_NODE_MEM_H */
