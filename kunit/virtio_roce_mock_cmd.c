// SPDX-License-Identifier: GPL-2.0
/*
 * Commands, as the function without hardware carries them out; see virtio_roce_mock.h.
 */
#include "virtio_roce_mock.h"

static bool mock_is_zero(const struct virtio_net_roce_vq *vq)
{
	return !memchr_inv(vq->vring.desc, 0,
			   vq->vring.num * sizeof(struct vring_desc)) &&
	       !memchr_inv(vq->vring.avail, 0, vq->avail_len) &&
	       !memchr_inv(vq->vring.used, 0, vq->used_len);
}

int mock_pd_use(struct mock *mock, u32 pdn, int change)
{
	if (pdn >= MOCK_PDS || mock->pd_refs[pdn] < 0)
		return -EREMOTEIO;
	mock->pd_refs[pdn] += change;
	return 0;
}

bool mock_cq_exists(struct mock *mock, u32 cqn)
{
	return cqn < MOCK_ALL_CQS && mock->cqs[cqn].exists;
}

bool mock_qp_exists(struct mock *mock, u32 qpn)
{
	return qpn < MOCK_ALL_QPS && mock->qps[qpn].exists;
}

static int mock_create_cq(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_create_cq *req = r;
	struct virtio_rdma_ack_create_cq *ack = rsp;
	u32 cqn = 0;

	while (mock_cq_exists(mock, cqn))
		cqn++;
	if (mock->next_cqn >= 0)
		cqn = mock->next_cqn;
	mock->next_cqn = -1;
	ack->cqn = cpu_to_le32(cqn);
	if (cqn >= MOCK_CQS)
		return 0;
	if (mock->cqs[cqn].exists)
		return 0;
	if (!mock_is_zero(&mock->cq_vqs[cqn].pub))
		mock_violation(mock, "rings of a CQ are not zero", cqn);
	mock->cqs[cqn].exists = true;
	mock->cqs[cqn].cqe = le32_to_cpu(req->cqe);
	mock->cq_vqs[cqn].used = 0;
	return 0;
}

static int mock_destroy_cq(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_cq *req = r;
	u32 cqn = le32_to_cpu(req->cqn);

	if (!mock_cq_exists(mock, cqn)) {
		if (cqn < MOCK_CQS)
			mock_violation(mock, "no such CQ to destroy", cqn);
		return -EREMOTEIO;
	}
	if (mock->cqs[cqn].refs) {
		mock_violation(mock, "CQ of a QP destroyed", cqn);
		return -EREMOTEIO;
	}
	if (mock->cqs[cqn].notify)
		mock_violation(mock, "CQ destroyed while enabled", cqn);
	mock->cqs[cqn].exists = false;
	mock->cqs[cqn].armed = 0;
	return 0;
}

static int mock_modify_cq(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_modify_cq *req = r;
	u32 cqn = le32_to_cpu(req->cqn);

	if (!mock_cq_exists(mock, cqn) || !mock->cqs[cqn].control) {
		mock_violation(mock, "no such CQ with a control block", cqn);
		return -EREMOTEIO;
	}
	mock->cqs[cqn].count = le16_to_cpu(req->count);
	mock->cqs[cqn].period = le16_to_cpu(req->period);
	return 0;
}

static int mock_create_pd(struct mock *mock, const void *r, void *rsp)
{
	struct virtio_rdma_ack_create_pd *ack = rsp;
	u32 pdn;

	for (pdn = 0; pdn < MOCK_PDS; pdn++) {
		if (mock->pd_refs[pdn] >= 0)
			continue;
		mock->pd_refs[pdn] = 0;
		ack->pdn = cpu_to_le32(pdn);
		return 0;
	}
	return -EREMOTEIO;
}

