/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Another ring for a direct CQ.
 */
#ifndef _VROCE_RESIZE_H
#define _VROCE_RESIZE_H

#include "vroce_types.h"

int vroce_cq_grow(struct vroce_cq *cq, u32 cqe, struct ib_udata *udata);

#endif /* _VROCE_RESIZE_H */
