// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ARP and neighbor discovery of a node.
 *
 * A node answers who asks for one of its addresses, and learns from the question where the
 * asker is.  It asks itself when it is to answer somebody of whom that is not known.
 * Gratuitous announcements change what is known of a neighbour, and enter nobody.
 *
 * All that is looked at is a copy of the beginning of a frame.  A frame that is not exactly
 * as it should be is dropped.  One with a tag is not looked at, for a node is in no VLAN.
 */
#include <endian.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "node/node_arp.h"
#include "packet/inet.h"

#define ARP_LEN		28u
#define ARP_SHA		8
#define ARP_SPA		14
#define ARP_TPA		24
#define ARP_OP		6

/* Type and code, checksum, flags or nothing, target; and an option of an address. */
#define ND_FLAGS	4
#define ND_TARGET	8
#define ND_LEN		24u
#define ND_OPTION	8u
#define ND_HOPS		255
#define IPV6_HOPS	7

#define ND_SOLICITED	0x60
#define ND_OVERRIDE	0x20

/* Frames looked at in a round. */
#define ARP_BURST	32u

static const uint8_t broadcast[ETH_ALEN] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t all_nodes[GID_SIZE] = { 0xff, 0x02, [15] = 1 };
static const uint8_t all_nodes_mac[ETH_ALEN] = { 0x33, 0x33, 0, 0, 0, 1 };

/* The first bytes of an ARP packet: Ethernet, IPv4, sizes of their addresses. */
static const uint8_t arp_kind[ARP_OP] = { 0, 1, 8, 0, ETH_ALEN, 4 };

static bool is_mine(const struct node_arp *arp, const uint8_t *gid)
{
	const struct pin *pin = &arp->port->pin;
	unsigned int i;

	for (i = 0; i < pin->gids; i++)
		if (gid_equal(pin->gid[i], gid))
			return true;
	return false;
}

static void learn(struct node_arp *arp, const uint8_t *gid, const uint8_t *mac, bool spoke)
{
	if (!is_mine(arp, gid) && node_neigh_learn(&arp->neighs, gid, mac, spoke) &&
	    arp->known)
		arp->known(arp->arg, gid);
}

static void put_ethernet(const struct node_arp *arp, uint8_t *frame, const uint8_t *to,
			 uint16_t type)
{
	memcpy(frame, to, ETH_ALEN);
	memcpy(frame + ETH_ALEN, arp->port->pin.mac, ETH_ALEN);
	put_be16(frame + 2 * ETH_ALEN, type);
}

/* ------------------------------------------------------------------------- */
/* ARP                                                                       */
/* ------------------------------------------------------------------------- */

static void arp_send(struct node_arp *arp, uint16_t op, const uint8_t *from,
		     const uint8_t *to, const uint8_t *ip, const uint8_t *target)
{
	uint8_t frame[64] = {}, *p = frame + ETH_HLEN;

	put_ethernet(arp, frame, to, ETHERTYPE_ARP);
	memcpy(p, arp_kind, sizeof(arp_kind));
	put_be16(p + ARP_OP, op);
	memcpy(p + ARP_SHA, arp->port->pin.mac, ETH_ALEN);
	memcpy(p + ARP_SPA, from, 4);
	memcpy(p + ARP_TPA - ETH_ALEN, target, ETH_ALEN);
	memcpy(p + ARP_TPA, ip, 4);
	node_port_send(arp->port, frame, ETH_HLEN + ARP_LEN, sizeof(frame));
}

static void arp_look(struct node_arp *arp, const uint8_t *p, size_t len)
{
	uint8_t sender[GID_SIZE], target[GID_SIZE];
	uint16_t op;

	if (len < ARP_LEN || memcmp(p, arp_kind, sizeof(arp_kind)))
		return;
	op = get_be16(p + ARP_OP);
	if (op != ARPOP_REQUEST && op != ARPOP_REPLY)
		return;
	gid_from_ipv4(sender, p + ARP_SPA);
	gid_from_ipv4(target, p + ARP_TPA);
	learn(arp, sender, p + ARP_SHA, op == ARPOP_REQUEST && is_mine(arp, target));
	if (op == ARPOP_REQUEST && is_mine(arp, target) && !(p[ARP_SHA] & 1))
		arp_send(arp, ARPOP_REPLY, p + ARP_TPA, p + ARP_SHA, p + ARP_SPA,
			 p + ARP_SHA);
}

/* ------------------------------------------------------------------------- */
/* Neighbor discovery (RFC 4861)                                             */
/* ------------------------------------------------------------------------- */

static uint16_t nd_sum(const uint8_t *ip, const uint8_t *icmp, size_t len)
{
	uint64_t sum = sum_bytes(ip + IPV6_ADDRS, 2 * GID_SIZE) + sum_bytes(icmp, len);

	return ~sum_fold(sum + htobe16(len) + htobe16(IPPROTO_ICMPV6));
}

