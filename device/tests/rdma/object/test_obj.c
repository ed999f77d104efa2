// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handles: random, and none twice in a short time.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rdma/object/obj.h"

#define N	64

static uint8_t tag(uint32_t handle)
{
	return handle & 0xff;
}

/* The handles of two tables, one entry each of N. */
static void fill(struct obj_table *table, uint32_t *handle)
{
	static int object;
	unsigned int i;

	assert_int_equal(obj_table_init(table, N), 0);
	for (i = 0; i < N; i++) {
		assert_int_equal(obj_add(table, &object, &handle[i]), 0);
		assert_int_equal(obj_index(handle[i]), i);
		assert_int_not_equal(tag(handle[i]), 0);
	}
}

/* 64 tags are the same by chance once in 10^154 times. */
static void test_first_tags_are_random(void **state)
{
	struct obj_table a, b;
	uint32_t first[N], second[N];

	fill(&a, first);
	fill(&b, second);
	assert_memory_not_equal(first, second, sizeof(first));
	obj_table_fini(&a);
	obj_table_fini(&b);
}

/* An entry goes through all tags, not the same way as others. */
static void test_next_tags(void **state)
{
	bool seen[N][256] = { 0 };
	unsigned int i, round, steps[256] = { 0 };
	uint32_t handle[N], old;
	struct obj_table table;
	static int object;

	fill(&table, handle);
	for (round = 0; round < 255; round++) {
		for (i = 0; i < N; i++) {
			assert_false(seen[i][tag(handle[i])]);
			seen[i][tag(handle[i])] = true;
			obj_del(&table, handle[i]);
			assert_null(obj_get(&table, handle[i]));
			old = handle[i];
			assert_int_equal(obj_add(&table, &object, &handle[i]), 0);
			assert_int_equal(obj_index(handle[i]), i);
			assert_null(obj_get(&table, old));
			assert_non_null(obj_get(&table, handle[i]));
			if (!round)
				steps[(tag(handle[i]) - tag(old) + 255) % 255]++;
		}
	}
	for (i = 0; i < 256; i++)
		assert_in_range(steps[i], 0, N / 2);
	obj_table_fini(&table);
}

/* A registration by work request may choose any tag, 0 as well. */
static void test_retag(void **state)
{
	struct obj_table table;
	uint32_t handle[N], again;
	static int object;

	fill(&table, handle);
	obj_retag(&table, handle[5] & ~0xffu);
	assert_non_null(obj_get(&table, handle[5] & ~0xffu));
	obj_del(&table, handle[5]);
	assert_int_equal(obj_add(&table, &object, &again), 0);
	assert_int_equal(obj_index(again), 5);
	assert_int_not_equal(tag(again), 0);
	obj_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_tags_are_random),
		cmocka_unit_test(test_next_tags),
		cmocka_unit_test(test_retag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
