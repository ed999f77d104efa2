// SPDX-License-Identifier: GPL-2.0
/*
 * The whole driver, bound to a function that acts as a device: what consumers in
 * the kernel do with PDs, CQs, QPs and AHs, and their data path.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64

/* A wr_id of a consumer. */
#define POINTER		0xffff888001020300ULL

/* The bit that those of receive requests have on the wire. */
#define RECV		BIT_ULL(16)

/**
 * struct endpoint - what a consumer in the kernel has
 * @mock: function
 * @ibdev: device
 * @pd: protection domain
 * @cq: completion queue
 * @qp: queue pair
 * @cqn: its number in the device
 * @events: calls of the completion handler
 */
struct endpoint {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	u32 cqn;
	int events;
};

static void endpoint_event(struct ib_cq *cq, void *context)
{
	((struct endpoint *)context)->events++;
}

static u64 bad_completions(struct endpoint *ep)
{
	return atomic64_read(&to_vdev(ep->ibdev)->bad_completions);
}

static struct ib_qp *endpoint_add_qp(struct endpoint *ep, u32 depth)
{
	struct ib_qp_init_attr attr = {
		.send_cq = ep->cq,
		.recv_cq = ep->cq,
		.cap = {
			.max_send_wr = depth,
			.max_recv_wr = depth,
			.max_send_sge = 2,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	return ib_create_qp(ep->pd, &attr);
}

static void endpoint_close(void *data)
{
	struct endpoint *ep = data;

	if (ep->qp)
		KUNIT_EXPECT_EQ(ep->mock->test, 0, ib_destroy_qp(ep->qp));
	if (ep->cq)
		ib_destroy_cq(ep->cq);
	if (ep->pd)
		ib_dealloc_pd(ep->pd);
}

static struct endpoint *endpoint_open(struct mock *mock, int cqe, u32 depth)
{
	const struct ib_cq_init_attr attr = { .cqe = cqe };
	struct kunit *test = mock->test;
	struct endpoint *ep;

	ep = kunit_kzalloc(test, sizeof(*ep), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	ep->mock = mock;
	ep->ibdev = mock_start(mock);

	ep->pd = ib_alloc_pd(ep->ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ep->pd);
	ep->cq = ib_create_cq(ep->ibdev, endpoint_event, NULL, ep, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ep->cq);
	ep->qp = endpoint_add_qp(ep, depth);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ep->qp);
	ep->cqn = mock->qps[ep->qp->qp_num].scqn;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, endpoint_close,
							   ep));
	return ep;
}

static void endpoint_done(struct endpoint *ep)
{
	struct mock *mock = ep->mock;
	unsigned int i;

	kunit_release_action(mock->test, endpoint_close, ep);
	/* Address handles may be left to a work item. */
	for (i = 0; i < 2000 && mock_objects(mock); i++)
		usleep_range(1000, 2000);
	mock_expect_clean(mock);
	mock_stop(mock, ep->ibdev);
}

/* As a communication manager would, but without real addresses. */
static void to_rts(struct kunit *test, struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_ATOMIC,
	};
	const struct ib_gid_attr *sgid;
	union ib_gid gid;

	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE |
					      IB_QP_PKEY_INDEX | IB_QP_PORT |
					      IB_QP_ACCESS_FLAGS));

	sgid = rdma_get_gid_attr(qp->device, 1, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sgid);
	gid = sgid->gid;
	rdma_put_gid_attr(sgid);
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_1024;
	attr.dest_qp_num = 3;
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, &gid, 0, 0, 64, 0);
	attr.ah_attr.roce.dmac[0] = 0x02;
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE |
					      IB_QP_AV | IB_QP_PATH_MTU |
					      IB_QP_DEST_QPN | IB_QP_RQ_PSN |
					      IB_QP_MAX_DEST_RD_ATOMIC |
					      IB_QP_MIN_RNR_TIMER));
	attr.qp_state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE |
					      IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
					      IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
					      IB_QP_MAX_QP_RD_ATOMIC));
}

static int send(struct ib_qp *qp, u64 wr_id, enum ib_wr_opcode opcode,
		int flags, struct ib_sge *sge, int num_sge)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = wr_id,
			.sg_list = sge,
			.num_sge = num_sge,
			.opcode = opcode,
			.send_flags = flags,
			.ex.imm_data = cpu_to_be32(0xa1a2a3a4),
		},
		.remote_addr = 0x1112131415161718,
		.rkey = 0x21222324,
	};

	return ib_post_send(qp, &wr.wr, NULL);
}

static int recv(struct ib_qp *qp, u64 wr_id, struct ib_sge *sge, int num_sge)
{
	struct ib_recv_wr wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = num_sge,
	};

	return ib_post_recv(qp, &wr, NULL);
}

static void set_used(struct mock_vq *vq, u16 idx)
{
	/* Orders what the device wrote before the index. */
	smp_store_release(&vq->pub.vring.used->idx, __cpu_to_virtio16(true, idx));
}

/* The cookie on the wire of the request at @pos. */
static u64 wire_id(struct endpoint *ep, struct mock_vq *vq, u16 pos)
{
	const __le64 *wr_id;
	u32 len;

	wr_id = mock_take(ep->mock, vq, pos, &len);
	return le64_to_cpu(*wr_id);
}

static void device_completes(struct endpoint *ep, u32 qpn, u64 wr_id, u8 opcode,
			     u8 status, u32 len)
{
	const struct virtio_rdma_cq_req req = {
		.wr_id = cpu_to_le64(wr_id),
		.status = status,
		.opcode = opcode,
		.byte_len = cpu_to_le32(len),
		.qp_num = cpu_to_le32(qpn),
	};

	mock_complete(ep->mock, ep->cqn, &req);
}

static void complete_send(struct endpoint *ep, struct ib_qp *qp, u16 pos, u8 opcode)
{
	struct mock_vq *sq = &ep->mock->sq_vqs[qp->qp_num];

	device_completes(ep, qp->qp_num, wire_id(ep, sq, pos), opcode, 0, 0);
}

/* With as many bytes as post_recv() posts, and the slot before the completion. */
static void complete_recv(struct endpoint *ep, struct ib_qp *qp, u16 pos)
{
	struct mock_vq *rq = &ep->mock->rq_vqs[qp->qp_num];
	u64 wr_id = wire_id(ep, rq, pos);

	set_used(rq, pos + 1);
	device_completes(ep, qp->qp_num, wr_id, VIRTIO_IB_WC_RECV, 0, 100);
}

