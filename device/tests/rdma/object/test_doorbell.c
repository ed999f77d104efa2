// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell pages: when they are looked at, when they are rung, and how much of them is
 * looked at.
 */
#include "tests/lib/engine_ring.h"

#include <stdlib.h>

#include "base/util.h"
#include "rdma/rnic_priv.h"

#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN
#define MS		(1000 * 1000ULL)
#define BITS		VIRTIO_RDMA_DOORBELL_BITS

static struct rnic *rnic_of(const struct er_end *end)
{
	return end->end.guest->rnic;
}

static unsigned int active(const struct er_end *end)
{
	const struct qp *qp;
	unsigned int n = 0;

	TAILQ_FOREACH(qp, &rnic_of(end)->qps.active, entry)
		n++;
	return n;
}

static unsigned int warm(const struct er_end *end)
{
	const struct doorbell *doorbell;
	unsigned int n = 0;

	TAILQ_FOREACH(doorbell, &rnic_of(end)->doorbells.warm, entry)
		n++;
	return n;
}

static void message(struct er_pair *p)
{
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);

	er_recv(&p->b, IN, 4);
	er_post_send(&p->a.qp, &wr);
}

static void expect_message(struct er_pair *p, uint32_t i)
{
	eg_run(p->engine);
	er_expect(&p->a, false, i, 0);
	er_expect(&p->b, true, i, 0);
}

/* Nothing happens for so long that all becomes cold. */
static void cool(struct er_pair *p)
{
	engine_loop_advance(p->engine->loop, 2 * MS);
	eg_run(p->engine);
	assert_int_equal(warm(&p->a), 0);
	assert_int_equal(active(&p->a), 0);
}

/* A page is rung once when it is cold, and not while it is warm. */
static void test_warm_and_cold(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	unsigned int i, n = 0, round;

	for (round = 0; round < 3; round++) {
		cool(p);
		assert_int_not_equal(p->a.page.page->ring_me, 0);
		for (i = 0; i < 10; i++) {
			message(p);
			assert_int_equal(p->a.page.rung, round + 1);
			expect_message(p, n++);
			assert_int_equal(p->a.page.page->ring_me, 0);
			assert_int_equal(warm(&p->a), 1);
		}
	}
	/* A receiver does not ring at all. */
	assert_int_equal(p->b.page.rung, 0);
	assert_int_equal(warm(&p->b), 0);
	er_pair_free(p);
}

/* Is the page asked to ring when the loop goes to sleep? */
static bool sleeps_rung(const struct er_pair *p)
{
	bool rung;

	assert_false(rnic_sleep(rnic_of(&p->a)));
	rung = p->a.page.page->ring_me;
	rnic_wake(rnic_of(&p->a));
	return rung;
}

/*
 * A QP that posts without waiting does not ring, and a timer wakes the loop.  A QP that
 * waits for each message rings.
 */
static void test_stream(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct loop *loop = p->engine->loop;
	unsigned int i, n, timers;

	for (n = 0; n < 8; n++) {
		message(p);
		expect_message(p, n);
		assert_true(sleeps_rung(p));
	}
	timers = engine_loop_timers(loop);
	for (i = 0; i < 8; i++) {
		message(p);
		eg_run(p->engine);
		assert_int_equal(sleeps_rung(p), i < 4);
	}
	assert_int_equal(engine_loop_timers(loop), timers + 1);
	assert_true(engine_loop_next(loop) <= 30 * 1000);
	/* A request that came meanwhile is found without having been announced. */
	assert_false(rnic_sleep(rnic_of(&p->a)));
	i = p->a.page.rung;
	message(p);
	assert_int_equal(p->a.page.rung, i);
	engine_loop_advance(loop, 30 * 1000);
	rnic_wake(rnic_of(&p->a));
	eg_run(p->engine);
	for (i = 0; i < 9; i++)
		er_expect(&p->a, false, n + i, 0);
	/* Not for ever. */
	assert_false(sleeps_rung(p));
	engine_loop_advance(loop, MS / 2);
	assert_true(sleeps_rung(p));
	er_pair_free(p);
}

