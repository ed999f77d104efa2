// SPDX-License-Identifier: GPL-2.0
/*
 * The whole driver, bound to a function that acts as a device: the data path of consumers
 * in the kernel.
 */
#include <kunit/test.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_endpoint.h"

static void kern_pd(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	unsigned int before = mock_count(mock, CMD(GET_DMA_MR));
	unsigned int after = mock_count(mock, CMD(DESTROY_PD));
	struct ib_pd *pd = ib_alloc_pd(ibdev, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pd);
	/* The core creates a memory region that covers all memory. */
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(GET_DMA_MR)), before + 1);
	KUNIT_EXPECT_EQ(test, mock->mrs[0].access, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, pd->local_dma_lkey, 0x1000);
	ib_dealloc_pd(pd);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DEREG_MR)), before + 1);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_PD)), after + 1);

	mock->fail[CMD(CREATE_PD)] = -EREMOTEIO;
	pd = ib_alloc_pd(ibdev, 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(pd), -ENOMEM);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

static void kern_send(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct mock_vq *sq = &mock->sq_vqs[ep->qp->qp_num];
	struct ib_sge sge[3] = {
		{ 0x3132333435363738, 0x41424344, 0x51525354 },
		{ 0x6162636465666768, 0x71727374, 0x81828384 },
	};
	const struct virtio_rdma_sq_req *req;
	u32 len;

	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 1, IB_WR_SEND, 0, sge, 1), -EINVAL);
	endpoint_to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, sq->kicks, 0);

	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 0x0102030405060708,
					       IB_WR_RDMA_WRITE_WITH_IMM,
					       IB_SEND_SIGNALED | IB_SEND_FENCE, sge, 2));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	req = mock_take(mock, sq, 0, &len);
	KUNIT_EXPECT_EQ(test, len, 576 + 2 * 16);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->wr_id), 0);
	KUNIT_EXPECT_EQ(test, req->opcode, VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM);
	KUNIT_EXPECT_EQ(test, req->send_flags,
			VIRTIO_IB_SEND_SIGNALED | VIRTIO_IB_SEND_FENCE);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(req->imm_data), 0xa1a2a3a4);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->rdma.remote_addr),
			0x1112131415161718);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->rdma.rkey), 0x21222324);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->num_sge), 2);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->sg_list[1].addr),
			0x6162636465666768);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->sg_list[1].length), 0x71727374);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->sg_list[1].lkey), 0x81828384);

	/* A SEND has no remote address and no immediate data. */
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 2, IB_WR_SEND, 0, sge, 0));
	req = mock_take(mock, sq, 1, &len);
	KUNIT_EXPECT_EQ(test, req->opcode, VIRTIO_IB_WR_SEND);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->num_sge), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(req->imm_data), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->rdma.remote_addr), 0);

	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 3, IB_WR_SEND, 0, sge, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 3, IB_WR_REG_MR, 0, sge, 0),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 3, IB_WR_SEND, IB_SEND_IP_CSUM, sge,
					    0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, sq->kicks, 2);
	endpoint_done(ep);
}

static void kern_send_inline(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct mock_vq *sq = &mock->sq_vqs[ep->qp->qp_num];
	u8 *data = kunit_kmalloc(test, 513, GFP_KERNEL);
	struct ib_sge sge[2] = {
		{ .addr = (uintptr_t)data, .length = 500 },
		{ .addr = (uintptr_t)data + 500, .length = 12 },
	};
	const struct virtio_rdma_sq_req *req;
	u32 len, i;

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (i = 0; i < 513; i++)
		data[i] = i * 7;
	endpoint_to_rts(test, ep->qp);
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 1, IB_WR_SEND, IB_SEND_INLINE, sge,
					       2));
	req = mock_take(mock, sq, 0, &len);
	KUNIT_EXPECT_EQ(test, req->send_flags, VIRTIO_IB_SEND_INLINE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->num_sge), 512);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(req->inline_len), 512);
	KUNIT_EXPECT_MEMEQ(test, req->inline_data, data, 512);

	sge[1].length = 13;
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 2, IB_WR_SEND, IB_SEND_INLINE, sge, 2),
			-EINVAL);
	sge[1].length = U32_MAX;
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 2, IB_WR_SEND, IB_SEND_INLINE, sge, 2),
			-EINVAL);
	endpoint_done(ep);
}

