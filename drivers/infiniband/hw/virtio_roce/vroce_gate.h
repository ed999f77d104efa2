/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs above, for a process.
 */
#ifndef _VROCE_GATE_H
#define _VROCE_GATE_H

#include "vroce_types.h"

int vroce_gate_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_gate_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_gate_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 VROCE_CREATE_CQ_ARG *arg);
int vroce_gate_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vroce_gate_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int vroce_gate_resize_cq(struct ib_cq *ibcq, VROCE_RESIZE_CQ_ARG cqe,
			 struct ib_udata *udata);
int vroce_gate_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			 struct ib_udata *udata);
int vroce_gate_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata);
int vroce_gate_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_qp_init_attr *init_attr);
int vroce_gate_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int vroce_gate_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
			  struct ib_udata *udata);
int vroce_gate_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ib_udata *udata);
int vroce_gate_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int vroce_gate_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int vroce_gate_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int vroce_gate_dealloc_mw(struct ib_mw *ibmw);
int vroce_gate_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *vroce_gate_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				       u64 length, u64 virt_addr, int access,
				       struct ib_pd *ibpd,
				       struct ib_udata *udata);
int vroce_gate_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
			      struct ib_udata *udata);
int vroce_gate_destroy_ah(struct ib_ah *ibah, u32 flags);
int vroce_gate_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vroce_gate_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
struct ib_mr *vroce_gate_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				     u64 virt_addr, int access,
				     struct ib_udata *udata);
struct ib_mr *vroce_gate_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					    u64 length, u64 virt_addr, int fd,
					    int access, struct ib_udata *udata);

#endif /* _VROCE_GATE_H */
