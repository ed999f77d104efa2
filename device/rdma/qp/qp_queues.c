// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queues of a QP, and the way to its peer: what requester, responder and
 * datagrams stand on.
 */
#include <endian.h>
#include <errno.h>

#include "rdma/qp/offload.h"
#include "rdma/qp/qp_queues.h"

/* ------------------------------------------------------------------------- */
/* Fail                                                                      */
/* ------------------------------------------------------------------------- */

void qp_fail(struct qp *qp)
{
	if (qp->state == VIRTIO_IB_QPS_ERR)
		return;
	qp->state = VIRTIO_IB_QPS_ERR;
	requester_stop(&qp->req, qp->ctx->loop);
	flow_stop(&qp->flow);
	responder_drop_reads(&qp->resp);
	early_drop(&qp->req.early, qp->ctx, EARLY_ALL);
	early_drop(&qp->resp.early, qp->ctx, EARLY_ALL);
	early_drop(&qp->resp.sent, qp->ctx, EARLY_ALL);
	qp->resp.nak = 0;
	qp->resp.ack_due = false;
	qp->resp.dead = true;
	qp_activate(qp);
}

static void qp_fail_queue(struct qp *qp, const char *queue)
{
	/*
	 * Another attempt to flush finds the same error again, so do not report it
	 * twice.
	 */
	if (qp->state != VIRTIO_IB_QPS_ERR) {
		rnic_warn(qp->ctx, "QP %u in error: its %s queue is broken",
			  qp->qpn, queue);
		qp_report(qp, VIRTIO_RDMA_EVENT_QP_FATAL);
	}
	qp_fail(qp);
}

/* ------------------------------------------------------------------------- */
/* Complete                                                                  */
/* ------------------------------------------------------------------------- */

static void qp_count_send(struct qp *qp, const struct wqe *wqe, uint8_t status)
{
	switch (status) {
	case VIRTIO_IB_WC_SUCCESS:
		if (wqe->kind == PKT_KIND_SEND)
			qp_count(qp, VIRTIO_RDMA_CNT_SENDS);
		else if (wqe->kind == PKT_KIND_WRITE)
			qp_count(qp, VIRTIO_RDMA_CNT_WRITES);
		else if (wqe->kind == PKT_KIND_READ)
			qp_count(qp, VIRTIO_RDMA_CNT_READS);
		break;
	case VIRTIO_IB_WC_WR_FLUSH_ERR:
	case VIRTIO_IB_WC_RETRY_EXC_ERR:
	case VIRTIO_IB_WC_RNR_RETRY_EXC_ERR:
		/* The last two have counters of their own. */
		break;
	default:
		qp_count(qp, VIRTIO_RDMA_CNT_SEND_ERR);
	}
}

/*
 * The slot is given back before the completion shows: a program that sees the
 * completion may post again at once.
 */
static void qp_complete_wqe(struct qp *qp, const struct wqe *wqe, uint8_t status)
{
	struct virtio_rdma_cq_req wc = {
		.wr_id = htole64(wqe->wr_id),
		.status = status,
		.opcode = wqe->wc_opcode,
		.vendor_err = htole32(wqe->vendor_err),
		.qp_num = htole32(qp->qpn),
	};

	qp_count_send(qp, wqe, status);
	if (wqe->posted) {
		if (wqe->post)
			wqe->post->done(wqe->post, status ? -EIO : 0);
		return;
	}
	wq_give(&qp->sq, wqe->head);
	if (!status && !wqe->signaled && !qp->sig_all)
		return;
	if (!status && pkt_fetches(wqe->kind))
		wc.byte_len = htole32(wqe->length);
	if (qp->service == PKT_FRAME)
		cq_add_late(qp->send_cq, &qp->send_user, &wc, wqe->index, false);
	else
		cq_add(qp->send_cq, &qp->send_user, &wc, wqe->index, false);
	if (qp->send_cq->read)
		wq_awaited(&qp->sq);
}

void qp_complete_send(struct qp *qp, uint8_t status)
{
	struct requester *req = &qp->req;
	struct wqe *wqe = requester_wqe(req, req->una);

	requester_not_reading(req, wqe);
	if (req->cur == req->una)
		req->cur++;
	req->una++;
	qp_complete_wqe(qp, wqe, status);
}

void qp_complete_recv(struct qp *qp, struct virtio_rdma_cq_req *wc,
		      bool solicited)
{
	struct responder *resp = &qp->resp;
	struct srq *srq = qp->rq.srq;

	if (!wc->status)
		qp_count(qp, VIRTIO_RDMA_CNT_RECVS);
	else if (wc->status != VIRTIO_IB_WC_WR_FLUSH_ERR)
		qp_count(qp, VIRTIO_RDMA_CNT_RECV_ERR);
	resp->has_rwqe = false;
	wc->wr_id = htole64(resp->rwqe.wr_id);
	wc->qp_num = htole32(qp->qpn);
	wq_give(&qp->rq, resp->rwqe.head);
	if (srq && srq->cq)
		cq_add(srq->cq, &srq->user, wc, resp->rwqe.index, solicited);
	else if (qp->service == PKT_FRAME)
		cq_add_late(qp->recv_cq, &qp->recv_user, wc, resp->rwqe.index, solicited);
	else
		cq_add(qp->recv_cq, &qp->recv_user, wc, resp->rwqe.index, solicited);
}

