// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Order of data: a program that sees the last byte of a message has all of it.
 *
 * A thread polls the last byte in the guest's memory, as ib_write_lat, MPI and UCX do,
 * while the device stores one message after the other there, each with another value.
 * Behind the last byte of a message no byte may be older.  Neither thread waits for the
 * other one.  "make soak" sets LAB_LONG for many rounds.
 */
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define RC		VIRTIO_IB_QPT_RC
#define OK		VIRTIO_IB_WC_SUCCESS
#define MS		(1000 * 1000ULL)
#define LENGTHS		4096u
/* How often each length is tried. */
#define ROUNDS		8u
#define ROUNDS_LONG	100u
/* The reader is waited for after so many lengths.  256 does not divide their messages. */
#define SEEN_EVERY	63u
/* Elements of a scattered message begin at such a distance. */
#define ELEMENTS	3u
#define APART		(8192u + 40)

/* Stores are not larger than this, so that one byte in so many is enough. */
#define STORE		16u

/**
 * struct reader - the thread that polls
 * @at:		where byte i of the message is to be seen
 * @len:	bytes of the message
 * @place:	changes when the two have changed; odd while they do
 * @sent:	messages so far; all bytes of one have the lower 8 bits of its number
 * @before:	the last byte as the reader has seen it
 * @seen:	messages whose last byte the reader has seen
 * @late:	those of which other bytes were still older
 * @end:	it shall end
 */
struct reader {
	volatile uint8_t *at[LENGTHS];
	uint32_t len;
	unsigned int place;
	unsigned int sent;
	unsigned int before;
	unsigned int seen;
	unsigned int late;
	unsigned int end;
};

static unsigned int get(const unsigned int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void set(unsigned int *p, unsigned int value)
{
	__atomic_store_n(p, value, __ATOMIC_SEQ_CST);
}

/* Is none of @len bytes older than the last one was?  The first ones are read first. */
static bool none_is_older(struct reader *r, uint32_t len, uint8_t last)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < len; i += STORE)
		good &= (int8_t)(*r->at[i] - last) >= 0;
	return good;
}

/* A look tells nothing if the place changed in it, or much was sent. */
static void look(struct reader *r)
{
	unsigned int place = get(&r->place), sent = get(&r->sent);
	uint32_t len = r->len;
	uint8_t last;
	bool good;

	if (place % 2 || !len)
		return;
	last = *r->at[len - 1];
	if (last == r->before)
		return;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	good = none_is_older(r, len, last);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (get(&r->place) != place || get(&r->sent) - sent > 64)
		return;
	r->seen++;
	r->late += !good;
	set(&r->before, last);
}

static void *read_all(void *arg)
{
	struct reader *r = arg;

	while (!get(&r->end))
		look(r);
	return NULL;
}

/**
 * struct order - a way that data takes
 * @op:		operation
 * @packets:	by packets
 * @inlined:	inline data
 * @direct:	by direct QPs
 * @back:	from guest 2 to guest 1: memmove() looks which address is the lower one
 * @elements:	elements that it is scattered over
 */
struct order {
	uint8_t op;
	bool packets;
	bool inlined;
	bool direct;
	bool back;
	uint32_t elements;
};

/* Those of @direct; the others have it NULL. */
static struct er_pair *rings;

static unsigned int rounds(void)
{
	return getenv("LAB_LONG") ? ROUNDS_LONG : ROUNDS;
}

/* Where the elements of a message of @len bytes are; returns how many there are. */
static uint32_t scatter(const struct order *order, uint32_t key, uint32_t len,
			uint32_t off, struct eg_sge *sge)
{
	uint32_t i, n = order->elements ? order->elements : 1, part;

	for (i = 0; i < n; i++) {
		part = i + 1 < n ? len / n : len - len / n * (n - 1);
		sge[i] = (struct eg_sge) { EG_VA + off + i * APART, part, key };
	}
	return n;
}

/* From now on messages come to these elements. */
static void look_at(struct reader *r, const struct eg_guest *guest,
		    const struct eg_sge *sge, uint32_t n)
{
	uint32_t i, j, len = 0;

	set(&r->place, r->place + 1);
	for (i = 0; i < n; i++)
		for (j = 0; j < sge[i].length; j++, len++) {
			r->at[len] = eg_ptr(guest, EG_DATA + sge[i].addr - EG_VA + j);
			*r->at[len] = r->sent;
		}
	r->len = len;
	set(&r->place, r->place + 1);
}

static void post(const struct order *order, struct eg_pair *p, struct eg_wr *wr,
		 const struct eg_sge *to, uint32_t n, uint8_t value)
{
	uint8_t *from = eg_ptr(order->op == VIRTIO_IB_WR_RDMA_READ ? p->b.guest :
								     p->a.guest, EG_DATA);
	memset(from, value, wr->sge[0].length);
	wr->opcode = order->op;
	switch (order->op) {
	case VIRTIO_IB_WR_RDMA_READ:
		wr->remote_addr = EG_VA;
		wr->rkey = p->b.lkey;
		memcpy(wr->sge, to, n * sizeof(*to));
		wr->num_sge = n;
		break;
	case VIRTIO_IB_WR_RDMA_WRITE:
		wr->remote_addr = to->addr;
		wr->rkey = p->b.lkey;
		break;
	default:
		if (rings)
			er_post_recv(&rings->b.qp, to, n);
		else
			eg_post_recv(&p->b, 2, to, n);
	}
	if (order->inlined) {
		wr->flags |= VIRTIO_IB_SEND_INLINE;
		wr->data = from;
		wr->data_len = wr->sge[0].length;
		wr->num_sge = 0;
	}
	if (rings)
		er_post_send(&rings->a.qp, wr);
	else
		eg_post_send(&p->a, wr);
}

