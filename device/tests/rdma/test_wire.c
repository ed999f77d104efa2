// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester and responder over a transport of one packet for each MTU, which
 * loses, repeats and reorders: all arrives, once, in order, unharmed.
 */
#include "tests/lib/engine_wire.h"

#define RC	VIRTIO_IB_QPT_RC
#define UC	VIRTIO_IB_QPT_UC
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN

#define WRITE		VIRTIO_IB_WR_RDMA_WRITE
#define WRITE_IMM	VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM
#define SEND		VIRTIO_IB_WR_SEND
#define SEND_IMM	VIRTIO_IB_WR_SEND_WITH_IMM
#define READ		VIRTIO_IB_WR_RDMA_READ
#define FLUSH		VIRTIO_IB_WR_FLUSH

#define TIMEOUT_NS	(4096ull << 10)
#define SECOND		1000000000ull

static struct eg_pair pair_up(void **state, uint8_t mtu)
{
	struct engine *engine = *state;
	struct eg_pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], RC),
		.b = eg_open(&engine->guest[1], RC),
	};

	eg_wire_connect(&p.a, &p.b, mtu);
	eg_wire_use(engine);
	return p;
}

/* Length and opcode of message @n. */
static uint32_t mix_len(uint32_t n)
{
	uint32_t x = n * 2654435761u >> 7;

	return n % 7 == 0 ? 0 : x % (n % 5 == 0 ? 65536 : 6000);
}

static uint8_t mix_opcode(uint32_t n)
{
	static const uint8_t opcodes[] = {
		SEND, READ, WRITE, SEND_IMM, READ, FLUSH, WRITE_IMM, SEND,
	};

	return opcodes[(n * 40503u >> 5) % 8];
}

#define BATCH	16
#define ROOM	65536u

/*
 * Each direction has its own strips of memory: requests go from strip i to
 * strip i of the other side's IN area, READs the other way.
 */
static void mix_post(const struct eg_end *from, const struct eg_end *to,
		     uint32_t seed, uint32_t i)
{
	uint8_t opcode = mix_opcode(seed);
	uint32_t len = mix_len(seed);
	struct eg_wr wr = eg_send(from, seed, i * ROOM, len);

	wr.opcode = opcode;
	wr.imm = seed;
	wr.flags |= VIRTIO_IB_SEND_SOLICITED;
	wr.rkey = to->lkey;
	wr.remote_addr = EG_VA + IN + i * ROOM;
	if (opcode == FLUSH) {
		wr.num_sge = 0;
		wr.flush_len = len;
		wr.flush_type = VIRTIO_IB_FLUSH_GLOBAL;
		wr.flush_level = seed & 1;
	} else if (opcode == READ) {
		wr.sge[0].addr = EG_VA + IN + (BATCH + i) * ROOM;
		wr.remote_addr = EG_VA + (BATCH + i) * ROOM;
		eg_fill(to->guest, (BATCH + i) * ROOM, len, seed);
		eg_zero(from->guest, IN + (BATCH + i) * ROOM, len + 1);
	} else {
		eg_fill(from->guest, i * ROOM, len, seed);
		eg_zero(to->guest, IN + i * ROOM, len + 1);
	}
	if (opcode == SEND || opcode == SEND_IMM)
		eg_recv(to, seed, IN + i * ROOM, ROOM);
	if (opcode == WRITE_IMM)
		eg_post_recv(to, seed, NULL, 0);
	eg_post_send(from, &wr);
}

static void mix_check(const struct eg_end *from, const struct eg_end *to,
		      uint32_t seed, uint32_t i)
{
	uint8_t opcode = mix_opcode(seed);
	uint32_t len = mix_len(seed);
	const struct eg_guest *guest = opcode == READ ? from->guest : to->guest;
	uint32_t off = IN + (opcode == READ ? BATCH + i : i) * ROOM;

	if (opcode == FLUSH)
		return;
	eg_check(guest, off, len, seed, 0);
	eg_check_zero(guest, off + len, 1);
}

static void expect_recv(const struct eg_end *to, uint32_t seed)
{
	uint8_t opcode = mix_opcode(seed);
	struct eg_wc wc;

	if (opcode == WRITE || opcode == READ || opcode == FLUSH)
		return;
	wc = eg_expect(to, seed, OK);
	assert_int_equal(wc.byte_len, mix_len(seed));
	if (opcode != SEND)
		assert_int_equal(wc.imm, seed);
}