void qp_fail_send(struct qp *qp, uint8_t status)
{
	qp_complete_send(qp, status);
	if (qp_is_reliable(qp))
		qp_fail(qp);
	else if (qp_sends(qp))
		qp->state = VIRTIO_IB_QPS_SQE;
}

/* ------------------------------------------------------------------------- */
/* Take                                                                      */
/* ------------------------------------------------------------------------- */

/* Copy the next request out of the send queue; false if there is none. */
static bool qp_fetch_slot(struct qp *qp, struct wqe *wqe)
{
	struct wr_slot slot;
	int ret = wq_take(&qp->sq, &slot);

	if (ret < 0)
		qp_fail_queue(qp, "send");
	if (ret <= 0)
		return false;
	wqe->posted = false;
	wqe_parse(&slot, qp->type, qp->max_send_sge, wqe);
	if (qp->ctx->limits.rfc)
		wqe_refuse_extension(wqe);
	return true;
}

/* The driver and the offload take turns, as long as both have something. */
static bool qp_fetch_in_turn(struct qp *qp, struct wqe *wqe)
{
	struct qp_offload *offload = qp->offload;

	if (offload->turn && qp_offload_next(qp, wqe)) {
		offload->turn = false;
		return true;
	}
	offload->turn = true;
	return qp_fetch_slot(qp, wqe) || qp_offload_next(qp, wqe);
}

static struct wqe *qp_fetch_send(struct qp *qp)
{
	struct requester *req = &qp->req;
	struct wqe *wqe;

	if (requester_is_full(req) && !requester_grow(req, qp->ctx))
		return NULL;
	wqe = requester_wqe(req, req->prod);
	if (qp->offload ? !qp_fetch_in_turn(qp, wqe) : !qp_fetch_slot(qp, wqe))
		return NULL;
	req->prod++;
	return wqe;
}

struct wqe *qp_take_send(struct qp *qp)
{
	struct requester *req = &qp->req;

	return req->cur == req->prod ? qp_fetch_send(qp) :
				       requester_wqe(req, req->cur);
}

int qp_pop_recv(struct qp *qp)
{
	struct rwqe *rwqe = &qp->resp.rwqe;
	struct srq *srq = qp->rq.srq;
	struct wr_slot slot;
	int ret;

	if (srq && srq_take_back(srq, rwqe, sizeof(*rwqe))) {
		qp->resp.has_rwqe = true;
		return 1;
	}
	ret = wq_take(&qp->rq, &slot);
	if (ret < 0)
		qp_fail_queue(qp, "receive");
	if (ret > 0) {
		rwqe_parse(&slot, srq ? srq->max_sge : qp->max_recv_sge, rwqe);
		qp->resp.has_rwqe = true;
	}
	return ret;
}

void qp_return_recv(struct qp *qp)
{
	if (!qp->rq.srq || !qp->resp.has_rwqe)
		return;
	qp->resp.has_rwqe = false;
	srq_give_back(qp->rq.srq, &qp->resp.rwqe, sizeof(qp->resp.rwqe));
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
/* Route                                                                     */
/* ------------------------------------------------------------------------- */

const struct route *qp_route(struct qp *qp)
{
	uint64_t epoch = fabric_epoch(qp->end->fabric);

	if (qp->epoch != epoch) {
		qp->route = fabric_route(qp->end,
					 qp->attr.ah_attr.grh.dgid,
					 qp->attr.vlan);
		flow_set_wire(&qp->flow, !qp->route.transport->seg_max);
		qp->epoch = epoch;
	}
	return &qp->route;
}

uint32_t qp_seg_max(struct qp *qp)
{
	const uint32_t max = qp_route(qp)->transport->seg_max;
	uint32_t slice = RNIC_SLICE_FEW;

	if (!max)
		return qp->mtu;
	/* A limit of the rate is kept better by small slices. */
	if (qp->table->active_n > QP_FEW || qp->flow.rate)
		slice = RNIC_SLICE;
	else if (qp_is_alone(qp->table))
		slice = RNIC_SLICE_ALONE;
	return slice < max ? slice : max;
}

void qp_send(struct qp *qp, struct pkt *pkt)
{
	const struct route *route = qp_route(qp);

	if (pkt->opcode != PKT_CNP)
		pkt->opcode = PKT_OPCODE(qp->service, pkt->opcode);
	/* Only packets with payload cause congestion and can be slowed down. */
	pkt->ect = pkt->len;
	pkt->dest_qpn = qp->attr.dest_qpn;
	pkt->src_qpn = qp->qpn;
	pkt->sgid = qp->attr.sgid;
	pkt->dgid = qp->attr.ah_attr.grh.dgid;
	pkt->vlan = qp->attr.vlan;
	pkt->av = &qp->attr.av;
	pkt->head = &qp->head;
	pkt->from = qp->end;
	qp_count_sent(qp, pkt->len);
	route->transport->send(qp->end, route->to, pkt);
}
