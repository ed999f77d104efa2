// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of direct queues: ordinary pages, of which the device is given a list.
 *
 * The pages are charged to the process that asks for the queue, and count against its
 * RLIMIT_MEMLOCK as pinned pages do: nothing else limits them, because a process need not
 * map them, and the OOM killer does not see pages that are not mapped.  A process maps them by
 * vm_insert_pages(), and so each mapping holds references of its own: pages that are
 * still mapped after the queue is gone belong to that process alone.  For consumers in
 * the kernel all pages of a queue are mapped at one address.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "vroce_kept.h"
#include "vroce_mem.h"

/**
 * vroce_charge_take() - count pages against RLIMIT_MEMLOCK, with those that are pinned
 * @charge: zeroed
 * @npages: number of pages of a queue of the calling process
 *
 * Return: 0, or -ENOMEM if the process may not have so many.
 */
int vroce_charge_take(struct vroce_charge *charge, size_t npages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;

	if (!mm)
		return 0;
	if (atomic64_add_return(npages, &mm->pinned_vm) > limit &&
	    !capable(CAP_IPC_LOCK)) {
		atomic64_sub(npages, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	charge->mm = mm;
	charge->npages = npages;
	return 0;
}

/**
 * vroce_charge_give() - undo vroce_charge_take()
 * @charge: zeroed if there was none
 *
 * Context: any process, which may be another one; may sleep.
 */
void vroce_charge_give(struct vroce_charge *charge)
{
	if (!charge->mm)
		return;
	atomic64_sub(charge->npages, &charge->mm->pinned_vm);
	mmdrop(charge->mm);
	charge->mm = NULL;
}

static void vroce_mem_release(struct kref *ref)
{
	struct vroce_mem *mem = container_of(ref, struct vroce_mem, ref);
	u32 i;

	for (i = 0; mem->pages && i < mem->npages && mem->pages[i]; i++)
		__free_page(mem->pages[i]);
	kvfree(mem->pages);
	vroce_charge_give(&mem->charge);
	kfree(mem);
}

/**
 * vroce_mem_put() - drop a reference
 * @mem: memory
 *
 * Context: may sleep.
 */
void vroce_mem_put(struct vroce_mem *mem)
{
	kref_put(&mem->ref, vroce_mem_release);
}

/* Undo vroce_mem_map_dma() for the first @n pages. */
static void vroce_mem_unmap_dma(struct vroce_mem *mem, u32 n)
{
	while (n--)
		dma_unmap_page(mem->dma_dev, mem->dma[n], PAGE_SIZE,
			       DMA_BIDIRECTIONAL);
}

static int vroce_mem_map_dma(struct vroce_mem *mem)
{
	u32 i;

	for (i = 0; i < mem->npages; i++) {
		mem->dma[i] = dma_map_page(mem->dma_dev, mem->pages[i], 0,
					   PAGE_SIZE, DMA_BIDIRECTIONAL);
		if (dma_mapping_error(mem->dma_dev, mem->dma[i])) {
			vroce_mem_unmap_dma(mem, i);
			return -ENOMEM;
		}
	}
	return 0;
}

static int vroce_mem_alloc_pages(struct vroce_mem *mem)
{
	u32 i;

	mem->pages = kvcalloc(mem->npages, sizeof(*mem->pages),
			      GFP_KERNEL_ACCOUNT);
	if (!mem->pages)
		return -ENOMEM;
	for (i = 0; i < mem->npages; i++) {
		/* This may take long, so it ends when the process is to end. */
		if (fatal_signal_pending(current))
			return -EINTR;
		mem->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					   __GFP_NOWARN);
		if (!mem->pages[i])
			return -ENOMEM;
	}
	return 0;
}

/*
 * Give each part its place.  A ring begins a page, because the device is given the pages
 * of it.  A control block is given by its address, so it can use what a ring has left of
 * its last page; it is never spread over two pages.
 */
static void vroce_mem_place(struct vroce_mem *mem, const size_t *lens, u32 nparts,
			    bool packed)
{
	size_t end = 0;
	u32 i;

	for (i = 0; i < nparts; i++) {
		/* A QP with an SRQ has no receive ring. */
		if (lens[i] && (!packed || i < nparts - 1 ||
				offset_in_page(end) + lens[i] > PAGE_SIZE))
			end = PAGE_ALIGN(end);
		end = ALIGN(end, VIRTIO_RDMA_CONTROL_SIZE);
		mem->pos[i] = end;
		mem->len[i] = lens[i];
		end += lens[i];
	}
	mem->npages = PAGE_ALIGN(end) >> PAGE_SHIFT;
}

/**
 * vroce_mem_create() - allocate zeroed memory and map it for the device
 * @dma_dev: device
 * @lens: bytes of each part
 * @nparts: number of parts, at most %VROCE_MEM_PARTS
 * @flags: VROCE_MEM_* bits
 *
 * A part begins a page, but for the last one of packed memory.
 *
 * Context: may sleep.
 * Return: memory, or error pointer.
 */
struct vroce_mem *vroce_mem_create(struct device *dma_dev, const size_t *lens,
				   u32 nparts, u32 flags)
{
	struct vroce_mem *mem;
	int err;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	kref_init(&mem->ref);
	mem->dma_dev = dma_dev;
	vroce_mem_place(mem, lens, nparts, flags & VROCE_MEM_PACKED);
	if (!(flags & VROCE_MEM_KERNEL)) {
		err = vroce_charge_take(&mem->charge, mem->npages);
		if (err)
			goto err_put;
	}
	err = vroce_mem_alloc_pages(mem);
	if (err)
		goto err_put;
	err = -ENOMEM;
	mem->dma = kvcalloc(mem->npages, sizeof(*mem->dma), GFP_KERNEL_ACCOUNT);
	if (!mem->dma)
		goto err_put;
	if (flags & VROCE_MEM_KERNEL) {
		mem->map = vmap(mem->pages, mem->npages, VM_MAP, PAGE_KERNEL);
		if (!mem->map)
			goto err_dma;
	}
	err = vroce_mem_map_dma(mem);
	if (err)
		goto err_vunmap;
	return mem;

err_vunmap:
	if (mem->map)
		vunmap(mem->map);
err_dma:
	kvfree(mem->dma);
err_put:
	vroce_mem_put(mem);
	return ERR_PTR(err);
}

/**
 * vroce_mem_destroy() - undo vroce_mem_create()
 * @mem: memory that the device does not use; NULL or an error pointer is ignored
 *
 * Context: may sleep.
 */
void vroce_mem_destroy(struct vroce_mem *mem)
{
	if (IS_ERR_OR_NULL(mem))
		return;
	vroce_mem_unmap_dma(mem, mem->npages);
	kvfree(mem->dma);
	if (mem->map)
		vunmap(mem->map);
	mem->map = NULL;
	vroce_mem_put(mem);
}

static void vroce_mem_release_kept(void *mem)
{
	vroce_mem_destroy(mem);
}

/**
 * vroce_mem_keep() - free memory after the device was reset
 * @dev: device, which is alive and did not confirm that it has stopped using the memory
 * @mem: memory; NULL is ignored
 *
 * Context: may sleep.
 */
void vroce_mem_keep(struct vroce_dev *dev, struct vroce_mem *mem)
{
	if (mem)
		vroce_keep(dev, mem, vroce_mem_release_kept);
}

/**
 * vroce_mem_failed() - free memory that a failed command named, now or after a reset
 * @dev: device
 * @mem: memory
 * @err: error of the command
 *
 * Context: may sleep.
 * Return: true if the device may still use the memory, which is then kept.
 */
bool vroce_mem_failed(struct vroce_dev *dev, struct vroce_mem *mem, int err)
{
	if (!vroce_may_have_memory(err)) {
		vroce_mem_destroy(mem);
		return false;
	}
	vroce_mem_keep(dev, mem);
	return true;
}

/**
 * vroce_mem_addr() - where the kernel sees a part
 * @mem: memory
 * @part: part, which for a process's memory lies in one page
 *
 * Context: any.
 * Return: its address.
 */
void *vroce_mem_addr(const struct vroce_mem *mem, u32 part)
{
	size_t pos = mem->pos[part];

	return mem->map ? mem->map + pos :
			  page_address(mem->pages[pos >> PAGE_SHIFT]) +
			  offset_in_page(pos);
}

/**
 * vroce_mem_dma() - where the device sees the beginning of a part
 * @mem: memory
 * @part: part
 *
 * Context: any.
 * Return: its device address.
 */
dma_addr_t vroce_mem_dma(const struct vroce_mem *mem, u32 part)
{
	size_t pos = mem->pos[part];

	return mem->dma[pos >> PAGE_SHIFT] + offset_in_page(pos);
}

/**
 * vroce_mem_wire_pages() - pages of the wire format that cover a part
 * @mem: memory
 * @part: part that begins a page
 *
 * Context: any.
 * Return: number of pages of 4096 bytes.
 */
u32 vroce_mem_wire_pages(const struct vroce_mem *mem, u32 part)
{
	return DIV_ROUND_UP(mem->len[part], VROCE_WIRE_PAGE);
}

/**
 * vroce_mem_list() - list the pages of parts for the device
 * @mem: memory
 * @nparts: how many parts, from the first on
 *
 * Context: may sleep.
 * Return: device addresses of pages of 4096 bytes, to be freed with kvfree(); or NULL.
 */
__le64 *vroce_mem_list(const struct vroce_mem *mem, u32 nparts)
{
	u32 total = 0, part, i, n = 0;
	__le64 *list;

	for (part = 0; part < nparts; part++)
		total += vroce_mem_wire_pages(mem, part);
	list = kvmalloc_array(total, sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!list)
		return NULL;
	for (part = 0; part < nparts; part++)
		for (i = 0; i < vroce_mem_wire_pages(mem, part); i++)
			list[n++] = cpu_to_le64(mem->dma[(mem->pos[part] >> PAGE_SHIFT) +
							 i / VROCE_PAGES_PER_PAGE] +
						i % VROCE_PAGES_PER_PAGE *
						VROCE_WIRE_PAGE);
	return list;
}
