// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs.
 */
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "vroce_ring.h"
#include "vroce.h"
#include "vroce_wire.h"

#define VROCE_SQ_ALIGN	64
#define VROCE_RQ_ALIGN	32

/* More than ib_mad can be configured to ask for. */
#define VROCE_BACKLOG_MAX	16384

/* How long a device may take to flush a QP that goes to ERR. */
#define VROCE_FLUSH_MS	1000

/*
 * Completions that were not polled must not be taken for those of the next QP with
 * this number.  This is for the kernel's QPs only.  The provider does it in user space.
 */
static void vroce_hw_qp_forget(struct vroce_hw_qp *hw)
{
	if (!hw->kernel)
		return;
	vroce_cq_forget_qp(hw->scq, hw);
	if (hw->rcq != hw->scq)
		vroce_cq_forget_qp(hw->rcq, hw);
}

static enum vroce_kind vroce_qp_kind(bool gsi)
{
	return gsi ? VROCE_GSI : VROCE_QP;
}

/* As for CQs, the lock is held until the rings of the number are zeroed. */
static void vroce_hw_qp_release(struct vroce_obj *obj)
{
	struct vroce_hw_qp *hw = container_of(obj, struct vroce_hw_qp, obj);
	struct vroce_dev *dev = obj->dev;
	int err;

	mutex_lock(&dev->qpns.lock);
	err = vroce_cmd_destroy_qp(dev->aux, hw->qpn);
	/* Before its rings go, make sure that polling does not find the QP any more. */
	vroce_hw_qp_forget(hw);
	if (hw->kernel)
		xa_erase_irq(&dev->qps, hw->qpn);
	if (err) {
		vroce_queue_abandon(&hw->sq);
		vroce_queue_abandon(&hw->rq);
	} else {
		vroce_queue_detach(&hw->sq);
		vroce_queue_detach(&hw->rq);
		__clear_bit(hw->qpn, dev->qpns.taken);
		vroce_quota_give(dev, vroce_qp_kind(hw->gsi));
	}
	mutex_unlock(&dev->qpns.lock);
	vroce_queue_free(&hw->rq);
	vroce_queue_free(&hw->sq);
	vroce_obj_put(&hw->rcq->obj);
	vroce_obj_put(&hw->scq->obj);
	vroce_obj_put(&hw->pd->obj);
	kfree_rcu(hw, rcu);
}

static u32 vroce_rq_slot_len(const struct ib_qp_cap *cap)
{
	return sizeof(struct virtio_rdma_rq_req) +
	       cap->max_recv_sge * sizeof(struct virtio_rdma_sge);
}

static u32 vroce_rq_stride(const struct ib_qp_cap *cap)
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
	if (err || !hw->kernel)
		goto out;
	err = vroce_queue_alloc_requests(&hw->sq);
	if (!err)
		err = vroce_queue_alloc_requests(&hw->rq);
out:
	if (err) {
		vroce_queue_free(&hw->rq);
		vroce_queue_free(&hw->sq);
	}
	return err;
}

