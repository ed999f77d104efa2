// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of queue pairs: creation, reset, destruction.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/qp/offload.h"
#include "rdma/qp/qp_life.h"
#include "rdma/qp/qp_queues.h"
#include "rdma/qp/requester.h"
#include "rdma/qp/responder.h"
#include "rdma/qp/rss.h"

#define QPN_FIRST	(VIRTIO_NET_ROCE_QPN_GSI + 1)

/**
 * struct qp_plan - a request to create a QP, checked
 * @xrcd:	of an XRC_TGT QP: XRC domain, and nothing else
 * @pd:		protection domain
 * @send_cq:	where send requests complete
 * @recv_cq:	where receive requests complete
 * @send_wr:	depth of the send queue
 * @recv_wr:	depth of the receive queue
 */
struct qp_plan {
	struct xrcd *xrcd;
	struct pd *pd;
	struct cq *send_cq;
	struct cq *recv_cq;
	uint32_t send_wr;
	uint32_t recv_wr;
};

/* Service by QP type.  SMI is missing, because RoCE does not use it. */
static const uint8_t qp_services[] = {
	[VIRTIO_IB_QPT_GSI] = PKT_UD,
	[VIRTIO_IB_QPT_RC] = PKT_RC,
	[VIRTIO_IB_QPT_UC] = PKT_UC,
	[VIRTIO_IB_QPT_UD] = PKT_UD,
	[VIRTIO_IB_QPT_RAW_PACKET] = PKT_FRAME,
	[VIRTIO_IB_QPT_XRC_INI] = PKT_XRC,
	[VIRTIO_IB_QPT_XRC_TGT] = PKT_XRC,
	[VIRTIO_IB_QPT_WQ] = PKT_FRAME,
	[VIRTIO_IB_QPT_RX_HASH] = PKT_FRAME,
};

#define QP_TYPES	(1 << VIRTIO_IB_QPT_GSI | 1 << VIRTIO_IB_QPT_RC | \
			 1 << VIRTIO_IB_QPT_UC | 1 << VIRTIO_IB_QPT_UD)
/* Those that have the direct form only. */
#define QP_TYPES_DIRECT	(1 << VIRTIO_IB_QPT_XRC_INI | 1 << VIRTIO_IB_QPT_XRC_TGT | \
			 1 << VIRTIO_IB_QPT_RAW_PACKET | 1 << VIRTIO_IB_QPT_WQ)

static const char *qp_check_cap(struct rnic_ctx *ctx,
				const struct virtio_rdma_qp_cap *cap, uint32_t max_wr)
{
	uint32_t send_wr = le32toh(cap->max_send_wr);
	uint32_t recv_wr = le32toh(cap->max_recv_wr);
	uint32_t send_sge = le32toh(cap->max_send_sge);
	uint32_t recv_sge = le32toh(cap->max_recv_sge);
	uint32_t inline_data = le32toh(cap->max_inline_data);

	if (send_wr > max_wr || recv_wr > max_wr)
		return rnic_why(ctx, "%u send and %u receive requests: %u is the limit",
				send_wr, recv_wr, max_wr);
	if (send_sge > RNIC_MAX_SGE || recv_sge > RNIC_MAX_SGE)
		return rnic_why(ctx, "%u and %u scatter/gather elements: %u is the limit",
				send_sge, recv_sge, RNIC_MAX_SGE);
	if (inline_data > VIRTIO_RDMA_INLINE_SIZE)
		return rnic_why(ctx, "%u bytes of inline data: %u is the limit",
				inline_data, VIRTIO_RDMA_INLINE_SIZE);
	return NULL;
}

static const char *qp_check_type(uint8_t type, bool direct)
{
	const unsigned int types = QP_TYPES | (direct ? QP_TYPES_DIRECT : 0);

	if (type >= ARRAY_SIZE(qp_services) || !(types & 1u << type))
		return "QP type not supported";
	return NULL;
}

