// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: the table of a NIC, its virtqueues, the list of QPs with work.
 *
 * rnic_poll() looks only at the QPs on the active list.  A doorbell, a packet, a
 * timer or a command puts a QP there; it leaves when it had nothing to do for a
 * while.  While it is there its queues need no doorbells.
 *
 * A queue that stops, as all do while the guest is paused, leaves its QP where
 * it is.  The QP stands still until the queue is back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/qp/qp.h"

/* So many places of the table are looked at in a round. */
#define QP_RESUMES	256

int qp_table_init(struct qp_table *qps)
{
	uint32_t n = qps->ctx->limits.qps;

	TAILQ_INIT(&qps->active);
	qps->next = VIRTIO_NET_ROCE_QPN_GSI + 1;
	qps->next_direct = n;
	qps->size = n;
	qps->resume = UINT32_MAX;
	qps->qp = calloc(n, sizeof(*qps->qp));
	qps->sq_vq = calloc(n, sizeof(*qps->sq_vq));
	qps->rq_vq = calloc(n, sizeof(*qps->rq_vq));
	return qps->qp && qps->sq_vq && qps->rq_vq ? 0 : -ENOMEM;
}

void qp_table_fini(struct qp_table *qps)
{
	free(qps->frame);
	free(qps->rq_vq);
	free(qps->sq_vq);
	free(qps->qp);
}

/* As much room again as there is, at least. */
bool qp_table_grow(struct qp_table *qps, uint32_t qpn)
{
	uint32_t size = qps->size;
	struct qp **qp;

	if (qpn < size)
		return true;
	while (size <= qpn)
		size *= 2;
	qp = reallocarray(qps->qp, size, sizeof(*qp));
	if (!qp)
		return false;
	memset(&qp[qps->size], 0, (size - qps->size) * sizeof(*qp));
	qps->qp = qp;
	qps->size = size;
	return true;
}

static void qp_list_add(struct qp *qp, uint64_t busy_at)
{
	qp->busy_at = busy_at;
	qp->active = true;
	qp->table->active_n++;
	TAILQ_INSERT_TAIL(&qp->table->active, qp, entry);
}

void qp_activate(struct qp *qp)
{
	uint64_t now = loop_now(qp->ctx->loop);

	rnic_call(qp->ctx);
	if (qp->active)
		qp->busy_at = now;
	else
		qp_list_add(qp, now);
}

void qp_look(struct qp *qp)
{
	if (!qp->active)
		qp_list_add(qp, 0);
}

void qp_deactivate(struct qp *qp)
{
	if (!qp->active)
		return;
	qp->active = false;
	qp->table->active_n--;
	TAILQ_REMOVE(&qp->table->active, qp, entry);
	if (qp->req.una == qp->req.prod)
		requester_free(&qp->req, qp->ctx);
	if (qp->resp.reads)
		return;
	responder_free(&qp->resp);
	early_drop(&qp->resp.sent, qp->ctx, EARLY_ALL);
}

void qp_report(struct qp *qp, enum virtio_rdma_event_type type)
{
	if (qp->ctx->limits.event_vqs)
		event_report(qp->table->events,
			     &qp->event[type - VIRTIO_RDMA_EVENT_QP_FATAL]);
}

void qp_drop_events(struct qp *qp)
{
	unsigned int i;

	for (i = 0; i < QP_EVENTS; i++)
		event_drop(qp->table->events, &qp->event[i]);
}

void qp_resume(struct qp *qp)
{
	if (qp_usable(qp))
		qp_activate(qp);
}

bool qp_resume_some(struct qp_table *qps)
{
	bool some = false;
	struct qp *qp;
	uint32_t n;

	for (n = 0; n < QP_RESUMES && qps->resume < qps->size; n++) {
		qp = qps->qp[qps->resume++];
		if (!qp || qp->serial > qps->resume_serial)
			continue;
		qp_resume(qp);
		some = true;
	}
	if (qps->resume < qps->size)
		return true;
	qps->resume = UINT32_MAX;
	return some;
}

void qp_moved_all(struct qp_table *qps)
{
	uint32_t i;

	for (i = 0; i < qps->size; i++)
		if (qps->qp[i] && qp_is_reliable(qps->qp[i]))
			qps->qp[i]->moved = true;
}

void qp_set_queue(struct qp_table *qps, struct virtq **vqs, uint32_t qpn,
		  struct virtq *vq)
{
	struct qp *qp = qp_get(qps, qpn);

	if (qpn >= qps->ctx->limits.qps)
		return;
	vqs[qpn] = vq;
	if (!qp)
		return;
	qp->sq.vq = qps->ctx->clearing ? NULL : qps->sq_vq[qpn];
	qp->rq.vq = qps->ctx->clearing ? NULL : qps->rq_vq[qpn];
	qp_resume(qp);
}
