/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * virtio-net RoCE: the wire format between driver and device.
 *
 * Only this file defines the wire format.  Kernel modules, rdma-core provider, device
 * and tests include it and do not define any of it again.  The layout
 * is that of the RFC v2 of VIRTIO_NET_F_ROCE (May 2022), in which enumerations
 * count from 0 in the order given there.
 *
 * All fields are little-endian but for the bytes of a GID, a MAC address and
 * immediate data, which are opaque or in network order.  Padding and reserved
 * fields are written as zero and not looked at, so that a later capability can
 * give them a meaning.
 */
#ifndef _UAPI_VIRTIO_NET_ROCE_H
#define _UAPI_VIRTIO_NET_ROCE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#else
#include <assert.h>
#include <stddef.h>
#endif
#include <linux/types.h>

#define VNR_ASSERT_SIZE(type, size) \
	static_assert(sizeof(type) == (size), #type " is not " #size " bytes")
#define VNR_ASSERT_OFFSET(type, member, offset) \
	static_assert(offsetof(type, member) == (offset), \
		      #type "." #member " is not at " #offset)

/* ------------------------------------------------------------------------- */
/* Feature, configuration space, queues                                      */
/* ------------------------------------------------------------------------- */

/*
 * The bit number is also that of VIRTIO_NET_F_GUEST_USO6 of the virtio
 * standard, so that it says nothing on its own.  A function offers RoCE only if
 * it also offers VIRTIO_NET_F_CTRL_VQ, its device configuration space has at
 * least VIRTIO_NET_ROCE_CONFIG_SIZE bytes, both limits in it are between 1 and
 * VIRTIO_NET_ROCE_MAX_OBJECTS, and it has as many virtqueues as they call for.
 */
#define VIRTIO_NET_F_ROCE		55

#define VIRTIO_NET_ROCE_CONFIG_SIZE	32
#define VIRTIO_NET_ROCE_MAX_OBJECTS	16384

/**
 * struct virtio_net_roce_config - RoCE part of the virtio-net configuration
 * @max_rdma_qps: number of queue pairs (L); each is one send and one receive
 *                virtqueue
 * @max_rdma_cqs: number of completion queues (M), one virtqueue each; the RFC
 *                prints it as max_rdma_cps in one place
 *
 * Stands at VIRTIO_NET_ROCE_CONFIG_OFFSET of the device configuration space.
 */
struct virtio_net_roce_config {
	__le32 max_rdma_qps;
	__le32 max_rdma_cqs;
};

VNR_ASSERT_SIZE(struct virtio_net_roce_config, 8);

#define VIRTIO_NET_ROCE_CONFIG_OFFSET	24

/**
 * struct virtio_net_roce_config_rings - configuration of event queues and direct rings
 * @event_vqs: number of event virtqueues (E), %VIRTIO_IB_DEVICE_EVENTS
 * @doorbell_vqs: number of doorbell virtqueues (D), %VIRTIO_IB_DEVICE_DIRECT
 *
 * Stands at VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET.  A device without these capabilities
 * may end before it; both numbers are 0 then.
 */
struct virtio_net_roce_config_rings {
	__le16 event_vqs;
	__le16 doorbell_vqs;
};

VNR_ASSERT_SIZE(struct virtio_net_roce_config_rings, 4);

#define VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET	32

/*
 * Order of the virtqueues, N being the number of receive/transmit pairs
 * (max_virtqueue_pairs where MQ or RSS was negotiated, else 1):
 *   0 … 2N-1         Ethernet
 *   2N               control
 *   2N+1 … 2N+M      completion queues; CQN n is virtqueue 2N+1+n
 *   2N+M+1 + 2n      send queue of QPN n
 *   2N+M+2 + 2n      receive queue of QPN n
 *   2N+1+M+2L + e    event virtqueue e, 0 <= e < E
 *   2N+1+M+2L+E + d  doorbell virtqueue d, 0 <= d < D
 * QPN 0 is SMI, which RoCE has no use for, and QPN 1 is GSI.
 */
#define VIRTIO_NET_ROCE_QPN_SMI		0
#define VIRTIO_NET_ROCE_QPN_GSI		1

/* ------------------------------------------------------------------------- */
/* Control commands                                                          */
/* ------------------------------------------------------------------------- */

/*
 * A command is a chain on the control virtqueue.  Device-readable: class,
 * command, then the request; device-writable: ack, then the response without
 * any padding between the two.  The response is valid only if ack is
 * VIRTIO_NET_OK; with VIRTIO_NET_ERR nothing has changed in the device.
 */
#define VIRTIO_NET_CTRL_ROCE		6

enum virtio_net_ctrl_roce_cmd {
	VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE	= 0,
	VIRTIO_NET_CTRL_ROCE_QUERY_PORT		= 1,
	VIRTIO_NET_CTRL_ROCE_CREATE_CQ		= 2,
	VIRTIO_NET_CTRL_ROCE_DESTROY_CQ		= 3,
	VIRTIO_NET_CTRL_ROCE_CREATE_PD		= 4,
	VIRTIO_NET_CTRL_ROCE_DESTROY_PD		= 5,
	VIRTIO_NET_CTRL_ROCE_GET_DMA_MR		= 6,
	VIRTIO_NET_CTRL_ROCE_REG_USER_MR	= 7,
	VIRTIO_NET_CTRL_ROCE_DEREG_MR		= 8,
	VIRTIO_NET_CTRL_ROCE_CREATE_QP		= 9,
	VIRTIO_NET_CTRL_ROCE_MODIFY_QP		= 10,
	VIRTIO_NET_CTRL_ROCE_QUERY_QP		= 11,
	VIRTIO_NET_CTRL_ROCE_DESTROY_QP		= 12,
	VIRTIO_NET_CTRL_ROCE_CREATE_AH		= 13,
	VIRTIO_NET_CTRL_ROCE_DESTROY_AH		= 14,
	VIRTIO_NET_CTRL_ROCE_ADD_GID		= 15,
	VIRTIO_NET_CTRL_ROCE_DEL_GID		= 16,
	VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ	= 17,

	/* 18 … 31 are left to what the RFC may become. */

	/* 32 … 39: VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS */
	VIRTIO_NET_CTRL_ROCE_ALLOC_MR		= 32,

	/* 40 … 47: VIRTIO_IB_DEVICE_COUNTERS and _QP_COUNTERS */
	VIRTIO_NET_CTRL_ROCE_QUERY_COUNTERS	= 40,
	VIRTIO_NET_CTRL_ROCE_QUERY_QP_COUNTERS	= 41,

	/* 48 … 55: VIRTIO_IB_DEVICE_MCAST */
	VIRTIO_NET_CTRL_ROCE_ATTACH_MCAST	= 48,
	VIRTIO_NET_CTRL_ROCE_DETACH_MCAST	= 49,

	/* 56 … 63: VIRTIO_IB_DEVICE_EVENTS, _DIRECT, _SRQ and _SRQ_RESIZE */
	VIRTIO_NET_CTRL_ROCE_ALLOC_DOORBELL	= 56,
	VIRTIO_NET_CTRL_ROCE_FREE_DOORBELL	= 57,
	VIRTIO_NET_CTRL_ROCE_CREATE_SRQ		= 58,
	VIRTIO_NET_CTRL_ROCE_MODIFY_SRQ		= 59,
	VIRTIO_NET_CTRL_ROCE_QUERY_SRQ		= 60,
	VIRTIO_NET_CTRL_ROCE_DESTROY_SRQ	= 61,
	VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ		= 62,
	VIRTIO_NET_CTRL_ROCE_RESIZE_CQ		= 63,

	/* 64 … 71: VIRTIO_IB_DEVICE_REREG_MR and _MEM_WINDOW */
	VIRTIO_NET_CTRL_ROCE_REREG_MR		= 64,
	VIRTIO_NET_CTRL_ROCE_ALLOC_MW		= 65,

	/* 72 … 79: VIRTIO_IB_DEVICE_XRC */
	VIRTIO_NET_CTRL_ROCE_CREATE_XRCD	= 72,
	VIRTIO_NET_CTRL_ROCE_DESTROY_XRCD	= 73,
	VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ	= 74,

	/* 80 … 87: VIRTIO_IB_DEVICE_MR_PAGE_SHIFT and _MR_INDIRECT */
	VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG	= 80,

	/* 88 … 93: VIRTIO_IB_DEVICE_FLOW and _FLOW_COUNT */
	VIRTIO_NET_CTRL_ROCE_CREATE_FLOW	= 88,
	VIRTIO_NET_CTRL_ROCE_DESTROY_FLOW	= 89,
	VIRTIO_NET_CTRL_ROCE_QUERY_FLOW		= 90,
	VIRTIO_NET_CTRL_ROCE_CREATE_FLOW_LONG	= 91,

	/* 96 … 105: VIRTIO_IB_DEVICE_RSS */
	VIRTIO_NET_CTRL_ROCE_CREATE_WQ_TABLE	= 96,
	VIRTIO_NET_CTRL_ROCE_DESTROY_WQ_TABLE	= 97,
	VIRTIO_NET_CTRL_ROCE_CREATE_RX_HASH_QP	= 98,

	/* 106 … 111: VIRTIO_IB_DEVICE_CQ_MODERATE */
	VIRTIO_NET_CTRL_ROCE_MODIFY_CQ		= 106,

	/* 112 … 119: VIRTIO_IB_DEVICE_NVMF */
	VIRTIO_NET_CTRL_ROCE_QUERY_NVMF		= 112,
	VIRTIO_NET_CTRL_ROCE_QUERY_NAMESPACE	= 113,
	VIRTIO_NET_CTRL_ROCE_SET_SRQ_NVMF	= 114,
	VIRTIO_NET_CTRL_ROCE_CREATE_NVME_CTRL	= 115,
	VIRTIO_NET_CTRL_ROCE_DESTROY_NVME_CTRL	= 116,
	VIRTIO_NET_CTRL_ROCE_MAP_NSID		= 117,
	VIRTIO_NET_CTRL_ROCE_UNMAP_NSID		= 118,
	VIRTIO_NET_CTRL_ROCE_SET_QP_NVMF	= 119,

	/* 120 … 127: VIRTIO_IB_DEVICE_CQ_TIMESTAMP */
	VIRTIO_NET_CTRL_ROCE_QUERY_CLOCK	= 120,

	/* One more than the largest; not all numbers below it are in use. */
	VIRTIO_NET_CTRL_ROCE_NUM		= 121,
};

/**
 * enum virtio_ib_device_cap - bits of &virtio_rdma_ack_query_device.device_cap_flags
 * @VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN: RC responders answer a message that finds
 *	no receive request with an RNR NAK
 * @VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS: memory regions that work requests
 *	register and invalidate, for consumers inside the kernel: ALLOC_MR,
 *	&virtio_rdma_ack_query_device.max_fast_reg_pages,
 *	%VIRTIO_IB_QP_FAST_REG, %VIRTIO_IB_WR_LOCAL_INV,
 *	%VIRTIO_IB_WR_SEND_WITH_INV, %VIRTIO_IB_WR_REG_MR
 * @VIRTIO_IB_DEVICE_COUNTERS: QUERY_COUNTERS
 * @VIRTIO_IB_DEVICE_GID_VLAN: &virtio_rdma_cmd_add_gid.vlan is looked at
 * @VIRTIO_IB_DEVICE_CQ_HOLD: a CQ may have fewer slots than completions.  The
 *	device holds those that find no slot, and puts them into slots, in order
 *	and without being notified, when there are some again
 * @VIRTIO_IB_DEVICE_MCAST: datagrams to groups: ATTACH_MCAST, DETACH_MCAST,
 *	&virtio_rdma_ack_query_device.max_mcast_grp and
 *	&virtio_rdma_ack_query_device.max_mcast_qp_attach
 * @VIRTIO_IB_DEVICE_FLUSH: %VIRTIO_IB_WR_FLUSH, %VIRTIO_IB_ACCESS_FLUSH_GLOBAL,
 *	%VIRTIO_IB_ACCESS_FLUSH_PERSISTENT
 * @VIRTIO_IB_DEVICE_RESET_SLOTS: a QP that goes to RESET gives its pending slots back
 *	used, without completions.  Without it a driver takes a QP that has pending
 *	requests to ERR first and waits until they are flushed
 * @VIRTIO_IB_DEVICE_EVENTS: event virtqueues, &struct virtio_rdma_event, and CQs with
 *	a control block, &struct virtio_rdma_cq_control
 * @VIRTIO_IB_DEVICE_DIRECT: queues in memory that CREATE_CQ and CREATE_QP name, and
 *	doorbell pages: ALLOC_DOORBELL, FREE_DOORBELL.  Only with
 *	%VIRTIO_IB_DEVICE_EVENTS
 * @VIRTIO_IB_DEVICE_ATOMIC: %VIRTIO_IB_WR_CMP_SWAP, %VIRTIO_IB_WR_FETCH_ADD,
 *	%VIRTIO_IB_ACCESS_REMOTE_ATOMIC
 * @VIRTIO_IB_DEVICE_ATOMIC_WRITE: %VIRTIO_IB_WR_ATOMIC_WRITE
 * @VIRTIO_IB_DEVICE_SRQ: shared receive queues: CREATE_SRQ, MODIFY_SRQ, QUERY_SRQ,
 *	DESTROY_SRQ, %VIRTIO_RDMA_QP_SRQ.  Only with %VIRTIO_IB_DEVICE_DIRECT
 * @VIRTIO_IB_DEVICE_QP_EVENTS: %VIRTIO_RDMA_EVENT_QP_REQ_ERR and the events behind it.
 *	Only with %VIRTIO_IB_DEVICE_EVENTS
 * @VIRTIO_IB_DEVICE_REREG_MR: REREG_MR
 * @VIRTIO_IB_DEVICE_ZERO_BASED: %VIRTIO_IB_ACCESS_ZERO_BASED
 * @VIRTIO_IB_DEVICE_MEM_WINDOW: memory windows: ALLOC_MW, %VIRTIO_IB_WR_BIND_MW,
 *	%VIRTIO_IB_ACCESS_MW_BIND; %VIRTIO_IB_WR_LOCAL_INV and %VIRTIO_IB_WR_SEND_WITH_INV
 *	for all QPs
 * @VIRTIO_IB_DEVICE_MR_PAGE_SHIFT: pages of all sizes of
 *	&virtio_rdma_ack_query_device.page_size_cap:
 *	&virtio_rdma_cmd_reg_user_mr.page_shift
 * @VIRTIO_IB_DEVICE_MR_INDIRECT: lists of pages outside of the command:
 *	&virtio_rdma_cmd_reg_user_mr.levels
 * @VIRTIO_IB_DEVICE_SRQ_RESIZE: RESIZE_SRQ.  Only with %VIRTIO_IB_DEVICE_SRQ
 * @VIRTIO_IB_DEVICE_XRC: extended reliable connections: CREATE_XRCD, DESTROY_XRCD,
 *	CREATE_XRC_SRQ, %VIRTIO_IB_QPT_XRC_INI, %VIRTIO_IB_QPT_XRC_TGT.  Only with
 *	%VIRTIO_IB_DEVICE_SRQ
 * @VIRTIO_IB_DEVICE_DATA_IN_ORDER: the bytes of a message become visible in the order in
 *	which they stand in it, so that a program may poll its last byte
 * @VIRTIO_IB_DEVICE_RAW_PACKET: %VIRTIO_IB_QPT_RAW_PACKET.  Only with
 *	%VIRTIO_IB_DEVICE_DIRECT
 * @VIRTIO_IB_DEVICE_FLOW: flow rules: CREATE_FLOW, DESTROY_FLOW and
 *	&virtio_rdma_ack_query_device.max_flow.  Only with %VIRTIO_IB_DEVICE_RAW_PACKET
 * @VIRTIO_IB_DEVICE_RSS: frames are spread over work queues: %VIRTIO_IB_QPT_WQ,
 *	%VIRTIO_IB_QPT_RX_HASH, CREATE_WQ_TABLE, DESTROY_WQ_TABLE, CREATE_RX_HASH_QP,
 *	%VIRTIO_RDMA_EVENT_WQ_FATAL, &virtio_rdma_ack_query_device.max_wq_tables and
 *	&virtio_rdma_ack_query_device.max_wq_table_size.  Only with %VIRTIO_IB_DEVICE_FLOW
 * @VIRTIO_IB_DEVICE_CQ_MODERATE: events of CQs wait for more completions: MODIFY_CQ.  Only
 *	with %VIRTIO_IB_DEVICE_EVENTS
 * @VIRTIO_IB_DEVICE_NVMF: the device carries out commands of NVMe over Fabrics that QPs
 *	receive: QUERY_NVMF and those behind it, %VIRTIO_RDMA_EVENT_NVME_PCI_ERR,
 *	%VIRTIO_RDMA_EVENT_NVME_TIMEOUT.  Only with %VIRTIO_IB_DEVICE_SRQ
 * @VIRTIO_IB_DEVICE_RAW_CSUM: checksums of the frames of RAW_PACKET QPs:
 *	%VIRTIO_IB_SEND_IP_CSUM, %VIRTIO_IB_WC_IP_CSUM_OK.  Only with
 *	%VIRTIO_IB_DEVICE_RAW_PACKET
 * @VIRTIO_IB_DEVICE_RAW_VLAN: tags are taken out of their frames:
 *	%VIRTIO_IB_QP_CVLAN_STRIP.  Only with %VIRTIO_IB_DEVICE_RAW_PACKET
 * @VIRTIO_IB_DEVICE_RAW_TSO: one request sends many frames of TCP: %VIRTIO_IB_WR_TSO.  Only
 *	with %VIRTIO_IB_DEVICE_RAW_PACKET
 * @VIRTIO_IB_DEVICE_FLOW_COUNT: flow rules count what they take, and put a tag into its
 *	completions: QUERY_FLOW, CREATE_FLOW_LONG.  Only with %VIRTIO_IB_DEVICE_FLOW
 * @VIRTIO_IB_DEVICE_QP_COUNTERS: what a QP alone has counted: QUERY_QP_COUNTERS.  Only with
 *	%VIRTIO_IB_DEVICE_COUNTERS
 * @VIRTIO_IB_DEVICE_CQ_TIMESTAMP: completions have the time at which they were stored:
 *	%VIRTIO_RDMA_CQ_TIMESTAMP, QUERY_CLOCK.  Only with %VIRTIO_IB_DEVICE_DIRECT
 * @VIRTIO_IB_DEVICE_RATE_BURST: MODIFY_QP takes the length of bursts under a rate limit
 *
 * With %VIRTIO_IB_DEVICE_REREG_MR and one of the two there is REREG_MR_LONG.
 *
 * Every extension of this device has its bit here; a device of the RFC offers
 * bit 0 at most.
 */
enum virtio_ib_device_cap {
	VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN		= 1 << 0,
	VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS	= 1 << 1,
	VIRTIO_IB_DEVICE_COUNTERS		= 1 << 2,
	VIRTIO_IB_DEVICE_GID_VLAN		= 1 << 3,
	VIRTIO_IB_DEVICE_CQ_HOLD		= 1 << 4,
	VIRTIO_IB_DEVICE_MCAST			= 1 << 5,
	VIRTIO_IB_DEVICE_FLUSH			= 1 << 6,
	VIRTIO_IB_DEVICE_RESET_SLOTS		= 1 << 7,
	VIRTIO_IB_DEVICE_EVENTS			= 1 << 8,
	VIRTIO_IB_DEVICE_DIRECT			= 1 << 9,
	VIRTIO_IB_DEVICE_ATOMIC			= 1 << 10,
	VIRTIO_IB_DEVICE_ATOMIC_WRITE		= 1 << 11,
	VIRTIO_IB_DEVICE_SRQ			= 1 << 12,
	VIRTIO_IB_DEVICE_QP_EVENTS		= 1 << 13,
	VIRTIO_IB_DEVICE_REREG_MR		= 1 << 14,
	VIRTIO_IB_DEVICE_ZERO_BASED		= 1 << 15,
	VIRTIO_IB_DEVICE_MEM_WINDOW		= 1 << 16,
	VIRTIO_IB_DEVICE_MR_PAGE_SHIFT		= 1 << 17,
	VIRTIO_IB_DEVICE_MR_INDIRECT		= 1 << 18,
	VIRTIO_IB_DEVICE_SRQ_RESIZE		= 1 << 19,
	VIRTIO_IB_DEVICE_XRC			= 1 << 20,
	VIRTIO_IB_DEVICE_DATA_IN_ORDER		= 1 << 21,
	VIRTIO_IB_DEVICE_RAW_PACKET		= 1 << 22,
	VIRTIO_IB_DEVICE_FLOW			= 1 << 23,
	VIRTIO_IB_DEVICE_RSS			= 1 << 24,
	VIRTIO_IB_DEVICE_CQ_MODERATE		= 1 << 25,
	VIRTIO_IB_DEVICE_NVMF			= 1 << 26,
	VIRTIO_IB_DEVICE_RAW_CSUM		= 1 << 27,
	VIRTIO_IB_DEVICE_RAW_VLAN		= 1 << 28,
	VIRTIO_IB_DEVICE_RAW_TSO		= 1 << 29,
	VIRTIO_IB_DEVICE_FLOW_COUNT		= 1 << 30,
	VIRTIO_IB_DEVICE_QP_COUNTERS		= 1U << 31,
	VIRTIO_IB_DEVICE_CQ_TIMESTAMP		= 1ULL << 32,
	VIRTIO_IB_DEVICE_RATE_BURST		= 1ULL << 33,
};

/**
 * struct virtio_rdma_ack_query_device - response to QUERY_DEVICE (no request)
 * @device_cap_flags: &enum virtio_ib_device_cap
 * @max_mr_size: largest memory region, bytes
 * @page_size_cap: page sizes that REG_USER_MR takes, a bit each (bit 12 = 4 KiB)
 * @hw_ver: hardware version, for people to read
 * @max_qp_wr: work requests that one send or receive queue holds; never more
 *	than the size of its virtqueue
 * @max_send_sge: scatter/gather elements of a send request
 * @max_recv_sge: scatter/gather elements of a receive request
 * @max_sge_rd: scatter/gather elements of an RDMA READ request
 * @max_cqe: completions that one CQ holds; never more than its virtqueue's size,
 *	but with %VIRTIO_IB_DEVICE_CQ_HOLD
 * @max_mr: number of memory regions
 * @max_pd: number of protection domains
 * @max_qp_rd_atom: RDMA READs and atomic operations that a QP serves at a time as
 *	responder
 * @max_qp_init_rd_atom: those that a QP has outstanding as requester
 * @max_ah: number of address handles
 * @local_ca_ack_delay: 4.096 µs * 2^n, the time until the device answers
 * @padding: zero
 * @max_fast_reg_pages: pages that a memory region of ALLOC_MR takes at most;
 *	zero without %VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS
 * @max_mcast_grp: multicast groups that QPs are attached to at a time; zero
 *	without %VIRTIO_IB_DEVICE_MCAST
 * @max_mcast_qp_attach: QPs attached to one of them; zero without it
 * @max_direct_qp: QPs in direct form; this and the following are zero without
 *	%VIRTIO_IB_DEVICE_DIRECT
 * @max_direct_cq: direct CQs
 * @max_direct_wr: requests that a send or receive ring of them holds, a power of two
 * @max_direct_cqe: completions that a direct CQ holds, a power of two
 * @max_doorbells: doorbell pages
 * @max_srq: shared receive queues; zero without %VIRTIO_IB_DEVICE_SRQ.  Their requests
 *	have up to @max_recv_sge elements, and a ring holds up to @max_direct_wr
 * @max_xrcd: XRC domains; zero without %VIRTIO_IB_DEVICE_XRC
 * @max_flow: flow rules; zero without %VIRTIO_IB_DEVICE_FLOW
 * @reserved: zero
 * @max_wq_tables: indirection tables; this and the next one are zero without
 *	%VIRTIO_IB_DEVICE_RSS
 * @max_wq_table_size: work queues that one of them names, a power of two
 */
struct virtio_rdma_ack_query_device {
	__le64 device_cap_flags;
	__le64 max_mr_size;
	__le64 page_size_cap;
	__le32 hw_ver;
	__le32 max_qp_wr;
	__le32 max_send_sge;
	__le32 max_recv_sge;
	__le32 max_sge_rd;
	__le32 max_cqe;
	__le32 max_mr;
	__le32 max_pd;
	__le32 max_qp_rd_atom;
	__le32 max_qp_init_rd_atom;
	__le32 max_ah;
	__u8 local_ca_ack_delay;
	__u8 padding[3];
	__le32 max_fast_reg_pages;
	__le32 max_mcast_grp;
	__le32 max_mcast_qp_attach;
	__le32 max_direct_qp;
	__le32 max_direct_cq;
	__le32 max_direct_wr;
	__le32 max_direct_cqe;
	__le32 max_doorbells;
	__le32 max_srq;
	__le32 max_xrcd;
	__le32 max_flow;
	__le32 reserved;
	__le32 max_wq_tables;
	__le32 max_wq_table_size;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_device, 128);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, hw_ver, 24);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, local_ca_ack_delay, 68);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, max_fast_reg_pages, 72);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, max_mcast_grp, 76);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, max_direct_qp, 84);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, max_srq, 104);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, max_xrcd, 108);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, max_flow, 112);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_device, max_wq_tables, 120);

