// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Direct CQs that get another ring while they are in use.
 */
#include "tests/lib/engine_ring.h"

#include <stdlib.h>

#include "base/util.h"
#include "rdma/rnic_priv.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN
#define PAGES		8

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

/* A message whose completion takes b's CQ to the error state. */
static void spoil(struct er_pair *p)
{
	er_recv(&p->b, IN, 4);
	er_post_send(&p->a.qp, &(struct eg_wr) { .opcode = VIRTIO_IB_WR_SEND });
	eg_run(p->engine);
	assert_int_not_equal(p->b.cq.control->device, 0);
}

static struct virtio_rdma_cqe *slot(const struct er_cq *cq, uint32_t i)
{
	i &= le32toh(cq->req.cqe) - 1;
	return (void *)(cq->ring + ((size_t)i << cq->req.cqe_shift));
}

/* RESIZE_CQ of @cq to the memory of @to. */
static uint8_t resize(const struct er_cq *cq, const struct er_cq *to,
		      struct virtio_rdma_ack_resize_cq *ack)
{
	uint32_t i, n = le32toh(to->req.npages);
	union {
		struct virtio_rdma_cmd_resize_cq cmd;
		uint8_t bytes[sizeof(struct virtio_rdma_cmd_resize_cq) + 8 * PAGES];
	} req = {
		.cmd = {
			.cqn = htole32(cq->cqn),
			.cqe = to->req.cqe,
			.npages = to->req.npages,
			.control = to->req.control,
		},
	};

	assert_in_range(n, 0, PAGES);
	for (i = 0; i < n; i++)
		req.cmd.pages[i] = htole64(to->pages[i]);
	return eg_command(cq->guest, CMD(RESIZE_CQ), &req,
			  sizeof(req.cmd) + 8 * n, ack, sizeof(*ack));
}

/* All that a driver does; @cq has the new ring then. */
static uint32_t move(struct er_cq *cq, uint32_t cqe)
{
	struct virtio_rdma_ack_resize_cq ack;
	uint32_t i, first, unread;
	struct er_cq to;

	er_cq_init(&to, cq->guest, cqe, cq->req.cqe_shift, 0);
	to.control->arm = cq->control->arm;
	assert_int_equal(resize(cq, &to, &ack), VIRTIO_NET_OK);
	unread = le32toh(ack.unread);
	first = le32toh(ack.stored) - unread;
	assert_int_equal(first, cq->consumer);
	for (i = 0; i < unread; i++) {
		*slot(&to, i) = *slot(cq, first + i);
		slot(&to, i)->phase = VIRTIO_RDMA_CQE_PHASE;
	}
	to.cqn = cq->cqn;
	to.number = cq->number;
	*cq = to;
	return unread;
}

/* The next @n of b's completions are there, and no other; *next counts them. */
static void take(struct er_pair *p, uint32_t n, uint32_t *next)
{
	while (n--)
		er_expect(&p->b, true, (*next)++, 0);
}

/*
 * With @taken completions taken of a ring of 16 and @unread ones there: none is lost, none
 * comes twice, and the old ring is left alone.
 */
static void move_at(struct er_pair *p, uint32_t taken, uint32_t unread, uint32_t *next)
{
	const size_t len = 16ul << p->b.cq.req.cqe_shift;
	struct er_cq *cq = &p->b.cq, old;
	uint8_t before[16 << 6];
	uint32_t i;

	for (i = 0; i < taken; i++) {
		stream(p, 1);
		take(p, 1, next);
	}
	stream(p, unread);
	old = *cq;
	memcpy(before, old.ring, len);
	assert_int_equal(move(cq, 32), unread);
	/* Behind what came over. */
	stream(p, 32 - unread);
	assert_memory_equal(old.ring, before, len);
	assert_int_equal(old.control->device, 0);
	take(p, 32, next);
	er_expect_none(&p->b);
	/* Round after round. */
	for (i = 0; i < 70; i++) {
		stream(p, 1);
		take(p, 1, next);
	}
	er_expect_none(&p->b);
	assert_int_equal(p->b.end.guest->rnic->ctx.ring_pages,
			 p->a.end.guest->rnic->ctx.ring_pages);
}

/* At the start, within, and over the end of each of the first rounds. */
static void anywhere(void **state, uint8_t shift)
{
	static const uint8_t at[] = { 0, 3, 15, 16, 17, 30, 32, 37 };
	static const uint8_t unread[] = { 0, 1, 5, 16 };
	const struct er_shape shape = { .cqe = 16, .cqe_shift = shift };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	uint32_t next = 0;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(at); i++)
		for (j = 0; j < ARRAY_SIZE(unread); j++) {
			move_at(p, at[i], unread[j], &next);
			/* Back to where it was. */
			assert_int_equal(move(&p->b.cq, 16), 0);
		}
	er_pair_free(p);
}

static void test_anywhere_32(void **state)
{
	anywhere(state, 5);
}

