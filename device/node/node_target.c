// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A target of NVMe over Fabrics at a node: the wire between connections and queues.
 *
 * A connection of the node is a queue of the target.  It has a block of memory with a
 * receive buffer for each entry of the queue.  A buffer is posted again when the target
 * releases it, which may be in any order, so that a table says which buffer a receive
 * request is for, and another one which command a send request is of.
 *
 * When a connection ends, its requests complete first, those of its commands with an error.
 * The queue is freed when none is left, so that no NIC touches staging memory after that.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "node/node_target.h"
#include "rdma/object/fabric.h"

/* Bytes of a receive buffer. */
#define LINK_CAPSULE	((NVMF_CAPSULE_MAX + 63u) & ~63u)

_Static_assert(LINK_CAPSULE * NODE_RECV_MAX <= NODE_MEM_LARGEST,
	       "the receive buffers of a connection do not fit into a block");
_Static_assert(NVMF_CQE_SIZE <= NODE_INLINE_MAX, "an answer does not fit into a request");

/**
 * enum link_kind - what a send request does for its command
 * @LINK_PULL:	reads the initiator's memory
 * @LINK_PUSH:	writes to it
 * @LINK_ANSWER: answers
 */
enum link_kind {
	LINK_PULL,
	LINK_PUSH,
	LINK_ANSWER,
};

/**
 * struct link_op - a send request that is under way
 * @cmd:	its command
 * @kind:	what it does
 */
struct link_op {
	struct nvmf_cmd *cmd;
	enum link_kind kind;
};

/**
 * struct link - a connection
 * @conn:	it
 * @queue:	queue of the target
 * @recvs:	receive buffers
 * @buf:	them
 * @recv:	number of the buffer of each receive request
 * @op:		send requests
 */
struct link {
	struct node_conn *conn;
	struct nvmf_queue *queue;
	uint32_t recvs;
	uint8_t *buf;
	uint16_t recv[NODE_RECV_MAX];
	struct link_op op[NODE_SEND_MAX];
};

/**
 * struct node_target - a node with targets
 * @fabric:	that knows whose an address is
 * @node:	node
 * @targets:	number of @target
 * @target:	at each address of the node
 * @gid:	the addresses
 */
struct node_target {
	struct fabric *fabric;
	struct node *node;
	unsigned int targets;
	struct nvmf_target *target[NODE_GIDS];
	uint8_t gid[NODE_GIDS][GID_SIZE];
};

/* ------------------------------------------------------------------------- */
/* What the target asks of its wire                                          */
/* ------------------------------------------------------------------------- */

/*
 * The target has said how many requests there can be, and the queue holds as many.  So
 * there is room, or the target is wrong, which ends the connection and nothing else.
 */
static void link_post(struct link *link, struct nvmf_cmd *cmd, enum link_kind kind,
		      const struct virtio_rdma_swqe *wqe, const void *data, uint32_t len)
{
	struct node_qp *qp = &link->conn->qp;
	const uint32_t room = node_qp_room(qp);
	uint32_t index;

	if (!room) {
		node_cm_end(link->conn);
		return;
	}
	/* The answer to a push follows, and has a completion for both. */
	if (kind == LINK_PUSH && room > 1)
		index = node_qp_post_quiet(qp, wqe, data, len);
	else
		index = node_qp_post(qp, wqe, data, len);
	link->op[index % qp->send_depth] = (struct link_op) { .cmd = cmd, .kind = kind };
}

static struct virtio_rdma_swqe link_move(uint8_t opcode, uint64_t addr, uint32_t key)
{
	return (struct virtio_rdma_swqe) {
		.opcode = opcode,
		.rdma = {
			.remote_addr = htole64(addr),
			.rkey = htole32(key),
		},
	};
}

static void link_pull(void *conn, struct nvmf_cmd *cmd, void *buf, uint32_t len,
		      uint64_t addr, uint32_t key)
{
	const struct virtio_rdma_swqe wqe = link_move(VIRTIO_IB_WR_RDMA_READ, addr, key);

	link_post(conn, cmd, LINK_PULL, &wqe, buf, len);
}

