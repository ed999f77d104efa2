// SPDX-License-Identifier: GPL-2.0
/*
 * Processes with direct queues: what they map, what counts against their limits, and how
 * their rings are resized.  The whole driver is bound to a function that acts as a device.
 */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_caps.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name

static unsigned long direct_map(struct process *p, u64 offset, u32 len, int prot)
{
	unsigned long addr = process_mmap(p, offset, len, prot, MAP_SHARED);

	KUNIT_ASSERT_FALSE(p->test, IS_ERR_VALUE(addr));
	return addr;
}

/* It maps its rings, which the device sees, and may not write to completions. */
static void direct_user_maps(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	const struct virtio_roce_queue *cq = &prog.cq.drv.cq;
	const struct virtio_roce_create_qp_resp *qp = &prog.qp.drv;
	const struct virtio_rdma_qp_direct *direct;
	unsigned long mem, page;
	u32 cqn, bit;

	KUNIT_EXPECT_EQ(test, cq->flags, VIRTIO_ROCE_QUEUE_DIRECT);
	KUNIT_EXPECT_EQ(test, cq->depth, 32);
	KUNIT_EXPECT_EQ(test, (long)process_mmap(p, cq->slots_offset,
						 cq->slots_len,
						 PROT_READ | PROT_WRITE,
						 MAP_SHARED), -EPERM);
	KUNIT_EXPECT_EQ(test, (long)process_mmap(p, cq->slots_offset,
						 cq->slots_len + PAGE_SIZE,
						 PROT_READ, MAP_SHARED), -EINVAL);
	KUNIT_EXPECT_EQ(test, (long)process_mmap(p, cq->slots_offset,
						 cq->slots_len, PROT_READ,
						 MAP_PRIVATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, (long)process_mmap(p, qp->sq.slots_offset,
						 qp->sq.slots_len,
						 PROT_READ | PROT_EXEC,
						 MAP_SHARED), -EPERM);
	mem = direct_map(p, cq->slots_offset, cq->slots_len, PROT_READ);
	KUNIT_EXPECT_NE(test, 0, put_user(1, (u8 __user *)mem));
	vm_munmap(mem, cq->slots_len);

	direct = &mock->qps[prog.qp.qpn].direct;
	cqn = mock->qps[prog.qp.qpn].scqn;
	bit = le32_to_cpu(direct->bit);
	KUNIT_EXPECT_EQ(test, qp->bit, bit);
	KUNIT_EXPECT_EQ(test, qp->sq.depth, 8);
	KUNIT_EXPECT_EQ(test, qp->rq.depth, 4);
	KUNIT_EXPECT_EQ(test, qp->sq.stride, 64);
	/* A page for each ring, and the control block behind the second one. */
	KUNIT_EXPECT_EQ(test, qp->sq.slots_len, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, qp->rq.slots_pos, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, qp->sq.control_pos, PAGE_SIZE + 4 * qp->rq.stride);
	mem = direct_map(p, qp->sq.slots_offset, qp->sq.slots_len,
			 PROT_READ | PROT_WRITE);
	KUNIT_EXPECT_EQ(test, 0, put_user(0x51, (u8 __user *)(mem +
							      qp->sq.slots_pos)));
	KUNIT_EXPECT_EQ(test, 0, put_user(0x52, (u8 __user *)(mem +
							      qp->rq.slots_pos)));
	KUNIT_EXPECT_EQ(test, 0, put_user(7, (u32 __user *)(mem +
							    qp->sq.control_pos)));
	KUNIT_EXPECT_EQ(test, *(u8 *)mock_direct_slot(mock, prog.qp.qpn, false, 0),
			0x51);
	KUNIT_EXPECT_EQ(test, *(u8 *)mock_direct_slot(mock, prog.qp.qpn, true, 0),
			0x52);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(mock->qps[prog.qp.qpn].control->send_producer),
			7);
	page = direct_map(p, qp->page_offset, PAGE_SIZE, PROT_READ | PROT_WRITE);
	KUNIT_EXPECT_EQ(test, 0, put_user(9, (u32 __user *)page));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(mock->doorbells[0]->ring_me), 9);
	vm_munmap(page, PAGE_SIZE);
	vm_munmap(mem, qp->sq.slots_len);

	/* The bit of a process, and the numbers, are not those of the kernel. */
	KUNIT_EXPECT_EQ(test, mock->cqs[cqn].cqe, 32);
	process_close_file(p);
	mock_expect_clean(mock);
	KUNIT_EXPECT_NULL(test, mock->doorbells[0]);
}

