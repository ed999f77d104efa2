// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues, indirection tables, QPs that spread frames.
 */
#include <errno.h>

#include "cmd.h"
#include "util.h"

#define KEY_LEN		40

static struct ib_uverbs_ex_modify_wq modified;
static uint32_t log_size;
static int wqs, tables;

/* Functions of libibverbs that the provider calls */

int ibv_cmd_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr,
		      struct ibv_wq *wq, struct ibv_create_wq *cmd, size_t cmd_size,
		      struct ib_uverbs_ex_create_wq_resp *resp, size_t resp_size)
{
	struct uvirtio_roce_create_wq_resp *r =
		container_of(resp, struct uvirtio_roce_create_wq_resp, ibv_resp);

	if (fake.fail)
		return fake.fail;
	assert_int_equal(cmd_size, sizeof(struct uvirtio_roce_create_wq));
	assert_int_equal(resp_size, sizeof(*r));
	fake_direct_qp(&r->drv_payload);
	wq->context = context;
	wq->cq = attr->cq;
	wq->pd = attr->pd;
	wq->wq_num = fake.qpn;
	attr->max_sge = TEST_SGES;
	wqs++;
	return 0;
}

int ibv_cmd_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr,
		      struct ibv_modify_wq *cmd, size_t cmd_size)
{
	if (fake.fail)
		return fake.fail;
	modified.attr_mask = attr->attr_mask;
	modified.wq_state = attr->wq_state;
	wq->state = attr->wq_state;
	return 0;
}

int ibv_cmd_destroy_wq(struct ibv_wq *wq)
{
	if (fake.fail)
		return fake.fail;
	wqs--;
	return 0;
}

int ibv_cmd_create_rwq_ind_table(struct ibv_context *context,
				 struct ibv_rwq_ind_table_init_attr *attr,
				 struct ibv_rwq_ind_table *table,
				 struct ib_uverbs_ex_create_rwq_ind_table_resp *resp,
				 size_t resp_size)
{
	if (fake.fail)
		return fake.fail;
	log_size = attr->log_ind_tbl_size;
	tables++;
	return 0;
}

int ibv_cmd_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	if (fake.fail)
		return fake.fail;
	tables--;
	return 0;
}

/* What the tests do with them */

static struct ibv_wq *make_wq(struct virtio_roce_cq *cq)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 10,
		.max_sge = 2,
		.pd = &fake.pd,
		.cq = &cq->vcq.cq,
	};
	struct ibv_wq *wq;

	fake.ctx.device_caps = VIRTIO_IB_DEVICE_RSS;
	wq = virtio_roce_create_wq(fake.pd.context, &attr);
	if (wq) {
		assert_int_equal(attr.max_wr, fake.depth);
		assert_int_equal(attr.max_sge, TEST_SGES);
	}
	return wq;
}

static int post(struct ibv_wq *wq, uint64_t wr_id, int num_sge)
{
	struct ibv_sge sge[TEST_SGES + 1] = { { 0x1000, 100, 7 } };
	struct ibv_recv_wr *bad = NULL, wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = num_sge,
	};
	int err = wq->post_recv(wq, &wr, &bad);

	assert_ptr_equal(bad, err ? &wr : NULL);
	return err;
}

static void complete(uint32_t wqn, uint32_t index)
{
	const struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(wqn),
		.wqe = htole32(index),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV,
		.byte_len = htole32(60),
	};

	fake_direct_complete(&cqe);
}

static int poll(struct virtio_roce_cq *cq, struct ibv_wc *wc)
{
	return virtio_roce_poll_cq(&cq->vcq.cq, 1, wc);
}

static int modify(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return virtio_roce_modify_wq(wq, &attr);
}

/* Of such a state the kernel does not hear. */
static void test_bad_states(void **state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_STATE,
				    .wq_state = IBV_WQS_RDY,
				    .curr_wq_state = IBV_WQS_UNKNOWN };
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wq *wq = make_wq(cq);

	assert_non_null(wq);
	modified.attr_mask = 0;
	assert_int_equal(modify(wq, IBV_WQS_UNKNOWN), EINVAL);
	assert_int_equal(virtio_roce_modify_wq(wq, &attr), EINVAL);
	assert_int_equal(modified.attr_mask, 0);
	attr.curr_wq_state = IBV_WQS_RESET;
	assert_int_equal(virtio_roce_modify_wq(wq, &attr), 0);
	assert_int_equal(modified.attr_mask, attr.attr_mask);
	assert_int_equal(virtio_roce_destroy_wq(wq), 0);
	drop_cq(cq);
}

