// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests, copied out of their slots.
 *
 * Each byte of a slot is read once: the fixed part, of a virtqueue's slot before and
 * behind the inline data, then either the inline data or the elements.  Only the copy
 * is used.
 *
 * The fixed part of a slot in direct form says the same in fewer bytes.  So it is
 * turned into that of a virtqueue's slot, and looked at there.
 */
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "rdma/qp/wqe.h"

#define RC	(1 << VIRTIO_IB_QPT_RC)
#define RC_XRC	(1 << VIRTIO_IB_QPT_RC | 1 << VIRTIO_IB_QPT_XRC_INI)
#define CONN	(RC_XRC | 1 << VIRTIO_IB_QPT_UC)
#define ANY	(CONN | 1 << VIRTIO_IB_QPT_UD | 1 << VIRTIO_IB_QPT_GSI)
#define ANY_RAW	(ANY | 1 << VIRTIO_IB_QPT_RAW_PACKET)

#define FLAGS	(VIRTIO_IB_SEND_FENCE | VIRTIO_IB_SEND_SIGNALED | \
		 VIRTIO_IB_SEND_SOLICITED | VIRTIO_IB_SEND_INLINE)

/* Of requests that are carried out here. */
#define LOCAL_FLAGS (VIRTIO_IB_SEND_FENCE | VIRTIO_IB_SEND_SIGNALED)

/**
 * struct wr_op - opcode of a send request
 * @types:	bit mask of the QP types that know it
 * @kind:	&enum pkt_kind
 * @flags:	flags that it takes
 * @wc_opcode:	opcode of its completion
 * @extra:	&enum pkt_extra
 */
struct wr_op {
	uint16_t types;
	uint8_t kind;
	uint8_t flags;
	uint8_t wc_opcode;
	uint8_t extra;
};

static const struct wr_op wr_ops[] = {
	[VIRTIO_IB_WR_RDMA_WRITE] = { CONN, PKT_KIND_WRITE, FLAGS,
		VIRTIO_IB_WC_RDMA_WRITE, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM] = { CONN, PKT_KIND_WRITE, FLAGS,
		VIRTIO_IB_WC_RDMA_WRITE, PKT_EXTRA_IMM },
	[VIRTIO_IB_WR_SEND] = { ANY_RAW, PKT_KIND_SEND, FLAGS,
		VIRTIO_IB_WC_SEND, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_SEND_WITH_IMM] = { ANY, PKT_KIND_SEND, FLAGS,
		VIRTIO_IB_WC_SEND, PKT_EXTRA_IMM },
	[VIRTIO_IB_WR_RDMA_READ] = { RC_XRC, PKT_KIND_READ,
		FLAGS & ~VIRTIO_IB_SEND_INLINE, VIRTIO_IB_WC_RDMA_READ,
		PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_CMP_SWAP] = { RC_XRC, PKT_KIND_ATOMIC,
		FLAGS & ~VIRTIO_IB_SEND_INLINE, VIRTIO_IB_WC_CMP_SWAP,
		PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_FETCH_ADD] = { RC_XRC, PKT_KIND_ATOMIC,
		FLAGS & ~VIRTIO_IB_SEND_INLINE, VIRTIO_IB_WC_FETCH_ADD,
		PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_LOCAL_INV] = { CONN, PKT_KIND_NONE, LOCAL_FLAGS,
		VIRTIO_IB_WC_LOCAL_INV, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_SEND_WITH_INV] = { RC_XRC, PKT_KIND_SEND, FLAGS,
		VIRTIO_IB_WC_SEND, PKT_EXTRA_INV },
	[VIRTIO_IB_WR_REG_MR] = { CONN, PKT_KIND_NONE, LOCAL_FLAGS,
		VIRTIO_IB_WC_REG_MR, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_FLUSH] = { RC, PKT_KIND_FLUSH,
		FLAGS & ~VIRTIO_IB_SEND_INLINE, VIRTIO_IB_WC_FLUSH,
		PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_ATOMIC_WRITE] = { RC, PKT_KIND_ATOMIC_WRITE, FLAGS,
		VIRTIO_IB_WC_ATOMIC_WRITE, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_BIND_MW] = { CONN, PKT_KIND_NONE, LOCAL_FLAGS,
		VIRTIO_IB_WC_BIND_MW, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_TSO] = { 1 << VIRTIO_IB_QPT_RAW_PACKET, PKT_KIND_SEND,
		FLAGS & ~VIRTIO_IB_SEND_INLINE, VIRTIO_IB_WC_TSO, PKT_EXTRA_NONE },
};

