/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copies into memory that somebody else reads at the same time.
 */
#ifndef DEVICE_BASE_PLACE_H
#define DEVICE_BASE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * place_is_in_order() - does place() store all bytes in ascending order on this host?
 *
 * If not, it stores the last aligned 8 bytes, or what is copied of them, last.
 */
bool place_is_in_order(void);

/** place_bytes() - as place(), for any length */
void place_bytes(void *to, const void *from, size_t len);

/**
 * place() - copy, the last byte last
 * @to:		destination, which a guest may poll
 * @from:	source; may overlap the destination
 * @len:	bytes
 *
 * Whoever sees the last byte of what was copied sees all of it, and all that was stored
 * before this call.  Each naturally aligned word of up to 8 bytes is stored at once.  If
 * the beginning of the destination lies within the source, the order is another one.
 */
static inline void place(void *to, const void *from, size_t len)
{
	uint64_t word;

	if (len != sizeof(word) || (uintptr_t)to % sizeof(word)) {
		place_bytes(to, from, len);
		return;
	}
	memcpy(&word, from, sizeof(word));
	__atomic_store_n((uint64_t *)to, word, __ATOMIC_RELEASE);
}

#endif /* DEVICE_BASE_PLACE_H */
