// SPDX-License-Identifier: GPL-2.0
/*
 * Taking a function over from virtio_pci, and giving it back.
 *
 * virtio_pci is part of most kernels, so it has usually bound the function first, at
 * boot or when it was plugged in.  This driver checks for a RoCE device while
 * virtio_pci still has the function.  A function that is not a RoCE device is never
 * touched.
 *
 * A function that was silent until its removal is not given back.  virtio_net would
 * read its configuration space.  For that QEMU 11.1 asks the process behind the
 * function, and aborts if the process is gone.
 */
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_pci.h>
#include <linux/workqueue.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"

#define VNR_VIRTIO_PCI	"virtio-pci"

static struct pci_driver *vnr_driver;

/**
 * struct vnr_takeover - a function that may have to be taken over
 * @work: does it, outside of the bus notifier
 * @pdev: the function, referenced
 */
struct vnr_takeover {
	struct work_struct work;
	struct pci_dev *pdev;
};

static struct workqueue_struct *vnr_takeover_wq;

/*
 * Functions whose take-over failed.  They were given back, and it is not tried again.
 */
static DEFINE_XARRAY(vnr_failed);

VISIBLE_IF_KUNIT bool vnr_failed_before(struct pci_dev *pdev)
{
	return xa_load(&vnr_failed, (unsigned long)pdev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_failed_before);

VISIBLE_IF_KUNIT bool vnr_is_candidate(struct pci_dev *pdev)
{
	return pdev->vendor == PCI_VENDOR_ID_REDHAT_QUMRANET &&
	       pdev->device == 0x1040 + VIRTIO_ID_NET;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_is_candidate);

/* Functions whose device did not answer when this driver released them. */
static DEFINE_XARRAY(vnr_silent);

/* A silent function must not be forgotten for lack of memory. */
static void vnr_remember(struct xarray *functions, struct pci_dev *pdev)
{
	xa_store(functions, (unsigned long)pdev, xa_mk_value(1),
		 GFP_KERNEL | __GFP_NOFAIL);
}

/**
 * vnr_takeover_silent() - say whether a function may be given back
 * @pdev: function that this driver releases
 * @silent: its device does not answer
 *
 * Context: may sleep.
 */
void vnr_takeover_silent(struct pci_dev *pdev, bool silent)
{
	if (silent)
		vnr_remember(&vnr_silent, pdev);
	else
		xa_erase(&vnr_silent, (unsigned long)pdev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_takeover_silent);

VISIBLE_IF_KUNIT bool vnr_was_silent(struct pci_dev *pdev)
{
	return xa_load(&vnr_silent, (unsigned long)pdev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_was_silent);

static void vnr_give_back(struct pci_dev *pdev)
{
	if (vnr_was_silent(pdev)) {
		pci_warn(pdev, "not given back to %s: the device does not answer; unplug it\n",
			 VNR_VIRTIO_PCI);
		return;
	}
	if (device_attach(&pdev->dev) < 0)
		pci_err(pdev, "no driver takes it back\n");
}

static bool vnr_has_virtio_pci(struct pci_dev *pdev)
{
	struct pci_driver *driver = READ_ONCE(pdev->driver);

	return driver && !strcmp(driver->name, VNR_VIRTIO_PCI);
}

static int vnr_match_virtio(struct device *d, VNR_FIND_CHILD_DATA data)
{
	return d->bus && !strcmp(d->bus->name, "virtio");
}

/* Features that a function's virtio device offers.  Context: function's lock held. */
static bool vnr_child_offers(struct pci_dev *pdev, u64 *features)
{
	struct device *child;

	child = device_find_child(&pdev->dev, NULL, vnr_match_virtio);
	if (!child)
		return false;
	/* Its driver may be negotiating features through the same registers. */
	device_lock(child);
	*features = vnr_offered_features(dev_to_virtio(child));
	device_unlock(child);
	put_device(child);
	return true;
}

/*
 * Does a function that virtio_pci has bound offer RoCE?  While the lock of the function
 * is held, its driver stays bound, and so the virtio device and its registers stay.
 */
VISIBLE_IF_KUNIT bool vnr_wants_takeover(struct pci_dev *pdev)
{
	const char *refused = NULL;
	struct vnr_offer offer;
	bool wanted = false;
	u64 features;

	device_lock(&pdev->dev);
	if (vnr_child_offers(pdev, &features) &&
	    features & BIT_ULL(VIRTIO_NET_F_ROCE) &&
	    vnr_offer_peek(pdev, features, &offer)) {
		refused = vnr_offer_refused(&offer);
		wanted = !refused;
	}
	device_unlock(&pdev->dev);
	if (refused)
		pci_dbg(pdev, "feature bit 55, but no RoCE device: %s\n",
			refused);
	return wanted;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_wants_takeover);

static void vnr_take_over(struct pci_dev *pdev)
{
	int ret;

	/* Check its driver again, because another may have bound it meanwhile. */
	if (!vnr_has_virtio_pci(pdev) || vnr_failed_before(pdev) ||
	    !vnr_wants_takeover(pdev) || !vnr_has_virtio_pci(pdev))
		return;

	pci_info(pdev, "RoCE device: taking it over from %s\n", VNR_VIRTIO_PCI);
	device_release_driver(&pdev->dev);
	ret = device_driver_attach(&vnr_driver->driver, &pdev->dev);
	if (!ret)
		return;

	pci_err(pdev, "take-over failed: %d; given back to %s\n", ret,
		VNR_VIRTIO_PCI);
	vnr_remember(&vnr_failed, pdev);
	if (device_attach(&pdev->dev) < 0)
		pci_err(pdev, "no driver takes it\n");
}

static void vnr_takeover_work(struct work_struct *work)
{
	struct vnr_takeover *t = container_of(work, struct vnr_takeover, work);

	vnr_take_over(t->pdev);
	pci_dev_put(t->pdev);
	kfree(t);
}

static void vnr_takeover_later(struct pci_dev *pdev)
{
	struct vnr_takeover *t = kmalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return;
	INIT_WORK(&t->work, vnr_takeover_work);
	t->pdev = pci_dev_get(pdev);
	queue_work(vnr_takeover_wq, &t->work);
}

static void vnr_takeover_forget(struct pci_dev *pdev)
{
	xa_erase(&vnr_failed, (unsigned long)pdev);
	xa_erase(&vnr_silent, (unsigned long)pdev);
}

static int vnr_bus_event(struct notifier_block *nb, unsigned long event,
			 void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (!vnr_is_candidate(pdev))
		return NOTIFY_DONE;
	/* The device lock is held: a driver cannot be changed here. */
	if (event == BUS_NOTIFY_BOUND_DRIVER && vnr_has_virtio_pci(pdev))
		vnr_takeover_later(pdev);
	else if (event == BUS_NOTIFY_REMOVED_DEVICE)
		vnr_takeover_forget(pdev);
	return NOTIFY_DONE;
}

static struct notifier_block vnr_bus_nb = {
	.notifier_call = vnr_bus_event,
};

/**
 * vnr_takeover_init() - take over present and future functions
 * @driver: the PCI driver, registered
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int vnr_takeover_init(struct pci_driver *driver)
{
	struct pci_dev *pdev = NULL;
	int ret;

	vnr_driver = driver;
	vnr_takeover_wq = alloc_ordered_workqueue("virtio_net_roce", 0);
	if (!vnr_takeover_wq)
		return -ENOMEM;
	ret = bus_register_notifier(&pci_bus_type, &vnr_bus_nb);
	if (ret) {
		destroy_workqueue(vnr_takeover_wq);
		return ret;
	}
	for_each_pci_dev(pdev)
		if (vnr_is_candidate(pdev))
			vnr_takeover_later(pdev);
	/* So the device exists when modprobe returns. */
	flush_workqueue(vnr_takeover_wq);
	return 0;
}

/**
 * vnr_takeover_exit() - unregister the PCI driver and give every function back
 *
 * Context: may sleep.
 */
void vnr_takeover_exit(void)
{
	struct pci_dev *pdev = NULL;
	struct xarray ours;
	unsigned long i;
	void *entry;
	u32 id;

	xa_init_flags(&ours, XA_FLAGS_ALLOC);
	bus_unregister_notifier(&pci_bus_type, &vnr_bus_nb);
	destroy_workqueue(vnr_takeover_wq);

	for_each_pci_dev(pdev) {
		if (READ_ONCE(pdev->driver) != vnr_driver)
			continue;
		if (xa_alloc(&ours, &id, pdev, xa_limit_32b, GFP_KERNEL))
			pci_err(pdev, "cannot be given back: no memory\n");
		else
			pci_dev_get(pdev);
	}
	pci_unregister_driver(vnr_driver);
	xa_for_each(&ours, i, entry) {
		pdev = entry;
		vnr_give_back(pdev);
		pci_dev_put(pdev);
	}
	xa_destroy(&ours);
	xa_destroy(&vnr_failed);
	xa_destroy(&vnr_silent);
}
