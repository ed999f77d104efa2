/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The wire: RoCE packets by the function's Ethernet port.
 */
#ifndef DEVICE_WIRE_H
#define DEVICE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

struct nic;
struct nic_eth;
struct wire_slot;

/**
 * struct wire - a NIC's end of the wire
 * @eth:	port, or NULL
 * @arg:	for @eth
 * @ring:	frames received and not looked at yet
 * @head:	the oldest one
 * @n:		number of them
 */
struct wire {
	const struct nic_eth *eth;
	void *arg;
	struct wire_slot *ring;
	uint32_t head;
	uint32_t n;
};

/** wire_init() - make a NIC's end; returns 0 or -ENOMEM */
int wire_init(struct nic *nic);

/** wire_reset() - drop what was received */
void wire_reset(struct nic *nic);

/** wire_fini() - free it */
void wire_fini(struct nic *nic);

/** wire_poll() - look at frames received, not at all of many; true if any */
bool wire_poll(struct nic *nic);

#endif /* DEVICE_WIRE_H */
