/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Flow rules: which frames of the function's port go to RAW_PACKET QPs.
 */
#ifndef DEVICE_RDMA_OBJECT_RULE_H
#define DEVICE_RDMA_OBJECT_RULE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "rdma/object/ctx.h"
#include "rdma/object/obj.h"
#include "rdma/object/rule_key.h"

struct rule;
struct rule_group;

/* Different masks, or priorities, that rules have; each frame is looked up in each. */
#define RULE_GROUPS	64

/* QPs that get one frame, at most. */
#define RULE_COPIES	16

/* Rules for the same frames with the same priority, at most. */
#define RULE_SAME	16

LIST_HEAD(rule_list, rule);

/**
 * struct rule_owner - a QP as its rules know it
 * @rules:	its rules
 */
struct rule_owner {
	struct rule_list rules;
};

/**
 * struct rule_table - the rules of a NIC
 * @ctx:	the NIC's context
 * @objs:	rules by handle; without entries until there is a rule
 * @bucket:	rules but sniffers, by hash of what they look for; NULL likewise
 * @key:	of that hash
 * @group:	groups of rules with the same priority and mask, in the order in which they
 *		are tried
 * @groups:	number of them
 * @sniffers:	rules that get a copy of each frame
 * @sniffers_n:	number of them
 * @serial:	&rule.serial of the newest rule
 * @looks:	groups and rules looked at so far, for tests
 */
struct rule_table {
	struct rnic_ctx *ctx;
	struct obj_table objs;
	struct rule_list *bucket;
	struct hash_key key;
	struct rule_group *group[RULE_GROUPS];
	unsigned int groups;
	struct rule_list sniffers;
	unsigned int sniffers_n;
	uint64_t serial;
	uint64_t looks;
};

/**
 * struct rule_count - what a rule has taken
 * @packets:	frames
 * @bytes:	of them
 */
struct rule_count {
	uint64_t packets;
	uint64_t bytes;
};

/**
 * struct rule_hits - QPs that a frame is for
 * @taken:	nobody else gets it
 * @n:		number of QPs
 * @qpn:	them
 * @tag:	for the completion of each
 * @count:	of the rule of each
 * @dropped:	of the rule that drops it, or NULL
 * @key:	if there are any: fields of the frame
 */
struct rule_hits {
	bool taken;
	unsigned int n;
	uint32_t qpn[RULE_COPIES];
	uint32_t tag[RULE_COPIES];
	struct rule_count *count[RULE_COPIES];
	struct rule_count *dropped;
	union rule_key key;
};

/** rule_count_frame() - a rule takes a frame of @len bytes */
static inline void rule_count_frame(struct rule_count *count, size_t len)
{
	count->packets++;
	count->bytes += len;
}

/** enum rule_for - what frame rules are asked about */
enum rule_for {
	RULE_FOR_PORT,		/* one that has come by the port */
	RULE_FOR_SNIFFERS,	/* likewise, and somebody else has taken it */
	RULE_FOR_OWN,		/* one that a QP of the NIC has sent */
};

/** rule_table_init() - make an empty table */
void rule_table_init(struct rule_table *rules, struct rnic_ctx *ctx);

/** rule_table_fini() - free a table without rules */
void rule_table_fini(struct rule_table *rules);

/** rule_table_reset() - destroy all rules; false if there is more to do */
bool rule_table_reset(struct rule_table *rules, struct portion *portion);

/**
 * rule_create() - make a rule
 * @rules:	rules of the NIC
 * @owner:	of its QP, which is that of @req
 * @req:	request, of either form
 * @handle:	set to its handle
 *
 * Return: NULL, or why not.
 */
const char *rule_create(struct rule_table *rules, struct rule_owner *owner,
			const struct virtio_rdma_cmd_create_flow_long *req,
			uint32_t *handle);

/** rule_query() - what has a rule taken?  Returns NULL, or why there is no answer */
const char *rule_query(const struct rule_table *rules, uint32_t handle,
		       struct virtio_rdma_ack_query_flow *ack);

/** rule_destroy() - destroy a rule; returns NULL, or why not */
const char *rule_destroy(struct rule_table *rules, uint32_t handle);

/** rule_drop() - destroy some rules of a QP, that goes; false if there are more of them */
bool rule_drop(struct rule_table *rules, struct rule_owner *owner);

/** rule_any() - are there rules, and may they act? */
static inline bool rule_any(const struct rule_table *rules)
{
	return rules->objs.used && !rules->ctx->clearing;
}

/**
 * rule_find() - QPs that a frame is for
 * @rules:	rules of the NIC
 * @key:	fields of the frame
 * @what:	which frame it is
 * @hits:	filled in
 *
 * Return: false if nothing is in @hits.
 */
bool rule_find(struct rule_table *rules, const union rule_key *key, enum rule_for what,
	       struct rule_hits *hits);

/** rule_table_io() - save or load a table that has entries, without its rules */
void rule_table_io(struct state *st, struct rule_table *rules);

/** rule_table_io_end() - all rules were saved or loaded */
void rule_table_io_end(struct state *st, struct rule_table *rules);

/** rule_next() - the first rule at index *@at or behind it, or NULL; @at moves behind it */
struct rule *rule_next(const struct rule_table *rules, uint32_t *at);

/**
 * rule_io() - save or load a rule
 * @st:		state
 * @rules:	rules of the NIC
 * @rule:	it, or NULL when loading
 * @owner:	finds the QP with a number when loading, or NULL
 * @arg:	for @owner
 */
void rule_io(struct state *st, struct rule_table *rules, struct rule *rule,
	     struct rule_owner *(*owner)(void *arg, uint32_t qpn), void *arg);

/* Bytes of a rule in a state, at least: a section of version 1 ends with the request. */
#define RULE_STATE_SIZE	(4u + 8 + sizeof(struct virtio_rdma_cmd_create_flow))

/* Version of the section from which on it has tags and counts. */
#define RULE_STATE_COUNTS	2

#endif /* DEVICE_RDMA_OBJECT_RULE_H */
