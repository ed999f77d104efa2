// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets as another implementation might send them: one end is a QP, the other
 * one is this test.
 */
#include <stdlib.h>

#include "tests/lib/engine_guest.h"
#include "base/util.h"
#include "packet/pkt.h"
#include "rdma/rnic_priv.h"
#include "rdma/object/sg.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN

#define MTU	1024
#define PSN	0xfffffeu	/* of eg_modify_req() */
#define PEER	77

#define ACK	(AETH_ACK | AETH_UNLIMITED)
#define RNR	(AETH_RNR | 12)

/* Packets that the QP has sent. */
#define SENT_MAX	(4 * RNIC_MAX_RD_ATOMIC)

static struct pkt sent[SENT_MAX];
static unsigned int sent_n;

static void capture_send(struct fabric_end *from __always_unused,
			 struct fabric_end *to __always_unused,
			 const struct pkt *pkt)
{
	assert_true(sent_n < SENT_MAX);
	sent[sent_n++] = *pkt;
}

static const struct transport capture = {
	.name = "capture",
	.send = capture_send,
};

static const struct transport capture_memory = {
	.name = "capture",
	.seg_max = 4096,
	.send = capture_send,
};

struct lone {
	struct engine *engine;
	struct eg_end qp;
	uint8_t sgid[GID_SIZE];
	uint8_t dgid[GID_SIZE];
	uint8_t data[8 * MTU];
	struct sg sg;
};

static struct lone lone_up(void **state, uint8_t type)
{
	struct engine *engine = *state;
	struct lone l = {
		.engine = engine,
		.qp = eg_open(&engine->guest[0], type),
	};
	struct eg_end peer = { .guest = &engine->guest[1], .qpn = PEER };
	unsigned int i;

	fabric_set_local(engine->fabric, &capture);
	sent_n = 0;
	eg_gid(&engine->guest[1], l.sgid);
	eg_gid(&engine->guest[0], l.dgid);
	for (i = 0; i < sizeof(l.data); i++)
		l.data[i] = i * 31 + 7;
	eg_to(&l.qp, type, VIRTIO_IB_QPS_INIT, &peer);
	eg_to(&l.qp, type, VIRTIO_IB_QPS_RTR, &peer);
	eg_to(&l.qp, type, VIRTIO_IB_QPS_RTS, &peer);
	return l;
}

/* Hand the QP a packet: @n is its PSN's distance from the first one. */
static void give(struct lone *l, struct pkt given, uint32_t n)
{
	given.psn = (PSN + n) & PSN_MASK;
	if (!given.npsn)
		given.npsn = 1;
	if (!given.dest_qpn)
		given.dest_qpn = l->qp.qpn;
	if (!given.src_qpn)
		given.src_qpn = PKT_QPN_UNKNOWN;
	if (!given.sgid)
		given.sgid = l->sgid;
	if (!given.dgid)
		given.dgid = l->dgid;
	sg_init_flat(&l->sg, l->data + n * MTU % sizeof(l->data));
	given.payload = given.len ? &l->sg : NULL;
	eg_deliver(l->qp.guest, &given);
}

static void request(struct lone *l, uint8_t code, uint32_t n, uint32_t len)
{
	give(l, (struct pkt) { .opcode = code, .len = len, .ack_req = true },
	     n);
}

static void answer(struct lone *l, uint8_t syndrome, uint32_t n)
{
	give(l, (struct pkt) { .opcode = PKT_ACK, .syndrome = syndrome }, n);
}

/* The next packet that the QP has sent is an ACK or NAK. */
static unsigned int seen;

static void expect_aeth(uint8_t syndrome, uint32_t n)
{
	assert_true(seen < sent_n);
	assert_int_equal(sent[seen].opcode, PKT_ACK);
	assert_int_equal(sent[seen].syndrome, syndrome);
	assert_int_equal(sent[seen].psn, (PSN + n) & PSN_MASK);
	assert_int_equal(sent[seen].dest_qpn, PEER);
	seen++;
}

static void expect_quiet(void)
{
	assert_int_equal(seen, sent_n);
}

static uint64_t counted(const struct lone *l, enum virtio_rdma_counter counter)
{
	return rnic_counters(l->qp.guest->rnic)[counter];
}

static int setup(void **state)
{
	seen = 0;
	return eg_setup(state);
}

static uint8_t state_of(const struct lone *l)
{
	return eg_state(l->qp.guest, l->qp.qpn);
}

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
	request(&l, PKT_SEND_FIRST, 0, MTU);
	request(&l, PKT_SEND_MIDDLE, 1, MTU);
	eg_expect_none(&l.qp);
	request(&l, PKT_SEND_LAST, 2, 10);
	assert_int_equal(eg_expect(&l.qp, 1, OK).byte_len, 2 * MTU + 10);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data,
			    2 * MTU + 10);
	expect_aeth(ACK, 0);
	expect_aeth(ACK, 1);
	expect_aeth(ACK, 2);
	expect_quiet();
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
		give(&l, bad[i], 0);
	eg_expect_none(&l.qp);
	expect_quiet();
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_RCVD_DROPPED), 6);
	give(&l, good, 0);
	eg_expect(&l.qp, 1, OK);
	expect_aeth(ACK, 0);
}

/* A gap is reported once, the next one again. */
static void test_gaps(void **state)
{
	struct lone l = lone_up(state, RC);
	unsigned int i;

	for (i = 0; i < 5; i++)
		eg_post_recv(&l.qp, i, NULL, 0);
	request(&l, PKT_SEND_ONLY, 1, 0);
	expect_aeth(AETH_NAK_PSN, 0);
	request(&l, PKT_SEND_ONLY, 2, 0);
	request(&l, PKT_SEND_ONLY, 3, 0);
	expect_quiet();
	eg_expect_none(&l.qp);
	request(&l, PKT_SEND_ONLY, 0, 0);
	expect_aeth(ACK, 0);
	eg_expect(&l.qp, 0, OK);
	request(&l, PKT_SEND_ONLY, 3, 0);
	expect_aeth(AETH_NAK_PSN, 1);
	expect_quiet();
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_OUT_OF_SEQ), 4);
}

/* Packets that follow a message that was not taken are not a gap. */
static void test_rnr_and_what_follows(void **state)
{
	struct lone l = lone_up(state, RC);

	request(&l, PKT_SEND_ONLY, 0, 0);
	expect_aeth(RNR, 0);
	request(&l, PKT_SEND_ONLY, 1, 0);
	expect_quiet();
	request(&l, PKT_SEND_ONLY, 0, 0);
	expect_aeth(RNR, 0);
	eg_post_recv(&l.qp, 1, NULL, 0);
	request(&l, PKT_SEND_ONLY, 0, 0);
	expect_aeth(ACK, 0);
	eg_expect(&l.qp, 1, OK);
}

