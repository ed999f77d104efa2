// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests that were taken, saved and loaded.
 *
 * One that was found to be wrong when it was taken has a status; of it only what is needed to
 * complete it is looked at.
 */
#include "rdma/qp/wqe_image.h"

static void sges_io(struct state *st, struct sge *sge, uint8_t *num)
{
	unsigned int i;

	state_u8(st, "num_sge", num, RNIC_MAX_SGE);
	for (i = 0; i < *num && !st->failed; i++) {
		state_u64(st, "sge.addr", &sge[i].addr, UINT64_MAX);
		state_u32(st, "sge.length", &sge[i].length, UINT32_MAX);
		state_u32(st, "sge.key", &sge[i].key, UINT32_MAX);
	}
}

static void wqe_reg_io(struct state *st, struct mr_fast *reg)
{
	state_u64(st, "reg.pages", &reg->pages, UINT64_MAX);
	state_u64(st, "reg.addr", &reg->addr, UINT64_MAX);
	state_u32(st, "reg.length", &reg->length, UINT32_MAX);
	state_u32(st, "reg.key", &reg->key, UINT32_MAX);
	state_u32(st, "reg.access", &reg->access, UINT32_MAX);
	state_u32(st, "reg.npages", &reg->npages, UINT32_MAX);
}

static void wqe_bind_io(struct state *st, struct mr_bind *bind)
{
	state_u64(st, "bind.addr", &bind->addr, UINT64_MAX);
	state_u64(st, "bind.length", &bind->length, UINT64_MAX);
	state_u32(st, "bind.mr_key", &bind->mr_key, UINT32_MAX);
	state_u32(st, "bind.key", &bind->key, UINT32_MAX);
	state_u32(st, "bind.access", &bind->access, UINT32_MAX);
}

static void wqe_target_io(struct state *st, struct wqe *wqe, uint8_t type)
{
	if (type == VIRTIO_IB_QPT_UD || type == VIRTIO_IB_QPT_GSI) {
		state_u32(st, "remote_qpn", &wqe->remote_qpn, UINT32_MAX);
		state_u32(st, "remote_qkey", &wqe->remote_qkey, UINT32_MAX);
		state_u32(st, "ah", &wqe->ah, UINT32_MAX);
	} else {
		state_u64(st, "remote_addr", &wqe->remote_addr, UINT64_MAX);
		state_u32(st, "rkey", &wqe->rkey, UINT32_MAX);
	}
}

static void wqe_operand_io(struct state *st, struct wqe *wqe, uint8_t type)
{
	switch (wqe->opcode) {
	case VIRTIO_IB_WR_REG_MR:
		wqe_reg_io(st, &wqe->reg);
		return;
	case VIRTIO_IB_WR_BIND_MW:
		wqe_bind_io(st, &wqe->bind);
		return;
	case VIRTIO_IB_WR_TSO:
		/* One that was good was sent when it was taken. */
		state_need(st, wqe->status, "opcode", "it does not wait");
		return;
	}
	wqe_target_io(st, wqe, type);
	switch (wqe->opcode) {
	case VIRTIO_IB_WR_FLUSH:
		state_u32(st, "flush_len", &wqe->flush_len, UINT32_MAX);
		state_u8(st, "flush_type", &wqe->flush_type, UINT8_MAX);
		state_u8(st, "flush_level", &wqe->flush_level, UINT8_MAX);
		state_need(st, wqe->status || flush_is_known(wqe->flush_type, wqe->flush_level),
			   "flush_type", "unknown");
		break;
	case VIRTIO_IB_WR_CMP_SWAP:
	case VIRTIO_IB_WR_FETCH_ADD:
		state_u64(st, "compare", &wqe->compare, UINT64_MAX);
		state_u64(st, "swap_add", &wqe->swap_add, UINT64_MAX);
		break;
	}
}

static bool wqe_length_ok(const struct wqe *wqe)
{
	const uint64_t length = sg_length(wqe->sge, wqe->num_sge);

	if (pkt_is_atomic(wqe->kind) && wqe->length != PKT_ATOMIC_SIZE)
		return false;
	if (wqe->inlined)
		return wqe->length <= sizeof(wqe->data);
	if (wqe->kind == PKT_KIND_ATOMIC)
		return length >= wqe->length;
	return length == wqe->length && length <= RNIC_MAX_MSG;
}

