// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Theory of operation
 *
 * A frame is never stored: it goes from the transmit buffers of its sender to
 * the receive buffers of those whom the switch gives it to while the sender's
 * transmit queue is polled, one copy each, and is dropped where there is no room.
 * It travels with its struct virtio_net_hdr, so that checksum and segmentation
 * are left undone on the way to a guest that takes them so.
 *
 * Transmit and control queue are looked after by a poller; their doorbells are
 * asked for only while the loop sleeps, that of the receive queue never.
 *
 * A control command is copied out of guest memory, then looked up in a table by
 * class and command, which also tells the feature that it belongs to and what
 * it is long.
 *
 * RDMA runs while the control queue is started, the only queue that it cannot do
 * without.  When that is stopped, the guest has been paused or has reset the
 * function; the front-end may know which only later.  In both cases RDMA must
 * not touch the guest's memory any more, so it is not polled, and is shown a map
 * without memory until the control queue is started again.
 */

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "ether/filter.h"
#include "base/log.h"
#include "function/function.h"
#include "ether/offload.h"
#include "uapi/virtio_net_roce.h"

/* One pair of Ethernet queues: the N of virtio_net_roce.h is 1. */
enum {
	NET_RX,
	NET_TX,
	NET_CTRL,
	NET_QUEUES,
};

/* With VIRTIO_F_VERSION_1, which we insist on, the long header is used always. */
#define NET_HDR_LEN		sizeof(struct virtio_net_hdr_v1)
#define NET_TAG_LEN		4

#define NET_TX_BURST		64
#define NET_CTRL_BURST		16
#define NET_RX_MERGE_MAX	64

/* REG_USER_MR of 16 GiB has 32 MiB of addresses. */
#define NET_CTRL_MAX		(64u << 20)

#define BIT(n)			(1ULL << (n))

#define NET_FEATURES \
	(BIT(VIRTIO_F_VERSION_1) | \
	 BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
	 BIT(VIRTIO_RING_F_EVENT_IDX) | \
	 BIT(VIRTIO_NET_F_CSUM) | \
	 BIT(VIRTIO_NET_F_GUEST_CSUM) | \
	 BIT(VIRTIO_NET_F_CTRL_GUEST_OFFLOADS) | \
	 BIT(VIRTIO_NET_F_MTU) | \
	 BIT(VIRTIO_NET_F_MAC) | \
	 BIT(VIRTIO_NET_F_GUEST_TSO4) | \
	 BIT(VIRTIO_NET_F_GUEST_TSO6) | \
	 BIT(VIRTIO_NET_F_GUEST_ECN) | \
	 BIT(VIRTIO_NET_F_HOST_TSO4) | \
	 BIT(VIRTIO_NET_F_HOST_TSO6) | \
	 BIT(VIRTIO_NET_F_HOST_ECN) | \
	 BIT(VIRTIO_NET_F_MRG_RXBUF) | \
	 BIT(VIRTIO_NET_F_STATUS) | \
	 BIT(VIRTIO_NET_F_CTRL_VQ) | \
	 BIT(VIRTIO_NET_F_CTRL_RX) | \
	 BIT(VIRTIO_NET_F_CTRL_VLAN) | \
	 BIT(VIRTIO_NET_F_CTRL_RX_EXTRA) | \
	 BIT(VIRTIO_NET_F_CTRL_MAC_ADDR) | \
	 BIT(VIRTIO_NET_F_ROCE))

/* Those that a guest may turn off and on again. */
#define NET_GUEST_OFFLOADS \
	(BIT(VIRTIO_NET_F_GUEST_CSUM) | \
	 BIT(VIRTIO_NET_F_GUEST_TSO4) | \
	 BIT(VIRTIO_NET_F_GUEST_TSO6) | \
	 BIT(VIRTIO_NET_F_GUEST_ECN))

