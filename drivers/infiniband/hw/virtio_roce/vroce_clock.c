// SPDX-License-Identifier: GPL-2.0
/*
 * Processes read the clock of completions by a uverbs method of this driver.  It belongs to the
 * core's object for the device.
 */
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME vroce
#include <rdma/uverbs_named_ioctl.h>

#include "vroce_caps.h"
#include "vroce_clock.h"
#include "vroce_users.h"

static int UVERBS_HANDLER(VIRTIO_ROCE_METHOD_QUERY_CLOCK)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibuctx = ib_uverbs_get_ucontext(attrs);
	struct vroce_ucontext *gate;
	struct vroce_dev *dev;
	u64 time = 0;
	int err;

	if (IS_ERR(ibuctx))
		return PTR_ERR(ibuctx);
	dev = to_vdev(ibuctx->device);
	if (!vroce_has_cq_timestamp(dev))
		return -EOPNOTSUPP;
	gate = vroce_gate_enter(container_of(ibuctx, struct vroce_ucontext, ibucontext));
	err = vroce_cmd_query_clock(dev->aux, &time);
	vroce_gate_leave(gate);
	return err ?: uverbs_copy_to(attrs, VIRTIO_ROCE_ATTR_QUERY_CLOCK_TIME, &time,
				     sizeof(time));
}

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_QUERY_CLOCK,
			    UVERBS_ATTR_PTR_OUT(VIRTIO_ROCE_ATTR_QUERY_CLOCK_TIME,
						UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

ADD_UVERBS_METHODS(vroce_query_clock, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(VIRTIO_ROCE_METHOD_QUERY_CLOCK));

const struct uapi_definition vroce_clock_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &vroce_query_clock),
	{},
};
