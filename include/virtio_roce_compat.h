/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels for which the RDMA driver is built; see compat.mk and
 * virtio_net_roce_compat.h.
 */
#ifndef _VIRTIO_ROCE_COMPAT_H
#define _VIRTIO_ROCE_COMPAT_H

#include <linux/eventfd.h>
#include <linux/mm.h>
#include <rdma/ib_umem.h>
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

static inline void vroce_eventfd_signal(struct eventfd_ctx *ctx)
{
#ifdef VNR_HAVE_EVENTFD_SIGNAL_ONE
	eventfd_signal(ctx);
#else
	eventfd_signal(ctx, 1);
#endif
}

/* What ib_device_ops.create_cq gets from the user, NULL for the kernel's CQs. */
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

/* ib_device_ops.resize_cq: the type of the number of entries. */
#ifdef VNR_HAVE_RESIZE_USER_CQ
#define VROCE_RESIZE_CQ_ARG	unsigned int
#else
#define VROCE_RESIZE_CQ_ARG	int
#endif

/* ib_device_ops.reg_user_mr: the device takes no DMA placement hints. */
struct ib_mr *vroce_gate_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				     u64 virt_addr, int access,
				     struct ib_udata *udata);

#ifdef VNR_HAVE_DMAH
static inline struct ib_mr *
vroce_reg_user_mr_dmah(struct ib_pd *ibpd, u64 start, u64 length, u64 virt_addr,
		       int access, struct ib_dmah *dmah, struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return vroce_gate_reg_user_mr(ibpd, start, length, virt_addr, access,
				      udata);
}

#define VROCE_REG_USER_MR	vroce_reg_user_mr_dmah
#else
#define VROCE_REG_USER_MR	vroce_gate_reg_user_mr
#endif

/* ib_device_ops.reg_user_mr_dmabuf: what comes after the access flags. */
struct ib_mr *vroce_gate_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					    u64 length, u64 virt_addr, int fd,
					    int access, struct ib_udata *udata);

#if defined(VNR_HAVE_DMAH)
static inline struct ib_mr *
vroce_reg_user_mr_dmabuf_dmah(struct ib_pd *ibpd, u64 offset, u64 length,
			      u64 virt_addr, int fd, int access,
			      struct ib_dmah *dmah,
			      struct uverbs_attr_bundle *attrs)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return vroce_gate_reg_user_mr_dmabuf(ibpd, offset, length, virt_addr,
					     fd, access, &attrs->driver_udata);
}

#define VROCE_REG_USER_MR_DMABUF	vroce_reg_user_mr_dmabuf_dmah
#elif defined(VNR_HAVE_REG_DMABUF_ATTRS)
static inline struct ib_mr *
vroce_reg_user_mr_dmabuf_attrs(struct ib_pd *ibpd, u64 offset, u64 length,
			       u64 virt_addr, int fd, int access,
			       struct uverbs_attr_bundle *attrs)
{
	return vroce_gate_reg_user_mr_dmabuf(ibpd, offset, length, virt_addr,
					     fd, access, &attrs->driver_udata);
}

#define VROCE_REG_USER_MR_DMABUF	vroce_reg_user_mr_dmabuf_attrs
#else
#define VROCE_REG_USER_MR_DMABUF	vroce_gate_reg_user_mr_dmabuf
#endif

#ifndef VNR_HAVE_UMEM_GET_VA
static inline struct ib_umem *ib_umem_get_va(struct ib_device *device,
					     unsigned long addr, size_t size,
					     int access)
{
	return ib_umem_get(device, addr, size, access);
}
#endif

/*
 * A core that reports port events itself does not do so for members of a bond.  The
 * driver always reports them (vroce_port_update()), so this turns off the core's
 * report.
 */
#ifdef VNR_HAVE_REPORT_PORT_EVENT
static inline void vroce_report_port_event(struct ib_device *ibdev,
					   struct net_device *netdev,
					   unsigned long event)
{
}

#define VROCE_REPORT_PORT_EVENT	.report_port_event = vroce_report_port_event,
#else
#define VROCE_REPORT_PORT_EVENT
#endif

/* The core makes the memory of a counter of QPs, in the size that the driver wants. */
#ifdef VNR_HAVE_COUNTER_SIZE
#define VROCE_INIT_COUNTER_SIZE	.size_rdma_counter = sizeof(struct rdma_counter),
#else
#define VROCE_INIT_COUNTER_SIZE
#endif

/*
 * A kernel without FLUSH and ATOMIC_WRITE has no such bits.  It refuses them for memory
 * regions, but hands on those of a QP as the process gave them.
 */
#ifndef VNR_HAVE_ACCESS_FLUSH
#define IB_ACCESS_FLUSH_GLOBAL		BIT(8)
#define IB_ACCESS_FLUSH_PERSISTENT	BIT(9)
#define IB_DEVICE_FLUSH_GLOBAL		0
#define IB_DEVICE_ATOMIC_WRITE		0
#endif

#endif /* _VIRTIO_ROCE_COMPAT_H */
