// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The sandbox: what a process in it can do, and what it cannot.  $SANDBOXED is the path
 * of a daemon with a sandbox, which the daemon with sanitizers does not have.
 */

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>


#include <cmocka.h>

#include "base/log.h"
#include "base/uds.h"
#include "base/util.h"
#include "sandbox.h"

static char dir[] = "/tmp/test_sandbox.XXXXXX";
static char sock[4][64];

static int setup(void **state)
{
	unsigned int i;

	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	for (i = 0; i < ARRAY_SIZE(sock); i++)
		snprintf(sock[i], sizeof(sock[i]), "%s/%u", dir, i);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

/* ------------------------------------------------------------------------- */
/* A process                                                                 */
/* ------------------------------------------------------------------------- */

static const struct sandbox_needs plain = {
	.socket = { sock[0] },
	.sockets = 1,
};

/* A sanitizer's _exit() makes system calls that are not allowed. */
static void leave(int status)
{
	syscall(SYS_exit_group, status);
}

/* Runs @fn in a sandbox; returns how the process ended, as waitpid() does. */
static int in_sandbox(const struct sandbox_needs *needs, uid_t uid,
		      int (*fn)(void))
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		log_set_level(LOG_LEVEL_ERROR);
		alarm(20);
		if (uid && setresuid(uid, uid, uid))
			_exit(100);
		if (sandbox_enter(needs))
			_exit(101);
		leave(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Number of the first thing that was not as expected, or 0. */
static int wrong;

static void expect(int n, bool ok)
{
	if (!ok && !wrong)
		wrong = n;
}

static int refused(void)
{
	const struct timespec none = { 0 };

	expect(1, open("/etc/passwd", O_RDONLY) < 0 && errno == EPERM);
	expect(2, socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
	expect(3, socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
	expect(4, socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
	expect(5, fork() < 0 && errno == EPERM);
	expect(6, kill(getppid(), SIGTERM) && errno == EPERM);
	expect(7, mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
	       errno == EPERM);
	expect(8, unshare(CLONE_NEWUSER) && errno == EPERM);
	expect(9, memfd_create("x", 0) < 0 && errno == EPERM);
	expect(10, clock_nanosleep(CLOCK_REALTIME, 0, &none, NULL) == EPERM);
	expect(11, chroot("/") && errno == EPERM);
	return wrong;
}

static int still_works(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	uint8_t *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;

	expect(1, p != MAP_FAILED);
	p[0] = 1;
	expect(2, !munmap(p, 1 << 20));
	expect(3, !unlink(sock[0]));
	expect(4, unlink("/etc/passwd") && errno == ENOENT);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	expect(5, fd >= 0);
	strcpy(addr.sun_path, sock[1]);
	expect(6, !connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	expect(7, socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
	return wrong;
}

static int starts_a_program(void)
{
	char name[] = "true", *const argv[] = { name, NULL };

	execv("/bin/true", argv);
	return 1;
}

static void test_refused(void **state)
{
	assert_int_equal(in_sandbox(&plain, 0, refused), 0);
}

static void test_program(void **state)
{
	int status = in_sandbox(&plain, 0, starts_a_program);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

/* Two names of one directory, and one whose directory does not exist. */
static void test_needed(void **state)
{
	const struct sandbox_needs needs = {
		.socket = { sock[0], sock[1], "/nonexistent/a/socket" },
		.sockets = 3,
		.connects = true,
	};
	int fd[2], i;

	for (i = 0; i < 2; i++) {
		fd[i] = uds_listen(sock[i], 1);
		assert_true(fd[i] >= 0);
	}
	assert_int_equal(in_sandbox(&needs, 0, still_works), 0);
	assert_int_equal(access(sock[0], F_OK), -1);
	assert_int_equal(unlink(sock[1]), 0);
	close(fd[0]);
	close(fd[1]);
}

/* A directory for which the process has no rights anyway. */
static void test_unprivileged(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(in_sandbox(&plain, 65534, refused), 0);
}

/* ------------------------------------------------------------------------- */
/* The daemon                                                                */
/* ------------------------------------------------------------------------- */

static pid_t daemon_start_as(uid_t uid, const char *const *args, int *fd)
{
	const char *argv[20] = { getenv("SANDBOXED") };
	unsigned int i;
	int pipefd[2], program;
	pid_t pid;

	assert_non_null(argv[0]);
	/* That user may not be able to go where the program is. */
	program = open(argv[0], O_RDONLY | O_CLOEXEC);
	assert_true(program >= 0);
	for (i = 0; args[i]; i++)
		argv[i + 1] = args[i];
	assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		alarm(60);
		dup2(pipefd[1], 2);
		if (!uid || (!setresgid(uid, uid, uid) && !setresuid(uid, uid, uid)))
			fexecve(program, (char *const *)argv, environ);
		_exit(127);
	}
	close(program);
	close(pipefd[1]);
	*fd = pipefd[0];
	return pid;
}

static pid_t daemon_start(const char *const *args, int *fd)
{
	return daemon_start_as(0, args, fd);
}

static void wait_for(const char *path)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	int fd, i;

	for (i = 0; i < 12000; i++) {
		fd = uds_connect(path);
		if (fd >= 0) {
			close(fd);
			return;
		}
		nanosleep(&pause, NULL);
	}
	fail();
}

/* Reads messages of the daemon until one has @what. */
static void expect_message(int fd, const char *what, char *text, size_t size)
{
	size_t len = strlen(text);
	ssize_t n;

	while (!strstr(text, what)) {
		n = read(fd, text + len, size - 1 - len);
		if (n <= 0)
			print_error("no \"%s\" in \"%s\"\n", what, text);
		assert_true(n > 0);
		len += n;
		text[len] = 0;
	}
}

static void status_of(pid_t pid, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY);
	n = read(fd, text, size - 1);
	assert_true(n > 0);
	text[n] = 0;
	close(fd);
}

static bool same_namespace(pid_t pid, const char *name)
{
	char path[64], mine[64] = "", its[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	assert_true(readlink(path, its, sizeof(its) - 1) > 0);
	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	assert_true(readlink(path, mine, sizeof(mine) - 1) > 0);
	return !strcmp(mine, its);
}

static void expect_end(pid_t pid, int fd)
{
	int status;

	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fd);
}

/* The kernel shows the sandbox; guests connect and leave; sockets are removed. */
static void test_daemon(void **state)
{
	char text[8192] = "", status[4096], pcap[80], uplink[80];
	const char *const args[] = {
		"--socket", sock[0], "--control", sock[1], "--uplink", uplink,
		"--pcap", pcap, NULL,
	};
	int fd, i;
	pid_t pid;

	snprintf(uplink, sizeof(uplink), "unix:%s", sock[2]);
	snprintf(pcap, sizeof(pcap), "%s/pcap", dir);
	pid = daemon_start(args, &fd);
	expect_message(fd, "num_vqs", text, sizeof(text));
	assert_non_null(strstr(text, "sandbox: seccomp, no_new_privs, no capabilities, "));
	status_of(pid, status, sizeof(status));
	assert_non_null(strstr(status, "\nSeccomp:\t2\n"));
	assert_non_null(strstr(status, "\nNoNewPrivs:\t1\n"));
	assert_non_null(strstr(status, "\nCapEff:\t0000000000000000\n"));
	assert_non_null(strstr(status, "\nCapPrm:\t0000000000000000\n"));
	if (strstr(text, "own mount")) {
		assert_non_null(strstr(status, "\nCapBnd:\t0000000000000000\n"));
		assert_false(same_namespace(pid, "mnt"));
		assert_false(same_namespace(pid, "net"));
		assert_false(same_namespace(pid, "ipc"));
	}
	for (i = 0; i < 3; i++) {
		wait_for(sock[0]);
		expect_message(fd, "disconnected", text, sizeof(text));
		strcpy(text, "");
		wait_for(sock[1]);
		wait_for(sock[2]);
	}
	expect_end(pid, fd);
	for (i = 0; i < 3; i++)
		assert_int_equal(access(sock[i], F_OK), -1);
	assert_int_equal(unlink(pcap), 0);
}

/* A daemon connects to another one that starts late, and again when it restarts. */
static void test_reconnect(void **state)
{
	char text[8192] = "", uplink[80], listen[80];
	const char *const args[] = { "--uplink", uplink, NULL };
	const char *const other[] = { "--uplink", listen, NULL };
	pid_t pid, peer;
	int fd, peer_fd, i;

	snprintf(uplink, sizeof(uplink), "connect:%s", sock[0]);
	snprintf(listen, sizeof(listen), "unix:%s", sock[0]);
	pid = daemon_start(args, &fd);
	expect_message(fd, "num_vqs", text, sizeof(text));
	for (i = 0; i < 2; i++) {
		strcpy(text, "");
		peer = daemon_start(other, &peer_fd);
		expect_message(fd, "peer connected", text, sizeof(text));
		expect_end(peer, peer_fd);
	}
	expect_end(pid, fd);
}

static void interface_up(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(ifr.ifr_name, name);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &ifr), 0);
	close(fd);
}

/* A counter of a port, as the control socket has it. */
static uint64_t counter(const char *control, const char *port, const char *name)
{
	static char text[16384];
	char key[80], *line;
	size_t len = 0;
	ssize_t n;
	int fd = uds_connect(control);

	assert_true(fd >= 0);
	fcntl(fd, F_SETFL, 0);
	assert_int_equal(send(fd, "stats\n", 6, 0), 6);
	while ((n = recv(fd, text + len, sizeof(text) - 1 - len, 0)) > 0)
		len += n;
	close(fd);
	text[len] = 0;
	snprintf(key, sizeof(key), "%s\tuplink\t%s\t", port, name);
	line = strstr(text, key);
	assert_non_null(line);
	return strtoull(line + strlen(key), NULL, 10);
}

/*
 * A tap, which is in the process's network namespace, and a packet socket: what the host
 * sends to one leaves by the other.
 */
static void test_interfaces(void **state)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const char *const args[] = {
		"--control", sock[0], "--uplink", "tap:box0",
		"--uplink", "packet:lo", NULL,
	};
	char text[8192] = "";
	int fd, i;
	pid_t pid;

	if (geteuid() || access("/dev/net/tun", R_OK) || unshare(CLONE_NEWNET))
		skip();
	interface_up("lo");
	pid = daemon_start(args, &fd);
	expect_message(fd, "num_vqs", text, sizeof(text));
	assert_non_null(strstr(text, "sandbox: seccomp"));
	assert_true(same_namespace(pid, "net"));
	/* IPv6 sends packets on a new interface. */
	interface_up("box0");
	for (i = 0; i < 1000 && (!counter(sock[0], "tap:box0", "port_in") ||
				 !counter(sock[0], "packet:lo", "port_out")); i++)
		nanosleep(&pause, NULL);
	assert_true(counter(sock[0], "tap:box0", "port_in"));
	assert_true(counter(sock[0], "packet:lo", "port_out"));
	assert_int_equal(counter(sock[0], "packet:lo", "tx_dropped"), 0);
	expect_end(pid, fd);
}

/* Runs vhost-user-roce-ctl; returns its exit status. */
static int ctl(const char *control, const char *kind, const char *verb, const char *name)
{
	char program[256];
	int status;
	pid_t pid;

	snprintf(program, sizeof(program), "%s-ctl", getenv("SANDBOXED"));
	pid = fork();
	if (!pid) {
		alarm(60);
		execl(program, program, control, kind, verb, name, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define NOBODY	65534

/*
 * Root adds guests to the daemon of another user: their sockets are that user's, with the
 * rights that its umask gives, also in a directory that the daemon does not see.
 */
static void test_guests_added(void **state)
{
	char text[8192] = "", other[] = "/tmp/test_sandbox.XXXXXX", there[64];
	const char *const args[] = { "--control", sock[0], NULL };
	const char *const path[] = { sock[1], there };
	struct stat st;
	unsigned int i;
	mode_t mask;
	pid_t pid;
	int fd;

	if (geteuid())
		skip();
	assert_non_null(mkdtemp(other));
	snprintf(there, sizeof(there), "%s/s", other);
	assert_int_equal(chown(dir, NOBODY, NOBODY), 0);
	mask = umask(07);
	pid = daemon_start_as(NOBODY, args, &fd);
	umask(mask);
	expect_message(fd, "num_vqs", text, sizeof(text));
	assert_non_null(strstr(text, "sandbox: seccomp"));

	assert_int_equal(ctl(sock[0], "guest", "add", there), EXIT_FAILURE);
	assert_int_equal(access(there, F_OK), -1);
	assert_int_equal(chown(other, NOBODY, NOBODY), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(ctl(sock[0], "guest", "add", path[i]), 0);
		assert_int_equal(stat(path[i], &st), 0);
		assert_int_equal(st.st_uid, NOBODY);
		assert_int_equal(st.st_gid, NOBODY);
		assert_int_equal(st.st_mode & 07777, 0770);
		strcpy(text, "");
		wait_for(path[i]);
		expect_message(fd, "disconnected", text, sizeof(text));
		assert_int_equal(ctl(sock[0], "guest", "add", path[i]), EXIT_FAILURE);
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(ctl(sock[0], "guest", "remove", path[i]), 0);
		assert_int_equal(access(path[i], F_OK), -1);
		assert_int_equal(ctl(sock[0], "guest", "remove", path[i]), EXIT_FAILURE);
	}
	/* Its end removes what it sees. */
	assert_int_equal(ctl(sock[0], "guest", "add", sock[1]), 0);
	expect_end(pid, fd);
	assert_int_equal(access(sock[1], F_OK), -1);
	assert_int_equal(rmdir(other), 0);
}

/* As test_interfaces(), but added to a daemon that has a network namespace of its own. */
static void test_interfaces_added(void **state)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const char *const args[] = { "--control", sock[0], NULL };
	char text[8192] = "";
	int fd, i;
	pid_t pid;

	if (geteuid() || access("/dev/net/tun", R_OK) || unshare(CLONE_NEWNET))
		skip();
	interface_up("lo");
	pid = daemon_start(args, &fd);
	expect_message(fd, "num_vqs", text, sizeof(text));
	assert_int_equal(ctl(sock[0], "uplink", "add", "tap:box1"), 0);
	assert_int_equal(ctl(sock[0], "uplink", "add", "packet:lo"), 0);
	assert_int_equal(ctl(sock[0], "uplink", "add", "tap:box1"), EXIT_FAILURE);
	assert_int_equal(ctl(sock[0], "uplink", "add", "packet:none"), EXIT_FAILURE);
	interface_up("box1");
	for (i = 0; i < 1000 && (!counter(sock[0], "tap:box1", "port_in") ||
				 !counter(sock[0], "packet:lo", "port_out")); i++)
		nanosleep(&pause, NULL);
	assert_true(counter(sock[0], "tap:box1", "port_in"));
	assert_true(counter(sock[0], "packet:lo", "port_out"));
	assert_int_equal(counter(sock[0], "packet:lo", "tx_dropped"), 0);
	assert_int_equal(ctl(sock[0], "uplink", "remove", "packet:lo"), 0);
	assert_int_equal(ctl(sock[0], "uplink", "remove", "tap:box1"), 0);
	assert_int_equal(if_nametoindex("box1"), 0);
	expect_end(pid, fd);
}

static void test_no_sandbox(void **state)
{
	const char *const args[] = { "--socket", sock[0], "--no-sandbox", NULL };
	char text[8192] = "", status[4096];
	int fd;
	pid_t pid = daemon_start(args, &fd);

	expect_message(fd, "num_vqs", text, sizeof(text));
	assert_non_null(strstr(text, "sandbox: none (--no-sandbox)"));
	status_of(pid, status, sizeof(status));
	assert_non_null(strstr(status, "\nSeccomp:\t0\n"));
	expect_end(pid, fd);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_refused),
		TEST(test_program),
		TEST(test_needed),
		TEST(test_unprivileged),
		TEST(test_daemon),
		TEST(test_reconnect),
		TEST(test_interfaces),
		TEST(test_guests_added),
		TEST(test_interfaces_added),
		TEST(test_no_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
