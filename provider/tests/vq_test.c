// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creating, changing and destroying CQs and QPs, and the mappings behind them.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ccan/array_size.h>

#include "util.h"

static void creates_and_unmaps(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);

	/* ours, three of the CQ, eight of the QP */
	assert_int_equal(count_maps(), 1 + 3 + 4 + 4);
	drop_qp_and_cq(qp);
	assert_int_equal(fake.qps, 0);
	assert_int_equal(fake.cqs, 0);
}

static void maps_no_more_than_allowed(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);

	assert_false(is_writable(cq->vq.ring.slots));
	assert_true(is_writable(cq->vq.ring.avail));
	assert_false(is_writable(cq->vq.ring.used));
	assert_null(cq->vq.doorbell);
	assert_true(is_writable(qp->sq.ring.slots));
	assert_true(is_writable(qp->sq.ring.avail));
	assert_false(is_writable(qp->sq.ring.used));
	assert_true(is_writable(qp->sq.doorbell));
	drop_qp_and_cq(qp);
}

static void needs_no_doorbell(void **state)
{
	struct virtio_roce_qp *qp;

	fake.flags = 0;
	qp = make_qp(IBV_QPT_RC);
	assert_null(qp->sq.doorbell);
	assert_int_equal(count_maps(), 1 + 3 + 3 + 3);
	drop_qp_and_cq(qp);
}

static void tells_what_it_got(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_qp_init_attr attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.cap = { .max_send_wr = 5, .max_recv_wr = 3,
			 .max_send_sge = 2, .max_recv_sge = 1,
			 .max_inline_data = 4096 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *ibqp;

	ibqp = virtio_roce_create_qp(&fake.pd, &attr);
	assert_non_null(ibqp);
	/* More than there are slots: kernel and device may agree on that. */
	assert_int_equal(cq->vcq.cq.cqe, TEST_CQE);
	assert_int_equal(attr.cap.max_send_wr, 8);
	assert_int_equal(attr.cap.max_recv_wr, 8);
	assert_int_equal(attr.cap.max_send_sge, TEST_SGES);
	assert_int_equal(attr.cap.max_recv_sge, TEST_SGES);
	assert_int_equal(attr.cap.max_inline_data, VIRTIO_RDMA_INLINE_SIZE);
	assert_int_equal(ibqp->qp_num, TEST_QPN);
	/* ibv_qp_to_qp_ex() must fail on it. */
	assert_false(to_vqp(ibqp)->vqp.comp_mask & VERBS_QP_EX);
	drop_qp_and_cq(to_vqp(ibqp));
}

static void commands_may_fail(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_qp_init_attr attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct virtio_roce_qp *qp;
	struct ibv_wc wc;

	fake.fail = ENOSPC;
	assert_null(virtio_roce_create_cq(fake.pd.context, 1, NULL, 0));
	assert_int_equal(errno, ENOSPC);
	assert_null(virtio_roce_create_qp(&fake.pd, &attr));
	assert_int_equal(errno, ENOSPC);
	fake.fail = 0;

	/* A QP that the kernel fails to destroy is unusable, but harmless. */
	qp = make_qp_on(cq, IBV_QPT_RC);
	fake.fail = EIO;
	assert_int_equal(virtio_roce_destroy_qp(&qp->vqp.qp), EIO);
	assert_int_equal(count_maps(), 1 + 3);
	assert_int_equal(virtio_roce_post_send(&qp->vqp.qp, &send, &bad_send),
			 ENOMEM);
	assert_int_equal(virtio_roce_post_recv(&qp->vqp.qp, &recv, &bad_recv),
			 ENOMEM);
	fake.fail = 0;
	assert_int_equal(virtio_roce_modify_qp(&qp->vqp.qp, &reset,
					       IBV_QP_STATE), 0);
	drop_qp(qp);

	fake.fail = EIO;
	assert_int_equal(virtio_roce_destroy_cq(&cq->vcq.cq), EIO);
	assert_int_equal(count_maps(), 1);
	assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 1, &wc), 0);
	virtio_roce_cq_drop_qp(cq, TEST_QPN, NULL);
	fake.fail = 0;
	drop_cq(cq);
}

