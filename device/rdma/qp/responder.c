// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder of connected QPs: carries out what arrives, and answers.
 *
 * An answer is not sent where its reason is found.  responder_rx() notes that an
 * ACK or a NAK is due.  responder_answer() sends it once all READs before it are
 * answered, because the requester takes answers in the order of PSNs.
 * responder_run() answers READs, which are in responder_read.c with all else that data
 * answer.
 *
 * An ACK acknowledges all before it.  While the packets that a port has received are
 * looked at, ACKs wait for each other: one for RESP_ACKS_HELD of them, or the last one
 * when the port has been looked at.  That is in the same round, so that none is late, and
 * none can be forgotten.
 */
#include <endian.h>
#include <stdlib.h>

#include "rdma/qp/offload.h"
#include "rdma/qp/responder.h"
#include "rdma/qp/responder_read.h"

/* One ACK goes for so many at most. */
#define RESP_ACKS_HELD	16

void responder_reset(struct qp *qp, uint32_t psn)
{
	early_drop(&qp->resp.early, qp->ctx, EARLY_ALL);
	early_drop(&qp->resp.sent, qp->ctx, EARLY_ALL);
	responder_free(&qp->resp);
	responder_forget(&qp->resp);
	qp->resp = (struct responder) { .epsn = psn, .sent_psn = psn };
}

/* ------------------------------------------------------------------------- */
/* XRC                                                                       */
/* ------------------------------------------------------------------------- */

/*
 * A message is for the SRQ that its packets name, all of them the same one.  It may go
 * before the message has ended: then there is none of this number.
 */
static bool responder_turn_to_srq(struct qp *qp, const struct pkt_op *op,
				  const struct pkt *pkt)
{
	struct srq *srq;

	if (!qp->xrcd)
		return true;
	srq = srq_of_xrcd(qp->table->srqs, qp->xrcd, pkt->srqn);
	if (!srq || (!op->first && srq != qp->rq.srq))
		return false;
	if (srq == qp->rq.srq)
		return true;
	qp_return_recv(qp);
	srq_let_go(&qp->xrcd_user);
	srq_hold(srq, &qp->xrcd_user);
	qp->rq.srq = srq;
	return true;
}

/* ------------------------------------------------------------------------- */
/* SEND                                                                      */
/* ------------------------------------------------------------------------- */

static enum resp_result responder_take_recv(struct qp *qp)
{
	switch (qp_take_recv(qp)) {
	case QP_TAKE_OK:
		return RESP_OK;
	case QP_TAKE_EMPTY:
		return RESP_RNR;
	case QP_TAKE_BAD:
		break;
	}
	qp->resp.dead = true;
	return RESP_OP_ERR;
}

/* The receive request fails, and the QP with it. */
static enum resp_result responder_recv_error(struct qp *qp, uint8_t status,
					     uint8_t vendor_err,
					     enum resp_result result)
{
	struct virtio_rdma_cq_req wc = {
		.status = status,
		.opcode = VIRTIO_IB_WC_RECV,
		.vendor_err = htole32(vendor_err),
	};

	qp->resp.dead = true;
	qp_complete_recv(qp, &wc, false);
	return result;
}

