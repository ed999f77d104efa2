/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels that the RDMA driver builds on; see compat.mk
 * and virtio_net_roce_compat.h.
 */
#ifndef _VIRTIO_ROCE_COMPAT_H
#define _VIRTIO_ROCE_COMPAT_H

#include <linux/mm.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "virtio_net_roce_compat.h"

static inline void vroce_vm_flags_mod(struct vm_area_struct *vma,
				      vm_flags_t set, vm_flags_t clear)
{
#ifdef VNR_HAVE_VM_FLAGS_MOD
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* What ib_device_ops.create_cq gets of the user, NULL for the kernel's CQs. */
#ifdef VNR_HAVE_CREATE_CQ_ATTRS
#define VROCE_CREATE_CQ_ARG	struct uverbs_attr_bundle

static inline struct ib_udata *
vroce_create_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
#define VROCE_CREATE_CQ_ARG	struct ib_udata

static inline struct ib_udata *vroce_create_cq_udata(struct ib_udata *udata)
{
	return udata;
}
#endif

/* Bits that nobody sets on a kernel that does not know FLUSH. */
#ifndef VNR_HAVE_ACCESS_FLUSH
#define IB_ACCESS_FLUSH_GLOBAL		0
#define IB_ACCESS_FLUSH_PERSISTENT	0
#define IB_DEVICE_FLUSH_GLOBAL		0
#endif

#endif /* _VIRTIO_ROCE_COMPAT_H */
