// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Neighbours of a node: which MAC address leads to an IP address.
 *
 * Anybody can have entries made.  So their number is fixed, and that which was not used for
 * longest makes room: who needs it again asks again.
 */
#include <string.h>

#include "node/node_neigh.h"

static struct node_neigh *neigh_get(struct node_neighs *neighs, const uint8_t *gid)
{
	unsigned int i;

	for (i = 0; i < NODE_NEIGHBOURS; i++)
		if (neighs->entry[i].used && gid_equal(neighs->entry[i].gid, gid))
			return &neighs->entry[i];
	return NULL;
}

static struct node_neigh *neigh_make(struct node_neighs *neighs, const uint8_t *gid)
{
	struct node_neigh *neigh = &neighs->entry[0];
	unsigned int i;

	for (i = 1; i < NODE_NEIGHBOURS; i++)
		if (neighs->entry[i].stamp < neigh->stamp)
			neigh = &neighs->entry[i];
	*neigh = (struct node_neigh) { .used = true, .stamp = ++neighs->stamp };
	memcpy(neigh->gid, gid, GID_SIZE);
	return neigh;
}

const uint8_t *node_neigh_find(struct node_neighs *neighs, const uint8_t *gid)
{
	struct node_neigh *neigh = neigh_get(neighs, gid);

	if (!neigh || !neigh->known)
		return NULL;
	neigh->stamp = ++neighs->stamp;
	return neigh->mac;
}

void node_neigh_want(struct node_neighs *neighs, const uint8_t *gid)
{
	if (!neigh_get(neighs, gid))
		neigh_make(neighs, gid);
}

bool node_neigh_learn(struct node_neighs *neighs, const uint8_t *gid, const uint8_t *mac,
		      bool spoke)
{
	static const uint8_t nobody[ETH_ALEN];
	struct node_neigh *neigh = neigh_get(neighs, gid);

	if (mac[0] & 1 || !memcmp(mac, nobody, ETH_ALEN) || !gid_is_unicast(gid))
		return false;
	if (!neigh && spoke)
		neigh = neigh_make(neighs, gid);
	if (!neigh || (neigh->known && !memcmp(neigh->mac, mac, ETH_ALEN)))
		return false;
	memcpy(neigh->mac, mac, ETH_ALEN);
	neigh->known = true;
	return true;
}
