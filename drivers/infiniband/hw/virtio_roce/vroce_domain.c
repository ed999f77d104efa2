// SPDX-License-Identifier: GPL-2.0
/*
 * Protection domains, and XRC domains: which XRC SRQs may be named by messages to which
 * XRC_TGT QPs.
 *
 * The core shares an XRC domain between processes that open the same file, and an XRC_TGT
 * QP between those that open it by its number.  The driver sees each of them once, and an
 * XRC_TGT QP as if the kernel had made it.
 *
 * The verbs of XRC domains do not pass the gate: the core carries out one of them at a
 * time.
 */
#include <linux/err.h>
#include <linux/slab.h>

#include "vroce_cmd_srq.h"
#include "vroce_domain.h"
#include "vroce_obj.h"
#include "vroce_udata.h"

/**
 * struct vroce_domain_type - how the two differ
 * @kind: whose quota it counts against
 * @create: command
 * @destroy: command
 */
struct vroce_domain_type {
	enum vroce_kind kind;
	int (*create)(struct virtio_net_roce_aux *aux, u32 *handle);
	int (*destroy)(struct virtio_net_roce_aux *aux, u32 handle);
};

static const struct vroce_domain_type vroce_pd_type = {
	.kind = VROCE_PD,
	.create = vroce_cmd_create_pd,
	.destroy = vroce_cmd_destroy_pd,
};

static const struct vroce_domain_type vroce_xrcd_type = {
	.kind = VROCE_XRCD,
	.create = vroce_cmd_create_xrcd,
	.destroy = vroce_cmd_destroy_xrcd,
};

static void vroce_hw_domain_release(struct vroce_obj *obj)
{
	struct vroce_hw_domain *hw = container_of(obj, struct vroce_hw_domain, obj);

	if (!hw->type->destroy(obj->dev->aux, hw->handle))
		vroce_quota_give(obj->dev, hw->type->kind);
	kfree(hw);
}

static struct vroce_hw_domain *vroce_hw_domain_create(struct vroce_dev *dev,
						      const struct vroce_domain_type *type)
{
	struct vroce_hw_domain *hw;
	int err;

	err = vroce_quota_take(dev, type->kind);
	if (err)
		return ERR_PTR(err);
	hw = kzalloc(sizeof(*hw), GFP_KERNEL_ACCOUNT);
	if (!hw) {
		err = -ENOMEM;
		goto err_quota;
	}
	err = type->create(dev->aux, &hw->handle);
	if (err)
		goto err_free;
	hw->type = type;
	vroce_obj_init(&hw->obj, dev, vroce_hw_domain_release);
	return hw;

err_free:
	kfree(hw);
err_quota:
	vroce_quota_give(dev, type->kind);
	return ERR_PTR(err);
}

/**
 * vroce_alloc_pd() - make a protection domain
 * @ibpd: protection domain
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibpd->device);
	int err = vroce_check_udata(udata, 0);

	if (err)
		return err;
	to_vpd(ibpd)->hw = vroce_hw_domain_create(dev, &vroce_pd_type);
	if (IS_ERR(to_vpd(ibpd)->hw))
		return PTR_ERR(to_vpd(ibpd)->hw);
	if (!ibpd->uobject)
		atomic_inc(&dev->kernel_pds);
	return 0;
}

/**
 * vroce_dealloc_pd() - destroy a protection domain
 * @ibpd: protection domain
 * @udata: of the user
 *
 * Return: 0.
 */
int vroce_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	if (!ibpd->uobject)
		atomic_dec(&to_vdev(ibpd->device)->kernel_pds);
	vroce_obj_put(&to_vpd(ibpd)->hw->obj);
	return 0;
}

/**
 * vroce_alloc_xrcd() - make an XRC domain
 * @ibxrcd: XRC domain
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	int err = vroce_check_udata(udata, 0);

	if (err)
		return err;
	to_vxrcd(ibxrcd)->hw = vroce_hw_domain_create(to_vdev(ibxrcd->device),
						      &vroce_xrcd_type);
	return PTR_ERR_OR_ZERO(to_vxrcd(ibxrcd)->hw);
}

/**
 * vroce_dealloc_xrcd() - destroy an XRC domain
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
