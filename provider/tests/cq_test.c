// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polling: how completions that the device writes reach the application.
 */
#include <errno.h>
#include <sched.h>

#include <ccan/array_size.h>

#include "util.h"

static struct ibv_moderate_cq moderated;

/* A function of libibverbs that the provider calls. */
int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr,
		      struct ibv_modify_cq *cmd, size_t cmd_size)
{
	if (fake.fail)
		return fake.fail;
	assert_int_equal(attr->attr_mask, IBV_CQ_ATTR_MODERATE);
	moderated = attr->moderate;
	return 0;
}

static int poll_cq(struct virtio_roce_cq *cq, int n, struct ibv_wc *wc)
{
	return virtio_roce_poll_cq(&cq->vcq.cq, n, wc);
}

static struct ibv_wc poll_one(struct virtio_roce_cq *cq)
{
	struct ibv_wc wc;

	memset(&wc, 0xff, sizeof(wc));
	assert_int_equal(poll_cq(cq, 1, &wc), 1);
	return wc;
}

static void is_empty_at_first(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wc wc;

	assert_int_equal(poll_cq(cq, 1, &wc), 0);
	assert_int_equal(poll_cq(cq, 0, &wc), 0);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);
	drop_cq(cq);
}

static void translates_completion(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct virtio_rdma_cq_req *cqe = fake_complete_begin();
	struct ibv_wc wc;

	cqe->wr_id = htole64(0x0123456789abcdef);
	cqe->opcode = VIRTIO_IB_WC_RECV;
	cqe->vendor_err = htole32(0x11223344);
	cqe->byte_len = htole32(0x55667788);
	memcpy(&cqe->imm_data, "\xca\xfe\xba\xbe", 4);
	cqe->qp_num = htole32(0x123456);
	cqe->src_qp = htole32(0x654321);
	cqe->wc_flags = htole32(VIRTIO_IB_WC_WITH_IMM);
	fake_complete_end();

	wc = poll_one(cq);
	assert_int_equal(wc.wr_id, 0x0123456789abcdef);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.vendor_err, 0x11223344);
	assert_int_equal(wc.byte_len, 0x55667788);
	assert_int_equal(wc.imm_data, htobe32(0xcafebabe));
	assert_int_equal(wc.qp_num, 0x123456);
	assert_int_equal(wc.src_qp, 0x654321);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.pkey_index, 0);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, 0);
	assert_int_equal(wc.dlid_path_bits, 0);
	drop_cq(cq);
}

static const enum ibv_wc_status statuses[] = {
	IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR,
	IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_BAD_RESP_ERR,
	IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,
	IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR,
	IBV_WC_REM_ABORT_ERR, IBV_WC_FATAL_ERR, IBV_WC_RESP_TIMEOUT_ERR,
	IBV_WC_GENERAL_ERR, IBV_WC_MW_BIND_ERR,
};

/* By number on the wire; -1 for those that processes do not get. */
static const int opcodes[] = {
	IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ, IBV_WC_RECV,
	IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,
	IBV_WC_LOCAL_INV, -1, IBV_WC_FLUSH, IBV_WC_ATOMIC_WRITE, IBV_WC_BIND_MW,
	IBV_WC_TSO,
};

static struct ibv_wc poll_status(struct virtio_roce_cq *cq, uint8_t status,
				 uint8_t opcode)
{
	struct virtio_rdma_cq_req *cqe = fake_complete_begin();

	cqe->status = status;
	cqe->opcode = opcode;
	fake_complete_end();
	return poll_one(cq);
}

static void knows_each_status(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	unsigned int i;

	for (i = 0; i < 256; i++)
		assert_int_equal(poll_status(cq, i, VIRTIO_IB_WC_SEND).status,
				 i < ARRAY_SIZE(statuses) ? statuses[i] :
							    IBV_WC_GENERAL_ERR);
	drop_cq(cq);
}

