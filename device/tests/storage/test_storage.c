// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unit tests: namespaces of files, staging memory, and the storage process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "sandbox.h"
#include "storage/staging.h"
#include "storage/storage.h"
#include "tests/lib/idle.h"

#define POOL		(4u << 20)
#define FILE_SIZE	(8u << 20)

/**
 * struct world - all
 * @dir:	folder for files
 * @path:	a file there, of %FILE_SIZE bytes
 * @loop:	event loop
 * @staging:	staging memory
 * @storage:	namespaces
 * @ns:		of the file
 * @left:	requests that are not done
 * @err:	error of the last one that is
 * @deaths:	of processes, for has_died()
 */
struct world {
	char dir[32];
	char path[64];
	struct loop *loop;
	struct staging *staging;
	struct storage *storage;
	struct ns *ns;
	unsigned int left;
	int err;
	uint64_t deaths;
};

static struct world *current;

static void make_file(const char *path, off_t size)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

static void add(struct world *w, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_int_equal(storage_add(w->storage, text), 0);
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/test_storage.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/disk", w->dir);
	make_file(w->path, FILE_SIZE);
	w->loop = loop_new(0);
	w->staging = staging_new(POOL);
	assert_non_null(w->staging);
	w->storage = storage_new(w->staging);
	current = w;
	return w;
}

static void world_start(struct world *w)
{
	assert_int_equal(storage_start(w->storage, NULL), 0);
	assert_int_equal(storage_attach(w->storage, w->loop), 0);
	w->ns = storage_find(w->storage, "disk");
}

static void world_free(struct world *w)
{
	storage_free(w->storage);
	staging_free(w->staging);
	loop_free(w->loop);
	unlink(w->path);
	assert_int_equal(rmdir(w->dir), 0);
	free(w);
}

static struct world *with_file(const char *more)
{
	struct world *w = world_new();

	add(w, "disk=file:%s%s", w->path, more);
	world_start(w);
	return w;
}

static void done(struct ns_io *io, int err)
{
	current->left--;
	current->err = err;
}

static bool is_done(void *arg)
{
	const struct world *w = arg;

	return !w->left;
}

static void submit(struct world *w, struct ns_io *io, enum ns_op op, void *buf, uint64_t offset,
		   uint64_t len)
{
	io->op = op;
	io->buf = buf;
	io->offset = offset;
	io->len = len;
	io->done = done;
	w->left++;
	ns_submit(w->ns, io);
}

static int finish(struct world *w)
{
	assert_true(run_until(w->loop, is_done, w));
	return w->err;
}

static int run(struct world *w, enum ns_op op, void *buf, uint64_t offset, uint64_t len)
{
	struct ns_io io = { .lasting = op == NS_WRITE };

	submit(w, &io, op, buf, offset, len);
	return finish(w);
}

static void fill(uint8_t *p, uint32_t len, unsigned int seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = seed + i * 11 + i / 509;
}

static bool is_zero(const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

static void a_file_is_read_back(void **state)
{
	struct world *w = with_file("");
	uint8_t *out = staging_alloc(w->staging, 1 << 20);
	uint8_t *in = staging_alloc(w->staging, 1 << 20);
	uint8_t *file = malloc(1 << 20);
	int fd;

	assert_int_equal(w->ns->size, FILE_SIZE);
	assert_true(w->ns->cache);
	fill(out, 1 << 20, 1);
	assert_int_equal(run(w, NS_WRITE, out, 3 << 20, 1 << 20), 0);
	assert_int_equal(run(w, NS_FLUSH, NULL, 0, 0), 0);
	memset(in, 0xee, 1 << 20);
	assert_int_equal(run(w, NS_READ, in, 3 << 20, 1 << 20), 0);
	assert_memory_equal(in, out, 1 << 20);
	assert_int_equal(run(w, NS_READ, in, (3 << 20) - 4096, 8192), 0);
	assert_true(is_zero(in, 4096));
	assert_memory_equal(in + 4096, out, 4096);
	/* The file has it, too. */
	fd = open(w->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, file, 1 << 20, 3 << 20), 1 << 20);
	assert_memory_equal(file, out, 1 << 20);
	close(fd);
	free(file);
	world_free(w);
}

