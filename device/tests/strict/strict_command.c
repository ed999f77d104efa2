// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCE commands and their order.
 *
 * strict_before() checks a command against what the device promised and what the
 * driver has made.  A command that the device refuses is a violation, too: a driver
 * that keeps to the RFC is never refused.  strict_after() remembers what was done.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/strict/strict.h"

#define RFC_ACCESS	(VIRTIO_IB_ACCESS_LOCAL_WRITE | \
			 VIRTIO_IB_ACCESS_REMOTE_WRITE | \
			 VIRTIO_IB_ACCESS_REMOTE_READ)
#define RFC_ATTRS	((VIRTIO_IB_QP_RATE_LIMIT << 1) - 1)
#define RFC_NOTIFY	(VIRTIO_IB_NOTIFY_SOLICITED | VIRTIO_IB_NOTIFY_NEXT_COMPLETION)

/* ------------------------------------------------------------------------- */
/* Objects                                                                   */
/* ------------------------------------------------------------------------- */

struct strict_object *strict_find(const struct strict *s, enum strict_kind kind,
				  uint32_t handle)
{
	struct strict_object *object;

	TAILQ_FOREACH(object, &s->object, entry)
		if (object->kind == kind && object->handle == handle)
			return object;
	return NULL;
}

static const char *kind_name(enum strict_kind kind)
{
	static const char *const name[] = { "PD", "MR", "AH", "CQ", "QP", "GID" };

	return name[kind];
}

static struct strict_object *must_find(const struct strict *s, uint8_t command,
				       enum strict_kind kind, uint32_t handle)
{
	struct strict_object *object = strict_find(s, kind, handle);

	if (!object)
		strict_fail(s, "%s: %s %u is not there", strict_name(command),
			    kind_name(kind), handle);
	return object;
}

static struct strict_object *object_add(struct strict *s, enum strict_kind kind,
					uint32_t handle, struct strict_object *pd)
{
	struct strict_object *object = calloc(1, sizeof(*object));

	object->kind = kind;
	object->handle = handle;
	object->pd = pd;
	if (pd)
		pd->refs++;
	s->count[kind]++;
	TAILQ_INSERT_HEAD(&s->object, object, entry);
	return object;
}

static void object_del(struct strict *s, struct strict_object *object)
{
	if (object->pd)
		object->pd->refs--;
	if (object->send_cq)
		object->send_cq->refs--;
	if (object->recv_cq)
		object->recv_cq->refs--;
	s->count[object->kind]--;
	TAILQ_REMOVE(&s->object, object, entry);
	free(object);
}

void strict_forget(struct strict *s)
{
	struct strict_object *object;
	uint32_t i;

	while ((object = TAILQ_FIRST(&s->object))) {
		TAILQ_REMOVE(&s->object, object, entry);
		free(object);
	}
	memset(s->count, 0, sizeof(s->count));
	s->has_device = false;
	s->has_port = false;
	for (i = 0; i < s->limits.cqs; i++)
		s->queue[RNIC_CQ][i].made = false;
	for (i = 0; i < s->limits.qps; i++) {
		s->queue[RNIC_SQ][i].made = false;
		s->queue[RNIC_RQ][i].made = false;
	}
}

/* ------------------------------------------------------------------------- */
/* Before a command                                                          */
/* ------------------------------------------------------------------------- */

static void check_room(const struct strict *s, uint8_t command,
		       enum strict_kind kind, uint32_t promised)
{
	if (s->count[kind] >= promised)
		strict_fail(s, "%s: one more than the %u %ss that were promised",
			    strict_name(command), promised, kind_name(kind));
}

static void check_most(const struct strict *s, uint8_t command, const char *what,
		       uint32_t value, uint32_t promised)
{
	if (value > promised)
		strict_fail(s, "%s: %s %u, of %u promised", strict_name(command),
			    what, value, promised);
}

static void check_unused(const struct strict *s, uint8_t command,
			 enum strict_kind kind, uint32_t handle)
{
	if (must_find(s, command, kind, handle)->refs)
		strict_fail(s, "%s: %s %u is in use", strict_name(command),
			    kind_name(kind), handle);
}

static void check_access(const struct strict *s, uint8_t command, uint32_t access)
{
	if (access & ~RFC_ACCESS)
		strict_fail(s, "%s: access flags %#x, which the RFC has not",
			    strict_name(command), access);
	if (access & VIRTIO_IB_ACCESS_REMOTE_WRITE &&
	    !(access & VIRTIO_IB_ACCESS_LOCAL_WRITE))
		strict_fail(s, "%s: REMOTE_WRITE without LOCAL_WRITE",
			    strict_name(command));
}

