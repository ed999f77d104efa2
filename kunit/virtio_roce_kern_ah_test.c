// SPDX-License-Identifier: GPL-2.0
/*
 * The whole driver, bound to a function that acts as a device: address handles, datagrams
 * and management datagrams of consumers in the kernel.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_endpoint.h"

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
	KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(qp, 1));
	KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(qp, 2));
	KUNIT_ASSERT_EQ(test, 0, endpoint_post_recv(qp, 3));
	endpoint_device_completes(ep, qp->qp_num, endpoint_wire_id(ep, rq, 0),
				  VIRTIO_IB_WC_RECV, 0, 40);
	endpoint_device_completes(ep, qp->qp_num, endpoint_wire_id(ep, rq, 1),
				  VIRTIO_IB_WC_RECV, 0, 39);
	endpoint_device_completes(ep, qp->qp_num, endpoint_wire_id(ep, rq, 2),
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
	endpoint_to_rts(test, ep->qp);
	KUNIT_EXPECT_EQ(test, 0, endpoint_send(ep->qp, 1, IB_WR_SEND, 0,
					       &(struct ib_sge) { .length = SZ_1M }, 1));
	endpoint_done(ep);
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
	mock_wait(mock_count(mock, CMD(DESTROY_AH)) >= n);
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
 * The kernel gets address handles of a dead device, or ib_cm could not fail to send a DREQ,
 * and its consumer would wait for ever.  They can be made and destroyed in any context.
 */
static void kern_ah_of_the_dead(struct kunit *test)
{
	static const int errors[] = { -ENODEV, -EIO, -ETIMEDOUT };
	struct mock *mock = mock_device(test, NUM);
	struct endpoint *ep = endpoint_open(mock, 8, 4);
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	struct ib_ah *ah;
	unsigned int i;

	endpoint_address(ep, &attr);
	/* Of a device that lives it is an error. */
	mock->fail[CMD(CREATE_AH)] = -EIO;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rdma_create_ah(ep->pd, &attr, 0)), -EIO);
	mock->event(&mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	mock->fail[CMD(DESTROY_AH)] = -ENODEV;
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		mock->fail[CMD(CREATE_AH)] = errors[i];
		preempt_disable();
		ah = rdma_create_ah(ep->pd, &attr, 0);
		preempt_enable();
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah);
		rdma_destroy_ah(ah, 0);
		ah = rdma_create_ah(ep->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah);
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	}
	endpoint_done(ep);
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
	struct vroce_cq *cq;

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
		endpoint_set_used(rq, i + 1);
		done.wr_id = req->wr_id;
		mock_complete(mock, cqn, &done);
		KUNIT_ASSERT_TRUE(test, endpoint_polled(mock, cqn, 256 + i + 1));
		/* The slots of the CQ come first, the requests after them. */
		KUNIT_ASSERT_TRUE(test, endpoint_becomes_available(rq, 128 + i + 1));
	}

	/* A burst: nothing is added until it was polled. */
	mock_wait(READ_ONCE(mock->cqs[cqn].armed));
	/* The work item that has armed the CQ, and one that it may have queued before its end. */
	cq = xa_load(&to_vdev(ibdev)->cqs, cqn);
	flush_work(&cq->ibcq.work);
	flush_work(&cq->ibcq.work);
	for (j = 0; j < 20; j++) {
		req = mock_take(mock, rq, i + j, &len);
		endpoint_set_used(rq, i + j + 1);
		done.wr_id = req->wr_id;
		mock->cqs[cqn].armed = j == 19 ? VIRTIO_IB_NOTIFY_NEXT_COMPLETION : 0;
		KUNIT_EXPECT_EQ(test, mock_avail_idx(rq), 128 + i);
		mock_complete(mock, cqn, &done);
	}
	KUNIT_ASSERT_TRUE(test, endpoint_polled(mock, cqn, 256 + i + 20));
	KUNIT_EXPECT_TRUE(test, endpoint_becomes_available(rq, 128 + i + 20));
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

static struct kunit_case kern_ah_cases[] = {
	KUNIT_CASE(kern_datagram_content),
	KUNIT_CASE(kern_datagram_mtu),
	KUNIT_CASE(kern_ah),
	KUNIT_CASE(kern_ah_retry),
	KUNIT_CASE(kern_ah_of_the_dead),
	KUNIT_CASE(kern_management),
	KUNIT_CASE(kern_management_small),
	{}
};

static struct kunit_suite kern_ah_suite = {
	.name = "virtio_roce_kern_ah",
	.test_cases = kern_ah_cases,
};

kunit_test_suite(kern_ah_suite);
