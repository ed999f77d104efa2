/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The driver's side of event queues and direct rings, for the guests of an engine.
 */
#ifndef DEVICE_TESTS_ENGINE_RING_H
#define DEVICE_TESTS_ENGINE_RING_H

#include "tests/lib/engine_guest.h"

/**
 * struct er_page - a doorbell page
 * @guest:	guest that it belongs to
 * @addr:	device address
 * @page:	the page
 * @vq:		number of its doorbell virtqueue
 * @handle:	its handle
 * @rung:	how often the virtqueue was notified
 * @kick:	eventfd that is notified in the place of the device, if it is not 0
 */
struct er_page {
	struct eg_guest *guest;
	uint64_t addr;
	struct virtio_rdma_doorbell_page *page;
	uint16_t vq;
	uint32_t handle;
	unsigned int rung;
	int kick;
};

/**
 * struct er_cq - a CQ with a control block
 * @guest:	guest that it belongs to
 * @req:	how it is created
 * @pages:	device address of each page of a direct CQ
 * @ring:	a direct CQ
 * @control:	its control block
 * @cqn:	its number
 * @consumer:	completions taken
 * @number:	of the last arming
 */
struct er_cq {
	struct eg_guest *guest;
	struct virtio_rdma_cmd_create_cq_long req;
	uint64_t pages[256];
	uint8_t *ring;
	struct virtio_rdma_cq_control *control;
	uint32_t cqn;
	uint32_t consumer;
	uint32_t number;
};

/**
 * struct er_qp - a direct QP
 * @guest:	guest that it belongs to
 * @cq:		where both queues complete
 * @page:	doorbell page
 * @req:	how it is created
 * @direct:	the same
 * @pages:	device address of each page
 * @send:	send ring
 * @recv:	receive ring
 * @control:	control block
 * @qpn:	its number
 * @posted:	send requests
 * @posted_recv: receive requests
 */
struct er_qp {
	struct eg_guest *guest;
	struct er_cq *cq;
	struct er_page *page;
	struct virtio_rdma_cmd_create_qp req;
	struct virtio_rdma_qp_direct direct;
	uint64_t pages[256];
	uint8_t *send;
	uint8_t *recv;
	struct virtio_rdma_qp_control *control;
	uint32_t qpn;
	uint32_t posted;
	uint32_t posted_recv;
};

/**
 * struct er_srq - a shared receive queue
 * @guest:	guest that it belongs to
 * @req:	how it is created
 * @pages:	device address of each page
 * @ring:	the ring
 * @control:	control block
 * @handle:	of the SRQ
 * @posted:	requests
 * @xrc:	it is an XRC SRQ
 * @xrcd:	its XRC domain
 * @cqn:	its CQ
 */
struct er_srq {
	struct eg_guest *guest;
	struct virtio_rdma_cmd_create_srq req;
	bool xrc;
	uint32_t xrcd;
	uint32_t cqn;
	uint64_t pages[256];
	uint8_t *ring;
	struct virtio_rdma_srq_control *control;
	uint32_t handle;
	uint32_t posted;
};

/**
 * struct er_end - one end of a connection of direct QPs
 * @end:	as of RFC QPs; its CQ is not used
 * @page:	doorbell page
 * @cq:		CQ of both queues
 * @qp:		QP
 */
struct er_end {
	struct eg_end end;
	struct er_page page;
	struct er_cq cq;
	struct er_qp qp;
};

/**
 * struct er_pair - two ends, connected with each other
 * @engine:	engine
 * @a:		in guest 1
 * @b:		in guest 2
 */
struct er_pair {
	struct engine *engine;
	struct er_end a;
	struct er_end b;
};

/**
 * struct er_shape - of the rings of a QP
 *
 * What is 0 is a stride of 64, 16 requests, or 64 completions of 32 bytes.  With @srq
 * there is no receive ring.  @flags are those of CREATE_QP.  With @timed completions have
 * 64 bytes and their times.
 */
struct er_shape {
	uint8_t send_shift;
	uint8_t recv_shift;
	uint32_t send_depth;
	uint32_t recv_depth;
	uint32_t cqe;
	uint8_t cqe_shift;
	bool timed;
	bool no_recv;
	const struct er_srq *srq;
	uint8_t flags;
};

/** er_lose_page() - the guest's memory map has all but one page */
void er_lose_page(struct eg_guest *guest, uint64_t page);

/** er_page_init() - ALLOC_DOORBELL with a new page, expected to succeed */
void er_page_init(struct er_page *page, struct eg_guest *guest, uint16_t vq);

/** er_alloc_doorbell() - ALLOC_DOORBELL; returns the ack */
uint8_t er_alloc_doorbell(struct er_page *page);

/** er_free_doorbell() - FREE_DOORBELL; returns the ack */
uint8_t er_free_doorbell(const struct er_page *page);

/** er_cq_init() - memory and request of a CQ; a direct one unless @cqe_shift is 0 */
void er_cq_init(struct er_cq *cq, struct eg_guest *guest, uint32_t cqe,
		uint8_t cqe_shift, uint16_t event_vq);

/** er_create_cq() - CREATE_CQ; returns the ack */
uint8_t er_create_cq(struct er_cq *cq);

