// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When a program creates a CQ or QP, the kernel says where in its file the pieces are.
 * Here the file is the guest's memory, and the tests' guest has created the object.  The
 * doorbell register is two bytes of memory, which are looked at after each post.
 */
#include "tests/bench/user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "provider/virtio_roce.h"
#include "provider/cmd.h"
#include "tests/bench/remote.h"
#include "tests/lib/engine_ring.h"

#define SGES		1u
/* No virtqueue has this number. */
#define QUIET		0xffffu

/**
 * struct device - a device that is open
 * @pub:	what others see
 * @guest:	guest
 * @ctx:	the provider's
 * @answer:	what the kernel says about the next object
 * @qpn:	and its number, if it is a QP
 * @reg_addr:	where the doorbell register is
 * @reg:	the same
 */
struct device {
	struct user pub;
	struct eg_guest *guest;
	struct virtio_roce_context ctx;
	struct {
		struct virtio_roce_create_cq_resp cq;
		struct virtio_roce_create_qp_resp qp;
	} answer;
	uint32_t qpn;
	uint64_t reg_addr;
	volatile uint16_t *reg;
};

static struct device *to_device(struct ibv_context *context)
{
	return container_of(to_vctx(context), struct device, ctx);
}

static struct device *device_open(struct eg_guest *guest, bool direct)
{
	struct device *dev = calloc(1, sizeof(*dev));
	struct ibv_context *context;

	assert_non_null(dev);
	dev->guest = guest;
	dev->reg_addr = eg_place(guest, EG_PAGE);
	dev->reg = eg_ptr(guest, dev->reg_addr);
	*dev->reg = QUIET;
	dev->ctx.features = direct ? VIRTIO_ROCE_FEATURE_DIRECT : 0;
	pthread_mutex_init(&dev->ctx.qp_mutex, NULL);
	context = &dev->ctx.vctx.context;
	context->cmd_fd = guest->fd;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	context->ops.post_send = virtio_roce_post_send;
	context->ops.post_recv = virtio_roce_post_recv;
	context->ops.poll_cq = virtio_roce_poll_cq;
	context->ops.req_notify_cq = virtio_roce_req_notify_cq;
	dev->pub.context = context;
	return dev;
}

/* Where a piece of the guest's memory is in its file. */
static uint64_t offset_of(const struct eg_guest *guest, const void *p)
{
	return (const uint8_t *)p - guest->mem;
}

static uint32_t whole_pages(uint64_t len)
{
	return (len + EG_PAGE - 1) / EG_PAGE * EG_PAGE;
}

static void add_doorbell(const struct device *dev, struct virtio_roce_queue *info,
			 uint32_t index)
{
	info->flags |= VIRTIO_ROCE_QUEUE_DOORBELL;
	info->doorbell_offset = dev->reg_addr - EG_BASE;
	info->doorbell_len = EG_PAGE;
	info->doorbell_value = index;
}

static void make_cq(struct device *dev, struct user_end *end,
		    const struct virtio_roce_queue *info)
{
	dev->answer.cq.cq = *info;
	end->user = &dev->pub;
	end->cq = virtio_roce_create_cq(dev->pub.context, info->depth, NULL, 0);
	assert_non_null(end->cq);
}

static struct ibv_qp *make_qp(struct device *dev, struct ibv_cq *cq, enum ibv_qp_type type,
			      uint32_t qpn, const struct virtio_roce_create_qp_resp *resp)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_sge = SGES, .max_recv_sge = SGES },
		.qp_type = type,
	};
	struct ibv_qp *qp;

	dev->answer.qp = *resp;
	dev->qpn = qpn;
	qp = virtio_roce_create_qp_ex(dev->pub.context, &attr);
	assert_non_null(qp);
	return qp;
}

/* ------------------------------------------------------------------------- */
/* What the provider calls of libibverbs                                     */
/* ------------------------------------------------------------------------- */

