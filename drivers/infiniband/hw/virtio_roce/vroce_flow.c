// SPDX-License-Identifier: GPL-2.0
/*
 * Flow rules: which frames RAW_PACKET QPs of processes receive.
 *
 * The core describes a rule by a list of headers, each with values and masks.  The device
 * takes all of them as one structure, and one mask of it.  The core has checked that the
 * process has CAP_NET_RAW, and destroys the rules of a process that ends.
 *
 * The device counts for each rule.  A counter of the core is the sum of all rules that were
 * made with it, also of rules that are gone.  The core keeps the counter while it has rules,
 * and lets a process read it only then.
 */
#include <linux/slab.h>

#include "vroce_caps.h"
#include "vroce_flow.h"
#include "vroce_udata.h"

/**
 * struct vroce_flow - a rule
 * @ibflow: as the core knows it
 * @handle: its handle
 * @counters: it counts there, or NULL
 * @entry: of those
 */
struct vroce_flow {
	struct ib_flow ibflow;
	u32 handle;
	struct vroce_flow_counters *counters;
	struct list_head entry;
};

/* One side of a rule: its values or its mask. */
typedef void vroce_flow_put(struct virtio_rdma_flow_match *to, const void *filter);

static void vroce_flow_put_eth(struct virtio_rdma_flow_match *to, const void *filter)
{
	const struct ib_flow_eth_filter *eth = filter;

	memcpy(to->dst_mac, eth->dst_mac, sizeof(to->dst_mac));
	memcpy(to->src_mac, eth->src_mac, sizeof(to->src_mac));
	to->ether_type = eth->ether_type;
	to->vlan_tag = eth->vlan_tag;
}

static void vroce_flow_put_ipv4(struct virtio_rdma_flow_match *to, const void *filter)
{
	const struct ib_flow_ipv4_filter *ip = filter;

	memcpy(to->src_ip, &ip->src_ip, sizeof(ip->src_ip));
	memcpy(to->dst_ip, &ip->dst_ip, sizeof(ip->dst_ip));
	to->proto = ip->proto;
	to->tos = ip->tos;
	to->ttl = ip->ttl;
	if (ip->flags & IB_IPV4_DONT_FRAG)
		to->ip_flags |= VIRTIO_RDMA_FLOW_DF;
	if (ip->flags & IB_IPV4_MORE_FRAG)
		to->ip_flags |= VIRTIO_RDMA_FLOW_MF;
}

static void vroce_flow_put_ipv6(struct virtio_rdma_flow_match *to, const void *filter)
{
	const struct ib_flow_ipv6_filter *ip = filter;

	memcpy(to->src_ip, ip->src_ip, sizeof(to->src_ip));
	memcpy(to->dst_ip, ip->dst_ip, sizeof(to->dst_ip));
	to->flow_label = ip->flow_label;
	to->proto = ip->next_hdr;
	to->tos = ip->traffic_class;
	to->ttl = ip->hop_limit;
}

static void vroce_flow_put_ports(struct virtio_rdma_flow_match *to, const void *filter)
{
	const struct ib_flow_tcp_udp_filter *ports = filter;

	to->src_port = ports->src_port;
	to->dst_port = ports->dst_port;
}

/**
 * struct vroce_flow_spec - a kind of header
 * @type: &enum ib_flow_spec_type
 * @put: writes values or mask
 * @size: of the spec
 * @val: where in it the values are
 * @mask: where in it the mask is
 * @layer: &enum virtio_rdma_flow_layer that the frame must have
 * @place: headers of the same place exclude each other
 */
struct vroce_flow_spec {
	u32 type;
	vroce_flow_put *put;
	u16 size;
	u16 val;
	u16 mask;
	u32 layer;
	u8 place;
};

