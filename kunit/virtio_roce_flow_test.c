// SPDX-License-Identifier: GPL-2.0
/*
 * Flow rules of the core, as the device takes them.
 */
#include <kunit/test.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_flow.h"

#define SPECS	8

/**
 * struct flow - a rule of the core
 * @attr: its head, with room for specs behind it
 * @end: bytes of that room that are used
 */
struct flow {
	struct ib_flow_attr *attr;
	size_t end;
};

static struct flow *flow_new(struct kunit *test)
{
	struct flow *flow = kunit_kzalloc(test, sizeof(*flow), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, flow);
	flow->attr = kunit_kzalloc(test, sizeof(*flow->attr) +
				   SPECS * sizeof(union ib_flow_spec), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, flow->attr);
	flow->attr->port = 1;
	return flow;
}

/* Add a spec, whose fields the caller fills in. */
static void *flow_add(struct flow *flow, u32 type, u16 size)
{
	union ib_flow_spec *spec = (void *)((u8 *)(flow->attr + 1) + flow->end);

	memset(spec, 0, size);
	spec->type = type;
	spec->size = size;
	flow->attr->num_of_specs++;
	flow->end += size;
	return spec;
}

static struct ib_flow_spec_eth *add_eth(struct flow *flow)
{
	return flow_add(flow, IB_FLOW_SPEC_ETH, sizeof(struct ib_flow_spec_eth));
}

static struct ib_flow_spec_ipv4 *add_ipv4(struct flow *flow)
{
	return flow_add(flow, IB_FLOW_SPEC_IPV4, sizeof(struct ib_flow_spec_ipv4));
}

static struct ib_flow_spec_ipv6 *add_ipv6(struct flow *flow)
{
	return flow_add(flow, IB_FLOW_SPEC_IPV6, sizeof(struct ib_flow_spec_ipv6));
}

static struct ib_flow_spec_tcp_udp *add_ports(struct flow *flow, u32 type)
{
	return flow_add(flow, type, sizeof(struct ib_flow_spec_tcp_udp));
}

static struct virtio_rdma_cmd_create_flow compiled(struct kunit *test, struct flow *flow)
{
	struct virtio_rdma_cmd_create_flow req;

	KUNIT_ASSERT_EQ(test, vroce_flow_compile(flow->attr, &req), 0);
	return req;
}

static void expect_layers(struct kunit *test, const struct virtio_rdma_cmd_create_flow *req,
			  u32 layers)
{
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->value.layers), layers);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->mask.layers), layers);
}

static void flow_ethernet(struct kunit *test)
{
	struct flow *flow = flow_new(test);
	struct ib_flow_spec_eth *eth = add_eth(flow);
	struct virtio_rdma_cmd_create_flow req;

	flow->attr->priority = 0x1234;
	memset(eth->val.dst_mac, 0x5a, ETH_ALEN);
	memset(eth->mask.dst_mac, 0xf0, ETH_ALEN);
	memset(eth->val.src_mac, 0x77, ETH_ALEN);
	eth->val.ether_type = htons(ETH_P_IP);
	eth->mask.ether_type = htons(0xffff);
	req = compiled(test, flow);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(req.priority), 0x1234);
	KUNIT_EXPECT_EQ(test, req.type, VIRTIO_RDMA_FLOW_NORMAL);
	KUNIT_EXPECT_EQ(test, req.flags, 0);
	/* A value has no bit outside of its mask. */
	KUNIT_EXPECT_EQ(test, req.value.dst_mac[5], 0x50);
	KUNIT_EXPECT_EQ(test, req.mask.dst_mac[5], 0xf0);
	KUNIT_EXPECT_EQ(test, req.value.src_mac[0], 0);
	KUNIT_EXPECT_EQ(test, ntohs(req.value.ether_type), ETH_P_IP);
	expect_layers(test, &req, 0);

	eth->val.vlan_tag = htons(0xa007);
	eth->mask.vlan_tag = htons(0x0fff);
	req = compiled(test, flow);
	KUNIT_EXPECT_EQ(test, ntohs(req.value.vlan_tag), 7);
	expect_layers(test, &req, VIRTIO_RDMA_FLOW_VLAN);
}

