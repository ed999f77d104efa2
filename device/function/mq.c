// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several pairs of Ethernet queues: which one gets a frame.
 *
 * Theory of operation
 *
 * The guest's last command decides how.  After RSS_CONFIG the hash of a frame is looked up
 * in the indirection table, and a frame without a hash goes to the unclassified pair.  After
 * VQ_PAIRS_SET the function steers by itself: a frame goes to the pair from which the guest
 * has last sent one of the same flow.  A flow that the guest has not sent anything of goes
 * to a pair by its hash, so that it keeps its order, and flows are spread.
 *
 * Automatic steering tells flows apart by a hash that both directions have in common, and
 * remembers as many as its table has room for.  Flows that share an entry are steered
 * together; that costs speed and nothing else, and concerns this guest alone.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <linux/virtio_net.h>

#include "base/util.h"
#include "function/mq.h"
#include "virtio/mem.h"

/**
 * struct mq_type - something that can be hashed
 * @type:	VIRTIO_NET_RSS_HASH_TYPE_…
 * @report:	VIRTIO_NET_HASH_REPORT_…
 * @layers:	&enum virtio_rdma_flow_layer that a frame must have
 * @fields:	&enum virtio_rdma_rx_hash_fields
 */
struct mq_type {
	uint32_t type;
	uint16_t report;
	uint32_t layers;
	uint32_t fields;
};

