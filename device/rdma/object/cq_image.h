/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues, saved and loaded.
 */
#ifndef DEVICE_RDMA_OBJECT_CQ_IMAGE_H
#define DEVICE_RDMA_OBJECT_CQ_IMAGE_H

#include "rdma/object/cq.h"
#include "state/state.h"

/** cq_table_io() - save or load the table, without completions that are held */
void cq_table_io(struct state *st, struct cq_table *cqs);

/** cq_moderation_io() - save or load how long events wait, if any do */
void cq_moderation_io(struct state *st, struct cq_table *cqs);

/**
 * struct cq_clock - the clock of a guest in a state
 * @known:	there is one in it
 * @here:	it was saved by a process in whose place this one is
 * @zero:	&rnic_ctx.clock_zero of the writer
 * @time:	what the guest's clock said then
 */
struct cq_clock {
	bool known;
	bool here;
	uint64_t zero;
	uint64_t time;
};

/** cq_timestamps_io() - save or load a clock that the guest knows, and which CQs have it */
void cq_timestamps_io(struct state *st, struct cq_table *cqs, struct cq_clock *clock);

/** cq_clock_loaded() - all was loaded: the clock goes on, and never back */
void cq_clock_loaded(struct rnic_ctx *ctx, const struct cq_clock *clock);

/** cq_loaded() - all was loaded: CQs have their virtqueues, and go on */
void cq_loaded(struct cq_table *cqs);

#endif /* DEVICE_RDMA_OBJECT_CQ_IMAGE_H */
