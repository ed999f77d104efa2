// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writer and reader of a saved state, with sections of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "state/state.h"

#define NOW	1000000000ull
#define N	5u

/**
 * struct thing - what is saved
 *
 * One field of each kind.
 */
struct thing {
	uint8_t bytes[3];
	uint8_t u8;
	bool yes;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	uint64_t past;
	uint64_t future;
	uint64_t never;
	uint32_t n;
	uint32_t entry[N];
	uint32_t more;
};

static void thing_io(struct state *st, void *arg)
{
	struct thing *thing = arg;
	uint32_t i;

	state_bytes(st, "bytes", thing->bytes, sizeof(thing->bytes));
	state_u8(st, "u8", &thing->u8, 200);
	state_bool(st, "yes", &thing->yes);
	state_u16(st, "u16", &thing->u16, 60000);
	state_u32(st, "u32", &thing->u32, 4000000000u);
	state_u64(st, "u64", &thing->u64, UINT64_MAX);
	state_time(st, "past", &thing->past, NOW);
	state_time(st, "future", &thing->future, NOW);
	state_time(st, "never", &thing->never, NOW);
	state_count(st, "n", &thing->n, N, sizeof(uint32_t));
	for (i = 0; i < thing->n; i++)
		state_u32(st, "entry", &thing->entry[i], UINT32_MAX);
}

static void more_io(struct state *st, void *arg)
{
	struct thing *thing = arg;

	state_u32(st, "more", &thing->more, UINT32_MAX);
	if (st->version > 1)
		state_same(st, "same", 7);
}

static const struct state_section table[] = {
	{ "thing", 1, 0, thing_io },
	{ "more", 2, 0, more_io },
};

static const struct thing sample = {
	.bytes = { 1, 2, 3 }, .u8 = 200, .yes = true, .u16 = 60000, .u32 = 4000000000u,
	.u64 = UINT64_MAX - 1, .past = NOW - 5, .future = NOW + 7, .n = N,
	.entry = { 10, 11, 12, 13, 14 }, .more = 99,
};

static void save_with(struct state *st, const struct state_section *rows, unsigned int n)
{
	struct thing thing = sample;

	state_write(st);
	assert_true(state_sections(st, rows, n, &thing));
	assert_true(state_written(st));
	assert_memory_equal(&thing, &sample, sizeof(thing));
}

static void save(struct state *st)
{
	save_with(st, table, 2);
}

/* Loads; returns why not, or an empty text. */
static const char *load_with(const void *data, size_t size, struct thing *thing,
			     const struct state_section *rows, unsigned int n)
{
	static char why[200];
	struct state st;
	/* In a heap block of its size, so that reading past it is caught. */
	void *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, data, size);
	memset(thing, 0, sizeof(*thing));
	if (state_read(&st, copy, size) && state_sections(&st, rows, n, thing))
		state_read_end(&st);
	assert_int_equal(st.failed, st.why[0] != '\0');
	snprintf(why, sizeof(why), "%s", st.why);
	free(copy);
	return why;
}

static const char *load(const struct state *st, struct thing *thing)
{
	return load_with(st->data, st->at, thing, table, 2);
}

static void test_round_trip(void **state)
{
	struct thing thing;
	struct state st;

	save(&st);
	assert_string_equal(load(&st, &thing), "");
	assert_memory_equal(&thing, &sample, sizeof(thing));
	state_free(&st);
}

/* The bytes as Documentation/state.rst has them. */
static void test_layout(void **state)
{
	static const uint8_t begin[] = {
		'V', 'N', 'R', 'S', 'T', 'A', 'T', 'E', 1, 0, 0, 0, 1, 0, 0, 0,
	};
	static const uint8_t section[] = {
		't', 'h', 'i', 'n', 'g', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 0, 0, 0, 0, 67, 0, 0, 0, 0, 0, 0, 0,
		1, 2, 3, 200, 1, 0x60, 0xea, 0x00, 0x28, 0x6b, 0xee,
	};
	struct state st;

	save(&st);
	assert_memory_equal(st.data, begin, sizeof(begin));
	assert_memory_equal(st.data + 24, section, sizeof(section));
	state_free(&st);
}

