// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Control commands for objects, as long as they have no list of pages.
 */
#include <endian.h>
#include <string.h>

#include "rdma/command_obj.h"
#include "rdma/qp/qp_life.h"
#include "rdma/qp/qp_state.h"
#include "rdma/rnic_priv.h"

const char *const command_again = "command is carried out again";

const char *command_query_nvmf(struct rnic *rnic, const struct command_args *args)
{
	return subsys_query(&rnic->subs, args->rsp);
}

const char *command_query_namespace(struct rnic *rnic, const struct command_args *args)
{
	return subsys_query_ns(&rnic->subs, args->req, args->rsp);
}

const char *command_set_srq_nvmf(struct rnic *rnic, const struct command_args *args)
{
	return subsys_set_srq(&rnic->subs, args->req);
}

const char *command_create_nvme_ctrl(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_ack_create_nvme_ctrl *ack = args->rsp;
	uint32_t ctrl = 0;
	const char *why = subsys_create_ctrl(&rnic->subs, args->req, &ctrl);

	ack->ctrl = htole32(ctrl);
	return why;
}

const char *command_destroy_nvme_ctrl(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_nvme_ctrl *cmd = args->req;

	return subsys_destroy_ctrl(&rnic->subs, le32toh(cmd->ctrl));
}

const char *command_map_nsid(struct rnic *rnic, const struct command_args *args)
{
	return subsys_map_nsid(&rnic->subs, args->req);
}

const char *command_unmap_nsid(struct rnic *rnic, const struct command_args *args)
{
	return subsys_unmap_nsid(&rnic->subs, args->req);
}

const char *command_set_qp_nvmf(struct rnic *rnic, const struct command_args *args)
{
	return subsys_set_qp(&rnic->subs, args->req);
}

const char *command_destroy_cq(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_cq *cmd = args->req;

	return cq_destroy(&rnic->cqs, le32toh(cmd->cqn));
}

const char *command_modify_cq(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_modify_cq *cmd = args->req;

	return cq_modify(&rnic->cqs, le32toh(cmd->cqn), le16toh(cmd->count),
			 le16toh(cmd->period));
}

const char *command_create_pd(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_ack_create_pd *ack = args->rsp;
	uint32_t pdn = 0;
	const char *why = pd_create(&rnic->pds, &pdn);

	ack->pdn = htole32(pdn);
	return why;
}

const char *command_destroy_pd(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_pd *cmd = args->req;

	return pd_destroy(&rnic->pds, le32toh(cmd->pdn));
}

const char *command_create_xrcd(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_ack_create_xrcd *ack = args->rsp;
	uint32_t xrcd = 0;
	const char *why = xrcd_create(&rnic->xrcds, &xrcd);

	ack->xrcd = htole32(xrcd);
	return why;
}

const char *command_destroy_xrcd(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_xrcd *cmd = args->req;

	return xrcd_destroy(&rnic->xrcds, le32toh(cmd->xrcd));
}

const char *command_modify_srq(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_modify_srq *cmd = args->req;

	return srq_modify(&rnic->srqs, le32toh(cmd->srq), le32toh(cmd->limit));
}

const char *command_query_srq(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_query_srq *cmd = args->req;

	return srq_query(&rnic->srqs, le32toh(cmd->srq), args->rsp);
}

const char *command_destroy_srq(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_srq *cmd = args->req;
	bool more = false;
	const char *why;

	subsys_srq_gone(&rnic->subs, le32toh(cmd->srq));
	why = srq_destroy(&rnic->srqs, le32toh(cmd->srq), &more);
	return more ? command_again : why;
}

const char *command_modify_qp(struct rnic *rnic, const struct command_args *args)
{
	return qp_modify(&rnic->qps, args->req);
}

const char *command_query_qp(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_query_qp *cmd = args->req;

	return qp_query(&rnic->qps, le32toh(cmd->qpn), args->rsp);
}

const char *command_destroy_qp(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_qp *cmd = args->req;

	bool more = false;
	const char *why = qp_destroy(&rnic->qps, le32toh(cmd->qpn), &more);

	return more ? command_again : why;
}

