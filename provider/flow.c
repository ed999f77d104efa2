// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow rules.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "virtio_roce.h"

/**
 * struct virtio_roce_flow - a flow rule
 * @flow: of libibverbs
 * @qp: QP that gets its frames, which cannot be destroyed before
 * @counters: counters that it has, or NULL
 */
struct virtio_roce_flow {
	struct ibv_flow flow;
	struct virtio_roce_qp *qp;
	struct ibv_counters *counters;
};

/* Specs stand behind each other, aligned or not.  The kernel looks at all of them. */
static struct ibv_counters *flow_counters(const struct ibv_flow_attr *attr)
{
	const char *at = (const char *)(attr + 1);
	struct ibv_flow_spec_counter_action spec;
	unsigned int i;

	for (i = 0; i < attr->num_of_specs; i++) {
		memcpy(&spec, at, offsetof(struct ibv_flow_spec_counter_action, counters));
		if (spec.type == IBV_FLOW_SPEC_ACTION_COUNT && spec.size == sizeof(spec)) {
			memcpy(&spec, at, sizeof(spec));
			return spec.counters;
		}
		at += spec.size;
	}
	return NULL;
}

struct ibv_flow *virtio_roce_create_flow(struct ibv_qp *ibqp,
					 struct ibv_flow_attr *attr)
{
	struct virtio_roce_qp *qp = to_vqp(ibqp);
	struct virtio_roce_flow *flow;
	int err;

	if (qp_is_parents(qp)) {
		errno = EFAULT;
		return NULL;
	}
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;

	flow->qp = qp;
	flow->counters = flow_counters(attr);
	virtio_roce_counters_use(flow->counters, 1);
	__atomic_fetch_add(&qp->holds, 1, __ATOMIC_RELAXED);
	err = ibv_cmd_create_flow(ibqp, &flow->flow, attr, NULL, 0);
	if (err) {
		virtio_roce_counters_use(flow->counters, -1);
		__atomic_fetch_sub(&qp->holds, 1, __ATOMIC_RELAXED);
		free(flow);
		errno = err;
		return NULL;
	}

	return &flow->flow;
}

int virtio_roce_destroy_flow(struct ibv_flow *ibflow)
{
	struct virtio_roce_flow *flow = container_of(ibflow, struct virtio_roce_flow, flow);
	int err;

	err = ibv_cmd_destroy_flow(ibflow);
	if (err)
		return err;

	virtio_roce_counters_use(flow->counters, -1);
	__atomic_fetch_sub(&flow->qp->holds, 1, __ATOMIC_RELAXED);
	free(flow);
	return 0;
}
