// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Slots and rings with hostile contents, doorbells, and queues that stop and start.
 */
#include <stdlib.h>

#include "tests/lib/engine_guest.h"
#include "base/util.h"
#include "rdma/qp/wqe.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define FLUSH	VIRTIO_IB_WC_WR_FLUSH_ERR
#define OP_ERR	VIRTIO_IB_WC_LOC_QP_OP_ERR
#define IN	EG_IN

#define RNR_NS	640000ull
#define MS	1000000ull

/* Two QPs in guest 1, each with a peer in guest 2: one is broken, one is not. */
struct two {
	struct engine *engine;
	struct eg_end a, b;
	struct eg_end c, d;
};

static struct two two_up(void **state)
{
	struct two t = { .engine = *state };

	eg_pair(t.engine, RC, &t.a, &t.b);
	t.c = t.a;
	t.d = t.b;
	t.c.cqn = eg_create_cq(t.c.guest);
	t.d.cqn = eg_create_cq(t.d.guest);
	t.c.qpn = eg_create_qp(t.c.guest, RC, t.c.pdn, t.c.cqn);
	t.d.qpn = eg_create_qp(t.d.guest, RC, t.d.pdn, t.d.cqn);
	eg_connect(&t.c, &t.d, RC);
	return t;
}

/* The other pair works as before. */
static void expect_beside(const struct two *t)
{
	struct eg_wr wr = eg_send(&t->c, 7, 0, 3000);

	eg_fill(t->c.guest, 0, 3000, 9);
	eg_zero(t->d.guest, IN, 3000);
	eg_recv(&t->d, 8, IN, 3000);
	eg_post_send(&t->c, &wr);
	eg_run(t->engine);
	eg_expect(&t->c, 7, OK);
	assert_int_equal(eg_expect(&t->d, 8, OK).byte_len, 3000);
	eg_check(t->d.guest, IN, 3000, 9, 0);
}

static void kick(const struct eg_end *end)
{
	rnic_queue_kick(end->guest->rnic, RNIC_SQ, end->qpn);
	rnic_queue_kick(end->guest->rnic, RNIC_RQ, end->qpn);
}

/* ------------------------------------------------------------------------- */
/* Slots                                                                     */
/* ------------------------------------------------------------------------- */

static void expect_malformed(void **state, const struct eg_wr *bad,
			     uint8_t status, uint32_t vendor_err)
{
	struct two t = two_up(state);
	struct eg_wr good = eg_send(&t.a, 1, 0, 4);
	struct eg_wr wr = *bad;
	struct eg_wc wc;

	wr.wr_id = 2;
	if (wr.num_sge && !wr.sge[0].lkey)
		wr.sge[0].lkey = t.a.lkey;
	eg_recv(&t.b, 1, IN, 4);
	eg_recv(&t.b, 2, IN, 4);
	eg_post_send(&t.a, &good);
	eg_post_send(&t.a, &wr);
	good.wr_id = 3;
	eg_post_send(&t.a, &good);
	eg_run(t.engine);
	eg_expect(&t.a, 1, OK);
	wc = eg_expect(&t.a, 2, status);
	assert_int_equal(wc.vendor_err, vendor_err);
	eg_expect(&t.a, 3, FLUSH);
	eg_expect_none(&t.a);
	eg_expect(&t.b, 1, OK);
	eg_expect_none(&t.b);
	assert_int_equal(eg_state(t.a.guest, t.a.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(t.b.guest, t.b.qpn), VIRTIO_IB_QPS_RTS);
	expect_beside(&t);
}

static void test_bad_opcode(void **state)
{
	expect_malformed(state, &(struct eg_wr) { .opcode = 13 }, OP_ERR,
			 VENDOR_ERR_OPCODE);
}

static void test_worst_opcode(void **state)
{
	expect_malformed(state, &(struct eg_wr) { .opcode = 255 }, OP_ERR,
			 VENDOR_ERR_OPCODE);
}

static void test_bad_flags(void **state)
{
	expect_malformed(state, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND, .flags = 0x10 }, OP_ERR,
		VENDOR_ERR_FLAGS);
}

