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
	const struct xport *local;
	bool packets;
};

static void xport_local_send(struct nic *from, struct nic *to,
			     const struct pkt *pkt)
{
	nic_count_sent(from, pkt->len);
	nic_deliver(to, pkt);
}

/*
 * Slices bound how long one QP keeps the others waiting; the cost of a packet
 * vanishes beside that of copying one.
 */
const struct xport xport_local = {
	.name = "local",
	.seg_max = 256 * 1024,
	.send = xport_local_send,
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
	fabric->local = &xport_local;
	return fabric;
}

void fabric_free(struct fabric *fabric)
{
	free(fabric);
}

void fabric_set_local(struct fabric *fabric, const struct xport *xport)
{
	fabric->local = xport;
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
struct route fabric_route(const struct nic *from, const uint8_t *dgid,
			  uint16_t vlan)
{
	const struct fabric *fabric = from->fabric;
	const struct gid *gid = fabric_find(fabric, dgid, vlan);

	if (!gid || (fabric->packets && gid->nic != from))
		return (struct route) { .xport = &xport_wire };
	return (struct route) { .xport = fabric->local, .nic = gid->nic };
}

bool gid_equal(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, GID_SIZE);
}

bool gid_is_ipv4(const uint8_t *raw)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(raw, prefix, sizeof(prefix));
}

bool gid_is_multicast(const uint8_t *raw)
{
	return gid_is_ipv4(raw) ? (raw[12] & 0xf0) == 0xe0 : raw[0] == 0xff;
}

static bool gid_is_unicast(const uint8_t *raw)
{
	static const uint8_t zero[GID_SIZE];

	if (gid_is_multicast(raw))
		return false;
	return gid_is_ipv4(raw) ? raw[12] : !gid_equal(raw, zero);
}

static bool vlan_is_valid(uint16_t vlan)
{
	uint16_t number = vlan & VIRTIO_RDMA_GID_VLAN_MASK;

	return !vlan || (vlan == (VIRTIO_RDMA_GID_TAGGED | number) && number &&
			 number != VIRTIO_RDMA_GID_VLAN_MASK);
}

const char *gid_add(struct nic *nic, uint32_t index, const uint8_t *raw,
		    uint16_t vlan)
{
	const struct gid *other;
	struct gid *gid;

	if (index >= NIC_GIDS)
		return "no such entry";
	if (!gid_is_unicast(raw))
		return "not a unicast GID";
	if (!vlan_is_valid(vlan))
		return "no such VLAN";

	gid = &nic->gid[index];
	if (gid->used && gid->vlan == vlan && gid_equal(gid->raw, raw))
		return NULL;
	if (gid->used)
		gid_del(nic, index);

	other = fabric_find(nic->fabric, raw, vlan);
	if (other && other->nic != nic)
		nic_warn(nic, "GID %u belongs to %s already", index,
			 other->nic->name);

	memcpy(gid->raw, raw, GID_SIZE);
	gid->vlan = vlan;
	gid->nic = nic;
	gid->used = true;
	TAILQ_INSERT_TAIL(fabric_bucket(nic->fabric, raw), gid, link);
	nic->fabric->epoch++;
	return NULL;
}

const char *gid_del(struct nic *nic, uint32_t index)
{
	struct gid *gid;

	if (index >= NIC_GIDS)
		return "no such entry";
	gid = &nic->gid[index];
	if (!gid->used)
		return "entry holds no GID";

	TAILQ_REMOVE(fabric_bucket(nic->fabric, gid->raw), gid, link);
	*gid = (struct gid) {};
	nic->fabric->epoch++;
	return NULL;
}

void gid_del_all(struct nic *nic)
{
	uint32_t i;

	for (i = 0; i < NIC_GIDS; i++)
		if (nic->gid[i].used)
			gid_del(nic, i);
}

const struct gid *gid_get(const struct nic *nic, uint32_t index)
{
	if (index >= NIC_GIDS || !nic->gid[index].used)
		return NULL;
	return &nic->gid[index];
}

bool gid_is_mine(const struct nic *nic, const uint8_t *raw, uint16_t vlan)
{
	const struct gid *gid;

	TAILQ_FOREACH(gid, fabric_bucket(nic->fabric, raw), link)
		if (gid->nic == nic && gid->vlan == vlan &&
		    gid_equal(gid->raw, raw))
			return true;
	return false;
}

bool gid_has_vlan(const struct nic *nic, uint16_t vlan)
{
	uint32_t i;

	for (i = 0; i < NIC_GIDS; i++)
		if (nic->gid[i].used && nic->gid[i].vlan == vlan)
			return true;
	return false;
}
