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

#include "base/log.h"
#include "base/util.h"
#include "ether/filter.h"
#include "ether/offload.h"
#include "function/function.h"
#include "uapi/virtio_net_roce.h"

/* One pair of Ethernet queues: the N of virtio_net_roce.h is 1. */
enum {
	FUNCTION_RX,
	FUNCTION_TX,
	FUNCTION_CTRL,
	FUNCTION_QUEUES,
};

/* With VIRTIO_F_VERSION_1, which we insist on, the long header is used always. */
#define FUNCTION_HDR_LEN		sizeof(struct virtio_net_hdr_v1)
#define FUNCTION_TAG_LEN		4

/* As struct virtio_net_config has them. */
#define FUNCTION_SPEED_UNKNOWN	UINT32_MAX
#define FUNCTION_DUPLEX_FULL	1
#define FUNCTION_DUPLEX_UNKNOWN	UINT8_MAX

#define FUNCTION_TX_BURST		64
#define FUNCTION_CTRL_BURST		16
#define FUNCTION_RX_MERGE_MAX	64

/* REG_USER_MR of 16 GiB has 32 MiB of addresses. */
#define FUNCTION_CTRL_MAX		(64u << 20)

/* Those that no option takes away. */
#define FUNCTION_FEATURES \
	(BIT(VIRTIO_F_VERSION_1) | \
	 BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
	 BIT(VIRTIO_RING_F_EVENT_IDX) | \
	 BIT(VIRTIO_NET_F_CSUM) | \
	 BIT(VIRTIO_NET_F_GUEST_CSUM) | \
	 BIT(VIRTIO_NET_F_CTRL_GUEST_OFFLOADS) | \
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
#define FUNCTION_GUEST_OFFLOADS \
	(BIT(VIRTIO_NET_F_GUEST_CSUM) | \
	 BIT(VIRTIO_NET_F_GUEST_TSO4) | \
	 BIT(VIRTIO_NET_F_GUEST_TSO6) | \
	 BIT(VIRTIO_NET_F_GUEST_ECN))

struct function_config_space {
	struct virtio_net_config net;
	struct virtio_net_roce_config roce;
} __attribute__((packed));
_Static_assert(offsetof(struct function_config_space, roce) ==
	       VIRTIO_NET_ROCE_CONFIG_OFFSET, "RoCE configuration is misplaced");
_Static_assert(sizeof(struct function_config_space) == VIRTIO_NET_ROCE_CONFIG_SIZE,
	       "configuration space has a wrong size");

/**
 * struct function - one guest's function
 * @loop:	event loop
 * @sw:		switch
 * @port:	our port of it
 * @poller:	looks after the transmit, control and RDMA queues
 * @rnic:	RDMA side
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
struct function {
	struct loop *loop;
	struct l2_switch *sw;
	struct switch_port port;
	struct loop_poller poller;
	struct rnic *rnic;
	char name[64];
	struct function_config config;
	const struct fe_ops *fe_ops;
	void *fe;
	uint64_t features;
	unsigned int tx_offloads;
	bool link_up;
	bool awake;
	struct filter filter;
	struct virtq *vq[FUNCTION_QUEUES];
	const struct guest_mem *mem;
	struct function_stats stats;
	struct virtq_elem out;
	struct virtq_elem first;
	struct virtq_elem more;
};

static bool function_has(const struct function *fn, unsigned int feature)
{
	return fn->features & BIT(feature);
}

/* A driver that knows nothing of RoCE may acknowledge it as GUEST_USO6. */
static bool function_has_roce(const struct function *fn)
{
	return function_has(fn, VIRTIO_NET_F_ROCE) &&
	       function_has(fn, VIRTIO_NET_F_CTRL_VQ);
}

static bool function_roce_runs(const struct function *fn)
{
	return fn->vq[FUNCTION_CTRL];
}

static size_t function_frame_max(const struct function *fn)
{
	return (size_t)fn->config.mtu + ETH_HLEN + FUNCTION_TAG_LEN;
}

/* ------------------------------------------------------------------------- */
/* Ethernet                                                                  */
/* ------------------------------------------------------------------------- */

/* Writes the header of a frame that fills @n buffers into the first of them. */
static void function_rx_header(struct function *fn, const struct frame *frame,
			       unsigned int n)
{
	const struct virtq_elem *elem = &fn->first;
	struct virtio_net_hdr_v1 hdr = {
		.flags = fn->port.offloads & OFFLOAD_CSUM ?
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
static bool function_rx(struct function *fn, const struct frame *frame)
{
	unsigned int max = function_has(fn, VIRTIO_NET_F_MRG_RXBUF) ?
			   FUNCTION_RX_MERGE_MAX : 1;
	const size_t total = FUNCTION_HDR_LEN + frame->len;
	struct virtq_used used[FUNCTION_RX_MERGE_MAX];
	struct virtq *vq = fn->vq[FUNCTION_RX];
	struct virtq_elem *elem;
	size_t done = 0, part, skip;
	unsigned int n = 0;

	while (done < total) {
		elem = n ? &fn->more : &fn->first;
		if (n == max || virtq_pop(vq, elem) <= 0)
			goto err_unpop;
		if (elem->in_len < FUNCTION_HDR_LEN) {
			virtq_break(vq, "receive buffer without room for a header");
			return false;
		}
		part = elem->in_len < total - done ? elem->in_len : total - done;
		skip = n ? 0 : FUNCTION_HDR_LEN;
		iov_copy(&elem->iov[elem->out_n], elem->in_n, skip,
			 frame->iov, frame->iov_n,
			 frame->off + done + skip - FUNCTION_HDR_LEN, part - skip);
		used[n].head = elem->head;
		used[n].len = part;
		done += part;
		n++;
	}
	function_rx_header(fn, frame, n);
	virtq_push_many(vq, used, n);
	return true;

err_unpop:
	while (n--)
		virtq_unpop(vq);
	return false;
}

/* A frame that is still to be segmented is no RoCE packet. */
static bool function_roce_takes(struct function *fn, const struct frame *frame)
{
	return function_roce_runs(fn) && function_has_roce(fn) &&
	       frame->hdr.gso_type == VIRTIO_NET_HDR_GSO_NONE &&
	       rnic_frame(fn->rnic, frame->iov, frame->iov_n, frame->off,
			  frame->len);
}

static void function_deliver(void *arg, const struct frame *frame)
{
	struct function *fn = arg;

	if (fn->link_up && function_roce_takes(fn, frame))
		return;
	if (!fn->vq[FUNCTION_RX] || !fn->link_up)
		return;
	if (!filter_pass(&fn->filter, frame))
		fn->stats.rx_filtered++;
	else if (frame->wire_len <= function_frame_max(fn) && function_rx(fn, frame))
		fn->stats.rx++;
	else
		fn->stats.rx_dropped++;
}

/* ------------------------------------------------------------------------- */
/* RDMA by the port                                                          */
/* ------------------------------------------------------------------------- */

static bool function_eth_send(void *arg, void *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct function *fn = arg;
	struct frame frame;

	if (!fn->link_up || frame_init(&frame, &iov, 1, 0, len))
		return false;
	switch_send(fn->sw, &fn->port, &frame);
	return true;
}

static const uint8_t *function_eth_mac(void *arg)
{
	struct function *fn = arg;

	return fn->filter.mac;
}

static uint32_t function_eth_mtu(void *arg)
{
	struct function *fn = arg;

	return fn->config.mtu;
}

static const struct rnic_eth function_eth = {
	.send = function_eth_send,
	.mac = function_eth_mac,
	.mtu = function_eth_mtu,
};

static void function_flush(void *arg)
{
	struct function *fn = arg;

	if (fn->vq[FUNCTION_RX])
		virtq_notify(fn->vq[FUNCTION_RX]);
}

/**
 * struct function_offload - a feature and what it lets be left undone
 * @guest:	VIRTIO_NET_F_GUEST_…: the guest takes it undone
 * @host:	the guest may leave it undone
 * @offload:	&enum offload_bit
 */
struct function_offload {
	unsigned int guest;
	unsigned int host;
	unsigned int offload;
};

static const struct function_offload function_offloads[] = {
	{ VIRTIO_NET_F_GUEST_CSUM, VIRTIO_NET_F_CSUM, OFFLOAD_CSUM },
	{ VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_HOST_TSO4, OFFLOAD_TSO4 },
	{ VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_HOST_TSO6, OFFLOAD_TSO6 },
	{ VIRTIO_NET_F_GUEST_ECN, VIRTIO_NET_F_HOST_ECN, OFFLOAD_ECN },
};

/* What the guest takes undone, if it takes what VIRTIO_NET_F_GUEST_… say. */
static void function_rx_offloads(struct function *fn, uint64_t features)
{
	const struct function_offload *row = function_offloads;
	unsigned int i;

	fn->port.offloads = 0;
	for (i = 0; i < ARRAY_SIZE(function_offloads); i++, row++)
		if (features & BIT(row->guest))
			fn->port.offloads |= row->offload;
}

static void function_offloads_negotiated(struct function *fn)
{
	const struct function_offload *row = function_offloads;
	unsigned int i;

	function_rx_offloads(fn, fn->features);
	fn->tx_offloads = 0;
	for (i = 0; i < ARRAY_SIZE(function_offloads); i++, row++)
		if (function_has(fn, row->host))
			fn->tx_offloads |= row->offload;
}

/* Sends what stands in @out; false if that is no frame that we can send. */
static bool function_tx(struct function *fn)
{
	const struct virtq_elem *elem = &fn->out;
	struct virtio_net_hdr hdr;
	struct frame frame;

	if (elem->out_len < FUNCTION_HDR_LEN)
		return false;
	iov_to_buf(elem->iov, elem->out_n, 0, &hdr, sizeof(hdr));
	hdr.flags &= VIRTIO_NET_HDR_F_NEEDS_CSUM;
	if (frame_init(&frame, elem->iov, elem->out_n, FUNCTION_HDR_LEN,
		       elem->out_len - FUNCTION_HDR_LEN) ||
	    offload_init(&frame, &hdr) ||
	    (offload_needs(&frame) & ~fn->tx_offloads) ||
	    frame.wire_len > function_frame_max(fn))
		return false;

	if (fn->link_up)
		switch_send(fn->sw, &fn->port, &frame);
	return true;
}

static bool function_poll_tx(struct function *fn)
{
	struct virtq *vq = fn->vq[FUNCTION_TX];
	unsigned int n = 0;

	while (vq && n < FUNCTION_TX_BURST && virtq_pop(vq, &fn->out) > 0) {
		if (function_tx(fn))
			fn->stats.tx++;
		else
			fn->stats.tx_dropped++;
		virtq_push(vq, fn->out.head, 0);
		n++;
	}
	if (!n)
		return false;
	switch_flush(fn->sw);
	virtq_notify(vq);
	return true;
}

/* ------------------------------------------------------------------------- */
/* Control queue                                                             */
/* ------------------------------------------------------------------------- */

/**
 * struct ctrlq_command - a control command being carried out
 * @hdr:	class and command
 * @req:	copy of the request
 * @len:	its bytes
 * @rsp_size:	room for a response
 * @rsp_len:	bytes of it
 * @rsp:	response
 */
struct ctrlq_command {
	struct virtio_net_ctrl_hdr hdr;
	const uint8_t *req;
	size_t len;
	size_t rsp_size;
	size_t rsp_len;
	uint8_t rsp[RNIC_RSP_MAX] __attribute__((aligned(8)));
};

static uint8_t ctrlq_rx_mode(struct function *fn, struct ctrlq_command *ctrl)
{
	filter_set_mode(&fn->filter, ctrl->hdr.cmd, ctrl->req[0]);
	return VIRTIO_NET_OK;
}

static uint8_t ctrlq_mac_table(struct function *fn, struct ctrlq_command *ctrl)
{
	return filter_set_macs(&fn->filter, ctrl->req, ctrl->len) ?
	       VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrlq_mac_addr(struct function *fn, struct ctrlq_command *ctrl)
{
	if (ctrl->req[0] & 1)
		return VIRTIO_NET_ERR;
	memcpy(fn->filter.mac, ctrl->req, ETH_ALEN);
	return VIRTIO_NET_OK;
}

static uint8_t ctrlq_vlan(struct function *fn, struct ctrlq_command *ctrl)
{
	uint16_t vid;

	memcpy(&vid, ctrl->req, sizeof(vid));
	return filter_set_vlan(&fn->filter, le16toh(vid),
			       ctrl->hdr.cmd == VIRTIO_NET_CTRL_VLAN_ADD) ?
	       VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrlq_guest_offloads(struct function *fn, struct ctrlq_command *ctrl)
{
	uint64_t offloads;

	memcpy(&offloads, ctrl->req, sizeof(offloads));
	offloads = le64toh(offloads);
	if (offloads & ~(fn->features & FUNCTION_GUEST_OFFLOADS))
		return VIRTIO_NET_ERR;
	function_rx_offloads(fn, offloads);
	return VIRTIO_NET_OK;
}

static uint8_t ctrlq_roce(struct function *fn, struct ctrlq_command *ctrl)
{
	return rnic_command(fn->rnic, ctrl->hdr.cmd, ctrl->req, ctrl->len,
			    ctrl->rsp, ctrl->rsp_size, &ctrl->rsp_len);
}

/**
 * struct ctrlq_row - a control command, or a run of them
 * @class:	its class
 * @first:	first command of the run
 * @last:	last one
 * @feature:	feature that must have been negotiated
 * @min:	bytes of a request, at least
 * @max:	bytes of a request, at most
 * @fn:		carries it out and returns the ack
 */
struct ctrlq_row {
	uint8_t class;
	uint8_t first;
	uint8_t last;
	uint8_t feature;
	size_t min;
	size_t max;
	uint8_t (*fn)(struct function *fn, struct ctrlq_command *ctrl);
};

static const struct ctrlq_row ctrlq_table[] = {
	{
		.class = VIRTIO_NET_CTRL_RX,
		.first = VIRTIO_NET_CTRL_RX_PROMISC,
		.last = VIRTIO_NET_CTRL_RX_ALLMULTI,
		.feature = VIRTIO_NET_F_CTRL_RX,
		.min = 1,
		.max = 1,
		.fn = ctrlq_rx_mode,
	}, {
		.class = VIRTIO_NET_CTRL_RX,
		.first = VIRTIO_NET_CTRL_RX_ALLUNI,
		.last = VIRTIO_NET_CTRL_RX_NOBCAST,
		.feature = VIRTIO_NET_F_CTRL_RX_EXTRA,
		.min = 1,
		.max = 1,
		.fn = ctrlq_rx_mode,
	}, {
		.class = VIRTIO_NET_CTRL_MAC,
		.first = VIRTIO_NET_CTRL_MAC_TABLE_SET,
		.last = VIRTIO_NET_CTRL_MAC_TABLE_SET,
		.feature = VIRTIO_NET_F_CTRL_RX,
		.max = SIZE_MAX,
		.fn = ctrlq_mac_table,
	}, {
		.class = VIRTIO_NET_CTRL_MAC,
		.first = VIRTIO_NET_CTRL_MAC_ADDR_SET,
		.last = VIRTIO_NET_CTRL_MAC_ADDR_SET,
		.feature = VIRTIO_NET_F_CTRL_MAC_ADDR,
		.min = ETH_ALEN,
		.max = ETH_ALEN,
		.fn = ctrlq_mac_addr,
	}, {
		.class = VIRTIO_NET_CTRL_VLAN,
		.first = VIRTIO_NET_CTRL_VLAN_ADD,
		.last = VIRTIO_NET_CTRL_VLAN_DEL,
		.feature = VIRTIO_NET_F_CTRL_VLAN,
		.min = sizeof(uint16_t),
		.max = sizeof(uint16_t),
		.fn = ctrlq_vlan,
	}, {
		.class = VIRTIO_NET_CTRL_GUEST_OFFLOADS,
		.first = VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET,
		.last = VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET,
		.feature = VIRTIO_NET_F_CTRL_GUEST_OFFLOADS,
		.min = sizeof(uint64_t),
		.max = sizeof(uint64_t),
		.fn = ctrlq_guest_offloads,
	}, {
		.class = VIRTIO_NET_CTRL_ROCE,
		.first = 0,
		.last = UINT8_MAX,
		.feature = VIRTIO_NET_F_ROCE,
		.max = SIZE_MAX,
		.fn = ctrlq_roce,
	},
};

static uint8_t ctrlq_dispatch(struct function *fn, struct ctrlq_command *ctrl)
{
	const struct ctrlq_row *row;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ctrlq_table); i++) {
		row = &ctrlq_table[i];
		if (row->class == ctrl->hdr.class &&
		    row->first <= ctrl->hdr.cmd && ctrl->hdr.cmd <= row->last &&
		    function_has(fn, row->feature) &&
		    row->min <= ctrl->len && ctrl->len <= row->max)
			return row->fn(fn, ctrl);
	}
	return VIRTIO_NET_ERR;
}

/* Carries out the command in @out; returns the ack. */
static uint8_t ctrlq_run(struct function *fn, struct ctrlq_command *ctrl)
{
	const struct virtq_elem *elem = &fn->out;
	uint8_t ack, *req;

	if (elem->out_len < sizeof(ctrl->hdr) ||
	    elem->out_len - sizeof(ctrl->hdr) > FUNCTION_CTRL_MAX)
		return VIRTIO_NET_ERR;
	ctrl->len = elem->out_len - sizeof(ctrl->hdr);
	req = malloc(ctrl->len ? ctrl->len : 1);
	if (!req)
		return VIRTIO_NET_ERR;

	iov_to_buf(elem->iov, elem->out_n, 0, &ctrl->hdr, sizeof(ctrl->hdr));
	iov_to_buf(elem->iov, elem->out_n, sizeof(ctrl->hdr), req, ctrl->len);
	ctrl->req = req;
	ack = ctrlq_dispatch(fn, ctrl);
	free(req);
	return ack;
}

/* Answers the command in @out: ack, response.  Returns the bytes written. */
static uint32_t function_ctrl(struct function *fn)
{
	const struct virtq_elem *elem = &fn->out;
	const struct iovec *in = &elem->iov[elem->out_n];
	struct ctrlq_command ctrl = { 0 };
	uint8_t ack;

	if (!elem->in_len)
		return 0;
	ctrl.rsp_size = elem->in_len - sizeof(ack);
	if (ctrl.rsp_size > sizeof(ctrl.rsp))
		ctrl.rsp_size = sizeof(ctrl.rsp);

	ack = ctrlq_run(fn, &ctrl);
	iov_from_buf(in, elem->in_n, 0, &ack, sizeof(ack));
	iov_from_buf(in, elem->in_n, sizeof(ack), ctrl.rsp, ctrl.rsp_len);
	return sizeof(ack) + ctrl.rsp_len;
}

static bool ctrlq_poll(struct function *fn)
{
	struct virtq *vq = fn->vq[FUNCTION_CTRL];
	unsigned int n = 0;
	uint32_t len;

	while (vq && n < FUNCTION_CTRL_BURST && virtq_pop(vq, &fn->out) > 0) {
		len = function_ctrl(fn);
		virtq_push(vq, fn->out.head, len);
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

static bool function_poll(void *arg)
{
	struct function *fn = arg;
	bool work;

	work = function_poll_tx(fn);
	work |= ctrlq_poll(fn);
	if (function_roce_runs(fn) && rnic_poll(fn->rnic)) {
		switch_flush(fn->sw);
		work = true;
	}
	return work;
}

static bool function_sleep(void *arg)
{
	struct function *fn = arg;
	bool work = false;

	fn->awake = false;
	if (fn->vq[FUNCTION_TX])
		work |= virtq_want_kick(fn->vq[FUNCTION_TX], true);
	if (fn->vq[FUNCTION_CTRL])
		work |= virtq_want_kick(fn->vq[FUNCTION_CTRL], true);
	if (function_roce_runs(fn))
		work |= rnic_sleep(fn->rnic);
	return work;
}

static void function_wake(void *arg)
{
	struct function *fn = arg;

	fn->awake = true;
	if (fn->vq[FUNCTION_TX])
		virtq_want_kick(fn->vq[FUNCTION_TX], false);
	if (fn->vq[FUNCTION_CTRL])
		virtq_want_kick(fn->vq[FUNCTION_CTRL], false);
	if (function_roce_runs(fn))
		rnic_wake(fn->rnic);
}

/* ------------------------------------------------------------------------- */
/* What the front-end calls                                                  */
/* ------------------------------------------------------------------------- */

static uint64_t function_features(void *dev)
{
	const struct function *fn = dev;

	return FUNCTION_FEATURES |
	       (fn->config.offer_mtu ? BIT(VIRTIO_NET_F_MTU) : 0) |
	       (fn->config.speed ? BIT(VIRTIO_NET_F_SPEED_DUPLEX) : 0);
}

static int function_negotiated(void *dev, uint64_t features)
{
	struct function *fn = dev;

	if ((features & ~function_features(dev)) ||
	    !(features & BIT(VIRTIO_F_VERSION_1)))
		return -EINVAL;
	fn->features = features;
	function_offloads_negotiated(fn);
	fn->filter.vlan_on = function_has(fn, VIRTIO_NET_F_CTRL_VLAN);
	return 0;
}

static int function_config_read(void *dev, uint32_t off, void *buf, uint32_t len)
{
	const struct function *fn = dev;
	struct function_config_space space = {
		.net = {
			.status = htole16(fn->link_up ?
					  VIRTIO_NET_S_LINK_UP : 0),
			.max_virtqueue_pairs = htole16(1),
			.mtu = htole16(fn->config.mtu),
			.speed = htole32(fn->config.speed ? fn->config.speed :
					 FUNCTION_SPEED_UNKNOWN),
			.duplex = fn->config.speed ? FUNCTION_DUPLEX_FULL :
				  FUNCTION_DUPLEX_UNKNOWN,
		},
		.roce = {
			.max_rdma_qps = htole32(fn->config.limits.qps),
			.max_rdma_cqs = htole32(fn->config.limits.cqs),
		},
	};

	if (off > sizeof(space) || len > sizeof(space) - off)
		return -EINVAL;
	memcpy(space.net.mac, fn->filter.mac, ETH_ALEN);
	memcpy(buf, (const uint8_t *)&space + off, len);
	return 0;
}

/* Nothing in it is for a driver of VIRTIO_F_VERSION_1 to write. */
static int function_config_write(void *dev, uint32_t off, const void *buf,
				 uint32_t len)
{
	(void)dev;
	(void)off;
	(void)buf;
	(void)len;
	return -EINVAL;
}

/*
 * Which queue of the RDMA side a virtqueue is, and its number there.  False if it
 * is none.
 */
static bool function_rdma_queue(const struct function *fn, uint16_t index,
				enum rnic_queue *kind, uint32_t *number)
{
	const struct rnic_limits *limits = &fn->config.limits;
	uint32_t i = index;

	if (!function_has_roce(fn) || i < FUNCTION_QUEUES)
		return false;
	i -= FUNCTION_QUEUES;
	if (i < limits->cqs) {
		*kind = RNIC_CQ;
		*number = i;
		return true;
	}
	i -= limits->cqs;
	*kind = i % 2 ? RNIC_RQ : RNIC_SQ;
	*number = i / 2;
	return *number < limits->qps;
}

static void function_ethernet_start(struct function *fn, struct virtq *vq)
{
	fn->vq[vq->index] = vq;
	virtq_want_kick(vq, vq->index != FUNCTION_RX && !fn->awake);
	if (vq->index != FUNCTION_CTRL)
		return;
	rnic_mem_changed(fn->rnic, fn->mem);
	if (fn->awake)
		rnic_wake(fn->rnic);
}

static void function_ethernet_stop(struct function *fn, struct virtq *vq)
{
	fn->vq[vq->index] = NULL;
	if (vq->index == FUNCTION_CTRL)
		rnic_mem_changed(fn->rnic, &guest_mem_none);
}

static void function_queue_start(void *dev, struct virtq *vq)
{
	struct function *fn = dev;
	enum rnic_queue kind;
	uint32_t number;

	if (vq->index < FUNCTION_QUEUES)
		function_ethernet_start(fn, vq);
	else if (function_rdma_queue(fn, vq->index, &kind, &number))
		rnic_queue_start(fn->rnic, kind, number, vq);
}

static void function_queue_stop(void *dev, struct virtq *vq)
{
	struct function *fn = dev;
	enum rnic_queue kind;
	uint32_t number;

	if (vq->index < FUNCTION_QUEUES)
		function_ethernet_stop(fn, vq);
	else if (function_rdma_queue(fn, vq->index, &kind, &number))
		rnic_queue_stop(fn->rnic, kind, number);
}

/* The poller looks at the Ethernet and control queues whoever rang. */
static void function_kick(void *dev, struct virtq *vq)
{
	struct function *fn = dev;
	enum rnic_queue kind;
	uint32_t number;

	if (function_rdma_queue(fn, vq->index, &kind, &number))
		rnic_queue_kick(fn->rnic, kind, number);
}

static void function_mem_changed(void *dev, const struct guest_mem *mem)
{
	struct function *fn = dev;

	fn->mem = mem;
	if (function_roce_runs(fn))
		rnic_mem_changed(fn->rnic, mem);
}

static void function_reset(void *dev)
{
	struct function *fn = dev;

	rnic_reset(fn->rnic);
	filter_init(&fn->filter, fn->config.mac);
	fn->features = 0;
	function_offloads_negotiated(fn);
}

const struct fe_device_ops function_device_ops = {
	.features = function_features,
	.negotiated = function_negotiated,
	.config_read = function_config_read,
	.config_write = function_config_write,
	.queue_start = function_queue_start,
	.queue_stop = function_queue_stop,
	.kick = function_kick,
	.mem_changed = function_mem_changed,
	.reset = function_reset,
};

/* ------------------------------------------------------------------------- */
/* What the daemon calls                                                     */
/* ------------------------------------------------------------------------- */

struct function *function_new(struct loop *loop, struct l2_switch *sw,
			      struct fabric *fabric, const struct function_config *config)
{
	struct function *fn = calloc(1, sizeof(*fn));

	if (!fn)
		return NULL;
	fn->loop = loop;
	fn->sw = sw;
	fn->config = *config;
	fn->config.name = NULL;
	snprintf(fn->name, sizeof(fn->name), "%s", config->name);
	fn->link_up = true;
	fn->mem = &guest_mem_none;
	filter_init(&fn->filter, config->mac);

	fn->rnic = rnic_new(loop, fabric, &config->limits, fn->name);
	if (!fn->rnic)
		goto err_free;
	rnic_mem_changed(fn->rnic, &guest_mem_none);
	rnic_set_eth(fn->rnic, &function_eth, fn);

	fn->port.deliver = function_deliver;
	fn->port.flush = function_flush;
	fn->port.arg = fn;
	fn->port.group = config->group;
	switch_port_add(sw, &fn->port);

	fn->poller.poll = function_poll;
	fn->poller.sleep = function_sleep;
	fn->poller.wake = function_wake;
	fn->poller.arg = fn;
	loop_poller_add(loop, &fn->poller);
	return fn;

err_free:
	free(fn);
	return NULL;
}

void function_free(struct function *fn)
{
	loop_poller_del(fn->loop, &fn->poller);
	switch_port_del(fn->sw, &fn->port);
	rnic_free(fn->rnic);
	free(fn);
}

void function_set_frontend(struct function *fn, const struct fe_ops *ops, void *fe)
{
	fn->fe_ops = ops;
	fn->fe = fe;
}

void function_set_link(struct function *fn, bool up)
{
	if (fn->link_up == up)
		return;
	fn->link_up = up;
	if (fn->fe_ops)
		fn->fe_ops->config_changed(fn->fe);
}

bool function_link(const struct function *fn)
{
	return fn->link_up;
}

const uint64_t *function_rdma_counters(const struct function *fn)
{
	return rnic_counters(fn->rnic);
}

uint32_t function_num_queues(const struct rnic_limits *limits)
{
	return FUNCTION_QUEUES + limits->cqs + 2 * limits->qps;
}

const struct function_stats *function_stats(const struct function *fn)
{
	return &fn->stats;
}
