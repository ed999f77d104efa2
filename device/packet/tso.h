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
 * struct tso - headers of frames
 * @head:	headers of Ethernet, IP and TCP
 * @len:	their bytes
 * @ip:		where in them that of IP begins
 * @l4:		where that of TCP begins
 * @v6:		that of IP is of IPv6
 */
struct tso {
	uint8_t head[TSO_HEADER_MAX];
	size_t len;
	size_t ip;
	size_t l4;
	bool v6;
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
