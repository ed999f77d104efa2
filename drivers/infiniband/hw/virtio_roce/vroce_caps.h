/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Capabilities of the device.
 */
#ifndef _VROCE_CAPS_H
#define _VROCE_CAPS_H

#include <rdma/ib_addr.h>

#include "vroce_types.h"

/* Can it carry out commands of NVMe over Fabrics? */
static inline bool vroce_has_nvmf(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_NVMF;
}

/* Can work requests register memory? */
static inline bool vroce_has_fast_reg(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS;
}

/* Can a GID have a VLAN? */
static inline bool vroce_has_gid_vlan(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_GID_VLAN;
}

/* Can a peer flush what it has written? */
static inline bool vroce_has_flush(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_FLUSH;
}

/* Are there events of QPs beside QP_FATAL? */
static inline bool vroce_has_qp_events(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_QP_EVENTS;
}

/* Can a memory region get other pages and rights, and keep its keys? */
static inline bool vroce_has_rereg(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_REREG_MR;
}

/* Can the pages of a memory region have other sizes than 4096 bytes? */
static inline bool vroce_has_page_shift(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MR_PAGE_SHIFT;
}

/* Can their list lie outside of the command? */
static inline bool vroce_has_indirect(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MR_INDIRECT;
}

/* Can the first byte of a memory region have address 0? */
static inline bool vroce_has_zero_based(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_ZERO_BASED;
}

/* Are there memory windows? */
static inline bool vroce_has_mw(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MEM_WINDOW;
}

/* Are there atomic operations? */
static inline bool vroce_has_atomics(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_ATOMIC;
}

/*
 * Access flags in the form that the device is told.  Libraries grant atomic operations wherever
 * they may, so that is accepted for all devices, and means nothing to those without.
 */
static inline int vroce_known_access(const struct vroce_dev *dev, int access)
{
	return vroce_has_atomics(dev) ? access : access & ~IB_ACCESS_REMOTE_ATOMIC;
}

/* Does the device hold completions that find no slot? */
static inline bool vroce_cqs_hold(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_CQ_HOLD;
}

/* Does RESET give the slots of a QP back? */
static inline bool vroce_reset_gives_slots(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_RESET_SLOTS;
}

/* Are CQs armed by a store, and events reported by number? */
static inline bool vroce_has_events(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_EVENTS;
}

/* Can queues be in memory that the create command names? */
static inline bool vroce_has_direct(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_DIRECT;
}

/* Can QPs share a receive queue? */
static inline bool vroce_has_srq(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_SRQ;
}

/* Can a shared receive queue get another ring? */
static inline bool vroce_has_srq_resize(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_SRQ_RESIZE;
}

/* Are there extended reliable connections? */
static inline bool vroce_has_xrc(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_XRC;
}

/* Are there QPs that send and receive whole frames? */
static inline bool vroce_has_raw_packet(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_RAW_PACKET;
}

/* Can rules say which frames they receive? */
static inline bool vroce_has_flow(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_FLOW;
}

/* Do rules count frames, and put a tag into their completions? */
static inline bool vroce_has_flow_count(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_FLOW_COUNT;
}

/* Can QPs spread frames over work queues? */
static inline bool vroce_has_rss(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_RSS;
}

/* Can events of CQs wait for more completions? */
static inline bool vroce_has_cq_moderate(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_CQ_MODERATE;
}

/* Can completions have their time? */
static inline bool vroce_has_cq_timestamp(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_CQ_TIMESTAMP;
}

/* Does the device take the length of bursts under a rate limit? */
static inline bool vroce_has_rate_burst(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_RATE_BURST;
}

/* Are checksums made and checked for QPs of whole frames? */
static inline bool vroce_has_raw_csum(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_RAW_CSUM;
}

/* Can tags be taken out of the frames that they receive? */
static inline bool vroce_has_raw_vlan(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_RAW_VLAN;
}

/* Does the device say what each QP has counted? */
static inline bool vroce_has_qp_counters(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_QP_COUNTERS;
}

/* Can QPs be attached to multicast groups? */
static inline bool vroce_has_mcast(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MCAST;
}

/* The MTU of the port follows that of the Ethernet interface, and can change at any time. */
static inline enum ib_mtu vroce_active_mtu(const struct vroce_dev *dev)
{
	/* 0 is below the smallest InfiniBand MTU. */
	return iboe_get_mtu(READ_ONCE(dev->aux->netdev->mtu)) ?: IB_MTU_256;
}

#endif /* _VROCE_CAPS_H */
