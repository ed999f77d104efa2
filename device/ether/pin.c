// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The addresses that a guest may use.
 *
 * A frame that cannot be understood is passed where no receiver would take it for
 * ARP, neighbor discovery or RoCE, and dropped where one might.
 */

#include <endian.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "ether/pin.h"
#include "packet/inet.h"

#define PIN_TAGS		2
#define PIN_TAG_LEN		4
#define PIN_QINQ		0x88a8
#define PIN_ROCE_PORT		4791

#define ARP_LEN			28
#define ARP_HTYPE		0
#define ARP_PTYPE		2
#define ARP_HLEN		4
#define ARP_PLEN		5
#define ARP_SENDER_MAC		8
#define ARP_SENDER_IP		14

#define IPV6_OPTIONS_MAX	4
#define IPV6_FRAGMENT_LEN	8
#define IPV6_FRAGMENT_AT	2
#define IPV6_FRAGMENT_MASK	0xfff8

/* The ports, which TCP and UDP begin with. */
#define L4_PORTS		4

#define ND_TARGET		8
#define ND_OPTION_UNIT		8

/**
 * struct rest - the part of a head that is still to be looked at
 * @p:		its first byte
 * @len:	bytes
 * @at:		where that is in the frame
 */
struct rest {
	const uint8_t *p;
	size_t len;
	size_t at;
};

static bool rest_skip(struct rest *rest, size_t len)
{
	if (rest->len < len)
		return false;
	rest->p += len;
	rest->len -= len;
	rest->at += len;
	return true;
}

/* The address that Linux and others make of a MAC address: EUI-64. */
static bool gid_is_of_mac(const uint8_t *gid, const uint8_t *mac)
{
	const uint8_t made[GID_SIZE] = {
		0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe,
		mac[3], mac[4], mac[5],
	};

	return gid_equal(gid, made);
}

bool pin_mac_ok(const struct pin *pin, const uint8_t *mac)
{
	return !pin->has_mac || !memcmp(mac, pin->mac, ETH_ALEN);
}

bool pin_gid_ok(const struct pin *pin, const uint8_t *gid)
{
	unsigned int i;

	if (!pin->gids)
		return true;
	for (i = 0; i < pin->gids; i++)
		if (gid_equal(pin->gid[i], gid))
			return true;
	return pin->has_mac && gid_is_of_mac(gid, pin->mac);
}

/* A station that has no address yet sends ARP requests with an address of zero. */
static bool pin_source_ok(const struct pin *pin, const uint8_t *gid)
{
	static const uint8_t nobody[GID_SIZE - GID_IPV4];

	return gid_is_zero(gid) ||
	       (gid_is_ipv4(gid) &&
		!memcmp(gid + GID_IPV4, nobody, sizeof(nobody))) ||
	       pin_gid_ok(pin, gid);
}

static bool pin_ipv4_ok(const struct pin *pin, const uint8_t *addr)
{
	uint8_t gid[GID_SIZE];

	gid_from_ipv4(gid, addr);
	return pin_source_ok(pin, gid);
}

static bool pin_arp_ok(const struct pin *pin, struct rest rest)
{
	if (rest.len < ARP_LEN || get_be16(rest.p + ARP_HTYPE) != ARPHRD_ETHER ||
	    get_be16(rest.p + ARP_PTYPE) != ETHERTYPE_IP ||
	    rest.p[ARP_HLEN] != ETH_ALEN || rest.p[ARP_PLEN] != 4)
		return false;
	return pin_mac_ok(pin, rest.p + ARP_SENDER_MAC) &&
	       pin_ipv4_ok(pin, rest.p + ARP_SENDER_IP);
}

static bool is_roce(const struct rest *udp)
{
	return udp->len >= UDP_DPORT + 2 &&
	       get_be16(udp->p + UDP_DPORT) == PIN_ROCE_PORT;
}

/*
 * A checksum that the guest left out is written after this check.  So its place must be
 * behind all that is checked, the ports included.
 */
static bool sum_ok(size_t sum, size_t l4)
{
	return !sum || sum >= l4 + L4_PORTS;
}

static bool pin_ip_ok(const struct pin *pin, struct rest rest, size_t sum)
{
	struct rest udp = rest;
	size_t hlen = rest.len ? (rest.p[0] & 0xf) * 4 : 0;

	if (!sum_ok(sum, rest.at + (hlen < IPV4_HLEN ? IPV4_HLEN : hlen)))
		return false;
	/* Only the first fragment has a port, and RoCE takes no fragments. */
	if (rest.len < IPV4_HLEN || rest.p[IPV4_PROTOCOL] != IPPROTO_UDP ||
	    (get_be16(rest.p + IPV4_FRAGMENT) & IPV4_OFFSET) ||
	    !rest_skip(&udp, hlen))
		return true;
	return !is_roce(&udp) || pin_ipv4_ok(pin, rest.p + IPV4_ADDRS);
}

