// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets as bytes: those of the kernel's rdma_rxe, our own, and bad ones.
 */
#include "packet/roce_head.h"
#include "tests/lib/engine_port.h"
#include "tests/lib/golden.h"

#include <endian.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "packet/gid.h"
#include "uapi/virtio_net_roce.h"

#define VLAN_77	(VIRTIO_RDMA_GID_TAGGED | 77)

static const uint8_t smac[] = { 0x52, 0x54, 0, 0, 0xce, 1 };

/* ------------------------------------------------------------------------- */
/* Packets of rdma_rxe                                                       */
/* ------------------------------------------------------------------------- */

static void expect_rebuilt(struct golden *g)
{
	uint8_t frame[ROCE_FRAME_MAX];
	struct roce_peek peek;
	struct roce_rx rx;

	assert_null(roce_parse(&rx, g->frame, g->len));
	assert_true(roce_icrc_ok(&rx, g->frame));
	assert_true(roce_peek(&peek, g->frame, g->len < ROCE_PEEK_SIZE ?
			      g->len : ROCE_PEEK_SIZE));
	assert_int_equal(peek.dest_qpn, rx.pkt.dest_qpn);
	assert_int_equal(peek.vlan, rx.pkt.vlan);
	assert_memory_equal(peek.dgid, rx.dgid, GID_SIZE);
	assert_memory_equal(peek.dmac, rx.path.dmac, ETH_ALEN);

	assert_int_equal(eg_build(frame, &rx.path, &rx.pkt,
				  g->frame + rx.payload), g->len);
	assert_memory_equal(frame, g->frame, g->len);
	assert_int_equal(roce_ip_size(&rx.pkt),
			 g->len - ETH_HLEN - (rx.pkt.vlan ? 4 : 0));
}

/* Each packet is parsed, and building it again gives the same bytes. */
static void test_golden_rebuilt(void **state)
{
	unsigned int i, n;
	struct golden *golden = golden_load(GOLDEN_RXE, &n);

	assert_in_range(n, 30, GOLDEN_MAX);
	for (i = 0; i < n; i++)
		expect_rebuilt(&golden[i]);
	free(golden);
}

/* The file has all opcodes, over IPv4 and IPv6: one kind would prove little. */
static void test_golden_complete(void **state)
{
	static const uint8_t opcodes[] = {
		0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
		0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x16, 0x17,
		0x1c,
		0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29,
		0x2a, 0x2b, 0x64, 0x65,
	};
	bool seen[2][2][256] = {}, ack = false, rnr = false, nak = false;
	unsigned int i, n, tagged, ipv4;
	struct golden *golden = golden_load(GOLDEN_RXE, &n);
	struct roce_rx rx;

	for (i = 0; i < n; i++) {
		assert_null(roce_parse(&rx, golden[i].frame, golden[i].len));
		seen[!!rx.pkt.vlan][gid_is_ipv4(rx.dgid)][rx.pkt.opcode] = true;
		if (rx.pkt.opcode != PKT_ACK)
			continue;
		ack |= AETH_TYPE(rx.pkt.syndrome) == AETH_ACK;
		rnr |= AETH_TYPE(rx.pkt.syndrome) == AETH_RNR;
		nak |= rx.pkt.syndrome == AETH_NAK_PSN;
	}
	assert_true(ack && rnr && nak);
	for (tagged = 0; tagged < 2; tagged++)
		for (ipv4 = 0; ipv4 < 2; ipv4++)
			for (i = 0; i < sizeof(opcodes); i++)
				if (!seen[tagged][ipv4][opcodes[i]])
					fail_msg("no %#x, %u %u", opcodes[i],
						 tagged, ipv4);
	free(golden);
}

