// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: the verbs.  vroce_hw_qp.c has the device's part.
 */
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "vroce_caps.h"
#include "vroce_cmd_qp.h"
#include "vroce_flush.h"
#include "vroce_form.h"
#include "vroce_hw_qp.h"
#include "vroce_mmap.h"
#include "vroce_obj.h"
#include "vroce_post.h"
#include "vroce_qp.h"
#include "vroce_restrack.h"
#include "vroce_ring.h"
#include "vroce_trace.h"
#include "vroce_udata.h"
#include "vroce_wire.h"

/* More than ib_mad can be configured to ask for. */
#define VROCE_BACKLOG_MAX	16384

/* How long a device may take to flush a QP that goes to ERR. */
#define VROCE_FLUSH_MS	1000

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

/* Has it no queues at all? */
static bool vroce_qp_is_bare(const struct ib_qp_init_attr *attr)
{
	return attr->qp_type == IB_QPT_XRC_TGT || attr->rwq_ind_tbl;
}

/* Without a receive queue of its own it does not matter what is asked for. */
static bool vroce_qp_has_recv(const struct ib_qp_init_attr *attr)
{
	return !attr->srq && attr->qp_type != IB_QPT_XRC_INI &&
	       attr->qp_type != IB_QPT_XRC_TGT;
}

static int vroce_qp_check_cap(struct vroce_dev *dev,
			      const struct ib_qp_init_attr *attr, bool direct)
{
	const struct vroce_device_attr *hw = &dev->attr;
	const struct ib_qp_cap *cap = &attr->cap;
	u32 max_wr = direct ? hw->max_direct_wr : hw->max_qp_wr;

	if (vroce_qp_exceeds(dev, "send requests (max_send_wr)",
			     cap->max_send_wr, max_wr) ||
	    vroce_qp_exceeds(dev, "elements in a send request (max_send_sge)",
			     cap->max_send_sge, hw->max_send_sge) ||
	    vroce_qp_exceeds(dev, "bytes of inline data (max_inline_data)",
			     cap->max_inline_data, VIRTIO_RDMA_INLINE_SIZE))
		return -EINVAL;
	if (!vroce_qp_has_recv(attr))
		return 0;
	if (vroce_qp_exceeds(dev, "receive requests (max_recv_wr)",
			     cap->max_recv_wr, attr->qp_type == IB_QPT_GSI ?
			     VROCE_BACKLOG_MAX : max_wr) ||
	    vroce_qp_exceeds(dev, "elements in a receive request (max_recv_sge)",
			     cap->max_recv_sge, hw->max_recv_sge))
		return -EINVAL;
	return 0;
}

/*
 * The GSI is only for the kernel, and XRC_INI and RAW_PACKET QPs only for processes.  The maker
 * of an XRC_TGT QP does not matter: others may own it next.
 */
static bool vroce_qp_has_type(struct vroce_dev *dev, enum ib_qp_type type,
			      bool user, bool direct)
{
	switch (type) {
	case IB_QPT_GSI:
		return !user;
	case IB_QPT_XRC_INI:
		return user && direct && vroce_has_xrc(dev);
	case IB_QPT_XRC_TGT:
		return direct && vroce_has_xrc(dev);
	case IB_QPT_RAW_PACKET:
		return user && direct && vroce_has_raw_packet(dev);
	default:
		return vroce_qp_type_to_wire(type) >= 0;
	}
}

static bool vroce_qp_has_flags(struct vroce_dev *dev, const struct ib_qp_init_attr *attr)
{
	return !attr->create_flags ||
	       (attr->create_flags == IB_QP_CREATE_CVLAN_STRIPPING &&
		attr->qp_type == IB_QPT_RAW_PACKET && !attr->rwq_ind_tbl &&
		vroce_has_raw_vlan(dev));
}

