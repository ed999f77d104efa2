// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets as another implementation might send them, to a requester: ACKs, NAKs, data.
 */
#include <stdlib.h>

#include "tests/lib/lone.h"
#include "base/util.h"
#include "rdma/qp/qp.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN
#define MS	1000000ull

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
	assert_int_equal(lone_sent_n, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(lone_sent[i].compare, 3);
		assert_int_equal(lone_sent[i].swap_add, 4);
		assert_int_equal(lone_sent[i].va, EG_VA);
		lone_expect(PKT_CMP_SWAP, 0, 0);
	}
	lone_give(&l, (struct pkt) { .opcode = PKT_ATOMIC_ACK, .syndrome = ACK,
				.orig = 0x0102030405060708 }, 0);
	assert_int_equal(eg_expect(&l.qp, 1, OK).byte_len, 8);
	assert_int_equal(le64toh(*(__le64 *)eg_ptr(l.qp.guest, EG_DATA)),
			 0x0102030405060708);
	/* The second answer is one that nobody waits for. */
	lone_give(&l, (struct pkt) { .opcode = PKT_ATOMIC_ACK, .syndrome = ACK }, 0);
	assert_int_equal(*(__le64 *)eg_ptr(l.qp.guest, EG_DATA),
			 htole64(0x0102030405060708));
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
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
	lone_give(&l, pkt, 0);
	eg_expect(&l.qp, 1, VIRTIO_IB_WC_BAD_RESP_ERR);
	assert_int_equal(*(uint64_t *)eg_ptr(l.qp.guest, EG_DATA), 0x5555555555555555);
	lone_seen = lone_sent_n;
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
	assert_int_equal(lone_sent_n, 8);
	lone_answer(&l, ACK, 8);			/* never sent */
	lone_answer(&l, ACK, (uint32_t)-1);		/* before the first */
	lone_answer(&l, ACK, 0x7fffff);
	lone_answer(&l, ACK, 0);			/* half of the first */
	eg_expect_none(&l.qp);
	lone_answer(&l, ACK, 4);
	eg_expect(&l.qp, 0, OK);
	eg_expect(&l.qp, 1, OK);
	eg_expect_none(&l.qp);
	lone_answer(&l, ACK, 3);			/* late */
	eg_expect_none(&l.qp);
	lone_answer(&l, ACK, 7);
	eg_expect(&l.qp, 2, OK);
	eg_expect(&l.qp, 3, OK);
	lone_answer(&l, ACK, 7);
	lone_answer(&l, AETH_NAK_INV_REQ, 7);
	eg_run(l.engine);
	eg_expect_none(&l.qp);
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
	assert_int_equal(engine_loop_timers(l.engine->loop), 0);
}

/* A sequence error acknowledges what is before it; the rest is sent again. */
static void test_nak_sequence(void **state)
{
	struct lone l = lone_up(state, RC);

	post(&l, 1, VIRTIO_IB_WR_SEND, 2 * MTU);
	post(&l, 2, VIRTIO_IB_WR_SEND, 2 * MTU);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 4);
	lone_answer(&l, AETH_NAK_PSN, 3);
	eg_expect(&l.qp, 1, OK);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 5);
	assert_int_equal(lone_sent[4].opcode, PKT_SEND_LAST);
	assert_int_equal(lone_sent[4].psn, (PSN + 3) & PSN_MASK);
	lone_answer(&l, ACK, 3);
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
		lone_answer(&l, AETH_NAK_PSN, 0);
		eg_run(l.engine);
	}
	assert_int_equal(lone_sent_n, 2);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_RCVD_SEQ_NAK), 10);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_RETRY), 1);
	eg_expect_none(&l.qp);
	lone_answer(&l, ACK, 0);
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
		lone_answer(&l, cases[i].syndrome, 1);
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
	lone_answer(&l, 0x40, 0);
	lone_answer(&l, 0x80, 0);
	eg_expect_none(&l.qp);
	lone_answer(&l, ACK, 0);
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
		lone_give(&l, (struct pkt) { .opcode = cases[i].code,
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
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .len = 4,
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
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .len = 4 }, 0);
	eg_run(l.engine);
	eg_expect(&l.qp, 1, VIRTIO_IB_WC_BAD_RESP_ERR);
}