/* No shorter state is one, and none is read past its end. */
static void test_each_length(void **state)
{
	struct thing thing;
	struct state st;
	size_t n;

	save(&st);
	for (n = 0; n < st.at; n++)
		assert_string_not_equal(load_with(st.data, n, &thing, table, 2), "");
	/* The same with a header that says so. */
	for (n = 24; n < st.at; n++) {
		uint64_t length = htole64(n - 24);

		memcpy(st.data + 16, &length, sizeof(length));
		assert_string_not_equal(load_with(st.data, n, &thing, table, 2), "");
	}
	state_free(&st);
}

/* Changes a byte of a state, which then fails for a reason. */
static void expect(size_t at, uint8_t value, const char *why)
{
	struct thing thing;
	struct state st;

	save(&st);
	st.data[at] = value;
	assert_string_equal(load(&st, &thing), why);
	state_free(&st);
}

#define SECTION	24u
#define FIELDS	56u

static void test_refused(void **state)
{
	expect(0, 'X', "no state: it begins otherwise");
	expect(12, 2, "version 1, for readers from 2 on: this is version 1");
	expect(12, 0, "its versions contradict each other");
	expect(16, 1, "its length is another one than its header says");
	expect(SECTION, 'T', "a section without a name, at byte 24");
	expect(SECTION, '\n', "a section without a name, at byte 24");
	expect(SECTION + 9, 'x', "a section without a name, at byte 24");
	expect(SECTION + 16, 0, "section thing, header: unknown flags, or no version");
	expect(SECTION + 18, 2, "section thing, header: unknown flags, or no version");
	expect(SECTION + 16, 2, "section thing, header: its version is 2, and 1 is known here");
	expect(SECTION + 30, 1, "section thing, header: it is longer than the state");
	expect(SECTION, 'b',
	       "section bhing, header: unknown here, or in a wrong place, and required; thing is next");
	expect(FIELDS + 3, 201, "section thing, u8: 201 is more than 200");
	expect(FIELDS + 4, 2, "section thing, yes: 2 is more than 1");
	expect(FIELDS + 6, 0xff, "section thing, u16: 65376 is more than 60000");
	expect(FIELDS + 43, 6, "section thing, n: 6 is more than 5");
	expect(FIELDS + 43, 4, "section thing, its end: 4 bytes too many");
	expect(FIELDS + 26, 0x7f, "section thing, past: a time too far from the present");
}

/* A count that fits its bound, but not what the section holds. */
static void test_count_is_bounded(void **state)
{
	struct thing thing;
	struct state st;

	save(&st);
	/* Five entries in a section that ends behind its count. */
	st.data[SECTION + 24] = 47;
	assert_string_equal(load(&st, &thing),
			    "section thing, n: 5, of which the section holds fewer");
	assert_int_equal(thing.n, 0);
	state_free(&st);
}

static void test_missing(void **state)
{
	struct thing thing;
	struct state st;

	save_with(&st, table, 1);
	assert_string_equal(load(&st, &thing), "section more is missing");
	state_free(&st);
}

/* A later writer has more sections: those that say so are skipped, wherever they are. */
static void test_unknown_is_skipped(void **state)
{
	const struct state_section later[] = {
		{ "before", 1, STATE_SKIPPABLE, more_io },
		table[0],
		{ "between-2", 9, STATE_SKIPPABLE, thing_io },
		table[1],
		{ "behind", 1, STATE_SKIPPABLE, more_io },
	};
	struct thing thing;
	struct state st;

	save_with(&st, later, 5);
	assert_string_equal(load(&st, &thing), "");
	assert_memory_equal(&thing, &sample, sizeof(thing));
	state_free(&st);
}

