/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups.
 */
#ifndef _VROCE_MCAST_H
#define _VROCE_MCAST_H

#include "vroce_types.h"

int vroce_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vroce_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

#endif /* _VROCE_MCAST_H */
