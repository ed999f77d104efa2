// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs, saved and loaded.
 *
 * A QP goes on where it was, also in the middle of a message.  Its routes and
 * places in memory are looked up again.
 *
 * The numbers that the requester's arithmetic relies on are checked when all of them are
 * there: requests that were begun stand before the others and follow each other in position, and
 * the byte that is sent next lies in the request that is at hand.
 */
#include <stdlib.h>
#include <string.h>

#include "rdma/qp/qp_image.h"
#include "rdma/qp/qp_life.h"
#include "rdma/qp/wqe_image.h"

/* So far ahead of the QP that is saved another one is prefetched; bytes of a cache line. */
#define QP_AHEAD		2u
#define QP_LINE			64u

/* Bytes of the smallest entry of each kind. */
#define QP_STATE_SIZE		200u
#define READ_STATE_SIZE		31u
#define ATOMIC_STATE_SIZE	12u
#define HELD_STATE_SIZE		(4u + 2 + sizeof(struct virtio_rdma_cq_req))

/* ------------------------------------------------------------------------- */
/* What it is made of                                                        */
/* ------------------------------------------------------------------------- */

static struct qp_names qp_names(const struct qp *qp)
{
	struct qp_names names = {
		.req = {
			.qp_type = qp->type,
			.sq_sig_all = qp->sig_all,
			.flags = (qp->fast_reg ? VIRTIO_IB_QP_FAST_REG : 0) |
				 (qp->strip ? VIRTIO_IB_QP_CVLAN_STRIP : 0),
			.cap = qp->cap,
		},
		.pdn = qp->pd ? qp->pd->pdn : 0,
		.send_cqn = qp->send_cq ? qp->send_cq->cqn : 0,
		.recv_cqn = qp->recv_cq ? qp->recv_cq->cqn : 0,
		.srq = qp->rq.srq ? qp->rq.srq->handle : 0,
		.xrcd = qp->xrcd ? qp->xrcd->handle : 0,
		.send_failed = qp->send_user.failed,
		.recv_failed = qp->recv_user.failed,
	};

	if (qp->doorbell) {
		names.doorbell = qp->doorbell->handle;
		names.bit = qp->bit;
		names.held = doorbell_holds(qp->doorbell, qp->bit);
	}
	return names;
}

static void le32_io(struct state *st, const char *field, __le32 *value)
{
	state_bytes(st, field, value, sizeof(*value));
}

static void names_io(struct state *st, struct qp_names *names)
{
	state_u8(st, "type", &names->req.qp_type, UINT8_MAX);
	state_u8(st, "sig_all", &names->req.sq_sig_all, 1);
	state_u8(st, "flags", &names->req.flags,
		 VIRTIO_IB_QP_FAST_REG | VIRTIO_IB_QP_CVLAN_STRIP);
	le32_io(st, "max_send_wr", &names->req.cap.max_send_wr);
	le32_io(st, "max_recv_wr", &names->req.cap.max_recv_wr);
	le32_io(st, "max_send_sge", &names->req.cap.max_send_sge);
	le32_io(st, "max_recv_sge", &names->req.cap.max_recv_sge);
	le32_io(st, "max_inline_data", &names->req.cap.max_inline_data);
	state_u32(st, "pdn", &names->pdn, UINT32_MAX);
	state_u32(st, "send_cqn", &names->send_cqn, UINT32_MAX);
	state_u32(st, "recv_cqn", &names->recv_cqn, UINT32_MAX);
	state_bool(st, "send_failed", &names->send_failed);
	state_bool(st, "recv_failed", &names->recv_failed);
	state_u32(st, "srq", &names->srq, UINT32_MAX);
	state_u32(st, "xrcd", &names->xrcd, UINT32_MAX);
	state_u32(st, "doorbell", &names->doorbell, UINT32_MAX);
	state_u32(st, "bit", &names->bit, UINT32_MAX);
	state_bool(st, "held", &names->held);
}

/* ------------------------------------------------------------------------- */
/* Queues                                                                    */
/* ------------------------------------------------------------------------- */

static void wq_io(struct state *st, struct wq *wq)
{
	state_bool(st, "kick", &wq->kick);
	if (!wq->direct)
		return;
	state_u8(st, "shift", &wq->shift, UINT8_MAX);
	state_u32(st, "depth", &wq->depth, RNIC_DIRECT_WR_MAX);
	state_u32(st, "taken", &wq->taken, UINT32_MAX);
	state_u32(st, "done", &wq->done, UINT32_MAX);
	state_u32(st, "ahead", &wq->ahead, UINT32_MAX);
	state_bool(st, "broken", &wq->broken);
	wq->seen = wq->taken;
	state_need(st, wq->taken - wq->done <= wq->depth, "taken",
		   "more requests under way than the ring holds");
}

static uint32_t wq_pages(const struct wq *wq)
{
	return (((uint64_t)wq->depth << (wq->shift & 31)) + RNIC_PAGE_SIZE - 1) / RNIC_PAGE_SIZE;
}