static void many_requests_are_under_way(void **state)
{
	struct world *w = with_file("");
	static struct ns_io io[3000];
	uint8_t *buf = staging_alloc(w->staging, 1 << 20);
	uint8_t *back = staging_alloc(w->staging, 8192);
	unsigned int i;

	fill(buf, 1 << 20, 5);
	for (i = 0; i < ARRAY_SIZE(io); i++)
		submit(w, &io[i], NS_WRITE, buf + i % 256 * 4096, i % 2048 * 4096ULL, 4096);
	assert_int_equal(finish(w), 0);
	/* Many of them with one system call: not one for each. */
	assert_true(storage_counters(w->storage)->wakes < ARRAY_SIZE(io));
	assert_int_equal(storage_counters(w->storage)->requests, ARRAY_SIZE(io));
	assert_int_equal(run(w, NS_READ, back, 254 * 4096, 8192), 0);
	assert_memory_equal(back, buf + 254 * 4096, 8192);
	world_free(w);
}

static void zeroes_and_holes_read_as_zeroes(void **state)
{
	struct world *w = with_file("");
	uint8_t *buf = staging_alloc(w->staging, 1 << 20);
	struct stat before, after;
	struct ns_io io = { .keep = true, .lasting = true };

	fill(buf, 1 << 20, 1);
	assert_int_equal(run(w, NS_WRITE, buf, 0, 1 << 20), 0);
	stat(w->path, &before);
	submit(w, &io, NS_ZERO, NULL, 4096, 8192);
	assert_int_equal(finish(w), 0);
	assert_int_equal(run(w, NS_DISCARD, NULL, 65536, 65536), 0);
	assert_int_equal(run(w, NS_ZERO, NULL, 262144, 4096), 0);
	stat(w->path, &after);
	assert_int_equal(after.st_size, FILE_SIZE);
	assert_true(after.st_blocks < before.st_blocks);
	memset(buf, 0xee, 1 << 20);
	assert_int_equal(run(w, NS_READ, buf, 0, 1 << 20), 0);
	assert_false(is_zero(buf, 4096));
	assert_true(is_zero(buf + 4096, 8192));
	assert_false(is_zero(buf + 4096 + 8192, 512));
	assert_true(is_zero(buf + 65536, 65536));
	assert_true(is_zero(buf + 262144, 4096));
	world_free(w);
}

static void places_beyond_the_end_are_refused(void **state)
{
	struct world *w = with_file("");
	uint8_t *buf = staging_alloc(w->staging, 8192);

	assert_int_equal(run(w, NS_READ, buf, FILE_SIZE - 4096, 8192), -EINVAL);
	assert_int_equal(run(w, NS_READ, buf, UINT64_MAX - 4095, 4096), -EINVAL);
	assert_int_equal(run(w, NS_READ, buf, 100, 4096), -EINVAL);
	assert_int_equal(run(w, NS_READ, buf, 0, 100), -EINVAL);
	assert_int_equal(run(w, NS_READ, buf, 0, 0), -EINVAL);
	assert_int_equal(run(w, NS_READ, buf, FILE_SIZE - 4096, 4096), 0);
	assert_int_equal(storage_counters(w->storage)->requests, 1);
	world_free(w);
}

static void who_may_only_read_does_not_write(void **state)
{
	struct world *w = with_file(",ro");
	uint8_t *buf = staging_alloc(w->staging, 4096);

	assert_true(w->ns->ro);
	assert_int_equal(run(w, NS_WRITE, buf, 0, 4096), -EROFS);
	assert_int_equal(run(w, NS_ZERO, NULL, 0, 4096), -EROFS);
	assert_int_equal(run(w, NS_DISCARD, NULL, 0, 4096), -EROFS);
	assert_int_equal(run(w, NS_READ, buf, 0, 4096), 0);
	world_free(w);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
	struct world *w = with_file("");
	uint8_t *buf = staging_alloc(w->staging, 4096);

	assert_int_equal(truncate(w->path, 4096), 0);
	assert_int_equal(run(w, NS_READ, buf, 8192, 4096), -EIO);
	assert_int_equal(run(w, NS_READ, buf, 0, 4096), 0);
	world_free(w);
}

