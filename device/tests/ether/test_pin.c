// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The addresses that a guest may use: what passes, and what does not.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "ether/pin.h"

/* As hexadecimal digits, of which frames are put together. */
#define MINE	"020000000007"
#define OTHERS	"020000000008"
#define TO_ALL	"ffffffffffff"
#define V4_MINE	"0a000007"
#define V4_OTHERS "0a000008"
#define LL_MINE	"fe80 0000 0000 0000 0000 00ff fe00 0007"
#define LL_OTHERS "fe80 0000 0000 0000 0000 00ff fe00 0008"
#define V6_MINE	"2001 0db8 0000 0000 0000 0000 0000 0007"
#define V6_ALL	"ff02 0000 0000 0000 0000 0000 0000 0001"
#define V6_NONE	"0000 0000 0000 0000 0000 0000 0000 0000"

static const struct pin pin = {
	.has_mac = true,
	.mac = { 2, [5] = 7 },
	.gids = 2,
	.gid = {
		{ [10] = 0xff, 0xff, 10, 0, 0, 7 },
		{ 0x20, 1, 0xd, 0xb8, [15] = 7 },
	},
};

static const struct pin only_mac = { .has_mac = true, .mac = { 2, [5] = 7 } };

static const struct pin only_gid = {
	.gids = 1,
	.gid = { { [10] = 0xff, 0xff, 10, 0, 0, 7 } },
};

/**
 * struct sample - a frame
 * @name:	what it is
 * @ok:		it passes
 * @type:	what follows the addresses of the Ethernet header, which are others'
 *		only in the frame of that name
 */
struct sample {
	const char *name;
	bool ok;
	const char *type;
};

#define ARP(mac, ip)	"0806 0001 0800 06 04 0002" mac ip TO_ALL "0a000001"
#define IP4(protocol, fragment, source) \
	"0800 45 00 0028 0000" fragment "40" protocol "0000" source "0a000001"
#define ROCE	"c001 12b7 0008 0000"
#define DNS	"c001 0035 0008 0000"
#define IP6(next, source)	"86dd 60000000 0020" next "ff" source V6_ALL
#define ICMP6(type, rest)	type "00 0000 00000000" rest
#define OPTION(type, rest)	type "01" rest

static const struct sample samples[] = {
	{ "anything", true, "9000 0102" },
	{ "another's MAC address", false, "9000 0102" },
	{ "ARP", true, ARP(MINE, V4_MINE) },
	{ "ARP probe", true, ARP(MINE, "00000000") },
	{ "ARP, MAC address", false, ARP(OTHERS, V4_MINE) },
	{ "ARP, IP address", false, ARP(MINE, V4_OTHERS) },
	{ "ARP, short", false, "0806 0001 0800 06 04 0002" MINE },
	{ "ARP in a VLAN", true, "8100 0007" ARP(MINE, V4_MINE) },
	{ "ARP in a VLAN, IP address", false, "8100 0007" ARP(MINE, V4_OTHERS) },
	{ "ARP in two VLANs, IP address", false,
	  "88a8 0007 8100 0007" ARP(MINE, V4_OTHERS) },
	{ "three tags", false, "8100 0007 8100 0007 8100 0007" ARP(MINE, V4_MINE) },
	{ "RoCE", true, IP4("11", "0000", V4_MINE) ROCE },
	{ "RoCE, IP address", false, IP4("11", "0000", V4_OTHERS) ROCE },
	{ "RoCE, not to be fragmented", false, IP4("11", "4000", V4_OTHERS) ROCE },
	{ "RoCE, IP options", false,
	  "0800 46 00 002c 0000 0000 40 11 0000" V4_OTHERS "0a000001 01010101" ROCE },
	{ "other UDP", true, IP4("11", "0000", V4_OTHERS) DNS },
	{ "TCP", true, IP4("06", "0000", V4_OTHERS) ROCE },
	{ "second fragment", true, IP4("11", "0009", V4_OTHERS) ROCE },
	{ "RoCE, IPv6", true, IP6("11", V6_MINE) ROCE },
	{ "RoCE, link-local", true, IP6("11", LL_MINE) ROCE },
	{ "RoCE, IPv6 address", false, IP6("11", LL_OTHERS) ROCE },
	{ "RoCE behind options", false,
	  IP6("3c", LL_OTHERS) "11 00 0104 00000000" ROCE },
	{ "options that do not end", false,
	  IP6("3c", LL_MINE) "3c 00 0104 00000000 3c 00 0104" },
	{ "NS", true, IP6("3a", LL_MINE) ICMP6("87", LL_OTHERS) OPTION("01", MINE) },
	{ "NS of nobody", true, IP6("3a", V6_NONE) ICMP6("87", LL_MINE) },
	{ "NS, IP address", false,
	  IP6("3a", LL_OTHERS) ICMP6("87", LL_MINE) OPTION("01", MINE) },
	{ "NS, MAC address", false,
	  IP6("3a", LL_MINE) ICMP6("87", LL_OTHERS) OPTION("01", OTHERS) },
	{ "NA", true, IP6("3a", LL_MINE) ICMP6("88", V6_MINE) OPTION("02", MINE) },
	{ "NA, target", false,
	  IP6("3a", LL_MINE) ICMP6("88", LL_OTHERS) OPTION("02", MINE) },
	{ "NA, MAC address", false,
	  IP6("3a", LL_MINE) ICMP6("88", LL_MINE) OPTION("02", OTHERS) },
	{ "NA, MAC address behind", false,
	  IP6("3a", LL_MINE) ICMP6("88", LL_MINE) OPTION("0e", "000000000000")
	  OPTION("02", OTHERS) },
	{ "NA, option of no length", false,
	  IP6("3a", LL_MINE) ICMP6("88", LL_MINE) "0e 00 000000000000"
	  OPTION("02", OTHERS) },
	{ "NA, short", false, IP6("3a", LL_MINE) ICMP6("88", "fe80") },
	{ "RoCE in the first fragment, IPv6", false,
	  IP6("2c", LL_OTHERS) "11 00 0001 00000000" ROCE },
	{ "RoCE in the first fragment, own address", true,
	  IP6("2c", LL_MINE) "11 00 0001 00000000" ROCE },
	{ "second fragment, IPv6", true,
	  IP6("2c", LL_OTHERS) "11 00 0009 00000000" ROCE },
	{ "two fragment headers", false,
	  IP6("2c", LL_MINE) "2c 00 0001 00000000 11 00 0001 00000000" ROCE },
	{ "NA, half an option", false,
	  IP6("3a", LL_MINE) ICMP6("88", LL_MINE) "0201" },
	{ "NA behind options", false,
	  IP6("00", LL_MINE) "3a 00 0104 00000000" ICMP6("88", LL_OTHERS) },
	{ "RA", true, IP6("3a", LL_MINE) ICMP6("86", "0000000000000000")
	  OPTION("01", MINE) },
	{ "RA, IP address", false,
	  IP6("3a", LL_OTHERS) ICMP6("86", "0000000000000000") OPTION("01", MINE) },
	{ "echo", true, IP6("3a", LL_OTHERS) ICMP6("80", "00") },
};

