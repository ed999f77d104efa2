/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels for which the modules are built.  compat.mk checks
 * the kernel's headers and defines the VNR_HAVE_... macros of this file, so kernels
 * with backports work, too.  An in-tree driver needs neither.
 */
#ifndef _VIRTIO_NET_ROCE_COMPAT_H
#define _VIRTIO_NET_ROCE_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#ifdef VNR_HAVE_XDP_FEATURES
#include <net/xdp.h>
#endif
#ifdef VNR_HAVE_NETDEV_LOCK_OPS
#include <net/netdev_lock.h>
#endif

#ifdef VNR_HAVE_KUNIT_VISIBILITY
#include <kunit/visibility.h>
#else
#define VISIBLE_IF_KUNIT static
#define EXPORT_SYMBOL_IF_KUNIT(symbol) struct vnr_not_exported_##symbol
#endif

#ifdef VNR_HAVE_KUNIT_STATIC_STUB
#include <kunit/static_stub.h>
#else
#define KUNIT_STATIC_STUB_REDIRECT(fn, args...) do { } while (0)
#endif

/*
 * The arguments of find_vqs, and those for queue number i as a struct virtqueue_info.
 */
#ifdef VNR_HAVE_VIRTQUEUE_INFO
#define VNR_FIND_VQS_ARGS \
	struct virtio_device *vdev, unsigned int nvqs, \
	struct virtqueue *vqs[], struct virtqueue_info vqs_info[], \
	struct irq_affinity *desc
#define VNR_FIND_VQS_INFO(i) (vqs_info[i])
#else
struct virtqueue_info {
	const char *name;
	vq_callback_t *callback;
	bool ctx;
};

#define VNR_FIND_VQS_ARGS \
	struct virtio_device *vdev, unsigned int nvqs, \
	struct virtqueue *vqs[], vq_callback_t *callbacks[], \
	const char * const names[], const bool *ctx, \
	struct irq_affinity *desc
#define VNR_FIND_VQS_INFO(i) \
	vnr_vq_info(callbacks, names, ctx, i)

static inline struct virtqueue_info
vnr_vq_info(vq_callback_t *callbacks[], const char * const names[],
	    const bool *ctx, unsigned int i)
{
	return (struct virtqueue_info) {
		.name = names[i],
		.callback = callbacks[i],
		.ctx = ctx && ctx[i],
	};
}
#endif

/* The type of the argument of device_find_child()'s match function. */
#ifdef VNR_HAVE_CONST_FIND_CHILD
#define VNR_FIND_CHILD_DATA	const void *
#else
#define VNR_FIND_CHILD_DATA	void *
#endif

static inline void
vnr_hrtimer_setup(struct hrtimer *timer,
		  enum hrtimer_restart (*fn)(struct hrtimer *timer))
{
#ifdef VNR_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer->function = fn;
#endif
}

/* The first 64 feature bits that the device offers, read again from the device. */
static inline u64 vnr_offered_features(struct virtio_device *vdev)
{
#ifdef VNR_HAVE_VIRTIO_GET_FEATURES
	struct {
		VIRTIO_DECLARE_FEATURES(bits);
	} offered;

	virtio_get_features(vdev, offered.bits_array);
	return offered.bits;
#else
	return vdev->config->get_features(vdev);
#endif
}

/* Locks of an interface that ethtool takes beside the RTNL lock. */
static inline void vnr_netdev_lock_ops(struct net_device *netdev)
{
#ifdef VNR_HAVE_NETDEV_LOCK_OPS
	netdev_lock_ops(netdev);
#endif
}

static inline void vnr_netdev_unlock_ops(struct net_device *netdev)
{
#ifdef VNR_HAVE_NETDEV_LOCK_OPS
	netdev_unlock_ops(netdev);
#endif
}

/*
 * May XDP programs of others redirect packets to an interface?  Before 6.3 they may if its
 * driver can do it, and that cannot be changed.
 */
static inline u32 vnr_xdp_redirect_features(struct net_device *netdev)
{
#ifdef VNR_HAVE_XDP_FEATURES
	return netdev->xdp_features & (NETDEV_XDP_ACT_NDO_XMIT |
				       NETDEV_XDP_ACT_NDO_XMIT_SG);
#else
	return 0;
#endif
}

static inline void vnr_xdp_redirect_clear(struct net_device *netdev)
{
#ifdef VNR_HAVE_XDP_FEATURES
	xdp_features_clear_redirect_target(netdev);
#endif
}

static inline void vnr_xdp_redirect_set(struct net_device *netdev, u32 features)
{
#ifdef VNR_HAVE_XDP_FEATURES
	xdp_features_set_redirect_target(netdev, features &
					 NETDEV_XDP_ACT_NDO_XMIT_SG);
#endif
}

#endif /* _VIRTIO_NET_ROCE_COMPAT_H */
