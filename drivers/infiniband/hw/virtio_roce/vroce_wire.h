/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Translation between values of the RDMA core and values on the wire.
 */
#ifndef _VROCE_WIRE_H
#define _VROCE_WIRE_H

#include <rdma/ib_verbs.h>

#include "virtio_net_roce.h"

/*
 * enum vroce_qp_types - types of QPs that an operation is legal on, as bits
 */
enum vroce_qp_types {
	VROCE_RC	= BIT(IB_QPT_RC),
	VROCE_UC	= BIT(IB_QPT_UC),
	VROCE_UD	= BIT(IB_QPT_UD) | BIT(IB_QPT_GSI),
};

/* Rights that every device knows.  The callers must have refused other flags. */
#define VROCE_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ)

/* Rights for FLUSH, with VIRTIO_IB_DEVICE_FLUSH. */
#define VROCE_ACCESS_FLUSH	(IB_ACCESS_FLUSH_GLOBAL | \
				 IB_ACCESS_FLUSH_PERSISTENT)

/* Attributes of MODIFY_QP that a command can carry or that need no command. */
#define VROCE_QP_ATTRS	(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS | \
			 IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY | \
			 IB_QP_AV | IB_QP_PATH_MTU | IB_QP_TIMEOUT | \
			 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_RQ_PSN | \
			 IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MIN_RNR_TIMER | \
			 IB_QP_SQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | \
			 IB_QP_DEST_QPN | IB_QP_EN_SQD_ASYNC_NOTIFY | \
			 IB_QP_RATE_LIMIT)

u32 vroce_access_to_wire(int access);
int vroce_access_from_wire(u32 wire);
int vroce_qp_type_to_wire(enum ib_qp_type type);
u32 vroce_qp_mask_to_wire(int mask);
void vroce_qp_cap_to_wire(const struct ib_qp_cap *cap,
			  struct virtio_rdma_qp_cap *wire);
void vroce_ah_attr_to_wire(const struct rdma_ah_attr *attr,
			   struct virtio_rdma_ah_attr *wire);
void vroce_qp_attr_to_wire(const struct ib_qp_attr *attr, int mask,
			   struct virtio_rdma_cmd_modify_qp *wire);
int vroce_qp_attr_from_wire(const struct virtio_rdma_ack_query_qp *wire,
			    struct ib_qp_attr *attr);
int vroce_wr_opcode_to_wire(enum ib_wr_opcode opcode, enum ib_qp_type type);
int vroce_mem_mgt_opcode_to_wire(enum ib_wr_opcode opcode,
				 enum ib_qp_type type);
int vroce_atomic_opcode_to_wire(enum ib_wr_opcode opcode,
				enum ib_qp_type type);
int vroce_send_flags_to_wire(int flags);
void vroce_wc_from_wire(const struct virtio_rdma_cq_req *wire,
			struct ib_wc *wc);

/*
 * The core leaves these types to drivers.  A work queue is a QP for the device alone.
 */
#define VROCE_QPT_WQ	IB_QPT_RESERVED1

#endif /* _VROCE_WIRE_H */
