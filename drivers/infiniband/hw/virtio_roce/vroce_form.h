/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two forms of a queue, below the data path of kernel consumers:
 *
 *   RFC     a virtqueue and its slots, see vroce_ring.h
 *   direct  a ring of requests with a producer index, or a ring of completions with a
 *           phase bit, in memory of its own
 *
 * The header of a request is the same in both: bytes 8 to 47 of the RFC's send requests
 * are bytes 0 to 39 of direct ones, apart from the number of elements, and likewise for
 * receive requests.  So a form is three offsets, and who sees which index.
 *
 * Positions run freely in 32 bits.  Where the RFC has 16 bits, the lower half is meant.
 */
#ifndef _VROCE_FORM_H
#define _VROCE_FORM_H

#include "vroce_types.h"

/*
 * This bit in a wr_id on the wire means that the request is of a receive queue.  The
 * bits below it are the position in the ring.
 */
#define VROCE_COOKIE_RECV	BIT_ULL(16)

/**
 * struct vroce_cqe - a completion, copied out of a CQ of either form
 * @req: what the device wrote, without wr_id
 * @qpn: QP
 * @pos: which request; in the RFC's queues only the lower 16 bits count
 * @recv: it is one of the receive queue
 * @odd: it names no request
 */
struct vroce_cqe {
	struct virtio_rdma_cq_req req;
	u32 qpn;
	u32 pos;
	bool recv;
	bool odd;
};

void vroce_form_init_wq(struct vroce_queue *q, bool recv);
void vroce_form_set_sges(const struct vroce_queue *q, void *slot, u32 num);
void vroce_form_set_inline(const struct vroce_queue *q, void *slot, u16 len);
void vroce_wq_put(const struct vroce_queue *q, u32 pos, bool recv);
void vroce_wq_announce(struct virtio_net_roce_aux *aux, struct vroce_queue *q,
		       u32 old);

void *vroce_cq_entry(const struct vroce_queue *q, u32 i);
void vroce_cq_read(const struct vroce_queue *q, const void *entry,
		   struct vroce_cqe *cqe);
void vroce_cq_advance(struct vroce_queue *q, const void *entry);
void vroce_cq_publish(struct vroce_queue *q);
__le32 *vroce_cq_entry_qpn(const struct vroce_queue *q, void *entry);

void vroce_cq_flush_begin(struct vroce_queue *q);
bool vroce_cq_flush_put(struct vroce_queue *q, u32 qpn, u32 pos, bool recv,
			u8 status);
void vroce_cq_flush_end(struct vroce_queue *q);

static inline void *vroce_queue_slot(const struct vroce_queue *q, u32 pos)
{
	return q->slots + (size_t)(pos & (q->depth - 1)) * q->stride;
}

/* The header that both forms of a send request have. */
static inline struct virtio_rdma_swqe *
vroce_form_header(const struct vroce_queue *q, void *slot)
{
	return slot + q->head;
}

#endif /* _VROCE_FORM_H */
