// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checksums of frames, compared with those that a plain sum of bytes gives.
 */
#include "packet/csum.h"
#include "tests/lib/engine_guest.h"

#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define FRAME_MAX	2000

/**
 * struct form - a kind of frame
 * @v6:		IPv6
 * @tagged:	behind an 802.1Q tag
 * @options:	bytes of options of IPv4
 * @proto:	protocol
 * @payload:	bytes behind the header of TCP or UDP
 * @behind:	bytes behind the packet
 */
struct form {
	bool v6;
	bool tagged;
	uint8_t options;
	uint8_t proto;
	uint16_t payload;
	uint8_t behind;
};

static const struct form forms[] = {
	{ .proto = IPPROTO_UDP, .payload = 0 },
	{ .proto = IPPROTO_UDP, .payload = 1 },
	{ .proto = IPPROTO_UDP, .payload = 18, .behind = 7 },
	{ .proto = IPPROTO_TCP, .payload = 1460 },
	{ .proto = IPPROTO_TCP, .payload = 333, .tagged = true, .options = 40 },
	{ .proto = IPPROTO_TCP, .payload = 0, .options = 4 },
	{ .v6 = true, .proto = IPPROTO_UDP, .payload = 55 },
	{ .v6 = true, .proto = IPPROTO_TCP, .payload = 1440, .tagged = true },
	{ .v6 = true, .proto = IPPROTO_TCP, .payload = 2, .behind = 3 },
};

/**
 * struct made - a frame, and where its parts are
 * @data:	it
 * @len:	its bytes
 * @ip:		offset of the header of IP
 * @l4:		offset of that of TCP or UDP
 * @end:	offset of the end of the packet
 * @csum:	offset of the checksum of TCP or UDP
 */
struct made {
	uint8_t data[FRAME_MAX];
	size_t len;
	size_t ip;
	size_t l4;
	size_t end;
	size_t csum;
};

static void put16(uint8_t *p, size_t value)
{
	p[0] = value >> 8;
	p[1] = value;
}

/* Checksums are left as random as all else. */
static void make(struct made *m, const struct form *form)
{
	const size_t l4_head = form->proto == IPPROTO_UDP ? 8 : 20;
	uint8_t *ip;
	size_t i;

	m->ip = ETH_HLEN + (form->tagged ? 4 : 0);
	m->l4 = m->ip + (form->v6 ? 40 : 20u + form->options);
	m->end = m->l4 + l4_head + form->payload;
	m->len = m->end + form->behind;
	m->csum = m->l4 + (form->proto == IPPROTO_UDP ? 6 : 16);
	for (i = 0; i < m->len; i++)
		m->data[i] = 17 + i * 31 + (i >> 5);
	if (form->tagged)
		put16(m->data + ETH_HLEN - 2, ETHERTYPE_VLAN);
	put16(m->data + m->ip - 2, form->v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	ip = m->data + m->ip;
	ip[0] = form->v6 ? 0x60 : 0x40 | (20 + form->options) / 4;
	if (form->v6) {
		put16(ip + 4, m->end - m->l4);
		ip[6] = form->proto;
	} else {
		put16(ip + 2, m->end - m->ip);
		put16(ip + 6, 0x4000);
		ip[9] = form->proto;
	}
}

/* By bytes, with the word's place in the packet. */
static uint32_t add(uint32_t sum, const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* A sum over all that it covers, itself too, is 0xffff. */
static bool is_right(const struct made *m, const struct form *form)
{
	const uint8_t *ip = m->data + m->ip;
	const uint8_t tail[] = { 0, 0, (m->end - m->l4) >> 8, m->end - m->l4, 0, 0, 0,
				 form->proto };
	uint32_t sum = add(0, tail, sizeof(tail));

	if (!form->v6 && add(0, ip, m->l4 - m->ip) != 0xffff)
		return false;
	sum = form->v6 ? add(sum, ip + 8, 32) : add(sum, ip + 12, 8);
	return add(sum, m->data + m->l4, m->end - m->l4) == 0xffff;
}

/* Looked at in a heap block of its size, cut in three. */
static bool asked(const uint8_t *data, size_t len, size_t first, size_t second)
{
	uint8_t *copy = malloc(len + 3);
	struct iovec iov[4];
	bool right;

	assert_non_null(copy);
	memcpy(copy + 3, data, len);
	iov[0] = (struct iovec) { copy, 3 + first };
	iov[1] = (struct iovec) { NULL, 0 };
	iov[2] = (struct iovec) { copy + 3 + first, second - first };
	iov[3] = (struct iovec) { copy + 3 + second, len - second };
	right = csum_is_right(iov, 3, len);
	free(copy);
	return right;
}

static void test_filled(void **state)
{
	struct made m, before;
	unsigned int i;
	size_t at;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		make(&m, &forms[i]);
		assert_false(is_right(&m, &forms[i]));
		assert_false(asked(m.data, m.len, 1, 2));
		before = m;
		csum_fill(m.data, m.len);
		assert_true(is_right(&m, &forms[i]));
		for (at = 0; at < m.len; at++) {
			bool mine = at - m.csum < 2 || (!forms[i].v6 && at - m.ip - 10 < 2);

			assert_true(mine || m.data[at] == before.data[at]);
		}
		for (at = 0; at < m.len; at += 1 + at / 150)
			assert_true(asked(m.data, m.len, at / 2, at));
	}
}

/* Each bit that a sum covers matters, and no other. */
static void test_flipped(void **state)
{
	struct made m;
	unsigned int i;
	size_t at;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		make(&m, &forms[i]);
		csum_fill(m.data, m.len);
		for (at = 0; at < m.len; at++) {
			m.data[at] ^= 1 << at % 8;
			if (at < ETH_HLEN - 2 || at >= m.end)
				assert_true(asked(m.data, m.len, 9, 40));
			else if (at >= m.l4)
				assert_false(asked(m.data, m.len, 9, 40));
			m.data[at] ^= 1 << at % 8;
		}
	}
}