struct net_config_space {
	struct virtio_net_config net;
	struct virtio_net_roce_config roce;
} __attribute__((packed));
_Static_assert(offsetof(struct net_config_space, roce) ==
	       VIRTIO_NET_ROCE_CONFIG_OFFSET, "RoCE configuration is misplaced");
_Static_assert(sizeof(struct net_config_space) == VIRTIO_NET_ROCE_CONFIG_SIZE,
	       "configuration space has a wrong size");

static const struct guest_mem no_memory;

/**
 * struct net - one guest's function
 * @loop:	event loop
 * @sw:		switch
 * @port:	our port of it
 * @poller:	looks after the transmit, control and RDMA queues
 * @nic:	RDMA side
 * @name:	for messages
 * @config:	what the operator configured; its name is not used
 * @fe_ops:	front-end, or NULL
 * @fe:		for @fe_ops
 * @features:	negotiated
 * @tx_offloads: what the guest may leave undone, by &enum offload_bit
 * @link_up:	the cable is plugged in
 * @awake:	the loop is awake
 * @filter:	what the guest wants to receive; has its present address
 * @vq:		Ethernet and control queues; NULL while not started
 * @mem:	memory map
 * @stats:	counters
 * @out:	buffer being read: frame or control command
 * @first:	first buffer of a frame being received
 * @more:	another one of it
 */
struct net {
	struct loop *loop;
	struct l2_switch *sw;
	struct switch_port port;
	struct loop_poller poller;
	struct nic *nic;
	char name[64];
	struct net_config config;
	const struct fe_ops *fe_ops;
	void *fe;
	uint64_t features;
	unsigned int tx_offloads;
	bool link_up;
	bool awake;
	struct filter filter;
	struct virtq *vq[NET_QUEUES];
	const struct guest_mem *mem;
	struct net_stats stats;
	struct virtq_elem out;
	struct virtq_elem first;
	struct virtq_elem more;
};

static bool net_has(const struct net *net, unsigned int feature)
{
	return net->features & BIT(feature);
}

/* A driver that knows nothing of RoCE may acknowledge it as GUEST_USO6. */
static bool net_has_roce(const struct net *net)
{
	return net_has(net, VIRTIO_NET_F_ROCE) &&
	       net_has(net, VIRTIO_NET_F_CTRL_VQ);
}

static bool net_roce_runs(const struct net *net)
{
	return net->vq[NET_CTRL];
}

static size_t net_frame_max(const struct net *net)
{
	return (size_t)net->config.mtu + ETH_HLEN + NET_TAG_LEN;
}

/* ------------------------------------------------------------------------- */
/* Ethernet                                                                  */
/* ------------------------------------------------------------------------- */

/* Writes the header of a frame that fills @n buffers into the first of them. */
static void net_rx_header(struct net *net, const struct frame *frame,
			  unsigned int n)
{
	const struct virtq_elem *elem = &net->first;
	struct virtio_net_hdr_v1 hdr = {
		.flags = net->port.offloads & OFFLOAD_CSUM ?
			 frame->hdr.flags : 0,
		.gso_type = frame->hdr.gso_type,
		.hdr_len = frame->hdr.hdr_len,
		.gso_size = frame->hdr.gso_size,
		.csum_start = frame->hdr.csum_start,
		.csum_offset = frame->hdr.csum_offset,
		.num_buffers = htole16(n),
	};

	iov_from_buf(&elem->iov[elem->out_n], elem->in_n, 0, &hdr, sizeof(hdr));
}

/*
 * Puts a frame into as many buffers as it needs.  The guest sees none of them
 * before all are filled; if they do not suffice, all are put back.
 */