/* Has a child not ended? */
static bool lives(pid_t pid)
{
	char path[32], line[512], *p;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	p = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return p && p[2] != 'Z';
}

/* Pid of the child of @parent, which has one. */
static pid_t child_of(pid_t parent)
{
	pid_t pid, found = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	file = fopen(path, "re");
	assert_non_null(file);
	while (!found && fscanf(file, "%d", &pid) == 1)
		if (lives(pid))
			found = pid;
	fclose(file);
	/* To signal 0 or -1 would hit others. */
	assert_true(found > 1);
	return found;
}

static bool has_died(void *arg)
{
	const struct world *w = arg;

	return storage_counters(w->storage)->deaths == w->deaths && !w->left;
}

static void a_killed_process_is_replaced(void **state)
{
	struct world *w = with_file("");
	uint8_t *buf = staging_alloc(w->staging, 4096);
	uint8_t *other = staging_alloc(w->staging, 4096);
	const pid_t keeper = child_of(getpid());
	const pid_t worker = child_of(keeper);
	struct ns_io read = { 0 }, write = { 0 };

	fill(buf, 4096, 1);
	assert_int_equal(run(w, NS_WRITE, buf, 0, 4096), 0);
	kill(worker, SIGSTOP);
	fill(other, 4096, 9);
	submit(w, &read, NS_READ, buf, 4096, 4096);
	submit(w, &write, NS_WRITE, other, 8192, 4096);
	kill(worker, SIGKILL);
	w->deaths = 1;
	assert_true(run_until(w->loop, has_died, w));
	assert_int_equal(w->err, -EPIPE);
	/* Its pages are others now: whoever reads into the old ones does not hurt. */
	assert_true(is_zero(buf, 4096));
	assert_false(is_zero(other, 4096));
	assert_int_equal(run(w, NS_READ, buf, 0, 4096), 0);
	assert_false(is_zero(buf, 4096));
	assert_int_equal(run(w, NS_WRITE, other, 0, 4096), 0);
	world_free(w);
}

/* A locked page cannot be replaced: the request is answered, and nobody gets the buffer. */
static void a_buffer_that_cannot_be_renewed_is_not_used_again(void **state)
{
	struct world *w = with_file("");
	uint8_t *buf = staging_alloc(w->staging, 4096);
	const pid_t keeper = child_of(getpid());
	const pid_t worker = child_of(keeper);
	static void *page[POOL / STAGING_PAGE];
	struct ns_io read = { 0 };
	unsigned int n, i;

	/* The sanitizer's mlock() does nothing. */
	assert_int_equal(syscall(SYS_mlock, buf, 4096), 0);
	kill(worker, SIGSTOP);
	submit(w, &read, NS_READ, buf, 0, 4096);
	kill(worker, SIGKILL);
	w->deaths = 1;
	assert_true(run_until(w->loop, has_died, w));
	assert_int_equal(w->err, -EPIPE);
	staging_release(w->staging, buf, 4096);
	for (n = 0; n < ARRAY_SIZE(page); n++) {
		page[n] = staging_alloc(w->staging, 4096);
		if (!page[n])
			break;
		assert_ptr_not_equal(page[n], buf);
	}
	assert_int_equal(n, ARRAY_SIZE(page) - 1);
	/* As soon as it can be replaced it is one as all others. */
	assert_int_equal(syscall(SYS_munlock, buf, 4096), 0);
	page[n] = staging_alloc(w->staging, 4096);
	assert_ptr_equal(page[n], buf);
	for (i = 0; i <= n; i++)
		staging_release(w->staging, page[i], 4096);
	page[0] = staging_alloc(w->staging, STAGING_BUFFER_MAX);
	assert_non_null(page[0]);
	assert_int_equal(run(w, NS_READ, page[0], 0, STAGING_BUFFER_MAX), 0);
	world_free(w);
}