static void flow_ipv4_udp(struct kunit *test)
{
	struct flow *flow = flow_new(test);
	struct ib_flow_spec_ipv4 *ip = add_ipv4(flow);
	struct ib_flow_spec_tcp_udp *udp = add_ports(flow, IB_FLOW_SPEC_UDP);
	struct virtio_rdma_cmd_create_flow req;

	memset(&ip->mask, 0xff, sizeof(ip->mask));
	ip->val.src_ip = htonl(0x0a000001);
	ip->val.dst_ip = htonl(0x0a000002);
	ip->val.proto = 17;
	ip->val.tos = 0x12;
	ip->val.ttl = 64;
	ip->val.flags = IB_IPV4_DONT_FRAG;
	udp->val.src_port = htons(1);
	udp->val.dst_port = htons(4791);
	udp->mask.dst_port = htons(0xffff);
	req = compiled(test, flow);
	KUNIT_EXPECT_EQ(test, req.value.src_ip[3], 1);
	KUNIT_EXPECT_EQ(test, req.value.dst_ip[3], 2);
	KUNIT_EXPECT_EQ(test, req.mask.dst_ip[3], 0xff);
	KUNIT_EXPECT_EQ(test, req.mask.dst_ip[4], 0);
	KUNIT_EXPECT_EQ(test, req.value.proto, 17);
	KUNIT_EXPECT_EQ(test, req.value.tos, 0x12);
	KUNIT_EXPECT_EQ(test, req.value.ttl, 64);
	KUNIT_EXPECT_EQ(test, req.value.ip_flags, VIRTIO_RDMA_FLOW_DF);
	KUNIT_EXPECT_EQ(test, req.mask.ip_flags, VIRTIO_RDMA_FLOW_DF | VIRTIO_RDMA_FLOW_MF);
	KUNIT_EXPECT_EQ(test, ntohs(req.value.src_port), 0);
	KUNIT_EXPECT_EQ(test, ntohs(req.value.dst_port), 4791);
	expect_layers(test, &req, VIRTIO_RDMA_FLOW_IPV4 | VIRTIO_RDMA_FLOW_UDP);
}

static void flow_ipv6_tcp(struct kunit *test)
{
	struct flow *flow = flow_new(test);
	struct ib_flow_spec_tcp_udp *tcp = add_ports(flow, IB_FLOW_SPEC_TCP);
	struct ib_flow_spec_ipv6 *ip = add_ipv6(flow);
	struct virtio_rdma_cmd_create_flow req;

	memset(&ip->mask, 0xff, sizeof(ip->mask));
	ip->val.src_ip[15] = 1;
	ip->val.dst_ip[0] = 0xfd;
	ip->val.flow_label = htonl(0x12345);
	ip->val.next_hdr = 6;
	ip->val.traffic_class = 7;
	ip->val.hop_limit = 8;
	tcp->val.src_port = htons(80);
	tcp->mask.src_port = htons(0xff00);
	req = compiled(test, flow);
	KUNIT_EXPECT_EQ(test, req.value.src_ip[15], 1);
	KUNIT_EXPECT_EQ(test, req.value.dst_ip[0], 0xfd);
	KUNIT_EXPECT_EQ(test, ntohl(req.value.flow_label), 0x12345);
	KUNIT_EXPECT_EQ(test, req.value.proto, 6);
	KUNIT_EXPECT_EQ(test, req.value.tos, 7);
	KUNIT_EXPECT_EQ(test, req.value.ttl, 8);
	KUNIT_EXPECT_EQ(test, ntohs(req.mask.src_port), 0xff00);
	KUNIT_EXPECT_EQ(test, ntohs(req.value.src_port), 0);
	expect_layers(test, &req, VIRTIO_RDMA_FLOW_IPV6 | VIRTIO_RDMA_FLOW_TCP);
}

