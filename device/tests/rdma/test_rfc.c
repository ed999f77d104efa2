// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device that offers nothing but the RFC.
 */
#include "rdma/rnic_priv.h"
#include "tests/lib/engine_guest.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name

#define RFC_ACCESS	(VIRTIO_IB_ACCESS_LOCAL_WRITE | \
			 VIRTIO_IB_ACCESS_REMOTE_WRITE | \
			 VIRTIO_IB_ACCESS_REMOTE_READ)

static struct eg_guest *guest0(void **state)
{
	struct engine *engine = *state;

	return &engine->guest[0];
}

/* Two ends as eg_open() and eg_connect() make them, with rights that the RFC has. */
static struct eg_end open_end(struct eg_guest *guest)
{
	struct eg_end end = { .guest = guest };

	end.pdn = eg_create_pd(guest);
	end.cqn = eg_create_cq(guest);
	end.qpn = eg_create_qp(guest, VIRTIO_IB_QPT_RC, end.pdn, end.cqn);
	end.lkey = eg_reg(guest, end.pdn, RFC_ACCESS, EG_VA, EG_MR_SIZE, EG_DATA);
	return end;
}

static void step(const struct eg_end *end, const struct eg_end *peer, uint8_t to)
{
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(end->qpn, VIRTIO_IB_QPT_RC, to, peer->guest,
			      peer->qpn);

	req.qp_access_flags = htole32(RFC_ACCESS);
	assert_int_equal(eg_modify(end->guest, &req), VIRTIO_NET_OK);
}

static void connect_end(const struct eg_end *end, const struct eg_end *peer)
{
	step(end, peer, VIRTIO_IB_QPS_INIT);
	step(end, peer, VIRTIO_IB_QPS_RTR);
	step(end, peer, VIRTIO_IB_QPS_RTS);
}

static struct eg_pair pair_up(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };

	p.a = open_end(&engine->guest[0]);
	p.b = open_end(&engine->guest[1]);
	connect_end(&p.a, &p.b);
	connect_end(&p.b, &p.a);
	return p;
}

static void test_query_device(void **state)
{
	struct virtio_rdma_ack_query_device ack;
	const uint8_t *p = (const uint8_t *)&ack;
	size_t i;

	memset(&ack, 0xff, sizeof(ack));
	assert_int_equal(eg_command(guest0(state), CMD(QUERY_DEVICE), NULL, 0,
				    &ack, sizeof(ack)), VIRTIO_NET_OK);
	assert_int_equal(le64toh(ack.device_cap_flags),
			 VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN);
	assert_int_equal(le64toh(ack.max_mr_size), 16ull << 30);
	assert_int_equal(le64toh(ack.page_size_cap), 4096);
	assert_int_equal(le32toh(ack.max_cqe), EG_QUEUE);
	assert_int_equal(le32toh(ack.max_qp_wr), EG_QUEUE);
	/* Members that the RFC does not have are zero. */
	for (i = offsetof(typeof(ack), max_fast_reg_pages); i < sizeof(ack); i++)
		assert_int_equal(p[i], 0);
}

static void test_no_extension_commands(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint8_t req[32] = {}, rsp[RNIC_RSP_MAX];
	unsigned int i;

	for (i = CMD(REQ_NOTIFY_CQ) + 1; i < 256; i++) {
		assert_int_equal(eg_command(guest, i, NULL, 0, rsp, sizeof(rsp)),
				 VIRTIO_NET_ERR);
		assert_int_equal(eg_command(guest, i, req, 8, rsp, 12),
				 VIRTIO_NET_ERR);
		assert_int_equal(eg_command(guest, i, req, 24, rsp, sizeof(rsp)),
				 VIRTIO_NET_ERR);
	}
}

