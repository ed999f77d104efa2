// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MODIFY_QP and QUERY_QP.
 *
 * Which transitions there are, and which attributes each must or may bring, is
 * the state table of the InfiniBand specification (chapter 10.3.1 and the
 * modify verb of 11.2.5.2).  Alternate paths, path migration, P_Key index and port
 * are left out, because this device does not have them.
 */
#include <endian.h>

#include "base/util.h"
#include "rdma/qp/offload.h"
#include "rdma/qp/qp_life.h"
#include "rdma/qp/qp_queues.h"
#include "rdma/qp/qp_state.h"
#include "rdma/qp/requester.h"
#include "rdma/qp/responder.h"

#define T(type)		(1 << VIRTIO_IB_QPT_ ## type)
#define T_RC		T(RC)
#define T_UC		T(UC)
#define T_INI		T(XRC_INI)
#define T_TGT		T(XRC_TGT)
#define T_CONN		(T(RC) | T(UC) | T_INI | T_TGT)
#define T_DGRAM		(T(UD) | T(GSI))
#define T_RAW		T(RAW_PACKET)
#define T_WQ		T(WQ)
#define T_ALL		(T_CONN | T_DGRAM | T_RAW)

#define S(state)	VIRTIO_IB_QPS_ ## state
#define A(attr)		VIRTIO_IB_QP_ ## attr

/**
 * struct qp_rule - a legal transition
 * @from:	present state
 * @to:		next state
 * @types:	QP types that it holds for
 * @must:	attributes that must be given
 * @may:	attributes that may be given
 */
struct qp_rule {
	uint8_t from;
	uint8_t to;
	uint16_t types;
	uint32_t must;
	uint32_t may;
};

