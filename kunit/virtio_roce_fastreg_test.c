// SPDX-License-Identifier: GPL-2.0
/*
 * Memory-management extensions: the translation, and what the driver does with a
 * function that has them or does not.
 */
#include <kunit/test.h>
#include <linux/scatterlist.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_cmd_mr.h"
#include "../drivers/infiniband/hw/virtio_roce/vroce_cmd_qp.h"
#include "../drivers/infiniband/hw/virtio_roce/vroce_wire.h"
#include "virtio_roce-abi.h"
#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64
#define MAX_PAGES	16

#define GOLDEN		static const u8 __aligned(8)

/* ----- translation ----- */

static void fastreg_completion_invalidate(struct kunit *test)
{
	GOLDEN golden[48] = {
		[9] = 0x03,			/* opcode: RECV */
		[20] = 0x14, 0x13, 0x12, 0x11,	/* invalidate_rkey */
		[32] = 0x04,			/* wc_flags */
	};
	struct ib_wc wc;

	vroce_wc_from_wire((const void *)golden, &wc);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, 0x11121314);
}

static void fastreg_opcodes(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode opcode;
		int rc, uc, ud;
	} cases[] = {
		{ IB_WR_LOCAL_INV, 7, 7, -EINVAL },
		{ IB_WR_SEND_WITH_INV, 8, -EINVAL, -EINVAL },
		{ IB_WR_REG_MR, 9, 9, -EINVAL },
		{ IB_WR_SEND, -EOPNOTSUPP, -EOPNOTSUPP, -EOPNOTSUPP },
		{ IB_WR_ATOMIC_CMP_AND_SWP, -EOPNOTSUPP, -EOPNOTSUPP,
		  -EOPNOTSUPP },
		{ IB_WR_REG_MR_INTEGRITY, -EOPNOTSUPP, -EOPNOTSUPP,
		  -EOPNOTSUPP },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		enum ib_wr_opcode opcode = cases[i].opcode;

		KUNIT_EXPECT_EQ(test, cases[i].rc,
				vroce_mem_mgt_opcode_to_wire(opcode,
							     IB_QPT_RC));
		KUNIT_EXPECT_EQ(test, cases[i].uc,
				vroce_mem_mgt_opcode_to_wire(opcode,
							     IB_QPT_UC));
		KUNIT_EXPECT_EQ(test, cases[i].ud,
				vroce_mem_mgt_opcode_to_wire(opcode,
							     IB_QPT_UD));
	}
}

static void fastreg_completions(struct kunit *test)
{
	struct virtio_rdma_cq_req req = { .opcode = VIRTIO_IB_WC_REG_MR };
	struct ib_wc wc;

	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_REG_MR);
	req.opcode = VIRTIO_IB_WC_LOCAL_INV;
	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_LOCAL_INV);
	/* The kernel's verbs know no FLUSH and no ATOMIC_WRITE. */
	for (req.opcode = 9; req.opcode < 12; req.opcode++) {
		vroce_wc_from_wire(&req, &wc);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_GENERAL_ERR);
	}
	req.status = VIRTIO_IB_WC_MEM_MGT_ERR;
	vroce_wc_from_wire(&req, &wc);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_MW_BIND_ERR);
}

/* ----- commands ----- */

