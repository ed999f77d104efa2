// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "virtio/mem.h"

static uint8_t low[0x1000];
static uint8_t high[0x2000];

/* The first two regions touch; then comes a hole; the last ends at 2^64 - 1. */
static const struct guest_mem mem = {
	.n = 3,
	.region = {
		{ .addr = 0x10000, .size = 0x1000, .host = low },
		{ .addr = 0x11000, .size = 0x1000, .host = high },
		{ .addr = UINT64_MAX - 0x1000, .size = 0x1000,
		  .host = high + 0x1000 },
	},
};

static void test_ptr_inside(void **state)
{
	assert_ptr_equal(guest_mem_ptr(&mem, 0x10000, 1), low);
	assert_ptr_equal(guest_mem_ptr(&mem, 0x10000, 0x1000), low);
	assert_ptr_equal(guest_mem_ptr(&mem, 0x10fff, 1), low + 0xfff);
	assert_ptr_equal(guest_mem_ptr(&mem, 0x11010, 0x10), high + 0x10);
	assert_ptr_equal(guest_mem_ptr(&mem, 0x10000, 0), low);
}

static void test_ptr_outside(void **state)
{
	assert_null(guest_mem_ptr(&mem, 0, 1));
	assert_null(guest_mem_ptr(&mem, 0xffff, 1));
	assert_null(guest_mem_ptr(&mem, 0xffff, 2));
	assert_null(guest_mem_ptr(&mem, 0x12000, 1));
	assert_null(guest_mem_ptr(&mem, 0x11fff, 2));
	assert_null(guest_mem_ptr(&mem, UINT64_MAX, 1));
}

static void test_ptr_not_across_regions(void **state)
{
	assert_null(guest_mem_ptr(&mem, 0x10fff, 2));
	assert_null(guest_mem_ptr(&mem, 0x10000, 0x1001));
}

static void test_ptr_wraps(void **state)
{
	assert_null(guest_mem_ptr(&mem, 0x10001, UINT64_MAX));
	assert_null(guest_mem_ptr(&mem, UINT64_MAX - 1, 0x10));
	assert_non_null(guest_mem_ptr(&mem, UINT64_MAX - 1, 1));
}

static void test_no_memory(void **state)
{
	static const struct guest_mem none;
	struct iovec iov;

	assert_null(guest_mem_ptr(&none, 0, 0));
	assert_int_equal(guest_mem_iov(&none, 0, 1, &iov, 1), -EFAULT);
}

static void test_run(void **state)
{
	static const struct guest_mem none;
	uint8_t *host;

	assert_int_equal(guest_mem_contig(&mem, 0x10ff0, 0x8, &host), 0x8);
	assert_ptr_equal(host, low + 0xff0);
	assert_int_equal(guest_mem_contig(&mem, 0x10ff0, 0x20, &host), 0x10);
	assert_ptr_equal(host, low + 0xff0);
	assert_int_equal(guest_mem_contig(&mem, 0x11000, UINT64_MAX, &host), 0x1000);
	assert_ptr_equal(host, high);
	/* In front of a region, in a hole, behind the last one. */
	assert_int_equal(guest_mem_contig(&mem, 0xfff0, 0x100, &host), 0x10);
	assert_null(host);
	assert_int_equal(guest_mem_contig(&mem, 0x12000, 0x100, &host), 0x100);
	assert_null(host);
	assert_int_equal(guest_mem_contig(&mem, UINT64_MAX, 1, &host), 1);
	assert_null(host);
	assert_int_equal(guest_mem_contig(&none, 0x10000, 5, &host), 5);
	assert_null(host);
}

static void test_iov_across_regions(void **state)
{
	struct iovec iov[2];

	assert_int_equal(guest_mem_iov(&mem, 0x10ff0, 0x20, iov, 2), 2);
	assert_ptr_equal(iov[0].iov_base, low + 0xff0);
	assert_int_equal(iov[0].iov_len, 0x10);
	assert_ptr_equal(iov[1].iov_base, high);
	assert_int_equal(iov[1].iov_len, 0x10);
}

