// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ARP and neighbor discovery of a node, byte by byte.
 */
#include "tests/lib/node_bed.h"

#include "base/util.h"
#include "packet/inet.h"

#define NODE_MAC	0x52, 0x54, 0, 0, 0, 9
#define GUEST_MAC	0x52, 0x54, 0, 0, 0, 1
#define GUEST_IPV6	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
#define NODE_IPV6	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9

static const uint8_t guest_mac[] = { GUEST_MAC };
static const uint8_t node_mac[] = { NODE_MAC };
static const uint8_t guest_gid[GID_SIZE] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
static const uint8_t guest_gid6[GID_SIZE] = { GUEST_IPV6 };
static const uint8_t node_gid6[GID_SIZE] = { NODE_IPV6 };

/* 10.0.0.1 asks for 10.0.0.9. */
static const uint8_t arp_request[60] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, GUEST_MAC, 8, 6,
	0, 1, 8, 0, 6, 4, 0, 1,
	GUEST_MAC, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 9,
};

static const uint8_t arp_reply[60] = {
	GUEST_MAC, NODE_MAC, 8, 6,
	0, 1, 8, 0, 6, 4, 0, 2,
	NODE_MAC, 10, 0, 0, 9, GUEST_MAC, 10, 0, 0, 1,
};

/* Solicitation of fd00::9 by fd00::1; the sum is made by sum(). */
static const uint8_t solicitation[86] = {
	0x33, 0x33, 0xff, 0, 0, 9, GUEST_MAC, 0x86, 0xdd,
	0x60, 0, 0, 0, 0, 32, 58, 255, GUEST_IPV6,
	0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 9,
	135, 0, 0, 0, 0, 0, 0, 0, NODE_IPV6, 1, 1, GUEST_MAC,
};

static const uint8_t advertisement[86] = {
	GUEST_MAC, NODE_MAC, 0x86, 0xdd,
	0x60, 0, 0, 0, 0, 32, 58, 255, NODE_IPV6, GUEST_IPV6,
	136, 0, 0, 0, 0x60, 0, 0, 0, NODE_IPV6, 2, 1, NODE_MAC,
};

/* Word by word, as RFC 4443 has it. */
static void sum(uint8_t *frame)
{
	const size_t len = get_be16(frame + 18);
	uint32_t total = 58 + len;
	size_t i;

	frame[56] = 0;
	frame[57] = 0;
	for (i = 22; i < 54 + len; i += 2)
		total += get_be16(frame + i);
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	put_be16(frame + 56, ~total);
}

static void say(struct node_bed *bed, const uint8_t *frame, size_t len)
{
	uint8_t copy[256];

	memcpy(copy, frame, len);
	bed->port[0].n = 0;
	bed->port[1].n = 0;
	bed_frame(bed, 0, copy, len);
}

/* The same with one byte changed. */
static void say_changed(struct node_bed *bed, const uint8_t *frame, size_t len, size_t at,
			uint8_t value, bool sum_again)
{
	uint8_t copy[256];

	memcpy(copy, frame, len);
	copy[at] = value;
	if (sum_again)
		sum(copy);
	say(bed, copy, len);
}

static void expect(const struct node_bed *bed, const uint8_t *frame, size_t len)
{
	assert_int_equal(bed->port[0].n, 1);
	assert_int_equal(bed->port[0].len[0], len);
	assert_memory_equal(bed->port[0].frame[0], frame, len);
}

static const uint8_t *known(struct node_bed *bed, const uint8_t *gid)
{
	return node_neigh_find(&bed->node->arp.neighs, gid);
}

/* ------------------------------------------------------------------------- */

static void test_arp(void **state)
{
	struct node_bed *bed = *state;

	assert_null(known(bed, guest_gid));
	say(bed, arp_request, sizeof(arp_request));
	expect(bed, arp_reply, sizeof(arp_reply));
	/* The answer is for the one who asked. */
	assert_int_equal(bed->port[1].n, 1);
	assert_memory_equal(known(bed, guest_gid), guest_mac, ETH_ALEN);
}

/* Each byte of kind, operation or target that is another one: no answer, nothing learnt. */
static void test_arp_others(void **state)
{
	static const size_t at[] = { 12, 14, 15, 16, 18, 19, 20, 21, 38, 41 };
	struct node_bed *bed = *state;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		say_changed(bed, arp_request, sizeof(arp_request), at[i], 77, false);
		assert_int_equal(bed->port[0].n, 0);
		assert_null(known(bed, guest_gid));
	}
	/* Too short, by one byte. */
	say(bed, arp_request, 41);
	assert_int_equal(bed->port[0].n, 0);
	/* A sender that is a group, or is said to be the node itself. */
	say_changed(bed, arp_request, sizeof(arp_request), 22, 0x53, false);
	assert_int_equal(bed->port[0].n, 0);
	say_changed(bed, arp_request, sizeof(arp_request), 31, 9, false);
	assert_null(known(bed, bed->config.gid[0]));
	assert_null(known(bed, guest_gid));
}

