// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "vroce_caps.h"
#include "vroce_cmd_cq.h"
#include "vroce_cq.h"
#include "vroce_flush.h"
#include "vroce_form.h"
#include "vroce_kq.h"
#include "vroce_mem.h"
#include "vroce_mmap.h"
#include "vroce_obj.h"
#include "vroce_queue.h"
#include "vroce_resize.h"
#include "vroce_restrack.h"
#include "vroce_udata.h"
#include "vroce_users.h"

/* Completions start on cache lines of their own. */
#define VROCE_CQ_ALIGN	64

/* ib_mad cannot be configured to ask for fewer than 64 requests on each side. */
#define VROCE_SHORT_CQ_MIN	128

/* How many CQNs to try until one has the requested interrupt vector. */
#define VROCE_VECTOR_TRIES	16

static enum vroce_kind vroce_cq_kind(bool direct)
{
	return direct ? VROCE_DIRECT_CQ : VROCE_CQ;
}

static void vroce_hw_cq_release(struct vroce_obj *obj)
{
	struct vroce_hw_cq *hw = container_of(obj, struct vroce_hw_cq, obj);
	struct vroce_dev *dev = obj->dev;
	bool alone = !hw->queue.direct;

	vroce_numbers_lock(&dev->cqns, alone);
	if (vroce_cmd_destroy_cq(dev->aux, hw->cqn)) {
		vroce_queue_keep(dev, &hw->queue);
		vroce_mem_keep(dev, hw->mem);
		hw->mem = NULL;
	} else {
		vroce_queue_detach(&hw->queue);
		clear_bit(hw->cqn, dev->cqns.taken);
		vroce_quota_give(dev, vroce_cq_kind(hw->queue.direct));
	}
	vroce_numbers_unlock(&dev->cqns, alone);
	/* A process may still map it, and must not wait for completions any more. */
	if (hw->mem && hw->queue.direct)
		WRITE_ONCE(hw->control->device, cpu_to_le32(1));
	vroce_mem_destroy(hw->mem);
	vroce_queue_free(&hw->queue);
	kfree(hw);
}

/* Context: lock of the CQNs held alone. */
static int vroce_cqn_take(struct vroce_dev *dev, u32 cqe, u32 *cqn)
{
	int err;

	err = vroce_cmd_create_cq(dev->aux, cqe, cqn);
	if (!err && test_and_set_bit(*cqn, dev->cqns.taken))
		err = vroce_cmd_bad_answer(dev->aux, VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
					   *cqn);
	return err;
}

/* Give back a number that was not used.  Context: lock of the CQNs held alone. */
static void vroce_cqn_give(struct vroce_dev *dev, u32 cqn)
{
	if (!vroce_cmd_destroy_cq(dev->aux, cqn))
		clear_bit(cqn, dev->cqns.taken);
	else
		vroce_quota_take(dev, VROCE_CQ);
}

/*
 * The device chooses the number, and with it the interrupt vector.  If the vector is
 * not the requested one, other numbers are tried, and the unused ones are given back.
 * A CQ with another vector is better than no CQ.
 *
 * Context: lock of the CQNs held alone, so that nobody else misses the unused ones.
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
				   u32 cqe, u32 vector,
				   const struct vroce_create_cq_params *params)
{
	enum vroce_kind kind = vroce_cq_kind(hw->queue.direct);
	struct vroce_user *user;
	int err;

	err = vroce_quota_take(dev, kind);
	if (err)
		return err;
	user = vroce_long_begin(dev, params ? params->npages : 0);
	if (IS_ERR(user)) {
		vroce_quota_give(dev, kind);
		return PTR_ERR(user);
	}
	vroce_numbers_lock(&dev->cqns, !params);
	err = params ? vroce_cmd_create_cq_long(dev->aux, params, &hw->cqn) :
		       vroce_cqn_search(dev, hw, cqe, vector);
	vroce_numbers_unlock(&dev->cqns, !params);
	vroce_long_end(user);
	if (!err && params && !vroce_numbers_take(&dev->cqns, hw->cqn))
		err = vroce_cmd_bad_answer(dev->aux, VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
					   hw->cqn);
	if (err)
		vroce_quota_give(dev, kind);
	return err;
}

/*
 * The long form: with a control block, by which it is armed, and, if it is direct, with
 * a ring.  The control block is the last part of its memory.
 */
