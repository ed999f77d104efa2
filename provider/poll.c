// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polling.
 *
 * The device owns all slots of a new CQ.  It fills one for each completion.  A slot is read
 * once, because the device may still write to it, and is given back at once.  If the
 * application lets the CQ overrun, no more completions come, and the device puts the QPs into
 * the error state.
 *
 * In the form of the RFC, a CQ may hold more completions than it has slots: the device
 * keeps the others until slots are free.  The provider cannot tell the application of an
 * overrun.  A CQ in direct form tells the device how many completions were taken, instead
 * of giving slots back, and tells the application of an overrun.
 */
#include <errno.h>

#include <ccan/array_size.h>
#include <util/compiler.h>

#include "virtio_roce.h"

/* The last work queue of a CQ that has none. */
struct virtio_roce_vq virtio_roce_no_wq = { .plain_qpn = WQ_NOT_PLAIN };

/* Of a CQ whose slots have no phase, or that has no slots: one that is there, not plain. */
static const struct virtio_rdma_cqe always_there = {
	.opcode = VIRTIO_RDMA_CQE_XRC,
	.phase = VIRTIO_RDMA_CQE_PHASE,
};

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

/*
 * Status and opcode for the application of a completion without an error, by its opcode.
 * Together they have 64 bits, so they are copied at once.
 */
#define WC_SUCCESS(op)	{ IBV_WC_SUCCESS, op }
#define WC_NO_OPCODE	{ IBV_WC_GENERAL_ERR, IBV_WC_SEND }

static const struct {
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
} wc_of_opcode[16] = {
	[VIRTIO_IB_WC_SEND] = WC_SUCCESS(IBV_WC_SEND),
	[VIRTIO_IB_WC_RDMA_WRITE] = WC_SUCCESS(IBV_WC_RDMA_WRITE),
	[VIRTIO_IB_WC_RDMA_READ] = WC_SUCCESS(IBV_WC_RDMA_READ),
	[VIRTIO_IB_WC_RECV] = WC_SUCCESS(IBV_WC_RECV),
	[VIRTIO_IB_WC_RECV_RDMA_WITH_IMM] = WC_SUCCESS(IBV_WC_RECV_RDMA_WITH_IMM),
	[VIRTIO_IB_WC_CMP_SWAP] = WC_SUCCESS(IBV_WC_COMP_SWAP),
	[VIRTIO_IB_WC_FETCH_ADD] = WC_SUCCESS(IBV_WC_FETCH_ADD),
	[VIRTIO_IB_WC_LOCAL_INV] = WC_SUCCESS(IBV_WC_LOCAL_INV),
	[VIRTIO_IB_WC_REG_MR] = WC_NO_OPCODE,
#ifndef WITHOUT_IBV_WR_FLUSH
	[VIRTIO_IB_WC_FLUSH] = WC_SUCCESS(IBV_WC_FLUSH),
	[VIRTIO_IB_WC_ATOMIC_WRITE] = WC_SUCCESS(IBV_WC_ATOMIC_WRITE),
#else
	[VIRTIO_IB_WC_FLUSH] = WC_NO_OPCODE,
	[VIRTIO_IB_WC_ATOMIC_WRITE] = WC_NO_OPCODE,
#endif
	[VIRTIO_IB_WC_BIND_MW] = WC_SUCCESS(IBV_WC_BIND_MW),
	[VIRTIO_IB_WC_TSO] = WC_SUCCESS(IBV_WC_TSO),
	[VIRTIO_IB_WC_TSO + 1 ... 15] = WC_NO_OPCODE,
};

static bool has_opcode(uint8_t opcode)
{
	return opcode < ARRAY_SIZE(wc_of_opcode) &&
	       wc_of_opcode[opcode].status == IBV_WC_SUCCESS;
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
	return has_opcode(opcode) ? wc_of_opcode[opcode].opcode : IBV_WC_SEND;
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
 * The wr_id of request @wqe of a queue without an SRQ, which is done with.  It is in a table
 * of the queue, which then can use the slot again.
 */
static inline uint64_t wq_take_wr_id(struct virtio_roce_vq *wq, uint32_t wqe)
{
	uint64_t wr_id = wq->wr_ids[wqe & wq->wr_mask];

	/* Release: the table was read before. */
	__atomic_store_n(&wq->ring.seen, wqe + 1, __ATOMIC_RELEASE);
	return wr_id;
}

/* The same of any queue. */
static inline uint64_t cqe_take_wr_id(struct virtio_roce_vq *wq, uint32_t wqe)
{
	if (unlikely(wq->srq))
		return virtio_roce_srq_complete(wq->srq, wqe);
	return likely(!wq->gone) ? wq_take_wr_id(wq, wqe) : 0;
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
		if (ring->direct)
			virtio_roce_cq_set_head(cq);
	} while (stale);
	return 0;
}