/* The fixed part without the inline data in its middle. */
#define SQ_HEAD_SIZE	offsetof(struct virtio_rdma_sq_req, inline_data)
#define SQ_TAIL_OFFSET	offsetof(struct virtio_rdma_sq_req, num_sge)
#define SQ_TAIL_SIZE	(sizeof(struct virtio_rdma_sq_req) - SQ_TAIL_OFFSET)

/* The fixed part in direct form; for most opcodes elements or data begin in it. */
#define SWQE_FIXED_SIZE (offsetof(struct virtio_rdma_swqe, reg) + \
			 sizeof(((struct virtio_rdma_swqe *)0)->reg))

/**
 * struct wr_form - where the payload of a send request is in its slot
 * @data:	offset of inline data
 * @sge:	offset of elements
 */
struct wr_form {
	size_t data;
	size_t sge;
};

static const struct wr_form wr_forms[] = {
	[false] = { SQ_HEAD_SIZE, sizeof(struct virtio_rdma_sq_req) },
	[true] = { offsetof(struct virtio_rdma_swqe, inline_data),
		   offsetof(struct virtio_rdma_swqe, sg_list) },
};

static const struct wr_form wr_form_xrc = {
	VIRTIO_RDMA_XRC_OFFSET + offsetof(struct virtio_rdma_xrc, inline_data),
	VIRTIO_RDMA_XRC_OFFSET + offsetof(struct virtio_rdma_xrc, sg_list),
};

static const struct wr_form *wr_form(const struct wr_slot *slot, uint8_t type)
{
	return type == VIRTIO_IB_QPT_XRC_INI ? &wr_form_xrc : &wr_forms[slot->direct];
}

/* As a rule a slot is one piece, and @len a constant: then nothing is called. */
static inline void slot_read(const struct wr_slot *slot, size_t off, void *buf,
			     size_t len)
{
	const struct iovec *iov = slot->iov;

	if (slot->iov_n && off <= iov->iov_len && len <= iov->iov_len - off)
		guest_mem_read_once(buf, (const uint8_t *)iov->iov_base + off, len);
	else
		iov_to_buf(iov, slot->iov_n, off, buf, len);
}

/*
 * @num is the guest's.  The slot must hold that many elements behind the @off
 * bytes of its fixed part, and that part, too.
 */
static uint8_t sge_read(const struct wr_slot *slot, size_t off, uint32_t num,
			uint32_t max, struct sge *sge, uint8_t *num_sge)
{
	struct virtio_rdma_sge wire;
	uint32_t i;

	if (num > max || num > RNIC_MAX_SGE)
		return VENDOR_ERR_NUM_SGE;
	if (slot->len < off + num * sizeof(wire))
		return VENDOR_ERR_SLOT_SHORT;
	for (i = 0; i < num; i++) {
		slot_read(slot, off + i * sizeof(wire), &wire, sizeof(wire));
		sge[i] = (struct sge) {
			.addr = le64toh(wire.addr),
			.length = le32toh(wire.length),
			.key = le32toh(wire.lkey),
		};
	}
	*num_sge = num;
	return VENDOR_ERR_NONE;
}

static uint8_t wqe_payload(const struct wr_slot *slot, const struct wr_form *form,
			   uint32_t max_sge, const struct virtio_rdma_sq_req *req,
			   struct wqe *wqe)
{
	uint64_t length;
	uint8_t err;

	if (wqe->inlined) {
		wqe->length = le16toh(req->inline_len);
		if (wqe->length > sizeof(wqe->data) ||
		    wqe->length > slot->len - form->data)
			return VENDOR_ERR_INLINE_LEN;
		slot_read(slot, form->data, wqe->data, wqe->length);
		return VENDOR_ERR_NONE;
	}
	err = sge_read(slot, form->sge, le32toh(req->num_sge), max_sge,
		       wqe->sge, &wqe->num_sge);
	if (err)
		return err;
	length = sg_length(wqe->sge, wqe->num_sge);
	if (length > RNIC_MAX_MSG)
		return VENDOR_ERR_LENGTH;
	wqe->length = length;
	return VENDOR_ERR_NONE;
}

