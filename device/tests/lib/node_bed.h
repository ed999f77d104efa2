/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node and the guests of an engine, on one switch.
 */
#ifndef DEVICE_TESTS_NODE_BED_H
#define DEVICE_TESTS_NODE_BED_H

#include "node/node.h"
#include "tests/lib/engine_guest.h"

#define BED_FRAMES	16
#define BED_FRAME	2048u

/**
 * struct bed_port - a guest's port of the switch
 * @rnic:	of the guest
 * @sw:		switch
 * @port:	of it
 * @mac:	address
 * @n:		frames received that the NIC has not taken
 * @unflushed:	frames received since the switch has flushed the port
 * @len:	bytes of each
 * @frame:	the first ones
 */
struct bed_port {
	struct rnic *rnic;
	struct l2_switch *sw;
	struct switch_port port;
	uint8_t mac[ETH_ALEN];
	unsigned int n;
	unsigned int unflushed;
	size_t len[BED_FRAMES];
	uint8_t frame[BED_FRAMES][BED_FRAME];
};

/**
 * struct node_bed - all that a test needs
 * @engine:	guests; their addresses are 10.0.0.1 and 10.0.0.2
 * @sw:		switch
 * @port:	guests' ports
 * @config:	of the node: 10.0.0.9 and fd00::9
 * @node:	node
 */
struct node_bed {
	struct engine *engine;
	struct l2_switch *sw;
	struct bed_port port[EG_GUESTS];
	struct node_config config;
	struct node *node;
};

/* cmocka fixtures: *state is a struct node_bed. */
int bed_setup(void **state);
int bed_teardown(void **state);

/** bed_run() - poll all until nobody has work */
void bed_run(struct node_bed *bed);

/** bed_advance() - let time pass in steps of @step, and poll all after each */
void bed_advance(struct node_bed *bed, uint64_t ns, uint64_t step);

/** bed_frame() - guest @i sends a frame */
void bed_frame(struct node_bed *bed, unsigned int i, void *frame, size_t len);

/** bed_packets() - RDMA goes by packets from now on */
void bed_packets(struct node_bed *bed);

#endif /* DEVICE_TESTS_NODE_BED_H */
