/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbell pages: which direct QPs have work.
 */
#ifndef DEVICE_RDMA_OBJECT_DOORBELL_H
#define DEVICE_RDMA_OBJECT_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdma/object/obj.h"
#include "rdma/object/pages.h"

/**
 * struct doorbell - a doorbell page, which a process or the kernel writes to
 * @handle:	of the page
 * @vq:		number of the doorbell virtqueue
 * @warm:	it is looked at time and again; else it asks to be rung
 * @busy_at:	when it had bits last
 * @stream_at:	when a QP of it was seen to stream, or 0
 * @refs:	QPs that have a bit
 * @block:	the page
 * @room:	bits that there is room for in @qpn, whole words
 * @qpn:	QPs by bit, 0 is none
 * @held:	words of bits that are left set, because their QPs are polled
 * @word:	words of the page that are still to be looked at
 * @next:	word where the next look begins
 * @entry:	of the pages that are warm
 * @of_vq:	of the pages of the virtqueue
 */
struct doorbell {
	uint32_t handle;
	uint16_t vq;
	bool warm;
	uint64_t busy_at;
	uint64_t stream_at;
	uint32_t refs;
	struct block block;
	uint32_t room;
	uint16_t *qpn;
	uint64_t *held;
	uint64_t word[VIRTIO_RDMA_DOORBELL_WORDS / 64];
	uint32_t next;
	TAILQ_ENTRY(doorbell) entry;
	TAILQ_ENTRY(doorbell) of_vq;
};

/**
 * struct doorbell_ring - the pages of a doorbell virtqueue
 * @pages:	them, that which was looked at last at the end
 * @n:		number of them
 * @left:	so many are to be looked at, because one of them has rung
 * @all:	all of those become warm, rung or not
 */
struct doorbell_ring {
	TAILQ_HEAD(, doorbell) pages;
	uint32_t n;
	uint32_t left;
	bool all;
};

/**
 * struct doorbell_table - the doorbell pages of a NIC
 * @ctx:	the NIC's context
 * @look:	look at QP @qpn, which may have work
 * @arg:	for @look
 * @objs:	pages
 * @warm:	those that are looked at, in turn
 * @warm_n:	number of them
 * @ring:	pages by virtqueue
 * @nap:	wakes the loop for those that stream
 */
struct doorbell_table {
	struct rnic_ctx *ctx;
	void (*look)(void *arg, uint32_t qpn);
	void *arg;
	struct obj_table objs;
	TAILQ_HEAD(, doorbell) warm;
	uint32_t warm_n;
	struct doorbell_ring ring[RNIC_DOORBELL_VQS_MAX];
	struct loop_timer nap;
};

/** doorbell_table_init() - make an empty table; returns 0 or -errno */
int doorbell_table_init(struct doorbell_table *doorbells, struct rnic_ctx *ctx,
			void (*look)(void *arg, uint32_t qpn), void *arg);

/** doorbell_table_reset() - free pages, after all QPs; true if none is left */
bool doorbell_table_reset(struct doorbell_table *doorbells, struct portion *portion);

/** doorbell_table_fini() - free a table without pages, or one that is all zeroes */
void doorbell_table_fini(struct doorbell_table *doorbells);

/** doorbell_alloc() - ALLOC_DOORBELL; returns NULL, or why not */
const char *doorbell_alloc(struct doorbell_table *doorbells, uint64_t page,
			   uint32_t vq, uint32_t *handle);

/** doorbell_free() - FREE_DOORBELL; returns NULL, or why not */
const char *doorbell_free(struct doorbell_table *doorbells, uint32_t handle);

/** doorbell_get() - page by handle, or NULL */
struct doorbell *doorbell_get(const struct doorbell_table *doorbells, uint32_t handle);

/** doorbell_has() - may a QP have bit @bit, from anywhere? */
bool doorbell_has(const struct doorbell *doorbell, uint32_t bit);

/** doorbell_use() - bit @bit, which doorbell_has(), is that of @qpn; false: no memory */
bool doorbell_use(struct doorbell *doorbell, uint32_t bit, uint32_t qpn);

/** doorbell_enter() - the same, without a look at the page */
bool doorbell_enter(struct doorbell *doorbell, uint32_t bit, uint32_t qpn);

/** doorbell_holds() - is bit @bit, which a QP has, held? */
static inline bool doorbell_holds(const struct doorbell *doorbell, uint32_t bit)
{
	return doorbell->held[bit / 64] >> bit % 64 & 1;
}

/** doorbell_load_held() - bit @bit is held, as it was when it was saved */
static inline void doorbell_load_held(struct doorbell *doorbell, uint32_t bit)
{
	doorbell->held[bit / 64] |= 1ull << bit % 64;
}

/**
 * doorbell_hold() - the QP of bit @bit is polled: leave the bit set
 *
 * Who posts finds it set, and has nothing to announce.
 */
void doorbell_hold(struct doorbell *doorbell, uint32_t bit);

/**
 * doorbell_let_go() - the QP of bit @bit is not polled any more: take the bit
 *
 * What was posted before can be seen after this; what is posted later is announced.
 */
void doorbell_let_go(struct doorbell *doorbell, uint32_t bit);

/** doorbell_streams() - a QP of it posts without waiting for what was done; time @now */
static inline void doorbell_streams(struct doorbell *doorbell, uint64_t now)
{
	doorbell->stream_at = now;
}

/** doorbell_unuse() - bit @bit is free again */
void doorbell_unuse(struct doorbell *doorbell, uint32_t bit);

/** doorbell_kick() - the doorbell of virtqueue @vq was rung */
void doorbell_kick(struct doorbell_table *doorbells, uint32_t vq);

/** doorbell_poll() - look at pages; true if one had bits, or others are to be looked at */
bool doorbell_poll(struct doorbell_table *doorbells);

/**
 * doorbell_sleep() - pages ask to be rung; true if one has bits already
 * @doorbells:	pages
 *
 * Those that stream do not: a timer wakes the loop for them.
 */
bool doorbell_sleep(struct doorbell_table *doorbells);

/** doorbell_wake() - those that are warm need not be rung */
void doorbell_wake(struct doorbell_table *doorbells);

/** doorbell_mem_changed() - the memory map has changed */
void doorbell_mem_changed(struct doorbell_table *doorbells);

/** doorbell_table_io() - save or load the table; QPs enter their bits */
void doorbell_table_io(struct state *st, struct doorbell_table *doorbells);

#endif /* DEVICE_RDMA_OBJECT_DOORBELL_H */
