// SPDX-License-Identifier: GPL-2.0
/*
 * Extended reliable connections: processes, and consumers in the kernel, on the whole
 * driver, bound to a function that acts as a device.
 */
#include <kunit/test.h>
#include <linux/fcntl.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name

/* ----- what a process asks for ----- */

static int xrc_open_xrcd(struct process *p, u32 *handle)
{
	struct ib_uverbs_open_xrcd req = { .fd = -1, .oflags = O_CREAT };
	struct ib_uverbs_open_xrcd_resp resp = {};
	int err;

	err = process_command(p, IB_USER_VERBS_CMD_OPEN_XRCD, &req, sizeof(req),
			      &resp, sizeof(resp));
	*handle = resp.xrcd_handle;
	return err;
}

static int xrc_close_xrcd(struct process *p, u32 handle)
{
	struct ib_uverbs_close_xrcd req = { .xrcd_handle = handle };

	return process_command(p, IB_USER_VERBS_CMD_CLOSE_XRCD, &req, sizeof(req),
			       NULL, 0);
}

static int xrc_create_srq(struct process *p, const struct program *prog, u32 xrcd,
			  struct srq_resp *resp)
{
	struct ib_uverbs_create_xsrq req = {
		.srq_type = IB_SRQT_XRC,
		.pd_handle = prog->pd,
		.max_wr = 30,
		.max_sge = 1,
		.xrcd_handle = xrcd,
		.cq_handle = prog->cq.handle,
	};

	return process_command(p, IB_USER_VERBS_CMD_CREATE_XSRQ, &req, sizeof(req),
			       resp, sizeof(*resp));
}

/* The kernel answers for an XRC_TGT QP without the driver's part. */
static int xrc_create_tgt(struct process *p, u32 xrcd, struct qp_resp *resp)
{
	struct ib_uverbs_create_qp req = {
		.pd_handle = xrcd,
		.qp_type = IB_QPT_XRC_TGT,
	};

	return process_command(p, IB_USER_VERBS_CMD_CREATE_QP, &req, sizeof(req),
			       resp, offsetof(struct qp_resp, drv));
}

static int xrc_open_tgt(struct process *p, u32 xrcd, u32 qpn, struct qp_resp *resp)
{
	struct ib_uverbs_open_qp req = {
		.pd_handle = xrcd,
		.qpn = qpn,
		.qp_type = IB_QPT_XRC_TGT,
	};

	return process_command(p, IB_USER_VERBS_CMD_OPEN_QP, &req, sizeof(req),
			       resp, offsetof(struct qp_resp, drv));
}

/* ----- processes ----- */

static void xrc_user_domains(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	u32 handle[MOCK_XRCDS + 1], i;

	for (i = 0; i < MOCK_XRCDS; i++)
		KUNIT_ASSERT_EQ(test, 0, xrc_open_xrcd(p, &handle[i]));
	/* More than there are: the device is not even asked. */
	KUNIT_EXPECT_EQ(test, -ENOMEM, xrc_open_xrcd(p, &handle[i]));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(CREATE_XRCD)), MOCK_XRCDS);
	KUNIT_EXPECT_EQ(test, 0, xrc_close_xrcd(p, handle[0]));
	KUNIT_EXPECT_EQ(test, mock_last(mock, CMD(DESTROY_XRCD))->ret, 0);

	mock->fail[CMD(CREATE_XRCD)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, xrc_open_xrcd(p, &handle[0]));
	mock->fail[CMD(CREATE_XRCD)] = 0;
	KUNIT_EXPECT_EQ(test, 0, xrc_open_xrcd(p, &handle[0]));
	process_close_file(p);
	mock_expect_clean(mock);
}

/* A domain that the device does not give back is lost, but nothing waits for it. */
static void xrc_user_domain_kept(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	u32 handle;

	KUNIT_ASSERT_EQ(test, 0, xrc_open_xrcd(p, &handle));
	mock->fail[CMD(DESTROY_XRCD)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, 0, xrc_close_xrcd(p, handle));
	mock->fail[CMD(DESTROY_XRCD)] = 0;
	KUNIT_EXPECT_EQ(test, 0, xrc_open_xrcd(p, &handle));
	KUNIT_EXPECT_EQ(test, -ENOMEM, xrc_open_xrcd(p, &handle));
	process_close_file(p);
	mock->xrcd_refs[0] = -1;
	mock_expect_clean(mock);
}

