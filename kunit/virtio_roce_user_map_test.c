// SPDX-License-Identifier: GPL-2.0
/*
 * Queues that a process maps: which pieces, and how long they live.
 *
 * Most important: no process reaches memory that is not its own, or not any more:
 * descriptor tables, and rings whose CQ or QP is destroyed.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/lockdep.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>

#include "virtio_roce-abi.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64

/* The driver's work items run soon. */
static void wait_for_objects(struct mock *mock, unsigned int n)
{
	mock_wait(mock_objects(mock) == n);
	KUNIT_EXPECT_EQ(mock->test, mock_objects(mock), n);
}

#define EXPECT_ERROR(test, address, error)				\
	KUNIT_EXPECT_EQ(test, (long)(address), error)

/* Maps a piece, which the test has to unmap. */
static unsigned long must_map(struct process *p, u64 offset, size_t len,
			      int prot)
{
	unsigned long addr = process_mmap(p, offset, len, prot, MAP_SHARED);

	KUNIT_ASSERT_FALSE_MSG(p->test, IS_ERR_VALUE(addr), "mmap: %ld",
			       (long)addr);
	return addr;
}

static u16 user_get16(struct kunit *test, unsigned long addr)
{
	u16 value = 0xdead;

	KUNIT_EXPECT_EQ(test, 0, get_user(value, (u16 __user *)addr));
	return value;
}

static void user_put16(struct kunit *test, unsigned long addr, u16 value)
{
	KUNIT_EXPECT_EQ(test, 0, put_user(value, (u16 __user *)addr));
}

/* ----- mapping ----- */

