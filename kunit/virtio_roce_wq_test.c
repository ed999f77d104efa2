// SPDX-License-Identifier: GPL-2.0
/*
 * Work queues, indirection tables and QPs that spread frames: processes on the whole driver,
 * bound to a function that acts as a device.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define WQ_CAPS		(VIRTIO_IB_DEVICE_RAW_PACKET | VIRTIO_IB_DEVICE_FLOW | \
			 VIRTIO_IB_DEVICE_RSS)

struct wq_resp {
	struct ib_uverbs_ex_create_wq_resp core;
	struct virtio_roce_create_qp_resp drv;
};

static void wq_offer(struct mock *mock)
{
	struct virtio_rdma_ack_query_device *attr = &mock->query_device;

	attr->device_cap_flags |= cpu_to_le64(WQ_CAPS);
	attr->max_flow = cpu_to_le32(4);
	attr->max_wq_tables = cpu_to_le32(MOCK_TABLES);
	attr->max_wq_table_size = cpu_to_le32(MOCK_TABLE_MAX);
}

static struct process *wq_process(struct kunit *test, struct program *prog)
{
	struct mock *mock = mock_device(test, 64);

	wq_offer(mock);
	return process_direct(mock, prog);
}

/* ----- what a process asks for ----- */

static int wq_create_flags(struct process *p, const struct program *prog, u32 max_wr,
			   u32 flags, struct wq_resp *resp)
{
	const struct ib_uverbs_ex_create_wq req = {
		.wq_type = IB_WQT_RQ,
		.pd_handle = prog->pd,
		.cq_handle = prog->cq.handle,
		.max_wr = max_wr,
		.max_sge = 1,
		.create_flags = flags,
	};

	return process_command_ex(p, IB_USER_VERBS_EX_CMD_CREATE_WQ, &req, sizeof(req),
				  NULL, 0, &resp->core, sizeof(resp->core), &resp->drv,
				  sizeof(resp->drv));
}

static int wq_create(struct process *p, const struct program *prog, u32 max_wr,
		     struct wq_resp *resp)
{
	return wq_create_flags(p, prog, max_wr, 0, resp);
}

static int wq_modify(struct process *p, u32 handle, u32 mask, enum ib_wq_state cur,
		     enum ib_wq_state state)
{
	const struct ib_uverbs_ex_modify_wq req = {
		.attr_mask = mask,
		.wq_handle = handle,
		.wq_state = state,
		.curr_wq_state = cur,
	};

	return process_command_ex(p, IB_USER_VERBS_EX_CMD_MODIFY_WQ, &req, sizeof(req),
				  NULL, 0, NULL, 0, NULL, 0);
}

static int wq_destroy(struct process *p, u32 handle)
{
	const struct ib_uverbs_ex_destroy_wq req = { .wq_handle = handle };
	struct ib_uverbs_ex_destroy_wq_resp resp;

	return process_command_ex(p, IB_USER_VERBS_EX_CMD_DESTROY_WQ, &req, sizeof(req),
				  NULL, 0, &resp, sizeof(resp), NULL, 0);
}

static int table_create(struct process *p, u32 log_size, const u32 *wqs, u32 *handle)
{
	struct {
		struct ib_uverbs_ex_create_rwq_ind_table fixed;
		u32 wqs[2 * MOCK_TABLE_MAX];
	} req = { .fixed.log_ind_tbl_size = log_size };
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	size_t size = max(BIT(log_size), 2UL) * sizeof(*wqs);
	int err;

	memcpy(req.wqs, wqs, BIT(log_size) * sizeof(*wqs));
	err = process_command_ex(p, IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL, &req,
				 sizeof(req.fixed) + size, NULL, 0, &resp, sizeof(resp),
				 NULL, 0);
	*handle = resp.ind_tbl_handle;
	return err;
}