static bool net_rx(struct net *net, const struct frame *frame)
{
	unsigned int max = net_has(net, VIRTIO_NET_F_MRG_RXBUF) ?
			   NET_RX_MERGE_MAX : 1;
	const size_t total = NET_HDR_LEN + frame->len;
	struct virtq_used used[NET_RX_MERGE_MAX];
	struct virtq *vq = net->vq[NET_RX];
	struct virtq_elem *elem;
	size_t done = 0, part, skip;
	unsigned int n = 0;

	while (done < total) {
		elem = n ? &net->more : &net->first;
		if (n == max || virtq_pop(vq, elem) <= 0)
			goto err_unpop;
		if (elem->in_len < NET_HDR_LEN) {
			virtq_break(vq, "receive buffer without room for a header");
			return false;
		}
		part = elem->in_len < total - done ? elem->in_len : total - done;
		skip = n ? 0 : NET_HDR_LEN;
		iov_copy(&elem->iov[elem->out_n], elem->in_n, skip,
			 frame->iov, frame->iov_n,
			 frame->off + done + skip - NET_HDR_LEN, part - skip);
		used[n].head = elem->head;
		used[n].len = part;
		done += part;
		n++;
	}
	net_rx_header(net, frame, n);
	virtq_push_many(vq, used, n);
	return true;

err_unpop:
	while (n--)
		virtq_unpop(vq);
	return false;
}

/* A frame that is still to be segmented is no RoCE packet. */
static bool net_roce_takes(struct net *net, const struct frame *frame)
{
	return net_roce_runs(net) && net_has_roce(net) &&
	       frame->hdr.gso_type == VIRTIO_NET_HDR_GSO_NONE &&
	       nic_frame(net->nic, frame->iov, frame->iov_n, frame->off,
			 frame->len);
}

static void net_deliver(void *arg, const struct frame *frame)
{
	struct net *net = arg;

	if (net->link_up && net_roce_takes(net, frame))
		return;
	if (!net->vq[NET_RX] || !net->link_up)
		return;
	if (!filter_pass(&net->filter, frame))
		net->stats.rx_filtered++;
	else if (frame->wire_len <= net_frame_max(net) && net_rx(net, frame))
		net->stats.rx++;
	else
		net->stats.rx_dropped++;
}

/* ------------------------------------------------------------------------- */
/* RDMA by the port                                                          */
/* ------------------------------------------------------------------------- */

static bool net_eth_send(void *arg, void *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct net *net = arg;
	struct frame frame;

	if (!net->link_up || frame_init(&frame, &iov, 1, 0, len))
		return false;
	switch_send(net->sw, &net->port, &frame);
	return true;
}

static const uint8_t *net_eth_mac(void *arg)
{
	struct net *net = arg;

	return net->filter.mac;
}

static uint32_t net_eth_mtu(void *arg)
{
	struct net *net = arg;

	return net->config.mtu;
}

static const struct nic_eth net_eth = {
	.send = net_eth_send,
	.mac = net_eth_mac,
	.mtu = net_eth_mtu,
};

static void net_flush(void *arg)
{
	struct net *net = arg;

	if (net->vq[NET_RX])
		virtq_notify(net->vq[NET_RX]);
}

/**
 * struct net_offload - a feature and what it lets be left undone
 * @guest:	VIRTIO_NET_F_GUEST_…: the guest takes it undone
 * @host:	the guest may leave it undone
 * @offload:	&enum offload_bit
 */
struct net_offload {
	unsigned int guest;
	unsigned int host;
	unsigned int offload;
};

static const struct net_offload net_offloads[] = {
	{ VIRTIO_NET_F_GUEST_CSUM, VIRTIO_NET_F_CSUM, OFFLOAD_CSUM },
	{ VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_HOST_TSO4, OFFLOAD_TSO4 },
	{ VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_HOST_TSO6, OFFLOAD_TSO6 },
	{ VIRTIO_NET_F_GUEST_ECN, VIRTIO_NET_F_HOST_ECN, OFFLOAD_ECN },
};

/* What the guest takes undone, if it takes what VIRTIO_NET_F_GUEST_… say. */
static void net_rx_offloads(struct net *net, uint64_t features)
{
	const struct net_offload *row = net_offloads;
	unsigned int i;

	net->port.offloads = 0;
	for (i = 0; i < sizeof(net_offloads) / sizeof(*row); i++, row++)
		if (features & BIT(row->guest))
			net->port.offloads |= row->offload;
}

