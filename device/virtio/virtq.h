/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device side of a split virtqueue.
 *
 * The rings lie in memory that the guest writes at any time.  Every index,
 * address, length and link is read once and checked before it is used; whatever
 * breaks the rules marks the queue broken and nothing else.
 */
#ifndef DEVICE_VIRTQ_H
#define DEVICE_VIRTQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <linux/virtio_ring.h>

#include "state/state.h"
#include "virtio/mem.h"

#define VIRTQ_SIZE_MAX	1024
#define VIRTQ_IOV_MAX	1024

/**
 * struct virtq - a virtqueue that the front-end has set up
 * @index:	its number in the function
 * @num:	entries, a power of two up to VIRTQ_SIZE_MAX
 * @ready:	addresses are known and the guest may use it
 * @broken:	the guest broke a rule; nothing is popped until it is reset
 * @event_idx:	VIRTIO_F_RING_EVENT_IDX was negotiated
 * @indirect:	VIRTIO_F_INDIRECT_DESC was negotiated
 * @desc:	descriptor table in guest memory
 * @avail:	available ring in guest memory
 * @used:	used ring in guest memory
 * @mem:	the guest's memory map
 * @last_avail:	next entry of the available ring to take
 * @used_idx:	used index that was last written
 * @signalled:	used index at the last virtq_notify()
 * @inherited:	another process has served it, and has told nobody what it knew
 * @call:	interrupt the guest on account of this queue
 * @error:	the queue has just become @broken, for the reason @why; may be
 *		NULL
 * @priv:	of the front-end
 */
struct virtq {
	uint16_t index;
	uint16_t num;
	bool ready;
	bool broken;
	bool event_idx;
	bool indirect;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	const struct guest_mem *mem;
	uint16_t last_avail;
	uint16_t used_idx;
	uint16_t signalled;
	bool inherited;
	void (*call)(struct virtq *vq);
	void (*error)(struct virtq *vq, const char *why);
	void *priv;
};

/**
 * struct virtq_elem - one buffer taken from a virtqueue
 * @head:	descriptor that it starts with, to be given back
 * @out_n:	number of device-readable pieces, the first ones in @iov
 * @in_n:	number of device-writable pieces, behind them
 * @out_len:	bytes in the readable pieces
 * @in_len:	bytes in the writable pieces
 * @iov:	the pieces; valid until the memory map changes
 */
struct virtq_elem {
	uint16_t head;
	unsigned int out_n;
	unsigned int in_n;
	size_t out_len;
	size_t in_len;
	struct iovec iov[VIRTQ_IOV_MAX];
};

/**
 * struct virtq_used - a buffer to be given back
 * @head:	descriptor that it starts with
 * @len:	bytes written into its writable pieces
 */
struct virtq_used {
	uint16_t head;
	uint32_t len;
};

/**
 * virtq_start() - take a virtqueue into use
 * @vq:		virtqueue with @index, @event_idx, @indirect, @mem, @call, @error
 *		and @priv filled in
 * @num:	entries
 * @last_avail:	next entry of the available ring to take
 * @desc:	descriptor table, of 16 * @num bytes
 * @avail:	available ring, of 6 + 2 * @num bytes
 * @used:	used ring, of 6 + 8 * @num bytes
 *
 * The used index is taken from the ring.  The last two bytes of @avail and
 * @used are touched only with @event_idx.
 *
 * Return: 0, or -EINVAL if @num is not a size of a virtqueue or a part is not
 *	   aligned as virtio demands.
 */
int virtq_start(struct virtq *vq, uint16_t num, uint16_t last_avail,
		void *desc, void *avail, void *used);

/**
 * virtq_from_used() - go on with the first buffer that was not used
 * @vq:		virtqueue that was just started
 *
 * For a queue whose buffers are used in their order.
 */
void virtq_from_used(struct virtq *vq);

/**
 * virtq_base() - what the front-end is told to begin with when it starts the queue again
 * @vq:		virtqueue that is still mapped
 *
 * As a rule @last_avail.  That of a queue without an object is 0, whatever its driver has
 * left in the rings.  QEMU holds a device for broken whose queue is farther behind than its
 * size; so it is told the available index then, which the next object does not look at.
 */
uint16_t virtq_base(const struct virtq *vq);

/** virtq_stop() - nothing is popped from it or pushed to it any more */
void virtq_stop(struct virtq *vq);

