// SPDX-License-Identifier: GPL-2.0
/*
 * Virtqueues and interrupts.
 *
 * Ethernet, control and event virtqueues are virtqueues of the kernel's virtio_ring.
 * The other RoCE queues are only memory here: descriptor table, available and used ring.
 * Each is on its own pages, because user space maps the two rings but never the
 * descriptor table.
 *
 * A function may have a vector for every purpose.  Or it has a single one, like QEMU's
 * generic vhost-user device, which serves configuration changes and all queues.
 * Send, receive and doorbell queues of RoCE never interrupt; completion and event queues do.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"

/* How late a configuration change behind a shared vector may be noticed. */
#define VNR_CONFIG_DELAY	(HZ / 10)

/* More event or doorbell virtqueues than this are not used. */
#define VNR_EVENT_VQS_MAX	256U
#define VNR_DOORBELL_VQS_MAX	64U

/* ----- interrupts ----- */

/*
 * May an armed CQ have new completions?  This is the rule for CQs that are virtqueues;
 * those on direct rings have events.
 *
 * A CQ that has grown since it was armed has some.  A CQ that has no free slot cannot grow.
 * A device with CQ_HOLD holds its completions then, and interrupts before it has a slot for
 * them, so they may be news.  Any other device has no completions that find no slot, and
 * all that are in the ring were there when the CQ was armed.
 */
static bool vnr_cq_has_news(const struct vnr_cq *cq, const struct vring *vring)
{
	u16 avail = le16_to_cpu((__force __le16)READ_ONCE(vring->avail->idx));
	u16 used = le16_to_cpu((__force __le16)READ_ONCE(vring->used->idx));

	return used != READ_ONCE(cq->arm_idx) || (cq->hold && used == avail);
}

/**
 * vnr_cq_look() - call the handler of a CQ that is armed and has news
 * @dev: function
 * @cqn: number of the CQ
 *
 * Context: interrupts off.
 * Return: true if it was called.
 */
bool vnr_cq_look(struct vnr_dev *dev, u32 cqn)
{
	/*
	 * The CQs are freed only after the interrupts, so a set bit means a valid CQ.
	 */
	unsigned long *armed = smp_load_acquire(&dev->armed);
	struct vnr_cq *cq = &dev->cqs[cqn];

	if (!armed || !test_bit(cqn, armed))
		return false;
	/* Pairs with vnr_op_cq_arm(), which stores the index before the bit. */
	smp_rmb();
	if (!vnr_cq_has_news(cq, &dev->queues[cqn].pub.vring) ||
	    !test_and_clear_bit(cqn, armed))
		return false;
	cq->notify(cq->data);
	return true;
}

static bool vnr_cqs_interrupt(struct vnr_vector *v)
{
	struct vnr_dev *dev = v->dev;
	/* NULL during setup.  Pairs with vnr_rdma_queues_setup(). */
	unsigned long *armed = smp_load_acquire(&dev->armed);
	bool handled = false;
	unsigned long n;

	if (!armed)
		return false;
	for_each_set_bit(n, armed, dev->offer.max_cqs)
		if (n % dev->cq_step == v->cq_first && vnr_cq_look(dev, n))
			handled = true;
	return handled;
}

static irqreturn_t vnr_interrupt(int irq, void *data)
{
	struct vnr_vector *v = data;
	struct vnr_dev *dev = v->dev;
	struct virtqueue *vq;
	bool handled = false;
	unsigned int i;

	for (i = v->first; i < v->last; i++) {
		/* Read it once: vnr_vq_destroy() clears it, and then waits for us. */
		vq = READ_ONCE(dev->vqs[i]);
		if (vq && vring_interrupt(irq, vq) == IRQ_HANDLED)
			handled = true;
	}
	if (v->cq_first >= 0 && vnr_cqs_interrupt(v))
		handled = true;
	if (v->event_first >= 0 && vnr_events_interrupt(v))
		handled = true;

	if (v->config) {
		/*
		 * With MSI-X a configuration change looks the same as a queue on
		 * the same vector.  If no queue had anything, it was a change.
		 * Else check later, because that costs a trap to the hypervisor.
		 */
		if (!handled) {
			vnr_child_changed(dev);
			vnr_recover_look(dev);
		} else {
			schedule_delayed_work(&dev->config_work,
					      VNR_CONFIG_DELAY);
		}
	}
	/*
	 * The vector is not shared, so the interrupt is ours even if nothing was new.
	 */
	return IRQ_HANDLED;
}

