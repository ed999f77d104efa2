// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets as another implementation might send them, to a responder: sequence, SEND, WRITE,
 * UC, congestion.  test_pkt_read.c has requests that data answer, test_pkt_request.c the
 * requester.
 */
#include <stdlib.h>

#include "tests/lib/lone.h"
#include "base/util.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN

/* ------------------------------------------------------------------------- */
/* The tables                                                                */
/* ------------------------------------------------------------------------- */

static void test_opcodes(void **state)
{
	unsigned int i, known = 0;
	const struct pkt_op *op;

	for (i = 0; i < 256; i++) {
		op = pkt_op(i);
		known += !!op;
		if (!op)
			continue;
		assert_non_null(op->name);
		assert_int_not_equal(op->kind, PKT_KIND_NONE);
	}
	/*
	 * RC 0x00-0x14, 0x16, 0x17, 0x1c, 0x1d, UC 0x20-0x2b, UD 0x64, 0x65, CNP 0x81, XRC
	 * 0xa0-0xb4, 0xb6, 0xb7.
	 */
	assert_int_equal(known, 25 + 12 + 2 + 1 + 23);
	for (i = 0; i <= 0x17; i++)
		assert_ptr_equal(pkt_op(0xa0 | i), pkt_op(i));
	assert_null(pkt_op(0xb5));
	assert_null(pkt_op(0xb8));
	assert_null(pkt_op(0xbc));
	assert_null(pkt_op(0xbd));
	assert_non_null(pkt_op(0x81));
	assert_null(pkt_op(0x80));
	assert_non_null(pkt_op(0x11));
	assert_non_null(pkt_op(0x14));
	assert_null(pkt_op(0x15));
	assert_null(pkt_op(0x1e));
	assert_null(pkt_op(0x33));
	assert_null(pkt_op(0x3c));
	assert_non_null(pkt_op(0x16));
	assert_non_null(pkt_op(0x17));
	assert_null(pkt_op(0x18));
	assert_non_null(pkt_op(0x2b));
	assert_null(pkt_op(0x2c));
	assert_null(pkt_op(0x44));
	assert_non_null(pkt_op(0x65));
	assert_null(pkt_op(0x66));
	assert_int_equal(pkt_code(PKT_KIND_SEND, true, true, PKT_EXTRA_IMM),
			 0x05);
	assert_int_equal(pkt_code(PKT_KIND_SEND, true, true, PKT_EXTRA_INV),
			 0x17);
	assert_int_equal(pkt_code(PKT_KIND_SEND, false, true, PKT_EXTRA_INV),
			 0x16);
	assert_int_equal(pkt_code(PKT_KIND_SEND, true, false, PKT_EXTRA_INV),
			 0x00);
	assert_int_equal(pkt_code(PKT_KIND_WRITE, false, true, PKT_EXTRA_NONE),
			 0x08);
	assert_int_equal(pkt_code(PKT_KIND_WRITE, true, false, PKT_EXTRA_IMM),
			 0x06);
	assert_int_equal(pkt_code(PKT_KIND_READ_RESPONSE, true, true,
				  PKT_EXTRA_NONE), 0x10);
}

static void test_psn(void **state)
{
	assert_int_equal(psn_diff(0, 0), 0);
	assert_int_equal(psn_diff(1, 0xffffff), 2);
	assert_int_equal(psn_diff(0xffffff, 1), -2);
	assert_int_equal(psn_diff(0x7fffff, 0), 0x7fffff);
	assert_int_equal(psn_diff(0x800000, 0), -0x800000);
	assert_int_equal(psn_count(0, 1024), 1);
	assert_int_equal(psn_count(1024, 1024), 1);
	assert_int_equal(psn_count(1025, 1024), 2);
	assert_int_equal(psn_count(UINT32_MAX, 256), 1u << 24);
	assert_int_equal(psn_count(1u << 31, 256), 1u << 23);
}

/* ------------------------------------------------------------------------- */
/* Responder                                                                 */
/* ------------------------------------------------------------------------- */

