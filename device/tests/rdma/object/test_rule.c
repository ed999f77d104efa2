// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow rules: fields of frames, which rule takes a frame, limits.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "rdma/object/rule.h"
#include "virtio/virtq.h"

static struct rnic_ctx ctx;
static struct rule_table rules;
static struct rule_owner owner;

static int setup(void **state)
{
	memset(&ctx, 0, sizeof(ctx));
	memset(&rules, 0, sizeof(rules));
	memset(&owner, 0, sizeof(owner));
	rule_table_init(&rules, &ctx);
	return 0;
}

static int teardown(void **state)
{
	while (!rule_drop(&rules, &owner))
		;
	assert_int_equal(rules.objs.used, 0);
	assert_int_equal(rules.groups, 0);
	assert_int_equal(rules.sniffers_n, 0);
	rule_table_fini(&rules);
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Fields                                                                    */
/* ------------------------------------------------------------------------- */

#define MACS	1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16
#define TAG	0x81, 0x00, 0xa0, 0x07
#define V4(first, frag, proto) \
		0x08, 0x00, first, 0x12, 0, 40, 0, 1, (frag) >> 8, (frag) & 0xff, 64, proto, \
		0, 0, 10, 0, 0, 1, 10, 0, 0, 2
#define PORTS	0x12, 0x34, 0x00, 0x50
#define V6(first, proto) \
		0x86, 0xdd, first, 0xab, 0xcd, 0xef, 0, 8, proto, 63, \
		0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, \
		0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2

static struct virtio_rdma_flow_match key_of(const uint8_t *frame, size_t len)
{
	union rule_key key;

	rule_key(&key, frame, len);
	return key.match;
}

#define KEY(...)							\
	key_of((const uint8_t []) { __VA_ARGS__ },			\
	       sizeof((const uint8_t []) { __VA_ARGS__ }))

static void expect_layers(const struct virtio_rdma_flow_match *match, uint32_t layers)
{
	assert_int_equal(le32toh(match->layers), layers);
}

static void test_ethernet(void **state)
{
	static const uint8_t macs[] = { MACS };
	struct virtio_rdma_flow_match match = KEY(MACS, 0x88, 0xb5, 1, 2, 3);

	assert_memory_equal(match.dst_mac, macs, 12);
	assert_int_equal(be16toh(match.ether_type), 0x88b5);
	expect_layers(&match, 0);
	match = KEY(MACS, TAG, 0x88, 0xb5);
	assert_int_equal(be16toh(match.ether_type), 0x88b5);
	assert_int_equal(be16toh(match.vlan_tag), 0xa007);
	expect_layers(&match, VIRTIO_RDMA_FLOW_VLAN);
	/* A tag that is cut off is a type. */
	match = KEY(MACS, 0x81, 0x00, 0xa0);
	assert_int_equal(be16toh(match.ether_type), 0x8100);
	expect_layers(&match, 0);
	/* Not even a header. */
	match = KEY(MACS, 0x88);
	assert_int_equal(match.dst_mac[0], 0);
}

static void test_ipv4(void **state)
{
	static const uint8_t ip[] = { 10, 0, 0, 1 };
	struct virtio_rdma_flow_match match = KEY(MACS, V4(0x45, 0x4000, 6), PORTS);

	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV4 | VIRTIO_RDMA_FLOW_TCP);
	assert_memory_equal(match.src_ip, ip, 4);
	assert_int_equal(match.dst_ip[3], 2);
	assert_int_equal(match.dst_ip[4], 0);
	assert_int_equal(match.proto, 6);
	assert_int_equal(match.tos, 0x12);
	assert_int_equal(match.ttl, 64);
	assert_int_equal(match.ip_flags, VIRTIO_RDMA_FLOW_DF);
	assert_int_equal(be16toh(match.src_port), 0x1234);
	assert_int_equal(be16toh(match.dst_port), 80);

	/* Options are skipped. */
	match = KEY(MACS, TAG, V4(0x46, 0, 17), 1, 1, 1, 1, PORTS);
	expect_layers(&match, VIRTIO_RDMA_FLOW_VLAN | VIRTIO_RDMA_FLOW_IPV4 |
		      VIRTIO_RDMA_FLOW_UDP);
	assert_int_equal(be16toh(match.dst_port), 80);
	/* A later fragment has no ports, the first one has. */
	match = KEY(MACS, V4(0x45, 0x2001, 17), PORTS);
	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV4);
	assert_int_equal(match.ip_flags, VIRTIO_RDMA_FLOW_MF);
	assert_int_equal(match.dst_port, 0);
	match = KEY(MACS, V4(0x45, 0x2000, 17), PORTS);
	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV4 | VIRTIO_RDMA_FLOW_UDP);
	/* Other protocols have no ports. */
	match = KEY(MACS, V4(0x45, 0, 1), PORTS);
	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV4);
	assert_int_equal(match.src_port, 0);
}

