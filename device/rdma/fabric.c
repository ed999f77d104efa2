// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fabric: GID tables, routes, the transport between NICs of this process.
 *
 * Entries of all GID tables hang in one hash table, in the order in which they
 * came.  A GID leads to the first entry of its VLAN that holds it; if two guests
 * claim the same one, the second gets it when the first gives it up.  What has
 * no entry is beyond the wire.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/rnic_priv.h"

#define FABRIC_BUCKETS	256

TAILQ_HEAD(gid_list, gid);

/**
 * struct fabric - NICs that reach each other in memory
 * @bucket:	GIDs by their hash
 * @epoch:	changes with each of them
 * @local:	transport between its NICs
 * @packets:	they exchange packets all the same
 */
struct fabric {
	struct gid_list bucket[FABRIC_BUCKETS];
	uint32_t epoch;
	const struct transport *local;
	bool packets;
};

static void transport_local_send(struct rnic *from, struct rnic *to,
				 const struct pkt *pkt)
{
	rnic_count_sent(from, pkt->len);
	rnic_deliver(to, pkt);
}

/*
 * Slices bound how long one QP keeps the others waiting; the cost of a packet
 * vanishes beside that of copying one.
 */
const struct transport transport_local = {
	.name = "local",
	.seg_max = 256 * 1024,
	.send = transport_local_send,
};

struct fabric *fabric_new(void)
{
	struct fabric *fabric = calloc(1, sizeof(*fabric));
	unsigned int i;

	if (!fabric)
		return NULL;
	for (i = 0; i < FABRIC_BUCKETS; i++)
		TAILQ_INIT(&fabric->bucket[i]);
	fabric->epoch = 1;
	fabric->local = &transport_local;
	return fabric;
}

void fabric_free(struct fabric *fabric)
{
	free(fabric);
}

void fabric_set_local(struct fabric *fabric, const struct transport *transport)
{
	fabric->local = transport;
	fabric->epoch++;
}

void fabric_use_packets(struct fabric *fabric)
{
	fabric->packets = true;
	fabric->epoch++;
}

uint32_t fabric_epoch(const struct fabric *fabric)
{
	return fabric->epoch;
}

static struct gid_list *fabric_bucket(struct fabric *fabric, const uint8_t *raw)
{
	uint64_t half[2];

	memcpy(half, raw, sizeof(half));
	half[0] = (half[0] ^ half[1]) * 0x9e3779b97f4a7c15u;
	return &fabric->bucket[half[0] >> 56];
}

/* The first one that holds a GID is the one that packets go to. */
static struct gid *fabric_find(const struct fabric *fabric, const uint8_t *raw,
			       uint16_t vlan)
{
	struct gid *gid;

	TAILQ_FOREACH(gid, fabric_bucket((struct fabric *)fabric, raw), link)
		if (gid->vlan == vlan && gid_equal(gid->raw, raw))
			return gid;
	return NULL;
}

/*
 * No switch returns a frame to where it came from, so a NIC reaches itself in
 * memory always.
 */
struct route fabric_route(const struct rnic *from, const uint8_t *dgid,
			  uint16_t vlan)
{
	const struct fabric *fabric = from->fabric;
	const struct gid *gid = fabric_find(fabric, dgid, vlan);

	if (!gid || (fabric->packets && gid->rnic != from))
		return (struct route) { .transport = &transport_wire };
	return (struct route) { .transport = fabric->local, .rnic = gid->rnic };
}

_Static_assert(PKT_VLAN_TAGGED == VIRTIO_RDMA_GID_TAGGED,
	       "VLANs of packets are not those of the GID table");

static bool vlan_is_valid(uint16_t vlan)
{
	uint16_t number = vlan & VIRTIO_RDMA_GID_VLAN_MASK;

	return !vlan || (vlan == (VIRTIO_RDMA_GID_TAGGED | number) && number &&
			 number != VIRTIO_RDMA_GID_VLAN_MASK);
}

const char *gid_add(struct rnic *rnic, uint32_t index, const uint8_t *raw,
		    uint16_t vlan)
{
	const struct gid *other;
	struct gid *gid;

	if (index >= RNIC_GIDS)
		return "no such entry";
	if (!gid_is_unicast(raw))
		return "not a unicast GID";
	if (!vlan_is_valid(vlan))
		return "no such VLAN";

	gid = &rnic->gid[index];
	if (gid->used && gid->vlan == vlan && gid_equal(gid->raw, raw))
		return NULL;
	if (gid->used)
		gid_del(rnic, index);

	other = fabric_find(rnic->fabric, raw, vlan);
	if (other && other->rnic != rnic)
		rnic_warn(rnic, "GID %u belongs to %s already", index,
			  other->rnic->name);

	memcpy(gid->raw, raw, GID_SIZE);
	gid->vlan = vlan;
	gid->rnic = rnic;
	gid->used = true;
	TAILQ_INSERT_TAIL(fabric_bucket(rnic->fabric, raw), gid, link);
	rnic->fabric->epoch++;
	return NULL;
}

const char *gid_del(struct rnic *rnic, uint32_t index)
{
	struct gid *gid;

	if (index >= RNIC_GIDS)
		return "no such entry";
	gid = &rnic->gid[index];
	if (!gid->used)
		return "entry holds no GID";

	TAILQ_REMOVE(fabric_bucket(rnic->fabric, gid->raw), gid, link);
	*gid = (struct gid) {};
	rnic->fabric->epoch++;
	return NULL;
}

void gid_del_all(struct rnic *rnic)
{
	uint32_t i;

	for (i = 0; i < RNIC_GIDS; i++)
		if (rnic->gid[i].used)
			gid_del(rnic, i);
}

const struct gid *gid_get(const struct rnic *rnic, uint32_t index)
{
	if (index >= RNIC_GIDS || !rnic->gid[index].used)
		return NULL;
	return &rnic->gid[index];
}

bool gid_is_mine(const struct rnic *rnic, const uint8_t *raw, uint16_t vlan)
{
	const struct gid *gid;

	TAILQ_FOREACH(gid, fabric_bucket(rnic->fabric, raw), link)
		if (gid->rnic == rnic && gid->vlan == vlan &&
		    gid_equal(gid->raw, raw))
			return true;
	return false;
}

bool gid_has_vlan(const struct rnic *rnic, uint16_t vlan)
{
	uint32_t i;

	for (i = 0; i < RNIC_GIDS; i++)
		if (rnic->gid[i].used && rnic->gid[i].vlan == vlan)
			return true;
	return false;
}
