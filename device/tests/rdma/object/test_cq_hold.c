// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues larger than their virtqueue: completions without a slot.
 *
 * A CQ here has EG_QUEUE slots and holds EG_CQE completions.
 */
/*
 * The held completions are nobody else's business: the test includes cq.c.  First, for
 * cmocka has a macro fail().
 */
#include "rdma/object/cq.c"

#include "rdma/rnic_priv.h"
#include "tests/lib/engine_guest.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN
#define MS	(1000 * 1000ULL)

#define SOLICITED	VIRTIO_IB_NOTIFY_SOLICITED
#define NEXT		VIRTIO_IB_NOTIFY_NEXT_COMPLETION

static void arm(const struct eg_end *end, uint32_t flags)
{
	struct virtio_rdma_cmd_req_notify req = {
		.cqn = htole32(end->cqn),
		.flags = htole32(flags),
	};

	assert_int_equal(eg_command(end->guest,
				    VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ, &req,
				    sizeof(req), NULL, 0), VIRTIO_NET_OK);
}

static unsigned int calls(const struct eg_end *end)
{
	return end->guest->cq[end->cqn].calls;
}

static unsigned int timers(const struct eg_pair *p)
{
	return engine_loop_timers(p->engine->loop);
}

static void receive(const struct eg_pair *p, uint64_t wr_id, uint8_t flags)
{
	struct eg_wr wr = eg_send(&p->a, wr_id, 0, 4);

	wr.flags = flags;
	eg_recv(&p->b, wr_id, IN, 4);
	eg_post_send(&p->a, &wr);
	eg_run(p->engine);
}

/* Completions first … last - 1 in b's CQ. */
static void fill(const struct eg_pair *p, uint32_t first, uint32_t last)
{
	for (; first < last; first++)
		receive(p, first, 0);
}

/* These completions are there, in this order, without waiting. */
static void expect(const struct eg_pair *p, uint32_t first, uint32_t last)
{
	for (; first < last; first++)
		eg_expect(&p->b, first, OK);
}

/* These completions come with time. */
static void expect_later(const struct eg_pair *p, uint32_t first, uint32_t last)
{
	struct eg_wc wc;

	while (first < last) {
		if (!eg_poll(&p->b, &wc)) {
			engine_loop_advance(p->engine->loop, 10 * MS);
			assert_true(eg_poll(&p->b, &wc));
		}
		assert_int_equal(wc.wr_id, first++);
		assert_int_equal(wc.status, OK);
	}
	engine_loop_advance(p->engine->loop, 20 * MS);
	eg_expect_none(&p->b);
	assert_int_equal(timers(p), 0);
}

static void destroy_cq(struct eg_guest *guest, uint32_t cqn)
{
	__le32 req = htole32(cqn);

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_DESTROY_CQ,
				    &req, sizeof(req), NULL, 0), VIRTIO_NET_OK);
}

/* ------------------------------------------------------------------------- */
/* Order and bounds                                                          */
/* ------------------------------------------------------------------------- */

static void test_in_order(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, 3 * EG_QUEUE + 5);
	assert_int_equal(eg_used(&p.b.guest->cq[p.b.cqn]), EG_QUEUE);
	assert_int_equal(timers(&p), 1);
	expect_later(&p, 0, 3 * EG_QUEUE + 5);
	/* The CQ works as before. */
	receive(&p, 7, 0);
	eg_expect(&p.b, 7, OK);
}

/* A completion that finds a free slot does not overtake those that are held. */
static void test_no_overtaking(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, EG_QUEUE + 20);
	expect(&p, 0, 10);
	fill(&p, EG_QUEUE + 20, EG_QUEUE + 21);
	expect(&p, 10, EG_QUEUE + 10);
	eg_expect_none(&p.b);
	expect_later(&p, EG_QUEUE + 10, EG_QUEUE + 21);
}

static void test_full_is_not_overrun(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, EG_CQE);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);
	expect_later(&p, 0, EG_CQE);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);
}

static void test_overrun(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, EG_CQE + 1);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(p.b.guest->rnic->cqs.held, 0);
	assert_int_equal(timers(&p), 0);
	/* Completions in slots are valid; nothing follows them. */
	expect(&p, 0, EG_QUEUE);
	engine_loop_advance(p.engine->loop, 20 * MS);
	arm(&p.b, NEXT);
	eg_expect_none(&p.b);
}

