// SPDX-License-Identifier: GPL-2.0
/*
 * The command layer on a function that answers by a script: the bytes of each command,
 * and the results of good and bad answers.
 */
#include <kunit/test.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_cmd_cq.h"
#include "../drivers/infiniband/hw/virtio_roce/vroce_cmd_mr.h"
#include "../drivers/infiniband/hw/virtio_roce/vroce_cmd_nvmf.h"
#include "../drivers/infiniband/hw/virtio_roce/vroce_cmd_qp.h"
#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define SCRIPT(test, ...)						\
({									\
	static const struct mock_answer answers[] = { __VA_ARGS__ };	\
									\
	mock_scripted(test, answers, ARRAY_SIZE(answers));		\
})

#define OK(command)		{ CMD(command) }
#define OK_BYTES(command, len, ...)					\
	{ CMD(command), 0, len, { __VA_ARGS__ } }

/* The script was followed to its end, and nothing else was sent. */
static void expect_end(struct mock *mock)
{
	KUNIT_EXPECT_STREQ(mock->test, mock->violation, "");
	KUNIT_EXPECT_EQ(mock->test, mock->script_pos, mock->script_len);
}

static void expect_request(struct mock *mock, unsigned int call, u8 command,
			   bool atomic, const u8 *bytes, size_t len,
			   size_t rsp_len)
{
	const struct mock_call *c = &mock->calls[call];
	struct kunit *test = mock->test;

	KUNIT_ASSERT_GT(test, mock->ncalls, call);
	KUNIT_EXPECT_EQ(test, c->command, command);
	KUNIT_EXPECT_EQ(test, c->atomic, atomic);
	KUNIT_EXPECT_EQ(test, c->rsp_len, rsp_len);
	KUNIT_ASSERT_EQ(test, c->req_len, len);
	if (len)
		KUNIT_EXPECT_MEMEQ(test, c->req, bytes, len);
}

/* Bytes that are not named are zero. */
#define EXPECT_REQUEST(mock, call, command, atomic, rsp_len, len, ...)	\
do {									\
	static const u8 bytes[len] = { __VA_ARGS__ };			\
									\
	expect_request(mock, call, CMD(command), atomic, bytes,		\
		       sizeof(bytes), rsp_len);				\
} while (0)

static void set_ah(struct rdma_ah_attr *attr)
{
	static union ib_gid gid = {
		.raw = { 0xfe, 0x80, [8] = 0x50, 0x54, 0x00, 0xff, 0xfe, 0x12,
			 0x34, 0x56 },
	};
	static const u8 mac[] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };

	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(attr, &gid, 0x12233, 7, 0x40, 0x68);
	memcpy(attr->roce.dmac, mac, sizeof(mac));
}

/* ----- one case for each command ----- */

static void cmd_query_device(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(QUERY_DEVICE, 128,
		0x01, 0, 0, 0, 0, 0, 0, 0,
		0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
		0x00, 0x10, 0, 0, 0, 0, 0, 0,
		0x24, 0x23, 0x22, 0x21,
		0x34, 0x33, 0x32, 0x31,
		0x44, 0x43, 0x42, 0x41,
		0x54, 0x53, 0x52, 0x51,
		0x64, 0x63, 0x62, 0x61,
		0x74, 0x73, 0x72, 0x71,
		0x84, 0x83, 0x82, 0x81,
		0x94, 0x93, 0x92, 0x91,
		0xa4, 0xa3, 0xa2, 0xa1,
		0xb4, 0xb3, 0xb2, 0xb1,
		0xc4, 0xc3, 0xc2, 0xc1,
		0xd1, 0, 0, 0,
		0xe4, 0xe3, 0xe2, 0xe1,
		0xf4, 0xf3, 0xf2, 0xf1,
		0x0c, 0x0b, 0x0a, 0x09));
	struct vroce_device_attr attr = {};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_query_device(&mock->aux, &attr));
	expect_request(mock, 0, CMD(QUERY_DEVICE), false, NULL, 0, 128);
	KUNIT_EXPECT_EQ(test, attr.device_cap_flags, 1);
	KUNIT_EXPECT_EQ(test, attr.max_mr_size, 0x0102030405060708);
	KUNIT_EXPECT_EQ(test, attr.page_size_cap, 4096);
	KUNIT_EXPECT_EQ(test, attr.hw_ver, 0x21222324);
	KUNIT_EXPECT_EQ(test, attr.max_qp_wr, 0x31323334);
	KUNIT_EXPECT_EQ(test, attr.max_send_sge, 0x41424344);
	KUNIT_EXPECT_EQ(test, attr.max_recv_sge, 0x51525354);
	KUNIT_EXPECT_EQ(test, attr.max_sge_rd, 0x61626364);
	KUNIT_EXPECT_EQ(test, attr.max_cqe, 0x71727374);
	KUNIT_EXPECT_EQ(test, attr.max_mr, 0x81828384);
	KUNIT_EXPECT_EQ(test, attr.max_pd, 0x91929394);
	KUNIT_EXPECT_EQ(test, attr.max_qp_rd_atom, 0xa1a2a3a4);
	KUNIT_EXPECT_EQ(test, attr.max_qp_init_rd_atom, 0xb1b2b3b4);
	KUNIT_EXPECT_EQ(test, attr.max_ah, 0xc1c2c3c4);
	KUNIT_EXPECT_EQ(test, attr.local_ca_ack_delay, 0xd1);
	KUNIT_EXPECT_EQ(test, attr.max_fast_reg_pages, 0xe1e2e3e4);
	KUNIT_EXPECT_EQ(test, attr.max_mcast_grp, 0xf1f2f3f4);
	KUNIT_EXPECT_EQ(test, attr.max_mcast_qp_attach, 0x090a0b0c);
	expect_end(mock);
}

