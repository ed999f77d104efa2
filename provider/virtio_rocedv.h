/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Direct verbs of virtio_roce: the offload of a target of NVMe over Fabrics.
 *
 * libibverbs has never had these verbs.  Objects, fields, flags and errors are those of the
 * RFC "libibverbs: NVMe-oF target offload", with the prefix virtio_rocedv_ in the place of
 * ibv_; what is more than that is marked as an extension.  virtio_rocedv_nvmf(7) explains all.
 */
#ifndef _VIRTIO_ROCEDV_H_
#define _VIRTIO_ROCEDV_H_

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/** virtio_rocedv_is_supported() - is it a device of this provider? */
bool virtio_rocedv_is_supported(struct ibv_device *device);

/* ----- what the device can do ----- */

enum virtio_rocedv_nvmf_offload_type {
	VIRTIO_ROCEDV_NVMF_WRITE_OFFLOAD		= 1 << 0,
	VIRTIO_ROCEDV_NVMF_READ_OFFLOAD			= 1 << 1,
	VIRTIO_ROCEDV_NVMF_READ_WRITE_OFFLOAD		= 1 << 2,
	VIRTIO_ROCEDV_NVMF_READ_WRITE_FLUSH_OFFLOAD	= 1 << 3,
};

struct virtio_rocedv_nvmf_caps {
	uint32_t offload_type;	/* enum virtio_rocedv_nvmf_offload_type; 0: no offload */
	uint32_t max_backend_ctrls_total;
	uint32_t max_srq_backend_ctrls;
	uint32_t max_srq_namespaces;
	uint32_t min_staging_buf_size;
	uint32_t max_io_sz;
	uint16_t max_nvme_queue_depth;
	uint16_t min_nvme_queue_depth;
	uint32_t max_ioccsz;	/* units of 16 bytes, like the following two */
	uint32_t min_ioccsz;
	uint16_t max_icdoff;
	/* Extensions. */
	uint16_t max_qp_commands;
	uint32_t backends;	/* enum virtio_rocedv_nvme_backend */
	uint32_t flags;		/* enum virtio_rocedv_nvmf_caps_flags */
	uint32_t lba_data_sizes;	/* bit n: 2^n bytes */
};

/* Extension: where the commands of a controller go, bits. */
enum virtio_rocedv_nvme_backend {
	VIRTIO_ROCEDV_NVME_QUEUES	= 1 << 1,
	VIRTIO_ROCEDV_NVME_NAMESPACE	= 1 << 2,
};

/* Extension: doorbells of controllers must be memory, not registers of a device. */
enum virtio_rocedv_nvmf_caps_flags {
	VIRTIO_ROCEDV_NVMF_DOORBELL_MEMORY	= 1 << 0,
};

enum virtio_rocedv_device_attr_mask {
	VIRTIO_ROCEDV_DEVICE_ATTR_NVMF	= 1 << 0,
};

struct virtio_rocedv_device_attr {
	uint64_t comp_mask;	/* on return those that the device has */
	struct virtio_rocedv_nvmf_caps nvmf_caps;
};

/** virtio_rocedv_query_device() - 0, or the value of errno */
int virtio_rocedv_query_device(struct ibv_context *context,
			       struct virtio_rocedv_device_attr *attr, uint32_t inlen);

/* Extension: a namespace of the host. */
enum virtio_rocedv_namespace_flags {
	VIRTIO_ROCEDV_NAMESPACE_RO	= 1 << 0,
	VIRTIO_ROCEDV_NAMESPACE_CACHE	= 1 << 1,
};

struct virtio_rocedv_namespace {
	uint64_t comp_mask;
	uint64_t size;
	uint32_t lba_data_size;
	uint32_t flags;		/* enum virtio_rocedv_namespace_flags */
};

/** virtio_rocedv_query_namespace() - 0, or the value of errno: ENOENT if there is none */
int virtio_rocedv_query_namespace(struct ibv_context *context, const char *name,
				  struct virtio_rocedv_namespace *ns, uint32_t inlen);

/* ----- SRQs ----- */

enum virtio_rocedv_nvmf_offload_ops {
	VIRTIO_ROCEDV_NVMF_OPS_WRITE		= 1 << 0,
	VIRTIO_ROCEDV_NVMF_OPS_READ		= 1 << 1,
	VIRTIO_ROCEDV_NVMF_OPS_FLUSH		= 1 << 2,
	VIRTIO_ROCEDV_NVMF_OPS_READ_WRITE	= VIRTIO_ROCEDV_NVMF_OPS_READ |
						  VIRTIO_ROCEDV_NVMF_OPS_WRITE,
	VIRTIO_ROCEDV_NVMF_OPS_READ_WRITE_FLUSH	= VIRTIO_ROCEDV_NVMF_OPS_READ_WRITE |
						  VIRTIO_ROCEDV_NVMF_OPS_FLUSH,
};

struct virtio_rocedv_mr_sg {
	struct ibv_mr *mr;
	union {
		void *addr;
		uint64_t offset;	/* of a region with IBV_ACCESS_ZERO_BASED */
	};
	uint64_t len;
};

struct virtio_rocedv_nvmf_attrs {
	uint32_t offload_ops;		/* enum virtio_rocedv_nvmf_offload_ops */
	uint32_t max_namespaces;
	uint8_t nvme_log_page_sz;	/* log2 of a page of the controllers, units of 4 KiB */
	uint32_t ioccsz;		/* units of 16 bytes, like icdoff */
	uint16_t icdoff;
	uint32_t max_io_sz;
	uint16_t nvme_queue_depth;
	struct virtio_rocedv_mr_sg staging_buf;
};

