// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The QPs of a NIC as an operator sees them.
 */
#include "base/util.h"
#include "rdma/rnic_priv.h"
#include "rdma/view.h"

static const char *const qp_waits[QP_WAITS] = {
	[QP_WAIT_NONE]		= "-",
	[QP_WAIT_GUEST]		= "guest",
	[QP_WAIT_POLL]		= "poll",
	[QP_WAIT_RECEIVE]	= "peer's receive",
	[QP_WAIT_AGAIN]		= "answer again",
	[QP_WAIT_ANSWER]	= "answer",
};

static const char *const qp_types[] = {
	[VIRTIO_IB_QPT_SMI]	= "SMI",
	[VIRTIO_IB_QPT_GSI]	= "GSI",
	[VIRTIO_IB_QPT_RC]	= "RC",
	[VIRTIO_IB_QPT_UC]	= "UC",
	[VIRTIO_IB_QPT_UD]	= "UD",
	[VIRTIO_IB_QPT_RAW_PACKET] = "RAW_PACKET",
	[VIRTIO_IB_QPT_XRC_INI]	= "XRC_INI",
	[VIRTIO_IB_QPT_XRC_TGT]	= "XRC_TGT",
	[VIRTIO_IB_QPT_WQ]	= "WQ",
	[VIRTIO_IB_QPT_RX_HASH]	= "RX_HASH",
};

static const char *const qp_states[] = {
	[VIRTIO_IB_QPS_RESET]	= "RESET",
	[VIRTIO_IB_QPS_INIT]	= "INIT",
	[VIRTIO_IB_QPS_RTR]	= "RTR",
	[VIRTIO_IB_QPS_RTS]	= "RTS",
	[VIRTIO_IB_QPS_SQD]	= "SQD",
	[VIRTIO_IB_QPS_SQE]	= "SQE",
	[VIRTIO_IB_QPS_ERR]	= "ERR",
};

static const char *view_name(const char *const *names, size_t n, uint8_t number)
{
	return number < n && names[number] ? names[number] : "?";
}

static enum qp_wait view_wait(const struct qp *qp)
{
	const struct requester *req = &qp->req;

	if (!qp_usable(qp))
		return QP_WAIT_GUEST;
	if (qp->send_cq && (qp->send_cq->held_n || qp->recv_cq->held_n))
		return QP_WAIT_POLL;
	if (!qp_sends(qp) || req->una == req->prod)
		return QP_WAIT_NONE;
	if (req->rnr_wait)
		return QP_WAIT_RECEIVE;
	if (req->went_back)
		return QP_WAIT_AGAIN;
	return requester_wqe(req, req->una)->begun ? QP_WAIT_ANSWER : QP_WAIT_NONE;
}

static bool view_has_peer(const struct qp *qp)
{
	return qp_connects(qp) && (qp_receives(qp) || qp->state == VIRTIO_IB_QPS_ERR);
}

static void view_peer(const struct qp *qp, struct qp_view *view)
{
	const struct fabric_end *owner;

	if (!view_has_peer(qp))
		return;
	view->peer_gid = qp->attr.ah_attr.grh.dgid;
	view->peer_qpn = qp->attr.dest_qpn;
	owner = fabric_route(qp->end, view->peer_gid, qp->attr.vlan).owner;
	if (owner)
		view->peer = owner->ctx->name;
}

bool rnic_view_next(const struct rnic *rnic, uint32_t qpn, struct qp_view *view)
{
	const struct qp *qp = NULL;

	while (qpn < rnic->qps.size && !(qp = rnic->qps.qp[qpn]))
		qpn++;
	if (!qp)
		return false;
	*view = (struct qp_view) {
		.qpn = qp->qpn,
		.type = view_name(qp_types, ARRAY_SIZE(qp_types), qp->type),
		.state = view_name(qp_states, ARRAY_SIZE(qp_states), qp->state),
		.waits = qp_waits[view_wait(qp)],
		.peer = "-",
		.requests = qp->req.prod - qp->req.una,
		.counter = qp->counter,
	};
	view_peer(qp, view);
	return true;
}

uint32_t rnic_path_mtu(const struct rnic *rnic)
{
	const struct qp *qp;
	uint32_t i, most = 0;

	for (i = 0; i < rnic->qps.size; i++) {
		qp = qp_get(&rnic->qps, i);
		if (qp && qp_connects(qp) && qp_receives(qp) && qp->mtu > most)
			most = qp->mtu;
	}
	return most;
}
