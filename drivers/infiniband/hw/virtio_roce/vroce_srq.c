// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: the verbs, and the data path of kernel consumers.
 *
 * An SRQ is a ring of requests, which the device takes in the order in which they were
 * posted.  They complete in any order, so each has a cookie, which its completion names.
 * A cookie is an index of &vroce_queue.requests, and free if no request has it.  There
 * are as many as slots, so that a request with a cookie has a slot, too: the device has
 * copied the request that was in it.
 *
 * An XRC SRQ is a process's.  It has a CQ of its own, and QPs do not refer to it.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "vroce_caps.h"
#include "vroce_cmd_srq.h"
#include "vroce_form.h"
#include "vroce_hw_qp.h"
#include "vroce_kept.h"
#include "vroce_kq.h"
#include "vroce_mem.h"
#include "vroce_mmap.h"
#include "vroce_obj.h"
#include "vroce_queue.h"
#include "vroce_srq.h"
#include "vroce_srq_resize.h"
#include "vroce_udata.h"
#include "vroce_users.h"

static void vroce_hw_srq_free(struct vroce_hw_srq *hw)
{
	vroce_mem_destroy(hw->mem);
	vroce_queue_free(&hw->queue);
	kvfree(hw->free);
	kfree(hw);
}

static void vroce_hw_srq_release(struct vroce_obj *obj)
{
	struct vroce_hw_srq *hw = container_of(obj, struct vroce_hw_srq, obj);
	struct vroce_hw_domain *xrcd = hw->xrcd;
	struct vroce_hw_cq *cq = hw->cq;
	struct vroce_hw_domain *pd = hw->pd;
	int err = -EPROTO;

	/* Another SRQ's handle must not be destroyed, and this one's is not known. */
	if (!hw->foreign) {
		err = vroce_cmd_destroy_srq(obj->dev->aux, hw->handle);
		if (err && hw->kernel)
			err = vroce_settle(obj->dev, "SRQ", hw->handle);
	}
	if (err) {
		vroce_mem_keep(obj->dev, hw->mem);
		hw->mem = NULL;
	} else {
		vroce_quota_give(obj->dev, VROCE_SRQ);
	}
	vroce_hw_srq_free(hw);
	if (xrcd) {
		vroce_obj_put(&cq->obj);
		vroce_obj_put(&xrcd->obj);
	}
	vroce_obj_put(&pd->obj);
}

/* Allocates the memory that the kernel needs to post and poll. */
static int vroce_hw_srq_alloc_kernel(struct vroce_hw_srq *hw)
{
	u32 depth = hw->queue.depth;

	if (!hw->kernel)
		return 0;
	vroce_form_init_wq(&hw->queue, true);
	hw->free = kvmalloc_array(depth, sizeof(*hw->free), GFP_KERNEL);
	if (!hw->free)
		return -ENOMEM;
	for (hw->num_free = 0; hw->num_free < depth; hw->num_free++)
		hw->free[hw->num_free] = depth - 1 - hw->num_free;
	return vroce_queue_alloc_requests(&hw->queue);
}

static int vroce_hw_srq_alloc(struct vroce_dev *dev, struct vroce_hw_srq *hw,
			      const struct ib_srq_attr *attr,
			      struct vroce_create_srq_params *params)
{
	struct virtio_rdma_srq_control *control;
	size_t lens[VROCE_SRQ_PARTS];

	params->depth = attr->max_wr;
	params->max_sge = attr->max_sge;
	params->shift =
		vroce_stride_shift(offsetof(struct virtio_rdma_rwqe, sg_list) +
				   attr->max_sge * sizeof(struct virtio_rdma_sge));
	lens[VROCE_SRQ_RING] = (size_t)params->depth << params->shift;
	lens[VROCE_SRQ_CONTROL] = sizeof(*control);
	hw->mem = vroce_mem_create(dev->aux->dma_dev, lens, VROCE_SRQ_PARTS,
				   VROCE_MEM_PACKED |
				   (hw->kernel ? VROCE_MEM_KERNEL : 0));
	if (IS_ERR(hw->mem))
		return PTR_ERR(hw->mem);
	vroce_queue_init_direct(&hw->queue, hw->kernel ?
				vroce_mem_addr(hw->mem, VROCE_SRQ_RING) : NULL,
				params->depth, BIT(params->shift));
	control = vroce_mem_addr(hw->mem, VROCE_SRQ_CONTROL);
	hw->queue.producer = &control->producer;
	params->control = vroce_mem_dma(hw->mem, VROCE_SRQ_CONTROL);
	params->npages = vroce_mem_wire_pages(hw->mem, VROCE_SRQ_RING);
	params->pages = vroce_mem_list(hw->mem, VROCE_SRQ_CONTROL);
	return params->pages ? vroce_hw_srq_alloc_kernel(hw) : -ENOMEM;
}

