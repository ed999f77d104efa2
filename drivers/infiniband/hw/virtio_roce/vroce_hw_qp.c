// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs, the device's part: numbers, memory and doorbells, in both forms.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "vroce_caps.h"
#include "vroce_cmd_qp.h"
#include "vroce_doorbell.h"
#include "vroce_form.h"
#include "vroce_hw_qp.h"
#include "vroce_kept.h"
#include "vroce_kq.h"
#include "vroce_mem.h"
#include "vroce_obj.h"
#include "vroce_queue.h"
#include "vroce_users.h"
#include "vroce_wire.h"

#include "vroce_cmd_wq.h"

#define VROCE_SQ_ALIGN	64
#define VROCE_RQ_ALIGN	32

/**
 * vroce_hw_qp_forget() - forget completions that were not polled
 * @hw: QP
 *
 * They must not be taken for those of the next QP with this number.  This is for the
 * kernel's QPs only.  The provider does it in user space.
 *
 * Context: any.
 */
void vroce_hw_qp_forget(struct vroce_hw_qp *hw)
{
	if (!hw->kernel)
		return;
	vroce_cq_forget_qp(hw->scq, hw);
	if (hw->rcq != hw->scq)
		vroce_cq_forget_qp(hw->rcq, hw);
}

static enum vroce_kind vroce_qp_kind(const struct vroce_hw_qp *hw)
{
	return hw->gsi ? VROCE_GSI : hw->sq.direct ? VROCE_DIRECT_QP : VROCE_QP;
}

/* Drops all references that the QP holds. */
static void vroce_hw_qp_put_all(struct vroce_hw_qp *hw)
{
	if (hw->xrcd)
		vroce_obj_put(&hw->xrcd->obj);
	if (!hw->scq)
		return;
	if (hw->srq)
		vroce_obj_put(&hw->srq->obj);
	vroce_obj_put(&hw->rcq->obj);
	vroce_obj_put(&hw->scq->obj);
	vroce_obj_put(&hw->pd->obj);
}

static void vroce_hw_qp_release(struct vroce_obj *obj)
{
	struct vroce_hw_qp *hw = container_of(obj, struct vroce_hw_qp, obj);
	struct vroce_dev *dev = obj->dev;
	bool alone = !hw->sq.direct;
	int err;

	vroce_numbers_lock(&dev->qpns, alone);
	err = vroce_cmd_destroy_qp(dev->aux, hw->qpn);
	if (err && hw->kernel)
		err = vroce_settle(dev, "QP", hw->qpn);
	/* Before its rings go, make sure that polling does not find the QP any more. */
	vroce_hw_qp_forget(hw);
	xa_erase_irq(&dev->qps, hw->qpn);
	if (hw->kernel && hw->srq) {
		/* A poller that found it by a forged completion uses its SRQ under this lock. */
		spin_lock_irq(&hw->rcq->lock);
		spin_unlock_irq(&hw->rcq->lock);
	}
	if (err) {
		vroce_queue_keep(dev, &hw->sq);
		vroce_queue_keep(dev, &hw->rq);
		vroce_mem_keep(dev, hw->mem);
		hw->mem = NULL;
	} else {
		vroce_queue_detach(&hw->sq);
		vroce_queue_detach(&hw->rq);
		clear_bit(hw->qpn, dev->qpns.taken);
		vroce_quota_give(dev, vroce_qp_kind(hw));
		if (hw->mem)
			vroce_doorbell_give(hw->sq.doorbell, hw->sq.bit);
	}
	vroce_numbers_unlock(&dev->qpns, alone);
	vroce_mem_destroy(hw->mem);
	vroce_queue_free(&hw->rq);
	vroce_queue_free(&hw->sq);
	vroce_hw_qp_put_all(hw);
	kfree_rcu(hw, rcu);
}

static u32 vroce_rq_slot_len(const struct ib_qp_cap *cap)
{
	return sizeof(struct virtio_rdma_rq_req) +
	       cap->max_recv_sge * sizeof(struct virtio_rdma_sge);
}