static const struct vroce_flow_spec vroce_flow_specs[] = {
	{
		.type = IB_FLOW_SPEC_ETH,
		.put = vroce_flow_put_eth,
		.size = sizeof(struct ib_flow_spec_eth),
		.val = offsetof(struct ib_flow_spec_eth, val),
		.mask = offsetof(struct ib_flow_spec_eth, mask),
	},
	{
		.type = IB_FLOW_SPEC_IPV4,
		.put = vroce_flow_put_ipv4,
		.size = sizeof(struct ib_flow_spec_ipv4),
		.val = offsetof(struct ib_flow_spec_ipv4, val),
		.mask = offsetof(struct ib_flow_spec_ipv4, mask),
		.layer = VIRTIO_RDMA_FLOW_IPV4,
		.place = 1,
	},
	{
		.type = IB_FLOW_SPEC_IPV6,
		.put = vroce_flow_put_ipv6,
		.size = sizeof(struct ib_flow_spec_ipv6),
		.val = offsetof(struct ib_flow_spec_ipv6, val),
		.mask = offsetof(struct ib_flow_spec_ipv6, mask),
		.layer = VIRTIO_RDMA_FLOW_IPV6,
		.place = 1,
	},
	{
		.type = IB_FLOW_SPEC_TCP,
		.put = vroce_flow_put_ports,
		.size = sizeof(struct ib_flow_spec_tcp_udp),
		.val = offsetof(struct ib_flow_spec_tcp_udp, val),
		.mask = offsetof(struct ib_flow_spec_tcp_udp, mask),
		.layer = VIRTIO_RDMA_FLOW_TCP,
		.place = 2,
	},
	{
		.type = IB_FLOW_SPEC_UDP,
		.put = vroce_flow_put_ports,
		.size = sizeof(struct ib_flow_spec_tcp_udp),
		.val = offsetof(struct ib_flow_spec_tcp_udp, val),
		.mask = offsetof(struct ib_flow_spec_tcp_udp, mask),
		.layer = VIRTIO_RDMA_FLOW_UDP,
		.place = 2,
	},
};

static const struct vroce_flow_spec *vroce_flow_spec(u32 type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vroce_flow_specs); i++)
		if (vroce_flow_specs[i].type == type)
			return &vroce_flow_specs[i];
	return NULL;
}

/* Actions have places, too, behind those of headers. */
#define VROCE_FLOW_HEADERS	3
#define VROCE_FLOW_PLACE_TAG	3
#define VROCE_FLOW_PLACE_COUNT	4

