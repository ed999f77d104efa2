// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow rules: which frames of the function's port go to RAW_PACKET QPs.
 *
 * Theory of operation
 *
 * A rule is a mask of the fields of a frame, and their values.  Rules with the same
 * priority and the same mask are a group.  A frame is looked up once in each group, by a
 * hash of its fields under the mask, so that the number of rules does not matter; that of
 * groups is bounded.  All groups share one table of buckets, whose hash has a secret key.
 *
 * Groups are tried by priority.  Of those with the same one, that with more bits in its
 * mask comes first.  The first rule that matches takes the frame, unless it only wants a
 * copy.  Default rules are groups behind all others.  Sniffers stand outside of groups: each
 * gets a copy of each frame.  RULE_COPIES QPs get one, at most.
 *
 * A rule counts what it takes.  Frames that it gives to a QP are counted when they are given,
 * as a wire has them; one that it drops is counted as it has come.
 *
 * A frame that a QP of the NIC sends meets its rules, too, but not those that look for
 * nothing: a program that forwards all that it gets would forward its own for ever.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/object/rule.h"

/* A power of two: there is a bucket for each rule. */
#define RULE_BUCKETS	RNIC_FLOWS_MAX

/* Rules of a QP that goes that are destroyed before others get their turn. */
#define RULE_DROP	256

/* Groups come in this order. */
enum rule_rank {
	RULE_RANK_NORMAL,
	RULE_RANK_MC_DEFAULT,
	RULE_RANK_ALL_DEFAULT,
};

/**
 * struct rule_group - rules with the same priority and mask
 * @order:	where it comes: &enum rule_rank and priority
 * @mask:	the mask
 * @bits:	set in it
 * @salt:	of its hash
 * @n:		number of rules
 * @last:	what was looked for last; frames of a flow come one behind the other
 * @bucket:	the bucket of that, or NULL
 */
struct rule_group {
	uint32_t order;
	union rule_key mask;
	unsigned int bits;
	uint64_t salt;
	unsigned int n;
	union rule_key last;
	const struct rule_list *bucket;
};

/**
 * struct rule - a rule
 * @handle:	its handle
 * @serial:	larger than that of all older ones
 * @req:	as it was asked for
 * @tag:	of completions of the frames that it takes
 * @count:	what it has taken
 * @value:	what it looks for, under the mask of @group
 * @group:	its group, or NULL of a sniffer
 * @entry:	of a bucket, or of the sniffers
 * @owned:	of its owner
 */
struct rule {
	uint32_t handle;
	uint64_t serial;
	struct virtio_rdma_cmd_create_flow req;
	uint32_t tag;
	struct rule_count count;
	union rule_key value;
	struct rule_group *group;
	LIST_ENTRY(rule) entry;
	LIST_ENTRY(rule) owned;
};

void rule_table_init(struct rule_table *rules, struct rnic_ctx *ctx)
{
	rules->ctx = ctx;
	hash_key_init(&rules->key);
	LIST_INIT(&rules->sniffers);
}

void rule_table_fini(struct rule_table *rules)
{
	free(rules->bucket);
	obj_table_fini(&rules->objs);
}

/* Most guests have no rules: the table is made for the first one. */
static bool rule_table_ready(struct rule_table *rules)
{
	if (!rules->bucket)
		rules->bucket = calloc(RULE_BUCKETS, sizeof(*rules->bucket));
	if (!rules->bucket)
		return false;
	return rules->objs.max || !obj_table_init(&rules->objs, RNIC_FLOWS_MAX);
}

/* ------------------------------------------------------------------------- */
/* Groups                                                                    */
/* ------------------------------------------------------------------------- */

static int rule_group_compare(const struct rule_group *a, const struct rule_group *b)
{
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	if (a->bits != b->bits)
		return a->bits > b->bits ? -1 : 1;
	return memcmp(&a->mask, &b->mask, sizeof(a->mask));
}

/* Where a group is, or where it would be inserted. */
static unsigned int rule_group_place(const struct rule_table *rules,
				     const struct rule_group *group, bool *found)
{
	unsigned int i;
	int order = 1;

	for (i = 0; i < rules->groups; i++) {
		order = rule_group_compare(rules->group[i], group);
		if (order >= 0)
			break;
	}
	*found = i < rules->groups && !order;
	return i;
}