static void test_anywhere_64(void **state)
{
	anywhere(state, 6);
}

/* It holds as many as the new ring does, and one more is an overrun. */
static void test_new_limit(void **state)
{
	const struct er_shape shape = { .cqe = 16 };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	uint32_t next = 0;

	stream(p, 16);
	assert_int_equal(move(&p->b.cq, 64), 16);
	stream(p, 48);
	assert_int_equal(p->b.cq.control->device, 0);
	take(p, 47, &next);
	/* Smaller than the ring was, as large as what is there. */
	stream(p, 15);
	assert_int_equal(move(&p->b.cq, 32), 32);
	spoil(p);
	take(p, 32, &next);
	assert_int_equal(eg_state(p->b.end.guest, p->b.qp.qpn), VIRTIO_IB_QPS_ERR);
	er_pair_free(p);
}

/* An arming goes over to the new control block, and is reported once. */
static void test_armed(void **state)
{
	const struct er_shape shape = { .cqe = 16 };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	struct eg_guest *guest = p->b.end.guest;
	struct er_cq old;

	er_give_events(guest, 0, 16);
	er_arm(&p->b.cq, VIRTIO_RDMA_ARM_NEXT);
	old = p->b.cq;
	move(&p->b.cq, 32);
	er_expect_no_event(guest, 0);
	stream(p, 1);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_COMPLETION, p->b.cq.cqn);
	/* An event that was reported is not reported again. */
	move(&p->b.cq, 64);
	stream(p, 1);
	er_expect_no_event(guest, 0);
	/* The old control block has no meaning any more. */
	er_arm(&old, VIRTIO_RDMA_ARM_NEXT);
	er_arm(&old, VIRTIO_RDMA_ARM_NEXT);
	stream(p, 1);
	er_expect_no_event(guest, 0);
	er_arm(&p->b.cq, VIRTIO_RDMA_ARM_SOLICITED | VIRTIO_RDMA_ARM_NEXT);
	stream(p, 1);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_COMPLETION, p->b.cq.cqn);
	er_pair_free(p);
}

/* The new memory is what is translated anew, and what is lost. */
static void test_memory(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_guest *guest = p->b.end.guest;
	struct er_cq old = p->b.cq;
	uint32_t next = 0;

	stream(p, 3);
	move(&p->b.cq, 128);
	er_lose_page(guest, old.pages[0]);
	stream(p, 1);
	take(p, 4, &next);
	er_lose_page(guest, p->b.cq.pages[0]);
	spoil(p);
	rnic_mem_changed(guest->rnic, &guest->map);
	er_pair_free(p);
}

static void expect_refused(struct er_pair *p, const struct er_cq *cq,
			   const struct er_cq *to)
{
	const uint32_t pages = cq->guest->rnic->ctx.ring_pages;
	struct virtio_rdma_ack_resize_cq ack;

	assert_int_equal(resize(cq, to, &ack), VIRTIO_NET_ERR);
	assert_int_equal(cq->guest->rnic->ctx.ring_pages, pages);
	/* Nothing has changed. */
	stream(p, 1);
	er_expect(&p->b, true, p->b.qp.posted_recv - 1, 0);
}

static void test_bad_requests(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_guest *guest = p->b.end.guest;
	struct er_cq *cq = &p->b.cq, other = *cq, good, to;
	struct virtio_rdma_cmd_resize_cq cmd;
	struct virtio_rdma_ack_resize_cq ack;
	uint32_t pages;

	er_cq_init(&good, guest, 256, 5, 0);
	other.cqn = cq->cqn + 1;
	expect_refused(p, &other, &good);
	other.cqn = UINT32_MAX;
	expect_refused(p, &other, &good);
	/* One with a virtqueue. */
	other.cqn = eg_create_cq(guest);
	expect_refused(p, &other, &good);
	to = good;
	to.req.cqe = htole32(255);
	expect_refused(p, cq, &to);
	to = good;
	to.req.cqe = htole32(8);
	to.req.npages = htole32(1);
	expect_refused(p, cq, &to);
	to = good;
	to.req.cqe = htole32(1 << 23);
	expect_refused(p, cq, &to);
	to = good;
	to.req.npages = htole32(1);
	expect_refused(p, cq, &to);
	to.req.npages = htole32(3);
	expect_refused(p, cq, &to);
	to = good;
	to.req.control = htole64(1);
	expect_refused(p, cq, &to);
	to.req.control = htole64(EG_BASE + EG_SIZE);
	expect_refused(p, cq, &to);
	to = good;
	to.pages[1] |= 64;
	expect_refused(p, cq, &to);
	to = good;
	to.pages[1] = EG_BASE + EG_SIZE;
	expect_refused(p, cq, &to);
	/* The list ends early. */
	cmd = (struct virtio_rdma_cmd_resize_cq) {
		.cqn = htole32(cq->cqn),
		.cqe = good.req.cqe,
		.npages = good.req.npages,
		.control = good.req.control,
	};
	assert_int_equal(eg_command(guest, CMD(RESIZE_CQ), &cmd, sizeof(cmd), &ack,
				    sizeof(ack)), VIRTIO_NET_ERR);
	/* There is no room for all rings. */
	pages = guest->rnic->ctx.ring_pages;
	guest->rnic->ctx.ring_pages = RNIC_RING_PAGES_MAX - 1;
	expect_refused(p, cq, &good);
	guest->rnic->ctx.ring_pages = pages;
	assert_int_equal(resize(cq, &good, &ack), VIRTIO_NET_OK);
	er_pair_free(p);
}

