/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control commands for QPs.
 */
#ifndef _VROCE_CMD_QP_H
#define _VROCE_CMD_QP_H

#include "vroce_cmd.h"

/**
 * struct vroce_direct_params - for CREATE_QP of a QP in direct form
 * @send_shift: log2 of the stride of the send ring
 * @recv_shift: log2 of the stride of the receive ring
 * @send_depth: slots of the send ring
 * @recv_depth: slots of the receive ring
 * @doorbell: handle of the doorbell page
 * @bit: its bit there
 * @send_pages: number of pages of the send ring
 * @recv_pages: number of pages of the receive ring
 * @control: device address of the control block
 * @pages: device addresses of all pages
 * @first: least number that it may have
 * @end: number that it must be below
 * @shared: it has an SRQ, not a receive ring
 * @srq: handle of the SRQ
 * @xrcd: XRC domain of an XRC_TGT QP, which has only this, @first and @end
 */
struct vroce_direct_params {
	u8 send_shift;
	u8 recv_shift;
	u32 send_depth;
	u32 recv_depth;
	u32 doorbell;
	u32 bit;
	u32 send_pages;
	u32 recv_pages;
	dma_addr_t control;
	const __le64 *pages;
	u32 first;
	u32 end;
	bool shared;
	u32 srq;
	u32 xrcd;
};

/**
 * struct vroce_create_qp_params - for CREATE_QP
 * @pdn: protection domain
 * @type: type
 * @sq_sig_all: every send request leaves a completion
 * @fast_reg: send requests may register and invalidate memory regions
 * @strip: tags go from frames to completions
 * @send_cqn: CQ of the send queue
 * @recv_cqn: CQ of the receive queue
 * @cap: capabilities
 * @direct: its direct form, NULL for that of the RFC
 */
struct vroce_create_qp_params {
	u32 pdn;
	enum ib_qp_type type;
	bool sq_sig_all;
	bool fast_reg;
	bool strip;
	u32 send_cqn;
	u32 recv_cqn;
	struct ib_qp_cap cap;
	const struct vroce_direct_params *direct;
};

int vroce_cmd_create_qp(struct virtio_net_roce_aux *aux,
			const struct vroce_create_qp_params *params, u32 *qpn);
int vroce_cmd_modify_qp(struct virtio_net_roce_aux *aux, u32 qpn,
			const struct ib_qp_attr *attr, int mask, u32 max_burst);
int vroce_cmd_query_qp(struct virtio_net_roce_aux *aux, u32 qpn, int mask,
		       struct ib_qp_attr *attr);
int vroce_cmd_destroy_qp(struct virtio_net_roce_aux *aux, u32 qpn);

#endif /* _VROCE_CMD_QP_H */
