/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * XRC domains: which XRC SRQs the messages to an XRC_TGT QP may name.
 */
#ifndef DEVICE_RDMA_OBJECT_XRCD_H
#define DEVICE_RDMA_OBJECT_XRCD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdma/object/ctx.h"
#include "rdma/object/obj.h"

struct srq;

LIST_HEAD(xrcd_user_list, xrcd_user);

/**
 * struct xrcd_user - an XRC_TGT QP, as its domain sees it
 * @forget:	an SRQ goes: what was taken from it is gone, too
 * @arg:	for @forget
 * @holds:	its last message named an SRQ, which knows it by @holder
 * @holder:	of that SRQ
 * @entry:	of the domain
 */
struct xrcd_user {
	void (*forget)(void *arg, const struct srq *srq);
	void *arg;
	bool holds;
	LIST_ENTRY(xrcd_user) holder;
	LIST_ENTRY(xrcd_user) entry;
};

/**
 * struct xrcd - XRC domain
 * @handle:	of the domain
 * @srqs:	number of SRQs in it
 * @users:	XRC_TGT QPs in it
 */
struct xrcd {
	uint32_t handle;
	uint32_t srqs;
	struct xrcd_user_list users;
};

/**
 * struct xrcd_table - the XRC domains of a NIC
 * @ctx:	the NIC's context
 * @objs:	&struct xrcd by handle
 */
struct xrcd_table {
	struct rnic_ctx *ctx;
	struct obj_table objs;
};

/** xrcd_table_init() - make an empty table; returns 0 or a negative error */
int xrcd_table_init(struct xrcd_table *xrcds, struct rnic_ctx *ctx);

/** xrcd_table_reset() - destroy some, after all that is in them; true if none is left */
bool xrcd_table_reset(struct xrcd_table *xrcds, struct portion *portion);

/** xrcd_table_fini() - free a table without XRC domains, or one that is all zeroes */
void xrcd_table_fini(struct xrcd_table *xrcds);

/** xrcd_create() - make an XRC domain; returns NULL, or why it failed */
const char *xrcd_create(struct xrcd_table *xrcds, uint32_t *handle);

/** xrcd_destroy() - destroy one that nothing is in; returns NULL, or why not */
const char *xrcd_destroy(struct xrcd_table *xrcds, uint32_t handle);

/** xrcd_get() - XRC domain by handle, or NULL */
static inline struct xrcd *xrcd_get(const struct xrcd_table *xrcds, uint32_t handle)
{
	return obj_get(&xrcds->objs, handle);
}

/** xrcd_attach() - a QP belongs to a domain */
void xrcd_attach(struct xrcd *xrcd, struct xrcd_user *user);

/** xrcd_detach() - it does not any more */
void xrcd_detach(struct xrcd_user *user);

/** xrcd_table_io() - save or load the table */
void xrcd_table_io(struct state *st, struct xrcd_table *xrcds);

#endif /* DEVICE_RDMA_OBJECT_XRCD_H */