/* As qp_create() makes them, before they are loaded. */
static void queues_begin(struct qp *qp)
{
	const struct wq common = {
		.ctx = qp->ctx,
		.direct = qp->qpn >= qp->ctx->limits.qps,
		.pages = &qp->pages,
		.block = qp->doorbell ? &qp->block : NULL,
		.doorbell = qp->doorbell,
		.bit = qp->bit,
	};
	struct srq *srq = qp->rq.srq;

	qp->sq = common;
	qp->rq = common;
	qp->rq.recv = true;
	qp->rq.srq = srq;
}

/* A work queue has a receive ring, and all others have a send ring. */
static bool queues_are_those(const struct qp *qp)
{
	return qp->type == VIRTIO_IB_QPT_WQ ? qp->rq.depth && !qp->sq.depth : qp->sq.depth;
}

static void queues_end(struct state *st, struct qp *qp)
{
	const uint32_t send = wq_pages(&qp->sq), recv = wq_pages(&qp->rq);

	if (st->failed || !qp->sq.direct)
		return;
	qp->rq.first = (uint64_t)send * RNIC_PAGE_SIZE;
	if (!qp->send_cq)
		state_need(st, !qp->sq.depth && !qp->rq.depth && !qp->pages.n, "depth",
			   "an XRC_TGT or RX_HASH QP has no queues");
	else
		state_need(st, queues_are_those(qp) && !(qp->rq.srq && qp->rq.depth) &&
			   pages_fit_ring(qp->sq.depth, qp->sq.shift, send) &&
			   pages_fit_ring(qp->rq.depth, qp->rq.shift, recv) &&
			   qp->pages.n == send + recv, "depth",
			   "rings of a wrong size");
}

static void queues_io(struct state *st, struct qp *qp)
{
	if (st->loading)
		queues_begin(qp);
	if (qp->sq.direct && qp->doorbell)
		block_io(st, &qp->block, qp->ctx, VIRTIO_RDMA_CONTROL_SIZE);
	wq_io(st, &qp->sq);
	wq_io(st, &qp->rq);
	if (qp->sq.direct)
		pages_io(st, &qp->pages, qp->ctx);
	if (st->loading)
		queues_end(st, qp);
}

/* ------------------------------------------------------------------------- */
/* Attributes                                                                */
/* ------------------------------------------------------------------------- */

/* Does it look at its attributes, because it has a connection or is about to? */
static bool qp_connected(const struct qp *qp)
{
	return qp_connects(qp) && qp_receives(qp);
}

static void attr_check(struct state *st, struct qp *qp)
{
	const struct gid_table *gids = qp->table->gids;
	const struct qp_attr *attr = &qp->attr;
	const char *why = NULL;

	state_need(st, !(attr->access & ~rnic_access_flags(qp->ctx)), "access",
		   "unknown flags");
	state_need(st, gid_vlan_ok(attr->vlan), "vlan", "there is no such VLAN");
	if (!qp_connected(qp))
		return;
	why = av_check(qp->ctx, &attr->ah_attr);
	state_need(st, !why, "ah_attr", why);
	state_need(st, attr->path_mtu, "path_mtu", "a connection without one");
	state_need(st, !gids->may || gids->may(gids->arg, attr->sgid), "sgid",
		   "not among the addresses of gid= of its --socket");
}

static void attr_io(struct state *st, struct qp *qp)
{
	struct qp_attr *attr = &qp->attr;

	state_u8(st, "path_mtu", &attr->path_mtu, VIRTIO_IB_MTU_4096);
	state_u8(st, "max_rd_atomic", &attr->max_rd_atomic, RNIC_MAX_RD_ATOMIC);
	state_u8(st, "max_dest_rd_atomic", &attr->max_dest_rd_atomic, RNIC_MAX_RD_ATOMIC);
	state_u8(st, "min_rnr_timer", &attr->min_rnr_timer, 31);
	state_u8(st, "timeout", &attr->timeout, 31);
	state_u8(st, "retry_cnt", &attr->retry_cnt, 7);
	state_u8(st, "rnr_retry", &attr->rnr_retry, 7);
	state_u32(st, "rate_limit", &attr->rate_limit, UINT32_MAX);
	state_u32(st, "qkey", &attr->qkey, UINT32_MAX);
	state_u32(st, "dest_qpn", &attr->dest_qpn, PSN_MASK);
	state_u32(st, "access", &attr->access, UINT32_MAX);
	state_bytes(st, "ah_attr", &attr->ah_attr, sizeof(attr->ah_attr));
	state_bytes(st, "sgid", attr->sgid, GID_SIZE);
	state_u16(st, "vlan", &attr->vlan, UINT16_MAX);
	if (!st->loading)
		return;
	attr_check(st, qp);
	av_decode(&attr->ah_attr, &attr->av);
	qp->mtu = attr->path_mtu ? 128u << attr->path_mtu : 0;
	flow_set_mtu(&qp->flow, qp->mtu);
	flow_set_rate(&qp->flow, attr->rate_limit, attr->max_burst);
}