static void test_send_in_packets(void **state)
{
	struct lone l = lone_up(state, RC);

	eg_recv(&l.qp, 1, IN, 5000);
	lone_request(&l, PKT_SEND_FIRST, 0, MTU);
	lone_request(&l, PKT_SEND_MIDDLE, 1, MTU);
	eg_expect_none(&l.qp);
	lone_request(&l, PKT_SEND_LAST, 2, 10);
	assert_int_equal(eg_expect(&l.qp, 1, OK).byte_len, 2 * MTU + 10);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data,
			    2 * MTU + 10);
	lone_expect_aeth(ACK, 0);
	lone_expect_aeth(ACK, 1);
	lone_expect_aeth(ACK, 2);
	lone_expect_quiet();
}

/* Packets that belong to another connection, or to none. */
static void test_not_for_this_qp(void **state)
{
	struct lone l = lone_up(state, RC);
	uint8_t other[GID_SIZE] = { 0xfd, [15] = 1 };
	const struct pkt good = { .opcode = PKT_SEND_ONLY, .ack_req = true };
	struct pkt bad[6] = { good, good, good, good, good, good };
	unsigned int i;

	eg_post_recv(&l.qp, 1, NULL, 0);
	bad[0].sgid = other;
	bad[1].dgid = other;
	bad[2].src_qpn = PEER + 1;
	bad[3].dest_qpn = l.qp.qpn + 1;
	bad[4].opcode = PKT_OPCODE(PKT_UC, PKT_SEND_ONLY);
	bad[5].opcode = 0x1f;
	for (i = 0; i < 6; i++)
		lone_give(&l, bad[i], 0);
	eg_expect_none(&l.qp);
	lone_expect_quiet();
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_RCVD_DROPPED), 6);
	lone_give(&l, good, 0);
	eg_expect(&l.qp, 1, OK);
	lone_expect_aeth(ACK, 0);
}

/* A gap is reported once, the next one again.  Packets behind it need not come again. */
static void test_gaps(void **state)
{
	struct lone l = lone_up(state, RC);
	unsigned int i;

	for (i = 0; i < 5; i++)
		eg_post_recv(&l.qp, i, NULL, 0);
	lone_request(&l, PKT_SEND_ONLY, 1, 0);
	lone_expect_aeth(AETH_NAK_PSN, 0);
	lone_request(&l, PKT_SEND_ONLY, 2, 0);
	lone_request(&l, PKT_SEND_ONLY, 3, 0);
	lone_expect_quiet();
	eg_expect_none(&l.qp);
	/* The first one behind it comes again: what is missing got lost again. */
	lone_request(&l, PKT_SEND_ONLY, 3, 0);
	lone_expect_quiet();
	lone_request(&l, PKT_SEND_ONLY, 1, 0);
	lone_expect_aeth(AETH_NAK_PSN, 0);
	lone_request(&l, PKT_SEND_ONLY, 0, 0);
	lone_expect_aeth(ACK, 3);
	for (i = 0; i < 4; i++)
		eg_expect(&l.qp, i, OK);
	lone_request(&l, PKT_SEND_ONLY, 6, 0);
	lone_expect_aeth(AETH_NAK_PSN, 4);
	lone_request(&l, PKT_SEND_ONLY, 4, 0);
	lone_expect_aeth(AETH_NAK_PSN, 5);
	eg_expect(&l.qp, 4, OK);
	eg_expect_none(&l.qp);
	lone_expect_quiet();
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_OUT_OF_SEQ), 6);
}

/* The peer moves into our process and sends there, as one packet, what was kept in part. */
static void test_gap_closed_in_memory(void **state)
{
	struct lone l = lone_up(state, RC);
	struct eg_sge sge = { EG_VA + IN, 2 * MTU, l.qp.lkey };
	unsigned int i;

	for (i = 0; i < 2; i++)
		eg_post_recv(&l.qp, i, &sge, 1);
	lone_request(&l, PKT_SEND_LAST, 1, MTU);
	lone_expect_aeth(AETH_NAK_PSN, 0);
	assert_true(l.qp.guest->rnic->ctx.early);
	lone_give(&l, (struct pkt) {
		.opcode = PKT_SEND_ONLY, .len = 2 * MTU, .npsn = 2, .ack_req = true,
	}, 0);
	lone_expect_aeth(ACK, 1);
	eg_expect(&l.qp, 0, OK);
	assert_int_equal(l.qp.guest->rnic->ctx.early, 0);
	lone_request(&l, PKT_SEND_ONLY, 2, 0);
	lone_expect_aeth(ACK, 2);
	eg_expect(&l.qp, 1, OK);
	lone_expect_quiet();
}