static int mock_destroy_pd(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_pd *req = r;
	u32 pdn = le32_to_cpu(req->pdn);

	if (mock_pd_use(mock, pdn, 0)) {
		mock_violation(mock, "no such PD to destroy", pdn);
		return -EREMOTEIO;
	}
	if (mock->pd_refs[pdn]) {
		mock_violation(mock, "PD in use destroyed", pdn);
		return -EREMOTEIO;
	}
	mock->pd_refs[pdn] = -1;
	return 0;
}

static u32 mock_pick_qpn(struct mock *mock, u8 type)
{
	u32 qpn = 2;

	if (mock->next_qpn >= 0)
		qpn = mock->next_qpn;
	else if (type == VIRTIO_IB_QPT_GSI)
		qpn = VIRTIO_NET_ROCE_QPN_GSI;
	else
		while (mock_qp_exists(mock, qpn))
			qpn++;
	mock->next_qpn = -1;
	return qpn;
}

static int mock_create_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_create_qp *req = r;
	struct virtio_rdma_ack_create_qp *ack = rsp;
	struct mock_qp qp = {
		.exists = true,
		.type = req->qp_type,
		.state = VIRTIO_IB_QPS_RESET,
		.pdn = le32_to_cpu(req->pdn),
		.scqn = le32_to_cpu(req->send_cqn),
		.rcqn = le32_to_cpu(req->recv_cqn),
	};
	u32 qpn = mock_pick_qpn(mock, req->qp_type);

	ack->qpn = cpu_to_le32(qpn);
	/* A broken device answers this without creating anything. */
	if (qpn >= MOCK_QPS || mock->qps[qpn].exists)
		return 0;
	if (!mock_cq_exists(mock, qp.scqn) || !mock_cq_exists(mock, qp.rcqn) ||
	    mock_pd_use(mock, qp.pdn, 1))
		return -EREMOTEIO;
	mock->cqs[qp.scqn].refs++;
	mock->cqs[qp.rcqn].refs++;
	if (!mock_is_zero(&mock->sq_vqs[qpn].pub) ||
	    !mock_is_zero(&mock->rq_vqs[qpn].pub))
		mock_violation(mock, "rings of a QP are not zero", qpn);
	mock->qps[qpn] = qp;
	mock->sq_vqs[qpn].used = 0;
	mock->rq_vqs[qpn].used = 0;
	return 0;
}

static void mock_use_all(struct mock_vq *vq)
{
	vq->pub.vring.used->idx = vq->pub.vring.avail->idx;
}

static int mock_modify_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_modify_qp *req = r;
	u32 qpn = le32_to_cpu(req->qpn);

	if (!mock_qp_exists(mock, qpn)) {
		mock_violation(mock, "no such QP to modify", qpn);
		return -EREMOTEIO;
	}
	if (!(le32_to_cpu(req->attr_mask) & VIRTIO_IB_QP_STATE))
		return 0;
	mock->qps[qpn].state = req->qp_state;
	if (req->qp_state == VIRTIO_IB_QPS_ERR && mock->flush &&
	    qpn < MOCK_QPS) {
		mock_use_all(&mock->sq_vqs[qpn]);
		mock_use_all(&mock->rq_vqs[qpn]);
	}
	return 0;
}

static int mock_query_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_query_qp *req = r;
	struct virtio_rdma_ack_query_qp *ack = rsp;
	u32 qpn = le32_to_cpu(req->qpn);

	if (!mock_qp_exists(mock, qpn))
		return -EREMOTEIO;
	ack->qp_state = mock->qps[qpn].state;
	return 0;
}

