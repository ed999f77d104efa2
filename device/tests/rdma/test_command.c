// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Control commands, good and bad.
 */
#include "rdma/rnic_priv.h"
#include "tests/lib/engine_guest.h"

#include "base/util.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name

/* A request of zeroes of the right length for each command. */
static const struct {
	uint8_t command;
	size_t req_len;
	size_t rsp_len;
} shapes[] = {
	{ CMD(QUERY_DEVICE), 0, 128 },
	{ CMD(QUERY_PORT), 0, 32 },
	{ CMD(CREATE_CQ), 4, 4 },
	{ CMD(DESTROY_CQ), 4, 0 },
	{ CMD(CREATE_PD), 0, 4 },
	{ CMD(DESTROY_PD), 4, 0 },
	{ CMD(GET_DMA_MR), 8, 12 },
	{ CMD(REG_USER_MR), 32, 12 },
	{ CMD(DEREG_MR), 4, 0 },
	{ CMD(CREATE_QP), 56, 4 },
	{ CMD(MODIFY_QP), 128, 0 },
	{ CMD(QUERY_QP), 8, 120 },
	{ CMD(DESTROY_QP), 4, 0 },
	{ CMD(CREATE_AH), 48, 4 },
	{ CMD(DESTROY_AH), 8, 0 },
	{ CMD(ADD_GID), 24, 0 },
	{ CMD(DEL_GID), 2, 0 },
	{ CMD(REQ_NOTIFY_CQ), 8, 0 },
};

#define SHAPES	ARRAY_SIZE(shapes)

static struct eg_guest *guest0(void **state)
{
	struct engine *engine = *state;

	return &engine->guest[0];
}

static uint8_t simple(struct eg_guest *guest, uint8_t command, uint32_t handle)
{
	__le32 req = htole32(handle);

	return eg_command(guest, command, &req, sizeof(req), NULL, 0);
}

/* No state has changed: every handle that is free can still be created. */
static void expect_empty(struct eg_guest *guest)
{
	uint32_t pdn[EG_PDS], i;

	for (i = 0; i < EG_PDS; i++)
		pdn[i] = eg_create_pd(guest);
	for (i = 0; i < EG_PDS; i++)
		assert_int_equal(simple(guest, CMD(DESTROY_PD), pdn[i]),
				 VIRTIO_NET_OK);
	for (i = 0; i < EG_CQS; i++)
		assert_int_equal(eg_create_cq(guest), i);
}

static void test_short_request(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint8_t req[128] = {}, rsp[RNIC_RSP_MAX];
	size_t i, len;

	for (i = 0; i < SHAPES; i++)
		for (len = 0; len < shapes[i].req_len; len++)
			assert_int_equal(eg_command(guest, shapes[i].command,
						    req, len, rsp,
						    shapes[i].rsp_len),
					 VIRTIO_NET_ERR);
	expect_empty(guest);
}

/* Fields of a newer driver: refused if it uses them, wherever the first one is. */
static void test_long_request(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint8_t req[256] = {}, rsp[RNIC_RSP_MAX];
	size_t i, n;

	for (i = 0; i < SHAPES; i++) {
		for (n = 1; n <= 64; n++) {
			req[shapes[i].req_len + n - 1] = 1;
			assert_int_equal(eg_command(guest, shapes[i].command,
						    req, shapes[i].req_len + n,
						    rsp, shapes[i].rsp_len),
					 VIRTIO_NET_ERR);
			req[shapes[i].req_len + n - 1] = 0;
		}
	}
	expect_empty(guest);
}