/* @rounds batches from a to b, which has a CQ of its own for receiving. */
static void mix(const struct eg_pair *p, uint32_t rounds)
{
	uint32_t round, i, seed;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < BATCH; i++)
			mix_post(&p->a, &p->b, round * BATCH + i, i);
		eg_wire_run(p->engine, 2 * SECOND);
		for (i = 0; i < BATCH; i++) {
			seed = round * BATCH + i;
			eg_expect(&p->a, seed, OK);
			expect_recv(&p->b, seed);
			mix_check(&p->a, &p->b, seed, i);
		}
		eg_expect_none(&p->a);
		eg_expect_none(&p->b);
		assert_int_equal(engine_loop_timers(p->engine->loop), 0);
	}
}

static void test_no_fault(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);

	mix(&p, 50);
	assert_int_equal(eg_wire.lost, 0);
}

static void test_mtu_256(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_256);

	mix(&p, 10);
}

static void test_mtu_4096(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_4096);

	mix(&p, 10);
}

static void test_loss(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);

	eg_wire.lose = 10;
	mix(&p, 100);
	assert_in_range(eg_wire.lost, 50, UINT32_MAX);
}

static void test_heavy_loss(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_4096);

	eg_wire.lose = 50;
	mix(&p, 100);
	assert_in_range(eg_wire.lost, 200, UINT32_MAX);
}

static void test_repetition(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);

	eg_wire.repeat = 100;
	mix(&p, 100);
}

static void test_reordering(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);

	eg_wire.reorder = 20;
	mix(&p, 100);
}

static void test_all_faults(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_2048);

	eg_wire.lose = 20;
	eg_wire.repeat = 20;
	eg_wire.reorder = 20;
	mix(&p, 200);
}

static uint64_t counted(const struct eg_end *end,
			enum virtio_rdma_counter counter)
{
	return rnic_counters(end->guest->rnic)[counter];
}

/* A path with ordinary faults: 10^5 messages in all. */
static void mix_on_a_path(void **state, struct eg_wire_fate fate)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);

	fate.latency = 20000;
	fate.mbps = 100000;
	eg_wire = fate;
	mix(&p, 900);
	if (fate.lose || fate.reorder)
		assert_true(counted(&p.a, VIRTIO_RDMA_CNT_RETRY));
	if (fate.lose)
		assert_true(counted(&p.b, VIRTIO_RDMA_CNT_OUT_OF_SEQ) &&
			    counted(&p.a, VIRTIO_RDMA_CNT_RCVD_SEQ_NAK));
	if (fate.lose || fate.repeat)
		assert_true(counted(&p.b, VIRTIO_RDMA_CNT_DUP_REQUEST));
	/* A probe is long before that, also for the last packet; all of them get lost rarely. */
	assert_in_range(counted(&p.a, VIRTIO_RDMA_CNT_TIMEOUT), 0, fate.lose > 10 ? 5 : 0);
	assert_int_equal(counted(&p.a, VIRTIO_RDMA_CNT_RETRY_EXCEEDED), 0);
	assert_int_equal(counted(&p.b, VIRTIO_RDMA_CNT_REFUSED), 0);
	assert_int_equal(counted(&p.a, VIRTIO_RDMA_CNT_RCVD_DROPPED), 0);
	assert_int_equal(counted(&p.b, VIRTIO_RDMA_CNT_RCVD_DROPPED), 0);
}

static void test_path_clean(void **state)
{
	mix_on_a_path(state, (struct eg_wire_fate) { .seed = 1 });
	assert_int_equal(eg_wire.lost, 0);
}

static void test_path_loss_0_1(void **state)
{
	mix_on_a_path(state, (struct eg_wire_fate) { .seed = 2, .lose = 1 });
}

static void test_path_loss_1(void **state)
{
	mix_on_a_path(state, (struct eg_wire_fate) { .seed = 3, .lose = 10 });
}

static void test_path_loss_5(void **state)
{
	mix_on_a_path(state, (struct eg_wire_fate) { .seed = 4, .lose = 50 });
}