static const char *qp_check_tgt(const struct qp_table *qps,
				const struct virtio_rdma_qp_direct *direct,
				struct qp_plan *plan)
{
	*plan = (struct qp_plan) {
		.xrcd = xrcd_get(qps->xrcds, le32toh(direct->xrcd)),
	};
	return plan->xrcd ? NULL : "unknown XRC domain";
}

/* Only what receives frames can take tags out of them. */
static bool qp_may_strip(uint8_t type)
{
	return type == VIRTIO_IB_QPT_RAW_PACKET || type == VIRTIO_IB_QPT_WQ;
}

static uint8_t qp_flags(uint8_t type)
{
	return qp_may_strip(type) ?
	       VIRTIO_IB_QP_FAST_REG | VIRTIO_IB_QP_CVLAN_STRIP : VIRTIO_IB_QP_FAST_REG;
}

static const char *qp_check(const struct qp_table *qps,
			    const struct virtio_rdma_cmd_create_qp *req,
			    const struct qp_ring *ring, struct qp_plan *plan)
{
	const char *why = qp_check_type(req->qp_type, ring);

	if (why)
		return why;
	if (req->qp_type == VIRTIO_IB_QPT_XRC_TGT)
		return qp_check_tgt(qps, ring->direct, plan);
	*plan = (struct qp_plan) {
		.pd = pd_get(qps->pds, le32toh(req->pdn)),
		.send_cq = cq_get(qps->cqs, le32toh(req->send_cqn)),
		.recv_cq = cq_get(qps->cqs, le32toh(req->recv_cqn)),
		.send_wr = le32toh(req->cap.max_send_wr),
		.recv_wr = le32toh(req->cap.max_recv_wr),
	};
	if (req->qp_type == VIRTIO_IB_QPT_XRC_INI)
		plan->recv_cq = plan->send_cq;
	if (req->qp_type == VIRTIO_IB_QPT_WQ)
		plan->send_cq = plan->recv_cq;
	if (!qps->ctx->limits.rfc && req->flags & ~qp_flags(req->qp_type))
		return "unknown flags";
	if (!plan->pd)
		return "unknown protection domain";
	if (!plan->send_cq || !plan->recv_cq)
		return "unknown completion queue";
	if (plan->send_cq->error || plan->recv_cq->error)
		return "completion queue in error";
	if (ring && (!plan->send_cq->direct || !plan->recv_cq->direct))
		return "a direct QP completes to direct CQs only";
	if (ring && req->qp_type == VIRTIO_IB_QPT_GSI)
		return "GSI has virtqueues";
	return qp_check_cap(qps->ctx, &req->cap,
			    ring ? RNIC_DIRECT_WR_MAX : qps->ctx->limits.queue_size);
}

/* An SRQ that QPs are created with, not one that messages name. */
static struct srq *qp_srq(const struct qp_table *qps,
			  const struct virtio_rdma_qp_direct *direct)
{
	return srq_of_xrcd(qps->srqs, NULL, le32toh(direct->srq));
}

static const char *qp_check_srq(const struct qp_table *qps,
				const struct virtio_rdma_qp_direct *direct)
{
	if (direct->flags & ~VIRTIO_RDMA_QP_SRQ)
		return "unknown flags";
	if (!(direct->flags & VIRTIO_RDMA_QP_SRQ))
		return NULL;
	if (direct->recv_depth)
		return "both a receive ring and an SRQ";
	return qp_srq(qps, direct) ? NULL : "unknown SRQ";
}

/* It receives for others, and has no memory. */
static const char *qp_check_direct_tgt(const struct virtio_rdma_qp_direct *direct)
{
	const struct virtio_rdma_qp_direct bare = {
		.form = VIRTIO_RDMA_QP_FORM_DIRECT,
		.xrcd = direct->xrcd,
	};

	return memcmp(direct, &bare, sizeof(bare)) ?
	       "an XRC_TGT QP has no queues" : NULL;
}

