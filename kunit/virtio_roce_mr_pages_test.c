// SPDX-License-Identifier: GPL-2.0
/*
 * The pages of a memory region as the device is told of them: their size, and where their
 * list is.
 */
#include <kunit/test.h>
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/vmalloc.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64
#define LOCAL		IB_ACCESS_LOCAL_WRITE

/* Pages side by side, and an address that is aligned to all of them. */
#define ORDER		3
#define SIDE_BY_SIDE	(PAGE_SIZE << ORDER)
#define VA		0x70000000

#define BOTH		(VIRTIO_IB_DEVICE_MR_PAGE_SHIFT | VIRTIO_IB_DEVICE_MR_INDIRECT | \
			 VIRTIO_IB_DEVICE_REREG_MR)

/* Most pages of the wire whose list is in the command. */
#define SHORT		((u32)((PAGE_SIZE - sizeof(struct virtio_rdma_cmd_rereg_mr_long)) / 8))

static struct process *process_of(struct kunit *test, u64 caps, u32 *pd)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p;

	mock->query_device.device_cap_flags |= cpu_to_le64(caps);
	mock->query_device.page_size_cap = cpu_to_le64(0x7ffff000);
	p = process_with_context(mock);
	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, pd));
	return p;
}

static void process_is_done(struct kunit *test, struct process *p)
{
	struct mock *mock = p->mock;

	process_close_file(p);
	mock_expect_clean(mock);
}

static int rereg(struct process *p, u32 handle, unsigned long start, size_t len, u64 va)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = handle,
		.flags = IB_MR_REREG_TRANS,
		.start = start,
		.length = len,
		.hca_va = va,
	};

	return process_command(p, IB_USER_VERBS_CMD_REREG_MR, &req, sizeof(req),
			       &resp, sizeof(resp));
}

/* ----- sizes of pages ----- */

static int side_by_side_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct page *page = file->private_data;
	unsigned int i;
	int err = 0;

	for (i = 0; i < 1 << ORDER && !err; i++)
		err = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE, page + i);
	return err;
}

static int side_by_side_release(struct inode *inode, struct file *file)
{
	struct page *page = file->private_data;
	unsigned int i;

	for (i = 0; i < 1 << ORDER; i++)
		__free_page(page + i);
	return 0;
}

static const struct file_operations side_by_side_fops = {
	.owner = THIS_MODULE,
	.mmap = side_by_side_mmap,
	.release = side_by_side_release,
};

/* Pages side by side, mapped to the process. */
static unsigned long map_side_by_side(struct kunit *test, struct page **page)
{
	unsigned long start;
	struct file *file;

	*page = alloc_pages(GFP_KERNEL | __GFP_ZERO, ORDER);
	KUNIT_ASSERT_NOT_NULL(test, *page);
	split_page(*page, ORDER);
	file = anon_inode_getfile("side-by-side", &side_by_side_fops, *page, O_RDWR);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	start = kunit_vm_mmap(test, file, 0, SIDE_BY_SIDE, PROT_READ | PROT_WRITE,
			      MAP_SHARED, 0);
	fput(file);
	KUNIT_ASSERT_NE(test, start, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(start));
	return start;
}

