// SPDX-License-Identifier: GPL-2.0
/*
 * The whole driver, bound to a function that acts as a device: completion queues of
 * consumers in the kernel, and what they poll.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/workqueue.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_endpoint.h"

/* With as many bytes as endpoint_post_recv() posts, and the slot before the completion. */
static void complete_recv(struct endpoint *ep, struct ib_qp *qp, u16 pos)
{
	struct mock_vq *rq = &ep->mock->rq_vqs[qp->qp_num];
	u64 wr_id = endpoint_wire_id(ep, rq, pos);

	endpoint_set_used(rq, pos + 1);
	endpoint_device_completes(ep, qp->qp_num, wr_id, VIRTIO_IB_WC_RECV, 0, 100);
}

static void kern_poll(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	struct ib_wc wc[4];
	u32 i, k;

	endpoint_to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, ep->cq->cqe, 4);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 0);
	for (i = 0; i < 30000; i += 3) {
		for (k = 0; k < 3; k++) {
			KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(ep->qp, POINTER + i + k));
			complete_recv(ep, ep->qp, i + k);
		}
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 2, wc), 2);
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 4, wc + 2), 1);
		for (k = 0; k < 3; k++) {
			KUNIT_ASSERT_EQ(test, wc[k].wr_id, POINTER + i + k);
			KUNIT_ASSERT_EQ(test, wc[k].status, IB_WC_SUCCESS);
			KUNIT_ASSERT_EQ(test, wc[k].opcode, IB_WC_RECV);
			KUNIT_ASSERT_EQ(test, wc[k].byte_len, 100);
			KUNIT_ASSERT_PTR_EQ(test, wc[k].qp, ep->qp);
		}
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, wc), 0);
	}
	KUNIT_EXPECT_EQ(test, endpoint_bad_completions(ep), 0);
	endpoint_done(ep);
}

/* A device that reports more completions than there is room for. */
static void kern_poll_hostile(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	struct mock_vq *cq = &mock->cq_vqs[ep->cqn];
	struct ib_wc wc[8];
	int i;

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(ep->qp, i));
	endpoint_set_used(cq, 5);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 0);
	endpoint_set_used(cq, 0x8000);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 0);
	endpoint_set_used(cq, 0);
	/* A slot that there is not: some slot of this CQ is read instead. */
	for (i = 0; i < 3; i++)
		complete_recv(ep, ep->qp, i);
	cq->pub.vring.used->ring[1].id = __cpu_to_virtio32(true, 0xfffffff1);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 3);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 0);
	/* The device gets back slots of this CQ, too. */
	KUNIT_EXPECT_EQ(test, mock_avail_idx(cq), 7);
	for (i = 0; i < 7; i++)
		KUNIT_EXPECT_LT(test, __virtio16_to_cpu(true,
							cq->pub.vring.avail->ring[i]),
				4);
	endpoint_done(ep);
}

/*
 * A wr_id is a pointer that is called: the device does not see it, and does not choose
 * it.  A completion that names no outstanding request is dropped.
 */
