// SPDX-License-Identifier: GPL-2.0
/*
 * Flow rules of the core, as the device takes them; their counters and tags.
 */
#include <kunit/test.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_flow.h"
#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
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
	struct vroce_flow_extra extra;

	KUNIT_ASSERT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), 0);
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
	struct vroce_flow_extra extra;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		flow->attr->type = types[i][0];
		KUNIT_EXPECT_EQ(test, compiled(test, flow).type, types[i][1]);
	}
	flow->attr->type = IB_FLOW_ATTR_SNIFFER + 1;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EOPNOTSUPP);
	/* The others look for nothing. */
	add_eth(flow);
	flow->attr->type = IB_FLOW_ATTR_SNIFFER;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EINVAL);
	flow->attr->type = IB_FLOW_ATTR_NORMAL;
	flow->attr->flags = IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	KUNIT_EXPECT_EQ(test, compiled(test, flow).flags, VIRTIO_RDMA_FLOW_DONT_TRAP);
	flow_add(flow, IB_FLOW_SPEC_ACTION_DROP, sizeof(struct ib_flow_spec_action_drop));
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EINVAL);
	flow = flow_new(test);
	flow->attr->type = IB_FLOW_ATTR_SNIFFER;
	flow->attr->flags = IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EINVAL);
	flow->attr->type = IB_FLOW_ATTR_NORMAL;
	flow->attr->flags = IB_FLOW_ATTR_FLAGS_EGRESS;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EOPNOTSUPP);
}

static void add_tag(struct flow *flow, u32 tag)
{
	struct ib_flow_spec_action_tag *action =
		flow_add(flow, IB_FLOW_SPEC_ACTION_TAG, sizeof(*action));

	action->tag_id = tag;
}

static void add_counters(struct flow *flow, struct ib_counters *counters)
{
	struct ib_flow_spec_action_count *action =
		flow_add(flow, IB_FLOW_SPEC_ACTION_COUNT, sizeof(*action));

	action->counters = counters;
}

static void flow_actions(struct kunit *test)
{
	struct virtio_rdma_cmd_create_flow req;
	struct flow *flow = flow_new(test);
	struct ib_counters counters;
	struct vroce_flow_extra extra;

	flow_add(flow, IB_FLOW_SPEC_ACTION_DROP, sizeof(struct ib_flow_spec_action_drop));
	KUNIT_EXPECT_EQ(test, compiled(test, flow).flags, VIRTIO_RDMA_FLOW_DROP);
	KUNIT_ASSERT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), 0);
	KUNIT_EXPECT_EQ(test, extra.tag, 0);
	KUNIT_EXPECT_NULL(test, extra.counters);
	add_tag(flow, 0x87654321);
	add_counters(flow, &counters);
	KUNIT_ASSERT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), 0);
	KUNIT_EXPECT_EQ(test, extra.tag, 0x87654321);
	KUNIT_EXPECT_PTR_EQ(test, extra.counters, &counters);
	/* They look for nothing, so that any rule may have them, once each. */
	flow->attr->type = IB_FLOW_ATTR_ALL_DEFAULT;
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), 0);
	add_tag(flow, 1);
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EINVAL);
	flow = flow_new(test);
	add_counters(flow, &counters);
	add_counters(flow, &counters);
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EINVAL);
	flow = flow_new(test);
	flow_add(flow, IB_FLOW_SPEC_ACTION_HANDLE, sizeof(struct ib_flow_spec_action_handle));
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EOPNOTSUPP);
}

/* ----- counters ----- */

/**
 * struct raw - a RAW_PACKET QP of a device, as far as rules go
 * @mock: function
 * @ibdev: RDMA device over it
 * @qp: QP
 * @counters: counters
 */
struct raw {
	struct mock *mock;
	struct ib_device *ibdev;
	struct vroce_qp qp;
	struct vroce_flow_counters counters;
};

static struct raw *raw_up(struct kunit *test, u64 caps)
{
	struct raw *raw = kunit_kzalloc(test, sizeof(*raw), GFP_KERNEL);
	struct mock *mock = mock_device(test, 64);

