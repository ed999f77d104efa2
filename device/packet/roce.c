// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCEv2: packets as bytes of an Ethernet frame, and back.
 *
 *	Ethernet [VLAN tag] IPv4|IPv6 UDP BTH [extension headers] payload pad ICRC
 *
 * pkt_headers() says which extension headers a packet has.  Each is a row of
 * roce_ext[] in roce_ext.c, in the order in which they stand in the packet, with a
 * function for each direction.
 *
 * A received packet is checked front to back, each length before what it covers
 * is read.  All of the frame must be accounted for: between the last byte of
 * payload and the end of the IP packet there are only padding and ICRC.
 */
#include <libdeflate.h>

#include "base/util.h"
#include "packet/roce.h"
#include "packet/roce_ext.h"

/* ------------------------------------------------------------------------- */
/* ICRC                                                                      */
/* ------------------------------------------------------------------------- */

/* Offset of the IP header. */
static size_t roce_ip_offset(const uint8_t *frame)
{
	const struct ether_header *eth = (const struct ether_header *)frame;

	return eth->ether_type == htobe16(ETHERTYPE_VLAN) ?
	       ETH_HLEN + ROCE_TAG_SIZE : ETH_HLEN;
}

/* Fields that routers may change count as ones. */
static void icrc_mask_ipv4(uint8_t *ip)
{
	struct iphdr hdr;

	memcpy(&hdr, ip, sizeof(hdr));
	hdr.tos = 0xff;
	hdr.ttl = 0xff;
	hdr.check = 0xffff;
	memcpy(ip, &hdr, sizeof(hdr));
}

static void icrc_mask_ipv6(uint8_t *ip)
{
	struct ip6_hdr hdr;

	memcpy(&hdr, ip, sizeof(hdr));
	hdr.ip6_flow |= htobe32(0x0fffffff);
	hdr.ip6_hlim = 0xff;
	memcpy(ip, &hdr, sizeof(hdr));
}

size_t roce_icrc_head(uint8_t *head, const uint8_t *frame)
{
	size_t off = roce_ip_offset(frame);
	bool ipv4 = frame[off] >> 4 == 4;
	size_t ip_size = ipv4 ? ROCE_IPV4_SIZE : ROCE_IPV6_SIZE;
	size_t size = ip_size + ROCE_UDP_SIZE + ROCE_BTH_SIZE;
	uint8_t *ip = head + ICRC_LRH_SIZE;

	memset(head, 0xff, ICRC_LRH_SIZE);
	memcpy(ip, frame + off, size);
	if (ipv4)
		icrc_mask_ipv4(ip);
	else
		icrc_mask_ipv6(ip);
	memset(ip + ip_size + offsetof(struct udphdr, uh_sum), 0xff,
	       sizeof(uint16_t));
	ip[ip_size + ROCE_UDP_SIZE + BTH_RESERVED] = 0xff;
	return ICRC_LRH_SIZE + size;
}

uint32_t roce_icrc(const uint8_t *frame, size_t end)
{
	size_t size, off = roce_ip_offset(frame);
	uint8_t head[ICRC_HEAD_MAX];
	uint32_t crc;

	size = roce_icrc_head(head, frame);
	crc = libdeflate_crc32(0, head, size);
	off += size - ICRC_LRH_SIZE;
	crc = libdeflate_crc32(crc, frame + off, end - off);
	return htole32(crc);
}

/* Goes on from @icrc with all from the BTH to the end, once more. */
static uint32_t roce_icrc_again(const uint8_t *frame, size_t end, uint32_t icrc)
{
	size_t off = roce_ip_offset(frame);

	off += (frame[off] >> 4 == 4 ? ROCE_IPV4_SIZE : ROCE_IPV6_SIZE) +
	       ROCE_UDP_SIZE;
	return htole32(libdeflate_crc32(le32toh(icrc), frame + off, end - off));
}

/**
 * struct icrc_mask - what stands where the ICRC takes ones instead
 * @ip:		the IP header, and what is in front of it
 * @sum:	UDP checksum
 * @reserved:	byte of the BTH
 */
struct icrc_mask {
	uint8_t ip[ICRC_LRH_SIZE + ROCE_IPV6_SIZE];
	uint8_t sum[2];
	uint8_t reserved;
};