static void kern_forged(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	u32 qpn = ep->qp->qp_num;
	struct mock_vq *sq = &mock->sq_vqs[qpn], *rq = &mock->rq_vqs[qpn];
	struct ib_wc wc[4];
	u64 id;
	int i;

	endpoint_to_rts(test, ep->qp);
	/* Nothing was posted. */
	endpoint_expect_dropped(ep, qpn, 0);
	endpoint_expect_dropped(ep, qpn, RECV);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(ep->qp, POINTER + i));
		KUNIT_EXPECT_LT(test, endpoint_wire_id(ep, rq, i), RECV + NUM);
		KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, POINTER + 10 + i, IB_WR_SEND,
						       IB_SEND_SIGNALED, NULL, 0));
		KUNIT_EXPECT_LT(test, endpoint_wire_id(ep, sq, i), NUM);
	}
	/* QPs that there are not, what is behind the last, and pointers. */
	endpoint_expect_dropped(ep, qpn + 1, 0);
	endpoint_expect_dropped(ep, U32_MAX - 1, 0);
	endpoint_expect_dropped(ep, qpn, 3);
	endpoint_expect_dropped(ep, qpn, U16_MAX);
	endpoint_expect_dropped(ep, qpn, RECV + 3);
	endpoint_expect_dropped(ep, qpn, RECV << 1);
	endpoint_expect_dropped(ep, qpn, POINTER);
	endpoint_expect_dropped(ep, qpn, BIT_ULL(63));

	id = endpoint_wire_id(ep, rq, 0);
	endpoint_device_completes(ep, qpn, id, VIRTIO_IB_WC_RECV, 0, 1);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, POINTER);
	/* Once more. */
	endpoint_expect_dropped(ep, qpn, id);
	/* One behind it would take away the completion that is due before. */
	endpoint_expect_dropped(ep, qpn, endpoint_wire_id(ep, sq, 1));
	endpoint_expect_dropped(ep, qpn, endpoint_wire_id(ep, rq, 2));
	for (i = 0; i < 2; i++) {
		endpoint_complete_send(ep, ep->qp, i, VIRTIO_IB_WC_SEND);
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 1);
		KUNIT_EXPECT_EQ(test, wc[0].wr_id, POINTER + 10 + i);
	}
	endpoint_expect_dropped(ep, qpn, 0);
	endpoint_expect_dropped(ep, qpn, 1);
	endpoint_complete_send(ep, ep->qp, 2, VIRTIO_IB_WC_SEND);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, POINTER + 12);
	endpoint_done(ep);
}

/* A QP of another CQ. */
static void kern_forged_elsewhere(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	const struct ib_cq_init_attr attr = { .cqe = 8 };
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_cq *mine = ep->cq;
	struct ib_qp *qp;
	struct ib_wc wc;

	ep->cq = ib_create_cq(ep->ibdev, NULL, NULL, NULL, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ep->cq);
	qp = endpoint_add_qp(ep, 4);
	swap(ep->cq, mine);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	endpoint_to_rts(test, qp);
	KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(qp, POINTER));
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(qp, POINTER, IB_WR_SEND, IB_SEND_SIGNALED, NULL,
					       0));
	endpoint_expect_dropped(ep, qp->qp_num, endpoint_wire_id(ep, &mock->rq_vqs[qp->qp_num], 0));
	endpoint_expect_dropped(ep, qp->qp_num, endpoint_wire_id(ep, &mock->sq_vqs[qp->qp_num], 0));
	KUNIT_EXPECT_EQ(test, ib_poll_cq(mine, 1, &wc), 0);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	ib_destroy_cq(mine);
	endpoint_done(ep);
}

/*
 * A completion says what was posted: operation, length.  A device that has
 * read or received more than there was room for is not believed.
 */
