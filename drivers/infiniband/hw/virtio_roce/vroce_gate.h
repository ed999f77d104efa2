/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs, for a process: a limited number at a time.
 */
#ifndef _VROCE_GATE_H
#define _VROCE_GATE_H

#include "vroce_types.h"

void vroce_set_gate_ops(struct vroce_dev *dev);

#endif /* _VROCE_GATE_H */
