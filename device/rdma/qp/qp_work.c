// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs at work: the active list, doorbells, completions, flushing, the
 * way to the peer.
 *
 * rnic_poll() looks at the QPs on the active list only.  One gets there by a
 * doorbell, a packet, a timer or a command, and goes when it had nothing to do
 * for a while.  While it is there its queues need no doorbells.
 */
#include <endian.h>

#include "rdma/qp/qp.h"

bool qp_usable(const struct qp *qp)
{
	const struct rnic *rnic = qp->rnic;

	return rnic->mem->n && rnic->sq_vq[qp->qpn] && rnic->rq_vq[qp->qpn] &&
	       rnic->cq_vq[qp->send_cq->cqn] && rnic->cq_vq[qp->recv_cq->cqn];
}

bool qp_receives(const struct qp *qp)
{
	switch (qp->state) {
	case VIRTIO_IB_QPS_RTR:
	case VIRTIO_IB_QPS_RTS:
	case VIRTIO_IB_QPS_SQD:
	case VIRTIO_IB_QPS_SQE:
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------------- */
/* Active list and doorbells                                                 */
/* ------------------------------------------------------------------------- */

void qp_activate(struct qp *qp)
{
	qp->busy_at = loop_now(qp->rnic->loop);
	if (qp->active)
		return;
	qp->active = true;
	TAILQ_INSERT_TAIL(&qp->rnic->active, qp, entry);
}

void qp_deactivate(struct qp *qp)
{
	if (!qp->active)
		return;
	qp->active = false;
	TAILQ_REMOVE(&qp->rnic->active, qp, entry);
}

/* A request that cannot be taken yet is no reason to be woken for it. */
static bool qp_sq_hungry(const struct qp *qp)
{
	switch (qp->state) {
	case VIRTIO_IB_QPS_RTS:
		return requester_can_fetch(qp);
	case VIRTIO_IB_QPS_SQE:
	case VIRTIO_IB_QPS_ERR:
		return true;
	}
	return false;
}

bool qp_doorbells_on(struct qp *qp)
{
	struct virtq *sq = qp->rnic->sq_vq[qp->qpn];
	struct virtq *rq = qp->rnic->rq_vq[qp->qpn];
	bool more = false;

	if (!qp_usable(qp))
		return false;
	if (qp_sq_hungry(qp) && !sq->broken) {
		qp->sq_kick = true;
		more |= virtq_want_kick(sq, true);
	}
	if (qp->state == VIRTIO_IB_QPS_ERR && !rq->broken) {
		qp->rq_kick = true;
		more |= virtq_want_kick(rq, true);
	}
	return more;
}

void qp_doorbells_off(struct qp *qp)
{
	if (!qp_usable(qp))
		return;
	if (qp->sq_kick)
		virtq_want_kick(qp->rnic->sq_vq[qp->qpn], false);
	if (qp->rq_kick)
		virtq_want_kick(qp->rnic->rq_vq[qp->qpn], false);
	qp->sq_kick = false;
	qp->rq_kick = false;
}

/* ------------------------------------------------------------------------- */
/* Completions                                                               */
/* ------------------------------------------------------------------------- */

static void qp_count_send(struct qp *qp, const struct wqe *wqe, uint8_t status)
{
	switch (status) {
	case VIRTIO_IB_WC_SUCCESS:
		if (wqe->kind == PKT_KIND_SEND)
			rnic_count(qp->rnic, VIRTIO_RDMA_CNT_SENDS);
		else if (wqe->kind == PKT_KIND_WRITE)
			rnic_count(qp->rnic, VIRTIO_RDMA_CNT_WRITES);
		else if (wqe->kind == PKT_KIND_READ)
			rnic_count(qp->rnic, VIRTIO_RDMA_CNT_READS);
		break;
	case VIRTIO_IB_WC_WR_FLUSH_ERR:
	case VIRTIO_IB_WC_RETRY_EXC_ERR:
	case VIRTIO_IB_WC_RNR_RETRY_EXC_ERR:
		/* The last two have counters of their own. */
		break;
	default:
		rnic_count(qp->rnic, VIRTIO_RDMA_CNT_SEND_ERR);
	}
}

/*
 * The slot is given back before the completion shows: whoever sees that may
 * post again at once.
 */
void qp_complete_send(struct qp *qp, const struct wqe *wqe, uint8_t status)
{
	struct virtio_rdma_cq_req wc = {
		.wr_id = htole64(wqe->wr_id),
		.status = status,
		.opcode = wqe->wc_opcode,
		.vendor_err = htole32(wqe->vendor_err),
		.qp_num = htole32(qp->qpn),
	};

	qp_count_send(qp, wqe, status);
	virtq_push(qp->rnic->sq_vq[qp->qpn], wqe->head, 0);
	if (!status && !wqe->signaled && !qp->sig_all)
		return;
	if (!status && wqe->kind == PKT_KIND_READ)
		wc.byte_len = htole32(wqe->length);
	cq_add(qp->rnic, qp->send_cq, &wc, false);
}

void qp_complete_recv(struct qp *qp, struct virtio_rdma_cq_req *wc,
		      bool solicited)
{
	struct responder *resp = &qp->resp;

	if (!wc->status)
		rnic_count(qp->rnic, VIRTIO_RDMA_CNT_RECVS);
	else if (wc->status != VIRTIO_IB_WC_WR_FLUSH_ERR)
		rnic_count(qp->rnic, VIRTIO_RDMA_CNT_RECV_ERR);
	resp->has_rwqe = false;
	wc->wr_id = htole64(resp->rwqe.wr_id);
	wc->qp_num = htole32(qp->qpn);
	virtq_push(qp->rnic->rq_vq[qp->qpn], resp->rwqe.head, 0);
	cq_add(qp->rnic, qp->recv_cq, wc, solicited);
}

/* Take the next receive request; as virtq_pop(). */
static int qp_pop_recv(struct qp *qp)
{
	struct virtq_elem *elem = &qp->rnic->elem;
	int ret = virtq_pop(qp->rnic->rq_vq[qp->qpn], elem);

	if (ret < 0)
		qp_fail_queue(qp, "receive");
	if (ret > 0) {
		rwqe_parse(elem, qp->max_recv_sge, &qp->resp.rwqe);
		qp->resp.has_rwqe = true;
	}
	return ret;
}

enum qp_take qp_take_recv(struct qp *qp)
{
	const struct rwqe *rwqe = &qp->resp.rwqe;
	struct virtio_rdma_cq_req wc = {
		.status = VIRTIO_IB_WC_LOC_QP_OP_ERR,
		.opcode = VIRTIO_IB_WC_RECV,
	};
	int ret;

	if (qp->resp.has_rwqe)
		return QP_TAKE_OK;
	ret = qp_pop_recv(qp);
	if (ret < 0)
		return QP_TAKE_BAD;
	if (!ret)
		return QP_TAKE_EMPTY;
	if (!rwqe->vendor_err)
		return QP_TAKE_OK;
	wc.vendor_err = htole32(rwqe->vendor_err);
	qp_complete_recv(qp, &wc, false);
	return QP_TAKE_BAD;
}

/* ------------------------------------------------------------------------- */
/* Flushing                                                                  */
/* ------------------------------------------------------------------------- */

static bool qp_flush_send(struct qp *qp, struct budget *budget)
{
	struct requester *req = &qp->req;
	bool worked = false;

	while (budget_left(budget)) {
		/* Past those that were begun is the same as to be begun. */
		req->cur = req->una;
		if (!requester_current(qp))
			break;
		requester_done(qp, VIRTIO_IB_WC_WR_FLUSH_ERR);
		budget_take(budget, 0);
		worked = true;
	}
	return worked;
}

static bool qp_flush_recv(struct qp *qp, struct budget *budget)
{
	struct virtio_rdma_cq_req wc;
	bool worked = false;

	while (budget_left(budget)) {
		if (!qp->resp.has_rwqe && qp_pop_recv(qp) <= 0)
			break;
		wc = (struct virtio_rdma_cq_req) {
			.status = VIRTIO_IB_WC_WR_FLUSH_ERR,
			.opcode = VIRTIO_IB_WC_RECV,
		};
		qp_complete_recv(qp, &wc, false);
		budget_take(budget, 0);
		worked = true;
	}
	return worked;
}

static bool qp_send_half(struct qp *qp, struct budget *budget)
{
	return qp->service == PKT_UD ? ud_run(qp, budget) :
				       requester_run(qp, budget);
}

static bool qp_work(struct qp *qp, struct budget *budget)
{
	bool worked = false;

	if (qp_receives(qp))
		worked |= responder_run(qp, budget);

	switch (qp->state) {
	case VIRTIO_IB_QPS_RTS:
	case VIRTIO_IB_QPS_SQD:
		worked |= qp_send_half(qp, budget);
		break;
	case VIRTIO_IB_QPS_SQE:
		worked |= qp_flush_send(qp, budget);
		break;
	case VIRTIO_IB_QPS_ERR:
		worked |= qp_flush_send(qp, budget);
		worked |= qp_flush_recv(qp, budget);
		break;
	}
	return worked;
}

bool qp_poll(struct qp *qp, struct budget *budget)
{
	uint8_t state = qp->state;

	if (!qp_usable(qp))
		return false;
	/* A QP that has just failed has work: its queues are to be flushed. */
	if (!qp_work(qp, budget) && qp->state == state)
		return false;
	if (qp->sq_kick || qp->rq_kick)
		qp_doorbells_off(qp);
	return true;
}

/* ------------------------------------------------------------------------- */
/* The way to the peer                                                       */
/* ------------------------------------------------------------------------- */

const struct route *qp_route(struct qp *qp)
{
	uint32_t epoch = fabric_epoch(qp->rnic->fabric);

	if (qp->epoch != epoch) {
		qp->route = fabric_route(qp->rnic, qp->attr.ah_attr.grh.dgid,
					 qp->attr.vlan);
		qp->on_wire = !qp->route.transport->seg_max;
		qp->epoch = epoch;
	}
	return &qp->route;
}

uint32_t qp_seg_max(struct qp *qp)
{
	const struct route *route = qp_route(qp);

	return route->transport->seg_max ? route->transport->seg_max : qp->mtu;
}

void qp_send(struct qp *qp, struct pkt *pkt)
{
	const struct route *route = qp_route(qp);

	if (pkt->opcode != PKT_CNP)
		pkt->opcode = PKT_OPCODE(qp->service, pkt->opcode);
	/* What has payload makes congestion, and can do something about it. */
	pkt->ect = pkt->len;
	pkt->dest_qpn = qp->attr.dest_qpn;
	pkt->src_qpn = qp->qpn;
	pkt->sgid = qp->attr.sgid;
	pkt->dgid = qp->attr.ah_attr.grh.dgid;
	pkt->vlan = qp->attr.vlan;
	pkt->av = &qp->attr.av;
	route->transport->send(qp->rnic, route->rnic, pkt);
}
