/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completions that do not come.
 */
#ifndef _VROCE_WATCH_H
#define _VROCE_WATCH_H

#include "vroce_types.h"

void vroce_watch_start(struct vroce_dev *dev);
void vroce_watch_stop(struct vroce_dev *dev);

#endif /* _VROCE_WATCH_H */