static void fastreg_alloc_command(struct kunit *test)
{
	static const struct mock_answer answers[] = {
		{ CMD(ALLOC_MR), 0, 12, { 3, 0, 0, 0, 4, 3, 0, 0, 5, 3 } },
		{ CMD(ALLOC_MR), -EREMOTEIO },
		{ CMD(ALLOC_MR), -EPROTO },
	};
	GOLDEN request[8] = { 7, 0, 0, 0, 0x01, 0x02 };
	struct mock *mock = mock_scripted(test, answers, ARRAY_SIZE(answers));
	struct vroce_mr_keys keys = {};

	KUNIT_EXPECT_EQ(test, 0,
			vroce_cmd_alloc_mr(&mock->aux, 7, 0x201, &keys));
	KUNIT_EXPECT_EQ(test, mock->calls[0].req_len, sizeof(request));
	KUNIT_EXPECT_MEMEQ(test, mock->calls[0].req, request, sizeof(request));
	KUNIT_EXPECT_FALSE(test, mock->calls[0].atomic);
	KUNIT_EXPECT_EQ(test, keys.mrn, 3);
	KUNIT_EXPECT_EQ(test, keys.lkey, 0x304);
	KUNIT_EXPECT_EQ(test, keys.rkey, 0x305);
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			vroce_cmd_alloc_mr(&mock->aux, 7, 1, &keys));
	KUNIT_EXPECT_EQ(test, -EPROTO,
			vroce_cmd_alloc_mr(&mock->aux, 7, 1, &keys));
	KUNIT_EXPECT_EQ(test, mock->script_pos, mock->script_len);
	KUNIT_EXPECT_STREQ(test, mock->violation, "");
}

static void fastreg_create_qp_flag(struct kunit *test)
{
	static const struct mock_answer answers[] = {
		{ CMD(CREATE_QP), 0, 4, { 2 } },
		{ CMD(CREATE_QP), 0, 4, { 3 } },
		{ CMD(CREATE_QP), 0, 4, { 4 } },
	};
	struct mock *mock = mock_scripted(test, answers, ARRAY_SIZE(answers));
	struct vroce_create_qp_params params = { .type = IB_QPT_RC };
	u32 qpn;

	KUNIT_EXPECT_EQ(test, 0,
			vroce_cmd_create_qp(&mock->aux, &params, &qpn));
	KUNIT_EXPECT_EQ(test, mock->calls[0].req[6], 0);
	params.fast_reg = true;
	KUNIT_EXPECT_EQ(test, 0,
			vroce_cmd_create_qp(&mock->aux, &params, &qpn));
	KUNIT_EXPECT_EQ(test, mock->calls[1].req[6], 1);
	params.fast_reg = false;
	params.strip = true;
	KUNIT_EXPECT_EQ(test, 0,
			vroce_cmd_create_qp(&mock->aux, &params, &qpn));
	KUNIT_EXPECT_EQ(test, mock->calls[2].req[6], 2);
	KUNIT_EXPECT_EQ(test, mock->calls[1].req[7], 0);
}

/* ----- the whole driver ----- */

/**
 * struct consumer - what a consumer in the kernel has
 * @mock: function
 * @ibdev: device
 * @pd: protection domain
 * @cq: completion queue
 * @qp: RC QP
 */
struct consumer {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
};

static void consumer_close(void *data)
{
	struct consumer *c = data;

	if (!IS_ERR_OR_NULL(c->qp))
		ib_destroy_qp(c->qp);
	if (!IS_ERR_OR_NULL(c->cq))
		ib_destroy_cq(c->cq);
	if (!IS_ERR_OR_NULL(c->pd))
		ib_dealloc_pd(c->pd);
	ib_device_put(c->ibdev);
}

static void consumer_to_rts(struct consumer *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct kunit *test = c->mock->test;
	const struct ib_gid_attr *sgid;
	union ib_gid gid;

	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(c->qp, &attr, IB_QP_STATE |
					      IB_QP_PKEY_INDEX | IB_QP_PORT |
					      IB_QP_ACCESS_FLAGS));
	sgid = rdma_get_gid_attr(c->ibdev, 1, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sgid);
	gid = sgid->gid;
	rdma_put_gid_attr(sgid);
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_1024;
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, &gid, 0, 0, 64, 0);
	attr.ah_attr.roce.dmac[0] = 0x02;
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(c->qp, &attr, IB_QP_STATE |
					      IB_QP_AV | IB_QP_PATH_MTU |
					      IB_QP_DEST_QPN | IB_QP_RQ_PSN |
					      IB_QP_MAX_DEST_RD_ATOMIC |
					      IB_QP_MIN_RNR_TIMER));
	attr.qp_state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(c->qp, &attr, IB_QP_STATE |
					      IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
					      IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
					      IB_QP_MAX_QP_RD_ATOMIC));
}

