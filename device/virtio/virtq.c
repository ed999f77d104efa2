// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device's side of a split virtqueue.
 *
 * Theory of operation
 *
 * The guest writes the descriptor table and the available ring; we write the used
 * ring.  A hostile guest may write all three at any time, so nothing that we need
 * later is kept there: @last_avail and @used_idx are in struct virtq.
 *
 * Order: the available index is read with acquire before the entries that it
 * covers; the used index is written with release after the entries and the
 * buffers that it covers.  Doorbells and interrupts each need one full barrier.
 * In virtq_want_kick() it stands between the request for a doorbell and the look
 * whether there is work already; in virtq_notify() between the new used index and
 * the look whether the guest waits for it.
 *
 * A chain is walked with a budget, so that a loop ends: a table of n
 * descriptors cannot hold a chain of more than n.
 */

#include <endian.h>
#include <errno.h>

#include "virtio/virtq.h"
#include "virtio/write.h"

_Static_assert(sizeof(struct vring_desc) == 16, "descriptor is not 16 bytes");

/* Fields of the rings, each read or written exactly once. */
static uint16_t ring_load(const void *p)
{
	return le16toh(__atomic_load_n((const uint16_t *)p, __ATOMIC_ACQUIRE));
}

static void ring_store(void *p, uint16_t value)
{
	write_u16(p, htole16(value));
}

/* The event fields stand behind the entries of the other side's ring. */
static const void *ring_used_event(const struct virtq *vq)
{
	return &vq->avail->ring[vq->num];
}

static void *ring_avail_event(const struct virtq *vq)
{
	return &vq->used->ring[vq->num];
}

int virtq_start(struct virtq *vq, uint16_t num, uint16_t last_avail,
		void *desc, void *avail, void *used)
{
	if (!num || num > VIRTQ_SIZE_MAX || (num & (num - 1)))
		return -EINVAL;
	if ((uintptr_t)desc % VRING_DESC_ALIGN_SIZE ||
	    (uintptr_t)avail % VRING_AVAIL_ALIGN_SIZE ||
	    (uintptr_t)used % VRING_USED_ALIGN_SIZE)
		return -EINVAL;

	vq->num = num;
	vq->desc = desc;
	vq->avail = avail;
	vq->used = used;
	vq->last_avail = last_avail;
	vq->used_idx = ring_load(&vq->used->idx);
	vq->signalled = vq->used_idx;
	vq->broken = false;
	vq->ready = true;
	return 0;
}

void virtq_from_used(struct virtq *vq)
{
	vq->last_avail = vq->used_idx;
}

uint16_t virtq_base(const struct virtq *vq)
{
	const uint16_t avail = ring_load(&vq->avail->idx), used = ring_load(&vq->used->idx);

	if (!vq->last_avail && (avail > vq->num || (uint16_t)-used > vq->num))
		return avail;
	return vq->last_avail;
}

void virtq_stop(struct virtq *vq)
{
	vq->ready = false;
}

void virtq_restart(struct virtq *vq)
{
	vq->last_avail = 0;
	vq->used_idx = 0;
	vq->signalled = 0;
	vq->broken = false;
}

void virtq_break(struct virtq *vq, const char *why)
{
	if (vq->broken)
		return;
	vq->broken = true;
	if (vq->error)
		vq->error(vq, why);
}

bool virtq_pending(const struct virtq *vq)
{
	return vq->ready && !vq->broken &&
	       ring_load(&vq->avail->idx) != vq->last_avail;
}

/**
 * struct virtq_walk - a walk along a descriptor chain
 * @table:	table that the chain is in
 * @len:	its length
 * @left:	descriptors that the chain may still have in it
 * @indirect:	it is an indirect one
 */
struct virtq_walk {
	const struct vring_desc *table;
	uint32_t len;
	uint32_t left;
	bool indirect;
};

