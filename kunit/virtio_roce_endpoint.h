/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A consumer in the kernel: a PD, a CQ and a QP of a function that acts as a device.
 */
#ifndef VIRTIO_ROCE_ENDPOINT_H
#define VIRTIO_ROCE_ENDPOINT_H

#include <rdma/ib_verbs.h>

#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64

/* A wr_id of a consumer. */
#define POINTER		0xffff888001020300ULL

/* The bit that those of receive requests have on the wire. */
#define RECV		BIT_ULL(16)

/**
 * struct endpoint - what a consumer in the kernel has
 * @mock: function
 * @ibdev: device
 * @pd: protection domain
 * @cq: completion queue
 * @qp: queue pair
 * @cqn: its number in the device
 * @events: calls of the completion handler
 */
struct endpoint {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	u32 cqn;
	int events;
};

/** endpoint_bad_completions() - completions that the driver dropped */
u64 endpoint_bad_completions(struct endpoint *ep);

/**
 * endpoint_add_qp() - make another RC QP on the CQ of a consumer
 * @ep: consumer
 * @depth: requests that each of its queues shall hold
 */
struct ib_qp *endpoint_add_qp(struct endpoint *ep, u32 depth);

/**
 * endpoint_open() - make a consumer, which ends with the test
 * @mock: function
 * @cqe: completions that its CQ shall hold
 * @depth: requests that each queue of its QP shall hold
 */
struct endpoint *endpoint_open(struct mock *mock, int cqe, u32 depth);

/**
 * endpoint_close() - destroy what a consumer has
 * @data: the consumer
 */
void endpoint_close(void *data);

/** endpoint_done() - end a consumer and its device, of which nothing may be left */
void endpoint_done(struct endpoint *ep);

/** endpoint_to_rts() - connect a QP as a communication manager would, but without real addresses */
void endpoint_to_rts(struct kunit *test, struct ib_qp *qp);

/** endpoint_send() - post a request to the send queue; returns what ib_post_send() does */
int endpoint_send(struct ib_qp *qp, u64 wr_id, enum ib_wr_opcode opcode,
		  int flags, struct ib_sge *sge, int num_sge);

/** endpoint_recv() - post a receive request; returns what ib_post_recv() does */
int endpoint_recv(struct ib_qp *qp, u64 wr_id, struct ib_sge *sge, int num_sge);

/** endpoint_set_used() - the device has used all up to @idx */
void endpoint_set_used(struct mock_vq *vq, u16 idx);

/** endpoint_wire_id() - the cookie on the wire of the request at @pos */
u64 endpoint_wire_id(struct endpoint *ep, struct mock_vq *vq, u16 pos);

/** endpoint_device_completes() - the device writes a completion, of a cookie that may be wrong */
void endpoint_device_completes(struct endpoint *ep, u32 qpn, u64 wr_id, u8 opcode,
			       u8 status, u32 len);

/** endpoint_complete_send() - the device completes the request at @pos of the send queue */
void endpoint_complete_send(struct endpoint *ep, struct ib_qp *qp, u16 pos, u8 opcode);

/** endpoint_post_recv() - post a receive request without elements */
int endpoint_post_recv(struct ib_qp *qp, u64 wr_id);

/** endpoint_expect_dropped() - a completion of @qpn and @wr_id is not reported */
void endpoint_expect_dropped(struct endpoint *ep, u32 qpn, u64 wr_id);

/** endpoint_becomes_available() - wait until the driver has made all up to @idx available */
bool endpoint_becomes_available(const struct mock_vq *vq, u16 idx);

/** endpoint_polled() - wait until the CQ was polled up to @idx */
bool endpoint_polled(struct mock *mock, u32 cqn, u16 idx);

#endif /* VIRTIO_ROCE_ENDPOINT_H */
