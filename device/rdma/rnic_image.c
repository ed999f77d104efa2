// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The RDMA side of a function, saved and loaded.
 *
 * One table lists the sections, in an order in which each refers only to those before.
 * Objects of which all fields are good are entered at once; if one is not, all of them are
 * destroyed, as at a reset.  Indices of virtqueues, which are not part of them, are set
 * aside until all is known to be good.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/nvmf/subsys_image.h"
#include "rdma/object/cq_image.h"
#include "rdma/object/mr_image.h"
#include "rdma/qp/qp_image.h"
#include "rdma/qp/qp_state.h"
#include "rdma/rnic_image.h"
#include "rdma/rnic_priv.h"
#include "virtio/virtq.h"

/**
 * struct rnic_image - a NIC that is being saved or loaded
 * @rnic:	NIC
 * @queue:	virtqueues that were loaded, to be set in the end
 * @queues:	their number
 * @counter:	counters that were loaded
 * @fused:	likewise
 * @clock:	likewise, the guest's
 */
struct rnic_image {
	struct rnic *rnic;
	struct virtq_image *queue;
	uint32_t queues;
	uint64_t counter[VIRTIO_RDMA_CNT_NUM];
	uint64_t fused;
	struct cq_clock clock;
};

/* ------------------------------------------------------------------------- */
/* Limits and virtqueues                                                     */
/* ------------------------------------------------------------------------- */

static void limits_io(struct state *st, void *arg)
{
	const struct rnic_image *image = arg;
	const struct rnic_limits *limits = &image->rnic->ctx.limits;

	state_same(st, "qps", limits->qps);
	state_same(st, "cqs", limits->cqs);
	state_same(st, "queue_size", limits->queue_size);
	state_same(st, "cqe", limits->cqe);
	state_same(st, "mrs", limits->mrs);
	state_same(st, "pds", limits->pds);
	state_same(st, "ahs", limits->ahs);
	state_same(st, "event_vqs", limits->event_vqs);
	state_same(st, "doorbell_vqs", limits->doorbell_vqs);
	state_same(st, "direct_qps", limits->direct_qps);
	state_same(st, "direct_cqs", limits->direct_cqs);
	state_same(st, "rfc", limits->rfc);
}

/* How many virtqueues of a kind are there, started or not? */
static uint32_t rnic_virtqs_max(const struct rnic *rnic, uint8_t kind)
{
	const struct rnic_limits *limits = &rnic->ctx.limits;

	switch (kind) {
	case RNIC_CQ:
		return limits->cqs;
	case RNIC_SQ:
	case RNIC_RQ:
		return limits->qps;
	case RNIC_EVENT:
		return limits->event_vqs;
	}
	return 0;
}

/* Virtqueue @number of its kind, or NULL. */
static struct virtq *rnic_virtq(const struct rnic *rnic, uint8_t kind, uint32_t number)
{
	if (number >= rnic_virtqs_max(rnic, kind))
		return NULL;
	switch (kind) {
	case RNIC_CQ:
		return rnic->cqs.vq[number];
	case RNIC_SQ:
		return rnic->qps.sq_vq[number];
	case RNIC_RQ:
		return rnic->qps.rq_vq[number];
	}
	return rnic->events.queue[number].vq;
}

static uint32_t rnic_virtqs(const struct rnic *rnic)
{
	uint32_t i, n = 0;
	int kind;

	for (kind = RNIC_CQ; kind <= RNIC_EVENT; kind++)
		for (i = 0; i < rnic_virtqs_max(rnic, kind); i++)
			n += !!rnic_virtq(rnic, kind, i);
	return n;
}

static void queue_io(struct state *st, struct rnic_image *image, uint8_t *kind,
		     uint32_t *number)
{
	struct virtq *vq = rnic_virtq(image->rnic, *kind, *number);

	state_u8(st, "kind", kind, RNIC_EVENT);
	state_u32(st, "number", number, UINT32_MAX);
	if (st->loading)
		vq = rnic_virtq(image->rnic, *kind, *number);
	if (!state_need(st, vq, "number", "that queue was not started here"))
		return;
	virtq_io(st, vq, st->loading ? &image->queue[image->queues++] : NULL);
}

