// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies into memory that somebody else reads at the same time.
 *
 * memmove() stores in any order: often the first bytes last.  Programs poll the last byte
 * of a message.  So here aligned stores go from the lower addresses to the higher ones, with
 * a fence for the compiler behind each.  Processors of x86-64 make stores visible in program
 * order, but for those of string instructions and for non-temporal ones.  Other processors
 * need a barrier, which would be too slow between all stores: there is one in front of the
 * last word.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/place.h"

typedef uint64_t place_16 __attribute__((vector_size(16), may_alias));
typedef uint64_t place_32 __attribute__((vector_size(32), may_alias));

#define PLACE_WORD	8u

/* From here on large stores pay. */
#define PLACE_LARGE	256u

/* Copies the next sizeof(@type) bytes; @to is aligned. */
#define PLACE(type, to, from, len) do {						\
	type value_;								\
										\
	memcpy(&value_, from, sizeof(value_));					\
	*(type *)(to) = value_;							\
	atomic_signal_fence(memory_order_seq_cst);				\
	(to) += sizeof(value_);							\
	(from) += sizeof(value_);						\
	(len) -= sizeof(value_);						\
} while (0)

#define PLACE_4(type, to, from, len) do {					\
	PLACE(type, to, from, len);						\
	PLACE(type, to, from, len);						\
	PLACE(type, to, from, len);						\
	PLACE(type, to, from, len);						\
} while (0)

#ifdef __x86_64__
#define PLACE_IN_ORDER	true

/* @to is aligned to 32 bytes; returns how many bytes were copied. */
static __attribute__((target("avx2"))) size_t place_large(uint8_t *to, const uint8_t *from,
							  size_t len)
{
	const size_t all = len;

	/* Twelve at a time: what the loop itself takes counts no more. */
	while (len >= 12 * sizeof(place_32)) {
		PLACE_4(place_32, to, from, len);
		PLACE_4(place_32, to, from, len);
		PLACE_4(place_32, to, from, len);
	}
	while (len >= sizeof(place_32))
		PLACE(place_32, to, from, len);
	return all - len;
}

static bool place_has_large(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
#define PLACE_IN_ORDER	false

static size_t place_large(uint8_t *to, const uint8_t *from, size_t len)
{
	return 0;
}

static bool place_has_large(void)
{
	return false;
}
#endif

bool place_is_in_order(void)
{
	return PLACE_IN_ORDER;
}

/* Stores become larger as the address allows it; returns how many bytes were copied. */
static size_t place_align(uint8_t *to, const uint8_t *from, size_t len)
{
	const size_t all = len;

	if ((uintptr_t)to & 1 && len >= 1)
		PLACE(uint8_t, to, from, len);
	if ((uintptr_t)to & 2 && len >= 2)
		PLACE(uint16_t, to, from, len);
	if ((uintptr_t)to & 4 && len >= 4)
		PLACE(uint32_t, to, from, len);
	if ((uintptr_t)to & 8 && len >= 8)
		PLACE(uint64_t, to, from, len);
	if ((uintptr_t)to & 16 && len >= 16)
		PLACE(place_16, to, from, len);
	return all - len;
}

static void place_ascending(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t part = 0;

	if ((uintptr_t)to % sizeof(place_32))
		part = place_align(to, from, len);
	if (len - part >= PLACE_LARGE && place_has_large())
		part += place_large(to + part, from + part, len - part);
	to += part;
	from += part;
	len -= part;
	while (len >= 16)
		PLACE(place_16, to, from, len);
	if (len >= 8)
		PLACE(uint64_t, to, from, len);
	if (len >= 4)
		PLACE(uint32_t, to, from, len);
	if (len >= 2)
		PLACE(uint16_t, to, from, len);
	if (len)
		PLACE(uint8_t, to, from, len);
}

void place_bytes(void *to, const void *from, size_t len)
{
	uint8_t *dst = to;
	const uint8_t *src = from;
	size_t last;

	/* Bytes that are still to be copied must not be overwritten. */
	if ((uintptr_t)dst - (uintptr_t)src < len) {
		memmove(dst, src, len);
		return;
	}
	if (!PLACE_IN_ORDER) {
		last = ((uintptr_t)dst + len - 1) % PLACE_WORD + 1;
		if (last > len)
			last = len;
		place_ascending(dst, src, len - last);
		atomic_thread_fence(memory_order_release);
		dst += len - last;
		src += len - last;
		len = last;
	}
	place_ascending(dst, src, len);
}
