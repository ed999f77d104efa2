// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RC: SEND and RECV between guests, and their errors.
 */
#include "tests/lib/engine_guest.h"

#include "base/util.h"

#define RC	VIRTIO_IB_QPT_RC

/* Where the receiving side keeps its buffers. */
#define IN	EG_IN

#define OK	VIRTIO_IB_WC_SUCCESS
#define FLUSH	VIRTIO_IB_WC_WR_FLUSH_ERR

/* Of eg_modify_req(): ACK timeout 4.096 µs * 2^10, RNR timer 0.64 ms. */
#define TIMEOUT_NS	(4096ull << 10)
#define RNR_NS		640000ull

/* ------------------------------------------------------------------------- */
/* Messages                                                                  */
/* ------------------------------------------------------------------------- */

static void test_sizes(void **state)
{
	static const uint32_t sizes[] = {
		0, 1, 2, 3, 255, 1023, 1024, 1025, 4095, 4096, 4097, 8192,
		65535, 65536, 100003, 262143, 262144, 262145, 524288, 1000001,
		1048576,
	};
	struct eg_pair p = eg_pair_up(state, RC);
	uint32_t i, len, npsn, psn = 0xfffffe;
	struct eg_wr wr;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		len = sizes[i];
		/* Neither end is aligned, and the offsets differ. */
		eg_fill(p.a.guest, 4091, len, i);
		eg_zero(p.b.guest, IN, len + 3000);
		eg_recv(&p.b, 1000 + i, IN + 1027, len + 10);
		wr = eg_send(&p.a, i, 4091, len);
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		eg_expect_sent(&p, i);
		eg_expect_received(&p, 1000 + i, len);
		eg_check_zero(p.b.guest, IN, 1027);
		eg_check(p.b.guest, IN + 1027, len, i, 0);
		eg_check_zero(p.b.guest, IN + 1027 + len, 1000);

		npsn = len ? (len + 1023) / 1024 : 1;
		psn = (psn + npsn) & 0xffffff;
		assert_int_equal(le32toh(eg_query(p.a.guest, p.a.qpn).sq_psn),
				 psn);
		assert_int_equal(le32toh(eg_query(p.b.guest, p.b.qpn).rq_psn),
				 psn);
	}
	eg_expect_none(&p.a);
	eg_expect_none(&p.b);
	assert_int_equal(eg_used(&p.a.guest->sq[p.a.qpn]), i);
	assert_int_equal(eg_used(&p.b.guest->rq[p.b.qpn]), i);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* Pages in random order on both sides. */
static void test_scattered_pages(void **state)
{
	enum { PAGES = 64 };
	struct eg_pair p = eg_pair_up(state, RC);
	struct virtio_rdma_ack_mr ack_a, ack_b;
	uint64_t page_a[PAGES], page_b[PAGES];
	uint32_t i, off, len = (PAGES - 1) * EG_PAGE - 33;
	struct eg_sge in;
	struct eg_wr wr;
	uint8_t *from, *to;

	for (i = 0; i < PAGES; i++) {
		page_a[i] = EG_DATA + (uint64_t)(i * 37 % PAGES) * EG_PAGE;
		page_b[i] = EG_DATA + IN + (uint64_t)(i * 29 % PAGES) * EG_PAGE;
	}
	assert_int_equal(eg_reg_mr(p.a.guest, p.a.pdn, 0, 0x1000,
				   PAGES * EG_PAGE, page_a, PAGES, &ack_a),
			 VIRTIO_NET_OK);
	assert_int_equal(eg_reg_mr(p.b.guest, p.b.pdn, 1, 0x7000,
				   PAGES * EG_PAGE, page_b, PAGES, &ack_b),
			 VIRTIO_NET_OK);
	eg_fill(p.a.guest, 0, PAGES * EG_PAGE, 5);
	wr = eg_send(&p.a, 1, 0, 0);
	wr.sge[0] = (struct eg_sge) { 0x1000 + 33, len, le32toh(ack_a.lkey) };
	in = (struct eg_sge) { 0x7000 + 1111, len, le32toh(ack_b.lkey) };
	eg_post_recv(&p.b, 2, &in, 1);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, len);
	for (i = 0; i < len; i++) {
		off = 33 + i;
		from = eg_ptr(p.a.guest, page_a[off / EG_PAGE] + off % EG_PAGE);
		off = 1111 + i;
		to = eg_ptr(p.b.guest, page_b[off / EG_PAGE] + off % EG_PAGE);
		if (*from != *to)
			fail_msg("byte %u differs", i);
	}
}

