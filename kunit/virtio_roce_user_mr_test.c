// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions that a process registers: pages, rights, refusals.
 */
#include <kunit/test.h>
#include <linux/uaccess.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>

#include "virtio_roce-abi.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64

static void user_mr(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_with_context(mock);
	unsigned long start = p->mem + PAGE_SIZE + 100;
	struct ib_uverbs_reg_mr_resp resp;
	struct mock_mr *mr = &mock->mrs[0];
	struct page *page;
	u32 pd;

	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &pd));
	/* From the second page to the first byte of the fourth. */
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, 2 * PAGE_SIZE - 99,
						0x7000064, IB_ACCESS_LOCAL_WRITE |
						IB_ACCESS_REMOTE_READ |
						IB_ACCESS_RELAXED_ORDERING, &resp));
	KUNIT_EXPECT_EQ(test, resp.lkey, 0x1000);
	KUNIT_EXPECT_EQ(test, resp.rkey, 0x2000);
	KUNIT_EXPECT_EQ(test, mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE |
			VIRTIO_IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, mr->virt_addr, 0x7000064);
	KUNIT_EXPECT_EQ(test, mr->length, 2 * PAGE_SIZE - 99);
	KUNIT_EXPECT_EQ(test, mr->npages, 3);
	page = process_page(test, start);
	KUNIT_EXPECT_EQ(test, mr->first_page, page_to_phys(page));
	KUNIT_EXPECT_EQ(test, mr->last_page,
			page_to_phys(process_page(test, start + 2 * PAGE_SIZE - 100)));
	KUNIT_EXPECT_TRUE(test, folio_maybe_dma_pinned(page_folio(page)));
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	KUNIT_EXPECT_FALSE(test, folio_maybe_dma_pinned(page_folio(page)));

	/* Exactly one page, and exactly one byte. */
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, p->mem + PAGE_SIZE, PAGE_SIZE,
						p->mem + PAGE_SIZE, 0, &resp));
	KUNIT_EXPECT_EQ(test, mr->npages, 1);
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, p->mem + 2 * PAGE_SIZE - 1, 1,
						p->mem + 2 * PAGE_SIZE - 1, 0, &resp));
	KUNIT_EXPECT_EQ(test, mr->npages, 1);
	process_close_file(p);
	mock_expect_clean(mock);
}

static void user_mr_refused(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_uverbs_reg_mr_resp resp;
	unsigned long start;
	struct process *p;
	u32 pd;

	mock->query_device.max_mr_size = cpu_to_le64(PAGE_SIZE);
	p = process_with_context(mock);
	start = p->mem + PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &pd));
	KUNIT_EXPECT_EQ(test, process_reg_mr(p, pd, start, 16, start,
					     IB_ACCESS_MW_BIND, &resp), -EOPNOTSUPP);
	KUNIT_EXPECT_LT(test, process_reg_mr(p, pd, start, 16, start,
					     IB_ACCESS_FLUSH_GLOBAL, &resp), 0);
	KUNIT_EXPECT_EQ(test, process_reg_mr(p, pd, start, PAGE_SIZE + 1, start, 0,
					     &resp), -EINVAL);
	KUNIT_EXPECT_LT(test, process_reg_mr(p, pd, start, 0, start, 0, &resp), 0);
	KUNIT_EXPECT_LT(test, process_reg_mr(p, pd, 0, 16, 0, 0, &resp), 0);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(REG_USER_MR)), 0);

	mock->fail[CMD(REG_USER_MR)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, process_reg_mr(p, pd, start, 16, start, 0, &resp),
			-ENOMEM);
	KUNIT_EXPECT_FALSE(test, folio_maybe_dma_pinned(page_folio(process_page(test, start))));
	process_close_file(p);
	mock_expect_clean(mock);
}

static u32 user_mr_atomic_access(struct kunit *test, u64 caps)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_uverbs_reg_mr_resp resp;
	unsigned long start;
	struct process *p;
	u32 pd, access;

	mock->query_device.device_cap_flags |= cpu_to_le64(caps);
	p = process_with_context(mock);
	start = p->mem + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, p->context.device_caps & caps, caps);
	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &pd));
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, 16, start,
						IB_ACCESS_LOCAL_WRITE |
						IB_ACCESS_REMOTE_WRITE |
						IB_ACCESS_REMOTE_READ |
						IB_ACCESS_REMOTE_ATOMIC, &resp));
	access = mock->mrs[0].access;
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	process_close_file(p);
	mock_expect_clean(mock);
	return access;
}