/**
 * struct virtio_rdma_ack_query_port - response to QUERY_PORT (no request)
 * @gid_tbl_len: number of entries of the GID table
 * @max_msg_sz: largest message, bytes
 * @reserved: zero
 */
struct virtio_rdma_ack_query_port {
	__le32 gid_tbl_len;
	__le32 max_msg_sz;
	__le32 reserved[6];
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_port, 32);

/**
 * struct virtio_rdma_cmd_create_cq - request of CREATE_CQ
 * @cqe: completions that the CQ shall hold
 *
 * The driver makes as many slots available, or as many as the virtqueue takes,
 * before a QP completes to the CQ.  With %VIRTIO_IB_DEVICE_CQ_HOLD any CQ holds
 * &virtio_rdma_ack_query_device.max_cqe completions, whatever @cqe is.
 */
struct virtio_rdma_cmd_create_cq {
	__le32 cqe;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_cq, 4);

/**
 * struct virtio_rdma_ack_create_cq - response to CREATE_CQ
 * @cqn: the CQ and, by it, its virtqueue
 */
struct virtio_rdma_ack_create_cq {
	__le32 cqn;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_cq, 4);

/**
 * struct virtio_rdma_cmd_destroy_cq - request of DESTROY_CQ (no response)
 * @cqn: a CQ that no QP is associated with
 */
struct virtio_rdma_cmd_destroy_cq {
	__le32 cqn;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_cq, 4);

/**
 * struct virtio_rdma_ack_create_pd - response to CREATE_PD (no request)
 * @pdn: handle of the protection domain
 */
struct virtio_rdma_ack_create_pd {
	__le32 pdn;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_pd, 4);

/**
 * struct virtio_rdma_cmd_destroy_pd - request of DESTROY_PD (no response)
 * @pdn: a protection domain without QPs, MRs and AHs
 */
struct virtio_rdma_cmd_destroy_pd {
	__le32 pdn;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_pd, 4);

/**
 * enum virtio_ib_access_flags - rights of a memory region and of a QP
 * @VIRTIO_IB_ACCESS_LOCAL_WRITE: the device may write to it for its own QPs
 * @VIRTIO_IB_ACCESS_REMOTE_WRITE: a peer may write to it
 * @VIRTIO_IB_ACCESS_REMOTE_READ: a peer may read from it
 * @VIRTIO_IB_ACCESS_FLUSH_GLOBAL: a peer may have data made visible
 * @VIRTIO_IB_ACCESS_FLUSH_PERSISTENT: a peer may have data made persistent; a
 *	device refuses it of a memory region that is not persistent memory
 * @VIRTIO_IB_ACCESS_REMOTE_ATOMIC: a peer may change it by CMP_SWAP and FETCH_ADD; of
 *	a memory region only with %VIRTIO_IB_ACCESS_LOCAL_WRITE
 * @VIRTIO_IB_ACCESS_ZERO_BASED: no right, and of REG_USER_MR and REREG_MR only: work
 *	requests use address 0 for the first byte
 * @VIRTIO_IB_ACCESS_MW_BIND: memory windows may be bound to it; likewise
 *
 * Those to flush are there with %VIRTIO_IB_DEVICE_FLUSH, that to do atomics with
 * %VIRTIO_IB_DEVICE_ATOMIC, the last two with %VIRTIO_IB_DEVICE_ZERO_BASED and
 * %VIRTIO_IB_DEVICE_MEM_WINDOW.
 * Reading for a QP of the same protection domain is always granted.
 */
enum virtio_ib_access_flags {
	VIRTIO_IB_ACCESS_LOCAL_WRITE		= 1 << 0,
	VIRTIO_IB_ACCESS_REMOTE_WRITE		= 1 << 1,
	VIRTIO_IB_ACCESS_REMOTE_READ		= 1 << 2,
	VIRTIO_IB_ACCESS_FLUSH_GLOBAL		= 1 << 3,
	VIRTIO_IB_ACCESS_FLUSH_PERSISTENT	= 1 << 4,
	VIRTIO_IB_ACCESS_REMOTE_ATOMIC		= 1 << 5,
	VIRTIO_IB_ACCESS_ZERO_BASED		= 1 << 6,
	VIRTIO_IB_ACCESS_MW_BIND		= 1 << 7,
};

/**
 * struct virtio_rdma_cmd_get_dma_mr - request of GET_DMA_MR
 * @pdn: protection domain
 * @access_flags: &enum virtio_ib_access_flags
 *
 * The region is all memory that the device reaches, at its device addresses.
 * For consumers inside the kernel only.
 */
struct virtio_rdma_cmd_get_dma_mr {
	__le32 pdn;
	__le32 access_flags;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_get_dma_mr, 8);

/**
 * struct virtio_rdma_ack_mr - response to GET_DMA_MR, REG_USER_MR, ALLOC_MR and ALLOC_MW
 * @mrn: handle of the memory region
 * @lkey: key for scatter/gather elements
 * @rkey: key for the peer, equal to @lkey in a response to ALLOC_MR
 *
 * A registration by work request, of a region of ALLOC_MR, changes the lower
 * %VIRTIO_RDMA_KEY_TAG_BITS bits of the keys to whatever the driver chose and
 * leaves the others as they are.
 */
struct virtio_rdma_ack_mr {
	__le32 mrn;
	__le32 lkey;
	__le32 rkey;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_mr, 12);

/**
 * struct virtio_rdma_cmd_reg_user_mr - request of REG_USER_MR
 * @pdn: protection domain
 * @access_flags: &enum virtio_ib_access_flags
 * @virt_addr: address that work requests use for the first byte, whose offset in its
 *	page is that of this address; with %VIRTIO_IB_ACCESS_ZERO_BASED only the offset
 * @length: bytes
 * @npages: number of pages; they cover [virt_addr, virt_addr + length) exactly
 * @page_shift: log2 of the bytes of a page, 0 for %VIRTIO_RDMA_MR_PAGE_SHIFT; with
 *	%VIRTIO_IB_DEVICE_MR_PAGE_SHIFT, else zero and not looked at
 * @levels: 0: @pages is the list.  1: the list lies in pages of 4096 bytes, and @pages
 *	has the device address of each of those; with %VIRTIO_IB_DEVICE_MR_INDIRECT, else
 *	zero and not looked at
 * @padding: zero
 * @pages: device address of each page, which is aligned to its size
 */
