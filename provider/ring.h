/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The driver side of a queue, in one of two forms.
 *
 * The form of the RFC is a split virtqueue whose descriptor table belongs to the kernel.
 * The kernel wrote the table: descriptor i stands for slot i.  The provider names free
 * slots in the available ring, and the used ring tells what the device has done with
 * them.  Each index has one writer:
 *
 *   available index  written by this process, under the lock of the queue
 *   used index       written by the device
 *
 * In the direct form a work queue is slots and a producer index; that a request is done
 * is known from its completion.  A completion queue is slots with a phase bit, and an
 * index up to which they were taken.
 *
 * A request has the same header in both forms, with an offset (see @head), and its
 * payload at another place.
 *
 * Whatever the device writes, no access leaves rings and slots; beyond that, a device
 * that breaks the rules harms only this queue.
 *
 * To this code the device is another processor of a coherent system, as in virtio
 * without VIRTIO_F_ORDER_PLATFORM.  Callers of all functions here hold the lock of
 * the queue.
 */
#ifndef VIRTIO_ROCE_RING_H
#define VIRTIO_ROCE_RING_H

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <linux/virtio_ring.h>

#include <util/compiler.h>

#include "virtio_net_roce.h"

/**
 * struct ring - a queue
 * @direct: it has the direct form
 * @slots: work requests or completions
 * @stride: bytes from a slot to the next
 * @avail: available ring
 * @used: used ring; with @event_idx the available index that the device wants a
 *	doorbell for follows it
 * @mask: number of entries of each ring, less one
 * @depth: number of slots, a power of two
 * @event_idx: VIRTIO_F_RING_EVENT_IDX was negotiated
 * @alive: zero when the device has died; NULL if that is not told
 * @producer: direct form: where the device sees @shown
 * @wanted: direct form: not zero if a receive request is to be announced; NULL for other
 *	queues
 * @error: direct form: not zero once a completion queue is in error, or the device dead
 * @head: where in a slot the header begins (work queues)
 * @data: where inline data begin
 * @sges: where the scatter list begins
 * @next: position that is filled next
 * @shown: the value of @next that the device sees
 * @seen: the used index when it was last read; direct form: the position up to which
 *	requests are complete, stored by who polls
 * @taken: completions that were consumed (completion queues)
 *
 * All positions run freely.  The device sees 16 bits of them in the form of the RFC.
 */
struct ring {
	bool direct;
	void *slots;
	size_t stride;
	struct vring_avail *avail;
	const struct vring_used *used;
	uint16_t mask;
	uint32_t depth;
	bool event_idx;
	const uint32_t *alive;
	uint32_t *producer;
	const uint32_t *wanted;
	const uint32_t *error;
	uint16_t head;
	uint16_t data;
	uint16_t sges;
	uint32_t next;
	uint32_t shown;
	uint32_t seen;
	uint32_t taken;
};

/*
 * The types of the header stand for either byte order.  Ours is little endian,
 * as in every device of virtio 1.
 */
static inline __virtio16 to_virtio16(uint16_t value)
{
	return (__force __virtio16)htole16(value);
}

static inline __virtio32 to_virtio32(uint32_t value)
{
	return (__force __virtio32)htole32(value);
}

static inline uint16_t from_virtio16(__virtio16 value)
{
	return le16toh((__force __le16)value);
}

static inline uint32_t from_virtio32(__virtio32 value)
{
	return le32toh((__force __le32)value);
}

static inline uint16_t ring_load16(const __virtio16 *p, int order)
{
	uint16_t value = __atomic_load_n((const uint16_t *)p, order);

	return from_virtio16((__force __virtio16)value);
}

static inline uint32_t ring_load32(const __virtio32 *p, int order)
{
	uint32_t value = __atomic_load_n((const uint32_t *)p, order);

	return from_virtio32((__force __virtio32)value);
}

static inline void ring_store16(__virtio16 *p, uint16_t value, int order)
{
	__atomic_store_n((uint16_t *)p, (__force uint16_t)to_virtio16(value),
			 order);
}

/* Acquire: what the device wrote before this index is seen after this load. */
static inline uint16_t ring_used_idx(const struct ring *r)
{
	return ring_load16(&r->used->idx, __ATOMIC_ACQUIRE);
}

/* Start from the indices that the kernel left when it created the QP or CQ. */
static inline void ring_start(struct ring *r)
{
	r->shown = ring_load16(&r->avail->idx, __ATOMIC_RELAXED);
	r->next = r->shown;
	r->seen = ring_used_idx(r);
	r->taken = r->seen;
}

static inline void *ring_slot(const struct ring *r, uint32_t slot)
{
	return (char *)r->slots + slot * r->stride;
}

/* Put a slot into the available ring.  The device does not see it yet. */
static inline void ring_put(struct ring *r, uint32_t slot)
{
	if (!r->direct)
		r->avail->ring[r->next & r->mask] = to_virtio16(slot);
	r->next++;
}

/* Take back entries that the device has not seen. */
static inline void ring_rollback(struct ring *r)
{
	r->next = r->shown;
}

/* Release: the device sees slots and ring entries before it sees the index. */
static inline void ring_publish_direct(struct ring *r)
{
	r->shown = r->next;
	__atomic_store_n(r->producer, (__force uint32_t)htole32(r->shown),
			 __ATOMIC_RELEASE);
}