/* The answer to the rest of a READ may be middle and last, as rdma_rxe sends it. */
static void test_read_rest_without_first(void **state)
{
	struct lone l = lone_up(state, RC);

	post(&l, 1, VIRTIO_IB_WR_RDMA_READ, 4 * MTU);
	eg_run(l.engine);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_FIRST, .len = MTU }, 0);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_MIDDLE, .len = MTU }, 2);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 2);
	assert_int_equal(lone_sent[1].psn, (PSN + 1) & PSN_MASK);
	assert_int_equal(lone_sent[1].va, 0x1000 + MTU);
	assert_int_equal(lone_sent[1].dmalen, 3 * MTU);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_MIDDLE, .len = MTU }, 1);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_MIDDLE, .len = MTU }, 2);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_LAST, .len = MTU }, 3);
	eg_expect(&l.qp, 1, OK);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data, 4 * MTU);
}

/* A QP that knows how long an answer takes, and waits for that to a READ of @n packets. */
static struct lone lone_reading(void **state, uint32_t n)
{
	struct lone l = lone_up(state, RC);

	post(&l, 0, VIRTIO_IB_WR_SEND, 4);
	lone_run_for(&l, 20000);
	lone_answer(&l, ACK, 0);
	eg_expect(&l.qp, 0, OK);
	post(&l, 1, VIRTIO_IB_WR_RDMA_READ, n * MTU);
	eg_run(l.engine);
	lone_seen = 2;
	return l;
}

/* The QP asks for @len bytes of the READ of lone_reading(), from packet @n on. */
static void expect_asked(struct lone *l, uint32_t n, uint32_t len)
{
	eg_run(l->engine);
	lone_expect(PKT_READ_REQUEST, n, 0);
	assert_int_equal(lone_sent[lone_seen - 1].va, 0x1000 + (n - 1) * MTU);
	assert_int_equal(lone_sent[lone_seen - 1].dmalen, len);
	lone_expect_quiet();
}

static void give_read(struct lone *l, uint8_t code, uint32_t n)
{
	lone_give(l, (struct pkt) { .opcode = code, .len = MTU }, n);
}

/* Of an answer with gaps only what is missing is asked for again, and one packet behind it. */
static void test_read_part(void **state)
{
	struct lone l = lone_reading(state, 7);

	give_read(&l, PKT_READ_FIRST, 1);
	give_read(&l, PKT_READ_MIDDLE, 3);
	expect_asked(&l, 2, 2 * MTU);
	give_read(&l, PKT_READ_MIDDLE, 5);
	give_read(&l, PKT_READ_LAST, 7);
	eg_run(l.engine);
	lone_expect_quiet();
	/* The next gap is known when the first one is closed. */
	give_read(&l, PKT_READ_FIRST, 2);
	expect_asked(&l, 4, 2 * MTU);
	give_read(&l, PKT_READ_LAST, 3);
	/* One packet of the part gets lost: the other one comes for the second time. */
	give_read(&l, PKT_READ_LAST, 5);
	expect_asked(&l, 4, 2 * MTU);
	give_read(&l, PKT_READ_FIRST, 4);
	expect_asked(&l, 6, 2 * MTU);
	eg_expect_none(&l.qp);
	give_read(&l, PKT_READ_FIRST, 6);
	eg_expect(&l.qp, 1, OK);
	give_read(&l, PKT_READ_LAST, 7);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data + MTU, 7 * MTU);
	assert_int_equal(l.qp.guest->rnic->ctx.early, 0);
	eg_run(l.engine);
	lone_expect_quiet();
	assert_int_equal(lone_state(&l), VIRTIO_IB_QPS_RTS);
}

/* The answer to a later READ is not kept: its data is older than what is asked for again. */
static void test_read_part_of_two(void **state)
{
	struct lone l = lone_reading(state, 3);

	post(&l, 2, VIRTIO_IB_WR_RDMA_READ, 3 * MTU);
	eg_run(l.engine);
	lone_expect(PKT_READ_REQUEST, 4, 0);
	give_read(&l, PKT_READ_FIRST, 1);
	give_read(&l, PKT_READ_LAST, 3);
	give_read(&l, PKT_READ_FIRST, 4);
	give_read(&l, PKT_READ_MIDDLE, 5);
	eg_run(l.engine);
	lone_expect(PKT_READ_REQUEST, 2, 0);
	assert_int_equal(lone_sent[lone_seen - 1].dmalen, 2 * MTU);
	lone_expect(PKT_READ_REQUEST, 4, 0);
	assert_int_equal(lone_sent[lone_seen - 1].dmalen, 3 * MTU);
	give_read(&l, PKT_READ_FIRST, 2);
	eg_expect(&l.qp, 1, OK);
	assert_int_equal(l.qp.guest->rnic->ctx.early, 0);
	give_read(&l, PKT_READ_LAST, 3);
	eg_expect_none(&l.qp);
	give_read(&l, PKT_READ_FIRST, 4);
	give_read(&l, PKT_READ_MIDDLE, 5);
	give_read(&l, PKT_READ_LAST, 6);
	eg_expect(&l.qp, 2, OK);
	eg_run(l.engine);
	lone_expect_quiet();
}

