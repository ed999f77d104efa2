// SPDX-License-Identifier: GPL-2.0
/*
 * Consumers in the kernel on shared receive queues: the whole driver, bound to a function
 * that acts as a device.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define SRQ_QPS		2
#define SRQ_DEPTH	8

/**
 * struct shared - what a consumer in the kernel has
 * @mock: function
 * @ibdev: device
 * @pd: protection domain
 * @cq: completion queue
 * @srq: shared receive queue
 * @qp: queue pairs
 * @cqn: number of @cq
 * @events: events of the SRQ and its QPs, by type
 */
struct shared {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_srq *srq;
	struct ib_qp *qp[SRQ_QPS];
	u32 cqn;
	int events[32];
};

static void shared_event(struct ib_event *event, void *context)
{
	struct shared *s = context;

	if (event->event < ARRAY_SIZE(s->events))
		s->events[event->event]++;
}

static void shared_close(void *data)
{
	struct shared *s = data;
	int i;

	for (i = 0; i < SRQ_QPS; i++)
		if (s->qp[i])
			KUNIT_EXPECT_EQ(s->mock->test, 0, ib_destroy_qp(s->qp[i]));
	if (s->srq)
		KUNIT_EXPECT_EQ(s->mock->test, 0, ib_destroy_srq_user(s->srq, NULL));
	if (s->cq)
		ib_destroy_cq(s->cq);
	if (s->pd)
		ib_dealloc_pd(s->pd);
}

static struct ib_srq *shared_add_srq(struct shared *s, u32 depth, u32 sges)
{
	struct ib_srq_init_attr attr = {
		.event_handler = shared_event,
		.srq_context = s,
		.attr = { .max_wr = depth, .max_sge = sges },
		.srq_type = IB_SRQT_BASIC,
	};

	return ib_create_srq(s->pd, &attr);
}

static struct ib_qp *shared_add_qp(struct shared *s)
{
	struct ib_qp_init_attr attr = {
		.event_handler = shared_event,
		.qp_context = s,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.srq = s->srq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IB_QPT_RC,
	};

	return ib_create_qp(s->pd, &attr);
}

static struct shared *shared_open(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = 64 };
	struct mock *mock = mock_device(test, 64);
	struct shared *s;
	struct ib_qp *qp;
	int i;

	mock_make_direct(mock);
	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	s->mock = mock;
	s->ibdev = mock_start(mock);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, shared_close, s));
	s->pd = ib_alloc_pd(s->ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s->pd);
	s->cq = ib_create_cq(s->ibdev, NULL, NULL, s, &attr);
	if (IS_ERR(s->cq))
		s->cq = NULL;
	KUNIT_ASSERT_NOT_NULL(test, s->cq);
	s->srq = shared_add_srq(s, SRQ_DEPTH - 1, 2);
	if (IS_ERR(s->srq))
		s->srq = NULL;
	KUNIT_ASSERT_NOT_NULL(test, s->srq);
	for (i = 0; i < SRQ_QPS; i++) {
		qp = shared_add_qp(s);
		KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
		s->qp[i] = qp;
	}
	s->cqn = mock->qps[s->qp[0]->qp_num].rcqn;
	return s;
}

static void shared_done(struct shared *s)
{
	struct mock *mock = s->mock;

	kunit_release_action(mock->test, shared_close, s);
	mock_expect_clean(mock);
	mock_stop(mock, s->ibdev);
}

static int shared_post(struct shared *s, u64 wr_id)
{
	struct ib_sge sge = { .addr = 0x2000 + wr_id, .length = 100, .lkey = 8 };
	struct ib_recv_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_srq_recv(s->srq, &wr, NULL);
}

/* The cookie of the request that was posted as number @index. */
static u32 shared_cookie(struct shared *s, u32 index)
{
	return le32_to_cpu(mock_srq_slot(s->mock, 0, index)->cookie);
}

