/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Details of objects.
 */
#ifndef _VROCE_RESTRACK_H
#define _VROCE_RESTRACK_H

#include "vroce_types.h"

void vroce_restrack_hide_qp(struct vroce_qp *qp);
void vroce_restrack_hide_cq(struct vroce_cq *cq);
void vroce_set_restrack_ops(struct vroce_dev *dev);

#endif /* _VROCE_RESTRACK_H */