static void check_ah_attr(const struct strict *s, uint8_t command,
			  const struct virtio_rdma_ah_attr *attr)
{
	static const uint8_t zero[sizeof(attr->grh.dgid)];

	strict_zero(s, &attr->grh.padding, sizeof(attr->grh.padding),
		    "padding of an address vector");
	strict_zero(s, attr->reserved, sizeof(attr->reserved),
		    "reserved part of an address vector");
	must_find(s, command, STRICT_GID, attr->grh.sgid_index);
	if (!memcmp(attr->grh.dgid, zero, sizeof(attr->grh.dgid)))
		strict_fail(s, "%s: no destination GID", strict_name(command));
	if (!memcmp(attr->dmac, zero, sizeof(attr->dmac)))
		strict_fail(s, "%s: no destination MAC address",
			    strict_name(command));
}

static void before_create_cq(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_create_cq *cmd = req;

	check_room(s, command, STRICT_CQ, s->limits.cqs);
	check_most(s, command, "cqe", le32toh(cmd->cqe), le32toh(s->device.max_cqe));
	if (!cmd->cqe)
		strict_fail(s, "%s: no cqe", strict_name(command));
}

static void before_get_dma_mr(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_get_dma_mr *cmd = req;

	check_room(s, command, STRICT_MR, le32toh(s->device.max_mr));
	must_find(s, command, STRICT_PD, le32toh(cmd->pdn));
	check_access(s, command, le32toh(cmd->access_flags));
}

static void before_reg_user_mr(struct strict *s, uint8_t command, const void *req,
			       size_t len)
{
	const struct virtio_rdma_cmd_reg_user_mr *cmd = req;
	uint64_t addr = le64toh(cmd->virt_addr), length = le64toh(cmd->length);
	uint64_t first = addr & ~4095ULL;
	uint32_t i, npages = le32toh(cmd->npages);

	check_room(s, command, STRICT_MR, le32toh(s->device.max_mr));
	must_find(s, command, STRICT_PD, le32toh(cmd->pdn));
	check_access(s, command, le32toh(cmd->access_flags));
	/* All of it is padding in the RFC. */
	strict_zero(s, &cmd->page_shift, sizeof(*cmd) -
		    offsetof(struct virtio_rdma_cmd_reg_user_mr, page_shift),
		    "padding of REG_USER_MR");
	if (!length || length > le64toh(s->device.max_mr_size))
		strict_fail(s, "REG_USER_MR: a region of %#llx bytes",
			    (unsigned long long)length);
	if (npages != (addr + length - first + 4095) / 4096)
		strict_fail(s, "REG_USER_MR: %u pages do not cover the region", npages);
	if (len != sizeof(*cmd) + npages * sizeof(cmd->pages[0]))
		strict_fail(s, "REG_USER_MR: %zu bytes for %u pages", len, npages);
	for (i = 0; i < npages; i++)
		if (le64toh(cmd->pages[i]) % 4096)
			strict_fail(s, "REG_USER_MR: page %u is not aligned", i);
}

/* Indices of queues begin at 0, and a CQ has all its slots before it is used. */
static void check_queues(const struct strict *s, uint32_t qpn)
{
	if (strict_avail(&s->queue[RNIC_SQ][qpn]) || strict_avail(&s->queue[RNIC_RQ][qpn]))
		strict_fail(s, "CREATE_QP: queues of QP %u do not begin empty", qpn);
}

static void check_cq(const struct strict *s, uint8_t command, uint32_t cqn)
{
	struct strict_object *cq = must_find(s, command, STRICT_CQ, cqn);
	const struct strict_queue *queue = &s->queue[RNIC_CQ][cqn];

	if (!cq->used && (!queue->vq || strict_avail(queue) < cq->cqe))
		strict_fail(s, "%s: CQ %u has fewer slots than its %u completions",
			    strict_name(command), cqn, cq->cqe);
}

