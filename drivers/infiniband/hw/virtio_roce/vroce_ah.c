// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles: where the datagrams of UD QPs go.
 */
#include "vroce.h"

/**
 * vroce_create_ah() - verb, for users and for the kernel
 * @ibah: address handle
 * @attr: address, and whether the caller may sleep
 * @udata: of the user
 *
 * Context: may sleep if the flags of @attr say so.
 * Return: 0 or -errno.
 */
int vroce_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
		    struct ib_udata *udata)
{
	struct virtio_roce_create_ah_resp resp = {};
	struct vroce_dev *dev = to_vdev(ibah->device);
	struct virtio_net_roce_aux *aux = dev->aux;
	bool atomic = !(attr->flags & RDMA_CREATE_AH_SLEEPABLE);
	u32 pdn = to_vpd(ibah->pd)->hw->pdn;
	struct vroce_ah *ah = to_vah(ibah);
	int err;

	err = vroce_check_udata(udata, sizeof(resp));
	if (err)
		return err;
	err = vroce_quota_take(dev, VROCE_AH);
	if (err)
		return err;
	err = vroce_cmd_create_ah(aux, atomic, pdn, attr->ah_attr, &ah->ahn);
	if (err)
		goto err_quota;
	if (!udata)
		return 0;

	resp.ah = ah->ahn;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!err)
		return 0;
	/* If that fails, too, it goes on to count. */
	if (vroce_cmd_destroy_ah(aux, atomic, pdn, ah->ahn))
		return err;
err_quota:
	vroce_quota_give(dev, VROCE_AH);
	return err;
}

/**
 * vroce_destroy_ah() - verb
 * @ibah: address handle
 * @flags: whether the caller may sleep
 *
 * Context: may sleep if @flags say so.
 * Return: 0.  If the command fails there is nobody who could try again.
 */
int vroce_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct vroce_dev *dev = to_vdev(ibah->device);

	if (!vroce_cmd_destroy_ah(dev->aux,
				  !(flags & RDMA_DESTROY_AH_SLEEPABLE),
				  to_vpd(ibah->pd)->hw->pdn,
				  to_vah(ibah)->ahn))
		vroce_quota_give(dev, VROCE_AH);
	return 0;
}
