// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of the pages of a memory region, for the device.
 *
 * A short list is part of the command.  A long list stays in its own pages, and the command
 * names these pages, if the device can do that (MR_INDIRECT).  If not, the size of the control
 * queue limits the list.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_umem.h>
#ifdef VNR_HAVE_RDMA_ITER_H
#include <rdma/iter.h>
#endif

#include "vroce_caps.h"
#include "vroce_list.h"

/* With a longer list a command is larger than a page, so the list is not put there. */
#define VROCE_LIST_SHORT \
	((PAGE_SIZE - sizeof(struct virtio_rdma_cmd_rereg_mr_long)) / sizeof(__le64))

/* Undo vroce_list_map() for the first @n pages of the kernel. */
static void vroce_list_unmap(struct vroce_list *list, size_t n)
{
	while (n--)
		dma_unmap_page(list->dma_dev,
			       le64_to_cpu(list->where[n * VROCE_PAGES_PER_PAGE]),
			       PAGE_SIZE, DMA_TO_DEVICE);
	kvfree(list->where);
	list->where = NULL;
}

static size_t vroce_list_bytes(const struct vroce_list *list)
{
	return array_size(list->npages, sizeof(*list->pages));
}

static int vroce_list_map(struct vroce_list *list)
{
	size_t n = DIV_ROUND_UP(vroce_list_bytes(list), PAGE_SIZE), i, j;
	dma_addr_t dma;

	list->where = kvcalloc(array_size(n, VROCE_PAGES_PER_PAGE),
			       sizeof(*list->where), GFP_KERNEL_ACCOUNT);
	if (!list->where)
		return -ENOMEM;
	flush_kernel_vmap_range(list->pages, vroce_list_bytes(list));
	for (i = 0; i < n; i++) {
		dma = dma_map_page(list->dma_dev,
				   vmalloc_to_page((void *)list->pages + i * PAGE_SIZE),
				   0, PAGE_SIZE, DMA_TO_DEVICE);
		if (dma_mapping_error(list->dma_dev, dma)) {
			vroce_list_unmap(list, i);
			return -ENOMEM;
		}
		for (j = 0; j < VROCE_PAGES_PER_PAGE; j++)
			list->where[i * VROCE_PAGES_PER_PAGE + j] =
				cpu_to_le64(dma + j * VROCE_WIRE_PAGE);
	}
	return 0;
}

static int vroce_list_fill(struct vroce_list *list, struct ib_umem *umem,
			   unsigned long pgsz, bool indirect)
{
	struct ib_block_iter iter;
	size_t i = 0;

	list->pages = indirect ?
		      __vmalloc(PAGE_ALIGN(vroce_list_bytes(list)), GFP_KERNEL_ACCOUNT) :
		      kvmalloc(vroce_list_bytes(list), GFP_KERNEL_ACCOUNT);
	if (!list->pages)
		return -ENOMEM;
	rdma_umem_for_each_dma_block(umem, &iter, pgsz)
		list->pages[i++] = cpu_to_le64(rdma_block_iter_dma_address(&iter));
	/* The device sees whole pages. */
	if (indirect)
		memset(list->pages + i, 0, PAGE_ALIGN(vroce_list_bytes(list)) -
					   i * sizeof(*list->pages));
	return indirect ? vroce_list_map(list) : 0;
}

/**
 * vroce_list_create() - list the pages of memory
 * @dev: device
 * @umem: pinned memory of a process
 * @pgsz: bytes of a page, from ib_umem_find_best_pgsz()
 *
 * Context: may sleep.
 * Return: list, or error pointer.
 */
struct vroce_list *vroce_list_create(struct vroce_dev *dev, struct ib_umem *umem,
				     unsigned long pgsz)
{
	size_t npages = ib_umem_num_dma_blocks(umem, pgsz);
	struct vroce_list *list;
	int err;

	if (npages > U32_MAX)
		return ERR_PTR(-EINVAL);
	list = kzalloc(sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!list)
		return ERR_PTR(-ENOMEM);
	list->dma_dev = dev->aux->dma_dev;
	list->npages = npages;
	err = vroce_list_fill(list, umem, pgsz, vroce_has_indirect(dev) &&
			      npages > VROCE_LIST_SHORT);
	if (err) {
		vroce_list_free(list);
		return ERR_PTR(err);
	}
	return list;
}

/**
 * vroce_list_free() - undo vroce_list_create()
 * @data: list, which the device does not read any more
 *
 * Context: may sleep.
 */
void vroce_list_free(void *data)
{
	struct vroce_list *list = data;

	if (list->where)
		vroce_list_unmap(list, DIV_ROUND_UP(vroce_list_bytes(list), PAGE_SIZE));
	kvfree(list->pages);
	kfree(list);
}
