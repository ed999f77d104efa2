// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Direct CQs: rings of completions in memory.
 */
#include "tests/lib/engine_ring.h"
#include "tests/lib/work.h"

#include <stdlib.h>

#include "rdma/rnic_priv.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN

/* b receives n messages, and a has their completions taken. */
static void stream(struct er_pair *p, unsigned int n)
{
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	struct virtio_rdma_cqe cqe;

	while (n--) {
		er_recv(&p->b, IN, 4);
		er_post_send(&p->a.qp, &wr);
		eg_run(p->engine);
		assert_true(er_poll(&p->a.cq, &cqe));
		assert_int_equal(cqe.status, 0);
	}
}

/* Three times round, for both sizes of a completion. */
static void wrap(void **state, uint8_t shift)
{
	const struct er_shape shape = { .cqe = 16, .cqe_shift = shift };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	struct virtio_rdma_cqe cqe;
	unsigned int i;

	assert_int_equal(p->b.cq.cqn, EG_CQS);
	for (i = 0; i < 50; i++) {
		er_expect_none(&p->b);
		stream(p, 1);
		cqe = er_expect(&p->b, true, i, 0);
		assert_int_equal(cqe.opcode, VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV);
		assert_int_equal(le32toh(cqe.byte_len), 4);
		assert_int_equal(cqe.wc_flags | cqe.vlan | cqe.vendor_err, 0);
		assert_int_equal(cqe.reserved, 0);
	}
	er_pair_free(p);
}

static void test_wrap_32(void **state)
{
	wrap(state, 5);
}

static void test_wrap_64(void **state)
{
	wrap(state, 6);
}

/* It holds as many as it was created for; one more is an error for good. */
static void test_overrun(void **state)
{
	const struct er_shape shape = { .cqe = 16 };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	struct virtio_rdma_cqe before[16];
	struct er_qp qp;
	unsigned int i;

	er_give_events(p->b.end.guest, 0, 4);
	stream(p, 16);
	memcpy(before, p->b.cq.ring, sizeof(before));
	assert_int_equal(p->b.cq.control->device, 0);
	er_recv(&p->b, IN, 4);
	er_post_send(&p->a.qp, &(struct eg_wr) { .opcode = VIRTIO_IB_WR_SEND });
	eg_run(p->engine);
	assert_int_not_equal(p->b.cq.control->device, 0);
	er_expect_event(p->b.end.guest, 0, VIRTIO_RDMA_EVENT_CQ_ERROR, p->b.cq.cqn);
	assert_int_equal(eg_state(p->b.end.guest, p->b.qp.qpn), VIRTIO_IB_QPS_ERR);
	assert_memory_equal(before, p->b.cq.ring, sizeof(before));
	for (i = 0; i < 16; i++)
		er_expect(&p->b, true, i, 0);
	/* There is room now, but something is missing. */
	er_recv(&p->b, IN, 4);
	eg_run(p->engine);
	er_expect_none(&p->b);
	er_expect_no_event(p->b.end.guest, 0);
	/* No QP is made for such a CQ. */
	er_qp_init(&qp, &p->b.page, &p->b.cq, 6, RC, p->b.end.pdn, &shape);
	assert_int_equal(er_create_qp(&qp), VIRTIO_NET_ERR);
	assert_int_equal(er_destroy_qp(&p->b.qp), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_cq(&p->b.cq), VIRTIO_NET_OK);
	er_pair_free(p);
}

/* A consumer index that is nonsense harms this CQ alone. */
static void test_bad_consumer(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	p->b.cq.control->consumer = htole32(1);
	er_recv(&p->b, IN, 4);
	er_post_send(&p->a.qp, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_SIGNALED,
	});
	eg_run(p->engine);
	assert_int_not_equal(p->b.cq.control->device, 0);
	assert_int_equal(eg_state(p->b.end.guest, p->b.qp.qpn), VIRTIO_IB_QPS_ERR);
	er_pair_free(p);
}