/* A repeated request is answered, but not carried out again. */
static void test_duplicates(void **state)
{
	struct lone l = lone_up(state, RC);

	eg_recv(&l.qp, 1, IN, 100);
	eg_recv(&l.qp, 2, IN + 100, 100);
	request(&l, PKT_SEND_ONLY, 0, 50);
	expect_aeth(ACK, 0);
	eg_expect(&l.qp, 1, OK);
	request(&l, PKT_SEND_ONLY, 0, 50);
	expect_aeth(ACK, 0);
	eg_expect_none(&l.qp);
	request(&l, PKT_SEND_ONLY, (uint32_t)-5, 50);
	expect_aeth(ACK, 0);
	request(&l, PKT_SEND_ONLY, 1, 50);
	expect_aeth(ACK, 1);
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
		give(&l, quiet, i);
	}
	expect_quiet();
	for (i = 0; i < 5; i++)
		give(&l, quiet, i);
	expect_aeth(ACK, 4);
	expect_quiet();
	request(&l, PKT_SEND_ONLY, 2, 0);
	expect_aeth(ACK, 4);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_DUP_REQUEST), 6);
	/* After some progress a packet is lost again. */
	eg_post_recv(&l.qp, 5, NULL, 0);
	give(&l, quiet, 5);
	give(&l, quiet, 5);
	expect_aeth(ACK, 5);
	expect_quiet();
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
	give(&l, (struct pkt) { .opcode = PKT_SEND_FIRST, .len = MTU }, 0);
	for (i = 1; i < n; i++)
		give(&l, (struct pkt) { .opcode = PKT_SEND_MIDDLE,
					.len = MTU }, i);
	eg_expect_none(&l.qp);
	expect_quiet();
	give(&l, (struct pkt) { .opcode = PKT_SEND_LAST, .len = 1 }, n);
	eg_expect(&l.qp, 1, VIRTIO_IB_WC_LOC_LEN_ERR);
	expect_aeth(AETH_NAK_INV_REQ, n);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_REFUSED), 1);
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
		request(&l, cases[i].first, 0, cases[i].len1);
		expect_aeth(ACK, 0);
		request(&l, cases[i].second, 1, cases[i].len2);
		if (sent[seen].syndrome != AETH_NAK_INV_REQ)
			fail_msg("case %u", i);
		expect_aeth(AETH_NAK_INV_REQ, 1);
		assert_int_equal(state_of(&l), VIRTIO_IB_QPS_ERR);
		/* Nothing more is taken or answered. */
		request(&l, PKT_SEND_ONLY, 1, 4);
		expect_quiet();
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
		give(&l, (struct pkt) { .opcode = PKT_WRITE_FIRST,
			.len = rows[i].len1, .dmalen = rows[i].dmalen,
			.va = EG_VA, .rkey = l.qp.lkey }, 0);
		give(&l, (struct pkt) { .opcode = rows[i].second,
			.len = rows[i].len2 }, 1);
		if (state_of(&l) != (rows[i].ok ? VIRTIO_IB_QPS_RTS :
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

/* Repeated requests look like loss, so the answers to them are paced. */
static void run_for(struct lone *l, uint64_t ns)
{
	uint64_t end = loop_now(l->engine->loop) + ns;

	while (loop_now(l->engine->loop) < end) {
		eg_run(l->engine);
		engine_loop_advance(l->engine->loop, 1000);
	}
}

static void read_request(struct lone *l, uint32_t n, uint32_t off, uint32_t len)
{
	give(l, (struct pkt) { .opcode = PKT_READ_REQUEST, .ack_req = true,
		.va = EG_VA + off, .rkey = l->qp.lkey, .dmalen = len }, n);
}

static void expect_read(uint8_t code, uint32_t n, uint32_t len)
{
	assert_true(seen < sent_n);
	assert_int_equal(sent[seen].opcode, code);
	assert_int_equal(sent[seen].psn, (PSN + n) & PSN_MASK);
	assert_int_equal(sent[seen].len, len);
	seen++;
}

/* Answers come in the order of the requests: READs first, then the ACK. */
static void test_read_answers(void **state)
{
	struct lone l = lone_up(state, RC);

	eg_recv(&l.qp, 1, IN, 100);
	read_request(&l, 0, 0, 2 * MTU + 1);
	read_request(&l, 3, 100, 5);
	request(&l, PKT_SEND_ONLY, 4, 50);
	eg_expect(&l.qp, 1, OK);	/* carried out at once */
	expect_quiet();
	eg_run(l.engine);
	expect_read(PKT_READ_FIRST, 0, MTU);
	expect_read(PKT_READ_MIDDLE, 1, MTU);
	expect_read(PKT_READ_LAST, 2, 1);
	expect_read(PKT_READ_ONLY, 3, 5);
	expect_aeth(ACK, 4);
	expect_quiet();
	/* A READ counts as a message when it is asked for. */
	assert_int_equal(sent[0].msn, 1);
	assert_int_equal(sent[2].msn, 1);
	assert_int_equal(sent[3].msn, 2);
	assert_int_equal(sent[4].msn, 3);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_ACK_DEFERRED), 1);
}

/* An RNR NAK waits for the answer to a READ; by then the QP may be ready. */
static void test_rnr_behind_read(void **state)
{
	struct lone l = lone_up(state, RC);

	read_request(&l, 0, 0, 10);
	request(&l, PKT_SEND_ONLY, 1, 0);
	expect_quiet();
	eg_run(l.engine);
	expect_read(PKT_READ_ONLY, 0, 10);
	expect_aeth(RNR, 1);
	read_request(&l, 1, 0, 10);	/* another request with PSN 1 */
	request(&l, PKT_SEND_ONLY, 2, 0);
	eg_post_recv(&l.qp, 1, NULL, 0);
	request(&l, PKT_SEND_ONLY, 2, 0);
	eg_expect(&l.qp, 1, OK);
	eg_run(l.engine);
	expect_read(PKT_READ_ONLY, 1, 10);
	expect_aeth(ACK, 2);
	expect_quiet();
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_SENT_RNR), 2);
}