static void test_path_repeat_1(void **state)
{
	mix_on_a_path(state, (struct eg_wire_fate) { .seed = 5, .repeat = 10 });
}

static void test_path_reorder_1(void **state)
{
	mix_on_a_path(state, (struct eg_wire_fate) { .seed = 6,
						     .reorder = 10 });
}

static void test_path_all_1(void **state)
{
	mix_on_a_path(state, (struct eg_wire_fate) {
		.seed = 7, .lose = 10, .repeat = 10, .reorder = 10,
	});
}

/* Both directions at once on the same QPs. */
static void test_both_ways(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);
	uint32_t round, i, seed, got;
	struct eg_wc wc;

	eg_wire.lose = 10;
	eg_wire.repeat = 10;
	for (round = 0; round < 50; round++) {
		for (i = 0; i < BATCH / 2; i++) {
			seed = round * BATCH + i;
			mix_post(&p.a, &p.b, seed, i);
			mix_post(&p.b, &p.a, seed + BATCH / 2, i + BATCH / 2);
		}
		eg_wire_run(p.engine, 2 * SECOND);
		for (got = 0; eg_poll(&p.a, &wc); got++)
			assert_int_equal(wc.status, OK);
		for (; eg_poll(&p.b, &wc); got++)
			assert_int_equal(wc.status, OK);
		for (i = 0; i < BATCH / 2; i++) {
			seed = round * BATCH + i;
			mix_check(&p.a, &p.b, seed, i);
			mix_check(&p.b, &p.a, seed + BATCH / 2, i + BATCH / 2);
			got -= 2;
			for (uint32_t j = 0; j <= BATCH / 2; j += BATCH / 2)
				got -= mix_opcode(seed + j) != READ &&
				       mix_opcode(seed + j) != FLUSH &&
				       mix_opcode(seed + j) != WRITE;
		}
		assert_int_equal(got, 0);
	}
}

/* The wire is cut for good: the error comes after the time that the attributes set. */
static void cut_for_good(void **state, uint32_t cut)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 5000);
	uint32_t i;

	eg_wire.cut = cut;
	eg_recv(&p.b, 1, IN, 5000);
	eg_post_send(&p.a, &wr);
	for (i = 0; i < 8; i++) {
		eg_wire_run(p.engine, eg_ack_ns(i) - 1);
		eg_expect_none(&p.a);
		engine_loop_advance(p.engine->loop, 1);
	}
	eg_wire_run(p.engine, 1);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_RETRY_EXC_ERR);
	/* With the answers cut the message has arrived, once. */
	if (cut == 2)
		eg_expect(&p.b, 1, OK);
	eg_expect_none(&p.b);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

static void test_requests_cut(void **state)
{
	cut_for_good(state, 1);
}

static void test_responses_cut(void **state)
{
	cut_for_good(state, 2);
}

/*
 * The peer is not ready for a long time, and some of its RNR NAKs are lost: as long
 * as some arrive, no retries are used up.
 */
static void test_not_ready_and_loss(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 100);
	uint64_t heard = 0;
	uint32_t i;

	eg_fill(p.a.guest, 0, 100, 1);
	eg_post_send(&p.a, &wr);
	for (i = 0; i < 20; i++) {
		eg_wire.cut = 0;
		/* The wait that goes on is not longer than this. */
		eg_wire_for(p.engine, eg_ack_ns(2));
		assert_true(counted(&p.a, VIRTIO_RDMA_CNT_RCVD_RNR) > heard);
		eg_wire.cut = 2;
		/* Six retries. */
		eg_wire_for(p.engine, eg_ack_ns(0) + eg_ack_ns(1) + 4 * eg_ack_ns(2));
		heard = counted(&p.a, VIRTIO_RDMA_CNT_RCVD_RNR);
	}
	assert_in_range(counted(&p.a, VIRTIO_RDMA_CNT_TIMEOUT), 80, 140);
	eg_expect_none(&p.a);
	eg_recv(&p.b, 2, IN, 100);
	eg_wire.cut = 0;
	eg_wire_run(p.engine, SECOND);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.b, 2, OK);
	eg_check(p.b.guest, IN, 100, 1, 0);
}

