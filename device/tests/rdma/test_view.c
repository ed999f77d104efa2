// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The operator's view of the QPs of a NIC.
 */
#include "tests/lib/engine_guest.h"
#include "base/util.h"
#include "rdma/view.h"

#define RC	VIRTIO_IB_QPT_RC
#define RNR_NS	640000ull
#define ACK_NS	(4096ull << 10)

static struct qp_view view_of(const struct eg_end *end)
{
	struct qp_view view;

	assert_true(rnic_view_next(end->guest->rnic, end->qpn, &view));
	assert_int_equal(view.qpn, end->qpn);
	return view;
}

static void expect(const struct eg_end *end, const char *state, const char *waits)
{
	struct qp_view view = view_of(end);

	assert_string_equal(view.state, state);
	assert_string_equal(view.waits, waits);
}

static void test_peers(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct qp_view a = view_of(&p.a), b = view_of(&p.b);
	uint8_t gid[GID_SIZE];

	eg_gid(p.b.guest, gid);
	assert_string_equal(a.type, "RC");
	assert_string_equal(a.state, "RTS");
	assert_string_equal(a.peer, "guest2");
	assert_memory_equal(a.peer_gid, gid, sizeof(gid));
	assert_int_equal(a.peer_qpn, p.b.qpn);
	assert_string_equal(b.peer, "guest1");
	assert_int_equal(b.peer_qpn, p.a.qpn);
	/* It is the only one. */
	assert_false(rnic_view_next(p.a.guest->rnic, p.a.qpn + 1, &a));
	assert_true(rnic_view_next(p.a.guest->rnic, 0, &a));
	assert_int_equal(a.qpn, p.a.qpn);
}

static void test_no_peer(void **state)
{
	struct engine *engine = *state;
	struct eg_end reset = eg_open(&engine->guest[0], RC);
	struct eg_end ud = eg_open(&engine->guest[1], VIRTIO_IB_QPT_UD);
	struct qp_view view = view_of(&reset);

	assert_string_equal(view.state, "RESET");
	assert_string_equal(view.peer, "-");
	assert_null(view.peer_gid);
	eg_to(&ud, VIRTIO_IB_QPT_UD, VIRTIO_IB_QPS_INIT, &ud);
	eg_to(&ud, VIRTIO_IB_QPT_UD, VIRTIO_IB_QPS_RTR, &ud);
	view = view_of(&ud);
	assert_string_equal(view.type, "UD");
	assert_string_equal(view.peer, "-");
}

/* Each QP has what it did itself, and together they have what the NIC did. */
static void test_counters(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 5000);
	const uint64_t *a, *b;
	unsigned int i;

	eg_recv(&p.b, 2, EG_IN, 5000);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	a = view_of(&p.a).counter;
	b = view_of(&p.b).counter;
	assert_int_equal(a[VIRTIO_RDMA_CNT_SENDS], 1);
	assert_int_equal(a[VIRTIO_RDMA_CNT_SENT_BYTES], 5000);
	assert_int_equal(b[VIRTIO_RDMA_CNT_RCVD_BYTES], 5000);
	assert_int_equal(b[VIRTIO_RDMA_CNT_RECVS], 1);
	assert_int_equal(b[VIRTIO_RDMA_CNT_SENDS], 0);
	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++) {
		assert_int_equal(a[i], rnic_counters(p.a.guest->rnic)[i]);
		assert_int_equal(b[i], rnic_counters(p.b.guest->rnic)[i]);
	}
}

static void test_waits_for_receive(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 5000);

	expect(&p.a, "RTS", "-");
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	expect(&p.a, "RTS", "peer's receive");
	assert_int_equal(view_of(&p.a).requests, 1);
	assert_int_equal(view_of(&p.a).counter[VIRTIO_RDMA_CNT_RCVD_RNR], 1);
	expect(&p.b, "RTS", "-");
	eg_recv(&p.b, 2, EG_IN, 5000);
	engine_loop_advance(p.engine->loop, RNR_NS);
	eg_run(p.engine);
	expect(&p.a, "RTS", "-");
	assert_int_equal(view_of(&p.a).requests, 0);
}

/* The peer's guest is paused: its queues are not there. */
static void test_waits_for_guest(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 100);

	rnic_queue_stop(p.b.guest->rnic, RNIC_RQ, p.b.qpn);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	expect(&p.a, "RTS", "answer");
	expect(&p.b, "RTS", "guest");
	engine_loop_advance(p.engine->loop, ACK_NS);
	eg_run(p.engine);
	expect(&p.a, "RTS", "answer again");
	assert_int_equal(view_of(&p.a).counter[VIRTIO_RDMA_CNT_RETRY], 1);
}

static void test_waits_for_poll(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	unsigned int i;

	for (i = 0; i < EG_QUEUE + 1; i++) {
		struct eg_wr wr = eg_send(&p.a, i, 0, 0);

		eg_recv(&p.b, i, EG_IN, 0);
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
	}
	expect(&p.a, "RTS", "poll");
	eg_expect_sent(&p, 0);
	engine_loop_advance(p.engine->loop, 10000000);
	expect(&p.a, "RTS", "-");
}

#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_peers),
		T(test_no_peer),
		T(test_counters),
		T(test_waits_for_receive),
		T(test_waits_for_guest),
		cmocka_unit_test_setup_teardown(test_waits_for_poll, eg_setup_hold,
						eg_teardown),
	};

	return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
