// SPDX-License-Identifier: GPL-2.0
/*
 * User space: contexts, and data exchanged between the provider and the kernel.
 */
#include <linux/module.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "vroce.h"

/**
 * vroce_check_udata() - check what the provider sends and expects, for a verb that
 *	has no input from it
 * @udata: NULL for the kernel
 * @outlen: bytes of our response
 *
 * Return: 0 or -EINVAL.
 */
int vroce_check_udata(struct ib_udata *udata, size_t outlen)
{
	if (!udata)
		return 0;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	if (udata->outlen < outlen)
		return -EINVAL;
	return 0;
}

/**
 * vroce_alloc_ucontext() - verb: a process opens the device
 * @uctx: context
 * @udata: of the user
 *
 * The context keeps both modules loaded.  If the function is unplugged, the
 * context is disassociated, which ends that.
 *
 * Return: 0 or -errno.
 */
int vroce_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(uctx->device);
	struct virtio_roce_alloc_ucontext_resp resp = {
		.max_inline_data = VIRTIO_RDMA_INLINE_SIZE,
		.max_send_sge = dev->attr.max_send_sge,
		.max_recv_sge = dev->attr.max_recv_sge,
		.flags = vroce_has_flush(dev) ? VIRTIO_ROCE_CONTEXT_FLUSH : 0,
	};
	int err;

	err = vroce_check_udata(udata, sizeof(resp));
	if (err) {
		ibdev_dbg(uctx->device, "provider of another version\n");
		return err;
	}
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		return err;

	vroce_gate_init(container_of(uctx, struct vroce_ucontext, ibucontext));
	if (!try_module_get(dev->aux->owner))
		return -ENODEV;
	if (!try_module_get(THIS_MODULE)) {
		module_put(dev->aux->owner);
		return -ENODEV;
	}
	return 0;
}

/**
 * vroce_dealloc_ucontext() - verb: undo vroce_alloc_ucontext()
 * @uctx: context
 */
void vroce_dealloc_ucontext(struct ib_ucontext *uctx)
{
	module_put(THIS_MODULE);
	module_put(to_vdev(uctx->device)->aux->owner);
}

/**
 * vroce_disassociate_ucontext() - verb: the core has taken all mappings away
 * @uctx: context
 *
 * Nothing is left to do here.  The core disassociates contexts only if a driver has
 * this verb.
 */
void vroce_disassociate_ucontext(struct ib_ucontext *uctx)
{
}