enum virtio_rocedv_srq_init_attr_mask {
	VIRTIO_ROCEDV_SRQ_INIT_ATTR_NVMF	= 1 << 0,
};

struct virtio_rocedv_srq_init_attr {
	uint64_t comp_mask;
	struct virtio_rocedv_nvmf_attrs nvmf_attr;
};

/** virtio_rocedv_create_srq() - as ibv_create_srq(), with attributes; NULL with errno */
struct ibv_srq *virtio_rocedv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr,
					 const struct virtio_rocedv_srq_init_attr *dv_attr,
					 uint32_t inlen);

/* ----- controllers ----- */

struct virtio_rocedv_nvme_ctrl;

enum virtio_rocedv_nvme_ctrl_attrs_mask {
	/* Extensions. */
	VIRTIO_ROCEDV_NVME_CTRL_NAMESPACE	= 1 << 0,
	VIRTIO_ROCEDV_NVME_CTRL_FLAGS		= 1 << 1,
};

/* Extension: data pointers of commands are addresses as of a struct ibv_sge. */
enum virtio_rocedv_nvme_ctrl_flags {
	VIRTIO_ROCEDV_NVME_CTRL_REGION_ADDR	= 1 << 0,
};

struct virtio_rocedv_nvme_ctrl_attrs {
	struct virtio_rocedv_mr_sg sq_buf;
	struct virtio_rocedv_mr_sg cq_buf;
	struct virtio_rocedv_mr_sg sqdb;
	struct virtio_rocedv_mr_sg cqdb;
	uint16_t sqdb_ini;
	uint16_t cqdb_ini;
	uint16_t cmd_timeout_ms;
	uint32_t comp_mask;
	/* Extensions. */
	const char *host_namespace;	/* in the place of all queues and doorbells */
	uint32_t flags;			/* enum virtio_rocedv_nvme_ctrl_flags */
};

/** virtio_rocedv_srq_create_nvme_ctrl() - NULL with errno, such as EINVAL */
struct virtio_rocedv_nvme_ctrl *
virtio_rocedv_srq_create_nvme_ctrl(struct ibv_srq *srq,
				   const struct virtio_rocedv_nvme_ctrl_attrs *nvme_attrs);

/** virtio_rocedv_srq_remove_nvme_ctrl() - 0, or the value of errno: ENOENT, EBUSY */
int virtio_rocedv_srq_remove_nvme_ctrl(struct ibv_srq *srq,
				       struct virtio_rocedv_nvme_ctrl *nvme_ctrl);

/** virtio_rocedv_map_nvmf_nsid() - 0, or the value of errno: EEXIST, ENOTSUP, EINVAL */
int virtio_rocedv_map_nvmf_nsid(struct virtio_rocedv_nvme_ctrl *nvme_ctrl, uint32_t fe_nsid,
				uint16_t lba_data_size, uint32_t nvme_nsid);

/** virtio_rocedv_unmap_nvmf_nsid() - 0, or the value of errno: ENOENT */
int virtio_rocedv_unmap_nvmf_nsid(struct virtio_rocedv_nvme_ctrl *nvme_ctrl, uint32_t fe_nsid);

/* ----- QPs ----- */

enum {
	VIRTIO_ROCEDV_QP_NVMF_ATTR_FLAG_ENABLE	= 1 << 0,
};

/** virtio_rocedv_qp_set_nvmf() - 0, or the value of errno: EINVAL */
int virtio_rocedv_qp_set_nvmf(struct ibv_qp *qp, unsigned int flags);

/**
 * virtio_rocedv_qp_set_nvmf_sq() - extension: with flow control of the submission queue
 * @qp:		QP
 * @flags:	as of virtio_rocedv_qp_set_nvmf()
 * @sq_size:	entries of the queue; 0: no flow control, as by virtio_rocedv_qp_set_nvmf()
 * @sq_head:	head of it, as the last answer had it
 */
int virtio_rocedv_qp_set_nvmf_sq(struct ibv_qp *qp, unsigned int flags, uint16_t sq_size,
				 uint16_t sq_head);

/* ----- events of controllers ----- */

enum virtio_rocedv_event_type {
	VIRTIO_ROCEDV_EVENT_NVME_PCI_ERR	= 1,
	VIRTIO_ROCEDV_EVENT_NVME_TIMEOUT	= 2,
};

struct virtio_rocedv_async_event {
	union {
		struct virtio_rocedv_nvme_ctrl *nvme_ctrl;
	} element;
	enum virtio_rocedv_event_type event_type;
};

/** virtio_rocedv_async_fd() - a descriptor that can be read while there are events; or -1 */
int virtio_rocedv_async_fd(struct ibv_context *context);

/** virtio_rocedv_get_async_event() - wait for the next one; 0, or -1 with errno */
int virtio_rocedv_get_async_event(struct ibv_context *context,
				  struct virtio_rocedv_async_event *event);

/** virtio_rocedv_ack_async_event() - the controller may be removed as far as this one goes */
void virtio_rocedv_ack_async_event(struct virtio_rocedv_async_event *event);

#ifdef __cplusplus
}
#endif

#endif /* _VIRTIO_ROCEDV_H_ */
