/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection domains.
 */
#ifndef DEVICE_RDMA_OBJECT_PD_H
#define DEVICE_RDMA_OBJECT_PD_H

#include <stdint.h>

#include "rdma/object/ctx.h"
#include "rdma/object/obj.h"

/**
 * struct pd - protection domain
 * @pdn:	its handle
 * @refs:	QPs, memory regions and address handles in it
 */
struct pd {
	uint32_t pdn;
	uint32_t refs;
};

/**
 * struct pd_table - the protection domains of a NIC
 * @ctx:	the NIC's context
 * @objs:	&struct pd by handle
 */
struct pd_table {
	struct rnic_ctx *ctx;
	struct obj_table objs;
};

/** pd_table_init() - make an empty table; returns 0 or a negative error */
int pd_table_init(struct pd_table *pds, struct rnic_ctx *ctx);

/** pd_table_reset() - drop some, after all that refers to them; true if none is left */
bool pd_table_reset(struct pd_table *pds, struct portion *portion);

/** pd_table_fini() - free a table without protection domains */
void pd_table_fini(struct pd_table *pds);

/** pd_create() - make a protection domain; returns NULL, or why it failed */
const char *pd_create(struct pd_table *pds, uint32_t *pdn);

/** pd_destroy() - destroy one that nothing belongs to; returns NULL, or why not */
const char *pd_destroy(struct pd_table *pds, uint32_t pdn);

/** pd_get() - protection domain by handle, or NULL */
static inline struct pd *pd_get(const struct pd_table *pds, uint32_t pdn)
{
	return obj_get(&pds->objs, pdn);
}

/** pd_table_io() - save or load the table */
void pd_table_io(struct state *st, struct pd_table *pds);

#endif /* DEVICE_RDMA_OBJECT_PD_H */