/**
 * vroce_rq_stride() - distance of receive requests in the form of the RFC
 * @cap: capabilities of the QP
 *
 * Return: bytes.
 */
u32 vroce_rq_stride(const struct ib_qp_cap *cap)
{
	return ALIGN(vroce_rq_slot_len(cap), VROCE_RQ_ALIGN);
}

static int vroce_hw_qp_alloc_queues(struct vroce_hw_qp *hw,
				    struct device *dma_dev,
				    const struct ib_qp_cap *cap)
{
	int err;

	err = vroce_queue_alloc(&hw->sq, dma_dev, cap->max_send_wr,
				sizeof(struct virtio_rdma_sq_req) +
				cap->max_send_sge *
				sizeof(struct virtio_rdma_sge),
				VROCE_SQ_ALIGN);
	if (err)
		return err;
	err = vroce_queue_alloc(&hw->rq, dma_dev, cap->max_recv_wr,
				vroce_rq_slot_len(cap), VROCE_RQ_ALIGN);
	if (!err && !hw->kernel)
		err = vroce_queue_charge(&hw->sq) ?: vroce_queue_charge(&hw->rq);
	if (err) {
		vroce_queue_free(&hw->rq);
		vroce_queue_free(&hw->sq);
	}
	return err;
}

/**
 * vroce_stride_shift() - stride of a direct ring
 * @len: bytes that a slot has room for
 *
 * Return: its log2.
 */
u8 vroce_stride_shift(size_t len)
{
	return max(order_base_2(len), VIRTIO_RDMA_MIN_STRIDE_SHIFT);
}

/* Where the payload of a send request begins in its slot. */
static size_t vroce_send_payload(enum ib_qp_type type)
{
	return type == IB_QPT_XRC_INI ?
	       VIRTIO_RDMA_XRC_OFFSET + offsetof(struct virtio_rdma_xrc, sg_list) :
	       offsetof(struct virtio_rdma_swqe, sg_list);
}

/* Stride of a direct send ring, as its log2. */
static u8 vroce_send_shift(enum ib_qp_type type, const struct ib_qp_cap *cap)
{
	size_t sges = cap->max_send_sge * sizeof(struct virtio_rdma_sge);

	return vroce_stride_shift(vroce_send_payload(type) +
				  max_t(size_t, sges, cap->max_inline_data));
}

/**
 * vroce_inline_room() - bytes of inline data that a direct send request has room for
 * @type: type of QP
 * @cap: elements and inline data that are asked for
 *
 * Some consumers send inline though they asked for none, and a slot often has room.
 *
 * Return: not less than asked for; a QP that asks for it gets slots of the same size.
 */
u32 vroce_inline_room(enum ib_qp_type type, const struct ib_qp_cap *cap)
{
	size_t room = BIT(vroce_send_shift(type, cap)) - vroce_send_payload(type);

	return min_t(size_t, room, VIRTIO_RDMA_INLINE_SIZE);
}

/**
 * vroce_max_slots() - what a send and a receive request need at most in direct form
 * @dev: device whose numbers of elements are known
 *
 * Return: bytes of one slot of each.
 */
size_t vroce_max_slots(const struct vroce_dev *dev)
{
	const size_t sge = sizeof(struct virtio_rdma_sge);
	size_t send = vroce_send_payload(IB_QPT_XRC_INI) +
		      max_t(size_t, dev->attr.max_send_sge * sge,
			    VIRTIO_RDMA_INLINE_SIZE);
	size_t recv = offsetof(struct virtio_rdma_rwqe, sg_list) +
		      dev->attr.max_recv_sge * sge;

	send = min(send, BIT(VIRTIO_RDMA_MAX_STRIDE_SHIFT));
	recv = min(recv, BIT(VIRTIO_RDMA_MAX_STRIDE_SHIFT));
	return BIT(vroce_stride_shift(send)) + BIT(vroce_stride_shift(recv));
}