/* Names what was asked for and is not supported; NULL if all is supported. */
static const char *vroce_qp_unsupported(struct vroce_dev *dev,
					const struct ib_qp_init_attr *attr,
					bool user, bool direct)
{
	if (!vroce_qp_has_type(dev, attr->qp_type, user, direct))
		return "this type";
	if (!vroce_qp_has_flags(dev, attr))
		return "these creation flags";
	if (attr->srq && !direct)
		return "a shared receive queue";
	if (attr->rwq_ind_tbl && !(vroce_has_rss(dev) && user && direct &&
				   attr->qp_type == IB_QPT_RAW_PACKET))
		return "an indirection table";
	return NULL;
}

/* So it is: all CQs of an owner have the same form. */
static bool vroce_qp_cqs_fit(const struct ib_qp_init_attr *attr, bool direct)
{
	if (!attr->send_cq || (!attr->recv_cq && attr->qp_type != IB_QPT_XRC_INI))
		return false;
	return !direct ||
	       (to_vcq(attr->send_cq)->hw->queue.direct &&
		(!attr->recv_cq || to_vcq(attr->recv_cq)->hw->queue.direct));
}

/* Advice for the message if a refused QP means that there is no connection manager. */
static const char *vroce_gsi_advice(const struct ib_qp_init_attr *attr)
{
	if (attr->qp_type != IB_QPT_GSI)
		return "";
	return "; for a connection manager load ib_core with a smaller send_queue_size";
}

static int vroce_qp_check_attr(struct vroce_dev *dev,
			       const struct ib_qp_init_attr *attr,
			       struct ib_udata *udata, bool direct)
{
	const char *unsupported = vroce_qp_unsupported(dev, attr, udata, direct);
	int err;

	if (unsupported) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "QP refused (type %d, flags %#x): %s is not supported\n",
					 attr->qp_type, attr->create_flags,
					 unsupported);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type == IB_QPT_XRC_TGT)
		return attr->xrcd ? 0 : -EINVAL;
	/* It spreads frames, and has no queues. */
	if (attr->rwq_ind_tbl)
		return attr->cap.max_send_wr || attr->srq ? -EINVAL : 0;
	if (!vroce_qp_cqs_fit(attr, direct))
		return -EINVAL;
	err = vroce_qp_check_cap(dev, attr, direct);
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
static void vroce_qp_round_cap(struct ib_qp_init_attr *attr, bool direct)
{
	struct ib_qp_cap *cap = &attr->cap;

	if (vroce_qp_is_bare(attr)) {
		*cap = (struct ib_qp_cap) {};
		return;
	}
	cap->max_send_wr = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	cap->max_send_sge = max(cap->max_send_sge, 1U);
	if (vroce_qp_has_recv(attr)) {
		cap->max_recv_wr = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
		cap->max_recv_sge = max(cap->max_recv_sge, 1U);
	} else {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	}
	cap->max_inline_data = direct ? vroce_inline_room(attr->qp_type, cap) :
					VIRTIO_RDMA_INLINE_SIZE;
}

static int vroce_qp_expose_rfc(struct vroce_qp *qp, struct ib_ucontext *uctx,
			       struct virtio_roce_create_qp_resp *resp)
{
	struct vroce_hw_qp *hw = qp->hw;
	int err;

	err = vroce_maps_insert(&qp->sq_maps, uctx, &hw->obj, &hw->sq, false,
				&resp->sq);
	if (err)
		return err;
	return vroce_maps_insert(&qp->rq_maps, uctx, &hw->obj, &hw->rq, false,
				 &resp->rq);
}

static int vroce_qp_expose_direct(struct vroce_qp *qp, struct ib_ucontext *uctx,
				  struct virtio_roce_create_qp_resp *resp)
{
	struct vroce_hw_qp *hw = qp->hw;
	int err;

	err = vroce_maps_insert_qp(&qp->sq_maps, uctx, &hw->sq, hw->mem,
				   VROCE_QP_SEND, &resp->sq);
	if (err)
		return err;
	if (hw->rq.depth)
		err = vroce_maps_insert_qp(&qp->sq_maps, uctx, &hw->rq, hw->mem,
					   VROCE_QP_RECV, &resp->rq);
	if (err)
		return err;
	resp->bit = hw->sq.bit;
	return vroce_doorbell_expose(hw->sq.doorbell, uctx, resp);
}