/* ------------------------------------------------------------------------- */
/* The sending half                                                          */
/* ------------------------------------------------------------------------- */

static bool pos_in(uint32_t pos, uint32_t from, uint32_t to)
{
	return pos - from <= to - from;
}

/* Requests that were begun, one behind the other; returns where the last one ends. */
static uint32_t positions_of_requests(struct state *st, const struct qp *qp)
{
	const struct requester *req = &qp->req;
	uint32_t i, end = req->una_pos;
	bool first = true, begun = true;
	const struct wqe *wqe;

	for (i = req->una; i != req->prod && !st->failed; i++) {
		wqe = requester_wqe(req, i);
		state_need(st, begun || !wqe->begun, "begun", "behind one that is not");
		begun = wqe->begun;
		if (!begun || wqe->kind == PKT_KIND_NONE)
			continue;
		state_need(st, wqe->npsn == psn_count(wqe->length, qp->mtu), "npsn",
			   "not that of the length");
		if (first)
			state_need(st, req->una_pos - wqe->pos < wqe->npsn, "pos",
				   "what is acknowledged is elsewhere");
		else
			state_need(st, wqe->pos == end, "pos", "not behind the one before");
		first = false;
		end = wqe->pos + wqe->npsn;
	}
	return end;
}

/* The request that is sent from, of those that were begun and take positions; or NULL. */
static const struct wqe *positions_at_hand(const struct requester *req)
{
	const struct wqe *wqe;
	uint32_t i;

	for (i = req->cur; i != req->prod; i++) {
		wqe = requester_wqe(req, i);
		if (!wqe->begun)
			return NULL;
		if (wqe->kind != PKT_KIND_NONE)
			return wqe;
	}
	return NULL;
}

static void positions_check(struct state *st, const struct qp *qp)
{
	const struct requester *req = &qp->req;
	const uint32_t end = positions_of_requests(st, qp);
	const struct wqe *wqe = positions_at_hand(req);

	state_need(st, end - req->una_pos < 1u << 26, "pos", "too much under way");
	state_need(st, pos_in(req->max_pos, req->una_pos, end), "max_pos",
		   "beyond what was begun");
	state_need(st, pos_in(req->snd_pos, req->una_pos, req->max_pos), "snd_pos",
		   "beyond what was sent");
	if (wqe)
		state_need(st, req->snd_pos - wqe->pos < wqe->npsn, "snd_pos",
			   "not in the request that is at hand");
	else
		state_need(st, req->snd_pos == end, "snd_pos", "not behind what was begun");
}

static void wqes_load(struct state *st, struct qp *qp, uint32_t n)
{
	struct requester *req = &qp->req;
	struct wqe *wqe;
	uint32_t i;

	while (req->size < n)
		if (!state_need(st, requester_grow(req, qp->ctx), "requests",
				"no room for so many"))
			return;
	for (i = 0; i < n && !st->failed; i++) {
		wqe = requester_wqe(req, req->prod);
		memset(wqe, 0, sizeof(*wqe));
		wqe_io(st, wqe, qp->type);
		state_need(st, !qp->ctx->limits.rfc || wqe->status ||
			   wqe->opcode <= VIRTIO_IB_WR_RDMA_READ, "opcode",
			   "it is not in the RFC");
		state_need(st, wqe->num_sge <= qp->max_send_sge, "num_sge",
			   "more than the QP takes");
		if (st->failed)
			return;
		req->reads += wqe->reading;
		req->prod++;
	}
}

static void wqes_io(struct state *st, struct qp *qp)
{
	struct requester *req = &qp->req;
	uint32_t i, n = req->prod - req->una, una = req->una;

	state_u32(st, "una", &una, UINT32_MAX);
	state_count(st, "requests", &n, req->max, WQE_STATE_SIZE);
	if (st->loading) {
		/* Room is made while there are none. */
		req->una = una;
		req->cur = una;
		req->prod = una;
		wqes_load(st, qp, n);
		return;
	}
	for (i = req->una; i != req->prod; i++)
		wqe_io(st, requester_wqe(req, i), qp->type);
}

/* The time until the ACK timeout or the end of an RNR wait; probes are not saved. */
static void requester_timer_io(struct state *st, struct qp *qp)
{
	struct requester *req = &qp->req;
	struct loop_timer timer = req->timer;

	if (st->loading) {
		rnic_timer_io(st, "timer", qp->ctx, &req->timer);
		req->gone_at = req->rnr_wait ? 0 : req->timer.due;
		return;
	}
	if (req->gone_at)
		timer.due = req->gone_at;
	rnic_timer_io(st, "timer", qp->ctx, &timer);
}

