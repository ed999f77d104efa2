// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The wire between a QP and a queue of a subsystem.
 *
 * Theory of operation
 *
 * A message is in the memory of a receive request of the SRQ when it is shown to
 * conn_take().  One that is a command is copied to a buffer of the connection, so that the
 * receive request is free at once and the guest cannot change what was checked.  There is one
 * buffer for each capsule whose data waits, and one command for each that is under way; a peer
 * that sends more is told to come again.
 *
 * Data of commands and answers are posted as requests of the QP with staging memory of the
 * daemon as payload.  Nothing is carried out while it is posted, so that nothing is nested.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/nvmf/conn.h"
#include "rdma/qp/offload.h"
#include "rdma/qp/qp_queues.h"

/* A command has data and an answer under way at once, at most. */
#define CONN_POSTS	(2 * 2 * SUBSYS_DEPTH)
#define CONN_CAPSULES	32u
#define CONN_HEAD	64u

/**
 * struct conn_post - a request
 * @post:	it
 * @conn:	whose
 * @cmd:	of which command
 * @entry:	of those that are free
 */
struct conn_post {
	struct qp_post post;
	struct conn *conn;
	struct nvmf_cmd *cmd;
	SLIST_ENTRY(conn_post) entry;
};

/**
 * struct conn - a QP with the offload
 * @offload:	as the QP sees it
 * @entry:	of the subsystem
 * @sub:	subsystem
 * @queue:	queue
 * @sq_size:	as SET_QP_NVMF has said
 * @capsule:	buffers
 * @capsules:	those that are free
 * @free:	numbers of them
 * @posts:	requests that are free
 * @post:	requests
 */
struct conn {
	struct qp_offload offload;
	LIST_ENTRY(conn) entry;
	struct subsys *sub;
	struct nvmf_queue *queue;
	uint16_t sq_size;
	uint8_t *capsule;
	unsigned int capsules;
	uint8_t free[CONN_CAPSULES];
	SLIST_HEAD(, conn_post) posts;
	struct conn_post post[CONN_POSTS];
};

static struct conn *conn_of(struct qp_offload *offload)
{
	return (struct conn *)((char *)offload - offsetof(struct conn, offload));
}

/* ------------------------------------------------------------------------- */
/* What the queue asks of its wire                                           */
/* ------------------------------------------------------------------------- */

/* The command of a request that has ended, which is free from now on. */
static struct nvmf_cmd *conn_ended(struct qp_post *post)
{
	struct conn_post *of = (struct conn_post *)((char *)post -
						    offsetof(struct conn_post, post));

	SLIST_INSERT_HEAD(&of->conn->posts, of, entry);
	return of->cmd;
}

static void conn_pulled(struct qp_post *post, int err)
{
	nvmf_moved(conn_ended(post), err);
}

static void conn_pushed(struct qp_post *post, int err __always_unused)
{
	conn_ended(post);
}

static void conn_answered(struct qp_post *post, int err)
{
	nvmf_sent(conn_ended(post), err);
}

static void conn_post(struct conn *conn, struct nvmf_cmd *cmd, const struct qp_post *post)
{
	struct conn_post *of = SLIST_FIRST(&conn->posts);

	/* There is one for all that a queue can ask for. */
	if (!of) {
		qp_offload_end(&conn->offload);
		return;
	}
	SLIST_REMOVE_HEAD(&conn->posts, entry);
	of->cmd = cmd;
	of->post = *post;
	qp_offload_post(&conn->offload, &of->post);
}

static void conn_pull(void *arg, struct nvmf_cmd *cmd, void *buf, uint32_t len, uint64_t addr,
		      uint32_t key)
{
	const struct qp_post post = {
		.opcode = VIRTIO_IB_WR_RDMA_READ,
		.buf = buf,
		.len = len,
		.remote_addr = addr,
		.key = key,
		.done = conn_pulled,
	};

	conn_post(arg, cmd, &post);
}

static void conn_push(void *arg, struct nvmf_cmd *cmd, const void *buf, uint32_t len,
		      uint64_t addr, uint32_t key)
{
	const struct qp_post post = {
		.opcode = VIRTIO_IB_WR_RDMA_WRITE,
		.buf = (void *)buf,
		.len = len,
		.remote_addr = addr,
		.key = key,
		.done = conn_pushed,
	};

	conn_post(arg, cmd, &post);
}

static void conn_answer(void *arg, struct nvmf_cmd *cmd, const void *cqe, bool inv,
			uint32_t key)
{
	const struct qp_post post = {
		.opcode = inv ? VIRTIO_IB_WR_SEND_WITH_INV : VIRTIO_IB_WR_SEND,
		.buf = (void *)cqe,
		.len = NVMF_CQE_SIZE,
		.key = key,
		.done = conn_answered,
	};

	conn_post(arg, cmd, &post);
}

static void conn_release(void *arg, void *cookie)
{
	struct conn *conn = arg;

	conn->free[conn->capsules++] = (uintptr_t)cookie;
}

static void conn_end(void *arg)
{
	struct conn *conn = arg;

	qp_offload_end(&conn->offload);
}

static const struct nvmf_wire_ops conn_wire_ops = {
	.pull = conn_pull,
	.push = conn_push,
	.answer = conn_answer,
	.release = conn_release,
	.end = conn_end,
};

/* ------------------------------------------------------------------------- */
/* What the QP tells                                                         */
/* ------------------------------------------------------------------------- */

