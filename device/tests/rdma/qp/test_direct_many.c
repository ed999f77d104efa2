// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * As many direct QPs as there can be: what they cost while they do nothing, and what
 * those that are busy cost beside them.
 */
#include "tests/lib/engine_ring.h"

#include <stdlib.h>
#include <string.h>

#include "rdma/rnic_priv.h"

/* Of AddressSanitizer, with which all unit tests are built. */
size_t __sanitizer_get_current_allocated_bytes(void);

#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN
#define US		1000ULL
#define MS		(1000 * US)
#define ALL		(VIRTIO_NET_ROCE_MAX_OBJECTS - EG_QPS)
#define QP_BYTES	8192u
#define BUSY		512u

static unsigned int active(const struct er_end *end)
{
	const struct qp *qp;
	unsigned int n = 0;

	TAILQ_FOREACH(qp, &end->end.guest->rnic->qps.active, entry)
		n++;
	return n;
}

/* Idle QPs, all that are left, which share the rings of one of them. */
static unsigned int fill(struct er_end *end)
{
	struct er_page page;
	struct er_qp qp;
	unsigned int n = 0;

	er_page_init(&page, end->end.guest, 1);
	er_qp_init(&qp, &page, &end->cq, 0, RC, end->end.pdn, &(struct er_shape) {});
	while (er_create_qp(&qp) == VIRTIO_NET_OK)
		qp.direct.bit = htole32(++n);
	return n;
}

static void test_memory(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	size_t before = __sanitizer_get_current_allocated_bytes(), each;
	unsigned int n = fill(&p->a);

	each = (__sanitizer_get_current_allocated_bytes() - before) / n;
	print_message("%u QPs, %zu bytes each; struct qp has %zu, struct cq %zu\n", n,
		      each, sizeof(struct qp), sizeof(struct cq));
	assert_int_equal(n, ALL - 1);
	assert_in_range(each, sizeof(struct qp), QP_BYTES);
	er_pair_free(p);
}

/* A QP that had much to do needs no more than others a moment later. */
static void test_memory_after_work(void **state)
{
	const struct er_shape shape = { .send_depth = 1024, .recv_depth = 1024 };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	size_t before = __sanitizer_get_current_allocated_bytes();
	struct virtio_rdma_cqe cqe;
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	unsigned int i, n = 0;

	/* Those of one element would need no room (rdma/qp/fused.c). */
	wr.num_sge = 2;
	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.end.lkey;
	wr.flags = 0;
	for (i = 0; i < 1000; i++) {
		wr.flags = i == 999 ? VIRTIO_IB_SEND_SIGNALED : 0;
		er_post_send(&p->a.qp, &wr);
	}
	eg_run(p->engine);
	assert_true(__sanitizer_get_current_allocated_bytes() > before + 1000);
	while (er_poll(&p->a.cq, &cqe))
		n++;
	assert_int_equal(n, 1);
	engine_loop_advance(p->engine->loop, 2 * MS);
	eg_run(p->engine);
	assert_int_equal(__sanitizer_get_current_allocated_bytes(), before);
	er_pair_free(p);
}

/* Room for requests is bounded for all QPs together; each has room for one. */
static void test_no_room(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct rnic_ctx *ctx = &p->a.end.guest->rnic->ctx;
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	unsigned int i, round;

	wr.num_sge = 2;
	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.end.lkey;
	for (round = 0; round < 2; round++) {
		ctx->wqes = round ? RNIC_WQES_MAX - 8 : RNIC_WQES_MAX - 7;
		for (i = 0; i < 16; i++)
			er_post_send(&p->a.qp, &wr);
		eg_run(p->engine);
		for (i = 0; i < 16; i++)
			er_expect(&p->a, false, 16 * round + i, 0);
		assert_int_equal(ctx->wqes, RNIC_WQES_MAX - 7 + 7 * round);
	}
	engine_loop_advance(p->engine->loop, 2 * MS);
	eg_run(p->engine);
	assert_int_equal(ctx->wqes, RNIC_WQES_MAX - 8);
	er_pair_free(p);
}

/* One busy QP among all others: a round looks at that one. */
static void test_one_busy(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	unsigned int i;

	assert_int_equal(fill(&p->a), ALL - 1);
	assert_int_equal(fill(&p->b), ALL - 1);
	engine_loop_advance(p->engine->loop, 2 * MS);
	eg_run(p->engine);
	for (i = 0; i < 1000; i++) {
		er_recv(&p->b, IN, 4);
		er_post_send(&p->a.qp, &wr);
		assert_true(rnic_poll(p->a.end.guest->rnic));
		assert_in_range(active(&p->a), 0, 1);
		assert_in_range(active(&p->b), 0, 1);
		er_expect(&p->a, false, i, 0);
		er_expect(&p->b, true, i, 0);
	}
	/* And the page of the idle ones asks to be rung. */
	assert_null(TAILQ_NEXT(TAILQ_FIRST(&p->a.end.guest->rnic->doorbells.warm), entry));
	er_pair_free(p);
}

