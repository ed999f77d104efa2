/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control commands for flow rules.
 */
#ifndef _VROCE_CMD_FLOW_H
#define _VROCE_CMD_FLOW_H

#include "vroce_cmd.h"

/**
 * struct vroce_flow_counts - what QUERY_FLOW says
 * @packets: frames
 * @bytes: of them
 */
struct vroce_flow_counts {
	u64 packets;
	u64 bytes;
};

int vroce_cmd_create_flow(struct virtio_net_roce_aux *aux,
			  struct virtio_rdma_cmd_create_flow *req, u32 *handle);
int vroce_cmd_create_flow_long(struct virtio_net_roce_aux *aux,
			       struct virtio_rdma_cmd_create_flow_long *req, u32 *handle);
int vroce_cmd_query_flow(struct virtio_net_roce_aux *aux, u32 handle,
			 struct vroce_flow_counts *counts);
int vroce_cmd_destroy_flow(struct virtio_net_roce_aux *aux, u32 handle);

#endif /* _VROCE_CMD_FLOW_H */
