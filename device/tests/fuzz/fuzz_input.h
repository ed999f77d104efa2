/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The input of a fuzzer, taken piece by piece.  Behind its end there are zeroes.
 */
#ifndef DEVICE_TESTS_FUZZ_INPUT_H
#define DEVICE_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * struct fuzz_input - an input
 * @data:	what is left of it
 * @size:	bytes of that
 */
struct fuzz_input {
	const uint8_t *data;
	size_t size;
};

/** fuzz_bytes() - take up to @len bytes; returns how many */
static inline size_t fuzz_bytes(struct fuzz_input *in, void *to, size_t len)
{
	if (len > in->size)
		len = in->size;
	if (!len)
		return 0;
	memcpy(to, in->data, len);
	in->data += len;
	in->size -= len;
	return len;
}

/** fuzz_u8() - take a byte */
static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	uint8_t value = 0;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

/** fuzz_u16() - take two */
static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint8_t low = fuzz_u8(in);

	return low | fuzz_u8(in) << 8;
}

/**
 * fuzz_patch() - take a byte that is a length, and change what stands in @to by as
 *		  many bytes behind it
 * @in:	input
 * @to:	a good one of what is fuzzed, in which a bit of the input flips one
 * @room:	bytes there
 *
 * Return: the length, at most @room.
 */
static inline size_t fuzz_patch(struct fuzz_input *in, void *to, size_t room)
{
	size_t len = fuzz_u8(in), i;
	uint8_t *p = to;

	if (len > room)
		len = room;
	for (i = 0; i < len; i++)
		p[i] ^= fuzz_u8(in);
	return len;
}

#endif /* DEVICE_TESTS_FUZZ_INPUT_H */
