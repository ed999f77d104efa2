// SPDX-License-Identifier: GPL-2.0
/*
 * XRC domains: which XRC SRQs may be named by messages to which XRC_TGT QPs.
 *
 * The core shares a domain between processes that open the same file, and an XRC_TGT QP
 * between those that open it by its number.  The driver sees each of them once, and an
 * XRC_TGT QP as if the kernel had made it.
 *
 * These verbs do not pass the gate: the core carries out one of them at a time.
 */
#include <linux/slab.h>

#include "vroce.h"

static void vroce_hw_xrcd_release(struct vroce_obj *obj)
{
	struct vroce_hw_xrcd *hw = container_of(obj, struct vroce_hw_xrcd, obj);

	if (!vroce_cmd_destroy_xrcd(obj->dev->aux, hw->handle))
		vroce_quota_give(obj->dev, VROCE_XRCD);
	kfree(hw);
}

/**
 * vroce_alloc_xrcd() - verb
 * @ibxrcd: XRC domain
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibxrcd->device);
	struct vroce_hw_xrcd *hw;
	int err;

	err = vroce_check_udata(udata, 0);
	if (err)
		return err;
	err = vroce_quota_take(dev, VROCE_XRCD);
	if (err)
		return err;
	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw) {
		err = -ENOMEM;
		goto err_quota;
	}
	err = vroce_cmd_create_xrcd(dev->aux, &hw->handle);
	if (err)
		goto err_free;
	vroce_obj_init(&hw->obj, dev, vroce_hw_xrcd_release);
	to_vxrcd(ibxrcd)->hw = hw;
	return 0;

err_free:
	kfree(hw);
err_quota:
	vroce_quota_give(dev, VROCE_XRCD);
	return err;
}

/**
 * vroce_dealloc_xrcd() - verb
 * @ibxrcd: XRC domain that nothing is in
 * @udata: of the user
 *
 * Return: 0.
 */
int vroce_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	vroce_obj_put(&to_vxrcd(ibxrcd)->hw->obj);
	return 0;
}