static void keeps_cq_in_use(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct virtio_roce_qp *qp2 = make_qp_on(cq, IBV_QPT_RC);
	struct ibv_wc wc;

	fake_complete(1, 99);
	assert_int_equal(virtio_roce_destroy_cq(&cq->vcq.cq), EBUSY);
	drop_qp(qp);
	assert_int_equal(virtio_roce_destroy_cq(&cq->vcq.cq), EBUSY);
	assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 1, &wc), 1);
	drop_qp_and_cq(qp2);
}

/* The kernel refuses to destroy it, and it sends and receives as before. */
static void keeps_qp_in_group(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_UD);
	struct ibv_qp *ibqp = &qp->vqp.qp;
	const union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 1 } };
	struct ibv_recv_wr recv = {}, *bad_recv;
	unsigned int maps = count_maps();

	assert_int_equal(virtio_roce_attach_mcast(ibqp, &group, 0), 0);
	assert_int_equal(virtio_roce_attach_mcast(ibqp, &group, 0), 0);
	assert_int_equal(virtio_roce_destroy_qp(ibqp), EBUSY);
	assert_int_equal(count_maps(), maps);
	assert_false(qp->sq.gone || qp->rq.gone);
	assert_int_equal(virtio_roce_post_recv(ibqp, &recv, &bad_recv), 0);

	/* It was attached twice, but to one group.  So it is in none now. */
	assert_int_equal(virtio_roce_detach_mcast(ibqp, &group, 0), 0);
	assert_int_equal(virtio_roce_detach_mcast(ibqp, &group, 0), EINVAL);
	drop_qp_and_cq(qp);
}

/* Only where the device promises it, and only for what has data. */
static void data_in_order_if_device_says_so(void **state)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		int expected;
	} ops[] = {
		{ IBV_WR_RDMA_WRITE, 1 }, { IBV_WR_RDMA_WRITE_WITH_IMM, 1 },
		{ IBV_WR_SEND, 1 }, { IBV_WR_RDMA_READ, 1 },
		{ IBV_WR_SEND_WITH_INV, 1 }, { IBV_WR_LOCAL_INV, 0 },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, 0 }, { 99, 0 },
	};
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		fake.ctx.device_caps = ~(uint64_t)VIRTIO_IB_DEVICE_DATA_IN_ORDER;
		assert_int_equal(virtio_roce_query_qp_data_in_order(&qp->vqp.qp,
								    ops[i].opcode, 0), 0);
		fake.ctx.device_caps = VIRTIO_IB_DEVICE_DATA_IN_ORDER;
		assert_int_equal(virtio_roce_query_qp_data_in_order(&qp->vqp.qp,
								    ops[i].opcode, 0),
				 ops[i].expected);
	}
	drop_qp_and_cq(qp);
}

static void unmaps_before_it_destroys(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);

	drop_qp(qp);
	assert_int_equal(fake.maps_at_destroy, 1 + 3);
	drop_cq(cq);
	assert_int_equal(fake.maps_at_destroy, 1);
}

static void num_0(struct virtio_roce_queue *info)
{
	info->num = 0;
}

static void num_odd(struct virtio_roce_queue *info)
{
	info->num = 15;
}

static void num_large(struct virtio_roce_queue *info)
{
	info->num = 65536;
	info->used_len = info->num * 8 + 6;
	info->avail_len = info->num * 2 + 6;
}

static void depth_0(struct virtio_roce_queue *info)
{
	info->depth = 0;
}

static void depth_odd(struct virtio_roce_queue *info)
{
	info->depth = 7;
}

static void depth_above_num(struct virtio_roce_queue *info)
{
	info->depth = info->num * 2;
}

static void stride_small(struct virtio_roce_queue *info)
{
	info->stride -= 8;
}

static void stride_unaligned(struct virtio_roce_queue *info)
{
	info->stride += 4;
}

static void slots_small(struct virtio_roce_queue *info)
{
	info->slots_len = info->depth * info->stride - 1;
}

static void avail_small(struct virtio_roce_queue *info)
{
	info->avail_len = 4 + 2 * info->num + 1;
}

static void used_small(struct virtio_roce_queue *info)
{
	info->used_len = 4 + 8 * info->num + 1;
}

static void slots_nowhere(struct virtio_roce_queue *info)
{
	info->slots_offset = 1;
}

static void used_nowhere(struct virtio_roce_queue *info)
{
	info->used_offset = 1;
}

static void (*const bad_infos[])(struct virtio_roce_queue *) = {
	num_0, num_odd, num_large, depth_0, depth_odd, depth_above_num,
	stride_small, stride_unaligned, slots_small, avail_small, used_small,
	slots_nowhere, used_nowhere,
};

