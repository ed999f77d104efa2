// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guests and uplinks that come and go.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/uds.h"
#include "base/util.h"
#include "ports.h"
#include "tests/lib/idle.h"
#include "tests/lib/need.h"

static struct options options;
static struct ports ports;
static char dir[] = "/tmp/test_ports.XXXXXX";
static char error[256];
static unsigned int fds;

static int setup(void **state)
{
	char *argv[] = {
		(char *)"", (char *)"--control", (char *)"x", (char *)"--qps", (char *)"4",
		(char *)"--cqs", (char *)"4", (char *)"--mrs", (char *)"16",
	};

	log_set_level(LOG_LEVEL_ERROR);
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(options_parse(&options, ARRAY_SIZE(argv), argv), 0);
	ports = (struct ports){ .options = &options };
	ports.loop = loop_new(0);
	ports.sw = switch_new(ports.loop);
	ports.fabric = fabric_new();
	assert_int_equal(ports_start(&ports), 0);
	assert_int_equal(ports.op.ports, 0);
	fds = count_fds();
	return 0;
}

/* Nothing is left, neither of what was removed nor of what was not. */
static int teardown(void **state)
{
	ports_stop(&ports);
	assert_int_equal(ports.op.ports, 0);
	assert_int_equal(count_fds(), fds);
	fabric_free(ports.fabric);
	switch_free(ports.sw);
	loop_free(ports.loop);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static void run(void)
{
	run_idle(ports.loop);
}

/* "DIR/NAME", and "DIR/NAME" behind a scheme or before what is pinned. */
static const char *text_of(const char *before, const char *name, const char *behind)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s%s/%s%s", before, dir, name, behind);
	return text;
}

static int add_by(int (*add)(void *arg, const char *text, int fd), const char *text, int fd)
{
	int err;

	log_catch(error, sizeof(error));
	err = add(ports.op.arg, text, fd);
	log_catch(NULL, 0);
	assert_true(!err == !*error);
	return err;
}

/* As vhost-user-roce-ctl does it, which removes the name if that fails. */
static int guest_add(const char *name, const char *pins)
{
	int fd = uds_listen(text_of("", name, ""), 1), err;

	assert_true(fd >= 0);
	err = add_by(ports.op.changes->guest_add, text_of("", name, pins), fd);
	if (err)
		assert_int_equal(unlink(text_of("", name, "")), 0);
	return err;
}

static const struct operator_port *port(const char *name)
{
	const struct operator_port *found = operator_port_find(&ports.op, name);

	assert_non_null(found);
	return found;
}

static void port_remove(const char *name)
{
	ports.op.changes->remove(ports.op.arg, port(name));
}

static unsigned int last_of_mac(const char *name)
{
	return function_mac(port(name)->fn)[ETH_ALEN - 1];
}

static void test_guest(void **state)
{
	unsigned int i;
	char c;
	int fd;

	for (i = 0; i < 3; i++) {
		assert_int_equal(guest_add("a", ""), 0);
		assert_int_equal(guest_add("b", ",mac=02:00:00:00:00:07,gid=192.0.2.1"), 0);
		assert_int_equal(ports.op.ports, 2);
		assert_int_equal(last_of_mac("b"), 7);
		fd = uds_connect(text_of("", "a", ""));
		run();
		assert_true(function_connected(port("a")->fn));
		port_remove("a");
		/* The connection has ended, and the name has gone. */
		assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), 0);
		close(fd);
		assert_int_equal(access(text_of("", "a", ""), F_OK), -1);
		assert_int_equal(ports.op.ports, 1);
		port_remove("b");
		assert_int_equal(count_fds(), fds);
	}
}

/* The n-th place has the n-th address, unless that is another guest's own. */
static void test_mac(void **state)
{
	assert_int_equal(guest_add("a", ""), 0);
	assert_int_equal(guest_add("b", ",mac=52:54:00:00:ce:03"), 0);
	assert_int_equal(guest_add("c", ""), 0);
	assert_int_equal(last_of_mac("a"), 1);
	assert_int_equal(last_of_mac("c"), 4);
	port_remove("a");
	assert_int_equal(guest_add("d", ""), 0);
	assert_int_equal(last_of_mac("d"), 1);
	assert_int_equal(guest_add("e", ",mac=52:54:00:00:ce:03"), -ENOSPC);
	assert_non_null(strstr(error, "/b and "));
	assert_non_null(strstr(error, "have the same MAC address"));
	assert_int_equal(guest_add("e", ",mac=52:54:00:00:ce:01"), -ENOSPC);
	port_remove("b");
	assert_int_equal(guest_add("e", ",mac=52:54:00:00:ce:03"), 0);
}