static uint32_t conn_capsule_size(const struct subsys *sub)
{
	return le32toh(sub->req.capsule) * 16;
}

static bool conn_ready(struct qp_offload *offload)
{
	const struct conn *conn = conn_of(offload);

	return conn->capsules && nvmf_offload_ready(conn->queue);
}

static bool conn_take(struct qp_offload *offload, uint32_t len)
{
	struct conn *conn = conn_of(offload);
	uint8_t head[CONN_HEAD] = {}, *buf;
	uintptr_t i;

	if (len >= sizeof(head) && !qp_offload_read(offload->qp, head, sizeof(head)))
		return false;
	if (!nvmf_offload_wants(conn->queue, head, len) || !conn_ready(offload))
		return false;
	i = conn->free[conn->capsules - 1];
	buf = conn->capsule + i * conn_capsule_size(conn->sub);
	if (!qp_offload_read(offload->qp, buf, len))
		return false;
	/* The guest may have changed it meanwhile. */
	memcpy(buf, head, sizeof(head));
	conn->capsules--;
	nvmf_capsule(conn->queue, buf, len, (void *)i);
	return true;
}

static void conn_free(struct conn *conn)
{
	free(conn->capsule);
	free(conn);
}

static void conn_gone(struct qp_offload *offload, bool failed)
{
	struct conn *conn = conn_of(offload);

	if (failed)
		qp_report(offload->qp, VIRTIO_RDMA_EVENT_QP_FATAL);
	LIST_REMOVE(conn, entry);
	conn->sub->table->conns--;
	nvmf_queue_free(conn->queue);
	conn_free(conn);
}

static const struct qp_offload_ops conn_ops = {
	.ready = conn_ready,
	.take = conn_take,
	.gone = conn_gone,
};

/* ------------------------------------------------------------------------- */
/* Life                                                                      */
/* ------------------------------------------------------------------------- */

static struct conn *conn_alloc(struct subsys *sub)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	unsigned int i;

	if (!conn)
		return NULL;
	conn->capsule = calloc(CONN_CAPSULES, conn_capsule_size(sub));
	if (!conn->capsule) {
		conn_free(conn);
		return NULL;
	}
	conn->sub = sub;
	SLIST_INIT(&conn->posts);
	for (i = 0; i < CONN_CAPSULES; i++)
		conn->free[conn->capsules++] = i;
	for (i = 0; i < CONN_POSTS; i++) {
		conn->post[i].conn = conn;
		SLIST_INSERT_HEAD(&conn->posts, &conn->post[i], entry);
	}
	return conn;
}

const char *conn_start(struct subsys *sub, struct qp *qp, uint16_t sq_size, uint16_t sq_head)
{
	struct subsys_table *table = sub->table;
	struct conn *conn;

	if (table->conns == SUBSYS_CONNS_MAX)
		return rnic_why(table->ctx, "all %u QPs with the offload are in use",
				SUBSYS_CONNS_MAX);
	conn = conn_alloc(sub);
	if (!conn)
		return "out of memory";
	conn->queue = nvmf_offload_queue(sub->target, &conn_wire_ops, conn, table->ctx->name,
					 SUBSYS_DEPTH);
	if (!conn->queue) {
		conn_free(conn);
		return errno == EBUSY ? "commands of a connection before are not done yet" :
					"out of memory";
	}
	conn->offload.ops = &conn_ops;
	table->conns++;
	LIST_INSERT_HEAD(&sub->conns, conn, entry);
	qp_offload_start(qp, &conn->offload);
	conn_set_flow(qp, sq_size, sq_head);
	return NULL;
}

void conn_set_flow(struct qp *qp, uint16_t sq_size, uint16_t sq_head)
{
	struct conn *conn = conn_of(qp->offload);

	conn->sq_size = sq_size;
	nvmf_offload_flow(conn->queue, sq_size, sq_head);
}

void conn_stop(struct qp *qp)
{
	struct conn *conn = conn_of(qp->offload);
	const bool busy = !nvmf_queue_is_idle(conn->queue) || qp_offload_busy(qp);

	qp_offload_stop(qp, false);
	if (busy)
		qp_fail(qp);
}

void conn_drop_all(struct subsys *sub)
{
	struct conn *conn;

	while ((conn = LIST_FIRST(&sub->conns)))
		conn_stop(conn->offload.qp);
}

/* ------------------------------------------------------------------------- */
/* Saved                                                                     */
/* ------------------------------------------------------------------------- */

struct conn *conn_first(const struct subsys *sub)
{
	return LIST_FIRST(&sub->conns);
}

struct conn *conn_next(const struct conn *conn)
{
	return LIST_NEXT(conn, entry);
}

struct qp *conn_qp(const struct conn *conn)
{
	return conn->offload.qp;
}

bool conn_saved(const struct conn *conn, struct virtio_rdma_cmd_set_qp_nvmf *req)
{
	*req = (struct virtio_rdma_cmd_set_qp_nvmf) {
		.qpn = htole32(conn->offload.qp->qpn),
		.flags = htole32(VIRTIO_RDMA_QP_NVMF_ENABLE),
		.sq_size = htole16(conn->sq_size),
		.sq_head = htole16(conn->sq_size ? nvmf_offload_head(conn->queue) : 0),
	};
	return conn->offload.ending || !nvmf_queue_is_idle(conn->queue) ||
	       qp_offload_busy(conn->offload.qp);
}
