/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control commands for completion queues.
 */
#ifndef _VROCE_CMD_CQ_H
#define _VROCE_CMD_CQ_H

#include "vroce_cmd.h"

/**
 * struct vroce_create_cq_params - for CREATE_CQ, long form
 * @cqe: number of completions that it can hold
 * @direct: it is a ring, not a virtqueue
 * @timed: its completions have their time
 * @cqe_shift: of a ring: log2 of the bytes of a completion
 * @event_vq: number of its event virtqueue
 * @control: device address of its control block
 * @npages: of a ring: number of pages
 * @pages: their device addresses
 * @first: least number that it may have
 * @end: number that it must be below
 */
struct vroce_create_cq_params {
	u32 cqe;
	bool direct;
	bool timed;
	u8 cqe_shift;
	u16 event_vq;
	dma_addr_t control;
	u32 npages;
	const __le64 *pages;
	u32 first;
	u32 end;
};

/**
 * struct vroce_resize_cq_params - for RESIZE_CQ
 * @cqn: number of a direct CQ
 * @cqe: number of completions that it shall hold
 * @most: number of completions that it holds now
 * @control: device address of its new control block
 * @npages: number of pages of its new ring
 * @pages: their device addresses
 */
struct vroce_resize_cq_params {
	u32 cqn;
	u32 cqe;
	u32 most;
	dma_addr_t control;
	u32 npages;
	const __le64 *pages;
};

int vroce_cmd_create_cq(struct virtio_net_roce_aux *aux, u32 cqe, u32 *cqn);
int vroce_cmd_create_cq_long(struct virtio_net_roce_aux *aux,
			     const struct vroce_create_cq_params *params,
			     u32 *cqn);
int vroce_cmd_modify_cq(struct virtio_net_roce_aux *aux, u32 cqn, u16 count, u16 period);
int vroce_cmd_resize_cq(struct virtio_net_roce_aux *aux,
			const struct vroce_resize_cq_params *params,
			u32 *stored, u32 *unread);
int vroce_cmd_destroy_cq(struct virtio_net_roce_aux *aux, u32 cqn);
int vroce_cmd_req_notify_cq(struct virtio_net_roce_aux *aux, u32 cqn,
			    bool solicited_only);

#endif /* _VROCE_CMD_CQ_H */
