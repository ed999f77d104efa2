// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts and commands of a process, good and bad.  Its mappings are in
 * virtio_roce_user_map_test.c, its memory regions in virtio_roce_user_mr_test.c.
 */
#include <kunit/test.h>
#include <linux/uaccess.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce-abi.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64

/* ----- contexts ----- */

static void user_context(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	int refs = module_refcount(THIS_MODULE);
	struct process *p;

	mock->aux.owner = THIS_MODULE;
	p = process_start(mock);
	/*
	 * A provider of another version, which has no room for the answer.  The
	 * core forgets a reference to the task then, which kmemleak reports.
	 */
	if (!IS_ENABLED(CONFIG_DEBUG_KMEMLEAK))
		KUNIT_EXPECT_EQ(test, process_get_context(p, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);

	KUNIT_ASSERT_EQ(test, 0, process_get_context(p, sizeof(p->context)));
	KUNIT_EXPECT_EQ(test, p->context.max_inline_data, 512);
	KUNIT_EXPECT_EQ(test, p->context.features, 0);
	KUNIT_EXPECT_EQ(test, p->context.device_caps,
			VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);
	process_close_file(p);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);
	mock_expect_clean(mock);
}

/*
 * The handshake with providers of other versions.  A refused one is not tried under
 * kmemleak, see above.
 */
static void user_handshake(struct kunit *test)
{
	const u64 unknown = BIT_ULL(20) | BIT_ULL(63);
	struct mock *mock = mock_device(test, NUM);
	struct {
		struct virtio_roce_alloc_ucontext_resp base;
		u64 more;
	} resp;
	struct {
		struct virtio_roce_alloc_ucontext_req base;
		u64 more;
	} req = {};
	struct process *p;

	mock->query_device.device_cap_flags =
		cpu_to_le64(VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN |
			    VIRTIO_IB_DEVICE_CQ_HOLD | unknown);
	p = process_start(mock);
	/* Ours, and one that knows features that we do not. */
	req.base.features = VIRTIO_ROCE_FEATURES | unknown;
	KUNIT_ASSERT_EQ(test, 0, process_handshake(p, &req, sizeof(req.base),
						   sizeof(p->context)));
	/* The device has no direct queues. */
	KUNIT_EXPECT_EQ(test, p->context.features, 0);
	/* Of the device it is told what we know. */
	KUNIT_EXPECT_EQ(test, p->context.device_caps,
			VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN |
			VIRTIO_IB_DEVICE_CQ_HOLD);
	KUNIT_EXPECT_EQ(test, p->context.max_inline_data, 512);

	/* A newer one: longer both ways.  We do not write behind our answer. */
	process_reopen(p);
	memset(&resp, 0xa5, sizeof(resp));
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)p->mem + p->resp,
					      &resp, sizeof(resp)));
	KUNIT_ASSERT_EQ(test, 0, process_handshake(p, &req, sizeof(req),
						   sizeof(resp)));
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(&resp, (void __user *)p->mem +
						p->resp, sizeof(resp)));
	KUNIT_EXPECT_EQ(test, resp.base.features, 0);
	KUNIT_EXPECT_EQ(test, resp.base.reserved, 0);
	KUNIT_EXPECT_EQ(test, resp.more, 0xa5a5a5a5a5a5a5a5);

	/* None at all: no features, but a context. */
	process_reopen(p);
	KUNIT_ASSERT_EQ(test, 0, process_get_context(p, sizeof(p->context)));
	KUNIT_EXPECT_EQ(test, p->context.features, 0);
	KUNIT_EXPECT_EQ(test, p->context.max_inline_data, 512);

	if (!IS_ENABLED(CONFIG_DEBUG_KMEMLEAK)) {
		process_reopen(p);
		req.more = 1;
		KUNIT_EXPECT_EQ(test, -EINVAL,
				process_handshake(p, &req, sizeof(req),
						  sizeof(p->context)));
	}
	process_close_file(p);
	mock_expect_clean(mock);
}

