// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <endian.h>
#include <string.h>
#include <sys/eventfd.h>

#include "tests/lib/front_direct.h"

#define PAGE		4096u
#define STRIDE		64u

/* Pages of zeroes; sets the device address. */
static void *pages(struct front *front, unsigned int n, uint64_t *addr)
{
	*addr = guest_alloc(&front->guest, n * PAGE, PAGE);
	return guest_ptr(&front->guest, *addr);
}

void front_direct_own_cq(struct front_direct *of)
{
	struct {
		struct virtio_rdma_cmd_create_cq_long fixed;
		__le64 page;
	} req = {
		.fixed = {
			.cqe = htole32(FD_CQE),
			.flags = VIRTIO_RDMA_CQ_CONTROL | VIRTIO_RDMA_CQ_DIRECT,
			.cqe_shift = __builtin_ctz(sizeof(struct virtio_rdma_cqe)),
			.npages = htole32(1),
		},
	};
	struct virtio_rdma_ack_create_cq ack;
	uint64_t addr;

	of->cq = pages(of->front, 2, &addr);
	of->cq_control = (void *)(of->cq + PAGE);
	req.page = htole64(addr);
	req.fixed.control = htole64(addr + PAGE);
	front_command(of->front, VIRTIO_NET_CTRL_ROCE_CREATE_CQ, &req, sizeof(req), &ack,
		      sizeof(ack));
	of->cqn = le32toh(ack.cqn);
}

static struct virtio_rdma_cmd_create_srq srq_request(struct front_direct *of, __le64 *page)
{
	uint64_t addr;

	of->srq = pages(of->front, 2, &addr);
	of->srq_control = (void *)(of->srq + PAGE);
	of->posted = 0;
	*page = htole64(addr);
	return (struct virtio_rdma_cmd_create_srq) {
		.pdn = htole32(of->pdn),
		.depth = htole32(FD_DEPTH),
		.max_sge = htole32(1),
		.shift = __builtin_ctz(STRIDE),
		.npages = htole32(1),
		.control = htole64(addr + PAGE),
	};
}

void front_direct_own_srq(struct front_direct *of)
{
	struct {
		struct virtio_rdma_cmd_create_srq fixed;
		__le64 page;
	} req;
	struct virtio_rdma_ack_create_srq ack;

	req.fixed = srq_request(of, &req.page);
	front_command(of->front, VIRTIO_NET_CTRL_ROCE_CREATE_SRQ, &req, sizeof(req), &ack,
		      sizeof(ack));
	of->srqn = le32toh(ack.srq);
}

void front_direct_own_xrc(struct front_direct *of)
{
	struct {
		struct virtio_rdma_cmd_create_xrc_srq fixed;
		__le64 page;
	} req = {};
	struct virtio_rdma_ack_create_xrcd domain;
	struct virtio_rdma_ack_create_srq ack;

	front_command(of->front, VIRTIO_NET_CTRL_ROCE_CREATE_XRCD, NULL, 0, &domain,
		      sizeof(domain));
	of->xrcd = le32toh(domain.xrcd);
	req.fixed.srq = srq_request(of, &req.page);
	req.fixed.xrcd = domain.xrcd;
	req.fixed.cqn = htole32(of->cqn);
	front_command(of->front, VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ, &req, sizeof(req), &ack,
		      sizeof(ack));
	of->srqn = le32toh(ack.srq);
}

void front_direct_open(struct front_direct *of, struct front *front, uint32_t pdn)
{
	uint64_t addr;

	*of = (struct front_direct) { .front = front, .pdn = pdn };
	of->page = pages(front, 1, &addr);
	of->doorbell = front_page(front, addr);
	front_direct_own_cq(of);
	front_direct_own_srq(of);
}

/* An XRC_TGT QP has a domain, the others a send ring, and an SRQ unless they receive nothing. */
static struct virtio_rdma_qp_direct direct_form(struct front_dqp *qp, uint8_t type, __le64 *page)
{
	struct front_direct *of = qp->of;
	struct virtio_rdma_qp_direct direct = {
		.form = VIRTIO_RDMA_QP_FORM_DIRECT,
	};
	uint64_t addr;

	if (type == VIRTIO_IB_QPT_XRC_TGT) {
		direct.xrcd = htole32(of->xrcd);
		return direct;
	}
	qp->bit = of->bits++;
	qp->send = pages(of->front, 2, &addr);
	qp->control = (void *)(qp->send + PAGE);
	*page = htole64(addr);
	direct.control = htole64(addr + PAGE);
	direct.send_shift = __builtin_ctz(STRIDE);
	direct.recv_shift = __builtin_ctz(STRIDE);
	direct.send_depth = htole32(FD_DEPTH);
	direct.send_pages = htole32(1);
	direct.doorbell = htole32(of->doorbell);
	direct.bit = htole32(qp->bit);
	if (type != VIRTIO_IB_QPT_XRC_INI) {
		direct.flags = VIRTIO_RDMA_QP_SRQ;
		direct.srq = htole32(of->srqn);
	}
	return direct;
}

