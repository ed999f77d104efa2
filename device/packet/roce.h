/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCEv2: packets as bytes of an Ethernet frame, and back.
 *
 * Nothing here knows of queues, guests or ports; the only state is what the
 * caller hands over.
 */
#ifndef DEVICE_PACKET_ROCE_H
#define DEVICE_PACKET_ROCE_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/gid.h"
#include "packet/pkt.h"

#define ROCE_UDP_PORT		4791
#define ROCE_PKEY		0xffff

/* The largest path MTU. */
#define ROCE_PAYLOAD_MAX	4096u

/* Ethernet, tag, IPv6, UDP, BTH, the largest of extension headers, AtomicETH. */
#define ROCE_HEADERS_MAX	(14 + 4 + 40 + 8 + 12 + 28)
#define ROCE_ICRC_SIZE		4
#define ROCE_FRAME_MAX		(ROCE_HEADERS_MAX + ROCE_PAYLOAD_MAX + \
				 ROCE_ICRC_SIZE)

/* The network header as receivers of datagrams find it. */
#define ROCE_GRH_SIZE		40

/**
 * struct roce_path - what the headers say besides struct pkt
 * @dmac:	destination MAC address
 * @smac:	source MAC address
 * @vlan:	%PKT_VLAN_TAGGED and the VLAN's number, or 0
 * @priority:	802.1p, with a tag only
 * @tclass:	traffic class: DSCP and ECN
 * @hops:	hop limit
 * @flow:	flow label (IPv6)
 * @ip_id:	identification (IPv4)
 * @sport:	UDP source port
 * @migrated:	BTH: MigReq
 * @fecn:	BTH: FECN
 * @becn:	BTH: BECN
 */
struct roce_path {
	uint8_t dmac[ETH_ALEN];
	uint8_t smac[ETH_ALEN];
	uint16_t vlan;
	uint8_t priority;
	uint8_t tclass;
	uint8_t hops;
	uint32_t flow;
	uint16_t ip_id;
	uint16_t sport;
	bool migrated;
	bool fecn;
	bool becn;
};

/**
 * struct roce_peek - what decides where a frame goes
 * @dmac:	destination MAC address
 * @vlan:	as in struct roce_path
 * @dgid:	destination address, as GID
 * @dest_qpn:	BTH: QPN that it is for
 */
struct roce_peek {
	uint8_t dmac[ETH_ALEN];
	uint16_t vlan;
	uint8_t dgid[GID_SIZE];
	uint32_t dest_qpn;
};

/* How many bytes of a frame roce_peek() needs, if the frame has so many. */
#define ROCE_PEEK_SIZE		(14 + 4 + 60 + 8 + 12)

/**
 * struct roce_rx - a frame taken apart
 * @path:	what the headers say besides @pkt
 * @pkt:	the packet, without a cursor in @payload
 * @payload:	offset of its payload in the frame
 * @icrc:	offset of the ICRC
 * @sgid:	of @pkt
 * @dgid:	of @pkt
 * @grh:	of @pkt
 */
struct roce_rx {
	struct roce_path path;
	struct pkt pkt;
	size_t payload;
	size_t icrc;
	uint8_t sgid[GID_SIZE];
	uint8_t dgid[GID_SIZE];
	uint8_t grh[ROCE_GRH_SIZE];
};

/**
 * roce_path_init() - the headers of a packet as its address vector wants them
 * @path:	filled in
 * @pkt:	packet with @av, @vlan and QPNs
 * @smac:	source MAC address
 */
void roce_path_init(struct roce_path *path, const struct pkt *pkt,
		    const uint8_t *smac);

/**
 * roce_ip_size() - bytes that a packet takes in the network, IP header and up
 * @pkt:	packet of a known opcode
 */
size_t roce_ip_size(const struct pkt *pkt);

/**
 * roce_build() - begin a frame: all headers of a packet
 * @frame:	room for ROCE_FRAME_MAX bytes
 * @path:	headers besides @pkt
 * @pkt:	packet, whose @npsn is 1
 *
 * Return: where its payload goes, which the caller copies; NULL if there is no
 *	   frame for this packet: an unknown opcode, more than ROCE_PAYLOAD_MAX
 *	   bytes, GIDs of different kinds.
 */
uint8_t *roce_build(uint8_t *frame, const struct roce_path *path,
		    const struct pkt *pkt);

/**
 * roce_finish() - end a frame whose payload is in place: padding, ICRC
 * @frame:	frame that roce_build() has begun
 * @payload:	what it returned
 * @pkt:	the packet
 *
 * Return: bytes of the frame.
 */
size_t roce_finish(uint8_t *frame, uint8_t *payload, const struct pkt *pkt);

/**
 * roce_grh() - the network header that a packet would have
 * @pkt:	packet with @av
 * @grh:	ROCE_GRH_SIZE bytes: an IPv6 header, or 20 bytes of zero and an
 *		IPv4 header
 */
void roce_grh(const struct pkt *pkt, uint8_t *grh);

/**
 * roce_peek() - is this a RoCE packet, and whose?
 * @peek:	filled in
 * @head:	beginning of a frame
 * @len:	bytes of that, ROCE_PEEK_SIZE are enough
 *
 * Return: false if it is none.  True does not mean that it is a good one.
 */
bool roce_peek(struct roce_peek *peek, const uint8_t *head, size_t len);

/**
 * roce_parse() - take a frame apart
 * @rx:		filled in
 * @frame:	frame, from anywhere
 * @len:	its bytes, padding of Ethernet's included
 *
 * The ICRC is not looked at.
 *
 * Return: NULL, or what is wrong with it.
 */
const char *roce_parse(struct roce_rx *rx, const uint8_t *frame, size_t len);

/* The ICRC covers this up to the BTH: 8 bytes in place of an LRH, IPv6, UDP, BTH. */
#define ICRC_LRH_SIZE		8
#define ICRC_HEAD_MAX		(ICRC_LRH_SIZE + 40 + 8 + 12)

/**
 * roce_icrc_head() - what the ICRC covers to the end of the BTH, masked
 * @head:	ICRC_HEAD_MAX bytes
 * @frame:	frame with these headers
 *
 * Return: bytes of it.
 */
size_t roce_icrc_head(uint8_t *head, const uint8_t *frame);

/**
 * roce_icrc() - ICRC that a frame should have
 * @frame:	frame that roce_parse() accepts
 * @end:	offset of its ICRC
 *
 * Return: the ICRC as the bytes stand in the frame.
 */
uint32_t roce_icrc(const uint8_t *frame, size_t end);

/**
 * roce_icrc_ok() - is the ICRC of a frame right?
 * @rx:		the frame taken apart; @pkt.icrc_twice is set
 * @frame:	the frame, which is written to meanwhile
 *
 * Soft-RoCE (Linux 6.12) takes the transport headers of a FLUSH into the ICRC
 * twice, and at the other end takes no other FLUSH.  It is right here, too.
 */
bool roce_icrc_ok(struct roce_rx *rx, uint8_t *frame);

#endif /* DEVICE_PACKET_ROCE_H */