/*
 * Eight bytes of a slot, read once, because the device may still write to them.  Of the last
 * eight the phase, which is in the upper half, is read first.
 */
typedef uint64_t __attribute__((may_alias)) slot_word_t;
typedef uint32_t __attribute__((may_alias)) slot_half_t;

static inline uint64_t slot_word(const struct virtio_rdma_cqe *cqe, unsigned int n)
{
	uint64_t word;

#if UINTPTR_MAX > UINT32_MAX
	const slot_word_t *at = (const slot_word_t *)cqe + n;

	word = le64toh((__force __le64)__atomic_load_n(at, __ATOMIC_ACQUIRE));
#else
	const slot_half_t *half = (const slot_half_t *)cqe + 2 * n;

	word = le32toh((__force __le32)__atomic_load_n(half + 1, __ATOMIC_ACQUIRE));
	word = word << 32 | le32toh((__force __le32)__atomic_load_n(half, __ATOMIC_RELAXED));
#endif
#ifdef __SANITIZE_THREAD__
	/*
	 * It does not know that the store of one byte is seen by the load of eight.  If that
	 * was seen, it is seen here as well; before the load it may not have been.
	 */
	__atomic_load_n((const uint8_t *)cqe + 8 * n + 7, __ATOMIC_ACQUIRE);
#endif
	return word;
}

/* A bit of the last word of a slot: VLAN tag, status, opcode, flags and phase. */
enum {
	WORD_LAST = 3,
	WORD_STATUS = 16,
	WORD_FLAGS = 32,
};

#define WORD_XRC	((uint64_t)VIRTIO_RDMA_CQE_XRC << WORD_OPCODE)
#define WORD_PHASE	((uint64_t)VIRTIO_RDMA_CQE_PHASE << 56)

/* None of these bits is set in what nearly all completions are, but for the phase. */
#define PLAIN_OPCODE	(ARRAY_SIZE(wc_of_opcode) - 1)
#define WORD_NO_OPCODE	((uint64_t)(VIRTIO_RDMA_CQE_OPCODE & ~PLAIN_OPCODE) << WORD_OPCODE)
#define WORD_UNUSUAL	((uint64_t)UINT8_MAX << WORD_STATUS | WORD_XRC |	\
			 WORD_NO_OPCODE | (uint64_t)UINT16_MAX << WORD_FLAGS |	\
			 WORD_PHASE)

/*
 * A slot and the phase that it has when there is a completion, in one word that is read at
 * once.  The address of a slot has zeros where the phase is, so an OR makes it that of the
 * last byte, in which the phase is at the same place.
 */
static inline uintptr_t peek_of(const struct virtio_rdma_cqe *cqe, uint64_t phase)
{
	static_assert(VIRTIO_RDMA_CQE_PHASE < CQE_ALIGN, "the phase is beside the address");
	static_assert(offsetof(struct virtio_rdma_cqe, phase) == CQE_ALIGN - 1,
		      "the phase is in the last byte");
	return (uintptr_t)cqe | phase >> 56;
}

static inline bool peek_is_there(uintptr_t peek)
{
	const uint8_t *last = (const uint8_t *)(peek | (CQE_ALIGN - 1));

	return !((__atomic_load_n(last, __ATOMIC_ACQUIRE) ^ peek) & VIRTIO_RDMA_CQE_PHASE);
}

/* Of a CQ that nobody looks at without the lock. */
static const uint32_t look_with_lock = 1;

/*
 * Tell those that look without the lock.  Before the slots are given back: who sees what the
 * device writes to one of these again sees this as well.  The turn is last: who sees it sees
 * the head that it stands for.  It is the number of completions that were taken, which is
 * another with each head of a ring.
 * Context: lock of the CQ held.
 */
