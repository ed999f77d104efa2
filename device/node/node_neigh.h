/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Neighbours of a node: which MAC address leads to an IP address.
 */
#ifndef DEVICE_NODE_NEIGH_H
#define DEVICE_NODE_NEIGH_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>

#include "packet/gid.h"

#define NODE_NEIGHBOURS		256u

/**
 * struct node_neigh - a neighbour
 * @used:	there is one
 * @known:	@mac is its address, and not only asked for
 * @gid:	its IP address
 * @mac:	its MAC address
 * @stamp:	when it was used last
 */
struct node_neigh {
	bool used;
	bool known;
	uint8_t gid[GID_SIZE];
	uint8_t mac[ETH_ALEN];
	uint64_t stamp;
};

/**
 * struct node_neighs - the neighbours of a node
 * @stamp:	uses so far
 * @entry:	neighbours
 */
struct node_neighs {
	uint64_t stamp;
	struct node_neigh entry[NODE_NEIGHBOURS];
};

/** node_neigh_find() - MAC address of a neighbour, or NULL if it is not known */
const uint8_t *node_neigh_find(struct node_neighs *neighs, const uint8_t *gid);

/** node_neigh_want() - it is asked for */
void node_neigh_want(struct node_neighs *neighs, const uint8_t *gid);

/**
 * node_neigh_learn() - somebody has told an address
 * @neighs:	neighbours
 * @gid:	IP address
 * @mac:	its MAC address
 * @spoke:	it has spoken to us; else only who is asked for or known already is entered
 *
 * Return: true if it is entered, and was not known before, or was elsewhere.
 */
bool node_neigh_learn(struct node_neighs *neighs, const uint8_t *gid, const uint8_t *mac,
		      bool spoke);

#endif /* DEVICE_NODE_NEIGH_H */
