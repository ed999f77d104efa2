// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues.
 *
 * The slots that the driver made available are a CQ's window: one is available
 * again once its completion was read.  A completion that finds no slot is held
 * until there is one, and those that come later stand in line behind it.  The
 * driver rings no doorbell for a CQ, so a timer looks for slots meanwhile, and
 * so does each completion added and each arming.  Those of a queue that is reset
 * are dropped; each queue knows its own, and others' are not looked at.
 *
 * A CQ that cannot hold one more has lost a completion.  The guest can then rely
 * on none of those that follow, so the CQ stays in error until it is destroyed,
 * and the QPs that complete to it fail.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "rdma/object/cq.h"

#define NOTIFY_ALL	(VIRTIO_IB_NOTIFY_SOLICITED | \
			 VIRTIO_IB_NOTIFY_NEXT_COMPLETION)

/* How often slots are looked for, in ns. */
#define HELD_WAIT_MIN	(100 * 1000ULL)
#define HELD_WAIT_MAX	(10 * 1000 * 1000ULL)

/* Pieces of slots that are filled at a time: as a rule a slot is one. */
#define CQ_FILL_PIECES	VIRTQ_SIZE_MAX

/**
 * struct cq_held - a completion without a slot
 * @wc:		completion
 * @solicited:	as for cq_add()
 * @entry:	of the CQ
 * @of_user:	of the queue that it is of
 */
struct cq_held {
	struct virtio_rdma_cq_req wc;
	bool solicited;
	TAILQ_ENTRY(cq_held) entry;
	LIST_ENTRY(cq_held) of_user;
};

static void cq_timer(void *arg);

/* ------------------------------------------------------------------------- */
/* The table                                                                 */
/* ------------------------------------------------------------------------- */

int cq_table_init(struct cq_table *cqs, struct rnic_ctx *ctx)
{
	cqs->ctx = ctx;
	cqs->cq = calloc(ctx->limits.cqs, sizeof(*cqs->cq));
	cqs->vq = calloc(ctx->limits.cqs, sizeof(*cqs->vq));
	return cqs->cq && cqs->vq ? 0 : -ENOMEM;
}

void cq_table_fini(struct cq_table *cqs)
{
	free(cqs->vq);
	free(cqs->cq);
}

/* While the virtqueue of a CQ is stopped, all its users stand still. */
void cq_set_queue(struct cq_table *cqs, uint32_t cqn, struct virtq *vq)
{
	struct cq *cq = cq_get(cqs, cqn);
	struct cq_user *user;

	if (cqn >= cqs->ctx->limits.cqs)
		return;
	cqs->vq[cqn] = vq;
	if (!cq)
		return;
	cq->vq = vq;
	TAILQ_FOREACH(user, &cq->users, entry)
		user->resume(user->arg);
}

/* ------------------------------------------------------------------------- */
/* Creation and destruction                                                  */
/* ------------------------------------------------------------------------- */

static uint32_t cqs_started(const struct cq_table *cqs)
{
	uint32_t i, n = 0;

	for (i = 0; i < cqs->ctx->limits.cqs; i++)
		n += !!cqs->vq[i];
	return n;
}

const char *cq_create(struct cq_table *cqs, uint32_t cqe, uint32_t *cqn)
{
	const struct rnic_limits *limits = &cqs->ctx->limits;
	uint32_t i, slots;
	struct cq *cq;

	if (!cqe)
		return "no depth";
	if (cqe > limits->cqe)
		return rnic_why(cqs->ctx,
				"%u completions are more than the %u that a CQ holds",
				cqe, limits->cqe);
	for (i = 0; i < limits->cqs; i++)
		if (!cqs->cq[i] && cqs->vq[i])
			break;
	if (i == limits->cqs)
		return rnic_why(cqs->ctx,
				"all %u CQs that have a virtqueue are in use",
				cqs_started(cqs));
	if (limits->rfc && cqe > cqs->vq[i]->num)
		return rnic_why(cqs->ctx,
				"%u completions are more than its virtqueue holds, %u",
				cqe, cqs->vq[i]->num);

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return "out of memory";
	slots = cqe < cqs->vq[i]->num ? cqe : cqs->vq[i]->num;
	cq->table = cqs;
	cq->cqn = i;
	cq->vq = cqs->vq[i];
	TAILQ_INIT(&cq->users);
	TAILQ_INIT(&cq->held);
	cq->held_max = limits->rfc ? 0 : limits->cqe - slots;
	cq->timer.fn = cq_timer;
	cq->timer.arg = cq;
	cqs->cq[i] = cq;
	virtq_restart(cqs->vq[i]);
	virtq_want_kick(cqs->vq[i], false);
	*cqn = i;
	return NULL;
}

