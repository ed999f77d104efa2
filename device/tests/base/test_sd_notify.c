// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages to a service manager.  $SANDBOXED is the path of a daemon with a sandbox, which
 * has to tell from inside of it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sd_notify.h"

static char dir[] = "/tmp/test_sd_notify.XXXXXX";
static char path[sizeof(dir) + 16];
static char guest[sizeof(dir) + 16];
static int manager;

/* A service manager's socket, which is named without a file if @name begins with '@'. */
static void listen_at(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = 20 };

	strcpy(addr.sun_path, name);
	if (*name == '@')
		addr.sun_path[0] = 0;
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(manager >= 0);
	setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(bind(manager, (struct sockaddr *)&addr,
			      offsetof(struct sockaddr_un, sun_path) + strlen(name)),
			 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
}

static void assert_told(const char *text)
{
	char told[128];
	ssize_t n = recv(manager, told, sizeof(told) - 1, 0);

	assert_true(n > 0);
	told[n] = 0;
	assert_string_equal(told, text);
}

static int setup(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/manager", dir);
	snprintf(guest, sizeof(guest), "%s/guest", dir);
	manager = -1;
	return 0;
}

static int teardown(void **state)
{
	unsetenv("NOTIFY_SOCKET");
	close(manager);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static void tell(void)
{
	const int fd = sd_notify_open();

	sd_notify_tell(fd, "ready");
	close(fd);
}

static void test_file(void **state)
{
	listen_at(path);
	tell();
	assert_told("READY=1\nSTATUS=ready");
}

static void test_abstract(void **state)
{
	char name[64];

	snprintf(name, sizeof(name), "@test_sd_notify/%d", getpid());
	listen_at(name);
	tell();
	assert_told("READY=1\nSTATUS=ready");
}

static void test_nobody_waits(void **state)
{
	char longer[200];

	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(sd_notify_open(), -1);
	sd_notify_tell(-1, "ready");

	setenv("NOTIFY_SOCKET", path, 1);
	assert_int_equal(sd_notify_open(), -1);

	memset(longer, '/', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	setenv("NOTIFY_SOCKET", longer, 1);
	assert_int_equal(sd_notify_open(), -1);
}

static void test_daemon(void **state)
{
	const char *program = getenv("SANDBOXED");
	int status;
	pid_t pid;

	assert_non_null(program);
	listen_at(path);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		execl(program, program, "--socket", guest, "--qps", "4", "--cqs", "5",
		      "--event-queues", "2", "--doorbell-queues", "1", NULL);
		_exit(127);
	}
	assert_told("READY=1\nSTATUS=1 guest(s), 19 virtqueues each (num_vqs)");
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_abstract, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nobody_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_daemon, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