static bool has_failed(void *arg)
{
	const char *text = arg;

	return *text;
}

/* Not by SIGKILL, which is others' doing. */
static void a_process_that_dies_and_dies_is_given_up(void **state)
{
	struct world *w = with_file("");
	uint8_t *buf = staging_alloc(w->staging, 4096);
	const pid_t keeper = child_of(getpid());
	const struct storage_counters *count = storage_counters(w->storage);
	char text[128] = "";
	unsigned int i;

	for (i = 0; i < 4; i++) {
		assert_int_equal(run(w, NS_READ, buf, 0, 4096), 0);
		assert_int_equal(count->deaths, i);
		kill(child_of(keeper), SIGUSR1);
		w->deaths = i + 1;
		assert_true(run_until(w->loop, has_died, w));
	}
	assert_int_equal(run(w, NS_READ, buf, 0, 4096), 0);
	log_catch(text, sizeof(text));
	kill(child_of(keeper), SIGUSR1);
	assert_true(run_until(w->loop, has_failed, text));
	log_catch(NULL, 0);
	assert_non_null(strstr(text, "storage: its process ended for good"));
	assert_int_equal(run(w, NS_READ, buf, 0, 4096), -EIO);
	world_free(w);
}

/* Of a process: a line of /proc/PID/status has this. */
static bool status_has(pid_t pid, const char *line)
{
	char path[32], text[8192];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n > 0);
	text[n] = 0;
	return strstr(text, line);
}

