/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Several pairs of Ethernet queues: which one gets a frame.
 *
 * A guest's settings by commands of class VIRTIO_NET_CTRL_MQ are here, and the choice that
 * follows from them.  The virtqueues are those of the function.
 */
#ifndef DEVICE_FUNCTION_MQ_H
#define DEVICE_FUNCTION_MQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ether/frame.h"
#include "rdma/object/rx_hash.h"
#include "state/state.h"

/** MQ_PAIRS_MAX - the most pairs that a function has */
#define MQ_PAIRS_MAX	64u

/** MQ_TABLE_MAX - entries of an indirection table; Linux 6.1 takes no more */
#define MQ_TABLE_MAX	128u

/** MQ_TYPES - what can be hashed: addresses, and ports behind them, of IPv4 and IPv6 */
#define MQ_TYPES \
	(VIRTIO_NET_RSS_HASH_TYPE_IPv4 | VIRTIO_NET_RSS_HASH_TYPE_TCPv4 | \
	 VIRTIO_NET_RSS_HASH_TYPE_UDPv4 | VIRTIO_NET_RSS_HASH_TYPE_IPv6 | \
	 VIRTIO_NET_RSS_HASH_TYPE_TCPv6 | VIRTIO_NET_RSS_HASH_TYPE_UDPv6)

/**
 * MQ_REQ_MAX - bytes of a request, at most
 *
 * Linux 6.12 sends the padding of a structure behind the key, which counts as nothing.
 */
#define MQ_REQ_MAX	(8u + 2 * MQ_TABLE_MAX + 3 + RX_HASH_KEY + 13)

/* Flows that automatic steering tells apart, a power of two. */
#define MQ_FLOWS	1024u

/**
 * struct mq_settings - what the guest has set
 * @types:	VIRTIO_NET_RSS_HASH_TYPE_…: what is hashed
 * @pairs:	that the guest uses, from 1 on
 * @unclassified: with @rss: pair for frames that have no hash
 * @entries:	of @table, a power of two; 0 before the first one is set
 * @rss:	the table chooses, not automatic steering
 * @table:	a pair each
 * @key:	of the Toeplitz function
 */
struct mq_settings {
	uint32_t types;
	uint16_t pairs;
	uint16_t unclassified;
	uint16_t entries;
	bool rss;
	uint8_t table[MQ_TABLE_MAX];
	uint8_t key[RX_HASH_KEY];
};

/**
 * struct mq - how a function chooses
 * @max:	pairs that it has
 * @set:	what the guest has set
 * @sender:	automatic steering: 1 + the pair from which the flow was sent last, or 0
 */
struct mq {
	unsigned int max;
	struct mq_settings set;
	uint8_t sender[MQ_FLOWS];
};

/**
 * struct mq_choice - what becomes of a frame
 * @pair:	that gets it
 * @hash:	its hash, or 0
 * @report:	VIRTIO_NET_HASH_REPORT_…
 */
struct mq_choice {
	unsigned int pair;
	uint32_t hash;
	uint16_t report;
};

/** mq_reset() - one pair is in use, and nothing is set; @mq->max stays */
void mq_reset(struct mq *mq);

/** mq_set_pairs() - carry out VQ_PAIRS_SET: steer automatically; 0 or -EINVAL */
int mq_set_pairs(struct mq *mq, uint16_t pairs);

/**
 * mq_set_rss() - carry out RSS_CONFIG
 * @mq:		function's
 * @req:	request, from anywhere
 * @len:	bytes of it
 *
 * Return: 0, or -EINVAL with nothing changed.
 */
int mq_set_rss(struct mq *mq, const uint8_t *req, size_t len);

/** mq_set_hash() - carry out HASH_CONFIG, as mq_set_rss() */
int mq_set_hash(struct mq *mq, const uint8_t *req, size_t len);

/** mq_choose() - who gets a frame? */
void mq_choose(const struct mq *mq, const struct frame *frame, struct mq_choice *choice);

/** mq_sent() - the guest has sent a frame from @pair: answers go there */
void mq_sent(struct mq *mq, const struct frame *frame, unsigned int pair);

/** mq_io() - save or load what is set; @max is the number of pairs here */
void mq_io(struct state *st, struct mq_settings *set, unsigned int max);

#endif /* DEVICE_FUNCTION_MQ_H */
