// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams: UD and GSI.
 */
#include "tests/lib/engine_guest.h"
#include "rdma/qp/wqe.h"

#define UD	VIRTIO_IB_QPT_UD
#define GSI	VIRTIO_IB_QPT_GSI
#define OK	VIRTIO_IB_WC_SUCCESS
#define FLUSH	VIRTIO_IB_WC_WR_FLUSH_ERR
#define IN	EG_IN
#define GRH	40

#define QKEY	0x1234	/* of eg_modify_req() */

struct pair {
	struct engine *engine;
	struct eg_end a;
	struct eg_end b;
	uint32_t ah;
};

static void bring_up(struct eg_end *end, uint8_t type)
{
	eg_to(end, type, VIRTIO_IB_QPS_INIT, end);
	eg_to(end, type, VIRTIO_IB_QPS_RTR, end);
	eg_to(end, type, VIRTIO_IB_QPS_RTS, end);
}

static struct pair pair_of(void **state, uint8_t type)
{
	struct engine *engine = *state;
	struct pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], type),
		.b = eg_open(&engine->guest[1], type),
	};

	bring_up(&p.a, type);
	bring_up(&p.b, type);
	p.ah = eg_create_ah(p.a.guest, p.a.pdn, p.b.guest);
	return p;
}

static struct eg_wr datagram(const struct pair *p, uint64_t wr_id, uint64_t off,
			     uint32_t len)
{
	struct eg_wr wr = eg_send(&p->a, wr_id, off, len);

	wr.remote_qpn = p->b.qpn;
	wr.remote_qkey = QKEY;
	wr.ah = p->ah;
	return wr;
}

static void test_datagrams(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 1000, 1025, 4095, 4096 };
	struct pair p = pair_of(state, UD);
	struct eg_wr wr;
	struct eg_wc wc;
	uint32_t i;

	for (i = 0; i < 6; i++) {
		eg_fill(p.a.guest, 7, sizes[i], i);
		eg_zero(p.b.guest, IN, 5000);
		eg_recv(&p.b, i, IN + 3, 4200);
		wr = datagram(&p, i, 7, sizes[i]);
		wr.opcode = i & 1 ? VIRTIO_IB_WR_SEND_WITH_IMM :
				    VIRTIO_IB_WR_SEND;
		wr.imm = 0xabc0 + i;
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		wc = eg_expect(&p.a, i, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_SEND);
		wc = eg_expect(&p.b, i, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_RECV);
		assert_int_equal(wc.byte_len, GRH + sizes[i]);
		assert_int_equal(wc.src_qp, p.a.qpn);
		assert_int_equal(wc.flags, VIRTIO_IB_WC_GRH |
				 VIRTIO_IB_WC_IPV4 |
				 (i & 1 ? VIRTIO_IB_WC_WITH_IMM : 0));
		assert_int_equal(wc.imm, i & 1 ? 0xabc0 + i : 0);
		eg_check(p.b.guest, IN + 3 + GRH, sizes[i], i, 0);
		eg_check_zero(p.b.guest, IN + 3 + GRH + sizes[i], 100);
	}
}

/* The header of IPv4, as on the wire, with the PSN: checked by its own checksum. */
static void test_grh_ipv4(void **state)
{
	static const uint8_t want[20] = {
		0x45, 0x28, 0, 20 + 8 + 12 + 8 + 100 + 4, 0xff, 0xfe, 0x40, 0,
		64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
	};
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 99);	/* padded to 100 */
	uint8_t *grh = eg_ptr(p.b.guest, EG_DATA + IN);
	uint32_t sum = 0, i;

	memset(grh, 0xff, GRH);
	eg_recv(&p.b, 1, IN, 200);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.b, 1, OK);
	eg_check_zero(p.b.guest, IN, 20);
	assert_memory_equal(grh + 20, want, 10);
	assert_memory_equal(grh + 32, want + 12, 8);
	for (i = 20; i < 40; i += 2)
		sum += grh[i] << 8 | grh[i + 1];
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
}

