// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of indirection tables and RX_HASH QPs.  The rules at the top of vroce_cmd.c apply.
 */
#include "virtio_roce_compat.h"

#include "vroce_cmd_wq.h"

/**
 * vroce_cmd_create_wq_table() - make an indirection table
 * @aux: device
 * @log_size: log2 of its entries
 * @wqns: number of the work queue of each
 * @handle: its handle
 */
int vroce_cmd_create_wq_table(struct virtio_net_roce_aux *aux, u8 log_size,
			      const __le32 *wqns, u32 *handle)
{
	struct virtio_rdma_cmd_create_wq_table req = { .log_size = log_size };
	struct virtio_rdma_ack_create_wq_table rsp = {};
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_CREATE_WQ_TABLE,
		.req = {
			{ .iov_base = &req, .iov_len = sizeof(req) },
			{ .iov_base = (void *)wqns,
			  .iov_len = sizeof(*wqns) << log_size },
		},
		.rsp = &rsp,
		.rsp_len = sizeof(rsp),
	};
	int err;

	err = vroce_cmd_run(aux, &cmd);
	if (!err)
		*handle = le32_to_cpu(rsp.table);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_wq_table);

/**
 * vroce_cmd_destroy_wq_table() - destroy an indirection table
 * @aux: device
 * @handle: its handle
 */
int vroce_cmd_destroy_wq_table(struct virtio_net_roce_aux *aux, u32 handle)
{
	struct virtio_rdma_cmd_destroy_wq_table req = { .table = cpu_to_le32(handle) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_WQ_TABLE,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_destroy_wq_table);

/**
 * vroce_cmd_create_rx_hash_qp() - make a QP that spreads frames over work queues
 * @aux: device
 * @req: what it is like, as the device takes it
 * @first: least number that it may have
 * @end: number that it must be below
 * @qpn: its number
 */
int vroce_cmd_create_rx_hash_qp(struct virtio_net_roce_aux *aux,
				struct virtio_rdma_cmd_create_rx_hash_qp *req,
				u32 first, u32 end, u32 *qpn)
{
	struct virtio_rdma_ack_create_qp rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_CREATE_RX_HASH_QP, req,
			     sizeof(*req), &rsp, sizeof(rsp));
	if (err)
		return err;
	*qpn = le32_to_cpu(rsp.qpn);
	/* It is not destroyed: this may be the number of a QP of somebody else's. */
	if (*qpn < first || *qpn >= end)
		return vroce_cmd_bad_answer(aux, VIRTIO_NET_CTRL_ROCE_CREATE_RX_HASH_QP,
					    *qpn);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_rx_hash_qp);