/* The other queue of a QP that has only one of its own; NULL, or why it cannot be. */
static const char *qp_check_one_sided(uint8_t type,
				      const struct virtio_rdma_qp_direct *direct)
{
	if (type == VIRTIO_IB_QPT_XRC_INI && (direct->flags || direct->recv_depth))
		return "an XRC_INI QP has no receive queue";
	if (type == VIRTIO_IB_QPT_WQ && (direct->flags || direct->send_depth ||
					 !direct->recv_depth))
		return "a work queue has a receive ring, and nothing else";
	return NULL;
}

const char *qp_check_direct(const struct qp_table *qps, uint8_t type,
			    const struct virtio_rdma_qp_direct *direct)
{
	const struct doorbell *doorbell = doorbell_get(qps->doorbells,
						       le32toh(direct->doorbell));
	const char *why;
	struct block block;

	if (direct->form != VIRTIO_RDMA_QP_FORM_DIRECT)
		return "unknown form";
	if (type == VIRTIO_IB_QPT_XRC_TGT)
		return qp_check_direct_tgt(direct);
	why = qp_check_one_sided(type, direct);
	if (why)
		return why;
	if ((!direct->send_depth && type != VIRTIO_IB_QPT_WQ) ||
	    !pages_fit_ring(le32toh(direct->send_depth), direct->send_shift,
			    le32toh(direct->send_pages)))
		return "send ring of a wrong size";
	if (!pages_fit_ring(le32toh(direct->recv_depth), direct->recv_shift,
			    le32toh(direct->recv_pages)))
		return "receive ring of a wrong size";
	if (!doorbell)
		return "unknown doorbell page";
	if (!doorbell_has(doorbell, le32toh(direct->bit)))
		return "doorbell bit out of range or in use";
	why = qp_check_srq(qps, direct);
	if (why)
		return why;
	return block_init(&block, qps->ctx, le64toh(direct->control),
			  VIRTIO_RDMA_CONTROL_SIZE);
}

static bool qp_queues_fit(const struct qp_table *qps, uint32_t qpn,
			  const struct qp_plan *plan)
{
	const struct virtq *sq = qps->sq_vq[qpn], *rq = qps->rq_vq[qpn];

	return sq && rq && sq->num >= plan->send_wr && rq->num >= plan->recv_wr;
}

static bool qp_number_fits(const struct qp_table *qps, uint32_t qpn,
			   const struct qp_plan *plan)
{
	return !qps->qp[qpn] && qp_queues_fit(qps, qpn, plan);
}

static uint32_t qps_that_fit(const struct qp_table *qps,
			     const struct qp_plan *plan)
{
	uint32_t i, n = 0;

	for (i = QPN_FIRST; i < qps->ctx->limits.qps; i++)
		n += qp_queues_fit(qps, i, plan);
	return n;
}

/*
 * Ordinary numbers are used in turn, so that a late packet for a destroyed QP does not
 * reach a new one.
 */
static const char *qp_take_number(struct qp_table *qps, uint8_t type,
				  const struct qp_plan *plan, uint32_t *qpn)
{
	uint32_t i, n = qps->ctx->limits.qps - QPN_FIRST;

	if (type == VIRTIO_IB_QPT_GSI) {
		*qpn = VIRTIO_NET_ROCE_QPN_GSI;
		return qp_number_fits(qps, *qpn, plan) ? NULL :
		       "GSI exists, or has no virtqueues for it";
	}
	for (i = 0; i < n; i++) {
		*qpn = QPN_FIRST + (qps->next - QPN_FIRST + i) % n;
		if (!qp_number_fits(qps, *qpn, plan))
			continue;
		qps->next = QPN_FIRST + (*qpn - QPN_FIRST + 1) % n;
		return NULL;
	}
	return rnic_why(qps->ctx,
			"all %u QPs with virtqueues of %u and %u entries are in use",
			qps_that_fit(qps, plan), plan->send_wr, plan->recv_wr);
}

