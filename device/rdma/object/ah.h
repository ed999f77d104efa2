/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection domains and address handles.
 */
#ifndef DEVICE_AH_H
#define DEVICE_AH_H

#include <stdint.h>

#include "rdma/rnic_priv.h"

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

/* Each of the following returns NULL, or why it failed. */

/** pd_create() - make a protection domain */
const char *pd_create(struct rnic *rnic, uint32_t *pdn);

/** pd_destroy() - destroy a protection domain that nothing belongs to */
const char *pd_destroy(struct rnic *rnic, uint32_t pdn);

/** ah_create() - make an address handle */
const char *ah_create(struct rnic *rnic, uint32_t pdn,
		      const struct virtio_rdma_ah_attr *av, uint32_t *handle);

/** ah_destroy() - destroy an address handle of a protection domain */
const char *ah_destroy(struct rnic *rnic, uint32_t pdn, uint32_t handle);

/** av_check() - can an address vector lead anywhere? */
const char *av_check(struct rnic *rnic, const struct virtio_rdma_ah_attr *av);

/** av_decode() - what an address vector says for the headers of packets */
void av_decode(const struct virtio_rdma_ah_attr *av, struct pkt_av *to);

/** pd_ah_free_all() - drop all of a NIC, after all that refers to them */
void pd_ah_free_all(struct rnic *rnic);

/** pd_get() - protection domain by handle, or NULL */
static inline struct pd *pd_get(const struct rnic *rnic, uint32_t pdn)
{
	return obj_get(&rnic->pds, pdn);
}

/** ah_get() - address handle by handle, or NULL unless it belongs to @pd */
const struct ah *ah_get(const struct rnic *rnic, const struct pd *pd,
			uint32_t handle);

#endif /* DEVICE_AH_H */
