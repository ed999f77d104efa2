// SPDX-License-Identifier: GPL-2.0
/*
 * Counters that QPs are bound to ("rdma statistic qp"), as the core calls the driver.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "virtio_roce_endpoint.h"

/* Of what the device counts, this is looked at. */
#define WHICH	VIRTIO_RDMA_CNT_SENDS

static struct endpoint *counted_endpoint(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);

	mock->query_device.device_cap_flags |=
		cpu_to_le64(VIRTIO_IB_DEVICE_COUNTERS | VIRTIO_IB_DEVICE_QP_COUNTERS);
	return endpoint_open(mock, 16, 4);
}

static int counter_bind(struct rdma_counter *counter, struct ib_qp *qp)
{
#ifdef VNR_HAVE_COUNTER_PORT
	return qp->device->ops.counter_bind_qp(counter, qp, 1);
#else
	return qp->device->ops.counter_bind_qp(counter, qp);
#endif
}

static void counter_unbind(struct kunit *test, struct ib_qp *qp)
{
#ifdef VNR_HAVE_COUNTER_PORT
	KUNIT_EXPECT_EQ(test, 0, qp->device->ops.counter_unbind_qp(qp, 1));
#else
	KUNIT_EXPECT_EQ(test, 0, qp->device->ops.counter_unbind_qp(qp));
#endif
	KUNIT_EXPECT_NULL(test, qp->counter);
}

static struct rdma_counter *counter_new(struct kunit *test, struct endpoint *ep)
{
	struct rdma_counter *counter = kunit_kzalloc(test, sizeof(*counter), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, counter);
	counter->device = ep->ibdev;
	counter->port = 1;
	counter->stats = ep->ibdev->ops.counter_alloc_stats(counter);
	KUNIT_ASSERT_NOT_NULL(test, counter->stats);
	/* The core goes through those of the port by index. */
	KUNIT_EXPECT_EQ(test, counter->stats->num_counters, VIRTIO_RDMA_CNT_NUM + 1);
	return counter;
}

static void counter_free(struct kunit *test, struct rdma_counter *counter)
{
	KUNIT_EXPECT_EQ(test, 0, counter->device->ops.counter_dealloc(counter));
	rdma_free_hw_stats_struct(counter->stats);
}

/* The device has counted so much. */
static void counted(struct endpoint *ep, const struct ib_qp *qp, u64 value)
{
	ep->mock->qps[qp->qp_num].counters.value[WHICH] = cpu_to_le64(value);
}

static void expect_counter(struct kunit *test, struct rdma_counter *counter, u64 value)
{
	KUNIT_EXPECT_EQ(test, 0, counter->device->ops.counter_update_stats(counter));
	KUNIT_EXPECT_EQ(test, counter->stats->value[WHICH], value);
	KUNIT_EXPECT_EQ(test, counter->stats->value[VIRTIO_RDMA_CNT_NUM], 0);
}

/* The port has so much beside its counters, which the core adds. */
static void expect_port(struct kunit *test, struct endpoint *ep, u64 value)
{
	struct rdma_hw_stats *stats = ep->ibdev->ops.alloc_hw_port_stats(ep->ibdev, 1);

	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_EXPECT_EQ(test, ep->ibdev->ops.get_hw_stats(ep->ibdev, stats, 1, 0),
			VIRTIO_RDMA_CNT_NUM + 1);
	KUNIT_EXPECT_EQ(test, stats->value[WHICH], value);
	rdma_free_hw_stats_struct(stats);
}

