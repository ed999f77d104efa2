// SPDX-License-Identifier: GPL-2.0
/*
 * The offload of NVMe over Fabrics, for processes: methods of uverbs in the driver's
 * namespace.
 *
 * An SRQ gets attributes once.  A controller is an object of uverbs; it counts as a user of
 * its SRQ, so that the core does not destroy that before.  Memory regions that it names are
 * the device's to look up at each use, and need no reference.  Namespaces are mapped to a
 * controller, by numbers that are unique for the SRQ: &vroce_srq.nsids says whose each is,
 * because the device gives no reasons.  A controller that a process leaves behind loses its
 * mappings with it.
 *
 * A controller fails once.  The interrupt stores that and signals the eventfd that the
 * process gave with the controller, and the process asks the controllers then.
 */
#include <linux/eventfd.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME vroce
#include <rdma/uverbs_named_ioctl.h>

#include "virtio_roce_compat.h"

#include "vroce_caps.h"
#include "vroce_cmd_nvmf.h"
#include "vroce_nvmf.h"
#include "vroce_obj.h"
#include "vroce_udata.h"
#include "vroce_users.h"

/**
 * struct vroce_nvme_ctrl - an NVMe controller
 * @dev: device
 * @srq: its SRQ, of which it is a user
 * @handle: the device's handle
 * @eventfd: signalled when it has failed
 * @failed: &enum virtio_roce_nvme_state
 */
struct vroce_nvme_ctrl {
	struct vroce_dev *dev;
	struct vroce_srq *srq;
	u32 handle;
	struct eventfd_ctx *eventfd;
	int failed;
};

/* The device of a method, if it has the offload; the thread is inside of the gate then. */
static struct vroce_dev *vroce_nvmf_begin(struct uverbs_attr_bundle *attrs,
					  struct vroce_ucontext **gate)
{
	struct ib_ucontext *ibuctx = ib_uverbs_get_ucontext(attrs);
	struct vroce_dev *dev;

	if (IS_ERR(ibuctx))
		return ERR_CAST(ibuctx);
	dev = to_vdev(ibuctx->device);
	if (!vroce_has_nvmf(dev))
		return ERR_PTR(-EOPNOTSUPP);
	*gate = vroce_gate_enter(container_of(ibuctx, struct vroce_ucontext,
					      ibucontext));
	return dev;
}

/* ----- capabilities, namespaces of the host ----- */

static int UVERBS_HANDLER(VIRTIO_ROCE_METHOD_NVMF_QUERY)(struct uverbs_attr_bundle *attrs)
{
	const struct virtio_rdma_ack_query_nvmf *caps;
	struct virtio_roce_nvmf_caps resp = {};
	struct vroce_ucontext *gate;
	struct vroce_dev *dev = vroce_nvmf_begin(attrs, &gate);

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	vroce_gate_leave(gate);
	caps = &dev->nvmf;
	resp.offload = le32_to_cpu(caps->offload);
	resp.backends = le32_to_cpu(caps->backends);
	resp.flags = le32_to_cpu(caps->flags);
	resp.lba_sizes = le32_to_cpu(caps->lba_sizes);
	resp.max_ctrls = le32_to_cpu(caps->max_ctrls);
	resp.max_srq_ctrls = le32_to_cpu(caps->max_srq_ctrls);
	resp.max_srq_namespaces = le32_to_cpu(caps->max_srq_namespaces);
	resp.min_staging_size = le32_to_cpu(caps->min_staging_size);
	resp.max_io_size = le32_to_cpu(caps->max_io_size);
	resp.max_capsule = le32_to_cpu(caps->max_capsule);
	resp.min_capsule = le32_to_cpu(caps->min_capsule);
	resp.max_queue_depth = le16_to_cpu(caps->max_queue_depth);
	resp.min_queue_depth = le16_to_cpu(caps->min_queue_depth);
	resp.max_data_offset = le16_to_cpu(caps->max_data_offset);
	resp.max_qp_commands = le16_to_cpu(caps->max_qp_commands);
	resp.max_srqs = le32_to_cpu(caps->max_srqs);
	return uverbs_copy_to_struct_or_zero(attrs, VIRTIO_ROCE_ATTR_NVMF_QUERY_RESP,
					     &resp, sizeof(resp));
}