static int vroce_hw_qp_take_number(struct vroce_dev *dev, struct vroce_hw_qp *hw,
				   const struct vroce_create_qp_params *params)
{
	int err;

	hw->gsi = params->type == IB_QPT_GSI;
	hw->datagram = hw->gsi || params->type == IB_QPT_UD;
	err = vroce_quota_take(dev, vroce_qp_kind(hw->gsi));
	if (err)
		return err;
	mutex_lock(&dev->qpns.lock);
	err = vroce_cmd_create_qp(dev->aux, params, &hw->qpn);
	if (!err && __test_and_set_bit(hw->qpn, dev->qpns.taken))
		err = vroce_cmd_bad_answer(dev->aux, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
					   hw->qpn);
	mutex_unlock(&dev->qpns.lock);
	if (err)
		vroce_quota_give(dev, vroce_qp_kind(hw->gsi));
	return err;
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

static struct vroce_hw_qp *
vroce_hw_qp_create(struct vroce_dev *dev, struct ib_pd *ibpd,
		   const struct ib_qp_init_attr *attr,
		   const struct ib_qp_cap *cap, bool kernel)
{
	struct vroce_create_qp_params params = {
		.pdn = to_vpd(ibpd)->hw->pdn,
		.type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR,
		/*
		 * Never for a process: it writes its own requests, and with these
		 * it could make the device access any memory.
		 */
		.fast_reg = kernel && vroce_has_fast_reg(dev),
		.send_cqn = to_vcq(attr->send_cq)->hw->cqn,
		.recv_cqn = to_vcq(attr->recv_cq)->hw->cqn,
		.cap = *cap,
	};
	struct vroce_hw_qp *hw;
	int err;

	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	hw->kernel = kernel;
	err = vroce_hw_qp_alloc_queues(hw, dev->aux->dma_dev, cap);
	if (err)
		goto err_free;
	err = vroce_hw_qp_take_number(dev, hw, &params);
	if (err)
		goto err_queues;

	hw->pd = to_vpd(ibpd)->hw;
	hw->scq = to_vcq(attr->send_cq)->hw;
	hw->rcq = to_vcq(attr->recv_cq)->hw;
	vroce_obj_get(&hw->pd->obj);
	vroce_obj_get(&hw->scq->obj);
	vroce_obj_get(&hw->rcq->obj);
	vroce_obj_init(&hw->obj, dev, vroce_hw_qp_release);
	err = vroce_hw_qp_attach(hw, dev->aux);
	if (err) {
		vroce_obj_put(&hw->obj);
		return ERR_PTR(err);
	}
	return hw;

err_queues:
	vroce_queue_free(&hw->rq);
	vroce_queue_free(&hw->sq);
err_free:
	kfree(hw);
	return ERR_PTR(err);
}

/* All limits have the same errno, so a message tells which one was exceeded. */
static bool vroce_qp_exceeds(struct vroce_dev *dev, const char *what, u32 asked,
			     u32 limit)
{
	if (asked <= limit)
		return false;
	ibdev_notice_ratelimited(&dev->ibdev,
				 "QP with %u %s refused: at most %u\n", asked,
				 what, limit);
	return true;
}

static int vroce_qp_check_cap(struct vroce_dev *dev, const struct ib_qp_cap *cap,
			      bool gsi)
{
	const struct vroce_device_attr *hw = &dev->attr;

	if (vroce_qp_exceeds(dev, "send requests (max_send_wr)",
			     cap->max_send_wr, hw->max_qp_wr) ||
	    vroce_qp_exceeds(dev, "receive requests (max_recv_wr)",
			     cap->max_recv_wr,
			     gsi ? VROCE_BACKLOG_MAX : hw->max_qp_wr) ||
	    vroce_qp_exceeds(dev, "elements in a send request (max_send_sge)",
			     cap->max_send_sge, hw->max_send_sge) ||
	    vroce_qp_exceeds(dev, "elements in a receive request (max_recv_sge)",
			     cap->max_recv_sge, hw->max_recv_sge) ||
	    vroce_qp_exceeds(dev, "bytes of inline data (max_inline_data)",
			     cap->max_inline_data, VIRTIO_RDMA_INLINE_SIZE))
		return -EINVAL;
	return 0;
}

/* What was asked for and is not supported, in words; NULL if all is supported. */
static const char *vroce_qp_unsupported(const struct ib_qp_init_attr *attr,
					bool user)
{
	/* The GSI is only for the kernel. */
	if (vroce_qp_type_to_wire(attr->qp_type) < 0 ||
	    (user && attr->qp_type == IB_QPT_GSI))
		return "this type";
	if (attr->create_flags)
		return "these creation flags";
	if (attr->srq)
		return "a shared receive queue";
	if (attr->rwq_ind_tbl)
		return "an indirection table";
	return NULL;
}

/* Advice for the message if a refused QP means that there is no connection manager. */
static const char *vroce_gsi_advice(const struct ib_qp_init_attr *attr)
{
	if (attr->qp_type != IB_QPT_GSI)
		return "";
	return "; no connection manager unless ib_core's send_queue_size is less";
}

static int vroce_qp_check_attr(struct vroce_dev *dev,
			       const struct ib_qp_init_attr *attr,
			       struct ib_udata *udata)
{
	const char *unsupported = vroce_qp_unsupported(attr, udata);
	int err;

	if (unsupported) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "QP refused (type %d, flags %#x): %s is not supported\n",
					 attr->qp_type, attr->create_flags,
					 unsupported);
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	err = vroce_qp_check_cap(dev, &attr->cap, attr->qp_type == IB_QPT_GSI);
	if (err && attr->qp_type == IB_QPT_GSI)
		ibdev_notice_ratelimited(&dev->ibdev, "GSI refused%s\n",
					 vroce_gsi_advice(attr));
	return err;
}