static void icrc_swap_ipv4(uint8_t *ip, struct icrc_mask *mask)
{
	uint8_t *from = ip - ICRC_LRH_SIZE;

	memcpy(mask->ip, from, ICRC_LRH_SIZE + ROCE_IPV4_SIZE);
	memset(from, 0xff, ICRC_LRH_SIZE);
	icrc_mask_ipv4(ip);
}

static void icrc_swap_ipv6(uint8_t *ip, struct icrc_mask *mask)
{
	uint8_t *from = ip - ICRC_LRH_SIZE;

	memcpy(mask->ip, from, ICRC_LRH_SIZE + ROCE_IPV6_SIZE);
	memset(from, 0xff, ICRC_LRH_SIZE);
	icrc_mask_ipv6(ip);
}

/* As roce_icrc(), without a copy.  All that is masked meanwhile is put back. */
static uint32_t roce_icrc_in_place(uint8_t *frame, size_t end)
{
	uint8_t *ip = frame + roce_ip_offset(frame), *udp, *bth;
	const bool ipv4 = ip[0] >> 4 == 4;
	struct icrc_mask mask;
	uint32_t crc;

	if (ipv4)
		icrc_swap_ipv4(ip, &mask);
	else
		icrc_swap_ipv6(ip, &mask);
	udp = ip + (ipv4 ? ROCE_IPV4_SIZE : ROCE_IPV6_SIZE);
	bth = udp + ROCE_UDP_SIZE;
	memcpy(mask.sum, udp + offsetof(struct udphdr, uh_sum), sizeof(mask.sum));
	memset(udp + offsetof(struct udphdr, uh_sum), 0xff, sizeof(mask.sum));
	mask.reserved = bth[BTH_RESERVED];
	bth[BTH_RESERVED] = 0xff;

	crc = libdeflate_crc32(0, ip - ICRC_LRH_SIZE, frame + end - ip + ICRC_LRH_SIZE);

	bth[BTH_RESERVED] = mask.reserved;
	memcpy(udp + offsetof(struct udphdr, uh_sum), mask.sum, sizeof(mask.sum));
	if (ipv4)
		memcpy(ip - ICRC_LRH_SIZE, mask.ip, ICRC_LRH_SIZE + ROCE_IPV4_SIZE);
	else
		memcpy(ip - ICRC_LRH_SIZE, mask.ip, ICRC_LRH_SIZE + ROCE_IPV6_SIZE);
	return htole32(crc);
}

bool roce_icrc_ok(struct roce_rx *rx, uint8_t *frame)
{
	uint32_t icrc = roce_icrc_in_place(frame, rx->icrc);

	if (!memcmp(&icrc, frame + rx->icrc, sizeof(icrc)))
		return true;
	if (rx->pkt.opcode != PKT_OPCODE(PKT_RC, PKT_FLUSH))
		return false;
	rx->pkt.icrc_twice = true;
	icrc = roce_icrc_again(frame, rx->icrc, icrc);
	return !memcmp(&icrc, frame + rx->icrc, sizeof(icrc));
}

/* ------------------------------------------------------------------------- */
/* Building                                                                  */
/* ------------------------------------------------------------------------- */

/*
 * The port spreads connections over the paths of a network: from the flow label
 * if the sender has given one, else from the two QPNs, by the rules that Linux
 * has for both.
 */
static uint16_t roce_sport(uint32_t flow, uint32_t src_qpn, uint32_t dest_qpn)
{
	uint64_t v = (uint64_t)src_qpn * dest_qpn;

	if (!flow) {
		v ^= v >> 20;
		v ^= v >> 40;
		flow = v & ROCE_FLOW_MASK;
	}
	return ((flow & 0x3fff) ^ flow >> 14) | 0xc000;
}

