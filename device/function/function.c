// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of a function: features, configuration space, queues, reset.
 *
 * Theory of operation
 *
 * A poller looks after the transmit and control queues and the RDMA side.  It
 * asks for their doorbells only while the loop sleeps.  When others have waited for
 * long enough, it stops, and goes on with the next of the three in the next round.
 *
 * RDMA runs while the control queue is started, the only queue that it cannot do
 * without.  When that queue is stopped, the guest has been paused or has reset
 * the function; the front-end may learn only later which of the two it was.  In
 * both cases RDMA must not touch the guest's memory any more.  So the RDMA side
 * is not polled, and is shown a map without memory until the control queue is
 * started again.
 */

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "function/announce.h"
#include "function/ctrlq.h"
#include "function/eth.h"
#include "function/function_image.h"
#include "function/function_priv.h"
#include "function/needs.h"

/* As struct virtio_net_config has them. */
#define FUNCTION_SPEED_UNKNOWN	UINT32_MAX
#define FUNCTION_DUPLEX_FULL	1
#define FUNCTION_DUPLEX_UNKNOWN	UINT8_MAX

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

/* Those of a function with several pairs of Ethernet queues. */
#define FUNCTION_MORE_FEATURES \
	(BIT(VIRTIO_NET_F_MQ) | \
	 BIT(VIRTIO_NET_F_RSS) | \
	 BIT(VIRTIO_NET_F_HASH_REPORT))

/* A front-end shows no more than this to its driver. */
#define FUNCTION_CONFIG_MAX	256

struct function_config_space {
	struct virtio_net_config net;
	struct virtio_net_roce_config roce;
	struct virtio_net_roce_config_rings rings;
} __attribute__((packed));
_Static_assert(offsetof(struct function_config_space, roce) ==
	       VIRTIO_NET_ROCE_CONFIG_OFFSET, "RoCE configuration is misplaced");
_Static_assert(offsetof(struct function_config_space, rings) ==
	       VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET &&
	       VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET == VIRTIO_NET_ROCE_CONFIG_SIZE,
	       "configuration of event queues and direct rings is misplaced");

/* ------------------------------------------------------------------------- */
/* Poller                                                                    */
/* ------------------------------------------------------------------------- */

static bool function_poll_rdma(struct function *fn)
{
	if (!function_rdma_runs(fn) || !rnic_poll(fn->rnic))
		return false;
	switch_flush(fn->sw);
	return true;
}

/* Each has its bounds; all together may be too much for a round. */
static bool (*const function_steps[])(struct function *fn) = {
	eth_poll,
	ctrlq_poll,
	function_poll_rdma,
};

static bool function_poll(void *arg)
{
	struct function *fn = arg;
	bool work = false;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(function_steps); i++) {
		work |= function_steps[fn->step](fn);
		fn->step = (fn->step + 1) % ARRAY_SIZE(function_steps);
		if (work && loop_turn_is_over(fn->loop))
			break;
	}
	return work;
}

/* Of the transmit queues of further pairs. */
static bool function_want_kicks(struct function *fn, bool want)
{
	bool work = false;
	unsigned int i;

	for (i = FUNCTION_TX; fn->more_on && i < 2 * (fn->config.pairs - 1); i += 2)
		if (fn->more[i])
			work |= virtq_want_kick(fn->more[i], want);
	return work;
}

static bool function_sleep(void *arg)
{
	struct function *fn = arg;
	bool work = false;

	fn->awake = false;
	if (fn->vq[FUNCTION_TX])
		work |= virtq_want_kick(fn->vq[FUNCTION_TX], true);
	work |= function_want_kicks(fn, true);
	if (fn->vq[FUNCTION_CTRL])
		work |= virtq_want_kick(fn->vq[FUNCTION_CTRL], true);
	if (function_rdma_runs(fn))
		work |= rnic_sleep(fn->rnic);
	return work;
}

static bool function_may_sleep(void *arg)
{
	const struct function *fn = arg;

	return !function_rdma_runs(fn) || rnic_may_sleep(fn->rnic);
}

/* There may be work that its poller does not know of, if it sleeps. */
static void function_call(struct function *fn)
{
	loop_poller_wake(fn->loop, &fn->poller);
}