/* A flipped bit is noticed exactly where the ICRC covers it. */
static void test_golden_flipped(void **state)
{
	unsigned int i, n, bit, off, masked;
	struct golden *golden = golden_load(GOLDEN_RXE, &n);
	struct roce_rx rx;
	struct golden *g;
	bool ipv4;

	for (i = 0; i < n; i += 7) {
		g = &golden[i];
		assert_null(roce_parse(&rx, g->frame, g->len));
		off = ETH_HLEN + (rx.pkt.vlan ? 4 : 0);
		ipv4 = gid_is_ipv4(rx.dgid);
		for (bit = off * 8; bit < g->len * 8; bit++) {
			unsigned int byte = bit / 8 - off;

			g->frame[bit / 8] ^= 0x80 >> bit % 8;
			masked = ipv4 ? byte == 1 || byte == 8 || byte == 10 ||
					byte == 11 || byte == 26 ||
					byte == 27 || byte == 32 :
					(bit >= off * 8 + 4 && byte < 4) ||
					byte == 7 || byte == 46 ||
					byte == 47 || byte == 52;
			/* With another IP version there is no ICRC to check. */
			if (byte)
				assert_int_equal(roce_icrc_ok(&rx, g->frame),
						 masked);
			g->frame[bit / 8] ^= 0x80 >> bit % 8;
		}
	}
	free(golden);
}

/* ------------------------------------------------------------------------- */
/* Packets of ours                                                           */
/* ------------------------------------------------------------------------- */

static const uint8_t gid4[2][GID_SIZE] = {
	{ [10] = 0xff, 0xff, 10, 0, 0, 1 },
	{ [10] = 0xff, 0xff, 10, 0, 0, 2 },
};

static const uint8_t gid6[2][GID_SIZE] = {
	{ 0xfd, [15] = 1 },
	{ 0xfd, [15] = 2 },
};

static const struct pkt_av some_av = {
	.hops = 3,
	.tclass = 0x68,
	.dmac = { 0x52, 0x54, 0, 0, 0xce, 2 },
};

static struct pkt some_pkt(uint8_t opcode, bool ipv4, uint16_t vlan,
			   uint32_t len)
{
	const struct pkt_op *op = pkt_op(opcode);
	bool payload = op->kind == PKT_KIND_SEND ||
		       op->kind == PKT_KIND_WRITE ||
		       op->kind == PKT_KIND_ATOMIC_WRITE ||
		       op->kind == PKT_KIND_READ_RESPONSE;

	return (struct pkt) {
		.opcode = opcode,
		.ack_req = opcode & 1,
		.same = op->kind == PKT_KIND_READ_RESPONSE && opcode & 2,
		.solicited = opcode & 2,
		.psn = 0xabcdef,
		.npsn = 1,
		.dest_qpn = 0x123456,
		.src_qpn = 0x654321,
		.qkey = 0x80010203,
		.srqn = 0xc0ffee,
		.va = 0x1122334455667788,
		.rkey = 0x99aabbcc,
		.dmalen = 0xddeeff00,
		.swap_add = 0x0102030405060708,
		.compare = 0x1112131415161718,
		.orig = 0x2122232425262728,
		.flush_type = VIRTIO_IB_FLUSH_PERSISTENT,
		.flush_level = VIRTIO_IB_FLUSH_MR,
		.syndrome = 0x63,
		.msn = 0x010203,
		.imm = htobe32(0x0a0b0c0d),
		.inv_rkey = 0x1a2b3c4d,
		.sgid = ipv4 ? gid4[0] : gid6[0],
		.dgid = ipv4 ? gid4[1] : gid6[1],
		.vlan = vlan,
		.av = &some_av,
		.len = payload ? len : 0,
	};
}

/**
 * struct built - a packet, its frame, and the packet parsed from the frame
 */
struct built {
	struct pkt pkt;
	uint8_t data[ROCE_PAYLOAD_MAX];
	uint8_t frame[ROCE_FRAME_MAX];
	size_t len;
	struct roce_rx rx;
};

static void build(struct built *b)
{
	struct roce_path path;
	uint32_t i;

	for (i = 0; i < b->pkt.len; i++)
		b->data[i] = i * 7 + 1;
	roce_path_init(&path, &b->pkt, smac);
	b->len = eg_build(b->frame, &path, &b->pkt, b->data);
}

