// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting: what the device finds in slots and rings, and when its doorbell is rung.
 */
#include <errno.h>
#include <sched.h>

#include <ccan/array_size.h>

#include "util.h"

static struct ibv_sge sges[TEST_SGES + 1] = {
	{ .addr = 0x1122334455667788, .length = 0x99aabbcc, .lkey = 0xddeeff01 },
	{ .addr = 2, .length = 20, .lkey = 200 },
	{ .addr = 3, .length = 30, .lkey = 300 },
	{ .addr = 4, .length = 40, .lkey = 400 },
};

static int post_send(struct virtio_roce_qp *qp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr)
{
	return virtio_roce_post_send(&qp->vqp.qp, wr, bad_wr);
}

/* Post one request that must succeed. */
static struct virtio_rdma_sq_req *posted_send(struct virtio_roce_qp *qp,
					      struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr;
	unsigned int pending = fake_pending(&fake.sq);

	assert_int_equal(post_send(qp, wr, &bad_wr), 0);
	assert_int_equal(fake_pending(&fake.sq), pending + 1);
	return fake_take(&fake.sq);
}

/* Post one request that must fail and leave nothing behind. */
static void refused_send(struct virtio_roce_qp *qp, struct ibv_send_wr *wr,
			 int err)
{
	unsigned int pending = fake_pending(&fake.sq);
	struct ibv_send_wr *bad_wr = NULL;

	assert_int_equal(post_send(qp, wr, &bad_wr), err);
	assert_ptr_equal(bad_wr, wr);
	assert_int_equal(fake_pending(&fake.sq), pending);
}

static int post_recv(struct virtio_roce_qp *qp, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	return virtio_roce_post_recv(&qp->vqp.qp, wr, bad_wr);
}

static unsigned int doorbells(struct fake_vq *vq)
{
	unsigned int rung = *vq->doorbell;

	*vq->doorbell = 0;
	assert_true(!rung || rung == vq->info.doorbell_value);
	return !!rung;
}

static void check_sges(const struct virtio_rdma_sge *got, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		assert_int_equal(le64toh(got[i].addr), sges[i].addr);
		assert_int_equal(le32toh(got[i].length), sges[i].length);
		assert_int_equal(le32toh(got[i].lkey), sges[i].lkey);
	}
}

static const struct {
	enum ibv_wr_opcode opcode;
	uint8_t wire;
	bool imm;
	bool rdma;
	bool rc, uc, ud;
} ops[] = {
	{ .opcode = IBV_WR_RDMA_WRITE, .wire = VIRTIO_IB_WR_RDMA_WRITE,
	  .rdma = true, .rc = true, .uc = true },
	{ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
	  .wire = VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM,
	  .imm = true, .rdma = true, .rc = true, .uc = true },
	{ .opcode = IBV_WR_SEND, .wire = VIRTIO_IB_WR_SEND,
	  .rc = true, .uc = true, .ud = true },
	{ .opcode = IBV_WR_SEND_WITH_IMM, .wire = VIRTIO_IB_WR_SEND_WITH_IMM,
	  .imm = true, .rc = true, .uc = true, .ud = true },
	{ .opcode = IBV_WR_RDMA_READ, .wire = VIRTIO_IB_WR_RDMA_READ,
	  .rdma = true, .rc = true },
	{ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP },
	{ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ .opcode = IBV_WR_LOCAL_INV },
	{ .opcode = IBV_WR_BIND_MW },
	{ .opcode = IBV_WR_SEND_WITH_INV },
	{ .opcode = IBV_WR_TSO },
	{ .opcode = IBV_WR_FLUSH },
	{ .opcode = IBV_WR_DRIVER1 },
	{ .opcode = (enum ibv_wr_opcode)0x7fffffff },
	{ .opcode = (enum ibv_wr_opcode)-1 },
};

static void translates_send(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr wr = {
		.wr_id = 0x0123456789abcdef,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.sg_list = sges,
		.num_sge = TEST_SGES,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0xcafebabe),
		.wr.rdma = { .remote_addr = 0xfedcba9876543210,
			     .rkey = 0x13579bdf },
	};
	struct virtio_rdma_sq_req *req;

	/* Filled with garbage, as an earlier request may leave it. */
	memset(fake.sq.slots, 0xff, fake.sq.info.depth * fake.sq.info.stride);
	req = posted_send(qp, &wr);
	assert_ptr_equal(req, fake.sq.slots);
	assert_int_equal(le64toh(req->wr_id), 0x0123456789abcdef);
	assert_int_equal(req->opcode, VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(req->send_flags, VIRTIO_IB_SEND_SIGNALED);
	assert_int_equal(req->padding, 0);
	assert_memory_equal(&req->imm_data, "\xca\xfe\xba\xbe", 4);
	assert_int_equal(le64toh(req->rdma.remote_addr), 0xfedcba9876543210);
	assert_int_equal(le32toh(req->rdma.rkey), 0x13579bdf);
	assert_int_equal(req->reserved[2], 0);
	assert_int_equal(req->reserved[3], 0);
	assert_int_equal(le32toh(req->num_sge), TEST_SGES);
	assert_int_equal(req->reserved2[0], 0);
	assert_int_equal(req->reserved2[2], 0);
	check_sges(req->sg_list, TEST_SGES);
	drop_qp_and_cq(qp);
}

