// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What all parts of one NIC share.
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
