// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon takes the place of another one while two guests send messages.  $SANDBOXED is the
 * path of the daemon, as shipped, and with "-next" behind it that of one whose saved state is of
 * the next version.
 */
#include <endian.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/stream.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

#define TAKEOVERS	10u

static char control[96];

/* ------------------------------------------------------------------------- */
/* Daemons                                                                   */
/* ------------------------------------------------------------------------- */

static pid_t spawn(char *const *more)
{
	return pp_spawn(getenv("SANDBOXED"), more);
}

static void take_over(void)
{
	stream_take_over(getenv("SANDBOXED"));
	stream_some();
}

static void expect_ends(pid_t pid)
{
	assert_int_not_equal(stream_until_end(pid), 0);
	assert_int_equal(waitpid(pp.pid, NULL, WNOHANG), 0);
	stream_some();
}

/* A daemon that cannot take over ends, and the one that there is goes on. */
static void expect_refused(char *const *more)
{
	expect_ends(spawn(more));
}

/* ------------------------------------------------------------------------- */
/* Of the next version                                                       */
/* ------------------------------------------------------------------------- */

/* That daemon takes over; @more says what it knows more, see tests/next/next_wrap.c. */
static void next_takes_over(const char *more)
{
	char path[256];

	snprintf(path, sizeof(path), "%s-next", getenv("SANDBOXED"));
	setenv("STATE_NEXT", more, 1);
	stream_take_over(path);
	unsetenv("STATE_NEXT");
	stream_some();
}

/* Today's daemon does not take over, because of @why; the other one goes on. */
static void expect_too_old(const char *why)
{
	char *const more[] = { (char *)"--takeover", control, NULL };
	const int file = memfd_create("log", MFD_CLOEXEC), err = dup(STDERR_FILENO);
	char said[2048] = {};
	pid_t pid;

	assert_true(dup2(file, STDERR_FILENO) >= 0);
	pid = spawn(more);
	assert_true(dup2(err, STDERR_FILENO) >= 0);
	close(err);
	expect_ends(pid);
	assert_true(pread(file, said, sizeof(said) - 1, 0) > 0);
	close(file);
	if (!strstr(said, why))
		fail_msg("\"%s\" was expected, and it said: %s", why, said);
}

static int control_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, control);
	assert_int_equal(connect(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return sock;
}

/* The control socket answers, and B is connected. */
static void expect_control(void)
{
	int sock = control_connect();
	char text[256] = {};

	assert_int_equal(write(sock, "ports\n", 6), 6);
	assert_true(recv(sock, text, sizeof(text) - 1, MSG_WAITALL) > 0);
	assert_non_null(strstr(text, "ok\n0\tguest\tup\n1\tguest\tup\n"));
	close(sock);
}

/* ------------------------------------------------------------------------- */
/* The tests                                                                 */
/* ------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_messages_go_on(void **state)
{
	uint64_t gap[TAKEOVERS];
	unsigned int i;

	stream_some();
	for (i = 0; i < TAKEOVERS; i++) {
		stream_again();
		take_over();
		gap[i] = stream.gap;
		stream_frame();
		expect_control();
	}
	qsort(gap, TAKEOVERS, sizeof(*gap), by_number);
	print_message("messages stood still for %.1f ms (median), %.1f ms (most)\n",
		      gap[TAKEOVERS / 2] / 1e6, gap[TAKEOVERS - 1] / 1e6);
}

/* The sockets are served as before: a guest comes, and one goes and comes again. */
static void test_guests_come_and_go(void **state)
{
	take_over();
	front_open(&pp.guest[2], pp.path[2], 3, FEATURES);
	take_over();
	pp_pd(&pp.guest[2]);
	front_close(&pp.guest[2]);
	take_over();
	front_open(&pp.guest[2], pp.path[2], 3, FEATURES);
	front_close(&pp.guest[2]);
	stream_some();
}

static void test_other_options(void **state)
{
	char *const other_qps[] = {
		(char *)"--takeover", control, (char *)"--mrs", (char *)"77", NULL,
	};
	char *const other_mac[] = {
		(char *)"--takeover", control, (char *)"--mac-base",
		(char *)"52:54:00:00:dd:01", NULL,
	};
	char *const other_control[] = {
		(char *)"--takeover", control, (char *)"--control",
		(char *)"/tmp/takeover-other", NULL,
	};

	expect_refused(other_qps);
	expect_refused(other_mac);
	expect_refused(other_control);
	stream_frame();
	expect_control();
	take_over();
}

/* An upgrade, and back to what can do without what is new. */
static void test_next_version_and_back(void **state)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		next_takes_over("");
		stream_frame();
		next_takes_over("");
		take_over();
		stream_frame();
		expect_control();
	}
}

