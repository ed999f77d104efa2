// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * NICs of one process that reach each other in memory or by packets, as what the operator
 * does with their ports has it, and connections during which that changes.
 */
#include "tests/lib/engine_port.h"
#include "base/util.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN
#define MS	(1000 * 1000ULL)

/* Of eg_modify_req(): ACK timeout 4.096 µs * 2^10. */
#define TIMEOUT_NS	(4096ull << 10)

static struct eg_pair pair(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	eg_plug(p.engine);
	return p;
}

static void post(const struct eg_pair *p, uint8_t opcode, uint32_t len)
{
	struct eg_wr wr = eg_send(&p->a, 1, 0, len);

	wr.opcode = opcode;
	wr.rkey = p->b.lkey;
	wr.remote_addr = EG_VA + IN;
	eg_post_send(&p->a, &wr);
}

static void write_through(const struct eg_pair *p, uint32_t seed)
{
	eg_fill(p->a.guest, 0, 5000, seed);
	post(p, VIRTIO_IB_WR_RDMA_WRITE, 5000);
	eg_run(p->engine);
	eg_expect(&p->a, 1, OK);
	eg_check(p->b.guest, IN, 5000, seed, 0);
}

/* That of the sender, of the receiver, or of both. */
static void test_packets_of_a_port(void **state)
{
	struct eg_pair p = pair(state);
	unsigned int i, sent = 0;

	for (i = 0; i < 4; i++) {
		rnic_set_packets(p.a.guest->rnic, i & 1);
		rnic_set_packets(p.b.guest->rnic, i & 2);
		write_through(&p, i);
		if (i)
			assert_in_range(eg_port[0].sent, sent + 5, sent + 6);
		else
			assert_int_equal(eg_port[0].sent, 0);
		sent = eg_port[0].sent;
	}
	rnic_set_packets(p.a.guest->rnic, false);
	rnic_set_packets(p.b.guest->rnic, false);
	write_through(&p, 9);
	assert_int_equal(eg_port[0].sent, sent);
}

/* A port that is down carries nothing, and a connection ends as by any wire. */
static void test_port_is_down(void **state)
{
	struct eg_pair p = pair(state);
	unsigned int i;

	eg_zero(p.b.guest, IN, 5000);
	eg_fill(p.a.guest, 0, 5000, 1);
	rnic_set_packets(p.a.guest->rnic, true);
	eg_port[0].down = true;
	post(&p, VIRTIO_IB_WR_RDMA_WRITE, 5000);
	for (i = 0; i < 20; i++) {
		eg_run(p.engine);
		engine_loop_advance(p.engine->loop, TIMEOUT_NS);
	}
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_RETRY_EXC_ERR);
	eg_check_zero(p.b.guest, IN, 5000);
}

/* The way changes all the time, and nothing has to wait for a timer. */
static void test_changes_in_messages(void **state)
{
	static const uint8_t ops[] = { VIRTIO_IB_WR_RDMA_WRITE, VIRTIO_IB_WR_SEND,
				       VIRTIO_IB_WR_RDMA_READ };
	const uint32_t len = 300001;
	struct eg_pair p = pair(state);
	unsigned int i, round = 0;
	struct eg_wc wc;
	bool read;

	for (i = 0; i < 60; i++) {
		read = ops[i % 3] == VIRTIO_IB_WR_RDMA_READ;
		eg_fill(read ? p.b.guest : p.a.guest, read ? IN : 0, len, i);
		eg_zero(read ? p.a.guest : p.b.guest, read ? 0 : IN, len);
		if (ops[i % 3] == VIRTIO_IB_WR_SEND)
			eg_recv(&p.b, 2, IN, len);
		post(&p, ops[i % 3], len);
		while (!eg_poll(&p.a, &wc)) {
			rnic_set_packets(p.b.guest->rnic, ++round * 7 % (i + 2) < 2);
			rnic_poll(p.a.guest->rnic);
			rnic_poll(p.b.guest->rnic);
			engine_loop_advance(p.engine->loop, MS / 100);
			assert_true(round < 100000);
		}
		assert_int_equal(wc.status, OK);
		if (ops[i % 3] == VIRTIO_IB_WR_SEND)
			eg_expect(&p.b, 2, OK);
		eg_check(read ? p.a.guest : p.b.guest, read ? 0 : IN, len, i, 0);
	}
	assert_int_equal(eg_count(p.a.guest, VIRTIO_RDMA_CNT_TIMEOUT), 0);
}

/*
 * A message has arrived in part by packets, whose ACKs got lost.  It is sent again in
 * memory, by slices of which the head is old and the tail is new.
 */
static void half_old(void **state, uint8_t opcode)
{
	const uint32_t len = 60001;
	struct eg_pair p = pair(state);

	rnic_set_packets(p.a.guest->rnic, true);
	eg_fill(p.a.guest, 0, len, 3);
	eg_zero(p.b.guest, IN, len + 1);
	if (opcode == VIRTIO_IB_WR_SEND)
		eg_recv(&p.b, 2, IN, len);
	post(&p, opcode, len);
	eg_port[1].lose = true;
	rnic_poll(p.a.guest->rnic);
	rnic_poll(p.b.guest->rnic);
	eg_port[0].lose = true;
	eg_run(p.engine);
	assert_int_equal(eg_port[0].sent, 59);

	rnic_set_packets(p.a.guest->rnic, false);
	engine_loop_advance(p.engine->loop, TIMEOUT_NS);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	if (opcode == VIRTIO_IB_WR_SEND)
		eg_expect(&p.b, 2, OK);
	eg_check(p.b.guest, IN, len, 3, 0);
	eg_check_zero(p.b.guest, IN + len, 1);
	assert_int_equal(eg_count(p.a.guest, VIRTIO_RDMA_CNT_TIMEOUT), 1);
}

static void test_half_old_write(void **state)
{
	half_old(state, VIRTIO_IB_WR_RDMA_WRITE);
}

static void test_half_old_send(void **state)
{
	half_old(state, VIRTIO_IB_WR_SEND);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_packets_of_a_port),
		T(test_port_is_down),
		T(test_changes_in_messages),
		T(test_half_old_write),
		T(test_half_old_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
