// SPDX-License-Identifier: GPL-2.0
/*
 * User space can map these parts of its queues: slots, available ring, used ring and doorbell
 * page.  Each is an entry with an offset that is valid only in the process's own
 * context.  Descriptor tables have no entry.
 *
 * In the form of the RFC an entry holds a reference to the CQ or QP in the device, and
 * lives until its last mapping is gone; vroce_obj.c explains why.  Direct queues are
 * ordinary pages, which no other queue gets while they are mapped.  A child of fork()
 * does not inherit mappings, because parent and child would both use the queue as their
 * own.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "vroce_mem.h"
#include "vroce_mmap.h"
#include "vroce_obj.h"

/**
 * struct vroce_mmap - a piece of memory that can be mapped
 * @entry: the core's part
 * @owner: object that the memory belongs to, and the entry holds a reference to it; NULL
 *	if the entry holds one to @range.mem, or needs none
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
	ranges[VROCE_PIECE_CONTROL] = (struct vroce_range) {};
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
	if (owner)
		vroce_obj_get(owner);
	if (range->mem)
		kref_get(&range->mem->ref);

	err = rdma_user_mmap_entry_insert(uctx, &map->entry, range->len);
	if (err) {
		if (owner)
			vroce_obj_put(owner);
		if (range->mem)
			vroce_mem_put(range->mem);
		kfree(map);
		return ERR_PTR(err);
	}
	return &map->entry;
}

/* An entry for pages of a direct queue. */
static int vroce_mmap_insert_mem(struct rdma_user_mmap_entry **entry,
				 struct ib_ucontext *uctx, struct vroce_mem *mem,
				 u32 page, u32 npages, bool writable)
{
	const struct vroce_range range = {
		.mem = mem,
		.page = page,
		.len = (size_t)npages << PAGE_SHIFT,
		.writable = writable,
	};
	struct rdma_user_mmap_entry *made;

	made = vroce_mmap_insert(uctx, NULL, &range);
	if (IS_ERR(made))
		return PTR_ERR(made);
	*entry = made;
	return 0;
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
 * Return: 0, -ENOMEM, or -EOPNOTSUPP if it cannot be mapped.
 */
int vroce_maps_insert(struct vroce_maps *maps, struct ib_ucontext *uctx,
		      struct vroce_obj *owner, const struct vroce_queue *q,
		      bool is_cq, struct virtio_roce_queue *resp)
{
	struct vroce_range ranges[VROCE_PIECES];
	enum vroce_piece i;

	if (!q->vq->avail_phys) {
		ibdev_dbg(uctx->device, "virtqueue %u is for the kernel only\n",
			  q->vq->index);
		return -EOPNOTSUPP;
	}
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
 * vroce_maps_insert_cq() - let user space map a direct CQ
 * @maps: to be filled in
 * @uctx: context that may map it
 * @mem: memory of the CQ; its ring is read-only
 * @cqe: slots of the ring
 * @stride: bytes of a slot
 * @resp: to be filled in for the provider
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_maps_insert_cq(struct vroce_maps *maps, struct ib_ucontext *uctx,
			 struct vroce_mem *mem, u32 cqe, u32 stride,
			 struct virtio_roce_queue *resp)
{
	u32 ring = mem->pos[1] >> PAGE_SHIFT;
	int err;

	err = vroce_mmap_insert_mem(&maps->entry[VROCE_PIECE_SLOTS], uctx, mem,
				    0, ring, false);
	if (!err)
		err = vroce_mmap_insert_mem(&maps->entry[VROCE_PIECE_CONTROL],
					    uctx, mem, ring, mem->npages - ring,
					    true);
	if (err) {
		vroce_maps_remove(maps);
		return err;
	}
	*resp = (struct virtio_roce_queue) {
		.slots_offset = vroce_maps_offset(maps, VROCE_PIECE_SLOTS),
		.slots_len = ring << PAGE_SHIFT,
		.control_offset = vroce_maps_offset(maps, VROCE_PIECE_CONTROL),
		.control_len = (mem->npages - ring) << PAGE_SHIFT,
		.depth = cqe,
		.stride = stride,
		.flags = VIRTIO_ROCE_QUEUE_DIRECT,
	};
	return 0;
}

/**
 * vroce_maps_insert_qp() - let user space map a direct QP, as one piece
 * @maps: to be filled in
 * @uctx: context that may map it
 * @q: send or receive queue
 * @mem: memory of the QP
 * @part: part with the queue's ring
 * @resp: to be filled in for the provider
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_maps_insert_qp(struct vroce_maps *maps, struct ib_ucontext *uctx,
			 const struct vroce_queue *q, struct vroce_mem *mem,
			 u32 part, struct virtio_roce_queue *resp)
{
	struct rdma_user_mmap_entry **entry = &maps->entry[VROCE_PIECE_SLOTS];
	u64 offset;
	u32 len;
	int err;

	if (!*entry) {
		err = vroce_mmap_insert_mem(entry, uctx, mem, 0, mem->npages,
					    true);
		if (err)
			return err;
	}
	offset = rdma_user_mmap_get_offset(*entry);
	len = mem->npages << PAGE_SHIFT;
	*resp = (struct virtio_roce_queue) {
		.slots_offset = offset,
		.slots_len = len,
		.slots_pos = mem->pos[part],
		.control_offset = offset,
		.control_len = len,
		.control_pos = mem->pos[VROCE_MEM_PARTS - 1],
		.depth = q->depth,
		.stride = q->stride,
		.flags = VIRTIO_ROCE_QUEUE_DIRECT,
	};
	return 0;
}

/**
 * vroce_maps_insert_srq() - let user space map an SRQ, as one piece
 * @maps: to be filled in
 * @uctx: context that may map it
 * @q: its ring
 * @mem: its memory, of which the control block is the second part
 * @resp: to be filled in for the provider
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_maps_insert_srq(struct vroce_maps *maps, struct ib_ucontext *uctx,
			  const struct vroce_queue *q, struct vroce_mem *mem,
			  struct virtio_roce_queue *resp)
{
	int err;

	err = vroce_maps_insert_qp(maps, uctx, q, mem, 0, resp);
	if (!err)
		resp->control_pos = mem->pos[1];
	return err;
}

/**
 * vroce_doorbell_expose() - let user space map its doorbell page
 * @db: doorbell page of a process
 * @uctx: its context
 * @resp: to be filled in for the provider
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_doorbell_expose(struct vroce_doorbell *db, struct ib_ucontext *uctx,
			  struct virtio_roce_create_qp_resp *resp)
{
	const struct vroce_range kick = {
		.phys = db->vq->doorbell_phys,
		.len = PAGE_SIZE,
		.writable = true,
		.io = true,
	};
	struct rdma_user_mmap_entry *entry;
	int err = 0;

	mutex_lock(&db->lock);
	if (!db->page_entry)
		err = vroce_mmap_insert_mem(&db->page_entry, uctx, db->mem, 0,
					    db->mem->npages, true);
	if (!err && !db->kick_entry && kick.phys) {
		entry = vroce_mmap_insert(uctx, NULL, &kick);
		if (IS_ERR(entry))
			err = PTR_ERR(entry);
		else
			db->kick_entry = entry;
	}
	mutex_unlock(&db->lock);
	if (err)
		return err;
	resp->page_offset = rdma_user_mmap_get_offset(db->page_entry);
	if (!db->kick_entry)
		return 0;
	resp->sq.doorbell_offset = rdma_user_mmap_get_offset(db->kick_entry);
	resp->sq.doorbell_len = PAGE_SIZE;
	resp->sq.doorbell_pos = db->vq->doorbell_pos;
	resp->sq.doorbell_value = db->vq->index;
	resp->sq.flags |= VIRTIO_ROCE_QUEUE_DOORBELL;
	return 0;
}

/**
 * vroce_doorbell_withdraw() - undo vroce_doorbell_expose()
 * @db: doorbell page
 */
void vroce_doorbell_withdraw(struct vroce_doorbell *db)
{
	rdma_user_mmap_entry_remove(db->kick_entry);
	rdma_user_mmap_entry_remove(db->page_entry);
	db->kick_entry = NULL;
	db->page_entry = NULL;
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

/* Each page that is mapped has a reference of its own. */
static int vroce_mmap_pages(struct vm_area_struct *vma,
			    const struct vroce_range *range)
{
	unsigned long n = range->len >> PAGE_SHIFT;

	if (!(vma->vm_flags & VM_SHARED) ||
	    vma->vm_end - vma->vm_start != range->len)
		return -EINVAL;
	vroce_vm_flags_mod(vma, VM_DONTEXPAND, 0);
	return vm_insert_pages(vma, vma->vm_start,
			       &range->mem->pages[range->page], &n);
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

	if (map->range.mem) {
		err = vroce_mmap_pages(vma, &map->range);
		goto out_put;
	}
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

	if (map->owner)
		vroce_obj_put_later(map->owner);
	if (map->range.mem)
		vroce_mem_put(map->range.mem);
	kfree(map);
}
