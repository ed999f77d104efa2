/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that user space maps.
 */
#ifndef _VROCE_MMAP_H
#define _VROCE_MMAP_H

#include "vroce_types.h"

/**
 * struct vroce_range - memory to map
 * @phys: physical address
 * @mem: memory of a direct queue, in place of @phys, or NULL
 * @page: first page of it
 * @len: bytes, whole pages; 0 if there is no such piece
 * @writable: user space may write to it
 * @io: it belongs to the PCI function and is not memory
 */
struct vroce_range {
	phys_addr_t phys;
	struct vroce_mem *mem;
	u32 page;
	size_t len;
	bool writable;
	bool io;
};

void vroce_queue_ranges(const struct vroce_queue *q, bool is_cq,
			struct vroce_range ranges[VROCE_PIECES]);
int vroce_maps_insert(struct vroce_maps *maps, struct ib_ucontext *uctx,
		      struct vroce_obj *owner, const struct vroce_queue *q,
		      bool is_cq, struct virtio_roce_queue *resp);
int vroce_maps_insert_cq(struct vroce_maps *maps, struct ib_ucontext *uctx,
			 struct vroce_mem *mem, u32 cqe, u32 stride,
			 struct virtio_roce_queue *resp);
int vroce_maps_insert_qp(struct vroce_maps *maps, struct ib_ucontext *uctx,
			 const struct vroce_queue *q, struct vroce_mem *mem,
			 u32 part, struct virtio_roce_queue *resp);
int vroce_maps_insert_srq(struct vroce_maps *maps, struct ib_ucontext *uctx,
			  const struct vroce_queue *q, struct vroce_mem *mem,
			  struct virtio_roce_queue *resp);
int vroce_doorbell_expose(struct vroce_doorbell *db, struct ib_ucontext *uctx,
			  struct virtio_roce_create_qp_resp *resp);
void vroce_doorbell_withdraw(struct vroce_doorbell *db);
void vroce_maps_remove(struct vroce_maps *maps);
int vroce_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void vroce_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* _VROCE_MMAP_H */