/* Memory for both rings and the control block, and a bit in the doorbell page. */
static int vroce_hw_qp_alloc_direct(struct vroce_dev *dev, struct vroce_hw_qp *hw,
				    struct vroce_doorbell *db, enum ib_qp_type type,
				    const struct ib_qp_cap *cap,
				    struct vroce_direct_params *params)
{
	struct virtio_rdma_qp_control *control;
	size_t lens[VROCE_MEM_PARTS];
	int err;

	params->send_shift = vroce_send_shift(type, cap);
	params->recv_shift =
		vroce_stride_shift(offsetof(struct virtio_rdma_rwqe,
					    sg_list[cap->max_recv_sge]));
	params->send_depth = cap->max_send_wr;
	params->recv_depth = cap->max_recv_wr;
	lens[VROCE_QP_SEND] = (size_t)params->send_depth << params->send_shift;
	lens[VROCE_QP_RECV] = (size_t)params->recv_depth << params->recv_shift;
	lens[VROCE_QP_CONTROL] = sizeof(*control);
	hw->mem = vroce_mem_create(dev->aux->dma_dev, lens, VROCE_MEM_PARTS,
				   VROCE_MEM_PACKED |
				   (hw->kernel ? VROCE_MEM_KERNEL : 0));
	if (IS_ERR(hw->mem)) {
		err = PTR_ERR(hw->mem);
		hw->mem = NULL;
		return err;
	}
	err = vroce_doorbell_take(dev, db, &hw->sq.bit);
	if (err)
		goto err_mem;

	vroce_queue_init_direct(&hw->sq, hw->kernel ?
				vroce_mem_addr(hw->mem, VROCE_QP_SEND) : NULL,
				params->send_depth, BIT(params->send_shift));
	vroce_queue_init_direct(&hw->rq, hw->kernel ?
				vroce_mem_addr(hw->mem, VROCE_QP_RECV) : NULL,
				params->recv_depth, BIT(params->recv_shift));
	control = vroce_mem_addr(hw->mem, VROCE_QP_CONTROL);
	hw->sq.producer = &control->send_producer;
	hw->rq.producer = &control->recv_producer;
	hw->rq.wanted = &control->recv_wanted;
	hw->sq.doorbell = db;
	hw->rq.doorbell = db;
	hw->rq.bit = hw->sq.bit;
	params->doorbell = db->handle;
	params->bit = hw->sq.bit;
	params->send_pages = vroce_mem_wire_pages(hw->mem, VROCE_QP_SEND);
	params->recv_pages = vroce_mem_wire_pages(hw->mem, VROCE_QP_RECV);
	params->control = vroce_mem_dma(hw->mem, VROCE_QP_CONTROL);
	params->first = dev->aux->max_qps;
	params->end = dev->aux->max_qps + dev->attr.max_direct_qp;
	params->pages = vroce_mem_list(hw->mem, VROCE_QP_CONTROL);
	if (params->pages)
		return 0;
	err = -ENOMEM;
	vroce_doorbell_give(db, hw->sq.bit);
err_mem:
	vroce_mem_destroy(hw->mem);
	hw->mem = NULL;
	return err;
}

static void vroce_hw_qp_free_queues(struct vroce_hw_qp *hw)
{
	if (hw->mem)
		vroce_doorbell_give(hw->sq.doorbell, hw->sq.bit);
	vroce_mem_destroy(hw->mem);
	vroce_queue_free(&hw->rq);
	vroce_queue_free(&hw->sq);
}

/* Allocates the memory that the kernel needs to post and poll. */
static int vroce_hw_qp_alloc_kernel(struct vroce_hw_qp *hw)
{
	int err;

	if (!hw->kernel)
		return 0;
	vroce_form_init_wq(&hw->sq, false);
	vroce_form_init_wq(&hw->rq, true);
	err = vroce_queue_alloc_requests(&hw->sq);
	if (!err)
		err = vroce_queue_alloc_requests(&hw->rq);
	return err;
}

/* The device has answered a command that makes a QP: the number that it said is taken. */
static int vroce_hw_qp_answered(struct vroce_dev *dev, struct vroce_hw_qp *hw, u8 command,
				int err)
{
	if (!err && !vroce_numbers_take(&dev->qpns, hw->qpn))
		err = vroce_cmd_bad_answer(dev->aux, command, hw->qpn);
	if (err)
		vroce_quota_give(dev, vroce_qp_kind(hw));
	return err;
}