/* A slot is free again when its completion was polled, over many turns of the ring. */
static void kern_send_wraps(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 3);
	struct mock_vq *sq = &mock->sq_vqs[ep->qp->qp_num];
	const int flags = IB_SEND_SIGNALED;
	struct ib_wc wc;
	u32 i;

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 4; i++)	/* rounded up from 3 */
		KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, i, IB_WR_SEND, flags, NULL, 0));
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, i, IB_WR_SEND, flags, NULL, 0), -ENOMEM);

	for (; i < 70000; i++) {
		endpoint_set_used(sq, i - 3);
		endpoint_complete_send(ep, ep->qp, i - 4, VIRTIO_IB_WC_SEND);
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
		KUNIT_ASSERT_EQ(test, wc.wr_id, i - 4);
		KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, i, IB_WR_SEND, flags, NULL, 0));
		KUNIT_ASSERT_EQ(test, endpoint_send(ep->qp, i, IB_WR_SEND, flags, NULL, 0),
				-ENOMEM);
	}
	/* It was used, but its completion was not polled. */
	endpoint_set_used(sq, i - 3);
	endpoint_complete_send(ep, ep->qp, i - 4, VIRTIO_IB_WC_SEND);
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, i, IB_WR_SEND, flags, NULL, 0), -ENOMEM);
	/* A used index that is nonsense neither takes room away nor gives any. */
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
	endpoint_set_used(sq, i + 1);
	KUNIT_EXPECT_EQ(test, 0, endpoint_send(ep->qp, i, IB_WR_SEND, flags, NULL, 0));
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, i, IB_WR_SEND, flags, NULL, 0), -ENOMEM);
	endpoint_done(ep);
}

/* One doorbell for a list, also if only the requests before a bad one are posted. */
static void kern_send_list(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 8);
	struct mock_vq *sq = &mock->sq_vqs[ep->qp->qp_num];
	struct ib_send_wr wr[3] = {
		{ .next = &wr[1], .wr_id = 1, .opcode = IB_WR_SEND },
		{ .next = &wr[2], .wr_id = 2, .opcode = IB_WR_SEND },
		{ .wr_id = 3, .opcode = IB_WR_LOCAL_INV },
	};
	const struct ib_send_wr *bad = NULL;

	endpoint_to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, ib_post_send(ep->qp, wr, &bad), -EOPNOTSUPP);
	KUNIT_EXPECT_PTR_EQ(test, bad, &wr[2]);
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(sq), 2);
	endpoint_done(ep);
}

/*
 * On success the bad request is not written to: RDS looks at it after each post,
 * and has initialised it to the first one.
 */
static void kern_bad_wr(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 2);
	struct ib_send_wr swr = { .opcode = IB_WR_SEND };
	struct ib_recv_wr rwr = {};
	const struct ib_send_wr *bad_send = &swr;
	const struct ib_recv_wr *bad_recv = &rwr;

	endpoint_to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(ep->qp, &swr, &bad_send));
	KUNIT_EXPECT_EQ(test, 0, ib_post_recv(ep->qp, &rwr, &bad_recv));
	KUNIT_EXPECT_PTR_EQ(test, bad_send, &swr);
	KUNIT_EXPECT_PTR_EQ(test, bad_recv, &rwr);
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(ep->qp, NULL, &bad_send));
	KUNIT_EXPECT_EQ(test, 0, ib_post_recv(ep->qp, NULL, &bad_recv));
	KUNIT_EXPECT_PTR_EQ(test, bad_send, &swr);
	KUNIT_EXPECT_PTR_EQ(test, bad_recv, &rwr);

	bad_send = NULL;
	bad_recv = NULL;
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(ep->qp, &swr, &bad_send));
	KUNIT_EXPECT_EQ(test, 0, ib_post_recv(ep->qp, &rwr, &bad_recv));
	KUNIT_EXPECT_EQ(test, -ENOMEM, ib_post_send(ep->qp, &swr, &bad_send));
	KUNIT_EXPECT_EQ(test, -ENOMEM, ib_post_recv(ep->qp, &rwr, &bad_recv));
	KUNIT_EXPECT_PTR_EQ(test, bad_send, &swr);
	KUNIT_EXPECT_PTR_EQ(test, bad_recv, &rwr);
	endpoint_done(ep);
}

static void kern_kick_by_flags(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 8);
	struct mock_vq *sq = &mock->sq_vqs[ep->qp->qp_num];

	endpoint_to_rts(test, ep->qp);
	sq->pub.vring.used->flags =
		__cpu_to_virtio16(true, VRING_USED_F_NO_NOTIFY);
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 0);
	sq->pub.vring.used->flags = 0;
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 2, IB_WR_SEND, 0, NULL, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	endpoint_done(ep);
}

static void kern_kick_by_event(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep;
	struct mock_vq *sq;

	mock->aux.event_idx = true;
	ep = endpoint_open(mock, 8, 8);
	sq = &mock->sq_vqs[ep->qp->qp_num];
	endpoint_to_rts(test, ep->qp);
	/* The flags say otherwise, but are not used. */
	sq->pub.vring.used->flags =
		__cpu_to_virtio16(true, VRING_USED_F_NO_NOTIFY);
	vring_avail_event(&sq->pub.vring) = __cpu_to_virtio16(true, 1);
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 0);
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 2, IB_WR_SEND, 0, NULL, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 3, IB_WR_SEND, 0, NULL, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	endpoint_done(ep);
}

