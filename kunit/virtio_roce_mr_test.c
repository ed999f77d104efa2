// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions of a process that change, zero-based ones, and memory windows.
 *
 * Most important: pages stay pinned as long as the device may reach them, and no longer.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64
#define VA		0x7000000
#define LOCAL		IB_ACCESS_LOCAL_WRITE

/**
 * struct region - a process with a region of 2 pages
 * @p: process
 * @pd: protection domain
 * @start: address
 * @resp: handle and keys
 * @mr: what the device knows
 */
struct region {
	struct process *p;
	u32 pd;
	unsigned long start;
	struct ib_uverbs_reg_mr_resp resp;
	struct mock_mr *mr;
};

static struct region region_of(struct kunit *test, u64 caps, u32 access)
{
	struct mock *mock = mock_device(test, NUM);
	struct region r = { .mr = &mock->mrs[0] };

	mock->query_device.device_cap_flags |= cpu_to_le64(caps);
	r.p = process_with_context(mock);
	r.start = r.p->mem + PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(r.p, &r.pd));
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(r.p, r.pd, r.start, 2 * PAGE_SIZE, VA,
						access, &r.resp));
	return r;
}

static void region_close(struct kunit *test, struct region *r)
{
	struct mock *mock = r->p->mock;

	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(r->p, r->resp.mr_handle));
	process_close_file(r->p);
	mock_expect_clean(mock);
}

static bool is_pinned(struct kunit *test, unsigned long addr)
{
	return folio_maybe_dma_pinned(page_folio(process_page(test, addr)));
}

static int rereg(struct region *r, struct ib_uverbs_rereg_mr *req)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	int err;

	req->mr_handle = r->resp.mr_handle;
	err = process_command(r->p, IB_USER_VERBS_CMD_REREG_MR, req, sizeof(*req),
			      &resp, sizeof(resp));
	if (!err) {
		KUNIT_EXPECT_EQ(r->p->test, resp.lkey, r->resp.lkey);
		KUNIT_EXPECT_EQ(r->p->test, resp.rkey, r->resp.rkey);
	}
	return err;
}

static void mr_other_pages(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_REREG_MR, LOCAL);
	struct ib_uverbs_rereg_mr req = {
		.flags = IB_MR_REREG_TRANS,
		.start = r.start + 3 * PAGE_SIZE,
		.length = 100,
		.hca_va = VA + PAGE_SIZE,
	};

	KUNIT_EXPECT_TRUE(test, is_pinned(test, r.start));
	KUNIT_EXPECT_EQ(test, 0, rereg(&r, &req));
	KUNIT_EXPECT_FALSE(test, is_pinned(test, r.start));
	KUNIT_EXPECT_TRUE(test, is_pinned(test, req.start));
	KUNIT_EXPECT_EQ(test, r.mr->changed_pages, 1);
	KUNIT_EXPECT_EQ(test, r.mr->virt_addr, VA + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, r.mr->length, 100);
	KUNIT_EXPECT_EQ(test, r.mr->first_page,
			page_to_phys(process_page(test, req.start)));
	KUNIT_EXPECT_EQ(test, r.mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	region_close(test, &r);
	KUNIT_EXPECT_FALSE(test, is_pinned(test, req.start));
}

/* Pages that were pinned to be read are pinned again before they are written to. */
static void mr_other_rights(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_REREG_MR, 0);
	struct ib_uverbs_rereg_mr req = {
		.flags = IB_MR_REREG_ACCESS,
		.access_flags = LOCAL | IB_ACCESS_REMOTE_WRITE,
	};

	KUNIT_EXPECT_EQ(test, 0, rereg(&r, &req));
	KUNIT_EXPECT_EQ(test, r.mr->changed_pages, 2);
	KUNIT_EXPECT_EQ(test, r.mr->virt_addr, VA);
	KUNIT_EXPECT_EQ(test, r.mr->length, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, r.mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE |
					    VIRTIO_IB_ACCESS_REMOTE_WRITE);
	req.access_flags = LOCAL;
	KUNIT_EXPECT_EQ(test, 0, rereg(&r, &req));
	KUNIT_EXPECT_EQ(test, r.mr->changed_pages, 0);
	KUNIT_EXPECT_EQ(test, r.mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_TRUE(test, is_pinned(test, r.start));
	req.access_flags = IB_ACCESS_HUGETLB;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, rereg(&r, &req));
	region_close(test, &r);
	KUNIT_EXPECT_FALSE(test, is_pinned(test, r.start));
}

