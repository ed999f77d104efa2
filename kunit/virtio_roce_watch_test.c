// SPDX-License-Identifier: GPL-2.0
/*
 * A device that takes completions of the kernel away is given up.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"

#define NUM		64
#define WATCH_MS	20
/* The driver has looked often enough. */
#define LOOKS		30

/**
 * struct watched - a kernel's QP
 * @mock: function
 * @ibdev: device
 * @pd: protection domain
 * @cq: CQ
 * @qp: QP
 */
struct watched {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
};

static void watched_notified(struct ib_cq *cq, void *context)
{
}

static struct watched watched_open(struct kunit *test, enum ib_qp_type type)
{
	struct watched w = { .mock = mock_device(test, NUM) };
	const struct ib_cq_init_attr attr = { .cqe = 16 };
	struct ib_qp_init_attr init = {
		.cap = { 8, 8, 1, 1, 0 },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type,
	};

	w.ibdev = mock_start(w.mock);
	w.pd = ib_alloc_pd(w.ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w.pd);
	w.cq = ib_create_cq(w.ibdev, watched_notified, NULL, NULL, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w.cq);
	init.send_cq = w.cq;
	init.recv_cq = w.cq;
	w.qp = ib_create_qp(w.pd, &init);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w.qp);
	/* The states on the way matter to other tests. */
	to_vqp(w.qp)->state = IB_QPS_RTS;
	/* The driver looks when it is told to: a machine that is busy changes nothing. */
	cancel_delayed_work_sync(&to_vdev(w.ibdev)->watch);
	to_vdev(w.ibdev)->watch_ms = 10 * 60 * MSEC_PER_SEC;
	return w;
}

/* The driver looks at its queues, and has done so. */
static void watched_look(const struct watched *w)
{
	struct vroce_dev *dev = to_vdev(w->ibdev);

	mod_delayed_work(dev->wq, &dev->watch, 0);
	/* Not flush_delayed_work(): if this look has ended, that would begin the next one. */
	flush_work(&dev->watch.work);
}

static void watched_close(struct kunit *test, struct watched *w)
{
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(w->qp));
	ib_destroy_cq(w->cq);
	ib_dealloc_pd(w->pd);
	mock_stop(w->mock, w->ibdev);
}

/* The core's check of wr_id is not of interest, so it is not a pointer. */
static void watched_post(struct kunit *test, const struct watched *w, bool send,
			 int flags)
{
	const struct ib_send_wr swr = {
		.wr_id = 1,
		.opcode = IB_WR_SEND,
		.send_flags = flags,
	};
	struct vroce_ah ah = {};
	const struct ib_ud_wr uwr = { .wr = swr, .ah = &ah.ibah };
	const struct ib_recv_wr rwr = { .wr_id = 2 };

	if (!send)
		KUNIT_ASSERT_EQ(test, 0, ib_post_recv(w->qp, &rwr, NULL));
	else if (w->qp->qp_type == IB_QPT_UD)
		KUNIT_ASSERT_EQ(test, 0, ib_post_send(w->qp, &uwr.wr, NULL));
	else
		KUNIT_ASSERT_EQ(test, 0, ib_post_send(w->qp, &swr, NULL));
}

/* The device completes a request; @pos counts those of its queue. */
static void watched_complete(const struct watched *w, bool send, u16 pos)
{
	struct mock *mock = w->mock;
	u32 qpn = w->qp->qp_num, len;
	struct mock_vq *vq = send ? &mock->sq_vqs[qpn] : &mock->rq_vqs[qpn];
	const __le64 *wr_id = mock_take(mock, vq, pos, &len);
	const struct virtio_rdma_cq_req req = {
		.wr_id = *wr_id,
		.opcode = send ? VIRTIO_IB_WC_SEND : VIRTIO_IB_WC_RECV,
		.qp_num = cpu_to_le32(qpn),
	};

	mock_complete(mock, mock->qps[qpn].scqn, &req);
}

/* In both forms of the question: is the device given up after many looks? */
static void watched_expect(struct kunit *test, const struct watched *w, bool given_up)
{
	unsigned int look;

	for (look = 0; look < LOOKS && !READ_ONCE(w->mock->given_up); look++)
		watched_look(w);
	KUNIT_EXPECT_EQ(test, READ_ONCE(w->mock->given_up), given_up);
}

/* The driver flushes what the device has not completed. */
static void watched_expect_flushed(struct kunit *test, const struct watched *w, int n)
{
	struct ib_wc wc[8];
	int i;

	for (i = 0; i < 500 && READ_ONCE(to_vdev(w->ibdev)->health) !=
	     VIRTIO_NET_ROCE_QUIESCED; i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, n, ib_poll_cq(w->cq, ARRAY_SIZE(wc), wc));
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, wc[i].status, IB_WC_WR_FLUSH_ERR);
}

/* A datagram waits for nobody. */
static void watch_datagram(struct kunit *test)
{
	struct watched w = watched_open(test, IB_QPT_UD);
	struct ib_wc wc;

	watched_post(test, &w, true, IB_SEND_SIGNALED);
	watched_post(test, &w, true, IB_SEND_SIGNALED);
	watched_complete(&w, true, 0);
	KUNIT_EXPECT_EQ(test, 1, ib_poll_cq(w.cq, 1, &wc));
	watched_expect(test, &w, true);
	watched_expect_flushed(test, &w, 1);
	watched_close(test, &w);
}

