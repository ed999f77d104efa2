/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Direct queues of a guest of struct front: a CQ, an SRQ, QPs.  A copy of what they share may
 * have a CQ or an SRQ of its own, and shares the rest.
 */
#ifndef DEVICE_TESTS_FRONT_DIRECT_H
#define DEVICE_TESTS_FRONT_DIRECT_H

#include "tests/lib/front.h"

/* Requests of a queue, and completions of a CQ. */
#define FD_DEPTH	64u
#define FD_CQE		128u

/**
 * struct front_direct - what the direct QPs of a guest share
 * @front:	guest
 * @pdn:	protection domain
 * @cqn:	CQ
 * @cq:		its ring
 * @cq_control:	its control block
 * @consumer:	completions taken
 * @armings:	how often it was armed
 * @doorbell:	handle of the doorbell page
 * @page:	the page
 * @bits:	of it that are in use
 * @srqn:	handle of the SRQ
 * @srq:	its ring
 * @srq_control: its control block
 * @posted:	requests of the SRQ
 * @xrcd:	XRC domain, if the SRQ is of one
 */
struct front_direct {
	struct front *front;
	uint32_t pdn;
	uint32_t cqn;
	uint8_t *cq;
	struct virtio_rdma_cq_control *cq_control;
	uint32_t consumer;
	uint32_t armings;
	uint32_t doorbell;
	struct virtio_rdma_doorbell_page *page;
	uint32_t bits;
	uint32_t srqn;
	uint8_t *srq;
	struct virtio_rdma_srq_control *srq_control;
	uint32_t posted;
	uint32_t xrcd;
};

/**
 * struct front_dqp - a direct QP, which receives from the SRQ
 * @of:		what it shares
 * @qp:		as others see it
 * @bit:	its bit of the doorbell page
 * @send:	send ring
 * @control:	control block
 * @posted:	send requests
 */
struct front_dqp {
	struct front_direct *of;
	struct front_qp qp;
	uint32_t bit;
	uint8_t *send;
	struct virtio_rdma_qp_control *control;
	uint32_t posted;
};

/** front_direct_open() - make all but QPs */
void front_direct_open(struct front_direct *of, struct front *front, uint32_t pdn);

/** front_direct_own_cq() - make a CQ */
void front_direct_own_cq(struct front_direct *of);

/** front_direct_own_srq() - make an SRQ */
void front_direct_own_srq(struct front_direct *of);

/** front_direct_own_xrc() - make an XRC domain, and an SRQ in it */
void front_direct_own_xrc(struct front_direct *of);

/** front_dqp_open() - make an RC QP */
void front_dqp_open(struct front_dqp *qp, struct front_direct *of);

/** front_dqp_open_type() - make a QP of any type; one of XRC_TGT has no queues */
void front_dqp_open_type(struct front_dqp *qp, struct front_direct *of, uint8_t type);

/** front_direct_recv() - post a receive request to the SRQ; @cookie comes back with it */
void front_direct_recv(struct front_direct *of, struct virtio_rdma_sge to, uint32_t cookie);

/** front_dqp_post() - post a send request, and ring */
void front_dqp_post(struct front_dqp *qp, const struct virtio_rdma_swqe *req);

/** front_dqp_send() - post a SEND of @from, and ring */
void front_dqp_send(struct front_dqp *qp, struct virtio_rdma_sge from);

/** front_direct_poll() - take a completion; false if there is none */
bool front_direct_poll(struct front_direct *of, struct virtio_rdma_cqe *cqe);

/** front_direct_arm() - ask for an event with the next completion; look for one behind it */
void front_direct_arm(struct front_direct *of);

#endif /* DEVICE_TESTS_FRONT_DIRECT_H */
