// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of the offload of NVMe over Fabrics.  The rules at the top of vroce_cmd.c apply.
 */
#include "virtio_roce_compat.h"

#include "vroce_cmd_nvmf.h"

/**
 * vroce_cmd_query_nvmf() - ask what the offload can do
 * @aux: device
 * @caps: result, as the device gave it
 */
int vroce_cmd_query_nvmf(struct virtio_net_roce_aux *aux,
			 struct virtio_rdma_ack_query_nvmf *caps)
{
	memset(caps, 0, sizeof(*caps));
	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_NVMF, NULL, 0,
			      caps, sizeof(*caps));
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_nvmf);

/**
 * vroce_cmd_query_namespace() - ask for a namespace of the host
 * @aux: device
 * @req: its name
 * @rsp: result, as the device gave it
 */
int vroce_cmd_query_namespace(struct virtio_net_roce_aux *aux,
			      const struct virtio_rdma_cmd_query_namespace *req,
			      struct virtio_rdma_ack_query_namespace *rsp)
{
	struct virtio_rdma_cmd_query_namespace copy = *req;

	memset(rsp, 0, sizeof(*rsp));
	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_NAMESPACE,
			      &copy, sizeof(copy), rsp, sizeof(*rsp));
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_namespace);

/**
 * vroce_cmd_set_srq_nvmf() - give a shared receive queue attributes of the offload
 * @aux: device
 * @req: which, as the device takes it
 */
int vroce_cmd_set_srq_nvmf(struct virtio_net_roce_aux *aux,
			   const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	struct virtio_rdma_cmd_set_srq_nvmf copy = *req;

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_SET_SRQ_NVMF,
			      &copy, sizeof(copy), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_set_srq_nvmf);

/**
 * vroce_cmd_create_nvme_ctrl() - make an NVMe controller of a shared receive queue
 * @aux: device
 * @req: what it is like, as the device takes it
 * @handle: its handle
 */
int vroce_cmd_create_nvme_ctrl(struct virtio_net_roce_aux *aux,
			       const struct virtio_rdma_cmd_create_nvme_ctrl *req,
			       u32 *handle)
{
	struct virtio_rdma_cmd_create_nvme_ctrl copy = *req;
	struct virtio_rdma_ack_create_nvme_ctrl rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_CREATE_NVME_CTRL,
			     &copy, sizeof(copy), &rsp, sizeof(rsp));
	if (!err)
		*handle = le32_to_cpu(rsp.ctrl);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_nvme_ctrl);

/**
 * vroce_cmd_destroy_nvme_ctrl() - destroy an NVMe controller
 * @aux: device
 * @handle: its handle
 */
int vroce_cmd_destroy_nvme_ctrl(struct virtio_net_roce_aux *aux, u32 handle)
{
	struct virtio_rdma_cmd_destroy_nvme_ctrl req = {
		.ctrl = cpu_to_le32(handle),
	};

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_NVME_CTRL,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_destroy_nvme_ctrl);

/**
 * vroce_cmd_map_nsid() - map a namespace
 * @aux: device
 * @req: which and where, as the device takes it
 */
int vroce_cmd_map_nsid(struct virtio_net_roce_aux *aux,
		       const struct virtio_rdma_cmd_map_nsid *req)
{
	struct virtio_rdma_cmd_map_nsid copy = *req;

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_MAP_NSID,
			      &copy, sizeof(copy), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_map_nsid);

/**
 * vroce_cmd_unmap_nsid() - undo vroce_cmd_map_nsid()
 * @aux: device
 * @handle: handle of the controller
 * @nsid: number of the namespace
 */
int vroce_cmd_unmap_nsid(struct virtio_net_roce_aux *aux, u32 handle, u32 nsid)
{
	struct virtio_rdma_cmd_unmap_nsid req = {
		.ctrl = cpu_to_le32(handle),
		.nsid = cpu_to_le32(nsid),
	};

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_UNMAP_NSID,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_unmap_nsid);

/**
 * vroce_cmd_set_qp_nvmf() - turn the offload of a QP on or off
 * @aux: device
 * @req: which, as the device takes it
 */
int vroce_cmd_set_qp_nvmf(struct virtio_net_roce_aux *aux,
			  const struct virtio_rdma_cmd_set_qp_nvmf *req)
{
	struct virtio_rdma_cmd_set_qp_nvmf copy = *req;

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_SET_QP_NVMF,
			      &copy, sizeof(copy), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_set_qp_nvmf);
