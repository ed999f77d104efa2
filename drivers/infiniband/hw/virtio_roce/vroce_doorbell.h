/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Doorbell pages of direct QPs.
 */
#ifndef _VROCE_DOORBELL_H
#define _VROCE_DOORBELL_H

#include "vroce_types.h"

void vroce_doorbell_init(struct vroce_doorbell *db);
void vroce_doorbell_exit(struct vroce_dev *dev, struct vroce_doorbell *db);
int vroce_doorbell_take(struct vroce_dev *dev, struct vroce_doorbell *db,
			u32 *bit);
void vroce_doorbell_give(struct vroce_doorbell *db, u32 bit);
void vroce_doorbell_ring(struct virtio_net_roce_aux *aux,
			 struct vroce_doorbell *db, u32 bit);

#endif /* _VROCE_DOORBELL_H */
