// SPDX-License-Identifier: GPL-2.0
/*
 * Is a virtio-net function a RoCE device?
 *
 * The feature bit of the RFC became VIRTIO_NET_F_GUEST_USO6 in the standard, and
 * every recent hypervisor offers that.  So the bit counts only together with a
 * configuration space and a number of queues that no ordinary device has.
 */
#include <linux/bits.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_pci.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"

/*
 * Feature bits by the meaning that they have in the standard and not in every
 * kernel's headers.
 */
#define VNR_F_HASH_TUNNEL	51
#define VNR_F_VQ_NOTF_COAL	52
#define VNR_F_NOTF_COAL		53
#define VNR_F_GUEST_USO4	54

#define VNR_F_RING_PACKED	34
#define VNR_F_IN_ORDER		35
#define VNR_F_SR_IOV		37
#define VNR_F_NOTIFICATION_DATA	38
#define VNR_F_RING_RESET	40
#define VNR_F_ADMIN_VQ		41

/* Virtqueues that the RFC has. */
static u64 vnr_offer_rfc_queues(const struct vnr_offer *offer)
{
	u64 pairs = 1;

	if (offer->features & (BIT_ULL(VIRTIO_NET_F_MQ) |
			       BIT_ULL(VIRTIO_NET_F_RSS)))
		pairs = offer->max_pairs;
	return 2 * pairs + 1 + offer->max_cqs + 2 * (u64)offer->max_qps;
}

/**
 * vnr_offer_refused() - why a function is not a RoCE device
 * @offer: what the function says about itself
 *
 * Context: any.
 * Return: the reason, or NULL if it is a RoCE device.
 */
const char *vnr_offer_refused(const struct vnr_offer *offer)
{
	if (!(offer->features & BIT_ULL(VIRTIO_NET_F_ROCE)))
		return "feature bit 55 is not offered";
	if (!(offer->features & BIT_ULL(VIRTIO_F_VERSION_1)))
		return "not a modern device";
	if (!(offer->features & BIT_ULL(VIRTIO_NET_F_CTRL_VQ)))
		return "no control queue";
	if (offer->config_len < VIRTIO_NET_ROCE_CONFIG_SIZE)
		return "configuration space too short";
	if (!offer->max_qps || offer->max_qps > VIRTIO_NET_ROCE_MAX_OBJECTS)
		return "max_rdma_qps out of range";
	if (!offer->max_cqs || offer->max_cqs > VIRTIO_NET_ROCE_MAX_OBJECTS)
		return "max_rdma_cqs out of range";
	if (offer->features & (BIT_ULL(VIRTIO_NET_F_MQ) |
			       BIT_ULL(VIRTIO_NET_F_RSS)) && !offer->max_pairs)
		return "max_virtqueue_pairs is zero";
	if (offer->num_queues < vnr_offer_rfc_queues(offer))
		return "too few virtqueues";
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_offer_refused);

/**
 * vnr_child_features() - the features of a RoCE device that the child may see
 * @offered: feature bits that the device offers
 *
 * This leaves out features that collide with the RFC (bits 51 to 55), features that
 * RoCE excludes, and features that the child device does not implement.
 *
 * IN_ORDER would apply to all queues.  The device could then omit entries in the used
 * rings of CQs, and these name the slots to read.  VIRTIO_F_ORDER_PLATFORM is kept:
 * with it virtio_ring orders memory accesses as hardware devices need it.  RoCE rings
 * are always ordered that way.
 *
 * Context: any.
 * Return: feature bits.
 */
u64 vnr_child_features(u64 offered)
{
	return offered & ~(BIT_ULL(VIRTIO_NET_F_ROCE) |
			   BIT_ULL(VNR_F_GUEST_USO4) |
			   BIT_ULL(VNR_F_NOTF_COAL) |
			   BIT_ULL(VNR_F_VQ_NOTF_COAL) |
			   BIT_ULL(VNR_F_HASH_TUNNEL) |
			   BIT_ULL(VNR_F_RING_PACKED) |
			   BIT_ULL(VNR_F_IN_ORDER) |
			   BIT_ULL(VNR_F_SR_IOV) |
			   BIT_ULL(VNR_F_NOTIFICATION_DATA) |
			   BIT_ULL(VNR_F_RING_RESET) |
			   BIT_ULL(VNR_F_ADMIN_VQ));
}
EXPORT_SYMBOL_IF_KUNIT(vnr_child_features);

/**
 * vnr_offer_rings() - take the numbers of event and doorbell virtqueues
 * @offer: what the function says about itself
 * @event_vqs: number in its configuration space
 * @doorbell_vqs: likewise
 *
 * A hypervisor may claim a longer configuration space than the device has, and return
 * anything there.  So numbers for which there are not enough virtqueues count as 0.
 *
 * Context: any.
 */
