// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The namespaces of a daemon, and its end of the rings to the storage process.
 *
 * Theory of operation
 *
 * A request gets a tag, or waits for one.  The loop looks for replies as it does for all other
 * work, without a system call; only when it is about to sleep does it ask to be woken.
 *
 * If the process dies, requests that it had end with an error that lets a host try again, and
 * their buffers get other pages first: the kernel may still write what a read of that process
 * has asked for to the old ones.  The next process takes nothing before the daemon has done
 * so.  If there is no next process, all namespaces of files have failed for good.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "storage/keep.h"
#include "storage/open.h"
#include "storage/staging.h"
#include "storage/storage.h"
#include "storage/worker.h"

/* Descriptors of a process: standard error, two eventfds, a pipe, the files. */
#define STORAGE_FDS_MAX	(4 + STORAGE_FILES_MAX)

/**
 * struct storage - all
 * @loop:	event loop, once it is attached
 * @staging:	buffers
 * @ns:		namespaces
 * @namespaces:	number of them
 * @share:	another daemon has the same files
 * @file:	descriptors of files, until the process has them
 * @files:	number of them
 * @shared:	memory of the rings, or NULL if there is no process
 * @pid:	of the process that starts it
 * @wake:	eventfd of the process
 * @tell:	eventfd of the daemon
 * @life:	pipe that ends with all processes
 * @failed:	there is no process any more
 * @epoch:	the process that serves
 * @requests:	requests that were made
 * @replies:	replies that were taken
 * @io:		requests under way by tag
 * @free:	tags that are free
 * @frees:	number of them
 * @waiting:	requests that wait for a tag
 * @poller:	looks for replies
 * @size:	for each namespace: look how large it is
 * @looks:	which of them are under way
 * @changed:	called if a size has changed, or NULL
 * @changed_arg: for it
 * @count:	what was counted
 * @log:	rate limit of messages
 */
struct storage {
	struct loop *loop;
	struct staging *staging;
	struct ns ns[STORAGE_NAMESPACES_MAX];
	unsigned int namespaces;
	bool share;
	int file[STORAGE_FILES_MAX];
	unsigned int files;
	struct storage_shared *shared;
	pid_t pid;
	int wake;
	struct loop_fd tell;
	struct loop_fd life;
	bool failed;
	uint32_t epoch;
	uint32_t requests;
	uint32_t replies;
	struct ns_io *io[STORAGE_TAGS];
	uint32_t free[STORAGE_TAGS];
	unsigned int frees;
	TAILQ_HEAD(, ns_io) waiting;
	struct loop_poller poller;
	struct ns_io size[STORAGE_NAMESPACES_MAX];
	bool looks[STORAGE_NAMESPACES_MAX];
	void (*changed)(void *arg, struct ns *ns);
	void *changed_arg;
	struct storage_counters count;
	struct log_limit log;
};

/* ------------------------------------------------------------------------- */
/* Requests                                                                  */
/* ------------------------------------------------------------------------- */

static void storage_wake(struct storage *storage)
{
	const uint64_t one = 1;

	storage->count.wakes++;
	if (write(storage->wake, &one, sizeof(one)) < 0)
		/* It is full, and so readable. */
		return;
}

static void storage_make(struct storage *storage, struct ns_io *io)
{
	struct storage_shared *shared = storage->shared;
	struct storage_request *req = &shared->request[storage->requests % STORAGE_TAGS];

	io->tag = storage->free[--storage->frees];
	storage->io[io->tag] = io;
	storage->count.requests++;
	req->op = io->op;
	req->lasting = io->lasting;
	req->keep = io->keep;
	req->file = io->ns->file;
	req->tag = io->tag;
	req->offset = io->offset;
	req->len = io->len;
	req->buf = io->op == NS_READ || io->op == NS_WRITE ?
		   (uint8_t *)io->buf - (uint8_t *)staging_base(storage->staging) : 0;
	storage_set(&shared->requests, ++storage->requests);
	if (storage_get(&shared->worker_sleeps)) {
		storage_set(&shared->worker_sleeps, 0);
		storage_wake(storage);
	}
}

static void storage_submit(void *arg, struct ns_io *io)
{
	struct storage *storage = arg;

	if (storage->failed)
		ns_done(io, -EIO);
	else if (storage->frees && TAILQ_EMPTY(&storage->waiting))
		storage_make(storage, io);
	else
		TAILQ_INSERT_TAIL(&storage->waiting, io, entry);
}

/* ------------------------------------------------------------------------- */
/* Replies                                                                   */
/* ------------------------------------------------------------------------- */

