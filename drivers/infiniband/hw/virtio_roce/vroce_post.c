// SPDX-License-Identifier: GPL-2.0
/*
 * The data path of kernel consumers.  It follows the rules that user space
 * follows in the provider: see vroce_ring.h for the indices and uapi/virtio_net_roce.h
 * for requests and completions.
 *
 * What the device writes, completions and used indices, is not to be trusted to
 * lead anywhere: a slot is found by counting, an index that runs ahead stops the
 * queue.
 *
 * The GSI can have more receive requests than its ring has slots: the others wait in a
 * backlog, which moves on when requests are posted and when the CQ is polled.  If its CQ
 * has fewer slots than asked for, too, requests are shown to the device only while all
 * their completions find one: &vroce_hw_cq.due counts what was shown and not polled, and
 * the room that send requests may need is left to them.
 *
 * User space posts and polls for itself and comes here for a doorbell only, if
 * the device has none that it could map: that is a list without requests.
 */
#include <linux/overflow.h>

#include "vroce_ring.h"
#include "vroce.h"
#include "vroce_wire.h"

static void *vroce_queue_slot(const struct vroce_queue *q, u16 pos)
{
	return q->slots + (size_t)(pos & (q->depth - 1)) * q->stride;
}

/* Slots from the first one not yet used up to @pos must be fewer than all. */
static bool vroce_wq_has_room(const struct vroce_queue *q, u16 pos)
{
	return (u16)(pos - vroce_ring_used_idx(&q->vq->vring)) < q->depth;
}

/* Show the device what was put in up to @pos, and ring if it wants to hear. */
static void vroce_wq_publish(struct virtio_net_roce_aux *aux,
			     struct vroce_queue *q, u16 pos)
{
	struct vring *vring = &q->vq->vring;
	u16 old = q->next;

	if (pos == old)
		return;
	q->next = pos;
	vroce_ring_publish(vring, pos);
	if (vroce_ring_wants_kick(vring, aux->event_idx, old, pos))
		aux->ops->kick(aux, q->vq);
}

static void vroce_put_sges(struct virtio_rdma_sge *wire,
			   const struct ib_sge *sge, int n)
{
	for (; n--; wire++, sge++) {
		wire->addr = cpu_to_le64(sge->addr);
		wire->length = cpu_to_le32(sge->length);
		wire->lkey = cpu_to_le32(sge->lkey);
	}
}

/* The scatter list of an inline request has addresses of the kernel. */
static int vroce_put_inline(struct virtio_rdma_sq_req *req,
			    const struct ib_send_wr *wr)
{
	size_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > sizeof(req->inline_data) - len)
			return -EINVAL;
		memcpy(req->inline_data + len, (void *)(uintptr_t)sge->addr,
		       sge->length);
		len += sge->length;
	}
	req->num_sge = 0;
	req->inline_len = cpu_to_le16(len);
	return 0;
}

static void vroce_put_reg(struct virtio_rdma_sq_req *req,
			  const struct ib_reg_wr *wr)
{
	const struct vroce_mr *mr = to_vmr(wr->mr);

	req->reg.pages = cpu_to_le64(mr->pages_dma);
	req->reg.iova = cpu_to_le64(mr->ibmr.iova);
	req->reg.length = cpu_to_le32(mr->ibmr.length);
	req->reg.key = cpu_to_le32(wr->key);
	req->reg.access = cpu_to_le32(vroce_access_to_wire(wr->access));
	req->reg.npages = cpu_to_le32(mr->npages);
}

static void vroce_put_target(struct virtio_rdma_sq_req *req,
			     enum ib_qp_type type, const struct ib_send_wr *wr)
{
	if (wr->opcode == IB_WR_REG_MR) {
		vroce_put_reg(req, reg_wr(wr));
	} else if (type == IB_QPT_UD || type == IB_QPT_GSI) {
		req->ud.remote_qpn = cpu_to_le32(ud_wr(wr)->remote_qpn);
		req->ud.remote_qkey = cpu_to_le32(ud_wr(wr)->remote_qkey);
		req->ud.ah = cpu_to_le32(to_vah(ud_wr(wr)->ah)->ahn);
	} else if (wr->opcode == IB_WR_RDMA_WRITE ||
		   wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM ||
		   wr->opcode == IB_WR_RDMA_READ) {
		req->rdma.remote_addr = cpu_to_le64(rdma_wr(wr)->remote_addr);
		req->rdma.rkey = cpu_to_le32(rdma_wr(wr)->rkey);
	}
}

