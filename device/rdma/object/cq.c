// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues.
 *
 * The slots that the driver made available are a CQ's window: one is available
 * again once its completion was read.  A completion that finds no slot is held
 * until there is one, and those that come later stand in line behind it.  The
 * driver rings no doorbell for a CQ, so a timer looks for slots meanwhile, and
 * so does each completion added and each arming.
 *
 * A CQ that cannot hold one more has lost a completion and with it the trust in
 * all that are to come: it stays in error until it is destroyed, and its QPs go
 * to ERR.
 */
#include <endian.h>
#include <stdlib.h>

#include "rdma/object/cq.h"
#include "rdma/qp/qp.h"

#define NOTIFY_ALL	(VIRTIO_IB_NOTIFY_SOLICITED | \
			 VIRTIO_IB_NOTIFY_NEXT_COMPLETION)

/* How often slots are looked for, in ns. */
#define HELD_WAIT_MIN	(100 * 1000ULL)
#define HELD_WAIT_MAX	(10 * 1000 * 1000ULL)

/**
 * struct cq_held - a completion without a slot
 * @wc:		completion
 * @solicited:	as for cq_add()
 * @entry:	of the CQ
 */
struct cq_held {
	struct virtio_rdma_cq_req wc;
	bool solicited;
	TAILQ_ENTRY(cq_held) entry;
};

static void cq_timer(void *arg);

static uint32_t cqs_started(const struct rnic *rnic)
{
	uint32_t i, n = 0;

	for (i = 0; i < rnic->limits.cqs; i++)
		n += rnic->cq_vq[i] != NULL;
	return n;
}

const char *cq_create(struct rnic *rnic, uint32_t cqe, uint32_t *cqn)
{
	uint32_t i, slots;
	struct cq *cq;

	if (!cqe)
		return "no depth";
	if (cqe > rnic->limits.cqe)
		return rnic_why(rnic, "%u completions are more than the %u that a CQ holds",
				cqe, rnic->limits.cqe);
	for (i = 0; i < rnic->limits.cqs; i++)
		if (!rnic->cq[i] && rnic->cq_vq[i])
			break;
	if (i == rnic->limits.cqs)
		return rnic_why(rnic, "all %u CQs that have a virtqueue are in use",
				cqs_started(rnic));

	if (rnic->limits.rfc && cqe > rnic->cq_vq[i]->num)
		return rnic_why(rnic, "%u completions are more than its virtqueue holds, %u",
				cqe, rnic->cq_vq[i]->num);

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return "out of memory";
	slots = cqe < rnic->cq_vq[i]->num ? cqe : rnic->cq_vq[i]->num;
	cq->rnic = rnic;
	cq->cqn = i;
	TAILQ_INIT(&cq->held);
	cq->held_max = rnic->limits.rfc ? 0 : rnic->limits.cqe - slots;
	cq->timer.fn = cq_timer;
	cq->timer.arg = cq;
	rnic->cq[i] = cq;
	virtq_restart(rnic->cq_vq[i]);
	virtq_want_kick(rnic->cq_vq[i], false);
	*cqn = i;
	return NULL;
}

static void cq_drop_held(struct cq *cq, struct cq_held *held)
{
	TAILQ_REMOVE(&cq->held, held, entry);
	free(held);
	cq->rnic->held--;
	if (!--cq->held_n)
		loop_timer_cancel(cq->rnic->loop, &cq->timer);
}

static void cq_drop_all_held(struct cq *cq)
{
	while (cq->held_n)
		cq_drop_held(cq, TAILQ_FIRST(&cq->held));
}

static void cq_free(struct rnic *rnic, struct cq *cq)
{
	cq_drop_all_held(cq);
	rnic->cq[cq->cqn] = NULL;
	if (rnic->cq_vq[cq->cqn])
		virtq_restart(rnic->cq_vq[cq->cqn]);
	free(cq);
}

const char *cq_destroy(struct rnic *rnic, uint32_t cqn)
{
	struct cq *cq = rnic_cq(rnic, cqn);

	if (!cq)
		return "unknown completion queue";
	if (cq->refs)
		return "completion queue in use";
	cq_free(rnic, cq);
	return NULL;
}

