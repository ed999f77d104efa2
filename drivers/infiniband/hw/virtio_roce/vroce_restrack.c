// SPDX-License-Identifier: GPL-2.0
/*
 * Details of "rdma -dd resource show" about an object, beside what the core knows: its
 * form, size, indices and handle.
 *
 * The core may ask about an object while it is being destroyed.  vroce_restrack_hide_qp()
 * and vroce_restrack_hide_cq() take the device's part out of its sight before that goes.
 * The core forgets a memory region before it is destroyed, but not while it changes: what
 * is said of one is in &struct vroce_mr itself, and never behind a pointer of it.
 *
 * Indices of a process's queues lie in memory that the process can write to.  They are
 * shown as they are.
 */
#include <net/netlink.h>
#include <rdma/restrack.h>

#include "vroce_restrack.h"
#include "vroce_ring.h"

/**
 * struct vroce_detail - a line about an object
 * @name: what it is; NULL if this object has no such line
 * @value: its value
 */
struct vroce_detail {
	const char *name;
	u32 value;
};

static int vroce_put_details(struct sk_buff *msg, const char *kind,
			     const char *what, const struct vroce_detail *detail,
			     unsigned int n)
{
	struct nlattr *table;
	unsigned int i;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_string(msg, kind, what))
		goto err_cancel;
	for (i = 0; i < n; i++)
		if (detail[i].name &&
		    rdma_nl_put_driver_u32(msg, detail[i].name, detail[i].value))
			goto err_cancel;
	nla_nest_end(msg, table);
	return 0;

err_cancel:
	nla_nest_cancel(msg, table);
	return -EMSGSIZE;
}

static const char *vroce_form_name(bool direct)
{
	return direct ? "direct" : "virtqueue";
}

/* ----- queue pairs ----- */

enum vroce_wq_detail {
	VROCE_WQ_DEPTH,
	VROCE_WQ_POSTED,
	VROCE_WQ_DONE,
	VROCE_WQ_DETAILS,
};

/*
 * Requests posted and done with so far, modulo 2^16 or 2^32.  Of a process's direct queue
 * only the device knows how many are done with.
 *
 * Context: the queue stays.
 */
static void vroce_wq_details(const struct vroce_queue *q, bool kernel,
			     const char * const names[VROCE_WQ_DETAILS],
			     struct vroce_detail *detail)
{
	bool direct = q->direct && q->producer;

	if (!direct && !q->vq)
		return;
	detail[VROCE_WQ_DEPTH].name = names[VROCE_WQ_DEPTH];
	detail[VROCE_WQ_DEPTH].value = q->depth;
	detail[VROCE_WQ_POSTED].name = names[VROCE_WQ_POSTED];
	detail[VROCE_WQ_POSTED].value =
		direct ? le32_to_cpu(READ_ONCE(*q->producer)) :
			 vroce_ring_get16(&q->vq->vring.avail->idx);
	if (direct && !kernel)
		return;
	detail[VROCE_WQ_DONE].name = names[VROCE_WQ_DONE];
	detail[VROCE_WQ_DONE].value = direct ? READ_ONCE(q->done) :
					       vroce_ring_used_idx(&q->vq->vring);
}

static int vroce_fill_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	static const char * const sq[] = { "sq_depth", "sq_posted", "sq_done" };
	static const char * const rq[] = { "rq_depth", "rq_posted", "rq_done" };
	struct vroce_detail detail[2 * VROCE_WQ_DETAILS + 2] = {};
	struct vroce_qp *qp = to_vqp(ibqp);
	const struct vroce_hw_qp *hw;
	unsigned int n = 2 * VROCE_WQ_DETAILS;
	bool direct = false;

	spin_lock_irq(&qp->sq_lock);
	hw = qp->hw;
	if (hw) {
		direct = hw->sq.direct;
		vroce_wq_details(&hw->sq, hw->kernel, sq, detail);
		vroce_wq_details(&hw->rq, hw->kernel, rq,
				 &detail[VROCE_WQ_DETAILS]);
		if (hw->mem)
			detail[n++] = (struct vroce_detail) { "doorbell_bit",
							      hw->sq.bit };
		if (qp->backlog.slots)
			detail[n++] = (struct vroce_detail) {
				"rq_backlog", READ_ONCE(qp->backlog.tail) -
					      READ_ONCE(qp->backlog.head) };
	}
	spin_unlock_irq(&qp->sq_lock);
	return hw ? vroce_put_details(msg, "form", vroce_form_name(direct),
				      detail, n) : 0;
}

