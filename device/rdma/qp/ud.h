/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Datagrams: both halves of UD and GSI QPs.
 */
#ifndef DEVICE_RDMA_QP_UD_H
#define DEVICE_RDMA_QP_UD_H

#include "rdma/qp/budget.h"
#include "rdma/qp/qp.h"

/** ud_run() - send what may be sent; true if there was any */
bool ud_run(struct qp *qp, struct budget *budget);

/** ud_rx() - a datagram has arrived; false if it is not wanted */
bool ud_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

#endif /* DEVICE_RDMA_QP_UD_H */
