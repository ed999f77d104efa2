/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Headers of IP, TCP and UDP as bytes: offsets, numbers in network order, sums.
 *
 * A sum is taken over words in the byte order of this machine: the sum of ones' complement
 * does not depend on it.
 */
#ifndef DEVICE_PACKET_INET_H
#define DEVICE_PACKET_INET_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INET_TAG_LEN	4u

#define IPV4_LEN	2
#define IPV4_ID		4
#define IPV4_FRAGMENT	6
#define IPV4_PROTOCOL	9
#define IPV4_CSUM	10
#define IPV4_ADDRS	12
#define IPV4_HLEN	20u

/* Of the two bytes at IPV4_FRAGMENT: offset, and "more fragments". */
#define IPV4_OFFSET	0x1fff
#define IPV4_IS_FRAGMENT 0x3fff

#define IPV6_LEN	4
#define IPV6_NEXT	6
#define IPV6_ADDRS	8
#define IPV6_HLEN	40u

#define TCP_SEQ		4
#define TCP_DOFF	12
#define TCP_FLAGS	13
#define TCP_CSUM	16
#define TCP_HLEN	20u

#define TCP_FIN		0x01
#define TCP_PSH		0x08
#define TCP_CWR		0x80

#define UDP_DPORT	2
#define UDP_CSUM	6
#define UDP_HLEN	8u

static inline void put_be16(uint8_t *p, uint16_t value)
{
	value = htobe16(value);
	memcpy(p, &value, sizeof(value));
}

static inline void put_be24(uint8_t *p, uint32_t value)
{
	p[0] = value >> 16;
	p[1] = value >> 8;
	p[2] = value;
}

static inline void put_be32(uint8_t *p, uint32_t value)
{
	value = htobe32(value);
	memcpy(p, &value, sizeof(value));
}

static inline void put_be64(uint8_t *p, uint64_t value)
{
	value = htobe64(value);
	memcpy(p, &value, sizeof(value));
}

static inline uint16_t get_be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline uint32_t get_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | p[1] << 8 | p[2];
}

static inline uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)get_be16(p) << 16 | get_be16(p + 2);
}

static inline uint64_t get_be64(const uint8_t *p)
{
	return (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
}

/* Ones' complement sum of 16 bits. */
static inline uint16_t sum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* Sum of bytes, as of words: what follows an odd number of them needs its bytes exchanged. */
static inline uint64_t sum_bytes(const uint8_t *p, size_t len)
{
	uint64_t sum = 0;
	uint32_t word;
	uint16_t half;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum += word;
	}
	if (len >= sizeof(half)) {
		memcpy(&half, p, sizeof(half));
		sum += half;
		p += sizeof(half);
		len -= sizeof(half);
	}
	if (len)
		sum += htobe16((uint16_t)(*p << 8));
	return sum;
}

#endif /* DEVICE_PACKET_INET_H */