static void check_opcode(struct virtio_roce_qp *qp, size_t i, bool allowed)
{
	struct virtio_roce_ah ah = { .num = 77 };
	struct ibv_send_wr wr = { .opcode = ops[i].opcode, .imm_data = 5 };
	struct virtio_rdma_sq_req *req;

	if (qp->vqp.qp.qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = &ah.ah;
		wr.wr.ud.remote_qpn = 1000;
		wr.wr.ud.remote_qkey = 2000;
	} else {
		wr.wr.rdma.remote_addr = 3000;
		wr.wr.rdma.rkey = 4000;
	}

	if (!allowed) {
		refused_send(qp, &wr, EINVAL);
		return;
	}

	req = posted_send(qp, &wr);
	fake_use_next(&fake.sq);
	assert_int_equal(req->opcode, ops[i].wire);
	assert_int_equal(req->imm_data, ops[i].imm ? 5 : 0);
	assert_int_equal(req->num_sge, 0);
	if (qp->vqp.qp.qp_type == IBV_QPT_UD) {
		assert_int_equal(le32toh(req->ud.remote_qpn), 1000);
		assert_int_equal(le32toh(req->ud.remote_qkey), 2000);
		assert_int_equal(le32toh(req->ud.ah), 77);
	} else {
		assert_int_equal(le64toh(req->rdma.remote_addr),
				 ops[i].rdma ? 3000 : 0);
		assert_int_equal(le32toh(req->rdma.rkey),
				 ops[i].rdma ? 4000 : 0);
	}
}

static void knows_opcodes_of_rc(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		check_opcode(qp, i, ops[i].rc);
	drop_qp_and_cq(qp);
}

static void knows_opcodes_of_uc(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	size_t i;

	qp->vqp.qp.qp_type = IBV_QPT_UC;
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		check_opcode(qp, i, ops[i].uc);
	drop_qp_and_cq(qp);
}

static void knows_opcodes_of_ud(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	size_t i;

	qp->vqp.qp.qp_type = IBV_QPT_UD;
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		check_opcode(qp, i, ops[i].ud);
	drop_qp_and_cq(qp);
}

static void translates_flags(void **state)
{
	static const struct {
		unsigned int flags;
		uint8_t wire;
	} flags[] = {
		{ 0, 0 },
		{ IBV_SEND_FENCE, VIRTIO_IB_SEND_FENCE },
		{ IBV_SEND_SIGNALED, VIRTIO_IB_SEND_SIGNALED },
		{ IBV_SEND_SOLICITED, VIRTIO_IB_SEND_SOLICITED },
		{ IBV_SEND_INLINE, VIRTIO_IB_SEND_INLINE },
		{ IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
		  IBV_SEND_INLINE, 0xf },
	};
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		wr.send_flags = flags[i].flags;
		assert_int_equal(posted_send(qp, &wr)->send_flags,
				 flags[i].wire);
	}
	for (i = 4; i < 32; i++) {
		wr.send_flags = 1U << i;
		refused_send(qp, &wr, EINVAL);
	}
	drop_qp_and_cq(qp);
}

static void bounds_sges(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .sg_list = sges };
	struct ibv_recv_wr recv = { .sg_list = sges }, *bad_recv;
	static const int bad[] = { TEST_SGES + 1, -1, INT32_MIN };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		send.num_sge = bad[i];
		send.send_flags = 0;
		refused_send(qp, &send, EINVAL);
		send.send_flags = IBV_SEND_INLINE;
		refused_send(qp, &send, EINVAL);

		recv.num_sge = bad[i];
		assert_int_equal(post_recv(qp, &recv, &bad_recv), EINVAL);
		assert_ptr_equal(bad_recv, &recv);
		assert_int_equal(fake_pending(&fake.rq), 0);
	}
	drop_qp_and_cq(qp);
}

static void gathers_inline_data(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	uint8_t data[VIRTIO_RDMA_INLINE_SIZE + 1];
	struct ibv_sge list[] = {
		{ .addr = (uintptr_t)data, .length = 10 },
		{ .addr = 0, .length = 0 },
		{ .addr = (uintptr_t)data + 10, .length = VIRTIO_RDMA_INLINE_SIZE - 10 },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = list,
		.num_sge = 3,
	};
	struct virtio_rdma_sq_req *req;
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i;

	/* exactly as much as a slot has room for, which is more than the QP was asked for */
	req = posted_send(qp, &wr);
	assert_int_equal(req->send_flags, VIRTIO_IB_SEND_INLINE);
	assert_int_equal(le16toh(req->inline_len), VIRTIO_RDMA_INLINE_SIZE);
	assert_int_equal(le32toh(req->num_sge), VIRTIO_RDMA_INLINE_SIZE);
	assert_memory_equal(req->inline_data, data, VIRTIO_RDMA_INLINE_SIZE);

	list[2].length++;
	refused_send(qp, &wr, EINVAL);
	list[2].length = UINT32_MAX;
	refused_send(qp, &wr, EINVAL);

	wr.num_sge = 0;
	req = posted_send(qp, &wr);
	assert_int_equal(req->send_flags, VIRTIO_IB_SEND_INLINE);
	assert_int_equal(req->inline_len, 0);

	/* a READ has no data to send */
	wr.opcode = IBV_WR_RDMA_READ;
	refused_send(qp, &wr, EINVAL);
	drop_qp_and_cq(qp);
}