static void test_armed(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_guest *guest = p->b.end.guest;

	er_give_events(guest, 0, 16);
	stream(p, 1);
	er_expect_no_event(guest, 0);
	er_arm(&p->b.cq, VIRTIO_RDMA_ARM_NEXT);
	stream(p, 2);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_COMPLETION, p->b.cq.cqn);
	er_expect_no_event(guest, 0);
	er_arm(&p->b.cq, VIRTIO_RDMA_ARM_SOLICITED);
	stream(p, 1);
	er_expect_no_event(guest, 0);
	er_arm(&p->b.cq, VIRTIO_RDMA_ARM_SOLICITED | VIRTIO_RDMA_ARM_NEXT);
	stream(p, 1);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_COMPLETION, p->b.cq.cqn);
	er_pair_free(p);
}

static void test_ring_lost(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_guest *guest = p->b.end.guest;

	er_give_events(guest, 0, 4);
	er_lose_page(guest, p->b.cq.pages[0]);
	er_recv(&p->b, IN, 4);
	er_post_send(&p->a.qp, &(struct eg_wr) { .opcode = VIRTIO_IB_WR_SEND });
	eg_run(p->engine);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_CQ_ERROR, p->b.cq.cqn);
	assert_int_not_equal(p->b.cq.control->device, 0);
	rnic_mem_changed(guest->rnic, &guest->map);
	er_pair_free(p);
}

/* While there is no memory at all, as in a guest that is paused, nothing happens. */
static void test_paused(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_guest *guest = p->b.end.guest;
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);

	er_recv(&p->b, IN, 4);
	rnic_mem_changed(guest->rnic, &guest_mem_none);
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect_none(&p->b);
	er_expect_none(&p->a);
	rnic_mem_changed(guest->rnic, &guest->map);
	engine_loop_advance(p->engine->loop, 5000000);
	eg_run(p->engine);
	er_expect(&p->b, true, 0, 0);
	er_expect(&p->a, false, 0, 0);
	er_pair_free(p);
}

/* A QP with virtqueues completes to a direct CQ, too. */
static void test_qp_of_virtqueues(void **state)
{
	struct engine *engine = *state;
	struct eg_end a = eg_open(&engine->guest[0], RC), b;
	struct virtio_rdma_cqe cqe;
	struct er_cq cq;
	unsigned int i;

	er_cq_init(&cq, &engine->guest[1], 16, 5, 0);
	assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
	b = (struct eg_end) {
		.guest = &engine->guest[1],
		.pdn = eg_create_pd(&engine->guest[1]),
	};
	b.qpn = eg_create_qp(b.guest, RC, b.pdn, cq.cqn);
	b.lkey = eg_reg(b.guest, b.pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE, EG_DATA);
	eg_connect(&a, &b, RC);
	for (i = 0; i < 3; i++) {
		struct eg_wr wr = eg_send(&a, i, 0, 4);

		eg_recv(&b, 7, IN, 4);
		eg_post_send(&a, &wr);
		eg_run(engine);
		eg_expect(&a, i, 0);
		assert_true(er_poll(&cq, &cqe));
		assert_int_equal(le32toh(cqe.wqe), i);
		assert_int_equal(cqe.opcode, VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV);
		assert_int_equal(le32toh(cqe.qp_num), b.qpn);
	}
}

static void expect_refused(struct er_cq *cq)
{
	assert_int_equal(er_create_cq(cq), VIRTIO_NET_ERR);
}

static void test_bad_requests(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct er_cq good, cq;

	er_cq_init(&good, guest, 256, 5, 1);
	cq = good;
	cq.req.cqe = htole32(255);
	expect_refused(&cq);
	cq = good;
	cq.req.cqe = htole32(8);
	cq.req.npages = htole32(1);
	expect_refused(&cq);
	cq = good;
	cq.req.cqe = htole32(1 << 23);
	expect_refused(&cq);
	cq = good;
	cq.req.cqe_shift = 4;
	expect_refused(&cq);
	cq.req.cqe_shift = 7;
	expect_refused(&cq);
	cq = good;
	cq.req.npages = htole32(1);
	expect_refused(&cq);
	cq.req.npages = htole32(3);
	expect_refused(&cq);
	cq = good;
	cq.req.flags = VIRTIO_RDMA_CQ_DIRECT;
	expect_refused(&cq);
	cq = good;
	cq.req.event_vq = htole16(EG_EVENT_VQS);
	expect_refused(&cq);
	cq = good;
	cq.req.control = htole64(1);
	expect_refused(&cq);
	cq = good;
	cq.pages[1] |= 64;
	expect_refused(&cq);
	cq = good;
	cq.pages[1] = EG_BASE + EG_SIZE;
	expect_refused(&cq);
	/* The list ends early. */
	assert_int_equal(eg_command(guest, CMD(CREATE_CQ), &good.req, sizeof(good.req),
				    &cq.cqn, 4), VIRTIO_NET_ERR);
	/* Nothing of all that is left. */
	assert_int_equal(guest->rnic->ctx.ring_pages, 0);
	assert_int_equal(er_create_cq(&good), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->ctx.ring_pages, 2);
	assert_int_equal(er_destroy_cq(&good), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->ctx.ring_pages, 0);
}

