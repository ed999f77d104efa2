// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The answers of a responder: ACKs and NAKs.
 *
 * An error that ends the QP makes a NAK due and sets "dead": nothing more is
 * taken, and the QP goes to ERR when the NAK has left.
 */
#include "rdma/qp/responder_answer.h"

static const uint8_t resp_naks[] = {
	[RESP_INV_REQ] = AETH_NAK_INV_REQ,
	[RESP_ACCESS] = AETH_NAK_ACCESS,
	[RESP_OP_ERR] = AETH_NAK_OP_ERR,
};

void responder_send_aeth(struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct pkt pkt = {
		.opcode = PKT_ACK,
		.psn = psn & PSN_MASK,
		.npsn = 1,
		.syndrome = syndrome,
		.msn = qp->resp.msn,
	};

	qp_send(qp, &pkt);
}

/*
 * The PSN of an ACK: the last one that was accepted, but not that of a READ, an atomic operation
 * or the like.  Soft-RoCE takes an ACK with such a PSN for the answer, and completes a request
 * whose data got lost.  An ACK of a later request makes it ask again.
 */
static uint32_t responder_ack_psn(const struct responder *resp)
{
	return resp->epsn - 1 - resp->by_data;
}

/*
 * The ACK is for a peer that has sent nothing else, the NAK for one that has: it goes back to
 * there.  Either is nothing to a peer that waits for no answer.
 */
static void responder_tell(struct qp *qp)
{
	qp->resp.tell = false;
	responder_send_aeth(qp, AETH_ACK | AETH_UNLIMITED, responder_ack_psn(&qp->resp));
	responder_send_aeth(qp, AETH_NAK_PSN, qp->resp.epsn);
}

void responder_answer(struct qp *qp)
{
	struct responder *resp = &qp->resp;
	uint8_t nak = resp->nak;
	bool ack = resp->ack_due;

	if (resp->reads)
		return;
	resp->nak = 0;
	resp->ack_due = false;
	if (resp->tell)
		responder_tell(qp);
	/* A NAK acknowledges all before it, too. */
	if (nak)
		responder_send_aeth(qp, nak, resp->nak_psn);
	else if (ack)
		responder_send_aeth(qp, AETH_ACK | AETH_UNLIMITED, responder_ack_psn(resp));
	if (!resp->dead)
		return;
	qp_fail(qp);
	if (resp->event)
		qp_report(qp, resp->event);
	resp->event = 0;
}

void responder_nak(struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	qp->resp.nak = syndrome;
	qp->resp.nak_psn = psn;
}

void responder_refuse_again(struct qp *qp, enum resp_result result, uint32_t psn)
{
	qp_count(qp, VIRTIO_RDMA_CNT_REFUSED);
	responder_send_aeth(qp, resp_naks[result], psn);
}

static const uint8_t resp_events[] = {
	[RESP_INV_REQ] = VIRTIO_RDMA_EVENT_QP_REQ_ERR,
	[RESP_ACCESS] = VIRTIO_RDMA_EVENT_QP_ACCESS_ERR,
	[RESP_OP_ERR] = 0,
};

void responder_refuse(struct qp *qp, enum resp_result result, uint32_t psn)
{
	if (!qp->resp.dead)
		qp->resp.event = resp_events[result];
	qp->resp.dead = true;
	qp_count(qp, VIRTIO_RDMA_CNT_REFUSED);
	responder_nak(qp, resp_naks[result], psn);
}
