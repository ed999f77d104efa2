// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A function, with its RDMA side, saved and loaded.
 *
 * The front-end has negotiated the features, mapped the memory and started the virtqueues
 * before: what the state says of these is checked.  The rest is set when all is known to be
 * good.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/keeper.h"
#include "base/log.h"
#include "base/util.h"
#include "function/eth.h"
#include "function/function_image.h"
#include "function/function_priv.h"
#include "rdma/rnic_image.h"

/**
 * struct function_image - a function that is being saved or loaded
 * @fn:		function
 * @filter:	what it receives
 * @offloads:	as of eth_guest_offloads()
 * @link_up:	the cable is plugged in
 * @queue:	its virtqueues, if @has_queue
 * @has_queue:	they were started
 * @more:	virtqueues of further pairs, likewise
 * @has_more:	they were started
 * @mq:		which pair gets a frame
 * @mq_known:	the section with these was read
 * @stats:	counters
 * @lost:	its objects of RDMA are lost
 * @move:	from or to another host
 */
struct function_image {
	struct function *fn;
	struct filter filter;
	uint64_t offloads;
	bool link_up;
	struct virtq_image queue[FUNCTION_QUEUES];
	bool has_queue[FUNCTION_QUEUES];
	struct virtq_image more[FUNCTION_MORE];
	bool has_more[FUNCTION_MORE];
	struct mq_settings mq;
	bool mq_known;
	struct function_stats stats;
	bool lost;
	bool move;
};

/* A guest that comes from elsewhere has negotiated them there. */
static void features_io(struct state *st, struct function_image *image)
{
	struct function *fn = image->fn;
	uint64_t features = fn->features;

	state_u64(st, "features", &features, UINT64_MAX);
	if (st->loading && !st->failed && image->move &&
	    function_device_ops.negotiated(fn, features))
		state_refuse(st, "features", "%#llx, and %#llx are offered here",
			     (unsigned long long)features,
			     (unsigned long long)function_device_ops.features(fn));
	state_need(st, features == fn->features, "features", "others were negotiated here");
}

/* The part that a function has without its queues and its RDMA side. */
static void plain_section(struct state *st, void *arg)
{
	struct function_image *image = arg;
	const struct function *fn = image->fn;

	state_bool(st, "link_up", &image->link_up);
	state_u64(st, "offloads", &image->offloads, UINT64_MAX);
	state_need(st, !(image->offloads & ~fn->features), "offloads", "not negotiated");
	filter_io(st, &image->filter);
	state_need(st, !(image->filter.mac[0] & 1) &&
		   pin_mac_ok(&fn->config.pin, image->filter.mac), "mac",
		   "not the address of mac= of its --socket");
}

static void function_section(struct state *st, void *arg)
{
	features_io(st, arg);
	plain_section(st, arg);
}

/* One that is not started is NULL.  Of the control queue, @again: what was taken last. */
static void queue_io(struct state *st, struct virtq *vq, bool again, bool *has,
		     struct virtq_image *image)
{
	struct virtq copy;

	state_bool(st, "started", has);
	state_need(st, *has == !!vq, "started", "otherwise than it is here");
	if (!*has || st->failed)
		return;
	copy = *vq;
	copy.last_avail -= again;
	virtq_io(st, &copy, st->loading ? image : NULL);
	image->vq = vq;
}

/* A command that goes on is to be taken once more. */
static void ethernet_queue_io(struct state *st, struct function_image *image, unsigned int i)
{
	const bool again = !st->loading && i == FUNCTION_CTRL && image->fn->ctrlq.busy;

	queue_io(st, image->fn->vq[i], again, &image->has_queue[i], &image->queue[i]);
}

static void ethernet_section(struct state *st, void *arg)
{
	struct function_image *image = arg;
	unsigned int i;

	for (i = 0; i < FUNCTION_QUEUES; i++)
		ethernet_queue_io(st, image, i);
	state_u64(st, "tx", &image->stats.tx, UINT64_MAX);
	state_u64(st, "tx_dropped", &image->stats.tx_dropped, UINT64_MAX);
	state_u64(st, "rx", &image->stats.rx, UINT64_MAX);
	state_u64(st, "rx_dropped", &image->stats.rx_dropped, UINT64_MAX);
	state_u64(st, "rx_filtered", &image->stats.rx_filtered, UINT64_MAX);
	state_u64(st, "doorbells", &image->stats.doorbells, UINT64_MAX);
}