/* A function that takes @pages for a registration, and a QP in RTS on it. */
static struct consumer *consumer_open(struct kunit *test, u64 caps, u32 pages)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 8 };
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 8,
			.max_recv_wr = 8,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IB_QPT_RC,
	};
	struct mock *mock = mock_device(test, NUM);
	struct consumer *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->mock = mock;
	mock->query_device.device_cap_flags = cpu_to_le64(caps);
	mock->query_device.max_fast_reg_pages = cpu_to_le32(pages);
	mock_publish(mock);
	c->ibdev = ib_device_get_by_netdev(mock->aux.netdev,
					   (enum rdma_driver_id)
					   VIRTIO_ROCE_DRIVER_ID);
	KUNIT_ASSERT_NOT_NULL(test, c->ibdev);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, consumer_close,
							   c));
	c->pd = ib_alloc_pd(c->ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->pd);
	c->cq = ib_create_cq(c->ibdev, NULL, NULL, NULL, &cq_attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->cq);
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	c->qp = ib_create_qp(c->pd, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->qp);
	consumer_to_rts(c);
	return c;
}

static struct consumer *consumer_able(struct kunit *test)
{
	return consumer_open(test, VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS,
			     MAX_PAGES);
}

static void consumer_done(struct consumer *c)
{
	struct mock *mock = c->mock;

	kunit_release_action(mock->test, consumer_close, c);
	mock_expect_clean(mock);
	mock_withdraw(mock);
}

/* Pages of 4 KiB at 1 MiB, 3 MiB, …, as elements of a mapped list. */
static void fill_sg(struct scatterlist *sg, int n)
{
	int i;

	sg_init_table(sg, n);
	for (i = 0; i < n; i++) {
		sg_dma_address(&sg[i]) = SZ_1M + (dma_addr_t)i * SZ_2M;
		sg_dma_len(&sg[i]) = SZ_4K;
	}
}

static const struct virtio_rdma_sq_req *posted(struct consumer *c, u16 pos)
{
	struct mock_vq *sq = &c->mock->sq_vqs[c->qp->qp_num];
	u32 len;

	return mock_take(c->mock, sq, pos, &len);
}

static int post_reg(struct consumer *c, struct ib_mr *mr, int access)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = 5, .opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};

	return ib_post_send(c->qp, &wr.wr, NULL);
}

static int post_inv(struct consumer *c, enum ib_wr_opcode opcode, u32 key)
{
	struct ib_send_wr wr = {
		.wr_id = 6,
		.opcode = opcode,
		.send_flags = IB_SEND_FENCE,
		.ex.invalidate_rkey = key,
	};

	return ib_post_send(c->qp, &wr, NULL);
}

static void fastreg_device(struct kunit *test)
{
	struct consumer *c = consumer_able(test);
	const struct mock_call *call = mock_last(c->mock, CMD(CREATE_QP));

	KUNIT_EXPECT_TRUE(test, c->ibdev->attrs.device_cap_flags &
				IB_DEVICE_MEM_MGT_EXTENSIONS);
	KUNIT_EXPECT_EQ(test, c->ibdev->attrs.max_fast_reg_page_list_len,
			MAX_PAGES);
	KUNIT_EXPECT_EQ(test, call->req[6], VIRTIO_IB_QP_FAST_REG);
	consumer_done(c);
}

/* A device of the RFC, and one that claims the extensions without a usable limit. */
static void fastreg_device_without(struct kunit *test)
{
	static const struct {
		u64 caps;
		u32 pages;
	} cases[] = {
		{ VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN, 512 },
		{ VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS, 0 },
	};
	struct consumer *c;
	struct ib_mr *mr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		c = consumer_open(test, cases[i].caps, cases[i].pages);
		KUNIT_EXPECT_FALSE(test, c->ibdev->attrs.device_cap_flags &
					 IB_DEVICE_MEM_MGT_EXTENSIONS);
		KUNIT_EXPECT_EQ(test, 0,
				c->ibdev->attrs.max_fast_reg_page_list_len);
		KUNIT_EXPECT_EQ(test, 0,
				mock_last(c->mock, CMD(CREATE_QP))->req[6]);
		mr = ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, 1);
		KUNIT_EXPECT_EQ(test, PTR_ERR(mr), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, 0, mock_count(c->mock, CMD(ALLOC_MR)));
		KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
				post_inv(c, IB_WR_LOCAL_INV, 1));
		KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
				post_inv(c, IB_WR_SEND_WITH_INV, 1));
		consumer_done(c);
	}
}