static void test_grh_ipv6(void **state)
{
	static const uint8_t gid[2][16] = {
		{ 0xfd, [15] = 1 }, { 0xfd, [15] = 2 },
	};
	static const uint8_t want[8] = {
		0x62, 0x81, 0x23, 0x45, 0, 8 + 12 + 8 + 4 + 8 + 4, 17, 64,
	};
	struct pair p = pair_of(state, UD);
	struct virtio_rdma_cmd_create_ah ah = {
		.pdn = htole32(p.a.pdn),
		.ah_attr.grh = {
			.sgid_index = 1, .hop_limit = 64,
			.traffic_class = 0x28,
			.flow_label = htole32(0x12345),
		},
	};
	struct virtio_rdma_ack_create_ah ack;
	struct virtio_rdma_cmd_add_gid add = { .index = htole16(1) };
	struct eg_wr wr = datagram(&p, 1, 0, 8);
	uint8_t *grh = eg_ptr(p.b.guest, EG_DATA + IN);
	struct eg_wc wc;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		memcpy(add.gid, gid[i], 16);
		assert_int_equal(eg_command(&p.engine->guest[i],
					    VIRTIO_NET_CTRL_ROCE_ADD_GID, &add,
					    sizeof(add), NULL, 0),
				 VIRTIO_NET_OK);
	}
	memcpy(ah.ah_attr.grh.dgid, gid[1], 16);
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_CREATE_AH,
				    &ah, sizeof(ah), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	wr.ah = le32toh(ack.ah);
	wr.opcode = VIRTIO_IB_WR_SEND_WITH_IMM;
	eg_recv(&p.b, 1, IN, 200);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	wc = eg_expect(&p.b, 1, OK);
	assert_int_equal(wc.flags, VIRTIO_IB_WC_GRH | VIRTIO_IB_WC_IPV6 |
			 VIRTIO_IB_WC_WITH_IMM);
	assert_memory_equal(grh, want, 8);
	assert_memory_equal(grh + 8, gid[0], 16);
	assert_memory_equal(grh + 24, gid[1], 16);
}

static void test_qkey(void **state)
{
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 4);

	eg_recv(&p.b, 1, IN, 100);
	wr.remote_qkey = QKEY + 1;
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect_none(&p.b);
	/* The upper bit means the sender's own. */
	wr.remote_qkey = 0x80000000;
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.b, 1, OK);
}

static void test_lost(void **state)
{
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 4);

	/* No receive request; a QP that does not exist; a QPN of more than 24 bits. */
	eg_post_send(&p.a, &wr);
	wr.remote_qpn = EG_QPS + 1;
	wr.wr_id = 2;
	eg_post_send(&p.a, &wr);
	wr.remote_qpn = UINT32_MAX;
	wr.wr_id = 3;
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.a, 2, OK);
	eg_expect(&p.a, 3, OK);
	eg_expect_none(&p.b);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* A QP takes datagrams from RTR on. */
static void test_not_before_rtr(void **state)
{
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 4);

	eg_to(&p.b, UD, VIRTIO_IB_QPS_RESET, &p.a);
	eg_to(&p.b, UD, VIRTIO_IB_QPS_INIT, &p.a);
	eg_recv(&p.b, 2, IN, 100);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect_none(&p.b);
	eg_to(&p.b, UD, VIRTIO_IB_QPS_RTR, &p.a);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.b, 2, OK);
}

static void test_inline(void **state)
{
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 0);

	wr.flags |= VIRTIO_IB_SEND_INLINE;
	wr.data = "inline";
	wr.data_len = 7;
	eg_recv(&p.b, 1, IN, 100);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(eg_expect(&p.b, 1, OK).byte_len, GRH + 7);
	assert_string_equal(eg_ptr(p.b.guest, EG_DATA + IN + GRH), "inline");
}