static void refuses_bad_cqs(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad_infos); i++) {
		fake.break_info = bad_infos[i];
		errno = 0;
		assert_null(virtio_roce_create_cq(fake.pd.context, 5, NULL, 0));
		assert_int_not_equal(errno, 0);
		assert_int_equal(fake.cqs, 0);
		assert_int_equal(count_maps(), 1);
	}
}

static void refuses_bad_qps(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_qp_init_attr attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.qp_type = IBV_QPT_RC,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad_infos); i++) {
		fake.break_info = bad_infos[i];
		errno = 0;
		assert_null(virtio_roce_create_qp(&fake.pd, &attr));
		assert_int_not_equal(errno, 0);
		assert_int_equal(fake.qps, 0);
		assert_int_equal(count_maps(), 1 + 3);
	}
	fake.break_info = NULL;
	drop_cq(cq);
}

static void break_rq(struct virtio_roce_queue *info)
{
	static unsigned int calls;

	if (calls++ % 2)
		info->doorbell_offset = 1;
}

static void unmaps_sq_without_rq(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_qp_init_attr attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.qp_type = IBV_QPT_RC,
	};

	fake.break_info = break_rq;
	assert_null(virtio_roce_create_qp(&fake.pd, &attr));
	assert_int_equal(count_maps(), 1 + 3);
	fake.break_info = NULL;
	drop_cq(cq);
}

static void doorbell_odd(struct virtio_roce_queue *info)
{
	info->doorbell_pos = 1;
}

static void doorbell_outside(struct virtio_roce_queue *info)
{
	info->doorbell_pos = info->doorbell_len;
}

static void doorbell_nowhere(struct virtio_roce_queue *info)
{
	info->doorbell_offset = 1;
}

static void refuses_bad_doorbells(void **state)
{
	void (*const bad[])(struct virtio_roce_queue *) = {
		doorbell_odd, doorbell_outside, doorbell_nowhere,
	};
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_qp_init_attr attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.qp_type = IBV_QPT_RC,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fake.break_info = bad[i];
		assert_null(virtio_roce_create_qp(&fake.pd, &attr));
		assert_int_equal(count_maps(), 1 + 3);
	}
	fake.break_info = NULL;
	drop_cq(cq);
}

static void refuses_unknown_cq_attributes(void **state)
{
	struct ibv_cq_init_attr_ex attrs[] = {
		{ .cqe = 1, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP },
		{ .cqe = 1, .comp_mask = 1 << 5 },
		{ .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		  .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		errno = 0;
		assert_null(virtio_roce_create_cq_ex(fake.pd.context,
						     &attrs[i]));
		assert_int_equal(errno, EOPNOTSUPP);
	}
}

static void takes_known_cq_attributes(void **state)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *ex;

	ex = virtio_roce_create_cq_ex(fake.pd.context, &attr);
	assert_non_null(ex);
	assert_true(to_vcq_ex(ex)->vq.unlocked);
	drop_cq(to_vcq_ex(ex));
}

/* Objects of a parent domain have no locks if it has a thread domain. */
static void knows_parent_domains(void **state)
{
	struct ibv_context *context = fake.pd.context;
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = { .pd = &fake.pd };
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};
	struct ibv_td *td = virtio_roce_alloc_td(context, &td_attr);
	struct ibv_pd *plain, *single;
	struct ibv_cq_ex *ex;

	assert_non_null(td);
	plain = virtio_roce_alloc_parent_domain(context, &attr);
	attr.td = td;
	single = virtio_roce_alloc_parent_domain(context, &attr);
	assert_non_null(plain);
	assert_non_null(single);
	assert_int_equal(single->handle, fake.pd.handle);
	assert_int_equal(virtio_roce_dealloc_td(td), EBUSY);
	assert_int_equal(virtio_roce_dealloc_pd(&fake.pd), EBUSY);
	attr.pd = plain;
	assert_null(virtio_roce_alloc_parent_domain(context, &attr));
	assert_int_equal(errno, EINVAL);

	cq_attr.parent_domain = plain;
	ex = virtio_roce_create_cq_ex(context, &cq_attr);
	assert_non_null(ex);
	assert_false(to_vcq_ex(ex)->vq.unlocked);
	drop_cq(to_vcq_ex(ex));
	cq_attr.parent_domain = single;
	ex = virtio_roce_create_cq_ex(context, &cq_attr);
	assert_non_null(ex);
	assert_true(to_vcq_ex(ex)->vq.unlocked);
	drop_cq(to_vcq_ex(ex));

	assert_int_equal(virtio_roce_dealloc_pd(single), 0);
	assert_int_equal(virtio_roce_dealloc_td(td), 0);
	assert_int_equal(virtio_roce_dealloc_pd(plain), 0);
	assert_int_equal(fake.vpd.users, 0);
}

