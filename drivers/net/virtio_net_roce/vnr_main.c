// SPDX-License-Identifier: GPL-2.0
/*
 * virtio_net_roce: owner of virtio-net PCI functions that offer RoCE.
 *
 * Stock virtio_net drives the Ethernet of the function through a child device
 * (vnr_child.c), an RDMA driver drives the rest through an auxiliary device
 * (vnr_rdma.c), and the two share the control queue (vnr_ctrl.c).
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"

static int vnr_probe_mdev(struct vnr_dev *dev)
{
	struct pci_dev *pdev = dev->mdev.pci_dev;
	const char *refused;
	int ret;

	ret = vp_modern_probe(&dev->mdev);
	if (ret)
		return ret;

	vnr_offer_read(&dev->mdev, &dev->offer);
	refused = vnr_offer_refused(&dev->offer);
	if (refused) {
		pci_dbg(pdev, "not a RoCE device: %s\n", refused);
		ret = -ENODEV;
	} else if (!pdev->msix_cap) {
		pci_err(pdev, "a RoCE device needs MSI-X and has none\n");
		ret = -ENODEV;
	}
	if (ret)
		vp_modern_remove(&dev->mdev);
	return ret;
}

static int vnr_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vnr_dev *dev;
	int ret;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->mdev.pci_dev = pdev;
	INIT_DELAYED_WORK(&dev->config_work, vnr_config_work);
	INIT_WORK(&dev->events_work, vnr_events_work);
	vnr_ctrl_init(dev);
	vnr_life_init(dev);

	ret = pci_enable_device(pdev);
	if (ret)
		goto err_free;
	ret = vnr_probe_mdev(dev);
	if (ret)
		goto err_disable;
	pci_set_master(pdev);
	pci_set_drvdata(pdev, dev);
	/*
	 * No segment is too long for the device.  The core of RDMA finds huge pages only in
	 * segments that are as long; half of what it takes keeps each aligned.
	 */
	dma_set_max_seg_size(&pdev->dev, SZ_2G);

	ret = vnr_rdma_init(dev);
	if (ret)
		goto err_mdev;
	ret = vnr_child_add(dev);
	if (ret) {
		pci_err(pdev, "cannot add the device of virtio_net: %pe\n", ERR_PTR(ret));
		goto err_rdma;
	}
	/* For vnr_slot_reset(). */
	pci_save_state(pdev);
	return 0;

err_rdma:
	vnr_rdma_exit(dev);
err_mdev:
	vp_modern_remove(&dev->mdev);
err_disable:
	pci_disable_device(pdev);
err_free:
	kfree(dev);
	return ret;
}

static void vnr_remove(struct pci_dev *pdev)
{
	struct vnr_dev *dev = pci_get_drvdata(pdev);

	vnr_recover_stop(dev);
	/*
	 * If the device does not answer, quiesce it first, so that nothing waits for
	 * it.
	 */
	if (!vnr_recover_answers(dev))
		vnr_life_quiesce(dev);
	vnr_rdma_stop(dev);
	vnr_child_del(dev);
	vnr_rdma_exit(dev);
	/* It counts whether commands were answered, not whether the reset was. */
	vnr_takeover_silent(pdev, dev->life.silent && !dev->life.heard);
	/* Recovery may have started again since it was stopped. */
	vnr_recover_stop(dev);
	vp_modern_remove(&dev->mdev);
	pci_disable_device(pdev);
	kfree(dev);
}

static void vnr_shutdown(struct pci_dev *pdev)
{
	struct vnr_dev *dev = pci_get_drvdata(pdev);

	vnr_recover_stop(dev);
	vnr_life_die(dev, false);
	vnr_ctrl_abandon(dev);
	vnr_life_quiesce(dev);
}

static int vnr_suspend(struct device *d)
{
	struct vnr_dev *dev = dev_get_drvdata(d);

	vnr_recover_stop(dev);
	if (vnr_recover_answers(dev))
		vnr_rdma_stop(dev);
	vnr_recover_take_down(dev);
	/* virtio_net does not sleep yet: wait for doorbells that it is ringing just now. */
	synchronize_net();
	cancel_delayed_work_sync(&dev->config_work);
	pci_disable_device(to_pci_dev(d));
	return 0;
}

static int vnr_resume(struct device *d)
{
	struct vnr_dev *dev = dev_get_drvdata(d);
	int ret;

	ret = pci_enable_device(to_pci_dev(d));
	if (ret)
		return ret;
	pci_set_master(to_pci_dev(d));
	/* A suspend does not restart a function that was silent. */
	vnr_recover_go_on(dev, !dev->life.silent || dev->life.heard);
	return 0;
}

/* ----- resets of the PCI core ----- */

static void vnr_reset_prepare(struct pci_dev *pdev)
{
	vnr_recover_take_down(pci_get_drvdata(pdev));
}

/* Restart even a silent function, because its reset was requested by hand. */
static void vnr_reset_done(struct pci_dev *pdev)
{
	vnr_recover_go_on(pci_get_drvdata(pdev), true);
}

static pci_ers_result_t vnr_error_detected(struct pci_dev *pdev,
					   pci_channel_state_t state)
{
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	vnr_recover_take_down(pci_get_drvdata(pdev));
	return state == pci_channel_io_perm_failure ?
	       PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t vnr_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void vnr_error_resume(struct pci_dev *pdev)
{
	struct vnr_dev *dev = pci_get_drvdata(pdev);

	if (READ_ONCE(dev->life.stopped))
		vnr_recover_go_on(dev, true);
}

VISIBLE_IF_KUNIT const struct pci_error_handlers vnr_error_handlers = {
	.error_detected = vnr_error_detected,
	.slot_reset = vnr_slot_reset,
	.resume = vnr_error_resume,
	.reset_prepare = vnr_reset_prepare,
	.reset_done = vnr_reset_done,
};
EXPORT_SYMBOL_IF_KUNIT(vnr_error_handlers);

static DEFINE_SIMPLE_DEV_PM_OPS(vnr_pm_ops, vnr_suspend, vnr_resume);

static const struct pci_device_id vnr_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1040 + VIRTIO_ID_NET) },
	{ }
};
MODULE_DEVICE_TABLE(pci, vnr_ids);

static struct pci_driver vnr_pci_driver = {
	.name = KBUILD_MODNAME,
	.id_table = vnr_ids,
	.probe = vnr_probe,
	.remove = vnr_remove,
	.shutdown = vnr_shutdown,
	.err_handler = &vnr_error_handlers,
	.driver.pm = pm_sleep_ptr(&vnr_pm_ops),
};

static int __init vnr_init(void)
{
	int ret;

	ret = pci_register_driver(&vnr_pci_driver);
	if (ret)
		return ret;
	ret = vnr_takeover_init(&vnr_pci_driver);
	if (ret)
		pci_unregister_driver(&vnr_pci_driver);
	return ret;
}
module_init(vnr_init);

static void __exit vnr_exit(void)
{
	vnr_takeover_exit();
}
module_exit(vnr_exit);

MODULE_DESCRIPTION("virtio-net functions with RoCE: Ethernet for virtio_net, RDMA for virtio_roce");
MODULE_LICENSE("GPL");
