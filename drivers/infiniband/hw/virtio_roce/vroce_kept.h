/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that a live device did not let go.
 */
#ifndef _VROCE_KEPT_H
#define _VROCE_KEPT_H

#include "vroce_types.h"

void vroce_kept_init(struct vroce_dev *dev);
void vroce_keep(struct vroce_dev *dev, void *what, void (*release)(void *what));
int vroce_settle(struct vroce_dev *dev, const char *what, u32 number);
void vroce_kept_free(struct vroce_dev *dev);

#endif /* _VROCE_KEPT_H */