/* Elements of many sizes, different at both ends, with empty ones between. */
static void test_scatter_lists(void **state)
{
	static const uint32_t out[] = { 1, 0, 5000, 3, 4096, 0, 77, 10000, 1 };
	static const uint32_t in[] = { 0, 9000, 1, 1, 0, 0, 12000, 99999 };
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_sge sge[8];
	struct eg_wr wr = eg_send(&p.a, 7, 0, 0);
	uint32_t i, off, total = 0, at, n;

	wr.num_sge = 9;
	for (i = 0, off = 0; i < 9; i++) {
		/* Keys of empty elements are not looked at. */
		wr.sge[i] = (struct eg_sge) { EG_VA + off, out[i],
					      out[i] ? p.a.lkey : 0xbad };
		off += out[i];
		total += out[i];
	}
	eg_fill(p.a.guest, 0, total, 3);
	for (i = 0, off = IN; i < 8; i++) {
		sge[i] = (struct eg_sge) { EG_VA + off, in[i],
					   in[i] ? p.b.lkey : 0xbad };
		off += in[i] + 100;
	}
	eg_zero(p.b.guest, IN, 200000);
	eg_post_recv(&p.b, 8, sge, 8);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_sent(&p, 7);
	eg_expect_received(&p, 8, total);
	for (i = 0, off = IN, at = 0; i < 8; i++) {
		n = in[i] < total - at ? in[i] : total - at;
		eg_check(p.b.guest, off, n, 3, at);
		at += n;
		eg_check_zero(p.b.guest, off + n, in[i] - n + 100);
		off += in[i] + 100;
	}
	assert_int_equal(at, total);
}

/* Each element has a memory region of its own, with other memory behind it. */
static void test_regions_by_element(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	uint32_t key[2][3], i;
	struct eg_sge in[3];
	struct eg_wr wr = eg_send(&p.a, 1, 0, 0);

	wr.num_sge = 3;
	for (i = 0; i < 3; i++) {
		key[0][i] = eg_reg(p.a.guest, p.a.pdn, 0, 0x5000, 4096,
				   EG_DATA + i * 3 * EG_PAGE);
		key[1][i] = eg_reg(p.b.guest, p.b.pdn, 1, 0x5000, 4096,
				   EG_DATA + IN + i * 5 * EG_PAGE);
		eg_fill(p.a.guest, i * 3 * EG_PAGE, 4096, i);
		wr.sge[i] = (struct eg_sge) { 0x5000, 4096, key[0][i] };
		in[i] = (struct eg_sge) { 0x5000, 4096, key[1][i] };
	}
	eg_zero(p.b.guest, IN, 15 * EG_PAGE);
	eg_post_recv(&p.b, 2, in, 3);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, 3 * 4096);
	for (i = 0; i < 3; i++) {
		eg_check(p.b.guest, IN + i * 5 * EG_PAGE, 4096, i, 0);
		eg_check_zero(p.b.guest, IN + (i * 5 + 1) * EG_PAGE,
			      4 * EG_PAGE);
	}
}

static void test_max_sge(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_sge sge[EG_SGE];
	struct eg_wr wr = eg_send(&p.a, 7, 0, 0);
	uint32_t i;

	wr.num_sge = EG_SGE;
	for (i = 0; i < EG_SGE; i++) {
		wr.sge[i] = (struct eg_sge) { EG_VA + i * 3, 3, p.a.lkey };
		sge[i] = (struct eg_sge) { EG_VA + IN + (EG_SGE - 1 - i) * 3, 3,
					   p.b.lkey };
	}
	eg_fill(p.a.guest, 0, 3 * EG_SGE, 4);
	eg_post_recv(&p.b, 8, sge, EG_SGE);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_sent(&p, 7);
	eg_expect_received(&p, 8, 3 * EG_SGE);
	for (i = 0; i < EG_SGE; i++)
		eg_check(p.b.guest, IN + (EG_SGE - 1 - i) * 3, 3, 4, i * 3);
}

