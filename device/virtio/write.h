/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Writes to memory of a guest.
 *
 * Nothing else writes there (scripts/lint/writes.py): each of these functions marks what it
 * wrote in the log of a guest that is being moved.  Values are as they lie in memory,
 * those of 64 bits at addresses that are multiples of 8.
 */
#ifndef DEVICE_WRITE_H
#define DEVICE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/place.h"
#include "virtio/dirty.h"

/** write_u16() - store at once, behind all that was written before, as those that follow */
static inline void write_u16(uint16_t *to, uint16_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
	dirty_mark(to, sizeof(*to));
}

/** write_u32() - store four bytes */
static inline void write_u32(uint32_t *to, uint32_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
	dirty_mark(to, sizeof(*to));
}

/** write_and() - clear all bits but those of @bits; returns what was there before */
static inline uint64_t write_and(void *to, uint64_t bits)
{
	const uint64_t old = __atomic_fetch_and((uint64_t *)to, bits, __ATOMIC_SEQ_CST);

	dirty_mark(to, sizeof(old));
	return old;
}

/** write_or() - set bits; returns what was there before */
static inline uint64_t write_or(void *to, uint64_t bits)
{
	const uint64_t old = __atomic_fetch_or((uint64_t *)to, bits, __ATOMIC_SEQ_CST);

	dirty_mark(to, sizeof(old));
	return old;
}

/** write_add() - add; returns what was there before */
static inline uint64_t write_add(void *to, uint64_t value)
{
	const uint64_t old = __atomic_fetch_add((uint64_t *)to, value, __ATOMIC_SEQ_CST);

	dirty_mark(to, sizeof(old));
	return old;
}

/** write_swap() - store; returns what was there before */
static inline uint64_t write_swap(void *to, uint64_t value)
{
	const uint64_t old = __atomic_exchange_n((uint64_t *)to, value, __ATOMIC_SEQ_CST);

	dirty_mark(to, sizeof(old));
	return old;
}

/** write_swap_if() - store if @old is there; returns what was there before */
static inline uint64_t write_swap_if(void *to, uint64_t old, uint64_t value)
{
	__atomic_compare_exchange_n((uint64_t *)to, &old, value, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	dirty_mark(to, sizeof(old));
	return old;
}

/** write_copy() - copy from memory that does not overlap, in any order */
static inline void write_copy(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	dirty_mark(to, len);
}

/** write_four() - store four words of 64 bits, the last one behind the others */
static inline void write_four(void *to, uint64_t first, uint64_t second, uint64_t third,
			      uint64_t last)
{
#ifndef __SANITIZE_THREAD__
	uint64_t *word = to;

	__atomic_store_n(&word[0], first, __ATOMIC_RELAXED);
	__atomic_store_n(&word[1], second, __ATOMIC_RELAXED);
	__atomic_store_n(&word[2], third, __ATOMIC_RELAXED);
	__atomic_store_n(&word[3], last, __ATOMIC_RELEASE);
#else
	/* It does not know that who loads the last byte alone sees the store of eight. */
	const uint64_t word[] = { first, second, third, last };
	const size_t len = sizeof(word) - 1;

	memcpy(to, word, len);
	__atomic_store_n((uint8_t *)to + len, ((const uint8_t *)word)[len], __ATOMIC_RELEASE);
#endif
	dirty_mark(to, 4 * sizeof(uint64_t));
}

/** write_move() - copy from memory that may overlap, in any order */
static inline void write_move(void *to, const void *from, size_t len)
{
	memmove(to, from, len);
	dirty_mark(to, len);
}

/** write_zero() - fill with zeroes */
static inline void write_zero(void *to, size_t len)
{
	memset(to, 0, len);
	dirty_mark(to, len);
}

/** write_place() - as place() */
static inline void write_place(void *to, const void *from, size_t len)
{
	place(to, from, len);
	dirty_mark(to, len);
}

#endif /* DEVICE_WRITE_H */
