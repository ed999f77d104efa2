// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * NVMe controllers of software: queues and doorbells in memory, and a thread behind them.
 *
 * Theory of operation
 *
 * The device is the driver of such a controller.  It writes a command into the submission queue
 * and then the new tail into a word of memory, the doorbell.  The thread takes the command, has
 * the namespace carry it out, and writes a completion whose phase bit says that it is new.
 *
 * A doorbell of memory wakes nobody up.  So the thread reads it again and again, and sleeps
 * between, longer and longer while nothing comes.
 *
 * The controller is made with VIRTIO_ROCEDV_NVME_CTRL_REGION_ADDR: data pointers are addresses
 * of the staging memory in this process.  They follow each other, because the device cuts the
 * staging memory into pieces and each command has one.  The thread checks that, as it checks
 * all that it reads.
 */

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctrl.h"
#include "nvmf/nvme.h"
#include "storage/ns.h"

#define CTRL_PAGE	4096
#define CTRL_NSID	1
/* Looks at the doorbell without a sleep between. */
#define CTRL_LOOKS	2000
#define CTRL_SLEEP_MIN	(50 * 1000)
#define CTRL_SLEEP_MAX	(2 * 1000 * 1000)

/**
 * struct ctrl_io - a request to the namespace, which is done before it is submitted again
 * @io:		it, which comes first
 * @err:	how it ended
 */
struct ctrl_io {
	struct ns_io io;
	int err;
};

/**
 * struct ctrl - a controller
 * @ns:		namespace
 * @staging:	where data is
 * @depth:	entries of each queue
 * @mr:		region of the queues and doorbells
 * @sq:		submission queue
 * @cq:		completion queue
 * @sqdb:	doorbell of @sq: its tail
 * @cqdb:	doorbell of @cq: its head
 * @head:	next command
 * @tail:	next completion
 * @phase:	that it has
 * @commands:	how many were carried out
 * @stop:	the thread is to end
 * @thread:	thread
 */
struct ctrl {
	struct ns *ns;
	struct ctrl_staging staging;
	uint16_t depth;
	struct ibv_mr *mr;
	struct nvme_sqe *sq;
	struct nvme_cqe *cq;
	__le32 *sqdb;
	__le32 *cqdb;
	uint16_t head;
	uint16_t tail;
	bool phase;
	atomic_ullong commands;
	atomic_bool stop;
	pthread_t thread;
};

/* ------------------------------------------------------------------------- */
/* Data                                                                      */
/* ------------------------------------------------------------------------- */

/* Of a command without SGL, the two data pointers are in the place of that. */
static void ctrl_pointers(const struct nvme_sqe *sqe, uint64_t pointer[2])
{
	__le64 raw[2];

	memcpy(raw, &sqe->sgl, sizeof(raw));
	pointer[0] = le64toh(raw[0]);
	pointer[1] = le64toh(raw[1]);
}

/* A part of the staging memory, or NULL if it is not one. */
static void *ctrl_memory(const struct ctrl *ctrl, uint64_t addr, uint64_t len)
{
	const uint64_t at = addr - (uintptr_t)ctrl->staging.buf;

	if (at > ctrl->staging.size || len > ctrl->staging.size - at)
		return NULL;
	return (uint8_t *)ctrl->staging.buf + at;
}

