// SPDX-License-Identifier: GPL-2.0
/*
 * Translation between the core's values and those of the wire, for each bit and value.
 */
#include <kunit/test.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_wire.h"

/* ----- bits ----- */

struct bit_case {
	const char *name;
	int core;
	u32 wire;
};

static const struct bit_case mask_table[] = {
	{ "STATE", IB_QP_STATE, 1 << 0 },
	{ "CUR_STATE", IB_QP_CUR_STATE, 1 << 1 },
	{ "ACCESS_FLAGS", IB_QP_ACCESS_FLAGS, 1 << 2 },
	{ "QKEY", IB_QP_QKEY, 1 << 3 },
	{ "AV", IB_QP_AV, 1 << 4 },
	{ "PATH_MTU", IB_QP_PATH_MTU, 1 << 5 },
	{ "TIMEOUT", IB_QP_TIMEOUT, 1 << 6 },
	{ "RETRY_CNT", IB_QP_RETRY_CNT, 1 << 7 },
	{ "RNR_RETRY", IB_QP_RNR_RETRY, 1 << 8 },
	{ "RQ_PSN", IB_QP_RQ_PSN, 1 << 9 },
	{ "MAX_QP_RD_ATOMIC", IB_QP_MAX_QP_RD_ATOMIC, 1 << 10 },
	{ "MIN_RNR_TIMER", IB_QP_MIN_RNR_TIMER, 1 << 11 },
	{ "SQ_PSN", IB_QP_SQ_PSN, 1 << 12 },
	{ "MAX_DEST_RD_ATOMIC", IB_QP_MAX_DEST_RD_ATOMIC, 1 << 13 },
	{ "CAP", IB_QP_CAP, 1 << 14 },
	{ "DEST_QPN", IB_QP_DEST_QPN, 1 << 15 },
	{ "PKEY_INDEX", IB_QP_PKEY_INDEX, 0 },
	{ "PORT", IB_QP_PORT, 0 },
	{ "ALT_PATH", IB_QP_ALT_PATH, 0 },
	{ "PATH_MIG_STATE", IB_QP_PATH_MIG_STATE, 0 },
	{ "EN_SQD_ASYNC_NOTIFY", IB_QP_EN_SQD_ASYNC_NOTIFY, 0 },
	{ "RATE_LIMIT", IB_QP_RATE_LIMIT, 1 << 16 },
};

KUNIT_ARRAY_PARAM_DESC(mask, mask_table, name);

static void attr_mask(struct kunit *test)
{
	const struct bit_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, vroce_qp_mask_to_wire(c->core), c->wire);
	/* Also together with another bit. */
	KUNIT_EXPECT_EQ(test, vroce_qp_mask_to_wire(c->core | IB_QP_STATE),
			c->wire | 1);
}

static const struct bit_case access_table[] = {
	{ "none", 0, 0 },
	{ "LOCAL_WRITE", IB_ACCESS_LOCAL_WRITE, 1 },
	{ "REMOTE_WRITE", IB_ACCESS_REMOTE_WRITE, 2 },
	{ "REMOTE_READ", IB_ACCESS_REMOTE_READ, 4 },
#ifdef VNR_HAVE_ACCESS_FLUSH
	{ "FLUSH_GLOBAL", IB_ACCESS_FLUSH_GLOBAL, 8 },
	{ "FLUSH_PERSISTENT", IB_ACCESS_FLUSH_PERSISTENT, 16 },
#endif
	{ "all", IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
		 IB_ACCESS_REMOTE_READ, 7 },
	{ "REMOTE_ATOMIC", IB_ACCESS_REMOTE_ATOMIC, 32 },
	{ "RELAXED_ORDERING", IB_ACCESS_RELAXED_ORDERING, 0 },
};

KUNIT_ARRAY_PARAM_DESC(access, access_table, name);