static int mock_destroy_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_qp *req = r;
	u32 qpn = le32_to_cpu(req->qpn);
	struct mock_qp *qp;

	if (!mock_qp_exists(mock, qpn)) {
		if (qpn < MOCK_QPS)
			mock_violation(mock, "no such QP to destroy", qpn);
		return -EREMOTEIO;
	}
	qp = &mock->qps[qpn];
	if (qp->type == VIRTIO_IB_QPT_XRC_TGT)
		return mock_tgt_gone(mock, qp);
	if (qp->type == VIRTIO_IB_QPT_RX_HASH)
		return mock_rx_hash_gone(mock, qp);
	mock_wq_gone(mock, qpn);
	mock->cqs[qp->scqn].refs--;
	mock->cqs[qp->rcqn].refs--;
	if (mock_qp_srq(mock, qp))
		mock_qp_srq(mock, qp)->refs--;
	qp->exists = false;
	return mock_pd_use(mock, qp->pdn, -1);
}

static int mock_create_ah(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_create_ah *req = r;
	struct virtio_rdma_ack_create_ah *ack = rsp;
	u32 ah;

	for (ah = 0; ah < MOCK_AHS; ah++) {
		if (mock->ah_pdn[ah] >= 0)
			continue;
		if (mock_pd_use(mock, le32_to_cpu(req->pdn), 1))
			return -EREMOTEIO;
		mock->ah_pdn[ah] = le32_to_cpu(req->pdn);
		ack->ah = cpu_to_le32(ah);
		return 0;
	}
	return -EREMOTEIO;
}

static int mock_destroy_ah(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_ah *req = r;
	u32 ah = le32_to_cpu(req->ah), pdn = le32_to_cpu(req->pdn);

	if (ah >= MOCK_AHS || mock->ah_pdn[ah] != (int)pdn) {
		mock_violation(mock, "no such AH to destroy", ah);
		return -EREMOTEIO;
	}
	mock->ah_pdn[ah] = -1;
	return mock_pd_use(mock, pdn, -1);
}

static int mock_add_gid(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_add_gid *req = r;
	u16 index = le16_to_cpu(req->index);

	if (index >= MOCK_GIDS)
		return -EREMOTEIO;
	memcpy(mock->gids[index], req->gid, sizeof(req->gid));
	return 0;
}

static int mock_del_gid(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_del_gid *req = r;
	u16 index = le16_to_cpu(req->index);

	if (index >= MOCK_GIDS)
		return -EREMOTEIO;
	memset(mock->gids[index], 0, sizeof(mock->gids[index]));
	return 0;
}

static int mock_req_notify(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_req_notify *req = r;
	u32 cqn = le32_to_cpu(req->cqn);

	if (!mock_cq_exists(mock, cqn)) {
		mock_violation(mock, "no such CQ to notify", cqn);
		return -EREMOTEIO;
	}
	if (!mock->cqs[cqn].arm_first)
		mock_violation(mock, "REQ_NOTIFY_CQ before cq_arm", cqn);
	mock->cqs[cqn].arm_first = false;
	mock->cqs[cqn].armed |= le32_to_cpu(req->flags);
	return 0;
}

static int mock_query_counters(struct mock *mock, const void *cmd, void *rsp)
{
	memcpy(rsp, &mock->counters, sizeof(mock->counters));
	return 0;
}

static int mock_query_qp_counters(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_query_qp_counters *req = r;
	u32 qpn = le32_to_cpu(req->qpn);

	if (!mock_qp_exists(mock, qpn)) {
		mock_violation(mock, "no such QP to count", qpn);
		return -EREMOTEIO;
	}
	memcpy(rsp, &mock->qps[qpn].counters, sizeof(mock->qps[qpn].counters));
	return 0;
}

static int mock_query_clock(struct mock *mock, const void *cmd, void *rsp)
{
	struct virtio_rdma_ack_query_clock *ack = rsp;

	ack->time = cpu_to_le64(mock->clock);
	return 0;
}

/* Only counts; tests find the group in the request. */
static int mock_mcast(struct mock *mock, const void *r, int change)
{
	const struct virtio_rdma_cmd_mcast *req = r;
	u32 qpn = le32_to_cpu(req->qpn);

	if (!mock_qp_exists(mock, qpn) ||
	    mock->qps[qpn].type != VIRTIO_IB_QPT_UD) {
		mock_violation(mock, "no such UD QP to attach or detach", qpn);
		return -EREMOTEIO;
	}
	if (!mock->qps[qpn].groups && change < 0)
		return -EREMOTEIO;
	mock->qps[qpn].groups += change;
	return 0;
}