/* The same fields as zeroes, as many as the specification allows. */
static void test_long_request_of_zeroes(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint8_t req[4 + 257] = { 4 };
	__le32 cqn, pdn;

	assert_int_equal(eg_command(guest, CMD(CREATE_PD), req + 1, 256, &pdn,
				    sizeof(pdn)), VIRTIO_NET_OK);
	assert_int_equal(eg_command(guest, CMD(CREATE_CQ), req, 4 + 256, &cqn,
				    sizeof(cqn)), VIRTIO_NET_OK);
	assert_int_equal(eg_command(guest, CMD(CREATE_CQ), req, 4 + 257, &cqn,
				    sizeof(cqn)), VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), le32toh(pdn)),
			 VIRTIO_NET_OK);
	memcpy(req, &cqn, sizeof(cqn));
	assert_int_equal(eg_command(guest, CMD(DESTROY_CQ), req, 4 + 8, NULL, 0),
			 VIRTIO_NET_OK);
	expect_empty(guest);
}

/* A newer driver has room for more than we answer.  The length tells it. */
static void test_more_room_for_response(void **state)
{
	struct rnic_request req = {};
	uint64_t rsp[RNIC_RSP_MAX / 8];
	size_t len = 0;

	memset(rsp, 0xa5, sizeof(rsp));
	assert_int_equal(rnic_command(guest0(state)->rnic, CMD(QUERY_PORT), &req,
				      rsp, 32 + 64, &len), VIRTIO_NET_OK);
	assert_int_equal(len, 32);
	assert_int_equal(rsp[3], 0);
	assert_int_equal(rsp[4], 0xa5a5a5a5a5a5a5a5);
}

static void test_no_room_for_response(void **state)
{
	struct eg_guest *guest = guest0(state);
	struct virtio_rdma_cmd_create_cq cq = { .cqe = htole32(1) };
	uint8_t rsp[128];

	assert_int_equal(eg_command(guest, CMD(QUERY_DEVICE), NULL, 0, rsp,
				    127), VIRTIO_NET_ERR);
	assert_int_equal(eg_command(guest, CMD(QUERY_PORT), NULL, 0, NULL, 0),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_command(guest, CMD(CREATE_PD), NULL, 0, rsp, 3),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_command(guest, CMD(CREATE_CQ), &cq, sizeof(cq), rsp,
				    3), VIRTIO_NET_ERR);
	expect_empty(guest);
}

static void test_unknown_command(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint8_t req[128] = {}, rsp[RNIC_RSP_MAX];
	unsigned int i;

	for (i = VIRTIO_NET_CTRL_ROCE_NUM; i < 256; i++)
		assert_int_equal(eg_command(guest, i, req, sizeof(req), rsp,
					    sizeof(rsp)), VIRTIO_NET_ERR);
}

static void test_query_device(void **state)
{
	struct virtio_rdma_ack_query_device ack;

	memset(&ack, 0xff, sizeof(ack));
	assert_int_equal(eg_command(guest0(state), CMD(QUERY_DEVICE), NULL, 0,
				    &ack, sizeof(ack)), VIRTIO_NET_OK);
	assert_int_equal(le64toh(ack.device_cap_flags), 0x28027ccff);
	assert_int_equal(le64toh(ack.page_size_cap), 0x7ffff000);
	assert_int_equal(le64toh(ack.max_mr_size), 8ull << 40);
	assert_int_equal(le32toh(ack.max_qp_wr), EG_QUEUE);
	assert_int_equal(le32toh(ack.max_cqe), EG_QUEUE);
	assert_int_equal(le32toh(ack.max_send_sge), 32);
	assert_int_equal(le32toh(ack.max_recv_sge), 32);
	assert_int_equal(le32toh(ack.max_sge_rd), 32);
	assert_int_equal(le32toh(ack.max_mr), EG_MRS);
	assert_int_equal(le32toh(ack.max_pd), EG_PDS);
	assert_int_equal(le32toh(ack.max_ah), EG_AHS);
	assert_int_equal(le32toh(ack.max_qp_rd_atom), 128);
	assert_int_equal(le32toh(ack.max_qp_init_rd_atom), 128);
	assert_int_equal(le32toh(ack.max_fast_reg_pages), 512);
	assert_int_equal(le32toh(ack.max_mcast_grp), 128);
	assert_int_equal(le32toh(ack.max_mcast_qp_attach), 64);
	assert_int_equal(ack.max_srq | ack.max_xrcd | ack.max_flow | ack.reserved |
			 ack.max_wq_tables | ack.max_wq_table_size, 0);
}

