// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads go on with a CQ while the command that resizes it runs, which may take long.
 */
#include <errno.h>

#include <ccan/array_size.h>

#include "util.h"

/**
 * struct scene - what the hooks of a command need
 * @qp: a QP
 * @cq: its CQ
 * @early: how many completions to poll before the kernel does anything
 * @late: how many when it is done, and the command has not returned
 * @next: wr_id of the next completion that is polled
 * @added: completions that the device adds to the new ring before that
 * @stored: all that it stored
 * @body: what another thread does from @late on
 * @helper: that thread
 */
static struct scene {
	struct virtio_roce_qp *qp;
	struct virtio_roce_cq *cq;
	uint32_t early;
	uint32_t late;
	uint32_t next;
	uint32_t added;
	uint32_t stored;
	void (*body)(void);
	struct helper helper;
} scene;

static void scene_up(void)
{
	scene = (struct scene){ .qp = make_qp(IBV_QPT_RC) };
	scene.cq = to_vcq(scene.qp->vqp.qp.send_cq);
}

/* A request is complete. */
static bool complete(void)
{
	struct ibv_sge sge = { .addr = 0x1000, .length = 10, .lkey = 7 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = scene.stored,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	const struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(TEST_QPN),
		.wqe = htole32(scene.stored),
		.opcode = VIRTIO_IB_WC_RDMA_WRITE,
	};

	assert_int_equal(virtio_roce_post_send(&scene.qp->vqp.qp, &wr, &bad), 0);
	scene.stored++;
	return fake_direct_complete(&cqe);
}

/* Poll so many; those that come are the next ones. */
static void expect(uint32_t n)
{
	struct ibv_wc wc;

	for (; n; n--) {
		assert_int_equal(virtio_roce_poll_cq(&scene.cq->vcq.cq, 1, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, scene.next++);
	}
}

static void expect_none(void)
{
	struct ibv_wc wc;

	assert_int_equal(virtio_roce_poll_cq(&scene.cq->vcq.cq, 1, &wc), 0);
}

/* No thread that polls would spin for the time of the command. */
static void assert_unlocked(void)
{
	assert_int_equal(__atomic_load_n(&scene.cq->vq.lock, __ATOMIC_RELAXED), 0);
}

static void poll_meanwhile(bool done)
{
	uint32_t i;

	assert_unlocked();
	expect(done ? scene.late : scene.early);
	/* The device hears of it, or its ring would be full. */
	if (!done)
		assert_int_equal(le32toh(fake.cq_control->consumer), scene.next);
	if (!done || !scene.added)
		return;
	for (i = 0; i < scene.added; i++)
		complete();
	if (scene.next + scene.added == scene.stored)
		expect_none();
}

/*
 * Completions are polled before the device goes over to the new ring, after it has, and
 * when the command has returned.  Each comes once, in its order.
 */
static void resize_polls(void **state)
{
	static const struct {
		uint32_t taken;
		uint32_t unread;
		uint32_t early;
		uint32_t late;
		uint32_t added;
	} cases[] = {
		{ 0, 0, 0, 0, 0 },
		{ 0, 0, 0, 0, 5 },
		{ 0, 10, 3, 2, 4 },
		{ 0, 16, 16, 0, 4 },
		{ 0, 16, 0, 16, 4 },
		{ 13, 12, 0, 0, 4 },
		{ 13, 16, 1, 14, 15 },
		{ 21, 7, 3, 4, 1 },
		{ 37, 16, 5, 0, 5 },
	};
	uint32_t i, n;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		scene_up();
		for (n = 0; n < cases[i].taken; n++) {
			complete();
			expect(1);
		}
		for (n = 0; n < cases[i].unread; n++)
			complete();
		scene.early = cases[i].early;
		scene.late = cases[i].late;
		scene.added = cases[i].added;
		fake.at_resize = poll_meanwhile;
		assert_int_equal(virtio_roce_resize_cq(&scene.cq->vcq.cq, 64), 0);
		fake.at_resize = NULL;
		assert_int_equal(scene.cq->vq.ring.depth, 64);
		expect(scene.stored - scene.next);
		expect_none();
		for (n = 0; n < 150; n++) {
			complete();
			expect(1);
		}
		drop_qp(scene.qp);
		drop_cq(scene.cq);
	}
}

/* A device that says that fewer are unread than are there harms this CQ alone. */
static void resize_lies(void **state)
{
	struct ibv_wc wc;

	scene_up();
	complete();
	complete();
	fake.unread_less = 1;
	assert_int_equal(virtio_roce_resize_cq(&scene.cq->vcq.cq, 64), EPROTO);
	expect(2);
	assert_int_equal(virtio_roce_poll_cq(&scene.cq->vcq.cq, 1, &wc), -EIO);
	drop_qp(scene.qp);
	drop_cq(scene.cq);
}

static void arm(void)
{
	assert_int_equal(virtio_roce_req_notify_cq(&scene.cq->vcq.cq, 0), 0);
}

static void help_meanwhile(bool done)
{
	uint32_t i;

	assert_unlocked();
	if (!done)
		return;
	for (i = 0; i < scene.added; i++)
		complete();
	helper_start(&scene.helper, scene.body);
}

static void finish_helper(void)
{
	fake.at_resize = help_meanwhile;
	assert_int_equal(virtio_roce_resize_cq(&scene.cq->vcq.cq, 64), 0);
	fake.at_resize = NULL;
	helper_join(&scene.helper);
}

/* An arming does not get lost in the old control block. */
static void resize_arms_from_threads(void **state)
{
	scene_up();
	complete();
	arm();
	assert_true(complete());
	scene.body = arm;
	finish_helper();
	assert_true(complete());
	expect(3);
	drop_qp(scene.qp);
	drop_cq(scene.cq);
}

static void destroy(void)
{
	drop_qp(scene.qp);
}

/*
 * A QP goes whose completions are in the ring that is not mapped yet.  The next QP with its
 * number does not get them.
 */
static void resize_gone_from_threads(void **state)
{
	scene_up();
	complete();
	complete();
	scene.added = 3;
	scene.body = destroy;
	finish_helper();

	scene.qp = make_qp_on(scene.cq, IBV_QPT_RC);
	assert_int_equal(scene.cq->num_stale, 5);
	expect_none();
	scene.stored = 0;
	scene.next = 0;
	complete();
	expect(1);
	drop_qp(scene.qp);
	drop_cq(scene.cq);
}

int run_resize_tests(void)
{
	const struct CMUnitTest tests[] = {
		TEST_DIRECT(resize_polls),
		TEST_DIRECT(resize_lies),
		TEST_DIRECT(resize_arms_from_threads),
		TEST_DIRECT(resize_gone_from_threads),
	};

	return cmocka_run_group_tests_name("resize", tests, NULL, NULL);
}