/*
 * How many completions of receive requests may be due if those of all send requests are
 * due, too.  0 if the CQs have no room for any.
 */
static u32 vroce_qp_recv_room(const struct ib_qp_init_attr *attr)
{
	const struct vroce_hw_cq *scq = to_vcq(attr->send_cq)->hw;
	const struct vroce_hw_cq *rcq = to_vcq(attr->recv_cq)->hw;
	u32 sends = attr->cap.max_send_wr;

	if (scq->short_of && sends > scq->queue.depth)
		return 0;
	if (!rcq->short_of)
		return U32_MAX;
	return rcq->queue.depth - (scq == rcq ? sends : 0);
}

static void vroce_qp_free_backlog(struct vroce_qp *qp)
{
	kvfree(qp->backlog.requests);
	kvfree(qp->backlog.slots);
}

/*
 * ib_mad posts 512 receive requests and gives up if it cannot.  If the ring or the CQ
 * is smaller, the GSI gets a backlog in memory of the kernel, from which vroce_post.c
 * feeds the ring.  On return @cap is what the device must provide.
 */
static int vroce_qp_make_backlog(struct vroce_dev *dev, struct vroce_qp *qp,
				 const struct ib_qp_init_attr *attr,
				 struct ib_qp_cap *cap)
{
	struct vroce_hw_cq *scq = to_vcq(attr->send_cq)->hw;
	struct vroce_hw_cq *rcq = to_vcq(attr->recv_cq)->hw;
	u32 room = vroce_qp_recv_room(attr), depth = cap->max_recv_wr;

	if (!scq->short_of && !rcq->short_of && depth <= dev->attr.max_qp_wr)
		return 0;
	/* Completions can be counted only if each request leaves one. */
	if (attr->qp_type != IB_QPT_GSI || !room ||
	    attr->sq_sig_type != IB_SIGNAL_ALL_WR) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "QP refused: its CQ has %u entries only (max_cqe)%s\n",
					 dev->attr.max_cqe,
					 vroce_gsi_advice(attr));
		return -EINVAL;
	}
	qp->backlog.slots = kvcalloc(depth, vroce_rq_stride(cap), GFP_KERNEL);
	qp->backlog.requests = kvcalloc(depth, sizeof(*qp->backlog.requests),
					GFP_KERNEL);
	if (!qp->backlog.slots || !qp->backlog.requests) {
		vroce_qp_free_backlog(qp);
		return -ENOMEM;
	}
	qp->backlog.depth = depth;
	qp->backlog.limit = room;
	cap->max_recv_wr = min3(depth, dev->attr.max_qp_wr,
				room == U32_MAX ? room :
						  (u32)rounddown_pow_of_two(room));
	ibdev_dbg(&dev->ibdev, "GSI: %u of %u receive requests at a time\n",
		  cap->max_recv_wr, depth);
	return 0;
}

/* Change @cap to what the QP will really have, never less than was asked for. */
static void vroce_qp_round_cap(struct ib_qp_cap *cap)
{
	cap->max_send_wr = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	cap->max_recv_wr = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
	cap->max_send_sge = max(cap->max_send_sge, 1U);
	cap->max_recv_sge = max(cap->max_recv_sge, 1U);
	cap->max_inline_data = VIRTIO_RDMA_INLINE_SIZE;
}

