// SPDX-License-Identifier: GPL-2.0
/*
 * Actions of a process on the device, good and bad.
 *
 * Most important: no process reaches memory that is not its own, or not any more:
 * descriptor tables, and rings whose CQ or QP is destroyed.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/lockdep.h>
#include <linux/mman.h>
#include <linux/module.h>
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
	int i;

	for (i = 0; i < 50 && mock_objects(mock) != n; i++)
		msleep(20);
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

/* ----- contexts ----- */

static void user_context(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	int refs = module_refcount(THIS_MODULE);
	struct process *p;

	mock->aux.owner = THIS_MODULE;
	p = process_start(mock);
	/*
	 * A provider of another version, which has no room for the answer.  The
	 * core forgets a reference to the task then, which kmemleak reports.
	 */
	if (!IS_ENABLED(CONFIG_DEBUG_KMEMLEAK))
		KUNIT_EXPECT_EQ(test, process_get_context(p, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);

	KUNIT_ASSERT_EQ(test, 0, process_get_context(p, sizeof(p->context)));
	KUNIT_EXPECT_EQ(test, p->context.max_inline_data, 512);
	KUNIT_EXPECT_EQ(test, p->context.features, 0);
	KUNIT_EXPECT_EQ(test, p->context.device_caps,
			VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);
	process_close_file(p);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);
	mock_expect_clean(mock);
}

/*
 * The handshake with providers of other versions.  A refused one is not tried under
 * kmemleak, see above.
 */
static void user_handshake(struct kunit *test)
{
	const u64 unknown = BIT_ULL(20) | BIT_ULL(63);
	struct mock *mock = mock_device(test, NUM);
	struct {
		struct virtio_roce_alloc_ucontext_resp base;
		u64 more;
	} resp;
	struct {
		struct virtio_roce_alloc_ucontext_req base;
		u64 more;
	} req = {};
	struct process *p;

	mock->query_device.device_cap_flags =
		cpu_to_le64(VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN |
			    VIRTIO_IB_DEVICE_CQ_HOLD | unknown);
	p = process_start(mock);
	/* Ours, and one that knows features that we do not. */
	req.base.features = VIRTIO_ROCE_FEATURES | unknown;
	KUNIT_ASSERT_EQ(test, 0, process_handshake(p, &req, sizeof(req.base),
						   sizeof(p->context)));
	/* The device has no direct queues. */
	KUNIT_EXPECT_EQ(test, p->context.features, 0);
	/* Of the device it is told what we know. */
	KUNIT_EXPECT_EQ(test, p->context.device_caps,
			VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN |
			VIRTIO_IB_DEVICE_CQ_HOLD);
	KUNIT_EXPECT_EQ(test, p->context.max_inline_data, 512);

	/* A newer one: longer both ways.  We do not write behind our answer. */
	process_reopen(p);
	memset(&resp, 0xa5, sizeof(resp));
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)p->mem + p->resp,
					      &resp, sizeof(resp)));
	KUNIT_ASSERT_EQ(test, 0, process_handshake(p, &req, sizeof(req),
						   sizeof(resp)));
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(&resp, (void __user *)p->mem +
						p->resp, sizeof(resp)));
	KUNIT_EXPECT_EQ(test, resp.base.features, 0);
	KUNIT_EXPECT_EQ(test, resp.base.reserved, 0);
	KUNIT_EXPECT_EQ(test, resp.more, 0xa5a5a5a5a5a5a5a5);

	/* None at all: no features, but a context. */
	process_reopen(p);
	KUNIT_ASSERT_EQ(test, 0, process_get_context(p, sizeof(p->context)));
	KUNIT_EXPECT_EQ(test, p->context.features, 0);
	KUNIT_EXPECT_EQ(test, p->context.max_inline_data, 512);

	if (!IS_ENABLED(CONFIG_DEBUG_KMEMLEAK)) {
		process_reopen(p);
		req.more = 1;
		KUNIT_EXPECT_EQ(test, -EINVAL,
				process_handshake(p, &req, sizeof(req),
						  sizeof(p->context)));
	}
	process_close_file(p);
	mock_expect_clean(mock);
}

