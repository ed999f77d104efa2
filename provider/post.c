// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting send requests, by ibv_post_send() and by the ibv_wr_*() functions.
 *
 * All of them do the same: take the next slot, build the request in it, put it into the
 * available ring; and once at the end, also after an error, publish what was put there
 * and ring the doorbell if the device asks for that.  A request that is not published
 * can be taken back.
 *
 * *bad_wr is written only when a call fails, and a list without requests succeeds.
 */
#include <errno.h>
#include <string.h>

#include <ccan/array_size.h>
#include <util/compiler.h>

#include "virtio_roce.h"

#define QPT(type)	(1U << IBV_QPT_ ## type)
#define QPT_RELIABLE	(QPT(RC) | QPT(XRC_SEND))
#define QPT_CONNECTED	(QPT_RELIABLE | QPT(UC))

/**
 * struct send_op - one opcode of the send queue
 * @types: types of QP that have it, a bit each
 * @wr_flag: flag of this opcode when a QP for ibv_wr_*() is created
 * @opcode: opcode in the request
 * @imm: all ones if it carries immediate data
 * @has_rdma: goes to memory that the request names
 * @has_atomic: likewise, and has operands
 * @has_key: names a key that becomes invalid
 * @is_local: sends nothing and has no payload, or is TSO: see post_special()
 * @has_no_inline: cannot have inline data: it reads, or has no data
 * @wr_only: ibv_post_send() has no such request
 * @cap: bit of enum virtio_ib_device_cap that the device must have, or 0
 */
struct send_op {
	uint32_t types;
	uint64_t wr_flag;
	uint8_t opcode;
	__be32 imm;
	bool has_rdma;
	bool has_atomic;
	bool has_key;
	bool is_local;
	bool has_no_inline;
	bool wr_only;
	uint64_t cap;
};

#define HAS_IMM ((__force __be32)~0u)

static const struct send_op send_ops[] = {
	[IBV_WR_RDMA_WRITE] = {
		.types = QPT_CONNECTED,
		.wr_flag = IBV_QP_EX_WITH_RDMA_WRITE,
		.opcode = VIRTIO_IB_WR_RDMA_WRITE,
		.has_rdma = true,
	},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {
		.types = QPT_CONNECTED,
		.wr_flag = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		.opcode = VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM,
		.imm = HAS_IMM,
		.has_rdma = true,
	},
	[IBV_WR_SEND] = {
		.types = QPT_CONNECTED | QPT(UD) | QPT(RAW_PACKET),
		.wr_flag = IBV_QP_EX_WITH_SEND,
		.opcode = VIRTIO_IB_WR_SEND,
	},
	[IBV_WR_SEND_WITH_IMM] = {
		.types = QPT_CONNECTED | QPT(UD),
		.wr_flag = IBV_QP_EX_WITH_SEND_WITH_IMM,
		.opcode = VIRTIO_IB_WR_SEND_WITH_IMM,
		.imm = HAS_IMM,
	},
	[IBV_WR_RDMA_READ] = {
		.types = QPT_RELIABLE,
		.wr_flag = IBV_QP_EX_WITH_RDMA_READ,
		.opcode = VIRTIO_IB_WR_RDMA_READ,
		.has_rdma = true,
		.has_no_inline = true,
	},
#ifndef WITHOUT_IBV_WR_FLUSH
	[IBV_WR_FLUSH] = {
		.types = QPT(RC),
		.wr_flag = IBV_QP_EX_WITH_FLUSH,
		.opcode = VIRTIO_IB_WR_FLUSH,
		.has_no_inline = true,
		.wr_only = true,
		.cap = VIRTIO_IB_DEVICE_FLUSH,
	},
	[IBV_WR_ATOMIC_WRITE] = {
		.types = QPT(RC),
		.wr_flag = IBV_QP_EX_WITH_ATOMIC_WRITE,
		.opcode = VIRTIO_IB_WR_ATOMIC_WRITE,
		.has_rdma = true,
		.wr_only = true,
		.cap = VIRTIO_IB_DEVICE_ATOMIC_WRITE,
	},
#endif
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {
		.types = QPT_RELIABLE,
		.wr_flag = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		.opcode = VIRTIO_IB_WR_CMP_SWAP,
		.has_atomic = true,
		.has_no_inline = true,
		.cap = VIRTIO_IB_DEVICE_ATOMIC,
	},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {
		.types = QPT_RELIABLE,
		.wr_flag = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		.opcode = VIRTIO_IB_WR_FETCH_ADD,
		.has_atomic = true,
		.has_no_inline = true,
		.cap = VIRTIO_IB_DEVICE_ATOMIC,
	},
	[IBV_WR_SEND_WITH_INV] = {
		.types = QPT_RELIABLE,
		.wr_flag = IBV_QP_EX_WITH_SEND_WITH_INV,
		.opcode = VIRTIO_IB_WR_SEND_WITH_INV,
		.has_key = true,
		.cap = VIRTIO_IB_DEVICE_MEM_WINDOW,
	},
	[IBV_WR_LOCAL_INV] = {
		.types = QPT_CONNECTED,
		.wr_flag = IBV_QP_EX_WITH_LOCAL_INV,
		.opcode = VIRTIO_IB_WR_LOCAL_INV,
		.has_key = true,
		.is_local = true,
		.has_no_inline = true,
		.cap = VIRTIO_IB_DEVICE_MEM_WINDOW,
	},
	[IBV_WR_BIND_MW] = {
		.types = QPT_CONNECTED,
		.wr_flag = IBV_QP_EX_WITH_BIND_MW,
		.opcode = VIRTIO_IB_WR_BIND_MW,
		.is_local = true,
		.has_no_inline = true,
		.cap = VIRTIO_IB_DEVICE_MEM_WINDOW,
	},
	[IBV_WR_TSO] = {
		.types = QPT(RAW_PACKET),
		.wr_flag = IBV_QP_EX_WITH_TSO,
		.opcode = VIRTIO_IB_WR_TSO,
		.is_local = true,
		.has_no_inline = true,
		.cap = VIRTIO_IB_DEVICE_RAW_TSO,
	},
};