void roce_path_init(struct roce_path *path, const struct pkt *pkt,
		    const uint8_t *smac)
{
	const struct pkt_av *av = pkt->av;

	*path = (struct roce_path) {
		.vlan = pkt->vlan,
		.priority = av->priority,
		.tclass = av->tclass,
		.hops = av->hops ? av->hops : ROCE_HOPS,
		.flow = av->flow & ROCE_FLOW_MASK,
		.ip_id = pkt->psn,
		.migrated = true,
		.becn = pkt->opcode == PKT_CNP,
	};
	memcpy(path->dmac, av->dmac, ETH_ALEN);
	memcpy(path->smac, smac, ETH_ALEN);
	if (pkt->ect && !(path->tclass & ECN_MASK))
		path->tclass |= ECN_ECT0;
	path->sport = roce_sport(path->flow, pkt->src_qpn, pkt->dest_qpn);
}

/* Bytes from the UDP header to the end. */
static size_t roce_udp_size(const struct pkt *pkt)
{
	const struct pkt_op *op = pkt_op(pkt->opcode);

	return ROCE_UDP_SIZE + ROCE_BTH_SIZE +
	       roce_header_size(pkt_headers(op, pkt->opcode)) +
	       pkt->len + roce_pad(pkt->len) + ROCE_ICRC_SIZE;
}

size_t roce_ip_size(const struct pkt *pkt)
{
	return roce_udp_size(pkt) + (gid_is_ipv4(pkt->dgid) ? ROCE_IPV4_SIZE :
							      ROCE_IPV6_SIZE);
}

static uint8_t *roce_put_ipv4(uint8_t *p, const struct roce_path *path,
			      const struct pkt *pkt, size_t len)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = sizeof(ip) / 4,
		.tos = path->tclass,
		.tot_len = htobe16(sizeof(ip) + len),
		.id = htobe16(path->ip_id),
		.frag_off = htobe16(IP_DF),
		.ttl = path->hops,
		.protocol = IPPROTO_UDP,
	};

	memcpy(&ip.saddr, pkt->sgid + GID_IPV4, sizeof(ip.saddr));
	memcpy(&ip.daddr, pkt->dgid + GID_IPV4, sizeof(ip.daddr));
	ip.check = ~ipv4_sum(&ip);
	memcpy(p, &ip, sizeof(ip));
	return p + sizeof(ip);
}

static uint8_t *roce_put_ipv6(uint8_t *p, const struct roce_path *path,
			      const struct pkt *pkt, size_t len)
{
	struct ip6_hdr ip = {
		.ip6_flow = htobe32(6u << 28 | (uint32_t)path->tclass << 20 |
				    path->flow),
		.ip6_plen = htobe16(len),
		.ip6_nxt = IPPROTO_UDP,
		.ip6_hlim = path->hops,
	};

	memcpy(&ip.ip6_src, pkt->sgid, GID_SIZE);
	memcpy(&ip.ip6_dst, pkt->dgid, GID_SIZE);
	memcpy(p, &ip, sizeof(ip));
	return p + sizeof(ip);
}

static uint8_t *roce_put_ethernet(uint8_t *p, const struct roce_path *path,
				  bool ipv4)
{
	memcpy(p, path->dmac, ETH_ALEN);
	memcpy(p + ETH_ALEN, path->smac, ETH_ALEN);
	p += 2 * ETH_ALEN;
	if (path->vlan) {
		put_be16(p, ETHERTYPE_VLAN);
		put_be16(p + 2, (path->vlan & ROCE_VID_MASK) |
				path->priority << ROCE_PCP_SHIFT);
		p += ROCE_TAG_SIZE;
	}
	put_be16(p, ipv4 ? ETHERTYPE_IP : ETHERTYPE_IPV6);
	return p + 2;
}

/* The checksum is left out, as the ICRC covers all that it would. */
static uint8_t *roce_put_udp(uint8_t *p, const struct roce_path *path,
			     size_t len)
{
	put_be16(p, path->sport);
	put_be16(p + 2, ROCE_UDP_PORT);
	put_be16(p + 4, len);
	put_be16(p + 6, 0);
	return p + ROCE_UDP_SIZE;
}

