/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The port to the switch: RoCE packets by the function's Ethernet port.
 */
#ifndef DEVICE_RDMA_ETH_PORT_H
#define DEVICE_RDMA_ETH_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "packet/roce.h"
#include "rdma/object/ctx.h"
#include "rdma/object/sg.h"

struct eth_port_slot;
struct fabric_end;

/**
 * struct rnic_eth - the Ethernet port of a function, as its RDMA side sees it
 * @send:	send a frame, which is read before it returns; false if it
 *		cannot be sent now
 * @mac:	present address of the function
 * @hears:	has the guest asked for frames to this further address, as it does for the
 *		interfaces on top of its own (macvlan)?
 * @mtu:	largest payload of a frame, without tag
 * @work:	bytes that the switch has given to ports so far, with what a frame costs
 * @behind:	is a station of this address behind the port, as far as is known?
 */
struct rnic_eth {
	bool (*send)(void *arg, void *frame, size_t len);
	const uint8_t *(*mac)(void *arg);
	bool (*hears)(void *arg, const uint8_t *mac);
	uint32_t (*mtu)(void *arg);
	uint64_t (*work)(void *arg);
	bool (*behind)(void *arg, const uint8_t *mac);
};

/**
 * struct eth_port_known - what was found out of the last frame's destination
 * @gid:	a GID that the NIC has
 * @vlan:	in this VLAN
 * @epoch:	of the fabric, as of which that is so; 0 if nothing is known
 */
struct eth_port_known {
	uint8_t gid[GID_SIZE];
	uint16_t vlan;
	uint64_t epoch;
};

/**
 * struct eth_port - a NIC's end of the wire
 * @ctx:	the NIC's context
 * @eth:	the function's port, or NULL
 * @arg:	for @eth
 * @ring:	frames received and not looked at yet
 * @head:	the oldest one
 * @n:		number of them
 * @known:	most frames are for the same GID as the one before
 */
struct eth_port {
	struct rnic_ctx *ctx;
	const struct rnic_eth *eth;
	void *arg;
	struct eth_port_slot *ring;
	uint32_t head;
	uint32_t n;
	struct eth_port_known known;
};

/** eth_port_init() - make a port that leads nowhere; returns 0 or -ENOMEM */
int eth_port_init(struct eth_port *port, struct rnic_ctx *ctx);

/** eth_port_reset() - drop what was received */
void eth_port_reset(struct eth_port *port);

/** eth_port_fini() - free it, even if eth_port_init() failed */
void eth_port_fini(struct eth_port *port);

/** eth_port_attach() - from now on it is this port of a function */
void eth_port_attach(struct eth_port *port, const struct rnic_eth *eth,
		     void *arg);

/** eth_port_leads_to() - is it the port's address, or that of a station behind it? */
bool eth_port_leads_to(const struct eth_port *port, const uint8_t *mac);

/** eth_port_is_mine() - is this a MAC address of the function? */
bool eth_port_is_mine(const struct eth_port *port, const uint8_t *mac);

/** eth_port_send() - send a packet; it is lost if there is no way to */
void eth_port_send(struct eth_port *port, const struct pkt *pkt);

/**
 * eth_port_send_frame() - send a whole frame; it is lost if there is no way to
 * @port:	port
 * @frame:	frame, which may be written to
 * @len:	its bytes
 * @work:	set to the switch's work for it, bytes: none if nobody is connected
 *
 * Return: false if it was not sent.
 */
bool eth_port_send_frame(struct eth_port *port, void *frame, size_t len, uint64_t *work);

/**
 * eth_port_keep() - copy a frame, for eth_port_next()
 * @port:	port
 * @from:	NIC of the guest that it comes from, or NULL
 * @iov:	pieces that it lies in
 * @iov_n:	number of them
 * @off:	where in them it begins
 * @len:	its bytes
 */
void eth_port_keep(struct eth_port *port, const struct fabric_end *from,
		   const struct iovec *iov, unsigned int iov_n, size_t off,
		   size_t len);

/**
 * eth_port_next() - look at the oldest frame that was kept
 * @port:	port
 * @rx:		filled in; valid until eth_port_done()
 * @payload:	cursor for its payload
 *
 * Return: the packet, or NULL if the frame is not a good one.
 */
const struct pkt *eth_port_next(struct eth_port *port, struct roce_rx *rx,
				struct sg *payload);

/** eth_port_forget() - drop the frames that were kept from a NIC that goes */
void eth_port_forget(struct eth_port *port, const struct fabric_end *gone);

/** eth_port_done() - the oldest frame is done with */
void eth_port_done(struct eth_port *port);

#endif /* DEVICE_RDMA_ETH_PORT_H */