static int post_recv(struct ib_qp *qp, u64 wr_id)
{
	struct ib_sge sge = { .addr = 0x1000, .length = 100, .lkey = 0x1000 };

	return recv(qp, wr_id, &sge, 1);
}

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

	KUNIT_EXPECT_EQ(test, send(ep->qp, 1, IB_WR_SEND, 0, sge, 1), -EINVAL);
	to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, sq->kicks, 0);

	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 0x0102030405060708,
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
	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 2, IB_WR_SEND, 0, sge, 0));
	req = mock_take(mock, sq, 1, &len);
	KUNIT_EXPECT_EQ(test, req->opcode, VIRTIO_IB_WR_SEND);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->num_sge), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(req->imm_data), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->rdma.remote_addr), 0);

	KUNIT_EXPECT_EQ(test, send(ep->qp, 3, IB_WR_SEND, 0, sge, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, send(ep->qp, 3, IB_WR_REG_MR, 0, sge, 0),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, send(ep->qp, 3, IB_WR_SEND, IB_SEND_IP_CSUM, sge,
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
	to_rts(test, ep->qp);
	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 1, IB_WR_SEND, IB_SEND_INLINE, sge,
				      2));
	req = mock_take(mock, sq, 0, &len);
	KUNIT_EXPECT_EQ(test, req->send_flags, VIRTIO_IB_SEND_INLINE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->num_sge), 512);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(req->inline_len), 512);
	KUNIT_EXPECT_MEMEQ(test, req->inline_data, data, 512);

	sge[1].length = 13;
	KUNIT_EXPECT_EQ(test, send(ep->qp, 2, IB_WR_SEND, IB_SEND_INLINE, sge, 2),
			-EINVAL);
	sge[1].length = U32_MAX;
	KUNIT_EXPECT_EQ(test, send(ep->qp, 2, IB_WR_SEND, IB_SEND_INLINE, sge, 2),
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

	to_rts(test, ep->qp);
	for (i = 0; i < 4; i++)	/* rounded up from 3 */
		KUNIT_ASSERT_EQ(test, 0, send(ep->qp, i, IB_WR_SEND, flags, NULL, 0));
	KUNIT_EXPECT_EQ(test, send(ep->qp, i, IB_WR_SEND, flags, NULL, 0), -ENOMEM);

	for (; i < 70000; i++) {
		set_used(sq, i - 3);
		complete_send(ep, ep->qp, i - 4, VIRTIO_IB_WC_SEND);
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
		KUNIT_ASSERT_EQ(test, wc.wr_id, i - 4);
		KUNIT_ASSERT_EQ(test, 0, send(ep->qp, i, IB_WR_SEND, flags, NULL, 0));
		KUNIT_ASSERT_EQ(test, send(ep->qp, i, IB_WR_SEND, flags, NULL, 0),
				-ENOMEM);
	}
	/* It was used, but its completion was not polled. */
	set_used(sq, i - 3);
	complete_send(ep, ep->qp, i - 4, VIRTIO_IB_WC_SEND);
	KUNIT_EXPECT_EQ(test, send(ep->qp, i, IB_WR_SEND, flags, NULL, 0), -ENOMEM);
	/* A used index that is nonsense neither takes room away nor gives any. */
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
	set_used(sq, i + 1);
	KUNIT_EXPECT_EQ(test, 0, send(ep->qp, i, IB_WR_SEND, flags, NULL, 0));
	KUNIT_EXPECT_EQ(test, send(ep->qp, i, IB_WR_SEND, flags, NULL, 0), -ENOMEM);
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

	to_rts(test, ep->qp);
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

	to_rts(test, ep->qp);
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

	to_rts(test, ep->qp);
	sq->pub.vring.used->flags =
		__cpu_to_virtio16(true, VRING_USED_F_NO_NOTIFY);
	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 0);
	sq->pub.vring.used->flags = 0;
	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 2, IB_WR_SEND, 0, NULL, 0));
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
	to_rts(test, ep->qp);
	/* The flags say otherwise, but are not used. */
	sq->pub.vring.used->flags =
		__cpu_to_virtio16(true, VRING_USED_F_NO_NOTIFY);
	vring_avail_event(&sq->pub.vring) = __cpu_to_virtio16(true, 1);
	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 0);
	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 2, IB_WR_SEND, 0, NULL, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 3, IB_WR_SEND, 0, NULL, 0));
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

	KUNIT_EXPECT_EQ(test, recv(ep->qp, 1, sge, 1), -EINVAL);
	to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, recv(ep->qp, 1, sge, 2), -EINVAL);
	KUNIT_ASSERT_EQ(test, 0, recv(ep->qp, 0x0102030405060708, sge, 1));
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
		KUNIT_EXPECT_EQ(test, 0, recv(ep->qp, i, sge, 0));
	KUNIT_EXPECT_EQ(test, recv(ep->qp, i, sge, 0), -ENOMEM);
	set_used(rq, 1);
	KUNIT_EXPECT_EQ(test, recv(ep->qp, i, sge, 0), -ENOMEM);
	device_completes(ep, ep->qp->qp_num, RECV, VIRTIO_IB_WC_RECV, 0, 1);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 0x0102030405060708);
	KUNIT_EXPECT_EQ(test, 0, recv(ep->qp, i, sge, 0));
	endpoint_done(ep);
}

static void kern_poll(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	struct ib_wc wc[4];
	u32 i, k;

	to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, ep->cq->cqe, 4);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 0);
	for (i = 0; i < 30000; i += 3) {
		for (k = 0; k < 3; k++) {
			KUNIT_ASSERT_EQ(test, 0, post_recv(ep->qp, POINTER + i + k));
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
	KUNIT_EXPECT_EQ(test, bad_completions(ep), 0);
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

	to_rts(test, ep->qp);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, post_recv(ep->qp, i));
	set_used(cq, 5);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 0);
	set_used(cq, 0x8000);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 0);
	set_used(cq, 0);
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

