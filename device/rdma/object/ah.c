// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address vectors, and address handles.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/object/ah.h"

const char *av_check(const struct rnic_ctx *ctx,
		     const struct virtio_rdma_ah_attr *av)
{
	static const uint8_t no_mac[sizeof(av->dmac)];

	if (gid_is_zero(av->grh.dgid))
		return "address vector without a destination GID";
	if (av->grh.sgid_index >= RNIC_GIDS)
		return "source GID index out of range";
	/* Packets between NICs of this process do not need one. */
	if (!memcmp(av->dmac, no_mac, sizeof(no_mac)))
		log_debug("%s: address vector without a MAC address",
			  ctx->name);
	return NULL;
}

/* Of the service level the lower three bits are the priority. */
#define AV_PRIORITY	7

void av_decode(const struct virtio_rdma_ah_attr *av, struct pkt_av *to)
{
	*to = (struct pkt_av) {
		.tclass = av->grh.traffic_class,
		.hops = av->grh.hop_limit,
		.flow = le32toh(av->grh.flow_label),
		.priority = av->sl & AV_PRIORITY,
	};
	memcpy(to->dmac, av->dmac, sizeof(to->dmac));
}

int ah_table_init(struct ah_table *ahs, struct rnic_ctx *ctx,
		  struct pd_table *pds)
{
	ahs->ctx = ctx;
	ahs->pds = pds;
	return obj_table_init(&ahs->objs, ctx->limits.ahs);
}

static void ah_free(struct ah_table *ahs, struct ah *ah)
{
	ah->pd->refs--;
	obj_del(&ahs->objs, ah->handle);
	free(ah);
}

bool ah_table_reset(struct ah_table *ahs, struct portion *portion)
{
	struct ah *ah;

	while (ahs->objs.used && portion_next(portion, ahs->objs.max)) {
		ah = obj_at(&ahs->objs, portion->at++);
		if (!ah)
			continue;
		ah_free(ahs, ah);
		portion->left -= PORTION_OBJECT;
	}
	return !ahs->objs.used;
}

void ah_table_fini(struct ah_table *ahs)
{
	obj_table_fini(&ahs->objs);
}

const char *ah_create(struct ah_table *ahs, uint32_t pdn,
		      const struct virtio_rdma_ah_attr *av, uint32_t *handle)
{
	struct pd *pd = pd_get(ahs->pds, pdn);
	const char *why;
	struct ah *ah;

	if (!pd)
		return "unknown protection domain";
	why = av_check(ahs->ctx, av);
	if (why)
		return why;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return "out of memory";
	if (obj_add(&ahs->objs, ah, &ah->handle)) {
		free(ah);
		return rnic_why(ahs->ctx,
				"all %u address handles are in use (--ahs)",
				ahs->ctx->limits.ahs);
	}
	ah->pd = pd;
	ah->sgid_index = av->grh.sgid_index;
	memcpy(ah->dgid, av->grh.dgid, GID_SIZE);
	av_decode(av, &ah->av);
	pd->refs++;
	*handle = ah->handle;
	return NULL;
}

const char *ah_destroy(struct ah_table *ahs, uint32_t pdn, uint32_t handle)
{
	struct ah *ah = obj_get(&ahs->objs, handle);

	if (!ah)
		return "unknown address handle";
	if (ah->pd->pdn != pdn)
		return "address handle of another protection domain";
	ah_free(ahs, ah);
	return NULL;
}

const struct ah *ah_get(const struct ah_table *ahs, const struct pd *pd,
			uint32_t handle)
{
	const struct ah *ah = obj_get(&ahs->objs, handle);

	return ah && ah->pd == pd ? ah : NULL;
}

/* Bytes of one in a state. */
#define AH_STATE_SIZE	37u

static void ah_io(struct state *st, struct ah_table *ahs, struct ah *ah)
{
	uint32_t pdn = ah->pd ? ah->pd->pdn : 0;

	state_u32(st, "handle", &ah->handle, UINT32_MAX);
	state_u32(st, "pdn", &pdn, UINT32_MAX);
	state_u8(st, "sgid_index", &ah->sgid_index, RNIC_GIDS - 1);
	state_bytes(st, "dgid", ah->dgid, GID_SIZE);
	state_u8(st, "traffic_class", &ah->av.tclass, UINT8_MAX);
	state_u8(st, "hop_limit", &ah->av.hops, UINT8_MAX);
	state_u8(st, "priority", &ah->av.priority, AV_PRIORITY);
	state_u32(st, "flow_label", &ah->av.flow, UINT32_MAX);
	state_bytes(st, "dmac", ah->av.dmac, sizeof(ah->av.dmac));
	if (!st->loading)
		return;
	ah->pd = pd_get(ahs->pds, pdn);
	state_need(st, ah->pd, "pdn", "no such protection domain");
	state_need(st, !gid_is_zero(ah->dgid), "dgid", "it is zero");
	if (!st->failed && !obj_put(&ahs->objs, ah->handle, ah))
		state_refuse(st, "handle", "it is free, or another one's");
}

void ah_table_io(struct state *st, struct ah_table *ahs)
{
	uint32_t i, at = 0, n = ahs->objs.used;
	struct ah *ah;

	obj_table_io(st, &ahs->objs);
	state_count(st, "handles", &n, ahs->objs.max, AH_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++) {
		ah = st->loading ? calloc(1, sizeof(*ah)) : obj_next(&ahs->objs, &at);
		if (!state_need(st, ah, "handles", "out of memory"))
			return;
		ah_io(st, ahs, ah);
		if (st->loading && st->failed)
			free(ah);
		else if (st->loading)
			ah->pd->refs++;
	}
	obj_table_io_end(st, &ahs->objs);
}