struct virtio_rdma_cmd_reg_user_mr {
	__le32 pdn;
	__le32 access_flags;
	__le64 virt_addr;
	__le64 length;
	__le32 npages;
	__u8 page_shift;
	__u8 levels;
	__le16 padding;
	__le64 pages[];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_reg_user_mr, 32);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_reg_user_mr, page_shift, 28);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_reg_user_mr, pages, 32);

#define VIRTIO_RDMA_MR_PAGE_SHIFT	12

/* Addresses in a page of a list of &virtio_rdma_cmd_reg_user_mr.levels 1. */
#define VIRTIO_RDMA_MR_LIST_PAGE	512

/**
 * struct virtio_rdma_cmd_rereg_mr - request of REREG_MR (no response)
 * @pdn: protection domain that the region is in from now on
 * @access_flags: its rights from now on
 * @virt_addr: as in &virtio_rdma_cmd_reg_user_mr; this and @length are not looked at
 *	if @npages is 0
 * @length: bytes
 * @npages: number of pages that replace those of the region, or 0: they stay
 * @mrn: a region of REG_USER_MR; its handle and its keys stay
 * @pages: device address of each page
 */
struct virtio_rdma_cmd_rereg_mr {
	__le32 pdn;
	__le32 access_flags;
	__le64 virt_addr;
	__le64 length;
	__le32 npages;
	__le32 mrn;
	__le64 pages[];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_rereg_mr, 32);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_rereg_mr, mrn, 28);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_rereg_mr, pages, 32);

/**
 * struct virtio_rdma_cmd_rereg_mr_long - request of REREG_MR_LONG (no response)
 * @pdn: as in REREG_MR, like the following
 * @access_flags: its rights from now on
 * @virt_addr: this and @length, @page_shift and @levels are not looked at if @npages is 0
 * @length: bytes
 * @npages: number of pages, or 0: those of the region stay
 * @mrn: the region
 * @page_shift: as in &virtio_rdma_cmd_reg_user_mr, like the following
 * @levels: where the list is
 * @padding: zero
 * @pages: the list, or where it is
 */
struct virtio_rdma_cmd_rereg_mr_long {
	__le32 pdn;
	__le32 access_flags;
	__le64 virt_addr;
	__le64 length;
	__le32 npages;
	__le32 mrn;
	__u8 page_shift;
	__u8 levels;
	__u8 padding[6];
	__le64 pages[];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_rereg_mr_long, 40);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_rereg_mr_long, mrn, 28);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_rereg_mr_long, page_shift, 32);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_rereg_mr_long, pages, 40);

/**
 * enum virtio_ib_mw_type - type of a memory window
 * @VIRTIO_IB_MW_TYPE_1: all QPs of its protection domain may use and bind it
 * @VIRTIO_IB_MW_TYPE_2: the QP alone that it was bound by may use it
 */
enum virtio_ib_mw_type {
	VIRTIO_IB_MW_TYPE_1			= 1,
	VIRTIO_IB_MW_TYPE_2			= 2,
};

/**
 * struct virtio_rdma_cmd_alloc_mw - request of ALLOC_MW
 * @pdn: protection domain
 * @type: &enum virtio_ib_mw_type
 *
 * A window counts as a memory region, and DEREG_MR destroys it.  No access by its rkey
 * succeeds before a request %VIRTIO_IB_WR_BIND_MW; it has no lkey.
 */
struct virtio_rdma_cmd_alloc_mw {
	__le32 pdn;
	__le32 type;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_alloc_mw, 8);

/**
 * struct virtio_rdma_cmd_dereg_mr - request of DEREG_MR (no response)
 * @mrn: handle of the memory region or memory window
 *
 * It fails if windows are bound to the region.
 */
struct virtio_rdma_cmd_dereg_mr {
	__le32 mrn;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_dereg_mr, 4);

/**
 * struct virtio_rdma_cmd_alloc_mr - request of ALLOC_MR
 * @pdn: protection domain
 * @max_pages: pages that it shall take, 1 … max_fast_reg_pages
 *
 * The region begins invalid: no access by its keys succeeds before a request
 * %VIRTIO_IB_WR_REG_MR gave it pages.  DEREG_MR destroys it in any state.
 * For consumers inside the kernel only.
 */
struct virtio_rdma_cmd_alloc_mr {
	__le32 pdn;
	__le32 max_pages;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_alloc_mr, 8);

#define VIRTIO_RDMA_KEY_TAG_BITS	8

/**
 * struct virtio_rdma_qp_cap - capabilities of a queue pair
 * @max_send_wr: work requests of the send queue
 * @max_recv_wr: work requests of the receive queue
 * @max_send_sge: scatter/gather elements of a send request
 * @max_recv_sge: scatter/gather elements of a receive request
 * @max_inline_data: inline bytes of a send request
 * @padding: zero
 */
struct virtio_rdma_qp_cap {
	__le32 max_send_wr;
	__le32 max_recv_wr;
	__le32 max_send_sge;
	__le32 max_recv_sge;
	__le32 max_inline_data;
	__le32 padding;
};

VNR_ASSERT_SIZE(struct virtio_rdma_qp_cap, 24);

/**
 * enum virtio_ib_qp_type - types of QPs
 * @VIRTIO_IB_QPT_SMI: subnet management, which RoCE has no use for
 * @VIRTIO_IB_QPT_GSI: general services
 * @VIRTIO_IB_QPT_RC: reliable connection
 * @VIRTIO_IB_QPT_UC: unreliable connection
 * @VIRTIO_IB_QPT_UD: unreliable datagram
 * @VIRTIO_IB_QPT_RAW_PACKET: whole Ethernet frames, in direct form only; with
 *	%VIRTIO_IB_DEVICE_RAW_PACKET
 * @VIRTIO_IB_QPT_XRC_INI: sending end of an extended reliable connection, in direct form
 *	without a receive ring; with %VIRTIO_IB_DEVICE_XRC, like the next one
 * @VIRTIO_IB_QPT_XRC_TGT: receiving end, which has neither queues nor CQs nor a
 *	protection domain
 * @VIRTIO_IB_QPT_WQ: a work queue: a receive ring for whole Ethernet frames, in direct form
 *	only; with %VIRTIO_IB_DEVICE_RSS.  It is in RESET, in RTR or in ERR
 * @VIRTIO_IB_QPT_RX_HASH: made by CREATE_RX_HASH_QP: gives each frame to one of the work
 *	queues of a table, and has no queues; likewise.  It is always in RTR
 */
enum virtio_ib_qp_type {
	VIRTIO_IB_QPT_SMI			= 0,
	VIRTIO_IB_QPT_GSI			= 1,
	VIRTIO_IB_QPT_RC			= 2,
	VIRTIO_IB_QPT_UC			= 3,
	VIRTIO_IB_QPT_UD			= 4,
	VIRTIO_IB_QPT_RAW_PACKET		= 8,
	VIRTIO_IB_QPT_XRC_INI			= 9,
	VIRTIO_IB_QPT_XRC_TGT			= 10,
	VIRTIO_IB_QPT_WQ			= 11,
	VIRTIO_IB_QPT_RX_HASH			= 12,
};

/**
 * enum virtio_ib_qp_create_flags - bits of &virtio_rdma_cmd_create_qp.flags
 * @VIRTIO_IB_QP_FAST_REG: send requests may be %VIRTIO_IB_WR_REG_MR and
 *	%VIRTIO_IB_WR_LOCAL_INV
 * @VIRTIO_IB_QP_CVLAN_STRIP: RAW_PACKET, WQ: the 802.1Q tag of a frame that is received goes to
 *	its completion; with %VIRTIO_IB_DEVICE_RAW_VLAN
 *
 * A request %VIRTIO_IB_WR_REG_MR can make any memory of the guest accessible.  So a
 * driver does not set the bit for a QP whose send queue a process can write to.
 */
enum virtio_ib_qp_create_flags {
	VIRTIO_IB_QP_FAST_REG			= 1 << 0,
	VIRTIO_IB_QP_CVLAN_STRIP		= 1 << 1,
};

/**
 * struct virtio_rdma_cmd_create_qp - request of CREATE_QP
 * @pdn: protection domain
 * @qp_type: &enum virtio_ib_qp_type
 * @sq_sig_all: if not 0, each send request leaves a completion
 * @flags: &enum virtio_ib_qp_create_flags; zero, and not looked at, without
 *	%VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS and %VIRTIO_IB_DEVICE_RAW_VLAN
 * @padding: zero
 * @send_cqn: CQ of the send queue; of a work queue zero, and not looked at
 * @recv_cqn: CQ of the receive queue; of an XRC_INI QP zero, and not looked at
 * @cap: capabilities
 * @reserved: zero
 *
 * Of an XRC_TGT QP only @qp_type is looked at, and all else is zero.
 */
struct virtio_rdma_cmd_create_qp {
	__le32 pdn;
	__u8 qp_type;
	__u8 sq_sig_all;
	__u8 flags;
	__u8 padding;
	__le32 send_cqn;
	__le32 recv_cqn;
	struct virtio_rdma_qp_cap cap;
	__le32 reserved[4];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_qp, 56);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_create_qp, flags, 6);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_create_qp, cap, 16);

/**
 * struct virtio_rdma_ack_create_qp - response to CREATE_QP
 * @qpn: the QP, on the wire and, by it, its two virtqueues
 */
struct virtio_rdma_ack_create_qp {
	__le32 qpn;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_qp, 4);

/**
 * struct virtio_rdma_global_route - Global Routing Header attributes
 * @dgid: destination GID
 * @flow_label: flow label
 * @sgid_index: index of the source GID
 * @hop_limit: hop limit
 * @traffic_class: traffic class
 * @padding: zero
 */
struct virtio_rdma_global_route {
	__u8 dgid[16];
	__le32 flow_label;
	__u8 sgid_index;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 padding;
};

VNR_ASSERT_SIZE(struct virtio_rdma_global_route, 24);

/**
 * struct virtio_rdma_ah_attr - address vector
 * @grh: Global Routing Header attributes
 * @dmac: MAC address of the destination or of the next hop
 * @sl: service level, 0 to 15; the lower three bits are the 802.1p priority of packets
 *	that have a VLAN tag
 * @reserved: zero
 */
struct virtio_rdma_ah_attr {
	struct virtio_rdma_global_route grh;
	__u8 dmac[6];
	__u8 sl;
	__u8 reserved[9];
};

VNR_ASSERT_SIZE(struct virtio_rdma_ah_attr, 40);
VNR_ASSERT_OFFSET(struct virtio_rdma_ah_attr, sl, 30);

/*
 * Not Linux's values: the RFC has neither P_Key index nor port, so that a driver
 * translates bit by bit.
 */
enum virtio_ib_qp_attr_mask {
	VIRTIO_IB_QP_STATE			= 1 << 0,
	VIRTIO_IB_QP_CUR_STATE			= 1 << 1,
	VIRTIO_IB_QP_ACCESS_FLAGS		= 1 << 2,
	VIRTIO_IB_QP_QKEY			= 1 << 3,
	VIRTIO_IB_QP_AV				= 1 << 4,
	VIRTIO_IB_QP_PATH_MTU			= 1 << 5,
	VIRTIO_IB_QP_TIMEOUT			= 1 << 6,
	VIRTIO_IB_QP_RETRY_CNT			= 1 << 7,
	VIRTIO_IB_QP_RNR_RETRY			= 1 << 8,
	VIRTIO_IB_QP_RQ_PSN			= 1 << 9,
	VIRTIO_IB_QP_MAX_QP_RD_ATOMIC		= 1 << 10,
	VIRTIO_IB_QP_MIN_RNR_TIMER		= 1 << 11,
	VIRTIO_IB_QP_SQ_PSN			= 1 << 12,
	VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC		= 1 << 13,
	VIRTIO_IB_QP_CAP			= 1 << 14,
	VIRTIO_IB_QP_DEST_QPN			= 1 << 15,
	VIRTIO_IB_QP_RATE_LIMIT			= 1 << 16,
};

enum virtio_ib_qp_state {
	VIRTIO_IB_QPS_RESET			= 0,
	VIRTIO_IB_QPS_INIT			= 1,
	VIRTIO_IB_QPS_RTR			= 2,
	VIRTIO_IB_QPS_RTS			= 3,
	VIRTIO_IB_QPS_SQD			= 4,
	VIRTIO_IB_QPS_SQE			= 5,
	VIRTIO_IB_QPS_ERR			= 6,
};

enum virtio_ib_mtu {
	VIRTIO_IB_MTU_256			= 1,
	VIRTIO_IB_MTU_512			= 2,
	VIRTIO_IB_MTU_1024			= 3,
	VIRTIO_IB_MTU_2048			= 4,
	VIRTIO_IB_MTU_4096			= 5,
};

/**
 * struct virtio_rdma_cmd_modify_qp - request of MODIFY_QP (no response)
 * @qpn: the QP
 * @attr_mask: which of the following are given, &enum virtio_ib_qp_attr_mask
 * @qp_state: state to go to, &enum virtio_ib_qp_state
 * @cur_qp_state: state that the driver expects the QP to be in
 * @path_mtu: &enum virtio_ib_mtu
 * @max_rd_atomic: RDMA READs outstanding as requester
 * @max_dest_rd_atomic: RDMA READs served at a time as responder
 * @min_rnr_timer: code of the delay that an RNR NAK asks for
 * @timeout: ACK timeout, 4.096 µs * 2^n, 0 = for ever
 * @retry_cnt: retries before RETRY_EXC_ERR
 * @rnr_retry: RNR retries before RNR_RETRY_EXC_ERR, 7 = without end
 * @padding: zero
 * @qkey: Q_Key (UD)
 * @rq_psn: PSN that the first received packet has (RC, UC)
 * @sq_psn: PSN of the first packet to send
 * @dest_qp_num: QPN of the peer (RC, UC)
 * @qp_access_flags: what the peer may do, &enum virtio_ib_access_flags
 * @rate_limit: packet pacing, kbit/s
 * @cap: capabilities
 * @ah_attr: address vector of the peer (RC, UC); the source GID is taken from the
 *	GID table now, and a later change of the table does not touch the QP
 * @max_burst: given with @rate_limit: bytes that may leave at once after a pause, 0 = what
 *	the device finds right.  Not 0 only with %VIRTIO_IB_DEVICE_RATE_BURST
 * @reserved: zero
 *
 * A QP that goes to RESET gives its pending slots back used, without completions,
 * with %VIRTIO_IB_DEVICE_RESET_SLOTS; the indices of its virtqueues go on.
 */
struct virtio_rdma_cmd_modify_qp {
	__le32 qpn;
	__le32 attr_mask;
	__u8 qp_state;
	__u8 cur_qp_state;
	__u8 path_mtu;
	__u8 max_rd_atomic;
	__u8 max_dest_rd_atomic;
	__u8 min_rnr_timer;
	__u8 timeout;
	__u8 retry_cnt;
	__u8 rnr_retry;
	__u8 padding[7];
	__le32 qkey;
	__le32 rq_psn;
	__le32 sq_psn;
	__le32 dest_qp_num;
	__le32 qp_access_flags;
	__le32 rate_limit;
	struct virtio_rdma_qp_cap cap;
	struct virtio_rdma_ah_attr ah_attr;
	__le32 max_burst;
	__le32 reserved[3];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_modify_qp, 128);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_modify_qp, qkey, 24);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_modify_qp, cap, 48);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_modify_qp, ah_attr, 72);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_modify_qp, max_burst, 112);

/**
 * struct virtio_rdma_cmd_query_qp - request of QUERY_QP
 * @qpn: the QP
 * @attr_mask: what is asked for, &enum virtio_ib_qp_attr_mask; the device may
 *	give more
 */
