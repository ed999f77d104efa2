// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues in direct form: requests, doorbells, completions, arming.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <ccan/array_size.h>

#include "util.h"

static int post_write(struct virtio_roce_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = 0x1000 + wr_id, .length = 10, .lkey = 7 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0x11223344),
		.wr.rdma = { .remote_addr = 0x123456789a, .rkey = 9 },
	};

	return virtio_roce_post_send(&qp->vqp.qp, &wr, &bad);
}

static int post_recv(struct virtio_roce_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = 0x2000, .length = 100, .lkey = 8 };
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return virtio_roce_post_recv(&qp->vqp.qp, &wr, &bad);
}

static bool complete(uint32_t qpn, uint32_t index, bool recv)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(qpn),
		.wqe = htole32(index),
		.byte_len = htole32(50),
		.opcode = recv ? VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV :
				 VIRTIO_IB_WC_RDMA_WRITE,
	};

	return fake_direct_complete(&cqe);
}

static int poll_cq(struct virtio_roce_qp *qp, int n, struct ibv_wc *wc)
{
	return virtio_roce_poll_cq(qp->vqp.qp.send_cq, n, wc);
}

/* One cache line for one element. */
static void direct_request(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	const struct virtio_rdma_swqe *swqe = (void *)fake.sq.slots;
	size_t i;

	memset(fake.sq.slots, 0xee, 256);
	assert_int_equal(post_write(qp, 5), 0);
	assert_int_equal(swqe->opcode, VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(swqe->send_flags, VIRTIO_IB_SEND_SIGNALED);
	assert_int_equal(le16toh(swqe->num_sge), 1);
	assert_int_equal(be32toh(swqe->imm_data), 0x11223344);
	assert_int_equal(le64toh(swqe->rdma.remote_addr), 0x123456789a);
	assert_int_equal(le32toh(swqe->rdma.rkey), 9);
	assert_int_equal(le64toh(swqe->sg_list[0].addr), 0x1005);
	assert_int_equal(le32toh(swqe->sg_list[0].length), 10);
	assert_int_equal(le32toh(swqe->sg_list[0].lkey), 7);
	for (i = sizeof(*swqe); i < 256; i++)
		assert_int_equal(fake.sq.slots[i], 0xee);
	assert_int_equal(le32toh(fake.qp_control->send_producer), 1);
	drop_all(qp);
}

static void direct_inline(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	const struct virtio_rdma_swqe *swqe = (void *)fake.sq.slots;
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	char data[100];

	memset(data, 0x5a, sizeof(data));
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_INLINE;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, sizeof(data));
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(swqe->opcode, VIRTIO_IB_WR_SEND);
	assert_int_equal(swqe->send_flags, VIRTIO_IB_SEND_INLINE);
	assert_int_equal(le16toh(swqe->inline_len), 100);
	assert_memory_equal(fake.sq.slots + 32, data, 100);

	/* A request that is taken back was never there. */
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	assert_int_equal(le32toh(fake.qp_control->send_producer), 1);
	drop_all(qp);
}

/* A QP has all the room for inline data that its slots have. */
static void direct_inline_room(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_XRC_SEND };
	static const uint32_t room[] = { 256 - 32, 256 - 48 };
	struct virtio_roce_cq *cq = make_cq();
	char data[256] = "inline";
	struct ibv_sge sge = { .addr = (uintptr_t)data };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};
	struct ibv_qp_init_attr attr;
	struct ibv_qp *qp;
	unsigned int i;

	fake.ctx.device_caps = VIRTIO_IB_DEVICE_XRC;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		attr = (struct ibv_qp_init_attr){
			.send_cq = &cq->vcq.cq,
			.recv_cq = &cq->vcq.cq,
			.cap = { .max_send_wr = 5, .max_send_sge = 1 },
			.qp_type = types[i],
		};
		qp = virtio_roce_create_qp(&fake.pd, &attr);
		assert_non_null(qp);
		qp->state = IBV_QPS_RTS;
		assert_int_equal(attr.cap.max_inline_data, room[i]);
		sge.length = room[i];
		assert_int_equal(virtio_roce_post_send(qp, &wr, &bad), 0);
		assert_memory_equal(fake.sq.slots + 256 - room[i], data, room[i]);
		sge.length = room[i] + 1;
		assert_int_equal(virtio_roce_post_send(qp, &wr, &bad), EINVAL);
		drop_qp(to_vqp(qp));
	}
	drop_cq(cq);
}

