/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Whole Ethernet frames: both halves of RAW_PACKET QPs.
 */
#ifndef DEVICE_RDMA_QP_RAW_H
#define DEVICE_RDMA_QP_RAW_H

#include "rdma/qp/budget.h"
#include "rdma/qp/qp.h"

/** raw_run() - send frames of a QP in RTS; true if there were any */
bool raw_run(struct qp *qp, struct budget *budget);

#endif /* DEVICE_RDMA_QP_RAW_H */