static void requester_io(struct state *st, struct qp *qp)
{
	struct requester *req = &qp->req;
	uint32_t ahead = req->cur - req->una;
	bool may_have;

	state_u32(st, "max", &req->max, REQUESTER_MAX);
	wqes_io(st, qp);
	state_u32(st, "ahead", &ahead, req->prod - req->una);
	req->cur = req->una + ahead;
	state_u32(st, "una_pos", &req->una_pos, UINT32_MAX);
	/* That an answer came for the second time may go unnoticed. */
	if (st->loading) {
		req->seen_pos = req->una_pos;
		req->parts = true;
	}
	state_u32(st, "snd_pos", &req->snd_pos, UINT32_MAX);
	state_u32(st, "max_pos", &req->max_pos, UINT32_MAX);
	state_u32(st, "ask_pos", &req->ask_pos, UINT32_MAX);
	state_u32(st, "unasked", &req->unasked, UINT32_MAX);
	state_u8(st, "retry_left", &req->retry_left, 7);
	state_u8(st, "rnr_left", &req->rnr_left, 7);
	state_bool(st, "went_back", &req->went_back);
	state_bool(st, "icrc_twice", &req->icrc_twice);
	state_bool(st, "rnr_wait", &req->rnr_wait);
	state_bool(st, "draining", &req->draining);
	requester_timer_io(st, qp);
	if (!st->loading || st->failed)
		return;
	may_have = qp->send_cq && (qp_sends(qp) || qp->state == VIRTIO_IB_QPS_SQE ||
				 qp->state == VIRTIO_IB_QPS_ERR);
	state_need(st, may_have || req->una == req->prod, "requests",
		   "a QP in this state has none");
	if (qp_connected(qp))
		positions_check(st, qp);
}

/* ------------------------------------------------------------------------- */
/* The receiving half                                                        */
/* ------------------------------------------------------------------------- */

static void read_io(struct state *st, struct read_job *job)
{
	state_u64(st, "read.va", &job->va, UINT64_MAX);
	state_u32(st, "read.rkey", &job->rkey, UINT32_MAX);
	state_u32(st, "read.srqn", &job->srqn, UINT32_MAX);
	state_u32(st, "read.left", &job->left, RNIC_MAX_MSG);
	state_u32(st, "read.psn", &job->psn, UINT32_MAX);
	state_u32(st, "read.msn", &job->msn, PSN_MASK);
	state_bool(st, "read.begun", &job->begun);
	state_bool(st, "read.atomic", &job->atomic);
	state_u8(st, "read.share", &job->share, READ_SHARES - 1);
}

static void reads_io(struct state *st, struct responder *resp)
{
	uint32_t i, n = resp->reads;
	struct read_job job;

	state_count(st, "reads", &n, READ_SHARES * RNIC_MAX_RD_ATOMIC, READ_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++) {
		memset(&job, 0, sizeof(job));
		if (!st->loading)
			job = resp->read[(resp->read_head + i) & (resp->room - 1)];
		read_io(st, &job);
		if (!st->loading || st->failed)
			continue;
		if (!state_need(st, responder_make_room(resp), "reads", "out of memory") ||
		    !state_need(st, resp->share[job.share] < RNIC_MAX_RD_ATOMIC, "read.share",
				"too many"))
			return;
		resp->read[(resp->read_head + resp->reads++) & (resp->room - 1)] = job;
		resp->share[job.share]++;
	}
}

/* The oldest one first. */
static void atomics_io(struct state *st, struct responder *resp)
{
	const uint32_t kept = resp->done_n < RNIC_MAX_RD_ATOMIC ? resp->done_n :
							       RNIC_MAX_RD_ATOMIC;
	struct atomic_done done;
	uint32_t i, n = kept;

	state_count(st, "atomics", &n, RNIC_MAX_RD_ATOMIC, ATOMIC_STATE_SIZE);
	if (st->loading && n &&
	    !state_need(st, responder_make_atomic(resp), "atomics", "out of memory"))
		return;
	for (i = 0; i < n && !st->failed; i++) {
		memset(&done, 0, sizeof(done));
		if (!st->loading)
			done = resp->done[(resp->done_n - n + i) % RNIC_MAX_RD_ATOMIC];
		state_u32(st, "atomic.psn", &done.psn, UINT32_MAX);
		state_u64(st, "atomic.orig", &done.orig, UINT64_MAX);
		if (st->loading)
			responder_remember(resp, done.psn, done.orig);
	}
}

static void responder_check_loaded(struct state *st, const struct qp *qp)
{
	const struct responder *resp = &qp->resp;

	state_need(st, resp->kind == PKT_KIND_NONE || resp->kind == PKT_KIND_SEND ||
		   resp->kind == PKT_KIND_WRITE, "message", "of no such kind");
	state_need(st, !resp->event || resp->event >= VIRTIO_RDMA_EVENT_QP_FATAL, "event",
		   "there is no such event");
	state_need(st, resp->event < VIRTIO_RDMA_EVENT_QP_FATAL + QP_EVENTS, "event",
		   "there is no such event");
	state_need(st, !resp->reads || qp_connected(qp), "reads", "of no connection");
	state_need(st, !resp->has_rwqe || !qp->xrcd || qp->rq.srq, "has_recv",
		   "a request of no SRQ");
	if (!qp_connected(qp) || resp->kind == PKT_KIND_NONE)
		return;
	if (resp->kind == PKT_KIND_WRITE)
		state_need(st, resp->off <= resp->dmalen, "off", "beyond the message");
	else if (resp->has_rwqe)
		state_need(st, resp->off <= resp->rwqe.length, "off", "beyond the request");
	else
		state_need(st, qp->xrcd && !qp->rq.srq, "has_recv",
			   "a message under way without a request");
}

