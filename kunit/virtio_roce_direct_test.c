// SPDX-License-Identifier: GPL-2.0
/*
 * Consumers in the kernel on direct queues: the whole driver, bound to a function that
 * acts as a device.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_caps.h"
#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name

/**
 * struct direct - what a consumer in the kernel has
 * @mock: function
 * @ibdev: device
 * @pd: protection domain
 * @cq: completion queue
 * @qp: queue pair
 * @cqn: number of @cq
 * @qpn: number of @qp
 * @events: calls of the completion handler
 * @fatal: events of errors
 * @last: the last of them
 */
struct direct {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	u32 cqn;
	u32 qpn;
	int events;
	int fatal;
	int last;
};

static void direct_event(struct ib_cq *cq, void *context)
{
	((struct direct *)context)->events++;
}

static void direct_fatal(struct ib_event *event, void *context)
{
	struct direct *d = context;

	d->last = event->event;
	d->fatal++;
}

static void direct_close(void *data)
{
	struct direct *d = data;

	if (d->qp)
		KUNIT_EXPECT_EQ(d->mock->test, 0, ib_destroy_qp(d->qp));
	if (d->cq)
		ib_destroy_cq(d->cq);
	if (d->pd)
		ib_dealloc_pd(d->pd);
}

static void direct_state(struct direct *d, enum ib_qp_state state)
{
	/* The driver does not look at the attributes in between. */
	to_vqp(d->qp)->state = state;
}

static struct ib_qp *direct_add_qp(struct direct *d, u32 depth, u32 sges,
				   u32 inline_data)
{
	struct ib_qp_init_attr attr = {
		.event_handler = direct_fatal,
		.qp_context = d,
		.send_cq = d->cq,
		.recv_cq = d->cq,
		.cap = {
			.max_send_wr = depth,
			.max_recv_wr = depth,
			.max_send_sge = sges,
			.max_recv_sge = 1,
			.max_inline_data = inline_data,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	return ib_create_qp(d->pd, &attr);
}

static struct direct *direct_open(struct kunit *test, int cqe, u32 depth)
{
	const struct ib_cq_init_attr attr = { .cqe = cqe, .comp_vector = 1 };
	struct mock *mock = mock_device(test, 64);
	struct direct *d;

	mock_make_direct(mock);
	d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, d);
	d->mock = mock;
	d->ibdev = mock_start(mock);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, direct_close, d));
	d->pd = ib_alloc_pd(d->ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, d->pd);
	d->cq = ib_create_cq(d->ibdev, direct_event, direct_fatal, d, &attr);
	if (IS_ERR(d->cq))
		d->cq = NULL;
	KUNIT_ASSERT_NOT_NULL(test, d->cq);
	d->qp = direct_add_qp(d, depth, 2, 0);
	if (IS_ERR(d->qp))
		d->qp = NULL;
	KUNIT_ASSERT_NOT_NULL(test, d->qp);
	d->qpn = d->qp->qp_num;
	d->cqn = mock->qps[d->qpn].scqn;
	direct_state(d, IB_QPS_RTS);
	return d;
}

static void direct_done(struct direct *d)
{
	struct mock *mock = d->mock;

	kunit_release_action(mock->test, direct_close, d);
	mock_expect_clean(mock);
	mock_stop(mock, d->ibdev);
	KUNIT_EXPECT_NULL(mock->test, mock->doorbells[0]);
}

static int direct_send(struct direct *d, u64 wr_id, int flags)
{
	struct ib_sge sge = { .addr = 0x1000 + wr_id, .length = 10, .lkey = 7 };
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = wr_id,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = flags,
			.ex.imm_data = cpu_to_be32(0x11223344),
		},
		.remote_addr = 0x123456789aULL,
		.rkey = 9,
	};

	return ib_post_send(d->qp, &wr.wr, NULL);
}

static int direct_recv(struct direct *d, u64 wr_id)
{
	struct ib_sge sge = { .addr = 0x2000, .length = 100, .lkey = 8 };
	struct ib_recv_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(d->qp, &wr, NULL);
}

static void direct_sent(struct direct *d, u32 index, u8 status)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = cpu_to_le32(d->qpn),
		.wqe = cpu_to_le32(index),
		.status = status,
		.opcode = VIRTIO_IB_WC_RDMA_WRITE,
	};

	mock_direct_complete(d->mock, d->cqn, &cqe, false);
}

