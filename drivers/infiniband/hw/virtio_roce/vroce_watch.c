// SPDX-License-Identifier: GPL-2.0
/*
 * Completions that the device owes.
 *
 * A consumer in the kernel may wait for the completion of a request without end.  ib_mad
 * does so for each datagram that it sends, and neither programs of the connection manager
 * nor modules end before.  How long a device may take is not known in general, as the peer
 * may be slow.  But a datagram waits for nobody, and completions of a queue come in order,
 * so one that another one has overtaken does not come any more.
 *
 * So the driver looks at the kernel's QPs every few seconds.  If a queue waits for such a
 * completion, and half a minute has passed without any, the device is given up.  It is
 * reset, and then the driver flushes what was posted (vroce_flush.c).
 */
#include "vroce_form.h"
#include "vroce_kq.h"
#include "vroce_watch.h"

#define VROCE_WATCH_MS		5000

/* A completion is overdue after more looks than this. */
#define VROCE_WATCH_LOOKS	6

/* Context: lock of the CQ held. */
static bool vroce_watch_wq(struct vroce_queue *q, bool prompt)
{
	/* Pairs with vroce_wq_publish(). */
	u32 end = smp_load_acquire(&q->next);
	bool waits = q->overtaken || (prompt && vroce_wq_owed(q, end));

	if (!waits || q->seen != q->done) {
		q->seen = q->done;
		q->looks = 0;
		return false;
	}
	return ++q->looks > VROCE_WATCH_LOOKS;
}

/* The QP for which a completion is overdue, or 0.  Context: lock of the CQ held. */
static u32 vroce_watch_qps(struct vroce_dev *dev, struct vroce_hw_cq *hw)
{
	struct vroce_hw_qp *qp;
	unsigned long qpn;
	u32 overdue = 0;

	/* Its consumer has not polled what is there. */
	if (vroce_cq_entry(&hw->queue, 0))
		return 0;
	xa_lock(&dev->qps);
	xa_for_each(&dev->qps, qpn, qp) {
		if (qp->scq == hw && vroce_watch_wq(&qp->sq, qp->datagram))
			overdue = qpn;
		if (qp->rcq == hw && vroce_watch_wq(&qp->rq, false))
			overdue = qpn;
	}
	xa_unlock(&dev->qps);
	return overdue;
}

/* As vroce_watch_qps(), for all CQs of the kernel. */
static u32 vroce_watch_cqs(struct vroce_dev *dev)
{
	unsigned long flags, cqn;
	struct vroce_cq *cq;
	u32 overdue = 0;

	xa_lock_irqsave(&dev->cqs, flags);
	xa_for_each(&dev->cqs, cqn, cq) {
		if (!cq->hw->qps)
			continue;
		spin_lock(&cq->hw->lock);
		overdue = vroce_watch_qps(dev, cq->hw) ?: overdue;
		spin_unlock(&cq->hw->lock);
	}
	xa_unlock_irqrestore(&dev->cqs, flags);
	return overdue;
}

static void vroce_watch_work(struct work_struct *work)
{
	struct vroce_dev *dev = container_of(to_delayed_work(work),
					     struct vroce_dev, watch);
	u32 overdue;

	if (READ_ONCE(dev->health) != VIRTIO_NET_ROCE_RUNS)
		return;
	overdue = vroce_watch_cqs(dev);
	if (!overdue) {
		queue_delayed_work(dev->wq, &dev->watch,
				   msecs_to_jiffies(dev->watch_ms));
		return;
	}
	ibdev_err(&dev->ibdev,
		  "a completion of QP %u does not come: the device is given up until reset\n",
		  overdue);
	/*
	 * Not give_up(): while the function is removed or suspended there is no recovery
	 * that would reset it.
	 */
	dev->aux->ops->quiesce(dev->aux);
}

/**
 * vroce_watch_start() - begin to look for completions that do not come
 * @dev: device
 *
 * Context: may sleep.
 */
void vroce_watch_start(struct vroce_dev *dev)
{
	INIT_DELAYED_WORK(&dev->watch, vroce_watch_work);
	dev->watch_ms = VROCE_WATCH_MS;
	queue_delayed_work(dev->wq, &dev->watch, msecs_to_jiffies(dev->watch_ms));
}

/**
 * vroce_watch_stop() - undo vroce_watch_start()
 * @dev: device without objects
 *
 * Context: may sleep.
 */
void vroce_watch_stop(struct vroce_dev *dev)
{
	cancel_delayed_work_sync(&dev->watch);
}
