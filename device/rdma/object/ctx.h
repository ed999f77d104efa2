/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The part of a NIC that all others share: limits, name, log, counters, memory map.
 */
#ifndef DEVICE_RDMA_OBJECT_CTX_H
#define DEVICE_RDMA_OBJECT_CTX_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/chore.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "state/state.h"
#include "uapi/virtio_net_roce.h"
#include "virtio/mem.h"
#include "virtio/virtq.h"

#define RNIC_GIDS		128
#define RNIC_MAX_SGE		32
#define RNIC_MAX_RD_ATOMIC	128
#define RNIC_MAX_MSG		(1u << 31)
#define RNIC_UD_MTU		4096
#define RNIC_ACK_DELAY		15

/*
 * Extents of all memory regions of a guest: as many as it has pages, but not fewer than the
 * first, nor more than the second, which bound the memory for them to 64 and 256 MiB.
 */
#define RNIC_MR_EXTENTS_LEAST	(1u << 22)
#define RNIC_MR_EXTENTS_MOST	(1u << 24)

/* Pages in the list of one region, which bounds the time that it takes to read it. */
#define RNIC_MR_LIST_MAX	(1u << 25)

/* 4 KiB to 1 GiB. */
#define RNIC_MR_PAGE_SIZES	0x7ffff000ull

/* Completions held; bounds the memory for them to 96 MiB for each guest. */
#define RNIC_HELD_MAX		(1u << 20)

#define RNIC_PAGE_SIZE		4096u

/*
 * Bytes that are copied in one go, at most, to a peer in memory; to others it is less.  Few
 * busy QPs may copy more, since long messages then need fewer turns; and more still the only
 * one, while hardly any other guest has had work lately.
 */
#define RNIC_SLICE		(64u * 1024)
#define RNIC_SLICE_FEW		(128u * 1024)
#define RNIC_SLICE_ALONE	(1024u * 1024)

/* Two guests that exchange messages are few. */
#define RNIC_GUESTS_FEW		2

/* A queue that had no work for this long is no longer looked at. */
#define RNIC_IDLE_NS		(1000 * 1000)

/*
 * So many QPs are looked at for that long.  If there are more, a direct one without work
 * is looked at no longer: looking costs more than being told by its bit.
 */
#define RNIC_LINGER_QPS		64u

/*
 * QPs and doorbell pages that are still looked at, of a NIC that may sleep while others
 * work: each is written to when it does.  Those without work are gone after RNIC_IDLE_NS.
 */
#define RNIC_SLEEP_MAX		16u

#define RNIC_EVENT_VQS_MAX	64u
#define RNIC_DOORBELL_VQS_MAX	16u

#define RNIC_DIRECT_WR_MAX	32768u
#define RNIC_DIRECT_CQE_MAX	(1u << 22)
#define RNIC_DOORBELLS_MAX	1024u
#define RNIC_SRQS_MAX		4096u
#define RNIC_XRCDS_MAX		4096u

/* Flow rules, a power of two; bounds the memory for them to 5 MiB for each guest. */
#define RNIC_FLOWS_MAX		16384u

/* Indirection tables; bounds the memory for them to 1 MiB for each guest. */
#define RNIC_WQ_TABLES_MAX	256u

/* Requests in rings of QPs, beside one in each; bounds the memory for them to 148 MiB. */
#define RNIC_WQES_MAX		(1u << 18)

/* Bytes of packets that came too early, of all QPs together. */
#define RNIC_EARLY_MAX		(8u << 20)

/* Pages of rings, 16 GiB; bounds the memory for their addresses to 32 MiB for each guest. */
#define RNIC_RING_PAGES_MAX	(1u << 22)

/* A page list is copied to the stack: one page of it, for 2 MiB. */
#define RNIC_FAST_REG_PAGES	512u