static void direct_received(struct direct *d, u32 index, u32 len)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = cpu_to_le32(d->qpn),
		.wqe = cpu_to_le32(index),
		.byte_len = cpu_to_le32(len),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV,
	};

	mock_direct_complete(d->mock, d->cqn, &cqe, true);
}

static u64 direct_bad(struct direct *d)
{
	return atomic64_read(&to_vdev(d->ibdev)->bad_completions);
}

/* Numbers, sizes and pages are what the specification says; all is given back. */
static void direct_objects(struct kunit *test)
{
	struct direct *d = direct_open(test, 100, 20);
	struct virtio_rdma_qp_direct *qp = &d->mock->qps[d->qpn].direct;

	KUNIT_EXPECT_GE(test, d->cqn, MOCK_CQS);
	KUNIT_EXPECT_GE(test, d->qpn, MOCK_QPS);
	KUNIT_EXPECT_EQ(test, d->mock->cqs[d->cqn].cqe, 128);
	KUNIT_EXPECT_EQ(test, d->mock->cqs[d->cqn].event_vq, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->send_depth), 32);
	KUNIT_EXPECT_EQ(test, qp->send_shift, 6);
	KUNIT_EXPECT_EQ(test, qp->recv_shift, 6);
	KUNIT_EXPECT_EQ(test, d->ibdev->num_comp_vectors, 3);
	KUNIT_EXPECT_EQ(test, d->ibdev->attrs.max_qp, MOCK_ALL_QPS - MOCK_QPS);
	KUNIT_EXPECT_EQ(test, d->ibdev->attrs.max_qp_wr, 32768);
	KUNIT_EXPECT_EQ(test, d->ibdev->attrs.max_cqe, 1 << 22);
	KUNIT_EXPECT_EQ(test, mock_count(d->mock, CMD(ALLOC_DOORBELL)), 1);
	direct_done(d);
}

/* Strides follow from elements and inline data; the largest rings can be had. */
static void direct_sizes(struct kunit *test)
{
	struct direct *d = direct_open(test, 1 << 16, 1);
	struct virtio_rdma_qp_direct *direct;
	struct ib_qp *qp;

	qp = direct_add_qp(d, 32768, 3, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	direct = &d->mock->qps[qp->qp_num].direct;
	KUNIT_EXPECT_EQ(test, direct->send_shift, 7);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(direct->send_depth), 32768);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(direct->send_pages), 1024);
	/* All that a slot has room for is granted. */
	KUNIT_EXPECT_EQ(test, to_vqp(qp)->cap.max_inline_data, 128 - 32);
	KUNIT_EXPECT_NE(test, le32_to_cpu(direct->bit),
			le32_to_cpu(d->mock->qps[d->qpn].direct.bit));
	ib_destroy_qp(qp);

	qp = direct_add_qp(d, 4, 1, 300);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	KUNIT_EXPECT_EQ(test, d->mock->qps[qp->qp_num].direct.send_shift, 9);
	KUNIT_EXPECT_EQ(test, to_vqp(qp)->cap.max_inline_data, 512 - 32);
	ib_destroy_qp(qp);

	KUNIT_EXPECT_TRUE(test, IS_ERR(direct_add_qp(d, 32769, 1, 0)));
	direct_done(d);
}

/* If the device refuses, nothing is left. */
static void direct_refused(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 1);

	d->mock->fail[CMD(CREATE_QP)] = -EREMOTEIO;
	KUNIT_EXPECT_TRUE(test, IS_ERR(direct_add_qp(d, 4, 1, 0)));
	KUNIT_EXPECT_TRUE(test, d->mock->settled[CMD(CREATE_QP)]);
	d->mock->fail[CMD(CREATE_QP)] = 0;
	direct_done(d);
}

/*
 * A device that makes objects with impossible numbers, or does not destroy them, may use
 * their memory, which therefore is not freed.
 */
static void direct_impossible(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = 16 };
	struct direct *d = direct_open(test, 16, 1);
	struct mock *mock = d->mock;
	struct ib_qp *qp;
	struct ib_cq *cq;

	mock->next_cqn = MOCK_ALL_CQS + 5;
	cq = ib_create_cq(d->ibdev, direct_event, NULL, d, &attr);
	KUNIT_ASSERT_TRUE(test, IS_ERR(cq));
	KUNIT_EXPECT_EQ(test, PTR_ERR(cq), -EPROTO);
	KUNIT_EXPECT_TRUE(test, mock_direct_control_lives(mock, CMD(CREATE_CQ)));

	mock->next_qpn = MOCK_ALL_QPS + 3;
	qp = direct_add_qp(d, 1, 1, 0);
	KUNIT_ASSERT_TRUE(test, IS_ERR(qp));
	KUNIT_EXPECT_EQ(test, PTR_ERR(qp), -EPROTO);
	KUNIT_EXPECT_TRUE(test, mock_direct_control_lives(mock, CMD(CREATE_QP)));

	qp = direct_add_qp(d, 1, 1, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	KUNIT_EXPECT_FALSE(test, mock_direct_control_lives(mock, CMD(CREATE_QP)));
	direct_done(d);
}

