// SPDX-License-Identifier: GPL-2.0
/*
 * The child device, which stock virtio_net drives.
 *
 * It is a virtio device of this driver, and its operations are forwarded to the
 * function.  virtio_net controls the whole function through it: a reset of the child
 * resets the function, RoCE queues are set up together with the queues that virtio_net
 * asks for, and DRIVER_OK starts the RDMA side.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"

/* The child's part of the configuration space ends where RoCE's part begins. */
#define VNR_CHILD_CONFIG_SIZE	VIRTIO_NET_ROCE_CONFIG_OFFSET

static bool vnr_child_config_ok(unsigned int offset, unsigned int len)
{
	return offset <= VNR_CHILD_CONFIG_SIZE &&
	       len <= VNR_CHILD_CONFIG_SIZE - offset;
}

/* Return the saved configuration of a dead function, as a rule with the link down. */
static void vnr_child_get_kept(struct vnr_dev *dev, unsigned int offset,
			       void *buf, unsigned int len)
{
	u8 config[VNR_CHILD_CONFIG_SIZE];

	memcpy(config, dev->config, sizeof(config));
	/* After it was seen that it is mute; pairs with vnr_life_pause(). */
	smp_rmb();
	config[offsetof(struct virtio_net_config, status)] &=
		~VIRTIO_NET_S_LINK_UP;
	if (READ_ONCE(dev->life.link))
		config[offsetof(struct virtio_net_config, status)] |=
			VIRTIO_NET_S_LINK_UP;
	memcpy(buf, config + offset, len);
}

/**
 * vnr_child_changed() - tell the child's driver that the configuration may have changed
 * @dev: function with a child
 *
 * Context: any.
 */
void vnr_child_changed(struct vnr_dev *dev)
{
	WRITE_ONCE(dev->child->unread, true);
	virtio_config_changed(&dev->child->vdev);
}

/**
 * vnr_child_remind() - tell it again if it has not looked
 * @dev: function with a child
 *
 * virtio_net of Linux 6.12 looks in a work item, which it cancels when its interface is
 * closed.  When that is opened again it takes the link for what it was before, and may have
 * none from then on.
 *
 * Context: any.
 */
