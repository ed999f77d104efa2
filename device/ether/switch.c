// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A learning Ethernet switch.
 *
 * Theory of operation
 *
 * The switch learns from the source address of each frame which port a station
 * is behind, and forgets it SWITCH_AGE_NS after the station's last frame.  The
 * table has a fixed number of small buckets.  So nothing is allocated, and no
 * guest can make a look-up long.  In a full bucket the oldest entry is replaced;
 * frames to that station are flooded until it sends again.
 *
 * Stations are known by their addresses only.  A guest that sends with another
 * guest's address gets that guest's frames until the other one sends again, as
 * on any switch of this kind.
 *
 * A frame passes these points in this order:
 *   the port's capture file and counters;
 *   the faults of what comes from the port;
 *   the capture file of the whole switch, and the table of stations;
 *   for each receiver, checksum and segmentation that it does not take undone;
 *   the faults of what goes to the port, its capture file and counters.
 * Where a port has faults, checksum and segmentation are finished before they
 * act: so what is lost is a frame as a wire has it, and the receiver's check of
 * the sum finds a bit that was changed.
 */

#include <stdlib.h>
#include <string.h>

#include "ether/offload.h"
#include "ether/pcap.h"
#include "ether/switch.h"

#define SWITCH_BUCKET_BITS	10
#define SWITCH_BUCKETS		(1 << SWITCH_BUCKET_BITS)
#define SWITCH_BUCKET_SIZE	4
#define SWITCH_AGE_NS		(300 * 1000000000ULL)

/**
 * struct station - a station that was heard
 * @port:	port it is behind, or NULL in a free entry
 * @seen:	when, by the loop's clock
 * @mac:	its address
 */
struct station {
	struct switch_port *port;
	uint64_t seen;
	uint8_t mac[ETH_ALEN];
};

/**
 * struct l2_switch - a switch
 * @loop:	for its time
 * @pcap:	capture file or NULL
 * @ports:	what is connected
 * @nobody:	group of ports that have none
 * @finish:	room to finish frames in.  What comes out of it is finished, so
 *		that it is not needed twice at once
 * @station:	stations heard, by hash of the address
 */
struct l2_switch {
	struct loop *loop;
	struct pcap *pcap;
	LIST_HEAD(, switch_port) ports;
	struct port_group nobody;
	struct offload finish;
	struct station station[SWITCH_BUCKETS][SWITCH_BUCKET_SIZE];
};

static bool mac_is_multicast(const uint8_t *mac)
{
	return mac[0] & 1;
}

struct l2_switch *switch_new(struct loop *loop)
{
	struct l2_switch *sw = calloc(1, sizeof(*sw));

	if (!sw)
		return NULL;
	sw->loop = loop;
	LIST_INIT(&sw->ports);
	return sw;
}

void switch_free(struct l2_switch *sw)
{
	free(sw);
}

void switch_capture(struct l2_switch *sw, struct pcap *pcap)
{
	sw->pcap = pcap;
}

static void switch_forward(void *arg, const struct frame *frame);
static void switch_give(void *arg, const struct frame *frame);

static void switch_flush_port(void *arg)
{
	struct switch_port *port = arg;

	switch_flush(port->sw);
}

static const struct fault_ops fault_in_ops = {
	.emit = switch_forward,
	.flush = switch_flush_port,
};

static const struct fault_ops fault_out_ops = {
	.emit = switch_give,
	.flush = switch_flush_port,
};

/* Frames from a port and to it meet random numbers of their own. */
static void switch_faults(struct switch_port *port)
{
	const struct fault fault = {
		.config = &port->group->fault,
		.stats = &port->group->stats.fault,
		.loop = port->sw->loop,
		.arg = port,
	};

	port->faults = fault_any(fault.config);
	port->fault_in = fault;
	port->fault_in.ops = &fault_in_ops;
	fault_init(&port->fault_in, 0);
	port->fault_out = fault;
	port->fault_out.ops = &fault_out_ops;
	fault_init(&port->fault_out, 1);
}

void switch_port_add(struct l2_switch *sw, struct switch_port *port)
{
	port->sw = sw;
	port->fresh = false;
	if (!port->group)
		port->group = &sw->nobody;
	switch_faults(port);
	LIST_INSERT_HEAD(&sw->ports, port, entry);
}

void switch_port_del(struct l2_switch *sw, struct switch_port *port)
{
	unsigned int i, j;

	LIST_REMOVE(port, entry);
	fault_fini(&port->fault_in);
	fault_fini(&port->fault_out);
	for (i = 0; i < SWITCH_BUCKETS; i++)
		for (j = 0; j < SWITCH_BUCKET_SIZE; j++)
			if (sw->station[i][j].port == port)
				sw->station[i][j].port = NULL;
}

