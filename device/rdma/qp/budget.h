/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How much a QP may do before others get their turn.
 */
#ifndef DEVICE_RDMA_QP_BUDGET_H
#define DEVICE_RDMA_QP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "virtio/virtq.h"

/**
 * struct budget - how much may be done before others get their turn
 * @msgs:	packets and completions left
 * @bytes:	payload left; may go below 0 by the last packet
 * @work:	virtq_work() at which it is enough: slots may be of many pieces
 */
struct budget {
	int msgs;
	int64_t bytes;
	uint64_t work;
};

/** budget_left() - may anything more be done? */
static inline bool budget_left(const struct budget *budget)
{
	return budget->msgs > 0 && budget->bytes > 0 && virtq_work() < budget->work;
}

/** budget_take() - a packet with @bytes of payload, or a completion */
static inline void budget_take(struct budget *budget, uint64_t bytes)
{
	budget->msgs--;
	budget->bytes -= bytes;
}

#endif /* DEVICE_RDMA_QP_BUDGET_H */