static void test_immediate(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 10);
	struct eg_wc wc;

	wr.opcode = VIRTIO_IB_WR_SEND_WITH_IMM;
	wr.imm = 0xdeadbeef;
	eg_fill(p.a.guest, 0, 10, 6);
	eg_recv(&p.b, 2, IN, 10);
	eg_recv(&p.b, 3, IN + 100, 10);
	eg_post_recv(&p.b, 4, NULL, 0);
	eg_post_send(&p.a, &wr);
	/* The immediate of a request that has none is not sent. */
	wr.opcode = VIRTIO_IB_WR_SEND;
	wr.wr_id = 2;
	eg_post_send(&p.a, &wr);
	/* No element at all on either side. */
	wr.opcode = VIRTIO_IB_WR_SEND_WITH_IMM;
	wr.wr_id = 3;
	wr.num_sge = 0;
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);

	eg_expect_sent(&p, 1);
	eg_expect_sent(&p, 2);
	eg_expect_sent(&p, 3);
	wc = eg_expect(&p.b, 2, OK);
	assert_int_equal(wc.opcode, VIRTIO_IB_WC_RECV);
	assert_int_equal(wc.flags, VIRTIO_IB_WC_WITH_IMM);
	assert_int_equal(wc.imm, 0xdeadbeef);
	assert_int_equal(wc.byte_len, 10);
	eg_check(p.b.guest, IN, 10, 6, 0);
	wc = eg_expect(&p.b, 3, OK);
	assert_int_equal(wc.flags, 0);
	assert_int_equal(wc.imm, 0);
	wc = eg_expect(&p.b, 4, OK);
	assert_int_equal(wc.flags, VIRTIO_IB_WC_WITH_IMM);
	assert_int_equal(wc.imm, 0xdeadbeef);
	assert_int_equal(wc.byte_len, 0);
}

static void test_inline(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 63, 511, 512 };
	struct eg_pair p = eg_pair_up(state, RC);
	uint8_t data[VIRTIO_RDMA_INLINE_SIZE];
	struct eg_wr wr = {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_SIGNALED | VIRTIO_IB_SEND_INLINE,
		.data = data,
	};
	uint32_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + 1;
	for (i = 0; i < 5; i++) {
		eg_zero(p.b.guest, IN, 1024);
		eg_recv(&p.b, i, IN + 3, 600);
		wr.wr_id = i;
		wr.data_len = sizes[i];
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		eg_expect_sent(&p, i);
		eg_expect_received(&p, i, sizes[i]);
		assert_memory_equal(eg_ptr(p.b.guest, EG_DATA + IN + 3), data,
				    sizes[i]);
		eg_check_zero(p.b.guest, IN + 3 + sizes[i], 100);
	}
}

/* Inline data is taken with the request: the slot may change afterwards. */
static void test_inline_is_copied(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *sq = &p.a.guest->sq[p.a.qpn];
	struct virtio_rdma_sq_req *slot = eg_slot(sq);
	struct eg_wr wr = {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_SIGNALED | VIRTIO_IB_SEND_INLINE,
		.data = "genuine", .data_len = 8,
	};

	eg_post_send(&p.a, &wr);
	eg_run(p.engine);	/* receiver not ready: taken, waits */
	memcpy(slot->inline_data, "forgery", 8);
	eg_recv(&p.b, 1, IN, 8);
	engine_loop_advance(p.engine->loop, RNR_NS);
	eg_run(p.engine);
	eg_expect_sent(&p, 0);
	eg_expect_received(&p, 1, 8);
	assert_string_equal(eg_ptr(p.b.guest, EG_DATA + IN), "genuine");
}