/* Where the rest of a message goes; false if a key, or its bounds, are wrong. */
static bool responder_recv_sg(struct qp *qp, uint32_t len, struct sg *dst)
{
	const struct responder *resp = &qp->resp;
	const struct sge *sge = resp->rwqe.sge;
	uint8_t *p = NULL;

	/* As a rule that is one piece of memory, and the one of the message before. */
	if (resp->rwqe.num_sge == 1 && len)
		p = mr_at(qp->mrs, &qp->recv_place, qp_recv_pd(qp), 0, sge->key,
			  sge->addr + resp->off, len, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	if (p) {
		sg_init_guest(dst, p);
		return true;
	}
	return sg_init(dst, qp->mrs, qp_recv_pd(qp), VIRTIO_IB_ACCESS_LOCAL_WRITE, sge,
		       resp->rwqe.num_sge, resp->off, len);
}

static enum resp_result responder_send(struct qp *qp, const struct pkt_op *op,
				       const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	enum resp_result result;
	struct sg dst;

	if (op->first) {
		if (qp->offload && !qp->offload->ops->ready(qp->offload))
			return RESP_RNR;
		result = responder_take_recv(qp);
		if (result)
			return result;
		resp->off = 0;
	}
	if (pkt->len > resp->rwqe.length - resp->off ||
	    pkt->len > RNIC_MAX_MSG - resp->off)
		return responder_recv_error(qp, VIRTIO_IB_WC_LOC_LEN_ERR,
					    VENDOR_ERR_RQ_SHORT, RESP_INV_REQ);
	if (!responder_recv_sg(qp, pkt->len, &dst))
		return responder_recv_error(qp, VIRTIO_IB_WC_LOC_PROT_ERR,
					    VENDOR_ERR_SGE, RESP_OP_ERR);
	sg_copy(&dst, pkt->payload, pkt->len);
	resp->off += pkt->len;
	/* Payload first: it may go to, or come from, that very region. */
	if (op->inv &&
	    !mr_invalidate(qp->mrs, responder_pd(qp, pkt->srqn), qp->serial,
			   pkt->inv_rkey))
		return responder_recv_error(qp, VIRTIO_IB_WC_REM_INV_REQ_ERR,
					    VENDOR_ERR_INVALIDATE, RESP_ACCESS);
	return RESP_OK;
}

/* ------------------------------------------------------------------------- */
/* RDMA WRITE                                                                */
/* ------------------------------------------------------------------------- */

static enum resp_result responder_write_begin(struct qp *qp, const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;

	if (!(qp->attr.access & VIRTIO_IB_ACCESS_REMOTE_WRITE) ||
	    pkt->dmalen > RNIC_MAX_MSG)
		return RESP_INV_REQ;
	if (pkt->dmalen &&
	    !mr_get_remote(qp->mrs, responder_pd(qp, pkt->srqn), qp->serial,
			   pkt->rkey, pkt->va, pkt->dmalen, VIRTIO_IB_ACCESS_REMOTE_WRITE))
		return RESP_ACCESS;
	resp->va = pkt->va;
	resp->rkey = pkt->rkey;
	resp->dmalen = pkt->dmalen;
	resp->off = 0;
	return RESP_OK;
}

static enum resp_result responder_write(struct qp *qp, const struct pkt_op *op,
					const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	enum resp_result result = RESP_OK;
	struct sge sge;
	struct sg dst;

	if (op->first)
		result = responder_write_begin(qp, pkt);
	if (result)
		return result;
	if (pkt->len > resp->dmalen - resp->off ||
	    op->last != (pkt->len == resp->dmalen - resp->off))
		return RESP_INV_REQ;

	/* Looked up for each segment: the key may be gone in the meantime. */
	sge = (struct sge) {
		.addr = resp->va + resp->off,
		.length = pkt->len,
		.key = resp->rkey,
	};
	if (!sg_init_remote(&dst, qp->mrs, responder_pd(qp, pkt->srqn), qp->serial,
			    VIRTIO_IB_ACCESS_REMOTE_WRITE, &sge))
		return RESP_ACCESS;
	/* Report that no receive request is ready before anything is written. */
	if (op->imm)
		result = responder_take_recv(qp);
	if (result)
		return result;
	sg_copy(&dst, pkt->payload, pkt->len);
	resp->off += pkt->len;
	return RESP_OK;
}

/* ------------------------------------------------------------------------- */
/* Dispatch                                                                  */
/* ------------------------------------------------------------------------- */

/* Does it continue what is under way, or begin something if nothing is? */
static bool responder_in_sequence(const struct responder *resp,
				  const struct pkt_op *op)
{
	return resp->kind == (op->first ? PKT_KIND_NONE : op->kind);
}

static enum resp_result responder_execute(struct qp *qp, const struct pkt_op *op,
					  const struct pkt *pkt)
{
	if (!responder_in_sequence(&qp->resp, op) ||
	    !responder_turn_to_srq(qp, op, pkt))
		return RESP_INV_REQ;
	if (pkt_is_answered(op->kind))
		return responder_read_request(qp, op, pkt);
	if (!pkt_fits(op, pkt, qp->mtu))
		return RESP_INV_REQ;
	return op->kind == PKT_KIND_SEND ? responder_send(qp, op, pkt) :
					   responder_write(qp, op, pkt);
}

/* A message has ended: complete the receive request that it used, if any. */
static void responder_finish(struct qp *qp, const struct pkt_op *op,
			     const struct pkt *pkt)
{
	struct virtio_rdma_cq_req wc = {
		.opcode = op->kind == PKT_KIND_SEND ?
			  VIRTIO_IB_WC_RECV : VIRTIO_IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = htole32(qp->resp.off),
		.imm_data = op->imm ? pkt->imm : 0,
		.wc_flags = htole32(op->imm ? VIRTIO_IB_WC_WITH_IMM : 0),
	};

	if (op->inv) {
		wc.invalidate_rkey = htole32(pkt->inv_rkey);
		wc.wc_flags |= htole32(VIRTIO_IB_WC_WITH_INVALIDATE);
	}
	qp->resp.kind = PKT_KIND_NONE;
	qp->resp.msn = (qp->resp.msn + 1) & PSN_MASK;
	if (qp->offload && op->kind == PKT_KIND_SEND && !op->imm &&
	    qp->offload->ops->take(qp->offload, qp->resp.off))
		qp_return_recv(qp);
	else if (op->kind == PKT_KIND_SEND || op->imm)
		qp_complete_recv(qp, &wc, pkt->solicited);
}

static uint32_t responder_npsn(const struct qp *qp, const struct pkt_op *op,
			       const struct pkt *pkt)
{
	return op->kind == PKT_KIND_READ ? psn_count(pkt->dmalen, qp->mtu) :
					   pkt->npsn;
}

static uint32_t responder_by_data(const struct responder *resp, uint32_t npsn)
{
	const uint32_t psns = resp->by_data + npsn;

	return psns < RESPONDER_BY_DATA_MAX ? psns : RESPONDER_BY_DATA_MAX;
}

static void responder_accept(struct qp *qp, const struct pkt_op *op,
			     const struct pkt *pkt)
{
	const uint32_t npsn = responder_npsn(qp, op, pkt);
	struct responder *resp = &qp->resp;

	resp->epsn = (pkt->psn + npsn) & PSN_MASK;
	resp->by_data = pkt_is_answered(op->kind) ? responder_by_data(resp, npsn) : 0;
	/* A READ takes several PSNs, and so may a packet in memory, where the peer has moved to. */
	if (resp->early && npsn > 1)
		early_drop(&resp->early, qp->ctx, resp->epsn);
	resp->nak_sent = false;
	resp->dup_acked = false;
	/* A NAK that has not left yet asks for what has come now. */
	resp->nak = 0;
	if (op->last)
		responder_finish(qp, op, pkt);
	else
		resp->kind = op->kind;
	/* A READ is answered by its data. */
	if (!pkt->ack_req || pkt_is_answered(op->kind))
		return;
	resp->ack_due = true;
	if (resp->reads)
		qp_count(qp, VIRTIO_RDMA_CNT_ACK_DEFERRED);
}

/*
 * A request that was carried out before: the answer got lost or was too late, or
 * the network has made a copy.  One ACK is enough for many repetitions in a row.
 */
static void responder_duplicate(struct qp *qp, const struct pkt_op *op,
				const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;

	qp_count(qp, VIRTIO_RDMA_CNT_DUP_REQUEST);
	if (pkt_is_answered(op->kind)) {
		responder_read_again(qp, op, pkt);
	} else if (pkt->ack_req || !resp->dup_acked) {
		resp->ack_due = true;
		resp->dup_acked = true;
	}
}

/*
 * Does a slice end with something new, though it does not begin so?  That is a message
 * that came by packets in part and is sent again in memory.
 */
static bool responder_is_half_new(const struct pkt_op *op, const struct pkt *pkt,
				  uint32_t old)
{
	return !pkt_is_answered(op->kind) && pkt->npsn > old && pkt->payload;
}

/* Leaves of a slice what is new, behind its first @old PSNs; returns its opcode. */
static const struct pkt_op *responder_cut_old(const struct qp *qp, const struct pkt_op *op,
					      struct pkt *pkt, uint32_t old)
{
	enum pkt_extra extra = op->imm ? PKT_EXTRA_IMM :
			       op->inv ? PKT_EXTRA_INV : PKT_EXTRA_NONE;

	sg_skip(pkt->payload, (uint64_t)old * qp->mtu);
	pkt->len -= old * qp->mtu;
	pkt->psn = (pkt->psn + old) & PSN_MASK;
	pkt->npsn -= old;
	pkt->opcode = PKT_OPCODE(PKT_SERVICE(pkt->opcode),
				 pkt_code(op->kind, false, op->last, extra));
	return pkt_op(pkt->opcode);
}

/*
 * A peer in memory does not wait for its timer: the next receive request is announced, and
 * wakes it (qp_run.c).  One that was posted meanwhile is found at once.  Those of an SRQ are not
 * announced, but found while there is polling.
 */
static void responder_await_recv(struct qp *qp)
{
	if (qp_route(qp)->transport != &transport_local)
		return;
	if (!qp->rq.srq && !wq_announces(&qp->rq))
		return;
	qp->resp.unready = true;
	if (qp->rq.srq || wq_want_kick(&qp->rq, true))
		qp_activate(qp);
}

/*
 * Something before this packet got lost: keep it, and ask for that once.  If it was kept
 * before, the peer has sent again from there on, and it was lost again.
 */
static void responder_rx_early(struct qp *qp, const struct pkt *pkt, uint32_t gap)
{
	struct responder *resp = &qp->resp;

	qp_count(qp, VIRTIO_RDMA_CNT_OUT_OF_SEQ);
	if (qp->flow.on_wire && gap < EARLY_MAX && pkt->npsn == 1 &&
	    !early_keep(&resp->early, qp->ctx, pkt) && gap == 1)
		resp->nak_sent = false;
	if (!resp->nak_sent)
		responder_nak(qp, AETH_NAK_PSN, resp->epsn);
	resp->nak_sent = true;
}

static void responder_rx_rc(struct qp *qp, const struct pkt_op *op,
			    const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	int32_t gap = psn_diff(pkt->psn, resp->epsn);
	enum resp_result result;
	struct pkt rest;

	if (gap > 0) {
		responder_rx_early(qp, pkt, gap);
		return;
	}
	if (gap < 0 && !responder_is_half_new(op, pkt, -gap)) {
		responder_duplicate(qp, op, pkt);
		return;
	}
	if (gap < 0) {
		rest = *pkt;
		op = responder_cut_old(qp, op, &rest, -gap);
		pkt = &rest;
	}
	result = responder_execute(qp, op, pkt);
	if (result == RESP_OK) {
		responder_accept(qp, op, pkt);
		/* Its completion found no room, so that nobody hears of the message. */
		if (!qp_receives(qp))
			responder_refuse(qp, RESP_OP_ERR, pkt->psn);
	} else if (result == RESP_RNR) {
		/* Packets sent after it are not reported as a gap; all will be sent again. */
		resp->nak_sent = true;
		early_drop(&resp->early, qp->ctx, EARLY_ALL);
		qp_count(qp, VIRTIO_RDMA_CNT_SENT_RNR);
		responder_nak(qp, AETH_RNR | qp->attr.min_rnr_timer, pkt->psn);
		responder_await_recv(qp);
	} else {
		responder_refuse(qp, result, pkt->psn);
	}
}

/* Those that were kept are not too early any more, but one is missing: ask for it. */
static void responder_ask(struct qp *qp)
{
	struct responder *resp = &qp->resp;

	if (!resp->early || resp->dead || resp->nak_sent)
		return;
	responder_nak(qp, AETH_NAK_PSN, resp->epsn);
	resp->nak_sent = true;
}

/* Take a packet, and those that were kept and are not too early any more. */
static void responder_rx_reliable(struct qp *qp, const struct pkt_op *op,
				  const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	struct early_packet *kept = NULL;

	for (;;) {
		responder_rx_rc(qp, op, pkt);
		if (kept)
			free(kept);
		if (!resp->early || resp->dead)
			break;
		kept = early_take(&resp->early, qp->ctx, resp->epsn);
		if (!kept)
			break;
		pkt = &kept->pkt;
		op = pkt_op(pkt->opcode);
	}
	responder_ask(qp);
}

/*
 * UC has no answers: a message that does not arrive whole is dropped, and its
 * receive request is used for the next one.
 */
static void responder_rx_uc(struct qp *qp, const struct pkt_op *op,
			    const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;

	if (psn_diff(pkt->psn, resp->epsn) || op->first)
		resp->kind = PKT_KIND_NONE;
	resp->epsn = (pkt->psn + pkt->npsn) & PSN_MASK;
	if (responder_execute(qp, op, pkt) == RESP_OK)
		responder_accept(qp, op, pkt);
	else
		resp->kind = PKT_KIND_NONE;
	resp->ack_due = false;
}

/* Can what is due be sent later in this round?  A NAK, or the end of the QP, cannot. */
static bool responder_waits(struct qp *qp)
{
	const struct responder *resp = &qp->resp;
	struct qp_table *qps = qp->table;

	if (!qps->hold || !resp->ack_due || resp->nak || resp->dead || resp->reads)
		return false;
	if (!qp->acks_held)
		SLIST_INSERT_HEAD(&qps->held, qp, held);
	return ++qp->acks_held % RESP_ACKS_HELD;
}

void responder_hold(struct qp_table *qps)
{
	qps->hold = true;
}

void responder_release(struct qp_table *qps)
{
	struct qp *qp;

	qps->hold = false;
	while ((qp = SLIST_FIRST(&qps->held))) {
		SLIST_REMOVE_HEAD(&qps->held, held);
		qp->acks_held = 0;
		responder_answer(qp);
	}
}

bool responder_run(struct qp *qp, struct budget *budget)
{
	struct responder *resp = &qp->resp;
	bool worked = false;

	if (!resp->reads)
		return false;
	while (budget_left(budget) && resp->reads &&
	       flow_ready(&qp->flow, FLOW_STREAM)) {
		responder_read_answer(qp, budget);
		worked = true;
	}
	if (qp_receives(qp))
		responder_answer(qp);
	return worked;
}

void responder_moved(struct qp *qp)
{
	if (!qp_receives(qp) || qp->resp.dead)
		return;
	/* The NAK for a gap may be among what got lost. */
	qp->resp.nak_sent = false;
	qp->resp.tell = true;
	responder_answer(qp);
}

void responder_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt)
{
	if (qp->resp.dead)
		return;
	if (qp_is_reliable(qp))
		responder_rx_reliable(qp, op, pkt);
	else
		responder_rx_uc(qp, op, pkt);
	if (!responder_waits(qp))
		responder_answer(qp);
	if (qp->resp.reads)
		qp_activate(qp);
}
