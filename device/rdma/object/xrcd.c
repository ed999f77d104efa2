// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains.
 */
#include <stdlib.h>

#include "rdma/object/xrcd.h"

int xrcd_table_init(struct xrcd_table *xrcds, struct rnic_ctx *ctx)
{
	xrcds->ctx = ctx;
	return obj_table_init(&xrcds->objs, RNIC_XRCDS_MAX);
}

void xrcd_table_fini(struct xrcd_table *xrcds)
{
	obj_table_fini(&xrcds->objs);
}

bool xrcd_table_reset(struct xrcd_table *xrcds, struct portion *portion)
{
	struct xrcd *xrcd;

	while (xrcds->objs.used && portion_next(portion, xrcds->objs.max)) {
		xrcd = obj_at(&xrcds->objs, portion->at++);
		if (!xrcd)
			continue;
		xrcd_destroy(xrcds, xrcd->handle);
		portion->left -= PORTION_OBJECT;
	}
	return !xrcds->objs.used;
}

const char *xrcd_create(struct xrcd_table *xrcds, uint32_t *handle)
{
	struct xrcd *xrcd;

	if (!rnic_has_direct(xrcds->ctx))
		return "unknown command";
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return "out of memory";
	if (obj_add(&xrcds->objs, xrcd, &xrcd->handle)) {
		free(xrcd);
		return rnic_why(xrcds->ctx, "all %u XRC domains are in use",
				RNIC_XRCDS_MAX);
	}
	*handle = xrcd->handle;
	return NULL;
}

const char *xrcd_destroy(struct xrcd_table *xrcds, uint32_t handle)
{
	struct xrcd *xrcd = xrcd_get(xrcds, handle);

	if (!xrcd)
		return "unknown XRC domain";
	if (xrcd->srqs || !LIST_EMPTY(&xrcd->users))
		return "XRC domain in use";
	obj_del(&xrcds->objs, handle);
	free(xrcd);
	return NULL;
}

void xrcd_attach(struct xrcd *xrcd, struct xrcd_user *user)
{
	LIST_INSERT_HEAD(&xrcd->users, user, entry);
}

void xrcd_detach(struct xrcd_user *user)
{
	LIST_REMOVE(user, entry);
}

void xrcd_table_io(struct state *st, struct xrcd_table *xrcds)
{
	uint32_t i, at = 0, n = xrcds->objs.used;
	struct xrcd *xrcd;

	obj_table_io(st, &xrcds->objs);
	state_count(st, "domains", &n, xrcds->objs.max, sizeof(xrcd->handle));
	for (i = 0; i < n && !st->failed; i++) {
		xrcd = st->loading ? calloc(1, sizeof(*xrcd)) : obj_next(&xrcds->objs, &at);
		if (!state_need(st, xrcd, "domains", "out of memory"))
			return;
		state_u32(st, "handle", &xrcd->handle, UINT32_MAX);
		if (!st->loading || (!st->failed && obj_put(&xrcds->objs, xrcd->handle, xrcd)))
			continue;
		free(xrcd);
		state_refuse(st, "handle", "it is free, or another one's");
	}
	obj_table_io_end(st, &xrcds->objs);
}
