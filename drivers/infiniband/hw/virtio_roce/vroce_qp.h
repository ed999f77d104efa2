/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs.
 */
#ifndef _VROCE_QP_H
#define _VROCE_QP_H

#include "vroce_types.h"

int vroce_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata);
int vroce_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int vroce_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init_attr);
int vroce_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void vroce_qp_event(struct vroce_dev *dev, u16 type, u32 qpn);

#endif /* _VROCE_QP_H */