/* Mapped queues are destroyed at once; their pages stay until they are unmapped. */
static void direct_user_outlives(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	const struct virtio_roce_queue *cq = &prog.cq.drv.cq;
	const struct virtio_roce_queue *sq = &prog.qp.drv.sq;
	u32 cqn = mock->qps[prog.qp.qpn].scqn;
	unsigned long mem, control;
	u32 word = 0;

	mem = direct_map(p, sq->slots_offset, sq->slots_len,
			 PROT_READ | PROT_WRITE);
	control = direct_map(p, cq->control_offset, cq->control_len,
			     PROT_READ | PROT_WRITE);
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(p, prog.qp.handle));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_cq(p, prog.cq.handle));
	KUNIT_EXPECT_FALSE(test, mock->qps[prog.qp.qpn].exists);
	KUNIT_EXPECT_FALSE(test, mock->cqs[cqn].exists);
	KUNIT_EXPECT_EQ(test, 0, put_user(1, (u32 __user *)mem));
	/* A process that still polls it finds an error. */
	KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)(control + 32)));
	KUNIT_EXPECT_NE(test, word, 0);
	KUNIT_EXPECT_EQ(test, (long)process_mmap(p, sq->slots_offset,
						 sq->slots_len, PROT_READ,
						 MAP_SHARED), -EINVAL);
	vm_munmap(mem, sq->slots_len);
	vm_munmap(control, cq->control_len);
	process_close_file(p);
	mock_expect_clean(mock);
}

/* From now on the test has no right to lock more memory than it may. */
static void direct_drop_capability(struct kunit *test)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cap_lower(cred->cap_effective, CAP_IPC_LOCK);
	commit_creds(cred);
}

static unsigned long direct_lock_at_most(unsigned long bytes)
{
	return xchg(&current->signal->rlim[RLIMIT_MEMLOCK].rlim_cur, bytes);
}

static int direct_make_cq(struct process *p)
{
	struct cq_resp resp;
	int err = process_create_cq(p, 1024, &resp);

	return err ?: process_destroy_cq(p, resp.handle);
}

/* Rings count as locked memory; and nobody who is killed goes on making one. */
static void direct_user_memlock(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	unsigned long limit = direct_lock_at_most(RLIM_INFINITY);
	struct process *p;
	s64 before;
	const u32 pages = 1024 * sizeof(struct virtio_rdma_cqe) / PAGE_SIZE + 1;

	direct_drop_capability(test);
	p = process_direct(mock, &prog);
	before = atomic64_read(&current->mm->pinned_vm);
	/* A CQ, a QP and a doorbell page. */
	KUNIT_EXPECT_GE(test, before, 5);
	direct_lock_at_most((before + pages - 1) << PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, -ENOMEM, direct_make_cq(p));
	direct_lock_at_most((before + pages) << PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, 0, direct_make_cq(p));
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), before);
	direct_lock_at_most(limit);

	sigaddset(&current->pending.signal, SIGKILL);
	set_thread_flag(TIF_SIGPENDING);
	KUNIT_EXPECT_EQ(test, -EINTR, direct_make_cq(p));
	sigdelset(&current->pending.signal, SIGKILL);
	clear_thread_flag(TIF_SIGPENDING);

	process_close_file(p);
	mock_expect_clean(mock);
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), 0);
}