static void cq_drop_held(struct cq *cq, struct cq_held *held)
{
	TAILQ_REMOVE(&cq->held, held, entry);
	LIST_REMOVE(held, of_user);
	free(held);
	cq->table->held--;
	if (!--cq->held_n)
		loop_timer_cancel(cq->table->ctx->loop, &cq->timer);
}

static void cq_drop_all_held(struct cq *cq)
{
	while (cq->held_n)
		cq_drop_held(cq, TAILQ_FIRST(&cq->held));
}

static void cq_free(struct cq *cq)
{
	cq_drop_all_held(cq);
	cq->table->cq[cq->cqn] = NULL;
	if (cq->vq)
		virtq_restart(cq->vq);
	free(cq);
}

void cq_table_reset(struct cq_table *cqs)
{
	uint32_t i;

	for (i = 0; i < cqs->ctx->limits.cqs; i++)
		if (cqs->cq[i])
			cq_free(cqs->cq[i]);
}

const char *cq_destroy(struct cq_table *cqs, uint32_t cqn)
{
	struct cq *cq = cq_get(cqs, cqn);

	if (!cq)
		return "unknown completion queue";
	if (!TAILQ_EMPTY(&cq->users))
		return "completion queue in use";
	cq_free(cq);
	return NULL;
}

void cq_attach(struct cq *cq, struct cq_user *user)
{
	LIST_INIT(&user->held);
	TAILQ_INSERT_TAIL(&cq->users, user, entry);
}

void cq_forget(struct cq *cq, struct cq_user *user)
{
	while (!LIST_EMPTY(&user->held))
		cq_drop_held(cq, LIST_FIRST(&user->held));
}

void cq_detach(struct cq *cq, struct cq_user *user)
{
	cq_forget(cq, user);
	TAILQ_REMOVE(&cq->users, user, entry);
}

static bool cq_raises(const struct cq *cq, const struct virtio_rdma_cq_req *wc,
		      bool solicited)
{
	if (cq->armed & VIRTIO_IB_NOTIFY_NEXT_COMPLETION)
		return true;
	return cq->armed & VIRTIO_IB_NOTIFY_SOLICITED &&
	       (solicited || wc->status != VIRTIO_IB_WC_SUCCESS);
}

/* A completion is in a slot, for the driver to see. */
static void cq_notify(struct cq *cq, struct virtq *vq,
		      const struct virtio_rdma_cq_req *wc, bool solicited)
{
	if (!cq_raises(cq, wc, solicited))
		return;
	cq->armed = 0;
	vq->call(vq);
}

/*
 * A completion is held.  The guest may wait for the interrupt before it reads
 * any, so there is one now.  But it may also have read all that it saw meanwhile
 * and ignore an interrupt without a completion: the CQ stays armed until this one
 * is in a slot.
 */
static void cq_notify_held(struct cq *cq, struct virtq *vq,
			   const struct virtio_rdma_cq_req *wc, bool solicited)
{
	if (cq->told || !cq_raises(cq, wc, solicited))
		return;
	cq->told = true;
	vq->call(vq);
}

static void cq_fail(struct cq *cq, const char *why)
{
	struct cq_user *user;

	rnic_warn(cq->table->ctx, "CQ %u in error: %s", cq->cqn, why);
	cq->error = true;
	cq_drop_all_held(cq);
	TAILQ_FOREACH(user, &cq->users, entry)
		user->fail(user->arg);
}

/*
 * Put a completion into a slot.  Returns 1, 0 if there is none now, -1 if there
 * can be none; @why says why.
 */
static int cq_put(struct rnic_ctx *ctx, struct virtq *vq,
		  const struct virtio_rdma_cq_req *wc, const char **why)
{
	struct virtq_elem *elem = &ctx->elem;
	int ret = virtq_pop(vq, elem);

	if (ret < 0)
		*why = "its virtqueue is broken";
	if (ret <= 0)
		return ret < 0 ? -1 : 0;
	if (elem->in_len < sizeof(*wc)) {
		virtq_push(vq, elem->head, 0);
		*why = "a slot is too short";
		return -1;
	}
	iov_from_buf(&elem->iov[elem->out_n], elem->in_n, 0, wc, sizeof(*wc));
	virtq_push(vq, elem->head, sizeof(*wc));
	return 1;
}