static int vroce_qp_expose(struct vroce_qp *qp, struct ib_udata *udata)
{
	struct virtio_roce_create_qp_resp resp = {};
	struct vroce_hw_qp *hw = qp->hw;
	struct ib_ucontext *uctx;
	int err;

	uctx = &rdma_udata_to_drv_context(udata, struct vroce_ucontext,
					  ibucontext)->ibucontext;
	err = vroce_maps_insert(&qp->sq_maps, uctx, &hw->obj, &hw->sq, false,
				&resp.sq);
	if (err)
		return err;
	err = vroce_maps_insert(&qp->rq_maps, uctx, &hw->obj, &hw->rq, false,
				&resp.rq);
	if (err)
		goto err_sq;
	err = vroce_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_rq;
	return 0;

err_rq:
	vroce_maps_remove(&qp->rq_maps);
err_sq:
	vroce_maps_remove(&qp->sq_maps);
	return err;
}

/* From now on polling returns completions of @qp, or no completions if it is NULL. */
static void vroce_hw_qp_own(struct vroce_hw_qp *hw, struct vroce_qp *qp)
{
	spin_lock_irq(&hw->scq->lock);
	hw->qp = qp;
	spin_unlock_irq(&hw->scq->lock);
	spin_lock_irq(&hw->rcq->lock);
	hw->qp = qp;
	spin_unlock_irq(&hw->rcq->lock);
}

/* After this, polling @rcq feeds the backlog of @qp only, or none if @qp is NULL. */
static void vroce_qp_feed(struct vroce_hw_cq *rcq, struct vroce_qp *qp)
{
	spin_lock_irq(&rcq->lock);
	rcq->feed = qp;
	spin_unlock_irq(&rcq->lock);
}

/**
 * vroce_create_qp() - verb
 * @ibqp: queue pair
 * @attr: what is asked for; on return its capabilities are those of the QP
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibqp->device);
	struct vroce_qp *qp = to_vqp(ibqp);
	struct ib_qp_cap cap;
	int err;

	err = vroce_check_udata(udata,
				offsetofend(struct virtio_roce_create_qp_resp,
					    rq));
	if (!err)
		err = vroce_qp_check_attr(dev, attr, udata);
	if (err)
		return err;

	vroce_qp_round_cap(&attr->cap);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->sq_lock);
	spin_lock_init(&qp->rq_lock);
	qp->state = IB_QPS_RESET;
	qp->cap = attr->cap;
	qp->sig_type = attr->sq_sig_type;
	cap = attr->cap;
	err = vroce_qp_make_backlog(dev, qp, attr, &cap);
	if (err)
		return err;
	qp->hw = vroce_hw_qp_create(dev, ibqp->pd, attr, &cap, !udata);
	if (IS_ERR(qp->hw)) {
		err = PTR_ERR(qp->hw);
		goto err_backlog;
	}
	ibqp->qp_num = qp->hw->qpn;

	if (udata) {
		err = vroce_qp_expose(qp, udata);
	} else {
		vroce_hw_qp_own(qp->hw, qp);
		err = xa_err(xa_store_irq(&dev->qps, ibqp->qp_num, qp->hw,
					  GFP_KERNEL));
	}
	if (err)
		goto err_hw;
	if (qp->hw->kernel)
		vroce_flush_count(dev, qp->hw, 1);
	if (qp->backlog.slots)
		vroce_qp_feed(qp->hw->rcq, qp);
	return 0;

err_hw:
	vroce_obj_put(&qp->hw->obj);
err_backlog:
	vroce_qp_free_backlog(qp);
	return err;
}

/*
 * Rights that the device does not know are refused in general.  But connection managers
 * and many programs always give the peer the right to do atomics or to flush, and do
 * not rely on it.  So these two are accepted: a device without the operation refuses
 * such requests of a peer in any case.  All other flags are not rights of a peer.
 */
static bool vroce_qp_access_is_ok(int access)
{
	return !(access & ~(VROCE_ACCESS | IB_ACCESS_REMOTE_ATOMIC |
			    VROCE_ACCESS_FLUSH | IB_ACCESS_OPTIONAL));
}

