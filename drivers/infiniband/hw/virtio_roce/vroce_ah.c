// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles: where the datagrams of UD QPs go.
 *
 * The core may destroy one in atomic context, and it frees its own part even if that
 * fails.  So the device's part is a refcounted object, like that of CQs and QPs.  The
 * destroy command is sent at once if the caller may sleep, else from a work item.  It
 * is sent again if there was no memory for it.  The protection domain stays until then.
 *
 * On a dead device the kernel still gets address handles.  ib_cm makes one for each message.
 * If it gets none for its DREQ, it says nothing to its consumer, and xprtrdma waits without
 * end for that word while the RDMA device is unregistered.  With one, the DREQ is posted to
 * the GSI and fails (vroce_flush.c), and the consumer learns that the connection has ended.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "vroce_ah.h"
#include "vroce_obj.h"
#include "vroce_udata.h"

/* How long to wait before a command is tried again. */
#define VROCE_AH_RETRY_MS	20

static void vroce_hw_ah_release(struct vroce_obj *obj)
{
	struct vroce_hw_ah *hw = container_of(obj, struct vroce_hw_ah, obj);
	struct vroce_dev *dev = obj->dev;
	int err;

	err = vroce_cmd_destroy_ah(dev->aux, hw->pd->handle, hw->ahn);
	if (err == -ENOMEM) {
		/* The command was not sent. */
		msleep(VROCE_AH_RETRY_MS);
		queue_work(dev->wq, &obj->work);
		return;
	}
	if (!err)
		vroce_quota_give(dev, VROCE_AH);
	vroce_obj_put(&hw->pd->obj);
	kfree(hw);
}

static bool vroce_ah_needs_no_device(const struct vroce_dev *dev, int err)
{
	return err == -ENODEV || READ_ONCE(dev->health) != VIRTIO_NET_ROCE_RUNS;
}

/* An AH of the kernel on a dead device has number 0, and leads nowhere. */
static struct vroce_hw_ah *
vroce_hw_ah_create(struct vroce_dev *dev, struct vroce_hw_domain *pd,
		   const struct rdma_ah_attr *attr, bool atomic, bool user)
{
	struct vroce_hw_ah *hw;
	int err;

	hw = kzalloc(sizeof(*hw), atomic ? GFP_ATOMIC : GFP_KERNEL_ACCOUNT);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	err = vroce_quota_take(dev, VROCE_AH);
	if (err)
		goto err_free;
	err = vroce_cmd_create_ah(dev->aux, atomic, pd->handle, attr, &hw->ahn);
	if (err && (user || !vroce_ah_needs_no_device(dev, err)))
		goto err_quota;
	hw->pd = pd;
	vroce_obj_get(&pd->obj);
	vroce_obj_init(&hw->obj, dev, vroce_hw_ah_release);
	return hw;

err_quota:
	vroce_quota_give(dev, VROCE_AH);
err_free:
	kfree(hw);
	return ERR_PTR(err);
}

/**
 * vroce_create_ah() - verb, for users and for the kernel
 * @ibah: address handle
 * @attr: address, and whether the caller may sleep
 * @udata: of the user
 *
 * Context: may sleep if the flags of @attr allow it.
 * Return: 0 or -errno.
 */
int vroce_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
		    struct ib_udata *udata)
{
	struct virtio_roce_create_ah_resp resp = {};
	bool atomic = !(attr->flags & RDMA_CREATE_AH_SLEEPABLE);
	struct vroce_ah *ah = to_vah(ibah);
	struct vroce_hw_ah *hw;
	int err;

	err = vroce_check_udata(udata, offsetofend(typeof(resp), ah));
	if (err)
		return err;
	hw = vroce_hw_ah_create(to_vdev(ibah->device), to_vpd(ibah->pd)->hw,
				attr->ah_attr, atomic, udata);
	if (IS_ERR(hw))
		return PTR_ERR(hw);
	ah->hw = hw;
	ah->ahn = hw->ahn;
	if (!udata)
		return 0;

	resp.ah = ah->ahn;
	err = vroce_udata_out(udata, &resp, sizeof(resp));
	if (err)
		vroce_obj_put(&hw->obj);
	return err;
}

/**
 * vroce_destroy_ah() - destroy an address handle
 * @ibah: address handle
 * @flags: whether the caller may sleep
 *
 * Context: may sleep if @flags allow it.
 * Return: 0.
 */
int vroce_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct vroce_hw_ah *hw = to_vah(ibah)->hw;

	if (flags & RDMA_DESTROY_AH_SLEEPABLE)
		vroce_obj_put(&hw->obj);
	else
		vroce_obj_put_later(&hw->obj);
	return 0;
}