static void refuses_unknown_qp_attributes(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_srq srq = {};
	struct ibv_qp_init_attr_ex attrs[] = {
		{ .comp_mask = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		  .qp_type = IBV_QPT_UD },
		{ .comp_mask = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  .qp_type = IBV_QPT_RC,
		  .send_ops_flags = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP },
		{ .comp_mask = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  .qp_type = IBV_QPT_UC,
		  .send_ops_flags = IBV_QP_EX_WITH_RDMA_READ },
		{ .comp_mask = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  .qp_type = IBV_QPT_UD,
		  .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE },
		{ .comp_mask = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  .qp_type = IBV_QPT_UC,
		  .send_ops_flags = IBV_QP_EX_WITH_FLUSH },
		{ .comp_mask = IBV_QP_INIT_ATTR_PD, .qp_type = IBV_QPT_RC,
		  .srq = &srq },
		{ .comp_mask = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  .qp_type = IBV_QPT_UD,
		  .create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		attrs[i].pd = &fake.pd;
		attrs[i].send_cq = &cq->vcq.cq;
		attrs[i].recv_cq = &cq->vcq.cq;
		errno = 0;
		assert_null(virtio_roce_create_qp_ex(fake.pd.context,
						     &attrs[i]));
		assert_int_equal(errno, EOPNOTSUPP);
	}
	drop_cq(cq);
}

/* Attributes that the mask does not name may have any value. */
static void takes_known_qp_attributes(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_qp_init_attr_ex attrs[] = {
		{ .comp_mask = IBV_QP_INIT_ATTR_PD,
		  .create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB },
		{ .comp_mask = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS },
	};
	struct ibv_qp *ibqp;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		attrs[i].pd = &fake.pd;
		attrs[i].qp_type = IBV_QPT_RC;
		attrs[i].send_cq = &cq->vcq.cq;
		attrs[i].recv_cq = &cq->vcq.cq;
		ibqp = virtio_roce_create_qp_ex(fake.pd.context, &attrs[i]);
		assert_non_null(ibqp);
		drop_qp(to_vqp(ibqp));
	}
	drop_cq(cq);
}

/* Do as the kernel does with mappings of queues, and hold the lock as a user would. */
static void fork_without(struct virtio_roce_vq *vq)
{
	unsigned int i;

	for (i = 0; i < vq->parts; i++)
		assert_int_equal(madvise(vq->part[i].addr, vq->part[i].len,
					 MADV_DONTFORK), 0);
	vq_lock(vq);
}

/* Calls everything that a child may call; returns how many results were wrong. */
static int use_as_child(struct virtio_roce_qp *qp, struct virtio_roce_cq *cq)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_recv_wr recv = {}, *bad_recv = NULL;
	struct ibv_cq_ex *cq_ex = &cq->vcq.cq_ex;
	struct ibv_qp_ex *qp_ex = &qp->vqp.qp_ex;
	struct ibv_poll_cq_attr poll = {};
	struct ibv_modify_cq_attr moderate = {};
	struct ibv_qp *ibqp = &qp->vqp.qp;
	struct ibv_cq *ibcq = &cq->vcq.cq;
	unsigned int maps = count_maps();
	struct virtio_roce_qp *own;
	struct ibv_wc wc;
	int wrong = 0;

	alarm(30);
	wrong += virtio_roce_post_send(ibqp, &send, &bad_send) != EFAULT;
	wrong += bad_send != &send;
	wrong += virtio_roce_post_recv(ibqp, &recv, &bad_recv) != EFAULT;
	wrong += bad_recv != &recv;
	ibv_wr_start(qp_ex);
	ibv_wr_send(qp_ex);
	ibv_wr_set_sge(qp_ex, 1, 2, 3);
	wrong += ibv_wr_complete(qp_ex) != EFAULT;
	ibv_wr_start(qp_ex);
	ibv_wr_send(qp_ex);
	ibv_wr_abort(qp_ex);
	wrong += virtio_roce_post_send(ibqp, &send, &bad_send) != EFAULT;

	wrong += virtio_roce_poll_cq(ibcq, 1, &wc) != -EFAULT;
	wrong += ibv_start_poll(cq_ex, &poll) != EFAULT;
	wrong += virtio_roce_req_notify_cq(ibcq, 0) != EFAULT;
	wrong += virtio_roce_resize_cq(ibcq, 1) != EFAULT;
	wrong += virtio_roce_modify_cq(ibcq, &moderate) != EFAULT;
	wrong += virtio_roce_modify_qp(ibqp, &attr, IBV_QP_STATE) != EFAULT;
	wrong += virtio_roce_destroy_qp(ibqp) != EFAULT;
	wrong += virtio_roce_destroy_cq(ibcq) != EFAULT;

	/* A QP that the child creates works; its CQ is the parent's. */
	own = make_qp_on(cq, IBV_QPT_RC);
	wrong += virtio_roce_post_send(&own->vqp.qp, &send, &bad_send) != 0;
	wrong += virtio_roce_destroy_qp(&own->vqp.qp) != 0;
	wrong += count_maps() != maps;
	return wrong;
}