static void nd_send(struct node_arp *arp, const uint8_t *mac, const uint8_t *from,
		    const uint8_t *to, uint8_t type, uint8_t flags, const uint8_t *target)
{
	uint8_t frame[ETH_HLEN + IPV6_HLEN + ND_LEN + ND_OPTION] = {};
	uint8_t *ip = frame + ETH_HLEN, *icmp = ip + IPV6_HLEN, *option = icmp + ND_LEN;
	uint16_t sum;

	put_ethernet(arp, frame, mac, ETHERTYPE_IPV6);
	ip[0] = 0x60;
	put_be16(ip + IPV6_LEN, ND_LEN + ND_OPTION);
	ip[IPV6_NEXT] = IPPROTO_ICMPV6;
	ip[IPV6_HOPS] = ND_HOPS;
	memcpy(ip + IPV6_ADDRS, from, GID_SIZE);
	memcpy(ip + IPV6_ADDRS + GID_SIZE, to, GID_SIZE);
	icmp[0] = type;
	icmp[ND_FLAGS] = flags;
	memcpy(icmp + ND_TARGET, target, GID_SIZE);
	option[0] = type == ND_NEIGHBOR_SOLICIT ? ND_OPT_SOURCE_LINKADDR :
						  ND_OPT_TARGET_LINKADDR;
	option[1] = 1;
	memcpy(option + 2, arp->port->pin.mac, ETH_ALEN);
	sum = nd_sum(ip, icmp, ND_LEN + ND_OPTION);
	memcpy(icmp + 2, &sum, sizeof(sum));
	node_port_send(arp->port, frame, sizeof(frame), sizeof(frame));
}

/* The MAC address in an option of a type, or NULL. */
static const uint8_t *nd_option(const uint8_t *p, size_t len, uint8_t type)
{
	size_t size;

	while (len >= ND_OPTION) {
		size = (size_t)p[1] * ND_OPTION;
		if (!size || size > len)
			return NULL;
		if (p[0] == type)
			return p + 2;
		p += size;
		len -= size;
	}
	return NULL;
}

static void nd_solicited(struct node_arp *arp, const uint8_t *ip, const uint8_t *icmp,
			 const uint8_t *option)
{
	const uint8_t *from = ip + IPV6_ADDRS, *target = icmp + ND_TARGET;

	if (!is_mine(arp, target))
		return;
	/* Somebody wants to know whether an address that he likes is taken. */
	if (gid_is_zero(from)) {
		nd_send(arp, all_nodes_mac, target, all_nodes, ND_NEIGHBOR_ADVERT,
			ND_OVERRIDE, target);
		return;
	}
	if (option)
		learn(arp, from, option, true);
	option = node_neigh_find(&arp->neighs, from);
	if (option)
		nd_send(arp, option, target, from, ND_NEIGHBOR_ADVERT, ND_SOLICITED, target);
}

static void nd_look(struct node_arp *arp, const uint8_t *ip, size_t len)
{
	const uint8_t *icmp = ip + IPV6_HLEN, *option;
	size_t n;

	if (len < IPV6_HLEN + ND_LEN || ip[0] >> 4 != 6 || ip[IPV6_NEXT] != IPPROTO_ICMPV6 ||
	    ip[IPV6_HOPS] != ND_HOPS)
		return;
	n = get_be16(ip + IPV6_LEN);
	if (n < ND_LEN || n > len - IPV6_HLEN || icmp[1] || nd_sum(ip, icmp, n))
		return;
	option = nd_option(icmp + ND_LEN, n - ND_LEN, icmp[0] == ND_NEIGHBOR_SOLICIT ?
			   ND_OPT_SOURCE_LINKADDR : ND_OPT_TARGET_LINKADDR);
	if (icmp[0] == ND_NEIGHBOR_SOLICIT)
		nd_solicited(arp, ip, icmp, option);
	else if (icmp[0] == ND_NEIGHBOR_ADVERT && option)
		learn(arp, icmp + ND_TARGET, option, false);
}

/* ------------------------------------------------------------------------- */

bool node_arp_poll(struct node_arp *arp)
{
	const struct node_frame *frame;
	unsigned int n;
	uint16_t type;

	for (n = 0; n < ARP_BURST; n++) {
		frame = node_port_next(arp->port);
		if (!frame)
			break;
		type = get_be16(frame->data + 2 * ETH_ALEN);
		if (type == ETHERTYPE_ARP)
			arp_look(arp, frame->data + ETH_HLEN, frame->len - ETH_HLEN);
		else
			nd_look(arp, frame->data + ETH_HLEN, frame->len - ETH_HLEN);
	}
	return n;
}

void node_arp_ask(struct node_arp *arp, const uint8_t *from, const uint8_t *gid)
{
	static const uint8_t nobody[ETH_ALEN];
	uint8_t group[GID_SIZE] = { 0xff, 0x02, [11] = 1, 0xff };
	uint8_t mac[ETH_ALEN] = { 0x33, 0x33, 0xff };

	node_neigh_want(&arp->neighs, gid);
	if (gid_is_ipv4(gid)) {
		arp_send(arp, ARPOP_REQUEST, from + GID_IPV4, broadcast, gid + GID_IPV4,
			 nobody);
		return;
	}
	memcpy(group + 13, gid + 13, 3);
	memcpy(mac + 3, gid + 13, 3);
	nd_send(arp, mac, from, group, ND_NEIGHBOR_SOLICIT, 0, gid);
}
