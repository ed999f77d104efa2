// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How the strict device gets between the parts of the daemon: the linker replaces
 * references to each function f below by __wrap_f, and __real_f by f.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/rnic_priv.h"
#include "tests/strict/strict.h"

static TAILQ_HEAD(strict_list, strict) all = TAILQ_HEAD_INITIALIZER(all);

struct rnic *__real_rnic_new(struct loop *loop, struct fabric *fabric,
			     const struct rnic_limits *limits, const char *name);
struct rnic *__wrap_rnic_new(struct loop *loop, struct fabric *fabric,
			     const struct rnic_limits *limits, const char *name);
void __real_rnic_free(struct rnic *rnic);
void __wrap_rnic_free(struct rnic *rnic);
void __real_rnic_reset(struct rnic *rnic);
void __wrap_rnic_reset(struct rnic *rnic);
void __real_rnic_queue_start(struct rnic *rnic, enum rnic_queue kind,
			     uint32_t number, struct virtq *vq);
void __wrap_rnic_queue_start(struct rnic *rnic, enum rnic_queue kind,
			     uint32_t number, struct virtq *vq);
void __real_rnic_queue_stop(struct rnic *rnic, enum rnic_queue kind,
			    uint32_t number);
void __wrap_rnic_queue_stop(struct rnic *rnic, enum rnic_queue kind,
			    uint32_t number);
void __real_rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind,
			    uint32_t number);
void __wrap_rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind,
			    uint32_t number);
uint8_t __real_rnic_command(struct rnic *rnic, uint8_t command,
			    const struct rnic_request *req, void *rsp,
			    size_t rsp_size, size_t *rsp_len);
uint8_t __wrap_rnic_command(struct rnic *rnic, uint8_t command,
			    const struct rnic_request *req, void *rsp,
			    size_t rsp_size, size_t *rsp_len);
int __real_virtq_pop(struct virtq *vq, struct virtq_elem *elem);
int __wrap_virtq_pop(struct virtq *vq, struct virtq_elem *elem);

static struct strict *strict_of(const struct rnic *rnic)
{
	struct strict *s;

	TAILQ_FOREACH(s, &all, entry)
		if (s->rnic == rnic)
			return s;
	abort();
}

struct rnic *__wrap_rnic_new(struct loop *loop, struct fabric *fabric,
			     const struct rnic_limits *limits, const char *name)
{
	const uint32_t numbers[RNIC_QUEUES] = {
		[RNIC_CQ] = limits->cqs,
		[RNIC_SQ] = limits->qps,
		[RNIC_RQ] = limits->qps,
	};
	struct strict *s = calloc(1, sizeof(*s));
	unsigned int kind;

	s->limits = *limits;
	s->limits.rfc = true;
	s->limits.cqe = limits->queue_size;
	s->rnic = __real_rnic_new(loop, fabric, &s->limits, name);
	if (!s->rnic) {
		free(s);
		return NULL;
	}
	snprintf(s->name, sizeof(s->name), "%s", name);
	TAILQ_INIT(&s->object);
	for (kind = 0; kind < RNIC_QUEUES; kind++)
		s->queue[kind] = calloc(numbers[kind], sizeof(*s->queue[kind]));
	TAILQ_INSERT_TAIL(&all, s, entry);
	return s->rnic;
}

void __wrap_rnic_free(struct rnic *rnic)
{
	struct strict *s = strict_of(rnic);
	unsigned int kind;

	strict_forget(s);
	for (kind = 0; kind < RNIC_QUEUES; kind++)
		free(s->queue[kind]);
	TAILQ_REMOVE(&all, s, entry);
	free(s);
	__real_rnic_free(rnic);
}

void __wrap_rnic_reset(struct rnic *rnic)
{
	strict_forget(strict_of(rnic));
	__real_rnic_reset(rnic);
}

void __wrap_rnic_queue_start(struct rnic *rnic, enum rnic_queue kind,
			     uint32_t number, struct virtq *vq)
{
	struct strict_queue *queue = &strict_of(rnic)->queue[kind][number];

	queue->vq = vq;
	queue->kind = kind;
	queue->number = number;
	queue->kicks = 0;
	__real_rnic_queue_start(rnic, kind, number, vq);
}

void __wrap_rnic_queue_stop(struct rnic *rnic, enum rnic_queue kind,
			    uint32_t number)
{
	__real_rnic_queue_stop(rnic, kind, number);
	strict_of(rnic)->queue[kind][number].vq = NULL;
}

void __wrap_rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind,
			    uint32_t number)
{
	struct strict *s = strict_of(rnic);

	strict_kick(s, &s->queue[kind][number]);
	__real_rnic_queue_kick(rnic, kind, number);
}

/* A request is looked at as a whole, and the device does not go on with it later. */
uint8_t __wrap_rnic_command(struct rnic *rnic, uint8_t command,
			    const struct rnic_request *req, void *rsp,
			    size_t rsp_size, size_t *rsp_len)
{
	struct strict *s = strict_of(rnic);
	void *copy = malloc(req->len ? req->len : 1);
	uint8_t ack;

	if (!copy)
		abort();
	iov_to_buf(req->iov, req->iov_n, req->off, copy, req->len);
	strict_before(s, command, copy, req->len);
	ack = __real_rnic_command(rnic, command, req, rsp, rsp_size, rsp_len);
	while (ack == RNIC_COMMAND_MORE)
		ack = rnic_command_more(rnic, rsp, rsp_len);
	strict_after(s, command, copy, ack, rsp);
	free(copy);
	return ack;
}

/* The RDMA queue that @vq belongs to, or NULL. */
static const struct strict_queue *queue_of(const struct virtq *vq, struct strict **s)
{
	uint32_t at = vq->index - STRICT_CTRL - 1;
	const struct strict_queue *queue;

	TAILQ_FOREACH(*s, &all, entry) {
		if (at < (*s)->limits.cqs)
			queue = &(*s)->queue[RNIC_CQ][at];
		else if ((at - (*s)->limits.cqs) / 2 < (*s)->limits.qps)
			queue = &(*s)->queue[(at - (*s)->limits.cqs) % 2 ? RNIC_RQ :
					     RNIC_SQ][(at - (*s)->limits.cqs) / 2];
		else
			continue;
		if (queue->vq == vq)
			return queue;
	}
	return NULL;
}

/*
 * Does the driver of this control queue use RoCE?  One that does not has no RoCE
 * queues, and may give a command any form that the virtio standard allows.
 */
static bool is_roce(const struct virtq *vq)
{
	const struct strict *s;

	TAILQ_FOREACH(s, &all, entry)
		if (s->rnic->ctx.mem == vq->mem)
			return s->queue[RNIC_CQ][0].vq;
	return true;
}

int __wrap_virtq_pop(struct virtq *vq, struct virtq_elem *elem)
{
	const struct strict_queue *queue;
	int ret = __real_virtq_pop(vq, elem);
	struct strict *s;

	if (ret == -EPROTO)
		strict_fail(NULL, "virtqueue %u is broken", vq->index);
	if (ret <= 0 || vq->index < STRICT_CTRL)
		return ret;
	if (vq->index == STRICT_CTRL) {
		if (is_roce(vq))
			strict_frame(elem);
		return ret;
	}
	queue = queue_of(vq, &s);
	if (queue)
		strict_slot(s, queue, elem);
	return ret;
}