static void pages_side_by_side(struct kunit *test)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct mock_mr *mr;
	unsigned long start;
	struct process *p;
	struct page *page;
	u32 pd;

	p = process_of(test, BOTH, &pd);
	mr = &p->mock->mrs[0];
	start = map_side_by_side(test, &page);

	/* All of them are one page. */
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, SIDE_BY_SIDE, VA, LOCAL,
						&resp));
	KUNIT_EXPECT_EQ(test, mr->npages, 1);
	KUNIT_EXPECT_EQ(test, mr->page_shift, PAGE_SHIFT + ORDER);
	KUNIT_EXPECT_EQ(test, mr->first_page, page_to_phys(page));
	KUNIT_EXPECT_EQ(test, mr->levels, 0);
	KUNIT_EXPECT_FALSE(test, p->mock->was_slow[CMD(REG_USER_MR)]);

	/* A part of them: the least that has all of it. */
	KUNIT_EXPECT_EQ(test, 0, rereg(p, resp.mr_handle, start + PAGE_SIZE + 100,
				       2 * PAGE_SIZE, VA + PAGE_SIZE + 100));
	KUNIT_EXPECT_EQ(test, mr->npages, 1);
	KUNIT_EXPECT_EQ(test, mr->page_shift, PAGE_SHIFT + 2);
	KUNIT_EXPECT_EQ(test, mr->first_page, page_to_phys(page));
	KUNIT_EXPECT_EQ(test, mr->virt_addr, VA + PAGE_SIZE + 100);
	KUNIT_EXPECT_EQ(test, mock_count(p->mock, CMD(REREG_MR_LONG)), 1);

	/* The address is at another place in a large page than the memory. */
	KUNIT_EXPECT_EQ(test, 0, rereg(p, resp.mr_handle, start, SIDE_BY_SIDE,
				       VA + PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, mr->npages, SIDE_BY_SIDE >> PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, mr->page_shift, PAGE_SHIFT == 12 ? 0 : PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, mr->last_page, page_to_phys(page + (1 << ORDER) - 1));
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	process_is_done(test, p);
}

/* A device that does not have other sizes is not given any, whatever it says of them. */
static void pages_of_the_rfc(struct kunit *test)
{
	struct ib_uverbs_reg_mr_resp resp;
	unsigned long start;
	struct mock_mr *mr;
	struct process *p;
	struct page *page;
	u32 pd;

	p = process_of(test, VIRTIO_IB_DEVICE_REREG_MR, &pd);
	mr = &p->mock->mrs[0];
	start = map_side_by_side(test, &page);
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, SIDE_BY_SIDE, VA, LOCAL,
						&resp));
	KUNIT_EXPECT_EQ(test, mr->npages, SIDE_BY_SIDE >> 12);
	KUNIT_EXPECT_EQ(test, mr->page_shift, 0);
	KUNIT_EXPECT_EQ(test, mr->last_page, page_to_phys(page) + SIDE_BY_SIDE - 4096);
	KUNIT_EXPECT_EQ(test, 0, rereg(p, resp.mr_handle, start, PAGE_SIZE, VA));
	KUNIT_EXPECT_EQ(test, mock_count(p->mock, CMD(REREG_MR)), 1);
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	process_is_done(test, p);
}

/* ----- lists outside of the command ----- */

#define MANY		(SHORT + 2 * VIRTIO_RDMA_MR_LIST_PAGE + 7)

static unsigned long map_many(struct kunit *test)
{
	unsigned long start = kunit_vm_mmap(test, NULL, 0, PAGE_ALIGN(MANY * 4096UL),
					    PROT_READ | PROT_WRITE,
					    MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE(test, start, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(start));
	return start;
}

/* The list has each page of [@start, @start + @n pages of the wire) where it is. */
static void expect_list(struct kunit *test, const struct mock_mr *mr,
			unsigned long start, u32 n)
{
	u64 sum = 0, addr;
	u32 i;

	for (i = 0; i < n; i++) {
		addr = start + i * 4096UL;
		sum += page_to_phys(process_page(test, addr)) + offset_in_page(addr);
	}
	KUNIT_EXPECT_EQ(test, mr->npages, n);
	KUNIT_EXPECT_EQ(test, mr->page_shift, 0);
	KUNIT_EXPECT_EQ(test, mr->sum, sum);
}

/* Memory that is allocated next is not zero. */
static void leave_traces(struct kunit *test)
{
	void *traces = vmalloc(64 * PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, traces);
	memset(traces, 0xa5, 64 * PAGE_SIZE);
	vfree(traces);
}

static void pages_elsewhere(struct kunit *test)
{
	static const u32 counts[] = { 1, SHORT, SHORT + 1, 1024, MANY };
	struct ib_uverbs_reg_mr_resp resp;
	struct mock_mr *mr;
	unsigned long start;
	struct process *p;
	unsigned int i;
	bool is_long;
	u32 pd;

	p = process_of(test, VIRTIO_IB_DEVICE_MR_INDIRECT | VIRTIO_IB_DEVICE_REREG_MR, &pd);
	mr = &p->mock->mrs[0];
	start = map_many(test);
	/* Now, so that lists and not these get memory that is not zero. */
	for (i = 0; i < MANY; i++)
		process_page(test, start + i * 4096UL);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		leave_traces(test);
		is_long = counts[i] > SHORT;
		KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, counts[i] * 4096,
							start, LOCAL, &resp));
		expect_list(test, mr, start, counts[i]);
		KUNIT_EXPECT_EQ(test, mr->levels, is_long);
		KUNIT_EXPECT_EQ(test, p->mock->was_slow[CMD(REG_USER_MR)], is_long);
		KUNIT_EXPECT_TRUE(test, p->mock->settled[CMD(REG_USER_MR)]);
		KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	}
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, 1, start, LOCAL, &resp));
	KUNIT_EXPECT_EQ(test, 0, rereg(p, resp.mr_handle, start, MANY * 4096, start));
	expect_list(test, mr, start, MANY);
	KUNIT_EXPECT_EQ(test, mr->levels, 1);
	KUNIT_EXPECT_TRUE(test, p->mock->was_slow[CMD(REREG_MR_LONG)]);
	KUNIT_EXPECT_TRUE(test, p->mock->settled[CMD(REREG_MR_LONG)]);
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, resp.mr_handle));
	process_is_done(test, p);
}