static int vroce_hw_qp_take_number(struct vroce_dev *dev, struct vroce_hw_qp *hw,
				   const struct vroce_create_qp_params *params)
{
	const struct vroce_direct_params *direct = params->direct;
	struct vroce_user *user;
	int err;

	err = vroce_quota_take(dev, vroce_qp_kind(hw));
	if (err)
		return err;
	user = vroce_long_begin(dev, direct ? direct->send_pages + direct->recv_pages : 0);
	if (IS_ERR(user)) {
		vroce_quota_give(dev, vroce_qp_kind(hw));
		return PTR_ERR(user);
	}
	vroce_numbers_lock(&dev->qpns, false);
	err = vroce_cmd_create_qp(dev->aux, params, &hw->qpn);
	vroce_numbers_unlock(&dev->qpns, false);
	vroce_long_end(user);
	return vroce_hw_qp_answered(dev, hw, VIRTIO_NET_CTRL_ROCE_CREATE_QP, err);
}

static int vroce_hw_qp_attach(struct vroce_hw_qp *hw,
			      struct virtio_net_roce_aux *aux)
{
	int err;

	err = vroce_queue_attach_wq(&hw->sq, aux->ops->sq_vq(aux, hw->qpn));
	if (err)
		return err;
	return vroce_queue_attach_wq(&hw->rq, aux->ops->rq_vq(aux, hw->qpn));
}

/**
 * vroce_hw_qp_create() - create a QP in the device
 * @dev: device
 * @ibpd: its protection domain
 * @attr: what was asked for
 * @cap: what the device must provide
 * @kernel: the kernel will post and poll, not a process
 * @db: doorbell page of the owner, NULL for a QP in the form of the RFC
 *
 * Context: may sleep.
 * Return: QP, or error pointer.
 */
struct vroce_hw_qp *
vroce_hw_qp_create(struct vroce_dev *dev, struct ib_pd *ibpd,
		   const struct ib_qp_init_attr *attr,
		   const struct ib_qp_cap *cap, bool kernel,
		   struct vroce_doorbell *db)
{
	/* An XRC_INI QP has none of its own. */
	struct ib_cq *recv_cq = attr->recv_cq ? attr->recv_cq : attr->send_cq;
	struct vroce_direct_params direct = {};
	struct vroce_create_qp_params params = {
		.pdn = to_vpd(ibpd)->hw->handle,
		.type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR,
		/*
		 * Never for a process: it writes its own requests, and with these
		 * it could make the device access any memory.
		 */
		.fast_reg = kernel && vroce_has_fast_reg(dev),
		.strip = attr->create_flags & IB_QP_CREATE_CVLAN_STRIPPING,
		.send_cqn = attr->qp_type == VROCE_QPT_WQ ? 0 :
			    to_vcq(attr->send_cq)->hw->cqn,
		.recv_cqn = attr->recv_cq ? to_vcq(recv_cq)->hw->cqn : 0,
		.cap = *cap,
	};
	struct vroce_hw_qp *hw;
	int err;

	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	hw->kernel = kernel;
	hw->gsi = params.type == IB_QPT_GSI;
	hw->datagram = hw->gsi || params.type == IB_QPT_UD;
	if (attr->srq) {
		hw->srq = to_vsrq(attr->srq)->hw;
		direct.shared = true;
		direct.srq = hw->srq->handle;
	}
	if (db) {
		params.direct = &direct;
		err = vroce_hw_qp_alloc_direct(dev, hw, db, params.type, cap,
					       &direct);
	} else {
		err = vroce_hw_qp_alloc_queues(hw, dev->aux->dma_dev, cap);
	}
	if (err)
		goto err_free;
	err = vroce_hw_qp_alloc_kernel(hw);
	if (err)
		goto err_queues;
	err = vroce_hw_qp_take_number(dev, hw, &params);
	if (vroce_may_have_memory(err)) {
		vroce_mem_keep(dev, hw->mem);
		hw->mem = NULL;
	}
	if (err)
		goto err_queues;
	kvfree(direct.pages);

