// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Control commands of class VIRTIO_NET_CTRL_ROCE, by table.
 *
 * The table says how long request and response are, so that a handler finds
 * what it reads and writes.  Nothing is copied of a request of a wrong length.  A
 * handler that fails has changed nothing and tells why; the guest gets
 * VIRTIO_NET_ERR, the log one line.
 *
 * A request may go on behind its fixed part with a list of pages, or name pages
 * that hold one, of 256 MiB at most.  That is read and looked at bit by bit, so that
 * others are served in between.
 */
#include <endian.h>
#include <string.h>

#include <linux/virtio_net.h>

#include "base/place.h"
#include "base/util.h"
#include "rdma/command.h"
#include "rdma/qp/qp_life.h"
#include "rdma/qp/qp_state.h"
#include "rdma/rnic_priv.h"

#define COMMAND_HW_VER	1

/* Largest size of the fixed part of a request. */
#define COMMAND_REQ_MAX	256

/* Bytes of a request that may follow those that we know. */
#define COMMAND_SURPLUS_MAX	256

/* Pages of a list looked at before others get their turn. */
#define COMMAND_PAGES	2048

/* Returned by a handler whose command goes on with pages of its list. */
static const char command_goes_on[] = "command goes on";

/* And if all of it is to be carried out again, because there is more to do. */
static const char command_again[] = "command is carried out again";

/* Memory of objects that is not given back yet: if it is more, commands wait. */
#define COMMAND_DEBT	(32u << 20)

/**
 * struct command_args - what a handler is given
 * @req:	copy of the fixed part of the request
 * @whole:	all of it
 * @rsp:	where the response goes
 */
struct command_args {
	const void *req;
	const struct rnic_request *whole;
	void *rsp;
};

/* Each handler returns NULL, or why it failed. */
typedef const char *command_fn(struct rnic *rnic, const struct command_args *args);

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

static const char *command_query_clock(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_ack_query_clock *ack = args->rsp;

	rnic->ctx.clock_known = true;
	*ack = (struct virtio_rdma_ack_query_clock) {
		.time = htole64(rnic_clock(&rnic->ctx)),
	};
	return NULL;
}

static const char *command_query_nvmf(struct rnic *rnic, const struct command_args *args)
{
	return subsys_query(&rnic->subs, args->rsp);
}

static const char *command_query_namespace(struct rnic *rnic,
					   const struct command_args *args)
{
	return subsys_query_ns(&rnic->subs, args->req, args->rsp);
}

static const char *command_set_srq_nvmf(struct rnic *rnic, const struct command_args *args)
{
	return subsys_set_srq(&rnic->subs, args->req);
}

static const char *command_create_nvme_ctrl(struct rnic *rnic,
					    const struct command_args *args)
{
	struct virtio_rdma_ack_create_nvme_ctrl *ack = args->rsp;
	uint32_t ctrl = 0;
	const char *why = subsys_create_ctrl(&rnic->subs, args->req, &ctrl);

	ack->ctrl = htole32(ctrl);
	return why;
}

static const char *command_destroy_nvme_ctrl(struct rnic *rnic,
					     const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_nvme_ctrl *cmd = args->req;

	return subsys_destroy_ctrl(&rnic->subs, le32toh(cmd->ctrl));
}

static const char *command_map_nsid(struct rnic *rnic, const struct command_args *args)
{
	return subsys_map_nsid(&rnic->subs, args->req);
}

static const char *command_unmap_nsid(struct rnic *rnic, const struct command_args *args)
{
	return subsys_unmap_nsid(&rnic->subs, args->req);
}

static const char *command_set_qp_nvmf(struct rnic *rnic, const struct command_args *args)
{
	return subsys_set_qp(&rnic->subs, args->req);
}

static const char *command_query_device(struct rnic *rnic,
					const struct command_args *args)
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

static const char *command_query_port(struct rnic *rnic __always_unused,
				      const struct command_args *args)
{
	struct virtio_rdma_ack_query_port *ack = args->rsp;

	*ack = (struct virtio_rdma_ack_query_port) {
		.gid_tbl_len = htole32(RNIC_GIDS),
		.max_msg_sz = htole32(RNIC_MAX_MSG),
	};
	return NULL;
}

/*
 * A newer driver sends requests with fields that we do not know.  As long as they are
 * zero, the driver does not use them.
 */
