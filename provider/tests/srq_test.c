// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: requests, cookies, completions, QPs that go.
 */
#include <errno.h>
#include <sys/mman.h>

#include "cmd.h"
#include "util.h"

#define DEPTH	16

/**
 * struct fake_srq - an SRQ as the device sees it
 * @ring: its ring
 * @control: its control block
 * @depth: slots of the ring
 * @exists: SRQs that exist
 * @fail_late: what a resize says when it is done
 * @break_info: lets a test make its description wrong
 */
static struct fake_srq {
	uint8_t *ring;
	struct virtio_rdma_srq_control *control;
	uint32_t depth;
	int exists;
	int fail_late;
	void (*break_info)(struct virtio_roce_queue *info);
} fake_srq;

/* A ring as the kernel describes it. */
static void fake_srq_ring(struct virtio_roce_queue *info, uint32_t depth)
{
	*info = (struct virtio_roce_queue){
		.flags = VIRTIO_ROCE_QUEUE_DIRECT,
		.depth = depth,
		.stride = 64,
		.control_pos = 4096,
	};
	fake_srq.depth = depth;
	fake_srq.ring = fake_give(&info->slots_offset, &info->slots_len, 2 * 4096);
	info->control_offset = info->slots_offset;
	info->control_len = info->slots_len;
	fake_srq.control = (void *)(fake_srq.ring + info->control_pos);
	if (fake_srq.break_info)
		fake_srq.break_info(info);
}

/* Functions of libibverbs that the provider calls */

/* As the kernel and the device do together. */
int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
		       struct ibv_modify_srq *cmd, size_t cmd_size)
{
	struct uvirtio_roce_modify_srq *c =
		container_of(cmd, struct uvirtio_roce_modify_srq, ibv_cmd);
	const uint32_t producer = le32toh(fake_srq.control->producer);
	const struct fake_srq old = fake_srq;
	struct virtio_roce_create_srq_resp *resp;
	uint32_t pos, depth = 1;

	if (fake.fail)
		return fake.fail;
	if (!(mask & IBV_SRQ_MAX_WR)) {
		assert_int_equal(cmd_size, sizeof(*cmd));
		return 0;
	}
	assert_int_equal(cmd_size, sizeof(*c));
	assert_int_equal(c->drv_payload.resp_len, sizeof(*resp));
	resp = (void *)(uintptr_t)c->drv_payload.resp;
	fake_resizing(false);
	while (depth < attr->max_wr)
		depth *= 2;
	if (depth == old.depth)
		return 0;
	fake_srq_ring(&resp->srq, depth);
	for (pos = producer - (depth < old.depth ? depth : old.depth); pos != producer; pos++)
		memcpy(fake_srq.ring + pos % depth * 64, old.ring + pos % old.depth * 64, 64);
	fake_srq.control->producer = htole32(producer);
	memset(old.ring, 0xff, 64 * old.depth);
	fake_resizing(true);
	return fake_srq.fail_late;
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct uvirtio_roce_create_srq_resp *r =
		container_of(resp, struct uvirtio_roce_create_srq_resp,
			     ibv_resp);
	struct virtio_roce_queue *info = &r->drv_payload.srq;

	if (fake.fail)
		return fake.fail;
	assert_int_equal(resp_size, sizeof(*r));
	fake_srq_ring(info, DEPTH);
	srq->context = pd->context;
	attr->attr.max_wr = DEPTH;
	fake_srq.exists++;
	return 0;
}

int ibv_cmd_create_srq_ex(struct ibv_context *context, struct verbs_srq *srq,
			  struct ibv_srq_init_attr_ex *attr,
			  struct ibv_create_xsrq *cmd, size_t cmd_size,
			  struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct uvirtio_roce_create_xsrq_resp *r =
		container_of(resp, struct uvirtio_roce_create_xsrq_resp,
			     ibv_resp);

	if (fake.fail)
		return fake.fail;
	assert_int_equal(resp_size, sizeof(*r));
	fake_srq_ring(&r->drv_payload.srq, DEPTH);
	srq->srq.context = context;
	srq->srq_type = attr->srq_type;
	srq->cq = attr->cq;
	srq->xrcd = container_of(attr->xrcd, struct verbs_xrcd, xrcd);
	srq->srq_num = fake.srqn;
	attr->attr.max_wr = DEPTH;
	fake_srq.exists++;
	return 0;
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	if (fake.fail)
		return fake.fail;
	fake_srq.exists--;
	fake_destroyed();
	return 0;
}

/**
 * struct bed - an SRQ with a QP
 * @cq: its CQ
 * @srq: the SRQ
 * @qp: the QP, NULL once it is destroyed
 */