static void expect_same(const struct built *b)
{
	const struct pkt *is = &b->rx.pkt, *was = &b->pkt;
	const struct pkt_op *op = pkt_op(was->opcode);
	bool ud = PKT_SERVICE(was->opcode) == PKT_UD;
	bool xrc = PKT_SERVICE(was->opcode) == PKT_XRC;
	bool flush = op->kind == PKT_KIND_FLUSH;
	bool atomic = op->kind == PKT_KIND_ATOMIC;
	bool reth = op->kind == PKT_KIND_READ || flush ||
		    op->kind == PKT_KIND_ATOMIC_WRITE ||
		    (op->kind == PKT_KIND_WRITE && op->first);

	assert_int_equal(is->opcode, was->opcode);
	assert_int_equal(is->ack_req, was->ack_req);
	assert_int_equal(is->same, was->same);
	assert_int_equal(is->solicited, was->solicited);
	assert_int_equal(is->psn, was->psn);
	assert_int_equal(is->npsn, 1);
	assert_int_equal(is->dest_qpn, was->dest_qpn);
	assert_int_equal(is->src_qpn, ud ? was->src_qpn : PKT_QPN_UNKNOWN);
	assert_int_equal(is->qkey, ud ? was->qkey : 0);
	assert_int_equal(is->srqn, xrc && !op->response ? was->srqn : 0);
	assert_int_equal(is->va, reth || atomic ? was->va : 0);
	assert_int_equal(is->rkey, reth || atomic ? was->rkey : 0);
	assert_int_equal(is->dmalen, reth ? was->dmalen : 0);
	assert_int_equal(is->swap_add, atomic ? was->swap_add : 0);
	assert_int_equal(is->compare, atomic ? was->compare : 0);
	assert_int_equal(is->orig, op->kind == PKT_KIND_ATOMIC_ACK ? was->orig : 0);
	assert_int_equal(is->flush_type, flush ? was->flush_type : 0);
	assert_false(is->icrc_twice);
	assert_int_equal(is->flush_level, flush ? was->flush_level : 0);
	assert_int_equal(is->imm, op->imm ? was->imm : 0);
	assert_int_equal(is->inv_rkey, op->inv ? was->inv_rkey : 0);
	assert_int_equal(is->vlan, was->vlan);
	assert_memory_equal(is->sgid, was->sgid, GID_SIZE);
	assert_memory_equal(is->dgid, was->dgid, GID_SIZE);
	assert_int_equal(is->len, was->len);
	assert_memory_equal(b->frame + b->rx.payload, b->data, was->len);
	if (op->kind == PKT_KIND_ACK || op->kind == PKT_KIND_ATOMIC_ACK) {
		assert_int_equal(is->syndrome, was->syndrome);
		assert_int_equal(is->msn, was->msn);
	}
}

/*
 * By headers made in advance it is the same frame, also behind a packet of another length,
 * with another PSN and with a mark of ECN.
 */
static void expect_by_head(const struct built *b)
{
	uint32_t mtu = roce_ip_size(&b->pkt), lens[] = { b->pkt.len, b->pkt.len / 2, b->pkt.len };
	struct built other = *b;
	struct roce_head head = {};
	uint8_t frame[ROCE_FRAME_MAX], *p;
	unsigned int i;

	assert_false(roce_head_is(&head, smac));
	assert_true(roce_head_init(&head, &b->pkt, smac));
	assert_true(roce_head_is(&head, smac));
	assert_null(roce_head_build(frame, &head, &b->pkt, mtu - 1));
	for (i = 0; i < 3; i++) {
		other.pkt.len = lens[i];
		other.pkt.ect = i == 1;
		other.pkt.psn = (b->pkt.psn + i * 0x12345) & 0xffffff;
		build(&other);
		p = roce_head_build(frame, &head, &other.pkt, mtu);
		assert_non_null(p);
		memcpy(p, other.data, other.pkt.len);
		assert_int_equal(roce_head_finish(frame, &head, p, &other.pkt), other.len);
		assert_memory_equal(frame, other.frame, other.len);
	}
}

