// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The part of a NIC that all others share.
 */
#include <stdarg.h>
#include <stdio.h>

#include "rdma/object/ctx.h"

const char *rnic_why(struct rnic_ctx *ctx, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(ctx->why, sizeof(ctx->why), fmt, args);
	va_end(args);
	return ctx->why;
}

void rnic_timer_io(struct state *st, const char *field, const struct rnic_ctx *ctx,
		   struct loop_timer *timer)
{
	const uint64_t now = loop_now(ctx->loop);
	uint64_t due = timer->due;

	state_time(st, field, &due, now);
	if (st->loading && due)
		loop_timer_set(ctx->loop, timer, due > now ? due - now : 0);
}

/* Those that are 0 are left out. */
void rnic_counters_io(struct state *st, uint64_t *counter)
{
	const uint64_t known = (1ull << VIRTIO_RDMA_CNT_NUM) - 1;
	uint64_t mask = 0;
	unsigned int i;

	for (i = 0; !st->loading && i < VIRTIO_RDMA_CNT_NUM; i++)
		mask |= counter[i] ? 1ull << i : 0;
	state_u64(st, "counters", &mask, known);
	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		if (mask >> i & 1)
			state_u64(st, "counter", &counter[i], UINT64_MAX);
}
