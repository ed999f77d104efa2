// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The Ethernet queues of a function, and its port of the switch.
 *
 * Theory of operation
 *
 * A frame is never stored.  While the sender's transmit queue is polled, the
 * frame goes from the transmit buffers to the receive buffers of each function
 * that the switch gives it to, with one copy for each.  It is dropped where
 * there is no room.  It travels with its struct virtio_net_hdr, so a checksum or
 * segmentation that was left undone stays undone on the way to a guest that
 * accepts it so.
 *
 * The doorbell of a transmit queue is needed only while the loop sleeps, that
 * of a receive queue never.
 *
 * Where there are several pairs of queues, mq.c chooses the one that gets a frame.  All
 * transmit queues that the guest has started are looked at in turn, also those that it has
 * said it does not use: what it has left there is sent.  A round has the same bounds for
 * all of them together as for one.
 */

#include <endian.h>
#include <errno.h>

#include "ether/offload.h"
#include "function/eth.h"
#include "function/function_priv.h"
#include "rdma/steer.h"

/* The header has this length with VIRTIO_F_VERSION_1, which we require. */
#define ETH_HDR_LEN		sizeof(struct virtio_net_hdr_v1)

/* It goes on like this with VIRTIO_NET_F_HASH_REPORT. */
struct eth_hash {
	uint32_t value;
	uint16_t report;
	uint16_t padding;
};

_Static_assert(ETH_HDR_LEN + sizeof(struct eth_hash) == sizeof(struct virtio_net_hdr_v1_hash),
	       "a header with a hash has another size");

/* The most that is sent in a round: frames, and pieces of them and of receive buffers. */
#define ETH_TX_BURST		64
#define ETH_TX_PIECES		1024
/* And bytes, with those of the copy that each port gets. */
#define ETH_TX_BYTES		(256u << 10)

#define ETH_RX_MERGE_MAX	64

/*
 * Pieces of receive buffers that one frame may need.  A driver of ours has one piece for
 * each page or buffer.
 */
#define ETH_RX_PIECES		1024

/* Features that a guest may turn off and on again. */
#define ETH_GUEST_OFFLOADS \
	(BIT(VIRTIO_NET_F_GUEST_CSUM) | \
	 BIT(VIRTIO_NET_F_GUEST_TSO4) | \
	 BIT(VIRTIO_NET_F_GUEST_TSO6) | \
	 BIT(VIRTIO_NET_F_GUEST_ECN))

static size_t eth_frame_max(const struct function *fn)
{
	return (size_t)fn->config.mtu + ETH_HLEN + OFFLOAD_TAG_LEN;
}

/* ------------------------------------------------------------------------- */
/* Receive                                                                   */
/* ------------------------------------------------------------------------- */

/*
 * Functions of which there is a copy for one pair without hashes, where all that several
 * pairs need is left out.
 */
#define ETH_COPIES	__attribute__((always_inline))