static void xrc_user_srq(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct srq_resp first = {}, second = {};
	struct srq_resp *const srq[] = { &first, &second };
	struct mock_srq *made;
	u32 xrcd, i;

	KUNIT_ASSERT_EQ(test, 0, xrc_open_xrcd(p, &xrcd));
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, xrc_create_srq(p, &prog, xrcd, srq[i]));
		KUNIT_EXPECT_EQ(test, srq[i]->core.srqn, MOCK_SRQ_HANDLE + i);
		KUNIT_EXPECT_EQ(test, srq[i]->core.max_wr, 32);
		KUNIT_EXPECT_EQ(test, srq[i]->drv.srq.depth, 32);
		KUNIT_EXPECT_EQ(test, srq[i]->drv.srq.flags, VIRTIO_ROCE_QUEUE_DIRECT);
	}
	made = &mock->srqs[0];
	KUNIT_EXPECT_TRUE(test, made->xrc);
	KUNIT_EXPECT_EQ(test, made->xrcd, MOCK_XRCD_HANDLE);
	KUNIT_EXPECT_EQ(test, made->cqn, mock->qps[prog.qp.qpn].scqn);
	KUNIT_EXPECT_EQ(test, made->pdn, mock->qps[prog.qp.qpn].pdn);

	/* Domain and CQ live as long as their SRQs. */
	KUNIT_EXPECT_EQ(test, -EBUSY, xrc_close_xrcd(p, xrcd));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(p, prog.qp.handle));
	KUNIT_EXPECT_EQ(test, -EBUSY, process_destroy_cq(p, prog.cq.handle));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_srq(p, first.core.srq_handle));
	KUNIT_EXPECT_EQ(test, -EBUSY, xrc_close_xrcd(p, xrcd));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_srq(p, second.core.srq_handle));
	KUNIT_EXPECT_EQ(test, 0, xrc_close_xrcd(p, xrcd));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_cq(p, prog.cq.handle));
	process_close_file(p);
	mock_expect_clean(mock);
}

/* An XRC SRQ that the device does not make, or for which it has a bad number. */
static void xrc_user_no_srq(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct srq_resp srq = {};
	u32 xrcd;

	KUNIT_ASSERT_EQ(test, 0, xrc_open_xrcd(p, &xrcd));
	mock->fail[CMD(CREATE_XRC_SRQ)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, xrc_create_srq(p, &prog, xrcd, &srq));
	mock->fail[CMD(CREATE_XRC_SRQ)] = 0;
	mock->wide_srq = true;
	KUNIT_EXPECT_EQ(test, -EPROTO, xrc_create_srq(p, &prog, xrcd, &srq));
	mock->wide_srq = false;
	/* Neither domain nor CQ is held by what there is not. */
	KUNIT_EXPECT_EQ(test, 0, xrc_close_xrcd(p, xrcd));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(p, prog.qp.handle));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_cq(p, prog.cq.handle));
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(DESTROY_SRQ)), 0);
	process_close_file(p);
	mock_expect_clean(mock);
}

/* Their slots have room for the number of an SRQ, and they receive nothing. */
static void xrc_user_ini(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct qp_resp rc, qp = {};
	const struct mock_qp *made;

	KUNIT_ASSERT_EQ(test, 0, process_create_qp(p, prog.pd, prog.cq.handle,
						   IB_QPT_XRC_INI, &qp));
	made = &mock->qps[qp.qpn];
	KUNIT_EXPECT_EQ(test, made->type, VIRTIO_IB_QPT_XRC_INI);
	KUNIT_EXPECT_FALSE(test, made->direct.recv_depth);
	KUNIT_EXPECT_FALSE(test, made->direct.recv_pages);
	KUNIT_EXPECT_FALSE(test, made->direct.xrcd);
	KUNIT_EXPECT_EQ(test, qp.max_send_wr, 8);
	KUNIT_EXPECT_EQ(test, qp.max_recv_wr, 0);
	KUNIT_EXPECT_EQ(test, qp.max_recv_sge, 0);
	KUNIT_EXPECT_EQ(test, qp.drv.sq.flags & VIRTIO_ROCE_QUEUE_DIRECT,
			VIRTIO_ROCE_QUEUE_DIRECT);
	KUNIT_EXPECT_EQ(test, qp.drv.rq.flags, 0);
	KUNIT_EXPECT_EQ(test, qp.drv.rq.slots_len, 0);
	/* 48 and two elements do not fit where 40 and 16 bytes of data did. */
	KUNIT_EXPECT_EQ(test, qp.drv.sq.stride, 128);
	rc = prog.qp;
	KUNIT_EXPECT_LE(test, rc.drv.sq.stride, 128);
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(p, qp.handle));
	process_close_file(p);
	mock_expect_clean(mock);
}