static void wqe_reg(const struct virtio_rdma_sq_req *req, struct wqe *wqe)
{
	wqe->reg = (struct mr_fast) {
		.pages = le64toh(req->reg.pages),
		.addr = le64toh(req->reg.iova),
		.length = le32toh(req->reg.length),
		.key = le32toh(req->reg.key),
		.access = le32toh(req->reg.access),
		.npages = le32toh(req->reg.npages),
	};
}

static void wqe_bind(const struct virtio_rdma_sq_req *req, struct wqe *wqe)
{
	wqe->bind = (struct mr_bind) {
		.addr = le64toh(req->bind.addr),
		.length = le64toh(req->bind.length),
		.mr_key = le32toh(req->bind.mr_key),
		.key = le32toh(req->bind.key),
		.access = le32toh(req->bind.access),
	};
}

static void wqe_target(const struct virtio_rdma_sq_req *req, uint8_t type,
		       struct wqe *wqe)
{
	if (type == VIRTIO_IB_QPT_UD || type == VIRTIO_IB_QPT_GSI) {
		wqe->remote_qpn = le32toh(req->ud.remote_qpn);
		wqe->remote_qkey = le32toh(req->ud.remote_qkey);
		wqe->ah = le32toh(req->ud.ah);
	} else {
		wqe->remote_addr = le64toh(req->rdma.remote_addr);
		wqe->rkey = le32toh(req->rdma.rkey);
	}
}

static uint8_t wqe_flush(const struct virtio_rdma_sq_req *req, struct wqe *wqe)
{
	wqe->remote_addr = le64toh(req->flush.remote_addr);
	wqe->rkey = le32toh(req->flush.rkey);
	wqe->flush_len = le32toh(req->flush.length);
	wqe->flush_type = req->flush.type;
	wqe->flush_level = req->flush.level;
	return flush_is_known(wqe->flush_type, wqe->flush_level) ?
	       VENDOR_ERR_NONE : VENDOR_ERR_FLUSH;
}

static void wqe_atomic(const struct virtio_rdma_sq_req *req, struct wqe *wqe)
{
	bool add = req->opcode == VIRTIO_IB_WR_FETCH_ADD;

	wqe->remote_addr = le64toh(req->atomic.remote_addr);
	wqe->rkey = le32toh(req->atomic_rkey);
	wqe->compare = add ? 0 : le64toh(req->atomic.compare_add);
	wqe->swap_add = le64toh(add ? req->atomic.compare_add : req->atomic.swap);
}

/*
 * Fetched data goes to the first bytes of the elements: programs written for other
 * devices post larger ones.
 */
static uint8_t wqe_atomic_length(struct wqe *wqe)
{
	if (wqe->kind == PKT_KIND_ATOMIC && wqe->length > PKT_ATOMIC_SIZE)
		wqe->length = PKT_ATOMIC_SIZE;
	return wqe->length == PKT_ATOMIC_SIZE ? VENDOR_ERR_NONE : VENDOR_ERR_LENGTH;
}

/*
 * Headers, and where elements are behind them.  The copies of both share the room of inline
 * data, which bounds the number of elements.
 */
static uint8_t wqe_read_header(const struct wr_slot *slot, struct wr_form *form,
			       uint32_t *max_sge, struct wqe *wqe)
{
	const size_t room = wqe_header_room(wqe->header_len);
	const size_t sges = (sizeof(wqe->data) - room) / sizeof(struct virtio_rdma_sge);

	if (!wqe->header_len || wqe->header_len > VIRTIO_RDMA_TSO_HEADER)
		return VENDOR_ERR_TSO;
	if (slot->len < form->sge + room)
		return VENDOR_ERR_SLOT_SHORT;
	slot_read(slot, form->sge, wqe_header(wqe), wqe->header_len);
	form->sge += room;
	if (*max_sge > sges)
		*max_sge = sges;
	return VENDOR_ERR_NONE;
}

_Static_assert(sizeof(struct sge) <= sizeof(struct virtio_rdma_sge),
	       "elements and headers do not fit into the room of inline data");