/* Says that there is @by_data in the place of @nak_psn. */
#define NAK_PSN_BY_DATA	(1u << 31)

/*
 * The PSN of a NAK has no meaning without a NAK.  Then @by_data stands in its place, which
 * version 0.1.0 neither has nor looks at.
 */
static void nak_psn_io(struct state *st, struct responder *resp)
{
	uint32_t psn = resp->nak_psn;

	if (!st->loading && !resp->nak && resp->by_data)
		psn = NAK_PSN_BY_DATA | resp->by_data;
	state_u32(st, "nak_psn", &psn, UINT32_MAX);
	if (!st->loading)
		return;
	if (!resp->nak && psn & NAK_PSN_BY_DATA)
		resp->by_data = psn & ~NAK_PSN_BY_DATA;
	else
		resp->nak_psn = psn;
	state_need(st, resp->by_data <= RESPONDER_BY_DATA_MAX, "nak_psn", "too far behind");
}

static void responder_io(struct state *st, struct qp *qp)
{
	struct responder *resp = &qp->resp;

	state_u32(st, "epsn", &resp->epsn, PSN_MASK);
	state_u32(st, "msn", &resp->msn, PSN_MASK);
	state_u8(st, "message", &resp->kind, UINT8_MAX);
	state_u32(st, "off", &resp->off, RNIC_MAX_MSG);
	state_u64(st, "va", &resp->va, UINT64_MAX);
	state_u32(st, "rkey", &resp->rkey, UINT32_MAX);
	state_u32(st, "dmalen", &resp->dmalen, RNIC_MAX_MSG);
	state_u8(st, "nak", &resp->nak, UINT8_MAX);
	nak_psn_io(st, resp);
	state_bool(st, "nak_sent", &resp->nak_sent);
	state_bool(st, "ack_due", &resp->ack_due);
	state_bool(st, "dup_acked", &resp->dup_acked);
	state_bool(st, "heard", &resp->heard);
	state_u8(st, "event", &resp->event, UINT8_MAX);
	state_bool(st, "dead", &resp->dead);
	state_bool(st, "has_recv", &resp->has_rwqe);
	if (resp->has_rwqe)
		rwqe_io(st, &resp->rwqe);
	reads_io(st, resp);
	atomics_io(st, resp);
	if (st->loading) {
		resp->unready = resp->nak_sent;
		/* Nobody knows how much was sent of the READs that are left. */
		resp->sent_psn = resp->epsn;
	}
	if (st->loading && !st->failed)
		responder_check_loaded(st, qp);
}

/* ------------------------------------------------------------------------- */
/* QPs                                                                       */
/* ------------------------------------------------------------------------- */

static struct qp *qp_begin_io(struct state *st, struct qp_table *qps, uint32_t *qpn)
{
	struct qp *qp = st->loading ? NULL : qps->qp[*qpn];
	struct qp_names names = qp ? qp_names(qp) : (struct qp_names) {};
	const char *why;

	state_u32(st, "qpn", qpn, UINT32_MAX);
	names_io(st, &names);
	if (!st->loading || st->failed)
		return qp;
	qp = qp_revive(qps, *qpn, &names, &why);
	if (!qp)
		state_refuse(st, "qpn", "%u: %s", *qpn, why);
	return qp;
}

/* Types that do not have all states. */
static bool qp_may_be_in(uint8_t type, uint8_t state)
{
	switch (type) {
	case VIRTIO_IB_QPT_WQ:
		return state == VIRTIO_IB_QPS_RESET || state == VIRTIO_IB_QPS_RTR ||
		       state == VIRTIO_IB_QPS_ERR;
	case VIRTIO_IB_QPT_RX_HASH:
		return state == VIRTIO_IB_QPS_RTR;
	}
	return true;
}

static void qp_io(struct state *st, struct qp *qp)
{
	state_u64(st, "serial", &qp->serial, UINT64_MAX);
	state_need(st, qp->serial && qp->serial <= qp->table->serial, "serial",
		   "not one of this table");
	state_u8(st, "state", &qp->state, VIRTIO_IB_QPS_ERR);
	state_need(st, qp_may_be_in(qp->type, qp->state), "state", "none of this type");
	state_bool(st, "no_wqe", &qp->no_wqe);
	queues_io(st, qp);
	attr_io(st, qp);
	flow_io(st, &qp->flow);
	rnic_timer_io(st, "flow_timer", qp->ctx, &qp->flow.timer);
	requester_io(st, qp);
	responder_io(st, qp);
	rnic_counters_io(st, qp->counter);
}

