// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: where they are, and which of them a process may map.
 *
 * A process maps a whole page, so the page must contain nothing else.  The device tells
 * the place of a doorbell in registers and in its configuration space, and is not
 * trusted.  A page is mapped only if it is memory of a BAR of this function, lies
 * completely inside the notification capability, and holds the doorbell of one queue
 * only.
 */
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/range.h>
#include <linux/virtio_pci.h>
#include <linux/xarray.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"

/**
 * vnr_doorbells_init() - start with no doorbell mapped
 * @dev: function
 */
void vnr_doorbells_init(struct vnr_dev *dev)
{
	xa_init(&dev->doorbell_pages);
}

/**
 * vnr_doorbells_exit() - forget which doorbells were mapped
 * @dev: function
 */
void vnr_doorbells_exit(struct vnr_dev *dev)
{
	xa_destroy(&dev->doorbell_pages);
}

/**
 * vnr_doorbell_io() - map the doorbell of a queue for the kernel
 * @dev: function
 * @index: virtqueue number
 * @phys: its physical address
 *
 * Context: may sleep.
 * Return: the register, or NULL.
 */
void __iomem *vnr_doorbell_io(struct vnr_dev *dev, u16 index,
			      resource_size_t *phys)
{
	KUNIT_STATIC_STUB_REDIRECT(vnr_doorbell_io, dev, index, phys);
	return vp_modern_map_vq_notify(&dev->mdev, index, phys);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_doorbell_io);

/**
 * vnr_doorbell_unmap() - undo vnr_doorbell_map()
 * @dev: function
 * @doorbell: register, may be NULL
 *
 * Context: may sleep.
 */
void vnr_doorbell_unmap(struct vnr_dev *dev, void __iomem *doorbell)
{
	/* It has its own mapping unless the library mapped all doorbells at once. */
	if (doorbell && !dev->mdev.notify_base)
		pci_iounmap(dev->mdev.pci_dev, doorbell);
}

/**
 * vnr_doorbell_map() - map the doorbell of a queue, and count the doorbells in its page
 * @dev: function
 * @index: virtqueue number
 * @phys: its physical address
 *
 * Context: may sleep.
 * Return: the register, or NULL.
 */
void __iomem *vnr_doorbell_map(struct vnr_dev *dev, u16 index,
			       resource_size_t *phys)
{
	void __iomem *doorbell = vnr_doorbell_io(dev, index, phys);
	unsigned long page, n;
	void *entry;

	if (!doorbell)
		return NULL;
	page = *phys >> PAGE_SHIFT;
	entry = xa_load(&dev->doorbell_pages, page);
	n = entry ? xa_to_value(entry) : 0;
	if (xa_err(xa_store(&dev->doorbell_pages, page, xa_mk_value(n + 1),
			    GFP_KERNEL))) {
		vnr_doorbell_unmap(dev, doorbell);
		return NULL;
	}
	return doorbell;
}

/*
 * The range that may contain doorbells, from the capability that the library found.  If
 * the capability is so small that the library mapped all of it, the library does not
 * tell which capability it is.  Such a range has no page for a process anyway.
 */
static bool vnr_doorbell_window(struct vnr_dev *dev, struct range *window)
{
	struct pci_dev *pdev = dev->mdev.pci_dev;
	int cap = dev->mdev.notify_map_cap;
	u32 offset, length;
	u8 bar;

	if (dev->mdev.notify_base || !cap)
		return false;
	pci_read_config_byte(pdev, cap + VIRTIO_PCI_CAP_BAR, &bar);
	pci_read_config_dword(pdev, cap + VIRTIO_PCI_CAP_OFFSET, &offset);
	pci_read_config_dword(pdev, cap + VIRTIO_PCI_CAP_LENGTH, &length);
	/* Only a memory BAR can be mapped, not one of I/O ports. */
	if (bar >= PCI_STD_NUM_BARS || !length ||
	    !(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) ||
	    (u64)offset + length > pci_resource_len(pdev, bar))
		return false;
	window->start = pci_resource_start(pdev, bar) + offset;
	window->end = window->start + length - 1;
	return true;
}

/**
 * vnr_doorbells_give() - decide which doorbells processes may map
 * @dev: function whose queues all have their doorbells
 *
 * Context: may sleep.
 */
void vnr_doorbells_give(struct vnr_dev *dev)
{
	const void *alone = xa_mk_value(1);
	struct vnr_rdma_queue *q;
	struct range window;
	unsigned int i;

	if (dev->mdev.notify_offset_multiplier < PAGE_SIZE ||
	    !vnr_doorbell_window(dev, &window))
		return;
	for (i = 0; i < dev->nqueues; i++) {
		q = &dev->queues[i];
		if (PAGE_ALIGNED(q->doorbell_phys) &&
		    q->doorbell_phys >= window.start &&
		    q->doorbell_phys < window.end &&
		    window.end - q->doorbell_phys >= PAGE_SIZE - 1 &&
		    xa_load(&dev->doorbell_pages,
			    q->doorbell_phys >> PAGE_SHIFT) == alone)
			q->pub.doorbell_phys = q->doorbell_phys;
	}
}
