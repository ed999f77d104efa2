// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The storage process: io_uring, and nothing else.
 *
 * Theory of operation
 *
 * It takes requests from a ring, has the kernel do them, and puts replies into another ring.
 * It waits in one place only, for the kernel's completions; among them is that of a poll of
 * the eventfd by which the daemon wakes it.
 *
 * The daemon has checked a request.  It is copied and checked again here, as far as memory is
 * concerned.
 *
 * It has all files locked before it takes the first request.  The daemon before this one may
 * have them yet, and the kernel may still write for that: what a host does now comes later.
 *
 * A filter of system calls does not see what a ring is asked to do.  So the ring itself is
 * restricted, for good, to the few operations that are used.
 */

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "storage/worker.h"

#define WORKER_WAKE		UINT64_MAX
#define WORKER_ZEROES		(1u << 20)

/* Files that are not to be had are tried so often; after so many times that is said. */
#define WORKER_LOCK_NS		10000000
#define WORKER_LOCK_TRIES	500

/**
 * enum work_step - what of a request the kernel does
 * @WORK_MAIN:	what it says
 * @WORK_FILL:	zeroes are written one piece after the other, because there is no other way
 * @WORK_SYNC:	what was done before is made lasting
 */
enum work_step {
	WORK_MAIN,
	WORK_FILL,
	WORK_SYNC,
};

/**
 * struct work - a request under way
 * @req:	it
 * @step:	what is being done
 * @done:	bytes of it that are done
 * @size:	for the reply
 */
struct work {
	struct storage_request req;
	enum work_step step;
	uint64_t done;
	uint64_t size;
};

/**
 * struct process - the process
 * @worker:	what it was given
 * @epoch:	its number
 * @ring:	of the kernel
 * @taken:	requests that were taken
 * @replies:	replies that were made
 * @told:	those of which the daemon knows, if it sleeps
 * @lock:	how each file is to be locked
 * @locked:	files that are
 * @tries:	how often the next one was not to be had
 * @work:	requests by tag
 */
struct process {
	const struct storage_worker *worker;
	uint32_t epoch;
	struct io_uring ring;
	uint32_t taken;
	uint32_t replies;
	uint32_t told;
	int lock[STORAGE_FILES_MAX];
	unsigned int locked;
	unsigned int tries;
	struct work work[STORAGE_TAGS];
};

static uint8_t zeroes[WORKER_ZEROES] __attribute__((aligned(4096)));

/* ------------------------------------------------------------------------- */
/* Replies                                                                   */
/* ------------------------------------------------------------------------- */

static void work_end(struct process *p, const struct work *work, int err)
{
	struct storage_reply *reply = &p->worker->shared->reply[p->replies % STORAGE_TAGS];

	reply->tag = work->req.tag;
	reply->err = err;
	reply->size = work->size;
	storage_set(&p->worker->shared->replies, ++p->replies);
}

static void process_tell(struct process *p)
{
	const uint64_t one = 1;

	if (p->told == p->replies)
		return;
	p->told = p->replies;
	if (storage_get(&p->worker->shared->daemon_sleeps) &&
	    write(p->worker->tell, &one, sizeof(one)) < 0)
		/* It is full, and so readable. */
		return;
}

/* ------------------------------------------------------------------------- */
/* Requests                                                                  */
/* ------------------------------------------------------------------------- */

static struct io_uring_sqe *process_sqe(struct process *p)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&p->ring);

	/* The kernel takes all that it is given: then there is room. */
	while (!sqe) {
		io_uring_submit(&p->ring);
		sqe = io_uring_get_sqe(&p->ring);
	}
	return sqe;
}

static void prep_rw(const struct process *p, struct io_uring_sqe *sqe, const struct work *work)
{
	const struct storage_request *req = &work->req;
	const int fd = p->worker->file[req->file];
	uint8_t *buf = p->worker->staging + req->buf + work->done;
	const uint64_t at = req->offset + work->done;
	const unsigned int left = req->len - work->done;

	if (req->op == NS_READ) {
		io_uring_prep_read(sqe, fd, buf, left, at);
		return;
	}
	io_uring_prep_write(sqe, fd, buf, left, at);
	sqe->rw_flags = req->lasting ? RWF_DSYNC : 0;
}

static void prep_fill(const struct process *p, struct io_uring_sqe *sqe, const struct work *work)
{
	const struct storage_request *req = &work->req;
	const uint64_t left = req->len - work->done;

	io_uring_prep_write(sqe, p->worker->file[req->file], zeroes,
			    left < sizeof(zeroes) ? left : sizeof(zeroes),
			    req->offset + work->done);
}

