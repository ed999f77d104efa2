// SPDX-License-Identifier: GPL-2.0
/*
 * The wire format, byte for byte.
 *
 * The bytes below are written out by hand from the layout that the RFC prints:
 * each field has bytes of its own, lowest first.  A structure that was filled in
 * must come out as these bytes, and each field must be found again in them.
 */
#include <kunit/test.h>

#include "virtio_net_roce.h"

/* Bytes that can be looked at as a structure. */
#define GOLDEN		static const u8 __aligned(8)

static void expect_bytes(struct kunit *test, const void *object, size_t size,
			 const u8 *golden, size_t golden_size)
{
	KUNIT_ASSERT_EQ(test, size, golden_size);
	KUNIT_EXPECT_MEMEQ(test, object, golden, golden_size);
}

/* ----- configuration space ----- */

static void wire_config(struct kunit *test)
{
	GOLDEN golden[8] = {
		0x04, 0x03, 0x02, 0x01,		/* max_rdma_qps */
		0x14, 0x13, 0x12, 0x11,		/* max_rdma_cqs */
	};
	const struct virtio_net_roce_config *parsed = (const void *)golden;
	struct virtio_net_roce_config config = {
		.max_rdma_qps = cpu_to_le32(0x01020304),
		.max_rdma_cqs = cpu_to_le32(0x11121314),
	};

	expect_bytes(test, &config, sizeof(config), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->max_rdma_qps), 0x01020304);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->max_rdma_cqs), 0x11121314);
	KUNIT_EXPECT_EQ(test, VIRTIO_NET_F_ROCE, 55);
	KUNIT_EXPECT_EQ(test, VIRTIO_NET_ROCE_CONFIG_OFFSET, 24);
}

/* ----- control commands ----- */

static void wire_commands(struct kunit *test)
{
	static const u8 in_order[] = {
		VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE,
		VIRTIO_NET_CTRL_ROCE_QUERY_PORT,
		VIRTIO_NET_CTRL_ROCE_CREATE_CQ,
		VIRTIO_NET_CTRL_ROCE_DESTROY_CQ,
		VIRTIO_NET_CTRL_ROCE_CREATE_PD,
		VIRTIO_NET_CTRL_ROCE_DESTROY_PD,
		VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
		VIRTIO_NET_CTRL_ROCE_REG_USER_MR,
		VIRTIO_NET_CTRL_ROCE_DEREG_MR,
		VIRTIO_NET_CTRL_ROCE_CREATE_QP,
		VIRTIO_NET_CTRL_ROCE_MODIFY_QP,
		VIRTIO_NET_CTRL_ROCE_QUERY_QP,
		VIRTIO_NET_CTRL_ROCE_DESTROY_QP,
		VIRTIO_NET_CTRL_ROCE_CREATE_AH,
		VIRTIO_NET_CTRL_ROCE_DESTROY_AH,
		VIRTIO_NET_CTRL_ROCE_ADD_GID,
		VIRTIO_NET_CTRL_ROCE_DEL_GID,
		VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ,
	};
	int i;

	KUNIT_EXPECT_EQ(test, VIRTIO_NET_CTRL_ROCE, 6);
	KUNIT_EXPECT_GE(test, VIRTIO_NET_CTRL_ROCE_NUM, 18);
	for (i = 0; i < ARRAY_SIZE(in_order); i++)
		KUNIT_EXPECT_EQ(test, in_order[i], i);
}