static const char *qp_take_direct_number(struct qp_table *qps, uint32_t *qpn)
{
	const uint32_t first = qps->ctx->limits.qps, n = qps->ctx->limits.direct_qps;
	uint32_t i;

	for (i = 0; i < n; i++) {
		*qpn = first + (qps->next_direct - first + i) % n;
		if (qp_get(qps, *qpn))
			continue;
		if (!qp_table_grow(qps, *qpn))
			return "out of memory";
		qps->next_direct = first + (*qpn - first + 1) % n;
		return NULL;
	}
	return rnic_why(qps->ctx, "all %u direct QPs are in use", n);
}

/* Both queues are in the pages, one after the other. */
static void qp_use_ring(struct qp *qp, const struct qp_ring *ring)
{
	const struct virtio_rdma_qp_direct *direct = ring->direct;
	struct srq *srq = qp->rq.srq;
	const struct wq common = {
		.ctx = qp->ctx,
		.direct = true,
		.pages = &qp->pages,
		.block = qp->xrcd ? NULL : &qp->block,
		.doorbell = qp->doorbell,
		.bit = qp->bit,
	};

	qp->pages = *ring->pages;
	*ring->pages = (struct pages) {};
	qp->sq = common;
	qp->sq.shift = direct->send_shift;
	qp->sq.depth = le32toh(direct->send_depth);
	qp->rq = common;
	qp->rq.recv = true;
	qp->rq.srq = srq;
	qp->rq.shift = direct->recv_shift;
	qp->rq.depth = le32toh(direct->recv_depth);
	qp->rq.first = (uint64_t)le32toh(direct->send_pages) * RNIC_PAGE_SIZE;
}

static void qp_use_virtqs(struct qp *qp)
{
	qp->sq = (struct wq) {
		.ctx = qp->ctx,
		.vq = qp->table->sq_vq[qp->qpn],
	};
	qp->rq = (struct wq) {
		.ctx = qp->ctx,
		.recv = true,
		.vq = qp->table->rq_vq[qp->qpn],
	};
}

/* An SRQ of the domain goes, with the request of it that the QP has at hand. */
static void qp_forget_srq(void *arg, const struct srq *srq)
{
	struct qp *qp = arg;

	if (qp->rq.srq != srq)
		return;
	qp->resp.has_rwqe = false;
	qp->rq.srq = NULL;
}

static void qp_use_xrcd(struct qp *qp, struct xrcd *xrcd)
{
	qp->xrcd = xrcd;
	qp->xrcd_user = (struct xrcd_user) { .forget = qp_forget_srq, .arg = qp };
	xrcd_attach(xrcd, &qp->xrcd_user);
}

/* Everything of a direct QP that can fail; returns why, or NULL. */
static const char *qp_claim(struct qp *qp, const struct virtio_rdma_qp_direct *direct)
{
	struct doorbell *doorbell = doorbell_get(qp->table->doorbells,
						 le32toh(direct->doorbell));
	const char *why = block_init(&qp->block, qp->ctx, le64toh(direct->control),
				     VIRTIO_RDMA_CONTROL_SIZE);
	struct srq *srq = NULL;

	if (why)
		return why;
	if (direct->flags & VIRTIO_RDMA_QP_SRQ) {
		srq = qp_srq(qp->table, direct);
		if (!srq)
			return "unknown SRQ";
	}
	qp->bit = le32toh(direct->bit);
	if (!doorbell_use(doorbell, qp->bit, qp->qpn))
		return "out of memory";
	qp->doorbell = doorbell;
	qp->rq.srq = srq;
	if (srq)
		srq->refs++;
	return NULL;
}

/* Room for a frame comes with the first QP that sends any. */
static bool qp_make_frame(struct qp_table *qps, uint8_t type)
{
	if (type == VIRTIO_IB_QPT_RAW_PACKET && !qps->frame)
		qps->frame = malloc(RAW_FRAME_MAX);
	return type != VIRTIO_IB_QPT_RAW_PACKET || qps->frame;
}