/**
 * virtq_break() - the guest broke a rule
 * @vq:		virtqueue
 * @why:	which one
 *
 * Nothing is popped until the queue is started again or virtq_restart().  Only
 * the first call on a queue reports.
 */
void virtq_break(struct virtq *vq, const char *why);

/**
 * virtq_pending() - is there a buffer to take?
 * @vq:		virtqueue
 *
 * Return: true if virtq_pop() would find one, or would find now that the guest
 *	   broke a rule.  False for a queue known to be broken.
 */
bool virtq_pending(const struct virtq *vq);

/**
 * virtq_pop() - take the next available buffer
 * @vq:		virtqueue
 * @elem:	filled in
 *
 * Return: 1 if a buffer was taken, 0 if there is none or the queue is not
 *	   ready, -EPROTO if the guest broke a rule, now or before.
 */
int virtq_pop(struct virtq *vq, struct virtq_elem *elem);

/**
 * virtq_work() - how much this process has done for guests so far
 *
 * Return: pieces of all buffers that were taken, whatever the queue, and what
 *	   virtq_charge() was told.
 */
uint64_t virtq_work(void);

/**
 * virtq_charge() - work that counts as if it had been that many pieces
 *
 * For what a guest can have done without a buffer, and that takes time.
 */
void virtq_charge(uint64_t pieces);

/**
 * virtq_pop_head() - take the next available buffer without a look at its pieces
 * @vq:		virtqueue
 * @head:	set to the descriptor that it starts with
 *
 * This is for callers that only give the buffer back, since a chain may be long.
 *
 * Return: as of virtq_pop().
 */
int virtq_pop_head(struct virtq *vq, uint16_t *head);

/**
 * virtq_unpop() - put the buffer taken last back, to be taken again
 * @vq:		virtqueue
 *
 * Several calls put back as many buffers, the last one first.
 */
void virtq_unpop(struct virtq *vq);

/**
 * virtq_push() - mark a buffer used and show that to the guest
 * @vq:		virtqueue
 * @head:	the buffer's head
 * @len:	bytes written into its writable pieces
 *
 * Everything written to the buffer before is visible to a guest that sees it
 * used.  Does not interrupt the guest.
 */
void virtq_push(struct virtq *vq, uint16_t head, uint32_t len);

/**
 * virtq_push_many() - mark several buffers used and show them to the guest
 * @vq:		virtqueue
 * @used:	the buffers
 * @n:		their number, up to the size of the queue
 *
 * As virtq_push(), but the guest sees either none of them or all.
 */
void virtq_push_many(struct virtq *vq, const struct virtq_used *used,
		     unsigned int n);

/**
 * virtq_notify() - interrupt the guest if it asked to be
 * @vq:		virtqueue
 *
 * By the flags of the available ring or by its used_event; never if nothing was
 * pushed since the last call.  For Ethernet and control queues; completion
 * queues of RoCE call @call when they are armed.
 */
void virtq_notify(struct virtq *vq);

/**
 * virtq_want_kick() - ask the guest for doorbells, or ask it not to ring
 * @vq:		virtqueue
 * @want:	what is asked for
 *
 * Return: with @want, true if buffers became available meanwhile, for which no
 *	   doorbell may come: the caller must look again.  Else false.
 */
bool virtq_want_kick(struct virtq *vq, bool want);

/**
 * virtq_restart() - take all indices as 0, as after DESTROY_QP and DESTROY_CQ
 * @vq:		virtqueue
 *
 * Writes nothing to guest memory; also clears @broken.
 */
void virtq_restart(struct virtq *vq);

/** VIRTQ_STATE_SIZE - bytes of a virtqueue in a state */
#define VIRTQ_STATE_SIZE	11u

/**
 * struct virtq_image - indices of a virtqueue that were loaded
 * @vq:		virtqueue
 * @last_avail:	as of &struct virtq, like the following
 * @used_idx:	index
 * @signalled:	index
 * @broken:	flag
 */
struct virtq_image {
	struct virtq *vq;
	uint16_t last_avail;
	uint16_t used_idx;
	uint16_t signalled;
	bool broken;
};

/**
 * virtq_io() - save or load the indices of a virtqueue
 * @st:		state
 * @vq:		virtqueue, which was started
 * @image:	loading: set to what was loaded, for virtq_loaded(); else NULL
 */
void virtq_io(struct state *st, struct virtq *vq, struct virtq_image *image);

/** virtq_loaded() - a virtqueue goes on with the indices that were loaded */
void virtq_loaded(const struct virtq_image *image);

#endif /* DEVICE_VIRTQ_H */