/*
 * Nor is that of objects whose making a device did not answer, and which was not reset in
 * time either; after a reset it is.
 */
static void direct_not_answered(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = 16 };
	static const int errors[] = { -ENODEV, -ETIMEDOUT };
	struct direct *d = direct_open(test, 16, 1);
	struct mock *mock = d->mock;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		bool lost = errors[i] == -ETIMEDOUT;

		mock->fail[CMD(CREATE_CQ)] = errors[i];
		KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_cq(d->ibdev, direct_event, NULL,
							   d, &attr)), errors[i]);
		KUNIT_EXPECT_EQ(test, mock_direct_control_lives(mock, CMD(CREATE_CQ)), lost);
		KUNIT_EXPECT_TRUE(test, mock->settled[CMD(CREATE_CQ)]);
		mock->fail[CMD(CREATE_QP)] = errors[i];
		KUNIT_EXPECT_EQ(test, PTR_ERR(direct_add_qp(d, 1, 1, 0)), errors[i]);
		KUNIT_EXPECT_EQ(test, mock_direct_control_lives(mock, CMD(CREATE_QP)), lost);
		KUNIT_EXPECT_TRUE(test, mock->settled[CMD(CREATE_QP)]);
	}
	direct_done(d);
}

/* A request is in its slot before the index, and announced by a bit and one doorbell. */
static void direct_post(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	struct mock_qp *qp = &d->mock->qps[d->qpn];
	u32 bit = le32_to_cpu(qp->direct.bit);
	struct virtio_rdma_doorbell_page *page = d->mock->doorbells[0];
	struct virtio_rdma_swqe *swqe;

	KUNIT_ASSERT_EQ(test, 0, direct_send(d, 0x55, IB_SEND_SIGNALED));
	swqe = mock_direct_slot(d->mock, d->qpn, false, 0);
	KUNIT_EXPECT_EQ(test, swqe->opcode, VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM);
	KUNIT_EXPECT_EQ(test, swqe->send_flags, VIRTIO_IB_SEND_SIGNALED);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(swqe->num_sge), 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(swqe->imm_data), 0x11223344);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(swqe->rdma.remote_addr),
			0x123456789aULL);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(swqe->rdma.rkey), 9);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(swqe->sg_list[0].addr), 0x1055);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(swqe->sg_list[0].length), 10);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(swqe->sg_list[0].lkey), 7);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->control->send_producer), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(page->pending[bit / 64]),
			BIT_ULL(bit % 64));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(page->words[0]), BIT_ULL(bit / 64));
	/* The device polls. */
	KUNIT_EXPECT_EQ(test, d->mock->doorbell_vq.kicks, 0);

	/* It took the bits, and wants to be rung. */
	page->pending[bit / 64] = 0;
	page->words[0] = 0;
	page->ring_me = cpu_to_le32(1);
	KUNIT_ASSERT_EQ(test, 0, direct_send(d, 1, 0));
	KUNIT_EXPECT_EQ(test, d->mock->doorbell_vq.kicks, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(page->ring_me), 0);
	/* The bit is still set. */
	page->ring_me = cpu_to_le32(1);
	KUNIT_ASSERT_EQ(test, 0, direct_send(d, 2, 0));
	KUNIT_EXPECT_EQ(test, d->mock->doorbell_vq.kicks, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->control->send_producer), 3);
	direct_done(d);
}

/* A receive request is announced only if the device wants that. */
static void direct_post_recv(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	struct mock_qp *qp = &d->mock->qps[d->qpn];
	struct virtio_rdma_doorbell_page *page = d->mock->doorbells[0];
	struct virtio_rdma_rwqe *rwqe;

	page->ring_me = cpu_to_le32(1);
	KUNIT_ASSERT_EQ(test, 0, direct_recv(d, 1));
	rwqe = mock_direct_slot(d->mock, d->qpn, true, 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rwqe->num_sge), 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rwqe->sg_list[0].length), 100);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->control->recv_producer), 1);
	KUNIT_EXPECT_EQ(test, d->mock->doorbell_vq.kicks, 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(page->words[0]), 0);

	qp->control->recv_wanted = cpu_to_le32(1);
	KUNIT_ASSERT_EQ(test, 0, direct_recv(d, 2));
	KUNIT_EXPECT_EQ(test, d->mock->doorbell_vq.kicks, 1);
	direct_done(d);
}

