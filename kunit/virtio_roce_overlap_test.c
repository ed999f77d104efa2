// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of one consumer at the same time: the device answers one while it keeps
 * another.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name

/**
 * struct overlap - a consumer in the kernel, and a second thread of it
 * @mock: function
 * @ibdev: device
 * @pd: protection domain
 * @cq: completion queue
 * @work: the second thread
 * @made: QP that it makes
 * @made_cq: CQ that it makes
 * @gone: QP that it destroys
 */
struct overlap {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct work_struct work;
	struct ib_qp *made;
	struct ib_cq *made_cq;
	struct ib_qp *gone;
};

static struct ib_cq *overlap_make_cq(struct overlap *o)
{
	const struct ib_cq_init_attr attr = { .cqe = 16 };

	return ib_create_cq(o->ibdev, NULL, NULL, NULL, &attr);
}

static struct ib_qp *overlap_make_qp(struct overlap *o)
{
	struct ib_qp_init_attr attr = {
		.send_cq = o->cq,
		.recv_cq = o->cq,
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};

	return ib_create_qp(o->pd, &attr);
}

static void overlap_qp_work(struct work_struct *work)
{
	struct overlap *o = container_of(work, struct overlap, work);

	o->made = overlap_make_qp(o);
}

static void overlap_cq_work(struct work_struct *work)
{
	struct overlap *o = container_of(work, struct overlap, work);

	o->made_cq = overlap_make_cq(o);
}

static void overlap_destroy_work(struct work_struct *work)
{
	struct overlap *o = container_of(work, struct overlap, work);

	ib_destroy_qp(o->gone);
}

static struct overlap *overlap_open(struct kunit *test, bool direct)
{
	struct overlap *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->mock = mock_device(test, 64);
	if (direct)
		mock_make_direct(o->mock);
	o->ibdev = mock_start(o->mock);
	o->pd = ib_alloc_pd(o->ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, o->pd);
	o->cq = overlap_make_cq(o);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, o->cq);
	return o;
}

static void overlap_close(struct overlap *o)
{
	ib_destroy_cq(o->cq);
	ib_dealloc_pd(o->pd);
	mock_expect_clean(o->mock);
	mock_stop(o->mock, o->ibdev);
}

/* Start the second thread, and wait until the device keeps a command of it. */
static void overlap_start(struct overlap *o, work_func_t work)
{
	INIT_WORK(&o->work, work);
	queue_work(system_unbound_wq, &o->work);
	wait_for_completion(&o->mock->held);
}

static void overlap_end(struct overlap *o)
{
	complete(&o->mock->release);
	flush_work(&o->work);
}

/* The device answers the second CREATE_QP before the first. */
static void overlap_qps_of(struct kunit *test, bool direct)
{
	struct overlap *o = overlap_open(test, direct);
	struct ib_qp *qp;

	o->mock->hold[CMD(CREATE_QP)] = true;
	overlap_start(o, overlap_qp_work);
	qp = overlap_make_qp(o);
	KUNIT_EXPECT_NULL(test, o->made);
	overlap_end(o);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, o->made);
	KUNIT_EXPECT_NE(test, qp->qp_num, o->made->qp_num);
	ib_destroy_qp(qp);
	ib_destroy_qp(o->made);
	overlap_close(o);
}

static void overlap_qps(struct kunit *test)
{
	overlap_qps_of(test, true);
}

static void overlap_qps_rfc(struct kunit *test)
{
	overlap_qps_of(test, false);
}

/* The same with CREATE_CQ. */
static void overlap_cqs(struct kunit *test)
{
	struct overlap *o = overlap_open(test, true);
	struct ib_cq *cq;

	o->mock->hold[CMD(CREATE_CQ)] = true;
	overlap_start(o, overlap_cq_work);
	cq = overlap_make_cq(o);
	KUNIT_EXPECT_NULL(test, o->made_cq);
	overlap_end(o);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, o->made_cq);
	ib_destroy_cq(cq);
	ib_destroy_cq(o->made_cq);
	overlap_close(o);
}

/*
 * A new QP gets the number of one that is being destroyed: the device has destroyed it,
 * and the driver has not seen the answer.
 */
static void overlap_number(struct kunit *test)
{
	struct overlap *o = overlap_open(test, true);
	struct overlap *maker;
	u32 qpn;

	maker = kunit_kzalloc(test, sizeof(*maker), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, maker);
	*maker = *o;
	o->gone = overlap_make_qp(o);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, o->gone);
	qpn = o->gone->qp_num;
	o->mock->hold_answer[CMD(DESTROY_QP)] = true;
	overlap_start(o, overlap_destroy_work);
	INIT_WORK(&maker->work, overlap_qp_work);
	queue_work(system_unbound_wq, &maker->work);
	/* The answer to CREATE_QP comes first. */
	while (!READ_ONCE(o->mock->qps[qpn].exists))
		usleep_range(1000, 2000);
	msleep(20);
	KUNIT_EXPECT_NULL(test, READ_ONCE(maker->made));
	complete(&o->mock->release);
	flush_work(&o->work);
	flush_work(&maker->work);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, maker->made);
	KUNIT_EXPECT_EQ(test, maker->made->qp_num, qpn);
	ib_destroy_qp(maker->made);
	overlap_close(o);
}

static struct kunit_case overlap_cases[] = {
	KUNIT_CASE(overlap_qps),
	KUNIT_CASE(overlap_qps_rfc),
	KUNIT_CASE(overlap_cqs),
	KUNIT_CASE(overlap_number),
	{ }
};

static struct kunit_suite overlap_suite = {
	.name = "virtio_roce_overlap",
	.test_cases = overlap_cases,
};

kunit_test_suite(overlap_suite);