static uint8_t *roce_put_bth(uint8_t *p, const struct roce_path *path,
			     const struct pkt *pkt)
{
	p[0] = pkt->opcode;
	p[1] = (pkt->solicited ? BTH_SOLICITED : 0) |
	       (path->migrated ? BTH_MIGRATED : 0) |
	       roce_pad(pkt->len) << BTH_PAD_SHIFT;
	put_be16(p + 2, ROCE_PKEY);
	p[BTH_RESERVED] = (path->fecn ? BTH_FECN : 0) |
			  (path->becn ? BTH_BECN : 0);
	put_be24(p + 5, pkt->dest_qpn);
	p[8] = (pkt->ack_req ? BTH_ACK_REQ : 0) | (pkt->same ? BTH_SAME : 0);
	put_be24(p + 9, pkt->psn);
	return p + ROCE_BTH_SIZE;
}

uint8_t *roce_build(uint8_t *frame, const struct roce_path *path,
		    const struct pkt *pkt)
{
	const struct pkt_op *op = pkt_op(pkt->opcode);
	bool ipv4 = gid_is_ipv4(pkt->dgid);
	uint8_t *p = frame;
	size_t len;

	if (!op || pkt->len > ROCE_PAYLOAD_MAX ||
	    gid_is_ipv4(pkt->sgid) != ipv4)
		return NULL;
	len = roce_udp_size(pkt);
	p = roce_put_ethernet(p, path, ipv4);
	p = ipv4 ? roce_put_ipv4(p, path, pkt, len) :
		   roce_put_ipv6(p, path, pkt, len);
	p = roce_put_udp(p, path, len);
	p = roce_put_bth(p, path, pkt);
	return roce_put_headers(p, pkt_headers(op, pkt->opcode), pkt);
}

size_t roce_finish(uint8_t *frame, uint8_t *payload, const struct pkt *pkt)
{
	uint8_t *p = payload + pkt->len;
	uint32_t icrc;

	memset(p, 0, roce_pad(pkt->len));
	p += roce_pad(pkt->len);
	icrc = roce_icrc(frame, p - frame);
	if (pkt->icrc_twice)
		icrc = roce_icrc_again(frame, p - frame, icrc);
	memcpy(p, &icrc, sizeof(icrc));
	return p + sizeof(icrc) - frame;
}

void roce_grh(const struct pkt *pkt, uint8_t *grh)
{
	static const uint8_t no_mac[ETH_ALEN];
	size_t len = roce_udp_size(pkt);
	struct roce_path path;

	roce_path_init(&path, pkt, no_mac);
	memset(grh, 0, ROCE_GRH_SIZE);
	if (gid_is_ipv4(pkt->dgid))
		roce_put_ipv4(grh + ROCE_GRH_IPV4, &path, pkt, len);
	else
		roce_put_ipv6(grh, &path, pkt, len);
}

/* ------------------------------------------------------------------------- */
/* Parsing                                                                   */
/* ------------------------------------------------------------------------- */

/**
 * struct roce_cursor - what is left of a frame
 * @p:		next byte
 * @left:	bytes from there on
 */
struct roce_cursor {
	const uint8_t *p;
	size_t left;
};

/* The next @n bytes, or NULL if there are fewer. */
static const uint8_t *roce_take(struct roce_cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (c->left < n)
		return NULL;
	c->p += n;
	c->left -= n;
	return p;
}

/* Returns the type of what follows, or 0. */
static uint16_t roce_get_ethernet(struct roce_cursor *c, struct roce_path *path)
{
	const uint8_t *p = roce_take(c, ETH_HLEN);
	uint16_t type;

	if (!p)
		return 0;
	memcpy(path->dmac, p, ETH_ALEN);
	memcpy(path->smac, p + ETH_ALEN, ETH_ALEN);
	path->vlan = 0;
	path->priority = 0;
	type = get_be16(p + 2 * ETH_ALEN);
	if (type != ETHERTYPE_VLAN)
		return type;
	p = roce_take(c, ROCE_TAG_SIZE);
	if (!p)
		return 0;
	/* A tag of VLAN 0 tells a priority only. */
	path->vlan = get_be16(p) & ROCE_VID_MASK;
	path->priority = get_be16(p) >> ROCE_PCP_SHIFT;
	if (path->vlan)
		path->vlan |= PKT_VLAN_TAGGED;
	return get_be16(p + 2);
}