static void expect_round_trip(uint8_t opcode, bool ipv4, uint16_t vlan,
			      uint32_t len)
{
	struct built b = { .pkt = some_pkt(opcode, ipv4, vlan, len) };

	build(&b);
	assert_int_equal(b.len, roce_ip_size(&b.pkt) + ETH_HLEN +
				(vlan ? 4 : 0));
	assert_null(roce_parse(&b.rx, b.frame, b.len));
	assert_true(roce_icrc_ok(&b.rx, b.frame));
	expect_same(&b);
	if (opcode != PKT_CNP)
		expect_by_head(&b);
	assert_int_equal(b.rx.path.becn, opcode == PKT_CNP);
	assert_true(b.rx.path.migrated);
	assert_int_equal(b.rx.path.hops, 3);
	assert_int_equal(b.rx.path.tclass, 0x68);
	assert_memory_equal(b.rx.path.smac, smac, ETH_ALEN);
	assert_memory_equal(b.rx.path.dmac, some_av.dmac, ETH_ALEN);
	assert_in_range(b.rx.path.sport, 0xc000, 0xffff);
}

/* Only a FLUSH may have the other kind of ICRC; the parser reports it. */
static void test_icrc_twice(void **state)
{
	const uint8_t opcodes[] = { PKT_FLUSH, PKT_READ_REQUEST };
	struct built b;
	unsigned int i, ipv4;

	for (i = 0; i < 2; i++) {
		for (ipv4 = 0; ipv4 < 2; ipv4++) {
			b.pkt = some_pkt(opcodes[i], ipv4, 0, 0);
			b.pkt.icrc_twice = true;
			build(&b);
			assert_null(roce_parse(&b.rx, b.frame, b.len));
			assert_int_equal(roce_icrc_ok(&b.rx, b.frame), !i);
			assert_int_equal(b.rx.pkt.icrc_twice, !i);
			b.frame[b.rx.icrc - 1] ^= 1;
			assert_false(roce_icrc_ok(&b.rx, b.frame));
		}
	}
}

static void test_round_trips(void **state)
{
	static const uint32_t lens[] = { 0, 1, 2, 3, 4, 255, 1024, 4096 };
	unsigned int opcode, i, kind;

	for (opcode = 0; opcode < 256; opcode++)
		for (i = 0; pkt_op(opcode) && i < 8; i++)
			for (kind = 0; kind < 4; kind++)
				expect_round_trip(opcode, kind & 1,
						  kind & 2 ? VLAN_77 : 0,
						  lens[i]);
}

/* From the BTH to the end. */
static const uint8_t xrc_send_only[] = {
	0xa4, 0x50, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x00, 0xab, 0xcd, 0xef,
	0x00, 0xc0, 0xff, 0xee,
	0x01, 0x08, 0x0f, 0x00,
};

static const uint8_t xrc_write_only_imm[] = {
	0xab, 0xe0, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef,
	0x00, 0xc0, 0xff, 0xee,
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
	0xdd, 0xee, 0xff, 0x00,
	0x0a, 0x0b, 0x0c, 0x0d,
	0x01, 0x08, 0x00, 0x00,
};

static const uint8_t xrc_fetch_add[] = {
	0xb4, 0x40, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x00, 0xab, 0xcd, 0xef,
	0x00, 0xc0, 0xff, 0xee,
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
};

static const uint8_t xrc_ack[] = {
	0xb1, 0x40, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef,
	0x63, 0x01, 0x02, 0x03,
};

/*
 * XRC as annex A14 of the InfiniBand specification has it: the RC opcode with the prefix
 * 101, and XRCETH (8 bits reserved, 24 bits XRC SRQ) behind the BTH of all requests.  There is
 * no other implementation in software to take the bytes from.
 */
static void test_xrc_bytes(void **state)
{
	static const struct {
		const uint8_t *bytes;
		size_t len;
		uint32_t payload;
	} cases[] = {
		{ xrc_send_only, sizeof(xrc_send_only), 3 },
		{ xrc_write_only_imm, sizeof(xrc_write_only_imm), 2 },
		{ xrc_fetch_add, sizeof(xrc_fetch_add), 0 },
		{ xrc_ack, sizeof(xrc_ack), 0 },
	};
	const size_t at = ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr);
	struct built b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		b.pkt = some_pkt(cases[i].bytes[0], true, 0, cases[i].payload);
		b.pkt.solicited = cases[i].bytes[1] & 0x80;
		build(&b);
		assert_int_equal(b.len, at + cases[i].len + ROCE_ICRC_SIZE);
		assert_memory_equal(b.frame + at, cases[i].bytes, cases[i].len);
	}
}