struct virtio_rdma_cmd_query_qp {
	__le32 qpn;
	__le32 attr_mask;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_query_qp, 8);

/**
 * struct virtio_rdma_ack_query_qp - response to QUERY_QP
 * @qp_state: present state
 * @path_mtu: as in MODIFY_QP
 * @sq_draining: 1 while a QP in SQD still drains
 * @max_rd_atomic: as in MODIFY_QP
 * @max_dest_rd_atomic: as in MODIFY_QP
 * @min_rnr_timer: as in MODIFY_QP
 * @timeout: as in MODIFY_QP
 * @retry_cnt: as in MODIFY_QP
 * @rnr_retry: as in MODIFY_QP
 * @padding: zero
 * @qkey: as in MODIFY_QP
 * @rq_psn: PSN that the next received packet has
 * @sq_psn: PSN of the next packet to send
 * @dest_qp_num: as in MODIFY_QP
 * @qp_access_flags: as in MODIFY_QP
 * @rate_limit: as in MODIFY_QP
 * @cap: as in CREATE_QP
 * @ah_attr: as in MODIFY_QP
 * @max_burst: as in MODIFY_QP
 * @reserved: zero
 */
struct virtio_rdma_ack_query_qp {
	__u8 qp_state;
	__u8 path_mtu;
	__u8 sq_draining;
	__u8 max_rd_atomic;
	__u8 max_dest_rd_atomic;
	__u8 min_rnr_timer;
	__u8 timeout;
	__u8 retry_cnt;
	__u8 rnr_retry;
	__u8 padding[7];
	__le32 qkey;
	__le32 rq_psn;
	__le32 sq_psn;
	__le32 dest_qp_num;
	__le32 qp_access_flags;
	__le32 rate_limit;
	struct virtio_rdma_qp_cap cap;
	struct virtio_rdma_ah_attr ah_attr;
	__le32 max_burst;
	__le32 reserved[3];
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_qp, 120);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_qp, qkey, 16);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_qp, cap, 40);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_qp, ah_attr, 64);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_qp, max_burst, 104);

/**
 * struct virtio_rdma_cmd_destroy_qp - request of DESTROY_QP (no response)
 * @qpn: the QP
 *
 * Requests still in its queues are dropped without completions.  After the
 * answer the device holds no reference to them, and both sides take all indices
 * of the two virtqueues as 0.
 */
struct virtio_rdma_cmd_destroy_qp {
	__le32 qpn;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_qp, 4);

/**
 * struct virtio_rdma_cmd_create_ah - request of CREATE_AH
 * @pdn: protection domain
 * @padding: zero
 * @ah_attr: address vector
 */
struct virtio_rdma_cmd_create_ah {
	__le32 pdn;
	__le32 padding;
	struct virtio_rdma_ah_attr ah_attr;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_ah, 48);

/**
 * struct virtio_rdma_ack_create_ah - response to CREATE_AH
 * @ah: address handle
 */
struct virtio_rdma_ack_create_ah {
	__le32 ah;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_ah, 4);

/**
 * struct virtio_rdma_cmd_destroy_ah - request of DESTROY_AH (no response)
 * @pdn: its protection domain
 * @ah: address handle
 */
struct virtio_rdma_cmd_destroy_ah {
	__le32 pdn;
	__le32 ah;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_ah, 8);

/**
 * struct virtio_rdma_cmd_add_gid - request of ADD_GID (no response)
 * @index: entry of the GID table
 * @vlan: %VIRTIO_RDMA_GID_TAGGED and the VLAN's number if packets of this GID
 *	have a tag, else zero; zero, and not looked at, without
 *	%VIRTIO_IB_DEVICE_GID_VLAN
 * @padding: zero
 * @gid: the GID; an IPv4 address is mapped into IPv6
 */
struct virtio_rdma_cmd_add_gid {
	__le16 index;
	__le16 vlan;
	__le16 padding[2];
	__u8 gid[16];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_add_gid, 24);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_add_gid, gid, 8);

#define VIRTIO_RDMA_GID_TAGGED		0x8000
#define VIRTIO_RDMA_GID_VLAN_MASK	0x0fff

/**
 * struct virtio_rdma_cmd_del_gid - request of DEL_GID (no response)
 * @index: entry of the GID table
 */
struct virtio_rdma_cmd_del_gid {
	__le16 index;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_del_gid, 2);

/**
 * enum virtio_ib_notify_flags - what raises the notification asked for
 * @VIRTIO_IB_NOTIFY_SOLICITED: a receive completion of a solicited send, or any
 *	completion in error
 * @VIRTIO_IB_NOTIFY_NEXT_COMPLETION: any completion
 */
enum virtio_ib_notify_flags {
	VIRTIO_IB_NOTIFY_SOLICITED		= 1 << 0,
	VIRTIO_IB_NOTIFY_NEXT_COMPLETION	= 1 << 1,
};

/**
 * struct virtio_rdma_cmd_req_notify - request of REQ_NOTIFY_CQ (no response)
 * @cqn: the CQ
 * @flags: &enum virtio_ib_notify_flags
 *
 * One interrupt follows for each command, for a completion added after the
 * device carried it out.
 */
struct virtio_rdma_cmd_req_notify {
	__le32 cqn;
	__le32 flags;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_req_notify, 8);

/**
 * enum virtio_rdma_counter - what is counted, since the device was made
 * @VIRTIO_RDMA_CNT_SENT_PKTS: packets sent; between guests of one host a packet
 *	may be longer than the path MTU
 * @VIRTIO_RDMA_CNT_RCVD_PKTS: packets received, good ones
 * @VIRTIO_RDMA_CNT_SENT_BYTES: their payload
 * @VIRTIO_RDMA_CNT_RCVD_BYTES: their payload
 * @VIRTIO_RDMA_CNT_SENDS: requests SEND that were sent to their end
 * @VIRTIO_RDMA_CNT_WRITES: the same of RDMA WRITE
 * @VIRTIO_RDMA_CNT_READS: the same of RDMA READ
 * @VIRTIO_RDMA_CNT_RECVS: receive requests completed with success
 * @VIRTIO_RDMA_CNT_DUP_REQUEST: requests that had been carried out before
 * @VIRTIO_RDMA_CNT_OUT_OF_SEQ: requests ahead of the PSN expected
 * @VIRTIO_RDMA_CNT_RCVD_RNR: RNR NAKs received
 * @VIRTIO_RDMA_CNT_SENT_RNR: RNR NAKs sent
 * @VIRTIO_RDMA_CNT_RCVD_SEQ_NAK: NAKs received that report a sequence error
 * @VIRTIO_RDMA_CNT_ACK_DEFERRED: requests whose ACK waited for one to come
 * @VIRTIO_RDMA_CNT_RETRY: times that a requester went back to send again
 * @VIRTIO_RDMA_CNT_TIMEOUT: times that it did because no ACK had come
 * @VIRTIO_RDMA_CNT_RETRY_EXCEEDED: requests that failed with RETRY_EXC_ERR
 * @VIRTIO_RDMA_CNT_RNR_EXCEEDED: requests that failed with RNR_RETRY_EXC_ERR
 * @VIRTIO_RDMA_CNT_SEND_ERR: send requests completed with another error, a flush
 *	being none
 * @VIRTIO_RDMA_CNT_RECV_ERR: the same of receive requests
 * @VIRTIO_RDMA_CNT_REFUSED: requests of a peer answered with a NAK that ends the
 *	connection
 * @VIRTIO_RDMA_CNT_RCVD_DROPPED: packets received that no QP wanted: none of the
 *	number, in no state to, of another peer, wrong Q_Key, no receive request
 * @VIRTIO_RDMA_CNT_RCVD_MALFORMED: packets received whose headers are wrong
 * @VIRTIO_RDMA_CNT_RCVD_ICRC_ERR: packets received whose ICRC is wrong
 * @VIRTIO_RDMA_CNT_SENT_DROPPED: packets that the network did not take, or that
 *	had no way to their destination
 * @VIRTIO_RDMA_CNT_RCVD_ECN: packets received that met congestion
 * @VIRTIO_RDMA_CNT_SENT_CNP: congestion notification packets sent
 * @VIRTIO_RDMA_CNT_RCVD_CNP: congestion notification packets received
 */
enum virtio_rdma_counter {
	VIRTIO_RDMA_CNT_SENT_PKTS		= 0,
	VIRTIO_RDMA_CNT_RCVD_PKTS		= 1,
	VIRTIO_RDMA_CNT_SENT_BYTES		= 2,
	VIRTIO_RDMA_CNT_RCVD_BYTES		= 3,
	VIRTIO_RDMA_CNT_SENDS			= 4,
	VIRTIO_RDMA_CNT_WRITES			= 5,
	VIRTIO_RDMA_CNT_READS			= 6,
	VIRTIO_RDMA_CNT_RECVS			= 7,
	VIRTIO_RDMA_CNT_DUP_REQUEST		= 8,
	VIRTIO_RDMA_CNT_OUT_OF_SEQ		= 9,
	VIRTIO_RDMA_CNT_RCVD_RNR		= 10,
	VIRTIO_RDMA_CNT_SENT_RNR		= 11,
	VIRTIO_RDMA_CNT_RCVD_SEQ_NAK		= 12,
	VIRTIO_RDMA_CNT_ACK_DEFERRED		= 13,
	VIRTIO_RDMA_CNT_RETRY			= 14,
	VIRTIO_RDMA_CNT_TIMEOUT			= 15,
	VIRTIO_RDMA_CNT_RETRY_EXCEEDED		= 16,
	VIRTIO_RDMA_CNT_RNR_EXCEEDED		= 17,
	VIRTIO_RDMA_CNT_SEND_ERR		= 18,
	VIRTIO_RDMA_CNT_RECV_ERR		= 19,
	VIRTIO_RDMA_CNT_REFUSED			= 20,
	VIRTIO_RDMA_CNT_RCVD_DROPPED		= 21,
	VIRTIO_RDMA_CNT_RCVD_MALFORMED		= 22,
	VIRTIO_RDMA_CNT_RCVD_ICRC_ERR		= 23,
	VIRTIO_RDMA_CNT_SENT_DROPPED		= 24,
	VIRTIO_RDMA_CNT_RCVD_ECN		= 25,
	VIRTIO_RDMA_CNT_SENT_CNP		= 26,
	VIRTIO_RDMA_CNT_RCVD_CNP		= 27,
	VIRTIO_RDMA_CNT_NUM			= 28,
};

#define VIRTIO_RDMA_CNT_MAX			32

/**
 * struct virtio_rdma_ack_query_counters - response to QUERY_COUNTERS (no request) and
 *	QUERY_QP_COUNTERS
 * @value: by &enum virtio_rdma_counter; zero where the device counts nothing.
 *	They never decrease, and a reset of the function does not clear them
 */
struct virtio_rdma_ack_query_counters {
	__le64 value[VIRTIO_RDMA_CNT_MAX];
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_counters, 256);

/**
 * struct virtio_rdma_cmd_query_qp_counters - request of QUERY_QP_COUNTERS
 * @qpn: a QP
 */
struct virtio_rdma_cmd_query_qp_counters {
	__le32 qpn;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_query_qp_counters, 4);

/**
 * struct virtio_rdma_cmd_mcast - request of ATTACH_MCAST and of DETACH_MCAST (no
 *	response)
 * @qpn: a UD QP
 * @padding: zero
 * @gid: the group: an IPv6 multicast address, or an IPv4 one mapped into IPv6
 *
 * Attaching a QP once more changes nothing; DESTROY_QP detaches it.
 */
struct virtio_rdma_cmd_mcast {
	__le32 qpn;
	__le32 padding;
	__u8 gid[16];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_mcast, 24);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_mcast, gid, 8);

/* Destination QPN of a datagram to a group. */
#define VIRTIO_RDMA_MCAST_QPN			0xffffff

/* ------------------------------------------------------------------------- */
/* Work requests and completions                                             */
/* ------------------------------------------------------------------------- */

/**
 * enum virtio_ib_wr_opcode - what a send request asks for
 * @VIRTIO_IB_WR_RDMA_WRITE: RC, UC
 * @VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM: RC, UC
 * @VIRTIO_IB_WR_SEND: all
 * @VIRTIO_IB_WR_SEND_WITH_IMM: all but RAW_PACKET
 * @VIRTIO_IB_WR_RDMA_READ: RC
 * @VIRTIO_IB_WR_CMP_SWAP: RC: the peer replaces 8 bytes if they are as given; what was
 *	there before comes back
 * @VIRTIO_IB_WR_FETCH_ADD: RC: the peer adds to 8 bytes; likewise
 * @VIRTIO_IB_WR_LOCAL_INV: RC, UC: make a memory region of ALLOC_MR, or a memory window
 *	of type 2, invalid
 * @VIRTIO_IB_WR_SEND_WITH_INV: RC: SEND, after which the receiver makes one of its
 *	memory regions or windows of that kind invalid
 * @VIRTIO_IB_WR_REG_MR: RC, UC: give such a memory region, which is invalid,
 *	pages, rights and a key, and make it valid
 * @VIRTIO_IB_WR_FLUSH: RC: the peer makes what was written to one of its memory
 *	regions visible, or persistent, before this completes
 * @VIRTIO_IB_WR_ATOMIC_WRITE: RC: the peer writes 8 bytes at once
 * @VIRTIO_IB_WR_BIND_MW: RC, UC: let a memory window open a part of a memory region
 * @VIRTIO_IB_WR_TSO: RAW_PACKET: payload of TCP, as frames that all have the headers that the
 *	request has
 *
 * 5 and 6 are there with %VIRTIO_IB_DEVICE_ATOMIC, those from 7 to 9 with
 * %VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS, FLUSH with %VIRTIO_IB_DEVICE_FLUSH,
 * ATOMIC_WRITE with %VIRTIO_IB_DEVICE_ATOMIC_WRITE, BIND_MW, and 7 and 8 for windows, with
 * %VIRTIO_IB_DEVICE_MEM_WINDOW, TSO with %VIRTIO_IB_DEVICE_RAW_TSO.
 */
enum virtio_ib_wr_opcode {
	VIRTIO_IB_WR_RDMA_WRITE			= 0,
	VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM	= 1,
	VIRTIO_IB_WR_SEND			= 2,
	VIRTIO_IB_WR_SEND_WITH_IMM		= 3,
	VIRTIO_IB_WR_RDMA_READ			= 4,
	VIRTIO_IB_WR_CMP_SWAP			= 5,
	VIRTIO_IB_WR_FETCH_ADD			= 6,
	VIRTIO_IB_WR_LOCAL_INV			= 7,
	VIRTIO_IB_WR_SEND_WITH_INV		= 8,
	VIRTIO_IB_WR_REG_MR			= 9,
	VIRTIO_IB_WR_FLUSH			= 10,
	VIRTIO_IB_WR_ATOMIC_WRITE		= 11,
	VIRTIO_IB_WR_BIND_MW			= 12,
	VIRTIO_IB_WR_TSO			= 13,
};

/**
 * enum virtio_ib_flush_type - what FLUSH makes of data, bits
 * @VIRTIO_IB_FLUSH_GLOBAL: visible to all that access the memory
 * @VIRTIO_IB_FLUSH_PERSISTENT: persistent
 */
enum virtio_ib_flush_type {
	VIRTIO_IB_FLUSH_GLOBAL			= 1 << 0,
	VIRTIO_IB_FLUSH_PERSISTENT		= 1 << 1,
};

/**
 * enum virtio_ib_flush_level - of which data FLUSH does so
 * @VIRTIO_IB_FLUSH_RANGE: what was written to a range
 * @VIRTIO_IB_FLUSH_MR: what was written to the memory region, all of it
 */
enum virtio_ib_flush_level {
	VIRTIO_IB_FLUSH_RANGE			= 0,
	VIRTIO_IB_FLUSH_MR			= 1,
};

