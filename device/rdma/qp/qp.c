// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: creation and destruction, the ways to RESET and ERR.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/qp/qp.h"

#define QPN_FIRST	(VIRTIO_NET_ROCE_QPN_GSI + 1)

/**
 * struct qp_plan - a request to create a QP, checked
 * @pd:		protection domain
 * @send_cq:	where send requests complete
 * @recv_cq:	where receive requests complete
 * @send_wr:	depth of the send queue
 * @recv_wr:	depth of the receive queue
 */
struct qp_plan {
	struct pd *pd;
	struct cq *send_cq;
	struct cq *recv_cq;
	uint32_t send_wr;
	uint32_t recv_wr;
};

/* Service by QP type; SMI is not there, for RoCE has no use for it. */
static const uint8_t qp_services[] = {
	[VIRTIO_IB_QPT_GSI] = PKT_UD,
	[VIRTIO_IB_QPT_RC] = PKT_RC,
	[VIRTIO_IB_QPT_UC] = PKT_UC,
	[VIRTIO_IB_QPT_UD] = PKT_UD,
};

static const char *qp_check_cap(struct rnic *rnic,
				const struct virtio_rdma_qp_cap *cap)
{
	if (le32toh(cap->max_send_wr) > rnic->limits.queue_size ||
	    le32toh(cap->max_recv_wr) > rnic->limits.queue_size)
		return rnic_why(rnic, "%u send and %u receive requests: %u is the limit",
				le32toh(cap->max_send_wr), le32toh(cap->max_recv_wr),
				rnic->limits.queue_size);
	if (le32toh(cap->max_send_sge) > RNIC_MAX_SGE ||
	    le32toh(cap->max_recv_sge) > RNIC_MAX_SGE)
		return rnic_why(rnic, "%u and %u scatter/gather elements: %u is the limit",
				le32toh(cap->max_send_sge),
				le32toh(cap->max_recv_sge), RNIC_MAX_SGE);
	if (le32toh(cap->max_inline_data) > VIRTIO_RDMA_INLINE_SIZE)
		return rnic_why(rnic, "%u bytes of inline data: %u is the limit",
				le32toh(cap->max_inline_data),
				VIRTIO_RDMA_INLINE_SIZE);
	return NULL;
}

static const char *qp_check(struct rnic *rnic,
			    const struct virtio_rdma_cmd_create_qp *req,
			    struct qp_plan *plan)
{
	if (req->qp_type == VIRTIO_IB_QPT_SMI ||
	    req->qp_type >= sizeof(qp_services))
		return "QP type not supported";
	*plan = (struct qp_plan) {
		.pd = pd_get(rnic, le32toh(req->pdn)),
		.send_cq = rnic_cq(rnic, le32toh(req->send_cqn)),
		.recv_cq = rnic_cq(rnic, le32toh(req->recv_cqn)),
		.send_wr = le32toh(req->cap.max_send_wr),
		.recv_wr = le32toh(req->cap.max_recv_wr),
	};
	if (!rnic->limits.rfc && req->flags & ~VIRTIO_IB_QP_FAST_REG)
		return "unknown flags";
	if (!plan->pd)
		return "unknown protection domain";
	if (!plan->send_cq || !plan->recv_cq)
		return "unknown completion queue";
	if (plan->send_cq->error || plan->recv_cq->error)
		return "completion queue in error";
	return qp_check_cap(rnic, &req->cap);
}

static bool qp_queues_fit(const struct rnic *rnic, uint32_t qpn,
			  const struct qp_plan *plan)
{
	const struct virtq *sq = rnic->sq_vq[qpn], *rq = rnic->rq_vq[qpn];

	return sq && rq && sq->num >= plan->send_wr && rq->num >= plan->recv_wr;
}

static bool qp_number_fits(const struct rnic *rnic, uint32_t qpn,
			   const struct qp_plan *plan)
{
	return !rnic->qp[qpn] && qp_queues_fit(rnic, qpn, plan);
}

