/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow rules: verbs.
 */
#ifndef _VROCE_FLOW_H
#define _VROCE_FLOW_H

#include "vroce_types.h"

int vroce_flow_compile(const struct ib_flow_attr *attr,
		       struct virtio_rdma_cmd_create_flow *req);
struct ib_flow *vroce_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				  struct ib_udata *udata);
int vroce_destroy_flow(struct ib_flow *ibflow);

#endif /* _VROCE_FLOW_H */
