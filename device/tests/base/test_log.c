// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages: as an operator sees them, and as the journal takes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

/* Log something while standard error is a file that JOURNAL_STREAM names, or does not. */
static void say(char *text, size_t size, unsigned int off)
{
	FILE *file = tmpfile();
	int err = dup(STDERR_FILENO);
	char stream[64];
	struct stat st;
	ssize_t n;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino + off);
	assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
	dup2(fileno(file), STDERR_FILENO);
	log_init();
	log_error("one %d", 1);
	log_warn("two");
	log_info("three");
	log_debug("four");
	dup2(err, STDERR_FILENO);
	close(err);
	n = pread(fileno(file), text, size - 1, 0);
	assert_true(n >= 0);
	text[n] = 0;
	fclose(file);
}

static void test_journal(void **state)
{
	char text[256];

	say(text, sizeof(text), 0);
	assert_string_equal(text, "<3>one 1\n<4>two\n<6>three\n");
}

/* The first error, and nothing else, goes to who asked for it. */
static void test_catch(void **state)
{
	char text[256], error[8];

	log_catch(error, sizeof(error));
	say(text, sizeof(text), 1);
	log_error("another");
	log_catch(NULL, 0);
	assert_string_equal(error, "one 1");
	assert_string_equal(text,
			    "vhost-user-roce: warning: two\n"
			    "vhost-user-roce: three\n");
	log_catch(error, sizeof(error));
	log_error("too long for it");
	log_catch(NULL, 0);
	assert_string_equal(error, "too lon");
}

static void test_not_the_journal(void **state)
{
	char text[256];

	say(text, sizeof(text), 1);
	assert_string_equal(text,
			    "vhost-user-roce: one 1\n"
			    "vhost-user-roce: warning: two\n"
			    "vhost-user-roce: three\n");
}

static void test_debug(void **state)
{
	char text[256];

	log_set_level(LOG_LEVEL_DEBUG);
	say(text, sizeof(text), 0);
	log_set_level(LOG_LEVEL_INFO);
	assert_string_equal(text, "<3>one 1\n<4>two\n<6>three\n<7>four\n");
}

/* Time goes on as the test has it. */
static time_t now;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	*ts = (struct timespec){ .tv_sec = now };
	return 0;
}

static void test_limit(void **state)
{
	struct log_limit one = {}, other = {};
	unsigned int window, i, ok;

	for (window = 0; window < 3; window++) {
		now = window * 10;
		for (i = 0, ok = 0; i < 1000; i++)
			ok += log_limit_ok(&one);
		assert_int_equal(ok, 10);
		now += 9;
		assert_false(log_limit_ok(&one));
	}
	/* Each object has its own. */
	assert_true(log_limit_ok(&other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_catch),
		cmocka_unit_test(test_not_the_journal),
		cmocka_unit_test(test_debug),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