/* Writes the header of a frame that fills @n buffers into the first of them. */
static inline ETH_COPIES void eth_rx_header(struct function *fn, const struct frame *frame,
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

/* Writes what follows that header, if something does. */
static void eth_rx_hash(struct function *fn, const struct mq_choice *choice)
{
	const struct virtq_elem *elem = &fn->first;
	const struct eth_hash hash = {
		.value = htole32(choice->hash),
		.report = htole16(choice->report),
	};

	if (fn->hdr_len > ETH_HDR_LEN)
		iov_from_buf(&elem->iov[elem->out_n], elem->in_n, ETH_HDR_LEN, &hash,
			     sizeof(hash));
}

/*
 * Puts a frame into as many buffers of a queue as it needs.  The guest sees none of them
 * before all are filled; if they do not suffice, or are of too many pieces, all are put
 * back.  @choice is NULL where there is one pair and no hash.
 */
static inline ETH_COPIES bool eth_rx_to(struct function *fn, struct virtq *vq,
					const struct frame *frame,
					const struct mq_choice *choice)
{
	unsigned int max = function_has(fn, VIRTIO_NET_F_MRG_RXBUF) ?
			   ETH_RX_MERGE_MAX : 1;
	const size_t hdr_len = choice ? fn->hdr_len : ETH_HDR_LEN;
	const size_t total = hdr_len + frame->len;
	struct virtq_used used[ETH_RX_MERGE_MAX];
	struct virtq_elem *elem;
	const uint64_t end = virtq_work() + ETH_RX_PIECES;
	size_t done = 0, part, skip;
	unsigned int n = 0;

	while (done < total) {
		elem = n ? &fn->rest : &fn->first;
		if (n == max || virtq_work() >= end || virtq_pop(vq, elem) <= 0)
			goto err_unpop;
		if (elem->in_len < hdr_len) {
			virtq_break(vq, "receive buffer without room for a header");
			return false;
		}
		part = elem->in_len < total - done ? elem->in_len : total - done;
		skip = n ? 0 : hdr_len;
		iov_copy(&elem->iov[elem->out_n], elem->in_n, skip,
			 frame->iov, frame->iov_n,
			 frame->off + done + skip - hdr_len, part - skip);
		used[n].head = elem->head;
		used[n].len = part;
		done += part;
		n++;
	}
	eth_rx_header(fn, frame, n);
	if (choice)
		eth_rx_hash(fn, choice);
	virtq_push_many(vq, used, n);
	return true;

err_unpop:
	while (n--)
		virtq_unpop(vq);
	return false;
}

/* Where there are several pairs, or a hash: a queue that is not started has no room. */
static __attribute__((noinline)) bool
eth_rx_choose(struct function *fn, const struct frame *frame)
{
	struct mq_choice choice;
	struct virtq *vq;

	mq_choose(&fn->mq, frame, &choice);
	vq = function_eth_queue(fn, choice.pair, FUNCTION_RX);
	if (!vq || !eth_rx_to(fn, vq, frame, &choice))
		return false;
	fn->rx_more |= BIT(choice.pair);
	return true;
}

static bool eth_rx(struct function *fn, const struct frame *frame)
{
	return eth_rx_to(fn, fn->vq[FUNCTION_RX], frame, NULL);
}

/* A frame that is still to be segmented is no RoCE packet. */
static bool eth_roce_takes(struct function *fn, const struct frame *frame)
{
	return frame->hdr.gso_type == VIRTIO_NET_HDR_GSO_NONE &&
	       rnic_frame(fn->rnic, frame->origin, frame->iov, frame->iov_n,
			  frame->off, frame->len);
}

static void eth_give(void *arg, const struct frame *frame)
{
	struct function *fn = arg;

	rnic_give(fn->rnic, &fn->hits, frame->iov, frame->off, frame->len);
}

/* Flow rules come behind RoCE, and sniffers see both.  They get frames as a wire has them. */
static bool eth_rdma_takes(struct function *fn, const struct frame *frame)
{
	bool roce;

	if (!function_rdma_runs(fn) || !function_has_roce(fn))
		return false;
	roce = eth_roce_takes(fn, frame);
	if (!rnic_steer(fn->rnic, roce ? RULE_FOR_SNIFFERS : RULE_FOR_PORT, frame->iov,
			frame->iov_n, frame->off, frame->len, &fn->hits))
		return roce;
	if (!fn->hits.n)
		return true;
	if (offload_needs(frame))
		switch_finish_for(&fn->port, frame, eth_give, fn);
	else
		eth_give(fn, frame);
	return roce || fn->hits.taken;
}

static void eth_deliver(void *arg, const struct frame *frame)
{
	struct function *fn = arg;

	if (fn->link_up && eth_rdma_takes(fn, frame))
		return;
	if (!fn->vq[FUNCTION_RX] || !fn->link_up)
		return;
	if (!filter_pass(&fn->filter, frame))
		fn->stats.rx_filtered++;
	else if (frame->wire_len <= eth_frame_max(fn) &&
		 (fn->more_on ? eth_rx_choose(fn, frame) : eth_rx(fn, frame)))
		fn->stats.rx++;
	else
		fn->stats.rx_dropped++;
}

static void eth_flush_more(struct function *fn)
{
	struct virtq *vq;

	for (; fn->rx_more; fn->rx_more &= fn->rx_more - 1) {
		vq = function_eth_queue(fn, __builtin_ctzll(fn->rx_more), FUNCTION_RX);
		if (vq)
			virtq_notify(vq);
	}
}

static void eth_flush(void *arg)
{
	struct function *fn = arg;

	if (function_rdma_runs(fn))
		rnic_flush(fn->rnic);
	if (fn->more_on)
		eth_flush_more(fn);
	else if (fn->vq[FUNCTION_RX])
		virtq_notify(fn->vq[FUNCTION_RX]);
}

/* ------------------------------------------------------------------------- */
/* Offloads                                                                  */
/* ------------------------------------------------------------------------- */

/**
 * struct eth_offload - a feature and what it lets be left undone
 * @guest:	VIRTIO_NET_F_GUEST_…: the guest takes it undone
 * @host:	the guest may leave it undone
 * @offload:	&enum offload_bit
 */
struct eth_offload {
	unsigned int guest;
	unsigned int host;
	unsigned int offload;
};

static const struct eth_offload eth_offloads[] = {
	{ VIRTIO_NET_F_GUEST_CSUM, VIRTIO_NET_F_CSUM, OFFLOAD_CSUM },
	{ VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_HOST_TSO4, OFFLOAD_TSO4 },
	{ VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_HOST_TSO6, OFFLOAD_TSO6 },
	{ VIRTIO_NET_F_GUEST_ECN, VIRTIO_NET_F_HOST_ECN, OFFLOAD_ECN },
};

/* Sets the work that the guest takes undone, by VIRTIO_NET_F_GUEST_… of @features. */
static void eth_rx_offloads(struct function *fn, uint64_t features)
{
	const struct eth_offload *row = eth_offloads;
	unsigned int i;

	fn->port.offloads = 0;
	for (i = 0; i < ARRAY_SIZE(eth_offloads); i++, row++)
		if (features & BIT(row->guest))
			fn->port.offloads |= row->offload;
}

void eth_negotiated(struct function *fn)
{
	const struct eth_offload *row = eth_offloads;
	unsigned int i;

	fn->hdr_len = ETH_HDR_LEN;
	if (function_has(fn, VIRTIO_NET_F_HASH_REPORT))
		fn->hdr_len += sizeof(struct eth_hash);
	eth_rx_offloads(fn, fn->features);
	fn->tx_offloads = 0;
	for (i = 0; i < ARRAY_SIZE(eth_offloads); i++, row++)
		if (function_has(fn, row->host))
			fn->tx_offloads |= row->offload;
	fn->filter.vlan_on = function_has(fn, VIRTIO_NET_F_CTRL_VLAN);
}

int eth_set_guest_offloads(struct function *fn, uint64_t offloads)
{
	if (offloads & ~(fn->features & ETH_GUEST_OFFLOADS))
		return -EINVAL;
	eth_rx_offloads(fn, offloads);
	return 0;
}

uint64_t eth_guest_offloads(const struct function *fn)
{
	const struct eth_offload *row = eth_offloads;
	uint64_t offloads = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(eth_offloads); i++, row++)
		if (fn->port.offloads & row->offload)
			offloads |= BIT(row->guest);
	return offloads;
}

