// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer in the kernel, for the tests of several files, and what the device does for it.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_endpoint.h"

static void endpoint_event(struct ib_cq *cq, void *context)
{
	((struct endpoint *)context)->events++;
}

u64 endpoint_bad_completions(struct endpoint *ep)
{
	return atomic64_read(&to_vdev(ep->ibdev)->bad_completions);
}

struct ib_qp *endpoint_add_qp(struct endpoint *ep, u32 depth)
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

void endpoint_close(void *data)
{
	struct endpoint *ep = data;

	if (ep->qp)
		KUNIT_EXPECT_EQ(ep->mock->test, 0, ib_destroy_qp(ep->qp));
	if (ep->cq)
		ib_destroy_cq(ep->cq);
	if (ep->pd)
		ib_dealloc_pd(ep->pd);
}

struct endpoint *endpoint_open(struct mock *mock, int cqe, u32 depth)
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

void endpoint_done(struct endpoint *ep)
{
	struct mock *mock = ep->mock;

	kunit_release_action(mock->test, endpoint_close, ep);
	/* Address handles may be left to a work item. */
	mock_wait(!mock_objects(mock));
	mock_expect_clean(mock);
	mock_stop(mock, ep->ibdev);
}

/* As a communication manager would, but without real addresses. */
void endpoint_to_rts(struct kunit *test, struct ib_qp *qp)
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

int endpoint_send(struct ib_qp *qp, u64 wr_id, enum ib_wr_opcode opcode,
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

int endpoint_recv(struct ib_qp *qp, u64 wr_id, struct ib_sge *sge, int num_sge)
{
	struct ib_recv_wr wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = num_sge,
	};

	return ib_post_recv(qp, &wr, NULL);
}

void endpoint_set_used(struct mock_vq *vq, u16 idx)
{
	/* Orders what the device wrote before the index. */
	smp_store_release(&vq->pub.vring.used->idx, __cpu_to_virtio16(true, idx));
}

/* The cookie on the wire of the request at @pos. */
u64 endpoint_wire_id(struct endpoint *ep, struct mock_vq *vq, u16 pos)
{
	const __le64 *wr_id;
	u32 len;

	wr_id = mock_take(ep->mock, vq, pos, &len);
	return le64_to_cpu(*wr_id);
}

void endpoint_device_completes(struct endpoint *ep, u32 qpn, u64 wr_id, u8 opcode,
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

void endpoint_complete_send(struct endpoint *ep, struct ib_qp *qp, u16 pos, u8 opcode)
{
	struct mock_vq *sq = &ep->mock->sq_vqs[qp->qp_num];

	endpoint_device_completes(ep, qp->qp_num, endpoint_wire_id(ep, sq, pos), opcode, 0, 0);
}

int endpoint_post_recv(struct ib_qp *qp, u64 wr_id)
{
	struct ib_sge sge = { .addr = 0x1000, .length = 100, .lkey = 0x1000 };

	return endpoint_recv(qp, wr_id, &sge, 1);
}

void endpoint_expect_dropped(struct endpoint *ep, u32 qpn, u64 wr_id)
{
	struct kunit *test = ep->mock->test;
	u64 before = endpoint_bad_completions(ep);
	struct ib_wc wc;

	endpoint_device_completes(ep, qpn, wr_id, VIRTIO_IB_WC_RECV, 0, 1);
	KUNIT_EXPECT_EQ_MSG(test, ib_poll_cq(ep->cq, 1, &wc), 0, "QP %u, %#llx",
			    qpn, wr_id);
	KUNIT_EXPECT_EQ(test, endpoint_bad_completions(ep), before + 1);
}

/* Waits until the driver, maybe on another processor, has made so many available. */
bool endpoint_becomes_available(const struct mock_vq *vq, u16 idx)
{
	return mock_wait(mock_avail_idx(vq) == idx);
}

/* Waits until the CQ was polled up to there. */
bool endpoint_polled(struct mock *mock, u32 cqn, u16 idx)
{
	return endpoint_becomes_available(&mock->cq_vqs[cqn], idx);
}