static void test_inline_read(void **state)
{
	expect_malformed(state, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_RDMA_READ,
		.flags = VIRTIO_IB_SEND_INLINE, .data = "", .data_len = 1 },
		OP_ERR, VENDOR_ERR_FLAGS);
}

static void test_too_many_sge(void **state)
{
	expect_malformed(state, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND, .num_sge = EG_SGE + 1 }, OP_ERR,
		VENDOR_ERR_NUM_SGE);
}

static void test_absurd_num_sge(void **state)
{
	expect_malformed(state, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND, .num_sge = UINT32_MAX }, OP_ERR,
		VENDOR_ERR_NUM_SGE);
}

static void test_too_much_inline(void **state)
{
	expect_malformed(state, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_INLINE, .data_len = 513 }, OP_ERR,
		VENDOR_ERR_INLINE_LEN);
}

static void test_too_long_message(void **state)
{
	expect_malformed(state, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND, .num_sge = 2,
		.sge = { { EG_VA, 1u << 31, 0 }, { EG_VA, 1, 0 } } },
		VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);
}

/* Lengths that add up to a small number in 32 bits. */
static void test_lengths_overflow(void **state)
{
	expect_malformed(state, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND, .num_sge = 2,
		.sge = { { EG_VA, UINT32_MAX, 0 }, { EG_VA, 5, 0 } } },
		VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);
}

