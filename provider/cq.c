// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues.
 *
 * The device owns all slots of a new CQ.  It fills one for each completion.  A slot is
 * copied once and given back at once; only the copy is looked at, because the device may
 * still write to the slot.  If the application lets the CQ overrun, no more completions
 * come, and the device puts the QPs into the error state.
 *
 * In the form of the RFC, a CQ may hold more completions than it has slots: the device
 * keeps the others until slots are free.  The provider cannot tell the application of an
 * overrun.  A CQ in direct form tells the device how many completions were taken, instead
 * of giving slots back, and tells the application of an overrun.
 *
 * A child after fork() does not have the queue of its parent's CQ, see process.c.
 *
 * A completion names its QP only by number, and a new QP may soon have that number.  So
 * when a QP is destroyed or reset, its unread completions are marked, slot by slot, and
 * skipped from then on.
 */
#include <errno.h>
#include <stdlib.h>

#include <ccan/array_size.h>
#include <util/compiler.h>

#include "cmd.h"
#include "compat.h"
#include "virtio_roce.h"

static const enum ibv_wc_status wc_status[] = {
	[VIRTIO_IB_WC_SUCCESS] = IBV_WC_SUCCESS,
	[VIRTIO_IB_WC_LOC_LEN_ERR] = IBV_WC_LOC_LEN_ERR,
	[VIRTIO_IB_WC_LOC_QP_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
	[VIRTIO_IB_WC_LOC_PROT_ERR] = IBV_WC_LOC_PROT_ERR,
	[VIRTIO_IB_WC_WR_FLUSH_ERR] = IBV_WC_WR_FLUSH_ERR,
	[VIRTIO_IB_WC_BAD_RESP_ERR] = IBV_WC_BAD_RESP_ERR,
	[VIRTIO_IB_WC_LOC_ACCESS_ERR] = IBV_WC_LOC_ACCESS_ERR,
	[VIRTIO_IB_WC_REM_INV_REQ_ERR] = IBV_WC_REM_INV_REQ_ERR,
	[VIRTIO_IB_WC_REM_ACCESS_ERR] = IBV_WC_REM_ACCESS_ERR,
	[VIRTIO_IB_WC_REM_OP_ERR] = IBV_WC_REM_OP_ERR,
	[VIRTIO_IB_WC_RETRY_EXC_ERR] = IBV_WC_RETRY_EXC_ERR,
	[VIRTIO_IB_WC_RNR_RETRY_EXC_ERR] = IBV_WC_RNR_RETRY_EXC_ERR,
	[VIRTIO_IB_WC_REM_ABORT_ERR] = IBV_WC_REM_ABORT_ERR,
	[VIRTIO_IB_WC_FATAL_ERR] = IBV_WC_FATAL_ERR,
	[VIRTIO_IB_WC_RESP_TIMEOUT_ERR] = IBV_WC_RESP_TIMEOUT_ERR,
	[VIRTIO_IB_WC_GENERAL_ERR] = IBV_WC_GENERAL_ERR,
	[VIRTIO_IB_WC_MEM_MGT_ERR] = IBV_WC_MW_BIND_ERR,
};

static const struct {
	enum ibv_wc_opcode opcode;
	bool valid;
} wc_opcode[] = {
	[VIRTIO_IB_WC_SEND] = { IBV_WC_SEND, true },
	[VIRTIO_IB_WC_RDMA_WRITE] = { IBV_WC_RDMA_WRITE, true },
	[VIRTIO_IB_WC_RDMA_READ] = { IBV_WC_RDMA_READ, true },
	[VIRTIO_IB_WC_RECV] = { IBV_WC_RECV, true },
	[VIRTIO_IB_WC_RECV_RDMA_WITH_IMM] = { IBV_WC_RECV_RDMA_WITH_IMM, true },
#ifndef WITHOUT_IBV_WR_FLUSH
	[VIRTIO_IB_WC_FLUSH] = { IBV_WC_FLUSH, true },
	[VIRTIO_IB_WC_ATOMIC_WRITE] = { IBV_WC_ATOMIC_WRITE, true },
#endif
	[VIRTIO_IB_WC_CMP_SWAP] = { IBV_WC_COMP_SWAP, true },
	[VIRTIO_IB_WC_FETCH_ADD] = { IBV_WC_FETCH_ADD, true },
	[VIRTIO_IB_WC_LOCAL_INV] = { IBV_WC_LOCAL_INV, true },
	[VIRTIO_IB_WC_BIND_MW] = { IBV_WC_BIND_MW, true },
	[VIRTIO_IB_WC_TSO] = { IBV_WC_TSO, true },
};

static bool has_opcode(uint8_t opcode)
{
	return opcode < ARRAY_SIZE(wc_opcode) && wc_opcode[opcode].valid;
}

/* A completion that makes no sense is an error, whatever its status. */
static enum ibv_wc_status status_of(uint8_t status, uint8_t opcode)
{
	if (unlikely(status >= ARRAY_SIZE(wc_status) ||
		     (status == VIRTIO_IB_WC_SUCCESS && !has_opcode(opcode))))
		return IBV_WC_GENERAL_ERR;

	return wc_status[status];
}

/* Applications may not look at the opcode of an error, so any will do there. */
static enum ibv_wc_opcode opcode_of(uint8_t opcode)
{
	return has_opcode(opcode) ? wc_opcode[opcode].opcode : IBV_WC_SEND;
}

static unsigned int flags_of(uint32_t flags)
{
	return (flags & VIRTIO_IB_WC_GRH ? IBV_WC_GRH : 0) |
	       (flags & VIRTIO_IB_WC_WITH_IMM ? IBV_WC_WITH_IMM : 0) |
	       (flags & VIRTIO_IB_WC_WITH_INVALIDATE ? IBV_WC_WITH_INV : 0) |
	       (flags & VIRTIO_IB_WC_IP_CSUM_OK ? IBV_WC_IP_CSUM_OK : 0);
}

/*
 * A datagram of RoCE has no service level.  RoCE devices use this field for the network
 * header that came with it, by which UCX finds the destination address.  Zero stands for
 * RoCE v1, or for a device that does not tell.
 */
enum {
	PACKET_IPV6 = 1,
	PACKET_IPV4 = 2,
};

static uint8_t sl_of(uint32_t flags)
{
	return flags & VIRTIO_IB_WC_IPV4 ? PACKET_IPV4 :
	       flags & VIRTIO_IB_WC_IPV6 ? PACKET_IPV6 : 0;
}

/* In its place may be a key, which applications read in host order. */
static __be32 imm_data_of(uint32_t flags, __be32 imm_data)
{
	if (flags & VIRTIO_IB_WC_WITH_INVALIDATE)
		return (__force __be32)le32toh((__force __le32)imm_data);
	return imm_data;
}

static void cqe_to_wc(const struct virtio_rdma_cq_req *cqe, struct ibv_wc *wc)
{
	uint32_t flags = le32toh(cqe->wc_flags);

	*wc = (struct ibv_wc){
		.wr_id = le64toh(cqe->wr_id),
		.status = status_of(cqe->status, cqe->opcode),
		.opcode = opcode_of(cqe->opcode),
		.vendor_err = le32toh(cqe->vendor_err),
		.byte_len = le32toh(cqe->byte_len),
		.imm_data = imm_data_of(flags, cqe->imm_data),
		.qp_num = le32toh(cqe->qp_num),
		.src_qp = le32toh(cqe->src_qp),
		.wc_flags = flags_of(flags),
		.sl = sl_of(flags),
	};
}

/*
 * The wr_id of the request that a direct completion names, which is done with.  It is in
 * a table of the queue, which then can use the slot again.
 */
static inline uint64_t cqe_take_wr_id(struct virtio_roce_vq *wq, uint32_t wqe)
{
	uint64_t wr_id;

	if (unlikely(wq->srq))
		return virtio_roce_srq_complete(wq->srq, wqe);
	if (unlikely(wq->gone))
		return 0;
	wr_id = wq->wr_ids[wqe & (wq->ring.depth - 1)];
	/* Release: the table was read before. */
	__atomic_store_n(&wq->ring.seen, wqe + 1, __ATOMIC_RELEASE);
	return wr_id;
}

/* Translates a direct completion to the form of the RFC, but for wr_id and sender. */
static void cqe_copy(const struct virtio_rdma_cqe *from,
		     struct virtio_rdma_cq_req *cqe)
{
	*cqe = (struct virtio_rdma_cq_req){
		.status = from->status,
		.opcode = from->opcode & VIRTIO_RDMA_CQE_OPCODE,
		.vlan = from->vlan,
		.vendor_err = from->vendor_err,
		.byte_len = from->byte_len,
		.imm_data = from->imm_data,
		.qp_num = from->qp_num,
		.wc_flags = htole32(le16toh(from->wc_flags)),
	};
}

/* Context: lock of the CQ held. */
static struct virtio_roce_srq *cq_find_srq(const struct virtio_roce_cq *cq,
					   uint32_t srqn)
{
	struct virtio_roce_srq *srq;

	for (srq = cq->srqs; srq; srq = srq->next)
		if (srq->vsrq.srq_num == srqn)
			break;
	return srq;
}

/* Returns false if there is no such SRQ: it was destroyed, or is about to be. */
static bool cqe_from_xrc(const struct virtio_roce_cq *cq,
			 const struct virtio_rdma_cqe *from,
			 struct virtio_rdma_cq_req *cqe)
{
	struct virtio_roce_srq *srq = cq_find_srq(cq, le32toh(from->srqn));

	if (unlikely(!srq))
		return false;
	cqe_copy(from, cqe);
	cqe->wr_id = htole64(virtio_roce_srq_complete(srq, le32toh(from->wqe)));
	return true;
}

/* How a CQ finds the work queue that a completion is of. */
static uint64_t wq_key(uint32_t qpn, bool recv)
{
	return 2 * (uint64_t)qpn + recv;
}

/* Context: lock of the CQ held. */
static struct virtio_roce_vq *cq_find_wq(const struct virtio_roce_cq *cq, uint64_t key)
{
	struct virtio_roce_vq *wq;

	for (wq = cq->wqs[key & cq->wqs_mask]; wq; wq = wq->chain)
		if (wq->key == key)
			break;
	return wq;
}

/*
 * Translates a direct completion to the form of the RFC.  Returns false if no such queue
 * completes to this CQ: the QP was destroyed, or is about to be, or the device names one
 * that completes to another CQ.  Nothing of that one may be touched, because nobody waits
 * for this CQ when it is destroyed.
 */
static bool cqe_from_direct(struct virtio_roce_cq *cq,
			    const struct virtio_rdma_cqe *from,
			    struct virtio_rdma_cq_req *cqe)
{
	struct virtio_roce_vq *wq;

	if (from->opcode & VIRTIO_RDMA_CQE_XRC)
		return cqe_from_xrc(cq, from, cqe);
	wq = cq_find_wq(cq, wq_key(le32toh(from->qp_num),
				   from->opcode & VIRTIO_RDMA_CQE_RECV));
	if (unlikely(!wq))
		return false;
	cqe_copy(from, cqe);
	cqe->wr_id = htole64(cqe_take_wr_id(wq, le32toh(from->wqe)));
	cqe->src_qp = from->src_qp;
	return likely(!wq->gone);
}

/* Copy the completion in a slot; false if it is of a QP that is gone. */
static bool cq_read(struct virtio_roce_cq *cq, uint32_t slot,
		    struct virtio_rdma_cq_req *cqe)
{
	struct virtio_rdma_cqe direct;

	if (!cq->vq.ring.direct) {
		ring_read(&cq->vq.ring, slot, cqe, sizeof(*cqe));
		return true;
	}
	ring_read(&cq->vq.ring, slot, &direct, sizeof(direct));
	return cqe_from_direct(cq, &direct, cqe);
}

/* No QP or SRQ has this number. */
#define NUMBER_NONE	UINT32_MAX

/* The QP that the completion in a slot belongs to.  One of an XRC SRQ is none of the QP's. */
static uint32_t cq_slot_qpn(const struct virtio_roce_cq *cq, uint32_t slot)
{
	const void *cqe = ring_slot(&cq->vq.ring, slot);
	const struct virtio_rdma_cqe *direct = cqe;

	if (!cq->vq.ring.direct)
		return le32toh(((const struct virtio_rdma_cq_req *)cqe)->qp_num);
	return direct->opcode & VIRTIO_RDMA_CQE_XRC ? NUMBER_NONE :
						      le32toh(direct->qp_num);
}

/* The XRC SRQ that the completion in a slot of a direct CQ belongs to, if any. */
static uint32_t cq_slot_srqn(const struct virtio_roce_cq *cq, uint32_t slot)
{
	const struct virtio_rdma_cqe *cqe = ring_slot(&cq->vq.ring, slot);

	return cqe->opcode & VIRTIO_RDMA_CQE_XRC ? le32toh(cqe->srqn) : NUMBER_NONE;
}

/*
 * Read the oldest completion and give its slot back, after skipping completions of QPs
 * that are gone.
 * Context: lock of the CQ held.  Returns as ring_peek().
 */
static int cq_next(struct virtio_roce_cq *cq, struct virtio_rdma_cq_req *cqe)
{
	struct ring *ring = &cq->vq.ring;
	const uint32_t end = ring->taken + ring->depth;
	uint32_t slot;
	bool stale;
	int err;

	do {
		if (unlikely(ring->taken == end))
			return ENOENT;
		err = ring_peek(ring, &slot);
		if (err)
			return err;
		stale = unlikely(cq->num_stale) && cq->stale[slot];
		if (stale) {
			cq->stale[slot] = false;
			cq->num_stale--;
		} else {
			stale = !cq_read(cq, slot, cqe);
			/* Memory of the direct form stays. */
			if (!ring->direct && unlikely(ring_is_dead(ring)))
				return EIO;
		}
		ring_recycle(ring, slot);
	} while (stale);
	return 0;
}

/*
 * No doorbell is rung: the device looks for a slot when it needs one.
 * Context: lock of the CQ held, which is released.
 */
static inline void cq_unlock(struct virtio_roce_cq *cq)
{
	if (cq->vq.ring.next != cq->vq.ring.shown)
		ring_publish(&cq->vq.ring);
	vq_unlock(&cq->vq);
}

/* Of an XRC SRQ.  Context: lock of the CQ held. */
static __attribute__((noinline)) bool cq_take_xrc(const struct virtio_roce_cq *cq,
						  uint32_t slot, struct ibv_wc *wc)
{
	struct virtio_rdma_cq_req cqe;
	struct virtio_rdma_cqe from;

	ring_read(&cq->vq.ring, slot, &from, sizeof(from));
	if (!(from.opcode & VIRTIO_RDMA_CQE_XRC) || !cqe_from_xrc(cq, &from, &cqe))
		return false;
	cqe_to_wc(&cqe, wc);
	return true;
}

/* A field of a slot is read once, because the device may still write to it. */
static inline uint32_t slot_le32(const __le32 *field)
{
	uint32_t value = __atomic_load_n((const uint32_t *)field, __ATOMIC_RELAXED);

	return le32toh((__force __le32)value);
}

static inline uint16_t slot_le16(const __le16 *field)
{
	uint16_t value = __atomic_load_n((const uint16_t *)field, __ATOMIC_RELAXED);

	return le16toh((__force __le16)value);
}

static inline __be32 slot_be32(const __be32 *field)
{
	return (__force __be32)__atomic_load_n((const uint32_t *)field, __ATOMIC_RELAXED);
}

static inline uint8_t slot_u8(const uint8_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/*
 * As cqe_from_direct(), straight from the slot to what the application gets.  Nearly all
 * completions have no flag.
 * Context: lock of the CQ held.
 */
static bool cq_take_direct(struct virtio_roce_cq *cq, uint32_t slot, struct ibv_wc *wc)
{
	const struct virtio_rdma_cqe *cqe = ring_slot(&cq->vq.ring, slot);
	const uint8_t kind = slot_u8(&cqe->opcode);
	const uint8_t opcode = kind & VIRTIO_RDMA_CQE_OPCODE;
	uint32_t qp_num = slot_le32(&cqe->qp_num);
	uint16_t flags = slot_le16(&cqe->wc_flags);
	struct virtio_roce_vq *wq;

	if (unlikely(kind & VIRTIO_RDMA_CQE_XRC))
		return cq_take_xrc(cq, slot, wc);
	wq = cq_find_wq(cq, wq_key(qp_num, kind & VIRTIO_RDMA_CQE_RECV));
	if (unlikely(!wq))
		return false;
	wc->wr_id = cqe_take_wr_id(wq, slot_le32(&cqe->wqe));
	wc->status = status_of(slot_u8(&cqe->status), opcode);
	wc->opcode = opcode_of(opcode);
	wc->vendor_err = slot_le32(&cqe->vendor_err);
	wc->byte_len = slot_le32(&cqe->byte_len);
	wc->imm_data = slot_be32(&cqe->imm_data);
	wc->qp_num = qp_num;
	wc->src_qp = slot_le32(&cqe->src_qp);
	wc->wc_flags = 0;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = 0;
	wc->dlid_path_bits = 0;
	if (unlikely(flags)) {
		wc->imm_data = imm_data_of(flags, wc->imm_data);
		wc->wc_flags = flags_of(flags);
		wc->sl = sl_of(flags);
	}
	return likely(!wq->gone);
}

/* Is the completion in a slot one to skip?  Context: lock of the CQ held. */
static bool cq_is_stale(struct virtio_roce_cq *cq, uint32_t slot)
{
	if (likely(!cq->num_stale) || !cq->stale[slot])
		return false;
	cq->stale[slot] = false;
	cq->num_stale--;
	return true;
}

/*
 * Poll a direct CQ that is not empty.  The position is kept here meanwhile: nobody else looks
 * at it without the lock.
 * Context: lock of the CQ held, which is released.
 */
static __attribute__((noinline)) int cq_poll_direct(struct virtio_roce_cq *cq,
						    int num_entries, struct ibv_wc *wc)
{
	struct ring *ring = &cq->vq.ring;
	const struct ibv_wc *const last = wc + num_entries;
	const struct ibv_wc *const first = wc;
	const uint32_t begin = ring->taken;
	const uint32_t depth = ring->depth;
	uint32_t taken = begin;
	bool dead = false;
	uint32_t slot;

	/* A device that adds completions to be dropped, without end, does not hold us here. */
	while (wc < last && taken - begin != depth) {
		slot = taken & (depth - 1);
		if (!ring_has_phase_at(ring, slot, taken)) {
			dead = ring_is_dead(ring);
			break;
		}
		if (!cq_is_stale(cq, slot))
			wc += cq_take_direct(cq, slot, wc);
		taken++;
	}
	if (likely(taken != begin)) {
		ring->taken = taken;
		ring->next += taken - begin;
		ring_publish_direct(ring);
	}
	vq_unlock(&cq->vq);

	return wc == first && dead ? -EIO : wc - first;
}

static __attribute__((noinline)) int cq_poll_virtq(struct virtio_roce_cq *cq,
						   int num_entries, struct ibv_wc *wc)
{
	struct virtio_rdma_cq_req cqe;
	int err = 0;
	int n;

	for (n = 0; n < num_entries; n++) {
		err = cq_next(cq, &cqe);
		if (err)
			break;
		cqe_to_wc(&cqe, &wc[n]);
	}
	cq_unlock(cq);

	return !n && err == EIO ? -EIO : n;
}

/*
 * A direct CQ that is empty is what a busy program meets most often.  That is found out
 * here, with nothing but the lock, the phase and the word that tells of an error.
 */
int virtio_roce_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct virtio_roce_cq *cq = to_vcq(ibcq);
	const struct ring *ring = &cq->vq.ring;

	if (cq_is_parents(cq))
		return -EFAULT;

	vq_lock(&cq->vq);
	if (unlikely(!ring->direct))
		return cq_poll_virtq(cq, num_entries, wc);
	if (ring_has_phase(ring, ring->taken & (ring->depth - 1)) ||
	    unlikely(ring_is_dead(ring)))
		return cq_poll_direct(cq, num_entries, wc);
	vq_unlock(&cq->vq);
	return 0;
}

/* The completion in a slot is skipped, but its request is free again. */
static void cq_free_request(const struct virtio_roce_cq *cq, uint32_t slot,
			    struct virtio_roce_srq *srq)
{
	struct virtio_rdma_cqe cqe;

	ring_read(&cq->vq.ring, slot, &cqe, sizeof(cqe));
	if (cqe.opcode & VIRTIO_RDMA_CQE_RECV)
		virtio_roce_srq_complete(srq, le32toh(cqe.wqe));
}

/*
 * Skip the unread completions whose number, as @number_of() tells it, is @number.  The
 * requests of @srq, which may be NULL, that they name are free again.  While the CQ is
 * resized, some are in a ring that is not mapped yet.
 */
static void cq_drop(struct virtio_roce_cq *cq,
		    uint32_t (*number_of)(const struct virtio_roce_cq *cq, uint32_t slot),
		    uint32_t number, struct virtio_roce_srq *srq)
{
	struct ring *ring = &cq->vq.ring;
	struct ring walk;
	uint32_t slot;

	if (cq_is_parents(cq))
		return;

	pthread_mutex_lock(&cq->resize.mutex);
	vq_lock(&cq->vq);
	for (walk = *ring; !ring_peek(&walk, &slot); walk.taken++) {
		if (number_of(cq, slot) != number || cq->stale[slot])
			continue;
		cq->stale[slot] = true;
		cq->num_stale++;
		if (srq)
			cq_free_request(cq, slot, srq);
	}
	vq_unlock(&cq->vq);
	pthread_mutex_unlock(&cq->resize.mutex);
}

/**
 * virtio_roce_cq_drop_qp() - skip the unread completions of a QP
 * @cq: CQ of the QP
 * @qpn: QP, for which the device adds no more completions
 * @srq: its SRQ, or NULL; the requests that they name are free again
 */
void virtio_roce_cq_drop_qp(struct virtio_roce_cq *cq, uint32_t qpn,
			    struct virtio_roce_srq *srq)
{
	cq_drop(cq, cq_slot_qpn, qpn, srq);
}

/**
 * virtio_roce_cq_drop_srq() - skip the unread completions of an XRC SRQ
 * @cq: CQ of the SRQ, which does not find it any more
 * @srqn: number of the SRQ, for which the device adds no more completions
 *
 * If the CQ finds an SRQ by this number, it is a new one, and nothing is skipped: there is
 * nothing of the old one any more, see xsrq_link().
 *
 * Context: qp_mutex held.
 */
void virtio_roce_cq_drop_srq(struct virtio_roce_cq *cq, uint32_t srqn)
{
	bool is_new;

	if (cq_is_parents(cq))
		return;
	vq_lock(&cq->vq);
	is_new = cq_find_srq(cq, srqn);
	vq_unlock(&cq->vq);
	if (!is_new)
		cq_drop(cq, cq_slot_srqn, srqn, NULL);
}

/*
 * Let the table have as many buckets as there are queues.  Without memory for that the
 * chains get longer.
 * Context: qp_mutex held.
 */
static void cq_grow_wqs(struct virtio_roce_cq *cq)
{
	struct virtio_roce_vq **wqs, **old = cq->wqs, *wq;
	uint32_t i, n = cq->wqs_mask + 1;

	if (cq->num_wqs < n)
		return;
	wqs = calloc(2 * n, sizeof(*wqs));
	if (!wqs)
		return;
	vq_lock(&cq->vq);
	for (i = 0; i < n; i++) {
		while ((wq = old[i])) {
			old[i] = wq->chain;
			wq->chain = wqs[wq->key & (2 * n - 1)];
			wqs[wq->key & (2 * n - 1)] = wq;
		}
	}
	cq->wqs = wqs;
	cq->wqs_mask = 2 * n - 1;
	vq_unlock(&cq->vq);
	if (old != cq->few)
		free(old);
}

/**
 * virtio_roce_cq_link() - completions of a work queue find it from now on
 * @cq: CQ that it completes to
 * @wq: work queue
 * @qpn: its QP, of which the CQ has no queue
 * @recv: it is the receive queue
 *
 * Context: qp_mutex held.
 */
void virtio_roce_cq_link(struct virtio_roce_cq *cq, struct virtio_roce_vq *wq,
			 uint32_t qpn, bool recv)
{
	struct virtio_roce_vq **bucket;

	if (cq_is_parents(cq))
		return;
	cq_grow_wqs(cq);
	vq_lock(&cq->vq);
	wq->key = wq_key(qpn, recv);
	bucket = &cq->wqs[wq->key & cq->wqs_mask];
	wq->chain = *bucket;
	*bucket = wq;
	wq->linked = true;
	cq->num_wqs++;
	vq_unlock(&cq->vq);
}

/* Context: lock of the CQ held. */
static void cq_take_out(struct virtio_roce_cq *cq, struct virtio_roce_vq *wq)
{
	struct virtio_roce_vq **link = &cq->wqs[wq->key & cq->wqs_mask];

	while (*link != wq)
		link = &(*link)->chain;
	*link = wq->chain;
	wq->linked = false;
	cq->num_wqs--;
}

/**
 * virtio_roce_cq_unlink() - they do not any more, and those that are there are skipped
 * @cq: CQ that a work queue completes to
 * @wq: the queue, whose QP the kernel has destroyed
 *
 * Completions of both queues of the QP are skipped, so the receive queue comes first, whose
 * requests in an SRQ are free again.  This does nothing if virtio_roce_cq_replace() did it.
 *
 * Context: qp_mutex held.
 */
void virtio_roce_cq_unlink(struct virtio_roce_cq *cq, struct virtio_roce_vq *wq)
{
	if (!wq->linked)
		return;
	virtio_roce_cq_drop_qp(cq, wq->key / 2, wq->srq);
	vq_lock(&cq->vq);
	cq_take_out(cq, wq);
	vq_unlock(&cq->vq);
}

/**
 * virtio_roce_cq_replace() - unlink the queues of a QP whose number is in use again
 * @cq: CQ
 * @qpn: number; the kernel has destroyed the QP that had it
 *
 * Context: qp_mutex held.
 */
void virtio_roce_cq_replace(struct virtio_roce_cq *cq, uint32_t qpn)
{
	struct virtio_roce_vq *wq;
	int recv;

	if (cq_is_parents(cq))
		return;
	/* In this order, see virtio_roce_cq_unlink(). */
	for (recv = 1; recv >= 0; recv--) {
		vq_lock(&cq->vq);
		wq = cq_find_wq(cq, wq_key(qpn, recv));
		vq_unlock(&cq->vq);
		if (wq)
			virtio_roce_cq_unlink(cq, wq);
	}
}

/** virtio_roce_cq_add_srq() - completions find an XRC SRQ from now on */
void virtio_roce_cq_add_srq(struct virtio_roce_cq *cq, struct virtio_roce_srq *srq)
{
	if (cq_is_parents(cq))
		return;
	vq_lock(&cq->vq);
	srq->next = cq->srqs;
	cq->srqs = srq;
	vq_unlock(&cq->vq);
}

/** virtio_roce_cq_remove_srq() - they do not any more, and nobody uses it who found it */
void virtio_roce_cq_remove_srq(struct virtio_roce_cq *cq, struct virtio_roce_srq *srq)
{
	struct virtio_roce_srq **link;

	if (cq_is_parents(cq))
		return;
	vq_lock(&cq->vq);
	for (link = &cq->srqs; *link; link = &(*link)->next) {
		if (*link != srq)
			continue;
		*link = srq->next;
		break;
	}
	vq_unlock(&cq->vq);
}

/* Polling by start_poll, next_poll and end_poll. */

static int cq_ex_next(struct virtio_roce_cq *cq)
{
	int err;

	err = cq_next(cq, &cq->cqe);
	if (err)
		return err;

	cq->vcq.cq_ex.status = status_of(cq->cqe.status, cq->cqe.opcode);
	cq->vcq.cq_ex.wr_id = le64toh(cq->cqe.wr_id);
	return 0;
}

static int cq_start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct virtio_roce_cq *cq = to_vcq_ex(ibcq);
	int err;

	if (attr->comp_mask)
		return EINVAL;
	if (cq_is_parents(cq))
		return EFAULT;

	vq_lock(&cq->vq);
	err = cq_ex_next(cq);
	if (err)
		cq_unlock(cq);
	return err;
}