static void wire_query_device(struct kunit *test)
{
	GOLDEN golden[128] = {
		0x01, 0, 0, 0, 0, 0, 0, 0,	/* device_cap_flags */
		0x08, 0x07, 0x06, 0x05,
		0x04, 0x03, 0x02, 0x01,		/* max_mr_size */
		0x00, 0x10, 0, 0, 0, 0, 0, 0,	/* page_size_cap */
		0x24, 0x23, 0x22, 0x21,		/* hw_ver */
		0x34, 0x33, 0x32, 0x31,		/* max_qp_wr */
		0x44, 0x43, 0x42, 0x41,		/* max_send_sge */
		0x54, 0x53, 0x52, 0x51,		/* max_recv_sge */
		0x64, 0x63, 0x62, 0x61,		/* max_sge_rd */
		0x74, 0x73, 0x72, 0x71,		/* max_cqe */
		0x84, 0x83, 0x82, 0x81,		/* max_mr */
		0x94, 0x93, 0x92, 0x91,		/* max_pd */
		0xa4, 0xa3, 0xa2, 0xa1,		/* max_qp_rd_atom */
		0xb4, 0xb3, 0xb2, 0xb1,		/* max_qp_init_rd_atom */
		0xc4, 0xc3, 0xc2, 0xc1,		/* max_ah */
		0xd1,				/* local_ca_ack_delay */
	};
	const struct virtio_rdma_ack_query_device *parsed = (const void *)golden;
	struct virtio_rdma_ack_query_device ack = {
		.device_cap_flags = cpu_to_le64(VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN),
		.max_mr_size = cpu_to_le64(0x0102030405060708),
		.page_size_cap = cpu_to_le64(4096),
		.hw_ver = cpu_to_le32(0x21222324),
		.max_qp_wr = cpu_to_le32(0x31323334),
		.max_send_sge = cpu_to_le32(0x41424344),
		.max_recv_sge = cpu_to_le32(0x51525354),
		.max_sge_rd = cpu_to_le32(0x61626364),
		.max_cqe = cpu_to_le32(0x71727374),
		.max_mr = cpu_to_le32(0x81828384),
		.max_pd = cpu_to_le32(0x91929394),
		.max_qp_rd_atom = cpu_to_le32(0xa1a2a3a4),
		.max_qp_init_rd_atom = cpu_to_le32(0xb1b2b3b4),
		.max_ah = cpu_to_le32(0xc1c2c3c4),
		.local_ca_ack_delay = 0xd1,
	};

	expect_bytes(test, &ack, sizeof(ack), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->device_cap_flags), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->max_mr_size),
			0x0102030405060708);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->page_size_cap), 4096);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->hw_ver), 0x21222324);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->max_qp_wr), 0x31323334);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->max_cqe), 0x71727374);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->max_ah), 0xc1c2c3c4);
	KUNIT_EXPECT_EQ(test, parsed->local_ca_ack_delay, 0xd1);
}

static void wire_query_port(struct kunit *test)
{
	GOLDEN golden[32] = {
		0x04, 0x03, 0x02, 0x01,		/* gid_tbl_len */
		0x14, 0x13, 0x12, 0x11,		/* max_msg_sz */
	};
	const struct virtio_rdma_ack_query_port *parsed = (const void *)golden;
	struct virtio_rdma_ack_query_port ack = {
		.gid_tbl_len = cpu_to_le32(0x01020304),
		.max_msg_sz = cpu_to_le32(0x11121314),
	};

	expect_bytes(test, &ack, sizeof(ack), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->gid_tbl_len), 0x01020304);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->max_msg_sz), 0x11121314);
}

/* The commands and answers that have one 32-bit number and nothing else. */
struct single_case {
	const char *name;
	size_t size;
	size_t offset;
};

#define SINGLE(type, member) {						\
	#type, sizeof(struct type), offsetof(struct type, member),	\
}

static const struct single_case single_table[] = {
	SINGLE(virtio_rdma_cmd_create_cq, cqe),
	SINGLE(virtio_rdma_ack_create_cq, cqn),
	SINGLE(virtio_rdma_cmd_destroy_cq, cqn),
	SINGLE(virtio_rdma_ack_create_pd, pdn),
	SINGLE(virtio_rdma_cmd_destroy_pd, pdn),
	SINGLE(virtio_rdma_cmd_dereg_mr, mrn),
	SINGLE(virtio_rdma_ack_create_qp, qpn),
	SINGLE(virtio_rdma_cmd_destroy_qp, qpn),
	SINGLE(virtio_rdma_ack_create_ah, ah),
};

KUNIT_ARRAY_PARAM_DESC(single, single_table, name);

static void wire_single_number(struct kunit *test)
{
	const struct single_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->size, 4);
	KUNIT_EXPECT_EQ(test, c->offset, 0);
}

static void wire_get_dma_mr(struct kunit *test)
{
	GOLDEN golden[8] = {
		0x04, 0x03, 0x02, 0x01,		/* pdn */
		0x05, 0, 0, 0,			/* access_flags */
	};
	const struct virtio_rdma_cmd_get_dma_mr *parsed = (const void *)golden;
	struct virtio_rdma_cmd_get_dma_mr cmd = {
		.pdn = cpu_to_le32(0x01020304),
		.access_flags = cpu_to_le32(VIRTIO_IB_ACCESS_LOCAL_WRITE |
					    VIRTIO_IB_ACCESS_REMOTE_READ),
	};

	expect_bytes(test, &cmd, sizeof(cmd), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->pdn), 0x01020304);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->access_flags), 5);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_ACCESS_REMOTE_WRITE, 2);
}