static void function_wake(void *arg)
{
	struct function *fn = arg;

	fn->awake = true;
	if (fn->vq[FUNCTION_TX])
		virtq_want_kick(fn->vq[FUNCTION_TX], false);
	function_want_kicks(fn, false);
	if (fn->vq[FUNCTION_CTRL])
		virtq_want_kick(fn->vq[FUNCTION_CTRL], false);
	if (function_rdma_runs(fn))
		rnic_wake(fn->rnic);
}

/* ------------------------------------------------------------------------- */
/* What the front-end calls                                                  */
/* ------------------------------------------------------------------------- */

/* As a policy of the RDMA side. */
static bool function_gid_ok(const void *arg, const uint8_t *gid)
{
	const struct function *fn = arg;

	return pin_gid_ok(&fn->config.pin, gid);
}

static uint64_t function_features(void *dev)
{
	const struct function *fn = dev;

	return FUNCTION_FEATURES |
	       (fn->config.pairs > 1 ? FUNCTION_MORE_FEATURES : 0) |
	       (fn->config.offer_mtu ? BIT(VIRTIO_NET_F_MTU) : 0) |
	       (fn->config.speed ? BIT(VIRTIO_NET_F_SPEED_DUPLEX) : 0);
}

/* No queue is started. */
static void function_follow(struct function *fn)
{
	const uint64_t pairs = BIT(VIRTIO_NET_F_MQ) | BIT(VIRTIO_NET_F_RSS);

	fn->more_on = fn->features & FUNCTION_MORE_FEATURES;
	fn->ctrl_index = fn->features & pairs ? 2 * fn->config.pairs : FUNCTION_CTRL;
	eth_negotiated(fn);
}

static int function_negotiated(void *dev, uint64_t features)
{
	struct function *fn = dev;

	if ((features & ~function_features(dev)) ||
	    !(features & BIT(VIRTIO_F_VERSION_1)))
		return -EINVAL;
	fn->features = features;
	function_follow(fn);
	function_keep(fn);
	return 0;
}

static int function_config_read(void *dev, uint32_t off, void *buf, uint32_t len)
{
	const struct function *fn = dev;
	const bool more = fn->config.pairs > 1;
	struct function_config_space space = {
		.net = {
			.status = htole16(fn->link_up ?
					  VIRTIO_NET_S_LINK_UP : 0),
			.max_virtqueue_pairs = htole16(fn->config.pairs),
			.mtu = htole16(fn->config.mtu),
			.speed = htole32(fn->config.speed ? fn->config.speed :
					 FUNCTION_SPEED_UNKNOWN),
			.duplex = fn->config.speed ? FUNCTION_DUPLEX_FULL :
				  FUNCTION_DUPLEX_UNKNOWN,
			.rss_max_key_size = more ? RX_HASH_KEY : 0,
			.rss_max_indirection_table_length =
				htole16(more ? MQ_TABLE_MAX : 0),
			.supported_hash_types = htole32(more ? MQ_TYPES : 0),
		},
		.roce = {
			.max_rdma_qps = htole32(fn->config.limits.qps),
			.max_rdma_cqs = htole32(fn->config.limits.cqs),
		},
		.rings = {
			.event_vqs = htole16(fn->config.limits.event_vqs),
			.doorbell_vqs = htole16(fn->config.limits.doorbell_vqs),
		},
	};

	if (off > FUNCTION_CONFIG_MAX || len > FUNCTION_CONFIG_MAX - off)
		return -EINVAL;
	memcpy(space.net.mac, fn->filter.mac, ETH_ALEN);
	/* Behind our last field is zero: later fields, which we do not have. */
	memset(buf, 0, len);
	if (off >= sizeof(space))
		return 0;
	if (len > sizeof(space) - off)
		len = sizeof(space) - off;
	memcpy(buf, (const uint8_t *)&space + off, len);
	return 0;
}

/* A driver with VIRTIO_F_VERSION_1 must not write to any of its fields. */
static int function_config_write(void *dev __always_unused,
				 uint32_t off __always_unused,
				 const void *buf __always_unused,
				 uint32_t len __always_unused)
{
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

	if (!function_has_roce(fn) || i <= fn->ctrl_index)
		return false;
	i -= fn->ctrl_index + 1;
	if (i < limits->cqs) {
		*kind = RNIC_CQ;
		*number = i;
		return true;
	}
	i -= limits->cqs;
	if (i < 2 * limits->qps) {
		*kind = i % 2 ? RNIC_RQ : RNIC_SQ;
		*number = i / 2;
		return true;
	}
	i -= 2 * limits->qps;
	*kind = i < limits->event_vqs ? RNIC_EVENT : RNIC_DOORBELL;
	*number = i < limits->event_vqs ? i : i - limits->event_vqs;
	return i < limits->event_vqs + limits->doorbell_vqs;
}

