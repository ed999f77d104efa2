/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fabric: which NIC of this process has which GID, and how a packet gets
 * there.
 */
#ifndef DEVICE_RDMA_OBJECT_FABRIC_H
#define DEVICE_RDMA_OBJECT_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "packet/gid.h"
#include "packet/pkt.h"
#include "rdma/object/ctx.h"

struct fabric;
struct qp_table;
struct transport;

/**
 * struct fabric_end - a NIC as the fabric sees it
 * @fabric:	fabric that it belongs to
 * @ctx:	the NIC's context
 * @qps:	the NIC's QPs, for those that know them
 * @beyond:	transport to all that is not in the fabric
 * @deliver:	a packet has arrived for the NIC; what does not fit to the QP
 *		that it names is dropped.  Returns how many QPs it was for: more
 *		than one only if it is for a group
 * @has_mac:	is this the MAC address of the NIC's port, or of a station behind it?
 * @mtu:	largest IP packet that the NIC's port sends
 * @send_frame:	send a whole frame of @len bytes by the NIC's port, or lose it.  Returns the
 *		work for it, bytes
 * @forget:	another NIC ceases to exist: drop what came from it and waits
 * @packets:	of fabric_set_packets()
 * @entry:	of the fabric
 *
 * The NIC fills it in when it is made, so that nothing below has to know it.
 */
struct fabric_end {
	struct fabric *fabric;
	struct rnic_ctx *ctx;
	struct qp_table *qps;
	const struct transport *beyond;
	unsigned int (*deliver)(struct fabric_end *end, const struct pkt *pkt);
	bool (*has_mac)(const struct fabric_end *end, const uint8_t *mac);
	uint32_t (*mtu)(const struct fabric_end *end);
	uint64_t (*send_frame)(struct fabric_end *end, void *frame, size_t len);
	void (*forget)(struct fabric_end *end, const struct fabric_end *gone);
	bool packets;
	LIST_ENTRY(fabric_end) entry;
};

/**
 * struct gid - entry of a NIC's GID table
 * @raw:	the GID
 * @vlan:	%VIRTIO_RDMA_GID_TAGGED and the VLAN's number, or 0
 * @used:	the entry holds one
 * @place:	in the order in which all GIDs of the fabric came; 0: it comes last
 * @end:	NIC that it belongs to
 * @link:	of the fabric
 */
struct gid {
	uint8_t raw[GID_SIZE];
	uint16_t vlan;
	bool used;
	uint64_t place;
	struct fabric_end *end;
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
	void (*send)(struct fabric_end *from, struct fabric_end *to,
		     const struct pkt *pkt);
};

/* Between NICs of one process: by reference, at once, without loss. */
extern const struct transport transport_local;

/**
 * struct route - where a GID leads
 * @transport:	how
 * @to:		destination, NULL unless it is reached in memory
 * @owner:	NIC of this process that has the GID, reached in memory or not, or
 *		NULL
 */
struct route {
	const struct transport *transport;
	struct fabric_end *to;
	const struct fabric_end *owner;
};

/** fabric_new() - make a fabric: NICs of one fabric reach each other in memory */
struct fabric *fabric_new(void);

/** fabric_use_packets() - NICs of this fabric, too, reach each other by packets */
void fabric_use_packets(struct fabric *fabric);

/**
 * fabric_set_packets() - shall a NIC and the others reach each other by packets?
 * @end:	NIC
 * @packets:	they shall; else in memory, if the fabric and the other NIC allow it
 *
 * May change at any time: connections go on.
 */
void fabric_set_packets(struct fabric_end *end, bool packets);

/** fabric_free() - free a fabric that has no NIC any more */
void fabric_free(struct fabric *fabric);

/** fabric_join() - a NIC that is filled in belongs to its fabric from now on */
void fabric_join(struct fabric_end *end);

/** fabric_leave() - it does not any more; it has no GID, and the others forget it */
void fabric_leave(struct fabric_end *end);

/**
 * fabric_set_local() - take another transport between the fabric's own NICs
 * @fabric:	fabric
 * @transport:	transport that ends in @deliver (a lossy one for tests)
 */
void fabric_set_local(struct fabric *fabric, const struct transport *transport);

/**
 * fabric_route() - look a destination up
 * @from:	NIC that sends
 * @dgid:	GID of the destination
 * @vlan:	VLAN of the source GID
 *
 * What is not in this fabric, and in the same VLAN, is beyond it.
 */
struct route fabric_route(const struct fabric_end *from, const uint8_t *dgid,
			  uint16_t vlan);

/**
 * fabric_is_from() - does a packet come from where its source GID is?
 * @fabric:	fabric
 * @pkt:	packet that has arrived
 *
 * Return: false if another NIC of this process has the GID than the one that the
 *	   packet comes from.  Of GIDs that none has, nothing is known.
 */
bool fabric_is_from(const struct fabric *fabric, const struct pkt *pkt);

/** fabric_epoch() - changes whenever fabric_route() may answer differently; not 0 */
uint64_t fabric_epoch(const struct fabric *fabric);

/** fabric_touch() - a QP of one of its NICs has changed its connection, or goes */
void fabric_touch(struct fabric *fabric);

/** fabric_stamp() - changes with fabric_epoch() and with fabric_touch(); not 0 */
uint64_t fabric_stamp(const struct fabric *fabric);

/** fabric_find() - entry that packets to a GID go to, or NULL */
struct gid *fabric_find(const struct fabric *fabric, const uint8_t *raw,
			uint16_t vlan);

/** fabric_has() - does this very NIC have a GID in a VLAN? */
bool fabric_has(const struct fabric_end *end, const uint8_t *raw, uint16_t vlan);

/** FABRIC_PLACE_MAX - no place is behind this one; so many GIDs never come */
#define FABRIC_PLACE_MAX	(1ull << 62)

/**
 * fabric_add() - a GID that is filled in leads to its NIC from now on
 * @gid:	it; with a @place that another process gave it, it stands there
 */
void fabric_add(struct gid *gid);

/** fabric_del() - it does not any more */
void fabric_del(struct gid *gid);

#endif /* DEVICE_RDMA_OBJECT_FABRIC_H */
