/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues.
 */
#ifndef DEVICE_RDMA_OBJECT_CQ_H
#define DEVICE_RDMA_OBJECT_CQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdma/object/ctx.h"

TAILQ_HEAD(cq_held_list, cq_held);
LIST_HEAD(cq_user_held, cq_held);
TAILQ_HEAD(cq_user_list, cq_user);

/**
 * struct cq_user - a queue that completes to a CQ
 * @fail:	the CQ has lost a completion: nothing of the queue can complete
 * @resume:	the CQ's virtqueue is there again
 * @arg:	for both
 * @held:	its completions that wait for a slot
 * @entry:	of the CQ
 */
struct cq_user {
	void (*fail)(void *arg);
	void (*resume)(void *arg);
	void *arg;
	struct cq_user_held held;
	TAILQ_ENTRY(cq_user) entry;
};

/**
 * struct cq - completion queue
 * @table:	that it is in
 * @cqn:	its number, also that of its virtqueue
 * @vq:		its virtqueue, or NULL while that is stopped
 * @users:	send and receive queues that complete to it
 * @armed:	&enum virtio_ib_notify_flags asked for since the last interrupt
 *		for a completion in a slot
 * @told:	an interrupt for a completion that is held, since it was armed
 * @error:	a completion was lost; nothing is completed any more
 * @held:	completions that wait for a slot, the oldest one first
 * @held_n:	number of them
 * @held_max:	how many may wait
 * @timer:	looks for slots while completions wait
 * @wait_ns:	its interval
 */
struct cq {
	struct cq_table *table;
	uint32_t cqn;
	struct virtq *vq;
	struct cq_user_list users;
	uint32_t armed;
	bool told;
	bool error;
	struct cq_held_list held;
	uint32_t held_n;
	uint32_t held_max;
	struct loop_timer timer;
	uint64_t wait_ns;
};

/**
 * struct cq_table - the CQs of a NIC
 * @ctx:	the NIC's context
 * @cq:		CQs by number
 * @vq:		virtqueues that are started, by number of the CQ
 * @held:	completions that all CQs together hold without a slot
 */
struct cq_table {
	struct rnic_ctx *ctx;
	struct cq **cq;
	struct virtq **vq;
	uint32_t held;
};

/** cq_table_init() - make an empty table; returns 0 or -ENOMEM */
int cq_table_init(struct cq_table *cqs, struct rnic_ctx *ctx);

/** cq_table_reset() - destroy all CQs, after all that complete to them */
void cq_table_reset(struct cq_table *cqs);

/** cq_table_fini() - free a table without CQs, even if cq_table_init() failed */
void cq_table_fini(struct cq_table *cqs);

/** cq_set_queue() - the virtqueue of CQN @cqn may be used; NULL: not any more */
void cq_set_queue(struct cq_table *cqs, uint32_t cqn, struct virtq *vq);

/** cq_get() - CQ by number, or NULL */
static inline struct cq *cq_get(const struct cq_table *cqs, uint32_t cqn)
{
	return cqn < cqs->ctx->limits.cqs ? cqs->cq[cqn] : NULL;
}

/**
 * cq_create() - make a completion queue
 * @cqs:	CQs of the NIC
 * @cqe:	completions that it shall hold
 * @cqn:	set to its number
 *
 * Return: NULL, or why it failed.
 */
const char *cq_create(struct cq_table *cqs, uint32_t cqe, uint32_t *cqn);

/** cq_destroy() - destroy a CQ without users; returns NULL, or why not */
const char *cq_destroy(struct cq_table *cqs, uint32_t cqn);

/** cq_attach() - a queue completes to a CQ */
void cq_attach(struct cq *cq, struct cq_user *user);

/** cq_detach() - it does not any more, and what waits for a slot is dropped */
void cq_detach(struct cq *cq, struct cq_user *user);

/** cq_arm() - carry out REQ_NOTIFY_CQ; returns NULL, or why not */
const char *cq_arm(struct cq_table *cqs, uint32_t cqn, uint32_t flags);

/**
 * cq_add() - add a completion, and interrupt if it was asked for
 * @cq:		CQ
 * @user:	queue of @cq that the completion is of
 * @wc:		completion
 * @solicited:	it is that of a receive request whose sender set the solicited
 *		event
 *
 * If the CQ is full, it and all its users fail.
 */
void cq_add(struct cq *cq, struct cq_user *user,
	    const struct virtio_rdma_cq_req *wc, bool solicited);

/** cq_forget() - drop the completions of a queue that wait for a slot */
void cq_forget(struct cq *cq, struct cq_user *user);

#endif /* DEVICE_RDMA_OBJECT_CQ_H */