static void cmd_query_port(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(QUERY_PORT, 32,
		0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12, 0x11));
	struct vroce_port_attr attr = {};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_query_port(&mock->aux, &attr));
	expect_request(mock, 0, CMD(QUERY_PORT), false, NULL, 0, 32);
	KUNIT_EXPECT_EQ(test, attr.gid_tbl_len, 0x01020304);
	KUNIT_EXPECT_EQ(test, attr.max_msg_sz, 0x11121314);
	expect_end(mock);
}

static void cmd_query_counters(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(QUERY_COUNTERS, 256,
		0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
		[8 * VIRTIO_RDMA_CNT_SENDS] = 0x11,
		[8 * VIRTIO_RDMA_CNT_RCVD_CNP] = 0x22,
		[8 * VIRTIO_RDMA_CNT_NUM] = 0x33));
	u64 values[VIRTIO_RDMA_CNT_NUM + 1] = {};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_query_counters(&mock->aux, values));
	expect_request(mock, 0, CMD(QUERY_COUNTERS), false, NULL, 0, 256);
	KUNIT_EXPECT_EQ(test, values[VIRTIO_RDMA_CNT_SENT_PKTS],
			0x0102030405060708);
	KUNIT_EXPECT_EQ(test, values[VIRTIO_RDMA_CNT_SENDS], 0x11);
	KUNIT_EXPECT_EQ(test, values[VIRTIO_RDMA_CNT_RCVD_CNP], 0x22);
	/* Counters of later devices are left out. */
	KUNIT_EXPECT_EQ(test, values[VIRTIO_RDMA_CNT_NUM], 0);
	expect_end(mock);
}

static void cmd_query_qp_counters(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(QUERY_QP_COUNTERS, 256,
		[8 * VIRTIO_RDMA_CNT_SENDS] = 0x11,
		[8 * VIRTIO_RDMA_CNT_RCVD_CNP] = 0x22,
		[8 * VIRTIO_RDMA_CNT_NUM] = 0x33));
	static const u8 request[] = { 0x04, 0x03, 0x02, 0x01 };
	u64 values[VIRTIO_RDMA_CNT_NUM + 1] = {};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_query_qp_counters(&mock->aux, 0x01020304, values));
	expect_request(mock, 0, CMD(QUERY_QP_COUNTERS), false, request, sizeof(request), 256);
	KUNIT_EXPECT_EQ(test, values[VIRTIO_RDMA_CNT_SENDS], 0x11);
	KUNIT_EXPECT_EQ(test, values[VIRTIO_RDMA_CNT_RCVD_CNP], 0x22);
	KUNIT_EXPECT_EQ(test, values[VIRTIO_RDMA_CNT_NUM], 0);
	expect_end(mock);
}

static void cmd_query_clock(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(QUERY_CLOCK, 8,
		0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x81));
	u64 time = 0;

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_query_clock(&mock->aux, &time));
	expect_request(mock, 0, CMD(QUERY_CLOCK), false, NULL, 0, 8);
	KUNIT_EXPECT_EQ(test, time, 0x8102030405060708);
	expect_end(mock);
}

static void cmd_cq(struct kunit *test)
{
	struct mock *mock = SCRIPT(test,
		OK_BYTES(CREATE_CQ, 4, 0x05, 0, 0, 0),
		OK(DESTROY_CQ));
	u32 cqn = 0;

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_create_cq(&mock->aux, 0x11223344,
						     &cqn));
	EXPECT_REQUEST(mock, 0, CREATE_CQ, false, 4, 4, 0x44, 0x33, 0x22, 0x11);
	KUNIT_EXPECT_EQ(test, cqn, 5);

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_destroy_cq(&mock->aux, 0x01020304));
	EXPECT_REQUEST(mock, 1, DESTROY_CQ, false, 0, 4, 0x04, 0x03, 0x02, 0x01);
	expect_end(mock);
}

static void cmd_pd(struct kunit *test)
{
	struct mock *mock = SCRIPT(test,
		OK_BYTES(CREATE_PD, 4, 0x04, 0x03, 0x02, 0x81),
		OK(DESTROY_PD));
	u32 pdn = 0;

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_create_pd(&mock->aux, &pdn));
	expect_request(mock, 0, CMD(CREATE_PD), false, NULL, 0, 4);
	KUNIT_EXPECT_EQ(test, pdn, 0x81020304);

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_destroy_pd(&mock->aux, 0x01020304));
	EXPECT_REQUEST(mock, 1, DESTROY_PD, false, 0, 4, 0x04, 0x03, 0x02, 0x01);
	expect_end(mock);
}

static void cmd_get_dma_mr(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(GET_DMA_MR, 12,
		0x04, 0x03, 0x02, 0x01,
		0x14, 0x13, 0x12, 0x11,
		0x24, 0x23, 0x22, 0x21));
	struct vroce_mr_keys keys = {};

	KUNIT_EXPECT_EQ(test, 0,
			vroce_cmd_get_dma_mr(&mock->aux, 0x31323334,
					     IB_ACCESS_LOCAL_WRITE |
					     IB_ACCESS_REMOTE_READ, &keys));
	EXPECT_REQUEST(mock, 0, GET_DMA_MR, false, 12, 8,
		       0x34, 0x33, 0x32, 0x31, 0x05, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, keys.mrn, 0x01020304);
	KUNIT_EXPECT_EQ(test, keys.lkey, 0x11121314);
	KUNIT_EXPECT_EQ(test, keys.rkey, 0x21222324);
	expect_end(mock);
}

