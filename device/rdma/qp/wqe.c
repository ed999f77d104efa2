// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests, copied out of their slots.
 *
 * Each byte of a slot is read once: the fixed part before and behind the inline
 * data, then either the inline data or the elements.  Only the copy is used.
 */
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "rdma/qp/wqe.h"

#define RC	(1 << VIRTIO_IB_QPT_RC)
#define RC_UC	(1 << VIRTIO_IB_QPT_RC | 1 << VIRTIO_IB_QPT_UC)
#define ANY	(1 << VIRTIO_IB_QPT_RC | 1 << VIRTIO_IB_QPT_UC | \
		 1 << VIRTIO_IB_QPT_UD | 1 << VIRTIO_IB_QPT_GSI)

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
	uint8_t types;
	uint8_t kind;
	uint8_t flags;
	uint8_t wc_opcode;
	uint8_t extra;
};

static const struct wr_op wr_ops[] = {
	[VIRTIO_IB_WR_RDMA_WRITE] = { RC_UC, PKT_KIND_WRITE, FLAGS,
		VIRTIO_IB_WC_RDMA_WRITE, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM] = { RC_UC, PKT_KIND_WRITE, FLAGS,
		VIRTIO_IB_WC_RDMA_WRITE, PKT_EXTRA_IMM },
	[VIRTIO_IB_WR_SEND] = { ANY, PKT_KIND_SEND, FLAGS,
		VIRTIO_IB_WC_SEND, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_SEND_WITH_IMM] = { ANY, PKT_KIND_SEND, FLAGS,
		VIRTIO_IB_WC_SEND, PKT_EXTRA_IMM },
	[VIRTIO_IB_WR_RDMA_READ] = { RC, PKT_KIND_READ,
		FLAGS & ~VIRTIO_IB_SEND_INLINE, VIRTIO_IB_WC_RDMA_READ,
		PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_LOCAL_INV] = { RC_UC, PKT_KIND_NONE, LOCAL_FLAGS,
		VIRTIO_IB_WC_LOCAL_INV, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_SEND_WITH_INV] = { RC, PKT_KIND_SEND, FLAGS,
		VIRTIO_IB_WC_SEND, PKT_EXTRA_INV },
	[VIRTIO_IB_WR_REG_MR] = { RC_UC, PKT_KIND_NONE, LOCAL_FLAGS,
		VIRTIO_IB_WC_REG_MR, PKT_EXTRA_NONE },
	[VIRTIO_IB_WR_FLUSH] = { RC, PKT_KIND_FLUSH,
		FLAGS & ~VIRTIO_IB_SEND_INLINE, VIRTIO_IB_WC_FLUSH,
		PKT_EXTRA_NONE },
};

/* The fixed part without the inline data in its middle. */
#define SQ_HEAD_SIZE	offsetof(struct virtio_rdma_sq_req, inline_data)
#define SQ_TAIL_OFFSET	offsetof(struct virtio_rdma_sq_req, num_sge)
#define SQ_TAIL_SIZE	(sizeof(struct virtio_rdma_sq_req) - SQ_TAIL_OFFSET)

static void slot_read(const struct virtq_elem *elem, size_t off, void *buf,
		      size_t len)
{
	iov_to_buf(elem->iov, elem->out_n, off, buf, len);
}

/*
 * @num is the guest's.  The slot must hold that many elements behind the @off
 * bytes of its fixed part, and that part, too.
 */
static uint8_t sge_read(const struct virtq_elem *elem, size_t off, uint32_t num,
			uint32_t max, struct sge *sge, uint8_t *num_sge)
{
	struct virtio_rdma_sge wire;
	uint32_t i;

	if (num > max || num > RNIC_MAX_SGE)
		return VENDOR_ERR_NUM_SGE;
	if (elem->out_len < off + num * sizeof(wire))
		return VENDOR_ERR_SLOT_SHORT;
	for (i = 0; i < num; i++) {
		slot_read(elem, off + i * sizeof(wire), &wire, sizeof(wire));
		sge[i] = (struct sge) {
			.addr = le64toh(wire.addr),
			.length = le32toh(wire.length),
			.key = le32toh(wire.lkey),
		};
	}
	*num_sge = num;
	return VENDOR_ERR_NONE;
}

static uint8_t wqe_payload(const struct virtq_elem *elem, uint32_t max_sge,
			   const struct virtio_rdma_sq_req *slot,
			   struct wqe *wqe)
{
	uint64_t length;
	uint8_t err;

	if (wqe->inlined) {
		wqe->length = le16toh(slot->inline_len);
		if (wqe->length > sizeof(wqe->data))
			return VENDOR_ERR_INLINE_LEN;
		slot_read(elem, SQ_HEAD_SIZE, wqe->data, wqe->length);
		return VENDOR_ERR_NONE;
	}
	err = sge_read(elem, sizeof(*slot), le32toh(slot->num_sge), max_sge,
		       wqe->sge, &wqe->num_sge);
	if (err)
		return err;
	length = sg_length(wqe->sge, wqe->num_sge);
	if (length > RNIC_MAX_MSG)
		return VENDOR_ERR_LENGTH;
	wqe->length = length;
	return VENDOR_ERR_NONE;
}

static void wqe_reg(const struct virtio_rdma_sq_req *slot, struct wqe *wqe)
{
	wqe->reg = (struct mr_fast) {
		.pages = le64toh(slot->reg.pages),
		.addr = le64toh(slot->reg.iova),
		.length = le32toh(slot->reg.length),
		.key = le32toh(slot->reg.key),
		.access = le32toh(slot->reg.access),
		.npages = le32toh(slot->reg.npages),
	};
}

