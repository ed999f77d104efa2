// SPDX-License-Identifier: GPL-2.0
/*
 * Details of "rdma -dd resource show" about objects.
 */
#include <kunit/test.h>
#include <linux/workqueue.h>
#include <net/netlink.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name

/**
 * struct track - a consumer in the kernel
 * @mock: function
 * @ibdev: device
 * @pd: protection domain
 * @cq: completion queue
 * @qp: queue pair
 * @msg: what was said last
 * @work: destroys @qp or @cq
 */
struct track {
	struct mock *mock;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct sk_buff *msg;
	struct work_struct work;
};

static struct track *track_open(struct kunit *test, bool direct)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 16 };
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 8,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct track *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->mock = mock_device(test, 64);
	if (direct)
		mock_make_direct(t->mock);
	t->mock->query_device.device_cap_flags |=
		cpu_to_le64(VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS);
	t->mock->query_device.max_fast_reg_pages = cpu_to_le32(16);
	t->ibdev = mock_start(t->mock);
	t->pd = ib_alloc_pd(t->ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->pd);
	t->cq = ib_create_cq(t->ibdev, NULL, NULL, NULL, &cq_attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->cq);
	attr.send_cq = t->cq;
	attr.recv_cq = t->cq;
	t->qp = ib_create_qp(t->pd, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->qp);
	t->msg = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->msg);
	return t;
}

static void track_close(struct track *t)
{
	if (t->qp)
		ib_destroy_qp(t->qp);
	if (t->cq)
		ib_destroy_cq(t->cq);
	ib_dealloc_pd(t->pd);
	mock_expect_clean(t->mock);
	mock_stop(t->mock, t->ibdev);
	nlmsg_free(t->msg);
}

/* The value after the name @name in the last message, NULL if there is none. */
static const struct nlattr *track_find(const struct track *t, const char *name)
{
	const struct nlattr *table = (const struct nlattr *)t->msg->data, *attr;
	bool found = false;
	int left;

	if (!t->msg->len)
		return NULL;
	KUNIT_EXPECT_EQ(t->mock->test, nla_type(table), RDMA_NLDEV_ATTR_DRIVER);
	nla_for_each_nested(attr, table, left) {
		if (found)
			return attr;
		found = nla_type(attr) == RDMA_NLDEV_ATTR_DRIVER_STRING &&
			!nla_strcmp(attr, name);
	}
	return NULL;
}

/* -1 if it is not said. */
static s64 track_u32(const struct track *t, const char *name)
{
	const struct nlattr *attr = track_find(t, name);

	return attr ? (s64)nla_get_u32(attr) : -1;
}

static bool track_is(const struct track *t, const char *name, const char *value)
{
	const struct nlattr *attr = track_find(t, name);

	return attr && !nla_strcmp(attr, value);
}

static void track_qp(struct track *t)
{
	skb_trim(t->msg, 0);
	KUNIT_EXPECT_EQ(t->mock->test, 0,
			t->ibdev->ops.fill_res_qp_entry(t->msg, t->qp));
}

static void track_cq(struct track *t)
{
	skb_trim(t->msg, 0);
	KUNIT_EXPECT_EQ(t->mock->test, 0,
			t->ibdev->ops.fill_res_cq_entry(t->msg, t->cq));
}

static void track_post_recv(struct track *t)
{
	struct ib_sge sge = { .addr = 0x2000, .length = 100, .lkey = 8 };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	to_vqp(t->qp)->state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(t->mock->test, 0, ib_post_recv(t->qp, &wr, NULL));
}

static void track_direct(struct kunit *test)
{
	struct track *t = track_open(test, true);

	track_post_recv(t);
	track_qp(t);
	KUNIT_EXPECT_TRUE(test, track_is(t, "form", "direct"));
	KUNIT_EXPECT_EQ(test, track_u32(t, "sq_depth"), 4);
	KUNIT_EXPECT_EQ(test, track_u32(t, "sq_posted"), 0);
	KUNIT_EXPECT_EQ(test, track_u32(t, "rq_depth"), 8);
	KUNIT_EXPECT_EQ(test, track_u32(t, "rq_posted"), 1);
	KUNIT_EXPECT_EQ(test, track_u32(t, "rq_done"), 0);
	KUNIT_EXPECT_EQ(test, track_u32(t, "doorbell_bit"),
			to_vqp(t->qp)->hw->sq.bit);
	track_cq(t);
	KUNIT_EXPECT_TRUE(test, track_is(t, "form", "direct"));
	KUNIT_EXPECT_EQ(test, track_u32(t, "device_cqn"),
			to_vcq(t->cq)->hw->cqn);
	KUNIT_EXPECT_EQ(test, track_u32(t, "slots"),
			to_vcq(t->cq)->hw->queue.depth);
	KUNIT_EXPECT_EQ(test, track_u32(t, "taken"), 0);
	KUNIT_EXPECT_NE(test, track_u32(t, "arm"), -1);
	KUNIT_EXPECT_EQ(test, track_u32(t, "used"), -1);
	track_close(t);
}