static void user_answers(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	const struct virtio_roce_queue *cq = &prog->cq.drv.cq;
	const struct virtio_roce_queue *sq = &prog->qp.drv.sq;
	const struct virtio_roce_queue *rq = &prog->qp.drv.rq;
	const struct mock_vq *vq = &mock->sq_vqs[prog->qp.qpn];

	KUNIT_EXPECT_EQ(test, prog->cq.cqe, 8);
	KUNIT_EXPECT_EQ(test, cq->num, NUM);
	KUNIT_EXPECT_EQ(test, cq->depth, 8);
	KUNIT_EXPECT_EQ(test, cq->stride, 64);
	KUNIT_EXPECT_EQ(test, cq->slots_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, cq->avail_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, cq->used_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, cq->flags, VIRTIO_ROCE_QUEUE_ALIVE);
	KUNIT_EXPECT_EQ(test, cq->doorbell_len, 0);
	KUNIT_EXPECT_EQ(test, mock->cqs[0].cqe, 8);

	KUNIT_EXPECT_EQ(test, prog->qp.max_send_wr, 8);
	KUNIT_EXPECT_EQ(test, prog->qp.max_recv_wr, 4);
	KUNIT_EXPECT_EQ(test, prog->qp.max_send_sge, 2);
	KUNIT_EXPECT_EQ(test, prog->qp.max_recv_sge, 1);
	KUNIT_EXPECT_EQ(test, prog->qp.max_inline_data, 512);
	KUNIT_EXPECT_EQ(test, sq->num, NUM);
	KUNIT_EXPECT_EQ(test, sq->depth, 8);
	KUNIT_EXPECT_EQ(test, sq->stride, 640);
	KUNIT_EXPECT_EQ(test, sq->slots_len, PAGE_ALIGN(8 * 640));
	KUNIT_EXPECT_EQ(test, sq->flags, VIRTIO_ROCE_QUEUE_DOORBELL);
	KUNIT_EXPECT_EQ(test, sq->doorbell_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, sq->doorbell_pos, 64);
	KUNIT_EXPECT_EQ(test, sq->doorbell_value, vq->pub.index);
	KUNIT_EXPECT_EQ(test, rq->depth, 4);
	KUNIT_EXPECT_EQ(test, rq->stride, 64);
	KUNIT_EXPECT_EQ(test, rq->doorbell_value, vq->pub.index + 1);
	program_destroy(prog);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static void user_answers_event_idx(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog;
	int i;

	mock->aux.event_idx = true;
	for (i = 0; i < MOCK_QPS; i++)
		mock->sq_vqs[i].pub.doorbell_phys = 0;
	prog = program_start(mock);
	KUNIT_EXPECT_EQ(test, prog->cq.drv.cq.flags,
			VIRTIO_ROCE_QUEUE_ALIVE | VIRTIO_ROCE_QUEUE_EVENT_IDX);
	KUNIT_EXPECT_EQ(test, prog->qp.drv.sq.flags,
			VIRTIO_ROCE_QUEUE_EVENT_IDX);
	KUNIT_EXPECT_EQ(test, prog->qp.drv.sq.doorbell_len, 0);
	KUNIT_EXPECT_EQ(test, prog->qp.drv.rq.flags,
			VIRTIO_ROCE_QUEUE_EVENT_IDX |
			VIRTIO_ROCE_QUEUE_DOORBELL);
	program_destroy(prog);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

/* ----- commands ----- */

/* The answer does not fit into the process's memory: all is undone. */
static void user_answer_faults(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_with_context(mock);
	struct cq_resp cq;
	struct qp_resp qp;
	u32 pd;

	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &pd));
	KUNIT_ASSERT_EQ(test, 0, process_create_cq(p, 4, &cq));
	/* The core's part is in the last page, the driver's past its end. */
	p->resp = USER_PAGES * PAGE_SIZE - 32;
	KUNIT_EXPECT_EQ(test, process_create_qp(p, pd, cq.handle, IB_QPT_RC, &qp),
			-EFAULT);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_QP)), 1);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_QP)), 1);
	p->resp = USER_PAGES * PAGE_SIZE - 8;
	KUNIT_EXPECT_EQ(test, process_create_cq(p, 4, &cq), -EFAULT);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_CQ)), 1);
	KUNIT_EXPECT_EQ(test, mock_objects(mock), 2);
	process_close_file(p);
	mock_expect_clean(mock);
}

