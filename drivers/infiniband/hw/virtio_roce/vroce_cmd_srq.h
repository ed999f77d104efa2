/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control commands for shared receive queues and XRC domains.
 */
#ifndef _VROCE_CMD_SRQ_H
#define _VROCE_CMD_SRQ_H

#include "vroce_cmd.h"

/**
 * struct vroce_resize_srq_params - for RESIZE_SRQ
 * @handle: SRQ
 * @depth: slots of the new ring, a power of two
 * @control: device address of the new control block
 * @npages: pages of the new ring
 * @pages: their device addresses
 */
struct vroce_resize_srq_params {
	u32 handle;
	u32 depth;
	u64 control;
	u32 npages;
	const __le64 *pages;
};

/**
 * struct vroce_create_srq_params - for CREATE_SRQ and CREATE_XRC_SRQ
 * @pdn: protection domain
 * @depth: slots of the ring
 * @max_sge: elements of a request
 * @shift: log2 of the stride of the ring
 * @control: device address of its control block
 * @npages: number of pages of the ring
 * @pages: their device addresses
 * @xrc: it is an XRC SRQ
 * @xrcd: its XRC domain
 * @cqn: its CQ
 */
struct vroce_create_srq_params {
	u32 pdn;
	u32 depth;
	u32 max_sge;
	u8 shift;
	dma_addr_t control;
	u32 npages;
	const __le64 *pages;
	bool xrc;
	u32 xrcd;
	u32 cqn;
};

int vroce_cmd_create_srq(struct virtio_net_roce_aux *aux,
			 const struct vroce_create_srq_params *params,
			 u32 *handle);
int vroce_cmd_modify_srq(struct virtio_net_roce_aux *aux, u32 handle, u32 limit);
int vroce_cmd_query_srq(struct virtio_net_roce_aux *aux, u32 handle, u32 *limit);
int vroce_cmd_resize_srq(struct virtio_net_roce_aux *aux,
			 const struct vroce_resize_srq_params *params);
int vroce_cmd_destroy_srq(struct virtio_net_roce_aux *aux, u32 handle);
int vroce_cmd_create_xrcd(struct virtio_net_roce_aux *aux, u32 *handle);
int vroce_cmd_destroy_xrcd(struct virtio_net_roce_aux *aux, u32 handle);

#endif /* _VROCE_CMD_SRQ_H */
