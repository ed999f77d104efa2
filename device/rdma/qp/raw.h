/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Whole Ethernet frames: both halves of RAW_PACKET QPs.
 */
#ifndef DEVICE_RDMA_QP_RAW_H
#define DEVICE_RDMA_QP_RAW_H

#include <stddef.h>
#include <sys/uio.h>

#include "rdma/object/rule_key.h"
#include "rdma/qp/budget.h"
#include "rdma/qp/qp.h"

/** raw_run() - send frames of a QP in RTS; true if there were any */
bool raw_run(struct qp *qp, struct budget *budget);

/**
 * struct raw_frame - a frame that comes
 * @iov:	pieces that all of it lies in
 * @off:	where in them it begins
 * @len:	its bytes
 * @key:	its fields
 */
struct raw_frame {
	const struct iovec *iov;
	size_t off;
	size_t len;
	const union rule_key *key;
};

/**
 * raw_rx() - a frame is for a QP
 * @qp:		QP
 * @frame:	frame
 * @tag:	of the rule that it comes by, for its completion
 *
 * If the QP has no room for it, it is dropped.
 */
void raw_rx(struct qp *qp, const struct raw_frame *frame, uint32_t tag);

#endif /* DEVICE_RDMA_QP_RAW_H */
