// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tables of objects that the guest names by handle.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "rdma/object/obj.h"

#define OBJ_TAG_MAX	((1u << OBJ_TAG_BITS) - 1)
#define OBJ_NONE	UINT32_MAX

/*
 * Tags are 1 … OBJ_TAG_MAX, so that no handle and no key is 0.  They begin at a random
 * value and advance by a random step that reaches all of them.  So an attacker who
 * knows one handle, or none, has to guess the next one.  Still, no tag comes back soon.
 */
struct obj_slot {
	void *obj;
	uint32_t next;
	uint8_t tag;
	uint8_t step;
};

_Static_assert(OBJ_TAG_MAX == 3 * 5 * 17, "obj_step_ok() is for other tags");

/* Has @step no factor in common with the number of tags? */
static bool obj_step_ok(uint8_t step)
{
	return step % 3 && step % 5 && step % 17;
}

static uint8_t obj_tag_after(uint8_t tag, uint8_t step)
{
	return (tag + OBJ_TAG_MAX - 1 + step) % OBJ_TAG_MAX + 1;
}

/* Makes a slot of random bytes. */
static void obj_slot_init(struct obj_slot *slot)
{
	slot->obj = NULL;
	slot->tag = obj_tag_after(slot->tag, 1);
	while (!obj_step_ok(slot->step))
		slot->step++;
}

int obj_table_init(struct obj_table *table, uint32_t max)
{
	uint32_t i;

	if (!max || max > OBJ_TABLE_MAX)
		return -EINVAL;

	*table = (struct obj_table) { .max = max, .tail = max - 1 };
	table->slot = calloc(max, sizeof(*table->slot));
	if (!table->slot)
		return -ENOMEM;

	arc4random_buf(table->slot, max * sizeof(*table->slot));
	for (i = 0; i < max; i++) {
		obj_slot_init(&table->slot[i]);
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
	slot->tag = obj_tag_after(slot->tag, slot->step);
	slot->next = OBJ_NONE;
	if (table->used == table->max)
		table->head = index;
	else
		table->slot[table->tail].next = index;
	table->tail = index;
	table->used--;
}
