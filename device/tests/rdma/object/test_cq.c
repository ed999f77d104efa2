// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: slots, arming, overrun.
 */
#include "tests/lib/engine_guest.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define FLUSH	VIRTIO_IB_WC_WR_FLUSH_ERR
#define IN	EG_IN

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

/* A message from a to b, signaled, and with these flags. */
static void message(const struct eg_pair *p, uint64_t wr_id, uint8_t flags)
{
	struct eg_wr wr = eg_send(&p->a, wr_id, 0, 4);

	wr.flags |= flags;
	eg_recv(&p->b, wr_id, IN, 4);
	eg_post_send(&p->a, &wr);
	eg_run(p->engine);
	eg_expect(&p->a, wr_id, OK);
	eg_expect(&p->b, wr_id, OK);
}

static void test_not_armed(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	message(&p, 1, VIRTIO_IB_SEND_SOLICITED);
	assert_int_equal(calls(&p.a), 0);
	assert_int_equal(calls(&p.b), 0);
}

static void test_armed_next(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	arm(&p.b, NEXT);
	assert_int_equal(calls(&p.b), 0);
	message(&p, 1, 0);
	assert_int_equal(calls(&p.b), 1);
	assert_int_equal(calls(&p.a), 0);
	/* One interrupt for each arming. */
	message(&p, 2, 0);
	message(&p, 3, VIRTIO_IB_SEND_SOLICITED);
	assert_int_equal(calls(&p.b), 1);
	arm(&p.b, NEXT);
	arm(&p.b, NEXT);
	message(&p, 4, 0);
	message(&p, 5, 0);
	assert_int_equal(calls(&p.b), 2);
	/* A send completion raises an interrupt as well. */
	arm(&p.a, NEXT);
	message(&p, 6, 0);
	assert_int_equal(calls(&p.a), 1);
	assert_int_equal(calls(&p.b), 2);
}

/* Arming is not for completions that are there already. */
static void test_armed_after_completion(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);

	eg_recv(&p.b, 1, IN, 4);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	arm(&p.b, NEXT);
	eg_run(p.engine);
	assert_int_equal(calls(&p.b), 0);
	eg_expect(&p.b, 1, OK);
	eg_expect(&p.a, 1, OK);
	message(&p, 2, 0);
	assert_int_equal(calls(&p.b), 1);
}

static void test_armed_solicited(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	arm(&p.a, SOLICITED);
	arm(&p.b, SOLICITED);
	message(&p, 1, 0);
	assert_int_equal(calls(&p.b), 0);
	message(&p, 2, VIRTIO_IB_SEND_SOLICITED);
	assert_int_equal(calls(&p.b), 1);
	message(&p, 3, VIRTIO_IB_SEND_SOLICITED);
	assert_int_equal(calls(&p.b), 1);
	/* The sender's own completion is not solicited. */
	assert_int_equal(calls(&p.a), 0);
}

static void test_solicited_write_with_immediate(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);

	arm(&p.b, SOLICITED);
	wr.opcode = VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p.b.lkey;
	wr.flags |= VIRTIO_IB_SEND_SOLICITED;
	eg_recv(&p.b, 1, IN, 4);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.b, 1, OK);
	assert_int_equal(calls(&p.b), 1);
}

/* A long message is solicited by its last packet only, and once. */
static void test_solicited_long_message(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 1 << 20);

	arm(&p.b, SOLICITED);
	wr.flags |= VIRTIO_IB_SEND_SOLICITED;
	eg_recv(&p.b, 1, IN, 1 << 20);
	eg_post_send(&p.a, &wr);
	assert_true(rnic_poll(p.a.guest->rnic));
	assert_int_equal(calls(&p.b), 0);
	eg_run(p.engine);
	assert_int_equal(calls(&p.b), 1);
	eg_expect(&p.b, 1, OK);
}

/* Any error counts as solicited. */
static void test_armed_solicited_error(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	arm(&p.b, SOLICITED);
	eg_recv(&p.b, 1, IN, 4);
	eg_to(&p.b, RC, VIRTIO_IB_QPS_ERR, &p.a);
	eg_run(p.engine);
	assert_int_equal(calls(&p.b), 1);
	eg_expect(&p.b, 1, FLUSH);
}

