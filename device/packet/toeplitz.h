/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The Toeplitz function, by which NICs spread packets over queues.
 */
#ifndef DEVICE_PACKET_TOEPLITZ_H
#define DEVICE_PACKET_TOEPLITZ_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a key, which are enough for the addresses and ports of IPv6. */
#define TOEPLITZ_KEY	40u
#define TOEPLITZ_MAX	(TOEPLITZ_KEY - 4)

/**
 * toeplitz() - hash some bytes
 * @key:	TOEPLITZ_KEY bytes
 * @data:	the bytes, as they stand in packets
 * @len:	how many, TOEPLITZ_MAX at most
 */
uint32_t toeplitz(const uint8_t *key, const uint8_t *data, size_t len);

#endif /* DEVICE_PACKET_TOEPLITZ_H */