static int vroce_qp_check_modify(struct vroce_dev *dev, struct vroce_qp *qp,
				 const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state cur, new;

	if (mask & ~VROCE_QP_ATTRS ||
	    (mask & IB_QP_ACCESS_FLAGS &&
	     !vroce_qp_access_is_ok(attr->qp_access_flags))) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "QP %u: attributes %#x with access flags %#x are not supported\n",
					 qp->ibqp.qp_num, mask,
					 attr->qp_access_flags);
		return -EOPNOTSUPP;
	}
	cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	new = mask & IB_QP_STATE ? attr->qp_state : cur;
	if (!ib_modify_qp_is_ok(cur, new, qp->ibqp.qp_type, mask)) {
		ibdev_dbg(&dev->ibdev, "QP %u: from %d to %d with %#x\n",
			  qp->ibqp.qp_num, cur, new, mask);
		return -EINVAL;
	}
	if ((mask & IB_QP_PKEY_INDEX && attr->pkey_index) ||
	    (mask & IB_QP_PORT && attr->port_num != 1) ||
	    (mask & IB_QP_PATH_MTU && (attr->path_mtu < IB_MTU_256 ||
				       attr->path_mtu > IB_MTU_4096)))
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC &&
	     vroce_qp_exceeds(dev, "RDMA READs outstanding (max_rd_atomic)",
			      attr->max_rd_atomic,
			      dev->attr.max_qp_init_rd_atom)) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	     vroce_qp_exceeds(dev, "RDMA READs to serve (max_dest_rd_atomic)",
			      attr->max_dest_rd_atomic,
			      dev->attr.max_qp_rd_atom)))
		return -EINVAL;
	return 0;
}

/* Number of slots that were shown to the device and not given back. */
static u16 vroce_queue_pending(const struct vroce_queue *q)
{
	const struct vring *vring = &q->vq->vring;

	return vroce_ring_get16(&vring->avail->idx) - vroce_ring_used_idx(vring);
}

static u32 vroce_qp_pending(const struct vroce_hw_qp *hw)
{
	return vroce_queue_pending(&hw->sq) + vroce_queue_pending(&hw->rq);
}

/* Can the device add @n completions to a CQ? */
static bool vroce_cq_takes(const struct vroce_dev *dev,
			   const struct vroce_hw_cq *hw, u32 n)
{
	return vroce_cqs_hold(dev) || n <= vroce_queue_pending(&hw->queue);
}

/*
 * Make sure that the device has no requests of a QP before the QP goes to RESET.
 *
 * The RFC does not say what happens to requests in RESET.  Only
 * VIRTIO_IB_DEVICE_RESET_SLOTS requires that their slots are given back.  A device
 * without it might keep the requests, and carry them out when the QP is used again.
 * But in ERR every device completes all requests, which gives their slots back, too.
 * So the QP goes to ERR first, and to RESET when both rings are empty.  The completions
 * are forgotten, as are all completions of a QP that goes to RESET.
 *
 * The completions need room in the CQ, or the CQ would be lost with all of its QPs.  A
 * QP that has more requests than its CQ has room stays as it is.  A QP that is not
 * flushed in time stays in ERR.  Both can still be destroyed.
 */
static int vroce_qp_empty(struct vroce_dev *dev, struct vroce_qp *qp)
{
	static const struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct vroce_hw_qp *hw = qp->hw;
	unsigned int ms;
	u32 n = vroce_qp_pending(hw);
	int err;

	if (vroce_reset_gives_slots(dev) || qp->state == IB_QPS_RESET || !n ||
	    READ_ONCE(dev->health) == VIRTIO_NET_ROCE_QUIESCED)
		return 0;
	if (!vroce_cq_takes(dev, hw->scq, n) ||
	    !vroce_cq_takes(dev, hw->rcq, n)) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "QP %u not reset: %u requests to flush, and its CQ has less room\n",
					 hw->qpn, n);
		return -EBUSY;
	}
	err = vroce_cmd_modify_qp(dev->aux, hw->qpn, &error, IB_QP_STATE);
	if (err)
		return err;
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	vroce_backlog_drop(qp);
	for (ms = 0; vroce_qp_pending(hw); ms++) {
		if (READ_ONCE(dev->health) == VIRTIO_NET_ROCE_QUIESCED)
			return 0;
		if (ms == VROCE_FLUSH_MS) {
			ibdev_notice_ratelimited(&dev->ibdev,
						 "QP %u not reset: the device does not flush it\n",
						 hw->qpn);
			return -EBUSY;
		}
		usleep_range(USEC_PER_MSEC, 2 * USEC_PER_MSEC);
	}
	return 0;
}