static void test_unsignaled(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	uint32_t i;

	for (i = 0; i < 5; i++) {
		eg_recv(&p.b, i, IN, 4);
		wr.flags = i == 4 ? VIRTIO_IB_SEND_SIGNALED : 0;
		wr.wr_id = i;
		eg_post_send(&p.a, &wr);
	}
	eg_run(p.engine);
	eg_expect_sent(&p, 4);
	eg_expect_none(&p.a);
	/* Their slots are given back all the same. */
	assert_int_equal(eg_used(&p.a.guest->sq[p.a.qpn]), 5);
	for (i = 0; i < 5; i++)
		eg_expect_received(&p, i, 4);
}

static void test_sq_sig_all(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], RC),
		.b = eg_open(&engine->guest[1], RC),
	};
	struct virtio_rdma_cmd_create_qp req =
		eg_create_qp_req(RC, p.a.pdn, p.a.cqn);
	struct virtio_rdma_ack_create_qp ack;
	struct eg_wr wr;

	req.sq_sig_all = 1;
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	p.a.qpn = le32toh(ack.qpn);
	eg_connect(&p.a, &p.b, RC);
	wr = eg_send(&p.a, 11, 0, 1);
	wr.flags = 0;
	eg_recv(&p.b, 1, IN, 1);
	eg_post_send(&p.a, &wr);
	eg_run(engine);
	eg_expect_sent(&p, 11);
}

/* Several thousand messages both ways, rings and PSNs wrapping. */
static void test_many_both_ways(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_end *end[2] = { &p.a, &p.b };
	uint32_t i, j, k, seed, len;
	struct eg_wr wr;
	struct eg_wc wc;

	for (i = 0; i < 200; i++) {
		for (j = 0; j < 2; j++)
			for (k = 0; k < 10; k++)
				eg_recv(end[j], k, IN + k * 9000, 9000);
		for (j = 0; j < 2; j++) {
			for (k = 0; k < 10; k++) {
				seed = i * 20 + j * 10 + k;
				len = seed * 7919 % 9000;
				eg_fill(end[j]->guest, k * 9000, len, seed);
				wr = eg_send(end[j], k, k * 9000, len);
				wr.flags = 0;
				eg_post_send(end[j], &wr);
			}
		}
		eg_run(p.engine);
		for (j = 0; j < 2; j++) {
			for (k = 0; k < 10; k++) {
				seed = i * 20 + !j * 10 + k;
				len = seed * 7919 % 9000;
				wc = eg_expect(end[j], k, OK);
				assert_int_equal(wc.byte_len, len);
				eg_check(end[j]->guest, IN + k * 9000, len,
					 seed, 0);
			}
			eg_expect_none(end[j]);
		}
	}
}

/* Each slice is acknowledged: a long message does not run into its timeout. */
static void test_long_message_is_acknowledged(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 1 << 20);
	uint32_t i;

	eg_recv(&p.b, 1, IN, 1 << 20);
	eg_post_send(&p.a, &wr);
	for (i = 0; i < 3; i++) {
		assert_true(rnic_poll(p.a.guest->rnic));
		eg_expect_none(&p.a);
		assert_int_equal(engine_loop_timers(p.engine->loop), 0);
		engine_loop_advance(p.engine->loop, 100 * TIMEOUT_NS);
	}
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 1, 1 << 20);
}

/* A full send queue is worked off in order with any budget. */
static void test_full_queue(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr;
	uint32_t i;

	for (i = 0; i < EG_QUEUE; i++) {
		eg_fill(p.a.guest, i * 64, 64, i);
		wr = eg_send(&p.a, i, i * 64, 64);
		eg_recv(&p.b, i, IN + i * 64, 64);
		eg_post_send(&p.a, &wr);
	}
	eg_run(p.engine);
	for (i = 0; i < EG_QUEUE; i++) {
		eg_expect_sent(&p, i);
		eg_expect_received(&p, i, 64);
		eg_check(p.b.guest, IN + i * 64, 64, i, 0);
	}
}

/* ------------------------------------------------------------------------- */
/* Loop-back                                                                 */
/* ------------------------------------------------------------------------- */

