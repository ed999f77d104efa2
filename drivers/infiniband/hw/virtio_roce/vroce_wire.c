// SPDX-License-Identifier: GPL-2.0
/*
 * Translation between values of the RDMA core and values on the wire.
 *
 * Many values are the same on both sides today.  They are still translated bit by bit
 * and by table, because the core's values may change and those on the wire may not.
 */
#include <linux/etherdevice.h>

#include "virtio_roce_compat.h"
#include "vroce_wire.h"

/* A service level has 4 bits. */
#define VROCE_SL_MASK	0xf

struct vroce_bit {
	u32 core;
	u32 wire;
};

static const struct vroce_bit vroce_access_bits[] = {
	{ IB_ACCESS_LOCAL_WRITE,	VIRTIO_IB_ACCESS_LOCAL_WRITE },
	{ IB_ACCESS_REMOTE_WRITE,	VIRTIO_IB_ACCESS_REMOTE_WRITE },
	{ IB_ACCESS_REMOTE_READ,	VIRTIO_IB_ACCESS_REMOTE_READ },
	{ IB_ACCESS_FLUSH_GLOBAL,	VIRTIO_IB_ACCESS_FLUSH_GLOBAL },
	{ IB_ACCESS_FLUSH_PERSISTENT,	VIRTIO_IB_ACCESS_FLUSH_PERSISTENT },
	{ IB_ACCESS_REMOTE_ATOMIC,	VIRTIO_IB_ACCESS_REMOTE_ATOMIC },
	{ IB_ZERO_BASED,		VIRTIO_IB_ACCESS_ZERO_BASED },
	{ IB_ACCESS_MW_BIND,		VIRTIO_IB_ACCESS_MW_BIND },
};

/* There is only one port and one P_Key, so the wire has no bits for them. */
static const struct vroce_bit vroce_qp_attr_bits[] = {
	{ IB_QP_STATE,			VIRTIO_IB_QP_STATE },
	{ IB_QP_CUR_STATE,		VIRTIO_IB_QP_CUR_STATE },
	{ IB_QP_ACCESS_FLAGS,		VIRTIO_IB_QP_ACCESS_FLAGS },
	{ IB_QP_QKEY,			VIRTIO_IB_QP_QKEY },
	{ IB_QP_AV,			VIRTIO_IB_QP_AV },
	{ IB_QP_PATH_MTU,		VIRTIO_IB_QP_PATH_MTU },
	{ IB_QP_TIMEOUT,		VIRTIO_IB_QP_TIMEOUT },
	{ IB_QP_RETRY_CNT,		VIRTIO_IB_QP_RETRY_CNT },
	{ IB_QP_RNR_RETRY,		VIRTIO_IB_QP_RNR_RETRY },
	{ IB_QP_RQ_PSN,			VIRTIO_IB_QP_RQ_PSN },
	{ IB_QP_MAX_QP_RD_ATOMIC,	VIRTIO_IB_QP_MAX_QP_RD_ATOMIC },
	{ IB_QP_MIN_RNR_TIMER,		VIRTIO_IB_QP_MIN_RNR_TIMER },
	{ IB_QP_SQ_PSN,			VIRTIO_IB_QP_SQ_PSN },
	{ IB_QP_MAX_DEST_RD_ATOMIC,	VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC },
	{ IB_QP_CAP,			VIRTIO_IB_QP_CAP },
	{ IB_QP_DEST_QPN,		VIRTIO_IB_QP_DEST_QPN },
	{ IB_QP_RATE_LIMIT,		VIRTIO_IB_QP_RATE_LIMIT },
};

static const struct vroce_bit vroce_send_flag_bits[] = {
	{ IB_SEND_FENCE,		VIRTIO_IB_SEND_FENCE },
	{ IB_SEND_SIGNALED,		VIRTIO_IB_SEND_SIGNALED },
	{ IB_SEND_SOLICITED,		VIRTIO_IB_SEND_SOLICITED },
	{ IB_SEND_INLINE,		VIRTIO_IB_SEND_INLINE },
};

static u32 vroce_bits_to_wire(const struct vroce_bit *bits, size_t n, u32 core)
{
	u32 wire = 0;

	for (; n--; bits++)
		if (core & bits->core)
			wire |= bits->wire;
	return wire;
}