static int table_destroy(struct process *p, u32 handle)
{
	const struct ib_uverbs_ex_destroy_rwq_ind_table req = { .ind_tbl_handle = handle };

	return process_command_ex(p, IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL, &req,
				  sizeof(req), NULL, 0, NULL, 0, NULL, 0);
}

static int hash_create(struct process *p, const struct program *prog, u32 table,
		       const void *drv, size_t drv_len,
		       struct ib_uverbs_ex_create_qp_resp *resp)
{
	const struct ib_uverbs_ex_create_qp req = {
		.pd_handle = prog->pd,
		.qp_type = IB_QPT_RAW_PACKET,
		.comp_mask = IB_UVERBS_CREATE_QP_MASK_IND_TABLE,
		.rwq_ind_tbl_handle = table,
	};

	return process_command_ex(p, IB_USER_VERBS_EX_CMD_CREATE_QP, &req, sizeof(req),
				  drv, drv_len, resp, sizeof(*resp), NULL, 0);
}

/* ----- tests ----- */

static void wq_states(struct kunit *test)
{
	struct program prog = {};
	struct process *p = wq_process(test, &prog);
	struct mock *mock = p->mock;
	struct wq_resp wq = {};
	struct mock_qp *made;
	u32 handle;

	KUNIT_ASSERT_EQ(test, 0, wq_create(p, &prog, 30, &wq));
	handle = wq.core.wq_handle;
	made = &mock->qps[wq.core.wqn];
	KUNIT_EXPECT_EQ(test, made->type, VIRTIO_IB_QPT_WQ);
	KUNIT_EXPECT_EQ(test, wq.core.max_wr, 32);
	KUNIT_EXPECT_EQ(test, wq.drv.rq.depth, 32);
	KUNIT_EXPECT_EQ(test, wq.drv.rq.flags, VIRTIO_ROCE_QUEUE_DIRECT);
	KUNIT_EXPECT_NE(test, wq.drv.rq.slots_offset, 0);
	KUNIT_EXPECT_NE(test, wq.drv.page_offset, 0);
	KUNIT_EXPECT_EQ(test, wq.drv.bit, le32_to_cpu(made->direct.bit));

	KUNIT_EXPECT_EQ(test, 0, wq_modify(p, handle, IB_WQ_STATE, 0, IB_WQS_RDY));
	KUNIT_EXPECT_EQ(test, made->state, VIRTIO_IB_QPS_RTR);
	KUNIT_EXPECT_EQ(test, 0, wq_modify(p, handle, IB_WQ_STATE | IB_WQ_CUR_STATE,
					   IB_WQS_RDY, IB_WQS_ERR));
	KUNIT_EXPECT_EQ(test, made->state, VIRTIO_IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, 0, wq_modify(p, handle, IB_WQ_STATE, 0, IB_WQS_RESET));
	KUNIT_EXPECT_EQ(test, made->state, VIRTIO_IB_QPS_RESET);
	/* The device knows which states follow each other. */
	mock->fail[CMD(MODIFY_QP)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -EINVAL, wq_modify(p, handle, IB_WQ_STATE, 0, IB_WQS_ERR));
	mock->fail[CMD(MODIFY_QP)] = 0;

	KUNIT_EXPECT_EQ(test, 0, wq_destroy(p, handle));
	KUNIT_EXPECT_FALSE(test, made->exists);
	process_close_file(p);
	mock_expect_clean(mock);
}

static void wq_refused(struct kunit *test)
{
	struct program prog = {};
	struct process *p = wq_process(test, &prog);
	struct mock *mock = p->mock;
	struct wq_resp wq = {};

	/* More than a ring holds: the device is not even asked. */
	KUNIT_EXPECT_EQ(test, -EINVAL, wq_create(p, &prog, 32769, &wq));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_QP)), 1);
	mock->fail[CMD(CREATE_QP)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, wq_create(p, &prog, 1, &wq));
	mock->fail[CMD(CREATE_QP)] = 0;
	/* A number of another one: nothing of that may be touched. */
	mock->next_qpn = MOCK_ALL_QPS;
	KUNIT_EXPECT_EQ(test, -EPROTO, wq_create(p, &prog, 1, &wq));
	process_close_file(p);
	mock_expect_clean(mock);
}

