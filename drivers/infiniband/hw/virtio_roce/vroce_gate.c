// SPDX-License-Identifier: GPL-2.0
/*
 * The gate limits how many verbs of a context, and of a user, are carried out at a time:
 * see vroce_users.c.  Other threads wait at the gate, first in, first out.  A thread passes
 * the gate before it takes any lock that contexts share.
 *
 * Kernel consumers are not limited.  They have a few commands at a time, and may be in
 * atomic context.
 */
#include <linux/cred.h>

#include "vroce_ah.h"
#include "vroce_caps.h"
#include "vroce_cq.h"
#include "vroce_domain.h"
#include "vroce_flow.h"
#include "vroce_gate.h"
#include "vroce_mcast.h"
#include "vroce_mr.h"
#include "vroce_qp.h"
#include "vroce_srq.h"
#include "vroce_udata.h"
#include "vroce_users.h"
#include "vroce_wq.h"

static struct vroce_ucontext *vroce_gate_owner(struct ib_uobject *uobject)
{
	if (!uobject || !uobject->context)
		return NULL;
	return container_of(uobject->context, struct vroce_ucontext, ibucontext);
}

/* ----- the verbs, each through the gate ----- */

static int vroce_gate_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
				VROCE_CREATE_CQ_ARG *arg)
{
	struct vroce_ucontext *gate =
		vroce_gate_enter(vroce_udata_context(vroce_create_cq_udata(arg)));
	int ret = vroce_create_cq(ibcq, attr, arg);

	vroce_gate_leave(gate);
	return ret;
}

/* vroce_gate_VERB(): vroce_VERB() by the gate of a context. */
#define VROCE_GATED(verb, uctx, params, args)				\
	static int vroce_gate_##verb params				\
	{								\
		struct vroce_ucontext *gate = vroce_gate_enter(uctx);	\
		int ret = vroce_##verb args;				\
									\
		vroce_gate_leave(gate);					\
		return ret;						\
	}

/* The same for verbs that return a memory region. */
#define VROCE_GATED_MR(verb, uctx, params, args)			\
	struct ib_mr *vroce_gate_##verb params				\
	{								\
		struct vroce_ucontext *gate = vroce_gate_enter(uctx);	\
		struct ib_mr *ret = vroce_##verb args;			\
									\
		vroce_gate_leave(gate);					\
		return ret;						\
	}

VROCE_GATED(alloc_pd, vroce_udata_context(udata),
	    (struct ib_pd *ibpd, struct ib_udata *udata), (ibpd, udata))
VROCE_GATED(dealloc_pd, vroce_gate_owner(ibpd->uobject),
	    (struct ib_pd *ibpd, struct ib_udata *udata), (ibpd, udata))

VROCE_GATED(destroy_cq, to_vcq(ibcq)->uctx,
	    (struct ib_cq *ibcq, struct ib_udata *udata), (ibcq, udata))
VROCE_GATED(req_notify_cq, to_vcq(ibcq)->uctx,
	    (struct ib_cq *ibcq, enum ib_cq_notify_flags flags), (ibcq, flags))
VROCE_GATED(resize_cq, to_vcq(ibcq)->uctx,
	    (struct ib_cq *ibcq, VROCE_RESIZE_CQ_ARG cqe, struct ib_udata *udata),
	    (ibcq, cqe, udata))

VROCE_GATED(modify_cq, to_vcq(ibcq)->uctx,
	    (struct ib_cq *ibcq, u16 count, u16 period), (ibcq, count, period))

VROCE_GATED(create_qp, vroce_udata_context(udata),
	    (struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata),
	    (ibqp, attr, udata))
VROCE_GATED(modify_qp, to_vqp(ibqp)->uctx,
	    (struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
	     struct ib_udata *udata), (ibqp, attr, mask, udata))
VROCE_GATED(destroy_qp, to_vqp(ibqp)->uctx,
	    (struct ib_qp *ibqp, struct ib_udata *udata), (ibqp, udata))
VROCE_GATED(attach_mcast, to_vqp(ibqp)->uctx,
	    (struct ib_qp *ibqp, union ib_gid *gid, u16 lid), (ibqp, gid, lid))
VROCE_GATED(detach_mcast, to_vqp(ibqp)->uctx,
	    (struct ib_qp *ibqp, union ib_gid *gid, u16 lid), (ibqp, gid, lid))

static struct ib_flow *vroce_gate_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
					      struct ib_udata *udata)
{
	struct vroce_ucontext *gate = vroce_gate_enter(to_vqp(ibqp)->uctx);
	struct ib_flow *flow = vroce_create_flow(ibqp, attr, udata);

	vroce_gate_leave(gate);
	return flow;
}

