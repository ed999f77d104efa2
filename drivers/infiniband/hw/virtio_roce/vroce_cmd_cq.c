// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of completion queues.  The rules at the top of vroce_cmd.c apply.
 */
#include "virtio_roce_compat.h"

#include "vroce_cmd_cq.h"

/**
 * vroce_cmd_create_cq() - make a completion queue
 * @aux: device
 * @cqe: number of completions that it can hold
 * @cqn: its number, which has a virtqueue
 */
int vroce_cmd_create_cq(struct virtio_net_roce_aux *aux, u32 cqe, u32 *cqn)
{
	struct virtio_rdma_cmd_create_cq req = { .cqe = cpu_to_le32(cqe) };
	struct virtio_rdma_ack_create_cq rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
			     &req, sizeof(req), &rsp, sizeof(rsp));
	if (err)
		return err;

	*cqn = le32_to_cpu(rsp.cqn);
	/* It is not destroyed: this may be the number of a CQ of somebody else's. */
	if (*cqn >= aux->max_cqs)
		return vroce_cmd_bad_answer(aux, VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
					    *cqn);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_cq);

/**
 * vroce_cmd_create_cq_long() - make a completion queue with a control block
 * @aux: device
 * @params: parameters
 * @cqn: its number
 */
int vroce_cmd_create_cq_long(struct virtio_net_roce_aux *aux,
			     const struct vroce_create_cq_params *params,
			     u32 *cqn)
{
	struct virtio_rdma_cmd_create_cq_long req = {
		.cqe = cpu_to_le32(params->cqe),
		.flags = VIRTIO_RDMA_CQ_CONTROL |
			 (params->direct ? VIRTIO_RDMA_CQ_DIRECT : 0) |
			 (params->timed ? VIRTIO_RDMA_CQ_TIMESTAMP : 0),
		.cqe_shift = params->cqe_shift,
		.event_vq = cpu_to_le16(params->event_vq),
		.control = cpu_to_le64(params->control),
		.npages = cpu_to_le32(params->npages),
	};
	struct virtio_rdma_ack_create_cq rsp = {};
	int err;

	err = vroce_cmd_exec_pages(aux, VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
				   &req, sizeof(req), params->pages,
				   params->npages, &rsp, sizeof(rsp));
	if (err)
		return err;

	*cqn = le32_to_cpu(rsp.cqn);
	/* It is not destroyed: this may be the number of a CQ of somebody else's. */
	if (*cqn < params->first || *cqn >= params->end)
		return vroce_cmd_bad_answer(aux, VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
					    *cqn);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_cq_long);

/**
 * vroce_cmd_modify_cq() - say how long the event of a CQ waits for more completions
 * @aux: device
 * @cqn: the CQ, which has a control block
 * @count: completions that end the wait, or 0
 * @period: microseconds that it lasts at most; 0 for none
 */
int vroce_cmd_modify_cq(struct virtio_net_roce_aux *aux, u32 cqn, u16 count, u16 period)
{
	struct virtio_rdma_cmd_modify_cq req = {
		.cqn = cpu_to_le32(cqn),
		.count = cpu_to_le16(count),
		.period = cpu_to_le16(period),
	};

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_MODIFY_CQ, &req, sizeof(req),
			      NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_modify_cq);

/**
 * vroce_cmd_resize_cq() - give a direct CQ another ring and another control block
 * @aux: device
 * @params: parameters
 * @stored: number of completions in the old ring so far, modulo 2^32
 * @unread: how many of them, the last ones, were not taken
 */
int vroce_cmd_resize_cq(struct virtio_net_roce_aux *aux,
			const struct vroce_resize_cq_params *params,
			u32 *stored, u32 *unread)
{
	struct virtio_rdma_cmd_resize_cq req = {
		.cqn = cpu_to_le32(params->cqn),
		.cqe = cpu_to_le32(params->cqe),
		.npages = cpu_to_le32(params->npages),
		.control = cpu_to_le64(params->control),
	};
	struct virtio_rdma_ack_resize_cq rsp = {};
	int err;

	err = vroce_cmd_exec_pages(aux, VIRTIO_NET_CTRL_ROCE_RESIZE_CQ,
				   &req, sizeof(req), params->pages,
				   params->npages, &rsp, sizeof(rsp));
	if (err)
		return err;

	*stored = le32_to_cpu(rsp.stored);
	*unread = le32_to_cpu(rsp.unread);
	if (*unread > params->most || *unread > params->cqe)
		return vroce_cmd_bad_answer(aux, VIRTIO_NET_CTRL_ROCE_RESIZE_CQ,
					    *unread);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_resize_cq);

/**
 * vroce_cmd_destroy_cq() - destroy a completion queue
 * @aux: device
 * @cqn: its number
 */
int vroce_cmd_destroy_cq(struct virtio_net_roce_aux *aux, u32 cqn)
{
	struct virtio_rdma_cmd_destroy_cq req = { .cqn = cpu_to_le32(cqn) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_CQ,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_destroy_cq);

/**
 * vroce_cmd_req_notify_cq() - ask for one notification of a CQ
 * @aux: device
 * @cqn: the CQ
 * @solicited_only: only for solicited completions and errors
 */
int vroce_cmd_req_notify_cq(struct virtio_net_roce_aux *aux, u32 cqn,
			    bool solicited_only)
{
	struct virtio_rdma_cmd_req_notify req = {
		.cqn = cpu_to_le32(cqn),
		.flags = cpu_to_le32(solicited_only ?
				     VIRTIO_IB_NOTIFY_SOLICITED :
				     VIRTIO_IB_NOTIFY_NEXT_COMPLETION),
	};

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_req_notify_cq);
