/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address handles.
 */
#ifndef _VROCE_AH_H
#define _VROCE_AH_H

#include "vroce_types.h"

int vroce_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
		    struct ib_udata *udata);
int vroce_destroy_ah(struct ib_ah *ibah, u32 flags);

#endif /* _VROCE_AH_H */
