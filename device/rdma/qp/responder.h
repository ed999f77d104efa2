/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder of connected QPs.
 */
#ifndef DEVICE_RDMA_QP_RESPONDER_H
#define DEVICE_RDMA_QP_RESPONDER_H

#include "rdma/qp/budget.h"
#include "rdma/qp/qp.h"

/** responder_reset() - forget all, expect @psn */
void responder_reset(struct qp *qp, uint32_t psn);

/** responder_run() - answer READs; true if there was any */
bool responder_run(struct qp *qp, struct budget *budget);

/** responder_rx() - a request has arrived */
void responder_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

#endif /* DEVICE_RDMA_QP_RESPONDER_H */