static void expect(const struct order *order, const struct eg_pair *p)
{
	bool recv = order->op == VIRTIO_IB_WR_SEND;
	struct virtio_rdma_cqe cqe;

	if (rings) {
		assert_true(er_poll(&rings->a.cq, &cqe));
		assert_int_equal(cqe.status, OK);
		assert_int_equal(er_poll(&rings->b.cq, &cqe), recv);
		return;
	}
	eg_expect(&p->a, 1, OK);
	if (recv)
		eg_expect(&p->b, 2, OK);
}

static void messages(const struct order *order, struct eg_pair *p, struct reader *r,
		     uint32_t len, uint32_t off)
{
	bool fetch = order->op == VIRTIO_IB_WR_RDMA_READ;
	const struct eg_end *end = fetch ? &p->a : &p->b;
	uint32_t i, n, max = rounds();
	struct eg_sge to[ELEMENTS];
	struct eg_wr wr;

	n = scatter(order, end->lkey, len, EG_IN + off, to);
	look_at(r, end->guest, to, n);
	for (i = 0; i < max; i++) {
		wr = eg_send(&p->a, 1, 0, len);
		set(&r->sent, r->sent + 1);
		post(order, p, &wr, to, n, r->sent);
		eg_run(p->engine);
		/* Answers by packets have a pace. */
		while (order->packets && engine_loop_next(p->engine->loop) != UINT64_MAX) {
			engine_loop_advance(p->engine->loop, MS);
			eg_run(p->engine);
		}
		expect(order, p);
	}
}

static struct eg_pair ends(void **state, const struct order *order)
{
	struct eg_pair p = { .engine = *state };

	if (order->back) {
		p.a = eg_open(&p.engine->guest[1], RC);
		p.b = eg_open(&p.engine->guest[0], RC);
		eg_connect(&p.a, &p.b, RC);
		return p;
	}
	if (!order->direct)
		return eg_pair_up(state, RC);
	rings = er_pair_up(state, RC, NULL);
	return (struct eg_pair) {
		.engine = rings->engine,
		.a = rings->a.end,
		.b = rings->b.end,
	};
}

static void play(void **state, struct order order)
{
	struct eg_pair p = ends(state, &order);
	uint32_t max = order.inlined ? VIRTIO_RDMA_INLINE_SIZE : LENGTHS, len;
	struct reader *r = calloc(1, sizeof(*r));
	pthread_t thread;

	assert_non_null(r);
	if (order.packets)
		eg_ports(p.engine);
	assert_int_equal(pthread_create(&thread, NULL, read_all, r), 0);
	for (len = order.elements ? order.elements : 1; len <= max; len++) {
		messages(&order, &p, r, len, len % 2 ? len * 7 % 64 : 0);
		if (len % SEEN_EVERY && len < max)
			continue;
		/* Its processor may have been taken away. */
		while (get(&r->before) != (uint8_t)r->sent)
			sched_yield();
	}
	set(&r->end, 1);
	pthread_join(thread, NULL);
	print_message("%u messages, %u seen, %u with the last byte early\n", r->sent,
		      r->seen, r->late);
	assert_int_equal(r->late, 0);
	free(r);
	if (rings)
		er_pair_free(rings);
	rings = NULL;
}

static void test_write(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_RDMA_WRITE });
}

static void test_write_back(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_RDMA_WRITE, .back = true });
}

static void test_write_by_packets(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_RDMA_WRITE, .packets = true });
}

static void test_write_inline(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_RDMA_WRITE, .inlined = true });
}

static void test_read(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_RDMA_READ });
}

static void test_read_by_packets(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_RDMA_READ, .packets = true });
}

static void test_send_scattered(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_SEND, .elements = ELEMENTS });
}

static void test_send_scattered_by_packets(void **state)
{
	play(state, (struct order) {
		.op = VIRTIO_IB_WR_SEND,
		.packets = true,
		.elements = ELEMENTS,
	});
}

/* A way of their own in the daemon: rdma/qp/fused.c. */
static void test_write_direct(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_RDMA_WRITE, .direct = true });
}

static void test_read_direct(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_RDMA_READ, .direct = true });
}

static void test_send_direct(void **state)
{
	play(state, (struct order) { .op = VIRTIO_IB_WR_SEND, .direct = true });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_write, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_write_back, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_write_by_packets, eg_setup,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_write_inline, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_read, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_read_by_packets, eg_setup,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_send_scattered, eg_setup,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_send_scattered_by_packets, eg_setup,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_write_direct, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_read_direct, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_send_direct, eg_setup_direct,
						eg_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