/*
 * In states that are not named here posting fails at once.  In error states the device
 * completes the request as flushed.
 */
static const bool may_post_send[] = {
	[IBV_QPS_RTS] = true,
	[IBV_QPS_SQD] = true,
	[IBV_QPS_SQE] = true,
	[IBV_QPS_ERR] = true,
	[IBV_QPS_UNKNOWN] = false,
};

static bool has_op(const struct virtio_roce_context *ctx, enum ibv_qp_type type,
		   const struct send_op *op)
{
	return type < 32 && op->types & (1U << type) &&
	       (ctx->device_caps & op->cap) == op->cap;
}

static const struct send_op *find_op(const struct virtio_roce_qp *qp,
				     enum ibv_wr_opcode opcode)
{
	if (opcode >= ARRAY_SIZE(send_ops) ||
	    !has_op(to_vctx(qp->vqp.qp.context), qp->vqp.qp.qp_type,
		    &send_ops[opcode]))
		return NULL;

	return &send_ops[opcode];
}

/**
 * virtio_roce_send_ops() - operations that QPs of a type can have
 * @ctx: device
 * @type: type of QP
 *
 * Return: enum ibv_qp_create_send_ops_flags.
 */
uint64_t virtio_roce_send_ops(const struct virtio_roce_context *ctx,
			      enum ibv_qp_type type)
{
	uint64_t flags = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(send_ops); i++)
		if (has_op(ctx, type, &send_ops[i]))
			flags |= send_ops[i].wr_flag;
	return flags;
}

/**
 * virtio_roce_plain_ops() - operations for which post_plain() is made
 * @qp: queue pair with its send queue and its limits
 *
 * Return: a bit for each enum ibv_wr_opcode.
 */
uint32_t virtio_roce_plain_ops(const struct virtio_roce_qp *qp)
{
	enum ibv_qp_type type = qp->vqp.qp.qp_type;
	uint32_t ops = 0;
	size_t i;

	if (!qp->sq.ring.direct || (type != IBV_QPT_RC && type != IBV_QPT_UC) ||
	    !qp->max_send_sge)
		return 0;
	for (i = 0; i < ARRAY_SIZE(send_ops); i++)
		if (find_op(qp, i) && !send_ops[i].has_atomic && !send_ops[i].has_key &&
		    !send_ops[i].is_local && !send_ops[i].wr_only)
			ops |= 1U << i;
	return ops;
}

static_assert(ARRAY_SIZE(send_ops) <= 32, "an opcode has no bit");

/*
 * The header of a send request is that of the direct form, which in the form of the RFC
 * stands behind the wr_id.
 */
#define SEND_HEADER	(offsetof(struct virtio_rdma_swqe, reg) + 32)