/* Completions are found by their phase, round after round, and slots are given back. */
static void direct_poll(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 4);
	struct ib_wc wc[4];
	u32 i;

	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test, 0, ib_poll_cq(d->cq, 4, wc));
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, 1000 + i,
						     IB_SEND_SIGNALED));
		KUNIT_ASSERT_EQ(test, 0, direct_recv(d, 2000 + i));
		direct_sent(d, i, VIRTIO_IB_WC_SUCCESS);
		direct_received(d, i, 50);
		KUNIT_ASSERT_EQ(test, 2, ib_poll_cq(d->cq, 4, wc));
		KUNIT_ASSERT_EQ(test, wc[0].wr_id, 1000 + i);
		KUNIT_ASSERT_EQ(test, wc[0].opcode, IB_WC_RDMA_WRITE);
		KUNIT_ASSERT_PTR_EQ(test, wc[0].qp, d->qp);
		KUNIT_ASSERT_EQ(test, wc[1].wr_id, 2000 + i);
		KUNIT_ASSERT_EQ(test, wc[1].byte_len, 50);
		KUNIT_ASSERT_EQ(test, wc[1].status, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, le32_to_cpu(d->mock->cqs[d->cqn].control->consumer),
			200);
	KUNIT_EXPECT_EQ(test, direct_bad(d), 0);
	direct_done(d);
}

/* A ring takes as many requests as it has slots; a later completion frees all before. */
static void direct_full(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 4);
	struct ib_wc wc;
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, i, i == 2 ?
						     IB_SEND_SIGNALED : 0));
	KUNIT_EXPECT_EQ(test, -ENOMEM, direct_send(d, 4, 0));
	direct_sent(d, 2, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, -ENOMEM, direct_send(d, 4, 0));
	KUNIT_ASSERT_EQ(test, 1, ib_poll_cq(d->cq, 1, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 2);
	for (i = 4; i < 7; i++)
		KUNIT_EXPECT_EQ(test, 0, direct_send(d, i, 0));
	KUNIT_EXPECT_EQ(test, -ENOMEM, direct_send(d, 7, 0));
	direct_done(d);
}

/* A completion without an outstanding request never reaches the consumer. */
static void direct_forged(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 4);
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, 0, direct_send(d, 77, IB_SEND_SIGNALED));
	direct_sent(d, 1, VIRTIO_IB_WC_SUCCESS);
	direct_sent(d, 0x10000, VIRTIO_IB_WC_SUCCESS);
	direct_sent(d, -1, VIRTIO_IB_WC_WR_FLUSH_ERR);
	direct_received(d, 0, 5);
	d->qpn++;
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	d->qpn--;
	KUNIT_EXPECT_EQ(test, 0, ib_poll_cq(d->cq, 1, &wc));
	KUNIT_EXPECT_EQ(test, direct_bad(d), 5);
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 1, ib_poll_cq(d->cq, 1, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 77);
	KUNIT_EXPECT_EQ(test, 0, ib_poll_cq(d->cq, 1, &wc));
	KUNIT_EXPECT_EQ(test, direct_bad(d), 6);
	direct_done(d);
}

/* Arming is a store: one event for each, for what was asked. */
static void direct_arm(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	struct ib_wc wc;
	u32 i;

	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, i, IB_SEND_SIGNALED));
	KUNIT_ASSERT_EQ(test, 0, direct_recv(d, 9));
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 0);

	KUNIT_EXPECT_EQ(test, 1, ib_req_notify_cq(d->cq, IB_CQ_NEXT_COMP |
						  IB_CQ_REPORT_MISSED_EVENTS));
	KUNIT_ASSERT_EQ(test, 1, ib_poll_cq(d->cq, 1, &wc));
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_NEXT_COMP |
						  IB_CQ_REPORT_MISSED_EVENTS));
	direct_sent(d, 1, VIRTIO_IB_WC_SUCCESS);
	direct_sent(d, 2, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 1);

	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_SOLICITED));
	direct_sent(d, 3, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 1);
	direct_received(d, 0, 5);
	KUNIT_EXPECT_EQ(test, d->events, 2);
	KUNIT_EXPECT_EQ(test, mock_count(d->mock, CMD(REQ_NOTIFY_CQ)), 0);
	direct_done(d);
}