/* Posts a request into slot 0 of a new queue, and copies the slot to @slot. */
static int post_into(struct virtio_roce_qp *qp, const struct ibv_send_wr *wr, uint8_t *slot,
		     uint64_t *wr_id)
{
	struct ibv_send_wr *bad, copy = *wr;
	int err;

	/* Old bytes of the slot do not show through. */
	memset(fake.sq.slots, 0xee, 48);
	qp->sq.wr_ids[0] = 0xee;
	qp->sq.ring.next = 0;
	qp->sq.ring.shown = 0;
	fake.qp_control->send_producer = 0;
	err = virtio_roce_post_send(&qp->vqp.qp, &copy, &bad);
	if (err)
		assert_ptr_equal(bad, &copy);
	assert_int_equal(qp->sq.ring.next, !err);
	assert_int_equal(le32toh(fake.qp_control->send_producer), !err);
	memcpy(slot, fake.sq.slots, 256);
	*wr_id = qp->sq.wr_ids[0];
	return err;
}

static uint32_t sges_len(const struct ibv_send_wr *wr)
{
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

/* By the path for common requests and by the other one: what comes of it is the same. */
static bool same_by_both(struct virtio_roce_qp *qp, uint32_t plain_ops,
			 const struct ibv_send_wr *wr)
{
	uint8_t plain[256], other[256];
	uint64_t plain_id, other_id;
	uint32_t len;
	int err;

	qp->plain_ops = plain_ops;
	err = post_into(qp, wr, plain, &plain_id);
	qp->plain_ops = 0;
	assert_int_equal(post_into(qp, wr, other, &other_id), err);
	if (err)
		return false;
	assert_int_equal(plain_id, other_id);
	assert_memory_equal(plain, other, 32);
	len = wr->send_flags & IBV_SEND_INLINE ? sges_len(wr) : 16 * wr->num_sge;
	assert_memory_equal(plain + 32, other + 32, len);
	return wr->opcode < 32 && plain_ops & 1U << wr->opcode;
}

/* Each request, with each combination of flags, elements and lengths. */
static void direct_plain(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	static const uint32_t lengths[] = { 0, 1, 18, 100, 256 - 32, 256 - 31, 512 };
	static uint8_t data[512] = "of the application";
	const unsigned int each = 40 * 64 * 3 * ARRAY_SIZE(lengths);
	struct virtio_roce_ah ah = { .num = 3 };
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)data, .lkey = 7 },
		{ .addr = (uintptr_t)data, .length = 2, .lkey = 8 },
	};
	unsigned int t, i, taken = 0;
	struct virtio_roce_qp *qp;
	struct ibv_send_wr wr;
	uint32_t ops;

	fake.ctx.device_caps = ~0ULL;
	for (t = 0; t < ARRAY_SIZE(types); t++) {
		qp = make_qp(types[t]);
		ops = qp->plain_ops;
		for (i = 0; i < each; i++) {
			wr = (struct ibv_send_wr){
				.wr_id = 0x123456789a,
				.sg_list = sge,
				.num_sge = i % 3,
				.opcode = i / 3 % 40,
				.send_flags = i / 120 % 64,
				.imm_data = htobe32(0x11223344),
				.wr.rdma = { 0xabcdef0123, 9 },
			};
			if (types[t] == IBV_QPT_UD)
				wr.wr.ud.ah = &ah.ah;
			sge[0].length = lengths[i / (120 * 64)];
			taken += same_by_both(qp, ops, &wr);
		}
		drop_all(qp);
	}
	assert_true(taken > 500);
}