/* Leaves in the cursor what the IP packet holds, without Ethernet's padding. */
static const char *roce_get_ipv4(struct roce_cursor *c, struct roce_rx *rx)
{
	const uint8_t *p = roce_take(c, sizeof(struct iphdr));
	struct iphdr ip;
	size_t len;

	if (!p)
		return "IPv4 header is cut off";
	memcpy(&ip, p, sizeof(ip));
	len = be16toh(ip.tot_len);
	if (ip.version != 4 || ip.ihl != sizeof(ip) / 4)
		return "IPv4 header with options, or none";
	if (ip.protocol != IPPROTO_UDP)
		return "not UDP";
	if (be16toh(ip.frag_off) & (IP_MF | IP_OFFMASK))
		return "a fragment";
	if (ipv4_sum(&ip) != 0xffff)
		return "IPv4 header checksum is wrong";
	if (len < sizeof(ip) || len - sizeof(ip) > c->left)
		return "longer than its frame";

	c->left = len - sizeof(ip);
	rx->path.tclass = ip.tos;
	rx->path.hops = ip.ttl;
	rx->path.ip_id = be16toh(ip.id);
	gid_from_ipv4(rx->sgid, &ip.saddr);
	gid_from_ipv4(rx->dgid, &ip.daddr);
	memset(rx->grh, 0, ROCE_GRH_IPV4);
	memcpy(rx->grh + ROCE_GRH_IPV4, p, sizeof(ip));
	return NULL;
}

static const char *roce_get_ipv6(struct roce_cursor *c, struct roce_rx *rx)
{
	const uint8_t *p = roce_take(c, sizeof(struct ip6_hdr));
	struct ip6_hdr ip;
	uint32_t flow;
	size_t len;

	if (!p)
		return "IPv6 header is cut off";
	memcpy(&ip, p, sizeof(ip));
	flow = be32toh(ip.ip6_flow);
	len = be16toh(ip.ip6_plen);
	if (flow >> 28 != 6)
		return "not IPv6";
	if (ip.ip6_nxt != IPPROTO_UDP)
		return "not UDP";
	if (len > c->left)
		return "longer than its frame";

	c->left = len;
	rx->path.tclass = flow >> 20;
	rx->path.flow = flow & ROCE_FLOW_MASK;
	rx->path.hops = ip.ip6_hlim;
	memcpy(rx->sgid, &ip.ip6_src, GID_SIZE);
	memcpy(rx->dgid, &ip.ip6_dst, GID_SIZE);
	memcpy(rx->grh, p, sizeof(ip));
	return NULL;
}

static const char *roce_get_ip(struct roce_cursor *c, struct roce_rx *rx)
{
	switch (roce_get_ethernet(c, &rx->path)) {
	case ETHERTYPE_IP:
		return roce_get_ipv4(c, rx);
	case ETHERTYPE_IPV6:
		return roce_get_ipv6(c, rx);
	}
	return "neither IPv4 nor IPv6";
}

static const char *roce_get_udp(struct roce_cursor *c, struct roce_path *path)
{
	const uint8_t *p = roce_take(c, ROCE_UDP_SIZE);

	if (!p)
		return "UDP header is cut off";
	if (get_be16(p + 2) != ROCE_UDP_PORT)
		return "another UDP port";
	if (get_be16(p + 4) != c->left + ROCE_UDP_SIZE)
		return "UDP and IP length differ";
	path->sport = get_be16(p);
	return NULL;
}

/* Sets @pad to the bytes of padding behind the payload. */
static const char *roce_get_bth(struct roce_cursor *c, struct roce_rx *rx,
				size_t *pad)
{
	const uint8_t *p = roce_take(c, ROCE_BTH_SIZE);
	struct pkt *pkt = &rx->pkt;

	if (!p)
		return "BTH is cut off";
	if (p[1] & BTH_TVER)
		return "another transport version";
	if ((get_be16(p + 2) & ROCE_PKEY_MASK) != ROCE_PKEY_MASK)
		return "another partition";
	pkt->opcode = p[0];
	pkt->solicited = p[1] & BTH_SOLICITED;
	rx->path.migrated = p[1] & BTH_MIGRATED;
	*pad = p[1] >> BTH_PAD_SHIFT & 3;
	rx->path.fecn = p[BTH_RESERVED] & BTH_FECN;
	rx->path.becn = p[BTH_RESERVED] & BTH_BECN;
	pkt->dest_qpn = get_be24(p + 5);
	pkt->ack_req = p[8] & BTH_ACK_REQ;
	pkt->same = p[8] & BTH_SAME;
	pkt->psn = get_be24(p + 9);
	return NULL;
}