/* All behind the end of a name is zero. */
static bool vroce_nvmf_is_name(const u8 *name)
{
	size_t len = strnlen((const char *)name, VIRTIO_RDMA_NAMESPACE_NAME);

	return len && len < VIRTIO_RDMA_NAMESPACE_NAME &&
	       !memchr_inv(name + len, 0, VIRTIO_RDMA_NAMESPACE_NAME - len);
}

static int UVERBS_HANDLER(VIRTIO_ROCE_METHOD_NVMF_NAMESPACE)(struct uverbs_attr_bundle *attrs)
{
	struct virtio_rdma_cmd_query_namespace req;
	struct virtio_roce_nvmf_namespace resp = {};
	struct virtio_rdma_ack_query_namespace rsp;
	struct vroce_ucontext *gate;
	struct vroce_dev *dev;
	int err;

	err = uverbs_copy_from(&req, attrs, VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_NAME);
	if (err)
		return err;
	if (!vroce_nvmf_is_name(req.name))
		return -EINVAL;
	dev = vroce_nvmf_begin(attrs, &gate);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = vroce_cmd_query_namespace(dev->aux, &req, &rsp);
	vroce_gate_leave(gate);
	if (err)
		return err;
	resp.size = le64_to_cpu(rsp.size);
	resp.lba_size = le32_to_cpu(rsp.lba_size);
	resp.flags = le32_to_cpu(rsp.flags);
	return uverbs_copy_to_struct_or_zero(attrs, VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_RESP,
					     &resp, sizeof(resp));
}

/* ----- SRQs and QPs ----- */

/* A part of a region of the process, which the attribute names. */
static struct virtio_rdma_region vroce_nvmf_region(struct uverbs_attr_bundle *attrs, u16 attr,
						   u64 addr, u64 length)
{
	struct ib_mr *mr = uverbs_attr_get_obj(attrs, attr);

	return (struct virtio_rdma_region) {
		.addr = cpu_to_le64(addr),
		.length = cpu_to_le64(length),
		.lkey = cpu_to_le32(mr->lkey),
	};
}

static int UVERBS_HANDLER(VIRTIO_ROCE_METHOD_NVMF_SET_SRQ)(struct uverbs_attr_bundle *attrs)
{
	struct virtio_roce_set_srq_nvmf in;
	struct virtio_rdma_cmd_set_srq_nvmf req = {};
	struct vroce_ucontext *gate;
	struct vroce_dev *dev;
	struct vroce_srq *srq;
	int err;

	err = uverbs_copy_from_or_zero(&in, attrs, VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_REQ);
	if (err)
		return err;
	if (in.reserved || in.reserved2)
		return -EINVAL;
	srq = to_vsrq(uverbs_attr_get_obj(attrs, VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_SRQ));
	if (srq->ibsrq.srq_type != IB_SRQT_BASIC)
		return -EINVAL;
	req.srq = cpu_to_le32(srq->hw->handle);
	req.ops = cpu_to_le32(in.ops);
	req.max_namespaces = cpu_to_le32(in.max_namespaces);
	req.max_io_size = cpu_to_le32(in.max_io_size);
	req.capsule = cpu_to_le32(in.capsule);
	req.data_offset = cpu_to_le16(in.data_offset);
	req.queue_depth = cpu_to_le16(in.queue_depth);
	req.page_shift = in.page_shift;
	req.staging = vroce_nvmf_region(attrs, VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_STAGING,
					in.staging_addr, in.staging_length);
	dev = vroce_nvmf_begin(attrs, &gate);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = vroce_cmd_set_srq_nvmf(dev->aux, &req);
	vroce_gate_leave(gate);
	return err;
}

static int UVERBS_HANDLER(VIRTIO_ROCE_METHOD_NVMF_SET_QP)(struct uverbs_attr_bundle *attrs)
{
	struct virtio_rdma_cmd_set_qp_nvmf req = {};
	struct virtio_roce_set_qp_nvmf in;
	struct vroce_ucontext *gate;
	struct vroce_dev *dev;
	struct ib_qp *ibqp;
	int err;

	err = uverbs_copy_from_or_zero(&in, attrs, VIRTIO_ROCE_ATTR_NVMF_SET_QP_REQ);
	if (err)
		return err;
	if (in.flags & ~VIRTIO_RDMA_QP_NVMF_ENABLE)
		return -EINVAL;
	ibqp = uverbs_attr_get_obj(attrs, VIRTIO_ROCE_ATTR_NVMF_SET_QP_QP);
	if (ibqp->qp_type != IB_QPT_RC || !ibqp->srq)
		return -EINVAL;
	req.qpn = cpu_to_le32(ibqp->qp_num);
	req.flags = cpu_to_le32(in.flags);
	req.sq_size = cpu_to_le16(in.sq_size);
	req.sq_head = cpu_to_le16(in.sq_head);
	dev = vroce_nvmf_begin(attrs, &gate);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = vroce_cmd_set_qp_nvmf(dev->aux, &req);
	vroce_gate_leave(gate);
	return err;
}