/* Somebody looks whether the address is taken: it is, and nobody is learnt. */
static void test_arp_probe(void **state)
{
	static const uint8_t none[GID_SIZE] = { [10] = 0xff, 0xff };
	struct node_bed *bed = *state;
	uint8_t probe[60];

	memcpy(probe, arp_request, sizeof(probe));
	memset(probe + 28, 0, 4);
	say(bed, probe, sizeof(probe));
	assert_int_equal(bed->port[0].n, 1);
	assert_memory_equal(bed->port[0].frame[0] + 28, arp_reply + 28, 4);
	assert_null(known(bed, none));
}

/* Nobody is entered by an announcement, but a neighbour moves by one. */
static void test_arp_gratuitous(void **state)
{
	struct node_bed *bed = *state;
	uint8_t gratuitous[60];

	memcpy(gratuitous, arp_request, sizeof(gratuitous));
	gratuitous[41] = 1;
	say(bed, gratuitous, sizeof(gratuitous));
	assert_null(known(bed, guest_gid));
	say(bed, arp_request, sizeof(arp_request));
	gratuitous[27] = 0x55;
	say(bed, gratuitous, sizeof(gratuitous));
	assert_int_equal(bed->port[0].n, 0);
	assert_int_equal(known(bed, guest_gid)[5], 0x55);
}

static void test_arp_ask(void **state)
{
	struct node_bed *bed = *state;
	uint8_t reply[60];

	node_arp_ask(&bed->node->arp, bed->config.gid[0], guest_gid);
	bed_run(bed);
	assert_int_equal(bed->port[0].n, 1);
	assert_int_equal(bed->port[1].n, 1);
	assert_memory_equal(bed->port[0].frame[0], arp_request, ETH_ALEN);
	assert_memory_equal(bed->port[0].frame[0] + 6, node_mac, ETH_ALEN);
	assert_memory_equal(bed->port[0].frame[0] + 12, arp_request + 12, 10);
	assert_memory_equal(bed->port[0].frame[0] + 22, arp_reply + 22, 10);
	assert_memory_equal(bed->port[0].frame[0] + 38, guest_gid + 12, 4);
	assert_null(known(bed, guest_gid));

	memcpy(reply, arp_request, sizeof(reply));
	memcpy(reply, node_mac, ETH_ALEN);
	memcpy(reply + 32, node_mac, ETH_ALEN);
	reply[21] = 2;
	say(bed, reply, sizeof(reply));
	assert_int_equal(bed->port[0].n, 0);
	assert_memory_equal(known(bed, guest_gid), guest_mac, ETH_ALEN);
}

/* ------------------------------------------------------------------------- */

static void test_nd(void **state)
{
	struct node_bed *bed = *state;
	uint8_t right[86], frame[86];

	memcpy(frame, solicitation, sizeof(frame));
	sum(frame);
	memcpy(right, advertisement, sizeof(right));
	sum(right);
	say(bed, frame, sizeof(frame));
	expect(bed, right, sizeof(right));
	assert_memory_equal(known(bed, guest_gid6), guest_mac, ETH_ALEN);
}

/* Version, next header, hops, type, code, target, length of the option. */
static void test_nd_others(void **state)
{
	static const size_t at[] = { 14, 19, 20, 21, 54, 55, 77, 79 };
	struct node_bed *bed = *state;
	uint8_t frame[86];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		say_changed(bed, solicitation, sizeof(solicitation), at[i], 31, true);
		assert_int_equal(bed->port[0].n, 0);
		assert_null(known(bed, guest_gid6));
	}
	/* A sum that is wrong; a packet cut off, at each byte. */
	memcpy(frame, solicitation, sizeof(frame));
	sum(frame);
	say_changed(bed, frame, sizeof(frame), 56, frame[56] ^ 1, false);
	assert_int_equal(bed->port[0].n, 0);
	for (i = 14; i < sizeof(frame); i++) {
		say(bed, frame, i);
		assert_int_equal(bed->port[0].n, 0);
	}
	assert_null(known(bed, guest_gid6));
}