static void shared_complete(struct shared *s, int qp, u32 cookie, u8 status)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = cpu_to_le32(s->qp[qp]->qp_num),
		.wqe = cpu_to_le32(cookie),
		.byte_len = cpu_to_le32(50),
		.status = status,
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV,
	};

	mock_direct_complete(s->mock, s->cqn, &cqe, false);
}

static void shared_expect(struct shared *s, int qp, u64 wr_id,
			  enum ib_wc_status status)
{
	struct kunit *test = s->mock->test;
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, 1, ib_poll_cq(s->cq, 1, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, wr_id);
	KUNIT_EXPECT_EQ(test, wc.status, status);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	KUNIT_EXPECT_PTR_EQ(test, wc.qp, s->qp[qp]);
}

static int shared_poll(struct shared *s)
{
	struct ib_wc wc;

	return ib_poll_cq(s->cq, 1, &wc);
}

/* Sizes, handles and the form of the QPs are what the specification says. */
static void srq_objects(struct kunit *test)
{
	struct shared *s = shared_open(test);
	const struct virtio_rdma_cmd_create_srq *req = &s->mock->srqs[0].req;
	const struct virtio_rdma_qp_direct *qp =
		&s->mock->qps[s->qp[1]->qp_num].direct;
	struct ib_recv_wr wr = {};
	struct ib_srq_attr attr;
	struct ib_srq *srq;

	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->depth), SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->max_sge), 2);
	KUNIT_EXPECT_EQ(test, req->shift, 6);
	KUNIT_EXPECT_EQ(test, qp->flags, VIRTIO_RDMA_QP_SRQ);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->srq), MOCK_SRQ_HANDLE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->recv_depth), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(qp->recv_pages), 0);
	KUNIT_EXPECT_EQ(test, s->ibdev->attrs.max_srq, MOCK_SRQS);
	KUNIT_EXPECT_EQ(test, s->ibdev->attrs.max_srq_wr, 32768);
	KUNIT_ASSERT_EQ(test, 0, ib_query_srq(s->srq, &attr));
	KUNIT_EXPECT_EQ(test, attr.max_wr, SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, attr.max_sge, 2);
	KUNIT_EXPECT_EQ(test, -EBUSY, ib_destroy_srq_user(s->srq, NULL));
	to_vqp(s->qp[0])->state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_post_recv(s->qp[0], &wr, NULL));

	KUNIT_EXPECT_TRUE(test, IS_ERR(shared_add_srq(s, 32769, 1)));
	KUNIT_EXPECT_TRUE(test, IS_ERR(shared_add_srq(s, 0, 1)));
	KUNIT_EXPECT_TRUE(test, IS_ERR(shared_add_srq(s, 8, 4)));
	s->mock->fail[CMD(CREATE_SRQ)] = -EREMOTEIO;
	KUNIT_EXPECT_TRUE(test, IS_ERR(shared_add_srq(s, 8, 1)));
	s->mock->fail[CMD(CREATE_SRQ)] = 0;
	srq = shared_add_srq(s, 32768, 3);
	KUNIT_ASSERT_FALSE(test, IS_ERR(srq));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(s->mock->srqs[1].req.npages), 512);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_srq_user(srq, NULL));
	shared_done(s);
}