static void translates_recv(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_recv_wr wr[2] = {
		{ .wr_id = 0x0123456789abcdef, .sg_list = sges,
		  .num_sge = TEST_SGES, .next = &wr[1] },
		{ .wr_id = 2 },
	};
	struct virtio_rdma_rq_req *req;
	struct ibv_recv_wr *bad_wr;

	memset(fake.rq.slots, 0xff, fake.rq.info.depth * fake.rq.info.stride);
	assert_int_equal(post_recv(qp, wr, &bad_wr), 0);
	assert_int_equal(fake_pending(&fake.rq), 2);
	assert_int_equal(doorbells(&fake.rq), 1);
	assert_int_equal(doorbells(&fake.sq), 0);

	req = fake_take(&fake.rq);
	assert_int_equal(le64toh(req->wr_id), 0x0123456789abcdef);
	assert_int_equal(le32toh(req->num_sge), TEST_SGES);
	assert_int_equal(req->reserved[0], 0);
	assert_int_equal(req->reserved[2], 0);
	check_sges(req->sg_list, TEST_SGES);

	req = fake_take(&fake.rq);
	assert_int_equal(le64toh(req->wr_id), 2);
	assert_int_equal(req->num_sge, 0);
	drop_qp_and_cq(qp);
}

static void counts_free_slots(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = {}, *bad_recv;
	unsigned int i;

	for (i = 0; i < fake.depth; i++) {
		posted_send(qp, &send);
		assert_int_equal(post_recv(qp, &recv, &bad_recv), 0);
	}
	refused_send(qp, &send, ENOMEM);
	assert_int_equal(post_recv(qp, &recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &recv);

	/* A slot that the device has taken but not used is not free. */
	fake_use_next(&fake.sq);
	fake_use_next(&fake.rq);
	posted_send(qp, &send);
	refused_send(qp, &send, ENOMEM);
	assert_int_equal(post_recv(qp, &recv, &bad_recv), 0);
	assert_int_equal(post_recv(qp, &recv, &bad_recv), ENOMEM);
	drop_qp_and_cq(qp);
}

static void wraps(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct virtio_rdma_sq_req *req;
	uint32_t i;

	for (i = 0; i < 2 * 65536 + 5; i++) {
		wr.wr_id = i;
		req = posted_send(qp, &wr);
		assert_ptr_equal(req, fake.sq.slots +
				 i % fake.depth * fake.sq.info.stride);
		assert_int_equal(le64toh(req->wr_id), i);
		/* The device lags behind, up to a full queue. */
		if (i >= fake.depth - 1)
			fake_use_next(&fake.sq);
	}
	assert_int_equal(from_virtio16(fake.sq.avail->idx), 5);
	drop_qp_and_cq(qp);
}

static void survives_bad_used_index(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	static const uint16_t bad[] = { 9, 100, 0x8000, 0xffff };
	unsigned int i;

	for (i = 0; i < fake.depth; i++)
		posted_send(qp, &wr);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fake.sq.used->idx = to_virtio16(bad[i]);
		refused_send(qp, &wr, ENOMEM);
	}
	/* All used: this is a valid index. */
	fake.sq.used->idx = to_virtio16(8);
	posted_send(qp, &wr);
	drop_qp_and_cq(qp);
}

static void heeds_states(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		int send, recv;
	} states[] = {
		{ IBV_QPS_RESET, EINVAL, EINVAL },
		{ IBV_QPS_INIT, EINVAL, 0 },
		{ IBV_QPS_RTR, EINVAL, 0 },
		{ IBV_QPS_RTS, 0, 0 },
		{ IBV_QPS_SQD, 0, 0 },
		{ IBV_QPS_SQE, 0, 0 },
		{ IBV_QPS_ERR, 0, 0 },
		{ IBV_QPS_UNKNOWN, EINVAL, EINVAL },
	};
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		qp->vqp.qp.state = states[i].state;
		bad_send = NULL;
		bad_recv = NULL;
		assert_int_equal(post_send(qp, &send, &bad_send),
				 states[i].send);
		assert_ptr_equal(bad_send, states[i].send ? &send : NULL);
		assert_int_equal(post_recv(qp, &recv, &bad_recv),
				 states[i].recv);
		assert_ptr_equal(bad_recv, states[i].recv ? &recv : NULL);

		ibv_wr_start(ex);
		ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), states[i].send);
		fake_use_next(&fake.sq);
		fake_use_next(&fake.sq);
	}
	drop_qp_and_cq(qp);
}