/* A CQ of a process is told that the device is dead. */
static void direct_user_dead(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	u32 cqn = mock->qps[prog.qp.qpn].scqn;

	KUNIT_EXPECT_EQ(test, le32_to_cpu(mock->cqs[cqn].control->device), 0);
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	mock_wait(READ_ONCE(mock->cqs[cqn].control->device));
	KUNIT_EXPECT_NE(test, le32_to_cpu(mock->cqs[cqn].control->device), 0);
	process_close_file(p);
	mock_expect_clean(mock);
}

/* Completions are stored, of which the process takes some. */
static void direct_user_done(struct mock *mock, const struct program *prog,
			     u32 first, u32 stored, unsigned long control,
			     u32 taken)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = cpu_to_le32(prog->qp.qpn),
		.opcode = VIRTIO_IB_WC_SEND,
	};
	u32 i, consumer = 0;

	KUNIT_EXPECT_EQ(mock->test, 0,
			get_user(consumer, (u32 __user *)(control + 4)));
	for (i = 0; i < stored; i++) {
		cqe.wqe = cpu_to_le32(first + i);
		mock_direct_complete(mock, mock->qps[prog->qp.qpn].scqn, &cqe,
				     false);
		if (i < taken)
			KUNIT_EXPECT_EQ(mock->test, 0,
					put_user(++consumer, (u32 __user *)(control + 4)));
	}
}

static void direct_expect_cqe(struct kunit *test, unsigned long ring, u32 slot,
			      u32 wqe)
{
	struct virtio_rdma_cqe cqe = {};

	KUNIT_EXPECT_EQ(test, 0, copy_from_user(&cqe, (void __user *)
						(ring + slot * sizeof(cqe)),
						sizeof(cqe)));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(cqe.wqe), wqe);
	KUNIT_EXPECT_EQ(test, cqe.phase, VIRTIO_RDMA_CQE_PHASE);
}

/* A CQ gets another ring, which begins with what is unread. */
static void direct_user_resize(struct kunit *test)
{
	const u32 arm = VIRTIO_RDMA_ARM_NUMBER | VIRTIO_RDMA_ARM_NEXT;
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	const struct virtio_roce_queue old = prog.cq.drv.cq;
	struct mock_cq *cq = &mock->cqs[mock->qps[prog.qp.qpn].scqn];
	unsigned long ring, control, new_ring, new_control;
	struct page *page = virt_to_page(cq->control), *new_page;
	struct resize_resp resp = {};
	u32 word = 0, i;

	/* By our reference we see that there is no other. */
	get_page(page);

	ring = direct_map(p, old.slots_offset, old.slots_len, PROT_READ);
	control = direct_map(p, old.control_offset, old.control_len,
			     PROT_READ | PROT_WRITE);
	/* The unread completions go over the end of the ring. */
	direct_user_done(mock, &prog, 0, 40, control, 27);
	KUNIT_EXPECT_EQ(test, 0, put_user(arm, (u32 __user *)control));
	KUNIT_ASSERT_EQ(test, 0, process_resize_cq(p, prog.cq.handle, 100, &resp,
						   sizeof(resp)));
	KUNIT_EXPECT_TRUE(test, mock->settled[CMD(RESIZE_CQ)]);
	KUNIT_EXPECT_EQ(test, resp.cqe, 128);
	KUNIT_EXPECT_EQ(test, resp.drv.unread, 13);
	KUNIT_EXPECT_EQ(test, resp.drv.cq.depth, 128);
	KUNIT_EXPECT_EQ(test, resp.drv.cq.flags, VIRTIO_ROCE_QUEUE_DIRECT);
	KUNIT_EXPECT_EQ(test, cq->cqe, 128);
	new_page = virt_to_page(cq->control);
	get_page(new_page);

	new_ring = direct_map(p, resp.drv.cq.slots_offset,
			      resp.drv.cq.slots_len, PROT_READ);
	new_control = direct_map(p, resp.drv.cq.control_offset,
				 resp.drv.cq.control_len, PROT_READ | PROT_WRITE);
	direct_user_done(mock, &prog, 40, 1, new_control, 0);
	for (i = 0; i < 14; i++)
		direct_expect_cqe(test, new_ring, i, 27 + i);
	KUNIT_EXPECT_EQ(test, cq->told, arm);
	KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)(new_control + 32)));
	KUNIT_EXPECT_EQ(test, word, 0);
	/* A process that still polls the old ring finds its completions, then an error. */
	KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)(control + 32)));
	KUNIT_EXPECT_NE(test, word, 0);
	KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)ring));
	KUNIT_EXPECT_EQ(test, (long)process_mmap(p, old.slots_offset,
						 old.slots_len, PROT_READ,
						 MAP_SHARED), -EINVAL);
	vm_munmap(ring, old.slots_len);
	vm_munmap(control, old.control_len);
	process_expect_ours(test, page);
	put_page(page);
	vm_munmap(new_ring, resp.drv.cq.slots_len);
	vm_munmap(new_control, resp.drv.cq.control_len);

	/* It does not shrink. */
	KUNIT_EXPECT_EQ(test, 0, process_resize_cq(p, prog.cq.handle, 50, &resp,
						   sizeof(resp)));
	KUNIT_EXPECT_EQ(test, resp.cqe, 128);
	KUNIT_EXPECT_EQ(test, resp.drv.cq.flags, 0);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(RESIZE_CQ)), 1);
	/* The new control block tells of the device's death. */
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	mock_wait(READ_ONCE(cq->control->device));
	KUNIT_EXPECT_NE(test, le32_to_cpu(cq->control->device), 0);
	process_close_file(p);
	process_expect_ours(test, new_page);
	put_page(new_page);
	mock_expect_clean(mock);
}