static void test_post(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wq *wq = make_wq(cq);
	const struct virtio_rdma_rwqe *slot;
	struct ibv_wc wc;
	unsigned int i;

	assert_non_null(wq);
	for (i = 0; i < fake.depth; i++)
		assert_int_equal(post(wq, 100 + i, 1), 0);
	assert_int_equal(post(wq, 0, 1), ENOMEM);
	assert_int_equal(post(wq, 0, TEST_SGES + 1), EINVAL);
	assert_int_equal(le32toh(fake.qp_control->recv_producer), fake.depth);
	assert_int_equal(fake.qp_control->send_producer, 0);
	slot = (const void *)fake.rq.slots;
	assert_int_equal(le32toh(slot->num_sge), 1);
	assert_int_equal(le64toh(slot->sg_list[0].addr), 0x1000);
	/* Nobody has asked for doorbells. */
	assert_int_equal(*fake.kick, 0);

	complete(TEST_QPN, 0);
	complete(TEST_QPN, 1);
	for (i = 0; i < 2; i++) {
		assert_int_equal(poll(cq, &wc), 1);
		assert_int_equal(wc.wr_id, 100 + i);
		assert_int_equal(wc.qp_num, TEST_QPN);
		assert_int_equal(wc.byte_len, 60);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
	}
	assert_int_equal(post(wq, 200, 1), 0);
	assert_int_equal(virtio_roce_destroy_cq(&cq->vcq.cq), EBUSY);
	assert_int_equal(virtio_roce_destroy_wq(wq), 0);
	drop_cq(cq);
	assert_int_equal(wqs, 0);
	/* The memory and the doorbell page. */
	assert_int_equal(count_maps(), 3);
}

/* A device that flushes is told by the doorbell. */
static void test_doorbell(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wq *wq = make_wq(cq);

	fake.qp_control->recv_wanted = htole32(1);
	fake.page->ring_me = htole32(1);
	assert_int_equal(post(wq, 1, 1), 0);
	assert_int_equal(*fake.kick, 0x4321);
	assert_true(le64toh(fake.page->pending[fake.bit / 64]) >> fake.bit % 64 & 1);
	assert_int_equal(virtio_roce_destroy_wq(wq), 0);
	drop_cq(cq);
}

static void test_reset(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wq *wq = make_wq(cq);
	struct ibv_wc wc;

	assert_int_equal(post(wq, 1, 1), 0);
	assert_int_equal(post(wq, 2, 1), 0);
	assert_int_equal(modify(wq, IBV_WQS_RDY), 0);
	assert_int_equal(le32toh(fake.qp_control->recv_producer), 2);
	complete(TEST_QPN, 0);
	fake.fail = EINVAL;
	assert_int_equal(modify(wq, IBV_WQS_RESET), EINVAL);
	fake.fail = 0;
	assert_int_equal(le32toh(fake.qp_control->recv_producer), 2);
	/* All that was posted is gone, and what has completed is not polled. */
	assert_int_equal(modify(wq, IBV_WQS_RESET), 0);
	assert_int_equal(fake.qp_control->recv_producer, 0);
	assert_int_equal(poll(cq, &wc), 0);
	assert_int_equal(post(wq, 3, 1), 0);
	complete(TEST_QPN, 0);
	assert_int_equal(poll(cq, &wc), 1);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(virtio_roce_destroy_wq(wq), 0);
	drop_cq(cq);
}

