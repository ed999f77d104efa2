// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The addresses that a guest may use: what passes, and what does not.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ether/pin.h"

#define MINE	2, 0, 0, 0, 0, 7
#define OTHERS	2, 0, 0, 0, 0, 8
#define TO_ALL	0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define LL_MINE	0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 7
#define LL_OTHERS 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 8
#define V6_MINE	0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7
#define V6_ALL	0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
#define V6_NONE	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0

static const struct pin pin = {
	.has_mac = true,
	.mac = { MINE },
	.gids = 2,
	.gid = {
		{ [10] = 0xff, 0xff, 10, 0, 0, 7 },
		{ V6_MINE },
	},
};

static const struct pin only_mac = { .has_mac = true, .mac = { MINE } };

static const struct pin only_gid = {
	.gids = 1,
	.gid = { { [10] = 0xff, 0xff, 10, 0, 0, 7 } },
};

/**
 * struct sample - a frame
 * @name:	what it is
 * @ok:		it passes
 * @len:	its bytes
 * @data:	it
 */
struct sample {
	const char *name;
	bool ok;
	size_t len;
	uint8_t data[120];
};

#define FRAME(name, ok, ...) \
	{ name, ok, sizeof((uint8_t []){ __VA_ARGS__ }), { __VA_ARGS__ } }

#define ARP(mac, ...) \
	0, 1, 8, 0, 6, 4, 0, 2, mac, __VA_ARGS__, TO_ALL, 10, 0, 0, 1

#define IP4(protocol, fragment, ...) \
	0x45, 0, 0, 40, 0, 0, 0, fragment, 64, protocol, 0, 0, __VA_ARGS__, \
	10, 0, 0, 1
#define UDP(port)	0xc0, 1, (port) >> 8, (port) & 0xff, 0, 8, 0, 0

#define IP6(next, len, source)	0x60, 0, 0, 0, 0, len, next, 255, source, V6_ALL
#define ND(type, ...)	type, 0, 0, 0, 0, 0, 0, 0, __VA_ARGS__
#define OPTION(type, ...)	type, 1, __VA_ARGS__

static const struct sample samples[] = {
	FRAME("anything", true, TO_ALL, MINE, 0x90, 0, 1, 2),
	FRAME("another's MAC address", false, TO_ALL, OTHERS, 0x90, 0, 1, 2),
	FRAME("ARP", true, TO_ALL, MINE, 8, 6, ARP(MINE, 10, 0, 0, 7)),
	FRAME("ARP probe", true, TO_ALL, MINE, 8, 6, ARP(MINE, 0, 0, 0, 0)),
	FRAME("ARP, MAC address", false, TO_ALL, MINE, 8, 6, ARP(OTHERS, 10, 0, 0, 7)),
	FRAME("ARP, IP address", false, TO_ALL, MINE, 8, 6, ARP(MINE, 10, 0, 0, 8)),
	FRAME("ARP, short", false, TO_ALL, MINE, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2, MINE),
	FRAME("ARP in a VLAN", true, TO_ALL, MINE, 0x81, 0, 0, 7, 8, 6,
	      ARP(MINE, 10, 0, 0, 7)),
	FRAME("ARP in a VLAN, IP address", false, TO_ALL, MINE, 0x81, 0, 0, 7, 8, 6,
	      ARP(MINE, 10, 0, 0, 8)),
	FRAME("ARP in two VLANs, IP address", false, TO_ALL, MINE, 0x88, 0xa8, 0, 7,
	      0x81, 0, 0, 7, 8, 6, ARP(MINE, 10, 0, 0, 8)),
	FRAME("three tags", false, TO_ALL, MINE, 0x81, 0, 0, 7, 0x81, 0, 0, 7,
	      0x81, 0, 0, 7, 8, 6, ARP(MINE, 10, 0, 0, 7)),
	FRAME("RoCE", true, TO_ALL, MINE, 8, 0, IP4(17, 0, 10, 0, 0, 7), UDP(4791)),
	FRAME("RoCE, IP address", false, TO_ALL, MINE, 8, 0,
	      IP4(17, 0, 10, 0, 0, 8), UDP(4791)),
	FRAME("RoCE, IP options", false, TO_ALL, MINE, 8, 0, 0x46, 0, 0, 40, 0, 0, 0,
	      0, 64, 17, 0, 0, 10, 0, 0, 8, 10, 0, 0, 1, 1, 1, 1, 1, UDP(4791)),
	FRAME("other UDP", true, TO_ALL, MINE, 8, 0, IP4(17, 0, 10, 0, 0, 8), UDP(53)),
	FRAME("TCP", true, TO_ALL, MINE, 8, 0, IP4(6, 0, 10, 0, 0, 8), UDP(4791)),
	FRAME("second fragment", true, TO_ALL, MINE, 8, 0, IP4(17, 9, 10, 0, 0, 8),
	      UDP(4791)),
	FRAME("RoCE, IPv6", true, TO_ALL, MINE, 0x86, 0xdd, IP6(17, 8, V6_MINE),
	      UDP(4791)),
	FRAME("RoCE, link-local", true, TO_ALL, MINE, 0x86, 0xdd, IP6(17, 8, LL_MINE),
	      UDP(4791)),
	FRAME("RoCE, IPv6 address", false, TO_ALL, MINE, 0x86, 0xdd,
	      IP6(17, 8, LL_OTHERS), UDP(4791)),
	FRAME("RoCE behind options", false, TO_ALL, MINE, 0x86, 0xdd,
	      IP6(60, 16, LL_OTHERS), 17, 0, 1, 4, 0, 0, 0, 0, UDP(4791)),
	FRAME("options that do not end", false, TO_ALL, MINE, 0x86, 0xdd,
	      IP6(60, 16, LL_MINE), 60, 0, 1, 4, 0, 0, 0, 0, 60, 0, 1, 4),
	FRAME("NS", true, TO_ALL, MINE, 0x86, 0xdd, IP6(58, 32, LL_MINE),
	      ND(135, LL_OTHERS), OPTION(1, MINE)),
	FRAME("NS of nobody", true, TO_ALL, MINE, 0x86, 0xdd, IP6(58, 24, V6_NONE),
	      ND(135, LL_MINE)),
	FRAME("NS, IP address", false, TO_ALL, MINE, 0x86, 0xdd,
	      IP6(58, 32, LL_OTHERS), ND(135, LL_MINE), OPTION(1, MINE)),
	FRAME("NS, MAC address", false, TO_ALL, MINE, 0x86, 0xdd, IP6(58, 32, LL_MINE),
	      ND(135, LL_OTHERS), OPTION(1, OTHERS)),
	FRAME("NA", true, TO_ALL, MINE, 0x86, 0xdd, IP6(58, 32, LL_MINE),
	      ND(136, V6_MINE), OPTION(2, MINE)),
	FRAME("NA, target", false, TO_ALL, MINE, 0x86, 0xdd, IP6(58, 32, LL_MINE),
	      ND(136, LL_OTHERS), OPTION(2, MINE)),
	FRAME("NA, MAC address", false, TO_ALL, MINE, 0x86, 0xdd, IP6(58, 32, LL_MINE),
	      ND(136, LL_MINE), OPTION(2, OTHERS)),
	FRAME("NA, MAC address behind", false, TO_ALL, MINE, 0x86, 0xdd,
	      IP6(58, 40, LL_MINE), ND(136, LL_MINE), OPTION(14, 0, 0, 0, 0, 0, 0),
	      OPTION(2, OTHERS)),
	FRAME("NA, option of no length", false, TO_ALL, MINE, 0x86, 0xdd,
	      IP6(58, 40, LL_MINE), ND(136, LL_MINE), 14, 0, 0, 0, 0, 0, 0, 0,
	      OPTION(2, OTHERS)),
	FRAME("NA, short", false, TO_ALL, MINE, 0x86, 0xdd, IP6(58, 16, LL_MINE),
	      ND(136, 0xfe, 0x80)),
	FRAME("NA behind options", false, TO_ALL, MINE, 0x86, 0xdd,
	      IP6(0, 40, LL_MINE), 58, 0, 1, 4, 0, 0, 0, 0, ND(136, LL_OTHERS)),
	FRAME("echo", true, TO_ALL, MINE, 0x86, 0xdd, IP6(58, 8, LL_OTHERS), ND(128, 0)),
};

