// SPDX-License-Identifier: GPL-2.0
/*
 * The whole driver, bound to a function that acts as a device: how objects of consumers
 * in the kernel end, and what a device that died leaves of them.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_flush.h"
#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_endpoint.h"

/*
 * A device that does not let go of a QP of the kernel is reset: buffers that were posted to
 * it are freed as soon as it is destroyed.
 */
static void kern_destroy_refused(struct kunit *test)
{
	static const int errors[] = { -EREMOTEIO, -EPROTO, -ETIMEDOUT };
	struct mock *mock;
	struct endpoint *ep;
	size_t i;
	u32 qpn;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		mock = mock_device(test, NUM);
		ep = endpoint_open(mock, 8, 4);
		qpn = ep->qp->qp_num;
		endpoint_to_rts(test, ep->qp);
		KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(ep->qp, 1));
		mock->fail[CMD(DESTROY_QP)] = errors[i];
		KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(ep->qp));
		ep->qp = NULL;
		KUNIT_EXPECT_EQ(test, mock->given_up, 1);
		/* Its rings are free, as after any reset. */
		KUNIT_EXPECT_NULL(test,
				  memchr_inv(mock->rq_vqs[qpn].pub.vring.desc, 0,
					     sizeof(struct vring_desc)));
		kunit_release_action(test, endpoint_close, ep);
		mock_stop(mock, ep->ibdev);
		KUNIT_EXPECT_EQ(test, mock->given_up, 1);
	}
}

/*
 * A device that fails to destroy a QP, and cannot be reset, may still use it: its number is
 * not used for another QP, even if the device gives it out.
 */
static void kern_destroy_fails(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp *other = endpoint_add_qp(ep, 4);
	u32 qpn;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	qpn = other->qp_num;
	mock->fail[CMD(DESTROY_QP)] = -ETIMEDOUT;
	mock->never_quiet = true;
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(other));
	KUNIT_EXPECT_EQ(test, mock->given_up, 1);
	memset(mock->fail, 0, sizeof(mock->fail));
	KUNIT_EXPECT_TRUE(test, mock->qps[qpn].exists);
	mock->next_qpn = qpn;
	KUNIT_EXPECT_EQ(test, PTR_ERR(endpoint_add_qp(ep, 4)), -EPROTO);
	/* Its descriptors still name the slots that it may write to. */
	KUNIT_EXPECT_NOT_NULL(test,
			      memchr_inv(mock->sq_vqs[qpn].pub.vring.desc, 0,
					 sizeof(struct vring_desc)));

	kunit_release_action(test, endpoint_close, ep);
	mock_stop(mock, ep->ibdev);
}

/*
 * A device that was reset has nothing any more: all goes without it, and what it must
 * not do any more it cannot do.
 */
static void kern_after_reset(struct kunit *test)
{
	static const u8 undone[] = {
		CMD(DESTROY_CQ), CMD(DESTROY_QP), CMD(DESTROY_PD),
		CMD(MODIFY_QP), CMD(DEL_GID),
	};
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	u32 qpn = ep->qp->qp_num;
	unsigned int i;

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	KUNIT_EXPECT_EQ(test, PTR_ERR(endpoint_add_qp(ep, 4)), -ENODEV);
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	kunit_release_action(test, endpoint_close, ep);
	/* Its rings were cleared, and its numbers are free. */
	KUNIT_EXPECT_NULL(test,
			  memchr_inv(mock->sq_vqs[qpn].pub.vring.desc, 0,
				     sizeof(struct vring_desc)));
	mock_stop(mock, ep->ibdev);
	for (i = 0; i < ARRAY_SIZE(undone); i++)
		KUNIT_EXPECT_TRUE_MSG(test, mock->settled[undone[i]],
				      "command %u", undone[i]);
}

static unsigned int count_flushed(struct kunit *test, struct endpoint *ep,
				  u64 *sends, u64 *recvs)
{
	struct ib_wc wc[3];
	unsigned int n = 0;
	int i, got;

	while ((got = ib_poll_cq(ep->cq, ARRAY_SIZE(wc), wc)) > 0) {
		for (i = 0; i < got; i++) {
			KUNIT_EXPECT_EQ(test, wc[i].status, IB_WC_WR_FLUSH_ERR);
			KUNIT_EXPECT_PTR_EQ(test, wc[i].qp, ep->qp);
			if (wc[i].wr_id < 100)
				*sends |= BIT_ULL(wc[i].wr_id);
			else
				*recvs |= BIT_ULL(wc[i].wr_id - 100);
		}
		n += got;
	}
	return n;
}

static int flush_events;