static void user_maps_are_the_queues(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	struct mock_vq *vq = &mock->sq_vqs[prog->qp.qpn];
	unsigned long slots, avail, used, doorbell;
	u8 *slot;

	slots = must_map(prog->p, sq->slots_offset, sq->slots_len,
			 PROT_READ | PROT_WRITE);
	avail = must_map(prog->p, sq->avail_offset, sq->avail_len,
			 PROT_READ | PROT_WRITE);
	used = must_map(prog->p, sq->used_offset, sq->used_len, PROT_READ);
	doorbell = must_map(prog->p, sq->doorbell_offset, sq->doorbell_len,
			    PROT_WRITE);

	/* The available index, then the slot that the device finds. */
	user_put16(test, slots + 640, 0x1234);
	user_put16(test, avail + offsetof(struct vring_avail, ring[0]), 1);
	user_put16(test, avail + offsetof(struct vring_avail, idx), 1);
	slot = phys_to_virt(__virtio64_to_cpu(true, vq->pub.vring.desc[1].addr));
	KUNIT_EXPECT_EQ(test, mock_avail_idx(vq), 1);
	KUNIT_EXPECT_EQ(test, *(u16 *)slot, 0x1234);

	vq->pub.vring.used->idx = __cpu_to_virtio16(true, 0x4321);
	KUNIT_EXPECT_EQ(test, user_get16(test, used +
					 offsetof(struct vring_used, idx)),
			0x4321);
	user_put16(test, doorbell + sq->doorbell_pos, sq->doorbell_value);
	KUNIT_EXPECT_EQ(test, sq->doorbell_value,
			*(u16 *)(phys_to_virt(vq->pub.doorbell_phys) + 64));

	vm_munmap(doorbell, sq->doorbell_len);
	vm_munmap(used, sq->used_len);
	vm_munmap(avail, sq->avail_len);
	vm_munmap(slots, sq->slots_len);
	program_destroy(prog);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static void expect_read_only(struct process *p, u64 offset, size_t len)
{
	unsigned long addr;

	EXPECT_ERROR(p->test, process_mmap(p, offset, len,
					   PROT_READ | PROT_WRITE, MAP_SHARED),
		     -EPERM);
	EXPECT_ERROR(p->test, process_mmap(p, offset, len, PROT_WRITE,
					   MAP_SHARED), -EPERM);
	addr = must_map(p, offset, len, PROT_READ);
	KUNIT_EXPECT_NE(p->test, 0, put_user(1, (u8 __user *)addr));
	vm_munmap(addr, len);
}

static void user_read_only_pieces(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *cq = &prog->cq.drv.cq;
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	const struct virtio_roce_queue *rq = &prog->qp.drv.rq;

	expect_read_only(prog->p, cq->slots_offset, cq->slots_len);
	expect_read_only(prog->p, cq->used_offset, cq->used_len);
	expect_read_only(prog->p, sq->used_offset, sq->used_len);
	expect_read_only(prog->p, rq->used_offset, rq->used_len);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static vm_flags_t vma_flags(unsigned long addr)
{
	struct vm_area_struct *vma;
	vm_flags_t flags = 0;

	mmap_read_lock(current->mm);
	vma = find_vma(current->mm, addr);
	if (vma && vma->vm_start <= addr)
		flags = vma->vm_flags;
	mmap_read_unlock(current->mm);
	return flags;
}

/* mprotect() would be refused, and fork() would not copy the mapping. */
static void user_mapping_flags(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	unsigned long used, avail;
	vm_flags_t flags;

	used = must_map(prog->p, sq->used_offset, sq->used_len, PROT_READ);
	flags = vma_flags(used);
	KUNIT_EXPECT_TRUE(test, flags & VM_MAYREAD);
	KUNIT_EXPECT_FALSE(test, flags & VM_MAYWRITE);
	KUNIT_EXPECT_FALSE(test, flags & VM_MAYEXEC);
	KUNIT_EXPECT_TRUE(test, flags & VM_DONTCOPY);
	KUNIT_EXPECT_TRUE(test, flags & VM_IO);

	avail = must_map(prog->p, sq->avail_offset, sq->avail_len, PROT_READ);
	flags = vma_flags(avail);
	KUNIT_EXPECT_TRUE(test, flags & VM_MAYWRITE);
	KUNIT_EXPECT_FALSE(test, flags & VM_MAYEXEC);
	KUNIT_EXPECT_TRUE(test, flags & VM_DONTCOPY);

	EXPECT_ERROR(test, process_mmap(prog->p, sq->avail_offset,
					sq->avail_len, PROT_READ | PROT_EXEC,
					MAP_SHARED), -EPERM);
	vm_munmap(used, sq->used_len);
	vm_munmap(avail, sq->avail_len);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static void user_bad_mappings(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	struct process *p = prog->p;

	KUNIT_ASSERT_EQ(test, sq->slots_len, 2 * PAGE_SIZE);
	/* Too short, too long, the second page only, private. */
	EXPECT_ERROR(test, process_mmap(p, sq->slots_offset, PAGE_SIZE,
					PROT_READ, MAP_SHARED), -EINVAL);
	EXPECT_ERROR(test, process_mmap(p, sq->slots_offset, 3 * PAGE_SIZE,
					PROT_READ, MAP_SHARED), -EINVAL);
	EXPECT_ERROR(test, process_mmap(p, sq->slots_offset + PAGE_SIZE,
					PAGE_SIZE, PROT_READ, MAP_SHARED),
		     -EINVAL);
	EXPECT_ERROR(test, process_mmap(p, sq->slots_offset, sq->slots_len,
					PROT_READ, MAP_PRIVATE), -EINVAL);
	EXPECT_ERROR(test, process_mmap(p, 1ULL << 40, PAGE_SIZE, PROT_READ,
					MAP_SHARED), -EINVAL);
	process_close_file(p);
	mock_expect_clean(mock);
}

/* Is a page of the process a page of some descriptor table? */
static bool is_table(struct mock *mock, const u8 *page)
{
	const size_t len = NUM * sizeof(struct vring_desc);
	int i;

	for (i = 0; i < MOCK_CQS; i++)
		if (!memcmp(page, mock->cq_vqs[i].pub.vring.desc, len))
			return true;
	for (i = 0; i < MOCK_QPS; i++)
		if (!memcmp(page, mock->sq_vqs[i].pub.vring.desc, len) ||
		    !memcmp(page, mock->rq_vqs[i].pub.vring.desc, len))
			return true;
	return false;
}

/* Marks each table, also of unused queues, so that it can be recognized. */
static void mark_tables(struct mock *mock)
{
	int i;

	for (i = 0; i < MOCK_CQS; i++)
		mock->cq_vqs[i].pub.vring.desc[NUM - 1].addr =
			__cpu_to_virtio64(true, 0xc000 + i);
	for (i = 0; i < MOCK_QPS; i++) {
		mock->sq_vqs[i].pub.vring.desc[NUM - 1].addr =
			__cpu_to_virtio64(true, 0x5000 + i);
		mock->rq_vqs[i].pub.vring.desc[NUM - 1].addr =
			__cpu_to_virtio64(true, 0x6000 + i);
	}
}

static void read_page(struct kunit *test, unsigned long addr, u8 *page)
{
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(page, (void __user *)addr,
						PAGE_SIZE));
}

/* Every offset, with every length that something here could have. */
static void user_no_table_at_any_offset(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	u8 *page = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	int pieces = 0, tables = 0;
	unsigned long addr, i;
	u64 offset;
	size_t len;

	KUNIT_ASSERT_NOT_NULL(test, page);
	mark_tables(mock);
	/* The test would find a table. */
	memcpy(page, mock->rq_vqs[2].pub.vring.desc,
	       NUM * sizeof(struct vring_desc));
	KUNIT_ASSERT_TRUE(test, is_table(mock, page));

	for (offset = 0; offset < 128 * PAGE_SIZE; offset += PAGE_SIZE) {
		for (len = PAGE_SIZE; len <= 4 * PAGE_SIZE; len += PAGE_SIZE) {
			addr = process_mmap(prog->p, offset, len, PROT_READ,
					    MAP_SHARED);
			if (IS_ERR_VALUE(addr))
				continue;
			pieces++;
			for (i = 0; i < len; i += PAGE_SIZE) {
				read_page(test, addr + i, page);
				tables += is_table(mock, page);
			}
			vm_munmap(addr, len);
		}
	}
	KUNIT_EXPECT_EQ(test, tables, 0);
	/* Slots and two rings of each queue, and two doorbells. */
	KUNIT_EXPECT_EQ(test, pieces, 3 * 3 + 2);
	process_close_file(prog->p);
}

/* Offsets mean nothing in another context. */
static void user_offsets_of_others(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct process other = *prog->p;

	other.file = process_open(&other);
	KUNIT_ASSERT_FALSE(test, IS_ERR(other.file));
	KUNIT_EXPECT_EQ(test, 0, process_get_context(&other,
						     sizeof(other.context)));
	EXPECT_ERROR(test, process_mmap(&other, prog->qp.drv.sq.slots_offset,
					prog->qp.drv.sq.slots_len, PROT_READ,
					MAP_SHARED), -EINVAL);
	process_close_file(&other);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

/* ----- how long mappings and objects live ----- */

static void user_unmap_then_destroy(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	unsigned long avail;

	avail = must_map(prog->p, sq->avail_offset, sq->avail_len, PROT_READ);
	vm_munmap(avail, sq->avail_len);
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(prog->p, prog->qp.handle));
	/* Destroyed at once, not by a work item. */
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_QP)), 1);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), 0);
	EXPECT_ERROR(test, process_mmap(prog->p, sq->avail_offset,
					sq->avail_len, PROT_READ, MAP_SHARED),
		     -EINVAL);
	KUNIT_EXPECT_EQ(test, 0, process_destroy_cq(prog->p, prog->cq.handle));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_CQ)), 1);
	KUNIT_EXPECT_EQ(test, 0, process_dealloc_pd(prog->p, prog->pd));
	mock_expect_clean(mock);
	process_close_file(prog->p);
}