static const struct qp_rule qp_rules[] = {
	{ S(RESET), S(RESET), T_ALL, 0, 0 },
	{ S(RESET), S(INIT), T_CONN, A(ACCESS_FLAGS), 0 },
	{ S(RESET), S(INIT), T_DGRAM, A(QKEY), 0 },
	{ S(RESET), S(INIT), T_RAW, 0, 0 },

	{ S(INIT), S(RESET), T_ALL, 0, 0 },
	{ S(INIT), S(ERR), T_ALL, 0, 0 },
	{ S(INIT), S(INIT), T_CONN, 0, A(ACCESS_FLAGS) },
	{ S(INIT), S(INIT), T_DGRAM, 0, A(QKEY) },
	{ S(INIT), S(INIT), T_RAW, 0, 0 },
	{ S(INIT), S(RTR), T_RC | T_TGT, A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN) |
		A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER), A(ACCESS_FLAGS) },
	{ S(INIT), S(RTR), T_UC | T_INI, A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN),
		A(ACCESS_FLAGS) },
	{ S(INIT), S(RTR), T_DGRAM, 0, A(QKEY) },
	{ S(INIT), S(RTR), T_RAW, 0, 0 },

	{ S(RTR), S(RESET), T_ALL, 0, 0 },
	{ S(RTR), S(ERR), T_ALL, 0, 0 },
	{ S(RTR), S(RTS), T_RC, A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) |
		A(SQ_PSN) | A(MAX_QP_RD_ATOMIC),
		A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) |
		A(RATE_LIMIT) },
	{ S(RTR), S(RTS), T_INI, A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) |
		A(SQ_PSN) | A(MAX_QP_RD_ATOMIC),
		A(CUR_STATE) | A(ACCESS_FLAGS) | A(RATE_LIMIT) },
	{ S(RTR), S(RTS), T_TGT, A(TIMEOUT) | A(SQ_PSN),
		A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) },
	{ S(RTR), S(RTS), T_UC, A(SQ_PSN), A(CUR_STATE) | A(ACCESS_FLAGS) |
		A(RATE_LIMIT) },
	{ S(RTR), S(RTS), T_DGRAM, A(SQ_PSN), A(CUR_STATE) | A(QKEY) |
		A(RATE_LIMIT) },
	{ S(RTR), S(RTS), T_RAW, 0, A(CUR_STATE) | A(RATE_LIMIT) },

	{ S(RTS), S(RESET), T_ALL, 0, 0 },
	{ S(RTS), S(ERR), T_ALL, 0, 0 },
	{ S(RTS), S(RTS), T_RC, 0,
		A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) |
		A(RATE_LIMIT) },
	{ S(RTS), S(RTS), T_TGT, 0, A(CUR_STATE) | A(ACCESS_FLAGS) |
		A(MIN_RNR_TIMER) },
	{ S(RTS), S(RTS), T_UC | T_INI, 0, A(CUR_STATE) | A(ACCESS_FLAGS) |
		A(RATE_LIMIT) },
	{ S(RTS), S(RTS), T_DGRAM, 0, A(CUR_STATE) | A(QKEY) | A(RATE_LIMIT) },
	{ S(RTS), S(RTS), T_RAW, 0, A(CUR_STATE) | A(RATE_LIMIT) },
	{ S(RTS), S(SQD), T_ALL, 0, 0 },

	{ S(SQD), S(RESET), T_ALL, 0, 0 },
	{ S(SQD), S(ERR), T_ALL, 0, 0 },
	{ S(SQD), S(RTS), T_RC, 0,
		A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) |
		A(RATE_LIMIT) },
	{ S(SQD), S(RTS), T_TGT, 0, A(CUR_STATE) | A(ACCESS_FLAGS) |
		A(MIN_RNR_TIMER) },
	{ S(SQD), S(RTS), T_UC | T_INI, 0, A(CUR_STATE) | A(ACCESS_FLAGS) |
		A(RATE_LIMIT) },
	{ S(SQD), S(RTS), T_DGRAM, 0, A(CUR_STATE) | A(QKEY) | A(RATE_LIMIT) },
	{ S(SQD), S(RTS), T_RAW, 0, A(CUR_STATE) | A(RATE_LIMIT) },
	{ S(SQD), S(SQD), T_RC, 0, A(AV) | A(TIMEOUT) | A(RETRY_CNT) |
		A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC) | A(MAX_DEST_RD_ATOMIC) |
		A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | A(RATE_LIMIT) },
	{ S(SQD), S(SQD), T_INI, 0, A(AV) | A(TIMEOUT) | A(RETRY_CNT) |
		A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC) | A(ACCESS_FLAGS) |
		A(RATE_LIMIT) },
	{ S(SQD), S(SQD), T_TGT, 0, A(AV) | A(TIMEOUT) |
		A(MAX_DEST_RD_ATOMIC) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) },
	{ S(SQD), S(SQD), T_UC, 0, A(AV) | A(ACCESS_FLAGS) | A(RATE_LIMIT) },
	{ S(SQD), S(SQD), T_DGRAM, 0, A(QKEY) | A(RATE_LIMIT) },
	{ S(SQD), S(SQD), T_RAW, 0, A(RATE_LIMIT) },

	{ S(SQE), S(RESET), T_ALL, 0, 0 },
	{ S(SQE), S(ERR), T_ALL, 0, 0 },
	{ S(SQE), S(RTS), T_UC, 0, A(CUR_STATE) | A(ACCESS_FLAGS) },
	{ S(SQE), S(RTS), T_DGRAM, 0, A(CUR_STATE) | A(QKEY) },
	{ S(SQE), S(RTS), T_RAW, 0, A(CUR_STATE) },

	{ S(ERR), S(RESET), T_ALL, 0, 0 },
	{ S(ERR), S(ERR), T_ALL, 0, 0 },

	/* A work queue is ready in RTR.  An RX_HASH QP has one state. */
	{ S(RESET), S(RESET), T_WQ, 0, 0 },
	{ S(RESET), S(RTR), T_WQ, 0, A(CUR_STATE) },
	{ S(RTR), S(RESET), T_WQ, 0, A(CUR_STATE) },
	{ S(RTR), S(RTR), T_WQ, 0, A(CUR_STATE) },
	{ S(RTR), S(ERR), T_WQ, 0, A(CUR_STATE) },
	{ S(ERR), S(RESET), T_WQ, 0, A(CUR_STATE) },
};

static const struct qp_rule *qp_rule(uint8_t from, uint8_t to, uint8_t type)
{
	const struct qp_rule *rule;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(qp_rules); i++) {
		rule = &qp_rules[i];
		if (rule->from == from && rule->to == to &&
		    rule->types & 1 << type)
			return rule;
	}
	return NULL;
}

/* The state part of a request: is this a transition for these attributes? */
static const char *qp_check_rule(const struct qp *qp, uint8_t to, uint32_t mask)
{
	const struct qp_rule *rule = qp_rule(qp->state, to, qp->type);

	if (!rule)
		return "no such transition";
	if (rule->must & ~mask)
		return "an attribute is missing";
	if (mask & ~(rule->must | rule->may | VIRTIO_IB_QP_STATE))
		return "an attribute may not be given here";
	return NULL;
}

