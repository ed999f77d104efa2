/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queues of a QP, and the way to its peer: what requester, responder and
 * datagrams stand on.
 */
#ifndef DEVICE_RDMA_QP_QP_QUEUES_H
#define DEVICE_RDMA_QP_QP_QUEUES_H

#include "rdma/qp/qp.h"

/**
 * qp_fail() - go to ERR
 * @qp:		QP
 *
 * Its requests are flushed by qp_poll(), never from here.
 */
void qp_fail(struct qp *qp);

/** qp_take_send() - request to send from, taken from the send queue, or NULL */
struct wqe *qp_take_send(struct qp *qp);

/** qp_complete_send() - the oldest send request is completed: give its slot back */
void qp_complete_send(struct qp *qp, uint8_t status);

/** qp_fail_send() - the oldest send request has failed, and the QP with it */
void qp_fail_send(struct qp *qp, uint8_t status);

/** enum qp_take - outcome of qp_take_recv() */
enum qp_take {
	QP_TAKE_OK,
	QP_TAKE_EMPTY,
	QP_TAKE_BAD,
};

/**
 * qp_take_recv() - have a receive request at hand
 * @qp:		QP
 *
 * Return: QP_TAKE_OK if @qp->resp.rwqe is one, QP_TAKE_EMPTY if the receive
 *	   queue is empty, QP_TAKE_BAD if its next entry is malformed (and was
 *	   completed so) or the virtqueue is broken.
 */
enum qp_take qp_take_recv(struct qp *qp);

/** qp_pop_recv() - take the next receive request, well-formed or not; as virtq_pop() */
int qp_pop_recv(struct qp *qp);

/** qp_return_recv() - the receive request at hand, if any, goes back to the SRQ, if any */
void qp_return_recv(struct qp *qp);

/**
 * qp_complete_recv() - give back the receive request taken, and complete it
 * @qp:		QP that has one
 * @wc:		completion; @wr_id and @qp_num are filled in
 * @solicited:	the sender set the solicited event
 */
void qp_complete_recv(struct qp *qp, struct virtio_rdma_cq_req *wc,
		      bool solicited);

/**
 * qp_send() - send a packet to the peer of a connected QP
 * @qp:		QP
 * @pkt:	packet; opcode's service, unless it is a CNP, QPNs and addresses are
 *		filled in
 *
 * Without a way to the peer the packet is lost, as it would be on a wire.
 * Context: the answer may be delivered before this returns.
 */
void qp_send(struct qp *qp, struct pkt *pkt);

/** qp_route() - where the peer of a connected QP is */
const struct route *qp_route(struct qp *qp);

/** qp_seg_max() - largest payload of a packet to the peer */
uint32_t qp_seg_max(struct qp *qp);

#endif /* DEVICE_RDMA_QP_QP_QUEUES_H */