static uint32_t qps_number(const struct qp_table *qps)
{
	uint32_t i, n = 0;

	for (i = 0; i < qps->size; i++)
		n += !!qps->qp[i];
	return n;
}

/* In the order in which they are polled. */
static void qps_active_io(struct state *st, struct qp_table *qps)
{
	struct qp *qp = TAILQ_FIRST(&qps->active);
	uint32_t i, qpn = 0, n = qps->active_n;
	uint64_t busy_at = 0;

	state_count(st, "active", &n, VIRTIO_NET_ROCE_MAX_OBJECTS, sizeof(qpn) + 8);
	for (i = 0; i < n && !st->failed; i++) {
		if (!st->loading) {
			qpn = qp->qpn;
			busy_at = qp->busy_at;
		}
		state_u32(st, "active", &qpn, UINT32_MAX);
		state_time(st, "busy_at", &busy_at, loop_now(qps->ctx->loop));
		if (!st->loading) {
			qp = TAILQ_NEXT(qp, entry);
			continue;
		}
		qp = qp_get(qps, qpn);
		if (!state_need(st, qp && !qp->active, "active", "no such QP, or twice"))
			return;
		qp_activate(qp);
		qp->busy_at = busy_at;
	}
}

/* Nearly all of a QP is saved, and of many hardly any is in a cache. */
static void qp_prefetch(const struct qp *qp)
{
	const char *line = (const char *)qp;
	size_t i;

	for (i = 0; qp && i < sizeof(*qp); i += QP_LINE)
		__builtin_prefetch(line + i);
}

void qp_table_io(struct state *st, struct qp_table *qps)
{
	const struct rnic_limits *limits = &qps->ctx->limits;
	uint32_t i, qpn = 0, n = st->loading ? 0 : qps_number(qps);
	uint32_t next = qps->next, next_direct = qps->next_direct;
	struct qp *qp;

	state_u32(st, "next", &next, limits->qps);
	state_u32(st, "next_direct", &next_direct, limits->qps + limits->direct_qps);
	state_need(st, next > VIRTIO_NET_ROCE_QPN_GSI && next_direct >= limits->qps, "next",
		   "not the number of a QP");
	state_u64(st, "serial", &qps->serial, UINT64_MAX / 2);
	state_u32(st, "resume", &qps->resume, UINT32_MAX);
	state_u64(st, "resume_serial", &qps->resume_serial, UINT64_MAX);
	state_count(st, "qps", &n, limits->qps + limits->direct_qps, QP_STATE_SIZE);
	if (!st->failed) {
		qps->next = next;
		qps->next_direct = next_direct;
	}
	for (i = 0; i < n && !st->failed; i++, qpn++) {
		while (!st->loading && !qps->qp[qpn])
			qpn++;
		if (!st->loading && qpn + QP_AHEAD < qps->size)
			qp_prefetch(qps->qp[qpn + QP_AHEAD]);
		qp = qp_begin_io(st, qps, &qpn);
		if (qp)
			qp_io(st, qp);
	}
	qps_active_io(st, qps);
}

/* When the next packet may leave is known already, and stays. */
static void burst_io(struct state *st, struct qp_table *qps, uint32_t *qpn)
{
	struct qp *qp = st->loading ? NULL : qps->qp[*qpn];
	uint32_t max_burst = qp ? qp->attr.max_burst : 0;
	uint64_t limit_at;

	state_u32(st, "qpn", qpn, UINT32_MAX);
	state_u32(st, "max_burst", &max_burst, UINT32_MAX);
	if (!st->loading)
		return;
	qp = qp_get(qps, *qpn);
	if (!state_need(st, qp && max_burst && !qp->attr.max_burst, "qpn",
			"no such QP, or twice"))
		return;
	qp->attr.max_burst = max_burst;
	limit_at = qp->flow.limit_at;
	flow_set_rate(&qp->flow, qp->attr.rate_limit, max_burst);
	qp->flow.limit_at = limit_at;
}

void qp_bursts_io(struct state *st, struct qp_table *qps)
{
	uint32_t i, qpn, n = 0;

	for (i = 0; !st->loading && i < qps->size; i++)
		n += qps->qp[i] && qps->qp[i]->attr.max_burst;
	if (!st->loading && !n)
		return;
	state_count(st, "qps", &n, qps->size, 8);
	for (i = 0, qpn = 0; i < n && !st->failed; i++, qpn++) {
		while (!st->loading && !(qps->qp[qpn] && qps->qp[qpn]->attr.max_burst))
			qpn++;
		burst_io(st, qps, &qpn);
	}
}

void qp_loaded(struct qp_table *qps)
{
	uint32_t i;

	for (i = 0; i < qps->ctx->limits.qps; i++) {
		if (!qps->qp[i])
			continue;
		qps->qp[i]->sq.vq = qps->sq_vq[i];
		qps->qp[i]->rq.vq = qps->rq_vq[i];
	}
}

