// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tables of objects that the guest names by handle.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "rdma/object/obj.h"

#define OBJ_TAG_MAX	((1u << OBJ_TAG_BITS) - 1)
#define OBJ_NONE	UINT32_MAX

/* Tags count from 1, so that no handle and no key is 0. */
struct obj_slot {
	void *obj;
	uint32_t next;
	uint8_t tag;
};

int obj_table_init(struct obj_table *table, uint32_t max)
{
	uint32_t i;

	if (!max || max > OBJ_TABLE_MAX)
		return -EINVAL;

	*table = (struct obj_table) { .max = max, .tail = max - 1 };
	table->slot = calloc(max, sizeof(*table->slot));
	if (!table->slot)
		return -ENOMEM;

	for (i = 0; i < max; i++) {
		table->slot[i].tag = 1;
		table->slot[i].next = i + 1 < max ? i + 1 : OBJ_NONE;
	}
	return 0;
}

void obj_table_fini(struct obj_table *table)
{
	free(table->slot);
	*table = (struct obj_table) {};
}

int obj_add(struct obj_table *table, void *obj, uint32_t *handle)
{
	uint32_t index = table->head;
	struct obj_slot *slot;

	if (table->used == table->max)
		return -ENOSPC;

	slot = &table->slot[index];
	table->head = slot->next;
	table->used++;
	slot->obj = obj;
	*handle = index << OBJ_TAG_BITS | slot->tag;
	return 0;
}

void *obj_at(const struct obj_table *table, uint32_t index)
{
	return index < table->max ? table->slot[index].obj : NULL;
}

void *obj_get(const struct obj_table *table, uint32_t handle)
{
	void *obj = obj_at(table, obj_index(handle));

	if (!obj ||
	    table->slot[obj_index(handle)].tag != (handle & OBJ_TAG_MAX))
		return NULL;
	return obj;
}

void obj_retag(struct obj_table *table, uint32_t handle)
{
	table->slot[obj_index(handle)].tag = handle & OBJ_TAG_MAX;
}

void obj_del(struct obj_table *table, uint32_t handle)
{
	uint32_t index = obj_index(handle);
	struct obj_slot *slot = &table->slot[index];

	slot->obj = NULL;
	slot->tag = slot->tag == OBJ_TAG_MAX ? 1 : slot->tag + 1;
	slot->next = OBJ_NONE;
	if (table->used == table->max)
		table->head = index;
	else
		table->slot[table->tail].next = index;
	table->tail = index;
	table->used--;
}
