/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests that were taken, saved and loaded.
 */
#ifndef DEVICE_RDMA_QP_WQE_IMAGE_H
#define DEVICE_RDMA_QP_WQE_IMAGE_H

#include "rdma/qp/wqe.h"
#include "state/state.h"

/** WQE_STATE_SIZE - bytes of the smallest send request in a state */
#define WQE_STATE_SIZE	47u

/** RWQE_STATE_SIZE - bytes of the smallest receive request in a state */
#define RWQE_STATE_SIZE	16u

/** wqe_io() - save or load a send request of a QP of @type; zeroes if it is loaded */
void wqe_io(struct state *st, struct wqe *wqe, uint8_t type);

/** rwqe_io() - save or load a receive request */
void rwqe_io(struct state *st, struct rwqe *rwqe);

#endif /* DEVICE_RDMA_QP_WQE_IMAGE_H */