/* More is unread than it shall hold, or than there is. */
static void test_bad_consumer(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_ack_resize_cq ack;
	struct er_cq to;

	er_cq_init(&to, p->b.cq.guest, 16, 5, 0);
	stream(p, 17);
	assert_int_equal(resize(&p->b.cq, &to, &ack), VIRTIO_NET_ERR);
	p->b.cq.control->consumer = htole32(18);
	assert_int_equal(resize(&p->b.cq, &to, &ack), VIRTIO_NET_ERR);
	p->b.cq.control->consumer = htole32(17 - 65);
	assert_int_equal(resize(&p->b.cq, &to, &ack), VIRTIO_NET_ERR);
	p->b.cq.control->consumer = htole32(17);
	assert_int_equal(resize(&p->b.cq, &to, &ack), VIRTIO_NET_OK);
	assert_int_equal(le32toh(ack.stored), 17);
	assert_int_equal(ack.unread, 0);
	er_pair_free(p);
}

/* A CQ in error stays in error.  A CQ whose control block is gone from memory does, too. */
static void test_in_error(void **state)
{
	const struct er_shape shape = { .cqe = 16 };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	struct eg_guest *guest = p->b.end.guest;
	struct virtio_rdma_ack_resize_cq ack;
	struct er_cq to;

	er_cq_init(&to, guest, 64, 5, 0);
	er_lose_page(guest, le64toh(p->b.cq.req.control) & ~4095ull);
	assert_int_equal(resize(&p->b.cq, &to, &ack), VIRTIO_NET_ERR);
	rnic_mem_changed(guest->rnic, &guest->map);
	stream(p, 16);
	spoil(p);
	p->b.cq.control->consumer = htole32(16);
	assert_int_equal(resize(&p->b.cq, &to, &ack), VIRTIO_NET_ERR);
	er_pair_free(p);
}

/* Pages are read bit by bit; a reset in between leaves the CQ as it was. */
static void test_largest(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	const uint32_t n = 1 << 15;
	const size_t len = sizeof(struct virtio_rdma_cmd_resize_cq) + 8ul * n;
	struct virtio_rdma_cmd_resize_cq *req = calloc(1, len);
	struct eg_guest *guest = p->b.end.guest;
	const uint32_t before = guest->rnic->ctx.ring_pages;
	struct virtio_rdma_ack_resize_cq ack;
	struct rnic_request request;
	struct iovec iov;
	uint64_t rsp[4];
	size_t rsp_len;
	uint32_t i;

	assert_non_null(req);
	req->cqn = htole32(p->b.cq.cqn);
	req->cqe = htole32(1 << 22);
	req->control = htole64(eg_place(guest, VIRTIO_RDMA_CONTROL_SIZE));
	req->npages = htole32(n);
	for (i = 0; i < n; i++)
		req->pages[i] = htole64(EG_DATA);
	iov = (struct iovec) { .iov_base = req, .iov_len = len };
	request = (struct rnic_request) { .iov = &iov, .iov_n = 1, .len = len };
	assert_int_equal(rnic_command(guest->rnic, CMD(RESIZE_CQ), &request, rsp,
				      sizeof(ack), &rsp_len), RNIC_COMMAND_MORE);
	rnic_command_abort(guest->rnic);
	assert_int_equal(guest->rnic->ctx.ring_pages, before);
	stream(p, 1);
	er_expect(&p->b, true, 0, 0);
	stream(p, 5);
	assert_int_equal(eg_command(guest, CMD(RESIZE_CQ), req, len, &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	assert_int_equal(le32toh(ack.stored), 6);
	assert_int_equal(le32toh(ack.unread), 5);
	assert_int_equal(eg_rounds, 16);
	assert_int_equal(guest->rnic->ctx.ring_pages, before - 1 + n);
	assert_int_equal(er_destroy_qp(&p->b.qp), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_cq(&p->b.cq), VIRTIO_NET_OK);
	free(req);
	er_pair_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_anywhere_32),
		TEST(test_anywhere_64),
		TEST(test_new_limit),
		TEST(test_armed),
		TEST(test_memory),
		TEST(test_bad_requests),
		TEST(test_bad_consumer),
		TEST(test_in_error),
		TEST(test_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
