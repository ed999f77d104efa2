// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets as another implementation might send them, to a responder: READ, FLUSH and atomic
 * operations.
 */
#include "tests/lib/lone.h"
#include "base/util.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN

static void read_request(struct lone *l, uint32_t n, uint32_t off, uint32_t len)
{
	lone_give(l, (struct pkt) { .opcode = PKT_READ_REQUEST, .ack_req = true,
		.va = EG_VA + off, .rkey = l->qp.lkey, .dmalen = len }, n);
}

/* Answers come in the order of the requests: READs first, then the ACK. */
static void test_read_answers(void **state)
{
	struct lone l = lone_up(state, RC);

	eg_recv(&l.qp, 1, IN, 100);
	read_request(&l, 0, 0, 2 * MTU + 1);
	read_request(&l, 3, 100, 5);
	lone_request(&l, PKT_SEND_ONLY, 4, 50);
	eg_expect(&l.qp, 1, OK);	/* carried out at once */
	lone_expect_quiet();
	eg_run(l.engine);
	lone_expect(PKT_READ_FIRST, 0, MTU);
	lone_expect(PKT_READ_MIDDLE, 1, MTU);
	lone_expect(PKT_READ_LAST, 2, 1);
	lone_expect(PKT_READ_ONLY, 3, 5);
	lone_expect_aeth(ACK, 4);
	lone_expect_quiet();
	/* A READ counts as a message when it is asked for. */
	assert_int_equal(lone_sent[0].msn, 1);
	assert_int_equal(lone_sent[2].msn, 1);
	assert_int_equal(lone_sent[3].msn, 2);
	assert_int_equal(lone_sent[4].msn, 3);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_ACK_DEFERRED), 1);
}

/* An RNR NAK waits for the answer to a READ; by then the QP may be ready. */
static void test_rnr_behind_read(void **state)
{
	struct lone l = lone_up(state, RC);

	read_request(&l, 0, 0, 10);
	lone_request(&l, PKT_SEND_ONLY, 1, 0);
	lone_expect_quiet();
	eg_run(l.engine);
	lone_expect(PKT_READ_ONLY, 0, 10);
	lone_expect_aeth(RNR, 1);
	read_request(&l, 1, 0, 10);	/* another request with PSN 1 */
	lone_request(&l, PKT_SEND_ONLY, 2, 0);
	eg_post_recv(&l.qp, 1, NULL, 0);
	lone_request(&l, PKT_SEND_ONLY, 2, 0);
	eg_expect(&l.qp, 1, OK);
	eg_run(l.engine);
	lone_expect(PKT_READ_ONLY, 1, 10);
	lone_expect_aeth(ACK, 2);
	lone_expect_quiet();
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_SENT_RNR), 2);
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
	lone_expect(PKT_READ_ONLY, 1, MTU);
	lone_expect(PKT_READ_ONLY, 2, MTU);
	lone_expect_quiet();
	/* Answered long ago: they are carried out again, in order. */
	read_request(&l, 2, 0, MTU);
	read_request(&l, 0, 0, 2 * MTU);
	eg_run(l.engine);
	lone_expect(PKT_READ_FIRST, 0, MTU);
	lone_expect(PKT_READ_LAST, 1, MTU);
	lone_expect(PKT_READ_ONLY, 2, MTU);
	lone_expect_quiet();
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
		lone_expect(PKT_READ_ONLY, i, 1);
	}
	/* Only so many repetitions are remembered: the first four are dropped. */
	for (i = n; i--;)
		read_request(&l, i, 0, 1);
	for (i = n; i < n + 4; i++)
		read_request(&l, i, 0, 1);
	lone_run_for(&l, 10000000);
	for (i = 4; i < n + 4; i++)
		lone_expect(PKT_READ_ONLY, i, 1);
	lone_expect_quiet();
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
}

