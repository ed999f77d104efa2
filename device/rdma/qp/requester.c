// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester of connected QPs: from the send queue to packets, and from
 * responses to completions.
 *
 * Requests taken from the send queue stand in a ring until they are completed,
 * in order.  A request gets its position, a PSN that counts without end, when it
 * is begun, and keeps it.  @snd_pos tells what is sent next.  To send again is to
 * set @snd_pos back to the first position that is not acknowledged: requester_loss.c
 * says when.
 *
 *	una ........... cur ........... prod	requests
 *	una_pos ..... snd_pos ... max_pos	positions
 *
 * A request that is found to be wrong here (keys, malformed) stops the sending
 * where it stands, and fails when all before it are completed.
 *
 * UC has no responses: a request is complete when it was sent.
 *
 * A FLUSH is a READ of no bytes that also says what the peer shall flush.  An ATOMIC_WRITE
 * is one as well.  CMP_SWAP and FETCH_ADD are like a READ that has an answer of its own.
 *
 * Requests that change memory regions send nothing and take no position.  They
 * are carried out once, when it is their turn to be sent, and stay in the ring
 * until all before them are completed.
 */
#include <stdlib.h>

#include "rdma/qp/qp_queues.h"
#include "rdma/qp/requester.h"
#include "rdma/qp/requester_loss.h"

/* Limit of PSNs under way, so that new ones differ from repetitions. */
#define REQ_WINDOW	(1u << 23)

/*
 * An ACK is asked for at the end of a message, and once in so many bytes.  In memory
 * nothing gets lost, and it is only asked for so that the window of PSNs is not used up.
 */
#define REQ_ACK_BYTES	(64 * 1024)
#define REQ_ACK_BYTES_MEMORY (64 * REQ_ACK_BYTES)

/* Packets of a READ that may be under way beyond the window when the next one is asked for. */
#define REQ_READ_BEYOND	16u

/* RNR NAK timer by code, in units of 10 µs (InfiniBand, 9.7.5.2.8). */
static const uint32_t rnr_delays[] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

#define RNR_UNIT_NS	10000ull

/* ------------------------------------------------------------------------- */
/* State                                                                     */
/* ------------------------------------------------------------------------- */

static void requester_refill(struct qp *qp)
{
	qp->req.retry_left = qp->attr.retry_cnt;
	qp->req.rnr_left = qp->attr.rnr_retry;
}

void requester_reset(struct qp *qp, uint32_t psn)
{
	struct requester *req = &qp->req;

	requester_stop(&qp->req, qp->ctx->loop);
	early_drop(&req->early, qp->ctx, EARLY_ALL);
	requester_free(req, qp->ctx);
	*req = (struct requester) {
		.ring = req->ring,
		.size = req->size,
		.max = req->max,
		.una_pos = psn,
		.snd_pos = psn,
		.max_pos = psn,
		.ask_pos = psn,
		.seen_pos = psn,
		.timed_pos = psn,
		.timer = { .fn = requester_timer, .arg = qp },
	};
	requester_refill(qp);
}

bool requester_can_fetch(const struct qp *qp)
{
	const struct requester *req = &qp->req;

	return req->cur == req->prod && req->prod - req->una < req->max &&
	       !req->rnr_wait;
}

/* Those that were begun stand before those that were not. */
bool requester_draining(const struct qp *qp)
{
	const struct requester *req = &qp->req;

	return req->una != req->prod && requester_wqe(req, req->una)->begun;
}

/* ------------------------------------------------------------------------- */
/* Completing                                                                */
/* ------------------------------------------------------------------------- */

/* Complete requests that were carried out here and are the oldest ones now. */
static void requester_reap(struct qp *qp)
{
	struct requester *req = &qp->req;
	const struct wqe *wqe;

	while (req->una != req->prod && qp_sends(qp)) {
		wqe = requester_wqe(req, req->una);
		if (!requester_is_local(wqe) || !wqe->begun)
			break;
		qp_complete_send(qp, VIRTIO_IB_WC_SUCCESS);
	}
}

