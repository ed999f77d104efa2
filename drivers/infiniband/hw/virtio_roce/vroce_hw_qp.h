/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs as the device has them.
 */
#ifndef _VROCE_HW_QP_H
#define _VROCE_HW_QP_H

#include "vroce_types.h"

/* Parts of the memory of a direct QP. */
enum vroce_qp_part {
	VROCE_QP_SEND,
	VROCE_QP_RECV,
	VROCE_QP_CONTROL,
};

u32 vroce_rq_stride(const struct ib_qp_cap *cap);
u8 vroce_stride_shift(size_t len);
u32 vroce_inline_room(enum ib_qp_type type, const struct ib_qp_cap *cap);
size_t vroce_max_slots(const struct vroce_dev *dev);
void vroce_hw_qp_forget(struct vroce_hw_qp *hw);
struct vroce_hw_qp *
vroce_hw_qp_create(struct vroce_dev *dev, struct ib_pd *ibpd,
		   const struct ib_qp_init_attr *attr,
		   const struct ib_qp_cap *cap, bool kernel,
		   struct vroce_doorbell *db);
struct vroce_hw_qp *vroce_hw_tgt_create(struct vroce_dev *dev,
					struct vroce_hw_domain *xrcd);
struct vroce_hw_qp *
vroce_hw_rx_hash_create(struct vroce_dev *dev,
			struct virtio_rdma_cmd_create_rx_hash_qp *req);

#endif /* _VROCE_HW_QP_H */