/* ------------------------------------------------------------------------- */
/* Completions without a slot                                                */
/* ------------------------------------------------------------------------- */

static void cq_wait(struct cq *cq, uint64_t ns)
{
	cq->wait_ns = ns < HELD_WAIT_MAX ? ns : HELD_WAIT_MAX;
	loop_timer_set(cq->table->ctx->loop, &cq->timer, cq->wait_ns);
}

/* Returns why not, or NULL. */
static const char *cq_hold(struct cq *cq, struct cq_user *user,
			   const struct virtio_rdma_cq_req *wc, bool solicited)
{
	struct cq_table *cqs = cq->table;
	struct cq_held *held;

	if (cq->held_n == cq->held_max)
		return "overrun";
	if (cqs->held == RNIC_HELD_MAX)
		return "too many completions unread in all CQs";
	held = malloc(sizeof(*held));
	if (!held)
		return "out of memory";
	held->wc = *wc;
	held->solicited = solicited;
	TAILQ_INSERT_TAIL(&cq->held, held, entry);
	LIST_INSERT_HEAD(&user->held, held, of_user);
	cqs->held++;
	if (!cq->held_n++)
		cq_wait(cq, HELD_WAIT_MIN);
	return NULL;
}

/*
 * Put as many into slots as there are slots; returns how many.  A guest that
 * makes slots available all the while, or slots of many pieces, keeps nobody
 * waiting: the timer goes on soon.
 */
static uint32_t cq_fill_slots(struct cq *cq)
{
	const struct virtq_elem *elem = &cq->table->ctx->elem;
	struct virtq *vq = cq->vq;
	uint32_t pieces = 0;
	struct cq_held *held;
	const char *why;
	uint32_t n;
	int ret = 1;

	/* Without its queue a CQ stands still, as its users do. */
	if (!vq)
		return 0;
	for (n = 0; cq->held_n && pieces < CQ_FILL_PIECES; n++) {
		held = TAILQ_FIRST(&cq->held);
		ret = cq_put(cq->table->ctx, vq, &held->wc, &why);
		if (ret <= 0)
			break;
		pieces += elem->out_n + elem->in_n;
		cq_notify(cq, vq, &held->wc, held->solicited);
		cq_drop_held(cq, held);
	}
	if (cq->held_n && pieces >= CQ_FILL_PIECES)
		cq_wait(cq, HELD_WAIT_MIN);
	if (ret < 0)
		cq_fail(cq, why);
	return n;
}

/* The slots of a guest that does not poll are checked less and less often. */
static void cq_timer(void *arg)
{
	struct cq *cq = arg;
	bool some = cq_fill_slots(cq);

	if (cq->held_n)
		cq_wait(cq, some ? HELD_WAIT_MIN : 2 * cq->wait_ns);
}

/* ------------------------------------------------------------------------- */
/* Completions                                                               */
/* ------------------------------------------------------------------------- */

void cq_add(struct cq *cq, struct cq_user *user,
	    const struct virtio_rdma_cq_req *wc, bool solicited)
{
	struct virtq *vq = cq->vq;
	const char *why = NULL;
	int ret = -1;

	cq_fill_slots(cq);
	if (cq->error)
		return;
	if (!vq)
		why = "its virtqueue was stopped";
	else
		ret = cq->held_n ? 0 : cq_put(cq->table->ctx, vq, wc, &why);
	if (!ret)
		why = cq_hold(cq, user, wc, solicited);
	if (why)
		cq_fail(cq, why);
	else if (ret)
		cq_notify(cq, vq, wc, solicited);
	else
		cq_notify_held(cq, vq, wc, solicited);
}

/*
 * As a rule the guest has read what it found.  Completions that waited for that
 * go to their slots at once: there may be no later event to tell the guest of.
 */
const char *cq_arm(struct cq_table *cqs, uint32_t cqn, uint32_t flags)
{
	struct cq *cq = cq_get(cqs, cqn);

	if (!cq)
		return "unknown completion queue";
	if (!flags || flags & ~NOTIFY_ALL)
		return "unknown notification flags";
	cq->armed |= flags;
	cq->told = false;
	cq_fill_slots(cq);
	return NULL;
}
