// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A node: a station of the daemon's own on the switch, with a NIC.
 *
 * Theory of operation
 *
 * A node has what a guest has: a NIC (rdma/rnic.h), memory that the NIC reaches, and a port
 * of the switch.  In the place of a driver are node_verbs.c and node_gsi.c for what goes by
 * queues, and in the place of an operating system node_arp.c and node_cm.c.  So data moves
 * between a guest and a node as between two guests, by one copy, and to a peer elsewhere as
 * packets; and all that the engine checks it checks here, too.
 *
 * A poller takes completions, which lead to new requests, before it has the NIC carry
 * requests out, so that both happen in one round.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/node.h"

/* Completions taken in a round. */
#define NODE_BURST	256u

/* Rounds that a node may take to end: a guest may keep it busy. */
#define NODE_STOP	10000u

static bool node_poll(void *arg)
{
	struct node *node = arg;
	bool worked = node_arp_poll(&node->arp);

	worked |= node_poll_cq(&node->verbs, NODE_BURST);
	worked |= node_cm_poll(&node->cm);
	worked |= rnic_poll(node->rnic);
	if (worked)
		switch_flush(node->port.sw);
	return worked;
}

static bool node_sleep(void *arg)
{
	struct node *node = arg;
	bool work = node_pending(&node->verbs) || node->port.n || node->cm.ending;

	return rnic_sleep(node->rnic) || work;
}

static void node_wake(void *arg)
{
	struct node *node = arg;

	rnic_wake(node->rnic);
}

static int node_add_gids(struct node *node, const struct node_config *config)
{
	unsigned int i;

	for (i = 0; i < config->gids; i++)
		if (!node_add_gid(&node->verbs, i, config->gid[i]))
			return -EINVAL;
	return 0;
}

static void node_connect(struct node *node, struct l2_switch *sw,
			 const struct node_config *config)
{
	node->port.mtu = config->mtu;
	node->port.pin.has_mac = true;
	node->port.pin.gids = config->gids;
	memcpy(node->port.pin.mac, config->mac, ETH_ALEN);
	memcpy(node->port.pin.gid, config->gid, sizeof(config->gid));
	node_port_init(&node->port, sw, node->rnic, config->group);

	node->poller.poll = node_poll;
	node->poller.sleep = node_sleep;
	node->poller.wake = node_wake;
	node->poller.arg = node;
	loop_poller_add(node->loop, &node->poller);
}

static void node_init_cm(struct node *node, const struct node_config *config)
{
	node->arp.port = &node->port;
	node->cm.loop = node->loop;
	node->cm.verbs = &node->verbs;
	node->cm.gsi = &node->gsi;
	node->cm.arp = &node->arp;
	node->cm.service = config->service;
	node->cm.ops = config->ops;
	node->cm.arg = config->arg;
	node_cm_init(&node->cm);
}

static int node_init(struct node *node, struct fabric *fabric,
		     const struct node_config *config)
{
	const struct rnic_limits limits = node_limits();
	int err = node_mem_init(&node->mem, NODE_MEM_SIZE, NODE_MEM_FIXED);

	if (err)
		return err;
	if (config->shared)
		node_mem_share(&node->mem, config->shared, config->shared_size);
	node->rnic = rnic_new(node->loop, fabric, &limits, config->name);
	if (!node->rnic) {
		err = -errno;
		goto err_mem;
	}
	rnic_mem_changed(node->rnic, &node->mem.map);
	node_init_cm(node, config);
	err = node_verbs_open(&node->verbs, node->rnic, &node->mem);
	if (err)
		goto err_rnic;
	err = node_gsi_open(&node->gsi, &node->verbs);
	if (!err)
		err = node_add_gids(node, config);
	if (err)
		goto err_gsi;
	return 0;

err_gsi:
	node_gsi_close(&node->gsi);
err_rnic:
	rnic_free(node->rnic);
err_mem:
	node_mem_fini(&node->mem);
	return err;
}

struct node *node_new(struct loop *loop, struct l2_switch *sw, struct fabric *fabric,
		      const struct node_config *config)
{
	struct node *node = calloc(1, sizeof(*node));
	int err;

	if (!node)
		return NULL;
	node->loop = loop;
	err = node_init(node, fabric, config);
	if (err) {
		free(node);
		errno = -err;
		return NULL;
	}
	node_connect(node, sw, config);
	return node;
}

/* Each round does something, as long as requests of QPs are to be completed. */
void node_stop(struct node *node)
{
	unsigned int round;

	node_cm_stop(&node->cm);
	for (round = 0; round < NODE_STOP && node_poll(node); round++)
		;
}

void node_resume(struct node *node)
{
	node->cm.stopped = false;
}

/* The NIC is given back bit by bit, and does not reach the memory any more. */
void node_free(struct node *node)
{
	node_stop(node);
	node_cm_fini(&node->cm);
	loop_poller_del(node->loop, &node->poller);
	node_port_fini(&node->port);
	node_gsi_close(&node->gsi);
	rnic_free(node->rnic);
	node_mem_fini(&node->mem);
	free(node);
}