/* Requests complete in any order, at any QP; each once. */
static void srq_out_of_order(struct kunit *test)
{
	struct shared *s = shared_open(test);
	u32 round, i, cookie[SRQ_DEPTH];
	const struct virtio_rdma_rwqe *slot;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < SRQ_DEPTH; i++) {
			KUNIT_ASSERT_EQ(test, 0, shared_post(s, 100 * round + i));
			cookie[i] = shared_cookie(s, SRQ_DEPTH * round + i);
			slot = mock_srq_slot(s->mock, 0, SRQ_DEPTH * round + i);
			KUNIT_EXPECT_EQ(test, le64_to_cpu(slot->sg_list[0].addr),
					0x2000 + 100 * round + i);
		}
		KUNIT_EXPECT_EQ(test, -ENOMEM, shared_post(s, 1));
		KUNIT_EXPECT_EQ(test, le32_to_cpu(s->mock->srqs[0].control->producer),
				SRQ_DEPTH * (round + 1));
		for (i = SRQ_DEPTH; i--; )
			shared_complete(s, i % SRQ_QPS, cookie[i], 0);
		for (i = SRQ_DEPTH; i--; )
			shared_expect(s, i % SRQ_QPS, 100 * round + i,
				      IB_WC_SUCCESS);
	}
	shared_done(s);
}

/* The slot of a request under way is used again, its cookie is not. */
static void srq_one_under_way(struct kunit *test)
{
	struct shared *s = shared_open(test);
	u32 i, first, cookie;

	KUNIT_ASSERT_EQ(test, 0, shared_post(s, 7));
	first = shared_cookie(s, 0);
	for (i = 1; i < 5 * SRQ_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, 0, shared_post(s, 1000 + i));
		cookie = shared_cookie(s, i);
		KUNIT_ASSERT_NE(test, cookie, first);
		shared_complete(s, 1, cookie, 0);
		shared_expect(s, 1, 1000 + i, IB_WC_SUCCESS);
	}
	shared_complete(s, 0, first, VIRTIO_IB_WC_WR_FLUSH_ERR);
	shared_expect(s, 0, 7, IB_WC_WR_FLUSH_ERR);
	shared_done(s);
}

/* Cookies that no request has never reach the consumer. */
static void srq_forged(struct kunit *test)
{
	struct shared *s = shared_open(test);
	u32 cookie;

	KUNIT_ASSERT_EQ(test, 0, shared_post(s, 1));
	cookie = shared_cookie(s, 0);
	shared_complete(s, 0, cookie ^ 1, 0);
	shared_complete(s, 0, SRQ_DEPTH, 0);
	shared_complete(s, 0, U32_MAX, VIRTIO_IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, 0, shared_poll(s));
	shared_complete(s, 0, cookie, 0);
	shared_complete(s, 0, cookie, 0);
	shared_expect(s, 0, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0, shared_poll(s));
	KUNIT_EXPECT_EQ(test, 4,
			atomic64_read(&to_vdev(s->ibdev)->bad_completions));
	shared_done(s);
}

/* Completions of a QP that is reset or gone are skipped; their requests are free. */
static void srq_forgotten(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct shared *s = shared_open(test);
	u32 i, round, index = 0;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < SRQ_DEPTH; i++)
			KUNIT_ASSERT_EQ(test, 0, shared_post(s, i));
		for (i = 0; i < SRQ_DEPTH; i++)
			shared_complete(s, i % 2, shared_cookie(s, index++), 0);
		if (round) {
			KUNIT_ASSERT_EQ(test, 0, ib_destroy_qp(s->qp[0]));
			s->qp[0] = NULL;
		} else {
			KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(s->qp[0], &attr,
							      IB_QP_STATE));
		}
		for (i = 1; i < SRQ_DEPTH; i += 2)
			shared_expect(s, 1, i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, 0, shared_poll(s));
	}
	for (i = 0; i < SRQ_DEPTH; i++)
		KUNIT_EXPECT_EQ(test, 0, shared_post(s, i));
	KUNIT_EXPECT_EQ(test, -ENOMEM, shared_post(s, i));
	shared_done(s);
}