static void cmd_reg_user_mr(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(REG_USER_MR, 12,
		0x04, 0x03, 0x02, 0x01,
		0x14, 0x13, 0x12, 0x11,
		0x24, 0x23, 0x22, 0x21));
	const __le64 pages[] = {
		cpu_to_le64(0x4142434445465000), cpu_to_le64(0x51525354556000),
	};
	const struct vroce_reg_user_mr_params params = {
		.pdn = 0x01020304,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_RELAXED_ORDERING,
		.virt_addr = 0x2122232425262728,
		.length = 0x1001,
		.npages = 2,
		.pages = pages,
	};
	struct vroce_mr_keys keys = {};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_reg_user_mr(&mock->aux, &params,
						       &keys));
	EXPECT_REQUEST(mock, 0, REG_USER_MR, false, 12, 48,
		       0x04, 0x03, 0x02, 0x01,
		       0x03, 0, 0, 0,
		       0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
		       0x01, 0x10, 0, 0, 0, 0, 0, 0,
		       0x02, 0, 0, 0, 0, 0, 0, 0,
		       0x00, 0x50, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
		       0x00, 0x60, 0x55, 0x54, 0x53, 0x52, 0x51, 0x00);
	KUNIT_EXPECT_EQ(test, keys.mrn, 0x01020304);
	KUNIT_EXPECT_EQ(test, keys.lkey, 0x11121314);
	KUNIT_EXPECT_EQ(test, keys.rkey, 0x21222324);
	expect_end(mock);
}

/* The examples of spec.rst. */
static void cmd_huge_page(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(REG_USER_MR, 12, 0));
	const __le64 page = cpu_to_le64(0x100000000);
	const struct vroce_reg_user_mr_params params = {
		.pdn = 2,
		.access = IB_ACCESS_LOCAL_WRITE,
		.virt_addr = 0x7f0040000000,
		.length = SZ_1G,
		.npages = 1,
		.page_shift = 30,
		.pages = &page,
	};
	struct vroce_mr_keys keys;

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_reg_user_mr(&mock->aux, &params, &keys));
	EXPECT_REQUEST(mock, 0, REG_USER_MR, false, 12, 40,
		       0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
		       0x00, 0x00, 0x00, 0x40, 0x00, 0x7f, 0x00, 0x00,
		       0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00,
		       0x01, 0x00, 0x00, 0x00, 0x1e, 0x00, 0x00, 0x00,
		       0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00);
	expect_end(mock);
}

static void cmd_list_elsewhere(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK(REREG_MR_LONG), OK(REREG_MR));
	const __le64 where[] = { cpu_to_le64(0x5000), cpu_to_le64(0x9000) };
	struct vroce_reg_user_mr_params params = {
		.pdn = 2,
		.access = IB_ACCESS_LOCAL_WRITE,
		.virt_addr = 0x7f0040000000,
		.length = 600 * 4096,
		.npages = 600,
		.indirect = true,
		.pages = where,
	};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_rereg_mr(&mock->aux, 5, &params));
	EXPECT_REQUEST(mock, 0, REREG_MR_LONG, false, 0, 56,
		       0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
		       0x00, 0x00, 0x00, 0x40, 0x00, 0x7f, 0x00, 0x00,
		       0x00, 0x80, 0x25, 0x00, 0x00, 0x00, 0x00, 0x00,
		       0x58, 0x02, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00,
		       0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		       0x00, 0x50, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		       0x00, 0x90, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00);
	/* A command that needs neither has the form of before. */
	params.npages = 2;
	params.indirect = false;
	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_rereg_mr(&mock->aux, 5, &params));
	EXPECT_REQUEST(mock, 1, REREG_MR, false, 0, 48,
		       0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
		       0x00, 0x00, 0x00, 0x40, 0x00, 0x7f, 0x00, 0x00,
		       0x00, 0x80, 0x25, 0x00, 0x00, 0x00, 0x00, 0x00,
		       0x02, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00,
		       0x00, 0x50, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		       0x00, 0x90, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00);
	expect_end(mock);
}

static void cmd_dereg_mr(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK(DEREG_MR));

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_dereg_mr(&mock->aux, 0x01020304));
	EXPECT_REQUEST(mock, 0, DEREG_MR, false, 0, 4, 0x04, 0x03, 0x02, 0x01);
	expect_end(mock);
}

static const struct vroce_create_qp_params qp_params = {
	.pdn = 0x01020304,
	.type = IB_QPT_RC,
	.sq_sig_all = true,
	.send_cqn = 0x11121314,
	.recv_cqn = 0x21222324,
	.cap = {
		.max_send_wr = 0x31323334,
		.max_recv_wr = 0x41424344,
		.max_send_sge = 0x51525354,
		.max_recv_sge = 0x61626364,
		.max_inline_data = 0x71727374,
	},
};

static void cmd_qp(struct kunit *test)
{
	struct mock *mock = SCRIPT(test,
		OK_BYTES(CREATE_QP, 4, 0x07, 0, 0, 0),
		OK(DESTROY_QP));
	u32 qpn = 0;

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_create_qp(&mock->aux, &qp_params,
						     &qpn));
	EXPECT_REQUEST(mock, 0, CREATE_QP, false, 4, 56,
		       0x04, 0x03, 0x02, 0x01,
		       0x02, 0x01, 0, 0,
		       0x14, 0x13, 0x12, 0x11,
		       0x24, 0x23, 0x22, 0x21,
		       0x34, 0x33, 0x32, 0x31,
		       0x44, 0x43, 0x42, 0x41,
		       0x54, 0x53, 0x52, 0x51,
		       0x64, 0x63, 0x62, 0x61,
		       0x74, 0x73, 0x72, 0x71);
	KUNIT_EXPECT_EQ(test, qpn, 7);

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_destroy_qp(&mock->aux, 0x01020304));
	EXPECT_REQUEST(mock, 1, DESTROY_QP, false, 0, 4, 0x04, 0x03, 0x02, 0x01);
	expect_end(mock);
}