#define SAME_PLACE(member)						\
	static_assert(offsetof(struct virtio_rdma_sq_req, member) ==	\
		      offsetof(struct virtio_rdma_sq_req, opcode) +	\
		      offsetof(struct virtio_rdma_swqe, member),	\
		      #member " is elsewhere")

SAME_PLACE(send_flags);
SAME_PLACE(imm_data);
SAME_PLACE(rdma.rkey);
SAME_PLACE(ud.ah);
SAME_PLACE(flush.level);
SAME_PLACE(tso.header_len);
static_assert(offsetof(struct virtio_rdma_sq_req, inline_data) ==
	      offsetof(struct virtio_rdma_sq_req, opcode) + SEND_HEADER,
	      "the header has another length");

/*
 * The parts of a send request.  Context: the lock of the send queue is held, or no other
 * thread knows the queue yet.
 */

static uint8_t send_flags(unsigned int flags)
{
	return (flags & IBV_SEND_FENCE ? VIRTIO_IB_SEND_FENCE : 0) |
	       (flags & IBV_SEND_SIGNALED ? VIRTIO_IB_SEND_SIGNALED : 0) |
	       (flags & IBV_SEND_SOLICITED ? VIRTIO_IB_SEND_SOLICITED : 0);
}

/* The payload of a request, which is elements or inline data. */
static void *sq_payload(const struct ring *ring, struct virtio_rdma_swqe *req,
			uint16_t offset)
{
	return (char *)req - ring->head + offset;
}

/* Fills the fields that only requests in the form of the RFC have. */
static void sq_begin_rfc(struct virtio_rdma_sq_req *req, uint64_t wr_id)
{
	req->wr_id = htole64(wr_id);
	memset(&req->num_sge, 0, offsetof(struct virtio_rdma_sq_req, sg_list) -
				 offsetof(struct virtio_rdma_sq_req, num_sge));
}

/* The length of the payload, for which both forms have a place of their own. */
static void sq_set_sges(const struct ring *ring, struct virtio_rdma_swqe *req,
			size_t n)
{
	struct virtio_rdma_sq_req *rfc = sq_payload(ring, req, 0);

	if (ring->direct)
		req->num_sge = htole16(n);
	else
		rfc->num_sge = htole32(n);
}

static void sq_set_inline(const struct ring *ring, struct virtio_rdma_swqe *req,
			  size_t len)
{
	struct virtio_rdma_sq_req *rfc = sq_payload(ring, req, 0);

	if (ring->direct)
		req->inline_len = htole16(len);
	else
		rfc->inline_len = htole16(len);
}

/* Is it what only QPs of whole frames may ask for? */
static __attribute__((noinline)) bool is_frame_flag(const struct virtio_roce_qp *qp,
						    unsigned int flags)
{
	const struct virtio_roce_context *ctx = to_vctx(qp->vqp.qp.context);

	return flags == IBV_SEND_IP_CSUM && qp->vqp.qp.qp_type == IBV_QPT_RAW_PACKET &&
	       ctx->device_caps & VIRTIO_IB_DEVICE_RAW_CSUM;
}

/*
 * Start a request in the next slot: fill in everything except addresses and payload,
 * which are empty.
 */
static int sq_begin(struct virtio_roce_qp *qp, const struct send_op *op,
		    uint64_t wr_id, unsigned int flags,
		    struct virtio_rdma_swqe **reqp)
{
	const unsigned int known = IBV_SEND_FENCE | IBV_SEND_SIGNALED |
				   IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	struct ring *ring = &qp->sq.ring;
	struct virtio_rdma_swqe *req;
	uint32_t slot;

	if (unlikely(!op || (flags & ~known && !is_frame_flag(qp, flags & ~known))))
		return EINVAL;
	if (unlikely(!ring_has_room(ring)))
		return ENOMEM;

	slot = ring_next_slot(ring);
	req = (void *)((char *)ring_slot(ring, slot) + ring->head);
	memset(req, 0, SEND_HEADER);
	if (ring->direct)
		qp->sq.wr_ids[slot] = wr_id;
	else
		sq_begin_rfc(ring_slot(ring, slot), wr_id);
	req->opcode = op->opcode;
	req->send_flags = send_flags(flags);
	if (unlikely(flags & ~known))
		req->send_flags |= VIRTIO_IB_SEND_IP_CSUM;

	*reqp = req;
	return 0;
}

static void sq_put(struct virtio_roce_qp *qp)
{
	ring_put(&qp->sq.ring, ring_next_slot(&qp->sq.ring));
}

/* Of an XRC QP, the SRQ that a request is for.  It stands behind the header. */
static void set_srqn(struct virtio_rdma_swqe *req, uint32_t srqn)
{
	struct virtio_rdma_xrc *xrc = (void *)((char *)req + VIRTIO_RDMA_XRC_OFFSET);

	xrc->srqn = htole32(srqn);
	xrc->reserved = 0;
}

static_assert(SEND_HEADER == VIRTIO_RDMA_XRC_OFFSET, "the header has another length");

static void set_rdma(struct virtio_rdma_swqe *req, uint64_t remote_addr,
		     uint32_t rkey)
{
	req->rdma.remote_addr = htole64(remote_addr);
	req->rdma.rkey = htole32(rkey);
}

static void set_atomic(struct virtio_rdma_swqe *req, uint64_t remote_addr,
		       uint32_t rkey, uint64_t compare_add, uint64_t swap)
{
	req->atomic_rkey = htole32(rkey);
	req->atomic.remote_addr = htole64(remote_addr);
	req->atomic.compare_add = htole64(compare_add);
	req->atomic.swap = htole64(swap);
}

static uint32_t bind_access(unsigned int access)
{
	return (access & IBV_ACCESS_REMOTE_WRITE ? VIRTIO_IB_ACCESS_REMOTE_WRITE : 0) |
	       (access & IBV_ACCESS_REMOTE_READ ? VIRTIO_IB_ACCESS_REMOTE_READ : 0) |
	       (access & IBV_ACCESS_REMOTE_ATOMIC ? VIRTIO_IB_ACCESS_REMOTE_ATOMIC : 0) |
	       (access & IBV_ACCESS_ZERO_BASED ? VIRTIO_IB_ACCESS_ZERO_BASED : 0);
}

/* The device finds the window by its new key, and judges the rest. */
static int set_bind(struct virtio_rdma_swqe *req, uint32_t rkey,
		    const struct ibv_mw_bind_info *info)
{
	const unsigned int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				   IBV_ACCESS_ZERO_BASED;

	if (info->mw_access_flags & ~known || (info->length && !info->mr))
		return EINVAL;

	req->bind.addr = htole64(info->addr);
	req->bind.length = htole64(info->length);
	req->bind.mr_key = htole32(info->mr ? info->mr->lkey : 0);
	req->bind.key = htole32(rkey);
	req->bind.access = htole32(bind_access(info->mw_access_flags));
	return 0;
}

static void set_ud(struct virtio_rdma_swqe *req, struct ibv_ah *ah,
		   uint32_t remote_qpn, uint32_t remote_qkey)
{
	req->ud.ah = htole32(to_vah(ah)->num);
	req->ud.remote_qpn = htole32(remote_qpn);
	req->ud.remote_qkey = htole32(remote_qkey);
}

/*
 * A datagram is one packet.  One that seems too long may fit by now, so the kernel is asked
 * before it is refused.  One that does not fit any more is the device's to refuse.
 */
static int check_datagram(const struct virtio_roce_qp *qp, uint64_t len)
{
	struct virtio_roce_context *ctx = to_vctx(qp->vqp.qp.context);

	if (likely(len <= __atomic_load_n(&ctx->max_datagram, __ATOMIC_RELAXED)))
		return 0;
	return len && len > virtio_roce_ask_mtu(ctx) ? EINVAL : 0;
}

static bool qp_is_ud(const struct virtio_roce_qp *qp)
{
	return qp->vqp.qp.qp_type == IBV_QPT_UD;
}

static uint64_t sges_len(const struct ibv_sge *sges, size_t n)
{
	uint64_t len = 0;

	for (; n; n--, sges++)
		len += sges->length;
	return len;
}

static int set_sges(const struct virtio_roce_qp *qp,
		    struct virtio_rdma_swqe *req, const struct ibv_sge *sges,
		    size_t n)
{
	if (unlikely(n > qp->max_send_sge ||
		     (qp_is_ud(qp) && check_datagram(qp, sges_len(sges, n)))))
		return EINVAL;

	virtio_roce_copy_sges(sq_payload(&qp->sq.ring, req, qp->sq.ring.sges),
			      sges, n);
	sq_set_sges(&qp->sq.ring, req, n);
	return 0;
}

/* Headers of frames, behind which the elements stand. */
static int set_tso(const struct virtio_roce_qp *qp, struct virtio_rdma_swqe *req,
		   const void *header, uint16_t header_len, uint16_t mss)
{
	if (unlikely(!mss || !header_len || header_len > qp->max_tso_header))
		return EINVAL;

	req->tso.mss = htole16(mss);
	req->tso.header_len = htole16(header_len);
	memcpy(sq_payload(&qp->sq.ring, req, qp->sq.ring.sges), header, header_len);
	return 0;
}

static int set_tso_sges(const struct virtio_roce_qp *qp, struct virtio_rdma_swqe *req,
			const struct ibv_sge *sges, size_t n)
{
	uint32_t room = tso_room(le16toh(req->tso.header_len));

	if (unlikely(n > qp->max_send_sge ||
		     room + n * sizeof(struct virtio_rdma_sge) > qp->max_inline_data))
		return EINVAL;

	virtio_roce_copy_sges(sq_payload(&qp->sq.ring, req, qp->sq.ring.sges + room),
			      sges, n);
	sq_set_sges(&qp->sq.ring, req, n);
	return 0;
}

/* Append to the inline data, which has *@have bytes so far. */
static int add_inline(const struct virtio_roce_qp *qp,
		      struct virtio_rdma_swqe *req, size_t *have,
		      const void *data, size_t len)
{
	if (unlikely(len > qp->max_inline_data - *have))
		return EINVAL;

	if (len)
		memcpy((char *)sq_payload(&qp->sq.ring, req, qp->sq.ring.data) +
		       *have, data, len);
	*have += len;
	return 0;
}

static int end_inline(const struct virtio_roce_qp *qp,
		      struct virtio_rdma_swqe *req, size_t have)
{
	req->send_flags |= VIRTIO_IB_SEND_INLINE;
	sq_set_inline(&qp->sq.ring, req, have);
	return qp_is_ud(qp) ? check_datagram(qp, have) : 0;
}

static int set_inline_sges(const struct virtio_roce_qp *qp,
			   struct virtio_rdma_swqe *req,
			   const struct ibv_sge *sges, size_t n)
{
	size_t have = 0;
	int err;

	if (unlikely(n > qp->max_send_sge))
		return EINVAL;

	for (; n; n--, sges++) {
		err = add_inline(qp, req, &have,
				 (const void *)(uintptr_t)sges->addr,
				 sges->length);
		if (unlikely(err))
			return err;
	}
	return end_inline(qp, req, have);
}

/**
 * virtio_roce_announce_send() - tell the device that there are requests
 * @qp: queue pair, whose lock is not held
 *
 * A command instead of a doorbell can fail only when the device is gone.  The requests
 * count as posted then, too; an event tells the application.
 *
 * Return: 0, what posting returns.  So it is the last that is called there, and nothing has
 *	to be kept for later.  It is not static: else the compiler takes the value away.
 */
int virtio_roce_announce_send(struct virtio_roce_qp *qp)
{
	struct ibv_send_wr *bad_wr;

	if (!virtio_roce_vq_ring_doorbell(&qp->sq))
		ibv_cmd_post_send(&qp->vqp.qp, NULL, &bad_wr);
	return 0;
}

/*
 * Publish, release the send queue and ring the doorbell.  This is done without the lock,
 * because a doorbell may take long.
 */
static void sq_end(struct virtio_roce_qp *qp)
{
	bool wanted = virtio_roce_vq_publish(&qp->sq);

	vq_unlock(&qp->sq);
	if (wanted)
		virtio_roce_announce_send(qp);
}

/* The errno if nothing can be sent from a QP, or 0. */
static int post_send_error(const struct virtio_roce_qp *qp)
{
	if (qp_is_parents(qp))
		return EFAULT;
	return likely(may_post_send[qp->vqp.qp.state] && qp_has_sq(qp)) ? 0 : EINVAL;
}

static int post_tso(struct virtio_roce_qp *qp, const struct ibv_send_wr *wr,
		    struct virtio_rdma_swqe *req)
{
	int err = EINVAL;

	if (!(wr->send_flags & IBV_SEND_INLINE))
		err = set_tso(qp, req, wr->tso.hdr, wr->tso.hdr_sz, wr->tso.mss);
	if (!err)
		err = set_tso_sges(qp, req, wr->sg_list, wr->num_sge);
	if (!err)
		sq_put(qp);
	return err;
}

static int post_special(struct virtio_roce_qp *qp, const struct ibv_send_wr *wr,
			struct virtio_rdma_swqe *req)
{
	int err = 0;

	if (wr->opcode == IBV_WR_TSO)
		return post_tso(qp, wr, req);
	if (unlikely(wr->num_sge || wr->send_flags & IBV_SEND_INLINE))
		return EINVAL;
	if (wr->opcode == IBV_WR_BIND_MW)
		err = set_bind(req, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
	if (!err)
		sq_put(qp);
	return err;
}

/* A negative number of SGEs becomes a large size_t, which set_sges() refuses. */
static int post_one_send(struct virtio_roce_qp *qp,
			 const struct ibv_send_wr *wr)
{
	const struct send_op *op = find_op(qp, wr->opcode);
	struct virtio_rdma_swqe *req;
	int err;

	if (unlikely(op && op->wr_only))
		return EINVAL;
	err = sq_begin(qp, op, wr->wr_id, wr->send_flags, &req);
	if (unlikely(err))
		return err;

	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND)
		set_srqn(req, wr->qp_type.xrc.remote_srqn);
	if (op->imm)
		req->imm_data = wr->imm_data;
	if (op->has_key)
		req->invalidate_rkey = htole32(wr->invalidate_rkey);
	if (op->is_local)
		return post_special(qp, wr, req);
	if (op->has_rdma)
		set_rdma(req, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	else if (op->has_atomic)
		set_atomic(req, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey,
			   wr->wr.atomic.compare_add, wr->wr.atomic.swap);
	else if (qp_is_ud(qp))
		set_ud(req, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
		       wr->wr.ud.remote_qkey);

	if (!(wr->send_flags & IBV_SEND_INLINE))
		err = set_sges(qp, req, wr->sg_list, wr->num_sge);
	else if (!op->has_no_inline)
		err = set_inline_sges(qp, req, wr->sg_list, wr->num_sge);
	else
		err = EINVAL;
	if (unlikely(err))
		return err;

	sq_put(qp);
	return 0;
}

/*
 * Plain requests
 *
 * Nearly all requests are posted to a direct queue of an RC or UC QP and have one element,
 * inline or not.  Little is to be looked at for them.
 */

static inline bool wr_is_plain(const struct virtio_roce_qp *qp, const struct ibv_send_wr *wr)
{
	const unsigned int known = IBV_SEND_FENCE | IBV_SEND_SIGNALED |
				   IBV_SEND_SOLICITED | IBV_SEND_INLINE;

	return likely(wr->opcode < ARRAY_SIZE(send_ops) &&
		      qp->plain_ops >> wr->opcode & 1 && !(wr->send_flags & ~known) &&
		      wr->num_sge == 1);
}

/*
 * All of a plain request but its payload, of which it has one element.
 * Context: lock of the send queue held.
 */
static inline void plain_begin(const struct ibv_send_wr *wr, struct virtio_rdma_swqe *req)
{
	const struct send_op *op = &send_ops[wr->opcode];
	/* Opcode, flags and the number of elements. */
	const __le32 head = htole32((1 << 16) + (send_flags(wr->send_flags) << 8) + op->opcode);

	memcpy(req, &head, sizeof(head));
	req->imm_data = wr->imm_data & op->imm;
	req->by_opcode[2] = 0;
	if (op->has_rdma) {
		req->rdma.remote_addr = htole64(wr->wr.rdma.remote_addr);
		req->by_opcode[1] = htole64(wr->wr.rdma.rkey);
	} else {
		req->by_opcode[0] = 0;
		req->by_opcode[1] = 0;
	}
}

/* Returns false if it cannot be inline. */
static inline bool plain_set_inline(const struct virtio_roce_qp *qp,
				    const struct ibv_send_wr *wr, struct virtio_rdma_swqe *req)
{
	if (unlikely(send_ops[wr->opcode].has_no_inline ||
		     wr->sg_list->length > qp->max_inline_data))
		return false;
	req->send_flags |= VIRTIO_IB_SEND_INLINE;
	req->inline_len = htole16(wr->sg_list->length);
	memcpy((char *)req + offsetof(struct virtio_rdma_swqe, inline_data),
	       (const void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	return true;
}

/* Is position @next of a direct queue free? */
static inline bool plain_has_room(const struct ring *ring, uint32_t next)
{
	return likely(next - __atomic_load_n(&ring->seen, __ATOMIC_ACQUIRE) < ring->depth);
}

/*
 * Does what post_one_send() does, or nothing: then it returns false.
 * Context: lock of the send queue held.
 */
static inline bool post_plain(struct virtio_roce_qp *qp, const struct ibv_send_wr *wr)
{
	struct ring *ring = &qp->sq.ring;
	const uint32_t next = ring->next;
	const uint32_t slot = next & (ring->depth - 1);
	struct virtio_rdma_swqe *req = ring_slot(ring, slot);

	if (unlikely(!wr_is_plain(qp, wr) || !plain_has_room(ring, next)))
		return false;

	plain_begin(wr, req);
	if (!(wr->send_flags & IBV_SEND_INLINE))
		virtio_roce_copy_sges(req->sg_list, wr->sg_list, 1);
	else if (unlikely(!plain_set_inline(qp, wr, req)))
		return false;
	qp->sq.wr_ids[slot] = wr->wr_id;
	ring->next = next + 1;
	return true;
}

static_assert(offsetof(struct virtio_rdma_swqe, send_flags) == 1 &&
	      offsetof(struct virtio_rdma_swqe, num_sge) == 2, "the head is another one");

/* The address is followed by the key, and by four bytes that are zero. */
static_assert(offsetof(struct virtio_rdma_swqe, rdma.rkey) ==
	      offsetof(struct virtio_rdma_swqe, by_opcode[1]), "the key is elsewhere");

/* Posts what post_plain() has left.  Context: lock of the send queue held, and released. */
static __attribute__((noinline)) int post_others(struct virtio_roce_qp *qp,
						 struct ibv_send_wr *wr,
						 struct ibv_send_wr **bad_wr)
{
	int err = 0;

	for (; wr; wr = wr->next) {
		err = post_one_send(qp, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	sq_end(qp);
	return err;
}

/*
 * Ends a call that has put requests into a direct queue.
 * Context: lock of the send queue held, which is released.
 */
static inline int post_end(struct virtio_roce_qp *qp)
{
	ring_publish_direct(&qp->sq.ring);
	vq_unlock(&qp->sq);
	return likely(vq_is_announced(&qp->sq)) ? 0 : virtio_roce_announce_send(qp);
}

static __attribute__((noinline)) int post_list(struct virtio_roce_qp *qp,
					       struct ibv_send_wr *wr,
					       struct ibv_send_wr **bad_wr)
{
	int err;

	if (unlikely(!wr))
		return 0;
	err = post_send_error(qp);
	if (unlikely(err)) {
		*bad_wr = wr;
		return err;
	}

	vq_lock(&qp->sq);
	do {
		if (unlikely(!post_plain(qp, wr)))
			return post_others(qp, wr, bad_wr);
		wr = wr->next;
	} while (wr);

	return post_end(qp);
}

/* The rest of virtio_roce_post_send() if the data go into @req, which is that of @slot. */
static __attribute__((noinline)) int post_inline(struct virtio_roce_qp *qp,
						 struct ibv_send_wr *wr,
						 struct ibv_send_wr **bad_wr,
						 struct virtio_rdma_swqe *req, uint32_t slot)
{
	if (unlikely(!plain_set_inline(qp, wr, req)))
		return post_others(qp, wr, bad_wr);
	qp->sq.wr_ids[slot] = wr->wr_id;
	qp->sq.ring.next++;
	return post_end(qp);
}

/*
 * A plain request that is posted alone is what most programs post, so it has its own path.
 * Nothing on it calls a function, but at the end.  All else is done by post_list(), which
 * begins again.
 */
int virtio_roce_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad_wr)
{
	struct virtio_roce_qp *qp = to_vqp(ibqp);
	struct ring *ring = &qp->sq.ring;
	struct virtio_rdma_swqe *req;
	uint32_t next, slot;

	/* Without operations, as all QPs without a send queue are, nothing is plain. */
	if (unlikely(!wr || wr->next || !wr_is_plain(qp, wr) ||
		     qp_is_parents(qp) || !may_post_send[ibqp->state] ||
		     !vq_trylock(&qp->sq)))
		return post_list(qp, wr, bad_wr);

	next = ring->next;
	if (unlikely(!plain_has_room(ring, next))) {
		vq_unlock(&qp->sq);
		return post_list(qp, wr, bad_wr);
	}
	slot = next & (ring->depth - 1);
	req = ring_slot(ring, slot);
	plain_begin(wr, req);
	if (wr->send_flags & IBV_SEND_INLINE)
		return post_inline(qp, wr, bad_wr, req, slot);
	virtio_roce_copy_sges(req->sg_list, wr->sg_list, 1);
	qp->sq.wr_ids[slot] = wr->wr_id;
	ring->next = next + 1;
	return post_end(qp);
}

/*
 * ibv_wr_*(): wr_start() takes the lock and wr_complete() or wr_abort() releases
 * it.  The first error is kept, and calls that follow it do nothing.
 */

static void wr_start(struct ibv_qp_ex *ibqp)
{
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);

	/* In a child there is nothing to lock; calls that follow find the error. */
	if (!qp_is_parents(qp))
		vq_lock(&qp->sq);
	qp->wr_req = NULL;
	qp->wr_err = post_send_error(qp);
}

static int wr_complete(struct ibv_qp_ex *ibqp)
{
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);
	int err = qp->wr_err;

	if (qp_is_parents(qp))
		return EFAULT;
	if (unlikely(err))
		ring_rollback(&qp->sq.ring);
	sq_end(qp);

	return err;
}

static void wr_abort(struct ibv_qp_ex *ibqp)
{
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);

	if (qp_is_parents(qp))
		return;
	ring_rollback(&qp->sq.ring);
	vq_unlock(&qp->sq);
}

/* Begin a request; NULL after an error. */
static struct virtio_rdma_swqe *wr_begin(struct ibv_qp_ex *ibqp,
					 enum ibv_wr_opcode opcode)
{
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);

	if (unlikely(qp->wr_err))
		return NULL;

	qp->wr_op = find_op(qp, opcode);
	qp->wr_err = sq_begin(qp, qp->wr_op, ibqp->wr_id, ibqp->wr_flags,
			      &qp->wr_req);
	if (unlikely(qp->wr_err))
		return NULL;

	/* Until wr_set_xrc_srqn() says which. */
	if (ibqp->qp_base.qp_type == IBV_QPT_XRC_SEND)
		set_srqn(qp->wr_req, 0);
	sq_put(qp);
	return qp->wr_req;
}

/* The request begun last; NULL after an error. */
static struct virtio_rdma_swqe *wr_current(const struct virtio_roce_qp *qp)
{
	return likely(!qp->wr_err) ? qp->wr_req : NULL;
}

static void wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
			  uint64_t remote_addr)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_RDMA_WRITE);

	if (req)
		set_rdma(req, remote_addr, rkey);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	struct virtio_rdma_swqe *req =
		wr_begin(ibqp, IBV_WR_RDMA_WRITE_WITH_IMM);

	if (req) {
		set_rdma(req, remote_addr, rkey);
		req->imm_data = imm_data;
	}
}

