// SPDX-License-Identifier: GPL-2.0
/*
 * A quiesced function is started again in place.
 *
 * Theory of operation
 * ===================
 *
 * virtio_net stays bound, and does not know that the function was reset.  User space runs
 * and may ask virtio_net for anything at any time, so nothing that virtio_net uses may go
 * away.  But a device that was reset starts with empty rings, and virtio_net's rings have
 * buffers in them.
 *
 * There is one way by which virtio_net itself empties its rings at run time: it sets
 * another ring size.  For each ring, virtio_net stops what uses the ring, and calls
 * virtqueue_resize().  This disables the queue, gives all buffers back to virtio_net, makes
 * a new ring and enables the queue.  Then virtio_net fills the ring and goes on.
 * The two steps in the middle are operations of the child, so they are ours.
 *
 * So a restart sets another size, and then the old one.  When a ring gets its old size,
 * its addresses are shown to the device.  At other times virtio_net may not replace a
 * ring, as if the device had no VIRTIO_F_RING_RESET.
 *
 * Receive rings get the other size first.  After that there is nothing in them that could
 * make virtio_net send (XDP_TX) while it replaces the transmit rings.  For the same reason
 * others may not redirect packets to the interface meanwhile.
 *
 * At the end the device is told again what virtio_net has told it (vnr_journal.c), and
 * only then the link goes up.  If anything fails, the device is reset, and virtio_net has
 * rings that nobody serves and a link that is down.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "virtio_net_roce_compat.h"
#include "vnr_ctrl.h"

/* virtio_net takes no smaller ring for transmission. */
#define VNR_RING_MIN	roundup_pow_of_two(MAX_SKB_FRAGS + 3)

/* Receive and transmit queues alternate. */
enum vnr_dir {
	VNR_RX,
	VNR_TX,
	VNR_DIRS,
};

/* ----- operations of the child ----- */

/**
 * vnr_restart_disable_vq() - virtio_net is about to replace a ring
 * @vq: its virtqueue
 *
 * Context: may sleep; RTNL lock held.
 * Return: 0, or -ENOENT while the function is not being restarted, as if there was no
 * such operation.
 */
int vnr_restart_disable_vq(struct virtqueue *vq)
{
	struct vnr_dev *dev = vnr_from_vdev(vq->vdev);

	if (dev->renew == VNR_RENEW_NOT)
		return -ENOENT;
	WRITE_ONCE(dev->vqs[vq->index], NULL);
	vnr_vectors_synchronize(dev);
	__virtqueue_break(vq);
	return 0;
}

/**
 * vnr_restart_enable_vq() - virtio_net has replaced a ring
 * @vq: its virtqueue
 *
 * Context: may sleep; RTNL lock held.
 * Return: 0 or -errno.
 */
int vnr_restart_enable_vq(struct virtqueue *vq)
{
	struct vnr_dev *dev = vnr_from_vdev(vq->vdev);
	int ret = 0;

	if (dev->renew == VNR_RENEW_SHOW) {
		ret = vnr_vq_show(dev, vq, vnr_vq_vector(dev, vq->index));
		vq->reset = ret != 0;
	}
	/* The device may have broken it before it died. */
	__virtqueue_unbreak(vq);
	WRITE_ONCE(dev->vqs[vq->index], vq);
	return ret;
}

/* ----- rings ----- */

/* Virtqueues that virtio_net has, without the control queue. */
static unsigned int vnr_rings(struct vnr_dev *dev)
{
	return dev->nvqs - dev->has_ctrl;
}

static u32 vnr_ring_size(struct vnr_dev *dev, enum vnr_dir dir)
{
	return virtqueue_get_vring_size(dev->vqs[dir]);
}

/* The largest size that all rings of a direction can have. */
static u32 vnr_ring_max(struct vnr_dev *dev, enum vnr_dir dir)
{
	u32 max = U16_MAX;
	unsigned int i;

	for (i = dir; i < vnr_rings(dev); i += VNR_DIRS)
		max = min3(max, dev->vqs[i]->num_max,
			   (u32)vnr_queue_size(dev, i));
	return max;
}

static bool vnr_ring_is(struct vnr_dev *dev, enum vnr_dir dir, u32 size)
{
	unsigned int i;

	for (i = dir; i < vnr_rings(dev); i += VNR_DIRS)
		if (virtqueue_get_vring_size(dev->vqs[i]) == size)
			return true;
	return false;
}

/*
 * Let virtio_net replace the rings of a direction that do not have a size.  It looks only at
 * the first ring to find out whether anything has to be done.
 */
