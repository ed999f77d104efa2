// SPDX-License-Identifier: GPL-2.0
/*
 * The control commands, one function for each.
 *
 * The device's answers are not trusted.  The commands that create CQs and QPs check the
 * number that the device returns (vroce_cmd_cq.c, vroce_cmd_qp.c); opaque handles cannot be
 * checked.  The callers make sure that a number is not already in use.
 *
 * vroce_cmd_errno() turns every refusal into an errno, and reports it if nothing excuses it.
 */
#include "virtio_net_roce.h"
#include "virtio_roce_compat.h"

#include "vroce_cmd.h"
#include "vroce_trace.h"
#include "vroce_wire.h"

/**
 * struct vroce_command - fixed properties of a command
 * @name: for messages
 * @refused: errno for the answer VIRTIO_NET_ERR, which gives no reason.  It means
 *	lack of room, or the caller's fault.  -EIO means that a correct device has no
 *	reason to refuse, so the device is at fault.
 * @destroys: the command takes something away from the device.  After a reset the device
 *	has nothing left, so the command counts as done.
 */
struct vroce_command {
	const char *name;
	int refused;
	bool destroys;
};

static const struct vroce_command vroce_commands[VIRTIO_NET_CTRL_ROCE_NUM] = {
	[VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE]	= { "QUERY_DEVICE", -EIO },
	[VIRTIO_NET_CTRL_ROCE_QUERY_PORT]	= { "QUERY_PORT", -EIO },
	[VIRTIO_NET_CTRL_ROCE_CREATE_CQ]	= { "CREATE_CQ", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_CQ]	= { "DESTROY_CQ", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_CREATE_PD]	= { "CREATE_PD", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_PD]	= { "DESTROY_PD", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_GET_DMA_MR]	= { "GET_DMA_MR", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_REG_USER_MR]	= { "REG_USER_MR", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_DEREG_MR]		= { "DEREG_MR", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_CREATE_QP]	= { "CREATE_QP", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_MODIFY_QP]	= { "MODIFY_QP", -EINVAL },
	[VIRTIO_NET_CTRL_ROCE_QUERY_QP]		= { "QUERY_QP", -EIO },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_QP]	= { "DESTROY_QP", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_CREATE_AH]	= { "CREATE_AH", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_AH]	= { "DESTROY_AH", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_ADD_GID]		= { "ADD_GID", -EINVAL },
	[VIRTIO_NET_CTRL_ROCE_DEL_GID]		= { "DEL_GID", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ]	= { "REQ_NOTIFY_CQ", -EIO },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_MR]		= { "ALLOC_MR", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_QUERY_COUNTERS]	= { "QUERY_COUNTERS", -EIO },
	[VIRTIO_NET_CTRL_ROCE_QUERY_QP_COUNTERS] = { "QUERY_QP_COUNTERS", -EIO },
	[VIRTIO_NET_CTRL_ROCE_ATTACH_MCAST]	= { "ATTACH_MCAST", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_DETACH_MCAST]	= { "DETACH_MCAST", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_DOORBELL]	= { "ALLOC_DOORBELL", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_FREE_DOORBELL]	= { "FREE_DOORBELL", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_CREATE_SRQ]	= { "CREATE_SRQ", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_MODIFY_SRQ]	= { "MODIFY_SRQ", -EINVAL },
	[VIRTIO_NET_CTRL_ROCE_QUERY_SRQ]	= { "QUERY_SRQ", -EIO },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_SRQ]	= { "DESTROY_SRQ", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ]	= { "RESIZE_SRQ", -EINVAL },
	[VIRTIO_NET_CTRL_ROCE_RESIZE_CQ]	= { "RESIZE_CQ", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_REREG_MR]		= { "REREG_MR", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_MW]		= { "ALLOC_MW", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_CREATE_XRCD]	= { "CREATE_XRCD", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_XRCD]	= { "DESTROY_XRCD", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ]	= { "CREATE_XRC_SRQ", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG]	= { "REREG_MR_LONG", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_CREATE_FLOW]	= { "CREATE_FLOW", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_FLOW]	= { "DESTROY_FLOW", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_QUERY_FLOW]	= { "QUERY_FLOW", -EIO },
	[VIRTIO_NET_CTRL_ROCE_CREATE_FLOW_LONG]	= { "CREATE_FLOW_LONG", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_MODIFY_CQ]	= { "MODIFY_CQ", -EINVAL },
	[VIRTIO_NET_CTRL_ROCE_QUERY_CLOCK]	= { "QUERY_CLOCK", -EIO },
	[VIRTIO_NET_CTRL_ROCE_CREATE_WQ_TABLE]	= { "CREATE_WQ_TABLE", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_WQ_TABLE]	= { "DESTROY_WQ_TABLE", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_CREATE_RX_HASH_QP] = { "CREATE_RX_HASH_QP", -ENOMEM },
	[VIRTIO_NET_CTRL_ROCE_QUERY_NVMF]	= { "QUERY_NVMF", -EIO },
	[VIRTIO_NET_CTRL_ROCE_QUERY_NAMESPACE]	= { "QUERY_NAMESPACE", -ENOENT },
	[VIRTIO_NET_CTRL_ROCE_SET_SRQ_NVMF]	= { "SET_SRQ_NVMF", -EINVAL },
	[VIRTIO_NET_CTRL_ROCE_CREATE_NVME_CTRL]	= { "CREATE_NVME_CTRL", -EINVAL },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_NVME_CTRL] = { "DESTROY_NVME_CTRL", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_MAP_NSID]		= { "MAP_NSID", -EINVAL },
	[VIRTIO_NET_CTRL_ROCE_UNMAP_NSID]	= { "UNMAP_NSID", -EIO, true },
	[VIRTIO_NET_CTRL_ROCE_SET_QP_NVMF]	= { "SET_QP_NVMF", -EINVAL },
};