static void before_create_qp(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_create_qp *cmd = req;
	const struct virtio_rdma_qp_cap *cap = &cmd->cap;

	if (cmd->qp_type == VIRTIO_IB_QPT_SMI || cmd->qp_type > VIRTIO_IB_QPT_UD)
		strict_fail(s, "CREATE_QP: type %u", cmd->qp_type);
	/* One of them is SMI, which RoCE does not use. */
	check_room(s, command, STRICT_QP, s->limits.qps - 1);
	if (cmd->qp_type != VIRTIO_IB_QPT_GSI &&
	    !strict_find(s, STRICT_QP, VIRTIO_NET_ROCE_QPN_GSI))
		check_room(s, command, STRICT_QP, s->limits.qps - 2);
	if (cmd->qp_type == VIRTIO_IB_QPT_GSI &&
	    strict_find(s, STRICT_QP, VIRTIO_NET_ROCE_QPN_GSI))
		strict_fail(s, "CREATE_QP: GSI is there already");
	must_find(s, command, STRICT_PD, le32toh(cmd->pdn));
	check_most(s, command, "max_send_wr", le32toh(cap->max_send_wr),
		   le32toh(s->device.max_qp_wr));
	check_most(s, command, "max_recv_wr", le32toh(cap->max_recv_wr),
		   le32toh(s->device.max_qp_wr));
	check_most(s, command, "max_send_sge", le32toh(cap->max_send_sge),
		   le32toh(s->device.max_send_sge));
	check_most(s, command, "max_recv_sge", le32toh(cap->max_recv_sge),
		   le32toh(s->device.max_recv_sge));
	check_most(s, command, "max_inline_data", le32toh(cap->max_inline_data),
		   VIRTIO_RDMA_INLINE_SIZE);
	check_most(s, command, "sq_sig_all", cmd->sq_sig_all, 1);
	strict_zero(s, &cmd->flags, sizeof(cmd->flags) + sizeof(cmd->padding),
		    "padding of CREATE_QP");
	strict_zero(s, &cap->padding, sizeof(cap->padding), "padding of CREATE_QP");
	strict_zero(s, cmd->reserved, sizeof(cmd->reserved),
		    "reserved part of CREATE_QP");
	check_cq(s, command, le32toh(cmd->send_cqn));
	check_cq(s, command, le32toh(cmd->recv_cqn));
}

/*
 * Requests still in its queues would be lost: a driver must flush them first by ERR.
 * A QP whose queues are empty may go to RESET from any state.
 */
static void check_reset(const struct strict *s, uint32_t qpn)
{
	uint16_t sent = strict_pending(&s->queue[RNIC_SQ][qpn]);
	uint16_t received = strict_pending(&s->queue[RNIC_RQ][qpn]);

	if (sent || received)
		strict_fail(s, "MODIFY_QP: QP %u is reset with %u send and %u receive requests",
			    qpn, sent, received);
}

static void before_modify_qp(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_modify_qp *cmd = req;
	uint32_t mask = le32toh(cmd->attr_mask);

	must_find(s, command, STRICT_QP, le32toh(cmd->qpn));
	if (!mask || mask & ~RFC_ATTRS)
		strict_fail(s, "MODIFY_QP: attributes %#x", mask);
	strict_zero(s, cmd->padding, sizeof(cmd->padding), "padding of MODIFY_QP");
	strict_zero(s, &cmd->cap.padding, sizeof(cmd->cap.padding),
		    "padding of MODIFY_QP");
	strict_zero(s, cmd->reserved, sizeof(cmd->reserved),
		    "reserved part of MODIFY_QP");
	strict_zero(s, cmd->ah_attr.reserved, sizeof(cmd->ah_attr.reserved),
		    "reserved part of an address vector");
	if (mask & VIRTIO_IB_QP_AV)
		check_ah_attr(s, command, &cmd->ah_attr);
	if (mask & VIRTIO_IB_QP_ACCESS_FLAGS &&
	    le32toh(cmd->qp_access_flags) & ~RFC_ACCESS)
		strict_fail(s, "MODIFY_QP: access flags %#x, which the RFC has not",
			    le32toh(cmd->qp_access_flags));
	if (mask & VIRTIO_IB_QP_STATE && cmd->qp_state == VIRTIO_IB_QPS_RESET)
		check_reset(s, le32toh(cmd->qpn));
}

static void before_query_qp(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_query_qp *cmd = req;

	must_find(s, command, STRICT_QP, le32toh(cmd->qpn));
	if (le32toh(cmd->attr_mask) & ~RFC_ATTRS)
		strict_fail(s, "QUERY_QP: attributes %#x", le32toh(cmd->attr_mask));
}