static void flush_request(struct lone *l, uint32_t n, uint8_t type,
			  uint8_t level, uint32_t len)
{
	lone_give(l, (struct pkt) { .opcode = PKT_FLUSH, .ack_req = true,
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
	lone_give(l, (struct pkt) { .opcode = code, .va = EG_VA + 104, .rkey = l->qp.lkey,
		.compare = compare, .swap_add = swap_add }, n);
}

static void add_request(struct lone *l, uint32_t n)
{
	atomic_request(l, n, PKT_FETCH_ADD, 0, 1);
}

static void expect_atomic(uint32_t n, uint64_t orig)
{
	assert_true(lone_seen < lone_sent_n);
	assert_int_equal(lone_sent[lone_seen].orig, orig);
	assert_int_equal(lone_sent[lone_seen].syndrome, ACK);
	lone_expect(PKT_ATOMIC_ACK, n, 0);
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
	lone_expect_quiet();
	eg_run(l.engine);
	lone_expect(PKT_READ_FIRST, 0, MTU);
	lone_expect(PKT_READ_LAST, 1, 1);
	expect_atomic(2, 10);
	expect_atomic(3, 11);
	expect_atomic(4, 50);
	lone_expect_quiet();
	assert_int_equal(lone_sent[4].msn, 4);
}

static void write_request(struct lone *l, uint32_t n, uint32_t len)
{
	lone_give(l, (struct pkt) { .opcode = PKT_WRITE_ONLY, .ack_req = true, .len = len,
		.va = EG_VA + 2000, .rkey = l->qp.lkey, .dmalen = len }, n);
}

/*
 * A peer that misses the answer to a READ of one packet, or to an atomic operation, must not
 * get an ACK with its PSN: Soft-RoCE takes that for the answer.
 */
static void test_no_ack_of_read(void **state)
{
	struct lone l = lone_up(state, RC);

	write_request(&l, 0, 10);
	lone_expect_aeth(ACK, 0);
	read_request(&l, 1, 0, 10);
	eg_run(l.engine);
	lone_expect(PKT_READ_ONLY, 1, 10);
	/* The peer has not got either of them. */
	write_request(&l, 0, 10);
	lone_expect_aeth(ACK, 0);
	add_request(&l, 2);
	read_request(&l, 3, 0, 2 * MTU);
	eg_run(l.engine);
	expect_atomic(2, 0);
	lone_expect(PKT_READ_FIRST, 3, MTU);
	lone_expect(PKT_READ_LAST, 4, MTU);
	write_request(&l, 0, 10);
	lone_expect_aeth(ACK, 0);
	/* An ACK of more says that they are to be asked for again. */
	write_request(&l, 5, 10);
	lone_expect_aeth(ACK, 5);
	lone_expect_quiet();
}

/* The ACK of a WRITE waits for the answer to the READ behind it. */
static void test_no_ack_behind_read(void **state)
{
	struct lone l = lone_up(state, RC);

	read_request(&l, 0, 0, 10);
	write_request(&l, 1, 10);
	read_request(&l, 2, 0, 10);
	eg_run(l.engine);
	lone_expect(PKT_READ_ONLY, 0, 10);
	lone_expect(PKT_READ_ONLY, 2, 10);
	lone_expect_aeth(ACK, 1);
	lone_expect_quiet();
}

/* The same after a gap: the READ was kept. */
static void test_no_ack_of_kept_read(void **state)
{
	struct lone l = lone_up(state, RC);

	write_request(&l, 0, 10);
	lone_expect_aeth(ACK, 0);
	read_request(&l, 2, 0, 10);
	lone_expect_aeth(AETH_NAK_PSN, 1);
	write_request(&l, 1, 10);
	eg_run(l.engine);
	lone_expect(PKT_READ_ONLY, 2, 10);
	lone_expect_aeth(ACK, 1);
	lone_expect_quiet();
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
	lone_expect_quiet();
	/* In whatever order they come, also when others have changed the word. */
	*word_of(&l) = 1000;
	add_request(&l, 1);
	add_request(&l, 0);
	eg_run(l.engine);
	expect_atomic(0, 10);
	expect_atomic(1, 11);
	/* After any time, as the room for READs is freed by then. */
	lone_run_for(&l, 10000000);
	add_request(&l, 0);
	eg_run(l.engine);
	expect_atomic(0, 10);
	lone_expect_quiet();
	assert_int_equal(*word_of(&l), 1000);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_DUP_REQUEST), 4);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_REFUSED), 0);
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
	lone_run_for(&l, 10000000);
	for (i = 2; i < n; i++)
		expect_atomic(i, i);
	lone_expect_quiet();
	/* Nor for one that never was. */
	add_request(&l, (uint32_t)-1);
	eg_run(l.engine);
	lone_expect_quiet();
	assert_int_equal(*word_of(&l), n);
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
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
	lone_seen += 4;
	lone_expect_aeth(AETH_NAK_INV_REQ, 4);
	lone_expect_quiet();
}