static void wire_mr_keys(struct kunit *test)
{
	GOLDEN golden[12] = {
		0x04, 0x03, 0x02, 0x01,		/* mrn */
		0x14, 0x13, 0x12, 0x11,		/* lkey */
		0x24, 0x23, 0x22, 0x21,		/* rkey */
	};
	const struct virtio_rdma_ack_mr *keys = (const void *)golden;
	struct virtio_rdma_ack_mr ack = {
		.mrn = cpu_to_le32(0x01020304),
		.lkey = cpu_to_le32(0x11121314),
		.rkey = cpu_to_le32(0x21222324),
	};

	expect_bytes(test, &ack, sizeof(ack), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, sizeof(*keys), sizeof(golden));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(keys->mrn), 0x01020304);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(keys->lkey), 0x11121314);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(keys->rkey), 0x21222324);
}

static void wire_reg_user_mr(struct kunit *test)
{
	GOLDEN golden[48] = {
		0x04, 0x03, 0x02, 0x01,		/* pdn */
		0x07, 0, 0, 0,			/* access_flags */
		0x28, 0x27, 0x26, 0x25,
		0x24, 0x23, 0x22, 0x21,		/* virt_addr */
		0x38, 0x37, 0x36, 0x35,
		0x34, 0x33, 0x32, 0x31,		/* length */
		0x02, 0, 0, 0,			/* npages */
		[32] = 0x00, 0x50, 0x46, 0x45,
		0x44, 0x43, 0x42, 0x41,		/* pages[0] */
		0x00, 0x60, 0x56, 0x55,
		0x54, 0x53, 0x52, 0x51,		/* pages[1] */
	};
	const struct virtio_rdma_cmd_reg_user_mr *parsed = (const void *)golden;
	struct virtio_rdma_cmd_reg_user_mr *cmd;

	cmd = kunit_kzalloc(test, sizeof(golden), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cmd);
	cmd->pdn = cpu_to_le32(0x01020304);
	cmd->access_flags = cpu_to_le32(7);
	cmd->virt_addr = cpu_to_le64(0x2122232425262728);
	cmd->length = cpu_to_le64(0x3132333435363738);
	cmd->npages = cpu_to_le32(2);
	cmd->pages[0] = cpu_to_le64(0x4142434445465000);
	cmd->pages[1] = cpu_to_le64(0x5152535455566000);

	KUNIT_EXPECT_EQ(test, sizeof(*cmd), 32);
	KUNIT_EXPECT_MEMEQ(test, cmd, golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->pdn), 0x01020304);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->access_flags), 7);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->virt_addr),
			0x2122232425262728);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->length), 0x3132333435363738);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->npages), 2);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->pages[0]),
			0x4142434445465000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->pages[1]),
			0x5152535455566000);
}

static void wire_create_qp(struct kunit *test)
{
	GOLDEN golden[56] = {
		0x04, 0x03, 0x02, 0x01,		/* pdn */
		0x02,				/* qp_type: RC */
		0x01,				/* sq_sig_all */
		[8] = 0x14, 0x13, 0x12, 0x11,	/* send_cqn */
		0x24, 0x23, 0x22, 0x21,		/* recv_cqn */
		0x34, 0x33, 0x32, 0x31,		/* cap.max_send_wr */
		0x44, 0x43, 0x42, 0x41,		/* cap.max_recv_wr */
		0x54, 0x53, 0x52, 0x51,		/* cap.max_send_sge */
		0x64, 0x63, 0x62, 0x61,		/* cap.max_recv_sge */
		0x74, 0x73, 0x72, 0x71,		/* cap.max_inline_data */
	};
	const struct virtio_rdma_cmd_create_qp *parsed = (const void *)golden;
	struct virtio_rdma_cmd_create_qp cmd = {
		.pdn = cpu_to_le32(0x01020304),
		.qp_type = VIRTIO_IB_QPT_RC,
		.sq_sig_all = 1,
		.send_cqn = cpu_to_le32(0x11121314),
		.recv_cqn = cpu_to_le32(0x21222324),
		.cap = {
			.max_send_wr = cpu_to_le32(0x31323334),
			.max_recv_wr = cpu_to_le32(0x41424344),
			.max_send_sge = cpu_to_le32(0x51525354),
			.max_recv_sge = cpu_to_le32(0x61626364),
			.max_inline_data = cpu_to_le32(0x71727374),
		},
	};

	expect_bytes(test, &cmd, sizeof(cmd), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, parsed->qp_type, VIRTIO_IB_QPT_RC);
	KUNIT_EXPECT_EQ(test, parsed->sq_sig_all, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->send_cqn), 0x11121314);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->recv_cqn), 0x21222324);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->cap.max_send_wr), 0x31323334);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->cap.max_recv_wr), 0x41424344);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->cap.max_send_sge),
			0x51525354);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->cap.max_recv_sge),
			0x61626364);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->cap.max_inline_data),
			0x71727374);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_QPT_SMI, 0);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_QPT_GSI, 1);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_QPT_UC, 3);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_QPT_UD, 4);
}