static void fastreg_alloc(struct kunit *test)
{
	struct consumer *c = consumer_able(test);
	unsigned int before;
	struct ib_mr *mr;

	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, 0)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG,
					    MAX_PAGES + 1)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR(ib_alloc_mr(c->pd, IB_MR_TYPE_SG_GAPS, 1)));
	c->mock->fail[CMD(ALLOC_MR)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			PTR_ERR(ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, 1)));
	c->mock->fail[CMD(ALLOC_MR)] = 0;
	mr = ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, MAX_PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	/* ib_mr_pool_destroy() leaves this, where a process's region has its uobject. */
	mr->qp_entry.next = LIST_POISON1;
	mr->qp_entry.prev = LIST_POISON2;
	before = mock_count(c->mock, CMD(DEREG_MR));
	KUNIT_EXPECT_EQ(test, 0, ib_dereg_mr(mr));
	KUNIT_EXPECT_EQ(test, before + 1, mock_count(c->mock, CMD(DEREG_MR)));
	consumer_done(c);
}

/*
 * A device that does not let go of a region of the kernel is reset: its pages belong to
 * somebody who frees them now.
 */
static void fastreg_refused(struct kunit *test)
{
	struct consumer *c = consumer_able(test);
	struct ib_mr *mr = ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, MAX_PAGES);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	c->mock->fail[CMD(DEREG_MR)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, 0, ib_dereg_mr(mr));
	KUNIT_EXPECT_EQ(test, c->mock->given_up, 1);
	kunit_release_action(test, consumer_close, c);
	mock_withdraw(c->mock);
	/* Not once more, for what is kept: there is nothing. */
	KUNIT_EXPECT_EQ(test, c->mock->given_up, 1);
}

static void fastreg_register(struct kunit *test)
{
	struct consumer *c = consumer_able(test);
	struct ib_mr *mr = ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, MAX_PAGES);
	const struct virtio_rdma_sq_req *req;
	unsigned int offset = 0x123;
	struct scatterlist sg[3];
	const __le64 *pages;
	u32 key;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	fill_sg(sg, 3);
	KUNIT_EXPECT_EQ(test, 3, ib_map_mr_sg(mr, sg, 3, &offset, SZ_4K));
	key = mr->rkey;
	ib_update_fast_reg_key(mr, ib_inc_rkey(key));
	KUNIT_EXPECT_EQ(test, 0, post_reg(c, mr, IB_ACCESS_LOCAL_WRITE |
						 IB_ACCESS_REMOTE_READ |
						 IB_ACCESS_RELAXED_ORDERING));
	req = posted(c, 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->wr_id), 0);
	KUNIT_EXPECT_EQ(test, req->opcode, VIRTIO_IB_WR_REG_MR);
	KUNIT_EXPECT_EQ(test, req->send_flags, VIRTIO_IB_SEND_SIGNALED);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->reg.iova), SZ_1M + 0x123);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->reg.length),
			3 * SZ_4K - 0x123);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->reg.key), mr->rkey);
	KUNIT_EXPECT_EQ(test, mr->rkey >> 8, key >> 8);
	KUNIT_EXPECT_NE(test, mr->rkey, key);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->reg.access),
			VIRTIO_IB_ACCESS_LOCAL_WRITE |
			VIRTIO_IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->reg.npages), 3);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->num_sge), 0);
	pages = phys_to_virt(le64_to_cpu(req->reg.pages));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(pages[0]), SZ_1M);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(pages[1]), 3 * SZ_1M);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(pages[2]), 5 * SZ_1M);
	KUNIT_EXPECT_EQ(test, 0, ib_dereg_mr(mr));
	consumer_done(c);
}