/*
 * Translate the result of a command to an errno, and report faults of the device.  @refused
 * is the errno for a refusal.
 */
static int vroce_cmd_errno(struct virtio_net_roce_aux *aux, u8 command, int refused,
			   int err)
{
	const struct vroce_command *info = &vroce_commands[command];

	switch (err) {
	case -EREMOTEIO:
		err = refused;
		if (err == -EIO)
			dev_err_ratelimited(&aux->adev.dev, "%s failed\n",
					    info->name);
		else
			dev_dbg(&aux->adev.dev, "%s was refused\n", info->name);
		return err;
	case -EPROTO:
		dev_err_ratelimited(&aux->adev.dev,
				    "%s came back without an answer\n",
				    info->name);
		return err;
	case -ETIMEDOUT:
		dev_err_ratelimited(&aux->adev.dev, "no answer to %s\n",
				    info->name);
		return err;
	default:
		/* Success, no memory, or a queue that is already known to be dead. */
		return err;
	}
}

/**
 * vroce_cmd_bad_answer() - report a handle that the device should not have returned
 * @aux: device
 * @command: command that returned it
 * @handle: the handle
 *
 * Return: -EPROTO.
 */
int vroce_cmd_bad_answer(struct virtio_net_roce_aux *aux, u8 command, u32 handle)
{
	dev_err_ratelimited(&aux->adev.dev, "%s returned impossible number %u\n",
			    vroce_commands[command].name, handle);
	return -EPROTO;
}

/*
 * Run a command, and translate its result.  If it takes something away (@destroys), it counts
 * as done after a reset: the device has no objects left.
 */
static int vroce_cmd_traced(struct virtio_net_roce_aux *aux,
			    struct virtio_net_roce_cmd *cmd, bool destroys, int refused)
{
	const struct vroce_command *info = &vroce_commands[cmd->command];
	ktime_t start = trace_vroce_command_enabled() ? ktime_get() : 0;
	int err;

	if (destroys)
		cmd->settle = true;
	err = aux->ops->exec(aux, cmd);
	if (destroys && err == -ENODEV)
		err = 0;
	err = vroce_cmd_errno(aux, cmd->command, refused, err);
	if (start)
		trace_vroce_command(aux, info->name, cmd->command,
				    ktime_sub(ktime_get(), start), err);
	return err;
}

/* This function and the next three are for vroce_cmd*.c.  KUnit uses vroce_cmd_exec(), too. */
int vroce_cmd_run(struct virtio_net_roce_aux *aux, struct virtio_net_roce_cmd *cmd)
{
	const struct vroce_command *info = &vroce_commands[cmd->command];

	return vroce_cmd_traced(aux, cmd, info->destroys, info->refused);
}

/*
 * Run a command that takes something away from the device.  @refused is the errno for a
 * refusal.  Two commands need this, because the table cannot describe them: MODIFY_QP takes
 * requests away only if it goes to ERR or RESET, and DEREG_MR may be refused while memory
 * windows are bound.
 */
