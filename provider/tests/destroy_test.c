// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Destroying an object whose events are not acknowledged: the command waits, and other
 * threads create and destroy meanwhile.  The object's number may be in use again.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "util.h"

#define SRQN		0x3c07
#define PATIENCE	20

/* No thread waits for a lock while a command waits for an event. */
static void assert_no_lock(void)
{
	assert_int_equal(pthread_mutex_trylock(&fake.ctx.qp_mutex), 0);
	pthread_mutex_unlock(&fake.ctx.qp_mutex);
}

/* A completion of the first request of a QP, in either form. */
static void complete(uint64_t wr_id)
{
	const struct virtio_rdma_cqe cqe = { .qp_num = htole32(TEST_QPN) };

	if (fake.ctx.features & VIRTIO_ROCE_FEATURE_DIRECT)
		fake_direct_complete(&cqe);
	else
		fake_complete(wr_id, TEST_QPN);
}

static int post(struct virtio_roce_qp *qp, uint64_t wr_id)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return virtio_roce_post_send(&qp->vqp.qp, &wr, &bad);
}

/* The QPs of a test: one is destroyed, and another one has its number meanwhile. */
static struct virtio_roce_qp *old_qp, *new_qp;

static void new_qp_has_number(void)
{
	assert_no_lock();
	new_qp = make_qp_on(to_vcq(old_qp->vqp.qp.send_cq), IBV_QPT_RC);
	assert_int_equal(new_qp->vqp.qp.qp_num, old_qp->vqp.qp.qp_num);
	assert_int_equal(post(new_qp, 22), 0);
	complete(22);
}

static void number_of_qp_is_in_use_again(bool in_group)
{
	const union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 1 } };
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wc wc[4];

	old_qp = make_qp_on(cq, IBV_QPT_RC);
	if (in_group) {
		/* The provider thinks that it is in a group, the kernel does not. */
		assert_int_equal(virtio_roce_attach_mcast(&old_qp->vqp.qp, &group, 0), 0);
		fake.in_group = false;
	}
	assert_int_equal(post(old_qp, 11), 0);
	complete(11);
	fake.at_destroy = new_qp_has_number;
	drop_qp(old_qp);
	assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 22);
	assert_int_equal(cq->num_stale, 0);

	/* And the other one was not taken out of the table. */
	assert_int_equal(virtio_roce_destroy_cq(&cq->vcq.cq), EBUSY);
	assert_int_equal(post(new_qp, 23), 0);
	drop_qp(new_qp);
	drop_cq(cq);
	assert_int_equal(fake.qps + fake.cqs, 0);
}

static void destroy_qp_waits(void **state)
{
	number_of_qp_is_in_use_again(false);
}

static void destroy_qp_in_group_waits(void **state)
{
	number_of_qp_is_in_use_again(true);
}

/* The kernel keeps a QP that has a rule.  So it goes on, until the rule is gone. */
static void destroy_qp_with_rule(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct virtio_roce_qp *qp = make_qp_on(cq, IBV_QPT_RC);
	struct ibv_flow_attr attr = { .size = sizeof(attr), .port = 1 };
	struct ibv_flow *flow;
	struct ibv_wc wc;

	fake.fail = ENOMEM;
	assert_null(virtio_roce_create_flow(&qp->vqp.qp, &attr));
	assert_int_equal(errno, ENOMEM);
	fake.fail = 0;
	flow = virtio_roce_create_flow(&qp->vqp.qp, &attr);
	assert_non_null(flow);
	assert_int_equal(virtio_roce_destroy_qp(&qp->vqp.qp), EBUSY);
	assert_int_equal(post(qp, 11), 0);
	complete(11);
	assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 11);
	fake.fail = EIO;
	assert_int_equal(virtio_roce_destroy_flow(flow), EIO);
	fake.fail = 0;
	assert_int_equal(virtio_roce_destroy_flow(flow), 0);
	drop_qp(qp);
	drop_cq(cq);
	assert_int_equal(fake.qps + fake.cqs + fake.rules, 0);
}