/* Messages of the path MTU of its QPs must go through the port. */
static void port_section(struct state *st, void *arg)
{
	const struct function_image *image = arg;
	const uint16_t here = image->fn->config.mtu;
	uint16_t mtu = here;

	state_u16(st, "mtu", &mtu, UINT16_MAX);
	if (st->loading && !st->failed && mtu > here)
		state_refuse(st, "mtu", "%u, but %u here", mtu, here);
}

/* Where no feature of it was negotiated there is only the first pair. */
static void multiqueue_section(struct state *st, void *arg)
{
	struct function_image *image = arg;
	const struct function *fn = image->fn;
	unsigned int i;

	if (!st->loading && !fn->more_on)
		return;
	state_same(st, "max_pairs", fn->config.pairs);
	state_need(st, fn->more_on, "max_pairs", "no feature of it was negotiated");
	mq_io(st, &image->mq, fn->config.pairs);
	for (i = 0; i < 2 * (fn->config.pairs - 1) && !st->failed; i++)
		queue_io(st, fn->more[i], false, &image->has_more[i], &image->more[i]);
	image->mq_known = true;
}

/* Its guest has not reset it yet.  So a process that does not know this must not go on with it. */
static void lost_section(struct state *st, void *arg)
{
	struct function_image *image = arg;

	if (st->loading || image->lost)
		state_bool(st, "lost", &image->lost);
}

static const struct state_section function_sections[] = {
	{ "function", 1, 0, function_section },
	{ "ethernet", 1, 0, ethernet_section },
	{ "port", 1, STATE_SKIPPABLE, port_section },
	{ "multiqueue", 1, STATE_OPTIONAL, multiqueue_section },
	{ "lost", 1, STATE_OPTIONAL, lost_section },
};

static bool function_sections_io(struct state *st, struct function_image *image)
{
	if (!state_sections(st, function_sections, ARRAY_SIZE(function_sections), image))
		return false;
	if (image->fn->more_on && !image->mq_known)
		state_refuse(st, "", "section multiqueue is missing");
	return !st->failed;
}

bool function_save(struct function *fn, struct state *st)
{
	struct function_image image = {
		.fn = fn,
		.filter = fn->filter,
		.offloads = eth_guest_offloads(fn),
		.link_up = fn->link_up,
		.mq = fn->mq.set,
		.stats = fn->stats,
		.lost = fn->lost,
	};
	unsigned int i;

	for (i = 0; i < FUNCTION_MORE; i++)
		image.has_more[i] = fn->more[i];
	for (i = 0; i < FUNCTION_QUEUES; i++)
		image.has_queue[i] = fn->vq[i];
	return function_sections_io(st, &image) && rnic_save(fn->rnic, st) &&
	       state_written(st);
}

static bool function_load_as(struct function *fn, struct state *st, bool move)
{
	struct function_image image = { .fn = fn, .move = move };
	unsigned int i;

	if (!function_sections_io(st, &image) || !rnic_load(fn->rnic, st))
		return false;
	/* One that was paused when its process was replaced is here, without any queue. */
	if (!move && fn->features)
		function_set_here(fn, true);
	image.filter.vlan_on = fn->filter.vlan_on;
	fn->filter = image.filter;
	fn->stats = image.stats;
	fn->link_up = image.link_up;
	fn->lost = image.lost;
	function_port_changed(fn);
	eth_set_guest_offloads(fn, image.offloads);
	if (image.mq_known)
		fn->mq.set = image.mq;
	for (i = 0; i < FUNCTION_MORE; i++)
		if (image.has_more[i])
			virtq_loaded(&image.more[i]);
	for (i = 0; i < FUNCTION_QUEUES; i++)
		if (image.has_queue[i])
			virtq_loaded(&image.queue[i]);
	function_keep(fn);
	if (fn->keep)
		fn->keep->rdma = function_has_roce(fn);
	return true;
}

bool function_load(struct function *fn, struct state *st)
{
	return function_load_as(fn, st, false);
}

