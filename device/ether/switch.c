// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A learning Ethernet switch.
 *
 * Theory of operation
 *
 * The switch learns from the source address of each frame which port a station
 * is behind, and forgets it SWITCH_AGE_NS after the station's last frame.  The
 * table has a fixed number of small buckets.  So nothing is allocated, and no
 * guest can make a look-up long.
 *
 * A guest also cannot make the switch forget other stations, whose frames would then be
 * flooded to it.  Each port has a quota of entries, beyond which its own oldest entry
 * is removed.  An entry replaces one of another port only if that station is silent.
 * The hash has a secret key.  A station that finds no place is not learned, and frames
 * to it are flooded.
 *
 * Stations are known by their addresses only.  A guest that sends with another
 * guest's address gets that guest's frames until the other one sends again, as
 * on any switch of this kind.  The operator can pin addresses to a port (pin.h):
 * then it can send with no others, and no other port with its MAC address.  While the guest
 * is on another host, a port with a network can.
 *
 * A frame passes these points in this order:
 *   if addresses are pinned to the port, a look at those of the frame;
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

#include "base/hash.h"
#include "base/util.h"
#include "ether/offload.h"
#include "ether/pcap.h"
#include "ether/switch.h"
#include "virtio/mem.h"
#include "virtio/virtq.h"

#define SWITCH_BUCKET_BITS	10
#define SWITCH_BUCKETS		(1 << SWITCH_BUCKET_BITS)
#define SWITCH_BUCKET_SIZE	4
#define SWITCH_AGE_NS		(300 * 1000000000ULL)

/* To give a frame to a port costs as much as so many bytes, besides the frame's own. */
#define SWITCH_FRAME_WORK	512

/**
 * struct station - a station that was heard
 * @port:	port it is behind, or NULL in a free entry
 * @seen:	when, by the loop's clock
 * @mac:	its address
 * @entry:	of the stations of @port, the one that was heard last at the end
 */
struct station {
	struct switch_port *port;
	uint64_t seen;
	uint8_t mac[ETH_ALEN];
	TAILQ_ENTRY(station) entry;
};

/**
 * struct l2_switch - a switch
 * @loop:	for its time
 * @pcap:	capture file or NULL
 * @ports:	what is connected
 * @waiting:	those that @finish is needed for
 * @work:	of switch_work()
 * @nobody:	group of ports that have none
 * @finish:	room to finish frames in.  What comes out of it is finished, so
 *		that it is not needed twice at once
 * @head:	the beginning of a frame that is looked at
 * @pieces:	that, and the rest of the frame
 * @key:	of the hash
 * @station:	stations heard, by hash of the address
 */
struct l2_switch {
	struct loop *loop;
	struct pcap *pcap;
	LIST_HEAD(, switch_port) ports;
	LIST_HEAD(, switch_port) waiting;
	uint64_t work;
	struct port_group nobody;
	struct offload finish;
	uint8_t head[PIN_HEAD];
	struct iovec pieces[VIRTQ_IOV_MAX + 1];
	struct hash_key key;
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
	hash_key_init(&sw->key);
	LIST_INIT(&sw->ports);
	LIST_INIT(&sw->waiting);
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

/* Frames from a port and frames to it have separate sequences of random numbers. */
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
	port->stations = 0;
	port->last = NULL;
	TAILQ_INIT(&port->station);
	if (!port->quota)
		port->quota = SWITCH_PORT_STATIONS;
	if (!port->group)
		port->group = &sw->nobody;
	switch_faults(port);
	LIST_INSERT_HEAD(&sw->ports, port, entry);
}

static void station_forget(struct station *st)
{
	if (!st->port)
		return;
	TAILQ_REMOVE(&st->port->station, st, entry);
	st->port->stations--;
	st->port = NULL;
}

static void stations_forget(struct switch_port *port)
{
	while (!TAILQ_EMPTY(&port->station))
		station_forget(TAILQ_FIRST(&port->station));
}

void switch_port_del(struct l2_switch *sw __always_unused,
		     struct switch_port *port)
{
	LIST_REMOVE(port, entry);
	fault_fini(&port->fault_in);
	fault_fini(&port->fault_out);
	stations_forget(port);
}

void switch_set_away(struct switch_port *port, bool away)
{
	port->away = away;
	if (away)
		stations_forget(port);
}

void switch_forget(struct l2_switch *sw, const void *origin)
{
	struct switch_port *port;

	LIST_FOREACH(port, &sw->ports, entry) {
		fault_forget(&port->fault_in, origin);
		fault_forget(&port->fault_out, origin);
	}
}

static struct station *switch_bucket(struct l2_switch *sw, const uint8_t *mac)
{
	return sw->station[hash_bytes(&sw->key, mac, ETH_ALEN) % SWITCH_BUCKETS];
}