static void user_unknown_input(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct process *p = process_with_context(mock);
	struct {
		struct ib_uverbs_create_cq base;
		u64 more;
	} req = {
		.base = { .cqe = 4, .comp_channel = -1 },
		.more = 1,
	};
	struct {
		struct cq_resp base;
		u64 more;
	} resp;

	KUNIT_EXPECT_EQ(test, -EINVAL,
			process_command(p, IB_USER_VERBS_CMD_CREATE_CQ, &req,
					sizeof(req), &resp,
					sizeof(resp.base)));
	/* A provider that has no room for the driver's answer. */
	req.more = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			process_command(p, IB_USER_VERBS_CMD_CREATE_CQ, &req,
					sizeof(req), &resp,
					sizeof(resp.base) - 8));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_CQ)), 0);
	/* Zeros are ignored, and room for more than the driver answers as well. */
	memset(&resp, 0xa5, sizeof(resp));
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)p->mem + p->resp,
					      &resp, sizeof(resp)));
	KUNIT_EXPECT_EQ(test, 0,
			process_command(p, IB_USER_VERBS_CMD_CREATE_CQ, &req,
					sizeof(req), &resp, sizeof(resp)));
	KUNIT_EXPECT_EQ(test, resp.base.drv.cq.num, NUM);
	KUNIT_EXPECT_EQ(test, resp.more, 0xa5a5a5a5a5a5a5a5);
	process_close_file(p);
	mock_expect_clean(mock);
}

static int post(struct process *p, u32 command, u32 handle, u32 count)
{
	struct {
		struct ib_uverbs_post_send base;
		struct ib_uverbs_send_wr wr;
	} req = {
		.base = {
			.qp_handle = handle,
			.wr_count = count,
			.wqe_size = sizeof(req.wr),
		},
		.wr = { .opcode = IB_UVERBS_WR_SEND },
	};
	struct ib_uverbs_post_send_resp resp;

	return process_command(p, command, &req,
			       count ? sizeof(req) : sizeof(req.base), &resp,
			       sizeof(resp));
}

