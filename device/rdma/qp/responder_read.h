/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder of RDMA READ, FLUSH and atomic operations.
 */
#ifndef DEVICE_RDMA_QP_RESPONDER_READ_H
#define DEVICE_RDMA_QP_RESPONDER_READ_H

#include "rdma/qp/budget.h"
#include "rdma/qp/responder_answer.h"

/** responder_read_request() - such a request has arrived, in its turn */
enum resp_result responder_read_request(struct qp *qp, const struct pkt_op *op,
					const struct pkt *pkt);

/**
 * responder_read_again() - a READ is asked for once more, or the rest of one
 * @qp:		QP
 * @op:		its opcode
 * @pkt:	request
 *
 * The network may have repeated the request, or the answer got lost.  A READ that
 * was not answered yet needs nothing more.  A refusal goes to the requester, which
 * looks at it only if it waits for that very READ.  It does not end the QP: a late
 * repetition may name a key that has rightly gone in the meantime.
 */
void responder_read_again(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

/** responder_read_answer() - send a part of the answer to the one at the head of the line */
void responder_read_answer(struct qp *qp, struct budget *budget);

#endif /* DEVICE_RDMA_QP_RESPONDER_READ_H */