static void wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
			 uint64_t remote_addr)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_RDMA_READ);

	if (req)
		set_rdma(req, remote_addr, rkey);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct virtio_rdma_swqe *req =
		wr_begin(ibqp, IBV_WR_ATOMIC_CMP_AND_SWP);

	if (req)
		set_atomic(req, remote_addr, rkey, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	struct virtio_rdma_swqe *req =
		wr_begin(ibqp, IBV_WR_ATOMIC_FETCH_AND_ADD);

	if (req)
		set_atomic(req, remote_addr, rkey, add, 0);
}

#ifndef WITHOUT_IBV_WR_FLUSH
/* The 8 bytes are inline data, for which a request has room whatever the QP was asked. */
static void wr_atomic_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
			    uint64_t remote_addr, const void *value)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_ATOMIC_WRITE);
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);

	if (!req)
		return;
	set_rdma(req, remote_addr, rkey);
	memcpy(sq_payload(&qp->sq.ring, req, qp->sq.ring.data), value,
	       sizeof(uint64_t));
	end_inline(qp, req, sizeof(uint64_t));
}

static uint8_t flush_type(uint8_t type)
{
	return (type & IBV_FLUSH_GLOBAL ? VIRTIO_IB_FLUSH_GLOBAL : 0) |
	       (type & IBV_FLUSH_PERSISTENT ? VIRTIO_IB_FLUSH_PERSISTENT : 0);
}