static int cq_next_poll(struct ibv_cq_ex *ibcq)
{
	return cq_ex_next(to_vcq_ex(ibcq));
}

static void cq_end_poll(struct ibv_cq_ex *ibcq)
{
	cq_unlock(to_vcq_ex(ibcq));
}

static enum ibv_wc_opcode cq_read_opcode(struct ibv_cq_ex *ibcq)
{
	return opcode_of(to_vcq_ex(ibcq)->cqe.opcode);
}

static uint32_t cq_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_vcq_ex(ibcq)->cqe.vendor_err);
}

static uint32_t cq_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_vcq_ex(ibcq)->cqe.byte_len);
}

static __be32 cq_read_imm_data(struct ibv_cq_ex *ibcq)
{
	const struct virtio_rdma_cq_req *cqe = &to_vcq_ex(ibcq)->cqe;

	return imm_data_of(le32toh(cqe->wc_flags), cqe->imm_data);
}

static uint32_t cq_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_vcq_ex(ibcq)->cqe.qp_num);
}

static uint32_t cq_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_vcq_ex(ibcq)->cqe.src_qp);
}

static unsigned int cq_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return flags_of(le32toh(to_vcq_ex(ibcq)->cqe.wc_flags));
}

static uint8_t cq_read_sl(struct ibv_cq_ex *ibcq)
{
	return sl_of(le32toh(to_vcq_ex(ibcq)->cqe.wc_flags));
}