/* The oldest request has arrived, all of it. */
static void requester_arrived(struct qp *qp)
{
	qp_complete_send(qp, VIRTIO_IB_WC_SUCCESS);
	requester_reap(qp);
}

/* The peer has made progress: stop waiting, and restart all counters. */
static void requester_progress(struct qp *qp, uint32_t una_pos)
{
	struct requester *req = &qp->req;

	if (qp->flow.on_wire) {
		flow_arrived(&qp->flow, (uint64_t)(una_pos - req->una_pos) * qp->mtu);
		requester_measured(qp, una_pos);
	}
	/* More has come than was sent again. */
	if (req->hole && pos_after(una_pos, req->snd_pos))
		req->peer_keeps = true;
	req->una_pos = una_pos;
	req->went_back = false;
	req->hole = false;
	req->probes = 0;
	if (pos_after(una_pos, req->snd_pos))
		req->snd_pos = una_pos;
	requester_refill(qp);
	requester_stop(&qp->req, qp->ctx->loop);
}

/**
 * requester_advance() - all before a position has arrived
 * @qp:		QP
 * @to:		position, not ahead of what was sent
 *
 * Return: false if there is nothing more to be made of the response: a READ or the like
 *	   before @to was not answered, or the QP failed.
 */
static bool requester_advance(struct qp *qp, uint32_t to)
{
	struct requester *req = &qp->req;
	struct wqe *wqe;
	uint32_t end;

	while (pos_after(to, req->una_pos)) {
		wqe = requester_wqe(req, req->una);
		if (pkt_is_answered(wqe->kind)) {
			requester_lost(qp);
			return false;
		}
		end = requester_end(wqe);
		requester_progress(qp, pos_after(end, to) ? to : end);
		if (req->una_pos == end)
			requester_arrived(qp);
		if (!qp_sends(qp))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------- */
/* Responses                                                                 */
/* ------------------------------------------------------------------------- */

static void requester_rx_rnr(struct qp *qp, uint8_t code)
{
	struct requester *req = &qp->req;

	qp_count(qp, VIRTIO_RDMA_CNT_RCVD_RNR);
	if (req->rnr_wait)
		return;
	if (!req->rnr_left) {
		qp_count(qp, VIRTIO_RDMA_CNT_RNR_EXCEEDED);
		qp_fail_send(qp, VIRTIO_IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->attr.rnr_retry != 7)
		req->rnr_left--;
	/* The path works: retries count only while nothing comes back. */
	req->retry_left = qp->attr.retry_cnt;
	requester_rewind(qp);
	req->rnr_wait = true;
	loop_timer_at_least(qp->ctx->loop, &req->timer, rnr_delays[code] * RNR_UNIT_NS);
}

static void requester_rx_nak(struct qp *qp, uint8_t syndrome)
{
	switch (syndrome) {
	case AETH_NAK_PSN:
		qp_count(qp, VIRTIO_RDMA_CNT_RCVD_SEQ_NAK);
		requester_missed(qp);
		break;
	case AETH_NAK_INV_REQ:
		qp_fail_send(qp, VIRTIO_IB_WC_REM_INV_REQ_ERR);
		break;
	case AETH_NAK_ACCESS:
		qp_fail_send(qp, VIRTIO_IB_WC_REM_ACCESS_ERR);
		break;
	case AETH_NAK_OP_ERR:
		qp_fail_send(qp, VIRTIO_IB_WC_REM_OP_ERR);
		break;
	default:
		qp_fail_send(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		break;
	}
}

static void requester_rx_ack(struct qp *qp, const struct pkt *pkt, uint32_t pos)
{
	switch (AETH_TYPE(pkt->syndrome)) {
	case AETH_ACK:
		requester_advance(qp, pos + 1);
		break;
	case AETH_RNR:
		if (requester_advance(qp, pos))
			requester_rx_rnr(qp, AETH_VALUE(pkt->syndrome));
		break;
	case AETH_NAK:
		if (requester_advance(qp, pos))
			requester_rx_nak(qp, pkt->syndrome);
		else if (qp_sends(qp) && pkt->syndrome == AETH_NAK_PSN)
			requester_missed_later(qp, pos);
		break;
	}
}

/* Put what was fetched where it goes; false if the request failed. */
static bool requester_place(struct qp *qp, struct wqe *wqe, uint32_t off,
			    struct sg *src, uint32_t len)
{
	struct sg dst;

	if (wqe->posted) {
		sg_init_flat(&dst, wqe->flat + off);
		sg_copy(&dst, src, len);
		return true;
	}
	/* Looked up again: the key may be gone since the request was sent. */
	if (!sg_init(&dst, qp->mrs, qp->pd, VIRTIO_IB_ACCESS_LOCAL_WRITE,
		     wqe->sge, wqe->num_sge, off, len)) {
		wqe->vendor_err = VENDOR_ERR_SGE;
		qp_fail_send(qp, VIRTIO_IB_WC_LOC_PROT_ERR);
		return false;
	}
	sg_copy(&dst, src, len);
	return true;
}

/* Is the opcode that of the last packet if, and only if, it has all that is left? */
static bool requester_last_ok(const struct qp *qp, const struct pkt_op *op,
			      const struct pkt *pkt, uint32_t left)
{
	bool all = pkt->len == left;

	if (op->last == all)
		return true;
	/* So has the last one of a part. */
	return op->last && qp->req.parts && pkt->len == pkt->npsn * qp->mtu;
}

/* The same of a part of a READ response. */
static bool requester_read_place(struct qp *qp, const struct pkt_op *op,
				 const struct pkt *pkt, struct wqe *wqe,
				 uint32_t off)
{
	uint32_t length = pkt_fetches(wqe->kind) ? wqe->length : 0;

	if ((op->first || op->last) && AETH_TYPE(pkt->syndrome) != AETH_ACK) {
		qp_fail_send(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		return false;
	}
	if (!pkt_fits(op, pkt, qp->mtu) || pkt->len > length - off ||
	    !requester_last_ok(qp, op, pkt, length - off)) {
		qp_fail_send(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		return false;
	}
	return requester_place(qp, wqe, off, pkt->payload, pkt->len);
}

/* Data that was kept of READs behind @wqe may be older than that of an answer to it. */
static void requester_newer(struct qp *qp, const struct wqe *wqe)
{
	struct requester *req = &qp->req;

	early_drop_from(&req->early, qp->ctx, requester_end(wqe) & PSN_MASK);
	if (pos_after(req->max_pos, requester_end(wqe)))
		requester_missed_later(qp, requester_end(wqe));
}

/* An answer to a READ, of which it is the next part. */
static void requester_rx_next(struct qp *qp, const struct pkt_op *op,
			      const struct pkt *pkt, uint32_t pos)
{
	struct requester *req = &qp->req;
	struct wqe *wqe = requester_wqe(req, req->una);

	if (!pkt_is_read(wqe->kind)) {
		qp_fail_send(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		return;
	}
	if (!requester_read_place(qp, op, pkt, wqe, (pos - wqe->pos) * qp->mtu))
		return;
	req->peer_same = pkt->same;
	if (req->early && !pkt->same)
		requester_newer(qp, wqe);
	requester_progress(qp, pos + pkt->npsn);
	/* In memory, where the peer has moved to, a packet has what several have on a wire. */
	if (req->early && pkt->npsn > 1)
		early_drop(&req->early, qp->ctx, req->una_pos & PSN_MASK);
	if (req->una_pos == requester_end(wqe))
		requester_arrived(qp);
}

/* An answer that was kept acknowledges a request before it that has no answer of its own. */
static bool requester_pass(struct qp *qp)
{
	const struct requester *req = &qp->req;
	const struct wqe *wqe = requester_wqe(req, req->una);

	return req->una != req->prod && !pkt_is_answered(wqe->kind) &&
	       early_gap(req->early, (requester_end(wqe) - 1) & PSN_MASK) &&
	       requester_advance(qp, requester_end(wqe));
}

/* Take what was kept and is not too early any more; ask for what is missing next. */
static void requester_rx_kept(struct qp *qp)
{
	struct requester *req = &qp->req;
	struct early_packet *kept;

	while (qp_sends(qp) && req->early) {
		kept = early_take(&req->early, qp->ctx, req->una_pos & PSN_MASK);
		if (kept)
			requester_rx_next(qp, pkt_op(kept->pkt.opcode), &kept->pkt, req->una_pos);
		else if (!requester_pass(qp))
			break;
		free(kept);
	}
	requester_reach_missed(qp);
	if (!req->early || !qp_sends(qp))
		return;
	/* The rest of the gap is under way. */
	if (req->parted && !requester_part_came(req))
		req->went_back = true;
	else
		requester_lost(qp);
}

/*
 * The peer reads data for one READ after the other, and no data of a later READ may be older than
 * that of an earlier one: see requester_newer().
 */
static bool requester_may_keep(const struct qp *qp, const struct pkt *pkt, uint32_t pos)
{
	const struct requester *req = &qp->req;

	return qp_sends(qp) && qp->flow.on_wire && pkt->npsn == 1 &&
	       requester_wqe(req, req->una)->kind == PKT_KIND_READ &&
	       pos - req->una_pos < EARLY_MAX;
}

static void requester_rx_read(struct qp *qp, const struct pkt_op *op,
			      const struct pkt *pkt, uint32_t pos)
{
	struct requester *req = &qp->req;

	requester_see(req, pos);
	/* It acknowledges all before, and must then be what comes next. */
	if (requester_advance(qp, pos)) {
		requester_rx_next(qp, op, pkt, pos);
		if (req->early || req->missed)
			requester_rx_kept(qp);
		return;
	}
	if (requester_may_keep(qp, pkt, pos))
		early_keep(&req->early, qp->ctx, pkt);
	if (!early_find(req->early, pkt->psn))
		requester_note_missed(req, pos);
}

static void requester_rx_atomic(struct qp *qp, const struct pkt *pkt, uint32_t pos)
{
	/* The guest's number is little-endian, that of the packet the host's. */
	uint64_t orig = htole64(pkt->orig);
	struct wqe *wqe;
	struct sg src;

	if (!requester_advance(qp, pos)) {
		requester_note_missed(&qp->req, pos);
		return;
	}
	wqe = requester_wqe(&qp->req, qp->req.una);
	if (wqe->kind != PKT_KIND_ATOMIC || AETH_TYPE(pkt->syndrome) != AETH_ACK) {
		qp_fail_send(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		return;
	}
	sg_init_flat(&src, &orig);
	if (!requester_place(qp, wqe, 0, &src, sizeof(orig)))
		return;
	requester_progress(qp, pos + 1);
	requester_arrived(qp);
	if (qp->req.early || qp->req.missed)
		requester_rx_kept(qp);
}

void requester_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt)
{
	struct requester *req = &qp->req;
	uint32_t pos = req->una_pos + ((pkt->psn - req->una_pos) & PSN_MASK);

	/* Nothing outstanding has this PSN: a late copy of a response. */
	if (!pos_after(req->max_pos, pos))
		return;
	qp_activate(qp);
	if (op->kind == PKT_KIND_READ_RESPONSE)
		requester_rx_read(qp, op, pkt, pos);
	else if (op->kind == PKT_KIND_ATOMIC_ACK)
		requester_rx_atomic(qp, pkt, pos);
	else
		requester_rx_ack(qp, pkt, pos);
}

/* ------------------------------------------------------------------------- */
/* What others say of the peer                                               */
/* ------------------------------------------------------------------------- */

void requester_moved(struct qp *qp)
{
	const struct requester *req = &qp->req;

	/* A request that the peer is not ready for is sent again anyway. */
	if (qp_sends(qp) && !req->rnr_wait && pos_after(req->max_pos, req->una_pos))
		requester_rewind(qp);
}

void requester_peer_ready(struct qp *qp)
{
	if (!qp->req.rnr_wait)
		return;
	/* Another QP may take the request of an SRQ: a wait that is cut short does not count. */
	if (qp->req.rnr_left < qp->attr.rnr_retry)
		qp->req.rnr_left++;
	requester_stop(&qp->req, qp->ctx->loop);
	qp_activate(qp);
}

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

/* Requests of RC and XRC are acknowledged, those of UC are not. */
static enum flow_kind requester_flow(const struct qp *qp)
{
	return qp_is_reliable(qp) ? FLOW_ACKED : FLOW_STREAM;
}

/* A request that cannot be sent: it fails once it is the oldest one. */
static bool requester_local_error(struct qp *qp, const struct wqe *wqe)
{
	if (qp->req.cur != qp->req.una)
		return false;
	qp_fail_send(qp, wqe->status);
	return true;
}

/* @len bytes from @off on, if the request has one element, and they are in one piece. */
static uint8_t *requester_at(struct qp *qp, const struct wqe *wqe, uint32_t off,
			     uint32_t len, uint32_t access)
{
	const struct sge *sge = wqe->sge;

	if (wqe->num_sge != 1 || !len || off > sge->length || len > sge->length - off)
		return NULL;
	return mr_at(qp->mrs, &qp->send_place, qp->pd, 0, sge->key, sge->addr + off, len,
		     access);
}

static bool requester_sge_ok(struct qp *qp, const struct wqe *wqe)
{
	uint32_t access = pkt_fetches(wqe->kind) ? VIRTIO_IB_ACCESS_LOCAL_WRITE : 0;
	struct sg sg;

	if (wqe->inlined || (wqe->length <= RNIC_SLICE &&
			     requester_at(qp, wqe, 0, wqe->length, access)))
		return true;
	return sg_init(&sg, qp->mrs, qp->pd, access, wqe->sge, wqe->num_sge, 0,
		       wqe->length);
}

static void requester_set_error(struct wqe *wqe, uint8_t status, uint8_t vendor_err)
{
	wqe->status = status;
	wqe->vendor_err = vendor_err;
}

/* Begin a request.  False if it has to wait; it may also be found wrong. */
static bool requester_begin(struct qp *qp, struct wqe *wqe)
{
	struct requester *req = &qp->req;
	uint32_t npsn, under_way = req->max_pos - req->una_pos;

	if (!requester_sge_ok(qp, wqe)) {
		requester_set_error(wqe, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);
		return true;
	}
	if (pkt_is_answered(wqe->kind) && !qp->attr.max_rd_atomic) {
		requester_set_error(wqe, VIRTIO_IB_WC_LOC_QP_OP_ERR,
				    VENDOR_ERR_NO_READS);
		return true;
	}
	if (wqe->fence && req->reads)
		return false;
	if (pkt_is_answered(wqe->kind) && req->reads >= qp->attr.max_rd_atomic)
		return false;
	npsn = psn_count(wqe->length, qp->mtu);
	if (under_way && under_way + npsn > REQ_WINDOW)
		return false;
	wqe->pos = req->snd_pos;
	wqe->npsn = npsn;
	wqe->begun = true;
	return true;
}

/* Does so much more, in PSNs, fit into the window beside what was sent before @end? */
static inline bool requester_fits_behind(struct qp *qp, uint32_t end, uint32_t npsn)
{
	const struct requester *req = &qp->req;
	uint64_t under_way = pos_after(end, req->una_pos) ? end - req->una_pos : 0;

	if (req->went_back && !req->skipped && under_way + npsn > REQ_AGAIN &&
	    pos_after(req->max_pos, req->snd_pos))
		return false;
	/* Packets that were kept are not under way any more. */
	if (req->early)
		under_way -= under_way < req->early->n ? under_way : req->early->n;
	/* When the peer said what is missing, about half of what it keeps had come. */
	else if (req->hole && req->skipped && under_way + npsn < EARLY_MAX)
		under_way /= 2;
	return (under_way + npsn) * qp->mtu <= flow_window(&qp->flow);
}

static bool requester_fits(struct qp *qp, uint32_t npsn)
{
	return requester_fits_behind(qp, qp->req.snd_pos, npsn);
}

/*
 * A READ counts with all its data.  On a path that has lost some, one READ may be under way
 * beyond the window, because the peer paces its answer: if the request gets lost, a NAK for the
 * next one says so.  It waits until few packets of a long one before it are left: the network
 * would have to queue what is ahead of a part that is asked for again, and the next READ would
 * be answered in vain meanwhile.
 */
static bool requester_fits_read(struct qp *qp, const struct wqe *wqe)
{
	const struct requester *req = &qp->req;
	const struct wqe *before = requester_wqe(req, req->cur - 1);
	uint32_t from = before->pos;

	/* Its data could not be kept while something is missing. */
	if (req->early && req->cur != req->una && req->snd_pos == req->max_pos &&
	    requester_end(wqe) - req->una_pos > EARLY_MAX)
		return false;
	if (!req->parts || req->cur == req->una || before->kind != PKT_KIND_READ)
		return requester_fits(qp, requester_end(wqe) - req->snd_pos);
	if (before->npsn > REQ_READ_BEYOND)
		from = requester_end(before) - REQ_READ_BEYOND;
	return requester_fits_behind(qp, from, 1);
}

/*
 * May the next packet of a request be sent now?  To wait for room makes sense only if an answer
 * is on its way, so that a packet may always be sent if none was asked for.
 */
static bool requester_may_send(struct qp *qp, const struct wqe *wqe)
{
	if (flow_is_free(&qp->flow))
		return true;
	return (!requester_asked(&qp->req) ||
		(wqe->kind == PKT_KIND_READ ? requester_fits_read(qp, wqe) :
					      requester_fits(qp, 1))) &&
	       flow_ready(&qp->flow, requester_flow(qp));
}

static void requester_sent(struct requester *req, uint32_t npsn)
{
	req->snd_pos += npsn;
	if (pos_after(req->snd_pos, req->max_pos))
		req->max_pos = req->snd_pos;
	else if (req->missed && pos_after(req->snd_pos, req->missed_pos))
		req->missed = false;
}

/* Point a cursor at payload of a request; false if it has been found wrong. */
static bool requester_payload(struct qp *qp, struct wqe *wqe, uint32_t off,
			      uint32_t len, struct sg *sg)
{
	uint8_t *p = wqe->inlined ? NULL : requester_at(qp, wqe, off, len, 0);

	if (p) {
		sg_init_guest(sg, p);
	} else if (wqe->inlined) {
		sg_init_flat(sg, (wqe->posted ? wqe->flat : wqe->data) + off);
	} else if (!sg_init(sg, qp->mrs, qp->pd, 0, wqe->sge, wqe->num_sge, off,
			    len)) {
		requester_set_error(wqe, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);
		return false;
	}
	return true;
}

/* Add to a packet what goes beyond a READ; false if the request has been found wrong. */
static bool requester_ask_more(struct qp *qp, struct wqe *wqe, struct pkt *pkt,
			       struct sg *sg)
{
	switch (wqe->kind) {
	case PKT_KIND_FLUSH:
		pkt->opcode = PKT_FLUSH;
		pkt->dmalen = wqe->flush_len;
		pkt->flush_type = wqe->flush_type;
		pkt->flush_level = wqe->flush_level;
		pkt->icrc_twice = qp->req.icrc_twice;
		break;
	case PKT_KIND_ATOMIC:
		pkt->opcode = wqe->opcode == VIRTIO_IB_WR_FETCH_ADD ?
			      PKT_FETCH_ADD : PKT_CMP_SWAP;
		pkt->swap_add = wqe->swap_add;
		pkt->compare = wqe->compare;
		break;
	case PKT_KIND_ATOMIC_WRITE:
		pkt->opcode = PKT_ATOMIC_WRITE;
		pkt->len = wqe->length;
		pkt->payload = sg;
		return requester_payload(qp, wqe, 0, wqe->length, sg);
	}
	return true;
}

/* Ask for a READ, or for a part of one, or for what is answered likewise. */
static void requester_send_read(struct qp *qp, struct wqe *wqe,
				struct budget *budget)
{
	struct requester *req = &qp->req;
	uint32_t off = (req->snd_pos - wqe->pos) * qp->mtu;
	uint32_t part = requester_part(qp, wqe->length - off);
	struct sg sg;
	struct pkt pkt = {
		.opcode = PKT_READ_REQUEST,
		.ack_req = true,
		.psn = req->snd_pos & PSN_MASK,
		.npsn = 1,
		.srqn = wqe->srqn,
		.va = wqe->remote_addr + off,
		.rkey = wqe->rkey,
		.dmalen = part ? part : wqe->length - off,
	};

	if (!requester_ask_more(qp, wqe, &pkt, &sg))
		return;
	wqe->reading = true;
	req->reads++;
	req->cur++;
	req->unasked = 0;
	req->ask_pos = requester_end(wqe);
	requester_measure(qp, req->snd_pos + 1);
	requester_sent(req, requester_end(wqe) - req->snd_pos);
	if (part)
		requester_skip_reads(qp);
	budget_take(budget, 0);
	flow_sent(&qp->flow, requester_flow(qp), &pkt);
	qp_send(qp, &pkt);
}

/*
 * Shall the next packet ask for an ACK?  The last one of a message does, one in
 * so many bytes, and one that must be answered before the next can be sent.
 */
static bool requester_asks_ack(struct qp *qp, uint32_t len, uint32_t npsn, bool last)
{
	struct requester *req = &qp->req;
	uint64_t often = flow_window(&qp->flow) / 4;

	if (often > REQ_ACK_BYTES)
		often = qp->flow.on_wire ? REQ_ACK_BYTES : REQ_ACK_BYTES_MEMORY;
	req->unasked += len;
	if (!last && req->unasked < often &&
	    (requester_asked(req) || requester_fits(qp, npsn + 1)))
		return false;
	req->unasked = 0;
	req->ask_pos = req->snd_pos + npsn;
	requester_measure(qp, req->ask_pos);
	return true;
}

/* Send the next segment of a SEND or a WRITE. */
static void requester_send_segment(struct qp *qp, struct wqe *wqe,
				   struct budget *budget)
{
	struct requester *req = &qp->req;
	uint32_t off = (req->snd_pos - wqe->pos) * qp->mtu;
	uint32_t len = wqe->length - off, max = qp_seg_max(qp);
	bool last = len <= max;
	struct pkt pkt;
	struct sg sg;

	if (!last)
		len = max;
	if (!requester_payload(qp, wqe, off, len, &sg))
		return;
	pkt = (struct pkt) {
		.opcode = pkt_code(wqe->kind, !off, last, wqe->extra),
		.ack_req = requester_asks_ack(qp, len, psn_count(len, qp->mtu), last),
		.solicited = last && wqe->solicited,
		.psn = req->snd_pos & PSN_MASK,
		.npsn = psn_count(len, qp->mtu),
		.srqn = wqe->srqn,
		.va = wqe->remote_addr,
		.rkey = wqe->rkey,
		.dmalen = wqe->length,
		.imm = wqe->imm,
		.inv_rkey = wqe->inv_rkey,
		.len = len,
		.payload = len ? &sg : NULL,
	};
	req->cur += last;
	requester_sent(req, pkt.npsn);
	budget_take(budget, len);
	flow_sent(&qp->flow, requester_flow(qp), &pkt);
	qp_send(qp, &pkt);
}

/* Requests that were sent on a UC QP are done with. */
static void requester_forget(struct qp *qp)
{
	struct requester *req = &qp->req;

	req->una_pos = req->snd_pos;
	while (req->una != req->cur && qp_sends(qp))
		qp_complete_send(qp, VIRTIO_IB_WC_SUCCESS);
}

/* Register, bind or invalidate; false if that has to wait. */
static bool requester_change_mr(struct qp *qp, struct wqe *wqe)
{
	const struct requester *req = &qp->req;

	if (wqe->opcode == VIRTIO_IB_WR_REG_MR) {
		if (mr_fast_reg(qp->mrs, qp->pd, &wqe->reg))
			requester_set_error(wqe, VIRTIO_IB_WC_MEM_MGT_ERR,
					    VENDOR_ERR_FAST_REG);
		return true;
	}
	if (wqe->opcode == VIRTIO_IB_WR_BIND_MW) {
		if (mr_bind(qp->mrs, qp->pd, qp->serial, &wqe->bind))
			requester_set_error(wqe, VIRTIO_IB_WC_MEM_MGT_ERR,
					    VENDOR_ERR_BIND);
		return true;
	}
	/* A request that was sent may have to be sent again, out of that region. */
	if (req->una != req->cur)
		return false;
	if (!mr_invalidate(qp->mrs, qp->pd, qp->serial, wqe->inv_rkey))
		requester_set_error(wqe, VIRTIO_IB_WC_MEM_MGT_ERR,
				    VENDOR_ERR_INVALIDATE);
	return true;
}

/* All QPs bind and invalidate windows; only QPs of the kernel do so with regions. */
static bool requester_may_change_mr(const struct qp *qp, const struct wqe *wqe)
{
	if (qp->fast_reg)
		return true;
	if (qp->ctx->limits.rfc || wqe->opcode == VIRTIO_IB_WR_REG_MR)
		return false;
	return wqe->opcode == VIRTIO_IB_WR_BIND_MW ||
	       mr_is_window(qp->mrs, wqe->inv_rkey);
}

/* Carry out a request that sends nothing, unless that was done before. */
static bool requester_local_step(struct qp *qp, struct wqe *wqe,
				 struct budget *budget)
{
	struct requester *req = &qp->req;

	if (!wqe->begun) {
		if (wqe->fence && req->reads)
			return false;
		if (!requester_may_change_mr(qp, wqe))
			requester_set_error(wqe, VIRTIO_IB_WC_LOC_QP_OP_ERR,
					    VENDOR_ERR_NO_FAST_REG);
		else if (!requester_change_mr(qp, wqe))
			return false;
		if (wqe->status)
			return true;
		wqe->begun = true;
	}
	req->cur++;
	budget_take(budget, 0);
	requester_reap(qp);
	return true;
}

/* One step; false if nothing can be done now. */
static bool requester_step(struct qp *qp, struct budget *budget)
{
	struct requester *req = &qp->req;
	struct wqe *wqe;

	if (qp->state == VIRTIO_IB_QPS_SQD && req->cur == req->prod)
		return false;
	wqe = qp_take_send(qp);
	if (!wqe)
		return false;
	/* Errors of it are found when it is begun. */
	if (qp->state == VIRTIO_IB_QPS_SQD && !wqe->begun)
		return false;
	if (wqe->status)
		return requester_local_error(qp, wqe);
	if (requester_is_local(wqe))
		return requester_local_step(qp, wqe, budget);
	if (!wqe->begun && !requester_begin(qp, wqe))
		return false;
	if (wqe->status)
		return true;
	if (!requester_may_send(qp, wqe))
		return false;
	if (pkt_is_answered(wqe->kind))
		requester_send_read(qp, wqe, budget);
	else
		requester_send_segment(qp, wqe, budget);
	if (qp->service == PKT_UC)
		requester_forget(qp);
	return true;
}

bool requester_run(struct qp *qp, struct budget *budget)
{
	struct requester *req = &qp->req;
	bool worked = false;

	while (budget_left(budget) && qp_sends(qp) && !req->rnr_wait &&
	       requester_step(qp, budget)) {
		worked = true;
		if (req->hole)
			requester_skip(qp);
	}

	/* The timer waits for an answer, so only if one was asked for. */
	if (qp_sends(qp) && requester_asked(req) && !req->rnr_wait &&
	    !req->timer.due)
		requester_timer_start(qp);
	return worked;
}