/* A larger page counts as several for the device; the list is bounded. */
static void fastreg_map(struct kunit *test)
{
	struct consumer *c = consumer_able(test);
	struct ib_mr *mr = ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, 4);
	struct scatterlist sg[6];
	struct ib_mr *dma;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	fill_sg(sg, 6);
	KUNIT_EXPECT_EQ(test, 4, ib_map_mr_sg(mr, sg, 6, NULL, SZ_4K));
	KUNIT_EXPECT_EQ(test, 0, post_reg(c, mr, IB_ACCESS_LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, 4, le32_to_cpu(posted(c, 0)->reg.npages));

	sg_dma_len(&sg[0]) = SZ_8K;
	KUNIT_EXPECT_EQ(test, 1, ib_map_mr_sg(mr, sg, 1, NULL, SZ_8K));
	KUNIT_EXPECT_EQ(test, 0, post_reg(c, mr, IB_ACCESS_LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, 2, le32_to_cpu(posted(c, 1)->reg.npages));
	KUNIT_EXPECT_EQ(test, SZ_8K, le32_to_cpu(posted(c, 1)->reg.length));

	KUNIT_EXPECT_EQ(test, -EINVAL, ib_map_mr_sg(mr, sg, 1, NULL, 512));
	/* Rights that do not exist. */
	KUNIT_EXPECT_EQ(test, -EINVAL, post_reg(c, mr, IB_ACCESS_MW_BIND));
	KUNIT_EXPECT_EQ(test, 0, ib_dereg_mr(mr));

	dma = c->pd->device->ops.get_dma_mr(c->pd, IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma);
	dma->device = c->ibdev;
	dma->pd = c->pd;
	KUNIT_EXPECT_EQ(test, -EINVAL, post_reg(c, dma, 0));
	KUNIT_EXPECT_EQ(test, 0, c->ibdev->ops.dereg_mr(dma, NULL));
	consumer_done(c);
}

static void fastreg_invalidate(struct kunit *test)
{
	struct consumer *c = consumer_able(test);
	const struct virtio_rdma_sq_req *req;

	KUNIT_EXPECT_EQ(test, 0, post_inv(c, IB_WR_LOCAL_INV, 0x01020304));
	KUNIT_EXPECT_EQ(test, 0, post_inv(c, IB_WR_SEND_WITH_INV, 0x11121314));
	req = posted(c, 0);
	KUNIT_EXPECT_EQ(test, req->opcode, VIRTIO_IB_WR_LOCAL_INV);
	KUNIT_EXPECT_EQ(test, req->send_flags, VIRTIO_IB_SEND_FENCE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->invalidate_rkey), 0x01020304);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->reserved[0]), 0);
	req = posted(c, 1);
	KUNIT_EXPECT_EQ(test, req->opcode, VIRTIO_IB_WR_SEND_WITH_INV);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->invalidate_rkey), 0x11121314);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(req->reserved[0]), 0);
	consumer_done(c);
}

static struct kunit_case fastreg_cases[] = {
	KUNIT_CASE(fastreg_completion_invalidate),
	KUNIT_CASE(fastreg_opcodes),
	KUNIT_CASE(fastreg_completions),
	KUNIT_CASE(fastreg_alloc_command),
	KUNIT_CASE(fastreg_create_qp_flag),
	KUNIT_CASE(fastreg_device),
	KUNIT_CASE(fastreg_device_without),
	KUNIT_CASE(fastreg_alloc),
	KUNIT_CASE(fastreg_refused),
	KUNIT_CASE(fastreg_register),
	KUNIT_CASE(fastreg_map),
	KUNIT_CASE(fastreg_invalidate),
	{}
};

static struct kunit_suite fastreg_suite = {
	.name = "virtio_roce_fastreg",
	.test_cases = fastreg_cases,
};

kunit_test_suite(fastreg_suite);
