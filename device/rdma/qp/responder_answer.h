/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The outcome of a request at the responder, and its answer.
 */
#ifndef DEVICE_RDMA_QP_RESPONDER_ANSWER_H
#define DEVICE_RDMA_QP_RESPONDER_ANSWER_H

#include "rdma/qp/qp_queues.h"

/* The outcome of a request; also says how an RC responder answers. */
enum resp_result {
	RESP_OK,
	RESP_RNR,	/* no receive request: try again */
	RESP_INV_REQ,	/* the requester broke a rule */
	RESP_ACCESS,	/* key, bounds or rights of an RDMA operation */
	RESP_OP_ERR,	/* a fault of this side, unknown to the requester */
	RESP_GONE,	/* a repetition that nobody waits for */
};

/* Protection domain of the keys that the peer names, with the XRC SRQ if any; or NULL. */
static inline const struct pd *responder_pd(const struct qp *qp, uint32_t srqn)
{
	const struct srq *srq;

	if (!qp->xrcd)
		return qp->pd;
	srq = srq_of_xrcd(qp->table->srqs, qp->xrcd, srqn);
	return srq ? srq->pd : NULL;
}

/** responder_send_aeth() - send an ACK or a NAK now */
void responder_send_aeth(struct qp *qp, uint8_t syndrome, uint32_t psn);

/** responder_nak() - a NAK is due */
void responder_nak(struct qp *qp, uint8_t syndrome, uint32_t psn);

/** responder_answer() - send what is due, unless READs come before it */
void responder_answer(struct qp *qp);

/**
 * responder_refuse() - the request at @psn is the last one that this QP has looked at
 * @qp:		QP
 * @result:	why
 * @psn:	of the request
 *
 * If a receive request has failed, its completion tells of that; else an event does.
 */
void responder_refuse(struct qp *qp, enum resp_result result, uint32_t psn);

/** responder_refuse_again() - refuse a repetition, which does not end the QP */
void responder_refuse_again(struct qp *qp, enum resp_result result, uint32_t psn);

#endif /* DEVICE_RDMA_QP_RESPONDER_ANSWER_H */