/* With a small control queue as well, a limit that is announced can be reached. */
static void direct_limits(struct kunit *test)
{
	static const size_t rooms[] = { 150, 300, 700, 1500 };
	struct ib_cq_init_attr cq_attr = {};
	struct ib_qp_init_attr attr = { .qp_type = IB_QPT_RC };
	struct ib_device *ibdev;
	struct mock *mock;
	struct ib_cq *cq;
	struct ib_pd *pd;
	struct ib_qp *qp;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		mock = mock_device(test, 64);
		mock_make_direct(mock);
		mock->query_device.max_direct_wr = cpu_to_le32(4096);
		mock->query_device.max_direct_cqe = cpu_to_le32(1 << 16);
		mock->aux.max_req = rooms[i];
		ibdev = mock_start(mock);
		pd = ib_alloc_pd(ibdev, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pd);
		cq_attr.cqe = ibdev->attrs.max_cqe;
		cq = ib_create_cq(ibdev, NULL, NULL, NULL, &cq_attr);
		KUNIT_EXPECT_FALSE_MSG(test, IS_ERR(cq), "%d completions: %d",
				       cq_attr.cqe, PTR_ERR_OR_ZERO(cq));
		attr.send_cq = cq;
		attr.recv_cq = cq;
		attr.cap = (struct ib_qp_cap) {
			.max_send_wr = ibdev->attrs.max_qp_wr,
			.max_recv_wr = ibdev->attrs.max_qp_wr,
			.max_send_sge = ibdev->attrs.max_send_sge,
			.max_recv_sge = ibdev->attrs.max_recv_sge,
			.max_inline_data = VIRTIO_RDMA_INLINE_SIZE,
		};
		qp = IS_ERR(cq) ? ERR_CAST(cq) : ib_create_qp(pd, &attr);
		KUNIT_EXPECT_FALSE_MSG(test, IS_ERR(qp), "%d requests: %d",
				       ibdev->attrs.max_qp_wr, PTR_ERR_OR_ZERO(qp));
		if (!IS_ERR(qp))
			ib_destroy_qp(qp);
		if (!IS_ERR(cq))
			ib_destroy_cq(cq);
		ib_dealloc_pd(pd);
		mock_stop(mock, ibdev);
	}
}

/* Armed for any completion, and then for solicited ones: any raises an event. */
static void direct_arm_twice(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	u32 i;

	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, i, IB_SEND_SIGNALED));
	KUNIT_ASSERT_EQ(test, 0, direct_recv(d, 9));
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_NEXT_COMP));
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_SOLICITED));
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 1);
	/* With the event all that was asked for is done. */
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_SOLICITED));
	direct_sent(d, 1, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 1);
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_NEXT_COMP));
	direct_sent(d, 2, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 2);
	direct_done(d);
}

/* A completion whose event the driver gets later. */
static void direct_sent_late(struct direct *d, u32 index)
{
	typeof(d->mock->notify) notify = d->mock->notify;

	WRITE_ONCE(d->mock->notify, NULL);
	direct_sent(d, index, VIRTIO_IB_WC_SUCCESS);
	WRITE_ONCE(d->mock->notify, notify);
}

/*
 * An event that is handled late, when the CQ is armed again, is not an answer to that: one
 * processor handles events, and another one polls and arms.
 */
static void direct_arm_with_late_event(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	u32 i;

	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, i, IB_SEND_SIGNALED));
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_NEXT_COMP));
	direct_sent_late(d, 0);
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_NEXT_COMP));
	mock_event(d->mock, VIRTIO_RDMA_EVENT_COMPLETION, d->cqn);
	KUNIT_EXPECT_EQ(test, d->events, 1);

	/* The second arming still waits for any completion. */
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_SOLICITED));
	direct_sent(d, 1, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 2);

	/* Now all is answered. */
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_SOLICITED));
	direct_sent(d, 2, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 2);
	direct_done(d);
}

/* Armings that could not be answered do not count: no event comes that nobody needs. */
static void direct_arm_often(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	u32 i;

	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, i, IB_SEND_SIGNALED));
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_NEXT_COMP));
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 1);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_SOLICITED));
	direct_sent(d, 1, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 1);
	direct_done(d);
}