static void link_push(void *conn, struct nvmf_cmd *cmd, const void *buf, uint32_t len,
		      uint64_t addr, uint32_t key)
{
	const struct virtio_rdma_swqe wqe = link_move(VIRTIO_IB_WR_RDMA_WRITE, addr, key);

	link_post(conn, cmd, LINK_PUSH, &wqe, buf, len);
}

static void link_answer(void *conn, struct nvmf_cmd *cmd, const void *cqe, bool inv,
			uint32_t key)
{
	struct virtio_rdma_swqe wqe = {
		.opcode = inv ? VIRTIO_IB_WR_SEND_WITH_INV : VIRTIO_IB_WR_SEND,
		.send_flags = VIRTIO_IB_SEND_INLINE,
		.inline_len = htole16(NVMF_CQE_SIZE),
		.invalidate_rkey = htole32(inv ? key : 0),
	};

	memcpy(wqe.inline_data, cqe, NVMF_CQE_SIZE);
	link_post(conn, cmd, LINK_ANSWER, &wqe, NULL, 0);
}

static void link_recv(struct link *link, uint16_t i)
{
	struct node_qp *qp = &link->conn->qp;
	const uint32_t index = node_qp_recv(qp, link->buf + (size_t)i * LINK_CAPSULE,
					    LINK_CAPSULE);

	link->recv[index % qp->recv_depth] = i;
}

/* A connection that ends receives nothing any more. */
static void link_release(void *conn, void *cookie)
{
	struct link *link = conn;

	if (link->conn->state != NODE_CONN_ENDING)
		link_recv(link, (uintptr_t)cookie);
}

static void link_end(void *conn)
{
	struct link *link = conn;

	node_cm_end(link->conn);
}

static const struct nvmf_wire_ops link_ops = {
	.pull = link_pull,
	.push = link_push,
	.answer = link_answer,
	.release = link_release,
	.end = link_end,
};

/* ------------------------------------------------------------------------- */
/* What the node tells of its connections                                    */
/* ------------------------------------------------------------------------- */

static struct nvmf_target *target_at(const struct node_target *of, const uint8_t *gid)
{
	unsigned int i;

	for (i = 0; i < of->targets; i++)
		if (gid_equal(of->gid[i], gid))
			return of->target[i];
	return NULL;
}

/* The guest that an address leads to: nobody else can send from there. */
static const char *guest_of(const struct node_target *of, const uint8_t *gid)
{
	const struct gid *owner = fabric_find(of->fabric, gid, 0);

	return owner ? owner->end->ctx->name : NULL;
}

static void *target_ask(void *arg, struct node_conn *conn, const struct node_asked *asked,
			struct node_answer *answer)
{
	const struct node_target *of = arg;
	const struct nvmf_peer peer = {
		.req = asked->private,
		.len = CM_REQ_PRIVATE,
		.guest = guest_of(of, asked->from),
	};
	struct nvmf_target *target = target_at(of, asked->to);
	struct link *link = target ? calloc(1, sizeof(*link)) : NULL;
	struct nvmf_cm_answer told;

	if (!link)
		return NULL;
	link->conn = conn;
	link->queue = nvmf_queue_new(target, &link_ops, link, &peer, &told);
	memcpy(answer->data, told.data, told.len);
	answer->len = told.len;
	if (!link->queue) {
		free(link);
		return NULL;
	}
	/* A command does a pull, or a push with its answer behind it, at a time. */
	answer->sends = 2u * told.sends;
	answer->recvs = told.recvs;
	link->recvs = told.recvs;
	return link;
}

static bool target_ready(void *user)
{
	struct link *link = user;
	uint32_t i;

	link->buf = node_mem_get(link->conn->qp.verbs->mem, link->recvs * LINK_CAPSULE);
	if (!link->buf)
		return false;
	for (i = 0; i < link->recvs; i++)
		link_recv(link, i);
	return true;
}