/* A QP takes no more elements than it was created for. */
static void test_sge_limit_of_qp(void **state)
{
	struct engine *engine = *state;
	struct eg_end a = eg_open(&engine->guest[0], RC);
	struct eg_end b = eg_open(&engine->guest[1], RC);
	struct virtio_rdma_cmd_create_qp req =
		eg_create_qp_req(RC, a.pdn, a.cqn);
	struct virtio_rdma_ack_create_qp ack;
	struct eg_wr wr;
	uint32_t i;

	req.cap.max_send_sge = htole32(2);
	assert_int_equal(eg_command(a.guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	a.qpn = le32toh(ack.qpn);
	eg_connect(&a, &b, RC);
	wr = eg_send(&a, 1, 0, 4);
	for (i = 1; i < 3; i++)
		wr.sge[i] = wr.sge[0];
	wr.num_sge = 2;
	eg_recv(&b, 1, IN, 100);
	eg_post_send(&a, &wr);
	wr.wr_id = 2;
	wr.num_sge = 3;
	eg_post_send(&a, &wr);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	eg_expect(&a, 2, OP_ERR);
}

/* Slots that end anywhere before the request does. */
static void test_short_send_slot(void **state)
{
	static const uint32_t lens[] = { 1, 7, 8, 47, 560, 575, 576, 591 };
	struct engine *engine = *state;
	struct eg_end a = eg_open(&engine->guest[0], RC);
	struct eg_end b = eg_open(&engine->guest[1], RC);
	struct eg_ring *sq;
	struct eg_wr wr;
	struct eg_wc wc;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		eg_connect(&a, &b, RC);
		sq = &a.guest->sq[a.qpn];
		sq->vq.desc[0].len = htole32(lens[i]);
		wr = eg_send(&a, 0x77, 0, 4);
		eg_post_send(&a, &wr);
		eg_run(engine);
		assert_true(eg_poll(&a, &wc));
		assert_int_equal(wc.status, OP_ERR);
		assert_int_equal(wc.vendor_err, VENDOR_ERR_SLOT_SHORT);
		assert_int_equal(wc.wr_id, 0x77);	/* fits into a byte */
		sq->vq.desc[0].len = htole32(sq->slot_size);
		eg_destroy_qp(a.guest, a.qpn);
		eg_destroy_qp(b.guest, b.qpn);
		a.qpn = eg_create_qp(a.guest, RC, a.pdn, a.cqn);
		b.qpn = eg_create_qp(b.guest, RC, b.pdn, b.cqn);
	}
}

/* A slot in many pieces is one slot. */
static void test_slot_in_pieces(void **state)
{
	struct two t = two_up(state);
	struct eg_ring *sq = &t.a.guest->sq[t.a.qpn];
	struct vring_desc *desc = sq->vq.desc;
	struct eg_wr wr = eg_send(&t.a, 1, 0, 100);
	uint32_t i;

	for (i = 0; i < 60; i++) {
		desc[i].addr = htole64(sq->slots + i * 10);
		desc[i].len = htole32(10);
		desc[i].flags = htole16(VRING_DESC_F_NEXT);
		desc[i].next = htole16(i + 1);
	}
	desc[60].addr = htole64(sq->slots + 600);
	eg_fill(t.a.guest, 0, 100, 1);
	eg_recv(&t.b, 2, IN, 100);
	eg_post_send(&t.a, &wr);
	eg_run(t.engine);
	eg_expect(&t.a, 1, OK);
	eg_expect(&t.b, 2, OK);
	eg_check(t.b.guest, IN, 100, 1, 0);
}

static void receive_malformed(void **state, uint32_t num_sge, uint32_t slot_len,
			      uint32_t vendor_err)
{
	struct two t = two_up(state);
	struct eg_ring *rq = &t.b.guest->rq[t.b.qpn];
	struct eg_wr wr = eg_send(&t.a, 1, 0, 4);
	struct eg_wc wc;

	rq->vq.desc[0].len = htole32(slot_len);
	eg_post_recv(&t.b, 0x22, &(struct eg_sge) { EG_VA, 4, t.b.lkey },
		     num_sge);
	eg_recv(&t.b, 3, IN, 4);
	eg_post_send(&t.a, &wr);
	eg_run(t.engine);
	assert_true(eg_poll(&t.b, &wc));
	assert_int_equal(wc.status, OP_ERR);
	assert_int_equal(wc.vendor_err, vendor_err);
	assert_int_equal(wc.wr_id, 0x22);
	eg_expect(&t.b, 3, FLUSH);
	eg_expect(&t.a, 1, VIRTIO_IB_WC_REM_OP_ERR);
	expect_beside(&t);
}

static void test_receive_short_slot(void **state)
{
	receive_malformed(state, 1, 39, VENDOR_ERR_SLOT_SHORT);
}

static void test_receive_tiny_slot(void **state)
{
	receive_malformed(state, 1, 1, VENDOR_ERR_SLOT_SHORT);
}

/* ------------------------------------------------------------------------- */
/* Rings                                                                     */
/* ------------------------------------------------------------------------- */

/* A broken ring completes nothing and affects no other QP. */
static void expect_broken(const struct two *t, const struct eg_end *end)
{
	kick(end);
	eg_run(t->engine);
	assert_int_equal(eg_state(end->guest, end->qpn), VIRTIO_IB_QPS_ERR);
	assert_false(rnic_poll(end->guest->rnic));
	/* The broken QP does not keep the loop awake either. */
	assert_false(rnic_sleep(end->guest->rnic));
	rnic_wake(end->guest->rnic);
	expect_beside(t);
	eg_destroy_qp(end->guest, end->qpn);
}

static void test_sq_index_far_ahead(void **state)
{
	struct two t = two_up(state);

	t.a.guest->sq[t.a.qpn].vq.avail->idx = htole16(EG_QUEUE + 1);
	expect_broken(&t, &t.a);
	eg_expect_none(&t.a);
}

static void test_sq_index_behind(void **state)
{
	struct two t = two_up(state);

	t.a.guest->sq[t.a.qpn].vq.avail->idx = htole16(0xffff);
	expect_broken(&t, &t.a);
	eg_expect_none(&t.a);
}

static void test_sq_head_out_of_range(void **state)
{
	struct two t = two_up(state);
	struct eg_ring *sq = &t.a.guest->sq[t.a.qpn];

	sq->vq.avail->ring[0] = htole16(EG_QUEUE);
	sq->vq.avail->idx = htole16(1);
	expect_broken(&t, &t.a);
	eg_expect_none(&t.a);
}

static void test_sq_loop(void **state)
{
	struct two t = two_up(state);
	struct eg_ring *sq = &t.a.guest->sq[t.a.qpn];

	sq->vq.desc[0].flags = htole16(VRING_DESC_F_NEXT);
	sq->vq.desc[0].next = 0;
	sq->vq.avail->idx = htole16(1);
	expect_broken(&t, &t.a);
	eg_expect_none(&t.a);
}

static void test_sq_buffer_outside_memory(void **state)
{
	struct two t = two_up(state);
	struct eg_ring *sq = &t.a.guest->sq[t.a.qpn];

	sq->vq.desc[0].addr = htole64(EG_BASE - 8);
	sq->vq.avail->idx = htole16(1);
	expect_broken(&t, &t.a);
	eg_expect_none(&t.a);
}

/* Requests that were taken before the ring broke are flushed. */
static void test_sq_breaks_with_work_under_way(void **state)
{
	struct two t = two_up(state);
	struct eg_ring *sq = &t.a.guest->sq[t.a.qpn];
	struct eg_wr wr = eg_send(&t.a, 1, 0, 4);

	eg_destroy_qp(t.b.guest, t.b.qpn);	/* no answer */
	eg_post_send(&t.a, &wr);
	eg_run(t.engine);
	assert_int_equal(eg_used(sq), 0);
	wr.wr_id = 2;
	eg_post_send(&t.a, &wr);
	sq->vq.avail->ring[1] = htole16(0xffff);
	expect_broken(&t, &t.a);
	eg_expect(&t.a, 1, FLUSH);
	eg_expect_none(&t.a);
}

/* More requests than the queue has slots, none of them given back. */
static void test_sq_overfilled(void **state)
{
	struct two t = two_up(state);
	struct eg_wr wr = eg_send(&t.a, 0, 0, 4);
	struct eg_wc wc;
	uint32_t i;

	eg_destroy_qp(t.b.guest, t.b.qpn);	/* no answer */
	for (i = 0; i < EG_QUEUE; i++) {
		wr.wr_id = i;
		eg_post_send(&t.a, &wr);
	}
	eg_run(t.engine);
	for (; i < 2 * EG_QUEUE; i++) {
		wr.wr_id = i;
		eg_post_send(&t.a, &wr);
	}
	eg_run(t.engine);
	assert_int_equal(eg_used(&t.a.guest->sq[t.a.qpn]), 0);
	for (i = 0; i < 3; i++) {
		engine_loop_advance(t.engine->loop, eg_ack_ns(i));
		eg_run(t.engine);
	}
	/* The slots hold the later requests; the first ones were copied. */
	for (i = 0; eg_poll(&t.a, &wc); i++) {
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.status, i ? FLUSH :
				 VIRTIO_IB_WC_RETRY_EXC_ERR);
	}
	assert_int_equal(i, EG_QUEUE);
	expect_beside(&t);
}

