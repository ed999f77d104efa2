/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues.
 */
#ifndef DEVICE_CQ_H
#define DEVICE_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_priv.h"

/**
 * struct cq - completion queue
 * @cqn:	its number, also that of its virtqueue
 * @cqe:	completions that it holds
 * @refs:	send and receive queues that complete to it
 * @armed:	&enum virtio_ib_notify_flags asked for since the last interrupt
 * @error:	a completion found no slot; nothing is completed any more
 */
struct cq {
	uint32_t cqn;
	uint32_t cqe;
	uint32_t refs;
	uint32_t armed;
	bool error;
};

/**
 * cq_create() - make a completion queue
 * @nic:	NIC
 * @cqe:	completions that it shall hold
 * @cqn:	set to its number
 *
 * Return: NULL, or why it failed.
 */
const char *cq_create(struct nic *nic, uint32_t cqe, uint32_t *cqn);

/** cq_destroy() - destroy a CQ without QPs; returns NULL, or why not */
const char *cq_destroy(struct nic *nic, uint32_t cqn);

/** cq_free_all() - destroy all CQs of a NIC, after its QPs */
void cq_free_all(struct nic *nic);

/** cq_arm() - carry out REQ_NOTIFY_CQ; returns NULL, or why not */
const char *cq_arm(struct nic *nic, uint32_t cqn, uint32_t flags);

/**
 * cq_add() - add a completion, and interrupt if it was asked for
 * @nic:	NIC
 * @cq:		CQ
 * @wc:		completion
 * @solicited:	it is that of a receive request whose sender set the solicited
 *		event
 *
 * If there is no slot for it, the CQ and all its QPs go to the error state.
 */
void cq_add(struct nic *nic, struct cq *cq, const struct virtio_rdma_cq_req *wc,
	    bool solicited);

#endif /* DEVICE_CQ_H */
