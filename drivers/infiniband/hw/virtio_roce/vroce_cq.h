/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queues.
 */
#ifndef _VROCE_CQ_H
#define _VROCE_CQ_H

#include "vroce_types.h"

void vroce_cq_fatal(struct vroce_cq *cq);
void vroce_cq_answered(struct vroce_cq *cq);
int vroce_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    VROCE_CREATE_CQ_ARG *arg);
int vroce_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vroce_resize_cq(struct ib_cq *ibcq, VROCE_RESIZE_CQ_ARG cqe,
		    struct ib_udata *udata);
int vroce_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int vroce_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif /* _VROCE_CQ_H */