static const u8 vroce_qp_state_wire[] = {
	[IB_QPS_RESET]	= VIRTIO_IB_QPS_RESET,
	[IB_QPS_INIT]	= VIRTIO_IB_QPS_INIT,
	[IB_QPS_RTR]	= VIRTIO_IB_QPS_RTR,
	[IB_QPS_RTS]	= VIRTIO_IB_QPS_RTS,
	[IB_QPS_SQD]	= VIRTIO_IB_QPS_SQD,
	[IB_QPS_SQE]	= VIRTIO_IB_QPS_SQE,
	[IB_QPS_ERR]	= VIRTIO_IB_QPS_ERR,
};

static const enum ib_qp_state vroce_qp_state_core[] = {
	[VIRTIO_IB_QPS_RESET]	= IB_QPS_RESET,
	[VIRTIO_IB_QPS_INIT]	= IB_QPS_INIT,
	[VIRTIO_IB_QPS_RTR]	= IB_QPS_RTR,
	[VIRTIO_IB_QPS_RTS]	= IB_QPS_RTS,
	[VIRTIO_IB_QPS_SQD]	= IB_QPS_SQD,
	[VIRTIO_IB_QPS_SQE]	= IB_QPS_SQE,
	[VIRTIO_IB_QPS_ERR]	= IB_QPS_ERR,
};

static const u8 vroce_mtu_wire[] = {
	[IB_MTU_256]	= VIRTIO_IB_MTU_256,
	[IB_MTU_512]	= VIRTIO_IB_MTU_512,
	[IB_MTU_1024]	= VIRTIO_IB_MTU_1024,
	[IB_MTU_2048]	= VIRTIO_IB_MTU_2048,
	[IB_MTU_4096]	= VIRTIO_IB_MTU_4096,
};

static const enum ib_mtu vroce_mtu_core[] = {
	[VIRTIO_IB_MTU_256]	= IB_MTU_256,
	[VIRTIO_IB_MTU_512]	= IB_MTU_512,
	[VIRTIO_IB_MTU_1024]	= IB_MTU_1024,
	[VIRTIO_IB_MTU_2048]	= IB_MTU_2048,
	[VIRTIO_IB_MTU_4096]	= IB_MTU_4096,
};

static const struct {
	u8 wire;
	bool valid;
} vroce_qp_type_wire[] = {
	[IB_QPT_GSI]	= { VIRTIO_IB_QPT_GSI, true },
	[IB_QPT_RC]	= { VIRTIO_IB_QPT_RC, true },
	[IB_QPT_UC]	= { VIRTIO_IB_QPT_UC, true },
	[IB_QPT_UD]	= { VIRTIO_IB_QPT_UD, true },
	[IB_QPT_RAW_PACKET] = { VIRTIO_IB_QPT_RAW_PACKET, true },
	[IB_QPT_XRC_INI] = { VIRTIO_IB_QPT_XRC_INI, true },
	[IB_QPT_XRC_TGT] = { VIRTIO_IB_QPT_XRC_TGT, true },
};

struct vroce_wr_opcode {
	u8 wire;
	u32 types;
};

static const struct vroce_wr_opcode vroce_wr_opcodes[] = {
	[IB_WR_RDMA_WRITE] = {
		VIRTIO_IB_WR_RDMA_WRITE, VROCE_RC | VROCE_UC,
	},
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM, VROCE_RC | VROCE_UC,
	},
	[IB_WR_SEND] = {
		VIRTIO_IB_WR_SEND, VROCE_RC | VROCE_UC | VROCE_UD,
	},
	[IB_WR_SEND_WITH_IMM] = {
		VIRTIO_IB_WR_SEND_WITH_IMM, VROCE_RC | VROCE_UC | VROCE_UD,
	},
	[IB_WR_RDMA_READ] = {
		VIRTIO_IB_WR_RDMA_READ, VROCE_RC,
	},
};

/* With VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS. */
static const struct vroce_wr_opcode vroce_mem_mgt_opcodes[] = {
	[IB_WR_LOCAL_INV] = {
		VIRTIO_IB_WR_LOCAL_INV, VROCE_RC | VROCE_UC,
	},
	[IB_WR_SEND_WITH_INV] = {
		VIRTIO_IB_WR_SEND_WITH_INV, VROCE_RC,
	},
	[IB_WR_REG_MR] = {
		VIRTIO_IB_WR_REG_MR, VROCE_RC | VROCE_UC,
	},
};

