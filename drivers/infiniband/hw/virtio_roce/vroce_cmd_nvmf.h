/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control commands for the offload of NVMe over Fabrics.
 */
#ifndef _VROCE_CMD_NVMF_H
#define _VROCE_CMD_NVMF_H

#include "vroce_cmd.h"

int vroce_cmd_query_nvmf(struct virtio_net_roce_aux *aux,
			 struct virtio_rdma_ack_query_nvmf *caps);
int vroce_cmd_query_namespace(struct virtio_net_roce_aux *aux,
			      const struct virtio_rdma_cmd_query_namespace *req,
			      struct virtio_rdma_ack_query_namespace *rsp);
int vroce_cmd_set_srq_nvmf(struct virtio_net_roce_aux *aux,
			   const struct virtio_rdma_cmd_set_srq_nvmf *req);
int vroce_cmd_create_nvme_ctrl(struct virtio_net_roce_aux *aux,
			       const struct virtio_rdma_cmd_create_nvme_ctrl *req,
			       u32 *handle);
int vroce_cmd_destroy_nvme_ctrl(struct virtio_net_roce_aux *aux, u32 handle);
int vroce_cmd_map_nsid(struct virtio_net_roce_aux *aux,
		       const struct virtio_rdma_cmd_map_nsid *req);
int vroce_cmd_unmap_nsid(struct virtio_net_roce_aux *aux, u32 handle, u32 nsid);
int vroce_cmd_set_qp_nvmf(struct virtio_net_roce_aux *aux,
			  const struct virtio_rdma_cmd_set_qp_nvmf *req);

#endif /* _VROCE_CMD_NVMF_H */
