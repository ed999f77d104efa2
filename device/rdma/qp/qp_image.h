/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs, saved and loaded.
 */
#ifndef DEVICE_RDMA_QP_QP_IMAGE_H
#define DEVICE_RDMA_QP_QP_IMAGE_H

#include "rdma/qp/qp.h"
#include "state/state.h"

/** qp_table_io() - save or load the table, after all other objects */
void qp_table_io(struct state *st, struct qp_table *qps);

/** qp_bursts_io() - save or load the bursts that programs have set, if any */
void qp_bursts_io(struct state *st, struct qp_table *qps);

/** qp_held_io() - save or load the completions that wait for a slot of their CQ */
void qp_held_io(struct state *st, struct qp_table *qps);

/** qp_given_back_io() - save or load the requests that QPs have given back to SRQs */
void qp_given_back_io(struct state *st, struct qp_table *qps);

/** qp_groups_io() - save or load which QPs are attached to which groups */
void qp_groups_io(struct state *st, struct qp_table *qps);

/** qp_rules_io() - save or load the flow rules */
void qp_rules_io(struct state *st, struct qp_table *qps);

/** qp_events_io() - save or load the events, of all objects, that wait for a buffer */
void qp_events_io(struct state *st, struct qp_table *qps);

/** qp_loaded() - all was loaded: QPs have their virtqueues */
void qp_loaded(struct qp_table *qps);

#endif /* DEVICE_RDMA_QP_QP_IMAGE_H */
