/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a device that is dead.
 */
#ifndef _VROCE_FLUSH_H
#define _VROCE_FLUSH_H

#include "vroce_types.h"

u32 vroce_alive_expose(const struct vroce_hw_cq *hw);
void vroce_flush_cq(struct vroce_dev *dev, struct vroce_hw_cq *hw);
bool vroce_flush_owes(struct vroce_dev *dev, const struct vroce_hw_cq *hw);
void vroce_flush_drop(struct vroce_dev *dev, struct vroce_hw_qp *hw);
void vroce_flush_posted(struct vroce_dev *dev);
void vroce_flush_count(struct vroce_dev *dev, struct vroce_hw_qp *hw, int n);
void vroce_flush_wait(struct vroce_dev *dev);
void vroce_flush_init(struct vroce_dev *dev);
void vroce_flush_listen(struct vroce_dev *dev, bool on);

#endif /* _VROCE_FLUSH_H */