void vnr_offer_rings(struct vnr_offer *offer, u16 event_vqs, u16 doorbell_vqs)
{
	if (vnr_offer_rfc_queues(offer) + event_vqs + doorbell_vqs >
	    offer->num_queues)
		return;
	offer->event_vqs = event_vqs;
	offer->doorbell_vqs = doorbell_vqs;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_offer_rings);

static void vnr_offer_read_config(struct vnr_offer *offer,
				  const void __iomem *config)
{
	const struct virtio_net_roce_config __iomem *roce =
		config + VIRTIO_NET_ROCE_CONFIG_OFFSET;
	const struct virtio_net_roce_config_rings __iomem *rings =
		config + VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET;

	if (offer->config_len < VIRTIO_NET_ROCE_CONFIG_SIZE)
		return;
	offer->max_pairs =
		vp_ioread16(config + offsetof(struct virtio_net_config,
					      max_virtqueue_pairs));
	offer->max_qps = vp_ioread32(&roce->max_rdma_qps);
	offer->max_cqs = vp_ioread32(&roce->max_rdma_cqs);
	if (offer->config_len >= VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET +
				 sizeof(*rings))
		vnr_offer_rings(offer, vp_ioread16(&rings->event_vqs),
				vp_ioread16(&rings->doorbell_vqs));
}

/**
 * vnr_offer_read() - read what a function says about itself
 * @mdev: function that this driver owns
 * @offer: filled in
 *
 * Context: any.
 */
void vnr_offer_read(struct virtio_pci_modern_device *mdev,
		    struct vnr_offer *offer)
{
	*offer = (struct vnr_offer) {
		.features = vp_modern_get_features(mdev),
		.config_len = mdev->device ? mdev->device_len : 0,
		.num_queues = vp_modern_get_num_queues(mdev),
	};
	vnr_offer_read_config(offer, mdev->device);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_offer_read);

/*
 * Map one structure of a function that another driver owns, for reading.
 * Returns NULL if it is not there; *len is at most the capability's length.
 */
static void __iomem *vnr_peek_map(struct pci_dev *pdev, u8 type, u32 *len)
{
	u32 offset, length;
	u8 cap_type, bar;
	int pos;

	for (pos = pci_find_capability(pdev, PCI_CAP_ID_VNDR); pos;
	     pos = pci_find_next_capability(pdev, pos, PCI_CAP_ID_VNDR)) {
		pci_read_config_byte(pdev, pos + VIRTIO_PCI_CAP_CFG_TYPE,
				     &cap_type);
		pci_read_config_byte(pdev, pos + VIRTIO_PCI_CAP_BAR, &bar);
		if (cap_type != type || bar >= PCI_STD_NUM_BARS)
			continue;
		pci_read_config_dword(pdev, pos + VIRTIO_PCI_CAP_OFFSET,
				      &offset);
		pci_read_config_dword(pdev, pos + VIRTIO_PCI_CAP_LENGTH,
				      &length);
		if (!(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) ||
		    (u64)offset + length > pci_resource_len(pdev, bar))
			continue;
		*len = min(length, *len);
		return pci_iomap_range(pdev, bar, offset, *len);
	}
	return NULL;
}

/**
 * vnr_offer_peek() - read the offer of a function that another driver owns
 * @pdev: a virtio-net function
 * @features: its offered features; these come from its driver, because reading them
 *	from the device needs a write
 * @offer: filled in
 *
 * This only reads registers without side effects.
 *
 * Context: may sleep.
 * Return: false if the function could not be read.
 */
bool vnr_offer_peek(struct pci_dev *pdev, u64 features,
		    struct vnr_offer *offer)
{
	u32 common_len = sizeof(struct virtio_pci_common_cfg);
	u32 config_len = VIRTIO_NET_ROCE_CONFIG_SIZE;
	struct virtio_pci_common_cfg __iomem *common;
	void __iomem *config;
	bool ret = false;

	common = vnr_peek_map(pdev, VIRTIO_PCI_CAP_COMMON_CFG, &common_len);
	if (!common)
		return false;
	config = vnr_peek_map(pdev, VIRTIO_PCI_CAP_DEVICE_CFG, &config_len);
	if (!config || common_len < sizeof(*common))
		goto out_unmap;

	*offer = (struct vnr_offer) {
		.features = features,
		.config_len = config_len,
		.num_queues = vp_ioread16(&common->num_queues),
	};
	vnr_offer_read_config(offer, config);
	ret = true;

out_unmap:
	if (config)
		pci_iounmap(pdev, config);
	pci_iounmap(pdev, common);
	return ret;
}