static int vroce_hw_cq_create_long(struct vroce_dev *dev, struct vroce_hw_cq *hw,
				   u32 cqe, u32 vector, bool kernel)
{
	bool direct = hw->queue.direct;
	u32 stride = hw->queue.stride;
	const size_t lens[] = {
		array_size(cqe, stride),
		VIRTIO_RDMA_CONTROL_SIZE,
	};
	u32 control = direct ? 1 : 0;
	struct vroce_create_cq_params params = {
		.cqe = cqe,
		.direct = direct,
		.timed = direct && stride == sizeof(struct virtio_rdma_cqe_timed),
		.cqe_shift = direct ? ilog2(stride) : 0,
		.event_vq = vector % dev->aux->num_events,
		.first = direct ? dev->aux->max_cqs : 0,
		.end = dev->aux->max_cqs +
		       (direct ? dev->attr.max_direct_cq : 0),
	};
	__le64 *pages;
	int err;

	hw->mem = vroce_mem_create(dev->aux->dma_dev, direct ? lens : lens + 1,
				   control + 1, kernel ? VROCE_MEM_KERNEL : 0);
	if (IS_ERR(hw->mem))
		return PTR_ERR(hw->mem);
	hw->control = vroce_mem_addr(hw->mem, control);
	if (direct) {
		vroce_queue_init_direct(&hw->queue, kernel ?
					vroce_mem_addr(hw->mem, 0) : NULL,
					cqe, stride);
		hw->queue.consumer = &hw->control->consumer;
		params.npages = vroce_mem_wire_pages(hw->mem, 0);
	}
	params.control = vroce_mem_dma(hw->mem, control);
	pages = vroce_mem_list(hw->mem, control);
	params.pages = pages;
	err = pages ? vroce_hw_cq_take_number(dev, hw, cqe, vector, &params) :
		      -ENOMEM;
	kvfree(pages);
	if (err)
		vroce_mem_failed(dev, hw->mem, err);
	return err;
}