/* All but the opcode and XRCETH is as it is with RC. */
static void test_xrc_is_like_rc(void **state)
{
	const size_t at = ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr);
	unsigned int code, more;
	struct built rc, xrc;

	for (code = 0; code <= 0x17; code++) {
		if (!pkt_op(code))
			continue;
		more = pkt_op(code)->response ? 0 : 4;
		rc.pkt = some_pkt(code, true, 0, 77);
		xrc.pkt = some_pkt(0xa0 | code, true, 0, 77);
		build(&rc);
		build(&xrc);
		assert_int_equal(xrc.len, rc.len + more);
		assert_int_equal(xrc.frame[at], 0xa0 | code);
		assert_memory_equal(xrc.frame + at + 1, rc.frame + at + 1, 11);
		assert_memory_equal(xrc.frame + at + 12 + more, rc.frame + at + 12,
				    rc.len - at - 12 - ROCE_ICRC_SIZE);
	}
}

/* The 40 bytes that a receiver of datagrams gets are those of the packet. */
static void test_grh(void **state)
{
	unsigned int ipv4;
	struct built b;
	uint8_t grh[ROCE_GRH_SIZE];

	for (ipv4 = 0; ipv4 < 2; ipv4++) {
		b.pkt = some_pkt(0x64, ipv4, 0, 33);
		build(&b);
		roce_grh(&b.pkt, grh);
		assert_null(roce_parse(&b.rx, b.frame, b.len));
		assert_memory_equal(b.rx.grh, grh, ROCE_GRH_SIZE);
		assert_memory_equal(grh + (ipv4 ? 20 : 0), b.frame + ETH_HLEN,
				    ipv4 ? 20 : 40);
	}
}

/* The source port follows from the flow label or the QPNs, and does not vary. */
static void test_source_port(void **state)
{
	struct pkt_av av = some_av;
	struct pkt pkt = some_pkt(PKT_ACK, false, 0, 0);
	struct roce_path path, other;

	pkt.av = &av;
	roce_path_init(&path, &pkt, smac);
	roce_path_init(&other, &pkt, smac);
	assert_int_equal(path.sport, other.sport);
	assert_int_equal(path.flow, 0);
	pkt.src_qpn++;
	roce_path_init(&other, &pkt, smac);
	assert_int_not_equal(path.sport, other.sport);
	/* As rdma_flow_label_to_udp_sport(). */
	av.flow = 0xf12345;
	roce_path_init(&path, &pkt, smac);
	assert_int_equal(path.flow, 0x12345);
	assert_int_equal(path.sport, 0xc000 | (0x2345 ^ 0x4));
}

/* A hop limit of 0 becomes 64, or no router would pass the packet on. */
static void test_traffic_class(void **state)
{
	struct pkt_av av = some_av;
	struct pkt pkt = some_pkt(PKT_SEND_ONLY, true, 0, 0);
	struct roce_path path;

	pkt.av = &av;
	pkt.ect = true;
	av.hops = 0;
	roce_path_init(&path, &pkt, smac);
	assert_int_equal(path.tclass, 0x6a);
	assert_int_equal(path.hops, 64);
	av.tclass = 0x69;
	roce_path_init(&path, &pkt, smac);
	assert_int_equal(path.tclass, 0x69);
}

static void test_cannot_build(void **state)
{
	struct built b = { .pkt = some_pkt(PKT_SEND_ONLY, true, 0, 8) };

	b.pkt.sgid = gid6[0];
	build(&b);
	assert_int_equal(b.len, 0);
	b.pkt = some_pkt(PKT_SEND_ONLY, true, 0, ROCE_PAYLOAD_MAX);
	build(&b);
	assert_int_equal(b.len, ETH_HLEN + 20 + 8 + 12 + 4096 + 4);
	b.pkt.len = ROCE_PAYLOAD_MAX + 1;
	assert_null(roce_build(b.frame, &(struct roce_path) {}, &b.pkt));
}

