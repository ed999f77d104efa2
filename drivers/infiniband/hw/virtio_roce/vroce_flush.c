// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a device that is dead.
 *
 * Consumers get IB_EVENT_DEVICE_FATAL, and the port goes down.  Once the device is
 * quiesced, it touches no memory any more, and only the driver uses rings and slots.
 * From then on the driver does the device's part for the kernel's queue pairs: polling
 * a CQ flushes into it (IB_WC_WR_FLUSH_ERR) every request that was posted before, and
 * every request that is posted later.  So consumers that wait for their requests can
 * finish, and drain their queues, before the RDMA device is unregistered.  Some of them, as
 * nvme_rdma, connect again later only if they have let go of all its objects by then, so
 * they have some time for that.  Ethernet waits meanwhile, so it is not more than they need.
 *
 * User space polls by itself.  A word behind the used ring of each CQ of the RFC's form
 * says that the device is alive.  It becomes zero when the driver writes zero, and also
 * when the core replaces the mapping by pages of zeros.  A direct CQ has the word of its
 * control block by which the device says that the CQ is in error.
 */
#include <linux/delay.h>

#include "vroce_flush.h"
#include "vroce_form.h"
#include "vroce_kq.h"
#include "vroce_ring.h"
#include "vroce_trace.h"
#include "vroce_verbs.h"

/* How long consumers may take to let go of a device, and how often this is looked at. */
#define VROCE_FLUSH_MS		1000
#define VROCE_FLUSH_POLL_MS	5

/* The last word of the used ring's pages.  The ring must not reach so far. */
static __le32 *vroce_alive_word(const struct vroce_hw_cq *hw)
{
	const struct virtio_net_roce_vq *vq = hw->queue.vq;

	return (void *)vq->vring.used + vq->used_len - sizeof(__le32);
}

/**
 * vroce_alive_expose() - let user space see that the device is alive
 * @hw: CQ
 *
 * Context: any.
 * Return: flag for the provider, 0 if there is no room for the word.
 */
u32 vroce_alive_expose(const struct vroce_hw_cq *hw)
{
	const struct virtio_net_roce_vq *vq = hw->queue.vq;
	size_t ring = struct_size(vq->vring.used, ring, vq->vring.num) +
		      sizeof(__virtio16);

	if (ring + sizeof(__le32) > vq->used_len)
		return 0;
	WRITE_ONCE(*vroce_alive_word(hw), cpu_to_le32(1));
	return VIRTIO_ROCE_QUEUE_ALIVE;
}

/*
 * Flush the requests that are not complete, in order.  Which those are is known from
 * the driver's own memory, since the device may have written anything to rings and
 * slots.  Context: lock of the CQ held.
 */
static void vroce_flush_wq(struct vroce_queue *cq, struct vroce_queue *q,
			   u32 qpn, bool recv, u8 status)
{
	/* Pairs with vroce_wq_publish(). */
	u32 end = smp_load_acquire(&q->next);
	u32 pos;

	for (pos = q->done; pos != end; pos++)
		if (!vroce_cq_flush_put(cq, qpn, pos, recv, status))
			break;
	if (!q->direct)
		vroce_ring_set16(&q->vq->vring.used->idx, pos);
}

/*
 * ib_cm believes that a request is flushed because it was cancelled, and neither repeats
 * it nor tells its consumer, who may wait without end, as nvme_rdma does.
 */
static u8 vroce_flush_send_status(const struct vroce_hw_qp *qp)
{
	return qp->gsi ? VIRTIO_IB_WC_FATAL_ERR : VIRTIO_IB_WC_WR_FLUSH_ERR;
}

/**
 * vroce_flush_cq() - flush requests of the QPs of a CQ, if the device is quiesced
 * @dev: device
 * @hw: CQ of the kernel
 *
 * This waits until all completions in the CQ have been polled.  It then flushes as many
 * requests as the CQ has slots.
 *
 * Context: lock of the CQ held, interrupts off.
 */
