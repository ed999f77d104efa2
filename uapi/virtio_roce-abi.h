/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * virtio_roce: what the kernel driver tells its rdma-core provider.
 *
 * A work queue or completion queue is a split virtqueue in memory of the
 * kernel.  Its descriptor table, written once when the queue is created and
 * never mapped, ties descriptor i to slot i.  The provider maps the slots, the
 * two rings and, where the device has one for each queue, the doorbell page.
 */
#ifndef _UAPI_VIRTIO_ROCE_ABI_H
#define _UAPI_VIRTIO_ROCE_ABI_H

#include <linux/types.h>

#define VIRTIO_ROCE_ABI_VERSION		1

/*
 * In-tree drivers have small numbers from enum rdma_driver_id.  The PCI vendor
 * ID of virtio keeps clear of those to come.
 */
#define VIRTIO_ROCE_DRIVER_ID		0x1af4

/**
 * enum virtio_roce_queue_flags - properties of a queue
 * @VIRTIO_ROCE_QUEUE_DOORBELL: a doorbell page can be mapped; without it the
 *	provider rings through the POST_SEND or POST_RECV command of uverbs with
 *	no work request
 * @VIRTIO_ROCE_QUEUE_EVENT_IDX: VIRTIO_F_RING_EVENT_IDX was negotiated: the
 *	device asks for doorbells by avail_event, which stands behind the used
 *	ring, and not by the flags of the used ring
 * @VIRTIO_ROCE_QUEUE_ALIVE: of a CQ: the last 32 bits of the mapping of the used ring
 *	are not zero as long as the device lives, and zero from then on; what is
 *	mapped has no meaning any more then
 */
enum virtio_roce_queue_flags {
	VIRTIO_ROCE_QUEUE_DOORBELL	= 1 << 0,
	VIRTIO_ROCE_QUEUE_EVENT_IDX	= 1 << 1,
	VIRTIO_ROCE_QUEUE_ALIVE		= 1 << 2,
};

/**
 * struct virtio_roce_queue - how to map and use one queue
 * @slots_offset: mmap offset of the slots; read-only for a CQ
 * @avail_offset: mmap offset of the available ring
 * @used_offset: mmap offset of the used ring, read-only
 * @doorbell_offset: mmap offset of the doorbell page, write-only
 * @slots_len: bytes to map, as for the following
 * @avail_len: bytes to map
 * @used_len: bytes to map
 * @doorbell_len: bytes to map
 * @doorbell_pos: where in the mapping the 16-bit doorbell register is
 * @doorbell_value: what to write into it
 * @num: entries of each ring, a power of two
 * @depth: number of slots, a power of two not above @num; ring position i uses
 *	slot i modulo @depth.  Of a CQ all are available when it is created
 * @stride: bytes from a slot to the next
 * @flags: &enum virtio_roce_queue_flags
 * @reserved: zero
 */
struct virtio_roce_queue {
	__aligned_u64 slots_offset;
	__aligned_u64 avail_offset;
	__aligned_u64 used_offset;
	__aligned_u64 doorbell_offset;
	__u32 slots_len;
	__u32 avail_len;
	__u32 used_len;
	__u32 doorbell_len;
	__u32 doorbell_pos;
	__u32 doorbell_value;
	__u32 num;
	__u32 depth;
	__u32 stride;
	__u32 flags;
	__u32 reserved[2];
};

/**
 * enum virtio_roce_context_flags - what the device can
 * @VIRTIO_ROCE_CONTEXT_FLUSH: requests %VIRTIO_IB_WR_FLUSH
 */
enum virtio_roce_context_flags {
	VIRTIO_ROCE_CONTEXT_FLUSH	= 1 << 0,
};

/**
 * struct virtio_roce_alloc_ucontext_resp - response to alloc_context
 * @max_inline_data: bytes that a send request carries inline
 * @max_send_sge: scatter/gather elements that a send request carries
 * @max_recv_sge: scatter/gather elements that a receive request carries
 * @flags: &enum virtio_roce_context_flags
 */
struct virtio_roce_alloc_ucontext_resp {
	__u32 max_inline_data;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 flags;
};

/**
 * struct virtio_roce_create_cq_resp - response to create_cq
 * @cqn: number of the CQ
 * @reserved: zero
 * @cq: its virtqueue
 */
struct virtio_roce_create_cq_resp {
	__u32 cqn;
	__u32 reserved;
	struct virtio_roce_queue cq;
};

/**
 * struct virtio_roce_create_qp_resp - response to create_qp
 * @sq: virtqueue of the send queue
 * @rq: virtqueue of the receive queue
 */
struct virtio_roce_create_qp_resp {
	struct virtio_roce_queue sq;
	struct virtio_roce_queue rq;
};

/**
 * struct virtio_roce_create_ah_resp - response to create_ah
 * @ah: handle for the send requests of UD QPs
 * @reserved: zero
 */
struct virtio_roce_create_ah_resp {
	__u32 ah;
	__u32 reserved;
};

#endif /* _UAPI_VIRTIO_ROCE_ABI_H */