static void test_loopback_same_guest(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };

	p.a = eg_open(&engine->guest[0], RC);
	p.b = p.a;
	p.b.cqn = eg_create_cq(p.b.guest);
	p.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_connect(&p.a, &p.b, RC);
	eg_expect_works(&p);
	eg_expect_works(&p);
}

static void test_loopback_self(void **state)
{
	struct engine *engine = *state;
	struct eg_end a = eg_open(&engine->guest[0], RC);
	struct eg_wr wr = eg_send(&a, 1, 0, 5000);

	eg_to(&a, RC, VIRTIO_IB_QPS_INIT, &a);
	eg_to(&a, RC, VIRTIO_IB_QPS_RTR, &a);
	eg_to(&a, RC, VIRTIO_IB_QPS_RTS, &a);
	eg_fill(a.guest, 0, 5000, 1);
	eg_recv(&a, 2, IN, 5000);
	eg_post_send(&a, &wr);
	/* RNR, then an error, in a call that the sender makes to its own QP. */
	wr.wr_id = 3;
	eg_post_send(&a, &wr);
	eg_run(engine);
	eg_expect(&a, 2, OK);
	eg_expect(&a, 1, OK);
	eg_expect_none(&a);
	eg_check(a.guest, IN, 5000, 1, 0);
	eg_recv(&a, 4, IN, 4999);
	engine_loop_advance(engine->loop, RNR_NS);
	eg_run(engine);
	eg_expect(&a, 4, VIRTIO_IB_WC_LOC_LEN_ERR);
	eg_expect(&a, 3, VIRTIO_IB_WC_REM_INV_REQ_ERR);
	assert_int_equal(eg_state(a.guest, a.qpn), VIRTIO_IB_QPS_ERR);
}

static void test_overlapping_memory(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };
	struct eg_wr wr;

	p.a = eg_open(&engine->guest[0], RC);
	p.b = p.a;
	p.b.cqn = eg_create_cq(p.b.guest);
	p.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_connect(&p.a, &p.b, RC);
	eg_fill(p.a.guest, 0, 3000, 1);
	wr = eg_send(&p.a, 1, 0, 3000);
	eg_recv(&p.b, 2, 1000, 3000);
	eg_post_send(&p.a, &wr);
	eg_run(engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, 3000);
	eg_check(p.a.guest, 1000, 3000, 1, 0);
}

/* ------------------------------------------------------------------------- */
/* Errors of the data                                                        */
/* ------------------------------------------------------------------------- */

/* Post @n requests that will be flushed, on both sides. */
static void post_more(const struct eg_pair *p, uint32_t n)
{
	struct eg_wr wr;
	uint32_t i;

	for (i = 0; i < n; i++) {
		wr = eg_send(&p->a, 100 + i, 0, 4);
		wr.flags = 0;	/* flushed ones complete all the same */
		eg_post_send(&p->a, &wr);
		eg_recv(&p->b, 200 + i, IN, 4);
	}
}

static void expect_flushed(const struct eg_end *end, uint64_t first, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		eg_expect(end, first + i, FLUSH);
	eg_expect_none(end);
}

static void test_receive_too_short(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 101);

	eg_fill(p.a.guest, 0, 101, 1);
	eg_zero(p.b.guest, IN, 200);
	eg_recv(&p.b, 2, IN, 100);
	eg_post_send(&p.a, &wr);
	post_more(&p, 5);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_INV_REQ_ERR);
	eg_expect(&p.b, 2, VIRTIO_IB_WC_LOC_LEN_ERR);
	expect_flushed(&p.a, 100, 5);
	expect_flushed(&p.b, 200, 5);
	eg_check_zero(p.b.guest, IN, 200);
	eg_expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_used(&p.a.guest->sq[p.a.qpn]), 6);
	assert_int_equal(eg_used(&p.b.guest->rq[p.b.qpn]), 6);
}

/* The message outgrows its buffer in a later slice. */
static void test_long_receive_too_short(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 1 << 20);

	eg_zero(p.b.guest, IN, 700000);
	eg_recv(&p.b, 2, IN, 600000);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_INV_REQ_ERR);
	eg_expect(&p.b, 2, VIRTIO_IB_WC_LOC_LEN_ERR);
	eg_check_zero(p.b.guest, IN + 600000, 100000);
}

