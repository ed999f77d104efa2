// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "vroce.h"

/* Completions start on cache lines of their own. */
#define VROCE_CQ_ALIGN	64

/* ib_mad cannot be configured to ask for fewer than 64 requests on each side. */
#define VROCE_SHORT_CQ_MIN	128

/* How many CQNs to try until one has the requested interrupt vector. */
#define VROCE_VECTOR_TRIES	16

/*
 * As soon as the device has answered DESTROY_CQ, it may return the number for a new CQ.
 * The lock makes a create that gets the number wait until the rings are zeroed.
 */
static void vroce_hw_cq_release(struct vroce_obj *obj)
{
	struct vroce_hw_cq *hw = container_of(obj, struct vroce_hw_cq, obj);
	struct vroce_dev *dev = obj->dev;

	mutex_lock(&dev->cqns.lock);
	if (vroce_cmd_destroy_cq(dev->aux, hw->cqn)) {
		vroce_queue_abandon(&hw->queue);
	} else {
		vroce_queue_detach(&hw->queue);
		__clear_bit(hw->cqn, dev->cqns.taken);
		vroce_quota_give(dev, VROCE_CQ);
	}
	mutex_unlock(&dev->cqns.lock);
	vroce_queue_free(&hw->queue);
	kfree(hw);
}

/* Context: lock of the CQNs held. */
static int vroce_cqn_take(struct vroce_dev *dev, u32 cqe, u32 *cqn)
{
	int err;

	err = vroce_cmd_create_cq(dev->aux, cqe, cqn);
	if (!err && __test_and_set_bit(*cqn, dev->cqns.taken))
		err = vroce_cmd_bad_answer(dev->aux, VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
					   *cqn);
	return err;
}

/* Give back a number that was not used.  Context: lock of the CQNs held. */
static void vroce_cqn_give(struct vroce_dev *dev, u32 cqn)
{
	if (!vroce_cmd_destroy_cq(dev->aux, cqn))
		__clear_bit(cqn, dev->cqns.taken);
	else
		vroce_quota_take(dev, VROCE_CQ);
}

/*
 * The device chooses the number, and with it the interrupt vector.  If the vector is
 * not the requested one, other numbers are tried, and the unused ones are given back.
 * A CQ with another vector is better than no CQ.
 *
 * Context: lock of the CQNs held, so that nobody else misses the unused ones.
 */
static int vroce_cqn_search(struct vroce_dev *dev, struct vroce_hw_cq *hw, u32 cqe,
			    u32 vector)
{
	u32 vectors = dev->aux->num_vectors, spare[VROCE_VECTOR_TRIES], n = 0;
	u32 tries = min_t(u32, vectors, VROCE_VECTOR_TRIES);
	int err;

	err = vroce_cqn_take(dev, cqe, &hw->cqn);
	if (err)
		return err;
	while (hw->cqn % vectors != vector % vectors && n + 1 < tries &&
	       !bitmap_full(dev->cqns.taken, dev->aux->max_cqs)) {
		spare[n] = hw->cqn;
		if (vroce_cqn_take(dev, cqe, &hw->cqn)) {
			hw->cqn = spare[n];
			break;
		}
		n++;
	}
	while (n--)
		vroce_cqn_give(dev, spare[n]);
	return 0;
}

static int vroce_hw_cq_take_number(struct vroce_dev *dev, struct vroce_hw_cq *hw,
				   u32 cqe, u32 vector)
{
	int err;

	err = vroce_quota_take(dev, VROCE_CQ);
	if (err)
		return err;
	mutex_lock(&dev->cqns.lock);
	err = vroce_cqn_search(dev, hw, cqe, vector);
	mutex_unlock(&dev->cqns.lock);
	if (err)
		vroce_quota_give(dev, VROCE_CQ);
	return err;
}

static struct vroce_hw_cq *vroce_hw_cq_create(struct vroce_dev *dev, u32 cqe,
					      u32 vector)
{
	struct vroce_hw_cq *hw;
	int err;

	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	err = vroce_queue_alloc(&hw->queue, dev->aux->dma_dev,
				min(cqe, dev->max_cq_slots),
				sizeof(struct virtio_rdma_cq_req),
				VROCE_CQ_ALIGN);
	if (err)
		goto err_free;
	err = vroce_hw_cq_take_number(dev, hw, cqe, vector);
	if (err)
		goto err_queue;

	spin_lock_init(&hw->lock);
	vroce_obj_init(&hw->obj, dev, vroce_hw_cq_release);
	err = vroce_queue_attach_cq(&hw->queue,
				    dev->aux->ops->cq_vq(dev->aux, hw->cqn));
	if (err) {
		vroce_obj_put(&hw->obj);
		return ERR_PTR(err);
	}
	return hw;

err_queue:
	vroce_queue_free(&hw->queue);
err_free:
	kfree(hw);
	return ERR_PTR(err);
}