static void target_received(struct link *link, const struct virtio_rdma_cqe *cqe)
{
	const uint16_t i = link->recv[le32toh(cqe->wqe) % link->conn->qp.recv_depth];

	if (!cqe->status)
		nvmf_capsule(link->queue, link->buf + (size_t)i * LINK_CAPSULE,
			     le32toh(cqe->byte_len), (void *)(uintptr_t)i);
}

static void target_done(void *user, const struct virtio_rdma_cqe *cqe)
{
	struct link *link = user;
	const struct link_op *op = &link->op[le32toh(cqe->wqe) % link->conn->qp.send_depth];
	const int err = cqe->status ? -EIO : 0;

	if (cqe->opcode & VIRTIO_RDMA_CQE_RECV)
		target_received(link, cqe);
	else if (op->kind == LINK_PULL)
		nvmf_moved(op->cmd, err);
	else if (op->kind == LINK_ANSWER)
		nvmf_sent(op->cmd, err);
}

static void target_gone(void *user)
{
	struct link *link = user;

	nvmf_queue_free(link->queue);
	if (link->buf)
		node_mem_put(link->conn->qp.verbs->mem, link->buf);
	free(link);
}

static const struct node_cm_ops target_ops = {
	.ask = target_ask,
	.ready = target_ready,
	.done = target_done,
	.gone = target_gone,
};

/* ------------------------------------------------------------------------- */

static void free_targets(struct node_target *of)
{
	while (of->targets)
		nvmf_target_free(of->target[--of->targets]);
	free(of);
}

/* One at each address, or NULL with errno set. */
static struct node_target *make_targets(struct nvmf *nvmf, const struct node_config *node,
					const struct nvmf_target_config *target)
{
	struct node_target *of = calloc(1, sizeof(*of));
	struct nvmf_target_config config = *target;
	char addr[INET6_ADDRSTRLEN];
	unsigned int i;
	int err;

	if (!of)
		return NULL;
	config.traddr = addr;
	config.trsvcid = "4420";
	for (i = 0; i < node->gids; i++) {
		if (gid_is_ipv4(node->gid[i]))
			inet_ntop(AF_INET, node->gid[i] + GID_IPV4, addr, sizeof(addr));
		else
			inet_ntop(AF_INET6, node->gid[i], addr, sizeof(addr));
		memcpy(of->gid[i], node->gid[i], GID_SIZE);
		of->target[i] = nvmf_target_new(nvmf, &config);
		if (!of->target[i]) {
			err = errno;
			free_targets(of);
			errno = err;
			return NULL;
		}
		of->targets++;
	}
	return of;
}

struct node_target *node_target_new(struct loop *loop, struct l2_switch *sw,
				    struct fabric *fabric, struct nvmf *nvmf,
				    const struct node_config *node,
				    const struct nvmf_target_config *target)
{
	struct node_target *of = make_targets(nvmf, node, target);
	struct node_config config = *node;
	int err;

	if (!of)
		return NULL;
	of->fabric = fabric;
	config.service = NODE_TARGET_PORT;
	config.ops = &target_ops;
	config.arg = of;
	of->node = node_new(loop, sw, fabric, &config);
	if (of->node)
		return of;
	err = errno;
	free_targets(of);
	errno = err;
	return NULL;
}

void node_target_stop(struct node_target *of)
{
	node_stop(of->node);
}

void node_target_resume(struct node_target *of)
{
	node_resume(of->node);
}

void node_target_free(struct node_target *of)
{
	node_free(of->node);
	free_targets(of);
}

struct rnic *node_target_rnic(const struct node_target *of)
{
	return of->node->rnic;
}

unsigned int node_target_conns(const struct node_target *of)
{
	return node_cm_conns(&of->node->cm);
}

const struct nvmf_counters *node_target_counters(const struct node_target *of,
						 unsigned int i)
{
	return i < of->targets ? nvmf_target_counters(of->target[i]) : NULL;
}