/*
 * The process destroys its QP, CQ and PD, but keeps a mapping of an available ring: the
 * number must not be used again until the mapping is gone.
 */
static void user_destroy_while_mapped(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	struct mock_vq *vq = &mock->sq_vqs[prog->qp.qpn];
	unsigned long avail;
	struct cq_resp cq;
	struct qp_resp qp;
	u32 pd;

	avail = must_map(prog->p, sq->avail_offset, sq->avail_len,
			 PROT_READ | PROT_WRITE);
	program_destroy(prog);
	/* All objects still exist; the QP is stopped. */
	KUNIT_EXPECT_EQ(test, mock_objects(mock), 3);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_QP)), 0);
	KUNIT_EXPECT_EQ(test, mock->qps[prog->qp.qpn].state,
			VIRTIO_IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), 1);
	KUNIT_EXPECT_NULL(test, mock->cqs[0].notify);
	/* No new mappings are allowed. */
	EXPECT_ERROR(test, process_mmap(prog->p, sq->used_offset, sq->used_len,
					PROT_READ, MAP_SHARED), -EINVAL);
	EXPECT_ERROR(test, process_mmap(prog->p, sq->avail_offset,
					sq->avail_len, PROT_READ, MAP_SHARED),
		     -EINVAL);

	/* Others get other numbers, and writing does not reach their rings. */
	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(prog->p, &pd));
	KUNIT_ASSERT_EQ(test, 0, process_create_cq(prog->p, 4, &cq));
	KUNIT_ASSERT_EQ(test, 0, process_create_qp(prog->p, pd, cq.handle,
						   IB_QPT_RC, &qp));
	KUNIT_EXPECT_NE(test, qp.qpn, prog->qp.qpn);
	KUNIT_EXPECT_TRUE(test, mock->cqs[1].exists);
	user_put16(test, avail + offsetof(struct vring_avail, idx), 0x7777);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->sq_vqs[qp.qpn]), 0);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(vq), 0x7777);

	/* With the mapping gone, QP, CQ and PD are destroyed. */
	vm_munmap(avail, sq->avail_len);
	wait_for_objects(mock, 3);
	KUNIT_EXPECT_FALSE(test, mock->qps[prog->qp.qpn].exists);
	KUNIT_EXPECT_FALSE(test, mock->cqs[0].exists);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(vq), 0);

	/* The next owner finds nothing of the old one. */
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(prog->p, qp.handle));
	KUNIT_EXPECT_EQ(test, 0, process_create_qp(prog->p, pd, cq.handle,
						   IB_QPT_RC, &qp));
	KUNIT_EXPECT_EQ(test, qp.qpn, prog->qp.qpn);
	avail = must_map(prog->p, qp.drv.sq.avail_offset, qp.drv.sq.avail_len,
			 PROT_READ);
	KUNIT_EXPECT_EQ(test, user_get16(test, avail +
					 offsetof(struct vring_avail, idx)), 0);
	KUNIT_EXPECT_STREQ(test, mock->violation, "");
}

