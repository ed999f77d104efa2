// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polling a CQ in direct form: plain completions among those that are not, many times
 * through the ring, in each of the ways that an application has.
 */
#include <errno.h>
#include <stdlib.h>

#include <ccan/array_size.h>

#include "util.h"

/* A completion as the application is to get it.  Those without @there are dropped. */
struct expected {
	bool there;
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t byte_len;
	uint32_t vendor_err;
	__be32 imm_data;
};

static uint32_t sent, received, made;

static void post_one(struct virtio_roce_qp *qp, bool recv)
{
	struct ibv_sge sge = { .addr = 0x1000, .length = 10, .lkey = 7 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1000 + sent,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_recv_wr *bad_recv, recv_wr = {
		.wr_id = 5000 + received,
		.sg_list = &sge,
		.num_sge = 1,
	};

	if (recv)
		assert_int_equal(virtio_roce_post_recv(&qp->vqp.qp, &recv_wr, &bad_recv), 0);
	else
		assert_int_equal(virtio_roce_post_send(&qp->vqp.qp, &wr, &bad), 0);
}

/* Posts a request and completes it, in the way that @kind says. */
static struct expected make_one(struct virtio_roce_qp *qp, unsigned int kind)
{
	const bool recv = kind & 1;
	const uint32_t number = ++made;
	struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(TEST_QPN),
		.src_qp = htole32(number + 1),
		.byte_len = htole32(number),
		.opcode = recv ? VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV :
				 VIRTIO_IB_WC_SEND,
	};
	struct expected e = {
		.there = true,
		.status = IBV_WC_SUCCESS,
		.opcode = recv ? IBV_WC_RECV : IBV_WC_SEND,
		.byte_len = number,
	};

	if (kind >> 1 == 4) {
		/* Of a QP that there is not. */
		cqe.qp_num = htole32(TEST_QPN + 64);
		fake_direct_complete(&cqe);
		return (struct expected){};
	}
	post_one(qp, recv);
	cqe.wqe = htole32(recv ? received : sent);
	e.wr_id = recv ? 5000 + received++ : 1000 + sent++;
	switch (kind >> 1) {
	case 1:
		cqe.wc_flags = htole16(VIRTIO_IB_WC_WITH_IMM);
		cqe.imm_data = htobe32(number);
		e.imm_data = htobe32(number);
		e.flags = IBV_WC_WITH_IMM;
		break;
	case 2:
		cqe.status = VIRTIO_IB_WC_REM_ACCESS_ERR;
		cqe.vendor_err = htole32(77);
		e.status = IBV_WC_REM_ACCESS_ERR;
		e.vendor_err = 77;
		break;
	case 3:
		/* An opcode that there is not. */
		cqe.opcode = (recv ? VIRTIO_RDMA_CQE_RECV : 0) | (number % 2 ? 14 : 33);
		e.status = IBV_WC_GENERAL_ERR;
		break;
	}
	fake_direct_complete(&cqe);
	return e;
}

static void check(const struct expected *e, const struct ibv_wc *wc)
{
	assert_true(e->there);
	assert_int_equal(wc->wr_id, e->wr_id);
	assert_int_equal(wc->status, e->status);
	assert_int_equal(wc->vendor_err, e->vendor_err);
	assert_int_equal(wc->byte_len, e->byte_len);
	assert_int_equal(wc->qp_num, TEST_QPN);
	assert_int_equal(wc->src_qp, e->byte_len + 1);
	assert_int_equal(wc->wc_flags, e->flags);
	if (e->flags & IBV_WC_WITH_IMM)
		assert_int_equal(wc->imm_data, e->imm_data);
	if (e->status == IBV_WC_SUCCESS)
		assert_int_equal(wc->opcode, e->opcode);
}

/* As ibv_poll_cq(), by start_poll(), next_poll() and end_poll(). */
static int poll_ex(struct ibv_cq_ex *ex, int n, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = {};
	int i, err = ibv_start_poll(ex, &attr);

	if (err == ENOENT)
		return 0;
	for (i = 0; !err;) {
		wc[i] = (struct ibv_wc){
			.wr_id = ex->wr_id,
			.status = ex->status,
			.opcode = ibv_wc_read_opcode(ex),
			.vendor_err = ibv_wc_read_vendor_err(ex),
			.byte_len = ibv_wc_read_byte_len(ex),
			.imm_data = ibv_wc_read_imm_data(ex),
			.qp_num = ibv_wc_read_qp_num(ex),
			.src_qp = ibv_wc_read_src_qp(ex),
			.wc_flags = ibv_wc_read_wc_flags(ex),
		};
		err = ++i < n ? ibv_next_poll(ex) : ENOENT;
	}
	assert_int_equal(err, ENOENT);
	ibv_end_poll(ex);
	return i;
}

static int poll_either(struct virtio_roce_cq *cq, bool ex, int n, struct ibv_wc *wc)
{
	return ex ? poll_ex(&cq->vcq.cq_ex, n, wc) : virtio_roce_poll_cq(&cq->vcq.cq, n, wc);
}

