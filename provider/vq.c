// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One virtqueue: mapping it and ringing its doorbell.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <util/mmio.h>
#include <util/udma_barrier.h>

#include "virtio_roce.h"

/* The free-running indices have 16 bits. */
#define VQ_NUM_MAX	32768

/* The used ring of a queue without memory: its used index stays 0. */
static const struct vring_used nothing_used;

static size_t whole_pages(size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (len + page - 1) / page * page;
}

/**
 * virtio_roce_alloc() - zeroed memory for an object that has queues
 * @size: of the object
 * @kept: offset of the part that a child after fork() finds zeroed; the part before it,
 *	which mostly belongs to libibverbs, is copied as usual
 *
 * By the zeroes a child sees that a queue is not its own.  It looks at these members
 * anyway, so this costs nothing in programs that do not fork.
 *
 * Returns NULL and sets errno if there is none.
 */
void *virtio_roce_alloc(size_t size, size_t kept)
{
	size_t head = whole_pages(kept), tail = whole_pages(size - kept);
	char *pages;

	pages = mmap(NULL, head + tail, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	if (madvise(pages + head, tail, MADV_WIPEONFORK)) {
		munmap(pages, head + tail);
		return NULL;
	}
	return pages + head - kept;
}

/**
 * virtio_roce_free() - undo virtio_roce_alloc()
 * @object: what it returned
 * @size: as there
 * @kept: as there
 */
void virtio_roce_free(void *object, size_t size, size_t kept)
{
	size_t head = whole_pages(kept), tail = whole_pages(size - kept);

	munmap((char *)object + kept - head, head + tail);
}

static bool is_pow2(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool vq_rings_fit(const struct virtio_roce_queue *info)
{
	size_t num = info->num;

	/* Two bytes for RING_EVENT_IDX follow each ring. */
	return info->avail_len >=
		       offsetof(struct vring_avail, ring[num]) + 2 &&
	       info->used_len >= offsetof(struct vring_used, ring[num]) + 2;
}

static bool vq_slots_fit(const struct virtio_roce_queue *info, size_t slot_size)
{
	return info->stride >= slot_size && !(info->stride % sizeof(__u64)) &&
	       (uint64_t)info->depth * info->stride <= info->slots_len;
}

static bool vq_doorbell_fits(const struct virtio_roce_queue *info)
{
	return !(info->flags & VIRTIO_ROCE_QUEUE_DOORBELL) ||
	       (!(info->doorbell_pos % 2) &&
		(uint64_t)info->doorbell_pos + 2 <= info->doorbell_len);
}

/*
 * The kernel is trusted, but may be of another version than this provider.  So all that
 * the data path relies on is checked once, here.
 */
static bool vq_is_sane(const struct virtio_roce_queue *info, size_t slot_size)
{
	return is_pow2(info->num) && info->num <= VQ_NUM_MAX &&
	       is_pow2(info->depth) && info->depth <= info->num &&
	       vq_rings_fit(info) && vq_slots_fit(info, slot_size) &&
	       vq_doorbell_fits(info);
}

/**
 * virtio_roce_vq_map() - map a virtqueue that the kernel created
 * @vq: to be filled in; belongs to the caller
 * @context: device
 * @info: what the kernel says about it
 * @type: completion queues have read-only slots and no doorbell
 * @slot_size: bytes that the largest request or completion takes
 *
 * The kernel driver makes sure that fork() copies neither the mapping nor the memory.
 *
 * Returns 0 or an errno value.
 */
int virtio_roce_vq_map(struct virtio_roce_vq *vq, struct ibv_context *context,
		       const struct virtio_roce_queue *info,
		       enum virtio_roce_vq_type type, size_t slot_size)
{
	const int rw = PROT_READ | PROT_WRITE;
	const struct {
		uint64_t offset;
		uint32_t len;
		int prot;
	} map[VQ_PARTS] = {
		[VQ_SLOTS] = { info->slots_offset, info->slots_len,
			       type == VQ_COMPLETION ? PROT_READ : rw },
		[VQ_AVAIL] = { info->avail_offset, info->avail_len, rw },
		[VQ_USED] = { info->used_offset, info->used_len, PROT_READ },
		[VQ_DOORBELL] = { info->doorbell_offset, info->doorbell_len,
				  PROT_WRITE },
	};
	bool doorbell = type == VQ_WORK &&
			info->flags & VIRTIO_ROCE_QUEUE_DOORBELL;
	unsigned int parts = doorbell ? VQ_PARTS : VQ_DOORBELL;
	void *addr;
	int err;

	if (!vq_is_sane(info, slot_size)) {
		verbs_err(verbs_get_ctx(context),
			  "kernel driver describes an unusable queue\n");
		return EPROTO;
	}

	for (vq->parts = 0; vq->parts < parts; vq->parts++) {
		addr = mmap(NULL, map[vq->parts].len, map[vq->parts].prot,
			    MAP_SHARED, context->cmd_fd,
			    map[vq->parts].offset);
		if (addr == MAP_FAILED) {
			err = errno;
			goto err_unmap;
		}
		vq->part[vq->parts].addr = addr;
		vq->part[vq->parts].len = map[vq->parts].len;
	}

	err = pthread_spin_init(&vq->lock, PTHREAD_PROCESS_PRIVATE);
	if (err)
		goto err_unmap;

	vq->ring = (struct ring){
		.slots = vq->part[VQ_SLOTS].addr,
		.stride = info->stride,
		.avail = vq->part[VQ_AVAIL].addr,
		.used = vq->part[VQ_USED].addr,
		.mask = info->num - 1,
		.depth = info->depth,
		.event_idx = info->flags & VIRTIO_ROCE_QUEUE_EVENT_IDX,
		.alive = info->flags & VIRTIO_ROCE_QUEUE_ALIVE ?
			 (void *)((char *)vq->part[VQ_USED].addr +
				  vq->part[VQ_USED].len - sizeof(uint32_t)) :
			 NULL,
	};
	ring_start(&vq->ring);

	vq->doorbell_value = info->doorbell_value;
	vq->doorbell = NULL;
	if (doorbell)
		vq->doorbell = (char *)vq->part[VQ_DOORBELL].addr +
			       info->doorbell_pos;

	return 0;

err_unmap:
	virtio_roce_vq_unmap(vq);
	return err;
}

/**
 * virtio_roce_vq_unmap() - unmap the memory of a virtqueue
 * @vq: virtqueue, from now on always full (work queue) or empty (completion queue)
 */
void virtio_roce_vq_unmap(struct virtio_roce_vq *vq)
{
	vq->ring = (struct ring){ .used = &nothing_used };
	vq->doorbell = NULL;
	while (vq->parts) {
		vq->parts--;
		munmap(vq->part[vq->parts].addr, vq->part[vq->parts].len);
	}
}

/** virtio_roce_vq_free() - undo virtio_roce_vq_map() */
void virtio_roce_vq_free(struct virtio_roce_vq *vq)
{
	virtio_roce_vq_unmap(vq);
	pthread_spin_destroy(&vq->lock);
}

/**
 * virtio_roce_vq_publish() - make requests in the queue visible to the device
 * @vq: work queue
 *
 * Context: lock of the queue held.
 * Returns whether the device asks for a doorbell, which may then be rung without
 * the lock.
 */
bool virtio_roce_vq_publish(struct virtio_roce_vq *vq)
{
	uint16_t old = vq->ring.shown;

	if (vq->ring.next == old)
		return false;

	ring_publish(&vq->ring);
	return ring_wants_doorbell(&vq->ring, old);
}

/** virtio_roce_vq_ring_doorbell() - returns false if there is none mapped */
bool virtio_roce_vq_ring_doorbell(const struct virtio_roce_vq *vq)
{
	if (!vq->doorbell)
		return false;

	udma_to_device_barrier();
	mmio_write16(vq->doorbell, vq->doorbell_value);
	return true;
}
