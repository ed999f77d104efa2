// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RC: receivers that are not ready, and peers that do not answer.
 */
#include "tests/lib/engine_guest.h"
#include "tests/lib/engine_port.h"

#define RC	VIRTIO_IB_QPT_RC

/* Where the receiving side keeps its buffers. */
#define IN	EG_IN

#define OK	VIRTIO_IB_WC_SUCCESS
#define FLUSH	VIRTIO_IB_WC_WR_FLUSH_ERR

/* Of eg_modify_req(): ACK timeout 4.096 µs * 2^10, RNR timer 0.64 ms. */
#define TIMEOUT_NS	(4096ull << 10)
#define RNR_NS		640000ull

/* ------------------------------------------------------------------------- */
/* Receiver not ready                                                        */
/* ------------------------------------------------------------------------- */

static void test_rnr_then_success(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 5000);

	eg_fill(p.a.guest, 0, 5000, 1);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	assert_int_equal(eg_used(&p.a.guest->sq[p.a.qpn]), 0);
	assert_int_equal(engine_loop_next(p.engine->loop), RNR_NS);

	engine_loop_advance(p.engine->loop, RNR_NS - 1);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	/* Without a receive request it waits once more. */
	engine_loop_advance(p.engine->loop, 1);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	assert_int_equal(engine_loop_next(p.engine->loop), RNR_NS);
	eg_recv(&p.b, 2, IN, 5000);
	engine_loop_advance(p.engine->loop, RNR_NS);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, 5000);
	eg_check(p.b.guest, IN, 5000, 1, 0);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/*
 * A peer in memory is woken by the receive request, not by its timer: the guest is asked to
 * say when it posts one, and not any more once it has.
 */
static void test_rnr_ends_by_request(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *rq = &p.b.guest->rq[p.b.qpn];
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		assert_false(eg_wants_kick(rq));
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		eg_expect_none(&p.a);
		assert_true(eg_wants_kick(rq));
		assert_false(rnic_sleep(p.a.guest->rnic));
		assert_false(rnic_sleep(p.b.guest->rnic));
		eg_recv(&p.b, 2, IN, 4);
		rnic_wake(p.a.guest->rnic);
		rnic_wake(p.b.guest->rnic);
		rnic_queue_kick(p.b.guest->rnic, RNIC_RQ, p.b.qpn);
		eg_run(p.engine);
		eg_expect_sent(&p, 1);
		eg_expect_received(&p, 2, 4);
		assert_int_equal(engine_loop_timers(p.engine->loop), 0);
		assert_int_equal(eg_count(p.a.guest, VIRTIO_RDMA_CNT_RCVD_RNR), i + 1);
	}
}

static void test_rnr_exhausted(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	uint32_t i;

	eg_post_send(&p.a, &wr);
	wr.wr_id = 2;
	eg_post_send(&p.a, &wr);
	/* Sent once and three times again, as rnr_retry says. */
	for (i = 0; i < 3; i++) {
		eg_run(p.engine);
		eg_expect_none(&p.a);
		assert_int_equal(engine_loop_next(p.engine->loop), RNR_NS);
		engine_loop_advance(p.engine->loop, RNR_NS);
	}
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_RNR_RETRY_EXC_ERR);
	eg_expect(&p.a, 2, FLUSH);
	eg_expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_RTS);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

static struct eg_pair pair_with(void **state, uint8_t rnr_timer,
				uint8_t rnr_retry, uint8_t timeout,
				uint8_t retry_cnt)
{
	struct engine *engine = *state;
	struct eg_pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], RC),
		.b = eg_open(&engine->guest[1], RC),
	};
	struct virtio_rdma_cmd_modify_qp req;

	eg_to(&p.a, RC, VIRTIO_IB_QPS_INIT, &p.b);
	eg_to(&p.b, RC, VIRTIO_IB_QPS_INIT, &p.a);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_RTR, &p.b);
	req = eg_modify_req(p.b.qpn, RC, VIRTIO_IB_QPS_RTR, p.a.guest, p.a.qpn);
	req.min_rnr_timer = rnr_timer;
	assert_int_equal(eg_modify(p.b.guest, &req), VIRTIO_NET_OK);
	req = eg_modify_req(p.a.qpn, RC, VIRTIO_IB_QPS_RTS, p.b.guest, p.b.qpn);
	req.rnr_retry = rnr_retry;
	req.timeout = timeout;
	req.retry_cnt = retry_cnt;
	assert_int_equal(eg_modify(p.a.guest, &req), VIRTIO_NET_OK);
	return p;
}