/* ----- controllers ----- */

static int vroce_nvme_ctrl_queues(struct uverbs_attr_bundle *attrs,
				  const struct virtio_roce_create_nvme_ctrl *in,
				  struct virtio_rdma_cmd_create_nvme_ctrl *req)
{
	static const u16 attr[] = {
		VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQ,
		VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQ,
		VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQDB,
		VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQDB,
	};
	struct virtio_rdma_region *region[] = {
		&req->queues.sq,
		&req->queues.cq,
		&req->queues.sq_doorbell,
		&req->queues.cq_doorbell,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attr); i++) {
		if (!uverbs_attr_is_valid(attrs, attr[i]))
			return -EINVAL;
		*region[i] = vroce_nvmf_region(attrs, attr[i], in->region[i].addr,
					       in->region[i].length);
	}
	return 0;
}

static int vroce_nvme_ctrl_req(struct uverbs_attr_bundle *attrs, const struct vroce_srq *srq,
			       struct virtio_rdma_cmd_create_nvme_ctrl *req)
{
	struct virtio_roce_create_nvme_ctrl in;
	int err;

	err = uverbs_copy_from_or_zero(&in, attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_REQ);
	if (err)
		return err;
	req->srq = cpu_to_le32(srq->hw->handle);
	req->backend = in.backend;
	req->flags = in.flags;
	req->timeout_ms = cpu_to_le16(in.timeout_ms);
	switch (in.backend) {
	case VIRTIO_RDMA_NVME_QUEUES:
		req->sq_initial = cpu_to_le16(in.sq_initial);
		req->cq_initial = cpu_to_le16(in.cq_initial);
		return vroce_nvme_ctrl_queues(attrs, &in, req);
	case VIRTIO_RDMA_NVME_NAMESPACE:
		if (!vroce_nvmf_is_name(in.name))
			return -EINVAL;
		memcpy(req->name, in.name, sizeof(req->name));
		return 0;
	default:
		return -EINVAL;
	}
}

static int vroce_nvme_ctrl_tell(struct vroce_nvme_ctrl *ctrl,
				const struct virtio_rdma_cmd_create_nvme_ctrl *req)
{
	struct vroce_dev *dev = ctrl->dev;
	int err;

	err = vroce_quota_take(dev, VROCE_NVME_CTRL);
	if (err)
		return err;
	err = vroce_cmd_create_nvme_ctrl(dev->aux, req, &ctrl->handle);
	if (err) {
		vroce_quota_give(dev, VROCE_NVME_CTRL);
		return err;
	}
	err = xa_insert_irq(&dev->nvme_ctrls, ctrl->handle, ctrl, GFP_KERNEL);
	if (!err)
		return 0;
	/* Another controller's handle must not be destroyed, and this one's is not known. */
	if (err == -EBUSY)
		return vroce_cmd_bad_answer(dev->aux, VIRTIO_NET_CTRL_ROCE_CREATE_NVME_CTRL,
					    ctrl->handle);
	if (!vroce_cmd_destroy_nvme_ctrl(dev->aux, ctrl->handle))
		vroce_quota_give(dev, VROCE_NVME_CTRL);
	return err;
}

static struct eventfd_ctx *vroce_nvme_ctrl_eventfd(struct uverbs_attr_bundle *attrs)
{
	s32 fd;
	int err;

	err = uverbs_copy_from(&fd, attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_EVENTFD);
	return err ? ERR_PTR(err) : eventfd_ctx_fdget(fd);
}