static void prep_main(const struct process *p, struct io_uring_sqe *sqe, const struct work *work)
{
	const struct storage_request *req = &work->req;
	const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	const int fd = p->worker->file[req->file];

	switch (req->op) {
	case NS_ZERO:
		io_uring_prep_fallocate(sqe, fd, req->keep ? FALLOC_FL_ZERO_RANGE |
					FALLOC_FL_KEEP_SIZE : hole, req->offset, req->len);
		break;
	case NS_DISCARD:
		io_uring_prep_fallocate(sqe, fd, hole, req->offset, req->len);
		break;
	case NS_FLUSH:
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		break;
	default:
		prep_rw(p, sqe, work);
	}
}

static void work_go(struct process *p, struct work *work)
{
	struct io_uring_sqe *sqe = process_sqe(p);

	if (work->step == WORK_FILL)
		prep_fill(p, sqe, work);
	else if (work->step == WORK_SYNC)
		io_uring_prep_fsync(sqe, p->worker->file[work->req.file], IORING_FSYNC_DATASYNC);
	else
		prep_main(p, sqe, work);
	io_uring_sqe_set_data64(sqe, work->req.tag);
}

static bool request_is_right(const struct process *p, const struct storage_request *req)
{
	const struct storage_worker *worker = p->worker;

	if (req->op >= NS_OPS || req->file >= worker->files)
		return false;
	if (req->op != NS_READ && req->op != NS_WRITE)
		return true;
	return req->buf <= worker->staging_size && req->len <= worker->staging_size - req->buf;
}

/* One that was locked by the daemon, or by a process before this one, is so again. */
static bool process_lock(struct process *p)
{
	const struct storage_worker *worker = p->worker;

	while (p->locked < worker->files &&
	       !flock(worker->file[p->locked], p->lock[p->locked] | LOCK_NB))
		p->locked++;
	return p->locked == worker->files;
}

/* Files and block devices alike; it does not wait. */
static void work_size(struct process *p, struct work *work)
{
	const off_t size = lseek(p->worker->file[work->req.file], 0, SEEK_END);

	work->size = size < 0 ? 0 : size;
	work_end(p, work, size < 0 ? -errno : 0);
}

static bool process_take(struct process *p)
{
	struct storage_shared *shared = p->worker->shared;
	struct storage_request req;
	struct work *work;
	bool any = false;

	if (storage_get(&shared->ack) != p->epoch || !process_lock(p))
		return false;
	while (storage_get(&shared->requests) != p->taken) {
		memcpy(&req, &shared->request[p->taken % STORAGE_TAGS], sizeof(req));
		storage_set(&shared->taken, ++p->taken);
		any = true;
		if (req.tag >= STORAGE_TAGS)
			continue;
		work = &p->work[req.tag];
		memset(work, 0, sizeof(*work));
		work->req = req;
		if (!request_is_right(p, &req))
			work_end(p, work, -EINVAL);
		else if (req.op == NS_SIZE)
			work_size(p, work);
		else
			work_go(p, work);
	}
	return any;
}

/* ------------------------------------------------------------------------- */
/* Completions                                                               */
/* ------------------------------------------------------------------------- */

static bool is_unsupported(int err)
{
	return err == -EOPNOTSUPP || err == -ENOSYS || err == -EINVAL;
}

/* Data was moved, or zeroes written: as much as @res says. */
static void work_moved(struct process *p, struct work *work, int res)
{
	if (!res) {
		/* The file is shorter than it was, or takes no more. */
		work_end(p, work, -EIO);
		return;
	}
	work->done += res;
	if (work->done < work->req.len) {
		work_go(p, work);
		return;
	}
	if (work->step == WORK_FILL && work->req.lasting) {
		work->step = WORK_SYNC;
		work_go(p, work);
		return;
	}
	work_end(p, work, 0);
}

static void work_allocated(struct process *p, struct work *work, int res)
{
	if (work->req.op == NS_DISCARD) {
		/* It is advice, which not all storage can follow. */
		work_end(p, work, is_unsupported(res) ? 0 : res);
		return;
	}
	if (is_unsupported(res)) {
		work->step = WORK_FILL;
		work_go(p, work);
	} else if (!res && work->req.lasting) {
		work->step = WORK_SYNC;
		work_go(p, work);
	} else {
		work_end(p, work, res);
	}
}

static void work_done(struct process *p, struct work *work, int res)
{
	const uint8_t op = work->req.op;

	const bool allocates = op == NS_ZERO || op == NS_DISCARD;

	if (res == -EINTR || res == -EAGAIN)
		work_go(p, work);
	else if (allocates && work->step == WORK_MAIN)
		work_allocated(p, work, res);
	else if (res < 0 || op == NS_FLUSH || work->step == WORK_SYNC)
		work_end(p, work, res < 0 ? res : 0);
	else
		work_moved(p, work, res);
}

static void process_watch(struct process *p)
{
	struct io_uring_sqe *sqe = process_sqe(p);

	io_uring_prep_poll_add(sqe, p->worker->wake, POLLIN);
	io_uring_sqe_set_data64(sqe, WORKER_WAKE);
}