void vroce_flush_cq(struct vroce_dev *dev, struct vroce_hw_cq *hw)
{
	struct vroce_hw_qp *qp;
	unsigned long qpn;

	if (likely(READ_ONCE(dev->health) != VIRTIO_NET_ROCE_QUIESCED))
		return;
	if (vroce_cq_entry(&hw->queue, 0))
		return;
	vroce_cq_flush_begin(&hw->queue);
	xa_lock(&dev->qps);
	xa_for_each(&dev->qps, qpn, qp) {
		if (qp->scq == hw)
			vroce_flush_wq(&hw->queue, &qp->sq, qpn, false,
				       vroce_flush_send_status(qp));
		if (qp->rcq == hw)
			vroce_flush_wq(&hw->queue, &qp->rq, qpn, true,
				       VIRTIO_IB_WC_WR_FLUSH_ERR);
	}
	xa_unlock(&dev->qps);
	vroce_cq_flush_end(&hw->queue);
}

static bool vroce_wq_is_done(const struct vroce_queue *q)
{
	return READ_ONCE(q->done) == READ_ONCE(q->next);
}

/**
 * vroce_flush_owes() - is there anything to be flushed into a CQ?
 * @dev: device
 * @hw: CQ of the kernel
 *
 * Context: any.
 * Return: true if the device is quiesced, and requests of QPs of the CQ are not complete.
 */
bool vroce_flush_owes(struct vroce_dev *dev, const struct vroce_hw_cq *hw)
{
	unsigned long flags, qpn;
	struct vroce_hw_qp *qp;
	bool owes = false;

	if (READ_ONCE(dev->health) != VIRTIO_NET_ROCE_QUIESCED)
		return false;
	xa_lock_irqsave(&dev->qps, flags);
	xa_for_each(&dev->qps, qpn, qp) {
		owes = (qp->scq == hw && !vroce_wq_is_done(&qp->sq)) ||
		       (qp->rcq == hw && !vroce_wq_is_done(&qp->rq));
		if (owes)
			break;
	}
	xa_unlock_irqrestore(&dev->qps, flags);
	return owes;
}

/**
 * vroce_flush_drop() - forget what was posted to a QP, if the device is quiesced
 * @dev: device
 * @hw: QP that goes to RESET
 *
 * Context: any.
 */
void vroce_flush_drop(struct vroce_dev *dev, struct vroce_hw_qp *hw)
{
	if (READ_ONCE(dev->health) != VIRTIO_NET_ROCE_QUIESCED ||
	    !hw->sq.vq)
		return;
	WRITE_ONCE(hw->sq.vq->vring.used->idx, hw->sq.vq->vring.avail->idx);
	WRITE_ONCE(hw->rq.vq->vring.used->idx, hw->rq.vq->vring.avail->idx);
}

/**
 * vroce_flush_posted() - a request was posted, perhaps to a quiesced device
 * @dev: device
 *
 * Nothing else would complete it then, so a work item flushes it.
 *
 * Context: any.
 */
void vroce_flush_posted(struct vroce_dev *dev)
{
	if (unlikely(READ_ONCE(dev->health) == VIRTIO_NET_ROCE_QUIESCED))
		queue_work(dev->wq, &dev->flush_work);
}

/**
 * vroce_flush_count() - count the kernel's QPs of their CQs
 * @dev: device
 * @hw: QP of the kernel
 * @n: 1 when it has been made, -1 before it goes
 *
 * A CQ without QPs has nothing to flush, and the core may be about to free it.
 *
 * Context: any.
 */
void vroce_flush_count(struct vroce_dev *dev, struct vroce_hw_qp *hw, int n)
{
	unsigned long flags;

	xa_lock_irqsave(&dev->cqs, flags);
	hw->scq->qps += n;
	hw->rcq->qps += n;
	xa_unlock_irqrestore(&dev->cqs, flags);
}

/* Is there a handler to call?  A CQ of IB_POLL_DIRECT has none; its owner polls it. */
static bool vroce_flush_notifies(const struct vroce_cq *cq)
{
	return cq->hw->qps &&
	       !(cq->ibcq.wc && cq->ibcq.poll_ctx == IB_POLL_DIRECT);
}