#define TYPE(proto, version)							\
	{ VIRTIO_NET_RSS_HASH_TYPE_ ## proto ## v ## version,			\
	  VIRTIO_NET_HASH_REPORT_ ## proto ## v ## version,			\
	  VIRTIO_RDMA_FLOW_IPV ## version | VIRTIO_RDMA_FLOW_ ## proto,		\
	  RX_HASH_IPV ## version | RX_HASH_ ## proto }
#define TYPE_IP(version)							\
	{ VIRTIO_NET_RSS_HASH_TYPE_IPv ## version,				\
	  VIRTIO_NET_HASH_REPORT_IPv ## version,				\
	  VIRTIO_RDMA_FLOW_IPV ## version,					\
	  RX_HASH_IPV ## version }

/* The first one that is set, and that a frame has, is its type. */
static const struct mq_type mq_types[] = {
	TYPE(TCP, 4),
	TYPE(UDP, 4),
	TYPE_IP(4),
	TYPE(TCP, 6),
	TYPE(UDP, 6),
	TYPE_IP(6),
};

#define MQ_FLOW_FIELDS	(RX_HASH_IPV4 | RX_HASH_IPV6 | RX_HASH_TCP | RX_HASH_UDP)

/* Bytes of a key and its length, of RSS_CONFIG without a table, and of HASH_CONFIG. */
#define MQ_KEY_LEN	1u
#define MQ_RSS_HEAD	(sizeof(uint32_t) + 2 * sizeof(uint16_t))
#define MQ_RSS_REST	(sizeof(uint16_t) + MQ_KEY_LEN)
#define MQ_HASH_HEAD	(sizeof(uint32_t) + 4 * sizeof(uint16_t))

void mq_reset(struct mq *mq)
{
	memset(&mq->set, 0, sizeof(mq->set));
	memset(mq->sender, 0, sizeof(mq->sender));
	mq->set.pairs = 1;
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static uint16_t get_le16(const uint8_t *p)
{
	return p[0] | p[1] << 8;
}

static uint32_t get_le32(const uint8_t *p)
{
	return get_le16(p) | (uint32_t)get_le16(p + 2) << 16;
}

static bool mq_pairs_ok(const struct mq *mq, unsigned int pairs)
{
	return pairs && pairs <= mq->max;
}

int mq_set_pairs(struct mq *mq, uint16_t pairs)
{
	if (!mq_pairs_ok(mq, pairs))
		return -EINVAL;
	mq->set.pairs = pairs;
	mq->set.rss = false;
	return 0;
}

/* At the end of a request: a key with its length.  A shorter key ends with zeroes. */
static int mq_parse_key(struct mq_settings *set, const uint8_t *p, size_t len)
{
	if (set->types & ~MQ_TYPES)
		return -EINVAL;
	if (!len || p[0] > RX_HASH_KEY || len < MQ_KEY_LEN + (size_t)p[0] ||
	    (set->types && !p[0]))
		return -EINVAL;
	memset(set->key, 0, sizeof(set->key));
	memcpy(set->key, p + MQ_KEY_LEN, p[0]);
	return 0;
}

/* Is its size a power of two, and is each entry a pair that there is? */
static bool mq_table_ok(const struct mq_settings *set, unsigned int max)
{
	unsigned int i;

	if (set->entries > MQ_TABLE_MAX || set->entries & (set->entries - 1u) ||
	    set->unclassified >= max)
		return false;
	for (i = 0; i < set->entries; i++)
		if (set->table[i] >= max)
			return false;
	return true;
}

/* Pairs of a table, of which none may be cut off to the eight bits that we have. */
static bool mq_parse_table(struct mq_settings *set, const uint8_t *p)
{
	uint16_t pair, all = 0;
	unsigned int i;

	for (i = 0; i < set->entries; i++) {
		pair = get_le16(p + i * sizeof(pair));
		all |= pair;
		set->table[i] = pair;
	}
	return all <= UINT8_MAX;
}

int mq_set_rss(struct mq *mq, const uint8_t *req, size_t len)
{
	struct mq_settings set = { .rss = true };
	size_t at;

	if (len < MQ_RSS_HEAD + MQ_RSS_REST || get_le16(req + 4) >= MQ_TABLE_MAX)
		return -EINVAL;
	set.types = get_le32(req);
	set.entries = get_le16(req + 4) + 1;
	set.unclassified = get_le16(req + 6);
	at = MQ_RSS_HEAD + set.entries * sizeof(uint16_t);
	if (len < at + MQ_RSS_REST || !mq_parse_table(&set, req + MQ_RSS_HEAD) ||
	    !mq_table_ok(&set, mq->max))
		return -EINVAL;
	set.pairs = get_le16(req + at);
	at += sizeof(uint16_t);
	if (!mq_pairs_ok(mq, set.pairs) || mq_parse_key(&set, req + at, len - at))
		return -EINVAL;
	mq->set = set;
	return 0;
}

int mq_set_hash(struct mq *mq, const uint8_t *req, size_t len)
{
	struct mq_settings set = mq->set;

	if (len < MQ_HASH_HEAD)
		return -EINVAL;
	/* Linux leaves something in the fields that RSS_CONFIG has in between. */
	set.types = get_le32(req);
	if (mq_parse_key(&set, req + MQ_HASH_HEAD, len - MQ_HASH_HEAD))
		return -EINVAL;
	mq->set = set;
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Frames                                                                    */
/* ------------------------------------------------------------------------- */

static void mq_key(union rule_key *key, const struct frame *frame)
{
	uint8_t head[RULE_HEAD];
	size_t len = frame->len < sizeof(head) ? frame->len : sizeof(head);

	len = iov_to_buf(frame->iov, frame->iov_n, frame->off, head, len);
	rule_key(key, head, len);
}

static const struct mq_type *mq_type(const struct mq_settings *set, const union rule_key *key)
{
	const uint32_t layers = rx_hash_layers(key);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mq_types); i++)
		if (set->types & mq_types[i].type &&
		    (layers & mq_types[i].layers) == mq_types[i].layers)
			return &mq_types[i];
	return NULL;
}

static unsigned int mq_flow(const union rule_key *key)
{
	const uint32_t hash = rx_hash_xor(MQ_FLOW_FIELDS, key);

	return (hash ^ hash / MQ_FLOWS) % MQ_FLOWS;
}

/* The number of pairs may have got less since the guest has sent. */
static unsigned int mq_steer(const struct mq *mq, const union rule_key *key)
{
	const unsigned int flow = mq_flow(key), sender = mq->sender[flow];

	return sender && sender <= mq->set.pairs ? sender - 1 : flow % mq->set.pairs;
}

void mq_choose(const struct mq *mq, const struct frame *frame, struct mq_choice *choice)
{
	const struct mq_settings *set = &mq->set;
	const struct mq_type *type;
	union rule_key key;

	*choice = (struct mq_choice) {};
	if (!set->types && !set->rss && set->pairs == 1)
		return;
	mq_key(&key, frame);
	type = mq_type(set, &key);
	if (type) {
		choice->hash = rx_hash_toeplitz(set->key, type->fields, &key);
		choice->report = type->report;
	}
	if (!set->rss)
		choice->pair = mq_steer(mq, &key);
	else if (type)
		choice->pair = set->table[choice->hash & (set->entries - 1u)];
	else
		choice->pair = set->unclassified;
}

void mq_sent(struct mq *mq, const struct frame *frame, unsigned int pair)
{
	union rule_key key;

	if (mq->set.rss || mq->set.pairs == 1)
		return;
	mq_key(&key, frame);
	mq->sender[mq_flow(&key)] = pair + 1;
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

void mq_io(struct state *st, struct mq_settings *set, unsigned int max)
{
	state_u16(st, "pairs", &set->pairs, max);
	state_need(st, set->pairs, "pairs", "none");
	state_bool(st, "rss", &set->rss);
	state_u32(st, "types", &set->types, UINT32_MAX);
	state_need(st, !(set->types & ~MQ_TYPES), "types", "unknown ones");
	state_u16(st, "unclassified", &set->unclassified, max - 1);
	state_u16(st, "entries", &set->entries, MQ_TABLE_MAX);
	state_bytes(st, "table", set->table, set->entries);
	state_need(st, mq_table_ok(set, max) && (set->entries || !set->rss), "table",
		   "not one that a guest can have set");
	state_bytes(st, "key", set->key, sizeof(set->key));
}
