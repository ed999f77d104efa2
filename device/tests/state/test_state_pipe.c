// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A state that is read while it is written: in parts of each size it is what it is as a whole,
 * and parts that are wrong are refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/pipe_mem.h"

#define NUMBERS		40u
#define LONG		500u

/* Bytes of sample() as a whole, and more. */
#define SIZE_MAX_PART	2000u

/**
 * struct thing - what is saved
 * @numbers:	how many of @number there are
 * @number:	fields of a section
 * @bytes:	one large field
 * @last:	a section of one field
 * @none:	a section may be left out as it has no field
 */
struct thing {
	uint32_t numbers;
	uint32_t number[NUMBERS];
	uint8_t bytes[LONG];
	uint8_t last;
	bool none;
};

static void numbers_io(struct state *st, void *arg)
{
	struct thing *thing = arg;
	uint32_t i;

	state_count(st, "numbers", &thing->numbers, NUMBERS, sizeof(uint32_t));
	for (i = 0; i < thing->numbers; i++)
		state_u32(st, "number", &thing->number[i], UINT32_MAX);
}

static void bytes_io(struct state *st, void *arg)
{
	struct thing *thing = arg;

	state_bytes(st, "bytes", thing->bytes, sizeof(thing->bytes));
}

static void none_io(struct state *st, void *arg)
{
	struct thing *thing = arg;

	if (st->loading)
		thing->none = true;
}

static void last_io(struct state *st, void *arg)
{
	state_u8(st, "last", &((struct thing *)arg)->last, 9);
}

/* Nothing like it is known to the reader. */
static void unknown_io(struct state *st, void *arg)
{
	numbers_io(st, arg);
	bytes_io(st, arg);
}

static void short_io(struct state *st, void *arg)
{
	struct thing *thing = arg;
	uint32_t i;

	for (i = 0; i < NUMBERS; i++)
		state_u32(st, "number", &thing->number[i], UINT32_MAX);
}

static const struct state_section table[] = {
	{ "numbers", 1, 0, numbers_io },
	{ "bytes", 1, 0, bytes_io },
	{ "none", 1, STATE_OPTIONAL, none_io },
	{ "last", 1, 0, last_io },
};

static struct thing sample(void)
{
	struct thing thing = { .numbers = NUMBERS, .last = 9 };
	uint32_t i;

	for (i = 0; i < NUMBERS; i++)
		thing.number[i] = 0x01010101 * i;
	for (i = 0; i < LONG; i++)
		thing.bytes[i] = i;
	return thing;
}

static void save_with(struct pipe_mem *mem, size_t part, const struct state_section *rows,
		      unsigned int n)
{
	struct thing thing = sample();
	struct state st;

	pipe_mem_init(mem, part);
	state_write(&st);
	state_pipe_write(&st, &mem->pipe);
	assert_true(state_sections(&st, rows, n, &thing));
	assert_true(state_written(&st));
	state_free(&st);
}

/* Loads; returns why not, or an empty text. */
static const char *load_with(struct pipe_mem *mem, struct thing *thing,
			     const struct state_section *rows, unsigned int n)
{
	static char why[200];
	struct state st;

	memset(thing, 0, sizeof(*thing));
	mem->at = 0;
	if (state_pipe_read(&st, &mem->pipe) && state_sections(&st, rows, n, thing))
		state_read_end(&st);
	assert_int_equal(st.failed, st.why[0] != '\0');
	strcpy(why, st.why);
	state_free(&st);
	return why;
}

static const char *load(struct pipe_mem *mem)
{
	struct thing thing;

	return load_with(mem, &thing, table, 4);
}

static void test_each_size(void **state)
{
	const struct thing as_saved = sample();
	struct pipe_mem mem;
	struct thing thing;
	size_t part;

	for (part = 1; part < SIZE_MAX_PART; part += 1 + part / 50) {
		save_with(&mem, part, table, 4);
		assert_string_equal(load_with(&mem, &thing, table, 4), "");
		assert_memory_equal(&thing, &as_saved, sizeof(thing));
		assert_int_equal(mem.at, mem.size);
		pipe_mem_free(&mem);
	}
}

/* Two states follow one another, as those of two functions do. */
static void test_two(void **state)
{
	struct thing thing, as_saved = sample();
	struct pipe_mem first, mem;
	struct state st;
	unsigned int i;

	save_with(&first, 64, table, 4);
	save_with(&mem, 100, table, 4);
	assert_int_equal(mem.pipe.put(&mem, first.data, first.size), 0);
	for (i = 0; i < 2; i++) {
		memset(&thing, 0, sizeof(thing));
		assert_true(state_pipe_read(&st, &mem.pipe));
		assert_true(state_sections(&st, table, 4, &thing));
		assert_true(state_read_end(&st));
		state_free(&st);
		assert_memory_equal(&thing, &as_saved, sizeof(thing));
	}
	assert_int_equal(mem.at, mem.size);
	pipe_mem_free(&first);
	pipe_mem_free(&mem);
}

/* A section that may be skipped, however many parts it has. */
static void test_unknown(void **state)
{
	struct state_section rows[] = {
		{ "before", 1, STATE_SKIPPABLE, unknown_io },
		table[0], table[1], table[3],
		{ "behind", 1, STATE_SKIPPABLE, unknown_io },
	};
	struct pipe_mem mem;
	size_t part;

	for (part = 1; part < SIZE_MAX_PART; part += 1 + part / 10) {
		save_with(&mem, part, rows, 5);
		assert_string_equal(load(&mem), "");
		pipe_mem_free(&mem);
	}
	rows[4].flags = 0;
	save_with(&mem, 10, rows, 5);
	assert_string_equal(load(&mem), "section behind, header: unknown here, and required");
	pipe_mem_free(&mem);
	rows[0].flags = 0;
	save_with(&mem, 10, rows, 5);
	assert_non_null(strstr(load(&mem), "section before, header: unknown here, or in"));
	pipe_mem_free(&mem);
}