static unsigned int descriptors_of(pid_t pid)
{
	char path[32];
	unsigned int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* As it is in the daemon: also the next one, which is made within the sandbox of the first. */
static void the_process_has_few_rights(void **state)
{
	struct world *w = world_new();
	uint8_t *buf = staging_alloc(w->staging, 4096);
	pid_t keeper, worker;
	unsigned int i;

	add(w, "disk=file:%s", w->path);
	assert_int_equal(storage_start(w->storage, sandbox_storage), 0);
	assert_int_equal(storage_attach(w->storage, w->loop), 0);
	w->ns = storage_find(w->storage, "disk");
	keeper = child_of(getpid());
	for (i = 0; i < 2; i++) {
		assert_int_equal(run(w, NS_WRITE, buf, 0, 4096), 0);
		assert_int_equal(run(w, NS_ZERO, NULL, 0, 4096), 0);
		assert_int_equal(run(w, NS_FLUSH, NULL, 0, 0), 0);
		assert_int_equal(run(w, NS_READ, buf, 0, 4096), 0);
		worker = child_of(keeper);
		assert_true(status_has(keeper, "\nSeccomp:\t2\n"));
		assert_true(status_has(worker, "\nSeccomp_filters:\t2\n"));
		assert_true(status_has(worker, "\nCapEff:\t0000000000000000\n"));
		assert_true(status_has(worker, "\nNoNewPrivs:\t1\n"));
		/* Standard error, two eventfds, the pipe, the file; the worker has its ring. */
		assert_int_equal(descriptors_of(keeper), 5);
		assert_int_equal(descriptors_of(worker), 6);
		kill(worker, SIGKILL);
		w->deaths = 1;
		if (!i)
			assert_true(run_until(w->loop, has_died, w));
	}
	world_free(w);
}

static void namespaces_fail_with_the_last_process(void **state)
{
	struct world *w = with_file("");
	uint8_t *buf = staging_alloc(w->staging, 4096);
	const pid_t keeper = child_of(getpid());
	struct ns_io read = { 0 };
	char text[128] = "";

	kill(child_of(keeper), SIGSTOP);
	submit(w, &read, NS_READ, buf, 0, 4096);
	log_catch(text, sizeof(text));
	kill(keeper, SIGKILL);
	assert_int_equal(finish(w), -EIO);
	log_catch(NULL, 0);
	assert_non_null(strstr(text, "storage: its process ended for good"));
	assert_int_equal(run(w, NS_READ, buf, 0, 4096), -EIO);
	world_free(w);
}

static const char *refused(struct world *w, const char *text)
{
	static char why[256];

	why[0] = 0;
	log_catch(why, sizeof(why));
	assert_true(storage_add(w->storage, text) < 0);
	log_catch(NULL, 0);
	return why;
}

/* A daemon that takes over gets the lock of the one before it, and does nothing before that. */
static void who_takes_over_waits_for_the_file(void **state)
{
	struct world *w = world_new();
	uint8_t *buf = staging_alloc(w->staging, 4096);
	int other = open(w->path, O_RDWR | O_CLOEXEC), third;
	struct ns_io write = { 0 };
	char byte;

	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	storage_share(w->storage);
	add(w, "disk=file:%s", w->path);
	world_start(w);
	memset(buf, 'n', 4096);
	submit(w, &write, NS_WRITE, buf, 0, 4096);
	run_idle(w->loop);
	assert_int_equal(pwrite(other, "old", 3, 0), 3);
	assert_int_equal(w->left, 1);
	close(other);
	assert_int_equal(finish(w), 0);
	third = open(w->path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(third, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_int_equal(pread(third, &byte, 1, 0), 1);
	assert_int_equal(byte, 'n');
	close(third);
	world_free(w);
}

static void guests_have_what_is_theirs(void **state)
{
	struct world *w = world_new();

	add(w, "one=null:1M,guest=a.sock,ro,guest=b.sock");
	add(w, "two=null:1M,guest=b.sock");
	add(w, "all=null:1M,guest=*");
	add(w, "none=null:1M");
	assert_true(storage_find(w->storage, "one")->ro);
	assert_ptr_equal(storage_find_for(w->storage, "one", "a.sock"),
			 storage_find(w->storage, "one"));
	assert_non_null(storage_find_for(w->storage, "one", "b.sock"));
	assert_null(storage_find_for(w->storage, "one", "b.soc"));
	assert_null(storage_find_for(w->storage, "one", "b.sockk"));
	assert_null(storage_find_for(w->storage, "one", ""));
	assert_null(storage_find_for(w->storage, "two", "a.sock"));
	assert_non_null(storage_find_for(w->storage, "all", "c.sock"));
	assert_null(storage_find_for(w->storage, "none", "a.sock"));
	assert_ptr_equal(storage_find_for(w->storage, NULL, "a.sock"),
			 storage_find(w->storage, "one"));
	world_free(w);
}

static void changed(void *arg, struct ns *ns)
{
	struct world *w = arg;

	assert_ptr_equal(ns, w->ns);
	w->left--;
}

/* Whole blocks of it count, and what is there now can be written to. */
static void a_file_that_grows_is_seen(void **state)
{
	struct world *w = with_file("");
	uint8_t *buf = staging_alloc(w->staging, 4096);

	storage_watch(w->storage, changed, w);
	storage_look(w->storage);
	assert_int_equal(run(w, NS_READ, buf, 0, 4096), 0);
	assert_int_equal(truncate(w->path, FILE_SIZE + 4096 + 100), 0);
	assert_int_equal(run(w, NS_WRITE, buf, FILE_SIZE, 4096), -EINVAL);
	w->left = 1;
	storage_look(w->storage);
	storage_look(w->storage);
	finish(w);
	assert_int_equal(w->ns->size, FILE_SIZE + 4096);
	assert_int_equal(run(w, NS_WRITE, buf, FILE_SIZE, 4096), 0);
	/* One of no size is one that fails, and not none. */
	assert_int_equal(truncate(w->path, 0), 0);
	storage_look(w->storage);
	assert_int_equal(run(w, NS_READ, buf, 0, 4096), -EIO);
	assert_int_equal(w->ns->size, FILE_SIZE + 4096);
	world_free(w);
}

static void wrong_options_are_refused(void **state)
{
	static const char *const forms[] = {
		"", "disk", "disk=", "=null:1M", "disk=null", "disk=nul:1M", "disk=null:",
		"a b=null:1M",
	};
	static const char *const sizes[] = {
		"d=null:0", "d=null:1", "d=null:-1", "d=null:1P", "d=null:1MM",
		"d=null:2000000000M", "d=null:99999999999999999999",
	};
	struct world *w = world_new();
	char text[128], want[256];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(forms); i++)
		assert_non_null(strstr(refused(w, forms[i]), "\": not NAME=file:PATH, "));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_non_null(strstr(refused(w, sizes[i]), "its size is not that of whole"));
	snprintf(text, sizeof(text), "d=file:%s", w->dir);
	assert_non_null(strstr(refused(w, text), "not a regular file"));
	snprintf(text, sizeof(text), "d=file:%s,ro", w->dir);
	assert_non_null(strstr(refused(w, text), "not a regular file"));
	snprintf(text, sizeof(text), "d=block:%s", w->path);
	assert_non_null(strstr(refused(w, text), "not a block device"));
	snprintf(text, sizeof(text), "d=file:%s.none", w->path);
	assert_non_null(strstr(refused(w, text), "No such file or directory"));
	make_file(w->path, 1000);
	assert_int_equal(truncate(w->path, 1000), 0);
	snprintf(text, sizeof(text), "d=file:%s", w->path);
	assert_non_null(strstr(refused(w, text), "its size is not that of whole"));
	assert_int_equal(truncate(w->path, FILE_SIZE), 0);
	add(w, "d=null:1M");
	snprintf(want, sizeof(want), "--namespace: d: more than one of that name");
	assert_string_equal(refused(w, text), want);
	add(w, "e=file:%s", w->path);
	text[0] = 'f';
	snprintf(want, sizeof(want), "--namespace: %s: in use by another daemon or namespace",
		 w->path);
	assert_string_equal(refused(w, text), want);
	/* A daemon that takes over from another one has the same files. */
	storage_share(w->storage);
	assert_int_equal(storage_add(w->storage, text), 0);
	/* And those that only read do not mind each other. */
	snprintf(text, sizeof(text), "%s2", w->path);
	make_file(text, FILE_SIZE);
	add(w, "r1=file:%s,ro", text);
	add(w, "r2=file:%s,ro", text);
	unlink(text);
	for (i = 0; i < STORAGE_NAMESPACES_MAX - 5; i++)
		add(w, "n%u=null:%uK,ro", i, i + 1);
	assert_non_null(strstr(refused(w, "more=null:1M"), "--namespace: more than 32"));
	assert_int_equal(storage_find(w->storage, "n7")->size, 8192);
	assert_true(storage_find(w->storage, "n7")->ro);
	assert_null(storage_find(w->storage, "more"));
	world_free(w);
}

static void staging_buffers_are_bounded_and_merge(void **state)
{
	struct staging *staging = staging_new(POOL);
	uint8_t *base = staging_base(staging);
	static void *page[POOL / STAGING_PAGE];
	void *chunk[POOL / STAGING_BUFFER_MAX];
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < ARRAY_SIZE(page); i++) {
			page[i] = staging_alloc(staging, 1 + i % STAGING_PAGE);
			assert_non_null(page[i]);
			assert_int_equal(((uint8_t *)page[i] - base) % STAGING_PAGE, 0);
			memset(page[i], i, STAGING_PAGE);
		}
		assert_null(staging_alloc(staging, 1));
		/* None of them is there twice. */
		for (i = 0; i < ARRAY_SIZE(page); i++)
			assert_int_equal(*(uint8_t *)page[i], i & 0xff);
		for (i = 0; i < ARRAY_SIZE(page); i++)
			staging_release(staging, page[i * 7 % ARRAY_SIZE(page)],
					1 + i * 7 % ARRAY_SIZE(page) % STAGING_PAGE);
		for (i = 0; i < ARRAY_SIZE(chunk); i++) {
			chunk[i] = staging_alloc(staging, STAGING_BUFFER_MAX - i);
			assert_non_null(chunk[i]);
		}
		assert_null(staging_alloc(staging, 1));
		for (i = 0; i < ARRAY_SIZE(chunk); i++)
			staging_release(staging, chunk[i], STAGING_BUFFER_MAX - i);
	}
	staging_free(staging);
}