/* All CQs of a guest together hold a bounded number of completions. */
static void test_bound_of_guest(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	/* It sets what no state of a guest has. */
	eg_cycle_off = true;
	p.b.guest->rnic->cqs.held = RNIC_HELD_MAX - 3;
	fill(&p, 0, EG_QUEUE + 3);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);
	fill(&p, EG_QUEUE + 3, EG_QUEUE + 4);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(p.b.guest->rnic->cqs.held, RNIC_HELD_MAX - 3);
}

/* A CQ holds EG_CQE completions, slots included, however few were asked for. */
static void test_depths(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_create_cq req = { .cqe = htole32(EG_CQE) };
	struct virtio_rdma_ack_create_cq ack;
	struct eg_guest *guest = &engine->guest[0];

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_CQ, &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	assert_int_equal(cq_get(&guest->rnic->cqs, le32toh(ack.cqn))->held_max,
			 EG_CQE - EG_QUEUE);
	req.cqe = htole32(5);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_CQ, &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	assert_int_equal(cq_get(&guest->rnic->cqs, le32toh(ack.cqn))->held_max,
			 EG_CQE - 5);
	req.cqe = htole32(EG_CQE + 1);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_CQ, &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_ERR);
}

/* The timer fires less and less often for a guest that does not read. */
static void test_timer(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	uint64_t wait, last = 0;
	int i;

	fill(&p, 0, 2 * EG_QUEUE);
	for (i = 0; i < 20; i++) {
		wait = engine_loop_next(p.engine->loop);
		assert_in_range(wait, MS / 10, 10 * MS);
		assert_true(wait >= last);
		last = wait;
		engine_loop_advance(p.engine->loop, wait);
	}
	assert_int_equal(last, 10 * MS);
	/* Once the guest reads, the timer is quick again. */
	expect(&p, 0, EG_QUEUE / 2);
	engine_loop_advance(p.engine->loop, 10 * MS);
	assert_true(engine_loop_next(p.engine->loop) < MS);
	expect_later(&p, EG_QUEUE / 2, 2 * EG_QUEUE);
}

/* ------------------------------------------------------------------------- */
/* Arming                                                                    */
/* ------------------------------------------------------------------------- */

/* A guest that reads all it sees and arms the CQ then sees what was held. */
static void test_arming_delivers(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, EG_QUEUE + 20);
	expect(&p, 0, EG_QUEUE);
	eg_expect_none(&p.b);
	arm(&p.b, NEXT);
	/* The CQ was armed before they came into slots. */
	assert_int_equal(calls(&p.b), 1);
	expect(&p, EG_QUEUE, EG_QUEUE + 20);
	assert_int_equal(timers(&p), 0);
	fill(&p, 0, 1);
	assert_int_equal(calls(&p.b), 1);
}

/*
 * A held completion raises an interrupt though the guest has not read.  If it has read
 * since, it gets another one when there is something to see.
 */
static void test_held_raises(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, EG_QUEUE);
	arm(&p.b, SOLICITED);
	fill(&p, EG_QUEUE, EG_QUEUE + 1);
	assert_int_equal(calls(&p.b), 0);
	receive(&p, EG_QUEUE + 1, VIRTIO_IB_SEND_SOLICITED);
	assert_int_equal(calls(&p.b), 1);
	receive(&p, EG_QUEUE + 2, VIRTIO_IB_SEND_SOLICITED);
	assert_int_equal(calls(&p.b), 1);
	expect(&p, 0, 1);
	engine_loop_advance(p.engine->loop, 10 * MS);
	assert_int_equal(calls(&p.b), 1);
	expect(&p, 1, 2);
	engine_loop_advance(p.engine->loop, 10 * MS);
	assert_int_equal(calls(&p.b), 2);
	/* This arming causes no more interrupts. */
	expect_later(&p, 2, EG_QUEUE + 3);
	assert_int_equal(calls(&p.b), 2);
}

