// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of shared receive queues and XRC domains.  The rules at the top of vroce_cmd.c apply.
 */
#include "vroce_cmd.h"
#include "vroce_cmd_srq.h"

/**
 * vroce_cmd_create_srq() - make a shared receive queue, or an XRC SRQ
 * @aux: device
 * @params: parameters
 * @handle: its handle; of an XRC SRQ the number by which peers name it
 */
int vroce_cmd_create_srq(struct virtio_net_roce_aux *aux,
			 const struct vroce_create_srq_params *params,
			 u32 *handle)
{
	struct virtio_rdma_cmd_create_xrc_srq req = {
		.srq = {
			.pdn = cpu_to_le32(params->pdn),
			.depth = cpu_to_le32(params->depth),
			.max_sge = cpu_to_le32(params->max_sge),
			.shift = params->shift,
			.control = cpu_to_le64(params->control),
			.npages = cpu_to_le32(params->npages),
		},
		.xrcd = cpu_to_le32(params->xrcd),
		.cqn = cpu_to_le32(params->cqn),
	};
	u8 command = params->xrc ? VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ :
				   VIRTIO_NET_CTRL_ROCE_CREATE_SRQ;
	struct virtio_rdma_ack_create_srq rsp = {};
	int err;

	err = vroce_cmd_exec_pages(aux, command, &req,
				   params->xrc ? sizeof(req) : sizeof(req.srq),
				   params->pages, params->npages, &rsp, sizeof(rsp));
	if (err)
		return err;
	*handle = le32_to_cpu(rsp.srq);
	if (params->xrc && *handle & ~VIRTIO_RDMA_XRC_SRQN_MASK)
		return vroce_cmd_bad_answer(aux, command, *handle);
	return 0;
}

/**
 * vroce_cmd_modify_srq() - arm the limit of a shared receive queue
 * @aux: device
 * @handle: its handle
 * @limit: report when it has fewer requests; 0 to disarm
 */
int vroce_cmd_modify_srq(struct virtio_net_roce_aux *aux, u32 handle, u32 limit)
{
	struct virtio_rdma_cmd_modify_srq req = {
		.srq = cpu_to_le32(handle),
		.limit = cpu_to_le32(limit),
	};

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_MODIFY_SRQ,
			      &req, sizeof(req), NULL, 0);
}

/**
 * vroce_cmd_query_srq() - ask for the limit of a shared receive queue
 * @aux: device
 * @handle: its handle
 * @limit: the limit that is armed, or 0
 */
int vroce_cmd_query_srq(struct virtio_net_roce_aux *aux, u32 handle, u32 *limit)
{
	struct virtio_rdma_cmd_query_srq req = { .srq = cpu_to_le32(handle) };
	struct virtio_rdma_ack_query_srq rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_SRQ,
			     &req, sizeof(req), &rsp, sizeof(rsp));
	if (!err)
		*limit = le32_to_cpu(rsp.limit);
	return err;
}

/**
 * vroce_cmd_resize_srq() - give a shared receive queue another ring and control block
 * @aux: device
 * @params: parameters
 */
int vroce_cmd_resize_srq(struct virtio_net_roce_aux *aux,
			 const struct vroce_resize_srq_params *params)
{
	struct virtio_rdma_cmd_resize_srq req = {
		.srq = cpu_to_le32(params->handle),
		.depth = cpu_to_le32(params->depth),
		.npages = cpu_to_le32(params->npages),
		.control = cpu_to_le64(params->control),
	};

	return vroce_cmd_exec_pages(aux, VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ,
				    &req, sizeof(req), params->pages,
				    params->npages, NULL, 0);
}

/**
 * vroce_cmd_destroy_srq() - destroy a shared receive queue
 * @aux: device
 * @handle: its handle
 */
int vroce_cmd_destroy_srq(struct virtio_net_roce_aux *aux, u32 handle)
{
	struct virtio_rdma_cmd_destroy_srq req = { .srq = cpu_to_le32(handle) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_SRQ,
			      &req, sizeof(req), NULL, 0);
}

/**
 * vroce_cmd_create_xrcd() - make an XRC domain
 * @aux: device
 * @handle: its handle
 */
int vroce_cmd_create_xrcd(struct virtio_net_roce_aux *aux, u32 *handle)
{
	struct virtio_rdma_ack_create_xrcd rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_CREATE_XRCD, NULL, 0,
			     &rsp, sizeof(rsp));
	if (!err)
		*handle = le32_to_cpu(rsp.xrcd);
	return err;
}

/**
 * vroce_cmd_destroy_xrcd() - destroy an XRC domain
 * @aux: device
 * @handle: its handle
 */
int vroce_cmd_destroy_xrcd(struct virtio_net_roce_aux *aux, u32 handle)
{
	struct virtio_rdma_cmd_destroy_xrcd req = { .xrcd = cpu_to_le32(handle) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_XRCD,
			      &req, sizeof(req), NULL, 0);
}
