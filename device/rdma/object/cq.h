/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues.
 */
#ifndef DEVICE_RDMA_OBJECT_CQ_H
#define DEVICE_RDMA_OBJECT_CQ_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdma/object/event.h"
#include "rdma/object/moderate.h"
#include "rdma/object/pages.h"

/** CQ_TIMED_SHIFT - log2 of the bytes of a completion that has its time */
#define CQ_TIMED_SHIFT	6

TAILQ_HEAD(cq_held_list, cq_held);
TAILQ_HEAD(cq_user_list, cq_user);

/**
 * struct cq_lot - what is held for one queue
 * @user:	the queue, or NULL: it is dropped
 * @n:		number of completions
 */
struct cq_lot {
	struct cq_user *user;
	uint32_t n;
};

/**
 * struct cq_held - a completion without a slot
 * @wc:		completion
 * @solicited:	as for cq_add()
 * @lot:	that it is of
 * @entry:	of the CQ, or of the table when the CQ has no use for it any more
 */
struct cq_held {
	struct virtio_rdma_cq_req wc;
	bool solicited;
	struct cq_lot *lot;
	TAILQ_ENTRY(cq_held) entry;
};

/**
 * struct cq_user - a queue that completes to a CQ
 * @fail:	the CQ has lost a completion: nothing of the queue can complete
 * @arg:	for @fail
 * @recv:	it is a receive queue
 * @srqn:	it is the XRC SRQ with this number, or 0
 * @lot:	its completions that wait for a slot, or NULL if there are none
 * @failed:	@fail was called
 * @entry:	of the CQ
 */
struct cq_user {
	void (*fail)(void *arg);
	void *arg;
	bool recv;
	uint32_t srqn;
	struct cq_lot *lot;
	bool failed;
	TAILQ_ENTRY(cq_user) entry;
};

/**
 * struct cq - completion queue
 * @table:	that it is in
 * @cqn:	its number, also that of its virtqueue if it has one
 * @vq:		its virtqueue, or NULL while that is stopped, or if it is direct
 * @direct:	it is a ring in memory
 * @shift:	direct: log2 of the bytes of a completion
 * @cqe:	direct: completions that the ring holds
 * @stored:	direct: completions stored, modulo 2^32
 * @timed:	direct: completions have their time
 * @plain:	direct: they have not
 * @read:	direct: the driver had taken all when the last one was stored
 * @pages:	direct: the ring
 * @near:	direct: page of it that was used last
 * @control:	it has a control block, which arms it
 * @block:	the control block
 * @ready:	event: an armed CQ has what it was armed for
 * @failed:	event: it is in error
 * @users:	send and receive queues that complete to it
 * @failing:	those of them that have not failed yet, although it is in error
 * @chore:	lets them fail
 * @armed:	without @control: &enum virtio_ib_notify_flags asked for since the
 *		last interrupt for a completion in a slot
 * @arming:	number of the last arming; with @control: of the last one that a
 *		completion in a slot was reported for
 * @told:	number of the last arming with an interrupt for a completion that is
 *		held
 * @mod:	with @control: how long the event waits
 * @late:	completions that were added since somebody has looked for an event
 * @solicited:	with @late: one of them is solicited, or not of success
 * @late_entry:	with @late: of the table
 * @error:	a completion was lost; nothing is completed any more
 * @held:	completions that wait for a slot, the oldest one first, and between them
 *		some that were dropped
 * @held_n:	number of those that wait
 * @held_max:	how many may wait
 * @timer:	looks for slots while completions wait
 * @wait_ns:	its interval
 */