static inline void ring_publish(struct ring *r)
{
	if (r->direct) {
		ring_publish_direct(r);
	} else {
		r->shown = r->next;
		ring_store16(&r->avail->idx, r->shown, __ATOMIC_RELEASE);
	}
}

/*
 * Does the device ask for a doorbell, now that the available index has moved on
 * from @old?  The fence orders our store of that index before our load of what the
 * device asks for.  The device stores and loads in the other order, so at least one
 * of the two sees the other's store.
 */
static inline bool ring_wants_doorbell_direct(const struct ring *r)
{
	/* Send requests are always announced, by a protocol with a fence of its own. */
	if (!r->wanted)
		return true;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(r->wanted, __ATOMIC_RELAXED);
}

static inline bool ring_wants_doorbell(const struct ring *r, uint16_t old)
{
	const __virtio16 *event;

	if (r->direct)
		return ring_wants_doorbell_direct(r);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	event = (const __virtio16 *)&r->used->ring[r->mask + 1];
	if (r->event_idx)
		return vring_need_event(ring_load16(event, __ATOMIC_RELAXED),
					r->shown, old);
	return !(ring_load16(&r->used->flags, __ATOMIC_RELAXED) &
		 VRING_USED_F_NO_NOTIFY);
}

/*
 * Work queues.  Position i has slot i modulo @depth, which is free again when the used
 * index has passed it: the device uses slots in order.
 */

/* The used index is only looked at when the queue seems to be full. */
static inline bool ring_has_room(struct ring *r)
{
	uint16_t used;

	/* Acquire: the slot was read before its request was marked as complete. */
	if (r->direct)
		return r->next - __atomic_load_n(&r->seen, __ATOMIC_ACQUIRE) <
		       r->depth;
	if ((uint16_t)(r->next - r->seen) < r->depth)
		return true;

	used = ring_used_idx(r);
	/* A used index ahead of ours ends here, too: the queue stays full. */
	if ((uint16_t)(r->next - used) >= r->depth)
		return false;

	r->seen = used;
	return true;
}

static inline uint32_t ring_next_slot(const struct ring *r)
{
	return r->next & (r->depth - 1);
}

/*
 * Completion queues.  The device says in the used ring which slot it filled.
 */

/*
 * Does the device live?  When it has died, and the kernel has taken its memory away, all
 * that can be read is zero, which would be a completion.  So this is asked
 * after each that was read, and when there is none, since there will never be one.
 */
static inline bool ring_is_dead(const struct ring *r)
{
	if (r->direct)
		return __atomic_load_n(r->error, __ATOMIC_RELAXED);
	if (!r->alive)
		return false;
	/* The flag must be read after the completion that was read before. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !__atomic_load_n(r->alive, __ATOMIC_RELAXED);
}

/* Does @slot have the completion of position @taken? */
static inline bool ring_has_phase_at(const struct ring *r, uint32_t slot, uint32_t taken)
{
	const struct virtio_rdma_cqe *cqe =
		(const void *)((const char *)r->slots +
			       slot * r->stride);
	const bool odd = taken & r->depth;
	/* Acquire: the device writes the phase of a completion last. */
	uint8_t phase = __atomic_load_n(&cqe->phase, __ATOMIC_ACQUIRE);

	return !(phase & VIRTIO_RDMA_CQE_PHASE) == odd;
}

static inline bool ring_has_phase(const struct ring *r, uint32_t slot)
{
	return ring_has_phase_at(r, slot, r->taken);
}

/**
 * ring_peek() - slot of the oldest used entry that was not consumed
 * @r: ring
 * @slot: the slot
 *
 * Returns 0, ENOENT if there is none, or EIO if the device broke the rules or has
 * died, which is final.
 */
static inline int ring_peek(struct ring *r, uint32_t *slot)
{
	const __virtio32 *id;

	if (r->direct) {
		*slot = r->taken & (r->depth - 1);
		if (ring_has_phase(r, *slot))
			return 0;
		return ring_is_dead(r) ? EIO : ENOENT;
	}
	if ((uint16_t)r->taken == (uint16_t)r->seen) {
		uint16_t used = ring_used_idx(r);

		if (used == (uint16_t)r->taken)
			return ring_is_dead(r) ? EIO : ENOENT;
		if ((uint16_t)(used - r->taken) > r->depth)
			return EIO;
		r->seen = used;
	}

	id = &r->used->ring[r->taken & r->mask].id;
	*slot = ring_load32(id, __ATOMIC_RELAXED);
	return *slot < r->depth ? 0 : EIO;
}

/*
 * Copy a slot.  The compiler must not read the slot again later: the device may have
 * written other bytes by then.
 */
static inline void ring_read(const struct ring *r, uint32_t slot, void *buf,
			     size_t len)
{
	memcpy(buf, ring_slot(r, slot), len);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Consume that entry.  Its slot is given back at the next ring_publish(). */
static inline void ring_recycle(struct ring *r, uint32_t slot)
{
	r->taken++;
	ring_put(r, slot);
}

#endif /* VIRTIO_ROCE_RING_H */
