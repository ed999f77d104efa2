/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control commands for indirection tables and RX_HASH QPs.
 */
#ifndef _VROCE_CMD_WQ_H
#define _VROCE_CMD_WQ_H

#include "vroce_cmd.h"

int vroce_cmd_create_wq_table(struct virtio_net_roce_aux *aux, u8 log_size,
			      const __le32 *wqns, u32 *handle);
int vroce_cmd_destroy_wq_table(struct virtio_net_roce_aux *aux, u32 handle);
int vroce_cmd_create_rx_hash_qp(struct virtio_net_roce_aux *aux,
				struct virtio_rdma_cmd_create_rx_hash_qp *req,
				u32 first, u32 end, u32 *qpn);

#endif /* _VROCE_CMD_WQ_H */