/* ------------------------------------------------------------------------- */
/* Bad packets                                                               */
/* ------------------------------------------------------------------------- */

/* The frame is in a heap block of its size, so that reading past it is caught. */
static const char *parse(struct roce_rx *rx, const uint8_t *frame, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	const char *why;

	assert_non_null(copy);
	memcpy(copy, frame, len);
	why = roce_parse(rx, copy, len);
	if (!why)
		roce_icrc_ok(rx, copy);
	free(copy);
	return why;
}

/**
 * struct damage - a packet made bad
 * @why:	reason that the parser gives
 * @off:	byte that is changed
 * @value:	what it becomes
 * @opcode:	opcode of the packet, which has 6 bytes of payload
 * @ipv6:	it goes by IPv6
 */
struct damage {
	const char *why;
	unsigned int off;
	uint8_t value;
	uint8_t opcode;
	bool ipv6;
};

#define IP	14
#define UDP	(IP + 20)
#define BTH	(UDP + 8)
#define BTH6	(BTH + 20)

static const struct damage damages[] = {
	{ "neither IPv4 nor IPv6", 13, 0x06, 0x04, false },
	{ "neither IPv4 nor IPv6", 12, 0x81, 0x04, false },
	{ "IPv4 header with options, or none", IP, 0x46, 0x04, false },
	{ "IPv4 header with options, or none", IP, 0x44, 0x04, false },
	{ "IPv4 header with options, or none", IP, 0x65, 0x04, false },
	{ "not UDP", IP + 9, 6, 0x04, false },
	{ "a fragment", IP + 6, 0x20, 0x04, false },
	{ "a fragment", IP + 7, 0x01, 0x04, false },
	{ "IPv4 header checksum is wrong", IP + 10, 0, 0x04, false },
	{ "IPv4 header checksum is wrong", IP + 15, 77, 0x04, false },
	{ "another UDP port", UDP + 3, 0, 0x04, false },
	{ "UDP and IP length differ", UDP + 4, 1, 0x04, false },
	{ "UDP and IP length differ", UDP + 5, 0, 0x04, false },
	{ "another transport version", BTH + 1, 0x61, 0x04, false },
	{ "another partition", BTH + 2, 0x7e, 0x04, false },
	{ "another partition", BTH + 3, 0, 0x04, false },
	{ "unknown opcode", BTH, 0x1f, 0x04, false },
	{ "unknown opcode", BTH, 0xe0, 0x04, false },
	{ "unknown opcode", BTH, 0x80, 0x04, false },
	{ "payload where there is none", BTH, 0x11, 0x04, false },
	{ "shorter than its headers", BTH, 0x0c, 0x04, false },
	{ "shorter than its headers", BTH, 0x81, 0x04, false },
	{ "shorter than its headers", BTH, 0x65, 0x04, false },
	{ "not IPv6", IP, 0x45, 0x04, true },
	{ "not UDP", IP + 6, 44, 0x04, true },
	{ "longer than its frame", IP + 4, 0xff, 0x04, true },
	{ "UDP header is cut off", IP + 5, 7, 0x04, true },
	{ "UDP and IP length differ", IP + 5, 8, 0x04, true },
	{ "unknown opcode", BTH6, 0x60, 0x04, true },
};

static void test_damaged(void **state)
{
	const struct damage *d;
	struct built b;
	const char *why;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(damages); i++) {
		d = &damages[i];
		b.pkt = some_pkt(d->opcode, !d->ipv6, 0, 6);
		build(&b);
		assert_null(parse(&b.rx, b.frame, b.len));
		assert_int_not_equal(b.frame[d->off], d->value);
		b.frame[d->off] = d->value;
		why = parse(&b.rx, b.frame, b.len);
		if (!why || strcmp(why, d->why))
			fail_msg("%u: \"%s\", not \"%s\"", i, why, d->why);
	}
}