/* What stands beside the opcode, whether immediate data or a key. */
static void vroce_put_extra(struct virtio_rdma_sq_req *req,
			    const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		req->imm_data = wr->ex.imm_data;
		break;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		req->invalidate_rkey = cpu_to_le32(wr->ex.invalidate_rkey);
		break;
	default:
		break;
	}
}

/*
 * The opcode on the wire, or -errno.  There is no FLUSH: the kernel's verbs have no
 * field for the kind of flush.
 */
static int vroce_check_opcode(const struct vroce_qp *qp,
			      const struct ib_send_wr *wr)
{
	const struct vroce_dev *dev = to_vdev(qp->ibqp.device);
	enum ib_qp_type type = qp->ibqp.qp_type;
	int opcode = vroce_wr_opcode_to_wire(wr->opcode, type);

	if (opcode != -EOPNOTSUPP || !vroce_has_fast_reg(dev))
		return opcode;
	if (wr->opcode == IB_WR_REG_MR &&
	    (!to_vmr(reg_wr(wr)->mr)->pages ||
	     !vroce_mr_access_is_ok(dev, reg_wr(wr)->access)))
		return -EINVAL;
	return vroce_mem_mgt_opcode_to_wire(wr->opcode, type);
}

static int vroce_put_send(struct vroce_qp *qp, struct virtio_rdma_sq_req *req,
			  const struct ib_send_wr *wr)
{
	int opcode = vroce_check_opcode(qp, wr);
	int flags = vroce_send_flags_to_wire(wr->send_flags);

	if (opcode < 0)
		return opcode;
	if (flags < 0)
		return flags;
	if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_send_sge)
		return -EINVAL;

	/* The rest is reserved, and zero since the slot was allocated. */
	memset(req, 0, offsetof(typeof(*req), inline_data));
	req->wr_id = cpu_to_le64(wr->wr_id);
	req->opcode = opcode;
	req->send_flags = flags;
	vroce_put_extra(req, wr);
	vroce_put_target(req, qp->ibqp.qp_type, wr);
	if (wr->send_flags & IB_SEND_INLINE)
		return vroce_put_inline(req, wr);
	req->num_sge = cpu_to_le32(wr->num_sge);
	vroce_put_sges(req->sg_list, wr->sg_list, wr->num_sge);
	return 0;
}

/* A process asks for a doorbell.  What it would post it has to post itself. */
static int vroce_post_user(struct vroce_qp *qp, struct vroce_queue *q,
			   bool empty)
{
	struct virtio_net_roce_aux *aux = to_vdev(qp->ibqp.device)->aux;

	if (!empty)
		return -EOPNOTSUPP;
	aux->ops->kick(aux, q->vq);
	return 0;
}

/**
 * vroce_post_send() - verb
 * @ibqp: queue pair
 * @wr: list of requests
 * @bad_wr: on error the first request that was not posted; else left alone, as
 *	callers look at it after success, too
 *
 * Context: any.
 * Return: 0 or -errno.
 */
int vroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr)
{
	struct vroce_qp *qp = to_vqp(ibqp);
	struct vroce_hw_cq *scq = qp->hw->scq;
	struct vroce_queue *q = &qp->hw->sq;
	unsigned long flags;
	int err = 0;
	u16 pos;

	if (!qp->hw->kernel) {
		err = vroce_post_user(qp, q, !wr);
		goto out;
	}
	if (READ_ONCE(qp->state) < IB_QPS_RTS) {
		err = -EINVAL;
		goto out;
	}

	spin_lock_irqsave(&qp->sq_lock, flags);
	for (pos = q->next; wr; wr = wr->next, pos++) {
		if (!vroce_wq_has_room(q, pos) ||
		    !vroce_cq_expect(scq, scq->queue.depth)) {
			err = -ENOMEM;
			break;
		}
		err = vroce_put_send(qp, vroce_queue_slot(q, pos), wr);
		if (err) {
			vroce_cq_unexpect(scq);
			break;
		}
		vroce_ring_put(&q->vq->vring, pos, pos & (q->depth - 1));
	}
	/* Those before the bad one are on their way. */
	vroce_wq_publish(to_vdev(ibqp->device)->aux, q, pos);
	spin_unlock_irqrestore(&qp->sq_lock, flags);
out:
	if (err)
		*bad_wr = wr;
	return err;
}

