/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work queues and indirection tables.
 */
#ifndef _VROCE_WQ_H
#define _VROCE_WQ_H

#include "vroce_types.h"

struct ib_wq *vroce_create_wq(struct ib_pd *ibpd, struct ib_wq_init_attr *attr,
			      struct ib_udata *udata);
int vroce_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		    struct ib_udata *udata);
int vroce_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata);
void vroce_wq_event(struct vroce_dev *dev, u32 wqn);
int vroce_create_rwq_ind_table(struct ib_rwq_ind_table *ibtable,
			       struct ib_rwq_ind_table_init_attr *attr,
			       struct ib_udata *udata);
int vroce_destroy_rwq_ind_table(struct ib_rwq_ind_table *ibtable);

#endif /* _VROCE_WQ_H */