/**
 * struct rnic_limits - what the operator configured; the same on source and
 *		       target of a migration
 * @qps:	number of QPs, 2 … 16384 (0 and 1 are SMI and GSI)
 * @cqs:	number of CQs, 1 … 16384
 * @queue_size:	largest size of a virtqueue, bounds the depth of a QP
 * @cqe:	completions that a CQ holds, @queue_size or more
 * @mrs:	number of memory regions
 * @pds:	number of protection domains
 * @ahs:	number of address handles
 * @event_vqs:	event virtqueues, up to %RNIC_EVENT_VQS_MAX
 * @doorbell_vqs: doorbell virtqueues, up to %RNIC_DOORBELL_VQS_MAX
 * @direct_qps:	number of direct QPs, beside @qps; 16384 of both at most
 * @direct_cqs:	number of direct CQs, beside @cqs; likewise
 * @rfc:	offer what the RFC has and nothing else: no bit but
 *		%VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN.  A CQ holds what its virtqueue
 *		holds, and a QP that goes to RESET gives no slots back
 */
struct rnic_limits {
	uint32_t qps;
	uint32_t cqs;
	uint32_t queue_size;
	uint32_t cqe;
	uint32_t mrs;
	uint32_t pds;
	uint32_t ahs;
	uint32_t event_vqs;
	uint32_t doorbell_vqs;
	uint32_t direct_qps;
	uint32_t direct_cqs;
	bool rfc;
};

/**
 * struct rnic_ctx - what all parts of one NIC share
 * @loop:	event loop, for timers
 * @limits:	what the operator configured
 * @name:	for messages
 * @log:	keeps them few
 * @mem:	memory map of the guest, which is none while @clearing
 * @mem_epoch:	changes with @mem
 * @poller:	it calls rnic_poll(), and may sleep alone, or NULL
 * @clearing:	the NIC was reset, and its objects are being freed bit by bit.  They have no
 *		part in anything any more, and there are no new ones
 * @fused:	messages that took the short way (rdma/qp/fused.c)
 * @counter:	by &enum virtio_rdma_counter
 * @ring_pages:	pages of rings, of all objects
 * @wqes:	requests that all QPs together have room for, beside one in each
 * @early:	bytes of packets that came too early
 * @clock_zero:	clock_ns() when the clock of its guest was 0
 * @clock_known: the guest may have seen that clock
 * @why:	for rnic_why()
 * @debt:	memory that its objects had and that is not given back yet
 * @elem:	buffer taken from a virtqueue last; valid until the next one is
 */
struct rnic_ctx {
	struct loop *loop;
	struct rnic_limits limits;
	char name[64];
	struct log_limit log;
	const struct guest_mem *mem;
	uint64_t mem_epoch;
	struct loop_poller *poller;
	bool clearing;
	uint64_t fused;
	uint64_t counter[VIRTIO_RDMA_CNT_NUM];
	uint32_t ring_pages;
	uint32_t wqes;
	uint32_t early;
	uint64_t clock_zero;
	bool clock_known;
	char why[96];
	struct chore_debt *debt;
	struct virtq_elem elem;
};

/** rnic_call() - have rnic_poll() called soon, although the guest did not ring */
static inline void rnic_call(const struct rnic_ctx *ctx)
{
	if (ctx->poller)
		loop_poller_wake(ctx->loop, ctx->poller);
}

/** rnic_has_direct() - are there direct rings? */
static inline bool rnic_has_direct(const struct rnic_ctx *ctx)
{
	const struct rnic_limits *limits = &ctx->limits;

	return limits->event_vqs && limits->doorbell_vqs && limits->direct_qps &&
	       limits->direct_cqs;
}

/*
 * Words of a guest are little-endian, and atomic operations are instructions of the
 * host: a host of the other kind, or without them, does not offer any.
 */
#define RNIC_ATOMICS	(htole16(1) == 1 && \
			 __atomic_always_lock_free(sizeof(uint64_t), 0))

/** rnic_has_atomics() - are there CMP_SWAP, FETCH_ADD and ATOMIC_WRITE? */
static inline bool rnic_has_atomics(const struct rnic_ctx *ctx)
{
	return RNIC_ATOMICS && !ctx->limits.rfc;
}