/* Packets that follow a message that was not taken are not a gap. */
static void test_rnr_and_what_follows(void **state)
{
	struct lone l = lone_up(state, RC);

	lone_request(&l, PKT_SEND_ONLY, 0, 0);
	lone_expect_aeth(RNR, 0);
	lone_request(&l, PKT_SEND_ONLY, 1, 0);
	lone_expect_quiet();
	lone_request(&l, PKT_SEND_ONLY, 0, 0);
	lone_expect_aeth(RNR, 0);
	eg_post_recv(&l.qp, 1, NULL, 0);
	lone_request(&l, PKT_SEND_ONLY, 0, 0);
	lone_expect_aeth(ACK, 0);
	eg_expect(&l.qp, 1, OK);
}

/* A repeated request is answered, but not carried out again. */
static void test_duplicates(void **state)
{
	struct lone l = lone_up(state, RC);

	eg_recv(&l.qp, 1, IN, 100);
	eg_recv(&l.qp, 2, IN + 100, 100);
	lone_request(&l, PKT_SEND_ONLY, 0, 50);
	lone_expect_aeth(ACK, 0);
	eg_expect(&l.qp, 1, OK);
	lone_request(&l, PKT_SEND_ONLY, 0, 50);
	lone_expect_aeth(ACK, 0);
	eg_expect_none(&l.qp);
	lone_request(&l, PKT_SEND_ONLY, (uint32_t)-5, 50);
	lone_expect_aeth(ACK, 0);
	lone_request(&l, PKT_SEND_ONLY, 1, 50);
	lone_expect_aeth(ACK, 1);
	eg_expect(&l.qp, 2, OK);
}

/* Of many repeated packets the first and those that ask for it are acknowledged. */
static void test_duplicates_in_a_row(void **state)
{
	const struct pkt quiet = { .opcode = PKT_SEND_ONLY };
	struct lone l = lone_up(state, RC);
	unsigned int i;

	for (i = 0; i < 5; i++) {
		eg_post_recv(&l.qp, i, NULL, 0);
		lone_give(&l, quiet, i);
	}
	lone_expect_quiet();
	for (i = 0; i < 5; i++)
		lone_give(&l, quiet, i);
	lone_expect_aeth(ACK, 4);
	lone_expect_quiet();
	lone_request(&l, PKT_SEND_ONLY, 2, 0);
	lone_expect_aeth(ACK, 4);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_DUP_REQUEST), 6);
	/* After some progress a packet is lost again. */
	eg_post_recv(&l.qp, 5, NULL, 0);
	lone_give(&l, quiet, 5);
	lone_give(&l, quiet, 5);
	lone_expect_aeth(ACK, 5);
	lone_expect_quiet();
}

/* A message of more than 2 GiB is an error, even if there is room for it. */
static void test_send_without_end(void **state)
{
	struct lone l = lone_up(state, RC);
	struct virtio_rdma_ack_mr ack;
	enum { PAGES = (4ull << 30) / EG_PAGE };
	uint64_t *page = calloc(PAGES, sizeof(*page));
	struct eg_sge sge[EG_SGE];
	uint32_t i, n = (1u << 31) / MTU;

	assert_non_null(page);
	for (i = 0; i < PAGES; i++)
		page[i] = EG_DATA;
	assert_int_equal(eg_reg_mr(l.qp.guest, l.qp.pdn, 1, 0, 4ull << 30, page,
				   PAGES, &ack), VIRTIO_NET_OK);
	free(page);
	for (i = 0; i < EG_SGE; i++)
		sge[i] = (struct eg_sge) { 0, UINT32_MAX, le32toh(ack.lkey) };
	eg_post_recv(&l.qp, 1, sge, EG_SGE);
	lone_give(&l, (struct pkt) { .opcode = PKT_SEND_FIRST, .len = MTU }, 0);
	for (i = 1; i < n; i++)
		lone_give(&l, (struct pkt) { .opcode = PKT_SEND_MIDDLE,
					.len = MTU }, i);
	eg_expect_none(&l.qp);
	lone_expect_quiet();
	lone_give(&l, (struct pkt) { .opcode = PKT_SEND_LAST, .len = 1 }, n);
	eg_expect(&l.qp, 1, VIRTIO_IB_WC_LOC_LEN_ERR);
	lone_expect_aeth(AETH_NAK_INV_REQ, n);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_REFUSED), 1);
}