static void test_samples(void **state)
{
	const struct sample *s;
	uint8_t *copy;
	bool ok;

	for (s = samples; s < samples + sizeof(samples) / sizeof(*s); s++) {
		/* A block of its size: what is read behind it is found. */
		copy = malloc(s->len);
		memcpy(copy, s->data, s->len);
		ok = pin_frame_ok(&pin, copy, s->len);
		free(copy);
		if (ok != s->ok)
			print_error("%s\n", s->name);
		assert_int_equal(ok, s->ok);
	}
}

/* No length of any of them makes it read too far. */
static void test_cut(void **state)
{
	const struct sample *s;
	uint8_t *copy;
	size_t len;

	for (s = samples; s < samples + sizeof(samples) / sizeof(*s); s++)
		for (len = 1; len < s->len; len++) {
			copy = malloc(len);
			memcpy(copy, s->data, len);
			pin_frame_ok(&pin, copy, len);
			free(copy);
		}
}

static bool passes(const struct pin *p, const char *name)
{
	const struct sample *s = samples;

	while (strcmp(s->name, name))
		s++;
	return pin_frame_ok(p, s->data, s->len);
}

/* What is not named is not looked at. */
static void test_parts(void **state)
{
	assert_false(passes(&only_mac, "another's MAC address"));
	assert_false(passes(&only_mac, "ARP, MAC address"));
	assert_true(passes(&only_mac, "ARP, IP address"));
	assert_true(passes(&only_mac, "RoCE, IP address"));
	assert_false(passes(&only_mac, "NA, MAC address"));
	assert_true(passes(&only_mac, "NA, target"));
	assert_true(passes(&only_gid, "another's MAC address"));
	assert_false(passes(&only_gid, "ARP, IP address"));
	assert_true(passes(&only_gid, "ARP, MAC address"));
	assert_false(passes(&only_gid, "NA, target"));
}

static void test_gids(void **state)
{
	static const uint8_t ll[] = { LL_MINE }, other[] = { LL_OTHERS };
	static const uint8_t v6[] = { V6_MINE };

	assert_true(pin_gid_ok(&pin, ll));
	assert_true(pin_gid_ok(&pin, v6));
	assert_false(pin_gid_ok(&pin, other));
	assert_true(pin_gid_ok(&only_mac, other));
	assert_false(pin_gid_ok(&only_gid, ll));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_gids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