/* A request that fails here puts the QP into SQE; it still receives. */
static void send_error(void **state, struct eg_wr *change, uint8_t status,
		       uint32_t vendor_err)
{
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 4), back;

	if (change->ah)
		wr.ah = change->ah;
	if (change->num_sge)
		wr.sge[0] = change->sge[0];
	if (!wr.sge[0].lkey)
		wr.sge[0].lkey = p.a.lkey;
	wr.opcode = change->opcode;
	eg_recv(&p.b, 1, IN, 9000);
	eg_recv(&p.a, 9, IN, 100);
	eg_post_send(&p.a, &wr);
	wr = datagram(&p, 2, 0, 4);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(eg_expect(&p.a, 1, status).vendor_err, vendor_err);
	eg_expect(&p.a, 2, FLUSH);
	eg_expect_none(&p.a);
	eg_expect_none(&p.b);
	assert_int_equal(eg_state(p.a.guest, p.a.qpn), VIRTIO_IB_QPS_SQE);

	back = eg_send(&p.b, 3, 0, 4);
	back.ah = eg_create_ah(p.b.guest, p.b.pdn, p.a.guest);
	back.remote_qpn = p.a.qpn;
	back.remote_qkey = QKEY;
	eg_post_send(&p.b, &back);
	eg_run(p.engine);
	eg_expect(&p.a, 9, OK);
}

static void test_bad_ah(void **state)
{
	send_error(state, &(struct eg_wr) { .opcode = VIRTIO_IB_WR_SEND,
					    .ah = 0xffff },
		   VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_AH);
}

static void test_bad_lkey(void **state)
{
	send_error(state, &(struct eg_wr) { .opcode = VIRTIO_IB_WR_SEND,
		   .num_sge = 1, .sge = { { EG_VA, 4, 0xbad } } },
		   VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);
}

static void test_too_long(void **state)
{
	send_error(state, &(struct eg_wr) { .opcode = VIRTIO_IB_WR_SEND,
		   .num_sge = 1, .sge = { { EG_VA, 4097, 0 } } },
		   VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);
}

static void test_write_on_ud(void **state)
{
	send_error(state, &(struct eg_wr) { .opcode = VIRTIO_IB_WR_RDMA_WRITE },
		   VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_OPCODE);
}

static void test_ah_of_other_pd(void **state)
{
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 4);

	wr.ah = eg_create_ah(p.a.guest, eg_create_pd(p.a.guest), p.b.guest);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_LOC_QP_OP_ERR);
}

/* No room for the header and the data. */
static void test_receive_too_short(void **state)
{
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 100);

	eg_zero(p.b.guest, IN, 200);
	eg_recv(&p.b, 1, IN, GRH + 99);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect_none(&p.b);
	eg_check_zero(p.b.guest, IN, 200);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);

	/* The receive request is left for the next datagram that fits. */
	wr = datagram(&p, 2, 0, 99);
	eg_fill(p.a.guest, 0, 99, 1);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 2, OK);
	eg_expect(&p.b, 1, OK);
	eg_check(p.b.guest, IN + GRH, 99, 1, 0);
}

static void test_gsi(void **state)
{
	struct pair p = pair_of(state, GSI);
	struct eg_wr wr = datagram(&p, 1, 0, 256);

	assert_int_equal(p.a.qpn, 1);
	assert_int_equal(p.b.qpn, 1);
	eg_fill(p.a.guest, 0, 256, 1);
	eg_recv(&p.b, 2, IN, 296);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	assert_int_equal(eg_expect(&p.b, 2, OK).src_qp, 1);
	eg_check(p.b.guest, IN + GRH, 256, 1, 0);
}

/* To oneself: the same QP sends and receives. */
static void test_self(void **state)
{
	struct pair p = pair_of(state, UD);
	struct eg_wr wr = datagram(&p, 1, 0, 50);

	wr.remote_qpn = p.a.qpn;
	wr.ah = eg_create_ah(p.a.guest, p.a.pdn, p.a.guest);
	eg_fill(p.a.guest, 0, 50, 1);
	eg_recv(&p.a, 2, IN, 90);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 2, OK);
	eg_expect(&p.a, 1, OK);
	eg_check(p.a.guest, IN + GRH, 50, 1, 0);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_datagrams),
		T(test_grh_ipv4),
		T(test_grh_ipv6),
		T(test_qkey),
		T(test_lost),
		T(test_not_before_rtr),
		T(test_inline),
		T(test_bad_ah),
		T(test_bad_lkey),
		T(test_too_long),
		T(test_write_on_ud),
		T(test_ah_of_other_pd),
		T(test_receive_too_short),
		T(test_gsi),
		T(test_self),
	};

	return cmocka_run_group_tests_name("ud", tests, NULL, NULL);
}
