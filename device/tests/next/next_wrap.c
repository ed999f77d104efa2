// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon of the next version of the saved state, for tests: an upgrade to it, and back.
 *
 * The linker replaces references to a function f below by __wrap_f, and __real_f by f.  This
 * daemon writes more than is known today, and it reads what is written today.  $STATE_NEXT says
 * what there is more:
 *
 *	nothing		sections that may be skipped, and more fields of one that may be
 *	section		a section that is required as well
 *	field		a field at the end of each required section
 *	oldest		no reader of today is to try
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "state/state.h"

/* The content of each field and section that only the next version has. */
#define NEXT		0x7478656eu

void __real_state_write(struct state *st);
void __wrap_state_write(struct state *st);
bool __real_state_read(struct state *st, const void *data, size_t size);
bool __wrap_state_read(struct state *st, const void *data, size_t size);
bool __real_state_sections(struct state *st, const struct state_section *table,
			   unsigned int n, void *arg);
bool __wrap_state_sections(struct state *st, const struct state_section *table,
			   unsigned int n, void *arg);

/**
 * struct next_row - a section that has a field more, for its function
 * @row:	the section of today
 * @arg:	for its function
 */
struct next_row {
	const struct state_section *row;
	void *arg;
};

static bool next_is(const char *what)
{
	const char *text = getenv("STATE_NEXT");

	return text && !strcmp(text, what);
}

void __wrap_state_write(struct state *st)
{
	struct state_header *header;

	__real_state_write(st);
	if (st->failed)
		return;
	header = (struct state_header *)st->data;
	header->version = htole32(STATE_VERSION + 1);
	if (next_is("oldest"))
		header->oldest = htole32(STATE_VERSION + 1);
}

/* The next version is young enough for what it writes; today's check would say that it is not. */
bool __wrap_state_read(struct state *st, const void *data, size_t size)
{
	struct state_header *header = (void *)data;

	if (size >= sizeof(*header) && le32toh(header->oldest) == STATE_VERSION + 1)
		header->oldest = htole32(STATE_OLDEST);
	return __real_state_read(st, data, size);
}

/* A section of its own. */
static void next_section(struct state *st, void *arg __always_unused)
{
	state_same(st, "next", NEXT);
}

static void next_fields(struct state *st, void *arg)
{
	const struct next_row *next = arg;
	uint32_t value = NEXT;

	next->row->io(st, next->arg);
	if (st->version > next->row->version)
		state_u32(st, "next", &value, UINT32_MAX);
	state_need(st, value == NEXT, "next", "not of the next version");
}

/* Has a row of today one field more, or may it have one? */
static bool next_grows(const struct state *st, const struct state_section *row)
{
	if (row->flags & STATE_OPTIONAL)
		return false;
	return st->loading || row->flags & STATE_SKIPPABLE || next_is("field");
}

static bool next_one(struct state *st, const struct state_section *row, void *arg)
{
	struct next_row next = { .row = row, .arg = arg };
	struct state_section grown = *row;

	if (!next_grows(st, row))
		return __real_state_sections(st, row, 1, arg);
	grown.version++;
	grown.io = next_fields;
	return __real_state_sections(st, &grown, 1, &next);
}

bool __wrap_state_sections(struct state *st, const struct state_section *table,
			   unsigned int n, void *arg)
{
	static const struct state_section before = {
		"next-before", 1, STATE_SKIPPABLE, next_section,
	};
	static const struct state_section behind = {
		"next-behind", 1, STATE_SKIPPABLE, next_section,
	};
	/* A state of today has none. */
	static const struct state_section object = {
		"next-object", 1, STATE_OPTIONAL, next_section,
	};
	unsigned int i;

	__real_state_sections(st, &before, 1, NULL);
	for (i = 0; i < n; i++)
		next_one(st, &table[i], arg);
	if (st->loading || next_is("section"))
		__real_state_sections(st, &object, 1, NULL);
	return __real_state_sections(st, &behind, 1, NULL);
}
