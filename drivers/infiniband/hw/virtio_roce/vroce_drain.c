// SPDX-License-Identifier: GPL-2.0
/*
 * Draining the queues of a kernel consumer's QP.
 *
 * The core would wait for the completion of a last request, without end if the device
 * never delivers it, and it would go on, with memory that the device still knows, if the
 * QP does not go to ERR.  Here a device that does not flush a queue in time is given up.
 * It is reset, and then the driver flushes what was posted (vroce_flush.c).
 */
#include "vroce_drain.h"

/* How long a device and its consumer may take for the completions of a queue. */
#define VROCE_DRAIN_MS	30000

/* How often a CQ is polled that its consumer polls itself. */
#define VROCE_DRAIN_POLL_MS	20

static void vroce_drain_done(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&container_of(wc->wr_cqe, struct vroce_drain, cqe)->done);
}

static int vroce_drain_post(struct ib_qp *ibqp, struct vroce_drain *drain, bool send)
{
	const bool datagram = to_vqp(ibqp)->hw->datagram;
	/* It is flushed, so it does not matter where it would go. */
	struct vroce_ah nowhere = {};
	struct ib_rdma_wr rdma = {
		.wr = {
			.wr_cqe = &drain->cqe,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};
	struct ib_ud_wr ud = {
		.wr = {
			.wr_cqe = &drain->cqe,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = &nowhere.ibah,
	};
	struct ib_recv_wr rwr = { .wr_cqe = &drain->cqe };

	return send ? ib_post_send(ibqp, datagram ? &ud.wr : &rdma.wr, NULL) :
		      ib_post_recv(ibqp, &rwr, NULL);
}

/* Wait for the last request, which is posted as soon as there is room for it. */
static bool vroce_drain_wait(struct ib_qp *ibqp, struct ib_cq *cq,
			     struct vroce_drain *drain, bool send)
{
	unsigned int ms = to_vdev(ibqp->device)->drain_ms;
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	bool posted = false;

	do {
		if (!posted)
			posted = !vroce_drain_post(ibqp, drain, send);
		if (cq->poll_ctx == IB_POLL_DIRECT)
			ib_process_cq_direct(cq, -1);
		if (wait_for_completion_timeout(&drain->done,
						msecs_to_jiffies(VROCE_DRAIN_POLL_MS)))
			return true;
	} while (time_before(jiffies, end));
	return false;
}

static void vroce_drain(struct ib_qp *ibqp, struct ib_cq *cq,
			struct vroce_drain *drain, bool send)
{
	struct vroce_dev *dev = to_vdev(ibqp->device);
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };

	drain->cqe.done = vroce_drain_done;
	init_completion(&drain->done);
	if (!ib_modify_qp(ibqp, &error, IB_QP_STATE) &&
	    vroce_drain_wait(ibqp, cq, drain, send))
		return;
	ibdev_err_ratelimited(&dev->ibdev,
			      "requests of QP %u do not end: the device is given up until reset\n",
			      ibqp->qp_num);
	dev->aux->ops->give_up(dev->aux);
	/* This waits for the reset. */
	if (ib_modify_qp(ibqp, &error, IB_QP_STATE) ||
	    !vroce_drain_wait(ibqp, cq, drain, send))
		ibdev_err_ratelimited(&dev->ibdev,
				      "requests of QP %u did not end with a reset: nobody waits for them any more\n",
				      ibqp->qp_num);
}

/**
 * vroce_drain_sq() - verb: wait until the send queue of a QP is flushed
 * @ibqp: queue pair of the kernel
 *
 * Context: may sleep.
 */
void vroce_drain_sq(struct ib_qp *ibqp)
{
	vroce_drain(ibqp, ibqp->send_cq, &to_vqp(ibqp)->sq_drain, true);
}

/**
 * vroce_drain_rq() - verb: wait until the receive queue of a QP is flushed
 * @ibqp: queue pair of the kernel
 *
 * A QP with an SRQ has none; the core waits for IB_EVENT_QP_LAST_WQE_REACHED.
 *
 * Context: may sleep.
 */
void vroce_drain_rq(struct ib_qp *ibqp)
{
	if (ibqp->srq)
		return;
	vroce_drain(ibqp, ibqp->recv_cq, &to_vqp(ibqp)->rq_drain, false);
}

/**
 * vroce_drain_init() - set how long a queue may take
 * @dev: device
 */
void vroce_drain_init(struct vroce_dev *dev)
{
	dev->drain_ms = VROCE_DRAIN_MS;
}