/* A packet marked for congestion causes a CNP, at most one in 50 µs. */
static void test_cnp_sent(void **state)
{
	const struct pkt marked = { .opcode = PKT_SEND_ONLY, .ecn = true };
	struct lone l = lone_up(state, RC);
	unsigned int i;

	for (i = 0; i < 6; i++) {
		eg_post_recv(&l.qp, i, NULL, 0);
		give(&l, marked, i);
		engine_loop_advance(l.engine->loop, 20000);
	}
	/* At 0, 60 µs. */
	assert_int_equal(sent_n, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(sent[i].opcode, 0x81);
		assert_int_equal(sent[i].dest_qpn, PEER);
	}
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_RCVD_ECN), 6);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_SENT_CNP), 2);
}

static void test_cnp_received(void **state)
{
	struct lone l = lone_up(state, RC);
	uint8_t other[GID_SIZE] = { 0xfd, [15] = 1 };

	give(&l, (struct pkt) { .opcode = PKT_CNP, .sgid = other }, 0);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_RCVD_CNP), 0);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_RCVD_DROPPED), 1);
	give(&l, (struct pkt) { .opcode = PKT_CNP }, 0x1234);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_RCVD_CNP), 1);
	expect_quiet();
}

/* A READ is repeated, whole or in part, before and after its answer was sent. */
static void test_read_duplicate(void **state)
{
	struct lone l = lone_up(state, RC);

	read_request(&l, 0, 0, 2 * MTU);
	read_request(&l, 2, 0, MTU);
	/* Doubled by the network. */
	read_request(&l, 0, 0, 2 * MTU);
	read_request(&l, 2, 0, MTU);
	/* From its second packet on. */
	read_request(&l, 1, MTU, MTU);
	eg_run(l.engine);
	expect_read(PKT_READ_ONLY, 1, MTU);
	expect_read(PKT_READ_ONLY, 2, MTU);
	expect_quiet();
	/* Answered long ago: they are carried out again, in order. */
	read_request(&l, 2, 0, MTU);
	read_request(&l, 0, 0, 2 * MTU);
	eg_run(l.engine);
	expect_read(PKT_READ_FIRST, 0, MTU);
	expect_read(PKT_READ_LAST, 1, MTU);
	expect_read(PKT_READ_ONLY, 2, MTU);
	expect_quiet();
	assert_int_equal(le32toh(eg_query(l.qp.guest, l.qp.qpn).rq_psn), 1);
}

/* Repeated READs use none of the READs that the peer may have under way. */
static void test_read_duplicate_flood(void **state)
{
	const unsigned int again = RNIC_MAX_RD_ATOMIC, n = again + 4;
	struct lone l = lone_up(state, RC);
	unsigned int i;

	for (i = 0; i < n; i++) {
		read_request(&l, i, 0, 1);
		eg_run(l.engine);
		expect_read(PKT_READ_ONLY, i, 1);
	}
	/* Only so many repetitions are remembered: the first four are dropped. */
	for (i = n; i--;)
		read_request(&l, i, 0, 1);
	for (i = n; i < n + 4; i++)
		read_request(&l, i, 0, 1);
	run_for(&l, 10000000);
	for (i = 4; i < n + 4; i++)
		expect_read(PKT_READ_ONLY, i, 1);
	expect_quiet();
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_RTS);
}

static void flush_request(struct lone *l, uint32_t n, uint8_t type,
			  uint8_t level, uint32_t len)
{
	give(l, (struct pkt) { .opcode = PKT_FLUSH, .ack_req = true,
		.va = EG_VA + 100, .rkey = l->qp.lkey, .dmalen = len,
		.flush_type = type, .flush_level = level }, n);
}

/* The word that atomic operations of the peer are about. */
static uint64_t *word_of(const struct lone *l)
{
	return eg_ptr(l->qp.guest, EG_DATA + 104);
}

static void atomic_request(struct lone *l, uint32_t n, uint8_t code, uint64_t compare,
			   uint64_t swap_add)
{
	give(l, (struct pkt) { .opcode = code, .va = EG_VA + 104, .rkey = l->qp.lkey,
		.compare = compare, .swap_add = swap_add }, n);
}

static void add_request(struct lone *l, uint32_t n)
{
	atomic_request(l, n, PKT_FETCH_ADD, 0, 1);
}

static void expect_atomic(uint32_t n, uint64_t orig)
{
	assert_true(seen < sent_n);
	assert_int_equal(sent[seen].orig, orig);
	assert_int_equal(sent[seen].syndrome, ACK);
	expect_read(PKT_ATOMIC_ACK, n, 0);
}

/* Carried out at once, and answered in order with READs. */
static void test_atomic_answers(void **state)
{
	struct lone l = lone_up(state, RC);

	*word_of(&l) = 10;
	read_request(&l, 0, 0, MTU + 1);
	add_request(&l, 2);
	assert_int_equal(*word_of(&l), 11);
	atomic_request(&l, 3, PKT_CMP_SWAP, 11, 50);
	assert_int_equal(*word_of(&l), 50);
	atomic_request(&l, 4, PKT_CMP_SWAP, 11, 60);
	assert_int_equal(*word_of(&l), 50);
	expect_quiet();
	eg_run(l.engine);
	expect_read(PKT_READ_FIRST, 0, MTU);
	expect_read(PKT_READ_LAST, 1, 1);
	expect_atomic(2, 10);
	expect_atomic(3, 11);
	expect_atomic(4, 50);
	expect_quiet();
	assert_int_equal(sent[4].msn, 4);
}

/* The answer was lost, or the network doubled the request: it counts once. */
static void test_atomic_duplicate(void **state)
{
	struct lone l = lone_up(state, RC);

	*word_of(&l) = 10;
	add_request(&l, 0);
	add_request(&l, 0);
	add_request(&l, 1);
	eg_run(l.engine);
	expect_atomic(0, 10);
	expect_atomic(1, 11);
	expect_quiet();
	/* In whatever order they come, also when others have changed the word. */
	*word_of(&l) = 1000;
	add_request(&l, 1);
	add_request(&l, 0);
	eg_run(l.engine);
	expect_atomic(0, 10);
	expect_atomic(1, 11);
	/* After any time, as the room for READs is freed by then. */
	run_for(&l, 10000000);
	add_request(&l, 0);
	eg_run(l.engine);
	expect_atomic(0, 10);
	expect_quiet();
	assert_int_equal(*word_of(&l), 1000);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_DUP_REQUEST), 4);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_REFUSED), 0);
}

