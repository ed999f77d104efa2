/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The parts of a function share this: its life (function.c), the Ethernet queues
 * (eth.c) and the control queue (ctrlq.c).
 */
#ifndef DEVICE_FUNCTION_PRIV_H
#define DEVICE_FUNCTION_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/loop.h"
#include "base/util.h"
#include "ether/filter.h"
#include "ether/switch.h"
#include "function/function.h"
#include "function/mq.h"
#include "rdma/object/rule.h"
#include "uapi/virtio_net_roce.h"
#include "virtio/virtq.h"

/*
 * The first pair of Ethernet queues, and the control queue.  Where there are more pairs, the
 * control queue has another number.
 */
enum {
	FUNCTION_RX,
	FUNCTION_TX,
	FUNCTION_CTRL,
	FUNCTION_QUEUES,
};

/* Ethernet queues of further pairs. */
#define FUNCTION_MORE	(2 * (MQ_PAIRS_MAX - 1))
_Static_assert(MQ_PAIRS_MAX <= 64, "a word has no bit for each pair");

/**
 * struct ctrlq - the control command that is being carried out
 * @elem:	its buffer
 * @busy:	it goes on in the next round
 */
struct ctrlq {
	struct virtq_elem elem;
	bool busy;
};

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
 * @hdr_len:	bytes of the header of each frame
 * @ctrl_index:	number of the control queue; those of RDMA follow it
 * @tx_offloads: what the guest may leave undone, by &enum offload_bit
 * @link_up:	the cable is plugged in
 * @awake:	its poller is called
 * @step:	what its poller looks at next
 * @filter:	what the guest wants to receive; has its present address
 * @vq:		Ethernet and control queues; NULL while not started
 * @more_on:	a feature was negotiated with which there may be further pairs
 * @more:	the Ethernet queues of further pairs: receive, transmit, and so on
 * @mq:		which pair gets a frame
 * @rx_more:	further pairs that got one and are not told yet
 * @tx_next:	pair whose frames are sent first in the next round, with several
 * @mem:	memory map
 * @stats:	counters
 * @ctrlq:	control command
 * @hits:	who gets the frame being received
 * @keep:	what is known of it, for another process, or NULL
 * @lost:	its objects of RDMA went with a process that was killed: the guest has to
 *		reset the function
 * @inherited:	one of its queues is, and the control queue has not started yet
 * @here:	the guest is served here: it has queues, or was paused
 * @moved:	it was loaded from elsewhere, and has not said so to the network yet
 * @announce:	when it says so once more
 * @announce_left: so many times more
 * @out:	frame being sent
 * @first:	first buffer of a frame being received
 * @rest:	another one of it
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
	size_t hdr_len;
	unsigned int ctrl_index;
	unsigned int tx_offloads;
	bool link_up;
	bool awake;
	unsigned int step;
	struct filter filter;
	struct virtq *vq[FUNCTION_QUEUES];
	bool more_on;
	struct virtq *more[FUNCTION_MORE];
	struct mq mq;
	uint64_t rx_more;
	unsigned int tx_next;
	const struct guest_mem *mem;
	struct function_stats stats;
	struct ctrlq ctrlq;
	struct rule_hits hits;
	struct function_keep *keep;
	bool lost;
	bool inherited;
	bool here;
	bool moved;
	struct loop_timer announce;
	unsigned int announce_left;
	struct virtq_elem out;
	struct virtq_elem first;
	struct virtq_elem rest;
};

/** function_has() - was feature VIRTIO_…_F_… negotiated? */
static inline bool function_has(const struct function *fn, unsigned int feature)
{
	return fn->features & BIT(feature);
}

/**
 * function_has_roce() - was RoCE negotiated?
 * @fn:	function
 *
 * A driver that knows nothing of RoCE may acknowledge its bit as GUEST_USO6.
 */
static inline bool function_has_roce(const struct function *fn)
{
	return function_has(fn, VIRTIO_NET_F_ROCE) &&
	       function_has(fn, VIRTIO_NET_F_CTRL_VQ);
}

/** function_eth_queue() - queue FUNCTION_RX or FUNCTION_TX of a pair, NULL while not started */
static inline struct virtq *function_eth_queue(const struct function *fn, unsigned int pair,
					       unsigned int which)
{
	return pair ? fn->more[2 * (pair - 1) + which] : fn->vq[which];
}

/** function_rdma_runs() - may the RDMA side work? */
static inline bool function_rdma_runs(const struct function *fn)
{
	return fn->vq[FUNCTION_CTRL];
}

#endif /* DEVICE_FUNCTION_PRIV_H */