static void test_bad_ip(void **state)
{
	struct virtio_rdma_flow_match match;

	match = KEY(MACS, V4(0x65, 0, 6), PORTS);
	expect_layers(&match, 0);
	match = KEY(MACS, V4(0x44, 0, 6), PORTS);
	expect_layers(&match, 0);
	match = KEY(MACS, 0x08, 0x00);
	expect_layers(&match, 0);
	match = KEY(MACS, V4(0x45, 0, 6), 0x12, 0x34, 0x00);
	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV4);
	match = KEY(MACS, V4(0x4f, 0, 6), PORTS);
	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV4);
	match = KEY(MACS, V6(0x46, 6), PORTS);
	expect_layers(&match, 0);
	match = KEY(MACS, 0x86, 0xdd, 0x60);
	expect_layers(&match, 0);
	assert_int_equal(be16toh(match.ether_type), 0x86dd);
}

static void test_ipv6(void **state)
{
	struct virtio_rdma_flow_match match = KEY(MACS, V6(0x61, 17), PORTS);

	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV6 | VIRTIO_RDMA_FLOW_UDP);
	assert_int_equal(match.tos, 0x1a);
	assert_int_equal(be32toh(match.flow_label), 0xbcdef);
	assert_int_equal(match.proto, 17);
	assert_int_equal(match.ttl, 63);
	assert_int_equal(match.src_ip[0], 0xfd);
	assert_int_equal(match.src_ip[15], 1);
	assert_int_equal(match.dst_ip[15], 2);
	assert_int_equal(be16toh(match.src_port), 0x1234);
	match = KEY(MACS, V6(0x60, 6));
	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV6);
	/* Extension headers are not skipped. */
	match = KEY(MACS, V6(0x60, 0), PORTS);
	expect_layers(&match, VIRTIO_RDMA_FLOW_IPV6);
}

/* ------------------------------------------------------------------------- */
/* Rules                                                                     */
/* ------------------------------------------------------------------------- */

static struct virtio_rdma_cmd_create_flow normal(uint32_t qpn, uint16_t priority)
{
	return (struct virtio_rdma_cmd_create_flow) {
		.qpn = htole32(qpn),
		.priority = htole16(priority),
	};
}

/* A rule for a destination port. */
static struct virtio_rdma_cmd_create_flow for_port(uint32_t qpn, uint16_t priority,
						   uint16_t port)
{
	struct virtio_rdma_cmd_create_flow req = normal(qpn, priority);

	req.value.dst_port = htobe16(port);
	req.mask.dst_port = 0xffff;
	req.value.layers = htole32(VIRTIO_RDMA_FLOW_UDP);
	req.mask.layers = htole32(VIRTIO_RDMA_FLOW_UDP);
	return req;
}

static uint32_t create(const struct virtio_rdma_cmd_create_flow *req)
{
	const struct virtio_rdma_cmd_create_flow_long all = { .flow = *req };
	uint32_t handle = 0;

	assert_null(rule_create(&rules, &owner, &all, &handle));
	return handle;
}

static void refused(const struct virtio_rdma_cmd_create_flow *req)
{
	const struct virtio_rdma_cmd_create_flow_long all = { .flow = *req };
	const unsigned int groups = rules.groups, used = rules.objs.used;
	uint32_t handle = 77;

	assert_non_null(rule_create(&rules, &owner, &all, &handle));
	assert_int_equal(handle, 77);
	assert_int_equal(rules.groups, groups);
	assert_int_equal(rules.objs.used, used);
}

static struct rule_hits find(const struct virtio_rdma_flow_match *match, enum rule_for what)
{
	union rule_key key = { .match = *match };
	struct rule_hits hits;
	bool any = rule_find(&rules, &key, what, &hits);

	assert_int_equal(any, hits.n || hits.taken);
	return hits;
}

/* The only QP that gets a packet for a port, or 0. */
static uint32_t taker(uint16_t port)
{
	const struct virtio_rdma_flow_match match = {
		.dst_port = htobe16(port),
		.layers = htole32(VIRTIO_RDMA_FLOW_UDP | VIRTIO_RDMA_FLOW_IPV4),
	};
	struct rule_hits hits = find(&match, RULE_FOR_PORT);

	assert_in_range(hits.n, 0, 1);
	assert_int_equal(hits.taken, hits.n);
	return hits.n ? hits.qpn[0] : 0;
}

