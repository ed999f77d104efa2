// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues, saved and loaded.
 *
 * Completions that are held are of QPs, and are saved behind these.
 */
#include "rdma/object/cq_image.h"

/* Bytes of the smallest one in a state. */
#define CQ_STATE_SIZE	22u

static void cq_direct_io(struct state *st, struct cq *cq)
{
	const char *why = NULL;

	state_u8(st, "shift", &cq->shift, UINT8_MAX);
	state_u32(st, "cqe", &cq->cqe, UINT32_MAX);
	state_u32(st, "stored", &cq->stored, UINT32_MAX);
	state_bool(st, "read", &cq->read);
	pages_io(st, &cq->pages, cq->table->ctx);
	state_need(st, cq->control, "block", "a direct CQ without a control block");
	if (st->loading && !st->failed)
		why = cq_check_ring(cq->cqe, cq->shift, cq->pages.n);
	state_need(st, !why, "cqe", why);
}

static void cq_control_io(struct state *st, struct cq *cq)
{
	block_io(st, &cq->block, cq->table->ctx, VIRTIO_RDMA_CONTROL_SIZE);
	state_u8(st, "event_vq", &cq->ready.vq, RNIC_EVENT_VQS_MAX - 1);
	state_need(st, cq->ready.vq < cq->table->ctx->limits.event_vqs, "event_vq",
		   "no such event virtqueue");
	if (!st->loading)
		return;
	cq->ready.type = VIRTIO_RDMA_EVENT_COMPLETION;
	cq->ready.number = cq->cqn;
	cq->failed = cq->ready;
	cq->failed.type = VIRTIO_RDMA_EVENT_CQ_ERROR;
}

