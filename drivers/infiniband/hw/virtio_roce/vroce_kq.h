/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests and completions of the kernel's queues, for those who post and poll.
 */
#ifndef _VROCE_KQ_H
#define _VROCE_KQ_H

#include "vroce_types.h"

/* Marks a completion whose QP is gone. */
#define VROCE_QPN_GONE		U32_MAX

static inline struct vroce_request *vroce_queue_request(const struct vroce_queue *q,
							u32 pos)
{
	return &q->requests[pos & (q->depth - 1)];
}

void vroce_cq_notify(void *data);
bool vroce_cq_expect(struct vroce_hw_cq *hw, u32 limit);
void vroce_cq_unexpect(struct vroce_hw_cq *hw);
void vroce_put_sges(struct virtio_rdma_sge *wire, const struct ib_sge *sge, int n);
u32 vroce_sges_len(const struct ib_sge *sge, int n);
void vroce_put_recv(const struct vroce_queue *q, void *slot,
		    struct vroce_request *keep, const struct ib_recv_wr *wr);
bool vroce_wq_owed(const struct vroce_queue *q, u32 pos);
bool vroce_srq_complete(struct vroce_hw_srq *hw, u32 cookie,
			struct vroce_request *request);
bool vroce_cq_has_completions(struct vroce_hw_cq *hw);
void vroce_cq_forget_qp(struct vroce_hw_cq *hw, struct vroce_hw_qp *qp);

#endif /* _VROCE_KQ_H */