static void posts_what_is_before_an_error(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr send[4] = {
		{ .opcode = IBV_WR_SEND, .wr_id = 1, .next = &send[1] },
		{ .opcode = IBV_WR_SEND, .wr_id = 2, .next = &send[2] },
		{ .opcode = IBV_WR_SEND, .num_sge = -1, .next = &send[3] },
		{ .opcode = IBV_WR_SEND, .wr_id = 4 },
	}, *bad_send;
	struct ibv_recv_wr recv[2] = {
		{ .wr_id = 1, .next = &recv[1] },
		{ .num_sge = TEST_SGES + 1 },
	}, *bad_recv;

	assert_int_equal(post_send(qp, send, &bad_send), EINVAL);
	assert_ptr_equal(bad_send, &send[2]);
	assert_int_equal(fake_pending(&fake.sq), 2);
	assert_int_equal(doorbells(&fake.sq), 1);

	assert_int_equal(post_recv(qp, recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv[1]);
	assert_int_equal(fake_pending(&fake.rq), 1);
	assert_int_equal(doorbells(&fake.rq), 1);

	/* Nothing before it, no doorbell. */
	assert_int_equal(post_send(qp, &send[2], &bad_send), EINVAL);
	assert_int_equal(fake_pending(&fake.sq), 2);
	assert_int_equal(doorbells(&fake.sq), 0);
	drop_qp_and_cq(qp);
}

static void takes_empty_lists(void **state)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RTS, IBV_QPS_RESET };
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr send = {}, *bad_send = &send;
	struct ibv_recv_wr recv = {}, *bad_recv = &recv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		qp->vqp.qp.state = states[i];
		assert_int_equal(post_send(qp, NULL, NULL), 0);
		assert_int_equal(post_send(qp, NULL, &bad_send), 0);
		assert_ptr_equal(bad_send, &send);
		assert_int_equal(post_recv(qp, NULL, NULL), 0);
		assert_int_equal(post_recv(qp, NULL, &bad_recv), 0);
		assert_ptr_equal(bad_recv, &recv);
	}
	assert_int_equal(doorbells(&fake.sq), 0);
	assert_int_equal(doorbells(&fake.rq), 0);

	/* Without an error bad_wr is not written to, so it may be NULL. */
	qp->vqp.qp.state = IBV_QPS_RTS;
	send.opcode = IBV_WR_SEND;
	assert_int_equal(post_send(qp, &send, NULL), 0);
	assert_int_equal(post_recv(qp, &recv, NULL), 0);
	drop_qp_and_cq(qp);
}

static void rings_unless_told_not_to(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	posted_send(qp, &wr);
	assert_int_equal(doorbells(&fake.sq), 1);

	fake.sq.used->flags = to_virtio16(VRING_USED_F_NO_NOTIFY);
	posted_send(qp, &wr);
	assert_int_equal(doorbells(&fake.sq), 0);

	fake.sq.used->flags = 0;
	posted_send(qp, &wr);
	assert_int_equal(doorbells(&fake.sq), 1);
	assert_int_equal(fake.send_cmds, 0);
	drop_qp_and_cq(qp);
}

static void rings_at_event_idx(void **state)
{
	struct ibv_send_wr wr[3] = {
		{ .opcode = IBV_WR_SEND, .next = &wr[1] },
		{ .opcode = IBV_WR_SEND, .next = &wr[2] },
		{ .opcode = IBV_WR_SEND },
	}, *bad_wr;
	struct virtio_roce_qp *qp;
	__virtio16 *event;

	fake.flags |= VIRTIO_ROCE_QUEUE_EVENT_IDX;
	qp = make_qp(IBV_QPT_RC);
	event = (__virtio16 *)&fake.sq.used->ring[fake.num];

	/* The flags have no meaning now. */
	fake.sq.used->flags = to_virtio16(VRING_USED_F_NO_NOTIFY);
	*event = to_virtio16(0);
	assert_int_equal(post_send(qp, &wr[2], &bad_wr), 0);	/* 0 -> 1 */
	assert_int_equal(doorbells(&fake.sq), 1);
	assert_int_equal(post_send(qp, &wr[2], &bad_wr), 0);	/* 1 -> 2 */
	assert_int_equal(doorbells(&fake.sq), 0);

	/* asked for in the middle of a list */
	*event = to_virtio16(3);
	assert_int_equal(post_send(qp, wr, &bad_wr), 0);	/* 2 -> 5 */
	assert_int_equal(doorbells(&fake.sq), 1);

	/* asked for later */
	*event = to_virtio16(6);
	assert_int_equal(post_send(qp, &wr[2], &bad_wr), 0);	/* 5 -> 6 */
	assert_int_equal(doorbells(&fake.sq), 0);
	assert_int_equal(post_send(qp, &wr[2], &bad_wr), 0);	/* 6 -> 7 */
	assert_int_equal(doorbells(&fake.sq), 1);
	drop_qp_and_cq(qp);
}

static void rings_by_command(void **state)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct virtio_roce_qp *qp;

	fake.flags = 0;
	qp = make_qp(IBV_QPT_RC);
	posted_send(qp, &send);
	assert_int_equal(fake.send_cmds, 1);
	assert_int_equal(post_recv(qp, &recv, &bad_recv), 0);
	assert_int_equal(fake.recv_cmds, 1);

	fake.sq.used->flags = to_virtio16(VRING_USED_F_NO_NOTIFY);
	fake.rq.used->flags = to_virtio16(VRING_USED_F_NO_NOTIFY);
	posted_send(qp, &send);
	assert_int_equal(fake.send_cmds, 1);
	assert_int_equal(post_recv(qp, &recv, &bad_recv), 0);
	assert_int_equal(fake.recv_cmds, 1);
	drop_qp_and_cq(qp);
}

static void goes_on_after_reset(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	unsigned int i;

	posted_send(qp, &wr);
	fake_use_next(&fake.sq);
	for (i = 0; i < fake.depth; i++)
		posted_send(qp, &wr);
	refused_send(qp, &wr, ENOMEM);

	/* The device gives all slots back. */
	for (i = 0; i < fake.depth; i++)
		fake_use_next(&fake.sq);
	assert_int_equal(virtio_roce_modify_qp(&qp->vqp.qp, &attr,
					       IBV_QP_STATE), 0);
	refused_send(qp, &wr, EINVAL);

	qp->vqp.qp.state = IBV_QPS_RTS;
	for (i = 0; i < fake.depth; i++)
		assert_ptr_equal(posted_send(qp, &wr),
				 fake.sq.slots + (1 + i) % fake.depth *
						 fake.sq.info.stride);
	refused_send(qp, &wr, ENOMEM);
	drop_qp_and_cq(qp);
}