/* The data of a command: whole pages, one behind the other. */
static void *ctrl_data(const struct ctrl *ctrl, const struct nvme_sqe *sqe, uint64_t len)
{
	const uint64_t pages = (len + CTRL_PAGE - 1) / CTRL_PAGE;
	const __le64 *list;
	uint64_t pointer[2], i;

	ctrl_pointers(sqe, pointer);
	if (pages == 2 && pointer[1] != pointer[0] + CTRL_PAGE)
		return NULL;
	list = pages > 2 ? ctrl_memory(ctrl, pointer[1], (pages - 1) * sizeof(*list)) : NULL;
	if (pages > 2 && !list)
		return NULL;
	for (i = 1; pages > 2 && i < pages; i++)
		if (le64toh(list[i - 1]) != pointer[0] + i * CTRL_PAGE)
			return NULL;
	return ctrl_memory(ctrl, pointer[0], len);
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void ctrl_done(struct ns_io *io, int err)
{
	((struct ctrl_io *)io)->err = err;
}

static uint16_t ctrl_status(enum ns_op op, int err)
{
	switch (err) {
	case 0:
		return NVME_OK;
	case -EROFS:
		return NVME_NS_PROTECTED | NVME_DNR;
	case -EINVAL:
		return NVME_LBA_RANGE | NVME_DNR;
	case -ENOSPC:
		return NVME_CAPACITY | NVME_DNR;
	default:
		return (op == NS_READ ? NVME_READ_ERROR : NVME_WRITE_FAULT) | NVME_DNR;
	}
}

static uint16_t ctrl_submit(struct ctrl *ctrl, struct ns_io io)
{
	/* A namespace of a file or memory ends a request at once. */
	struct ctrl_io request = { .io = io, .err = -EINPROGRESS };

	request.io.done = ctrl_done;
	ns_submit(ctrl->ns, &request.io);
	return ctrl_status(io.op, request.err);
}

static uint16_t ctrl_move(struct ctrl *ctrl, const struct nvme_sqe *sqe, enum ns_op op)
{
	const uint64_t block = le32toh(sqe->cdw10) | (uint64_t)le32toh(sqe->cdw11) << 32;
	const uint32_t how = le32toh(sqe->cdw12);
	const uint64_t len = ((how & UINT16_MAX) + 1ull) * ctrl->ns->block;

	struct ns_io io = {
		.op = op,
		.lasting = op == NS_WRITE && how & NVME_RW_FUA,
		.offset = block * ctrl->ns->block,
		.len = len,
	};

	if (block > ctrl->ns->size / ctrl->ns->block)
		return NVME_LBA_RANGE | NVME_DNR;
	io.buf = ctrl_data(ctrl, sqe, len);
	return io.buf ? ctrl_submit(ctrl, io) : NVME_INVALID_FIELD | NVME_DNR;
}

static uint16_t ctrl_command(struct ctrl *ctrl, const struct nvme_sqe *sqe)
{
	if (le32toh(sqe->nsid) != CTRL_NSID)
		return NVME_INVALID_NS | NVME_DNR;
	switch (sqe->opcode) {
	case NVME_IO_READ:
		return ctrl_move(ctrl, sqe, NS_READ);
	case NVME_IO_WRITE:
		return ctrl_move(ctrl, sqe, NS_WRITE);
	case NVME_IO_FLUSH:
		return ctrl_submit(ctrl, (struct ns_io){ .op = NS_FLUSH });
	default:
		return NVME_INVALID_OPCODE | NVME_DNR;
	}
}

/* There is always room: the device has fewer commands under way than the queue has entries. */
static void ctrl_complete(struct ctrl *ctrl, __le16 cid, uint16_t status)
{
	struct nvme_cqe *cqe = &ctrl->cq[ctrl->tail];

	cqe->result = 0;
	cqe->sqhd = htole16(ctrl->head);
	cqe->sqid = 0;
	cqe->cid = cid;
	/* The phase last. */
	__atomic_store_n(&cqe->status, htole16(status << 1 | ctrl->phase), __ATOMIC_RELEASE);
	ctrl->tail = (ctrl->tail + 1) % ctrl->depth;
	if (!ctrl->tail)
		ctrl->phase = !ctrl->phase;
}

/* True if there was a command. */
static bool ctrl_look(struct ctrl *ctrl)
{
	const uint32_t to = le32toh(__atomic_load_n(ctrl->sqdb, __ATOMIC_ACQUIRE));
	struct nvme_sqe sqe;
	uint16_t status;

	/* A tail that is not one is left alone: the device will miss its completions. */
	if (to >= ctrl->depth || ctrl->head == to)
		return false;
	sqe = ctrl->sq[ctrl->head];
	ctrl->head = (ctrl->head + 1) % ctrl->depth;
	status = ctrl_command(ctrl, &sqe);
	/* It is counted when its answer is seen. */
	atomic_fetch_add(&ctrl->commands, 1);
	ctrl_complete(ctrl, sqe.cid, status);
	return true;
}

static void *ctrl_thread(void *arg)
{
	struct timespec pause = { .tv_nsec = CTRL_SLEEP_MIN };
	struct ctrl *ctrl = arg;
	unsigned int idle = 0;

	while (!atomic_load_explicit(&ctrl->stop, memory_order_relaxed)) {
		if (ctrl_look(ctrl)) {
			idle = 0;
			pause.tv_nsec = CTRL_SLEEP_MIN;
			continue;
		}
		if (++idle < CTRL_LOOKS)
			continue;
		nanosleep(&pause, NULL);
		pause.tv_nsec *= 2;
		if (pause.tv_nsec > CTRL_SLEEP_MAX)
			pause.tv_nsec = CTRL_SLEEP_MAX;
	}
	return NULL;
}

/* ------------------------------------------------------------------------- */
/* Beginning and end                                                         */
/* ------------------------------------------------------------------------- */

static size_t ctrl_pages(size_t size)
{
	return (size + CTRL_PAGE - 1) & ~(size_t)(CTRL_PAGE - 1);
}

/* Queues, each on pages of its own, and a page with the doorbells. */
static int ctrl_memory_new(struct ctrl *ctrl, struct ibv_pd *pd)
{
	const size_t sq = ctrl_pages(ctrl->depth * sizeof(*ctrl->sq));
	const size_t cq = ctrl_pages(ctrl->depth * sizeof(*ctrl->cq));
	const size_t size = sq + cq + CTRL_PAGE;
	uint8_t *buf = aligned_alloc(CTRL_PAGE, size);

	if (!buf)
		return ENOMEM;
	memset(buf, 0, size);
	ctrl->mr = ibv_reg_mr(pd, buf, size, IBV_ACCESS_LOCAL_WRITE);
	if (!ctrl->mr) {
		free(buf);
		return errno;
	}
	ctrl->sq = (struct nvme_sqe *)buf;
	ctrl->cq = (struct nvme_cqe *)(buf + sq);
	ctrl->sqdb = (__le32 *)(buf + sq + cq);
	ctrl->cqdb = ctrl->sqdb + 1;
	return 0;
}

static void ctrl_memory_free(struct ctrl *ctrl)
{
	void *buf = ctrl->mr->addr;

	ibv_dereg_mr(ctrl->mr);
	free(buf);
}

/* Signals are for the other thread. */
static int ctrl_start(struct ctrl *ctrl)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&ctrl->thread, NULL, ctrl_thread, ctrl);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