static struct qp *qp_alloc(struct qp_table *qps, uint32_t qpn,
			   const struct virtio_rdma_cmd_create_qp *req)
{
	struct qp *qp = calloc(1, sizeof(*qp));
	unsigned int i;

	if (!qp)
		return NULL;
	qp->table = qps;
	qp->ctx = qps->ctx;
	requester_free(&qp->req, qp->ctx);
	qp->end = qps->end;
	qp->mrs = qps->mrs;
	for (i = 0; i < QP_EVENTS; i++)
		qp->event[i] = (struct event_mark) {
			.type = VIRTIO_RDMA_EVENT_QP_FATAL + i,
			.number = qpn,
		};
	if (req->qp_type == VIRTIO_IB_QPT_WQ)
		qp->event[0].type = VIRTIO_RDMA_EVENT_WQ_FATAL;
	qp->last_wqe = (struct event_mark) {
		.type = VIRTIO_RDMA_EVENT_QP_LAST_WQE,
		.number = qpn,
	};
	qp->qpn = qpn;
	qp->serial = ++qps->serial;
	qp->type = req->qp_type;
	qp->service = qp_services[req->qp_type];
	qp->state = VIRTIO_IB_QPS_RESET;
	qp->sig_all = req->sq_sig_all;
	qp->fast_reg = !qps->ctx->limits.rfc &&
		       req->flags & VIRTIO_IB_QP_FAST_REG;
	qp->strip = qp_may_strip(req->qp_type) &&
		    req->flags & VIRTIO_IB_QP_CVLAN_STRIP;
	qp->cap = req->cap;
	qp->cap.padding = 0;
	qp->max_send_sge = le32toh(req->cap.max_send_sge);
	qp->max_recv_sge = le32toh(req->cap.max_recv_sge);
	return qp;
}

static void qp_wake(void *arg)
{
	qp_activate(arg);
}

static void qp_cq_failed(void *arg)
{
	qp_fail(arg);
}

static void qp_use_cq(struct qp *qp, struct cq *cq, struct cq_user *user, bool recv)
{
	*user = (struct cq_user) {
		.fail = qp_cq_failed,
		.arg = qp,
		.recv = recv,
	};
	cq_attach(cq, user);
}

static void qp_use_plan(struct qp *qp, const struct qp_plan *plan)
{
	qp->pd = plan->pd;
	qp->send_cq = plan->send_cq;
	qp->recv_cq = plan->recv_cq;
	qp->pd->refs++;
	qp_use_cq(qp, qp->send_cq, &qp->send_user, false);
	qp_use_cq(qp, qp->recv_cq, &qp->recv_user, true);
}

static void qp_leave_all(struct qp *qp)
{
	if (qp->xrcd) {
		srq_let_go(&qp->xrcd_user);
		xrcd_detach(&qp->xrcd_user);
		return;
	}
	if (!qp->send_cq)
		return;
	if (qp->rq.srq)
		qp->rq.srq->refs--;
	cq_detach(qp->recv_cq, &qp->recv_user);
	cq_detach(qp->send_cq, &qp->send_user);
	qp->pd->refs--;
}