int vroce_cmd_run_destroy(struct virtio_net_roce_aux *aux, struct virtio_net_roce_cmd *cmd,
			  int refused)
{
	return vroce_cmd_traced(aux, cmd, true, refused);
}

int vroce_cmd_exec(struct virtio_net_roce_aux *aux, u8 command,
		   void *req, size_t req_len, void *rsp, size_t rsp_len)
{
	struct virtio_net_roce_cmd cmd = {
		.command = command,
		.req = { { .iov_base = req, .iov_len = req_len } },
		.rsp = rsp,
		.rsp_len = rsp_len,
	};

	return vroce_cmd_run(aux, &cmd);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_exec);

/*
 * A command whose request ends with a list of pages, or whose memory the caller frees if
 * it fails, so that the outcome must be certain.
 */
int vroce_cmd_exec_pages(struct virtio_net_roce_aux *aux, u8 command,
			 void *req, size_t req_len, const __le64 *pages,
			 u32 npages, void *rsp, size_t rsp_len)
{
	struct virtio_net_roce_cmd cmd = {
		.command = command,
		.settle = true,
		.req = {
			{ .iov_base = req, .iov_len = req_len },
			{ .iov_base = (void *)pages,
			  .iov_len = array_size(npages, sizeof(*pages)) },
		},
		.rsp = rsp,
		.rsp_len = rsp_len,
	};

	return vroce_cmd_run(aux, &cmd);
}

/**
 * vroce_cmd_query_device() - ask what the device can do
 * @aux: device
 * @attr: result, as the device gave it
 *
 * Context: may sleep, as all commands may that have no parameter "atomic".
 * Return: 0 or -errno, as all commands do.
 */
int vroce_cmd_query_device(struct virtio_net_roce_aux *aux,
			   struct vroce_device_attr *attr)
{
	struct virtio_rdma_ack_query_device rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE, NULL, 0,
			     &rsp, sizeof(rsp));
	if (err)
		return err;

	attr->device_cap_flags = le64_to_cpu(rsp.device_cap_flags);
	attr->max_mr_size = le64_to_cpu(rsp.max_mr_size);
	attr->page_size_cap = le64_to_cpu(rsp.page_size_cap);
	attr->hw_ver = le32_to_cpu(rsp.hw_ver);
	attr->max_qp_wr = le32_to_cpu(rsp.max_qp_wr);
	attr->max_send_sge = le32_to_cpu(rsp.max_send_sge);
	attr->max_recv_sge = le32_to_cpu(rsp.max_recv_sge);
	attr->max_sge_rd = le32_to_cpu(rsp.max_sge_rd);
	attr->max_cqe = le32_to_cpu(rsp.max_cqe);
	attr->max_mr = le32_to_cpu(rsp.max_mr);
	attr->max_pd = le32_to_cpu(rsp.max_pd);
	attr->max_qp_rd_atom = le32_to_cpu(rsp.max_qp_rd_atom);
	attr->max_qp_init_rd_atom = le32_to_cpu(rsp.max_qp_init_rd_atom);
	attr->max_ah = le32_to_cpu(rsp.max_ah);
	attr->local_ca_ack_delay = rsp.local_ca_ack_delay;
	attr->max_fast_reg_pages = le32_to_cpu(rsp.max_fast_reg_pages);
	attr->max_mcast_grp = le32_to_cpu(rsp.max_mcast_grp);
	attr->max_mcast_qp_attach = le32_to_cpu(rsp.max_mcast_qp_attach);
	attr->max_direct_qp = le32_to_cpu(rsp.max_direct_qp);
	attr->max_direct_cq = le32_to_cpu(rsp.max_direct_cq);
	attr->max_direct_wr = le32_to_cpu(rsp.max_direct_wr);
	attr->max_direct_cqe = le32_to_cpu(rsp.max_direct_cqe);
	attr->max_doorbells = le32_to_cpu(rsp.max_doorbells);
	attr->max_srq = le32_to_cpu(rsp.max_srq);
	attr->max_xrcd = le32_to_cpu(rsp.max_xrcd);
	attr->max_flow = le32_to_cpu(rsp.max_flow);
	attr->max_wq_tables = le32_to_cpu(rsp.max_wq_tables);
	attr->max_wq_table_size = le32_to_cpu(rsp.max_wq_table_size);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_device);