static inline void cq_show_head(struct virtio_roce_cq *cq, uint32_t taken)
{
	__atomic_store_n(&cq->peek, peek_of(cq->head, cq->head_phase), __ATOMIC_RELEASE);
	__atomic_store_n(&cq->turn, taken, __ATOMIC_RELEASE);
}

/**
 * virtio_roce_cq_set_head() - remember the slot that is polled next
 * @cq: CQ, whose ring or position in it has changed
 *
 * Context: lock of the CQ held.
 */
void virtio_roce_cq_set_head(struct virtio_roce_cq *cq)
{
	const struct ring *ring = &cq->vq.ring;
	bool odd = ring->direct && ring->taken & ring->depth;

	cq->head = ring->direct ? ring_slot(ring, ring->taken & (ring->depth - 1)) :
				  &always_there;
	cq->end = ring->direct ? ring_slot(ring, ring->depth) : NULL;
	cq->head_phase = odd ? 0 : WORD_PHASE;
	/* In this order: who sees the head of another ring sees that it must not use it. */
	__atomic_store_n(&cq->locked, ring->direct && !cq->resized ? ring->error : &look_with_lock,
			 __ATOMIC_RELAXED);
	cq_show_head(cq, ring->taken);
}

/*
 * No doorbell is rung: the device looks for a slot when it needs one.
 * Context: lock of the CQ held, which is released.
 */