static int vroce_qp_expose(struct vroce_qp *qp, struct ib_udata *udata)
{
	struct virtio_roce_create_qp_resp resp = {};
	struct vroce_hw_qp *hw = qp->hw;
	struct ib_ucontext *uctx;
	int err;

	uctx = &vroce_udata_context(udata)->ibucontext;
	if (hw->mem)
		err = vroce_qp_expose_direct(qp, uctx, &resp);
	else
		err = vroce_qp_expose_rfc(qp, uctx, &resp);
	if (err)
		goto err_rq;
	err = vroce_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_rq;
	return 0;

err_rq:
	vroce_maps_remove(&qp->rq_maps);
	vroce_maps_remove(&qp->sq_maps);
	return err;
}

/*
 * From now on polling returns completions of @qp, and events are those of @qp; or there
 * are none if it is NULL.
 */
static void vroce_hw_qp_own(struct vroce_hw_qp *hw, struct vroce_qp *qp)
{
	struct vroce_dev *dev = hw->obj.dev;

	if (!hw->scq) {
		WRITE_ONCE(hw->qp, qp);
	} else {
		spin_lock_irq(&hw->scq->lock);
		WRITE_ONCE(hw->qp, qp);
		spin_unlock_irq(&hw->scq->lock);
		spin_lock_irq(&hw->rcq->lock);
		hw->qp = qp;
		spin_unlock_irq(&hw->rcq->lock);
	}
	if (!qp && vroce_has_events(dev))
		dev->aux->ops->synchronize(dev->aux);
}

static const struct {
	enum ib_event_type core;
	bool valid;
} vroce_qp_events[] = {
	[VIRTIO_RDMA_EVENT_QP_FATAL]		= { IB_EVENT_QP_FATAL, true },
	[VIRTIO_RDMA_EVENT_QP_REQ_ERR]		= { IB_EVENT_QP_REQ_ERR, true },
	[VIRTIO_RDMA_EVENT_QP_ACCESS_ERR]	= { IB_EVENT_QP_ACCESS_ERR, true },
	[VIRTIO_RDMA_EVENT_COMM_EST]		= { IB_EVENT_COMM_EST, true },
	[VIRTIO_RDMA_EVENT_SQ_DRAINED]		= { IB_EVENT_SQ_DRAINED, true },
	[VIRTIO_RDMA_EVENT_QP_LAST_WQE]		= { IB_EVENT_QP_LAST_WQE_REACHED, true },
};

/*
 * The device reports each drained queue, a consumer hears of it if it asked for that.  All
 * else happens once until RESET.  The core keeps each event until the process reads it, so
 * a device must not be able to repeat them.
 */
static bool vroce_qp_wants(struct vroce_qp *qp, struct vroce_hw_qp *hw, u16 type)
{
	return type == VIRTIO_RDMA_EVENT_SQ_DRAINED ? xchg(&qp->sqd_notify, 0) :
						      !test_and_set_bit(type, &hw->told);
}

/**
 * vroce_qp_event() - something has happened to a QP
 * @dev: device
 * @type: &enum virtio_rdma_event_type, or any number
 * @qpn: QP, which may not exist
 *
 * A QP that is found stays until this returns: see vroce_hw_qp_own().
 *
 * Context: any.
 */
void vroce_qp_event(struct vroce_dev *dev, u16 type, u32 qpn)
{
	struct ib_event event = { .device = &dev->ibdev };
	struct vroce_hw_qp *hw;
	struct vroce_qp *qp;

	if (type >= ARRAY_SIZE(vroce_qp_events) || !vroce_qp_events[type].valid)
		return;
	event.event = vroce_qp_events[type].core;
	rcu_read_lock();
	hw = xa_load(&dev->qps, qpn);
	qp = hw ? READ_ONCE(hw->qp) : NULL;
	if (qp && qp->ibqp.event_handler && vroce_qp_wants(qp, hw, type)) {
		event.element.qp = &qp->ibqp;
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	}
	rcu_read_unlock();
}