static void flush_event(struct ib_event_handler *handler, struct ib_event *event)
{
	flush_events += event->event == IB_EVENT_DEVICE_FATAL;
}

static void flush_unregister(void *handler)
{
	ib_unregister_event_handler(handler);
}

/*
 * The device dies: consumers hear of it at once.  When it is quiesced they get what they
 * have posted, signaled or not, and what they go on posting, and their QPs drain.
 */
static void kern_dead_flush(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 8);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_event_handler *handler;
	u64 sends = 0, recvs = 0;
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = {};
	unsigned int i;

	handler = kunit_kzalloc(test, sizeof(*handler), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, handler);
	flush_events = 0;
	INIT_IB_EVENT_HANDLER(handler, ep->ibdev, flush_event);
	ib_register_event_handler(handler);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, flush_unregister,
						  handler));
	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 8; i++) {
		send.wr_id = i;
		recv.wr_id = 100 + i;
		KUNIT_ASSERT_EQ(test, 0, ib_post_send(ep->qp, &send, NULL));
		KUNIT_ASSERT_EQ(test, 0, ib_post_recv(ep->qp, &recv, NULL));
	}
	KUNIT_ASSERT_NOT_NULL(test, mock->event);
	mock->event(&mock->aux, VIRTIO_NET_ROCE_DEAD);
	mock_wait(READ_ONCE(flush_events));
	KUNIT_EXPECT_EQ(test, flush_events, 1);
	/* The device may still carry them out. */
	KUNIT_EXPECT_EQ(test, 0, count_flushed(test, ep, &sends, &recvs));
	KUNIT_EXPECT_EQ(test, ep->events, 0);
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(ep->cq, IB_CQ_NEXT_COMP));

	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	mock_wait(READ_ONCE(ep->events));
	KUNIT_EXPECT_EQ(test, ep->events, 1);
	/* The CQ has room for four at a time. */
	KUNIT_EXPECT_EQ(test, 16, count_flushed(test, ep, &sends, &recvs));
	KUNIT_EXPECT_EQ(test, sends, 0xff);
	KUNIT_EXPECT_EQ(test, recvs, 0xff);
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	send.wr_id = 8;
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(ep->qp, &send, NULL));
	mock_wait(READ_ONCE(ep->events) >= 2);
	KUNIT_EXPECT_EQ(test, ep->events, 2);
	KUNIT_EXPECT_EQ(test, 1, count_flushed(test, ep, &sends, &recvs));
	KUNIT_EXPECT_EQ(test, sends, 0x1ff);
	KUNIT_EXPECT_EQ(test, flush_events, 1);

	kunit_release_action(test, flush_unregister, handler);
	kunit_release_action(test, endpoint_close, ep);
	mock_stop(mock, ep->ibdev);
}

/*
 * A consumer that polls while the device dies does not hear that its handler is called:
 * when it arms again, it is told that there is something to poll.
 */
static void kern_dead_notify(struct kunit *test)
{
	const enum ib_cq_notify_flags flags = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	u64 sends = 0, recvs = 0;
	unsigned int i;

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(ep->qp, 100 + i));
	mock->event(&mock->aux, VIRTIO_NET_ROCE_DEAD);
	KUNIT_EXPECT_EQ(test, 0, count_flushed(test, ep, &sends, &recvs));
	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	KUNIT_EXPECT_EQ(test, 1, ib_req_notify_cq(ep->cq, flags));
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(ep->cq, IB_CQ_NEXT_COMP));
	KUNIT_EXPECT_EQ(test, 3, count_flushed(test, ep, &sends, &recvs));
	KUNIT_EXPECT_EQ(test, recvs, 7);
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(ep->cq, flags));
	kunit_release_action(test, endpoint_close, ep);
	mock_stop(mock, ep->ibdev);
}

/*
 * When a device that was reset is unregistered, consumers have time to let go of it, and no
 * more than they take.
 */
static void kern_dead_wait(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	struct vroce_dev *dev = to_vdev(ep->ibdev);
	unsigned int i, had = dev->flush_ms;
	unsigned long start;

	KUNIT_EXPECT_EQ(test, had, 1000);
	dev->flush_ms = 20 * MSEC_PER_SEC;
	/* Nobody needs time while it is alive. */
	start = jiffies;
	vroce_flush_wait(dev);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, start + 10 * HZ));
	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	dev->flush_ms = 200;
	start = jiffies;
	vroce_flush_wait(dev);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, start + HZ / 5));
	kunit_release_action(test, endpoint_close, ep);
	dev->flush_ms = 20 * MSEC_PER_SEC;
	start = jiffies;
	vroce_flush_wait(dev);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, start + 10 * HZ));
	mock_stop(mock, ep->ibdev);
}