static const char *command_check_surplus(const struct rnic_request *req,
					 size_t len)
{
	static const uint8_t zero[COMMAND_SURPLUS_MAX];
	uint8_t surplus[COMMAND_SURPLUS_MAX];
	size_t n = req->len - len;

	if (n > COMMAND_SURPLUS_MAX)
		return "request too long";
	iov_to_buf(req->iov, req->iov_n, req->off + len, surplus, n);
	if (memcmp(surplus, zero, n))
		return "request has fields that are not known here";
	return NULL;
}

/* All pages of a ring are known: make the object it is for, or resize its CQ or SRQ. */
static const char *command_create_end(struct rnic *rnic,
				      const struct command_args *args)
{
	struct rnic_create *create = &rnic->create;
	const struct qp_ring ring = { &create->direct, &create->pages };
	__le32 *ack = args->rsp;
	uint32_t number = 0;
	const char *why;

	if (rnic->command == VIRTIO_NET_CTRL_ROCE_RESIZE_CQ)
		return cq_resize(&rnic->cqs, &create->resize, &create->pages, args->rsp);
	if (rnic->command == VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ)
		return srq_resize(&rnic->srqs, &create->resize_srq, &create->pages);
	if (rnic->command == VIRTIO_NET_CTRL_ROCE_CREATE_CQ)
		why = cq_create_long(&rnic->cqs, &create->cq, &create->pages, &number);
	else if (rnic->command == VIRTIO_NET_CTRL_ROCE_CREATE_SRQ)
		why = srq_create(&rnic->srqs, &create->srq.srq, &create->pages,
				 &number);
	else if (rnic->command == VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ)
		why = srq_create_xrc(&rnic->srqs, &create->srq, &create->pages,
				     &number);
	else
		why = qp_create(&rnic->qps, &create->qp, &ring, &number);
	*ack = htole32(number);
	return why;
}

/* All answer with a number. */
_Static_assert(sizeof(struct virtio_rdma_ack_create_cq) == sizeof(__le32) &&
	       sizeof(struct virtio_rdma_ack_create_qp) == sizeof(__le32) &&
	       sizeof(struct virtio_rdma_ack_create_srq) == sizeof(__le32),
	       "a command that makes a ring answers with more than a number");

/* Go on with the pages of a ring. */
static const char *command_create_pages(struct rnic *rnic,
					const struct command_args *args)
{
	struct rnic_request *list = &rnic->page_list;
	struct pages *pages = &rnic->create.pages;
	uint32_t n = pages_left(pages);
	__le64 page[COMMAND_PAGES];
	const char *why;

	if (n > COMMAND_PAGES)
		n = COMMAND_PAGES;
	iov_to_buf(list->iov, list->iov_n, list->off, page, n * sizeof(*page));
	list->off += n * sizeof(*page);
	why = pages_add(pages, page, n);
	if (!why && pages_left(pages))
		return command_goes_on;
	if (!why)
		why = command_create_end(rnic, args);
	pages_free(pages);
	return why;
}

/* The fixed part of a request is @fixed bytes and names @n pages: read them. */
static const char *command_create_begin(struct rnic *rnic,
					const struct command_args *args,
					uint8_t command, size_t fixed, uint32_t n)
{
	const char *why;

	if (args->whole->len != fixed + n * sizeof(__le64))
		return "request has another number of pages than it says";
	why = pages_alloc(&rnic->create.pages, &rnic->ctx, n);
	if (why)
		return why;
	rnic->command = command;
	rnic->page_list = *args->whole;
	rnic->page_list.off += fixed;
	return command_create_pages(rnic, args);
}

static const char *command_create_cq_long(struct rnic *rnic,
					  const struct command_args *args)
{
	struct virtio_rdma_cmd_create_cq_long *cmd = &rnic->create.cq;
	const struct rnic_request *req = args->whole;
	const char *why;

	iov_to_buf(req->iov, req->iov_n, req->off, cmd, sizeof(*cmd));
	why = cq_check_long(&rnic->cqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
				    sizeof(*cmd), le32toh(cmd->npages));
}