/**
 * struct qp_range - bounds of an attribute
 * @attr:	&enum virtio_ib_qp_attr_mask
 * @offset:	of its field in the request
 * @size:	of the field
 * @min:	smallest value
 * @max:	largest value
 * @why:	what is said if it is outside
 */
struct qp_range {
	uint32_t attr;
	uint8_t offset;
	uint8_t size;
	uint32_t min;
	uint32_t max;
	const char *why;
};

#define RANGE(attr, field, min, max, why)				\
	{ VIRTIO_IB_QP_ ## attr,					\
	  offsetof(struct virtio_rdma_cmd_modify_qp, field),		\
	  sizeof(((struct virtio_rdma_cmd_modify_qp *)0)->field),	\
	  min, max, why }

static const struct qp_range qp_ranges[] = {
	RANGE(PATH_MTU, path_mtu, VIRTIO_IB_MTU_256, VIRTIO_IB_MTU_4096,
	      "path MTU out of range"),
	RANGE(MAX_QP_RD_ATOMIC, max_rd_atomic, 0, RNIC_MAX_RD_ATOMIC,
	      "too many outstanding READs"),
	RANGE(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 0, RNIC_MAX_RD_ATOMIC,
	      "too many READs to serve"),
	RANGE(MIN_RNR_TIMER, min_rnr_timer, 0, 31, "RNR timer out of range"),
	RANGE(TIMEOUT, timeout, 0, 31, "ACK timeout out of range"),
	RANGE(RETRY_CNT, retry_cnt, 0, 7, "retry count out of range"),
	RANGE(RNR_RETRY, rnr_retry, 0, 7, "RNR retry count out of range"),
	RANGE(RQ_PSN, rq_psn, 0, PSN_MASK, "PSN out of range"),
	RANGE(SQ_PSN, sq_psn, 0, PSN_MASK, "PSN out of range"),
	RANGE(DEST_QPN, dest_qp_num, 0, PSN_MASK, "QPN out of range"),
};

static uint32_t qp_field(const struct virtio_rdma_cmd_modify_qp *req,
			 const struct qp_range *range)
{
	const uint8_t *p = (const uint8_t *)req + range->offset;

	return range->size == 1 ? *p : le32toh(*(const __le32 *)p);
}

static const char *qp_check_ranges(const struct virtio_rdma_cmd_modify_qp *req,
				   uint32_t mask)
{
	const struct qp_range *range;
	uint32_t value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(qp_ranges); i++) {
		range = &qp_ranges[i];
		if (!(mask & range->attr))
			continue;
		value = qp_field(req, range);
		if (value < range->min || value > range->max)
			return range->why;
	}
	return NULL;
}

static void qp_set_attr(struct qp *qp,
			const struct virtio_rdma_cmd_modify_qp *req,
			uint32_t mask)
{
	struct qp_attr *attr = &qp->attr;
	const struct gid *gid;

	qp->head.size = 0;
	if (mask & VIRTIO_IB_QP_ACCESS_FLAGS)
		attr->access = le32toh(req->qp_access_flags);
	if (mask & VIRTIO_IB_QP_QKEY)
		attr->qkey = le32toh(req->qkey);
	if (mask & VIRTIO_IB_QP_AV) {
		attr->ah_attr = req->ah_attr;
		av_decode(&req->ah_attr, &attr->av);
		gid = gid_get(qp->table->gids, req->ah_attr.grh.sgid_index);
		memcpy(attr->sgid, gid->raw, GID_SIZE);
		attr->vlan = gid->vlan;
		qp->epoch = 0;	/* look the route up again */
	}
	if (mask & VIRTIO_IB_QP_PATH_MTU) {
		attr->path_mtu = req->path_mtu;
		qp->mtu = 128u << req->path_mtu;
		flow_set_mtu(&qp->flow, qp->mtu);
	}
	if (mask & VIRTIO_IB_QP_TIMEOUT)
		attr->timeout = req->timeout;
	if (mask & VIRTIO_IB_QP_RETRY_CNT)
		attr->retry_cnt = req->retry_cnt;
	if (mask & VIRTIO_IB_QP_RNR_RETRY)
		attr->rnr_retry = req->rnr_retry;
	if (mask & VIRTIO_IB_QP_MAX_QP_RD_ATOMIC)
		attr->max_rd_atomic = req->max_rd_atomic;
	if (mask & VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC)
		attr->max_dest_rd_atomic = req->max_dest_rd_atomic;
	if (mask & VIRTIO_IB_QP_MIN_RNR_TIMER)
		attr->min_rnr_timer = req->min_rnr_timer;
	if (mask & VIRTIO_IB_QP_RATE_LIMIT) {
		attr->rate_limit = le32toh(req->rate_limit);
		attr->max_burst = le32toh(req->max_burst);
		flow_set_rate(&qp->flow, attr->rate_limit, attr->max_burst);
	}
	if (mask & VIRTIO_IB_QP_DEST_QPN)
		attr->dest_qpn = le32toh(req->dest_qp_num);
	if (mask & VIRTIO_IB_QP_RQ_PSN)
		responder_reset(qp, le32toh(req->rq_psn));
	if (mask & VIRTIO_IB_QP_SQ_PSN)
		requester_reset(qp, le32toh(req->sq_psn));
}