static void knows_each_opcode(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < 256; i++) {
		wc = poll_status(cq, VIRTIO_IB_WC_SUCCESS, i);
		if (i < ARRAY_SIZE(opcodes) && opcodes[i] >= 0) {
			assert_int_equal(wc.opcode, opcodes[i]);
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
		} else {
			assert_int_equal(wc.status, IBV_WC_GENERAL_ERR);
		}
		/* An error keeps its status, whatever the opcode is. */
		wc = poll_status(cq, VIRTIO_IB_WC_WR_FLUSH_ERR, i);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	}
	drop_cq(cq);
}

static void translates_flags(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct virtio_rdma_cq_req *cqe;
	unsigned int i, expect;
	struct ibv_wc wc;

	for (i = 0; i < 32; i++) {
		cqe = fake_complete_begin();
		cqe->wc_flags = htole32(1U << i);
		cqe->invalidate_rkey = htole32(0x503);
		fake_complete_end();
		expect = i == 0 ? IBV_WC_GRH : i == 1 ? IBV_WC_WITH_IMM :
			 i == 2 ? IBV_WC_WITH_INV : i == 6 ? IBV_WC_IP_CSUM_OK : 0;
		wc = poll_one(cq);
		assert_int_equal(wc.wc_flags, expect);
		assert_int_equal(wc.invalidated_rkey, 0x503);
		/* The network header of a datagram: 2 is IPv4, 1 is IPv6. */
		assert_int_equal(wc.sl, i == 4 ? 2 : i == 5 ? 1 : 0);
	}
	drop_cq(cq);
}

static void gives_slots_back(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wc wc[16];
	unsigned int i;

	for (i = 0; i < 5; i++)
		fake_complete(i, TEST_QPN);
	assert_int_equal(fake_pending(&fake.cq), 3);

	/* no more than asked for, in order */
	assert_int_equal(poll_cq(cq, 2, wc), 2);
	assert_int_equal(fake_pending(&fake.cq), 5);
	assert_int_equal(poll_cq(cq, 16, wc + 2), 3);
	assert_int_equal(fake_pending(&fake.cq), 8);
	assert_int_equal(poll_cq(cq, 16, wc), 0);
	for (i = 0; i < 5; i++)
		assert_int_equal(wc[i].wr_id, i);
	drop_cq(cq);
}

static void wraps(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wc wc[8];
	uint64_t posted = 0, polled = 0;
	unsigned int i;
	int n, j;

	while (polled < 2 * 65536 + 7) {
		for (i = 0; i <= posted % 8 && fake_pending(&fake.cq); i++)
			fake_complete(posted++, TEST_QPN);
		n = poll_cq(cq, 5, wc);
		assert_in_range(n, 1, 5);
		for (j = 0; j < n; j++)
			assert_int_equal(wc[j].wr_id, polled++);
	}
	drop_cq(cq);
}

static void takes_slots_in_any_order(void **state)
{
	static const uint32_t order[] = { 3, 0, 2, 1 };
	struct virtio_rdma_cq_req *cqes;
	struct virtio_roce_cq *cq = make_cq();
	unsigned int i;

	cqes = (void *)fake.cq.slots;
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		fake_take(&fake.cq);
		cqes[i].wr_id = htole64(i);
	}
	for (i = 0; i < ARRAY_SIZE(order); i++)
		fake_use(&fake.cq, order[i]);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		assert_int_equal(poll_one(cq).wr_id, order[i]);

	/* They come back in the order in which they were filled. */
	for (i = 4; i < fake.depth; i++)
		fake_take(&fake.cq);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		assert_ptr_equal(fake_take(&fake.cq), &cqes[order[i]]);
	drop_cq(cq);
}

static void breaks_at_bad_slot(void **state)
{
	static const uint32_t bad[] = { 8, 15, 16, 0x10000, 0xffffffff };
	struct virtio_roce_cq *cq;
	struct ibv_wc wc[4];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		cq = make_cq();
		fake_complete(1, TEST_QPN);
		fake_use(&fake.cq, bad[i]);
		/* The completion before it is still good. */
		assert_int_equal(poll_cq(cq, 4, wc), 1);
		assert_int_equal(wc[0].wr_id, 1);
		assert_int_equal(poll_cq(cq, 4, wc), -EIO);
		assert_int_equal(poll_cq(cq, 4, wc), -EIO);
		drop_cq(cq);
	}
}