/*
 * Messages of neighbor discovery: whose addresses they are about, and the
 * options that tell a MAC address.
 */
static bool pin_nd_ok(const struct pin *pin, struct rest rest)
{
	const uint8_t type = rest.p[0];
	size_t len;

	if (type == ND_NEIGHBOR_ADVERT &&
	    (rest.len < ND_TARGET + GID_SIZE ||
	     !pin_gid_ok(pin, rest.p + ND_TARGET)))
		return false;
	/* Bytes before the options. */
	len = type == ND_ROUTER_SOLICIT ? 8 : type == ND_ROUTER_ADVERT ? 16 :
	      type == ND_REDIRECT ? 40 : 24;
	if (!rest_skip(&rest, len))
		return false;
	while (rest.len >= ND_OPTION_UNIT) {
		/* The target of a redirect belongs to another station. */
		if ((rest.p[0] == ND_OPT_SOURCE_LINKADDR ||
		     (rest.p[0] == ND_OPT_TARGET_LINKADDR &&
		      type != ND_REDIRECT)) &&
		    !pin_mac_ok(pin, rest.p + 2))
			return false;
		if (!rest.p[1] ||
		    !rest_skip(&rest, rest.p[1] * ND_OPTION_UNIT))
			return false;
	}
	/* Bytes that the head does not hold could not be looked at. */
	return !rest.len;
}

/* Passes over the headers that may come before the one that matters. */
static bool ipv6_skip(struct rest *rest, uint8_t *next)
{
	unsigned int i;

	for (i = 0; i < IPV6_OPTIONS_MAX; i++) {
		if (*next != IPPROTO_HOPOPTS && *next != IPPROTO_ROUTING &&
		    *next != IPPROTO_DSTOPTS)
			return true;
		if (rest->len < 8)
			return false;
		*next = rest->p[0];
		if (!rest_skip(rest, (rest->p[1] + 1) * 8))
			return false;
	}
	return false;
}

/* Passes over a fragment header, and tells whether this is the first fragment. */
static bool ipv6_defragment(struct rest *rest, uint8_t *next, bool *first)
{
	if (*next != IPPROTO_FRAGMENT)
		return true;
	if (rest->len < IPV6_FRAGMENT_LEN)
		return false;
	*first = !(get_be16(rest->p + IPV6_FRAGMENT_AT) & IPV6_FRAGMENT_MASK);
	*next = rest->p[0];
	rest_skip(rest, IPV6_FRAGMENT_LEN);
	/* No honest packet has a second one. */
	return !*first || (ipv6_skip(rest, next) && *next != IPPROTO_FRAGMENT);
}

static bool pin_ipv6_ok(const struct pin *pin, struct rest rest, size_t sum)
{
	const uint8_t *source = rest.p + IPV6_ADDRS;
	bool first = true;
	uint8_t next;

	if (rest.len < IPV6_HLEN)
		return !sum;
	next = rest.p[IPV6_NEXT];
	rest_skip(&rest, IPV6_HLEN);
	if (!ipv6_skip(&rest, &next) || !ipv6_defragment(&rest, &next, &first) ||
	    !sum_ok(sum, rest.at))
		return false;
	/* Other fragments than the first have no ports. */
	if (!first)
		return true;
	if (next == IPPROTO_UDP)
		return !is_roce(&rest) || pin_source_ok(pin, source);
	if (next != IPPROTO_ICMPV6 || !rest.len ||
	    rest.p[0] < ND_ROUTER_SOLICIT || rest.p[0] > ND_REDIRECT)
		return true;
	return !sum && pin_source_ok(pin, source) && pin_nd_ok(pin, rest);
}

bool pin_frame_ok(const struct pin *pin, const uint8_t *head, size_t len,
		  size_t sum)
{
	struct rest rest = { head, len, 0 };
	unsigned int tags = 0;
	uint16_t type;

	if (len < ETH_HLEN || !pin_mac_ok(pin, head + ETH_ALEN))
		return false;
	rest_skip(&rest, ETH_HLEN);
	type = get_be16(head + 2 * ETH_ALEN);
	while (type == ETHERTYPE_VLAN || type == PIN_QINQ) {
		if (tags++ == PIN_TAGS || rest.len < PIN_TAG_LEN)
			return false;
		type = get_be16(rest.p + 2);
		rest_skip(&rest, PIN_TAG_LEN);
	}
	switch (type) {
	case ETHERTYPE_ARP:
		return !sum && pin_arp_ok(pin, rest);
	case ETHERTYPE_IP:
		return pin_ip_ok(pin, rest, sum);
	case ETHERTYPE_IPV6:
		return pin_ipv6_ok(pin, rest, sum);
	}
	return !sum;
}
