/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Differences between versions of rdma-core.  CMakeLists.txt finds out what there is.
 */
#ifndef VIRTIO_ROCE_COMPAT_H
#define VIRTIO_ROCE_COMPAT_H

#include <stddef.h>

#include <infiniband/driver.h>

/* From rdma-core 57 on a context can be given other file descriptors. */
static inline int compat_get_context(struct verbs_context *context,
				     struct ibv_get_context *cmd,
				     size_t cmd_size,
				     struct ib_uverbs_get_context_resp *resp,
				     size_t resp_size)
{
#ifdef HAVE_GET_CONTEXT_FDS
	return ibv_cmd_get_context(context, cmd, cmd_size, NULL, resp,
				   resp_size);
#else
	return ibv_cmd_get_context(context, cmd, cmd_size, resp, resp_size);
#endif
}

/* From rdma-core 59 on a provider can pass memory for the CQ. */
static inline int
compat_create_cq_ex(struct ibv_context *context,
		    const struct ibv_cq_init_attr_ex *attr, struct verbs_cq *cq,
		    struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size)
{
#ifdef HAVE_CREATE_CQ_PROV_ATTR
	return ibv_cmd_create_cq_ex(context, attr, NULL, cq, NULL, 0, resp,
				    resp_size, 0);
#else
	return ibv_cmd_create_cq_ex(context, attr, cq, NULL, 0, resp, resp_size,
				    0);
#endif
}

/* From rdma-core 64 on a provider can add attributes. */
static inline int
compat_create_qp_ex2(struct ibv_context *context, struct verbs_qp *qp,
		     struct ibv_qp_init_attr_ex *attr,
		     struct ibv_create_qp_ex *cmd, size_t cmd_size,
		     struct ib_uverbs_ex_create_qp_resp *resp, size_t resp_size)
{
#ifdef HAVE_CREATE_QP_DRIVER_ATTRS
	return ibv_cmd_create_qp_ex2(context, qp, attr, cmd, cmd_size, resp,
				     resp_size, NULL);
#else
	return ibv_cmd_create_qp_ex2(context, qp, attr, cmd, cmd_size, resp,
				     resp_size);
#endif
}

/* Newer versions of rdma-core let a provider add attributes, 44 does not. */
static inline int compat_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				       size_t length, uint64_t iova, int fd,
				       int access, struct verbs_mr *vmr)
{
#ifdef HAVE_REG_DMABUF_DRIVER_ATTRS
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				     NULL);
#else
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr);
#endif
}

#endif /* VIRTIO_ROCE_COMPAT_H */
