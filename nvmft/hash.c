// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The hash of which serial numbers and identifiers of namespaces are made.
 *
 * The daemon's needs a library that this program does not.  Here no table depends on it:
 * it is FNV-1a, its sum mixed once more.
 */

#include "base/hash.h"

#define HASH_START	0xcbf29ce484222325ULL
#define HASH_PRIME	0x00000100000001b3ULL

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint64_t sum = HASH_START;
	size_t i;

	for (i = 0; i < HASH_KEY_SIZE; i++)
		sum = (sum ^ key->bytes[i]) * HASH_PRIME;
	for (i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * HASH_PRIME;
	sum = (sum ^ sum >> 32) * HASH_PRIME;
	return sum ^ sum >> 29;
}