static void test_query_port(void **state)
{
	struct virtio_rdma_ack_query_port ack;

	memset(&ack, 0xff, sizeof(ack));
	assert_int_equal(eg_command(guest0(state), CMD(QUERY_PORT), NULL, 0,
				    &ack, sizeof(ack)), VIRTIO_NET_OK);
	assert_int_equal(le32toh(ack.gid_tbl_len), 128);
	assert_int_equal(le32toh(ack.max_msg_sz), 1u << 31);
	assert_int_equal(ack.reserved[0] | ack.reserved[5], 0);
}

/* ------------------------------------------------------------------------- */
/* Protection domains                                                        */
/* ------------------------------------------------------------------------- */

static void test_pd_exhausted(void **state)
{
	struct eg_guest *guest = guest0(state);
	struct virtio_rdma_ack_create_pd ack;
	uint32_t pdn[EG_PDS], i, j;

	for (i = 0; i < EG_PDS; i++) {
		pdn[i] = eg_create_pd(guest);
		for (j = 0; j < i; j++)
			assert_int_not_equal(pdn[i], pdn[j]);
	}
	assert_int_equal(eg_command(guest, CMD(CREATE_PD), NULL, 0, &ack,
				    sizeof(ack)), VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), pdn[2]), VIRTIO_NET_OK);
	assert_int_not_equal(eg_create_pd(guest), pdn[2]);
}

static void test_pd_stale(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t first = eg_create_pd(guest), i;

	assert_int_equal(simple(guest, CMD(DESTROY_PD), first), VIRTIO_NET_OK);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), first), VIRTIO_NET_ERR);
	/* It stays invalid even when its entry is in use again. */
	for (i = 0; i < EG_PDS; i++)
		eg_create_pd(guest);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), first), VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), UINT32_MAX),
			 VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), EG_PDS << 8),
			 VIRTIO_NET_ERR);
}

static void test_pd_in_use(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = guest0(state);
	struct eg_end end = eg_open(guest, VIRTIO_IB_QPT_RC);
	struct virtio_rdma_cmd_destroy_ah ah = { .pdn = htole32(end.pdn) };

	ah.ah = htole32(eg_create_ah(guest, end.pdn, &engine->guest[1]));
	assert_int_equal(simple(guest, CMD(DESTROY_PD), end.pdn),
			 VIRTIO_NET_ERR);
	eg_destroy_qp(guest, end.qpn);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), end.pdn),
			 VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DEREG_MR), end.mrn), VIRTIO_NET_OK);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), end.pdn),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_command(guest, CMD(DESTROY_AH), &ah, sizeof(ah),
				    NULL, 0), VIRTIO_NET_OK);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), end.pdn),
			 VIRTIO_NET_OK);
}

/* ------------------------------------------------------------------------- */
/* Completion queues                                                         */
/* ------------------------------------------------------------------------- */

static uint8_t create_cq(struct eg_guest *guest, uint32_t cqe, uint32_t *cqn)
{
	struct virtio_rdma_cmd_create_cq req = { .cqe = htole32(cqe) };
	struct virtio_rdma_ack_create_cq ack;
	uint8_t ret = eg_command(guest, CMD(CREATE_CQ), &req, sizeof(req), &ack,
				 sizeof(ack));

	if (ret == VIRTIO_NET_OK)
		*cqn = le32toh(ack.cqn);
	return ret;
}