/* An answer that was asked for later comes, and the part does not: it got lost. */
static void test_read_part_lost(void **state)
{
	struct lone l = lone_reading(state, 3);

	give_read(&l, PKT_READ_FIRST, 1);
	give_read(&l, PKT_READ_LAST, 3);
	expect_asked(&l, 2, 2 * MTU);
	post(&l, 2, VIRTIO_IB_WR_RDMA_READ, MTU);
	eg_run(l.engine);
	lone_expect(PKT_READ_REQUEST, 4, 0);
	give_read(&l, PKT_READ_ONLY, 4);
	eg_run(l.engine);
	lone_expect(PKT_READ_REQUEST, 2, 0);
	assert_int_equal(lone_sent[lone_seen - 1].dmalen, 2 * MTU);
	lone_expect(PKT_READ_REQUEST, 4, 0);
	give_read(&l, PKT_READ_FIRST, 2);
	eg_expect(&l.qp, 1, OK);
	eg_expect_none(&l.qp);
	give_read(&l, PKT_READ_ONLY, 4);
	eg_expect(&l.qp, 2, OK);
}

/* The part is answered in memory, to where the peer has moved: as one packet. */
static void test_read_part_in_memory(void **state)
{
	struct lone l = lone_reading(state, 7);

	give_read(&l, PKT_READ_FIRST, 1);
	give_read(&l, PKT_READ_MIDDLE, 4);
	expect_asked(&l, 2, 3 * MTU);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_ONLY, .len = 3 * MTU, .npsn = 3 }, 2);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_LAST, .len = 3 * MTU, .npsn = 3 }, 5);
	eg_expect(&l.qp, 1, OK);
	assert_int_equal(l.qp.guest->rnic->ctx.early, 0);
}

/* A peer that stops there, as Soft-RoCE does: it is asked for all, and tried again much later. */
static void test_read_part_and_no_more(void **state)
{
	unsigned int round, parts = 0;
	struct lone l = lone_reading(state, 1);
	bool part;

	give_read(&l, PKT_READ_ONLY, 1);
	eg_expect(&l.qp, 1, OK);
	for (round = 0; round < 30; round++) {
		const uint32_t n = 2 + 4 * round;

		post(&l, round, VIRTIO_IB_WR_RDMA_READ, 4 * MTU);
		eg_run(l.engine);
		lone_seen = lone_sent_n;
		give_read(&l, PKT_READ_FIRST, n);
		give_read(&l, PKT_READ_MIDDLE, n + 2);
		eg_run(l.engine);
		lone_expect(PKT_READ_REQUEST, n + 1, 0);
		part = lone_sent[lone_seen - 1].dmalen == 2 * MTU;
		parts += part;
		if (!part)
			assert_int_equal(lone_sent[lone_seen - 1].dmalen, 3 * MTU);
		assert_int_equal(part, round < 3 || round == 19);
		give_read(&l, PKT_READ_MIDDLE, n + 1);
		if (part) {
			lone_run_for(&l, MS);
			lone_expect(PKT_READ_REQUEST, n + 3, 0);
			assert_int_equal(lone_sent[lone_seen - 1].dmalen, MTU);
		}
		give_read(&l, PKT_READ_LAST, n + 3);
		eg_expect(&l.qp, round, OK);
		lone_sent_n = 0;
	}
	assert_int_equal(parts, 4);
	assert_int_equal(lone_counted(&l, VIRTIO_RDMA_CNT_TIMEOUT), 0);
}

