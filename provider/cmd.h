/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The uverbs commands with extra data between kernel driver and provider.
 */
#ifndef VIRTIO_ROCE_CMD_H
#define VIRTIO_ROCE_CMD_H

#include <infiniband/kern-abi.h>

#include "virtio_roce-abi.h"

/*
 * DECLARE_DRV_CMD() declares the driver's part as the member drv_payload, and its fields
 * as members of their own, for which rdma-core generates macros from the headers in its
 * tree.  We use only drv_payload.
 */
#define _STRUCT_virtio_roce_alloc_ucontext_req
#define _STRUCT_virtio_roce_alloc_ucontext_resp
#define _STRUCT_virtio_roce_create_ah_resp
#define _STRUCT_virtio_roce_create_cq_resp
#define _STRUCT_virtio_roce_create_qp_req
#define _STRUCT_virtio_roce_create_qp_resp
#define _STRUCT_virtio_roce_create_srq_resp
#define _STRUCT_virtio_roce_modify_qp_req
#define _STRUCT_virtio_roce_modify_srq_req
#define _STRUCT_virtio_roce_resize_cq_resp

DECLARE_DRV_CMD(uvirtio_roce_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		virtio_roce_alloc_ucontext_req,
		virtio_roce_alloc_ucontext_resp);
DECLARE_DRV_CMD(uvirtio_roce_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, virtio_roce_create_ah_resp);
DECLARE_DRV_CMD(uvirtio_roce_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		empty, virtio_roce_create_cq_resp);
DECLARE_DRV_CMD(uvirtio_roce_modify_qp, IB_USER_VERBS_EX_CMD_MODIFY_QP,
		virtio_roce_modify_qp_req, empty);
DECLARE_DRV_CMD(uvirtio_roce_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		virtio_roce_modify_srq_req, empty);
DECLARE_DRV_CMD(uvirtio_roce_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, virtio_roce_resize_cq_resp);
DECLARE_DRV_CMD(uvirtio_roce_create_qp, IB_USER_VERBS_EX_CMD_CREATE_QP,
		virtio_roce_create_qp_req, virtio_roce_create_qp_resp);
DECLARE_DRV_CMD(uvirtio_roce_create_wq, IB_USER_VERBS_EX_CMD_CREATE_WQ,
		empty, virtio_roce_create_qp_resp);
DECLARE_DRV_CMD(uvirtio_roce_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		empty, virtio_roce_create_srq_resp);
DECLARE_DRV_CMD(uvirtio_roce_create_xsrq, IB_USER_VERBS_CMD_CREATE_XSRQ,
		empty, virtio_roce_create_srq_resp);

#endif /* VIRTIO_ROCE_CMD_H */
