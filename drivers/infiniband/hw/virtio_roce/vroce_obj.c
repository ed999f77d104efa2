// SPDX-License-Identifier: GPL-2.0
/*
 * Objects in the device, and their lifetime.
 *
 * In the form of the RFC, user space maps rings that belong to a number, and the device
 * reuses numbers.  (The memory of a direct queue belongs to no number, see vroce_mem.c.)
 * A mapping that outlived its object would let one process write
 * into the available ring, or read the used ring, of the next owner.  So an object
 * stays in the device, and its number stays taken, until the last mapping of its memory
 * is gone.  The verbs object holds one reference to it, and each mappable piece holds
 * another.  rdma_user_mmap_entry counts the mappings of a piece, and vroce_mmap_free()
 * drops the reference.
 *
 * When the verbs object goes, there is usually no mapping left: the provider unmaps
 * first, and a process that dies has no mappings.  Then the device is told at once.
 * Otherwise a work item tells it later.  Until then the QP is in the RESET state, where
 * the device ignores its queues.  The PD and the CQs of the QP stay in the device, too,
 * even if their verbs objects go meanwhile.
 *
 * The device has said how many objects of each kind it has.  A create beyond that is
 * refused here, so it does not depend on how the device would handle it.
 *
 * If the device refuses to destroy an object, it may still hold it.  Then the number
 * stays taken, and memory that the device may write to is kept (vroce_kept.c).  If the
 * device does not answer, the command returns after the device was reset, and the object is
 * gone.
 */
#include <linux/bitmap.h>

#include "vroce_obj.h"

static void vroce_obj_release(struct kref *ref)
{
	struct vroce_obj *obj = container_of(ref, struct vroce_obj, ref);

	obj->release(obj);
}

static void vroce_obj_work(struct work_struct *work)
{
	struct vroce_obj *obj = container_of(work, struct vroce_obj, work);

	obj->release(obj);
}

static void vroce_obj_release_later(struct kref *ref)
{
	struct vroce_obj *obj = container_of(ref, struct vroce_obj, ref);

	queue_work(obj->dev->wq, &obj->work);
}

/**
 * vroce_obj_init() - initialise a new object, with one reference
 * @obj: object
 * @dev: device
 * @release: called once when the last reference is gone
 */
void vroce_obj_init(struct vroce_obj *obj, struct vroce_dev *dev,
		    void (*release)(struct vroce_obj *obj))
{
	kref_init(&obj->ref);
	obj->dev = dev;
	obj->release = release;
	INIT_WORK(&obj->work, vroce_obj_work);
}

/**
 * vroce_obj_get() - take a reference
 * @obj: object
 */
void vroce_obj_get(struct vroce_obj *obj)
{
	kref_get(&obj->ref);
}

/**
 * vroce_obj_put() - drop a reference
 * @obj: object
 *
 * Context: may sleep.
 */
void vroce_obj_put(struct vroce_obj *obj)
{
	kref_put(&obj->ref, vroce_obj_release);
}

/**
 * vroce_obj_put_later() - drop a reference; a work item calls the release
 * @obj: object
 *
 * Context: any.
 */
void vroce_obj_put_later(struct vroce_obj *obj)
{
	kref_put(&obj->ref, vroce_obj_release_later);
}

static const char * const vroce_kind_names[VROCE_KINDS] = {
	[VROCE_PD]	= "protection domains (max_pd)",
	[VROCE_MR]	= "memory regions (max_mr)",
	[VROCE_AH]	= "address handles (max_ah)",
	[VROCE_CQ]	= "CQs (max_rdma_cqs)",
	[VROCE_QP]	= "QPs (max_rdma_qps)",
	[VROCE_GSI]	= "GSI QPs",
	[VROCE_DIRECT_CQ] = "CQs (max_direct_cq)",
	[VROCE_DIRECT_QP] = "QPs (max_direct_qp)",
	[VROCE_SRQ]	= "SRQs (max_srq)",
	[VROCE_XRCD]	= "XRC domains (max_xrcd)",
	[VROCE_WQ_TABLE] = "indirection tables (max_wq_tables)",
	[VROCE_NVME_CTRL] = "NVMe controllers (max_ctrls)",
};

/**
 * vroce_quotas_init() - start with no objects
 * @dev: device, whose limits are known
 */