static void test_rq_broken(void **state)
{
	struct two t = two_up(state);
	struct eg_ring *rq = &t.b.guest->rq[t.b.qpn];
	struct eg_wr wr = eg_send(&t.a, 1, 0, 4);

	rq->vq.avail->ring[0] = htole16(EG_QUEUE + 3);
	rq->vq.avail->idx = htole16(1);
	eg_post_send(&t.a, &wr);
	eg_run(t.engine);
	eg_expect(&t.a, 1, VIRTIO_IB_WC_REM_OP_ERR);
	expect_broken(&t, &t.b);
	eg_expect_none(&t.b);
}

/* A guest may post a slot that is in use: it is sent each time. */
static void test_slot_posted_twice(void **state)
{
	struct two t = two_up(state);
	struct eg_ring *sq = &t.a.guest->sq[t.a.qpn];
	struct eg_wr wr = eg_send(&t.a, 1, 0, 4);
	uint32_t i;

	eg_post_send(&t.a, &wr);
	for (i = 1; i < 5; i++)
		sq->vq.avail->ring[i] = 0;
	sq->avail = 5;
	sq->vq.avail->idx = htole16(5);
	for (i = 0; i < 5; i++)
		eg_recv(&t.b, i, IN, 4);
	eg_run(t.engine);
	for (i = 0; i < 5; i++) {
		eg_expect(&t.a, 1, OK);
		eg_expect(&t.b, i, OK);
	}
	expect_beside(&t);
}

