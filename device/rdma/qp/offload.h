/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Offloads: something in the device that takes part of what a QP receives, and posts requests
 * of its own.
 *
 * A message that an RC QP with an SRQ receives by SEND is shown to the offload when it is
 * there, all of it, in the memory of its receive request.  If the offload takes it, the request
 * goes back to the SRQ.  Requests of the offload have plain memory as payload, and take turns
 * with those of the send queue.
 */
#ifndef DEVICE_RDMA_QP_OFFLOAD_H
#define DEVICE_RDMA_QP_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdma/qp/qp.h"

TAILQ_HEAD(qp_post_list, qp_post);

/**
 * struct qp_post - a request of an offload, its own until @done
 * @entry:	of those that wait
 * @opcode:	SEND, SEND_WITH_INV, RDMA_READ or RDMA_WRITE
 * @buf:	payload, or where it goes; not memory of a guest
 * @len:	bytes
 * @remote_addr: address in the peer's memory
 * @key:	its key, or the one to invalidate
 * @done:	called at the end, with 0 or a negative error.  Not called any more once the QP
 *		has left the offload
 */
struct qp_post {
	TAILQ_ENTRY(qp_post) entry;
	uint8_t opcode;
	void *buf;
	uint32_t len;
	uint64_t remote_addr;
	uint32_t key;
	void (*done)(struct qp_post *post, int err);
};

/**
 * struct qp_offload_ops - what an offload does
 * @ready:	may a message begin?  Otherwise the peer is told to come again
 * @take:	a message of @len bytes is there, for qp_offload_read(); true if it is taken
 * @gone:	the QP has left it; with @failed because it went to ERR.  The end of @offload
 *
 * @ready and @take are called while a packet is looked at: they may post requests, and do
 * nothing else to the QP.
 */
struct qp_offload_ops {
	bool (*ready)(struct qp_offload *offload);
	bool (*take)(struct qp_offload *offload, uint32_t len);
	void (*gone)(struct qp_offload *offload, bool failed);
};

/**
 * struct qp_offload - the offload of a QP
 * @ops:	what it does
 * @qp:		QP
 * @posts:	requests that wait
 * @turn:	the next request is one of them, if there is one
 * @ending:	the QP is to go to ERR
 */
struct qp_offload {
	const struct qp_offload_ops *ops;
	struct qp *qp;
	struct qp_post_list posts;
	bool turn;
	bool ending;
};

/** qp_offload_start() - @offload, with @ops, is that of a QP which has none */
void qp_offload_start(struct qp *qp, struct qp_offload *offload);

/** qp_offload_stop() - a QP leaves its offload, if it has one */
void qp_offload_stop(struct qp *qp, bool failed);

/** qp_offload_busy() - does a request of the offload wait, or is one under way? */
bool qp_offload_busy(const struct qp *qp);

/** qp_offload_end() - have the QP go to ERR, soon */
void qp_offload_end(struct qp_offload *offload);

/** qp_offload_post() - post a request */
void qp_offload_post(struct qp_offload *offload, struct qp_post *post);

/** qp_offload_next() - the next request that was posted, as a send request; false without one */
bool qp_offload_next(struct qp *qp, struct wqe *wqe);

/** qp_offload_read() - copy the begin of the message that is there; false if it is gone */
bool qp_offload_read(struct qp *qp, void *buf, uint32_t len);

#endif /* DEVICE_RDMA_QP_OFFLOAD_H */
