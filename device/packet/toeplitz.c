// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The Toeplitz function, by which NICs spread packets over queues.
 *
 * A window of 32 bits goes over the key, a bit for each bit of the data.  The hash is the
 * exclusive or of the windows at the bits that are set.
 */
#include <endian.h>
#include <string.h>

#include "packet/toeplitz.h"

uint32_t toeplitz(const uint8_t *key, const uint8_t *data, size_t len)
{
	uint32_t first, hash = 0;
	uint64_t window;
	unsigned int bit;
	size_t i;

	memcpy(&first, key, sizeof(first));
	window = (uint64_t)be32toh(first) << 8;
	for (i = 0; i < len; i++) {
		/* The upper 32 of these 40 bits are the window. */
		window |= key[sizeof(first) + i];
		for (bit = 0; bit < 8; bit++) {
			if (data[i] & 0x80 >> bit)
				hash ^= window >> 8;
			window = (window << 1) & 0xffffffffff;
		}
	}
	return hash;
}
