/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The Ethernet queues of a function, and its port of the switch.
 */
#ifndef DEVICE_ETH_H
#define DEVICE_ETH_H

#include <stdbool.h>
#include <stdint.h>

#include "ether/switch.h"
#include "rdma/rnic.h"

struct function;

/** eth_rnic_ops - the port as the RDMA side sees it, with the function as @arg */
extern const struct rnic_eth eth_rnic_ops;

/**
 * eth_init() - connect a function to the switch
 * @fn:		function
 * @sw:		switch
 * @group:	what the operator sees the port as, or NULL
 */
void eth_init(struct function *fn, struct l2_switch *sw,
	      struct port_group *group);

/** eth_fini() - disconnect it */
void eth_fini(struct function *fn);

/** eth_negotiated() - follow the features that are negotiated now */
void eth_negotiated(struct function *fn);

/**
 * eth_set_guest_offloads() - change what the guest takes undone
 * @fn:		function
 * @offloads:	feature bits VIRTIO_NET_F_GUEST_…, not checked yet
 *
 * Return: 0, or -EINVAL if one of them was not negotiated or is not an offload.
 */
int eth_set_guest_offloads(struct function *fn, uint64_t offloads);

/** eth_guest_offloads() - what the guest takes undone now, as for eth_set_guest_offloads() */
uint64_t eth_guest_offloads(const struct function *fn);

/** eth_poll() - send a bounded number of the guest's frames; true if any */
bool eth_poll(struct function *fn);

#endif /* DEVICE_ETH_H */