/* Random words in rings and slots; the QP beside goes on working. */
static void test_garbage(void **state)
{
	struct two t = two_up(state);
	uint32_t round, i, x = 12345, *word;
	struct eg_ring *ring;
	struct eg_wc wc;

	for (round = 0; round < 300; round++) {
		for (i = 0; i < 2; i++) {
			ring = i ? &t.a.guest->rq[t.a.qpn] :
				   &t.a.guest->sq[t.a.qpn];
			word = eg_ptr(t.a.guest, ring->slots);
			for (uint32_t n = 0; n < 2000; n++) {
				x = x * 1664525 + 1013904223;
				word[x % (ring->slot_size * EG_QUEUE / 4)] =
					x >> (x % 24);
			}
			x = x * 1664525 + 1013904223;
			ring->vq.avail->ring[x % EG_QUEUE] =
				htole16(x >> 8 & (round & 1 ? 0x3f : 0xffff));
			ring->avail += x >> 24 & 7;
			ring->vq.avail->idx = htole16(ring->avail);
		}
		kick(&t.a);
		engine_loop_advance(t.engine->loop, 10 * MS);
		eg_run(t.engine);
		while (eg_poll(&t.a, &wc))
			;
		expect_beside(&t);
		if (eg_state(t.a.guest, t.a.qpn) == VIRTIO_IB_QPS_RTS)
			continue;
		eg_destroy_qp(t.a.guest, t.a.qpn);
		eg_destroy_qp(t.b.guest, t.b.qpn);
		t.a.qpn = eg_create_qp(t.a.guest, RC, t.a.pdn, t.a.cqn);
		t.b.qpn = eg_create_qp(t.b.guest, RC, t.b.pdn, t.b.cqn);
		eg_connect(&t.a, &t.b, RC);
	}
}

/* ------------------------------------------------------------------------- */
/* Doorbells                                                                 */
/* ------------------------------------------------------------------------- */

/* As eg_post_send(), without the doorbell. */
static void post_quietly(const struct eg_end *end, uint64_t wr_id)
{
	struct eg_ring *sq = &end->guest->sq[end->qpn];
	struct virtio_rdma_sq_req *slot = eg_slot(sq);

	memset(slot, 0, sizeof(*slot));
	slot->wr_id = htole64(wr_id);
	slot->opcode = VIRTIO_IB_WR_SEND;
	slot->send_flags = VIRTIO_IB_SEND_SIGNALED;
	eg_post_slot(sq);
}

static void test_doorbells(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_ring *sq;

	eg_pair(engine, RC, &a, &b);
	sq = &a.guest->sq[a.qpn];
	eg_recv(&b, 1, IN, 4);
	eg_recv(&b, 2, IN, 4);
	eg_recv(&b, 3, IN, 4);

	/* A new QP asks for doorbells; the receive queue needs none. */
	assert_true(eg_wants_kick(sq));
	assert_false(eg_wants_kick(&b.guest->rq[b.qpn]));
	post_quietly(&a, 1);
	kick(&a);
	eg_run(engine);
	eg_expect(&a, 1, OK);

	/* Busy: no doorbell is asked for. */
	assert_false(eg_wants_kick(sq));
	post_quietly(&a, 2);
	eg_run(engine);
	eg_expect(&a, 2, OK);

	/* Asleep: a doorbell is asked for, unless work is there already. */
	assert_false(rnic_sleep(a.guest->rnic));
	assert_true(eg_wants_kick(sq));
	rnic_wake(a.guest->rnic);
	assert_false(eg_wants_kick(sq));
	post_quietly(&a, 3);
	assert_true(rnic_sleep(a.guest->rnic));
	eg_run(engine);
	eg_expect(&a, 3, OK);
}

/* A QP without work asks for a doorbell and is then not polled any more. */
static void test_idle(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_ring *sq;

	eg_pair(engine, RC, &a, &b);
	sq = &a.guest->sq[a.qpn];
	eg_recv(&b, 1, IN, 4);
	eg_recv(&b, 2, IN, 4);
	post_quietly(&a, 1);
	kick(&a);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	assert_false(eg_wants_kick(sq));
	engine_loop_advance(engine->loop, 2 * MS);
	assert_false(rnic_poll(a.guest->rnic));
	assert_true(eg_wants_kick(sq));
	/* Without a doorbell the request is not seen. */
	post_quietly(&a, 2);
	assert_false(rnic_poll(a.guest->rnic));
	eg_expect_none(&a);
	rnic_wake(a.guest->rnic);
	assert_false(rnic_sleep(a.guest->rnic));
	kick(&a);
	eg_run(engine);
	eg_expect(&a, 2, OK);
	assert_false(eg_wants_kick(sq));
}

