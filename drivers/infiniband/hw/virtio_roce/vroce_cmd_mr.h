/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control commands for memory regions and windows.
 */
#ifndef _VROCE_CMD_MR_H
#define _VROCE_CMD_MR_H

#include "vroce_cmd.h"

/**
 * struct vroce_mr_keys - what the device returns for a new memory region
 * @mrn: handle
 * @lkey: local key
 * @rkey: remote key
 */
struct vroce_mr_keys {
	u32 mrn;
	u32 lkey;
	u32 rkey;
};

/**
 * struct vroce_reg_user_mr_params - for REG_USER_MR and REREG_MR
 * @pdn: protection domain
 * @access: IB_ACCESS_* bits
 * @virt_addr: address that work requests use for the first byte
 * @length: bytes
 * @npages: number of pages
 * @page_shift: log2 of their size, 0 for %VIRTIO_RDMA_MR_PAGE_SHIFT
 * @indirect: the list is not in the command
 * @pages: their device addresses, or with @indirect those of the pages that these are in
 */
struct vroce_reg_user_mr_params {
	u32 pdn;
	int access;
	u64 virt_addr;
	u64 length;
	u32 npages;
	u8 page_shift;
	bool indirect;
	const __le64 *pages;
};

int vroce_cmd_get_dma_mr(struct virtio_net_roce_aux *aux, u32 pdn, int access,
			 struct vroce_mr_keys *keys);
int vroce_cmd_reg_user_mr(struct virtio_net_roce_aux *aux,
			  const struct vroce_reg_user_mr_params *params,
			  struct vroce_mr_keys *keys);
int vroce_cmd_rereg_mr(struct virtio_net_roce_aux *aux, u32 mrn,
		       const struct vroce_reg_user_mr_params *params);
int vroce_cmd_alloc_mr(struct virtio_net_roce_aux *aux, u32 pdn, u32 max_pages,
		       struct vroce_mr_keys *keys);
int vroce_cmd_alloc_mw(struct virtio_net_roce_aux *aux, u32 pdn,
		       enum ib_mw_type type, struct vroce_mr_keys *keys);
int vroce_cmd_dereg_mr(struct virtio_net_roce_aux *aux, u32 mrn);
int vroce_cmd_dereg_bound_mr(struct virtio_net_roce_aux *aux, u32 mrn);

#endif /* _VROCE_CMD_MR_H */
