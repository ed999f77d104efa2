// SPDX-License-Identifier: GPL-2.0
/*
 * What user space can map of its queues: slots, available ring, used ring and doorbell
 * page.  Each is an entry with an offset that is valid only in the process's own
 * context.  Descriptor tables have no entry.
 *
 * An entry holds a reference to the CQ or QP in the device, and lives until its last
 * mapping is gone; vroce_obj.c explains why.  A child of fork() does not inherit
 * mappings, because parent and child would both use the queue as their own.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "vroce.h"

/**
 * struct vroce_mmap - a piece of memory that can be mapped
 * @entry: the core's part
 * @owner: object that the memory belongs to; the entry holds a reference to it
 * @range: which memory
 */
struct vroce_mmap {
	struct rdma_user_mmap_entry entry;
	struct vroce_obj *owner;
	struct vroce_range range;
};

/* Slots are physically contiguous, but may have a vmalloc address. */
static phys_addr_t vroce_slots_phys(const struct vroce_queue *q)
{
	if (is_vmalloc_addr(q->slots))
		return page_to_phys(vmalloc_to_page(q->slots));
	return virt_to_phys(q->slots);
}

/**
 * vroce_queue_ranges() - which memory of a queue user space may have
 * @q: attached queue
 * @is_cq: it is a completion queue: its slots are read-only and it has no doorbell
 * @ranges: result
 */
void vroce_queue_ranges(const struct vroce_queue *q, bool is_cq,
			struct vroce_range ranges[VROCE_PIECES])
{
	const struct virtio_net_roce_vq *vq = q->vq;

	ranges[VROCE_PIECE_SLOTS] = (struct vroce_range) {
		.phys = vroce_slots_phys(q),
		.len = q->slots_len,
		.writable = !is_cq,
	};
	ranges[VROCE_PIECE_AVAIL] = (struct vroce_range) {
		.phys = vq->avail_phys,
		.len = vq->avail_len,
		.writable = true,
	};
	ranges[VROCE_PIECE_USED] = (struct vroce_range) {
		.phys = vq->used_phys,
		.len = vq->used_len,
	};
	ranges[VROCE_PIECE_DOORBELL] = (struct vroce_range) {};
	if (!is_cq && vq->doorbell_phys)
		ranges[VROCE_PIECE_DOORBELL] = (struct vroce_range) {
			.phys = vq->doorbell_phys,
			.len = PAGE_SIZE,
			.writable = true,
			.io = true,
		};
}
EXPORT_SYMBOL_IF_KUNIT(vroce_queue_ranges);

static struct rdma_user_mmap_entry *
vroce_mmap_insert(struct ib_ucontext *uctx, struct vroce_obj *owner,
		  const struct vroce_range *range)
{
	struct vroce_mmap *map;
	int err;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->range = *range;
	map->owner = owner;
	vroce_obj_get(owner);

	err = rdma_user_mmap_entry_insert(uctx, &map->entry, range->len);
	if (err) {
		vroce_obj_put(owner);
		kfree(map);
		return ERR_PTR(err);
	}
	return &map->entry;
}

static u64 vroce_maps_offset(const struct vroce_maps *maps,
			     enum vroce_piece piece)
{
	return maps->entry[piece] ?
		rdma_user_mmap_get_offset(maps->entry[piece]) : 0;
}

