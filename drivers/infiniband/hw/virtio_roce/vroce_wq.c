// SPDX-License-Identifier: GPL-2.0
/*
 * Work queues of processes, and the indirection tables that QPs spread frames by.
 *
 * In the device a work queue is a QP with a receive ring and nothing else, so it has a number
 * and memory as QPs have them (vroce_hw_qp.c).  The core keeps a work queue until no table
 * names it, and a table until no QP has it.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "vroce_caps.h"
#include "vroce_cmd_qp.h"
#include "vroce_hw_qp.h"
#include "vroce_mmap.h"
#include "vroce_obj.h"
#include "vroce_udata.h"
#include "vroce_wire.h"
#include "vroce_wq.h"

#include "vroce_cmd_wq.h"

/* ----- work queues ----- */

static int vroce_wq_check(struct vroce_dev *dev, const struct ib_wq_init_attr *attr,
			  struct ib_udata *udata)
{
	const u32 flags = vroce_has_raw_vlan(dev) ? IB_WQ_FLAGS_CVLAN_STRIPPING : 0;

	if (attr->wq_type != IB_WQT_RQ || attr->create_flags & ~flags ||
	    !vroce_wants_direct(dev, udata))
		return -EOPNOTSUPP;
	if (!to_vcq(attr->cq)->hw->queue.direct ||
	    attr->max_wr > dev->attr.max_direct_wr ||
	    attr->max_sge > dev->attr.max_recv_sge) {
		ibdev_dbg(&dev->ibdev, "no work queue of %u requests with %u elements\n",
			  attr->max_wr, attr->max_sge);
		return -EINVAL;
	}
	return 0;
}

static int vroce_wq_expose(struct vroce_wq *wq, struct ib_udata *udata)
{
	struct ib_ucontext *uctx = &wq->uctx->ibucontext;
	struct virtio_roce_create_qp_resp resp = {};
	struct vroce_hw_qp *hw = wq->hw;
	int err;

	err = vroce_maps_insert_qp(&wq->maps, uctx, &hw->rq, hw->mem, VROCE_QP_RECV,
				   &resp.rq);
	if (err)
		return err;
	resp.bit = hw->rq.bit;
	err = vroce_doorbell_expose(hw->rq.doorbell, uctx, &resp);
	if (!err)
		err = vroce_udata_out(udata, &resp, sizeof(resp));
	if (err)
		vroce_maps_remove(&wq->maps);
	return err;
}

/* The device has it as a QP. */
static struct vroce_hw_qp *vroce_wq_create_hw(struct vroce_dev *dev, struct ib_pd *ibpd,
					      const struct ib_wq_init_attr *attr,
					      struct vroce_ucontext *uctx)
{
	const struct ib_qp_init_attr qp = {
		.qp_type = VROCE_QPT_WQ,
		.send_cq = attr->cq,
		.recv_cq = attr->cq,
		.create_flags = attr->create_flags & IB_WQ_FLAGS_CVLAN_STRIPPING ?
				IB_QP_CREATE_CVLAN_STRIPPING : 0,
	};
	const struct ib_qp_cap cap = {
		.max_recv_wr = attr->max_wr,
		.max_recv_sge = attr->max_sge,
	};

	return vroce_hw_qp_create(dev, ibpd, &qp, &cap, false, &uctx->doorbell);
}

/**
 * vroce_create_wq() - make a work queue
 * @ibpd: its protection domain
 * @attr: what is asked for; on return its size is that of the work queue
 * @udata: of the user
 *
 * Return: work queue, or error pointer.
 */
struct ib_wq *vroce_create_wq(struct ib_pd *ibpd, struct ib_wq_init_attr *attr,
			      struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibpd->device);
	struct vroce_wq *wq;
	int err;

	err = vroce_check_udata(udata, offsetofend(struct virtio_roce_create_qp_resp, bit));
	if (!err)
		err = vroce_wq_check(dev, attr, udata);
	if (err)
		return ERR_PTR(err);
	attr->max_wr = roundup_pow_of_two(max(attr->max_wr, 1U));
	attr->max_sge = max(attr->max_sge, 1U);

	wq = kzalloc(sizeof(*wq), GFP_KERNEL_ACCOUNT);
	if (!wq)
		return ERR_PTR(-ENOMEM);
	mutex_init(&wq->mutex);
	wq->uctx = vroce_udata_context(udata);
	wq->hw = vroce_wq_create_hw(dev, ibpd, attr, wq->uctx);
	if (IS_ERR(wq->hw)) {
		err = PTR_ERR(wq->hw);
		goto err_free;
	}
	wq->ibwq.wq_num = wq->hw->qpn;
	wq->ibwq.state = IB_WQS_RESET;
	wq->ibwq.event_handler = attr->event_handler;
	wq->ibwq.wq_context = attr->wq_context;
	err = xa_err(xa_store_irq(&dev->qps, wq->hw->qpn, wq->hw, GFP_KERNEL));
	if (!err)
		err = vroce_wq_expose(wq, udata);
	if (err)
		goto err_hw;
	return &wq->ibwq;

err_hw:
	vroce_obj_put(&wq->hw->obj);
err_free:
	mutex_destroy(&wq->mutex);
	kfree(wq);
	return ERR_PTR(err);
}

/* A state of a work queue as that of a QP; negative if it is none to go to. */
static int vroce_wq_state(enum ib_wq_state state)
{
	switch (state) {
	case IB_WQS_RESET:
		return IB_QPS_RESET;
	case IB_WQS_RDY:
		return IB_QPS_RTR;
	case IB_WQS_ERR:
		return IB_QPS_ERR;
	}
	return -EINVAL;
}