static void expect_dropped(struct endpoint *ep, u32 qpn, u64 wr_id)
{
	struct kunit *test = ep->mock->test;
	u64 before = bad_completions(ep);
	struct ib_wc wc;

	device_completes(ep, qpn, wr_id, VIRTIO_IB_WC_RECV, 0, 1);
	KUNIT_EXPECT_EQ_MSG(test, ib_poll_cq(ep->cq, 1, &wc), 0, "QP %u, %#llx",
			    qpn, wr_id);
	KUNIT_EXPECT_EQ(test, bad_completions(ep), before + 1);
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

	to_rts(test, ep->qp);
	/* Nothing was posted. */
	expect_dropped(ep, qpn, 0);
	expect_dropped(ep, qpn, RECV);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, post_recv(ep->qp, POINTER + i));
		KUNIT_EXPECT_LT(test, wire_id(ep, rq, i), RECV + NUM);
		KUNIT_ASSERT_EQ(test, 0, send(ep->qp, POINTER + 10 + i, IB_WR_SEND,
					      IB_SEND_SIGNALED, NULL, 0));
		KUNIT_EXPECT_LT(test, wire_id(ep, sq, i), NUM);
	}
	/* QPs that there are not, what is behind the last, and pointers. */
	expect_dropped(ep, qpn + 1, 0);
	expect_dropped(ep, U32_MAX - 1, 0);
	expect_dropped(ep, qpn, 3);
	expect_dropped(ep, qpn, U16_MAX);
	expect_dropped(ep, qpn, RECV + 3);
	expect_dropped(ep, qpn, RECV << 1);
	expect_dropped(ep, qpn, POINTER);
	expect_dropped(ep, qpn, BIT_ULL(63));

	id = wire_id(ep, rq, 0);
	device_completes(ep, qpn, id, VIRTIO_IB_WC_RECV, 0, 1);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, POINTER);
	/* Once more. */
	expect_dropped(ep, qpn, id);
	/* One behind it would take away the completion that is due before. */
	expect_dropped(ep, qpn, wire_id(ep, sq, 1));
	expect_dropped(ep, qpn, wire_id(ep, rq, 2));
	for (i = 0; i < 2; i++) {
		complete_send(ep, ep->qp, i, VIRTIO_IB_WC_SEND);
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 1);
		KUNIT_EXPECT_EQ(test, wc[0].wr_id, POINTER + 10 + i);
	}
	expect_dropped(ep, qpn, 0);
	expect_dropped(ep, qpn, 1);
	complete_send(ep, ep->qp, 2, VIRTIO_IB_WC_SEND);
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
	to_rts(test, qp);
	KUNIT_ASSERT_EQ(test, 0, post_recv(qp, POINTER));
	KUNIT_ASSERT_EQ(test, 0, send(qp, POINTER, IB_WR_SEND, IB_SEND_SIGNALED, NULL,
				      0));
	expect_dropped(ep, qp->qp_num, wire_id(ep, &mock->rq_vqs[qp->qp_num], 0));
	expect_dropped(ep, qp->qp_num, wire_id(ep, &mock->sq_vqs[qp->qp_num], 0));
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

	to_rts(test, ep->qp);
	for (i = 0; i < ARRAY_SIZE(sends); i++) {
		KUNIT_ASSERT_EQ(test, 0, send(ep->qp, POINTER + i, sends[i].posted,
					      IB_SEND_SIGNALED, sge, 2));
		device_completes(ep, qpn, wire_id(ep, &mock->sq_vqs[qpn], i),
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
		KUNIT_ASSERT_EQ(test, 0, recv(ep->qp, POINTER + i, sge, 1));
		device_completes(ep, qpn, wire_id(ep, &mock->rq_vqs[qpn], i),
				 recvs[i].opcode, 0, recvs[i].len);
		KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, POINTER + i);
		KUNIT_EXPECT_EQ_MSG(test, (int)wc.status, (int)recvs[i].status, "%u", i);
		KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)recvs[i].wc_opcode);
		if (!wc.status)
			KUNIT_EXPECT_EQ(test, wc.byte_len, recvs[i].wc_len);
	}
	KUNIT_EXPECT_EQ(test, bad_completions(ep), 0);
	endpoint_done(ep);
}

/* Consumers of datagrams subtract the length of a header that must be there. */
static void kern_datagram_content(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp_init_attr init = {
		.send_cq = ep->cq,
		.recv_cq = ep->cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IB_QPT_UD,
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct ib_qp *qp = ib_create_qp(ep->pd, &init);
	struct mock_vq *rq;
	struct ib_wc wc;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	rq = &mock->rq_vqs[qp->qp_num];
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE |
					      IB_QP_PKEY_INDEX | IB_QP_PORT |
					      IB_QP_QKEY));
	KUNIT_ASSERT_EQ(test, 0, post_recv(qp, 1));
	KUNIT_ASSERT_EQ(test, 0, post_recv(qp, 2));
	KUNIT_ASSERT_EQ(test, 0, post_recv(qp, 3));
	device_completes(ep, qp->qp_num, wire_id(ep, rq, 0), VIRTIO_IB_WC_RECV, 0, 40);
	device_completes(ep, qp->qp_num, wire_id(ep, rq, 1), VIRTIO_IB_WC_RECV, 0, 39);
	device_completes(ep, qp->qp_num, wire_id(ep, rq, 2),
			 VIRTIO_IB_WC_RECV_RDMA_WITH_IMM, 0, 40);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 40);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_GENERAL_ERR);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_GENERAL_ERR);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	endpoint_done(ep);
}

static int post_datagram(struct kunit *test, struct ib_qp *qp, struct ib_ah *ah, u32 len1,
			 u32 len2)
{
	struct ib_sge sge[] = { { .length = len1 }, { .length = len2 } };
	struct ib_ud_wr wr = {
		.wr = {
			.opcode = IB_WR_SEND,
			.sg_list = sge,
			.num_sge = ARRAY_SIZE(sge),
		},
		.ah = ah,
	};
	const struct ib_send_wr *bad = NULL;
	int err = ib_post_send(qp, &wr.wr, &bad);

	KUNIT_EXPECT_PTR_EQ(test, bad, err ? &wr.wr : NULL);
	return err;
}