/* @stride: bytes of a completion of a direct CQ; of another one 0. */
static struct vroce_hw_cq *vroce_hw_cq_create(struct vroce_dev *dev, u32 cqe,
					      u32 vector, bool kernel,
					      u32 stride)
{
	bool direct = stride;
	struct vroce_hw_cq *hw;
	int err;

	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	hw->queue.direct = direct;
	hw->queue.stride = stride;
	if (!direct) {
		err = vroce_queue_alloc(&hw->queue, dev->aux->dma_dev,
					min(cqe, dev->max_cq_slots),
					sizeof(struct virtio_rdma_cq_req),
					VROCE_CQ_ALIGN);
		if (err)
			goto err_free;
		err = kernel ? 0 : vroce_queue_charge(&hw->queue);
		if (err)
			goto err_queue;
	}
	if (direct || (kernel && vroce_has_events(dev)))
		err = vroce_hw_cq_create_long(dev, hw, cqe, vector, kernel);
	else
		err = vroce_hw_cq_take_number(dev, hw, cqe, vector, NULL);
	if (err)
		goto err_queue;

	spin_lock_init(&hw->lock);
	vroce_obj_init(&hw->obj, dev, vroce_hw_cq_release);
	if (direct)
		return hw;
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

static int vroce_cq_expose(struct vroce_cq *cq, struct ib_udata *udata)
{
	struct virtio_roce_create_cq_resp resp = {};
	int err;

	if (cq->hw->queue.direct)
		err = vroce_maps_insert_cq(&cq->maps, &cq->uctx->ibucontext,
					   cq->hw->mem, cq->hw->queue.depth,
					   cq->hw->queue.stride, &resp.cq);
	else
		err = vroce_maps_insert(&cq->maps, &cq->uctx->ibucontext,
					&cq->hw->obj, &cq->hw->queue, true,
					&resp.cq);
	if (err)
		return err;
	if (!cq->hw->queue.direct)
		resp.cq.flags |= vroce_alive_expose(cq->hw);
	err = vroce_udata_out(udata, &resp, sizeof(resp));
	if (err)
		vroce_maps_remove(&cq->maps);
	return err;
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
static int vroce_cq_check_size(struct vroce_dev *dev, u32 cqe, u32 stride)
{
	u32 max = !stride ? dev->attr.max_cqe :
		  stride == sizeof(struct virtio_rdma_cqe) ? dev->attr.max_direct_cqe :
							     dev->max_timed_cqe;

	if (cqe && cqe <= max)
		return 0;
	ibdev_notice_ratelimited(&dev->ibdev,
				 "CQ of %u entries refused: 1 to %u (max_cqe)\n",
				 cqe, max);
	return -EINVAL;
}

/*
 * The size of a completion of a direct CQ, which tells whether it has its time; 0 of another
 * one.  Consumers in the kernel have no way to ask for a time.
 *
 * Return: 0 or -EOPNOTSUPP.
 */
static int vroce_cq_stride(struct vroce_dev *dev, u32 flags, struct ib_udata *udata,
			   u32 *stride)
{
	bool timed = flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;

	*stride = !vroce_wants_direct(dev, udata) ? 0 :
		  timed ? sizeof(struct virtio_rdma_cqe_timed) :
			  sizeof(struct virtio_rdma_cqe);
	if (!flags || (flags == IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION && udata &&
		       *stride && vroce_has_cq_timestamp(dev)))
		return 0;
	ibdev_notice_ratelimited(&dev->ibdev,
				 "CQ refused: flags %#x are not supported\n", flags);
	return -EOPNOTSUPP;
}

/* Without a control block the lower module looks for completions. */
static int vroce_cq_enable(struct vroce_dev *dev, struct vroce_cq *cq, bool kernel)
{
	if (cq->hw->control)
		return 0;
	return dev->aux->ops->cq_enable(dev->aux, cq->hw->cqn, kernel,
					vroce_cq_notify, &cq->ibcq);
}

/* No handler of the CQ, which events do not find any more, runs on return. */
static void vroce_cq_disable(struct vroce_dev *dev, struct vroce_cq *cq)
{
	if (cq->hw->control)
		dev->aux->ops->synchronize(dev->aux);
	else
		dev->aux->ops->cq_disable(dev->aux, cq->hw->cqn);
}

/**
 * vroce_cq_fatal() - a CQ is in error
 * @cq: CQ
 *
 * Its consumer is told once: the core keeps each event until the process reads it.
 *
 * Context: interrupts off.
 */
void vroce_cq_fatal(struct vroce_cq *cq)
{
	struct ib_cq *ibcq = &cq->ibcq;
	struct ib_event event = {
		.device = ibcq->device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = ibcq,
	};

	if (!xchg(&cq->failed, 1) && ibcq->event_handler)
		ibcq->event_handler(&event, ibcq->cq_context);
}

/**
 * vroce_cq_answered() - there was an event of a CQ, which answers an arming
 * @cq: CQ
 *
 * An event that no arming asked for, or of a CQ that a process arms, is not counted.  A
 * device that holds completions sends one for a completion that it holds, and the CQ stays
 * armed.  So these answer nothing.
 *
 * Context: any.
 */
void vroce_cq_answered(struct vroce_cq *cq)
{
	struct vroce_hw_cq *hw = cq->hw;
	unsigned long flags;

	if (!hw->queue.direct && vroce_cqs_hold(hw->obj.dev))
		return;
	spin_lock_irqsave(&hw->lock, flags);
	if (hw->answered < hw->armings)
		hw->answered++;
	spin_unlock_irqrestore(&hw->lock, flags);
}

/**
 * vroce_create_cq() - make a completion queue
 * @ibcq: completion queue
 * @attr: what is asked for
 * @arg: from the user, NULL for the kernel
 *
 * Return: 0 or -errno.
 */
int vroce_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    VROCE_CREATE_CQ_ARG *arg)
{
	struct ib_udata *udata = vroce_create_cq_udata(arg);
	struct vroce_dev *dev = to_vdev(ibcq->device);
	struct vroce_cq *cq = to_vcq(ibcq);
	u32 cqe = attr->cqe, stride;
	bool short_of;
	int err;

	cq->uctx = vroce_udata_context(udata);
	err = vroce_check_udata(udata,
				offsetofend(struct virtio_roce_create_cq_resp,
					    cq));
	if (err)
		return err;
	err = vroce_cq_stride(dev, attr->flags, udata, &stride);
	if (err)
		return err;
	short_of = !stride && cqe > dev->attr.max_cqe &&
		   vroce_cq_may_be_short(dev, ibcq);
	if (short_of)
		cqe = dev->attr.max_cqe;
	err = vroce_cq_check_size(dev, cqe, stride);
	if (err)
		return err;

	cqe = roundup_pow_of_two(cqe);
	if (stride)
		cqe = max_t(u32, cqe, VIRTIO_RDMA_DIRECT_MIN_CQE);
	cq->hw = vroce_hw_cq_create(dev, cqe, attr->comp_vector, !udata, stride);
	if (IS_ERR(cq->hw))
		return PTR_ERR(cq->hw);
	cq->hw->short_of = short_of;
	mutex_init(&cq->resizing);
	err = xa_err(xa_store_irq(&dev->cqs, cq->hw->cqn, cq, GFP_KERNEL));
	if (err)
		goto err_hw;
	if (udata) {
		err = vroce_cq_expose(cq, udata);
		if (err)
			goto err_cqs;
	}
	ibcq->cqe = cqe;
	err = vroce_cq_enable(dev, cq, !udata);
	if (err)
		goto err_maps;
	return 0;

err_maps:
	vroce_maps_remove(&cq->maps);
err_cqs:
	xa_erase_irq(&dev->cqs, cq->hw->cqn);
	if (cq->hw->control)
		vroce_cq_disable(dev, cq);
err_hw:
	vroce_obj_put(&cq->hw->obj);
	return err;
}

/**
 * vroce_destroy_cq() - destroy a completion queue
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
	struct vroce_cq *cq = to_vcq(ibcq);
	struct vroce_hw_cq *hw = cq->hw;

	xa_erase_irq(&dev->cqs, hw->cqn);
	vroce_cq_disable(dev, cq);
	vroce_maps_remove(&cq->maps);
	vroce_restrack_hide_cq(cq);
	vroce_obj_put(&hw->obj);
	return 0;
}

/**
 * vroce_resize_cq() - verb: change the number of completions that a CQ can hold
 * @ibcq: completion queue
 * @cqe: how many
 * @udata: of the user
 *
 * The slots stay as they are.  A device with CQ_HOLD holds completions that find no
 * slot, and as many for any CQ, so there is no command for it.  A CQ never shrinks.  A
 * direct CQ of a process gets another ring; one of the kernel stays as it is.
 *
 * Return: 0 or -errno.
 */
int vroce_resize_cq(struct ib_cq *ibcq, VROCE_RESIZE_CQ_ARG cqe,
		    struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibcq->device);
	const struct vroce_queue *q = &to_vcq(ibcq)->hw->queue;
	bool direct = q->direct;
	int err;

	err = vroce_check_udata(udata, 0);
	if (err)
		return err;
	err = vroce_cq_check_size(dev, cqe, direct ? q->stride : 0);
	if (err)
		return err;
	if (direct && udata)
		return vroce_cq_grow(to_vcq(ibcq), cqe, udata);
	if (cqe <= ibcq->cqe)
		return 0;
	if (direct)
		return -EOPNOTSUPP;
	if (!vroce_cqs_hold(dev)) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "CQ not resized: the device has no capability CQ_HOLD\n");
		return -EOPNOTSUPP;
	}
	ibcq->cqe = roundup_pow_of_two(cqe);
	return 0;
}

