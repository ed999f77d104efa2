// SPDX-License-Identifier: GPL-2.0
/*
 * A virtqueue and its slots.
 *
 * The rings belong to the lower module and stay when a number is reused.  The slots are
 * allocated for each CQ and QP.  The descriptor table is written here only, when the
 * queue is attached.  Descriptor i is slot i, with an address, a length and a direction
 * that do not change.  User space can write to slots and rings, but not to descriptors,
 * so it can refer to its own slots only.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "vroce_kept.h"
#include "vroce_mem.h"
#include "vroce_queue.h"
#include "vroce_ring.h"

/**
 * vroce_queue_alloc() - allocate zeroed slots
 * @q: queue
 * @dma_dev: device
 * @depth: number of slots, a power of two
 * @slot_len: bytes of a slot that the device may touch
 * @align: slots start at multiples of this, a power of two
 *
 * The slots are physically contiguous, so that one mapping is enough.  They are charged
 * to the memory cgroup of the caller.
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_queue_alloc(struct vroce_queue *q, struct device *dma_dev, u32 depth,
		      u32 slot_len, u32 align)
{
	u32 stride = ALIGN(slot_len, align);
	size_t len = PAGE_ALIGN(array_size(depth, stride));

	q->slots = dma_alloc_attrs(dma_dev, len, &q->dma,
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN,
				   DMA_ATTR_FORCE_CONTIGUOUS);
	if (!q->slots)
		return -ENOMEM;
	q->dma_dev = dma_dev;
	q->slots_len = len;
	q->depth = depth;
	q->stride = stride;
	q->slot_len = slot_len;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_queue_alloc);

/**
 * vroce_queue_charge() - count the slots against RLIMIT_MEMLOCK
 * @q: queue of vroce_queue_alloc(), of the calling process
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_queue_charge(struct vroce_queue *q)
{
	return vroce_charge_take(&q->charge, q->slots_len >> PAGE_SHIFT);
}

/**
 * vroce_queue_init_direct() - start a queue in direct form, empty
 * @q: queue
 * @slots: its zeroed slots, NULL if the kernel does not look at them
 * @depth: number of slots, a power of two
 * @stride: bytes from a slot to the next
 */
void vroce_queue_init_direct(struct vroce_queue *q, void *slots, u32 depth,
			     u32 stride)
{
	q->direct = true;
	q->slots = slots;
	q->depth = depth;
	q->stride = stride;
	q->slot_len = stride;
}

/**
 * vroce_queue_alloc_requests() - prepare a queue to which the kernel will post
 * @q: queue with slots
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_queue_alloc_requests(struct vroce_queue *q)
{
	q->requests = kvcalloc(q->depth, sizeof(*q->requests), GFP_KERNEL);
	return q->requests ? 0 : -ENOMEM;
}

/**
 * vroce_queue_free() - free the slots and &vroce_queue.requests
 * @q: queue that the device does not use
 */
void vroce_queue_free(struct vroce_queue *q)
{
	if (q->slots && !q->direct)
		dma_free_attrs(q->dma_dev, q->slots_len, q->slots, q->dma,
			       DMA_ATTR_FORCE_CONTIGUOUS);
	q->slots = NULL;
	vroce_charge_give(&q->charge);
	kvfree(q->requests);
	q->requests = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_queue_free);

static void vroce_queue_release_kept(void *q)
{
	vroce_queue_free(q);
	kfree(q);
}

/**
 * vroce_queue_keep() - free the slots after the device was reset
 * @dev: device, which is alive and did not confirm that it has stopped using the slots
 * @q: queue, which has no slots any more
 *
 * Context: may sleep.
 */
void vroce_queue_keep(struct vroce_dev *dev, struct vroce_queue *q)
{
	struct vroce_queue *kept;

	if (q->slots && !q->direct) {
		kept = kmemdup(q, sizeof(*q), GFP_KERNEL);
		if (kept) {
			kept->requests = NULL;
			q->charge.mm = NULL;
			vroce_keep(dev, kept, vroce_queue_release_kept);
		}
	}
	q->slots = NULL;
}

static void vroce_queue_describe(struct vroce_queue *q, u16 flags)
{
	struct vring *vring = &q->vq->vring;
	u32 i;

	memset(vring->desc, 0, array_size(vring->num, sizeof(*vring->desc)));
	for (i = 0; i < q->depth; i++) {
		struct vring_desc *desc = &vring->desc[i];

		desc->addr = __cpu_to_virtio64(true,
					       q->dma + (u64)i * q->stride);
		desc->len = __cpu_to_virtio32(true, q->slot_len);
		desc->flags = __cpu_to_virtio16(true, flags);
	}
}

static int vroce_queue_attach(struct vroce_queue *q,
			      struct virtio_net_roce_vq *vq, u16 flags)
{
	if (!vq || q->depth > vq->vring.num)
		return -EPROTO;
	q->vq = vq;
	q->next = 0;
	q->done = 0;
	vroce_queue_describe(q, flags);
	return 0;
}

/**
 * vroce_queue_attach_cq() - start a completion queue with all slots available
 * @q: queue with slots
 * @vq: its virtqueue, zeroed
 *
 * Return: 0, or -EPROTO if it is none or too small.
 */
int vroce_queue_attach_cq(struct vroce_queue *q,
			  struct virtio_net_roce_vq *vq)
{
	int err;
	u32 i;

	err = vroce_queue_attach(q, vq, VRING_DESC_F_WRITE);
	if (err)
		return err;
	for (i = 0; i < q->depth; i++)
		vroce_ring_put(&vq->vring, i, i);
	vroce_ring_publish(&vq->vring, q->depth);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_queue_attach_cq);

/**
 * vroce_queue_attach_wq() - start a send or receive queue, empty
 * @q: queue with slots
 * @vq: its virtqueue, zeroed
 *
 * Return: 0, or -EPROTO if it is none or too small.
 */
int vroce_queue_attach_wq(struct vroce_queue *q,
			  struct virtio_net_roce_vq *vq)
{
	int err;

	err = vroce_queue_attach(q, vq, 0);
	if (err)
		return err;
	/* No interrupts: a consumer learns from its CQ that requests are done. */
	vroce_ring_set16(&vq->vring.avail->flags, VRING_AVAIL_F_NO_INTERRUPT);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_queue_attach_wq);

/**
 * vroce_vq_clear() - zero a virtqueue that the device does not use
 * @vq: virtqueue
 */
void vroce_vq_clear(struct virtio_net_roce_vq *vq)
{
	memset(vq->vring.desc, 0,
	       array_size(vq->vring.num, sizeof(*vq->vring.desc)));
	memset(vq->vring.avail, 0, vq->avail_len);
	memset(vq->vring.used, 0, vq->used_len);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_vq_clear);

/**
 * vroce_queue_detach() - the device does not use the virtqueue any more
 * @q: queue
 *
 * The rings are zeroed for their next user.
 */
void vroce_queue_detach(struct vroce_queue *q)
{
	if (q->vq)
		vroce_vq_clear(q->vq);
	q->vq = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_queue_detach);