static int mock_attach_mcast(struct mock *mock, const void *r, void *rsp)
{
	return mock_mcast(mock, r, 1);
}

static int mock_detach_mcast(struct mock *mock, const void *r, void *rsp)
{
	return mock_mcast(mock, r, -1);
}

/**
 * struct mock_handler - how a command is carried out
 * @req_len: bytes of its request, without the pages of a memory region
 * @rsp_len: bytes of its response
 * @run: carries it out; the response is zeroed and long enough
 */
struct mock_handler {
	size_t req_len;
	size_t rsp_len;
	int (*run)(struct mock *mock, const void *req, void *rsp);
};

#define MOCK_CMD(name)	sizeof(struct virtio_rdma_cmd_ ## name)
#define MOCK_ACK(name)	sizeof(struct virtio_rdma_ack_ ## name)

static const struct mock_handler mock_handlers[VIRTIO_NET_CTRL_ROCE_NUM] = {
	[VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE] = {
		0, MOCK_ACK(query_device), NULL },
	[VIRTIO_NET_CTRL_ROCE_QUERY_PORT] = {
		0, MOCK_ACK(query_port), NULL },
	[VIRTIO_NET_CTRL_ROCE_CREATE_CQ] = {
		MOCK_CMD(create_cq), MOCK_ACK(create_cq), mock_create_cq },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_CQ] = {
		MOCK_CMD(destroy_cq), 0, mock_destroy_cq },
	[VIRTIO_NET_CTRL_ROCE_MODIFY_CQ] = {
		MOCK_CMD(modify_cq), 0, mock_modify_cq },
	[VIRTIO_NET_CTRL_ROCE_QUERY_NVMF] = {
		0, MOCK_ACK(query_nvmf), NULL },
	[VIRTIO_NET_CTRL_ROCE_QUERY_NAMESPACE] = {
		MOCK_CMD(query_namespace), MOCK_ACK(query_namespace), NULL },
	[VIRTIO_NET_CTRL_ROCE_SET_SRQ_NVMF] = {
		MOCK_CMD(set_srq_nvmf), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_CREATE_NVME_CTRL] = {
		MOCK_CMD(create_nvme_ctrl), MOCK_ACK(create_nvme_ctrl), NULL },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_NVME_CTRL] = {
		MOCK_CMD(destroy_nvme_ctrl), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_MAP_NSID] = {
		MOCK_CMD(map_nsid), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_UNMAP_NSID] = {
		MOCK_CMD(unmap_nsid), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_SET_QP_NVMF] = {
		MOCK_CMD(set_qp_nvmf), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_CREATE_PD] = {
		0, MOCK_ACK(create_pd), mock_create_pd },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_PD] = {
		MOCK_CMD(destroy_pd), 0, mock_destroy_pd },
	[VIRTIO_NET_CTRL_ROCE_GET_DMA_MR] = {
		MOCK_CMD(get_dma_mr), MOCK_ACK(mr), mock_get_dma_mr },
	[VIRTIO_NET_CTRL_ROCE_REG_USER_MR] = {
		MOCK_CMD(reg_user_mr), MOCK_ACK(mr), NULL },
	[VIRTIO_NET_CTRL_ROCE_DEREG_MR] = {
		MOCK_CMD(dereg_mr), 0, mock_dereg_mr },
	[VIRTIO_NET_CTRL_ROCE_CREATE_QP] = {
		MOCK_CMD(create_qp), MOCK_ACK(create_qp), mock_create_qp },
	[VIRTIO_NET_CTRL_ROCE_MODIFY_QP] = {
		MOCK_CMD(modify_qp), 0, mock_modify_qp },
	[VIRTIO_NET_CTRL_ROCE_QUERY_QP] = {
		MOCK_CMD(query_qp), MOCK_ACK(query_qp), mock_query_qp },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_QP] = {
		MOCK_CMD(destroy_qp), 0, mock_destroy_qp },
	[VIRTIO_NET_CTRL_ROCE_CREATE_AH] = {
		MOCK_CMD(create_ah), MOCK_ACK(create_ah), mock_create_ah },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_AH] = {
		MOCK_CMD(destroy_ah), 0, mock_destroy_ah },
	[VIRTIO_NET_CTRL_ROCE_ADD_GID] = {
		MOCK_CMD(add_gid), 0, mock_add_gid },
	[VIRTIO_NET_CTRL_ROCE_DEL_GID] = {
		MOCK_CMD(del_gid), 0, mock_del_gid },
	[VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ] = {
		MOCK_CMD(req_notify), 0, mock_req_notify },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_MR] = {
		MOCK_CMD(alloc_mr), MOCK_ACK(mr), mock_alloc_mr },
	[VIRTIO_NET_CTRL_ROCE_QUERY_COUNTERS] = {
		0, MOCK_ACK(query_counters), mock_query_counters },
	[VIRTIO_NET_CTRL_ROCE_QUERY_QP_COUNTERS] = {
		MOCK_CMD(query_qp_counters), MOCK_ACK(query_counters), mock_query_qp_counters },
	[VIRTIO_NET_CTRL_ROCE_QUERY_CLOCK] = {
		0, MOCK_ACK(query_clock), mock_query_clock },
	[VIRTIO_NET_CTRL_ROCE_ATTACH_MCAST] = {
		MOCK_CMD(mcast), 0, mock_attach_mcast },
	[VIRTIO_NET_CTRL_ROCE_DETACH_MCAST] = {
		MOCK_CMD(mcast), 0, mock_detach_mcast },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_DOORBELL] = {
		MOCK_CMD(alloc_doorbell), MOCK_ACK(alloc_doorbell),
		mock_alloc_doorbell },
	[VIRTIO_NET_CTRL_ROCE_FREE_DOORBELL] = {
		MOCK_CMD(free_doorbell), 0, mock_free_doorbell },
	[VIRTIO_NET_CTRL_ROCE_CREATE_SRQ] = {
		MOCK_CMD(create_srq), MOCK_ACK(create_srq), NULL },
	[VIRTIO_NET_CTRL_ROCE_MODIFY_SRQ] = {
		MOCK_CMD(modify_srq), 0, mock_modify_srq },
	[VIRTIO_NET_CTRL_ROCE_QUERY_SRQ] = {
		MOCK_CMD(query_srq), MOCK_ACK(query_srq), mock_query_srq },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_SRQ] = {
		MOCK_CMD(destroy_srq), 0, mock_destroy_srq },
	[VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ] = {
		MOCK_CMD(resize_srq), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_CREATE_XRCD] = {
		0, MOCK_ACK(create_xrcd), mock_create_xrcd },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_XRCD] = {
		MOCK_CMD(destroy_xrcd), 0, mock_destroy_xrcd },
	[VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ] = {
		MOCK_CMD(create_xrc_srq), MOCK_ACK(create_srq), NULL },
	[VIRTIO_NET_CTRL_ROCE_REREG_MR] = {
		MOCK_CMD(rereg_mr), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG] = {
		MOCK_CMD(rereg_mr_long), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_CREATE_FLOW] = {
		MOCK_CMD(create_flow), MOCK_ACK(create_flow), mock_create_flow },
	[VIRTIO_NET_CTRL_ROCE_CREATE_FLOW_LONG] = {
		MOCK_CMD(create_flow_long), MOCK_ACK(create_flow), mock_create_flow_long },
	[VIRTIO_NET_CTRL_ROCE_QUERY_FLOW] = {
		MOCK_CMD(query_flow), MOCK_ACK(query_flow), mock_query_flow },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_FLOW] = {
		MOCK_CMD(destroy_flow), 0, mock_destroy_flow },
	[VIRTIO_NET_CTRL_ROCE_CREATE_WQ_TABLE] = {
		MOCK_CMD(create_wq_table), MOCK_ACK(create_wq_table), NULL },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_WQ_TABLE] = {
		MOCK_CMD(destroy_wq_table), 0, mock_destroy_wq_table },
	[VIRTIO_NET_CTRL_ROCE_CREATE_RX_HASH_QP] = {
		MOCK_CMD(create_rx_hash_qp), MOCK_ACK(create_qp), mock_create_rx_hash_qp },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_MW] = {
		MOCK_CMD(alloc_mw), MOCK_ACK(mr), mock_alloc_mw },
};

