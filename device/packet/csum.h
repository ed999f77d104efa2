/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checksums of the IP packet in an Ethernet frame.
 */
#ifndef DEVICE_PACKET_CSUM_H
#define DEVICE_PACKET_CSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/**
 * csum_fill() - make the checksums of a frame right
 * @frame:	frame, 14 bytes at least
 * @len:	its bytes
 *
 * Those are the one of IPv4's header, and that of TCP or UDP directly behind the header of
 * IP in a packet that is whole, not a fragment.  Whatever stood in their places does not
 * matter.  A frame that has none of them, or whose lengths do not fit, stays as it is.
 */
void csum_fill(uint8_t *frame, size_t len);

/**
 * csum_is_right() - are the checksums of a frame right?
 * @iov:	pieces that all of it lies in
 * @off:	where in them it begins
 * @len:	its bytes
 *
 * Return: true if those that csum_fill() makes are there and right, that of TCP or UDP
 *	   among them.
 */
bool csum_is_right(const struct iovec *iov, size_t off, size_t len);

#endif /* DEVICE_PACKET_CSUM_H */