static uint32_t qps_that_fit(const struct rnic *rnic, const struct qp_plan *plan)
{
	uint32_t i, n = 0;

	for (i = QPN_FIRST; i < rnic->limits.qps; i++)
		n += qp_queues_fit(rnic, i, plan);
	return n;
}

/*
 * Ordinary numbers go round, so that a packet for a QP that is gone does not
 * meet one that has just come.
 */
static const char *qp_take_number(struct rnic *rnic, uint8_t type,
				  const struct qp_plan *plan, uint32_t *qpn)
{
	uint32_t i, n = rnic->limits.qps - QPN_FIRST;

	if (type == VIRTIO_IB_QPT_GSI) {
		*qpn = VIRTIO_NET_ROCE_QPN_GSI;
		return qp_number_fits(rnic, *qpn, plan) ? NULL :
		       "GSI exists, or has no virtqueues for it";
	}
	for (i = 0; i < n; i++) {
		*qpn = QPN_FIRST + (rnic->qpn_next - QPN_FIRST + i) % n;
		if (!qp_number_fits(rnic, *qpn, plan))
			continue;
		rnic->qpn_next = QPN_FIRST + (*qpn - QPN_FIRST + 1) % n;
		return NULL;
	}
	return rnic_why(rnic, "all %u QPs with virtqueues of %u and %u entries are in use",
			qps_that_fit(rnic, plan), plan->send_wr, plan->recv_wr);
}

static struct qp *qp_alloc(struct rnic *rnic, uint32_t qpn,
			   const struct virtio_rdma_cmd_create_qp *req)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->req.size = rnic->sq_vq[qpn]->num;
	qp->req.ring = calloc(qp->req.size, sizeof(*qp->req.ring));
	if (!qp->req.ring) {
		free(qp);
		return NULL;
	}
	qp->rnic = rnic;
	qp->qpn = qpn;
	qp->type = req->qp_type;
	qp->service = qp_services[req->qp_type];
	qp->state = VIRTIO_IB_QPS_RESET;
	qp->sig_all = req->sq_sig_all;
	qp->fast_reg = !rnic->limits.rfc && req->flags & VIRTIO_IB_QP_FAST_REG;
	qp->cap = req->cap;
	qp->cap.padding = 0;
	qp->max_send_sge = le32toh(req->cap.max_send_sge);
	qp->max_recv_sge = le32toh(req->cap.max_recv_sge);
	return qp;
}

const char *qp_create(struct rnic *rnic,
		      const struct virtio_rdma_cmd_create_qp *req,
		      uint32_t *qpn)
{
	struct qp_plan plan;
	const char *why;
	struct qp *qp;

	why = qp_check(rnic, req, &plan);
	if (why)
		return why;
	why = qp_take_number(rnic, req->qp_type, &plan, qpn);
	if (why)
		return why;
	qp = qp_alloc(rnic, *qpn, req);
	if (!qp)
		return "out of memory";

	qp->pd = plan.pd;
	qp->send_cq = plan.send_cq;
	qp->recv_cq = plan.recv_cq;
	qp->pd->refs++;
	qp->send_cq->refs++;
	qp->recv_cq->refs++;
	rnic->qp[*qpn] = qp;
	flow_reset(qp);
	requester_reset(qp, 0);
	responder_reset(qp, 0);
	virtq_restart(rnic->sq_vq[*qpn]);
	virtq_restart(rnic->rq_vq[*qpn]);
	/* Receive requests are taken when a message comes, not before. */
	virtq_want_kick(rnic->rq_vq[*qpn], false);
	virtq_want_kick(rnic->sq_vq[*qpn], true);
	qp->sq_kick = true;
	return NULL;
}

static void qp_free(struct qp *qp)
{
	struct rnic *rnic = qp->rnic;

	requester_stop(qp);
	flow_stop(qp);
	qp_deactivate(qp);
	mcast_detach_all(rnic, qp->qpn);
	rnic->qp[qp->qpn] = NULL;
	if (rnic->sq_vq[qp->qpn])
		virtq_restart(rnic->sq_vq[qp->qpn]);
	if (rnic->rq_vq[qp->qpn])
		virtq_restart(rnic->rq_vq[qp->qpn]);
	qp->recv_cq->refs--;
	qp->send_cq->refs--;
	qp->pd->refs--;
	free(qp->req.ring);
	free(qp);
}