static void user_answers(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *cq = &prog->cq.drv.cq;
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	const struct virtio_roce_queue *rq = &prog->qp.drv.rq;
	const struct mock_vq *vq = &mock->sq_vqs[prog->qp.qpn];

	KUNIT_EXPECT_EQ(test, prog->cq.cqe, 8);
	KUNIT_EXPECT_EQ(test, cq->num, NUM);
	KUNIT_EXPECT_EQ(test, cq->depth, 8);
	KUNIT_EXPECT_EQ(test, cq->stride, 64);
	KUNIT_EXPECT_EQ(test, cq->slots_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, cq->avail_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, cq->used_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, cq->flags, VIRTIO_ROCE_QUEUE_ALIVE);
	KUNIT_EXPECT_EQ(test, cq->doorbell_len, 0);
	KUNIT_EXPECT_EQ(test, mock->cqs[0].cqe, 8);

	KUNIT_EXPECT_EQ(test, prog->qp.max_send_wr, 8);
	KUNIT_EXPECT_EQ(test, prog->qp.max_recv_wr, 4);
	KUNIT_EXPECT_EQ(test, prog->qp.max_send_sge, 2);
	KUNIT_EXPECT_EQ(test, prog->qp.max_recv_sge, 1);
	KUNIT_EXPECT_EQ(test, prog->qp.max_inline_data, 512);
	KUNIT_EXPECT_EQ(test, sq->num, NUM);
	KUNIT_EXPECT_EQ(test, sq->depth, 8);
	KUNIT_EXPECT_EQ(test, sq->stride, 640);
	KUNIT_EXPECT_EQ(test, sq->slots_len, PAGE_ALIGN(8 * 640));
	KUNIT_EXPECT_EQ(test, sq->flags, VIRTIO_ROCE_QUEUE_DOORBELL);
	KUNIT_EXPECT_EQ(test, sq->doorbell_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, sq->doorbell_pos, 64);
	KUNIT_EXPECT_EQ(test, sq->doorbell_value, vq->pub.index);
	KUNIT_EXPECT_EQ(test, rq->depth, 4);
	KUNIT_EXPECT_EQ(test, rq->stride, 64);
	KUNIT_EXPECT_EQ(test, rq->doorbell_value, vq->pub.index + 1);
	program_destroy(prog);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static void user_answers_event_idx(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog;
	int i;

	mock->aux.event_idx = true;
	for (i = 0; i < MOCK_QPS; i++)
		mock->sq_vqs[i].pub.doorbell_phys = 0;
	prog = program_start(mock);
	KUNIT_EXPECT_EQ(test, prog->cq.drv.cq.flags,
			VIRTIO_ROCE_QUEUE_ALIVE | VIRTIO_ROCE_QUEUE_EVENT_IDX);
	KUNIT_EXPECT_EQ(test, prog->qp.drv.sq.flags,
			VIRTIO_ROCE_QUEUE_EVENT_IDX);
	KUNIT_EXPECT_EQ(test, prog->qp.drv.sq.doorbell_len, 0);
	KUNIT_EXPECT_EQ(test, prog->qp.drv.rq.flags,
			VIRTIO_ROCE_QUEUE_EVENT_IDX |
			VIRTIO_ROCE_QUEUE_DOORBELL);
	program_destroy(prog);
	process_close_file(prog->p);
	mock_expect_clean(mock);
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

/* ----- commands ----- */

/* The answer does not fit into the process's memory: all is undone. */
static void user_answer_faults(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_with_context(mock);
	struct cq_resp cq;
	struct qp_resp qp;
	u32 pd;

	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &pd));
	KUNIT_ASSERT_EQ(test, 0, process_create_cq(p, 4, &cq));
	/* The core's part is in the last page, the driver's past its end. */
	p->resp = USER_PAGES * PAGE_SIZE - 32;
	KUNIT_EXPECT_EQ(test, process_create_qp(p, pd, cq.handle, IB_QPT_RC, &qp),
			-EFAULT);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_QP)), 1);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_QP)), 1);
	p->resp = USER_PAGES * PAGE_SIZE - 8;
	KUNIT_EXPECT_EQ(test, process_create_cq(p, 4, &cq), -EFAULT);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_CQ)), 1);
	KUNIT_EXPECT_EQ(test, mock_objects(mock), 2);
	process_close_file(p);
	mock_expect_clean(mock);
}

static void user_unknown_input(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_with_context(mock);
	struct {
		struct ib_uverbs_create_cq base;
		u64 more;
	} req = {
		.base = { .cqe = 4, .comp_channel = -1 },
		.more = 1,
	};
	struct {
		struct cq_resp base;
		u64 more;
	} resp;

	KUNIT_EXPECT_EQ(test, -EINVAL,
			process_command(p, IB_USER_VERBS_CMD_CREATE_CQ, &req,
					sizeof(req), &resp,
					sizeof(resp.base)));
	/* A provider that has no room for the driver's answer. */
	req.more = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			process_command(p, IB_USER_VERBS_CMD_CREATE_CQ, &req,
					sizeof(req), &resp,
					sizeof(resp.base) - 8));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_CQ)), 0);
	/* Zeros are ignored, and room for more than the driver answers as well. */
	memset(&resp, 0xa5, sizeof(resp));
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)p->mem + p->resp,
					      &resp, sizeof(resp)));
	KUNIT_EXPECT_EQ(test, 0,
			process_command(p, IB_USER_VERBS_CMD_CREATE_CQ, &req,
					sizeof(req), &resp, sizeof(resp)));
	KUNIT_EXPECT_EQ(test, resp.base.drv.cq.num, NUM);
	KUNIT_EXPECT_EQ(test, resp.more, 0xa5a5a5a5a5a5a5a5);
	process_close_file(p);
	mock_expect_clean(mock);
}