static void vroce_hw_srq_plan(struct vroce_hw_srq *hw,
			      const struct ib_srq_init_attr *attr,
			      struct vroce_create_srq_params *params)
{
	if (attr->srq_type != IB_SRQT_XRC)
		return;
	hw->xrcd = to_vxrcd(attr->ext.xrc.xrcd)->hw;
	hw->cq = to_vcq(attr->ext.cq)->hw;
	params->xrc = true;
	params->xrcd = hw->xrcd->handle;
	params->cqn = hw->cq->cqn;
}

static void vroce_hw_srq_hold(struct vroce_hw_srq *hw)
{
	vroce_obj_get(&hw->pd->obj);
	if (!hw->xrcd)
		return;
	vroce_obj_get(&hw->xrcd->obj);
	vroce_obj_get(&hw->cq->obj);
}

static int vroce_hw_srq_tell(struct vroce_dev *dev,
			     const struct vroce_create_srq_params *params, u32 *handle)
{
	struct vroce_user *user = vroce_long_begin(dev, params->npages);
	int err;

	if (IS_ERR(user))
		return PTR_ERR(user);
	err = vroce_cmd_create_srq(dev->aux, params, handle);
	vroce_long_end(user);
	return err;
}

static struct vroce_hw_srq *vroce_hw_srq_create(struct vroce_dev *dev,
						struct vroce_hw_domain *pd,
						const struct ib_srq_init_attr *attr,
						bool kernel)
{
	struct vroce_create_srq_params params = { .pdn = pd->handle };
	struct vroce_hw_srq *hw;
	int err;

	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	hw->kernel = kernel;
	hw->pd = pd;
	spin_lock_init(&hw->lock);
	vroce_hw_srq_plan(hw, attr, &params);
	err = vroce_hw_srq_alloc(dev, hw, &attr->attr, &params);
	if (err)
		goto err_free;
	err = vroce_quota_take(dev, VROCE_SRQ);
	if (err)
		goto err_free;
	err = vroce_hw_srq_tell(dev, &params, &hw->handle);
	if (err)
		goto err_quota;
	kvfree(params.pages);
	vroce_hw_srq_hold(hw);
	vroce_obj_init(&hw->obj, dev, vroce_hw_srq_release);
	return hw;

err_quota:
	vroce_quota_give(dev, VROCE_SRQ);
	if (vroce_may_have_memory(err)) {
		vroce_mem_keep(dev, hw->mem);
		hw->mem = NULL;
	}
err_free:
	kvfree(params.pages);
	vroce_hw_srq_free(hw);
	return ERR_PTR(err);
}

static int vroce_srq_expose(struct vroce_srq *srq, struct ib_udata *udata)
{
	struct virtio_roce_create_srq_resp resp = {};
	struct vroce_hw_srq *hw = srq->hw;
	struct vroce_ucontext *uctx;
	int err;

	uctx = vroce_udata_context(udata);
	err = vroce_maps_insert_srq(&srq->maps, &uctx->ibucontext, &hw->queue,
				    hw->mem, &resp.srq);
	if (err)
		return err;
	err = vroce_udata_out(udata, &resp, sizeof(resp));
	if (err)
		vroce_maps_remove(&srq->maps);
	return err;
}

/* The kernel has no consumer that polls for an XRC SRQ. */
static bool vroce_srq_is_supported(struct vroce_dev *dev,
				   const struct ib_srq_init_attr *attr,
				   struct ib_udata *udata)
{
	if (!vroce_wants_direct(dev, udata))
		return false;
	return attr->srq_type == IB_SRQT_BASIC ||
	       (attr->srq_type == IB_SRQT_XRC && udata && vroce_has_xrc(dev) &&
		to_vcq(attr->ext.cq)->hw->queue.direct);
}

static int vroce_srq_check(struct vroce_dev *dev,
			   const struct ib_srq_init_attr *attr,
			   struct ib_udata *udata)
{
	int err;

