/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The requester of connected QPs.
 */
#ifndef DEVICE_RDMA_QP_REQUESTER_H
#define DEVICE_RDMA_QP_REQUESTER_H

#include "rdma/qp/budget.h"
#include "rdma/qp/qp.h"

/** requester_reset() - forget all, begin at @psn */
void requester_reset(struct qp *qp, uint32_t psn);

/** requester_run() - send what may be sent; true if there was any */
bool requester_run(struct qp *qp, struct budget *budget);

/** requester_rx() - a response has arrived (RC) */
void requester_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

/** requester_moved() - requests and answers may have got lost: go back, at no retry's cost */
void requester_moved(struct qp *qp);

/** requester_peer_ready() - the peer has a receive request: if that is waited for, go on */
void requester_peer_ready(struct qp *qp);

/** requester_can_fetch() - would it take another request from the send queue? */
bool requester_can_fetch(const struct qp *qp);

/** requester_draining() - is a request under way that was begun? */
bool requester_draining(const struct qp *qp);

#endif /* DEVICE_RDMA_QP_REQUESTER_H */