/*
 * IP_CSUM, with VIRTIO_IB_DEVICE_RAW_CSUM, of RAW_PACKET QPs: the device makes the checksums
 * of IPv4, and of TCP or UDP.
 */
enum virtio_ib_send_flags {
	VIRTIO_IB_SEND_FENCE			= 1 << 0,
	VIRTIO_IB_SEND_SIGNALED			= 1 << 1,
	VIRTIO_IB_SEND_SOLICITED		= 1 << 2,
	VIRTIO_IB_SEND_INLINE			= 1 << 3,
	VIRTIO_IB_SEND_IP_CSUM			= 1 << 4,
};

/**
 * struct virtio_rdma_sge - scatter/gather element
 * @addr: address inside the memory region
 * @length: bytes
 * @lkey: key of the memory region
 */
struct virtio_rdma_sge {
	__le64 addr;
	__le32 length;
	__le32 lkey;
};

VNR_ASSERT_SIZE(struct virtio_rdma_sge, 16);

#define VIRTIO_RDMA_INLINE_SIZE		512

/**
 * struct virtio_rdma_sq_req - request of a send queue (device-readable)
 * @wr_id: handed back in the completion
 * @opcode: &enum virtio_ib_wr_opcode
 * @send_flags: &enum virtio_ib_send_flags
 * @padding: zero
 * @imm_data: immediate data, four bytes in network order
 * @invalidate_rkey: in its place, SEND_WITH_INV: key of the receiver's memory
 *	region; LOCAL_INV: key of the memory region
 * @atomic_rkey: in its place, CMP_SWAP and FETCH_ADD: key of the peer's memory region
 * @rdma: RDMA WRITE and READ, ATOMIC_WRITE
 * @rdma.remote_addr: address inside the peer's memory region
 * @rdma.rkey: key of the peer's memory region
 * @ud: SEND of a UD QP
 * @ud.remote_qpn: QPN of the receiver
 * @ud.remote_qkey: Q_Key of the receiver
 * @ud.ah: address handle
 * @reg: REG_MR
 * @reg.pages: device address of the page list: @reg.npages device addresses of
 *	64 bits, little-endian, of pages of 4096 bytes, aligned to that.  The
 *	device reads it when it carries the request out, once
 * @reg.iova: address that work requests use for the first byte; its offset in
 *	its page is that of the first byte in the first page
 * @reg.length: bytes, not 0
 * @reg.key: new lkey and rkey; but for the lower %VIRTIO_RDMA_KEY_TAG_BITS bits
 *	they are those that ALLOC_MR returned
 * @reg.access: &enum virtio_ib_access_flags
 * @reg.npages: number of pages; they cover [iova, iova + length) exactly
 * @flush: FLUSH
 * @flush.remote_addr: as in @rdma, not looked at for %VIRTIO_IB_FLUSH_MR
 * @flush.rkey: as in @rdma
 * @flush.length: bytes, not looked at for %VIRTIO_IB_FLUSH_MR
 * @flush.type: &enum virtio_ib_flush_type, not 0
 * @flush.level: &enum virtio_ib_flush_level
 * @flush.padding: zero
 * @bind: BIND_MW
 * @bind.addr: address of the first byte inside the memory region
 * @bind.length: bytes; 0, of type 1 only: the window is not bound from now on
 * @bind.mr_key: lkey of the memory region, not looked at without bytes
 * @bind.key: new rkey; but for the lower %VIRTIO_RDMA_KEY_TAG_BITS bits it is that which
 *	ALLOC_MW returned
 * @bind.access: &enum virtio_ib_access_flags; local rights do not matter
 * @bind.padding: zero
 * @atomic: CMP_SWAP and FETCH_ADD
 * @atomic.remote_addr: address inside the peer's memory region, a multiple of 8
 * @atomic.compare_add: CMP_SWAP: what the 8 bytes are to be; FETCH_ADD: what is added
 * @atomic.swap: CMP_SWAP: what replaces them; FETCH_ADD: zero
 * @tso: TSO, only in direct form
 * @tso.mss: bytes of payload that a frame has, but for the last one
 * @tso.header_len: bytes of the headers, %VIRTIO_RDMA_TSO_HEADER at most.  They stand at
 *	&virtio_rdma_swqe.inline_data, and the elements behind them, at a multiple of 16
 * @reserved: zero where none applies
 * @inline_data: payload if VIRTIO_IB_SEND_INLINE is set
 * @num_sge: length of @sg_list if VIRTIO_IB_SEND_INLINE is not set; 0 for
 *	LOCAL_INV, REG_MR, BIND_MW and FLUSH
 * @inline_len: bytes of @inline_data if it is set
 * @reserved2: zero
 * @sg_list: payload
 */
struct virtio_rdma_sq_req {
	__le64 wr_id;
	__u8 opcode;
	__u8 send_flags;
	__le16 padding;
	union {
		__be32 imm_data;
		__le32 invalidate_rkey;
		__le32 atomic_rkey;
	};
	union {
		struct {
			__le64 remote_addr;
			__le32 rkey;
		} rdma;
		struct {
			__le32 remote_qpn;
			__le32 remote_qkey;
			__le32 ah;
		} ud;
		struct {
			__le64 pages;
			__le64 iova;
			__le32 length;
			__le32 key;
			__le32 access;
			__le32 npages;
		} reg;
		struct {
			__le64 addr;
			__le64 length;
			__le32 mr_key;
			__le32 key;
			__le32 access;
			__le32 padding;
		} bind;
		struct {
			__le64 remote_addr;
			__le32 rkey;
			__le32 length;
			__u8 type;
			__u8 level;
			__u8 padding[2];
		} flush;
		struct {
			__le64 remote_addr;
			__le64 compare_add;
			__le64 swap;
		} atomic;
		struct {
			__le16 mss;
			__le16 header_len;
		} tso;
		__le64 reserved[4];
	};
	__u8 inline_data[VIRTIO_RDMA_INLINE_SIZE];
	union {
		__le32 num_sge;
		__le16 inline_len;
	};
	__le32 reserved2[3];
	struct virtio_rdma_sge sg_list[];
};

#define VIRTIO_RDMA_TSO_HEADER		144

/* Payload of a TSO request, and frames that come of it, at most. */
#define VIRTIO_RDMA_TSO_MAX		65280
#define VIRTIO_RDMA_TSO_SEGMENTS	256

VNR_ASSERT_SIZE(struct virtio_rdma_sq_req, 576);
VNR_ASSERT_OFFSET(struct virtio_rdma_sq_req, invalidate_rkey, 12);
VNR_ASSERT_OFFSET(struct virtio_rdma_sq_req, rdma, 16);
VNR_ASSERT_OFFSET(struct virtio_rdma_sq_req, reg.key, 36);
VNR_ASSERT_OFFSET(struct virtio_rdma_sq_req, flush.type, 32);
VNR_ASSERT_OFFSET(struct virtio_rdma_sq_req, atomic.swap, 32);
VNR_ASSERT_OFFSET(struct virtio_rdma_sq_req, inline_data, 48);
VNR_ASSERT_OFFSET(struct virtio_rdma_sq_req, num_sge, 560);
VNR_ASSERT_OFFSET(struct virtio_rdma_sq_req, sg_list, 576);

/**
 * struct virtio_rdma_rq_req - request of a receive queue (device-readable)
 * @wr_id: handed back in the completion
 * @num_sge: length of @sg_list
 * @reserved: zero
 * @sg_list: where the message goes
 */
struct virtio_rdma_rq_req {
	__le64 wr_id;
	__le32 num_sge;
	__le32 reserved[3];
	struct virtio_rdma_sge sg_list[];
};

VNR_ASSERT_SIZE(struct virtio_rdma_rq_req, 24);
VNR_ASSERT_OFFSET(struct virtio_rdma_rq_req, sg_list, 24);

enum virtio_ib_wc_opcode {
	VIRTIO_IB_WC_SEND			= 0,
	VIRTIO_IB_WC_RDMA_WRITE			= 1,
	VIRTIO_IB_WC_RDMA_READ			= 2,
	VIRTIO_IB_WC_RECV			= 3,
	VIRTIO_IB_WC_RECV_RDMA_WITH_IMM		= 4,
	VIRTIO_IB_WC_CMP_SWAP			= 5,
	VIRTIO_IB_WC_FETCH_ADD			= 6,
	VIRTIO_IB_WC_LOCAL_INV			= 7,
	VIRTIO_IB_WC_REG_MR			= 8,
	VIRTIO_IB_WC_FLUSH			= 9,
	VIRTIO_IB_WC_ATOMIC_WRITE		= 10,
	VIRTIO_IB_WC_BIND_MW			= 11,
	VIRTIO_IB_WC_TSO			= 12,
};

/*
 * MEM_MGT_ERR, with VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS or _MEM_WINDOW: a well-formed
 * LOCAL_INV, REG_MR or BIND_MW could not be carried out.
 */
enum virtio_ib_wc_status {
	VIRTIO_IB_WC_SUCCESS			= 0,
	VIRTIO_IB_WC_LOC_LEN_ERR		= 1,
	VIRTIO_IB_WC_LOC_QP_OP_ERR		= 2,
	VIRTIO_IB_WC_LOC_PROT_ERR		= 3,
	VIRTIO_IB_WC_WR_FLUSH_ERR		= 4,
	VIRTIO_IB_WC_BAD_RESP_ERR		= 5,
	VIRTIO_IB_WC_LOC_ACCESS_ERR		= 6,
	VIRTIO_IB_WC_REM_INV_REQ_ERR		= 7,
	VIRTIO_IB_WC_REM_ACCESS_ERR		= 8,
	VIRTIO_IB_WC_REM_OP_ERR			= 9,
	VIRTIO_IB_WC_RETRY_EXC_ERR		= 10,
	VIRTIO_IB_WC_RNR_RETRY_EXC_ERR		= 11,
	VIRTIO_IB_WC_REM_ABORT_ERR		= 12,
	VIRTIO_IB_WC_FATAL_ERR			= 13,
	VIRTIO_IB_WC_RESP_TIMEOUT_ERR		= 14,
	VIRTIO_IB_WC_GENERAL_ERR		= 15,
	VIRTIO_IB_WC_MEM_MGT_ERR		= 16,
};

/*
 * IPV4, IPV6: which header a datagram came with, in the last 20 or in all 40 of the
 * bytes that GRH is about.  A device that does not say it, as those of the RFC, sets
 * neither.
 *
 * IP_CSUM_OK, with VIRTIO_IB_DEVICE_RAW_CSUM, of RAW_PACKET QPs: the frame has the checksums
 * of IP_CSUM, that of TCP or UDP among them, and they are right.
 */
enum virtio_ib_wc_flags {
	VIRTIO_IB_WC_GRH			= 1 << 0,
	VIRTIO_IB_WC_WITH_IMM			= 1 << 1,
	VIRTIO_IB_WC_WITH_INVALIDATE		= 1 << 2,
	VIRTIO_IB_WC_WITH_VLAN			= 1 << 3,
	VIRTIO_IB_WC_IPV4			= 1 << 4,
	VIRTIO_IB_WC_IPV6			= 1 << 5,
	VIRTIO_IB_WC_IP_CSUM_OK			= 1 << 6,
};

/**
 * struct virtio_rdma_cq_req - completion (device-writable)
 * @wr_id: of the work request
 * @status: &enum virtio_ib_wc_status; with an error only @wr_id, @status,
 *	@vendor_err and @qp_num are valid
 * @opcode: &enum virtio_ib_wc_opcode
 * @vlan: if VIRTIO_IB_WC_WITH_VLAN is set: number of the VLAN that a datagram came by (UD),
 *	tag that was taken out of a frame (RAW_PACKET); else zero, as without
 *	%VIRTIO_IB_DEVICE_GID_VLAN and %VIRTIO_IB_DEVICE_RAW_VLAN
 * @vendor_err: tells the reason of @status to the device's makers
 * @byte_len: bytes received, read or fetched
 * @imm_data: immediate data, four bytes in network order, if
 *	VIRTIO_IB_WC_WITH_IMM is set
 * @invalidate_rkey: in its place, if VIRTIO_IB_WC_WITH_INVALIDATE is set: key
 *	that the peer has made invalid
 * @qp_num: local QPN
 * @src_qp: QPN of the sender (UD); tag of the flow rule that took the frame (RAW_PACKET,
 *	WQ), with %VIRTIO_IB_DEVICE_FLOW_COUNT
 * @wc_flags: &enum virtio_ib_wc_flags
 * @reserved: zero
 *
 * The slot of the work request is marked used before its completion is, or a
 * driver that has just polled would find its queue full.
 */
struct virtio_rdma_cq_req {
	__le64 wr_id;
	__u8 status;
	__u8 opcode;
	__le16 vlan;
	__le32 vendor_err;
	__le32 byte_len;
	union {
		__be32 imm_data;
		__le32 invalidate_rkey;
	};
	__le32 qp_num;
	__le32 src_qp;
	__le32 wc_flags;
	__le32 reserved[3];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cq_req, 48);
VNR_ASSERT_OFFSET(struct virtio_rdma_cq_req, byte_len, 16);
VNR_ASSERT_OFFSET(struct virtio_rdma_cq_req, wc_flags, 32);

/* ------------------------------------------------------------------------- */
/* Event queues and direct rings                                             */
/* ------------------------------------------------------------------------- */

/**
 * enum virtio_rdma_event_type - what happened
 * @VIRTIO_RDMA_EVENT_COMPLETION: an armed CQ has what it was armed for
 * @VIRTIO_RDMA_EVENT_CQ_ERROR: a CQ was overrun, or its memory is gone
 * @VIRTIO_RDMA_EVENT_QP_FATAL: a QP is in ERR because of its queue or control block
 * @VIRTIO_RDMA_EVENT_QP_REQ_ERR: a QP is in ERR because its peer broke a rule.  This and
 *	the following are there with %VIRTIO_IB_DEVICE_QP_EVENTS
 * @VIRTIO_RDMA_EVENT_QP_ACCESS_ERR: a QP is in ERR because its peer named memory that it
 *	may not access
 * @VIRTIO_RDMA_EVENT_COMM_EST: a QP in RTR got a packet from its peer
 * @VIRTIO_RDMA_EVENT_SQ_DRAINED: a QP in SQD has completed all that it had begun
 * @VIRTIO_RDMA_EVENT_NVME_PCI_ERR: memory of an NVMe controller could not be used, or it
 *	answered what makes no sense
 * @VIRTIO_RDMA_EVENT_NVME_TIMEOUT: an NVMe controller did not answer in time
 * @VIRTIO_RDMA_EVENT_NUM: one more than the largest
 */
enum virtio_rdma_event_type {
	VIRTIO_RDMA_EVENT_COMPLETION		= 0,
	VIRTIO_RDMA_EVENT_CQ_ERROR		= 1,
	VIRTIO_RDMA_EVENT_QP_FATAL		= 2,

	/* VIRTIO_IB_DEVICE_QP_EVENTS */
	VIRTIO_RDMA_EVENT_QP_REQ_ERR		= 3,
	VIRTIO_RDMA_EVENT_QP_ACCESS_ERR		= 4,
	VIRTIO_RDMA_EVENT_COMM_EST		= 5,
	VIRTIO_RDMA_EVENT_SQ_DRAINED		= 6,

	/* VIRTIO_IB_DEVICE_SRQ */
	VIRTIO_RDMA_EVENT_SRQ_LIMIT		= 16,
	VIRTIO_RDMA_EVENT_SRQ_ERROR		= 17,
	VIRTIO_RDMA_EVENT_QP_LAST_WQE		= 18,

	/* VIRTIO_IB_DEVICE_RSS: in the place of QP_FATAL, of a work queue */
	VIRTIO_RDMA_EVENT_WQ_FATAL		= 19,