static void cmd_modify_qp(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK(MODIFY_QP));
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = 0x51525354,
		.rq_psn = 0x31323334,
		.max_dest_rd_atomic = 0x12,
		.min_rnr_timer = 0x13,
		/* not in the mask, so not to be sent */
		.sq_psn = 0x41424344,
		.qkey = 0x61626364,
		.timeout = 0x14,
	};

	set_ah(&attr.ah_attr);
	KUNIT_EXPECT_EQ(test, 0,
			vroce_cmd_modify_qp(&mock->aux, 0x01020304, &attr,
					    IB_QP_STATE | IB_QP_AV |
					    IB_QP_PATH_MTU | IB_QP_DEST_QPN |
					    IB_QP_RQ_PSN | IB_QP_MIN_RNR_TIMER |
					    IB_QP_MAX_DEST_RD_ATOMIC, 0));
	EXPECT_REQUEST(mock, 0, MODIFY_QP, false, 0, 128,
		       0x04, 0x03, 0x02, 0x01,
		       0x31, 0xaa, 0, 0,
		       0x02, 0, 0x03, 0, 0x12, 0x13,
		       [28] = 0x34, 0x33, 0x32, 0x31,
		       [36] = 0x54, 0x53, 0x52, 0x51,
		       [72] = 0xfe, 0x80,
		       [80] = 0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56,
		       0x33, 0x22, 0x01, 0x00,
		       0x07, 0x40, 0x68, 0x00,
		       0x52, 0x54, 0x00, 0x12, 0x34, 0x56);
	expect_end(mock);
}

static void cmd_query_qp(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK_BYTES(QUERY_QP, 120,
		0x03, 0x05, 0x01, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
		[16] = 0x24, 0x23, 0x22, 0x21,
		0x34, 0x33, 0x32, 0x31,
		0x44, 0x43, 0x42, 0x41,
		0x54, 0x53, 0x52, 0x51,
		0x06,
		[64] = 0xfe, 0x80,
		[72] = 0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56,
		0x33, 0x22, 0x01, 0x00,
		0x07, 0x40, 0x68, 0x00,
		0x52, 0x54, 0x00, 0x12, 0x34, 0x56));
	struct ib_qp_attr attr = {};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_query_qp(&mock->aux, 0x01020304,
						    IB_QP_STATE | IB_QP_AV,
						    &attr));
	EXPECT_REQUEST(mock, 0, QUERY_QP, false, 120, 8,
		       0x04, 0x03, 0x02, 0x01, 0x11, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, attr.cur_qp_state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, attr.path_mtu, IB_MTU_4096);
	KUNIT_EXPECT_EQ(test, attr.sq_draining, 1);
	KUNIT_EXPECT_EQ(test, attr.max_rd_atomic, 0x11);
	KUNIT_EXPECT_EQ(test, attr.max_dest_rd_atomic, 0x12);
	KUNIT_EXPECT_EQ(test, attr.min_rnr_timer, 0x13);
	KUNIT_EXPECT_EQ(test, attr.timeout, 0x14);
	KUNIT_EXPECT_EQ(test, attr.retry_cnt, 0x15);
	KUNIT_EXPECT_EQ(test, attr.rnr_retry, 0x16);
	KUNIT_EXPECT_EQ(test, attr.qkey, 0x21222324);
	KUNIT_EXPECT_EQ(test, attr.rq_psn, 0x31323334);
	KUNIT_EXPECT_EQ(test, attr.sq_psn, 0x41424344);
	KUNIT_EXPECT_EQ(test, attr.dest_qp_num, 0x51525354);
	KUNIT_EXPECT_EQ(test, attr.qp_access_flags,
			IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, rdma_ah_read_grh(&attr.ah_attr)->flow_label,
			0x12233);
	KUNIT_EXPECT_EQ(test, rdma_ah_read_grh(&attr.ah_attr)->sgid_index, 7);
	KUNIT_EXPECT_EQ(test, rdma_ah_read_grh(&attr.ah_attr)->dgid.raw[15],
			0x56);
	KUNIT_EXPECT_EQ(test, attr.ah_attr.roce.dmac[4], 0x34);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_port_num(&attr.ah_attr), 1);
	expect_end(mock);
}

static void cmd_ah(struct kunit *test)
{
	struct mock *mock = SCRIPT(test,
		OK_BYTES(CREATE_AH, 4, 0x04, 0x03, 0x02, 0x01),
		OK(DESTROY_AH),
		OK_BYTES(CREATE_AH, 4, 0x05, 0, 0, 0),
		OK(DESTROY_AH));
	struct rdma_ah_attr attr = {};
	u32 ahn = 0;

	set_ah(&attr);
	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_create_ah(&mock->aux, false,
						     0x11121314, &attr, &ahn));
	EXPECT_REQUEST(mock, 0, CREATE_AH, false, 4, 48,
		       0x14, 0x13, 0x12, 0x11,
		       [8] = 0xfe, 0x80,
		       [16] = 0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56,
		       0x33, 0x22, 0x01, 0x00,
		       0x07, 0x40, 0x68, 0x00,
		       0x52, 0x54, 0x00, 0x12, 0x34, 0x56);
	KUNIT_EXPECT_EQ(test, ahn, 0x01020304);
	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_destroy_ah(&mock->aux,
						      0x11121314, ahn));
	EXPECT_REQUEST(mock, 1, DESTROY_AH, false, 0, 8,
		       0x14, 0x13, 0x12, 0x11, 0x04, 0x03, 0x02, 0x01);

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_create_ah(&mock->aux, true,
						     0x11121314, &attr, &ahn));
	EXPECT_REQUEST(mock, 2, CREATE_AH, true, 4, 48,
		       0x14, 0x13, 0x12, 0x11,
		       [8] = 0xfe, 0x80,
		       [16] = 0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56,
		       0x33, 0x22, 0x01, 0x00,
		       0x07, 0x40, 0x68, 0x00,
		       0x52, 0x54, 0x00, 0x12, 0x34, 0x56);
	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_destroy_ah(&mock->aux,
						      0x11121314, ahn));
	EXPECT_REQUEST(mock, 3, DESTROY_AH, false, 0, 8,
		       0x14, 0x13, 0x12, 0x11, 0x05, 0, 0, 0);
	expect_end(mock);
}

