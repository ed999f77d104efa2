// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * outlast: a library that gives the QPs of the program that it is loaded into, by LD_PRELOAD, an
 * ACK timeout of 2.1 s in the place of the 67 ms that libibverbs' ping-pongs ask for.  A QP
 * gives up after some eight of them, and a guest of a busy machine may stand still for longer
 * than half a second.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>

#define TIMEOUT		19

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	static int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int);
	struct ibv_qp_attr longer = *attr;

	if (!modify)
		*(void **)&modify = dlsym(RTLD_NEXT, "ibv_modify_qp");
	if (mask & IBV_QP_TIMEOUT)
		longer.timeout = TIMEOUT;
	return modify(qp, &longer, mask);
}
