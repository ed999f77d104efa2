// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC: domains, SRQs with a CQ of their own, QPs with one half.
 */
#include <errno.h>
#include <pthread.h>

#include "cmd.h"
#include "util.h"

#define DEPTH		16
#define SRQN		0x3c07
/* An XRC_RECV QP that this process does not know. */
#define OTHER_QPN	0x123456

/* Functions of libibverbs that the provider calls */

int ibv_cmd_open_xrcd(struct ibv_context *context, struct verbs_xrcd *xrcd,
		      int vxrcd_size, struct ibv_xrcd_init_attr *attr,
		      struct ibv_open_xrcd *cmd, size_t cmd_size,
		      struct ib_uverbs_open_xrcd_resp *resp, size_t resp_size)
{
	if (fake.fail)
		return fake.fail;
	assert_int_equal(vxrcd_size, sizeof(*xrcd));
	xrcd->xrcd.context = context;
	fake.xrcds++;
	return 0;
}

int ibv_cmd_close_xrcd(struct verbs_xrcd *xrcd)
{
	if (fake.fail)
		return fake.fail;
	fake.xrcds--;
	return 0;
}

int ibv_cmd_open_qp(struct ibv_context *context, struct verbs_qp *qp, int vqp_sz,
		    struct ibv_qp_open_attr *attr, struct ibv_open_qp *cmd,
		    size_t cmd_size, struct ib_uverbs_create_qp_resp *resp,
		    size_t resp_size)
{
	if (fake.fail)
		return fake.fail;
	assert_int_equal(vqp_sz, sizeof(*qp));
	qp->qp.context = context;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.qp_num = attr->qp_num;
	qp->qp.state = IBV_QPS_UNKNOWN;
	fake.qps++;
	return 0;
}

/**
 * struct bed - an XRC domain with an SRQ
 * @xrcd: the domain
 * @cq: the SRQ's CQ
 * @srq: the SRQ, NULL once it is destroyed
 */
struct bed {
	struct ibv_xrcd *xrcd;
	struct virtio_roce_cq *cq;
	struct virtio_roce_srq *srq;
};

static struct virtio_roce_srq *make_srq(struct bed *bed, uint32_t srqn)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = DEPTH, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = &fake.pd,
		.xrcd = bed->xrcd,
		.cq = &bed->cq->vcq.cq,
	};
	struct ibv_srq *srq;

	fake.srqn = srqn;
	srq = virtio_roce_create_srq_ex(fake.pd.context, &attr);
	return srq ? to_vsrq(srq) : NULL;
}

static struct ibv_xrcd *make_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {};

	return virtio_roce_open_xrcd(fake.pd.context, &attr);
}

static struct bed bed_up(void)
{
	struct bed bed = {};

	fake.ctx.device_caps = VIRTIO_IB_DEVICE_XRC;
	bed.xrcd = make_xrcd();
	assert_non_null(bed.xrcd);
	bed.cq = make_cq();
	bed.srq = make_srq(&bed, SRQN);
	assert_non_null(bed.srq);
	return bed;
}

static void bed_down(struct bed *bed)
{
	if (bed->srq) {
		assert_int_equal(virtio_roce_destroy_cq(&bed->cq->vcq.cq), EBUSY);
		assert_int_equal(virtio_roce_destroy_srq(&bed->srq->vsrq.srq), 0);
	}
	drop_cq(bed->cq);
	assert_int_equal(virtio_roce_close_xrcd(bed->xrcd), 0);
	assert_int_equal(fake.qps + fake.cqs + fake.xrcds, 0);
	assert_int_equal(count_maps(), fake.page ? 3 : 1);
}

static struct virtio_roce_qp *make_recv_qp(struct bed *bed)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = bed->xrcd,
		/* Whatever: it says that there is none. */
		.pd = (void *)1,
	};
	struct ibv_qp *qp = virtio_roce_create_qp_ex(fake.pd.context, &attr);

	return qp ? to_vqp(qp) : NULL;
}

static int post(struct virtio_roce_srq *srq, uint64_t wr_id)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id };

	return virtio_roce_post_srq_recv(&srq->vsrq.srq, &wr, &bad);
}

static uint32_t cookie(const struct virtio_roce_srq *srq, uint32_t index)
{
	const struct virtio_rdma_rwqe *slot = ring_slot(&srq->vq.ring,
							index % DEPTH);

	return le32toh(slot->cookie);
}