static void qp_drop_completions(struct qp *qp)
{
	cq_forget_qp(qp->send_cq, qp->qpn);
	cq_forget_qp(qp->recv_cq, qp->qpn);
}

const char *qp_destroy(struct rnic *rnic, uint32_t qpn)
{
	struct qp *qp = rnic_qp(rnic, qpn);

	if (!qp)
		return "unknown QP";
	qp_drop_completions(qp);
	qp_free(qp);
	return NULL;
}

void qp_free_all(struct rnic *rnic)
{
	uint32_t i;

	for (i = 0; i < rnic->limits.qps; i++)
		if (rnic->qp[i])
			qp_free(rnic->qp[i]);
}

/*
 * Give all that is in a virtqueue back, or forget it; a guest that goes on posting
 * waits.
 */
static void virtq_drain(struct virtq *vq, struct virtq_elem *elem, bool back)
{
	unsigned int i;

	for (i = 0; i < vq->num && virtq_pop(vq, elem) > 0; i++)
		if (back)
			virtq_push(vq, elem->head, 0);
}

/* That they are given back is a rule of ours, which the RFC does not have. */
static void qp_drop_slots(struct qp *qp)
{
	struct virtq *sq = qp->rnic->sq_vq[qp->qpn];
	struct virtq *rq = qp->rnic->rq_vq[qp->qpn];
	struct requester *req = &qp->req;
	bool back = !qp->rnic->limits.rfc;
	const struct wqe *wqe;

	if (sq) {
		for (; back && req->una != req->prod; req->una++) {
			wqe = &req->ring[req->una & (req->size - 1)];
			virtq_push(sq, wqe->head, 0);
		}
		virtq_drain(sq, &qp->rnic->elem, back);
	}
	if (rq) {
		if (back && qp->resp.has_rwqe)
			virtq_push(rq, qp->resp.rwqe.head, 0);
		virtq_drain(rq, &qp->rnic->elem, back);
	}
}

void qp_reset(struct qp *qp)
{
	if (qp->state != VIRTIO_IB_QPS_RESET)
		qp_drop_slots(qp);
	flow_reset(qp);
	qp_drop_completions(qp);
	requester_reset(qp, 0);
	responder_reset(qp, 0);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->mtu = 0;
	qp->route = (struct route) {};
	qp->epoch = 0;
	qp->on_wire = false;
	qp->state = VIRTIO_IB_QPS_RESET;
	if (qp->rnic->rq_vq[qp->qpn])
		virtq_want_kick(qp->rnic->rq_vq[qp->qpn], false);
	qp->rq_kick = false;
}

void qp_fail(struct qp *qp)
{
	if (qp->state == VIRTIO_IB_QPS_ERR)
		return;
	qp->state = VIRTIO_IB_QPS_ERR;
	requester_stop(qp);
	flow_stop(qp);
	responder_drop_reads(&qp->resp);
	qp->resp.nak = 0;
	qp->resp.ack_due = false;
	qp->resp.dead = true;
	qp_activate(qp);
}

void qp_fail_cq(struct rnic *rnic, const struct cq *cq)
{
	struct qp *qp;
	uint32_t i;

	for (i = 0; i < rnic->limits.qps; i++) {
		qp = rnic->qp[i];
		if (qp && (qp->send_cq == cq || qp->recv_cq == cq))
			qp_fail(qp);
	}
}

void qp_fail_queue(struct qp *qp, const char *queue)
{
	/* Another attempt to flush finds the same again, and is not news. */
	if (qp->state != VIRTIO_IB_QPS_ERR)
		rnic_warn(qp->rnic, "QP %u in error: its %s queue is broken",
			  qp->qpn, queue);
	qp_fail(qp);
}