static void breaks_at_bad_used_index(void **state)
{
	static const uint16_t bad[] = { 9, 16, 0x8000, 0xffff };
	struct ibv_poll_cq_attr attr = {};
	struct virtio_roce_cq *cq;
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		cq = make_cq();
		fake.cq.used->idx = to_virtio16(bad[i]);
		assert_int_equal(poll_cq(cq, 1, &wc), -EIO);
		assert_int_equal(ibv_start_poll(&cq->vcq.cq_ex, &attr), EIO);
		virtio_roce_cq_drop_qp(cq, TEST_QPN, NULL);
		drop_cq(cq);
	}
}

/*
 * A dead device has no completions, whatever can be read where they were: when its memory
 * is taken away that is zero.
 */
static void ends_with_device(void **state)
{
	struct ibv_poll_cq_attr attr = {};
	struct virtio_roce_cq *cq;
	struct ibv_wc wc[4];

	fake.flags |= VIRTIO_ROCE_QUEUE_ALIVE;
	cq = make_cq();
	assert_int_equal(poll_cq(cq, 4, wc), 0);
	fake_complete(1, TEST_QPN);
	assert_int_equal(poll_one(cq).wr_id, 1);
	assert_int_equal(poll_cq(cq, 4, wc), 0);
	fake_complete(2, TEST_QPN);
	fake_complete(3, TEST_QPN);
	assert_int_equal(poll_cq(cq, 1, wc), 1);
	/* The third has been seen in the ring, and not been read. */
	*fake_alive(&fake.cq) = 0;
	assert_int_equal(poll_cq(cq, 4, wc), -EIO);
	assert_int_equal(ibv_start_poll(&cq->vcq.cq_ex, &attr), EIO);
	drop_cq(cq);

	/* One that nothing was ever posted to. */
	cq = make_cq();
	*fake_alive(&fake.cq) = 0;
	assert_int_equal(poll_cq(cq, 4, wc), -EIO);
	drop_cq(cq);
}

static void forgets_destroyed_qp(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_wc wc[8];
	unsigned int i;

	fake_complete(1, 99);
	fake_complete(2, TEST_QPN);
	fake_complete(3, TEST_QPN);
	fake_complete(4, 99);
	fake_complete(5, TEST_QPN);
	assert_int_equal(poll_cq(cq, 1, wc), 1);
	drop_qp(qp);

	/* A new QP has the number: this completion counts. */
	fake_complete(6, TEST_QPN);
	assert_int_equal(poll_cq(cq, 8, wc), 2);
	assert_int_equal(wc[0].wr_id, 4);
	assert_int_equal(wc[1].wr_id, 6);
	assert_int_equal(cq->num_stale, 0);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);

	/* Slots that were skipped are used like others. */
	for (i = 0; i < 7; i++)
		fake_complete(i, TEST_QPN);
	fake_complete(7, 88);
	virtio_roce_cq_drop_qp(cq, 88, NULL);
	assert_int_equal(poll_cq(cq, 8, wc), 7);
	for (i = 0; i < 7; i++)
		assert_int_equal(wc[i].wr_id, i);
	assert_int_equal(poll_cq(cq, 8, wc), 0);
	drop_cq(cq);
}

static void gives_back_slots_of_destroyed_qp(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc;

	fake_complete(1, TEST_QPN);
	fake_complete(2, TEST_QPN);
	drop_qp(qp);
	virtio_roce_cq_drop_qp(cq, TEST_QPN, NULL);
	assert_int_equal(cq->num_stale, 2);
	assert_int_equal(poll_cq(cq, 1, &wc), 0);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);

	qp = make_qp_on(cq, IBV_QPT_RC);
	fake_complete(3, TEST_QPN);
	drop_qp(qp);
	assert_int_equal(ibv_start_poll(&cq->vcq.cq_ex, &attr), ENOENT);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);
	drop_cq(cq);
}