static void attr_access(struct kunit *test)
{
	const struct bit_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, vroce_access_to_wire(c->core), c->wire);
	if (c->wire || !c->core)
		KUNIT_EXPECT_EQ(test, vroce_access_from_wire(c->wire), c->core);
}

static void attr_access_unknown_wire_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, vroce_access_from_wire(0xffffffc0), 0);
}

static const struct bit_case send_flag_table[] = {
	{ "none", 0, 0 },
	{ "FENCE", IB_SEND_FENCE, 1 },
	{ "SIGNALED", IB_SEND_SIGNALED, 2 },
	{ "SOLICITED", IB_SEND_SOLICITED, 4 },
	{ "INLINE", IB_SEND_INLINE, 8 },
	{ "IP_CSUM", IB_SEND_IP_CSUM, -EOPNOTSUPP },
	{ "IP_CSUM among others", IB_SEND_IP_CSUM | IB_SEND_SIGNALED,
	  -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(send_flag, send_flag_table, name);

static void attr_send_flags(struct kunit *test)
{
	const struct bit_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, vroce_send_flags_to_wire(c->core), (int)c->wire);
}

/* ----- MODIFY_QP ----- */

/**
 * struct field_case - where an attribute of MODIFY_QP goes
 * @name: name
 * @mask: the one bit that is given
 * @offset: offset of its bytes in the request
 * @len: their number
 * @bytes: their values
 */
struct field_case {
	const char *name;
	int mask;
	size_t offset;
	size_t len;
	u8 bytes[8];
};

static const struct field_case field_table[] = {
	{ "qp_state", IB_QP_STATE, 8, 1, { 4 } },
	{ "cur_qp_state", IB_QP_CUR_STATE, 9, 1, { 3 } },
	{ "path_mtu", IB_QP_PATH_MTU, 10, 1, { 4 } },
	{ "max_rd_atomic", IB_QP_MAX_QP_RD_ATOMIC, 11, 1, { 0x11 } },
	{ "max_dest_rd_atomic", IB_QP_MAX_DEST_RD_ATOMIC, 12, 1, { 0x12 } },
	{ "min_rnr_timer", IB_QP_MIN_RNR_TIMER, 13, 1, { 0x13 } },
	{ "timeout", IB_QP_TIMEOUT, 14, 1, { 0x14 } },
	{ "retry_cnt", IB_QP_RETRY_CNT, 15, 1, { 0x15 } },
	{ "rnr_retry", IB_QP_RNR_RETRY, 16, 1, { 0x16 } },
	{ "qkey", IB_QP_QKEY, 24, 4, { 0x24, 0x23, 0x22, 0x21 } },
	{ "rq_psn", IB_QP_RQ_PSN, 28, 4, { 0x34, 0x33, 0x32, 0 } },
	{ "sq_psn", IB_QP_SQ_PSN, 32, 4, { 0x44, 0x43, 0x42, 0 } },
	{ "dest_qp_num", IB_QP_DEST_QPN, 36, 4, { 0x54, 0x53, 0x52, 0 } },
	{ "qp_access_flags", IB_QP_ACCESS_FLAGS, 40, 4, { 6, 0, 0, 0 } },
	{ "rate_limit", IB_QP_RATE_LIMIT, 44, 4, { 0x84, 0x83, 0x82, 0x81 } },
	{ "max_send_wr", IB_QP_CAP, 48, 4, { 0x64, 0x63, 0, 0 } },
	{ "flow_label", IB_QP_AV, 88, 4, { 0x33, 0x22, 0x01, 0 } },
	{ "sgid_index to dmac", IB_QP_AV, 92, 8,
	  { 0xfe, 0x40, 0x68, 0, 0x52, 0x54, 0x00, 0x12 } },
	{ "sl", IB_QP_AV, 102, 2, { 0x0d, 0 } },
	{ "port", IB_QP_PORT, 8, 0, {} },
	{ "pkey_index", IB_QP_PKEY_INDEX, 8, 0, {} },
};

KUNIT_ARRAY_PARAM_DESC(field, field_table, name);

static void fill_attr(struct ib_qp_attr *attr)
{
	static union ib_gid gid;
	static const u8 mac[] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };

	*attr = (struct ib_qp_attr) {
		.qp_state = IB_QPS_SQD,
		.cur_qp_state = IB_QPS_RTS,
		.path_mtu = IB_MTU_2048,
		.max_rd_atomic = 0x11,
		.max_dest_rd_atomic = 0x12,
		.min_rnr_timer = 0x13,
		.timeout = 0x14,
		.retry_cnt = 0x15,
		.rnr_retry = 0x16,
		.qkey = 0x21222324,
		.rq_psn = 0x323334,
		.sq_psn = 0x424344,
		.dest_qp_num = 0x525354,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_READ,
		.cap.max_send_wr = 0x6364,
		.port_num = 1,
		.pkey_index = 0x77,
		.rate_limit = 0x81828384,
	};
	attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(&attr->ah_attr, &gid, 0x12233, 0xfe, 0x40, 0x68);
	rdma_ah_set_sl(&attr->ah_attr, 0xfd);
	memcpy(attr->ah_attr.roce.dmac, mac, sizeof(mac));
}