static const struct virtio_rdma_ah_attr ah_attr = {
	.grh = {
		.dgid = {
			0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56,
		},
		.flow_label = cpu_to_le32(0x12233),
		.sgid_index = 7,
		.hop_limit = 0x40,
		.traffic_class = 0x68,
	},
	.dmac = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 },
};

static void wire_modify_qp(struct kunit *test)
{
	GOLDEN golden[128] = {
		0x04, 0x03, 0x02, 0x01,		/* qpn */
		0xff, 0xff, 0x01, 0x00,		/* attr_mask */
		0x02,				/* qp_state: RTR */
		0x01,				/* cur_qp_state: INIT */
		0x05,				/* path_mtu: 4096 */
		0x11,				/* max_rd_atomic */
		0x12,				/* max_dest_rd_atomic */
		0x13,				/* min_rnr_timer */
		0x14,				/* timeout */
		0x15,				/* retry_cnt */
		0x16,				/* rnr_retry */
		[24] = 0x24, 0x23, 0x22, 0x21,	/* qkey */
		0x34, 0x33, 0x32, 0x31,		/* rq_psn */
		0x44, 0x43, 0x42, 0x41,		/* sq_psn */
		0x54, 0x53, 0x52, 0x51,		/* dest_qp_num */
		0x06, 0, 0, 0,			/* qp_access_flags */
		0x64, 0x63, 0x62, 0x61,		/* rate_limit */
		0x74, 0x73, 0x72, 0x71,		/* cap.max_send_wr */
		[72] = 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56, /* grh.dgid */
		0x33, 0x22, 0x01, 0x00,		/* grh.flow_label */
		0x07,				/* grh.sgid_index */
		0x40,				/* grh.hop_limit */
		0x68,				/* grh.traffic_class */
		[96] = 0x52, 0x54, 0x00, 0x12, 0x34, 0x56, /* dmac */
	};
	const struct virtio_rdma_cmd_modify_qp *parsed = (const void *)golden;
	struct virtio_rdma_cmd_modify_qp cmd = {
		.qpn = cpu_to_le32(0x01020304),
		.attr_mask = cpu_to_le32(0x1ffff),
		.qp_state = VIRTIO_IB_QPS_RTR,
		.cur_qp_state = VIRTIO_IB_QPS_INIT,
		.path_mtu = VIRTIO_IB_MTU_4096,
		.max_rd_atomic = 0x11,
		.max_dest_rd_atomic = 0x12,
		.min_rnr_timer = 0x13,
		.timeout = 0x14,
		.retry_cnt = 0x15,
		.rnr_retry = 0x16,
		.qkey = cpu_to_le32(0x21222324),
		.rq_psn = cpu_to_le32(0x31323334),
		.sq_psn = cpu_to_le32(0x41424344),
		.dest_qp_num = cpu_to_le32(0x51525354),
		.qp_access_flags = cpu_to_le32(VIRTIO_IB_ACCESS_REMOTE_WRITE |
					       VIRTIO_IB_ACCESS_REMOTE_READ),
		.rate_limit = cpu_to_le32(0x61626364),
		.cap.max_send_wr = cpu_to_le32(0x71727374),
	};

	cmd.ah_attr = ah_attr;
	expect_bytes(test, &cmd, sizeof(cmd), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->qpn), 0x01020304);
	KUNIT_EXPECT_EQ(test, parsed->qp_state, VIRTIO_IB_QPS_RTR);
	KUNIT_EXPECT_EQ(test, parsed->cur_qp_state, VIRTIO_IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, parsed->path_mtu, VIRTIO_IB_MTU_4096);
	KUNIT_EXPECT_EQ(test, parsed->max_rd_atomic, 0x11);
	KUNIT_EXPECT_EQ(test, parsed->max_dest_rd_atomic, 0x12);
	KUNIT_EXPECT_EQ(test, parsed->min_rnr_timer, 0x13);
	KUNIT_EXPECT_EQ(test, parsed->timeout, 0x14);
	KUNIT_EXPECT_EQ(test, parsed->retry_cnt, 0x15);
	KUNIT_EXPECT_EQ(test, parsed->rnr_retry, 0x16);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->qkey), 0x21222324);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->rq_psn), 0x31323334);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->sq_psn), 0x41424344);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->dest_qp_num), 0x51525354);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->qp_access_flags), 6);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->rate_limit), 0x61626364);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->cap.max_send_wr), 0x71727374);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->ah_attr.grh.flow_label),
			0x12233);
	KUNIT_EXPECT_EQ(test, parsed->ah_attr.grh.sgid_index, 7);
	KUNIT_EXPECT_EQ(test, parsed->ah_attr.grh.hop_limit, 0x40);
	KUNIT_EXPECT_EQ(test, parsed->ah_attr.grh.traffic_class, 0x68);
	KUNIT_EXPECT_EQ(test, parsed->ah_attr.dmac[5], 0x56);
}

