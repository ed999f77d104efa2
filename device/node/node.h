/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node: a station of the daemon's own on the switch, with a NIC.
 */
#ifndef DEVICE_NODE_H
#define DEVICE_NODE_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "node/node_arp.h"
#include "node/node_cm.h"
#include "node/node_gsi.h"
#include "node/node_mem.h"
#include "node/node_port.h"
#include "node/node_verbs.h"

#define NODE_GIDS		8u

/**
 * struct node_config - what the operator configured
 * @name:	for messages
 * @mac:	address
 * @gids:	number of @gid, 1 to NODE_GIDS
 * @gid:	GIDs, which are its IP addresses as well
 * @mtu:	largest payload of a frame
 * @group:	what the operator sees its port as, or NULL
 * @shared:	memory of others that its NIC reaches, or NULL
 * @shared_size: bytes of it, as of node_mem_share()
 * @service:	port that it listens on, in the port space of TCP
 * @ops:	whose connections they are
 * @arg:	for @ops
 */
struct node_config {
	const char *name;
	uint8_t mac[ETH_ALEN];
	unsigned int gids;
	uint8_t gid[NODE_GIDS][GID_SIZE];
	uint32_t mtu;
	struct port_group *group;
	void *shared;
	size_t shared_size;
	uint16_t service;
	const struct node_cm_ops *ops;
	void *arg;
};

/**
 * struct node - a node
 * @loop:	event loop
 * @mem:	memory
 * @rnic:	NIC
 * @verbs:	driver's side of it
 * @port:	port of the switch
 * @arp:	ARP and neighbor discovery
 * @gsi:	QP 1
 * @cm:		connection manager
 * @poller:	looks after all
 */
struct node {
	struct loop *loop;
	struct node_mem mem;
	struct rnic *rnic;
	struct node_verbs verbs;
	struct node_port port;
	struct node_arp arp;
	struct node_gsi gsi;
	struct node_cm cm;
	struct loop_poller poller;
};

/**
 * node_new() - make a node
 * @loop:	event loop
 * @sw:		switch to connect to
 * @fabric:	fabric of its NIC
 * @config:	copied
 *
 * Return: the node, or NULL with errno set.
 */
struct node *node_new(struct loop *loop, struct l2_switch *sw, struct fabric *fabric,
		      const struct node_config *config);

/**
 * node_stop() - end all connections, and tell the peers; let nobody connect any more
 * @node:	node
 *
 * When it returns the messages are sent, and @gone of &struct node_cm_ops was called for
 * each connection.
 */
void node_stop(struct node *node);

/** node_resume() - after node_stop(): let peers connect again */
void node_resume(struct node *node);

/** node_free() - node_stop(), and end the node */
void node_free(struct node *node);

#endif /* DEVICE_NODE_H */