static struct rule_group *rule_group_get(struct rule_table *rules,
					 const struct rule_group *like)
{
	struct rule_group *group;
	bool found;
	unsigned int i = rule_group_place(rules, like, &found);

	if (found)
		return rules->group[i];
	group = rules->groups < RULE_GROUPS ? malloc(sizeof(*group)) : NULL;
	if (!group)
		return NULL;
	*group = *like;
	group->salt = hash_bytes(&rules->key, &group->mask, sizeof(group->mask)) + group->order;
	memmove(&rules->group[i + 1], &rules->group[i],
		(rules->groups - i) * sizeof(*rules->group));
	rules->group[i] = group;
	rules->groups++;
	return group;
}

static void rule_group_put(struct rule_table *rules, struct rule_group *group)
{
	unsigned int i;
	bool found;

	if (--group->n)
		return;
	i = rule_group_place(rules, group, &found);
	rules->groups--;
	memmove(&rules->group[i], &rules->group[i + 1],
		(rules->groups - i) * sizeof(*rules->group));
	free(group);
}

static struct rule_list *rule_bucket(const struct rule_table *rules,
				     const struct rule_group *group,
				     const union rule_key *value)
{
	const uint64_t hash = hash_bytes(&rules->key, value, sizeof(*value)) ^ group->salt;

	return &rules->bucket[hash % RULE_BUCKETS];
}

static bool rule_is(const struct rule *rule, const struct rule_group *group,
		    const union rule_key *value)
{
	return rule->group == group && !memcmp(&rule->value, value, sizeof(*value));
}

/* ------------------------------------------------------------------------- */
/* Create, destroy                                                           */
/* ------------------------------------------------------------------------- */

/* The group that a request is for, as far as it is known, and the value. */
static void rule_plan(const struct virtio_rdma_cmd_create_flow *req,
		      struct rule_group *group, union rule_key *value)
{
	union rule_key wanted = { .match = req->value };
	unsigned int rank = RULE_RANK_NORMAL;

	*group = (struct rule_group) { .mask = { .match = req->mask } };
	if (req->type == VIRTIO_RDMA_FLOW_MC_DEFAULT) {
		rank = RULE_RANK_MC_DEFAULT;
		group->mask.match.dst_mac[0] = 1;
		wanted.match.dst_mac[0] = 1;
	} else if (req->type == VIRTIO_RDMA_FLOW_ALL_DEFAULT) {
		rank = RULE_RANK_ALL_DEFAULT;
	}
	group->order = rank << 16 | le16toh(req->priority);
	group->bits = rule_key_bits(&group->mask);
	rule_key_mask(value, &wanted, &group->mask);
}

static const char *rule_check(const struct virtio_rdma_cmd_create_flow *req)
{
	static const struct virtio_rdma_flow_match none;

	if (req->type > VIRTIO_RDMA_FLOW_SNIFFER)
		return "unknown type";
	if (req->flags & ~(VIRTIO_RDMA_FLOW_DONT_TRAP | VIRTIO_RDMA_FLOW_DROP))
		return "unknown flags";
	if (req->flags == (VIRTIO_RDMA_FLOW_DONT_TRAP | VIRTIO_RDMA_FLOW_DROP))
		return "frames are dropped or go on";
	if (le32toh(req->mask.layers) & ~VIRTIO_RDMA_FLOW_LAYERS)
		return "unknown layers";
	if (req->type == VIRTIO_RDMA_FLOW_NORMAL)
		return NULL;
	if (memcmp(&req->mask, &none, sizeof(none)) || memcmp(&req->value, &none, sizeof(none)))
		return "only normal rules look for something";
	if (req->type == VIRTIO_RDMA_FLOW_SNIFFER && req->flags)
		return "a sniffer has no flags";
	return NULL;
}

/* Those for the same frames stand together, the oldest one first. */
static bool rule_line_up(struct rule_table *rules, struct rule *rule)
{
	struct rule_list *bucket = rule_bucket(rules, rule->group, &rule->value);
	struct rule *other, *before = NULL, *after = NULL;
	unsigned int same = 0;

	LIST_FOREACH(other, bucket, entry) {
		if (!rule_is(other, rule->group, &rule->value))
			continue;
		same++;
		if (other->serial < rule->serial)
			before = other;
		else if (!after)
			after = other;
	}
	if (same >= RULE_SAME)
		return false;
	if (before)
		LIST_INSERT_AFTER(before, rule, entry);
	else if (after)
		LIST_INSERT_BEFORE(after, rule, entry);
	else
		LIST_INSERT_HEAD(bucket, rule, entry);
	rule->group->n++;
	return true;
}

