/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Data exchanged with the provider.
 */
#ifndef _VROCE_UDATA_H
#define _VROCE_UDATA_H

#include "vroce_types.h"

/* The context that calls a verb; NULL for the kernel. */
static inline struct vroce_ucontext *vroce_udata_context(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct vroce_ucontext, ibucontext);
}

int vroce_check_udata(struct ib_udata *udata, size_t outlen);
int vroce_udata_in(struct ib_udata *udata, void *req, size_t min, size_t len);
int vroce_udata_out(struct ib_udata *udata, void *resp, size_t len);
bool vroce_wants_direct(struct vroce_dev *dev, struct ib_udata *udata);

#endif /* _VROCE_UDATA_H */