static bool station_silent(const struct l2_switch *sw, const struct station *st)
{
	return loop_now(sw->loop) - st->seen >= SWITCH_AGE_NS;
}

static bool station_is(const struct station *st, const uint8_t *mac)
{
	return st->port && !memcmp(st->mac, mac, ETH_ALEN);
}

/*
 * The entry of @bucket for a new station behind @port, or NULL: a free one, or
 * one of a silent station, or else the oldest of the port's own.
 */
static struct station *switch_place(struct l2_switch *sw,
				    const struct switch_port *port,
				    struct station *bucket)
{
	struct station *st, *own = NULL;
	unsigned int i;

	for (i = 0; i < SWITCH_BUCKET_SIZE; i++) {
		st = &bucket[i];
		if (!st->port || station_silent(sw, st))
			return st;
		if (st->port == port && (!own || st->seen < own->seen))
			own = st;
	}
	return own;
}

/* A station is behind @port now; if these are too many, its oldest one has to go. */
static void station_move(struct station *st, struct switch_port *port)
{
	station_forget(st);
	if (port->stations == port->quota)
		station_forget(TAILQ_FIRST(&port->station));
	st->port = port;
	port->stations++;
	TAILQ_INSERT_TAIL(&port->station, st, entry);
}

/*
 * Is an address pinned to another port?  A guest that is on another host is somewhere in the
 * network, and no other guest of this daemon.
 */
static bool switch_is_taken(const struct l2_switch *sw,
			    const struct switch_port *port, const uint8_t *mac)
{
	const struct switch_port *other;

	LIST_FOREACH(other, &sw->ports, entry)
		if (other != port && other->pin && other->pin->has_mac &&
		    !(other->away && port->network) &&
		    !memcmp(other->pin->mac, mac, ETH_ALEN))
			return true;
	return false;
}

/* A station is behind @port; false if it may not be there. */
static bool switch_learn(struct l2_switch *sw, struct switch_port *port,
			 const uint8_t *mac)
{
	struct station *bucket, *st = NULL;
	unsigned int i;

	if (mac_is_multicast(mac))
		return true;
	/* Most often it is the one that was heard last. */
	st = TAILQ_LAST(&port->station, stations);
	if (st && station_is(st, mac)) {
		st->seen = loop_now(sw->loop);
		return true;
	}
	st = NULL;
	bucket = switch_bucket(sw, mac);
	for (i = 0; i < SWITCH_BUCKET_SIZE && !st; i++)
		if (station_is(&bucket[i], mac))
			st = &bucket[i];
	if ((!st || st->port != port) && switch_is_taken(sw, port, mac))
		return false;
	if (!st) {
		st = switch_place(sw, port, bucket);
		if (!st)
			return true;
		memcpy(st->mac, mac, ETH_ALEN);
	}
	if (st->port != port) {
		station_move(st, port);
	} else if (TAILQ_NEXT(st, entry)) {
		TAILQ_REMOVE(&port->station, st, entry);
		TAILQ_INSERT_TAIL(&port->station, st, entry);
	}
	st->seen = loop_now(sw->loop);
	return true;
}

/*
 * Port that the station is behind which @from sends to, or NULL if it is not
 * known.  Most often it is the one of the frame before.
 */
static struct switch_port *switch_find(struct l2_switch *sw,
				       struct switch_port *from,
				       const uint8_t *mac)
{
	struct station *bucket, *last = from->last;
	unsigned int i;

	if (last && station_is(last, mac) && !station_silent(sw, last))
		return last->port;
	bucket = switch_bucket(sw, mac);
	for (i = 0; i < SWITCH_BUCKET_SIZE; i++)
		if (station_is(&bucket[i], mac) &&
		    !station_silent(sw, &bucket[i])) {
			from->last = &bucket[i];
			return bucket[i].port;
		}
	return NULL;
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
	port->sw->work += SWITCH_FRAME_WORK + frame->len;
	port->deliver(port->arg, frame);
}

static void switch_inject_in(void *arg, const struct frame *frame)
{
	struct switch_port *port = arg;

	fault_frame(&port->fault_in, frame);
}

static void switch_emit(struct switch_port *port, const struct frame *frame)
{
	if (port->faults)
		fault_frame(&port->fault_out, frame);
	else
		switch_give(port, frame);
}

/* Gives a frame to a port, or has the port wait for what is still to be done to it. */
static void switch_deliver(struct switch_port *port, const struct frame *frame)
{
	if (port->group->cut)
		port->group->stats.cut++;
	else if (offload_needs(frame) & ~(port->faults ? 0 : port->offloads))
		LIST_INSERT_HEAD(&port->sw->waiting, port, waits);
	else
		switch_emit(port, frame);
}

static void switch_emit_waiting(void *arg, const struct frame *frame)
{
	struct l2_switch *sw = arg;
	struct switch_port *port;

	LIST_FOREACH(port, &sw->waiting, waits)
		switch_emit(port, frame);
}

