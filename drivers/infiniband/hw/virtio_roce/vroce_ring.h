/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The indices of a split virtqueue whose descriptor i describes slot i.
 *
 * Driver and device share each index:
 *
 *   available index  written by the driver: by the kernel under the lock of the
 *                    queue in &struct vroce_hw_cq or &struct vroce_qp, or by user
 *                    space
 *   used index       written by the device
 *
 * Position p of either ring is at p modulo &vring.num.  A work queue makes slots
 * available in turn: position p has slot p modulo &vroce_queue.depth.  The device uses
 * them in that order, so the used index tells which slots are free.  In a completion
 * queue all slots are available except those that were used and not yet polled.
 *
 * RoCE functions are modern virtio devices: everything is little-endian.
 */
#ifndef _VROCE_RING_H
#define _VROCE_RING_H

#include <asm/byteorder.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_ring.h>

static inline u16 vroce_ring_get16(const __virtio16 *p)
{
	return __virtio16_to_cpu(true, READ_ONCE(*p));
}

static inline void vroce_ring_set16(__virtio16 *p, u16 value)
{
	WRITE_ONCE(*p, __cpu_to_virtio16(true, value));
}

/* Write @slot to position @pos, which the device does not read yet. */
static inline void vroce_ring_put(struct vring *vring, u16 pos, u16 slot)
{
	vroce_ring_set16(&vring->avail->ring[pos & (vring->num - 1)], slot);
}

/* Release: the device sees slots and entries before the index that shows them. */
static inline void vroce_ring_publish(struct vring *vring, u16 idx)
{
	dma_wmb();
	vroce_ring_set16(&vring->avail->idx, idx);
}

/* Acquire: what the device wrote before this index is seen after it. */
static inline u16 vroce_ring_used_idx(const struct vring *vring)
{
	u16 idx = vroce_ring_get16(&vring->used->idx);

	dma_rmb();
	return idx;
}

/*
 * Does the device want a doorbell, now that the available index has moved from
 * @old to @new?
 */
static inline bool vroce_ring_wants_kick(const struct vring *vring,
					 bool event_idx, u16 old, u16 new)
{
	/*
	 * This orders our store of the index before our load of what the device
	 * asks for.  The device stores and loads in the opposite order, so at least
	 * one of the two sees the other's store.
	 */
	mb();
	if (event_idx)
		return vring_need_event(vroce_ring_get16(&vring_avail_event(vring)),
					new, old);
	return !(vroce_ring_get16(&vring->used->flags) &
		 VRING_USED_F_NO_NOTIFY);
}

#endif /* _VROCE_RING_H */