int ibv_cmd_create_cq_ex(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size,
			 uint32_t cmd_flags)
{
	container_of(resp, struct uvirtio_roce_create_cq_resp, ibv_resp)->drv_payload =
		to_device(context)->answer.cq;
	cq->cq.context = context;
	return 0;
}

int ibv_cmd_create_qp_ex2(struct ibv_context *context, struct verbs_qp *qp,
			  struct ibv_qp_init_attr_ex *attr, struct ibv_create_qp_ex *cmd,
			  size_t cmd_size, struct ib_uverbs_ex_create_qp_resp *resp,
			  size_t resp_size)
{
	const struct device *dev = to_device(context);

	container_of(resp, struct uvirtio_roce_create_qp_resp, ibv_resp)->drv_payload =
		dev->answer.qp;
	qp->qp = (struct ibv_qp) {
		.context = context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.qp_type = attr->qp_type,
		.qp_num = dev->qpn,
		.state = IBV_QPS_RTS,
	};
	return 0;
}

/* The tests' guest does this. */
int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	return 0;
}

int ibv_cmd_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return ENOSYS;
}

/* There is a doorbell register, and so no command is needed to ring. */
int ibv_cmd_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return ENOSYS;
}

int ibv_cmd_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return ENOSYS;
}

/* There is no kernel to ask, and no datagram. */
uint32_t virtio_roce_ask_mtu(struct virtio_roce_context *ctx)
{
	return 4096;
}

void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *format, ...)
{
	fprintf(stderr, "provider: %s", format);
}

/* ------------------------------------------------------------------------- */
/* With virtqueues                                                           */
/* ------------------------------------------------------------------------- */

static struct virtio_roce_queue rfc_queue(const struct eg_ring *ring)
{
	const struct eg_guest *guest = ring->guest;

	return (struct virtio_roce_queue) {
		.slots_offset = ring->slots - EG_BASE,
		.avail_offset = offset_of(guest, ring->vq.avail),
		.used_offset = offset_of(guest, ring->vq.used),
		.slots_len = whole_pages((uint64_t)ring->slot_size * EG_QUEUE),
		.avail_len = EG_PAGE,
		.used_len = EG_PAGE,
		.num = EG_QUEUE,
		.depth = EG_QUEUE,
		.stride = ring->slot_size,
		.flags = ring->vq.event_idx ? VIRTIO_ROCE_QUEUE_EVENT_IDX : 0,
	};
}

void user_end_rfc(struct user_end *end, const struct eg_end *from)
{
	struct eg_guest *guest = from->guest;
	struct device *dev = device_open(guest, false);
	const struct virtio_roce_queue cq = rfc_queue(&guest->cq[from->cqn]);
	struct virtio_roce_create_qp_resp resp = {
		.sq = rfc_queue(&guest->sq[from->qpn]),
		.rq = rfc_queue(&guest->rq[from->qpn]),
	};

	add_doorbell(dev, &resp.sq, remote_index(guest->rnic, RNIC_SQ, from->qpn));
	add_doorbell(dev, &resp.rq, remote_index(guest->rnic, RNIC_RQ, from->qpn));
	*end = (struct user_end) { .lkey = from->lkey };
	make_cq(dev, end, &cq);
	end->qp = make_qp(dev, end->cq, IBV_QPT_RC, from->qpn, &resp);
}

/* ------------------------------------------------------------------------- */
/* Direct                                                                    */
/* ------------------------------------------------------------------------- */

/* The rings of a QP stand behind its control block. */
static struct virtio_roce_queue direct_queue(const struct er_qp *from, const uint8_t *ring,
					     uint32_t depth, uint8_t shift)
{
	const struct eg_guest *guest = from->guest;
	const uint64_t begin = offset_of(guest, from->control);
	const uint64_t recv = (uint64_t)le32toh(from->direct.recv_depth)
			      << from->direct.recv_shift;
	const uint32_t len = whole_pages(offset_of(guest, from->recv) - begin + recv);

	return (struct virtio_roce_queue) {
		.slots_offset = begin,
		.slots_len = len,
		.control_offset = begin,
		.control_len = len,
		.slots_pos = offset_of(guest, ring) - begin,
		.depth = depth,
		.stride = 1u << shift,
		.flags = VIRTIO_ROCE_QUEUE_DIRECT,
	};
}

