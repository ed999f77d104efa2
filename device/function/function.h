/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One guest's virtio-net function: Ethernet and control queues.  The RDMA side
 * is behind rnic.h.
 */
#ifndef DEVICE_NET_H
#define DEVICE_NET_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>

#include "virtio/frontend.h"
#include "base/loop.h"
#include "rdma/rnic.h"
#include "ether/switch.h"

#define NET_MTU_MIN	68
#define NET_MTU_MAX	65535

struct net;

/**
 * struct net_config - what the operator configured
 * @name:	for messages
 * @mac:	address of the function
 * @mtu:	largest payload of an Ethernet frame
 * @limits:	of the RDMA side
 * @group:	what the operator sees the function's port as, or NULL
 */
struct net_config {
	const char *name;
	uint8_t mac[ETH_ALEN];
	uint16_t mtu;
	struct nic_limits limits;
	struct port_group *group;
};

/**
 * struct net_stats - what became of the frames
 * @tx:		frames sent
 * @tx_dropped:	frames of the guest's that are none, or too long
 * @rx:		frames received
 * @rx_dropped:	frames for which the guest had no room
 * @rx_filtered: frames that it had not asked for
 */
struct net_stats {
	uint64_t tx;
	uint64_t tx_dropped;
	uint64_t rx;
	uint64_t rx_dropped;
	uint64_t rx_filtered;
};

/** net_device_ops - what a front-end calls, with the function as device */
extern const struct fe_device_ops net_device_ops;

/**
 * net_new() - make a function
 * @loop:	event loop
 * @sw:		switch to connect to
 * @fabric:	fabric of the RDMA side
 * @config:	copied
 *
 * Return: the function, or NULL with errno set.
 */
struct net *net_new(struct loop *loop, struct l2_switch *sw,
		    struct fabric *fabric, const struct net_config *config);

/** net_free() - free a function that no front-end uses any more */
void net_free(struct net *net);

/** net_set_frontend() - from now on @ops, called with @fe, reach the guest */
void net_set_frontend(struct net *net, const struct fe_ops *ops, void *fe);

/** net_set_link() - plug the cable in, or pull it out */
void net_set_link(struct net *net, bool up);

/** net_link() - is the cable plugged in? */
bool net_link(const struct net *net);

/** net_rdma_counters() - nic_counters() of the function's RDMA side */
const uint64_t *net_rdma_counters(const struct net *net);

/** net_num_queues() - number of virtqueues that the function has */
uint32_t net_num_queues(const struct nic_limits *limits);

/** net_stats() - what became of the frames since net_new() */
const struct net_stats *net_stats(const struct net *net);

#endif /* DEVICE_NET_H */
