/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ARP and neighbor discovery of a node.
 */
#ifndef DEVICE_NODE_ARP_H
#define DEVICE_NODE_ARP_H

#include <stdbool.h>
#include <stdint.h>

#include "node/node_neigh.h"
#include "node/node_port.h"

/**
 * struct node_arp - what answers for the addresses of a node
 * @port:	port, whose pin has the addresses
 * @neighs:	neighbours
 * @known:	a neighbour is known now, or is elsewhere; or NULL
 * @arg:	for @known
 */
struct node_arp {
	struct node_port *port;
	struct node_neighs neighs;
	void (*known)(void *arg, const uint8_t *gid);
	void *arg;
};

/** node_arp_poll() - look at frames that were received; true if there were any */
bool node_arp_poll(struct node_arp *arp);

/** node_arp_ask() - ask for the MAC address of @gid, from the node's address @from */
void node_arp_ask(struct node_arp *arp, const uint8_t *from, const uint8_t *gid);

#endif /* DEVICE_NODE_ARP_H */
