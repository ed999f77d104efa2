// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checksum and segmentation in software.
 */

#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ether/frame.h"
#include "ether/offload.h"
#include "virtio/mem.h"

#define GSO	1000
#define PAYLOAD	2500

static uint8_t data[OFFLOAD_FRAME_MAX + 1];
static struct offload room;

/**
 * struct out - a frame that was sent
 * @len:	its length
 * @data:	its bytes
 */
struct out {
	size_t len;
	uint8_t data[2048];
};

static struct out out[80];
static unsigned int outs;

static void emit(void *arg, const struct frame *frame)
{
	struct out *o = &out[outs++];

	assert_ptr_equal(arg, out);
	assert_true(outs <= 80);
	assert_true(frame->len <= sizeof(o->data));
	assert_int_equal(frame->hdr.flags | frame->hdr.gso_type, 0);
	assert_int_equal(frame->wire_len, frame->len);
	o->len = frame->len;
	assert_int_equal(iov_to_buf(frame->iov, frame->iov_n, frame->off,
				    o->data, o->len), o->len);
}

/* The plain sum of RFC 1071: 16-bit words in network order. */
static uint16_t sum16(const uint8_t *p, size_t len, uint32_t sum)
{
	size_t i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/**
 * struct packet - a TCP packet to be made in @data
 * @vlan:	with a tag
 * @v6:		IPv6
 * @payload:	bytes
 */
struct packet {
	bool vlan;
	bool v6;
	size_t payload;
};

/* Returns its length; @hdr asks for segmentation. */
static size_t packet_make(const struct packet *p, struct virtio_net_hdr *hdr)
{
	size_t ip = p->vlan ? 18 : 14, l4 = ip + (p->v6 ? 40 : 20);
	size_t tcp = 32 + p->payload, i;

	memset(data, 0, sizeof(data));
	memset(data, 2, 12);
	if (p->vlan)
		memcpy(data + 12, "\x81\x00\x00\x05", 4);
	memcpy(data + ip - 2, p->v6 ? "\x86\xdd" : "\x08\x00", 2);
	if (p->v6) {
		data[ip] = 0x60;
		data[ip + 6] = 6;
		for (i = 0; i < 32; i++)
			data[ip + 8 + i] = i * 3;
	} else {
		data[ip] = 0x45;
		memcpy(data + ip + 4, "\xff\xff\x40\x00\x40\x06", 6);
		memcpy(data + ip + 12, "\x0a\x01\x02\x03\x0a\x01\x02\x04", 8);
	}
	memcpy(data + l4 + 4, "\xff\xff\xff\x00", 4);
	data[l4 + 12] = 0x80;
	data[l4 + 13] = 0x80 | 0x10 | 0x08 | 0x01;
	for (i = 0; i < p->payload && l4 + 32 + i < sizeof(data); i++)
		data[l4 + 32 + i] = i * 7 + i / 256;
	*hdr = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = p->v6 ? VIRTIO_NET_HDR_GSO_TCPV6 :
				    VIRTIO_NET_HDR_GSO_TCPV4,
		.gso_size = htole16(GSO),
		.csum_start = htole16(l4),
		.csum_offset = htole16(16),
	};
	return l4 + tcp;
}

/* In two pieces, of which the first has an odd length. */
static int frame_make(struct frame *frame, size_t len,
		      const struct virtio_net_hdr *hdr)
{
	static struct iovec iov[2];

	iov[0] = (struct iovec){ data, len < 33 ? len : 33 };
	iov[1] = (struct iovec){ data + 33, len - iov[0].iov_len };
	assert_int_equal(frame_init(frame, iov, 2, 0, len), 0);
	return offload_init(frame, hdr);
}