static void wqe_target(const struct virtio_rdma_sq_req *slot, uint8_t type,
		       struct wqe *wqe)
{
	if (type == VIRTIO_IB_QPT_UD || type == VIRTIO_IB_QPT_GSI) {
		wqe->remote_qpn = le32toh(slot->ud.remote_qpn);
		wqe->remote_qkey = le32toh(slot->ud.remote_qkey);
		wqe->ah = le32toh(slot->ud.ah);
	} else {
		wqe->remote_addr = le64toh(slot->rdma.remote_addr);
		wqe->rkey = le32toh(slot->rdma.rkey);
	}
}

static uint8_t wqe_flush(const struct virtio_rdma_sq_req *slot, struct wqe *wqe)
{
	wqe->remote_addr = le64toh(slot->flush.remote_addr);
	wqe->rkey = le32toh(slot->flush.rkey);
	wqe->flush_len = le32toh(slot->flush.length);
	wqe->flush_type = slot->flush.type;
	wqe->flush_level = slot->flush.level;
	return flush_is_known(wqe->flush_type, wqe->flush_level) ?
	       VENDOR_ERR_NONE : VENDOR_ERR_FLUSH;
}

/* What the opcode is about, beside payload. */
static uint8_t wqe_operand(const struct virtio_rdma_sq_req *slot, uint8_t type,
			   struct wqe *wqe)
{
	switch (slot->opcode) {
	case VIRTIO_IB_WR_REG_MR:
		wqe_reg(slot, wqe);
		return VENDOR_ERR_NONE;
	case VIRTIO_IB_WR_FLUSH:
		return wqe_flush(slot, wqe);
	default:
		wqe_target(slot, type, wqe);
		return VENDOR_ERR_NONE;
	}
}

static uint8_t wqe_decode(const struct virtq_elem *elem, uint8_t type,
			  uint32_t max_sge,
			  const struct virtio_rdma_sq_req *slot,
			  struct wqe *wqe)
{
	const struct wr_op *op;
	uint8_t err;

	if (slot->opcode >= ARRAY_SIZE(wr_ops))
		return VENDOR_ERR_OPCODE;
	op = &wr_ops[slot->opcode];
	if (!(op->types & 1 << type))
		return VENDOR_ERR_OPCODE;
	wqe->kind = op->kind;
	wqe->opcode = slot->opcode;
	wqe->wc_opcode = op->wc_opcode;
	wqe->extra = op->extra;

	if (slot->send_flags & ~op->flags)
		return VENDOR_ERR_FLAGS;
	wqe->fence = slot->send_flags & VIRTIO_IB_SEND_FENCE;
	wqe->signaled = slot->send_flags & VIRTIO_IB_SEND_SIGNALED;
	wqe->solicited = slot->send_flags & VIRTIO_IB_SEND_SOLICITED;
	wqe->inlined = slot->send_flags & VIRTIO_IB_SEND_INLINE;

	/* Two names of the same bytes; the opcode tells which is the right one. */
	wqe->imm = slot->imm_data;
	wqe->inv_rkey = le32toh(slot->invalidate_rkey);
	err = wqe_operand(slot, type, wqe);
	if (err)
		return err;
	if (op->kind == PKT_KIND_NONE || op->kind == PKT_KIND_FLUSH)
		max_sge = 0;
	return wqe_payload(elem, max_sge, slot, wqe);
}

void wqe_parse(const struct virtq_elem *elem, uint8_t type, uint32_t max_sge,
	       struct wqe *wqe)
{
	struct virtio_rdma_sq_req slot;

	/* The payload is as large as all the rest, and set when it is used. */
	memset(wqe, 0, offsetof(struct wqe, sge));
	memset(&slot, 0, SQ_HEAD_SIZE);
	slot_read(elem, 0, &slot, SQ_HEAD_SIZE);
	wqe->head = elem->head;
	wqe->wr_id = le64toh(slot.wr_id);

	if (elem->out_len < sizeof(slot)) {
		wqe->vendor_err = VENDOR_ERR_SLOT_SHORT;
	} else {
		slot_read(elem, SQ_TAIL_OFFSET,
			  (uint8_t *)&slot + SQ_TAIL_OFFSET, SQ_TAIL_SIZE);
		wqe->vendor_err = wqe_decode(elem, type, max_sge, &slot, wqe);
	}
	if (wqe->vendor_err == VENDOR_ERR_LENGTH)
		wqe->status = VIRTIO_IB_WC_LOC_LEN_ERR;
	else if (wqe->vendor_err)
		wqe->status = VIRTIO_IB_WC_LOC_QP_OP_ERR;
}

void wqe_refuse_extension(struct wqe *wqe)
{
	if (wqe->status || wqe->opcode <= VIRTIO_IB_WR_RDMA_READ)
		return;
	wqe->vendor_err = VENDOR_ERR_OPCODE;
	wqe->status = VIRTIO_IB_WC_LOC_QP_OP_ERR;
}

void rwqe_parse(const struct virtq_elem *elem, uint32_t max_sge,
		struct rwqe *rwqe)
{
	struct virtio_rdma_rq_req slot = {};

	slot_read(elem, 0, &slot, sizeof(slot));
	rwqe->head = elem->head;
	rwqe->wr_id = le64toh(slot.wr_id);
	rwqe->num_sge = 0;
	rwqe->vendor_err = sge_read(elem, sizeof(slot), le32toh(slot.num_sge),
				    max_sge, rwqe->sge, &rwqe->num_sge);
	rwqe->length = sg_length(rwqe->sge, rwqe->num_sge);
}