uint16_t function_section_known(const char *kind)
{
	const uint16_t version = state_known(function_sections, ARRAY_SIZE(function_sections),
					     kind);

	return version ? version : rnic_section_known(kind);
}

int function_move_save(void *dev, uint8_t **data, size_t *size)
{
	const uint64_t began = clock_ns();
	struct function *fn = dev;
	struct state st;

	state_write(&st);
	if (!function_save(fn, &st)) {
		log_error("%s: not saved: %s", fn->name, st.why);
		state_free(&st);
		return -ENOMEM;
	}
	*data = st.data;
	*size = st.at;
	function_leave(fn);
	log_info("%s: saved, %zu bytes, %.2f ms", fn->name, *size, clock_ms_since(began));
	return 0;
}

int function_move_load(void *dev, const uint8_t *data, size_t size, uint64_t *features)
{
	const uint64_t began = clock_ns();
	struct function *fn = dev;
	struct state st;

	if (!state_read(&st, data, size) || !function_load_as(fn, &st, true)) {
		log_error("%s: not loaded: %s", fn->name, st.why);
		function_device_ops.reset(fn);
		return -EINVAL;
	}
	if (fn->config.pin.copy)
		rnic_parted(fn->rnic);
	else
		rnic_moved(fn->rnic);
	log_info("%s: loaded, %zu bytes, %.2f ms", fn->name, size, clock_ms_since(began));
	fn->moved = true;
	*features = fn->features;
	return 0;
}

/* ------------------------------------------------------------------------- */
/* After a process that was killed                                           */
/* ------------------------------------------------------------------------- */

static void kept_mq_section(struct state *st, void *arg)
{
	struct function_image *image = arg;

	mq_io(st, &image->mq, image->fn->config.pairs);
}

static const struct state_section kept_sections[] = {
	{ "kept", 1, 0, plain_section },
	{ "kept-multiqueue", 1, 0, kept_mq_section },
};

/* The image is checked by being read: the other process may have written anything. */
static int kept_read(struct function_image *image)
{
	struct state from, to = {};
	bool ok;

	state_write(&from);
	ok = state_sections(&from, kept_sections, ARRAY_SIZE(kept_sections), image) &&
	     state_written(&from);
	if (ok)
		ok = state_read(&to, from.data, from.at) &&
		     state_sections(&to, kept_sections, ARRAY_SIZE(kept_sections), image) &&
		     state_read_end(&to);
	if (!ok)
		log_error("%s: not kept: %s", image->fn->name, *to.why ? to.why : from.why);
	state_free(&from);
	return ok ? 0 : -EINVAL;
}

int function_recover(struct function *fn, const struct function_keep *keep)
{
	struct function_image image = {
		.fn = fn,
		.filter = keep->filter,
		.offloads = keep->offloads,
		.mq = keep->mq,
		.link_up = keeper_bool(&keep->link_up),
	};

	/* How much is read by being written: the rest of it is checked by being read. */
	if (image.filter.uni.n > FILTER_MACS_MAX || image.filter.multi.n > FILTER_MACS_MAX) {
		log_error("%s: not kept: %s", fn->name, "too many addresses in its filter");
		return -EINVAL;
	}
	if (image.mq.entries > MQ_TABLE_MAX) {
		log_error("%s: not kept: %s", fn->name, "a table too long");
		return -EINVAL;
	}
	image.mq.rss = keeper_bool(&keep->mq.rss);
	image.filter.uni.overflow = keeper_bool(&keep->filter.uni.overflow);
	image.filter.multi.overflow = keeper_bool(&keep->filter.multi.overflow);
	if (kept_read(&image))
		return -EINVAL;
	image.filter.vlan_on = fn->filter.vlan_on;
	fn->filter = image.filter;
	fn->mq.set = image.mq;
	fn->link_up = image.link_up;
	fn->port.group->cut = keeper_bool(&keep->cut);
	function_port_changed(fn);
	eth_set_guest_offloads(fn, image.offloads);
	fn->lost = keeper_bool(&keep->rdma);
	return 0;
}

void function_look_at_all(struct function *fn)
{
	if (function_rdma_runs(fn))
		rnic_look_at_all(fn->rnic);
}