static void test_next_overrides_solicited(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	arm(&p.b, NEXT);
	arm(&p.b, SOLICITED);
	message(&p, 1, 0);
	assert_int_equal(calls(&p.b), 1);
	arm(&p.b, NEXT | SOLICITED);
	message(&p, 2, 0);
	assert_int_equal(calls(&p.b), 2);
}

/* All bytes of a slot are written, the padding with zeroes. */
static void test_slot_contents(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *cq = &p.b.guest->cq[p.b.cqn];
	struct virtio_rdma_cq_req want = {
		.wr_id = htole64(0x1122334455667788ull),
		.opcode = VIRTIO_IB_WC_RECV,
		.byte_len = htole32(4),
		.imm_data = htobe32(0xa1b2c3d4),
		.qp_num = htole32(p.b.qpn),
		.wc_flags = htole32(VIRTIO_IB_WC_WITH_IMM),
	};
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	uint8_t *slot = eg_ptr(p.b.guest, cq->slots);

	memset(slot, 0xaa, 2 * sizeof(want));
	wr.opcode = VIRTIO_IB_WR_SEND_WITH_IMM;
	wr.imm = 0xa1b2c3d4;
	eg_recv(&p.b, 0x1122334455667788ull, IN, 4);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(eg_used(cq), 1);
	assert_memory_equal(slot, &want, sizeof(want));
	assert_int_equal(slot[sizeof(want)], 0xaa);
}

/* ------------------------------------------------------------------------- */
/* Overrun                                                                   */
/* ------------------------------------------------------------------------- */

/* Fill @end's CQ to the last slot by messages to itself. */
static void fill_cq(const struct eg_pair *p, uint32_t n)
{
	struct eg_wr wr = eg_send(&p->a, 1, 0, 4);
	uint32_t i;

	for (i = 0; i < n; i++) {
		/* Only the last one completes if it has arrived. */
		wr.flags = i + 1 < n ? 0 : VIRTIO_IB_SEND_SIGNALED;
		eg_recv(&p->b, i, IN, 4);
		eg_post_send(&p->a, &wr);
		eg_run(p->engine);
	}
}

static void test_full_is_not_overrun(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	uint32_t i;

	fill_cq(&p, EG_QUEUE);
	eg_expect(&p.a, 1, OK);
	for (i = 0; i < EG_QUEUE; i++)
		eg_expect(&p.b, i, OK);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);
	message(&p, 77, 0);
}

static void test_overrun(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_end other = p.b, far;
	struct virtio_rdma_cmd_create_qp req;
	struct virtio_rdma_ack_create_qp ack;
	struct eg_wr wr;
	uint32_t i;

	/* Another QP completes to the CQ, a third one to another CQ. */
	other.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_to(&other, RC, VIRTIO_IB_QPS_INIT, &p.a);
	far = p.b;
	far.cqn = eg_create_cq(p.b.guest);
	far.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, far.cqn);
	eg_to(&far, RC, VIRTIO_IB_QPS_INIT, &p.a);

	fill_cq(&p, EG_QUEUE + 1);
	/* Nothing tells the receiver of the last message, so the sender hears of that. */
	eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_OP_ERR);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(p.b.guest, other.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(p.b.guest, far.qpn), VIRTIO_IB_QPS_INIT);

	/* The CQ stays in error although there is room again. */
	for (i = 0; i < EG_QUEUE; i++)
		eg_expect(&p.b, i, OK);
	eg_recv(&p.b, 99, IN, 4);
	rnic_queue_kick(p.b.guest->rnic, RNIC_RQ, p.b.qpn);
	wr = eg_send(&p.b, 98, 0, 4);
	eg_post_send(&p.b, &wr);
	eg_run(p.engine);
	eg_expect_none(&p.b);
	req = eg_create_qp_req(RC, p.b.pdn, p.b.cqn);
	assert_int_equal(eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_ERR);
}

/* The CQ of a sender, in the middle of its sending. */
static void test_overrun_of_send_cq(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 0, 0, 4);
	uint32_t i;

	for (i = 0; i < EG_QUEUE / 2; i++) {
		eg_post_send(&p.a, &wr);
		eg_recv(&p.b, i, IN, 4);
	}
	eg_run(p.engine);
	for (i = 0; i < EG_QUEUE / 2; i++)
		eg_expect(&p.b, i, OK);
	for (i = 0; i < EG_QUEUE; i++) {
		eg_post_send(&p.a, &wr);
		eg_recv(&p.b, i, IN, 4);
	}
	eg_run(p.engine);
	assert_int_equal(eg_used(&p.a.guest->cq[p.a.cqn]), EG_QUEUE);
	assert_int_equal(eg_state(p.a.guest, p.a.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);
	/* All slots are given back, though nothing can be completed. */
	assert_int_equal(eg_used(&p.a.guest->sq[p.a.qpn]),
			 EG_QUEUE / 2 + EG_QUEUE);
}

