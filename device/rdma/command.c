// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Control commands of class VIRTIO_NET_CTRL_ROCE, by table.
 *
 * The table says how long request and response are, so that a handler finds
 * what it reads and writes.  Nothing is copied of a request of a wrong length.  A
 * handler that fails has changed nothing and tells why; the guest gets
 * VIRTIO_NET_ERR, the log one line.
 */
#include <linux/virtio_net.h>

#include "base/util.h"
#include "rdma/command.h"
#include "rdma/command_obj.h"
#include "rdma/command_pages.h"
#include "rdma/command_query.h"
#include "rdma/rnic_priv.h"

/* Largest size of the fixed part of a request. */
#define COMMAND_REQ_MAX	256

/* Memory of objects that is not given back yet: if it is more, commands wait. */
#define COMMAND_DEBT	(32u << 20)

/**
 * struct command_row - a control command
 * @name:	for messages
 * @fn:		carries it out
 * @req_len:	bytes of its request
 * @rsp_len:	bytes of its response
 * @more:	its handler looks at what follows the @req_len bytes
 */
struct command_row {
	const char *name;
	command_fn *fn;
	size_t req_len;
	size_t rsp_len;
	bool more;
};

#define CMD(name)	sizeof(struct virtio_rdma_cmd_ ## name)
#define ACK(name)	sizeof(struct virtio_rdma_ack_ ## name)
#define C(name)		[VIRTIO_NET_CTRL_ROCE_ ## name]