/* Takes back what was given to the process as @tag, or NULL. */
static struct ns_io *storage_take(struct storage *storage, uint32_t tag)
{
	struct ns_io *io = tag < STORAGE_TAGS ? storage->io[tag] : NULL;

	if (!io)
		return NULL;
	storage->io[tag] = NULL;
	storage->free[storage->frees++] = tag;
	return io;
}

static void storage_serve(struct storage *storage)
{
	struct ns_io *io;

	while (storage->frees) {
		io = TAILQ_FIRST(&storage->waiting);
		if (!io)
			return;
		TAILQ_REMOVE(&storage->waiting, io, entry);
		storage_make(storage, io);
	}
}

static void storage_done(struct storage *storage, struct ns_io *io, int err)
{
	storage->count.errors += err != 0;
	ns_done(io, err);
}

/* A process that says nonsense can say it of its own requests only. */
static bool storage_replies(struct storage *storage)
{
	struct storage_shared *shared = storage->shared;
	struct storage_reply reply;
	struct ns_io *io;
	unsigned int n = 0;

	while (n < STORAGE_TAGS && storage_get(&shared->replies) != storage->replies) {
		memcpy(&reply, &shared->reply[storage->replies++ % STORAGE_TAGS], sizeof(reply));
		n++;
		io = storage_take(storage, reply.tag);
		if (io && io->op == NS_SIZE)
			io->offset = reply.size;
		if (io)
			storage_done(storage, io, reply.err < 0 ? reply.err : 0);
	}
	storage_serve(storage);
	return n;
}

/* All that the process had has failed with @err. */
static void storage_lost(struct storage *storage, int err)
{
	struct ns_io *io;
	uint32_t tag;

	for (tag = 0; tag < STORAGE_TAGS; tag++) {
		io = storage_take(storage, tag);
		if (!io)
			continue;
		if (io->op == NS_READ)
			staging_renew(storage->staging, io->buf, io->len);
		storage_done(storage, io, err);
	}
}

static void storage_next(struct storage *storage, uint32_t epoch)
{
	struct storage_shared *shared = storage->shared;

	storage->count.deaths++;
	if (log_limit_ok(&storage->log))
		log_warn("storage: its process died; what it had to do fails, and another one goes on");
	storage->epoch = epoch;
	storage->requests = 0;
	storage->replies = 0;
	storage_set(&shared->requests, 0);
	storage_set(&shared->replies, 0);
	storage_lost(storage, -EPIPE);
	storage_set(&shared->ack, epoch);
	storage_wake(storage);
	storage_serve(storage);
}

static void storage_fail(struct storage *storage)
{
	struct ns_io *io;

	storage->failed = true;
	loop_fd_del(storage->loop, &storage->life);
	log_error("storage: its process ended for good; files and block devices have failed");
	storage_lost(storage, -EIO);
	while ((io = TAILQ_FIRST(&storage->waiting))) {
		TAILQ_REMOVE(&storage->waiting, io, entry);
		storage_done(storage, io, -EIO);
	}
}

static bool storage_poll(void *arg)
{
	struct storage *storage = arg;
	const uint32_t epoch = storage_get(&storage->shared->epoch);

	if (storage->failed)
		return false;
	if (epoch != storage->epoch) {
		storage_next(storage, epoch);
		return true;
	}
	return storage_replies(storage);
}

static bool storage_sleep(void *arg)
{
	struct storage *storage = arg;
	struct storage_shared *shared = storage->shared;

	storage_set(&shared->daemon_sleeps, 1);
	return storage_get(&shared->replies) != storage->replies && !storage->failed;
}

static void storage_awake(void *arg)
{
	struct storage *storage = arg;

	storage_set(&storage->shared->daemon_sleeps, 0);
}

/* The poller does what there is to do. */
static void storage_told(void *arg, uint32_t events __always_unused)
{
	struct storage *storage = arg;
	uint64_t n;

	if (read(storage->tell.fd, &n, sizeof(n)) < 0)
		return;
}

static void storage_ended(void *arg, uint32_t events __always_unused)
{
	storage_fail(arg);
}

/* ------------------------------------------------------------------------- */
/* Namespaces                                                                */
/* ------------------------------------------------------------------------- */

struct storage *storage_new(struct staging *staging)
{
	struct storage *storage = calloc(1, sizeof(*storage));
	uint32_t tag;

	if (!storage)
		return NULL;
	storage->staging = staging;
	TAILQ_INIT(&storage->waiting);
	for (tag = 0; tag < STORAGE_TAGS; tag++)
		storage->free[storage->frees++] = STORAGE_TAGS - 1 - tag;
	return storage;
}