/**
 * struct resize_watch - a thread that looks at a CQ while the device gives it another ring
 * @work: the thread
 * @mock: function
 * @cqn: CQ
 * @spins: a spinlock that other consumers of the device need was held
 */
struct resize_watch {
	struct work_struct work;
	struct mock *mock;
	u32 cqn;
	bool spins;
};

static void resize_watch_work(struct work_struct *work)
{
	struct resize_watch *w = container_of(work, struct resize_watch, work);
	struct ib_device *ibdev = mock_ibdev(w->mock);
	struct vroce_dev *dev = to_vdev(ibdev);
	struct vroce_cq *cq = xa_load(&dev->cqs, w->cqn);

	wait_for_completion(&w->mock->held);
	w->spins = true;
	if (spin_trylock_irq(&cq->hw->lock)) {
		w->spins = false;
		spin_unlock_irq(&cq->hw->lock);
	}
	if (spin_trylock_irq(&dev->cqs.xa_lock))
		spin_unlock_irq(&dev->cqs.xa_lock);
	else
		w->spins = true;
	/* An event of it is handled meanwhile. */
	mock_event(w->mock, VIRTIO_RDMA_EVENT_COMPLETION, w->cqn);
	ib_device_put(ibdev);
	complete(&w->mock->release);
}

/* The command for another ring may take long, and nobody spins for it. */
static void direct_user_resize_held(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct resize_watch w = {
		.mock = mock,
		.cqn = mock->qps[prog.qp.qpn].scqn,
	};
	struct resize_resp resp = {};

	INIT_WORK_ONSTACK(&w.work, resize_watch_work);
	mock->hold[CMD(RESIZE_CQ)] = true;
	queue_work(system_unbound_wq, &w.work);
	KUNIT_EXPECT_EQ(test, 0, process_resize_cq(p, prog.cq.handle, 100, &resp,
						   sizeof(resp)));
	flush_work(&w.work);
	destroy_work_on_stack(&w.work);
	KUNIT_EXPECT_FALSE(test, w.spins);
	KUNIT_EXPECT_EQ(test, resp.drv.cq.depth, 128);
	process_close_file(p);
	mock_expect_clean(mock);
}

/* Of the only CQ with times. */
static u32 direct_timed_cqn(struct mock *mock)
{
	u32 cqn = 0;

	while (cqn < MOCK_ALL_CQS && !(mock->cqs[cqn].exists && mock->cqs[cqn].timed))
		cqn++;
	KUNIT_ASSERT_LT(mock->test, cqn, MOCK_ALL_CQS);
	return cqn;
}