/* Fields that may have other values. */
static void test_tolerated(void **state)
{
	struct built b = { .pkt = some_pkt(0x04, true, 0, 6) };
	uint8_t *bth = b.frame + BTH;

	build(&b);
	bth[1] &= ~0x40;	/* MigReq */
	bth[2] = 0x7f;		/* limited member */
	bth[4] = 0xff;		/* congestion, reserved */
	bth[8] |= 0x7f;		/* reserved */
	assert_null(parse(&b.rx, b.frame, b.len));
	assert_false(b.rx.path.migrated);
	assert_true(b.rx.path.fecn && b.rx.path.becn);
}

/* A frame may be longer than the packet, never shorter. */
static void test_every_length(void **state)
{
	unsigned int kind, opcode;
	struct roce_peek peek;
	struct built b;
	size_t len;

	for (opcode = 0; opcode < 256; opcode++) {
		for (kind = 0; pkt_op(opcode) && kind < 4; kind++) {
			b.pkt = some_pkt(opcode, kind & 1,
					 kind & 2 ? VLAN_77 : 0, 5);
			build(&b);
			for (len = 0; len < b.len; len++) {
				assert_non_null(parse(&b.rx, b.frame, len));
				roce_peek(&peek, b.frame, len);
			}
			memset(b.frame + b.len, 0xee, 46);
			assert_null(parse(&b.rx, b.frame, b.len + 46));
			assert_true(roce_icrc_ok(&b.rx, b.frame));
			assert_int_equal(b.rx.pkt.len, b.pkt.len);
		}
	}
}

/* The IP packet is shorter than its UDP and BTH headers say. */
static void test_cut_inside(void **state)
{
	struct built b = { .pkt = some_pkt(0x0c, false, 0, 0) };
	unsigned int len;

	build(&b);
	for (len = 0; len < b.len - IP - 40; len++) {
		b.frame[IP + 5] = len;
		b.frame[IP + 40 + 5] = len;
		assert_non_null(parse(&b.rx, b.frame, b.len));
	}
	b.frame[IP + 5] = len;
	b.frame[IP + 40 + 5] = len;
	assert_null(parse(&b.rx, b.frame, b.len));
}

/* More payload than the largest path MTU, in a frame of a larger Ethernet. */
static void test_too_long(void **state)
{
	static uint8_t frame[ROCE_FRAME_MAX + 64];
	struct built b = { .pkt = some_pkt(0x04, false, 0, ROCE_PAYLOAD_MAX) };
	uint16_t len;

	build(&b);
	memcpy(frame, b.frame, b.len);
	len = htobe16(b.len - IP - 40 + 4);
	memcpy(frame + IP + 4, &len, sizeof(len));
	memcpy(frame + IP + 40 + 4, &len, sizeof(len));
	assert_string_equal(parse(&b.rx, frame, b.len + 4),
			    "longer than any path MTU");
}

static void test_peek_others(void **state)
{
	struct built b = { .pkt = some_pkt(0x04, true, 0, 6) };
	struct roce_peek peek;

	build(&b);
	assert_true(roce_peek(&peek, b.frame, ROCE_PEEK_SIZE));
	b.frame[IP + 7] = 1;
	assert_false(roce_peek(&peek, b.frame, ROCE_PEEK_SIZE));
	b.frame[IP + 7] = 0;
	b.frame[IP + 9] = 6;
	assert_false(roce_peek(&peek, b.frame, ROCE_PEEK_SIZE));
	b.frame[IP + 9] = 17;
	b.frame[UDP + 3]++;
	assert_false(roce_peek(&peek, b.frame, ROCE_PEEK_SIZE));
	b.frame[UDP + 3]--;
	b.frame[12] = 0x88;
	assert_false(roce_peek(&peek, b.frame, ROCE_PEEK_SIZE));
}

#define T(fn)	cmocka_unit_test(fn)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_golden_rebuilt),
		T(test_golden_complete),
		T(test_golden_flipped),
		T(test_icrc_twice),
		T(test_round_trips),
		T(test_xrc_bytes),
		T(test_xrc_is_like_rc),
		T(test_grh),
		T(test_source_port),
		T(test_traffic_class),
		T(test_cannot_build),
		T(test_damaged),
		T(test_tolerated),
		T(test_every_length),
		T(test_cut_inside),
		T(test_too_long),
		T(test_peek_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
