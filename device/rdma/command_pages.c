// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Control commands with lists of pages: memory regions, and what has a ring.
 *
 * A request may go on behind its fixed part with a list of pages, or name pages
 * that hold one, of 256 MiB at most.  That is read and looked at bit by bit, so that
 * others are served in between.
 */
#include <endian.h>
#include <string.h>

#include "rdma/command_pages.h"
#include "rdma/qp/qp_life.h"
#include "rdma/rnic_priv.h"

/* Bytes of a request that may follow those that we know. */
#define COMMAND_SURPLUS_MAX	256

/* Pages of a list looked at before others get their turn. */
#define COMMAND_PAGES	2048

const char *const command_goes_on = "command goes on";

/*
 * A newer driver sends requests with fields that we do not know.  As long as they are
 * zero, the driver does not use them.
 */
const char *command_check_surplus(const struct rnic_request *req, size_t len)
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
const char *command_create_pages(struct rnic *rnic, const struct command_args *args)
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

const char *command_create_cq(struct rnic *rnic, const struct command_args *args)
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

const char *command_resize_cq(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_cmd_resize_cq *cmd = &rnic->create.resize;
	const char *why;

	memcpy(cmd, args->req, sizeof(*cmd));
	why = cq_check_resize(&rnic->cqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_RESIZE_CQ,
				    sizeof(*cmd), le32toh(cmd->npages));
}

static void command_answer_key(const struct command_args *args, uint32_t key)
{
	struct virtio_rdma_ack_mr *ack = args->rsp;

	ack->mrn = htole32(obj_index(key));
	ack->lkey = htole32(key);
	ack->rkey = htole32(key);
}

const char *command_get_dma_mr(struct rnic *rnic, const struct command_args *args)
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

const char *command_reg_pages(struct rnic *rnic, const struct command_args *args)
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

const char *command_reg_user_mr(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_reg_user_mr *cmd = args->req;
	size_t room = args->whole->len - sizeof(*cmd);
	const char *why = mr_reg_begin(&rnic->mrs, cmd, room);

	if (why)
		return why;
	return command_reg_more(rnic, args, VIRTIO_NET_CTRL_ROCE_REG_USER_MR,
				sizeof(*cmd));
}

const char *command_rereg_mr(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_rereg_mr *cmd = args->req;
	size_t room = args->whole->len - sizeof(*cmd);
	const char *why = mr_rereg_begin(&rnic->mrs, cmd, room);

	if (why || !mr_reg_list(&rnic->mrs).left)
		return why;
	return command_reg_more(rnic, args, VIRTIO_NET_CTRL_ROCE_REREG_MR,
				sizeof(*cmd));
}

const char *command_rereg_mr_long(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_rereg_mr_long *cmd = args->req;
	size_t room = args->whole->len - sizeof(*cmd);
	const char *why = mr_rereg_long_begin(&rnic->mrs, cmd, room);

	if (why || !mr_reg_list(&rnic->mrs).left)
		return why;
	return command_reg_more(rnic, args, VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG,
				sizeof(*cmd));
}

const char *command_dereg_mr(struct rnic *rnic, const struct command_args *args)
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

const char *command_create_qp(struct rnic *rnic, const struct command_args *args)
{
	return rnic_has_direct(&rnic->ctx) && args->whole->len >= COMMAND_QP_LONG ?
	       command_create_qp_long(rnic, args) : command_create_qp_rfc(rnic, args);
}

const char *command_create_srq(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_cmd_create_srq *cmd = &rnic->create.srq.srq;
	const char *why;

	memcpy(cmd, args->req, sizeof(*cmd));
	why = srq_check(&rnic->srqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_CREATE_SRQ,
				    sizeof(*cmd), le32toh(cmd->npages));
}

const char *command_create_xrc_srq(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_cmd_create_xrc_srq *cmd = &rnic->create.srq;
	const char *why;

	memcpy(cmd, args->req, sizeof(*cmd));
	why = srq_check_xrc(&rnic->srqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ,
				    sizeof(*cmd), le32toh(cmd->srq.npages));
}

const char *command_resize_srq(struct rnic *rnic, const struct command_args *args)
{
	struct virtio_rdma_cmd_resize_srq *cmd = &rnic->create.resize_srq;
	const char *why;

	memcpy(cmd, args->req, sizeof(*cmd));
	why = srq_check_resize(&rnic->srqs, cmd);
	return why ? why :
	       command_create_begin(rnic, args, VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ,
				    sizeof(*cmd), le32toh(cmd->npages));
}

const char *command_alloc_mr(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_alloc_mr *cmd = args->req;
	uint32_t key = 0;
	const char *why = mr_alloc(&rnic->mrs, le32toh(cmd->pdn),
				   le32toh(cmd->max_pages), &key);

	command_answer_key(args, key);
	return why;
}

const char *command_alloc_mw(struct rnic *rnic, const struct command_args *args)
{
	const struct virtio_rdma_cmd_alloc_mw *cmd = args->req;
	uint32_t key = 0;
	const char *why = mr_alloc_window(&rnic->mrs, le32toh(cmd->pdn),
					  le32toh(cmd->type), &key);

	command_answer_key(args, key);
	return why;
}