/* While the device sleeps, all pages ask to be rung; awake, the warm ones do not. */
static void test_sleep(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	message(p);
	expect_message(p, 0);
	assert_int_equal(p->a.page.rung, 1);
	assert_false(rnic_sleep(rnic_of(&p->a)));
	assert_int_not_equal(p->a.page.page->ring_me, 0);
	message(p);
	assert_int_equal(p->a.page.rung, 2);
	message(p);
	assert_int_equal(p->a.page.rung, 2);
	rnic_wake(rnic_of(&p->a));
	expect_message(p, 1);
	expect_message(p, 2);
	assert_int_equal(p->a.page.page->ring_me, 0);
	assert_false(rnic_sleep(rnic_of(&p->a)));
	rnic_wake(rnic_of(&p->a));
	assert_int_equal(p->a.page.page->ring_me, 0);
	er_pair_free(p);
}

/* A request that is announced just before the device sleeps keeps it awake. */
static void test_before_sleep(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	message(p);
	expect_message(p, 0);
	message(p);
	assert_true(rnic_sleep(rnic_of(&p->a)));
	rnic_wake(rnic_of(&p->a));
	expect_message(p, 1);
	er_pair_free(p);
}

/* The same of another QP of the page, which nobody polls. */
static void test_other_before_sleep(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct er_qp other;

	er_qp_init(&other, &p->a.page, &p->a.cq, 6, RC, p->a.end.pdn,
		   &(struct er_shape) {});
	assert_int_equal(er_create_qp(&other), VIRTIO_NET_OK);
	cool(p);
	message(p);
	expect_message(p, 0);
	assert_false(rnic_sleep(rnic_of(&p->a)));
	rnic_wake(rnic_of(&p->a));
	er_announce(&other);
	assert_int_equal(p->a.page.rung, 1);
	assert_true(rnic_sleep(rnic_of(&p->a)));
	er_pair_free(p);
}

/* The same just before the page becomes cold: the look after the wish finds it. */
static void test_before_cold(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	message(p);
	expect_message(p, 0);
	engine_loop_advance(p->engine->loop, 2 * MS);
	message(p);
	assert_int_equal(p->a.page.rung, 1);
	expect_message(p, 1);
	er_pair_free(p);
}

/* The bit of a QP that is polled stays set: there is nothing to announce. */
static void test_held(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_doorbell_page *page = p->a.page.page;
	struct er_qp other;
	unsigned int i;

	message(p);
	expect_message(p, 0);
	for (i = 1; i < 5; i++) {
		assert_int_equal(page->pending[0], htole64(1 << 5));
		message(p);
		assert_int_equal(page->words[0], 0);
		expect_message(p, i);
	}
	/* One that is announced in the same word leaves it alone. */
	er_qp_init(&other, &p->a.page, &p->a.cq, 6, RC, p->a.end.pdn,
		   &(struct er_shape) {});
	assert_int_equal(er_create_qp(&other), VIRTIO_NET_OK);
	er_announce(&other);
	eg_run(p->engine);
	assert_int_equal(page->pending[0], htole64(1 << 5));
	/* Posted when the QP is about to be forgotten, without a bit of its own. */
	engine_loop_advance(p->engine->loop, 2 * MS);
	message(p);
	expect_message(p, 5);
	message(p);
	assert_true(rnic_sleep(rnic_of(&p->a)));
	assert_int_equal(page->pending[0], 0);
	rnic_wake(rnic_of(&p->a));
	expect_message(p, 6);
	/* Nothing is left of a QP that goes, for the next one with its bit. */
	assert_int_equal(page->pending[0], htole64(1 << 5));
	assert_int_equal(er_destroy_qp(&p->a.qp), VIRTIO_NET_OK);
	assert_int_equal(page->pending[0], 0);
	page->pending[0] = htole64(1 << 5);
	assert_int_equal(er_create_qp(&p->a.qp), VIRTIO_NET_OK);
	assert_int_equal(page->pending[0], 0);
	er_pair_free(p);
}

/* A bit without a request costs one look, bits of nobody nothing. */
static void test_spurious_bits(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_doorbell_page *page = p->a.page.page;

	cool(p);
	er_announce(&p->a.qp);
	rnic_poll(rnic_of(&p->a));
	assert_int_equal(active(&p->a), 0);

	memset(page->pending, 0xff, sizeof(page->pending));
	memset(page->words, 0xff, sizeof(page->words));
	eg_run(p->engine);
	assert_int_equal(active(&p->a), 0);
	message(p);
	expect_message(p, 0);
	assert_int_equal(er_destroy_qp(&p->a.qp), VIRTIO_NET_OK);
	memset(page->pending, 0xff, sizeof(page->pending));
	memset(page->words, 0xff, sizeof(page->words));
	eg_run(p->engine);
	assert_int_equal(active(&p->a), 0);
	er_pair_free(p);
}