static void wire_query_qp(struct kunit *test)
{
	GOLDEN golden_cmd[8] = {
		0x04, 0x03, 0x02, 0x01,		/* qpn */
		0x01, 0x80, 0, 0,		/* attr_mask */
	};
	GOLDEN golden[120] = {
		0x03,				/* qp_state: RTS */
		0x03,				/* path_mtu: 1024 */
		0x01,				/* sq_draining */
		0x11,				/* max_rd_atomic */
		0x12,				/* max_dest_rd_atomic */
		0x13,				/* min_rnr_timer */
		0x14,				/* timeout */
		0x15,				/* retry_cnt */
		0x16,				/* rnr_retry */
		[16] = 0x24, 0x23, 0x22, 0x21,	/* qkey */
		0x34, 0x33, 0x32, 0x31,		/* rq_psn */
		0x44, 0x43, 0x42, 0x41,		/* sq_psn */
		0x54, 0x53, 0x52, 0x51,		/* dest_qp_num */
		0x01, 0, 0, 0,			/* qp_access_flags */
		0x64, 0x63, 0x62, 0x61,		/* rate_limit */
		[56] = 0x74, 0x73, 0x72, 0x71,	/* cap.max_inline_data */
		[64] = 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56, /* grh.dgid */
		0x33, 0x22, 0x01, 0x00,		/* grh.flow_label */
		0x07,				/* grh.sgid_index */
		0x40,				/* grh.hop_limit */
		0x68,				/* grh.traffic_class */
		[88] = 0x52, 0x54, 0x00, 0x12, 0x34, 0x56, /* dmac */
	};
	const struct virtio_rdma_ack_query_qp *parsed = (const void *)golden;
	struct virtio_rdma_cmd_query_qp cmd = {
		.qpn = cpu_to_le32(0x01020304),
		.attr_mask = cpu_to_le32(VIRTIO_IB_QP_STATE |
					 VIRTIO_IB_QP_DEST_QPN),
	};
	struct virtio_rdma_ack_query_qp ack = {
		.qp_state = VIRTIO_IB_QPS_RTS,
		.path_mtu = VIRTIO_IB_MTU_1024,
		.sq_draining = 1,
		.max_rd_atomic = 0x11,
		.max_dest_rd_atomic = 0x12,
		.min_rnr_timer = 0x13,
		.timeout = 0x14,
		.retry_cnt = 0x15,
		.rnr_retry = 0x16,
		.qkey = cpu_to_le32(0x21222324),
		.rq_psn = cpu_to_le32(0x31323334),
		.sq_psn = cpu_to_le32(0x41424344),
		.dest_qp_num = cpu_to_le32(0x51525354),
		.qp_access_flags = cpu_to_le32(VIRTIO_IB_ACCESS_LOCAL_WRITE),
		.rate_limit = cpu_to_le32(0x61626364),
		.cap.max_inline_data = cpu_to_le32(0x71727374),
	};

	ack.ah_attr = ah_attr;
	expect_bytes(test, &cmd, sizeof(cmd), golden_cmd,
		     sizeof(golden_cmd));
	expect_bytes(test, &ack, sizeof(ack), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, parsed->qp_state, VIRTIO_IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, parsed->path_mtu, VIRTIO_IB_MTU_1024);
	KUNIT_EXPECT_EQ(test, parsed->sq_draining, 1);
	KUNIT_EXPECT_EQ(test, parsed->rnr_retry, 0x16);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->qkey), 0x21222324);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->cap.max_inline_data),
			0x71727374);
	KUNIT_EXPECT_EQ(test, parsed->ah_attr.grh.dgid[0], 0xfe);
	KUNIT_EXPECT_EQ(test, parsed->ah_attr.dmac[0], 0x52);
}