/* ibv_wr_*() */

static void builds_each_request(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(&qp->vqp.qp);
	struct virtio_rdma_sq_req *req;
	unsigned int i;

	assert_non_null(ex);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ex->wr_id = 0;
	ibv_wr_rdma_write(ex, 10, 20);
	ibv_wr_set_sge_list(ex, TEST_SGES, sges);
	ex->wr_id = 1;
	ibv_wr_rdma_write_imm(ex, 10, 20, 30);
	ibv_wr_set_sge(ex, sges[0].lkey, sges[0].addr, sges[0].length);
	ex->wr_id = 2;
	ibv_wr_send(ex);
	ex->wr_id = 3;
	ex->wr_flags = IBV_SEND_SOLICITED;
	ibv_wr_send_imm(ex, 30);
	ex->wr_id = 4;
	ibv_wr_rdma_read(ex, 10, 20);
	assert_int_equal(fake_pending(&fake.sq), 0);
	assert_int_equal(ibv_wr_complete(ex), 0);

	assert_int_equal(doorbells(&fake.sq), 1);
	assert_int_equal(fake_pending(&fake.sq), 5);
	for (i = 0; i < 5; i++) {
		req = fake_take(&fake.sq);
		assert_int_equal(le64toh(req->wr_id), i);
		/* in the order of the wire's opcodes */
		assert_int_equal(req->opcode, i);
		assert_int_equal(req->send_flags,
				 i < 3 ? VIRTIO_IB_SEND_SIGNALED :
					 VIRTIO_IB_SEND_SOLICITED);
		assert_int_equal(req->imm_data, ops[i].imm ? 30 : 0);
		assert_int_equal(le32toh(req->rdma.rkey), ops[i].rdma ? 10 : 0);
		assert_int_equal(le64toh(req->rdma.remote_addr),
				 ops[i].rdma ? 20 : 0);
		assert_int_equal(le32toh(req->num_sge),
				 i == 0 ? TEST_SGES : i == 1);
		check_sges(req->sg_list, le32toh(req->num_sge));
	}
	drop_qp_and_cq(qp);
}

static void builds_flush(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	struct virtio_rdma_sq_req *req;

	ibv_wr_start(ex);
	ex->wr_id = 5;
	ex->wr_flags = IBV_SEND_FENCE;
	ibv_wr_flush(ex, 10, 20, UINT32_MAX, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_flush(ex, 11, 21, (size_t)UINT32_MAX + 8, IBV_FLUSH_PERSISTENT,
		     IBV_FLUSH_MR);
	assert_int_equal(ibv_wr_complete(ex), 0);

	req = fake_take(&fake.sq);
	assert_int_equal(le64toh(req->wr_id), 5);
	assert_int_equal(req->opcode, VIRTIO_IB_WR_FLUSH);
	assert_int_equal(req->send_flags, VIRTIO_IB_SEND_FENCE);
	assert_int_equal(le32toh(req->flush.rkey), 10);
	assert_int_equal(le64toh(req->flush.remote_addr), 20);
	assert_int_equal(le32toh(req->flush.length), UINT32_MAX);
	assert_int_equal(req->flush.type, VIRTIO_IB_FLUSH_GLOBAL);
	assert_int_equal(req->flush.level, VIRTIO_IB_FLUSH_RANGE);
	assert_int_equal(req->num_sge, 0);
	req = fake_take(&fake.sq);
	assert_int_equal(le32toh(req->flush.length), 0);
	assert_int_equal(req->flush.type, VIRTIO_IB_FLUSH_PERSISTENT);
	assert_int_equal(req->flush.level, VIRTIO_IB_FLUSH_MR);
	drop_qp_and_cq(qp);
}

static void check_atomic(const struct virtio_rdma_sq_req *req, uint8_t opcode,
			 uint64_t swap)
{
	assert_int_equal(req->opcode, opcode);
	assert_int_equal(le32toh(req->atomic_rkey), 10);
	assert_int_equal(le64toh(req->atomic.remote_addr), 0x2000000000000008);
	assert_int_equal(le64toh(req->atomic.compare_add), 0x0102030405060708);
	assert_int_equal(le64toh(req->atomic.swap), swap);
	assert_int_equal(req->reserved[3], 0);
	assert_int_equal(le32toh(req->num_sge), 1);
	check_sges(req->sg_list, 1);
}

static void translates_atomics(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.sg_list = sges,
		.num_sge = 1,
		.wr.atomic = { .remote_addr = 0x2000000000000008,
			       .compare_add = 0x0102030405060708,
			       .swap = 9, .rkey = 10 },
	};

	/* Not every device has them. */
	refused_send(qp, &wr, EINVAL);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_ATOMIC;
	check_atomic(posted_send(qp, &wr), VIRTIO_IB_WR_CMP_SWAP, 9);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	check_atomic(posted_send(qp, &wr), VIRTIO_IB_WR_FETCH_ADD, 9);
	wr.send_flags = IBV_SEND_INLINE;
	refused_send(qp, &wr, EINVAL);
	wr.send_flags = 0;
	qp->vqp.qp.qp_type = IBV_QPT_UC;
	refused_send(qp, &wr, EINVAL);
	drop_qp_and_cq(qp);
}