const char *qp_create(struct qp_table *qps,
		      const struct virtio_rdma_cmd_create_qp *req,
		      const struct qp_ring *ring, uint32_t *qpn)
{
	struct qp_plan plan;
	const char *why;
	struct qp *qp;

	why = qp_check(qps, req, ring, &plan);
	if (!why)
		why = ring ? qp_take_direct_number(qps, qpn) :
			     qp_take_number(qps, req->qp_type, &plan, qpn);
	if (why)
		return why;
	qp = qp_make_frame(qps, req->qp_type) ? qp_alloc(qps, *qpn, req) : NULL;
	if (!qp)
		return "out of memory";
	if (plan.xrcd)
		qp_use_xrcd(qp, plan.xrcd);
	why = ring && !plan.xrcd ? qp_claim(qp, ring->direct) : NULL;
	if (why) {
		free(qp);
		return why;
	}
	if (ring)
		qp_use_ring(qp, ring);
	else
		qp_use_virtqs(qp);
	qp->req.max = wq_size(&qp->sq) < REQUESTER_MAX ? wq_size(&qp->sq) :
							 REQUESTER_MAX;

	if (!plan.xrcd)
		qp_use_plan(qp, &plan);
	qps->qp[*qpn] = qp;
	flow_init(&qp->flow, qp->ctx->loop, qp_wake, qp);
	requester_reset(qp, 0);
	responder_reset(qp, 0);
	wq_restart(&qp->sq);
	wq_restart(&qp->rq);
	/* Receive requests are taken when a message comes, not before. */
	wq_want_kick(&qp->rq, false);
	wq_want_kick(&qp->sq, true);
	return NULL;
}

/* It has neither queues nor states. */
static void qp_make_rx_hash(struct qp *qp)
{
	qp->sq.direct = true;
	qp->rq.direct = true;
	qp->sq.ctx = qp->ctx;
	qp->rq.ctx = qp->ctx;
	qp->state = VIRTIO_IB_QPS_RTR;
}

const char *qp_create_rx_hash(struct qp_table *qps,
			      const struct virtio_rdma_cmd_create_rx_hash_qp *req,
			      uint32_t *qpn)
{
	const struct virtio_rdma_cmd_create_qp bare = { .qp_type = VIRTIO_IB_QPT_RX_HASH };
	struct rss *rss = NULL;
	const char *why;
	struct qp *qp;

	why = rss_new(qps->tables, req, &rss);
	if (!why)
		why = qp_take_direct_number(qps, qpn);
	if (why) {
		rss_free(rss);
		return why;
	}
	qp = qp_alloc(qps, *qpn, &bare);
	if (!qp) {
		rss_free(rss);
		return "out of memory";
	}
	qp->rss = rss;
	qp_make_rx_hash(qp);
	qps->qp[*qpn] = qp;
	flow_init(&qp->flow, qp->ctx->loop, qp_wake, qp);
	requester_reset(qp, 0);
	responder_reset(qp, 0);
	return NULL;
}

static const char *qp_revive_number(const struct qp_table *qps, uint32_t qpn, uint8_t type)
{
	const struct rnic_limits *limits = &qps->ctx->limits;
	const bool direct = qpn >= limits->qps, first = qpn == VIRTIO_NET_ROCE_QPN_GSI;
	const bool gsi = type == VIRTIO_IB_QPT_GSI;

	if (qpn >= limits->qps + limits->direct_qps || qpn < VIRTIO_NET_ROCE_QPN_GSI)
		return "no such number";
	if (qp_get(qps, qpn))
		return "a QP occurs twice";
	if (first != gsi)
		return "GSI has number 1, and nothing else has";
	return type == VIRTIO_IB_QPT_RX_HASH && direct ? NULL : qp_check_type(type, direct);
}

/* An XRC_TGT QP has a domain and nothing else. */
static const char *qp_revive_tgt(struct qp *qp, const struct qp_names *names)
{
	struct srq *srq = names->srq ? srq_get(qp->table->srqs, names->srq) : NULL;
	struct xrcd *xrcd = xrcd_get(qp->table->xrcds, names->xrcd);

	if (!xrcd)
		return "no such XRC domain";
	if (names->srq && (!srq || srq->xrcd != xrcd))
		return "no such XRC SRQ";
	qp_use_xrcd(qp, xrcd);
	qp->rq.srq = srq;
	if (srq)
		srq_hold(srq, &qp->xrcd_user);
	return NULL;
}