_Static_assert(VIRTIO_RDMA_TSO_HEADER % 16 == 0 &&
	       VIRTIO_RDMA_TSO_HEADER < VIRTIO_RDMA_INLINE_SIZE, "no room for elements");

/* All slots of rings are long enough. */
static uint8_t wqe_srqn(const struct wr_slot *slot, struct wqe *wqe)
{
	__le32 srqn;

	slot_read(slot, VIRTIO_RDMA_XRC_OFFSET, &srqn, sizeof(srqn));
	wqe->srqn = le32toh(srqn);
	return wqe->srqn & ~VIRTIO_RDMA_XRC_SRQN_MASK ? VENDOR_ERR_SRQN : VENDOR_ERR_NONE;
}

/* The operand of the opcode, beside payload. */
static uint8_t wqe_operand(const struct virtio_rdma_sq_req *req, uint8_t type,
			   struct wqe *wqe)
{
	switch (req->opcode) {
	case VIRTIO_IB_WR_REG_MR:
		wqe_reg(req, wqe);
		return VENDOR_ERR_NONE;
	case VIRTIO_IB_WR_BIND_MW:
		wqe_bind(req, wqe);
		return VENDOR_ERR_NONE;
	case VIRTIO_IB_WR_FLUSH:
		return wqe_flush(req, wqe);
	case VIRTIO_IB_WR_CMP_SWAP:
	case VIRTIO_IB_WR_FETCH_ADD:
		wqe_atomic(req, wqe);
		return VENDOR_ERR_NONE;
	case VIRTIO_IB_WR_TSO:
		wqe->mss = le16toh(req->tso.mss);
		wqe->header_len = le16toh(req->tso.header_len);
		return VENDOR_ERR_NONE;
	default:
		wqe_target(req, type, wqe);
		return VENDOR_ERR_NONE;
	}
}

/* Flags that a request may have. */
static uint8_t wqe_flags(const struct wr_op *op, uint8_t type)
{
	return type == VIRTIO_IB_QPT_RAW_PACKET ? op->flags | VIRTIO_IB_SEND_IP_CSUM : op->flags;
}

static uint8_t wqe_decode(const struct wr_slot *slot, uint8_t type,
			  uint32_t max_sge,
			  const struct virtio_rdma_sq_req *req,
			  struct wqe *wqe)
{
	struct wr_form form = *wr_form(slot, type);
	const struct wr_op *op;
	uint8_t err;

	if (req->opcode >= ARRAY_SIZE(wr_ops))
		return VENDOR_ERR_OPCODE;
	op = &wr_ops[req->opcode];
	if (!(op->types & 1 << type))
		return VENDOR_ERR_OPCODE;
	wqe->kind = op->kind;
	wqe->opcode = req->opcode;
	wqe->wc_opcode = op->wc_opcode;
	wqe->extra = op->extra;

	if (req->send_flags & ~wqe_flags(op, type))
		return VENDOR_ERR_FLAGS;
	wqe->fence = req->send_flags & VIRTIO_IB_SEND_FENCE;
	wqe->signaled = req->send_flags & VIRTIO_IB_SEND_SIGNALED;
	wqe->solicited = req->send_flags & VIRTIO_IB_SEND_SOLICITED;
	wqe->ip_csum = req->send_flags & VIRTIO_IB_SEND_IP_CSUM;
	wqe->inlined = req->send_flags & VIRTIO_IB_SEND_INLINE;

	/* Two names of the same bytes; the opcode tells which is the right one. */
	wqe->imm = req->imm_data;
	wqe->inv_rkey = le32toh(req->invalidate_rkey);
	err = wqe_operand(req, type, wqe);
	if (!err && type == VIRTIO_IB_QPT_XRC_INI && op->kind != PKT_KIND_NONE)
		err = wqe_srqn(slot, wqe);
	if (op->kind == PKT_KIND_NONE || op->kind == PKT_KIND_FLUSH)
		max_sge = 0;
	if (!err && req->opcode == VIRTIO_IB_WR_TSO)
		err = wqe_read_header(slot, &form, &max_sge, wqe);
	if (!err)
		err = wqe_payload(slot, &form, max_sge, req, wqe);
	if (!err && pkt_is_atomic(op->kind))
		err = wqe_atomic_length(wqe);
	return err;
}

