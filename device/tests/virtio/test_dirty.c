// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The log of written pages: which bits are set, and that each function that writes sets them.
 *
 * That the daemon writes by these functions only is what EG_DIRTY (tests/lib/engine_dirty.c)
 * and scripts/lint/writes.py show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "virtio/write.h"

#define PAGE	DIRTY_PAGE_SIZE
#define PAGES	16u

static uint8_t one[4 * PAGE] __attribute__((aligned(PAGE)));
static uint8_t two[4 * PAGE] __attribute__((aligned(PAGE)));
static uint8_t bits[PAGES / 8];
static struct guest_mem mem;
static struct dirty_log dlog;

/* Pages 2 to 5 and 8 to 11 of the guest; its second region begins in the middle of a page. */
static int setup(void **state)
{
	mem.n = 2;
	mem.region[0] = (struct guest_region) { 2 * PAGE, sizeof(one), one };
	mem.region[1] = (struct guest_region) { 8 * PAGE + PAGE / 2, sizeof(two), two };
	memset(bits, 0, sizeof(bits));
	dlog = (struct dirty_log) { .mem = &mem, .bits = bits, .size = sizeof(bits) };
	dirty_log_start(&dlog);
	return 0;
}

static int teardown(void **state)
{
	dirty_log_stop(&dlog);
	assert_int_equal(dirty_logs, 0);
	return 0;
}

static uint32_t marked(void)
{
	const uint32_t all = bits[0] | bits[1] << 8;

	memset(bits, 0, sizeof(bits));
	return all;
}

static void test_ranges(void **state)
{
	dirty_mark(one, 0);
	assert_int_equal(marked(), 0);
	dirty_mark(one, 1);
	assert_int_equal(marked(), 1 << 2);
	dirty_mark(one + PAGE - 1, 1);
	assert_int_equal(marked(), 1 << 2);
	dirty_mark(one + PAGE - 1, 2);
	assert_int_equal(marked(), 3 << 2);
	dirty_mark(one, sizeof(one));
	assert_int_equal(marked(), 15 << 2);
	dirty_mark(two + PAGE / 2 - 1, 1);
	assert_int_equal(marked(), 1 << 8);
	dirty_mark(two + PAGE / 2, 1);
	assert_int_equal(marked(), 1 << 9);
}

/* The log of another guest, and a region that is not the one of the write before. */
static void test_two_logs(void **state)
{
	static uint8_t three[PAGE] __attribute__((aligned(PAGE)));
	struct guest_mem other = { .n = 1, .region[0] = { 3 * PAGE, sizeof(three), three } };
	uint8_t others = 0;
	struct dirty_log dlog2 = { .mem = &other, .bits = &others, .size = 1 };
	unsigned int i;

	dirty_log_start(&dlog2);
	for (i = 0; i < 2; i++) {
		dirty_mark(two, 1);
		dirty_mark(three, 1);
		dirty_mark(one, 1);
		assert_int_equal(others, 1 << 3);
		assert_int_equal(marked(), 1 << 8 | 1 << 2);
		others = 0;
	}
	/* A region goes, and the log that had the last write. */
	mem.n = 1;
	dirty_mark(two, 1);
	dirty_mark(three, 1);
	assert_int_equal(marked(), 0);
	dirty_log_stop(&dlog2);
	others = 0;
	dirty_mark(three, 1);
	assert_int_equal(others, 0);
	dirty_mark(one, 1);
	assert_int_equal(marked(), 1 << 2);
}

/* Memory of this process, or of a guest that is not moved. */
static void test_other_memory(void **state)
{
	uint8_t here[64];

	write_zero(here, sizeof(here));
	assert_int_equal(marked(), 0);
}

/* Pages beyond the end of a log are left out. */
static void test_log_ends(void **state)
{
	dlog.size = 1;
	dirty_mark(one + 2 * PAGE, 2 * PAGE);
	dirty_mark(two, sizeof(two));
	assert_int_equal(bits[1], 0);
	assert_int_equal(marked(), 3 << 4);
}

/* The other side takes bits at any time: one that is set is set again by the next write. */
static void test_taken_bits(void **state)
{
	write_u32((uint32_t *)one, 1);
	assert_int_equal(marked(), 1 << 2);
	write_u32((uint32_t *)one, 1);
	assert_int_equal(marked(), 1 << 2);
}

static void test_each_function(void **state)
{
	static const uint8_t from[16] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct iovec iov = { .iov_base = one, .iov_len = 16 }, src = { (void *)from, 16 };
	uint64_t *word = (uint64_t *)one;

	write_u16((uint16_t *)one, 0x1234);
	assert_int_equal(marked(), 1 << 2);
	assert_int_equal(*(uint16_t *)one, 0x1234);
	*word = 0xff;
	assert_int_equal(write_and(word, 0xf), 0xff);
	assert_int_equal(marked(), 1 << 2);
	assert_int_equal(write_or(word, 0x30), 0xf);
	assert_int_equal(marked(), 1 << 2);
	assert_int_equal(write_add(word, 1), 0x3f);
	assert_int_equal(marked(), 1 << 2);
	assert_int_equal(write_swap(word, 7), 0x40);
	assert_int_equal(marked(), 1 << 2);
	assert_int_equal(write_swap_if(word, 8, 9), 7);
	assert_int_equal(marked(), 1 << 2);
	assert_int_equal(write_swap_if(word, 7, 9), 7);
	assert_int_equal(marked(), 1 << 2);
	assert_int_equal(*word, 9);
	write_copy(one, from, 16);
	assert_int_equal(marked(), 1 << 2);
	write_four(one + PAGE - 16, 2, 3, 4, 5);
	assert_int_equal(marked(), 3 << 2);
	assert_memory_equal(one + PAGE - 16, ((const uint64_t[]){ 2, 3, 4, 5 }), 32);
	write_move(one + 1, one, 8);
	assert_int_equal(marked(), 1 << 2);
	write_place(one + PAGE - 8, from, 16);
	assert_int_equal(marked(), 3 << 2);
	assert_int_equal(iov_from_buf(&iov, 1, 0, from, 16), 16);
	assert_int_equal(marked(), 1 << 2);
	assert_int_equal(iov_copy(&iov, 1, 0, &src, 1, 0, 16), 16);
	assert_int_equal(marked(), 1 << 2);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_ranges),
		T(test_two_logs),
		T(test_other_memory),
		T(test_log_ends),
		T(test_taken_bits),
		T(test_each_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