VROCE_GATED(read_counters, vroce_gate_owner(ibcounters->uobject),
	    (struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
	     struct uverbs_attr_bundle *attrs), (ibcounters, attr, attrs))
VROCE_GATED(destroy_flow, to_vqp(ibflow->qp)->uctx, (struct ib_flow *ibflow), (ibflow))

static struct ib_wq *vroce_gate_create_wq(struct ib_pd *ibpd, struct ib_wq_init_attr *attr,
					  struct ib_udata *udata)
{
	struct vroce_ucontext *gate = vroce_gate_enter(vroce_udata_context(udata));
	struct ib_wq *wq = vroce_create_wq(ibpd, attr, udata);

	vroce_gate_leave(gate);
	return wq;
}

VROCE_GATED(modify_wq, to_vwq(ibwq)->uctx,
	    (struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask, struct ib_udata *udata),
	    (ibwq, attr, mask, udata))
VROCE_GATED(destroy_wq, to_vwq(ibwq)->uctx,
	    (struct ib_wq *ibwq, struct ib_udata *udata), (ibwq, udata))
VROCE_GATED(create_rwq_ind_table, vroce_udata_context(udata),
	    (struct ib_rwq_ind_table *ibtable, struct ib_rwq_ind_table_init_attr *attr,
	     struct ib_udata *udata), (ibtable, attr, udata))
VROCE_GATED(destroy_rwq_ind_table, vroce_gate_owner(ibtable->uobject),
	    (struct ib_rwq_ind_table *ibtable), (ibtable))

VROCE_GATED(create_srq, vroce_udata_context(udata),
	    (struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
	     struct ib_udata *udata), (ibsrq, attr, udata))
VROCE_GATED(modify_srq, to_vsrq(ibsrq)->uctx,
	    (struct ib_srq *ibsrq, struct ib_srq_attr *attr,
	     enum ib_srq_attr_mask mask, struct ib_udata *udata),
	    (ibsrq, attr, mask, udata))
VROCE_GATED(query_srq, to_vsrq(ibsrq)->uctx,
	    (struct ib_srq *ibsrq, struct ib_srq_attr *attr), (ibsrq, attr))
VROCE_GATED(destroy_srq, to_vsrq(ibsrq)->uctx,
	    (struct ib_srq *ibsrq, struct ib_udata *udata), (ibsrq, udata))

VROCE_GATED(create_ah, vroce_udata_context(udata),
	    (struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
	     struct ib_udata *udata), (ibah, attr, udata))
VROCE_GATED(destroy_ah, vroce_gate_owner(ibah->uobject),
	    (struct ib_ah *ibah, u32 flags), (ibah, flags))

VROCE_GATED(alloc_mw, vroce_udata_context(udata),
	    (struct ib_mw *ibmw, struct ib_udata *udata), (ibmw, udata))
VROCE_GATED(dealloc_mw, vroce_gate_owner(ibmw->uobject),
	    (struct ib_mw *ibmw), (ibmw))

VROCE_GATED_MR(reg_user_mr, vroce_udata_context(udata),
	       (struct ib_pd *ibpd, u64 start, u64 length, u64 virt_addr, int access,
		struct ib_udata *udata),
	       (ibpd, start, length, virt_addr, access, udata))
VROCE_GATED_MR(reg_user_mr_dmabuf, vroce_udata_context(udata),
	       (struct ib_pd *ibpd, u64 offset, u64 length, u64 virt_addr, int fd, int access,
		struct ib_udata *udata),
	       (ibpd, offset, length, virt_addr, fd, access, udata))
/*
 * The protection domain tells whose region it is.  In a region of the kernel, uobject shares
 * its memory with a list entry (qp_entry).
 */
static VROCE_GATED_MR(rereg_user_mr, vroce_gate_owner(ibmr->pd->uobject),
		      (struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 virt_addr,
		       int access, struct ib_pd *ibpd, struct ib_udata *udata),
		      (ibmr, flags, start, length, virt_addr, access, ibpd, udata))
VROCE_GATED(dereg_mr, vroce_gate_owner(ibmr->pd->uobject),
	    (struct ib_mr *ibmr, struct ib_udata *udata), (ibmr, udata))

/* The caller does not own the QP ("rdma resource show"): its own places are used. */
static int vroce_gate_query_other(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
				  struct ib_qp_init_attr *init_attr)
{
	struct vroce_user *user = vroce_user_get(to_vdev(ibqp->device));
	int ret;

	if (!user)
		return -ENOMEM;
	down(&user->gate);
	ret = vroce_query_qp(ibqp, attr, mask, init_attr);
	up(&user->gate);
	vroce_user_put(user);
	return ret;
}