static void test_refused(void **state)
{
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ };
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wq *wq;

	/* A device without them, other types, flags. */
	assert_null(virtio_roce_create_wq(fake.pd.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_RSS;
	attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	attr.create_flags = IBV_WQ_FLAGS_SCATTER_FCS;
	assert_null(virtio_roce_create_wq(fake.pd.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	/* Tags can be taken out, if the device can. */
	attr.create_flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	assert_null(virtio_roce_create_wq(fake.pd.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_RSS | VIRTIO_IB_DEVICE_RAW_VLAN;
	attr.pd = &fake.pd;
	attr.cq = &cq->vcq.cq;
	wq = virtio_roce_create_wq(fake.pd.context, &attr);
	assert_non_null(wq);
	assert_int_equal(virtio_roce_destroy_wq(wq), 0);
	fake.fail = ENOMEM;
	assert_null(make_wq(cq));
	assert_int_equal(errno, ENOMEM);
	fake.fail = 0;
	/* One that the kernel does not destroy goes on. */
	wq = make_wq(cq);
	assert_non_null(wq);
	fake.fail = EBUSY;
	assert_int_equal(virtio_roce_destroy_wq(wq), EBUSY);
	fake.fail = 0;
	assert_int_equal(post(wq, 1, 1), 0);
	assert_int_equal(virtio_roce_destroy_wq(wq), 0);
	drop_cq(cq);
}

static void break_bit(struct virtio_roce_queue *info)
{
	/* It stands before the receive queue in the answer. */
	info[1].stride = 16;
}

static void test_unusable(void **state)
{
	struct virtio_roce_cq *cq = make_cq();

	fake.break_info = break_bit;
	assert_null(make_wq(cq));
	assert_int_equal(errno, EPROTO);
	fake.break_info = NULL;
	assert_int_equal(wqs, 0);
	drop_cq(cq);
}

static void test_tables(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wq *wq = make_wq(cq);
	struct ibv_wq *entries[] = { wq, wq };
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = entries };
	struct ibv_rwq_ind_table *table;

	attr.log_ind_tbl_size = VIRTIO_RDMA_WQ_TABLE_LOG_MAX + 1;
	assert_null(virtio_roce_create_rwq_ind_table(fake.pd.context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.log_ind_tbl_size = 1;
	fake.fail = ENOMEM;
	assert_null(virtio_roce_create_rwq_ind_table(fake.pd.context, &attr));
	assert_int_equal(errno, ENOMEM);
	fake.fail = 0;
	table = virtio_roce_create_rwq_ind_table(fake.pd.context, &attr);
	assert_non_null(table);
	assert_int_equal(log_size, 1);
	fake.fail = EBUSY;
	assert_int_equal(virtio_roce_destroy_rwq_ind_table(table), EBUSY);
	fake.fail = 0;
	assert_int_equal(virtio_roce_destroy_rwq_ind_table(table), 0);
	assert_int_equal(tables, 0);
	assert_int_equal(virtio_roce_destroy_wq(wq), 0);
	drop_cq(cq);
}

static struct ibv_qp *make_hash_qp(struct ibv_rx_hash_conf conf, uint32_t without)
{
	struct ibv_rwq_ind_table table = {};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = &fake.pd,
		.rwq_ind_tbl = &table,
		.rx_hash_conf = conf,
	};

	attr.comp_mask &= ~without;
	return virtio_roce_create_qp_ex(fake.pd.context, &attr);
}

static void test_hash(void **state)
{
	uint8_t key[KEY_LEN] = { 1, 2, 3 };
	struct ibv_rx_hash_conf conf = {
		.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
		.rx_hash_key_len = KEY_LEN,
		.rx_hash_key = key,
		.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_PORT_UDP,
	};
	struct ibv_recv_wr *bad_recv, recv = {};
	struct ibv_send_wr *bad_send, send = {};
	struct ibv_qp *qp;

	assert_null(make_hash_qp(conf, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_RSS;
	assert_null(make_hash_qp(conf, IBV_QP_INIT_ATTR_RX_HASH));
	assert_int_equal(errno, EINVAL);
	conf.rx_hash_key_len--;
	assert_null(make_hash_qp(conf, 0));
	assert_int_equal(errno, EINVAL);
	conf.rx_hash_key_len++;
	conf.rx_hash_fields_mask |= IBV_RX_HASH_IPSEC_SPI;
	assert_null(make_hash_qp(conf, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	conf.rx_hash_fields_mask &= ~(uint64_t)IBV_RX_HASH_IPSEC_SPI;

	qp = make_hash_qp(conf, 0);
	assert_non_null(qp);
	assert_int_equal(fake.rx_hash.rx_hash_fields, VIRTIO_RDMA_RX_HASH_SRC_IPV4 |
			 VIRTIO_RDMA_RX_HASH_DST_PORT_UDP);
	assert_int_equal(fake.rx_hash.rx_hash_function, VIRTIO_RDMA_RX_HASH_TOEPLITZ);
	assert_memory_equal(fake.rx_hash.key, key, KEY_LEN);
	/* It has no queues, in whatever state it says it is. */
	qp->state = IBV_QPS_RTS;
	assert_int_equal(virtio_roce_post_recv(qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(virtio_roce_post_send(qp, &send, &bad_send), EINVAL);
	assert_int_equal(virtio_roce_destroy_qp(qp), 0);

	/* The exclusive or of the first proposal, which has no key. */
	conf = (struct ibv_rx_hash_conf){ .rx_hash_function = 1 << 1 };
	qp = make_hash_qp(conf, 0);
	assert_non_null(qp);
	assert_int_equal(fake.rx_hash.rx_hash_function, VIRTIO_RDMA_RX_HASH_XOR);
	assert_int_equal(virtio_roce_destroy_qp(qp), 0);
	conf.rx_hash_function = 1 << 2;
	assert_null(make_hash_qp(conf, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(fake.qps, 0);
}

static void test_caps(void **state)
{
	struct ibv_rss_caps caps = {};

	virtio_roce_query_rss(&fake.ctx, &caps);
	assert_int_equal(caps.rx_hash_function | caps.rx_hash_fields_mask, 0);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_RSS;
	virtio_roce_query_rss(&fake.ctx, &caps);
	assert_true(caps.rx_hash_function & IBV_RX_HASH_FUNC_TOEPLITZ);
	assert_int_equal(caps.rx_hash_fields_mask, 0xff);
}

int run_wq_tests(void)
{
	const struct CMUnitTest tests[] = {
		TEST_DIRECT(test_bad_states),
		TEST_DIRECT(test_post),
		TEST_DIRECT(test_doorbell),
		TEST_DIRECT(test_reset),
		TEST_DIRECT(test_refused),
		TEST_DIRECT(test_unusable),
		TEST_DIRECT(test_tables),
		TEST_DIRECT(test_hash),
		TEST_DIRECT(test_caps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
