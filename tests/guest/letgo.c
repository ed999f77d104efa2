// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * letgo DEVICE GID-INDEX
 *
 * Makes an object of each kind, with a window, a QP in a multicast group, and rules for a QP
 * that spreads frames, and destroys them, the device willing or not.  Says what failed, a line "what: why" each, and exits
 * with 0 if nothing did.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char memory[4096] __attribute__((aligned(4096)));
static int failed;

static void tell(int err, const char *what)
{
	if (!err)
		return;
	failed = 1;
	printf("%s: %s\n", what, strerror(err));
	fflush(stdout);
}

/* An object that cannot be made is not destroyed. */
static void *made(void *object, const char *what)
{
	tell(object ? 0 : errno, what);
	return object;
}

/* Rules with a tag and counters, one of each form of CREATE_FLOW. */
static void rules(struct ibv_context *context, struct ibv_qp *qp)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_action_tag tag;
		struct ibv_flow_spec_counter_action count;
	} __attribute__((packed)) rule = {
		.attr = { .type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof(rule),
			  .num_of_specs = 2, .port = 1 },
		.tag = { .type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(rule.tag), .tag_id = 1 },
		.count = { .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(rule.count) },
	};
	static char bytes[sizeof(rule)] __attribute__((aligned(8)));
	struct ibv_flow_attr plain = { .type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(plain),
				       .port = 1 };
	struct ibv_counter_attach_attr point = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters_init_attr init = {};
	struct ibv_flow *tagged, *sniffer;
	struct ibv_counters *counters;
	uint64_t value;

	counters = made(ibv_create_counters(context, &init), "make counters");
	if (!counters)
		return;
	tell(ibv_attach_counters_point_flow(counters, &point, NULL), "attach");
	rule.count.counters = counters;
	memcpy(bytes, &rule, sizeof(rule));
	tagged = made(ibv_create_flow(qp, (struct ibv_flow_attr *)bytes), "make tagged rule");
	sniffer = made(ibv_create_flow(qp, &plain), "make rule");
	if (tagged) {
		tell(ibv_read_counters(counters, &value, 1, 0), "read counters");
		tell(ibv_destroy_flow(tagged), "destroy rule");
	}
	tell(sniffer ? ibv_destroy_flow(sniffer) : 0, "destroy rule");
	tell(ibv_destroy_counters(counters), "destroy counters");
}

/* A work queue, a table of it, a QP that spreads frames, and rules for that. */
static void frames(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr wq_attr = { .wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1,
					    .pd = pd, .cq = cq };
	struct ibv_rwq_ind_table_init_attr table_attr = {};
	struct ibv_qp_init_attr_ex qp_attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = pd,
	};
	static uint8_t key[40];
	struct ibv_rwq_ind_table *table = NULL;
	struct ibv_qp *qp = NULL;
	struct ibv_wq *wq;

	wq = made(ibv_create_wq(context, &wq_attr), "make WQ");
	if (wq) {
		table_attr.ind_tbl = &wq;
		table = made(ibv_create_rwq_ind_table(context, &table_attr), "make table");
	}
	if (table) {
		qp_attr.rwq_ind_tbl = table;
		qp_attr.rx_hash_conf.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
		qp_attr.rx_hash_conf.rx_hash_key_len = sizeof(key);
		qp_attr.rx_hash_conf.rx_hash_key = key;
		qp_attr.rx_hash_conf.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4;
		qp = made(ibv_create_qp_ex(context, &qp_attr), "make hash QP");
	}
	if (qp) {
		rules(context, qp);
		tell(ibv_destroy_qp(qp), "destroy hash QP");
	}
	tell(table ? ibv_destroy_rwq_ind_table(table) : 0, "destroy table");
	tell(wq ? ibv_destroy_wq(wq) : 0, "destroy WQ");
}

int main(int argc, char **argv)
{
	struct ibv_modify_cq_attr moderate = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 4, .cq_period = 100 },
	};
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 9 } };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr qp_attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_ah_attr path = { .is_global = 1, .port_num = 1 };
	struct ibv_device **devices = ibv_get_device_list(NULL), **device = devices;
	struct ibv_context *context;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	if (argc != 3)
		return 2;
	while (device && *device && strcmp(ibv_get_device_name(*device), argv[1]))
		device++;
	context = device && *device ? ibv_open_device(*device) : NULL;
	if (!made(context, "open"))
		return 1;
	path.grh.sgid_index = atoi(argv[2]);
	tell(ibv_query_gid(context, 1, path.grh.sgid_index, &path.grh.dgid), "query GID");
	pd = made(ibv_alloc_pd(context), "make PD");
	cq = made(ibv_create_cq(context, 16, NULL, NULL, 0), "make CQ");
	if (!pd || !cq)
		return 1;
	mr = made(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE |
			     IBV_ACCESS_MW_BIND), "make MR");
	mw = made(ibv_alloc_mw(pd, IBV_MW_TYPE_1), "make MW");
	srq = made(ibv_create_srq(pd, &srq_attr), "make SRQ");
	ah = made(ibv_create_ah(pd, &path), "make AH");
	qp_attr.send_cq = cq;
	qp_attr.recv_cq = cq;
	qp = made(ibv_create_qp(pd, &qp_attr), "make QP");
	tell(ibv_modify_cq(cq, &moderate), "moderate CQ");
	tell(ibv_req_notify_cq(cq, 0), "notify");
	tell(ibv_query_rt_values_ex(context, &values), "read clock");
	if (qp) {
		tell(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				   IBV_QP_PORT | IBV_QP_QKEY), "modify QP");
		tell(ibv_attach_mcast(qp, &group, 0), "join group");
		tell(ibv_query_qp(qp, &init, IBV_QP_STATE, &qp_attr), "query QP");
		tell(ibv_detach_mcast(qp, &group, 0), "leave group");
		tell(ibv_destroy_qp(qp), "destroy QP");
	}
	frames(context, pd, cq);
	tell(ah ? ibv_destroy_ah(ah) : 0, "destroy AH");
	tell(srq ? ibv_destroy_srq(srq) : 0, "destroy SRQ");
	tell(mw ? ibv_dealloc_mw(mw) : 0, "destroy MW");
	tell(mr ? ibv_dereg_mr(mr) : 0, "destroy MR");
	tell(ibv_destroy_cq(cq), "destroy CQ");
	tell(ibv_dealloc_pd(pd), "destroy PD");
	tell(ibv_close_device(context), "close");
	return failed;
}