static int vroce_gate_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			       struct ib_qp_init_attr *init_attr)
{
	struct vroce_ucontext *uctx = to_vqp(ibqp)->uctx;
	int ret;

	if (current->mm && !(uctx && uid_eq(uctx->user->uid, current_uid())))
		return vroce_gate_query_other(ibqp, attr, mask, init_attr);
	vroce_gate_enter(uctx);
	ret = vroce_query_qp(ibqp, attr, mask, init_attr);
	vroce_gate_leave(uctx);
	return ret;
}

static const struct ib_device_ops vroce_gate_ops = {
	.alloc_pd = vroce_gate_alloc_pd,
	.create_cq = vroce_gate_create_cq,
	.create_qp = vroce_gate_create_qp,
	.create_user_ah = vroce_gate_create_ah,
	.dealloc_pd = vroce_gate_dealloc_pd,
	.dereg_mr = vroce_gate_dereg_mr,
	.destroy_ah = vroce_gate_destroy_ah,
	.destroy_cq = vroce_gate_destroy_cq,
	.destroy_qp = vroce_gate_destroy_qp,
	.modify_qp = vroce_gate_modify_qp,
	.query_qp = vroce_gate_query_qp,
	.reg_user_mr = VROCE_REG_USER_MR,
	.reg_user_mr_dmabuf = VROCE_REG_USER_MR_DMABUF,
	.req_notify_cq = vroce_gate_req_notify_cq,
#ifdef VNR_HAVE_RESIZE_USER_CQ
	.resize_user_cq = vroce_gate_resize_cq,
#else
	.resize_cq = vroce_gate_resize_cq,
#endif
};

static const struct ib_device_ops vroce_gate_cq_moderate_ops = {
	.modify_cq = vroce_gate_modify_cq,
};

static const struct ib_device_ops vroce_gate_mcast_ops = {
	.attach_mcast = vroce_gate_attach_mcast,
	.detach_mcast = vroce_gate_detach_mcast,
};

static const struct ib_device_ops vroce_gate_flow_ops = {
	.create_flow = vroce_gate_create_flow,
	.destroy_flow = vroce_gate_destroy_flow,
};

static const struct ib_device_ops vroce_gate_flow_count_ops = {
	.create_counters = vroce_create_counters,
	.destroy_counters = vroce_destroy_counters,
	.read_counters = vroce_gate_read_counters,

	INIT_RDMA_OBJ_SIZE(ib_counters, vroce_flow_counters, ibcounters),
};

static const struct ib_device_ops vroce_gate_wq_ops = {
	.create_rwq_ind_table = vroce_gate_create_rwq_ind_table,
	.create_wq = vroce_gate_create_wq,
	.destroy_rwq_ind_table = vroce_gate_destroy_rwq_ind_table,
	.destroy_wq = vroce_gate_destroy_wq,
	.modify_wq = vroce_gate_modify_wq,

	INIT_RDMA_OBJ_SIZE(ib_rwq_ind_table, vroce_wq_table, ibtable),
};

static const struct ib_device_ops vroce_gate_rereg_ops = {
	.rereg_user_mr = vroce_gate_rereg_user_mr,
};

static const struct ib_device_ops vroce_gate_mw_ops = {
	.alloc_mw = vroce_gate_alloc_mw,
	.dealloc_mw = vroce_gate_dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_mw, vroce_mw, ibmw),
};

static const struct ib_device_ops vroce_gate_srq_ops = {
	.create_srq = vroce_gate_create_srq,
	.destroy_srq = vroce_gate_destroy_srq,
	.modify_srq = vroce_gate_modify_srq,
	.post_srq_recv = vroce_post_srq_recv,
	.query_srq = vroce_gate_query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, vroce_srq, ibsrq),
};

/**
 * vroce_set_gate_ops() - set the verbs that go through the gate
 * @dev: device whose capabilities are known
 */
void vroce_set_gate_ops(struct vroce_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;

	ib_set_device_ops(ibdev, &vroce_gate_ops);
	if (vroce_has_cq_moderate(dev))
		ib_set_device_ops(ibdev, &vroce_gate_cq_moderate_ops);
	if (vroce_has_mcast(dev))
		ib_set_device_ops(ibdev, &vroce_gate_mcast_ops);
	if (vroce_has_flow(dev))
		ib_set_device_ops(ibdev, &vroce_gate_flow_ops);
	if (vroce_has_flow_count(dev))
		ib_set_device_ops(ibdev, &vroce_gate_flow_count_ops);
	if (vroce_has_rss(dev))
		ib_set_device_ops(ibdev, &vroce_gate_wq_ops);
	if (vroce_has_mw(dev))
		ib_set_device_ops(ibdev, &vroce_gate_mw_ops);
	if (vroce_has_rereg(dev))
		ib_set_device_ops(ibdev, &vroce_gate_rereg_ops);
	if (vroce_has_srq(dev))
		ib_set_device_ops(ibdev, &vroce_gate_srq_ops);
}