	/* VIRTIO_IB_DEVICE_NVMF */
	VIRTIO_RDMA_EVENT_NVME_PCI_ERR		= 20,
	VIRTIO_RDMA_EVENT_NVME_TIMEOUT		= 21,

	/* One more than the largest; not all numbers below it are in use. */
	VIRTIO_RDMA_EVENT_NUM			= 22,
};

/**
 * struct virtio_rdma_event - buffer of an event virtqueue (device-writable)
 * @type: &enum virtio_rdma_event_type
 * @detail: zero
 * @number: CQN, QPN, which work queues have too, handle of an SRQ or of an NVMe controller
 * @reserved: zero
 */
struct virtio_rdma_event {
	__le16 type;
	__le16 detail;
	__le32 number;
	__le64 reserved;
};

VNR_ASSERT_SIZE(struct virtio_rdma_event, 16);

#define VIRTIO_RDMA_CONTROL_SIZE	64

/* Bits of &virtio_rdma_cq_control.arm; those above are a number. */
#define VIRTIO_RDMA_ARM_SOLICITED	0x1
#define VIRTIO_RDMA_ARM_NEXT		0x2
#define VIRTIO_RDMA_ARM_NUMBER		0x4

/**
 * struct virtio_rdma_cq_control - control block of a CQ
 * @arm: written by the driver: a number that changes with each arming, and what of
 * @consumer: written by the driver: direct CQs: completions taken, modulo 2^32
 * @reserved: zero
 * @device: written by the device: not 0 once the CQ is in error
 * @reserved2: left to the device
 */
struct virtio_rdma_cq_control {
	__le32 arm;
	__le32 consumer;
	__le32 reserved[6];
	__le32 device;
	__le32 reserved2[7];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cq_control, VIRTIO_RDMA_CONTROL_SIZE);
VNR_ASSERT_OFFSET(struct virtio_rdma_cq_control, device, 32);

/**
 * enum virtio_rdma_cq_flags - bits of &virtio_rdma_cmd_create_cq_long.flags
 * @VIRTIO_RDMA_CQ_CONTROL: it has a control block, and events are reported
 * @VIRTIO_RDMA_CQ_DIRECT: it is a ring; only with %VIRTIO_RDMA_CQ_CONTROL
 * @VIRTIO_RDMA_CQ_TIMESTAMP: its completions are &struct virtio_rdma_cqe_timed; only with
 *	%VIRTIO_RDMA_CQ_DIRECT and completions of 64 bytes
 */
enum virtio_rdma_cq_flags {
	VIRTIO_RDMA_CQ_CONTROL			= 1 << 0,
	VIRTIO_RDMA_CQ_DIRECT			= 1 << 1,
	VIRTIO_RDMA_CQ_TIMESTAMP		= 1 << 2,
};

/**
 * struct virtio_rdma_cmd_create_cq_long - request of CREATE_CQ, long form
 * @cqe: completions that the CQ shall hold; a power of two if it is direct
 * @flags: &enum virtio_rdma_cq_flags
 * @cqe_shift: direct: log2 of the bytes of a completion, 5 or 6
 * @event_vq: number of the event virtqueue, below E
 * @control: device address of its &struct virtio_rdma_cq_control
 * @npages: direct: number of pages of the ring, which they cover exactly
 * @reserved: zero
 * @pages: device address of each page, 4096 bytes each and aligned to it
 */
struct virtio_rdma_cmd_create_cq_long {
	__le32 cqe;
	__u8 flags;
	__u8 cqe_shift;
	__le16 event_vq;
	__le64 control;
	__le32 npages;
	__le32 reserved[3];
	__le64 pages[];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_cq_long, 32);

/**
 * struct virtio_rdma_cmd_resize_cq - request of RESIZE_CQ
 * @cqn: number of a direct CQ
 * @cqe: completions that the new ring holds, a power of two
 * @npages: number of pages of the new ring, which they cover exactly
 * @reserved: zero
 * @control: device address of the new &struct virtio_rdma_cq_control
 * @reserved2: zero
 * @pages: device address of each page, 4096 bytes each and aligned to it
 */
struct virtio_rdma_cmd_resize_cq {
	__le32 cqn;
	__le32 cqe;
	__le32 npages;
	__le32 reserved;
	__le64 control;
	__le64 reserved2;
	__le64 pages[];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_resize_cq, 32);

/**
 * struct virtio_rdma_ack_resize_cq - response to RESIZE_CQ
 * @stored: completions stored in the old ring, modulo 2^32
 * @unread: how many of them, the last ones, were not taken; the driver copies them to the
 *	first slots of the new ring
 */
struct virtio_rdma_ack_resize_cq {
	__le32 stored;
	__le32 unread;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_resize_cq, 8);

/**
 * struct virtio_rdma_cmd_modify_cq - request of MODIFY_CQ (no response)
 * @cqn: number of a CQ with a control block
 * @count: completions of those that the CQ is armed for after which its event is raised; 0:
 *	only @period says when
 * @period: µs after the first of them after which it is raised in any case; 0: at once, as of
 *	a new CQ, whatever @count is
 */
struct virtio_rdma_cmd_modify_cq {
	__le32 cqn;
	__le16 count;
	__le16 period;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_modify_cq, 8);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_modify_cq, period, 6);

#define VIRTIO_RDMA_DIRECT_MIN_CQE	16

/* Bit 7 of the opcode of a direct completion: of a receive request. */
#define VIRTIO_RDMA_CQE_RECV		0x80
/* Bit 6: of a request of an XRC SRQ, whose number is in the place of the sender's QPN. */
#define VIRTIO_RDMA_CQE_XRC		0x40
#define VIRTIO_RDMA_CQE_OPCODE		0x3f
/* Bit 0 of the phase. */
#define VIRTIO_RDMA_CQE_PHASE		0x01

/**
 * struct virtio_rdma_cqe - completion in a direct CQ
 * @byte_len: as of &struct virtio_rdma_cq_req, like the fields of the same names
 * @imm_data: immediate data
 * @invalidate_rkey: in its place, if VIRTIO_IB_WC_WITH_INVALIDATE is set
 * @qp_num: local QPN
 * @src_qp: QPN of the sender (UD), or tag
 * @srqn: in its place, if %VIRTIO_RDMA_CQE_XRC is set: number of the XRC SRQ
 * @wqe: index of the work request
 * @vendor_err: tells the reason of @status to the device's makers
 * @vlan: number of the VLAN, or tag
 * @status: &enum virtio_ib_wc_status
 * @opcode: &enum virtio_ib_wc_opcode, %VIRTIO_RDMA_CQE_RECV, %VIRTIO_RDMA_CQE_XRC
 * @wc_flags: &enum virtio_ib_wc_flags
 * @reserved: zero
 * @phase: %VIRTIO_RDMA_CQE_PHASE if the ring was gone through an even number of times;
 *	written last
 */
struct virtio_rdma_cqe {
	__le32 byte_len;
	union {
		__be32 imm_data;
		__le32 invalidate_rkey;
	};
	__le32 qp_num;
	union {
		__le32 src_qp;
		__le32 srqn;
	};
	__le32 wqe;
	__le32 vendor_err;
	__le16 vlan;
	__u8 status;
	__u8 opcode;
	__le16 wc_flags;
	__u8 reserved;
	__u8 phase;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cqe, 32);
VNR_ASSERT_OFFSET(struct virtio_rdma_cqe, wqe, 16);
VNR_ASSERT_OFFSET(struct virtio_rdma_cqe, phase, 31);

/**
 * struct virtio_rdma_cqe_timed - completion in a CQ with %VIRTIO_RDMA_CQ_TIMESTAMP
 * @cqe: the completion, whose phase is written last, as of all direct CQs
 * @time: what the clock of QUERY_CLOCK said when it was stored
 * @reserved: zero, as the driver left it: the device does not write there
 */
struct virtio_rdma_cqe_timed {
	struct virtio_rdma_cqe cqe;
	__le64 time;
	__le64 reserved[3];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cqe_timed, 64);
VNR_ASSERT_OFFSET(struct virtio_rdma_cqe_timed, time, 32);

/**
 * struct virtio_rdma_ack_query_clock - response to QUERY_CLOCK (no request)
 * @time: ns since a moment of the device's own, with 64 bits.  It never goes back, and a
 *	reset does not set it back
 */
struct virtio_rdma_ack_query_clock {
	__le64 time;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_clock, 8);

/**
 * struct virtio_rdma_qp_control - control block of a direct QP
 * @send_producer: written by the driver: send requests posted, modulo 2^32
 * @recv_producer: written by the driver: receive requests posted, modulo 2^32
 * @reserved: zero
 * @recv_wanted: written by the device: not 0 if the next receive request is to be
 *	announced by the doorbell
 * @reserved2: left to the device
 */
struct virtio_rdma_qp_control {
	__le32 send_producer;
	__le32 recv_producer;
	__le32 reserved[6];
	__le32 recv_wanted;
	__le32 reserved2[7];
};

VNR_ASSERT_SIZE(struct virtio_rdma_qp_control, VIRTIO_RDMA_CONTROL_SIZE);
VNR_ASSERT_OFFSET(struct virtio_rdma_qp_control, recv_wanted, 32);

#define VIRTIO_RDMA_MIN_STRIDE_SHIFT	6
#define VIRTIO_RDMA_MAX_STRIDE_SHIFT	10

/**
 * struct virtio_rdma_swqe - send request of a direct QP
 * @opcode: &enum virtio_ib_wr_opcode
 * @send_flags: &enum virtio_ib_send_flags
 * @num_sge: length of @sg_list if VIRTIO_IB_SEND_INLINE is not set
 * @inline_len: bytes of @inline_data if it is set
 * @imm_data: immediate data, four bytes in network order
 * @invalidate_rkey: in its place: SEND_WITH_INV, LOCAL_INV
 * @atomic_rkey: in its place: CMP_SWAP, FETCH_ADD
 * @rdma: RDMA WRITE and READ, ATOMIC_WRITE, as of &struct virtio_rdma_sq_req like the
 *	following
 * @ud: SEND of a UD QP
 * @flush: FLUSH
 * @atomic: CMP_SWAP, FETCH_ADD
 * @tso: TSO
 * @reg: REG_MR, which has no elements
 * @bind: BIND_MW, which has none either
 * @sg_list: payload
 * @inline_data: payload
 */
struct virtio_rdma_swqe {
	__u8 opcode;
	__u8 send_flags;
	union {
		__le16 num_sge;
		__le16 inline_len;
	};
	union {
		__be32 imm_data;
		__le32 invalidate_rkey;
		__le32 atomic_rkey;
	};
	union {
		struct {
			union {
				struct {
					__le64 remote_addr;
					__le32 rkey;
				} rdma;
				struct {
					__le32 remote_qpn;
					__le32 remote_qkey;
					__le32 ah;
				} ud;
				struct {
					__le64 remote_addr;
					__le32 rkey;
					__le32 length;
					__u8 type;
					__u8 level;
				} flush;
				struct {
					__le64 remote_addr;
					__le64 compare_add;
					__le64 swap;
				} atomic;
				struct {
					__le16 mss;
					__le16 header_len;
				} tso;
				__le64 by_opcode[3];
			};
			union {
				struct virtio_rdma_sge sg_list[2];
				__u8 inline_data[32];
			};
		};
		struct {
			__le64 pages;
			__le64 iova;
			__le32 length;
			__le32 key;
			__le32 access;
			__le32 npages;
		} reg;
		struct {
			__le64 addr;
			__le64 length;
			__le32 mr_key;
			__le32 key;
			__le32 access;
			__le32 padding;
		} bind;
	};
};

VNR_ASSERT_SIZE(struct virtio_rdma_swqe, 64);
VNR_ASSERT_OFFSET(struct virtio_rdma_swqe, rdma, 8);
VNR_ASSERT_OFFSET(struct virtio_rdma_swqe, reg, 8);
VNR_ASSERT_OFFSET(struct virtio_rdma_swqe, atomic.swap, 24);
VNR_ASSERT_OFFSET(struct virtio_rdma_swqe, sg_list, 32);

/**
 * struct virtio_rdma_xrc - what a send request of an XRC_INI QP has at byte 40 of its slot
 * @srqn: number of the XRC SRQ that the request is for, 24 bits
 * @reserved: zero
 * @sg_list: payload, in the place of that of &struct virtio_rdma_swqe
 * @inline_data: payload, likewise
 *
 * Up to byte 31, or 39 for requests without payload, the slot is as for other QPs.
 */
struct virtio_rdma_xrc {
	__le32 srqn;
	__le32 reserved;
	union {
		struct virtio_rdma_sge sg_list[1];
		__u8 inline_data[16];
	};
};

VNR_ASSERT_SIZE(struct virtio_rdma_xrc, 24);
VNR_ASSERT_OFFSET(struct virtio_rdma_xrc, sg_list, 8);

#define VIRTIO_RDMA_XRC_OFFSET		40
#define VIRTIO_RDMA_XRC_SRQN_MASK	0xffffff

/**
 * struct virtio_rdma_rwqe - receive request of a direct QP or of an SRQ
 * @num_sge: length of @sg_list
 * @cookie: of an SRQ: handed back as &virtio_rdma_cqe.wqe; else zero
 * @reserved: zero
 * @sg_list: where the message goes
 */
struct virtio_rdma_rwqe {
	__le32 num_sge;
	__le32 cookie;
	__le32 reserved[2];
	struct virtio_rdma_sge sg_list[];
};

VNR_ASSERT_SIZE(struct virtio_rdma_rwqe, 16);

#define VIRTIO_RDMA_QP_FORM_DIRECT	1

/**
 * enum virtio_rdma_qp_direct_flags - bits of &virtio_rdma_qp_direct.flags
 * @VIRTIO_RDMA_QP_SRQ: it has no receive ring, and takes requests from an SRQ; with
 *	%VIRTIO_IB_DEVICE_SRQ
 */
enum virtio_rdma_qp_direct_flags {
	VIRTIO_RDMA_QP_SRQ			= 1 << 0,
};

/**
 * struct virtio_rdma_qp_direct - how a direct QP is laid out, at byte 40 of CREATE_QP
 * @form: %VIRTIO_RDMA_QP_FORM_DIRECT
 * @send_shift: log2 of the stride of the send ring
 * @recv_shift: log2 of the stride of the receive ring
 * @flags: &enum virtio_rdma_qp_direct_flags
 * @send_depth: slots of the send ring, a power of two
 * @recv_depth: slots of the receive ring, a power of two, or 0
 * @doorbell: handle of the doorbell page
 * @bit: bit of the QP in that page
 * @send_pages: pages of the send ring, which they cover exactly
 * @recv_pages: pages of the receive ring, which they cover exactly
 * @srq: handle of the SRQ, if %VIRTIO_RDMA_QP_SRQ is set
 * @control: device address of its &struct virtio_rdma_qp_control
 * @xrcd: handle of the XRC domain of an XRC_TGT QP, which has this and @form only; else
 *	zero
 * @reserved: zero
 * @reserved2: zero
 *
 * Behind it stands the device address of each page, 8 bytes each; pages have 4096 bytes, and
 * are aligned to it: those of the send ring, then those of the receive ring.
 */
struct virtio_rdma_qp_direct {
	__u8 form;
	__u8 send_shift;
	__u8 recv_shift;
	__u8 flags;
	__le32 send_depth;
	__le32 recv_depth;
	__le32 doorbell;
	__le32 bit;
	__le32 send_pages;
	__le32 recv_pages;
	__le32 srq;
	__le64 control;
	__le32 xrcd;
	__le32 reserved;
	__le64 reserved2;
};

VNR_ASSERT_SIZE(struct virtio_rdma_qp_direct, 56);
VNR_ASSERT_OFFSET(struct virtio_rdma_qp_direct, xrcd, 40);