static void complete_at(uint32_t srqn, uint32_t qpn, uint32_t name)
{
	const struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(qpn),
		.srqn = htole32(srqn),
		.wqe = htole32(name),
		.byte_len = htole32(50),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV |
			  VIRTIO_RDMA_CQE_XRC,
	};

	fake_direct_complete(&cqe);
}

static void complete(uint32_t srqn, uint32_t name)
{
	complete_at(srqn, OTHER_QPN, name);
}

static int poll_one(struct bed *bed, struct ibv_wc *wc)
{
	return virtio_roce_poll_cq(&bed->cq->vcq.cq, 1, wc);
}

static void expect(struct bed *bed, uint64_t wr_id)
{
	struct ibv_wc wc;

	assert_int_equal(poll_one(bed, &wc), 1);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.qp_num, OTHER_QPN);
	assert_int_equal(wc.src_qp, 0);
	assert_int_equal(wc.byte_len, 50);
}

static void expect_none(struct bed *bed)
{
	struct ibv_wc wc;

	assert_int_equal(poll_one(bed, &wc), 0);
}

/* A completion finds the SRQ by its number; the QP is another process's. */
static void xrc_completion(void **state)
{
	struct bed bed = bed_up();
	struct virtio_roce_srq *other = make_srq(&bed, SRQN + 1);
	uint32_t num = 0;

	assert_int_equal(virtio_roce_get_srq_num(&bed.srq->vsrq.srq, &num), 0);
	assert_int_equal(num, SRQN);
	assert_int_equal(post(bed.srq, 5), 0);
	assert_int_equal(post(bed.srq, 6), 0);
	assert_int_equal(post(other, 7), 0);
	complete(SRQN, cookie(bed.srq, 1));
	complete(SRQN + 1, cookie(other, 0));
	complete(SRQN, cookie(bed.srq, 0));
	expect(&bed, 6);
	expect(&bed, 7);
	expect(&bed, 5);
	/* Of an SRQ that is not there. */
	complete(SRQN + 2, 0);
	expect_none(&bed);
	assert_int_equal(virtio_roce_destroy_srq(&other->vsrq.srq), 0);
	bed_down(&bed);
}

/* The same holds for one that is read field by field. */
static void xrc_completion_ex(void **state)
{
	struct ibv_poll_cq_attr attr = {};
	struct bed bed = bed_up();
	struct ibv_cq_ex *ex = &bed.cq->vcq.cq_ex;

	assert_int_equal(post(bed.srq, 5), 0);
	complete(SRQN, cookie(bed.srq, 0));
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 5);
	assert_int_equal(ibv_wc_read_qp_num(ex), OTHER_QPN);
	assert_int_equal(ibv_wc_read_src_qp(ex), 0);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	bed_down(&bed);
}

/* Its number is free when it is destroyed: completions of the old one are not the new one's. */
static void xrc_srq_goes(void **state)
{
	struct bed bed = bed_up();
	unsigned int i;

	for (i = 0; i < 3; i++)
		assert_int_equal(post(bed.srq, i), 0);
	complete(SRQN, cookie(bed.srq, 0));
	complete(SRQN, cookie(bed.srq, 1));
	expect(&bed, 0);
	assert_int_equal(virtio_roce_destroy_srq(&bed.srq->vsrq.srq), 0);
	bed.srq = make_srq(&bed, SRQN);
	assert_int_equal(post(bed.srq, 100), 0);
	expect_none(&bed);
	complete(SRQN, cookie(bed.srq, 0));
	expect(&bed, 100);
	bed_down(&bed);
}

/* The number of an XRC_RECV QP may be that of one of ours next. */
static void xrc_qp_with_same_number(void **state)
{
	struct bed bed = bed_up();
	struct virtio_roce_qp *qp = make_qp_on(bed.cq, IBV_QPT_RC);
	struct ibv_wc wc;

	assert_int_equal(post(bed.srq, 5), 0);
	complete_at(SRQN, TEST_QPN, cookie(bed.srq, 0));
	/* It is not dropped with this QP. */
	drop_qp(qp);
	assert_int_equal(poll_one(&bed, &wc), 1);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.qp_num, TEST_QPN);
	bed_down(&bed);
}

/* The kernel does not destroy it: it is there, but of no use. */
static void xrc_srq_stays(void **state)
{
	struct bed bed = bed_up();

	assert_int_equal(post(bed.srq, 5), 0);
	fake.fail = EBUSY;
	assert_int_equal(virtio_roce_destroy_srq(&bed.srq->vsrq.srq), EBUSY);
	assert_int_equal(virtio_roce_close_xrcd(bed.xrcd), EBUSY);
	fake.fail = 0;
	complete(SRQN, 0);
	expect_none(&bed);
	assert_int_equal(post(bed.srq, 5), ENOMEM);
	bed_down(&bed);
}

