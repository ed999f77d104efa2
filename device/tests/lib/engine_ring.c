// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The driver's side of event queues and direct rings, for the guests of an engine.
 */
#include "tests/lib/engine_ring.h"

#include <stdlib.h>
#include <sys/eventfd.h>

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name

/* A request with a list of pages behind its fixed part. */
static uint8_t er_command(struct eg_guest *guest, uint8_t command, const void *fixed,
			  size_t len, const uint64_t *page, uint32_t n,
			  uint32_t *number)
{
	uint8_t *req = calloc(1, len + 8 * n + 1);
	__le32 rsp = 0;
	uint8_t ack;
	uint32_t i;
	__le64 le;

	assert_non_null(req);
	memcpy(req, fixed, len);
	for (i = 0; i < n; i++) {
		le = htole64(page[i]);
		memcpy(req + len + 8 * i, &le, 8);
	}
	ack = eg_command(guest, command, req, len + 8 * n, number ? &rsp : NULL,
			 number ? sizeof(rsp) : 0);
	free(req);
	if (number)
		*number = le32toh(rsp);
	return ack;
}

void er_lose_page(struct eg_guest *guest, uint64_t page)
{
	static struct guest_mem map[EG_GUESTS];
	struct guest_mem *to = &map[guest->number - 1];

	*to = guest->map;
	to->n = 2;
	to->region[0].size = page - EG_BASE;
	to->region[1] = (struct guest_region) {
		.addr = page + EG_PAGE,
		.size = EG_SIZE - (page + EG_PAGE - EG_BASE),
		.host = guest->mem + (page + EG_PAGE - EG_BASE),
	};
	rnic_mem_changed(guest->rnic, to);
}

/* ------------------------------------------------------------------------- */
/* Doorbell pages                                                            */
/* ------------------------------------------------------------------------- */

uint8_t er_alloc_doorbell(struct er_page *page)
{
	const struct virtio_rdma_cmd_alloc_doorbell req = {
		.page = htole64(page->addr),
		.vq = htole16(page->vq),
	};
	struct virtio_rdma_ack_alloc_doorbell rsp = {};
	uint8_t ack = eg_command(page->guest, CMD(ALLOC_DOORBELL), &req, sizeof(req),
				 &rsp, sizeof(rsp));

	page->handle = le32toh(rsp.doorbell);
	return ack;
}

void er_page_init(struct er_page *page, struct eg_guest *guest, uint16_t vq)
{
	*page = (struct er_page) {
		.guest = guest,
		.addr = eg_place(guest, EG_PAGE),
		.vq = vq,
	};
	page->page = eg_ptr(guest, page->addr);
	assert_int_equal(er_alloc_doorbell(page), VIRTIO_NET_OK);
}

uint8_t er_free_doorbell(const struct er_page *page)
{
	const struct virtio_rdma_cmd_free_doorbell req = {
		.doorbell = htole32(page->handle),
	};

	return eg_command(page->guest, CMD(FREE_DOORBELL), &req, sizeof(req), NULL, 0);
}

void er_announce(struct er_qp *qp)
{
	struct virtio_rdma_doorbell_page *page = qp->page->page;
	const uint32_t n = le32toh(qp->direct.bit);
	const uint64_t bit = htole64(1ull << n % 64);
	const uint64_t word = htole64(1ull << n / 64 % 64);
	__le64 *top = &page->words[n / 64 / 64];

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&page->pending[n / 64], __ATOMIC_RELAXED) & bit)
		return;
	__atomic_or_fetch(&page->pending[n / 64], bit, __ATOMIC_SEQ_CST);
	if (!(__atomic_load_n(top, __ATOMIC_RELAXED) & word))
		__atomic_or_fetch(top, word, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&page->ring_me, __ATOMIC_RELAXED) ||
	    !__atomic_exchange_n(&page->ring_me, 0, __ATOMIC_SEQ_CST))
		return;
	qp->page->rung++;
	if (qp->page->kick)
		eventfd_write(qp->page->kick, 1);
	else
		rnic_queue_kick(qp->guest->rnic, RNIC_DOORBELL, qp->page->vq);
}