static void net_offloads_negotiated(struct net *net)
{
	const struct net_offload *row = net_offloads;
	unsigned int i;

	net_rx_offloads(net, net->features);
	net->tx_offloads = 0;
	for (i = 0; i < sizeof(net_offloads) / sizeof(*row); i++, row++)
		if (net_has(net, row->host))
			net->tx_offloads |= row->offload;
}

/* Sends what stands in @out; false if that is no frame that we can send. */
static bool net_tx(struct net *net)
{
	const struct virtq_elem *elem = &net->out;
	struct virtio_net_hdr hdr;
	struct frame frame;

	if (elem->out_len < NET_HDR_LEN)
		return false;
	iov_to_buf(elem->iov, elem->out_n, 0, &hdr, sizeof(hdr));
	hdr.flags &= VIRTIO_NET_HDR_F_NEEDS_CSUM;
	if (frame_init(&frame, elem->iov, elem->out_n, NET_HDR_LEN,
		       elem->out_len - NET_HDR_LEN) ||
	    offload_init(&frame, &hdr) ||
	    (offload_needs(&frame) & ~net->tx_offloads) ||
	    frame.wire_len > net_frame_max(net))
		return false;

	if (net->link_up)
		switch_send(net->sw, &net->port, &frame);
	return true;
}

static bool net_poll_tx(struct net *net)
{
	struct virtq *vq = net->vq[NET_TX];
	unsigned int n = 0;

	while (vq && n < NET_TX_BURST && virtq_pop(vq, &net->out) > 0) {
		if (net_tx(net))
			net->stats.tx++;
		else
			net->stats.tx_dropped++;
		virtq_push(vq, net->out.head, 0);
		n++;
	}
	if (!n)
		return false;
	switch_flush(net->sw);
	virtq_notify(vq);
	return true;
}

/* ------------------------------------------------------------------------- */
/* Control queue                                                             */
/* ------------------------------------------------------------------------- */

/**
 * struct net_ctrl - a control command being carried out
 * @hdr:	class and command
 * @req:	copy of the request
 * @len:	its bytes
 * @rsp_size:	room for a response
 * @rsp_len:	bytes of it
 * @rsp:	response
 */
struct net_ctrl {
	struct virtio_net_ctrl_hdr hdr;
	const uint8_t *req;
	size_t len;
	size_t rsp_size;
	size_t rsp_len;
	uint8_t rsp[NIC_RSP_MAX] __attribute__((aligned(8)));
};

static uint8_t ctrl_rx_mode(struct net *net, struct net_ctrl *ctrl)
{
	filter_set_mode(&net->filter, ctrl->hdr.cmd, ctrl->req[0]);
	return VIRTIO_NET_OK;
}

