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

static void vnr_doorbell_iounmap(struct vnr_dev *dev, void __iomem *reg)
{
	/* It has its own mapping unless the library mapped all doorbells at once. */
	if (!dev->mdev.notify_base)
		pci_iounmap(dev->mdev.pci_dev, reg);
}

/* How many doorbells are in the page of @phys. */
static unsigned long vnr_doorbells_near(struct vnr_dev *dev,
					resource_size_t phys)
{
	void *entry = xa_load(&dev->doorbell_pages, phys >> PAGE_SHIFT);

	return entry ? xa_to_value(entry) : 0;
}

/**
 * vnr_doorbell_map() - map the doorbell of a queue, and count the doorbells in its page
 * @dev: function
 * @index: virtqueue number
 * @bell: filled in
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int vnr_doorbell_map(struct vnr_dev *dev, u16 index, struct vnr_doorbell *bell)
{
	unsigned long n;

	bell->reg = vnr_doorbell_io(dev, index, &bell->phys);
	if (!bell->reg)
		return -ENOMEM;
	n = vnr_doorbells_near(dev, bell->phys) + 1;
	if (xa_err(xa_store(&dev->doorbell_pages, bell->phys >> PAGE_SHIFT,
			    xa_mk_value(n), GFP_KERNEL))) {
		vnr_doorbell_iounmap(dev, bell->reg);
		bell->reg = NULL;
		return -ENOMEM;
	}
	return 0;
}

/**
 * vnr_doorbell_unmap() - undo vnr_doorbell_map()
 * @dev: function
 * @bell: the doorbell, may not be mapped
 *
 * Context: may sleep.
 */
void vnr_doorbell_unmap(struct vnr_dev *dev, struct vnr_doorbell *bell)
{
	unsigned long page = bell->phys >> PAGE_SHIFT, n;

	if (!bell->reg)
		return;
	/* The entry exists, so nothing is allocated. */
	n = vnr_doorbells_near(dev, bell->phys);
	if (n > 1)
		xa_store(&dev->doorbell_pages, page, xa_mk_value(n - 1),
			 GFP_KERNEL);
	else
		xa_erase(&dev->doorbell_pages, page);
	vnr_doorbell_iounmap(dev, bell->reg);
	bell->reg = NULL;
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
	struct vnr_rdma_queue *q;
	resource_size_t phys;
	struct range window;
	unsigned int i;

	if (dev->mdev.notify_offset_multiplier < PAGE_SIZE ||
	    !vnr_doorbell_window(dev, &window))
		return;
	for (i = 0; i < dev->nqueues; i++) {
		q = &dev->queues[i];
		phys = q->bell.phys;
		if (PAGE_ALIGNED(phys) && phys >= window.start &&
		    phys < window.end && window.end - phys >= PAGE_SIZE - 1 &&
		    vnr_doorbells_near(dev, phys) == 1)
			q->pub.doorbell_phys = phys;
	}
}