/* Requests before the bad one are completed first, those after it flushed. */
static void send_bad(const struct eg_pair *p, struct eg_wr *bad)
{
	struct eg_wr good = eg_send(&p->a, 50, 0, 4);

	eg_recv(&p->b, 1, IN, 4);
	eg_post_send(&p->a, &good);
	eg_post_send(&p->a, bad);
	post_more(p, 3);
	eg_run(p->engine);
	eg_expect_sent(p, 50);
	eg_expect(&p->a, bad->wr_id, VIRTIO_IB_WC_LOC_PROT_ERR);
	expect_flushed(&p->a, 100, 3);
	/* The peer has seen nothing of the request. */
	eg_expect_received(p, 1, 4);
	eg_expect_none(&p->b);
	eg_expect_states(p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_RTS);
}

static void test_send_unknown_lkey(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 9, 0, 4);

	wr.sge[0].lkey ^= 0x100;
	send_bad(&p, &wr);
}

static void test_send_stale_tag(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 9, 0, 4);

	wr.sge[0].lkey ^= 1;
	send_bad(&p, &wr);
}

static void test_send_out_of_bounds(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 9, EG_MR_SIZE - 3, 4);

	send_bad(&p, &wr);
}

static void test_send_second_sge_bad(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 9, 0, 4);

	wr.num_sge = 2;
	wr.sge[1] = (struct eg_sge) { EG_VA - 1, 2, p.a.lkey };
	send_bad(&p, &wr);
}

static void test_send_lkey_of_other_pd(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 9, 0, 4);

	wr.sge[0].lkey = eg_reg(p.a.guest, eg_create_pd(p.a.guest),
				EG_ACCESS_ALL, EG_VA, 4096, EG_DATA);
	send_bad(&p, &wr);
}

static void receive_bad(const struct eg_pair *p, const struct eg_sge *sge,
			uint32_t n)
{
	struct eg_wr wr = eg_send(&p->a, 1, 0, 4);

	eg_fill(p->a.guest, 0, 4, 1);
	eg_zero(p->b.guest, 0, 8192);
	eg_post_recv(&p->b, 2, sge, n);
	eg_post_send(&p->a, &wr);
	post_more(p, 3);
	eg_run(p->engine);
	eg_expect(&p->a, 1, VIRTIO_IB_WC_REM_OP_ERR);
	eg_expect(&p->b, 2, VIRTIO_IB_WC_LOC_PROT_ERR);
	expect_flushed(&p->a, 100, 3);
	expect_flushed(&p->b, 200, 3);
	eg_check_zero(p->b.guest, 0, 8192);
	eg_expect_states(p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_ERR);
}

static void test_receive_unknown_lkey(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	receive_bad(&p, &(struct eg_sge) { EG_VA, 4, p.b.lkey + 0x700 }, 1);
}

static void test_receive_without_write_access(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	uint32_t key = eg_reg(p.b.guest, p.b.pdn, VIRTIO_IB_ACCESS_REMOTE_READ,
			      EG_VA, 4096, EG_DATA);

	receive_bad(&p, &(struct eg_sge) { EG_VA, 4, key }, 1);
}

/* Only elements that the message needs are checked. */
static void test_receive_unused_element(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	const struct eg_sge sge[2] = {
		{ EG_VA + IN, 4, p.b.lkey },
		{ EG_VA + IN + 100, 4, 0xbad },
	};
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);

	eg_fill(p.a.guest, 0, 4, 1);
	eg_post_recv(&p.b, 2, sge, 2);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, 4);
	eg_check(p.b.guest, IN, 4, 1, 0);
}

/* A key that goes while a long message is under way, at either end. */
static void test_dereg_under_way(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 1 << 20);
	__le32 mrn = htole32(p.a.mrn);

	eg_recv(&p.b, 2, IN, 1 << 20);
	eg_post_send(&p.a, &wr);
	assert_true(rnic_poll(p.a.guest->rnic));
	eg_expect_none(&p.a);
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR,
				    &mrn, 4, NULL, 0), VIRTIO_NET_OK);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_LOC_PROT_ERR);
	eg_expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_RTS);
	/* The receive request still waits for the rest of the message. */
	eg_expect_none(&p.b);
	eg_destroy_qp(p.b.guest, p.b.qpn);
}

