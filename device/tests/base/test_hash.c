// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/util.h"

/*
 * The vectors that the authors of SipHash published: the key is 00 01 … 0f, the
 * message the first bytes of 00 01 02 …
 */
static void test_vectors(void **state)
{
	static const struct {
		size_t len;
		uint64_t sum;
	} vector[] = {
		{ 0, 0x726fdb47dd0e0e31 },
		{ 1, 0x74f839c593dc67fd },
		{ 6, 0xcbc9466e58fee3ce },
		{ 7, 0xab0200f58b01d137 },
		{ 8, 0x93f5f5799a932462 },
		{ 15, 0xa129ca6149be45e5 },
		{ 63, 0x958a324ceb064572 },
	};
	struct hash_key key;
	uint8_t data[64];
	unsigned int i;

	for (i = 0; i < HASH_KEY_SIZE; i++)
		key.bytes[i] = i;
	for (i = 0; i < sizeof(data); i++)
		data[i] = i;
	for (i = 0; i < ARRAY_SIZE(vector); i++)
		assert_true(hash_bytes(&key, data, vector[i].len) ==
			    vector[i].sum);
}

static void test_key_is_random(void **state)
{
	struct hash_key a, b;

	hash_key_init(&a);
	hash_key_init(&b);
	assert_memory_not_equal(a.bytes, b.bytes, HASH_KEY_SIZE);
	assert_true(hash_bytes(&a, "x", 1) != hash_bytes(&b, "x", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_key_is_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
