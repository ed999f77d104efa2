// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of the kernel, below those who post and poll: what a request and a completion
 * are, whether one is due, and what is forgotten when a QP goes.
 */
#include "vroce_form.h"
#include "vroce_kq.h"

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

/**
 * vroce_put_sges() - write a scatter list
 * @wire: where to
 * @sge: elements
 * @n: number of them
 *
 * Context: any.
 */
void vroce_put_sges(struct virtio_rdma_sge *wire, const struct ib_sge *sge, int n)
{
	for (; n--; wire++, sge++) {
		wire->addr = cpu_to_le64(sge->addr);
		wire->length = cpu_to_le32(sge->length);
		wire->lkey = cpu_to_le32(sge->lkey);
	}
}

/**
 * vroce_sges_len() - bytes of a scatter list
 * @sge: elements
 * @n: number of them
 *
 * Context: any.
 * Return: bytes, or U32_MAX if there are more.
 */
u32 vroce_sges_len(const struct ib_sge *sge, int n)
{
	u64 len = 0;

	for (; n--; sge++)
		len += sge->length;
	return min_t(u64, len, U32_MAX);
}

/**
 * vroce_put_recv() - write a receive request except for what depends on its position
 * @q: receive queue, of a QP or an SRQ
 * @slot: where to
 * @keep: what the driver remembers about it
 * @wr: request, whose number of elements was checked
 *
 * Context: any.
 */
void vroce_put_recv(const struct vroce_queue *q, void *slot,
		    struct vroce_request *keep, const struct ib_recv_wr *wr)
{
	struct virtio_rdma_rwqe *req = slot + q->head;

	*keep = (struct vroce_request) {
		.wr_id = wr->wr_id,
		.len = vroce_sges_len(wr->sg_list, wr->num_sge),
		.opcode = IB_WC_RECV,
		.signaled = true,
	};
	memset(req, 0, sizeof(*req));
	req->num_sge = cpu_to_le32(wr->num_sge);
	vroce_put_sges(slot + q->sges, wr->sg_list, wr->num_sge);
}

/**
 * vroce_srq_complete() - a request of an SRQ is complete, and its cookie free
 * @hw: SRQ of the kernel
 * @cookie: what the completion says, not to be trusted
 * @request: set to the request
 *
 * Context: any.
 * Return: false if no request has this cookie.
 */
bool vroce_srq_complete(struct vroce_hw_srq *hw, u32 cookie,
			struct vroce_request *request)
{
	struct vroce_request *requests = hw->queue.requests;
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&hw->lock, flags);
	found = cookie < hw->queue.depth && requests[cookie].signaled;
	if (found) {
		*request = requests[cookie];
		requests[cookie].signaled = false;
		hw->free[hw->num_free++] = cookie;
	}
	spin_unlock_irqrestore(&hw->lock, flags);
	return found;
}

/**
 * vroce_wq_owed() - is there a request before @pos whose own completion is still due?
 * @q: work queue of the kernel
 * @pos: position, not after &vroce_queue.next
 *
 * Completions of a queue come in order, so that one could not come any more after that
 * of @pos.
 *
 * Context: lock of the CQ held.
 */
bool vroce_wq_owed(const struct vroce_queue *q, u32 pos)
{
	u32 i;

	for (i = q->done; i != pos; i++)
		if (vroce_queue_request(q, i)->signaled)
			return true;
	return false;
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
	ret = vroce_cq_entry(&hw->queue, 0);
	spin_unlock_irqrestore(&hw->lock, flags);
	return ret;
}

/* Make all posted requests complete.  Context: lock of the CQ held. */
static void vroce_wq_forget(struct vroce_queue *q)
{
	/* Nobody reads the requests any more. */
	smp_store_release(&q->done, READ_ONCE(q->next));
	q->overtaken = false;
}

/* A completion is forgotten, but its request is free again. */
static void vroce_cq_forget_entry(const struct vroce_queue *q,
				  struct vroce_hw_qp *qp, void *entry)
{
	struct vroce_request request;
	struct vroce_cqe cqe;

	if (qp->srq) {
		vroce_cq_read(q, entry, &cqe);
		if (cqe.recv)
			vroce_srq_complete(qp->srq, cqe.pos, &request);
	}
	*vroce_cq_entry_qpn(q, entry) = cpu_to_le32(VROCE_QPN_GONE);
}

/**
 * vroce_cq_forget_qp() - forget requests and completions of a QP
 * @hw: CQ of the kernel
 * @qp: queue pair of the kernel that uses it
 *
 * The QP has no requests any more, and its number may soon be reused.  Its completions
 * that were not polled are marked, and polling skips them.
 *
 * Context: any.  The device adds no further completions of the QP.
 */
void vroce_cq_forget_qp(struct vroce_hw_cq *hw, struct vroce_hw_qp *qp)
{
	struct vroce_queue *q = &hw->queue;
	unsigned long flags;
	void *entry;
	u32 n;

	spin_lock_irqsave(&hw->lock, flags);
	for (n = 0; (entry = vroce_cq_entry(q, n)); n++) {
		if (le32_to_cpu(*vroce_cq_entry_qpn(q, entry)) == qp->qpn)
			vroce_cq_forget_entry(q, qp, entry);
	}
	if (qp->scq == hw)
		vroce_wq_forget(&qp->sq);
	if (qp->rcq == hw)
		vroce_wq_forget(&qp->rq);
	/*
	 * Completions that were due and have not come will not come.  Only a CQ of the
	 * GSI is counted, and it has no other QP: see vroce_qp_make_backlog().
	 */
	if (hw->short_of)
		atomic_set(&hw->due, n);
	spin_unlock_irqrestore(&hw->lock, flags);
}