static void test_iov_too_small(void **state)
{
	struct iovec iov[2];

	assert_int_equal(guest_mem_iov(&mem, 0x10ff0, 0x20, iov, 1), -E2BIG);
	assert_int_equal(guest_mem_iov(&mem, 0x10ff0, 0x10, iov, 1), 1);
}

static void test_iov_outside(void **state)
{
	struct iovec iov[2];

	assert_int_equal(guest_mem_iov(&mem, 0x11ff0, 0x20, iov, 2), -EFAULT);
	assert_int_equal(guest_mem_iov(&mem, 0x10000, 0, iov, 2), -EFAULT);
	assert_int_equal(guest_mem_iov(&mem, UINT64_MAX - 1, 8, iov, 2),
			 -EFAULT);
	assert_int_equal(guest_mem_iov(&mem, 0x10000, UINT64_MAX, iov, 2),
			 -EFAULT);
}

/* A range that ends at the last address does not continue at address 0. */
static void test_iov_wraps(void **state)
{
	static const struct guest_mem round = {
		.n = 2,
		.region = {
			{ .addr = 0, .size = 0x1000, .host = low },
			{ .addr = 0ULL - 0x1000, .size = 0x1000, .host = high },
		},
	};
	struct iovec iov[2];

	assert_int_equal(guest_mem_iov(&round, 0ULL - 0x10, 0x20, iov, 2),
			 -EFAULT);
	assert_int_equal(guest_mem_iov(&round, 0ULL - 0x10, 0x10, iov, 2), 1);
}

static void test_iov_to_and_from_buf(void **state)
{
	char a[] = "abc", b[] = "defgh", out[16] = "";
	struct iovec iov[] = {
		{ .iov_base = a, .iov_len = 3 },
		{ .iov_base = NULL, .iov_len = 0 },
		{ .iov_base = b, .iov_len = 5 },
	};

	assert_int_equal(iov_to_buf(iov, 3, 2, out, 4), 4);
	assert_memory_equal(out, "cdef", 4);
	assert_int_equal(iov_to_buf(iov, 3, 6, out, 16), 2);
	assert_memory_equal(out, "gh", 2);
	assert_int_equal(iov_to_buf(iov, 3, 8, out, 1), 0);
	assert_int_equal(iov_to_buf(iov, 3, 100, out, 1), 0);

	assert_int_equal(iov_from_buf(iov, 3, 1, "1234", 4), 4);
	assert_string_equal(a, "a12");
	assert_string_equal(b, "34fgh");
	assert_int_equal(iov_from_buf(iov, 3, 7, "xyz", 3), 1);
	assert_string_equal(b, "34fgx");
}

static void test_iov_copy(void **state)
{
	char from[] = "0123456789", to[] = "..........";
	struct iovec src[] = {
		{ .iov_base = from, .iov_len = 4 },
		{ .iov_base = from + 4, .iov_len = 6 },
	};
	struct iovec dst[] = {
		{ .iov_base = to, .iov_len = 1 },
		{ .iov_base = to + 1, .iov_len = 6 },
		{ .iov_base = to + 7, .iov_len = 3 },
	};

	assert_int_equal(iov_copy(dst, 3, 2, src, 2, 1, 7), 7);
	assert_string_equal(to, "..1234567.");
	assert_int_equal(iov_copy(dst, 3, 8, src, 2, 0, 100), 2);
	assert_string_equal(to, "..12345601");
	assert_int_equal(iov_copy(dst, 3, 0, src, 2, 9, 100), 1);
	assert_string_equal(to, "9.12345601");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ptr_inside),
		cmocka_unit_test(test_ptr_outside),
		cmocka_unit_test(test_ptr_not_across_regions),
		cmocka_unit_test(test_ptr_wraps),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_iov_across_regions),
		cmocka_unit_test(test_iov_too_small),
		cmocka_unit_test(test_iov_outside),
		cmocka_unit_test(test_iov_wraps),
		cmocka_unit_test(test_iov_to_and_from_buf),
		cmocka_unit_test(test_iov_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