/**
 * vroce_modify_qp() - verb
 * @ibqp: queue pair
 * @attr: attributes
 * @mask: which of them are given
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibqp->device);
	struct vroce_qp *qp = to_vqp(ibqp);
	int err;

	err = vroce_check_udata(udata, 0);
	if (err)
		return err;

	/* A device without FLUSH does not know these flags. */
	if (!vroce_has_flush(dev))
		attr->qp_access_flags &= ~VROCE_ACCESS_FLUSH;

	mutex_lock(&qp->mutex);
	err = vroce_qp_check_modify(dev, qp, attr, mask);
	if (err)
		goto out_unlock;
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		err = vroce_qp_empty(dev, qp);
	if (err)
		goto out_unlock;
	err = vroce_cmd_modify_qp(dev->aux, ibqp->qp_num, attr, mask);
	if (err)
		goto out_unlock;

	if (mask & IB_QP_STATE) {
		WRITE_ONCE(qp->state, attr->qp_state);
		/*
		 * There are no requests any more.  Either the device has dropped
		 * them and given their slots back, or there were none.  The
		 * indices of the rings continue from here.
		 */
		if (attr->qp_state == IB_QPS_RESET) {
			vroce_backlog_drop(qp);
			vroce_flush_drop(dev, qp->hw);
			vroce_hw_qp_forget(qp->hw);
		}
	}
out_unlock:
	mutex_unlock(&qp->mutex);
	return err;
}

/**
 * vroce_query_qp() - verb
 * @ibqp: queue pair
 * @attr: result
 * @mask: which attributes are asked for
 * @init_attr: result, what it was created with
 *
 * Return: 0 or -errno.
 */
int vroce_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init_attr)
{
	struct vroce_dev *dev = to_vdev(ibqp->device);
	struct vroce_qp *qp = to_vqp(ibqp);
	int err;

	memset(attr, 0, sizeof(*attr));
	mutex_lock(&qp->mutex);
	err = vroce_cmd_query_qp(dev->aux, ibqp->qp_num, mask, attr);
	if (!err)
		WRITE_ONCE(qp->state, attr->qp_state);
	mutex_unlock(&qp->mutex);
	if (err)
		return err;

	attr->port_num = 1;
	attr->cap = qp->cap;
	*init_attr = (struct ib_qp_init_attr) {
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.cap = qp->cap,
		.sq_sig_type = qp->sig_type,
		.qp_type = ibqp->qp_type,
	};
	return 0;
}

/* The verbs object goes, but user space still maps the queues: see vroce_obj.c. */
static void vroce_qp_stop(struct vroce_dev *dev, struct vroce_hw_qp *hw)
{
	static const struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };

	vroce_cmd_modify_qp(dev->aux, hw->qpn, &reset, IB_QP_STATE);
}

/**
 * vroce_destroy_qp() - verb
 * @ibqp: queue pair
 * @udata: of the user
 *
 * Return: 0.
 */
int vroce_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibqp->device);
	struct vroce_qp *qp = to_vqp(ibqp);
	struct vroce_hw_qp *hw = qp->hw;

	if (hw->kernel) {
		vroce_flush_count(dev, hw, -1);
		vroce_hw_qp_own(hw, NULL);
	}
	if (qp->backlog.slots)
		vroce_qp_feed(hw->rcq, NULL);
	vroce_maps_remove(&qp->sq_maps);
	vroce_maps_remove(&qp->rq_maps);
	/* No further mapping can be made, so this number cannot rise. */
	if (kref_read(&hw->obj.ref) > 1)
		vroce_qp_stop(dev, hw);
	vroce_obj_put(&hw->obj);
	vroce_qp_free_backlog(qp);
	mutex_destroy(&qp->mutex);
	return 0;
}