/* With VIRTIO_IB_DEVICE_ATOMIC. */
static const struct vroce_wr_opcode vroce_atomic_opcodes[] = {
	[IB_WR_ATOMIC_CMP_AND_SWP] = {
		VIRTIO_IB_WR_CMP_SWAP, VROCE_RC,
	},
	[IB_WR_ATOMIC_FETCH_AND_ADD] = {
		VIRTIO_IB_WR_FETCH_ADD, VROCE_RC,
	},
};

static const struct {
	enum ib_wc_opcode core;
	bool valid;
} vroce_wc_opcodes[] = {
	[VIRTIO_IB_WC_SEND]		= { IB_WC_SEND, true },
	[VIRTIO_IB_WC_RDMA_WRITE]	= { IB_WC_RDMA_WRITE, true },
	[VIRTIO_IB_WC_RDMA_READ]	= { IB_WC_RDMA_READ, true },
	[VIRTIO_IB_WC_RECV]		= { IB_WC_RECV, true },
	[VIRTIO_IB_WC_RECV_RDMA_WITH_IMM] = { IB_WC_RECV_RDMA_WITH_IMM, true },
	[VIRTIO_IB_WC_CMP_SWAP]		= { IB_WC_COMP_SWAP, true },
	[VIRTIO_IB_WC_FETCH_ADD]	= { IB_WC_FETCH_ADD, true },
	[VIRTIO_IB_WC_LOCAL_INV]	= { IB_WC_LOCAL_INV, true },
	[VIRTIO_IB_WC_REG_MR]		= { IB_WC_REG_MR, true },
};

static const enum ib_wc_status vroce_wc_status_core[] = {
	[VIRTIO_IB_WC_SUCCESS]		= IB_WC_SUCCESS,
	[VIRTIO_IB_WC_LOC_LEN_ERR]	= IB_WC_LOC_LEN_ERR,
	[VIRTIO_IB_WC_LOC_QP_OP_ERR]	= IB_WC_LOC_QP_OP_ERR,
	[VIRTIO_IB_WC_LOC_PROT_ERR]	= IB_WC_LOC_PROT_ERR,
	[VIRTIO_IB_WC_WR_FLUSH_ERR]	= IB_WC_WR_FLUSH_ERR,
	[VIRTIO_IB_WC_BAD_RESP_ERR]	= IB_WC_BAD_RESP_ERR,
	[VIRTIO_IB_WC_LOC_ACCESS_ERR]	= IB_WC_LOC_ACCESS_ERR,
	[VIRTIO_IB_WC_REM_INV_REQ_ERR]	= IB_WC_REM_INV_REQ_ERR,
	[VIRTIO_IB_WC_REM_ACCESS_ERR]	= IB_WC_REM_ACCESS_ERR,
	[VIRTIO_IB_WC_REM_OP_ERR]	= IB_WC_REM_OP_ERR,
	[VIRTIO_IB_WC_RETRY_EXC_ERR]	= IB_WC_RETRY_EXC_ERR,
	[VIRTIO_IB_WC_RNR_RETRY_EXC_ERR] = IB_WC_RNR_RETRY_EXC_ERR,
	[VIRTIO_IB_WC_REM_ABORT_ERR]	= IB_WC_REM_ABORT_ERR,
	[VIRTIO_IB_WC_FATAL_ERR]	= IB_WC_FATAL_ERR,
	[VIRTIO_IB_WC_RESP_TIMEOUT_ERR]	= IB_WC_RESP_TIMEOUT_ERR,
	[VIRTIO_IB_WC_GENERAL_ERR]	= IB_WC_GENERAL_ERR,
	[VIRTIO_IB_WC_MEM_MGT_ERR]	= IB_WC_MW_BIND_ERR,
};

/**
 * vroce_access_to_wire() - translate rights of a memory region or a QP
 * @access: IB_ACCESS_* bits; those that the device does not know are left out
 *
 * Return: bits of &enum virtio_ib_access_flags.
 */
u32 vroce_access_to_wire(int access)
{
	return vroce_bits_to_wire(vroce_access_bits,
				  ARRAY_SIZE(vroce_access_bits), access);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_access_to_wire);

/**
 * vroce_access_from_wire() - translate rights of a QP from the wire
 * @wire: bits of &enum virtio_ib_access_flags
 *
 * Return: IB_ACCESS_* bits.
 */