static void check_sent(uint32_t index, uint8_t opcode, uint32_t srqn)
{
	const uint8_t *slot = fake.sq.slots + index * fake.sq.info.stride;
	const struct virtio_rdma_swqe *swqe = (void *)slot;
	const struct virtio_rdma_xrc *xrc = (void *)(slot + VIRTIO_RDMA_XRC_OFFSET);

	assert_int_equal(swqe->opcode, opcode);
	assert_int_equal(le32toh(xrc->srqn), srqn);
	assert_int_equal(xrc->reserved, 0);
}

/* ibv_post_send(): the number of the SRQ, and the payload behind it. */
static void xrc_post_send(void **state)
{
	struct bed bed = bed_up();
	struct virtio_roce_qp *qp = make_qp_on(bed.cq, IBV_QPT_XRC_SEND);
	const struct virtio_rdma_xrc *xrc = (void *)(fake.sq.slots +
						     VIRTIO_RDMA_XRC_OFFSET);
	struct ibv_sge sge = { .addr = 0x1000, .length = 10, .lkey = 7 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.wr.atomic = { .remote_addr = 8, .swap = 0x55, .rkey = 9 },
		.qp_type.xrc.remote_srqn = SRQN,
	};

	memset(fake.sq.slots, 0xee, 256);
	fake.ctx.device_caps |= VIRTIO_IB_DEVICE_ATOMIC;
	assert_int_equal(virtio_roce_post_send(&qp->vqp.qp, &wr, &bad), 0);
	check_sent(0, VIRTIO_IB_WR_CMP_SWAP, SRQN);
	assert_int_equal(le64toh(((struct virtio_rdma_swqe *)fake.sq.slots)->atomic.swap),
			 0x55);
	assert_int_equal(le64toh(xrc->sg_list[0].addr), 0x1000);
	assert_int_equal(le32toh(xrc->sg_list[0].lkey), 7);
	assert_int_equal(fake.sq.slots[64], 0xee);

	sge.addr = (uintptr_t)"hello";
	sge.length = 5;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_INLINE;
	wr.qp_type.xrc.remote_srqn = 0xffffff;
	assert_int_equal(virtio_roce_post_send(&qp->vqp.qp, &wr, &bad), 0);
	check_sent(1, VIRTIO_IB_WR_SEND, 0xffffff);
	assert_memory_equal(fake.sq.slots + 256 + 48, "hello", 5);

	wr.opcode = IBV_WR_FLUSH;
	assert_int_equal(virtio_roce_post_send(&qp->vqp.qp, &wr, &bad), EINVAL);
	drop_qp(qp);
	bed_down(&bed);
}

/* ibv_wr_set_xrc_srqn(): the number may come before the payload or behind it. */
static void xrc_wr(void **state)
{
	struct bed bed = bed_up();
	struct virtio_roce_qp *qp = make_qp_on(bed.cq, IBV_QPT_XRC_SEND);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	memset(fake.sq.slots, 0xee, 3 * 256);
	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, htobe32(5));
	ibv_wr_set_xrc_srqn(ex, SRQN);
	ibv_wr_set_sge(ex, 7, 0x1000, 10);
	ibv_wr_rdma_read(ex, 9, 0x2000);
	ibv_wr_set_sge(ex, 7, 0x1000, 10);
	ibv_wr_set_xrc_srqn(ex, SRQN + 1);
	/* Nobody says which: not that of the request that was there before. */
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	check_sent(0, VIRTIO_IB_WR_SEND_WITH_IMM, SRQN);
	check_sent(1, VIRTIO_IB_WR_RDMA_READ, SRQN + 1);
	check_sent(2, VIRTIO_IB_WR_SEND, 0);
	drop_qp(qp);
	bed_down(&bed);
}

