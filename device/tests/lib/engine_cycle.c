// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Between the steps of a test a NIC is saved, freed and loaded, if EG_STATE is in the
 * environment.
 */
#include "tests/lib/engine_guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/chore.h"
#include "base/util.h"
#include "rdma/rnic_image.h"
#include "rdma/rnic_priv.h"
#include "tests/lib/pipe_mem.h"

#define FOLLOWERS	4u

/* Done in each of the first steps of a test, then once in so many. */
#define CYCLE_FIRST	30u
#define CYCLE_REST	61u
#define CYCLE_MANY	997u

/* A test of more steps than this does it once in %CYCLE_MANY from then on. */
#define CYCLE_LONG	2000u

static struct rnic **followers[FOLLOWERS];

/**
 * struct eg_home - where the NIC of a guest is, now and after it was loaded
 * @rnic:	memory
 * @used:	there is a NIC
 *
 * So pointers of tests to a NIC and to its tables outlive it.
 */
static struct eg_home {
	struct rnic rnic;
	bool used;
} homes[EG_GUESTS];

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

static bool eg_state_wanted(void)
{
	static int wanted = -1;

	if (wanted < 0)
		wanted = !!getenv("EG_STATE");
	return wanted;
}

/* The linker has the daemon call these where a test program is told so (--wrap). */
void *__real_calloc(size_t n, size_t size) __attribute__((weak));
void __real_free(void *p) __attribute__((weak));
void *__wrap_calloc(size_t n, size_t size);
void __wrap_free(void *p);

void *__wrap_calloc(size_t n, size_t size)
{
	unsigned int i;

	for (i = 0; size == sizeof(struct rnic) && eg_state_wanted() && i < EG_GUESTS; i++) {
		if (homes[i].used)
			continue;
		homes[i].used = true;
		return memset(&homes[i].rnic, 0, size);
	}
	return __real_calloc(n, size);
}

void __wrap_free(void *p)
{
	unsigned int i;

	for (i = 0; i < EG_GUESTS; i++) {
		if (p != &homes[i].rnic)
			continue;
		homes[i].used = false;
		return;
	}
	__real_free(p);
}

/* It takes a millisecond, and more where there are thousands of objects. */
static unsigned int eg_cycle_each(const struct rnic *rnic)
{
	if (rnic->ctx.limits.direct_qps > EG_DIRECT_QPS || eg_steps > CYCLE_LONG)
		return CYCLE_MANY;
	return eg_steps > CYCLE_FIRST ? CYCLE_REST : 1;
}

static bool eg_cycle_wanted(const struct eg_guest *guest)
{
	const struct eg_guest *first = guest - (guest->number - 1);
	unsigned int i;

	if (!eg_state_wanted() || eg_cycle_off)
		return false;
	eg_steps++;
	if (eg_steps % eg_cycle_each(first->rnic))
		return false;
	for (i = 0; i < EG_GUESTS; i++)
		if (!first[i].rnic || first[i].rnic->port.n)
			return false;
	return true;
}

/* Indices that the other process does not know. */
static void eg_forget(struct virtq *vq)
{
	vq->last_avail = 0xdead;
	vq->used_idx = 0xbeef;
	vq->signalled = 0xcafe;
	vq->broken = false;
}

/**
 * struct eg_started - the virtqueues that a NIC has
 * @kind:	of each
 * @number:	of each
 * @vq:		them
 * @n:		number of them
 */
struct eg_started {
	enum rnic_queue kind[EG_CQS + 2 * EG_QPS + EG_EVENT_VQS];
	uint32_t number[EG_CQS + 2 * EG_QPS + EG_EVENT_VQS];
	struct virtq *vq[EG_CQS + 2 * EG_QPS + EG_EVENT_VQS];
	unsigned int n;
};