/* With one bit given, that attribute is sent, and no other byte is set. */
static void attr_modify_one(struct kunit *test)
{
	const struct field_case *c = test->param_value;
	struct virtio_rdma_cmd_modify_qp wire = {};
	const u8 *bytes = (const u8 *)&wire;
	struct ib_qp_attr attr;
	size_t i, from = c->offset, to = c->offset + c->len;

	fill_attr(&attr);
	vroce_qp_attr_to_wire(&attr, c->mask, &wire);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(wire.attr_mask),
			vroce_qp_mask_to_wire(c->mask));
	if (c->len)
		KUNIT_EXPECT_MEMEQ(test, bytes + from, c->bytes, c->len);
	/* The address vector has more than one field. */
	if (c->mask == IB_QP_AV) {
		from = 72;
		to = 112;
	}
	for (i = 8; i < sizeof(wire); i++)
		if (i < from || i >= to)
			KUNIT_EXPECT_EQ_MSG(test, bytes[i], 0, "byte %zu", i);
}

static void attr_modify_all(struct kunit *test)
{
	struct virtio_rdma_cmd_modify_qp wire = {};
	struct ib_qp_attr attr;

	fill_attr(&attr);
	vroce_qp_attr_to_wire(&attr, VROCE_QP_ATTRS, &wire);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(wire.attr_mask), 0x1bfff);
	KUNIT_EXPECT_EQ(test, wire.rnr_retry, 0x16);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(wire.dest_qp_num), 0x525354);
	KUNIT_EXPECT_EQ(test, wire.ah_attr.dmac[5], 0x56);
	KUNIT_EXPECT_EQ(test, wire.ah_attr.sl, 0xd);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(wire.rate_limit), 0x81828384);
}

struct value_case {
	const char *name;
	int core;
	u8 wire;
};

static const struct value_case state_table[] = {
	{ "RESET", IB_QPS_RESET, 0 },
	{ "INIT", IB_QPS_INIT, 1 },
	{ "RTR", IB_QPS_RTR, 2 },
	{ "RTS", IB_QPS_RTS, 3 },
	{ "SQD", IB_QPS_SQD, 4 },
	{ "SQE", IB_QPS_SQE, 5 },
	{ "ERR", IB_QPS_ERR, 6 },
};

KUNIT_ARRAY_PARAM_DESC(state, state_table, name);

