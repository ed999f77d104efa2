/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues: a ring of requests for many QPs.
 *
 * Requests are taken in the order in which they were posted, and complete in any order.
 * So an SRQ knows only which are taken.  A request is copied when it is taken; its slot
 * is the driver's again.
 *
 * An XRC SRQ belongs to an XRC domain and has a CQ of its own.  The QPs of the domain take
 * requests from it for messages that name it.  It can be destroyed while they exist.
 */
#ifndef DEVICE_RDMA_OBJECT_SRQ_H
#define DEVICE_RDMA_OBJECT_SRQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "rdma/object/cq.h"
#include "rdma/object/event.h"
#include "rdma/object/pages.h"
#include "rdma/object/pd.h"
#include "rdma/object/xrcd.h"

SLIST_HEAD(srq_returned_list, srq_returned);

/**
 * struct srq - shared receive queue
 * @table:	that it is in
 * @handle:	of the SRQ
 * @pd:		protection domain of the keys in its requests; of an XRC SRQ also of
 *		those in messages that name it
 * @xrcd:	its XRC domain, or NULL
 * @cq:		of an XRC SRQ: where its requests complete
 * @user:	makes it a user of @cq
 * @refs:	QPs that take requests from it
 * @depth:	slots of the ring
 * @max_sge:	elements of a request
 * @shift:	log2 of the stride
 * @pages:	the ring
 * @near:	page of it that was used last
 * @block:	the control block
 * @taken:	requests taken from the ring, modulo 2^32
 * @promised:	requests that senders who had found none were woken for
 * @promised_at: @taken when @promised was last brought up to date
 * @limit:	report when fewer requests than this are there, or 0
 * @error:	the guest broke a rule; no request is taken any more
 * @dying:	of an XRC SRQ: it is being destroyed, and no message can name it
 * @holders:	XRC_TGT QPs whose last message named it
 * @low:	event: the limit was reached
 * @failed:	event: it is in error
 * @returned:	requests that QPs have given back, which are taken first
 * @returned_n:	number of them
 */
struct srq {
	struct srq_table *table;
	uint32_t handle;
	struct pd *pd;
	struct xrcd *xrcd;
	struct cq *cq;
	struct cq_user user;
	uint32_t refs;
	uint32_t depth;
	uint32_t max_sge;
	uint8_t shift;
	struct pages pages;
	struct pages_near near;
	struct block block;
	uint32_t taken;
	uint32_t promised;
	uint32_t promised_at;
	uint32_t limit;
	bool error;
	bool dying;
	struct xrcd_user_list holders;
	struct event_mark low;
	struct event_mark failed;
	struct srq_returned_list returned;
	uint32_t returned_n;
};

/**
 * struct srq_table - the SRQs of a NIC
 * @ctx:	the NIC's context
 * @pds:	its protection domains
 * @cqs:	its CQs
 * @xrcds:	its XRC domains
 * @events:	its event virtqueues
 * @objs:	&struct srq by handle
 */
struct srq_table {
	struct rnic_ctx *ctx;
	struct pd_table *pds;
	struct cq_table *cqs;
	struct xrcd_table *xrcds;
	struct event_table *events;
	struct obj_table objs;
};

/** srq_table_init() - make an empty table, all before @objs filled in; 0 or an error */
int srq_table_init(struct srq_table *srqs);

/** srq_table_reset() - destroy SRQs, after all QPs; true if none is left */
bool srq_table_reset(struct srq_table *srqs, struct portion *portion);

/** srq_table_fini() - free a table without SRQs, or one that is all zeroes */
void srq_table_fini(struct srq_table *srqs);

/** srq_get() - SRQ by handle, or NULL */
static inline struct srq *srq_get(const struct srq_table *srqs, uint32_t handle)
{
	return obj_get(&srqs->objs, handle);
}

/** srq_of_xrcd() - XRC SRQ of a domain by number, from anywhere, or NULL */
static inline struct srq *srq_of_xrcd(const struct srq_table *srqs,
				      const struct xrcd *xrcd, uint32_t number)
{
	struct srq *srq = srq_get(srqs, number);

	return srq && srq->xrcd == xrcd && !srq->dying ? srq : NULL;
}

/** srq_check() - is a request fit for srq_create()?  NULL, or why not */
const char *srq_check(const struct srq_table *srqs,
		      const struct virtio_rdma_cmd_create_srq *req);

/**
 * srq_create() - make a shared receive queue
 * @srqs:	SRQs of the NIC
 * @req:	request that srq_check() finds good
 * @pages:	the pages that it names; taken over if it succeeds
 * @handle:	set to its handle
 *
 * Return: NULL, or why it failed.
 */
