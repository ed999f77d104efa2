// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The Toeplitz function, by the examples of those who defined it for RSS.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "packet/toeplitz.h"

/* The key of "Verifying the RSS Hash Calculation" in Microsoft's documentation of NDIS. */
static const uint8_t key[TOEPLITZ_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static void test_ipv4(void **state)
{
	/* Source, destination, ports; hash of the addresses, hash of all. */
	static const struct {
		uint8_t data[12];
		uint32_t addresses;
		uint32_t all;
	} examples[] = {
		{ { 66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6 },
		  0x323e8fc2, 0x51ccc178 },
		{ { 199, 92, 111, 2, 65, 69, 140, 83, 0x37, 0x96, 0x12, 0x83 },
		  0xd718262a, 0xc626b0ea },
		{ { 24, 19, 198, 95, 12, 22, 207, 184, 0x32, 0x62, 0x94, 0x88 },
		  0xd2d0a5de, 0x5c2b394a },
		{ { 38, 27, 205, 30, 209, 142, 163, 6, 0xbc, 0x64, 0x08, 0xa9 },
		  0x82989176, 0xafc7327f },
		{ { 153, 39, 163, 191, 202, 188, 127, 2, 0xac, 0xdb, 0x05, 0x17 },
		  0x5d1809c5, 0x10e828a2 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		assert_int_equal(toeplitz(key, examples[i].data, 8), examples[i].addresses);
		assert_int_equal(toeplitz(key, examples[i].data, 12), examples[i].all);
	}
}

static void test_ipv6(void **state)
{
	static const struct {
		uint8_t data[36];
		uint32_t addresses;
		uint32_t all;
	} examples[] = {
		{ { 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0, 0, 0, 0, 0, 0, 0, 7,
		    0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1,
		    0x0a, 0xea, 0x06, 0xe6 }, 0x2cc18cd5, 0x40207d3d },
		{ { 0x3f, 0xfe, 0x05, 0x01, 0, 8, 0, 0, 0x02, 0x60, 0x97, 0xff, 0xfe, 0x40,
		    0xef, 0xab,
		    0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
		    0x37, 0x96, 0x12, 0x83 }, 0x0f0c461c, 0xdde51bbf },
		{ { 0x3f, 0xfe, 0x19, 0x00, 0x45, 0x45, 0, 3, 0x02, 0x00, 0xf8, 0xff, 0xfe,
		    0x21, 0x67, 0xcf,
		    0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x00, 0xf8, 0xff, 0xfe, 0x21, 0x67,
		    0xcf, 0xac, 0xdb, 0x94, 0x88 }, 0x4b61e985, 0x02d1feef },
	};
	unsigned int i;

	for (i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		assert_int_equal(toeplitz(key, examples[i].data, 32), examples[i].addresses);
		assert_int_equal(toeplitz(key, examples[i].data, 36), examples[i].all);
	}
}

static void test_nothing(void **state)
{
	assert_int_equal(toeplitz(key, key, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