/* A datagram is one packet: one that is longer than the MTU of the port is not posted. */
static void kern_datagram_mtu(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp_init_attr init = {
		.send_cq = ep->cq,
		.recv_cq = ep->cq,
		.cap = { 4, 4, 2, 1, 64 },
		.qp_type = IB_QPT_UD,
	};
	static const struct {
		int interface;
		u32 fits;
	} mtus[] = { { 9000, 4096 }, { 1500, 1024 }, { 300, 256 }, { 100, 256 } };
	struct vroce_ah ah = {};
	struct ib_qp *qp;
	u32 n = 0, i;

	qp = ib_create_qp(ep->pd, &init);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	to_vqp(qp)->state = IB_QPS_RTS;
	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		WRITE_ONCE(mock->aux.netdev->mtu, mtus[i].interface);
		KUNIT_EXPECT_EQ(test, -EINVAL,
				post_datagram(test, qp, &ah.ibah, mtus[i].fits - 9, 10));
		KUNIT_EXPECT_EQ(test, -EINVAL,
				post_datagram(test, qp, &ah.ibah, U32_MAX, U32_MAX));
		KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->sq_vqs[qp->qp_num]), n);
		KUNIT_EXPECT_EQ(test, 0,
				post_datagram(test, qp, &ah.ibah, mtus[i].fits - 9, 9));
		KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->sq_vqs[qp->qp_num]), ++n);
	}
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	/* A message of an RC QP is as many packets as it takes. */
	to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, 0, send(ep->qp, 1, IB_WR_SEND, 0,
				      &(struct ib_sge) { .length = SZ_1M }, 1));
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

	to_rts(test, ep->qp);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, send(ep->qp, POINTER + i, IB_WR_SEND,
					      i == 2 ? IB_SEND_SIGNALED : 0, NULL, 0));
	/* The core believes that a pointer may be missing here, and says so. */
	expect_dropped(ep, qpn, wire_id(ep, sq, 1));
	set_used(sq, 3);
	KUNIT_EXPECT_EQ(test, send(ep->qp, 4, IB_WR_SEND, 0, NULL, 0), -ENOMEM);
	complete_send(ep, ep->qp, 2, VIRTIO_IB_WC_SEND);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, POINTER + 2);
	for (i = 4; i < 7; i++)
		KUNIT_EXPECT_EQ(test, 0, send(ep->qp, POINTER + i, IB_WR_SEND, 0, NULL,
					      0));
	KUNIT_EXPECT_EQ(test, send(ep->qp, 7, IB_WR_SEND, 0, NULL, 0), -ENOMEM);

	set_used(sq, 7);
	device_completes(ep, qpn, wire_id(ep, sq, 4), 0, VIRTIO_IB_WC_REM_OP_ERR, 0);
	device_completes(ep, qpn, wire_id(ep, sq, 5), 0, VIRTIO_IB_WC_WR_FLUSH_ERR, 0);
	device_completes(ep, qpn, wire_id(ep, sq, 6), 0, VIRTIO_IB_WC_WR_FLUSH_ERR, 0);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 4, wc), 3);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, POINTER + 4 + i);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_EQ(test, wc[2].status, IB_WC_WR_FLUSH_ERR);
	endpoint_done(ep);
}

static void kern_notify(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	struct ib_wc wc[4];
	int i;

	to_rts(test, ep->qp);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, post_recv(ep->qp, i));
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

/* Attributes that the core's table of transitions does not know, or that mean nothing. */
static void kern_modify_more(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	const struct virtio_rdma_cmd_modify_qp *req;
	struct ib_qp_attr attr = {
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_MW_BIND,
		.rate_limit = 1000,
	};

	to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_RATE_LIMIT));
	req = (const void *)mock_last(mock, CMD(MODIFY_QP))->req;
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->attr_mask), VIRTIO_IB_QP_RATE_LIMIT);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->rate_limit), 1000);
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_ACCESS_FLAGS));
	req = (const void *)mock_last(mock, CMD(MODIFY_QP))->req;
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->qp_access_flags),
			VIRTIO_IB_ACCESS_REMOTE_READ);
	attr.qp_access_flags = IB_ZERO_BASED;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			ib_modify_qp(ep->qp, &attr, IB_QP_ACCESS_FLAGS));
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
	to_rts(test, ep->qp);
	to_rts(test, other);
	KUNIT_ASSERT_EQ(test, 0, post_recv(other, 1));
	KUNIT_ASSERT_EQ(test, 0, post_recv(ep->qp, 2));
	KUNIT_ASSERT_EQ(test, 0, post_recv(other, 3));
	complete_recv(ep, other, 0);
	complete_recv(ep, ep->qp, 0);
	complete_recv(ep, other, 1);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(other));
	other = endpoint_add_qp(ep, 4);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	KUNIT_EXPECT_EQ(test, other->qp_num, qpn);
	to_rts(test, other);
	KUNIT_ASSERT_EQ(test, 0, post_recv(other, 4));
	complete_recv(ep, other, 0);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 2);
	KUNIT_EXPECT_EQ(test, bad_completions(ep), 0);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 2);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 4);
	KUNIT_EXPECT_PTR_EQ(test, wc[1].qp, other);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(other));
	endpoint_done(ep);
}

/* The device gives slots back when a QP goes to RESET; the indices go on. */
static void kern_reset_and_again(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct mock_vq *sq = &mock->sq_vqs[ep->qp->qp_num];
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_wc wc[8];
	u32 i;

	to_rts(test, ep->qp);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, send(ep->qp, i, IB_WR_SEND, IB_SEND_SIGNALED,
					      NULL, 0));
	complete_send(ep, ep->qp, 0, VIRTIO_IB_WC_SEND);
	set_used(sq, 3);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 0);
	KUNIT_EXPECT_EQ(test, send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0), -EINVAL);

	to_rts(test, ep->qp);
	for (i = 10; i < 14; i++)
		KUNIT_EXPECT_EQ(test, 0, send(ep->qp, i, IB_WR_SEND, IB_SEND_SIGNALED,
					      NULL, 0));
	KUNIT_EXPECT_EQ(test, send(ep->qp, i, IB_WR_SEND, 0, NULL, 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, wire_id(ep, sq, 3), 3);
	/* From before. */
	expect_dropped(ep, ep->qp->qp_num, 1);
	set_used(sq, 4);
	complete_send(ep, ep->qp, 3, VIRTIO_IB_WC_SEND);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 10);
	endpoint_done(ep);
}

static void kern_modify_refused(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .port_num = 1 };
	struct ib_qp_init_attr init;
	unsigned int n;

	/* By the state table of InfiniBand. */
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE), -EINVAL);
	attr.qp_state = IB_QPS_INIT;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					   IB_QP_PORT), -EINVAL);
	/* There is only one P_Key. */
	attr.pkey_index = 1;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					   IB_QP_PKEY_INDEX | IB_QP_PORT |
					   IB_QP_ACCESS_FLAGS), -EINVAL);
	/* A right that the device does not know; to_rts() has one to ignore. */
	attr.pkey_index = 0;
	attr.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_ON_DEMAND;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					   IB_QP_PKEY_INDEX | IB_QP_PORT |
					   IB_QP_ACCESS_FLAGS), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), 0);

	to_rts(test, ep->qp);
	n = mock_count(mock, CMD(MODIFY_QP));
	attr.cap.max_send_wr = 8;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_CAP),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_PATH_MIG_STATE),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n);

	/* The device refuses, and the state does not change. */
	mock->fail[CMD(MODIFY_QP)] = -EREMOTEIO;
	attr.qp_state = IB_QPS_RESET;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0), 0);
	mock->fail[CMD(MODIFY_QP)] = 0;

	/* A device may change the state on its own; a query shows it. */
	mock->qps[ep->qp->qp_num].state = VIRTIO_IB_QPS_SQE;
	KUNIT_EXPECT_EQ(test, 0, ib_query_qp(ep->qp, &attr, IB_QP_STATE, &init));
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_SQE);
	KUNIT_EXPECT_EQ(test, attr.cap.max_send_wr, 4);
	KUNIT_EXPECT_EQ(test, init.qp_type, IB_QPT_RC);
	KUNIT_EXPECT_PTR_EQ(test, init.send_cq, ep->cq);
	endpoint_done(ep);
}

