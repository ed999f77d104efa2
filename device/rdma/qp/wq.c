// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A send or receive queue, in one of two forms: a virtqueue, or a ring in memory.
 *
 * The producer index of a ring is the guest's, and a hint: it must be between what was
 * taken and a ring ahead of what is done with.  It is read with acquire before the
 * requests that it covers, and not again before those are taken: the guest writes its
 * cache line with each post, in both directions of a QP.
 */
#include <endian.h>
#include <errno.h>

#include "rdma/qp/wq.h"
#include "virtio/write.h"

/* A QP streams that posts so many send requests without waiting for completions. */
#define WQ_STREAM	4

/* The request that is fetched is so many behind the one that is looked at. */
#define WQ_FETCH	2u

static struct virtio_rdma_qp_control *wq_block(const struct wq *wq)
{
	return block_host(wq->block);
}

/* The producer index; false if the memory is gone. */
static bool wq_producer(const struct wq *wq, uint32_t *producer)
{
	const struct virtio_rdma_qp_control *block = wq_block(wq);

	if (!block)
		return false;
	*producer = le32toh(__atomic_load_n(wq->recv ? &block->recv_producer :
						       &block->send_producer,
					    __ATOMIC_ACQUIRE));
	return true;
}

static int wq_break(struct wq *wq)
{
	wq->broken = true;
	return -EPROTO;
}

/* Where the next request is, of those up to @producer; NULL if that memory is gone. */
static void *wq_slot(struct wq *wq)
{
	const uint64_t i = wq->taken & (wq->depth - 1);

	return pages_ptr_near(wq->pages, wq->first + (i << wq->shift), &wq->near);
}

/* Does a producer index of the guest's stay within the ring? */
static bool wq_in_ring(const struct wq *wq, uint32_t producer)
{
	const uint32_t ahead = producer - wq->done;

	return ahead <= wq->depth && ahead >= wq->taken - wq->done;
}

/* Is there a request to take?  Returns 1, 0, or -EPROTO if that cannot be known. */
static inline __attribute__((always_inline)) int wq_look(struct wq *wq)
{
	uint32_t producer;

	if (wq->broken)
		return -EPROTO;
	if (wq->seen != wq->taken)
		return 1;
	if (!wq_producer(wq, &producer) || !wq_in_ring(wq, producer))
		return -EPROTO;
	wq->seen = producer;
	return producer != wq->taken;
}

uint32_t wq_took(struct wq *wq)
{
	if (!wq->recv && ++wq->ahead >= WQ_STREAM)
		doorbell_streams(wq->doorbell, loop_now(wq->ctx->loop));
	return wq->taken++;
}

/* A request is in the cache of the processor that posted it, so one is fetched ahead. */
const void *wq_peek(struct wq *wq)
{
	const void *slot;

	if (wq_look(wq) <= 0)
		return NULL;
	slot = wq_slot(wq);
	/* Behind the page it may be anything: nothing is read, and nothing fails. */
	if (wq->seen - wq->taken > WQ_FETCH)
		__builtin_prefetch((void *)((uintptr_t)slot + (WQ_FETCH << wq->shift)));
	return slot;
}

static int wq_take_direct(struct wq *wq, struct wr_slot *slot)
{
	int ret;

	if (!wq->block)
		return 0;
	ret = wq_look(wq);
	if (ret < 0)
		return wq_break(wq);
	if (!ret)
		return 0;
	wq->piece.iov_base = wq_slot(wq);
	if (!wq->piece.iov_base)
		return wq_break(wq);
	wq->piece.iov_len = 1u << wq->shift;
	*slot = (struct wr_slot) {
		.direct = true,
		.index = wq_took(wq),
		.iov = &wq->piece,
		.iov_n = 1,
		.len = wq->piece.iov_len,
	};
	return 1;
}

static int wq_take_shared(struct wq *wq, struct wr_slot *slot)
{
	int ret = srq_take(wq->srq, &wq->piece);

	if (ret > 0)
		*slot = (struct wr_slot) {
			.direct = true,
			.shared = true,
			.iov = &wq->piece,
			.iov_n = 1,
			.len = wq->piece.iov_len,
		};
	return ret;
}

static int wq_take_virtq(struct wq *wq, struct wr_slot *slot)
{
	struct virtq_elem *elem = &wq->ctx->elem;
	uint16_t index = wq->vq->last_avail;
	int ret = virtq_pop(wq->vq, elem);

	if (ret > 0)
		*slot = (struct wr_slot) {
			.head = elem->head,
			.index = index,
			.iov = elem->iov,
			.iov_n = elem->out_n,
			.len = elem->out_len,
		};
	return ret;
}

int wq_take(struct wq *wq, struct wr_slot *slot)
{
	if (wq->srq)
		return wq_take_shared(wq, slot);
	return wq->direct ? wq_take_direct(wq, slot) : wq_take_virtq(wq, slot);
}

void wq_give(struct wq *wq, uint16_t head)
{
	if (wq->srq)
		return;
	if (wq->direct)
		wq->done++;
	else
		virtq_push(wq->vq, head, 0);
}

void wq_restart(struct wq *wq)
{
	wq->taken = 0;
	wq->seen = 0;
	wq->done = 0;
	wq->ahead = 0;
	wq->broken = false;
	if (wq->vq)
		virtq_restart(wq->vq);
}

void wq_drain(struct wq *wq, bool back)
{
	struct virtq *vq = wq->vq;
	unsigned int i;
	uint16_t head;

	if (wq->direct)
		wq_restart(wq);
	for (i = 0; vq && i < vq->num && virtq_pop_head(vq, &head) > 0; i++)
		if (back)
			virtq_push(vq, head, 0);
}

bool wq_announces(const struct wq *wq)
{
	return !wq->srq && (wq->direct ? !!wq->block : !!wq->vq);
}

bool wq_has_posted(const struct wq *wq)
{
	uint32_t producer;

	if (!wq->direct)
		return virtq_pending(wq->vq);
	return wq_producer(wq, &producer) && producer != wq->taken;
}

/*
 * A send ring is announced by its bit, a receive ring has a flag of its own.  The barrier
 * pairs with that of the driver.
 */
static bool wq_want_direct(struct wq *wq, bool want)
{
	struct virtio_rdma_qp_control *block = wq->block ? wq_block(wq) : NULL;

	if (!block)
		return false;
	if (wq->recv)
		write_u32(&block->recv_wanted, htole32(want));
	else if (want)
		doorbell_let_go(wq->doorbell, wq->bit);
	else
		doorbell_hold(wq->doorbell, wq->bit);
	if (!want)
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return wq_has_posted(wq);
}

bool wq_want_kick(struct wq *wq, bool want)
{
	/* Nobody announces what is posted to an SRQ: it is looked at when needed. */
	if (wq->srq)
		return false;
	wq->kick = want;
	return wq->direct ? wq_want_direct(wq, want) : virtq_want_kick(wq->vq, want);
}
