/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues.
 */
#ifndef DEVICE_CQ_H
#define DEVICE_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/rnic_priv.h"

TAILQ_HEAD(cq_held_list, cq_held);

/**
 * struct cq - completion queue
 * @rnic:	NIC that it belongs to
 * @cqn:	its number, also that of its virtqueue
 * @refs:	send and receive queues that complete to it
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
	struct rnic *rnic;
	uint32_t cqn;
	uint32_t refs;
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
 * cq_create() - make a completion queue
 * @rnic:	NIC
 * @cqe:	completions that it shall hold
 * @cqn:	set to its number
 *
 * Return: NULL, or why it failed.
 */
const char *cq_create(struct rnic *rnic, uint32_t cqe, uint32_t *cqn);

/** cq_destroy() - destroy a CQ without QPs; returns NULL, or why not */
const char *cq_destroy(struct rnic *rnic, uint32_t cqn);

/** cq_free_all() - destroy all CQs of a NIC, after its QPs */
void cq_free_all(struct rnic *rnic);

/** cq_arm() - carry out REQ_NOTIFY_CQ; returns NULL, or why not */
const char *cq_arm(struct rnic *rnic, uint32_t cqn, uint32_t flags);

/**
 * cq_add() - add a completion, and interrupt if it was asked for
 * @rnic:	NIC
 * @cq:		CQ
 * @wc:		completion
 * @solicited:	it is that of a receive request whose sender set the solicited
 *		event
 *
 * If the CQ is full, it and all its QPs go to the error state.
 */
void cq_add(struct rnic *rnic, struct cq *cq, const struct virtio_rdma_cq_req *wc,
	    bool solicited);

/** cq_forget_qp() - drop the completions of a QP that wait for a slot */
void cq_forget_qp(struct cq *cq, uint32_t qpn);

#endif /* DEVICE_CQ_H */