/* ------------------------------------------------------------------------- */
/* CQs                                                                       */
/* ------------------------------------------------------------------------- */

static uint32_t er_place_ring(struct eg_guest *guest, uint64_t bytes, uint64_t *page)
{
	uint32_t i, n = (bytes + EG_PAGE - 1) / EG_PAGE;
	uint64_t addr = n ? eg_place(guest, bytes) : 0;

	assert_in_range(n, 0, 256);
	for (i = 0; i < n; i++)
		page[i] = addr + i * (uint64_t)EG_PAGE;
	return n;
}

void er_cq_init(struct er_cq *cq, struct eg_guest *guest, uint32_t cqe,
		uint8_t cqe_shift, uint16_t event_vq)
{
	uint64_t control = eg_place(guest, VIRTIO_RDMA_CONTROL_SIZE);
	uint32_t n = 0;

	*cq = (struct er_cq) { .guest = guest };
	if (cqe_shift) {
		n = er_place_ring(guest, (uint64_t)cqe << cqe_shift, cq->pages);
		cq->ring = eg_ptr(guest, cq->pages[0]);
	}
	cq->control = eg_ptr(guest, control);
	cq->req = (struct virtio_rdma_cmd_create_cq_long) {
		.cqe = htole32(cqe),
		.flags = VIRTIO_RDMA_CQ_CONTROL |
			 (cqe_shift ? VIRTIO_RDMA_CQ_DIRECT : 0),
		.cqe_shift = cqe_shift,
		.event_vq = htole16(event_vq),
		.control = htole64(control),
		.npages = htole32(n),
	};
}

uint8_t er_create_cq(struct er_cq *cq)
{
	return er_command(cq->guest, CMD(CREATE_CQ), &cq->req, sizeof(cq->req),
			  cq->pages, le32toh(cq->req.npages), &cq->cqn);
}

uint8_t er_destroy_cq(const struct er_cq *cq)
{
	const struct virtio_rdma_cmd_destroy_cq req = { .cqn = htole32(cq->cqn) };

	return eg_command(cq->guest, CMD(DESTROY_CQ), &req, sizeof(req), NULL, 0);
}

bool er_poll(struct er_cq *cq, struct virtio_rdma_cqe *cqe)
{
	const uint32_t n = le32toh(cq->req.cqe), i = cq->consumer;
	const struct virtio_rdma_cqe *slot = (const void *)
		(cq->ring + ((size_t)(i & (n - 1)) << cq->req.cqe_shift));
	const uint8_t phase = i & n ? 0 : VIRTIO_RDMA_CQE_PHASE;

	if ((__atomic_load_n(&slot->phase, __ATOMIC_ACQUIRE) &
	     VIRTIO_RDMA_CQE_PHASE) != phase)
		return false;
	*cqe = *slot;
	if (eg_dump)
		eg_dump(cq->guest, "cqe", cq->cqn, slot, 1u << cq->req.cqe_shift, NULL, 0);
	cq->consumer++;
	__atomic_store_n(&cq->control->consumer, htole32(cq->consumer),
			 __ATOMIC_RELEASE);
	return true;
}

