// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tell the network where a guest is that was moved here.
 *
 * Switches learn its MAC address from a frame of RARP.  Its neighbours hear of each GID: by
 * an ARP request of an IPv4 address for itself, or by an unsolicited advertisement of an
 * IPv6 address (RFC 4861, 7.2.6), with the tag of the GID's VLAN.
 */
#include <endian.h>
#include <string.h>

#include <linux/if_ether.h>

#include "function/announce.h"
#include "function/eth.h"
#include "packet/gid.h"
#include "rdma/rnic.h"

#define ANNOUNCE_TIMES	5u
#define ANNOUNCE_NS	(100 * 1000 * 1000ull)

/* The smallest frame, without its checksum. */
#define ANNOUNCE_LEAST	60u
#define ANNOUNCE_MOST	128u

#define ADVERT_LEN	32u

static const uint8_t broadcast[ETH_ALEN] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t all_nodes_mac[ETH_ALEN] = { 0x33, 0x33, 0, 0, 0, 1 };
static const uint8_t all_nodes[GID_SIZE] = { 0xff, 0x02, [15] = 1 };

/**
 * struct announcement - a frame
 * @data:	its bytes
 * @len:	how many
 */
struct announcement {
	uint8_t data[ANNOUNCE_MOST];
	size_t len;
};

static void put(struct announcement *frame, const void *p, size_t n)
{
	memcpy(frame->data + frame->len, p, n);
	frame->len += n;
}

static void put16(struct announcement *frame, uint16_t value)
{
	const uint16_t be = htobe16(value);

	put(frame, &be, sizeof(be));
}

static void put_ethernet(struct announcement *frame, const struct function *fn,
			 const uint8_t *to, uint16_t vlan, uint16_t type)
{
	memset(frame, 0, sizeof(*frame));
	put(frame, to, ETH_ALEN);
	put(frame, fn->filter.mac, ETH_ALEN);
	if (vlan) {
		put16(frame, ETH_P_8021Q);
		put16(frame, vlan & VIRTIO_RDMA_GID_VLAN_MASK);
	}
	put16(frame, type);
}

/* @ip: of sender and target, or NULL for none; @target: MAC address of that. */
static void put_arp(struct announcement *frame, const struct function *fn, uint16_t op,
		    const uint8_t *ip, const uint8_t *target)
{
	static const uint8_t none[4], sizes[] = { ETH_ALEN, sizeof(none) };

	put16(frame, 1);
	put16(frame, ETH_P_IP);
	put(frame, sizes, sizeof(sizes));
	put16(frame, op);
	put(frame, fn->filter.mac, ETH_ALEN);
	put(frame, ip ? ip : none, sizeof(none));
	put(frame, target, ETH_ALEN);
	put(frame, ip ? ip : none, sizeof(none));
}

static void announce_send(struct function *fn, struct announcement *frame)
{
	if (frame->len < ANNOUNCE_LEAST)
		frame->len = ANNOUNCE_LEAST;
	eth_rnic_ops.send(fn, frame->data, frame->len);
}

static void announce_mac(struct function *fn)
{
	struct announcement frame;

	put_ethernet(&frame, fn, broadcast, 0, ETH_P_RARP);
	put_arp(&frame, fn, 3, NULL, fn->filter.mac);
	announce_send(fn, &frame);
}

static void announce_ipv4(struct function *fn, const uint8_t *ip, uint16_t vlan)
{
	static const uint8_t nobody[ETH_ALEN];
	struct announcement frame;

	put_ethernet(&frame, fn, broadcast, vlan, ETH_P_ARP);
	put_arp(&frame, fn, 1, ip, nobody);
	announce_send(fn, &frame);
}

/* Of an even number of bytes. */
static uint32_t sum_of(const uint8_t *p, size_t n, uint32_t sum)
{
	size_t i;

	for (i = 0; i < n; i += 2)
		sum += p[i] << 8 | p[i + 1];
	return sum;
}

static uint16_t advert_sum(const uint8_t *source, const uint8_t *advert)
{
	uint32_t sum = ADVERT_LEN + 58;

	sum = sum_of(source, GID_SIZE, sum);
	sum = sum_of(all_nodes, GID_SIZE, sum);
	sum = sum_of(advert, ADVERT_LEN, sum);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static void announce_ipv6(struct function *fn, const uint8_t *ip, uint16_t vlan)
{
	/* Version 6; next header 58, 255 hops. */
	static const uint8_t header[] = { 0x60, 0, 0, 0, 0, ADVERT_LEN, 58, 255 };
	/* Type 136, and "override"; the option has the MAC address. */
	static const uint8_t advert[] = { 136, 0, 0, 0, 0x20, 0, 0, 0 };
	static const uint8_t option[] = { 2, 1 };
	struct announcement frame;
	uint16_t sum;
	size_t at;

	put_ethernet(&frame, fn, all_nodes_mac, vlan, ETH_P_IPV6);
	put(&frame, header, sizeof(header));
	put(&frame, ip, GID_SIZE);
	put(&frame, all_nodes, GID_SIZE);
	at = frame.len;
	put(&frame, advert, sizeof(advert));
	put(&frame, ip, GID_SIZE);
	put(&frame, option, sizeof(option));
	put(&frame, fn->filter.mac, ETH_ALEN);
	sum = htobe16(advert_sum(ip, frame.data + at));
	memcpy(frame.data + at + 2, &sum, sizeof(sum));
	announce_send(fn, &frame);
}

static void announce_all(struct function *fn)
{
	const uint8_t *raw;
	uint16_t vlan;
	uint32_t i;

	announce_mac(fn);
	for (i = 0; i < RNIC_GIDS; i++) {
		raw = rnic_gid(fn->rnic, i, &vlan);
		if (!raw)
			continue;
		if (gid_is_ipv4(raw))
			announce_ipv4(fn, raw + GID_IPV4, vlan);
		else
			announce_ipv6(fn, raw, vlan);
	}
	switch_flush(fn->sw);
}

static void announce_timer(void *arg)
{
	struct function *fn = arg;

	announce_all(fn);
	if (--fn->announce_left)
		loop_timer_set(fn->loop, &fn->announce, ANNOUNCE_NS);
}

void announce_init(struct function *fn)
{
	fn->announce.fn = announce_timer;
	fn->announce.arg = fn;
}

void announce_start(struct function *fn)
{
	fn->announce_left = ANNOUNCE_TIMES;
	announce_timer(fn);
}

void announce_stop(struct function *fn)
{
	loop_timer_cancel(fn->loop, &fn->announce);
}
