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
 * enum virtio_roce_device_methods - methods of the driver, of %UVERBS_OBJECT_DEVICE
 * @VIRTIO_ROCE_METHOD_QUERY_CLOCK: ask what the clock of completions says; EOPNOTSUPP without
 *	%VIRTIO_IB_DEVICE_CQ_TIMESTAMP
 */
enum virtio_roce_device_methods {
	VIRTIO_ROCE_METHOD_QUERY_CLOCK	= 1U << 12,
};

/**
 * enum virtio_roce_query_clock_attrs - of %VIRTIO_ROCE_METHOD_QUERY_CLOCK
 * @VIRTIO_ROCE_ATTR_QUERY_CLOCK_TIME: __u64, ns
 */
enum virtio_roce_query_clock_attrs {
	VIRTIO_ROCE_ATTR_QUERY_CLOCK_TIME = 1U << 12,
};

/**
 * struct virtio_roce_create_cq_resp - response to create_cq
 * @cq: its virtqueue
 *
 * A CQ with IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION, which needs
 * %VIRTIO_IB_DEVICE_CQ_TIMESTAMP and %VIRTIO_ROCE_FEATURE_DIRECT, has slots of
 * &struct virtio_rdma_cqe_timed, and a stride of 64 bytes.
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
 * struct virtio_roce_modify_qp_req - request of modify_qp
 * @max_burst: of &struct virtio_rdma_cmd_modify_qp; not 0 only with a rate limit, on a device
 *	with %VIRTIO_IB_DEVICE_RATE_BURST
 * @reserved: zero
 *
 * Base: nothing.
 */