static void test_rnr_for_ever(void **state)
{
	struct eg_pair p = pair_with(state, 12, 7, 10, 2);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	uint32_t i;

	eg_post_send(&p.a, &wr);
	for (i = 0; i < 100; i++) {
		eg_run(p.engine);
		engine_loop_advance(p.engine->loop, RNR_NS);
	}
	eg_expect_none(&p.a);
	eg_recv(&p.b, 2, IN, 4);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, 4);
}

static void test_rnr_no_retry(void **state)
{
	struct eg_pair p = pair_with(state, 12, 0, 10, 2);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);

	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_RNR_RETRY_EXC_ERR);
}

/* Progress resets the retry counter. */
static void test_rnr_count_starts_again(void **state)
{
	struct eg_pair p = pair_with(state, 12, 1, 10, 2);
	struct eg_wr wr;
	uint32_t i;

	for (i = 0; i < 5; i++) {
		wr = eg_send(&p.a, i, 0, 4);
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		eg_expect_none(&p.a);
		eg_recv(&p.b, i, IN, 4);
		engine_loop_advance(p.engine->loop, RNR_NS);
		eg_run(p.engine);
		eg_expect_sent(&p, i);
		eg_expect_received(&p, i, 4);
	}
}

/* The delays of the InfiniBand specification, in µs. */
static void test_rnr_timer_codes(void **state)
{
	static const uint32_t us[32] = {
		655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640,
		960, 1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480,
		30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680,
		491520,
	};
	struct eg_pair p = pair_with(state, 0, 7, 10, 2);
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(p.b.qpn, RC, VIRTIO_IB_QPS_RTS, p.a.guest,
			      p.a.qpn);
	struct eg_wr wr;
	uint32_t code;

	assert_int_equal(eg_modify(p.b.guest, &req), VIRTIO_NET_OK);
	for (code = 0; code < 32; code++) {
		req.attr_mask = htole32(VIRTIO_IB_QP_STATE |
					VIRTIO_IB_QP_MIN_RNR_TIMER);
		req.min_rnr_timer = code;
		assert_int_equal(eg_modify(p.b.guest, &req), VIRTIO_NET_OK);
		wr = eg_send(&p.a, code, 0, 4);
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		assert_int_equal(engine_loop_next(p.engine->loop),
				 us[code] * 1000ull);
		eg_recv(&p.b, code, IN, 4);
		engine_loop_advance(p.engine->loop, us[code] * 1000ull);
		eg_run(p.engine);
		eg_expect_sent(&p, code);
		eg_expect_received(&p, code, 4);
	}
}

/* ------------------------------------------------------------------------- */
/* A peer that does not answer                                               */
/* ------------------------------------------------------------------------- */

static void expect_retry_exceeded(const struct eg_pair *p)
{
	struct eg_wr wr = eg_send(&p->a, 1, 0, 4);
	uint32_t i;

	eg_post_send(&p->a, &wr);
	wr.wr_id = 2;
	eg_post_send(&p->a, &wr);
	/* Sent once and twice again, as retry_cnt says. */
	for (i = 0; i < 3; i++) {
		eg_run(p->engine);
		eg_expect_none(&p->a);
		assert_int_equal(engine_loop_next(p->engine->loop), eg_ack_ns(i));
		engine_loop_advance(p->engine->loop, eg_ack_ns(i));
	}
	eg_run(p->engine);
	eg_expect(&p->a, 1, VIRTIO_IB_WC_RETRY_EXC_ERR);
	eg_expect(&p->a, 2, FLUSH);
	eg_expect_none(&p->a);
	assert_int_equal(eg_state(p->a.guest, p->a.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(engine_loop_timers(p->engine->loop), 0);
}

static void test_peer_absent(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	eg_recv(&p.b, 1, IN, 4);
	eg_destroy_qp(p.b.guest, p.b.qpn);
	expect_retry_exceeded(&p);
}

static void test_peer_in_error(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	eg_to(&p.b, RC, VIRTIO_IB_QPS_ERR, &p.a);
	expect_retry_exceeded(&p);
}

static void test_peer_guest_gone(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	eg_reset(p.b.guest);
	expect_retry_exceeded(&p);
}

static void test_peer_connected_elsewhere(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_pair q = p;

	/* Another QP that has the same peer. */
	q.a.cqn = eg_create_cq(q.a.guest);
	q.a.qpn = eg_create_qp(q.a.guest, RC, q.a.pdn, q.a.cqn);
	eg_to(&q.a, RC, VIRTIO_IB_QPS_INIT, &p.b);
	eg_to(&q.a, RC, VIRTIO_IB_QPS_RTR, &p.b);
	eg_to(&q.a, RC, VIRTIO_IB_QPS_RTS, &p.b);
	eg_recv(&p.b, 1, IN, 4);
	expect_retry_exceeded(&q);
	eg_expect_none(&p.b);
	eg_expect_states(&p, VIRTIO_IB_QPS_RTS, VIRTIO_IB_QPS_RTS);
}

static void test_source_gid_removed(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	__le16 index = 0;

	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_DEL_GID,
				    &index, 2, NULL, 0), VIRTIO_NET_OK);
	/* Requests arrive, but no answer comes back. */
	eg_recv(&p.b, 1, IN, 4);
	expect_retry_exceeded(&p);
}

