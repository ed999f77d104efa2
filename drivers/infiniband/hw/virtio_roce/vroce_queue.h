/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A virtqueue and its slots.
 */
#ifndef _VROCE_QUEUE_H
#define _VROCE_QUEUE_H

#include "vroce_types.h"

int vroce_queue_alloc(struct vroce_queue *q, struct device *dma_dev, u32 depth,
		      u32 slot_len, u32 align);
int vroce_queue_charge(struct vroce_queue *q);
void vroce_queue_init_direct(struct vroce_queue *q, void *slots, u32 depth,
			     u32 stride);
int vroce_queue_alloc_requests(struct vroce_queue *q);
void vroce_queue_free(struct vroce_queue *q);
void vroce_queue_keep(struct vroce_dev *dev, struct vroce_queue *q);
int vroce_queue_attach_cq(struct vroce_queue *q,
			  struct virtio_net_roce_vq *vq);
int vroce_queue_attach_wq(struct vroce_queue *q,
			  struct virtio_net_roce_vq *vq);
void vroce_queue_detach(struct vroce_queue *q);
void vroce_vq_clear(struct virtio_net_roce_vq *vq);

#endif /* _VROCE_QUEUE_H */