/* A request that was begun was good then. */
static void wqe_payload_io(struct state *st, struct wqe *wqe)
{
	state_u32(st, "length", &wqe->length, UINT32_MAX);
	if (!wqe->inlined)
		sges_io(st, wqe->sge, &wqe->num_sge);
	else if (wqe->length <= sizeof(wqe->data))
		state_bytes(st, "data", wqe->data, wqe->length);
	if (st->loading && !st->failed && (!wqe->status || wqe->begun))
		state_need(st, wqe_length_ok(wqe), "length", "not that of the payload");
}

/* An opcode that was not known is 0, and of no kind. */
static void wqe_opcode_io(struct state *st, struct wqe *wqe, uint8_t type)
{
	uint8_t kind = wqe->kind;

	state_u8(st, "opcode", &wqe->opcode, UINT8_MAX);
	state_u8(st, "kind", &kind, UINT8_MAX);
	if (!st->loading || st->failed)
		return;
	if (!kind && !wqe->opcode) {
		state_need(st, wqe->status && !wqe->begun, "kind", "none");
		return;
	}
	state_need(st, wqe_set_opcode(wqe, type) ||
		   (wqe->status && !wqe->begun && wqe->inlined), "opcode",
		   "unknown, or not for this QP");
	state_need(st, st->failed || wqe->kind == kind || wqe->status, "kind",
		   "not that of the opcode");
}

/*
 * The payload of a request of an offload is memory of this process.  It is not sent again
 * from where it is loaded, and is written as one whose key is not known.
 */
static void posted_save(struct state *st, const struct wqe *posted, uint8_t type)
{
	struct wqe wqe = *posted;

	wqe.posted = false;
	wqe.inlined = false;
	wqe.num_sge = 1;
	wqe.sge[0] = (struct sge) { .length = wqe.length };
	wqe_io(st, &wqe, type);
}

void wqe_io(struct state *st, struct wqe *wqe, uint8_t type)
{
	if (!st->loading && wqe->posted) {
		posted_save(st, wqe, type);
		return;
	}
	wqe->posted = false;
	state_u64(st, "wr_id", &wqe->wr_id, UINT64_MAX);
	state_u32(st, "index", &wqe->index, UINT32_MAX);
	state_u16(st, "head", &wqe->head, VIRTQ_SIZE_MAX - 1);
	state_u8(st, "status", &wqe->status, UINT8_MAX);
	state_u8(st, "vendor_err", &wqe->vendor_err, UINT8_MAX);
	state_bool(st, "fence", &wqe->fence);
	state_bool(st, "signaled", &wqe->signaled);
	state_bool(st, "solicited", &wqe->solicited);
	state_bool(st, "inlined", &wqe->inlined);
	state_bool(st, "begun", &wqe->begun);
	state_bool(st, "reading", &wqe->reading);
	wqe_opcode_io(st, wqe, type);
	state_u32(st, "srqn", &wqe->srqn, wqe->status ? UINT32_MAX : VIRTIO_RDMA_XRC_SRQN_MASK);
	state_bytes(st, "imm", &wqe->imm, sizeof(wqe->imm));
	state_u32(st, "inv_rkey", &wqe->inv_rkey, UINT32_MAX);
	state_u32(st, "pos", &wqe->pos, UINT32_MAX);
	state_u32(st, "npsn", &wqe->npsn, UINT32_MAX);
	wqe_operand_io(st, wqe, type);
	wqe_payload_io(st, wqe);
	state_need(st, !wqe->reading || (wqe->begun && pkt_is_answered(wqe->kind)), "reading",
		   "it is not answered");
}

void rwqe_io(struct state *st, struct rwqe *rwqe)
{
	state_u64(st, "recv.wr_id", &rwqe->wr_id, UINT64_MAX);
	state_u32(st, "recv.index", &rwqe->index, UINT32_MAX);
	state_u16(st, "recv.head", &rwqe->head, VIRTQ_SIZE_MAX - 1);
	state_u8(st, "recv.vendor_err", &rwqe->vendor_err, UINT8_MAX);
	sges_io(st, rwqe->sge, &rwqe->num_sge);
	rwqe->length = sg_length(rwqe->sge, rwqe->num_sge);
}