/**
 * vroce_cmd_query_port() - ask what the port can do
 * @aux: device
 * @attr: result, as the device gave it
 */
int vroce_cmd_query_port(struct virtio_net_roce_aux *aux,
			 struct vroce_port_attr *attr)
{
	struct virtio_rdma_ack_query_port rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_PORT, NULL, 0,
			     &rsp, sizeof(rsp));
	if (err)
		return err;

	attr->gid_tbl_len = le32_to_cpu(rsp.gid_tbl_len);
	attr->max_msg_sz = le32_to_cpu(rsp.max_msg_sz);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_port);

static void vroce_cmd_counters(const struct virtio_rdma_ack_query_counters *rsp,
			       u64 values[VIRTIO_RDMA_CNT_NUM])
{
	unsigned int i;

	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		values[i] = le64_to_cpu(rsp->value[i]);
}

/**
 * vroce_cmd_query_counters() - ask for what was counted
 * @aux: device
 * @values: result, by &enum virtio_rdma_counter
 */
int vroce_cmd_query_counters(struct virtio_net_roce_aux *aux,
			     u64 values[VIRTIO_RDMA_CNT_NUM])
{
	struct virtio_rdma_ack_query_counters rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_COUNTERS, NULL, 0,
			     &rsp, sizeof(rsp));
	if (!err)
		vroce_cmd_counters(&rsp, values);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_counters);

/**
 * vroce_cmd_query_qp_counters() - ask for what a QP has counted
 * @aux: device
 * @qpn: number of the QP
 * @values: result, by &enum virtio_rdma_counter
 */
int vroce_cmd_query_qp_counters(struct virtio_net_roce_aux *aux, u32 qpn,
				u64 values[VIRTIO_RDMA_CNT_NUM])
{
	struct virtio_rdma_cmd_query_qp_counters req = { .qpn = cpu_to_le32(qpn) };
	struct virtio_rdma_ack_query_counters rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_QP_COUNTERS, &req, sizeof(req),
			     &rsp, sizeof(rsp));
	if (!err)
		vroce_cmd_counters(&rsp, values);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_qp_counters);

/**
 * vroce_cmd_query_clock() - read the clock of completions
 * @aux: device
 * @time: result, in ns
 */
int vroce_cmd_query_clock(struct virtio_net_roce_aux *aux, u64 *time)
{
	struct virtio_rdma_ack_query_clock rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_QUERY_CLOCK, NULL, 0,
			     &rsp, sizeof(rsp));
	if (!err)
		*time = le64_to_cpu(rsp.time);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_query_clock);

/**
 * vroce_cmd_alloc_doorbell() - share a doorbell page with the device
 * @aux: device
 * @page: its device address
 * @vq: number of the doorbell virtqueue
 * @handle: its handle
 */
int vroce_cmd_alloc_doorbell(struct virtio_net_roce_aux *aux, dma_addr_t page,
			     u16 vq, u32 *handle)
{
	struct virtio_rdma_cmd_alloc_doorbell req = {
		.page = cpu_to_le64(page),
		.vq = cpu_to_le16(vq),
	};
	struct virtio_rdma_ack_alloc_doorbell rsp = {};
	int err;

	err = vroce_cmd_exec_pages(aux, VIRTIO_NET_CTRL_ROCE_ALLOC_DOORBELL,
				   &req, sizeof(req), NULL, 0, &rsp,
				   sizeof(rsp));
	if (!err)
		*handle = le32_to_cpu(rsp.doorbell);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_alloc_doorbell);

/**
 * vroce_cmd_free_doorbell() - undo vroce_cmd_alloc_doorbell()
 * @aux: device
 * @handle: handle of a page that no QP uses
 */
int vroce_cmd_free_doorbell(struct virtio_net_roce_aux *aux, u32 handle)
{
	struct virtio_rdma_cmd_free_doorbell req = {
		.doorbell = cpu_to_le32(handle),
	};

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_FREE_DOORBELL,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_free_doorbell);

/**
 * vroce_cmd_create_pd() - make a protection domain
 * @aux: device
 * @pdn: its handle
 */
int vroce_cmd_create_pd(struct virtio_net_roce_aux *aux, u32 *pdn)
{
	struct virtio_rdma_ack_create_pd rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_CREATE_PD, NULL, 0,
			     &rsp, sizeof(rsp));
	if (err)
		return err;

	*pdn = le32_to_cpu(rsp.pdn);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_pd);