/* A guest that changes its MAC address moves its GIDs to other indices. */
static void test_source_gid_moves(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct virtio_rdma_cmd_add_gid gid = { .index = htole16(5) };
	__le16 index = 0;

	eg_gid(p.a.guest, gid.gid);
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_DEL_GID,
				    &index, 2, NULL, 0), VIRTIO_NET_OK);
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_ADD_GID,
				    &gid, sizeof(gid), NULL, 0),
			 VIRTIO_NET_OK);
	eg_expect_works(&p);
}

static void gid(const struct eg_guest *guest, uint16_t index,
		const struct eg_guest *whose)
{
	struct virtio_rdma_cmd_add_gid add = { .index = htole16(index) };
	__le16 del = htole16(index);
	struct eg_guest *g = (struct eg_guest *)guest;

	if (!whose) {
		assert_int_equal(eg_command(g, VIRTIO_NET_CTRL_ROCE_DEL_GID,
					    &del, 2, NULL, 0), VIRTIO_NET_OK);
		return;
	}
	eg_gid(whose, add.gid);
	assert_int_equal(eg_command(g, VIRTIO_NET_CTRL_ROCE_ADD_GID, &add,
				    sizeof(add), NULL, 0), VIRTIO_NET_OK);
}

static void test_peer_gid_removed(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	eg_expect_works(&p);
	gid(p.b.guest, 0, NULL);
	eg_recv(&p.b, 1, IN, 4);
	expect_retry_exceeded(&p);
	eg_expect_none(&p.b);
}

/* The peer's address moves to a guest where another QP has its QPN. */
static void test_peer_gid_moves(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);

	eg_expect_works(&p);
	gid(p.b.guest, 0, NULL);
	gid(p.a.guest, 1, p.b.guest);
	eg_recv(&p.a, 9, IN, 4);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	/* It moves back before the retries run out. */
	gid(p.a.guest, 1, NULL);
	gid(p.b.guest, 0, p.b.guest);
	eg_recv(&p.b, 2, IN, 4);
	engine_loop_advance(p.engine->loop, TIMEOUT_NS);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, 4);
}

static void test_peer_type_differs(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], RC),
		.b = eg_open(&engine->guest[1], VIRTIO_IB_QPT_UC),
	};

	eg_to(&p.b, VIRTIO_IB_QPT_UC, VIRTIO_IB_QPS_INIT, &p.a);
	eg_to(&p.b, VIRTIO_IB_QPT_UC, VIRTIO_IB_QPS_RTR, &p.a);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_INIT, &p.b);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_RTR, &p.b);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_RTS, &p.b);
	eg_recv(&p.b, 1, IN, 4);
	expect_retry_exceeded(&p);
	eg_expect_none(&p.b);
}

static void test_peer_comes_late(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], RC),
		.b = eg_open(&engine->guest[1], RC),
	};
	struct eg_wr wr = eg_send(&p.a, 1, 0, 5000);

	eg_to(&p.a, RC, VIRTIO_IB_QPS_INIT, &p.b);
	eg_to(&p.b, RC, VIRTIO_IB_QPS_INIT, &p.a);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_RTR, &p.b);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_RTS, &p.b);
	eg_fill(p.a.guest, 0, 5000, 2);
	eg_recv(&p.b, 2, IN, 5000);
	eg_post_send(&p.a, &wr);
	eg_run(engine);
	eg_expect_none(&p.b);
	eg_to(&p.b, RC, VIRTIO_IB_QPS_RTR, &p.a);
	eg_run(engine);
	eg_expect_none(&p.b);
	engine_loop_advance(engine->loop, TIMEOUT_NS);
	eg_run(engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, 5000);
	eg_check(p.b.guest, IN, 5000, 2, 0);
	assert_int_equal(engine_loop_timers(engine->loop), 0);
}