/* @n completions from the slot @first on are there, the first one with a time. */
static void direct_expect_times(struct kunit *test, unsigned long ring, u32 first, u32 n,
				u32 wqe, u64 time)
{
	struct virtio_rdma_cqe_timed cqe = {};
	u32 i;

	for (i = first; i < first + n; i++) {
		KUNIT_EXPECT_EQ(test, 0, copy_from_user(&cqe, (void __user *)
							(ring + i * sizeof(cqe)),
							sizeof(cqe)));
		KUNIT_EXPECT_EQ(test, le32_to_cpu(cqe.cqe.wqe), wqe++);
		KUNIT_EXPECT_EQ(test, cqe.cqe.phase, VIRTIO_RDMA_CQE_PHASE);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(cqe.time), time++);
	}
}

static void direct_complete_more(struct mock *mock, u32 cqn, u32 first, u32 n)
{
	struct virtio_rdma_cqe cqe = { .opcode = VIRTIO_IB_WC_SEND };

	while (n--) {
		cqe.wqe = cpu_to_le32(first++);
		mock_direct_complete(mock, cqn, &cqe, false);
	}
}

/* A CQ whose completions have their time; it keeps them when it grows. */
static void direct_user_timed(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct ib_device *ibdev = mock_ibdev(mock);
	struct resize_resp more = {};
	struct cq_resp resp = {};
	unsigned long ring;
	u64 time = 0;
	u32 cqn;

	KUNIT_EXPECT_EQ(test, ibdev->attrs.timestamp_mask, U64_MAX);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.hca_core_clock, 1000000);
	ib_device_put(ibdev);
	mock->clock = 0x123456789abcdef;
	KUNIT_EXPECT_EQ(test, 0, process_query_clock(p, &time));
	KUNIT_EXPECT_EQ(test, time, 0x123456789abcdef);

	KUNIT_ASSERT_EQ(test, 0,
			process_create_cq_ex(p, 40, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION,
					     &resp));
	cqn = direct_timed_cqn(mock);
	KUNIT_EXPECT_EQ(test, resp.drv.cq.depth, 64);
	KUNIT_EXPECT_EQ(test, resp.drv.cq.stride, 64);
	KUNIT_EXPECT_EQ(test, resp.drv.cq.slots_len, PAGE_ALIGN(64 * 64));
	direct_complete_more(mock, cqn, 0, 3);
	ring = direct_map(p, resp.drv.cq.slots_offset, resp.drv.cq.slots_len, PROT_READ);
	direct_expect_times(test, ring, 0, 3, 0, time);
	vm_munmap(ring, resp.drv.cq.slots_len);

	KUNIT_ASSERT_EQ(test, 0, process_resize_cq(p, resp.handle, 100, &more, sizeof(more)));
	KUNIT_EXPECT_EQ(test, more.drv.cq.stride, 64);
	KUNIT_EXPECT_EQ(test, more.drv.unread, 3);
	direct_complete_more(mock, cqn, 3, 2);
	ring = direct_map(p, more.drv.cq.slots_offset, more.drv.cq.slots_len, PROT_READ);
	direct_expect_times(test, ring, 0, 5, 0, time);
	vm_munmap(ring, more.drv.cq.slots_len);

	/* No other flag, and not more than a list of pages has room for. */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_create_cq_ex(p, 40, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
						    IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN, &resp));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			process_create_cq_ex(p, (1 << 22) + 1,
					     IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION, &resp));
	process_close_file(p);
	mock_expect_clean(mock);
}

/* Nor where the process has queues of the other form, or without the capability. */
static void direct_user_not_timed(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct cq_resp resp = {};
	struct process *p;
	u64 time;

	mock_make_direct(mock);
	p = process_with_context(mock);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_create_cq_ex(p, 16, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION,
					     &resp));
	KUNIT_EXPECT_EQ(test, 0, process_query_clock(p, &time));
	process_close_file(p);
	mock_expect_clean(mock);
}