static void before_create_ah(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_create_ah *cmd = req;

	check_room(s, command, STRICT_AH, le32toh(s->device.max_ah));
	must_find(s, command, STRICT_PD, le32toh(cmd->pdn));
	strict_zero(s, &cmd->padding, sizeof(cmd->padding), "padding of CREATE_AH");
	check_ah_attr(s, command, &cmd->ah_attr);
}

static void before_destroy_ah(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_destroy_ah *cmd = req;
	const struct strict_object *ah = must_find(s, command, STRICT_AH,
						   le32toh(cmd->ah));

	if (ah->pd->handle != le32toh(cmd->pdn))
		strict_fail(s, "DESTROY_AH: PD %u is not that of AH %u",
			    le32toh(cmd->pdn), ah->handle);
}

static void before_add_gid(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_add_gid *cmd = req;

	if (le16toh(cmd->index) >= le32toh(s->port.gid_tbl_len))
		strict_fail(s, "%s: entry %u, of %u promised", strict_name(command),
			    le16toh(cmd->index), le32toh(s->port.gid_tbl_len));
	/* The VLAN is padding in the RFC. */
	strict_zero(s, &cmd->vlan, sizeof(cmd->vlan) + sizeof(cmd->padding),
		    "padding of ADD_GID");
}

static void before_req_notify(struct strict *s, uint8_t command, const void *req)
{
	const struct virtio_rdma_cmd_req_notify *cmd = req;

	must_find(s, command, STRICT_CQ, le32toh(cmd->cqn));
	if (!cmd->flags || le32toh(cmd->flags) & ~RFC_NOTIFY)
		strict_fail(s, "REQ_NOTIFY_CQ: flags %#x", le32toh(cmd->flags));
}

static void check_queried(const struct strict *s, uint8_t command)
{
	if (!s->has_device)
		strict_fail(s, "%s before QUERY_DEVICE", strict_name(command));
	if (!s->has_port)
		strict_fail(s, "%s before QUERY_PORT", strict_name(command));
}

void strict_before(struct strict *s, uint8_t command, const void *req, size_t len)
{
	uint32_t handle = 0;

	if (len >= sizeof(handle))
		handle = le32toh(*(const __le32 *)req);
	if (command > VIRTIO_NET_CTRL_ROCE_QUERY_PORT)
		check_queried(s, command);
	switch (command) {
	case VIRTIO_NET_CTRL_ROCE_CREATE_CQ:
		return before_create_cq(s, command, req);
	case VIRTIO_NET_CTRL_ROCE_DESTROY_CQ:
		return check_unused(s, command, STRICT_CQ, handle);
	case VIRTIO_NET_CTRL_ROCE_CREATE_PD:
		return check_room(s, command, STRICT_PD, le32toh(s->device.max_pd));
	case VIRTIO_NET_CTRL_ROCE_DESTROY_PD:
		return check_unused(s, command, STRICT_PD, handle);
	case VIRTIO_NET_CTRL_ROCE_GET_DMA_MR:
		return before_get_dma_mr(s, command, req);
	case VIRTIO_NET_CTRL_ROCE_REG_USER_MR:
		return before_reg_user_mr(s, command, req, len);
	case VIRTIO_NET_CTRL_ROCE_DEREG_MR:
		return check_unused(s, command, STRICT_MR, handle);
	case VIRTIO_NET_CTRL_ROCE_CREATE_QP:
		return before_create_qp(s, command, req);
	case VIRTIO_NET_CTRL_ROCE_MODIFY_QP:
		return before_modify_qp(s, command, req);
	case VIRTIO_NET_CTRL_ROCE_QUERY_QP:
		return before_query_qp(s, command, req);
	case VIRTIO_NET_CTRL_ROCE_DESTROY_QP:
		return check_unused(s, command, STRICT_QP, handle);
	case VIRTIO_NET_CTRL_ROCE_CREATE_AH:
		return before_create_ah(s, command, req);
	case VIRTIO_NET_CTRL_ROCE_DESTROY_AH:
		return before_destroy_ah(s, command, req);
	case VIRTIO_NET_CTRL_ROCE_ADD_GID:
		return before_add_gid(s, command, req);
	case VIRTIO_NET_CTRL_ROCE_DEL_GID:
		must_find(s, command, STRICT_GID, le16toh(*(const __le16 *)req));
		return;
	case VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ:
		return before_req_notify(s, command, req);
	}
}