struct bed {
	struct virtio_roce_cq *cq;
	struct virtio_roce_srq *srq;
	struct virtio_roce_qp *qp;
};

static struct virtio_roce_srq *make_srq(void)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = DEPTH, .max_sge = 2 },
	};
	struct ibv_srq *srq = virtio_roce_create_srq(&fake.pd, &attr);

	return srq ? to_vsrq(srq) : NULL;
}

static struct virtio_roce_qp *make_shared_qp(struct bed *bed)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = &bed->cq->vcq.cq,
		.recv_cq = &bed->cq->vcq.cq,
		.srq = &bed->srq->vsrq.srq,
		.cap = { .max_send_wr = 5, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = virtio_roce_create_qp(&fake.pd, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	qp->state = IBV_QPS_RTS;
	return to_vqp(qp);
}

static struct bed bed_up(void)
{
	struct bed bed = { .cq = make_cq() };

	fake_srq.break_info = NULL;
	bed.srq = make_srq();
	assert_non_null(bed.srq);
	bed.qp = make_shared_qp(&bed);
	return bed;
}

static void bed_down(struct bed *bed)
{
	struct ibv_srq *srq = &bed->srq->vsrq.srq;

	if (bed->qp) {
		assert_int_equal(virtio_roce_destroy_srq(srq), EBUSY);
		drop_qp(bed->qp);
	}
	assert_int_equal(virtio_roce_destroy_srq(srq), 0);
	drop_cq(bed->cq);
	assert_int_equal(fake.qps + fake.cqs + fake_srq.exists, 0);
	/* Memory of the test, doorbell page and register. */
	assert_int_equal(count_maps(), 3);
}

/* The requested size of a receive queue has no meaning (ibv_create_qp(3)). */
static void srq_qp_ignores_receive_queue(void **state)
{
	struct bed bed = bed_up();
	struct ibv_qp_init_attr attr = {
		.send_cq = &bed.cq->vcq.cq,
		.recv_cq = &bed.cq->vcq.cq,
		.srq = &bed.srq->vsrq.srq,
		.cap = { .max_send_wr = 5, .max_send_sge = 1,
			 .max_recv_wr = 1 << 30, .max_recv_sge = 1000 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = virtio_roce_create_qp(&fake.pd, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	drop_qp(to_vqp(qp));
	/* But not for another QP. */
	attr.srq = NULL;
	attr.cap.max_recv_wr = 1 << 30;
	assert_null(virtio_roce_create_qp(&fake.pd, &attr));
	assert_int_equal(attr.cap.max_recv_wr, 1 << 30);
	bed_down(&bed);
}

static int post(struct bed *bed, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = 0x2000 + wr_id, .length = 100, .lkey = 8 };
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return virtio_roce_post_srq_recv(&bed->srq->vsrq.srq, &wr, &bad);
}

static const struct virtio_rdma_rwqe *slot(uint32_t index)
{
	return (void *)(fake_srq.ring + index % fake_srq.depth * 64);
}

static uint32_t cookie(uint32_t index)
{
	return le32toh(slot(index)->cookie);
}

static void complete(uint32_t name)
{
	const struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(TEST_QPN),
		.wqe = htole32(name),
		.byte_len = htole32(50),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV,
	};

	fake_direct_complete(&cqe);
}

static int poll_one(struct bed *bed, uint64_t *wr_id)
{
	struct ibv_wc wc;
	int n = virtio_roce_poll_cq(&bed->cq->vcq.cq, 1, &wc);

	*wr_id = wc.wr_id;
	return n;
}

static void expect(struct bed *bed, uint64_t wr_id)
{
	uint64_t got;

	assert_int_equal(poll_one(bed, &got), 1);
	assert_int_equal(got, wr_id);
}

static void srq_request(void **state)
{
	struct bed bed = bed_up();
	struct ibv_recv_wr *bad, wr = {};

	assert_int_equal(post(&bed, 5), 0);
	assert_int_equal(le32toh(slot(0)->num_sge), 1);
	assert_int_equal(le64toh(slot(0)->sg_list[0].addr), 0x2005);
	assert_int_equal(le32toh(slot(0)->sg_list[0].length), 100);
	assert_int_equal(le32toh(slot(0)->sg_list[0].lkey), 8);
	assert_int_equal(le32toh(fake_srq.control->producer), 1);
	/* Nothing is announced. */
	assert_int_equal(fake.page->words[0], 0);
	/* The QP has no receive queue of its own. */
	assert_int_equal(virtio_roce_post_recv(&bed.qp->vqp.qp, &wr, &bad), EINVAL);
	wr.num_sge = 3;
	assert_int_equal(virtio_roce_post_srq_recv(&bed.srq->vsrq.srq, &wr, &bad),
			 EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(le32toh(fake_srq.control->producer), 1);
	bed_down(&bed);
}

/* Requests complete in any order, each once. */
static void srq_out_of_order(void **state)
{
	struct bed bed = bed_up();
	uint32_t round, i, names[DEPTH];

	for (round = 0; round < 10; round++) {
		for (i = 0; i < DEPTH; i++) {
			assert_int_equal(post(&bed, 100 * round + i), 0);
			names[i] = cookie(DEPTH * round + i);
		}
		assert_int_equal(post(&bed, 1), ENOMEM);
		for (i = DEPTH; i--; )
			complete(names[i]);
		for (i = DEPTH; i--; )
			expect(&bed, 100 * round + i);
	}
	bed_down(&bed);
}

/* The slot of a request under way is used again, its cookie is not. */
static void srq_one_under_way(void **state)
{
	struct bed bed = bed_up();
	uint32_t i, first;

	assert_int_equal(post(&bed, 7), 0);
	first = cookie(0);
	for (i = 1; i < 5 * DEPTH; i++) {
		assert_int_equal(post(&bed, 1000 + i), 0);
		assert_int_not_equal(cookie(i), first);
		complete(cookie(i));
		expect(&bed, 1000 + i);
	}
	complete(first);
	expect(&bed, 7);
	bed_down(&bed);
}

static void break_depth(struct virtio_roce_queue *info)
{
	info->depth = 17;
}

static void break_stride(struct virtio_roce_queue *info)
{
	info->stride = 32;
}

static void break_control(struct virtio_roce_queue *info)
{
	info->control_pos = 2 * 4096;
}

static void break_mapping(struct virtio_roce_queue *info)
{
	info->control_offset += 4096;
}

static int resize(struct bed *bed, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };

	return virtio_roce_modify_srq(&bed->srq->vsrq.srq, &attr, IBV_SRQ_MAX_WR);
}

/* Requests stay where they are counted, and cookies are those of requests. */
static void srq_resizes(void **state)
{
	static const uint32_t depths[] = { 64, 8, 32, 4, 2, 16 };
	uint32_t i, next = 0, first = 0, names[256];
	struct bed bed = bed_up();

	fake.ctx.device_caps = VIRTIO_IB_DEVICE_SRQ_RESIZE;
	for (i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		/* So many are left as fit into the new ring, and one too many before. */
		for (; next - first > depths[i]; first++) {
			assert_int_equal(resize(&bed, depths[i]), EINVAL);
			complete(names[first]);
			expect(&bed, first);
		}
		assert_int_equal(resize(&bed, depths[i]), 0);
		assert_int_equal(bed.srq->vq.ring.depth, depths[i]);
		for (; next - first < depths[i]; next++) {
			assert_int_equal(post(&bed, next), 0);
			names[next] = cookie(next);
		}
		assert_int_equal(post(&bed, 0), ENOMEM);
		assert_int_equal(le32toh(fake_srq.control->producer), next);
	}
	/* In any order. */
	while (next != first) {
		complete(names[--next]);
		expect(&bed, next);
	}
	/* One ring is mapped. */
	bed_down(&bed);
}

/* An SRQ that is resized, and a thread that posts to it. */
static struct bed busy;
static struct helper busy_helper;
static uint32_t busy_names[2];

static void post_one_more(void)
{
	assert_int_equal(post(&busy, 100), 0);
}

/*
 * While the command runs requests complete, and threads that poll do not spin.  The kernel
 * has copied the requests, so one that is posted waits for the new ring.
 */
static void use_meanwhile(bool done)
{
	assert_int_equal(__atomic_load_n(&busy.srq->vq.lock, __ATOMIC_RELAXED), 0);
	complete(busy_names[done]);
	expect(&busy, done);
	if (done)
		helper_start(&busy_helper, post_one_more);
}

static void srq_resized_from_threads(void **state)
{
	uint32_t i;

	busy = bed_up();
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_SRQ_RESIZE;
	for (i = 0; i < 5; i++)
		assert_int_equal(post(&busy, i), 0);
	busy_names[0] = cookie(0);
	busy_names[1] = cookie(1);
	fake.at_resize = use_meanwhile;
	assert_int_equal(resize(&busy, 32), 0);
	fake.at_resize = NULL;
	helper_join(&busy_helper);
	assert_int_equal(le32toh(fake_srq.control->producer), 6);
	assert_int_equal(le64toh(slot(5)->sg_list[0].addr), 0x2000 + 100);
	for (i = 2; i < 6; i++) {
		complete(cookie(i));
		expect(&busy, i < 5 ? i : 100);
	}
	bed_down(&busy);
}

/* The SRQ goes on as it was. */
static void srq_resize_refused(void **state)
{
	struct bed bed = bed_up();
	unsigned int i;

	fake.ctx.device_caps = 0;
	assert_int_equal(resize(&bed, 32), EOPNOTSUPP);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_SRQ_RESIZE;
	assert_int_equal(resize(&bed, 0), EINVAL);
	assert_int_equal(resize(&bed, 32769), EINVAL);
	fake.fail = EIO;
	assert_int_equal(resize(&bed, 32), EIO);
	fake.fail = 0;
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(post(&bed, i), 0);
	assert_int_equal(post(&bed, i), ENOMEM);
	for (i = 0; i < DEPTH; i++) {
		complete(cookie(i));
		expect(&bed, i);
	}
	bed_down(&bed);
}

/* The ring is another one, though the verb failed. */
static void srq_resized_and_failed(void **state)
{
	struct bed bed = bed_up();

	fake.ctx.device_caps = VIRTIO_IB_DEVICE_SRQ_RESIZE;
	assert_int_equal(post(&bed, 0), 0);
	fake_srq.fail_late = EIO;
	assert_int_equal(resize(&bed, 32), EIO);
	fake_srq.fail_late = 0;
	assert_int_equal(post(&bed, 1), 0);
	complete(cookie(0));
	complete(cookie(1));
	expect(&bed, 0);
	expect(&bed, 1);

	/* It cannot be mapped: a request would never be seen. */
	fake_srq.break_info = break_stride;
	assert_int_equal(resize(&bed, 64), EPROTO);
	fake_srq.break_info = NULL;
	assert_int_equal(post(&bed, 2), ENOMEM);
	bed_down(&bed);
}

/* A device that names a request that is not posted harms this SRQ only. */
static void srq_nonsense(void **state)
{
	struct bed bed = bed_up();
	uint64_t wr_id;
	unsigned int i;

	for (i = 0; i < 2 * DEPTH; i++) {
		complete(0xffffff00 + i);
		assert_int_equal(poll_one(&bed, &wr_id), 1);
	}
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(post(&bed, i), 0);
	assert_int_equal(post(&bed, i), ENOMEM);
	bed_down(&bed);
}

/* Completions that nobody polls give their requests back when the QP goes. */
static void srq_qp_goes(void **state)
{
	struct bed bed = bed_up();
	uint64_t wr_id;
	unsigned int i;

	for (i = 0; i < DEPTH; i++)
		assert_int_equal(post(&bed, i), 0);
	for (i = 0; i < DEPTH; i++)
		complete(cookie(i));
	drop_qp(bed.qp);
	bed.qp = NULL;
	assert_int_equal(poll_one(&bed, &wr_id), 0);
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(post(&bed, i), 0);
	assert_int_equal(post(&bed, i), ENOMEM);
	bed_down(&bed);
}

/* The same holds for completions that are polled while the QP goes. */
static void srq_qp_is_gone(void **state)
{
	struct bed bed = bed_up();
	uint64_t wr_id;
	unsigned int i;

	for (i = 0; i < DEPTH; i++)
		assert_int_equal(post(&bed, i), 0);
	bed.qp->rq.gone = true;
	for (i = 0; i < DEPTH; i++)
		complete(cookie(i));
	assert_int_equal(poll_one(&bed, &wr_id), 0);
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(post(&bed, i), 0);
	bed_down(&bed);
}

/* A description that cannot be used is refused, and nothing is left. */
static void srq_unusable(void **state)
{
	void (*const breaks[])(struct virtio_roce_queue *info) = {
		break_depth, break_stride, break_control, break_mapping,
	};
	unsigned int i, maps = count_maps();

	for (i = 0; i < sizeof(breaks) / sizeof(*breaks); i++) {
		fake_srq.break_info = breaks[i];
		errno = 0;
		assert_null(make_srq());
		assert_int_equal(errno, EPROTO);
	}
	fake_srq.break_info = NULL;
	fake.fail = ENOMEM;
	assert_null(make_srq());
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(fake_srq.exists, 0);
	assert_int_equal(count_maps(), maps);
}

int run_srq_tests(void)
{
	const struct CMUnitTest srq[] = {
		TEST_DIRECT(srq_qp_ignores_receive_queue),
		TEST_DIRECT(srq_request),
		TEST_DIRECT(srq_out_of_order),
		TEST_DIRECT(srq_resizes),
		TEST_DIRECT(srq_resized_from_threads),
		TEST_DIRECT(srq_resize_refused),
		TEST_DIRECT(srq_resized_and_failed),
		TEST_DIRECT(srq_one_under_way),
		TEST_DIRECT(srq_nonsense),
		TEST_DIRECT(srq_qp_goes),
		TEST_DIRECT(srq_qp_is_gone),
		TEST_DIRECT(srq_unusable),
	};

	return cmocka_run_group_tests(srq, NULL, NULL);
}