static const char *walk_fetch(struct virtq_walk *walk, uint16_t i,
			      struct vring_desc *desc)
{
	if (i >= walk->len)
		return "descriptor index out of range";
	if (!walk->left)
		return "descriptor chain with a loop";
	walk->left--;
	guest_mem_read_once(desc, &walk->table[i], sizeof(*desc));
	return NULL;
}

/* Goes on in the table that @desc names, from its first entry. */
static const char *walk_indirect(const struct virtq *vq,
				 struct virtq_walk *walk,
				 const struct vring_desc *desc)
{
	uint16_t flags = le16toh(desc->flags);
	uint32_t len = le32toh(desc->len);

	if (!vq->indirect)
		return "indirect descriptor, which was not negotiated";
	if (walk->indirect)
		return "indirect descriptor inside an indirect table";
	if (flags & VRING_DESC_F_NEXT)
		return "indirect descriptor that is chained on";
	if (!len || len % sizeof(*desc) || len / sizeof(*desc) > VIRTQ_IOV_MAX)
		return "indirect table of a bad length";

	walk->table = guest_mem_ptr(vq->mem, le64toh(desc->addr), len);
	if (!walk->table)
		return "indirect table outside of memory";
	walk->len = len / sizeof(*desc);
	walk->left = walk->len;
	walk->indirect = true;
	return NULL;
}

static const char *elem_add(const struct virtq *vq, struct virtq_elem *elem,
			    const struct vring_desc *desc)
{
	bool write = le16toh(desc->flags) & VRING_DESC_F_WRITE;
	unsigned int used = elem->out_n + elem->in_n;
	uint32_t len = le32toh(desc->len);
	int n;

	if (!write && elem->in_n)
		return "readable descriptor behind a writable one";
	if (!len)
		return "descriptor of length 0";
	if (elem->out_len + elem->in_len + len > UINT32_MAX)
		return "descriptor chain of more than 4 GiB";

	n = guest_mem_iov(vq->mem, le64toh(desc->addr), len,
			  &elem->iov[used], VIRTQ_IOV_MAX - used);
	if (n == -E2BIG)
		return "descriptor chain of too many pieces";
	if (n < 0)
		return "buffer outside of memory";

	if (write) {
		elem->in_n += n;
		elem->in_len += len;
	} else {
		elem->out_n += n;
		elem->out_len += len;
	}
	return NULL;
}

static const char *virtq_walk(const struct virtq *vq, struct virtq_elem *elem)
{
	struct virtq_walk walk = {
		.table = vq->desc,
		.len = vq->num,
		.left = vq->num,
	};
	struct vring_desc desc;
	uint16_t flags, i = elem->head;
	const char *why;

	for (;;) {
		why = walk_fetch(&walk, i, &desc);
		if (why)
			return why;
		flags = le16toh(desc.flags);
		if (flags & VRING_DESC_F_INDIRECT) {
			why = walk_indirect(vq, &walk, &desc);
			if (why)
				return why;
			i = 0;
			continue;
		}
		why = elem_add(vq, elem, &desc);
		if (why)
			return why;
		if (!(flags & VRING_DESC_F_NEXT))
			return NULL;
		i = le16toh(desc.next);
	}
}

/* One thread walks all queues. */
static uint64_t virtq_walked;

uint64_t virtq_work(void)
{
	return virtq_walked;
}

void virtq_charge(uint64_t pieces)
{
	virtq_walked += pieces;
}

/* Looks which buffer is the next one; returns as virtq_pop(). */
static int virtq_peek(struct virtq *vq, uint16_t *head)
{
	uint16_t n;

	if (!vq->ready)
		return 0;
	if (vq->broken)
		return -EPROTO;

	n = ring_load(&vq->avail->idx) - vq->last_avail;
	if (!n)
		return 0;
	if (n > vq->num) {
		virtq_break(vq, "available index too far ahead");
		return -EPROTO;
	}
	*head = ring_load(&vq->avail->ring[vq->last_avail % vq->num]);
	return 1;
}