/* How much of a page is looked at in a round is bounded, and nothing is left out. */
static void test_bounded(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_doorbell_page *page = p->a.page.page;
	unsigned int i, rounds, words;

	cool(p);
	memset(page->pending, 0xff, sizeof(page->pending));
	memset(page->words, 0xff, sizeof(page->words));
	page->ring_me = 0;
	rnic_queue_kick(rnic_of(&p->a), RNIC_DOORBELL, 0);
	for (rounds = 1; rounds <= 16; rounds++) {
		assert_true(rnic_poll(rnic_of(&p->a)));
		for (words = 0, i = 0; i < BITS / 64; i++)
			words += !page->pending[i];
		assert_int_equal(words, 16 * rounds);
	}
	assert_false(rnic_poll(rnic_of(&p->a)));
	er_pair_free(p);
}

/* A process that sets low bits all the time does not hide high ones. */
static void test_fair(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_doorbell_page *page = p->a.page.page;
	struct er_qp high;
	unsigned int i;

	er_qp_init(&high, &p->a.page, &p->a.cq, BITS - 1, RC, p->a.end.pdn,
		   &(struct er_shape) {});
	assert_int_equal(er_create_qp(&high), VIRTIO_NET_OK);
	cool(p);
	er_announce(&high);
	for (i = 0; i < 16 && page->pending[BITS / 64 - 1]; i++) {
		memset(page->pending, 0xff, sizeof(page->pending) / 2);
		memset(page->words, 0xff, sizeof(page->words) / 2);
		rnic_poll(rnic_of(&p->a));
	}
	assert_int_equal(page->pending[BITS / 64 - 1], 0);
	er_pair_free(p);
}

/* Bits and words are little-endian, and a QP may have any of them. */
static void test_each_bit(void **state)
{
	static const uint32_t bits[] = { 0, 1, 63, 64, 4095, 4096, 8191, 16383 };
	struct er_pair *p = er_pair_up(state, RC, NULL);
	const uint8_t *page = (const uint8_t *)p->a.page.page;
	struct virtio_rdma_cqe cqe;
	struct er_qp qp;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		er_qp_init(&qp, &p->a.page, &p->a.cq, bits[i], RC, p->a.end.pdn,
			   &(struct er_shape) {});
		assert_int_equal(er_create_qp(&qp), VIRTIO_NET_OK);
		cool(p);
		er_announce(&qp);
		assert_int_equal(page[2048 + bits[i] / 8], 1 << bits[i] % 8);
		assert_int_equal(page[64 + bits[i] / 512], 1 << bits[i] / 64 % 8);
		/* In ERR it completes what it finds, once it is looked at. */
		qp_get(&rnic_of(&p->a)->qps, qp.qpn)->state = VIRTIO_IB_QPS_ERR;
		qp.control->send_producer = htole32(1);
		eg_run(p->engine);
		assert_true(er_poll(&p->a.cq, &cqe));
		assert_int_equal(le32toh(cqe.qp_num), qp.qpn);
		/* Held for a while, then taken. */
		assert_int_equal(page[2048 + bits[i] / 8], 1 << bits[i] % 8);
		cool(p);
		assert_int_equal(page[2048 + bits[i] / 8], 0);
	}
	er_pair_free(p);
}

/* Only pages of the virtqueue that is rung, and only those that were asked for. */
static void test_kick(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct rnic *rnic = rnic_of(&p->a);
	struct er_page other;

	er_page_init(&other, p->a.end.guest, 1);
	cool(p);
	rnic_queue_kick(rnic, RNIC_DOORBELL, 0);
	assert_false(rnic_poll(rnic));
	assert_int_equal(warm(&p->a), 0);
	p->a.page.page->ring_me = 0;
	other.page->ring_me = 0;
	rnic_queue_kick(rnic, RNIC_DOORBELL, 1);
	/* Nobody may sleep before it was looked at. */
	assert_true(rnic_sleep(rnic));
	rnic_poll(rnic);
	assert_int_equal(warm(&p->a), 1);
	assert_int_not_equal(p->a.page.page->ring_me, 1);
	rnic_queue_kick(rnic, RNIC_DOORBELL, 0);
	rnic_poll(rnic);
	assert_int_equal(warm(&p->a), 2);
	rnic_queue_kick(rnic, RNIC_DOORBELL, 2);
	rnic_queue_kick(rnic, RNIC_DOORBELL, UINT32_MAX);
	/* Freed while it is warm. */
	assert_int_equal(er_free_doorbell(&other), VIRTIO_NET_OK);
	assert_int_equal(warm(&p->a), 1);
	er_pair_free(p);
}

