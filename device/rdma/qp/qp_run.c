// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs at work: polling, flushing, doorbells, packets that arrive.
 */
#include "rdma/qp/fused.h"
#include "rdma/qp/offload.h"
#include "rdma/qp/qp_queues.h"
#include "rdma/qp/qp_run.h"
#include "rdma/qp/raw.h"
#include "rdma/qp/requester.h"
#include "rdma/qp/responder.h"
#include "rdma/qp/ud.h"

/* ------------------------------------------------------------------------- */
/* Doorbells                                                                 */
/* ------------------------------------------------------------------------- */

/* Do not ask to be woken for a request that cannot be taken yet. */
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
	struct wq *sq = &qp->sq, *rq = &qp->rq;
	bool hungry, recv, more = false;

	/* Before any look at its queues: they may not be there. */
	if (!qp_usable(qp))
		return false;
	hungry = qp_sq_hungry(qp);
	recv = (qp->state == VIRTIO_IB_QPS_ERR || qp->resp.unready) && !wq_is_broken(rq);
	/* The bit of a direct QP announces requests of both rings. */
	if ((hungry || (recv && rq->direct)) && !wq_is_broken(sq))
		more = wq_want_kick(sq, true) && hungry;
	if (recv)
		more |= wq_want_kick(rq, true);
	return more;
}

void qp_doorbells_off(struct qp *qp)
{
	if (!qp_usable(qp))
		return;
	if (qp->sq.kick)
		wq_want_kick(&qp->sq, false);
	if (qp->rq.kick)
		wq_want_kick(&qp->rq, false);
}

/* ------------------------------------------------------------------------- */
/* Polling and flushing                                                      */
/* ------------------------------------------------------------------------- */

static bool qp_flush_send(struct qp *qp, struct budget *budget)
{
	struct requester *req = &qp->req;
	bool worked = false;

	while (budget_left(budget)) {
		/* Requests that were begun are flushed like all others. */
		req->cur = req->una;
		if (!qp_take_send(qp))
			break;
		qp_complete_send(qp, VIRTIO_IB_WC_WR_FLUSH_ERR);
		budget_take(budget, 0);
		worked = true;
	}
	return worked;
}

/* The requests of an SRQ are not this QP's, but for the one that it has at hand. */
static bool qp_next_to_flush(struct qp *qp)
{
	return qp->resp.has_rwqe || (!qp->rq.srq && qp_pop_recv(qp) > 0);
}

static void qp_report_last_wqe(struct qp *qp)
{
	if ((!qp->rq.srq && !qp->xrcd) || qp->no_wqe)
		return;
	qp->no_wqe = true;
	event_report(qp->table->events, &qp->last_wqe);
}