/**
 * vroce_modify_wq() - change the state of a work queue
 * @ibwq: work queue
 * @attr: attributes
 * @mask: which of them are given
 * @udata: of the user
 *
 * The device knows which states follow each other.  It may have moved a work queue to the
 * error state on its own, so what is known here is not compared with.
 *
 * Return: 0 or -errno.
 */
int vroce_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		    struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibwq->device);
	struct vroce_wq *wq = to_vwq(ibwq);
	struct ib_qp_attr to = {};
	int qp_mask = IB_QP_STATE, state, cur, err;

	err = vroce_check_udata(udata, 0);
	if (err)
		return err;
	if (mask & IB_WQ_FLAGS)
		return -EOPNOTSUPP;
	mutex_lock(&wq->mutex);
	state = vroce_wq_state(mask & IB_WQ_STATE ? attr->wq_state : ibwq->state);
	cur = vroce_wq_state(mask & IB_WQ_CUR_STATE ? attr->curr_wq_state : ibwq->state);
	if (state < 0 || cur < 0) {
		err = -EINVAL;
		goto out_unlock;
	}
	to.qp_state = state;
	if (mask & IB_WQ_CUR_STATE) {
		to.cur_qp_state = cur;
		qp_mask |= IB_QP_CUR_STATE;
	}
	/* The core has filled in the rest of it by now, so that events may come. */
	WRITE_ONCE(wq->hw->wq, wq);
	err = vroce_cmd_modify_qp(dev->aux, wq->hw->qpn, &to, qp_mask, 0);
	if (!err && mask & IB_WQ_STATE) {
		ibwq->state = attr->wq_state;
		if (attr->wq_state == IB_WQS_RESET)
			WRITE_ONCE(wq->hw->told, 0);
	}
out_unlock:
	mutex_unlock(&wq->mutex);
	return err;
}

/**
 * vroce_destroy_wq() - destroy a work queue
 * @ibwq: work queue
 * @udata: of the user
 *
 * Return: 0.
 */
int vroce_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata)
{
	static const struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	struct vroce_dev *dev = to_vdev(ibwq->device);
	struct vroce_wq *wq = to_vwq(ibwq);
	struct vroce_hw_qp *hw = wq->hw;

	WRITE_ONCE(hw->wq, NULL);
	dev->aux->ops->synchronize(dev->aux);
	vroce_maps_remove(&wq->maps);
	/* As for a QP that is still mapped: see vroce_destroy_qp(). */
	if (kref_read(&hw->obj.ref) > 1)
		vroce_cmd_modify_qp(dev->aux, hw->qpn, &reset, IB_QP_STATE, 0);
	vroce_obj_put(&hw->obj);
	mutex_destroy(&wq->mutex);
	kfree(wq);
	return 0;
}

/**
 * vroce_wq_event() - the device says that a work queue is in error
 * @dev: device
 * @wqn: its number, or any
 *
 * It is told once until RESET, as for QPs.
 *
 * Context: any.
 */
void vroce_wq_event(struct vroce_dev *dev, u32 wqn)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = IB_EVENT_WQ_FATAL,
	};
	struct vroce_hw_qp *hw;
	struct vroce_wq *wq;

	rcu_read_lock();
	hw = xa_load(&dev->qps, wqn);
	wq = hw ? READ_ONCE(hw->wq) : NULL;
	if (wq && wq->ibwq.event_handler &&
	    !test_and_set_bit(VIRTIO_RDMA_EVENT_WQ_FATAL, &hw->told)) {
		event.element.wq = &wq->ibwq;
		wq->ibwq.event_handler(&event, wq->ibwq.wq_context);
	}
	rcu_read_unlock();
}

/* ----- indirection tables ----- */

/**
 * vroce_create_rwq_ind_table() - make an indirection table
 * @ibtable: indirection table
 * @attr: its work queues
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_create_rwq_ind_table(struct ib_rwq_ind_table *ibtable,
			       struct ib_rwq_ind_table_init_attr *attr,
			       struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibtable->device);
	struct vroce_wq_table *table = to_vwq_table(ibtable);
	u32 i, log_size = attr->log_ind_tbl_size;
	__le32 *wqns;
	int err;

	err = vroce_check_udata(udata, 0);
	if (err)
		return err;
	if (log_size > ilog2(dev->attr.max_wq_table_size))
		return -EINVAL;
	err = vroce_quota_take(dev, VROCE_WQ_TABLE);
	if (err)
		return err;
	wqns = kmalloc_array(BIT(log_size), sizeof(*wqns), GFP_KERNEL);
	if (!wqns) {
		err = -ENOMEM;
		goto err_quota;
	}
	for (i = 0; i < BIT(log_size); i++)
		wqns[i] = cpu_to_le32(attr->ind_tbl[i]->wq_num);
	err = vroce_cmd_create_wq_table(dev->aux, log_size, wqns, &table->handle);
	kfree(wqns);
	if (err)
		goto err_quota;
	ibtable->ind_tbl_num = table->handle;
	return 0;

err_quota:
	vroce_quota_give(dev, VROCE_WQ_TABLE);
	return err;
}

/**
 * vroce_destroy_rwq_ind_table() - destroy an indirection table
 * @ibtable: indirection table
 *
 * If the device refuses, the table counts as one that it still has.
 *
 * Return: 0.
 */
int vroce_destroy_rwq_ind_table(struct ib_rwq_ind_table *ibtable)
{
	struct vroce_dev *dev = to_vdev(ibtable->device);

	if (!vroce_cmd_destroy_wq_table(dev->aux, to_vwq_table(ibtable)->handle))
		vroce_quota_give(dev, VROCE_WQ_TABLE);
	return 0;
}