static uint8_t ctrl_mac_table(struct net *net, struct net_ctrl *ctrl)
{
	return filter_set_macs(&net->filter, ctrl->req, ctrl->len) ?
	       VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrl_mac_addr(struct net *net, struct net_ctrl *ctrl)
{
	if (ctrl->req[0] & 1)
		return VIRTIO_NET_ERR;
	memcpy(net->filter.mac, ctrl->req, ETH_ALEN);
	return VIRTIO_NET_OK;
}

static uint8_t ctrl_vlan(struct net *net, struct net_ctrl *ctrl)
{
	uint16_t vid;

	memcpy(&vid, ctrl->req, sizeof(vid));
	return filter_set_vlan(&net->filter, le16toh(vid),
			       ctrl->hdr.cmd == VIRTIO_NET_CTRL_VLAN_ADD) ?
	       VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrl_guest_offloads(struct net *net, struct net_ctrl *ctrl)
{
	uint64_t offloads;

	memcpy(&offloads, ctrl->req, sizeof(offloads));
	offloads = le64toh(offloads);
	if (offloads & ~(net->features & NET_GUEST_OFFLOADS))
		return VIRTIO_NET_ERR;
	net_rx_offloads(net, offloads);
	return VIRTIO_NET_OK;
}

static uint8_t ctrl_roce(struct net *net, struct net_ctrl *ctrl)
{
	return nic_command(net->nic, ctrl->hdr.cmd, ctrl->req, ctrl->len,
			   ctrl->rsp, ctrl->rsp_size, &ctrl->rsp_len);
}

/**
 * struct net_ctrl_row - a control command, or a run of them
 * @class:	its class
 * @first:	first command of the run
 * @last:	last one
 * @feature:	feature that must have been negotiated
 * @min:	bytes of a request, at least
 * @max:	bytes of a request, at most
 * @fn:		carries it out and returns the ack
 */
struct net_ctrl_row {
	uint8_t class;
	uint8_t first;
	uint8_t last;
	uint8_t feature;
	size_t min;
	size_t max;
	uint8_t (*fn)(struct net *net, struct net_ctrl *ctrl);
};

static const struct net_ctrl_row net_ctrl_table[] = {
	{
		.class = VIRTIO_NET_CTRL_RX,
		.first = VIRTIO_NET_CTRL_RX_PROMISC,
		.last = VIRTIO_NET_CTRL_RX_ALLMULTI,
		.feature = VIRTIO_NET_F_CTRL_RX,
		.min = 1,
		.max = 1,
		.fn = ctrl_rx_mode,
	}, {
		.class = VIRTIO_NET_CTRL_RX,
		.first = VIRTIO_NET_CTRL_RX_ALLUNI,
		.last = VIRTIO_NET_CTRL_RX_NOBCAST,
		.feature = VIRTIO_NET_F_CTRL_RX_EXTRA,
		.min = 1,
		.max = 1,
		.fn = ctrl_rx_mode,
	}, {
		.class = VIRTIO_NET_CTRL_MAC,
		.first = VIRTIO_NET_CTRL_MAC_TABLE_SET,
		.last = VIRTIO_NET_CTRL_MAC_TABLE_SET,
		.feature = VIRTIO_NET_F_CTRL_RX,
		.max = SIZE_MAX,
		.fn = ctrl_mac_table,
	}, {
		.class = VIRTIO_NET_CTRL_MAC,
		.first = VIRTIO_NET_CTRL_MAC_ADDR_SET,
		.last = VIRTIO_NET_CTRL_MAC_ADDR_SET,
		.feature = VIRTIO_NET_F_CTRL_MAC_ADDR,
		.min = ETH_ALEN,
		.max = ETH_ALEN,
		.fn = ctrl_mac_addr,
	}, {
		.class = VIRTIO_NET_CTRL_VLAN,
		.first = VIRTIO_NET_CTRL_VLAN_ADD,
		.last = VIRTIO_NET_CTRL_VLAN_DEL,
		.feature = VIRTIO_NET_F_CTRL_VLAN,
		.min = sizeof(uint16_t),
		.max = sizeof(uint16_t),
		.fn = ctrl_vlan,
	}, {
		.class = VIRTIO_NET_CTRL_GUEST_OFFLOADS,
		.first = VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET,
		.last = VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET,
		.feature = VIRTIO_NET_F_CTRL_GUEST_OFFLOADS,
		.min = sizeof(uint64_t),
		.max = sizeof(uint64_t),
		.fn = ctrl_guest_offloads,
	}, {
		.class = VIRTIO_NET_CTRL_ROCE,
		.first = 0,
		.last = UINT8_MAX,
		.feature = VIRTIO_NET_F_ROCE,
		.max = SIZE_MAX,
		.fn = ctrl_roce,
	},
};

static uint8_t net_ctrl_dispatch(struct net *net, struct net_ctrl *ctrl)
{
	const struct net_ctrl_row *row;
	unsigned int i;

	for (i = 0; i < sizeof(net_ctrl_table) / sizeof(*row); i++) {
		row = &net_ctrl_table[i];
		if (row->class == ctrl->hdr.class &&
		    row->first <= ctrl->hdr.cmd && ctrl->hdr.cmd <= row->last &&
		    net_has(net, row->feature) &&
		    row->min <= ctrl->len && ctrl->len <= row->max)
			return row->fn(net, ctrl);
	}
	return VIRTIO_NET_ERR;
}

/* Carries out the command in @out; returns the ack. */
static uint8_t net_ctrl_run(struct net *net, struct net_ctrl *ctrl)
{
	const struct virtq_elem *elem = &net->out;
	uint8_t ack, *req;

	if (elem->out_len < sizeof(ctrl->hdr) ||
	    elem->out_len - sizeof(ctrl->hdr) > NET_CTRL_MAX)
		return VIRTIO_NET_ERR;
	ctrl->len = elem->out_len - sizeof(ctrl->hdr);
	req = malloc(ctrl->len ? ctrl->len : 1);
	if (!req)
		return VIRTIO_NET_ERR;

	iov_to_buf(elem->iov, elem->out_n, 0, &ctrl->hdr, sizeof(ctrl->hdr));
	iov_to_buf(elem->iov, elem->out_n, sizeof(ctrl->hdr), req, ctrl->len);
	ctrl->req = req;
	ack = net_ctrl_dispatch(net, ctrl);
	free(req);
	return ack;
}

/* Answers the command in @out: ack, response.  Returns the bytes written. */
static uint32_t net_ctrl(struct net *net)
{
	const struct virtq_elem *elem = &net->out;
	const struct iovec *in = &elem->iov[elem->out_n];
	struct net_ctrl ctrl = { 0 };
	uint8_t ack;

	if (!elem->in_len)
		return 0;
	ctrl.rsp_size = elem->in_len - sizeof(ack);
	if (ctrl.rsp_size > sizeof(ctrl.rsp))
		ctrl.rsp_size = sizeof(ctrl.rsp);

	ack = net_ctrl_run(net, &ctrl);
	iov_from_buf(in, elem->in_n, 0, &ack, sizeof(ack));
	iov_from_buf(in, elem->in_n, sizeof(ack), ctrl.rsp, ctrl.rsp_len);
	return sizeof(ack) + ctrl.rsp_len;
}

static bool net_poll_ctrl(struct net *net)
{
	struct virtq *vq = net->vq[NET_CTRL];
	unsigned int n = 0;
	uint32_t len;

	while (vq && n < NET_CTRL_BURST && virtq_pop(vq, &net->out) > 0) {
		len = net_ctrl(net);
		virtq_push(vq, net->out.head, len);
		n++;
	}
	if (!n)
		return false;
	virtq_notify(vq);
	return true;
}

/* ------------------------------------------------------------------------- */
/* Poller                                                                    */
/* ------------------------------------------------------------------------- */

static bool net_poll(void *arg)
{
	struct net *net = arg;
	bool work;

	work = net_poll_tx(net);
	work |= net_poll_ctrl(net);
	if (net_roce_runs(net) && nic_poll(net->nic)) {
		switch_flush(net->sw);
		work = true;
	}
	return work;
}

static bool net_sleep(void *arg)
{
	struct net *net = arg;
	bool work = false;

	net->awake = false;
	if (net->vq[NET_TX])
		work |= virtq_want_kick(net->vq[NET_TX], true);
	if (net->vq[NET_CTRL])
		work |= virtq_want_kick(net->vq[NET_CTRL], true);
	if (net_roce_runs(net))
		work |= nic_sleep(net->nic);
	return work;
}

static void net_wake(void *arg)
{
	struct net *net = arg;

	net->awake = true;
	if (net->vq[NET_TX])
		virtq_want_kick(net->vq[NET_TX], false);
	if (net->vq[NET_CTRL])
		virtq_want_kick(net->vq[NET_CTRL], false);
	if (net_roce_runs(net))
		nic_wake(net->nic);
}

/* ------------------------------------------------------------------------- */
/* What the front-end calls                                                  */
/* ------------------------------------------------------------------------- */

static uint64_t net_features(void *dev)
{
	(void)dev;
	return NET_FEATURES;
}

static int net_negotiated(void *dev, uint64_t features)
{
	struct net *net = dev;

	if ((features & ~NET_FEATURES) || !(features & BIT(VIRTIO_F_VERSION_1)))
		return -EINVAL;
	net->features = features;
	net_offloads_negotiated(net);
	net->filter.vlan_on = net_has(net, VIRTIO_NET_F_CTRL_VLAN);
	return 0;
}

static int net_config_read(void *dev, uint32_t off, void *buf, uint32_t len)
{
	const struct net *net = dev;
	struct net_config_space space = {
		.net = {
			.status = htole16(net->link_up ?
					  VIRTIO_NET_S_LINK_UP : 0),
			.max_virtqueue_pairs = htole16(1),
			.mtu = htole16(net->config.mtu),
			.speed = htole32(UINT32_MAX),
			.duplex = UINT8_MAX,
		},
		.roce = {
			.max_rdma_qps = htole32(net->config.limits.qps),
			.max_rdma_cqs = htole32(net->config.limits.cqs),
		},
	};

	if (off > sizeof(space) || len > sizeof(space) - off)
		return -EINVAL;
	memcpy(space.net.mac, net->filter.mac, ETH_ALEN);
	memcpy(buf, (const uint8_t *)&space + off, len);
	return 0;
}

/* Nothing in it is for a driver of VIRTIO_F_VERSION_1 to write. */
static int net_config_write(void *dev, uint32_t off, const void *buf,
			    uint32_t len)
{
	(void)dev;
	(void)off;
	(void)buf;
	(void)len;
	return -EINVAL;
}

enum net_roce_queue {
	NET_ROCE_NONE,
	NET_ROCE_CQ,
	NET_ROCE_SQ,
	NET_ROCE_RQ,
};

/* Which RoCE queue a virtqueue is, and the number of its CQ or QP. */
static enum net_roce_queue net_roce_queue(const struct net *net,
					  uint16_t index, uint32_t *number)
{
	uint32_t i = index;

	if (!net_has_roce(net) || i < NET_QUEUES)
		return NET_ROCE_NONE;
	i -= NET_QUEUES;
	if (i < net->config.limits.cqs) {
		*number = i;
		return NET_ROCE_CQ;
	}
	i -= net->config.limits.cqs;
	*number = i / 2;
	if (*number >= net->config.limits.qps)
		return NET_ROCE_NONE;
	return i % 2 ? NET_ROCE_RQ : NET_ROCE_SQ;
}

static void net_ethernet_start(struct net *net, struct virtq *vq)
{
	net->vq[vq->index] = vq;
	virtq_want_kick(vq, vq->index != NET_RX && !net->awake);
	if (vq->index != NET_CTRL)
		return;
	nic_mem_changed(net->nic, net->mem);
	if (net->awake)
		nic_wake(net->nic);
}

static void net_ethernet_stop(struct net *net, struct virtq *vq)
{
	net->vq[vq->index] = NULL;
	if (vq->index == NET_CTRL)
		nic_mem_changed(net->nic, &no_memory);
}

static void net_queue_start(void *dev, struct virtq *vq)
{
	struct net *net = dev;
	uint32_t number = 0;

	if (vq->index < NET_QUEUES) {
		net_ethernet_start(net, vq);
		return;
	}
	switch (net_roce_queue(net, vq->index, &number)) {
	case NET_ROCE_CQ:
		nic_cq_start(net->nic, number, vq);
		break;
	case NET_ROCE_SQ:
		nic_sq_start(net->nic, number, vq);
		break;
	case NET_ROCE_RQ:
		nic_rq_start(net->nic, number, vq);
		break;
	case NET_ROCE_NONE:
		break;
	}
}

static void net_queue_stop(void *dev, struct virtq *vq)
{
	struct net *net = dev;
	uint32_t number = 0;

	if (vq->index < NET_QUEUES) {
		net_ethernet_stop(net, vq);
		return;
	}
	switch (net_roce_queue(net, vq->index, &number)) {
	case NET_ROCE_CQ:
		nic_cq_stop(net->nic, number);
		break;
	case NET_ROCE_SQ:
		nic_sq_stop(net->nic, number);
		break;
	case NET_ROCE_RQ:
		nic_rq_stop(net->nic, number);
		break;
	case NET_ROCE_NONE:
		break;
	}
}

/* The poller looks at the Ethernet and control queues whoever rang. */
static void net_kick(void *dev, struct virtq *vq)
{
	struct net *net = dev;
	uint32_t number = 0;

	switch (net_roce_queue(net, vq->index, &number)) {
	case NET_ROCE_SQ:
		nic_sq_kick(net->nic, number);
		break;
	case NET_ROCE_RQ:
		nic_rq_kick(net->nic, number);
		break;
	case NET_ROCE_CQ:
	case NET_ROCE_NONE:
		break;
	}
}

static void net_mem_changed(void *dev, const struct guest_mem *mem)
{
	struct net *net = dev;

	net->mem = mem;
	if (net_roce_runs(net))
		nic_mem_changed(net->nic, mem);
}

static void net_reset(void *dev)
{
	struct net *net = dev;

	nic_reset(net->nic);
	filter_init(&net->filter, net->config.mac);
	net->features = 0;
	net_offloads_negotiated(net);
}

const struct fe_device_ops net_device_ops = {
	.features = net_features,
	.negotiated = net_negotiated,
	.config_read = net_config_read,
	.config_write = net_config_write,
	.queue_start = net_queue_start,
	.queue_stop = net_queue_stop,
	.kick = net_kick,
	.mem_changed = net_mem_changed,
	.reset = net_reset,
};

/* ------------------------------------------------------------------------- */
/* What the daemon calls                                                     */
/* ------------------------------------------------------------------------- */

struct net *net_new(struct loop *loop, struct l2_switch *sw,
		    struct fabric *fabric, const struct net_config *config)
{
	struct net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->loop = loop;
	net->sw = sw;
	net->config = *config;
	net->config.name = NULL;
	snprintf(net->name, sizeof(net->name), "%s", config->name);
	net->link_up = true;
	net->mem = &no_memory;
	filter_init(&net->filter, config->mac);

	net->nic = nic_new(loop, fabric, &config->limits, net->name);
	if (!net->nic)
		goto err_free;
	nic_mem_changed(net->nic, &no_memory);
	nic_set_eth(net->nic, &net_eth, net);

	net->port.deliver = net_deliver;
	net->port.flush = net_flush;
	net->port.arg = net;
	net->port.group = config->group;
	switch_port_add(sw, &net->port);

	net->poller.poll = net_poll;
	net->poller.sleep = net_sleep;
	net->poller.wake = net_wake;
	net->poller.arg = net;
	loop_poller_add(loop, &net->poller);
	return net;

err_free:
	free(net);
	return NULL;
}

void net_free(struct net *net)
{
	loop_poller_del(net->loop, &net->poller);
	switch_port_del(net->sw, &net->port);
	nic_free(net->nic);
	free(net);
}

void net_set_frontend(struct net *net, const struct fe_ops *ops, void *fe)
{
	net->fe_ops = ops;
	net->fe = fe;
}

void net_set_link(struct net *net, bool up)
{
	if (net->link_up == up)
		return;
	net->link_up = up;
	if (net->fe_ops)
		net->fe_ops->config_changed(net->fe);
}

bool net_link(const struct net *net)
{
	return net->link_up;
}

const uint64_t *net_rdma_counters(const struct net *net)
{
	return nic_counters(net->nic);
}

uint32_t net_num_queues(const struct nic_limits *limits)
{
	return NET_QUEUES + limits->cqs + 2 * limits->qps;
}

const struct net_stats *net_stats(const struct net *net)
{
	return &net->stats;
}