static void attr_state(struct kunit *test)
{
	const struct value_case *c = test->param_value;
	const struct ib_qp_attr attr = { .qp_state = c->core };
	struct virtio_rdma_ack_query_qp ack = { .qp_state = c->wire };
	struct virtio_rdma_cmd_modify_qp cmd = {};
	struct ib_qp_attr back = {};

	vroce_qp_attr_to_wire(&attr, IB_QP_STATE, &cmd);
	KUNIT_EXPECT_EQ(test, cmd.qp_state, c->wire);
	KUNIT_EXPECT_EQ(test, vroce_qp_attr_from_wire(&ack, &back), 0);
	KUNIT_EXPECT_EQ(test, (int)back.qp_state, c->core);
}

static const struct value_case mtu_table[] = {
	{ "256", IB_MTU_256, 1 },
	{ "512", IB_MTU_512, 2 },
	{ "1024", IB_MTU_1024, 3 },
	{ "2048", IB_MTU_2048, 4 },
	{ "4096", IB_MTU_4096, 5 },
};

KUNIT_ARRAY_PARAM_DESC(mtu, mtu_table, name);

static void attr_mtu(struct kunit *test)
{
	const struct value_case *c = test->param_value;
	const struct ib_qp_attr attr = { .path_mtu = c->core };
	struct virtio_rdma_ack_query_qp ack = { .path_mtu = c->wire };
	struct virtio_rdma_cmd_modify_qp cmd = {};
	struct ib_qp_attr back = {};

	vroce_qp_attr_to_wire(&attr, IB_QP_PATH_MTU, &cmd);
	KUNIT_EXPECT_EQ(test, cmd.path_mtu, c->wire);
	KUNIT_EXPECT_EQ(test, vroce_qp_attr_from_wire(&ack, &back), 0);
	KUNIT_EXPECT_EQ(test, (int)back.path_mtu, c->core);
}

/* A device may answer anything. */
static void attr_query_hostile(struct kunit *test)
{
	struct virtio_rdma_ack_query_qp ack;
	struct ib_qp_attr attr = {};

	memset(&ack, 0xff, sizeof(ack));
	KUNIT_EXPECT_EQ(test, vroce_qp_attr_from_wire(&ack, &attr), -EPROTO);
	ack.qp_state = 7;
	KUNIT_EXPECT_EQ(test, vroce_qp_attr_from_wire(&ack, &attr), -EPROTO);
	ack.qp_state = 6;
	KUNIT_EXPECT_EQ(test, vroce_qp_attr_from_wire(&ack, &attr), 0);
	KUNIT_EXPECT_EQ(test, (int)attr.path_mtu, 0);
	KUNIT_EXPECT_EQ(test, attr.qp_access_flags,
			7 | IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_FLUSH_GLOBAL |
			IB_ACCESS_FLUSH_PERSISTENT);
}

static void attr_qp_types(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_GSI), 1);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_RC), 2);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_UC), 3);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_UD), 4);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_SMI), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_RAW_PACKET), 8);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_XRC_INI), 9);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_XRC_TGT), 10);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_RESERVED1), 11);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_RESERVED2), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, vroce_qp_type_to_wire(IB_QPT_DRIVER),
			-EOPNOTSUPP);
}

/* ----- work requests and completions ----- */

struct opcode_case {
	const char *name;
	enum ib_wr_opcode opcode;
	int rc;
	int uc;
	int ud;
};