static void builds_atomics(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	uint64_t value = 0x1122334455667788;
	struct virtio_rdma_sq_req *req;

	fake.ctx.device_caps = VIRTIO_IB_DEVICE_ATOMIC |
			       VIRTIO_IB_DEVICE_ATOMIC_WRITE;
	/* There is room for the 8 bytes, whatever the QP was created with. */
	qp->max_inline_data = 0;
	ibv_wr_start(ex);
	ibv_wr_atomic_cmp_swp(ex, 10, 0x2000000000000008, 0x0102030405060708, 9);
	ibv_wr_set_sge(ex, sges[0].lkey, sges[0].addr, sges[0].length);
	ibv_wr_atomic_fetch_add(ex, 10, 0x2000000000000008, 0x0102030405060708);
	ibv_wr_set_sge(ex, sges[0].lkey, sges[0].addr, sges[0].length);
	ibv_wr_atomic_write(ex, 10, 20, &value);
	assert_int_equal(ibv_wr_complete(ex), 0);

	check_atomic(fake_take(&fake.sq), VIRTIO_IB_WR_CMP_SWAP, 9);
	check_atomic(fake_take(&fake.sq), VIRTIO_IB_WR_FETCH_ADD, 0);
	req = fake_take(&fake.sq);
	assert_int_equal(req->opcode, VIRTIO_IB_WR_ATOMIC_WRITE);
	assert_int_equal(req->send_flags, VIRTIO_IB_SEND_INLINE);
	assert_int_equal(le64toh(req->rdma.remote_addr), 20);
	assert_int_equal(le32toh(req->rdma.rkey), 10);
	assert_int_equal(le16toh(req->inline_len), 8);
	assert_memory_equal(req->inline_data, &value, 8);
	drop_qp_and_cq(qp);
}

static struct ibv_mr window_mr = { .lkey = 0x300 };

static const struct ibv_mw_bind_info window_info = {
	.mr = &window_mr,
	.addr = 0x1122334455667788,
	.length = 0x100000001,
	.mw_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED,
};

static void check_bind(const struct virtio_rdma_sq_req *req, uint32_t key)
{
	assert_int_equal(req->opcode, VIRTIO_IB_WR_BIND_MW);
	assert_int_equal(le64toh(req->bind.addr), 0x1122334455667788);
	assert_int_equal(le64toh(req->bind.length), 0x100000001);
	assert_int_equal(le32toh(req->bind.mr_key), 0x300);
	assert_int_equal(le32toh(req->bind.key), key);
	assert_int_equal(le32toh(req->bind.access), VIRTIO_IB_ACCESS_REMOTE_READ |
						    VIRTIO_IB_ACCESS_REMOTE_ATOMIC |
						    VIRTIO_IB_ACCESS_ZERO_BASED);
	assert_int_equal(req->bind.padding, 0);
	assert_int_equal(le32toh(req->num_sge), 0);
}

static void translates_windows(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .rkey = 0x503, .bind_info = window_info },
	};
	struct virtio_rdma_sq_req *req;

	refused_send(qp, &wr, EINVAL);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_MEM_WINDOW;
	check_bind(posted_send(qp, &wr), 0x503);
	wr.num_sge = 1;
	wr.sg_list = sges;
	refused_send(qp, &wr, EINVAL);
	wr.num_sge = 0;
	wr.send_flags = IBV_SEND_INLINE;
	refused_send(qp, &wr, EINVAL);
	wr.send_flags = 0;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_ON_DEMAND;
	refused_send(qp, &wr, EINVAL);
	wr.bind_mw.bind_info = window_info;
	wr.bind_mw.bind_info.mr = NULL;
	refused_send(qp, &wr, EINVAL);

	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = 0x503;
	req = posted_send(qp, &wr);
	assert_int_equal(req->opcode, VIRTIO_IB_WR_LOCAL_INV);
	assert_int_equal(le32toh(req->invalidate_rkey), 0x503);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.num_sge = 1;
	req = posted_send(qp, &wr);
	assert_int_equal(req->opcode, VIRTIO_IB_WR_SEND_WITH_INV);
	assert_int_equal(le32toh(req->invalidate_rkey), 0x503);
	check_sges(req->sg_list, 1);
	drop_qp_and_cq(qp);
}

/* ibv_bind_mw() of type 1 changes the key, unless it cannot be posted. */
static void binds_windows(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_mw_bind bind = { .bind_info = window_info };
	struct ibv_mw mw = { .rkey = 0x5ff, .type = IBV_MW_TYPE_1 };
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	struct virtio_rdma_sq_req *req;

	assert_int_equal(virtio_roce_bind_mw(&qp->vqp.qp, &mw, &bind), EINVAL);
	assert_int_equal(mw.rkey, 0x5ff);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_MEM_WINDOW;
	assert_int_equal(virtio_roce_bind_mw(&qp->vqp.qp, &mw, &bind), 0);
	assert_int_equal(mw.rkey, 0x500);
	check_bind(fake_take(&fake.sq), 0x500);

	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, &mw, 0x501, &window_info);
	ibv_wr_local_inv(ex, 0x501);
	ibv_wr_send_inv(ex, 0x601);
	assert_int_equal(ibv_wr_complete(ex), 0);
	check_bind(fake_take(&fake.sq), 0x501);
	req = fake_take(&fake.sq);
	assert_int_equal(le32toh(req->invalidate_rkey), 0x501);
	req = fake_take(&fake.sq);
	assert_int_equal(le32toh(req->invalidate_rkey), 0x601);
	drop_qp_and_cq(qp);
}