/* Many QPs of one process, all busy: one notification wakes the device for all. */
static void test_many_busy(void **state)
{
	const struct er_shape shape = { .cqe = 4096 };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	struct er_qp *a = calloc(BUSY, sizeof(*a)), *b = calloc(BUSY, sizeof(*b));
	struct virtio_rdma_cqe cqe;
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	struct eg_sge sge = { EG_VA + IN, 4, p->b.end.lkey };
	unsigned int i, round, sent = 0, received = 0;

	assert_true(a && b);
	for (i = 0; i < BUSY; i++) {
		er_qp_init(&a[i], &p->a.page, &p->a.cq, 100 + i, RC, p->a.end.pdn, &shape);
		er_qp_init(&b[i], &p->b.page, &p->b.cq, 100 + i, RC, p->b.end.pdn, &shape);
		assert_int_equal(er_create_qp(&a[i]), VIRTIO_NET_OK);
		assert_int_equal(er_create_qp(&b[i]), VIRTIO_NET_OK);
		p->a.end.qpn = a[i].qpn;
		p->b.end.qpn = b[i].qpn;
		eg_connect(&p->a.end, &p->b.end, RC);
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < BUSY; i++) {
			er_post_recv(&b[i], &sge, 1);
			er_post_send(&a[i], &wr);
		}
		eg_run(p->engine);
		/* A moment later most of them are looked at no more. */
		engine_loop_advance(p->engine->loop, US);
		eg_run(p->engine);
		assert_in_range(active(&p->a), 0, RNIC_LINGER_QPS);
		assert_in_range(active(&p->b), 0, RNIC_LINGER_QPS);
		while (er_poll(&p->a.cq, &cqe))
			sent += !cqe.status;
		while (er_poll(&p->b.cq, &cqe))
			received += !cqe.status;
		assert_int_equal(sent, BUSY * (round + 1));
		assert_int_equal(received, BUSY * (round + 1));
	}
	assert_int_equal(p->a.page.rung, 1);
	assert_int_equal(p->b.page.rung, 0);
	free(a);
	free(b);
	er_pair_free(p);
}

/* A round looks at a bounded number of QPs, and the others have their turn. */
static void test_all_announced(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_doorbell_page *page;
	struct er_page other;
	struct er_qp qp;
	unsigned int n, rounds;

	er_page_init(&other, p->a.end.guest, 1);
	er_qp_init(&qp, &other, &p->a.cq, 0, RC, p->a.end.pdn, &(struct er_shape) {});
	for (n = 0; er_create_qp(&qp) == VIRTIO_NET_OK; n++)
		qp.direct.bit = htole32(n + 1);
	engine_loop_advance(p->engine->loop, 2 * MS);
	eg_run(p->engine);
	page = other.page;
	memset(page->pending, 0xff, sizeof(page->pending));
	memset(page->words, 0xff, sizeof(page->words));
	page->ring_me = 0;
	rnic_queue_kick(p->a.end.guest->rnic, RNIC_DOORBELL, 1);
	for (rounds = 0; rnic_poll(p->a.end.guest->rnic); rounds++)
		assert_in_range(active(&p->a), 0, 1024);
	assert_in_range(rounds, 16, 40);
	assert_int_equal(active(&p->a), 0);
	/* After a pause all are to be looked at: nobody may sleep before that. */
	rnic_mem_changed(p->a.end.guest->rnic, &p->a.end.guest->map);
	assert_int_equal(active(&p->a), 0);
	assert_true(rnic_sleep(p->a.end.guest->rnic));
	for (rounds = 0; rnic_poll(p->a.end.guest->rnic); rounds++) {
		assert_in_range(active(&p->a), 0, 256);
		engine_loop_advance(p->engine->loop, 2 * MS);
	}
	assert_in_range(rounds, ALL / 256, ALL / 256 + 8);
	assert_int_equal(active(&p->a), 0);
	er_pair_free(p);
}

static unsigned int in_error(const struct rnic *rnic)
{
	unsigned int i, n = 0;

	for (i = 0; i < rnic->qps.size; i++)
		n += rnic->qps.qp[i] && rnic->qps.qp[i]->state == VIRTIO_IB_QPS_ERR;
	return n;
}

/* With a CQ all QPs fail that complete to it, though not in one go. */
static void test_cq_in_error(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct rnic *rnic = p->a.end.guest->rnic;
	struct er_page other;
	struct er_qp qp;
	unsigned int n, failed;
	struct eg_wr wr;

	er_page_init(&other, p->a.end.guest, 1);
	er_qp_init(&qp, &other, &p->a.cq, 0, RC, p->a.end.pdn, &(struct er_shape) {});
	for (n = 0; er_create_qp(&qp) == VIRTIO_NET_OK; n++)
		qp.direct.bit = htole32(n + 1);
	p->a.cq.control->consumer = htole32(1u << 30);
	wr = eg_send(&p->a.end, 0, 0, 4);
	er_recv(&p->b, 0, 4);
	er_post_send(&p->a.qp, &wr);
	while (!in_error(rnic))
		rnic_poll(rnic);
	failed = in_error(rnic);
	assert_in_range(failed, 1, 64);
	/* The one that it was about is among them. */
	assert_int_equal(qp_get(&rnic->qps, p->a.qp.qpn)->state, VIRTIO_IB_QPS_ERR);
	chore_help(p->engine->loop);
	assert_in_range(in_error(rnic), failed + 1, failed + 64);
	chores_finish(loop_chores(p->engine->loop));
	assert_in_range(in_error(rnic), ALL, ALL + 8);
	/* It can be destroyed once they are gone. */
	eg_reset(p->a.end.guest);
	er_pair_free(p);
}