/* However one guest scatters what it does not give back. */
static void one_owner_leaves_half_to_others(void **state)
{
	struct staging *staging = staging_new(POOL);
	static const char a, b;
	static void *page[POOL / STAGING_PAGE];
	void *large[2], *half[4];
	unsigned int n, i;

	for (n = 0; n < ARRAY_SIZE(page); n++) {
		page[n] = staging_alloc_of(staging, &a, 4096);
		if (!page[n])
			break;
	}
	assert_int_equal(n, ARRAY_SIZE(page) / 2);
	/* One page of each half of a chunk stays, and more than that is not to be had. */
	for (i = 0; i < n; i++)
		if (i % 128)
			staging_release(staging, page[i], 4096);
	assert_null(staging_alloc_of(staging, &a, STAGING_BUFFER_MAX));
	assert_null(staging_alloc_of(staging, &a, STAGING_BUFFER_MAX / 2));
	for (i = 0; i < 2; i++) {
		large[i] = staging_alloc_of(staging, &b, STAGING_BUFFER_MAX);
		assert_non_null(large[i]);
	}
	for (i = 0; i < 4; i++) {
		half[i] = staging_alloc_of(staging, &a, STAGING_BUFFER_MAX / 4);
		assert_non_null(half[i]);
	}
	for (i = 0; i < 4; i++)
		staging_release(staging, half[i], STAGING_BUFFER_MAX / 4);
	for (i = 0; i < n; i += 128)
		staging_release(staging, page[i], 4096);
	/* A chunk that is free is anybody's. */
	staging_release(staging, large[0], STAGING_BUFFER_MAX);
	large[0] = staging_alloc_of(staging, &a, STAGING_BUFFER_MAX);
	assert_non_null(large[0]);
	staging_release(staging, large[0], STAGING_BUFFER_MAX);
	staging_release(staging, large[1], STAGING_BUFFER_MAX);
	staging_free(staging);
}

