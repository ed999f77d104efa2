// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Between the steps of a test a NIC is saved, freed and loaded, if EG_STATE is in the
 * environment.
 */
#include "tests/lib/engine_guest.h"

#include <stdlib.h>

#include "base/chore.h"
#include "rdma/rnic_image.h"
#include "rdma/rnic_priv.h"

#define FOLLOWERS	4u

/* Done in each of the first steps of a test, then once in so many. */
#define CYCLE_FIRST	30u
#define CYCLE_REST	61u
#define CYCLE_MANY	997u

static struct rnic **followers[FOLLOWERS];
unsigned int eg_steps;
unsigned int eg_cycles;
bool eg_cycle_off;

void eg_follow(struct rnic **rnic)
{
	unsigned int i;

	for (i = 0; i < FOLLOWERS && followers[i] && followers[i] != rnic; i++)
		;
	assert_true(i < FOLLOWERS);
	followers[i] = rnic;
}

static bool eg_cycle_wanted(const struct eg_guest *guest)
{
	const struct eg_guest *first = guest - (guest->number - 1);
	static int wanted = -1;
	unsigned int i;

	if (wanted < 0)
		wanted = !!getenv("EG_STATE");
	if (!wanted || eg_cycle_off)
		return false;
	/* It takes a millisecond, and more where there are thousands of objects. */
	eg_steps++;
	if (eg_steps % (first->rnic->ctx.limits.direct_qps > EG_DIRECT_QPS ? CYCLE_MANY :
		     eg_steps > CYCLE_FIRST ? CYCLE_REST : 1))
		return false;
	for (i = 0; i < EG_GUESTS; i++)
		if (!first[i].rnic || first[i].rnic->port.n)
			return false;
	return true;
}

/* The virtqueues that the NIC has: started, or stopped. */
static void eg_queues(struct eg_guest *guest, struct rnic *from, struct rnic *to)
{
	const struct rnic_limits *limits = &from->ctx.limits;
	uint32_t i;

	for (i = 0; i < limits->cqs; i++)
		if (from->cqs.vq[i])
			rnic_queue_start(to, RNIC_CQ, i, from->cqs.vq[i]);
	for (i = 0; i < limits->qps; i++) {
		if (from->qps.sq_vq[i])
			rnic_queue_start(to, RNIC_SQ, i, from->qps.sq_vq[i]);
		if (from->qps.rq_vq[i])
			rnic_queue_start(to, RNIC_RQ, i, from->qps.rq_vq[i]);
	}
	for (i = 0; i < limits->event_vqs; i++)
		if (from->events.queue[i].vq)
			rnic_queue_start(to, RNIC_EVENT, i, from->events.queue[i].vq);
}

static void eg_queues_stop(struct rnic *rnic)
{
	uint32_t i;

	for (i = 0; i < rnic->ctx.limits.cqs; i++)
		rnic_queue_stop(rnic, RNIC_CQ, i);
	for (i = 0; i < rnic->ctx.limits.qps; i++) {
		rnic_queue_stop(rnic, RNIC_SQ, i);
		rnic_queue_stop(rnic, RNIC_RQ, i);
	}
	for (i = 0; i < rnic->ctx.limits.event_vqs; i++)
		rnic_queue_stop(rnic, RNIC_EVENT, i);
}

/* Forget the indices, which the other process does not know. */
static void eg_forget_indices(struct virtq *vq)
{
	vq->last_avail = 0xdead;
	vq->used_idx = 0xbeef;
	vq->signalled = 0xcafe;
	vq->broken = false;
}

static void eg_forget_all(struct eg_guest *guest)
{
	unsigned int i;

	for (i = 0; i < EG_CQS; i++)
		eg_forget_indices(&guest->cq[i].vq);
	for (i = 0; i < EG_QPS; i++) {
		eg_forget_indices(&guest->sq[i].vq);
		eg_forget_indices(&guest->rq[i].vq);
	}
	for (i = 0; i < EG_EVENT_VQS; i++)
		eg_forget_indices(&guest->event[i].vq);
}

static void eg_replace(struct rnic *old, struct rnic *new)
{
	unsigned int i;

	for (i = 0; i < FOLLOWERS; i++)
		if (followers[i] && *followers[i] == old)
			*followers[i] = new;
}

void eg_cycle(struct eg_guest *guest)
{
	struct rnic *old = guest->rnic, *new;
	struct state out, in;

	if (!eg_cycle_wanted(guest))
		return;
	eg_cycles++;
	state_write(&out);
	if (!rnic_save(old, &out) || !state_written(&out))
		fail_msg("not saved: %s", out.why);
	new = rnic_new(old->ctx.loop, old->end.fabric, &old->ctx.limits, old->ctx.name);
	assert_non_null(new);
	rnic_mem_changed(new, old->mem);
	rnic_set_eth(new, old->port.eth, old->port.arg);
	rnic_set_gid_policy(new, old->gids.may, old->gids.arg);
	rnic_set_packets(new, old->end.packets);
	eg_queues(guest, old, new);
	eg_queues_stop(old);
	rnic_free(old);
	chores_finish(loop_chores(new->ctx.loop));
	eg_replace(old, new);
	guest->rnic = new;
	eg_forget_all(guest);
	assert_true(state_read(&in, out.data, out.at));
	in.handed_over = true;
	if (!rnic_load(new, &in))
		fail_msg("not loaded: %s", in.why);
	state_free(&out);
}
