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

#include "rdma/qp/qp.h"

int qp_table_init(struct qp_table *qps)
{
	uint32_t n = qps->ctx->limits.qps;

	TAILQ_INIT(&qps->active);
	qps->next = VIRTIO_NET_ROCE_QPN_GSI + 1;
	qps->qp = calloc(n, sizeof(*qps->qp));
	qps->sq_vq = calloc(n, sizeof(*qps->sq_vq));
	qps->rq_vq = calloc(n, sizeof(*qps->rq_vq));
	return qps->qp && qps->sq_vq && qps->rq_vq ? 0 : -ENOMEM;
}

void qp_table_fini(struct qp_table *qps)
{
	free(qps->rq_vq);
	free(qps->sq_vq);
	free(qps->qp);
}

void qp_activate(struct qp *qp)
{
	qp->busy_at = loop_now(qp->ctx->loop);
	if (qp->active)
		return;
	qp->active = true;
	TAILQ_INSERT_TAIL(&qp->table->active, qp, entry);
}

void qp_deactivate(struct qp *qp)
{
	if (!qp->active)
		return;
	qp->active = false;
	TAILQ_REMOVE(&qp->table->active, qp, entry);
}

void qp_resume(struct qp *qp)
{
	if (qp_usable(qp))
		qp_activate(qp);
}

void qp_resume_all(struct qp_table *qps)
{
	uint32_t i;

	for (i = 0; i < qps->ctx->limits.qps; i++)
		if (qps->qp[i])
			qp_resume(qps->qp[i]);
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
	qp->sq = qps->sq_vq[qpn];
	qp->rq = qps->rq_vq[qpn];
	qp_resume(qp);
}