static void test_guests_limit(void **state)
{
	char name[16];
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(guest_add(name, ""), 0);
	}
	assert_int_equal(guest_add("x", ""), -ENOSPC);
	assert_string_equal(error, "there are 64 guests, and there can be no more");
	port_remove("31");
	assert_int_equal(guest_add("x", ""), 0);
	assert_int_equal(last_of_mac("x"), 32);
}

static void test_bad_guests(void **state)
{
	char name[120];
	int fd[2];

	assert_int_equal(guest_add("a", ""), 0);
	assert_int_equal(guest_add("b", ",mac=x"), -EINVAL);
	assert_non_null(strstr(error, "mac: \"x\" is not"));
	assert_int_equal(guest_add("b", ",gid=0.0.0.0"), -EINVAL);
	assert_int_equal(guest_add("b\t", ""), -EINVAL);
	assert_non_null(strstr(error, "no path of a socket"));

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(add_by(ports.op.changes->guest_add, text_of("", "b", ""), fd[0]),
			 -EINVAL);
	assert_int_equal(add_by(ports.op.changes->guest_add, "relative", fd[1]), -EINVAL);
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(add_by(ports.op.changes->guest_add, text_of("", "b", ""), fd[0]),
			 -EINVAL);
	assert_int_equal(add_by(ports.op.changes->guest_add, text_of("", "a", ""), fd[1]),
			 -EINVAL);
	assert_non_null(strstr(error, "there is such a guest already"));

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(pipe(fd), 0);
	close(fd[1]);
	assert_int_equal(add_by(ports.op.changes->guest_add, text_of("", name, ""), fd[0]),
			 -EINVAL);
	assert_int_equal(ports.op.ports, 1);
}

static int uplink_add(const char *scheme, const char *name, int fd)
{
	return add_by(ports.op.changes->uplink_add, text_of(scheme, name, ""), fd);
}

static void test_uplink(void **state)
{
	unsigned int i;
	char text[80];
	int fd[2];

	for (i = 0; i < 2; i++) {
		assert_int_equal(uplink_add("unix:", "u", uds_listen(text_of("", "u", ""), 1)),
				 0);
		assert_int_equal(uplink_add("connect:", "u", uds_connect(text_of("", "u", ""))),
				 0);
		run();
		snprintf(text, sizeof(text), "unix:%s/u", dir);
		assert_int_equal(port(text)->uplink->stats.peers, 1);
		port_remove(text);
		assert_int_equal(access(text_of("", "u", ""), F_OK), -1);
		run();
		/* The socket is not made again, because the sandbox takes the right to make it. */
		snprintf(text, sizeof(text), "connect:%s/u", dir);
		assert_int_equal(port(text)->uplink->stats.peers, 0);
		port_remove(text);
		assert_int_equal(count_fds(), fds);
	}

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(uplink_add("unix:", "u", fd[0]), -EINVAL);
	assert_int_equal(uplink_add("tap:", "u", fd[1]), -EINVAL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(uplink_add("packet:", "u", fd[0]), -EINVAL);
	assert_int_equal(uplink_add("wire:", "u", fd[1]), -EINVAL);
	assert_int_equal(ports.op.ports, 0);
}

static void test_uplinks_limit(void **state)
{
	char name[16];
	unsigned int i;

	for (i = 0; i <= UPLINKS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(uplink_add("unix:", name,
					    uds_listen(text_of("", name, ""), 1)),
				 i < UPLINKS_MAX ? 0 : -ENOSPC);
	}
	assert_string_equal(error, "there are 16 uplinks, and there can be no more");
	assert_int_equal(unlink(text_of("", name, "")), 0);
	assert_int_equal(uplink_add("unix:", "3", -1), -EINVAL);
	assert_non_null(strstr(error, "there is such an uplink already"));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_guest),
		TEST(test_mac),
		TEST(test_guests_limit),
		TEST(test_bad_guests),
		TEST(test_uplink),
		TEST(test_uplinks_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