/* A request posted while the QP goes to sleep keeps it on the list. */
static void test_idle_race(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;

	eg_pair(engine, RC, &a, &b);
	eg_run(engine);
	engine_loop_advance(engine->loop, 2 * MS);
	eg_recv(&b, 1, IN, 4);
	post_quietly(&a, 1);
	eg_run(engine);
	eg_expect(&a, 1, OK);
}

/* A request that cannot go on yet does not keep the loop awake. */
static void test_sleep_while_waiting(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;

	eg_pair(engine, RC, &a, &b);
	post_quietly(&a, 1);
	kick(&a);
	eg_run(engine);
	post_quietly(&a, 2);
	eg_run(engine);
	assert_false(rnic_sleep(a.guest->rnic));
	assert_int_equal(engine_loop_next(engine->loop), RNR_NS);
	eg_recv(&b, 1, IN, 4);
	eg_recv(&b, 2, IN, 4);
	rnic_wake(a.guest->rnic);
	engine_loop_advance(engine->loop, RNR_NS);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	eg_expect(&a, 2, OK);
}

/* In ERR both queues are flushed on their doorbells. */
static void test_doorbells_in_error(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_ring *rq;

	eg_pair(engine, RC, &a, &b);
	rq = &a.guest->rq[a.qpn];
	eg_to(&a, RC, VIRTIO_IB_QPS_ERR, &b);
	eg_run(engine);
	assert_false(rnic_sleep(a.guest->rnic));
	assert_true(eg_wants_kick(rq));
	assert_true(eg_wants_kick(&a.guest->sq[a.qpn]));
	eg_recv(&a, 1, IN, 4);
	assert_true(rnic_sleep(a.guest->rnic));
	eg_run(engine);
	eg_expect(&a, 1, FLUSH);
}

static void test_spurious_kicks(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	uint32_t i;

	for (i = 0; i < EG_QPS + 3; i++) {
		rnic_queue_kick(guest->rnic, RNIC_SQ, i);
		rnic_queue_kick(guest->rnic, RNIC_RQ, i);
	}
	rnic_queue_kick(guest->rnic, RNIC_SQ, UINT32_MAX);
	rnic_queue_kick(guest->rnic, RNIC_RQ, UINT32_MAX);
	assert_false(rnic_poll(guest->rnic));
}

/* ------------------------------------------------------------------------- */
/* Queues stop and start                                                     */
/* ------------------------------------------------------------------------- */

/* While the guest is paused its QPs stand still; then they go on. */
static void test_pause(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_wr wr;
	uint32_t i;

	eg_pair(engine, RC, &a, &b);
	wr = eg_send(&a, 1, 0, 1 << 20);
	eg_fill(a.guest, 0, 1 << 20, 1);
	eg_recv(&b, 1, IN, 1 << 20);
	eg_post_send(&a, &wr);
	assert_true(rnic_poll(a.guest->rnic));
	wr = eg_send(&a, 2, 0, 4);
	eg_post_send(&a, &wr);
	for (i = 0; i < EG_CQS; i++)
		rnic_queue_stop(a.guest->rnic, RNIC_CQ, i);
	for (i = 0; i < EG_QPS; i++) {
		rnic_queue_stop(a.guest->rnic, RNIC_SQ, i);
		rnic_queue_stop(a.guest->rnic, RNIC_RQ, i);
	}
	kick(&a);
	assert_false(rnic_poll(a.guest->rnic));
	assert_false(rnic_sleep(a.guest->rnic));
	rnic_wake(a.guest->rnic);
	engine_loop_advance(engine->loop, 1000 * MS);
	assert_false(rnic_poll(a.guest->rnic));

	for (i = 0; i < EG_CQS; i++)
		rnic_queue_start(a.guest->rnic, RNIC_CQ, i, &a.guest->cq[i].vq);
	for (i = 0; i < EG_QPS; i++) {
		rnic_queue_start(a.guest->rnic, RNIC_SQ, i, &a.guest->sq[i].vq);
		rnic_queue_start(a.guest->rnic, RNIC_RQ, i, &a.guest->rq[i].vq);
	}
	eg_recv(&b, 2, IN + (1 << 20), 4);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	eg_expect(&a, 2, OK);
	eg_expect(&b, 1, OK);
	eg_expect(&b, 2, OK);
	eg_check(b.guest, IN, 1 << 20, 1, 0);
}