static u32 kern_flush_rights(struct kunit *test, u64 caps)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.qp_access_flags = IB_ACCESS_FLUSH_GLOBAL |
				   IB_ACCESS_FLUSH_PERSISTENT,
	};
	const struct virtio_rdma_cmd_modify_qp *req;
	struct endpoint *ep;
	struct ib_mr *mr;
	u32 access;

	mock->query_device.device_cap_flags = cpu_to_le64(caps);
	ep = endpoint_open(mock, 8, 4);
	KUNIT_EXPECT_EQ(test, !!(ep->ibdev->attrs.device_cap_flags &
				 IB_DEVICE_FLUSH_GLOBAL),
			!!(caps & VIRTIO_IB_DEVICE_FLUSH));
	to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					      IB_QP_ACCESS_FLAGS));
	req = (const void *)mock_last(mock, CMD(MODIFY_QP))->req;
	access = le32_to_cpu(req->qp_access_flags);

	mr = ep->pd->device->ops.get_dma_mr(ep->pd, IB_ACCESS_FLUSH_PERSISTENT);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mr), -EOPNOTSUPP);
	endpoint_done(ep);
	return access;
}

/* Rights to flush are sent only to a device that can flush. */
static void kern_flush(struct kunit *test)
{
	if (IB_DEVICE_FLUSH_GLOBAL == 0)
		kunit_skip(test, "this kernel does not know FLUSH");
	KUNIT_EXPECT_EQ(test, kern_flush_rights(test, 0), 0);
	KUNIT_EXPECT_EQ(test, kern_flush_rights(test, VIRTIO_IB_DEVICE_FLUSH),
			VIRTIO_IB_ACCESS_FLUSH_GLOBAL |
			VIRTIO_IB_ACCESS_FLUSH_PERSISTENT);
}

static int post_atomic(struct ib_qp *qp, enum ib_wr_opcode opcode, struct ib_sge *sge)
{
	struct ib_atomic_wr wr = {
		.wr = {
			.wr_id = POINTER,
			.sg_list = sge,
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = 0x123456789abcde0ULL,
		.compare_add = 0x1122334455667788ULL,
		.swap = 0x99aabbccddeeff00ULL,
		.rkey = 0xabcdef01,
	};

	return ib_post_send(qp, &wr.wr, NULL);
}

static void kern_atomic_one(struct endpoint *ep, u32 n, enum ib_wr_opcode opcode,
			    u8 wire, enum ib_wc_opcode done)
{
	struct ib_sge sge = { .addr = 0x1000, .length = 8, .lkey = 7 };
	struct kunit *test = ep->mock->test;
	u32 qpn = ep->qp->qp_num;
	const struct virtio_rdma_sq_req *req;
	struct ib_wc wc;
	u32 len;

	KUNIT_ASSERT_EQ(test, 0, post_atomic(ep->qp, opcode, &sge));
	req = mock_take(ep->mock, &ep->mock->sq_vqs[qpn], n, &len);
	KUNIT_EXPECT_EQ(test, req->opcode, wire);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->atomic_rkey), 0xabcdef01);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->atomic.remote_addr), 0x123456789abcde0ULL);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->atomic.compare_add), 0x1122334455667788ULL);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->atomic.swap), 0x99aabbccddeeff00ULL);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->sg_list[0].addr), 0x1000);
	device_completes(ep, qpn, le64_to_cpu(req->wr_id), wire, 0, 8);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(ep->cq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, POINTER);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, done);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 8);
}

static u32 kern_atomic_rights(struct endpoint *ep)
{
	struct kunit *test = ep->mock->test;
	const struct virtio_rdma_cmd_modify_qp *req;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.qp_access_flags = IB_ACCESS_REMOTE_ATOMIC,
	};

	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					      IB_QP_ACCESS_FLAGS));
	req = (const void *)mock_last(ep->mock, CMD(MODIFY_QP))->req;
	return le32_to_cpu(req->qp_access_flags);
}

static void kern_atomic(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep;

	mock->query_device.device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_ATOMIC);
	ep = endpoint_open(mock, 8, 4);
	KUNIT_EXPECT_EQ(test, ep->ibdev->attrs.atomic_cap, IB_ATOMIC_HCA);
	to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, kern_atomic_rights(ep), VIRTIO_IB_ACCESS_REMOTE_ATOMIC);
	kern_atomic_one(ep, 0, IB_WR_ATOMIC_CMP_AND_SWP, VIRTIO_IB_WR_CMP_SWAP,
			IB_WC_COMP_SWAP);
	kern_atomic_one(ep, 1, IB_WR_ATOMIC_FETCH_AND_ADD, VIRTIO_IB_WR_FETCH_ADD,
			IB_WC_FETCH_ADD);
	endpoint_done(ep);
}

/* A device without atomics is neither told of the right nor given a request. */
static void kern_no_atomic(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_sge sge = { .addr = 0x1000, .length = 8, .lkey = 7 };

	KUNIT_EXPECT_EQ(test, ep->ibdev->attrs.atomic_cap, IB_ATOMIC_NONE);
	to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, kern_atomic_rights(ep), 0);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, post_atomic(ep->qp, IB_WR_ATOMIC_CMP_AND_SWP,
						       &sge));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, post_atomic(ep->qp,
						       IB_WR_ATOMIC_FETCH_AND_ADD, &sge));
	endpoint_done(ep);
}

static void kern_too_many_reads(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };

	to_rts(test, ep->qp);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	attr.max_rd_atomic = 8;
	attr.max_dest_rd_atomic = 16;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					   IB_QP_MAX_QP_RD_ATOMIC |
					   IB_QP_MAX_DEST_RD_ATOMIC), 0);
	attr.max_rd_atomic = 9;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					   IB_QP_MAX_QP_RD_ATOMIC), -EINVAL);
	attr.max_dest_rd_atomic = 17;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					   IB_QP_MAX_DEST_RD_ATOMIC), -EINVAL);
	endpoint_done(ep);
}