static int vnr_ring_set(struct vnr_dev *dev, struct net_device *netdev,
			enum vnr_dir dir, u32 size)
{
	struct kernel_ethtool_ringparam kernel = {};
	struct netlink_ext_ack extack = {};
	struct ethtool_ringparam ring = {
		.rx_pending = vnr_ring_size(dev, VNR_RX),
		.tx_pending = vnr_ring_size(dev, VNR_TX),
	};

	if (dir == VNR_RX)
		ring.rx_pending = size;
	else
		ring.tx_pending = size;
	return netdev->ethtool_ops->set_ringparam(netdev, &ring, &kernel,
						  &extack);
}

/* Replace all rings of a direction that have a size. */
static int vnr_ring_aside(struct vnr_dev *dev, struct net_device *netdev,
			  enum vnr_dir dir, u32 size)
{
	u32 other = size / 2;
	int ret;

	/* After a restart that failed only some of them may have it. */
	if (vnr_ring_is(dev, dir, size) && vnr_ring_size(dev, dir) == other) {
		ret = vnr_ring_set(dev, netdev, dir, size);
		if (ret)
			return ret;
	}
	ret = 0;
	if (vnr_ring_is(dev, dir, size))
		ret = vnr_ring_set(dev, netdev, dir, other);
	return vnr_ring_is(dev, dir, size) ? ret ?: -EIO : 0;
}

/* Show new rings to the device. */
static int vnr_rings_show(struct vnr_dev *dev, struct net_device *netdev,
			  const u32 *size)
{
	enum vnr_dir dir;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < vnr_rings(dev); i++)
		dev->vqs[i]->reset = true;
	dev->renew = VNR_RENEW_SHOW;
	for (dir = VNR_RX; dir < VNR_DIRS; dir++)
		ret = vnr_ring_set(dev, netdev, dir, size[dir]) ?: ret;
	/* If there is no memory for one, its smaller ring stays, which is as good. */
	for (i = 0; i < vnr_rings(dev); i++)
		if (dev->vqs[i]->reset)
			return ret ?: -EIO;
	return 0;
}

/* Context: RTNL lock held. */
static int vnr_rings_renew(struct vnr_dev *dev, struct net_device *netdev)
{
	u32 size[VNR_DIRS];
	enum vnr_dir dir;
	int ret;

	for (dir = VNR_RX; dir < VNR_DIRS; dir++) {
		size[dir] = rounddown_pow_of_two(vnr_ring_max(dev, dir) ?: 1);
		/* There must be a smaller size. */
		if (size[dir] / 2 < VNR_RING_MIN)
			return -EOPNOTSUPP;
	}
	dev->renew = VNR_RENEW_ASIDE;
	for (dir = VNR_RX; dir < VNR_DIRS; dir++) {
		ret = vnr_ring_aside(dev, netdev, dir, size[dir]);
		if (ret)
			return ret;
	}
	return vnr_rings_show(dev, netdev, size);
}

/*
 * Nobody may redirect packets to the interface while its rings are replaced.
 * Returns what vnr_redirect_on() needs.
 */
static u32 vnr_redirect_off(struct net_device *netdev)
{
	u32 features = vnr_xdp_redirect_features(netdev);

	if (features) {
		vnr_xdp_redirect_clear(netdev);
		/* Wait for those who have seen it. */
		synchronize_net();
	}
	return features;
}

static void vnr_redirect_on(struct net_device *netdev, u32 features)
{
	if (features)
		vnr_xdp_redirect_set(netdev, features);
}

/* Replace virtio_net's rings, and show the new ones to the device. */
static int vnr_restart_rings(struct vnr_dev *dev)
{
	struct net_device *netdev;
	u32 redirect;
	int ret;

	rtnl_lock();
	netdev = dev->netdev;
	ret = -EOPNOTSUPP;
	if (!netdev || !netdev->ethtool_ops->set_ringparam ||
	    vnr_rings(dev) < VNR_DIRS)
		goto out_unlock;
	redirect = vnr_redirect_off(netdev);
	vnr_netdev_lock_ops(netdev);
	ret = vnr_rings_renew(dev, netdev);
	dev->renew = VNR_RENEW_NOT;
	vnr_netdev_unlock_ops(netdev);
	vnr_redirect_on(netdev, redirect);
out_unlock:
	rtnl_unlock();
	return ret;
}

/* ----- the device ----- */