static int
UVERBS_HANDLER(VIRTIO_ROCE_METHOD_NVME_CTRL_CREATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_HANDLE);
	struct vroce_srq *srq =
		to_vsrq(uverbs_attr_get_obj(attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SRQ));
	struct virtio_rdma_cmd_create_nvme_ctrl req = {};
	struct vroce_nvme_ctrl *ctrl;
	struct vroce_ucontext *gate;
	int err;

	err = vroce_nvme_ctrl_req(attrs, srq, &req);
	if (err)
		return err;
	ctrl = kzalloc(sizeof(*ctrl), GFP_KERNEL_ACCOUNT);
	if (!ctrl)
		return -ENOMEM;
	ctrl->srq = srq;
	ctrl->eventfd = vroce_nvme_ctrl_eventfd(attrs);
	if (IS_ERR(ctrl->eventfd)) {
		err = PTR_ERR(ctrl->eventfd);
		goto err_free;
	}
	ctrl->dev = vroce_nvmf_begin(attrs, &gate);
	if (IS_ERR(ctrl->dev)) {
		err = PTR_ERR(ctrl->dev);
		goto err_eventfd;
	}
	err = vroce_nvme_ctrl_tell(ctrl, &req);
	vroce_gate_leave(gate);
	if (err)
		goto err_eventfd;
	atomic_inc(&srq->ibsrq.usecnt);
	uobj->object = ctrl;
	uverbs_finalize_uobj_create(attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_HANDLE);
	return 0;

err_eventfd:
	eventfd_ctx_put(ctrl->eventfd);
err_free:
	kfree(ctrl);
	return err;
}

/* Context: &vroce_srq.nsid_lock held. */
static bool vroce_nvme_ctrl_is_mapped(const struct vroce_nvme_ctrl *ctrl)
{
	struct vroce_nvme_ctrl *owner;
	unsigned long nsid;

	xa_for_each(&ctrl->srq->nsids, nsid, owner)
		if (owner == ctrl)
			return true;
	return false;
}

/* Context: &vroce_srq.nsid_lock held. */
static void vroce_nvme_ctrl_unmap_all(struct vroce_nvme_ctrl *ctrl)
{
	struct vroce_nvme_ctrl *owner;
	unsigned long nsid;

	xa_for_each(&ctrl->srq->nsids, nsid, owner) {
		if (owner != ctrl)
			continue;
		vroce_cmd_unmap_nsid(ctrl->dev->aux, ctrl->handle, nsid);
		xa_erase(&ctrl->srq->nsids, nsid);
	}
}

static int vroce_nvme_ctrl_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
				   struct uverbs_attr_bundle *attrs)
{
	struct vroce_nvme_ctrl *ctrl = uobj->object;
	struct vroce_srq *srq = ctrl->srq;
	struct vroce_dev *dev = ctrl->dev;

	mutex_lock(&srq->nsid_lock);
	if (why == RDMA_REMOVE_DESTROY && vroce_nvme_ctrl_is_mapped(ctrl)) {
		mutex_unlock(&srq->nsid_lock);
		return -EBUSY;
	}
	vroce_nvme_ctrl_unmap_all(ctrl);
	mutex_unlock(&srq->nsid_lock);
	/* No event finds it after this, and the handle is free once the device has it back. */
	xa_erase_irq(&dev->nvme_ctrls, ctrl->handle);
	dev->aux->ops->synchronize(dev->aux);
	if (!vroce_cmd_destroy_nvme_ctrl(dev->aux, ctrl->handle))
		vroce_quota_give(dev, VROCE_NVME_CTRL);
	atomic_dec(&srq->ibsrq.usecnt);
	eventfd_ctx_put(ctrl->eventfd);
	kfree(ctrl);
	return 0;
}

static int vroce_nvmf_map(struct vroce_nvme_ctrl *ctrl, const struct virtio_roce_map_nsid *in)
{
	const struct virtio_rdma_cmd_map_nsid req = {
		.ctrl = cpu_to_le32(ctrl->handle),
		.nsid = cpu_to_le32(in->nsid),
		.ctrl_nsid = cpu_to_le32(in->ctrl_nsid),
		.lba_size = cpu_to_le32(in->lba_size),
	};
	struct vroce_srq *srq = ctrl->srq;
	int err;

	mutex_lock(&srq->nsid_lock);
	err = xa_insert(&srq->nsids, in->nsid, ctrl, GFP_KERNEL_ACCOUNT);
	if (err == -EBUSY)
		err = -EEXIST;
	if (!err) {
		err = vroce_cmd_map_nsid(ctrl->dev->aux, &req);
		if (err)
			xa_erase(&srq->nsids, in->nsid);
	}
	mutex_unlock(&srq->nsid_lock);
	return err;
}