static void bad_atomic(void **state, struct pkt pkt, uint8_t syndrome)
{
	struct lone l = lone_up(state, RC);

	memset(word_of(&l), 0, 8);
	pkt.va += EG_VA;
	pkt.rkey += l.qp.lkey;
	lone_give(&l, pkt, 0);
	lone_expect_aeth(syndrome, 0);
	assert_int_equal(*word_of(&l), 0);
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_ERR);
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
		lone_give(&l, pkt, 0);
		eg_run(l.engine);
		lone_expect(PKT_READ_ONLY, 0, 0);
		if (!i)
			assert_memory_equal(word_of(&l), l.data, 8);
		*word_of(&l) = 5;
	}
	assert_int_equal(*word_of(&l), 5);
	lone_expect_quiet();
	assert_int_equal(le32toh(eg_query(l.qp.guest, l.qp.qpn).rq_psn),
			 (PSN + 1) & PSN_MASK);
}

#define GLOBAL	VIRTIO_IB_FLUSH_GLOBAL
#define RANGE	VIRTIO_IB_FLUSH_RANGE

/* A FLUSH takes one PSN and has one answer, in order with READs, at any length. */
static void test_flush_answers(void **state)
{
	struct lone l = lone_up(state, RC);

	read_request(&l, 0, 0, MTU + 1);
	flush_request(&l, 2, GLOBAL, RANGE, 10 * MTU);
	lone_request(&l, PKT_SEND_LAST, 3, 4);	/* an error */
	flush_request(&l, 4, GLOBAL, RANGE, 0);
	lone_expect_quiet();
	eg_run(l.engine);
	lone_expect(PKT_READ_FIRST, 0, MTU);
	lone_expect(PKT_READ_LAST, 1, 1);
	lone_expect(PKT_READ_ONLY, 2, 0);
	assert_int_equal(lone_sent[2].syndrome, ACK);
	assert_int_equal(lone_sent[2].msn, 2);
	lone_expect_aeth(AETH_NAK_INV_REQ, 3);
	lone_expect_quiet();
}