void cq_free_all(struct rnic *rnic)
{
	uint32_t i;

	for (i = 0; i < rnic->limits.cqs; i++)
		if (rnic->cq[i])
			cq_free(rnic, rnic->cq[i]);
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
 * any, so there is one now.  But it may also have read all that it saw meanwhile,
 * and make nothing of an interrupt without a completion: the CQ stays armed until
 * this one is in a slot.
 */
static void cq_notify_held(struct cq *cq, struct virtq *vq,
			   const struct virtio_rdma_cq_req *wc, bool solicited)
{
	if (cq->told || !cq_raises(cq, wc, solicited))
		return;
	cq->told = true;
	vq->call(vq);
}

static void cq_fail(struct rnic *rnic, struct cq *cq, const char *why)
{
	rnic_warn(rnic, "CQ %u in error: %s", cq->cqn, why);
	cq->error = true;
	cq_drop_all_held(cq);
	qp_fail_cq(rnic, cq);
}

/*
 * Put a completion into a slot.  Returns 1, 0 if there is none now, -1 if there
 * can be none; @why says why.
 */
static int cq_put(struct rnic *rnic, struct virtq *vq,
		  const struct virtio_rdma_cq_req *wc, const char **why)
{
	struct virtq_elem *elem = &rnic->elem;
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
	loop_timer_set(cq->rnic->loop, &cq->timer, cq->wait_ns);
}

/* Returns why not, or NULL. */
static const char *cq_hold(struct rnic *rnic, struct cq *cq,
			   const struct virtio_rdma_cq_req *wc, bool solicited)
{
	struct cq_held *held;

	if (cq->held_n == cq->held_max)
		return "overrun";
	if (rnic->held == RNIC_HELD_MAX)
		return "too many completions unread in all CQs";
	held = malloc(sizeof(*held));
	if (!held)
		return "out of memory";
	held->wc = *wc;
	held->solicited = solicited;
	TAILQ_INSERT_TAIL(&cq->held, held, entry);
	rnic->held++;
	if (!cq->held_n++)
		cq_wait(cq, HELD_WAIT_MIN);
	return NULL;
}

/*
 * Put as many into slots as there are slots; returns how many.  A guest that
 * makes slots available all the while keeps nobody waiting.
 */
static uint32_t cq_deliver(struct rnic *rnic, struct cq *cq)
{
	struct virtq *vq = rnic->cq_vq[cq->cqn];
	struct cq_held *held;
	const char *why;
	uint32_t n;
	int ret = 1;

	/* As qp_usable() has it: without its queue a CQ stands still. */
	if (!vq)
		return 0;
	for (n = 0; cq->held_n && n < vq->num; n++) {
		held = TAILQ_FIRST(&cq->held);
		ret = cq_put(rnic, vq, &held->wc, &why);
		if (ret <= 0)
			break;
		cq_notify(cq, vq, &held->wc, held->solicited);
		cq_drop_held(cq, held);
	}
	if (ret < 0)
		cq_fail(rnic, cq, why);
	return n;
}

/* A guest that does not poll is looked at less and less often. */
static void cq_timer(void *arg)
{
	struct cq *cq = arg;
	bool some = cq_deliver(cq->rnic, cq);

	if (cq->held_n)
		cq_wait(cq, some ? HELD_WAIT_MIN : 2 * cq->wait_ns);
}

void cq_forget_qp(struct cq *cq, uint32_t qpn)
{
	struct cq_held *held, *next;

	for (held = TAILQ_FIRST(&cq->held); held; held = next) {
		next = TAILQ_NEXT(held, entry);
		if (le32toh(held->wc.qp_num) == qpn)
			cq_drop_held(cq, held);
	}
}

/* ------------------------------------------------------------------------- */
/* Completions                                                               */
/* ------------------------------------------------------------------------- */

void cq_add(struct rnic *rnic, struct cq *cq, const struct virtio_rdma_cq_req *wc,
	    bool solicited)
{
	struct virtq *vq = rnic->cq_vq[cq->cqn];
	const char *why = NULL;
	int ret = -1;

	cq_deliver(rnic, cq);
	if (cq->error)
		return;
	if (!vq)
		why = "its virtqueue was stopped";
	else
		ret = cq->held_n ? 0 : cq_put(rnic, vq, wc, &why);
	if (!ret)
		why = cq_hold(rnic, cq, wc, solicited);
	if (why)
		cq_fail(rnic, cq, why);
	else if (ret)
		cq_notify(cq, vq, wc, solicited);
	else
		cq_notify_held(cq, vq, wc, solicited);
}

/*
 * The guest has read what it found, as a rule.  If completions were waiting for
 * that they come at once, for nothing else may come that it could be told of.
 */
const char *cq_arm(struct rnic *rnic, uint32_t cqn, uint32_t flags)
{
	struct cq *cq = rnic_cq(rnic, cqn);

	if (!cq)
		return "unknown completion queue";
	if (!flags || flags & ~NOTIFY_ALL)
		return "unknown notification flags";
	cq->armed |= flags;
	cq->told = false;
	cq_deliver(rnic, cq);
	return NULL;
}