/* How many completions an arming looks at to see whether one has come. */
#define VROCE_ARM_LOOKS	64

/*
 * Has a completion come since this was last asked?  If it says so without need, that does
 * no harm.  Context: lock of the CQ held.
 */
static bool vroce_cq_has_grown(struct vroce_hw_cq *hw)
{
	const struct vroce_queue *q = &hw->queue;
	bool grown = (s32)(q->next - hw->grown) > 0;
	unsigned int i;

	if (grown)
		hw->grown = q->next;
	for (i = 0; i < VROCE_ARM_LOOKS && vroce_cq_entry(q, hw->grown - q->next); i++) {
		hw->grown++;
		grown = true;
	}
	return grown;
}

/*
 * Arm a CQ by a store.  The device sees the last arming only, so an arming repeats what
 * earlier ones asked for and may not have got: one for solicited completions must not
 * take the wake-up of one for any completion.
 *
 * There is at most one event for each arming, and they come in order.  So @answered events
 * answer the armings up to this number, at least, however late they are handled.  An
 * arming without a completion since the one before is counted with that, because only the
 * later of the two can get an event: if the device had seen the earlier one, it would
 * have stored a completion before, and we would see that after our own store.  Armings
 * that got no event although completions came, since these were not solicited, make the
 * number of answers smaller than it is.  Then events come that nobody needs, and none is
 * lost.
 */