static void kern_recv(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct mock_vq *rq = &mock->rq_vqs[ep->qp->qp_num];
	struct ib_sge sge[2] = {
		{ 0x3132333435363738, 0x41424344, 0x51525354 },
	};
	const struct virtio_rdma_rq_req *req;
	struct ib_wc wc;
	u32 len, i;

	KUNIT_EXPECT_EQ(test, endpoint_recv(ep->qp, 1, sge, 1), -EINVAL);
	endpoint_to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, endpoint_recv(ep->qp, 1, sge, 2), -EINVAL);
	KUNIT_ASSERT_EQ(test, 0, endpoint_recv(ep->qp, 0x0102030405060708, sge, 1));
	req = mock_take(mock, rq, 0, &len);
	KUNIT_EXPECT_EQ(test, len, 24 + 16);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->wr_id), RECV);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->num_sge), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->sg_list[0].addr),
			0x3132333435363738);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->sg_list[0].length), 0x41424344);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->sg_list[0].lkey), 0x51525354);
	KUNIT_EXPECT_EQ(test, rq->kicks, 1);
	for (i = 1; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0, endpoint_recv(ep->qp, i, sge, 0));
	KUNIT_EXPECT_EQ(test, endpoint_recv(ep->qp, i, sge, 0), -ENOMEM);
	endpoint_set_used(rq, 1);
	KUNIT_EXPECT_EQ(test, endpoint_recv(ep->qp, i, sge, 0), -ENOMEM);
	endpoint_device_completes(ep, ep->qp->qp_num, RECV, VIRTIO_IB_WC_RECV, 0, 1);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 0x0102030405060708);
	KUNIT_EXPECT_EQ(test, 0, endpoint_recv(ep->qp, i, sge, 0));
	endpoint_done(ep);
}

/*
 * Requests that leave no completion: they are complete with the next one that does.
 * If they fail, or are flushed, they leave one all the same.
 */
static void kern_unsignaled(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	u32 qpn = ep->qp->qp_num, i;
	struct mock_vq *sq = &mock->sq_vqs[qpn];
	struct ib_wc wc[4];

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, POINTER + i, IB_WR_SEND,
						       i == 2 ? IB_SEND_SIGNALED : 0, NULL, 0));
	/* The core believes that a pointer may be missing here, and says so. */
	endpoint_expect_dropped(ep, qpn, endpoint_wire_id(ep, sq, 1));
	endpoint_set_used(sq, 3);
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 4, IB_WR_SEND, 0, NULL, 0), -ENOMEM);
	endpoint_complete_send(ep, ep->qp, 2, VIRTIO_IB_WC_SEND);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, POINTER + 2);
	for (i = 4; i < 7; i++)
		KUNIT_EXPECT_EQ(test, 0, endpoint_send(ep->qp, POINTER + i, IB_WR_SEND, 0, NULL,
						       0));
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 7, IB_WR_SEND, 0, NULL, 0), -ENOMEM);

	endpoint_set_used(sq, 7);
	endpoint_device_completes(ep, qpn, endpoint_wire_id(ep, sq, 4),
				  0, VIRTIO_IB_WC_REM_OP_ERR, 0);
	endpoint_device_completes(ep, qpn, endpoint_wire_id(ep, sq, 5),
				  0, VIRTIO_IB_WC_WR_FLUSH_ERR, 0);
	endpoint_device_completes(ep, qpn, endpoint_wire_id(ep, sq, 6),
				  0, VIRTIO_IB_WC_WR_FLUSH_ERR, 0);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 3);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, POINTER + 4 + i);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_EQ(test, wc[2].status, IB_WC_WR_FLUSH_ERR);
	endpoint_done(ep);
}

static struct kunit_case kern_cases[] = {
	KUNIT_CASE(kern_pd),
	KUNIT_CASE(kern_send),
	KUNIT_CASE(kern_send_inline),
	KUNIT_CASE(kern_send_wraps),
	KUNIT_CASE(kern_send_list),
	KUNIT_CASE(kern_bad_wr),
	KUNIT_CASE(kern_kick_by_flags),
	KUNIT_CASE(kern_kick_by_event),
	KUNIT_CASE(kern_recv),
	KUNIT_CASE(kern_unsignaled),
	{}
};

static struct kunit_suite kern_suite = {
	.name = "virtio_roce_kern",
	.test_cases = kern_cases,
};

kunit_test_suite(kern_suite);