static int vnr_restart_features(struct vnr_dev *dev)
{
	u64 offered, taken = dev->child->vdev.features;
	u8 status = VIRTIO_CONFIG_S_ACKNOWLEDGE;
	int ret;

	vp_modern_set_status(&dev->mdev, status);
	status |= VIRTIO_CONFIG_S_DRIVER;
	vp_modern_set_status(&dev->mdev, status);
	offered = vp_modern_get_features(&dev->mdev);
	if (taken & ~vnr_child_features(offered)) {
		dev_warn(vnr_device(dev),
			 "the device does not offer %#llx any more\n",
			 taken & ~vnr_child_features(offered));
		return -EOPNOTSUPP;
	}
	ret = vnr_child_take_features(dev, offered);
	if (ret)
		return ret;
	vp_modern_set_status(&dev->mdev, status | VIRTIO_CONFIG_S_FEATURES_OK);
	if (!(vnr_status(dev) & VIRTIO_CONFIG_S_FEATURES_OK)) {
		dev_err(vnr_device(dev), "the device refuses its features\n");
		return -ENODEV;
	}
	return 0;
}

/* Free what is made again.  The child's virtqueues and the shadow stay. */
static void vnr_restart_clear(struct vnr_dev *dev)
{
	struct virtqueue *vq;
	unsigned int ctrl = dev->nvqs - 1;

	vnr_ctrl_unplug(dev);
	vq = dev->has_ctrl ? dev->vqs[ctrl] : NULL;
	if (vq)
		vnr_vq_destroy(dev, vq);
	vnr_rdma_queues_teardown(dev);
}

static int vnr_restart_ctrl(struct vnr_dev *dev)
{
	struct virtqueue *vq;

	if (!dev->has_ctrl)
		return 0;
	vq = vnr_vq_create(dev, dev->nvqs - 1, vnr_ctrl_interrupt, "control",
			   false);
	return PTR_ERR_OR_ZERO(vq);
}

static int vnr_restart_device(struct vnr_dev *dev)
{
	int ret;

	ret = vnr_life_quiesce(dev);
	if (ret)
		return ret;
	/* If it is only cut off from memory, it cannot be started. */
	if (vnr_status(dev))
		return -EBUSY;
	vnr_restart_clear(dev);
	ret = vnr_restart_features(dev);
	if (ret)
		return ret;
	ret = vnr_vectors_renew(dev);
	if (ret)
		return ret;
	ret = vnr_restart_rings(dev);
	if (ret)
		return ret;
	return vnr_restart_ctrl(dev);
}

static void vnr_restart_run(struct vnr_dev *dev)
{
	unsigned int i;

	/* The RDMA device, which may be added as soon as it runs, needs the control queue. */
	if (dev->has_ctrl)
		vnr_ctrl_plug(dev, dev->vqs[dev->nvqs - 1]);
	vnr_child_run(dev);
	vp_modern_set_status(&dev->mdev,
			     VIRTIO_CONFIG_S_ACKNOWLEDGE |
			     VIRTIO_CONFIG_S_DRIVER |
			     VIRTIO_CONFIG_S_FEATURES_OK |
			     VIRTIO_CONFIG_S_DRIVER_OK);
	vnr_life_go_live(dev);
	/* A ring that was filled without a doorbell was filled before this. */
	smp_mb();
	for (i = 0; i < dev->nvqs; i++)
		vnr_vq_ring(dev->vqs[i]);
}

/* The device may have come back with another MAC address than virtio_net has read. */
static void vnr_restart_mac(struct vnr_dev *dev)
{
	struct sockaddr_storage mac = {};
	struct net_device *netdev;

	rtnl_lock();
	netdev = dev->netdev;
	if (netdev && netdev->netdev_ops->ndo_set_mac_address &&
	    !ether_addr_equal_unaligned(netdev->dev_addr, dev->config)) {
		mac.ss_family = netdev->type;
		memcpy(((struct sockaddr *)&mac)->sa_data, netdev->dev_addr,
		       ETH_ALEN);
		netdev->netdev_ops->ndo_set_mac_address(netdev, &mac);
	}
	rtnl_unlock();
}

static int vnr_restart_tell(struct vnr_dev *dev)
{
	if (!dev->has_ctrl)
		return 0;
	/* virtio_has_feature() wants to know the driver. */
	if (__virtio_test_bit(&dev->child->vdev, VIRTIO_NET_F_MAC))
		vnr_restart_mac(dev);
	return vnr_journal_replay(dev);
}

/**
 * vnr_restart() - start a quiesced function again
 * @dev: function whose child is locked and bound, and has virtqueues
 *
 * Context: may sleep; the RTNL lock must not be held.
 * Return: 0, -EOPNOTSUPP if virtio_net has to be bound anew, or -errno.
 */
int vnr_restart(struct vnr_dev *dev)
{
	int ret;

	ret = vnr_restart_device(dev);
	if (!ret) {
		vnr_restart_run(dev);
		ret = vnr_restart_tell(dev);
	}
	if (ret) {
		vnr_life_quiesce(dev);
		return ret;
	}
	/* It may have died again by now. */
	if (!vnr_life_unmute(dev))
		return -EIO;
	if (dev->roce)
		vnr_rdma_start(dev);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_restart);
