/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Address vectors, and address handles.
 */
#ifndef DEVICE_RDMA_OBJECT_AH_H
#define DEVICE_RDMA_OBJECT_AH_H

#include <stdint.h>

#include "packet/gid.h"
#include "packet/pkt.h"
#include "rdma/object/ctx.h"
#include "rdma/object/pd.h"

/**
 * struct ah - address handle
 * @handle:	its handle
 * @pd:		protection domain
 * @sgid_index:	source GID, an index of the GID table
 * @dgid:	destination GID
 * @av:		the rest of its address vector
 */
struct ah {
	uint32_t handle;
	struct pd *pd;
	uint8_t sgid_index;
	uint8_t dgid[GID_SIZE];
	struct pkt_av av;
};

/**
 * struct ah_table - the address handles of a NIC
 * @ctx:	the NIC's context
 * @pds:	its protection domains
 * @objs:	&struct ah by handle
 */
struct ah_table {
	struct rnic_ctx *ctx;
	struct pd_table *pds;
	struct obj_table objs;
};

/** ah_table_init() - make an empty table; returns 0 or a negative error */
int ah_table_init(struct ah_table *ahs, struct rnic_ctx *ctx,
		  struct pd_table *pds);

/** ah_table_reset() - drop address handles; true if none is left */
bool ah_table_reset(struct ah_table *ahs, struct portion *portion);

/** ah_table_fini() - free a table without address handles */
void ah_table_fini(struct ah_table *ahs);

/** ah_create() - make an address handle; returns NULL, or why it failed */
const char *ah_create(struct ah_table *ahs, uint32_t pdn,
		      const struct virtio_rdma_ah_attr *av, uint32_t *handle);

/** ah_destroy() - destroy one of a protection domain; returns NULL, or why not */
const char *ah_destroy(struct ah_table *ahs, uint32_t pdn, uint32_t handle);

/** ah_get() - address handle by handle, or NULL unless it belongs to @pd */
const struct ah *ah_get(const struct ah_table *ahs, const struct pd *pd,
			uint32_t handle);

/** av_check() - can an address vector lead anywhere?  NULL, or why not */
const char *av_check(const struct rnic_ctx *ctx,
		     const struct virtio_rdma_ah_attr *av);

/** av_decode() - what an address vector says for the headers of packets */
void av_decode(const struct virtio_rdma_ah_attr *av, struct pkt_av *to);

/** ah_table_io() - save or load the table, after protection domains */
void ah_table_io(struct state *st, struct ah_table *ahs);

#endif /* DEVICE_RDMA_OBJECT_AH_H */