static void track_virtqueue(struct kunit *test)
{
	struct track *t = track_open(test, false);

	track_post_recv(t);
	track_qp(t);
	KUNIT_EXPECT_TRUE(test, track_is(t, "form", "virtqueue"));
	KUNIT_EXPECT_EQ(test, track_u32(t, "sq_depth"), 4);
	KUNIT_EXPECT_EQ(test, track_u32(t, "rq_posted"), 1);
	KUNIT_EXPECT_EQ(test, track_u32(t, "rq_done"), 0);
	KUNIT_EXPECT_EQ(test, track_u32(t, "doorbell_bit"), -1);
	track_cq(t);
	KUNIT_EXPECT_TRUE(test, track_is(t, "form", "virtqueue"));
	KUNIT_EXPECT_EQ(test, track_u32(t, "slots"), 16);
	KUNIT_EXPECT_EQ(test, track_u32(t, "used"), 0);
	track_close(t);
}

static void track_regions(struct kunit *test)
{
	struct track *t = track_open(test, true);
	struct ib_mr *mr = ib_alloc_mr(t->pd, IB_MR_TYPE_MEM_REG, 3);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, 0, t->ibdev->ops.fill_res_mr_entry(t->msg, mr));
	KUNIT_EXPECT_TRUE(test, track_is(t, "kind", "fast_registration"));
	KUNIT_EXPECT_EQ(test, track_u32(t, "device_mrn"), to_vmr(mr)->mrn);
	KUNIT_EXPECT_EQ(test, track_u32(t, "max_pages"), 3);
	KUNIT_EXPECT_EQ(test, track_u32(t, "pages"), 0);
	ib_dereg_mr(mr);
	track_close(t);
}

/*
 * A region that gets other pages: what is said of it is in the region itself.  The pages that
 * it had may be freed while somebody asks.
 */
static void track_changed(struct kunit *test)
{
	struct track *t = track_open(test, true);
	struct vroce_mr *mr = kunit_kzalloc(test, sizeof(*mr), GFP_KERNEL);
	struct ib_umem *gone = kzalloc(sizeof(*gone), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_ASSERT_NOT_NULL(test, gone);
	kfree(gone);
	mr->umem = gone;
	mr->page_size = SZ_4K;
	mr->npages = 7;
	KUNIT_EXPECT_EQ(test, 0, t->ibdev->ops.fill_res_mr_entry(t->msg, &mr->ibmr));
	KUNIT_EXPECT_TRUE(test, track_is(t, "kind", "process"));
	KUNIT_EXPECT_EQ(test, track_u32(t, "pages"), 7);
	KUNIT_EXPECT_EQ(test, track_u32(t, "page_size"), SZ_4K);
	track_close(t);
}

/* A message without room is told so, and is as it was. */
static void track_no_room(struct kunit *test)
{
	struct track *t = track_open(test, true);
	int room;

	for (room = 0; room < 100; room += 20) {
		skb_trim(t->msg, 0);
		skb_put_zero(t->msg, skb_tailroom(t->msg) - room);
		KUNIT_EXPECT_EQ(test, -EMSGSIZE,
				t->ibdev->ops.fill_res_qp_entry(t->msg, t->qp));
		KUNIT_EXPECT_EQ(test, skb_tailroom(t->msg), room);
	}
	track_close(t);
}

static void track_destroy_qp(struct work_struct *work)
{
	struct track *t = container_of(work, struct track, work);

	ib_destroy_qp(t->qp);
}

static void track_destroy_cq(struct work_struct *work)
{
	struct track *t = container_of(work, struct track, work);

	ib_destroy_cq(t->cq);
}

/*
 * The core asks about an object that is being destroyed: what the device had of it may
 * be freed at any time.
 */
static void track_going(struct kunit *test)
{
	struct track *t = track_open(test, true);

	t->mock->hold[CMD(DESTROY_QP)] = true;
	INIT_WORK(&t->work, track_destroy_qp);
	queue_work(system_unbound_wq, &t->work);
	wait_for_completion(&t->mock->held);
	track_qp(t);
	KUNIT_EXPECT_EQ(test, t->msg->len, 0);
	complete(&t->mock->release);
	flush_work(&t->work);
	t->qp = NULL;

	reinit_completion(&t->mock->held);
	reinit_completion(&t->mock->release);
	t->mock->hold[CMD(DESTROY_CQ)] = true;
	INIT_WORK(&t->work, track_destroy_cq);
	queue_work(system_unbound_wq, &t->work);
	wait_for_completion(&t->mock->held);
	track_cq(t);
	KUNIT_EXPECT_EQ(test, t->msg->len, 0);
	complete(&t->mock->release);
	flush_work(&t->work);
	t->cq = NULL;
	track_close(t);
}

static struct kunit_case track_cases[] = {
	KUNIT_CASE(track_direct),
	KUNIT_CASE(track_virtqueue),
	KUNIT_CASE(track_regions),
	KUNIT_CASE(track_changed),
	KUNIT_CASE(track_no_room),
	KUNIT_CASE(track_going),
	{ }
};

static struct kunit_suite track_suite = {
	.name = "virtio_roce_restrack",
	.test_cases = track_cases,
};

kunit_test_suite(track_suite);