/* ------------------------------------------------------------------------- */
/* After it                                                                  */
/* ------------------------------------------------------------------------- */

static void after_create_cq(struct strict *s, const void *req, uint32_t cqn)
{
	const struct virtio_rdma_cmd_create_cq *cmd = req;

	object_add(s, STRICT_CQ, cqn, NULL)->cqe = le32toh(cmd->cqe);
	s->queue[RNIC_CQ][cqn].made = true;
}

static struct strict_object *after_use_cq(struct strict *s, __le32 cqn)
{
	struct strict_object *cq = strict_find(s, STRICT_CQ, le32toh(cqn));

	cq->refs++;
	cq->used = true;
	return cq;
}

static void after_create_qp(struct strict *s, const void *req, uint32_t qpn)
{
	const struct virtio_rdma_cmd_create_qp *cmd = req;
	struct strict_object *pd = strict_find(s, STRICT_PD, le32toh(cmd->pdn));
	struct strict_object *qp = object_add(s, STRICT_QP, qpn, pd);

	check_queues(s, qpn);
	qp->type = cmd->qp_type;
	qp->cap = cmd->cap;
	qp->send_cq = after_use_cq(s, cmd->send_cqn);
	qp->recv_cq = after_use_cq(s, cmd->recv_cqn);
	s->queue[RNIC_SQ][qpn].made = true;
	s->queue[RNIC_RQ][qpn].made = true;
}

static void after_add_gid(struct strict *s, uint32_t index)
{
	if (!strict_find(s, STRICT_GID, index))
		object_add(s, STRICT_GID, index, NULL);
}

void strict_after(struct strict *s, uint8_t command, const void *req, uint8_t ack,
		  const void *rsp)
{
	/* Most requests and most responses begin with a handle. */
	const __le32 *in = req, *out = rsp;

	if (ack != VIRTIO_NET_OK)
		strict_fail(s, "the device refuses %s", strict_name(command));
	switch (command) {
	case VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE:
		memcpy(&s->device, rsp, sizeof(s->device));
		s->has_device = true;
		break;
	case VIRTIO_NET_CTRL_ROCE_QUERY_PORT:
		memcpy(&s->port, rsp, sizeof(s->port));
		s->has_port = true;
		break;
	case VIRTIO_NET_CTRL_ROCE_CREATE_CQ:
		after_create_cq(s, req, le32toh(*out));
		break;
	case VIRTIO_NET_CTRL_ROCE_DESTROY_CQ:
		object_del(s, strict_find(s, STRICT_CQ, le32toh(*in)));
		break;
	case VIRTIO_NET_CTRL_ROCE_CREATE_PD:
		object_add(s, STRICT_PD, le32toh(*out), NULL);
		break;
	case VIRTIO_NET_CTRL_ROCE_DESTROY_PD:
		object_del(s, strict_find(s, STRICT_PD, le32toh(*in)));
		break;
	case VIRTIO_NET_CTRL_ROCE_GET_DMA_MR:
	case VIRTIO_NET_CTRL_ROCE_REG_USER_MR:
		object_add(s, STRICT_MR, le32toh(*out),
			   strict_find(s, STRICT_PD, le32toh(*in)));
		break;
	case VIRTIO_NET_CTRL_ROCE_DEREG_MR:
		object_del(s, strict_find(s, STRICT_MR, le32toh(*in)));
		break;
	case VIRTIO_NET_CTRL_ROCE_CREATE_QP:
		after_create_qp(s, req, le32toh(*out));
		break;
	case VIRTIO_NET_CTRL_ROCE_DESTROY_QP:
		object_del(s, strict_find(s, STRICT_QP, le32toh(*in)));
		break;
	case VIRTIO_NET_CTRL_ROCE_CREATE_AH:
		object_add(s, STRICT_AH, le32toh(*out),
			   strict_find(s, STRICT_PD, le32toh(*in)));
		break;
	case VIRTIO_NET_CTRL_ROCE_DESTROY_AH:
		object_del(s, strict_find(s, STRICT_AH, le32toh(in[1])));
		break;
	case VIRTIO_NET_CTRL_ROCE_ADD_GID:
		after_add_gid(s, le16toh(*(const __le16 *)req));
		break;
	case VIRTIO_NET_CTRL_ROCE_DEL_GID:
		object_del(s, strict_find(s, STRICT_GID,
					  le16toh(*(const __le16 *)req)));
		break;
	}
}