static void kern_create_qp_refused(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct ib_qp_init_attr good = {
		.send_cq = ep->cq,
		.recv_cq = ep->cq,
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp_init_attr attr;
	unsigned int n = mock_count(mock, CMD(CREATE_QP));

#define EXPECT_REFUSED(error, member, value)				\
do {									\
	attr = good;							\
	attr.member = value;						\
	KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(ib_create_qp(ep->pd, &attr)),	\
			    error, #member);				\
} while (0)

	EXPECT_REFUSED(-EINVAL, cap.max_send_wr, NUM + 1);
	EXPECT_REFUSED(-EINVAL, cap.max_recv_wr, NUM + 1);
	EXPECT_REFUSED(-EINVAL, cap.max_send_sge, 5);
	EXPECT_REFUSED(-EINVAL, cap.max_recv_sge, 4);
	EXPECT_REFUSED(-EINVAL, cap.max_inline_data, 513);
	EXPECT_REFUSED(-EOPNOTSUPP, qp_type, IB_QPT_SMI);
	EXPECT_REFUSED(-EOPNOTSUPP, qp_type, IB_QPT_RAW_PACKET);
	EXPECT_REFUSED(-EOPNOTSUPP, create_flags, IB_QP_CREATE_NETIF_QP);
#undef EXPECT_REFUSED
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_QP)), n);
	endpoint_done(ep);
}

/* Numbers that are in use or that do not exist. */
static void kern_numbers_twice(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	const struct ib_cq_init_attr attr = { .cqe = 4 };

	mock->next_qpn = ep->qp->qp_num;
	KUNIT_EXPECT_EQ(test, PTR_ERR(endpoint_add_qp(ep, 4)), -EPROTO);
	mock->next_cqn = ep->cqn;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_cq(ep->ibdev, NULL, NULL, NULL,
						   &attr)), -EPROTO);
	/* The objects with these numbers were not destroyed. */
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_QP)), 0);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_CQ)), 0);

	mock->next_qpn = MOCK_QPS;
	KUNIT_EXPECT_EQ(test, PTR_ERR(endpoint_add_qp(ep, 4)), -EPROTO);
	mock->next_cqn = MOCK_CQS;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_cq(ep->ibdev, NULL, NULL, NULL,
						   &attr)), -EPROTO);
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
	/* It has taken both, and will give one back. */
	msleep(250);
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
		to_rts(test, ep->qp);
		KUNIT_ASSERT_EQ(test, 0, post_recv(ep->qp, 1));
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

	to_rts(test, ep->qp);
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
	to_rts(test, ep->qp);
	for (i = 0; i < 8; i++) {
		send.wr_id = i;
		recv.wr_id = 100 + i;
		KUNIT_ASSERT_EQ(test, 0, ib_post_send(ep->qp, &send, NULL));
		KUNIT_ASSERT_EQ(test, 0, ib_post_recv(ep->qp, &recv, NULL));
	}
	KUNIT_ASSERT_NOT_NULL(test, mock->event);
	mock->event(&mock->aux, VIRTIO_NET_ROCE_DEAD);
	for (i = 0; i < 250 && !READ_ONCE(flush_events); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, flush_events, 1);
	/* The device may still carry them out. */
	KUNIT_EXPECT_EQ(test, 0, count_flushed(test, ep, &sends, &recvs));
	KUNIT_EXPECT_EQ(test, ep->events, 0);
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(ep->cq, IB_CQ_NEXT_COMP));

	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	for (i = 0; i < 250 && !READ_ONCE(ep->events); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, ep->events, 1);
	/* The CQ has room for four at a time. */
	KUNIT_EXPECT_EQ(test, 16, count_flushed(test, ep, &sends, &recvs));
	KUNIT_EXPECT_EQ(test, sends, 0xff);
	KUNIT_EXPECT_EQ(test, recvs, 0xff);
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	send.wr_id = 8;
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(ep->qp, &send, NULL));
	for (i = 0; i < 250 && READ_ONCE(ep->events) < 2; i++)
		msleep(20);
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

	to_rts(test, ep->qp);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, post_recv(ep->qp, 100 + i));
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
	to_rts(test, qp);
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

	to_rts(test, ep->qp);
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

/* The endpoint's own address. */
static void endpoint_address(struct endpoint *ep, struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *sgid;
	union ib_gid gid;

	sgid = rdma_get_gid_attr(ep->ibdev, 1, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(ep->mock->test, sgid);
	gid = sgid->gid;
	rdma_put_gid_attr(sgid);
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_grh(attr, &gid, 0, 0, 64, 0);
}

/* How many DESTROY_AH were sent; waits until there are @n. */
static unsigned int ahs_destroyed(struct mock *mock, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < 2000 && mock_count(mock, CMD(DESTROY_AH)) < n; i++)
		usleep_range(1000, 2000);
	return mock_count(mock, CMD(DESTROY_AH));
}

static void kern_ah(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	struct ib_ah *ah;

	endpoint_address(ep, &attr);
	ah = rdma_create_ah(ep->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah);
	KUNIT_EXPECT_FALSE(test, mock_last(mock, CMD(CREATE_AH))->atomic);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	KUNIT_EXPECT_FALSE(test, mock_last(mock, CMD(DESTROY_AH))->atomic);

	preempt_disable();
	ah = rdma_create_ah(ep->pd, &attr, 0);
	preempt_enable();
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah);
	KUNIT_EXPECT_TRUE(test, mock_last(mock, CMD(CREATE_AH))->atomic);
	preempt_disable();
	rdma_destroy_ah(ah, 0);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, 2, ahs_destroyed(mock, 2));
	KUNIT_EXPECT_FALSE(test, mock_last(mock, CMD(DESTROY_AH))->atomic);
	endpoint_done(ep);
}

/* There was no memory for the command: the address handle is not lost. */
static void kern_ah_retry(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	struct ib_ah *ah[2];
	unsigned int i;

	endpoint_address(ep, &attr);
	for (i = 0; i < ARRAY_SIZE(ah); i++) {
		ah[i] = rdma_create_ah(ep->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah[i]);
	}
	mock->fail[CMD(DESTROY_AH)] = -ENOMEM;
	rdma_destroy_ah(ah[0], RDMA_DESTROY_AH_SLEEPABLE);
	preempt_disable();
	rdma_destroy_ah(ah[1], 0);
	preempt_enable();
	KUNIT_EXPECT_GE(test, ahs_destroyed(mock, 3), 3);
	mock->fail[CMD(DESTROY_AH)] = 0;
	/* Both are gone from the device, and the PD can go, or it is a violation. */
	endpoint_done(ep);
	for (i = 0; i < MOCK_AHS; i++)
		KUNIT_EXPECT_LT(test, mock->ah_pdn[i], 0);
}