	err = vroce_check_udata(udata,
				offsetofend(struct virtio_roce_create_srq_resp,
					    srq));
	if (err)
		return err;
	if (!vroce_srq_is_supported(dev, attr, udata))
		return -EOPNOTSUPP;
	if (attr->attr.max_wr && attr->attr.max_wr <= dev->attr.max_direct_wr &&
	    attr->attr.max_sge <= dev->attr.max_recv_sge)
		return 0;
	ibdev_notice_ratelimited(&dev->ibdev,
				 "SRQ of %u requests with %u elements refused: 1 to %u, and %u\n",
				 attr->attr.max_wr, attr->attr.max_sge,
				 dev->attr.max_direct_wr, dev->attr.max_recv_sge);
	return -EINVAL;
}

/**
 * vroce_create_srq() - make a shared receive queue
 * @ibsrq: shared receive queue
 * @attr: what is asked for; on return its size is that of the SRQ
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		     struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibsrq->device);
	struct vroce_srq *srq = to_vsrq(ibsrq);
	int err;

	srq->uctx = vroce_udata_context(udata);
	err = vroce_srq_check(dev, attr, udata);
	if (err)
		return err;
	attr->attr.max_wr = roundup_pow_of_two(attr->attr.max_wr);
	attr->attr.max_sge = max(attr->attr.max_sge, 1U);
	srq->max_sge = attr->attr.max_sge;
	mutex_init(&srq->resizing);
	mutex_init(&srq->nsid_lock);
	xa_init(&srq->nsids);
	srq->hw = vroce_hw_srq_create(dev, to_vpd(ibsrq->pd)->hw, attr, !udata);
	if (IS_ERR(srq->hw))
		return PTR_ERR(srq->hw);
	err = xa_insert_irq(&dev->srqs, srq->hw->handle, srq, GFP_KERNEL);
	if (err == -EBUSY) {
		srq->hw->foreign = true;
		err = vroce_cmd_bad_answer(dev->aux,
					   VIRTIO_NET_CTRL_ROCE_CREATE_SRQ,
					   srq->hw->handle);
	}
	if (err)
		goto err_hw;
	if (udata)
		err = vroce_srq_expose(srq, udata);
	if (err)
		goto err_srqs;
	if (attr->srq_type == IB_SRQT_XRC)
		ibsrq->ext.xrc.srq_num = srq->hw->handle;
	return 0;

err_srqs:
	xa_erase_irq(&dev->srqs, srq->hw->handle);
	dev->aux->ops->synchronize(dev->aux);
err_hw:
	vroce_obj_put(&srq->hw->obj);
	return err;
}

static int vroce_srq_set_limit(struct vroce_srq *srq, u32 limit)
{
	/* The event may be faster than the answer. */
	if (limit)
		WRITE_ONCE(srq->armed, 1);
	return vroce_cmd_modify_srq(to_vdev(srq->ibsrq.device)->aux,
				    srq->hw->handle, limit);
}

/*
 * The limit is never above the depth, so it comes first unless the ring must grow for it.
 *
 * Context: &vroce_srq.resizing held.
 */
static int vroce_srq_modify(struct vroce_srq *srq, struct ib_srq_attr *attr,
			    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	u32 old = srq->hw->queue.depth;
	u32 depth = mask & IB_SRQ_MAX_WR ? roundup_pow_of_two(attr->max_wr) : old;
	bool limit_first = mask & IB_SRQ_LIMIT && attr->srq_limit <= old;
	int err = 0;

	if (mask & IB_SRQ_LIMIT && attr->srq_limit > depth)
		return -EINVAL;
	if (limit_first)
		err = vroce_srq_set_limit(srq, attr->srq_limit);
	if (!err && mask & IB_SRQ_MAX_WR)
		err = vroce_srq_resize(srq, depth, udata);
	if (!err && mask & IB_SRQ_LIMIT && !limit_first)
		err = vroce_srq_set_limit(srq, attr->srq_limit);
	return err;
}