/* As many are remembered as a peer may have under way; nobody waits for others. */
static void test_atomic_duplicate_old(void **state)
{
	const unsigned int n = RNIC_MAX_RD_ATOMIC + 2;
	struct lone l = lone_up(state, RC);
	unsigned int i;

	*word_of(&l) = 0;
	for (i = 0; i < n; i++) {
		add_request(&l, i);
		eg_run(l.engine);
		expect_atomic(i, i);
	}
	for (i = n; i--;)
		add_request(&l, i);
	run_for(&l, 10000000);
	for (i = 2; i < n; i++)
		expect_atomic(i, i);
	expect_quiet();
	/* Nor for one that never was. */
	add_request(&l, (uint32_t)-1);
	eg_run(l.engine);
	expect_quiet();
	assert_int_equal(*word_of(&l), n);
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_RTS);
}

/* They use the resources that READs use. */
static void test_atomics_and_reads(void **state)
{
	struct lone l = lone_up(state, RC);

	*word_of(&l) = 0;
	read_request(&l, 0, 0, 1);
	add_request(&l, 1);
	read_request(&l, 2, 0, 1);
	add_request(&l, 3);
	/* Not carried out, as it is one too many. */
	add_request(&l, 4);
	assert_int_equal(*word_of(&l), 2);
	eg_run(l.engine);
	seen += 4;
	expect_aeth(AETH_NAK_INV_REQ, 4);
	expect_quiet();
}

static void bad_atomic(void **state, struct pkt pkt, uint8_t syndrome)
{
	struct lone l = lone_up(state, RC);

	memset(word_of(&l), 0, 8);
	pkt.va += EG_VA;
	pkt.rkey += l.qp.lkey;
	give(&l, pkt, 0);
	expect_aeth(syndrome, 0);
	assert_int_equal(*word_of(&l), 0);
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_ERR);
}

#define BAD_ATOMIC(name, syndrome, code, ...)				\
static void test_atomic_ ## name(void **state)				\
{									\
	bad_atomic(state, (struct pkt) { .opcode = PKT_ ## code,	\
		   .swap_add = 1, ##__VA_ARGS__ }, AETH_NAK_ ## syndrome); \
}

BAD_ATOMIC(askew_1, INV_REQ, FETCH_ADD, .va = 105)
BAD_ATOMIC(askew_4, INV_REQ, CMP_SWAP, .va = 108)
BAD_ATOMIC(bad_key, ACCESS, FETCH_ADD, .va = 104, .rkey = 0x80)
BAD_ATOMIC(behind, ACCESS, FETCH_ADD, .va = EG_MR_SIZE)
BAD_ATOMIC(write_askew, INV_REQ, ATOMIC_WRITE, .va = 100, .len = 8, .dmalen = 8)
BAD_ATOMIC(write_short, INV_REQ, ATOMIC_WRITE, .va = 104, .len = 4, .dmalen = 4)
BAD_ATOMIC(write_long, INV_REQ, ATOMIC_WRITE, .va = 104, .len = 16, .dmalen = 16)
BAD_ATOMIC(write_lengths, INV_REQ, ATOMIC_WRITE, .va = 104, .len = 8, .dmalen = 9)
BAD_ATOMIC(write_key, ACCESS, ATOMIC_WRITE, .va = 104, .len = 8, .dmalen = 8,
	   .rkey = 0x80)

/* Answered as a FLUSH is; a repetition is not carried out, as it may be a late one. */
static void test_atomic_write(void **state)
{
	struct lone l = lone_up(state, RC);
	struct pkt pkt = {
		.opcode = PKT_ATOMIC_WRITE, .va = EG_VA + 104, .rkey = l.qp.lkey,
		.len = 8, .dmalen = 8,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		give(&l, pkt, 0);
		eg_run(l.engine);
		expect_read(PKT_READ_ONLY, 0, 0);
		if (!i)
			assert_memory_equal(word_of(&l), l.data, 8);
		*word_of(&l) = 5;
	}
	assert_int_equal(*word_of(&l), 5);
	expect_quiet();
	assert_int_equal(le32toh(eg_query(l.qp.guest, l.qp.qpn).rq_psn),
			 (PSN + 1) & PSN_MASK);
}

static struct eg_wr atomic_wr(const struct lone *l, uint8_t opcode)
{
	struct eg_wr wr = eg_send(&l->qp, 1, 0, 8);

	wr.opcode = opcode;
	wr.remote_addr = EG_VA;
	wr.compare_add = 3;
	wr.swap = 4;
	return wr;
}

/* An atomic operation is asked for, and again with the same PSN if there is no answer. */
static void test_atomic_asked(void **state)
{
	struct lone l = lone_up(state, RC);
	struct eg_wr wr = atomic_wr(&l, VIRTIO_IB_WR_CMP_SWAP);
	unsigned int i;

	eg_post_send(&l.qp, &wr);
	eg_run(l.engine);
	engine_loop_advance(l.engine->loop, 4096ull << 10);
	eg_run(l.engine);
	assert_int_equal(sent_n, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(sent[i].compare, 3);
		assert_int_equal(sent[i].swap_add, 4);
		assert_int_equal(sent[i].va, EG_VA);
		expect_read(PKT_CMP_SWAP, 0, 0);
	}
	give(&l, (struct pkt) { .opcode = PKT_ATOMIC_ACK, .syndrome = ACK,
				.orig = 0x0102030405060708 }, 0);
	assert_int_equal(eg_expect(&l.qp, 1, OK).byte_len, 8);
	assert_int_equal(le64toh(*(__le64 *)eg_ptr(l.qp.guest, EG_DATA)),
			 0x0102030405060708);
	/* The second answer is one that nobody waits for. */
	give(&l, (struct pkt) { .opcode = PKT_ATOMIC_ACK, .syndrome = ACK }, 0);
	assert_int_equal(*(__le64 *)eg_ptr(l.qp.guest, EG_DATA),
			 htole64(0x0102030405060708));
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_RTS);
}

/* An answer of another kind than the request: nothing is written, the QP ends. */
static void bad_answer(void **state, uint8_t opcode, struct pkt pkt)
{
	struct lone l = lone_up(state, RC);
	struct eg_wr wr = atomic_wr(&l, opcode);

	eg_post_send(&l.qp, &wr);
	eg_run(l.engine);
	memset(eg_ptr(l.qp.guest, EG_DATA), 0x55, 8);
	pkt.orig = 1;
	give(&l, pkt, 0);
	eg_expect(&l.qp, 1, VIRTIO_IB_WC_BAD_RESP_ERR);
	assert_int_equal(*(uint64_t *)eg_ptr(l.qp.guest, EG_DATA), 0x5555555555555555);
	seen = sent_n;
}

#define BAD_ANSWER(name, asked, code, ...)				\
static void test_ ## name(void **state)					\
{									\
	bad_answer(state, VIRTIO_IB_WR_ ## asked,			\
		   (struct pkt) { .opcode = PKT_ ## code, ##__VA_ARGS__ }); \
}

BAD_ANSWER(atomic_read_answer, FETCH_ADD, READ_ONLY, .syndrome = ACK, .len = 8)
BAD_ANSWER(atomic_nak_answer, FETCH_ADD, ATOMIC_ACK, .syndrome = AETH_NAK_ACCESS)
BAD_ANSWER(atomic_write_data, ATOMIC_WRITE, READ_ONLY, .syndrome = ACK, .len = 8)
BAD_ANSWER(atomic_write_atomic, ATOMIC_WRITE, ATOMIC_ACK, .syndrome = ACK)
BAD_ANSWER(read_atomic, RDMA_READ, ATOMIC_ACK, .syndrome = ACK)
BAD_ANSWER(write_atomic, RDMA_WRITE, ATOMIC_ACK, .syndrome = ACK)

#define GLOBAL	VIRTIO_IB_FLUSH_GLOBAL
#define RANGE	VIRTIO_IB_FLUSH_RANGE

/* A FLUSH takes one PSN and has one answer, in order with READs, at any length. */
static void test_flush_answers(void **state)
{
	struct lone l = lone_up(state, RC);

	read_request(&l, 0, 0, MTU + 1);
	flush_request(&l, 2, GLOBAL, RANGE, 10 * MTU);
	request(&l, PKT_SEND_LAST, 3, 4);	/* an error */
	flush_request(&l, 4, GLOBAL, RANGE, 0);
	expect_quiet();
	eg_run(l.engine);
	expect_read(PKT_READ_FIRST, 0, MTU);
	expect_read(PKT_READ_LAST, 1, 1);
	expect_read(PKT_READ_ONLY, 2, 0);
	assert_int_equal(sent[2].syndrome, ACK);
	assert_int_equal(sent[2].msn, 2);
	expect_aeth(AETH_NAK_INV_REQ, 3);
	expect_quiet();
}

/* The answer was lost, or the network doubled the request. */
static void test_flush_duplicate(void **state)
{
	struct lone l = lone_up(state, RC);

	flush_request(&l, 0, GLOBAL, RANGE, 3 * MTU);
	flush_request(&l, 0, GLOBAL, RANGE, 3 * MTU);
	read_request(&l, 1, 0, 1);
	eg_run(l.engine);
	expect_read(PKT_READ_ONLY, 0, 0);
	expect_read(PKT_READ_ONLY, 1, 1);
	expect_quiet();
	read_request(&l, 1, 0, 1);
	flush_request(&l, 0, GLOBAL, RANGE, 3 * MTU);
	eg_run(l.engine);
	expect_read(PKT_READ_ONLY, 0, 0);
	expect_read(PKT_READ_ONLY, 1, 1);
	expect_quiet();
	/* This one would not have been carried out the first time either. */
	flush_request(&l, 0, VIRTIO_IB_FLUSH_PERSISTENT, RANGE, 3 * MTU);
	expect_aeth(AETH_NAK_INV_REQ, 0);
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_RTS);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_DUP_REQUEST), 4);
}