/*
 * With content that today's daemon must know there is no way back: it says why, and the other one
 * goes on, until one that knows it takes over and leaves it out.
 */
static void test_no_way_back(void **state)
{
	next_takes_over("section");
	expect_too_old("section next-object, header: unknown here, and required");
	next_takes_over("field");
	expect_too_old("section process, header: its version is 2, and 1 is known here");
	next_takes_over("oldest");
	expect_too_old("version 2, for readers from 2 on: this is version 1");
	stream_frame();
	expect_control();
	next_takes_over("");
	take_over();
}

/* Another process that asks, and ends before it serves. */
static void ends_in_the_middle(const char *command, const char *magic)
{
	const size_t len = strlen(command);
	uint8_t head[24];
	int sock;

	sock = control_connect();
	assert_int_equal(write(sock, command, len), len);
	close(sock);
	stream_some();

	sock = control_connect();
	assert_int_equal(write(sock, command, len), len);
	assert_int_equal(recv(sock, head, sizeof(head), MSG_WAITALL), sizeof(head));
	assert_memory_equal(head, magic, 8);
	close(sock);
	stream_some();
	expect_control();
	stream_frame();
	take_over();
}

/* With all in a file, as version 0.1.0 asks, and with functions in a pipe. */
static void test_ends_in_the_middle(void **state)
{
	ends_in_the_middle("takeover\n", "VNRHAND1");
	ends_in_the_middle("takeover piped\n", "VNRHAND2");
}

/* Another one that does nothing does not keep the guests waiting for ever. */
static void test_does_nothing(void **state)
{
	int sock = control_connect();

	assert_int_equal(write(sock, "takeover\n", 9), 9);
	stream_some();
	close(sock);
	expect_control();
}

/* One line, which the process that asks sends to a daemon; returns the connection. */
static int hears(int listener, const char *line)
{
	const int sock = accept(listener, NULL, NULL);
	char text[64] = {};

	assert_true(sock >= 0);
	assert_true(recv(sock, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, line);
	return sock;
}

/* Version 0.1.0 says how much memory it has, and no more: it is not asked for a pipe. */
static void test_older_daemon(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = 20 };
	char *const more[] = { (char *)"--takeover", addr.sun_path, NULL };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), sock;
	pid_t pid;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.older", control);
	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 2), 0);
	pid = spawn(more);
	sock = hears(listener, "heap\n");
	assert_int_equal(write(sock, "ok\n5\n", 5), 5);
	close(sock);
	close(hears(listener, "takeover\n"));
	expect_ends(pid);
	close(listener);
	unlink(addr.sun_path);
}

/* Nobody is there who could hand over. */
static void test_no_daemon(void **state)
{
	char *const more[] = { (char *)"--takeover", (char *)"/nonexistent", NULL };

	expect_refused(more);
}

/* ------------------------------------------------------------------------- */
/* A service manager                                                         */
/* ------------------------------------------------------------------------- */

static int manager = -1;

static void manager_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = 20 };
	char name[64];

	snprintf(name, sizeof(name), "@test_takeover/%d", getpid());
	strcpy(addr.sun_path, name);
	addr.sun_path[0] = 0;
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(bind(manager, (struct sockaddr *)&addr,
			      offsetof(struct sockaddr_un, sun_path) + strlen(name)), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	setenv("FDSTORE", "1", 1);
}

static void manager_close(void)
{
	close(manager);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("FDSTORE");
}