	KUNIT_ASSERT_NOT_NULL(test, raw);
	mock_make_direct(mock);
	mock->query_device.device_cap_flags |=
		cpu_to_le64(VIRTIO_IB_DEVICE_RAW_PACKET | VIRTIO_IB_DEVICE_FLOW | caps);
	mock->query_device.max_flow = cpu_to_le32(MOCK_FLOWS);
	raw->mock = mock;
	raw->ibdev = mock_start(mock);
	raw->qp.ibqp.device = raw->ibdev;
	raw->qp.ibqp.qp_type = IB_QPT_RAW_PACKET;
	raw->qp.ibqp.qp_num = MOCK_QPS;
	mock->qps[MOCK_QPS].exists = true;
	return raw;
}

static void raw_down(struct raw *raw)
{
	raw->mock->qps[MOCK_QPS].exists = false;
	mock_expect_clean(raw->mock);
}

/* Does what the core does around it. */
static struct ib_flow *raw_flow(struct raw *raw, struct flow *flow)
{
	struct ib_qp *qp = &raw->qp.ibqp;
	struct ib_flow *ibflow = raw->ibdev->ops.create_flow(qp, flow->attr, NULL);

	if (!IS_ERR(ibflow)) {
		ibflow->device = raw->ibdev;
		ibflow->qp = qp;
	}
	return ibflow;
}

static void expect_read(struct kunit *test, struct raw *raw, u64 packets, u64 bytes)
{
	u64 values[VIRTIO_ROCE_FLOW_COUNTERS] = {};
	struct ib_counters_read_attr attr = {
		.counters_buff = values,
		.ncounters = ARRAY_SIZE(values),
	};

	KUNIT_EXPECT_EQ(test, 0, raw->ibdev->ops.read_counters(&raw->counters.ibcounters,
							       &attr, NULL));
	KUNIT_EXPECT_EQ(test, values[VIRTIO_ROCE_FLOW_PACKETS], packets);
	KUNIT_EXPECT_EQ(test, values[VIRTIO_ROCE_FLOW_BYTES], bytes);
}

static void counters_up(struct raw *raw)
{
	struct ib_counters *ibcounters = &raw->counters.ibcounters;

	ibcounters->device = raw->ibdev;
	KUNIT_ASSERT_EQ(raw->mock->test, 0, raw->ibdev->ops.create_counters(ibcounters, NULL));
}

/* Counters are the sum of their rules, also of those that are gone. */
static void flow_counters(struct kunit *test)
{
	struct raw *raw = raw_up(test, VIRTIO_IB_DEVICE_FLOW_COUNT);
	struct ib_counters *ibcounters = &raw->counters.ibcounters;
	struct mock_flow *made = raw->mock->flows;
	struct flow *flow = flow_new(test);
	u64 values[VIRTIO_ROCE_FLOW_COUNTERS];
	struct ib_counters_read_attr few = { .counters_buff = values, .ncounters = 1 };
	struct ib_counters_read_attr both = { .counters_buff = values, .ncounters = 2 };
	struct ib_flow *first, *second;

	counters_up(raw);
	add_counters(flow, ibcounters);
	first = raw_flow(raw, flow);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	KUNIT_EXPECT_EQ(test, made[0].tag, 0);
	KUNIT_EXPECT_EQ(test, mock_count(raw->mock, CMD(CREATE_FLOW_LONG)), 0);
	add_tag(flow, 0xdeadbeef);
	second = raw_flow(raw, flow);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, second);
	KUNIT_EXPECT_EQ(test, made[1].tag, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, made[1].qpn, MOCK_QPS);

	made[0].packets = 3;
	made[0].bytes = 300;
	made[1].packets = 1;
	made[1].bytes = 1ULL << 40;
	expect_read(test, raw, 4, 300 + (1ULL << 40));
	KUNIT_EXPECT_EQ(test, 0, raw->ibdev->ops.destroy_flow(second));
	expect_read(test, raw, 4, 300 + (1ULL << 40));
	made[0].packets = 4;
	expect_read(test, raw, 5, 300 + (1ULL << 40));
	KUNIT_EXPECT_EQ(test, -EINVAL, raw->ibdev->ops.read_counters(ibcounters, &few, NULL));
	raw->mock->fail[CMD(QUERY_FLOW)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -EIO, raw->ibdev->ops.read_counters(ibcounters, &both, NULL));
	/* Without an answer it goes nevertheless. */
	KUNIT_EXPECT_EQ(test, 0, raw->ibdev->ops.destroy_flow(first));
	raw->mock->fail[CMD(QUERY_FLOW)] = 0;
	expect_read(test, raw, 1, 1ULL << 40);
	KUNIT_EXPECT_EQ(test, 0, raw->ibdev->ops.destroy_counters(ibcounters));
	raw_down(raw);
}

