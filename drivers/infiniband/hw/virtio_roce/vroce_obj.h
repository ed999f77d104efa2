/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects that the device holds.
 */
#ifndef _VROCE_OBJ_H
#define _VROCE_OBJ_H

#include "vroce_types.h"

void vroce_obj_init(struct vroce_obj *obj, struct vroce_dev *dev,
		    void (*release)(struct vroce_obj *obj));
void vroce_obj_get(struct vroce_obj *obj);
void vroce_obj_put(struct vroce_obj *obj);
void vroce_obj_put_later(struct vroce_obj *obj);

int vroce_numbers_init(struct vroce_numbers *numbers, u32 max);
void vroce_numbers_destroy(struct vroce_numbers *numbers);
void vroce_numbers_lock(struct vroce_numbers *numbers, bool alone);
void vroce_numbers_unlock(struct vroce_numbers *numbers, bool alone);
bool vroce_numbers_take(struct vroce_numbers *numbers, u32 number);

void vroce_quotas_init(struct vroce_dev *dev);
int vroce_quota_take(struct vroce_dev *dev, enum vroce_kind kind);
void vroce_quota_give(struct vroce_dev *dev, enum vroce_kind kind);

#endif /* _VROCE_OBJ_H */