/*
 * With rings that are large enough the core's management layer creates QP 1 and posts
 * receives on it: a consumer that was not written for this driver.
 */
static void kern_management(struct kunit *test)
{
	struct mock *mock = mock_device(test, 1024);
	struct ib_device *ibdev = mock_start(mock);
	const struct virtio_rdma_rq_req *req;
	u32 len;

	KUNIT_EXPECT_TRUE(test, mock->qps[1].exists);
	KUNIT_EXPECT_EQ(test, mock->qps[1].type, VIRTIO_IB_QPT_GSI);
	KUNIT_EXPECT_EQ(test, mock->qps[1].state, VIRTIO_IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->rq_vqs[1]), 512);
	req = mock_take(mock, &mock->rq_vqs[1], 511, &len);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->num_sge), 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->sg_list[0].lkey), 0x1000);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* Waits until the driver, maybe on another processor, has made so many available. */
static bool becomes_available(const struct mock_vq *vq, u16 idx)
{
	int i;

	for (i = 0; i < 2000; i++) {
		if (mock_avail_idx(vq) == idx)
			return true;
		usleep_range(500, 1000);
	}
	return false;
}

/* Waits until the CQ was polled up to there. */
static bool polled(struct mock *mock, u32 cqn, u16 idx)
{
	return becomes_available(&mock->cq_vqs[cqn], idx);
}

/*
 * A device of the RFC alone, with rings of 256 and CQs of that size: the management layer
 * asks for 512 receives and a CQ of 640, and the driver provides them.  The device never
 * has more requests than the CQ has slots, and all requests get their turn.
 */
static void kern_management_small(struct kunit *test)
{
	struct mock *mock = mock_device(test, 256);
	struct ib_device *ibdev = mock_start(mock);
	struct virtio_rdma_cq_req done = {
		.opcode = VIRTIO_IB_WC_RECV,
		.byte_len = cpu_to_le32(40 + 256),
		.qp_num = cpu_to_le32(1),
	};
	struct mock_vq *rq = &mock->rq_vqs[1];
	const struct virtio_rdma_rq_req *req;
	u64 *ids = kunit_kcalloc(test, 700, sizeof(*ids), GFP_KERNEL);
	u32 cqn = mock->qps[1].rcqn, len, i, j;

	KUNIT_ASSERT_NOT_NULL(test, ids);
	KUNIT_ASSERT_TRUE(test, mock->qps[1].exists);
	KUNIT_EXPECT_EQ(test, mock->qps[1].type, VIRTIO_IB_QPT_GSI);
	KUNIT_EXPECT_EQ(test, mock->qps[1].state, VIRTIO_IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, mock->cqs[cqn].cqe, 256);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->cq_vqs[cqn]), 256);
	/* 128 sends and 128 receives. */
	KUNIT_ASSERT_EQ(test, mock_avail_idx(rq), 128);

	for (i = 0; i < 600; i++) {
		req = mock_take(mock, rq, i, &len);
		ids[i] = le64_to_cpu(req->sg_list[0].addr);
		/* The management layer has 512 requests and reuses none before. */
		for (j = i > 500 ? i - 500 : 0; j < i; j++)
			KUNIT_ASSERT_NE(test, ids[i], ids[j]);
		set_used(rq, i + 1);
		done.wr_id = req->wr_id;
		mock_complete(mock, cqn, &done);
		KUNIT_ASSERT_TRUE(test, polled(mock, cqn, 256 + i + 1));
		/* The slots of the CQ come first, the requests after them. */
		KUNIT_ASSERT_TRUE(test, becomes_available(rq, 128 + i + 1));
	}

	/* A burst: nothing is added until it was polled. */
	for (j = 0; j < 2000 && !READ_ONCE(mock->cqs[cqn].armed); j++)
		usleep_range(500, 1000);
	msleep(50);
	for (j = 0; j < 20; j++) {
		req = mock_take(mock, rq, i + j, &len);
		set_used(rq, i + j + 1);
		done.wr_id = req->wr_id;
		mock->cqs[cqn].armed = j == 19 ? VIRTIO_IB_NOTIFY_NEXT_COMPLETION : 0;
		KUNIT_EXPECT_EQ(test, mock_avail_idx(rq), 128 + i);
		mock_complete(mock, cqn, &done);
	}
	KUNIT_ASSERT_TRUE(test, polled(mock, cqn, 256 + i + 20));
	KUNIT_EXPECT_TRUE(test, becomes_available(rq, 128 + i + 20));
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