static void test_cq_depth(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t cqn;

	assert_int_equal(create_cq(guest, 0, &cqn), VIRTIO_NET_ERR);
	assert_int_equal(create_cq(guest, EG_QUEUE + 1, &cqn), VIRTIO_NET_ERR);
	assert_int_equal(create_cq(guest, UINT32_MAX, &cqn), VIRTIO_NET_ERR);
	assert_int_equal(create_cq(guest, EG_QUEUE, &cqn), VIRTIO_NET_OK);
	assert_int_equal(cqn, 0);
}

static void test_cq_exhausted(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t cqn, i;

	for (i = 0; i < EG_CQS; i++)
		assert_int_equal(create_cq(guest, 1, &cqn), VIRTIO_NET_OK);
	assert_int_equal(create_cq(guest, 1, &cqn), VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DESTROY_CQ), 1), VIRTIO_NET_OK);
	assert_int_equal(simple(guest, CMD(DESTROY_CQ), 1), VIRTIO_NET_ERR);
	assert_int_equal(create_cq(guest, 1, &cqn), VIRTIO_NET_OK);
	assert_int_equal(cqn, 1);
	assert_int_equal(simple(guest, CMD(DESTROY_CQ), EG_CQS),
			 VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DESTROY_CQ), UINT32_MAX),
			 VIRTIO_NET_ERR);
}

static void test_cq_needs_virtqueue(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t cqn;

	rnic_queue_stop(guest->rnic, RNIC_CQ, 0);
	rnic_queue_stop(guest->rnic, RNIC_CQ, 2);
	rnic_queue_stop(guest->rnic, RNIC_CQ, 3);
	assert_int_equal(create_cq(guest, 1, &cqn), VIRTIO_NET_OK);
	assert_int_equal(cqn, 1);
	assert_int_equal(create_cq(guest, 1, &cqn), VIRTIO_NET_ERR);
	rnic_queue_start(guest->rnic, RNIC_CQ, 2, &guest->cq[2].vq);
	assert_int_equal(create_cq(guest, 1, &cqn), VIRTIO_NET_OK);
	assert_int_equal(cqn, 2);
}

static void test_cq_in_use(void **state)
{
	struct eg_guest *guest = guest0(state);
	struct eg_end end = eg_open(guest, VIRTIO_IB_QPT_RC);

	assert_int_equal(simple(guest, CMD(DESTROY_CQ), end.cqn),
			 VIRTIO_NET_ERR);
	eg_destroy_qp(guest, end.qpn);
	assert_int_equal(simple(guest, CMD(DESTROY_CQ), end.cqn),
			 VIRTIO_NET_OK);
}

static void test_cq_notify_bad(void **state)
{
	struct eg_guest *guest = guest0(state);
	struct virtio_rdma_cmd_req_notify req = { .flags = htole32(1) };

	assert_int_equal(eg_command(guest, CMD(REQ_NOTIFY_CQ), &req,
				    sizeof(req), NULL, 0), VIRTIO_NET_ERR);
	eg_create_cq(guest);
	assert_int_equal(eg_command(guest, CMD(REQ_NOTIFY_CQ), &req,
				    sizeof(req), NULL, 0), VIRTIO_NET_OK);
	req.flags = 0;
	assert_int_equal(eg_command(guest, CMD(REQ_NOTIFY_CQ), &req,
				    sizeof(req), NULL, 0), VIRTIO_NET_ERR);
	req.flags = htole32(4);
	assert_int_equal(eg_command(guest, CMD(REQ_NOTIFY_CQ), &req,
				    sizeof(req), NULL, 0), VIRTIO_NET_ERR);
	req.flags = htole32(3);
	req.cqn = htole32(EG_CQS);
	assert_int_equal(eg_command(guest, CMD(REQ_NOTIFY_CQ), &req,
				    sizeof(req), NULL, 0), VIRTIO_NET_ERR);
}

/* ------------------------------------------------------------------------- */
/* Queue pairs                                                               */
/* ------------------------------------------------------------------------- */

