/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCEv2: the headers of a connection, made once.
 */
#ifndef DEVICE_PACKET_ROCE_HEAD_H
#define DEVICE_PACKET_ROCE_HEAD_H

#include <string.h>

#include "packet/roce.h"

/* Ethernet, tag, IPv6, UDP, BTH, as a multiple of 8. */
#define ROCE_HEAD_SIZE		80

/**
 * struct roce_head - the headers of a connection, up to the BTH: a cache
 * @bytes:	the headers of a packet without payload
 * @size:	their bytes; 0: there are none yet
 * @ip:		offset of the IP header
 * @ipv4:	it is one of IPv4
 * @tclass:	traffic class, as the address vector has it
 * @sum:	of the IPv4 header, without length, traffic class and checksum
 * @crc_len:	UDP length that @crc is of; 0: none.  [1] is of a packet with payload
 * @crc:	state of the ICRC in front of the BTH
 */
struct roce_head {
	uint8_t bytes[ROCE_HEAD_SIZE];
	uint8_t size;
	uint8_t ip;
	bool ipv4;
	uint8_t tclass;
	uint16_t sum;
	uint16_t crc_len[2];
	uint32_t crc[2];
};

/**
 * roce_head_init() - make the headers of a connection
 * @head:	filled in
 * @pkt:	any packet of it, with @av, @vlan, @src_qpn, @dest_qpn and GIDs
 * @smac:	source MAC address
 *
 * Return: false if there are no such headers: GIDs of different kinds.
 */
bool roce_head_init(struct roce_head *head, const struct pkt *pkt, const uint8_t *smac);

/** roce_head_is() - are there headers, with this source MAC address? */
static inline bool roce_head_is(const struct roce_head *head, const uint8_t *smac)
{
	return head->size && !memcmp(head->bytes + ETH_ALEN, smac, ETH_ALEN);
}

/**
 * roce_head_build() - as roce_build(), of a packet of that connection
 * @frame:	room for ROCE_FRAME_MAX bytes
 * @head:	headers
 * @pkt:	packet, whose @npsn is 1, and which is no CNP
 * @mtu:	largest IP packet
 *
 * Return: as of roce_build(); NULL also for a packet that is larger.
 */
uint8_t *roce_head_build(uint8_t *frame, const struct roce_head *head, const struct pkt *pkt,
			 uint32_t mtu);

/** roce_head_finish() - as roce_finish(), of a packet without @icrc_twice */
size_t roce_head_finish(uint8_t *frame, struct roce_head *head, uint8_t *payload,
			const struct pkt *pkt);

#endif /* DEVICE_PACKET_ROCE_HEAD_H */