static const struct opcode_case opcode_table[] = {
	{ "RDMA_WRITE", IB_WR_RDMA_WRITE, 0, 0, -EINVAL },
	{ "RDMA_WRITE_WITH_IMM", IB_WR_RDMA_WRITE_WITH_IMM, 1, 1, -EINVAL },
	{ "SEND", IB_WR_SEND, 2, 2, 2 },
	{ "SEND_WITH_IMM", IB_WR_SEND_WITH_IMM, 3, 3, 3 },
	{ "RDMA_READ", IB_WR_RDMA_READ, 4, -EINVAL, -EINVAL },
	{ "ATOMIC_CMP_AND_SWP", IB_WR_ATOMIC_CMP_AND_SWP,
	  -EOPNOTSUPP, -EOPNOTSUPP, -EOPNOTSUPP },
	{ "REG_MR", IB_WR_REG_MR, -EOPNOTSUPP, -EOPNOTSUPP, -EOPNOTSUPP },
	{ "LOCAL_INV", IB_WR_LOCAL_INV,
	  -EOPNOTSUPP, -EOPNOTSUPP, -EOPNOTSUPP },
	{ "SEND_WITH_INV", IB_WR_SEND_WITH_INV,
	  -EOPNOTSUPP, -EOPNOTSUPP, -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(opcode, opcode_table, name);

static void attr_wr_opcode(struct kunit *test)
{
	const struct opcode_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, vroce_wr_opcode_to_wire(c->opcode, IB_QPT_RC),
			c->rc);
	KUNIT_EXPECT_EQ(test, vroce_wr_opcode_to_wire(c->opcode, IB_QPT_UC),
			c->uc);
	KUNIT_EXPECT_EQ(test, vroce_wr_opcode_to_wire(c->opcode, IB_QPT_UD),
			c->ud);
	KUNIT_EXPECT_EQ(test, vroce_wr_opcode_to_wire(c->opcode, IB_QPT_GSI),
			c->ud);
}

static const struct value_case status_table[] = {
	{ "SUCCESS", IB_WC_SUCCESS, 0 },
	{ "LOC_LEN_ERR", IB_WC_LOC_LEN_ERR, 1 },
	{ "LOC_QP_OP_ERR", IB_WC_LOC_QP_OP_ERR, 2 },
	{ "LOC_PROT_ERR", IB_WC_LOC_PROT_ERR, 3 },
	{ "WR_FLUSH_ERR", IB_WC_WR_FLUSH_ERR, 4 },
	{ "BAD_RESP_ERR", IB_WC_BAD_RESP_ERR, 5 },
	{ "LOC_ACCESS_ERR", IB_WC_LOC_ACCESS_ERR, 6 },
	{ "REM_INV_REQ_ERR", IB_WC_REM_INV_REQ_ERR, 7 },
	{ "REM_ACCESS_ERR", IB_WC_REM_ACCESS_ERR, 8 },
	{ "REM_OP_ERR", IB_WC_REM_OP_ERR, 9 },
	{ "RETRY_EXC_ERR", IB_WC_RETRY_EXC_ERR, 10 },
	{ "RNR_RETRY_EXC_ERR", IB_WC_RNR_RETRY_EXC_ERR, 11 },
	{ "REM_ABORT_ERR", IB_WC_REM_ABORT_ERR, 12 },
	{ "FATAL_ERR", IB_WC_FATAL_ERR, 13 },
	{ "RESP_TIMEOUT_ERR", IB_WC_RESP_TIMEOUT_ERR, 14 },
	{ "GENERAL_ERR", IB_WC_GENERAL_ERR, 15 },
	{ "unknown", IB_WC_GENERAL_ERR, 100 },
	{ "hostile", IB_WC_GENERAL_ERR, 255 },
};

KUNIT_ARRAY_PARAM_DESC(status, status_table, name);

static void attr_wc_status(struct kunit *test)
{
	const struct value_case *c = test->param_value;
	const struct virtio_rdma_cq_req req = {
		.wr_id = cpu_to_le64(0x0102030405060708),
		.status = c->wire,
		.vendor_err = cpu_to_le32(0x11121314),
	};
	struct ib_wc wc;

	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, (int)wc.status, c->core);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 0x0102030405060708);
	KUNIT_EXPECT_EQ(test, wc.vendor_err, 0x11121314);
}

static const struct value_case wc_opcode_table[] = {
	{ "SEND", IB_WC_SEND, 0 },
	{ "RDMA_WRITE", IB_WC_RDMA_WRITE, 1 },
	{ "RDMA_READ", IB_WC_RDMA_READ, 2 },
	{ "RECV", IB_WC_RECV, 3 },
	{ "RECV_RDMA_WITH_IMM", IB_WC_RECV_RDMA_WITH_IMM, 4 },
	{ "COMP_SWAP", IB_WC_COMP_SWAP, 5 },
	{ "FETCH_ADD", IB_WC_FETCH_ADD, 6 },
};