/* A bit for a QP with work; the doorbell only if the device asks, and once. */
static void direct_doorbell(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	unsigned int word = fake.bit / 64;

	assert_int_equal(post_write(qp, 1), 0);
	assert_int_equal(le64toh(fake.page->pending[word]),
			 1ULL << fake.bit % 64);
	assert_int_equal(le64toh(fake.page->words[0]), 1ULL << word);
	assert_int_equal(*fake.kick, 0);

	fake.page->ring_me = htole32(1);
	assert_int_equal(post_write(qp, 2), 0);
	/* The bit is still set: the device will look. */
	assert_int_equal(*fake.kick, 0);
	fake.page->pending[word] = 0;
	assert_int_equal(post_write(qp, 3), 0);
	assert_int_equal(*fake.kick, 0x4321);
	assert_int_equal(fake.page->ring_me, 0);
	*fake.kick = 0;
	fake.page->pending[word] = 0;
	assert_int_equal(post_write(qp, 4), 0);
	assert_int_equal(*fake.kick, 0);
	assert_int_equal(fake.send_cmds, 0);
	drop_all(qp);
}

/* Without a register to map, a command rings. */
static void direct_doorbell_command(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);

	qp->sq.doorbell = NULL;
	assert_int_equal(post_write(qp, 1), 0);
	assert_int_equal(fake.send_cmds, 0);
	fake.page->pending[fake.bit / 64] = 0;
	fake.page->ring_me = htole32(1);
	assert_int_equal(post_write(qp, 2), 0);
	assert_int_equal(fake.send_cmds, 1);
	drop_all(qp);
}

static void direct_recv(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	const struct virtio_rdma_rwqe *rwqe = (void *)fake.rq.slots;

	fake.page->ring_me = htole32(1);
	assert_int_equal(post_recv(qp, 1), 0);
	assert_int_equal(le32toh(rwqe->num_sge), 1);
	assert_int_equal(le64toh(rwqe->sg_list[0].addr), 0x2000);
	assert_int_equal(le32toh(fake.qp_control->recv_producer), 1);
	assert_int_equal(fake.page->words[0], 0);
	assert_int_equal(*fake.kick, 0);
	fake.qp_control->recv_wanted = htole32(1);
	assert_int_equal(post_recv(qp, 2), 0);
	assert_int_equal(*fake.kick, 0x4321);
	drop_all(qp);
}

/* wr_ids are the process's own; a completion frees all slots up to it. */
static void direct_poll(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_wc wc[4];
	uint32_t i;

	for (i = 0; i < 100; i++) {
		assert_int_equal(poll_cq(qp, 4, wc), 0);
		assert_int_equal(post_write(qp, 1000 + i), 0);
		assert_int_equal(post_recv(qp, 2000 + i), 0);
		complete(TEST_QPN, i, false);
		complete(TEST_QPN, i, true);
		assert_int_equal(poll_cq(qp, 4, wc), 2);
		assert_int_equal(wc[0].wr_id, 1000 + i);
		assert_int_equal(wc[0].opcode, IBV_WC_RDMA_WRITE);
		assert_int_equal(wc[0].qp_num, TEST_QPN);
		assert_int_equal(wc[1].wr_id, 2000 + i);
		assert_int_equal(wc[1].opcode, IBV_WC_RECV);
		assert_int_equal(wc[1].byte_len, 50);
		assert_int_equal(wc[1].status, IBV_WC_SUCCESS);
	}
	assert_int_equal(le32toh(fake.cq_control->consumer), 200);
	for (i = 0; i < 16; i++)
		assert_int_equal(post_write(qp, i), 0);
	assert_int_equal(post_write(qp, 16), ENOMEM);
	complete(TEST_QPN, 100 + 7, false);
	assert_int_equal(post_write(qp, 16), ENOMEM);
	assert_int_equal(poll_cq(qp, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 7);
	for (i = 0; i < 8; i++)
		assert_int_equal(post_write(qp, i), 0);
	assert_int_equal(post_write(qp, 16), ENOMEM);
	drop_all(qp);
}

/* Completions of QPs that are gone, or never were, are skipped. */
static void direct_gone(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC), *next;
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_wc wc[4];

	assert_int_equal(post_write(qp, 1), 0);
	complete(TEST_QPN, 0, false);
	complete(TEST_QPN + 1, 0, false);
	complete(0xffffffff, 0, false);
	drop_qp(qp);
	/* The number comes back. */
	next = make_qp_on(cq, IBV_QPT_RC);
	assert_int_equal(post_write(next, 2), 0);
	complete(TEST_QPN, 0, false);
	assert_int_equal(poll_cq(next, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 2);
	drop_all(next);
}

/* Arming is a store of another number each time. */
static void direct_arm(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_cq *cq = qp->vqp.qp.send_cq;
	struct ibv_wc wc;
	uint32_t arm;

	assert_int_equal(post_write(qp, 1), 0);
	assert_int_equal(post_write(qp, 2), 0);
	assert_int_equal(virtio_roce_req_notify_cq(cq, 1), 0);
	arm = le32toh(fake.cq_control->arm);
	assert_int_equal(arm & 3, VIRTIO_RDMA_ARM_SOLICITED);
	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), 0);
	assert_int_equal(le32toh(fake.cq_control->arm) & 3,
			 VIRTIO_RDMA_ARM_NEXT);
	assert_int_not_equal(le32toh(fake.cq_control->arm) >> 2, arm >> 2);
	assert_true(complete(TEST_QPN, 0, false));
	assert_false(complete(TEST_QPN, 1, false));

	/* The device is dead, or the CQ overran: first what is there. */
	fake.cq_control->device = htole32(1);
	assert_int_equal(poll_cq(qp, 1, &wc), 1);
	assert_int_equal(poll_cq(qp, 1, &wc), 1);
	assert_int_equal(poll_cq(qp, 1, &wc), -EIO);
	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), EIO);
	drop_all(qp);
}

