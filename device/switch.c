// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Theory of operation
 *
 * Which port a station is behind is learned from the source addresses of what
 * it sends, and forgotten SWITCH_AGE_NS after the last frame.  The table is a
 * fixed one of small buckets, so that nothing is allocated and no guest can make
 * a look-up long: where a bucket is full the oldest entry goes, and frames to
 * it are flooded until it speaks again.
 *
 * A port can be told apart by address only, so a guest that sends with
 * another's address gets its frames until the other sends again, as on any
 * switch of this kind.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "pcap.h"
#include "switch.h"

#define SWITCH_BUCKET_BITS	10
#define SWITCH_BUCKETS		(1 << SWITCH_BUCKET_BITS)
#define SWITCH_BUCKET_SIZE	4
#define SWITCH_AGE_NS		(300 * 1000000000ULL)

#define VLAN_VID_MASK		0x0fff

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
 * @station:	stations heard, by hash of the address
 */
struct l2_switch {
	struct loop *loop;
	struct pcap *pcap;
	LIST_HEAD(, switch_port) ports;
	struct station station[SWITCH_BUCKETS][SWITCH_BUCKET_SIZE];
};

static bool mac_is_multicast(const uint8_t *mac)
{
	return mac[0] & 1;
}

int frame_init(struct frame *frame, const struct iovec *iov,
	       unsigned int iov_n, size_t off, size_t len)
{
	struct {
		struct ether_header eth;
		uint16_t tci;
	} __attribute__((packed)) head;
	size_t n = len < sizeof(head) ? len : sizeof(head);

	if (len < ETH_HLEN || iov_to_buf(iov, iov_n, off, &head, n) < n)
		return -EINVAL;

	memset(frame, 0, sizeof(*frame));
	frame->iov = iov;
	frame->iov_n = iov_n;
	frame->off = off;
	frame->len = len;
	frame->eth = head.eth;
	frame->vlan = -1;
	if (n == sizeof(head) && head.eth.ether_type == htobe16(ETHERTYPE_VLAN))
		frame->vlan = be16toh(head.tci) & VLAN_VID_MASK;
	return 0;
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

void switch_port_add(struct l2_switch *sw, struct switch_port *port)
{
	port->fresh = false;
	LIST_INSERT_HEAD(&sw->ports, port, entry);
}

void switch_port_del(struct l2_switch *sw, struct switch_port *port)
{
	unsigned int i, j;

	LIST_REMOVE(port, entry);
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

static void switch_deliver(struct switch_port *port, const struct frame *frame)
{
	port->fresh = true;
	port->deliver(port->arg, frame);
}

void switch_send(struct l2_switch *sw, struct switch_port *from,
		 const struct frame *frame)
{
	const uint8_t *dst = frame->eth.ether_dhost;
	struct switch_port *port = NULL;

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
