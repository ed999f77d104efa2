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

/**
 * responder_moved() - requests and answers of both sides may have got lost
 * @qp:		QP of a service that is acknowledged, which goes on now
 *
 * The peer is told what has arrived here, once READs before it are answered.  So it does not
 * wait for its timeout.
 */
void responder_moved(struct qp *qp);

/** responder_rx() - a request has arrived */
void responder_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

/**
 * responder_hold() - from now on ACKs may wait for responder_release()
 * @qps:	QPs of a NIC
 *
 * No QP may be destroyed in between.
 */
void responder_hold(struct qp_table *qps);

/** responder_release() - send the ACKs that wait */
void responder_release(struct qp_table *qps);

#endif /* DEVICE_RDMA_QP_RESPONDER_H */