/* Pairs of packets that may not follow one another, and bad lengths. */
static void test_bad_sequence(void **state)
{
	static const struct {
		uint8_t first, second;
		uint32_t len1, len2;
	} cases[] = {
		{ PKT_SEND_FIRST, PKT_SEND_FIRST, MTU, MTU },
		{ PKT_SEND_FIRST, PKT_SEND_ONLY, MTU, 4 },
		{ PKT_SEND_FIRST, PKT_WRITE_MIDDLE, MTU, MTU },
		{ PKT_SEND_FIRST, PKT_WRITE_LAST, MTU, 4 },
		{ PKT_SEND_FIRST, PKT_WRITE_ONLY, MTU, 0 },
		{ PKT_SEND_FIRST, PKT_READ_REQUEST, MTU, 0 },
		{ PKT_SEND_ONLY, PKT_SEND_MIDDLE, 4, MTU },
		{ PKT_SEND_ONLY, PKT_SEND_LAST, 4, 4 },
		{ PKT_SEND_ONLY, PKT_WRITE_MIDDLE, 4, MTU },
		{ PKT_SEND_ONLY, PKT_WRITE_LAST_IMM, 4, 4 },
		{ PKT_SEND_ONLY, PKT_SEND_FIRST, 4, MTU - 1 },
		{ PKT_SEND_ONLY, PKT_SEND_FIRST, 4, MTU + 1 },
		{ PKT_SEND_ONLY, PKT_SEND_FIRST, 4, 0 },
		{ PKT_SEND_ONLY, PKT_SEND_ONLY, 4, MTU + 1 },
		{ PKT_SEND_FIRST, PKT_SEND_MIDDLE, MTU, 4 },
		{ PKT_SEND_FIRST, PKT_SEND_LAST, MTU, 0 },
		{ PKT_SEND_FIRST, PKT_SEND_LAST, MTU, MTU + 1 },
	};
	struct eg_end peer = {};
	struct lone l = lone_up(state, RC);
	unsigned int i;

	peer.guest = &l.engine->guest[1];
	peer.qpn = PEER;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		eg_recv(&l.qp, 1, IN, 8000);
		eg_recv(&l.qp, 2, IN, 8000);
		lone_request(&l, cases[i].first, 0, cases[i].len1);
		lone_expect_aeth(ACK, 0);
		lone_request(&l, cases[i].second, 1, cases[i].len2);
		if (lone_sent[lone_seen].syndrome != AETH_NAK_INV_REQ)
			fail_msg("case %u", i);
		lone_expect_aeth(AETH_NAK_INV_REQ, 1);
		assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_ERR);
		/* Nothing more is taken or answered. */
		lone_request(&l, PKT_SEND_ONLY, 1, 4);
		lone_expect_quiet();
		eg_destroy_qp(l.qp.guest, l.qp.qpn);
		l.qp.qpn = eg_create_qp(l.qp.guest, RC, l.qp.pdn, l.qp.cqn);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_INIT, &peer);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTR, &peer);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTS, &peer);
	}
}