void function_set_here(struct function *fn, bool here)
{
	if (fn->here == here)
		return;
	fn->here = here;
	rnic_set_away(fn->rnic, !here);
	if (here)
		switch_set_away(&fn->port, false);
}

void function_leave(struct function *fn)
{
	announce_stop(fn);
	function_set_here(fn, false);
	switch_set_away(&fn->port, true);
}

/*
 * A front-end that has connected again shows queues that another process has served.  That
 * process has told nobody what it knew: the guest hears that it is gone.
 */
static void function_inherit(struct function *fn)
{
	if (fn->inherited && function_has_roce(fn)) {
		log_info("%s: its driver goes on, and its objects of RDMA are lost", fn->name);
		fn->lost = true;
		if (fn->keep)
			fn->keep->rdma = true;
		if (fn->fe_ops)
			fn->fe_ops->config_changed(fn->fe);
	}
	fn->inherited = false;
}

/* The function has all of its queues, and goes on. */
static void function_resume(struct function *fn)
{
	const uint64_t began = clock_ns();

	rnic_mem_changed(fn->rnic, fn->mem);
	if (fn->awake)
		rnic_wake(fn->rnic);
	if (!fn->moved)
		return;
	announce_start(fn);
	log_info("%s: goes on, %.2f ms", fn->name, clock_ms_since(began));
	fn->moved = false;
}

/* Where an Ethernet queue stands, or the control queue. */
static struct virtq **function_place(struct function *fn, uint16_t index)
{
	if (index == fn->ctrl_index)
		return &fn->vq[FUNCTION_CTRL];
	return index < FUNCTION_CTRL ? &fn->vq[index] : &fn->more[index - FUNCTION_CTRL];
}

static void function_ethernet_start(struct function *fn, struct virtq *vq)
{
	const bool ctrl = vq->index == fn->ctrl_index;

	function_set_here(fn, true);
	fn->inherited |= vq->inherited;
	*function_place(fn, vq->index) = vq;
	virtq_want_kick(vq, (ctrl || vq->index % 2 == FUNCTION_TX) && !fn->awake);
	if (!ctrl)
		return;
	function_inherit(fn);
	function_resume(fn);
}

static void function_ethernet_stop(struct function *fn, struct virtq *vq)
{
	const bool ctrl = vq->index == fn->ctrl_index;

	if (ctrl)
		ctrlq_restart(fn);
	*function_place(fn, vq->index) = NULL;
	if (ctrl)
		rnic_mem_changed(fn->rnic, &guest_mem_none);
}

static void function_queue_start(void *dev, struct virtq *vq)
{
	struct function *fn = dev;
	enum rnic_queue kind;
	uint32_t number;

	function_call(fn);
	if (vq->index <= fn->ctrl_index)
		function_ethernet_start(fn, vq);
	else if (function_rdma_queue(fn, vq->index, &kind, &number))
		rnic_queue_start(fn->rnic, kind, number, vq);
}

static void function_queue_stop(void *dev, struct virtq *vq)
{
	struct function *fn = dev;
	enum rnic_queue kind;
	uint32_t number;

	if (vq->index <= fn->ctrl_index)
		function_ethernet_stop(fn, vq);
	else if (function_rdma_queue(fn, vq->index, &kind, &number))
		rnic_queue_stop(fn->rnic, kind, number);
}

/* Ethernet and control queues are polled, so that their doorbells need nothing more here. */
static void function_kick(void *dev, struct virtq *vq)
{
	struct function *fn = dev;
	enum rnic_queue kind;
	uint32_t number;

	function_call(fn);
	if (!function_rdma_queue(fn, vq->index, &kind, &number))
		return;
	fn->stats.doorbells++;
	rnic_queue_kick(fn->rnic, kind, number);
}

static void function_mem_changed(void *dev, const struct guest_mem *mem)
{
	struct function *fn = dev;

	fn->mem = mem;
	function_call(fn);
	if (!function_rdma_runs(fn))
		return;
	ctrlq_restart(fn);
	rnic_mem_changed(fn->rnic, mem);
}