static struct ibv_qp *qp_direct(const struct user_end *end, enum ibv_qp_type type,
				const struct er_qp *from)
{
	struct device *dev = to_device(end->cq->context);
	struct virtio_roce_create_qp_resp resp = {
		.sq = direct_queue(from, from->send, le32toh(from->direct.send_depth),
				   from->direct.send_shift),
		.rq = direct_queue(from, from->recv, le32toh(from->direct.recv_depth),
				   from->direct.recv_shift),
		.page_offset = from->page->addr - EG_BASE,
		.bit = le32toh(from->direct.bit),
	};

	add_doorbell(dev, &resp.sq,
		     remote_index(dev->guest->rnic, RNIC_DOORBELL, from->page->vq));
	return make_qp(dev, end->cq, type, from->qpn, &resp);
}

struct ibv_qp *user_qp_direct(const struct user_end *end, const struct er_qp *from)
{
	return qp_direct(end, IBV_QPT_RC, from);
}

static void end_direct(struct user_end *end, enum ibv_qp_type type, const struct er_end *from)
{
	struct eg_guest *guest = from->end.guest;
	const struct er_cq *cq = &from->cq;
	const struct virtio_roce_queue info = {
		.slots_offset = offset_of(guest, cq->ring),
		.slots_len = whole_pages((uint64_t)le32toh(cq->req.cqe) << cq->req.cqe_shift),
		.depth = le32toh(cq->req.cqe),
		.stride = 1u << cq->req.cqe_shift,
		.flags = VIRTIO_ROCE_QUEUE_DIRECT,
		.control_offset = offset_of(guest, cq->control),
		.control_len = EG_PAGE,
	};

	*end = (struct user_end) { .lkey = from->end.lkey };
	make_cq(device_open(guest, true), end, &info);
	end->qp = qp_direct(end, type, &from->qp);
}

void user_end_direct(struct user_end *end, const struct er_end *from)
{
	end_direct(end, IBV_QPT_RC, from);
}

void user_end_raw(struct user_end *end, const struct er_end *from)
{
	end_direct(end, IBV_QPT_RAW_PACKET, from);
}

void user_qp_free(struct ibv_qp *qp)
{
	assert_int_equal(virtio_roce_destroy_qp(qp), 0);
}

/* ------------------------------------------------------------------------- */
/* Requests                                                                  */
/* ------------------------------------------------------------------------- */

/* Pass on what the provider has written into the doorbell register. */
static void look_at_doorbell(struct device *dev)
{
	const uint16_t index = *dev->reg;

	if (index == QUIET)
		return;
	*dev->reg = QUIET;
	dev->pub.rung++;
	remote_kick(dev->guest->rnic, index);
}

static void post_one(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->num_sge = 1;
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->wr_id = (uintptr_t)qp;
	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
	look_at_doorbell(to_device(qp->context));
}

void user_send(const struct user_end *end, struct ibv_qp *qp, uint64_t addr, uint32_t len)
{
	struct ibv_sge sge = { .addr = addr, .length = len, .lkey = end->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .opcode = IBV_WR_SEND };

	post_one(qp, &wr);
}

void user_rdma(const struct user_end *end, enum ibv_wr_opcode opcode, uint64_t addr,
	       uint32_t len, uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = addr, .length = len, .lkey = end->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .opcode = opcode };

	wr.wr.rdma.remote_addr = remote_addr;
	wr.wr.rdma.rkey = rkey;
	post_one(end->qp, &wr);
}

void user_recv(const struct user_end *end, struct ibv_qp *qp, uint64_t addr, uint32_t len)
{
	struct ibv_sge sge = { .addr = addr, .length = len, .lkey = end->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.wr_id = (uintptr_t)qp;
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
	look_at_doorbell(to_device(qp->context));
}