static void test_unknown_is_refused(void **state)
{
	const struct state_section later[] = {
		table[0], table[1], { "new-object", 1, 0, more_io },
	};
	struct thing thing;
	struct state st;

	save_with(&st, later, 3);
	assert_string_equal(load(&st, &thing),
			    "section new-object, header: unknown here, and required");
	state_free(&st);
}

static void nothing_io(struct state *st, void *arg)
{
}

/* A section without fields is not written; one that has some is required. */
static void test_optional(void **state)
{
	const struct state_section without[] = {
		table[0], { "rare", 1, STATE_OPTIONAL, nothing_io }, table[1],
	};
	const struct state_section with[] = {
		table[0], { "rare", 1, STATE_OPTIONAL, more_io }, table[1],
	};
	const struct state_section later[] = {
		table[0], { "rare", 2, STATE_OPTIONAL, more_io }, table[1],
	};
	struct thing thing;
	struct state st;

	save_with(&st, without, 3);
	assert_string_equal(load(&st, &thing), "");
	assert_string_equal(load_with(st.data, st.at, &thing, with, 3), "");
	state_free(&st);
	save_with(&st, with, 3);
	assert_string_equal(load_with(st.data, st.at, &thing, with, 3), "");
	assert_string_equal(load(&st, &thing),
			    "section rare, header: unknown here, or in a wrong place, and required; "
			    "more is next");
	state_free(&st);
	save_with(&st, later, 3);
	assert_string_equal(load_with(st.data, st.at, &thing, with, 3),
			    "section rare, header: its version is 2, and 1 is known here");
	state_free(&st);
}

static void enlarged_io(struct state *st, void *arg)
{
	uint32_t zero = 0;

	more_io(st, arg);
	if (st->version > 2)
		state_u32(st, "enlarged", &zero, UINT32_MAX);
}

/*
 * To a later version and back: what has an earlier version is read; what has a later one is
 * refused by name, or skipped if it may be.
 */
static void test_versions(void **state)
{
	const struct state_section first[] = { table[0], { "more", 1, 0, more_io } };
	const struct state_section later[] = { table[0], { "more", 3, 0, enlarged_io } };
	struct thing thing;
	struct state st;

	save_with(&st, first, 2);
	assert_string_equal(load(&st, &thing), "");
	assert_string_equal(load_with(st.data, st.at, &thing, later, 2), "");
	assert_int_equal(thing.more, 99);
	state_free(&st);
	save_with(&st, later, 2);
	assert_string_equal(load_with(st.data, st.at, &thing, later, 2), "");
	assert_string_equal(load(&st, &thing),
			    "section more, header: its version is 3, and 2 is known here");
	state_free(&st);
}

/* Whatever the fields are, what was not read is zero. */
static void test_failed_reads_zeroes(void **state)
{
	struct thing thing;
	struct state st;

	save(&st);
	st.data[FIELDS + 3] = 255;
	load(&st, &thing);
	assert_int_equal(thing.u8, 0);
	assert_int_equal(thing.u64, 0);
	assert_int_equal(thing.n, 0);
	state_free(&st);
}

static void test_memfd(void **state)
{
	struct thing thing;
	uint8_t buf[4096];
	struct state st;
	ssize_t n;
	int fd;

	save(&st);
	fd = state_memfd(&st);
	assert_true(fd >= 0);
	n = pread(fd, buf, sizeof(buf), 0);
	assert_int_equal(n, st.at);
	assert_string_equal(load_with(buf, n, &thing, table, 2), "");
	close(fd);
	state_free(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_each_length),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_count_is_bounded),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_unknown_is_skipped),
		cmocka_unit_test(test_unknown_is_refused),
		cmocka_unit_test(test_optional),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_failed_reads_zeroes),
		cmocka_unit_test(test_memfd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