/* An XRC_TGT QP outlives the process that made it, if another one has opened it. */
static void xrc_user_tgt(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct qp_resp made = {}, opened = {};
	u32 xrcd;

	KUNIT_ASSERT_EQ(test, 0, xrc_open_xrcd(p, &xrcd));
	KUNIT_ASSERT_EQ(test, 0, xrc_create_tgt(p, xrcd, &made));
	KUNIT_EXPECT_EQ(test, made.max_send_wr, 0);
	KUNIT_EXPECT_EQ(test, made.max_recv_wr, 0);
	KUNIT_EXPECT_EQ(test, mock->qps[made.qpn].type, VIRTIO_IB_QPT_XRC_TGT);
	KUNIT_EXPECT_EQ(test, mock->xrcd_refs[0], 1);
	KUNIT_EXPECT_NE(test, 0, xrc_open_tgt(p, xrcd, made.qpn + 1, &opened));
	KUNIT_ASSERT_EQ(test, 0, xrc_open_tgt(p, xrcd, made.qpn, &opened));
	KUNIT_EXPECT_EQ(test, opened.qpn, made.qpn);

	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(p, made.handle));
	KUNIT_EXPECT_TRUE(test, mock->qps[made.qpn].exists);
	KUNIT_EXPECT_EQ(test, -EBUSY, xrc_close_xrcd(p, xrcd));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(p, opened.handle));
	KUNIT_EXPECT_FALSE(test, mock->qps[made.qpn].exists);
	KUNIT_EXPECT_EQ(test, 0, xrc_close_xrcd(p, xrcd));

	mock->fail[CMD(CREATE_QP)] = -EREMOTEIO;
	KUNIT_ASSERT_EQ(test, 0, xrc_open_xrcd(p, &xrcd));
	KUNIT_EXPECT_EQ(test, -ENOMEM, xrc_create_tgt(p, xrcd, &made));
	KUNIT_EXPECT_EQ(test, 0, xrc_close_xrcd(p, xrcd));
	process_close_file(p);
	mock_expect_clean(mock);
}

/* A process that ends without a word leaves nothing. */
static void xrc_user_killed(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct program prog = {};
	struct process *p = process_direct(mock, &prog);
	struct qp_resp qp = {};
	struct srq_resp srq = {};
	u32 xrcd;

	KUNIT_ASSERT_EQ(test, 0, xrc_open_xrcd(p, &xrcd));
	KUNIT_ASSERT_EQ(test, 0, xrc_create_srq(p, &prog, xrcd, &srq));
	KUNIT_ASSERT_EQ(test, 0, xrc_create_tgt(p, xrcd, &qp));
	KUNIT_ASSERT_EQ(test, 0, process_create_qp(p, prog.pd, prog.cq.handle,
						   IB_QPT_XRC_INI, &qp));
	process_close_file(p);
	mock_expect_clean(mock);
}

/* Without direct queues there are no XRC SRQs and no XRC_INI QPs. */
static void xrc_user_not_direct(struct kunit *test)
{
	struct mock *mock = mock_device(test, 64);
	struct qp_resp qp = {};
	struct srq_resp srq = {};
	struct program *prog;
	u32 xrcd;

	mock_make_direct(mock);
	prog = program_start(mock);
	KUNIT_ASSERT_EQ(test, 0, xrc_open_xrcd(prog->p, &xrcd));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			xrc_create_srq(prog->p, prog, xrcd, &srq));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			process_create_qp(prog->p, prog->pd, prog->cq.handle,
					  IB_QPT_XRC_INI, &qp));
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

/* ----- the kernel ----- */

/**
 * struct xrc - what a consumer in the kernel has
 * @mock: function
 * @ibdev: device
 * @xrcd: XRC domain
 * @qp: XRC_TGT QP as its maker and another consumer have it
 * @events: events of @qp, by consumer and type
 */
struct xrc {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_xrcd *xrcd;
	struct ib_qp *qp[2];
	int events[2][32];
};