/* A front-end may take the memory away before it stops the queues. */
static void test_pause_of_memory(void **state)
{
	const struct guest_mem none = {};
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_wr wr;

	eg_pair(engine, RC, &a, &b);
	wr = eg_send(&a, 1, 0, 5000);
	eg_fill(a.guest, 0, 5000, 1);
	eg_recv(&b, 1, IN, 5000);
	eg_post_send(&a, &wr);
	rnic_mem_changed(a.guest->rnic, &none);
	eg_run(engine);
	rnic_mem_changed(b.guest->rnic, &none);
	rnic_mem_changed(a.guest->rnic, &a.guest->map);
	eg_run(engine);
	eg_expect_none(&a);
	eg_expect_none(&b);
	rnic_mem_changed(b.guest->rnic, &b.guest->map);
	engine_loop_advance(engine->loop, 4096 << 10);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	eg_expect(&b, 1, OK);
	eg_check(b.guest, IN, 5000, 1, 0);
}

/* A message without a receiver, then a pause longer than all timeouts. */
static void pause_with_retries(void **state, uint8_t retry_cnt, uint8_t status)
{
	struct engine *engine = *state;
	struct eg_end a = eg_open(&engine->guest[0], RC);
	struct eg_end b = eg_open(&engine->guest[1], RC);
	struct virtio_rdma_cmd_modify_qp req;
	struct eg_wr wr = eg_send(&a, 1, 0, 4);
	uint32_t i;

	eg_to(&a, RC, VIRTIO_IB_QPS_INIT, &b);
	eg_to(&b, RC, VIRTIO_IB_QPS_INIT, &a);
	eg_to(&a, RC, VIRTIO_IB_QPS_RTR, &b);
	req = eg_modify_req(a.qpn, RC, VIRTIO_IB_QPS_RTS, b.guest, b.qpn);
	req.retry_cnt = retry_cnt;
	assert_int_equal(eg_modify(a.guest, &req), VIRTIO_NET_OK);
	eg_recv(&b, 1, IN, 4);
	eg_post_send(&a, &wr);
	eg_run(engine);
	rnic_queue_stop(a.guest->rnic, RNIC_SQ, a.qpn);
	for (i = 0; i < 20; i++) {
		engine_loop_advance(engine->loop, 4096 << 10);
		eg_run(engine);
	}
	eg_expect_none(&a);
	eg_to(&b, RC, VIRTIO_IB_QPS_RTR, &a);
	rnic_queue_start(a.guest->rnic, RNIC_SQ, a.qpn, &a.guest->sq[a.qpn].vq);
	engine_loop_advance(engine->loop, 4096 << 10);
	eg_run(engine);
	eg_expect(&a, 1, status);
}

/* Retries do not run out while the guest is paused. */
static void test_pause_stops_the_clock(void **state)
{
	pause_with_retries(state, 1, OK);
}

static void test_pause_without_retries(void **state)
{
	pause_with_retries(state, 0, VIRTIO_IB_WC_RETRY_EXC_ERR);
}