/* The device does not look at what the RFC calls padding. */
static void test_padding(void **state)
{
	struct virtio_rdma_cmd_add_gid gid = {
		.index = htole16(3),
		.vlan = htole16(VIRTIO_RDMA_GID_TAGGED | 7),
	};
	struct eg_guest *guest = guest0(state);
	struct {
		struct virtio_rdma_cmd_reg_user_mr fixed;
		__le64 page;
	} mr = {
		.fixed = {
			.length = htole64(4096),
			.npages = htole32(1),
			.page_shift = 30,
			.levels = 1,
		},
		.page = htole64(EG_DATA),
	};
	struct virtio_rdma_cmd_create_qp req;
	struct virtio_rdma_ack_create_qp ack;
	struct virtio_rdma_ack_mr key;

	gid.gid[0] = 0x20;
	gid.gid[15] = 9;
	assert_int_equal(eg_command(guest, CMD(ADD_GID), &gid, sizeof(gid), NULL, 0),
			 VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->gids.gid[3].vlan, 0);

	req = eg_create_qp_req(VIRTIO_IB_QPT_RC, eg_create_pd(guest),
			       eg_create_cq(guest));
	req.flags = 0xff;
	assert_int_equal(eg_command(guest, CMD(CREATE_QP), &req, sizeof(req), &ack,
				    sizeof(ack)), VIRTIO_NET_OK);

	mr.fixed.pdn = req.pdn;
	assert_int_equal(eg_command(guest, CMD(REG_USER_MR), &mr, sizeof(mr), &key,
				    sizeof(key)), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->mrs.extents, 1);
}

static void test_access_flags(void **state)
{
	const uint64_t page = EG_DATA;
	struct virtio_rdma_ack_mr ack;
	struct virtio_rdma_cmd_modify_qp req;
	struct eg_guest *guest = guest0(state);
	struct eg_end end = open_end(guest);

	assert_int_equal(eg_reg_mr(guest, end.pdn, RFC_ACCESS, EG_VA, 4096, &page,
				   1, &ack), VIRTIO_NET_OK);
	assert_int_equal(eg_reg_mr(guest, end.pdn, RFC_ACCESS |
				   VIRTIO_IB_ACCESS_FLUSH_GLOBAL, EG_VA, 4096,
				   &page, 1, &ack), VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, end.pdn, RFC_ACCESS |
				   VIRTIO_IB_ACCESS_REMOTE_ATOMIC, EG_VA, 4096,
				   &page, 1, &ack), VIRTIO_NET_ERR);
	req = eg_modify_req(end.qpn, VIRTIO_IB_QPT_RC, VIRTIO_IB_QPS_INIT, guest, 0);
	req.qp_access_flags = htole32(VIRTIO_IB_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(eg_modify(guest, &req), VIRTIO_NET_ERR);
	req.qp_access_flags = htole32(VIRTIO_IB_ACCESS_FLUSH_GLOBAL);
	assert_int_equal(eg_modify(guest, &req), VIRTIO_NET_ERR);
	req.qp_access_flags = htole32(RFC_ACCESS);
	assert_int_equal(eg_modify(guest, &req), VIRTIO_NET_OK);
}

static uint8_t create_cq(struct eg_guest *guest, uint32_t cqe)
{
	struct virtio_rdma_cmd_create_cq req = { .cqe = htole32(cqe) };
	struct virtio_rdma_ack_create_cq ack;

	return eg_command(guest, CMD(CREATE_CQ), &req, sizeof(req), &ack,
			  sizeof(ack));
}

static void test_depths(void **state)
{
	struct eg_guest *guest = guest0(state);
	struct virtio_rdma_cmd_create_qp req;
	struct virtio_rdma_ack_create_qp ack;

	assert_int_equal(create_cq(guest, EG_QUEUE + 1), VIRTIO_NET_ERR);
	assert_string_equal(guest->rnic->ctx.why,
			    "65 completions are more than the 64 that a CQ holds");
	guest->cq[0].vq.num = EG_QUEUE / 2;
	assert_int_equal(create_cq(guest, EG_QUEUE), VIRTIO_NET_ERR);
	assert_string_equal(guest->rnic->ctx.why,
			    "64 completions are more than its virtqueue holds, 32");
	assert_int_equal(create_cq(guest, EG_QUEUE / 2), VIRTIO_NET_OK);

	req = eg_create_qp_req(VIRTIO_IB_QPT_RC, eg_create_pd(guest), 0);
	req.cap.max_send_wr = htole32(EG_QUEUE + 1);
	req.cap.max_recv_wr = htole32(1);
	assert_int_equal(eg_command(guest, CMD(CREATE_QP), &req, sizeof(req), &ack,
				    sizeof(ack)), VIRTIO_NET_ERR);
	assert_string_equal(guest->rnic->ctx.why,
			    "65 send and 1 receive requests: 64 is the limit");
}