static void builds_inline_and_ud(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_UD);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	struct virtio_roce_ah ah = { .num = 77 };
	struct ibv_data_buf bufs[] = {
		{ .addr = (void *)"RoCE", .length = 4 },
		{ .addr = NULL, .length = 0 },
		{ .addr = (void *)"virtio", .length = 6 },
	};
	struct virtio_rdma_sq_req *req;

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, &ah.ah, 1000, 2000);
	ibv_wr_set_inline_data_list(ex, 3, bufs);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, (void *)"x", 1);
	assert_int_equal(ibv_wr_complete(ex), 0);

	req = fake_take(&fake.sq);
	assert_int_equal(le32toh(req->ud.ah), 77);
	assert_int_equal(le32toh(req->ud.remote_qpn), 1000);
	assert_int_equal(le32toh(req->ud.remote_qkey), 2000);
	assert_int_equal(req->send_flags, VIRTIO_IB_SEND_INLINE);
	assert_int_equal(le16toh(req->inline_len), 10);
	assert_memory_equal(req->inline_data, "RoCEvirtio", 10);
	req = fake_take(&fake.sq);
	assert_int_equal(le16toh(req->inline_len), 1);
	assert_memory_equal(req->inline_data, "x", 1);
	drop_qp_and_cq(qp);
}

/* A datagram is one packet: what is longer than the MTU of the port is not posted. */
static void refuses_long_datagrams(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_UD);
	struct virtio_roce_ah ah = { .num = 77 };
	struct ibv_sge list[] = { { .length = 1000 }, { .length = 24 } };
	char data[300] = {};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = list,
		.num_sge = 2,
		.wr.ud.ah = &ah.ah,
	};

	posted_send(qp, &wr);
	list[1].length++;
	refused_send(qp, &wr, EINVAL);
	list[0].length = UINT32_MAX;
	refused_send(qp, &wr, EINVAL);
	list[0].length = 1000;

	/* The MTU has grown, and is asked for once. */
	fake.mtu = IBV_MTU_4096;
	fake.ports_asked = 0;
	posted_send(qp, &wr);
	posted_send(qp, &wr);
	assert_int_equal(fake.ports_asked, 1);
	list[0].length = 4096;
	refused_send(qp, &wr, EINVAL);

	/* Inline, on the smallest one. */
	fake.ctx.max_datagram = 0;
	fake.mtu = IBV_MTU_256;
	wr.send_flags = IBV_SEND_INLINE;
	wr.num_sge = 1;
	list[0] = (struct ibv_sge){ .addr = (uintptr_t)data, .length = 256 };
	posted_send(qp, &wr);
	list[0].length = 257;
	refused_send(qp, &wr, EINVAL);
	wr.num_sge = 0;
	posted_send(qp, &wr);

	/* Nothing is known: the device decides. */
	fake.fail = EIO;
	wr.num_sge = 1;
	posted_send(qp, &wr);
	fake.fail = 0;
	drop_qp_and_cq(qp);
}

static void refuses_long_datagrams_by_wr(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_UD);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	struct virtio_roce_ah ah = { .num = 77 };
	char data[300] = {};

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, &ah.ah, 1000, 2000);
	ibv_wr_set_sge(ex, 1, 2, 1025);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, &ah.ah, 1000, 2000);
	ibv_wr_set_sge(ex, 1, 2, 1024);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake_pending(&fake.sq), 1);

	fake.ctx.max_datagram = 0;
	fake.mtu = IBV_MTU_256;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, &ah.ah, 1000, 2000);
	ibv_wr_set_inline_data(ex, data, 257);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(fake_pending(&fake.sq), 1);
	drop_qp_and_cq(qp);
}

static void aborts(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	struct virtio_rdma_sq_req *req;

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	assert_int_equal(fake_pending(&fake.sq), 0);
	assert_int_equal(doorbells(&fake.sq), 0);

	ibv_wr_start(ex);
	ex->wr_id = 9;
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake_pending(&fake.sq), 1);
	req = fake_take(&fake.sq);
	assert_ptr_equal(req, fake.sq.slots);
	assert_int_equal(le64toh(req->wr_id), 9);
	drop_qp_and_cq(qp);
}

/* Each makes ibv_wr_complete() fail. */

static void wr_bad_opcode(struct ibv_qp_ex *ex)
{
	ex->qp_base.qp_type = IBV_QPT_UC;
	ibv_wr_rdma_read(ex, 1, 2);
	ex->qp_base.qp_type = IBV_QPT_RC;
}

static void wr_bad_flags(struct ibv_qp_ex *ex)
{
	ex->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_send(ex);
	ex->wr_flags = 0;
}

static void wr_many_sges(struct ibv_qp_ex *ex)
{
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, TEST_SGES + 1, sges);
}

static void wr_long_inline(struct ibv_qp_ex *ex)
{
	char data[VIRTIO_RDMA_INLINE_SIZE + 1];

	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, sizeof(data));
}

static void wr_inline_read(struct ibv_qp_ex *ex)
{
	ibv_wr_rdma_read(ex, 1, 2);
	ibv_wr_set_inline_data(ex, (void *)"x", 1);
}

static void wr_flush_of_no_type(struct ibv_qp_ex *ex)
{
	ibv_wr_flush(ex, 1, 2, 3, 0, IBV_FLUSH_RANGE);
}

static void wr_flush_of_bad_type(struct ibv_qp_ex *ex)
{
	ibv_wr_flush(ex, 1, 2, 3, 4, IBV_FLUSH_RANGE);
}

