// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "vroce_caps.h"
#include "vroce_cmd_mr.h"
#include "vroce_kept.h"
#include "vroce_list.h"
#include "vroce_mr.h"
#include "vroce_obj.h"
#include "vroce_udata.h"
#include "vroce_users.h"
#include "vroce_wire.h"

/**
 * vroce_mr_access_is_ok() - can a memory region have these rights?
 * @dev: device
 * @access: IB_ACCESS_* bits
 *
 * The device has no persistent memory, so the right to flush to it is refused.  The
 * right to do atomics is accepted for all devices; see vroce_known_access().
 *
 * Context: any.
 * Return: true if so.
 */
bool vroce_mr_access_is_ok(const struct vroce_dev *dev, int access)
{
	int known = VROCE_ACCESS | IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_OPTIONAL;

	if (vroce_has_flush(dev))
		known |= IB_ACCESS_FLUSH_GLOBAL;
	return !(access & ~known);
}

/* Prepare a memory region that the device will create; vroce_mr_free() undoes it. */
static struct vroce_mr *vroce_mr_new(struct vroce_dev *dev)
{
	struct vroce_mr *mr;
	int err;

	err = vroce_quota_take(dev, VROCE_MR);
	if (err)
		return ERR_PTR(err);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		vroce_quota_give(dev, VROCE_MR);
		return ERR_PTR(-ENOMEM);
	}
	return mr;
}

static void vroce_mr_free(struct vroce_dev *dev, struct vroce_mr *mr)
{
	vroce_quota_give(dev, VROCE_MR);
	kfree(mr);
}

/**
 * vroce_get_dma_mr() - verb: all memory, for the kernel
 * @ibpd: protection domain
 * @access: IB_ACCESS_* bits
 *
 * Return: memory region, or error pointer.
 */
struct ib_mr *vroce_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct vroce_dev *dev = to_vdev(ibpd->device);
	struct vroce_mr_keys keys;
	struct vroce_mr *mr;
	int err;

	if (!vroce_mr_access_is_ok(dev, access))
		return ERR_PTR(-EOPNOTSUPP);
	mr = vroce_mr_new(dev);
	if (IS_ERR(mr))
		return ERR_CAST(mr);

	err = vroce_cmd_get_dma_mr(dev->aux, to_vpd(ibpd)->hw->handle,
				   vroce_known_access(dev, access),
				   &keys);
	if (err) {
		vroce_mr_free(dev, mr);
		return ERR_PTR(err);
	}
	mr->mrn = keys.mrn;
	mr->ibmr.lkey = keys.lkey;
	mr->ibmr.rkey = keys.rkey;
	return &mr->ibmr;
}

/* The device may still read the list of a command that it did not answer. */
static void vroce_release_list(struct vroce_dev *dev, struct vroce_list *list, int err)
{
	if (list->where && vroce_may_have_memory(err))
		vroce_keep(dev, list, vroce_list_free);
	else
		vroce_list_free(list);
}

/*
 * Let the device know of the pinned pages of @mr: as a new memory region, whose keys are
 * returned, or without @keys as those of a region that it has.
 */
static int vroce_tell_umem(struct vroce_mr *mr, struct ib_umem *umem,
			   struct vroce_dev *dev, struct vroce_reg_user_mr_params *params,
			   struct vroce_mr_keys *keys)
{
	unsigned long pgsz = ib_umem_find_best_pgsz(umem, dev->attr.page_size_cap,
						    params->virt_addr);
	struct vroce_user *user;
	struct vroce_list *list;
	int err;

	if (!pgsz)
		return -EINVAL;
	list = vroce_list_create(dev, umem, pgsz);
	if (IS_ERR(list))
		return PTR_ERR(list);
	params->npages = list->npages;
	params->page_shift = pgsz == VROCE_WIRE_PAGE ? 0 : ilog2(pgsz);
	params->indirect = list->where;
	params->pages = list->where ?: list->pages;
	user = vroce_long_begin(dev, list->npages);
	if (IS_ERR(user)) {
		vroce_list_free(list);
		return PTR_ERR(user);
	}
	err = keys ? vroce_cmd_reg_user_mr(dev->aux, params, keys) :
		     vroce_cmd_rereg_mr(dev->aux, mr->mrn, params);
	vroce_long_end(user);
	vroce_release_list(dev, list, err);
	if (err)
		return err;
	WRITE_ONCE(mr->page_size, pgsz);
	WRITE_ONCE(mr->npages, params->npages);
	return 0;
}

static void vroce_release_kept_umem(void *umem)
{
	ib_umem_release(umem);
}

/*
 * Release pages that the device was told of, but did not take.  If it may have taken them
 * all the same, they stay pinned until it is reset.
 */