int vroce_access_from_wire(u32 wire)
{
	int access = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vroce_access_bits); i++)
		if (wire & vroce_access_bits[i].wire)
			access |= vroce_access_bits[i].core;
	/* Only memory regions have these. */
	return access & ~(IB_ZERO_BASED | IB_ACCESS_MW_BIND);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_access_from_wire);

/**
 * vroce_qp_type_to_wire() - translate the type of a QP
 * @type: type
 *
 * Return: &enum virtio_ib_qp_type, or -EOPNOTSUPP.
 */
int vroce_qp_type_to_wire(enum ib_qp_type type)
{
	if (type == VROCE_QPT_WQ)
		return VIRTIO_IB_QPT_WQ;
	if (type >= ARRAY_SIZE(vroce_qp_type_wire) ||
	    !vroce_qp_type_wire[type].valid)
		return -EOPNOTSUPP;
	return vroce_qp_type_wire[type].wire;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_qp_type_to_wire);

/**
 * vroce_qp_mask_to_wire() - translate a mask of QP attributes
 * @mask: IB_QP_* bits; those that the device does not know are left out
 *
 * Return: bits of &enum virtio_ib_qp_attr_mask.
 */
u32 vroce_qp_mask_to_wire(int mask)
{
	return vroce_bits_to_wire(vroce_qp_attr_bits,
				  ARRAY_SIZE(vroce_qp_attr_bits), mask);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_qp_mask_to_wire);

/**
 * vroce_qp_cap_to_wire() - write the capabilities of a QP
 * @cap: capabilities
 * @wire: all of it is written
 */
void vroce_qp_cap_to_wire(const struct ib_qp_cap *cap,
			  struct virtio_rdma_qp_cap *wire)
{
	*wire = (struct virtio_rdma_qp_cap) {
		.max_send_wr = cpu_to_le32(cap->max_send_wr),
		.max_recv_wr = cpu_to_le32(cap->max_recv_wr),
		.max_send_sge = cpu_to_le32(cap->max_send_sge),
		.max_recv_sge = cpu_to_le32(cap->max_recv_sge),
		.max_inline_data = cpu_to_le32(cap->max_inline_data),
	};
}

/**
 * vroce_ah_attr_to_wire() - write an address vector
 * @attr: resolved RoCE address
 * @wire: zeroed
 */
void vroce_ah_attr_to_wire(const struct rdma_ah_attr *attr,
			   struct virtio_rdma_ah_attr *wire)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	memcpy(wire->grh.dgid, grh->dgid.raw, sizeof(wire->grh.dgid));
	wire->grh.flow_label = cpu_to_le32(grh->flow_label);
	wire->grh.sgid_index = grh->sgid_index;
	wire->grh.hop_limit = grh->hop_limit;
	wire->grh.traffic_class = grh->traffic_class;
	ether_addr_copy(wire->dmac, attr->roce.dmac);
	wire->sl = rdma_ah_get_sl(attr) & VROCE_SL_MASK;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_ah_attr_to_wire);

static void vroce_ah_attr_from_wire(const struct virtio_rdma_ah_attr *wire,
				    struct rdma_ah_attr *attr)
{
	union ib_gid dgid;

	memcpy(dgid.raw, wire->grh.dgid, sizeof(dgid.raw));
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_grh(attr, &dgid, le32_to_cpu(wire->grh.flow_label),
			wire->grh.sgid_index, wire->grh.hop_limit,
			wire->grh.traffic_class);
	ether_addr_copy(attr->roce.dmac, wire->dmac);
	rdma_ah_set_sl(attr, wire->sl & VROCE_SL_MASK);
}

/* Write the one-byte members that @mask has; the others stay zero. */
static void vroce_qp_attr_bytes(const struct ib_qp_attr *attr, int mask,
				struct virtio_rdma_cmd_modify_qp *wire)
{
	if (mask & IB_QP_STATE)
		wire->qp_state = vroce_qp_state_wire[attr->qp_state];
	if (mask & IB_QP_CUR_STATE)
		wire->cur_qp_state = vroce_qp_state_wire[attr->cur_qp_state];
	if (mask & IB_QP_PATH_MTU)
		wire->path_mtu = vroce_mtu_wire[attr->path_mtu];
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		wire->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		wire->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		wire->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_TIMEOUT)
		wire->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		wire->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		wire->rnr_retry = attr->rnr_retry;
}