/* A QP destroyed while its queues are stopped leaves nothing in them. */
static void test_destroy_while_paused(void **state)
{
	struct two t = two_up(state);
	struct eg_ring *sq = &t.a.guest->sq[t.a.qpn];
	struct eg_ring *rq = &t.a.guest->rq[t.a.qpn];
	struct eg_wr wr = eg_send(&t.a, 1, 0, 4);
	uint32_t old = t.a.qpn;

	eg_recv(&t.b, 1, IN, 4);
	eg_recv(&t.b, 2, IN, 4);
	eg_post_send(&t.a, &wr);
	eg_run(t.engine);
	eg_expect(&t.a, 1, OK);
	rnic_queue_stop(t.a.guest->rnic, RNIC_SQ, old);
	rnic_queue_stop(t.a.guest->rnic, RNIC_RQ, old);
	eg_destroy_qp(t.a.guest, old);
	rnic_queue_start(t.a.guest->rnic, RNIC_SQ, old, &sq->vq);
	rnic_queue_start(t.a.guest->rnic, RNIC_RQ, old, &rq->vq);
	/* The QP number is used again. */
	do {
		t.a.qpn = eg_create_qp(t.a.guest, RC, t.a.pdn, t.a.cqn);
		if (t.a.qpn != old)
			eg_destroy_qp(t.a.guest, t.a.qpn);
	} while (t.a.qpn != old);
	eg_destroy_qp(t.b.guest, t.b.qpn);
	t.b.qpn = eg_create_qp(t.b.guest, RC, t.b.pdn, t.b.cqn);
	eg_connect(&t.a, &t.b, RC);
	eg_recv(&t.b, 3, IN, 4);
	wr.wr_id = 4;
	eg_post_send(&t.a, &wr);
	eg_run(t.engine);
	eg_expect(&t.a, 4, OK);
}

/* A paused peer does not answer, as if it were gone for that time. */
static void test_pause_of_peer(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_wr wr;

	eg_pair(engine, RC, &a, &b);
	rnic_queue_stop(b.guest->rnic, RNIC_RQ, b.qpn);
	wr = eg_send(&a, 1, 0, 4);
	eg_recv(&b, 1, IN, 4);
	eg_post_send(&a, &wr);
	eg_run(engine);
	eg_expect_none(&a);
	rnic_queue_start(b.guest->rnic, RNIC_RQ, b.qpn, &b.guest->rq[b.qpn].vq);
	engine_loop_advance(engine->loop, 4096 << 10);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	eg_expect(&b, 1, OK);
}

/* RESET gives slots back by their heads: what they are made of does not matter. */
static void test_reset_walks_no_chain(void **state)
{
	struct eg_pair p = eg_pair_up(state, VIRTIO_IB_QPT_RC);
	struct eg_ring *ring = &p.b.guest->rq[p.b.qpn];
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(p.b.qpn, VIRTIO_IB_QPT_RC, VIRTIO_IB_QPS_RESET,
			      p.b.guest, 0);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		eg_recv(&p.b, i, EG_IN, 4);
		ring->vq.desc[i].flags = htole16(VRING_DESC_F_NEXT);
		ring->vq.desc[i].next = htole16(i);
	}
	assert_int_equal(eg_modify(p.b.guest, &req), VIRTIO_NET_OK);
	assert_int_equal(eg_used(ring), 3);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
#define E(name)	cmocka_unit_test_setup_teardown(name, eg_setup_event_idx, \
						eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_bad_opcode),
		T(test_worst_opcode),
		T(test_bad_flags),
		T(test_inline_read),
		T(test_too_many_sge),
		T(test_absurd_num_sge),
		T(test_too_much_inline),
		T(test_too_long_message),
		T(test_lengths_overflow),
		T(test_sge_limit_of_qp),
		T(test_short_send_slot),
		T(test_slot_in_pieces),
		T(test_receive_short_slot),
		T(test_receive_tiny_slot),
		T(test_sq_index_far_ahead),
		T(test_sq_index_behind),
		T(test_sq_head_out_of_range),
		T(test_sq_loop),
		T(test_sq_buffer_outside_memory),
		T(test_sq_breaks_with_work_under_way),
		T(test_sq_overfilled),
		T(test_rq_broken),
		T(test_slot_posted_twice),
		T(test_garbage),
		T(test_doorbells),
		E(test_doorbells),
		T(test_idle),
		E(test_idle),
		T(test_idle_race),
		E(test_idle_race),
		T(test_sleep_while_waiting),
		T(test_doorbells_in_error),
		E(test_doorbells_in_error),
		T(test_spurious_kicks),
		T(test_pause),
		T(test_pause_of_memory),
		T(test_pause_stops_the_clock),
		T(test_pause_without_retries),
		T(test_destroy_while_paused),
		T(test_pause_of_peer),
		T(test_reset_walks_no_chain),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
