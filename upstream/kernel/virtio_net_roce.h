/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RoCE part of a virtio-net device, as virtio_net sees it.
 */
#ifndef _VIRTIO_NET_ROCE_H
#define _VIRTIO_NET_ROCE_H

#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include "virtio_net_cvq.h"

struct net_device;
struct virtnet_roce;

#if IS_ENABLED(CONFIG_VIRTIO_NET_ROCE)
void virtnet_roce_validate(struct virtio_device *vdev);
struct virtnet_roce *virtnet_roce_create(struct virtio_device *vdev,
					 struct virtnet_cvq *cvq);
void virtnet_roce_destroy(struct virtnet_roce *roce);
unsigned int virtnet_roce_num_vqs(const struct virtnet_roce *roce);
void virtnet_roce_vqs_info(struct virtnet_roce *roce,
			   struct virtqueue_info *info, vq_callback_t *event);
void virtnet_roce_interrupt(struct virtnet_roce *roce, struct virtqueue *vq);
void virtnet_roce_vqs_found(struct virtnet_roce *roce, struct virtqueue **vqs);
void virtnet_roce_vqs_gone(struct virtnet_roce *roce);
void virtnet_roce_start(struct virtnet_roce *roce, struct net_device *netdev);
void virtnet_roce_stop(struct virtnet_roce *roce);
#else
static inline void virtnet_roce_validate(struct virtio_device *vdev)
{
}

static inline struct virtnet_roce *
virtnet_roce_create(struct virtio_device *vdev, struct virtnet_cvq *cvq)
{
	return NULL;
}

static inline void virtnet_roce_destroy(struct virtnet_roce *roce)
{
}

static inline unsigned int virtnet_roce_num_vqs(const struct virtnet_roce *roce)
{
	return 0;
}

static inline void virtnet_roce_vqs_info(struct virtnet_roce *roce,
					 struct virtqueue_info *info,
					 vq_callback_t *event)
{
}

static inline void virtnet_roce_interrupt(struct virtnet_roce *roce,
					  struct virtqueue *vq)
{
}

static inline void virtnet_roce_vqs_found(struct virtnet_roce *roce,
					  struct virtqueue **vqs)
{
}

static inline void virtnet_roce_vqs_gone(struct virtnet_roce *roce)
{
}

static inline void virtnet_roce_start(struct virtnet_roce *roce,
				      struct net_device *netdev)
{
}

static inline void virtnet_roce_stop(struct virtnet_roce *roce)
{
}
#endif

#endif /* _VIRTIO_NET_ROCE_H */
