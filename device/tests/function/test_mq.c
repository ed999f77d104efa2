// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A function with several pairs of Ethernet queues.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "function/eth.h"
#include "function/function_image.h"
#include "function/function_priv.h"
#include "function/needs.h"
#include "tests/lib/station.h"

#define PAIRS		STATION_PAIRS
#define FRAME		80u
#define IP		14u
#define HASH_HDR	20u
#define ROOM		256u
#define ALL_TYPES	MQ_TYPES
#define HAS(name)	BIT(VIRTIO_NET_F_ ## name)

/* The key of Microsoft's examples (tests/packet/test_toeplitz.c). */
static const uint8_t key[RX_HASH_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static int mq_setup(void **state)
{
	station_pairs = PAIRS;
	return station_setup(state);
}

static unsigned int rx_of(unsigned int pair)
{
	return 2 * pair;
}

static unsigned int tx_of(unsigned int pair)
{
	return 2 * pair + 1;
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static uint8_t command(struct station *s, uint8_t cmd, const void *req, size_t len)
{
	struct guest_vq *gvq = &s->gvq[s->queues - 1];
	struct guest_buf buf[] = {
		{ .addr = guest_alloc(&s->guest, 2 + len, 1), .len = 2 + len },
		{ .addr = guest_alloc(&s->guest, 1, 1), .len = 1, .write = true },
	};
	uint8_t *out = guest_ptr(&s->guest, buf[0].addr);
	uint8_t *ack = guest_ptr(&s->guest, buf[1].addr);
	uint32_t head, used;

	out[0] = VIRTIO_NET_CTRL_MQ;
	out[1] = cmd;
	memcpy(out + 2, req, len);
	*ack = 0xee;
	guest_vq_add(gvq, buf, 2);
	run();
	assert_true(guest_vq_get(gvq, &head, &used));
	assert_int_equal(used, 1);
	return *ack;
}

static uint8_t set_pairs(struct station *s, uint16_t pairs)
{
	const uint16_t req = htole16(pairs);

	return command(s, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET, &req, sizeof(req));
}

/**
 * struct rss - a request RSS_CONFIG
 * @types:	as on the wire, like the following
 * @mask:	field
 * @unclassified: field
 * @entries:	of @table, whatever @mask says
 * @table:	entry n is this plus n modulo @modulo
 * @modulo:	see there
 * @pairs:	field max_tx_vq
 * @key_len:	field
 * @more:	bytes more than there are fields, or fewer
 */
struct rss {
	uint32_t types;
	uint16_t mask;
	uint16_t unclassified;
	unsigned int entries;
	uint16_t table;
	unsigned int modulo;
	uint16_t pairs;
	uint8_t key_len;
	int more;
};

static const struct rss good = {
	.types = ALL_TYPES, .mask = 127, .entries = 128, .modulo = PAIRS, .pairs = PAIRS,
	.key_len = RX_HASH_KEY,
};

static void put16(uint8_t **p, uint16_t value)
{
	*(*p)++ = value;
	*(*p)++ = value >> 8;
}

static uint8_t set_rss(struct station *s, const struct rss *rss)
{
	uint8_t req[4096] = {}, *p = req;
	unsigned int i;

	put16(&p, rss->types);
	put16(&p, rss->types >> 16);
	put16(&p, rss->mask);
	put16(&p, rss->unclassified);
	for (i = 0; i < rss->entries; i++)
		put16(&p, rss->table + i % rss->modulo);
	put16(&p, rss->pairs);
	*p++ = rss->key_len;
	memcpy(p, key, rss->key_len < sizeof(key) ? rss->key_len : sizeof(key));
	p += rss->key_len;
	return command(s, VIRTIO_NET_CTRL_MQ_RSS_CONFIG, req, p - req + rss->more);
}

static uint8_t set_hash(struct station *s, uint32_t types, uint8_t key_len, int more)
{
	uint8_t req[512] = {}, *p = req;

	put16(&p, types);
	put16(&p, types >> 16);
	/* Linux leaves something there. */
	put16(&p, 0);
	put16(&p, 0);
	put16(&p, 0);
	put16(&p, 1);
	*p++ = key_len;
	memcpy(p, key, key_len < sizeof(key) ? key_len : sizeof(key));
	return command(s, VIRTIO_NET_CTRL_MQ_HASH_CONFIG, req, p - req + key_len + more);
}

/* A good request with one wrong field is refused, and changes nothing. */
static void test_rss_refused(void **state)
{
	struct mq_settings before;
	struct rss bad[20];
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[n++].types = 1 << 9;
	bad[n++].types = VIRTIO_NET_RSS_HASH_TYPE_IP_EX;
	bad[n++].types = 1u << 31;
	bad[n++].mask = 126;
	bad[n++].mask = 64;
	bad[n++].mask = 255;
	bad[n++].mask = UINT16_MAX;
	bad[n++].unclassified = PAIRS;
	bad[n++].unclassified = UINT16_MAX;
	bad[n++].table = 1;
	/* Cut off to eight bits, these were pairs that there are. */
	bad[n++].table = 256;
	bad[n++].pairs = 0;
	bad[n++].pairs = PAIRS + 1;
	bad[n++].pairs = 256 + 1;
	bad[n++].key_len = RX_HASH_KEY + 1;
	bad[n++].key_len = 0;
	bad[n++].more = 14;
	bad[n++].more = -1;
	bad[n].entries = 0;
	bad[n++].more = -RX_HASH_KEY;
	bad[n].entries = 256;
	bad[n++].mask = 255;
	assert_int_equal(n, ARRAY_SIZE(bad));
	station_start(&st[0], FEATURES_ALL);
	assert_int_equal(set_rss(&st[0], &good), VIRTIO_NET_OK);
	before = st[0].fn->mq.set;
	for (i = 0; i < n; i++) {
		if (set_rss(&st[0], &bad[i]) != VIRTIO_NET_ERR)
			fail_msg("request %u was taken", i);
		assert_memory_equal(&st[0].fn->mq.set, &before, sizeof(before));
	}
	for (i = 0; i < 12; i++)
		assert_int_equal(command(&st[0], VIRTIO_NET_CTRL_MQ_RSS_CONFIG, key, i),
				 VIRTIO_NET_ERR);
	assert_int_equal(st[0].errors, 0);
}

static void test_rss_taken(void **state)
{
	const struct mq_settings *set = &st[0].fn->mq.set;
	struct rss rss = good;

	station_start(&st[0], FEATURES_ALL);
	/* One entry, and no hash at all: no key either. */
	rss = (struct rss) { .entries = 1, .table = 2, .modulo = 1, .unclassified = 3,
			     .pairs = 2 };
	assert_int_equal(set_rss(&st[0], &rss), VIRTIO_NET_OK);
	assert_true(set->rss && set->entries == 1 && set->table[0] == 2);
	assert_int_equal(set->pairs, 2);
	assert_int_equal(set->unclassified, 3);
	/* Linux 6.12 sends a byte more. */
	rss = good;
	rss.more = 1;
	assert_int_equal(set_rss(&st[0], &rss), VIRTIO_NET_OK);
	assert_memory_equal(set->key, key, RX_HASH_KEY);
	/* A short key ends with zeroes. */
	rss = good;
	rss.key_len = 7;
	assert_int_equal(set_rss(&st[0], &rss), VIRTIO_NET_OK);
	assert_memory_equal(set->key, key, 7);
	assert_int_equal(set->key[7], 0);
	/* The last command counts, and a reset. */
	assert_int_equal(set_pairs(&st[0], 3), VIRTIO_NET_OK);
	assert_true(!set->rss && set->pairs == 3);
	assert_int_equal(set_rss(&st[0], &good), VIRTIO_NET_OK);
	assert_true(set->rss && set->pairs == PAIRS);
	station_stop(&st[0]);
	function_device_ops.reset(st[0].fn);
	assert_true(!set->rss && set->pairs == 1 && !set->types);
}

static void test_pairs(void **state)
{
	const uint8_t three[3] = { 1 };
	struct station *s = &st[0];

	station_start(s, FEATURES_ALL);
	assert_int_equal(s->fn->mq.set.pairs, 1);
	assert_int_equal(set_pairs(s, 0), VIRTIO_NET_ERR);
	assert_int_equal(set_pairs(s, PAIRS + 1), VIRTIO_NET_ERR);
	assert_int_equal(set_pairs(s, 0x8000), VIRTIO_NET_ERR);
	assert_int_equal(set_pairs(s, UINT16_MAX), VIRTIO_NET_ERR);
	assert_int_equal(command(s, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET, three, 1), VIRTIO_NET_ERR);
	assert_int_equal(command(s, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET, three, 3), VIRTIO_NET_ERR);
	assert_int_equal(command(s, 3, three, 2), VIRTIO_NET_ERR);
	assert_int_equal(s->fn->mq.set.pairs, 1);
	assert_int_equal(set_pairs(s, PAIRS), VIRTIO_NET_OK);
	assert_int_equal(s->fn->mq.set.pairs, PAIRS);
}

static void test_hash_config(void **state)
{
	const struct mq_settings *set = &st[0].fn->mq.set;

	station_start(&st[0], FEATURES_ALL);
	assert_int_equal(set_hash(&st[0], ALL_TYPES, RX_HASH_KEY, 0), VIRTIO_NET_OK);
	assert_true(set->types == ALL_TYPES && !set->rss && set->pairs == 1);
	assert_int_equal(set_hash(&st[0], 1 << 6, RX_HASH_KEY, 0), VIRTIO_NET_ERR);
	assert_int_equal(set_hash(&st[0], ALL_TYPES, RX_HASH_KEY, 1), VIRTIO_NET_OK);
	assert_int_equal(set_hash(&st[0], 1, RX_HASH_KEY, -1), VIRTIO_NET_ERR);
	assert_int_equal(set_hash(&st[0], 1, RX_HASH_KEY + 1, 0), VIRTIO_NET_ERR);
	assert_int_equal(set_hash(&st[0], 1, 0, 0), VIRTIO_NET_ERR);
	assert_int_equal(set_hash(&st[0], 1, 0, -1), VIRTIO_NET_ERR);
	assert_int_equal(set->types, ALL_TYPES);
	assert_int_equal(set_hash(&st[0], 0, 0, 0), VIRTIO_NET_OK);
	assert_int_equal(set->types, 0);
}

/* Each command belongs to a feature. */
static void test_without_feature(void **state)
{
	station_start(&st[0], FEATURES_MIN);
	assert_int_equal(set_pairs(&st[0], 1), VIRTIO_NET_ERR);
	assert_int_equal(set_rss(&st[0], &good), VIRTIO_NET_ERR);
	assert_int_equal(set_hash(&st[0], 0, 0, 0), VIRTIO_NET_ERR);
	station_stop(&st[0]);
	station_start(&st[0], FEATURES_MIN | HAS(RSS));
	assert_int_equal(set_pairs(&st[0], 1), VIRTIO_NET_ERR);
	assert_int_equal(set_rss(&st[0], &good), VIRTIO_NET_OK);
	assert_int_equal(set_hash(&st[0], 0, 0, 0), VIRTIO_NET_ERR);
}

/* ------------------------------------------------------------------------- */
/* Features, configuration, virtqueues                                       */
/* ------------------------------------------------------------------------- */

static void test_offer(void **state)
{
	static const uint8_t expected[] = {
		RX_HASH_KEY,
		MQ_TABLE_MAX, 0,
		0x3f, 0, 0, 0,
		QPS, 0, 0, 0,
	};
	const uint64_t more = HAS(MQ) | HAS(RSS) | HAS(HASH_REPORT);
	uint8_t buf[11];

	assert_int_equal(FEATURES_ALL & more, more);
	function_device_ops.config_read(st[0].fn, 8, buf, 2);
	assert_int_equal(buf[0] | buf[1] << 8, PAIRS);
	function_device_ops.config_read(st[0].fn, 17, buf, sizeof(buf));
	assert_memory_equal(buf, expected, sizeof(buf));
	assert_int_equal(function_num_queues(PAIRS, &st[0].fn->config.limits),
			 2 * PAIRS + 1 + CQS + 2 * QPS);
}

/* The control queue, and RDMA behind it, stand where the features say. */
static void test_places(void **state)
{
	static const uint64_t features[] = { 0, HAS(HASH_REPORT), HAS(MQ), HAS(RSS) };
	struct function *fn = st[0].fn;
	struct virtq cq = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(features); i++) {
		station_start(&st[0], FEATURES_MIN | HAS(ROCE) | features[i]);
		assert_int_equal(st[0].queues, i < 2 ? 3 : 2 * PAIRS + 1);
		assert_ptr_equal(fn->vq[FUNCTION_CTRL], &st[0].vq[st[0].queues - 1]);
		assert_ptr_equal(fn->more[0], i < 2 ? NULL : &st[0].vq[2]);
		assert_ptr_equal(fn->more[2 * PAIRS - 3], i < 2 ? NULL : &st[0].vq[2 * PAIRS - 1]);
		cq.index = st[0].queues;
		function_device_ops.queue_start(fn, &cq);
		assert_ptr_equal(rnic_mock.queue[RNIC_CQ][0], &cq);
		function_device_ops.queue_stop(fn, &cq);
		station_stop(&st[0]);
		assert_null(fn->vq[FUNCTION_CTRL]);
		assert_null(fn->more[0]);
		function_device_ops.reset(fn);
	}
}

/* ------------------------------------------------------------------------- */
/* Frames                                                                    */
/* ------------------------------------------------------------------------- */

/**
 * struct flow - addresses and ports of a frame
 * @version:	of IP; 0 is ARP
 * @proto:	of the IP header
 * @data:	source, destination, source port, destination port
 */
struct flow {
	uint8_t version;
	uint8_t proto;
	uint8_t data[36];
};

/* Fills in what is behind the MAC addresses. */
static void put_flow(uint8_t *frame, const struct flow *flow)
{
	const size_t size = flow->version == 6 ? 16 : 4;
	uint8_t *ip = frame + IP;

	memset(frame + 12, 0, FRAME - 12);
	frame[12] = flow->version == 6 ? 0x86 : 8;
	frame[13] = flow->version == 6 ? 0xdd : flow->version ? 0 : 6;
	if (flow->version == 4) {
		ip[0] = 0x45;
		ip[9] = flow->proto;
		memcpy(ip + 12, flow->data, 2 * size);
		memcpy(ip + 20, flow->data + 2 * size, 4);
	} else if (flow->version == 6) {
		ip[0] = 0x60;
		ip[6] = flow->proto;
		memcpy(ip + 8, flow->data, 2 * size);
		memcpy(ip + 40, flow->data + 2 * size, 4);
	}
}

/* A station sends a frame from a pair, with a number at its end. */
static void send_flow(struct station *s, unsigned int pair, const struct flow *flow,
		      uint32_t number)
{
	const uint32_t hdr = s->fn->hdr_len;
	uint64_t addr = guest_alloc(&s->guest, hdr + FRAME, 1);
	struct guest_buf buf = { .addr = addr, .len = hdr + FRAME };
	uint8_t *frame = (uint8_t *)guest_ptr(&s->guest, addr) + hdr;

	memset(frame - hdr, 0, hdr + FRAME);
	memcpy(frame, (uint8_t [12]) { 2, 0, 0, 0, 0, s == st ? 2 : 1, 2, 0, 0, 0, 0,
				       s == st ? 1 : 2 }, 12);
	put_flow(frame, flow);
	memcpy(frame + FRAME - sizeof(number), &number, sizeof(number));
	guest_vq_add(&s->gvq[tx_of(pair)], &buf, 1);
}

/**
 * struct got - a frame that came
 * @pair:	to it
 * @hash:	of its header
 * @report:	likewise
 * @number:	at its end
 */
struct got {
	unsigned int pair;
	uint32_t hash;
	uint16_t report;
	uint32_t number;
};

/* The next frame of a pair; false if there is none. */
static bool got_from(struct station *s, unsigned int pair, struct got *got)
{
	const uint32_t hdr = s->fn->hdr_len;
	const struct guest_vq *gvq = &s->gvq[rx_of(pair)];
	const uint8_t *p;
	uint32_t head, len;

	if (!guest_vq_get(&s->gvq[rx_of(pair)], &head, &len))
		return false;
	assert_int_equal(len, hdr + FRAME);
	p = guest_ptr(&s->guest, gvq->desc[head].addr);
	*got = (struct got) { .pair = pair };
	if (hdr == HASH_HDR) {
		memcpy(&got->hash, p + 12, 4);
		memcpy(&got->report, p + 16, 2);
		assert_int_equal(p[18] | p[19], 0);
	}
	assert_int_equal(p[10], 1);
	memcpy(&got->number, p + hdr + FRAME - 4, 4);
	rx_buffer_to(s, rx_of(pair), ROOM);
	return true;
}

/* The one frame that came. */
static struct got got_one(struct station *s)
{
	struct got got, other;
	unsigned int i, n = 0;

	run();
	for (i = 0; i < PAIRS; i++)
		while (got_from(s, i, &other)) {
			got = other;
			n++;
		}
	assert_int_equal(n, 1);
	return got;
}

static void give_buffers(struct station *s, unsigned int n)
{
	unsigned int i, j;

	for (i = 0; i < PAIRS; i++)
		for (j = 0; j < n; j++)
			rx_buffer_to(s, rx_of(i), ROOM);
}

/* One sends, and the other one has several pairs; both have features, less some. */
static void up(uint64_t less)
{
	station_start(&st[0], FEATURES_ALL & ~less);
	station_start(&st[1], FEATURES_ALL & ~less);
	give_buffers(&st[1], 16);
}

#define V4(type, a, b, c, d, e, f, g, h, sport, dport)				\
	{ 4, type, { a, b, c, d, e, f, g, h, (sport) >> 8, (sport) & 0xff,	\
		     (dport) >> 8, (dport) & 0xff } }

/* Microsoft's examples: what the header says, and where the frame goes. */
static void test_vectors(void **state)
{
	static const struct {
		struct flow flow;
		uint32_t addresses;
		uint32_t all;
	} examples[] = {
		{ V4(6, 66, 9, 149, 187, 161, 142, 100, 80, 2794, 1766), 0x323e8fc2, 0x51ccc178 },
		{ V4(17, 199, 92, 111, 2, 65, 69, 140, 83, 14230, 4739), 0xd718262a, 0xc626b0ea },
		{ V4(6, 24, 19, 198, 95, 12, 22, 207, 184, 12898, 38024), 0xd2d0a5de,
		  0x5c2b394a },
		{ V4(17, 38, 27, 205, 30, 209, 142, 163, 6, 48228, 2217), 0x82989176,
		  0xafc7327f },
		{ V4(6, 153, 39, 163, 191, 202, 188, 127, 2, 44251, 1303), 0x5d1809c5,
		  0x10e828a2 },
		{ { 6, 6, { 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff,
			    0, 0, 0, 0, 0, 0, 0, 7,
			    0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1,
			    0x0a, 0xea, 0x06, 0xe6 } }, 0x2cc18cd5, 0x40207d3d },
		{ { 6, 17, { 0x3f, 0xfe, 0x19, 0x00, 0x45, 0x45, 0, 3, 0x02, 0x00, 0xf8, 0xff,
			     0xfe, 0x21, 0x67, 0xcf, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x00,
			     0xf8, 0xff, 0xfe, 0x21, 0x67, 0xcf, 0xac, 0xdb, 0x94, 0x88 } },
		  0x4b61e985, 0x02d1feef },
	};
	static const uint32_t addresses = VIRTIO_NET_RSS_HASH_TYPE_IPv4 |
					  VIRTIO_NET_RSS_HASH_TYPE_IPv6;
	struct rss rss = good;
	const struct flow *flow;
	struct got got;
	unsigned int i;

	up(0);
	assert_int_equal(st[1].fn->hdr_len, HASH_HDR);
	for (i = 0; i < ARRAY_SIZE(examples); i++) {
		flow = &examples[i].flow;
		rss.types = ALL_TYPES;
		assert_int_equal(set_rss(&st[1], &rss), VIRTIO_NET_OK);
		send_flow(&st[0], 0, flow, i);
		got = got_one(&st[1]);
		assert_int_equal(got.hash, examples[i].all);
		assert_int_equal(got.report, (flow->version == 6 ? 3 : 0) +
				 (flow->proto == 6 ? VIRTIO_NET_HASH_REPORT_TCPv4 :
						     VIRTIO_NET_HASH_REPORT_UDPv4));
		assert_int_equal(got.pair, (got.hash & 127) % PAIRS);
		/* By the addresses alone. */
		rss.types = addresses;
		assert_int_equal(set_rss(&st[1], &rss), VIRTIO_NET_OK);
		send_flow(&st[0], 0, flow, i);
		got = got_one(&st[1]);
		assert_int_equal(got.hash, examples[i].addresses);
		assert_int_equal(got.report, flow->version == 6 ? VIRTIO_NET_HASH_REPORT_IPv6 :
								  VIRTIO_NET_HASH_REPORT_IPv4);
		assert_int_equal(got.pair, (got.hash & 127) % PAIRS);
		/* The hash is reported as asked for, whatever steers. */
		assert_int_equal(set_pairs(&st[1], 1), VIRTIO_NET_OK);
		assert_int_equal(set_hash(&st[1], ALL_TYPES, RX_HASH_KEY, 0), VIRTIO_NET_OK);
		send_flow(&st[0], 0, flow, i);
		got = got_one(&st[1]);
		assert_int_equal(got.hash, examples[i].all);
		assert_int_equal(got.pair, 0);
	}
}

/* Without the feature the header is that of everybody. */
static void test_no_report(void **state)
{
	static const struct flow flow = V4(6, 66, 9, 149, 187, 161, 142, 100, 80, 2794, 1766);

	up(HAS(HASH_REPORT));
	assert_int_equal(st[1].fn->hdr_len, HDR);
	assert_int_equal(set_rss(&st[1], &good), VIRTIO_NET_OK);
	send_flow(&st[0], 0, &flow, 0);
	assert_int_equal(got_one(&st[1]).pair, (0x51ccc178 & 127) % PAIRS);
}

/* A frame without a hash, or of a type that is not hashed. */
static void test_unclassified(void **state)
{
	static const struct flow arp = {}, six = { 6, 6, { 1 } }, icmp = { 4, 1, { 10 } };
	struct rss rss = good;
	struct got got;

	up(0);
	rss.types = VIRTIO_NET_RSS_HASH_TYPE_TCPv4;
	rss.unclassified = 3;
	assert_int_equal(set_rss(&st[1], &rss), VIRTIO_NET_OK);
	send_flow(&st[0], 0, &arp, 0);
	got = got_one(&st[1]);
	assert_true(got.pair == 3 && !got.hash && got.report == VIRTIO_NET_HASH_REPORT_NONE);
	send_flow(&st[0], 0, &six, 0);
	assert_int_equal(got_one(&st[1]).pair, 3);
	send_flow(&st[0], 0, &icmp, 0);
	assert_int_equal(got_one(&st[1]).pair, 3);
	/* Nothing was set yet, or one pair: the first one. */
	assert_int_equal(set_pairs(&st[1], 1), VIRTIO_NET_OK);
	send_flow(&st[0], 0, &arp, 0);
	assert_int_equal(got_one(&st[1]).pair, 0);
}

/* Each flow stays in one pair and in order, and all pairs have some. */
static void spread(void)
{
	enum { FLOWS = 64, EACH = 8 };
	struct flow flow = V4(6, 10, 0, 0, 1, 10, 0, 0, 2, 5201, 0);
	unsigned int i, n, pair[FLOWS], per_pair[PAIRS] = {}, total = 0;
	uint32_t next[FLOWS] = {};
	struct got got;

	for (n = 0; n < EACH; n++)
		for (i = 0; i < FLOWS; i++) {
			flow.data[10] = 0x80;
			flow.data[11] = i;
			send_flow(&st[0], 0, &flow, n << 16 | i);
			/* Some at a time, as many as there is room for. */
			if (i % 8 < 7)
				continue;
			run();
			for (got.pair = 0; got.pair < PAIRS; got.pair++)
				while (got_from(&st[1], got.pair, &got)) {
					const uint16_t f = got.number;

					if (!next[f])
						pair[f] = got.pair;
					assert_int_equal(pair[f], got.pair);
					assert_int_equal(got.number >> 16, next[f]++);
					per_pair[got.pair]++;
					total++;
				}
		}
	assert_int_equal(total, FLOWS * EACH);
	/* Half of what each would have, at least. */
	for (i = 0; i < PAIRS; i++)
		assert_true(per_pair[i] >= FLOWS * EACH / PAIRS / 2);
	assert_int_equal(function_stats(st[1].fn)->rx_dropped, 0);
}

static void test_flows_by_table(void **state)
{
	up(0);
	assert_int_equal(set_rss(&st[1], &good), VIRTIO_NET_OK);
	spread();
}

static void test_flows_by_steering(void **state)
{
	up(0);
	assert_int_equal(set_pairs(&st[1], PAIRS), VIRTIO_NET_OK);
	spread();
}

/* An answer comes to the pair from which the question went, for all flows that differ enough. */
static void test_steering(void **state)
{
	struct flow there = V4(17, 10, 0, 0, 1, 10, 0, 0, 2, 40000, 53);
	struct flow back = V4(17, 10, 0, 0, 2, 10, 0, 0, 1, 53, 40000);
	struct flow six = { 6, 6, { [0] = 0xfe, [15] = 1, [16] = 0xfe, [31] = 2, [32] = 9 } };
	struct flow six_back = { 6, 6, { [0] = 0xfe, [15] = 2, [16] = 0xfe, [31] = 1, [34] = 9 } };
	unsigned int i;

	up(0);
	give_buffers(&st[0], 16);
	assert_int_equal(set_pairs(&st[1], PAIRS), VIRTIO_NET_OK);
	for (i = 0; i < 4 * PAIRS; i++) {
		there.data[9] = i;
		back.data[11] = i;
		send_flow(&st[1], i % PAIRS, &back, 0);
		send_flow(&st[1], 3 - i % PAIRS, &six, 0);
		run();
	}
	for (i = 0; i < 4 * PAIRS; i++) {
		there.data[9] = i;
		send_flow(&st[0], 0, &there, 0);
		assert_int_equal(got_one(&st[1]).pair, i % PAIRS);
	}
	/* It follows the sender. */
	send_flow(&st[1], 2, &six, 0);
	run();
	send_flow(&st[0], 0, &six_back, 0);
	assert_int_equal(got_one(&st[1]).pair, 2);
	/* A pair that is not in use any more gets nothing. */
	assert_int_equal(set_pairs(&st[1], 2), VIRTIO_NET_OK);
	send_flow(&st[0], 0, &six_back, 0);
	assert_true(got_one(&st[1]).pair < 2);
}

/* A pair without room, or whose queue is not there, loses its frames and no others. */
static void test_full(void **state)
{
	enum { FRAMES = 20 };
	struct rss rss = good;
	struct flow flow = V4(6, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1);
	static const struct flow arp = {};
	struct got got;
	unsigned int i;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	for (i = 0; i < FRAMES; i++)
		rx_buffer_to(&st[1], rx_of(3), ROOM);
	/* All flows go to pair 1, the rest to pair 3. */
	rss.modulo = 1;
	rss.table = 1;
	rss.unclassified = 3;
	assert_int_equal(set_rss(&st[1], &rss), VIRTIO_NET_OK);
	for (i = 0; i < FRAMES; i++) {
		send_flow(&st[0], 0, &flow, i);
		send_flow(&st[0], 0, &arp, i);
	}
	run();
	for (i = 0; i < FRAMES; i++) {
		assert_true(got_from(&st[1], 3, &got));
		assert_int_equal(got.number, i);
	}
	assert_int_equal(function_stats(st[1].fn)->rx_dropped, FRAMES);
	assert_int_equal(rx_count(1), FRAMES);
	function_device_ops.queue_stop(st[1].fn, &st[1].vq[rx_of(1)]);
	send_flow(&st[0], 0, &flow, 0);
	send_flow(&st[0], 0, &arp, 0);
	assert_int_equal(got_one(&st[1]).pair, 3);
	assert_int_equal(function_stats(st[1].fn)->rx_dropped, FRAMES + 1);
	assert_int_equal(st[1].errors, 0);
}

/* The guest is interrupted for the pair that has got something, and for no other. */
static void test_interrupts(void **state)
{
	static const struct flow arp = {};
	struct rss rss = good;
	unsigned int i;

	up(HAS(HASH_REPORT));
	rss.unclassified = 2;
	assert_int_equal(set_rss(&st[1], &rss), VIRTIO_NET_OK);
	memset(st[1].calls, 0, sizeof(st[1].calls));
	send_flow(&st[0], 3, &arp, 0);
	run();
	for (i = 0; i < STATION_QUEUES; i++) {
		assert_int_equal(st[1].calls[i], i == rx_of(2));
		assert_int_equal(st[0].calls[i], i == tx_of(3));
	}
}

static void test_short_buffer(void **state)
{
	static const struct flow arp = {};
	struct rss rss = good;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	rss.unclassified = 1;
	assert_int_equal(set_rss(&st[1], &rss), VIRTIO_NET_OK);
	rx_buffer_to(&st[1], rx_of(0), HASH_HDR - 1);
	rx_buffer_to(&st[1], rx_of(1), HASH_HDR - 1);
	send_flow(&st[0], 0, &arp, 0);
	run();
	assert_true(st[1].vq[rx_of(1)].broken);
	assert_false(st[1].vq[rx_of(0)].broken);
	/* A frame that is to be sent needs a header as long. */
	guest_vq_add(&st[0].gvq[TX], &(struct guest_buf) {
			.addr = guest_alloc(&st[0].guest, HASH_HDR + 13, 1),
			.len = HASH_HDR + 13 }, 1);
	run();
	assert_int_equal(function_stats(st[0].fn)->tx_dropped, 1);
}

/* Each pair has its turn, however much the others have. */
static void test_turns(void **state)
{
	static const struct flow arp = {};
	struct got got;
	unsigned int i, j;

	up(0);
	for (i = 0; i < 3; i++)
		for (j = 0; j < 40; j++)
			send_flow(&st[0], i, &arp, 0);
	send_flow(&st[0], 3, &arp, 77);
	/* Rounds of 64 frames: 40 and 24, 40 and 24 of the next pairs. */
	assert_true(eth_poll(st[0].fn));
	assert_int_equal(st[0].gvq[tx_of(0)].used->idx, 40);
	assert_int_equal(st[0].gvq[tx_of(1)].used->idx, 24);
	assert_true(eth_poll(st[0].fn));
	assert_int_equal(st[0].gvq[tx_of(2)].used->idx, 40);
	assert_int_equal(st[0].gvq[tx_of(3)].used->idx, 1);
	assert_int_equal(st[0].gvq[tx_of(1)].used->idx, 40);
	assert_true(!eth_poll(st[0].fn));
	assert_int_equal(function_stats(st[0].fn)->tx, 121);
	while (got_from(&st[1], 0, &got))
		;
}

/* A sleeping daemon is woken by the doorbell of any pair, and asks for none while it runs. */
static void test_doorbells(void **state)
{
	struct loop_poller *poller = &st[0].fn->poller;
	unsigned int i;

	station_start(&st[0], FEATURES_ALL & ~BIT(VIRTIO_RING_F_EVENT_IDX));
	poller->wake(poller->arg);
	for (i = 0; i < PAIRS; i++)
		assert_int_equal(st[0].gvq[tx_of(i)].used->flags, VRING_USED_F_NO_NOTIFY);
	assert_false(poller->sleep(poller->arg));
	for (i = 0; i < PAIRS; i++) {
		assert_int_equal(st[0].gvq[tx_of(i)].used->flags, 0);
		assert_int_equal(st[0].gvq[rx_of(i)].used->flags, VRING_USED_F_NO_NOTIFY);
	}
	send_flow(&st[0], 2, &(struct flow) {}, 0);
	assert_true(poller->sleep(poller->arg));
	poller->wake(poller->arg);
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

static void save(struct state *out)
{
	station_start(&st[0], FEATURES_ALL);
	assert_int_equal(set_rss(&st[0], &good), VIRTIO_NET_OK);
	st[0].vq[5].last_avail = 7;
	state_write(out);
	assert_true(function_save(st[0].fn, out));
}

static bool load(const struct state *out, struct state *in)
{
	return state_read(in, out->data, out->at) && function_load(st[1].fn, in);
}

static void test_saved_and_loaded(void **state)
{
	struct state out, in;

	save(&out);
	station_start(&st[1], FEATURES_ALL);
	if (!load(&out, &in))
		fail_msg("%s", in.why);
	assert_memory_equal(&st[1].fn->mq.set, &st[0].fn->mq.set, sizeof(struct mq_settings));
	assert_true(st[1].fn->mq.set.rss);
	assert_int_equal(st[1].vq[5].last_avail, 7);
	state_free(&out);
}

static void expect_refused(const struct state *out, const char *why)
{
	struct state in;

	assert_false(load(out, &in));
	assert_string_equal(in.why, why);
	assert_false(st[1].fn->mq.set.rss);
	assert_int_equal(st[1].vq[5].last_avail, 0);
}

/* Where the fields of a section begin. */
static uint8_t *section(const struct state *out, const char *kind)
{
	uint8_t *p = memmem(out->data, out->at, kind, strlen(kind) + 1);

	assert_non_null(p);
	return p + sizeof(struct state_section_header);
}

static void test_refused(void **state)
{
	/* max_pairs, pairs, rss, types, unclassified, entries, table. */
	enum { AT_PAIRS = 4, AT_TYPES = 7, AT_UNCLASSIFIED = 11, AT_ENTRIES = 13, AT_TABLE = 15 };
	struct state out;
	uint8_t *p;

	save(&out);
	p = section(&out, "multiqueue");
	station_start(&st[1], FEATURES_ALL);
	st[1].fn->config.pairs = PAIRS - 1;
	expect_refused(&out, "section multiqueue, max_pairs: 4, but 3 here");
	st[1].fn->config.pairs = PAIRS;
	p[AT_PAIRS] = PAIRS + 1;
	expect_refused(&out, "section multiqueue, pairs: 5 is more than 4");
	p[AT_PAIRS] = 0;
	expect_refused(&out, "section multiqueue, pairs: none");
	p[AT_PAIRS] = PAIRS;
	p[AT_TYPES] = 0x40;
	expect_refused(&out, "section multiqueue, types: unknown ones");
	p[AT_TYPES] = MQ_TYPES;
	p[AT_UNCLASSIFIED] = PAIRS;
	expect_refused(&out, "section multiqueue, unclassified: 4 is more than 3");
	p[AT_UNCLASSIFIED] = 0;
	p[AT_TABLE] = PAIRS;
	expect_refused(&out, "section multiqueue, table: not one that a guest can have set");
	p[AT_TABLE] = 0;
	p[AT_ENTRIES] = 127;
	expect_refused(&out, "section multiqueue, table: not one that a guest can have set");
	p[AT_ENTRIES] = 129;
	expect_refused(&out, "section multiqueue, entries: 129 is more than 128");
	p[AT_ENTRIES] = 128;
	st[1].fn->more[3] = NULL;
	expect_refused(&out, "section multiqueue, started: otherwise than it is here");
	st[1].fn->more[3] = &st[1].vq[5];
	/* Cut off, or of another name. */
	p[-(int)sizeof(struct state_section_header)] = 'x';
	assert_false(load(&out, &(struct state) {}));
	assert_false(st[1].fn->mq.set.rss);
	state_free(&out);
}

/* To another host, whose function has as many pairs, or of a guest that uses one. */
static void test_moved(void **state)
{
	struct function *from = st[0].fn, *to = st[1].fn;
	uint64_t features = 0;
	uint8_t *data;
	size_t n;

	station_start(&st[0], FEATURES_ALL);
	assert_int_equal(set_rss(&st[0], &good), VIRTIO_NET_OK);
	station_stop(&st[0]);
	assert_int_equal(function_device_ops.save(from, &data, &n), 0);
	assert_int_equal(function_device_ops.load(to, data, n, &features), 0);
	assert_int_equal(features, FEATURES_ALL);
	assert_int_equal(to->ctrl_index, 2 * PAIRS);
	assert_int_equal(to->hdr_len, HASH_HDR);
	assert_true(to->mq.set.rss);
	free(data);

	function_device_ops.reset(from);
	function_device_ops.reset(to);
	function_device_ops.negotiated(from, FEATURES_MIN);
	assert_int_equal(function_device_ops.save(from, &data, &n), 0);
	assert_null(memmem(data, n, "multiqueue", 10));
	to->config.pairs = 1;
	assert_int_equal(function_device_ops.load(to, data, n, &features), 0);
	assert_int_equal(to->ctrl_index, FUNCTION_CTRL);
	free(data);
}

/* The question whether a guest fits names the number only if the guest depends on it. */
static void test_needs(void **state)
{
	char text[512], why[NEEDS_WHY], *end;
	FILE *out;

	function_device_ops.negotiated(st[0].fn, FEATURES_ALL);
	out = fmemopen(text, sizeof(text), "w");
	needs_print(st[0].fn, out);
	fclose(out);
	end = strchr(text, '\n');
	assert_non_null(end);
	*end = 0;
	assert_non_null(strstr(text, " queue_pairs=4 "));
	st[0].fn->config.pairs = 3;
	assert_false(needs_check(st[0].fn, text, why));
	assert_string_equal(why, "queue_pairs: 4, but 3 here");
	st[0].fn->config.pairs = PAIRS;

	function_device_ops.negotiated(st[0].fn, FEATURES_MIN);
	out = fmemopen(text, sizeof(text), "w");
	needs_print(st[0].fn, out);
	fclose(out);
	assert_null(strstr(text, "queue_pairs"));
	*strchr(text, '\n') = 0;
	assert_true(needs_check(st[0].fn, text, why));
}

/* After a process that was killed, which may have written anything before. */
static void test_recovered(void **state)
{
	struct function *fn = st[1].fn;
	struct function_keep keep = {};

	station_start(&st[0], FEATURES_ALL);
	function_set_keep(st[0].fn, &keep);
	assert_int_equal(set_rss(&st[0], &good), VIRTIO_NET_OK);
	assert_true(keep.mq.rss);
	station_start(&st[1], FEATURES_ALL);
	assert_int_equal(function_recover(fn, &keep), 0);
	assert_memory_equal(&fn->mq.set, &st[0].fn->mq.set, sizeof(struct mq_settings));
	mq_reset(&fn->mq);
	keep.mq.entries = MQ_TABLE_MAX + 1;
	assert_int_equal(function_recover(fn, &keep), -EINVAL);
	keep.mq.entries = UINT16_MAX;
	assert_int_equal(function_recover(fn, &keep), -EINVAL);
	keep.mq.entries = MQ_TABLE_MAX;
	keep.mq.table[MQ_TABLE_MAX - 1] = PAIRS;
	assert_int_equal(function_recover(fn, &keep), -EINVAL);
	keep.mq.table[MQ_TABLE_MAX - 1] = 0;
	keep.mq.pairs = 0;
	assert_int_equal(function_recover(fn, &keep), -EINVAL);
	assert_false(fn->mq.set.rss);
	st[0].fn->keep = NULL;
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, mq_setup, station_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rss_refused),
		TEST(test_rss_taken),
		TEST(test_pairs),
		TEST(test_hash_config),
		TEST(test_without_feature),
		TEST(test_offer),
		TEST(test_places),
		TEST(test_vectors),
		TEST(test_no_report),
		TEST(test_unclassified),
		TEST(test_flows_by_table),
		TEST(test_flows_by_steering),
		TEST(test_steering),
		TEST(test_full),
		TEST(test_interrupts),
		TEST(test_short_buffer),
		TEST(test_turns),
		TEST(test_doorbells),
		TEST(test_saved_and_loaded),
		TEST(test_refused),
		TEST(test_moved),
		TEST(test_needs),
		TEST(test_recovered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