static uint32_t arm_word(void)
{
	return le32toh(fake.cq_control->arm);
}

/* An arming for solicited completions does not take the place of one for any. */
static void direct_arm_does_not_weaken(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_cq *cq = qp->vqp.qp.send_cq;
	uint32_t word;

	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), 0);
	word = arm_word();
	assert_int_equal(virtio_roce_req_notify_cq(cq, 1), 0);
	assert_int_not_equal(arm_word() >> 2, word >> 2);
	assert_true(complete(TEST_QPN, 0, false));
	virtio_roce_cq_event(cq);

	/* That was the event of both. */
	assert_int_equal(virtio_roce_req_notify_cq(cq, 1), 0);
	assert_false(complete(TEST_QPN, 1, false));
	/* The other way round, and many times. */
	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), 0);
	assert_int_equal(virtio_roce_req_notify_cq(cq, 1), 0);
	assert_int_equal(virtio_roce_req_notify_cq(cq, 1), 0);
	assert_true(complete(TEST_QPN, 2, false));
	drop_all(qp);
}

/*
 * An event that is taken late, when the CQ is armed again, is not an answer to that: one
 * thread takes events, and another one arms.
 */
static void direct_arm_with_late_event(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_cq *cq = qp->vqp.qp.send_cq;
	unsigned int i;

	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), 0);
	assert_true(complete(TEST_QPN, 0, false));
	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), 0);
	virtio_roce_cq_event(cq);
	assert_int_equal(virtio_roce_req_notify_cq(cq, 1), 0);
	assert_true(complete(TEST_QPN, 1, false));
	virtio_roce_cq_event(cq);

	/* Armings that were never answered end after as many events at the latest. */
	for (i = 0; i < 3; i++) {
		assert_int_equal(virtio_roce_req_notify_cq(cq, 1), 0);
		if (complete(TEST_QPN, 2 + i, false))
			virtio_roce_cq_event(cq);
	}
	assert_int_equal(arm_word() & 3, VIRTIO_RDMA_ARM_SOLICITED);
	drop_all(qp);
}

static bool is_mapped(void *addr)
{
	unsigned char resident;

	return !mincore(addr, 1, &resident);
}

/*
 * With some completions taken and some unread the CQ gets another ring: none is lost,
 * and none comes twice.  A thread may still look whether the first ring is empty, so this can
 * be read, as nothing, until the CQ is destroyed.
 */
