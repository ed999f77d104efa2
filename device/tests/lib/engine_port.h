/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ethernet ports for the guests of an engine, connected with each other.
 */
#ifndef DEVICE_TESTS_ENGINE_PORT_H
#define DEVICE_TESTS_ENGINE_PORT_H

#include "tests/lib/engine_guest.h"
#include "packet/roce.h"

#define EG_MTU		1500

/* MAC address of both guests, as their address vectors have it. */
#define EG_MAC		{ 0x52, 0x54, 0, 0x12, 0x34, 0x56 }

/**
 * struct eg_port - a guest's port
 * @rnic:	of the guest
 * @peer:	port at the other end of the cable
 * @mac:	address
 * @behind:	address of a station behind it
 * @further:	address of an interface on top of it
 * @mtu:	largest payload of a frame
 * @down:	nothing can be sent
 * @lose:	what is sent gets lost, but is counted and kept
 * @sent:	frames sent
 * @bytes:	of them
 * @alone:	nobody is connected to the switch, which has no work
 * @cost:	of each, for the switch, beside its bytes
 * @taken:	frames received that the NIC took
 * @len:	bytes of the last frame sent
 * @frame:	that frame
 */
struct eg_port {
	struct rnic *rnic;
	struct eg_port *peer;
	uint8_t mac[ETH_ALEN];
	uint8_t behind[ETH_ALEN];
	uint8_t further[ETH_ALEN];
	uint32_t mtu;
	bool down;
	bool lose;
	bool alone;
	unsigned int sent;
	uint64_t bytes;
	uint32_t cost;
	unsigned int taken;
	size_t len;
	uint8_t frame[ROCE_FRAME_MAX];
};

extern struct eg_port eg_port[EG_GUESTS];

/** eg_port_behind() - of &struct rnic_eth */
bool eg_port_behind(void *arg, const uint8_t *mac);

/** eg_port_hears() - of &struct rnic_eth */
bool eg_port_hears(void *arg, const uint8_t *mac);

/** eg_plug() - give the guests ports */
void eg_plug(struct engine *engine);

/** eg_ports() - give the guests ports; RDMA between them uses these from now on */
void eg_ports(struct engine *engine);

/**
 * eg_frame_from() - a frame comes to a port, from a heap block of its size
 * @port:	port
 * @from:	NIC of the guest that it comes from, or NULL
 * @frame:	frame
 * @len:	its bytes
 *
 * Return: the NIC took it.
 */
bool eg_frame_from(struct eg_port *port, const struct rnic *from,
		   const void *frame, size_t len);

/** eg_frame() - the same from the guest at the other end of the cable */
bool eg_frame(struct eg_port *port, const void *frame, size_t len);

/**
 * eg_build() - build a whole frame; returns its length, 0 if @pkt cannot be sent
 * @data: its payload
 */
size_t eg_build(uint8_t *frame, const struct roce_path *path,
		const struct pkt *pkt, const uint8_t *data);

/** eg_count() - a counter of a guest */
uint64_t eg_count(const struct eg_guest *guest, enum virtio_rdma_counter counter);

#endif /* DEVICE_TESTS_ENGINE_PORT_H */