/* XRC SRQs with one CQ, and the number of both. */
static struct virtio_roce_cq *srq_cq;
static struct virtio_roce_srq *new_srq;

static struct virtio_roce_srq *make_xsrq(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = &fake.pd,
		.xrcd = (void *)1,
		.cq = &srq_cq->vcq.cq,
	};
	struct ibv_srq *srq;

	fake.srqn = SRQN;
	srq = virtio_roce_create_srq_ex(fake.pd.context, &attr);
	assert_non_null(srq);
	return to_vsrq(srq);
}

/* Post a request to an XRC SRQ and complete it. */
static void xsrq_receive(struct virtio_roce_srq *srq, uint64_t wr_id)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id };
	const struct virtio_rdma_rwqe *slot = srq->vq.ring.slots;
	struct virtio_rdma_cqe cqe = {
		.srqn = htole32(SRQN),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV | VIRTIO_RDMA_CQE_XRC,
	};

	assert_int_equal(virtio_roce_post_srq_recv(&srq->vsrq.srq, &wr, &bad), 0);
	cqe.wqe = slot->cookie;
	fake_direct_complete(&cqe);
}

static void new_srq_has_number(void)
{
	assert_no_lock();
	new_srq = make_xsrq();
	xsrq_receive(new_srq, 22);
}

static void destroy_srq_waits(void **state)
{
	struct virtio_roce_srq *old;
	struct ibv_wc wc[4];

	fake.ctx.device_caps = VIRTIO_IB_DEVICE_XRC;
	srq_cq = make_cq();
	old = make_xsrq();
	xsrq_receive(old, 11);
	fake.at_destroy = new_srq_has_number;
	assert_int_equal(virtio_roce_destroy_srq(&old->vsrq.srq), 0);
	assert_int_equal(virtio_roce_poll_cq(&srq_cq->vcq.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 22);
	assert_int_equal(virtio_roce_destroy_cq(&srq_cq->vcq.cq), EBUSY);
	assert_int_equal(virtio_roce_destroy_srq(&new_srq->vsrq.srq), 0);
	fake.at_destroy = assert_no_lock;
	drop_cq(srq_cq);
	assert_null(fake.at_destroy);
}

/* The event of a QP that one thread destroys and another one acknowledges. */
static sem_t waiting, acknowledged;
static bool in_time;

static void wait_for_acknowledgement(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE;
	sem_post(&waiting);
	in_time = !sem_timedwait(&acknowledged, &end);
}

static void *destroyer(void *qp)
{
	return (void *)(intptr_t)virtio_roce_destroy_qp(qp);
}

static void destroy_waits_for_nobody_from_threads(void **state)
{
	struct virtio_roce_cq *cq = make_cq(), *other = make_cq();
	pthread_t thread;
	void *err;

	sem_init(&waiting, 0, 0);
	sem_init(&acknowledged, 0, 0);
	old_qp = make_qp_on(cq, IBV_QPT_RC);
	fake.at_destroy = wait_for_acknowledgement;
	assert_int_equal(pthread_create(&thread, NULL, destroyer, &old_qp->vqp.qp), 0);
	sem_wait(&waiting);

	drop_qp(make_qp_on(other, IBV_QPT_RC));
	drop_cq(other);
	sem_post(&acknowledged);
	assert_int_equal(pthread_join(thread, &err), 0);
	assert_null(err);
	assert_true(in_time);
	drop_cq(cq);
	sem_destroy(&waiting);
	sem_destroy(&acknowledged);
}

int run_destroy_tests(void)
{
	const struct CMUnitTest tests[] = {
		TEST(destroy_qp_waits),
		TEST_DIRECT(destroy_qp_waits),
		TEST(destroy_qp_with_rule),
		TEST_DIRECT(destroy_qp_with_rule),
		TEST(destroy_qp_in_group_waits),
		TEST_DIRECT(destroy_qp_in_group_waits),
		TEST_DIRECT(destroy_srq_waits),
		TEST_DIRECT(destroy_waits_for_nobody_from_threads),
	};

	return cmocka_run_group_tests_name("destroy", tests, NULL, NULL);
}