/* The last test: it leaves the mount namespace. */
static void a_full_file_system_is_told(void **state)
{
	struct world *w = world_new();
	uint8_t *buf = staging_alloc(w->staging, 1 << 20);
	char path[64];

	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		world_free(w);
		skip();
	}
	snprintf(path, sizeof(path), "%s/small", w->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mount("none", path, "tmpfs", 0, "size=512k"), 0);
	snprintf(path, sizeof(path), "%s/small/disk", w->dir);
	make_file(path, FILE_SIZE);
	add(w, "disk=file:%s", path);
	world_start(w);
	fill(buf, 1 << 20, 1);
	assert_int_equal(run(w, NS_WRITE, buf, 0, 4096), 0);
	assert_int_equal(run(w, NS_WRITE, buf, 0, 1 << 20), -ENOSPC);
	/* And it goes on. */
	assert_int_equal(run(w, NS_DISCARD, NULL, 0, 1 << 20), 0);
	assert_int_equal(run(w, NS_WRITE, buf, 1 << 20, 4096), 0);
	unlink(path);
	snprintf(path, sizeof(path), "%s/small", w->dir);
	umount2(path, MNT_DETACH);
	rmdir(path);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_back),
		cmocka_unit_test(many_requests_are_under_way),
		cmocka_unit_test(zeroes_and_holes_read_as_zeroes),
		cmocka_unit_test(places_beyond_the_end_are_refused),
		cmocka_unit_test(who_may_only_read_does_not_write),
		cmocka_unit_test(a_file_that_shrinks_is_an_error),
		cmocka_unit_test(a_killed_process_is_replaced),
		cmocka_unit_test(a_buffer_that_cannot_be_renewed_is_not_used_again),
		cmocka_unit_test(a_process_that_dies_and_dies_is_given_up),
		cmocka_unit_test(the_process_has_few_rights),
		cmocka_unit_test(namespaces_fail_with_the_last_process),
		cmocka_unit_test(who_takes_over_waits_for_the_file),
		cmocka_unit_test(guests_have_what_is_theirs),
		cmocka_unit_test(a_file_that_grows_is_seen),
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(staging_buffers_are_bounded_and_merge),
		cmocka_unit_test(one_owner_leaves_half_to_others),
		cmocka_unit_test(a_full_file_system_is_told),
	};

	return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
