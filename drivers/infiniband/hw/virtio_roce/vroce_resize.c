// SPDX-License-Identifier: GPL-2.0
/*
 * Another ring, and another control block, for a direct CQ of a process.
 *
 * The process holds back its threads that arm.  The device switches to the new ring at once,
 * and does not fill its first slots.  The driver copies the completions there that were unread
 * at that moment.  The
 * process learns from the answer where the new memory is.  It may poll the old ring until
 * then, and skips what it has taken.  The old pages stay as long as they are mapped; what
 * is there says then that the CQ is in error.
 *
 * A process that does not keep to this, or lies about what it took, harms this CQ alone.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "vroce_cmd_cq.h"
#include "vroce_mem.h"
#include "vroce_mmap.h"
#include "vroce_resize.h"
#include "vroce_udata.h"
#include "vroce_users.h"

/* Parts of the memory of a direct CQ. */
enum vroce_cq_part {
	VROCE_CQ_RING,
	VROCE_CQ_CONTROL,
};

/* Slots do not cross a border of pages. */
static void *vroce_cq_slot(const struct vroce_mem *mem, u32 i, u32 stride)
{
	size_t at = (size_t)i * stride;

	return page_address(mem->pages[at >> PAGE_SHIFT]) + offset_in_page(at);
}

/* The device does not touch these slots. */
static void vroce_cq_carry(struct vroce_mem *to, struct vroce_hw_cq *hw,
			   u32 first, u32 n)
{
	const u32 stride = hw->queue.stride;
	struct virtio_rdma_cqe *cqe;
	u32 i;

	for (i = 0; i < n; i++) {
		cqe = vroce_cq_slot(to, i, stride);
		memcpy(cqe, vroce_cq_slot(hw->mem, (first + i) & (hw->queue.depth - 1),
					  stride), stride);
		cqe->phase = VIRTIO_RDMA_CQE_PHASE;
		cond_resched();
	}
}

static int vroce_cq_tell(struct vroce_hw_cq *hw, struct vroce_mem *mem, u32 cqe,
			 u32 *stored, u32 *unread)
{
	struct vroce_resize_cq_params params = {
		.cqn = hw->cqn,
		.cqe = cqe,
		.most = hw->queue.depth,
		.control = vroce_mem_dma(mem, VROCE_CQ_CONTROL),
		.npages = vroce_mem_wire_pages(mem, VROCE_CQ_RING),
	};
	__le64 *pages = vroce_mem_list(mem, VROCE_CQ_CONTROL);
	struct vroce_user *user;
	int err;

	if (!pages)
		return -ENOMEM;
	params.pages = pages;
	user = vroce_long_begin(hw->obj.dev, params.npages);
	if (IS_ERR(user)) {
		err = PTR_ERR(user);
	} else {
		err = vroce_cmd_resize_cq(hw->obj.dev->aux, &params, stored, unread);
		vroce_long_end(user);
	}
	kvfree(pages);
	return err;
}

/*
 * The lock keeps vroce_flush.c away, which says in the control block that the device is
 * dead.  If it said so in the old one, it does not come again.
 */
static void vroce_cq_switch(struct vroce_hw_cq *hw, struct vroce_mem *mem, u32 cqe)
{
	struct virtio_rdma_cq_control *control =
		vroce_mem_addr(mem, VROCE_CQ_CONTROL);
	struct vroce_dev *dev = hw->obj.dev;

	xa_lock_irq(&dev->cqs);
	if (READ_ONCE(hw->control->device))
		WRITE_ONCE(control->device, cpu_to_le32(1));
	/* The old control block reports an error from now on. */
	WRITE_ONCE(hw->control->device, cpu_to_le32(1));
	hw->mem = mem;
	hw->control = control;
	hw->queue.depth = cqe;
	hw->queue.consumer = &control->consumer;
	xa_unlock_irq(&dev->cqs);
}

/* Context: &vroce_cq.resizing held. */
static int vroce_cq_replace(struct vroce_cq *cq, u32 cqe,
			    struct virtio_roce_resize_cq_resp *resp)
{
	const size_t lens[] = {
		[VROCE_CQ_RING] = array_size(cqe, cq->hw->queue.stride),
		[VROCE_CQ_CONTROL] = VIRTIO_RDMA_CONTROL_SIZE,
	};
	struct vroce_maps maps = {}, old_maps = cq->maps;
	struct virtio_rdma_cq_control *control;
	struct vroce_hw_cq *hw = cq->hw;
	struct vroce_mem *mem, *old = hw->mem;
	u32 stored;
	int err;

	mem = vroce_mem_create(old->dma_dev, lens, ARRAY_SIZE(lens), 0);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	control = vroce_mem_addr(mem, VROCE_CQ_CONTROL);
	control->arm = READ_ONCE(hw->control->arm);
	err = vroce_maps_insert_cq(&maps, &cq->uctx->ibucontext, mem, cqe,
				   hw->queue.stride, &resp->cq);
	if (err)
		goto err_mem;
	err = vroce_cq_tell(hw, mem, cqe, &stored, &resp->unread);
	if (err)
		goto err_maps;
	vroce_cq_carry(mem, hw, stored - resp->unread, resp->unread);
	vroce_cq_switch(hw, mem, cqe);
	cq->maps = maps;
	vroce_maps_remove(&old_maps);
	vroce_mem_destroy(old);
	return 0;

err_maps:
	vroce_maps_remove(&maps);
err_mem:
	/* It is not known which memory the device uses. */
	if (vroce_mem_failed(hw->obj.dev, mem, err))
		WRITE_ONCE(hw->control->device, cpu_to_le32(1));
	return err;
}

/**
 * vroce_cq_grow() - see to it that a direct CQ of a process has enough room
 * @cq: CQ
 * @cqe: how many completions; not more than a CQ can hold
 * @udata: of the user
 *
 * Context: may sleep.
 * Return: 0 or -errno; -EOPNOTSUPP if the provider does not expect that the CQ moves.
 */
int vroce_cq_grow(struct vroce_cq *cq, u32 cqe, struct ib_udata *udata)
{
	struct virtio_roce_resize_cq_resp resp = {};
	int err = 0;

	cqe = roundup_pow_of_two(cqe);
	mutex_lock(&cq->resizing);
	if (cqe > cq->ibcq.cqe) {
		err = udata->outlen < offsetofend(typeof(resp), reserved) ?
		      -EOPNOTSUPP : vroce_cq_replace(cq, cqe, &resp);
		if (!err)
			cq->ibcq.cqe = cqe;
	}
	mutex_unlock(&cq->resizing);
	return err ?: vroce_udata_out(udata, &resp, sizeof(resp));
}