static void queues_save(struct state *st, struct rnic_image *image)
{
	uint32_t number;
	uint8_t byte;
	int kind;

	for (kind = RNIC_CQ; kind <= RNIC_EVENT; kind++) {
		byte = kind;
		for (number = 0; number < rnic_virtqs_max(image->rnic, kind); number++)
			if (rnic_virtq(image->rnic, kind, number))
				queue_io(st, image, &byte, &number);
	}
}

static void queues_io(struct state *st, void *arg)
{
	struct rnic_image *image = arg;
	const uint32_t here = rnic_virtqs(image->rnic);
	uint32_t i, n = here, number = 0;
	uint8_t kind = 0;

	state_count(st, "queues", &n, here, 5 + VIRTQ_STATE_SIZE);
	if (!st->loading) {
		queues_save(st, image);
		return;
	}
	image->queue = calloc(n + 1, sizeof(*image->queue));
	state_need(st, image->queue, "queues", "out of memory");
	state_need(st, n == here, "queues", "others than those were started here");
	for (i = 0; i < n && !st->failed; i++)
		queue_io(st, image, &kind, &number);
}

/* ------------------------------------------------------------------------- */
/* Objects                                                                   */
/* ------------------------------------------------------------------------- */

#define SECTION(name, call)						\
	static void name##_section(struct state *st, void *arg)		\
	{								\
		struct rnic *rnic = ((struct rnic_image *)arg)->rnic;	\
									\
		call;							\
	}

SECTION(gid, gid_table_io(st, &rnic->gids))
SECTION(pd, pd_table_io(st, &rnic->pds))
SECTION(ah, ah_table_io(st, &rnic->ahs))
SECTION(xrcd, xrcd_table_io(st, &rnic->xrcds))
SECTION(mr, mr_table_io(st, &rnic->mrs))
SECTION(cq, cq_table_io(st, &rnic->cqs))
SECTION(moderation, cq_moderation_io(st, &rnic->cqs))
SECTION(srq, srq_table_io(st, &rnic->srqs))
SECTION(doorbell, doorbell_table_io(st, &rnic->doorbells))
SECTION(qp, qp_table_io(st, &rnic->qps))
SECTION(burst, qp_bursts_io(st, &rnic->qps))
SECTION(nvmf, subsys_io(st, &rnic->subs))
SECTION(rss, rss_io(st, &rnic->tables))
SECTION(held, qp_held_io(st, &rnic->qps))
SECTION(given_back, qp_given_back_io(st, &rnic->qps))
SECTION(group, qp_groups_io(st, &rnic->qps))
SECTION(rule, qp_rules_io(st, &rnic->qps))
SECTION(event, qp_events_io(st, &rnic->qps))

static void timestamp_section(struct state *st, void *arg)
{
	struct rnic_image *image = arg;

	cq_timestamps_io(st, &image->rnic->cqs, &image->clock);
}

static void counter_section(struct state *st, void *arg)
{
	struct rnic_image *image = arg;

	rnic_counters_io(st, image->counter);
	state_u64(st, "fused", &image->fused, UINT64_MAX);
}