static uint8_t wqe_read_virtq(const struct wr_slot *slot,
			      struct virtio_rdma_sq_req *req)
{
	slot_read(slot, 0, req, SQ_HEAD_SIZE);
	if (slot->len < sizeof(*req))
		return VENDOR_ERR_SLOT_SHORT;
	slot_read(slot, SQ_TAIL_OFFSET, (uint8_t *)req + SQ_TAIL_OFFSET, SQ_TAIL_SIZE);
	return VENDOR_ERR_NONE;
}

/* A stride is larger than the fixed part. */
static uint8_t wqe_read_direct(const struct wr_slot *slot,
			       struct virtio_rdma_sq_req *req)
{
	struct virtio_rdma_swqe swqe;

	slot_read(slot, 0, &swqe, SWQE_FIXED_SIZE);
	req->opcode = swqe.opcode;
	req->send_flags = swqe.send_flags;
	req->imm_data = swqe.imm_data;
	memcpy(req->reserved, &swqe.reg, sizeof(req->reserved));
	if (swqe.send_flags & VIRTIO_IB_SEND_INLINE)
		req->inline_len = swqe.inline_len;
	else
		req->num_sge = htole32(le16toh(swqe.num_sge));
	return VENDOR_ERR_NONE;
}

_Static_assert(sizeof(((struct virtio_rdma_swqe *)0)->reg) ==
	       sizeof(((struct virtio_rdma_sq_req *)0)->reserved),
	       "the operands of a request differ in size between the forms");

void wqe_parse(const struct wr_slot *slot, uint8_t type, uint32_t max_sge,
	       struct wqe *wqe)
{
	struct virtio_rdma_sq_req req;

	/* The payload is as large as all the rest, and set when it is used. */
	memset(wqe, 0, offsetof(struct wqe, sge));
	memset(&req, 0, SQ_HEAD_SIZE);
	wqe->vendor_err = slot->direct ? wqe_read_direct(slot, &req) :
					 wqe_read_virtq(slot, &req);
	wqe->index = slot->index;
	wqe->head = slot->head;
	wqe->wr_id = le64toh(req.wr_id);

	if (!wqe->vendor_err)
		wqe->vendor_err = wqe_decode(slot, type, max_sge, &req, wqe);
	if (wqe->vendor_err == VENDOR_ERR_LENGTH)
		wqe->status = VIRTIO_IB_WC_LOC_LEN_ERR;
	else if (wqe->vendor_err)
		wqe->status = VIRTIO_IB_WC_LOC_QP_OP_ERR;
}

bool wqe_set_opcode(struct wqe *wqe, uint8_t type)
{
	const struct wr_op *op;

	if (wqe->opcode >= ARRAY_SIZE(wr_ops))
		return false;
	op = &wr_ops[wqe->opcode];
	if (!(op->types & 1 << type) ||
	    (wqe->inlined && !(op->flags & VIRTIO_IB_SEND_INLINE)))
		return false;
	wqe->kind = op->kind;
	wqe->wc_opcode = op->wc_opcode;
	wqe->extra = op->extra;
	return true;
}

void wqe_refuse_extension(struct wqe *wqe)
{
	if (wqe->opcode <= VIRTIO_IB_WR_RDMA_READ)
		return;
	wqe->vendor_err = VENDOR_ERR_OPCODE;
	wqe->status = VIRTIO_IB_WC_LOC_QP_OP_ERR;
}

void rwqe_parse(const struct wr_slot *slot, uint32_t max_sge, struct rwqe *rwqe)
{
	struct virtio_rdma_rq_req req = {};
	struct virtio_rdma_rwqe direct = {};
	size_t fixed = sizeof(req);

	if (slot->direct) {
		fixed = sizeof(direct);
		slot_read(slot, 0, &direct, fixed);
		req.num_sge = direct.num_sge;
	} else {
		slot_read(slot, 0, &req, fixed);
	}
	rwqe->index = slot->shared ? le32toh(direct.cookie) : slot->index;
	rwqe->head = slot->head;
	rwqe->wr_id = le64toh(req.wr_id);
	rwqe->num_sge = 0;
	rwqe->vendor_err = sge_read(slot, fixed, le32toh(req.num_sge), max_sge,
				    rwqe->sge, &rwqe->num_sge);
	rwqe->length = sg_length(rwqe->sge, rwqe->num_sge);
}
