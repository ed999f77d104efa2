// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A stream of TCP as frames.  That their checksums are right is known from csum_is_right(),
 * which test_csum.c judges.
 */
#include "packet/csum.h"
#include "packet/tso.h"
#include "tests/lib/engine_guest.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define FIN_PSH_ACK	0x19
#define CWR		0x80

/**
 * struct form - kind of headers
 * @v6:		IPv6
 * @tag:	bytes of an 802.1Q tag
 * @ip_options:	bytes of options of IPv4
 * @tcp_options: bytes of options of TCP
 */
struct form {
	bool v6;
	uint8_t tag;
	uint8_t ip_options;
	uint8_t tcp_options;
};

static const struct form forms[] = {
	{ .v6 = false },
	{ .v6 = true },
	{ .tag = 4, .tcp_options = 12 },
	{ .v6 = true, .tag = 4, .tcp_options = 40 },
	{ .tag = 4, .ip_options = 40, .tcp_options = 40 },
};

/* Returns their length. */
static size_t make(uint8_t *head, const struct form *form)
{
	const size_t ip = 14u + form->tag;
	const size_t l4 = ip + (form->v6 ? 40 : 20u + form->ip_options);
	uint8_t *tcp = head + l4;
	size_t i;

	for (i = 0; i < TSO_HEADER_MAX; i++)
		head[i] = 3 + i * 7;
	if (form->tag)
		memcpy(head + 12, (uint8_t []) { 0x81, 0, 0, 7 }, 4);
	memcpy(head + ip - 2, form->v6 ? (uint8_t []) { 0x86, 0xdd } :
					 (uint8_t []) { 8, 0 }, 2);
	head[ip] = form->v6 ? 0x60 : 0x40 | (20 + form->ip_options) / 4;
	if (form->v6) {
		head[ip + 6] = 6;
	} else {
		memcpy(head + ip + 4, (uint8_t []) { 0xff, 0xff, 0x40, 0 }, 4);
		head[ip + 9] = 6;
	}
	memcpy(tcp + 4, (uint8_t []) { 0xff, 0xff, 0xff, 0xf0 }, 4);
	tcp[12] = (20 + form->tcp_options) / 4 << 4;
	tcp[13] = FIN_PSH_ACK | CWR;
	return l4 + 20 + form->tcp_options;
}

static uint32_t get(const uint8_t *p, unsigned int n)
{
	uint32_t value = 0;

	while (n--)
		value = value << 8 | *p++;
	return value;
}

static void expect_ip(const struct form *form, const uint8_t *ip, size_t ip_len, unsigned int i)
{
	if (form->v6) {
		assert_int_equal(get(ip + 4, 2), ip_len - 40);
		return;
	}
	assert_int_equal(get(ip + 2, 2), ip_len);
	assert_int_equal(get(ip + 4, 2), (0xffff + i) & 0xffff);
}

/* All bytes that are not a frame's own are those of the headers. */
static void expect_rest(const struct form *form, const uint8_t *frame, const uint8_t *head,
			size_t len)
{
	const size_t ip = 14u + form->tag;
	const size_t l4 = len - 20 - form->tcp_options;
	size_t at;

	for (at = 0; at < len; at++) {
		if (at >= ip && at < l4 && (form->v6 ? at - ip - 4 < 2 :
					    at - ip - 2 < 4 || at - ip - 10 < 2))
			continue;
		if (at >= l4 && (at - l4 - 4 < 4 || at - l4 == 13 || at - l4 - 16 < 2))
			continue;
		assert_int_equal(frame[at], head[at]);
	}
}

static void test_segments(void **state)
{
	static const size_t parts[] = { 100, 1, 77 };
	uint8_t head[TSO_HEADER_MAX], frame[TSO_HEADER_MAX + 100], before[100];
	struct tso tso;
	unsigned int f, i;
	size_t len, off;
	uint8_t *tcp;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		len = make(head, &forms[f]);
		assert_true(tso_init(&tso, head, len));
		for (i = 0, off = 0; i < 3; off += parts[i], i++) {
			struct iovec iov = { frame, len + parts[i] };

			memset(frame, 0xee, sizeof(frame));
			memset(frame + len, 'a' + i, parts[i]);
			memcpy(before, frame + len, sizeof(before));
			tso_segment(&tso, frame, i, off, parts[i], i == 2);
			assert_memory_equal(frame + len, before, sizeof(before));
			assert_true(csum_is_right(&iov, 0, len + parts[i]));
			expect_ip(&forms[f], frame + 14 + forms[f].tag,
				  len - 14 - forms[f].tag + parts[i], i);
			tcp = frame + len - 20 - forms[f].tcp_options;
			assert_int_equal(get(tcp + 4, 4), (uint32_t)(0xfffffff0 + off));
			assert_int_equal(tcp[13], (i == 2 ? FIN_PSH_ACK : 0x10) |
						  (i ? 0 : CWR));
			expect_rest(&forms[f], frame, head, len);
		}
	}
}

/* Headers that end too early, or too late. */
static void test_length(void **state)
{
	uint8_t head[TSO_HEADER_MAX], *cut;
	struct tso tso;
	unsigned int f;
	size_t len, n;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		len = make(head, &forms[f]);
		for (n = 0; n <= TSO_HEADER_MAX; n++) {
			cut = malloc(n + 1);
			assert_non_null(cut);
			memcpy(cut + 1, head, n);
			assert_int_equal(tso_init(&tso, cut + 1, n), n == len);
			free(cut);
		}
	}
	assert_false(tso_init(&tso, head, TSO_HEADER_MAX + 1));
}

static void test_not_tcp(void **state)
{
	static const struct {
		bool v6;
		uint8_t at;
		uint8_t value;
	} wrong[] = {
		{ false, 12, 9 },		/* type */
		{ false, 14, 0x65 },		/* version */
		{ false, 14, 0x44 },		/* header too short */
		{ false, 14, 0x4f },		/* too long */
		{ false, 20, 0x20 },		/* fragment */
		{ false, 21, 1 },
		{ false, 23, 17 },		/* protocol */
		{ false, 46, 0x40 },		/* header of TCP too short */
		{ false, 46, 0x60 },		/* too long */
		{ true, 14, 0x45 },
		{ true, 20, 44 },
		{ true, 66, 0x40 },
	};
	uint8_t head[TSO_HEADER_MAX];
	struct tso tso;
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		len = make(head, &forms[wrong[i].v6]);
		assert_true(tso_init(&tso, head, len));
		head[wrong[i].at] = wrong[i].value;
		assert_false(tso_init(&tso, head, len));
	}
}

#define T(fn)	cmocka_unit_test(fn)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_segments),
		T(test_length),
		T(test_not_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