const char *command_create_ah(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_create_ah *cmd = args->req;
	struct virtio_rdma_ack_create_ah *ack = args->rsp;
	uint32_t ah = 0;
	const char *why = ah_create(&rnic->ahs, le32toh(cmd->pdn), &cmd->ah_attr, &ah);

	ack->ah = htole32(ah);
	return why;
}

const char *command_destroy_ah(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_ah *cmd = args->req;

	return ah_destroy(&rnic->ahs, le32toh(cmd->pdn), le32toh(cmd->ah));
}

const char *command_add_gid(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_add_gid *cmd = args->req;

	/* It is padding in the RFC. */
	return gid_add(&rnic->gids, le16toh(cmd->index), cmd->gid,
		       rnic->ctx.limits.rfc ? 0 : le16toh(cmd->vlan));
}

const char *command_del_gid(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_del_gid *cmd = args->req;

	return gid_del(&rnic->gids, le16toh(cmd->index));
}

const char *command_req_notify(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_req_notify *cmd = args->req;

	return cq_arm(&rnic->cqs, le32toh(cmd->cqn), le32toh(cmd->flags));
}

const char *command_alloc_doorbell(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_alloc_doorbell *cmd = args->req;
	struct virtio_rdma_ack_alloc_doorbell *ack = args->rsp;
	uint32_t doorbell = 0;
	const char *why = "unknown command";

	if (rnic_has_direct(&rnic->ctx))
		why = doorbell_alloc(&rnic->doorbells, le64toh(cmd->page),
				     le16toh(cmd->vq), &doorbell);
	ack->doorbell = htole32(doorbell);
	return why;
}

const char *command_free_doorbell(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_free_doorbell *cmd = args->req;

	return doorbell_free(&rnic->doorbells, le32toh(cmd->doorbell));
}

const char *command_attach_mcast(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_mcast *cmd = args->req;

	return qp_attach_mcast(&rnic->qps, le32toh(cmd->qpn), cmd->gid);
}

const char *command_detach_mcast(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_mcast *cmd = args->req;

	return mcast_detach(&rnic->mcast, le32toh(cmd->qpn), cmd->gid);
}

const char *command_create_flow_long(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_ack_create_flow *ack = args->rsp;
	const char *why = "unknown command";
	uint32_t flow = 0;

	if (rnic_has_direct(&rnic->ctx))
		why = qp_create_flow(&rnic->qps, args->req, &flow);
	ack->flow = htole32(flow);
	return why;
}

const char *command_create_flow(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_cmd_create_flow_long req = {};
	struct command_args long_args = *args;

	memcpy(&req.flow, args->req, sizeof(req.flow));
	long_args.req = &req;
	return command_create_flow_long(rnic, &long_args);
}

const char *command_query_flow(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_query_flow *cmd = args->req;

	return rule_query(&rnic->rules, le32toh(cmd->flow), args->rsp);
}

const char *command_destroy_flow(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_flow *cmd = args->req;

	return rule_destroy(&rnic->rules, le32toh(cmd->flow));
}

const char *command_create_wq_table(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_create_wq_table *cmd = args->req;
	struct virtio_rdma_ack_create_wq_table *ack = args->rsp;
	const struct rnic_request *req = args->whole;
	__le32 wqn[RSS_TABLE_MAX];
	uint32_t table = 0;
	const char *why;
	size_t size;

	ack->table = 0;
	if (!rnic_has_direct(&rnic->ctx))
		return "unknown command";
	if (cmd->log_size > VIRTIO_RDMA_WQ_TABLE_LOG_MAX)
		return "indirection table too large";
	size = sizeof(*wqn) << cmd->log_size;
	if (req->len != sizeof(*cmd) + size)
		return "request has another number of work queues than it says";
	iov_to_buf(req->iov, req->iov_n, req->off + sizeof(*cmd), wqn, size);
	why = wq_table_create(&rnic->tables, cmd->log_size, wqn, &table);
	ack->table = htole32(table);
	return why;
}

const char *command_destroy_wq_table(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_wq_table *cmd = args->req;

	return wq_table_destroy(&rnic->tables, le32toh(cmd->table));
}

const char *command_create_rx_hash_qp(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_ack_create_qp *ack = args->rsp;
	uint32_t qpn = 0;
	const char *why = qp_create_rx_hash(&rnic->qps, args->req, &qpn);

	ack->qpn = htole32(qpn);
	return why;
}