bool switch_is_behind(const struct switch_port *port, const uint8_t *mac)
{
	struct station *bucket = switch_bucket(port->sw, mac);
	unsigned int i;

	for (i = 0; i < SWITCH_BUCKET_SIZE; i++)
		if (station_is(&bucket[i], mac))
			return bucket[i].port == port;
	return false;
}

/* Each segment costs what a frame does, also where faults drop it. */
static void switch_count_finish(struct l2_switch *sw, const struct frame *frame)
{
	sw->work += frame->len + offload_segments(frame) * SWITCH_FRAME_WORK;
}

/* Finishes a frame once, for all ports that wait for it. */
static void switch_finish(struct l2_switch *sw, const struct frame *frame)
{
	struct switch_port *port;
	int err;

	if (LIST_EMPTY(&sw->waiting))
		return;
	switch_count_finish(sw, frame);
	err = offload_finish(&sw->finish, frame, switch_emit_waiting, sw);
	if (err)
		LIST_FOREACH(port, &sw->waiting, waits)
			port->group->stats.unfinished++;
	LIST_INIT(&sw->waiting);
}

/*
 * A frame that comes out of @finish is finished.  So while a port has another one, nobody
 * uses that.
 */
void switch_finish_for(struct switch_port *port, const struct frame *frame,
		       void (*emit)(void *arg, const struct frame *frame), void *arg)
{
	switch_count_finish(port->sw, frame);
	if (offload_finish(&port->sw->finish, frame, emit, arg))
		port->group->stats.unfinished++;
}

/* Brings a frame from port @arg to those that it is for. */
static void switch_forward(void *arg, const struct frame *frame)
{
	struct switch_port *from = arg, *port = NULL;
	const uint8_t *dst = frame->eth.ether_dhost;
	struct l2_switch *sw = from->sw;

	if (!switch_learn(sw, from, frame->eth.ether_shost)) {
		from->group->stats.spoofed++;
		return;
	}
	if (sw->pcap)
		pcap_write(sw->pcap, frame);

	if (!mac_is_multicast(dst))
		port = switch_find(sw, from, dst);
	if (port) {
		if (port != from)
			switch_deliver(port, frame);
	} else {
		LIST_FOREACH(port, &sw->ports, entry)
			if (port != from)
				switch_deliver(port, frame);
	}
	switch_finish(sw, frame);
}

/*
 * Looks at the addresses of a frame.  The bytes looked at are those that are sent, though
 * the guest may still write to the frame: @out has the beginning in a copy.
 */
static bool switch_check(struct switch_port *from, const struct frame *frame,
			 struct frame *out)
{
	size_t n = frame->len < PIN_HEAD ? frame->len : PIN_HEAD;
	size_t sum = frame->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM ?
		     (size_t)le16toh(frame->hdr.csum_start) +
		     le16toh(frame->hdr.csum_offset) : 0;
	struct l2_switch *sw = from->sw;
	struct iovec *piece = sw->pieces;
	size_t skip = frame->off + n;
	unsigned int i;

	if (frame->iov_n > VIRTQ_IOV_MAX ||
	    iov_to_buf(frame->iov, frame->iov_n, frame->off, sw->head, n) < n ||
	    !pin_frame_ok(from->pin, sw->head, n, sum))
		return false;
	*piece++ = (struct iovec){ sw->head, n };
	for (i = 0; i < frame->iov_n; i++) {
		const struct iovec *iov = &frame->iov[i];

		if (skip >= iov->iov_len) {
			skip -= iov->iov_len;
			continue;
		}
		*piece++ = (struct iovec){ (uint8_t *)iov->iov_base + skip,
					   iov->iov_len - skip };
		skip = 0;
	}
	if (frame_init(out, sw->pieces, piece - sw->pieces, 0, frame->len))
		return false;
	out->wire_len = frame->wire_len;
	out->hdr = frame->hdr;
	out->origin = frame->origin;
	return true;
}

void switch_send(struct switch_port *from, const struct frame *frame)
{
	struct port_group *group = from->group;
	struct frame checked;

	if (group->cut) {
		group->stats.cut++;
		return;
	}
	if (from->pin) {
		if (!switch_check(from, frame, &checked)) {
			group->stats.spoofed++;
			return;
		}
		frame = &checked;
	}
	if (group->pcap)
		pcap_write(group->pcap, frame);
	group->stats.in++;
	group->stats.in_bytes += frame->len;
	if (!from->faults) {
		switch_forward(from, frame);
		return;
	}
	if (!offload_needs(frame)) {
		switch_inject_in(from, frame);
		return;
	}
	switch_count_finish(from->sw, frame);
	if (offload_finish(&from->sw->finish, frame, switch_inject_in, from))
		group->stats.unfinished++;
}

uint64_t switch_work(const struct l2_switch *sw)
{
	return sw->work;
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