struct virtio_roce_modify_qp_req {
	__u32 max_burst;
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

/* ----- NVMe over Fabrics: methods of uverbs in the driver's namespace ----- */

/*
 * Without VIRTIO_IB_DEVICE_NVMF all of them fail with EOPNOTSUPP.  Structures grow as those
 * above, and what is reserved is zero.  Numbers, flags and combinations are those of
 * virtio_net_roce.h.
 */

/**
 * enum virtio_roce_objects - objects of the driver
 * @VIRTIO_ROCE_OBJECT_NVMF: methods that belong to no object of the driver's
 * @VIRTIO_ROCE_OBJECT_NVME_CTRL: an NVMe controller of an SRQ
 */
enum virtio_roce_objects {
	VIRTIO_ROCE_OBJECT_NVMF			= 1U << 12,	/* UVERBS_ID_NS_SHIFT */
	VIRTIO_ROCE_OBJECT_NVME_CTRL,
};

/**
 * enum virtio_roce_nvmf_methods - methods of %VIRTIO_ROCE_OBJECT_NVMF
 * @VIRTIO_ROCE_METHOD_NVMF_QUERY: ask what the offload can do
 * @VIRTIO_ROCE_METHOD_NVMF_NAMESPACE: ask for a namespace of the host; ENOENT if it is not
 *	there for this function
 * @VIRTIO_ROCE_METHOD_NVMF_SET_SRQ: give an SRQ attributes
 * @VIRTIO_ROCE_METHOD_NVMF_SET_QP: turn the offload of a QP on or off
 */
enum virtio_roce_nvmf_methods {
	VIRTIO_ROCE_METHOD_NVMF_QUERY		= 1U << 12,
	VIRTIO_ROCE_METHOD_NVMF_NAMESPACE,
	VIRTIO_ROCE_METHOD_NVMF_SET_SRQ,
	VIRTIO_ROCE_METHOD_NVMF_SET_QP,
};

/**
 * enum virtio_roce_nvme_ctrl_methods - methods of %VIRTIO_ROCE_OBJECT_NVME_CTRL
 * @VIRTIO_ROCE_METHOD_NVME_CTRL_CREATE: make one
 * @VIRTIO_ROCE_METHOD_NVME_CTRL_DESTROY: destroy it; EBUSY while namespaces are mapped
 * @VIRTIO_ROCE_METHOD_NVME_CTRL_MAP: map a namespace; EEXIST if the SRQ has its number,
 *	EOPNOTSUPP if its blocks are of no size that the device can
 * @VIRTIO_ROCE_METHOD_NVME_CTRL_UNMAP: undo that; ENOENT if it is not mapped to this one
 * @VIRTIO_ROCE_METHOD_NVME_CTRL_STATE: ask whether it has failed
 */
enum virtio_roce_nvme_ctrl_methods {
	VIRTIO_ROCE_METHOD_NVME_CTRL_CREATE	= 1U << 12,
	VIRTIO_ROCE_METHOD_NVME_CTRL_DESTROY,
	VIRTIO_ROCE_METHOD_NVME_CTRL_MAP,
	VIRTIO_ROCE_METHOD_NVME_CTRL_UNMAP,
	VIRTIO_ROCE_METHOD_NVME_CTRL_STATE,
};

/**
 * enum virtio_roce_nvmf_query_attrs - of %VIRTIO_ROCE_METHOD_NVMF_QUERY
 * @VIRTIO_ROCE_ATTR_NVMF_QUERY_RESP: &struct virtio_roce_nvmf_caps
 */
enum virtio_roce_nvmf_query_attrs {
	VIRTIO_ROCE_ATTR_NVMF_QUERY_RESP	= 1U << 12,
};

/**
 * enum virtio_roce_nvmf_namespace_attrs - of %VIRTIO_ROCE_METHOD_NVMF_NAMESPACE
 * @VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_NAME: 64 bytes: name, and zeroes behind it
 * @VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_RESP: &struct virtio_roce_nvmf_namespace
 */
enum virtio_roce_nvmf_namespace_attrs {
	VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_NAME	= 1U << 12,
	VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_RESP,
};

/**
 * enum virtio_roce_nvmf_set_srq_attrs - of %VIRTIO_ROCE_METHOD_NVMF_SET_SRQ
 * @VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_SRQ: SRQ
 * @VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_STAGING: memory region of the staging memory
 * @VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_REQ: &struct virtio_roce_set_srq_nvmf
 */
enum virtio_roce_nvmf_set_srq_attrs {
	VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_SRQ	= 1U << 12,
	VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_STAGING,
	VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_REQ,
};

/**
 * enum virtio_roce_nvmf_set_qp_attrs - of %VIRTIO_ROCE_METHOD_NVMF_SET_QP
 * @VIRTIO_ROCE_ATTR_NVMF_SET_QP_QP: QP
 * @VIRTIO_ROCE_ATTR_NVMF_SET_QP_REQ: &struct virtio_roce_set_qp_nvmf
 */
enum virtio_roce_nvmf_set_qp_attrs {
	VIRTIO_ROCE_ATTR_NVMF_SET_QP_QP		= 1U << 12,
	VIRTIO_ROCE_ATTR_NVMF_SET_QP_REQ,
};

/**
 * enum virtio_roce_nvme_ctrl_create_attrs - of %VIRTIO_ROCE_METHOD_NVME_CTRL_CREATE
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_HANDLE: the new controller
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SRQ: its SRQ, which stays as long as it does
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_REQ: &struct virtio_roce_create_nvme_ctrl
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_EVENTFD: __s32, an eventfd that is signalled when it fails
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQ: memory region of its submission queue, if it has
 *	queues in memory, like the following three
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQ: of its completion queue
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQDB: of the doorbell of the former
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQDB: of the doorbell of the latter
 */
enum virtio_roce_nvme_ctrl_create_attrs {
	VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_HANDLE = 1U << 12,
	VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SRQ,
	VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_REQ,
	VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_EVENTFD,
	VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQ,
	VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQ,
	VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQDB,
	VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQDB,
};

/**
 * enum virtio_roce_nvme_ctrl_destroy_attrs - of %VIRTIO_ROCE_METHOD_NVME_CTRL_DESTROY
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_DESTROY_HANDLE: controller
 */
enum virtio_roce_nvme_ctrl_destroy_attrs {
	VIRTIO_ROCE_ATTR_NVME_CTRL_DESTROY_HANDLE = 1U << 12,
};

/**
 * enum virtio_roce_nvme_ctrl_map_attrs - of %VIRTIO_ROCE_METHOD_NVME_CTRL_MAP
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_HANDLE: controller
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_REQ: &struct virtio_roce_map_nsid
 */
enum virtio_roce_nvme_ctrl_map_attrs {
	VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_HANDLE	= 1U << 12,
	VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_REQ,
};

/**
 * enum virtio_roce_nvme_ctrl_unmap_attrs - of %VIRTIO_ROCE_METHOD_NVME_CTRL_UNMAP
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_HANDLE: controller
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_NSID: __u32, number that hosts use
 */
enum virtio_roce_nvme_ctrl_unmap_attrs {
	VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_HANDLE	= 1U << 12,
	VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_NSID,
};

/**
 * enum virtio_roce_nvme_ctrl_state_attrs - of %VIRTIO_ROCE_METHOD_NVME_CTRL_STATE
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_HANDLE: controller
 * @VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_RESP: __u32, &enum virtio_roce_nvme_state
 */
enum virtio_roce_nvme_ctrl_state_attrs {
	VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_HANDLE	= 1U << 12,
	VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_RESP,
};

/**
 * enum virtio_roce_nvme_state - what has become of a controller
 * @VIRTIO_ROCE_NVME_WORKS: it works
 * @VIRTIO_ROCE_NVME_PCI_ERR: its memory could not be used, or it answered nonsense
 * @VIRTIO_ROCE_NVME_TIMEOUT: it did not answer in time
 */
enum virtio_roce_nvme_state {
	VIRTIO_ROCE_NVME_WORKS			= 0,
	VIRTIO_ROCE_NVME_PCI_ERR		= 1,
	VIRTIO_ROCE_NVME_TIMEOUT		= 2,
};

/**
 * struct virtio_roce_nvmf_caps - as &struct virtio_rdma_ack_query_nvmf
 *
 * Base: up to @max_srqs.
 */
struct virtio_roce_nvmf_caps {
	__u32 offload;
	__u32 backends;
	__u32 flags;
	__u32 lba_sizes;
	__u32 max_ctrls;
	__u32 max_srq_ctrls;
	__u32 max_srq_namespaces;
	__u32 min_staging_size;
	__u32 max_io_size;
	__u32 max_capsule;
	__u32 min_capsule;
	__u16 max_queue_depth;
	__u16 min_queue_depth;
	__u16 max_data_offset;
	__u16 max_qp_commands;
	__u32 max_srqs;
};

/**
 * struct virtio_roce_nvmf_namespace - as &struct virtio_rdma_ack_query_namespace
 *
 * Base: up to @flags.
 */
struct virtio_roce_nvmf_namespace {
	__aligned_u64 size;
	__u32 lba_size;
	__u32 flags;
};

/**
 * struct virtio_roce_set_srq_nvmf - as &struct virtio_rdma_cmd_set_srq_nvmf
 *
 * Base: up to @staging_length.
 */
struct virtio_roce_set_srq_nvmf {
	__u32 ops;
	__u32 max_namespaces;
	__u32 max_io_size;
	__u32 capsule;
	__u16 data_offset;
	__u16 queue_depth;
	__u8 page_shift;
	__u8 reserved;
	__u16 reserved2;
	__aligned_u64 staging_addr;
	__aligned_u64 staging_length;
};

/**
 * struct virtio_roce_set_qp_nvmf - as &struct virtio_rdma_cmd_set_qp_nvmf
 *
 * Base: up to @sq_head.
 */
struct virtio_roce_set_qp_nvmf {
	__u32 flags;
	__u16 sq_size;
	__u16 sq_head;
};

/** struct virtio_roce_nvmf_region - a part of a memory region */
struct virtio_roce_nvmf_region {
	__aligned_u64 addr;
	__aligned_u64 length;
};

/**
 * struct virtio_roce_create_nvme_ctrl - as &struct virtio_rdma_cmd_create_nvme_ctrl
 * @backend: &enum virtio_rdma_nvme_backend
 * @flags: &enum virtio_rdma_nvme_ctrl_flags
 * @timeout_ms: time that a command may take
 * @sq_initial: index of the next submission
 * @cq_initial: index of the next completion
 * @region: submission queue, completion queue, doorbells of the two
 * @name: name of a namespace of the host, and zeroes behind it
 *
 * Base: up to @name.
 */
struct virtio_roce_create_nvme_ctrl {
	__u8 backend;
	__u8 flags;
	__u16 timeout_ms;
	__u16 sq_initial;
	__u16 cq_initial;
	struct virtio_roce_nvmf_region region[4];
	__u8 name[64];
};

/**
 * struct virtio_roce_map_nsid - as &struct virtio_rdma_cmd_map_nsid
 *
 * Base: up to @reserved.
 */
struct virtio_roce_map_nsid {
	__u32 nsid;
	__u32 ctrl_nsid;
	__u32 lba_size;
	__u32 reserved;
};

#endif /* _UAPI_VIRTIO_ROCE_ABI_H */