struct piece_case {
	const char *name;
	size_t queue;
	size_t offset;
	size_t len;
};

#define PIECE(name, queue, piece) {					\
	name, offsetof(struct virtio_roce_create_qp_resp, queue),	\
	offsetof(struct virtio_roce_queue, piece ## _offset),		\
	offsetof(struct virtio_roce_queue, piece ## _len),		\
}

static const struct piece_case piece_table[] = {
	PIECE("send slots", sq, slots),
	PIECE("send available ring", sq, avail),
	PIECE("send used ring", sq, used),
	PIECE("send doorbell", sq, doorbell),
	PIECE("receive slots", rq, slots),
	PIECE("receive available ring", rq, avail),
	PIECE("receive used ring", rq, used),
	PIECE("receive doorbell", rq, doorbell),
};

KUNIT_ARRAY_PARAM_DESC(piece, piece_table, name);

/* Any piece that is still mapped keeps the QP. */
static void user_each_piece_holds(struct kunit *test)
{
	const struct piece_case *c = test->param_value;
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const void *queue = (void *)&prog->qp.drv + c->queue;
	u32 len = *(u32 *)(queue + c->len);
	unsigned long addr;

	addr = must_map(prog->p, *(u64 *)(queue + c->offset), len, PROT_READ);
	program_destroy(prog);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_QP)), 0);
	vm_munmap(addr, len);
	wait_for_objects(mock, 0);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_QP)), 1);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static void user_cq_while_mapped(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_with_context(mock);
	struct cq_resp cq, other;
	unsigned long used;

	KUNIT_ASSERT_EQ(test, 0, process_create_cq(p, 4, &cq));
	used = must_map(p, cq.drv.cq.used_offset, cq.drv.cq.used_len, PROT_READ);
	KUNIT_EXPECT_EQ(test, 0, process_destroy_cq(p, cq.handle));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_CQ)), 0);
	KUNIT_ASSERT_EQ(test, 0, process_create_cq(p, 4, &other));
	KUNIT_EXPECT_TRUE(test, mock->cqs[1].exists);
	KUNIT_EXPECT_EQ(test, 0, process_destroy_cq(p, other.handle));
	vm_munmap(used, cq.drv.cq.used_len);
	wait_for_objects(mock, 0);
	process_close_file(p);
	mock_expect_clean(mock);
}