static void resize_at(uint32_t taken, uint32_t unread)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	const unsigned int maps = count_maps();
	uint8_t *first = cq->vq.part[VQ_SLOTS].addr;
	struct ibv_wc wc[2];
	uint32_t i, next = 0;

	for (i = 0; i < taken + unread; i++) {
		assert_int_equal(post_write(qp, i), 0);
		complete(TEST_QPN, i, false);
		if (i < taken)
			assert_int_equal(poll_cq(qp, 1, wc), 1);
	}
	next = taken;
	assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, 40), 0);
	assert_int_equal(cq->vq.ring.depth, 64);
	assert_int_equal(count_maps(), maps);
	while (poll_cq(qp, 1, wc)) {
		assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
		assert_int_equal(wc[0].wr_id, next++);
	}
	assert_int_equal(next, i);
	assert_int_equal(le32toh(fake.cq_control->consumer), unread);
	for (; i < 200; i++) {
		assert_int_equal(post_write(qp, i), 0);
		complete(TEST_QPN, i, false);
		assert_int_equal(poll_cq(qp, 2, wc), 1);
		assert_int_equal(wc[0].wr_id, i);
	}
	/* Large enough: nothing changes. */
	assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, 30), 0);
	assert_int_equal(cq->vq.ring.depth, 64);
	assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, 100), 0);
	assert_int_equal(count_maps(), maps);
	assert_true(is_mapped(first));
	assert_int_equal(first[0], 0);
	assert_int_equal(poll_cq(qp, 1, wc), 0);
	drop_all(qp);
	assert_false(is_mapped(first));
}

/* That a CQ is empty is seen without its lock. */
static void direct_empty(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc[4];
	uint32_t i;

	/* The place of the head, and the phase there, after each number of completions. */
	for (i = 0; i < 3 * cq->vq.ring.depth; i += 3) {
		cq->vq.lock = 1;
		assert_int_equal(poll_cq(qp, 1, wc), 0);
		assert_int_equal(ibv_start_poll(&cq->vcq.cq_ex, &attr), ENOENT);
		cq->vq.lock = 0;
		assert_int_equal(post_write(qp, i), 0);
		assert_int_equal(post_write(qp, i + 1), 0);
		assert_int_equal(post_write(qp, i + 2), 0);
		complete(TEST_QPN, i, false);
		assert_int_equal(poll_cq(qp, 4, wc), 1);
		complete(TEST_QPN, i + 1, false);
		complete(TEST_QPN, i + 2, false);
		assert_int_equal(ibv_start_poll(&cq->vcq.cq_ex, &attr), 0);
		assert_int_equal(ibv_next_poll(&cq->vcq.cq_ex), 0);
		assert_int_equal(ibv_next_poll(&cq->vcq.cq_ex), ENOENT);
		ibv_end_poll(&cq->vcq.cq_ex);
	}
	fake.cq_control->device = htole32(1);
	assert_int_equal(poll_cq(qp, 1, wc), -EIO);
	assert_int_equal(ibv_start_poll(&cq->vcq.cq_ex, &attr), EIO);
	fake.cq_control->device = 0;
	drop_all(qp);
}

static void direct_resize(void **state)
{
	resize_at(0, 0);
}

static void direct_resize_full(void **state)
{
	resize_at(0, 16);
}

static void direct_resize_wrapped(void **state)
{
	resize_at(13, 7);
}

static void direct_resize_next_round(void **state)
{
	resize_at(21, 16);
}

/* Completions of a QP that is gone are skipped in the new ring, too. */
static void direct_resize_gone(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC), *next;
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_wc wc[4];
	uint32_t i;

	for (i = 0; i < 14; i++) {
		assert_int_equal(post_write(qp, i), 0);
		complete(TEST_QPN, i, false);
		if (i < 10)
			assert_int_equal(poll_cq(qp, 4, wc), 1);
	}
	drop_qp(qp);
	assert_int_equal(cq->num_stale, 4);
	next = make_qp_on(cq, IBV_QPT_RC);
	assert_int_equal(post_write(next, 99), 0);
	complete(TEST_QPN, 0, false);
	assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, 100), 0);
	assert_int_equal(cq->num_stale, 4);
	assert_int_equal(poll_cq(next, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 99);
	assert_int_equal(cq->num_stale, 0);
	drop_all(next);
}