static void process_woken(struct process *p)
{
	uint64_t n;

	/* It does not block: if it is empty after all, so be it. */
	if (read(p->worker->wake, &n, sizeof(n)) < 0)
		n = 0;
	process_watch(p);
}

static bool process_reap(struct process *p)
{
	struct io_uring_cqe *cqe;
	uint64_t data;
	bool any = false;
	int res;

	while (!io_uring_peek_cqe(&p->ring, &cqe)) {
		data = io_uring_cqe_get_data64(cqe);
		res = cqe->res;
		io_uring_cqe_seen(&p->ring, cqe);
		any = true;
		if (data == WORKER_WAKE)
			process_woken(p);
		else
			work_done(p, &p->work[data % STORAGE_TAGS], res);
	}
	return any;
}

/* Sleeps until there is something to do, or it is time to look for the files again. */
static int process_wait_for_files(struct process *p)
{
	struct __kernel_timespec ts = { .tv_nsec = WORKER_LOCK_NS };
	struct io_uring_cqe *cqe;
	int n = io_uring_submit_and_wait_timeout(&p->ring, &cqe, 1, &ts, NULL);

	if (n != -ETIME)
		return n;
	if (++p->tries == WORKER_LOCK_TRIES)
		log_warn("storage: waits for files that another daemon has");
	return 0;
}

/* Sleeps unless a request has come meanwhile. */
static int process_sleep(struct process *p)
{
	struct storage_shared *shared = p->worker->shared;
	int n = 0;

	storage_set(&shared->worker_sleeps, 1);
	if (p->locked < p->worker->files)
		n = process_wait_for_files(p);
	else if (storage_get(&shared->ack) != p->epoch ||
		 storage_get(&shared->requests) == p->taken)
		n = io_uring_submit_and_wait(&p->ring, 1);
	storage_set(&shared->worker_sleeps, 0);
	return n == -EINTR || n == -EAGAIN || n == -EBUSY ? 0 : n;
}

static const uint8_t process_ops[] = {
	IORING_OP_READ, IORING_OP_WRITE, IORING_OP_FSYNC, IORING_OP_FALLOCATE,
	IORING_OP_POLL_ADD,
};

/*
 * One process uses the ring, so completions may wait until it asks for them: it takes as many at
 * once as there are, and none interrupts it.  Linux before 6.1 does not have that.
 */
static int process_ring_init(struct process *p)
{
	/* More than the requests under way, and the poll. */
	const unsigned int entries = 2 * STORAGE_TAGS;
	const unsigned int flags = IORING_SETUP_R_DISABLED;
	int err = io_uring_queue_init(entries, &p->ring, flags | IORING_SETUP_SINGLE_ISSUER |
				      IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG);

	return err == -EINVAL ? io_uring_queue_init(entries, &p->ring, flags) : err;
}

/* A ring that opens nothing, connects to nothing, and never will. */
static int process_ring(struct process *p)
{
	struct io_uring_restriction only[ARRAY_SIZE(process_ops)] = { 0 };
	unsigned int i;
	int err;

	err = process_ring_init(p);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(process_ops); i++) {
		only[i].opcode = IORING_RESTRICTION_SQE_OP;
		only[i].sqe_op = process_ops[i];
	}
	/* Debian's library has these two in its headers only. */
	if (syscall(SYS_io_uring_register, p->ring.ring_fd, IORING_REGISTER_RESTRICTIONS, only,
		    ARRAY_SIZE(process_ops)) ||
	    syscall(SYS_io_uring_register, p->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0))
		return -errno;
	return 0;
}

static void process_init(struct process *p, const struct storage_worker *worker, uint32_t epoch)
{
	unsigned int i;
	int flags;

	p->worker = worker;
	p->epoch = epoch;
	for (i = 0; i < worker->files; i++) {
		flags = fcntl(worker->file[i], F_GETFL);
		p->lock[i] = (flags & O_ACCMODE) == O_RDONLY ? LOCK_SH : LOCK_EX;
	}
}

int storage_work(const struct storage_worker *worker, uint32_t epoch)
{
	static struct process process;
	struct process *p = &process;
	const char ready = 'r';
	int err;

	process_init(p, worker, epoch);
	err = process_ring(p);
	if (err) {
		log_error("storage: io_uring: %s", strerror(-err));
		return EXIT_FAILURE;
	}
	if (worker->confine && worker->confine(true))
		return EXIT_FAILURE;
	process_watch(p);
	if (epoch == 1 && write(worker->life, &ready, sizeof(ready)) < 0)
		return EXIT_FAILURE;
	while (!storage_get(&worker->shared->stop)) {
		bool busy = process_take(p);

		if (io_uring_sq_ready(&p->ring))
			io_uring_submit(&p->ring);
		busy |= process_reap(p);
		process_tell(p);
		if (!busy && process_sleep(p) < 0)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