/**
 * vnr_config_work() - notice a configuration change that shared its interrupt
 * @work: &vnr_dev.config_work
 *
 * Context: process.
 */
void vnr_config_work(struct work_struct *work)
{
	struct vnr_dev *dev = container_of(to_delayed_work(work),
					   struct vnr_dev, config_work);
	u32 generation;

	if (READ_ONCE(dev->life.mute))
		return;
	generation = vp_modern_generation(&dev->mdev);
	if (generation == dev->config_generation)
		return;
	dev->config_generation = generation;
	vnr_child_changed(dev);
	vnr_recover_look(dev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_config_work);

/**
 * vnr_vectors_plan() - decide which vector serves what
 * @dev: function, with @nvqs set and room for @n @vectors
 * @n: number of available vectors, at least 1
 *
 * With one vector, it serves everything.  With few, the first serves the configuration
 * and the second everything else.  With enough, there is one for the configuration and
 * one per virtqueue of Ethernet, and the CQs use the rest.  Event virtqueues come before
 * CQs, which then are few and share one: each has a vector if there are enough, else
 * they share what is left.  This sets @nvectors, which may be less than @n, @cq_step and
 * @event_step.
 */
void vnr_vectors_plan(struct vnr_dev *dev, unsigned int n)
{
	unsigned int rest, i;

	for (i = 0; i < n; i++)
		dev->vectors[i] = (struct vnr_vector) {
			.dev = dev,
			.cq_first = -1,
			.event_first = -1,
		};
	dev->vectors[0].config = true;
	dev->cq_step = 1;
	dev->event_step = 1;

	if (n < 1 + dev->nvqs + 1) {
		i = n == 1 ? 0 : 1;
		dev->vectors[i].last = dev->nvqs;
		dev->vectors[i].cq_first = 0;
		dev->vectors[i].event_first = 0;
		dev->nvectors = i + 1;
		return;
	}
	for (i = 0; i < dev->nvqs; i++) {
		dev->vectors[1 + i].first = i;
		dev->vectors[1 + i].last = i + 1;
	}
	dev->nvectors = n;
	rest = n - 1 - dev->nvqs;
	if (dev->nevents) {
		dev->event_step = min(rest, dev->nevents);
		dev->cq_step = max(rest - dev->event_step, 1U);
	} else {
		dev->cq_step = rest;
	}
	for (i = 0; i < dev->cq_step; i++)
		dev->vectors[n - 1 - i].cq_first = dev->cq_step - 1 - i;
	for (i = 0; i < dev->event_step && dev->nevents; i++)
		dev->vectors[1 + dev->nvqs + i].event_first = i;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_vectors_plan);

/**
 * vnr_vq_vector() - the vector that serves a virtqueue of virtio_ring
 * @dev: function with its vectors planned
 * @i: entry of &vnr_dev.vqs
 *
 * Return: index into &vnr_dev.vectors, or -ENOENT.
 */
int vnr_vq_vector(struct vnr_dev *dev, unsigned int i)
{
	unsigned int v;

	for (v = 0; v < dev->nvectors; v++)
		if (i >= dev->vectors[v].first && i < dev->vectors[v].last)
			return v;
	return -ENOENT;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_vq_vector);

/**
 * vnr_cq_vector() - the vector that serves a CQ
 * @dev: function with its vectors planned
 * @cqn: number of the CQ
 *
 * Return: index into &vnr_dev.vectors, or -ENOENT.
 */
int vnr_cq_vector(struct vnr_dev *dev, u32 cqn)
{
	unsigned int v;

	for (v = 0; v < dev->nvectors; v++)
		if (dev->vectors[v].cq_first == cqn % dev->cq_step)
			return v;
	return -ENOENT;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_cq_vector);

/**
 * vnr_event_vector() - the vector that serves an event virtqueue
 * @dev: function with its vectors planned
 * @e: its number among them
 *
 * Return: index into &vnr_dev.vectors, or -ENOENT.
 */
int vnr_event_vector(struct vnr_dev *dev, unsigned int e)
{
	unsigned int v;

	for (v = 0; v < dev->nvectors; v++)
		if (dev->vectors[v].event_first == e % dev->event_step)
			return v;
	return -ENOENT;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_event_vector);

static int vnr_vectors_config(struct vnr_dev *dev)
{
	if (vp_modern_config_vector(&dev->mdev, 0) == VIRTIO_MSI_NO_VECTOR) {
		dev_err(vnr_device(dev), "the device refuses an interrupt vector\n");
		return -EBUSY;
	}
	dev->config_generation = vp_modern_generation(&dev->mdev);
	return 0;
}

/**
 * vnr_vectors_setup() - allocate and request interrupt vectors
 * @dev: function, with @nvqs set
 * @desc: affinity that the child wishes, or NULL
 *
 * Context: may sleep.
 * Return: 0 or -errno; on failure nothing is left behind.
 */
int vnr_vectors_setup(struct vnr_dev *dev, struct irq_affinity *desc)
{
	struct pci_dev *pdev = dev->mdev.pci_dev;
	unsigned int want = 1 + dev->nvqs, i;
	struct vnr_vector *v;
	int n, ret;

	dev->vectors_roce = dev->roce;
	dev->nevents = dev->roce ? min_t(unsigned int, dev->offer.event_vqs,
					 VNR_EVENT_VQS_MAX) : 0;
	if (dev->nevents)
		want += dev->nevents + 1;
	else if (dev->roce)
		want += min(dev->offer.max_cqs, num_possible_cpus());

	/*
	 * Without PCI_IRQ_AFFINITY: with it and no pre_vectors the core gives
	 * no more vectors than there are processors.
	 */
	n = pci_alloc_irq_vectors(pdev, 1, want, PCI_IRQ_MSIX);
	if (n < 0) {
		dev_err(&pdev->dev, "no MSI-X vector: %d\n", n);
		return n;
	}
	dev->vectors = kcalloc(n, sizeof(*dev->vectors), GFP_KERNEL);
	if (!dev->vectors) {
		pci_free_irq_vectors(pdev);
		return -ENOMEM;
	}
	vnr_vectors_plan(dev, n);

	for (i = 0; i < dev->nvectors; i++) {
		v = &dev->vectors[i];
		v->irq = pci_irq_vector(pdev, i);
		snprintf(v->name, sizeof(v->name), "%s-%s%u",
			 dev_name(&dev->child->vdev.dev),
			 v->config ? "config" :
			 v->cq_first >= 0 || v->event_first >= 0 ? "rdma" : "vq",
			 i);
		ret = request_irq(v->irq, vnr_interrupt, 0, v->name, v);
		if (ret) {
			dev_err(&pdev->dev, "MSI-X vector %u: %d\n", i, ret);
			goto err_teardown;
		}
		v->requested = true;
	}

	ret = vnr_vectors_config(dev);
	if (ret)
		goto err_teardown;
	return 0;

err_teardown:
	vnr_vectors_teardown(dev);
	return ret;
}

/**
 * vnr_vectors_renew() - show the vectors to a device that was reset
 * @dev: function without RoCE virtqueues
 *
 * They stay as they are, and with them what user space has set for each interrupt.  Only
 * if they were shared out without RoCE, and there is RoCE now, they are made again.
 *
 * Context: may sleep.
 * Return: 0 or -errno; on failure there may be none.
 */
int vnr_vectors_renew(struct vnr_dev *dev)
{
	if (dev->vectors && (dev->vectors_roce || !dev->roce))
		return vnr_vectors_config(dev);
	vnr_vectors_teardown(dev);
	return vnr_vectors_setup(dev, NULL);
}

/**
 * vnr_vectors_teardown() - free all interrupt vectors
 * @dev: function; may have none
 *
 * No handler runs when it returns.  Context: may sleep.
 */
void vnr_vectors_teardown(struct vnr_dev *dev)
{
	unsigned int i;

	if (!dev->vectors)
		return;
	vp_modern_config_vector(&dev->mdev, VIRTIO_MSI_NO_VECTOR);
	for (i = 0; i < dev->nvectors; i++) {
		if (!dev->vectors[i].requested)
			continue;
		irq_set_affinity_hint(dev->vectors[i].irq, NULL);
		free_irq(dev->vectors[i].irq, &dev->vectors[i]);
	}
	cancel_delayed_work_sync(&dev->config_work);
	pci_free_irq_vectors(dev->mdev.pci_dev);
	kfree(dev->vectors);
	dev->vectors = NULL;
	dev->nvectors = 0;
}

/**
 * vnr_vectors_synchronize() - wait for interrupt handlers that run now
 * @dev: function; may have no vectors
 *
 * Context: may sleep.
 */
void vnr_vectors_synchronize(struct vnr_dev *dev)
{
	unsigned int i;

	for (i = 0; i < dev->nvectors; i++)
		synchronize_irq(dev->vectors[i].irq);
}

/**
 * vnr_queue_size() - how many descriptors the device gives a virtqueue
 * @dev: function
 * @index: virtqueue number
 *
 * Context: any.
 * Return: descriptors, 0 if there is no such virtqueue.
 */
u16 vnr_queue_size(struct vnr_dev *dev, u16 index)
{
	KUNIT_STATIC_STUB_REDIRECT(vnr_queue_size, dev, index);
	return vp_modern_get_queue_size(&dev->mdev, index);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_queue_size);

/* ----- virtqueues of virtio_ring ----- */

/**
 * vnr_vq_ring() - ring the doorbell of a virtqueue
 * @vq: virtqueue
 *
 * Context: any.
 */
void vnr_vq_ring(struct virtqueue *vq)
{
	struct vnr_doorbell *bell = vq->priv;

	iowrite16(vq->index, bell->reg);
}

/*
 * A device that does not run is not disturbed: it may be asleep.  When it runs again,
 * it looks at each queue, see vnr_restart().
 */
static bool vnr_notify(struct virtqueue *vq)
{
	enum vnr_state state = vnr_life_state(vnr_from_vdev(vq->vdev));

	/* One that is lost serves Ethernet. */
	if (state == VNR_RUNNING || state == VNR_LOST)
		vnr_vq_ring(vq);
	return true;
}

/**
 * vnr_vq_show() - tell the device of a virtqueue
 * @dev: function that was reset, with its vectors set up
 * @vq: virtqueue
 * @vector: vector that serves it
 *
 * The queue is not enabled yet.  Context: may sleep.
 * Return: 0 or -errno.
 */
int vnr_vq_show(struct vnr_dev *dev, struct virtqueue *vq, int vector)
{
	struct virtio_pci_modern_device *mdev = &dev->mdev;
	u16 index = vq->index;

	vp_modern_set_queue_size(mdev, index, virtqueue_get_vring_size(vq));
	vp_modern_queue_address(mdev, index, virtqueue_get_desc_addr(vq),
				virtqueue_get_avail_addr(vq),
				virtqueue_get_used_addr(vq));
	if (vq->callback &&
	    vp_modern_queue_vector(mdev, index, vector) == VIRTIO_MSI_NO_VECTOR)
		return -EBUSY;
	return 0;
}

/**
 * vnr_vq_make() - make a virtqueue and show it to the device
 * @dev: function with its vectors set up
 * @index: virtqueue number
 * @vector: vector that serves it
 * @callback: called in hard interrupt context, may be NULL
 * @name: for messages
 * @ctx: buffers carry a context
 *
 * The queue is not enabled yet.  Context: may sleep.
 * Return: the virtqueue, or an ERR_PTR.
 */
struct virtqueue *vnr_vq_make(struct vnr_dev *dev, u16 index, int vector,
			      vq_callback_t *callback, const char *name,
			      bool ctx)
{
	u16 num = vnr_queue_size(dev, index);
	struct vnr_doorbell *bell;
	struct virtqueue *vq;
	int ret;

	if (!num || vp_modern_get_queue_enable(&dev->mdev, index))
		return ERR_PTR(-ENOENT);

	bell = kzalloc(sizeof(*bell), GFP_KERNEL);
	if (!bell)
		return ERR_PTR(-ENOMEM);
	ret = vnr_doorbell_map(dev, index, bell);
	if (ret)
		goto err_free;
	vq = vring_create_virtqueue(index, num, SMP_CACHE_BYTES,
				    &dev->child->vdev, true, true, ctx,
				    vnr_notify, callback, name);
	if (!vq) {
		ret = -ENOMEM;
		goto err_unmap;
	}
	vq->num_max = num;
	vq->priv = bell;
	ret = vnr_vq_show(dev, vq, vector);
	if (ret)
		goto err_del;
	return vq;

err_del:
	vring_del_virtqueue(vq);
err_unmap:
	vnr_doorbell_unmap(dev, bell);
err_free:
	kfree(bell);
	return ERR_PTR(ret);
}

/**
 * vnr_vq_drop() - undo vnr_vq_make()
 * @dev: function, reset or not yet running
 * @vq: virtqueue that no interrupt handler knows
 *
 * Context: may sleep.
 */
void vnr_vq_drop(struct vnr_dev *dev, struct virtqueue *vq)
{
	struct vnr_doorbell *bell = vq->priv;

	vring_del_virtqueue(vq);
	vnr_doorbell_unmap(dev, bell);
	kfree(bell);
}

/**
 * vnr_vq_create() - make a virtqueue of Ethernet or the control queue
 * @dev: function with its vectors set up
 * @index: virtqueue number, also its entry in &vnr_dev.vqs
 * @callback: called in hard interrupt context, may be NULL
 * @name: for messages
 * @ctx: buffers carry a context
 *
 * The queue is not enabled yet.  Context: may sleep.
 * Return: the virtqueue, or an ERR_PTR.
 */
struct virtqueue *vnr_vq_create(struct vnr_dev *dev, u16 index,
				vq_callback_t *callback, const char *name,
				bool ctx)
{
	struct virtqueue *vq;

	vq = vnr_vq_make(dev, index, vnr_vq_vector(dev, index), callback, name,
			 ctx);
	if (!IS_ERR(vq))
		WRITE_ONCE(dev->vqs[index], vq);
	return vq;
}

/**
 * vnr_vq_destroy() - undo vnr_vq_create()
 * @dev: function, reset or not yet running; there may be interrupts
 * @vq: virtqueue
 *
 * Context: may sleep.
 */
void vnr_vq_destroy(struct vnr_dev *dev, struct virtqueue *vq)
{
	WRITE_ONCE(dev->vqs[vq->index], NULL);
	vnr_vectors_synchronize(dev);
	vnr_vq_drop(dev, vq);
}

/* ----- RoCE queues ----- */

static void *vnr_ring_alloc(struct vnr_dev *dev, size_t len, dma_addr_t *dma)
{
	void *p = dma_alloc_attrs(vnr_device(dev), len, dma, GFP_KERNEL,
				  DMA_ATTR_FORCE_CONTIGUOUS);

	/* User space maps it by page frame, so it must be in the linear map. */
	if (p && is_vmalloc_addr(p)) {
		dma_free_attrs(vnr_device(dev), len, p, *dma,
			       DMA_ATTR_FORCE_CONTIGUOUS);
		return NULL;
	}
	return p;
}

static void vnr_ring_free(struct vnr_dev *dev, size_t len, void *p,
			  dma_addr_t dma)
{
	if (p)
		dma_free_attrs(vnr_device(dev), len, p, dma,
			       DMA_ATTR_FORCE_CONTIGUOUS);
}

static void vnr_rdma_queue_free(struct vnr_dev *dev, struct vnr_rdma_queue *q)
{
	struct vring *vring = &q->pub.vring;

	vnr_doorbell_unmap(dev, &q->bell);
	vnr_ring_free(dev, q->desc_len, vring->desc, q->dma[0]);
	vnr_ring_free(dev, q->pub.avail_len, vring->avail, q->dma[1]);
	vnr_ring_free(dev, q->pub.used_len, vring->used, q->dma[2]);
}

static int vnr_rdma_queue_alloc(struct vnr_dev *dev, struct vnr_rdma_queue *q,
				u16 index, u16 vector)
{
	struct virtio_pci_modern_device *mdev = &dev->mdev;
	u16 num = vnr_queue_size(dev, index);
	struct vring *vring = &q->pub.vring;

	if (!num || !is_power_of_2(num))
		return -ENOENT;

	q->pub.index = index;
	vring->num = num;
	q->desc_len = PAGE_ALIGN(num * sizeof(*vring->desc));
	/* Each ring ends with the event index of the other side. */
	q->pub.avail_len = PAGE_ALIGN(struct_size(vring->avail, ring, num) +
				      sizeof(__virtio16));
	q->pub.used_len = PAGE_ALIGN(struct_size(vring->used, ring, num) +
				     sizeof(__virtio16));

	vring->desc = vnr_ring_alloc(dev, q->desc_len, &q->dma[0]);
	vring->avail = vnr_ring_alloc(dev, q->pub.avail_len, &q->dma[1]);
	vring->used = vnr_ring_alloc(dev, q->pub.used_len, &q->dma[2]);
	if (!vring->desc || !vring->avail || !vring->used)
		return -ENOMEM;
	q->pub.avail_phys = virt_to_phys(vring->avail);
	q->pub.used_phys = virt_to_phys(vring->used);

	if (vnr_doorbell_map(dev, index, &q->bell))
		return -ENOMEM;

	vp_modern_set_queue_size(mdev, index, num);
	vp_modern_queue_address(mdev, index, q->dma[0], q->dma[1], q->dma[2]);
	if (vector != VIRTIO_MSI_NO_VECTOR &&
	    vp_modern_queue_vector(mdev, index, vector) == VIRTIO_MSI_NO_VECTOR)
		return -EBUSY;
	return 0;
}

/**
 * vnr_rdma_queues_setup() - make all RoCE queues and show them to the device
 * @dev: function with its vectors set up
 * @first: virtqueue number of the first CQ
 *
 * They are not enabled yet.  Context: may sleep.
 * Return: 0 or -errno; on failure nothing is left behind.
 */
int vnr_rdma_queues_setup(struct vnr_dev *dev, u16 first)
{
	u32 max_cqs = dev->offer.max_cqs;
	u32 rfc = max_cqs + 2 * dev->offer.max_qps;
	u32 n = rfc + min_t(u32, dev->offer.doorbell_vqs, VNR_DOORBELL_VQS_MAX);
	unsigned long *armed;
	u16 vector;
	int ret;
	u32 i;

	ret = vnr_events_setup(dev, first + rfc);
	if (ret)
		return ret;
	dev->queues = kvcalloc(n, sizeof(*dev->queues), GFP_KERNEL);
	dev->cqs = kvcalloc(max_cqs, sizeof(*dev->cqs), GFP_KERNEL);
	armed = bitmap_zalloc(max_cqs, GFP_KERNEL);
	if (!dev->queues || !dev->cqs || !armed) {
		ret = -ENOMEM;
		goto err_teardown;
	}
	for (i = 0; i < n; i++) {
		vector = i < max_cqs ? vnr_cq_vector(dev, i) :
				       VIRTIO_MSI_NO_VECTOR;
		dev->nqueues = i + 1;
		ret = vnr_rdma_queue_alloc(dev, &dev->queues[i], first + i +
					   (i < rfc ? 0 : dev->offer.event_vqs),
					   vector);
		if (ret) {
			dev_dbg(vnr_device(dev), "RoCE virtqueue %u: %d\n",
				dev->queues[i].pub.index, ret);
			goto err_teardown;
		}
	}
	vnr_doorbells_give(dev);
	/* An interrupt handler that sees the bitmap must also see queues and CQs. */
	smp_store_release(&dev->armed, armed);
	return 0;

err_teardown:
	bitmap_free(armed);
	vnr_rdma_queues_teardown(dev);
	return ret;
}

/**
 * vnr_rdma_queues_teardown() - free all RoCE queues
 * @dev: function, reset or not yet running; may have none; there may be interrupts
 *
 * Context: may sleep.
 */
void vnr_rdma_queues_teardown(struct vnr_dev *dev)
{
	unsigned long *armed = dev->armed;
	unsigned int i;

	vnr_events_teardown(dev);
	WRITE_ONCE(dev->armed, NULL);
	vnr_vectors_synchronize(dev);
	/* An answer to a command makes others look, too, with interrupts off. */
	synchronize_rcu();
	bitmap_free(armed);
	for (i = 0; i < dev->nqueues; i++)
		vnr_rdma_queue_free(dev, &dev->queues[i]);
	dev->nqueues = 0;
	kvfree(dev->queues);
	dev->queues = NULL;
	kvfree(dev->cqs);
	dev->cqs = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_rdma_queues_teardown);