static void wr_flush_of_bad_level(struct ibv_qp_ex *ex)
{
	ibv_wr_flush(ex, 1, 2, 3, IBV_FLUSH_GLOBAL, 2);
}

static void wr_flush_too_long(struct ibv_qp_ex *ex)
{
	ibv_wr_flush(ex, 1, 2, (size_t)UINT32_MAX + 1, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE);
}

static void wr_flush_on_uc(struct ibv_qp_ex *ex)
{
	ex->qp_base.qp_type = IBV_QPT_UC;
	ibv_wr_flush(ex, 1, 2, 3, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ex->qp_base.qp_type = IBV_QPT_RC;
}

static void takes_all_back_after_an_error(void **state)
{
	void (*const bad[])(struct ibv_qp_ex *) = {
		wr_bad_opcode, wr_bad_flags, wr_many_sges, wr_long_inline,
		wr_inline_read, wr_flush_of_no_type, wr_flush_of_bad_type,
		wr_flush_of_bad_level, wr_flush_too_long, wr_flush_on_uc,
	};
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		bad[i](ex);
		/* These must not touch anything, nor hide the error. */
		ibv_wr_set_sge(ex, 1, 2, 3);
		ibv_wr_set_inline_data(ex, (void *)"x", 1);
		ibv_wr_set_ud_addr(ex, NULL, 1, 2);
		ibv_wr_send_imm(ex, 3);
		assert_int_equal(ibv_wr_complete(ex), EINVAL);
		assert_int_equal(fake_pending(&fake.sq), 0);
		assert_int_equal(doorbells(&fake.sq), 0);
	}

	ibv_wr_start(ex);
	for (i = 0; i < fake.depth + 1; i++)
		ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	assert_int_equal(fake_pending(&fake.sq), 0);
	drop_qp_and_cq(qp);
}

static void ignores_setters_without_request(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ibv_wr_start(ex);
	ibv_wr_set_sge(ex, 1, 2, 3);
	ibv_wr_set_inline_data(ex, (void *)"x", 1);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake_pending(&fake.sq), 0);
	drop_qp_and_cq(qp);
}

/* Two threads post, in both ways in turn, while the device takes requests. */

#define POSTERS		2
#define POSTS		20000

static int post_by_list(struct virtio_roce_qp *qp, uint64_t wr_id)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .wr_id = wr_id };
	struct ibv_send_wr *bad_wr;

	return post_send(qp, &wr, &bad_wr);
}

static int post_step_by_step(struct virtio_roce_qp *qp, uint64_t wr_id)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ibv_wr_send(ex);
	return ibv_wr_complete(ex);
}

static void *poster(void *arg)
{
	struct virtio_roce_qp *qp = arg;
	uint64_t wr_id = 0;
	int err;

	while (wr_id < POSTS) {
		err = wr_id % 2 ? post_by_list(qp, wr_id) :
				  post_step_by_step(qp, wr_id);
		if (!err)
			wr_id++;
		else if (err == ENOMEM)
			sched_yield();
		else
			return (void *)(intptr_t)err;
	}
	return NULL;
}

static void posts_from_threads(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	static unsigned char seen[POSTS];
	struct virtio_rdma_sq_req *req;
	pthread_t threads[POSTERS];
	unsigned int done = 0;
	uint64_t wr_id;
	void *err;
	int i;

	fake_share_mappings(&fake.sq, &qp->sq);
	memset(seen, 0, sizeof(seen));
	for (i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poster, qp),
				 0);
	while (done < POSTERS * POSTS) {
		if (!fake_pending(&fake.sq)) {
			sched_yield();
			continue;
		}
		req = fake_take(&fake.sq);
		wr_id = le64toh(req->wr_id);
		assert_true(wr_id < POSTS);
		assert_true(seen[wr_id]++ < POSTERS);
		/* A slot that was reused too early would still be in use. */
		req->wr_id = UINT64_MAX;
		fake_use_next(&fake.sq);
		done++;
	}
	for (i = 0; i < POSTERS; i++) {
		assert_int_equal(pthread_join(threads[i], &err), 0);
		assert_null(err);
	}
	drop_qp_and_cq(qp);
}

static const struct CMUnitTest tests[] = {
	TEST(translates_send),
	TEST(knows_opcodes_of_rc),
	TEST(knows_opcodes_of_uc),
	TEST(knows_opcodes_of_ud),
	TEST(translates_flags),
	TEST(bounds_sges),
	TEST(gathers_inline_data),
	TEST(translates_recv),
	TEST(counts_free_slots),
	TEST(wraps),
	TEST(survives_bad_used_index),
	TEST(heeds_states),
	TEST(posts_what_is_before_an_error),
	TEST(takes_empty_lists),
	TEST(rings_unless_told_not_to),
	TEST(rings_at_event_idx),
	TEST(rings_by_command),
	TEST(goes_on_after_reset),
	TEST(builds_each_request),
	TEST(builds_flush),
	TEST(translates_atomics),
	TEST(builds_atomics),
	TEST(translates_windows),
	TEST(binds_windows),
	TEST(builds_inline_and_ud),
	TEST(refuses_long_datagrams),
	TEST(refuses_long_datagrams_by_wr),
	TEST(aborts),
	TEST(takes_all_back_after_an_error),
	TEST(ignores_setters_without_request),
	TEST(posts_from_threads),
};

int run_post_tests(void)
{
	return cmocka_run_group_tests_name("post", tests, NULL, NULL);
}