static void test_match(void **state)
{
	struct virtio_rdma_cmd_create_flow req = for_port(5, 0, 80);
	struct virtio_rdma_flow_match match;
	uint32_t handle = create(&req);

	assert_int_equal(taker(80), 5);
	assert_int_equal(taker(81), 0);
	match = req.value;
	match.layers = htole32(VIRTIO_RDMA_FLOW_TCP);
	assert_int_equal(find(&match, RULE_FOR_PORT).n, 0);
	/* Bits of the value outside of the mask do not matter. */
	req = for_port(6, 0, 81);
	req.value.ttl = 9;
	req.value.src_mac[0] = 4;
	create(&req);
	assert_int_equal(taker(81), 6);
	/* A mask of some bits. */
	req = for_port(7, 0, 0x1200);
	req.mask.dst_port = htobe16(0xff00);
	create(&req);
	assert_int_equal(taker(0x12ab), 7);
	assert_int_equal(taker(0x13ab), 0);

	assert_null(rule_destroy(&rules, handle));
	assert_non_null(rule_destroy(&rules, handle));
	assert_non_null(rule_destroy(&rules, 0));
	assert_int_equal(taker(80), 0);
	assert_int_equal(taker(81), 6);
}

static void test_priorities(void **state)
{
	struct virtio_rdma_cmd_create_flow req = for_port(1, 7, 80);
	uint32_t first, second;

	create(&req);
	req = for_port(2, 3, 80);
	second = create(&req);
	req = for_port(3, 0xffff, 80);
	create(&req);
	assert_int_equal(taker(80), 2);
	/* Of the same priority: that with more bits first. */
	req = normal(4, 3);
	first = create(&req);
	assert_int_equal(taker(80), 2);
	assert_int_equal(taker(81), 4);
	req = for_port(5, 3, 80);
	req.mask.ttl = 0xff;
	create(&req);
	assert_int_equal(taker(80), 5);
	/* The oldest one, of those that are alike. */
	req = for_port(6, 3, 80);
	create(&req);
	assert_null(rule_destroy(&rules, first));
	assert_null(rule_destroy(&rules, second));
	req = for_port(7, 2, 80);
	first = create(&req);
	req = for_port(8, 2, 80);
	create(&req);
	assert_int_equal(taker(80), 7);
	assert_null(rule_destroy(&rules, first));
	assert_int_equal(taker(80), 8);
}

static void test_defaults(void **state)
{
	const struct virtio_rdma_flow_match group = { .dst_mac = { 0x33, 0x33 } };
	struct virtio_rdma_cmd_create_flow req = normal(1, 0);

	req.type = VIRTIO_RDMA_FLOW_ALL_DEFAULT;
	create(&req);
	assert_int_equal(taker(80), 1);
	assert_int_equal(find(&group, RULE_FOR_PORT).qpn[0], 1);
	req = normal(2, 0xffff);
	req.type = VIRTIO_RDMA_FLOW_MC_DEFAULT;
	create(&req);
	assert_int_equal(taker(80), 1);
	assert_int_equal(find(&group, RULE_FOR_PORT).qpn[0], 2);
	req = for_port(3, 0xffff, 80);
	create(&req);
	assert_int_equal(taker(80), 3);
	assert_int_equal(taker(81), 1);
}

static void test_copies(void **state)
{
	struct virtio_rdma_cmd_create_flow req = for_port(1, 0, 80);
	struct virtio_rdma_flow_match match = req.value;
	struct rule_hits hits;

	req.flags = VIRTIO_RDMA_FLOW_DONT_TRAP;
	create(&req);
	req.qpn = htole32(2);
	create(&req);
	hits = find(&match, RULE_FOR_PORT);
	assert_int_equal(hits.n, 2);
	assert_false(hits.taken);
	req = for_port(3, 5, 80);
	create(&req);
	req = normal(4, 9);
	req.type = VIRTIO_RDMA_FLOW_SNIFFER;
	create(&req);
	req.qpn = htole32(5);
	create(&req);
	hits = find(&match, RULE_FOR_PORT);
	assert_int_equal(hits.n, 5);
	assert_true(hits.taken);
	assert_int_equal(hits.qpn[0], 4);
	assert_int_equal(hits.qpn[1], 5);
	assert_int_equal(hits.qpn[2], 1);
	assert_int_equal(hits.qpn[3], 2);
	assert_int_equal(hits.qpn[4], 3);
	hits = find(&match, RULE_FOR_SNIFFERS);
	assert_int_equal(hits.n, 2);
	assert_false(hits.taken);
	match.layers = 0;
	hits = find(&match, RULE_FOR_PORT);
	assert_int_equal(hits.n, 2);
	assert_false(hits.taken);
}