/* The largest one; its pages are read bit by bit, and an end in between leaves nothing. */
static void test_largest(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	const uint32_t n = 1 << 16;
	const size_t len = sizeof(struct virtio_rdma_cmd_create_cq_long) + 8ul * n;
	struct virtio_rdma_cmd_create_cq_long *req = calloc(1, len);
	struct rnic_request request;
	struct iovec iov;
	uint64_t rsp[4];
	size_t rsp_len;
	uint32_t cqn, i;

	assert_non_null(req);
	req->cqe = htole32(1 << 22);
	req->cqe_shift = 6;
	req->flags = VIRTIO_RDMA_CQ_CONTROL | VIRTIO_RDMA_CQ_DIRECT;
	req->control = htole64(EG_BASE);
	req->npages = htole32(n);
	for (i = 0; i < n; i++)
		req->pages[i] = htole64(EG_DATA);
	assert_int_equal(eg_command(guest, CMD(CREATE_CQ), req, len, &cqn, 4),
			 VIRTIO_NET_OK);
	assert_int_equal(eg_rounds, 32);
	assert_int_equal(guest->rnic->ctx.ring_pages, n);
	/* A change of the memory map does not look at each of them. */
	work.lookups = 0;
	rnic_mem_changed(guest->rnic, &guest->map);
	assert_in_range(work.lookups, 0, 4);

	iov = (struct iovec) { .iov_base = req, .iov_len = len };
	request = (struct rnic_request) { .iov = &iov, .iov_n = 1, .len = len };
	assert_int_equal(rnic_command(guest->rnic, CMD(CREATE_CQ), &request, rsp, 4,
				      &rsp_len), RNIC_COMMAND_MORE);
	rnic_command_abort(guest->rnic);
	assert_int_equal(guest->rnic->ctx.ring_pages, n);
	/* The same, and the function is reset instead. */
	assert_int_equal(rnic_command(guest->rnic, CMD(CREATE_CQ), &request, rsp, 4,
				      &rsp_len), RNIC_COMMAND_MORE);
	free(req);
}

/* Rings of all objects together are bounded. */
static void test_too_many_pages(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct er_cq cq;

	/* It sets what no state of a guest has. */
	eg_cycle_off = true;
	er_cq_init(&cq, guest, 256, 5, 0);
	guest->rnic->ctx.ring_pages = RNIC_RING_PAGES_MAX - 1;
	expect_refused(&cq);
	guest->rnic->ctx.ring_pages = RNIC_RING_PAGES_MAX - 2;
	assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_cq(&cq), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->ctx.ring_pages, RNIC_RING_PAGES_MAX - 2);
}

/* Their numbers begin behind those with virtqueues, and are used in turn. */
static void test_numbers(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct er_cq cq;
	unsigned int i;

	er_cq_init(&cq, guest, 16, 5, 0);
	for (i = 0; i < EG_DIRECT_CQS; i++) {
		assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
		assert_int_equal(cq.cqn, EG_CQS + i);
	}
	expect_refused(&cq);
	cq.cqn = EG_CQS + 3;
	assert_int_equal(er_destroy_cq(&cq), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_cq(&cq), VIRTIO_NET_ERR);
	assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
	assert_int_equal(cq.cqn, EG_CQS + 3);
	assert_int_equal(eg_create_cq(guest), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_wrap_32),
		TEST(test_wrap_64),
		TEST(test_overrun),
		TEST(test_bad_consumer),
		TEST(test_armed),
		TEST(test_ring_lost),
		TEST(test_paused),
		TEST(test_qp_of_virtqueues),
		TEST(test_bad_requests),
		TEST(test_largest),
		TEST(test_too_many_pages),
		TEST(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