struct ns *storage_find(struct storage *storage, const char *name)
{
	unsigned int i;

	for (i = 0; i < storage->namespaces; i++)
		if (!strcmp(storage->ns[i].name, name))
			return &storage->ns[i];
	return NULL;
}

/* Whole blocks count; a file without one stays as it was, and fails when it is read. */
static void storage_looked(struct ns_io *io, int err)
{
	struct storage *storage = io->ns->arg;
	const uint64_t size = io->offset & ~(uint64_t)(io->ns->block - 1);

	storage->looks[io - storage->size] = false;
	if (err || !size || size == io->ns->size)
		return;
	log_info("%s: it had %llu bytes, and has %llu", io->ns->name,
		 (unsigned long long)io->ns->size, (unsigned long long)size);
	io->ns->size = size;
	if (storage->changed)
		storage->changed(storage->changed_arg, io->ns);
}

void storage_watch(struct storage *storage, void (*changed)(void *arg, struct ns *ns),
		   void *arg)
{
	storage->changed = changed;
	storage->changed_arg = arg;
}

/* It is not a host's, and so does not go through ns_submit(). */
void storage_look(struct storage *storage)
{
	struct ns_io *io;
	unsigned int i;

	for (i = 0; i < storage->namespaces; i++) {
		io = &storage->size[i];
		if (storage->ns[i].submit != storage_submit || storage->looks[i])
			continue;
		storage->looks[i] = true;
		*io = (struct ns_io) {
			.op = NS_SIZE,
			.ns = &storage->ns[i],
			.done = storage_looked,
		};
		storage_submit(storage, io);
	}
}

const struct ns *storage_ns(const struct storage *storage, unsigned int i)
{
	return i < storage->namespaces ? &storage->ns[i] : NULL;
}

/* Is it one of the names, each of which is behind a comma? */
static bool storage_lists(const char *list, const char *guest)
{
	const size_t len = strlen(guest);
	const char *p;

	for (p = strchr(list, ','); p; p = strchr(p + 1, ',')) {
		if (!strncmp(p + 1, guest, len) && (!p[1 + len] || p[1 + len] == ','))
			return true;
		if (p[1] == '*' && (!p[2] || p[2] == ','))
			return true;
	}
	return false;
}

struct ns *storage_find_for(struct storage *storage, const char *name, const char *guest)
{
	struct ns *ns;
	unsigned int i;

	for (i = 0; i < storage->namespaces; i++) {
		ns = &storage->ns[i];
		if ((!name || !strcmp(ns->name, name)) && storage_lists(ns->guests, guest))
			return ns;
	}
	return NULL;
}

void storage_share(struct storage *storage)
{
	storage->share = true;
}

int storage_add(struct storage *storage, const char *text)
{
	struct ns *ns = &storage->ns[storage->namespaces];
	int fd;

	if (storage->namespaces == STORAGE_NAMESPACES_MAX) {
		log_error("--namespace: more than %u", STORAGE_NAMESPACES_MAX);
		return -EINVAL;
	}
	fd = ns_open(ns, text, storage->share);
	if (fd < 0 && fd != -ENODATA)
		return fd;
	if (storage_find(storage, ns->name)) {
		log_error("--namespace: %s: more than one of that name", ns->name);
		if (fd >= 0)
			close(fd);
		return -EEXIST;
	}
	storage->namespaces++;
	if (fd < 0)
		return 0;
	ns->submit = storage_submit;
	ns->arg = storage;
	ns->file = storage->files;
	storage->file[storage->files++] = fd;
	return 0;
}

/* ------------------------------------------------------------------------- */
/* The process                                                               */
/* ------------------------------------------------------------------------- */

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes all but standard error and what it needs. */
static void storage_close_others(const struct storage_worker *worker)
{
	int keep[STORAGE_FDS_MAX];
	unsigned int n = 0, i;
	int from = 0;

	keep[n++] = STDERR_FILENO;
	keep[n++] = worker->wake;
	keep[n++] = worker->tell;
	keep[n++] = worker->life;
	for (i = 0; i < worker->files; i++)
		keep[n++] = worker->file[i];
	qsort(keep, n, sizeof(keep[0]), compare_fds);
	for (i = 0; i < n; i++) {
		if (keep[i] > from)
			syscall(SYS_close_range, from, keep[i] - 1, 0);
		from = keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0U, 0);
}

/* In the new process. */
static void storage_be(struct storage *storage, pid_t parent, int life,
		       int (*confine)(bool worker)) __attribute__((noreturn));