/* One more field than the reader knows, or one fewer. */
static void test_other_fields(void **state)
{
	const struct state_section shorter[] = {
		{ "numbers", 1, 0, short_io }, table[1], table[3],
	};
	struct pipe_mem mem;
	struct thing thing;
	size_t part;

	for (part = 1; part < SIZE_MAX_PART; part += 1 + part / 10) {
		save_with(&mem, part, table, 4);
		assert_non_null(strstr(load_with(&mem, &thing, shorter, 3),
				       "section numbers, its end: "));
		pipe_mem_free(&mem);
		save_with(&mem, part, shorter, 3);
		mem.at = 0;
		/* The first number is taken for how many there are. */
		assert_string_not_equal(load(&mem), "");
		pipe_mem_free(&mem);
	}
}

/* More entries than come. */
static void test_count(void **state)
{
	const struct state_section fewer[] = { { "numbers", 1, 0, short_io } };
	struct pipe_mem mem;
	struct thing thing = sample();
	struct state st;

	pipe_mem_init(&mem, 8);
	state_write(&st);
	state_pipe_write(&st, &mem.pipe);
	thing.number[0] = NUMBERS;
	assert_true(state_sections(&st, fewer, 1, &thing));
	assert_true(state_written(&st));
	state_free(&st);
	assert_string_equal(load(&mem), "section numbers, number: the section ends before it");
	pipe_mem_free(&mem);
	/* In a section of one part the count is refused at once. */
	save_with(&mem, SIZE_MAX_PART, table, 4);
	mem.data[8 + 24 + 32] = NUMBERS;
	mem.data[8 + 24 + 24] = 4;
	assert_string_equal(load(&mem),
			    "section numbers, numbers: 40, of which the section holds fewer");
	pipe_mem_free(&mem);
}

/* Wherever it ends. */
static void test_each_length(void **state)
{
	struct pipe_mem mem;
	size_t size;

	save_with(&mem, 50, table, 4);
	size = mem.size;
	for (mem.size = 0; mem.size < size; mem.size++)
		assert_non_null(strstr(load(&mem), mem.size < 32 ? "" : "not received: "));
	assert_string_equal(load(&mem), "");
	pipe_mem_free(&mem);
}

/* Whatever byte is changed: loaded, or refused with a reason. */
static void test_each_byte(void **state)
{
	struct pipe_mem mem;
	unsigned int refused = 0;
	size_t i;

	save_with(&mem, 50, table, 4);
	for (i = 0; i < mem.size; i++) {
		mem.data[i] ^= i & 1 ? 0xff : 1;
		refused += !!load(&mem)[0];
		mem.data[i] ^= i & 1 ? 0xff : 1;
	}
	/* Most bytes are those of @bytes, which may be any. */
	assert_in_range(refused, (mem.size - LONG) / 2, mem.size);
	assert_string_equal(load(&mem), "");
	pipe_mem_free(&mem);
}

/* Parts that no writer sends. */
static void test_wrong_parts(void **state)
{
	static const struct {
		struct state_part_head head;
		const char *why;
	} wrong[] = {
		{ { STATE_BYTES, 0 }, "a part of 0 bytes" },
		{ { STATE_BYTES, STATE_PIPE_MAX + 1 }, "a part of 67108865 bytes" },
		{ { STATE_SECTION, 1 }, "a part of a wrong kind, or in a wrong place" },
		{ { STATE_ALL, 0 }, "a part of a wrong kind, or in a wrong place" },
		{ { STATE_ALL + 1, 0 }, "a part of a wrong kind, or in a wrong place" },
		{ { 0, 0 }, "a part of a wrong kind, or in a wrong place" },
	};
	struct pipe_mem mem;
	size_t i, second;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		save_with(&mem, 100, table, 4);
		/* In the middle of the first section. */
		second = 8 + mem.data[4];
		memcpy(mem.data + second, &wrong[i].head, sizeof(wrong[i].head));
		assert_non_null(strstr(load(&mem), wrong[i].why));
		pipe_mem_free(&mem);
	}
	/* An end of a section between sections. */
	save_with(&mem, SIZE_MAX_PART, table, 4);
	mem.data[mem.size - 8] = STATE_SECTION;
	assert_non_null(strstr(load(&mem), "in a wrong place"));
	pipe_mem_free(&mem);
	/* Only what is written as a whole says how long it is. */
	save_with(&mem, SIZE_MAX_PART, table, 4);
	memset(mem.data + 8 + 16, 0, 8);
	assert_string_equal(load(&mem), "its length is said before it was written");
	pipe_mem_free(&mem);
}

/* The reader has gone. */
static void test_not_sent(void **state)
{
	struct thing thing = sample();
	struct pipe_mem mem;
	unsigned int puts = 0;
	struct state st;
	bool ok;

	do {
		pipe_mem_init(&mem, 100);
		mem.puts = ++puts;
		state_write(&st);
		state_pipe_write(&st, &mem.pipe);
		ok = state_sections(&st, table, 4, &thing) && state_written(&st);
		assert_true(ok || strstr(st.why, "not sent: Broken pipe"));
		state_free(&st);
		pipe_mem_free(&mem);
	} while (!ok);
	assert_in_range(puts, 10, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_size),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_other_fields),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_each_length),
		cmocka_unit_test(test_each_byte),
		cmocka_unit_test(test_wrong_parts),
		cmocka_unit_test(test_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