static void flow_types(struct kunit *test)
{
	static const u8 types[][2] = {
		{ IB_FLOW_ATTR_NORMAL, VIRTIO_RDMA_FLOW_NORMAL },
		{ IB_FLOW_ATTR_ALL_DEFAULT, VIRTIO_RDMA_FLOW_ALL_DEFAULT },
		{ IB_FLOW_ATTR_MC_DEFAULT, VIRTIO_RDMA_FLOW_MC_DEFAULT },
		{ IB_FLOW_ATTR_SNIFFER, VIRTIO_RDMA_FLOW_SNIFFER },
	};
	struct virtio_rdma_cmd_create_flow req;
	struct flow *flow = flow_new(test);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		flow->attr->type = types[i][0];
		KUNIT_EXPECT_EQ(test, compiled(test, flow).type, types[i][1]);
	}
	flow->attr->type = IB_FLOW_ATTR_SNIFFER + 1;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EOPNOTSUPP);
	/* The others look for nothing. */
	add_eth(flow);
	flow->attr->type = IB_FLOW_ATTR_SNIFFER;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EINVAL);
	flow->attr->type = IB_FLOW_ATTR_NORMAL;
	flow->attr->flags = IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	KUNIT_EXPECT_EQ(test, compiled(test, flow).flags, VIRTIO_RDMA_FLOW_DONT_TRAP);
	flow_add(flow, IB_FLOW_SPEC_ACTION_DROP, sizeof(struct ib_flow_spec_action_drop));
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EINVAL);
	flow = flow_new(test);
	flow->attr->type = IB_FLOW_ATTR_SNIFFER;
	flow->attr->flags = IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EINVAL);
	flow->attr->type = IB_FLOW_ATTR_NORMAL;
	flow->attr->flags = IB_FLOW_ATTR_FLAGS_EGRESS;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EOPNOTSUPP);
}

static void flow_actions(struct kunit *test)
{
	struct virtio_rdma_cmd_create_flow req;
	struct flow *flow = flow_new(test);

	flow_add(flow, IB_FLOW_SPEC_ACTION_DROP, sizeof(struct ib_flow_spec_action_drop));
	KUNIT_EXPECT_EQ(test, compiled(test, flow).flags, VIRTIO_RDMA_FLOW_DROP);
	flow_add(flow, IB_FLOW_SPEC_ACTION_TAG, sizeof(struct ib_flow_spec_action_tag));
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EOPNOTSUPP);
}

/* Headers that exclude each other, are there twice, or are not known. */
static void flow_refused(struct kunit *test)
{
	static const u32 pairs[][2] = {
		{ IB_FLOW_SPEC_ETH, IB_FLOW_SPEC_ETH },
		{ IB_FLOW_SPEC_IPV4, IB_FLOW_SPEC_IPV6 },
		{ IB_FLOW_SPEC_TCP, IB_FLOW_SPEC_UDP },
	};
	struct virtio_rdma_cmd_create_flow req;
	struct flow *flow;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		flow = flow_new(test);
		flow_add(flow, pairs[i][0], sizeof(union ib_flow_spec));
		compiled(test, flow);
		flow_add(flow, pairs[i][1], sizeof(union ib_flow_spec));
		KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EINVAL);
	}
	flow = flow_new(test);
	flow_add(flow, IB_FLOW_SPEC_ETH | IB_FLOW_SPEC_INNER, sizeof(struct ib_flow_spec_eth));
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EOPNOTSUPP);
	flow = flow_new(test);
	flow_add(flow, IB_FLOW_SPEC_ETH, sizeof(struct ib_flow_spec_eth) - 1);
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req), -EINVAL);
}

static struct kunit_case flow_cases[] = {
	KUNIT_CASE(flow_ethernet),
	KUNIT_CASE(flow_ipv4_udp),
	KUNIT_CASE(flow_ipv6_tcp),
	KUNIT_CASE(flow_types),
	KUNIT_CASE(flow_actions),
	KUNIT_CASE(flow_refused),
	{}
};

static struct kunit_suite flow_suite = {
	.name = "virtio_roce_flow",
	.test_cases = flow_cases,
};

kunit_test_suite(flow_suite);