static void wire_ah(struct kunit *test)
{
	GOLDEN golden[48] = {
		0x04, 0x03, 0x02, 0x01,		/* pdn */
		[8] = 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56, /* grh.dgid */
		0x33, 0x22, 0x01, 0x00,		/* grh.flow_label */
		0x07,				/* grh.sgid_index */
		0x40,				/* grh.hop_limit */
		0x68,				/* grh.traffic_class */
		[32] = 0x52, 0x54, 0x00, 0x12, 0x34, 0x56, /* dmac */
	};
	GOLDEN golden_destroy[8] = {
		0x04, 0x03, 0x02, 0x01,		/* pdn */
		0x14, 0x13, 0x12, 0x11,		/* ah */
	};
	const struct virtio_rdma_cmd_create_ah *parsed = (const void *)golden;
	struct virtio_rdma_cmd_create_ah create = {
		.pdn = cpu_to_le32(0x01020304),
	};
	struct virtio_rdma_cmd_destroy_ah destroy = {
		.pdn = cpu_to_le32(0x01020304),
		.ah = cpu_to_le32(0x11121314),
	};

	create.ah_attr = ah_attr;
	expect_bytes(test, &create, sizeof(create), golden, sizeof(golden));
	expect_bytes(test, &destroy, sizeof(destroy), golden_destroy,
		     sizeof(golden_destroy));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->pdn), 0x01020304);
	KUNIT_EXPECT_EQ(test, parsed->ah_attr.grh.sgid_index, 7);
	KUNIT_EXPECT_EQ(test, parsed->ah_attr.dmac[1], 0x54);
}

static void wire_gid(struct kunit *test)
{
	GOLDEN golden[24] = {
		0x02, 0x01,			/* index */
		[8] = 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56, /* gid */
	};
	GOLDEN golden_del[2] = {
		0x02, 0x01,			/* index */
	};
	const struct virtio_rdma_cmd_add_gid *parsed = (const void *)golden;
	struct virtio_rdma_cmd_add_gid add = {
		.index = cpu_to_le16(0x0102),
		.gid = {
			0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56,
		},
	};
	struct virtio_rdma_cmd_del_gid del = {
		.index = cpu_to_le16(0x0102),
	};

	expect_bytes(test, &add, sizeof(add), golden, sizeof(golden));
	expect_bytes(test, &del, sizeof(del), golden_del, sizeof(golden_del));
	KUNIT_EXPECT_EQ(test, le16_to_cpu(parsed->index), 0x0102);
	KUNIT_EXPECT_EQ(test, parsed->gid[15], 0x56);
}

static void wire_req_notify(struct kunit *test)
{
	GOLDEN golden[8] = {
		0x04, 0x03, 0x02, 0x01,		/* cqn */
		0x02, 0, 0, 0,			/* flags */
	};
	const struct virtio_rdma_cmd_req_notify *parsed = (const void *)golden;
	struct virtio_rdma_cmd_req_notify cmd = {
		.cqn = cpu_to_le32(0x01020304),
		.flags = cpu_to_le32(VIRTIO_IB_NOTIFY_NEXT_COMPLETION),
	};

	expect_bytes(test, &cmd, sizeof(cmd), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->cqn), 0x01020304);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->flags), 2);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_NOTIFY_SOLICITED, 1);
}

/* ----- work requests and completions ----- */

static void wire_send_rdma(struct kunit *test)
{
	GOLDEN golden[592] = {
		0x08, 0x07, 0x06, 0x05,
		0x04, 0x03, 0x02, 0x01,		/* wr_id */
		0x01,				/* opcode: RDMA_WRITE_WITH_IMM */
		0x03,				/* send_flags: FENCE, SIGNALED */
		[12] = 0xa1, 0xa2, 0xa3, 0xa4,	/* imm_data, network order */
		0x18, 0x17, 0x16, 0x15,
		0x14, 0x13, 0x12, 0x11,		/* rdma.remote_addr */
		0x24, 0x23, 0x22, 0x21,		/* rdma.rkey */
		[560] = 0x01, 0, 0, 0,		/* num_sge */
		[576] = 0x38, 0x37, 0x36, 0x35,
		0x34, 0x33, 0x32, 0x31,		/* sg_list[0].addr */
		0x44, 0x43, 0x42, 0x41,		/* sg_list[0].length */
		0x54, 0x53, 0x52, 0x51,		/* sg_list[0].lkey */
	};
	const struct virtio_rdma_sq_req *parsed = (const void *)golden;
	struct virtio_rdma_sq_req *req;

	req = kunit_kzalloc(test, sizeof(golden), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, req);
	req->wr_id = cpu_to_le64(0x0102030405060708);
	req->opcode = VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM;
	req->send_flags = VIRTIO_IB_SEND_FENCE | VIRTIO_IB_SEND_SIGNALED;
	req->imm_data = cpu_to_be32(0xa1a2a3a4);
	req->rdma.remote_addr = cpu_to_le64(0x1112131415161718);
	req->rdma.rkey = cpu_to_le32(0x21222324);
	req->num_sge = cpu_to_le32(1);
	req->sg_list[0].addr = cpu_to_le64(0x3132333435363738);
	req->sg_list[0].length = cpu_to_le32(0x41424344);
	req->sg_list[0].lkey = cpu_to_le32(0x51525354);

	KUNIT_EXPECT_MEMEQ(test, req, golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->wr_id), 0x0102030405060708);
	KUNIT_EXPECT_EQ(test, parsed->opcode, VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(parsed->imm_data), 0xa1a2a3a4);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->rdma.remote_addr),
			0x1112131415161718);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->rdma.rkey), 0x21222324);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->num_sge), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->sg_list[0].addr),
			0x3132333435363738);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->sg_list[0].length),
			0x41424344);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->sg_list[0].lkey), 0x51525354);
}