/* The whole tag that was taken out of a frame, or 0. */
static uint16_t cq_read_cvlan(struct ibv_cq_ex *ibcq)
{
	const struct virtio_rdma_cq_req *cqe = &to_vcq_ex(ibcq)->cqe;

	return le32toh(cqe->wc_flags) & VIRTIO_IB_WC_WITH_VLAN ? le16toh(cqe->vlan) : 0;
}

/* Frames have no sender's QPN.  In its place is the tag of the rule that they came by. */
static uint32_t cq_read_flow_tag(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_vcq_ex(ibcq)->cqe.src_qp);
}

/* InfiniBand only */
static uint32_t cq_read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t cq_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

/** virtio_roce_cq_set_ops() - fill in the functions that applications call by pointer */
void virtio_roce_cq_set_ops(struct virtio_roce_cq *cq)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = cq_start_poll;
	ex->next_poll = cq_next_poll;
	ex->end_poll = cq_end_poll;
	ex->read_opcode = cq_read_opcode;
	ex->read_vendor_err = cq_read_vendor_err;
	ex->read_byte_len = cq_read_byte_len;
	ex->read_imm_data = cq_read_imm_data;
	ex->read_qp_num = cq_read_qp_num;
	ex->read_src_qp = cq_read_src_qp;
	ex->read_wc_flags = cq_read_wc_flags;
	ex->read_slid = cq_read_slid;
	ex->read_sl = cq_read_sl;
	ex->read_dlid_path_bits = cq_read_dlid_path_bits;
	ex->read_cvlan = cq_read_cvlan;
	ex->read_flow_tag = cq_read_flow_tag;
}

