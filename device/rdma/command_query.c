// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Control commands that ask what the device can, and what it has counted.
 */
#include <endian.h>

#include "base/place.h"
#include "base/util.h"
#include "rdma/command_query.h"
#include "rdma/rnic_priv.h"

#define COMMAND_HW_VER	1

static void command_query_direct(const struct rnic_limits *limits,
				 struct virtio_rdma_ack_query_device *ack)
{
	ack->device_cap_flags |= htole64(VIRTIO_IB_DEVICE_DIRECT |
					 VIRTIO_IB_DEVICE_SRQ |
					 VIRTIO_IB_DEVICE_SRQ_RESIZE |
					 VIRTIO_IB_DEVICE_XRC |
					 VIRTIO_IB_DEVICE_RAW_PACKET |
					 VIRTIO_IB_DEVICE_FLOW |
					 VIRTIO_IB_DEVICE_RSS |
					 VIRTIO_IB_DEVICE_RAW_CSUM |
					 VIRTIO_IB_DEVICE_RAW_VLAN |
					 VIRTIO_IB_DEVICE_RAW_TSO |
					 VIRTIO_IB_DEVICE_FLOW_COUNT |
					 VIRTIO_IB_DEVICE_CQ_TIMESTAMP);
	ack->max_direct_qp = htole32(limits->direct_qps);
	ack->max_direct_cq = htole32(limits->direct_cqs);
	ack->max_direct_wr = htole32(RNIC_DIRECT_WR_MAX);
	ack->max_direct_cqe = htole32(RNIC_DIRECT_CQE_MAX);
	ack->max_doorbells = htole32(RNIC_DOORBELLS_MAX);
	ack->max_srq = htole32(RNIC_SRQS_MAX);
	ack->max_xrcd = htole32(RNIC_XRCDS_MAX);
	ack->max_flow = htole32(RNIC_FLOWS_MAX);
	ack->max_wq_tables = htole32(RNIC_WQ_TABLES_MAX);
	ack->max_wq_table_size = htole32(RSS_TABLE_MAX);
}

const char *command_query_clock(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_ack_query_clock *ack = args->rsp;

	rnic->ctx.clock_known = true;
	*ack = (struct virtio_rdma_ack_query_clock) {
		.time = htole64(rnic_clock(&rnic->ctx)),
	};
	return NULL;
}

const char *command_query_device(struct rnic *rnic, const struct command_args *args)
{
	const struct rnic_limits *limits = &rnic->ctx.limits;
	struct virtio_rdma_ack_query_device *ack = args->rsp;

	*ack = (struct virtio_rdma_ack_query_device) {
		.device_cap_flags = htole64(VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN),
		.max_mr_size = htole64(rnic_mr_size_max(&rnic->ctx)),
		.page_size_cap = htole64(RNIC_PAGE_SIZE),
		.hw_ver = htole32(COMMAND_HW_VER),
		.max_qp_wr = htole32(limits->queue_size),
		.max_send_sge = htole32(RNIC_MAX_SGE),
		.max_recv_sge = htole32(RNIC_MAX_SGE),
		.max_sge_rd = htole32(RNIC_MAX_SGE),
		.max_cqe = htole32(limits->cqe),
		.max_mr = htole32(limits->mrs),
		.max_pd = htole32(limits->pds),
		.max_qp_rd_atom = htole32(RNIC_MAX_RD_ATOMIC),
		.max_qp_init_rd_atom = htole32(RNIC_MAX_RD_ATOMIC),
		.max_ah = htole32(limits->ahs),
		.local_ca_ack_delay = RNIC_ACK_DELAY,
	};
	if (limits->rfc)
		return NULL;
	if (rnic->subs.host)
		ack->device_cap_flags |= htole64(VIRTIO_IB_DEVICE_NVMF);
	if (limits->event_vqs)
		ack->device_cap_flags |= htole64(VIRTIO_IB_DEVICE_EVENTS |
						 VIRTIO_IB_DEVICE_QP_EVENTS |
						 VIRTIO_IB_DEVICE_CQ_MODERATE);
	ack->device_cap_flags |= htole64(VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS |
					 VIRTIO_IB_DEVICE_COUNTERS |
					 VIRTIO_IB_DEVICE_QP_COUNTERS |
					 VIRTIO_IB_DEVICE_GID_VLAN |
					 VIRTIO_IB_DEVICE_RATE_BURST |
					 VIRTIO_IB_DEVICE_CQ_HOLD |
					 VIRTIO_IB_DEVICE_MCAST |
					 VIRTIO_IB_DEVICE_FLUSH |
					 VIRTIO_IB_DEVICE_RESET_SLOTS |
					 VIRTIO_IB_DEVICE_REREG_MR |
					 VIRTIO_IB_DEVICE_ZERO_BASED |
					 VIRTIO_IB_DEVICE_MEM_WINDOW |
					 VIRTIO_IB_DEVICE_MR_PAGE_SHIFT |
					 VIRTIO_IB_DEVICE_MR_INDIRECT);
	ack->page_size_cap = htole64(RNIC_MR_PAGE_SIZES);
	if (rnic_has_atomics(&rnic->ctx))
		ack->device_cap_flags |= htole64(VIRTIO_IB_DEVICE_ATOMIC |
						 VIRTIO_IB_DEVICE_ATOMIC_WRITE);
	if (place_is_in_order())
		ack->device_cap_flags |= htole64(VIRTIO_IB_DEVICE_DATA_IN_ORDER);
	if (rnic_has_direct(&rnic->ctx))
		command_query_direct(limits, ack);
	ack->max_fast_reg_pages = htole32(RNIC_FAST_REG_PAGES);
	ack->max_mcast_grp = htole32(MCAST_GROUPS);
	ack->max_mcast_qp_attach = htole32(MCAST_QPS);
	return NULL;
}

const char *command_query_port(struct rnic *rnic __always_unused, const struct command_args *args)
{
	struct virtio_rdma_ack_query_port *ack = args->rsp;

	*ack = (struct virtio_rdma_ack_query_port) {
		.gid_tbl_len = htole32(RNIC_GIDS),
		.max_msg_sz = htole32(RNIC_MAX_MSG),
	};
	return NULL;
}

static void command_answer_counters(const struct command_args *args, const uint64_t *counter)
{
	struct virtio_rdma_ack_query_counters *ack = args->rsp;
	unsigned int i;

	*ack = (struct virtio_rdma_ack_query_counters) {};
	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		ack->value[i] = htole64(counter[i]);
}

const char *command_query_counters(struct rnic *rnic, const struct command_args *args)
{
	command_answer_counters(args, rnic->ctx.counter);
	return NULL;
}

const char *command_query_qp_counters(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_query_qp_counters *cmd = args->req;
	const struct qp *qp = qp_get(&rnic->qps, le32toh(cmd->qpn));

	if (!qp)
		return "unknown QP";
	command_answer_counters(args, qp->counter);
	return NULL;
}