/* An overrun fails both QPs, whose flushed requests overrun the CQ again. */
static void test_overrun_of_two(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };
	uint32_t i;

	/* Both QPs in one guest, the send CQ of each the receive CQ of both. */
	p.a = eg_open(&engine->guest[0], RC);
	p.b = p.a;
	p.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_connect(&p.a, &p.b, RC);
	for (i = 0; i < EG_QUEUE; i++) {
		struct eg_wr wr = eg_send(&p.a, i, 0, 4);

		eg_recv(&p.b, i, IN, 4);
		eg_post_send(&p.a, &wr);
		wr = eg_send(&p.b, i, 0, 4);
		eg_recv(&p.a, i, IN, 4);
		eg_post_send(&p.b, &wr);
	}
	eg_run(engine);
	assert_int_equal(eg_used(&p.a.guest->cq[p.a.cqn]), EG_QUEUE);
	assert_int_equal(eg_state(p.a.guest, p.a.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(p.a.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(engine_loop_timers(engine->loop), 0);
}

/* A slot too short for a completion breaks the CQ. */
static void test_short_slot(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *cq = &p.b.guest->cq[p.b.cqn];
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	uint8_t *slot = eg_ptr(p.b.guest, cq->slots);

	cq->vq.desc[0].len = htole32(47);
	memset(slot, 0xaa, 48);
	eg_recv(&p.b, 1, IN, 4);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(slot[0], 0xaa);
	assert_int_equal(le32toh(cq->vq.used->ring[0].len), 0);
}

/* A slot that the device may only read. */
static void test_readable_slot(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *cq = &p.b.guest->cq[p.b.cqn];
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);
	uint8_t *slot = eg_ptr(p.b.guest, cq->slots);

	cq->vq.desc[0].flags = 0;
	memset(slot, 0xaa, 48);
	eg_recv(&p.b, 1, IN, 4);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(slot[0], 0xaa);
}

/* Garbage in the available ring of a CQ hits that CQ and its QPs, whose peers hear of it. */
static void test_broken_ring(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_ring *cq = &p.b.guest->cq[p.b.cqn];
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4);

	cq->vq.avail->ring[0] = htole16(EG_QUEUE + 5);
	eg_recv(&p.b, 1, IN, 4);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(eg_used(cq), 0);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_OP_ERR);
}

/* After an overrun the CQ can be destroyed and its virtqueue used again. */
static void test_recreate_after_overrun(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	__le32 cqn = htole32(p.b.cqn);

	fill_cq(&p, EG_QUEUE + 1);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_OP_ERR);
	eg_destroy_qp(p.b.guest, p.b.qpn);
	eg_destroy_qp(p.a.guest, p.a.qpn);
	assert_int_equal(eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_DESTROY_CQ,
				    &cqn, 4, NULL, 0), VIRTIO_NET_OK);
	eg_ring_reset(&p.b.guest->cq[p.b.cqn]);
	assert_int_equal(eg_create_cq(p.b.guest), p.b.cqn);
	p.a.qpn = eg_create_qp(p.a.guest, RC, p.a.pdn, p.a.cqn);
	p.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_connect(&p.a, &p.b, RC);
	message(&p, 5, 0);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_not_armed),
		T(test_armed_next),
		T(test_armed_after_completion),
		T(test_armed_solicited),
		T(test_solicited_write_with_immediate),
		T(test_solicited_long_message),
		T(test_armed_solicited_error),
		T(test_next_overrides_solicited),
		T(test_slot_contents),
		T(test_full_is_not_overrun),
		T(test_overrun),
		T(test_overrun_of_send_cq),
		T(test_overrun_of_two),
		T(test_short_slot),
		T(test_readable_slot),
		T(test_broken_ring),
		T(test_recreate_after_overrun),
	};

	return cmocka_run_group_tests_name("cq", tests, NULL, NULL);
}
