// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters and tags of flow rules.
 */
#include <errno.h>
#include <string.h>

#include "util.h"

static int made;
static uint64_t sums[VIRTIO_ROCE_FLOW_COUNTERS];
static uint32_t read_flags;

/* Functions of libibverbs that the provider calls */

int ibv_cmd_create_counters(struct ibv_context *context,
			    struct ibv_counters_init_attr *attr,
			    struct verbs_counters *vcounters,
			    struct ibv_command_buffer *link)
{
	if (fake.fail)
		return fake.fail;
	vcounters->counters.context = context;
	made++;
	return 0;
}

int ibv_cmd_destroy_counters(struct verbs_counters *vcounters)
{
	if (fake.fail)
		return fake.fail;
	made--;
	return 0;
}

int ibv_cmd_read_counters(struct verbs_counters *vcounters, uint64_t *values,
			  uint32_t num, uint32_t flags, struct ibv_command_buffer *link)
{
	if (fake.fail)
		return fake.fail;
	assert_int_equal(num, VIRTIO_ROCE_FLOW_COUNTERS);
	memcpy(values, sums, sizeof(sums));
	read_flags = flags;
	return 0;
}

static struct ibv_counters *make_counters(void)
{
	struct ibv_counters_init_attr attr = {};
	struct ibv_counters *counters;

	counters = virtio_roce_create_counters(&fake.ctx.vctx.context, &attr);
	assert_non_null(counters);
	return counters;
}

static int attach(struct ibv_counters *counters, enum ibv_counter_description what,
		  uint32_t index)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = what, .index = index };

	return virtio_roce_attach_counters_point_flow(counters, &attr, NULL);
}

/* The application has chosen the places; several values at one are added up. */
static void counters_read(void **state)
{
	struct ibv_counters *counters = make_counters();
	uint64_t values[4] = { 7, 7, 7, 7 };

	sums[VIRTIO_ROCE_FLOW_PACKETS] = 3;
	sums[VIRTIO_ROCE_FLOW_BYTES] = 1ULL << 40;
	assert_int_equal(virtio_roce_read_counters(counters, values, 1, 0), 0);
	assert_int_equal(values[0], 0);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 0), 0);
	assert_int_equal(attach(counters, IBV_COUNTER_PACKETS, 2), 0);
	assert_int_equal(virtio_roce_read_counters(counters, values, 3,
						   IBV_READ_COUNTERS_ATTR_PREFER_CACHED), 0);
	assert_int_equal(read_flags, IBV_READ_COUNTERS_ATTR_PREFER_CACHED);
	assert_int_equal(values[0], 1ULL << 40);
	assert_int_equal(values[1], 0);
	assert_int_equal(values[2], 3);
	assert_int_equal(values[3], 7);
	assert_int_equal(attach(counters, IBV_COUNTER_PACKETS, 2), 0);
	assert_int_equal(virtio_roce_read_counters(counters, values, 4, 0), 0);
	assert_int_equal(values[2], 6);
	assert_int_equal(values[3], 0);
	/* Fewer than it has. */
	assert_int_equal(virtio_roce_read_counters(counters, values, 2, 0), EINVAL);
	assert_int_equal(virtio_roce_read_counters(counters, values, 0, 0), EINVAL);
	fake.fail = EIO;
	assert_int_equal(virtio_roce_read_counters(counters, values, 4, 0), EIO);
	assert_int_equal(virtio_roce_destroy_counters(counters), EIO);
	fake.fail = 0;
	assert_int_equal(virtio_roce_destroy_counters(counters), 0);
	assert_int_equal(made, 0);
}

static void counters_refused(void **state)
{
	struct ibv_counter_attach_attr attr = { .comp_mask = 1 };
	struct ibv_counters *counters = make_counters();
	struct ibv_counters_init_attr init = {};
	struct ibv_flow flow;
	unsigned int i;

	assert_int_equal(virtio_roce_attach_counters_point_flow(counters, &attr, NULL),
			 EOPNOTSUPP);
	attr.comp_mask = 0;
	/* A rule that exists cannot begin to count. */
	assert_int_equal(virtio_roce_attach_counters_point_flow(counters, &attr, &flow),
			 ENOTSUP);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES + 1, 0), ENOTSUP);
	for (i = 0; i < 32; i++)
		assert_int_equal(attach(counters, IBV_COUNTER_BYTES, i), 0);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, i), ENOMEM);
	assert_int_equal(virtio_roce_destroy_counters(counters), 0);
	fake.fail = EOPNOTSUPP;
	assert_null(virtio_roce_create_counters(&fake.ctx.vctx.context, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.fail = 0;
}

/* While there are rules, points cannot be added. */
static void counters_of_rules(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct virtio_roce_qp *qp = make_qp_on(cq, IBV_QPT_RAW_PACKET);
	struct ibv_counters *counters = make_counters();
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_action_tag tag;
		struct ibv_flow_spec_counter_action count;
	} rule = {
		.attr = { .size = sizeof(rule), .num_of_specs = 2, .port = 1 },
		.tag = { .type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(rule.tag) },
		.count = { .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(rule.count),
			   .counters = counters },
	};
	struct ibv_flow *flow;

	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 0), 0);
	flow = virtio_roce_create_flow(&qp->vqp.qp, &rule.attr);
	assert_non_null(flow);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 1), EBUSY);
	fake.fail = EIO;
	assert_null(virtio_roce_create_flow(&qp->vqp.qp, &rule.attr));
	assert_int_equal(virtio_roce_destroy_flow(flow), EIO);
	fake.fail = 0;
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 1), EBUSY);
	assert_int_equal(virtio_roce_destroy_flow(flow), 0);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 1), 0);
	assert_int_equal(virtio_roce_destroy_counters(counters), 0);
	drop_qp(qp);
	drop_cq(cq);
}

/* The tag of a rule is in the completion, if the device has tags. */
static void counters_tag(void **state)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(TEST_QPN),
		.src_qp = htole32(0xfedcba98),
		.byte_len = htole32(60),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV,
	};
	struct ibv_cq_init_attr_ex init = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG };
	struct ibv_poll_cq_attr attr = {};
	struct virtio_roce_cq *cq;
	struct virtio_roce_qp *qp;
	struct ibv_cq_ex *ex;

	assert_null(virtio_roce_create_cq_ex(&fake.ctx.vctx.context, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_FLOW_COUNT;
	ex = virtio_roce_create_cq_ex(&fake.ctx.vctx.context, &init);
	assert_non_null(ex);
	cq = to_vcq_ex(ex);
	qp = make_qp_on(cq, IBV_QPT_RAW_PACKET);
	fake_direct_complete(&cqe);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ibv_wc_read_flow_tag(ex), 0xfedcba98);
	ibv_end_poll(ex);
	drop_qp(qp);
	drop_cq(cq);
}

int run_counters_tests(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counters_read),
		TEST(counters_refused),
		TEST_DIRECT(counters_of_rules),
		TEST_DIRECT(counters_tag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