/**
 * vroce_qp_attr_to_wire() - write the attributes of MODIFY_QP
 * @attr: attributes; states and MTU have been checked
 * @mask: which of them are given, IB_QP_* bits
 * @wire: zeroed; all but the QPN is written
 */
void vroce_qp_attr_to_wire(const struct ib_qp_attr *attr, int mask,
			   struct virtio_rdma_cmd_modify_qp *wire)
{
	u32 access;

	wire->attr_mask = cpu_to_le32(vroce_qp_mask_to_wire(mask));
	vroce_qp_attr_bytes(attr, mask, wire);
	if (mask & IB_QP_QKEY)
		wire->qkey = cpu_to_le32(attr->qkey);
	if (mask & IB_QP_RQ_PSN)
		wire->rq_psn = cpu_to_le32(attr->rq_psn);
	if (mask & IB_QP_SQ_PSN)
		wire->sq_psn = cpu_to_le32(attr->sq_psn);
	if (mask & IB_QP_DEST_QPN)
		wire->dest_qp_num = cpu_to_le32(attr->dest_qp_num);
	if (mask & IB_QP_RATE_LIMIT)
		wire->rate_limit = cpu_to_le32(attr->rate_limit);
	if (mask & IB_QP_ACCESS_FLAGS) {
		access = vroce_access_to_wire(attr->qp_access_flags);
		wire->qp_access_flags = cpu_to_le32(access);
	}
	if (mask & IB_QP_CAP)
		vroce_qp_cap_to_wire(&attr->cap, &wire->cap);
	if (mask & IB_QP_AV)
		vroce_ah_attr_to_wire(&attr->ah_attr, &wire->ah_attr);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_qp_attr_to_wire);

/**
 * vroce_qp_attr_from_wire() - read the response to QUERY_QP
 * @wire: response, not to be trusted
 * @attr: members that the response has are written
 *
 * Return: 0, or -EPROTO if the state is not valid.
 */
int vroce_qp_attr_from_wire(const struct virtio_rdma_ack_query_qp *wire,
			    struct ib_qp_attr *attr)
{
	if (wire->qp_state >= ARRAY_SIZE(vroce_qp_state_core))
		return -EPROTO;

	attr->qp_state = vroce_qp_state_core[wire->qp_state];
	attr->cur_qp_state = attr->qp_state;
	/* Before the MTU is set, the device may return any value. */
	if (wire->path_mtu < ARRAY_SIZE(vroce_mtu_core))
		attr->path_mtu = vroce_mtu_core[wire->path_mtu];
	attr->sq_draining = wire->sq_draining;
	attr->max_rd_atomic = wire->max_rd_atomic;
	attr->max_dest_rd_atomic = wire->max_dest_rd_atomic;
	attr->min_rnr_timer = wire->min_rnr_timer;
	attr->timeout = wire->timeout;
	attr->retry_cnt = wire->retry_cnt;
	attr->rnr_retry = wire->rnr_retry;
	attr->qkey = le32_to_cpu(wire->qkey);
	attr->rq_psn = le32_to_cpu(wire->rq_psn);
	attr->sq_psn = le32_to_cpu(wire->sq_psn);
	attr->dest_qp_num = le32_to_cpu(wire->dest_qp_num);
	attr->rate_limit = le32_to_cpu(wire->rate_limit);
	attr->qp_access_flags =
		vroce_access_from_wire(le32_to_cpu(wire->qp_access_flags));
	vroce_ah_attr_from_wire(&wire->ah_attr, &attr->ah_attr);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_qp_attr_from_wire);

static int vroce_opcode_to_wire(const struct vroce_wr_opcode *opcodes, size_t n,
				enum ib_wr_opcode opcode, enum ib_qp_type type)
{
	if (opcode >= n || !opcodes[opcode].types)
		return -EOPNOTSUPP;
	if (!(opcodes[opcode].types & BIT(type)))
		return -EINVAL;
	return opcodes[opcode].wire;
}

/**
 * vroce_wr_opcode_to_wire() - translate the opcode of a send request
 * @opcode: opcode
 * @type: type of its QP
 *
 * Return: &enum virtio_ib_wr_opcode, -EOPNOTSUPP if it is not an operation that every
 * device has, -EINVAL if it is, but not for QPs of this type.
 */