static uint8_t create_qp(struct eg_guest *guest,
			 const struct virtio_rdma_cmd_create_qp *req,
			 uint32_t *qpn)
{
	struct virtio_rdma_ack_create_qp ack;
	uint8_t ret = eg_command(guest, CMD(CREATE_QP), req, sizeof(*req), &ack,
				 sizeof(ack));

	if (ret == VIRTIO_NET_OK)
		*qpn = le32toh(ack.qpn);
	return ret;
}

static void test_qp_bad_parameters(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), cqn = eg_create_cq(guest);
	const struct virtio_rdma_cmd_create_qp good =
		eg_create_qp_req(VIRTIO_IB_QPT_RC, pdn, cqn);
	struct virtio_rdma_cmd_create_qp bad[12];
	uint32_t qpn, i;

	for (i = 0; i < 12; i++)
		bad[i] = good;
	bad[0].pdn = htole32(pdn + 1);
	bad[1].send_cqn = htole32(cqn + 1);
	bad[2].recv_cqn = htole32(cqn + 1);
	bad[3].qp_type = VIRTIO_IB_QPT_SMI;
	bad[4].qp_type = VIRTIO_IB_QPT_UD + 1;
	bad[5].qp_type = 255;
	bad[6].cap.max_send_wr = htole32(EG_QUEUE + 1);
	bad[7].cap.max_recv_wr = htole32(EG_QUEUE + 1);
	bad[8].cap.max_send_sge = htole32(33);
	bad[9].cap.max_recv_sge = htole32(33);
	bad[10].cap.max_inline_data = htole32(513);
	bad[11].cap.max_send_wr = htole32(UINT32_MAX);
	for (i = 0; i < 12; i++)
		assert_int_equal(create_qp(guest, &bad[i], &qpn),
				 VIRTIO_NET_ERR);
	/* A failed request keeps no reference to the objects that it named. */
	assert_int_equal(create_qp(guest, &good, &qpn), VIRTIO_NET_OK);
	assert_int_equal(qpn, 2);
	eg_destroy_qp(guest, qpn);
	assert_int_equal(simple(guest, CMD(DESTROY_CQ), cqn), VIRTIO_NET_OK);
	assert_int_equal(simple(guest, CMD(DESTROY_PD), pdn), VIRTIO_NET_OK);
}

static void test_qp_numbers(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), cqn = eg_create_cq(guest), qpn, i;
	struct virtio_rdma_cmd_create_qp req =
		eg_create_qp_req(VIRTIO_IB_QPT_RC, pdn, cqn);

	/* A number is not used again at once. */
	assert_int_equal(eg_create_qp(guest, VIRTIO_IB_QPT_RC, pdn, cqn), 2);
	eg_destroy_qp(guest, 2);
	for (i = 3; i < EG_QPS; i++)
		assert_int_equal(eg_create_qp(guest, VIRTIO_IB_QPT_UD, pdn,
					      cqn), i);
	assert_int_equal(eg_create_qp(guest, VIRTIO_IB_QPT_UC, pdn, cqn), 2);
	assert_int_equal(create_qp(guest, &req, &qpn), VIRTIO_NET_ERR);
	eg_destroy_qp(guest, 5);
	assert_int_equal(eg_create_qp(guest, VIRTIO_IB_QPT_RC, pdn, cqn), 5);
	/* Numbers 0 and 1 are for SMI and GSI. */
	assert_int_equal(simple(guest, CMD(DESTROY_QP), 0), VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DESTROY_QP), 1), VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DESTROY_QP), EG_QPS),
			 VIRTIO_NET_ERR);
}

static void test_qp_gsi(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), cqn = eg_create_cq(guest), qpn;
	struct virtio_rdma_cmd_create_qp req =
		eg_create_qp_req(VIRTIO_IB_QPT_GSI, pdn, cqn);

	assert_int_equal(create_qp(guest, &req, &qpn), VIRTIO_NET_OK);
	assert_int_equal(qpn, 1);
	assert_int_equal(create_qp(guest, &req, &qpn), VIRTIO_NET_ERR);
	eg_destroy_qp(guest, 1);
	assert_int_equal(create_qp(guest, &req, &qpn), VIRTIO_NET_OK);
	assert_int_equal(qpn, 1);
}

