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
#include <rdma/uverbs_ioctl.h>

#include "vroce_ah.h"
#include "vroce_cq.h"
#include "vroce_domain.h"
#include "vroce_gate.h"
#include "vroce_mcast.h"
#include "vroce_mr.h"
#include "vroce_qp.h"
#include "vroce_srq.h"
#include "vroce_users.h"

/* Enter for a verb on an existing object; NULL if the kernel owns it. */
static struct vroce_ucontext *vroce_gate_enter_obj(struct vroce_ucontext *uctx)
{
	if (uctx) {
		down(&uctx->gate);
		down(&uctx->user->gate);
	}
	return uctx;
}

/* Enter for a verb that creates an object; NULL for the kernel. */
static struct vroce_ucontext *vroce_gate_enter(struct ib_udata *udata)
{
	if (!udata)
		return NULL;
	return vroce_gate_enter_obj(rdma_udata_to_drv_context(udata,
							      struct vroce_ucontext,
							      ibucontext));
}

static void vroce_gate_leave(struct vroce_ucontext *uctx)
{
	if (uctx) {
		up(&uctx->user->gate);
		up(&uctx->gate);
	}
}

static struct vroce_ucontext *vroce_gate_owner(struct ib_uobject *uobject)
{
	if (!uobject || !uobject->context)
		return NULL;
	return container_of(uobject->context, struct vroce_ucontext, ibucontext);
}

/* ----- the verbs, each through the gate ----- */

int vroce_gate_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx = vroce_gate_enter(udata);
	int ret = vroce_alloc_pd(ibpd, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(vroce_gate_owner(ibpd->uobject));
	int ret = vroce_dealloc_pd(ibpd, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 VROCE_CREATE_CQ_ARG *arg)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter(vroce_create_cq_udata(arg));
	int ret = vroce_create_cq(ibcq, attr, arg);

	to_vcq(ibcq)->uctx = uctx;
	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vcq(ibcq)->uctx);
	int ret = vroce_destroy_cq(ibcq, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vcq(ibcq)->uctx);
	int ret = vroce_req_notify_cq(ibcq, flags);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_resize_cq(struct ib_cq *ibcq, VROCE_RESIZE_CQ_ARG cqe,
			 struct ib_udata *udata)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vcq(ibcq)->uctx);
	int ret = vroce_resize_cq(ibcq, cqe, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			 struct ib_udata *udata)
{
	struct vroce_ucontext *uctx = vroce_gate_enter(udata);
	int ret = vroce_create_qp(ibqp, attr, udata);

	to_vqp(ibqp)->uctx = uctx;
	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vqp(ibqp)->uctx);
	int ret = vroce_modify_qp(ibqp, attr, mask, udata);

	vroce_gate_leave(uctx);
	return ret;
}

/* Somebody asks who does not own the QP: netlink asks about all there are. */
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

int vroce_gate_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_qp_init_attr *init_attr)
{
	struct vroce_ucontext *uctx = to_vqp(ibqp)->uctx;
	int ret;

	if (current->mm && !(uctx && uid_eq(uctx->user->uid, current_uid())))
		return vroce_gate_query_other(ibqp, attr, mask, init_attr);
	vroce_gate_enter_obj(uctx);
	ret = vroce_query_qp(ibqp, attr, mask, init_attr);
	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vqp(ibqp)->uctx);
	int ret = vroce_destroy_qp(ibqp, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
			  struct ib_udata *udata)
{
	struct vroce_ucontext *uctx = vroce_gate_enter(udata);
	int ret = vroce_create_srq(ibsrq, attr, udata);

	to_vsrq(ibsrq)->uctx = uctx;
	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vsrq(ibsrq)->uctx);
	int ret = vroce_modify_srq(ibsrq, attr, mask, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vsrq(ibsrq)->uctx);
	int ret = vroce_query_srq(ibsrq, attr);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vsrq(ibsrq)->uctx);
	int ret = vroce_destroy_srq(ibsrq, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	/*
	 * The protection domain tells whose region it is.  In a region of the kernel,
	 * uobject shares its memory with a list entry (qp_entry).
	 */
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(vroce_gate_owner(ibmr->pd->uobject));
	int ret = vroce_dereg_mr(ibmr, udata);

	vroce_gate_leave(uctx);
	return ret;
}

struct ib_mr *vroce_gate_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				       u64 length, u64 virt_addr, int access,
				       struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(vroce_gate_owner(ibmr->pd->uobject));
	struct ib_mr *ret = vroce_rereg_user_mr(ibmr, flags, start, length,
						virt_addr, access, ibpd, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx = vroce_gate_enter(udata);
	int ret = vroce_alloc_mw(ibmw, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_dealloc_mw(struct ib_mw *ibmw)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(vroce_gate_owner(ibmw->uobject));
	int ret = vroce_dealloc_mw(ibmw);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
			      struct ib_udata *udata)
{
	struct vroce_ucontext *uctx = vroce_gate_enter(udata);
	int ret = vroce_create_ah(ibah, attr, udata);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(vroce_gate_owner(ibah->uobject));
	int ret = vroce_destroy_ah(ibah, flags);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vqp(ibqp)->uctx);
	int ret = vroce_attach_mcast(ibqp, gid, lid);

	vroce_gate_leave(uctx);
	return ret;
}

int vroce_gate_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vroce_ucontext *uctx =
		vroce_gate_enter_obj(to_vqp(ibqp)->uctx);
	int ret = vroce_detach_mcast(ibqp, gid, lid);

	vroce_gate_leave(uctx);
	return ret;
}

struct ib_mr *vroce_gate_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				     u64 virt_addr, int access,
				     struct ib_udata *udata)
{
	struct vroce_ucontext *uctx = vroce_gate_enter(udata);
	struct ib_mr *ret = vroce_reg_user_mr(ibpd, start, length, virt_addr,
					      access, udata);

	vroce_gate_leave(uctx);
	return ret;
}

struct ib_mr *vroce_gate_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					    u64 length, u64 virt_addr, int fd,
					    int access, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx = vroce_gate_enter(udata);
	struct ib_mr *ret = vroce_reg_user_mr_dmabuf(ibpd, offset, length,
						     virt_addr, fd, access,
						     udata);

	vroce_gate_leave(uctx);
	return ret;
}