/* A request that is refused takes no cookie; those before it are posted. */
static void srq_bad_post(struct kunit *test)
{
	struct shared *s = shared_open(test);
	struct ib_sge sge[3] = {};
	struct ib_recv_wr bad = { .wr_id = 2, .sg_list = sge, .num_sge = 3 };
	struct ib_recv_wr wr = { .wr_id = 1, .next = &bad };
	const struct ib_recv_wr *bad_wr;
	int i;

	KUNIT_EXPECT_EQ(test, -EINVAL, ib_post_srq_recv(s->srq, &wr, &bad_wr));
	KUNIT_EXPECT_PTR_EQ(test, bad_wr, (const struct ib_recv_wr *)&bad);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(s->mock->srqs[0].control->producer), 1);
	for (i = 1; i < SRQ_DEPTH; i++)
		KUNIT_EXPECT_EQ(test, 0, shared_post(s, i));
	shared_done(s);
}

/* The limit, and events, of which those of nothing do nothing. */
static void srq_events(struct kunit *test)
{
	struct ib_srq_attr attr = { .srq_limit = 5 };
	struct shared *s = shared_open(test);
	u32 qpn = s->qp[0]->qp_num;

	KUNIT_ASSERT_EQ(test, 0, ib_modify_srq(s->srq, &attr, IB_SRQ_LIMIT));
	KUNIT_EXPECT_EQ(test, s->mock->srqs[0].limit, 5);
	attr.srq_limit = 0;
	KUNIT_ASSERT_EQ(test, 0, ib_query_srq(s->srq, &attr));
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 5);
	attr.srq_limit = SRQ_DEPTH + 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_modify_srq(s->srq, &attr, IB_SRQ_LIMIT));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			ib_modify_srq(s->srq, &attr, IB_SRQ_MAX_WR));

	mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_LIMIT, MOCK_SRQ_HANDLE);
	mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_ERROR, MOCK_SRQ_HANDLE);
	mock_event(s->mock, VIRTIO_RDMA_EVENT_QP_LAST_WQE, qpn);
	mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_LIMIT, MOCK_SRQ_HANDLE + 1);
	mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_ERROR, U32_MAX);
	mock_event(s->mock, VIRTIO_RDMA_EVENT_QP_LAST_WQE, 0);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_SRQ_LIMIT_REACHED], 1);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_SRQ_ERR], 1);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_QP_LAST_WQE_REACHED], 1);
	shared_close(s);
	memset(s->qp, 0, sizeof(s->qp));
	s->srq = NULL;
	s->cq = NULL;
	s->pd = NULL;
	mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_LIMIT, MOCK_SRQ_HANDLE);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_SRQ_LIMIT_REACHED], 1);
	shared_done(s);
}

/* A repeated event is told once, or the process's list of events grows without end. */
static void srq_events_once(struct kunit *test)
{
	struct ib_srq_attr attr = { .srq_limit = 5 };
	struct shared *s = shared_open(test);
	struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	u32 qpn = s->qp[0]->qp_num;
	int i;

	for (i = 0; i < 3; i++)
		mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_LIMIT, MOCK_SRQ_HANDLE);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_SRQ_LIMIT_REACHED], 0);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_srq(s->srq, &attr, IB_SRQ_LIMIT));
	for (i = 0; i < 3; i++) {
		mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_LIMIT, MOCK_SRQ_HANDLE);
		mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_ERROR, MOCK_SRQ_HANDLE);
		mock_event(s->mock, VIRTIO_RDMA_EVENT_QP_LAST_WQE, qpn);
		mock_event(s->mock, VIRTIO_RDMA_EVENT_QP_FATAL, qpn);
	}
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_SRQ_LIMIT_REACHED], 1);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_SRQ_ERR], 1);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_QP_LAST_WQE_REACHED], 1);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_QP_FATAL], 1);
	/* All begins anew. */
	KUNIT_ASSERT_EQ(test, 0, ib_modify_srq(s->srq, &attr, IB_SRQ_LIMIT));
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(s->qp[0], &reset, IB_QP_STATE));
	mock_event(s->mock, VIRTIO_RDMA_EVENT_SRQ_LIMIT, MOCK_SRQ_HANDLE);
	mock_event(s->mock, VIRTIO_RDMA_EVENT_QP_FATAL, qpn);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_SRQ_LIMIT_REACHED], 2);
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_QP_FATAL], 2);
	shared_done(s);
}

