/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The wire between a QP and a queue of a subsystem.
 */
#ifndef DEVICE_RDMA_NVMF_CONN_H
#define DEVICE_RDMA_NVMF_CONN_H

#include "rdma/nvmf/subsys.h"

/** conn_start() - a QP without an offload gets that of a subsystem; NULL, or why not */
const char *conn_start(struct subsys *sub, struct qp *qp, uint16_t sq_size, uint16_t sq_head);

/** conn_set_flow() - the offload of a QP gets new numbers */
void conn_set_flow(struct qp *qp, uint16_t sq_size, uint16_t sq_head);

/** conn_stop() - a QP leaves its offload, and goes to ERR if that has commands under way */
void conn_stop(struct qp *qp);

/** conn_drop_all() - likewise all QPs of a subsystem, which is about to go */
void conn_drop_all(struct subsys *sub);

/** conn_first() - a QP of the subsystem, or NULL */
struct conn *conn_first(const struct subsys *sub);

/** conn_next() - the next one, or NULL */
struct conn *conn_next(const struct conn *conn);

/** conn_qp() - its QP */
struct qp *conn_qp(const struct conn *conn);

/**
 * conn_saved() - what is saved of it
 * @conn:	connection
 * @req:	filled in, as of SET_QP_NVMF
 *
 * Return: true if it has commands under way, so that it cannot go on elsewhere.
 */
bool conn_saved(const struct conn *conn, struct virtio_rdma_cmd_set_qp_nvmf *req);

#endif /* DEVICE_RDMA_NVMF_CONN_H */