/* An arming holds for the new ring, and the numbers go on. */
static void direct_resize_armed(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_cq *cq = qp->vqp.qp.send_cq;
	uint32_t i;

	for (i = 0; i < 3; i++)
		assert_int_equal(post_write(qp, i), 0);
	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), 0);
	assert_int_equal(virtio_roce_resize_cq(cq, 100), 0);
	assert_true(complete(TEST_QPN, 0, false));
	assert_int_equal(virtio_roce_resize_cq(cq, 200), 0);
	assert_false(complete(TEST_QPN, 1, false));
	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), 0);
	assert_true(complete(TEST_QPN, 2, false));
	drop_all(qp);
}

static void break_offset(struct virtio_roce_queue *info)
{
	info->control_offset++;
}

/* Refused, the CQ goes on; if the new queue cannot be mapped, it is in error. */
static void direct_resize_fails(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_cq *cq = qp->vqp.qp.send_cq;
	const unsigned int maps = count_maps();
	struct ibv_wc wc[4];
	uint32_t i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(post_write(qp, i), 0);
		complete(TEST_QPN, i, false);
	}
	fake.fail = EOPNOTSUPP;
	assert_int_equal(virtio_roce_resize_cq(cq, 100), EOPNOTSUPP);
	fake.fail = 0;
	/* More are unread. */
	assert_int_equal(virtio_roce_resize_cq(cq, 2), EINVAL);
	assert_int_equal(virtio_roce_resize_cq(cq, 3), 0);
	assert_int_equal(poll_cq(qp, 1, wc), 1);
	assert_int_equal(wc[0].wr_id, 0);

	fake.break_info = break_offset;
	assert_int_equal(virtio_roce_resize_cq(cq, 100), EINVAL);
	fake.break_info = NULL;
	assert_int_equal(count_maps(), maps);
	assert_int_equal(poll_cq(qp, 4, wc), 2);
	assert_int_equal(poll_cq(qp, 4, wc), -EIO);
	assert_int_equal(virtio_roce_req_notify_cq(cq, 0), EIO);
	drop_all(qp);
}

static void direct_reset(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_wc wc;

	assert_int_equal(post_write(qp, 1), 0);
	assert_int_equal(post_write(qp, 2), 0);
	assert_int_equal(post_recv(qp, 3), 0);
	complete(TEST_QPN, 0, false);
	assert_int_equal(virtio_roce_modify_qp(&qp->vqp.qp, &attr,
					       IBV_QP_STATE), 0);
	assert_int_equal(fake.qp_control->send_producer, 0);
	assert_int_equal(fake.qp_control->recv_producer, 0);
	assert_int_equal(poll_cq(qp, 1, &wc), 0);
	qp->vqp.qp.state = IBV_QPS_RTS;
	assert_int_equal(post_write(qp, 9), 0);
	assert_int_equal(le32toh(fake.qp_control->send_producer), 1);
	complete(TEST_QPN, 0, false);
	assert_int_equal(poll_cq(qp, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 9);
	drop_all(qp);
}

/* By a command of its own, with bursts only where the device has them. */
static void direct_rate_limit(void **state)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 8000 };
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);

	assert_int_equal(virtio_roce_modify_qp_rate_limit(&qp->vqp.qp, &limit), 0);
	assert_int_equal(fake.rate_limit, 8000);
	assert_int_equal(fake.max_burst, 0);
	limit.rate_limit = 9000;
	limit.max_burst_sz = 5000;
	assert_int_equal(virtio_roce_modify_qp_rate_limit(&qp->vqp.qp, &limit), EOPNOTSUPP);
	assert_int_equal(fake.rate_limit, 8000);
	fake.ctx.device_caps |= VIRTIO_IB_DEVICE_RATE_BURST;
	limit.typical_pkt_sz = 1000;
	assert_int_equal(virtio_roce_modify_qp_rate_limit(&qp->vqp.qp, &limit), 0);
	assert_int_equal(fake.rate_limit, 9000);
	assert_int_equal(fake.max_burst, 5000);
	limit.comp_mask = 1;
	assert_int_equal(virtio_roce_modify_qp_rate_limit(&qp->vqp.qp, &limit), EINVAL);
	drop_all(qp);
}