static void forgets_reset_qp(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc;

	fake_complete(1, TEST_QPN);
	assert_int_equal(virtio_roce_modify_qp(&qp->vqp.qp, &attr,
					       IBV_QP_STATE), 0);
	assert_int_equal(cq->num_stale, 0);

	attr.qp_state = IBV_QPS_RESET;
	fake.fail = EINVAL;
	assert_int_equal(virtio_roce_modify_qp(&qp->vqp.qp, &attr,
					       IBV_QP_STATE), EINVAL);
	assert_int_equal(cq->num_stale, 0);
	fake.fail = 0;

	/* This does not change the state. */
	assert_int_equal(virtio_roce_modify_qp(&qp->vqp.qp, &attr,
					       IBV_QP_MIN_RNR_TIMER), 0);
	assert_int_equal(cq->num_stale, 0);

	assert_int_equal(virtio_roce_modify_qp(&qp->vqp.qp, &attr,
					       IBV_QP_STATE), 0);
	assert_int_equal(poll_cq(cq, 1, &wc), 0);
	drop_qp_and_cq(qp);
}

static void polls_step_by_step(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {}, bad_attr = { .comp_mask = 1 };
	struct virtio_rdma_cq_req *cqe;

	assert_int_equal(ibv_start_poll(ex, &bad_attr), EINVAL);
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);

	cqe = fake_complete_begin();
	cqe->wr_id = htole64(1);
	cqe->opcode = VIRTIO_IB_WC_RECV_RDMA_WITH_IMM;
	cqe->vendor_err = htole32(2);
	cqe->byte_len = htole32(3);
	cqe->imm_data = 4;
	cqe->qp_num = htole32(5);
	cqe->src_qp = htole32(6);
	cqe->wc_flags = htole32(VIRTIO_IB_WC_WITH_IMM | VIRTIO_IB_WC_GRH |
				VIRTIO_IB_WC_IPV4);
	fake_complete_end();
	fake_complete(2, TEST_QPN);

	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 1);
	assert_int_equal(ex->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(ibv_wc_read_vendor_err(ex), 2);
	assert_int_equal(ibv_wc_read_byte_len(ex), 3);
	assert_int_equal(ibv_wc_read_imm_data(ex), 4);
	assert_int_equal(ibv_wc_read_qp_num(ex), 5);
	assert_int_equal(ibv_wc_read_src_qp(ex), 6);
	assert_int_equal(ibv_wc_read_wc_flags(ex),
			 IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_int_equal(ibv_wc_read_slid(ex), 0);
	assert_int_equal(ibv_wc_read_sl(ex), 2);
	assert_int_equal(ibv_wc_read_dlid_path_bits(ex), 0);

	/* Slots are given back together, when all is read. */
	assert_int_equal(fake_pending(&fake.cq), fake.depth - 2);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(ex->wr_id, 2);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	fake_complete(3, TEST_QPN);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(ex->wr_id, 3);
	ibv_end_poll(ex);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);

	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	fake_complete(4, TEST_QPN);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);

	fake_use(&fake.cq, 1000);
	assert_int_equal(ibv_start_poll(ex, &attr), EIO);
	drop_cq(cq);
}

/* A slot is read once: what the device writes to it later has no effect. */
static void reads_a_slot_once(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};
	struct virtio_rdma_cq_req *cqe;

	cqe = fake_complete_begin();
	cqe->opcode = VIRTIO_IB_WC_RDMA_READ;
	cqe->byte_len = htole32(3);
	cqe->qp_num = htole32(TEST_QPN);
	fake_complete_end();
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	memset(cqe, 0xff, sizeof(*cqe));
	assert_int_equal(ex->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RDMA_READ);
	assert_int_equal(ibv_wc_read_byte_len(ex), 3);
	assert_int_equal(ibv_wc_read_qp_num(ex), TEST_QPN);
	assert_int_equal(ibv_wc_read_wc_flags(ex), 0);
	ibv_end_poll(ex);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);
	drop_cq(cq);
}

static void resizes(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_wc wc[2];

	fake_complete(1, TEST_QPN);
	assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, 100), 0);
	assert_int_equal(cq->vcq.cq.cqe, 200);
	fake.fail = EINVAL;
	assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, 1000), EINVAL);
	assert_int_equal(cq->vcq.cq.cqe, 200);
	fake.fail = 0;
	fake_complete(2, TEST_QPN);
	assert_int_equal(poll_cq(cq, 2, wc), 2);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);
	drop_cq(cq);
}