/* ------------------------------------------------------------------------- */
/* What others keep of them                                                  */
/* ------------------------------------------------------------------------- */

/* The queue of a QP that a completion is of. */
static struct qp *held_qp(struct cq_user *user)
{
	return user->arg;
}

static void held_io(struct state *st, struct qp_table *qps, struct cq *cq,
		    struct cq_held *held)
{
	struct virtio_rdma_cq_req wc = {};
	uint32_t qpn = 0;
	bool recv = false, solicited = false;
	const char *why;
	struct qp *qp;

	if (held) {
		qpn = held_qp(held->lot->user)->qpn;
		recv = held->lot->user->recv;
		solicited = held->solicited;
		wc = held->wc;
	}
	state_u32(st, "qpn", &qpn, UINT32_MAX);
	state_bool(st, "recv", &recv);
	state_bool(st, "solicited", &solicited);
	state_bytes(st, "completion", &wc, sizeof(wc));
	if (!st->loading || st->failed)
		return;
	qp = qp_get(qps, qpn);
	if (!state_need(st, qp && (recv ? qp->recv_cq : qp->send_cq) == cq, "qpn",
			"no such QP of this CQ"))
		return;
	why = cq_hold(cq, recv ? &qp->recv_user : &qp->send_user, &wc, solicited);
	state_need(st, !why, "completions", why);
}

static struct cq_held *held_next(struct cq_held *held)
{
	while (held && !held->lot->user)
		held = TAILQ_NEXT(held, entry);
	return held;
}

static void held_of_cq_io(struct state *st, struct qp_table *qps, uint32_t *cqn)
{
	struct cq *cq = st->loading ? NULL : cq_get(qps->cqs, *cqn);
	struct cq_held *held = cq ? held_next(TAILQ_FIRST(&cq->held)) : NULL;
	uint32_t i, n = cq ? cq->held_n : 0;

	state_u32(st, "cqn", cqn, UINT32_MAX);
	state_count(st, "completions", &n, RNIC_HELD_MAX, HELD_STATE_SIZE);
	if (st->loading) {
		cq = cq_get(qps->cqs, *cqn);
		if (!state_need(st, n && cq && !cq->direct && !cq->held_n && !cq->error, "cqn",
				"it holds no completions, or twice"))
			return;
	}
	for (i = 0; i < n && !st->failed; i++) {
		held_io(st, qps, cq, held);
		held = held ? held_next(TAILQ_NEXT(held, entry)) : NULL;
	}
	state_u64(st, "wait_ns", &cq->wait_ns, STATE_TIME_MAX);
	rnic_timer_io(st, "timer", qps->ctx, &cq->timer);
}

void qp_held_io(struct state *st, struct qp_table *qps)
{
	const uint32_t cqs = qps->ctx->limits.cqs;
	uint32_t i, cqn, n = 0;

	for (cqn = 0; !st->loading && cqn < cqs; cqn++)
		n += qps->cqs->cq[cqn] && qps->cqs->cq[cqn]->held_n;
	state_count(st, "cqs", &n, cqs, 24);
	for (i = 0, cqn = 0; i < n && !st->failed; i++, cqn++) {
		while (!st->loading && !(qps->cqs->cq[cqn] && qps->cqs->cq[cqn]->held_n))
			cqn++;
		held_of_cq_io(st, qps, &cqn);
	}
}

static void given_back_io(struct state *st, struct qp_table *qps, struct srq *srq)
{
	uint32_t i, n = srq ? srq->returned_n : 0, handle = srq ? srq->handle : 0;
	struct rwqe rwqe;

	state_u32(st, "srq", &handle, UINT32_MAX);
	state_count(st, "requests", &n, UINT32_MAX, RWQE_STATE_SIZE);
	if (st->loading) {
		srq = srq_get(qps->srqs, handle);
		if (!state_need(st, srq && !srq->returned_n, "srq", "no such SRQ, or twice"))
			return;
	}
	for (i = 0; i < n && !st->failed; i++) {
		memset(&rwqe, 0, sizeof(rwqe));
		if (!st->loading)
			memcpy(&rwqe, srq_given_back(srq, i), sizeof(rwqe));
		rwqe_io(st, &rwqe);
		if (st->loading && !st->failed)
			srq_give_back(srq, &rwqe, sizeof(rwqe));
	}
}

/* The next SRQ that has some. */
static struct srq *srq_with_some(const struct srq_table *srqs, uint32_t *at)
{
	struct srq *srq;

	while ((srq = obj_next(&srqs->objs, at)))
		if (srq->returned_n)
			break;
	return srq;
}

void qp_given_back_io(struct state *st, struct qp_table *qps)
{
	uint32_t i, at = 0, n = 0;

	while (!st->loading && srq_with_some(qps->srqs, &at))
		n++;
	at = 0;
	state_count(st, "srqs", &n, RNIC_SRQS_MAX, 8);
	for (i = 0; i < n && !st->failed; i++)
		given_back_io(st, qps, st->loading ? NULL : srq_with_some(qps->srqs, &at));
}