static void wire_send_ud_inline(struct kunit *test)
{
	GOLDEN golden[576] = {
		0x08, 0x07, 0x06, 0x05,
		0x04, 0x03, 0x02, 0x01,		/* wr_id */
		0x02,				/* opcode: SEND */
		0x0c,				/* send_flags: SOLICITED, INLINE */
		[16] = 0x14, 0x13, 0x12, 0x11,	/* ud.remote_qpn */
		0x24, 0x23, 0x22, 0x21,		/* ud.remote_qkey */
		0x34, 0x33, 0x32, 0x31,		/* ud.ah */
		[48] = 'h', 'e', 'l', 'l', 'o',	/* inline_data */
		[559] = '!',
		0x00, 0x02,			/* inline_len */
	};
	const struct virtio_rdma_sq_req *parsed = (const void *)golden;
	struct virtio_rdma_sq_req *req;

	req = kunit_kzalloc(test, sizeof(golden), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, req);
	KUNIT_EXPECT_EQ(test, sizeof(*req), sizeof(golden));
	req->wr_id = cpu_to_le64(0x0102030405060708);
	req->opcode = VIRTIO_IB_WR_SEND;
	req->send_flags = VIRTIO_IB_SEND_SOLICITED | VIRTIO_IB_SEND_INLINE;
	req->ud.remote_qpn = cpu_to_le32(0x11121314);
	req->ud.remote_qkey = cpu_to_le32(0x21222324);
	req->ud.ah = cpu_to_le32(0x31323334);
	memcpy(req->inline_data, "hello", 5);
	req->inline_data[511] = '!';
	req->inline_len = cpu_to_le16(512);

	KUNIT_EXPECT_MEMEQ(test, req, golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->ud.remote_qpn), 0x11121314);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->ud.remote_qkey), 0x21222324);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->ud.ah), 0x31323334);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(parsed->inline_len), 512);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_WR_RDMA_WRITE, 0);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_WR_SEND_WITH_IMM, 3);
	KUNIT_EXPECT_EQ(test, VIRTIO_IB_WR_RDMA_READ, 4);
}

static void wire_recv(struct kunit *test)
{
	GOLDEN golden[40] = {
		0x08, 0x07, 0x06, 0x05,
		0x04, 0x03, 0x02, 0x01,		/* wr_id */
		0x01, 0, 0, 0,			/* num_sge */
		[24] = 0x38, 0x37, 0x36, 0x35,
		0x34, 0x33, 0x32, 0x31,		/* sg_list[0].addr */
		0x44, 0x43, 0x42, 0x41,		/* sg_list[0].length */
		0x54, 0x53, 0x52, 0x51,		/* sg_list[0].lkey */
	};
	const struct virtio_rdma_rq_req *parsed = (const void *)golden;
	struct virtio_rdma_rq_req *req;

	req = kunit_kzalloc(test, sizeof(golden), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, req);
	req->wr_id = cpu_to_le64(0x0102030405060708);
	req->num_sge = cpu_to_le32(1);
	req->sg_list[0].addr = cpu_to_le64(0x3132333435363738);
	req->sg_list[0].length = cpu_to_le32(0x41424344);
	req->sg_list[0].lkey = cpu_to_le32(0x51525354);

	KUNIT_EXPECT_MEMEQ(test, req, golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->wr_id), 0x0102030405060708);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->num_sge), 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->sg_list[0].lkey), 0x51525354);
}