/* After this, polling @rcq feeds the backlog of @qp only, or none if @qp is NULL. */
static void vroce_qp_feed(struct vroce_hw_cq *rcq, struct vroce_qp *qp)
{
	spin_lock_irq(&rcq->lock);
	rcq->feed = qp;
	spin_unlock_irq(&rcq->lock);
}

/* The doorbell page of whoever owns a QP. */
static struct vroce_doorbell *vroce_qp_doorbell(struct vroce_dev *dev,
						struct ib_udata *udata)
{
	if (!udata)
		return &dev->doorbell;
	return &vroce_udata_context(udata)->doorbell;
}

/* Only a QP that spreads frames has a request of the provider. */
static int vroce_qp_read_request(const struct ib_qp_init_attr *attr,
				 struct ib_udata *udata,
				 struct virtio_roce_create_qp_req *req)
{
	if (attr->rwq_ind_tbl && udata)
		return vroce_udata_in(udata, req, offsetofend(typeof(*req), key),
				      sizeof(*req));
	return vroce_check_udata(udata,
				 offsetofend(struct virtio_roce_create_qp_resp, rq));
}

/* The device knows which fields and functions there are. */
static struct vroce_hw_qp *
vroce_qp_create_rx_hash(struct vroce_dev *dev, const struct ib_qp_init_attr *attr,
			const struct virtio_roce_create_qp_req *from)
{
	struct virtio_rdma_cmd_create_rx_hash_qp req = {
		.table = cpu_to_le32(to_vwq_table(attr->rwq_ind_tbl)->handle),
		.fields = cpu_to_le32(from->rx_hash_fields),
		.function = from->rx_hash_function,
	};

	memcpy(req.key, from->key, sizeof(req.key));
	return vroce_hw_rx_hash_create(dev, &req);
}

/**
 * vroce_create_qp() - make a queue pair
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
	struct vroce_doorbell *db = NULL;
	struct vroce_qp *qp = to_vqp(ibqp);
	struct virtio_roce_create_qp_req req;
	struct ib_qp_cap cap;
	int err;

	qp->uctx = vroce_udata_context(udata);
	/* The GSI always has the form of the RFC. */
	if (attr->qp_type != IB_QPT_GSI && vroce_wants_direct(dev, udata))
		db = vroce_qp_doorbell(dev, udata);
	err = vroce_qp_read_request(attr, udata, &req);
	if (!err)
		err = vroce_qp_check_attr(dev, attr, udata, db);
	if (err)
		return err;

	vroce_qp_round_cap(attr, db);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->sq_lock);
	spin_lock_init(&qp->rq_lock);
	qp->state = IB_QPS_RESET;
	qp->cap = attr->cap;
	qp->sig_type = attr->sq_sig_type;
	cap = attr->cap;
	err = db ? 0 : vroce_qp_make_backlog(dev, qp, attr, &cap);
	if (err)
		return err;
	if (attr->qp_type == IB_QPT_XRC_TGT)
		qp->hw = vroce_hw_tgt_create(dev, to_vxrcd(attr->xrcd)->hw);
	else if (attr->rwq_ind_tbl)
		qp->hw = vroce_qp_create_rx_hash(dev, attr, &req);
	else
		qp->hw = vroce_hw_qp_create(dev, ibqp->pd, attr, &cap, !udata, db);
	if (IS_ERR(qp->hw)) {
		err = PTR_ERR(qp->hw);
		goto err_backlog;
	}
	ibqp->qp_num = qp->hw->qpn;

	vroce_hw_qp_own(qp->hw, qp);
	err = xa_err(xa_store_irq(&dev->qps, ibqp->qp_num, qp->hw, GFP_KERNEL));
	if (!err && udata && !vroce_qp_is_bare(attr))
		err = vroce_qp_expose(qp, udata);
	if (err)
		goto err_hw;
	if (qp->hw->kernel)
		vroce_flush_count(dev, qp->hw, 1);
	if (qp->backlog.slots)
		vroce_qp_feed(qp->hw->rcq, qp);
	return 0;