static void vroce_release_umem(struct vroce_dev *dev, struct ib_umem *umem, int err)
{
	if (vroce_may_have_memory(err))
		vroce_keep(dev, umem, vroce_release_kept_umem);
	else
		ib_umem_release(umem);
}

static int vroce_reg_umem(struct vroce_mr *mr, struct ib_pd *ibpd,
			  u64 virt_addr, int access)
{
	struct vroce_dev *dev = to_vdev(ibpd->device);
	struct vroce_reg_user_mr_params params = {
		.pdn = to_vpd(ibpd)->hw->handle,
		.access = vroce_known_access(dev, access),
		.virt_addr = virt_addr,
		.length = mr->umem->length,
	};
	struct vroce_mr_keys keys;
	int err;

	err = vroce_tell_umem(mr, mr->umem, dev, &params, &keys);
	if (err)
		return err;

	mr->access = access;
	mr->mrn = keys.mrn;
	mr->ibmr.lkey = keys.lkey;
	mr->ibmr.rkey = keys.rkey;
	return 0;
}

/* Register pinned pages, or give up with the error pointer that @umem is. */
static struct ib_mr *vroce_reg_pinned(struct vroce_mr *mr, struct ib_umem *umem,
				      struct ib_pd *ibpd, u64 virt_addr, int access)
{
	int err;

	if (IS_ERR(umem)) {
		err = PTR_ERR(umem);
		goto err_free;
	}
	mr->umem = umem;
	err = vroce_reg_umem(mr, ibpd, virt_addr, access);
	if (err)
		goto err_umem;
	return &mr->ibmr;

err_umem:
	vroce_release_umem(to_vdev(ibpd->device), umem, err);
err_free:
	vroce_mr_free(to_vdev(ibpd->device), mr);
	return ERR_PTR(err);
}

/* Can a process have a memory region of this size and with these rights? */
static int vroce_check_user_mr(struct vroce_dev *dev, u64 length, int access)
{
	if (vroce_has_zero_based(dev))
		access &= ~IB_ZERO_BASED;
	if (vroce_has_mw(dev))
		access &= ~IB_ACCESS_MW_BIND;
	if (!vroce_mr_access_is_ok(dev, access)) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "memory region refused: access flags %#x are not all supported\n",
					 access);
		return -EOPNOTSUPP;
	}
	if (length > dev->attr.max_mr_size) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "memory region of %llu bytes refused: at most %llu (max_mr_size)\n",
					 length, dev->attr.max_mr_size);
		return -EINVAL;
	}
	return 0;
}

/**
 * vroce_reg_user_mr() - verb: memory of a process
 * @ibpd: protection domain
 * @start: address in the process
 * @length: bytes
 * @virt_addr: address that work requests use
 * @access: IB_ACCESS_* bits
 * @udata: of the user
 *
 * Return: memory region, or error pointer.
 */
struct ib_mr *vroce_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 virt_addr, int access,
				struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibpd->device);
	struct vroce_mr *mr;
	int err;

	err = vroce_check_udata(udata, 0);
	if (!err)
		err = vroce_check_user_mr(dev, length, access);
	if (err)
		return ERR_PTR(err);

	mr = vroce_mr_new(dev);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return vroce_reg_pinned(mr, ib_umem_get_va(&dev->ibdev, start, length, access),
				ibpd, virt_addr, access);
}

/**
 * vroce_reg_user_mr_dmabuf() - verb: memory of another device or of the kernel
 * @ibpd: protection domain
 * @offset: in the dma-buf
 * @length: bytes
 * @virt_addr: address that work requests use
 * @fd: the dma-buf
 * @access: IB_ACCESS_* bits
 * @udata: of the user
 *
 * The exporter must not move the memory as long as the region exists: the device knows
 * addresses, and cannot be told of others while it uses them.
 *
 * Return: memory region, or error pointer; -EOPNOTSUPP if the exporter cannot promise that.
 */
struct ib_mr *vroce_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length,
				       u64 virt_addr, int fd, int access,
				       struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibpd->device);
	struct ib_umem_dmabuf *dmabuf;
	struct vroce_mr *mr;
	int err;

	err = vroce_check_udata(udata, 0);
	if (!err)
		err = vroce_check_user_mr(dev, length, access);
	if (err)
		return ERR_PTR(err);

	mr = vroce_mr_new(dev);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	dmabuf = ib_umem_dmabuf_get_pinned(&dev->ibdev, offset, length, fd, access);
	if (IS_ERR(dmabuf))
		return vroce_reg_pinned(mr, ERR_CAST(dmabuf), ibpd, virt_addr, access);
	return vroce_reg_pinned(mr, &dmabuf->umem, ibpd, virt_addr, access);
}

