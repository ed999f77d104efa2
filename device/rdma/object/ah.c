// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains and address handles.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/object/ah.h"

const char *pd_create(struct rnic *rnic, uint32_t *pdn)
{
	struct pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return "out of memory";
	if (obj_add(&rnic->pds, pd, &pd->pdn)) {
		free(pd);
		return rnic_why(rnic, "all %u protection domains are in use (--pds)",
				rnic->limits.pds);
	}
	*pdn = pd->pdn;
	return NULL;
}

const char *pd_destroy(struct rnic *rnic, uint32_t pdn)
{
	struct pd *pd = pd_get(rnic, pdn);

	if (!pd)
		return "unknown protection domain";
	if (pd->refs)
		return "protection domain in use";
	obj_del(&rnic->pds, pdn);
	free(pd);
	return NULL;
}

const char *av_check(struct rnic *rnic, const struct virtio_rdma_ah_attr *av)
{
	static const uint8_t no_mac[sizeof(av->dmac)];

	if (gid_is_zero(av->grh.dgid))
		return "address vector without a destination GID";
	if (av->grh.sgid_index >= RNIC_GIDS)
		return "source GID index out of range";
	/* Inside this process nobody needs it, so it is worth a hint only. */
	if (!memcmp(av->dmac, no_mac, sizeof(no_mac)))
		log_debug("%s: address vector without a MAC address",
			  rnic->name);
	return NULL;
}

void av_decode(const struct virtio_rdma_ah_attr *av, struct pkt_av *to)
{
	*to = (struct pkt_av) {
		.tclass = av->grh.traffic_class,
		.hops = av->grh.hop_limit,
		.flow = le32toh(av->grh.flow_label),
	};
	memcpy(to->dmac, av->dmac, sizeof(to->dmac));
}

const char *ah_create(struct rnic *rnic, uint32_t pdn,
		      const struct virtio_rdma_ah_attr *av, uint32_t *handle)
{
	struct pd *pd = pd_get(rnic, pdn);
	const char *why;
	struct ah *ah;

	if (!pd)
		return "unknown protection domain";
	why = av_check(rnic, av);
	if (why)
		return why;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return "out of memory";
	if (obj_add(&rnic->ahs, ah, &ah->handle)) {
		free(ah);
		return rnic_why(rnic, "all %u address handles are in use (--ahs)",
				rnic->limits.ahs);
	}
	ah->pd = pd;
	ah->sgid_index = av->grh.sgid_index;
	memcpy(ah->dgid, av->grh.dgid, GID_SIZE);
	av_decode(av, &ah->av);
	pd->refs++;
	*handle = ah->handle;
	return NULL;
}

static void ah_free(struct rnic *rnic, struct ah *ah)
{
	ah->pd->refs--;
	obj_del(&rnic->ahs, ah->handle);
	free(ah);
}

const char *ah_destroy(struct rnic *rnic, uint32_t pdn, uint32_t handle)
{
	struct ah *ah = obj_get(&rnic->ahs, handle);

	if (!ah)
		return "unknown address handle";
	if (ah->pd->pdn != pdn)
		return "address handle of another protection domain";
	ah_free(rnic, ah);
	return NULL;
}

const struct ah *ah_get(const struct rnic *rnic, const struct pd *pd,
			uint32_t handle)
{
	const struct ah *ah = obj_get(&rnic->ahs, handle);

	return ah && ah->pd == pd ? ah : NULL;
}

void pd_ah_free_all(struct rnic *rnic)
{
	struct ah *ah;
	struct pd *pd;
	uint32_t i;

	for (i = 0; rnic->ahs.used && i < rnic->ahs.max; i++) {
		ah = obj_at(&rnic->ahs, i);
		if (ah)
			ah_free(rnic, ah);
	}
	for (i = 0; rnic->pds.used && i < rnic->pds.max; i++) {
		pd = obj_at(&rnic->pds, i);
		if (pd)
			pd_destroy(rnic, pd->pdn);
	}
}
