/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * MODIFY_QP and QUERY_QP.
 */
#ifndef DEVICE_RDMA_QP_QP_STATE_H
#define DEVICE_RDMA_QP_QP_STATE_H

#include "rdma/qp/qp.h"

/** qp_modify() - carry out MODIFY_QP; returns NULL, or why not */
const char *qp_modify(struct qp_table *qps,
		      const struct virtio_rdma_cmd_modify_qp *req);

/** qp_query() - carry out QUERY_QP; returns NULL, or why not */
const char *qp_query(const struct qp_table *qps, uint32_t qpn,
		     struct virtio_rdma_ack_query_qp *rsp);

/**
 * qp_parted_all() - no connection is there any more
 * @qps:	QPs that were loaded, and have not run yet
 *
 * Each QP that has a peer goes to ERR, with an event, and sends nothing to it.
 */
void qp_parted_all(struct qp_table *qps);

#endif /* DEVICE_RDMA_QP_QP_STATE_H */