/**
 * mock_act() - carry out a command as a device would
 * @mock: function
 * @cmd: command
 *
 * Context: lock held.
 * Return: as the lower module returns it.
 */
int mock_act(struct mock *mock, struct virtio_net_roce_cmd *cmd)
{
	const struct mock_handler *handler = &mock_handlers[cmd->command];

	if (cmd->req[0].iov_len == sizeof(struct virtio_rdma_cmd_create_cq_long) &&
	    cmd->command == VIRTIO_NET_CTRL_ROCE_CREATE_CQ)
		return mock->fail[cmd->command] ?:
		       mock_direct_create_cq(mock, cmd->req, cmd->rsp);
	if (cmd->req[0].iov_len == VIRTIO_RDMA_QP_DIRECT_OFFSET +
				   sizeof(struct virtio_rdma_qp_direct) &&
	    cmd->command == VIRTIO_NET_CTRL_ROCE_CREATE_QP)
		return mock->fail[cmd->command] ?:
		       mock_direct_create_qp(mock, cmd->req, cmd->rsp);
	if (cmd->command == VIRTIO_NET_CTRL_ROCE_RESIZE_CQ)
		return mock->fail[cmd->command] ?:
		       mock_direct_resize_cq(mock, cmd->req, cmd->rsp);
	if (cmd->req[0].iov_len != handler->req_len ||
	    cmd->rsp_len != handler->rsp_len) {
		mock_violation(mock, "command of another length", cmd->command);
		return -EREMOTEIO;
	}
	if (mock->fail[cmd->command])
		return mock->fail[cmd->command];
	if (cmd->rsp_len)
		memset(cmd->rsp, 0, cmd->rsp_len);

	switch (cmd->command) {
	case VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE:
		memcpy(cmd->rsp, &mock->query_device, cmd->rsp_len);
		return 0;
	case VIRTIO_NET_CTRL_ROCE_QUERY_PORT:
		memcpy(cmd->rsp, &mock->query_port, cmd->rsp_len);
		return 0;
	case VIRTIO_NET_CTRL_ROCE_CREATE_SRQ:
		return mock_create_srq(mock, cmd->req, cmd->rsp);
	case VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ:
		return mock_create_xrc_srq(mock, cmd->req, cmd->rsp);
	case VIRTIO_NET_CTRL_ROCE_CREATE_WQ_TABLE:
		return mock_create_wq_table(mock, cmd->req, cmd->rsp);
	case VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ:
		return mock_resize_srq(mock, cmd->req);
	case VIRTIO_NET_CTRL_ROCE_REG_USER_MR:
		return mock_reg_user_mr(mock, cmd->req[0].iov_base,
					&cmd->req[1], cmd->rsp);
	case VIRTIO_NET_CTRL_ROCE_REREG_MR:
	case VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG:
		return mock_rereg_mr(mock, cmd);
	default:
		return handler->run(mock, cmd->req[0].iov_base, cmd->rsp);
	}
}