struct cq {
	struct cq_table *table;
	uint32_t cqn;
	struct virtq *vq;
	bool direct;
	uint8_t shift;
	uint32_t cqe;
	uint32_t stored;
	bool timed;
	bool plain;
	bool read;
	struct pages pages;
	struct pages_near near;
	bool control;
	struct block block;
	struct event_mark ready;
	struct event_mark failed;
	struct cq_user_list users;
	struct cq_user_list failing;
	struct chore chore;
	uint32_t armed;
	uint32_t arming;
	uint32_t told;
	struct moderate mod;
	uint32_t late;
	bool solicited;
	LIST_ENTRY(cq) late_entry;
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
 * @events:	its event virtqueues
 * @cq:		CQs by number, those with virtqueues first
 * @size:	numbers that there is room for in @cq
 * @next:	where the search for a free number of a direct CQ begins
 * @vq:		virtqueues that are started, by number of the CQ
 * @late:	CQs for cq_look_late()
 * @held:	completions that all CQs together hold without a slot
 * @dropped:	completions that are neither wanted any more nor in the line of a CQ
 * @dropped_n:	how many are dropped whose memory was not given back, here or in a line
 * @timer:	gives back the memory of @dropped
 * @round:	round of the loop in which a timer has looked for slots last
 * @work:	virtq_work() when the first one did in that round
 */
struct cq_table {
	struct rnic_ctx *ctx;
	struct event_table *events;
	struct cq **cq;
	uint32_t size;
	uint32_t next;
	struct virtq **vq;
	LIST_HEAD(, cq) late;
	uint32_t held;
	struct cq_held_list dropped;
	uint32_t dropped_n;
	struct loop_timer timer;
	uint64_t round;
	uint64_t work;
};

/** cq_table_init() - make an empty table; returns 0 or -ENOMEM */
int cq_table_init(struct cq_table *cqs, struct rnic_ctx *ctx,
		  struct event_table *events);

/** cq_table_reset() - destroy CQs, after all that complete to them; true if none is left */
bool cq_table_reset(struct cq_table *cqs, struct portion *portion);

/** cq_free_some() - give back memory of dropped completions now; true if that was all */
bool cq_free_some(struct cq_table *cqs);

/** cq_table_fini() - free a table without CQs, even if cq_table_init() failed */
void cq_table_fini(struct cq_table *cqs);

/**
 * cq_set_queue() - the virtqueue of a CQ may be used
 * @cqs:	CQs of the NIC
 * @cqn:	number, from anywhere
 * @vq:		virtqueue, or NULL if it may not be used any more
 *
 * While it is not there, all that completes to the CQ stands still.
 */
void cq_set_queue(struct cq_table *cqs, uint32_t cqn, struct virtq *vq);

/** cq_get() - CQ by number, or NULL */
static inline struct cq *cq_get(const struct cq_table *cqs, uint32_t cqn)
{
	return cqn < cqs->size ? cqs->cq[cqn] : NULL;
}

/** cq_usable() - is its queue there? */
static inline bool cq_usable(const struct cq *cq)
{
	return cq->direct || cq->vq;
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

/** cq_check_long() - is a long request fit for cq_create_long()? NULL, or why not */
const char *cq_check_long(const struct cq_table *cqs,
			  const struct virtio_rdma_cmd_create_cq_long *req);

/**
 * cq_create_long() - make a completion queue by a long request
 * @cqs:	CQs of the NIC
 * @req:	request that cq_check_long() finds good
 * @pages:	the pages that it names; taken over if it succeeds
 * @cqn:	set to its number
 *
 * Return: NULL, or why it failed.
 */
const char *cq_create_long(struct cq_table *cqs,
			   const struct virtio_rdma_cmd_create_cq_long *req,
			   struct pages *pages, uint32_t *cqn);

/** cq_check_resize() - is a request fit for cq_resize()? NULL, or why not */
const char *cq_check_resize(const struct cq_table *cqs,
			    const struct virtio_rdma_cmd_resize_cq *req);

/**
 * cq_resize() - give a direct CQ another ring and another control block
 * @cqs:	CQs of the NIC
 * @req:	request that cq_check_resize() finds good
 * @pages:	the pages that it names; taken over if it succeeds
 * @ack:	set to what the driver has to copy
 *
 * Return: NULL, or why it failed.
 */
const char *cq_resize(struct cq_table *cqs,
		      const struct virtio_rdma_cmd_resize_cq *req,
		      struct pages *pages, struct virtio_rdma_ack_resize_cq *ack);

/** cq_modify() - carry out MODIFY_CQ; returns NULL, or why not */
const char *cq_modify(struct cq_table *cqs, uint32_t cqn, uint16_t count, uint16_t period);

/** cq_destroy() - destroy a CQ without users; returns NULL, or why not */
const char *cq_destroy(struct cq_table *cqs, uint32_t cqn);

/** cq_attach() - a queue completes to a CQ */
void cq_attach(struct cq *cq, struct cq_user *user);

/** cq_attach_again() - the same of one that is loaded; @failed as of &struct cq_user */
void cq_attach_again(struct cq *cq, struct cq_user *user, bool failed);

/** cq_fail_later() - users of a CQ in error that have not failed do so by and by */
void cq_fail_later(struct cq *cq);

/** cq_enter() - a CQ of which nothing but its number is known; NULL without memory */
struct cq *cq_enter(struct cq_table *cqs, uint32_t cqn);

/** cq_check_ring() - may a direct CQ be like this?  NULL, or why not */
const char *cq_check_ring(uint32_t cqe, uint8_t shift, uint32_t npages);

/** cq_hold() - keep a completion that finds no slot; NULL, or why not */
const char *cq_hold(struct cq *cq, struct cq_user *user,
		    const struct virtio_rdma_cq_req *wc, bool solicited);

/** cq_detach() - it does not any more, and what waits for a slot is dropped */
void cq_detach(struct cq *cq, struct cq_user *user);

/** cq_arm() - carry out REQ_NOTIFY_CQ; returns NULL, or why not */
const char *cq_arm(struct cq_table *cqs, uint32_t cqn, uint32_t flags);

/**
 * cq_add() - add a completion, and interrupt if it was asked for
 * @cq:		CQ
 * @user:	queue of @cq that the completion is of
 * @wc:		completion
 * @wqe:	index of the work request
 * @solicited:	it is that of a receive request whose sender set the solicited
 *		event
 *
 * If the CQ is full, it and @user fail, and its other users do bit by bit, or when they
 * complete something.
 */
void cq_add(struct cq *cq, struct cq_user *user,
	    const struct virtio_rdma_cq_req *wc, uint32_t wqe, bool solicited);

/**
 * cq_add_late() - as cq_add(), but an interrupt may wait for the next cq_look_late()
 *
 * One look at what the driver asks for, and one barrier, serve several completions.  The caller
 * makes sure that cq_look_late() follows before the loop sleeps, and before the state is saved.
 */
void cq_add_late(struct cq *cq, struct cq_user *user, const struct virtio_rdma_cq_req *wc,
		 uint32_t wqe, bool solicited);

/** cq_look_late() - raise the events of completions that cq_add_late() has added */
void cq_look_late(struct cq_table *cqs);

/**
 * cq_quiet_room() - room in a direct CQ that is not known to be armed
 * @cq:		CQ
 *
 * So many completions may be stored by cq_store_quiet() in the same turn, each into a slot for
 * which cq_slot() was called, and cq_look() is to be called after that.  This looks at the
 * control block, whose cache line the guest writes whenever it has taken completions.
 *
 * Return: number of completions; 0 if there is no room, or the CQ is armed or in error.
 */
uint32_t cq_quiet_room(struct cq *cq);

/** cq_slot() - where the completion after @i others goes; NULL if that memory is gone */
static inline struct virtio_rdma_cqe *cq_slot(struct cq *cq, uint32_t i)
{
	const uint64_t slot = (cq->stored + i) & (cq->cqe - 1);

	return pages_ptr_near(&cq->pages, slot << cq->shift, &cq->near);
}

/* Two fields that stand side by side, as one word. */
static inline uint64_t cqe_pair(uint32_t first, uint32_t second)
{
	return htole64(le32toh(first) | (uint64_t)le32toh(second) << 32);
}

/**
 * cq_write_words() - store a completion in the ring of a direct CQ
 * @cq:		CQ
 * @to:		its slot
 * @first:	first word
 * @second:	second word
 * @third:	third word
 * @last:	last word, without the phase
 *
 * Not inline: the stores are to stand side by side.  A driver that polls takes the cache line
 * back between two that are apart.
 */
__attribute__((noinline)) void cq_write_words(struct cq *cq, struct virtio_rdma_cqe *to,
					      uint64_t first, uint64_t second, uint64_t third,
					      uint64_t last);

/**
 * cq_write() - store a completion in the ring of a direct CQ
 * @cq:		CQ
 * @to:		its slot
 * @cqe:	the completion without its phase
 *
 * The words are made in registers: a copy of what was just stored field by field would have to
 * wait until the stores of earlier completions have the cache lines that the driver reads.
 */
static inline __attribute__((always_inline)) void cq_write(struct cq *cq,
							   struct virtio_rdma_cqe *to,
							   const struct virtio_rdma_cqe *cqe)
{
	cq_write_words(cq, to, cqe_pair(cqe->byte_len, cqe->imm_data),
		       cqe_pair(cqe->qp_num, cqe->src_qp),
		       cqe_pair(cqe->wqe, cqe->vendor_err),
		       htole64(le16toh(cqe->vlan) | (uint64_t)cqe->status << 16 |
			       (uint64_t)cqe->opcode << 24 |
			       (uint64_t)le16toh(cqe->wc_flags) << 32));
}

/** cq_store_quiet() - store a completion without its phase, and tell nobody */
static inline __attribute__((always_inline)) void
cq_store_quiet(struct cq *cq, const struct virtio_rdma_cqe *cqe)
{
	cq_write(cq, cq_slot(cq, 0), cqe);
}

/**
 * cq_look() - raise an event if the CQ was armed meanwhile
 * @cq:		CQ to which completions were added, all of success
 * @solicited:	one of them is that of a receive request whose sender set the solicited
 *		event
 */
void cq_look(struct cq *cq, bool solicited);

/** cq_forget() - drop the completions of a queue that wait for a slot */
void cq_forget(struct cq *cq, struct cq_user *user);

#endif /* DEVICE_RDMA_OBJECT_CQ_H */