/**
 * vroce_restrack_hide_qp() - a QP is about to lose its part in the device
 * @qp: QP that nobody posts to
 *
 * Context: may sleep.
 */
void vroce_restrack_hide_qp(struct vroce_qp *qp)
{
	spin_lock_irq(&qp->sq_lock);
	qp->hw = NULL;
	spin_unlock_irq(&qp->sq_lock);
}

/* ----- completion queues ----- */

static int vroce_fill_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct vroce_detail detail[5] = {};
	struct vroce_dev *dev = to_vdev(ibcq->device);
	const struct vroce_hw_cq *hw;
	const struct vroce_queue *q;
	unsigned int n = 0;
	bool direct = false;

	/* A resize replaces the ring of a CQ under this lock, too. */
	xa_lock_irq(&dev->cqs);
	hw = to_vcq(ibcq)->hw;
	if (hw) {
		q = &hw->queue;
		direct = q->direct;
		detail[n++] = (struct vroce_detail) { "device_cqn", hw->cqn };
		detail[n++] = (struct vroce_detail) { "slots", q->depth };
		if (direct)
			detail[n++] = (struct vroce_detail) {
				"taken", le32_to_cpu(READ_ONCE(*q->consumer)) };
		else if (q->vq)
			detail[n++] = (struct vroce_detail) {
				"used", vroce_ring_used_idx(&q->vq->vring) };
		if (hw->control)
			detail[n++] = (struct vroce_detail) {
				"arm", le32_to_cpu(READ_ONCE(hw->control->arm)) };
		if (hw->short_of)
			detail[n++] = (struct vroce_detail) {
				"due", atomic_read(&hw->due) };
	}
	xa_unlock_irq(&dev->cqs);
	return hw ? vroce_put_details(msg, "form", vroce_form_name(direct),
				      detail, n) : 0;
}

/**
 * vroce_restrack_hide_cq() - a CQ is about to lose its part in the device
 * @cq: CQ that nobody polls
 *
 * Context: may sleep.
 */
void vroce_restrack_hide_cq(struct vroce_cq *cq)
{
	struct vroce_dev *dev = to_vdev(cq->ibcq.device);

	xa_lock_irq(&dev->cqs);
	cq->hw = NULL;
	xa_unlock_irq(&dev->cqs);
}

/* ----- memory regions ----- */

static int vroce_fill_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct vroce_mr *mr = to_vmr(ibmr);
	struct vroce_detail detail[3] = { { "device_mrn", mr->mrn } };
	const char *kind = "all_memory";
	unsigned int n = 1;

	/* The number of pages changes at any time. */
	if (mr->page_size) {
		kind = "process";
		detail[n++] = (struct vroce_detail) { "pages", READ_ONCE(mr->npages) };
		detail[n++] = (struct vroce_detail) { "page_size",
						      READ_ONCE(mr->page_size) };
	} else if (mr->max_pages) {
		kind = "fast_registration";
		detail[n++] = (struct vroce_detail) { "max_pages", mr->max_pages };
		detail[n++] = (struct vroce_detail) { "pages", READ_ONCE(mr->npages) };
	}
	return vroce_put_details(msg, "kind", kind, detail, n);
}

static const struct ib_device_ops vroce_restrack_ops = {
	.fill_res_cq_entry = vroce_fill_cq,
	.fill_res_mr_entry = vroce_fill_mr,
	.fill_res_qp_entry = vroce_fill_qp,
};

/**
 * vroce_set_restrack_ops() - add the verbs for details of objects
 * @dev: device, not yet registered
 */
void vroce_set_restrack_ops(struct vroce_dev *dev)
{
	ib_set_device_ops(&dev->ibdev, &vroce_restrack_ops);
}