/* Events that no arming asked for do not take anything from later armings. */
static void direct_arm_after_strays(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	u32 i;

	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, i, IB_SEND_SIGNALED));
	for (i = 0; i < 5; i++)
		mock_event(d->mock, VIRTIO_RDMA_EVENT_COMPLETION, d->cqn);
	KUNIT_EXPECT_EQ(test, d->events, 5);
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_NEXT_COMP));
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(d->cq, IB_CQ_SOLICITED));
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, d->events, 6);
	direct_done(d);
}

/* Events of what does not exist, or of an unknown type, do nothing. */
static void direct_events(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	u32 cqn = d->cqn, qpn = d->qpn;

	mock_event(d->mock, VIRTIO_RDMA_EVENT_COMPLETION, cqn);
	KUNIT_EXPECT_EQ(test, d->events, 1);
	mock_event(d->mock, VIRTIO_RDMA_EVENT_CQ_ERROR, cqn);
	KUNIT_EXPECT_EQ(test, d->fatal, 1);
	mock_event(d->mock, VIRTIO_RDMA_EVENT_QP_FATAL, qpn);
	KUNIT_EXPECT_EQ(test, d->fatal, 2);
	mock_event(d->mock, VIRTIO_RDMA_EVENT_QP_FATAL, qpn + 1);
	mock_event(d->mock, VIRTIO_RDMA_EVENT_COMPLETION, cqn + 1);
	mock_event(d->mock, VIRTIO_RDMA_EVENT_COMPLETION, U32_MAX);
	mock_event(d->mock, 31, cqn);
	mock_event(d->mock, U16_MAX, cqn);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(d->qp));
	ib_destroy_cq(d->cq);
	d->qp = NULL;
	d->cq = NULL;
	mock_event(d->mock, VIRTIO_RDMA_EVENT_COMPLETION, cqn);
	mock_event(d->mock, VIRTIO_RDMA_EVENT_CQ_ERROR, cqn);
	mock_event(d->mock, VIRTIO_RDMA_EVENT_QP_FATAL, qpn);
	KUNIT_EXPECT_EQ(test, d->events, 1);
	KUNIT_EXPECT_EQ(test, d->fatal, 2);
	direct_done(d);
	KUNIT_EXPECT_NULL(test, d->mock->notify);
}

/* Each event of a QP, once, by the core's name. */
static void direct_qp_events(struct kunit *test)
{
	static const struct {
		u16 type;
		enum ib_event_type core;
	} cases[] = {
		{ VIRTIO_RDMA_EVENT_QP_FATAL, IB_EVENT_QP_FATAL },
		{ VIRTIO_RDMA_EVENT_QP_REQ_ERR, IB_EVENT_QP_REQ_ERR },
		{ VIRTIO_RDMA_EVENT_QP_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
		{ VIRTIO_RDMA_EVENT_COMM_EST, IB_EVENT_COMM_EST },
	};
	struct direct *d = direct_open(test, 16, 8);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		mock_event(d->mock, cases[i].type, d->qpn);
		KUNIT_EXPECT_EQ(test, d->fatal, i + 1);
		KUNIT_EXPECT_EQ(test, d->last, cases[i].core);
		mock_event(d->mock, cases[i].type, d->qpn + 1);
		KUNIT_EXPECT_EQ(test, d->fatal, i + 1);
	}
	direct_done(d);
}

static int direct_to_sqd(struct direct *d, int mask, bool notify)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_SQD,
		.en_sqd_async_notify = notify,
	};

	return ib_modify_qp(d->qp, &attr, IB_QP_STATE | mask);
}

/* That the send queue is drained is an event for those who asked for it. */
static void direct_drained(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	struct ib_qp_attr rts = { .qp_state = IB_QPS_RTS };

	KUNIT_ASSERT_EQ(test, 0, direct_to_sqd(d, 0, true));
	mock_event(d->mock, VIRTIO_RDMA_EVENT_SQ_DRAINED, d->qpn);
	KUNIT_EXPECT_EQ(test, d->fatal, 0);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(d->qp, &rts, IB_QP_STATE));
	KUNIT_ASSERT_EQ(test, 0, direct_to_sqd(d, IB_QP_EN_SQD_ASYNC_NOTIFY, true));
	mock_event(d->mock, VIRTIO_RDMA_EVENT_SQ_DRAINED, d->qpn);
	KUNIT_EXPECT_EQ(test, d->fatal, 1);
	KUNIT_EXPECT_EQ(test, d->last, IB_EVENT_SQ_DRAINED);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(d->qp, &rts, IB_QP_STATE));
	KUNIT_ASSERT_EQ(test, 0, direct_to_sqd(d, IB_QP_EN_SQD_ASYNC_NOTIFY, false));
	mock_event(d->mock, VIRTIO_RDMA_EVENT_SQ_DRAINED, d->qpn);
	KUNIT_EXPECT_EQ(test, d->fatal, 1);
	direct_done(d);
}

