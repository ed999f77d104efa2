/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tables of objects that the guest names by handle.
 *
 * A handle is index << 8 | tag.  The tag of an entry is random at first and
 * changes by a step of its own each time that the entry is freed; free entries
 * are taken in the order in which they became free.  So a stale handle fails, a key of
 * a memory region does not come back for a long time, and a peer that was not told a
 * key has to guess it.
 */
#ifndef DEVICE_RDMA_OBJECT_OBJ_H
#define DEVICE_RDMA_OBJECT_OBJ_H

#include <stdbool.h>
#include <stdint.h>

#include "state/state.h"

#define OBJ_TAG_BITS	8
#define OBJ_TABLE_MAX	(1u << (32 - OBJ_TAG_BITS))

struct obj_slot;

/**
 * struct obj_table - objects of one kind of one NIC
 * @slot:	entries
 * @max:	number of them
 * @used:	number of objects
 * @head:	free entry to be taken next
 * @tail:	free entry to be taken last
 */
struct obj_table {
	struct obj_slot *slot;
	uint32_t max;
	uint32_t used;
	uint32_t head;
	uint32_t tail;
};

/**
 * obj_table_init() - make an empty table
 * @table:	table
 * @max:	number of objects that it holds, 1 … OBJ_TABLE_MAX
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int obj_table_init(struct obj_table *table, uint32_t max);

/** obj_table_fini() - free a table; the objects are the caller's */
void obj_table_fini(struct obj_table *table);

/**
 * obj_add() - enter an object
 * @table:	table
 * @obj:	object, not NULL
 * @handle:	set to its handle
 *
 * Return: 0, or -ENOSPC if the table is full.
 */
int obj_add(struct obj_table *table, void *obj, uint32_t *handle);

/** obj_get() - the object with a handle, or NULL */
void *obj_get(const struct obj_table *table, uint32_t handle);

/** obj_at() - the object at an index, whatever its tag, or NULL */
void *obj_at(const struct obj_table *table, uint32_t index);

/** obj_del() - take out the object with a handle, which exists */
void obj_del(struct obj_table *table, uint32_t handle);

/** obj_next() - the first object at index *@at or behind it, or NULL; @at moves behind it */
void *obj_next(const struct obj_table *table, uint32_t *at);

/** obj_table_io() - save or load a table, without its objects */
void obj_table_io(struct state *st, struct obj_table *table);

/** obj_put() - an object that is loaded has this handle; false if it cannot have it */
bool obj_put(struct obj_table *table, uint32_t handle, void *obj);

/** obj_table_io_end() - all objects were saved or loaded */
void obj_table_io_end(struct state *st, struct obj_table *table);

/** obj_table_renew() - a table without objects becomes as new; without memory it stays */
void obj_table_renew(struct obj_table *table);

/** obj_retag() - the object with a handle, which exists, gets the tag of another */
void obj_retag(struct obj_table *table, uint32_t handle);

/** obj_index() - the index in a handle */
static inline uint32_t obj_index(uint32_t handle)
{
	return handle >> OBJ_TAG_BITS;
}

#endif /* DEVICE_RDMA_OBJECT_OBJ_H */