static const struct command_row command_table[VIRTIO_NET_CTRL_ROCE_NUM] = {
	C(QUERY_DEVICE) = { "QUERY_DEVICE", command_query_device,
			    0, ACK(query_device), false },
	C(QUERY_PORT) = { "QUERY_PORT", command_query_port,
			  0, ACK(query_port), false },
	C(CREATE_CQ) = { "CREATE_CQ", command_create_cq,
			 CMD(create_cq), ACK(create_cq), true },
	C(DESTROY_CQ) = { "DESTROY_CQ", command_destroy_cq,
			  CMD(destroy_cq), 0, false },
	C(MODIFY_CQ) = { "MODIFY_CQ", command_modify_cq,
			 CMD(modify_cq), 0, false },
	C(QUERY_CLOCK) = { "QUERY_CLOCK", command_query_clock,
			   0, ACK(query_clock), false },
	C(QUERY_NVMF) = { "QUERY_NVMF", command_query_nvmf,
			  0, ACK(query_nvmf), false },
	C(QUERY_NAMESPACE) = { "QUERY_NAMESPACE", command_query_namespace,
			       CMD(query_namespace), ACK(query_namespace), false },
	C(SET_SRQ_NVMF) = { "SET_SRQ_NVMF", command_set_srq_nvmf,
			    CMD(set_srq_nvmf), 0, false },
	C(CREATE_NVME_CTRL) = { "CREATE_NVME_CTRL", command_create_nvme_ctrl,
				CMD(create_nvme_ctrl), ACK(create_nvme_ctrl), false },
	C(DESTROY_NVME_CTRL) = { "DESTROY_NVME_CTRL", command_destroy_nvme_ctrl,
				 CMD(destroy_nvme_ctrl), 0, false },
	C(MAP_NSID) = { "MAP_NSID", command_map_nsid, CMD(map_nsid), 0, false },
	C(UNMAP_NSID) = { "UNMAP_NSID", command_unmap_nsid, CMD(unmap_nsid), 0, false },
	C(SET_QP_NVMF) = { "SET_QP_NVMF", command_set_qp_nvmf,
			   CMD(set_qp_nvmf), 0, false },
	C(CREATE_PD) = { "CREATE_PD", command_create_pd,
			 0, ACK(create_pd), false },
	C(DESTROY_PD) = { "DESTROY_PD", command_destroy_pd,
			  CMD(destroy_pd), 0, false },
	C(GET_DMA_MR) = { "GET_DMA_MR", command_get_dma_mr,
			  CMD(get_dma_mr), ACK(mr), false },
	C(REG_USER_MR) = { "REG_USER_MR", command_reg_user_mr,
			   CMD(reg_user_mr), ACK(mr), true },
	C(REREG_MR) = { "REREG_MR", command_rereg_mr,
			CMD(rereg_mr), 0, true },
	C(REREG_MR_LONG) = { "REREG_MR_LONG", command_rereg_mr_long,
			     CMD(rereg_mr_long), 0, true },
	C(DEREG_MR) = { "DEREG_MR", command_dereg_mr,
			CMD(dereg_mr), 0, false },
	C(CREATE_QP) = { "CREATE_QP", command_create_qp,
			 CMD(create_qp), ACK(create_qp), true },
	C(MODIFY_QP) = { "MODIFY_QP", command_modify_qp,
			 CMD(modify_qp), 0, false },
	C(QUERY_QP) = { "QUERY_QP", command_query_qp,
			CMD(query_qp), ACK(query_qp), false },
	C(DESTROY_QP) = { "DESTROY_QP", command_destroy_qp,
			  CMD(destroy_qp), 0, false },
	C(CREATE_AH) = { "CREATE_AH", command_create_ah,
			 CMD(create_ah), ACK(create_ah), false },
	C(DESTROY_AH) = { "DESTROY_AH", command_destroy_ah,
			  CMD(destroy_ah), 0, false },
	C(ADD_GID) = { "ADD_GID", command_add_gid,
		       CMD(add_gid), 0, false },
	C(DEL_GID) = { "DEL_GID", command_del_gid,
		       CMD(del_gid), 0, false },
	C(REQ_NOTIFY_CQ) = { "REQ_NOTIFY_CQ", command_req_notify,
			     CMD(req_notify), 0, false },
	C(ALLOC_MR) = { "ALLOC_MR", command_alloc_mr,
			CMD(alloc_mr), ACK(mr), false },
	C(ALLOC_MW) = { "ALLOC_MW", command_alloc_mw,
			CMD(alloc_mw), ACK(mr), false },
	C(QUERY_COUNTERS) = { "QUERY_COUNTERS", command_query_counters,
			      0, ACK(query_counters), false },
	C(QUERY_QP_COUNTERS) = { "QUERY_QP_COUNTERS", command_query_qp_counters,
				 CMD(query_qp_counters), ACK(query_counters), false },
	C(ATTACH_MCAST) = { "ATTACH_MCAST", command_attach_mcast,
			    CMD(mcast), 0, false },
	C(DETACH_MCAST) = { "DETACH_MCAST", command_detach_mcast,
			    CMD(mcast), 0, false },
	C(ALLOC_DOORBELL) = { "ALLOC_DOORBELL", command_alloc_doorbell,
			      CMD(alloc_doorbell), ACK(alloc_doorbell), false },
	C(FREE_DOORBELL) = { "FREE_DOORBELL", command_free_doorbell,
			     CMD(free_doorbell), 0, false },
	C(CREATE_SRQ) = { "CREATE_SRQ", command_create_srq,
			  CMD(create_srq), ACK(create_srq), true },
	C(MODIFY_SRQ) = { "MODIFY_SRQ", command_modify_srq,
			  CMD(modify_srq), 0, false },
	C(QUERY_SRQ) = { "QUERY_SRQ", command_query_srq,
			 CMD(query_srq), ACK(query_srq), false },
	C(DESTROY_SRQ) = { "DESTROY_SRQ", command_destroy_srq,
			   CMD(destroy_srq), 0, false },
	C(RESIZE_SRQ) = { "RESIZE_SRQ", command_resize_srq,
			  CMD(resize_srq), 0, true },
	C(CREATE_XRCD) = { "CREATE_XRCD", command_create_xrcd,
			   0, ACK(create_xrcd), false },
	C(DESTROY_XRCD) = { "DESTROY_XRCD", command_destroy_xrcd,
			    CMD(destroy_xrcd), 0, false },
	C(CREATE_XRC_SRQ) = { "CREATE_XRC_SRQ", command_create_xrc_srq,
			      CMD(create_xrc_srq), ACK(create_srq), true },
	C(RESIZE_CQ) = { "RESIZE_CQ", command_resize_cq,
			 CMD(resize_cq), ACK(resize_cq), true },
	C(CREATE_FLOW) = { "CREATE_FLOW", command_create_flow,
			   CMD(create_flow), ACK(create_flow), false },
	C(DESTROY_FLOW) = { "DESTROY_FLOW", command_destroy_flow,
			    CMD(destroy_flow), 0, false },
	C(QUERY_FLOW) = { "QUERY_FLOW", command_query_flow,
			  CMD(query_flow), ACK(query_flow), false },
	C(CREATE_FLOW_LONG) = { "CREATE_FLOW_LONG", command_create_flow_long,
				CMD(create_flow_long), ACK(create_flow), false },
	C(CREATE_WQ_TABLE) = { "CREATE_WQ_TABLE", command_create_wq_table,
			       CMD(create_wq_table), ACK(create_wq_table), true },
	C(DESTROY_WQ_TABLE) = { "DESTROY_WQ_TABLE", command_destroy_wq_table,
				CMD(destroy_wq_table), 0, false },
	C(CREATE_RX_HASH_QP) = { "CREATE_RX_HASH_QP", command_create_rx_hash_qp,
				 CMD(create_rx_hash_qp), ACK(create_qp), false },
};