/* Tags are taken out where the device can, and nothing else is asked of it. */
static void wq_flags(struct kunit *test)
{
	static const u32 bad[] = {
		IB_UVERBS_WQ_FLAGS_SCATTER_FCS,
		IB_UVERBS_WQ_FLAGS_SCATTER_FCS | IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING,
	};
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct wq_resp wq = {};
	struct process *p;
	size_t i;

	mock->query_device.device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_RAW_VLAN);
	wq_offer(mock);
	p = process_direct(mock, &prog);
	KUNIT_ASSERT_EQ(test, 0, wq_create(p, &prog, 4, &wq));
	KUNIT_EXPECT_EQ(test, mock->qps[wq.core.wqn].flags, 0);
	KUNIT_ASSERT_EQ(test, 0, wq_create_flags(p, &prog, 4,
						 IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING, &wq));
	KUNIT_EXPECT_EQ(test, mock->qps[wq.core.wqn].flags, VIRTIO_IB_QP_CVLAN_STRIP);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
				wq_create_flags(p, &prog, 4, bad[i], &wq));
	process_close_file(p);
	mock_expect_clean(mock);
}

static void wq_no_flags(struct kunit *test)
{
	struct program prog = {};
	struct process *p = wq_process(test, &prog);
	struct wq_resp wq = {};

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			wq_create_flags(p, &prog, 4, IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING, &wq));
	process_close_file(p);
	mock_expect_clean(p->mock);
}

static void wq_tables(struct kunit *test)
{
	struct program prog = {};
	struct process *p = wq_process(test, &prog);
	struct mock *mock = p->mock;
	u32 wqs[2 * MOCK_TABLE_MAX] = {}, table[MOCK_TABLES + 1], i;
	struct wq_resp wq[2] = {};

	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, wq_create(p, &prog, 3, &wq[i]));
	for (i = 0; i < ARRAY_SIZE(wqs); i++)
		wqs[i] = wq[i % 2].core.wq_handle;
	KUNIT_ASSERT_EQ(test, 0, table_create(p, 3, wqs, &table[0]));
	KUNIT_EXPECT_EQ(test, mock->tables[0].n, 8);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, mock->tables[0].wqn[i], wq[i % 2].core.wqn);
	KUNIT_EXPECT_EQ(test, -EINVAL, table_create(p, 4, wqs, &table[1]));
	KUNIT_ASSERT_EQ(test, 0, table_create(p, 0, wqs, &table[1]));
	/* More than there are: the device is not even asked. */
	KUNIT_EXPECT_EQ(test, -ENOMEM, table_create(p, 0, wqs, &table[2]));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_WQ_TABLE)), 2);
	KUNIT_EXPECT_EQ(test, -EBUSY, wq_destroy(p, wq[1].core.wq_handle));

	KUNIT_EXPECT_EQ(test, 0, table_destroy(p, table[1]));
	mock->fail[CMD(CREATE_WQ_TABLE)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, table_create(p, 0, wqs, &table[1]));
	mock->fail[CMD(CREATE_WQ_TABLE)] = 0;
	KUNIT_ASSERT_EQ(test, 0, table_create(p, 0, wqs, &table[1]));
	KUNIT_EXPECT_EQ(test, 0, table_destroy(p, table[0]));
	KUNIT_EXPECT_EQ(test, 0, wq_destroy(p, wq[1].core.wq_handle));
	/* The process ends with a table and a work queue. */
	process_close_file(p);
	mock_expect_clean(mock);
}