static int vroce_put_recv(struct vroce_qp *qp, struct virtio_rdma_rq_req *req,
			  const struct ib_recv_wr *wr)
{
	if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_recv_sge)
		return -EINVAL;
	memset(req, 0, sizeof(*req));
	req->wr_id = cpu_to_le64(wr->wr_id);
	req->num_sge = cpu_to_le32(wr->num_sge);
	vroce_put_sges(req->sg_list, wr->sg_list, wr->num_sge);
	return 0;
}

static void *vroce_backlog_slot(const struct vroce_qp *qp, u32 pos)
{
	return qp->backlog.slots +
	       (size_t)(pos & (qp->backlog.depth - 1)) * qp->hw->rq.stride;
}

/* Show the device what there is room for.  Context: rq_lock held. */
static void vroce_backlog_move(struct vroce_qp *qp)
{
	struct vroce_backlog *backlog = &qp->backlog;
	struct vroce_queue *q = &qp->hw->rq;
	u16 pos;

	for (pos = q->next; backlog->head != backlog->tail; pos++) {
		if (!vroce_wq_has_room(q, pos) ||
		    !vroce_cq_expect(qp->hw->rcq, backlog->limit))
			break;
		memcpy(vroce_queue_slot(q, pos),
		       vroce_backlog_slot(qp, backlog->head++), q->slot_len);
		vroce_ring_put(&q->vq->vring, pos, pos & (q->depth - 1));
	}
	vroce_wq_publish(to_vdev(qp->ibqp.device)->aux, q, pos);
}

/**
 * vroce_backlog_drop() - the QP goes to RESET
 * @qp: queue pair
 *
 * Context: any.
 */
void vroce_backlog_drop(struct vroce_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->rq_lock, flags);
	qp->backlog.head = qp->backlog.tail;
	spin_unlock_irqrestore(&qp->rq_lock, flags);
}

/*
 * Put a list into the backlog, and as much of it as possible into the ring.  @wr is
 * where it ends or, with an error, the bad request.  Context: rq_lock held.
 */
static int vroce_backlog_post(struct vroce_qp *qp, const struct ib_recv_wr **wr)
{
	struct vroce_backlog *backlog = &qp->backlog;
	int err = 0;

	for (; *wr; *wr = (*wr)->next, backlog->tail++) {
		if (backlog->tail - backlog->head == backlog->depth)
			err = -ENOMEM;
		else
			err = vroce_put_recv(qp, vroce_backlog_slot(qp, backlog->tail),
					     *wr);
		if (err)
			break;
	}
	vroce_backlog_move(qp);
	return err;
}

/* The same without a backlog. */
static int vroce_ring_post(struct vroce_qp *qp, const struct ib_recv_wr **wr)
{
	struct vroce_queue *q = &qp->hw->rq;
	int err = 0;
	u16 pos;

	for (pos = q->next; *wr; *wr = (*wr)->next, pos++) {
		if (!vroce_wq_has_room(q, pos)) {
			err = -ENOMEM;
			break;
		}
		err = vroce_put_recv(qp, vroce_queue_slot(q, pos), *wr);
		if (err)
			break;
		vroce_ring_put(&q->vq->vring, pos, pos & (q->depth - 1));
	}
	vroce_wq_publish(to_vdev(qp->ibqp.device)->aux, q, pos);
	return err;
}

/**
 * vroce_post_recv() - verb
 * @ibqp: queue pair
 * @wr: list of requests
 * @bad_wr: on error the first request that was not posted; else left alone, as
 *	callers look at it after success, too
 *
 * Context: any.
 * Return: 0 or -errno.
 */
int vroce_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr)
{
	struct vroce_qp *qp = to_vqp(ibqp);
	unsigned long flags;
	int err;

	if (!qp->hw->kernel) {
		err = vroce_post_user(qp, &qp->hw->rq, !wr);
		goto out;
	}
	if (READ_ONCE(qp->state) == IB_QPS_RESET) {
		err = -EINVAL;
		goto out;
	}

	spin_lock_irqsave(&qp->rq_lock, flags);
	err = qp->backlog.slots ? vroce_backlog_post(qp, &wr) :
				  vroce_ring_post(qp, &wr);
	spin_unlock_irqrestore(&qp->rq_lock, flags);
out:
	if (err)
		*bad_wr = wr;
	return err;
}

/*
 * Completions that are there and not polled.  More than the CQ has room for are
 * the work of a broken device, which gets none of them accepted.
 * Context: lock of the CQ held.
 */
