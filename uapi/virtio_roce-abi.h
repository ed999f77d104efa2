/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * virtio_roce: what the kernel driver tells its rdma-core provider.
 *
 * A work queue or completion queue is a split virtqueue in memory of the
 * kernel.  Its descriptor table, written once when the queue is created and
 * never mapped, ties descriptor i to slot i.  The provider maps the slots, the
 * two rings and, where the device has one for each queue, the doorbell page.
 *
 * Kernel and provider are installed apart, and either may be the newer one.  So all
 * structures follow these rules:
 *
 * - Members are only appended.  Each structure has a base: its members up to the one
 *   named in its comment, which any kernel and any provider of this version have.
 * - Each side handles min(its own size, the other's size) bytes.  What is missing reads
 *   as zero, and zero means "not there".
 * - The kernel refuses a request with bytes behind its own structure that are not zero
 *   (EINVAL), and a provider that has no room for the base of the answer (EINVAL).
 * - The provider sets a new member of a request only if alloc_context has agreed on the
 *   feature that the member belongs to.
 * - A structure inside another one has room that is reserved for its future members.
 *
 * The version changes only if a base does.
 */
#ifndef _UAPI_VIRTIO_ROCE_ABI_H
#define _UAPI_VIRTIO_ROCE_ABI_H

#include <linux/types.h>

#define VIRTIO_ROCE_ABI_VERSION		2

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
 * @VIRTIO_ROCE_QUEUE_DIRECT: it has the direct form (virtio_net_roce.h): slots and
 *	control block are mapped, and there are no rings
 */
enum virtio_roce_queue_flags {
	VIRTIO_ROCE_QUEUE_DOORBELL	= 1 << 0,
	VIRTIO_ROCE_QUEUE_EVENT_IDX	= 1 << 1,
	VIRTIO_ROCE_QUEUE_ALIVE		= 1 << 2,
	VIRTIO_ROCE_QUEUE_DIRECT	= 1 << 3,
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
 * @control_offset: mmap offset of the control block; in direct form, like the following
 *	three.  What has the same offset is one mapping
 * @control_len: bytes to map
 * @control_pos: where in the mapping the control block is
 * @slots_pos: where in their mapping the slots begin
 * @reserved2: zero
 * @reserved: zero
 *
 * Base: up to @flags.  Takes 128 bytes for ever, because it stands inside others.
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
	__aligned_u64 control_offset;
	__u32 control_len;
	__u32 control_pos;
	__u32 slots_pos;
	__u32 reserved2;
	__aligned_u64 reserved[4];
};

/**
 * enum virtio_roce_features - bits for what is optional between kernel and provider
 * @VIRTIO_ROCE_FEATURE_DIRECT: all CQs and QPs of the context have the direct form
 */
enum virtio_roce_features {
	VIRTIO_ROCE_FEATURE_DIRECT	= 1 << 0,
};

/* Those that this header describes. */
#define VIRTIO_ROCE_FEATURES		VIRTIO_ROCE_FEATURE_DIRECT

/**
 * struct virtio_roce_alloc_ucontext_req - request of alloc_context
 * @features: features that the provider understands, whoever has them
 *
 * Base: nothing.  A provider that sends no request gets no features.
 */
struct virtio_roce_alloc_ucontext_req {
	__aligned_u64 features;
};

/**
 * struct virtio_roce_alloc_ucontext_resp - response to alloc_context
 * @features: those that provider, kernel and device have; only these may be used
 * @device_caps: &enum virtio_ib_device_cap; capabilities of the device that the kernel
 *	driver knows
 * @max_inline_data: bytes that a send request carries inline
 * @reserved: zero
 *
 * Base: up to @reserved.
 */
struct virtio_roce_alloc_ucontext_resp {
	__aligned_u64 features;
	__aligned_u64 device_caps;
	__u32 max_inline_data;
	__u32 reserved;
};

/**
 * enum virtio_roce_query_context_attrs - driver's attributes of the method QUERY_CONTEXT
 * @VIRTIO_ROCE_ATTR_QUERY_CONTEXT_RESP: &struct virtio_roce_alloc_ucontext_resp, as when
 *	the context was made; for a process that imports it
 */
enum virtio_roce_query_context_attrs {
	VIRTIO_ROCE_ATTR_QUERY_CONTEXT_RESP = 1U << 12,	/* UVERBS_ID_NS_SHIFT */
};

/**
 * struct virtio_roce_create_cq_resp - response to create_cq
 * @cq: its virtqueue
 *
 * Base: up to @cq.
 */
struct virtio_roce_create_cq_resp {
	struct virtio_roce_queue cq;
};

/**
 * struct virtio_roce_resize_cq_resp - response to resize_cq
 * @cq: its new queue in direct form; all zero if the CQ stays as it is
 * @unread: completions that are in the first slots of @cq
 * @reserved: zero
 *
 * Base: nothing.  But a CQ in direct form does not grow (EOPNOTSUPP) for a provider that
 * has no room for all of this.  When it has grown, the old control block says that the
 * CQ is in error, for a provider that goes on with the old queue.
 */
struct virtio_roce_resize_cq_resp {
	struct virtio_roce_queue cq;
	__u32 unread;
	__u32 reserved;
};

/**
 * struct virtio_roce_create_srq_resp - response to create_srq
 * @srq: its ring, which has the direct form and is never announced; the cookie of a
 *	request is what its completion has in the place of an index
 *
 * Base: up to @srq.
 */
struct virtio_roce_create_srq_resp {
	struct virtio_roce_queue srq;
};

/**
 * struct virtio_roce_modify_srq_req - request of modify_srq
 * @resp: address of a &struct virtio_roce_create_srq_resp, because the verb has no
 *	response; filled in if the SRQ has another ring
 * @resp_len: bytes that there is room for
 * @reserved: zero
 *
 * Base: nothing.  Without room for the base of the response an SRQ keeps its size
 * (EOPNOTSUPP).
 */
struct virtio_roce_modify_srq_req {
	__aligned_u64 resp;
	__u32 resp_len;
	__u32 reserved;
};

/**
 * struct virtio_roce_create_qp_req - request of create_qp, with an indirection table
 * @rx_hash_fields: &enum virtio_rdma_rx_hash_fields
 * @rx_hash_function: &enum virtio_rdma_rx_hash_function
 * @reserved: zero
 * @key: of the Toeplitz function, else zero
 *
 * Base: up to @key.  All other QPs have no request.
 */
struct virtio_roce_create_qp_req {
	__u32 rx_hash_fields;
	__u8 rx_hash_function;
	__u8 reserved[3];
	__u8 key[40];
};

/**
 * struct virtio_roce_create_qp_resp - response to create_qp, and to create_wq
 * @sq: virtqueue of the send queue
 * @rq: virtqueue of the receive queue; zero if the QP has an SRQ or is XRC_INI
 * @page_offset: mmap offset of the context's doorbell page, the same for all its QPs;
 *	with %VIRTIO_ROCE_FEATURE_DIRECT, like @bit
 * @bit: bit of the QP in that page
 * @reserved: zero
 *
 * Base: up to @rq.
 *
 * In direct form the doorbell of @sq is the one to ring after @page_offset.  @sq and @rq
 * have the same control block.
 *
 * An XRC_TGT QP, or one with an indirection table, has no queues and no response: all is zero.
 * A work queue has @rq, @page_offset and @bit, and the doorbell of @sq.
 */
struct virtio_roce_create_qp_resp {
	struct virtio_roce_queue sq;
	struct virtio_roce_queue rq;
	__aligned_u64 page_offset;
	__u32 bit;
	__u32 reserved;
};

/**
 * enum virtio_roce_flow_counter - values that read_counters returns, all of them each time
 * @VIRTIO_ROCE_FLOW_PACKETS: frames that the rules of the counters have taken
 * @VIRTIO_ROCE_FLOW_BYTES: their bytes
 */
enum virtio_roce_flow_counter {
	VIRTIO_ROCE_FLOW_PACKETS		= 0,
	VIRTIO_ROCE_FLOW_BYTES			= 1,
};

#define VIRTIO_ROCE_FLOW_COUNTERS		2

/**
 * struct virtio_roce_create_ah_resp - response to create_ah
 * @ah: handle for the send requests of UD QPs
 *
 * Base: up to @ah.  It follows four bytes of the core, so that it cannot have members
 * of 64 bits.
 */
struct virtio_roce_create_ah_resp {
	__u32 ah;
};

#endif /* _UAPI_VIRTIO_ROCE_ABI_H */