/** rnic_mr_size_max() - bytes of the largest memory region */
static inline uint64_t rnic_mr_size_max(const struct rnic_ctx *ctx)
{
	return ctx->limits.rfc ? 1ull << 34 : 1ull << 43;
}

/** rnic_access_flags() - &enum virtio_ib_access_flags that the NIC knows */
static inline uint32_t rnic_access_flags(const struct rnic_ctx *ctx)
{
	return VIRTIO_IB_ACCESS_LOCAL_WRITE | VIRTIO_IB_ACCESS_REMOTE_WRITE |
	       VIRTIO_IB_ACCESS_REMOTE_READ |
	       (ctx->limits.rfc ? 0 : VIRTIO_IB_ACCESS_FLUSH_GLOBAL |
				      VIRTIO_IB_ACCESS_FLUSH_PERSISTENT) |
	       (rnic_has_atomics(ctx) ? VIRTIO_IB_ACCESS_REMOTE_ATOMIC : 0);
}

/**
 * struct portion - how far the objects of a table are freed
 * @at:		number of the one that comes next
 * @left:	how much may be done now: 1 is a look at a place in a table
 */
struct portion {
	uint32_t at;
	int left;
};

/* The cost of freeing an object, in looks. */
#define PORTION_OBJECT	16

/* One portion: 32 objects. */
#define PORTION		512

/** portion_next() - look at one more place of @n; false if there is none, or enough is done */
static inline bool portion_next(struct portion *portion, uint32_t n)
{
	return portion->at < n && portion->left > 0 && portion->left--;
}

/** rnic_clock() - what the guest's clock says, in ns: how old the NIC is, wherever it was */
static inline uint64_t rnic_clock(const struct rnic_ctx *ctx)
{
	return clock_ns() - ctx->clock_zero;
}

/** rnic_give_back() - free memory of malloc() that may be much; it is @ctx->debt until then */
static inline void rnic_give_back(struct rnic_ctx *ctx, void *p, size_t size)
{
	chore_free(ctx->loop, ctx->debt, p, size);
}

/**
 * rnic_why() - why a command fails, for reasons that name a number
 * @ctx:	the NIC's context
 * @fmt:	as for printf()
 *
 * Return: the text, good until the next call.
 */
const char *rnic_why(struct rnic_ctx *ctx, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** rnic_timer_io() - save or load how much time a timer has left */
void rnic_timer_io(struct state *st, const char *field, const struct rnic_ctx *ctx,
		   struct loop_timer *timer);

/** rnic_counters_io() - save or load counters by &enum virtio_rdma_counter */
void rnic_counters_io(struct state *st, uint64_t *counter);

/** rnic_count() - one more of what is counted */
static inline void rnic_count(struct rnic_ctx *ctx,
			      enum virtio_rdma_counter counter)
{
	ctx->counter[counter]++;
}

/** rnic_count_sent() - a packet with @len bytes of payload was sent */
static inline void rnic_count_sent(struct rnic_ctx *ctx, uint32_t len)
{
	ctx->counter[VIRTIO_RDMA_CNT_SENT_PKTS]++;
	ctx->counter[VIRTIO_RDMA_CNT_SENT_BYTES] += len;
}

/** rnic_count_received() - a QP has taken a packet with @len bytes of payload */
static inline void rnic_count_received(struct rnic_ctx *ctx, uint32_t len)
{
	ctx->counter[VIRTIO_RDMA_CNT_RCVD_PKTS]++;
	ctx->counter[VIRTIO_RDMA_CNT_RCVD_BYTES] += len;
}

/* A guest's mistake: one line, and not too many of them. */
#define rnic_warn(ctx, fmt, ...)						\
	do {								\
		if (log_limit_ok(&(ctx)->log))				\
			log_warn("%s: " fmt, (ctx)->name, ##__VA_ARGS__); \
	} while (0)

#endif /* DEVICE_RDMA_OBJECT_CTX_H */
