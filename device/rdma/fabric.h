/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fabric: who owns which GID, and how a packet gets there.
 */
#ifndef DEVICE_FABRIC_H
#define DEVICE_FABRIC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "packet/gid.h"
#include "packet/pkt.h"

struct fabric;
struct rnic;

/**
 * struct gid - entry of a NIC's GID table
 * @raw:	the GID
 * @vlan:	%VIRTIO_RDMA_GID_TAGGED and the VLAN's number, or 0
 * @used:	the entry holds one
 * @rnic:	NIC that it belongs to
 * @link:	of the fabric
 */
struct gid {
	uint8_t raw[GID_SIZE];
	uint16_t vlan;
	bool used;
	struct rnic *rnic;
	TAILQ_ENTRY(gid) link;
};

/**
 * struct transport - a way to bring packets to their destination
 * @name:	for messages
 * @seg_max:	largest payload of a packet, a multiple of 4096; 0 = path MTU
 * @send:	send a packet from one NIC to the one that @pkt is addressed to;
 *		the payload is read before it returns.  May deliver at once
 */
struct transport {
	const char *name;
	uint32_t seg_max;
	void (*send)(struct rnic *from, struct rnic *to, const struct pkt *pkt);
};

/* Between NICs of one process: by reference, at once, without loss. */
extern const struct transport transport_local;

/* To anyone else: as RoCEv2 packets, by the NIC's Ethernet port. */
extern const struct transport transport_wire;

/**
 * struct route - where a GID leads
 * @transport:	how
 * @rnic:	destination, NULL unless it is reached in memory
 */
struct route {
	const struct transport *transport;
	struct rnic *rnic;
};

/**
 * fabric_route() - look a destination up
 * @from:	NIC that sends
 * @dgid:	GID of the destination
 * @vlan:	VLAN of the source GID
 *
 * What is not in this fabric, and in the same VLAN, is beyond the wire.
 */
struct route fabric_route(const struct rnic *from, const uint8_t *dgid,
			  uint16_t vlan);

/** fabric_epoch() - changes whenever fabric_route() may answer differently */
uint32_t fabric_epoch(const struct fabric *fabric);

/**
 * fabric_set_local() - take another transport between the fabric's own NICs
 * @fabric:	fabric
 * @transport:	transport that ends in rnic_deliver() (a lossy one for tests)
 */
void fabric_set_local(struct fabric *fabric, const struct transport *transport);

/**
 * gid_add() - set an entry of a NIC's GID table
 * @rnic:	NIC
 * @index:	entry; what it held before is replaced
 * @raw:	the GID
 * @vlan:	%VIRTIO_RDMA_GID_TAGGED and the VLAN's number, or 0
 *
 * Return: NULL, or why not.
 */
const char *gid_add(struct rnic *rnic, uint32_t index, const uint8_t *raw,
		    uint16_t vlan);

/**
 * gid_del() - clear an entry of a NIC's GID table
 * @rnic:	NIC
 * @index:	entry
 *
 * Return: NULL, or why not.
 */
const char *gid_del(struct rnic *rnic, uint32_t index);

/** gid_del_all() - clear a NIC's GID table */
void gid_del_all(struct rnic *rnic);

/**
 * gid_get() - GID at an index
 * @rnic:	NIC
 * @index:	from anywhere
 *
 * Return: the entry, or NULL if it holds none.
 */
const struct gid *gid_get(const struct rnic *rnic, uint32_t index);

/** gid_is_mine() - does a NIC have this GID in this VLAN? */
bool gid_is_mine(const struct rnic *rnic, const uint8_t *raw, uint16_t vlan);

/** gid_has_vlan() - does a NIC have any GID in this VLAN? */
bool gid_has_vlan(const struct rnic *rnic, uint16_t vlan);

/**
 * rnic_deliver() - a packet has arrived for a NIC
 * @rnic:	NIC
 * @pkt:	packet; what does not fit to the QP that it names is dropped
 *
 * Return: how many QPs it was for: more than one only if it is for a group.
 */
unsigned int rnic_deliver(struct rnic *rnic, const struct pkt *pkt);

#endif /* DEVICE_FABRIC_H */
