// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Descriptors of a saved state, and its texts.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "state/state_fds.h"

#define FIELDS	56u

/**
 * struct thing - what is saved
 * @fd:		two descriptors, and none
 * @name:	text
 */
struct thing {
	int fd[3];
	char name[8];
};

static void thing_io(struct state *st, void *arg)
{
	struct thing *thing = arg;

	state_fd_need(st, "first", &thing->fd[0]);
	state_fd(st, "none", &thing->fd[1]);
	state_fd(st, "last", &thing->fd[2]);
	state_text(st, "name", thing->name, sizeof(thing->name));
}

static const struct state_section table[] = { { "thing", 1, 0, thing_io } };

static struct state_fds fds;
static struct thing from, to;

static void save(struct state *st)
{
	from = (struct thing) { .fd = { eventfd(1, 0), -1, eventfd(3, 0) }, .name = "abcdefg" };
	fds = (struct state_fds) {};
	state_write(st);
	st->fds = &fds;
	assert_true(state_sections(st, table, 1, &from));
	assert_true(state_written(st));
	assert_int_equal(fds.n, 2);
}

/* Loads; returns why not. */
static const char *load(const struct state *out, struct state *in)
{
	to = (struct thing) { .fd = { -1, -1, -1 } };
	assert_true(state_read(in, out->data, out->at));
	in->fds = &fds;
	state_sections(in, table, 1, &to);
	return in->why;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Those that were taken are the loader's, and the others are closed. */
static void end(struct state *out)
{
	unsigned int i;

	state_free(out);
	state_fds_close(&fds);
	for (i = 0; i < 3; i++)
		if (to.fd[i] >= 0)
			close(to.fd[i]);
	assert_false(is_open(from.fd[0]) || is_open(from.fd[2]));
}

static void test_round_trip(void **state)
{
	struct state out, in;
	eventfd_t value;

	save(&out);
	assert_string_equal(load(&out, &in), "");
	assert_int_equal(to.fd[1], -1);
	assert_int_equal(eventfd_read(to.fd[2], &value), 0);
	assert_int_equal(value, 3);
	assert_string_equal(to.name, "abcdefg");
	end(&out);
}

/* A byte of the state is another one. */
static void expect(size_t at, uint8_t value, const char *why)
{
	struct state out, in;

	save(&out);
	out.data[FIELDS + at] = value;
	assert_string_equal(load(&out, &in), why);
	end(&out);
}

static void test_refused(void **state)
{
	expect(0, 2, "section thing, first: descriptor 2 did not come with the state");
	expect(8, 0, "section thing, last: another one has its descriptor");
	expect(12, 8, "section thing, name: 8 is more than 7");
	expect(12, 6, "section thing, its end: 1 bytes too many");
	expect(16, '\n', "section thing, name: a character that is none of a name");
}

static void test_missing(void **state)
{
	struct state out, in;

	save(&out);
	memset(out.data + FIELDS, 0xff, 4);
	assert_string_equal(load(&out, &in),
			    "section thing, first: its descriptor is missing");
	end(&out);
}

/* A list grows, and has a bound. */
static void test_list_is_bounded(void **state)
{
	uint32_t i;

	for (i = 0; i < STATE_FDS_MAX; i++)
		assert_true(state_fds_add(&fds, -1));
	assert_false(state_fds_add(&fds, -1));
	state_fds_free(&fds);
	assert_int_equal(fds.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_list_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