err_hw:
	vroce_hw_qp_own(qp->hw, NULL);
	vroce_obj_put(&qp->hw->obj);
err_backlog:
	vroce_qp_free_backlog(qp);
	return err;
}

/*
 * Rights that the device does not know are refused in general.  But connection managers
 * and many programs always give the peer the right to do atomics or to flush, and do
 * not rely on it.  So these two are accepted: a device without the operation refuses
 * such requests of a peer in any case.  Some programs give a QP the right that windows are
 * bound, which regions have; it means nothing here, as in other devices.  All other flags
 * are not rights of a peer.
 */
static bool vroce_qp_access_is_ok(int access)
{
	return !(access & ~(VROCE_ACCESS | IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND |
			    VROCE_ACCESS_FLUSH | IB_ACCESS_OPTIONAL));
}

static int vroce_qp_check_modify(struct vroce_dev *dev, struct vroce_qp *qp,
				 const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state cur, new;

	if (mask & ~VROCE_QP_ATTRS ||
	    (mask & IB_QP_EN_SQD_ASYNC_NOTIFY && !vroce_has_qp_events(dev)) ||
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
	/* The core's table has no rate limit.  The device knows where it is legal. */
	if (!ib_modify_qp_is_ok(cur, new, qp->ibqp.qp_type, mask & ~IB_QP_RATE_LIMIT)) {
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
	/* The creator of a direct CQ has made it large enough. */
	return hw->queue.direct || vroce_cqs_hold(dev) ||
	       n <= vroce_queue_pending(&hw->queue);
}

/* Context: &vroce_qp.mutex held. */
static void vroce_qp_set_state(struct vroce_dev *dev, struct vroce_qp *qp,
			       enum ib_qp_state state)
{
	if (state == qp->state)
		return;
	trace_vroce_qp_state(dev->aux, qp->ibqp.qp_num, qp->state, state);
	WRITE_ONCE(qp->state, state);
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
	u32 n = hw->sq.direct ? 0 : vroce_qp_pending(hw);
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
	err = vroce_cmd_modify_qp(dev->aux, hw->qpn, &error, IB_QP_STATE, 0);
	if (err)
		return err;
	vroce_qp_set_state(dev, qp, IB_QPS_ERR);
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

/*
 * In direct form, all indices are 0 after RESET.  A process does this for its QPs.
 * Nobody posts in this state.
 */
static void vroce_queue_rewind(struct vroce_queue *q, spinlock_t *posting,
			       spinlock_t *polling)
{
	spin_lock_irq(polling);
	spin_lock(posting);
	q->next = 0;
	q->done = 0;
	WRITE_ONCE(*q->producer, 0);
	spin_unlock(posting);
	spin_unlock_irq(polling);
}

static void vroce_qp_rewind(struct vroce_qp *qp)
{
	struct vroce_hw_qp *hw = qp->hw;

	if (!hw->mem || !hw->kernel)
		return;
	vroce_queue_rewind(&hw->sq, &qp->sq_lock, &hw->scq->lock);
	vroce_queue_rewind(&hw->rq, &qp->rq_lock, &hw->rcq->lock);
}

/* The provider sends nothing with the attributes, or how long bursts are. */
static int vroce_qp_burst(struct vroce_dev *dev, int mask, struct ib_udata *udata,
			  u32 *max_burst)
{
	struct virtio_roce_modify_qp_req req;
	int err;

	*max_burst = 0;
	if (!udata || !udata->inlen)
		return 0;
	err = vroce_udata_in(udata, &req, 0, sizeof(req));
	if (err)
		return err;
	if (req.reserved || (req.max_burst && !(mask & IB_QP_RATE_LIMIT)))
		return -EINVAL;
	if (req.max_burst && !vroce_has_rate_burst(dev))
		return -EOPNOTSUPP;
	*max_burst = req.max_burst;
	return 0;
}

/**
 * vroce_modify_qp() - change state and attributes of a queue pair
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
	u32 max_burst;
	int err;

	err = vroce_qp_burst(dev, mask, udata, &max_burst);
	/* It has one state, in which it receives. */
	if (!err && ibqp->rwq_ind_tbl)
		err = -EOPNOTSUPP;
	if (err)
		return err;

	/* A device without FLUSH does not know these flags. */
	if (!vroce_has_flush(dev))
		attr->qp_access_flags &= ~VROCE_ACCESS_FLUSH;
	attr->qp_access_flags &= ~IB_ACCESS_MW_BIND;
	attr->qp_access_flags = vroce_known_access(dev, attr->qp_access_flags);

	mutex_lock(&qp->mutex);
	err = vroce_qp_check_modify(dev, qp, attr, mask);
	if (err)
		goto out_unlock;
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		err = vroce_qp_empty(dev, qp);
	if (err)
		goto out_unlock;
	/* The event may be faster than the answer. */
	if (mask & IB_QP_STATE)
		WRITE_ONCE(qp->sqd_notify,
			   mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
			   attr->en_sqd_async_notify);
	err = vroce_cmd_modify_qp(dev->aux, ibqp->qp_num, attr, mask, max_burst);
	if (err)
		goto out_unlock;

	if (mask & IB_QP_STATE) {
		vroce_qp_set_state(dev, qp, attr->qp_state);
		/*
		 * There are no requests any more.  Either the device has dropped
		 * them and given their slots back, or there were none.  The
		 * indices of the rings continue from here.
		 */
		if (attr->qp_state == IB_QPS_RESET) {
			vroce_backlog_drop(qp);
			vroce_flush_drop(dev, qp->hw);
			vroce_hw_qp_forget(qp->hw);
			vroce_qp_rewind(qp);
			WRITE_ONCE(qp->hw->told, 0);
		}
		/* A caller that waits for this event must not wait for a dead device. */
		if (attr->qp_state == IB_QPS_ERR &&
		    (qp->hw->srq || qp->hw->xrcd) &&
		    READ_ONCE(dev->health) == VIRTIO_NET_ROCE_QUIESCED)
			vroce_qp_event(dev, VIRTIO_RDMA_EVENT_QP_LAST_WQE,
				       ibqp->qp_num);
	}
out_unlock:
	mutex_unlock(&qp->mutex);
	return err;
}

/**
 * vroce_query_qp() - say state and attributes of a queue pair
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
		vroce_qp_set_state(dev, qp, attr->qp_state);
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
		.srq = ibqp->srq,
		.cap = qp->cap,
		.sq_sig_type = qp->sig_type,
		.qp_type = ibqp->qp_type,
		.rwq_ind_tbl = ibqp->rwq_ind_tbl,
	};
	return 0;
}

/* The verbs object goes, but user space still maps the queues: see vroce_obj.c. */
static void vroce_qp_stop(struct vroce_dev *dev, struct vroce_hw_qp *hw)
{
	static const struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };

	vroce_cmd_modify_qp(dev->aux, hw->qpn, &reset, IB_QP_STATE, 0);
}

/**
 * vroce_destroy_qp() - destroy a queue pair
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

	if (hw->kernel)
		vroce_flush_count(dev, hw, -1);
	vroce_hw_qp_own(hw, NULL);
	if (qp->backlog.slots)
		vroce_qp_feed(hw->rcq, NULL);
	vroce_maps_remove(&qp->sq_maps);
	vroce_maps_remove(&qp->rq_maps);
	/* No further mapping can be made, so this number cannot rise. */
	if (kref_read(&hw->obj.ref) > 1)
		vroce_qp_stop(dev, hw);
	vroce_restrack_hide_qp(qp);
	vroce_obj_put(&hw->obj);
	vroce_qp_free_backlog(qp);
	mutex_destroy(&qp->mutex);
	return 0;
}