static void test_drop(void **state)
{
	struct virtio_rdma_cmd_create_flow req = for_port(1, 0, 80);
	struct rule_hits hits;

	req.flags = VIRTIO_RDMA_FLOW_DROP;
	create(&req);
	req = normal(2, 5);
	create(&req);
	hits = find(&req.value, RULE_FOR_PORT);
	assert_int_equal(hits.qpn[0], 2);
	req = for_port(1, 0, 80);
	hits = find(&req.value, RULE_FOR_PORT);
	assert_int_equal(hits.n, 0);
	assert_true(hits.taken);
}

/* A frame of the NIC's own meets only rules that look for something. */
static void test_own(void **state)
{
	struct virtio_rdma_cmd_create_flow req = normal(1, 0);
	struct rule_hits hits;

	create(&req);
	req.type = VIRTIO_RDMA_FLOW_ALL_DEFAULT;
	create(&req);
	req.type = VIRTIO_RDMA_FLOW_MC_DEFAULT;
	create(&req);
	req = for_port(2, 1, 80);
	create(&req);
	hits = find(&req.value, RULE_FOR_OWN);
	assert_int_equal(hits.n, 1);
	assert_int_equal(hits.qpn[0], 2);
	req.value.dst_mac[0] = 1;
	req.value.layers = 0;
	assert_int_equal(find(&req.value, RULE_FOR_OWN).n, 0);
	assert_int_equal(find(&req.value, RULE_FOR_PORT).n, 1);
	req = normal(3, 0);
	req.type = VIRTIO_RDMA_FLOW_SNIFFER;
	create(&req);
	hits = find(&req.value, RULE_FOR_OWN);
	assert_int_equal(hits.n, 1);
	assert_int_equal(hits.qpn[0], 3);
}

static void test_refused(void **state)
{
	const struct virtio_rdma_cmd_create_flow good = for_port(1, 0, 80);
	struct virtio_rdma_cmd_create_flow req;

#define BAD(change) do { req = good; change; refused(&req); } while (0)
	BAD(req.type = VIRTIO_RDMA_FLOW_SNIFFER + 1);
	BAD(req.type = UINT8_MAX);
	BAD(req.flags = 4);
	BAD(req.flags = VIRTIO_RDMA_FLOW_DROP | VIRTIO_RDMA_FLOW_DONT_TRAP);
	BAD(req.mask.layers = htole32(0x20));
	BAD(req.mask.layers = htole32(0x80000000));
	BAD(req.type = VIRTIO_RDMA_FLOW_ALL_DEFAULT);
	BAD(req.type = VIRTIO_RDMA_FLOW_MC_DEFAULT);
	BAD(req.type = VIRTIO_RDMA_FLOW_SNIFFER);
	BAD((memset(&req.mask, 0, sizeof(req.mask)),
	     req.type = VIRTIO_RDMA_FLOW_SNIFFER));
	req = normal(1, 0);
	req.type = VIRTIO_RDMA_FLOW_SNIFFER;
	req.flags = VIRTIO_RDMA_FLOW_DROP;
	refused(&req);
	assert_int_equal(rules.objs.used, 0);
}

/* A rule with a tag, and one that drops; what each has counted. */
static void test_counts(void **state)
{
	struct virtio_rdma_cmd_create_flow_long req = { .flow = for_port(1, 0, 80) };
	struct virtio_rdma_ack_query_flow ack;
	struct rule_hits hits;
	uint32_t handle, other;

	req.tag = htole32(0xfedcba98);
	assert_null(rule_create(&rules, &owner, &req, &handle));
	hits = find(&req.flow.value, RULE_FOR_PORT);
	assert_int_equal(hits.n, 1);
	assert_int_equal(hits.tag[0], 0xfedcba98);
	assert_null(hits.dropped);
	assert_null(rule_query(&rules, handle, &ack));
	assert_int_equal(ack.packets | ack.bytes, 0);
	rule_count_frame(hits.count[0], 100);
	rule_count_frame(hits.count[0], 1500);
	assert_null(rule_query(&rules, handle, &ack));
	assert_int_equal(le64toh(ack.packets), 2);
	assert_int_equal(le64toh(ack.bytes), 1600);

	req.flow = for_port(1, 0, 81);
	req.flow.flags = VIRTIO_RDMA_FLOW_DROP;
	assert_null(rule_create(&rules, &owner, &req, &other));
	hits = find(&req.flow.value, RULE_FOR_PORT);
	assert_int_equal(hits.n, 0);
	rule_count_frame(hits.dropped, 60);
	assert_null(rule_query(&rules, other, &ack));
	assert_int_equal(le64toh(ack.bytes), 60);
	/* A rule of the short form has no tag. */
	req.flow = for_port(1, 0, 82);
	create(&req.flow);
	assert_int_equal(find(&req.flow.value, RULE_FOR_PORT).tag[0], 0);

	assert_null(rule_destroy(&rules, handle));
	assert_non_null(rule_query(&rules, handle, &ack));
	req.reserved = htole32(1);
	assert_non_null(rule_create(&rules, &owner, &req, &handle));
}

