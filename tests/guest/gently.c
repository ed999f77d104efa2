// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * gently: a library that makes the program that it is loaded into, by LD_PRELOAD, pause each time
 * before it waits for a completion event.  So a ping-pong that shows that others are well
 * leaves them the processors.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#define PAUSE_US	5000

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	static int (*wait_for)(struct ibv_comp_channel *, struct ibv_cq **, void **);

	if (!wait_for)
		*(void **)&wait_for = dlsym(RTLD_NEXT, "ibv_get_cq_event");
	usleep(PAUSE_US);
	return wait_for(channel, cq, cq_context);
}
