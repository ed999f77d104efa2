// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains and address handles.
 */
#include <string.h>
#include <stdlib.h>

#include "rdma/object/ah.h"

const char *pd_create(struct nic *nic, uint32_t *pdn)
{
	struct pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return "out of memory";
	if (obj_add(&nic->pds, pd, &pd->pdn)) {
		free(pd);
		return "no free protection domain";
	}
	*pdn = pd->pdn;
	return NULL;
}

const char *pd_destroy(struct nic *nic, uint32_t pdn)
{
	struct pd *pd = pd_get(nic, pdn);

	if (!pd)
		return "unknown protection domain";
	if (pd->refs)
		return "protection domain in use";
	obj_del(&nic->pds, pdn);
	free(pd);
	return NULL;
}

const char *av_check(struct nic *nic, const struct virtio_rdma_ah_attr *av)
{
	static const uint8_t zero[GID_SIZE];
	static const uint8_t no_mac[sizeof(av->dmac)];

	if (gid_equal(av->grh.dgid, zero))
		return "address vector without a destination GID";
	if (av->grh.sgid_index >= NIC_GIDS)
		return "source GID index out of range";
	/* Inside this process nobody needs it, so it is worth a hint only. */
	if (!memcmp(av->dmac, no_mac, sizeof(no_mac)))
		log_debug("%s: address vector without a MAC address",
			  nic->name);
	return NULL;
}

const char *ah_create(struct nic *nic, uint32_t pdn,
		      const struct virtio_rdma_ah_attr *av, uint32_t *handle)
{
	struct pd *pd = pd_get(nic, pdn);
	const char *why;
	struct ah *ah;

	if (!pd)
		return "unknown protection domain";
	why = av_check(nic, av);
	if (why)
		return why;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return "out of memory";
	if (obj_add(&nic->ahs, ah, &ah->handle)) {
		free(ah);
		return "no free address handle";
	}
	ah->pd = pd;
	ah->av = *av;
	pd->refs++;
	*handle = ah->handle;
	return NULL;
}

static void ah_free(struct nic *nic, struct ah *ah)
{
	ah->pd->refs--;
	obj_del(&nic->ahs, ah->handle);
	free(ah);
}

const char *ah_destroy(struct nic *nic, uint32_t pdn, uint32_t handle)
{
	struct ah *ah = obj_get(&nic->ahs, handle);

	if (!ah)
		return "unknown address handle";
	if (ah->pd->pdn != pdn)
		return "address handle of another protection domain";
	ah_free(nic, ah);
	return NULL;
}

const struct ah *ah_get(const struct nic *nic, const struct pd *pd,
			uint32_t handle)
{
	const struct ah *ah = obj_get(&nic->ahs, handle);

	return ah && ah->pd == pd ? ah : NULL;
}

void pd_ah_free_all(struct nic *nic)
{
	struct ah *ah;
	struct pd *pd;
	uint32_t i;

	for (i = 0; nic->ahs.used && i < nic->ahs.max; i++) {
		ah = obj_at(&nic->ahs, i);
		if (ah)
			ah_free(nic, ah);
	}
	for (i = 0; nic->pds.used && i < nic->pds.max; i++) {
		pd = obj_at(&nic->pds, i);
		if (pd)
			pd_destroy(nic, pd->pdn);
	}
}