static void direct_user_no_clock(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct process *p = process_with_context(mock);
	struct ib_device *ibdev = mock_ibdev(mock);
	struct cq_resp resp = {};
	u64 time;

	KUNIT_EXPECT_EQ(test, ibdev->attrs.timestamp_mask, 0);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.hca_core_clock, 0);
	ib_device_put(ibdev);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_create_cq_ex(p, 16, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION,
					     &resp));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, process_query_clock(p, &time));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(QUERY_CLOCK)), 0);
	process_close_file(p);
	mock_expect_clean(mock);
}

/* The wr_id by which a request can be told is its cookie here. */
static u32 direct_srq_cookie(struct mock *mock, u32 index)
{
	return le32_to_cpu(mock_srq_slot(mock, 0, index)->cookie);
}

/* An SRQ gets another ring, larger or smaller, where requests are at their positions. */
static void direct_user_srq_resize(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	const u32 depths[] = { 128, 64, 4, 16 };
	struct virtio_roce_create_srq_resp resp;
	struct virtio_roce_queue q;
	struct srq_resp srq = {};
	unsigned long mem;
	u32 i, n, pos;

	KUNIT_ASSERT_EQ(test, 0, process_create_srq(p, prog.pd, 30, &srq));
	KUNIT_EXPECT_EQ(test, srq.core.max_wr, 32);
	q = srq.drv.srq;
	mem = direct_map(p, q.slots_offset, q.slots_len, PROT_READ | PROT_WRITE);
	/* As after some rounds. */
	for (pos = 1000 - 32; pos != 1000; pos++)
		KUNIT_EXPECT_EQ(test, 0, put_user(pos, (u32 __user *)(mem + q.slots_pos +
						       (pos % 32) * q.stride + 4)));
	KUNIT_EXPECT_EQ(test, 0, put_user(1000, (u32 __user *)(mem + q.control_pos)));
	KUNIT_EXPECT_EQ(test, direct_srq_cookie(mock, 999), 999);
	vm_munmap(mem, q.slots_len);

	for (i = 0, n = 32; i < ARRAY_SIZE(depths); n = min(n, depths[i++])) {
		KUNIT_ASSERT_EQ(test, 0, process_resize_srq(p, srq.core.srq_handle,
							    depths[i], sizeof(resp),
							    &resp));
		KUNIT_EXPECT_EQ(test, resp.srq.depth, depths[i]);
		KUNIT_EXPECT_EQ(test, resp.srq.flags, VIRTIO_ROCE_QUEUE_DIRECT);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(mock->srqs[0].req.depth), depths[i]);
		for (pos = 1000 - min(n, depths[i]); pos != 1000; pos++)
			KUNIT_EXPECT_EQ(test, direct_srq_cookie(mock, pos), pos);
		mem = direct_map(p, resp.srq.slots_offset, resp.srq.slots_len,
				 PROT_READ | PROT_WRITE);
		KUNIT_EXPECT_EQ(test, 0, get_user(pos, (u32 __user *)
						  (mem + resp.srq.control_pos)));
		KUNIT_EXPECT_EQ(test, pos, 1000);
		vm_munmap(mem, resp.srq.slots_len);
		/* The old slots cannot be mapped any more. */
		KUNIT_EXPECT_EQ(test, (long)process_mmap(p, q.slots_offset, q.slots_len,
							 PROT_READ, MAP_SHARED), -EINVAL);
		q = resp.srq;
	}
	/* It has that size already. */
	KUNIT_EXPECT_EQ(test, 0, process_resize_srq(p, srq.core.srq_handle, 13,
						    sizeof(resp), &resp));
	KUNIT_EXPECT_EQ(test, resp.srq.flags, 0);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(RESIZE_SRQ)), ARRAY_SIZE(depths));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_srq(p, srq.core.srq_handle));
	process_close_file(p);
	mock_expect_clean(mock);
}

