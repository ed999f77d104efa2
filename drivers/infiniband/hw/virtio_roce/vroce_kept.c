// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a live device did not let go.
 *
 * A device that refuses to destroy an object, or answers a command with nonsense, may
 * still use the memory that it was given.  So this memory is kept for as long as the
 * RDMA device exists.  Then the function is reset, unless it was reset already, and the
 * memory is freed.  If no reset is confirmed and bus mastering stays on, the memory is
 * never freed.
 */
#include <linux/kmemleak.h>
#include <linux/slab.h>

#include "vroce_kept.h"

/**
 * struct vroce_kept - a piece of memory
 * @list: in &vroce_dev.kept
 * @what: the memory
 * @release: frees it
 */
struct vroce_kept {
	struct list_head list;
	void *what;
	void (*release)(void *what);
};

/**
 * vroce_kept_init() - nothing is kept yet
 * @dev: device
 */
void vroce_kept_init(struct vroce_dev *dev)
{
	INIT_LIST_HEAD(&dev->kept);
	spin_lock_init(&dev->kept_lock);
}

/**
 * vroce_keep() - free memory only after the device was reset
 * @dev: device, which may still use the memory
 * @what: memory, which belongs to the callee from now on
 * @release: what will free it; it may sleep
 *
 * Context: may sleep.
 */
void vroce_keep(struct vroce_dev *dev, void *what, void (*release)(void *what))
{
	struct vroce_kept *kept = kmalloc(sizeof(*kept), GFP_KERNEL);

	if (!kept) {
		/* It is leaked, because the device may still write to it. */
		kmemleak_not_leak(what);
		return;
	}
	kept->what = what;
	kept->release = release;
	spin_lock(&dev->kept_lock);
	list_add_tail(&kept->list, &dev->kept);
	spin_unlock(&dev->kept_lock);
}

/**
 * vroce_settle() - the device did not confirm that it has let go of an object of the kernel
 * @dev: device
 * @what: kind of object
 * @number: the device's number of it
 *
 * The consumer frees, after this, buffers that the device may still write to.  They cannot
 * be kept, as memory of the driver can.  So the device is reset.
 *
 * Context: may sleep, for as long as a reset takes.
 * Return: 0 if the device touches no memory any more, or -EBUSY.
 */
int vroce_settle(struct vroce_dev *dev, const char *what, u32 number)
{
	int err;

	ibdev_err(&dev->ibdev,
		  "the device refused to destroy %s %u of the kernel: it is given up until reset\n",
		  what, number);
	err = dev->aux->ops->quiesce(dev->aux);
	if (err)
		ibdev_err(&dev->ibdev, "the device may still write to memory of the kernel\n");
	return err;
}

/**
 * vroce_kept_free() - reset the function if any memory is kept, and free that
 * @dev: device that has no objects any more
 *
 * Context: may sleep, for as long as a reset takes.
 */
void vroce_kept_free(struct vroce_dev *dev)
{
	struct vroce_kept *kept, *next;
	bool quiet;

	if (list_empty(&dev->kept))
		return;
	ibdev_warn(&dev->ibdev,
		   "the device refused to destroy objects: it is reset, to free their memory\n");
	quiet = !dev->aux->ops->quiesce(dev->aux);
	if (!quiet)
		ibdev_err(&dev->ibdev, "the device may still write to memory: it is never freed\n");
	list_for_each_entry_safe(kept, next, &dev->kept, list) {
		list_del(&kept->list);
		if (quiet)
			kept->release(kept->what);
		else
			kmemleak_not_leak(kept->what);
		kfree(kept);
	}
}
