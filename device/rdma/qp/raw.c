// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Whole Ethernet frames: both halves of RAW_PACKET QPs.
 *
 * A send request is a frame, which leaves by the function's port as one of its
 * Ethernet does: the switch looks at its addresses, faults and capture act on it.  It
 * is copied first, so that what is looked at is what is sent.  The request is complete
 * when the frame was sent; nobody says whether it has arrived.
 *
 * Flow rules (object/rule.c) say which frames a QP receives.  One that finds no receive
 * request, or too short a one, is dropped: otherwise anyone could fail the QP.  Rules see a
 * frame with its tag, also if the QP gets it without.
 *
 * Checksums are made of what is sent, and looked at before a frame is copied.  A guest that
 * changes its frame meanwhile deceives only about a frame that it could have sent anyway.
 */
#include <endian.h>

#include "packet/csum.h"
#include "packet/tso.h"
#include "rdma/qp/qp_queues.h"
#include "rdma/qp/raw.h"

#define RAW_HEADER	14u
#define RAW_TAG		4u

/* Where the tag is in a frame that has one. */
#define RAW_TAG_AT	12u

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

static uint8_t raw_error(struct wqe *wqe, uint8_t status, uint8_t vendor_err)
{
	wqe->vendor_err = vendor_err;
	return status;
}

/* The longest frame that the port takes, which may have a VLAN tag. */
static uint64_t raw_frame_max(const struct qp *qp)
{
	const uint64_t max = (uint64_t)qp->end->mtu(qp->end) + RAW_HEADER + RAW_TAG;

	return max < RAW_FRAME_MAX ? max : RAW_FRAME_MAX;
}

/* The work of the switch counts, too: a frame for all costs as many copies. */
static void raw_transmit(struct qp *qp, void *frame, uint32_t len, struct budget *budget)
{
	const struct pkt pkt = { .npsn = 1, .len = len };
	uint64_t work;

	flow_sent(&qp->flow, FLOW_ACKED, &pkt);
	qp_count_sent(qp, len);
	work = qp->end->send_frame(qp->end, frame, len);
	budget_take(budget, work > len ? work : len);
}

/* Copies the payload; false if it is not where the request says. */
static bool raw_gather(struct qp *qp, struct wqe *wqe, uint8_t *to)
{
	struct sg src, dst;

	if (wqe->inlined)
		sg_init_flat(&src, wqe->data);
	else if (!sg_init(&src, qp->mrs, qp->pd, 0, wqe->sge, wqe->num_sge, 0,
			  wqe->length))
		return false;
	sg_init_flat(&dst, to);
	sg_copy(&dst, &src, wqe->length);
	return true;
}

/*
 * A stream.  The headers of a frame are written in front of its payload, over that of the
 * frame before, which was sent.  The frames of a request are sent in one go, as the switch
 * cuts those of Ethernet.
 */
static void raw_send_frames(struct qp *qp, const struct tso *tso, const struct wqe *wqe,
			    uint8_t *payload, struct budget *budget)
{
	uint32_t off, len;
	unsigned int i;
	uint8_t *frame;

	for (i = 0, off = 0; off < wqe->length; i++, off += len) {
		len = wqe->length - off < wqe->mss ? wqe->length - off : wqe->mss;
		frame = payload + off - tso->at.len;
		tso_segment(tso, frame, i, off, len, off + len == wqe->length);
		raw_transmit(qp, frame, tso->at.len + len, budget);
	}
}

/* Returns &enum virtio_ib_wc_status. */
static uint8_t raw_send_tso(struct qp *qp, struct wqe *wqe, struct budget *budget)
{
	uint8_t *payload = qp->table->frame + TSO_HEADER_MAX;
	struct tso tso;

	if (!wqe->mss || !tso_init(&tso, wqe_header(wqe), wqe->header_len))
		return raw_error(wqe, VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_TSO);
	if (!wqe->length || wqe->length > VIRTIO_RDMA_TSO_MAX ||
	    wqe->length > (uint32_t)wqe->mss * VIRTIO_RDMA_TSO_SEGMENTS ||
	    tso.at.len + (wqe->length < wqe->mss ? wqe->length : wqe->mss) > raw_frame_max(qp))
		return raw_error(wqe, VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);
	if (!raw_gather(qp, wqe, payload))
		return raw_error(wqe, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);
	raw_send_frames(qp, &tso, wqe, payload, budget);
	return VIRTIO_IB_WC_SUCCESS;
}

_Static_assert(TSO_HEADER_MAX == VIRTIO_RDMA_TSO_HEADER, "headers of another size");
_Static_assert(TSO_HEADER_MAX + VIRTIO_RDMA_TSO_MAX <= RAW_FRAME_MAX, "no room for a stream");