static unsigned int drain_done;

static void drain_count(struct ib_cq *cq, struct ib_wc *wc)
{
	drain_done += wc->status == IB_WC_WR_FLUSH_ERR;
}

/*
 * A device that loses completions: who drains a queue, even a full one, is done all the
 * same, and has got all that was posted.
 */
static void kern_drain_lost(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_cqe cqe = { .done = drain_count };
	struct ib_send_wr send = { .wr_cqe = &cqe, .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = { .wr_cqe = &cqe };
	struct ib_qp_init_attr attr = {
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IB_QPT_RC,
	};
	struct ib_cq *cq;
	struct ib_qp *qp;
	unsigned int i;

	cq = ib_alloc_cq(ep->ibdev, NULL, 16, 0, IB_POLL_DIRECT);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(ep->pd, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	endpoint_to_rts(test, qp);
	drain_done = 0;
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, 0, ib_post_send(qp, &send, NULL));
		KUNIT_ASSERT_EQ(test, 0, ib_post_recv(qp, &recv, NULL));
	}
	KUNIT_EXPECT_EQ(test, ib_post_send(qp, &send, NULL), -ENOMEM);
	to_vdev(ep->ibdev)->drain_ms = 100;
	ib_drain_sq(qp);
	KUNIT_EXPECT_EQ(test, mock->given_up, 1);
	to_vdev(ep->ibdev)->drain_ms = 10000;
	ib_drain_rq(qp);
	KUNIT_EXPECT_EQ(test, mock->given_up, 1);
	KUNIT_EXPECT_EQ(test, drain_done, 8);

	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	ib_free_cq(cq);
	kunit_release_action(test, endpoint_close, ep);
	mock_stop(mock, ep->ibdev);
}

/* A UD QP has a last request, too. */
static void kern_drain_datagrams(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp_init_attr attr = {
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IB_QPT_UD,
	};
	const struct virtio_rdma_sq_req *last;
	struct ib_cq *cq;
	struct ib_qp *qp;
	u32 len;

	cq = ib_alloc_cq(ep->ibdev, NULL, 16, 0, IB_POLL_DIRECT);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(ep->pd, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	to_vqp(qp)->state = IB_QPS_RTS;
	to_vdev(ep->ibdev)->drain_ms = 100;
	ib_drain_sq(qp);
	/* It did not come back; one after that was flushed. */
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->sq_vqs[qp->qp_num]), 2);
	last = mock_take(mock, &mock->sq_vqs[qp->qp_num], 0, &len);
	KUNIT_EXPECT_EQ(test, last->opcode, VIRTIO_IB_WR_SEND);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last->num_sge), 0);
	KUNIT_EXPECT_EQ(test, mock->given_up, 1);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	ib_free_cq(cq);
	kunit_release_action(test, endpoint_close, ep);
	mock_stop(mock, ep->ibdev);
}

/* Indices that a dying device has left anywhere lead nowhere. */
static void kern_dead_hostile(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct vring *sq, *cq;
	u64 sends = 0, recvs = 0;
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	unsigned int i;

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, ib_post_send(ep->qp, &send, NULL));
	sq = &mock->sq_vqs[ep->qp->qp_num].pub.vring;
	cq = &mock->cq_vqs[ep->cqn].pub.vring;
	WRITE_ONCE(sq->used->idx, __cpu_to_virtio16(true, 40000));
	WRITE_ONCE(cq->used->idx, __cpu_to_virtio16(true, 30000));
	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	KUNIT_EXPECT_LE(test, count_flushed(test, ep, &sends, &recvs), 4);
	KUNIT_EXPECT_EQ(test, sends, 1);
	kunit_release_action(test, endpoint_close, ep);
	mock_stop(mock, ep->ibdev);
}

static struct kunit_case kern_end_cases[] = {
	KUNIT_CASE(kern_destroy_refused),
	KUNIT_CASE(kern_destroy_fails),
	KUNIT_CASE(kern_after_reset),
	KUNIT_CASE(kern_dead_flush),
	KUNIT_CASE(kern_dead_hostile),
	KUNIT_CASE(kern_dead_notify),
	KUNIT_CASE(kern_dead_wait),
	KUNIT_CASE(kern_drain_lost),
	KUNIT_CASE(kern_drain_datagrams),
	{}
};

static struct kunit_suite kern_end_suite = {
	.name = "virtio_roce_kern_end",
	.test_cases = kern_end_cases,
};

kunit_test_suite(kern_end_suite);
