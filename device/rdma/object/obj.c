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
/* As @next of an entry whose object is still to be loaded. */
#define OBJ_AWAITED	(UINT32_MAX - 1)

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

/*
 * Makes slots of random bytes.  Only what is needed is drawn, because a process that takes the
 * place of another one makes all tables while guests wait.
 */
static void obj_slots_init(struct obj_slot *slot, uint32_t n)
{
	struct {
		uint8_t tag;
		uint8_t step;
	} random[2048];
	const uint32_t room = sizeof(random) / sizeof(*random);
	uint32_t i, at;

	for (i = 0; i < n; i++, slot++) {
		at = i % room;
		if (!at)
			arc4random_buf(random, (n - i < room ? n - i : room) * sizeof(*random));
		slot->tag = obj_tag_after(random[at].tag, 1);
		slot->step = random[at].step;
		while (!obj_step_ok(slot->step))
			slot->step++;
	}
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

	obj_slots_init(table->slot, max);
	for (i = 0; i < max; i++)
		table->slot[i].next = i + 1 < max ? i + 1 : OBJ_NONE;
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

void *obj_next(const struct obj_table *table, uint32_t *at)
{
	while (*at < table->max && !table->slot[*at].obj)
		++*at;
	return *at < table->max ? table->slot[(*at)++].obj : NULL;
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

static void obj_tags_save(const struct obj_table *table, uint8_t *to)
{
	uint32_t i;

	for (i = 0; i < table->max; i++) {
		*to++ = table->slot[i].tag;
		*to++ = table->slot[i].step;
	}
}

static bool obj_tags_load(struct obj_table *table, const uint8_t *from)
{
	struct obj_slot *slot;
	bool ok = true;
	uint32_t i;

	for (i = 0; i < table->max; i++) {
		slot = &table->slot[i];
		slot->tag = *from++;
		slot->step = *from++;
		if (obj_step_ok(slot->step))
			continue;
		/* A table that a failure leaves behind is used once more: obj_table_renew(). */
		slot->step = 1;
		ok = false;
	}
	return ok;
}

/* A tag and a step of each entry, as many as a guest may have: they are taken as bytes. */
static void obj_tags_io(struct state *st, struct obj_table *table)
{
	const size_t n = 2 * (size_t)table->max;

	_Static_assert(OBJ_TAG_MAX == UINT8_MAX, "not each byte is a tag");
	if (!state_room(st, "tag", n))
		return;
	if (st->loading)
		state_need(st, obj_tags_load(table, st->data + st->at), "step",
			   "it does not reach all tags");
	else
		obj_tags_save(table, st->data + st->at);
	st->at += n;
}

/* How many free entries follow each other in the line and in the table? */
static uint32_t obj_run(const struct obj_table *table, uint32_t first, uint32_t left)
{
	uint32_t n = 1;

	while (n < left && table->slot[first + n - 1].next == first + n)
		n++;
	return n;
}

static uint32_t obj_runs(const struct obj_table *table)
{
	uint32_t left = table->max - table->used, at = table->head, n, runs;

	for (runs = 0; left; runs++, left -= n) {
		n = obj_run(table, at, left);
		at = table->slot[at + n - 1].next;
	}
	return runs;
}

static void obj_free_save(struct state *st, struct obj_table *table)
{
	uint32_t left = table->max - table->used, at = table->head;
	uint32_t runs = obj_runs(table), first, n;

	state_count(st, "runs", &runs, table->max, 8);
	for (; left && !st->failed; left -= n) {
		first = at;
		n = obj_run(table, at, left);
		at = table->slot[at + n - 1].next;
		state_u32(st, "first", &first, UINT32_MAX);
		state_u32(st, "length", &n, UINT32_MAX);
	}
}

/* The line of free entries grows at its end; @n is how many it has. */
static bool obj_free_load(struct state *st, struct obj_table *table, uint32_t index,
			  uint32_t n)
{
	struct obj_slot *slot = &table->slot[index];

	if (!state_need(st, slot->next == OBJ_AWAITED, "first", "an entry is free twice"))
		return false;
	slot->next = OBJ_NONE;
	if (n)
		table->slot[table->tail].next = index;
	else
		table->head = index;
	table->tail = index;
	return true;
}

static void obj_line_load(struct state *st, struct obj_table *table)
{
	uint32_t i, k, n, runs = 0, first, total = 0;

	for (i = 0; i < table->max; i++)
		table->slot[i].next = OBJ_AWAITED;
	table->head = 0;
	table->tail = 0;
	state_count(st, "runs", &runs, table->max, 8);
	for (i = 0; i < runs && !st->failed; i++) {
		first = 0;
		n = 0;
		state_u32(st, "first", &first, table->max - 1);
		state_u32(st, "length", &n, table->max - first);
		for (k = 0; k < n && !st->failed; k++)
			if (obj_free_load(st, table, first + k, total))
				total++;
	}
}

void obj_table_io(struct state *st, struct obj_table *table)
{
	state_same(st, "entries", table->max);
	obj_tags_io(st, table);
	if (st->loading)
		obj_line_load(st, table);
	else
		obj_free_save(st, table);
}

bool obj_put(struct obj_table *table, uint32_t handle, void *obj)
{
	uint32_t index = obj_index(handle);
	struct obj_slot *slot = &table->slot[index];

	if (index >= table->max || slot->next != OBJ_AWAITED ||
	    slot->tag != (handle & OBJ_TAG_MAX))
		return false;
	slot->obj = obj;
	slot->next = OBJ_NONE;
	table->used++;
	return true;
}

void obj_table_io_end(struct state *st, struct obj_table *table)
{
	uint32_t i;

	for (i = 0; st->loading && i < table->max; i++)
		state_need(st, table->slot[i].next != OBJ_AWAITED, "entries",
			   "one is neither free nor has an object");
}

void obj_table_renew(struct obj_table *table)
{
	struct obj_table new;

	if (!table->max || obj_table_init(&new, table->max))
		return;
	obj_table_fini(table);
	*table = new;
}
