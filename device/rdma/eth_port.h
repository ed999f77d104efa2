/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The wire: RoCE packets by the function's Ethernet port.
 */
#ifndef DEVICE_ETH_PORT_H
#define DEVICE_ETH_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct rnic;
struct rnic_eth;
struct eth_port_slot;

/**
 * struct eth_port - a NIC's end of the wire
 * @eth:	port, or NULL
 * @arg:	for @eth
 * @ring:	frames received and not looked at yet
 * @head:	the oldest one
 * @n:		number of them
 */
struct eth_port {
	const struct rnic_eth *eth;
	void *arg;
	struct eth_port_slot *ring;
	uint32_t head;
	uint32_t n;
};

/** eth_port_init() - make a NIC's end; returns 0 or -ENOMEM */
int eth_port_init(struct rnic *rnic);

/** eth_port_reset() - drop what was received */
void eth_port_reset(struct rnic *rnic);

/** eth_port_fini() - free it */
void eth_port_fini(struct rnic *rnic);

/** eth_port_poll() - look at frames received, not at all of many; true if any */
bool eth_port_poll(struct rnic *rnic);

#endif /* DEVICE_ETH_PORT_H */
