// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions with their time, and the clock that it is of.
 */
#include "tests/lib/engine_ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/rnic_image.h"
#include "rdma/rnic_priv.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN
#define CQE		16u

static const struct er_shape timed = { .cqe = CQE, .timed = true };

static uint64_t clock_of(struct eg_guest *guest)
{
	struct virtio_rdma_ack_query_clock ack = {};

	assert_int_equal(eg_command(guest, CMD(QUERY_CLOCK), NULL, 0, &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	return le64toh(ack.time);
}

/* The slot of completion @i, whose first half may have been taken. */
static const struct virtio_rdma_cqe_timed *slot(const struct er_cq *cq, uint32_t i)
{
	return (const void *)(cq->ring + ((size_t)(i % CQE) << 6));
}

static void send_one(struct er_pair *p)
{
	struct eg_wr wr = eg_send(&p->a.end, 0, VIRTIO_IB_SEND_SIGNALED, 4);

	er_recv(&p->b, IN, 4);
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
}

/* Completion @i of an end is there, has a time from @from to @to, and nothing behind it. */
static uint64_t expect_timed(struct er_end *end, bool recv, uint32_t i, uint64_t from,
			     uint64_t to)
{
	const struct virtio_rdma_cqe_timed *cqe = slot(&end->cq, i);
	const uint64_t time = le64toh(cqe->time);

	er_expect(end, recv, i, 0);
	assert_true(time >= from);
	assert_true(time <= to);
	assert_int_equal(cqe->reserved[0] | cqe->reserved[1] | cqe->reserved[2], 0);
	return time;
}

/* Three times round the ring, between two looks at the clock each time. */
static void test_times(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, &timed);
	uint64_t before, after, last[2] = {};
	uint32_t i;

	for (i = 0; i < 3 * CQE + 2; i++) {
		before = clock_of(p->a.end.guest);
		send_one(p);
		after = clock_of(p->a.end.guest);
		assert_true(after > before);
		last[0] = expect_timed(&p->a, false, i, last[0] > before ? last[0] : before,
				       after);
		/* The other guest has a clock of its own. */
		last[1] = expect_timed(&p->b, true, i, last[1],
				       clock_of(p->b.end.guest));
	}
	er_pair_free(p);
}

/* Half of each slot stays as the driver left it, if times were not asked for. */
static void test_not_asked_for(void **state)
{
	const struct er_shape wide = { .cqe = CQE, .cqe_shift = 6 };
	struct er_pair *p = er_pair_up(state, RC, &wide);

	assert_false(p->a.end.guest->rnic->ctx.clock_known);
	send_one(p);
	er_expect(&p->a, false, 0, 0);
	assert_int_equal(slot(&p->a.cq, 0)->time, 0);
	assert_false(p->a.end.guest->rnic->ctx.clock_known);
	er_pair_free(p);
}

static void expect_refused(struct er_cq *cq)
{
	assert_int_equal(er_create_cq(cq), VIRTIO_NET_ERR);
}

static void test_bad_requests(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct er_cq cq;

	er_cq_init(&cq, guest, 64, 5, 0);
	cq.req.flags |= VIRTIO_RDMA_CQ_TIMESTAMP;
	expect_refused(&cq);
	er_cq_init(&cq, guest, 16, 0, 0);
	cq.req.flags |= VIRTIO_RDMA_CQ_TIMESTAMP;
	expect_refused(&cq);
	er_cq_init(&cq, guest, 64, 6, 0);
	cq.req.flags |= VIRTIO_RDMA_CQ_TIMESTAMP << 1;
	expect_refused(&cq);
	cq.req.flags = VIRTIO_RDMA_CQ_DIRECT | VIRTIO_RDMA_CQ_TIMESTAMP;
	expect_refused(&cq);
	cq.req.flags |= VIRTIO_RDMA_CQ_CONTROL;
	assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_cq(&cq), VIRTIO_NET_OK);
}

/* A new ring has times, too. */
static void test_resized(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, &timed);
	struct {
		struct virtio_rdma_cmd_resize_cq cmd;
		__le64 page;
	} req = {};
	struct virtio_rdma_ack_resize_cq ack;
	struct er_cq to;

	er_cq_init(&to, p->a.end.guest, 2 * CQE, 6, 0);
	req.cmd.cqn = htole32(p->a.cq.cqn);
	req.cmd.cqe = to.req.cqe;
	req.cmd.npages = to.req.npages;
	req.cmd.control = to.req.control;
	req.page = htole64(to.pages[0]);
	assert_int_equal(eg_command(p->a.end.guest, CMD(RESIZE_CQ), &req, sizeof(req), &ack,
				    sizeof(ack)), VIRTIO_NET_OK);
	assert_int_equal(ack.unread, 0);
	to.cqn = p->a.cq.cqn;
	p->a.cq = to;
	send_one(p);
	expect_timed(&p->a, false, 0, 1, clock_of(p->a.end.guest));
	er_pair_free(p);
}

/* It begins when the function is made, and neither a reset nor time makes it go back. */
static void test_clock(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	const uint64_t host = clock_ns(), zero = guest->rnic->ctx.clock_zero;
	uint64_t first, second;

	/* A clock that the guest has not seen begins anew when the guest is loaded. */
	eg_cycle_off = true;
	assert_true(host >= zero);
	first = clock_of(guest);
	assert_true(first >= host - zero);
	assert_true(first <= clock_ns() - zero);
	eg_reset(guest);
	second = clock_of(guest);
	assert_true(second > first);
	assert_true(second <= clock_ns() - zero);
}