static void kern_completion_content(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode posted;
		u8 opcode;
		u32 len;
		enum ib_wc_status status;
		enum ib_wc_opcode wc_opcode;
		u32 wc_len;
	} sends[] = {
		{ IB_WR_SEND, VIRTIO_IB_WC_RECV, 77, IB_WC_SUCCESS, IB_WC_SEND, 0 },
		{ IB_WR_RDMA_WRITE, VIRTIO_IB_WC_SEND, 1, IB_WC_SUCCESS,
		  IB_WC_RDMA_WRITE, 0 },
		{ IB_WR_RDMA_READ, VIRTIO_IB_WC_RDMA_READ, 300, IB_WC_SUCCESS,
		  IB_WC_RDMA_READ, 300 },
		{ IB_WR_RDMA_READ, VIRTIO_IB_WC_RDMA_READ, 301, IB_WC_GENERAL_ERR,
		  IB_WC_RDMA_READ },
		{ IB_WR_SEND, 100, 0, IB_WC_GENERAL_ERR, IB_WC_SEND },
	};
	static const struct {
		u32 posted;
		u8 opcode;
		u32 len;
		enum ib_wc_status status;
		enum ib_wc_opcode wc_opcode;
		u32 wc_len;
	} recvs[] = {
		{ 100, VIRTIO_IB_WC_RECV, 100, IB_WC_SUCCESS, IB_WC_RECV, 100 },
		{ 100, VIRTIO_IB_WC_RECV, 101, IB_WC_GENERAL_ERR, IB_WC_RECV },
		{ 0, VIRTIO_IB_WC_RECV, 1, IB_WC_GENERAL_ERR, IB_WC_RECV },
		{ 100, VIRTIO_IB_WC_SEND, 1, IB_WC_GENERAL_ERR, IB_WC_RECV },
		{ 100, VIRTIO_IB_WC_RDMA_READ, 1, IB_WC_GENERAL_ERR, IB_WC_RECV },
		/* A consumer that posts no buffer for it is told what was written. */
		{ 0, VIRTIO_IB_WC_RECV_RDMA_WITH_IMM, 5000, IB_WC_SUCCESS,
		  IB_WC_RECV_RDMA_WITH_IMM, 5000 },
		{ 100, VIRTIO_IB_WC_RECV_RDMA_WITH_IMM, 5000, IB_WC_SUCCESS,
		  IB_WC_RECV_RDMA_WITH_IMM, 100 },
	};
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 8);
	u32 qpn = ep->qp->qp_num, i;
	struct ib_sge sge[2] = { { 0x1000, 200, 1 }, { 0x2000, 100, 1 } };
	struct ib_wc wc;

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < ARRAY_SIZE(sends); i++) {
		KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, POINTER + i, sends[i].posted,
						       IB_SEND_SIGNALED, sge, 2));
		endpoint_device_completes(ep, qpn, endpoint_wire_id(ep, &mock->sq_vqs[qpn], i),
					  sends[i].opcode, 0, sends[i].len);
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, POINTER + i);
		KUNIT_EXPECT_EQ_MSG(test, (int)wc.status, (int)sends[i].status, "%u", i);
		if (wc.status)
			continue;
		KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)sends[i].wc_opcode);
		KUNIT_EXPECT_EQ(test, wc.byte_len, sends[i].wc_len);
	}
	for (i = 0; i < ARRAY_SIZE(recvs); i++) {
		sge[0].length = recvs[i].posted;
		KUNIT_ASSERT_EQ(test, 0, endpoint_recv(ep->qp, POINTER + i, sge, 1));
		endpoint_device_completes(ep, qpn, endpoint_wire_id(ep, &mock->rq_vqs[qpn], i),
					  recvs[i].opcode, 0, recvs[i].len);
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, POINTER + i);
		KUNIT_EXPECT_EQ_MSG(test, (int)wc.status, (int)recvs[i].status, "%u", i);
		KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)recvs[i].wc_opcode);
		if (!wc.status)
			KUNIT_EXPECT_EQ(test, wc.byte_len, recvs[i].wc_len);
	}
	KUNIT_EXPECT_EQ(test, endpoint_bad_completions(ep), 0);
	endpoint_done(ep);
}

static void kern_notify(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	struct ib_wc wc[4];
	int i;

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(ep->qp, i));
	complete_recv(ep, ep->qp, 0);
	KUNIT_EXPECT_EQ(test, ep->events, 0);
	KUNIT_EXPECT_EQ(test, ib_req_notify_cq(ep->cq, IB_CQ_NEXT_COMP), 0);
	KUNIT_EXPECT_TRUE(test, mock_last(mock, CMD(REQ_NOTIFY_CQ))->atomic);
	KUNIT_EXPECT_EQ(test, mock->cqs[ep->cqn].armed,
			VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
	complete_recv(ep, ep->qp, 1);
	KUNIT_EXPECT_EQ(test, ep->events, 1);
	complete_recv(ep, ep->qp, 2);
	KUNIT_EXPECT_EQ(test, ep->events, 1);

	KUNIT_EXPECT_EQ(test, ib_req_notify_cq(ep->cq, IB_CQ_SOLICITED |
					       IB_CQ_REPORT_MISSED_EVENTS), 1);
	KUNIT_EXPECT_EQ(test, mock->cqs[ep->cqn].armed,
			VIRTIO_IB_NOTIFY_SOLICITED);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 3);
	KUNIT_EXPECT_EQ(test, ib_req_notify_cq(ep->cq, IB_CQ_NEXT_COMP |
					       IB_CQ_REPORT_MISSED_EVENTS), 0);
	/* An errno would be taken for success: it is for a device that is gone only. */
	mock->fail[CMD(REQ_NOTIFY_CQ)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, ib_req_notify_cq(ep->cq, IB_CQ_NEXT_COMP), 0);
	mock->fail[CMD(REQ_NOTIFY_CQ)] = -EIO;
	KUNIT_EXPECT_EQ(test, ib_req_notify_cq(ep->cq, IB_CQ_NEXT_COMP), -EIO);
	endpoint_done(ep);
}