/* Bytes of hexadecimal digits; returns the number of bytes. */
static size_t from_hex(const char *text, uint8_t *out)
{
	unsigned int byte;
	size_t n = 0;

	while (*text) {
		if (*text == ' ') {
			text++;
			continue;
		}
		assert_int_equal(sscanf(text, "%2x", &byte), 1);
		out[n++] = byte;
		text += 2;
	}
	return n;
}

/* A frame, in a block of its size: what is read behind it is found. */
static uint8_t *sample_frame(const struct sample *s, size_t *len)
{
	uint8_t data[256], *frame;
	bool mine = strcmp(s->name, "another's MAC address");

	*len = from_hex(TO_ALL, data);
	*len += from_hex(mine ? MINE : OTHERS, data + *len);
	*len += from_hex(s->type, data + *len);
	frame = malloc(*len);
	assert_non_null(frame);
	memcpy(frame, data, *len);
	return frame;
}

static bool sample_passes(const struct pin *p, const struct sample *s)
{
	size_t len;
	uint8_t *frame = sample_frame(s, &len);
	bool ok = pin_frame_ok(p, frame, len, 0);

	free(frame);
	return ok;
}

static void test_samples(void **state)
{
	unsigned int i;
	bool ok;

	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		ok = sample_passes(&pin, &samples[i]);
		if (ok != samples[i].ok)
			print_error("%s\n", samples[i].name);
		assert_int_equal(ok, samples[i].ok);
	}
}

/* No length of any of them makes it read too far. */
static void test_cut(void **state)
{
	uint8_t *frame, *copy;
	unsigned int i;
	size_t len, n;

	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		frame = sample_frame(&samples[i], &len);
		for (n = 1; n < len; n++) {
			copy = malloc(n);
			assert_non_null(copy);
			memcpy(copy, frame, n);
			pin_frame_ok(&pin, copy, n, 0);
			free(copy);
		}
		free(frame);
	}
}

/* A checksum that is written later changes nothing that was looked at. */
static void test_checksum_later(void **state)
{
	static const struct {
		const char *name;
		size_t from, to;
	} ok[] = {
		/* Where the checksum field may lie, of all places of the frame. */
		{ "ARP", 0, 0 },
		{ "anything", 0, 0 },
		{ "RoCE", 14 + 20 + 4, 14 + 20 + 8 },
		{ "other UDP", 14 + 20 + 4, 14 + 20 + 8 },
		{ "RoCE, IPv6", 14 + 40 + 4, 14 + 40 + 8 },
		{ "NA", 0, 0 },
	};
	const struct sample *s;
	uint8_t *frame;
	unsigned int i;
	size_t len, at;

	for (i = 0; i < ARRAY_SIZE(ok); i++) {
		for (s = samples; strcmp(s->name, ok[i].name);)
			s++;
		frame = sample_frame(s, &len);
		for (at = 14; at < len; at++)
			assert_int_equal(pin_frame_ok(&pin, frame, len, at),
					 at >= ok[i].from && at < ok[i].to);
		free(frame);
	}
}

static bool passes(const struct pin *p, const char *name)
{
	const struct sample *s = samples;

	while (strcmp(s->name, name))
		s++;
	return sample_passes(p, s);
}

/* A part that is not named is not looked at. */
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
	uint8_t ll[GID_SIZE], other[GID_SIZE], v6[GID_SIZE];

	from_hex(LL_MINE, ll);
	from_hex(LL_OTHERS, other);
	from_hex(V6_MINE, v6);
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
		cmocka_unit_test(test_checksum_later),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_gids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