static bool qp_flush_recv(struct qp *qp, struct budget *budget)
{
	struct virtio_rdma_cq_req wc;
	bool worked = false;

	while (budget_left(budget)) {
		if (!qp_next_to_flush(qp)) {
			qp_report_last_wqe(qp);
			break;
		}
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

/* The QP of this process that a QP is connected to, and that is connected to it; or NULL. */
static struct qp *qp_local_peer(struct qp *qp)
{
	const struct route *route = qp_route(qp);
	struct qp *peer;

	if (route->transport != &transport_local || !route->to)
		return NULL;
	peer = qp_get(route->to->qps, qp->attr.dest_qpn);
	if (!peer || peer->attr.dest_qpn != qp->qpn || qp_route(peer)->to != qp->end)
		return NULL;
	return peer;
}

/* The same with an SRQ, of which others take requests, too. */
static bool qp_wake_srq_peer(struct qp *qp)
{
	struct qp *peer = qp_local_peer(qp);

	/* It has come by itself, or does not come any more. */
	if (!peer || !qp_usable(peer) || !qp->resp.nak_sent) {
		qp->resp.unready = false;
		return false;
	}
	if (!peer->req.rnr_wait || !srq_promise(qp->rq.srq))
		return false;
	qp->resp.unready = false;
	requester_peer_ready(peer);
	return true;
}

/* There is a receive request, for which a peer in memory has waited. */
static bool qp_wake_peer(struct qp *qp)
{
	const bool known = wq_announces(&qp->rq);
	struct qp *peer;

	if (qp->rq.srq)
		return qp_wake_srq_peer(qp);
	if (known && !wq_has_posted(&qp->rq))
		return false;
	qp->resp.unready = false;
	if (!known)
		return false;
	peer = qp_local_peer(qp);
	if (peer && qp_usable(peer))
		requester_peer_ready(peer);
	return true;
}

static bool qp_send_half(struct qp *qp, struct budget *budget)
{
	bool worked;

	if (qp->service == PKT_UD)
		return ud_run(qp, budget);
	if (qp->service == PKT_FRAME)
		return raw_run(qp, budget);
	worked = fused_run(qp, budget);
	return requester_run(qp, budget) || worked;
}

static bool qp_go_on(struct qp *qp)
{
	if (!qp->moved)
		return false;
	qp->moved = false;
	requester_moved(qp);
	responder_moved(qp);
	return true;
}

static bool qp_work(struct qp *qp, struct budget *budget)
{
	bool worked = qp_go_on(qp);

	if (qp->offload && qp->offload->ending)
		qp_fail(qp);
	if (qp->offload && qp->state == VIRTIO_IB_QPS_ERR)
		qp_offload_stop(qp, true);
	if (qp_receives(qp))
		worked |= responder_run(qp, budget);
	if (qp->resp.unready)
		worked |= qp_wake_peer(qp);

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

/* Whether there was something to drain or not, it is reported once for each SQD. */
static void qp_drained(struct qp *qp)
{
	if (!qp->req.draining || qp->state != VIRTIO_IB_QPS_SQD ||
	    requester_draining(qp))
		return;
	qp->req.draining = false;
	qp_report(qp, VIRTIO_RDMA_EVENT_SQ_DRAINED);
}

bool qp_poll(struct qp *qp, struct budget *budget)
{
	uint8_t state = qp->state;
	bool worked;

	if (!qp_usable(qp))
		return false;
	/* A QP that has just failed has work: its queues are to be flushed. */
	worked = qp_work(qp, budget);
	qp_drained(qp);
	if (!worked && qp->state == state)
		return false;
	if (qp->sq.kick || qp->rq.kick)
		qp_doorbells_off(qp);
	return true;
}

/* ------------------------------------------------------------------------- */
/* Packets that arrive                                                       */
/* ------------------------------------------------------------------------- */

/* Is it from the peer of a connected QP, and for the address that it uses? */
static bool qp_expects(const struct qp *qp, const struct pkt *pkt)
{
	return pkt->vlan == qp->attr.vlan &&
	       gid_equal(pkt->dgid, qp->attr.sgid) &&
	       gid_equal(pkt->sgid, qp->attr.ah_attr.grh.dgid) &&
	       (pkt->src_qpn == qp->attr.dest_qpn ||
		pkt->src_qpn == PKT_QPN_UNKNOWN);
}

/*
 * Was it sent by the guest that is the peer?  If no guest has the peer's GID, it
 * is beyond this process, or a guest that runs RoCE of its own by Ethernet: then
 * the address vector names a MAC address of that guest, or of a bridge in it.  It is
 * where our own packets go.
 */
static bool qp_sent_by_peer(struct qp *qp, const struct pkt *pkt)
{
	const struct fabric_end *owner = qp_route(qp)->owner;

	if (owner || !pkt->from)
		return pkt->from == owner;
	return pkt->from->has_mac(pkt->from, qp->attr.av.dmac);
}

/* The network has marked a packet: tell its sender, but not too often. */
static void qp_ecn_rx(struct qp *qp)
{
	struct pkt pkt = { .opcode = PKT_CNP, .npsn = 1 };

	if (!flow_cnp_due(&qp->flow))
		return;
	qp_count(qp, VIRTIO_RDMA_CNT_SENT_CNP);
	qp_send(qp, &pkt);
}

/* The peer reports congestion on the path to it. */
static void qp_cnp_rx(struct qp *qp)
{
	qp_count(qp, VIRTIO_RDMA_CNT_RCVD_CNP);
	flow_congested(&qp->flow, FLOW_CNP);
}

/* The peer sends already, although this side has not been told that it may. */
static void qp_hear(struct qp *qp)
{
	if (qp->resp.heard)
		return;
	qp->resp.heard = true;
	if (qp->state == VIRTIO_IB_QPS_RTR)
		qp_report(qp, VIRTIO_RDMA_EVENT_COMM_EST);
}

/* One end of an XRC connection takes the requests, the other one the answers. */
static bool qp_takes(const struct qp *qp, const struct pkt_op *op,
		     const struct pkt *pkt)
{
	if (op->kind == PKT_KIND_CNP)
		return true;
	return PKT_SERVICE(pkt->opcode) == qp->service &&
	       (qp->service != PKT_XRC || op->response != !!qp->xrcd);
}

bool qp_receive(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt)
{
	if (!qp_takes(qp, op, pkt))
		return false;
	if (!qp_receives(qp) || !qp_usable(qp))
		return false;
	if (PKT_SERVICE(pkt->opcode) == PKT_UD)
		return fabric_is_from(qp->end->fabric, pkt) &&
		       ud_rx(qp, op, pkt);
	if (!qp_connects(qp) || !qp_expects(qp, pkt) ||
	    !qp_sent_by_peer(qp, pkt))
		return false;
	if (pkt->ecn)
		qp_ecn_rx(qp);
	if (op->kind == PKT_KIND_CNP) {
		qp_cnp_rx(qp);
	} else if (op->response) {
		requester_rx(qp, op, pkt);
	} else {
		qp_hear(qp);
		responder_rx(qp, op, pkt);
	}
	return true;
}