/* Libraries ask for atomics from any device; one without them is not told. */
static void user_mr_atomic(struct kunit *test)
{
	const u32 others = VIRTIO_IB_ACCESS_LOCAL_WRITE |
			   VIRTIO_IB_ACCESS_REMOTE_WRITE |
			   VIRTIO_IB_ACCESS_REMOTE_READ;

	KUNIT_EXPECT_EQ(test, user_mr_atomic_access(test, 0), others);
	KUNIT_EXPECT_EQ(test, user_mr_atomic_access(test, VIRTIO_IB_DEVICE_ATOMIC),
			others | VIRTIO_IB_ACCESS_REMOTE_ATOMIC);
}

/* Rights to flush: those that the device and the memory support. */
static void user_mr_flush(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_uverbs_reg_mr_resp resp;
	unsigned long start;
	struct process *p;
	u32 pd;

	if (IB_DEVICE_FLUSH_GLOBAL == 0)
		kunit_skip(test, "this kernel does not know FLUSH");
	mock->query_device.device_cap_flags |=
		cpu_to_le64(VIRTIO_IB_DEVICE_FLUSH);
	p = process_with_context(mock);
	KUNIT_EXPECT_TRUE(test, p->context.device_caps & VIRTIO_IB_DEVICE_FLUSH);
	start = p->mem + PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &pd));
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, 16, start,
						IB_ACCESS_FLUSH_GLOBAL, &resp));
	KUNIT_EXPECT_EQ(test, mock->mrs[0].access,
			VIRTIO_IB_ACCESS_FLUSH_GLOBAL);
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	KUNIT_EXPECT_LT(test, process_reg_mr(p, pd, start, 16, start,
					     IB_ACCESS_FLUSH_PERSISTENT, &resp), 0);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(REG_USER_MR)), 1);
	process_close_file(p);
	mock_expect_clean(mock);
}

/* A device that does not answer may still write: the page stays pinned. */
static void user_mr_not_deregistered(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_with_context(mock);
	unsigned long start = p->mem + PAGE_SIZE;
	struct ib_uverbs_reg_mr_resp resp;
	struct page *page;
	u32 pd;

	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &pd));
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, 16, start, 0, &resp));
	page = process_page(test, start);
	mock->fail[CMD(DEREG_MR)] = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	KUNIT_EXPECT_TRUE(test, folio_maybe_dma_pinned(page_folio(page)));
	process_close_file(p);
}

/* A device that was reset has forgotten the key: the page is its owner's again. */
static void user_mr_after_reset(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_with_context(mock);
	unsigned long start = p->mem + PAGE_SIZE;
	struct ib_uverbs_reg_mr_resp resp;
	struct page *page;
	u32 pd;

	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &pd));
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, 16, start, 0, &resp));
	page = process_page(test, start);
	KUNIT_EXPECT_TRUE(test, folio_maybe_dma_pinned(page_folio(page)));
	mock->fail[CMD(DEREG_MR)] = -ENODEV;
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	KUNIT_EXPECT_FALSE(test, folio_maybe_dma_pinned(page_folio(page)));
	KUNIT_EXPECT_TRUE(test, mock->settled[CMD(DEREG_MR)]);
	KUNIT_EXPECT_TRUE(test, mock->settled[CMD(REG_USER_MR)]);
	process_close_file(p);
}

static struct kunit_case user_mr_cases[] = {
	KUNIT_CASE(user_mr),
	KUNIT_CASE(user_mr_refused),
	KUNIT_CASE(user_mr_atomic),
	KUNIT_CASE(user_mr_flush),
	KUNIT_CASE(user_mr_not_deregistered),
	KUNIT_CASE(user_mr_after_reset),
	{}
};

static struct kunit_suite user_mr_suite = {
	.name = "virtio_roce_user_mr",
	.test_cases = user_mr_cases,
};

kunit_test_suite(user_mr_suite);