static void wr_flush(struct ibv_qp_ex *ibqp, uint32_t rkey,
		     uint64_t remote_addr, size_t len, uint8_t type,
		     uint8_t level)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_FLUSH);

	if (!req)
		return;
	/* For a whole memory region the length has no meaning. */
	if (level == IBV_FLUSH_MR)
		len = 0;
	if (!type || type & ~(IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT) ||
	    level > IBV_FLUSH_MR || len > UINT32_MAX) {
		to_vqp_ex(ibqp)->wr_err = EINVAL;
		return;
	}
	req->flush.remote_addr = htole64(remote_addr);
	req->flush.rkey = htole32(rkey);
	req->flush.length = htole32(len);
	req->flush.type = flush_type(type);
	req->flush.level = level == IBV_FLUSH_MR ? VIRTIO_IB_FLUSH_MR :
						   VIRTIO_IB_FLUSH_RANGE;
}
#endif

static void wr_send(struct ibv_qp_ex *ibqp)
{
	wr_begin(ibqp, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm_data)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_SEND_WITH_IMM);

	if (req)
		req->imm_data = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t rkey)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_SEND_WITH_INV);

	if (req)
		req->invalidate_rkey = htole32(rkey);
}

static void wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t rkey)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_LOCAL_INV);

	if (req)
		req->invalidate_rkey = htole32(rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_BIND_MW);

	if (req)
		to_vqp_ex(ibqp)->wr_err = set_bind(req, rkey, info);
}