/* The ACK timer is set to these, the first time and for each retry. */
static void expect_timeouts(void **state, uint8_t timeout, const uint8_t shift[8])
{
	struct eg_pair p = pair_with(state, 12, 7, timeout, 7);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	uint32_t i;

	eg_destroy_qp(p.b.guest, p.b.qpn);
	eg_post_send(&p.a, &wr);
	for (i = 0; i < 8; i++) {
		eg_run(p.engine);
		eg_expect_none(&p.a);
		assert_int_equal(engine_loop_next(p.engine->loop), 4096ull << shift[i]);
		engine_loop_advance(p.engine->loop, 4096ull << shift[i]);
	}
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_RETRY_EXC_ERR);
}

/* A short one doubles twice, as far as a long one, which stays as it is. */
static void test_timeout_doubles(void **state)
{
	expect_timeouts(state, 14, (const uint8_t[8]) { 14, 15, 16, 16, 16, 16, 16, 16 });
}

static void test_timeout_doubles_once(void **state)
{
	expect_timeouts(state, 15, (const uint8_t[8]) { 15, 16, 16, 16, 16, 16, 16, 16 });
}

static void test_timeout_shortest(void **state)
{
	expect_timeouts(state, 1, (const uint8_t[8]) { 1, 2, 3, 3, 3, 3, 3, 3 });
}

static void test_timeout_long(void **state)
{
	expect_timeouts(state, 16, (const uint8_t[8]) { 16, 16, 16, 16, 16, 16, 16, 16 });
}

/* Progress makes it short again. */
static void test_timeout_after_progress(void **state)
{
	struct eg_pair p = pair_with(state, 12, 7, 14, 7);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	uint32_t i;

	for (i = 0; i < 2; i++) {
		gid(p.b.guest, 0, NULL);
		wr.wr_id = i;
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		assert_int_equal(engine_loop_next(p.engine->loop), 4096ull << 14);
		engine_loop_advance(p.engine->loop, 4096ull << 14);
		eg_run(p.engine);
		assert_int_equal(engine_loop_next(p.engine->loop), 4096ull << 15);
		gid(p.b.guest, 0, p.b.guest);
		eg_recv(&p.b, i, IN, 4);
		engine_loop_advance(p.engine->loop, 4096ull << 15);
		eg_run(p.engine);
		eg_expect_sent(&p, i);
		eg_expect_received(&p, i, 4);
	}
}

static void test_timeout_never(void **state)
{
	struct eg_pair p = pair_with(state, 12, 7, 0, 2);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);

	eg_destroy_qp(p.b.guest, p.b.qpn);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
	engine_loop_advance(p.engine->loop, 1000000000000ull);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	assert_int_equal(eg_state(p.a.guest, p.a.qpn), VIRTIO_IB_QPS_RTS);
}

static void test_timeout_longest(void **state)
{
	struct eg_pair p = pair_with(state, 12, 7, 31, 7);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);

	eg_destroy_qp(p.b.guest, p.b.qpn);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(engine_loop_next(p.engine->loop), 4096ull << 31);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_rnr_then_success),
		T(test_rnr_ends_by_request),
		T(test_rnr_exhausted),
		T(test_rnr_for_ever),
		T(test_rnr_no_retry),
		T(test_rnr_count_starts_again),
		T(test_rnr_timer_codes),
		T(test_peer_absent),
		T(test_peer_in_error),
		T(test_peer_guest_gone),
		T(test_peer_connected_elsewhere),
		T(test_source_gid_removed),
		T(test_source_gid_moves),
		T(test_peer_gid_removed),
		T(test_peer_gid_moves),
		T(test_peer_type_differs),
		T(test_peer_comes_late),
		T(test_timeout_doubles),
		T(test_timeout_doubles_once),
		T(test_timeout_shortest),
		T(test_timeout_long),
		T(test_timeout_after_progress),
		T(test_timeout_never),
		T(test_timeout_longest),
	};

	return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
