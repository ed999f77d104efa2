// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A keyed hash: SipHash-2-4 of libsodium.
 */

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <sodium/crypto_shorthash_siphash24.h>

#include "base/hash.h"

_Static_assert(crypto_shorthash_siphash24_KEYBYTES == HASH_KEY_SIZE,
	       "SipHash has keys of another size");
_Static_assert(crypto_shorthash_siphash24_BYTES == sizeof(uint64_t),
	       "SipHash has sums of another size");

void hash_key_init(struct hash_key *key)
{
	arc4random_buf(key->bytes, sizeof(key->bytes));
}

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len)
{
	uint64_t sum;

	crypto_shorthash_siphash24((uint8_t *)&sum, data, len, key->bytes);
	return le64toh(sum);
}