int virtq_pop(struct virtq *vq, struct virtq_elem *elem)
{
	const char *why;
	int ret = virtq_peek(vq, &elem->head);

	if (ret <= 0)
		return ret;
	elem->out_n = 0;
	elem->in_n = 0;
	elem->out_len = 0;
	elem->in_len = 0;
	why = virtq_walk(vq, elem);
	virtq_walked += elem->out_n + elem->in_n;
	if (why) {
		virtq_break(vq, why);
		return -EPROTO;
	}
	vq->last_avail++;
	return 1;
}

int virtq_pop_head(struct virtq *vq, uint16_t *head)
{
	int ret = virtq_peek(vq, head);

	if (ret <= 0)
		return ret;
	if (*head >= vq->num) {
		virtq_break(vq, "descriptor index out of range");
		return -EPROTO;
	}
	vq->last_avail++;
	return 1;
}

void virtq_unpop(struct virtq *vq)
{
	vq->last_avail--;
}

void virtq_push_many(struct virtq *vq, const struct virtq_used *used,
		     unsigned int n)
{
	struct vring_used_elem entry;
	unsigned int i;

	if (!vq->ready)
		return;
	for (i = 0; i < n; i++) {
		entry.id = htole32(used[i].head);
		entry.len = htole32(used[i].len);
		write_copy(&vq->used->ring[(uint16_t)(vq->used_idx + i) % vq->num], &entry,
			   sizeof(entry));
	}
	vq->used_idx += n;
	ring_store(&vq->used->idx, vq->used_idx);
}

void virtq_push(struct virtq *vq, uint16_t head, uint32_t len)
{
	virtq_push_many(vq, &(struct virtq_used){ head, len }, 1);
}

/* Did the used index pass @event on its way from @old to @new? */
static bool ring_passed(uint16_t event, uint16_t new, uint16_t old)
{
	return (uint16_t)(new - event - 1) < (uint16_t)(new - old);
}

void virtq_notify(struct virtq *vq)
{
	uint16_t old = vq->signalled;
	bool wanted;

	if (!vq->ready || vq->used_idx == old)
		return;
	vq->signalled = vq->used_idx;

	/* Pairs with the guest's barrier between asking and reading the index. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (vq->event_idx)
		wanted = ring_passed(ring_load(ring_used_event(vq)),
				     vq->used_idx, old);
	else
		wanted = !(ring_load(&vq->avail->flags) &
			   VRING_AVAIL_F_NO_INTERRUPT);
	if (wanted)
		vq->call(vq);
}

bool virtq_want_kick(struct virtq *vq, bool want)
{
	if (!vq->ready)
		return false;

	/* An index just passed comes round again only after 65535 buffers. */
	if (vq->event_idx)
		ring_store(ring_avail_event(vq),
			   want ? vq->last_avail : vq->last_avail - 1);
	else
		ring_store(&vq->used->flags, want ? 0 : VRING_USED_F_NO_NOTIFY);
	if (!want)
		return false;

	/* Pairs with the guest's barrier between filling the ring and reading this. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return virtq_pending(vq);
}

void virtq_io(struct state *st, struct virtq *vq, struct virtq_image *image)
{
	struct virtq_image copy = {
		.vq = vq,
		.last_avail = vq->last_avail,
		.used_idx = vq->used_idx,
		.signalled = vq->signalled,
		.broken = vq->broken,
	};

	state_same(st, "num", vq->num);
	state_u16(st, "last_avail", &copy.last_avail, UINT16_MAX);
	state_u16(st, "used_idx", &copy.used_idx, UINT16_MAX);
	state_u16(st, "signalled", &copy.signalled, UINT16_MAX);
	state_bool(st, "broken", &copy.broken);
	if (image)
		*image = copy;
}

void virtq_loaded(const struct virtq_image *image)
{
	image->vq->last_avail = image->last_avail;
	image->vq->used_idx = image->used_idx;
	image->vq->signalled = image->signalled;
	image->vq->broken = image->broken;
}