#define VIRTIO_RDMA_QP_DIRECT_OFFSET	40

/**
 * struct virtio_rdma_cmd_alloc_doorbell - request of ALLOC_DOORBELL
 * @page: device address of a page, &struct virtio_rdma_doorbell_page
 * @vq: number of the doorbell virtqueue, below D
 * @reserved: zero
 */
struct virtio_rdma_cmd_alloc_doorbell {
	__le64 page;
	__le16 vq;
	__le16 reserved[3];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_alloc_doorbell, 16);

/**
 * struct virtio_rdma_ack_alloc_doorbell - response to ALLOC_DOORBELL
 * @doorbell: handle of the doorbell page
 */
struct virtio_rdma_ack_alloc_doorbell {
	__le32 doorbell;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_alloc_doorbell, 4);

/**
 * struct virtio_rdma_cmd_free_doorbell - request of FREE_DOORBELL (no response)
 * @doorbell: handle of a doorbell page that no QP uses
 */
struct virtio_rdma_cmd_free_doorbell {
	__le32 doorbell;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_free_doorbell, 4);

#define VIRTIO_RDMA_DOORBELL_BITS	16384
#define VIRTIO_RDMA_DOORBELL_WORDS	(VIRTIO_RDMA_DOORBELL_BITS / 64)

/**
 * struct virtio_rdma_doorbell_page - what the direct QPs of a process are announced by
 * @ring_me: not 0 if the device wants to be rung; taken by exchange
 * @reserved: zero
 * @words: bit w is set if @pending[w] may have bits
 * @reserved2: zero
 * @pending: a bit for each QP
 */
struct virtio_rdma_doorbell_page {
	__le32 ring_me;
	__le32 reserved[15];
	__le64 words[VIRTIO_RDMA_DOORBELL_WORDS / 64];
	__u8 reserved2[1952];
	__le64 pending[VIRTIO_RDMA_DOORBELL_WORDS];
};

VNR_ASSERT_SIZE(struct virtio_rdma_doorbell_page, 4096);
VNR_ASSERT_OFFSET(struct virtio_rdma_doorbell_page, words, 64);
VNR_ASSERT_OFFSET(struct virtio_rdma_doorbell_page, pending, 2048);

/* ------------------------------------------------------------------------- */
/* Shared receive queues                                                     */
/* ------------------------------------------------------------------------- */

/**
 * struct virtio_rdma_srq_control - control block of an SRQ
 * @producer: written by the driver: requests posted, modulo 2^32
 * @reserved: zero
 * @device: written by the device: not 0 once the SRQ is in error
 * @reserved2: left to the device
 */
struct virtio_rdma_srq_control {
	__le32 producer;
	__le32 reserved[7];
	__le32 device;
	__le32 reserved2[7];
};

VNR_ASSERT_SIZE(struct virtio_rdma_srq_control, VIRTIO_RDMA_CONTROL_SIZE);
VNR_ASSERT_OFFSET(struct virtio_rdma_srq_control, device, 32);

/**
 * struct virtio_rdma_cmd_create_srq - request of CREATE_SRQ
 * @pdn: protection domain, in which the keys of requests are looked up
 * @depth: slots of the ring, a power of two
 * @max_sge: scatter/gather elements of a request
 * @shift: log2 of the stride of the ring
 * @padding: zero
 * @control: device address of its &struct virtio_rdma_srq_control
 * @npages: pages of the ring, which they cover exactly
 * @reserved: zero
 *
 * Behind it stands the device address of each page, 8 bytes each; pages have 4096 bytes, and
 * are aligned to it.
 */
struct virtio_rdma_cmd_create_srq {
	__le32 pdn;
	__le32 depth;
	__le32 max_sge;
	__u8 shift;
	__u8 padding[3];
	__le64 control;
	__le32 npages;
	__le32 reserved;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_srq, 32);

/**
 * struct virtio_rdma_ack_create_srq - response to CREATE_SRQ
 * @srq: handle of the SRQ
 */
struct virtio_rdma_ack_create_srq {
	__le32 srq;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_srq, 4);

/**
 * struct virtio_rdma_cmd_modify_srq - request of MODIFY_SRQ (no response)
 * @srq: handle of the SRQ
 * @limit: report SRQ_LIMIT once when fewer requests than this are there; 0: do not
 */
struct virtio_rdma_cmd_modify_srq {
	__le32 srq;
	__le32 limit;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_modify_srq, 8);

/**
 * struct virtio_rdma_cmd_query_srq - request of QUERY_SRQ
 * @srq: handle of the SRQ
 */
struct virtio_rdma_cmd_query_srq {
	__le32 srq;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_query_srq, 4);

/**
 * struct virtio_rdma_ack_query_srq - response to QUERY_SRQ
 * @depth: as in CREATE_SRQ
 * @max_sge: likewise
 * @limit: what is still to be reported, else 0
 * @reserved: zero
 */
struct virtio_rdma_ack_query_srq {
	__le32 depth;
	__le32 max_sge;
	__le32 limit;
	__le32 reserved;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_srq, 16);

/**
 * struct virtio_rdma_cmd_resize_srq - request of RESIZE_SRQ (no response)
 * @srq: handle of the SRQ
 * @depth: slots of the new ring, a power of two
 * @npages: pages of the new ring, which they cover exactly
 * @reserved: zero
 * @control: device address of the new &struct virtio_rdma_srq_control, which already has
 *	the producer index
 *
 * Behind it stands the device address of each page, 8 bytes each; pages have 4096 bytes, and
 * are aligned to it.
 */
struct virtio_rdma_cmd_resize_srq {
	__le32 srq;
	__le32 depth;
	__le32 npages;
	__le32 reserved;
	__le64 control;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_resize_srq, 24);

/**
 * struct virtio_rdma_cmd_destroy_srq - request of DESTROY_SRQ (no response)
 * @srq: handle of an SRQ that no QP takes requests from
 */
struct virtio_rdma_cmd_destroy_srq {
	__le32 srq;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_srq, 4);

/* ------------------------------------------------------------------------- */
/* Extended reliable connections                                             */
/* ------------------------------------------------------------------------- */

/**
 * struct virtio_rdma_ack_create_xrcd - response to CREATE_XRCD (no request)
 * @xrcd: handle of the XRC domain
 */
struct virtio_rdma_ack_create_xrcd {
	__le32 xrcd;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_xrcd, 4);

/**
 * struct virtio_rdma_cmd_destroy_xrcd - request of DESTROY_XRCD (no response)
 * @xrcd: handle of an XRC domain without SRQs and XRC_TGT QPs
 */
struct virtio_rdma_cmd_destroy_xrcd {
	__le32 xrcd;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_xrcd, 4);

/**
 * struct virtio_rdma_cmd_create_xrc_srq - request of CREATE_XRC_SRQ
 * @srq: as of CREATE_SRQ
 * @xrcd: handle of its XRC domain
 * @cqn: direct CQ that its requests complete to
 * @reserved: zero
 *
 * Behind it stands the device address of each page, as of CREATE_SRQ.  The response is that of
 * CREATE_SRQ, too.  The handle is below 2^24, and the number of the SRQ on the wire.
 */
struct virtio_rdma_cmd_create_xrc_srq {
	struct virtio_rdma_cmd_create_srq srq;
	__le32 xrcd;
	__le32 cqn;
	__le64 reserved;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_xrc_srq, 48);

/* ------------------------------------------------------------------------- */
/* Flow rules                                                                */
/* ------------------------------------------------------------------------- */

/**
 * enum virtio_rdma_flow_layer - bits of &virtio_rdma_flow_match.layers
 * @VIRTIO_RDMA_FLOW_VLAN: the frame has an 802.1Q tag
 * @VIRTIO_RDMA_FLOW_IPV4: it has an IPv4 header
 * @VIRTIO_RDMA_FLOW_IPV6: it has an IPv6 header
 * @VIRTIO_RDMA_FLOW_TCP: behind that it has the ports of TCP
 * @VIRTIO_RDMA_FLOW_UDP: likewise of UDP
 */
enum virtio_rdma_flow_layer {
	VIRTIO_RDMA_FLOW_VLAN			= 1 << 0,
	VIRTIO_RDMA_FLOW_IPV4			= 1 << 1,
	VIRTIO_RDMA_FLOW_IPV6			= 1 << 2,
	VIRTIO_RDMA_FLOW_TCP			= 1 << 3,
	VIRTIO_RDMA_FLOW_UDP			= 1 << 4,
};

#define VIRTIO_RDMA_FLOW_LAYERS		0x1f

/**
 * enum virtio_rdma_flow_ip_flags - bits of &virtio_rdma_flow_match.ip_flags
 * @VIRTIO_RDMA_FLOW_DF: the packet may not be fragmented
 * @VIRTIO_RDMA_FLOW_MF: more fragments follow
 */
enum virtio_rdma_flow_ip_flags {
	VIRTIO_RDMA_FLOW_DF			= 1 << 1,
	VIRTIO_RDMA_FLOW_MF			= 1 << 2,
};

/**
 * struct virtio_rdma_flow_match - fields of a frame
 * @dst_mac: destination address
 * @src_mac: source address
 * @ether_type: type, behind an 802.1Q tag if there is one
 * @vlan_tag: that tag: priority, drop eligible indicator, VLAN
 * @src_ip: source address; of IPv4 in the first four bytes
 * @dst_ip: destination address; likewise
 * @flow_label: IPv6: flow label, in the lower 20 bits
 * @src_port: TCP, UDP: source port
 * @dst_port: TCP, UDP: destination port
 * @proto: protocol of IPv4, next header of IPv6
 * @tos: type of service of IPv4, traffic class of IPv6
 * @ttl: time to live of IPv4, hop limit of IPv6
 * @ip_flags: IPv4: &enum virtio_rdma_flow_ip_flags
 * @layers: &enum virtio_rdma_flow_layer
 *
 * A field that a frame does not have is zero.
 */
struct virtio_rdma_flow_match {
	__u8 dst_mac[6];
	__u8 src_mac[6];
	__be16 ether_type;
	__be16 vlan_tag;
	__u8 src_ip[16];
	__u8 dst_ip[16];
	__be32 flow_label;
	__be16 src_port;
	__be16 dst_port;
	__u8 proto;
	__u8 tos;
	__u8 ttl;
	__u8 ip_flags;
	__le32 layers;
};

VNR_ASSERT_SIZE(struct virtio_rdma_flow_match, 64);
VNR_ASSERT_OFFSET(struct virtio_rdma_flow_match, src_ip, 16);
VNR_ASSERT_OFFSET(struct virtio_rdma_flow_match, layers, 60);

/**
 * enum virtio_rdma_flow_type - types of flow rules, by the frames that they take
 * @VIRTIO_RDMA_FLOW_NORMAL: those that match
 * @VIRTIO_RDMA_FLOW_ALL_DEFAULT: all that no other rule takes
 * @VIRTIO_RDMA_FLOW_MC_DEFAULT: likewise, of those for groups
 * @VIRTIO_RDMA_FLOW_SNIFFER: a copy of each frame
 */
enum virtio_rdma_flow_type {
	VIRTIO_RDMA_FLOW_NORMAL			= 0,
	VIRTIO_RDMA_FLOW_ALL_DEFAULT		= 1,
	VIRTIO_RDMA_FLOW_MC_DEFAULT		= 2,
	VIRTIO_RDMA_FLOW_SNIFFER		= 3,
};

/**
 * enum virtio_rdma_flow_flags - bits of &virtio_rdma_cmd_create_flow.flags
 * @VIRTIO_RDMA_FLOW_DONT_TRAP: the QP gets a copy, and the frame goes on
 * @VIRTIO_RDMA_FLOW_DROP: frames that match are dropped
 */
enum virtio_rdma_flow_flags {
	VIRTIO_RDMA_FLOW_DONT_TRAP		= 1 << 0,
	VIRTIO_RDMA_FLOW_DROP			= 1 << 1,
};

/**
 * struct virtio_rdma_cmd_create_flow - request of CREATE_FLOW
 * @qpn: RAW_PACKET or RX_HASH QP that it belongs to
 * @priority: rules with a smaller one come first
 * @type: &enum virtio_rdma_flow_type
 * @flags: &enum virtio_rdma_flow_flags
 * @value: what the bits of @mask must be
 * @mask: bits that are looked at; zero, like @value, unless @type is
 *	%VIRTIO_RDMA_FLOW_NORMAL
 */
struct virtio_rdma_cmd_create_flow {
	__le32 qpn;
	__le16 priority;
	__u8 type;
	__u8 flags;
	struct virtio_rdma_flow_match value;
	struct virtio_rdma_flow_match mask;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_flow, 136);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_create_flow, mask, 72);

/**
 * struct virtio_rdma_ack_create_flow - response to CREATE_FLOW
 * @flow: handle of the rule
 */
struct virtio_rdma_ack_create_flow {
	__le32 flow;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_flow, 4);

/**
 * struct virtio_rdma_cmd_destroy_flow - request of DESTROY_FLOW
 * @flow: handle of the rule
 */
struct virtio_rdma_cmd_destroy_flow {
	__le32 flow;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_flow, 4);

/**
 * struct virtio_rdma_cmd_query_flow - request of QUERY_FLOW
 * @flow: handle of the rule
 */
struct virtio_rdma_cmd_query_flow {
	__le32 flow;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_query_flow, 4);

/**
 * struct virtio_rdma_ack_query_flow - response to QUERY_FLOW
 * @packets: frames that the rule has taken, copied or dropped since it was made
 * @bytes: their bytes
 *
 * A stream of TCP that its sender has left to be segmented counts as its frames, but as one
 * if it is dropped.
 */
struct virtio_rdma_ack_query_flow {
	__le64 packets;
	__le64 bytes;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_flow, 16);

/**
 * struct virtio_rdma_cmd_create_flow_long - request of CREATE_FLOW_LONG
 * @flow: as of CREATE_FLOW, whose response this command has, too
 * @tag: &virtio_rdma_cq_req.src_qp of the frames that the rule takes; zero, as of all
 *	rules of CREATE_FLOW: none
 * @reserved: zero
 */
struct virtio_rdma_cmd_create_flow_long {
	struct virtio_rdma_cmd_create_flow flow;
	__le32 tag;
	__le32 reserved;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_flow_long, 144);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_create_flow_long, tag, 136);

/* ------------------------------------------------------------------------- */
/* Work queues                                                               */
/* ------------------------------------------------------------------------- */

#define VIRTIO_RDMA_WQ_TABLE_LOG_MAX	10

/**
 * struct virtio_rdma_cmd_create_wq_table - request of CREATE_WQ_TABLE
 * @log_size: log2 of the number of entries, up to %VIRTIO_RDMA_WQ_TABLE_LOG_MAX
 * @reserved: zero
 *
 * Behind it stands the number of a work queue for each entry, 4 bytes each.  One may stand
 * there several times.  They cannot be destroyed before the table.
 */
struct virtio_rdma_cmd_create_wq_table {
	__u8 log_size;
	__u8 reserved[7];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_wq_table, 8);

/**
 * struct virtio_rdma_ack_create_wq_table - response to CREATE_WQ_TABLE
 * @table: handle of the table
 */
struct virtio_rdma_ack_create_wq_table {
	__le32 table;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_wq_table, 4);

/**
 * struct virtio_rdma_cmd_destroy_wq_table - request of DESTROY_WQ_TABLE (no response)
 * @table: handle of a table that no RX_HASH QP has
 */
struct virtio_rdma_cmd_destroy_wq_table {
	__le32 table;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_wq_table, 4);