/* Two mappings of one piece, one of them split in two. */
static void user_last_mapping_counts(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	unsigned long a, b;

	KUNIT_ASSERT_EQ(test, sq->slots_len, 2 * PAGE_SIZE);
	a = must_map(prog->p, sq->slots_offset, sq->slots_len, PROT_READ);
	b = must_map(prog->p, sq->slots_offset, sq->slots_len, PROT_READ);
	program_destroy(prog);
	vm_munmap(a, sq->slots_len);
	vm_munmap(b, PAGE_SIZE);
	msleep(50);
	KUNIT_EXPECT_EQ(test, mock_objects(mock), 3);
	vm_munmap(b + PAGE_SIZE, PAGE_SIZE);
	wait_for_objects(mock, 0);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

/* A process that dies: its mappings go first, and then the file. */
/* Slots count as locked memory. */
static void user_memlock(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);

	KUNIT_EXPECT_GE(test, atomic64_read(&current->mm->pinned_vm), 3);
	program_destroy(prog);
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), 0);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static void user_exit(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	unsigned long slots;

	slots = must_map(prog->p, sq->slots_offset, sq->slots_len, PROT_READ);
	process_close_file(prog->p);
	/* The mapping keeps the file open. */
	KUNIT_EXPECT_EQ(test, mock_objects(mock), 3);
	vm_munmap(slots, sq->slots_len);
	flush_delayed_fput();
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), 0);
	mock_expect_clean(mock);
}

/*
 * The core takes mmap_lock inside disassociation_lock when it removes mappings, and the
 * other way round in mmap().  Lockdep is right to report that, but this driver cannot
 * change it, and after one report lockdep is off for all other tests.
 */
static void withdraw_mapped(struct mock *mock)
{
	lockdep_off();
	mock_withdraw(mock);
	lockdep_on();
}

/* The function is unplugged under a process that has nothing mapped. */
static void user_removal_unmapped(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);

	mock_withdraw(mock);
	mock_expect_clean(mock);
	KUNIT_EXPECT_LT(test, process_create_cq(prog->p, 4, &prog->cq), 0);
	process_close_file(prog->p);
}

/* A lower driver that has no pages of their own for the rings. */
static void user_kernel_only(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_start(mock);
	struct cq_resp cq = {};
	u32 i;

	for (i = 0; i < mock->aux.max_cqs; i++)
		mock->cq_vqs[i].pub.avail_phys = 0;
	KUNIT_ASSERT_EQ(test, 0, process_get_context(p, sizeof(p->context)));
	KUNIT_EXPECT_EQ(test, process_create_cq(p, 4, &cq), -EOPNOTSUPP);
	process_close_file(p);
	KUNIT_EXPECT_EQ(test, mock_objects(mock), 0);
	mock_expect_clean(mock);
}

/* The function is unplugged under the process. */
static void user_removal(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	int refs = module_refcount(THIS_MODULE);
	struct program *prog;
	unsigned long avail, used;
	struct mock_vq *vq;

	mock->aux.owner = THIS_MODULE;
	prog = program_start(mock);
	vq = &mock->sq_vqs[prog->qp.qpn];
	avail = must_map(prog->p, prog->qp.drv.sq.avail_offset,
			 prog->qp.drv.sq.avail_len, PROT_READ | PROT_WRITE);
	used = must_map(prog->p, prog->qp.drv.sq.used_offset,
			prog->qp.drv.sq.used_len, PROT_READ);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);

	withdraw_mapped(mock);
	mock_expect_clean(mock);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);
	/* The process goes on; its mapping is private memory now. */
	user_put16(test, avail, 0x5555);
	KUNIT_EXPECT_EQ(test, user_get16(test, avail), 0x5555);
	KUNIT_EXPECT_EQ(test, 0, __virtio16_to_cpu(true,
						   vq->pub.vring.avail->flags));
	vq->pub.vring.used->idx = __cpu_to_virtio16(true, 7);
	/* The core maps the zero page, which CONFIG_DEBUG_VM reports. */
	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		KUNIT_EXPECT_EQ(test, user_get16(test, used + 2), 0);
	KUNIT_EXPECT_LT(test, process_create_cq(prog->p, 4, &prog->cq), 0);
	vm_munmap(avail, prog->qp.drv.sq.avail_len);
	vm_munmap(used, prog->qp.drv.sq.used_len);
	process_close_file(prog->p);
}