/* ------------------------------------------------------------------------- */
/* Transmit                                                                  */
/* ------------------------------------------------------------------------- */

/* Sends what stands in @out; false if that is not a frame that we can send. */
static inline ETH_COPIES bool eth_tx(struct function *fn, unsigned int pair, bool more)
{
	const size_t hdr_len = more ? fn->hdr_len : ETH_HDR_LEN;
	const struct virtq_elem *elem = &fn->out;
	struct virtio_net_hdr hdr;
	struct frame frame;

	if (elem->out_len < hdr_len)
		return false;
	iov_to_buf(elem->iov, elem->out_n, 0, &hdr, sizeof(hdr));
	hdr.flags &= VIRTIO_NET_HDR_F_NEEDS_CSUM;
	if (frame_init(&frame, elem->iov, elem->out_n, hdr_len,
		       elem->out_len - hdr_len) ||
	    offload_init(&frame, &hdr) ||
	    (offload_needs(&frame) & ~fn->tx_offloads) ||
	    frame.wire_len > eth_frame_max(fn))
		return false;

	frame.origin = fn->rnic;
	if (more)
		mq_sent(&fn->mq, &frame, pair);
	if (fn->link_up)
		switch_send(&fn->port, &frame);
	return true;
}

/**
 * struct eth_round - what a round has done so far
 * @work:	bytes that the switch had copied before
 * @end:	virtq_work() at which it ends
 * @n:		frames
 * @bytes:	of these
 */
struct eth_round {
	uint64_t work;
	uint64_t end;
	unsigned int n;
	size_t bytes;
};