static const char *qp_revive_doorbell(struct qp *qp, const struct qp_names *names)
{
	struct doorbell *doorbell = doorbell_get(qp->table->doorbells, names->doorbell);

	if (!doorbell)
		return "no such doorbell page";
	if (!doorbell_has(doorbell, names->bit))
		return "doorbell bit out of range or in use";
	if (!doorbell_enter(doorbell, names->bit, qp->qpn))
		return "out of memory";
	if (names->held)
		doorbell_load_held(doorbell, names->bit);
	qp->doorbell = doorbell;
	qp->bit = names->bit;
	return NULL;
}

static const char *qp_revive_parts(struct qp *qp, const struct qp_names *names, bool direct)
{
	struct srq *srq = names->srq ? srq_of_xrcd(qp->table->srqs, NULL, names->srq) : NULL;
	struct cq *send_cq = cq_get(qp->table->cqs, names->send_cqn);
	struct cq *recv_cq = cq_get(qp->table->cqs, names->recv_cqn);
	struct pd *pd = pd_get(qp->table->pds, names->pdn);
	const char *why = NULL;

	if (!pd)
		return "no such protection domain";
	if (!send_cq || !recv_cq)
		return "no such completion queue";
	if (direct && (!send_cq->direct || !recv_cq->direct))
		return "a direct QP completes to direct CQs only";
	if (names->srq && (!srq || !direct))
		return "no such SRQ, or not for this QP";
	if (direct)
		why = qp_revive_doorbell(qp, names);
	if (why)
		return why;
	qp->rq.srq = srq;
	if (srq)
		srq->refs++;
	qp->pd = pd;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	pd->refs++;
	qp->send_user = (struct cq_user) { .fail = qp_cq_failed, .arg = qp };
	qp->recv_user = (struct cq_user) { .fail = qp_cq_failed, .arg = qp, .recv = true };
	cq_attach_again(send_cq, &qp->send_user, names->send_failed);
	cq_attach_again(recv_cq, &qp->recv_user, names->recv_failed);
	return NULL;
}

struct qp *qp_revive(struct qp_table *qps, uint32_t qpn, const struct qp_names *names,
		     const char **why)
{
	const bool direct = qpn >= qps->ctx->limits.qps;
	const uint64_t serial = qps->serial;
	struct qp *qp;

	*why = qp_revive_number(qps, qpn, names->req.qp_type);
	if (!*why)
		*why = qp_check_cap(qps->ctx, &names->req.cap, direct ? RNIC_DIRECT_WR_MAX :
				    qps->ctx->limits.queue_size);
	if (*why)
		return NULL;
	qp = qp_table_grow(qps, qpn) && qp_make_frame(qps, names->req.qp_type) ?
	     qp_alloc(qps, qpn, &names->req) : NULL;
	*why = "out of memory";
	if (!qp)
		return NULL;
	qps->serial = serial;
	if (qp->type == VIRTIO_IB_QPT_RX_HASH)
		*why = NULL;	/* rss_io() has the rest. */
	else if (qp->type == VIRTIO_IB_QPT_XRC_TGT)
		*why = qp_revive_tgt(qp, names);
	else
		*why = qp_revive_parts(qp, names, direct);
	if (*why) {
		free(qp);
		return NULL;
	}
	qps->qp[qpn] = qp;
	flow_init(&qp->flow, qp->ctx->loop, qp_wake, qp);
	requester_reset(qp, 0);
	responder_reset(qp, 0);
	fabric_touch(qp->end->fabric);
	return qp;
}