static void eg_started_add(struct eg_started *started, enum rnic_queue kind, uint32_t number,
			   struct virtq *vq)
{
	if (!vq)
		return;
	assert_true(started->n < EG_CQS + 2 * EG_QPS + EG_EVENT_VQS);
	started->kind[started->n] = kind;
	started->number[started->n] = number;
	started->vq[started->n++] = vq;
}

static void eg_started_find(struct eg_started *started, const struct rnic *rnic)
{
	const struct rnic_limits *limits = &rnic->ctx.limits;
	uint32_t i;

	started->n = 0;
	for (i = 0; i < limits->cqs; i++)
		eg_started_add(started, RNIC_CQ, i, rnic->cqs.vq[i]);
	for (i = 0; i < limits->qps; i++) {
		eg_started_add(started, RNIC_SQ, i, rnic->qps.sq_vq[i]);
		eg_started_add(started, RNIC_RQ, i, rnic->qps.rq_vq[i]);
	}
	for (i = 0; i < limits->event_vqs; i++)
		eg_started_add(started, RNIC_EVENT, i, rnic->events.queue[i].vq);
}

static void eg_replace(struct rnic *old, struct rnic *new)
{
	unsigned int i;

	for (i = 0; i < FOLLOWERS; i++)
		if (followers[i] && *followers[i] == old)
			*followers[i] = new;
}

/* A NIC as @old, of which nothing is left then. */
static struct rnic *eg_renew(struct rnic *old)
{
	const struct rnic_limits limits = old->ctx.limits;
	const struct fabric_end end = old->end;
	const struct rnic_eth *eth = old->port.eth;
	void *eth_arg = old->port.arg;
	bool (*may)(const void *arg, const uint8_t *gid) = old->gids.may;
	const void *may_arg = old->gids.arg;
	struct loop *loop = old->ctx.loop;
	const struct guest_mem *mem = old->mem;
	const struct nvmf_host *host = old->subs.host;
	struct eg_started started;
	struct rnic *new;
	char name[64];
	unsigned int i;

	snprintf(name, sizeof(name), "%s", old->ctx.name);
	eg_started_find(&started, old);
	for (i = 0; i < started.n; i++)
		rnic_queue_stop(old, started.kind[i], started.number[i]);
	rnic_free(old);
	chores_finish(loop_chores(loop));
	new = rnic_new(loop, end.fabric, &limits, name);
	assert_non_null(new);
	rnic_mem_changed(new, mem);
	rnic_set_eth(new, eth, eth_arg);
	rnic_set_gid_policy(new, may, may_arg);
	rnic_set_packets(new, end.packets);
	rnic_set_nvmf(new, host);
	for (i = 0; i < started.n; i++) {
		rnic_queue_start(new, started.kind[i], started.number[i], started.vq[i]);
		eg_forget(started.vq[i]);
	}
	return new;
}

/* As a whole, or in parts: of a field each, of some, of many. */
static const size_t eg_parts[] = { 0, 1, 100, 4096 };

void eg_cycle(struct eg_guest *guest)
{
	struct rnic *old = guest->rnic, *new;
	struct state out, in;
	struct pipe_mem mem;
	size_t part;

	if (!eg_cycle_wanted(guest))
		return;
	part = eg_parts[eg_cycles++ % ARRAY_SIZE(eg_parts)];
	pipe_mem_init(&mem, part);
	state_write(&out);
	if (part)
		state_pipe_write(&out, &mem.pipe);
	if (!rnic_save(old, &out) || !state_written(&out))
		fail_msg("not saved: %s", out.why);
	new = eg_renew(old);
	eg_replace(old, new);
	guest->rnic = new;
	assert_true(part ? state_pipe_read(&in, &mem.pipe) : state_read(&in, out.data, out.at));
	in.handed_over = true;
	if (!rnic_load(new, &in))
		fail_msg("not loaded: %s", in.why);
	/* All else is for doorbells that got lost: none is here. */
	event_go_on(&new->events);
	assert_int_equal(mem.at, mem.size);
	if (part)
		state_free(&in);
	state_free(&out);
	pipe_mem_free(&mem);
}