void front_dqp_open_type(struct front_dqp *qp, struct front_direct *of, uint8_t type)
{
	struct front *front = of->front;
	const bool target = type == VIRTIO_IB_QPT_XRC_TGT;
	struct virtio_rdma_cmd_create_qp req = {
		.qp_type = type,
	};
	struct virtio_rdma_qp_direct direct;
	uint8_t text[VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(direct) + sizeof(__le64)];
	struct virtio_rdma_ack_create_qp ack;
	__le64 page = 0;

	*qp = (struct front_dqp) { .of = of };
	direct = direct_form(qp, type, &page);
	if (!target) {
		req.pdn = htole32(of->pdn);
		req.send_cqn = htole32(of->cqn);
		req.recv_cqn = htole32(of->cqn);
		req.cap.max_send_wr = htole32(FD_DEPTH);
		req.cap.max_send_sge = htole32(1);
	}
	memcpy(text, &req, VIRTIO_RDMA_QP_DIRECT_OFFSET);
	memcpy(text + VIRTIO_RDMA_QP_DIRECT_OFFSET, &direct, sizeof(direct));
	memcpy(text + VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(direct), &page, sizeof(page));
	front_command(front, VIRTIO_NET_CTRL_ROCE_CREATE_QP, text,
		      sizeof(text) - (target ? sizeof(page) : 0), &ack, sizeof(ack));
	qp->qp = (struct front_qp) {
		.front = front,
		.cqn = of->cqn,
		.qpn = le32toh(ack.qpn),
	};
}

void front_dqp_open(struct front_dqp *qp, struct front_direct *of)
{
	front_dqp_open_type(qp, of, VIRTIO_IB_QPT_RC);
}

void front_direct_recv(struct front_direct *of, struct virtio_rdma_sge to, uint32_t cookie)
{
	struct virtio_rdma_rwqe *slot = (void *)(of->srq + of->posted % FD_DEPTH * STRIDE);

	memset(slot, 0, STRIDE);
	slot->num_sge = htole32(1);
	slot->cookie = htole32(cookie);
	slot->sg_list[0] = to;
	__atomic_store_n(&of->srq_control->producer, htole32(++of->posted), __ATOMIC_RELEASE);
}

/* As a driver does it: the bit, its word, and the doorbell if it is asked for. */
static void announce(struct front_dqp *qp)
{
	struct virtio_rdma_doorbell_page *page = qp->of->page;
	const uint32_t word = qp->bit / 64;
	const uint64_t bit = htole64(1ull << qp->bit % 64);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&page->pending[word], __ATOMIC_RELAXED) & bit)
		return;
	__atomic_or_fetch(&page->pending[word], bit, __ATOMIC_SEQ_CST);
	__atomic_or_fetch(&page->words[word / 64], htole64(1ull << word % 64),
			  __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&page->ring_me, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&page->ring_me, 0, __ATOMIC_SEQ_CST))
		eventfd_write(qp->of->front->vq[FRONT_DOORBELL].kick, 1);
}

void front_dqp_post(struct front_dqp *qp, const struct virtio_rdma_swqe *req)
{
	memcpy(qp->send + qp->posted % FD_DEPTH * STRIDE, req, STRIDE);
	__atomic_store_n(&qp->control->send_producer, htole32(++qp->posted), __ATOMIC_RELEASE);
	announce(qp);
}

void front_dqp_send(struct front_dqp *qp, struct virtio_rdma_sge from)
{
	struct virtio_rdma_swqe req = {
		.opcode = VIRTIO_IB_WR_SEND,
		.send_flags = VIRTIO_IB_SEND_SIGNALED,
		.num_sge = htole16(1),
	};

	req.sg_list[0] = from;
	front_dqp_post(qp, &req);
}

bool front_direct_poll(struct front_direct *of, struct virtio_rdma_cqe *cqe)
{
	const struct virtio_rdma_cqe *slot =
		(void *)(of->cq + of->consumer % FD_CQE * sizeof(*slot));
	const uint8_t phase = of->consumer & FD_CQE ? 0 : VIRTIO_RDMA_CQE_PHASE;

	if ((__atomic_load_n(&slot->phase, __ATOMIC_ACQUIRE) & VIRTIO_RDMA_CQE_PHASE) != phase)
		return false;
	*cqe = *slot;
	of->consumer++;
	__atomic_store_n(&of->cq_control->consumer, htole32(of->consumer), __ATOMIC_RELEASE);
	return true;
}

void front_direct_arm(struct front_direct *of)
{
	of->armings++;
	__atomic_store_n(&of->cq_control->arm,
			 htole32(of->armings * VIRTIO_RDMA_ARM_NUMBER | VIRTIO_RDMA_ARM_NEXT),
			 __ATOMIC_RELEASE);
	/* Against the device, which looks at it behind a completion. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