/* A device without events of QPs cannot be asked for one. */
static void direct_no_qp_events(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);

	to_vdev(d->ibdev)->attr.device_cap_flags &= ~(u64)VIRTIO_IB_DEVICE_QP_EVENTS;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			direct_to_sqd(d, IB_QP_EN_SQD_ASYNC_NOTIFY, true));
	KUNIT_EXPECT_EQ(test, 0, direct_to_sqd(d, 0, false));
	direct_done(d);
}

/* After RESET all indices are 0, and completions from before are forgotten. */
static void direct_reset(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct direct *d = direct_open(test, 16, 4);
	struct mock_qp *qp = &d->mock->qps[d->qpn];
	struct ib_wc wc;
	u32 i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, i, IB_SEND_SIGNALED));
	KUNIT_ASSERT_EQ(test, 0, direct_recv(d, 9));
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(d->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->control->send_producer), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->control->recv_producer), 0);
	KUNIT_EXPECT_EQ(test, 0, ib_poll_cq(d->cq, 1, &wc));

	direct_state(d, IB_QPS_RTS);
	KUNIT_ASSERT_EQ(test, 0, direct_send(d, 50, IB_SEND_SIGNALED));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->control->send_producer), 1);
	direct_sent(d, 0, VIRTIO_IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, 1, ib_poll_cq(d->cq, 1, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 50);
	KUNIT_EXPECT_EQ(test, direct_bad(d), 0);
	direct_done(d);
}

/* A dead device left garbage; all requests are flushed, also those posted later. */
static void direct_flush(struct kunit *test)
{
	struct direct *d = direct_open(test, 16, 8);
	struct mock_cq *cq = &d->mock->cqs[d->cqn];
	struct virtio_rdma_cqe *ring;
	struct ib_wc wc[4];
	u32 i, n = 0;
	int got;

	for (i = 0; i < 8; i++) {
		KUNIT_ASSERT_EQ(test, 0, direct_send(d, i, 0));
		KUNIT_ASSERT_EQ(test, 0, direct_recv(d, 100 + i));
	}
	direct_sent(d, 2, VIRTIO_IB_WC_LOC_PROT_ERR);
	/* Slots behind it seem to be full, too. */
	ring = phys_to_virt(cq->pages[0]);
	for (i = 3; i < 16; i++)
		ring[i].phase = 1;
	d->mock->event(&d->mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	KUNIT_ASSERT_EQ(test, 0, direct_recv(d, 108) == -ENOMEM ? 0 : 1);
	while ((got = ib_poll_cq(d->cq, 4, wc)) > 0)
		for (i = 0; i < got; i++, n++)
			KUNIT_EXPECT_EQ(test, wc[i].status, n ?
					IB_WC_WR_FLUSH_ERR : IB_WC_LOC_PROT_ERR);
	/* Requests 0 to 2, of which one completed; 5 more sends; 8 receives. */
	KUNIT_EXPECT_EQ(test, n, 1 + 5 + 8);
	KUNIT_ASSERT_EQ(test, 0, direct_send(d, 200, 0));
	KUNIT_ASSERT_EQ(test, 1, ib_poll_cq(d->cq, 4, wc));
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 200);
	KUNIT_EXPECT_EQ(test, 0, ib_poll_cq(d->cq, 4, wc));
	direct_done(d);
}

/* Without DIRECT, a kernel's CQ of the RFC is armed by its control block. */
static void direct_control_only(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = 16, .comp_vector = 2 };
	struct mock *mock = mock_device(test, 64);
	struct direct d = { .mock = mock };
	struct mock_cq *cq;
	struct ib_cq *ibcq;
	u32 cqn;

	mock_make_direct(mock);
	mock->query_device.device_cap_flags &=
		~cpu_to_le64(VIRTIO_IB_DEVICE_DIRECT);
	d.ibdev = mock_start(mock);
	ibcq = ib_create_cq(d.ibdev, direct_event, NULL, &d, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ibcq);
	cqn = to_vcq(ibcq)->hw->cqn;
	KUNIT_EXPECT_LT(test, cqn, MOCK_CQS);
	cq = &mock->cqs[cqn];
	KUNIT_EXPECT_EQ(test, cq->event_vq, 2);
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(ibcq, IB_CQ_NEXT_COMP));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(cq->control->arm) & 3,
			VIRTIO_RDMA_ARM_NEXT);
	mock_event(mock, VIRTIO_RDMA_EVENT_COMPLETION, cqn);
	KUNIT_EXPECT_EQ(test, d.events, 1);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(REQ_NOTIFY_CQ)), 0);
	ib_destroy_cq(ibcq);
	mock_expect_clean(mock);
	mock_stop(mock, d.ibdev);
}

