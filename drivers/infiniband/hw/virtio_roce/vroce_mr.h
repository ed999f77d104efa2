/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory regions.
 */
#ifndef _VROCE_MR_H
#define _VROCE_MR_H

#include "vroce_types.h"

int vroce_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int vroce_dealloc_mw(struct ib_mw *ibmw);
struct ib_mr *vroce_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *vroce_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 virt_addr, int access,
				struct ib_udata *udata);
struct ib_mr *vroce_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length,
				       u64 virt_addr, int fd, int access,
				       struct ib_udata *udata);
struct ib_mr *vroce_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg);
int vroce_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset);
struct ib_mr *vroce_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 virt_addr, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
bool vroce_mr_access_is_ok(const struct vroce_dev *dev, int access);

#endif /* _VROCE_MR_H */