/* Soft-RoCE does not count a FLUSH as a READ, so it uses no READ resource. */
static void test_flushes_beside_reads(void **state)
{
	struct lone l = lone_up(state, RC);
	unsigned int i, n = 0;

	for (i = 0; i < RNIC_MAX_RD_ATOMIC; i++)
		flush_request(&l, n++, GLOBAL, RANGE, 1);
	for (i = 0; i < 4; i++)
		read_request(&l, n++, 0, 1);
	flush_request(&l, n, GLOBAL, RANGE, 1);
	run_for(&l, 10000000);
	for (i = 0; i < n; i++)
		expect_read(PKT_READ_ONLY, i, i >= RNIC_MAX_RD_ATOMIC);
	expect_aeth(AETH_NAK_INV_REQ, n);
	expect_quiet();
}

/*
 * Soft-RoCE answers a FLUSH only if the ICRC is of its own kind.  A FLUSH without an
 * answer is sent again with the other kind, and the kind that worked is kept.
 */
static void test_flush_icrc(void **state)
{
	struct lone l = lone_up(state, RC);
	struct eg_wr wr = {
		.wr_id = 1, .opcode = VIRTIO_IB_WR_FLUSH,
		.flags = VIRTIO_IB_SEND_SIGNALED,
		.flush_type = GLOBAL, .flush_level = VIRTIO_IB_FLUSH_MR,
	};

	eg_post_send(&l.qp, &wr);
	eg_run(l.engine);
	assert_int_equal(sent_n, 1);
	assert_int_equal(sent[0].opcode, PKT_FLUSH);
	assert_false(sent[0].icrc_twice);
	engine_loop_advance(l.engine->loop, 4096ull << 10);
	eg_run(l.engine);
	assert_int_equal(sent_n, 2);
	assert_true(sent[1].icrc_twice);
	give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .syndrome = ACK }, 0);
	eg_expect(&l.qp, 1, OK);
	eg_post_send(&l.qp, &wr);
	eg_run(l.engine);
	assert_int_equal(sent_n, 3);
	assert_true(sent[2].icrc_twice);
	/* A FLUSH of the peer shows at once which kind it uses. */
	flush_request(&l, 0, GLOBAL, RANGE, 4);
	give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .syndrome = ACK }, 1);
	eg_expect(&l.qp, 1, OK);
	eg_post_send(&l.qp, &wr);
	eg_run(l.engine);
	assert_int_equal(sent_n, 5);
	assert_int_equal(sent[4].opcode, PKT_FLUSH);
	assert_false(sent[4].icrc_twice);
	give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .syndrome = ACK }, 2);
	eg_expect(&l.qp, 1, OK);
	seen = sent_n;
}

/* Types and levels that do not exist, or that this device does not have. */
static void test_flush_unknown(void **state)
{
	static const uint8_t bad[][2] = {
		{ 0, RANGE }, { 4, RANGE }, { GLOBAL | 8, RANGE },
		{ GLOBAL, 2 }, { GLOBAL, 3 },
	};
	struct lone l;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		l = lone_up(state, RC);
		flush_request(&l, 0, bad[i][0], bad[i][1], 4);
		expect_aeth(AETH_NAK_INV_REQ, 0);
		assert_int_equal(state_of(&l), VIRTIO_IB_QPS_ERR);
		eg_teardown(state);
		setup(state);
	}
}