static void qp_free(struct qp *qp)
{
	qp_offload_stop(qp, false);
	fabric_touch(qp->end->fabric);
	requester_stop(&qp->req, qp->ctx->loop);
	flow_stop(&qp->flow);
	qp_deactivate(qp);
	if (qp->type == VIRTIO_IB_QPT_UD)
		mcast_detach_all(qp->table->mcast, qp->qpn);
	while (!rule_drop(qp->table->rules, &qp->rules))
		;
	qp->table->qp[qp->qpn] = NULL;
	qp_return_recv(qp);
	wq_restart(&qp->sq);
	wq_restart(&qp->rq);
	qp_drop_events(qp);
	event_drop(qp->table->events, &qp->last_wqe);
	if (qp->doorbell)
		doorbell_unuse(qp->doorbell, qp->bit);
	pages_free(&qp->pages);
	qp_leave_all(qp);
	rss_free(qp->rss);
	requester_free(&qp->req, qp->ctx);
	early_drop(&qp->req.early, qp->ctx, EARLY_ALL);
	early_drop(&qp->resp.early, qp->ctx, EARLY_ALL);
	early_drop(&qp->resp.sent, qp->ctx, EARLY_ALL);
	responder_free(&qp->resp);
	responder_forget(&qp->resp);
	free(qp);
}

const char *qp_destroy(struct qp_table *qps, uint32_t qpn, bool *more)
{
	struct qp *qp = qp_get(qps, qpn);

	if (!qp)
		return "unknown QP";
	if (qp->tables)
		return "an indirection table names the work queue";
	*more = !rule_drop(qps->rules, &qp->rules);
	if (!*more)
		qp_free(qp);
	return NULL;
}

bool qp_table_reset(struct qp_table *qps, struct portion *portion)
{
	struct qp *qp;

	while (portion_next(portion, qps->size)) {
		qp = qps->qp[portion->at++];
		if (!qp)
			continue;
		qp_free(qp);
		portion->left -= PORTION_OBJECT;
	}
	qps->next = QPN_FIRST;
	qps->next_direct = qps->ctx->limits.qps;
	return portion->at >= qps->size;
}

const char *qp_attach_mcast(struct qp_table *qps, uint32_t qpn,
			    const uint8_t *gid)
{
	const struct qp *qp = qp_get(qps, qpn);

	if (!qp || qp->type != VIRTIO_IB_QPT_UD)
		return "no such UD QP";
	return mcast_attach(qps->mcast, qpn, gid);
}

const char *qp_create_flow(struct qp_table *qps,
			   const struct virtio_rdma_cmd_create_flow_long *req,
			   uint32_t *flow)
{
	struct qp *qp = qp_get(qps, le32toh(req->flow.qpn));

	if (!qp || !qp_takes_rules(qp))
		return "no such RAW_PACKET or RX_HASH QP";
	return rule_create(qps->rules, &qp->rules, req, flow);
}

/* The RFC does not require that slots are given back.  That is an extension of ours. */
static void qp_drop_slots(struct qp *qp)
{
	struct requester *req = &qp->req;
	bool back = !qp->ctx->limits.rfc;

	if (wq_ready(&qp->sq)) {
		for (; back && req->una != req->prod; req->una++)
			if (!requester_wqe(req, req->una)->posted)
				wq_give(&qp->sq, requester_wqe(req, req->una)->head);
		wq_drain(&qp->sq, back);
	}
	qp_return_recv(qp);
	if (wq_ready(&qp->rq)) {
		if (back && qp->resp.has_rwqe)
			wq_give(&qp->rq, qp->resp.rwqe.head);
		wq_drain(&qp->rq, back);
	}
}

void qp_reset(struct qp *qp)
{
	qp_offload_stop(qp, false);
	if (qp->state != VIRTIO_IB_QPS_RESET)
		qp_drop_slots(qp);
	qp_drop_events(qp);
	flow_reset(&qp->flow);
	if (!qp->xrcd) {
		cq_forget(qp->send_cq, &qp->send_user);
		cq_forget(qp->recv_cq, &qp->recv_user);
	}
	requester_reset(qp, 0);
	responder_reset(qp, 0);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->mtu = 0;
	qp->route = (struct route) {};
	qp->epoch = 0;
	qp->no_wqe = false;
	event_drop(qp->table->events, &qp->last_wqe);
	qp->state = VIRTIO_IB_QPS_RESET;
	if (wq_ready(&qp->rq))
		wq_want_kick(&qp->rq, false);
	qp->rq.kick = false;
}