/* A WRITE has exactly the length that its header says. */
static void test_write_length(void **state)
{
	static const struct {
		uint32_t dmalen, len1, len2;
		uint8_t second;
		bool ok;
	} rows[] = {
		{ 2 * MTU, MTU, MTU, PKT_WRITE_LAST, true },
		{ 2 * MTU - 1, MTU, MTU, PKT_WRITE_LAST, false },
		{ 2 * MTU + 1, MTU, MTU, PKT_WRITE_LAST, false },
		{ 2 * MTU, MTU, MTU, PKT_WRITE_MIDDLE, false },
		{ MTU, MTU, MTU, PKT_WRITE_LAST, false },
		{ MTU + 4, MTU, MTU, PKT_WRITE_MIDDLE, false },
		{ UINT32_MAX, MTU, MTU, PKT_WRITE_MIDDLE, false },
	};
	struct eg_end peer = {};
	struct lone l = lone_up(state, RC);
	unsigned int i;

	peer.guest = &l.engine->guest[1];
	peer.qpn = PEER;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		eg_zero(l.qp.guest, 0, 3 * MTU);
		lone_give(&l, (struct pkt) { .opcode = PKT_WRITE_FIRST,
			.len = rows[i].len1, .dmalen = rows[i].dmalen,
			.va = EG_VA, .rkey = l.qp.lkey }, 0);
		lone_give(&l, (struct pkt) { .opcode = rows[i].second,
			.len = rows[i].len2 }, 1);
		if (lone_state(&l) != (rows[i].ok ? VIRTIO_IB_QPS_RTS :
						   VIRTIO_IB_QPS_ERR))
			fail_msg("case %u", i);
		eg_check_zero(l.qp.guest, rows[i].dmalen < 2 * MTU ?
			      rows[i].dmalen : 2 * MTU, MTU);
		eg_destroy_qp(l.qp.guest, l.qp.qpn);
		l.qp.qpn = eg_create_qp(l.qp.guest, RC, l.qp.pdn, l.qp.cqn);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_INIT, &peer);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTR, &peer);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTS, &peer);
	}
}

/* A packet marked for congestion causes a CNP, at most one in 50 µs. */
static void test_cnp_sent(void **state)
{
	const struct pkt marked = { .opcode = PKT_SEND_ONLY, .ecn = true };
	struct lone l = lone_up(state, RC);
	unsigned int i;

	for (i = 0; i < 6; i++) {
		eg_post_recv(&l.qp, i, NULL, 0);
		lone_give(&l, marked, i);
		engine_loop_advance(l.engine->loop, 20000);
	}
	/* At 0, 60 µs. */
	assert_int_equal(lone_sent_n, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(lone_sent[i].opcode, 0x81);
		assert_int_equal(lone_sent[i].dest_qpn, PEER);
	}
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_RCVD_ECN), 6);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_SENT_CNP), 2);
}

static void test_cnp_received(void **state)
{
	struct lone l = lone_up(state, RC);
	uint8_t other[GID_SIZE] = { 0xfd, [15] = 1 };

	lone_give(&l, (struct pkt) { .opcode = PKT_CNP, .sgid = other }, 0);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_RCVD_CNP), 0);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_RCVD_DROPPED), 1);
	lone_give(&l, (struct pkt) { .opcode = PKT_CNP }, 0x1234);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_RCVD_CNP), 1);
	lone_expect_quiet();
}

static void test_uc_rules(void **state)
{
	struct lone l = lone_up(state, VIRTIO_IB_QPT_UC);

#define UC(code) PKT_OPCODE(PKT_UC, code)
	eg_recv(&l.qp, 1, IN, 3 * MTU);
	/* A message without its middle is dropped.  An end without a beginning is, too. */
	lone_request(&l, UC(PKT_SEND_FIRST), 0, MTU);
	lone_request(&l, UC(PKT_SEND_LAST), 2, MTU);
	lone_request(&l, UC(PKT_SEND_LAST), 3, MTU);
	eg_expect_none(&l.qp);
	/* A new message is taken, whatever its PSN. */
	lone_request(&l, UC(PKT_SEND_FIRST), 8, MTU);
	lone_request(&l, UC(PKT_SEND_FIRST), 16, MTU);
	lone_request(&l, UC(PKT_SEND_LAST), 17, 5);
	assert_int_equal(eg_expect(&l.qp, 1, OK).byte_len, MTU + 5);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data, MTU + 5);
	lone_expect_quiet();		/* and nothing is ever answered */
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, lone_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_opcodes),
		T(test_psn),
		T(test_send_in_packets),
		T(test_not_for_this_qp),
		T(test_gaps),
		T(test_gap_closed_in_memory),
		T(test_rnr_and_what_follows),
		T(test_duplicates),
		T(test_duplicates_in_a_row),
		T(test_send_without_end),
		T(test_bad_sequence),
		T(test_write_length),
		T(test_uc_rules),
		T(test_cnp_sent),
		T(test_cnp_received),
	};

	return cmocka_run_group_tests_name("pkt", tests, NULL, NULL);
}