	hw->pd = to_vpd(ibpd)->hw;
	hw->scq = to_vcq(attr->send_cq)->hw;
	hw->rcq = to_vcq(recv_cq)->hw;
	vroce_obj_get(&hw->pd->obj);
	vroce_obj_get(&hw->scq->obj);
	vroce_obj_get(&hw->rcq->obj);
	if (hw->srq)
		vroce_obj_get(&hw->srq->obj);
	vroce_obj_init(&hw->obj, dev, vroce_hw_qp_release);
	err = db ? 0 : vroce_hw_qp_attach(hw, dev->aux);
	if (err) {
		vroce_obj_put(&hw->obj);
		return ERR_PTR(err);
	}
	return hw;

err_queues:
	kvfree(direct.pages);
	vroce_hw_qp_free_queues(hw);
err_free:
	kfree(hw);
	return ERR_PTR(err);
}

/* One without queues counts among the direct ones. */
static struct vroce_hw_qp *vroce_hw_bare_alloc(void)
{
	struct vroce_hw_qp *hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);

	if (hw) {
		hw->sq.direct = true;
		hw->rq.direct = true;
	}
	return hw;
}

/**
 * vroce_hw_tgt_create() - create an XRC_TGT QP in the device
 * @dev: device
 * @xrcd: its XRC domain
 *
 * Nobody posts to it or polls for it: it takes requests from SRQs of the domain.
 *
 * Context: may sleep.
 * Return: QP, or error pointer.
 */
struct vroce_hw_qp *vroce_hw_tgt_create(struct vroce_dev *dev,
					struct vroce_hw_domain *xrcd)
{
	const struct vroce_direct_params direct = {
		.xrcd = xrcd->handle,
		.first = dev->aux->max_qps,
		.end = dev->aux->max_qps + dev->attr.max_direct_qp,
	};
	const struct vroce_create_qp_params params = {
		.type = IB_QPT_XRC_TGT,
		.direct = &direct,
	};
	struct vroce_hw_qp *hw;
	int err;

	hw = vroce_hw_bare_alloc();
	if (!hw)
		return ERR_PTR(-ENOMEM);
	err = vroce_hw_qp_take_number(dev, hw, &params);
	if (err) {
		kfree(hw);
		return ERR_PTR(err);
	}
	hw->xrcd = xrcd;
	vroce_obj_get(&xrcd->obj);
	vroce_obj_init(&hw->obj, dev, vroce_hw_qp_release);
	return hw;
}

/**
 * vroce_hw_rx_hash_create() - create a QP that spreads frames over work queues
 * @dev: device
 * @req: what it is like, as the device takes it
 *
 * Nobody posts to it or polls for it.  The core keeps its table.
 *
 * Context: may sleep.
 * Return: QP, or error pointer.
 */
struct vroce_hw_qp *
vroce_hw_rx_hash_create(struct vroce_dev *dev,
			struct virtio_rdma_cmd_create_rx_hash_qp *req)
{
	u32 first = dev->aux->max_qps;
	struct vroce_hw_qp *hw;
	int err;

	hw = vroce_hw_bare_alloc();
	if (!hw)
		return ERR_PTR(-ENOMEM);
	err = vroce_quota_take(dev, vroce_qp_kind(hw));
	if (err)
		goto err_free;
	vroce_numbers_lock(&dev->qpns, false);
	err = vroce_cmd_create_rx_hash_qp(dev->aux, req, first,
					  first + dev->attr.max_direct_qp, &hw->qpn);
	vroce_numbers_unlock(&dev->qpns, false);
	err = vroce_hw_qp_answered(dev, hw, VIRTIO_NET_CTRL_ROCE_CREATE_RX_HASH_QP, err);
	if (err)
		goto err_free;
	vroce_obj_init(&hw->obj, dev, vroce_hw_qp_release);
	return hw;

err_free:
	kfree(hw);
	return ERR_PTR(err);
}