/* The answer was lost, or the network doubled the request. */
static void test_flush_duplicate(void **state)
{
	struct lone l = lone_up(state, RC);

	flush_request(&l, 0, GLOBAL, RANGE, 3 * MTU);
	flush_request(&l, 0, GLOBAL, RANGE, 3 * MTU);
	read_request(&l, 1, 0, 1);
	eg_run(l.engine);
	lone_expect(PKT_READ_ONLY, 0, 0);
	lone_expect(PKT_READ_ONLY, 1, 1);
	lone_expect_quiet();
	read_request(&l, 1, 0, 1);
	flush_request(&l, 0, GLOBAL, RANGE, 3 * MTU);
	eg_run(l.engine);
	lone_expect(PKT_READ_ONLY, 0, 0);
	lone_expect(PKT_READ_ONLY, 1, 1);
	lone_expect_quiet();
	/* This one would not have been carried out the first time either. */
	flush_request(&l, 0, VIRTIO_IB_FLUSH_PERSISTENT, RANGE, 3 * MTU);
	lone_expect_aeth(AETH_NAK_INV_REQ, 0);
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_DUP_REQUEST), 4);
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
	lone_run_for(&l, 10000000);
	for (i = 0; i < n; i++)
		lone_expect(PKT_READ_ONLY, i, i >= RNIC_MAX_RD_ATOMIC);
	lone_expect_aeth(AETH_NAK_INV_REQ, n);
	lone_expect_quiet();
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
	assert_int_equal(lone_sent_n, 1);
	assert_int_equal(lone_sent[0].opcode, PKT_FLUSH);
	assert_false(lone_sent[0].icrc_twice);
	engine_loop_advance(l.engine->loop, 4096ull << 10);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 2);
	assert_true(lone_sent[1].icrc_twice);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .syndrome = ACK }, 0);
	eg_expect(&l.qp, 1, OK);
	eg_post_send(&l.qp, &wr);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 3);
	assert_true(lone_sent[2].icrc_twice);
	/* A FLUSH of the peer shows at once which kind it uses. */
	flush_request(&l, 0, GLOBAL, RANGE, 4);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .syndrome = ACK }, 1);
	eg_expect(&l.qp, 1, OK);
	eg_post_send(&l.qp, &wr);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 5);
	assert_int_equal(lone_sent[4].opcode, PKT_FLUSH);
	assert_false(lone_sent[4].icrc_twice);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .syndrome = ACK }, 2);
	eg_expect(&l.qp, 1, OK);
	lone_seen = lone_sent_n;
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
		lone_expect_aeth(AETH_NAK_INV_REQ, 0);
		assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_ERR);
		eg_teardown(state);
		lone_setup(state);
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
		lone_expect(PKT_READ_ONLY, i, MTU);
	lone_expect_aeth(AETH_NAK_INV_REQ, 4);
	lone_expect_quiet();
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_ERR);
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
	lone_expect(PKT_READ_ONLY, 0, MTU);
	lone_expect(PKT_READ_ONLY, 1, MTU);
	read_request(&l, 0, 0, MTU);
	assert_int_equal(eg_command(l.qp.guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR,
				    &dereg, sizeof(dereg), NULL, 0),
			 VIRTIO_NET_OK);
	read_request(&l, 1, 0, MTU);
	lone_expect_aeth(AETH_NAK_ACCESS, 1);
	eg_run(l.engine);
	lone_expect_aeth(AETH_NAK_ACCESS, 0);
	lone_expect_quiet();
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
	/* A new READ with that key is an error. */
	read_request(&l, 2, 0, MTU);
	lone_expect_aeth(AETH_NAK_ACCESS, 2);
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_ERR);
}

/* An error after a READ is reported after the answer to that READ. */
static void test_error_behind_read(void **state)
{
	struct lone l = lone_up(state, RC);

	read_request(&l, 0, 0, 10);
	lone_request(&l, PKT_SEND_LAST, 1, 10);
	/* Nothing that follows the error is taken. */
	lone_request(&l, PKT_SEND_ONLY, 1, 10);
	read_request(&l, 0, 0, 10);
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
	lone_expect_quiet();
	eg_run(l.engine);
	lone_expect(PKT_READ_ONLY, 0, 10);
	lone_expect_aeth(AETH_NAK_INV_REQ, 1);
	lone_expect_quiet();
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_ERR);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, lone_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
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
		T(test_flush_answers),
		T(test_flush_duplicate),
		T(test_flushes_beside_reads),
		T(test_flush_unknown),
		T(test_flush_icrc),
		T(test_no_ack_of_read),
		T(test_no_ack_behind_read),
		T(test_no_ack_of_kept_read),
		T(test_read_duplicate),
		T(test_read_duplicate_flood),
		T(test_read_duplicate_bad_key),
		T(test_too_many_reads),
		T(test_error_behind_read),
	};

	return cmocka_run_group_tests_name("pkt_read", tests, NULL, NULL);
}
