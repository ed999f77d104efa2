/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs at work: polling, flushing, doorbells, packets that arrive.
 */
#ifndef DEVICE_RDMA_QP_QP_RUN_H
#define DEVICE_RDMA_QP_QP_RUN_H

#include "rdma/qp/budget.h"
#include "rdma/qp/qp.h"

/**
 * qp_poll() - do some of the work that is due
 * @qp:		QP
 * @budget:	how much
 *
 * Return: true if there was any.
 */
bool qp_poll(struct qp *qp, struct budget *budget);

/**
 * qp_doorbells_on() - ask for the doorbells of the queues that have a use for one
 * @qp:		QP
 *
 * Return: true if there is work for which no doorbell will come.
 */
bool qp_doorbells_on(struct qp *qp);

/** qp_doorbells_off() - ask not to ring while the QP is being polled */
void qp_doorbells_off(struct qp *qp);

/**
 * qp_receive() - a packet has arrived
 * @qp:		QP that it names
 * @op:		its opcode
 * @pkt:	packet
 *
 * Return: false if the packet is not for this QP.
 */
bool qp_receive(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

#endif /* DEVICE_RDMA_QP_QP_RUN_H */
