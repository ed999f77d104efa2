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

/** cq_loaded() - all was loaded: CQs have their virtqueues, and go on */
void cq_loaded(struct cq_table *cqs);

#endif /* DEVICE_RDMA_OBJECT_CQ_IMAGE_H */