static const char *command_create_cq(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_create_cq *cmd = args->req;
	struct virtio_rdma_ack_create_cq *ack = args->rsp;
	uint32_t cqn = 0;
	const char *why;

	if (rnic->ctx.limits.event_vqs &&
	    args->whole->len >= sizeof(struct virtio_rdma_cmd_create_cq_long))
		return command_create_cq_long(rnic, args);
	why = command_check_surplus(args->whole, sizeof(*cmd));
	if (why)
		return why;
	why = cq_create(&rnic->cqs, le32toh(cmd->cqe), &cqn);
	ack->cqn = htole32(cqn);
	return why;
}

static const char *command_destroy_cq(struct rnic *rnic,
				      const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_cq *cmd = args->req;

	return cq_destroy(&rnic->cqs, le32toh(cmd->cqn));
}

static const char *command_resize_cq(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_cmd_resize_cq *cmd = &rnic->create.resize;
	const char *why;

	memcpy(cmd, args->req, sizeof(*cmd));
	why = cq_check_resize(&rnic->cqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_RESIZE_CQ,
				    sizeof(*cmd), le32toh(cmd->npages));
}

static const char *command_modify_cq(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_modify_cq *cmd = args->req;

	return cq_modify(&rnic->cqs, le32toh(cmd->cqn), le16toh(cmd->count),
			 le16toh(cmd->period));
}

static const char *command_create_pd(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_ack_create_pd *ack = args->rsp;
	uint32_t pdn = 0;
	const char *why = pd_create(&rnic->pds, &pdn);

	ack->pdn = htole32(pdn);
	return why;
}

static const char *command_destroy_pd(struct rnic *rnic,
				      const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_pd *cmd = args->req;

	return pd_destroy(&rnic->pds, le32toh(cmd->pdn));
}

static void command_answer_key(const struct command_args *args, uint32_t key)
{
	struct virtio_rdma_ack_mr *ack = args->rsp;

	ack->mrn = htole32(obj_index(key));
	ack->lkey = htole32(key);
	ack->rkey = htole32(key);
}

static const char *command_get_dma_mr(struct rnic *rnic,
				      const struct command_args *args)
{
	const struct virtio_rdma_cmd_get_dma_mr *cmd = args->req;
	uint32_t key = 0;
	const char *why = mr_get_dma(&rnic->mrs, le32toh(cmd->pdn),
				     le32toh(cmd->access_flags), &key);

	command_answer_key(args, key);
	return why;
}

/* Addresses in pages of @n that the request names, from the @first of the list on. */
static const char *command_read_indirect(const struct rnic *rnic, uint32_t first,
					 uint32_t n, __le64 *pages)
{
	const uint32_t per = VIRTIO_RDMA_MR_LIST_PAGE;
	const struct rnic_request *list = &rnic->page_list;
	uint32_t i, at, part, begin = first / per;
	__le64 where[COMMAND_PAGES / VIRTIO_RDMA_MR_LIST_PAGE + 1];
	uint64_t addr;
	uint8_t *host;

	iov_to_buf(list->iov, list->iov_n, list->off + begin * sizeof(*where), where,
		   ((first + n - 1) / per - begin + 1) * sizeof(*where));
	for (i = 0; n; i++) {
		addr = le64toh(where[i]);
		at = first % per;
		part = n < per - at ? n : per - at;
		host = addr % RNIC_PAGE_SIZE ? NULL :
		       guest_mem_ptr(rnic->ctx.mem, addr, RNIC_PAGE_SIZE);
		if (!host)
			return "page list outside of guest memory, or not aligned";
		guest_mem_read_once(pages, host + at * sizeof(*pages),
				    part * sizeof(*pages));
		pages += part;
		first += part;
		n -= part;
	}
	return NULL;
}

_Static_assert(VIRTIO_RDMA_MR_LIST_PAGE * sizeof(__le64) == RNIC_PAGE_SIZE,
	       "a page of a list is not a page");

/* The next addresses of a list; returns how many, or 0 and why there are none. */
static uint32_t command_read_list(const struct rnic *rnic, __le64 *pages,
				  const char **why)
{
	const struct rnic_request *req = &rnic->page_list;
	struct mr_list list = mr_reg_list(&rnic->mrs);
	uint32_t n = list.left < COMMAND_PAGES ? list.left : COMMAND_PAGES;

	*why = NULL;
	if (list.indirect)
		*why = command_read_indirect(rnic, list.next, n, pages);
	else
		iov_to_buf(req->iov, req->iov_n,
			   req->off + list.next * sizeof(*pages), pages,
			   n * sizeof(*pages));
	return *why ? 0 : n;
}

