/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCEv2: the extension headers as bytes and back; sizes, bits and sums that roce.c and
 * roce_head.c share.
 */
#ifndef DEVICE_PACKET_ROCE_EXT_H
#define DEVICE_PACKET_ROCE_EXT_H

#include <endian.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>

#include "base/util.h"
#include "packet/inet.h"
#include "packet/pkt.h"

#define ROCE_TAG_SIZE		4
#define ROCE_VID_MASK		0x0fff
#define ROCE_PCP_SHIFT		13
#define ROCE_IPV4_SIZE		sizeof(struct iphdr)
#define ROCE_IPV6_SIZE		sizeof(struct ip6_hdr)
#define ROCE_UDP_SIZE		sizeof(struct udphdr)
#define ROCE_BTH_SIZE		12

/* Where the IPv4 header stands in a network header of 40 bytes. */
#define ROCE_GRH_IPV4		(ROCE_GRH_SIZE - ROCE_IPV4_SIZE)

#define ROCE_HOPS		64
#define ROCE_FLOW_MASK		0xfffffu
#define ROCE_PKEY_MASK		0x7fff

/* ECN, the lower two bits of the traffic class. */
#define ECN_MASK		3
#define ECN_ECT0		2
#define ECN_CE			3

/* BTH: byte 1. */
#define BTH_SOLICITED		0x80
#define BTH_MIGRATED		0x40
#define BTH_PAD_SHIFT		4
#define BTH_TVER		0x0f
/* BTH: byte 4, which the ICRC does not cover. */
#define BTH_RESERVED		4
#define BTH_FECN		0x80
#define BTH_BECN		0x40
/* BTH: byte 8. */
#define BTH_ACK_REQ		0x80
/* Reserved by IBA, where it is 0 and not looked at: see &pkt.same. */
#define BTH_SAME		0x40

/* Sum of the 16-bit words of an IPv4 header: 0xffff if its checksum is right. */
static inline uint16_t ipv4_sum(const struct iphdr *ip)
{
	uint32_t word[sizeof(*ip) / 4];
	uint64_t sum = 0;
	unsigned int i;

	memcpy(word, ip, sizeof(word));
	for (i = 0; i < ARRAY_SIZE(word); i++)
		sum += word[i];
	return sum_fold(sum);
}

/* Bytes of padding behind a payload. */
static inline uint32_t roce_pad(uint32_t len)
{
	return -len & 3;
}

/**
 * struct roce_ext - an extension header
 * @size:	its bytes
 * @put:	writes it
 * @get:	reads it
 */
struct roce_ext {
	size_t size;
	void (*put)(uint8_t *p, const struct pkt *pkt);
	void (*get)(const uint8_t *p, struct pkt *pkt);
};

/* By the number of the bit in &enum pkt_header. */
extern const struct roce_ext roce_ext[];

/* Bytes of the headers in a bit mask of &enum pkt_header. */
static inline size_t roce_header_size(unsigned int bits)
{
	size_t size = 0;

	for (; bits; bits &= bits - 1)
		size += roce_ext[__builtin_ctz(bits)].size;
	return size;
}

/* Writes them at @p; returns where what follows them goes. */
static inline uint8_t *roce_put_headers(uint8_t *p, unsigned int bits,
					const struct pkt *pkt)
{
	const struct roce_ext *ext;

	for (; bits; bits &= bits - 1) {
		ext = &roce_ext[__builtin_ctz(bits)];
		ext->put(p, pkt);
		p += ext->size;
	}
	return p;
}

/* Reads them at @p; returns where what follows them stands. */
static inline const uint8_t *roce_get_headers(const uint8_t *p, unsigned int bits,
					      struct pkt *pkt)
{
	const struct roce_ext *ext;

	for (; bits; bits &= bits - 1) {
		ext = &roce_ext[__builtin_ctz(bits)];
		ext->get(p, pkt);
		p += ext->size;
	}
	return p;
}

#endif /* DEVICE_PACKET_ROCE_EXT_H */
