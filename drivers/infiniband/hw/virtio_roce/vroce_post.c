// SPDX-License-Identifier: GPL-2.0
/*
 * The data path of kernel consumers.  It follows the same rules as the provider in user
 * space: see vroce_form.h for the two forms of queues and uapi/virtio_net_roce.h for
 * requests and completions.
 *
 * Completions and used indices are written by the device and are not trusted.  A slot
 * is found by counting, and a used index of a CQ that runs ahead stops the CQ.
 *
 * A consumer's wr_id is a pointer to something that will be called, so the device does
 * not see it.  Instead, a completion names the position of a request, and whether it is
 * one of the receive queue.  The rest is kept in &vroce_queue.requests, beside the ring, and
 * looked up there when the request completes.
 *
 * A completion is accepted only if it names a request that was posted to a QP of this
 * CQ and is not complete, which means between &vroce_queue.done and &vroce_queue.next.
 * The device completes the requests of a queue in order, so one completion completes
 * all requests before it, too.  That frees requests that leave no completion.  A slot
 * is reused only when the request in it is complete.
 *
 * The GSI can have more receive requests than its ring has slots.  The others wait in a
 * backlog, from which requests move when some are posted and when the CQ is polled.
 * The CQ of the GSI may have fewer slots than were asked for.  Then requests are shown
 * to the device only while there is a slot for each of their completions:
 * &vroce_hw_cq.due counts the requests that were shown and whose completions were not
 * polled.  Receive requests leave the room that send requests may need.
 *
 * User space posts and polls by itself.  It calls these verbs, with an empty list, only
 * to ring a doorbell, if the device has no doorbell that it could map.
 */
#include <linux/overflow.h>

#include "vroce_caps.h"
#include "vroce_flush.h"
#include "vroce_form.h"
#include "vroce_kq.h"
#include "vroce_mr.h"
#include "vroce_post.h"
#include "vroce_wire.h"

/* Bytes before the payload in the receive buffer of a datagram. */
#define VROCE_GRH_LEN		40

/*
 * May a request be put at @pos?  The request that was in its slot must be complete.  The
 * used index is not asked: it only says what completions say later, and a device that
 * writes nonsense there must not keep a consumer from draining its queue.
 */
static bool vroce_wq_has_room(const struct vroce_queue *q, u32 pos)
{
	/* Pairs with vroce_wq_complete(), which has read the request before. */
	return pos - smp_load_acquire(&q->done) < q->depth;
}

/*
 * Show the device the requests before @pos, and ring the doorbell if it asked for it.
 */
static void vroce_wq_publish(struct virtio_net_roce_aux *aux,
			     struct vroce_queue *q, u32 pos)
{
	u32 old = q->next;

	if (pos == old)
		return;
	/* A poller that sees this index also sees the requests before it. */
	smp_store_release(&q->next, pos);
	vroce_wq_announce(aux, q, old);
}

/* The scatter list of an inline request has addresses of the kernel. */
static int vroce_put_inline(const struct vroce_queue *q, void *slot,
			    u32 max, const struct ib_send_wr *wr)
{
	size_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > max - len)
			return -EINVAL;
		memcpy(slot + q->data + len, (void *)(uintptr_t)sge->addr,
		       sge->length);
		len += sge->length;
	}
	vroce_form_set_inline(q, slot, len);
	return 0;
}

static void vroce_put_reg(struct virtio_rdma_swqe *req,
			  const struct ib_reg_wr *wr)
{
	const struct vroce_mr *mr = to_vmr(wr->mr);
	int access;

	req->reg.pages = cpu_to_le64(mr->pages_dma);
	req->reg.iova = cpu_to_le64(mr->ibmr.iova);
	req->reg.length = cpu_to_le32(mr->ibmr.length);
	req->reg.key = cpu_to_le32(wr->key);
	access = vroce_known_access(to_vdev(wr->mr->device), wr->access);
	req->reg.access = cpu_to_le32(vroce_access_to_wire(access));
	req->reg.npages = cpu_to_le32(mr->npages);
}