static u16 vroce_cq_pending(const struct vroce_queue *q)
{
	u16 n = vroce_ring_used_idx(&q->vq->vring) - q->next;

	return n <= q->depth ? n : 0;
}

/*
 * Slot of the completion at position @pos of the used ring.  The device names
 * it; modulo the depth, because it may name anything.
 */
static u16 vroce_cq_slot(const struct vroce_queue *q, u16 pos)
{
	const struct vring *vring = &q->vq->vring;
	const __virtio32 *id = &vring->used->ring[pos & (vring->num - 1)].id;

	return __virtio32_to_cpu(true, READ_ONCE(*id)) & (q->depth - 1);
}

/* Context: lock of the CQ held. */
static void vroce_backlog_feed(struct vroce_qp *qp)
{
	spin_lock(&qp->rq_lock);
	vroce_backlog_move(qp);
	spin_unlock(&qp->rq_lock);
}

/* Take a completion and give its slot back; false if its QP is no more. */
static bool vroce_cq_take(struct vroce_dev *dev, struct vroce_hw_cq *hw,
			  struct ib_wc *wc)
{
	struct vroce_queue *q = &hw->queue;
	u16 slot = vroce_cq_slot(q, q->next);
	struct virtio_rdma_cq_req req;
	struct vroce_qp *qp;

	/* Once: the device could change what was looked at. */
	memcpy(&req, vroce_queue_slot(q, slot), sizeof(req));
	/* Available indices are @depth ahead of those polled. */
	vroce_ring_put(&q->vq->vring, q->next + q->depth, slot);
	q->next++;
	vroce_cq_unexpect(hw);

	qp = xa_load(&dev->qps, le32_to_cpu(req.qp_num));
	if (!qp)
		return false;
	vroce_wc_from_wire(&req, wc);
	wc->qp = &qp->ibqp;
	return true;
}

/**
 * vroce_poll_cq() - verb
 * @ibcq: completion queue
 * @num: how many completions at most
 * @wc: completions
 *
 * Context: any.
 * Return: how many there are, or -EOPNOTSUPP for a CQ of user space.
 */
int vroce_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct vroce_dev *dev = to_vdev(ibcq->device);
	struct vroce_hw_cq *hw = to_vcq(ibcq)->hw;
	struct vroce_queue *q = &hw->queue;
	unsigned long flags;
	u16 pending;
	int n = 0;

	if (ibcq->uobject)
		return -EOPNOTSUPP;

	spin_lock_irqsave(&hw->lock, flags);
	for (pending = vroce_cq_pending(q); n < num && pending; pending--)
		n += vroce_cq_take(dev, hw, wc + n);
	vroce_ring_publish(&q->vq->vring, q->next + q->depth);
	/* After the slots, for which there may be completions now. */
	if (hw->feed)
		vroce_backlog_feed(hw->feed);
	spin_unlock_irqrestore(&hw->lock, flags);
	return n;
}

/**
 * vroce_cq_has_completions() - are there any that were not polled?
 * @hw: CQ of the kernel
 *
 * Context: any.
 * Return: true if so.
 */
bool vroce_cq_has_completions(struct vroce_hw_cq *hw)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&hw->lock, flags);
	ret = vroce_cq_pending(&hw->queue);
	spin_unlock_irqrestore(&hw->lock, flags);
	return ret;
}

/**
 * vroce_cq_forget_qp() - a QP is gone, and its number may soon be another's
 * @hw: CQ of the kernel
 * @qpn: number of the QP
 *
 * Its completions that were not polled are marked, and skipped when polled.
 *
 * Context: any.  The device adds no further completions of the QP.
 */
void vroce_cq_forget_qp(struct vroce_hw_cq *hw, u32 qpn)
{
	struct vroce_queue *q = &hw->queue;
	struct virtio_rdma_cq_req *req;
	unsigned long flags;
	u16 i, n;

	spin_lock_irqsave(&hw->lock, flags);
	n = vroce_cq_pending(q);
	for (i = 0; i < n; i++) {
		req = vroce_queue_slot(q, vroce_cq_slot(q, q->next + i));
		if (le32_to_cpu(req->qp_num) == qpn)
			req->qp_num = cpu_to_le32(U32_MAX);
	}
	/* What was due and has not come will not. */
	atomic_set(&hw->due, n);
	spin_unlock_irqrestore(&hw->lock, flags);
}