/* Each bit of the address reaches the upper bits of the product. */
static struct station *switch_bucket(struct l2_switch *sw, const uint8_t *mac)
{
	uint64_t key = 0;

	memcpy(&key, mac, ETH_ALEN);
	key *= 0x9e3779b97f4a7c15ULL;
	return sw->station[key >> (64 - SWITCH_BUCKET_BITS)];
}

static bool station_is(const struct station *st, const uint8_t *mac)
{
	return st->port && !memcmp(st->mac, mac, ETH_ALEN);
}

static void switch_learn(struct l2_switch *sw, struct switch_port *port,
			 const uint8_t *mac)
{
	struct station *bucket = switch_bucket(sw, mac);
	struct station *st = bucket;
	unsigned int i;

	if (mac_is_multicast(mac))
		return;
	for (i = 0; i < SWITCH_BUCKET_SIZE; i++) {
		if (station_is(&bucket[i], mac)) {
			st = &bucket[i];
			break;
		}
		if (st->port && (!bucket[i].port || bucket[i].seen < st->seen))
			st = &bucket[i];
	}
	st->port = port;
	st->seen = loop_now(sw->loop);
	memcpy(st->mac, mac, ETH_ALEN);
}

/* Port that a station is behind, or NULL if it is not known. */
static struct switch_port *switch_find(struct l2_switch *sw, const uint8_t *mac)
{
	struct station *bucket = switch_bucket(sw, mac);
	unsigned int i;

	for (i = 0; i < SWITCH_BUCKET_SIZE; i++)
		if (station_is(&bucket[i], mac) &&
		    loop_now(sw->loop) - bucket[i].seen < SWITCH_AGE_NS)
			return bucket[i].port;
	return NULL;
}

/* Finishes @frame but for what is @accepted, and gives what comes of it to @emit. */
static void switch_finish(struct switch_port *port, const struct frame *frame,
			  unsigned int accepted,
			  void (*emit)(void *arg, const struct frame *frame))
{
	if (!(offload_needs(frame) & ~accepted))
		emit(port, frame);
	else if (offload_finish(&port->sw->finish, frame, emit, port))
		port->group->stats.unfinished++;
}

/* The last thing that happens to a frame: its receiver gets it. */
static void switch_give(void *arg, const struct frame *frame)
{
	struct switch_port *port = arg;
	struct port_group *group = port->group;

	if (group->pcap)
		pcap_write(group->pcap, frame);
	group->stats.out++;
	group->stats.out_bytes += frame->len;
	port->fresh = true;
	port->deliver(port->arg, frame);
}

static void switch_inject_out(void *arg, const struct frame *frame)
{
	struct switch_port *port = arg;

	fault_frame(&port->fault_out, frame);
}

static void switch_inject_in(void *arg, const struct frame *frame)
{
	struct switch_port *port = arg;

	fault_frame(&port->fault_in, frame);
}

static void switch_deliver(struct switch_port *port, const struct frame *frame)
{
	if (port->group->cut)
		port->group->stats.cut++;
	else if (port->faults)
		switch_finish(port, frame, 0, switch_inject_out);
	else
		switch_finish(port, frame, port->offloads, switch_give);
}

/* Brings a frame from port @arg to those that it is for. */
static void switch_forward(void *arg, const struct frame *frame)
{
	struct switch_port *from = arg, *port = NULL;
	const uint8_t *dst = frame->eth.ether_dhost;
	struct l2_switch *sw = from->sw;

	if (sw->pcap)
		pcap_write(sw->pcap, frame);
	switch_learn(sw, from, frame->eth.ether_shost);

	if (!mac_is_multicast(dst))
		port = switch_find(sw, dst);
	if (port) {
		if (port != from)
			switch_deliver(port, frame);
		return;
	}
	LIST_FOREACH(port, &sw->ports, entry)
		if (port != from)
			switch_deliver(port, frame);
}

void switch_send(struct switch_port *from, const struct frame *frame)
{
	struct port_group *group = from->group;

	if (group->cut) {
		group->stats.cut++;
		return;
	}
	if (group->pcap)
		pcap_write(group->pcap, frame);
	group->stats.in++;
	group->stats.in_bytes += frame->len;
	if (from->faults)
		switch_finish(from, frame, 0, switch_inject_in);
	else
		switch_forward(from, frame);
}

void switch_flush(struct l2_switch *sw)
{
	struct switch_port *port;

	LIST_FOREACH(port, &sw->ports, entry) {
		if (!port->fresh)
			continue;
		port->fresh = false;
		port->flush(port->arg);
	}
}