/* Unpolled completions of a QP that is gone do not become another's. */
static void kern_stale_completions(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp *other = endpoint_add_qp(ep, 4);
	struct ib_wc wc[8];
	u32 qpn;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	qpn = other->qp_num;
	endpoint_to_rts(test, ep->qp);
	endpoint_to_rts(test, other);
	KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(other, 1));
	KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(ep->qp, 2));
	KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(other, 3));
	complete_recv(ep, other, 0);
	complete_recv(ep, ep->qp, 0);
	complete_recv(ep, other, 1);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(other));
	other = endpoint_add_qp(ep, 4);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	KUNIT_EXPECT_EQ(test, other->qp_num, qpn);
	endpoint_to_rts(test, other);
	KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(other, 4));
	complete_recv(ep, other, 0);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 2);
	KUNIT_EXPECT_EQ(test, endpoint_bad_completions(ep), 0);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 2);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 4);
	KUNIT_EXPECT_PTR_EQ(test, wc[1].qp, other);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(other));
	endpoint_done(ep);
}

/* A device that holds completions without a slot has CQs larger than rings. */
static void kern_cq_hold(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_rdma_ack_query_device *q = &mock->query_device;
	struct ib_cq_init_attr attr = { .cqe = 2 * NUM + 1 };
	struct ib_device *ibdev;
	struct ib_cq *cq;

	q->device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_CQ_HOLD);
	q->max_cqe = cpu_to_le32(8 * NUM + 1);
	mock->cq_vqs[MOCK_CQS - 1].pub.vring.num = NUM / 2;
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_cqe, 8 * NUM);

	cq = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	KUNIT_EXPECT_EQ(test, cq->cqe, 4 * NUM);
	KUNIT_EXPECT_EQ(test, mock->cqs[0].cqe, 4 * NUM);
	/* All have as many slots as the smallest ring takes. */
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->cq_vqs[0]), NUM / 2);

	KUNIT_EXPECT_EQ(test, 0, ib_resize_cq(cq, 4 * NUM + 1));
	KUNIT_EXPECT_EQ(test, cq->cqe, 8 * NUM);
	KUNIT_EXPECT_EQ(test, ib_resize_cq(cq, 8 * NUM + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_resize_cq(cq, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, 0, ib_resize_cq(cq, 1));
	KUNIT_EXPECT_EQ(test, cq->cqe, 8 * NUM);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->cq_vqs[0]), NUM / 2);
	ib_destroy_cq(cq);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* The largest CQ of the reference device. */
static void kern_cq_large(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_rdma_ack_query_device *q = &mock->query_device;
	struct ib_cq_init_attr attr = { .cqe = 131072 };
	struct ib_device *ibdev;
	struct ib_cq *cq;

	q->device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_CQ_HOLD);
	q->max_cqe = cpu_to_le32(131072);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_cqe, 131072);
	cq = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	KUNIT_EXPECT_EQ(test, cq->cqe, 131072);
	KUNIT_EXPECT_EQ(test, mock->cqs[0].cqe, 131072);
	ib_destroy_cq(cq);

	attr.cqe = 1;
	cq = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	KUNIT_EXPECT_EQ(test, 0, ib_resize_cq(cq, 131072));
	KUNIT_EXPECT_EQ(test, cq->cqe, 131072);
	KUNIT_EXPECT_EQ(test, ib_resize_cq(cq, 131073), -EINVAL);
	ib_destroy_cq(cq);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/*
 * As many vectors as there are, and a CQ on the one that was asked for: the number that
 * the device gives decides, so that others are asked for and given back.
 */
