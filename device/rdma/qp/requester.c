// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester of connected QPs: from the send queue to packets, and from
 * responses to completions.
 *
 * Requests taken from the send queue stand in a ring until they are completed,
 * in order.  A request gets its position, a PSN that counts without end, when
 * it is begun, and keeps it; @snd_pos tells what is sent next.  To send again
 * means to set it back to the first position that is not acknowledged.
 *
 *	una ........... cur ........... prod	requests
 *	una_pos ..... snd_pos ... max_pos	positions
 *
 * A request that is found to be wrong here (keys, malformed) stops the sending
 * where it stands, and fails when all before it are completed.
 *
 * UC is the same without responses: a request is complete when it was sent.
 *
 * A FLUSH is a READ of no bytes that says what else the peer shall do.
 *
 * Requests that change memory regions send nothing and take no position.  They
 * are carried out when it is their turn to be sent, once, and stay in the ring
 * until all before them are completed.
 */
#include "rdma/qp/qp.h"

/* No more PSNs under way than can be told from repetitions. */
#define REQ_WINDOW	(1u << 23)

/* An ACK is asked for at the end of a message, and once in so many bytes. */
#define REQ_ACK_BYTES	(64 * 1024)

#define REQ_TIMEOUT_NS	4096u

/* RNR NAK timer by code, in units of 10 µs (InfiniBand, 9.7.5.2.8). */
static const uint32_t rnr_delays[] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

#define RNR_UNIT_NS	10000ull

static struct wqe *req_wqe(const struct requester *req, uint32_t i)
{
	return &req->ring[i & (req->size - 1)];
}

static uint32_t req_end(const struct wqe *wqe)
{
	return wqe->pos + wqe->npsn;
}

/* Is position @a ahead of position @b? */
static bool pos_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Is an answer on its way, for all that is known? */
static bool req_asked(const struct requester *req)
{
	return pos_after(req->ask_pos, req->una_pos);
}

static bool req_sends(const struct qp *qp)
{
	return qp->state == VIRTIO_IB_QPS_RTS || qp->state == VIRTIO_IB_QPS_SQD;
}

/* ------------------------------------------------------------------------- */
/* State                                                                     */
/* ------------------------------------------------------------------------- */

static void req_timer(void *arg);

static void req_refill(struct qp *qp)
{
	qp->req.retry_left = qp->attr.retry_cnt;
	qp->req.rnr_left = qp->attr.rnr_retry;
}

void req_stop(struct qp *qp)
{
	loop_timer_cancel(qp->nic->loop, &qp->req.timer);
	qp->req.rnr_wait = false;
}

void req_reset(struct qp *qp, uint32_t psn)
{
	struct requester *req = &qp->req;

	req_stop(qp);
	*req = (struct requester) {
		.ring = req->ring,
		.size = req->size,
		.una_pos = psn,
		.snd_pos = psn,
		.max_pos = psn,
		.ask_pos = psn,
		.timer = { .fn = req_timer, .arg = qp },
	};
	req_refill(qp);
}

bool req_hungry(const struct qp *qp)
{
	const struct requester *req = &qp->req;

	return req->cur == req->prod && req->prod - req->una < req->size &&
	       !req->rnr_wait;
}

/* Those that were begun stand before those that were not. */
bool req_draining(const struct qp *qp)
{
	const struct requester *req = &qp->req;

	return req->una != req->prod && req_wqe(req, req->una)->begun;
}

/* Copy the next request out of the send queue. */
static struct wqe *req_fetch(struct qp *qp)
{
	struct virtq *vq = qp->nic->sq_vq[qp->qpn];
	struct virtq_elem *elem = &qp->nic->elem;
	struct requester *req = &qp->req;
	struct wqe *wqe = req_wqe(req, req->prod);
	int ret;

	if (req->prod - req->una == req->size)
		return NULL;
	ret = virtq_pop(vq, elem);
	if (ret < 0)
		qp_broken(qp, "send");
	if (ret <= 0)
		return NULL;
	wqe_parse(elem, qp->type, qp->max_send_sge, wqe);
	req->prod++;
	return wqe;
}