/* Of UDP, 0 stands for none: where the sum is 0, its other form is sent. */
static void test_udp_zero(void **state)
{
	const struct form form = { .proto = IPPROTO_UDP, .payload = 2 };
	struct made m;
	uint16_t sum;

	make(&m, &form);
	m.data[m.csum] = 0;
	m.data[m.csum + 1] = 0;
	assert_false(asked(m.data, m.len, 1, 2));
	csum_fill(m.data, m.len);
	/* Now the payload takes what is left to 0xffff. */
	sum = m.data[m.csum] << 8 | m.data[m.csum + 1];
	sum = add(0, (uint8_t []) { sum >> 8, sum, m.data[m.end - 2], m.data[m.end - 1] }, 4);
	put16(m.data + m.end - 2, sum);
	csum_fill(m.data, m.len);
	assert_int_equal(m.data[m.csum], 0xff);
	assert_int_equal(m.data[m.csum + 1], 0xff);
	assert_true(asked(m.data, m.len, 1, 2));
}

/* Only the header of IPv4 is made right. */
static void test_fragment(void **state)
{
	static const uint16_t parts[] = { 0x2000, 0x0001, 0x3fff };
	const struct form form = { .proto = IPPROTO_TCP, .payload = 100 };
	struct made m, before;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		make(&m, &form);
		put16(m.data + m.ip + 6, parts[i]);
		before = m;
		csum_fill(m.data, m.len);
		assert_int_equal(add(0, m.data + m.ip, 20), 0xffff);
		assert_memory_equal(m.data + m.l4, before.data + m.l4, m.len - m.l4);
		assert_false(asked(m.data, m.len, 1, 2));
	}
	/* As is that of a protocol without a checksum that we know. */
	make(&m, &form);
	m.data[m.ip + 9] = IPPROTO_ICMP;
	before = m;
	csum_fill(m.data, m.len);
	assert_int_equal(add(0, m.data + m.ip, 20), 0xffff);
	assert_memory_equal(m.data + m.l4, before.data + m.l4, m.len - m.l4);
	assert_false(asked(m.data, m.len, 1, 2));
}

/* A frame of any length stays as it is if its packet is longer. */
static void test_cut(void **state)
{
	struct made m;
	uint8_t *cut;
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		make(&m, &forms[i]);
		csum_fill(m.data, m.len);
		for (len = ETH_HLEN; len < m.end; len++) {
			assert_false(asked(m.data, len, 5, 9));
			cut = malloc(len);
			assert_non_null(cut);
			memcpy(cut, m.data, len);
			/* Would be made right. */
			if (len > m.ip + 12)
				cut[m.ip + 11] ^= 1;
			m.data[m.ip + 11] ^= len > m.ip + 12;
			csum_fill(cut, len);
			assert_memory_equal(cut, m.data, len);
			m.data[m.ip + 11] ^= len > m.ip + 12;
			free(cut);
		}
	}
}

/* Lengths and versions that cannot be. */
static void test_nonsense(void **state)
{
	const struct form v4 = { .proto = IPPROTO_TCP, .payload = 100 };
	const struct form v6 = { .v6 = true, .proto = IPPROTO_TCP, .payload = 100 };
	struct made m, before;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		make(&m, i < 5 ? &v4 : &v6);
		switch (i) {
		case 0:
			m.data[m.ip] = 0x44;
			break;
		case 1:
			m.data[m.ip] = 0x65;
			break;
		case 2:
			put16(m.data + m.ip + 2, 19);
			break;
		case 3:
			put16(m.data + m.ip + 2, m.len - m.ip + 1);
			break;
		case 4:
			put16(m.data + m.ip - 2, 0x88b5);
			break;
		case 5:
			m.data[m.ip] = 0x40;
			break;
		case 6:
			put16(m.data + m.ip + 4, m.len - m.l4 + 1);
			break;
		case 7:
			put16(m.data + m.ip + 4, 19);
			break;
		}
		before = m;
		csum_fill(m.data, m.len);
		assert_memory_equal(m.data, before.data, m.len);
		assert_false(asked(m.data, m.len, 1, 2));
	}
}

#define T(fn)	cmocka_unit_test(fn)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_filled),
		T(test_flipped),
		T(test_udp_zero),
		T(test_fragment),
		T(test_cut),
		T(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