/* All QPs of a context have one doorbell page, mapped once. */
static void direct_shares_doorbell(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct virtio_roce_qp *a, *b;
	unsigned int maps;

	a = make_qp_on(cq, IBV_QPT_RC);
	maps = count_maps();
	b = make_qp_on(cq, IBV_QPT_RC);
	assert_int_equal(count_maps(), maps + 1);
	assert_ptr_equal(a->sq.page, b->sq.page);
	drop_qp(a);
	drop_qp(b);
	drop_cq(cq);
}

static void break_direct(struct virtio_roce_queue *info)
{
	info->flags = 0;
}

static void break_depth(struct virtio_roce_queue *info)
{
	info->depth = 17;
}

static void break_stride(struct virtio_roce_queue *info)
{
	info->stride = 16;
}

static void break_slots(struct virtio_roce_queue *info)
{
	info->slots_pos = 3 * 4096 - 64;
}

static void break_control(struct virtio_roce_queue *info)
{
	info->control_pos = info->control_len;
}

static void direct_refuses_bad_queues(void **state)
{
	void (*const breaks[])(struct virtio_roce_queue *info) = {
		break_direct, break_depth, break_stride, break_slots,
		break_control,
	};
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_qp_init_attr attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.qp_type = IBV_QPT_RC,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(breaks); i++) {
		fake.break_info = breaks[i];
		assert_null(virtio_roce_create_qp(&fake.pd, &attr));
		assert_int_equal(errno, EPROTO);
		assert_int_equal(fake.qps, 0);
		assert_null(virtio_roce_create_cq(fake.pd.context, 5, NULL, 0));
		assert_int_equal(errno, EPROTO);
	}
	fake.break_info = NULL;
	drop_cq(cq);
}

/*
 * One thread posts, one polls and sleeps until there is an event, and the device, which
 * is the test, sleeps until it is rung.  No wake-up may be lost, whoever is first.
 */

#define REQUESTS	50000
#define PATIENCE	20	/* seconds */

struct worker {
	struct virtio_roce_qp *qp;
	bool event;
};

static bool wait_for(const bool *flag)
{
	time_t end = time(NULL) + PATIENCE;

	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) {
		if (time(NULL) > end)
			return false;
		sched_yield();
	}
	return true;
}

static void *poster(void *arg)
{
	struct worker *w = arg;
	time_t end = time(NULL) + 2 * PATIENCE;
	uint64_t i = 0;

	while (i < REQUESTS) {
		if (time(NULL) > end)
			return arg;
		if (post_write(w->qp, i)) {
			sched_yield();
		} else {
			i++;
			end = time(NULL) + 2 * PATIENCE;
		}
	}
	return NULL;
}

static void *sleeper(void *arg)
{
	struct worker *w = arg;
	struct ibv_wc wc[3];
	uint64_t next = 0;
	int n, i;

	while (next < REQUESTS) {
		n = poll_cq(w->qp, ARRAY_SIZE(wc), wc);
		for (i = 0; i < n; i++)
			if (wc[i].wr_id != next++)
				return arg;
		if (n)
			continue;
		__atomic_store_n(&w->event, false, __ATOMIC_RELEASE);
		if (virtio_roce_req_notify_cq(w->qp->vqp.qp.send_cq, 0))
			return arg;
		n = poll_cq(w->qp, 1, wc);
		if (n && wc[0].wr_id != next++)
			return arg;
		if (!n && !wait_for(&w->event))
			return arg;
	}
	return NULL;
}

/* Let the device use the provider's mappings, as ThreadSanitizer goes by addresses. */
static void share(struct virtio_roce_qp *qp)
{
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	const int rw = PROT_READ | PROT_WRITE;

	assert_int_equal(mprotect(cq->vq.part[VQ_SLOTS].addr,
				  cq->vq.part[VQ_SLOTS].len, rw), 0);
	assert_int_equal(mprotect(fake.ctx.doorbell.kick,
				  fake.ctx.doorbell.kick_len, rw), 0);
	fake.cq.slots = cq->vq.ring.slots;
	fake.cq_control = cq->control;
	fake.qp_control = qp->control;
	fake.page = qp->sq.page;
	fake.kick = fake.ctx.doorbell.reg;
}