struct wqe *req_current(struct qp *qp)
{
	struct requester *req = &qp->req;

	return req->cur == req->prod ? req_fetch(qp) : req_wqe(req, req->cur);
}

/* ------------------------------------------------------------------------- */
/* Completing                                                                */
/* ------------------------------------------------------------------------- */

static void req_not_reading(struct requester *req, struct wqe *wqe)
{
	req->reads -= wqe->reading;
	wqe->reading = false;
}

void req_done(struct qp *qp, uint8_t status)
{
	struct requester *req = &qp->req;
	struct wqe *wqe = req_wqe(req, req->una);

	req_not_reading(req, wqe);
	if (req->cur == req->una)
		req->cur++;
	req->una++;
	qp_complete_send(qp, wqe, status);
}

static bool req_is_local(const struct wqe *wqe)
{
	return wqe->kind == PKT_KIND_NONE;
}

/* Complete requests that were carried out here and are the oldest ones now. */
static void req_reap(struct qp *qp)
{
	struct requester *req = &qp->req;
	const struct wqe *wqe;

	while (req->una != req->prod && req_sends(qp)) {
		wqe = req_wqe(req, req->una);
		if (!req_is_local(wqe) || !wqe->begun)
			break;
		req_done(qp, VIRTIO_IB_WC_SUCCESS);
	}
}

/* The oldest request has arrived, all of it. */
static void req_arrived(struct qp *qp)
{
	req_done(qp, VIRTIO_IB_WC_SUCCESS);
	req_reap(qp);
}

void req_fail(struct qp *qp, uint8_t status)
{
	req_done(qp, status);
	if (qp->type == VIRTIO_IB_QPT_RC)
		qp_fail(qp);
	else if (req_sends(qp))
		qp->state = VIRTIO_IB_QPS_SQE;
}

/* Step back to what is not acknowledged. */
static void req_rewind(struct qp *qp)
{
	struct requester *req = &qp->req;
	uint32_t i;

	for (i = req->una; i != req->prod; i++)
		req_not_reading(req, req_wqe(req, i));
	req->cur = req->una;
	req->snd_pos = req->una_pos;
	req->ask_pos = req->una_pos;
	req->unasked = 0;
	loop_timer_cancel(qp->nic->loop, &req->timer);
	nic_count(qp->nic, VIRTIO_RDMA_CNT_RETRY);
}

/*
 * A FLUSH that is not answered may have the wrong one of two ICRCs: nothing tells
 * Soft-RoCE from others before it has sent a FLUSH itself.
 */
static void req_try_other_icrc(struct requester *req)
{
	if (req->una != req->prod &&
	    req_wqe(req, req->una)->kind == PKT_KIND_FLUSH)
		req->icrc_twice = !req->icrc_twice;
}