static const char *rule_enter_sniffer(struct rule_table *rules, struct rule *rule)
{
	struct rule *other, *before = NULL;

	if (rules->sniffers_n == RULE_COPIES)
		return "too many sniffers";
	LIST_FOREACH(other, &rules->sniffers, entry)
		if (other->serial < rule->serial)
			before = other;
	if (before)
		LIST_INSERT_AFTER(before, rule, entry);
	else
		LIST_INSERT_HEAD(&rules->sniffers, rule, entry);
	rules->sniffers_n++;
	return NULL;
}

/* From now on it acts; it has no handle yet, and no owner. */
static const char *rule_enter(struct rule_table *rules, struct rule *rule)
{
	struct rule_group like;

	if (rule->req.type == VIRTIO_RDMA_FLOW_SNIFFER)
		return rule_enter_sniffer(rules, rule);
	rule_plan(&rule->req, &like, &rule->value);
	rule->group = rule_group_get(rules, &like);
	if (!rule->group)
		return "too many masks and priorities";
	if (rule_line_up(rules, rule))
		return NULL;
	/* The group has others: those are the ones that are too many. */
	return "too many rules for the same frames";
}

static void rule_leave(struct rule_table *rules, struct rule *rule)
{
	LIST_REMOVE(rule, entry);
	if (rule->group)
		rule_group_put(rules, rule->group);
	else
		rules->sniffers_n--;
}

static void rule_free(struct rule_table *rules, struct rule *rule)
{
	rule_leave(rules, rule);
	LIST_REMOVE(rule, owned);
	obj_del(&rules->objs, rule->handle);
	free(rule);
}

const char *rule_create(struct rule_table *rules, struct rule_owner *owner,
			const struct virtio_rdma_cmd_create_flow_long *req,
			uint32_t *handle)
{
	const char *why = rule_check(&req->flow);
	struct rule *rule;

	if (!why && req->reserved)
		why = "request has fields that are not known here";
	if (why)
		return why;
	rule = rule_table_ready(rules) ? calloc(1, sizeof(*rule)) : NULL;
	if (!rule)
		return "out of memory";
	rule->req = req->flow;
	rule->tag = le32toh(req->tag);
	rule->serial = rules->serial + 1;
	why = rules->objs.used < rules->objs.max ? rule_enter(rules, rule) :
	      rnic_why(rules->ctx, "all %u flow rules are in use", RNIC_FLOWS_MAX);
	if (why) {
		free(rule);
		return why;
	}
	/* There is room. */
	obj_add(&rules->objs, rule, &rule->handle);
	rules->serial++;
	LIST_INSERT_HEAD(&owner->rules, rule, owned);
	*handle = rule->handle;
	return NULL;
}

const char *rule_destroy(struct rule_table *rules, uint32_t handle)
{
	struct rule *rule = obj_get(&rules->objs, handle);

	if (!rule)
		return "unknown flow rule";
	rule_free(rules, rule);
	return NULL;
}

const char *rule_query(const struct rule_table *rules, uint32_t handle,
		       struct virtio_rdma_ack_query_flow *ack)
{
	const struct rule *rule = obj_get(&rules->objs, handle);

	if (!rule)
		return "unknown flow rule";
	ack->packets = htole64(rule->count.packets);
	ack->bytes = htole64(rule->count.bytes);
	return NULL;
}

bool rule_drop(struct rule_table *rules, struct rule_owner *owner)
{
	unsigned int i;

	for (i = 0; i < RULE_DROP && !LIST_EMPTY(&owner->rules); i++)
		rule_free(rules, LIST_FIRST(&owner->rules));
	return LIST_EMPTY(&owner->rules);
}

bool rule_table_reset(struct rule_table *rules, struct portion *portion)
{
	struct rule *rule;

	while (rules->objs.used && portion_next(portion, rules->objs.max)) {
		rule = obj_at(&rules->objs, portion->at++);
		if (!rule)
			continue;
		rule_free(rules, rule);
		portion->left -= PORTION_OBJECT;
	}
	return !rules->objs.used;
}

/* ------------------------------------------------------------------------- */
/* Find                                                                      */
/* ------------------------------------------------------------------------- */

/* The QP of a rule gets the frame. */
static void rule_add_hit(struct rule *rule, struct rule_hits *hits)
{
	hits->qpn[hits->n] = le32toh(rule->req.qpn);
	hits->tag[hits->n] = rule->tag;
	hits->count[hits->n] = &rule->count;
	hits->n++;
}

/* A rule matches; true if the search ends. */
static bool rule_hit(struct rule *rule, struct rule_hits *hits)
{
	const uint8_t flags = rule->req.flags;

	if (flags & VIRTIO_RDMA_FLOW_DROP)
		hits->dropped = &rule->count;
	else if (hits->n < RULE_COPIES)
		rule_add_hit(rule, hits);
	hits->taken = !(flags & VIRTIO_RDMA_FLOW_DONT_TRAP);
	return hits->taken;
}

