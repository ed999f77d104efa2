/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Another ring for a shared receive queue.
 */
#ifndef _VROCE_SRQ_RESIZE_H
#define _VROCE_SRQ_RESIZE_H

#include "vroce_types.h"

int vroce_srq_resize(struct vroce_srq *srq, u32 depth, struct ib_udata *udata);

#endif /* _VROCE_SRQ_RESIZE_H */