static void cq_io(struct state *st, struct cq *cq)
{
	state_bool(st, "block", &cq->control);
	if (cq->control)
		cq_control_io(st, cq);
	if (cq->direct)
		cq_direct_io(st, cq);
	state_u32(st, "armed", &cq->armed, VIRTIO_IB_NOTIFY_SOLICITED |
					   VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
	state_u32(st, "arming", &cq->arming, UINT32_MAX);
	state_u32(st, "told", &cq->told, UINT32_MAX);
	state_bool(st, "error", &cq->error);
	state_u32(st, "held_max", &cq->held_max, cq->table->ctx->limits.cqe);
	state_need(st, !cq->direct || !cq->held_max, "held_max", "a direct CQ holds nothing");
}

static void cq_moderate_io(struct state *st, struct cq_table *cqs, uint32_t *cqn)
{
	struct cq *cq;

	state_u32(st, "cqn", cqn, UINT32_MAX);
	cq = cq_get(cqs, *cqn);
	if (state_need(st, cq && cq->control && (!st->loading || !cq->mod.period), "cqn",
		       "no such CQ with a control block, or twice"))
		moderate_io(st, &cq->mod, cqs->ctx);
}

static bool cq_is_moderated(const struct cq *cq)
{
	return cq && cq->mod.period;
}

void cq_moderation_io(struct state *st, struct cq_table *cqs)
{
	uint32_t i, cqn, n = 0;

	for (i = 0; !st->loading && i < cqs->size; i++)
		n += cq_is_moderated(cqs->cq[i]);
	if (!st->loading && !n)
		return;
	state_count(st, "cqs", &n, cqs->size, 4 + MODERATE_STATE_SIZE);
	for (i = 0, cqn = 0; i < n && !st->failed; i++, cqn++) {
		while (!st->loading && !cq_is_moderated(cqs->cq[cqn]))
			cqn++;
		cq_moderate_io(st, cqs, &cqn);
	}
}

static void cq_timed_io(struct state *st, struct cq_table *cqs, uint32_t *cqn)
{
	struct cq *cq;

	state_u32(st, "cqn", cqn, UINT32_MAX);
	cq = cq_get(cqs, *cqn);
	if (state_need(st, cq && cq->direct && cq->shift == CQ_TIMED_SHIFT &&
		       (!st->loading || !cq->timed), "cqn",
		       "no such CQ with completions of 64 bytes, or twice")) {
		cq->timed = true;
		cq->plain = false;
	}
}

static bool cq_is_timed(const struct cq *cq)
{
	return cq && cq->timed;
}

void cq_timestamps_io(struct state *st, struct cq_table *cqs, struct cq_clock *clock)
{
	uint32_t i, cqn, n = 0;

	if (!st->loading && !cqs->ctx->clock_known)
		return;
	clock->known = true;
	clock->zero = cqs->ctx->clock_zero;
	clock->time = rnic_clock(cqs->ctx);
	state_u64(st, "zero", &clock->zero, UINT64_MAX);
	state_u64(st, "time", &clock->time, UINT64_MAX);
	clock->here = st->handed_over;
	for (i = 0; !st->loading && i < cqs->size; i++)
		n += cq_is_timed(cqs->cq[i]);
	state_count(st, "cqs", &n, cqs->size, 4);
	for (i = 0, cqn = 0; i < n && !st->failed; i++, cqn++) {
		while (!st->loading && !cq_is_timed(cqs->cq[cqn]))
			cqn++;
		cq_timed_io(st, cqs, &cqn);
	}
}

/*
 * In the place of another process the clock of the host is the same one, unless it would set
 * ours back.  On another host ours goes on from what it said.
 */
void cq_clock_loaded(struct rnic_ctx *ctx, const struct cq_clock *clock)
{
	const uint64_t now = clock_ns();

	if (!clock->known)
		return;
	ctx->clock_known = true;
	ctx->clock_zero = clock->zero;
	if (!clock->here || (int64_t)(now - clock->zero - clock->time) < 0)
		ctx->clock_zero = now - clock->time;
}

static struct cq *cq_load_number(struct state *st, struct cq_table *cqs, uint32_t cqn)
{
	const struct rnic_limits *limits = &cqs->ctx->limits;
	struct cq *cq = NULL;

	state_need(st, cqn < limits->cqs + limits->direct_cqs, "cqn", "no such number");
	state_need(st, !cq_get(cqs, cqn), "cqn", "a CQ occurs twice");
	if (!st->failed)
		cq = cq_enter(cqs, cqn);
	if (state_need(st, cq, "cqn", "out of memory")) {
		cq->direct = cqn >= limits->cqs;
		cq->plain = cq->direct;
	}
	return cq;
}

static uint32_t cq_number(const struct cq_table *cqs)
{
	uint32_t i, n = 0;

	for (i = 0; i < cqs->size; i++)
		n += !!cqs->cq[i];
	return n;
}

void cq_table_io(struct state *st, struct cq_table *cqs)
{
	const struct rnic_limits *limits = &cqs->ctx->limits;
	uint32_t i, cqn = 0, n = st->loading ? 0 : cq_number(cqs);
	struct cq *cq;

	state_u32(st, "next", &cqs->next, limits->cqs + limits->direct_cqs);
	state_need(st, cqs->next >= limits->cqs, "next", "not the number of a direct CQ");
	if (cqs->next < limits->cqs)
		cqs->next = limits->cqs;
	state_count(st, "cqs", &n, limits->cqs + limits->direct_cqs, CQ_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++, cqn++) {
		while (!st->loading && !cqs->cq[cqn])
			cqn++;
		state_u32(st, "cqn", &cqn, UINT32_MAX);
		cq = st->loading ? cq_load_number(st, cqs, cqn) : cqs->cq[cqn];
		if (cq)
			cq_io(st, cq);
	}
}

void cq_loaded(struct cq_table *cqs)
{
	uint32_t i;

	for (i = 0; i < cqs->size; i++) {
		if (!cqs->cq[i])
			continue;
		if (i < cqs->ctx->limits.cqs)
			cqs->cq[i]->vq = cqs->vq[i];
		cq_fail_later(cqs->cq[i]);
	}
}