/* Without an ACK timeout nothing would tell that a peer stopped: it is asked for all. */
static void test_read_no_part_without_timeout(void **state)
{
	struct lone l = lone_reading(state, 7);

	qp_get(&l.qp.guest->rnic->qps, l.qp.qpn)->attr.timeout = 0;
	give_read(&l, PKT_READ_FIRST, 1);
	give_read(&l, PKT_READ_MIDDLE, 3);
	expect_asked(&l, 2, 6 * MTU);
}

/* The last packet of a part is full.  One that is not, and is not the end, is wrong. */
static void test_read_part_short(void **state)
{
	struct lone l = lone_reading(state, 7);

	give_read(&l, PKT_READ_FIRST, 1);
	give_read(&l, PKT_READ_MIDDLE, 3);
	expect_asked(&l, 2, 2 * MTU);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_LAST, .len = MTU - 4 }, 2);
	eg_expect(&l.qp, 1, VIRTIO_IB_WC_BAD_RESP_ERR);
	/* Nothing of it is kept. */
	assert_int_equal(l.qp.guest->rnic->ctx.early, 0);
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
	assert_int_equal(lone_sent_n, 3);
	/* Several such ACKs make the QP repeat the READ only once. */
	lone_answer(&l, ACK, 2);
	lone_answer(&l, ACK, 3);
	lone_answer(&l, ACK, 2);
	eg_expect_none(&l.qp);
	eg_run(l.engine);
	/* Others follow when there is an answer. */
	assert_int_equal(lone_sent_n, 4);
	assert_int_equal(lone_sent[3].opcode, PKT_READ_REQUEST);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_FIRST, .len = MTU }, 0);
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_LAST, .len = MTU }, 1);
	eg_expect(&l.qp, 1, OK);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 6);
	assert_memory_equal(eg_ptr(l.qp.guest, EG_DATA + IN), l.data, 2 * MTU);
	lone_answer(&l, ACK, 3);
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
	assert_int_equal(lone_sent_n, 2);
	lone_answer(&l, RNR, 0);
	/* Repeated NAKs are not counted, and do not make the wait longer. */
	engine_loop_advance(l.engine->loop, wait / 2);
	for (i = 0; i < 10; i++) {
		lone_answer(&l, RNR, 0);
		lone_answer(&l, AETH_NAK_PSN, 0);
	}
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 2);
	assert_int_equal(engine_loop_next(l.engine->loop), wait / 2);
	engine_loop_advance(l.engine->loop, wait / 2);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 4);

	/* An ACK shows that the peer is ready: the wait is over. */
	lone_answer(&l, RNR, 0);
	lone_answer(&l, ACK, 0);
	eg_expect(&l.qp, 1, OK);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 5);
	assert_int_equal(lone_sent[4].psn, (PSN + 1) & PSN_MASK);
	lone_answer(&l, ACK, 1);
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
	fabric_set_local(l.engine->fabric, &lone_capture_memory);
	wr = eg_send(&l.qp, 1, 0, 0);
	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.sge[0] = (struct eg_sge) { 0, 2u << 30, le32toh(ack.lkey) };
	eg_post_send(&l.qp, &wr);
	post(&l, 2, VIRTIO_IB_WR_SEND, 0);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 1);
	assert_int_equal(lone_sent[0].dmalen, 2u << 30);
	/* A packet of the answer makes room for one. */
	lone_give(&l, (struct pkt) { .opcode = PKT_READ_FIRST, .len = 256 }, 0);
	eg_run(l.engine);
	assert_int_equal(lone_sent_n, 2);
	assert_int_equal(lone_sent[1].psn, (PSN + (1u << 23)) & PSN_MASK);
	eg_expect_none(&l.qp);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, lone_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_atomic_asked),
		T(test_atomic_read_answer),
		T(test_atomic_nak_answer),
		T(test_atomic_write_data),
		T(test_atomic_write_atomic),
		T(test_read_atomic),
		T(test_write_atomic),
		T(test_acks),
		T(test_nak_sequence),
		T(test_nak_repeated),
		T(test_nak_statuses),
		T(test_bad_read_answers),
		T(test_read_rest_without_first),
		T(test_read_part),
		T(test_read_part_of_two),
		T(test_read_part_lost),
		T(test_read_part_in_memory),
		T(test_read_part_and_no_more),
		T(test_read_part_short),
		T(test_read_no_part_without_timeout),
		T(test_ack_behind_read),
		T(test_while_waiting_for_rnr),
		T(test_window),
	};

	return cmocka_run_group_tests_name("pkt_request", tests, NULL, NULL);
}
