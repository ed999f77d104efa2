// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of QPs.  The rules at the top of vroce_cmd.c apply.
 */
#include "virtio_roce_compat.h"

#include "vroce_cmd_qp.h"
#include "vroce_wire.h"

/* Only the management interfaces have QPN 0 and 1. */
static bool vroce_qpn_is_sane(const struct virtio_net_roce_aux *aux,
			      const struct vroce_create_qp_params *params,
			      u32 qpn)
{
	if (params->direct)
		return qpn >= params->direct->first && qpn < params->direct->end;
	if (params->type == IB_QPT_GSI)
		return qpn == VIRTIO_NET_ROCE_QPN_GSI && qpn < aux->max_qps;
	return qpn > VIRTIO_NET_ROCE_QPN_GSI && qpn < aux->max_qps;
}

/* Behind the first 40 bytes of the RFC's request. */
static int vroce_cmd_create_direct_qp(struct virtio_net_roce_aux *aux,
				      const struct vroce_direct_params *params,
				      const struct virtio_rdma_cmd_create_qp *rfc,
				      struct virtio_rdma_ack_create_qp *rsp)
{
	struct {
		u8 rfc[VIRTIO_RDMA_QP_DIRECT_OFFSET];
		struct virtio_rdma_qp_direct direct;
	} __packed req = {
		.direct = {
			.form = VIRTIO_RDMA_QP_FORM_DIRECT,
			.send_shift = params->send_shift,
			.recv_shift = params->recv_shift,
			.send_depth = cpu_to_le32(params->send_depth),
			.recv_depth = cpu_to_le32(params->recv_depth),
			.doorbell = cpu_to_le32(params->doorbell),
			.bit = cpu_to_le32(params->bit),
			.send_pages = cpu_to_le32(params->send_pages),
			.recv_pages = cpu_to_le32(params->recv_pages),
			.flags = params->shared ? VIRTIO_RDMA_QP_SRQ : 0,
			.srq = cpu_to_le32(params->srq),
			.control = cpu_to_le64(params->control),
			.xrcd = cpu_to_le32(params->xrcd),
		},
	};

	memcpy(req.rfc, rfc, sizeof(req.rfc));
	return vroce_cmd_exec_pages(aux, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
				    &req, sizeof(req), params->pages,
				    params->send_pages + params->recv_pages,
				    rsp, sizeof(*rsp));
}

/**
 * vroce_cmd_create_qp() - make a queue pair
 * @aux: device
 * @params: parameters; the type is one that the wire has
 * @qpn: its number, which in the RFC's form has two virtqueues
 */
int vroce_cmd_create_qp(struct virtio_net_roce_aux *aux,
			const struct vroce_create_qp_params *params, u32 *qpn)
{
	struct virtio_rdma_cmd_create_qp req = {
		.pdn = cpu_to_le32(params->pdn),
		.qp_type = vroce_qp_type_to_wire(params->type),
		.sq_sig_all = params->sq_sig_all,
		.flags = (params->fast_reg ? VIRTIO_IB_QP_FAST_REG : 0) |
			 (params->strip ? VIRTIO_IB_QP_CVLAN_STRIP : 0),
		.send_cqn = cpu_to_le32(params->send_cqn),
		.recv_cqn = cpu_to_le32(params->recv_cqn),
	};
	struct virtio_rdma_ack_create_qp rsp = {};
	int err;

	vroce_qp_cap_to_wire(&params->cap, &req.cap);
	if (params->direct)
		err = vroce_cmd_create_direct_qp(aux, params->direct, &req, &rsp);
	else
		err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
				     &req, sizeof(req), &rsp, sizeof(rsp));
	if (err)
		return err;

	*qpn = le32_to_cpu(rsp.qpn);
	/* It is not destroyed: this may be the number of a QP of somebody else's. */
	if (!vroce_qpn_is_sane(aux, params, *qpn))
		return vroce_cmd_bad_answer(aux, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
					    *qpn);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_qp);

/**
 * vroce_cmd_modify_qp() - change attributes of a queue pair
 * @aux: device
 * @qpn: its number
 * @attr: attributes; states and MTU have been checked
 * @mask: which of them are given, IB_QP_* bits
 * @max_burst: bytes that may leave at once under a rate limit that is given, 0 = the device
 *	knows best; the caller has checked that the device takes others
 */
int vroce_cmd_modify_qp(struct virtio_net_roce_aux *aux, u32 qpn,
			const struct ib_qp_attr *attr, int mask, u32 max_burst)
{
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = cpu_to_le32(qpn),
		.max_burst = cpu_to_le32(max_burst),
	};
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_MODIFY_QP,
		.req = { { .iov_base = &req, .iov_len = sizeof(req) } },
	};

	vroce_qp_attr_to_wire(attr, mask, &req);
	/* These two states take the requests away from the device. */
	if (mask & IB_QP_STATE && (attr->qp_state == IB_QPS_ERR ||
				   attr->qp_state == IB_QPS_RESET))
		return vroce_cmd_run_destroy(aux, &cmd, -EINVAL);
	return vroce_cmd_run(aux, &cmd);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_modify_qp);

/**
 * vroce_cmd_query_qp() - ask for attributes of a queue pair
 * @aux: device
 * @qpn: its number
 * @mask: which are asked for, IB_QP_* bits; the device may return others, too
 * @attr: attributes; those that the device does not know are not touched
 */
int vroce_cmd_query_qp(struct virtio_net_roce_aux *aux, u32 qpn, int mask,
		       struct ib_qp_attr *attr)
{
	struct virtio_rdma_cmd_query_qp req = {
		.qpn = cpu_to_le32(qpn),
		.attr_mask = cpu_to_le32(vroce_qp_mask_to_wire(mask)),
	};
	struct virtio_rdma_ack_query_qp rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_QP,
			     &req, sizeof(req), &rsp, sizeof(rsp));
	if (err)
		return err;

	if (vroce_qp_attr_from_wire(&rsp, attr))
		return vroce_cmd_bad_answer(aux, VIRTIO_NET_CTRL_ROCE_QUERY_QP,
					    rsp.qp_state);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_qp);

/**
 * vroce_cmd_destroy_qp() - destroy a queue pair
 * @aux: device
 * @qpn: its number
 */
int vroce_cmd_destroy_qp(struct virtio_net_roce_aux *aux, u32 qpn)
{
	struct virtio_rdma_cmd_destroy_qp req = { .qpn = cpu_to_le32(qpn) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_QP,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_destroy_qp);