static void mr_other_domain(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_REREG_MR, LOCAL);
	struct ib_uverbs_rereg_mr req = { .flags = IB_MR_REREG_PD };
	u32 pdn = r.mr->pdn;

	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(r.p, &req.pd_handle));
	KUNIT_EXPECT_EQ(test, 0, rereg(&r, &req));
	KUNIT_EXPECT_EQ(test, r.mr->changed_pages, 0);
	KUNIT_EXPECT_NE(test, r.mr->pdn, pdn);
	KUNIT_EXPECT_EQ(test, r.mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, 0, process_dealloc_pd(r.p, r.pd));
	KUNIT_EXPECT_EQ(test, -EBUSY, process_dealloc_pd(r.p, req.pd_handle));
	region_close(test, &r);
}

/* A change that the device refuses leaves all as it was. */
static void mr_change_refused(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_REREG_MR, LOCAL);
	struct ib_uverbs_rereg_mr req = {
		.flags = IB_MR_REREG_TRANS,
		.start = r.start + 3 * PAGE_SIZE,
		.length = PAGE_SIZE,
		.hca_va = VA,
	};

	r.p->mock->fail[CMD(REREG_MR)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, rereg(&r, &req));
	KUNIT_EXPECT_TRUE(test, is_pinned(test, r.start));
	KUNIT_EXPECT_FALSE(test, is_pinned(test, req.start));
	req.flags = IB_MR_REREG_ACCESS;
	KUNIT_EXPECT_EQ(test, -ENOMEM, rereg(&r, &req));
	/* The rights that it still has are those that the next change keeps. */
	r.p->mock->fail[CMD(REREG_MR)] = 0;
	req.flags = IB_MR_REREG_TRANS;
	KUNIT_EXPECT_EQ(test, 0, rereg(&r, &req));
	KUNIT_EXPECT_EQ(test, r.mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	region_close(test, &r);
}

/* A device that does not answer, and is not reset, may have both: they stay pinned. */
static void mr_change_not_answered(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_REREG_MR, LOCAL);
	struct ib_uverbs_rereg_mr req = {
		.flags = IB_MR_REREG_TRANS,
		.start = r.start + 3 * PAGE_SIZE,
		.length = PAGE_SIZE,
		.hca_va = VA,
	};
	struct ib_uverbs_reg_mr_resp resp;
	unsigned long other = r.start + 5 * PAGE_SIZE;

	r.p->mock->fail[CMD(REREG_MR)] = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, rereg(&r, &req));
	KUNIT_EXPECT_TRUE(test, is_pinned(test, r.start));
	KUNIT_EXPECT_TRUE(test, is_pinned(test, req.start));
	KUNIT_EXPECT_TRUE(test, r.p->mock->settled[CMD(REREG_MR)]);
	r.p->mock->fail[CMD(REG_USER_MR)] = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT,
			process_reg_mr(r.p, r.pd, other, 100, VA, LOCAL, &resp));
	KUNIT_EXPECT_TRUE(test, is_pinned(test, other));
	/* After a reset the device has none of them. */
	other += PAGE_SIZE;
	r.p->mock->fail[CMD(REG_USER_MR)] = -ENODEV;
	KUNIT_EXPECT_EQ(test, -ENODEV,
			process_reg_mr(r.p, r.pd, other, 100, VA, LOCAL, &resp));
	KUNIT_EXPECT_FALSE(test, is_pinned(test, other));
	region_close(test, &r);
}