static void function_reset(void *dev)
{
	struct function *fn = dev;

	announce_stop(fn);
	fn->moved = false;
	ctrlq_restart(fn);
	rnic_reset(fn->rnic);
	function_set_here(fn, false);
	filter_init(&fn->filter, fn->config.mac);
	mq_reset(&fn->mq);
	fn->features = 0;
	function_follow(fn);
	fn->lost = false;
	fn->inherited = false;
	if (fn->keep)
		fn->keep->rdma = false;
	function_keep(fn);
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
	.save = function_move_save,
	.load = function_move_load,
	.can_move = needs_portable,
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
	fn->config = *config;
	fn->config.name = NULL;
	if (!fn->config.pairs)
		fn->config.pairs = 1;
	snprintf(fn->name, sizeof(fn->name), "%s", config->name);
	fn->link_up = true;
	fn->mem = &guest_mem_none;
	filter_init(&fn->filter, config->mac);
	fn->mq.max = fn->config.pairs;
	mq_reset(&fn->mq);
	function_follow(fn);

	fn->rnic = rnic_new(loop, fabric, &config->limits, fn->name);
	if (!fn->rnic)
		goto err_free;
	rnic_mem_changed(fn->rnic, &guest_mem_none);
	rnic_set_eth(fn->rnic, &eth_rnic_ops, fn);
	rnic_set_gid_policy(fn->rnic, function_gid_ok, fn);
	rnic_set_away(fn->rnic, true);
	rnic_set_nvmf(fn->rnic, config->nvmf);

	announce_init(fn);
	eth_init(fn, sw, config->group);
	function_port_changed(fn);

	fn->poller.poll = function_poll;
	fn->poller.sleep = function_sleep;
	fn->poller.wake = function_wake;
	fn->poller.may_sleep = function_may_sleep;
	fn->poller.arg = fn;
	rnic_set_poller(fn->rnic, &fn->poller);
	loop_poller_add(loop, &fn->poller);
	return fn;

err_free:
	free(fn);
	return NULL;
}

void function_leave_nvmf(struct function *fn)
{
	rnic_set_nvmf(fn->rnic, NULL);
}

void function_free(struct function *fn)
{
	loop_poller_del(fn->loop, &fn->poller);
	announce_stop(fn);
	eth_fini(fn);
	rnic_free(fn->rnic);
	free(fn);
}

void function_set_frontend(struct function *fn, const struct fe_ops *ops, void *fe)
{
	fn->fe_ops = ops;
	fn->fe = fe;
}

void function_keep(struct function *fn)
{
	if (!fn->keep)
		return;
	fn->keep->cut = fn->port.group->cut;
	fn->keep->link_up = fn->link_up;
	fn->keep->offloads = eth_guest_offloads(fn);
	fn->keep->filter = fn->filter;
	fn->keep->mq = fn->mq.set;
}

void function_set_keep(struct function *fn, struct function_keep *keep)
{
	fn->keep = keep;
	/* A function that was loaded has objects. */
	keep->rdma = function_has_roce(fn);
	function_keep(fn);
}

void function_port_changed(struct function *fn)
{
	const struct port_group *group = fn->port.group;
	bool plain = fn->link_up && !group->cut && !group->pcap && !fault_any(&group->fault);

	rnic_set_packets(fn->rnic, !plain);
	function_keep(fn);
}

void function_set_link(struct function *fn, bool up)
{
	if (fn->link_up == up)
		return;
	fn->link_up = up;
	function_port_changed(fn);
	if (fn->fe_ops)
		fn->fe_ops->config_changed(fn->fe);
}

bool function_link(const struct function *fn)
{
	return fn->link_up;
}

bool function_connected(const struct function *fn)
{
	return fn->fe_ops && fn->fe_ops->connected(fn->fe);
}

const uint8_t *function_mac(const struct function *fn)
{
	return fn->filter.mac;
}

const uint64_t *function_rdma_counters(const struct function *fn)
{
	return rnic_counters(fn->rnic);
}

const struct rnic *function_rnic(const struct function *fn)
{
	return fn->rnic;
}

uint32_t function_num_queues(uint32_t pairs, const struct rnic_limits *limits)
{
	return 2 * pairs + 1 + limits->cqs + 2 * limits->qps +
	       limits->event_vqs + limits->doorbell_vqs;
}

const struct function_stats *function_stats(struct function *fn)
{
	fn->stats.fused = rnic_fused(fn->rnic);
	return &fn->stats;
}