/* From the extension headers to the end. */
static const char *roce_get_rest(struct roce_cursor *c, struct roce_rx *rx,
				 const uint8_t *frame, size_t pad)
{
	const struct pkt_op *op = pkt_op(rx->pkt.opcode);
	unsigned int bits;
	size_t size;

	if (!op)
		return "unknown opcode";
	bits = pkt_headers(op, rx->pkt.opcode);
	size = roce_header_size(bits);
	if (c->left < size + pad + ROCE_ICRC_SIZE)
		return "shorter than its headers";
	if (c->left % 4)
		return "not padded to a multiple of 4";
	rx->pkt.len = c->left - size - pad - ROCE_ICRC_SIZE;
	if (rx->pkt.len > ROCE_PAYLOAD_MAX)
		return "longer than any path MTU";
	if (rx->pkt.len && !op->payload)
		return "payload where there is none";
	rx->payload = roce_get_headers(c->p, bits, &rx->pkt) - frame;
	rx->icrc = rx->payload + rx->pkt.len + pad;
	return NULL;
}

const char *roce_parse(struct roce_rx *rx, const uint8_t *frame, size_t len)
{
	struct roce_cursor c = { .p = frame, .left = len };
	const char *why;
	size_t pad = 0;

	memset(rx, 0, sizeof(*rx));
	rx->pkt.npsn = 1;
	rx->pkt.src_qpn = PKT_QPN_UNKNOWN;
	why = roce_get_ip(&c, rx);
	if (!why)
		why = roce_get_udp(&c, &rx->path);
	if (!why)
		why = roce_get_bth(&c, rx, &pad);
	if (!why)
		why = roce_get_rest(&c, rx, frame, pad);
	rx->pkt.vlan = rx->path.vlan;
	rx->pkt.ecn = (rx->path.tclass & ECN_MASK) == ECN_CE;
	rx->pkt.sgid = rx->sgid;
	rx->pkt.dgid = rx->dgid;
	rx->pkt.grh = rx->grh;
	return why;
}

/* Returns the bytes of the IP header, or 0 if UDP does not follow it. */
static size_t roce_peek_ip(uint16_t type, const struct roce_cursor *c,
			   uint8_t *dgid)
{
	if (type == ETHERTYPE_IP && c->left >= sizeof(struct iphdr) &&
	    c->p[0] >> 4 == 4 &&
	    c->p[offsetof(struct iphdr, protocol)] == IPPROTO_UDP &&
	    !(get_be16(c->p + offsetof(struct iphdr, frag_off)) &
	      (IP_MF | IP_OFFMASK))) {
		gid_from_ipv4(dgid, c->p + offsetof(struct iphdr, daddr));
		return (c->p[0] & 0x0f) * 4;
	}
	if (type == ETHERTYPE_IPV6 && c->left >= sizeof(struct ip6_hdr) &&
	    c->p[offsetof(struct ip6_hdr, ip6_nxt)] == IPPROTO_UDP) {
		memcpy(dgid, c->p + offsetof(struct ip6_hdr, ip6_dst),
		       GID_SIZE);
		return sizeof(struct ip6_hdr);
	}
	return 0;
}

bool roce_peek(struct roce_peek *peek, const uint8_t *head, size_t len)
{
	struct roce_cursor c = { .p = head, .left = len };
	struct roce_path path;
	const uint8_t *udp, *bth;
	size_t ip_size;

	ip_size = roce_peek_ip(roce_get_ethernet(&c, &path), &c, peek->dgid);
	if (!ip_size || !roce_take(&c, ip_size))
		return false;
	udp = roce_take(&c, ROCE_UDP_SIZE);
	bth = roce_take(&c, ROCE_BTH_SIZE);
	if (!udp || !bth || get_be16(udp + 2) != ROCE_UDP_PORT)
		return false;
	memcpy(peek->dmac, path.dmac, ETH_ALEN);
	peek->vlan = path.vlan;
	peek->dest_qpn = get_be24(bth + 5);
	return true;
}
