// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbell pages, by which the requests of direct QPs are announced.
 *
 * The kernel has one, and each process that has a direct QP has one, which it can write
 * to.  The page has a bit for each of the owner's QPs.  It is made with the first QP and
 * goes with the context.  Posting to a busy device sets a bit, if it is not set, and
 * touches no register.
 */
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/slab.h>
#ifdef CONFIG_X86
#include <asm/sync_bitops.h>
#endif

#include "vroce_doorbell.h"
#include "vroce_mem.h"

/**
 * vroce_doorbell_init() - start without a page
 * @db: doorbell page
 */
void vroce_doorbell_init(struct vroce_doorbell *db)
{
	mutex_init(&db->lock);
	db->mem = NULL;
}

static int vroce_doorbell_create(struct vroce_dev *dev, struct vroce_doorbell *db)
{
	const size_t len = sizeof(struct virtio_rdma_doorbell_page);
	u32 d = (u32)atomic_inc_return(&dev->next_doorbell) %
		dev->aux->num_doorbells;
	struct vroce_mem *mem;
	int err;

	db->taken = bitmap_zalloc(VIRTIO_RDMA_DOORBELL_BITS, GFP_KERNEL_ACCOUNT);
	if (!db->taken)
		return -ENOMEM;
	mem = vroce_mem_create(dev->aux->dma_dev, &len, 1,
			       db == &dev->doorbell ? VROCE_MEM_KERNEL : 0);
	if (IS_ERR(mem)) {
		err = PTR_ERR(mem);
		goto err_bitmap;
	}
	err = vroce_cmd_alloc_doorbell(dev->aux, vroce_mem_dma(mem, 0), d,
				       &db->handle);
	if (err)
		goto err_mem;
	db->vq = dev->aux->ops->doorbell_vq(dev->aux, d);
	db->page = vroce_mem_addr(mem, 0);
	db->mem = mem;
	return 0;

err_mem:
	vroce_mem_failed(dev, mem, err);
err_bitmap:
	bitmap_free(db->taken);
	return err;
}

/**
 * vroce_doorbell_exit() - give the page up
 * @dev: device
 * @db: doorbell page that no QP uses
 *
 * Context: may sleep.
 */
void vroce_doorbell_exit(struct vroce_dev *dev, struct vroce_doorbell *db)
{
	if (db->mem) {
		if (vroce_cmd_free_doorbell(dev->aux, db->handle))
			vroce_mem_keep(dev, db->mem);
		else
			vroce_mem_destroy(db->mem);
		bitmap_free(db->taken);
	}
	db->mem = NULL;
	mutex_destroy(&db->lock);
}

/**
 * vroce_doorbell_take() - get a bit for a new QP
 * @dev: device
 * @db: doorbell page of the owner
 * @bit: result
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int vroce_doorbell_take(struct vroce_dev *dev, struct vroce_doorbell *db,
			u32 *bit)
{
	int err = 0;

	mutex_lock(&db->lock);
	if (!db->mem)
		err = vroce_doorbell_create(dev, db);
	if (err)
		goto out_unlock;
	*bit = find_first_zero_bit(db->taken, VIRTIO_RDMA_DOORBELL_BITS);
	if (*bit == VIRTIO_RDMA_DOORBELL_BITS)
		err = -ENOMEM;
	else
		__set_bit(*bit, db->taken);
out_unlock:
	mutex_unlock(&db->lock);
	return err;
}

/**
 * vroce_doorbell_give() - undo vroce_doorbell_take()
 * @db: doorbell page
 * @bit: bit of a QP that the device does not have
 *
 * Context: may sleep.
 */
void vroce_doorbell_give(struct vroce_doorbell *db, u32 bit)
{
	mutex_lock(&db->lock);
	__clear_bit(bit, db->taken);
	mutex_unlock(&db->lock);
}

/*
 * Set a bit that the device takes by exchange, on a processor of the host.  While a guest
 * has one processor, Linux takes the lock prefix of x86 out of set_bit().
 */
static void vroce_doorbell_set(u32 bit, __le64 *words)
{
#ifdef CONFIG_X86
	sync_set_bit(bit, (__force unsigned long *)words);
#else
	set_bit_le(bit, words);
#endif
}

/**
 * vroce_doorbell_ring() - announce requests of a QP
 * @aux: device
 * @db: doorbell page of the kernel
 * @bit: bit of the QP, whose producer index has been stored
 *
 * Context: any.
 */
void vroce_doorbell_ring(struct virtio_net_roce_aux *aux,
			 struct vroce_doorbell *db, u32 bit)
{
	struct virtio_rdma_doorbell_page *page = db->page;

	/* The index before the bit: the device takes the bit before it reads the index. */
	mb();
	if (test_bit_le(bit, page->pending))
		return;
	vroce_doorbell_set(bit, page->pending);
	/* The device takes them in the opposite order. */
	mb();
	if (!test_bit_le(bit / 64, page->words))
		vroce_doorbell_set(bit / 64, page->words);
	/* The bits before the flag: the device sets the flag before it looks at the bits. */
	mb();
	if (READ_ONCE(page->ring_me) &&
	    xchg((__force u32 *)&page->ring_me, 0))
		aux->ops->kick(aux, db->vq);
}