static void wq_hash(struct kunit *test)
{
	struct virtio_roce_create_qp_req drv[2] = {
		{
			.rx_hash_fields = VIRTIO_RDMA_RX_HASH_SRC_IPV4,
			.rx_hash_function = VIRTIO_RDMA_RX_HASH_TOEPLITZ,
			.key = { 1, 2, 3, [39] = 40 },
		},
	};
	const struct virtio_rdma_cmd_create_rx_hash_qp *req;
	struct ib_uverbs_ex_create_qp_resp resp = {};
	struct program prog = {};
	struct process *p = wq_process(test, &prog);
	struct mock *mock = p->mock;
	struct wq_resp wq = {};
	u32 table;

	KUNIT_ASSERT_EQ(test, 0, wq_create(p, &prog, 3, &wq));
	KUNIT_ASSERT_EQ(test, 0, table_create(p, 0, &wq.core.wq_handle, &table));
	/* Without what the provider adds, with too little of it, with more than is known. */
	KUNIT_EXPECT_EQ(test, -EINVAL, hash_create(p, &prog, table, NULL, 0, &resp));
	KUNIT_EXPECT_EQ(test, -EINVAL, hash_create(p, &prog, table, drv, 40, &resp));
	drv[1].rx_hash_fields = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, hash_create(p, &prog, table, drv, sizeof(drv), &resp));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_RX_HASH_QP)), 0);

	KUNIT_ASSERT_EQ(test, 0, hash_create(p, &prog, table, drv, sizeof(drv[0]), &resp));
	KUNIT_EXPECT_EQ(test, mock->qps[resp.base.qpn].type, VIRTIO_IB_QPT_RX_HASH);
	KUNIT_EXPECT_EQ(test, resp.base.max_send_wr, 0);
	KUNIT_EXPECT_EQ(test, resp.base.max_recv_wr, 0);
	req = (const void *)mock_last(mock, CMD(CREATE_RX_HASH_QP))->req;
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->table), MOCK_TABLE_HANDLE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->fields), VIRTIO_RDMA_RX_HASH_SRC_IPV4);
	KUNIT_EXPECT_EQ(test, req->function, VIRTIO_RDMA_RX_HASH_TOEPLITZ);
	KUNIT_EXPECT_MEMEQ(test, req->key, drv[0].key, sizeof(req->key));

	/* The core keeps what is in use. */
	KUNIT_EXPECT_EQ(test, -EBUSY, table_destroy(p, table));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(p, resp.base.qp_handle));
	KUNIT_EXPECT_EQ(test, mock->tables[0].refs, 0);

	mock->fail[CMD(CREATE_RX_HASH_QP)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, hash_create(p, &prog, table, drv, sizeof(drv[0]),
						   &resp));
	mock->fail[CMD(CREATE_RX_HASH_QP)] = 0;
	mock->next_qpn = MOCK_ALL_QPS;
	KUNIT_EXPECT_EQ(test, -EPROTO, hash_create(p, &prog, table, drv, sizeof(drv[0]),
						   &resp));
	mock->tables[0].refs = 0;
	/* The process ends with one. */
	KUNIT_ASSERT_EQ(test, 0, hash_create(p, &prog, table, drv, sizeof(drv[0]), &resp));
	process_close_file(p);
	mock_expect_clean(mock);
}

static unsigned int wq_fatal;

static void wq_seen(struct ib_event *event, void *context)
{
	wq_fatal += event->event == IB_EVENT_WQ_FATAL;
}