/* The requested size of a receive queue is ignored: there is none. */
static void srq_no_receive_queue(struct kunit *test)
{
	struct shared *s = shared_open(test);
	struct ib_qp_init_attr attr = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.srq = s->srq,
		.cap = {
			.max_send_wr = 4,
			.max_send_sge = 1,
			.max_recv_wr = 1000000,
			.max_recv_sge = 1000,
		},
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(s->pd, &attr);

	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	KUNIT_EXPECT_EQ(test, attr.cap.max_recv_wr, 0);
	KUNIT_EXPECT_EQ(test, attr.cap.max_recv_sge, 0);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	attr.srq = NULL;
	attr.cap.max_recv_wr = 1000000;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(ib_create_qp(s->pd, &attr)));
	shared_done(s);
}

/* A device that keeps an SRQ of the kernel is reset, like one that keeps a QP. */
static void srq_refused(struct kunit *test)
{
	struct shared *s = shared_open(test);

	KUNIT_ASSERT_EQ(test, 0, shared_post(s, 1));
	s->mock->fail[CMD(DESTROY_SRQ)] = -EREMOTEIO;
	kunit_release_action(test, shared_close, s);
	KUNIT_EXPECT_EQ(test, s->mock->given_up, 1);
	mock_stop(s->mock, s->ibdev);
	KUNIT_EXPECT_EQ(test, s->mock->given_up, 1);
}

/* A caller that waits until a QP has no request does not wait for a dead device. */
static void srq_dead(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct shared *s = shared_open(test);

	to_vqp(s->qp[0])->state = IB_QPS_RTS;
	s->mock->event(&s->mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(s->qp[0], &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, s->events[IB_EVENT_QP_LAST_WQE_REACHED], 1);
	shared_done(s);
}

/* A device without the capability, or without what belongs to it. */
static void srq_not_offered(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct ib_device *ibdev;

	mock_make_direct(mock);
	mock->query_device.max_srq = 0;
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_srq, 0);
	KUNIT_EXPECT_NULL(test, ibdev->ops.create_srq);
	mock_stop(mock, ibdev);
}

/* The handle of another SRQ is not destroyed: that one goes on. */
static void srq_same_handle(struct kunit *test)
{
	struct shared *s = shared_open(test);
	struct mock *mock = s->mock;

	mock->same_srq = true;
	KUNIT_EXPECT_TRUE(test, IS_ERR(shared_add_srq(s, SRQ_DEPTH, 1)));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_SRQ)), 0);
	KUNIT_EXPECT_TRUE(test, mock->srqs[0].exists);
	KUNIT_EXPECT_EQ(test, 0, shared_post(s, 1));
	/* The second one is left to the device, which made it. */
	mock->srqs[1].exists = false;
	mock_pd_use(mock, mock->srqs[1].pdn, -1);
	shared_done(s);
}

static struct kunit_case srq_cases[] = {
	KUNIT_CASE(srq_objects),
	KUNIT_CASE(srq_out_of_order),
	KUNIT_CASE(srq_one_under_way),
	KUNIT_CASE(srq_forged),
	KUNIT_CASE(srq_forgotten),
	KUNIT_CASE(srq_bad_post),
	KUNIT_CASE(srq_events),
	KUNIT_CASE(srq_events_once),
	KUNIT_CASE(srq_no_receive_queue),
	KUNIT_CASE(srq_refused),
	KUNIT_CASE(srq_dead),
	KUNIT_CASE(srq_not_offered),
	KUNIT_CASE(srq_same_handle),
	{ }
};

static struct kunit_suite srq_suite = {
	.name = "virtio_roce_srq",
	.test_cases = srq_cases,
};

kunit_test_suite(srq_suite);