static void xrc_count(struct ib_event *event, int *events)
{
	if (event->event < 32)
		events[event->event]++;
}

static void xrc_maker_event(struct ib_event *event, void *context)
{
	xrc_count(event, ((struct xrc *)context)->events[0]);
}

static void xrc_opener_event(struct ib_event *event, void *context)
{
	xrc_count(event, ((struct xrc *)context)->events[1]);
}

static void xrc_close(void *data)
{
	struct xrc *x = data;
	int i;

	for (i = 0; i < 2; i++)
		if (x->qp[i])
			KUNIT_EXPECT_EQ(x->mock->test, 0, ib_destroy_qp(x->qp[i]));
	if (x->xrcd)
		KUNIT_EXPECT_EQ(x->mock->test, 0,
				ib_dealloc_xrcd_user(x->xrcd, NULL));
}

static struct xrc *xrc_start(struct kunit *test)
{
	struct xrc *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);
	struct ib_qp_init_attr make = {
		.event_handler = xrc_maker_event,
		.qp_context = x,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct ib_qp_open_attr open = {
		.event_handler = xrc_opener_event,
		.qp_context = x,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct ib_xrcd *xrcd;
	struct ib_qp *qp;

	KUNIT_ASSERT_NOT_NULL(test, x);
	x->mock = mock_device(test, 64);
	mock_make_direct(x->mock);
	x->ibdev = mock_start(x->mock);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, xrc_close, x));
	xrcd = ib_alloc_xrcd_user(x->ibdev, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(xrcd));
	x->xrcd = xrcd;
	make.xrcd = xrcd;
	qp = ib_create_qp_user(x->ibdev, NULL, &make, NULL, NULL, KBUILD_MODNAME);
	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	x->qp[0] = qp;
	open.qp_num = qp->qp_num;
	qp = ib_open_qp(xrcd, &open);
	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	x->qp[1] = qp;
	return x;
}

static void xrc_done(struct xrc *x)
{
	kunit_release_action(x->mock->test, xrc_close, x);
	mock_expect_clean(x->mock);
	mock_stop(x->mock, x->ibdev);
}

/* Nobody can post to an XRC_TGT QP, and what it has can be asked for. */
static void xrc_tgt(struct kunit *test)
{
	struct xrc *x = xrc_start(test);
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	};
	struct ib_qp_init_attr init;
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = {};

	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(x->qp[1], &attr,
					      IB_QP_STATE | IB_QP_PKEY_INDEX |
					      IB_QP_PORT | IB_QP_ACCESS_FLAGS));
	KUNIT_EXPECT_EQ(test, x->mock->qps[x->qp[0]->qp_num].state, VIRTIO_IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, 0, ib_query_qp(x->qp[0], &attr, IB_QP_STATE, &init));
	KUNIT_EXPECT_EQ(test, (int)attr.qp_state, (int)IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, init.cap.max_send_wr, 0);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_wr, 0);
	KUNIT_EXPECT_NE(test, 0, ib_post_send(x->qp[0]->real_qp, &send, NULL));
	KUNIT_EXPECT_NE(test, 0, ib_post_recv(x->qp[0]->real_qp, &recv, NULL));
	attr.qp_state = IB_QPS_RESET;
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(x->qp[0], &attr, IB_QP_STATE));
	xrc_done(x);
}

/* All who have an XRC_TGT QP learn of its end. */
static void xrc_tgt_events(struct kunit *test)
{
	struct xrc *x = xrc_start(test);
	u32 qpn = x->qp[0]->qp_num;
	int i;

	mock_event(x->mock, VIRTIO_RDMA_EVENT_QP_REQ_ERR, qpn);
	mock_event(x->mock, VIRTIO_RDMA_EVENT_QP_LAST_WQE, qpn);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, x->events[i][IB_EVENT_QP_REQ_ERR], 1);
		KUNIT_EXPECT_EQ(test, x->events[i][IB_EVENT_QP_LAST_WQE_REACHED], 1);
	}
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(x->qp[0]));
	x->qp[0] = NULL;
	mock_event(x->mock, VIRTIO_RDMA_EVENT_QP_FATAL, qpn);
	KUNIT_EXPECT_EQ(test, x->events[0][IB_EVENT_QP_FATAL], 0);
	KUNIT_EXPECT_EQ(test, x->events[1][IB_EVENT_QP_FATAL], 1);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(x->qp[1]));
	x->qp[1] = NULL;
	mock_event(x->mock, VIRTIO_RDMA_EVENT_QP_ACCESS_ERR, qpn);
	KUNIT_EXPECT_EQ(test, x->events[1][IB_EVENT_QP_ACCESS_ERR], 0);
	xrc_done(x);
}