/**
 * enum virtio_rdma_rx_hash_fields - fields of a frame that are hashed, in this order
 * @VIRTIO_RDMA_RX_HASH_SRC_IPV4: source address of IPv4
 * @VIRTIO_RDMA_RX_HASH_DST_IPV4: destination address
 * @VIRTIO_RDMA_RX_HASH_SRC_IPV6: source address of IPv6; none of IPv4 may be there then
 * @VIRTIO_RDMA_RX_HASH_DST_IPV6: destination address; likewise
 * @VIRTIO_RDMA_RX_HASH_SRC_PORT_TCP: source port of TCP
 * @VIRTIO_RDMA_RX_HASH_DST_PORT_TCP: destination port
 * @VIRTIO_RDMA_RX_HASH_SRC_PORT_UDP: source port of UDP; none of TCP may be there then
 * @VIRTIO_RDMA_RX_HASH_DST_PORT_UDP: destination port; likewise
 *
 * A field that a frame does not have is left out.  A fragment has no ports, the first one
 * neither, so that all of a packet goes the same way.
 */
enum virtio_rdma_rx_hash_fields {
	VIRTIO_RDMA_RX_HASH_SRC_IPV4		= 1 << 0,
	VIRTIO_RDMA_RX_HASH_DST_IPV4		= 1 << 1,
	VIRTIO_RDMA_RX_HASH_SRC_IPV6		= 1 << 2,
	VIRTIO_RDMA_RX_HASH_DST_IPV6		= 1 << 3,
	VIRTIO_RDMA_RX_HASH_SRC_PORT_TCP	= 1 << 4,
	VIRTIO_RDMA_RX_HASH_DST_PORT_TCP	= 1 << 5,
	VIRTIO_RDMA_RX_HASH_SRC_PORT_UDP	= 1 << 6,
	VIRTIO_RDMA_RX_HASH_DST_PORT_UDP	= 1 << 7,
};

#define VIRTIO_RDMA_RX_HASH_FIELDS	0xff

/**
 * enum virtio_rdma_rx_hash_function - how they are hashed
 * @VIRTIO_RDMA_RX_HASH_TOEPLITZ: by the Toeplitz function, with a key
 * @VIRTIO_RDMA_RX_HASH_XOR: all 16-bit words of them, in network order, exclusive or; the
 *	key is zero
 */
enum virtio_rdma_rx_hash_function {
	VIRTIO_RDMA_RX_HASH_TOEPLITZ		= 1,
	VIRTIO_RDMA_RX_HASH_XOR			= 2,
};

#define VIRTIO_RDMA_RX_HASH_KEY_SIZE	40

/**
 * struct virtio_rdma_cmd_create_rx_hash_qp - request of CREATE_RX_HASH_QP
 * @table: handle of its table, which cannot be destroyed before the QP
 * @fields: &enum virtio_rdma_rx_hash_fields
 * @function: &enum virtio_rdma_rx_hash_function
 * @reserved: zero
 * @key: key, the first byte first
 *
 * The response is that of CREATE_QP.  A frame that a flow rule gives to the QP goes to the
 * work queue at the entry that is the hash modulo the size of the table, and to that alone.
 */
struct virtio_rdma_cmd_create_rx_hash_qp {
	__le32 table;
	__le32 fields;
	__u8 function;
	__u8 reserved[7];
	__u8 key[VIRTIO_RDMA_RX_HASH_KEY_SIZE];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_rx_hash_qp, 56);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_create_rx_hash_qp, key, 16);

/* ------------------------------------------------------------------------- */
/* NVMe over Fabrics                                                         */
/* ------------------------------------------------------------------------- */

/**
 * enum virtio_rdma_nvmf_ops - commands that the device carries out, bits
 * @VIRTIO_RDMA_NVMF_WRITE: Write
 * @VIRTIO_RDMA_NVMF_READ: Read
 * @VIRTIO_RDMA_NVMF_FLUSH: Flush, only with the two others
 */
enum virtio_rdma_nvmf_ops {
	VIRTIO_RDMA_NVMF_WRITE			= 1 << 0,
	VIRTIO_RDMA_NVMF_READ			= 1 << 1,
	VIRTIO_RDMA_NVMF_FLUSH			= 1 << 2,
};

/**
 * enum virtio_rdma_nvmf_offload - combinations of them that are possible, bits
 * @VIRTIO_RDMA_NVMF_OFFLOAD_WRITE: Write alone
 * @VIRTIO_RDMA_NVMF_OFFLOAD_READ: Read alone
 * @VIRTIO_RDMA_NVMF_OFFLOAD_READ_WRITE: both
 * @VIRTIO_RDMA_NVMF_OFFLOAD_READ_WRITE_FLUSH: all three
 */
enum virtio_rdma_nvmf_offload {
	VIRTIO_RDMA_NVMF_OFFLOAD_WRITE		= 1 << 0,
	VIRTIO_RDMA_NVMF_OFFLOAD_READ		= 1 << 1,
	VIRTIO_RDMA_NVMF_OFFLOAD_READ_WRITE	= 1 << 2,
	VIRTIO_RDMA_NVMF_OFFLOAD_READ_WRITE_FLUSH = 1 << 3,
};

/**
 * enum virtio_rdma_nvme_backend - kinds of NVMe controllers
 * @VIRTIO_RDMA_NVME_QUEUES: a submission and a completion queue in memory
 * @VIRTIO_RDMA_NVME_NAMESPACE: a namespace of the host, which has number 1
 *
 * In &virtio_rdma_ack_query_nvmf.backends bit n stands for kind n.
 */
enum virtio_rdma_nvme_backend {
	VIRTIO_RDMA_NVME_QUEUES			= 1,
	VIRTIO_RDMA_NVME_NAMESPACE		= 2,
};

/**
 * enum virtio_rdma_nvmf_flags - bits of &virtio_rdma_ack_query_nvmf.flags
 * @VIRTIO_RDMA_NVMF_DOORBELL_MEMORY: doorbells of controllers are memory of the guest, not
 *	registers of a device
 */
enum virtio_rdma_nvmf_flags {
	VIRTIO_RDMA_NVMF_DOORBELL_MEMORY	= 1 << 0,
};

/**
 * struct virtio_rdma_ack_query_nvmf - response to QUERY_NVMF (no request)
 * @offload: &enum virtio_rdma_nvmf_offload
 * @backends: kinds of controllers, a bit for each of &enum virtio_rdma_nvme_backend
 * @flags: &enum virtio_rdma_nvmf_flags
 * @lba_sizes: bytes of a block, bit n for 2^n
 * @max_ctrls: controllers of the function
 * @max_srq_ctrls: controllers of an SRQ
 * @max_srq_namespaces: namespaces of an SRQ
 * @min_staging_size: bytes of staging memory, at least
 * @max_io_size: bytes of a command, at most
 * @max_capsule: bytes of a command capsule, at most, in units of 16
 * @min_capsule: bytes of a command capsule, at least, in units of 16
 * @max_queue_depth: entries of the queues of a controller, at most
 * @min_queue_depth: entries of the queues of a controller, at least
 * @max_data_offset: place of the data in a capsule, behind the command, at most, in units of
 *	16
 * @max_qp_commands: commands of a QP that are under way at a time; a further capsule is
 *	answered with an RNR NAK
 * @max_srqs: SRQs that can have attributes
 * @reserved: zero
 */
struct virtio_rdma_ack_query_nvmf {
	__le32 offload;
	__le32 backends;
	__le32 flags;
	__le32 lba_sizes;
	__le32 max_ctrls;
	__le32 max_srq_ctrls;
	__le32 max_srq_namespaces;
	__le32 min_staging_size;
	__le32 max_io_size;
	__le32 max_capsule;
	__le32 min_capsule;
	__le16 max_queue_depth;
	__le16 min_queue_depth;
	__le16 max_data_offset;
	__le16 max_qp_commands;
	__le32 max_srqs;
	__le32 reserved[2];
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_nvmf, 64);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_nvmf, max_queue_depth, 44);
VNR_ASSERT_OFFSET(struct virtio_rdma_ack_query_nvmf, max_srqs, 52);

#define VIRTIO_RDMA_NAMESPACE_NAME	64

/**
 * struct virtio_rdma_cmd_query_namespace - request of QUERY_NAMESPACE
 * @name: name of a namespace of the host, ends with a zero byte, all further bytes are zero
 */
struct virtio_rdma_cmd_query_namespace {
	__u8 name[VIRTIO_RDMA_NAMESPACE_NAME];
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_query_namespace, 64);

/**
 * enum virtio_rdma_namespace_flags - bits of &virtio_rdma_ack_query_namespace.flags
 * @VIRTIO_RDMA_NAMESPACE_RO: Write is refused
 * @VIRTIO_RDMA_NAMESPACE_CACHE: what was written lasts after a Flush only
 */
enum virtio_rdma_namespace_flags {
	VIRTIO_RDMA_NAMESPACE_RO		= 1 << 0,
	VIRTIO_RDMA_NAMESPACE_CACHE		= 1 << 1,
};

/**
 * struct virtio_rdma_ack_query_namespace - response to QUERY_NAMESPACE
 * @size: bytes, whole blocks
 * @lba_size: bytes of a block
 * @flags: &enum virtio_rdma_namespace_flags
 */
struct virtio_rdma_ack_query_namespace {
	__le64 size;
	__le32 lba_size;
	__le32 flags;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_query_namespace, 16);

/**
 * struct virtio_rdma_region - a part of a memory region
 * @addr: address of its first byte inside the region, as in &virtio_rdma_sge
 * @length: bytes
 * @lkey: key of the region, which is in the protection domain of the SRQ, and has
 *	%VIRTIO_IB_ACCESS_LOCAL_WRITE
 * @reserved: zero
 */
struct virtio_rdma_region {
	__le64 addr;
	__le64 length;
	__le32 lkey;
	__le32 reserved;
};

VNR_ASSERT_SIZE(struct virtio_rdma_region, 24);

/**
 * struct virtio_rdma_cmd_set_srq_nvmf - request of SET_SRQ_NVMF (no response)
 * @srq: an SRQ, not of XRC, that has no attributes yet
 * @ops: &enum virtio_rdma_nvmf_ops, a combination that is possible
 * @max_namespaces: namespaces that are mapped, at most
 * @max_io_size: bytes of a command, at most
 * @capsule: bytes of a command capsule, at most, in units of 16
 * @data_offset: place of the data in a capsule, behind the command, in units of 16
 * @queue_depth: entries of the queues of its controllers, a power of two
 * @page_shift: log2 of the bytes of a page of its controllers, 12
 * @padding: zero
 * @reserved: zero
 * @staging: staging memory, begins and ends at a page of 4096 bytes
 */
struct virtio_rdma_cmd_set_srq_nvmf {
	__le32 srq;
	__le32 ops;
	__le32 max_namespaces;
	__le32 max_io_size;
	__le32 capsule;
	__le16 data_offset;
	__le16 queue_depth;
	__u8 page_shift;
	__u8 padding[7];
	__le64 reserved;
	struct virtio_rdma_region staging;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_set_srq_nvmf, 64);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_set_srq_nvmf, page_shift, 24);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_set_srq_nvmf, staging, 40);

/**
 * enum virtio_rdma_nvme_ctrl_flags - bits of &virtio_rdma_cmd_create_nvme_ctrl.flags
 * @VIRTIO_RDMA_NVME_REGION_ADDR: QUEUES: data pointers of commands are addresses inside the
 *	region of the staging memory, in place of device addresses
 */
enum virtio_rdma_nvme_ctrl_flags {
	VIRTIO_RDMA_NVME_REGION_ADDR		= 1 << 0,
};

/**
 * struct virtio_rdma_cmd_create_nvme_ctrl - request of CREATE_NVME_CTRL
 * @srq: an SRQ with attributes
 * @backend: &enum virtio_rdma_nvme_backend
 * @flags: &enum virtio_rdma_nvme_ctrl_flags
 * @timeout_ms: time that a command may take; 0 stands for no limit
 * @sq_initial: QUEUES: index of the next submission
 * @cq_initial: QUEUES: index of the next completion, which will have phase 1
 * @reserved: zero
 * @queues: QUEUES
 * @queues.sq: submission queue, 64 bytes for each entry
 * @queues.cq: completion queue, 16 bytes for each entry
 * @queues.sq_doorbell: 4 bytes, to which the device writes the index of the next submission
 * @queues.cq_doorbell: 4 bytes, to which it writes the index of the next completion
 * @name: in its place, NAMESPACE: as of &virtio_rdma_cmd_query_namespace
 */
struct virtio_rdma_cmd_create_nvme_ctrl {
	__le32 srq;
	__u8 backend;
	__u8 flags;
	__le16 timeout_ms;
	__le16 sq_initial;
	__le16 cq_initial;
	__le32 reserved;
	union {
		struct {
			struct virtio_rdma_region sq;
			struct virtio_rdma_region cq;
			struct virtio_rdma_region sq_doorbell;
			struct virtio_rdma_region cq_doorbell;
		} queues;
		__u8 name[VIRTIO_RDMA_NAMESPACE_NAME];
	};
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_create_nvme_ctrl, 112);
VNR_ASSERT_OFFSET(struct virtio_rdma_cmd_create_nvme_ctrl, name, 16);

/**
 * struct virtio_rdma_ack_create_nvme_ctrl - response to CREATE_NVME_CTRL
 * @ctrl: handle of the controller
 */
struct virtio_rdma_ack_create_nvme_ctrl {
	__le32 ctrl;
};

VNR_ASSERT_SIZE(struct virtio_rdma_ack_create_nvme_ctrl, 4);

/**
 * struct virtio_rdma_cmd_destroy_nvme_ctrl - request of DESTROY_NVME_CTRL (no response)
 * @ctrl: handle of a controller to which no namespace is mapped
 */
struct virtio_rdma_cmd_destroy_nvme_ctrl {
	__le32 ctrl;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_destroy_nvme_ctrl, 4);

/**
 * struct virtio_rdma_cmd_map_nsid - request of MAP_NSID (no response)
 * @ctrl: handle of a controller
 * @nsid: number of the namespace, of those who send commands; not mapped yet by the SRQ
 * @ctrl_nsid: number of the controller's namespace; NAMESPACE: 1
 * @lba_size: bytes of a block; NAMESPACE: those of the namespace
 */
struct virtio_rdma_cmd_map_nsid {
	__le32 ctrl;
	__le32 nsid;
	__le32 ctrl_nsid;
	__le32 lba_size;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_map_nsid, 16);

/**
 * struct virtio_rdma_cmd_unmap_nsid - request of UNMAP_NSID (no response)
 * @ctrl: handle of a controller
 * @nsid: number of a namespace that is mapped to it
 */
struct virtio_rdma_cmd_unmap_nsid {
	__le32 ctrl;
	__le32 nsid;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_unmap_nsid, 8);

/**
 * enum virtio_rdma_qp_nvmf_flags - bits of &virtio_rdma_cmd_set_qp_nvmf.flags
 * @VIRTIO_RDMA_QP_NVMF_ENABLE: commands are carried out by the device from now on
 */
enum virtio_rdma_qp_nvmf_flags {
	VIRTIO_RDMA_QP_NVMF_ENABLE		= 1 << 0,
};

/**
 * struct virtio_rdma_cmd_set_qp_nvmf - request of SET_QP_NVMF (no response)
 * @qpn: an RC QP whose SRQ has attributes
 * @flags: &enum virtio_rdma_qp_nvmf_flags
 * @sq_size: entries of the submission queue that the QP is; 0: there is no flow control, and
 *	answers have 0xffff as head of that queue
 * @sq_head: head of that queue, below @sq_size, that the command before the next one has been
 *	told; else zero
 * @reserved: zero
 */
struct virtio_rdma_cmd_set_qp_nvmf {
	__le32 qpn;
	__le32 flags;
	__le16 sq_size;
	__le16 sq_head;
	__le32 reserved;
};

VNR_ASSERT_SIZE(struct virtio_rdma_cmd_set_qp_nvmf, 16);

#endif /* _UAPI_VIRTIO_NET_ROCE_H */
