// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flowcount DEVICE COUNT MAC...
 *
 * A flow rule for each MAC address: the first one has tag 1, the next one tag 2, and so on, and all
 * count at the same counters.  A rule for the broadcast address only drops and counts.  It
 * prints "ready", and for COUNT frames the tag and length of each; then packets and bytes of
 * all rules, and of the one that drops.  At the end packets and bytes of all but the first
 * rule, which is destroyed: what it has counted stays.
 * (pyverbs knows neither counters nor tags.)
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "open.h"

#define SIZE		2048
#define DEPTH		64
#define RULES		8
#define SECONDS		60

/**
 * struct rule - a rule as libibverbs takes it
 * @attr:	its head
 * @eth:	destination address
 * @tag:	tag, or an action that drops
 * @count:	counters
 */
struct rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	union {
		struct ibv_flow_spec_action_tag tag;
		struct ibv_flow_spec_action_drop drop;
	};
} __attribute__((packed));

static char memory[DEPTH][SIZE];

/* Packets at the first place, bytes at the last of three. */
static struct ibv_counters *new_counters(struct ibv_context *ctx)
{
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counter_attach_attr bytes = {
		.counter_desc = IBV_COUNTER_BYTES,
		.index = 2,
	};
	struct ibv_counters_init_attr attr = {};
	struct ibv_counters *counters = ibv_create_counters(ctx, &attr);

	require(!!counters, "counters");
	errno = ibv_attach_counters_point_flow(counters, &packets, NULL);
	require(!errno, "packets");
	errno = ibv_attach_counters_point_flow(counters, &bytes, NULL);
	require(!errno, "bytes");
	return counters;
}

static void print_counters(struct ibv_counters *counters)
{
	uint64_t values[3];

	errno = ibv_read_counters(counters, values, 3, 0);
	require(!errno, "read");
	printf("%llu %llu\n", (unsigned long long)values[0], (unsigned long long)values[2]);
}

/* With a tag, or one that drops if that is 0. */
static struct ibv_flow *new_rule(struct ibv_qp *qp, const uint8_t *mac, uint32_t tag,
				 struct ibv_counters *counters)
{
	/* The specs of a rule stand behind each other, of different lengths. */
	char bytes[sizeof(struct rule) + sizeof(struct ibv_flow_spec_counter_action)] = {};
	struct rule rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .num_of_specs = 3, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};
	struct ibv_flow_spec_counter_action count = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT,
		.size = sizeof(count),
		.counters = counters,
	};
	struct ibv_flow *flow;
	size_t n = sizeof(rule);

	memcpy(rule.eth.val.dst_mac, mac, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	if (tag) {
		rule.tag.type = IBV_FLOW_SPEC_ACTION_TAG;
		rule.tag.size = sizeof(rule.tag);
		rule.tag.tag_id = tag;
	} else {
		rule.drop.type = IBV_FLOW_SPEC_ACTION_DROP;
		rule.drop.size = sizeof(rule.drop);
		n -= sizeof(rule.tag) - sizeof(rule.drop);
	}
	rule.attr.size = n + sizeof(count);
	memcpy(bytes, &rule, n);
	memcpy(bytes + n, &count, sizeof(count));
	flow = ibv_create_flow(qp, (struct ibv_flow_attr *)bytes);
	require(!!flow, "rule");
	return flow;
}

static struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_recv_wr *bad;
	unsigned int i;

	require(qp && mr, "QP");
	require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), "INIT");
	for (i = 0; i < DEPTH; i++) {
		struct ibv_sge sge = { (uintptr_t)memory[i], SIZE, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		require(!ibv_post_recv(qp, &wr, &bad), "receive");
	}
	attr.qp_state = IBV_QPS_RTR;
	require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
	return qp;
}

static void print_frame(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {};
	time_t end = time(NULL) + SECONDS;

	while (ibv_start_poll(cq, &attr) == ENOENT)
		require(time(NULL) < end, "no frame");
	require(cq->status == IBV_WC_SUCCESS, "status");
	printf("%u %u\n", ibv_wc_read_flow_tag(cq), ibv_wc_read_byte_len(cq));
	ibv_end_poll(cq);
}

int main(int argc, char **argv)
{
	static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = DEPTH,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_FLOW_TAG,
	};
	struct ibv_counters *counters, *dropped;
	struct ibv_flow *flow[RULES], *drop;
	struct ibv_context *ctx;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	uint8_t mac[6];
	int i, n, rules = argc - 3;

	require(rules > 0 && rules <= RULES, "arguments");
	ctx = open_device(argv[1]);
	cq = ctx ? ibv_create_cq_ex(ctx, &cq_attr) : NULL;
	require(!!cq, "CQ");
	qp = new_qp(ibv_alloc_pd(ctx), ibv_cq_ex_to_cq(cq));
	counters = new_counters(ctx);
	dropped = new_counters(ctx);
	for (i = 0; i < rules; i++) {
		n = sscanf(argv[3 + i], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1],
			   &mac[2], &mac[3], &mac[4], &mac[5]);
		require(n == 6, "address");
		flow[i] = new_rule(qp, mac, i + 1, counters);
	}
	drop = new_rule(qp, broadcast, 0, dropped);
	printf("ready\n");
	fflush(stdout);
	for (n = atoi(argv[2]); n; n--)
		print_frame(cq);
	print_counters(counters);
	print_counters(dropped);
	require(!ibv_destroy_flow(flow[0]), "destroy");
	/* Counters stay as long as they have rules. */
	require(ibv_destroy_counters(counters) == EBUSY, "counters of rules are destroyed");
	print_counters(counters);
	for (i = 1; i < rules; i++)
		require(!ibv_destroy_flow(flow[i]), "destroy");
	require(!ibv_destroy_flow(drop), "destroy");
	require(!ibv_destroy_counters(counters), "destroy counters");
	require(!ibv_destroy_counters(dropped), "destroy counters");
	return 0;
}