static void test_qp_needs_virtqueues(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), cqn = eg_create_cq(guest), qpn, i;
	struct virtio_rdma_cmd_create_qp req =
		eg_create_qp_req(VIRTIO_IB_QPT_RC, pdn, cqn);

	rnic_queue_stop(guest->rnic, RNIC_SQ, 2);
	rnic_queue_stop(guest->rnic, RNIC_RQ, 3);
	for (i = 5; i < EG_QPS; i++)
		rnic_queue_stop(guest->rnic, RNIC_SQ, i);
	assert_int_equal(create_qp(guest, &req, &qpn), VIRTIO_NET_OK);
	assert_int_equal(qpn, 4);
	assert_int_equal(create_qp(guest, &req, &qpn), VIRTIO_NET_ERR);
	rnic_queue_start(guest->rnic, RNIC_RQ, 3, &guest->rq[3].vq);
	assert_int_equal(create_qp(guest, &req, &qpn), VIRTIO_NET_OK);
	assert_int_equal(qpn, 3);
}

static void test_qp_query(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_modify_qp req;
	struct virtio_rdma_ack_query_qp ack;
	struct eg_end a, b;

	eg_pair(engine, VIRTIO_IB_QPT_RC, &a, &b);
	req = eg_modify_req(a.qpn, VIRTIO_IB_QPT_RC, VIRTIO_IB_QPS_RTS, b.guest,
			    b.qpn);
	ack = eg_query(a.guest, a.qpn);
	assert_int_equal(ack.qp_state, VIRTIO_IB_QPS_RTS);
	assert_int_equal(ack.path_mtu, VIRTIO_IB_MTU_1024);
	assert_int_equal(ack.sq_draining, 0);
	assert_int_equal(ack.max_rd_atomic, 4);
	assert_int_equal(ack.max_dest_rd_atomic, 4);
	assert_int_equal(ack.min_rnr_timer, 12);
	assert_int_equal(ack.timeout, 10);
	assert_int_equal(ack.retry_cnt, 2);
	assert_int_equal(ack.rnr_retry, 3);
	assert_int_equal(le32toh(ack.qkey), 0);
	assert_int_equal(le32toh(ack.rq_psn), 0xfffffe);
	assert_int_equal(le32toh(ack.sq_psn), 0xfffffe);
	assert_int_equal(le32toh(ack.dest_qp_num), b.qpn);
	assert_int_equal(le32toh(ack.qp_access_flags), 0x2f);
	assert_int_equal(le32toh(ack.cap.max_send_wr), EG_QUEUE);
	assert_int_equal(le32toh(ack.cap.max_recv_sge), EG_SGE);
	assert_int_equal(le32toh(ack.cap.max_inline_data), 512);
	assert_memory_equal(&ack.ah_attr, &req.ah_attr, sizeof(ack.ah_attr));

	/* PSNs move on with what is sent: three packets of 1024 bytes. */
	eg_recv(&b, 1, 0, 4096);
	eg_fill(a.guest, 0, 2049, 1);
	req.qpn = 0;
	eg_post_send(&a, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND, .num_sge = 1,
		.sge = { { EG_VA, 2049, a.lkey } },
	});
	eg_run(engine);
	assert_int_equal(le32toh(eg_query(a.guest, a.qpn).sq_psn), 1);
	assert_int_equal(le32toh(eg_query(b.guest, b.qpn).rq_psn), 1);
}