static void req_retry(struct qp *qp, enum flow_sign sign)
{
	/* It is sent again anyway, and not before the peer is ready. */
	if (qp->req.rnr_wait)
		return;
	flow_congested(qp, sign);
	if (!qp->req.retry_left) {
		nic_count(qp->nic, VIRTIO_RDMA_CNT_RETRY_EXCEEDED);
		req_fail(qp, VIRTIO_IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->req.retry_left--;
	qp->req.went_back = true;
	req_try_other_icrc(&qp->req);
	req_rewind(qp);
}

/*
 * Something got lost on the way.  All that was under way behind it says so, and
 * so do repetitions made by the network: once is enough.
 */
static void req_lost(struct qp *qp)
{
	if (!qp->req.went_back)
		req_retry(qp, FLOW_LOSS);
}

/* The peer got further: nothing to wait for, all counters start again. */
static void req_progress(struct qp *qp, uint32_t una_pos)
{
	struct requester *req = &qp->req;

	if (qp->on_wire)
		flow_arrived(qp, (uint64_t)(una_pos - req->una_pos) * qp->mtu);
	req->una_pos = una_pos;
	req->went_back = false;
	if (pos_after(una_pos, req->snd_pos))
		req->snd_pos = una_pos;
	req_refill(qp);
	req_stop(qp);
}

/**
 * req_advance() - all before a position has arrived
 * @qp:		QP
 * @to:		position, not ahead of what was sent
 *
 * Return: false if there is nothing more to be made of the response: a READ
 *	   before @to was not answered, or the QP failed.
 */
static bool req_advance(struct qp *qp, uint32_t to)
{
	struct requester *req = &qp->req;
	struct wqe *wqe;
	uint32_t end;

	while (pos_after(to, req->una_pos)) {
		wqe = req_wqe(req, req->una);
		if (pkt_is_read(wqe->kind)) {
			req_lost(qp);
			return false;
		}
		end = req_end(wqe);
		req_progress(qp, pos_after(end, to) ? to : end);
		if (req->una_pos == end)
			req_arrived(qp);
		if (!req_sends(qp))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------- */
/* Responses                                                                 */
/* ------------------------------------------------------------------------- */

static void req_rx_rnr(struct qp *qp, uint8_t code)
{
	struct requester *req = &qp->req;

	nic_count(qp->nic, VIRTIO_RDMA_CNT_RCVD_RNR);
	if (req->rnr_wait)
		return;
	if (!req->rnr_left) {
		nic_count(qp->nic, VIRTIO_RDMA_CNT_RNR_EXCEEDED);
		req_fail(qp, VIRTIO_IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->attr.rnr_retry != 7)
		req->rnr_left--;
	/* It has come all the way: retries are for a path that is silent. */
	req->retry_left = qp->attr.retry_cnt;
	req_rewind(qp);
	req->rnr_wait = true;
	loop_timer_set(qp->nic->loop, &req->timer,
		       rnr_delays[code] * RNR_UNIT_NS);
}

static void req_rx_nak(struct qp *qp, uint8_t syndrome)
{
	switch (syndrome) {
	case AETH_NAK_PSN:
		nic_count(qp->nic, VIRTIO_RDMA_CNT_RCVD_SEQ_NAK);
		req_lost(qp);
		break;
	case AETH_NAK_INV_REQ:
		req_fail(qp, VIRTIO_IB_WC_REM_INV_REQ_ERR);
		break;
	case AETH_NAK_ACCESS:
		req_fail(qp, VIRTIO_IB_WC_REM_ACCESS_ERR);
		break;
	case AETH_NAK_OP_ERR:
		req_fail(qp, VIRTIO_IB_WC_REM_OP_ERR);
		break;
	default:
		req_fail(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		break;
	}
}

static void req_rx_ack(struct qp *qp, const struct pkt *pkt, uint32_t pos)
{
	switch (AETH_TYPE(pkt->syndrome)) {
	case AETH_ACK:
		req_advance(qp, pos + 1);
		break;
	case AETH_RNR:
		if (req_advance(qp, pos))
			req_rx_rnr(qp, AETH_VALUE(pkt->syndrome));
		break;
	case AETH_NAK:
		if (req_advance(qp, pos))
			req_rx_nak(qp, pkt->syndrome);
		break;
	}
}

/* Put a part of a READ response where it goes; false if the request failed. */
static bool req_read_place(struct qp *qp, const struct pkt_op *op,
			   const struct pkt *pkt, struct wqe *wqe,
			   uint32_t off)
{
	struct sg dst;

	if ((op->first || op->last) && AETH_TYPE(pkt->syndrome) != AETH_ACK) {
		req_fail(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		return false;
	}
	if (!pkt_fits(op, pkt, qp->mtu) || pkt->len > wqe->length - off ||
	    op->last != (pkt->len == wqe->length - off)) {
		req_fail(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		return false;
	}
	/* Looked up again: the key may be gone since the request was sent. */
	if (!sg_init(&dst, qp->nic, qp->pd, VIRTIO_IB_ACCESS_LOCAL_WRITE,
		     wqe->sge, wqe->num_sge, off, pkt->len)) {
		wqe->vendor_err = VENDOR_ERR_SGE;
		req_fail(qp, VIRTIO_IB_WC_LOC_PROT_ERR);
		return false;
	}
	sg_copy(&dst, pkt->payload, pkt->len);
	return true;
}

static void req_rx_read(struct qp *qp, const struct pkt_op *op,
			const struct pkt *pkt, uint32_t pos)
{
	struct requester *req = &qp->req;
	struct wqe *wqe;

	/* It acknowledges all before, and must then be what comes next. */
	if (!req_advance(qp, pos))
		return;
	wqe = req_wqe(req, req->una);
	if (!pkt_is_read(wqe->kind)) {
		req_fail(qp, VIRTIO_IB_WC_BAD_RESP_ERR);
		return;
	}
	if (!req_read_place(qp, op, pkt, wqe, (pos - wqe->pos) * qp->mtu))
		return;
	req_progress(qp, pos + pkt->npsn);
	if (op->last)
		req_arrived(qp);
}

void req_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt)
{
	struct requester *req = &qp->req;
	uint32_t pos = req->una_pos + ((pkt->psn - req->una_pos) & PSN_MASK);

	/* A response to nothing that is outstanding is a ghost of the past. */
	if (!pos_after(req->max_pos, pos))
		return;
	qp_activate(qp);
	if (op->kind == PKT_KIND_READ_RESPONSE)
		req_rx_read(qp, op, pkt, pos);
	else
		req_rx_ack(qp, pkt, pos);
}

/* ------------------------------------------------------------------------- */
/* Timers                                                                    */
/* ------------------------------------------------------------------------- */

static void req_timer_start(struct qp *qp)
{
	if (qp->attr.timeout)
		loop_timer_set(qp->nic->loop, &qp->req.timer,
			       (uint64_t)REQ_TIMEOUT_NS << qp->attr.timeout);
}

static void req_timeout(struct qp *qp)
{
	nic_count(qp->nic, VIRTIO_RDMA_CNT_TIMEOUT);
	req_retry(qp, FLOW_TIMEOUT);
}

static void req_timer(void *arg)
{
	struct qp *qp = arg;

	/* No time passes for a QP that stands still. */
	if (qp->req.rnr_wait)
		qp->req.rnr_wait = false;
	else if (!qp_usable(qp))
		req_timer_start(qp);
	else
		req_timeout(qp);
	qp_activate(qp);
}

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

/* Requests of RC are acknowledged, those of UC are not. */
static enum flow_kind req_flow(const struct qp *qp)
{
	return qp->service == PKT_RC ? FLOW_ACKED : FLOW_STREAM;
}

/* A request that cannot be sent: it fails once it is the oldest one. */
static bool req_local_error(struct qp *qp, const struct wqe *wqe)
{
	if (qp->req.cur != qp->req.una)
		return false;
	req_fail(qp, wqe->status);
	return true;
}

static bool req_sge_ok(struct qp *qp, const struct wqe *wqe)
{
	uint32_t access = wqe->kind == PKT_KIND_READ ?
			  VIRTIO_IB_ACCESS_LOCAL_WRITE : 0;
	struct sg sg;

	return wqe->inlined || sg_init(&sg, qp->nic, qp->pd, access, wqe->sge,
				       wqe->num_sge, 0, wqe->length);
}

static void req_set_error(struct wqe *wqe, uint8_t status, uint8_t vendor_err)
{
	wqe->status = status;
	wqe->vendor_err = vendor_err;
}

/* Begin a request.  False if it has to wait; it may also be found wrong. */
static bool req_begin(struct qp *qp, struct wqe *wqe)
{
	struct requester *req = &qp->req;
	uint32_t npsn, under_way = req->max_pos - req->una_pos;

	if (qp->state == VIRTIO_IB_QPS_SQD)
		return false;
	if (!req_sge_ok(qp, wqe)) {
		req_set_error(wqe, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);
		return true;
	}
	if (pkt_is_read(wqe->kind) && !qp->attr.max_rd_atomic) {
		req_set_error(wqe, VIRTIO_IB_WC_LOC_QP_OP_ERR,
			      VENDOR_ERR_NO_READS);
		return true;
	}
	if (wqe->fence && req->reads)
		return false;
	if (pkt_is_read(wqe->kind) && req->reads >= qp->attr.max_rd_atomic)
		return false;
	npsn = psn_count(wqe->length, qp->mtu);
	if (under_way && under_way + npsn > REQ_WINDOW)
		return false;
	wqe->pos = req->snd_pos;
	wqe->npsn = npsn;
	wqe->begun = true;
	return true;
}

/* Does so much more, in PSNs, fit into the window? */
static bool req_fits(struct qp *qp, uint32_t npsn)
{
	const struct requester *req = &qp->req;
	uint64_t under_way = req->snd_pos - req->una_pos;

	return (under_way + npsn) * qp->mtu <= qp_window(qp);
}

/*
 * May the next packet of a request be sent now?  A READ counts with all its
 * data.  Whoever waits for room has asked for an answer, and would else wait for
 * ever: what asks for one may always be sent.
 */
static bool req_clear(struct qp *qp, const struct wqe *wqe)
{
	const struct requester *req = &qp->req;
	uint32_t npsn = wqe->kind == PKT_KIND_READ ?
			req_end(wqe) - req->snd_pos : 1;

	if (!qp->on_wire && !qp->attr.rate_limit)
		return true;
	return (!req_asked(req) || req_fits(qp, npsn)) &&
	       flow_ready(qp, req_flow(qp));
}

static void req_sent(struct requester *req, uint32_t npsn)
{
	req->snd_pos += npsn;
	if (pos_after(req->snd_pos, req->max_pos))
		req->max_pos = req->snd_pos;
}

/* Ask for a READ, or for the rest of one, or for a FLUSH. */
static void req_send_read(struct qp *qp, struct wqe *wqe,
			  struct budget *budget)
{
	struct requester *req = &qp->req;
	uint32_t off = (req->snd_pos - wqe->pos) * qp->mtu;
	struct pkt pkt = {
		.opcode = PKT_READ_REQUEST,
		.ack_req = true,
		.psn = req->snd_pos & PSN_MASK,
		.npsn = 1,
		.va = wqe->remote_addr + off,
		.rkey = wqe->rkey,
		.dmalen = wqe->length - off,
	};

	if (wqe->kind == PKT_KIND_FLUSH) {
		pkt.opcode = PKT_FLUSH;
		pkt.dmalen = wqe->flush_len;
		pkt.flush_type = wqe->flush_type;
		pkt.flush_level = wqe->flush_level;
		pkt.icrc_twice = req->icrc_twice;
	}
	wqe->reading = true;
	req->reads++;
	req->cur++;
	req->unasked = 0;
	req->ask_pos = req_end(wqe);
	req_sent(req, req_end(wqe) - req->snd_pos);
	budget_take(budget, 0);
	flow_sent(qp, req_flow(qp), &pkt);
	qp_send(qp, &pkt);
}

/*
 * Shall the next packet ask for an ACK?  The last one of a message does, one in
 * so many bytes, and one that must be answered before the next can be sent.
 */
static bool req_asks_ack(struct qp *qp, uint32_t len, uint32_t npsn, bool last)
{
	struct requester *req = &qp->req;
	uint64_t often = qp_window(qp) / 4;

	req->unasked += len;
	if (!last && req->unasked < REQ_ACK_BYTES && req->unasked < often &&
	    (req_asked(req) || req_fits(qp, npsn + 1)))
		return false;
	req->unasked = 0;
	req->ask_pos = req->snd_pos + npsn;
	return true;
}

/* Send the next segment of a SEND or a WRITE. */
static void req_send_segment(struct qp *qp, struct wqe *wqe,
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
	if (wqe->inlined) {
		sg_init_flat(&sg, wqe->data + off);
	} else if (!sg_init(&sg, qp->nic, qp->pd, 0, wqe->sge, wqe->num_sge,
			    off, len)) {
		req_set_error(wqe, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);
		return;
	}
	pkt = (struct pkt) {
		.opcode = pkt_code(wqe->kind, !off, last, wqe->extra),
		.ack_req = req_asks_ack(qp, len, psn_count(len, qp->mtu), last),
		.solicited = last && wqe->solicited,
		.psn = req->snd_pos & PSN_MASK,
		.npsn = psn_count(len, qp->mtu),
		.va = wqe->remote_addr,
		.rkey = wqe->rkey,
		.dmalen = wqe->length,
		.imm = wqe->imm,
		.inv_rkey = wqe->inv_rkey,
		.len = len,
		.payload = len ? &sg : NULL,
	};
	req->cur += last;
	req_sent(req, pkt.npsn);
	budget_take(budget, len);
	flow_sent(qp, req_flow(qp), &pkt);
	qp_send(qp, &pkt);
}

/* What was sent on a UC QP is done with. */
static void req_forget(struct qp *qp)
{
	struct requester *req = &qp->req;

	req->una_pos = req->snd_pos;
	while (req->una != req->cur && req_sends(qp))
		req_done(qp, VIRTIO_IB_WC_SUCCESS);
}

/* Register or invalidate; false if that has to wait. */
static bool req_change_mr(struct qp *qp, struct wqe *wqe)
{
	const struct requester *req = &qp->req;

	if (wqe->opcode == VIRTIO_IB_WR_REG_MR) {
		if (mr_fast_reg(qp->nic, qp->pd, &wqe->reg))
			req_set_error(wqe, VIRTIO_IB_WC_MEM_MGT_ERR,
				      VENDOR_ERR_FAST_REG);
		return true;
	}
	/* What was sent may have to be sent again, out of that region. */
	if (req->una != req->cur)
		return false;
	if (!mr_invalidate(qp->nic, qp->pd, wqe->inv_rkey))
		req_set_error(wqe, VIRTIO_IB_WC_MEM_MGT_ERR,
			      VENDOR_ERR_INVALIDATE);
	return true;
}

/* Carry out a request that sends nothing, unless that was done before. */
static bool req_local_step(struct qp *qp, struct wqe *wqe,
			   struct budget *budget)
{
	struct requester *req = &qp->req;

	if (!wqe->begun) {
		if (qp->state == VIRTIO_IB_QPS_SQD ||
		    (wqe->fence && req->reads))
			return false;
		if (!qp->fast_reg)
			req_set_error(wqe, VIRTIO_IB_WC_LOC_QP_OP_ERR,
				      VENDOR_ERR_NO_FAST_REG);
		else if (!req_change_mr(qp, wqe))
			return false;
		if (wqe->status)
			return true;
		wqe->begun = true;
	}
	req->cur++;
	budget_take(budget, 0);
	req_reap(qp);
	return true;
}

/* One step; false if nothing can be done now. */
static bool req_step(struct qp *qp, struct budget *budget)
{
	struct requester *req = &qp->req;
	struct wqe *wqe;

	if (qp->state == VIRTIO_IB_QPS_SQD && req->cur == req->prod)
		return false;
	wqe = req_current(qp);
	if (!wqe)
		return false;
	if (wqe->status)
		return req_local_error(qp, wqe);
	if (req_is_local(wqe))
		return req_local_step(qp, wqe, budget);
	if (!wqe->begun && !req_begin(qp, wqe))
		return false;
	if (wqe->status)
		return true;
	if (!req_clear(qp, wqe))
		return false;
	if (pkt_is_read(wqe->kind))
		req_send_read(qp, wqe, budget);
	else
		req_send_segment(qp, wqe, budget);
	if (qp->service == PKT_UC)
		req_forget(qp);
	return true;
}

bool req_run(struct qp *qp, struct budget *budget)
{
	struct requester *req = &qp->req;
	bool worked = false;

	while (budget_left(budget) && req_sends(qp) && !req->rnr_wait &&
	       req_step(qp, budget))
		worked = true;

	/* Of what does not ask for an answer none will come, nor need it. */
	if (req_sends(qp) && req_asked(req) && !req->rnr_wait &&
	    !req->timer.due)
		req_timer_start(qp);
	return worked;
}