static int post(struct process *p, u32 command, u32 handle, u32 count)
{
	struct {
		struct ib_uverbs_post_send base;
		struct ib_uverbs_send_wr wr;
	} req = {
		.base = {
			.qp_handle = handle,
			.wr_count = count,
			.wqe_size = sizeof(req.wr),
		},
		.wr = { .opcode = IB_UVERBS_WR_SEND },
	};
	struct ib_uverbs_post_send_resp resp;

	return process_command(p, command, &req,
			       count ? sizeof(req) : sizeof(req.base), &resp,
			       sizeof(resp));
}

/* An empty list rings the doorbell; requests are the provider's to post. */
static void user_doorbell_by_post(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct mock_vq *sq = &mock->sq_vqs[prog->qp.qpn];
	struct mock_vq *rq = &mock->rq_vqs[prog->qp.qpn];

	KUNIT_EXPECT_EQ(test, 0, post(prog->p, IB_USER_VERBS_CMD_POST_SEND,
				      prog->qp.handle, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_EXPECT_EQ(test, rq->kicks, 0);
	KUNIT_EXPECT_EQ(test, 0, post(prog->p, IB_USER_VERBS_CMD_POST_RECV,
				      prog->qp.handle, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_EXPECT_EQ(test, rq->kicks, 1);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			post(prog->p, IB_USER_VERBS_CMD_POST_SEND,
			     prog->qp.handle, 1));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(sq), 0);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

/* The kernel does not poll the CQ of a process. */
static void user_poll_and_notify(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct ib_uverbs_poll_cq poll = {
		.cq_handle = prog->cq.handle, .ne = 1,
	};
	struct ib_uverbs_req_notify_cq notify = {
		.cq_handle = prog->cq.handle, .solicited_only = 1,
	};
	struct ib_uverbs_poll_cq_resp resp;

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_command(prog->p, IB_USER_VERBS_CMD_POLL_CQ,
					&poll, sizeof(poll), &resp,
					sizeof(resp)));
	KUNIT_EXPECT_EQ(test, 0,
			process_command(prog->p, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
					&notify, sizeof(notify), NULL, 0));
	KUNIT_EXPECT_EQ(test, mock->cqs[0].armed, VIRTIO_IB_NOTIFY_SOLICITED);
	KUNIT_EXPECT_FALSE(test, mock_last(mock, CMD(REQ_NOTIFY_CQ))->atomic);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static void user_qp_types(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct qp_resp qp;

	KUNIT_EXPECT_EQ(test, 0, process_create_qp(prog->p, prog->pd,
						   prog->cq.handle, IB_QPT_UC,
						   &qp));
	KUNIT_EXPECT_EQ(test, mock->qps[qp.qpn].type, VIRTIO_IB_QPT_UC);
	KUNIT_EXPECT_EQ(test, 0, process_create_qp(prog->p, prog->pd,
						   prog->cq.handle, IB_QPT_UD,
						   &qp));
	KUNIT_EXPECT_EQ(test, mock->qps[qp.qpn].type, VIRTIO_IB_QPT_UD);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_create_qp(prog->p, prog->pd, prog->cq.handle,
					  IB_QPT_DRIVER, &qp));
	/* QP 1 is the kernel's. */
	KUNIT_EXPECT_LT(test, process_create_qp(prog->p, prog->pd,
						prog->cq.handle, IB_QPT_GSI,
						&qp), 0);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

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

static struct kunit_case user_cases[] = {
	KUNIT_CASE(user_context),
	KUNIT_CASE(user_handshake),
	KUNIT_CASE(user_answers),
	KUNIT_CASE(user_answers_event_idx),
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
	KUNIT_CASE(user_answer_faults),
	KUNIT_CASE(user_unknown_input),
	KUNIT_CASE(user_doorbell_by_post),
	KUNIT_CASE(user_poll_and_notify),
	KUNIT_CASE(user_qp_types),
	KUNIT_CASE(user_mr),
	KUNIT_CASE(user_mr_refused),
	KUNIT_CASE(user_mr_atomic),
	KUNIT_CASE(user_mr_flush),
	KUNIT_CASE(user_mr_not_deregistered),
	KUNIT_CASE(user_mr_after_reset),
	KUNIT_CASE(user_device_dies),
	{}
};

static struct kunit_suite user_suite = {
	.name = "virtio_roce_user",
	.test_cases = user_cases,
};

kunit_test_suite(user_suite);