static void cmd_gid(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK(ADD_GID), OK(ADD_GID),
				   OK(DEL_GID));
	static const union ib_gid gid = {
		.raw = { 0xfe, 0x80, [8] = 0x50, 0x54, 0x00, 0xff, 0xfe, 0x12,
			 0x34, 0x56 },
	};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_add_gid(&mock->aux, 0x0102, &gid,
						   0));
	EXPECT_REQUEST(mock, 0, ADD_GID, false, 0, 24,
		       0x02, 0x01, [8] = 0xfe, 0x80,
		       [16] = 0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56);
	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_add_gid(&mock->aux, 0x0102, &gid,
						   0x0abc));
	EXPECT_REQUEST(mock, 1, ADD_GID, false, 0, 24,
		       0x02, 0x01, 0xbc, 0x8a, [8] = 0xfe, 0x80,
		       [16] = 0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56);
	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_del_gid(&mock->aux, 0x0102));
	EXPECT_REQUEST(mock, 2, DEL_GID, false, 0, 2, 0x02, 0x01);
	expect_end(mock);
}

static void cmd_req_notify(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK(REQ_NOTIFY_CQ), OK(REQ_NOTIFY_CQ));

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_req_notify_cq(&mock->aux,
							 0x01020304, false));
	EXPECT_REQUEST(mock, 0, REQ_NOTIFY_CQ, false, 0, 8,
		       0x04, 0x03, 0x02, 0x01, 0x02, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_req_notify_cq(&mock->aux,
							 0x01020304, true));
	EXPECT_REQUEST(mock, 1, REQ_NOTIFY_CQ, false, 0, 8,
		       0x04, 0x03, 0x02, 0x01, 0x01, 0, 0, 0);
	expect_end(mock);
}

static void cmd_mcast(struct kunit *test)
{
	struct mock *mock = SCRIPT(test, OK(ATTACH_MCAST), OK(DETACH_MCAST));
	static const union ib_gid gid = {
		.raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 },
	};

	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_attach_mcast(&mock->aux, 0x01020304,
							&gid));
	EXPECT_REQUEST(mock, 0, ATTACH_MCAST, false, 0, 24,
		       0x04, 0x03, 0x02, 0x01, [18] = 0xff, 0xff, 239, 1, 2, 3);
	KUNIT_EXPECT_EQ(test, 0, vroce_cmd_detach_mcast(&mock->aux, 0x01020304,
							&gid));
	EXPECT_REQUEST(mock, 1, DETACH_MCAST, false, 0, 24,
		       0x04, 0x03, 0x02, 0x01, [18] = 0xff, 0xff, 239, 1, 2, 3);
	expect_end(mock);
}

/* ----- answers that are not a success ----- */

static int run_query_device(struct mock *mock)
{
	struct vroce_device_attr attr;

	return vroce_cmd_query_device(&mock->aux, &attr);
}

static int run_query_port(struct mock *mock)
{
	struct vroce_port_attr attr;

	return vroce_cmd_query_port(&mock->aux, &attr);
}

static int run_create_cq(struct mock *mock)
{
	u32 cqn;

	return vroce_cmd_create_cq(&mock->aux, 1, &cqn);
}

static int run_destroy_cq(struct mock *mock)
{
	return vroce_cmd_destroy_cq(&mock->aux, 1);
}

static int run_create_pd(struct mock *mock)
{
	u32 pdn;

	return vroce_cmd_create_pd(&mock->aux, &pdn);
}

static int run_destroy_pd(struct mock *mock)
{
	return vroce_cmd_destroy_pd(&mock->aux, 1);
}

static int run_get_dma_mr(struct mock *mock)
{
	struct vroce_mr_keys keys;

	return vroce_cmd_get_dma_mr(&mock->aux, 1, 0, &keys);
}

static int run_reg_user_mr(struct mock *mock)
{
	const __le64 page = cpu_to_le64(4096);
	const struct vroce_reg_user_mr_params params = {
		.length = 1, .npages = 1, .pages = &page,
	};
	struct vroce_mr_keys keys;

	return vroce_cmd_reg_user_mr(&mock->aux, &params, &keys);
}

static int run_rereg_mr_long(struct mock *mock)
{
	const __le64 page = cpu_to_le64(4096);
	const struct vroce_reg_user_mr_params params = {
		.length = 1, .npages = 1, .page_shift = 21, .pages = &page,
	};

	return vroce_cmd_rereg_mr(&mock->aux, 1, &params);
}

static int run_dereg_mr(struct mock *mock)
{
	return vroce_cmd_dereg_mr(&mock->aux, 1);
}

static int run_create_qp(struct mock *mock)
{
	u32 qpn;

	return vroce_cmd_create_qp(&mock->aux, &qp_params, &qpn);
}

static int run_modify_qp(struct mock *mock)
{
	static const struct ib_qp_attr attr;

	return vroce_cmd_modify_qp(&mock->aux, 2, &attr, IB_QP_STATE, 0);
}

static int run_query_qp(struct mock *mock)
{
	struct ib_qp_attr attr;

	return vroce_cmd_query_qp(&mock->aux, 2, IB_QP_STATE, &attr);
}

static int run_destroy_qp(struct mock *mock)
{
	return vroce_cmd_destroy_qp(&mock->aux, 2);
}