static const char *command_reg_pages(struct rnic *rnic,
				     const struct command_args *args)
{
	__le64 pages[COMMAND_PAGES];
	uint32_t n, key = 0;
	const char *why;

	n = command_read_list(rnic, pages, &why);
	if (!n) {
		mr_reg_abort(&rnic->mrs);
		return why;
	}
	why = mr_reg_pages(&rnic->mrs, pages, n);
	if (why)
		return why;
	if (mr_reg_list(&rnic->mrs).left)
		return command_goes_on;
	why = mr_reg_end(&rnic->mrs, &key);
	if (rnic->command == VIRTIO_NET_CTRL_ROCE_REG_USER_MR)
		command_answer_key(args, key);
	return why;
}

/* A registration has begun: look at its pages, which are behind @fixed bytes. */
static const char *command_reg_more(struct rnic *rnic, const struct command_args *args,
				    uint8_t command, size_t fixed)
{
	rnic->command = command;
	rnic->page_list = *args->whole;
	rnic->page_list.off += fixed;
	return command_reg_pages(rnic, args);
}

static const char *command_reg_user_mr(struct rnic *rnic,
				       const struct command_args *args)
{
	const struct virtio_rdma_cmd_reg_user_mr *cmd = args->req;
	size_t room = args->whole->len - sizeof(*cmd);
	const char *why = mr_reg_begin(&rnic->mrs, cmd, room);

	if (why)
		return why;
	return command_reg_more(rnic, args, VIRTIO_NET_CTRL_ROCE_REG_USER_MR,
				sizeof(*cmd));
}

static const char *command_rereg_mr(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_rereg_mr *cmd = args->req;
	size_t room = args->whole->len - sizeof(*cmd);
	const char *why = mr_rereg_begin(&rnic->mrs, cmd, room);

	if (why || !mr_reg_list(&rnic->mrs).left)
		return why;
	return command_reg_more(rnic, args, VIRTIO_NET_CTRL_ROCE_REREG_MR,
				sizeof(*cmd));
}

static const char *command_rereg_mr_long(struct rnic *rnic,
					 const struct command_args *args)
{
	const struct virtio_rdma_cmd_rereg_mr_long *cmd = args->req;
	size_t room = args->whole->len - sizeof(*cmd);
	const char *why = mr_rereg_long_begin(&rnic->mrs, cmd, room);

	if (why || !mr_reg_list(&rnic->mrs).left)
		return why;
	return command_reg_more(rnic, args, VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG,
				sizeof(*cmd));
}

static const char *command_dereg_mr(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_dereg_mr *cmd = args->req;

	return mr_dereg(&rnic->mrs, le32toh(cmd->mrn));
}

static const char *command_create_qp_rfc(struct rnic *rnic,
					 const struct command_args *args)
{
	struct virtio_rdma_ack_create_qp *ack = args->rsp;
	uint32_t qpn = 0;
	const char *why = command_check_surplus(args->whole,
						sizeof(struct virtio_rdma_cmd_create_qp));

	if (!why)
		why = qp_create(&rnic->qps, args->req, NULL, &qpn);
	ack->qpn = htole32(qpn);
	return why;
}

/* The direct part begins where the RFC's request has zeroes, and goes on behind it. */
#define COMMAND_QP_LONG	(VIRTIO_RDMA_QP_DIRECT_OFFSET + \
			 sizeof(struct virtio_rdma_qp_direct))

static const char *command_create_qp_long(struct rnic *rnic,
					  const struct command_args *args)
{
	const struct rnic_request *req = args->whole;
	struct rnic_create *create = &rnic->create;
	struct virtio_rdma_qp_direct *direct = &create->direct;
	uint32_t send, recv;
	const char *why;

	memcpy(&create->qp, args->req, sizeof(create->qp));
	iov_to_buf(req->iov, req->iov_n, req->off + VIRTIO_RDMA_QP_DIRECT_OFFSET,
		   direct, sizeof(*direct));
	if (!direct->form)
		return command_create_qp_rfc(rnic, args);
	why = qp_check_direct(&rnic->qps, create->qp.qp_type, direct);
	if (why)
		return why;
	send = le32toh(direct->send_pages);
	recv = le32toh(direct->recv_pages);
	return command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
				    COMMAND_QP_LONG, send + recv);
}