static int UVERBS_HANDLER(VIRTIO_ROCE_METHOD_NVME_CTRL_MAP)(struct uverbs_attr_bundle *attrs)
{
	struct vroce_nvme_ctrl *ctrl =
		uverbs_attr_get_obj(attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_HANDLE);
	struct virtio_roce_map_nsid in;
	struct vroce_ucontext *gate;
	struct vroce_dev *dev;
	int err;

	err = uverbs_copy_from_or_zero(&in, attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_REQ);
	if (err)
		return err;
	if (in.reserved || !in.nsid)
		return -EINVAL;
	dev = vroce_nvmf_begin(attrs, &gate);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (!is_power_of_2(in.lba_size) || !(le32_to_cpu(dev->nvmf.lba_sizes) & in.lba_size))
		err = -EOPNOTSUPP;
	else
		err = vroce_nvmf_map(ctrl, &in);
	vroce_gate_leave(gate);
	return err;
}

static int UVERBS_HANDLER(VIRTIO_ROCE_METHOD_NVME_CTRL_UNMAP)(struct uverbs_attr_bundle *attrs)
{
	struct vroce_nvme_ctrl *ctrl =
		uverbs_attr_get_obj(attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_HANDLE);
	struct vroce_srq *srq = ctrl->srq;
	struct vroce_ucontext *gate;
	struct vroce_dev *dev;
	int err;
	u32 nsid;

	err = uverbs_copy_from(&nsid, attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_NSID);
	if (err)
		return err;
	dev = vroce_nvmf_begin(attrs, &gate);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	mutex_lock(&srq->nsid_lock);
	err = -ENOENT;
	if (xa_load(&srq->nsids, nsid) == ctrl)
		err = vroce_cmd_unmap_nsid(dev->aux, ctrl->handle, nsid);
	if (!err)
		xa_erase(&srq->nsids, nsid);
	mutex_unlock(&srq->nsid_lock);
	vroce_gate_leave(gate);
	return err;
}

static int UVERBS_HANDLER(VIRTIO_ROCE_METHOD_NVME_CTRL_STATE)(struct uverbs_attr_bundle *attrs)
{
	struct vroce_nvme_ctrl *ctrl =
		uverbs_attr_get_obj(attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_HANDLE);
	u32 state = READ_ONCE(ctrl->failed);

	return uverbs_copy_to(attrs, VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_RESP, &state,
			      sizeof(state));
}

/**
 * vroce_nvmf_event() - a controller has failed
 * @dev: device
 * @handle: controller, which may not exist
 * @type: %VIRTIO_RDMA_EVENT_NVME_PCI_ERR or %VIRTIO_RDMA_EVENT_NVME_TIMEOUT
 *
 * A controller that is found stays until this returns: see vroce_nvme_ctrl_cleanup().
 *
 * Context: interrupts off.
 */
void vroce_nvmf_event(struct vroce_dev *dev, u32 handle, u16 type)
{
	int state = type == VIRTIO_RDMA_EVENT_NVME_TIMEOUT ? VIRTIO_ROCE_NVME_TIMEOUT :
							     VIRTIO_ROCE_NVME_PCI_ERR;
	struct vroce_nvme_ctrl *ctrl = xa_load(&dev->nvme_ctrls, handle);

	if (ctrl && !cmpxchg(&ctrl->failed, 0, state))
		vroce_eventfd_signal(ctrl->eventfd);
}

/* ----- the methods ----- */

#define VROCE_CTRL_ATTR(attr, access) \
	UVERBS_ATTR_IDR(attr, VIRTIO_ROCE_OBJECT_NVME_CTRL, access, UA_MANDATORY)
#define VROCE_SRQ_ATTR(attr) \
	UVERBS_ATTR_IDR(attr, UVERBS_OBJECT_SRQ, UVERBS_ACCESS_READ, UA_MANDATORY)
#define VROCE_MR_ATTR(attr, needed) \
	UVERBS_ATTR_IDR(attr, UVERBS_OBJECT_MR, UVERBS_ACCESS_READ, needed)
#define VROCE_NVMF_CAPS \
	UVERBS_ATTR_STRUCT(struct virtio_roce_nvmf_caps, max_srqs)