static int vroce_flow_add_action(struct virtio_rdma_cmd_create_flow *req,
				 struct vroce_flow_extra *extra,
				 const union ib_flow_spec *from, unsigned long *places)
{
	switch (from->type) {
	case IB_FLOW_SPEC_ACTION_DROP:
		req->flags |= VIRTIO_RDMA_FLOW_DROP;
		return 0;
	case IB_FLOW_SPEC_ACTION_TAG:
		if (test_and_set_bit(VROCE_FLOW_PLACE_TAG, places))
			return -EINVAL;
		extra->tag = from->flow_tag.tag_id;
		return 0;
	case IB_FLOW_SPEC_ACTION_COUNT:
		if (test_and_set_bit(VROCE_FLOW_PLACE_COUNT, places))
			return -EINVAL;
		extra->counters = from->flow_count.counters;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int vroce_flow_add(struct virtio_rdma_cmd_create_flow *req,
			  struct vroce_flow_extra *extra,
			  const union ib_flow_spec *from, unsigned long *places)
{
	const struct vroce_flow_spec *spec = vroce_flow_spec(from->type);

	if (!spec)
		return vroce_flow_add_action(req, extra, from, places);
	if (from->size < spec->size || test_and_set_bit(spec->place, places))
		return -EINVAL;
	spec->put(&req->value, (const u8 *)from + spec->val);
	spec->put(&req->mask, (const u8 *)from + spec->mask);
	req->value.layers |= cpu_to_le32(spec->layer);
	req->mask.layers |= cpu_to_le32(spec->layer);
	return 0;
}

static const struct {
	u8 wire;
	bool valid;
} vroce_flow_types[] = {
	[IB_FLOW_ATTR_NORMAL]		= { VIRTIO_RDMA_FLOW_NORMAL, true },
	[IB_FLOW_ATTR_ALL_DEFAULT]	= { VIRTIO_RDMA_FLOW_ALL_DEFAULT, true },
	[IB_FLOW_ATTR_MC_DEFAULT]	= { VIRTIO_RDMA_FLOW_MC_DEFAULT, true },
	[IB_FLOW_ATTR_SNIFFER]		= { VIRTIO_RDMA_FLOW_SNIFFER, true },
};

/* A bit of a value outside of its mask means nothing. */
static void vroce_flow_mask(struct virtio_rdma_cmd_create_flow *req)
{
	const u8 *mask = (const u8 *)&req->mask;
	u8 *value = (u8 *)&req->value;
	size_t i;

	for (i = 0; i < sizeof(req->value); i++)
		value[i] &= mask[i];
}

/**
 * vroce_flow_compile() - a rule as the device takes it
 * @attr: rule of the core
 * @req: filled in, without QP
 * @extra: filled in
 *
 * Return: 0, -EOPNOTSUPP for what no device has, -EINVAL for what cannot be.
 */
int vroce_flow_compile(const struct ib_flow_attr *attr,
		       struct virtio_rdma_cmd_create_flow *req,
		       struct vroce_flow_extra *extra)
{
	const union ib_flow_spec *spec = (const union ib_flow_spec *)(attr + 1);
	unsigned long places = 0;
	unsigned int i;
	int err;

	*req = (struct virtio_rdma_cmd_create_flow) {
		.priority = cpu_to_le16(attr->priority),
	};
	*extra = (struct vroce_flow_extra) {};
	if ((u32)attr->type >= ARRAY_SIZE(vroce_flow_types) ||
	    !vroce_flow_types[attr->type].valid ||
	    attr->flags & ~(u32)IB_FLOW_ATTR_FLAGS_DONT_TRAP)
		return -EOPNOTSUPP;
	req->type = vroce_flow_types[attr->type].wire;
	if (attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP)
		req->flags |= VIRTIO_RDMA_FLOW_DONT_TRAP;
	for (i = 0; i < attr->num_of_specs; i++) {
		err = vroce_flow_add(req, extra, spec, &places);
		if (err)
			return err;
		spec = (const void *)spec + spec->size;
	}
	if (places & GENMASK(VROCE_FLOW_HEADERS - 1, 0) && req->type != VIRTIO_RDMA_FLOW_NORMAL)
		return -EINVAL;
	/* A frame is not both dropped and passed on, and a sniffer has a copy only. */
	if (req->flags == (VIRTIO_RDMA_FLOW_DONT_TRAP | VIRTIO_RDMA_FLOW_DROP) ||
	    (req->flags && req->type == VIRTIO_RDMA_FLOW_SNIFFER))
		return -EINVAL;
	vroce_flow_mask(req);
	/* A rule for a VLAN is for frames that have a tag. */
	if (req->mask.vlan_tag) {
		req->mask.layers |= cpu_to_le32(VIRTIO_RDMA_FLOW_VLAN);
		req->value.layers |= cpu_to_le32(VIRTIO_RDMA_FLOW_VLAN);
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_flow_compile);

static struct vroce_flow_counters *to_vcounters(struct ib_counters *ibcounters)
{
	return container_of(ibcounters, struct vroce_flow_counters, ibcounters);
}

/**
 * vroce_create_counters() - make counters, without rules
 * @ibcounters: counters
 * @attrs: of the user
 *
 * Return: 0.
 */
int vroce_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs)
{
	struct vroce_flow_counters *counters = to_vcounters(ibcounters);

	mutex_init(&counters->lock);
	INIT_LIST_HEAD(&counters->flows);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_create_counters);

/**
 * vroce_destroy_counters() - destroy counters, which have no rules
 * @ibcounters: counters
 *
 * Return: 0.
 */
int vroce_destroy_counters(struct ib_counters *ibcounters)
{
	mutex_destroy(&to_vcounters(ibcounters)->lock);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_destroy_counters);

/* Add what a rule has counted. */
static int vroce_flow_count(struct vroce_flow *flow, struct ib_device *ibdev,
			    struct vroce_flow_counts *sum)
{
	struct vroce_flow_counts counts;
	int err = vroce_cmd_query_flow(to_vdev(ibdev)->aux, flow->handle, &counts);

	if (err)
		return err;
	sum->packets += counts.packets;
	sum->bytes += counts.bytes;
	return 0;
}

/**
 * vroce_read_counters() - sum up what the rules of counters have counted
 * @ibcounters: counters
 * @attr: values, in the order of &enum virtio_roce_flow_counter
 * @attrs: of the user
 *
 * Return: 0 or a negative error.
 */
int vroce_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
			struct uverbs_attr_bundle *attrs)
{
	struct vroce_flow_counters *counters = to_vcounters(ibcounters);
	struct vroce_flow_counts sum;
	struct vroce_flow *flow;
	int err = 0;

	if (attr->ncounters != VIRTIO_ROCE_FLOW_COUNTERS)
		return -EINVAL;
	mutex_lock(&counters->lock);
	sum = counters->gone;
	/* A command for each. */
	list_for_each_entry(flow, &counters->flows, entry) {
		err = fatal_signal_pending(current) ? -EINTR :
		      vroce_flow_count(flow, ibcounters->device, &sum);
		if (err)
			break;
	}
	mutex_unlock(&counters->lock);
	attr->counters_buff[VIRTIO_ROCE_FLOW_PACKETS] = sum.packets;
	attr->counters_buff[VIRTIO_ROCE_FLOW_BYTES] = sum.bytes;
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_read_counters);

static void vroce_flow_count_here(struct vroce_flow *flow,
				  struct vroce_flow_counters *counters)
{
	mutex_lock(&counters->lock);
	flow->counters = counters;
	list_add_tail(&flow->entry, &counters->flows);
	mutex_unlock(&counters->lock);
}

/* The rule is about to go.  If the device does not answer, its frames are not counted. */
static void vroce_flow_count_gone(struct vroce_flow *flow)
{
	struct vroce_flow_counters *counters = flow->counters;

	mutex_lock(&counters->lock);
	list_del(&flow->entry);
	vroce_flow_count(flow, flow->ibflow.device, &counters->gone);
	mutex_unlock(&counters->lock);
}

static int vroce_flow_make(struct ib_qp *ibqp, struct virtio_rdma_cmd_create_flow *req,
			   u32 tag, u32 *handle)
{
	struct virtio_net_roce_aux *aux = to_vdev(ibqp->device)->aux;
	struct virtio_rdma_cmd_create_flow_long tagged = {
		.tag = cpu_to_le32(tag),
	};

	req->qpn = cpu_to_le32(ibqp->qp_num);
	if (!tag)
		return vroce_cmd_create_flow(aux, req, handle);
	tagged.flow = *req;
	return vroce_cmd_create_flow_long(aux, &tagged, handle);
}

/**
 * vroce_create_flow() - make a flow rule
 * @ibqp: QP that gets the frames
 * @attr: rule
 * @udata: of the user
 *
 * Return: rule, or error pointer.
 */
struct ib_flow *vroce_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				  struct ib_udata *udata)
{
	struct virtio_rdma_cmd_create_flow req;
	struct vroce_flow_extra extra;
	struct vroce_flow *flow;
	int err;

