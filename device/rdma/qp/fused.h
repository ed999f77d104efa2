/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The short way of a message between two QPs of this process.
 */
#ifndef DEVICE_RDMA_QP_FUSED_H
#define DEVICE_RDMA_QP_FUSED_H

#include "rdma/qp/budget.h"
#include "rdma/qp/qp.h"

/* Tests turn it off, to compare both ways. */
extern bool fused_off;

/**
 * fused_run() - carry requests of a QP all the way, as long as nothing is unusual
 * @qp:		connected QP that may send
 * @budget:	what the QP may do
 *
 * What it leaves in the send queue is for requester_run().  For what it takes, memory,
 * completions, states and counters are as if requester and responder had done it.
 *
 * Return: true if a request was carried out.
 */
bool fused_run(struct qp *qp, struct budget *budget);

#endif /* DEVICE_RDMA_QP_FUSED_H */