static void is_moderated(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 7, .cq_period = 500 },
	};

	assert_int_equal(virtio_roce_modify_cq(&cq->vcq.cq, &attr), 0);
	assert_int_equal(moderated.cq_count, 7);
	assert_int_equal(moderated.cq_period, 500);
	fake.fail = EOPNOTSUPP;
	assert_int_equal(virtio_roce_modify_cq(&cq->vcq.cq, &attr), EOPNOTSUPP);
	fake.fail = 0;
	drop_cq(cq);
}

/* Two threads poll, each in its own way, while the device fills slots. */

#define POLLERS		2
#define COMPLETIONS	100000

struct poller {
	struct virtio_roce_cq *cq;
	bool step_by_step;
	uint64_t *polled;
};

static int poll_list(struct virtio_roce_cq *cq, uint64_t *wr_ids)
{
	struct ibv_wc wc[3];
	int n, i;

	n = poll_cq(cq, ARRAY_SIZE(wc), wc);
	for (i = 0; i < n; i++)
		wr_ids[i] = wc[i].wr_id;
	return n;
}

static int poll_step_by_step(struct virtio_roce_cq *cq, uint64_t *wr_ids)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};
	int n = 0;
	int err;

	err = ibv_start_poll(ex, &attr);
	if (err)
		return err == ENOENT ? 0 : -err;
	do
		wr_ids[n++] = ex->wr_id;
	while (n < 3 && !ibv_next_poll(ex));
	ibv_end_poll(ex);
	return n;
}

/* Each thread sees later and later completions; together they see each once. */
static void *poller(void *arg)
{
	struct poller *p = arg;
	uint64_t wr_ids[3];
	uint64_t next = 0;
	int n, i;

	while (__atomic_load_n(p->polled, __ATOMIC_RELAXED) < COMPLETIONS) {
		n = p->step_by_step ? poll_step_by_step(p->cq, wr_ids) :
				      poll_list(p->cq, wr_ids);
		if (n < 0)
			return arg;
		if (!n)
			sched_yield();
		for (i = 0; i < n; i++) {
			if (wr_ids[i] < next)
				return arg;
			next = wr_ids[i] + 1;
		}
		__atomic_fetch_add(p->polled, n, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void polls_from_threads(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	uint64_t polled = 0, done = 0;
	struct poller pollers[POLLERS] = {
		{ .cq = cq, .polled = &polled },
		{ .cq = cq, .polled = &polled, .step_by_step = true },
	};
	pthread_t threads[POLLERS];
	void *err;
	int i;

	fake_share_mappings(&fake.cq, &cq->vq);
	for (i = 0; i < POLLERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poller,
						&pollers[i]), 0);
	while (done < COMPLETIONS) {
		if (fake_pending(&fake.cq))
			fake_complete(done++, TEST_QPN);
		else
			sched_yield();
	}
	for (i = 0; i < POLLERS; i++) {
		assert_int_equal(pthread_join(threads[i], &err), 0);
		assert_null(err);
	}
	assert_int_equal(polled, COMPLETIONS);
	assert_int_equal(fake_pending(&fake.cq), fake.depth);
	drop_cq(cq);
}

static const struct CMUnitTest tests[] = {
	TEST(is_empty_at_first),
	TEST(translates_completion),
	TEST(knows_each_status),
	TEST(knows_each_opcode),
	TEST(translates_flags),
	TEST(gives_slots_back),
	TEST(wraps),
	TEST(takes_slots_in_any_order),
	TEST(breaks_at_bad_slot),
	TEST(breaks_at_bad_used_index),
	TEST(ends_with_device),
	TEST(forgets_destroyed_qp),
	TEST(gives_back_slots_of_destroyed_qp),
	TEST(forgets_reset_qp),
	TEST(polls_step_by_step),
	TEST(reads_a_slot_once),
	TEST(resizes),
	TEST(is_moderated),
	TEST(polls_from_threads),
};

int run_cq_tests(void)
{
	return cmocka_run_group_tests_name("completions", tests, NULL, NULL);
}
