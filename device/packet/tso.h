/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A stream of TCP as frames with the same headers.
 */
#ifndef DEVICE_PACKET_TSO_H
#define DEVICE_PACKET_TSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ethernet, an 802.1Q tag, IPv4 and TCP with all options, and a little more. */
#define TSO_HEADER_MAX	144

/**
 * struct tso_layout - where headers are in a frame of TCP
 * @ip:		that of IP begins there
 * @l4:		that of TCP begins there
 * @len:	bytes of all headers
 * @v6:		that of IP is of IPv6
 */
struct tso_layout {
	size_t ip;
	size_t l4;
	size_t len;
	bool v6;
};

/**
 * struct tso - headers of frames
 * @head:	headers of Ethernet, IP and TCP
 * @at:		where each is
 */
struct tso {
	uint8_t head[TSO_HEADER_MAX];
	struct tso_layout at;
};

/**
 * tso_init() - look at headers
 * @tso:	filled in
 * @head:	headers: Ethernet, with one 802.1Q tag or without, IP, TCP
 * @len:	their bytes, %TSO_HEADER_MAX at most
 *
 * Return: false if that is not what they are, from the first byte to the last one.
 */
bool tso_init(struct tso *tso, const uint8_t *head, size_t len);

/**
 * tso_number() - give headers their place in a stream
 * @head:	headers, as the stream has them
 * @at:		where each is
 * @i:		number of the frame, from 0
 * @off:	where in the stream its payload begins
 * @len:	bytes of its payload
 * @last:	it is the last one
 *
 * Sets length, identification, sequence number and flags, but no checksum.
 */
void tso_number(uint8_t *head, const struct tso_layout *at, unsigned int i, size_t off,
		size_t len, bool last);

/**
 * tso_segment() - make the headers of a frame
 * @tso:	headers
 * @frame:	room for them, and the @len bytes of its payload behind that
 * @i:		number of the frame, from 0
 * @off:	where in the stream its payload begins
 * @len:	bytes of its payload
 * @last:	it is the last one
 *
 * Its length, identification, sequence number, flags and checksums are its own.
 */
void tso_segment(const struct tso *tso, uint8_t *frame, unsigned int i, size_t off,
		 size_t len, bool last);

#endif /* DEVICE_PACKET_TSO_H */