/**
 * vroce_modify_srq() - verb: arm the limit, or change the size
 * @ibsrq: shared receive queue
 * @attr: the limit, and how many requests it can hold
 * @mask: which attributes are given; only SRQs of processes change their size
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibsrq->device);
	struct vroce_srq *srq = to_vsrq(ibsrq);
	int err;

	if (mask & ~(IB_SRQ_LIMIT | IB_SRQ_MAX_WR))
		return -EOPNOTSUPP;
	if (mask & IB_SRQ_MAX_WR) {
		if (!udata || !vroce_has_srq_resize(dev))
			return -EOPNOTSUPP;
		if (!attr->max_wr || attr->max_wr > dev->attr.max_direct_wr)
			return -EINVAL;
	} else {
		err = vroce_check_udata(udata, 0);
		if (err)
			return err;
	}
	mutex_lock(&srq->resizing);
	err = vroce_srq_modify(srq, attr, mask, udata);
	mutex_unlock(&srq->resizing);
	return err;
}

/**
 * vroce_query_srq() - say the attributes of a shared receive queue
 * @ibsrq: shared receive queue
 * @attr: result
 *
 * Return: 0 or -errno.
 */
int vroce_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct vroce_srq *srq = to_vsrq(ibsrq);

	attr->max_wr = srq->hw->queue.depth;
	attr->max_sge = srq->max_sge;
	return vroce_cmd_query_srq(to_vdev(ibsrq->device)->aux, srq->hw->handle,
				   &attr->srq_limit);
}

/**
 * vroce_destroy_srq() - destroy a shared receive queue
 * @ibsrq: shared receive queue that no QP uses
 * @udata: of the user
 *
 * Return: 0.
 */
int vroce_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibsrq->device);
	struct vroce_srq *srq = to_vsrq(ibsrq);

	/* No handler of the SRQ, which events do not find any more, runs after this. */
	xa_erase_irq(&dev->srqs, srq->hw->handle);
	dev->aux->ops->synchronize(dev->aux);
	vroce_maps_remove(&srq->maps);
	vroce_obj_put(&srq->hw->obj);
	return 0;
}

/**
 * vroce_srq_event() - something has happened to an SRQ
 * @dev: device
 * @handle: SRQ, which may not exist
 * @type: what
 *
 * An SRQ that is found stays until this returns: see vroce_destroy_srq().
 *
 * Context: interrupts off.
 */
void vroce_srq_event(struct vroce_dev *dev, u32 handle, enum ib_event_type type)
{
	struct vroce_srq *srq = xa_load(&dev->srqs, handle);
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = type,
	};

	if (!srq || !srq->ibsrq.event_handler)
		return;
	/* The core keeps each event until the process reads it. */
	if (type == IB_EVENT_SRQ_ERR ? xchg(&srq->failed, 1) : !xchg(&srq->armed, 0))
		return;
	event.element.srq = &srq->ibsrq;
	srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/* ----- the data path of kernel consumers ----- */

/* Write a request into the next slot.  Context: lock held. */
static int vroce_srq_put(struct vroce_srq *srq, const struct ib_recv_wr *wr)
{
	struct vroce_hw_srq *hw = srq->hw;
	struct vroce_queue *q = &hw->queue;
	struct virtio_rdma_rwqe *slot = vroce_queue_slot(q, q->next);
	u32 cookie;

	if (wr->num_sge < 0 || wr->num_sge > srq->max_sge)
		return -EINVAL;
	if (!hw->num_free)
		return -ENOMEM;
	cookie = hw->free[--hw->num_free];
	vroce_put_recv(q, slot, &q->requests[cookie], wr);
	slot->cookie = cpu_to_le32(cookie);
	q->next++;
	return 0;
}

/**
 * vroce_post_srq_recv() - post receive requests to a shared receive queue
 * @ibsrq: shared receive queue
 * @wr: list of requests
 * @bad_wr: on error the first request that was not posted; else left alone
 *
 * Nothing is announced: the device looks for requests when a message comes.
 *
 * Context: any.
 * Return: 0 or -errno.
 */
int vroce_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct vroce_srq *srq = to_vsrq(ibsrq);
	struct vroce_hw_srq *hw = srq->hw;
	unsigned long flags;
	int err = 0;

	if (!hw->kernel) {
		*bad_wr = wr;
		return -EOPNOTSUPP;
	}
	spin_lock_irqsave(&hw->lock, flags);
	for (; wr; wr = wr->next) {
		err = vroce_srq_put(srq, wr);
		if (err)
			break;
	}
	/* The device sees requests before the index that shows them. */
	dma_wmb();
	WRITE_ONCE(*hw->queue.producer, cpu_to_le32(hw->queue.next));
	spin_unlock_irqrestore(&hw->lock, flags);
	if (err)
		*bad_wr = wr;
	return err;
}