static void storage_be(struct storage *storage, pid_t parent, int life,
		       int (*confine)(bool worker))
{
	const struct storage_worker worker = {
		.shared = storage->shared,
		.staging = staging_base(storage->staging),
		.staging_size = staging_size(storage->staging),
		.file = storage->file,
		.files = storage->files,
		.wake = storage->wake,
		.tell = storage->tell.fd,
		.life = life,
		.confine = confine,
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(EXIT_SUCCESS);
	/* They are for the daemon, whose end is that of this process, too. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	storage_close_others(&worker);
	storage_keep(&worker);
}

static int storage_fork(struct storage *storage, int (*confine)(bool worker))
{
	const pid_t self = getpid();
	int life[2];
	char ready;
	ssize_t n;

	if (pipe2(life, O_CLOEXEC))
		return -errno;
	storage->pid = fork();
	if (!storage->pid)
		storage_be(storage, self, life[1], confine);
	close(life[1]);
	storage->life.fd = life[0];
	if (storage->pid < 0) {
		close(life[0]);
		return -EAGAIN;
	}
	do {
		n = read(life[0], &ready, sizeof(ready));
	} while (n < 0 && errno == EINTR);
	if (n == sizeof(ready))
		return 0;
	/* It has said why. */
	waitpid(storage->pid, NULL, 0);
	close(life[0]);
	return -EPIPE;
}

static int storage_channels(struct storage *storage)
{
	storage->shared = mmap(NULL, sizeof(*storage->shared), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (storage->shared == MAP_FAILED) {
		storage->shared = NULL;
		return -ENOMEM;
	}
	storage->shared->epoch = 1;
	storage->shared->ack = 1;
	storage->epoch = 1;
	storage->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	storage->tell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return storage->wake < 0 || storage->tell.fd < 0 ? -EMFILE : 0;
}

static void storage_close_files(struct storage *storage)
{
	unsigned int i;

	for (i = 0; i < storage->files; i++)
		close(storage->file[i]);
}

static void storage_close_channels(struct storage *storage)
{
	close(storage->wake);
	close(storage->tell.fd);
	munmap(storage->shared, sizeof(*storage->shared));
	storage->shared = NULL;
}

int storage_start(struct storage *storage, int (*confine)(bool worker))
{
	int err;

	if (!storage->files)
		return 0;
	err = storage_channels(storage);
	if (!err)
		err = storage_fork(storage, confine);
	if (!err) {
		storage_close_files(storage);
		return 0;
	}
	log_error("storage: its process did not start: %s", strerror(-err));
	if (storage->shared)
		storage_close_channels(storage);
	return err;
}

int storage_attach(struct storage *storage, struct loop *loop)
{
	int err;

	if (!storage->shared)
		return 0;
	storage->tell.fn = storage_told;
	storage->tell.arg = storage;
	storage->life.fn = storage_ended;
	storage->life.arg = storage;
	err = loop_fd_add(loop, &storage->tell, EPOLLIN);
	if (err)
		return err;
	/* Nothing more comes out of it but its end. */
	err = loop_fd_add(loop, &storage->life, EPOLLIN);
	if (err) {
		loop_fd_del(loop, &storage->tell);
		return err;
	}
	storage->loop = loop;
	storage->poller.poll = storage_poll;
	storage->poller.sleep = storage_sleep;
	storage->poller.wake = storage_awake;
	storage->poller.arg = storage;
	loop_poller_add(loop, &storage->poller);
	return 0;
}

const struct storage_counters *storage_counters(const struct storage *storage)
{
	return &storage->count;
}

static void storage_detach(struct storage *storage)
{
	if (!storage->loop)
		return;
	loop_poller_del(storage->loop, &storage->poller);
	loop_fd_del(storage->loop, &storage->tell);
	if (!storage->failed)
		loop_fd_del(storage->loop, &storage->life);
}

void storage_free(struct storage *storage)
{
	char end;

	if (!storage->shared) {
		storage_close_files(storage);
		free(storage);
		return;
	}
	storage_detach(storage);
	storage_set(&storage->shared->stop, 1);
	storage_wake(storage);
	/* The end of the pipe is that of the last process. */
	while (read(storage->life.fd, &end, sizeof(end)) < 0 && errno == EINTR)
		;
	/* Within the sandbox there is no such call; then it is somebody else's to be reaped. */
	waitpid(storage->pid, NULL, 0);
	storage->failed = true;
	storage_lost(storage, -EIO);
	close(storage->life.fd);
	storage_close_channels(storage);
	free(storage);
}
