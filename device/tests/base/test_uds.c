// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unix sockets: connections for which there is no descriptor.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/loop.h"
#include "base/uds.h"

static struct loop *loop;
static struct loop_fd listener;
static unsigned int accepts;
static bool full;
static int accepted;

/* Takes the place of the C library's. */
int accept4(int fd, struct sockaddr *restrict addr, socklen_t *restrict len, int flags)
{
	accepts++;
	if (full) {
		errno = EMFILE;
		return -1;
	}
	loop_stop(loop);
	return dup(fd);
}

static void on_connection(void *arg, uint32_t events)
{
	accepted = uds_accept(loop, &listener);
}

static void stop(void *arg)
{
	loop_stop(loop);
}

static void run_ms(unsigned int ms)
{
	struct loop_timer end = { .fn = stop };

	loop_timer_set(loop, &end, ms * 1000000ULL);
	loop_run(loop);
	loop_timer_cancel(loop, &end);
}

static void test_no_descriptor(void **state)
{
	char dir[] = "/tmp/test_uds.XXXXXX", path[64];
	int client;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	loop = loop_new(0);
	listener = (struct loop_fd) {
		.fd = uds_listen(path, 1),
		.fn = on_connection,
	};
	assert_int_equal(loop_fd_add(loop, &listener, EPOLLIN), 0);
	client = uds_connect(path);
	assert_true(client >= 0);

	full = true;
	run_ms(50);
	assert_int_equal(accepted, -EMFILE);
	assert_in_range(accepts, 1, 2);

	/* It is served when there is a descriptor again, which ends the run. */
	full = false;
	accepted = -1;
	run_ms(60000);
	assert_true(accepted >= 0);
	close(accepted);

	/* A listener may go while it rests. */
	full = true;
	run_ms(20);
	loop_fd_del(loop, &listener);
	accepts = 0;
	run_ms(200);
	assert_int_equal(accepts, 0);

	close(client);
	close(listener.fd);
	unlink(path);
	rmdir(dir);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
