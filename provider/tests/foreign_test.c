// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device that names, in one CQ, a work queue that completes to another one: the
 * completion is dropped, and nothing of that queue is touched, which another thread may be
 * destroying.
 */
#include <pthread.h>

#include <ccan/array_size.h>

#include "util.h"

/**
 * struct fixture - two CQs, the second of which the device adds completions to
 * @first: CQ
 * @second: CQ
 * @srq: SRQ of a QP
 * @done: tells the other thread to end
 * @rounds: counts what it does
 */
struct fixture {
	struct virtio_roce_cq *first;
	struct virtio_roce_cq *second;
	struct virtio_roce_srq *srq;
	bool done;
	unsigned int rounds;
};

static struct fixture set_up(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct fixture f = {};

	f.first = make_cq();
	f.second = make_cq();
	f.srq = to_vsrq(virtio_roce_create_srq(&fake.pd, &attr));
	return f;
}

static void tear_down(struct fixture *f)
{
	assert_int_equal(virtio_roce_destroy_srq(&f->srq->vsrq.srq), 0);
	drop_cq(f->first);
	drop_cq(f->second);
	assert_int_equal(fake.qps + fake.cqs, 0);
}

static struct virtio_roce_qp *make_between(struct virtio_roce_cq *send,
					   struct virtio_roce_cq *recv,
					   struct virtio_roce_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = &send->vcq.cq,
		.recv_cq = &recv->vcq.cq,
		.srq = srq ? &srq->vsrq.srq : NULL,
		.cap = { .max_send_wr = 5, .max_send_sge = 1, .max_recv_wr = 5,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = virtio_roce_create_qp(&fake.pd, &attr);

	assert_non_null(qp);
	qp->state = IBV_QPS_RTS;
	return to_vqp(qp);
}

/* A request of the queue, with wr_id 5. */
static void post(struct virtio_roce_qp *qp, bool recv)
{
	struct ibv_send_wr *bad_send, send = { .wr_id = 5, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad_recv, wr = { .wr_id = 5 };

	if (!recv)
		assert_int_equal(virtio_roce_post_send(&qp->vqp.qp, &send, &bad_send), 0);
	else if (qp->srq)
		assert_int_equal(virtio_roce_post_srq_recv(&qp->srq->vsrq.srq, &wr,
							   &bad_recv), 0);
	else
		assert_int_equal(virtio_roce_post_recv(&qp->vqp.qp, &wr, &bad_recv), 0);
}

static void complete(bool recv)
{
	const struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(fake.qpn),
		.opcode = recv ? VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV :
				 VIRTIO_IB_WC_SEND,
	};

	fake_direct_complete(&cqe);
}

/* Which queue of a QP completes to which CQ, and what the device says in the second one. */
static const struct {
	bool send_to_second;
	bool recv_to_second;
	bool shared;
	bool recv;
	bool is_taken;
} cases[] = {
	{ false, false, false, false, false },
	{ false, false, false, true,  false },
	{ false, true,  false, false, false },
	{ false, true,  false, true,  true },
	{ true,  false, false, false, true },
	{ true,  false, false, true,  false },
	{ true,  true,  false, false, true },
	{ true,  true,  false, true,  true },
	{ false, false, true,  true,  false },
	{ true,  false, true,  true,  false },
	{ false, true,  true,  true,  true },
	{ false, true,  true,  false, false },
};

static void run_case(struct fixture *f, unsigned int i)
{
	struct virtio_roce_srq *srqs[] = { NULL, f->srq };
	struct virtio_roce_cq *cqs[] = { f->first, f->second };
	struct virtio_roce_qp *qp = make_between(cqs[cases[i].send_to_second],
						 cqs[cases[i].recv_to_second],
						 srqs[cases[i].shared]);
	const struct virtio_roce_vq *vq = &qp->sq;
	uint32_t num_free = f->srq->num_free;
	bool taken = cases[i].is_taken;
	struct ibv_wc wc;

	if (cases[i].recv)
		vq = &qp->rq;
	post(qp, cases[i].recv);
	complete(cases[i].recv);
	assert_int_equal(virtio_roce_poll_cq(&f->second->vcq.cq, 1, &wc), taken);
	if (taken)
		assert_int_equal(wc.wr_id, 5);
	/* The request is as it was if the completion was dropped. */
	if (cases[i].shared && cases[i].recv)
		assert_int_equal(f->srq->num_free, num_free - !taken);
	else
		assert_int_equal(vq->ring.seen, taken);
	drop_qp(qp);
	/* The cookie of a request that nobody completed is free again. */
	f->srq->num_free = num_free;
}

static void foreign_is_dropped(void **state)
{
	struct fixture f = set_up();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		run_case(&f, i);
	tear_down(&f);
}

/* The same holds for one from before the QP is destroyed, and for one from afterwards. */
static void foreign_of_destroyed_qp(void **state)
{
	struct fixture f = set_up();
	struct virtio_roce_qp *qp = make_between(f.first, f.first, f.srq);
	uint32_t num_free = f.srq->num_free;
	struct ibv_wc wc;

	post(qp, true);
	complete(true);
	complete(false);
	drop_qp(qp);
	complete(true);
	complete(false);
	assert_int_equal(virtio_roce_poll_cq(&f.second->vcq.cq, 1, &wc), 0);
	assert_int_equal(f.srq->num_free, num_free - 1);
	f.srq->num_free = num_free;
	tear_down(&f);
}

/* A CQ of many QPs has more buckets, and finds each; numbers that it has not, it drops. */
static void many_qps_of_one_cq(void **state)
{
	const unsigned int num = 50, step = 0x40001;
	struct fixture f = set_up();
	struct virtio_roce_qp *qps[50];
	unsigned int i;
	struct ibv_wc wc;

	for (i = 0; i < num; i++) {
		fake.qpn = i * step;
		qps[i] = make_between(f.second, f.second, NULL);
		post(qps[i], i % 2);
	}
	assert_in_range(f.second->wqs_mask, 2 * num / 2, 4 * num);
	for (i = 0; i < num; i += 3) {
		drop_qp(qps[i]);
		qps[i] = NULL;
	}
	for (i = 0; i < num; i++) {
		fake.qpn = i * step;
		complete(i % 2);
		assert_int_equal(virtio_roce_poll_cq(&f.second->vcq.cq, 1, &wc), !!qps[i]);
		if (qps[i])
			assert_int_equal(wc.qp_num, i * step);
		fake.qpn = (i * step) | 0x80000000;
		complete(true);
		assert_int_equal(virtio_roce_poll_cq(&f.second->vcq.cq, 1, &wc), 0);
	}
	for (i = 0; i < num; i++)
		if (qps[i])
			drop_qp(qps[i]);
	assert_int_equal(f.second->num_wqs, 0);
	tear_down(&f);
}

/* The device names a QP all the time in a CQ that does not wait for its end. */
static void *polls_second(void *arg)
{
	struct fixture *f = arg;
	bool recv = false;
	void *err = NULL;
	struct ibv_wc wc;

	while (!__atomic_load_n(&f->done, __ATOMIC_ACQUIRE)) {
		complete(recv);
		if (virtio_roce_poll_cq(&f->second->vcq.cq, 1, &wc))
			err = arg;
		recv = !recv;
		__atomic_fetch_add(&f->rounds, 1, __ATOMIC_RELAXED);
	}
	return err;
}

/* It may not have had a processor. */
static void wait_for_round(const struct fixture *f)
{
	unsigned int n = __atomic_load_n(&f->rounds, __ATOMIC_RELAXED);

	while (__atomic_load_n(&f->rounds, __ATOMIC_RELAXED) == n)
		sched_yield();
}

static void foreign_qps_come_and_go_from_threads(void **state)
{
	struct fixture f = set_up();
	struct virtio_roce_qp *qp = make_between(f.first, f.first, NULL);
	size_t mem_used = fake.mem_used;
	pthread_t thread;
	unsigned int i;
	void *err;

	drop_qp(qp);
	assert_int_equal(pthread_create(&thread, NULL, polls_second, &f), 0);
	for (i = 0; i < 3000; i++) {
		qp = make_between(f.first, f.first, i % 2 ? f.srq : NULL);
		drop_qp(qp);
		fake.mem_used = mem_used;
		if (i % 100 == 0)
			wait_for_round(&f);
	}
	__atomic_store_n(&f.done, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, &err), 0);
	assert_null(err);
	tear_down(&f);
}

int run_foreign_tests(void)
{
	const struct CMUnitTest tests[] = {
		TEST_DIRECT(foreign_is_dropped),
		TEST_DIRECT(foreign_of_destroyed_qp),
		TEST_DIRECT(many_qps_of_one_cq),
		TEST_DIRECT(foreign_qps_come_and_go_from_threads),
	};

	return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