/* Returns &enum virtio_ib_wc_status. */
static uint8_t raw_send(struct qp *qp, struct wqe *wqe, struct budget *budget)
{
	if (wqe->opcode == VIRTIO_IB_WR_TSO)
		return raw_send_tso(qp, wqe, budget);
	if (wqe->length < RAW_HEADER || wqe->length > raw_frame_max(qp))
		return raw_error(wqe, VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);
	if (!raw_gather(qp, wqe, qp->table->frame))
		return raw_error(wqe, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);
	if (wqe->ip_csum)
		csum_fill(qp->table->frame, wqe->length);
	raw_transmit(qp, qp->table->frame, wqe->length, budget);
	return VIRTIO_IB_WC_SUCCESS;
}

bool raw_run(struct qp *qp, struct budget *budget)
{
	struct wqe *wqe;
	uint8_t status;
	bool worked = false;

	while (budget_left(budget) && qp->state == VIRTIO_IB_QPS_RTS &&
	       flow_ready(&qp->flow, FLOW_ACKED)) {
		wqe = qp_take_send(qp);
		if (!wqe)
			break;
		status = wqe->status;
		if (!status)
			status = raw_send(qp, wqe, budget);
		if (status) {
			budget_take(budget, 0);
			qp_fail_send(qp, status);
		} else {
			qp_complete_send(qp, status);
		}
		worked = true;
	}
	return worked;
}

/* ------------------------------------------------------------------------- */
/* Receiving                                                                 */
/* ------------------------------------------------------------------------- */

/* A copy costs as much as so many bytes for each piece. */
#define RAW_PIECE	512

/* Is there a receive request that the frame fits into? */
static bool raw_take(struct qp *qp, size_t len)
{
	if (!qp_receives(qp) || !qp_usable(qp))
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
	return qp->resp.rwqe.length >= len;
}

static void raw_copy(struct sg *dst, const struct iovec *iov, size_t off, size_t len)
{
	struct sg src;
	size_t part;

	for (; len; iov++) {
		if (off >= iov->iov_len) {
			off -= iov->iov_len;
			continue;
		}
		part = iov->iov_len - off < len ? iov->iov_len - off : len;
		sg_init_flat(&src, (uint8_t *)iov->iov_base + off);
		sg_copy(dst, &src, part);
		len -= part;
		off = 0;
	}
}

/* The tag to take out of a frame goes to the completion; returns its bytes. */
static size_t raw_strip(const struct qp *qp, const struct raw_frame *frame,
			struct virtio_rdma_cq_req *wc)
{
	const struct virtio_rdma_flow_match *match = &frame->key->match;

	if (!qp->strip || !(match->layers & htole32(VIRTIO_RDMA_FLOW_VLAN)))
		return 0;
	wc->vlan = htole16(be16toh(match->vlan_tag));
	wc->wc_flags |= htole32(VIRTIO_IB_WC_WITH_VLAN);
	wc->byte_len = htole32(frame->len - RAW_TAG);
	return RAW_TAG;
}

/* Without @tag bytes of a tag.  Returns &enum virtio_ib_wc_status. */
static uint8_t raw_place(struct qp *qp, const struct raw_frame *frame, size_t tag)
{
	const struct rwqe *rwqe = &qp->resp.rwqe;
	size_t off = frame->off, len = frame->len;
	struct sg dst;

	if (!sg_init(&dst, qp->mrs, qp_recv_pd(qp), VIRTIO_IB_ACCESS_LOCAL_WRITE,
		     rwqe->sge, rwqe->num_sge, 0, len - tag))
		return VIRTIO_IB_WC_LOC_PROT_ERR;
	if (tag) {
		raw_copy(&dst, frame->iov, off, RAW_TAG_AT);
		off += RAW_TAG_AT + tag;
		len -= RAW_TAG_AT + tag;
	}
	raw_copy(&dst, frame->iov, off, len);
	return VIRTIO_IB_WC_SUCCESS;
}

void raw_rx(struct qp *qp, const struct raw_frame *frame, uint32_t tag)
{
	const size_t len = frame->len;
	struct virtio_rdma_cq_req wc = {
		.opcode = VIRTIO_IB_WC_RECV,
		.byte_len = htole32(len),
		.src_qp = htole32(tag),
	};
	const size_t strip = raw_strip(qp, frame, &wc);

	virtq_charge(1 + len / RAW_PIECE);
	if (!raw_take(qp, len - strip)) {
		qp_count(qp, VIRTIO_RDMA_CNT_RCVD_DROPPED);
		return;
	}
	if (csum_is_right(frame->iov, frame->off, len))
		wc.wc_flags |= htole32(VIRTIO_IB_WC_IP_CSUM_OK);
	wc.status = raw_place(qp, frame, strip);
	qp_complete_recv(qp, &wc, false);
	if (wc.status) {
		qp_fail(qp);
		return;
	}
	qp_count_received(qp, len);
	rnic_count_received(qp->ctx, len);
}