static const char *command_create_qp(struct rnic *rnic, const struct command_args *args)
{
	return rnic_has_direct(&rnic->ctx) && args->whole->len >= COMMAND_QP_LONG ?
	       command_create_qp_long(rnic, args) : command_create_qp_rfc(rnic, args);
}

static const char *command_create_srq(struct rnic *rnic,
				      const struct command_args *args)
{
	struct virtio_rdma_cmd_create_srq *cmd = &rnic->create.srq.srq;
	const char *why;

	memcpy(cmd, args->req, sizeof(*cmd));
	why = srq_check(&rnic->srqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_CREATE_SRQ,
				    sizeof(*cmd), le32toh(cmd->npages));
}

static const char *command_create_xrc_srq(struct rnic *rnic,
					  const struct command_args *args)
{
	struct virtio_rdma_cmd_create_xrc_srq *cmd = &rnic->create.srq;
	const char *why;

	memcpy(cmd, args->req, sizeof(*cmd));
	why = srq_check_xrc(&rnic->srqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ,
				    sizeof(*cmd), le32toh(cmd->srq.npages));
}

static const char *command_create_xrcd(struct rnic *rnic,
				       const struct command_args *args)
{
	struct virtio_rdma_ack_create_xrcd *ack = args->rsp;
	uint32_t xrcd = 0;
	const char *why = xrcd_create(&rnic->xrcds, &xrcd);

	ack->xrcd = htole32(xrcd);
	return why;
}

static const char *command_destroy_xrcd(struct rnic *rnic,
					const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_xrcd *cmd = args->req;

	return xrcd_destroy(&rnic->xrcds, le32toh(cmd->xrcd));
}

static const char *command_resize_srq(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_cmd_resize_srq *cmd = &rnic->create.resize_srq;
	const char *why;

	memcpy(cmd, args->req, sizeof(*cmd));
	why = srq_check_resize(&rnic->srqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ,
				    sizeof(*cmd), le32toh(cmd->npages));
}

static const char *command_modify_srq(struct rnic *rnic,
				      const struct command_args *args)
{
	const struct virtio_rdma_cmd_modify_srq *cmd = args->req;

	return srq_modify(&rnic->srqs, le32toh(cmd->srq), le32toh(cmd->limit));
}

static const char *command_query_srq(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_query_srq *cmd = args->req;

	return srq_query(&rnic->srqs, le32toh(cmd->srq), args->rsp);
}

static const char *command_destroy_srq(struct rnic *rnic,
				       const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_srq *cmd = args->req;
	bool more = false;
	const char *why;

	subsys_srq_gone(&rnic->subs, le32toh(cmd->srq));
	why = srq_destroy(&rnic->srqs, le32toh(cmd->srq), &more);
	return more ? command_again : why;
}

static const char *command_modify_qp(struct rnic *rnic, const struct command_args *args)
{
	return qp_modify(&rnic->qps, args->req);
}

static const char *command_query_qp(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_query_qp *cmd = args->req;

	return qp_query(&rnic->qps, le32toh(cmd->qpn), args->rsp);
}

static const char *command_destroy_qp(struct rnic *rnic,
				      const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_qp *cmd = args->req;

	bool more = false;
	const char *why = qp_destroy(&rnic->qps, le32toh(cmd->qpn), &more);

	return more ? command_again : why;
}

static const char *command_create_ah(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_create_ah *cmd = args->req;
	struct virtio_rdma_ack_create_ah *ack = args->rsp;
	uint32_t ah = 0;
	const char *why = ah_create(&rnic->ahs, le32toh(cmd->pdn), &cmd->ah_attr, &ah);

	ack->ah = htole32(ah);
	return why;
}

static const char *command_destroy_ah(struct rnic *rnic,
				      const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_ah *cmd = args->req;

	return ah_destroy(&rnic->ahs, le32toh(cmd->pdn), le32toh(cmd->ah));
}

static const char *command_add_gid(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_add_gid *cmd = args->req;

	/* It is padding in the RFC. */
	return gid_add(&rnic->gids, le16toh(cmd->index), cmd->gid,
		       rnic->ctx.limits.rfc ? 0 : le16toh(cmd->vlan));
}

static const char *command_del_gid(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_del_gid *cmd = args->req;

	return gid_del(&rnic->gids, le16toh(cmd->index));
}