/* Events of work queues that do not exist, are not ready yet, or are ready. */
static void wq_events(struct kunit *test)
{
	struct program prog = {};
	struct process *p = wq_process(test, &prog);
	struct mock *mock = p->mock;
	struct vroce_dev *dev = auxiliary_get_drvdata(&mock->aux.adev);
	struct vroce_hw_qp *hw;
	struct wq_resp wq = {};

	wq_fatal = 0;
	KUNIT_ASSERT_EQ(test, 0, wq_create(p, &prog, 3, &wq));
	hw = xa_load(&dev->qps, wq.core.wqn);
	KUNIT_ASSERT_NOT_NULL(test, hw);
	KUNIT_EXPECT_NULL(test, hw->wq);
	mock_event(mock, VIRTIO_RDMA_EVENT_WQ_FATAL, wq.core.wqn);
	mock_event(mock, VIRTIO_RDMA_EVENT_WQ_FATAL, prog.qp.qpn);
	mock_event(mock, VIRTIO_RDMA_EVENT_WQ_FATAL, U32_MAX);
	KUNIT_ASSERT_EQ(test, 0, wq_modify(p, wq.core.wq_handle, IB_WQ_STATE, 0,
					   IB_WQS_RDY));
	KUNIT_ASSERT_NOT_NULL(test, hw->wq);
	KUNIT_EXPECT_NOT_NULL(test, hw->wq->ibwq.event_handler);
	hw->wq->ibwq.event_handler = wq_seen;
	/* Twice, which a process hears once, until RESET. */
	mock_event(mock, VIRTIO_RDMA_EVENT_WQ_FATAL, wq.core.wqn);
	mock_event(mock, VIRTIO_RDMA_EVENT_WQ_FATAL, wq.core.wqn);
	KUNIT_EXPECT_EQ(test, wq_fatal, 1);
	KUNIT_EXPECT_EQ(test, 0, wq_modify(p, wq.core.wq_handle, IB_WQ_STATE, 0,
					   IB_WQS_RESET));
	mock_event(mock, VIRTIO_RDMA_EVENT_WQ_FATAL, wq.core.wqn);
	KUNIT_EXPECT_EQ(test, wq_fatal, 2);
	KUNIT_EXPECT_EQ(test, 0, wq_destroy(p, wq.core.wq_handle));
	mock_event(mock, VIRTIO_RDMA_EVENT_WQ_FATAL, wq.core.wqn);
	KUNIT_EXPECT_EQ(test, wq_fatal, 2);
	process_close_file(p);
	mock_expect_clean(mock);
}

struct wq_offer_case {
	const char *name;
	u64 without;
	bool no_tables;
	bool offered;
};

static const struct wq_offer_case wq_offer_table[] = {
	{ "all of it", 0, false, true },
	{ "no RSS", VIRTIO_IB_DEVICE_RSS },
	{ "no rules", VIRTIO_IB_DEVICE_FLOW },
	{ "no raw packets", VIRTIO_IB_DEVICE_RAW_PACKET },
	{ "no direct queues", VIRTIO_IB_DEVICE_DIRECT },
	{ "no tables", 0, true },
};

KUNIT_ARRAY_PARAM_DESC(wq_offer, wq_offer_table, name);

static void wq_offered(struct kunit *test)
{
	const struct wq_offer_case *c = test->param_value;
	struct mock *mock = mock_device(test, 64);
	struct ib_device *ibdev;

	wq_offer(mock);
	mock_make_direct(mock);
	mock->query_device.device_cap_flags &= ~cpu_to_le64(c->without);
	if (c->no_tables)
		mock->query_device.max_wq_tables = 0;
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, !!ibdev->ops.create_wq, c->offered);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.rss_caps.max_rwq_indirection_tables,
			c->offered ? MOCK_TABLES : 0);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.rss_caps.max_rwq_indirection_table_size,
			c->offered ? MOCK_TABLE_MAX : 0);
	mock_stop(mock, ibdev);
}

static struct kunit_case wq_cases[] = {
	KUNIT_CASE(wq_states),
	KUNIT_CASE(wq_refused),
	KUNIT_CASE(wq_flags),
	KUNIT_CASE(wq_no_flags),
	KUNIT_CASE(wq_tables),
	KUNIT_CASE(wq_hash),
	KUNIT_CASE(wq_events),
	KUNIT_CASE_PARAM(wq_offered, wq_offer_gen_params),
	{ }
};

static struct kunit_suite wq_suite = {
	.name = "virtio_roce_wq",
	.test_cases = wq_cases,
};

kunit_test_suite(wq_suite);