static bool vroce_is_atomic(const struct ib_send_wr *wr)
{
	return wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       wr->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

static void vroce_put_atomic(struct virtio_rdma_swqe *req,
			     const struct ib_atomic_wr *wr)
{
	req->atomic_rkey = cpu_to_le32(wr->rkey);
	req->atomic.remote_addr = cpu_to_le64(wr->remote_addr);
	req->atomic.compare_add = cpu_to_le64(wr->compare_add);
	req->atomic.swap = cpu_to_le64(wr->swap);
}

static void vroce_put_target(struct virtio_rdma_swqe *req,
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
	} else if (vroce_is_atomic(wr)) {
		vroce_put_atomic(req, atomic_wr(wr));
	}
}

/* Write the extra operand of some opcodes: immediate data or a key. */
static void vroce_put_extra(struct virtio_rdma_swqe *req,
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
 * The opcode on the wire, or -errno.  FLUSH is not supported, because the kernel's
 * verbs have no field for the kind of flush.
 */
static int vroce_check_opcode(const struct vroce_qp *qp,
			      const struct ib_send_wr *wr)
{
	const struct vroce_dev *dev = to_vdev(qp->ibqp.device);
	enum ib_qp_type type = qp->ibqp.qp_type;
	int opcode = vroce_wr_opcode_to_wire(wr->opcode, type);

	if (vroce_is_atomic(wr) && vroce_has_atomics(dev))
		return vroce_atomic_opcode_to_wire(wr->opcode, type);
	if (opcode != -EOPNOTSUPP || !vroce_has_fast_reg(dev))
		return opcode;
	if (wr->opcode == IB_WR_REG_MR &&
	    (!to_vmr(reg_wr(wr)->mr)->pages ||
	     !vroce_mr_access_is_ok(dev, reg_wr(wr)->access)))
		return -EINVAL;
	return vroce_mem_mgt_opcode_to_wire(wr->opcode, type);
}

/* The opcode of a completion by that of its request.  All others are IB_WC_SEND. */
static const u8 vroce_completed_as[] = {
	[IB_WR_RDMA_WRITE]		= IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM]	= IB_WC_RDMA_WRITE,
	[IB_WR_SEND]			= IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM]		= IB_WC_SEND,
	[IB_WR_RDMA_READ]		= IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP]	= IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD]	= IB_WC_FETCH_ADD,
	[IB_WR_LOCAL_INV]		= IB_WC_LOCAL_INV,
	[IB_WR_SEND_WITH_INV]		= IB_WC_SEND,
	[IB_WR_REG_MR]			= IB_WC_REG_MR,
};

/* Does what comes back hold data? */
static bool vroce_fetched(const struct vroce_request *request)
{
	return request->opcode == IB_WC_RDMA_READ ||
	       request->opcode == IB_WC_COMP_SWAP ||
	       request->opcode == IB_WC_FETCH_ADD;
}

/* Remember a request whose opcode has been checked. */
static void vroce_keep_send(const struct vroce_qp *qp,
			    struct vroce_request *keep,
			    const struct ib_send_wr *wr)
{
	*keep = (struct vroce_request) {
		.wr_id = wr->wr_id,
		.opcode = vroce_completed_as[wr->opcode],
		.signaled = wr->send_flags & IB_SEND_SIGNALED ||
			    qp->sig_type == IB_SIGNAL_ALL_WR,
	};
	if (vroce_fetched(keep))
		keep->len = vroce_sges_len(wr->sg_list, wr->num_sge);
}

/*
 * A datagram is one packet, so it must fit into the MTU of the port.  One that does not
 * fit any more when the device sends it is the device's to refuse.
 */
static bool vroce_datagram_fits(const struct vroce_qp *qp, const struct ib_send_wr *wr)
{
	const struct vroce_dev *dev = to_vdev(qp->ibqp.device);

	return vroce_sges_len(wr->sg_list, wr->num_sge) <=
	       ib_mtu_enum_to_int(vroce_active_mtu(dev));
}