/* Sends what a pair has, until the round ends; true if that was something. */
static inline ETH_COPIES bool eth_poll_pair(struct function *fn, unsigned int pair, bool more,
					    struct eth_round *round)
{
	struct virtq *vq = function_eth_queue(fn, pair, FUNCTION_TX);
	const unsigned int before = round->n;

	while (vq && round->n < ETH_TX_BURST && virtq_work() < round->end &&
	       round->bytes + switch_work(fn->sw) - round->work < ETH_TX_BYTES &&
	       virtq_pop(vq, &fn->out) > 0) {
		round->bytes += fn->out.out_len;
		if (eth_tx(fn, pair, more))
			fn->stats.tx++;
		else
			fn->stats.tx_dropped++;
		virtq_push(vq, fn->out.head, 0);
		round->n++;
	}
	return round->n > before;
}

/* One pair, as most functions have it. */
static inline ETH_COPIES bool eth_poll_one(struct function *fn, struct eth_round *round)
{
	if (!eth_poll_pair(fn, 0, false, round))
		return false;
	switch_flush(fn->sw);
	virtq_notify(fn->vq[FUNCTION_TX]);
	return true;
}

/* The next round begins with the pair after the last one that this round got to. */
static __attribute__((noinline)) bool
eth_poll_several(struct function *fn, struct eth_round round)
{
	const unsigned int pairs = fn->config.pairs, first = fn->tx_next;
	unsigned int i, pair;
	uint64_t sent = 0;

	for (i = 0; i < pairs; i++) {
		pair = (first + i) % pairs;
		if (!eth_poll_pair(fn, pair, true, &round))
			continue;
		sent |= BIT(pair);
		fn->tx_next = (pair + 1) % pairs;
	}
	if (!sent)
		return false;
	switch_flush(fn->sw);
	for (; sent; sent &= sent - 1)
		virtq_notify(function_eth_queue(fn, __builtin_ctzll(sent), FUNCTION_TX));
	return true;
}

bool eth_poll(struct function *fn)
{
	struct eth_round round = {
		.work = switch_work(fn->sw),
		.end = virtq_work() + ETH_TX_PIECES,
	};

	return fn->more_on ? eth_poll_several(fn, round) : eth_poll_one(fn, &round);
}

/* ------------------------------------------------------------------------- */
/* What the RDMA side has of the port                                        */
/* ------------------------------------------------------------------------- */

static bool eth_rnic_send(void *arg, void *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct function *fn = arg;
	struct frame frame;

	if (!fn->link_up || frame_init(&frame, &iov, 1, 0, len))
		return false;
	frame.origin = fn->rnic;
	switch_send(&fn->port, &frame);
	return true;
}

static const uint8_t *eth_rnic_mac(void *arg)
{
	struct function *fn = arg;

	return fn->filter.mac;
}

static bool eth_rnic_hears(void *arg, const uint8_t *mac)
{
	const struct function *fn = arg;

	return filter_names(&fn->filter, mac);
}

static uint32_t eth_rnic_mtu(void *arg)
{
	struct function *fn = arg;

	return fn->config.mtu;
}

static uint64_t eth_rnic_work(void *arg)
{
	const struct function *fn = arg;

	return switch_work(fn->sw);
}

static bool eth_rnic_behind(void *arg, const uint8_t *mac)
{
	const struct function *fn = arg;

	return switch_is_behind(&fn->port, mac);
}

const struct rnic_eth eth_rnic_ops = {
	.send = eth_rnic_send,
	.mac = eth_rnic_mac,
	.hears = eth_rnic_hears,
	.mtu = eth_rnic_mtu,
	.work = eth_rnic_work,
	.behind = eth_rnic_behind,
};

/* ------------------------------------------------------------------------- */
/* Port of the switch                                                        */
/* ------------------------------------------------------------------------- */

void eth_init(struct function *fn, struct l2_switch *sw,
	      struct port_group *group)
{
	fn->sw = sw;
	fn->port.deliver = eth_deliver;
	fn->port.flush = eth_flush;
	fn->port.arg = fn;
	fn->port.group = group;
	fn->port.quota = SWITCH_GUEST_STATIONS;
	fn->port.pin = pin_any(&fn->config.pin) ? &fn->config.pin : NULL;
	fn->port.away = fn->config.pin.elsewhere;
	switch_port_add(sw, &fn->port);
}

void eth_fini(struct function *fn)
{
	switch_port_del(fn->sw, &fn->port);
	switch_forget(fn->sw, fn->rnic);
}