static const struct state_section rnic_sections[] = {
	{ "limits", 1, 0, limits_io },
	{ "queue", 1, 0, queues_io },
	{ "gid", 1, 0, gid_section },
	{ "pd", 1, 0, pd_section },
	{ "ah", 1, 0, ah_section },
	{ "xrcd", 1, 0, xrcd_section },
	{ "mr", 1, 0, mr_section },
	{ "cq", 1, 0, cq_section },
	{ "moderation", 1, STATE_OPTIONAL, moderation_section },
	{ "timestamp", 1, STATE_OPTIONAL, timestamp_section },
	{ "srq", 1, 0, srq_section },
	{ "doorbell", 1, 0, doorbell_section },
	{ "qp", 1, 0, qp_section },
	{ "burst", 1, STATE_OPTIONAL, burst_section },
	{ "rss", 1, STATE_OPTIONAL, rss_section },
	{ "nvmf", 1, STATE_OPTIONAL, nvmf_section },
	{ "held", 1, 0, held_section },
	{ "given-back", 1, 0, given_back_section },
	{ "group", 1, 0, group_section },
	{ "rule", RULE_STATE_COUNTS, STATE_OPTIONAL, rule_section },
	{ "event", 1, 0, event_section },
	{ "counter", 1, 0, counter_section },
};

/* ------------------------------------------------------------------------- */
/* The NIC                                                                   */
/* ------------------------------------------------------------------------- */

/* Objects that a reset has left are out of reach already. */
static void rnic_clear(struct rnic *rnic)
{
	while (rnic->ctx.clearing)
		rnic_clear_some(rnic);
}

bool rnic_save(struct rnic *rnic, struct state *st)
{
	struct rnic_image image = { .rnic = rnic, .fused = rnic->ctx.fused };

	rnic_clear(rnic);
	/* Before its queues are saved. */
	rnic_flush(rnic);
	memcpy(image.counter, rnic->ctx.counter, sizeof(image.counter));
	return state_sections(st, rnic_sections, ARRAY_SIZE(rnic_sections), &image);
}

/* Nothing can fail any more. */
static void rnic_loaded(struct rnic *rnic, const struct rnic_image *image)
{
	uint32_t i;

	for (i = 0; i < image->queues; i++)
		virtq_loaded(&image->queue[i]);
	memcpy(rnic->ctx.counter, image->counter, sizeof(image->counter));
	rnic->ctx.fused = image->fused;
	cq_clock_loaded(&rnic->ctx, &image->clock);
	cq_loaded(&rnic->cqs);
	qp_loaded(&rnic->qps);
	subsys_loaded(&rnic->subs);
}

static void rnic_load_undo(struct rnic *rnic)
{
	rnic_reset(rnic);
	rnic_clear(rnic);
	obj_table_renew(&rnic->pds.objs);
	obj_table_renew(&rnic->ahs.objs);
	obj_table_renew(&rnic->xrcds.objs);
	obj_table_renew(&rnic->mrs.objs);
	obj_table_renew(&rnic->srqs.objs);
	obj_table_renew(&rnic->doorbells.objs);
	obj_table_renew(&rnic->rules.objs);
	obj_table_renew(&rnic->tables.objs);
	obj_table_renew(&rnic->subs.backends);
	rnic->rules.serial = 0;
	rnic->mrs.binding = 0;
	rnic->qps.serial = 0;
}

bool rnic_load(struct rnic *rnic, struct state *st)
{
	struct rnic_image image = { .rnic = rnic };

	rnic_clear(rnic);
	if (state_sections(st, rnic_sections, ARRAY_SIZE(rnic_sections), &image) &&
	    state_need(st, rss_loaded(&rnic->qps), "qpn", "an RX_HASH QP without a table") &&
	    state_read_end(st))
		rnic_loaded(rnic, &image);
	else
		rnic_load_undo(rnic);
	free(image.queue);
	return !st->failed;
}

uint16_t rnic_section_known(const char *kind)
{
	return state_known(rnic_sections, ARRAY_SIZE(rnic_sections), kind);
}

void rnic_moved(struct rnic *rnic)
{
	qp_moved_all(&rnic->qps);
}

void rnic_parted(struct rnic *rnic)
{
	qp_parted_all(&rnic->qps);
}

void rnic_look_at_all(struct rnic *rnic)
{
	doorbell_mem_changed(&rnic->doorbells);
	qp_resume_all(&rnic->qps);
	event_go_on(&rnic->events);
}