static void kern_cq_vector(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_cq_init_attr attr = { .cqe = 4 };
	struct ib_cq *cqs[MOCK_CQS];
	struct ib_device *ibdev;
	unsigned int i, n;

	mock->aux.num_vectors = 3;
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->num_comp_vectors, 3);
	n = mock_objects(mock);
	for (i = 0; i < 6; i++) {
		attr.comp_vector = 2 - i % 3;
		cqs[i] = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cqs[i]);
		KUNIT_EXPECT_EQ(test, to_vcq(cqs[i])->hw->cqn % 3, attr.comp_vector);
		KUNIT_EXPECT_EQ(test, mock_objects(mock), n + i + 1);
	}
	/* Only two are left, 6 and 7: another vector, but a CQ. */
	attr.comp_vector = 2;
	for (; i < MOCK_CQS; i++) {
		cqs[i] = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cqs[i]);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_cq(ibdev, NULL, NULL, NULL, &attr)),
			-ENOMEM);
	/* A number that is not that of a vector gives one of them all the same. */
	ib_destroy_cq(cqs[0]);
	attr.comp_vector = 1000;
	cqs[0] = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cqs[0]);
	for (i = 0; i < MOCK_CQS; i++)
		ib_destroy_cq(cqs[i]);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* A CQ that another process creates. */
struct cq_maker {
	struct work_struct work;
	struct ib_device *ibdev;
	struct ib_cq_init_attr attr;
	struct ib_cq *cq;
};

static void cq_maker_work(struct work_struct *work)
{
	struct cq_maker *maker = container_of(work, struct cq_maker, work);

	maker->cq = ib_create_cq(maker->ibdev, NULL, NULL, NULL, &maker->attr);
}

/* Numbers that a search for a vector holds for a while are not missed by others. */
static void kern_cq_vector_race(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_cq_init_attr attr = { .cqe = 4 };
	struct cq_maker maker = { .attr = { .cqe = 4, .comp_vector = 2 } };
	struct ib_cq *cqs[MOCK_CQS - 1];
	unsigned int i, n;

	mock->aux.num_vectors = 3;
	maker.ibdev = mock_start(mock);
	n = mock_objects(mock);
	for (i = 0; i < MOCK_CQS - 2; i++) {
		cqs[i] = ib_create_cq(maker.ibdev, NULL, NULL, NULL, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cqs[i]);
	}
	/* 6 and 7 are left, and neither has the vector. */
	mock->slow = 100;
	INIT_WORK_ONSTACK(&maker.work, cq_maker_work);
	queue_work(system_unbound_wq, &maker.work);
	/* It has taken both, and will give one back; this is maybe too late to see it. */
	mock_wait(mock_objects(mock) == n + MOCK_CQS || READ_ONCE(maker.cq));
	cqs[i] = ib_create_cq(maker.ibdev, NULL, NULL, NULL, &attr);
	flush_work(&maker.work);
	destroy_work_on_stack(&maker.work);
	mock->slow = 0;
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cqs[i]);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, maker.cq);
	KUNIT_EXPECT_EQ(test, mock_objects(mock), n + MOCK_CQS);
	for (i = 0; i < ARRAY_SIZE(cqs); i++)
		ib_destroy_cq(cqs[i]);
	ib_destroy_cq(maker.cq);
	mock_stop(mock, maker.ibdev);
	mock_expect_clean(mock);
}

