/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A keyed hash for tables whose keys come from others.  Without the secret key they
 * cannot choose table keys that collide in one bucket.
 */
#ifndef DEVICE_HASH_H
#define DEVICE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_KEY_SIZE	16

/**
 * struct hash_key - the key of a table
 * @bytes:	secret
 */
struct hash_key {
	uint8_t bytes[HASH_KEY_SIZE];
};

/** hash_key_init() - choose a key at random */
void hash_key_init(struct hash_key *key);

/** hash_bytes() - SipHash-2-4 of @len bytes */
uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len);

#endif /* DEVICE_HASH_H */