static struct virtio_roce_cq *cq_alloc(void)
{
	uint64_t process = virtio_roce_process();
	struct virtio_roce_cq *cq;

	cq = process ? virtio_roce_alloc(sizeof(*cq)) : NULL;
	if (!cq)
		return NULL;
	cq->vq.process = process;
	cq->wqs = cq->few;
	cq->wqs_mask = FEW_WQS - 1;
	pthread_mutex_init(&cq->resize.mutex, NULL);
	return cq;
}

static bool cq_is_single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return true;
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	       virtio_roce_single_threaded(attr->parent_domain);
}

/* Values that completions have; a tag only if rules have one. */
static uint64_t cq_wc_flags(struct ibv_context *context)
{
	uint64_t flags = (uint64_t)IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_CVLAN;

	if (to_vctx(context)->device_caps & VIRTIO_IB_DEVICE_FLOW_COUNT)
		flags |= IBV_WC_EX_WITH_FLOW_TAG;
	return flags;
}

struct ibv_cq_ex *virtio_roce_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr)
{
	struct uvirtio_roce_create_cq_resp resp = {};
	const struct virtio_roce_queue *info = &resp.drv_payload.cq;
	struct virtio_roce_cq *cq;
	int err;

	if (attr->wc_flags & ~cq_wc_flags(context) ||
	    attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS |
				IBV_CQ_INIT_ATTR_MASK_PD) ||
	    (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	     attr->flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	cq = cq_alloc();
	if (!cq)
		return NULL;

	err = compat_create_cq_ex(context, attr, &cq->vcq, &resp.ibv_resp,
				  sizeof(resp));
	if (err)
		goto err_free;

	if (to_vctx(context)->features & VIRTIO_ROCE_FEATURE_DIRECT)
		err = virtio_roce_cq_map_direct(cq, context, info);
	else
		err = virtio_roce_vq_map(&cq->vq, context, info, VQ_COMPLETION,
					 sizeof(struct virtio_rdma_cq_req));
	if (err)
		goto err_destroy;

	cq->stale = calloc(info->depth, sizeof(*cq->stale));
	if (!cq->stale) {
		err = ENOMEM;
		goto err_unmap;
	}

	cq->vq.unlocked = cq_is_single_threaded(attr);
	virtio_roce_cq_set_ops(cq);

	return &cq->vcq.cq_ex;

err_unmap:
	virtio_roce_vq_free(&cq->vq);
err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	pthread_mutex_destroy(&cq->resize.mutex);
	free(cq);
	errno = err;
	return NULL;
}

struct ibv_cq *virtio_roce_create_cq(struct ibv_context *context, int cqe,
				     struct ibv_comp_channel *channel,
				     int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *ex;

	ex = virtio_roce_create_cq_ex(context, &attr);
	return ex ? ibv_cq_ex_to_cq(ex) : NULL;
}

/*
 * Returns what to arm a CQ for.  The device sees only the last arming, so an arming repeats what
 * earlier ones asked for and may not have got: one for solicited completions must not
 * take the wake-up of one for any completion.
 *
 * There is at most one event for each arming, and they come in order.  So with @events of
 * them the armings up to this number are answered.  Later ones may be, too, if an
 * earlier one was never answered; then one event more than needed can come.
 *
 * Context: lock of the CQ held.
 */
static uint32_t cq_arm_bits(struct virtio_roce_cq *cq, bool solicited_only)
{
	if (!solicited_only)
		cq->any = cq->armings;
	return cq->any > __atomic_load_n(&cq->events, __ATOMIC_RELAXED) ?
	       VIRTIO_RDMA_ARM_NEXT : VIRTIO_RDMA_ARM_SOLICITED;
}

/*
 * Arming is a store.  The fence orders it before what is polled next; the device stores
 * a completion before it looks at the number.
 */
static int cq_arm(struct virtio_roce_cq *cq, bool solicited_only)
{
	uint32_t *arm, value;
	bool dead;

	vq_lock(&cq->vq);
	/* The kernel has copied the last arming to another control block. */
	while (unlikely(cq->resize.running)) {
		vq_unlock(&cq->vq);
		virtio_roce_resize_wait(&cq->resize);
		vq_lock(&cq->vq);
	}
	arm = (__force uint32_t *)&cq->control->arm;
	cq->armings++;
	value = cq->armings * VIRTIO_RDMA_ARM_NUMBER + cq_arm_bits(cq, solicited_only);
	__atomic_store_n(arm, (__force uint32_t)htole32(value), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	dead = ring_is_dead(&cq->vq.ring);
	vq_unlock(&cq->vq);
	return dead ? EIO : 0;
}

/**
 * virtio_roce_cq_event() - the application has taken an event of a CQ
 * @ibcq: CQ
 *
 * Context: any thread, also of a CQ that one thread uses at a time.
 */
void virtio_roce_cq_event(struct ibv_cq *ibcq)
{
	__atomic_fetch_add(&to_vcq(ibcq)->events, 1, __ATOMIC_RELAXED);
}

int virtio_roce_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct virtio_roce_cq *cq = to_vcq(ibcq);

	if (cq_is_parents(cq))
		return EFAULT;
	if (cq->vq.ring.direct)
		return cq_arm(cq, solicited_only);

	return ibv_cmd_req_notify_cq(ibcq, solicited_only);
}

/* The kernel knows how long an event may wait. */
int virtio_roce_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd;