/* The GSI has queues of the RFC, and completes to a direct CQ. */
static void direct_gsi(struct kunit *test)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = cpu_to_le32(VIRTIO_NET_ROCE_QPN_GSI),
		.byte_len = cpu_to_le32(40 + 256),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV,
		.wc_flags = cpu_to_le16(VIRTIO_IB_WC_GRH),
	};
	struct mock *mock = mock_device(test, 128);
	struct mock_qp *gsi = &mock->qps[VIRTIO_NET_ROCE_QPN_GSI];
	struct mock_vq *rq = &mock->rq_vqs[VIRTIO_NET_ROCE_QPN_GSI];
	struct ib_device *ibdev;
	u32 i;

	mock_make_direct(mock);
	ibdev = mock_start(mock);
	KUNIT_ASSERT_TRUE(test, gsi->exists);
	KUNIT_ASSERT_GE(test, gsi->rcqn, MOCK_CQS);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(rq), 128);
	/* The completions make no sense to ib_mad, so it posts the buffer again. */
	for (i = 0; i < 300; i++) {
		cqe.wqe = cpu_to_le32(i & 0xffff);
		mock_direct_complete(mock, gsi->rcqn, &cqe, true);
		mock_wait(mock_avail_idx(rq) != 128 + i);
		KUNIT_ASSERT_EQ(test, mock_avail_idx(rq), 128 + i + 1);
	}
	KUNIT_EXPECT_EQ(test, atomic64_read(&to_vdev(ibdev)->bad_completions), 0);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* A capability without its virtqueues is none. */
static void direct_no_virtqueues(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct ib_device *ibdev;

	mock_make_direct(mock);
	mock->aux.num_doorbells = 0;
	ibdev = mock_start(mock);
	KUNIT_EXPECT_FALSE(test, vroce_has_direct(to_vdev(ibdev)));
	KUNIT_EXPECT_TRUE(test, vroce_has_events(to_vdev(ibdev)));
	mock_stop(mock, ibdev);
	mock->aux.num_events = 0;
	mock->aux.num_doorbells = 1;
	ibdev = mock_start(mock);
	KUNIT_EXPECT_FALSE(test, vroce_has_direct(to_vdev(ibdev)));
	KUNIT_EXPECT_FALSE(test, vroce_has_events(to_vdev(ibdev)));
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_qp, MOCK_QPS - 2);
	mock_stop(mock, ibdev);
}

static struct kunit_case direct_cases[] = {
	KUNIT_CASE(direct_objects),
	KUNIT_CASE(direct_sizes),
	KUNIT_CASE(direct_refused),
	KUNIT_CASE(direct_impossible),
	KUNIT_CASE(direct_not_answered),
	KUNIT_CASE(direct_post),
	KUNIT_CASE(direct_post_recv),
	KUNIT_CASE(direct_poll),
	KUNIT_CASE(direct_full),
	KUNIT_CASE(direct_forged),
	KUNIT_CASE(direct_limits),
	KUNIT_CASE(direct_arm),
	KUNIT_CASE(direct_arm_twice),
	KUNIT_CASE(direct_arm_with_late_event),
	KUNIT_CASE(direct_arm_after_strays),
	KUNIT_CASE(direct_arm_often),
	KUNIT_CASE(direct_events),
	KUNIT_CASE(direct_qp_events),
	KUNIT_CASE(direct_drained),
	KUNIT_CASE(direct_no_qp_events),
	KUNIT_CASE(direct_reset),
	KUNIT_CASE(direct_flush),
	KUNIT_CASE(direct_control_only),
	KUNIT_CASE(direct_gsi),
	KUNIT_CASE(direct_no_virtqueues),
	{ }
};

static struct kunit_suite direct_suite = {
	.name = "virtio_roce_direct",
	.test_cases = direct_cases,
};

kunit_test_suite(direct_suite);