/* More READs than the QP has resources for. */
static void test_too_many_reads(void **state)
{
	struct lone l = lone_up(state, RC);
	unsigned int i;

	for (i = 0; i < 5; i++)
		read_request(&l, i, 0, MTU);
	eg_run(l.engine);
	for (i = 0; i < 4; i++)
		expect_read(PKT_READ_ONLY, i, MTU);
	expect_aeth(AETH_NAK_INV_REQ, 4);
	expect_quiet();
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_ERR);
}

/* A repeated READ whose key has gone is refused; the QP goes on. */
static void test_read_duplicate_bad_key(void **state)
{
	struct lone l = lone_up(state, RC);
	struct virtio_rdma_cmd_dereg_mr dereg = {
		.mrn = htole32(l.qp.mrn),
	};

	read_request(&l, 0, 0, MTU);
	read_request(&l, 1, 0, MTU);
	eg_run(l.engine);
	expect_read(PKT_READ_ONLY, 0, MTU);
	expect_read(PKT_READ_ONLY, 1, MTU);
	read_request(&l, 0, 0, MTU);
	assert_int_equal(eg_command(l.qp.guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR,
				    &dereg, sizeof(dereg), NULL, 0),
			 VIRTIO_NET_OK);
	read_request(&l, 1, 0, MTU);
	expect_aeth(AETH_NAK_ACCESS, 1);
	eg_run(l.engine);
	expect_aeth(AETH_NAK_ACCESS, 0);
	expect_quiet();
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_RTS);
	/* A new READ with that key is an error. */
	read_request(&l, 2, 0, MTU);
	expect_aeth(AETH_NAK_ACCESS, 2);
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_ERR);
}

/* An error after a READ is reported after the answer to that READ. */
static void test_error_behind_read(void **state)
{
	struct lone l = lone_up(state, RC);

	read_request(&l, 0, 0, 10);
	request(&l, PKT_SEND_LAST, 1, 10);
	/* Nothing that follows the error is taken. */
	request(&l, PKT_SEND_ONLY, 1, 10);
	read_request(&l, 0, 0, 10);
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_RTS);
	expect_quiet();
	eg_run(l.engine);
	expect_read(PKT_READ_ONLY, 0, 10);
	expect_aeth(AETH_NAK_INV_REQ, 1);
	expect_quiet();
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_ERR);
}

static void test_uc_rules(void **state)
{
	struct lone l = lone_up(state, VIRTIO_IB_QPT_UC);

#define UC(code) PKT_OPCODE(PKT_UC, code)
	eg_recv(&l.qp, 1, IN, 3 * MTU);
	/* A message without its middle is dropped.  An end without a beginning is, too. */
	request(&l, UC(PKT_SEND_FIRST), 0, MTU);
	request(&l, UC(PKT_SEND_LAST), 2, MTU);
	request(&l, UC(PKT_SEND_LAST), 3, MTU);
	eg_expect_none(&l.qp);
	/* A new message is taken, whatever its PSN. */
	request(&l, UC(PKT_SEND_FIRST), 8, MTU);
	request(&l, UC(PKT_SEND_FIRST), 16, MTU);
	request(&l, UC(PKT_SEND_LAST), 17, 5);
	assert_int_equal(eg_expect(&l.qp, 1, OK).byte_len, MTU + 5);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data, MTU + 5);
	expect_quiet();		/* and nothing is ever answered */
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_RTS);
}

/* ------------------------------------------------------------------------- */
/* Requester                                                                 */
/* ------------------------------------------------------------------------- */

static void post(struct lone *l, uint64_t wr_id, uint8_t opcode, uint32_t len)
{
	struct eg_wr wr = eg_send(&l->qp, wr_id, IN, len);

	wr.opcode = opcode;
	wr.remote_addr = 0x1000;
	wr.rkey = 5;
	eg_post_send(&l->qp, &wr);
}

/* One ACK for several messages; ACKs of PSNs long past, and of PSNs never sent. */
static void test_acks(void **state)
{
	struct lone l = lone_up(state, RC);
	unsigned int i;

	for (i = 0; i < 4; i++)
		post(&l, i, VIRTIO_IB_WR_SEND, 2 * MTU);	/* 0-1, 2-3 … */
	eg_run(l.engine);
	assert_int_equal(sent_n, 8);
	answer(&l, ACK, 8);			/* never sent */
	answer(&l, ACK, (uint32_t)-1);		/* before the first */
	answer(&l, ACK, 0x7fffff);
	answer(&l, ACK, 0);			/* half of the first */
	eg_expect_none(&l.qp);
	answer(&l, ACK, 4);
	eg_expect(&l.qp, 0, OK);
	eg_expect(&l.qp, 1, OK);
	eg_expect_none(&l.qp);
	answer(&l, ACK, 3);			/* late */
	eg_expect_none(&l.qp);
	answer(&l, ACK, 7);
	eg_expect(&l.qp, 2, OK);
	eg_expect(&l.qp, 3, OK);
	answer(&l, ACK, 7);
	answer(&l, AETH_NAK_INV_REQ, 7);
	eg_run(l.engine);
	eg_expect_none(&l.qp);
	assert_int_equal(state_of(&l), VIRTIO_IB_QPS_RTS);
	assert_int_equal(engine_loop_timers(l.engine->loop), 0);
}

/* A sequence error acknowledges what is before it; the rest is sent again. */
static void test_nak_sequence(void **state)
{
	struct lone l = lone_up(state, RC);

	post(&l, 1, VIRTIO_IB_WR_SEND, 2 * MTU);
	post(&l, 2, VIRTIO_IB_WR_SEND, 2 * MTU);
	eg_run(l.engine);
	assert_int_equal(sent_n, 4);
	answer(&l, AETH_NAK_PSN, 3);
	eg_expect(&l.qp, 1, OK);
	eg_run(l.engine);
	assert_int_equal(sent_n, 5);
	assert_int_equal(sent[4].opcode, PKT_SEND_LAST);
	assert_int_equal(sent[4].psn, (PSN + 3) & PSN_MASK);
	answer(&l, ACK, 3);
	eg_expect(&l.qp, 2, OK);
}

/* A NAK that arrives several times makes the QP send again only once. */
static void test_nak_repeated(void **state)
{
	struct lone l = lone_up(state, RC);
	unsigned int i;

	post(&l, 1, VIRTIO_IB_WR_SEND, MTU);
	eg_run(l.engine);
	for (i = 0; i < 10; i++) {
		answer(&l, AETH_NAK_PSN, 0);
		eg_run(l.engine);
	}
	assert_int_equal(sent_n, 2);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_RCVD_SEQ_NAK), 10);
	assert_int_equal(counted(&l, VIRTIO_RDMA_CNT_RETRY), 1);
	eg_expect_none(&l.qp);
	answer(&l, ACK, 0);
	eg_expect(&l.qp, 1, OK);
}