static const char *command_req_notify(struct rnic *rnic,
				      const struct command_args *args)
{
	const struct virtio_rdma_cmd_req_notify *cmd = args->req;

	return cq_arm(&rnic->cqs, le32toh(cmd->cqn), le32toh(cmd->flags));
}

static const char *command_alloc_doorbell(struct rnic *rnic,
					  const struct command_args *args)
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

static const char *command_free_doorbell(struct rnic *rnic,
					 const struct command_args *args)
{
	const struct virtio_rdma_cmd_free_doorbell *cmd = args->req;

	return doorbell_free(&rnic->doorbells, le32toh(cmd->doorbell));
}

static const char *command_alloc_mr(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_alloc_mr *cmd = args->req;
	uint32_t key = 0;
	const char *why = mr_alloc(&rnic->mrs, le32toh(cmd->pdn),
				   le32toh(cmd->max_pages), &key);

	command_answer_key(args, key);
	return why;
}

static const char *command_alloc_mw(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_alloc_mw *cmd = args->req;
	uint32_t key = 0;
	const char *why = mr_alloc_window(&rnic->mrs, le32toh(cmd->pdn),
					  le32toh(cmd->type), &key);

	command_answer_key(args, key);
	return why;
}

static void command_answer_counters(const struct command_args *args, const uint64_t *counter)
{
	struct virtio_rdma_ack_query_counters *ack = args->rsp;
	unsigned int i;

	*ack = (struct virtio_rdma_ack_query_counters) {};
	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		ack->value[i] = htole64(counter[i]);
}

static const char *command_query_counters(struct rnic *rnic,
					  const struct command_args *args)
{
	command_answer_counters(args, rnic->ctx.counter);
	return NULL;
}

static const char *command_query_qp_counters(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_query_qp_counters *cmd = args->req;
	const struct qp *qp = qp_get(&rnic->qps, le32toh(cmd->qpn));

	if (!qp)
		return "unknown QP";
	command_answer_counters(args, qp->counter);
	return NULL;
}

static const char *command_attach_mcast(struct rnic *rnic,
					const struct command_args *args)
{
	const struct virtio_rdma_cmd_mcast *cmd = args->req;

	return qp_attach_mcast(&rnic->qps, le32toh(cmd->qpn), cmd->gid);
}

static const char *command_detach_mcast(struct rnic *rnic,
					const struct command_args *args)
{
	const struct virtio_rdma_cmd_mcast *cmd = args->req;

	return mcast_detach(&rnic->mcast, le32toh(cmd->qpn), cmd->gid);
}

static const char *command_create_flow_long(struct rnic *rnic,
					    const struct command_args *args)
{
	struct virtio_rdma_ack_create_flow *ack = args->rsp;
	const char *why = "unknown command";
	uint32_t flow = 0;

	if (rnic_has_direct(&rnic->ctx))
		why = qp_create_flow(&rnic->qps, args->req, &flow);
	ack->flow = htole32(flow);
	return why;
}

static const char *command_create_flow(struct rnic *rnic,
				       const struct command_args *args)
{
	struct virtio_rdma_cmd_create_flow_long req = {};
	struct command_args long_args = *args;

	memcpy(&req.flow, args->req, sizeof(req.flow));
	long_args.req = &req;
	return command_create_flow_long(rnic, &long_args);
}

static const char *command_query_flow(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_query_flow *cmd = args->req;

	return rule_query(&rnic->rules, le32toh(cmd->flow), args->rsp);
}

static const char *command_destroy_flow(struct rnic *rnic,
					const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_flow *cmd = args->req;

	return rule_destroy(&rnic->rules, le32toh(cmd->flow));
}

static const char *command_create_wq_table(struct rnic *rnic,
					   const struct command_args *args)
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

static const char *command_destroy_wq_table(struct rnic *rnic,
					    const struct command_args *args)
{
	const struct virtio_rdma_cmd_destroy_wq_table *cmd = args->req;

	return wq_table_destroy(&rnic->tables, le32toh(cmd->table));
}

static const char *command_create_rx_hash_qp(struct rnic *rnic,
					     const struct command_args *args)
{
	struct virtio_rdma_ack_create_qp *ack = args->rsp;
	uint32_t qpn = 0;
	const char *why = qp_create_rx_hash(&rnic->qps, args->req, &qpn);

	ack->qpn = htole32(qpn);
	return why;
}

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