/** er_destroy_cq() - DESTROY_CQ; returns the ack */
uint8_t er_destroy_cq(const struct er_cq *cq);

/** er_qp_init() - memory and request of a QP with bit @bit of @page */
void er_qp_init(struct er_qp *qp, struct er_page *page, struct er_cq *cq,
		uint32_t bit, uint8_t type, uint32_t pdn,
		const struct er_shape *shape);

/** er_create_qp() - CREATE_QP; returns the ack */
uint8_t er_create_qp(struct er_qp *qp);

/** er_destroy_qp() - DESTROY_QP; returns the ack */
uint8_t er_destroy_qp(const struct er_qp *qp);

/** er_srq_init() - memory and request of an SRQ with @depth slots of 64 bytes */
void er_srq_init(struct er_srq *srq, struct eg_guest *guest, uint32_t pdn,
		 uint32_t depth);

/** er_create_srq() - CREATE_SRQ, or CREATE_XRC_SRQ; returns the ack */
uint8_t er_create_srq(struct er_srq *srq);

/** er_modify_srq() - MODIFY_SRQ; returns the ack */
uint8_t er_modify_srq(const struct er_srq *srq, uint32_t limit);

/** er_query_srq() - QUERY_SRQ; returns the ack */
uint8_t er_query_srq(const struct er_srq *srq, struct virtio_rdma_ack_query_srq *rsp);

/**
 * er_resize_srq() - RESIZE_SRQ to a new ring, which has what is posted; returns the ack
 *
 * If it is VIRTIO_NET_ERR the SRQ keeps its ring.
 */
uint8_t er_resize_srq(struct er_srq *srq, uint32_t depth);

/** er_destroy_srq() - DESTROY_SRQ; returns the ack */
uint8_t er_destroy_srq(const struct er_srq *srq);

/** er_post_srq() - post a request to an SRQ */
void er_post_srq(struct er_srq *srq, const struct eg_sge *sge, uint32_t num_sge,
		 uint32_t cookie);

/** er_create_xrcd() - CREATE_XRCD, expected to succeed; returns the handle */
uint32_t er_create_xrcd(struct eg_guest *guest);

/** er_destroy_xrcd() - DESTROY_XRCD; returns the ack */
uint8_t er_destroy_xrcd(struct eg_guest *guest, uint32_t xrcd);

/** er_tgt_init() - request of an XRC_TGT QP */
void er_tgt_init(struct er_qp *qp, struct eg_guest *guest, uint32_t xrcd);

/** er_open() - all that an end is made of, with the QP in RESET */
void er_open(struct er_end *end, struct eg_guest *guest, uint8_t type,
	     const struct er_shape *shape);

/** er_pair_up() - two ends, connected; the engine is that of a fixture */
struct er_pair *er_pair_up(void **state, uint8_t type, const struct er_shape *shape);

/** er_pair_free() - free it; the objects stay */
void er_pair_free(struct er_pair *p);

/** er_write_send() - write a send request into the slot of index @i */
void er_write_send(struct er_qp *qp, uint32_t i, const struct eg_wr *wr);

/** er_post_send() - the same into the next slot, and announce it; wr_id is not used */
void er_post_send(struct er_qp *qp, const struct eg_wr *wr);

/** er_post_recv() - post a receive request, and announce it if that is wanted */
void er_post_recv(struct er_qp *qp, const struct eg_sge *sge, uint32_t num_sge);

/** er_recv() - the same of one element at @off of the region of @end */
void er_recv(struct er_end *end, uint64_t off, uint32_t len);

/** er_announce() - the three steps of "Doorbells" in spec.rst */
void er_announce(struct er_qp *qp);

/** er_poll() - take a completion of a direct CQ; false if there is none */
bool er_poll(struct er_cq *cq, struct virtio_rdma_cqe *cqe);

/** er_expect() - the next completion is that of request @wqe of @end's QP */
struct virtio_rdma_cqe er_expect(struct er_end *end, bool recv, uint32_t wqe,
				 uint8_t status);

/** er_expect_none() - no completion is there */
void er_expect_none(struct er_end *end);

/** er_arm() - arm a CQ */
void er_arm(struct er_cq *cq, uint32_t flags);

/**
 * er_put_events() - give the device buffers for events, from a thread of the guest's own
 * @guest:	guest
 * @vq:		event virtqueue
 * @n:		buffers
 *
 * Return: whether the doorbell is to be rung, by the thread of the device.
 */
bool er_put_events(struct eg_guest *guest, unsigned int vq, unsigned int n);

/** er_give_events() - make @n buffers for events available */
void er_give_events(struct eg_guest *guest, unsigned int vq, unsigned int n);

/** er_take_event() - take an event; false if there is none */
bool er_take_event(struct eg_guest *guest, unsigned int vq,
		   struct virtio_rdma_event *event);

/** er_expect_event() - the next event is this one */
void er_expect_event(struct eg_guest *guest, unsigned int vq, uint16_t type,
		     uint32_t number);

/** er_expect_no_event() - there is none */
void er_expect_no_event(struct eg_guest *guest, unsigned int vq);

#endif /* DEVICE_TESTS_ENGINE_RING_H */