const char *srq_create(struct srq_table *srqs,
		       const struct virtio_rdma_cmd_create_srq *req,
		       struct pages *pages, uint32_t *handle);

/** srq_check_xrc() - is a request fit for srq_create_xrc()?  NULL, or why not */
const char *srq_check_xrc(const struct srq_table *srqs,
			  const struct virtio_rdma_cmd_create_xrc_srq *req);

/** srq_create_xrc() - as srq_create(), in an XRC domain */
const char *srq_create_xrc(struct srq_table *srqs,
			   const struct virtio_rdma_cmd_create_xrc_srq *req,
			   struct pages *pages, uint32_t *handle);

/** srq_check_resize() - is a request fit for srq_resize()?  NULL, or why not */
const char *srq_check_resize(const struct srq_table *srqs,
			     const struct virtio_rdma_cmd_resize_srq *req);

/**
 * srq_resize() - go over to another ring and another control block
 * @srqs:	SRQs of the NIC
 * @req:	request that srq_check_resize() finds good
 * @pages:	the pages that it names; taken over if it succeeds
 *
 * Return: NULL, or why it failed; then the SRQ is as it was.
 */
const char *srq_resize(struct srq_table *srqs,
		       const struct virtio_rdma_cmd_resize_srq *req,
		       struct pages *pages);

/** srq_modify() - arm the limit; returns NULL, or why not */
const char *srq_modify(struct srq_table *srqs, uint32_t handle, uint32_t limit);

/** srq_query() - fill in the answer; returns NULL, or why not */
const char *srq_query(const struct srq_table *srqs, uint32_t handle,
		      struct virtio_rdma_ack_query_srq *rsp);

/**
 * srq_destroy() - destroy an SRQ
 * @srqs:	SRQs of the NIC
 * @handle:	of the SRQ, which no QP was created with
 * @more:	set if there is more to do than fits in one go: then the caller is to call
 *		again, and until then no message can name the SRQ
 *
 * QPs of its XRC domain forget the request of it that they have at hand.
 *
 * Return: NULL, or why not.
 */
const char *srq_destroy(struct srq_table *srqs, uint32_t handle, bool *more);

/** srq_hold() - an XRC_TGT QP has a message for an SRQ of its domain; @user does not hold it yet */
static inline void srq_hold(struct srq *srq, struct xrcd_user *user)
{
	user->holds = true;
	LIST_INSERT_HEAD(&srq->holders, user, holder);
}

/** srq_let_go() - it turns to another one, or goes; harmless if it holds none */
static inline void srq_let_go(struct xrcd_user *user)
{
	if (user->holds)
		LIST_REMOVE(user, holder);
	user->holds = false;
}

/**
 * srq_take() - take the next request of the ring
 * @srq:	SRQ
 * @piece:	set to its slot
 *
 * Return: 1, 0 if there is none, -EPROTO if the SRQ is in error, now or before.
 */
int srq_take(struct srq *srq, struct iovec *piece);

/**
 * srq_peek() - look at the next request of the ring, and do not take it
 * @srq:	SRQ
 *
 * Return: its slot, or NULL if there is none or if requests wait that were given back,
 *	   or if srq_take() has to look at it.
 */
const void *srq_peek(struct srq *srq);

/**
 * srq_promise() - is there a request for one more sender who has found none?
 * @srq:	SRQ
 *
 * A request is promised once, so that one request does not wake many senders.  It may still
 * be taken by another one.
 *
 * Return: true if there is, and it is promised now.
 */
bool srq_promise(struct srq *srq);

/** srq_took() - take the request that srq_peek() has found */
void srq_took(struct srq *srq);

/**
 * srq_give_back() - a request was taken and is not used
 * @srq:	SRQ
 * @req:	what the taker has made of it
 * @size:	bytes of that, the same for all takers
 *
 * Without memory for it the SRQ is in error.
 */
void srq_give_back(struct srq *srq, const void *req, size_t size);

/** srq_take_back() - take such a request; false if there is none */
bool srq_take_back(struct srq *srq, void *req, size_t size);

/** srq_table_io() - save or load the table, without requests that were given back */
void srq_table_io(struct state *st, struct srq_table *srqs);

/**
 * srq_given_back() - requests that were given back, one after the other
 * @srq:	SRQ
 * @i:		number of one, 0 for the one that was given back first
 *
 * Takes a time that grows with their number.
 */
const void *srq_given_back(const struct srq *srq, uint32_t i);

#endif /* DEVICE_RDMA_OBJECT_SRQ_H */