/* Take the bits.  Returns whether there were any. */
static bool device_takes_bits(void)
{
	uint64_t *words = (uint64_t *)fake.page->words;
	uint64_t *pending = (uint64_t *)fake.page->pending;

	if (!__atomic_exchange_n(&words[0], 0, __ATOMIC_SEQ_CST))
		return false;
	return __atomic_exchange_n(&pending[fake.bit / 64], 0, __ATOMIC_SEQ_CST);
}

static bool device_sleeps(void)
{
	time_t end = time(NULL) + PATIENCE;

	__atomic_store_n((uint32_t *)&fake.page->ring_me, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (device_takes_bits())
		return true;
	while (!__atomic_exchange_n(fake.kick, 0, __ATOMIC_SEQ_CST)) {
		if (time(NULL) > end)
			return false;
		sched_yield();
	}
	return true;
}

/* With @resize the CQ gets larger all the while, as if by another thread. */
static void wakes_from_threads(bool resize)
{
	struct worker w = { .qp = make_qp(IBV_QPT_RC) };
	struct virtio_roce_cq *cq = to_vcq(w.qp->vqp.qp.send_cq);
	uint32_t producer, done = 0, looked = 0, depth = cq->vq.ring.depth;
	pthread_t posting, polling;
	void *err;

	share(w.qp);
	assert_int_equal(pthread_create(&posting, NULL, poster, &w), 0);
	assert_int_equal(pthread_create(&polling, NULL, sleeper, &w), 0);
	while (done < REQUESTS) {
		if (resize && done > 10 * depth && depth < 4096) {
			depth *= 2;
			assert_int_equal(virtio_roce_resize_cq(&cq->vcq.cq, depth), 0);
			share(w.qp);
		}
		looked += device_takes_bits();
		producer = le32toh(__atomic_load_n((uint32_t *)&fake.qp_control->send_producer,
						   __ATOMIC_ACQUIRE));
		if (done == producer)
			assert_true(device_sleeps());
		for (; done != producer; done++)
			if (complete(TEST_QPN, done, false))
				__atomic_store_n(&w.event, true,
						 __ATOMIC_RELEASE);
	}
	pthread_join(posting, &err);
	assert_null(err);
	pthread_join(polling, &err);
	assert_null(err);
	assert_true(looked);
	assert_int_equal(depth, resize ? 4096 : 16);
	drop_all(w.qp);
}

static void direct_wakes_from_threads(void **state)
{
	wakes_from_threads(false);
}

static void direct_resized_from_threads(void **state)
{
	wakes_from_threads(true);
}

int run_direct_tests(void)
{
	const struct CMUnitTest tests[] = {
		TEST_DIRECT(direct_request),
		TEST_DIRECT(direct_inline),
		TEST_DIRECT(direct_inline_room),
		TEST_DIRECT(direct_plain),
		TEST_DIRECT(direct_doorbell),
		TEST_DIRECT(direct_doorbell_command),
		TEST_DIRECT(direct_recv),
		TEST_DIRECT(direct_poll),
		TEST_DIRECT(direct_gone),
		TEST_DIRECT(direct_empty),
		TEST_DIRECT(direct_arm),
		TEST_DIRECT(direct_arm_does_not_weaken),
		TEST_DIRECT(direct_arm_with_late_event),
		TEST_DIRECT(direct_resize),
		TEST_DIRECT(direct_resize_full),
		TEST_DIRECT(direct_resize_wrapped),
		TEST_DIRECT(direct_resize_next_round),
		TEST_DIRECT(direct_resize_gone),
		TEST_DIRECT(direct_resize_armed),
		TEST_DIRECT(direct_resize_fails),
		TEST_DIRECT(direct_reset),
		TEST_DIRECT(direct_rate_limit),
		TEST_DIRECT(direct_shares_doorbell),
		TEST_DIRECT(direct_refuses_bad_queues),
		TEST_DIRECT(direct_wakes_from_threads),
		TEST_DIRECT(direct_resized_from_threads),
	};

	return cmocka_run_group_tests_name("direct", tests, NULL, NULL);
}