/* An empty list rings the doorbell; requests are the provider's to post. */
static void user_doorbell_by_post(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct mock_vq *sq = &mock->sq_vqs[prog->qp.qpn];
	struct mock_vq *rq = &mock->rq_vqs[prog->qp.qpn];

	KUNIT_EXPECT_EQ(test, 0, post(prog->p, IB_USER_VERBS_CMD_POST_SEND,
				      prog->qp.handle, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_EXPECT_EQ(test, rq->kicks, 0);
	KUNIT_EXPECT_EQ(test, 0, post(prog->p, IB_USER_VERBS_CMD_POST_RECV,
				      prog->qp.handle, 0));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_EXPECT_EQ(test, rq->kicks, 1);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			post(prog->p, IB_USER_VERBS_CMD_POST_SEND,
			     prog->qp.handle, 1));
	KUNIT_EXPECT_EQ(test, sq->kicks, 1);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(sq), 0);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

/* The kernel does not poll the CQ of a process. */
static void user_poll_and_notify(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct ib_uverbs_poll_cq poll = {
		.cq_handle = prog->cq.handle, .ne = 1,
	};
	struct ib_uverbs_req_notify_cq notify = {
		.cq_handle = prog->cq.handle, .solicited_only = 1,
	};
	struct ib_uverbs_poll_cq_resp resp;

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_command(prog->p, IB_USER_VERBS_CMD_POLL_CQ,
					&poll, sizeof(poll), &resp,
					sizeof(resp)));
	KUNIT_EXPECT_EQ(test, 0,
			process_command(prog->p, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
					&notify, sizeof(notify), NULL, 0));
	KUNIT_EXPECT_EQ(test, mock->cqs[0].armed, VIRTIO_IB_NOTIFY_SOLICITED);
	KUNIT_EXPECT_FALSE(test, mock_last(mock, CMD(REQ_NOTIFY_CQ))->atomic);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static int set_burst(struct program *prog, u32 qp, u32 attr_mask, const void *drv, size_t len)
{
	const struct ib_uverbs_ex_modify_qp req = {
		.base = { .qp_handle = qp, .attr_mask = attr_mask },
		.rate_limit = 1000,
	};
	struct ib_uverbs_ex_modify_qp_resp resp;

	return process_command_ex(prog->p, IB_USER_VERBS_EX_CMD_MODIFY_QP, &req, sizeof(req),
				  drv, len, &resp, sizeof(resp), NULL, 0);
}

/* How long bursts are comes with a rate limit, to a device that takes it. */
static void user_rate_burst(struct kunit *test)
{
	struct virtio_roce_modify_qp_req drv[2] = { { .max_burst = 0x01020304 } };
	const struct virtio_rdma_cmd_modify_qp *req;
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct ib_device *ibdev = mock_ibdev(mock);
	const u32 rate = IB_QP_RATE_LIMIT;
	struct qp_resp qp;

	KUNIT_ASSERT_EQ(test, 0, process_create_qp(prog->p, prog->pd, prog->cq.handle,
						   IB_QPT_RC, &qp));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, set_burst(prog, qp.handle, rate, drv, 8));
	to_vdev(ibdev)->attr.device_cap_flags |= VIRTIO_IB_DEVICE_RATE_BURST;
	KUNIT_EXPECT_EQ(test, 0, set_burst(prog, qp.handle, rate, drv, 8));
	req = (const void *)mock_last(mock, CMD(MODIFY_QP))->req;
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->rate_limit), 1000);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->max_burst), 0x01020304);
	/* Zeroes of a newer provider ask for nothing; other bytes are a request that is unknown. */
	KUNIT_EXPECT_EQ(test, 0, set_burst(prog, qp.handle, rate, drv, 16));
	drv[1].reserved = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, set_burst(prog, qp.handle, rate, drv, 16));
	KUNIT_EXPECT_EQ(test, -EINVAL, set_burst(prog, qp.handle, 0, drv, 8));
	drv[0].reserved = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, set_burst(prog, qp.handle, rate, drv, 8));
	/* Without it the device has its own burst again. */
	KUNIT_EXPECT_EQ(test, 0, set_burst(prog, qp.handle, rate, NULL, 0));
	req = (const void *)mock_last(mock, CMD(MODIFY_QP))->req;
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->max_burst), 0);
	ib_device_put(ibdev);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static void user_qp_types(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct qp_resp qp;

	KUNIT_EXPECT_EQ(test, 0, process_create_qp(prog->p, prog->pd,
						   prog->cq.handle, IB_QPT_UC,
						   &qp));
	KUNIT_EXPECT_EQ(test, mock->qps[qp.qpn].type, VIRTIO_IB_QPT_UC);
	KUNIT_EXPECT_EQ(test, 0, process_create_qp(prog->p, prog->pd,
						   prog->cq.handle, IB_QPT_UD,
						   &qp));
	KUNIT_EXPECT_EQ(test, mock->qps[qp.qpn].type, VIRTIO_IB_QPT_UD);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_create_qp(prog->p, prog->pd, prog->cq.handle,
					  IB_QPT_DRIVER, &qp));
	/* QP 1 is the kernel's. */
	KUNIT_EXPECT_LT(test, process_create_qp(prog->p, prog->pd,
						prog->cq.handle, IB_QPT_GSI,
						&qp), 0);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static struct kunit_case user_cases[] = {
	KUNIT_CASE(user_context),
	KUNIT_CASE(user_handshake),
	KUNIT_CASE(user_answers),
	KUNIT_CASE(user_answers_event_idx),
	KUNIT_CASE(user_answer_faults),
	KUNIT_CASE(user_unknown_input),
	KUNIT_CASE(user_doorbell_by_post),
	KUNIT_CASE(user_poll_and_notify),
	KUNIT_CASE(user_qp_types),
	KUNIT_CASE(user_rate_burst),
	{}
};

static struct kunit_suite user_suite = {
	.name = "virtio_roce_user",
	.test_cases = user_cases,
};

kunit_test_suite(user_suite);