void vnr_child_remind(struct vnr_dev *dev)
{
	struct vnr_child *child = dev->child;

	/* virtio_has_feature() wants a driver to be bound. */
	if (READ_ONCE(child->unread) &&
	    __virtio_test_bit(&child->vdev, VIRTIO_NET_F_STATUS))
		virtio_config_changed(&child->vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_child_remind);

/* The child's driver reads a part of the configuration. */
static void vnr_child_reads(struct vnr_child *child, unsigned int offset, unsigned int len)
{
	const unsigned int status = offsetof(struct virtio_net_config, status);

	if (offset > status || status - offset >= len || !READ_ONCE(child->unread))
		return;
	WRITE_ONCE(child->unread, false);
	/* Before it reads: a change that it does not see makes it unread again. */
	smp_mb();
}

/*
 * Fields are read with their own width, as virtio requires.  Reads beyond the child's
 * configuration space return zero.
 */
static void vnr_child_get(struct virtio_device *vdev, unsigned int offset,
			  void *buf, unsigned int len)
{
	void __iomem *config = vnr_from_vdev(vdev)->mdev.device + offset;
	unsigned int i;

	if (!vnr_child_config_ok(offset, len)) {
		memset(buf, 0, len);
		return;
	}
	vnr_child_reads(container_of(vdev, struct vnr_child, vdev), offset, len);
	if (READ_ONCE(vnr_from_vdev(vdev)->life.mute)) {
		vnr_child_get_kept(vnr_from_vdev(vdev), offset, buf, len);
		return;
	}
	switch (len) {
	case 1:
		*(u8 *)buf = ioread8(config);
		break;
	case 2:
		*(__le16 *)buf = cpu_to_le16(ioread16(config));
		break;
	case 4:
		*(__le32 *)buf = cpu_to_le32(ioread32(config));
		break;
	default:
		for (i = 0; i < len; i++)
			((u8 *)buf)[i] = ioread8(config + i);
	}
}

static void vnr_child_set(struct virtio_device *vdev, unsigned int offset,
			  const void *buf, unsigned int len)
{
	void __iomem *config = vnr_from_vdev(vdev)->mdev.device + offset;
	unsigned int i;

	if (!vnr_child_config_ok(offset, len) ||
	    READ_ONCE(vnr_from_vdev(vdev)->life.mute))
		return;
	switch (len) {
	case 1:
		iowrite8(*(const u8 *)buf, config);
		break;
	case 2:
		iowrite16(le16_to_cpu(*(const __le16 *)buf), config);
		break;
	case 4:
		iowrite32(le32_to_cpu(*(const __le32 *)buf), config);
		break;
	default:
		for (i = 0; i < len; i++)
			iowrite8(((const u8 *)buf)[i], config + i);
	}
}

static u32 vnr_child_generation(struct virtio_device *vdev)
{
	struct vnr_dev *dev = vnr_from_vdev(vdev);

	/* The configuration that was kept does not change. */
	if (READ_ONCE(dev->life.mute))
		return 0;
	return vp_modern_generation(&dev->mdev);
}

/**
 * vnr_status() - read the device status
 * @dev: function
 *
 * Context: any.
 * Return: VIRTIO_CONFIG_S_... bits, 0 once a reset is complete.
 */
u8 vnr_status(struct vnr_dev *dev)
{
	KUNIT_STATIC_STUB_REDIRECT(vnr_status, dev);
	return vp_modern_get_status(&dev->mdev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_status);

static u8 vnr_child_get_status(struct virtio_device *vdev)
{
	return vnr_status(vnr_from_vdev(vdev));
}

static void vnr_child_set_status(struct virtio_device *vdev, u8 status)
{
	struct vnr_dev *dev = vnr_from_vdev(vdev);

	vp_modern_set_status(&dev->mdev, status);
	if (!(status & VIRTIO_CONFIG_S_DRIVER_OK))
		return;
	vnr_life_go_live(dev);
	if (dev->roce)
		vnr_rdma_start(dev);
}

static void vnr_child_reset(struct virtio_device *vdev)
{
	struct vnr_dev *dev = vnr_from_vdev(vdev);

	/*
	 * Stop RDMA before the reset, while the control queue works.  If the device
	 * does not answer, quiesce it first, so that no command has to wait for it.
	 */
	if (!vnr_recover_answers(dev))
		vnr_life_quiesce(dev);
	vnr_rdma_stop(dev);
	/*
	 * virtio_net frees its buffers next.  If the device may still write to them,
	 * wait, as virtio_pci does.  At the end of the system nothing is used again.
	 */
	while (vnr_life_quiesce(dev) && system_state <= SYSTEM_RUNNING)
		msleep(MSEC_PER_SEC);
	vnr_vectors_synchronize(dev);
}

static u64 vnr_child_get_features(struct virtio_device *vdev)
{
	return vnr_child_features(vp_modern_get_features(&vnr_from_vdev(vdev)->mdev));
}

/**
 * vnr_dma_map() - map a page for the device
 * @dev: function
 * @page: page
 *
 * Context: may sleep.
 * Return: device address, to be checked with dma_mapping_error().
 */
VISIBLE_IF_KUNIT dma_addr_t vnr_dma_map(struct vnr_dev *dev, struct page *page)
{
	KUNIT_STATIC_STUB_REDIRECT(vnr_dma_map, dev, page);
	return dma_map_page(vnr_device(dev), page, 0, PAGE_SIZE,
			    DMA_BIDIRECTIONAL);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_dma_map);

/**
 * vnr_dma_unmap() - undo vnr_dma_map()
 * @dev: function
 * @page: page
 * @dma: its device address
 *
 * Context: may sleep.
 */
VISIBLE_IF_KUNIT void vnr_dma_unmap(struct vnr_dev *dev, struct page *page,
				    dma_addr_t dma)
{
	KUNIT_STATIC_STUB_REDIRECT(vnr_dma_unmap, dev, page, dma);
	dma_unmap_page(vnr_device(dev), dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_dma_unmap);

/* How the DMA API maps memory for the device. */
enum vnr_dma {
	VNR_DMA_PHYSICAL,	/* at its physical address */
	VNR_DMA_ELSEWHERE,	/* at another address */
	VNR_DMA_COPIED,		/* into a bounce buffer, maybe only some of it */
	VNR_DMA_FAILED,
};

/*
 * This is probed with a page of our own.  If the page is copied, data written to the
 * mapped page is lost when it is unmapped, because the copy is written back.  A cache
 * that is not coherent may do the same, which is just as bad.
 */
static enum vnr_dma vnr_dma_probe(struct vnr_dev *dev)
{
	enum vnr_dma ret = VNR_DMA_FAILED;
	unsigned long *word;
	struct page *page;
	dma_addr_t dma;

	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return ret;
	word = page_address(page);
	dma = vnr_dma_map(dev, page);
	if (dma_mapping_error(vnr_device(dev), dma))
		goto out_free;
	WRITE_ONCE(*word, 1);
	vnr_dma_unmap(dev, page, dma);
	if (READ_ONCE(*word) != 1 || dma_addressing_limited(vnr_device(dev)))
		ret = VNR_DMA_COPIED;
	else
		ret = dma == page_to_phys(page) ? VNR_DMA_PHYSICAL :
						  VNR_DMA_ELSEWHERE;
out_free:
	__free_page(page);
	return ret;
}

/*
 * Without VIRTIO_F_ACCESS_PLATFORM the device takes addresses as guest-physical.  The
 * DMA API returns such addresses unless there is an IOMMU, memory encryption or a
 * bounce buffer.
 *
 * With it the DMA API may still use bounce buffers, as in confidential guests.  A
 * memory region is mapped once, and then used during its whole lifetime by programs
 * that do not know of a copy.  So neither side would see what the other writes.
 */
static bool vnr_dma_is_good(struct vnr_dev *dev, bool platform)
{
	enum vnr_dma dma = vnr_dma_probe(dev);

	if (dma == VNR_DMA_PHYSICAL || (dma == VNR_DMA_ELSEWHERE && platform))
		return true;
	if (dma == VNR_DMA_FAILED)
		dev_warn(vnr_device(dev), "no RoCE: memory cannot be mapped\n");
	else if (!platform)
		dev_warn(vnr_device(dev),
			 "no RoCE: memory is behind an IOMMU or bounce buffer, and the device does not offer VIRTIO_F_ACCESS_PLATFORM\n");
	else
		dev_warn(vnr_device(dev),
			 "no RoCE: the device is given copies of memory (swiotlb), which RDMA cannot work with\n");
	return false;
}

/* Where virtio_net will look for its control queue. */
static u16 vnr_ctrl_index(struct vnr_dev *dev, u64 features)
{
	if (features & (BIT_ULL(VIRTIO_NET_F_MQ) | BIT_ULL(VIRTIO_NET_F_RSS)))
		return 2 * dev->offer.max_pairs;
	return 2;
}

static bool vnr_roce_possible(struct vnr_dev *dev, u64 features)
{
	u16 ctrl_num;

	if (!(features & BIT_ULL(VIRTIO_NET_F_CTRL_VQ))) {
		dev_warn(vnr_device(dev),
			 "no RoCE: the network driver did not take the control queue\n");
		return false;
	}
	ctrl_num = vnr_queue_size(dev, vnr_ctrl_index(dev, features));
	if (vnr_ctrl_is_small(ctrl_num)) {
		dev_warn(vnr_device(dev),
			 "no RoCE: the control queue has %u entries, which is too few\n",
			 ctrl_num);
		return false;
	}
	return vnr_dma_is_good(dev,
			       features & BIT_ULL(VIRTIO_F_ACCESS_PLATFORM));
}

/**
 * vnr_child_take_features() - acknowledge what the child takes, and RoCE
 * @dev: function whose child has its features
 * @offered: what the device offers
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL if the device is not a modern one.
 */
int vnr_child_take_features(struct vnr_dev *dev, u64 offered)
{
	u64 features = vnr_child_features(dev->child->vdev.features);

	if (!(features & BIT_ULL(VIRTIO_F_VERSION_1))) {
		dev_err(vnr_device(dev), "VIRTIO_F_VERSION_1 was not taken\n");
		return -EINVAL;
	}
	dev->roce = offered & BIT_ULL(VIRTIO_NET_F_ROCE) &&
		    vnr_roce_possible(dev, features);
	dev->event_idx = features & BIT_ULL(VIRTIO_RING_F_EVENT_IDX);
	if (dev->roce)
		features |= BIT_ULL(VIRTIO_NET_F_ROCE);
	vp_modern_set_features(&dev->mdev, features);
	return 0;
}

static int vnr_child_finalize_features(struct virtio_device *vdev)
{
	struct vnr_dev *dev = vnr_from_vdev(vdev);

	if (READ_ONCE(dev->life.mute)) {
		dev_err(vnr_device(dev),
			"not started without a sign of life: unplug it (under QEMU nothing else is safe), or, if the device is back, write 1 to its file \"reset\" in sysfs\n");
		return -ENODEV;
	}
	vring_transport_features(vdev);
	/* The function was found to offer RoCE, see vnr_offer_refused(). */
	return vnr_child_take_features(dev, dev->offer.features |
				       BIT_ULL(VIRTIO_NET_F_ROCE));
}

static void vnr_child_del_vqs(struct virtio_device *vdev)
{
	struct vnr_dev *dev = vnr_from_vdev(vdev);
	unsigned int i;

	vnr_vectors_teardown(dev);
	vnr_ctrl_teardown(dev);
	for (i = 0; i < dev->nvqs; i++)
		if (dev->vqs[i])
			vnr_vq_destroy(dev, dev->vqs[i]);
	vnr_rdma_queues_teardown(dev);
	vnr_doorbells_exit(dev);
	kfree(dev->vqs);
	dev->vqs = NULL;
	dev->nvqs = 0;
}

/*
 * The device needs all queues before DRIVER_OK, and they are enabled only after all of
 * them have addresses.
 */
static void vnr_child_enable_vqs(struct vnr_dev *dev)
{
	unsigned int i;

	for (i = 0; i < dev->nvqs; i++)
		if (dev->vqs[i])
			vp_modern_set_queue_enable(&dev->mdev, i, true);
	for (i = 0; i < dev->nqueues; i++)
		vp_modern_set_queue_enable(&dev->mdev,
					   dev->queues[i].pub.index, true);
	for (i = 0; dev->events && i < dev->nevents; i++)
		vp_modern_set_queue_enable(&dev->mdev, dev->events[i].vq->index,
					   true);
}

/* Ethernet works without RoCE.  RoCE is tried again when virtio_net is next started. */
static void vnr_child_give_up_roce(struct vnr_dev *dev, const char *what,
				   int err)
{
	dev_err(vnr_device(dev), "no RoCE: no %s for it (%d); Ethernet goes on\n",
		what, err);
	dev->roce = false;
}

static int vnr_child_vectors(struct vnr_dev *dev, struct irq_affinity *desc)
{
	int ret;

	ret = vnr_vectors_setup(dev, desc);
	if (ret && dev->roce) {
		vnr_child_give_up_roce(dev, "vectors", ret);
		ret = vnr_vectors_setup(dev, desc);
	}
	return ret;
}

/**
 * vnr_child_run() - add the virtqueues of RoCE to those of virtio_net, and enable all
 * @dev: function whose device knows virtio_net's virtqueues
 *
 * Context: may sleep.
 */
void vnr_child_run(struct vnr_dev *dev)
{
	unsigned int i;
	int ret;

	if (dev->roce) {
		ret = vnr_rdma_queues_setup(dev, dev->nvqs);
		if (ret)
			vnr_child_give_up_roce(dev, "virtqueues", ret);
	}
	vnr_child_enable_vqs(dev);
	for (i = 0; i < sizeof(dev->config); i++)
		dev->config[i] = ioread8(dev->mdev.device + i);
	vnr_life_run(dev);
}

/*
 * With VIRTIO_NET_F_CTRL_VQ the last queue that virtio_net asks for is its control
 * queue, number 2N.  virtio_net gets the shadow, and this driver keeps the real queue.
 */
static int vnr_child_find_vqs(VNR_FIND_VQS_ARGS)
{
	struct vnr_dev *dev = vnr_from_vdev(vdev);
	struct virtqueue_info info;
	unsigned int i;
	int ret;

	if (nvqs > dev->offer.num_queues)
		return -ENOENT;
	dev->vqs = kcalloc(nvqs, sizeof(*dev->vqs), GFP_KERNEL);
	if (!dev->vqs)
		return -ENOMEM;
	dev->nvqs = nvqs;
	dev->has_ctrl = virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_VQ);
	vnr_doorbells_init(dev);

	ret = vnr_child_vectors(dev, desc);
	if (ret)
		goto err_del;

	for (i = 0; i < nvqs; i++) {
		info = VNR_FIND_VQS_INFO(i);
		vqs[i] = NULL;
		if (!info.name)
			continue;
		if (dev->has_ctrl && i == nvqs - 1) {
			ret = vnr_ctrl_setup(dev, i, info.name, info.callback);
			vqs[i] = dev->ctrl.shadow;
		} else {
			vqs[i] = vnr_vq_create(dev, i, info.callback, info.name,
					       info.ctx);
			ret = PTR_ERR_OR_ZERO(vqs[i]);
		}
		if (ret)
			goto err_del;
	}

	vnr_child_run(dev);
	return 0;

err_del:
	vnr_child_del_vqs(vdev);
	return ret;
}

static const char *vnr_child_bus_name(struct virtio_device *vdev)
{
	return pci_name(vnr_from_vdev(vdev)->mdev.pci_dev);
}

static void vnr_child_synchronize_cbs(struct virtio_device *vdev)
{
	vnr_vectors_synchronize(vnr_from_vdev(vdev));
}

/* The vector of an Ethernet queue, NULL if it also serves other queues. */
static struct vnr_vector *vnr_child_own_vector(struct virtqueue *vq)
{
	struct vnr_dev *dev;
	int v;

	/* The shadow control queue has another virtio device and no vector. */
	if (!vq->callback)
		return NULL;
	dev = vnr_from_vdev(vq->vdev);
	v = vnr_vq_vector(dev, vq->index);
	if (v < 0 || dev->vectors[v].last - dev->vectors[v].first != 1)
		return NULL;
	return &dev->vectors[v];
}

static int vnr_child_set_vq_affinity(struct virtqueue *vq,
				     const struct cpumask *cpu_mask)
{
	struct vnr_vector *v = vnr_child_own_vector(vq);

	if (!v)
		return 0;
	if (!cpu_mask)
		return irq_set_affinity_hint(v->irq, NULL);
	/* The core keeps the pointer, and virtio_net frees its mask. */
	cpumask_copy(&v->mask, cpu_mask);
	return irq_set_affinity_hint(v->irq, &v->mask);
}

static const struct virtio_config_ops vnr_child_ops = {
	.get = vnr_child_get,
	.set = vnr_child_set,
	.generation = vnr_child_generation,
	.get_status = vnr_child_get_status,
	.set_status = vnr_child_set_status,
	.reset = vnr_child_reset,
	.find_vqs = vnr_child_find_vqs,
	.del_vqs = vnr_child_del_vqs,
	.synchronize_cbs = vnr_child_synchronize_cbs,
	.get_features = vnr_child_get_features,
	.finalize_features = vnr_child_finalize_features,
	.bus_name = vnr_child_bus_name,
	.set_vq_affinity = vnr_child_set_vq_affinity,
	.disable_vq_and_reset = vnr_restart_disable_vq,
	.enable_vq_after_reset = vnr_restart_enable_vq,
};

static void vnr_child_release(struct device *d)
{
	kfree(container_of(dev_to_virtio(d), struct vnr_child, vdev));
}

/**
 * vnr_child_add() - register the child device; stock virtio_net binds to it
 * @dev: function
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int vnr_child_add(struct vnr_dev *dev)
{
	struct vnr_child *child;
	int ret;

	child = kzalloc(sizeof(*child), GFP_KERNEL);
	if (!child)
		return -ENOMEM;
	child->dev = dev;
	child->vdev.dev.parent = vnr_device(dev);
	child->vdev.dev.release = vnr_child_release;
	child->vdev.config = &vnr_child_ops;
	child->vdev.id.device = VIRTIO_ID_NET;
	child->vdev.id.vendor = dev->mdev.id.vendor;
	dev->child = child;

	ret = register_virtio_device(&child->vdev);
	if (ret) {
		dev->child = NULL;
		put_device(&child->vdev.dev);
	}
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_child_add);

/**
 * vnr_child_del() - unregister the child device
 * @dev: function
 *
 * virtio_net is unbound, which resets the function.  Context: may sleep.
 */
void vnr_child_del(struct vnr_dev *dev)
{
	/* A function that was unplugged does not answer commands. */
	if (!pci_device_is_present(dev->mdev.pci_dev))
		virtio_break_device(&dev->child->vdev);
	unregister_virtio_device(&dev->child->vdev);
	dev->child = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_child_del);