static void check_segment(const struct packet *p, const struct out *o,
			  unsigned int i, size_t off)
{
	size_t ip = p->vlan ? 18 : 14, l4 = ip + (p->v6 ? 40 : 20);
	size_t payload = o->len - l4 - 32;
	bool last = off + payload == p->payload;
	uint32_t pseudo = 6 + o->len - l4;

	if (p->v6) {
		assert_int_equal(get16(o->data + ip + 4), o->len - l4);
		pseudo += sum16(o->data + ip + 8, 32, 0);
	} else {
		assert_int_equal(get16(o->data + ip + 2), o->len - ip);
		assert_int_equal(get16(o->data + ip + 4), (0xffff + i) & 0xffff);
		assert_int_equal(sum16(o->data + ip, 20, 0), 0xffff);
		pseudo += sum16(o->data + ip + 12, 8, 0);
	}
	assert_int_equal(get32(o->data + l4 + 4), (uint32_t)(0xffffff00 + off));
	assert_int_equal(o->data[l4 + 13],
			 0x10 | (i ? 0 : 0x80) | (last ? 0x09 : 0));
	assert_int_equal(sum16(o->data + l4, o->len - l4, pseudo), 0xffff);
	assert_memory_equal(o->data + l4 + 32, data + l4 + 32 + off, payload);
}

static void segment(const struct packet *p)
{
	struct virtio_net_hdr hdr;
	size_t len = packet_make(p, &hdr), off = 0;
	struct frame frame;
	unsigned int i;

	assert_int_equal(frame_make(&frame, len, &hdr), 0);
	/* The device works this out, whatever the sender said. */
	assert_int_equal(le16toh(frame.hdr.hdr_len), len - p->payload);
	assert_int_equal(frame.wire_len,
			 len - p->payload +
			 (p->payload < GSO ? p->payload : GSO));
	outs = 0;
	assert_int_equal(offload_finish(&room, &frame, emit, out), 0);
	assert_int_equal(outs, (p->payload + GSO - 1) / GSO);
	for (i = 0; i < outs; i++) {
		check_segment(p, &out[i], i, off);
		off += GSO;
	}
}

static void test_segments(void **state)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		segment(&(struct packet){ i & 1, i & 2, PAYLOAD });
		segment(&(struct packet){ i & 1, i & 2, 2 * GSO });
		segment(&(struct packet){ i & 1, i & 2, 2 * GSO + 1 });
		segment(&(struct packet){ i & 1, i & 2, 1 });
		segment(&(struct packet){ i & 1, i & 2, 65000 });
	}
}

static void test_checksum(void **state)
{
	struct virtio_net_hdr hdr = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = htole16(34),
		.csum_offset = htole16(6),
	};
	struct frame frame;
	size_t len;

	for (len = 42; len < 120; len++) {
		memset(data, 0x5a, len);
		assert_int_equal(frame_make(&frame, len, &hdr), 0);
		assert_int_equal(offload_needs(&frame), OFFLOAD_CSUM);
		outs = 0;
		assert_int_equal(offload_finish(&room, &frame, emit, out), 0);
		assert_int_equal(outs, 1);
		assert_int_equal(out[0].len, len);
		/* The checksum field, 0x5a5a before, was replaced. */
		assert_int_equal(sum16(out[0].data + 34, len - 34, 0x5a5a),
				 0xffff);
	}
	/* A checksum of zero is written as 0xffff. */
	memset(data, 0, 60);
	memset(data + 40, 0xff, 2);
	assert_int_equal(frame_make(&frame, 60, &hdr), 0);
	outs = 0;
	offload_finish(&room, &frame, emit, out);
	assert_int_equal(get16(out[0].data + 40), 0xffff);
}

static void expect_refused(const struct virtio_net_hdr *hdr, size_t len)
{
	struct frame frame;

	assert_int_equal(frame_make(&frame, len, hdr), -EINVAL);
}

static void test_bad_checksum_fields(void **state)
{
	struct virtio_net_hdr hdr = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = htole16(34),
		.csum_offset = htole16(24),
	};
	struct frame frame;

	assert_int_equal(frame_make(&frame, 60, &hdr), 0);
	expect_refused(&hdr, 59);
	hdr.csum_offset = htole16(65535);
	expect_refused(&hdr, 60);
	hdr.csum_start = htole16(65535);
	expect_refused(&hdr, 60);
	hdr.csum_start = htole16(13);
	hdr.csum_offset = 0;
	expect_refused(&hdr, 60);
	/* Without the flag the fields have no meaning. */
	hdr.flags = 0;
	hdr.csum_offset = htole16(65535);
	assert_int_equal(frame_make(&frame, 60, &hdr), 0);
	assert_int_equal(frame.hdr.csum_offset, 0);
}