/* Bytes of a message that were placed so far, in whole slices: all of each, or nothing. */
static size_t placed(const struct eg_pair *p, size_t len)
{
	static const uint8_t nothing[16];
	const size_t slice = RNIC_SLICE_FEW;
	const uint8_t *last;
	size_t done;

	for (done = 0; done < len; done += slice) {
		last = eg_ptr(p->b.guest, EG_DATA + IN + done + slice - sizeof(nothing));
		if (!memcmp(last, nothing, sizeof(nothing)))
			break;
	}
	return done;
}

/* A lone QP copies more in one turn if few guests have had work lately. */
static void test_turn_alone(void **state)
{
	static const struct {
		unsigned int awake;
		size_t most;
	} turn[] = {
		{ 2, 1 << 20 },
		{ 3, 256 << 10 },
	};
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 1 << 20);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(turn); i++) {
		engine_loop_awake = turn[i].awake;
		eg_recv(&p.b, 2, IN, 1 << 20);
		eg_zero(p.b.guest, IN, 1 << 20);
		eg_fill(p.a.guest, 0, 1 << 20, 1);
		eg_post_send(&p.a, &wr);
		assert_true(rnic_poll(p.a.guest->rnic));
		engine_loop_awake = ENGINE_LOOP_AWAKE;
		eg_check(p.b.guest, IN, turn[i].most, 1, 0);
		eg_check_zero(p.b.guest, IN + turn[i].most, (1 << 20) - turn[i].most);
		eg_run(p.engine);
		eg_check(p.b.guest, IN, 1 << 20, 1, 0);
		eg_expect(&p.a, 1, VIRTIO_IB_WC_SUCCESS);
		eg_expect(&p.b, 2, VIRTIO_IB_WC_SUCCESS);
	}
}

static void test_peer_dereg_under_way(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 1 << 20);
	__le32 mrn = htole32(p.b.mrn);
	size_t done;

	eg_recv(&p.b, 2, IN, 1 << 20);
	eg_zero(p.b.guest, IN, 1 << 20);
	eg_fill(p.a.guest, 0, 1 << 20, 1);
	eg_post_send(&p.a, &wr);
	assert_true(rnic_poll(p.a.guest->rnic));
	done = placed(&p, 1 << 20);
	assert_in_range(done, 1, (1 << 20) - 1);
	eg_check(p.b.guest, IN, done, 1, 0);
	assert_int_equal(eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR,
				    &mrn, 4, NULL, 0), VIRTIO_NET_OK);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_OP_ERR);
	eg_expect(&p.b, 2, VIRTIO_IB_WC_LOC_PROT_ERR);
	eg_check_zero(p.b.guest, IN + done, (1 << 20) - done);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_sizes),
		T(test_scattered_pages),
		T(test_scatter_lists),
		T(test_regions_by_element),
		T(test_max_sge),
		T(test_immediate),
		T(test_inline),
		T(test_inline_is_copied),
		T(test_unsignaled),
		T(test_sq_sig_all),
		T(test_many_both_ways),
		T(test_long_message_is_acknowledged),
		T(test_full_queue),
		T(test_loopback_same_guest),
		T(test_loopback_self),
		T(test_overlapping_memory),
		T(test_receive_too_short),
		T(test_long_receive_too_short),
		T(test_send_unknown_lkey),
		T(test_send_stale_tag),
		T(test_send_out_of_bounds),
		T(test_send_second_sge_bad),
		T(test_send_lkey_of_other_pd),
		T(test_receive_unknown_lkey),
		T(test_receive_without_write_access),
		T(test_receive_unused_element),
		T(test_turn_alone),
		T(test_dereg_under_way),
		T(test_peer_dereg_under_way),
	};

	return cmocka_run_group_tests_name("rc", tests, NULL, NULL);
}
