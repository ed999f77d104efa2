/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of direct queues.
 */
#ifndef _VROCE_MEM_H
#define _VROCE_MEM_H

#include "vroce_types.h"

int vroce_charge_take(struct vroce_charge *charge, size_t npages);
void vroce_charge_give(struct vroce_charge *charge);

/* The kernel uses it, not a process. */
#define VROCE_MEM_KERNEL	BIT(0)
/* The last part may share a page with the one before. */
#define VROCE_MEM_PACKED	BIT(1)

struct vroce_mem *vroce_mem_create(struct device *dma_dev, const size_t *lens,
				   u32 nparts, u32 flags);
void vroce_mem_destroy(struct vroce_mem *mem);
void vroce_mem_keep(struct vroce_dev *dev, struct vroce_mem *mem);
bool vroce_mem_failed(struct vroce_dev *dev, struct vroce_mem *mem, int err);
void vroce_mem_put(struct vroce_mem *mem);
void *vroce_mem_addr(const struct vroce_mem *mem, u32 part);
dma_addr_t vroce_mem_dma(const struct vroce_mem *mem, u32 part);
u32 vroce_mem_wire_pages(const struct vroce_mem *mem, u32 part);
__le64 *vroce_mem_list(const struct vroce_mem *mem, u32 nparts);

#endif /* _VROCE_MEM_H */
