/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A send or receive queue, in one of two forms: a virtqueue, or a ring in memory.
 *
 * This is the only file of a QP that knows the forms.  Above it a request is a slot.
 */
#ifndef DEVICE_RDMA_QP_WQ_H
#define DEVICE_RDMA_QP_WQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "rdma/object/doorbell.h"
#include "rdma/object/pages.h"
#include "rdma/object/srq.h"

/**
 * struct wr_slot - a request, where it lies
 * @direct:	it is written in direct form
 * @shared:	it is of an SRQ, and says itself what its completion names
 * @head:	virtqueue: of its buffer
 * @index:	position in the queue: direct: modulo 2^32; virtqueue: modulo 2^16
 * @iov:	pieces, valid until the next request is taken of any queue
 * @iov_n:	their number
 * @len:	their bytes
 */
struct wr_slot {
	bool direct;
	bool shared;
	uint16_t head;
	uint32_t index;
	const struct iovec *iov;
	unsigned int iov_n;
	size_t len;
};

/**
 * struct wq - a send or receive queue
 * @ctx:	the NIC's context
 * @recv:	it is a receive queue
 * @direct:	it is a ring
 * @kick:	it asks for doorbells
 * @srq:	ring without slots: takes its requests from this SRQ, or NULL.  Of an XRC_TGT
 *		QP the one that the message under way, or the last one, is for
 * @vq:		virtqueue: NULL while that is stopped
 * @pages:	ring: the pages of its QP
 * @first:	ring: where it begins in them, bytes
 * @block:	ring: the control block of its QP; NULL if that is XRC_TGT: nothing is in it
 * @doorbell:	ring: the doorbell page of its QP
 * @bit:	ring: the bit of its QP there
 * @shift:	ring: log2 of the stride
 * @broken:	ring: the guest broke a rule
 * @ahead:	ring: requests taken since one that was posted when all were done with
 * @depth:	ring: slots
 * @taken:	ring: requests taken, modulo 2^32
 * @seen:	ring: requests known to be posted, modulo 2^32
 * @done:	ring: requests done with, modulo 2^32
 * @near:	ring: page of the request looked at last
 * @piece:	ring: the request taken last
 */
struct wq {
	struct rnic_ctx *ctx;
	bool recv;
	bool direct;
	bool kick;
	struct srq *srq;
	struct virtq *vq;
	const struct pages *pages;
	uint64_t first;
	struct block *block;
	struct doorbell *doorbell;
	uint32_t bit;
	uint8_t shift;
	bool broken;
	uint32_t ahead;
	uint32_t depth;
	uint32_t taken;
	uint32_t seen;
	uint32_t done;
	struct pages_near near;
	struct iovec piece;
};

/** wq_ready() - is the queue there? */
static inline bool wq_ready(const struct wq *wq)
{
	return wq->direct || wq->vq;
}

/** wq_size() - requests that it holds; the queue is there */
static inline uint32_t wq_size(const struct wq *wq)
{
	return wq->direct ? wq->depth : wq->vq->num;
}

/** wq_is_broken() - has the guest broken a rule?  The queue is there */
static inline bool wq_is_broken(const struct wq *wq)
{
	return wq->direct ? wq->broken : wq->vq->broken;
}

/**
 * wq_take() - take the next request
 * @wq:		queue that is there
 * @slot:	filled in
 *
 * Return: 1, 0 if there is none, -EPROTO if the guest broke a rule, now or before.
 */
int wq_take(struct wq *wq, struct wr_slot *slot);

/**
 * wq_peek() - look at the next request of a ring, and do not take it
 * @wq:		ring with slots and a control block
 *
 * Return: its slot, or NULL if there is none or wq_take() has to look at it.
 */
const void *wq_peek(struct wq *wq);

/** wq_took() - take the request that wq_peek() has found; returns its index */
uint32_t wq_took(struct wq *wq);

/** wq_awaited() - who posts waits for what is done before it posts more */
static inline void wq_awaited(struct wq *wq)
{
	wq->ahead = 0;
}

/** wq_give() - the oldest request that was taken is done with; @head is its slot's */
void wq_give(struct wq *wq, uint16_t head);

/**
 * wq_drain() - take all requests and forget them
 * @wq:		queue, there or not
 * @back:	virtqueue: give their buffers back
 *
 * The work is bounded: requests that the guest keeps posting meanwhile wait.  A ring
 * begins again at index 0.
 */
void wq_drain(struct wq *wq, bool back);

/** wq_restart() - all indices are 0 and nothing is taken, as at creation */
void wq_restart(struct wq *wq);

/** wq_announces() - does the guest say when it posts a request, if wq_want_kick() asks? */
bool wq_announces(const struct wq *wq);

/** wq_has_posted() - has a queue that is there a request that was not taken? */
bool wq_has_posted(const struct wq *wq);

/**
 * wq_want_kick() - ask for doorbells, or ask not to ring
 * @wq:		queue that is there
 * @want:	what is asked for
 *
 * Return: with @want, true if there are requests for which no doorbell may come.
 */
bool wq_want_kick(struct wq *wq, bool want);

#endif /* DEVICE_RDMA_QP_WQ_H */