static void test_nak_statuses(void **state)
{
	static const struct {
		uint8_t syndrome, status;
	} cases[] = {
		{ AETH_NAK_INV_REQ, VIRTIO_IB_WC_REM_INV_REQ_ERR },
		{ AETH_NAK_ACCESS, VIRTIO_IB_WC_REM_ACCESS_ERR },
		{ AETH_NAK_OP_ERR, VIRTIO_IB_WC_REM_OP_ERR },
		{ AETH_NAK | 4, VIRTIO_IB_WC_BAD_RESP_ERR },
		{ AETH_NAK | 31, VIRTIO_IB_WC_BAD_RESP_ERR },
	};
	struct eg_end peer = {};
	struct lone l = lone_up(state, RC);
	unsigned int i;

	peer.guest = &l.engine->guest[1];
	peer.qpn = PEER;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		post(&l, 1, VIRTIO_IB_WR_SEND, 4);
		post(&l, 2, VIRTIO_IB_WR_SEND, 4);
		post(&l, 3, VIRTIO_IB_WR_SEND, 4);
		eg_run(l.engine);
		answer(&l, cases[i].syndrome, 1);
		eg_run(l.engine);
		eg_expect(&l.qp, 1, OK);
		eg_expect(&l.qp, 2, cases[i].status);
		eg_expect(&l.qp, 3, VIRTIO_IB_WC_WR_FLUSH_ERR);
		eg_expect_none(&l.qp);
		eg_destroy_qp(l.qp.guest, l.qp.qpn);
		l.qp.qpn = eg_create_qp(l.qp.guest, RC, l.qp.pdn, l.qp.cqn);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_INIT, &peer);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTR, &peer);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTS, &peer);
	}
	/* A type of answer that does not exist is ignored. */
	post(&l, 1, VIRTIO_IB_WR_SEND, 4);
	eg_run(l.engine);
	answer(&l, 0x40, 0);
	answer(&l, 0x80, 0);
	eg_expect_none(&l.qp);
	answer(&l, ACK, 0);
	eg_expect(&l.qp, 1, OK);
}

/* Answers to a READ that are not what was asked for. */
static void test_bad_read_answers(void **state)
{
	static const struct {
		uint8_t code;
		uint32_t len;
	} cases[] = {
		{ PKT_READ_FIRST, MTU - 1 }, { PKT_READ_FIRST, 0 },
		{ PKT_READ_ONLY, MTU }, { PKT_READ_ONLY, 2 * MTU },
		{ PKT_READ_LAST, 0 }, { PKT_READ_FIRST, MTU + 1 },
	};
	struct eg_end peer = {};
	struct lone l = lone_up(state, RC);
	unsigned int i;

	peer.guest = &l.engine->guest[1];
	peer.qpn = PEER;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		eg_zero(l.qp.guest, IN, 4 * MTU);
		post(&l, 1, VIRTIO_IB_WR_RDMA_READ, 2 * MTU);
		eg_run(l.engine);
		give(&l, (struct pkt) { .opcode = cases[i].code,
			.len = cases[i].len }, 0);
		eg_run(l.engine);
		eg_expect(&l.qp, 1, VIRTIO_IB_WC_BAD_RESP_ERR);
		eg_check_zero(l.qp.guest, IN, 4 * MTU);
		eg_destroy_qp(l.qp.guest, l.qp.qpn);
		l.qp.qpn = eg_create_qp(l.qp.guest, RC, l.qp.pdn, l.qp.cqn);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_INIT, &peer);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTR, &peer);
		eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTS, &peer);
	}
	/* A READ response that carries a NAK. */
	post(&l, 1, VIRTIO_IB_WR_RDMA_READ, 4);
	eg_run(l.engine);
	give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .len = 4,
				.syndrome = AETH_NAK_ACCESS }, 0);
	eg_run(l.engine);
	eg_expect(&l.qp, 1, VIRTIO_IB_WC_BAD_RESP_ERR);
	eg_destroy_qp(l.qp.guest, l.qp.qpn);
	l.qp.qpn = eg_create_qp(l.qp.guest, RC, l.qp.pdn, l.qp.cqn);
	eg_to(&l.qp, RC, VIRTIO_IB_QPS_INIT, &peer);
	eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTR, &peer);
	eg_to(&l.qp, RC, VIRTIO_IB_QPS_RTS, &peer);
	/* Data in answer to a SEND. */
	post(&l, 1, VIRTIO_IB_WR_SEND, 4);
	eg_run(l.engine);
	give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .len = 4 }, 0);
	eg_run(l.engine);
	eg_expect(&l.qp, 1, VIRTIO_IB_WC_BAD_RESP_ERR);
}

/* The answer to the rest of a READ may be middle and last, as rdma_rxe sends it. */
static void test_read_rest_without_first(void **state)
{
	struct lone l = lone_up(state, RC);

	post(&l, 1, VIRTIO_IB_WR_RDMA_READ, 4 * MTU);
	eg_run(l.engine);
	give(&l, (struct pkt) { .opcode = PKT_READ_FIRST, .len = MTU }, 0);
	give(&l, (struct pkt) { .opcode = PKT_READ_MIDDLE, .len = MTU }, 2);
	eg_run(l.engine);
	assert_int_equal(sent_n, 2);
	assert_int_equal(sent[1].psn, (PSN + 1) & PSN_MASK);
	assert_int_equal(sent[1].va, 0x1000 + MTU);
	assert_int_equal(sent[1].dmalen, 3 * MTU);
	give(&l, (struct pkt) { .opcode = PKT_READ_MIDDLE, .len = MTU }, 1);
	give(&l, (struct pkt) { .opcode = PKT_READ_MIDDLE, .len = MTU }, 2);
	give(&l, (struct pkt) { .opcode = PKT_READ_LAST, .len = MTU }, 3);
	eg_expect(&l.qp, 1, OK);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data, 4 * MTU);
}