static void group_io(struct state *st, struct qp_table *qps, const struct mcast_group *group)
{
	uint32_t i, qpn = 0, n = group ? group->n : 0;
	uint8_t gid[GID_SIZE] = {};
	const char *why;

	if (group)
		memcpy(gid, group->gid, GID_SIZE);
	state_bytes(st, "gid", gid, GID_SIZE);
	state_count(st, "qps", &n, MCAST_QPS, sizeof(qpn));
	for (i = 0; i < n && !st->failed; i++) {
		if (group)
			qpn = group->qpn[i];
		state_u32(st, "qpn", &qpn, UINT32_MAX);
		if (!st->loading || st->failed)
			continue;
		why = qp_attach_mcast(qps, qpn, gid);
		state_need(st, !why, "qpn", why);
	}
}

void qp_groups_io(struct state *st, struct qp_table *qps)
{
	uint32_t i, n = qps->mcast->n;

	state_count(st, "groups", &n, MCAST_GROUPS, GID_SIZE + 4);
	for (i = 0; i < n && !st->failed; i++)
		group_io(st, qps, st->loading ? NULL : &qps->mcast->group[i]);
}

static struct rule_owner *rule_owner_of(void *arg, uint32_t qpn)
{
	struct qp *qp = qp_get(arg, qpn);

	return qp && qp_takes_rules(qp) ? &qp->rules : NULL;
}

void qp_rules_io(struct state *st, struct qp_table *qps)
{
	struct rule_table *rules = qps->rules;
	uint32_t i, at = 0, n = rules->objs.used;

	if (!st->loading && !rules->objs.max)
		return;
	rule_table_io(st, rules);
	state_count(st, "rules", &n, rules->objs.max, RULE_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++)
		rule_io(st, rules, st->loading ? NULL : rule_next(rules, &at), rule_owner_of,
			qps);
	rule_table_io_end(st, rules);
}

static struct event_mark *event_of(const struct qp_table *qps, uint8_t type, uint32_t number)
{
	struct srq *srq;
	struct cq *cq;
	struct qp *qp;

	switch (type) {
	case VIRTIO_RDMA_EVENT_COMPLETION:
	case VIRTIO_RDMA_EVENT_CQ_ERROR:
		cq = cq_get(qps->cqs, number);
		if (!cq || !cq->control)
			return NULL;
		return type == VIRTIO_RDMA_EVENT_COMPLETION ? &cq->ready : &cq->failed;
	case VIRTIO_RDMA_EVENT_SRQ_LIMIT:
	case VIRTIO_RDMA_EVENT_SRQ_ERROR:
		srq = srq_get(qps->srqs, number);
		if (!srq)
			return NULL;
		return type == VIRTIO_RDMA_EVENT_SRQ_LIMIT ? &srq->low : &srq->failed;
	}
	qp = qp_get(qps, number);
	if (type == VIRTIO_RDMA_EVENT_WQ_FATAL)
		return qp && qp->type == VIRTIO_IB_QPT_WQ ? &qp->event[0] : NULL;
	if (qp && type == VIRTIO_RDMA_EVENT_QP_LAST_WQE)
		return &qp->last_wqe;
	if (qp && type >= VIRTIO_RDMA_EVENT_QP_FATAL &&
	    type < VIRTIO_RDMA_EVENT_QP_FATAL + QP_EVENTS)
		return &qp->event[type - VIRTIO_RDMA_EVENT_QP_FATAL];
	return NULL;
}

static void event_io(struct state *st, struct qp_table *qps, uint32_t vq,
		     const struct event_mark *mark)
{
	uint8_t type = mark ? mark->type : 0;
	uint32_t number = mark ? mark->number : 0;
	struct event_mark *to;

	state_u8(st, "type", &type, UINT8_MAX);
	state_u32(st, "number", &number, UINT32_MAX);
	if (!st->loading || st->failed)
		return;
	to = event_of(qps, type, number);
	state_need(st, to && to->vq == vq && event_line_up(qps->events, to), "number",
		   "no object has this event, or it occurs twice");
}

void qp_events_io(struct state *st, struct qp_table *qps)
{
	struct event_table *events = qps->events;
	const struct event_mark *mark;
	uint32_t vq, i, n;

	for (vq = 0; vq < qps->ctx->limits.event_vqs && !st->failed; vq++) {
		n = 0;
		TAILQ_FOREACH(mark, &events->queue[vq].marks, entry)
			n++;
		state_bool(st, "kick", &events->queue[vq].kick);
		state_count(st, "events", &n, UINT32_MAX, 5);
		mark = TAILQ_FIRST(&events->queue[vq].marks);
		for (i = 0; i < n && !st->failed; i++) {
			event_io(st, qps, vq, st->loading ? NULL : mark);
			if (!st->loading)
				mark = TAILQ_NEXT(mark, entry);
		}
	}
}