/* Let user space see that the device is dead. */
static void vroce_flush_show_dead(struct vroce_hw_cq *hw)
{
	if (hw->queue.direct)
		WRITE_ONCE(hw->control->device, cpu_to_le32(1));
	else
		WRITE_ONCE(*vroce_alive_word(hw), 0);
}

/* Have all CQs polled.  Handlers expect to be called as from an interrupt. */
static void vroce_flush_work(struct work_struct *work)
{
	struct vroce_dev *dev = container_of(work, struct vroce_dev,
					     flush_work);
	unsigned long flags, cqn;
	struct vroce_cq *cq;

	xa_lock_irqsave(&dev->cqs, flags);
	xa_for_each(&dev->cqs, cqn, cq) {
		if (cq->ibcq.uobject)
			vroce_flush_show_dead(cq->hw);
		else if (!vroce_flush_notifies(cq))
			continue;
		vroce_cq_notify(&cq->ibcq);
	}
	xa_unlock_irqrestore(&dev->cqs, flags);
}

static void vroce_health_changed(struct virtio_net_roce_aux *aux,
				 enum virtio_net_roce_event event)
{
	struct vroce_dev *dev = auxiliary_get_drvdata(&aux->adev);
	enum virtio_net_roce_event before = dev->health;
	struct ib_event fatal = {
		.device = &dev->ibdev,
		.event = IB_EVENT_DEVICE_FATAL,
		.element.port_num = 1,
	};

	trace_vroce_health(aux, event);
	WRITE_ONCE(dev->health, event);
	/* The event may come late, when the device is already being unregistered. */
	if (before == VIRTIO_NET_ROCE_RUNS && ib_device_try_get(&dev->ibdev)) {
		vroce_port_update(dev);
		ib_dispatch_event(&fatal);
		ib_device_put(&dev->ibdev);
	}
	if (event == VIRTIO_NET_ROCE_QUIESCED)
		queue_work(dev->wq, &dev->flush_work);
}

/*
 * Does no consumer in the kernel have anything of the device any more?  All that they make is in
 * protection domains of theirs.  ib_mad lets go only when the device is unregistered, but those
 * whose datagrams are not complete are to hear of them before.
 */
static bool vroce_flush_is_over(struct vroce_dev *dev)
{
	unsigned long flags, qpn;
	struct vroce_hw_qp *qp;
	bool done = true;
	int gsi = 0;

	xa_lock_irqsave(&dev->qps, flags);
	xa_for_each(&dev->qps, qpn, qp) {
		if (!qp->gsi)
			continue;
		gsi++;
		done = done && vroce_wq_is_done(&qp->sq);
	}
	xa_unlock_irqrestore(&dev->qps, flags);
	return done && atomic_read(&dev->kernel_pds) <= gsi;
}

/**
 * vroce_flush_wait() - let consumers in the kernel let go of a device that was reset
 * @dev: device that is about to be unregistered
 *
 * Context: may sleep, for at most a second.
 */
void vroce_flush_wait(struct vroce_dev *dev)
{
	unsigned long end = jiffies + msecs_to_jiffies(dev->flush_ms);

	if (READ_ONCE(dev->health) != VIRTIO_NET_ROCE_QUIESCED)
		return;
	flush_work(&dev->flush_work);
	while (!vroce_flush_is_over(dev) && time_before(jiffies, end))
		msleep(VROCE_FLUSH_POLL_MS);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_flush_wait);

/**
 * vroce_flush_init() - prepare for the device's death
 * @dev: device
 */
void vroce_flush_init(struct vroce_dev *dev)
{
	dev->health = VIRTIO_NET_ROCE_RUNS;
	xa_init_flags(&dev->cqs, XA_FLAGS_LOCK_IRQ);
	INIT_WORK(&dev->flush_work, vroce_flush_work);
	dev->flush_ms = VROCE_FLUSH_MS;
}

/**
 * vroce_flush_listen() - get notified of the device's death, even if it came before
 * @dev: registered device
 * @on: false to stop
 *
 * Context: may sleep.
 */
void vroce_flush_listen(struct vroce_dev *dev, bool on)
{
	dev->aux->ops->listen(dev->aux, on ? vroce_health_changed : NULL);
}
