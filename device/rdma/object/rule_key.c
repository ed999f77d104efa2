// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fields of a frame that flow rules look at.
 *
 * A header that is cut off, or of a wrong version, is not there.  Ports are there only in
 * a packet that is no later fragment, directly behind the IP header.
 */
#include <endian.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/util.h"
#include "packet/inet.h"
#include "rdma/object/rule_key.h"

#define PORTS_LEN	4u

#define IPV4_DF		0x4000
#define IPV4_MF		0x2000
#define IPV6_LABEL	0x000fffff

static void key_ports(union rule_key *key, const uint8_t *p, size_t len)
{
	struct virtio_rdma_flow_match *match = &key->match;

	if (len < PORTS_LEN)
		return;
	if (match->proto == IPPROTO_TCP)
		match->layers |= htole32(VIRTIO_RDMA_FLOW_TCP);
	else if (match->proto == IPPROTO_UDP)
		match->layers |= htole32(VIRTIO_RDMA_FLOW_UDP);
	else
		return;
	memcpy(&match->src_port, p, sizeof(match->src_port));
	memcpy(&match->dst_port, p + 2, sizeof(match->dst_port));
}

static void key_ipv4(union rule_key *key, const uint8_t *p, size_t len)
{
	struct virtio_rdma_flow_match *match = &key->match;
	const size_t size = (p[0] & 0xf) * 4u;
	uint16_t frag;

	if (len < IPV4_HLEN || p[0] >> 4 != 4 || size < IPV4_HLEN)
		return;
	frag = get_be16(p + 6);
	match->layers |= htole32(VIRTIO_RDMA_FLOW_IPV4);
	match->tos = p[1];
	match->ttl = p[8];
	match->proto = p[9];
	match->ip_flags = (frag & IPV4_DF ? VIRTIO_RDMA_FLOW_DF : 0) |
			  (frag & IPV4_MF ? VIRTIO_RDMA_FLOW_MF : 0);
	memcpy(match->src_ip, p + 12, 4);
	memcpy(match->dst_ip, p + 16, 4);
	if (!(frag & IPV4_OFFSET) && len > size)
		key_ports(key, p + size, len - size);
}

static void key_ipv6(union rule_key *key, const uint8_t *p, size_t len)
{
	struct virtio_rdma_flow_match *match = &key->match;
	uint32_t word;

	if (len < IPV6_HLEN || p[0] >> 4 != 6)
		return;
	memcpy(&word, p, sizeof(word));
	match->layers |= htole32(VIRTIO_RDMA_FLOW_IPV6);
	match->tos = be32toh(word) >> 20 & 0xff;
	match->flow_label = htobe32(be32toh(word) & IPV6_LABEL);
	match->proto = p[6];
	match->ttl = p[7];
	memcpy(match->src_ip, p + 8, 16);
	memcpy(match->dst_ip, p + 24, 16);
	key_ports(key, p + IPV6_HLEN, len - IPV6_HLEN);
}

void rule_key(union rule_key *key, const uint8_t *head, size_t len)
{
	struct virtio_rdma_flow_match *match = &key->match;
	const uint8_t *p = head + ETH_HLEN;
	uint16_t type;

	*key = (union rule_key) {};
	if (len < ETH_HLEN)
		return;
	memcpy(match->dst_mac, head, ETH_ALEN);
	memcpy(match->src_mac, head + ETH_ALEN, ETH_ALEN);
	type = get_be16(p - 2);
	len -= ETH_HLEN;
	if (type == ETHERTYPE_VLAN && len >= INET_TAG_LEN) {
		match->layers = htole32(VIRTIO_RDMA_FLOW_VLAN);
		memcpy(&match->vlan_tag, p, sizeof(match->vlan_tag));
		type = get_be16(p + 2);
		p += INET_TAG_LEN;
		len -= INET_TAG_LEN;
	}
	match->ether_type = htobe16(type);
	if (type == ETHERTYPE_IP && len)
		key_ipv4(key, p, len);
	else if (type == ETHERTYPE_IPV6 && len)
		key_ipv6(key, p, len);
}

void rule_key_mask(union rule_key *to, const union rule_key *key,
		   const union rule_key *mask)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(to->word); i++)
		to->word[i] = key->word[i] & mask->word[i];
}

unsigned int rule_key_bits(const union rule_key *key)
{
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(key->word); i++)
		n += __builtin_popcountll(key->word[i]);
	return n;
}