	if (cq_is_parents(to_vcq(ibcq)))
		return EFAULT;

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

/* In the form of the RFC the slots stay the same. */
int virtio_roce_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct ib_uverbs_resize_cq_resp resp;
	struct ibv_resize_cq cmd;

	if (cq_is_parents(to_vcq(ibcq)))
		return EFAULT;
	if (to_vcq(ibcq)->vq.ring.direct)
		return virtio_roce_cq_resize(to_vcq(ibcq), cqe);

	return ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp,
				 sizeof(resp));
}

/*
 * The kernel destroys an object at once only if nothing of it is mapped.  So the only
 * reason for which it may refuse is checked before the queue is unmapped.
 */
int virtio_roce_destroy_cq(struct ibv_cq *ibcq)
{
	struct virtio_roce_context *ctx = to_vctx(ibcq->context);
	struct virtio_roce_cq *cq = to_vcq(ibcq);
	bool in_use;
	int err;

	if (cq_is_parents(cq))
		return EFAULT;

	pthread_mutex_lock(&ctx->qp_mutex);
	in_use = cq->users;
	pthread_mutex_unlock(&ctx->qp_mutex);
	if (in_use)
		return EBUSY;

	virtio_roce_vq_unmap(&cq->vq);
	err = ibv_cmd_destroy_cq(ibcq);
	if (err)
		return err;

	virtio_roce_vq_free(&cq->vq);
	if (cq->wqs != cq->few)
		free(cq->wqs);
	free(cq->stale);
	pthread_mutex_destroy(&cq->resize.mutex);
	free(cq);
	return 0;
}