static void mr_no_change(struct kunit *test)
{
	struct region r = region_of(test, 0, LOCAL);
	struct ib_uverbs_rereg_mr req = { .flags = IB_MR_REREG_ACCESS };

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, rereg(&r, &req));
	KUNIT_EXPECT_EQ(test, mock_count(r.p->mock, CMD(REREG_MR)), 0);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_reg_mr(r.p, r.pd, r.start, 10, r.start,
				       IB_ZERO_BASED, &r.resp));
	process_close_file(r.p);
	mock_expect_clean(r.p->mock);
}

static void mr_zero_based(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_ZERO_BASED |
				    VIRTIO_IB_DEVICE_REREG_MR, LOCAL | IB_ZERO_BASED);
	struct ib_uverbs_rereg_mr req = {
		.flags = IB_MR_REREG_ACCESS,
		.access_flags = LOCAL,
	};

	KUNIT_EXPECT_EQ(test, r.mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE |
					    VIRTIO_IB_ACCESS_ZERO_BASED);
	KUNIT_EXPECT_EQ(test, r.mr->virt_addr, VA);
	/* The device needs the pages for another base. */
	KUNIT_EXPECT_EQ(test, 0, rereg(&r, &req));
	KUNIT_EXPECT_EQ(test, r.mr->changed_pages, 2);
	KUNIT_EXPECT_EQ(test, r.mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	region_close(test, &r);
}

static int alloc_mw(struct region *r, u8 type, struct ib_uverbs_alloc_mw_resp *resp)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = r->pd, .mw_type = type };

	return process_command(r->p, IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req),
			       resp, sizeof(*resp));
}

static int dealloc_mw(struct region *r, u32 handle)
{
	struct ib_uverbs_dealloc_mw req = { .mw_handle = handle };

	return process_command(r->p, IB_USER_VERBS_CMD_DEALLOC_MW, &req, sizeof(req),
			       NULL, 0);
}

static void mr_windows(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_MEM_WINDOW,
				    LOCAL | IB_ACCESS_MW_BIND);
	struct mock *mock = r.p->mock;
	struct ib_uverbs_alloc_mw_resp one, two;

	KUNIT_EXPECT_EQ(test, r.mr->access, VIRTIO_IB_ACCESS_LOCAL_WRITE |
					    VIRTIO_IB_ACCESS_MW_BIND);
	KUNIT_ASSERT_EQ(test, 0, alloc_mw(&r, IB_MW_TYPE_1, &one));
	KUNIT_ASSERT_EQ(test, 0, alloc_mw(&r, IB_MW_TYPE_2, &two));
	KUNIT_EXPECT_EQ(test, mock->mrs[1].window, VIRTIO_IB_MW_TYPE_1);
	KUNIT_EXPECT_EQ(test, mock->mrs[2].window, VIRTIO_IB_MW_TYPE_2);
	KUNIT_EXPECT_EQ(test, one.rkey, 0x2001);
	KUNIT_EXPECT_EQ(test, -EINVAL, alloc_mw(&r, 3, &two));
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(&r, one.mw_handle));
	KUNIT_EXPECT_FALSE(test, mock->mrs[1].exists);
	mock->fail[CMD(ALLOC_MW)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, alloc_mw(&r, IB_MW_TYPE_1, &one));
	/* The other one goes with the process. */
	region_close(test, &r);
}

/* How many regions and windows count as those that the device has. */
static int mr_held(struct mock *mock)
{
	struct ib_device *ibdev = mock_ibdev(mock);
	int held = atomic_read(&to_vdev(ibdev)->quotas[VROCE_MR].held);

	ib_device_put(ibdev);
	return held;
}

/*
 * A window that the device refuses to destroy is gone for its process, and does not hold
 * the PD.  It counts as one that the device has.
 */