/* A peer may be slow, and a receive request waits for one. */
static void watch_connected(struct kunit *test)
{
	struct watched w = watched_open(test, IB_QPT_RC);

	watched_post(test, &w, true, IB_SEND_SIGNALED);
	watched_post(test, &w, false, 0);
	watched_expect(test, &w, false);
	watched_close(test, &w);
}

/* The same holds for that of a datagram.  A send request may ask for no completion. */
static void watch_unsignaled(struct kunit *test)
{
	struct watched w = watched_open(test, IB_QPT_UD);

	watched_post(test, &w, true, 0);
	watched_post(test, &w, false, 0);
	watched_expect(test, &w, false);
	watched_close(test, &w);
}

/* Completions that are there and not polled are not the device's fault. */
static void watch_not_polled(struct kunit *test)
{
	struct watched w = watched_open(test, IB_QPT_UD);
	struct ib_wc wc;

	watched_post(test, &w, true, IB_SEND_SIGNALED);
	watched_complete(&w, true, 0);
	watched_expect(test, &w, false);
	KUNIT_EXPECT_EQ(test, 1, ib_poll_cq(w.cq, 1, &wc));
	watched_expect(test, &w, false);
	watched_close(test, &w);
}

/* A device that is slow but goes on. */
static void watch_progress(struct kunit *test)
{
	struct watched w = watched_open(test, IB_QPT_UD);
	unsigned int i, look;
	struct ib_wc wc;

	for (i = 0; i < 4; i++)
		watched_post(test, &w, true, IB_SEND_SIGNALED);
	for (i = 0; i < 4; i++) {
		for (look = 0; look < 4; look++)
			watched_look(&w);
		watched_complete(&w, true, i);
		KUNIT_EXPECT_EQ(test, 1, ib_poll_cq(w.cq, 1, &wc));
	}
	watched_expect(test, &w, false);
	watched_close(test, &w);
}

/* Behind one that was taken away no completion is taken any more, on any QP. */
static void watch_overtaken(struct kunit *test)
{
	struct watched w = watched_open(test, IB_QPT_RC);
	struct ib_wc wc;

	watched_post(test, &w, false, 0);
	watched_post(test, &w, false, 0);
	watched_complete(&w, false, 1);
	KUNIT_EXPECT_EQ(test, 0, ib_poll_cq(w.cq, 1, &wc));
	watched_expect(test, &w, true);
	watched_expect_flushed(test, &w, 2);
	watched_close(test, &w);
}

/* One that comes after all, and in its turn, makes good. */
static void watch_overtaken_once(struct kunit *test)
{
	struct watched w = watched_open(test, IB_QPT_RC);
	struct ib_wc wc;

	watched_post(test, &w, false, 0);
	watched_post(test, &w, false, 0);
	watched_post(test, &w, false, 0);
	watched_complete(&w, false, 1);
	watched_complete(&w, false, 0);
	KUNIT_EXPECT_EQ(test, 1, ib_poll_cq(w.cq, 2, &wc));
	watched_expect(test, &w, false);
	watched_close(test, &w);
}

static int gsi_status;

static void gsi_done(struct ib_cq *cq, struct ib_wc *wc)
{
	WRITE_ONCE(gsi_status, wc->status);
}

/*
 * A datagram of the GSI.  ib_cm takes one that was flushed for cancelled, and its consumer
 * would never hear of it.
 */
static void watch_gsi(struct kunit *test)
{
	struct mock *mock = mock_device(test, 1024);
	struct ib_device *ibdev = mock_start(mock);
	struct vroce_dev *dev = to_vdev(ibdev);
	struct vroce_hw_qp *hw = xa_load(&dev->qps, VIRTIO_NET_ROCE_QPN_GSI);
	struct ib_cqe cqe = { .done = gsi_done };
	struct vroce_ah ah = {};
	const struct ib_ud_wr wr = {
		.wr = {
			.wr_cqe = &cqe,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = &ah.ibah,
	};
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, hw);
	KUNIT_ASSERT_TRUE(test, hw->gsi);
	gsi_status = -1;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(&hw->qp->ibqp, &wr.wr, NULL));
	dev->watch_ms = WATCH_MS;
	mod_delayed_work(dev->wq, &dev->watch, 0);
	for (i = 0; i < 500 && READ_ONCE(gsi_status) < 0; i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, mock->given_up, 1);
	KUNIT_EXPECT_EQ(test, gsi_status, IB_WC_FATAL_ERR);
	mock_stop(mock, ibdev);
}

static struct kunit_case watch_cases[] = {
	KUNIT_CASE(watch_datagram),
	KUNIT_CASE(watch_connected),
	KUNIT_CASE(watch_unsignaled),
	KUNIT_CASE(watch_not_polled),
	KUNIT_CASE(watch_progress),
	KUNIT_CASE(watch_overtaken),
	KUNIT_CASE(watch_overtaken_once),
	KUNIT_CASE(watch_gsi),
	{}
};

static struct kunit_suite watch_suite = {
	.name = "virtio_roce_watch",
	.test_cases = watch_cases,
};

kunit_test_suite(watch_suite);
