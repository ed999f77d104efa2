// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The daemon as a process: options, sockets, signals.  $DAEMON is its path;
 * vhost-user-roce-ctl is found at that path with "-ctl" added.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ARGS_MAX	16

static char dir[] = "/tmp/test_main.XXXXXX";
static char sock[2][64];

/**
 * struct process - a daemon that was started
 * @pid:	its process
 * @fd:		what it writes to standard output and error
 * @text:	all of that, after process_end()
 * @status:	how it ended, after process_end()
 */
struct process {
	pid_t pid;
	int fd;
	char text[8192];
	int status;
};

static struct process program_start(const char *program,
				    const char *const *args)
{
	struct process p = { 0 };
	char *argv[ARGS_MAX + 2] = { (char *)program };
	unsigned int i;
	int pipefd[2];

	assert_non_null(argv[0]);
	for (i = 0; args[i]; i++) {
		assert_true(i < ARGS_MAX);
		argv[i + 1] = (char *)args[i];
	}
	assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
	p.fd = pipefd[0];
	p.pid = fork();
	if (!p.pid) {
		alarm(60);
		dup2(pipefd[1], 1);
		dup2(pipefd[1], 2);
		execv(argv[0], argv);
		_exit(127);
	}
	close(pipefd[1]);
	return p;
}

static struct process process_start(const char *const *args)
{
	return program_start(getenv("DAEMON"), args);
}

static void process_end(struct process *p)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(p->fd, p->text + len,
			 sizeof(p->text) - 1 - len)) > 0)
		len += n;
	p->text[len] = 0;
	close(p->fd);
	assert_int_equal(waitpid(p->pid, &p->status, 0), p->pid);
	assert_true(WIFEXITED(p->status));
	p->status = WEXITSTATUS(p->status);
}

static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

/* Connects as soon as the daemon listens. */
static int connect_wait(const char *path)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	int fd, i;

	for (i = 0; i < 12000; i++) {
		fd = connect_to(path);
		if (fd >= 0)
			return fd;
		nanosleep(&pause, NULL);
	}
	return -1;
}

static void expect_error(const char *const *args, const char *what)
{
	struct process p = process_start(args);
	char *newline;

	process_end(&p);
	if (p.status != EXIT_FAILURE || !strstr(p.text, what))
		print_error("status %d, text \"%s\", expected \"%s\"\n",
			    p.status, p.text, what);
	assert_int_equal(p.status, EXIT_FAILURE);
	assert_non_null(strstr(p.text, what));
	/* One line, no more. */
	newline = strchr(p.text, '\n');
	assert_non_null(newline);
	assert_int_equal(newline[1], 0);
	assert_int_equal(access(sock[0], F_OK), -1);
}

#define EXPECT_ERROR(what, ...) \
	expect_error((const char *const []){ __VA_ARGS__, NULL }, what)