/* Write a request to position @pos, which is free. */
static int vroce_put_send(struct vroce_qp *qp, u32 pos,
			  const struct ib_send_wr *wr)
{
	const struct vroce_queue *q = &qp->hw->sq;
	void *slot = vroce_queue_slot(q, pos);
	struct virtio_rdma_swqe *req = vroce_form_header(q, slot);
	int opcode = vroce_check_opcode(qp, wr);
	int flags = vroce_send_flags_to_wire(wr->send_flags);

	if (opcode < 0)
		return opcode;
	if (flags < 0)
		return flags;
	if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_send_sge)
		return -EINVAL;
	if (qp->hw->datagram && !vroce_datagram_fits(qp, wr))
		return -EINVAL;

	/* The rest is reserved.  It is zero since the slot was allocated. */
	memset(req, 0, offsetofend(typeof(*req), reg));
	vroce_keep_send(qp, vroce_queue_request(q, pos), wr);
	req->opcode = opcode;
	req->send_flags = flags;
	vroce_put_extra(req, wr);
	vroce_put_target(req, qp->ibqp.qp_type, wr);
	if (wr->send_flags & IB_SEND_INLINE)
		return vroce_put_inline(q, slot, qp->cap.max_inline_data, wr);
	/* A request REG_MR of direct form has no room for elements. */
	if (wr->opcode == IB_WR_REG_MR) {
		vroce_form_set_sges(q, slot, 0);
		return 0;
	}
	vroce_form_set_sges(q, slot, wr->num_sge);
	vroce_put_sges(slot + q->sges, wr->sg_list, wr->num_sge);
	return 0;
}

/*
 * Ring the doorbell for a process.  A process must post its requests itself.  A QP without
 * queues has no doorbell.
 */
static int vroce_post_user(struct vroce_qp *qp, struct vroce_queue *q,
			   bool empty)
{
	struct virtio_net_roce_aux *aux = to_vdev(qp->ibqp.device)->aux;

	if (!empty || !qp->hw->scq)
		return -EOPNOTSUPP;
	aux->ops->kick(aux, q->direct ? q->doorbell->vq : q->vq);
	return 0;
}

/**
 * vroce_post_send() - post send requests
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
	u32 pos;

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
		err = vroce_put_send(qp, pos, wr);
		if (err) {
			vroce_cq_unexpect(scq);
			break;
		}
		vroce_wq_put(q, pos, false);
	}
	/* The requests before the bad one are posted. */
	vroce_wq_publish(to_vdev(ibqp->device)->aux, q, pos);
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	vroce_flush_posted(to_vdev(ibqp->device));
out:
	if (err)
		*bad_wr = wr;
	return err;
}

static int vroce_put_qp_recv(struct vroce_qp *qp, void *slot,
			     struct vroce_request *keep,
			     const struct ib_recv_wr *wr)
{
	if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_recv_sge)
		return -EINVAL;
	vroce_put_recv(&qp->hw->rq, slot, keep, wr);
	return 0;
}

static struct vroce_request *vroce_backlog_request(const struct vroce_qp *qp,
						   u32 pos)
{
	return &qp->backlog.requests[pos & (qp->backlog.depth - 1)];
}

static void *vroce_backlog_slot(const struct vroce_qp *qp, u32 pos)
{
	return qp->backlog.slots +
	       (size_t)(pos & (qp->backlog.depth - 1)) * qp->hw->rq.stride;
}

/*
 * Move as many requests from the backlog into the ring as there is room for.
 * Context: rq_lock held.
 */