/* The next message begins with @text; returns its descriptor, or -1. */
static int manager_hears(const char *text)
{
	union {
		struct cmsghdr cmsg;
		char buf[CMSG_SPACE(sizeof(int))];
	} room;
	char told[256] = {};
	struct iovec iov = { .iov_base = told, .iov_len = sizeof(told) - 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &room,
		.msg_controllen = sizeof(room),
	};
	int fd;

	assert_true(recvmsg(manager, &msg, MSG_CMSG_CLOEXEC) > 0);
	told[strlen(text)] = 0;
	assert_string_equal(told, text);
	if (!CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Ends the daemon; what it stored is in @pp. */
static void manager_ends(void)
{
	int status;

	kill(pp.pid, SIGTERM);
	pp.stored = manager_hears("FDSTORE=1\nFDNAME=guests\nFDPOLL=0");
	assert_int_equal(waitpid(pp.pid, NULL, WNOHANG), 0);
	close(manager_hears("BARRIER=1"));
	assert_int_equal(waitpid(pp.pid, &status, 0), pp.pid);
	assert_int_equal(status, 0);
}

static void test_service_is_restarted(void **state)
{
	char *const none[] = { NULL };
	unsigned int i;

	manager_hears("READY=1");
	for (i = 0; i < 3; i++) {
		stream_some();
		stream_again();
		manager_ends();
		pp_is(spawn(none));
		close(pp.stored);
		pp.stored = 0;
		manager_hears("FDSTOREREMOVE=1\nFDNAME=guests");
		manager_hears("READY=1");
		stream_some();
		print_message("a restart takes %.1f ms\n", stream.gap / 1e6);
		stream_frame();
		expect_control();
	}
}

/*
 * With other limits the guests lose their connections, and can come again; with another
 * address the daemon ends, and the next one begins anew.
 */
static void test_service_with_other_options(void **state)
{
	char *const mrs[] = { (char *)"--mrs", (char *)"77", NULL };
	char *const mac[] = { (char *)"--mac-base", (char *)"52:54:00:00:dd:01", NULL };
	int status, stored;

	manager_hears("READY=1");
	stream_some();
	manager_ends();
	pp_is(spawn(mrs));
	manager_hears("FDSTOREREMOVE=1");
	manager_hears("READY=1");
	stored = pp.stored;
	manager_ends();
	close(stored);
	assert_true(waitpid(spawn(mac), &status, 0) > 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status));
	manager_hears("FDSTOREREMOVE=1");
	pp_is(spawn(mac));
	stored = pp.stored;
	pp.stored = 0;
	manager_hears("FDSTOREREMOVE=1");
	manager_hears("READY=1");
	front_close(&pp.guest[0]);
	front_close(&pp.guest[1]);
	front_open(&pp.guest[0], pp.path[0], 1, FEATURES);
	front_open(&pp.guest[1], pp.path[1], 2, FEATURES);
	close(stored);
}

static char *options[8];

static int setup(void **state)
{
	snprintf(control, sizeof(control), "/tmp/takeover.%d", getpid());
	options[0] = (char *)"--control";
	options[1] = control;
	options[2] = *state;
	pp_start(options, FEATURES);
	stream_open();
	stream.control = control;
	return 0;
}

static int teardown(void **state)
{
	pp_stop();
	return 0;
}

static int service_setup(void **state)
{
	manager_open();
	return setup(state);
}

/* The daemon has left its names, which a service manager removes with their folder. */
static int service_teardown(void **state)
{
	unsigned int i;

	manager_ends();
	close(pp.stored);
	pp.stored = 0;
	manager_close();
	for (i = 0; i < PP_GUESTS; i++)
		unlink(pp.path[i]);
	unlink(control);
	pp_end();
	return 0;
}

int main(void)
{
	char packets[] = "--packets", keeper[] = "--keeper";
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_messages_go_on),
		cmocka_unit_test_prestate_setup_teardown(test_messages_go_on, setup, teardown,
							 packets),
		TEST(test_guests_come_and_go),
		TEST(test_other_options),
		TEST(test_next_version_and_back),
		TEST(test_no_way_back),
		TEST(test_ends_in_the_middle),
		TEST(test_does_nothing),
		TEST(test_older_daemon),
		TEST(test_no_daemon),
		cmocka_unit_test_setup_teardown(test_service_is_restarted, service_setup,
						service_teardown),
		cmocka_unit_test_prestate_setup_teardown(test_service_is_restarted, service_setup,
							 service_teardown, keeper),
		cmocka_unit_test_setup_teardown(test_service_with_other_options,
						service_setup, service_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