static int run_create_ah(struct mock *mock)
{
	struct rdma_ah_attr attr = {};
	u32 ahn;

	set_ah(&attr);
	return vroce_cmd_create_ah(&mock->aux, true, 1, &attr, &ahn);
}

static int run_destroy_ah(struct mock *mock)
{
	return vroce_cmd_destroy_ah(&mock->aux, 1, 1);
}

static int run_add_gid(struct mock *mock)
{
	static const union ib_gid gid;

	return vroce_cmd_add_gid(&mock->aux, 1, &gid, 0);
}

static int run_del_gid(struct mock *mock)
{
	return vroce_cmd_del_gid(&mock->aux, 1);
}

static int run_req_notify(struct mock *mock)
{
	return vroce_cmd_req_notify_cq(&mock->aux, 1, false);
}

static int run_query_counters(struct mock *mock)
{
	u64 values[VIRTIO_RDMA_CNT_NUM];

	return vroce_cmd_query_counters(&mock->aux, values);
}

static int run_query_qp_counters(struct mock *mock)
{
	u64 values[VIRTIO_RDMA_CNT_NUM];

	return vroce_cmd_query_qp_counters(&mock->aux, 2, values);
}

static int run_query_clock(struct mock *mock)
{
	u64 time;

	return vroce_cmd_query_clock(&mock->aux, &time);
}

static int run_attach_mcast(struct mock *mock)
{
	static const union ib_gid gid = { .raw = { 0xff, 0x12, [15] = 1 } };

	return vroce_cmd_attach_mcast(&mock->aux, 2, &gid);
}

static int run_detach_mcast(struct mock *mock)
{
	static const union ib_gid gid = { .raw = { 0xff, 0x12, [15] = 1 } };

	return vroce_cmd_detach_mcast(&mock->aux, 2, &gid);
}

/**
 * struct cmd_case - a command
 * @name: name
 * @command: number
 * @run: sends one; NULL if no caller of it changes the result
 * @refused: what VIRTIO_NET_ERR means
 */
struct cmd_case {
	const char *name;
	u8 command;
	int (*run)(struct mock *mock);
	int refused;
};

static int run_query_nvmf(struct mock *mock)
{
	struct virtio_rdma_ack_query_nvmf caps;

	return vroce_cmd_query_nvmf(&mock->aux, &caps);
}

static int run_query_namespace(struct mock *mock)
{
	const struct virtio_rdma_cmd_query_namespace req = { .name = "disk" };
	struct virtio_rdma_ack_query_namespace rsp;

	return vroce_cmd_query_namespace(&mock->aux, &req, &rsp);
}

static int run_set_srq_nvmf(struct mock *mock)
{
	const struct virtio_rdma_cmd_set_srq_nvmf req = {};

	return vroce_cmd_set_srq_nvmf(&mock->aux, &req);
}

static int run_create_nvme_ctrl(struct mock *mock)
{
	const struct virtio_rdma_cmd_create_nvme_ctrl req = {};
	u32 handle;

	return vroce_cmd_create_nvme_ctrl(&mock->aux, &req, &handle);
}

static int run_destroy_nvme_ctrl(struct mock *mock)
{
	return vroce_cmd_destroy_nvme_ctrl(&mock->aux, 1);
}

static int run_map_nsid(struct mock *mock)
{
	const struct virtio_rdma_cmd_map_nsid req = {};

	return vroce_cmd_map_nsid(&mock->aux, &req);
}

static int run_unmap_nsid(struct mock *mock)
{
	return vroce_cmd_unmap_nsid(&mock->aux, 1, 1);
}

static int run_set_qp_nvmf(struct mock *mock)
{
	const struct virtio_rdma_cmd_set_qp_nvmf req = {};

	return vroce_cmd_set_qp_nvmf(&mock->aux, &req);
}