/* If the CQ is armed again, the next completion that is held raises again. */
static void test_held_raises_again(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	uint32_t i;

	fill(&p, 0, EG_QUEUE);
	for (i = 0; i < 3; i++) {
		arm(&p.b, NEXT);
		fill(&p, EG_QUEUE + 2 * i, EG_QUEUE + 2 * i + 2);
		assert_int_equal(calls(&p.b), i + 1);
	}
	expect(&p, 0, EG_QUEUE);
	arm(&p.b, NEXT);
	assert_int_equal(calls(&p.b), 4);
	expect(&p, EG_QUEUE, EG_QUEUE + 6);
}

/* Armed while a completion is held: it raises when it comes into a slot. */
static void test_moved_raises(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, EG_QUEUE + 1);
	arm(&p.b, NEXT);
	assert_int_equal(calls(&p.b), 0);
	expect(&p, 0, EG_QUEUE);
	eg_expect_none(&p.b);
	engine_loop_advance(p.engine->loop, 10 * MS);
	assert_int_equal(calls(&p.b), 1);
	expect(&p, EG_QUEUE, EG_QUEUE + 1);
}

static void test_moved_raises_if_solicited(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, EG_QUEUE + 1);
	receive(&p, EG_QUEUE + 1, VIRTIO_IB_SEND_SOLICITED);
	arm(&p.b, SOLICITED);
	expect(&p, 0, 1);
	engine_loop_advance(p.engine->loop, 10 * MS);
	assert_int_equal(calls(&p.b), 0);
	expect(&p, 1, 2);
	engine_loop_advance(p.engine->loop, 10 * MS);
	assert_int_equal(calls(&p.b), 1);
	expect(&p, 2, EG_QUEUE + 2);
}

/* ------------------------------------------------------------------------- */
/* What becomes of held completions                                          */
/* ------------------------------------------------------------------------- */

/* One of two QPs on a CQ goes; held completions of the other stay, in order. */
static void one_of_two_goes(void **state, void (*go)(struct eg_end *end))
{
	struct engine *engine = *state;
	struct eg_pair p = eg_pair_up(state, RC), other = { .engine = engine };
	uint32_t i;

	other.a = p.a;
	other.b = p.b;
	other.a.qpn = eg_create_qp(p.a.guest, RC, p.a.pdn, p.a.cqn);
	other.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_connect(&other.a, &other.b, RC);
	fill(&p, 0, EG_QUEUE);
	for (i = 0; i < 20; i++) {
		receive(&other, 1000 + i, 0);
		receive(&p, EG_QUEUE + i, 0);
	}
	assert_int_equal(p.b.guest->rnic->cqs.held, 40);
	go(&other.b);
	assert_int_equal(p.b.guest->rnic->cqs.held, 20);
	expect_later(&p, 0, EG_QUEUE + 20);
	assert_int_equal(p.b.guest->rnic->cqs.held, 0);
}

static void destroy(struct eg_end *end)
{
	eg_destroy_qp(end->guest, end->qpn);
}

static void reset(struct eg_end *end)
{
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(end->qpn, RC, VIRTIO_IB_QPS_RESET,
			      end->guest, 0);

	assert_int_equal(eg_modify(end->guest, &req), VIRTIO_NET_OK);
}

static void test_destroyed_qp(void **state)
{
	one_of_two_goes(state, destroy);
}

static void test_reset_qp(void **state)
{
	one_of_two_goes(state, reset);
}

/*
 * The completions of one QP do not cost another one anything.  All that are held look as
 * if they were of the QP that goes: a walk along them would take them away.
 */
static void others_are_not_looked_at(void **state, void (*go)(struct eg_end *end))
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_end other = p.b;
	struct cq_held *held;

	other.qpn = eg_create_qp(other.guest, RC, other.pdn, other.cqn);
	fill(&p, 0, EG_QUEUE + 100);
	TAILQ_FOREACH(held, &cq_get(&other.guest->rnic->cqs, other.cqn)->held, entry)
		held->wc.qp_num = htole32(other.qpn);
	go(&other);
	assert_int_equal(other.guest->rnic->cqs.held, 100);
}

static void test_reset_looks_at_its_own(void **state)
{
	others_are_not_looked_at(state, reset);
}