void vroce_quotas_init(struct vroce_dev *dev)
{
	const u32 max[VROCE_KINDS] = {
		[VROCE_PD]	= dev->attr.max_pd,
		[VROCE_MR]	= dev->attr.max_mr,
		[VROCE_AH]	= dev->attr.max_ah,
		[VROCE_CQ]	= dev->aux->max_cqs,
		[VROCE_QP]	= dev->aux->max_qps - min(dev->aux->max_qps, 2U),
		[VROCE_GSI]	= dev->aux->max_qps > VIRTIO_NET_ROCE_QPN_GSI,
		[VROCE_DIRECT_CQ] = dev->attr.max_direct_cq,
		[VROCE_DIRECT_QP] = dev->attr.max_direct_qp,
		[VROCE_SRQ]	= dev->attr.max_srq,
		[VROCE_XRCD]	= dev->attr.max_xrcd,
		[VROCE_WQ_TABLE] = dev->attr.max_wq_tables,
		[VROCE_NVME_CTRL] = min_t(u32, INT_MAX,
					  le32_to_cpu(dev->nvmf.max_ctrls)),
	};
	int i;

	for (i = 0; i < VROCE_KINDS; i++) {
		atomic_set(&dev->quotas[i].held, 0);
		dev->quotas[i].max = max[i];
	}
}

/**
 * vroce_quota_take() - count an object that is about to be created
 * @dev: device
 * @kind: kind of object
 *
 * Context: any.
 * Return: 0, or -ENOMEM if the device has no more of them.
 */
int vroce_quota_take(struct vroce_dev *dev, enum vroce_kind kind)
{
	struct vroce_quota *quota = &dev->quotas[kind];
	int held = atomic_read(&quota->held);

	do {
		if (held >= (int)quota->max) {
			ibdev_notice_ratelimited(&dev->ibdev,
						 "all %u %s are in use\n",
						 quota->max,
						 vroce_kind_names[kind]);
			return -ENOMEM;
		}
	} while (!atomic_try_cmpxchg(&quota->held, &held, held + 1));
	return 0;
}

/**
 * vroce_quota_give() - undo vroce_quota_take()
 * @dev: device
 * @kind: kind of an object that was not created, or that the device has destroyed
 *
 * Context: any.
 */
void vroce_quota_give(struct vroce_dev *dev, enum vroce_kind kind)
{
	atomic_dec(&dev->quotas[kind].held);
}

/**
 * vroce_numbers_init() - make all numbers free
 * @numbers: numbers
 * @max: how many there are
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_numbers_init(struct vroce_numbers *numbers, u32 max)
{
	numbers->taken = bitmap_zalloc(max, GFP_KERNEL);
	if (!numbers->taken)
		return -ENOMEM;
	init_rwsem(&numbers->lock);
	return 0;
}

/**
 * vroce_numbers_destroy() - undo vroce_numbers_init()
 * @numbers: numbers
 */
void vroce_numbers_destroy(struct vroce_numbers *numbers)
{
	bitmap_free(numbers->taken);
}

/**
 * vroce_numbers_lock() - an object is about to be created or destroyed
 * @numbers: numbers
 * @alone: nothing else is to be created or destroyed at the same time
 *
 * Context: may sleep.
 */
void vroce_numbers_lock(struct vroce_numbers *numbers, bool alone)
{
	if (alone)
		down_write(&numbers->lock);
	else
		down_read(&numbers->lock);
}

/**
 * vroce_numbers_unlock() - undo vroce_numbers_lock()
 * @numbers: numbers
 * @alone: as it was
 */
void vroce_numbers_unlock(struct vroce_numbers *numbers, bool alone)
{
	if (alone)
		up_write(&numbers->lock);
	else
		up_read(&numbers->lock);
}

/**
 * vroce_numbers_take() - the device has given a number to a new object
 * @numbers: numbers
 * @number: the number
 *
 * Context: may sleep; the lock is not held.
 * Return: true if it was free.
 */
bool vroce_numbers_take(struct vroce_numbers *numbers, u32 number)
{
	bool taken;

	if (!test_and_set_bit(number, numbers->taken))
		return true;
	/* The caller that destroys its last owner may not have cleared the bit yet. */
	down_write(&numbers->lock);
	taken = test_and_set_bit(number, numbers->taken);
	up_write(&numbers->lock);
	return !taken;
}