static unsigned int words_taken(const struct er_page *page)
{
	unsigned int i, n = 0;

	for (i = 0; i < BITS / 64; i++)
		n += !page->page->pending[i];
	return n;
}

/*
 * As many pages as there may be, all bits of all of them set: a round takes as much of them
 * as of one, counts it, and each page has its turn.
 */
static void test_many_pages(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct rnic *rnic = rnic_of(&p->a);
	static struct er_page page[RNIC_DOORBELLS_MAX - 1];
	unsigned int i, n, taken, before = 0;
	uint64_t work;

	cool(p);
	for (i = 0; i < ARRAY_SIZE(page); i++)
		er_page_init(&page[i], p->a.end.guest, 1);
	/* One of them has rung: it takes some rounds to find it. */
	page[ARRAY_SIZE(page) / 2].page->ring_me = 0;
	rnic_queue_kick(rnic, RNIC_DOORBELL, 1);
	for (n = 0; !warm(&p->a); n++) {
		work = virtq_work();
		assert_true(rnic_poll(rnic));
		assert_in_range(virtq_work() - work, 64, 128);
	}
	assert_in_range(n, ARRAY_SIZE(page) / 2 / 64, ARRAY_SIZE(page) / 2 / 64 + 1);
	cool(p);

	for (i = 0; i < ARRAY_SIZE(page); i++) {
		memset(page[i].page->pending, 0xff, sizeof(page[i].page->pending));
		memset(page[i].page->words, 0xff, sizeof(page[i].page->words));
		page[i].page->ring_me = 0;
	}
	rnic_queue_kick(rnic, RNIC_DOORBELL, 1);
	for (n = 0; n < 300; n++) {
		work = virtq_work();
		assert_true(rnic_poll(rnic));
		/* 16 words of 64 bits, and the looks. */
		assert_in_range(virtq_work() - work, 64, 16 * 65 + 64 + 64);
		for (taken = 0, i = 0; i < ARRAY_SIZE(page); i++)
			taken += words_taken(&page[i]);
		assert_in_range(taken, before, before + 16);
		before = taken;
	}
	for (i = 0; i < ARRAY_SIZE(page); i++)
		assert_in_range(words_taken(&page[i]), 1, 8);
	er_pair_free(p);
}

static void test_bad_requests(void **state)
{
	struct engine *engine = *state;
	struct er_page page, bad;
	unsigned int i;

	er_page_init(&page, &engine->guest[0], 0);
	bad = page;
	bad.vq = EG_DOORBELL_VQS;
	assert_int_equal(er_alloc_doorbell(&bad), VIRTIO_NET_ERR);
	bad = page;
	bad.addr += 64;
	assert_int_equal(er_alloc_doorbell(&bad), VIRTIO_NET_ERR);
	bad = page;
	bad.addr = 0;
	assert_int_equal(er_alloc_doorbell(&bad), VIRTIO_NET_ERR);
	assert_int_equal(er_free_doorbell(&page), VIRTIO_NET_OK);
	assert_int_equal(er_free_doorbell(&page), VIRTIO_NET_ERR);
	for (i = 0; i < 1024; i++)
		assert_int_equal(er_alloc_doorbell(&page), VIRTIO_NET_OK);
	assert_int_equal(er_alloc_doorbell(&page), VIRTIO_NET_ERR);
}

/* Requests that were posted while the guest was paused are found when it goes on. */
static void test_paused(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	cool(p);
	rnic_mem_changed(rnic_of(&p->a), &guest_mem_none);
	p->a.page.page->ring_me = 0;
	message(p);
	rnic_queue_kick(rnic_of(&p->a), RNIC_DOORBELL, 0);
	eg_run(p->engine);
	assert_false(rnic_sleep(rnic_of(&p->a)));
	rnic_wake(rnic_of(&p->a));
	rnic_mem_changed(rnic_of(&p->a), &p->a.end.guest->map);
	expect_message(p, 0);
	er_pair_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_warm_and_cold),
		TEST(test_stream),
		TEST(test_sleep),
		TEST(test_before_sleep),
		TEST(test_other_before_sleep),
		TEST(test_before_cold),
		TEST(test_held),
		TEST(test_spurious_bits),
		TEST(test_bounded),
		TEST(test_fair),
		TEST(test_each_bit),
		TEST(test_kick),
		TEST(test_many_pages),
		TEST(test_bad_requests),
		TEST(test_paused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
