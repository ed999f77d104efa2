/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The port of a node: frames from the switch and to it.
 */
#ifndef DEVICE_NODE_PORT_H
#define DEVICE_NODE_PORT_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ether/pin.h"
#include "ether/switch.h"
#include "rdma/rnic.h"

/* Frames that wait to be looked at, and bytes of each: no more is looked at. */
#define NODE_PORT_FRAMES	64u
#define NODE_PORT_BYTES		128u

/**
 * struct node_frame - the beginning of a frame that was received
 * @len:	its bytes
 * @data:	them
 */
struct node_frame {
	uint32_t len;
	uint8_t data[NODE_PORT_BYTES];
};

/**
 * struct node_port - port of a node
 * @sw:		switch
 * @rnic:	NIC, which gets RoCE
 * @port:	port of the switch
 * @pin:	addresses of the node, which nobody else may have
 * @mtu:	largest payload of a frame
 * @ring:	frames that the NIC has not taken
 * @head:	the oldest one
 * @n:		number of them
 */
struct node_port {
	struct l2_switch *sw;
	struct rnic *rnic;
	struct switch_port port;
	struct pin pin;
	uint32_t mtu;
	struct node_frame ring[NODE_PORT_FRAMES];
	uint32_t head;
	uint32_t n;
};

/**
 * node_port_init() - connect a node
 * @port:	with @pin and @mtu filled in
 * @sw:		switch
 * @rnic:	NIC
 * @group:	what the operator sees, or NULL
 */
void node_port_init(struct node_port *port, struct l2_switch *sw, struct rnic *rnic,
		    struct port_group *group);

/** node_port_fini() - disconnect it */
void node_port_fini(struct node_port *port);

/** node_port_send() - send a frame, which may be written to, and fill it up if it is short */
void node_port_send(struct node_port *port, void *frame, size_t len, size_t room);

/** node_port_next() - the oldest frame that waits, good until the next one is taken; or NULL */
const struct node_frame *node_port_next(struct node_port *port);

#endif /* DEVICE_NODE_PORT_H */