static void wr_send_tso(struct ibv_qp_ex *ibqp, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	struct virtio_rdma_swqe *req = wr_begin(ibqp, IBV_WR_TSO);
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);

	if (req)
		qp->wr_err = set_tso(qp, req, hdr, hdr_sz, mss);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct virtio_rdma_swqe *req = wr_current(to_vqp_ex(ibqp));

	if (req)
		set_ud(req, ah, remote_qpn, remote_qkey);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ibqp, uint32_t remote_srqn)
{
	struct virtio_rdma_swqe *req = wr_current(to_vqp_ex(ibqp));

	if (req)
		set_srqn(req, remote_srqn);
}

static void wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
			    const struct ibv_sge *sges)
{
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);
	struct virtio_rdma_swqe *req = wr_current(qp);

	if (req)
		qp->wr_err = set_sges(qp, req, sges, num_sge);
}

static void wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ibqp, 1, &sge);
}

/* Of a QP of whole frames. */
static void wr_set_frame_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
				  const struct ibv_sge *sges)
{
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);
	struct virtio_rdma_swqe *req = wr_current(qp);

	if (req && req->opcode == VIRTIO_IB_WR_TSO)
		qp->wr_err = set_tso_sges(qp, req, sges, num_sge);
	else if (req)
		qp->wr_err = set_sges(qp, req, sges, num_sge);
}

