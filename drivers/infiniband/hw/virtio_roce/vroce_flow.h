/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow rules: verbs.
 */
#ifndef _VROCE_FLOW_H
#define _VROCE_FLOW_H

#include "vroce_cmd_flow.h"
#include "vroce_types.h"

/**
 * struct vroce_flow_counters - counters of flow rules
 * @ibcounters: as the core knows them
 * @lock: guards the following
 * @flows: rules that count here
 * @gone: counted by rules that are gone
 */
struct vroce_flow_counters {
	struct ib_counters ibcounters;
	struct mutex lock;	/* flows, gone */
	struct list_head flows;
	struct vroce_flow_counts gone;
};

/**
 * struct vroce_flow_extra - what a rule does besides
 * @tag: for the completions of its frames
 * @counters: of the core, or NULL
 */
struct vroce_flow_extra {
	u32 tag;
	struct ib_counters *counters;
};

int vroce_flow_compile(const struct ib_flow_attr *attr,
		       struct virtio_rdma_cmd_create_flow *req,
		       struct vroce_flow_extra *extra);
int vroce_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs);
int vroce_destroy_counters(struct ib_counters *ibcounters);
int vroce_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
			struct uverbs_attr_bundle *attrs);
struct ib_flow *vroce_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				  struct ib_udata *udata);
int vroce_destroy_flow(struct ib_flow *ibflow);

#endif /* _VROCE_FLOW_H */