	err = vroce_check_udata(udata, 0);
	if (!err && (ibqp->qp_type != IB_QPT_RAW_PACKET || attr->port != 1))
		err = -EINVAL;
	if (!err)
		err = vroce_flow_compile(attr, &req, &extra);
	if (!err && (extra.tag || extra.counters) &&
	    !vroce_has_flow_count(to_vdev(ibqp->device)))
		err = -EOPNOTSUPP;
	if (err) {
		ibdev_dbg(ibqp->device, "QP %u: flow rule refused: %d\n",
			  ibqp->qp_num, err);
		return ERR_PTR(err);
	}
	flow = kzalloc(sizeof(*flow), GFP_KERNEL_ACCOUNT);
	if (!flow)
		return ERR_PTR(-ENOMEM);
	err = vroce_flow_make(ibqp, &req, extra.tag, &flow->handle);
	if (err) {
		kfree(flow);
		return ERR_PTR(err);
	}
	if (extra.counters)
		vroce_flow_count_here(flow, to_vcounters(extra.counters));
	return &flow->ibflow;
}

/**
 * vroce_destroy_flow() - destroy a flow rule
 * @ibflow: rule
 *
 * If the device refuses, the rule exists until its QP is destroyed.
 *
 * Return: 0.
 */
int vroce_destroy_flow(struct ib_flow *ibflow)
{
	struct vroce_flow *flow = container_of(ibflow, struct vroce_flow, ibflow);

	if (flow->counters)
		vroce_flow_count_gone(flow);
	vroce_cmd_destroy_flow(to_vdev(ibflow->device)->aux, flow->handle);
	kfree(flow);
	return 0;
}
