// SPDX-License-Identifier: GPL-2.0
/*
 * Event virtqueues: the device says by number what has happened to which object.
 *
 * All buffers of a virtqueue are made available before the device starts, and each is
 * given back as soon as it was read.  The interrupt handler reads the numbers of objects, so
 * its work does not grow with the objects that exist.  It does not trust them: the RDMA driver
 * looks them up.
 *
 * A device can use the buffers as fast as they are given back.  So the interrupt handler
 * reads no more events than the virtqueue has buffers.  If there are more, a work item
 * goes on, and the interrupt stays off until it has caught up.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/virtio_ring.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"
#include "vnr_trace.h"

static int vnr_event_post(struct virtqueue *vq, struct virtio_rdma_event *buf)
{
	struct scatterlist sg;

	sg_init_one(&sg, buf, sizeof(*buf));
	return virtqueue_add_inbuf(vq, &sg, 1, buf, GFP_ATOMIC);
}

static void vnr_event_pass_on(struct vnr_dev *dev,
			      const struct virtio_rdma_event *buf, unsigned int len)
{
	void (*notify)(struct virtio_net_roce_aux *aux, u16 type, u32 number);

	if (len >= sizeof(*buf))
		trace_vnr_event(dev, le16_to_cpu(buf->type),
				le32_to_cpu(buf->number));
	/* Pairs with vnr_op_events(). */
	notify = smp_load_acquire(&dev->notify);
	if (notify && len >= sizeof(*buf))
		notify(dev->notify_aux, le16_to_cpu(buf->type),
		       le32_to_cpu(buf->number));
}

/*
 * Pass on events, at most one for each buffer.
 *
 * Context: any.
 * Return: true if there may be more, and no interrupt will tell.
 */
static bool vnr_events_some(struct vnr_dev *dev, struct vnr_event_queue *q)
{
	unsigned int left = virtqueue_get_vring_size(q->vq), len;
	struct virtio_rdma_event *buf;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	do {
		virtqueue_disable_cb(q->vq);
		while (left && (buf = virtqueue_get_buf(q->vq, &len))) {
			left--;
			vnr_event_pass_on(dev, buf, len);
			/* There is room for it, or memory for bounces is short. */
			if (vnr_event_post(q->vq, buf))
				dev_warn_ratelimited(vnr_device(dev),
						     "cannot give the device a buffer for events again\n");
		}
	} while (left && !virtqueue_enable_cb(q->vq));
	/* The device may have events that wait for a buffer. */
	virtqueue_kick(q->vq);
	spin_unlock_irqrestore(&q->lock, flags);
	return !left;
}

static void vnr_events_take(struct virtqueue *vq)
{
	struct vnr_dev *dev = vnr_from_vdev(vq->vdev);
	/* NULL once they are torn down, which waits for this. */
	struct vnr_event_queue *events = READ_ONCE(dev->events);

	if (events && vnr_events_some(dev, &events[vq->index - events[0].vq->index]))
		schedule_work(&dev->events_work);
}

/**
 * vnr_events_work() - go on where the interrupt handler has stopped
 * @work: &vnr_dev.events_work
 *
 * Context: process.
 */
void vnr_events_work(struct work_struct *work)
{
	struct vnr_dev *dev = container_of(work, struct vnr_dev, events_work);
	/* Pairs with vnr_events_setup(). */
	struct vnr_event_queue *events = smp_load_acquire(&dev->events);
	bool more = false;
	unsigned int e;

	if (!events)
		return;
	for (e = 0; e < dev->nevents; e++)
		if (vnr_events_some(dev, &events[e]))
			more = true;
	/* The rest is done later, so that other work gets its turn first. */
	if (more)
		schedule_work(work);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_events_work);

/**
 * vnr_events_synchronize() - wait until no event is passed on that was read before
 * @dev: function; may have no event virtqueues
 *
 * Context: may sleep.
 */
void vnr_events_synchronize(struct vnr_dev *dev)
{
	vnr_vectors_synchronize(dev);
	flush_work(&dev->events_work);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_events_synchronize);

/**
 * vnr_events_interrupt() - serve the event virtqueues of a vector
 * @v: vector that has some
 *
 * Context: hard interrupt.
 * Return: true if there were events.
 */
bool vnr_events_interrupt(struct vnr_vector *v)
{
	struct vnr_dev *dev = v->dev;
	/* NULL during setup.  Pairs with vnr_events_setup(). */
	struct vnr_event_queue *events = smp_load_acquire(&dev->events);
	bool handled = false;
	unsigned int e;

	if (!events)
		return false;
	for (e = v->event_first; e < dev->nevents; e += dev->event_step)
		if (vring_interrupt(v->irq, events[e].vq) == IRQ_HANDLED)
			handled = true;
	return handled;
}

static int vnr_event_queue_init(struct vnr_dev *dev, struct vnr_event_queue *q,
				u16 index, int vector)
{
	struct virtqueue *vq;
	unsigned int num, i;
	int ret;

	vq = vnr_vq_make(dev, index, vector, vnr_events_take, "rdma-events",
			 false);
	if (IS_ERR(vq))
		return PTR_ERR(vq);
	spin_lock_init(&q->lock);
	q->vq = vq;
	num = virtqueue_get_vring_size(vq);
	q->bufs = kcalloc(num, sizeof(*q->bufs), GFP_KERNEL);
	if (!q->bufs)
		return -ENOMEM;
	for (i = 0; i < num; i++) {
		ret = vnr_event_post(vq, &q->bufs[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static void vnr_events_free(struct vnr_dev *dev, struct vnr_event_queue *events)
{
	unsigned int e;

	for (e = 0; e < dev->nevents; e++) {
		if (events[e].vq) {
			while (virtqueue_detach_unused_buf(events[e].vq))
				;
			vnr_vq_drop(dev, events[e].vq);
		}
		kfree(events[e].bufs);
	}
	kfree(events);
}

/**
 * vnr_events_setup() - make all event virtqueues, with their buffers
 * @dev: function with its vectors set up
 * @first: virtqueue number of the first
 *
 * They are not enabled yet.  Context: may sleep.
 * Return: 0 or -errno; on failure nothing is left behind.
 */
int vnr_events_setup(struct vnr_dev *dev, u16 first)
{
	struct vnr_event_queue *events;
	unsigned int e;
	int ret;

	if (!dev->nevents)
		return 0;
	events = kcalloc(dev->nevents, sizeof(*events), GFP_KERNEL);
	if (!events)
		return -ENOMEM;
	for (e = 0; e < dev->nevents; e++) {
		ret = vnr_event_queue_init(dev, &events[e], first + e,
					   vnr_event_vector(dev, e));
		if (ret) {
			dev_dbg(vnr_device(dev), "event virtqueue %u: %d\n", e,
				ret);
			vnr_events_free(dev, events);
			return ret;
		}
	}
	/* An interrupt handler that sees the array must also see the virtqueues. */
	smp_store_release(&dev->events, events);
	return 0;
}

/**
 * vnr_events_teardown() - free all event virtqueues
 * @dev: function, reset or not yet running; may have none; there may be interrupts
 *
 * Context: may sleep.
 */
void vnr_events_teardown(struct vnr_dev *dev)
{
	struct vnr_event_queue *events = dev->events;

	if (!events)
		return;
	WRITE_ONCE(dev->events, NULL);
	vnr_vectors_synchronize(dev);
	cancel_work_sync(&dev->events_work);
	vnr_events_free(dev, events);
}