/* Change a memory region that gets other pages. */
static int vroce_rereg_pages(struct vroce_mr *mr, u64 start,
			     struct vroce_reg_user_mr_params *params)
{
	struct vroce_dev *dev = to_vdev(mr->ibmr.device);
	struct ib_umem *umem;
	int err;

	umem = ib_umem_get_va(&dev->ibdev, start, params->length, params->access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	err = vroce_tell_umem(mr, umem, dev, params, NULL);
	/* Release those that the device does not have, or no longer. */
	if (!err)
		swap(mr->umem, umem);
	vroce_release_umem(dev, umem, err);
	return err;
}

/**
 * vroce_rereg_user_mr() - verb: change a memory region
 * @ibmr: of vroce_reg_user_mr()
 * @flags: what of it changes: IB_MR_REREG_TRANS, _PD, _ACCESS
 * @start: with IB_MR_REREG_TRANS: address in the process
 * @length: with it: bytes
 * @virt_addr: with it: address that work requests use
 * @access: with IB_MR_REREG_ACCESS: IB_ACCESS_* bits
 * @ibpd: with IB_MR_REREG_PD: protection domain
 * @udata: of the user
 *
 * The region keeps its keys.  If this fails, it is as it was.  A region of a dma-buf cannot
 * be changed (-EOPNOTSUPP).  Pages that were pinned to be read are pinned again, at their
 * address, before the device may write to them.
 *
 * Return: NULL, or error pointer.
 */
struct ib_mr *vroce_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 virt_addr, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibmr->device);
	struct vroce_mr *mr = to_vmr(ibmr);
	struct vroce_reg_user_mr_params params = {};
	int err;

	if (!mr->umem || mr->umem->is_dmabuf)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = mr->umem->address;
		length = mr->umem->length;
		virt_addr = ibmr->iova;
	}
	if (!(flags & IB_MR_REREG_PD))
		ibpd = ibmr->pd;
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	err = vroce_check_udata(udata, 0);
	if (!err)
		err = vroce_check_user_mr(dev, length, access);
	if (err)
		return ERR_PTR(err);

	params.pdn = to_vpd(ibpd)->hw->handle;
	params.access = vroce_known_access(dev, access);
	params.virt_addr = virt_addr;
	params.length = length;
	if (flags & IB_MR_REREG_TRANS || (access ^ mr->access) & IB_ZERO_BASED ||
	    (ib_access_writable(access) && !ib_access_writable(mr->access)))
		err = vroce_rereg_pages(mr, start, &params);
	else
		err = vroce_cmd_rereg_mr(dev->aux, mr->mrn, &params);
	if (err)
		return ERR_PTR(err);
	mr->access = access;
	return NULL;
}

/* Allocate the page list, which the device reads for a request %IB_WR_REG_MR. */
static int vroce_alloc_pages(struct vroce_mr *mr, struct device *dma_dev,
			     u32 max_pages)
{
	mr->pages = dma_alloc_coherent(dma_dev, array_size(max_pages,
							   sizeof(*mr->pages)),
				       &mr->pages_dma, GFP_KERNEL);
	if (!mr->pages)
		return -ENOMEM;
	mr->max_pages = max_pages;
	return 0;
}

static void vroce_free_pages(struct vroce_mr *mr, struct device *dma_dev)
{
	if (mr->pages)
		dma_free_coherent(dma_dev, array_size(mr->max_pages,
						      sizeof(*mr->pages)),
				  mr->pages, mr->pages_dma);
}

/**
 * vroce_alloc_mr() - verb: a memory region that gets its pages by work request
 * @ibpd: protection domain
 * @type: IB_MR_TYPE_MEM_REG
 * @max_num_sg: number of kernel pages that it can have
 *
 * Return: memory region, or error pointer.
 */
struct ib_mr *vroce_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg)
{
	struct vroce_dev *dev = to_vdev(ibpd->device);
	struct vroce_mr_keys keys;
	struct vroce_mr *mr;
	int err;

	if (!vroce_has_fast_reg(dev) || type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg ||
	    max_num_sg > dev->attr.max_fast_reg_pages / VROCE_PAGES_PER_PAGE)
		return ERR_PTR(-EINVAL);

	mr = vroce_mr_new(dev);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = vroce_alloc_pages(mr, dev->aux->dma_dev,
				max_num_sg * VROCE_PAGES_PER_PAGE);
	if (err)
		goto err_free;
	err = vroce_cmd_alloc_mr(dev->aux, to_vpd(ibpd)->hw->handle,
				 mr->max_pages, &keys);
	if (err)
		goto err_pages;
	mr->mrn = keys.mrn;
	mr->ibmr.lkey = keys.lkey;
	mr->ibmr.rkey = keys.rkey;
	return &mr->ibmr;

err_pages:
	vroce_free_pages(mr, dev->aux->dma_dev);
err_free:
	vroce_mr_free(dev, mr);
	return ERR_PTR(err);
}

