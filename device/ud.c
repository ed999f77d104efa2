// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams: both halves of UD and GSI QPs.
 *
 * A datagram is complete when it was sent, and lost if nobody wants it.  The
 * receiver finds the sender's network header in the first 40 bytes of its
 * buffer: an IPv6 header, or 20 unused bytes and an IPv4 header.
 */
#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "qp.h"

#define UD_GRH_SIZE	40
#define UD_IPV4_OFFSET	20

/* BTH, DETH and ICRC, and the UDP header before them. */
#define UD_HEADERS	(12 + 8 + 4 + 8)

/* A request with this bit in its Q_Key means the QP's own. */
#define UD_QKEY_OWN	0x80000000u

/**
 * struct ud_ipv4 - IPv4 header
 * @version_ihl: version and header length
 * @tos:	traffic class
 * @len:	bytes with header
 * @id:		identification
 * @frag:	flags and fragment offset
 * @ttl:	hop limit
 * @protocol:	what follows
 * @check:	checksum
 * @saddr:	source
 * @daddr:	destination
 */
struct ud_ipv4 {
	uint8_t version_ihl;
	uint8_t tos;
	uint16_t len;
	uint16_t id;
	uint16_t frag;
	uint8_t ttl;
	uint8_t protocol;
	uint16_t check;
	uint8_t saddr[4];
	uint8_t daddr[4];
};

_Static_assert(sizeof(struct ud_ipv4) == UD_GRH_SIZE - UD_IPV4_OFFSET,
	       "struct ud_ipv4 is not what the header is");

/**
 * struct ud_ipv6 - IPv6 header
 * @flow:	version, traffic class, flow label
 * @len:	bytes behind it
 * @next:	what follows
 * @hops:	hop limit
 * @saddr:	source
 * @daddr:	destination
 */
struct ud_ipv6 {
	uint32_t flow;
	uint16_t len;
	uint8_t next;
	uint8_t hops;
	uint8_t saddr[GID_SIZE];
	uint8_t daddr[GID_SIZE];
};

_Static_assert(sizeof(struct ud_ipv6) == UD_GRH_SIZE,
	       "struct ud_ipv6 is not what the header is");

