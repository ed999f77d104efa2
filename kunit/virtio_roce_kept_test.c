// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a device does not let go: it stays until the device was reset.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64

/**
 * struct kept - pages that the device was given
 * @mock: function
 * @p: process
 * @region: page of a memory region
 * @pages: pages of queues, of which the test has references
 * @npages: how many
 */
struct kept {
	struct mock *mock;
	struct process *p;
	struct page *region;
	struct page *pages[4];
	unsigned int npages;
};

static void kept_add(struct kept *k, struct page *page)
{
	get_page(page);
	k->pages[k->npages++] = page;
}

static void kept_region(struct kunit *test, struct kept *k, u32 pd)
{
	unsigned long start = k->p->mem + PAGE_SIZE;
	struct ib_uverbs_reg_mr_resp resp;

	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(k->p, pd, start, 100, start,
						IB_ACCESS_LOCAL_WRITE, &resp));
	k->region = process_page(test, start);
}

static bool kept_pinned(const struct kept *k)
{
	return folio_maybe_dma_pinned(page_folio(k->region));
}

/* From now on the device refuses to destroy anything; and the process goes. */
static void kept_refuse(struct kept *k)
{
	static const u8 commands[] = {
		CMD(DESTROY_CQ), CMD(DESTROY_QP), CMD(DESTROY_SRQ), CMD(DEREG_MR),
		CMD(FREE_DOORBELL), CMD(DESTROY_PD),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		k->mock->fail[commands[i]] = -EREMOTEIO;
	process_close_file(k->p);
}

static void kept_expect_held(struct kunit *test, const struct kept *k)
{
	unsigned int i;

	KUNIT_EXPECT_TRUE(test, kept_pinned(k));
	for (i = 0; i < k->npages; i++)
		KUNIT_EXPECT_GT(test, page_count(k->pages[i]), 1);
	KUNIT_EXPECT_EQ(test, k->mock->given_up, 0);
}

static void kept_expect_free(struct kunit *test, const struct kept *k)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(test, k->mock->given_up, 1);
	KUNIT_EXPECT_FALSE(test, kept_pinned(k));
	for (i = 0; i < k->npages; i++)
		process_expect_ours(test, k->pages[i]);
}

static void kept_put(struct kept *k)
{
	while (k->npages)
		put_page(k->pages[--k->npages]);
}

static struct kept kept_direct(struct kunit *test)
{
	struct kept k = { .mock = mock_device(test, NUM) };
	struct program prog = {};
	struct srq_resp srq;

	k.p = process_direct(k.mock, &prog);
	KUNIT_ASSERT_EQ(test, 0, process_create_srq(k.p, prog.pd, 16, &srq));
	kept_add(&k, virt_to_page(k.mock->qps[prog.qp.qpn].control));
	kept_add(&k, virt_to_page(k.mock->cqs[k.mock->qps[prog.qp.qpn].scqn].control));
	kept_add(&k, virt_to_page(k.mock->srqs[0].control));
	kept_add(&k, virt_to_page(k.mock->doorbells[0]));
	kept_region(test, &k, prog.pd);
	return k;
}

/* Direct queues, a doorbell page and a memory region. */
static void kept_until_reset(struct kunit *test)
{
	struct kept k = kept_direct(test);

	kept_refuse(&k);
	kept_expect_held(test, &k);
	mock_withdraw(k.mock);
	kept_expect_free(test, &k);
	kept_put(&k);
}

/* The slots of the RFC's queues. */
static void kept_slots(struct kunit *test)
{
	struct kept k = { .mock = mock_device(test, NUM) };
	struct program *prog = program_start(k.mock);
	struct ib_device *ibdev = mock_ibdev(k.mock);
	struct vroce_hw_qp *qp;

	KUNIT_ASSERT_NOT_NULL(test, ibdev);
	qp = xa_load(&to_vdev(ibdev)->qps, prog->qp.qpn);
	ib_device_put(ibdev);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	k.p = prog->p;
	kept_add(&k, virt_to_page(qp->sq.slots));
	kept_add(&k, virt_to_page(qp->rq.slots));
	kept_add(&k, virt_to_page(qp->scq->queue.slots));
	kept_region(test, &k, prog->pd);
	kept_refuse(&k);
	kept_expect_held(test, &k);
	mock_withdraw(k.mock);
	kept_expect_free(test, &k);
	kept_put(&k);
}

/* A device that nobody can reset may write to the memory for ever. */
static void kept_for_ever(struct kunit *test)
{
	struct kept k = kept_direct(test);
	unsigned int i;

	kept_refuse(&k);
	k.mock->never_quiet = true;
	mock_withdraw(k.mock);
	KUNIT_EXPECT_EQ(test, k.mock->given_up, 1);
	KUNIT_EXPECT_TRUE(test, kept_pinned(&k));
	for (i = 0; i < k.npages; i++)
		KUNIT_EXPECT_GT(test, page_count(k.pages[i]), 1);
	kept_put(&k);
}

/* A device that lets everything go is not reset. */
static void kept_nothing(struct kunit *test)
{
	struct kept k = kept_direct(test);
	unsigned int i;

	process_close_file(k.p);
	KUNIT_EXPECT_FALSE(test, kept_pinned(&k));
	for (i = 0; i < k.npages; i++)
		process_expect_ours(test, k.pages[i]);
	mock_withdraw(k.mock);
	KUNIT_EXPECT_EQ(test, k.mock->given_up, 0);
	kept_put(&k);
}

static struct kunit_case kept_cases[] = {
	KUNIT_CASE(kept_until_reset),
	KUNIT_CASE(kept_slots),
	KUNIT_CASE(kept_for_ever),
	KUNIT_CASE(kept_nothing),
	{ }
};

static struct kunit_suite kept_suite = {
	.name = "virtio_roce_kept",
	.test_cases = kept_cases,
};

kunit_test_suite(kept_suite);