static void mr_window_refused(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_MEM_WINDOW, LOCAL);
	struct mock *mock = r.p->mock;
	struct ib_uverbs_alloc_mw_resp mw;
	int held = mr_held(mock);

	KUNIT_ASSERT_EQ(test, 0, alloc_mw(&r, IB_MW_TYPE_2, &mw));
	mock->fail[CMD(DEREG_MR)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(&r, mw.mw_handle));
	KUNIT_EXPECT_EQ(test, mr_held(mock), held + 1);
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(r.p, r.resp.mr_handle));
	KUNIT_EXPECT_EQ(test, 0, process_dealloc_pd(r.p, r.pd));
	KUNIT_EXPECT_EQ(test, mock->given_up, 0);
	process_close_file(r.p);
	mock_withdraw(mock);
	/* The pages of the region. */
	KUNIT_EXPECT_EQ(test, mock->given_up, 1);
}

/* A region to which windows are bound stays; whether any are only the device knows. */
static void mr_window_bound(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_MEM_WINDOW,
				    LOCAL | IB_ACCESS_MW_BIND);
	struct mock *mock = r.p->mock;
	struct ib_uverbs_alloc_mw_resp mw;

	KUNIT_ASSERT_EQ(test, 0, alloc_mw(&r, IB_MW_TYPE_1, &mw));
	mock->fail[CMD(DEREG_MR)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -EBUSY, process_dereg_mr(r.p, r.resp.mr_handle));
	KUNIT_EXPECT_TRUE(test, is_pinned(test, r.start));
	mock->fail[CMD(DEREG_MR)] = 0;
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(r.p, r.resp.mr_handle));
	KUNIT_EXPECT_FALSE(test, is_pinned(test, r.start));
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(&r, mw.mw_handle));
	process_close_file(r.p);
	mock_expect_clean(mock);
}

/*
 * A process ends whose windows are younger or older than the region that they are bound
 * to; and a device that goes on refusing when there is no window any more is broken.
 */
static void mr_window_killed(struct kunit *test)
{
	struct region r = region_of(test, VIRTIO_IB_DEVICE_MEM_WINDOW,
				    LOCAL | IB_ACCESS_MW_BIND);
	struct mock *mock = r.p->mock;
	struct ib_uverbs_alloc_mw_resp mw;
	struct ib_uverbs_reg_mr_resp young;

	KUNIT_ASSERT_EQ(test, 0, alloc_mw(&r, IB_MW_TYPE_1, &mw));
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(r.p, r.pd, r.start, 10, r.start,
						LOCAL | IB_ACCESS_MW_BIND, &young));
	mock->fail[CMD(DEREG_MR)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -EBUSY, process_dereg_mr(r.p, young.mr_handle));
	process_close_file(r.p);
	/* They belong to the device now. */
	KUNIT_EXPECT_TRUE(test, is_pinned(test, r.start));
	KUNIT_EXPECT_EQ(test, mock->given_up, 0);
	mock_withdraw(mock);
	KUNIT_EXPECT_EQ(test, mock->given_up, 1);
	KUNIT_EXPECT_FALSE(test, is_pinned(test, r.start));
}

static void mr_no_windows(struct kunit *test)
{
	struct region r = region_of(test, 0, LOCAL);
	struct ib_uverbs_alloc_mw_resp resp;

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, alloc_mw(&r, IB_MW_TYPE_1, &resp));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_reg_mr(r.p, r.pd, r.start, 10, r.start,
				       IB_ACCESS_MW_BIND, &r.resp));
	process_close_file(r.p);
	mock_expect_clean(r.p->mock);
}

static struct kunit_case mr_cases[] = {
	KUNIT_CASE(mr_other_pages),
	KUNIT_CASE(mr_other_rights),
	KUNIT_CASE(mr_other_domain),
	KUNIT_CASE(mr_change_refused),
	KUNIT_CASE(mr_change_not_answered),
	KUNIT_CASE(mr_no_change),
	KUNIT_CASE(mr_zero_based),
	KUNIT_CASE(mr_windows),
	KUNIT_CASE(mr_window_refused),
	KUNIT_CASE(mr_window_bound),
	KUNIT_CASE(mr_window_killed),
	KUNIT_CASE(mr_no_windows),
	{}
};

static struct kunit_suite mr_suite = {
	.name = "virtio_roce_mr",
	.test_cases = mr_cases,
};

kunit_test_suite(mr_suite);