static void vroce_backlog_move(struct vroce_qp *qp)
{
	struct vroce_backlog *backlog = &qp->backlog;
	struct vroce_queue *q = &qp->hw->rq;
	u32 pos;

	for (pos = q->next; backlog->head != backlog->tail; pos++) {
		if (!vroce_wq_has_room(q, pos) ||
		    !vroce_cq_expect(qp->hw->rcq, backlog->limit))
			break;
		*vroce_queue_request(q, pos) =
			*vroce_backlog_request(qp, backlog->head);
		memcpy(vroce_queue_slot(q, pos),
		       vroce_backlog_slot(qp, backlog->head++), q->slot_len);
		vroce_wq_put(q, pos, true);
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
 * Put a list into the backlog, and as much of it as possible into the ring.  On return
 * @wr is the end of the list or, with an error, the bad request.
 * Context: rq_lock held.
 */
static int vroce_backlog_post(struct vroce_qp *qp, const struct ib_recv_wr **wr)
{
	struct vroce_backlog *backlog = &qp->backlog;
	int err = 0;

	for (; *wr; *wr = (*wr)->next, backlog->tail++) {
		if (backlog->tail - backlog->head == backlog->depth)
			err = -ENOMEM;
		else
			err = vroce_put_qp_recv(qp,
						vroce_backlog_slot(qp, backlog->tail),
						vroce_backlog_request(qp, backlog->tail),
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
	u32 pos;

	for (pos = q->next; *wr; *wr = (*wr)->next, pos++) {
		if (!vroce_wq_has_room(q, pos)) {
			err = -ENOMEM;
			break;
		}
		err = vroce_put_qp_recv(qp, vroce_queue_slot(q, pos),
					vroce_queue_request(q, pos), *wr);
		if (err)
			break;
		vroce_wq_put(q, pos, true);
	}
	vroce_wq_publish(to_vdev(qp->ibqp.device)->aux, q, pos);
	return err;
}

/**
 * vroce_post_recv() - post receive requests
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
	if (READ_ONCE(qp->state) == IB_QPS_RESET || qp->hw->srq) {
		err = -EINVAL;
		goto out;
	}

	spin_lock_irqsave(&qp->rq_lock, flags);
	err = qp->backlog.slots ? vroce_backlog_post(qp, &wr) :
				  vroce_ring_post(qp, &wr);
	spin_unlock_irqrestore(&qp->rq_lock, flags);
	vroce_flush_posted(to_vdev(ibqp->device));
out:
	if (err)
		*bad_wr = wr;
	return err;
}

/* Context: lock of the CQ held. */
static void vroce_backlog_feed(struct vroce_qp *qp)
{
	spin_lock(&qp->rq_lock);
	vroce_backlog_move(qp);
	spin_unlock(&qp->rq_lock);
}

/* Fill in the completion of a send request, which @wc says was successful. */
static void vroce_wc_of_send(const struct vroce_request *request,
			     struct ib_wc *wc)
{
	wc->wc_flags = 0;
	wc->opcode = request->opcode;
	if (!vroce_fetched(request))
		wc->byte_len = 0;
	else if (wc->byte_len > request->len)
		wc->status = IB_WC_GENERAL_ERR;
}

/*
 * The same for a receive request.  With the immediate data of an RDMA WRITE, the length
 * is that of the WRITE, whose data goes somewhere else.  But a consumer that does not
 * expect a WRITE takes the length for that of the data in its buffer.  So if there is a
 * buffer, the length is cut to its size.
 */
static void vroce_wc_of_recv(const struct vroce_request *request, bool datagram,
			     struct ib_wc *wc)
{
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM && !datagram) {
		if (request->len)
			wc->byte_len = min(wc->byte_len, request->len);
		return;
	}
	if (wc->opcode != IB_WC_RECV || wc->byte_len > request->len ||
	    (datagram && wc->byte_len < VROCE_GRH_LEN))
		wc->status = IB_WC_GENERAL_ERR;
	wc->opcode = IB_WC_RECV;
}

/*
 * Complete the request that a completion names; @wc has what else the device wrote.
 *
 * First make sure that @qp uses this CQ.  Only then the lock of the CQ keeps the queues
 * of @qp from being freed, and they may be used.
 *
 * Context: lock of the CQ and RCU read lock held.
 * Return: NULL, or the reason why the completion is not valid.
 */
static const char *vroce_wq_complete(const struct vroce_hw_cq *hw,
				     struct vroce_hw_qp *qp,
				     const struct vroce_cqe *cqe,
				     struct ib_wc *wc)
{
	bool recv = cqe->recv;
	struct vroce_queue *q = recv ? &qp->rq : &qp->sq;
	const struct vroce_request *request;
	u32 ahead, outstanding, pos;

	if ((recv ? qp->rcq : qp->scq) != hw)
		return "its QP uses another CQ";
	/* Pairs with vroce_wq_publish(). */
	outstanding = smp_load_acquire(&q->next) - q->done;
	ahead = cqe->pos - q->done;
	if (!q->direct)
		ahead = (u16)ahead;
	if (cqe->odd || ahead >= outstanding)
		return "no such request is outstanding";
	pos = q->done + ahead;
	if (vroce_wq_owed(q, pos)) {
		q->overtaken = true;
		return "a request before it is not complete";
	}
	request = vroce_queue_request(q, pos);
	if (wc->status == IB_WC_SUCCESS && !request->signaled)
		return "its request asked for none";

	wc->wr_id = request->wr_id;
	wc->qp = qp->qp ? &qp->qp->ibqp : NULL;
	if (wc->status != IB_WC_SUCCESS)
		wc->opcode = request->opcode;
	else if (recv)
		vroce_wc_of_recv(request, qp->datagram, wc);
	else
		vroce_wc_of_send(request, wc);
	/* Pairs with vroce_wq_has_room(). */
	smp_store_release(&q->done, pos + 1);
	q->overtaken = false;
	return NULL;
}

/* The same for a request of an SRQ.  Requests of an SRQ complete in any order. */
static const char *vroce_shared_complete(const struct vroce_hw_cq *hw,
					 struct vroce_hw_qp *qp,
					 const struct vroce_cqe *cqe,
					 struct ib_wc *wc)
{
	struct vroce_request request;

	if (qp->rcq != hw)
		return "its QP uses another CQ";
	if (!vroce_srq_complete(qp->srq, cqe->pos, &request))
		return "the SRQ has no such request";
	wc->wr_id = request.wr_id;
	wc->qp = qp->qp ? &qp->qp->ibqp : NULL;
	if (wc->status == IB_WC_SUCCESS)
		vroce_wc_of_recv(&request, qp->datagram, wc);
	else
		wc->opcode = request.opcode;
	return NULL;
}

/* Context: as for vroce_wq_complete(). */
static const char *vroce_cq_complete(struct vroce_dev *dev,
				     const struct vroce_hw_cq *hw,
				     const struct vroce_cqe *cqe,
				     struct ib_wc *wc)
{
	struct vroce_hw_qp *qp = xa_load(&dev->qps, cqe->qpn);

	if (!qp)
		return "there is no such QP";
	return cqe->recv && qp->srq ? vroce_shared_complete(hw, qp, cqe, wc) :
				      vroce_wq_complete(hw, qp, cqe, wc);
}

/*
 * Take a completion and give its slot back; false if there is no consumer for it.  The
 * status of a completion that makes no sense is changed to an error.
 */
static bool vroce_cq_take(struct vroce_dev *dev, struct vroce_hw_cq *hw,
			  const void *entry, struct ib_wc *wc)
{
	struct vroce_cqe cqe;
	const char *bad;

	vroce_cq_read(&hw->queue, entry, &cqe);
	vroce_cq_advance(&hw->queue, entry);
	vroce_cq_unexpect(hw);

	if (cqe.qpn == VROCE_QPN_GONE)
		return false;
	vroce_wc_from_wire(&cqe.req, wc);
	rcu_read_lock();
	bad = vroce_cq_complete(dev, hw, &cqe, wc);
	rcu_read_unlock();
	if (!bad)
		return wc->qp;
	atomic64_inc(&dev->bad_completions);
	ibdev_err_ratelimited(&dev->ibdev,
			      "CQ %u: completion of QP %u dropped: %s (%#x)\n",
			      hw->cqn, cqe.qpn, bad, cqe.pos);
	return false;
}

/**
 * vroce_poll_cq() - take completions
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
	int rounds = 0;
	void *entry;
	int n = 0;
	u32 had;

	if (ibcq->uobject)
		return -EOPNOTSUPP;

	spin_lock_irqsave(&hw->lock, flags);
	/* If there is no device, flushed requests come after what it completed. */
	do {
		vroce_flush_cq(dev, hw);
		/* Bounded, because a device may add completions as fast as we take them. */
		for (had = 0; n < num && had < q->depth; had++) {
			entry = vroce_cq_entry(q, 0);
			if (!entry)
				break;
			n += vroce_cq_take(dev, hw, entry, wc + n);
		}
		if (had)
			vroce_cq_publish(q);
	} while (had && n < num && rounds++ < num &&
		 READ_ONCE(dev->health) == VIRTIO_NET_ROCE_QUIESCED);
	/* After the slots, for which there may be completions now. */
	if (hw->feed)
		vroce_backlog_feed(hw->feed);
	spin_unlock_irqrestore(&hw->lock, flags);
	return n;
}