static void vroce_cq_store_arm(struct vroce_hw_cq *hw, bool solicited)
{
	unsigned long flags;
	bool any;
	u32 arm;

	spin_lock_irqsave(&hw->lock, flags);
	any = !solicited || hw->any > hw->answered;
	hw->arm += VIRTIO_RDMA_ARM_NUMBER;
	arm = hw->arm | (any ? VIRTIO_RDMA_ARM_NEXT : VIRTIO_RDMA_ARM_SOLICITED);
	WRITE_ONCE(hw->control->arm, cpu_to_le32(arm));
	/* The device stores a completion before it looks whether the CQ is armed. */
	mb();
	if (vroce_cq_has_grown(hw) || hw->answered == hw->armings)
		hw->armings++;
	if (!solicited)
		hw->any = hw->armings;
	spin_unlock_irqrestore(&hw->lock, flags);
}

/**
 * vroce_modify_cq() - let the event of a CQ wait for more completions
 * @ibcq: CQ
 * @count: completions that end the wait; 0 for any number
 * @period: microseconds that it lasts at most; 0 for none
 *
 * Return: 0 or -errno.
 */
int vroce_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct vroce_cq *cq = to_vcq(ibcq);

	/* One of the RFC is armed by commands, and has an interrupt for each. */
	if (!cq->hw->control)
		return -EOPNOTSUPP;
	return vroce_cmd_modify_cq(to_vdev(ibcq->device)->aux, cq->hw->cqn, count, period);
}

/**
 * vroce_req_notify_cq() - verb: call the completion handler once
 * @ibcq: completion queue
 * @flags: for which completions
 *
 * The core takes an errno for "armed".  So a kernel consumer's request must not fail
 * for lack of room or memory; it is sent when there is room.  With a control block it is
 * a store, and a process does that itself.
 *
 * While a consumer polls, it does not hear the call of its handler.  So it is told of
 * requests that the driver will flush as of completions that it has missed.
 *
 * Context: any for the kernel's CQs.
 * Return: 0, 1 if completions may have been missed and that was asked for, or
 * -errno.
 */
int vroce_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct vroce_dev *dev = to_vdev(ibcq->device);
	struct virtio_net_roce_aux *aux = dev->aux;
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct vroce_cq *cq = to_vcq(ibcq);
	int err;

	/* A request posted to a dead device calls the handler without being asked. */
	if (!ibcq->uobject && READ_ONCE(dev->health))
		return flags & IB_CQ_REPORT_MISSED_EVENTS &&
		       (vroce_cq_has_completions(cq->hw) ||
			vroce_flush_owes(dev, cq->hw));
	if (ibcq->uobject && cq->hw->control)
		return -EOPNOTSUPP;
	if (ibcq->uobject) {
		/* Before the command, because the device may act on it at once. */
		aux->ops->cq_arm(aux, cq->hw->cqn);
		return vroce_cmd_req_notify_cq(aux, cq->hw->cqn, solicited);
	}
	if (cq->hw->control) {
		vroce_cq_store_arm(cq->hw, solicited);
	} else {
		err = aux->ops->cq_request(aux, cq->hw->cqn, solicited);
		if (err)
			return err;
	}
	return flags & IB_CQ_REPORT_MISSED_EVENTS &&
	       vroce_cq_has_completions(cq->hw);
}