/* An XRC_SEND QP has no receive queue, an XRC_RECV QP none at all. */
static void xrc_halves(void **state)
{
	struct bed bed = bed_up();
	struct virtio_roce_qp *send = make_qp_on(bed.cq, IBV_QPT_XRC_SEND);
	struct virtio_roce_qp *recv = make_recv_qp(&bed);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_recv_wr *bad_recv, recv_wr = {};
	struct ibv_send_wr *bad_send, send_wr = { .opcode = IBV_WR_SEND };

	assert_non_null(recv);
	recv->vqp.qp.state = IBV_QPS_RTS;
	assert_int_equal(virtio_roce_post_recv(&send->vqp.qp, &recv_wr, &bad_recv),
			 EINVAL);
	assert_int_equal(virtio_roce_post_recv(&recv->vqp.qp, &recv_wr, &bad_recv),
			 EINVAL);
	assert_int_equal(virtio_roce_post_send(&recv->vqp.qp, &send_wr, &bad_send),
			 EINVAL);
	assert_int_equal(virtio_roce_modify_qp(&recv->vqp.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(virtio_roce_post_send(&send->vqp.qp, &send_wr, &bad_send), 0);
	assert_int_equal(le32toh(fake.qp_control->send_producer), 1);
	assert_int_equal(virtio_roce_modify_qp(&send->vqp.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(le32toh(fake.qp_control->send_producer), 0);
	drop_qp(recv);
	drop_qp(send);
	bed_down(&bed);
}

static void xrc_open_qp(void **state)
{
	struct bed bed = bed_up();
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_NUM |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = OTHER_QPN,
		.xrcd = bed.xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *qp = virtio_roce_open_qp(fake.pd.context, &attr);

	assert_non_null(qp);
	assert_int_equal(qp->qp_num, OTHER_QPN);
	drop_qp(to_vqp(qp));
	fake.fail = EINVAL;
	errno = 0;
	assert_null(virtio_roce_open_qp(fake.pd.context, &attr));
	assert_int_equal(errno, EINVAL);
	fake.fail = 0;
	bed_down(&bed);
}

/* A device, or a kernel, without it. */
static void xrc_not_there(void **state)
{
	struct bed bed = bed_up();
	const uint64_t caps = fake.ctx.device_caps;
	uint32_t num;

	fake.ctx.device_caps = 0;
	assert_null(make_xrcd());
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(make_srq(&bed, SRQN + 1));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(make_recv_qp(&bed));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.ctx.device_caps = caps;
	fake.fail = ENOMEM;
	assert_null(make_xrcd());
	assert_null(make_srq(&bed, SRQN + 1));
	assert_int_equal(errno, ENOMEM);
	fake.fail = 0;
	bed.srq->vsrq.srq_type = IBV_SRQT_BASIC;
	assert_int_equal(virtio_roce_get_srq_num(&bed.srq->vsrq.srq, &num), EOPNOTSUPP);
	bed.srq->vsrq.srq_type = IBV_SRQT_XRC;
	bed_down(&bed);
}

/* One thread polls while SRQs of the CQ come and go. */
static void *poll_until(void *arg)
{
	struct bed *bed = arg;
	struct ibv_wc wc;

	while (__atomic_load_n(&bed->xrcd, __ATOMIC_ACQUIRE))
		virtio_roce_poll_cq(&bed->cq->vcq.cq, 1, &wc);
	return NULL;
}

static void xrc_srqs_come_and_go_from_threads(void **state)
{
	struct bed bed = bed_up();
	struct ibv_xrcd *xrcd = bed.xrcd;
	struct virtio_roce_srq *srq;
	pthread_t thread;
	unsigned int i;

	assert_int_equal(pthread_create(&thread, NULL, poll_until, &bed), 0);
	for (i = 0; i < 20; i++) {
		srq = make_srq(&bed, SRQN + 1);
		assert_non_null(srq);
		assert_int_equal(post(srq, i), 0);
		complete(SRQN + 1, cookie(srq, 0));
		assert_int_equal(virtio_roce_destroy_srq(&srq->vsrq.srq), 0);
	}
	__atomic_store_n(&bed.xrcd, NULL, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	bed.xrcd = xrcd;
	bed_down(&bed);
}

int run_xrc_tests(void)
{
	const struct CMUnitTest xrc[] = {
		TEST_DIRECT(xrc_completion),
		TEST_DIRECT(xrc_completion_ex),
		TEST_DIRECT(xrc_srq_goes),
		TEST_DIRECT(xrc_qp_with_same_number),
		TEST_DIRECT(xrc_srq_stays),
		TEST_DIRECT(xrc_post_send),
		TEST_DIRECT(xrc_wr),
		TEST_DIRECT(xrc_halves),
		TEST_DIRECT(xrc_open_qp),
		TEST_DIRECT(xrc_not_there),
		TEST_DIRECT(xrc_srqs_come_and_go_from_threads),
	};

	return cmocka_run_group_tests(xrc, NULL, NULL);
}