/* Options of no bytes, and one that is longer than the packet. */
static void test_nd_options(void **state)
{
	struct node_bed *bed = *state;

	say_changed(bed, solicitation, sizeof(solicitation), 79, 0, true);
	assert_int_equal(bed->port[0].n, 0);
	say_changed(bed, solicitation, sizeof(solicitation), 79, 2, true);
	assert_int_equal(bed->port[0].n, 0);
	say_changed(bed, solicitation, sizeof(solicitation), 79, 255, true);
	assert_int_equal(bed->port[0].n, 0);
	assert_null(known(bed, guest_gid6));
}

/* Duplicate address detection: all hear that the address is taken. */
static void test_nd_dad(void **state)
{
	static const uint8_t all_nodes_mac[] = { 0x33, 0x33, 0, 0, 0, 1 };
	struct node_bed *bed = *state;
	uint8_t frame[86];

	memcpy(frame, solicitation, sizeof(frame));
	memset(frame + 22, 0, GID_SIZE);
	frame[19] = 24;
	sum(frame);
	say(bed, frame, 78);
	assert_int_equal(bed->port[0].n, 1);
	assert_memory_equal(bed->port[0].frame[0], all_nodes_mac, ETH_ALEN);
	assert_int_equal(bed->port[0].frame[0][54], 136);
	assert_int_equal(bed->port[0].frame[0][58], 0x20);
	assert_memory_equal(bed->port[0].frame[0] + 62, node_gid6, GID_SIZE);
}

static void test_nd_ask(void **state)
{
	struct node_bed *bed = *state;
	uint8_t frame[86];

	node_arp_ask(&bed->node->arp, node_gid6, guest_gid6);
	bed_run(bed);
	memcpy(frame, solicitation, sizeof(frame));
	memcpy(frame + 6, node_mac, ETH_ALEN);
	frame[5] = 1;
	frame[53] = 1;
	memcpy(frame + 22, node_gid6, GID_SIZE);
	memcpy(frame + 62, guest_gid6, GID_SIZE);
	memcpy(frame + 80, node_mac, ETH_ALEN);
	sum(frame);
	expect(bed, frame, sizeof(frame));

	memcpy(frame, advertisement, sizeof(frame));
	memcpy(frame, node_mac, ETH_ALEN);
	memcpy(frame + 6, guest_mac, ETH_ALEN);
	memcpy(frame + 22, guest_gid6, GID_SIZE);
	memcpy(frame + 38, node_gid6, GID_SIZE);
	memcpy(frame + 62, guest_gid6, GID_SIZE);
	memcpy(frame + 80, guest_mac, ETH_ALEN);
	sum(frame);
	say(bed, frame, sizeof(frame));
	assert_memory_equal(known(bed, guest_gid6), guest_mac, ETH_ALEN);
}

/* ------------------------------------------------------------------------- */

/* A thousand neighbours: the table does not grow, and those that are used stay. */
static void test_flood(void **state)
{
	struct node_bed *bed = *state;
	uint8_t frame[60], gid[GID_SIZE];
	unsigned int i;

	say(bed, arp_request, sizeof(arp_request));
	for (i = 0; i < 1000; i++) {
		memcpy(frame, arp_request, sizeof(frame));
		frame[29] = 1;
		frame[30] = i >> 8;
		frame[31] = i;
		say(bed, frame, sizeof(frame));
		assert_int_equal(bed->port[0].n, 1);
		gid_from_ipv4(gid, frame + 28);
		assert_non_null(known(bed, gid));
		assert_non_null(known(bed, guest_gid));
	}
	frame[30] = 0;
	frame[31] = 0;
	gid_from_ipv4(gid, frame + 28);
	assert_null(known(bed, gid));
}

/* More frames in a burst than there is room for: the rest is lost. */
static void test_burst(void **state)
{
	struct node_bed *bed = *state;
	uint8_t frame[60];
	unsigned int i;

	for (i = 0; i < 3 * NODE_PORT_FRAMES; i++) {
		struct iovec iov = { .iov_base = frame, .iov_len = sizeof(frame) };
		struct frame out;

		memcpy(frame, arp_request, sizeof(frame));
		assert_int_equal(frame_init(&out, &iov, 1, 0, sizeof(frame)), 0);
		switch_send(&bed->port[0].port, &out);
	}
	bed_run(bed);
	assert_int_equal(bed->port[0].n, NODE_PORT_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arp, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_arp_others, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_arp_probe, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_arp_gratuitous, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_arp_ask, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_nd, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_nd_others, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_nd_options, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_nd_dad, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_nd_ask, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_flood, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_burst, bed_setup, bed_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
