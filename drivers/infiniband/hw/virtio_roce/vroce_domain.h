/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protection domains, XRC domains.
 */
#ifndef _VROCE_DOMAIN_H
#define _VROCE_DOMAIN_H

#include "vroce_types.h"

int vroce_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int vroce_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

#endif /* _VROCE_DOMAIN_H */
