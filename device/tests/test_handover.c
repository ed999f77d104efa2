// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * All that a process hands over: what version 1 wrote is loaded, and states that are wrong leave
 * nothing behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "tests/lib/handed.h"
#include "tests/lib/need.h"

/* The tests run in device/. */
#define GOLDEN		"tests/state/golden-handover-1.bin"

static int home;
static unsigned int fds;

static int setup(void **state)
{
	home = open(".", O_RDONLY | O_CLOEXEC);
	handed_begin();
	fds = count_fds();
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(count_fds(), fds);
	handed_end();
	assert_int_equal(fchdir(home), 0);
	close(home);
	return 0;
}

static const char *load_as(const uint8_t *data, size_t size, bool lenient, bool piped)
{
	static char why[300];
	int err;

	log_catch(why, sizeof(why));
	err = piped ? handed_load_piped(data, size) : handed_load(data, size, lenient);
	log_catch(NULL, 0);
	if (!err)
		handed_go_on();
	handed_stop();
	assert_int_equal(count_fds(), fds);
	/* A guest that is lost is told of, and does not refuse all. */
	assert_true(*why ? err || lenient : !err);
	return why;
}

/* Loads; returns why not, or an empty text.  Nothing of it is left. */
static const char *load(const uint8_t *data, size_t size, bool lenient)
{
	return load_as(data, size, lenient, false);
}

static const char *load_piped(const uint8_t *data, size_t size)
{
	return load_as(data, size, false, true);
}

/* The state that was loaded serves, and is saved again byte for byte. */
static void expect_serves(const uint8_t *data, size_t size)
{
	const struct guest *guest = handed.ports.guest;
	uint8_t *again;
	size_t n;

	assert_int_equal(handed.ports.op.ports, 5);
	assert_true(function_connected(guest[0].fn));
	assert_false(function_connected(guest[1].fn));
	assert_string_equal(guest[2].group.name, "c");
	assert_int_equal(guest[2].options.pin.gids, 2);
	assert_true(handed.all.control_fd >= 0);
	assert_true(handed.all.pcap_fd >= 0);
	again = handed_save(&n);
	assert_int_equal(n, size);
	assert_memory_equal(again, data, n);
	free(again);
	handed_go_on();
	assert_true(function_connected(guest[0].fn));
	handed_stop();
}

static void expect_goes_on(const uint8_t *data, size_t size)
{
	assert_int_equal(handed_load(data, size, false), 0);
	expect_serves(data, size);
}

static void test_goes_on(void **state)
{
	expect_goes_on(handed.data, handed.size);
}

static void test_piped(void **state)
{
	assert_int_equal(handed_load_piped(handed.piped, handed.piped_size), 0);
	expect_serves(handed.data, handed.size);
}

/*
 * One place of five is tried, and with $LAB_LONG each.  Each takes milliseconds, because a process
 * with all its ports takes over.
 */
static size_t stride(void)
{
	return getenv("LAB_LONG") ? 1 : 5;
}

/* Whatever byte of a part or of its head is changed, and wherever the parts end. */
static void test_piped_wrong(void **state)
{
	const size_t step = (handed.piped_size - handed.process) * stride() / 300 | 1;
	size_t i, n = 0, refused = 0;
	uint8_t was;

	for (i = handed.process; i < handed.piped_size; i += step, n++) {
		was = handed.piped[i];
		handed.piped[i] ^= i % 2 ? 0xff : 1;
		refused += !!load_piped(handed.piped, handed.piped_size)[0];
		handed.piped[i] = was;
		assert_string_not_equal(load_piped(handed.piped, i), "");
	}
	assert_in_range(refused, n / 15, n);
	assert_string_equal(load_piped(handed.piped, handed.piped_size), "");
}

/*
 * As version 1 wrote it, once for all.  STATE_GOLDEN in the environment writes the file of the
 * present version.
 */
static void test_golden(void **state)
{
	static uint8_t data[1 << 17];
	int file;
	ssize_t n;

	if (getenv("STATE_GOLDEN")) {
		file = openat(home, GOLDEN, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		assert_int_equal(write(file, handed.data, handed.size), handed.size);
		close(file);
	}
	file = openat(home, GOLDEN, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	n = read(file, data, sizeof(data));
	close(file);
	assert_in_range(n, 1000, sizeof(data) - 1);
	expect_goes_on(data, n);
}

/* Whatever byte is changed: loaded, or refused with a reason. */
static void test_each_byte(void **state)
{
	size_t i, n = 0, refused = 0;
	uint8_t was;

	for (i = 0; i < handed.process; i += stride(), n++) {
		was = handed.data[i];
		handed.data[i] ^= i % 2 ? 0xff : 1;
		if (load(handed.data, handed.size, i % 4 < 2)[0])
			refused++;
		handed.data[i] = was;
	}
	assert_in_range(refused, n / 3, n);
	assert_string_equal(load(handed.data, handed.size, false), "");
}

static void test_each_length(void **state)
{
	uint64_t length;
	size_t n;

	for (n = 0; n < handed.size; n += stride() + n / 100)
		assert_string_not_equal(load(handed.data, n, true), "");
	/* The same with a header that says so. */
	for (n = 24; n < handed.process; n += stride()) {
		length = htole64(n - 24);
		memcpy(handed.data + 16, &length, sizeof(length));
		assert_string_not_equal(load(handed.data, n, false), "");
	}
}

/* Each descriptor in the place of each other one. */
static void test_descriptors_in_wrong_places(void **state)
{
	unsigned int i, k, refused = 0;
	int was;

	for (i = 0; i < handed.fds; i++)
		for (k = 0; k < handed.fds; k++) {
			was = handed.fd[i];
			handed.fd[i] = handed.fd[k];
			refused += !!load(handed.data, handed.size, false)[0];
			handed.fd[i] = was;
		}
	assert_in_range(refused, handed.fds, handed.fds * handed.fds);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_goes_on),
		TEST(test_piped),
		TEST(test_piped_wrong),
		TEST(test_golden),
		TEST(test_each_byte),
		TEST(test_each_length),
		TEST(test_descriptors_in_wrong_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