static void wire_completion(struct kunit *test)
{
	GOLDEN golden[48] = {
		0x08, 0x07, 0x06, 0x05,
		0x04, 0x03, 0x02, 0x01,		/* wr_id */
		0x0b,				/* status: RNR_RETRY_EXC_ERR */
		0x04,				/* opcode: RECV_RDMA_WITH_IMM */
		[12] = 0x14, 0x13, 0x12, 0x11,	/* vendor_err */
		0x24, 0x23, 0x22, 0x21,		/* byte_len */
		0xa1, 0xa2, 0xa3, 0xa4,		/* imm_data, network order */
		0x34, 0x33, 0x32, 0x31,		/* qp_num */
		0x44, 0x43, 0x42, 0x41,		/* src_qp */
		0x03, 0, 0, 0,			/* wc_flags: GRH, WITH_IMM */
	};
	const struct virtio_rdma_cq_req *parsed = (const void *)golden;
	struct virtio_rdma_cq_req req = {
		.wr_id = cpu_to_le64(0x0102030405060708),
		.status = VIRTIO_IB_WC_RNR_RETRY_EXC_ERR,
		.opcode = VIRTIO_IB_WC_RECV_RDMA_WITH_IMM,
		.vendor_err = cpu_to_le32(0x11121314),
		.byte_len = cpu_to_le32(0x21222324),
		.imm_data = cpu_to_be32(0xa1a2a3a4),
		.qp_num = cpu_to_le32(0x31323334),
		.src_qp = cpu_to_le32(0x41424344),
		.wc_flags = cpu_to_le32(VIRTIO_IB_WC_GRH |
					VIRTIO_IB_WC_WITH_IMM),
	};

	expect_bytes(test, &req, sizeof(req), golden, sizeof(golden));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parsed->wr_id), 0x0102030405060708);
	KUNIT_EXPECT_EQ(test, parsed->status, VIRTIO_IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, parsed->opcode, VIRTIO_IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->vendor_err), 0x11121314);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->byte_len), 0x21222324);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(parsed->imm_data), 0xa1a2a3a4);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->qp_num), 0x31323334);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->src_qp), 0x41424344);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(parsed->wc_flags), 3);
}

/* In the order in which the RFC prints them, from 0. */
static void wire_statuses(struct kunit *test)
{
	static const u8 in_order[] = {
		VIRTIO_IB_WC_SUCCESS,
		VIRTIO_IB_WC_LOC_LEN_ERR,
		VIRTIO_IB_WC_LOC_QP_OP_ERR,
		VIRTIO_IB_WC_LOC_PROT_ERR,
		VIRTIO_IB_WC_WR_FLUSH_ERR,
		VIRTIO_IB_WC_BAD_RESP_ERR,
		VIRTIO_IB_WC_LOC_ACCESS_ERR,
		VIRTIO_IB_WC_REM_INV_REQ_ERR,
		VIRTIO_IB_WC_REM_ACCESS_ERR,
		VIRTIO_IB_WC_REM_OP_ERR,
		VIRTIO_IB_WC_RETRY_EXC_ERR,
		VIRTIO_IB_WC_RNR_RETRY_EXC_ERR,
		VIRTIO_IB_WC_REM_ABORT_ERR,
		VIRTIO_IB_WC_FATAL_ERR,
		VIRTIO_IB_WC_RESP_TIMEOUT_ERR,
		VIRTIO_IB_WC_GENERAL_ERR,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(in_order); i++)
		KUNIT_EXPECT_EQ(test, in_order[i], i);
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE(wire_config),
	KUNIT_CASE(wire_commands),
	KUNIT_CASE(wire_query_device),
	KUNIT_CASE(wire_query_port),
	KUNIT_CASE_PARAM(wire_single_number, single_gen_params),
	KUNIT_CASE(wire_get_dma_mr),
	KUNIT_CASE(wire_mr_keys),
	KUNIT_CASE(wire_reg_user_mr),
	KUNIT_CASE(wire_create_qp),
	KUNIT_CASE(wire_modify_qp),
	KUNIT_CASE(wire_query_qp),
	KUNIT_CASE(wire_ah),
	KUNIT_CASE(wire_gid),
	KUNIT_CASE(wire_req_notify),
	KUNIT_CASE(wire_send_rdma),
	KUNIT_CASE(wire_send_ud_inline),
	KUNIT_CASE(wire_recv),
	KUNIT_CASE(wire_completion),
	KUNIT_CASE(wire_statuses),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "virtio_roce_wire",
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