KUNIT_ARRAY_PARAM_DESC(wc_opcode, wc_opcode_table, name);

static void attr_wc_opcode(struct kunit *test)
{
	const struct value_case *c = test->param_value;
	const struct virtio_rdma_cq_req req = {
		.opcode = c->wire,
		.byte_len = cpu_to_le32(0x21222324),
		.imm_data = cpu_to_be32(0xa1a2a3a4),
		.src_qp = cpu_to_le32(0x414243),
		.wc_flags = cpu_to_le32(VIRTIO_IB_WC_WITH_IMM),
	};
	struct ib_wc wc;

	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)wc.opcode, c->core);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 0x21222324);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 0xa1a2a3a4);
	KUNIT_EXPECT_EQ(test, wc.src_qp, 0x414243);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.port_num, 1);
}

static void attr_wc_flags_and_bad_opcode(struct kunit *test)
{
	struct virtio_rdma_cq_req req = {
		.opcode = VIRTIO_IB_WC_RECV,
		.vlan = cpu_to_le16(0x0abc),
		.wc_flags = cpu_to_le32(VIRTIO_IB_WC_GRH |
					VIRTIO_IB_WC_WITH_VLAN | 0xffff0000),
	};
	struct ib_wc wc;

	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_GRH | IB_WC_WITH_VLAN);
	KUNIT_EXPECT_EQ(test, wc.vlan_id, 0x0abc);
	req.opcode = 100;
	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_GENERAL_ERR);
}

/* The network header of a datagram; the core guesses it if the device does not say. */
static void attr_wc_network(struct kunit *test)
{
	struct virtio_rdma_cq_req req = { .opcode = VIRTIO_IB_WC_RECV };
	struct ib_wc wc;

	req.wc_flags = cpu_to_le32(VIRTIO_IB_WC_GRH | VIRTIO_IB_WC_IPV4);
	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.wc_flags,
			IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE);
	KUNIT_EXPECT_EQ(test, wc.network_hdr_type, RDMA_NETWORK_IPV4);

	req.wc_flags = cpu_to_le32(VIRTIO_IB_WC_GRH | VIRTIO_IB_WC_IPV6);
	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.wc_flags,
			IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE);
	KUNIT_EXPECT_EQ(test, wc.network_hdr_type, RDMA_NETWORK_IPV6);

	req.wc_flags = cpu_to_le32(VIRTIO_IB_WC_GRH);
	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_GRH);
}

static struct kunit_case attr_cases[] = {
	KUNIT_CASE_PARAM(attr_mask, mask_gen_params),
	KUNIT_CASE_PARAM(attr_access, access_gen_params),
	KUNIT_CASE(attr_access_unknown_wire_bits),
	KUNIT_CASE_PARAM(attr_send_flags, send_flag_gen_params),
	KUNIT_CASE_PARAM(attr_modify_one, field_gen_params),
	KUNIT_CASE(attr_modify_all),
	KUNIT_CASE_PARAM(attr_state, state_gen_params),
	KUNIT_CASE_PARAM(attr_mtu, mtu_gen_params),
	KUNIT_CASE(attr_query_hostile),
	KUNIT_CASE(attr_qp_types),
	KUNIT_CASE_PARAM(attr_wr_opcode, opcode_gen_params),
	KUNIT_CASE_PARAM(attr_wc_status, status_gen_params),
	KUNIT_CASE_PARAM(attr_wc_opcode, wc_opcode_gen_params),
	KUNIT_CASE(attr_wc_flags_and_bad_opcode),
	KUNIT_CASE(attr_wc_network),
	{}
};

static struct kunit_suite attr_suite = {
	.name = "virtio_roce_attr",
	.test_cases = attr_cases,
};

kunit_test_suite(attr_suite);