/* A READ continues where its answer broke off. */
static void test_read_goes_on(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);
	struct eg_wr wr = eg_send(&p.a, 1, IN, 100 * 1024);
	unsigned int sent;

	wr.opcode = READ;
	wr.remote_addr = EG_VA;
	wr.rkey = p.b.lkey;
	eg_fill(p.b.guest, 0, 100 * 1024, 1);
	eg_zero(p.a.guest, IN, 100 * 1024);
	eg_post_send(&p.a, &wr);
	assert_true(rnic_poll(p.a.guest->rnic));
	assert_true(eg_wire_deliver());
	assert_true(rnic_poll(p.b.guest->rnic));
	while (eg_wire_deliver())
		;
	/* Packets delivered so far, the request included; the rest is lost. */
	sent = eg_wire.sent;
	assert_in_range(sent, 2, 50);
	while (rnic_poll(p.b.guest->rnic))
		eg_wire_drop();
	assert_int_equal(eg_wire.sent, 101);
	eg_wire.sent = 0;
	eg_expect_none(&p.a);
	eg_wire_run(p.engine, TIMEOUT_NS + 1);
	eg_expect(&p.a, 1, OK);
	eg_check(p.a.guest, IN, 100 * 1024, 1, 0);
	assert_int_equal(eg_wire.sent, 102 - sent);
}

/* A request that cannot be sent fails only after those before it. */
static void test_local_error_in_order(void **state)
{
	struct eg_pair p = pair_up(state, VIRTIO_IB_MTU_1024);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 5000);

	eg_fill(p.a.guest, 0, 5000, 1);
	eg_recv(&p.b, 1, IN, 5000);
	eg_post_send(&p.a, &wr);
	wr.wr_id = 2;
	wr.sge[0].lkey = 0xbad;
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_none(&p.a);	/* nothing is delivered yet */
	eg_wire_run(p.engine, 1);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.a, 2, VIRTIO_IB_WC_LOC_PROT_ERR);
	eg_expect(&p.b, 1, OK);
	eg_check(p.b.guest, IN, 5000, 1, 0);
}

/* UC: what arrives is whole and in order, and the rest is lost. */
static void test_uc_loss(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	uint32_t round, i, whole = 0, seed;
	struct eg_wr wr;
	struct eg_wc wc;

	eg_pair(engine, UC, &a, &b);
	eg_wire_use(engine);
	eg_wire.lose = 20;
	for (i = 0; i < 20; i++)
		eg_recv(&b, i, IN + i * 8192, 8192);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 10; i++) {
			seed = round * 10 + i;
			eg_fill(a.guest, i * 8192, 8000, seed);
			wr = eg_send(&a, seed, i * 8192, 8000);
			wr.opcode = SEND_IMM;
			wr.imm = seed;
			eg_post_send(&a, &wr);
		}
		eg_wire_run(engine, SECOND);
		for (i = 0; i < 10; i++)
			eg_expect(&a, round * 10 + i, OK);
		while (eg_poll(&b, &wc)) {
			assert_int_equal(wc.status, OK);
			assert_int_equal(wc.byte_len, 8000);
			assert_in_range(wc.imm, round * 10, round * 10 + 9);
			eg_check(b.guest, IN + wc.wr_id * 8192, 8000, wc.imm,
				 0);
			eg_recv(&b, wc.wr_id, IN + wc.wr_id * 8192, 8192);
			whole++;
		}
	}
	/* About (1 - 0.02) ^ 8 of them. */
	assert_in_range(whole, 750, 950);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, \
						eg_wire_teardown)
	const struct CMUnitTest tests[] = {
		T(test_no_fault),
		T(test_mtu_256),
		T(test_mtu_4096),
		T(test_loss),
		T(test_heavy_loss),
		T(test_repetition),
		T(test_reordering),
		T(test_all_faults),
		T(test_path_clean),
		T(test_path_loss_0_1),
		T(test_path_loss_1),
		T(test_path_loss_5),
		T(test_path_repeat_1),
		T(test_path_reorder_1),
		T(test_path_all_1),
		T(test_both_ways),
		T(test_requests_cut),
		T(test_responses_cut),
		T(test_not_ready_and_loss),
		T(test_read_goes_on),
		T(test_local_error_in_order),
		T(test_uc_loss),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
