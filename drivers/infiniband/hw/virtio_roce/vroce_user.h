/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contexts, and what a provider is told.
 */
#ifndef _VROCE_USER_H
#define _VROCE_USER_H

#include "vroce_types.h"

extern const struct uapi_definition vroce_uapi_defs[];

int vroce_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs);
int vroce_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
void vroce_dealloc_ucontext(struct ib_ucontext *uctx);
void vroce_disassociate_ucontext(struct ib_ucontext *uctx);

#endif /* _VROCE_USER_H */