static const struct cmd_case cmd_table[] = {
	{ "QUERY_DEVICE", CMD(QUERY_DEVICE), run_query_device, -EIO },
	{ "QUERY_PORT", CMD(QUERY_PORT), run_query_port, -EIO },
	{ "CREATE_CQ", CMD(CREATE_CQ), run_create_cq, -ENOMEM },
	{ "DESTROY_CQ", CMD(DESTROY_CQ), run_destroy_cq, -EIO },
	{ "CREATE_PD", CMD(CREATE_PD), run_create_pd, -ENOMEM },
	{ "DESTROY_PD", CMD(DESTROY_PD), run_destroy_pd, -EIO },
	{ "GET_DMA_MR", CMD(GET_DMA_MR), run_get_dma_mr, -ENOMEM },
	{ "REG_USER_MR", CMD(REG_USER_MR), run_reg_user_mr, -ENOMEM },
	{ "REREG_MR_LONG", CMD(REREG_MR_LONG), run_rereg_mr_long, -ENOMEM },
	{ "DEREG_MR", CMD(DEREG_MR), run_dereg_mr, -EIO },
	{ "CREATE_QP", CMD(CREATE_QP), run_create_qp, -ENOMEM },
	{ "MODIFY_QP", CMD(MODIFY_QP), run_modify_qp, -EINVAL },
	{ "QUERY_QP", CMD(QUERY_QP), run_query_qp, -EIO },
	{ "DESTROY_QP", CMD(DESTROY_QP), run_destroy_qp, -EIO },
	{ "CREATE_AH", CMD(CREATE_AH), run_create_ah, -ENOMEM },
	{ "DESTROY_AH", CMD(DESTROY_AH), run_destroy_ah, -EIO },
	{ "ADD_GID", CMD(ADD_GID), run_add_gid, -EINVAL },
	{ "DEL_GID", CMD(DEL_GID), run_del_gid, -EIO },
	{ "REQ_NOTIFY_CQ", CMD(REQ_NOTIFY_CQ), run_req_notify, -EIO },
	{ "QUERY_COUNTERS", CMD(QUERY_COUNTERS), run_query_counters, -EIO },
	{ "QUERY_QP_COUNTERS", CMD(QUERY_QP_COUNTERS), run_query_qp_counters, -EIO },
	{ "QUERY_CLOCK", CMD(QUERY_CLOCK), run_query_clock, -EIO },
	{ "ATTACH_MCAST", CMD(ATTACH_MCAST), run_attach_mcast, -ENOMEM },
	{ "DETACH_MCAST", CMD(DETACH_MCAST), run_detach_mcast, -EIO },
	{ "ALLOC_MR", CMD(ALLOC_MR), NULL, -ENOMEM },
	{ "ALLOC_DOORBELL", CMD(ALLOC_DOORBELL), NULL, -ENOMEM },
	{ "FREE_DOORBELL", CMD(FREE_DOORBELL), NULL, -EIO },
	{ "CREATE_SRQ", CMD(CREATE_SRQ), NULL, -ENOMEM },
	{ "MODIFY_SRQ", CMD(MODIFY_SRQ), NULL, -EINVAL },
	{ "QUERY_SRQ", CMD(QUERY_SRQ), NULL, -EIO },
	{ "DESTROY_SRQ", CMD(DESTROY_SRQ), NULL, -EIO },
	{ "RESIZE_SRQ", CMD(RESIZE_SRQ), NULL, -EINVAL },
	{ "RESIZE_CQ", CMD(RESIZE_CQ), NULL, -ENOMEM },
	{ "REREG_MR", CMD(REREG_MR), NULL, -ENOMEM },
	{ "ALLOC_MW", CMD(ALLOC_MW), NULL, -ENOMEM },
	{ "CREATE_XRCD", CMD(CREATE_XRCD), NULL, -ENOMEM },
	{ "DESTROY_XRCD", CMD(DESTROY_XRCD), NULL, -EIO },
	{ "CREATE_XRC_SRQ", CMD(CREATE_XRC_SRQ), NULL, -ENOMEM },
	{ "CREATE_FLOW", CMD(CREATE_FLOW), NULL, -ENOMEM },
	{ "DESTROY_FLOW", CMD(DESTROY_FLOW), NULL, -EIO },
	{ "QUERY_FLOW", CMD(QUERY_FLOW), NULL, -EIO },
	{ "CREATE_FLOW_LONG", CMD(CREATE_FLOW_LONG), NULL, -ENOMEM },
	{ "MODIFY_CQ", CMD(MODIFY_CQ), NULL, -EINVAL },
	{ "CREATE_WQ_TABLE", CMD(CREATE_WQ_TABLE), NULL, -ENOMEM },
	{ "DESTROY_WQ_TABLE", CMD(DESTROY_WQ_TABLE), NULL, -EIO },
	{ "CREATE_RX_HASH_QP", CMD(CREATE_RX_HASH_QP), NULL, -ENOMEM },
	{ "QUERY_NVMF", CMD(QUERY_NVMF), run_query_nvmf, -EIO },
	{ "QUERY_NAMESPACE", CMD(QUERY_NAMESPACE), run_query_namespace, -ENOENT },
	{ "SET_SRQ_NVMF", CMD(SET_SRQ_NVMF), run_set_srq_nvmf, -EINVAL },
	{ "CREATE_NVME_CTRL", CMD(CREATE_NVME_CTRL), run_create_nvme_ctrl, -EINVAL },
	{ "DESTROY_NVME_CTRL", CMD(DESTROY_NVME_CTRL), run_destroy_nvme_ctrl, -EIO },
	{ "MAP_NSID", CMD(MAP_NSID), run_map_nsid, -EINVAL },
	{ "UNMAP_NSID", CMD(UNMAP_NSID), run_unmap_nsid, -EIO },
	{ "SET_QP_NVMF", CMD(SET_QP_NVMF), run_set_qp_nvmf, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(cmd, cmd_table, name);

static int cmd_case_run(const struct cmd_case *c, struct mock *mock)
{
	return c->run ? c->run(mock) : vroce_cmd_exec(&mock->aux, c->command, NULL, 0, NULL, 0);
}

/* One answer for each error that the lower module may report. */
static void cmd_bad_answers(struct kunit *test)
{
	static const int errors[] = {
		-EREMOTEIO, -EPROTO, -ETIMEDOUT, -EIO, -ENOMEM, -E2BIG,
	};
	const struct cmd_case *c = test->param_value;
	struct mock_answer *answers;
	struct mock *mock;
	size_t i;

	/* Too large for the stack of a kernel with KASAN. */
	answers = kunit_kcalloc(test, ARRAY_SIZE(errors), sizeof(*answers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, answers);
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		answers[i].command = c->command;
		answers[i].ret = errors[i];
	}
	mock = mock_scripted(test, answers, ARRAY_SIZE(errors));
	KUNIT_EXPECT_EQ(test, cmd_case_run(c, mock), c->refused);
	for (i = 1; i < ARRAY_SIZE(errors); i++)
		KUNIT_EXPECT_EQ(test, cmd_case_run(c, mock), errors[i]);
	expect_end(mock);
}

/* A short answer is not an error: what is missing is zero. */
static void cmd_short_answers(struct kunit *test)
{
	static const struct mock_answer answers[] = {
		{ CMD(CREATE_CQ), 0, 1, { 5 } },
		{ CMD(CREATE_PD), 0, 0 },
		{ CMD(QUERY_PORT), 0, 5, { 1, 2, 0, 0, 9 } },
	};
	struct mock *mock = mock_scripted(test, answers, ARRAY_SIZE(answers));
	struct vroce_port_attr port = {};
	u32 number = U32_MAX;

	KUNIT_EXPECT_EQ(test, vroce_cmd_create_cq(&mock->aux, 1, &number), 0);
	KUNIT_EXPECT_EQ(test, number, 5);
	KUNIT_EXPECT_EQ(test, vroce_cmd_create_pd(&mock->aux, &number), 0);
	KUNIT_EXPECT_EQ(test, number, 0);
	KUNIT_EXPECT_EQ(test, vroce_cmd_query_port(&mock->aux, &port), 0);
	KUNIT_EXPECT_EQ(test, port.gid_tbl_len, 0x201);
	KUNIT_EXPECT_EQ(test, port.max_msg_sz, 9);
	expect_end(mock);
}

/* ----- handles that cannot be ----- */

/* They are not destroyed: they may be somebody else's. */
static void cmd_cqn_out_of_range(struct kunit *test)
{
	struct mock *mock = SCRIPT(test,
		OK_BYTES(CREATE_CQ, 4, MOCK_CQS, 0, 0, 0),
		OK_BYTES(CREATE_CQ, 4, 0xff, 0xff, 0xff, 0xff),
		OK_BYTES(CREATE_CQ, 4, MOCK_CQS - 1, 0, 0, 0));
	u32 cqn;

	KUNIT_EXPECT_EQ(test, vroce_cmd_create_cq(&mock->aux, 1, &cqn),
			-EPROTO);
	KUNIT_EXPECT_EQ(test, vroce_cmd_create_cq(&mock->aux, 1, &cqn),
			-EPROTO);
	KUNIT_EXPECT_EQ(test, vroce_cmd_create_cq(&mock->aux, 1, &cqn), 0);
	KUNIT_EXPECT_EQ(test, cqn, MOCK_CQS - 1);
	expect_end(mock);
}

static void cmd_qpn_out_of_range(struct kunit *test)
{
	struct mock *mock = SCRIPT(test,
		OK_BYTES(CREATE_QP, 4, MOCK_QPS, 0, 0, 0),
		OK_BYTES(CREATE_QP, 4, 0, 0, 0, 0x80),
		OK_BYTES(CREATE_QP, 4, MOCK_QPS - 1, 0, 0, 0));
	u32 qpn;

	KUNIT_EXPECT_EQ(test, run_create_qp(mock), -EPROTO);
	KUNIT_EXPECT_EQ(test, run_create_qp(mock), -EPROTO);
	KUNIT_EXPECT_EQ(test, vroce_cmd_create_qp(&mock->aux, &qp_params, &qpn),
			0);
	KUNIT_EXPECT_EQ(test, qpn, MOCK_QPS - 1);
	expect_end(mock);
}

/*
 * QPN 0 and 1 belong to the management interfaces.  A device that names the GSI's must
 * not make us destroy it.
 */
static void cmd_qpn_reserved(struct kunit *test)
{
	struct mock *mock = SCRIPT(test,
		OK_BYTES(CREATE_QP, 4, 0, 0, 0, 0),
		OK_BYTES(CREATE_QP, 4, 1, 0, 0, 0),
		OK_BYTES(CREATE_QP, 4, 2, 0, 0, 0),
		OK_BYTES(CREATE_QP, 4, 1, 0, 0, 0));
	struct vroce_create_qp_params gsi = qp_params;
	u32 qpn;

	gsi.type = IB_QPT_GSI;
	KUNIT_EXPECT_EQ(test, run_create_qp(mock), -EPROTO);
	KUNIT_EXPECT_EQ(test, run_create_qp(mock), -EPROTO);
	KUNIT_EXPECT_EQ(test, vroce_cmd_create_qp(&mock->aux, &gsi, &qpn),
			-EPROTO);
	KUNIT_EXPECT_EQ(test, vroce_cmd_create_qp(&mock->aux, &gsi, &qpn), 0);
	KUNIT_EXPECT_EQ(test, qpn, 1);
	expect_end(mock);
}

static void cmd_query_qp_no_state(struct kunit *test)
{
	static const struct mock_answer answers[] = {
		{ CMD(QUERY_QP), 0, 120, { 7 } },
	};
	struct mock *mock = mock_scripted(test, answers, ARRAY_SIZE(answers));

	KUNIT_EXPECT_EQ(test, run_query_qp(mock), -EPROTO);
	expect_end(mock);
}

static struct kunit_case cmd_cases[] = {
	KUNIT_CASE(cmd_query_device),
	KUNIT_CASE(cmd_query_port),
	KUNIT_CASE(cmd_query_counters),
	KUNIT_CASE(cmd_query_qp_counters),
	KUNIT_CASE(cmd_query_clock),
	KUNIT_CASE(cmd_cq),
	KUNIT_CASE(cmd_pd),
	KUNIT_CASE(cmd_get_dma_mr),
	KUNIT_CASE(cmd_reg_user_mr),
	KUNIT_CASE(cmd_huge_page),
	KUNIT_CASE(cmd_list_elsewhere),
	KUNIT_CASE(cmd_dereg_mr),
	KUNIT_CASE(cmd_qp),
	KUNIT_CASE(cmd_modify_qp),
	KUNIT_CASE(cmd_query_qp),
	KUNIT_CASE(cmd_ah),
	KUNIT_CASE(cmd_gid),
	KUNIT_CASE(cmd_req_notify),
	KUNIT_CASE(cmd_mcast),
	KUNIT_CASE_PARAM(cmd_bad_answers, cmd_gen_params),
	KUNIT_CASE(cmd_short_answers),
	KUNIT_CASE(cmd_cqn_out_of_range),
	KUNIT_CASE(cmd_qpn_out_of_range),
	KUNIT_CASE(cmd_qpn_reserved),
	KUNIT_CASE(cmd_query_qp_no_state),
	{}
};

static struct kunit_suite cmd_suite = {
	.name = "virtio_roce_cmd",
	.test_cases = cmd_cases,
};

kunit_test_suite(cmd_suite);
