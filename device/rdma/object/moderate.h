/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Moderation: the event of a CQ waits for more completions.
 */
#ifndef DEVICE_RDMA_OBJECT_MODERATE_H
#define DEVICE_RDMA_OBJECT_MODERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/object/ctx.h"

/**
 * struct moderate - how long the event of a CQ waits, and for what
 * @count:	completions that end the wait, 0: none end it
 * @period:	us after the first of them that it ends; 0: there is no wait
 * @waits:	an event waits
 * @arming:	number of the arming that it answers
 * @seen:	with @count: completions so far
 * @timer:	ends the wait; its function is the CQ's
 */
struct moderate {
	uint16_t count;
	uint16_t period;
	bool waits;
	uint32_t arming;
	uint32_t seen;
	struct loop_timer timer;
};

/** moderate_set() - change how long; what waits now does so no longer: raise it */
bool moderate_set(struct moderate *mod, struct rnic_ctx *ctx, uint16_t count, uint16_t period);

/**
 * moderate_holds() - a completion was stored that an arming asks for
 * @mod:	of its CQ
 * @ctx:	of the NIC
 * @arming:	number of the arming
 *
 * Return: true if its event waits, false if it is to be raised now.
 */
bool moderate_holds(struct moderate *mod, struct rnic_ctx *ctx, uint32_t arming);

/** moderate_again() - the wait is over, but nothing can be raised now: try again */
void moderate_again(struct moderate *mod, struct rnic_ctx *ctx);

/** moderate_stop() - nothing waits any more */
void moderate_stop(struct moderate *mod, struct rnic_ctx *ctx);

/** moderate_io() - save or load it, also a wait */
void moderate_io(struct state *st, struct moderate *mod, const struct rnic_ctx *ctx);

/* Bytes of it in a state. */
#define MODERATE_STATE_SIZE	(2u + 2 + 1 + 4 + 4 + 8)

#endif /* DEVICE_RDMA_OBJECT_MODERATE_H */