/* Without that capability a CQ holds as many completions as it has slots. */
static void kern_cq_resize(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_cq_init_attr attr = { .cqe = 5 };
	struct ib_device *ibdev = mock_start(mock);
	struct ib_cq *cq;

	cq = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	KUNIT_EXPECT_EQ(test, 0, ib_resize_cq(cq, 8));
	KUNIT_EXPECT_EQ(test, ib_resize_cq(cq, 9), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ib_resize_cq(cq, NUM + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, cq->cqe, 8);
	ib_destroy_cq(cq);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* Events wait where the device can let them, and the CQ has a control block. */
static void kern_cq_moderation(struct kunit *test)
{
	static const bool can[] = { false, true };
	struct ib_cq_init_attr attr = { .cqe = 5 };
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev;
	struct ib_cq *cq;
	unsigned int i;
	u32 cqn;

	mock_make_direct(mock);
	for (i = 0; i < ARRAY_SIZE(can); i++) {
		if (can[i])
			mock->query_device.device_cap_flags |=
				cpu_to_le64(VIRTIO_IB_DEVICE_CQ_MODERATE);
		ibdev = mock_start(mock);
		KUNIT_EXPECT_EQ(test, ibdev->attrs.cq_caps.max_cq_moderation_count,
				can[i] ? U16_MAX : 0);
		KUNIT_EXPECT_EQ(test, ibdev->attrs.cq_caps.max_cq_moderation_period,
				can[i] ? U16_MAX : 0);
		cq = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
		KUNIT_EXPECT_EQ(test, rdma_set_cq_moderation(cq, 3, 500),
				can[i] ? 0 : -EOPNOTSUPP);
		cqn = to_vcq(cq)->hw->cqn;
		KUNIT_EXPECT_EQ(test, mock->cqs[cqn].count, can[i] ? 3 : 0);
		KUNIT_EXPECT_EQ(test, mock->cqs[cqn].period, can[i] ? 500 : 0);
		mock->fail[CMD(MODIFY_CQ)] = -EREMOTEIO;
		KUNIT_EXPECT_EQ(test, rdma_set_cq_moderation(cq, 1, 1),
				can[i] ? -EINVAL : -EOPNOTSUPP);
		mock->fail[CMD(MODIFY_CQ)] = 0;
		ib_destroy_cq(cq);
		mock_stop(mock, ibdev);
	}
	mock_expect_clean(mock);
}

/* The capability is nothing without event queues. */
static void kern_cq_no_moderation(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev;

	mock->query_device.device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_CQ_MODERATE);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.cq_caps.max_cq_moderation_count, 0);
	KUNIT_EXPECT_NULL(test, ibdev->ops.modify_cq);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

static void kern_create_cq_refused(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	struct ib_cq_init_attr attr = { .cqe = 0 };

	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_cq(ibdev, NULL, NULL, NULL,
						   &attr)), -EINVAL);
	attr.cqe = NUM + 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_cq(ibdev, NULL, NULL, NULL,
						   &attr)), -EINVAL);
	attr.cqe = NUM;
	attr.flags = IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_cq(ibdev, NULL, NULL, NULL,
						   &attr)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_CQ)), 0);
	attr.flags = 0;
	mock->fail[CMD(CREATE_CQ)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_cq(ibdev, NULL, NULL, NULL,
						   &attr)), -ENOMEM);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* Other consumers do not get a CQ that is smaller than they asked for. */
static void kern_short_cq(struct kunit *test)
{
	struct mock *mock = mock_device(test, 256);
	struct ib_device *ibdev = mock_start(mock);
	struct ib_qp_init_attr attr = {
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IB_QPT_RC,
	};
	struct ib_pd *pd = ib_alloc_pd(ibdev, 0);
	unsigned int n = mock_count(mock, CMD(CREATE_QP));
	struct ib_cq *cq;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pd);
	cq = ib_alloc_cq(ibdev, NULL, 257, 0, IB_POLL_WORKQUEUE);
	KUNIT_EXPECT_EQ(test, PTR_ERR(cq), -EINVAL);
	cq = ib_alloc_cq(ibdev, NULL, 257, 0, IB_POLL_UNBOUND_WORKQUEUE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	KUNIT_EXPECT_EQ(test, cq->cqe, 256);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_qp(pd, &attr)), -EINVAL);
	/* Not even a second GSI: what is due on such a CQ is due to one QP. */
	attr.qp_type = IB_QPT_GSI;
	attr.port_num = 1;
	attr.sq_sig_type = IB_SIGNAL_ALL_WR;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_qp(pd, &attr)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_QP)), n);
	ib_free_cq(cq);
	ib_dealloc_pd(pd);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

static struct kunit_case kern_cq_cases[] = {
	KUNIT_CASE(kern_poll),
	KUNIT_CASE(kern_poll_hostile),
	KUNIT_CASE(kern_forged),
	KUNIT_CASE(kern_forged_elsewhere),
	KUNIT_CASE(kern_completion_content),
	KUNIT_CASE(kern_notify),
	KUNIT_CASE(kern_stale_completions),
	KUNIT_CASE(kern_cq_hold),
	KUNIT_CASE(kern_cq_large),
	KUNIT_CASE(kern_cq_vector),
	KUNIT_CASE(kern_cq_vector_race),
	KUNIT_CASE(kern_cq_resize),
	KUNIT_CASE(kern_cq_moderation),
	KUNIT_CASE(kern_cq_no_moderation),
	KUNIT_CASE(kern_create_cq_refused),
	KUNIT_CASE(kern_short_cq),
	{}
};

static struct kunit_suite kern_cq_suite = {
	.name = "virtio_roce_kern_cq",
	.test_cases = kern_cq_cases,
};

kunit_test_suite(kern_cq_suite);