static unsigned int kept(struct mock *mock)
{
	struct ib_device *ibdev = mock_ibdev(mock);
	struct list_head *at;
	unsigned int n = 0;

	list_for_each(at, &to_vdev(ibdev)->kept)
		n++;
	ib_device_put(ibdev);
	return n;
}

/* A device that does not answer may still read the list, and has the pages. */
static void pages_not_answered(struct kunit *test)
{
	struct ib_uverbs_reg_mr_resp resp, other;
	unsigned long start;
	struct process *p;
	u32 pd;

	p = process_of(test, VIRTIO_IB_DEVICE_MR_INDIRECT | VIRTIO_IB_DEVICE_REREG_MR, &pd);
	start = map_many(test);
	KUNIT_ASSERT_EQ(test, 0, process_reg_mr(p, pd, start, 1, start, LOCAL, &other));
	p->mock->fail[CMD(REG_USER_MR)] = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, process_reg_mr(p, pd, start, 1, start, LOCAL,
							 &resp));
	KUNIT_EXPECT_EQ(test, kept(p->mock), 1);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, process_reg_mr(p, pd, start, MANY * 4096, start,
							 LOCAL, &resp));
	KUNIT_EXPECT_EQ(test, kept(p->mock), 3);
	p->mock->fail[CMD(REREG_MR_LONG)] = -EPROTO;
	KUNIT_EXPECT_EQ(test, -EPROTO, rereg(p, other.mr_handle, start, MANY * 4096, start));
	KUNIT_EXPECT_EQ(test, kept(p->mock), 5);
	/* One that refuses, or was reset, does not. */
	p->mock->fail[CMD(REREG_MR_LONG)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, rereg(p, other.mr_handle, start, MANY * 4096, start));
	p->mock->fail[CMD(REG_USER_MR)] = -ENODEV;
	KUNIT_EXPECT_EQ(test, -ENODEV, process_reg_mr(p, pd, start, MANY * 4096, start,
						      LOCAL, &resp));
	KUNIT_EXPECT_EQ(test, kept(p->mock), 5);
	KUNIT_EXPECT_EQ(test, 0, process_dereg_mr(p, other.mr_handle));
	process_is_done(test, p);
}

static struct kunit_case mr_pages_cases[] = {
	KUNIT_CASE(pages_side_by_side),
	KUNIT_CASE(pages_of_the_rfc),
	KUNIT_CASE(pages_elsewhere),
	KUNIT_CASE(pages_not_answered),
	{}
};

static struct kunit_suite mr_pages_suite = {
	.name = "virtio_roce_mr_pages",
	.test_cases = mr_pages_cases,
};

kunit_test_suite(mr_pages_suite);
