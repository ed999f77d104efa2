// SPDX-License-Identifier: GPL-2.0
/*
 * Another ring, and another control block, for a shared receive queue of a process.
 *
 * The process posts nothing meanwhile.  Positions go on: a request stays at its position,
 * which is another slot of the new ring.  So the requests are copied before the device
 * hears of the new ring, and it finds them there at once; those that it has taken are
 * copied for nothing.  It refuses a ring that is smaller than what it has not taken.
 *
 * A process that does not keep to this, or lies about what it posted, harms this SRQ alone.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "vroce_cmd_srq.h"
#include "vroce_mem.h"
#include "vroce_mmap.h"
#include "vroce_srq_resize.h"
#include "vroce_udata.h"
#include "vroce_users.h"

static void *vroce_srq_slot(const struct vroce_mem *mem, u32 stride, u32 i)
{
	size_t at = mem->pos[VROCE_SRQ_RING] + (size_t)i * stride;

	return page_address(mem->pages[at >> PAGE_SHIFT]) + offset_in_page(at);
}

static void vroce_srq_carry(const struct vroce_hw_srq *hw, struct vroce_mem *to,
			    u32 depth)
{
	struct virtio_rdma_srq_control *old = vroce_mem_addr(hw->mem, VROCE_SRQ_CONTROL);
	struct virtio_rdma_srq_control *new = vroce_mem_addr(to, VROCE_SRQ_CONTROL);
	const struct vroce_queue *q = &hw->queue;
	u32 producer = le32_to_cpu(READ_ONCE(old->producer));
	u32 n = min(depth, q->depth), pos;

	for (pos = producer - n; pos != producer; pos++) {
		memcpy(vroce_srq_slot(to, q->stride, pos & (depth - 1)),
		       vroce_srq_slot(hw->mem, q->stride, pos & (q->depth - 1)),
		       q->stride);
		cond_resched();
	}
	new->producer = cpu_to_le32(producer);
	new->device = READ_ONCE(old->device);
}

static int vroce_srq_tell(struct vroce_hw_srq *hw, const struct vroce_mem *mem,
			  u32 depth)
{
	struct vroce_resize_srq_params params = {
		.handle = hw->handle,
		.depth = depth,
		.control = vroce_mem_dma(mem, VROCE_SRQ_CONTROL),
		.npages = vroce_mem_wire_pages(mem, VROCE_SRQ_RING),
	};
	__le64 *pages = vroce_mem_list(mem, VROCE_SRQ_CONTROL);
	struct vroce_user *user;
	int err;

	if (!pages)
		return -ENOMEM;
	params.pages = pages;
	user = vroce_long_begin(hw->obj.dev, params.npages);
	if (IS_ERR(user)) {
		err = PTR_ERR(user);
	} else {
		err = vroce_cmd_resize_srq(hw->obj.dev->aux, &params);
		vroce_long_end(user);
	}
	kvfree(pages);
	return err;
}

static void vroce_srq_switch(struct vroce_hw_srq *hw, struct vroce_mem *mem, u32 depth)
{
	struct virtio_rdma_srq_control *control = vroce_mem_addr(mem, VROCE_SRQ_CONTROL);

	hw->mem = mem;
	hw->queue.depth = depth;
	hw->queue.producer = &control->producer;
}

static int vroce_srq_replace(struct vroce_srq *srq, u32 depth,
			     struct virtio_roce_create_srq_resp *resp)
{
	struct vroce_hw_srq *hw = srq->hw;
	const struct vroce_queue q = { .depth = depth, .stride = hw->queue.stride };
	const size_t lens[] = {
		[VROCE_SRQ_RING] = (size_t)depth * q.stride,
		[VROCE_SRQ_CONTROL] = VIRTIO_RDMA_CONTROL_SIZE,
	};
	struct vroce_maps maps = {}, old_maps = srq->maps;
	struct virtio_rdma_srq_control *control;
	struct vroce_mem *mem, *old = hw->mem;
	int err;

	mem = vroce_mem_create(old->dma_dev, lens, ARRAY_SIZE(lens), VROCE_MEM_PACKED);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	vroce_srq_carry(hw, mem, depth);
	err = vroce_maps_insert_srq(&maps, &srq->uctx->ibucontext, &q, mem, &resp->srq);
	if (err)
		goto err_mem;
	err = vroce_srq_tell(hw, mem, depth);
	if (err)
		goto err_maps;
	vroce_srq_switch(hw, mem, depth);
	srq->maps = maps;
	vroce_maps_remove(&old_maps);
	vroce_mem_destroy(old);
	return 0;

err_maps:
	vroce_maps_remove(&maps);
err_mem:
	if (vroce_mem_failed(hw->obj.dev, mem, err)) {
		/* It is not known which memory the device uses. */
		control = vroce_mem_addr(old, VROCE_SRQ_CONTROL);
		WRITE_ONCE(control->device, cpu_to_le32(1));
	}
	return err;
}

/**
 * vroce_srq_resize() - give an SRQ of a process a ring of another size
 * @srq: SRQ
 * @depth: slots, a power of two; not more than an SRQ can have
 * @udata: of the user
 *
 * Context: may sleep; &vroce_srq.resizing held.
 * Return: 0 or -errno; -EOPNOTSUPP if the provider does not expect that the SRQ moves.
 */
int vroce_srq_resize(struct vroce_srq *srq, u32 depth, struct ib_udata *udata)
{
	struct virtio_roce_create_srq_resp resp = {};
	struct virtio_roce_modify_srq_req req;
	int err;

	err = vroce_udata_in(udata, &req, 0, sizeof(req));
	if (err)
		return err;
	if (!req.resp || req.resp_len < offsetofend(typeof(resp), srq))
		return -EOPNOTSUPP;
	if (depth != srq->hw->queue.depth) {
		err = vroce_srq_replace(srq, depth, &resp);
		if (err)
			return err;
	}
	/* A bad address harms only this process: it does not learn where its ring is. */
	return copy_to_user(u64_to_user_ptr(req.resp), &resp,
			    min_t(size_t, req.resp_len, sizeof(resp))) ? -EFAULT : 0;
}