static void test_destroy_looks_at_its_own(void **state)
{
	others_are_not_looked_at(state, destroy);
}

/* Slots in many pieces take long to find: not all are filled at once. */
static void test_slots_of_many_pieces(void **state)
{
	enum { AT_ONCE = VIRTQ_SIZE_MAX / EG_QUEUE };
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *ring = &p.b.guest->cq[p.b.cqn];
	unsigned int i;

	fill(&p, 0, 2 * EG_QUEUE);
	assert_int_equal(eg_used(ring), EG_QUEUE);
	for (i = 0; i < EG_QUEUE; i++) {
		ring->vq.desc[i].flags = htole16(VRING_DESC_F_WRITE |
						 (i + 1 < EG_QUEUE ?
						  VRING_DESC_F_NEXT : 0));
		ring->vq.desc[i].next = htole16(i + 1);
		ring->vq.avail->ring[i] = htole16(0);
	}
	ring->vq.avail->idx = htole16(2 * EG_QUEUE);
	arm(&p.b, NEXT);
	assert_int_equal(eg_used(ring), EG_QUEUE + AT_ONCE);
	/* The others do not wait for long. */
	for (i = 2; i <= EG_QUEUE / AT_ONCE; i++) {
		engine_loop_advance(p.engine->loop, MS / 10);
		assert_int_equal(eg_used(ring), EG_QUEUE + i * AT_ONCE);
	}
	assert_int_equal(p.b.guest->rnic->cqs.held, 0);
}

/* All held completions go with their QP: no timer is left. */
static void test_all_of_a_qp(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, 2 * EG_QUEUE);
	reset(&p.b);
	assert_int_equal(timers(&p), 0);
	assert_int_equal(p.b.guest->rnic->cqs.held, 0);
	eg_destroy_qp(p.b.guest, p.b.qpn);
	destroy_cq(p.b.guest, p.b.cqn);
}

/* The memory of many goes back bit by bit, and counts until then. */
static void test_many_of_a_qp(void **state)
{
	enum { MANY = 3 * CQ_FREE_MAX };
	struct eg_pair p = eg_pair_up(state, RC);
	struct cq_table *cqs = &p.b.guest->rnic->cqs;

	/* It sets what no state of a guest has. */
	eg_cycle_off = true;
	cq_get(cqs, p.b.cqn)->held_max = MANY;
	fill(&p, 0, EG_QUEUE + MANY);
	assert_int_equal(cqs->held, MANY);
	reset(&p.b);
	assert_int_equal(cqs->held, 0);
	assert_int_equal(cqs->dropped_n, MANY - CQ_FREE_MAX);
	eg_destroy_qp(p.b.guest, p.b.qpn);
	destroy_cq(p.b.guest, p.b.cqn);
	engine_loop_advance(p.engine->loop, CQ_FREE_WAIT);
	assert_int_equal(cqs->dropped_n, MANY - 2 * CQ_FREE_MAX);
	engine_loop_advance(p.engine->loop, CQ_FREE_WAIT);
	assert_int_equal(cqs->dropped_n, 0);
	assert_int_equal(timers(&p), 0);
}

/* A completion that stands behind many of a QP that goes does not wait for long. */
static void test_behind_many(void **state)
{
	enum { MANY = 20 * CQ_FILL_PIECES };
	struct eg_pair p = eg_pair_up(state, RC), other = p;
	struct cq_table *cqs = &p.b.guest->rnic->cqs;
	uint32_t i;

	/* It sets what no state of a guest has. */
	eg_cycle_off = true;
	other.a.qpn = eg_create_qp(p.a.guest, RC, p.a.pdn, p.a.cqn);
	other.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_connect(&other.a, &other.b, RC);
	cq_get(cqs, p.b.cqn)->held_max = MANY + 1;
	fill(&p, 0, EG_QUEUE);
	fill(&other, 1000, 1000 + MANY);
	receive(&p, EG_QUEUE, 0);
	destroy(&other.b);
	assert_int_equal(cqs->held, 1);
	assert_int_equal(cqs->dropped_n, MANY);
	expect(&p, 0, EG_QUEUE);
	for (i = 0; i <= MANY / CQ_FILL_PIECES; i++)
		engine_loop_advance(p.engine->loop, HELD_WAIT_MIN);
	expect(&p, EG_QUEUE, EG_QUEUE + 1);
	assert_int_equal(cqs->held + cqs->dropped_n, 0);
	assert_int_equal(timers(&p), 0);
}

