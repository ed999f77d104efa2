// SPDX-License-Identifier: GPL-2.0
/*
 * Arming: what the device is asked for, what the consumer is told of, and when.
 *
 * This is the half of the RDMA driver.  When an interrupt means that a CQ without a
 * control block has news is decided by the lower module: virtio_net_roce_arm_test.c, whose
 * cases have the same names.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_types.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

/* Completions that the CQ holds. */
#define FULL		16

/**
 * struct news_kind - a kind of CQ
 * @name: for the report
 * @caps: capabilities of the device
 * @direct: it is a direct ring
 * @control: it is armed by its control block, and the device reports events
 * @user: it is a process's
 */
struct news_kind {
	const char *name;
	u64 caps;
	bool direct;
	bool control;
	bool user;
};

static const struct news_kind news_kinds[] = {
	{ "RFC" },
	{ "CQ_HOLD", .caps = VIRTIO_IB_DEVICE_CQ_HOLD },
	{ "control block", .caps = VIRTIO_IB_DEVICE_EVENTS, .control = true },
	{ "direct ring", .direct = true, .control = true },
	{ "direct ring of a process", .direct = true, .control = true, .user = true },
};

static void news_kind_name(const struct news_kind *kind, char *desc)
{
	strscpy(desc, kind->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(news_kind, news_kinds, news_kind_name);

/* The completions that a CQ is armed for. */
enum news_arming {
	NOT_ARMED,
	ANY,
	SOLICITED,
};

/**
 * struct news_case - a CQ that is armed, and what happens to it then
 * @name: for the report
 * @before: completions that are in it, and not polled, when it is armed
 * @first: it was armed before, for this
 * @between: completions between the two armings
 * @arm: what it is armed for
 * @after: completions that come then
 * @solicited: and solicited ones after these
 * @asked: what the device believes to be asked for when it was armed
 * @told: how often the consumer's handler is called
 */
struct news_case {
	const char *name;
	u32 before;
	enum news_arming first;
	u32 between;
	enum news_arming arm;
	u32 after;
	u32 solicited;
	enum news_arming asked;
	int told;
};

static const struct news_case news_cases[] = {
	{ "empty, nothing comes", .arm = ANY, .asked = ANY, .told = 0 },
	{ "empty, one comes", .arm = ANY, .after = 1, .asked = ANY, .told = 1 },
	{ "empty, it fills up", .arm = ANY, .after = FULL, .asked = ANY, .told = 1 },
	{ "some not polled, nothing comes", .before = 2, .arm = ANY, .asked = ANY,
	  .told = 0 },
	{ "some not polled, one comes", .before = 2, .arm = ANY, .after = 1, .asked = ANY,
	  .told = 1 },
	{ "full, nothing comes", .before = FULL, .arm = ANY, .asked = ANY, .told = 0 },
	{ "solicited, nothing comes", .arm = SOLICITED, .asked = SOLICITED, .told = 0 },
	{ "solicited, one comes", .arm = SOLICITED, .after = 1, .asked = SOLICITED,
	  .told = 0 },
	{ "solicited, a solicited one comes", .arm = SOLICITED, .after = 1, .solicited = 2,
	  .asked = SOLICITED, .told = 1 },
	{ "solicited, some not polled, a solicited one comes", .before = 2,
	  .arm = SOLICITED, .solicited = 1, .asked = SOLICITED, .told = 1 },
	{ "solicited, full, nothing comes", .before = FULL, .arm = SOLICITED,
	  .asked = SOLICITED, .told = 0 },
	{ "armed twice, nothing comes", .before = 1, .first = ANY, .arm = ANY,
	  .asked = ANY, .told = 0 },
	{ "armed twice, one came in between", .before = 1, .first = ANY, .between = 1,
	  .arm = ANY, .asked = ANY, .told = 1 },
	{ "armed twice, one comes", .before = 1, .first = ANY, .arm = ANY, .after = 2,
	  .asked = ANY, .told = 1 },
	{ "armed twice, one came in between, one comes", .first = ANY, .between = 1,
	  .arm = ANY, .after = 1, .asked = ANY, .told = 2 },
	{ "armed for any, then solicited, one comes", .first = ANY, .arm = SOLICITED,
	  .after = 2, .asked = ANY, .told = 1 },
	{ "armed for any, told, then solicited, one comes", .first = ANY, .between = 1,
	  .arm = SOLICITED, .after = 1, .asked = SOLICITED, .told = 1 },
	{ "armed solicited, then for any, one comes", .first = SOLICITED, .arm = ANY,
	  .after = 2, .asked = ANY, .told = 1 },
};

/**
 * struct news - a consumer
 * @mock: function
 * @ibdev: device
 * @kind: of the CQ
 * @vectors: number of interrupt vectors; with one, all CQs share it
 * @cq: CQ
 * @device: what the device knows of it
 * @cqn: its number
 * @word: what a process stored last to arm it
 * @unanswered: what a process armed it for since the last event
 * @told: calls of its handler
 */
struct news {
	struct mock *mock;
	struct ib_device *ibdev;
	const struct news_kind *kind;
	u32 vectors;
	struct ib_cq *cq;
	struct mock_cq *device;
	u32 cqn;
	u32 word;
	u32 unanswered;
	int told;
};

static void news_told(struct ib_cq *cq, void *context)
{
	struct news *n = context;

	n->unanswered = 0;
	n->told++;
}

static void news_add(struct news *n, u32 count, bool solicited)
{
	static const struct virtio_rdma_cq_req req;
	static const struct virtio_rdma_cqe cqe;

	while (count--) {
		if (n->kind->direct) {
			mock_direct_complete(n->mock, n->cqn, &cqe, solicited);
			continue;
		}
		mock_complete(n->mock, n->cqn, &req);
		if (n->kind->control)
			mock_direct_raise(n->mock, n->cqn, solicited);
	}
}

/* Returns whether completions may have been missed. */
static int news_arm(struct news *n, enum news_arming arm)
{
	if (!n->kind->user)
		return ib_req_notify_cq(n->cq, IB_CQ_REPORT_MISSED_EVENTS |
					(arm == ANY ? IB_CQ_NEXT_COMP : IB_CQ_SOLICITED));
	/* As the provider does. */
	n->unanswered |= arm == ANY ? VIRTIO_RDMA_ARM_NEXT : VIRTIO_RDMA_ARM_SOLICITED;
	n->word += VIRTIO_RDMA_ARM_NUMBER;
	WRITE_ONCE(n->device->control->arm, cpu_to_le32(n->word | n->unanswered));
	return 0;
}

static enum news_arming news_asked(struct news *n)
{
	u32 bits = n->kind->control ? le32_to_cpu(n->device->control->arm) :
				      READ_ONCE(n->device->armed);

	BUILD_BUG_ON((int)VIRTIO_RDMA_ARM_NEXT != (int)VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
	return bits & VIRTIO_RDMA_ARM_NEXT ? ANY :
	       bits & VIRTIO_RDMA_ARM_SOLICITED ? SOLICITED : NOT_ARMED;
}

static void news_row(struct kunit *test, struct news *n, const struct news_case *row)
{
	u32 there = row->before + row->between;
	int missed;

	n->told = 0;
	news_add(n, row->before, false);
	if (row->first)
		news_arm(n, row->first);
	news_add(n, row->between, false);
	missed = news_arm(n, row->arm);
	KUNIT_EXPECT_EQ_MSG(test, missed, !n->kind->user && there, "%s", row->name);
	KUNIT_EXPECT_EQ_MSG(test, news_asked(n), row->asked, "%s", row->name);
	/* Of the others the lower module tells. */
	if (!n->kind->control)
		return;
	news_add(n, row->after, false);
	news_add(n, row->solicited, true);
	KUNIT_EXPECT_EQ_MSG(test, n->told, row->told, "%s", row->name);
}

static void news_kernel(struct kunit *test, struct news *n, const struct news_case *row)
{
	const struct ib_cq_init_attr attr = { .cqe = FULL, .comp_vector = n->vectors - 1 };

	n->cq = ib_create_cq(n->ibdev, news_told, NULL, n, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, n->cq);
	n->cqn = to_vcq(n->cq)->hw->cqn;
	n->device = &n->mock->cqs[n->cqn];
	if (n->kind->control)
		KUNIT_EXPECT_EQ(test, n->device->event_vq, n->vectors - 1);
	news_row(test, n, row);
	ib_destroy_cq(n->cq);
}

/* The process's handler is put in the place of the core's, which has no channel. */
static void news_user(struct kunit *test, struct news *n, struct process *p,
		      const struct news_case *row)
{
	struct cq_resp resp = {};
	struct vroce_cq *cq;
	void *context;

	KUNIT_ASSERT_EQ(test, 0, process_create_cq(p, FULL, &resp));
	n->cqn = MOCK_CQS;
	cq = xa_load(&to_vdev(n->ibdev)->cqs, n->cqn);
	KUNIT_ASSERT_NOT_NULL(test, cq);
	context = cq->ibcq.cq_context;
	cq->ibcq.comp_handler = news_told;
	cq->ibcq.cq_context = n;
	n->cq = &cq->ibcq;
	n->device = &n->mock->cqs[n->cqn];
	n->word = 0;
	n->unanswered = 0;
	news_row(test, n, row);
	cq->ibcq.comp_handler = NULL;
	cq->ibcq.cq_context = context;
	KUNIT_EXPECT_EQ(test, 0, process_destroy_cq(p, resp.handle));
}

static void news_of(struct kunit *test, u32 vectors)
{
	const struct virtio_roce_alloc_ucontext_req req = {
		.features = VIRTIO_ROCE_FEATURE_DIRECT,
	};
	const struct news_kind *kind = test->param_value;
	struct news n = { .kind = kind, .vectors = vectors, .mock = mock_device(test, 64) };
	struct process *p = NULL;
	size_t i;

	if (kind->direct)
		mock_make_direct(n.mock);
	n.mock->query_device.device_cap_flags |= cpu_to_le64(kind->caps);
	n.mock->aux.num_vectors = vectors;
	n.mock->aux.num_events = vectors;
	if (kind->user) {
		p = process_start(n.mock);
		KUNIT_ASSERT_EQ(test, 0, process_handshake(p, &req, sizeof(req),
							   sizeof(p->context)));
		n.ibdev = mock_ibdev(n.mock);
	} else {
		n.ibdev = mock_start(n.mock);
	}
	for (i = 0; i < ARRAY_SIZE(news_cases); i++) {
		if (kind->user)
			news_user(test, &n, p, &news_cases[i]);
		else
			news_kernel(test, &n, &news_cases[i]);
	}
	if (kind->user) {
		ib_device_put(n.ibdev);
		process_close_file(p);
	}
	mock_expect_clean(n.mock);
	if (!kind->user)
		mock_stop(n.mock, n.ibdev);
}

/* With a vector that serves everything, and with vectors of their own. */
static void arm_news(struct kunit *test)
{
	news_of(test, 1);
	news_of(test, 3);
}

static struct kunit_case arm_cases[] = {
	KUNIT_CASE_PARAM(arm_news, news_kind_gen_params),
	{ }
};

static struct kunit_suite arm_suite = {
	.name = "virtio_roce_arm",
	.test_cases = arm_cases,
};

kunit_test_suite(arm_suite);