static uint16_t ud_ipv4_check(const struct ud_ipv4 *ip)
{
	uint16_t word[sizeof(*ip) / 2];
	uint32_t sum = 0;
	unsigned int i;

	memcpy(word, ip, sizeof(word));
	for (i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static uint16_t ud_wire_len(const struct pkt *pkt, const struct pkt_op *op)
{
	uint32_t imm = op->imm ? 4 : 0;

	return UD_HEADERS + imm + ((pkt->len + 3) & ~3u);
}

static void ud_grh(const struct pkt *pkt, const struct pkt_op *op, uint8_t *grh)
{
	const struct virtio_rdma_global_route *gr = &pkt->av->grh;
	uint16_t len = ud_wire_len(pkt, op);
	struct ud_ipv4 ip4 = {
		.version_ihl = 0x45,
		.tos = gr->traffic_class,
		.len = htobe16(len + sizeof(ip4)),
		.frag = htobe16(0x4000),
		.ttl = gr->hop_limit,
		.protocol = IPPROTO_UDP,
	};
	struct ud_ipv6 ip6 = {
		.flow = htobe32(6u << 28 | (uint32_t)gr->traffic_class << 20 |
				(le32toh(gr->flow_label) & 0xfffff)),
		.len = htobe16(len),
		.next = IPPROTO_UDP,
		.hops = gr->hop_limit,
	};

	if (gid_is_ipv4(pkt->dgid)) {
		memcpy(ip4.saddr, pkt->sgid + 12, sizeof(ip4.saddr));
		memcpy(ip4.daddr, pkt->dgid + 12, sizeof(ip4.daddr));
		ip4.check = ud_ipv4_check(&ip4);
		memset(grh, 0, UD_IPV4_OFFSET);
		memcpy(grh + UD_IPV4_OFFSET, &ip4, sizeof(ip4));
	} else {
		memcpy(ip6.saddr, pkt->sgid, GID_SIZE);
		memcpy(ip6.daddr, pkt->dgid, GID_SIZE);
		memcpy(grh, &ip6, sizeof(ip6));
	}
}

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

static uint8_t ud_error(struct wqe *wqe, uint8_t status, uint8_t vendor_err)
{
	wqe->vendor_err = vendor_err;
	return status;
}

/* Returns &enum virtio_ib_wc_status. */
static uint8_t ud_send(struct qp *qp, struct wqe *wqe)
{
	const struct ah *ah = ah_get(qp->nic, qp->pd, wqe->ah);
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
		.len = wqe->length,
	};
	struct route route;
	struct sg sg;

	if (!ah)
		return ud_error(wqe, VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_AH);
	if (wqe->length > NIC_UD_MTU)
		return ud_error(wqe, VIRTIO_IB_WC_LOC_LEN_ERR,
				VENDOR_ERR_LENGTH);
	if (wqe->inlined)
		sg_init_flat(&sg, wqe->data);
	else if (!sg_init(&sg, qp->nic, qp->pd, 0, wqe->sge, wqe->num_sge, 0,
			  wqe->length))
		return ud_error(wqe, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);

	pkt.payload = wqe->length ? &sg : NULL;
	pkt.av = &ah->av;
	pkt.dgid = ah->av.grh.dgid;
	pkt.sgid = gid_get(qp->nic, ah->av.grh.sgid_index);
	route = fabric_route(qp->nic->fabric, pkt.dgid);
	if (pkt.sgid && route.xport)
		route.xport->send(qp->nic, route.nic, &pkt);
	return VIRTIO_IB_WC_SUCCESS;
}

bool ud_run(struct qp *qp, struct budget *budget)
{
	struct wqe *wqe;
	uint8_t status;
	bool worked = false;

	while (budget_left(budget) && qp->state == VIRTIO_IB_QPS_RTS) {
		wqe = req_current(qp);
		if (!wqe)
			break;
		budget_take(budget, wqe->length);
		status = wqe->status ? wqe->status : ud_send(qp, wqe);
		if (status)
			req_fail(qp, status);
		else
			req_done(qp, status);
		worked = true;
	}
	return worked;
}

/* ------------------------------------------------------------------------- */
/* Receiving                                                                 */
/* ------------------------------------------------------------------------- */

/* Put a datagram where it goes; returns &enum virtio_ib_wc_status. */
static uint8_t ud_place(struct qp *qp, const struct pkt_op *op,
			const struct pkt *pkt)
{
	const struct rwqe *rwqe = &qp->resp.rwqe;
	uint8_t grh[UD_GRH_SIZE];
	struct sg dst, src;

	if (!sg_init(&dst, qp->nic, qp->pd, VIRTIO_IB_ACCESS_LOCAL_WRITE,
		     rwqe->sge, rwqe->num_sge, 0, UD_GRH_SIZE + pkt->len))
		return VIRTIO_IB_WC_LOC_PROT_ERR;
	ud_grh(pkt, op, grh);
	sg_init_flat(&src, grh);
	sg_copy(&dst, &src, UD_GRH_SIZE);
	sg_copy(&dst, pkt->payload, pkt->len);
	return VIRTIO_IB_WC_SUCCESS;
}

void ud_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt)
{
	struct virtio_rdma_cq_req wc = {
		.opcode = VIRTIO_IB_WC_RECV,
		.byte_len = htole32(UD_GRH_SIZE + pkt->len),
		.imm_data = op->imm ? pkt->imm : 0,
		.src_qp = htole32(pkt->src_qpn),
		.wc_flags = htole32(VIRTIO_IB_WC_GRH |
				    (op->imm ? VIRTIO_IB_WC_WITH_IMM : 0)),
	};

	if (pkt->qkey != qp->attr.qkey || !pkt_fits(op, pkt, NIC_UD_MTU))
		return;
	switch (qp_take_recv(qp)) {
	case QP_TAKE_EMPTY:
		return;
	case QP_TAKE_BAD:
		qp_fail(qp);
		return;
	case QP_TAKE_OK:
		break;
	}
	/*
	 * Dropped, and the receive request waits for the next one: whoever knows
	 * the Q_Key could else fail the QP, and that of GSI is known to all.
	 */
	if (qp->resp.rwqe.length < UD_GRH_SIZE + pkt->len)
		return;
	wc.status = ud_place(qp, op, pkt);
	qp_complete_recv(qp, &wc, pkt->solicited);
	if (wc.status)
		qp_fail(qp);
}
