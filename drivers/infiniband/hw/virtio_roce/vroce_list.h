/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists of the pages of memory regions.
 */
#ifndef _VROCE_LIST_H
#define _VROCE_LIST_H

#include "vroce_types.h"

/**
 * struct vroce_list - the pages of a memory region
 * @pages: device address of each
 * @npages: number of them
 * @where: device addresses of the pages of 4096 bytes that @pages lies in, NULL if the
 *	device does not read it there
 * @dma_dev: device
 */
struct vroce_list {
	__le64 *pages;
	u32 npages;
	__le64 *where;
	struct device *dma_dev;
};

struct vroce_list *vroce_list_create(struct vroce_dev *dev, struct ib_umem *umem,
				     unsigned long pgsz);
void vroce_list_free(void *data);

#endif /* _VROCE_LIST_H */