/* Up to four at a time, so that batches end at each place of the ring. */
static void rounds(struct virtio_roce_qp *qp, unsigned int count)
{
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	unsigned int round, i, n, next;
	struct expected e[4];
	struct ibv_wc wc[4];
	int got, k;

	for (round = 0; round < count; round++) {
		n = 1 + rand() % 4;
		for (i = 0; i < n; i++)
			/* Half of them are plain. */
			e[i] = make_one(qp, rand() % 2 ? rand() % 2 : rand() % 10);
		next = 0;
		do {
			got = poll_either(cq, rand() % 2, 1 + rand() % 4, wc);
			assert_true(got >= 0);
			for (k = 0; k < got; k++) {
				while (next < n && !e[next].there)
					next++;
				assert_true(next < n);
				check(&e[next++], &wc[k]);
			}
		} while (got);
		while (next < n && !e[next].there)
			next++;
		assert_int_equal(next, n);
	}
}

static void poll_mixed(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);

	srand(1);
	sent = 0;
	received = 0;
	rounds(qp, 2000);
	drop_all(qp);
}

/* The QP that the last completion was of is gone; another one has its number. */
static void poll_other_qp(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_wc wc;
	unsigned int i;

	srand(2);
	for (i = 0; i < 20; i++) {
		sent = 0;
		received = 0;
		rounds(qp, 10);
		/* One of the old QP is unread, which nobody gets. */
		make_one(qp, i % 2);
		drop_qp(qp);
		if (i % 3)
			assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 1, &wc), 0);
		qp = make_qp_on(cq, IBV_QPT_RC);
	}
	drop_all(qp);
}

/* A ring that the device fills without end with what is dropped does not hold a poll. */
static void poll_dropped(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_wc wc[4];
	uint32_t i;

	sent = 0;
	for (i = 0; i < cq->vq.ring.depth; i++)
		make_one(qp, 8);
	assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 4, wc), 0);
	assert_int_equal(le32toh(fake.cq_control->consumer), cq->vq.ring.depth);
	/* Nothing was asked for. */
	make_one(qp, 0);
	assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 0, wc), 0);
	assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 4, wc), 1);
	drop_all(qp);
}

/* The device had this time when it completed what is polled now. */
static void expect_time(struct ibv_cq_ex *ex, uint64_t *time)
{
	assert_true(ibv_wc_read_completion_ts(ex) == ++*time);
}

/* All that is there, and its times, one by one or in a batch. */
static uint64_t poll_times(struct ibv_cq_ex *ex, uint64_t time)
{
	struct ibv_poll_cq_attr attr = {};
	int err = ibv_start_poll(ex, &attr);

	if (err)
		return time;
	for (; !err; err = ibv_next_poll(ex))
		expect_time(ex, &time);
	assert_int_equal(err, ENOENT);
	ibv_end_poll(ex);
	return time;
}

static struct virtio_roce_cq *make_timed(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_cq_ex *ex;

	fake.ctx.device_caps |= VIRTIO_IB_DEVICE_CQ_TIMESTAMP;
	ex = virtio_roce_create_cq_ex(fake.pd.context, &attr);
	return ex ? to_vcq_ex(ex) : NULL;
}

/* Each completion has its own time, plain or not, wherever it is in the ring. */
static void poll_timed(void **state)
{
	struct virtio_roce_cq *cq = make_timed();
	struct virtio_roce_qp *qp;
	struct ibv_wc wc[4];
	uint64_t time = 0x7fffffffffff0000;
	unsigned int round, i, n;

	assert_non_null(cq);
	qp = make_qp_on(cq, IBV_QPT_RC);
	srand(3);
	sent = 0;
	received = 0;
	fake.clock = time;
	for (round = 0; round < 1000; round++) {
		n = 1 + rand() % 4;
		for (i = 0; i < n; i++)
			make_one(qp, rand() % 2 ? rand() % 2 : rand() % 8);
		if (round == 500) {
			assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, 100), 0);
			make_one(qp, 0);
		}
		if (rand() % 4) {
			time = poll_times(&cq->vcq.cq_ex, time);
			assert_true(time == fake.clock);
		} else {
			/* The other way of polling does not know times. */
			do
				i = virtio_roce_poll_cq(&cq->vcq.cq, 4, wc);
			while (i);
			time = fake.clock;
		}
	}
	/* One that is dropped has a time, too. */
	make_one(qp, 8);
	make_one(qp, 0);
	time++;
	assert_true(poll_times(&cq->vcq.cq_ex, time) == fake.clock);
	drop_all(qp);
}

static void narrow(struct virtio_roce_queue *info)
{
	info->stride = sizeof(struct virtio_rdma_cqe);
}

/* Only where kernel and device have it; and slots are never read beyond their end. */
static void poll_not_timed(void **state)
{
	struct virtio_roce_cq *cq;

	fake.break_info = narrow;
	assert_null(make_timed());
	assert_int_equal(errno, EPROTO);
	assert_int_equal(fake.cqs, 0);
	fake.break_info = NULL;
	cq = make_timed();
	assert_non_null(cq);
	fake.break_info = narrow;
	assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, 100), EPROTO);
	fake.break_info = NULL;
	assert_int_equal(virtio_roce_destroy_cq(&cq->vcq.cq), 0);
	fake.ctx.features = 0;
	assert_null(make_timed());
	assert_int_equal(errno, EOPNOTSUPP);
}

int run_poll_tests(void)
{
	const struct CMUnitTest tests[] = {
		TEST_DIRECT(poll_mixed),
		TEST_DIRECT(poll_other_qp),
		TEST_DIRECT(poll_dropped),
		TEST_DIRECT(poll_timed),
		TEST_DIRECT(poll_not_timed),
	};

	return cmocka_run_group_tests_name("poll", tests, NULL, NULL);
}
