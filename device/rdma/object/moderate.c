// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Moderation: the event of a CQ waits for more completions.
 *
 * The first completion that an arming asks for starts a timer.  The event is raised when there
 * are enough completions, or when the timer expires.  An arming with another number
 * begins anew: its driver looks for what is there already.
 */
#include "rdma/object/moderate.h"

#define NS_PER_US	1000ULL

/* How often it is tried to raise what cannot be raised, in ns. */
#define AGAIN		(10 * 1000 * 1000ULL)

bool moderate_set(struct moderate *mod, struct rnic_ctx *ctx, uint16_t count, uint16_t period)
{
	const bool waits = mod->waits;

	moderate_stop(mod, ctx);
	mod->count = count;
	mod->period = period;
	return waits;
}

bool moderate_holds(struct moderate *mod, struct rnic_ctx *ctx, uint32_t arming)
{
	if (!mod->period)
		return false;
	if (!mod->waits || mod->arming != arming) {
		mod->waits = true;
		mod->arming = arming;
		mod->seen = 0;
		loop_timer_set(ctx->loop, &mod->timer, mod->period * NS_PER_US);
	}
	if (!mod->count || ++mod->seen < mod->count)
		return true;
	moderate_stop(mod, ctx);
	return false;
}

void moderate_again(struct moderate *mod, struct rnic_ctx *ctx)
{
	loop_timer_set(ctx->loop, &mod->timer, AGAIN);
}

void moderate_stop(struct moderate *mod, struct rnic_ctx *ctx)
{
	mod->waits = false;
	loop_timer_cancel(ctx->loop, &mod->timer);
}

void moderate_io(struct state *st, struct moderate *mod, const struct rnic_ctx *ctx)
{
	state_u16(st, "count", &mod->count, UINT16_MAX);
	state_u16(st, "period", &mod->period, UINT16_MAX);
	state_bool(st, "waits", &mod->waits);
	state_u32(st, "arming", &mod->arming, UINT32_MAX);
	state_u32(st, "seen", &mod->seen, UINT16_MAX);
	state_need(st, mod->period, "period", "there is none");
	rnic_timer_io(st, "timer", ctx, &mod->timer);
	state_need(st, mod->waits == !!mod->timer.due, "timer",
		   "an event waits without end, or none does");
}