/* ------------------------------------------------------------------------- */
/* Saved and loaded                                                          */
/* ------------------------------------------------------------------------- */

/* So long has the guest lived elsewhere: 11 days. */
#define LIFE		1000000000000000ull
#define SECOND		1000000000ull

/* Far more than a test takes. */
#define A_WHILE		(3600 * SECOND)

/* The NIC loses all.  The guest has not asked for that: it has its objects still. */
static void forget(struct eg_guest *guest)
{
	rnic_reset(guest->rnic);
	chores_finish(loop_chores(guest->rnic->ctx.loop));
}

/* The guest has a clock that says LIFE, and so its state has. */
static struct state saved(struct eg_guest *guest)
{
	struct state st;

	guest->rnic->ctx.clock_zero = clock_ns() - LIFE;
	state_write(&st);
	assert_true(rnic_save(guest->rnic, &st));
	assert_true(state_written(&st));
	forget(guest);
	return st;
}

/* The fields of its section of times; zero, time, count and CQNs. */
static __le64 *fields(const struct state *st)
{
	struct state_section_header header;
	size_t at = sizeof(struct state_header);

	for (; at < st->at; at += sizeof(header) + le64toh(header.length)) {
		memcpy(&header, st->data + at, sizeof(header));
		if (!strcmp(header.kind, "timestamp"))
			return (__le64 *)(st->data + at + sizeof(header));
	}
	return NULL;
}

/* Loads it, by a process that takes the place of the writer, or on another host. */
static bool load(struct eg_guest *guest, const struct state *st, bool here)
{
	struct state in;

	assert_true(state_read(&in, st->data, st->at));
	in.handed_over = here;
	return rnic_load(guest->rnic, &in);
}

/* A place in a state, which is not aligned. */
static void set(__le64 *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static uint64_t get(const __le64 *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

/* The clock of a process that takes the place of another one does not even stand. */
static void test_taken_over(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, &timed);
	struct eg_guest *guest = p->a.end.guest;
	struct state st = saved(guest);
	const uint64_t zero = get(fields(&st)), time = get(fields(&st) + 1);

	assert_true(time >= LIFE);
	assert_true(load(guest, &st, true));
	assert_true(guest->rnic->ctx.clock_zero == zero);
	send_one(p);
	assert_true(expect_timed(&p->a, false, 0, time, clock_of(guest)) >= LIFE);
	/* If that would set it back, it goes on from what it said. */
	forget(guest);
	set(fields(&st), zero + LIFE);
	assert_true(load(guest, &st, true));
	assert_true(clock_of(guest) >= time);
	assert_true(clock_of(guest) < time + A_WHILE);
	state_free(&st);
	er_pair_free(p);
}

/* On a host that has run for a shorter or a longer time it goes on from what it said. */
static void test_moved(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, &timed);
	struct eg_guest *guest = p->a.end.guest;
	struct state st = saved(guest);
	const uint64_t zero = get(fields(&st)), time = get(fields(&st) + 1);
	const int64_t others[] = { 0, LIFE, -(int64_t)LIFE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		forget(guest);
		set(fields(&st), zero + others[i]);
		assert_true(load(guest, &st, false));
		assert_true(clock_of(guest) >= time);
		assert_true(clock_of(guest) < time + A_WHILE);
	}
	send_one(p);
	expect_timed(&p->a, false, 0, time, time + A_WHILE);
	state_free(&st);
	er_pair_free(p);
}

/* Nothing is saved of a clock that the guest does not know. */
static void test_unknown(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct state st = saved(guest);

	assert_null(fields(&st));
	assert_true(load(guest, &st, false));
	assert_false(guest->rnic->ctx.clock_known);
	state_free(&st);
	clock_of(guest);
	st = saved(guest);
	assert_non_null(fields(&st));
	assert_true(load(guest, &st, false));
	assert_true(clock_of(guest) >= LIFE);
	state_free(&st);
}

/* A state whose CQs cannot have times is refused, and the clock stays as it is. */
static void test_bad_states(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, &timed);
	struct eg_guest *guest = p->a.end.guest;
	uint64_t zero;
	struct er_cq plain;
	struct state st;
	uint32_t cqn;
	uint8_t *at;

	er_cq_init(&plain, guest, 16, 5, 0);
	assert_int_equal(er_create_cq(&plain), VIRTIO_NET_OK);
	st = saved(guest);
	zero = guest->rnic->ctx.clock_zero;
	at = (uint8_t *)(fields(&st) + 2) + sizeof(uint32_t);
	cqn = htole32(plain.cqn);
	memcpy(at, &cqn, sizeof(cqn));
	assert_false(load(guest, &st, false));
	cqn = htole32(77777);
	memcpy(at, &cqn, sizeof(cqn));
	assert_false(load(guest, &st, false));
	assert_true(guest->rnic->ctx.clock_zero == zero);
	cqn = htole32(p->a.cq.cqn);
	memcpy(at, &cqn, sizeof(cqn));
	assert_true(load(guest, &st, false));
	state_free(&st);
	er_pair_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_times),
		TEST(test_not_asked_for),
		TEST(test_bad_requests),
		TEST(test_resized),
		TEST(test_clock),
		TEST(test_taken_over),
		TEST(test_moved),
		TEST(test_unknown),
		TEST(test_bad_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