/* Nor does anyone wait for a dead device to say so. */
static void xrc_tgt_dead(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct xrc *x = xrc_start(test);

	to_vqp(x->qp[0]->real_qp)->state = IB_QPS_RTS;
	x->mock->event(&x->mock->aux, VIRTIO_NET_ROCE_QUIESCED);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(x->qp[0], &attr, IB_QP_STATE));
	KUNIT_EXPECT_EQ(test, x->events[0][IB_EVENT_QP_LAST_WQE_REACHED], 1);
	KUNIT_EXPECT_EQ(test, x->events[1][IB_EVENT_QP_LAST_WQE_REACHED], 1);
	xrc_done(x);
}

/* The kernel gets no XRC SRQ and no XRC_INI QP. */
static void xrc_kernel_refused(struct kunit *test)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 64 };
	struct xrc *x = xrc_start(test);
	struct ib_srq_init_attr srq_attr = {
		.srq_type = IB_SRQT_XRC,
		.attr = { .max_wr = 8, .max_sge = 1 },
		.ext.xrc.xrcd = x->xrcd,
	};
	struct ib_qp_init_attr qp_attr = {
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IB_QPT_XRC_INI,
	};
	struct ib_pd *pd;
	struct ib_cq *cq;

	pd = ib_alloc_pd(x->ibdev, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pd));
	cq = ib_create_cq(x->ibdev, NULL, NULL, x, &cq_attr);
	KUNIT_EXPECT_FALSE(test, IS_ERR(cq));
	if (!IS_ERR(cq)) {
		srq_attr.ext.cq = cq;
		qp_attr.send_cq = cq;
		KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_srq_user(pd, &srq_attr, NULL,
								 NULL)),
				-EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, PTR_ERR(ib_create_qp(pd, &qp_attr)),
				-EOPNOTSUPP);
		ib_destroy_cq(cq);
	}
	ib_dealloc_pd(pd);
	xrc_done(x);
}

/* ----- devices ----- */

struct offer_case {
	const char *name;
	u64 without;
	bool no_domains;
	bool offered;
};

static const struct offer_case offer_table[] = {
	{ "all of it", 0, false, true },
	{ "no XRC", VIRTIO_IB_DEVICE_XRC },
	{ "no SRQ", VIRTIO_IB_DEVICE_SRQ },
	{ "no direct queues", VIRTIO_IB_DEVICE_DIRECT },
	{ "no domains", 0, true },
};

KUNIT_ARRAY_PARAM_DESC(offer, offer_table, name);

static void xrc_offered(struct kunit *test)
{
	const struct offer_case *c = test->param_value;
	struct mock *mock = mock_device(test, 64);
	struct ib_device *ibdev;

	mock_make_direct(mock);
	mock->query_device.device_cap_flags &= ~cpu_to_le64(c->without);
	if (c->no_domains)
		mock->query_device.max_xrcd = 0;
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, !!(ibdev->attrs.device_cap_flags & IB_DEVICE_XRC),
			c->offered);
	KUNIT_EXPECT_EQ(test, !!ibdev->ops.alloc_xrcd, c->offered);
	mock_stop(mock, ibdev);
}

static struct kunit_case xrc_cases[] = {
	KUNIT_CASE(xrc_user_domains),
	KUNIT_CASE(xrc_user_domain_kept),
	KUNIT_CASE(xrc_user_srq),
	KUNIT_CASE(xrc_user_no_srq),
	KUNIT_CASE(xrc_user_ini),
	KUNIT_CASE(xrc_user_tgt),
	KUNIT_CASE(xrc_user_killed),
	KUNIT_CASE(xrc_user_not_direct),
	KUNIT_CASE(xrc_tgt),
	KUNIT_CASE(xrc_tgt_events),
	KUNIT_CASE(xrc_tgt_dead),
	KUNIT_CASE(xrc_kernel_refused),
	KUNIT_CASE_PARAM(xrc_offered, offer_gen_params),
	{ }
};

static struct kunit_suite xrc_suite = {
	.name = "virtio_roce_xrc",
	.test_cases = xrc_cases,
};

kunit_test_suite(xrc_suite);