static int setup(void **state)
{
	unsigned int i;

	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	for (i = 0; i < 2; i++)
		snprintf(sock[i], sizeof(sock[i]), "%s/%u", dir, i);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static void test_bad_options(void **state)
{
	EXPECT_ERROR("--socket", "--qps", "8");
	EXPECT_ERROR("--bogus", "--socket", sock[0], "--bogus");
	EXPECT_ERROR("value missing", "--socket");
	EXPECT_ERROR("--qps", "--socket", sock[0], "--qps", "1");
	EXPECT_ERROR("--qps", "--socket", sock[0], "--qps", "16385");
	EXPECT_ERROR("--qps", "--socket", sock[0], "--qps", "8x");
	EXPECT_ERROR("--qps", "--socket", sock[0], "--qps", "-8");
	EXPECT_ERROR("--qps", "--socket", sock[0], "--qps", "");
	EXPECT_ERROR("--cqs", "--socket", sock[0], "--cqs", "0");
	EXPECT_ERROR("--cqs", "--socket", sock[0], "--cqs",
		     "99999999999999999999999");
	EXPECT_ERROR("--cqe", "--socket", sock[0], "--cqe", "1023");
	EXPECT_ERROR("--cqe", "--socket", sock[0], "--cqe", "1048577");
	EXPECT_ERROR("--mtu", "--socket", sock[0], "--mtu", "67");
	EXPECT_ERROR("--speed", "--socket", sock[0], "--speed", "2147484");
	EXPECT_ERROR("power of two", "--socket", sock[0], "--queue-size",
		     "1000");
	EXPECT_ERROR("--mac-base", "--socket", sock[0], "--mac-base",
		     "52:54:00:00:ce");
	EXPECT_ERROR("--mac-base", "--socket", sock[0], "--mac-base",
		     "53:54:00:00:ce:01");
	EXPECT_ERROR("virtqueues", "--socket", sock[0], "--qps", "510");
	EXPECT_ERROR("unexpected", "--socket", sock[0], "file");
	EXPECT_ERROR("no known kind", "--socket", sock[0], "--uplink", "x:y");
	EXPECT_ERROR("no known kind", "--socket", sock[0], "--uplink", "unix");
	EXPECT_ERROR("--loss", "--loss", "2", "--socket", sock[0]);
	EXPECT_ERROR("--corrupt", "--socket", sock[0], "--corrupt", "x");
	EXPECT_ERROR("--seed", "--socket", sock[0], "--seed", "-1");
}

static void test_bad_files(void **state)
{
	EXPECT_ERROR("No such file", "--socket", "/nonexistent/socket");
	EXPECT_ERROR("File exists", "--socket", "/proc/self/exe");
	EXPECT_ERROR("Is a directory", "--socket", sock[0], "--pcap", dir);
	EXPECT_ERROR("--control", "--socket", sock[0], "--control",
		     "/nonexistent/socket");
	EXPECT_ERROR("in use", "--socket", sock[0], "--socket", sock[0]);
	EXPECT_ERROR("File exists", "--socket", sock[0],
		     "--uplink", "unix:/proc/self/exe");
	EXPECT_ERROR("Is a directory", "--pcap", dir, "--socket", sock[0]);
}

static void test_help_and_version(void **state)
{
	struct process p;

	p = process_start((const char *const []){ "--help", NULL });
	process_end(&p);
	assert_int_equal(p.status, 0);
	assert_non_null(strstr(p.text, "--poll-us"));
	p = process_start((const char *const []){ "--version", NULL });
	process_end(&p);
	assert_int_equal(p.status, 0);
	assert_memory_equal(p.text, "vhost-user-roce ", 16);
}

/* Two sockets are served; afterwards both are removed and nothing has leaked. */
static void ends_by(int sig)
{
	const char *const args[] = {
		"--socket", sock[0], "--socket", sock[1], "--poll-us", "0",
		"--qps", "8", "--cqs", "8", "--mrs", "16", NULL,
	};
	struct process p = process_start(args);
	int a = connect_wait(sock[0]), b = connect_wait(sock[1]);

	assert_true(a >= 0);
	assert_true(b >= 0);
	kill(p.pid, sig);
	process_end(&p);
	assert_int_equal(p.status, 0);
	assert_non_null(strstr(p.text, "num_vqs"));
	assert_int_equal(access(sock[0], F_OK), -1);
	assert_int_equal(access(sock[1], F_OK), -1);
	close(a);
	close(b);
}

static void test_sigterm(void **state)
{
	ends_by(SIGTERM);
}

static void test_sigint(void **state)
{
	ends_by(SIGINT);
}

/* A daemon that was killed leaves its socket; the next one takes it. */
static void test_after_sigkill(void **state)
{
	const char *const args[] = { "--socket", sock[0], NULL };
	struct process p = process_start(args), q;
	int fd = connect_wait(sock[0]);

	assert_true(fd >= 0);
	close(fd);
	/* While it runs, no other daemon gets its socket. */
	q = process_start(args);
	process_end(&q);
	assert_int_equal(q.status, EXIT_FAILURE);
	assert_non_null(strstr(q.text, "in use"));

	kill(p.pid, SIGKILL);
	assert_int_equal(waitpid(p.pid, NULL, 0), p.pid);
	close(p.fd);
	assert_int_equal(access(sock[0], F_OK), 0);

	p = process_start(args);
	fd = connect_wait(sock[0]);
	assert_true(fd >= 0);
	close(fd);
	kill(p.pid, SIGTERM);
	process_end(&p);
	assert_int_equal(p.status, 0);
}

/* Garbage on one socket does not affect the other. */
static void test_garbage(void **state)
{
	const char *const args[] = {
		"--socket", sock[0], "--socket", sock[1], NULL,
	};
	struct {
		uint32_t request;
		uint32_t flags;
		uint32_t size;
	} hdr = { .request = 1, .flags = 1 };
	struct process p = process_start(args);
	int good = connect_wait(sock[1]), bad, i;
	uint8_t noise[4096];
	uint64_t features;

	srand(7);
	assert_true(good >= 0);
	for (i = 0; i < 200; i++) {
		size_t len = 1 + rand() % sizeof(noise), j;

		for (j = 0; j < len; j++)
			noise[j] = rand();
		/* Half of them get past the header. */
		if (i % 2 && len >= 12) {
			memset(noise, 0, 12);
			noise[0] = rand() % 48;
			noise[4] = 1 | (rand() & 8);
			noise[8] = rand() % 64;
		}
		bad = connect_wait(sock[0]);
		assert_true(bad >= 0);
		/* The daemon may have closed the connection before all was sent. */
		send(bad, noise, len, MSG_NOSIGNAL);
		close(bad);
	}
	assert_int_equal(send(good, &hdr, sizeof(hdr), 0), sizeof(hdr));
	assert_int_equal(recv(good, &hdr, sizeof(hdr), MSG_WAITALL),
			 sizeof(hdr));
	assert_int_equal(hdr.request, 1);
	assert_int_equal(hdr.size, 8);
	assert_int_equal(recv(good, &features, 8, MSG_WAITALL), 8);
	assert_true(features >> 55 & 1);
	close(good);
	kill(p.pid, SIGTERM);
	process_end(&p);
	assert_int_equal(p.status, 0);
}

/* Runs vhost-user-roce-ctl to its end. */
static struct process ctl(const char *const *args)
{
	struct process p;
	char program[256];

	snprintf(program, sizeof(program), "%s-ctl", getenv("DAEMON"));
	p = program_start(program, args);
	process_end(&p);
	return p;
}

#define CTL(...) ctl((const char *const []){ __VA_ARGS__, NULL })

static void test_ctl(void **state)
{
	char control[64];
	const char *const args[] = {
		"--socket", sock[0], "--control", control, NULL,
	};
	struct process p, q;

	snprintf(control, sizeof(control), "%s/control", dir);
	p = process_start(args);
	close(connect_wait(control));

	q = CTL(control, "ports");
	assert_int_equal(q.status, 0);
	assert_string_equal(q.text, "0\tguest\tabsent\n");
	q = CTL(control, "stats", "--json");
	assert_int_equal(q.status, 0);
	assert_ptr_equal(strstr(q.text, "{\n  \"0\": {\n    \"kind\": \"guest\","),
			 q.text);
	q = CTL(control, "cut", "0", "on");
	assert_int_equal(q.status, 0);
	assert_string_equal(q.text, "");
	q = CTL(control, "cut", "1", "on");
	assert_int_equal(q.status, EXIT_FAILURE);
	assert_string_equal(q.text, "vhost-user-roce-ctl: no such port\n");
	assert_int_equal(CTL(control).status, EXIT_FAILURE);
	assert_int_equal(CTL(sock[1], "ports").status, EXIT_FAILURE);

	kill(p.pid, SIGTERM);
	process_end(&p);
	assert_int_equal(p.status, 0);
	assert_int_equal(access(control, F_OK), -1);
}

/* A daemon that began with nothing, which the sanitizers look at. */
static void test_ctl_changes(void **state)
{
	char control[64], pinned[128], uplink[80];
	const char *const args[] = { "--control", control, NULL };
	struct process p, q;
	int fd;
	char c;

	snprintf(control, sizeof(control), "%s/control", dir);
	snprintf(pinned, sizeof(pinned), "%s,mac=02:00:00:00:00:07", sock[1]);
	snprintf(uplink, sizeof(uplink), "unix:%s/up", dir);
	p = process_start(args);
	close(connect_wait(control));

	assert_int_equal(CTL(control, "guest", "add", sock[0]).status, 0);
	assert_int_equal(CTL(control, "guest", "add", pinned).status, 0);
	assert_int_equal(CTL(control, "uplink", "add", uplink).status, 0);
	q = CTL(control, "guest", "list");
	assert_int_equal(q.status, 0);
	assert_non_null(strstr(q.text, "\t52:54:00:00:ce:01\tabsent\n1\t"));
	assert_non_null(strstr(q.text, "\t02:00:00:00:00:07\tabsent\n"));
	q = CTL(control, "guest", "add", sock[0]);
	assert_int_equal(q.status, EXIT_FAILURE);
	assert_non_null(strstr(q.text, ": cannot listen: Address already in use\n"));
	assert_int_equal(access(sock[0], F_OK), 0);

	fd = connect_to(sock[0]);
	assert_true(fd >= 0);
	assert_int_equal(CTL(control, "guest", "remove", "0").status, 0);
	assert_int_equal(recv(fd, &c, 1, 0), 0);
	close(fd);
	assert_int_equal(access(sock[0], F_OK), -1);
	q = CTL(control, "guest", "remove", "0");
	assert_int_equal(q.status, EXIT_FAILURE);
	assert_string_equal(q.text, "vhost-user-roce-ctl: no such guest: 0\n");
	assert_int_equal(CTL(control, "guest", "add", sock[0]).status, 0);
	assert_int_equal(CTL(control, "uplink", "remove", uplink).status, 0);
	assert_int_equal(access(uplink + 5, F_OK), -1);

	kill(p.pid, SIGTERM);
	process_end(&p);
	assert_int_equal(p.status, 0);
	assert_int_equal(access(sock[0], F_OK), -1);
	assert_int_equal(access(sock[1], F_OK), -1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bad_options),
		TEST(test_bad_files),
		TEST(test_help_and_version),
		TEST(test_sigterm),
		TEST(test_sigint),
		TEST(test_after_sigkill),
		TEST(test_garbage),
		TEST(test_ctl),
		TEST(test_ctl_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