/* Deferred destruction is finished before the driver releases the function. */
static void user_removal_with_leftovers(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	unsigned long slots;

	slots = must_map(prog->p, sq->slots_offset, sq->slots_len, PROT_READ);
	program_destroy(prog);
	KUNIT_EXPECT_EQ(test, mock_objects(mock), 3);
	/* Slow, so that nothing is in time by chance. */
	mock->slow = 50;
	withdraw_mapped(mock);
	mock_expect_clean(mock);
	vm_munmap(slots, sq->slots_len);
	process_close_file(prog->p);
}

/* The core removes all mappings; the objects stay. */
static void user_revoked(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	struct ib_device *ibdev;
	unsigned long avail;

	avail = must_map(prog->p, sq->avail_offset, sq->avail_len,
			 PROT_READ | PROT_WRITE);
	ibdev = ib_device_get_by_netdev(mock->aux.netdev, RDMA_DRIVER_UNKNOWN);
	KUNIT_ASSERT_NOT_NULL(test, ibdev);
	lockdep_off();
	rdma_user_mmap_disassociate(ibdev);
	lockdep_on();
	ib_device_put(ibdev);
	user_put16(test, avail + offsetof(struct vring_avail, idx), 9);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->sq_vqs[prog->qp.qpn]), 0);
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(prog->p, prog->qp.handle));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_QP)), 1);
	vm_munmap(avail, sq->avail_len);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

/* A process that polls sees that the device is dead, and one that sleeps is woken. */
static void user_device_dies(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *cq = &prog->cq.drv.cq;
	unsigned long used;
	u32 alive = 0;
	int i;

	KUNIT_EXPECT_TRUE(test, cq->flags & VIRTIO_ROCE_QUEUE_ALIVE);
	used = must_map(prog->p, cq->used_offset, cq->used_len, PROT_READ);
	KUNIT_EXPECT_EQ(test, 0, get_user(alive, (u32 __user *)
					  (used + cq->used_len - 4)));
	KUNIT_EXPECT_NE(test, alive, 0);
	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	KUNIT_ASSERT_NOT_NULL(test, mock->event);
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	for (i = 0; i < 250 && alive; i++) {
		msleep(20);
		KUNIT_EXPECT_EQ(test, 0, get_user(alive, (u32 __user *)
						  (used + cq->used_len - 4)));
	}
	KUNIT_EXPECT_EQ(test, alive, 0);
	vm_munmap(used, cq->used_len);
	program_destroy(prog);
}

static struct kunit_case user_map_cases[] = {
	KUNIT_CASE(user_maps_are_the_queues),
	KUNIT_CASE(user_read_only_pieces),
	KUNIT_CASE(user_mapping_flags),
	KUNIT_CASE(user_bad_mappings),
	KUNIT_CASE(user_no_table_at_any_offset),
	KUNIT_CASE(user_offsets_of_others),
	KUNIT_CASE(user_unmap_then_destroy),
	KUNIT_CASE(user_destroy_while_mapped),
	KUNIT_CASE_PARAM(user_each_piece_holds, piece_gen_params),
	KUNIT_CASE(user_cq_while_mapped),
	KUNIT_CASE(user_last_mapping_counts),
	KUNIT_CASE(user_memlock),
	KUNIT_CASE(user_exit),
	KUNIT_CASE(user_kernel_only),
	KUNIT_CASE(user_removal_unmapped),
	KUNIT_CASE(user_removal),
	KUNIT_CASE(user_removal_with_leftovers),
	KUNIT_CASE(user_revoked),
	KUNIT_CASE(user_device_dies),
	{}
};

static struct kunit_suite user_map_suite = {
	.name = "virtio_roce_user_map",
	.test_cases = user_map_cases,
};

kunit_test_suite(user_map_suite);