_Static_assert(ACK(query_device) <= RNIC_RSP_MAX &&
	       ACK(query_qp) <= RNIC_RSP_MAX &&
	       ACK(query_counters) <= RNIC_RSP_MAX,
	       "RNIC_RSP_MAX is smaller than a response");

_Static_assert(CMD(create_qp) <= COMMAND_REQ_MAX &&
	       CMD(modify_qp) <= COMMAND_REQ_MAX &&
	       CMD(create_ah) <= COMMAND_REQ_MAX &&
	       CMD(create_flow_long) <= COMMAND_REQ_MAX &&
	       CMD(reg_user_mr) <= COMMAND_REQ_MAX,
	       "COMMAND_REQ_MAX is smaller than a request");

static const char *command_run(struct rnic *rnic, const struct command_row *command,
			       const struct rnic_request *req, void *rsp,
			       size_t rsp_size)
{
	uint64_t fixed[COMMAND_REQ_MAX / sizeof(uint64_t)];
	const struct command_args args = {
		.req = fixed,
		.whole = req,
		.rsp = rsp,
	};

	if (req->len < command->req_len)
		return "request too short";
	if (req->len > command->req_len && !command->more) {
		const char *why = command_check_surplus(req, command->req_len);

		if (why)
			return why;
	}
	if (rsp_size < command->rsp_len)
		return "no room for the response";
	iov_to_buf(req->iov, req->iov_n, req->off, fixed, command->req_len);
	/* It returns a constant text. */
	/* cppcheck-suppress returnDanglingLifetime */
	return command->fn(rnic, &args);
}

static bool command_is_known(const struct rnic *rnic, uint8_t command)
{
	uint8_t num = rnic->ctx.limits.rfc ?
		      VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ + 1 :
		      VIRTIO_NET_CTRL_ROCE_NUM;

	return command < num && command_table[command].fn;
}

static uint8_t command_ack(struct rnic *rnic, const struct command_row *command,
			   const char *why, size_t *rsp_len)
{
	*rsp_len = 0;
	rnic->again = why == command_again;
	if (why == command_goes_on || rnic->again)
		return RNIC_COMMAND_MORE;
	if (why) {
		rnic_warn(&rnic->ctx, "%s: %s", command->name, why);
		return VIRTIO_NET_ERR;
	}
	*rsp_len = command->rsp_len;
	return VIRTIO_NET_OK;
}

/*
 * A guest waits for what it has left behind.  It does some of that itself, in its own
 * turns.
 */
static bool command_must_wait(struct rnic *rnic)
{
	rnic_clear_some(rnic);
	if (rnic->ctx.debt->bytes > COMMAND_DEBT)
		chore_help(rnic->ctx.loop);
	return rnic->ctx.clearing || rnic->ctx.debt->bytes > COMMAND_DEBT;
}

uint8_t rnic_command(struct rnic *rnic, uint8_t command,
		     const struct rnic_request *req, void *rsp, size_t rsp_size,
		     size_t *rsp_len)
{
	const struct command_row *row;
	const char *why;

	if (!command_is_known(rnic, command)) {
		*rsp_len = 0;
		rnic_warn(&rnic->ctx, "unknown RoCE command %u", command);
		return VIRTIO_NET_ERR;
	}
	row = &command_table[command];
	why = command_must_wait(rnic) ? command_again :
					command_run(rnic, row, req, rsp, rsp_size);
	if (why == command_again) {
		rnic->command = command;
		rnic->page_list = *req;
		rnic->rsp_size = rsp_size;
	}
	return command_ack(rnic, row, why, rsp_len);
}

/* Only commands with a list of pages can be so long, and those that are to be repeated. */
uint8_t rnic_command_more(struct rnic *rnic, void *rsp, size_t *rsp_len)
{
	const struct command_args args = { .rsp = rsp };
	const bool reg = rnic->command == VIRTIO_NET_CTRL_ROCE_REG_USER_MR ||
			 rnic->command == VIRTIO_NET_CTRL_ROCE_REREG_MR ||
			 rnic->command == VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG;
	const struct rnic_request again = rnic->page_list;

	if (rnic->again)
		return rnic_command(rnic, rnic->command, &again, rsp, rnic->rsp_size,
				    rsp_len);
	return command_ack(rnic, &command_table[rnic->command],
			   reg ? command_reg_pages(rnic, &args) :
				 command_create_pages(rnic, &args), rsp_len);
}

void rnic_command_abort(struct rnic *rnic)
{
	mr_reg_abort(&rnic->mrs);
	pages_free(&rnic->create.pages);
	rnic->again = false;
}