void er_arm(struct er_cq *cq, uint32_t flags)
{
	cq->number++;
	__atomic_store_n(&cq->control->arm,
			 htole32(cq->number * VIRTIO_RDMA_ARM_NUMBER | flags),
			 __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------------- */
/* QPs                                                                       */
/* ------------------------------------------------------------------------- */

static uint32_t or_else(uint32_t value, uint32_t other)
{
	return value ? value : other;
}

void er_qp_init(struct er_qp *qp, struct er_page *page, struct er_cq *cq,
		uint32_t bit, uint8_t type, uint32_t pdn,
		const struct er_shape *shape)
{
	struct eg_guest *guest = page->guest;
	uint64_t control = eg_place(guest, VIRTIO_RDMA_CONTROL_SIZE);
	const uint32_t depth = type == VIRTIO_IB_QPT_WQ ? 0 : or_else(shape->send_depth, 16);
	const uint32_t recv_depth = shape->no_recv || shape->srq ? 0 :
				    or_else(shape->recv_depth, 16);
	const uint8_t shift = or_else(shape->send_shift, 6);
	const uint8_t recv_shift = or_else(shape->recv_shift, 6);
	uint32_t send, recv;

	*qp = (struct er_qp) { .guest = guest, .cq = cq, .page = page };
	send = er_place_ring(guest, (uint64_t)depth << shift, qp->pages);
	recv = er_place_ring(guest, (uint64_t)recv_depth << recv_shift, qp->pages + send);
	qp->send = eg_ptr(guest, qp->pages[0]);
	qp->recv = recv ? eg_ptr(guest, qp->pages[send]) : NULL;
	qp->control = eg_ptr(guest, control);
	qp->req = eg_create_qp_req(type, pdn, cq->cqn);
	qp->req.flags = shape->flags;
	qp->direct = (struct virtio_rdma_qp_direct) {
		.form = VIRTIO_RDMA_QP_FORM_DIRECT,
		.send_shift = shift,
		.recv_shift = recv_shift,
		.send_depth = htole32(depth),
		.recv_depth = htole32(recv_depth),
		.doorbell = htole32(page->handle),
		.bit = htole32(bit),
		.send_pages = htole32(send),
		.recv_pages = htole32(recv),
		.control = htole64(control),
	};
	if (shape->srq) {
		qp->direct.flags = VIRTIO_RDMA_QP_SRQ;
		qp->direct.srq = htole32(shape->srq->handle);
	}
}

uint8_t er_create_qp(struct er_qp *qp)
{
	uint8_t fixed[VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(qp->direct)];
	uint64_t n = (uint64_t)le32toh(qp->direct.send_pages) +
		     le32toh(qp->direct.recv_pages);

	/* Some tests say that there are more than there are. */
	if (n > 256)
		n = 256;
	memcpy(fixed, &qp->req, VIRTIO_RDMA_QP_DIRECT_OFFSET);
	memcpy(fixed + VIRTIO_RDMA_QP_DIRECT_OFFSET, &qp->direct, sizeof(qp->direct));
	return er_command(qp->guest, CMD(CREATE_QP), fixed, sizeof(fixed), qp->pages, n,
			  &qp->qpn);
}

uint8_t er_destroy_qp(const struct er_qp *qp)
{
	const struct virtio_rdma_cmd_destroy_qp req = { .qpn = htole32(qp->qpn) };

	return eg_command(qp->guest, CMD(DESTROY_QP), &req, sizeof(req), NULL, 0);
}

void er_write_send(struct er_qp *qp, uint32_t i, const struct eg_wr *wr)
{
	const size_t stride = 1ul << qp->direct.send_shift;
	struct virtio_rdma_swqe *slot = (void *)
		(qp->send + (i & (le32toh(qp->direct.send_depth) - 1)) * stride);
	const bool xrc = qp->req.qp_type == VIRTIO_IB_QPT_XRC_INI;
	const size_t at = xrc ? 48 : 32, room = stride - at;
	uint8_t *payload = (uint8_t *)slot + at;
	const __le32 srqn = htole32(wr->srqn);

	memset(slot, 0xee, stride);
	memset(slot, 0, 32);
	eg_put_header(slot, wr);
	if (xrc)
		memcpy((uint8_t *)slot + VIRTIO_RDMA_XRC_OFFSET, &srqn, sizeof(srqn));
	if (wr->flags & VIRTIO_IB_SEND_INLINE) {
		slot->inline_len = htole16(wr->data_len);
		if (wr->data_len && wr->data_len <= room)
			memcpy(payload, wr->data, wr->data_len);
	} else {
		slot->num_sge = htole16(wr->num_sge);
		eg_put_sge((void *)payload, wr->sge, wr->num_sge, room);
	}
	if (eg_dump)
		eg_dump(qp->guest, "swqe", qp->qpn, slot, stride, &i, sizeof(i));
}

void er_post_send(struct er_qp *qp, const struct eg_wr *wr)
{
	er_write_send(qp, qp->posted, wr);
	__atomic_store_n(&qp->control->send_producer, htole32(++qp->posted),
			 __ATOMIC_RELEASE);
	er_announce(qp);
}

void er_post_recv(struct er_qp *qp, const struct eg_sge *sge, uint32_t num_sge)
{
	const size_t stride = 1ul << qp->direct.recv_shift;
	const uint32_t depth = le32toh(qp->direct.recv_depth);
	struct virtio_rdma_rwqe *slot = (void *)
		(qp->recv + (qp->posted_recv & (depth - 1)) * stride);

	memset(slot, 0xee, stride);
	slot->num_sge = htole32(num_sge);
	eg_put_sge(slot->sg_list, sge, num_sge, stride - sizeof(*slot));
	if (eg_dump)
		eg_dump(qp->guest, "rwqe", qp->qpn, slot, stride,
			&qp->posted_recv, sizeof(qp->posted_recv));
	__atomic_store_n(&qp->control->recv_producer, htole32(++qp->posted_recv),
			 __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (qp->control->recv_wanted)
		er_announce(qp);
}

/* ------------------------------------------------------------------------- */
/* SRQs                                                                      */
/* ------------------------------------------------------------------------- */

void er_srq_init(struct er_srq *srq, struct eg_guest *guest, uint32_t pdn,
		 uint32_t depth)
{
	uint64_t control = eg_place(guest, VIRTIO_RDMA_CONTROL_SIZE);
	uint32_t n;

	*srq = (struct er_srq) { .guest = guest };
	n = er_place_ring(guest, (uint64_t)depth << 6, srq->pages);
	srq->ring = eg_ptr(guest, srq->pages[0]);
	srq->control = eg_ptr(guest, control);
	srq->req = (struct virtio_rdma_cmd_create_srq) {
		.pdn = htole32(pdn),
		.depth = htole32(depth),
		.max_sge = htole32(3),
		.shift = 6,
		.control = htole64(control),
		.npages = htole32(n),
	};
}

uint8_t er_create_srq(struct er_srq *srq)
{
	const struct virtio_rdma_cmd_create_xrc_srq req = {
		.srq = srq->req,
		.xrcd = htole32(srq->xrcd),
		.cqn = htole32(srq->cqn),
	};

	if (srq->xrc)
		return er_command(srq->guest, CMD(CREATE_XRC_SRQ), &req, sizeof(req),
				  srq->pages, le32toh(srq->req.npages), &srq->handle);
	return er_command(srq->guest, CMD(CREATE_SRQ), &srq->req, sizeof(srq->req),
			  srq->pages, le32toh(srq->req.npages), &srq->handle);
}

uint8_t er_modify_srq(const struct er_srq *srq, uint32_t limit)
{
	const struct virtio_rdma_cmd_modify_srq req = {
		.srq = htole32(srq->handle),
		.limit = htole32(limit),
	};

	return eg_command(srq->guest, CMD(MODIFY_SRQ), &req, sizeof(req), NULL, 0);
}

uint8_t er_query_srq(const struct er_srq *srq, struct virtio_rdma_ack_query_srq *rsp)
{
	const struct virtio_rdma_cmd_query_srq req = { .srq = htole32(srq->handle) };

	return eg_command(srq->guest, CMD(QUERY_SRQ), &req, sizeof(req), rsp,
			  sizeof(*rsp));
}

uint8_t er_resize_srq(struct er_srq *srq, uint32_t depth)
{
	const uint32_t old = le32toh(srq->req.depth), n = old < depth ? old : depth;
	struct virtio_rdma_cmd_resize_srq req;
	struct er_srq new;
	uint32_t pos;
	uint8_t ack;

	er_srq_init(&new, srq->guest, le32toh(srq->req.pdn), depth);
	for (pos = srq->posted - n; pos != srq->posted; pos++)
		memcpy(new.ring + (pos & (depth - 1)) * 64, srq->ring + (pos & (old - 1)) * 64,
		       64);
	new.control->producer = htole32(srq->posted);
	req = (struct virtio_rdma_cmd_resize_srq) {
		.srq = htole32(srq->handle),
		.depth = new.req.depth,
		.npages = new.req.npages,
		.control = new.req.control,
	};
	ack = er_command(srq->guest, CMD(RESIZE_SRQ), &req, sizeof(req), new.pages,
			 le32toh(req.npages), NULL);
	if (ack != VIRTIO_NET_OK)
		return ack;
	/* The device does not look at the old ring any more. */
	memset(srq->ring, 0xff, 64ul * old);
	memset(srq->control, 0xff, sizeof(*srq->control));
	new.handle = srq->handle;
	new.posted = srq->posted;
	new.xrc = srq->xrc;
	new.xrcd = srq->xrcd;
	new.cqn = srq->cqn;
	*srq = new;
	return ack;
}

uint8_t er_destroy_srq(const struct er_srq *srq)
{
	const struct virtio_rdma_cmd_destroy_srq req = { .srq = htole32(srq->handle) };

	return eg_command(srq->guest, CMD(DESTROY_SRQ), &req, sizeof(req), NULL, 0);
}

void er_post_srq(struct er_srq *srq, const struct eg_sge *sge, uint32_t num_sge,
		 uint32_t cookie)
{
	const uint32_t depth = le32toh(srq->req.depth);
	struct virtio_rdma_rwqe *slot = (void *)
		(srq->ring + ((size_t)(srq->posted & (depth - 1)) << 6));

	memset(slot, 0xee, 64);
	slot->num_sge = htole32(num_sge);
	slot->cookie = htole32(cookie);
	eg_put_sge(slot->sg_list, sge, num_sge, 64 - sizeof(*slot));
	if (eg_dump)
		eg_dump(srq->guest, "srq", srq->handle, slot, 64, NULL, 0);
	__atomic_store_n(&srq->control->producer, htole32(++srq->posted),
			 __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------- */
/* XRC                                                                       */
/* ------------------------------------------------------------------------- */

uint32_t er_create_xrcd(struct eg_guest *guest)
{
	__le32 xrcd = 0;

	assert_int_equal(eg_command(guest, CMD(CREATE_XRCD), NULL, 0, &xrcd,
				    sizeof(xrcd)), VIRTIO_NET_OK);
	return le32toh(xrcd);
}

uint8_t er_destroy_xrcd(struct eg_guest *guest, uint32_t xrcd)
{
	const struct virtio_rdma_cmd_destroy_xrcd req = { .xrcd = htole32(xrcd) };

	return eg_command(guest, CMD(DESTROY_XRCD), &req, sizeof(req), NULL, 0);
}

void er_tgt_init(struct er_qp *qp, struct eg_guest *guest, uint32_t xrcd)
{
	*qp = (struct er_qp) {
		.guest = guest,
		.req.qp_type = VIRTIO_IB_QPT_XRC_TGT,
		.direct.form = VIRTIO_RDMA_QP_FORM_DIRECT,
		.direct.xrcd = htole32(xrcd),
	};
}

/* ------------------------------------------------------------------------- */
/* Pairs                                                                     */
/* ------------------------------------------------------------------------- */

void er_open(struct er_end *end, struct eg_guest *guest, uint8_t type,
	     const struct er_shape *shape)
{
	*end = (struct er_end) {
		.end = { .guest = guest, .pdn = eg_create_pd(guest) },
	};
	er_page_init(&end->page, guest, 0);
	er_cq_init(&end->cq, guest, or_else(shape->cqe, 64),
		   or_else(shape->cqe_shift, shape->timed ? 6 : 5), 0);
	if (shape->timed)
		end->cq.req.flags |= VIRTIO_RDMA_CQ_TIMESTAMP;
	assert_int_equal(er_create_cq(&end->cq), VIRTIO_NET_OK);
	er_qp_init(&end->qp, &end->page, &end->cq, 5, type, end->end.pdn, shape);
	assert_int_equal(er_create_qp(&end->qp), VIRTIO_NET_OK);
	end->end.qpn = end->qp.qpn;
	end->end.cqn = end->cq.cqn;
	end->end.lkey = eg_reg(guest, end->end.pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE,
			       EG_DATA);
	end->end.mrn = end->end.lkey >> 8;
}

struct er_pair *er_pair_up(void **state, uint8_t type, const struct er_shape *shape)
{
	static const struct er_shape plain;
	struct er_pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->engine = *state;
	er_open(&p->a, &p->engine->guest[0], type, shape ? shape : &plain);
	er_open(&p->b, &p->engine->guest[1], type, shape ? shape : &plain);
	eg_connect(&p->a.end, &p->b.end, type);
	return p;
}

void er_pair_free(struct er_pair *p)
{
	free(p);
}

void er_recv(struct er_end *end, uint64_t off, uint32_t len)
{
	struct eg_sge sge = { EG_VA + off, len, end->end.lkey };

	er_post_recv(&end->qp, &sge, 1);
}

struct virtio_rdma_cqe er_expect(struct er_end *end, bool recv, uint32_t wqe,
				 uint8_t status)
{
	struct virtio_rdma_cqe cqe;

	if (!er_poll(&end->cq, &cqe))
		fail_msg("no completion, wanted request %u with status %u", wqe, status);
	assert_int_equal(!!(cqe.opcode & VIRTIO_RDMA_CQE_RECV), recv);
	assert_int_equal(le32toh(cqe.wqe), wqe);
	assert_int_equal(cqe.status, status);
	assert_int_equal(le32toh(cqe.qp_num), end->qp.qpn);
	return cqe;
}

void er_expect_none(struct er_end *end)
{
	struct virtio_rdma_cqe cqe;

	if (er_poll(&end->cq, &cqe))
		fail_msg("unexpected completion: request %u, status %u",
			 le32toh(cqe.wqe), cqe.status);
}

/* ------------------------------------------------------------------------- */
/* Events                                                                    */
/* ------------------------------------------------------------------------- */

bool er_put_events(struct eg_guest *guest, unsigned int vq, unsigned int n)
{
	struct eg_ring *ring = &guest->event[vq];
	bool kick = false;

	while (n--) {
		memset(eg_slot(ring), 0xee, ring->slot_size);
		eg_post_slot(ring);
		kick |= eg_wanted_kick(ring);
	}
	return kick;
}

void er_give_events(struct eg_guest *guest, unsigned int vq, unsigned int n)
{
	if (er_put_events(guest, vq, n))
		rnic_queue_kick(guest->rnic, RNIC_EVENT, vq);
}

bool er_take_event(struct eg_guest *guest, unsigned int vq,
		   struct virtio_rdma_event *event)
{
	struct eg_ring *ring = &guest->event[vq];
	const struct vring_used_elem *used;

	if (ring->seen == eg_used(ring))
		return false;
	used = &ring->vq.used->ring[ring->seen++ % EG_QUEUE];
	assert_int_equal(le32toh(used->len), sizeof(*event));
	assert_in_range(le32toh(used->id), 0, EG_QUEUE - 1);
	memcpy(event, eg_ptr(guest, ring->slots + le32toh(used->id) * sizeof(*event)),
	       sizeof(*event));
	if (eg_dump)
		eg_dump(guest, "event", vq, event, sizeof(*event), NULL, 0);
	/* used_event: interrupt for the next one. */
	__atomic_store_n(&ring->vq.avail->ring[EG_QUEUE], htole16(ring->seen), __ATOMIC_RELAXED);
	return true;
}

void er_expect_event(struct eg_guest *guest, unsigned int vq, uint16_t type,
		     uint32_t number)
{
	struct virtio_rdma_event event;

	if (!er_take_event(guest, vq, &event))
		fail_msg("no event, wanted type %u of %u", type, number);
	assert_int_equal(le16toh(event.type), type);
	assert_int_equal(le32toh(event.number), number);
	assert_int_equal(event.detail, 0);
	assert_int_equal(event.reserved, 0);
}

void er_expect_no_event(struct eg_guest *guest, unsigned int vq)
{
	struct virtio_rdma_event event;

	if (er_take_event(guest, vq, &event))
		fail_msg("unexpected event: type %u of %u", le16toh(event.type),
			 le32toh(event.number));
}