/**
 * vroce_maps_insert() - let user space map a queue
 * @maps: to be filled in
 * @uctx: context that may map it
 * @owner: object that the queue belongs to
 * @q: attached queue
 * @is_cq: it is a completion queue
 * @resp: to be filled in for the provider
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_maps_insert(struct vroce_maps *maps, struct ib_ucontext *uctx,
		      struct vroce_obj *owner, const struct vroce_queue *q,
		      bool is_cq, struct virtio_roce_queue *resp)
{
	struct vroce_range ranges[VROCE_PIECES];
	enum vroce_piece i;

	vroce_queue_ranges(q, is_cq, ranges);
	for (i = 0; i < VROCE_PIECES; i++) {
		struct rdma_user_mmap_entry *entry;

		if (!ranges[i].len)
			continue;
		entry = vroce_mmap_insert(uctx, owner, &ranges[i]);
		if (IS_ERR(entry)) {
			vroce_maps_remove(maps);
			return PTR_ERR(entry);
		}
		maps->entry[i] = entry;
	}

	*resp = (struct virtio_roce_queue) {
		.slots_offset = vroce_maps_offset(maps, VROCE_PIECE_SLOTS),
		.avail_offset = vroce_maps_offset(maps, VROCE_PIECE_AVAIL),
		.used_offset = vroce_maps_offset(maps, VROCE_PIECE_USED),
		.doorbell_offset = vroce_maps_offset(maps,
						     VROCE_PIECE_DOORBELL),
		.slots_len = ranges[VROCE_PIECE_SLOTS].len,
		.avail_len = ranges[VROCE_PIECE_AVAIL].len,
		.used_len = ranges[VROCE_PIECE_USED].len,
		.doorbell_len = ranges[VROCE_PIECE_DOORBELL].len,
		.num = q->vq->vring.num,
		.depth = q->depth,
		.stride = q->stride,
	};
	if (maps->entry[VROCE_PIECE_DOORBELL]) {
		resp->doorbell_pos = q->vq->doorbell_pos;
		resp->doorbell_value = q->vq->index;
		resp->flags |= VIRTIO_ROCE_QUEUE_DOORBELL;
	}
	if (owner->dev->aux->event_idx)
		resp->flags |= VIRTIO_ROCE_QUEUE_EVENT_IDX;
	return 0;
}

/**
 * vroce_maps_remove() - allow no new mappings from now on
 * @maps: entries; an entry without a mapping is freed now, any other with its last
 *	mapping
 *
 * Context: the caller holds a reference to the owner, so the last reference is not
 * dropped here.
 */
void vroce_maps_remove(struct vroce_maps *maps)
{
	enum vroce_piece i;

	for (i = 0; i < VROCE_PIECES; i++) {
		rdma_user_mmap_entry_remove(maps->entry[i]);
		maps->entry[i] = NULL;
	}
}

/**
 * vroce_mmap() - verb: map a piece of a queue
 * @uctx: context
 * @vma: where to map; its offset tells which piece, and it must cover all of it
 *
 * Return: 0 or -errno.
 */
int vroce_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	vm_flags_t deny = VM_EXEC, never = VM_MAYEXEC;
	struct vroce_mmap *map;
	pgprot_t prot;
	int err;

	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry) {
		ibdev_dbg(uctx->device, "mmap: nothing at page %#lx\n",
			  vma->vm_pgoff);
		return -EINVAL;
	}
	map = container_of(entry, struct vroce_mmap, entry);

	if (!map->range.writable) {
		deny |= VM_WRITE;
		never |= VM_MAYWRITE;
	}
	if (vma->vm_flags & deny) {
		ibdev_dbg(uctx->device, "mmap: page %#lx is protected\n",
			  vma->vm_pgoff);
		err = -EPERM;
		goto out_put;
	}
	vroce_vm_flags_mod(vma, VM_DONTCOPY, never);

	prot = vma->vm_page_prot;
	if (map->range.io)
		prot = pgprot_noncached(prot);
	err = rdma_user_mmap_io(uctx, vma, map->range.phys >> PAGE_SHIFT,
				map->range.len, prot, entry);
out_put:
	rdma_user_mmap_entry_put(entry);
	return err;
}

/**
 * vroce_mmap_free() - verb: the last mapping of a piece is gone
 * @entry: entry
 *
 * Context: locks of the memory map and of the context may be held.
 */
void vroce_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct vroce_mmap *map = container_of(entry, struct vroce_mmap, entry);

	vroce_obj_put_later(map->owner);
	kfree(map);
}