/* A counter is what its QPs count while they are bound; the port has the rest. */
static void counter_of_two(struct kunit *test)
{
	struct endpoint *ep = counted_endpoint(test);
	struct rdma_counter *counter = counter_new(test, ep);
	struct ib_qp *other = endpoint_add_qp(ep, 4);

	ep->mock->counters.value[WHICH] = cpu_to_le64(100);
	counted(ep, ep->qp, 10);
	KUNIT_ASSERT_EQ(test, 0, counter_bind(counter, ep->qp));
	KUNIT_EXPECT_NE(test, counter->id, 0);
	KUNIT_EXPECT_PTR_EQ(test, ep->qp->counter, counter);
	expect_counter(test, counter, 0);
	expect_port(test, ep, 100);
	counted(ep, ep->qp, 14);
	counted(ep, other, 20);
	KUNIT_ASSERT_EQ(test, 0, counter_bind(counter, other));
	counted(ep, other, 21);
	expect_counter(test, counter, 5);
	expect_port(test, ep, 95);
	/* The first one counts on, but not for this counter. */
	counted(ep, ep->qp, 16);
	counter_unbind(test, ep->qp);
	counted(ep, ep->qp, 50);
	expect_counter(test, counter, 7);
	counter_unbind(test, other);
	counted(ep, other, 50);
	expect_counter(test, counter, 7);
	expect_port(test, ep, 93);
	counter_free(test, counter);
	/* The core remembers what it had. */
	expect_port(test, ep, 93);
	ib_destroy_qp(other);
	endpoint_done(ep);
}

/* Each counter has a number of its own, which is not 0, and its own QPs. */
static void counter_two(struct kunit *test)
{
	struct endpoint *ep = counted_endpoint(test);
	struct rdma_counter *a = counter_new(test, ep), *b = counter_new(test, ep);
	struct ib_qp *other = endpoint_add_qp(ep, 4);

	KUNIT_ASSERT_EQ(test, 0, counter_bind(a, ep->qp));
	KUNIT_ASSERT_EQ(test, 0, counter_bind(b, other));
	KUNIT_EXPECT_NE(test, a->id, b->id);
	counted(ep, ep->qp, 1);
	counted(ep, other, 2);
	expect_counter(test, a, 1);
	expect_counter(test, b, 2);
	/* The port was asked before they were: the core's sum is right all the same. */
	expect_port(test, ep, -3ULL);
	counter_unbind(test, ep->qp);
	counter_unbind(test, other);
	counter_free(test, a);
	counter_free(test, b);
	ib_destroy_qp(other);
	endpoint_done(ep);
}

/* A device that does not answer: nothing is bound, and what was known is kept. */
static void counter_refused(struct kunit *test)
{
	struct endpoint *ep = counted_endpoint(test);
	struct rdma_counter *counter = counter_new(test, ep);

	ep->mock->fail[CMD(QUERY_QP_COUNTERS)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -EIO, counter_bind(counter, ep->qp));
	KUNIT_EXPECT_EQ(test, counter->id, 0);
	KUNIT_EXPECT_NULL(test, ep->qp->counter);
	ep->mock->fail[CMD(QUERY_QP_COUNTERS)] = 0;
	KUNIT_ASSERT_EQ(test, 0, counter_bind(counter, ep->qp));
	counted(ep, ep->qp, 3);
	expect_counter(test, counter, 3);
	ep->mock->fail[CMD(QUERY_QP_COUNTERS)] = -EREMOTEIO;
	counted(ep, ep->qp, 5);
	KUNIT_EXPECT_EQ(test, -EIO, ep->ibdev->ops.counter_update_stats(counter));
	counter_unbind(test, ep->qp);
	expect_counter(test, counter, 3);
	counter_free(test, counter);
	endpoint_done(ep);
}

/* Without the capability the core offers no counters of QPs. */
static void counter_none(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev;

	/* Nor with it alone. */
	mock->query_device.device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_QP_COUNTERS);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_NULL(test, ibdev->ops.counter_bind_qp);
	mock_stop(mock, ibdev);
}

static struct kunit_case counter_cases[] = {
	KUNIT_CASE(counter_of_two),
	KUNIT_CASE(counter_two),
	KUNIT_CASE(counter_refused),
	KUNIT_CASE(counter_none),
	{}
};

static struct kunit_suite counter_suite = {
	.name = "virtio_roce_counter",
	.test_cases = counter_cases,
};

kunit_test_suite(counter_suite);