/* The same of a guest that leaves meanwhile: the sanitizer would find what is left. */
static void test_many_and_gone(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct cq_table *cqs = &p.b.guest->rnic->cqs;

	/* It sets what no state of a guest has. */
	eg_cycle_off = true;
	cq_get(cqs, p.b.cqn)->held_max = 2 * CQ_FREE_MAX;
	fill(&p, 0, EG_QUEUE + 2 * CQ_FREE_MAX);
	eg_reset(p.b.guest);
	assert_int_equal(cqs->dropped_n, CQ_FREE_MAX);
}

/* A new CQ of the same number has no completions of the old one. */
static void test_recreated(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, 2 * EG_QUEUE);
	eg_destroy_qp(p.b.guest, p.b.qpn);
	eg_destroy_qp(p.a.guest, p.a.qpn);
	destroy_cq(p.b.guest, p.b.cqn);
	assert_int_equal(timers(&p), 0);
	eg_ring_reset(&p.b.guest->cq[p.b.cqn]);
	assert_int_equal(eg_create_cq(p.b.guest), p.b.cqn);
	p.a.qpn = eg_create_qp(p.a.guest, RC, p.a.pdn, p.a.cqn);
	p.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_connect(&p.a, &p.b, RC);
	fill(&p, 500, 502);
	expect_later(&p, 500, 502);
}

static void test_function_reset(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	fill(&p, 0, 2 * EG_QUEUE);
	eg_reset(p.b.guest);
	assert_int_equal(p.b.guest->rnic->cqs.held, 0);
	assert_int_equal(timers(&p), 0);
}

/* As when the virtual machine is stopped for a while. */
static void test_stopped_queue(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *ring = &p.b.guest->cq[p.b.cqn];

	fill(&p, 0, EG_QUEUE + 20);
	rnic_queue_stop(p.b.guest->rnic, RNIC_CQ, p.b.cqn);
	expect(&p, 0, EG_QUEUE);
	engine_loop_advance(p.engine->loop, 50 * MS);
	arm(&p.b, NEXT);
	eg_expect_none(&p.b);
	rnic_queue_start(p.b.guest->rnic, RNIC_CQ, p.b.cqn, &ring->vq);
	expect_later(&p, EG_QUEUE, EG_QUEUE + 20);
	assert_int_equal(calls(&p.b), 1);
}

/* A broken ring is found when completions move: the CQ fails, and its QPs. */
static void test_broken_ring(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *ring = &p.b.guest->cq[p.b.cqn];

	fill(&p, 0, EG_QUEUE + 20);
	ring->vq.avail->ring[0] = htole16(EG_QUEUE + 5);
	ring->vq.avail->idx = htole16(EG_QUEUE + 1);
	engine_loop_advance(p.engine->loop, 10 * MS);
	eg_run(p.engine);
	assert_int_equal(eg_used(ring), EG_QUEUE);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(p.b.guest->rnic->cqs.held, 0);
	assert_int_equal(timers(&p), 0);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup_hold, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_in_order),
		T(test_no_overtaking),
		T(test_full_is_not_overrun),
		T(test_overrun),
		T(test_bound_of_guest),
		T(test_depths),
		T(test_timer),
		T(test_arming_delivers),
		T(test_held_raises),
		T(test_held_raises_again),
		T(test_moved_raises),
		T(test_moved_raises_if_solicited),
		T(test_destroyed_qp),
		T(test_reset_qp),
		T(test_reset_looks_at_its_own),
		T(test_destroy_looks_at_its_own),
		T(test_slots_of_many_pieces),
		T(test_all_of_a_qp),
		T(test_many_of_a_qp),
		T(test_behind_many),
		T(test_many_and_gone),
		T(test_recreated),
		T(test_function_reset),
		T(test_stopped_queue),
		T(test_broken_ring),
	};

	return cmocka_run_group_tests_name("cq_hold", tests, NULL, NULL);
}