/* A value is always in the same bucket, and buckets stay where they are. */
static const struct rule_list *rule_bucket_again(const struct rule_table *rules,
						 struct rule_group *group,
						 const union rule_key *value)
{
	if (!group->bucket || memcmp(&group->last, value, sizeof(*value))) {
		group->last = *value;
		group->bucket = rule_bucket(rules, group, value);
	}
	return group->bucket;
}

static bool rule_find_in(struct rule_table *rules, struct rule_group *group,
			 const union rule_key *key, struct rule_hits *hits)
{
	union rule_key value;
	struct rule *rule;

	rules->looks++;
	rule_key_mask(&value, key, &group->mask);
	LIST_FOREACH(rule, rule_bucket_again(rules, group, &value), entry) {
		rules->looks++;
		if (rule_is(rule, group, &value) && rule_hit(rule, hits))
			return true;
	}
	return false;
}

/* Does a group look for something that was asked for? */
static bool rule_is_asked(const struct rule_group *group, enum rule_for what)
{
	return what == RULE_FOR_PORT ||
	       (group->bits && group->order >> 16 == RULE_RANK_NORMAL);
}

bool rule_find(struct rule_table *rules, const union rule_key *key, enum rule_for what,
	       struct rule_hits *hits)
{
	const uint64_t before = rules->looks;
	struct rule *rule;
	unsigned int i;

	hits->n = 0;
	hits->taken = false;
	hits->dropped = NULL;
	LIST_FOREACH(rule, &rules->sniffers, entry)
		rule_add_hit(rule, hits);
	for (i = 0; i < rules->groups && what != RULE_FOR_SNIFFERS; i++)
		if (rule_is_asked(rules->group[i], what) &&
		    rule_find_in(rules, rules->group[i], key, hits))
			break;
	virtq_charge(rules->looks - before);
	return hits->n || hits->taken;
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

void rule_table_io(struct state *st, struct rule_table *rules)
{
	state_u64(st, "serial", &rules->serial, UINT64_MAX / 2);
	if (state_need(st, !st->loading || rule_table_ready(rules), "serial", "out of memory"))
		obj_table_io(st, &rules->objs);
}

void rule_table_io_end(struct state *st, struct rule_table *rules)
{
	obj_table_io_end(st, &rules->objs);
}

struct rule *rule_next(const struct rule_table *rules, uint32_t *at)
{
	return obj_next(&rules->objs, at);
}

static void rule_load(struct state *st, struct rule_table *rules, const struct rule *from,
		      struct rule_owner *owner)
{
	const char *why = rule_check(&from->req);
	struct rule *rule;

	if (!why && !owner)
		why = "no such RAW_PACKET QP";
	if (!state_need(st, !why, "rule", why) ||
	    !state_need(st, from->serial && from->serial <= rules->serial, "serial",
			"not one of this table"))
		return;
	rule = calloc(1, sizeof(*rule));
	if (!state_need(st, rule, "rule", "out of memory"))
		return;
	*rule = *from;
	if (!obj_put(&rules->objs, rule->handle, rule)) {
		free(rule);
		state_refuse(st, "handle", "it is free, or another one's");
		return;
	}
	why = rule_enter(rules, rule);
	if (why) {
		obj_del(&rules->objs, rule->handle);
		free(rule);
		state_refuse(st, "rule", "%s", why);
		return;
	}
	LIST_INSERT_HEAD(&owner->rules, rule, owned);
}

void rule_io(struct state *st, struct rule_table *rules, struct rule *rule,
	     struct rule_owner *(*owner)(void *arg, uint32_t qpn), void *arg)
{
	struct rule loaded = {};

	if (st->loading)
		rule = &loaded;
	state_u32(st, "handle", &rule->handle, UINT32_MAX);
	state_u64(st, "serial", &rule->serial, UINT64_MAX);
	state_bytes(st, "rule", &rule->req, sizeof(rule->req));
	if (st->version >= RULE_STATE_COUNTS) {
		state_u32(st, "tag", &rule->tag, UINT32_MAX);
		state_u64(st, "packets", &rule->count.packets, UINT64_MAX);
		state_u64(st, "bytes", &rule->count.bytes, UINT64_MAX);
	}
	if (st->loading && !st->failed)
		rule_load(st, rules, rule, owner(arg, le32toh(rule->req.qpn)));
}