struct ctrl *ctrl_new(struct ibv_pd *pd, struct ns *ns, struct ctrl_staging staging,
		      uint16_t depth)
{
	struct ctrl *ctrl = calloc(1, sizeof(*ctrl));
	int err;

	if (!ctrl)
		return NULL;
	ctrl->ns = ns;
	ctrl->staging = staging;
	ctrl->depth = depth;
	ctrl->phase = true;
	err = ctrl_memory_new(ctrl, pd);
	if (err)
		goto err_free;
	err = ctrl_start(ctrl);
	if (err)
		goto err_memory;
	return ctrl;

err_memory:
	ctrl_memory_free(ctrl);
err_free:
	free(ctrl);
	errno = err;
	return NULL;
}

static struct virtio_rocedv_mr_sg ctrl_part(const struct ctrl *ctrl, void *addr, uint64_t len)
{
	struct virtio_rocedv_mr_sg part = { .mr = ctrl->mr, .len = len };

	part.addr = addr;
	return part;
}

struct virtio_rocedv_nvme_ctrl_attrs ctrl_attrs(const struct ctrl *ctrl)
{
	struct virtio_rocedv_nvme_ctrl_attrs attrs = {
		.comp_mask = VIRTIO_ROCEDV_NVME_CTRL_FLAGS,
		.flags = VIRTIO_ROCEDV_NVME_CTRL_REGION_ADDR,
	};

	attrs.sq_buf = ctrl_part(ctrl, ctrl->sq, ctrl->depth * sizeof(*ctrl->sq));
	attrs.cq_buf = ctrl_part(ctrl, ctrl->cq, ctrl->depth * sizeof(*ctrl->cq));
	attrs.sqdb = ctrl_part(ctrl, ctrl->sqdb, sizeof(*ctrl->sqdb));
	attrs.cqdb = ctrl_part(ctrl, ctrl->cqdb, sizeof(*ctrl->cqdb));
	return attrs;
}

uint64_t ctrl_commands(const struct ctrl *ctrl)
{
	return atomic_load(&ctrl->commands);
}

void ctrl_free(struct ctrl *ctrl)
{
	atomic_store(&ctrl->stop, true);
	pthread_join(ctrl->thread, NULL);
	ctrl_memory_free(ctrl);
	free(ctrl);
}