/* An SRQ that does not get another ring stays as it is. */
static void direct_user_srq_not_resized(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct virtio_rdma_srq_control *control;
	struct virtio_roce_create_srq_resp resp;
	struct srq_resp srq = {};
	struct page *page;
	u32 handle;

	KUNIT_ASSERT_EQ(test, 0, process_create_srq(p, prog.pd, 32, &srq));
	handle = srq.core.srq_handle;
	control = mock->srqs[0].control;
	page = virt_to_page(control);
	get_page(page);
	/* A provider without room for the answer. */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_resize_srq(p, handle, 64, sizeof(resp) - 8, &resp));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			process_resize_srq(p, handle, 0, sizeof(resp), &resp));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			process_resize_srq(p, handle, 32769, sizeof(resp), &resp));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(RESIZE_SRQ)), 0);
	mock->fail[CMD(RESIZE_SRQ)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			process_resize_srq(p, handle, 64, sizeof(resp), &resp));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(control->device), 0);
	KUNIT_EXPECT_EQ(test, page_count(page), 2);

	/* No answer: the device may use either memory, so both stay. */
	mock->fail[CMD(RESIZE_SRQ)] = -EPROTO;
	KUNIT_EXPECT_EQ(test, -EPROTO,
			process_resize_srq(p, handle, 64, sizeof(resp), &resp));
	KUNIT_EXPECT_TRUE(test, mock_direct_control_lives(mock, CMD(RESIZE_SRQ)));
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	KUNIT_EXPECT_NE(test, le32_to_cpu(control->device), 0);
	process_close_file(p);
	process_expect_ours(test, page);
	put_page(page);
	mock_expect_clean(mock);
}

/* A CQ that does not get another ring stays as it is. */
static void direct_user_not_resized(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct mock_cq *cq = &mock->cqs[mock->qps[prog.qp.qpn].scqn];
	struct virtio_rdma_cq_control *control = cq->control;
	struct page *page = virt_to_page(control);
	const u32 handle = prog.cq.handle;
	struct resize_resp resp;

	get_page(page);
	/* An old provider has no room for the new queue. */
	KUNIT_EXPECT_EQ(test, process_resize_cq(p, handle, 100, &resp,
						offsetof(struct resize_resp, drv)),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, process_resize_cq(p, handle, (1 << 22) + 1, &resp,
						sizeof(resp)), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(RESIZE_CQ)), 0);
	mock->fail[CMD(RESIZE_CQ)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, process_resize_cq(p, handle, 100, &resp,
						sizeof(resp)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(control->device), 0);
	KUNIT_EXPECT_EQ(test, cq->cqe, 32);

	/* An impossible answer: the device may use either memory. */
	mock->fail[CMD(RESIZE_CQ)] = 0;
	mock->unread_more = 33;
	KUNIT_EXPECT_EQ(test, process_resize_cq(p, handle, 100, &resp,
						sizeof(resp)), -EPROTO);
	KUNIT_EXPECT_TRUE(test, mock_direct_control_lives(mock, CMD(RESIZE_CQ)));
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	KUNIT_EXPECT_NE(test, le32_to_cpu(control->device), 0);
	process_close_file(p);
	process_expect_ours(test, page);
	put_page(page);
	mock_expect_clean(mock);
}

static struct kunit_case direct_user_cases[] = {
	KUNIT_CASE(direct_user_maps),
	KUNIT_CASE(direct_user_outlives),
	KUNIT_CASE(direct_user_memlock),
	KUNIT_CASE(direct_user_dead),
	KUNIT_CASE(direct_user_resize),
	KUNIT_CASE(direct_user_resize_held),
	KUNIT_CASE(direct_user_not_resized),
	KUNIT_CASE(direct_user_timed),
	KUNIT_CASE(direct_user_not_timed),
	KUNIT_CASE(direct_user_no_clock),
	KUNIT_CASE(direct_user_srq_resize),
	KUNIT_CASE(direct_user_srq_not_resized),
	{}
};

static struct kunit_suite direct_user_suite = {
	.name = "virtio_roce_direct_user",
	.test_cases = direct_user_cases,
};

kunit_test_suite(direct_user_suite);