/* ------------------------------------------------------------------------- */
/* Limits                                                                    */
/* ------------------------------------------------------------------------- */

static void test_limits(void **state)
{
	struct virtio_rdma_cmd_create_flow req = normal(1, 0);
	unsigned int i;

	req.type = VIRTIO_RDMA_FLOW_SNIFFER;
	for (i = 0; i < RULE_COPIES; i++)
		create(&req);
	refused(&req);
	for (i = 0; i < RULE_SAME; i++) {
		req = for_port(1, 0, 80);
		create(&req);
	}
	refused(&req);
	for (i = 1; i < RULE_GROUPS; i++) {
		req = for_port(1, i, 80);
		create(&req);
	}
	req = for_port(1, i, 80);
	refused(&req);
	/* Those that fit to a group that there is. */
	for (i = 0; rules.objs.used < RNIC_FLOWS_MAX; i++) {
		req = for_port(1, 0, 1000 + i);
		create(&req);
	}
	req = for_port(1, 0, 999);
	refused(&req);
	assert_null(rule_destroy(&rules, LIST_FIRST(&owner.rules) ? *(uint32_t *)
				 LIST_FIRST(&owner.rules) : 0));
	create(&req);
}

/* The most copies, from sniffers and others. */
static void test_most_copies(void **state)
{
	struct virtio_rdma_cmd_create_flow req;
	struct rule_hits hits;
	unsigned int i;

	for (i = 0; i < RULE_COPIES; i++) {
		req = for_port(100 + i, i, 80);
		req.flags = VIRTIO_RDMA_FLOW_DONT_TRAP;
		create(&req);
	}
	req = for_port(5, RULE_COPIES, 80);
	create(&req);
	hits = find(&req.value, RULE_FOR_PORT);
	assert_int_equal(hits.n, RULE_COPIES);
	assert_int_equal(hits.qpn[RULE_COPIES - 1], 100 + RULE_COPIES - 1);
	assert_true(hits.taken);
}

/* Groups and rules that are looked at for frames for the first @n ports. */
static uint64_t looks_for(unsigned int n)
{
	const uint64_t before = rules.looks;
	unsigned int i;

	for (i = 0; i < n; i++)
		assert_int_equal(taker(i), 1);
	return rules.looks - before;
}

/* Ten thousand rules cost what ten do. */
static void test_many(void **state)
{
	struct virtio_rdma_cmd_create_flow req;
	uint64_t few, many, work;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		req = for_port(1, 0, i);
		create(&req);
	}
	few = looks_for(10);
	assert_in_range(few, 20, 25);
	for (; i < 10000; i++) {
		req = for_port(1, 0, i);
		create(&req);
	}
	assert_in_range(looks_for(10), 20, 60);
	work = virtq_work();
	many = looks_for(10000);
	/* On average a rule shares its bucket with 0.6 others. */
	assert_in_range(many, 20000, 30000);
	assert_int_equal(virtq_work() - work, many);
}

static void test_reset(void **state)
{
	struct virtio_rdma_cmd_create_flow req;
	struct portion portion = {};
	unsigned int i, calls = 0;

	for (i = 0; i < 1000; i++) {
		req = for_port(1, i % 7, i);
		create(&req);
	}
	ctx.clearing = true;
	assert_false(rule_any(&rules));
	do {
		portion.left = PORTION;
		calls++;
	} while (!rule_table_reset(&rules, &portion));
	assert_in_range(calls, 1000 * PORTION_OBJECT / PORTION, 40);
	assert_true(LIST_EMPTY(&owner.rules));
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_ethernet),
		T(test_ipv4),
		T(test_bad_ip),
		T(test_ipv6),
		T(test_match),
		T(test_priorities),
		T(test_defaults),
		T(test_copies),
		T(test_drop),
		T(test_own),
		T(test_refused),
		T(test_counts),
		T(test_limits),
		T(test_most_copies),
		T(test_many),
		T(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