/**
 * vroce_cq_notify() - there may be completions
 * @data: &struct ib_cq
 *
 * Context: hard interrupt, or interrupts off.
 */
void vroce_cq_notify(void *data)
{
	struct ib_cq *ibcq = data;

	if (ibcq->comp_handler)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}

static int vroce_cq_expose(struct vroce_cq *cq, struct ib_udata *udata)
{
	struct virtio_roce_create_cq_resp resp = {};
	struct vroce_ucontext *uctx;
	int err;

	uctx = rdma_udata_to_drv_context(udata, struct vroce_ucontext,
					 ibucontext);
	err = vroce_maps_insert(&cq->maps, &uctx->ibucontext, &cq->hw->obj,
				&cq->hw->queue, true, &resp.cq);
	if (err)
		return err;
	resp.cq.flags |= vroce_alive_show(cq->hw);
	err = vroce_udata_out(udata, &resp, sizeof(resp));
	if (err)
		vroce_maps_remove(&cq->maps);
	return err;
}

/**
 * vroce_cq_expect() - count one more completion that will come
 * @hw: CQ
 * @limit: refuse if this many are already due
 *
 * Only a CQ that got fewer slots than were asked for is counted.  Any other CQ has the
 * room that its user asked for, and the user must not overrun it.
 *
 * Context: any.
 * Return: false if there is no room for the completion.
 */
bool vroce_cq_expect(struct vroce_hw_cq *hw, u32 limit)
{
	int due;

	if (!hw->short_of)
		return true;
	due = atomic_read(&hw->due);
	do {
		if (due >= (int)limit)
			return false;
	} while (!atomic_try_cmpxchg(&hw->due, &due, due + 1));
	return true;
}

/**
 * vroce_cq_unexpect() - a completion was polled, or will not come after all
 * @hw: CQ
 *
 * Context: any.
 */
void vroce_cq_unexpect(struct vroce_hw_cq *hw)
{
	/* Stop at 0: a broken device may add completions that no request is due. */
	if (hw->short_of)
		atomic_dec_if_positive(&hw->due);
}

/*
 * ib_mad asks for 640 entries, one for each request that it posts, whatever the limit
 * of the device is.  The GSI works with fewer (see vroce_post.c), so ib_mad gets what
 * the device has if that is at least VROCE_SHORT_CQ_MIN. It is recognised by its
 * polling context.  Any other consumer with that polling context gets a CQ, but no QP
 * (see vroce_qp.c).
 */
static bool vroce_cq_may_be_short(struct vroce_dev *dev,
				  const struct ib_cq *ibcq)
{
	if (ibcq->uobject || ibcq->poll_ctx != IB_POLL_UNBOUND_WORKQUEUE)
		return false;
	if (dev->attr.max_cqe >= VROCE_SHORT_CQ_MIN)
		return true;
	ibdev_notice_ratelimited(&dev->ibdev,
				 "no GSI, and so no connection manager: ib_mad needs CQs of %u entries, and the device has %u (max_cqe)\n",
				 VROCE_SHORT_CQ_MIN, dev->attr.max_cqe);
	return false;
}

/* In old kernels the size is signed.  A negative one is a large number here. */
static int vroce_cq_check_size(struct vroce_dev *dev, u32 cqe)
{
	if (cqe && cqe <= dev->attr.max_cqe)
		return 0;
	ibdev_notice_ratelimited(&dev->ibdev,
				 "CQ of %u entries refused: 1 to %u (max_cqe)\n",
				 cqe, dev->attr.max_cqe);
	return -EINVAL;
}

/**
 * vroce_create_cq() - verb
 * @ibcq: completion queue
 * @attr: what is asked for
 * @arg: from the user, see vroce_create_cq_udata()
 *
 * Return: 0 or -errno.
 */
