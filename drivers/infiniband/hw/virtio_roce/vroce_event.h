/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of objects.
 */
#ifndef _VROCE_EVENT_H
#define _VROCE_EVENT_H

#include "vroce_types.h"

void vroce_events(struct vroce_dev *dev, bool on);

#endif /* _VROCE_EVENT_H */