static int vroce_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct vroce_mr *mr = to_vmr(ibmr);

	if (mr->npages == mr->max_pages)
		return -ENOMEM;
	mr->pages[mr->npages++] = cpu_to_le64(addr);
	return 0;
}

/**
 * vroce_map_mr_sg() - verb: set the pages for the next registration
 * @ibmr: memory region that is not valid and has no registration outstanding
 * @sg: pages
 * @sg_nents: length of the list
 * @sg_offset: bytes to skip
 *
 * Context: any.
 * Return: number of elements that the region covers, or -errno.
 */
int vroce_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset)
{
	struct vroce_mr *mr = to_vmr(ibmr);

	if (!mr->pages || !IS_ALIGNED(ibmr->page_size, VROCE_WIRE_PAGE))
		return -EINVAL;
	/* Here the device has this page size only.  A larger page is several of these. */
	ibmr->page_size = VROCE_WIRE_PAGE;
	mr->npages = 0;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, vroce_set_page);
}

/* Can a window be bound to a memory region? */
static bool vroce_mr_may_be_bound(const struct vroce_mr *mr)
{
	return mr->umem && mr->access & IB_ACCESS_MW_BIND &&
	       atomic_read(&to_vpd(mr->ibmr.pd)->windows);
}

static void vroce_mr_release_kept(void *data)
{
	struct vroce_mr *mr = data;

	ib_umem_release(mr->umem);
	vroce_free_pages(mr, to_vdev(mr->ibmr.device)->aux->dma_dev);
	kfree(mr);
}

/**
 * vroce_dereg_mr() - destroy a memory region
 * @ibmr: memory region
 * @udata: of the user
 *
 * If the device died, it has been reset when the command returns.  If it is alive and
 * did not confirm the command, it may still write to the pages and read the page list.
 * The pages of a process stay pinned then, until the device is reset.  Those of the kernel
 * belong to others, so the device is reset now.
 *
 * The device alone knows which windows are bound: it refuses to destroy a region that has
 * any.  So a refusal means this as long as there are windows, and afterwards that the
 * device is broken.
 *
 * Return: 0, because the core does not expect a failure here; -EBUSY if windows are bound.
 */
int vroce_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibmr->device);
	struct vroce_mr *mr = to_vmr(ibmr);
	int err;

	if (vroce_mr_may_be_bound(mr)) {
		err = vroce_cmd_dereg_bound_mr(dev->aux, mr->mrn);
		if (err == -EBUSY)
			return err;
	} else {
		err = vroce_cmd_dereg_mr(dev->aux, mr->mrn);
	}
	if (err && !mr->umem)
		err = vroce_settle(dev, "memory region", mr->mrn);
	if (err) {
		vroce_keep(dev, mr, vroce_mr_release_kept);
		return 0;
	}
	ib_umem_release(mr->umem);
	vroce_free_pages(mr, dev->aux->dma_dev);
	vroce_mr_free(dev, mr);
	return 0;
}

/**
 * vroce_alloc_mw() - verb: a memory window, which counts as a memory region
 * @ibmw: memory window
 * @udata: of the user
 *
 * Return: 0 or -errno.
 */
int vroce_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibmw->device);
	struct vroce_mw *mw = to_vmw(ibmw);
	struct vroce_mr_keys keys;
	int err;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	err = vroce_check_udata(udata, 0);
	if (!err)
		err = vroce_quota_take(dev, VROCE_MR);
	if (err)
		return err;
	err = vroce_cmd_alloc_mw(dev->aux, to_vpd(ibmw->pd)->hw->handle, ibmw->type,
				 &keys);
	if (err) {
		vroce_quota_give(dev, VROCE_MR);
		return err;
	}
	mw->mrn = keys.mrn;
	ibmw->rkey = keys.rkey;
	atomic_inc(&to_vpd(ibmw->pd)->windows);
	return 0;
}

/**
 * vroce_dealloc_mw() - destroy a memory window
 * @ibmw: memory window
 *
 * A window that the device refuses to destroy counts as one that it has.  It names no
 * memory that its region does not name.
 *
 * Return: 0, because the core does not expect a failure here.
 */
int vroce_dealloc_mw(struct ib_mw *ibmw)
{
	struct vroce_dev *dev = to_vdev(ibmw->device);

	if (!vroce_cmd_dereg_mr(dev->aux, to_vmw(ibmw)->mrn))
		vroce_quota_give(dev, VROCE_MR);
	atomic_dec(&to_vpd(ibmw->pd)->windows);
	return 0;
}