static void child_cannot_use_queues(void **state)
{
	struct virtio_roce_qp *qp = make_qp(IBV_QPT_RC);
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	const struct fake_vq sq = fake.sq, rq = fake.rq;
	struct ibv_wc wc;
	int status;
	pid_t child;

	fork_without(&qp->sq);
	fork_without(&qp->rq);
	fork_without(&cq->vq);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(use_as_child(qp, cq));
	vq_unlock(&qp->sq);
	vq_unlock(&qp->rq);
	vq_unlock(&cq->vq);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);

	/* The parent is not affected. */
	assert_int_equal(fake_pending(&sq), 0);
	assert_int_equal(fake_pending(&rq), 0);
	assert_int_equal(virtio_roce_post_send(&qp->vqp.qp, &send, &bad_send),
			 0);
	assert_int_equal(fake_pending(&sq), 1);
	fake_complete(5, TEST_QPN);
	assert_int_equal(virtio_roce_poll_cq(&cq->vcq.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 5);
	drop_qp_and_cq(qp);
}

static void knows_send_ops(void **state)
{
	uint64_t send = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	uint64_t write = IBV_QP_EX_WITH_RDMA_WRITE |
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_RC),
			 send | write | IBV_QP_EX_WITH_RDMA_READ |
			 IBV_QP_EX_WITH_FLUSH);
	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_UC), send | write);
	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_UD), send);
	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_RAW_PACKET),
			 IBV_QP_EX_WITH_SEND);
	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_DRIVER), 0);

	/* Not every device can flush. */
	fake.ctx.device_caps = 0;
	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_RC),
			 send | write | IBV_QP_EX_WITH_RDMA_READ);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_ATOMIC;
	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_RC),
			 send | write | IBV_QP_EX_WITH_RDMA_READ |
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_ATOMIC_WRITE;
	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_RC),
			 send | write | IBV_QP_EX_WITH_RDMA_READ |
			 IBV_QP_EX_WITH_ATOMIC_WRITE);
	assert_int_equal(virtio_roce_send_ops(&fake.ctx, IBV_QPT_UC), send | write);
}

static const struct CMUnitTest tests[] = {
	TEST(creates_and_unmaps),
	TEST(maps_no_more_than_allowed),
	TEST(needs_no_doorbell),
	TEST(tells_what_it_got),
	TEST(commands_may_fail),
	TEST(keeps_cq_in_use),
	TEST(keeps_qp_in_group),
	TEST(data_in_order_if_device_says_so),
	TEST(unmaps_before_it_destroys),
	TEST(refuses_bad_cqs),
	TEST(refuses_bad_qps),
	TEST(unmaps_sq_without_rq),
	TEST(refuses_bad_doorbells),
	TEST(refuses_unknown_cq_attributes),
	TEST(takes_known_cq_attributes),
	TEST(knows_parent_domains),
	TEST(refuses_unknown_qp_attributes),
	TEST(takes_known_qp_attributes),
	TEST(child_cannot_use_queues),
	TEST(knows_send_ops),
};

int run_vq_tests(void)
{
	return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
