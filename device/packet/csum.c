// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checksums of the IP packet in an Ethernet frame.
 *
 * The frame may lie in memory that a guest still writes to, so its headers are copied before
 * they are looked at.
 */
#include <endian.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>

#include "packet/csum.h"
#include "packet/inet.h"

/* Ethernet, VLAN, IPv4 with all options, TCP without. */
#define CSUM_HEAD	(ETH_HLEN + INET_TAG_LEN + 60 + TCP_HLEN)

/**
 * struct csum_place - where checksums of a frame are
 * @ip:		offset of the header of IP
 * @l4:		offset of that behind it
 * @end:	offset of the end of the packet
 * @csum:	offset of the checksum of TCP or UDP; 0 if there is none
 * @proto:	protocol
 * @v6:		IPv6, which has no checksum of its own
 */
struct csum_place {
	size_t ip;
	size_t l4;
	size_t end;
	size_t csum;
	uint8_t proto;
	bool v6;
};

/* ------------------------------------------------------------------------- */
/* Sums                                                                      */
/* ------------------------------------------------------------------------- */

/* A piece that begins at an odd byte has the bytes of all its words exchanged. */
static uint64_t sum_pieces(const struct iovec *iov, size_t off, size_t len)
{
	uint64_t sum = 0;
	bool odd = false;
	uint16_t piece;
	size_t part;

	for (; len; iov++) {
		if (off >= iov->iov_len) {
			off -= iov->iov_len;
			continue;
		}
		part = iov->iov_len - off < len ? iov->iov_len - off : len;
		piece = sum_fold(sum_bytes((const uint8_t *)iov->iov_base + off, part));
		sum += odd ? __builtin_bswap16(piece) : piece;
		odd ^= part & 1;
		len -= part;
		off = 0;
	}
	return sum;
}

/* The header that TCP and UDP have in their sums. */
static uint64_t sum_pseudo(const struct csum_place *at, const uint8_t *head)
{
	const uint8_t *ip = head + at->ip;

	return (at->v6 ? sum_bytes(ip + IPV6_ADDRS, 32) : sum_bytes(ip + IPV4_ADDRS, 8)) +
	       htobe32((uint32_t)(at->end - at->l4)) + (uint64_t)htobe32(at->proto);
}

/* ------------------------------------------------------------------------- */
/* Places                                                                    */
/* ------------------------------------------------------------------------- */

static bool place_ipv4(struct csum_place *at, const uint8_t *ip, size_t n, size_t len)
{
	size_t size, total;

	if (n < IPV4_HLEN || ip[0] >> 4 != 4)
		return false;
	size = (ip[0] & 15) * 4u;
	total = get_be16(ip + IPV4_LEN);
	if (size < IPV4_HLEN || n < size || total < size || total > len)
		return false;
	at->l4 = at->ip + size;
	at->end = at->ip + total;
	if (!(get_be16(ip + IPV4_FRAGMENT) & IPV4_IS_FRAGMENT))
		at->proto = ip[IPV4_PROTOCOL];
	return true;
}

static bool place_ipv6(struct csum_place *at, const uint8_t *ip, size_t n, size_t len)
{
	if (n < IPV6_HLEN || ip[0] >> 4 != 6 || get_be16(ip + IPV6_LEN) > len - IPV6_HLEN)
		return false;
	at->v6 = true;
	at->l4 = at->ip + IPV6_HLEN;
	at->end = at->l4 + get_be16(ip + IPV6_LEN);
	at->proto = ip[IPV6_NEXT];
	return true;
}

/* @n bytes of a frame of @len are in @head; false if it has no packet of IP. */
static bool place_find(struct csum_place *at, const uint8_t *head, size_t n, size_t len)
{
	size_t l4_len;
	bool is_ip;

	*at = (struct csum_place) { .ip = ETH_HLEN };
	if (n < ETH_HLEN + INET_TAG_LEN)
		return false;
	if (get_be16(head + at->ip - 2) == ETHERTYPE_VLAN)
		at->ip += INET_TAG_LEN;
	if (get_be16(head + at->ip - 2) == ETHERTYPE_IP)
		is_ip = place_ipv4(at, head + at->ip, n - at->ip, len - at->ip);
	else
		is_ip = get_be16(head + at->ip - 2) == ETHERTYPE_IPV6 &&
			place_ipv6(at, head + at->ip, n - at->ip, len - at->ip);
	if (!is_ip)
		return false;
	l4_len = at->end - at->l4;
	if (at->proto == IPPROTO_TCP && l4_len >= TCP_HLEN)
		at->csum = at->l4 + TCP_CSUM;
	else if (at->proto == IPPROTO_UDP && l4_len >= UDP_HLEN)
		at->csum = at->l4 + UDP_CSUM;
	return true;
}

/* ------------------------------------------------------------------------- */
/* Checksums                                                                 */
/* ------------------------------------------------------------------------- */

static void csum_put(uint8_t *p, uint16_t csum)
{
	memcpy(p, &csum, sizeof(csum));
}

/* Of UDP, 0 would mean that there is none. */
static void csum_fill_l4(uint8_t *frame, const struct csum_place *at)
{
	uint16_t csum;

	csum_put(frame + at->csum, 0);
	csum = ~sum_fold(sum_pseudo(at, frame) +
			 sum_bytes(frame + at->l4, at->end - at->l4));
	csum_put(frame + at->csum, !csum && at->proto == IPPROTO_UDP ? 0xffff : csum);
}

void csum_fill(uint8_t *frame, size_t len)
{
	struct csum_place at;

	if (!place_find(&at, frame, len, len))
		return;
	if (!at.v6) {
		csum_put(frame + at.ip + IPV4_CSUM, 0);
		csum_put(frame + at.ip + IPV4_CSUM,
			 ~sum_fold(sum_bytes(frame + at.ip, at.l4 - at.ip)));
	}
	if (at.csum)
		csum_fill_l4(frame, &at);
}

static size_t csum_head(uint8_t *head, const struct iovec *iov, size_t off, size_t len)
{
	size_t n = 0, part;

	for (; n < len; iov++) {
		if (off >= iov->iov_len) {
			off -= iov->iov_len;
			continue;
		}
		part = iov->iov_len - off < len - n ? iov->iov_len - off : len - n;
		memcpy(head + n, (const uint8_t *)iov->iov_base + off, part);
		n += part;
		off = 0;
	}
	return n;
}

bool csum_is_right(const struct iovec *iov, size_t off, size_t len)
{
	uint8_t head[CSUM_HEAD];
	struct csum_place at;
	size_t n = csum_head(head, iov, off, len < sizeof(head) ? len : sizeof(head));

	if (!place_find(&at, head, n, len) || !at.csum)
		return false;
	if (!at.v6 && sum_fold(sum_bytes(head + at.ip, at.l4 - at.ip)) != 0xffff)
		return false;
	if (at.proto == IPPROTO_UDP && !get_be16(head + at.csum))
		return false;
	return sum_fold(sum_pseudo(&at, head) +
			sum_pieces(iov, off + at.l4, at.end - at.l4)) == 0xffff;
}
