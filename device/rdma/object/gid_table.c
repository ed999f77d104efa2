// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The GID table of a NIC.
 */
#include <string.h>

#include "rdma/object/gid_table.h"

_Static_assert(PKT_VLAN_TAGGED == VIRTIO_RDMA_GID_TAGGED,
	       "VLANs of packets are not those of the GID table");

void gid_table_init(struct gid_table *gids, struct fabric_end *end)
{
	*gids = (struct gid_table) { .end = end };
}

bool gid_vlan_ok(uint16_t vlan)
{
	uint16_t number = vlan & VIRTIO_RDMA_GID_VLAN_MASK;

	return !vlan || (vlan == (VIRTIO_RDMA_GID_TAGGED | number) && number &&
			 number != VIRTIO_RDMA_GID_VLAN_MASK);
}

const char *gid_add(struct gid_table *gids, uint32_t index, const uint8_t *raw,
		    uint16_t vlan)
{
	const struct gid *other;
	struct gid *gid;

	if (index >= RNIC_GIDS)
		return "no such entry";
	if (!gid_is_unicast(raw))
		return "not a unicast GID";
	if (!gid_vlan_ok(vlan))
		return "no such VLAN";
	if (gids->may && !gids->may(gids->arg, raw))
		return "not among the addresses of gid= of its --socket";

	gid = &gids->gid[index];
	if (gid->used && gid->vlan == vlan && gid_equal(gid->raw, raw))
		return NULL;
	if (gid->used)
		gid_del(gids, index);

	other = fabric_find(gids->end->fabric, raw, vlan);
	if (other && other->end != gids->end)
		rnic_warn(gids->end->ctx, "GID %u belongs to %s already", index,
			  other->end->ctx->name);

	memcpy(gid->raw, raw, GID_SIZE);
	gid->vlan = vlan;
	gid->end = gids->end;
	gid->used = true;
	if (!gids->away)
		fabric_add(gid);
	return NULL;
}

const char *gid_del(struct gid_table *gids, uint32_t index)
{
	struct gid *gid;

	if (index >= RNIC_GIDS)
		return "no such entry";
	gid = &gids->gid[index];
	if (!gid->used)
		return "entry holds no GID";
	if (!gids->away)
		fabric_del(gid);
	*gid = (struct gid) {};
	return NULL;
}

void gid_table_reset(struct gid_table *gids)
{
	uint32_t i;

	for (i = 0; i < RNIC_GIDS; i++)
		if (gids->gid[i].used)
			gid_del(gids, i);
}

/* An entry that leads here again stands where it stood. */
void gid_table_set_away(struct gid_table *gids, bool away)
{
	uint32_t i;

	if (gids->away == away)
		return;
	gids->away = away;
	for (i = 0; i < RNIC_GIDS; i++)
		if (gids->gid[i].used && away)
			fabric_del(&gids->gid[i]);
		else if (gids->gid[i].used)
			fabric_add(&gids->gid[i]);
}

const struct gid *gid_get(const struct gid_table *gids, uint32_t index)
{
	if (index >= RNIC_GIDS || !gids->gid[index].used)
		return NULL;
	return &gids->gid[index];
}

bool gid_has_vlan(const struct gid_table *gids, uint16_t vlan)
{
	uint32_t i;

	for (i = 0; i < RNIC_GIDS; i++)
		if (gids->gid[i].used && gids->gid[i].vlan == vlan)
			return true;
	return false;
}

/* Bytes of an entry in a state. */
#define GID_STATE_SIZE	30u

/* Its place counts only among those that came to the same process. */
static void gid_load(struct state *st, struct gid_table *gids, uint32_t index,
		     const struct gid *from)
{
	struct gid *gid = &gids->gid[index];

	if (!state_need(st, !gid->used, "index", "an entry occurs twice") ||
	    !state_need(st, gid_is_unicast(from->raw), "gid", "it is not unicast") ||
	    !state_need(st, gid_vlan_ok(from->vlan), "vlan", "there is no such VLAN") ||
	    !state_need(st, !gids->may || gids->may(gids->arg, from->raw), "gid",
			"not among the addresses of gid= of its --socket"))
		return;
	*gid = *from;
	gid->used = true;
	gid->end = gids->end;
	if (!st->handed_over)
		gid->place = 0;
	if (!gids->away)
		fabric_add(gid);
}

void gid_table_io(struct state *st, struct gid_table *gids)
{
	uint32_t i, index = 0, n = 0;
	struct gid gid;

	for (i = 0; i < RNIC_GIDS; i++)
		n += gids->gid[i].used;
	state_count(st, "gids", &n, RNIC_GIDS, GID_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++, index++) {
		while (!st->loading && !gids->gid[index].used)
			index++;
		memset(&gid, 0, sizeof(gid));
		if (!st->loading)
			gid = gids->gid[index];
		state_u32(st, "index", &index, RNIC_GIDS - 1);
		state_bytes(st, "gid", gid.raw, GID_SIZE);
		state_u16(st, "vlan", &gid.vlan, UINT16_MAX);
		state_u64(st, "place", &gid.place, FABRIC_PLACE_MAX);
		if (st->loading && !st->failed)
			gid_load(st, gids, index, &gid);
	}
}