/* An ACK of a request after a READ means that the READ's answer was lost. */
static void test_ack_behind_read(void **state)
{
	struct lone l = lone_up(state, RC);
	unsigned int i;

	post(&l, 1, VIRTIO_IB_WR_RDMA_READ, 2 * MTU);	/* 0-1 */
	for (i = 2; i < 4; i++)
		post(&l, i, VIRTIO_IB_WR_SEND, 4);	/* 2, 3 */
	eg_run(l.engine);
	assert_int_equal(sent_n, 3);
	/* Several such ACKs make the QP repeat the READ only once. */
	answer(&l, ACK, 2);
	answer(&l, ACK, 3);
	answer(&l, ACK, 2);
	eg_expect_none(&l.qp);
	eg_run(l.engine);
	assert_int_equal(sent_n, 6);
	assert_int_equal(sent[3].opcode, PKT_READ_REQUEST);
	give(&l, (struct pkt) { .opcode = PKT_READ_FIRST, .len = MTU }, 0);
	give(&l, (struct pkt) { .opcode = PKT_READ_LAST, .len = MTU }, 1);
	eg_expect(&l.qp, 1, OK);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data, 2 * MTU);
	answer(&l, ACK, 3);
	for (i = 2; i < 4; i++)
		eg_expect(&l.qp, i, OK);
}

/* Other packets arrive while the QP waits for the peer to be ready. */
static void test_while_waiting_for_rnr(void **state)
{
	struct lone l = lone_up(state, RC);
	const uint64_t wait = 640000;
	unsigned int i;

	post(&l, 1, VIRTIO_IB_WR_SEND, 4);
	post(&l, 2, VIRTIO_IB_WR_SEND, 4);
	eg_run(l.engine);
	assert_int_equal(sent_n, 2);
	answer(&l, RNR, 0);
	/* Repeated NAKs are not counted, and do not make the wait longer. */
	engine_loop_advance(l.engine->loop, wait / 2);
	for (i = 0; i < 10; i++) {
		answer(&l, RNR, 0);
		answer(&l, AETH_NAK_PSN, 0);
	}
	eg_run(l.engine);
	assert_int_equal(sent_n, 2);
	assert_int_equal(engine_loop_next(l.engine->loop), wait / 2);
	engine_loop_advance(l.engine->loop, wait / 2);
	eg_run(l.engine);
	assert_int_equal(sent_n, 4);

	/* An ACK shows that the peer is ready: the wait is over. */
	answer(&l, RNR, 0);
	answer(&l, ACK, 0);
	eg_expect(&l.qp, 1, OK);
	eg_run(l.engine);
	assert_int_equal(sent_n, 5);
	assert_int_equal(sent[4].psn, (PSN + 1) & PSN_MASK);
	answer(&l, ACK, 1);
	eg_expect(&l.qp, 2, OK);
	assert_int_equal(engine_loop_timers(l.engine->loop), 0);
}

/* At most half of all PSNs are under way; others could not be told from old ones. */
static void test_window(void **state)
{
	enum { PAGES = (2u << 30) / EG_PAGE };
	struct lone l = lone_up(state, RC);
	struct virtio_rdma_cmd_modify_qp req;
	struct virtio_rdma_ack_mr ack;
	uint64_t *page = calloc(PAGES, sizeof(*page));
	struct eg_wr wr;
	uint8_t s;
	uint32_t i;

	assert_non_null(page);
	for (i = 0; i < PAGES; i++)
		page[i] = EG_DATA + i % 4096 * EG_PAGE;
	assert_int_equal(eg_reg_mr(l.qp.guest, l.qp.pdn, 1, 0, 2ull << 30, page,
				   PAGES, &ack), VIRTIO_NET_OK);
	free(page);
	l.qp.qpn = eg_create_qp(l.qp.guest, RC, l.qp.pdn, l.qp.cqn);
	for (s = VIRTIO_IB_QPS_INIT; s <= VIRTIO_IB_QPS_RTS; s++) {
		req = eg_modify_req(l.qp.qpn, RC, s, &l.engine->guest[1], PEER);
		req.path_mtu = VIRTIO_IB_MTU_256;
		assert_int_equal(eg_modify(l.qp.guest, &req), VIRTIO_NET_OK);
	}
	fabric_set_local(l.engine->fabric, &capture_memory);
	wr = eg_send(&l.qp, 1, 0, 0);
	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.sge[0] = (struct eg_sge) { 0, 2u << 30, le32toh(ack.lkey) };
	eg_post_send(&l.qp, &wr);
	post(&l, 2, VIRTIO_IB_WR_SEND, 0);
	eg_run(l.engine);
	assert_int_equal(sent_n, 1);
	assert_int_equal(sent[0].dmalen, 2u << 30);
	/* A packet of the answer makes room for one. */
	give(&l, (struct pkt) { .opcode = PKT_READ_FIRST, .len = 256 }, 0);
	eg_run(l.engine);
	assert_int_equal(sent_n, 2);
	assert_int_equal(sent[1].psn, (PSN + (1u << 23)) & PSN_MASK);
	eg_expect_none(&l.qp);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_opcodes),
		T(test_psn),
		T(test_send_in_packets),
		T(test_not_for_this_qp),
		T(test_gaps),
		T(test_rnr_and_what_follows),
		T(test_duplicates),
		T(test_duplicates_in_a_row),
		T(test_send_without_end),
		T(test_bad_sequence),
		T(test_write_length),
		T(test_read_answers),
		T(test_rnr_behind_read),
		T(test_atomic_answers),
		T(test_atomic_duplicate),
		T(test_atomic_duplicate_old),
		T(test_atomics_and_reads),
		T(test_atomic_askew_1),
		T(test_atomic_askew_4),
		T(test_atomic_bad_key),
		T(test_atomic_behind),
		T(test_atomic_write_askew),
		T(test_atomic_write_short),
		T(test_atomic_write_long),
		T(test_atomic_write_lengths),
		T(test_atomic_write_key),
		T(test_atomic_write),
		T(test_atomic_asked),
		T(test_atomic_read_answer),
		T(test_atomic_nak_answer),
		T(test_atomic_write_data),
		T(test_atomic_write_atomic),
		T(test_read_atomic),
		T(test_write_atomic),
		T(test_flush_answers),
		T(test_flush_duplicate),
		T(test_flushes_beside_reads),
		T(test_flush_unknown),
		T(test_flush_icrc),
		T(test_read_duplicate),
		T(test_read_duplicate_flood),
		T(test_read_duplicate_bad_key),
		T(test_too_many_reads),
		T(test_error_behind_read),
		T(test_uc_rules),
		T(test_cnp_sent),
		T(test_cnp_received),
		T(test_acks),
		T(test_nak_sequence),
		T(test_nak_repeated),
		T(test_nak_statuses),
		T(test_bad_read_answers),
		T(test_read_rest_without_first),
		T(test_ack_behind_read),
		T(test_while_waiting_for_rnr),
		T(test_window),
	};

	return cmocka_run_group_tests_name("pkt", tests, NULL, NULL);
}