static void wr_set_frame_sge(struct ibv_qp_ex *ibqp, uint32_t lkey, uint64_t addr,
			     uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_frame_sge_list(ibqp, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t num_buf,
				    const struct ibv_data_buf *bufs)
{
	struct virtio_roce_qp *qp = to_vqp_ex(ibqp);
	struct virtio_rdma_swqe *req = wr_current(qp);
	size_t have = 0;
	int err;

	if (!req)
		return;

	err = qp->wr_op->has_no_inline ? EINVAL : 0;
	for (; num_buf && !err; num_buf--, bufs++)
		err = add_inline(qp, req, &have, bufs->addr, bufs->length);
	qp->wr_err = err ? err : end_inline(qp, req, have);
}

static void wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
			       size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ibqp, 1, &buf);
}

/** virtio_roce_qp_set_ops() - fill in the functions that applications call by pointer */
void virtio_roce_qp_set_ops(struct virtio_roce_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
#ifndef WITHOUT_IBV_WR_FLUSH
	ex->wr_atomic_write = wr_atomic_write;
	ex->wr_flush = wr_flush;
#endif
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	if (qp->vqp.qp.qp_type == IBV_QPT_RAW_PACKET) {
		ex->wr_send_tso = wr_send_tso;
		ex->wr_set_sge = wr_set_frame_sge;
		ex->wr_set_sge_list = wr_set_frame_sge_list;
	}
}