/* An SRQ that many QPs hold goes in several turns, and no message can name it meanwhile. */
static void test_srq_of_many(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_guest *guest = p->a.end.guest;
	const uint32_t xrcd = er_create_xrcd(guest), holders = 200;
	struct srq_table *srqs = &guest->rnic->srqs;
	struct er_qp tgt[200];
	struct er_srq ring;
	struct srq *srq;
	struct qp *qp;
	bool more = false;
	uint32_t i;

	er_srq_init(&ring, guest, p->a.end.pdn, 16);
	ring.xrc = true;
	ring.xrcd = xrcd;
	ring.cqn = p->a.cq.cqn;
	assert_int_equal(er_create_srq(&ring), VIRTIO_NET_OK);
	srq = srq_get(srqs, ring.handle);
	for (i = 0; i < holders; i++) {
		er_tgt_init(&tgt[i], guest, xrcd);
		assert_int_equal(er_create_qp(&tgt[i]), VIRTIO_NET_OK);
		qp = qp_get(&guest->rnic->qps, tgt[i].qpn);
		qp->rq.srq = srq;
		srq_hold(srq, &qp->xrcd_user);
	}
	assert_null(srq_destroy(srqs, ring.handle, &more));
	assert_true(more);
	assert_null(srq_of_xrcd(srqs, srq->xrcd, ring.handle));
	assert_int_equal(er_destroy_srq(&ring), VIRTIO_NET_OK);
	assert_in_range(eg_rounds, holders / 32 - 1, holders / 32 + 1);
	for (i = 0; i < holders; i++)
		assert_null(qp_get(&guest->rnic->qps, tgt[i].qpn)->rq.srq);
	er_pair_free(p);
}

/*
 * A reset takes all QPs out of reach at once, and frees them bit by bit.  Their memory is
 * the guest's again before that is done.
 */
static void test_reset(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_guest *guest = p->a.end.guest;
	struct chores *chores = loop_chores(p->engine->loop);
	struct rnic *rnic = guest->rnic;
	struct er_page other;
	struct er_qp qp;
	unsigned int n, left;
	uint8_t sum[EG_PAGE];
	struct eg_wr wr;

	er_page_init(&other, guest, 1);
	er_qp_init(&qp, &other, &p->a.cq, 0, RC, p->a.end.pdn, &(struct er_shape) {});
	for (n = 0; er_create_qp(&qp) == VIRTIO_NET_OK; n++)
		qp.direct.bit = htole32(n + 1);
	wr = eg_send(&p->a.end, 0, 0, 4);
	er_recv(&p->b, 0, 4);
	er_post_send(&p->a.qp, &wr);
	memset(other.page, 0xff, sizeof(sum));
	memcpy(sum, other.page, sizeof(sum));
	rnic_reset(rnic);
	/* The guest starts again, and uses its memory for something else. */
	rnic_mem_changed(rnic, &guest->map);
	assert_false(rnic_poll(rnic));
	for (left = 0, n = 0; n < rnic->qps.size; n++)
		left += !!rnic->qps.qp[n];
	assert_in_range(left, ALL - 64, ALL);
	for (n = 0; n < 100; n++) {
		rnic_clear_some(rnic);
		rnic_queue_kick(rnic, RNIC_DOORBELL, 1);
		assert_false(rnic_poll(rnic));
		assert_false(rnic_sleep(rnic));
		rnic_wake(rnic);
	}
	for (left = 0, n = 0; n < rnic->qps.size; n++)
		left += !!rnic->qps.qp[n];
	assert_in_range(left, ALL - 100 * 32, ALL - 100 * 16);
	assert_memory_equal(other.page, sum, sizeof(sum));
	assert_false(TAILQ_EMPTY(&chores->list));
	/* A command waits for the rest, and finds nothing of it. */
	assert_int_equal(er_create_qp(&qp), VIRTIO_NET_ERR);
	assert_true(eg_rounds > 1);
	assert_int_equal(rnic->pds.objs.used, 0);
	assert_int_equal(rnic->ctx.ring_pages, 0);
	assert_memory_equal(other.page, sum, sizeof(sum));
	eg_create_pd(guest);
	er_pair_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct_many, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_memory),
		TEST(test_memory_after_work),
		TEST(test_no_room),
		TEST(test_one_busy),
		TEST(test_many_busy),
		TEST(test_all_announced),
		TEST(test_cq_in_error),
		TEST(test_srq_of_many),
		TEST(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