/* The driver never asks for more than the device has promised. */
static void kern_promised(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	const struct ib_cq_init_attr cq_attr = { .cqe = 4 };
	struct rdma_ah_attr ah_attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	struct ib_qp *qps[MOCK_QPS - 3];
	struct ib_cq *cqs[MOCK_CQS - 1];
	struct endpoint *ep;
	union ib_gid gid = {};
	struct ib_ah *ah;
	unsigned int n, i;

	mock->query_device.max_pd = cpu_to_le32(1);
	mock->query_device.max_mr = cpu_to_le32(1);
	mock->query_device.max_ah = cpu_to_le32(1);
	ep = endpoint_open(mock, 8, 4);

#define EXPECT_NO_MORE(name, make)					\
do {									\
	const u8 command = CMD(name);					\
									\
	n = mock_count(mock, command);					\
	KUNIT_EXPECT_EQ(test, PTR_ERR(make), -ENOMEM);			\
	KUNIT_EXPECT_EQ(test, mock_count(mock, command), n);		\
} while (0)

	/* The PD has the only region for all memory. */
	EXPECT_NO_MORE(CREATE_PD, ib_alloc_pd(ep->ibdev, 0));
	EXPECT_NO_MORE(GET_DMA_MR, ep->ibdev->ops.get_dma_mr(ep->pd, 0));

	for (i = 0; i < ARRAY_SIZE(cqs); i++) {
		cqs[i] = ib_create_cq(ep->ibdev, NULL, NULL, NULL, &cq_attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cqs[i]);
	}
	EXPECT_NO_MORE(CREATE_CQ,
		       ib_create_cq(ep->ibdev, NULL, NULL, NULL, &cq_attr));
	ib_destroy_cq(cqs[0]);
	cqs[0] = ib_create_cq(ep->ibdev, NULL, NULL, NULL, &cq_attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cqs[0]);
	for (i = 0; i < ARRAY_SIZE(cqs); i++)
		ib_destroy_cq(cqs[i]);

	/* QPN 0 and 1 are not for these. */
	for (i = 0; i < ARRAY_SIZE(qps); i++) {
		qps[i] = endpoint_add_qp(ep, 4);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qps[i]);
	}
	EXPECT_NO_MORE(CREATE_QP, endpoint_add_qp(ep, 4));
	for (i = 0; i < ARRAY_SIZE(qps); i++)
		KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qps[i]));
	/* A QP that the device refuses does not count. */
	mock->fail[CMD(CREATE_QP)] = -EREMOTEIO;
	for (i = 0; i < MOCK_QPS; i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR(endpoint_add_qp(ep, 4)), -ENOMEM);
	mock->fail[CMD(CREATE_QP)] = 0;
	qps[0] = endpoint_add_qp(ep, 4);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qps[0]);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qps[0]));

	KUNIT_ASSERT_EQ(test, 0, rdma_query_gid(ep->ibdev, 1, 0, &gid));
	rdma_ah_set_port_num(&ah_attr, 1);
	rdma_ah_set_grh(&ah_attr, &gid, 0, 0, 64, 0);
	ah = rdma_create_ah(ep->pd, &ah_attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah);
	EXPECT_NO_MORE(CREATE_AH, rdma_create_ah(ep->pd, &ah_attr,
						 RDMA_CREATE_AH_SLEEPABLE));
	EXPECT_NO_MORE(CREATE_AH, rdma_create_ah(ep->pd, &ah_attr, 0));
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	ah = rdma_create_ah(ep->pd, &ah_attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
#undef EXPECT_NO_MORE
	endpoint_done(ep);
}

/*
 * To RESET on a device that does not say what happens to requests then: if there are
 * any, the driver goes to ERR first and waits until they are flushed.
 */
static void kern_reset_by_error(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 4, 4);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct mock_qp *qp = &mock->qps[ep->qp->qp_num];
	struct vring_used *used;
	unsigned int n, i;

	mock->flush = true;
	to_rts(test, ep->qp);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, send(ep->qp, i, IB_WR_SEND, 0, NULL, 0));
		KUNIT_ASSERT_EQ(test, 0, recv(ep->qp, i, NULL, 0));
	}
	n = mock_count(mock, CMD(MODIFY_QP));
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, qp->state, VIRTIO_IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n + 2);
	used = mock->sq_vqs[ep->qp->qp_num].pub.vring.used;
	KUNIT_EXPECT_EQ(test, __virtio16_to_cpu(true, used->idx), 2);

	/* Nothing to flush. */
	to_rts(test, ep->qp);
	n = mock_count(mock, CMD(MODIFY_QP));
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n + 1);

	/* More requests to flush than the CQ holds, which is 4. */
	to_rts(test, ep->qp);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, send(ep->qp, i, IB_WR_SEND, 0, NULL, 0));
		KUNIT_ASSERT_EQ(test, 0, recv(ep->qp, i, NULL, 0));
	}
	n = mock_count(mock, CMD(MODIFY_QP));
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE), -EBUSY);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n);
	KUNIT_EXPECT_EQ(test, qp->state, VIRTIO_IB_QPS_RTS);

	/* A device that does not flush all requests. */
	set_used(&mock->rq_vqs[ep->qp->qp_num], 5);
	mock->flush = false;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE), -EBUSY);
	KUNIT_EXPECT_EQ(test, qp->state, VIRTIO_IB_QPS_ERR);
	mock->flush = true;
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, qp->state, VIRTIO_IB_QPS_RESET);
	endpoint_done(ep);
}

/* With the capability RESET alone is enough. */
static void kern_reset_gives_slots(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct endpoint *ep;
	unsigned int n;

	mock->query_device.device_cap_flags |=
		cpu_to_le64(VIRTIO_IB_DEVICE_RESET_SLOTS);
	ep = endpoint_open(mock, 4, 4);
	to_rts(test, ep->qp);
	KUNIT_ASSERT_EQ(test, 0, send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0));
	n = mock_count(mock, CMD(MODIFY_QP));
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n + 1);
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
	KUNIT_CASE(kern_poll),
	KUNIT_CASE(kern_poll_hostile),
	KUNIT_CASE(kern_forged),
	KUNIT_CASE(kern_forged_elsewhere),
	KUNIT_CASE(kern_completion_content),
	KUNIT_CASE(kern_datagram_content),
	KUNIT_CASE(kern_datagram_mtu),
	KUNIT_CASE(kern_unsignaled),
	KUNIT_CASE(kern_notify),
	KUNIT_CASE(kern_modify_more),
	KUNIT_CASE(kern_stale_completions),
	KUNIT_CASE(kern_reset_and_again),
	KUNIT_CASE(kern_modify_refused),
	KUNIT_CASE(kern_flush),
	KUNIT_CASE(kern_atomic),
	KUNIT_CASE(kern_no_atomic),
	KUNIT_CASE(kern_too_many_reads),
	KUNIT_CASE(kern_create_qp_refused),
	KUNIT_CASE(kern_numbers_twice),
	KUNIT_CASE(kern_cq_hold),
	KUNIT_CASE(kern_cq_large),
	KUNIT_CASE(kern_cq_vector),
	KUNIT_CASE(kern_cq_vector_race),
	KUNIT_CASE(kern_cq_resize),
	KUNIT_CASE(kern_create_cq_refused),
	KUNIT_CASE(kern_destroy_refused),
	KUNIT_CASE(kern_destroy_fails),
	KUNIT_CASE(kern_after_reset),
	KUNIT_CASE(kern_dead_flush),
	KUNIT_CASE(kern_dead_hostile),
	KUNIT_CASE(kern_dead_notify),
	KUNIT_CASE(kern_drain_lost),
	KUNIT_CASE(kern_drain_datagrams),
	KUNIT_CASE(kern_ah),
	KUNIT_CASE(kern_ah_retry),
	KUNIT_CASE(kern_management),
	KUNIT_CASE(kern_management_small),
	KUNIT_CASE(kern_short_cq),
	KUNIT_CASE(kern_promised),
	KUNIT_CASE(kern_reset_by_error),
	KUNIT_CASE(kern_reset_gives_slots),
	{}
};

static struct kunit_suite kern_suite = {
	.name = "virtio_roce_kern",
	.test_cases = kern_cases,
};

kunit_test_suite(kern_suite);
