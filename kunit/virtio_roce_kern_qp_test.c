// SPDX-License-Identifier: GPL-2.0
/*
 * The whole driver, bound to a function that acts as a device: states, rights and
 * limits of queue pairs of consumers in the kernel.
 */
#include <kunit/test.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "virtio_roce_endpoint.h"

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

	endpoint_to_rts(test, ep->qp);
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

/* The device gives slots back when a QP goes to RESET; the indices go on. */
static void kern_reset_and_again(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct mock_vq *sq = &mock->sq_vqs[ep->qp->qp_num];
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_wc wc[8];
	u32 i;

	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, i, IB_WR_SEND, IB_SEND_SIGNALED,
						       NULL, 0));
	endpoint_complete_send(ep, ep->qp, 0, VIRTIO_IB_WC_SEND);
	endpoint_set_used(sq, 3);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, ib_poll_cq(ep->cq, 8, wc), 0);
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0), -EINVAL);

	endpoint_to_rts(test, ep->qp);
	for (i = 10; i < 14; i++)
		KUNIT_EXPECT_EQ(test, 0, endpoint_send(ep->qp, i, IB_WR_SEND, IB_SEND_SIGNALED,
						       NULL, 0));
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, i, IB_WR_SEND, 0, NULL, 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, endpoint_wire_id(ep, sq, 3), 3);
	/* From before. */
	endpoint_expect_dropped(ep, ep->qp->qp_num, 1);
	endpoint_set_used(sq, 4);
	endpoint_complete_send(ep, ep->qp, 3, VIRTIO_IB_WC_SEND);
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
	/* A right that the device does not know; endpoint_to_rts() has one to ignore. */
	attr.pkey_index = 0;
	attr.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_ON_DEMAND;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE |
					   IB_QP_PKEY_INDEX | IB_QP_PORT |
					   IB_QP_ACCESS_FLAGS), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), 0);

	endpoint_to_rts(test, ep->qp);
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
	KUNIT_EXPECT_EQ(test, endpoint_send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0), 0);
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
	endpoint_to_rts(test, ep->qp);
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
	endpoint_device_completes(ep, qpn, le64_to_cpu(req->wr_id), wire, 0, 8);
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
	endpoint_to_rts(test, ep->qp);
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
	endpoint_to_rts(test, ep->qp);
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

	endpoint_to_rts(test, ep->qp);
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
	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, i, IB_WR_SEND, 0, NULL, 0));
		KUNIT_ASSERT_EQ(test, 0, endpoint_recv(ep->qp, i, NULL, 0));
	}
	n = mock_count(mock, CMD(MODIFY_QP));
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, qp->state, VIRTIO_IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n + 2);
	used = mock->sq_vqs[ep->qp->qp_num].pub.vring.used;
	KUNIT_EXPECT_EQ(test, __virtio16_to_cpu(true, used->idx), 2);

	/* Nothing to flush. */
	endpoint_to_rts(test, ep->qp);
	n = mock_count(mock, CMD(MODIFY_QP));
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n + 1);

	/* More requests to flush than the CQ holds, which is 4. */
	endpoint_to_rts(test, ep->qp);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, i, IB_WR_SEND, 0, NULL, 0));
		KUNIT_ASSERT_EQ(test, 0, endpoint_recv(ep->qp, i, NULL, 0));
	}
	n = mock_count(mock, CMD(MODIFY_QP));
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ep->qp, &attr, IB_QP_STATE), -EBUSY);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n);
	KUNIT_EXPECT_EQ(test, qp->state, VIRTIO_IB_QPS_RTS);

	/* A device that does not flush all requests. */
	endpoint_set_used(&mock->rq_vqs[ep->qp->qp_num], 5);
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
	endpoint_to_rts(test, ep->qp);
	KUNIT_ASSERT_EQ(test, 0, endpoint_send(ep->qp, 1, IB_WR_SEND, 0, NULL, 0));
	n = mock_count(mock, CMD(MODIFY_QP));
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(ep->qp, &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(MODIFY_QP)), n + 1);
	endpoint_done(ep);
}

static struct kunit_case kern_qp_cases[] = {
	KUNIT_CASE(kern_modify_more),
	KUNIT_CASE(kern_reset_and_again),
	KUNIT_CASE(kern_modify_refused),
	KUNIT_CASE(kern_flush),
	KUNIT_CASE(kern_atomic),
	KUNIT_CASE(kern_no_atomic),
	KUNIT_CASE(kern_too_many_reads),
	KUNIT_CASE(kern_create_qp_refused),
	KUNIT_CASE(kern_numbers_twice),
	KUNIT_CASE(kern_promised),
	KUNIT_CASE(kern_reset_by_error),
	KUNIT_CASE(kern_reset_gives_slots),
	{}
};

static struct kunit_suite kern_qp_suite = {
	.name = "virtio_roce_kern_qp",
	.test_cases = kern_qp_cases,
};

kunit_test_suite(kern_qp_suite);
