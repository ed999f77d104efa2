/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hardware counters.
 */
#ifndef _VROCE_COUNTERS_H
#define _VROCE_COUNTERS_H

#include "vroce_types.h"

void vroce_set_counter_ops(struct vroce_dev *dev);
void vroce_counters_init(struct vroce_dev *dev);
void vroce_counters_fini(struct vroce_dev *dev);

#endif /* _VROCE_COUNTERS_H */