/* The slots of the CQ are all that there is. */
static void test_overrun(void **state)
{
	struct eg_pair p = pair_up(state);
	unsigned int i;

	for (i = 0; i < EG_QUEUE; i++) {
		eg_recv(&p.b, i, EG_IN, 8);
		eg_post_send(&p.a, &(struct eg_wr){
			.wr_id = i, .opcode = VIRTIO_IB_WR_SEND,
			.flags = VIRTIO_IB_SEND_SIGNALED });
		eg_run(p.engine);
	}
	eg_expect_states(&p, VIRTIO_IB_QPS_RTS, VIRTIO_IB_QPS_RTS);
	eg_recv(&p.b, i, EG_IN, 8);
	eg_post_send(&p.a, &(struct eg_wr){ .wr_id = i,
					    .opcode = VIRTIO_IB_WR_SEND,
					    .flags = VIRTIO_IB_SEND_SIGNALED });
	eg_run(p.engine);
	eg_expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_ERR);
}

static void expect_opcode_refused(void **state, const struct eg_wr *template)
{
	struct eg_pair p = pair_up(state);
	struct eg_wr wr = *template;
	struct eg_wc wc;

	wr.wr_id = 5;
	wr.rkey = p.b.lkey;
	wr.remote_addr = EG_VA;
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	wc = eg_expect(&p.a, 5, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	assert_int_not_equal(wc.vendor_err, 0);
	eg_expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_RTS);
}

static void test_flush_opcode(void **state)
{
	expect_opcode_refused(state, &(struct eg_wr){
		.opcode = VIRTIO_IB_WR_FLUSH,
		.flush_type = VIRTIO_IB_FLUSH_GLOBAL });
}

static void test_invalidate_opcode(void **state)
{
	expect_opcode_refused(state, &(struct eg_wr){
		.opcode = VIRTIO_IB_WR_SEND_WITH_INV });
}

static void test_atomic_opcode(void **state)
{
	expect_opcode_refused(state, &(struct eg_wr){
		.opcode = VIRTIO_IB_WR_FETCH_ADD });
}

static void test_read_opcode(void **state)
{
	struct eg_pair p = pair_up(state);
	struct eg_wr wr = eg_send(&p.a, 5, 0, 8);

	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.rkey = p.b.lkey;
	wr.remote_addr = EG_VA;
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 5, VIRTIO_IB_WC_SUCCESS);
}

/* A device of the RFC need not give slots back, and this one does not. */
static void test_reset_forgets(void **state)
{
	struct eg_pair p = pair_up(state);
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(p.b.qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_STATE),
		.qp_state = VIRTIO_IB_QPS_RESET,
	};
	const struct eg_ring *rq = &p.b.guest->rq[p.b.qpn];
	uint16_t used = eg_used(rq);

	eg_recv(&p.b, 1, EG_IN, 8);
	eg_recv(&p.b, 2, EG_IN, 8);
	eg_run(p.engine);
	assert_int_equal(eg_modify(p.b.guest, &req), VIRTIO_NET_OK);
	eg_run(p.engine);
	assert_int_equal(eg_used(rq), used);
	eg_expect_none(&p.b);

	/* The next message takes the request that is posted after the reset. */
	connect_end(&p.b, &p.a);
	req.qpn = htole32(p.a.qpn);
	assert_int_equal(eg_modify(p.a.guest, &req), VIRTIO_NET_OK);
	connect_end(&p.a, &p.b);
	eg_recv(&p.b, 3, EG_IN, 8);
	eg_post_send(&p.a, &(struct eg_wr){ .wr_id = 4,
					    .opcode = VIRTIO_IB_WR_SEND,
					    .flags = VIRTIO_IB_SEND_SIGNALED });
	eg_run(p.engine);
	eg_expect(&p.a, 4, VIRTIO_IB_WC_SUCCESS);
	eg_expect(&p.b, 3, VIRTIO_IB_WC_SUCCESS);
	assert_int_equal(eg_used(rq), used + 1);
}

#define T(test)	cmocka_unit_test_setup_teardown(test, eg_setup_rfc, eg_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_query_device),
		T(test_no_extension_commands),
		T(test_padding),
		T(test_access_flags),
		T(test_depths),
		T(test_overrun),
		T(test_flush_opcode),
		T(test_invalidate_opcode),
		T(test_atomic_opcode),
		T(test_read_opcode),
		T(test_reset_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
