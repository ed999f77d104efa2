// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fabric: routes between the NICs of this process.
 *
 * Entries of all GID tables hang in one hash table, in the order in which they
 * came.  A GID leads to the first entry of its VLAN that holds it; if two guests
 * claim the same one, the second gets it when the first gives it up.  A GID
 * without an entry is beyond the fabric.
 *
 * The same table tells which NIC may send with a GID as its source.  As long as the GID
 * leads to a NIC, only that NIC may.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rdma/object/fabric.h"

#define FABRIC_BUCKETS	256

TAILQ_HEAD(gid_list, gid);

/**
 * struct fabric - NICs that reach each other in memory
 * @ends:	NICs that belong to it
 * @bucket:	GIDs by their hash
 * @key:	of that hash, because guests choose GIDs
 * @epoch:	changes with each of them; never 0, and wide enough not to come round
 * @places:	&gid.place of the one that came last
 * @touched:	how often fabric_touch() was called
 * @local:	transport between its NICs
 * @packets:	they exchange packets all the same
 */
struct fabric {
	LIST_HEAD(, fabric_end) ends;
	struct gid_list bucket[FABRIC_BUCKETS];
	struct hash_key key;
	uint64_t epoch;
	uint64_t places;
	uint64_t touched;
	const struct transport *local;
	bool packets;
};

static void transport_local_send(struct fabric_end *from, struct fabric_end *to,
				 const struct pkt *pkt)
{
	rnic_count_sent(from->ctx, pkt->len);
	to->deliver(to, pkt);
}

/*
 * Slices bound how long one QP keeps the others waiting.  A packet costs little
 * beside the copying of a slice.
 */
const struct transport transport_local = {
	.name = "local",
	.seg_max = RNIC_SLICE_ALONE,
	.send = transport_local_send,
};

struct fabric *fabric_new(void)
{
	struct fabric *fabric = calloc(1, sizeof(*fabric));
	unsigned int i;

	if (!fabric)
		return NULL;
	LIST_INIT(&fabric->ends);
	for (i = 0; i < FABRIC_BUCKETS; i++)
		TAILQ_INIT(&fabric->bucket[i]);
	hash_key_init(&fabric->key);
	fabric->epoch = 1;
	fabric->local = &transport_local;
	return fabric;
}

void fabric_free(struct fabric *fabric)
{
	free(fabric);
}

void fabric_join(struct fabric_end *end)
{
	LIST_INSERT_HEAD(&end->fabric->ends, end, entry);
}

void fabric_leave(struct fabric_end *end)
{
	struct fabric_end *other;

	LIST_REMOVE(end, entry);
	LIST_FOREACH(other, &end->fabric->ends, entry)
		other->forget(other, end);
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

void fabric_set_packets(struct fabric_end *end, bool packets)
{
	if (end->packets == packets)
		return;
	end->packets = packets;
	end->fabric->epoch++;
}

uint64_t fabric_epoch(const struct fabric *fabric)
{
	return fabric->epoch;
}

void fabric_touch(struct fabric *fabric)
{
	fabric->touched++;
}

/* Neither of the two ever becomes less, so that their sum tells a change of either. */
uint64_t fabric_stamp(const struct fabric *fabric)
{
	return fabric->epoch + fabric->touched;
}

/* The VLAN is hashed, too: a guest may have one GID in each of its VLANs. */
static struct gid_list *fabric_bucket(const struct fabric *fabric,
				      const uint8_t *raw, uint16_t vlan)
{
	uint8_t key[GID_SIZE + sizeof(vlan)];
	uint64_t sum;

	memcpy(key, raw, GID_SIZE);
	memcpy(key + GID_SIZE, &vlan, sizeof(vlan));
	sum = hash_bytes(&fabric->key, key, sizeof(key));

	return &((struct fabric *)fabric)->bucket[sum % FABRIC_BUCKETS];
}

/* The first one that holds a GID is the one that packets go to. */
struct gid *fabric_find(const struct fabric *fabric, const uint8_t *raw,
			uint16_t vlan)
{
	struct gid *gid;

	TAILQ_FOREACH(gid, fabric_bucket(fabric, raw, vlan), link)
		if (gid->vlan == vlan && gid_equal(gid->raw, raw))
			return gid;
	return NULL;
}

bool fabric_has(const struct fabric_end *end, const uint8_t *raw, uint16_t vlan)
{
	const struct gid *gid;

	TAILQ_FOREACH(gid, fabric_bucket(end->fabric, raw, vlan), link)
		if (gid->end == end && gid->vlan == vlan &&
		    gid_equal(gid->raw, raw))
			return true;
	return false;
}

/*
 * No switch returns a frame to where it came from, so a NIC reaches itself in
 * memory always.
 */
struct route fabric_route(const struct fabric_end *from, const uint8_t *dgid,
			  uint16_t vlan)
{
	const struct fabric *fabric = from->fabric;
	const struct gid *gid = fabric_find(fabric, dgid, vlan);

	if (!gid)
		return (struct route) { .transport = from->beyond };
	if ((fabric->packets || from->packets || gid->end->packets) && gid->end != from)
		return (struct route) {
			.transport = from->beyond,
			.owner = gid->end,
		};
	return (struct route) {
		.transport = fabric->local,
		.to = gid->end,
		.owner = gid->end,
	};
}

bool fabric_is_from(const struct fabric *fabric, const struct pkt *pkt)
{
	const struct gid *gid = fabric_find(fabric, pkt->sgid, pkt->vlan);

	return !gid || gid->end == pkt->from;
}

void fabric_add(struct gid *gid)
{
	struct fabric *fabric = gid->end->fabric;
	struct gid_list *list = fabric_bucket(fabric, gid->raw, gid->vlan);
	struct gid *before;

	if (!gid->place)
		gid->place = fabric->places + 1;
	if (gid->place > fabric->places)
		fabric->places = gid->place;
	TAILQ_FOREACH_REVERSE(before, list, gid_list, link)
		if (before->place <= gid->place)
			break;
	if (before)
		TAILQ_INSERT_AFTER(list, before, gid, link);
	else
		TAILQ_INSERT_HEAD(list, gid, link);
	fabric->epoch++;
}

void fabric_del(struct gid *gid)
{
	struct fabric *fabric = gid->end->fabric;

	TAILQ_REMOVE(fabric_bucket(fabric, gid->raw, gid->vlan), gid, link);
	fabric->epoch++;
}
