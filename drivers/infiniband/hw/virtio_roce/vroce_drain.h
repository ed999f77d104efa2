/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Draining the queues of a kernel's QP.
 */
#ifndef _VROCE_DRAIN_H
#define _VROCE_DRAIN_H

#include "vroce_types.h"

void vroce_drain_sq(struct ib_qp *ibqp);
void vroce_drain_rq(struct ib_qp *ibqp);
void vroce_drain_init(struct vroce_dev *dev);

#endif /* _VROCE_DRAIN_H */
