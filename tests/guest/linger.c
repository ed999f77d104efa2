// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * linger: a library that lets the program that it is loaded into, by LD_PRELOAD, wait before it
 * destroys the first QP that is connected, for as many seconds as the environment's LINGER says.
 *
 * The last message of a program that ends at once may be lost with libfabric's ofi_rxm: its peer
 * hears that the connection has ended, destroys its QP, and drops what it has not polled.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ibv_destroy_qp(struct ibv_qp *qp)
{
	static int (*destroy)(struct ibv_qp *);
	static bool waited;

	if (!destroy)
		*(void **)&destroy = dlsym(RTLD_NEXT, "ibv_destroy_qp");
	if (!waited && qp->state == IBV_QPS_RTS) {
		const char *seconds = getenv("LINGER");

		waited = true;
		fprintf(stderr, "waits for %s s before it ends\n", seconds);
		sleep(atoi(seconds));
	}
	return destroy(qp);
}