static void qp_enter(struct qp *qp, uint8_t to)
{
	switch (to) {
	case VIRTIO_IB_QPS_RESET:
		qp_reset(qp);
		break;
	case VIRTIO_IB_QPS_ERR:
		qp_offload_stop(qp, false);
		qp_fail(qp);
		break;
	default:
		if (to != qp->state)
			qp->req.draining = to == VIRTIO_IB_QPS_SQD;
		qp->state = to;
	}
	qp_activate(qp);
}

const char *qp_modify(struct qp_table *qps,
		      const struct virtio_rdma_cmd_modify_qp *req)
{
	struct qp *qp = qp_get(qps, le32toh(req->qpn));
	uint32_t mask = le32toh(req->attr_mask);
	const char *why;
	uint8_t to;

	if (!qp)
		return "unknown QP";
	if (mask & VIRTIO_IB_QP_CUR_STATE && req->cur_qp_state != qp->state)
		return "QP is not in the state that cur_qp_state says";
	to = mask & VIRTIO_IB_QP_STATE ? req->qp_state : qp->state;
	why = qp_check_rule(qp, to, mask);
	if (!why)
		why = qp_check_ranges(req, mask);
	if (!why && mask & VIRTIO_IB_QP_ACCESS_FLAGS &&
	    le32toh(req->qp_access_flags) & ~rnic_access_flags(qps->ctx))
		why = "unknown access flags";
	if (!why && mask & VIRTIO_IB_QP_AV)
		why = av_check(qps->ctx, &req->ah_attr);
	if (!why && mask & VIRTIO_IB_QP_AV &&
	    !gid_get(qps->gids, req->ah_attr.grh.sgid_index))
		why = "source GID index holds no GID";
	if (why)
		return why;

	fabric_touch(qp->end->fabric);
	qp_set_attr(qp, req, mask);
	qp_enter(qp, to);
	return NULL;
}

const char *qp_query(const struct qp_table *qps, uint32_t qpn,
		     struct virtio_rdma_ack_query_qp *rsp)
{
	const struct qp *qp = qp_get(qps, qpn);
	const struct qp_attr *attr;

	if (!qp)
		return "unknown QP";
	attr = &qp->attr;
	*rsp = (struct virtio_rdma_ack_query_qp) {
		.qp_state = qp->state,
		.path_mtu = attr->path_mtu,
		.sq_draining = qp->state == VIRTIO_IB_QPS_SQD &&
			       requester_draining(qp),
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.qkey = htole32(attr->qkey),
		.rq_psn = htole32(qp->resp.epsn),
		.sq_psn = htole32(qp->req.snd_pos & PSN_MASK),
		.dest_qp_num = htole32(attr->dest_qpn),
		.qp_access_flags = htole32(attr->access),
		.rate_limit = htole32(attr->rate_limit),
		.max_burst = htole32(attr->max_burst),
		.cap = qp->cap,
		.ah_attr = attr->ah_attr,
	};
	return NULL;
}

void qp_parted_all(struct qp_table *qps)
{
	struct qp *qp;
	uint32_t i;

	for (i = 0; i < qps->size; i++) {
		qp = qps->qp[i];
		if (!qp || !qp_connects(qp) || !qp_receives(qp))
			continue;
		qp_report(qp, VIRTIO_RDMA_EVENT_QP_FATAL);
		qp_fail(qp);
	}
}