/**
 * vroce_cmd_destroy_pd() - destroy a protection domain
 * @aux: device
 * @pdn: its handle
 */
int vroce_cmd_destroy_pd(struct virtio_net_roce_aux *aux, u32 pdn)
{
	struct virtio_rdma_cmd_destroy_pd req = { .pdn = cpu_to_le32(pdn) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_PD,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_destroy_pd);

/**
 * vroce_cmd_create_ah() - make an address handle
 * @aux: device
 * @atomic: the caller must not sleep
 * @pdn: protection domain
 * @attr: resolved RoCE address
 * @ahn: its handle
 */
int vroce_cmd_create_ah(struct virtio_net_roce_aux *aux, bool atomic, u32 pdn,
			const struct rdma_ah_attr *attr, u32 *ahn)
{
	struct virtio_rdma_cmd_create_ah req = { .pdn = cpu_to_le32(pdn) };
	struct virtio_rdma_ack_create_ah rsp = {};
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_CREATE_AH,
		.atomic = atomic,
		.undo = VIRTIO_NET_CTRL_ROCE_DESTROY_AH,
		.req = { { .iov_base = &req, .iov_len = sizeof(req) } },
		.rsp = &rsp,
		.rsp_len = sizeof(rsp),
	};
	int err;

	vroce_ah_attr_to_wire(attr, &req.ah_attr);
	err = vroce_cmd_run(aux, &cmd);
	if (err)
		return err;

	*ahn = le32_to_cpu(rsp.ah);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_create_ah);

/**
 * vroce_cmd_destroy_ah() - destroy an address handle
 * @aux: device
 * @pdn: its protection domain
 * @ahn: its handle
 */
int vroce_cmd_destroy_ah(struct virtio_net_roce_aux *aux, u32 pdn, u32 ahn)
{
	struct virtio_rdma_cmd_destroy_ah req = {
		.pdn = cpu_to_le32(pdn),
		.ah = cpu_to_le32(ahn),
	};

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DESTROY_AH,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_destroy_ah);

/**
 * vroce_cmd_add_gid() - write an entry of the GID table
 * @aux: device
 * @index: entry
 * @gid: GID
 * @vlan: number of its VLAN, 0 for none
 */
int vroce_cmd_add_gid(struct virtio_net_roce_aux *aux, u16 index,
		      const union ib_gid *gid, u16 vlan)
{
	struct virtio_rdma_cmd_add_gid req = { .index = cpu_to_le16(index) };

	if (vlan)
		req.vlan = cpu_to_le16(VIRTIO_RDMA_GID_TAGGED | vlan);
	memcpy(req.gid, gid->raw, sizeof(req.gid));
	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_ADD_GID,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_add_gid);

/**
 * vroce_cmd_del_gid() - clear an entry of the GID table
 * @aux: device
 * @index: entry
 */
int vroce_cmd_del_gid(struct virtio_net_roce_aux *aux, u16 index)
{
	struct virtio_rdma_cmd_del_gid req = { .index = cpu_to_le16(index) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DEL_GID,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_del_gid);

static int vroce_cmd_exec_mcast(struct virtio_net_roce_aux *aux, u8 command,
				u32 qpn, const union ib_gid *gid)
{
	struct virtio_rdma_cmd_mcast req = { .qpn = cpu_to_le32(qpn) };

	memcpy(req.gid, gid->raw, sizeof(req.gid));
	return vroce_cmd_exec(aux, command, &req, sizeof(req), NULL, 0);
}

/**
 * vroce_cmd_attach_mcast() - make a QP receive datagrams sent to a group
 * @aux: device
 * @qpn: the QP
 * @gid: the group
 */
int vroce_cmd_attach_mcast(struct virtio_net_roce_aux *aux, u32 qpn,
			   const union ib_gid *gid)
{
	return vroce_cmd_exec_mcast(aux, VIRTIO_NET_CTRL_ROCE_ATTACH_MCAST,
				    qpn, gid);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_attach_mcast);

/**
 * vroce_cmd_detach_mcast() - undo vroce_cmd_attach_mcast()
 * @aux: device
 * @qpn: the QP
 * @gid: the group
 */
int vroce_cmd_detach_mcast(struct virtio_net_roce_aux *aux, u32 qpn,
			   const union ib_gid *gid)
{
	return vroce_cmd_exec_mcast(aux, VIRTIO_NET_CTRL_ROCE_DETACH_MCAST,
				    qpn, gid);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_detach_mcast);