#define VROCE_NVMF_NAME \
	UVERBS_ATTR_TYPE(struct virtio_rdma_cmd_query_namespace)
#define VROCE_NVMF_NAMESPACE \
	UVERBS_ATTR_STRUCT(struct virtio_roce_nvmf_namespace, flags)
#define VROCE_SET_SRQ_NVMF \
	UVERBS_ATTR_STRUCT(struct virtio_roce_set_srq_nvmf, staging_length)
#define VROCE_SET_QP_NVMF \
	UVERBS_ATTR_STRUCT(struct virtio_roce_set_qp_nvmf, sq_head)
#define VROCE_CREATE_NVME_CTRL \
	UVERBS_ATTR_STRUCT(struct virtio_roce_create_nvme_ctrl, name)
#define VROCE_MAP_NSID \
	UVERBS_ATTR_STRUCT(struct virtio_roce_map_nsid, reserved)

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_NVMF_QUERY,
			    UVERBS_ATTR_PTR_OUT(VIRTIO_ROCE_ATTR_NVMF_QUERY_RESP,
						VROCE_NVMF_CAPS,
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_NVMF_NAMESPACE,
			    UVERBS_ATTR_PTR_IN(VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_NAME,
					       VROCE_NVMF_NAME,
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_RESP,
						VROCE_NVMF_NAMESPACE,
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_NVMF_SET_SRQ,
			    VROCE_SRQ_ATTR(VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_SRQ),
			    VROCE_MR_ATTR(VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_STAGING, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_REQ,
					       VROCE_SET_SRQ_NVMF,
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_NVMF_SET_QP,
			    UVERBS_ATTR_IDR(VIRTIO_ROCE_ATTR_NVMF_SET_QP_QP, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(VIRTIO_ROCE_ATTR_NVMF_SET_QP_REQ,
					       VROCE_SET_QP_NVMF,
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_CREATE,
			    VROCE_CTRL_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_HANDLE,
					    UVERBS_ACCESS_NEW),
			    VROCE_SRQ_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SRQ),
			    UVERBS_ATTR_PTR_IN(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_REQ,
					       VROCE_CREATE_NVME_CTRL,
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_EVENTFD,
					       UVERBS_ATTR_TYPE(__s32), UA_MANDATORY),
			    VROCE_MR_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQ, UA_OPTIONAL),
			    VROCE_MR_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQ, UA_OPTIONAL),
			    VROCE_MR_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQDB, UA_OPTIONAL),
			    VROCE_MR_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQDB, UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(VIRTIO_ROCE_METHOD_NVME_CTRL_DESTROY,
				    VROCE_CTRL_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_DESTROY_HANDLE,
						    UVERBS_ACCESS_DESTROY));

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_MAP,
			    VROCE_CTRL_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_HANDLE,
					    UVERBS_ACCESS_READ),
			    UVERBS_ATTR_PTR_IN(VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_REQ,
					       VROCE_MAP_NSID,
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_UNMAP,
			    VROCE_CTRL_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_HANDLE,
					    UVERBS_ACCESS_READ),
			    UVERBS_ATTR_PTR_IN(VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_NSID,
					       UVERBS_ATTR_TYPE(__u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_STATE,
			    VROCE_CTRL_ATTR(VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_HANDLE,
					    UVERBS_ACCESS_READ),
			    UVERBS_ATTR_PTR_OUT(VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_RESP,
						UVERBS_ATTR_TYPE(__u32), UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(VIRTIO_ROCE_OBJECT_NVMF,
			      &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVMF_QUERY),
			      &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVMF_NAMESPACE),
			      &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVMF_SET_SRQ),
			      &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVMF_SET_QP));

DECLARE_UVERBS_NAMED_OBJECT(VIRTIO_ROCE_OBJECT_NVME_CTRL,
			    UVERBS_TYPE_ALLOC_IDR(vroce_nvme_ctrl_cleanup),
			    &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_CREATE),
			    &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_DESTROY),
			    &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_MAP),
			    &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_UNMAP),
			    &UVERBS_METHOD(VIRTIO_ROCE_METHOD_NVME_CTRL_STATE));

const struct uapi_definition vroce_nvmf_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(VIRTIO_ROCE_OBJECT_NVMF),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(VIRTIO_ROCE_OBJECT_NVME_CTRL),
	{},
};