static void test_qp_query_unknown(void **state)
{
	struct virtio_rdma_cmd_query_qp req = { .qpn = htole32(2) };
	struct virtio_rdma_ack_query_qp ack;

	assert_int_equal(eg_command(guest0(state), CMD(QUERY_QP), &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_ERR);
	req.qpn = htole32(UINT32_MAX);
	assert_int_equal(eg_command(guest0(state), CMD(QUERY_QP), &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_ERR);
}

/* ------------------------------------------------------------------------- */
/* Address handles, GIDs                                                     */
/* ------------------------------------------------------------------------- */

static void test_ah(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), other = eg_create_pd(guest), i;
	struct virtio_rdma_cmd_destroy_ah bye = { .pdn = htole32(pdn) };
	struct virtio_rdma_cmd_create_ah req = { .pdn = htole32(pdn) };
	struct virtio_rdma_ack_create_ah ack;
	uint32_t ah;

	/* No destination; unknown PD; source GID index out of range. */
	assert_int_equal(eg_command(guest, CMD(CREATE_AH), &req, sizeof(req),
				    &ack, sizeof(ack)), VIRTIO_NET_ERR);
	eg_gid(&engine->guest[1], req.ah_attr.grh.dgid);
	req.pdn = htole32(EG_PDS << 8 | 1);
	assert_int_equal(eg_command(guest, CMD(CREATE_AH), &req, sizeof(req),
				    &ack, sizeof(ack)), VIRTIO_NET_ERR);
	req.pdn = htole32(pdn);
	req.ah_attr.grh.sgid_index = 128;
	assert_int_equal(eg_command(guest, CMD(CREATE_AH), &req, sizeof(req),
				    &ack, sizeof(ack)), VIRTIO_NET_ERR);
	for (i = 0; i < EG_AHS; i++)
		ah = eg_create_ah(guest, pdn, &engine->guest[1]);
	req.ah_attr.grh.sgid_index = 0;
	assert_int_equal(eg_command(guest, CMD(CREATE_AH), &req, sizeof(req),
				    &ack, sizeof(ack)), VIRTIO_NET_ERR);

	bye.ah = htole32(ah);
	bye.pdn = htole32(other);
	assert_int_equal(eg_command(guest, CMD(DESTROY_AH), &bye, sizeof(bye),
				    NULL, 0), VIRTIO_NET_ERR);
	bye.pdn = htole32(pdn);
	assert_int_equal(eg_command(guest, CMD(DESTROY_AH), &bye, sizeof(bye),
				    NULL, 0), VIRTIO_NET_OK);
	assert_int_equal(eg_command(guest, CMD(DESTROY_AH), &bye, sizeof(bye),
				    NULL, 0), VIRTIO_NET_ERR);
	/* Its entry is the only free one, but the new handle differs. */
	assert_int_not_equal(eg_create_ah(guest, pdn, &engine->guest[1]), ah);
}

static uint8_t add_gid(struct eg_guest *guest, uint16_t index,
		       const uint8_t *gid)
{
	struct virtio_rdma_cmd_add_gid req = { .index = htole16(index) };

	memcpy(req.gid, gid, GID_SIZE);
	return eg_command(guest, CMD(ADD_GID), &req, sizeof(req), NULL, 0);
}

static uint8_t del_gid(struct eg_guest *guest, uint16_t index)
{
	struct virtio_rdma_cmd_del_gid req = { .index = htole16(index) };

	return eg_command(guest, CMD(DEL_GID), &req, sizeof(req), NULL, 0);
}

static const struct fabric_end *owner(struct engine *engine, const uint8_t *gid)
{
	return fabric_route(&engine->guest[0].rnic->end, gid, 0).to;
}

static void test_gid(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = guest0(state);
	const uint8_t link[16] = { 0xfe, 0x80, [15] = 1 };
	const uint8_t multicast[16] = { 0xff, 0x02, [15] = 1 };
	const uint8_t zero[16] = {};
	uint8_t old[16];

	assert_int_equal(add_gid(guest, 128, link), VIRTIO_NET_ERR);
	assert_int_equal(add_gid(guest, 127, zero), VIRTIO_NET_ERR);
	assert_int_equal(add_gid(guest, 127, multicast), VIRTIO_NET_ERR);
	assert_null(owner(engine, link));
	assert_int_equal(add_gid(guest, 127, link), VIRTIO_NET_OK);
	assert_ptr_equal(owner(engine, link), &guest->rnic->end);
	assert_int_equal(del_gid(guest, 127), VIRTIO_NET_OK);
	assert_null(owner(engine, link));
	assert_int_equal(del_gid(guest, 127), VIRTIO_NET_ERR);
	assert_int_equal(del_gid(guest, 128), VIRTIO_NET_ERR);
	assert_int_equal(del_gid(guest, UINT16_MAX), VIRTIO_NET_ERR);

	/* An entry that is set again is replaced. */
	eg_gid(guest, old);
	assert_ptr_equal(owner(engine, old), &guest->rnic->end);
	assert_int_equal(add_gid(guest, 0, link), VIRTIO_NET_OK);
	assert_null(owner(engine, old));
	assert_ptr_equal(owner(engine, link), &guest->rnic->end);
}

static void test_gid_of_two_guests(void **state)
{
	struct engine *engine = *state;
	const uint8_t gid[16] = { 0xfd, [15] = 9 };

	assert_int_equal(add_gid(&engine->guest[1], 3, gid), VIRTIO_NET_OK);
	assert_int_equal(add_gid(&engine->guest[0], 4, gid), VIRTIO_NET_OK);
	assert_ptr_equal(owner(engine, gid), &engine->guest[1].rnic->end);
	assert_int_equal(del_gid(&engine->guest[1], 3), VIRTIO_NET_OK);
	assert_ptr_equal(owner(engine, gid), &engine->guest[0].rnic->end);
	assert_int_equal(add_gid(&engine->guest[1], 3, gid), VIRTIO_NET_OK);
	assert_ptr_equal(owner(engine, gid), &engine->guest[0].rnic->end);
	eg_reset(&engine->guest[0]);
	assert_ptr_equal(owner(engine, gid), &engine->guest[1].rnic->end);
}

static void test_reset_drops_all(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = guest0(state);
	struct eg_end a, b;
	uint32_t i;

	eg_pair(engine, VIRTIO_IB_QPT_RC, &a, &b);
	eg_create_ah(guest, a.pdn, b.guest);
	for (i = 0; i < 8; i++)
		eg_post_send(&a, &(struct eg_wr) {
			.opcode = VIRTIO_IB_WR_SEND });
	eg_run(engine);
	eg_reset(guest);
	for (i = 0; i < EG_CQS; i++)
		eg_ring_reset(&guest->cq[i]);
	for (i = 0; i < EG_QPS; i++) {
		eg_ring_reset(&guest->sq[i]);
		eg_ring_reset(&guest->rq[i]);
	}
	assert_int_equal(simple(guest, CMD(DESTROY_QP), a.qpn), VIRTIO_NET_ERR);
	assert_int_equal(simple(guest, CMD(DEREG_MR), a.mrn), VIRTIO_NET_ERR);
	expect_empty(guest);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_short_request),
		T(test_long_request),
		T(test_long_request_of_zeroes),
		T(test_more_room_for_response),
		T(test_no_room_for_response),
		T(test_unknown_command),
		T(test_query_device),
		T(test_query_port),
		T(test_pd_exhausted),
		T(test_pd_stale),
		T(test_pd_in_use),
		T(test_cq_depth),
		T(test_cq_exhausted),
		T(test_cq_needs_virtqueue),
		T(test_cq_in_use),
		T(test_cq_notify_bad),
		T(test_qp_bad_parameters),
		T(test_qp_numbers),
		T(test_qp_gsi),
		T(test_qp_needs_virtqueues),
		T(test_qp_query),
		T(test_qp_query_unknown),
		T(test_ah),
		T(test_gid),
		T(test_gid_of_two_guests),
		T(test_reset_drops_all),
	};

	return cmocka_run_group_tests_name("ctrl", tests, NULL, NULL);
}
