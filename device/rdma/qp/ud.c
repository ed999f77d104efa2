// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams: both halves of UD and GSI QPs.
 *
 * A datagram is complete when it was sent; if no QP wants it, it is lost.  The
 * receiver finds the sender's network header in the first 40 bytes of its
 * buffer: an IPv6 header, or 20 unused bytes and an IPv4 header.
 */
#include <endian.h>
#include <string.h>

#include "packet/roce.h"
#include "rdma/qp/qp_queues.h"
#include "rdma/qp/ud.h"

/* A request with this bit in its Q_Key means the QP's own. */
#define UD_QKEY_OWN	0x80000000u

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

static uint8_t ud_error(struct wqe *wqe, uint8_t status, uint8_t vendor_err)
{
	wqe->vendor_err = vendor_err;
	return status;
}

/*
 * From here on a datagram gets lost rather than fails.  A group has no entry in
 * any GID table, so that its route is the wire.  The wire leads to everyone but
 * the QPs of this NIC: they get the datagram here, and it counts against the
 * budget of the sender.
 */
static void ud_transmit(struct qp *qp, const struct ah *ah, struct pkt *pkt,
			struct budget *budget)
{
	struct fabric_end *end = qp->end;
	const struct gid *gid = gid_get(qp->table->gids, ah->sgid_index);
	struct route route;
	unsigned int i;

	if (!gid) {
		qp_count(qp, VIRTIO_RDMA_CNT_SENT_DROPPED);
		return;
	}
	pkt->av = &ah->av;
	pkt->sgid = gid->raw;
	pkt->vlan = gid->vlan;
	route = fabric_route(end, pkt->dgid, pkt->vlan);
	flow_sent(&qp->flow, FLOW_ACKED, pkt);
	qp_count_sent(qp, pkt->len);
	if (mcast_find(qp->table->mcast, pkt->dest_qpn, pkt->dgid))
		for (i = end->deliver(end, pkt); i; i--)
			budget_take(budget, pkt->len);
	route.transport->send(end, route.to, pkt);
}

/* Returns &enum virtio_ib_wc_status. */
static uint8_t ud_send(struct qp *qp, struct wqe *wqe, struct budget *budget)
{
	const struct ah *ah = ah_get(qp->table->ahs, qp->pd, wqe->ah);
	struct pkt pkt = {
		.opcode = PKT_OPCODE(PKT_UD, pkt_code(PKT_KIND_SEND, true, true,
						      wqe->extra)),
		.solicited = wqe->solicited,
		.psn = qp->req.snd_pos++ & PSN_MASK,
		.npsn = 1,
		.dest_qpn = wqe->remote_qpn & PSN_MASK,
		.src_qpn = qp->qpn,
		.qkey = wqe->remote_qkey & UD_QKEY_OWN ? qp->attr.qkey :
							 wqe->remote_qkey,
		.imm = wqe->imm,
		.from = qp->end,
		.len = wqe->length,
	};
	struct sg sg;

	if (!ah)
		return ud_error(wqe, VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_AH);
	pkt.dgid = ah->dgid;
	/* In memory it would fit, but not on the way of another peer. */
	if (wqe->length > RNIC_UD_MTU || roce_ip_size(&pkt) > qp->end->mtu(qp->end))
		return ud_error(wqe, VIRTIO_IB_WC_LOC_LEN_ERR,
				VENDOR_ERR_LENGTH);
	if (wqe->inlined)
		sg_init_flat(&sg, wqe->data);
	else if (!sg_init(&sg, qp->mrs, qp->pd, 0, wqe->sge, wqe->num_sge, 0,
			  wqe->length))
		return ud_error(wqe, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);

	pkt.payload = wqe->length ? &sg : NULL;
	ud_transmit(qp, ah, &pkt, budget);
	return VIRTIO_IB_WC_SUCCESS;
}

bool ud_run(struct qp *qp, struct budget *budget)
{
	struct wqe *wqe;
	uint8_t status;
	bool worked = false;

	while (budget_left(budget) && qp->state == VIRTIO_IB_QPS_RTS &&
	       flow_ready(&qp->flow, FLOW_ACKED)) {
		wqe = qp_take_send(qp);
		if (!wqe)
			break;
		budget_take(budget, wqe->length);
		status = wqe->status;
		if (!status)
			status = ud_send(qp, wqe, budget);
		if (status)
			qp_fail_send(qp, status);
		else
			qp_complete_send(qp, status);
		worked = true;
	}
	return worked;
}

/* ------------------------------------------------------------------------- */
/* Receiving                                                                 */
/* ------------------------------------------------------------------------- */

/* Put a datagram where it goes; returns &enum virtio_ib_wc_status. */
static uint8_t ud_place(struct qp *qp, const struct pkt *pkt)
{
	const struct rwqe *rwqe = &qp->resp.rwqe;
	uint8_t grh[ROCE_GRH_SIZE];
	struct sg dst, src;

	if (!sg_init(&dst, qp->mrs, qp_recv_pd(qp), VIRTIO_IB_ACCESS_LOCAL_WRITE,
		     rwqe->sge, rwqe->num_sge, 0, ROCE_GRH_SIZE + pkt->len))
		return VIRTIO_IB_WC_LOC_PROT_ERR;
	if (pkt->grh)
		memcpy(grh, pkt->grh, sizeof(grh));
	else
		roce_grh(pkt, grh);
	sg_init_flat(&src, grh);
	sg_copy(&dst, &src, ROCE_GRH_SIZE);
	sg_copy(&dst, pkt->payload, pkt->len);
	return VIRTIO_IB_WC_SUCCESS;
}

bool ud_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt)
{
	struct virtio_rdma_cq_req wc = {
		.opcode = VIRTIO_IB_WC_RECV,
		.byte_len = htole32(ROCE_GRH_SIZE + pkt->len),
		.imm_data = op->imm ? pkt->imm : 0,
		.src_qp = htole32(pkt->src_qpn),
		.wc_flags = htole32(VIRTIO_IB_WC_GRH |
				    (gid_is_ipv4(pkt->dgid) ?
					     VIRTIO_IB_WC_IPV4 :
					     VIRTIO_IB_WC_IPV6) |
				    (op->imm ? VIRTIO_IB_WC_WITH_IMM : 0)),
	};

	if (pkt->vlan) {
		wc.vlan = htole16(pkt->vlan & VIRTIO_RDMA_GID_VLAN_MASK);
		wc.wc_flags |= htole32(VIRTIO_IB_WC_WITH_VLAN);
	}
	if (pkt->qkey != qp->attr.qkey || !pkt_fits(op, pkt, RNIC_UD_MTU))
		return false;
	switch (qp_take_recv(qp)) {
	case QP_TAKE_EMPTY:
		return false;
	case QP_TAKE_BAD:
		qp_fail(qp);
		return false;
	case QP_TAKE_OK:
		break;
	}
	/*
	 * Drop it and keep the receive request for the next one.  Otherwise
	 * anyone with the Q_Key could fail the QP, and all know that of GSI.
	 */
	if (qp->resp.rwqe.length < ROCE_GRH_SIZE + pkt->len)
		return false;
	wc.status = ud_place(qp, pkt);
	qp_complete_recv(qp, &wc, pkt->solicited);
	if (wc.status)
		qp_fail(qp);
	return true;
}