/* A device without the capability is not asked. */
static void flow_no_counters(struct kunit *test)
{
	struct raw *raw = raw_up(test, 0);
	struct flow *flow = flow_new(test);
	struct ib_flow *ibflow;

	KUNIT_EXPECT_NULL(test, raw->ibdev->ops.create_counters);
	KUNIT_EXPECT_NULL(test, raw->ibdev->ops.read_counters);
	add_tag(flow, 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(raw_flow(raw, flow)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock_count(raw->mock, CMD(CREATE_FLOW_LONG)), 0);
	ibflow = raw_flow(raw, flow_new(test));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ibflow);
	KUNIT_EXPECT_EQ(test, 0, raw->ibdev->ops.destroy_flow(ibflow));
	KUNIT_EXPECT_EQ(test, mock_count(raw->mock, CMD(QUERY_FLOW)), 0);
	raw_down(raw);
}

/* A rule that the device refuses counts nowhere. */
static void flow_refused_counters(struct kunit *test)
{
	struct raw *raw = raw_up(test, VIRTIO_IB_DEVICE_FLOW_COUNT);
	struct flow *flow = flow_new(test);

	counters_up(raw);
	add_counters(flow, &raw->counters.ibcounters);
	raw->mock->fail[CMD(CREATE_FLOW)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, PTR_ERR(raw_flow(raw, flow)), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, list_empty(&raw->counters.flows));
	expect_read(test, raw, 0, 0);
	KUNIT_EXPECT_EQ(test, mock_count(raw->mock, CMD(QUERY_FLOW)), 0);
	raw_down(raw);
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
	struct vroce_flow_extra extra;
	struct flow *flow;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		flow = flow_new(test);
		flow_add(flow, pairs[i][0], sizeof(union ib_flow_spec));
		compiled(test, flow);
		flow_add(flow, pairs[i][1], sizeof(union ib_flow_spec));
		KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EINVAL);
	}
	flow = flow_new(test);
	flow_add(flow, IB_FLOW_SPEC_ETH | IB_FLOW_SPEC_INNER, sizeof(struct ib_flow_spec_eth));
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EOPNOTSUPP);
	flow = flow_new(test);
	flow_add(flow, IB_FLOW_SPEC_ETH, sizeof(struct ib_flow_spec_eth) - 1);
	KUNIT_EXPECT_EQ(test, vroce_flow_compile(flow->attr, &req, &extra), -EINVAL);
}

static struct kunit_case flow_cases[] = {
	KUNIT_CASE(flow_ethernet),
	KUNIT_CASE(flow_ipv4_udp),
	KUNIT_CASE(flow_ipv6_tcp),
	KUNIT_CASE(flow_types),
	KUNIT_CASE(flow_actions),
	KUNIT_CASE(flow_refused),
	KUNIT_CASE(flow_counters),
	KUNIT_CASE(flow_no_counters),
	KUNIT_CASE(flow_refused_counters),
	{}
};

static struct kunit_suite flow_suite = {
	.name = "virtio_roce_flow",
	.test_cases = flow_cases,
};

kunit_test_suite(flow_suite);
