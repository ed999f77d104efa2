// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of flow rules.  The rules at the top of vroce_cmd.c apply.
 */
#include "virtio_roce_compat.h"

#include "vroce_cmd_flow.h"

/**
 * vroce_cmd_create_flow() - make a flow rule
 * @aux: device
 * @req: the rule, as the device takes it
 * @handle: its handle
 */
int vroce_cmd_create_flow(struct virtio_net_roce_aux *aux,
			  struct virtio_rdma_cmd_create_flow *req, u32 *handle)
{
	struct virtio_rdma_ack_create_flow rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_CREATE_FLOW, req, sizeof(*req),
			     &rsp, sizeof(rsp));
	if (!err)
		*handle = le32_to_cpu(rsp.flow);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_flow);

/**
 * vroce_cmd_create_flow_long() - make a flow rule with a tag
 * @aux: device
 * @req: the rule, as the device takes it
 * @handle: its handle
 */
int vroce_cmd_create_flow_long(struct virtio_net_roce_aux *aux,
			       struct virtio_rdma_cmd_create_flow_long *req, u32 *handle)
{
	struct virtio_rdma_ack_create_flow rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_CREATE_FLOW_LONG, req, sizeof(*req),
			     &rsp, sizeof(rsp));
	if (!err)
		*handle = le32_to_cpu(rsp.flow);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_flow_long);

/**
 * vroce_cmd_query_flow() - frames that a flow rule has taken
 * @aux: device
 * @handle: handle of the rule
 * @counts: filled in
 */
int vroce_cmd_query_flow(struct virtio_net_roce_aux *aux, u32 handle,
			 struct vroce_flow_counts *counts)
{
	struct virtio_rdma_cmd_query_flow req = { .flow = cpu_to_le32(handle) };
	struct virtio_rdma_ack_query_flow rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_FLOW, &req, sizeof(req),
			     &rsp, sizeof(rsp));
	if (err)
		return err;
	counts->packets = le64_to_cpu(rsp.packets);
	counts->bytes = le64_to_cpu(rsp.bytes);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_flow);

/**
 * vroce_cmd_destroy_flow() - destroy a flow rule
 * @aux: device
 * @handle: its handle
 */
int vroce_cmd_destroy_flow(struct virtio_net_roce_aux *aux, u32 handle)
{
	struct virtio_rdma_cmd_destroy_flow req = { .flow = cpu_to_le32(handle) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_FLOW,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_destroy_flow);