static inline void cq_unlock(struct virtio_roce_cq *cq)
{
	if (cq->vq.ring.next != cq->vq.ring.shown) {
		cq_show_head(cq, cq->vq.ring.taken);
		ring_publish(&cq->vq.ring);
	}
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

/* A field of a slot, likewise. */
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
 * Plain completions
 *
 * Nearly all completions have no error, no flag and no SRQ.  Two words of the slot tell
 * these, and little is to be done for them.
 */

/* Of a plain completion nothing but the opcode is left in this byte. */
static inline unsigned int plain_opcode(uint64_t word)
{
	static_assert((WORD_NO_OPCODE | WORD_XRC | WORD_RECV) >> WORD_OPCODE ==
		      (uint8_t)~PLAIN_OPCODE, "there is more in it");
	return (uint32_t)word >> WORD_OPCODE;
}

/* The queue of a key if its completions are plain, or one that no completion is of. */
static __attribute__((noinline)) struct virtio_roce_vq *
cq_find_plain(const struct virtio_roce_cq *cq, uint64_t key)
{
	struct virtio_roce_vq *wq = cq_find_wq(cq, key);

	return wq && wq->plain_qpn != WQ_NOT_PLAIN ? wq : &virtio_roce_no_wq;
}

/*
 * The last word of a plain completion of a queue, in the bits that are looked at.  With stale
 * completions among them, none is plain: bits that no completion has.
 */
static inline uint64_t cq_expect(const struct virtio_roce_cq *cq,
				 const struct virtio_roce_vq *wq)
{
	uint64_t expect = cq->head_phase | wq->plain_word;

	if (unlikely(cq->num_stale))
		expect |= WORD_NO_OPCODE;
	return expect;
}

/*
 * Is the completion in a slot there and plain?  @wq is the queue of the one before, @expect is
 * that of cq_expect(), and @word is the difference of it and of the last word of the slot.
 * All three become those of this completion's queue.  @numbers gets the word with the number
 * of the QP.
 * Context: lock of the CQ held.
 */
static inline bool cq_is_plain(const struct virtio_roce_cq *cq,
			       const struct virtio_rdma_cqe *cqe, uint64_t *word,
			       struct virtio_roce_vq **wq, uint64_t *expect,
			       uint64_t *numbers)
{
	struct virtio_roce_vq *other;
	uint64_t change;

	*numbers = slot_word(cqe, 1);
	if (likely(!(*word & (WORD_UNUSUAL | WORD_RECV)) &&
		   (uint32_t)*numbers == (*wq)->plain_qpn))
		return true;
	if (*word & WORD_UNUSUAL)
		return false;
	other = cq_find_plain(cq, wq_key(*numbers, (*word ^ (*wq)->plain_word) & WORD_RECV));
	if (unlikely(other->plain_qpn == WQ_NOT_PLAIN))
		return false;
	change = other->plain_word ^ (*wq)->plain_word;
	*word ^= change;
	*expect ^= change;
	*wq = other;
	return true;
}

/* @word and @numbers are those of cq_is_plain(). */
static inline void cq_take_plain(struct virtio_roce_vq *wq,
				 const struct virtio_rdma_cqe *cqe, uint64_t word,
				 uint64_t numbers, struct ibv_wc *wc)
{
	const unsigned int opcode = plain_opcode(word);
	uint64_t length = slot_word(cqe, 0), request = slot_word(cqe, 2);

	static_assert(offsetof(struct ibv_wc, opcode) - offsetof(struct ibv_wc, status) ==
		      offsetof(typeof(wc_of_opcode[0]), opcode), "not side by side");
	wc->wr_id = wq_take_wr_id(wq, request);
	/* Status and opcode, which stand side by side: one store. */
	memcpy(&wc->status, &wc_of_opcode[opcode], sizeof(wc_of_opcode[0]));
	wc->vendor_err = request >> 32;
	wc->byte_len = length;
	wc->imm_data = (__force __be32)htole32(length >> 32);
	wc->qp_num = numbers;
	wc->src_qp = numbers >> 32;
	/* Flags, P_Key index, LID, service level and path bits. */
	memset(&wc->wc_flags, 0, sizeof(*wc) - offsetof(struct ibv_wc, wc_flags));
}

/* The slot after @cqe, and its phase. */
static inline const struct virtio_rdma_cqe *cq_step(const struct virtio_roce_cq *cq,
						    const struct virtio_rdma_cqe *cqe,
						    uint64_t *phase)
{
	cqe = (const void *)((const char *)cqe + cq->vq.ring.stride);
	if (likely(cqe != cq->end))
		return cqe;
	*phase ^= WORD_PHASE;
	return cq->vq.ring.slots;
}

/* One that is not plain, or may be stale.  Returns false if it is one to drop. */
static __attribute__((noinline)) bool cq_take_unusual(struct virtio_roce_cq *cq,
						      uint32_t position, struct ibv_wc *wc)
{
	uint32_t slot = position & (cq->vq.ring.depth - 1);

	return !cq_is_stale(cq, slot) && cq_take_direct(cq, slot, wc);
}

/*
 * Poll a direct CQ.  The position is kept here meanwhile: nobody else looks
 * at it without the lock.
 *
 * Context: lock of the CQ held, which is released.
 */
static __attribute__((noinline)) int cq_poll_direct(struct virtio_roce_cq *cq,
						    int num_entries, struct ibv_wc *wc)
{
	struct ring *ring = &cq->vq.ring;
	struct virtio_roce_vq *wq = cq->last;
	const struct virtio_rdma_cqe *cqe = cq->head;
	uint64_t expect = cq_expect(cq, wq);
	uint64_t word, numbers;
	uint32_t taken;
	int n = 0;

	while (n < num_entries) {
		word = slot_word(cqe, WORD_LAST) ^ expect;
		if (likely(cq_is_plain(cq, cqe, &word, &wq, &expect, &numbers))) {
			cq_take_plain(wq, cqe, word, numbers, wc++);
			n++;
		} else {
			/* A device that adds ones to be dropped does not hold us here. */
			if (word & WORD_PHASE || ring->taken + n - ring->shown == ring->depth)
				break;
			if (cq_take_unusual(cq, ring->taken + n, wc)) {
				wc++;
				n++;
			} else {
				ring->taken++;
			}
		}
		cqe = cq_step(cq, cqe, &expect);
	}
	cq->last = wq;
	taken = ring->taken + n;
	/* A CQ that is in error says so when there is nothing more to take. */
	if (unlikely(!n) && num_entries > 0 && ring_is_dead(ring))
		n = -EIO;
	if (likely(n > 0) || taken != ring->shown) {
		cq->head = cqe;
		cq->head_phase = expect & WORD_PHASE;
		cq_show_head(cq, taken);
		ring->taken = taken;
		ring->next = taken;
		ring_publish_direct(ring);
	}
	vq_unlock(&cq->vq);

	return n;
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
 * A CQ in direct form that is empty is what a busy program meets most often.  It is found out
 * without the lock: the word that tells of an error, and the phase of a slot.  Meanwhile
 * another thread may have taken that completion, and the device may have used the slot again;
 * then it is another turn.  The head would not tell: after two rounds it is the same.
 *
 * The lock is needed in the form of the RFC, and once a CQ was resized: a thread may be here
 * with the old head for any time.  The memory of the first ring stays readable for that; this
 * cannot be done for each of many.
 */
static inline bool cq_is_empty(const struct virtio_roce_cq *cq)
{
	const uint32_t turn = __atomic_load_n(&cq->turn, __ATOMIC_ACQUIRE);
	const uintptr_t peek = __atomic_load_n(&cq->peek, __ATOMIC_ACQUIRE);
	const uint32_t *locked = __atomic_load_n(&cq->locked, __ATOMIC_RELAXED);

	return likely(!__atomic_load_n(locked, __ATOMIC_RELAXED)) && !peek_is_there(peek) &&
	       likely(__atomic_load_n(&cq->turn, __ATOMIC_RELAXED) == turn);
}

/* Context: lock of the CQ held, which is released. */
static inline int cq_poll(struct virtio_roce_cq *cq, int num_entries, struct ibv_wc *wc)
{
	if (unlikely(!cq->vq.ring.direct))
		return cq_poll_virtq(cq, num_entries, wc);
	return cq_poll_direct(cq, num_entries, wc);
}

static __attribute__((noinline)) int cq_poll_contended(struct virtio_roce_cq *cq,
						       int num_entries, struct ibv_wc *wc)
{
	virtio_roce_vq_spin(&cq->vq);
	return cq_poll(cq, num_entries, wc);
}

int virtio_roce_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct virtio_roce_cq *cq = to_vcq(ibcq);

	if (cq_is_parents(cq))
		return -EFAULT;
	if (cq_is_empty(cq))
		return 0;
	if (unlikely(!vq_trylock(&cq->vq)))
		return cq_poll_contended(cq, num_entries, wc);
	return cq_poll(cq, num_entries, wc);
}

/* Polling by start_poll, next_poll and end_poll. */

static __attribute__((noinline)) int cq_ex_next_unusual(struct virtio_roce_cq *cq)
{
	int err;

	err = cq_next(cq, &cq->cqe);
	if (err)
		return err;

	cq->vcq.cq_ex.status = status_of(cq->cqe.status, cq->cqe.opcode);
	cq->vcq.cq_ex.wr_id = le64toh(cq->cqe.wr_id);
	return 0;
}

static inline int cq_ex_next(struct virtio_roce_cq *cq)
{
	struct virtio_roce_vq *wq = cq->last;
	uint64_t expect = cq_expect(cq, wq);
	uint64_t word = slot_word(cq->head, WORD_LAST) ^ expect;
	const struct virtio_rdma_cqe *cqe = cq->head;
	struct virtio_rdma_cq_req *to = &cq->cqe;
	uint64_t numbers, length, request;

	if (unlikely(!cq_is_plain(cq, cqe, &word, &wq, &expect, &numbers)))
		return cq_ex_next_unusual(cq);

	length = slot_word(cqe, 0);
	request = slot_word(cqe, 2);
	to->opcode = plain_opcode(word);
	cq->last = wq;
	cq->vcq.cq_ex.status = wc_of_opcode[to->opcode].status;
	cq->vcq.cq_ex.wr_id = wq_take_wr_id(wq, request);
	to->vendor_err = htole32(request >> 32);
	to->byte_len = htole32(length);
	to->imm_data = (__force __be32)htole32(length >> 32);
	to->qp_num = htole32(numbers);
	to->src_qp = htole32(numbers >> 32);
	to->wc_flags = 0;
	cq->head = cq_step(cq, cqe, &cq->head_phase);
	cq->vq.ring.taken++;
	cq->vq.ring.next++;
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
	if (cq_is_empty(cq))
		return ENOENT;

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

/*
 * The time stands in the slot, which is not given back before the poll ends: so nothing is
 * done for it where it is not read.
 */
static uint64_t cq_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	const struct ring *ring = &to_vcq_ex(ibcq)->vq.ring;
	const struct virtio_rdma_cqe_timed *timed =
		ring_slot(ring, (ring->taken - 1) & (ring->depth - 1));

	return slot_word(&timed->cqe, offsetof(typeof(*timed), time) / sizeof(uint64_t));
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
	if (cq->timed)
		ex->read_completion_ts = cq_read_completion_ts;
}