#define WITH(what) \
	do { \
		struct virtio_net_hdr hdr; \
		size_t len = packet_make(&packet, &hdr); \
		what; \
		expect_refused(&hdr, len); \
	} while (0)

static void test_bad_segmentation(void **state)
{
	const struct packet packet = { .payload = PAYLOAD };

	WITH(hdr.gso_size = 0);
	WITH(hdr.flags = 0);
	WITH(hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV6);
	WITH(hdr.gso_type = VIRTIO_NET_HDR_GSO_UDP);
	WITH(hdr.gso_type = 5);
	WITH(hdr.gso_type = VIRTIO_NET_HDR_GSO_ECN);
	WITH(hdr.gso_type = 0x7f);
	WITH(hdr.csum_offset = htole16(6));
	WITH(hdr.csum_start = htole16(14));
	WITH(hdr.csum_start = htole16(38));
	WITH(hdr.csum_start = htole16(len - 18));
	WITH(data[14] = 0x44);		/* header too short */
	WITH(data[14] = 0x46);		/* TCP is elsewhere */
	WITH(data[14] = 0x65);		/* not version 4 */
	WITH(data[23] = 17);		/* not TCP */
	WITH(data[20] = 0x20);		/* a fragment */
	WITH(data[21] = 1);		/* a fragment, too */
	WITH(data[46] = 0x40);		/* TCP header too short */
	WITH(len = 66);			/* nothing to segment */
	WITH(len = 60);
	WITH(len = 17);
	WITH(len = sizeof(data));
}

/* The work of one cut is bounded, and no more frames come of it than were counted. */
static void test_many_segments(void **state)
{
	const struct packet packet = { .payload = 65000 };
	struct virtio_net_hdr hdr;
	struct frame frame;
	size_t len = packet_make(&packet, &hdr);

	hdr.gso_size = htole16(1);
	expect_refused(&hdr, len);
	hdr.gso_size = htole16(packet.payload / OFFLOAD_SEGMENTS_MAX);
	expect_refused(&hdr, len);
	hdr.gso_size = htole16(packet.payload / OFFLOAD_SEGMENTS_MAX + 1);
	assert_int_equal(frame_make(&frame, len, &hdr), 0);
	assert_int_equal(offload_segments(&frame), OFFLOAD_SEGMENTS_MAX);
	/* A short frame may have short segments. */
	hdr.gso_size = htole16(1);
	assert_int_equal(frame_make(&frame, len - packet.payload + 80, &hdr), 0);
	outs = 0;
	assert_int_equal(offload_finish(&room, &frame, emit, out), 0);
	assert_int_equal(outs, 80);
	assert_int_equal(offload_segments(&frame), 80);
}

static void test_bad_segmentation_v6(void **state)
{
	const struct packet packet = { .v6 = true, .payload = PAYLOAD };

	WITH(hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4);
	WITH(hdr.csum_start = htole16(53));
	WITH(hdr.csum_start = htole16(OFFLOAD_HEAD_MAX - 19));
	WITH(hdr.csum_start = htole16(65535));
	WITH(data[14] = 0x45);
	WITH(data[66] = 0xf0; len = 100);
}

/* A guest that changes the headers between check and use gets nothing sent. */
static void test_changed_meanwhile(void **state)
{
	const struct packet packet = { .payload = PAYLOAD };
	struct virtio_net_hdr hdr;
	struct frame frame;
	size_t len = packet_make(&packet, &hdr);

	assert_int_equal(frame_make(&frame, len, &hdr), 0);
	data[46] = 0xf0;
	outs = 0;
	assert_int_equal(offload_finish(&room, &frame, emit, out), 0);
	data[46] = 0x10;
	assert_int_equal(offload_finish(&room, &frame, emit, out), -EINVAL);
	data[46] = 0x80;
	data[14] = 0x4f;
	assert_int_equal(offload_finish(&room, &frame, emit, out), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_bad_checksum_fields),
		cmocka_unit_test(test_bad_segmentation),
		cmocka_unit_test(test_many_segments),
		cmocka_unit_test(test_bad_segmentation_v6),
		cmocka_unit_test(test_changed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
