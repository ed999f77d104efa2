// SPDX-License-Identifier: GPL-2.0
/*
 * User space: contexts, and what provider and kernel agree upon when one is made.
 */
#include <linux/module.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME vroce
#include <rdma/uverbs_named_ioctl.h>

#include "vroce_caps.h"
#include "vroce_clock.h"
#include "vroce_doorbell.h"
#include "vroce_mmap.h"
#include "vroce_nvmf.h"
#include "vroce_udata.h"
#include "vroce_user.h"
#include "vroce_users.h"

/* Capabilities that providers are told of.  Those that only the kernel uses are left out. */
#define VROCE_DEVICE_CAPS						\
	(VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN |				\
	 VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS |				\
	 VIRTIO_IB_DEVICE_COUNTERS | VIRTIO_IB_DEVICE_GID_VLAN |	\
	 VIRTIO_IB_DEVICE_CQ_HOLD | VIRTIO_IB_DEVICE_MCAST |		\
	 VIRTIO_IB_DEVICE_FLUSH | VIRTIO_IB_DEVICE_RESET_SLOTS |	\
	 VIRTIO_IB_DEVICE_EVENTS | VIRTIO_IB_DEVICE_DIRECT |		\
	 VIRTIO_IB_DEVICE_ATOMIC | VIRTIO_IB_DEVICE_ATOMIC_WRITE |	\
	 VIRTIO_IB_DEVICE_SRQ | VIRTIO_IB_DEVICE_QP_EVENTS |		\
	 VIRTIO_IB_DEVICE_REREG_MR | VIRTIO_IB_DEVICE_ZERO_BASED |	\
	 VIRTIO_IB_DEVICE_MEM_WINDOW | VIRTIO_IB_DEVICE_SRQ_RESIZE |	\
	 VIRTIO_IB_DEVICE_XRC | VIRTIO_IB_DEVICE_DATA_IN_ORDER |	\
	 VIRTIO_IB_DEVICE_RAW_PACKET | VIRTIO_IB_DEVICE_FLOW |		\
	 VIRTIO_IB_DEVICE_RSS | VIRTIO_IB_DEVICE_RAW_CSUM |		\
	 VIRTIO_IB_DEVICE_RAW_VLAN | VIRTIO_IB_DEVICE_RAW_TSO |	\
	 VIRTIO_IB_DEVICE_FLOW_COUNT | VIRTIO_IB_DEVICE_CQ_MODERATE |	\
	 VIRTIO_IB_DEVICE_NVMF | VIRTIO_IB_DEVICE_CQ_TIMESTAMP |	\
	 VIRTIO_IB_DEVICE_RATE_BURST)

/* Agree with the provider on what both of them can. */
static void vroce_agreed(struct vroce_dev *dev, const struct vroce_ucontext *vuctx,
			 struct virtio_roce_alloc_ucontext_resp *resp)
{
	*resp = (struct virtio_roce_alloc_ucontext_resp) {
		.features = vuctx->features,
		.device_caps = dev->attr.device_cap_flags & VROCE_DEVICE_CAPS,
		.max_inline_data = VIRTIO_RDMA_INLINE_SIZE,
	};
}

static int vroce_handshake(struct vroce_dev *dev, struct vroce_ucontext *vuctx,
			   struct ib_udata *udata)
{
	struct virtio_roce_alloc_ucontext_resp resp;
	struct virtio_roce_alloc_ucontext_req req;
	int err;

	if (udata->outlen < offsetofend(typeof(resp), reserved))
		return -EINVAL;
	err = vroce_udata_in(udata, &req, 0, sizeof(req));
	if (err)
		return err;
	vuctx->features = req.features & VIRTIO_ROCE_FEATURES;
	if (!vroce_has_direct(dev))
		vuctx->features &= ~(u64)VIRTIO_ROCE_FEATURE_DIRECT;
	vroce_agreed(dev, vuctx, &resp);
	return vroce_udata_out(udata, &resp, sizeof(resp));
}

/**
 * vroce_query_ucontext() - verb: what was agreed upon when a context was made
 * @uctx: context
 * @attrs: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs)
{
	struct virtio_roce_alloc_ucontext_resp resp;

	vroce_agreed(to_vdev(uctx->device),
		     container_of(uctx, struct vroce_ucontext, ibucontext), &resp);
	return uverbs_copy_to_struct_or_zero(attrs,
					     VIRTIO_ROCE_ATTR_QUERY_CONTEXT_RESP,
					     &resp, sizeof(resp));
}

#define VROCE_QUERY_CONTEXT_RESP \
	UVERBS_ATTR_STRUCT(struct virtio_roce_alloc_ucontext_resp, reserved)

ADD_UVERBS_ATTRIBUTES_SIMPLE(vroce_query_context,
			     UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(VIRTIO_ROCE_ATTR_QUERY_CONTEXT_RESP,
						 VROCE_QUERY_CONTEXT_RESP,
						 UA_MANDATORY));

/* Additions of the driver to the core's objects of user space. */
const struct uapi_definition vroce_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &vroce_query_context),
	UAPI_DEF_CHAIN(vroce_clock_uapi_defs),
	UAPI_DEF_CHAIN(vroce_nvmf_uapi_defs),
	{},
};

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
	struct vroce_ucontext *vuctx =
		container_of(uctx, struct vroce_ucontext, ibucontext);
	struct vroce_dev *dev = to_vdev(uctx->device);
	int err;

	err = vroce_handshake(dev, vuctx, udata);
	if (err) {
		ibdev_dbg(uctx->device, "no handshake with the provider: %d\n",
			  err);
		return err;
	}
	err = vroce_gate_init(vuctx);
	if (err)
		return err;
	vroce_doorbell_init(&vuctx->doorbell);
	if (!try_module_get(dev->aux->owner))
		goto err_gate;
	if (!try_module_get(THIS_MODULE))
		goto err_lower;
	return 0;

err_lower:
	module_put(dev->aux->owner);
err_gate:
	vroce_gate_exit(vuctx);
	return -ENODEV;
}

/**
 * vroce_dealloc_ucontext() - verb: undo vroce_alloc_ucontext()
 * @uctx: context
 */
void vroce_dealloc_ucontext(struct ib_ucontext *uctx)
{
	struct vroce_ucontext *vuctx =
		container_of(uctx, struct vroce_ucontext, ibucontext);

	vroce_doorbell_withdraw(&vuctx->doorbell);
	vroce_doorbell_exit(to_vdev(uctx->device), &vuctx->doorbell);
	vroce_gate_exit(vuctx);
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