int vroce_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    VROCE_CREATE_CQ_ARG *arg)
{
	struct ib_udata *udata = vroce_create_cq_udata(arg);
	struct vroce_dev *dev = to_vdev(ibcq->device);
	struct vroce_cq *cq = to_vcq(ibcq);
	u32 cqe = attr->cqe;
	bool short_of;
	int err;

	err = vroce_check_udata(udata,
				offsetofend(struct virtio_roce_create_cq_resp,
					    cq));
	if (err)
		return err;
	if (attr->flags) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "CQ refused: flags %#x are not supported\n",
					 attr->flags);
		return -EOPNOTSUPP;
	}
	short_of = cqe > dev->attr.max_cqe && vroce_cq_may_be_short(dev, ibcq);
	if (short_of)
		cqe = dev->attr.max_cqe;
	err = vroce_cq_check_size(dev, cqe);
	if (err)
		return err;

	cqe = roundup_pow_of_two(cqe);
	cq->hw = vroce_hw_cq_create(dev, cqe, attr->comp_vector);
	if (IS_ERR(cq->hw))
		return PTR_ERR(cq->hw);
	cq->hw->short_of = short_of;
	err = xa_err(xa_store_irq(&dev->cqs, cq->hw->cqn, cq, GFP_KERNEL));
	if (err)
		goto err_hw;
	if (udata) {
		err = vroce_cq_expose(cq, udata);
		if (err)
			goto err_cqs;
	}
	ibcq->cqe = cqe;
	err = dev->aux->ops->cq_enable(dev->aux, cq->hw->cqn, !udata,
				       vroce_cq_notify, ibcq);
	if (err)
		goto err_maps;
	return 0;

err_maps:
	vroce_maps_remove(&cq->maps);
err_cqs:
	xa_erase_irq(&dev->cqs, cq->hw->cqn);
err_hw:
	vroce_obj_put(&cq->hw->obj);
	return err;
}

/**
 * vroce_destroy_cq() - verb
 * @ibcq: completion queue
 * @udata: of the user
 *
 * The device is told when user space has no mapping of the CQ any more.  Usually that
 * is now; see vroce_obj.c.
 *
 * Return: 0.
 */
int vroce_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibcq->device);
	struct virtio_net_roce_aux *aux = dev->aux;
	struct vroce_cq *cq = to_vcq(ibcq);

	xa_erase_irq(&dev->cqs, cq->hw->cqn);
	aux->ops->cq_disable(aux, cq->hw->cqn);
	vroce_maps_remove(&cq->maps);
	vroce_obj_put(&cq->hw->obj);
	return 0;
}

/**
 * vroce_resize_cq() - verb: change the number of completions that a CQ can hold
 * @ibcq: completion queue
 * @cqe: how many
 * @udata: of the user
 *
 * The slots stay as they are.  A device with CQ_HOLD holds completions that find no
 * slot, and as many for any CQ, so there is no command for it.  A CQ never shrinks.
 *
 * Return: 0 or -errno.
 */
int vroce_resize_cq(struct ib_cq *ibcq, VROCE_RESIZE_CQ_ARG cqe,
		    struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibcq->device);
	int err;

	err = vroce_check_udata(udata, 0);
	if (err)
		return err;
	err = vroce_cq_check_size(dev, cqe);
	if (err)
		return err;
	if (cqe <= ibcq->cqe)
		return 0;
	if (!vroce_cqs_hold(dev)) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "CQ not resized: the device has no capability CQ_HOLD\n");
		return -EOPNOTSUPP;
	}
	ibcq->cqe = roundup_pow_of_two(cqe);
	return 0;
}

/**
 * vroce_req_notify_cq() - verb: call the completion handler once
 * @ibcq: completion queue
 * @flags: for which completions
 *
 * The core takes an errno for "armed".  So a kernel consumer's request must not fail
 * for lack of room or memory; it is sent when there is room.
 *
 * Context: any for the kernel's CQs.
 * Return: 0, 1 if completions may have been missed and that was asked for, or
 * -errno.
 */
int vroce_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct virtio_net_roce_aux *aux = to_vdev(ibcq->device)->aux;
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct vroce_cq *cq = to_vcq(ibcq);
	int err;

	/* A request posted to a dead device calls the handler without being asked. */
	if (!ibcq->uobject && READ_ONCE(to_vdev(ibcq->device)->health))
		return 0;
	if (ibcq->uobject) {
		/* Before the command, because the device may act on it at once. */
		aux->ops->cq_arm(aux, cq->hw->cqn);
		return vroce_cmd_req_notify_cq(aux, cq->hw->cqn, solicited);
	}
	err = aux->ops->cq_request(aux, cq->hw->cqn, solicited);
	if (err)
		return err;
	return flags & IB_CQ_REPORT_MISSED_EVENTS &&
	       vroce_cq_has_completions(cq->hw);
}