int vroce_wr_opcode_to_wire(enum ib_wr_opcode opcode, enum ib_qp_type type)
{
	return vroce_opcode_to_wire(vroce_wr_opcodes,
				    ARRAY_SIZE(vroce_wr_opcodes), opcode, type);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_wr_opcode_to_wire);

/**
 * vroce_mem_mgt_opcode_to_wire() - the same for the operations of the
 *	memory-management extensions
 * @opcode: opcode
 * @type: type of its QP
 *
 * Return: &enum virtio_ib_wr_opcode, -EOPNOTSUPP if it is not one of them, -EINVAL if
 * it is not for QPs of this type.
 */
int vroce_mem_mgt_opcode_to_wire(enum ib_wr_opcode opcode, enum ib_qp_type type)
{
	return vroce_opcode_to_wire(vroce_mem_mgt_opcodes,
				    ARRAY_SIZE(vroce_mem_mgt_opcodes), opcode,
				    type);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_mem_mgt_opcode_to_wire);

/**
 * vroce_atomic_opcode_to_wire() - the same for atomic operations
 * @opcode: opcode
 * @type: type of its QP
 *
 * Return: &enum virtio_ib_wr_opcode, -EOPNOTSUPP if it is not one of them, -EINVAL if
 * it is not for QPs of this type.
 */
int vroce_atomic_opcode_to_wire(enum ib_wr_opcode opcode, enum ib_qp_type type)
{
	return vroce_opcode_to_wire(vroce_atomic_opcodes,
				    ARRAY_SIZE(vroce_atomic_opcodes), opcode,
				    type);
}

/**
 * vroce_send_flags_to_wire() - translate the flags of a send request
 * @flags: IB_SEND_* bits
 *
 * Return: bits of &enum virtio_ib_send_flags, or -EOPNOTSUPP.
 */
int vroce_send_flags_to_wire(int flags)
{
	const int known = IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED |
			  IB_SEND_INLINE;

	if (flags & ~known)
		return -EOPNOTSUPP;
	return vroce_bits_to_wire(vroce_send_flag_bits,
				  ARRAY_SIZE(vroce_send_flag_bits), flags);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_send_flags_to_wire);

/**
 * vroce_wc_from_wire() - read a completion
 * @wire: completion, not to be trusted, but not changing any more
 * @wc: all but the QP is written
 */
void vroce_wc_from_wire(const struct virtio_rdma_cq_req *wire,
			struct ib_wc *wc)
{
	u32 flags = le32_to_cpu(wire->wc_flags);

	*wc = (struct ib_wc) {
		.wr_id = le64_to_cpu(wire->wr_id),
		.status = IB_WC_GENERAL_ERR,
		.vendor_err = le32_to_cpu(wire->vendor_err),
		.port_num = 1,
	};
	if (wire->status >= ARRAY_SIZE(vroce_wc_status_core))
		return;
	if (wire->status != VIRTIO_IB_WC_SUCCESS) {
		wc->status = vroce_wc_status_core[wire->status];
		return;
	}

	if (wire->opcode >= ARRAY_SIZE(vroce_wc_opcodes) ||
	    !vroce_wc_opcodes[wire->opcode].valid)
		return;
	wc->status = IB_WC_SUCCESS;
	wc->opcode = vroce_wc_opcodes[wire->opcode].core;
	wc->byte_len = le32_to_cpu(wire->byte_len);
	wc->ex.imm_data = wire->imm_data;
	wc->src_qp = le32_to_cpu(wire->src_qp);
	if (flags & VIRTIO_IB_WC_GRH)
		wc->wc_flags |= IB_WC_GRH;
	/* If the device does not give the header type, the core reads the header. */
	if (flags & (VIRTIO_IB_WC_IPV4 | VIRTIO_IB_WC_IPV6)) {
		wc->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = flags & VIRTIO_IB_WC_IPV4 ?
				       RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	}
	if (flags & VIRTIO_IB_WC_WITH_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = le16_to_cpu(wire->vlan);
	}
	if (flags & VIRTIO_IB_WC_WITH_IMM)
		wc->wc_flags |= IB_WC_WITH_IMM;
	if (flags & VIRTIO_IB_WC_WITH_INVALIDATE) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = le32_to_cpu(wire->invalidate_rkey);
	}
}
EXPORT_SYMBOL_IF_KUNIT(vroce_wc_from_wire);
