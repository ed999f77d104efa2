// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util.h"

#include "cmd.h"

#define MEM_NAME	"fake_kernel_memory"
#define MEM_SIZE	(2 << 20)
#define PAGE		4096
#define UNUSED		0xa5

struct fake fake;

int fake_setup(void **state)
{
	int fd;

	memset(&fake, 0, sizeof(fake));
	fd = memfd_create(MEM_NAME, 0);
	if (fd < 0 || ftruncate(fd, MEM_SIZE))
		return -1;
	fake.mem = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			0);
	if (fake.mem == MAP_FAILED)
		return -1;

	fake.ctx.vctx.context.device = &fake.device;
	fake.ctx.vctx.context.cmd_fd = fd;
	fake.ctx.vctx.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	fake.ctx.max_inline_data = VIRTIO_RDMA_INLINE_SIZE;
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_FLUSH;
	pthread_mutex_init(&fake.ctx.qp_mutex, NULL);
	fake.pd.context = &fake.ctx.vctx.context;
	fake.mtu = IBV_MTU_1024;
	fake.qpn = TEST_QPN;
	fake.num = 16;
	fake.depth = 8;
	fake.flags = VIRTIO_ROCE_QUEUE_DOORBELL;
	return 0;
}

int fake_setup_direct(void **state)
{
	int err = fake_setup(state);

	fake.ctx.features = VIRTIO_ROCE_FEATURE_DIRECT;
	fake.depth = 16;
	return err;
}

int fake_teardown(void **state)
{
	virtio_roce_doorbell_free(&fake.ctx);
	pthread_mutex_destroy(&fake.ctx.qp_mutex);
	munmap(fake.mem, MEM_SIZE);
	return close(fake.ctx.vctx.context.cmd_fd);
}

/*
 * Give out whole pages, of which only the first @len bytes may be touched.  The
 * page behind them keeps mappings from being joined.
 */
uint8_t *fake_give(__u64 *offset, __u32 *size, size_t len)
{
	uint8_t *p = fake.mem + fake.mem_used;

	*offset = fake.mem_used;
	*size = (len + PAGE - 1) / PAGE * PAGE;
	fake.mem_used += *size + PAGE;
	assert_true(fake.mem_used <= MEM_SIZE);
	memset(p, 0, len);
	memset(p + len, UNUSED, *size - len);
	return p;
}

static size_t avail_size(const struct virtio_roce_queue *info)
{
	return offsetof(struct vring_avail, ring[info->num]) + 2;
}

static size_t used_size(const struct virtio_roce_queue *info)
{
	return offsetof(struct vring_used, ring[info->num]) + 2;
}

/* The last word of the mapping of the used ring. */
uint32_t *fake_alive(struct fake_vq *vq)
{
	return (void *)(fake.mem + vq->info.used_offset + vq->info.used_len -
			sizeof(uint32_t));
}

static void fake_vq_create(struct fake_vq *vq, struct virtio_roce_queue *info,
			   uint32_t stride)
{
	memset(vq, 0, sizeof(*vq));
	vq->info.num = fake.num;
	vq->info.depth = fake.depth;
	vq->info.stride = stride;
	vq->info.flags = fake.flags;
	vq->slots = fake_give(&vq->info.slots_offset, &vq->info.slots_len,
			 fake.depth * stride);
	vq->avail = (void *)fake_give(&vq->info.avail_offset, &vq->info.avail_len,
				 avail_size(&vq->info));
	vq->used = (void *)fake_give(&vq->info.used_offset, &vq->info.used_len,
				used_size(&vq->info));
	if (fake.flags & VIRTIO_ROCE_QUEUE_ALIVE)
		*fake_alive(vq) = 1;
	if (fake.flags & VIRTIO_ROCE_QUEUE_DOORBELL) {
		vq->info.doorbell_pos = 16;
		vq->info.doorbell_value = 0x1234;
		vq->doorbell = (void *)(fake_give(&vq->info.doorbell_offset,
					     &vq->info.doorbell_len, PAGE) +
					vq->info.doorbell_pos);
	}
	*info = vq->info;
	if (fake.break_info)
		fake.break_info(info);
}

/* A CQ in direct form: ring and control block are mappings of their own. */
static void fake_direct_cq(struct virtio_roce_queue *info)
{
	struct fake_vq *vq = &fake.cq;

	memset(vq, 0, sizeof(*vq));
	vq->info.flags = VIRTIO_ROCE_QUEUE_DIRECT;
	vq->info.depth = fake.depth;
	vq->info.stride = fake.timed ? sizeof(struct virtio_rdma_cqe_timed) :
				       sizeof(struct virtio_rdma_cqe);
	vq->slots = fake_give(&vq->info.slots_offset, &vq->info.slots_len,
			 fake.depth * vq->info.stride);
	fake.cq_control = (void *)fake_give(&vq->info.control_offset,
				       &vq->info.control_len,
				       sizeof(*fake.cq_control));
	fake.cq_tail = 0;
	fake.told = 0;
	*info = vq->info;
	if (fake.break_info)
		fake.break_info(info);
}

/* A QP in direct form: one mapping with a page for each ring and the control block. */
void fake_direct_qp(struct virtio_roce_create_qp_resp *resp)
{
	struct virtio_roce_queue info = {
		.flags = VIRTIO_ROCE_QUEUE_DIRECT,
		.depth = fake.depth,
		.stride = 256,
		.control_pos = 2 * PAGE,
	};
	uint8_t *mem = fake_give(&info.slots_offset, &info.slots_len, 3 * PAGE);
	__u32 page_len;

	info.control_offset = info.slots_offset;
	info.control_len = info.slots_len;
	fake.qp_control = (void *)(mem + info.control_pos);
	fake.sq = (struct fake_vq){ .info = info, .slots = mem };
	info.slots_pos = PAGE;
	fake.rq = (struct fake_vq){ .info = info, .slots = mem + PAGE };
	if (!fake.page) {
		fake.page = (void *)fake_give(&resp->page_offset, &page_len, PAGE);
		fake.sq.info.flags |= VIRTIO_ROCE_QUEUE_DOORBELL;
		fake.sq.info.doorbell_pos = 32;
		fake.sq.info.doorbell_value = 0x4321;
		fake.kick = (void *)(fake_give(&fake.sq.info.doorbell_offset,
					  &fake.sq.info.doorbell_len, PAGE) + 32);
	}
	fake.bit = 77;
	resp->bit = fake.bit;
	resp->sq = fake.sq.info;
	resp->rq = fake.rq.info;
	if (fake.break_info)
		fake.break_info(&resp->sq);
}

/* Of the pages at an offset of the file only the first @len bytes were touched. */
static void check_unused(__u64 offset, size_t len, uint32_t size)
{
	for (; len < size; len++)
		assert_int_equal(fake.mem[offset + len], UNUSED);
}

/* The provider wrote nowhere outside the queue. */
static void fake_vq_check(const struct fake_vq *vq)
{
	const struct virtio_roce_queue *info = &vq->info;

	if (info->flags & VIRTIO_ROCE_QUEUE_DIRECT)
		return;
	check_unused(info->slots_offset, info->depth * info->stride,
		     info->slots_len);
	check_unused(info->avail_offset, avail_size(info), info->avail_len);
	check_unused(info->used_offset, used_size(info), info->used_len -
		     (info->flags & VIRTIO_ROCE_QUEUE_ALIVE ? 4 : 0));
}

/* Functions of libibverbs that the provider calls */

int ibv_cmd_query_port(struct ibv_context *context, uint8_t port_num,
		       struct ibv_port_attr *port_attr, struct ibv_query_port *cmd,
		       size_t cmd_size)
{
	if (fake.fail)
		return fake.fail;

	assert_int_equal(port_num, 1);
	port_attr->active_mtu = fake.mtu;
	fake.ports_asked++;
	return 0;
}

int ibv_cmd_create_cq_ex(struct ibv_context *context,
			 const struct ibv_cq_init_attr_ex *cq_attr,
#ifdef HAVE_CREATE_CQ_PROV_ATTR
			 struct verbs_create_cq_prov_attr *prov_attr,
#endif
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
{
	struct uvirtio_roce_create_cq_resp *r =
		container_of(resp, struct uvirtio_roce_create_cq_resp,
			     ibv_resp);
	uint32_t i;

	if (fake.fail)
		return fake.fail;

	assert_int_equal(resp_size, sizeof(*r));
	fake.timed = cq_attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	if (fake.ctx.features & VIRTIO_ROCE_FEATURE_DIRECT) {
		fake_direct_cq(&r->drv_payload.cq);
		goto out;
	}
	fake_vq_create(&fake.cq, &r->drv_payload.cq,
		       sizeof(struct virtio_rdma_cq_req));
	for (i = 0; i < fake.depth; i++)
		fake.cq.avail->ring[i] = to_virtio16(i);
	fake.cq.avail->idx = to_virtio16(fake.depth);

out:
	cq->cq.context = context;
	cq->cq.cqe = TEST_CQE;
	fake.cqs++;
	return 0;
}

/* A command that resizes runs. */
void fake_resizing(bool done)
{
	if (fake.at_resize)
		fake.at_resize(done);
}

/* As the kernel and the device do together, unless the CQ is large enough. */
static void fake_direct_resize(struct virtio_roce_resize_cq_resp *resp, uint32_t cqe)
{
	struct virtio_rdma_cq_control *control = fake.cq_control;
	const uint8_t *from = fake.cq.slots;
	const uint32_t old = fake.cq.info.depth, depth = fake.depth;
	const size_t stride = fake.cq.info.stride;
	uint32_t i, tail = fake.cq_tail, told = fake.told;
	struct virtio_rdma_cqe *to;

	if (cqe <= old)
		return;
	for (fake.depth = 16; fake.depth < cqe; fake.depth *= 2)
		;
	fake_direct_cq(&resp->cq);
	fake.depth = depth;
	resp->unread = tail - le32toh(__atomic_load_n((uint32_t *)&control->consumer,
						      __ATOMIC_ACQUIRE));
	assert_in_range(resp->unread, 0, old);
	for (i = 0; i < resp->unread; i++) {
		to = (void *)(fake.cq.slots + i * stride);
		memcpy(to, from + ((tail - resp->unread + i) & (old - 1)) * stride, stride);
		to->phase = VIRTIO_RDMA_CQE_PHASE;
	}
	fake.cq_control->arm = control->arm;
	fake.cq_tail = resp->unread;
	fake.told = told;
	resp->unread -= fake.unread_less;
	/* A thread that polls may still look at it. */
	__atomic_store_n((uint32_t *)&control->device, htole32(1), __ATOMIC_RELAXED);
}

int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	struct uvirtio_roce_resize_cq_resp *r;

	if (fake.fail)
		return fake.fail;

	assert_int_equal(cmd_size, sizeof(*cmd));
	cq->cqe = 2 * cqe;
	if (fake.ctx.features & VIRTIO_ROCE_FEATURE_DIRECT) {
		r = container_of(resp, struct uvirtio_roce_resize_cq_resp, ibv_resp);
		assert_int_equal(resp_size, sizeof(*r));
		fake_resizing(false);
		fake_direct_resize(&r->drv_payload, cqe);
		fake_resizing(true);
	} else {
		assert_int_equal(resp_size, sizeof(*resp));
	}
	return 0;
}

/* The kernel has destroyed an object, and libibverbs waits. */
void fake_destroyed(void)
{
	void (*at_destroy)(void) = fake.at_destroy;

	fake.at_destroy = NULL;
	if (at_destroy)
		at_destroy();
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	if (fake.fail)
		return fake.fail;

	fake.maps_at_destroy = count_maps();
	fake_vq_check(&fake.cq);
	fake.cqs--;
	fake_destroyed();
	return 0;
}

int ibv_cmd_create_qp_ex2(struct ibv_context *context, struct verbs_qp *qp,
			  struct ibv_qp_init_attr_ex *attr_ex,
			  struct ibv_create_qp_ex *cmd, size_t cmd_size,
			  struct ib_uverbs_ex_create_qp_resp *resp,
#ifdef HAVE_CREATE_QP_DRIVER_ATTRS
			  size_t resp_size, struct ibv_command_buffer *driver)
#else
			  size_t resp_size)
#endif
{
	struct uvirtio_roce_create_qp_resp *r =
		container_of(resp, struct uvirtio_roce_create_qp_resp,
			     ibv_resp);

	/* Other threads can create QPs meanwhile. */
	assert_int_equal(pthread_mutex_trylock(&fake.ctx.qp_mutex), 0);
	pthread_mutex_unlock(&fake.ctx.qp_mutex);
	if (fake.fail)
		return fake.fail;

	/* As a driver that looks at what it need not look at. */
	if (attr_ex->cap.max_recv_wr > VQ_NUM_MAX || attr_ex->cap.max_recv_sge > 32)
		return EINVAL;

	assert_int_equal(resp_size, sizeof(*r));
	if (attr_ex->qp_type == IBV_QPT_XRC_RECV) {
		/* The driver does not know which process made it. */
		assert_true(attr_ex->comp_mask & IBV_QP_INIT_ATTR_XRCD);
	} else if (attr_ex->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE) {
		assert_int_equal(cmd_size, sizeof(struct uvirtio_roce_create_qp));
		fake.rx_hash = container_of(cmd, struct uvirtio_roce_create_qp,
					    ibv_cmd)->drv_payload;
	} else if (fake.ctx.features & VIRTIO_ROCE_FEATURE_DIRECT) {
		fake_direct_qp(&r->drv_payload);
		if (attr_ex->qp_type == IBV_QPT_XRC_SEND)
			r->drv_payload.rq = (struct virtio_roce_queue){};
	} else {
		fake_vq_create(&fake.sq, &r->drv_payload.sq,
			       offsetof(struct virtio_rdma_sq_req,
					sg_list[TEST_SGES]));
		fake_vq_create(&fake.rq, &r->drv_payload.rq,
			       offsetof(struct virtio_rdma_rq_req,
					sg_list[TEST_SGES]));
	}

	attr_ex->cap.max_send_sge = TEST_SGES;
	attr_ex->cap.max_recv_sge = TEST_SGES;
	qp->qp.context = context;
	qp->qp.pd = attr_ex->pd;
	qp->qp.send_cq = attr_ex->send_cq;
	qp->qp.recv_cq = attr_ex->recv_cq;
	qp->qp.qp_type = attr_ex->qp_type;
	qp->qp.qp_num = fake.qpn;
	qp->qp.state = IBV_QPS_RESET;
	fake.qps++;
	return 0;
}

/* Like the kernel, this knows a QP by its group once, however often it is attached. */
int ibv_cmd_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			 uint16_t lid)
{
	if (fake.fail)
		return fake.fail;

	fake.in_group = true;
	return 0;
}

int ibv_cmd_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			 uint16_t lid)
{
	if (!fake.in_group)
		return EINVAL;

	fake.in_group = false;
	return 0;
}

int ibv_cmd_create_flow(struct ibv_qp *qp, struct ibv_flow *flow,
			struct ibv_flow_attr *attr, void *ucmd, size_t ucmd_size)
{
	if (fake.fail)
		return fake.fail;

	fake.rules++;
	return 0;
}

int ibv_cmd_destroy_flow(struct ibv_flow *flow)
{
	if (fake.fail)
		return fake.fail;

	fake.rules--;
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	if (fake.fail)
		return fake.fail;
	if (fake.in_group || fake.rules)
		return EBUSY;

	fake_vq_check(&fake.sq);
	fake_vq_check(&fake.rq);
	fake.maps_at_destroy = count_maps();
	fake.qps--;
	fake_destroyed();
	return 0;
}

/* Like the real ibv_modify_qp() this stores the new state. */
int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		      int attr_mask, struct ibv_modify_qp *cmd, size_t cmd_size)
{
	if (fake.fail)
		return fake.fail;

	if (attr_mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}

/* No test modifies a rate limit and a state together. */
int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			 int attr_mask, struct ibv_modify_qp_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_modify_qp_resp *resp, size_t resp_size)
{
	assert_int_equal(attr_mask, IBV_QP_RATE_LIMIT);
	fake.rate_limit = attr->rate_limit;
	if (cmd_size > sizeof(*cmd))
		fake.max_burst = ((struct uvirtio_roce_modify_qp *)cmd)->drv_payload.max_burst;
	return fake.fail;
}

int ibv_cmd_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr)
{
	assert_null(wr);
	fake.send_cmds++;
	return 0;
}

int ibv_cmd_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	assert_null(wr);
	fake.recv_cmds++;
	return 0;
}

void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt,
		 ...)
{
}

/* Objects of the provider */

struct virtio_roce_cq *make_cq(void)
{
	struct ibv_cq *ibcq;

	ibcq = virtio_roce_create_cq(fake.pd.context, 5, NULL, 0);
	assert_non_null(ibcq);
	return to_vcq(ibcq);
}

struct virtio_roce_qp *make_qp_on(struct virtio_roce_cq *cq,
				  enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.cap = { .max_send_wr = 5, .max_recv_wr = 5,
			 .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = 100 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = &fake.pd,
	};
	struct ibv_qp *ibqp;

	ibqp = virtio_roce_create_qp_ex(fake.pd.context, &attr);
	assert_non_null(ibqp);
	ibqp->state = IBV_QPS_RTS;
	return to_vqp(ibqp);
}

/* A QP in RTS, on a CQ of its own. */
struct virtio_roce_qp *make_qp(enum ibv_qp_type type)
{
	return make_qp_on(make_cq(), type);
}

void drop_cq(struct virtio_roce_cq *cq)
{
	assert_int_equal(virtio_roce_destroy_cq(&cq->vcq.cq), 0);
}

void drop_qp(struct virtio_roce_qp *qp)
{
	assert_int_equal(virtio_roce_destroy_qp(&qp->vqp.qp), 0);
}

void drop_qp_and_cq(struct virtio_roce_qp *qp)
{
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);

	drop_qp(qp);
	drop_cq(cq);
	/* Only the test's own mapping of the memory is left. */
	assert_int_equal(count_maps(), 1);
}

/* A QP in direct form and its CQ, which are the last objects. */
void drop_all(struct virtio_roce_qp *qp)
{
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);

	drop_qp(qp);
	drop_cq(cq);
	assert_int_equal(fake.qps + fake.cqs, 0);
	/* Memory of the test, doorbell page and register. */
	assert_int_equal(count_maps(), 3);
}

/* The device */

unsigned int fake_pending(const struct fake_vq *vq)
{
	uint16_t idx = ring_load16(&vq->avail->idx, __ATOMIC_ACQUIRE);

	return (uint16_t)(idx - vq->taken);
}

static uint32_t fake_take_slot(struct fake_vq *vq)
{
	uint32_t slot;

	assert_true(fake_pending(vq));
	slot = from_virtio16(vq->avail->ring[vq->taken % vq->info.num]);
	assert_true(slot < vq->info.depth);
	vq->taken++;
	return slot;
}

void *fake_take(struct fake_vq *vq)
{
	return vq->slots + fake_take_slot(vq) * vq->info.stride;
}

void fake_use(struct fake_vq *vq, uint32_t slot)
{
	uint16_t idx = from_virtio16(vq->used->idx);

	vq->used->ring[idx % vq->info.num].id = to_virtio32(slot);
	ring_store16(&vq->used->idx, idx + 1, __ATOMIC_RELEASE);
}

/* Use the oldest slot of a work queue, whether taken or not. */
void fake_use_next(struct fake_vq *vq)
{
	fake_use(vq, from_virtio16(vq->used->idx) % vq->info.depth);
}

struct virtio_rdma_cq_req *fake_complete_begin(void)
{
	struct virtio_rdma_cq_req *cqe = fake_take(&fake.cq);

	memset(cqe, 0, sizeof(*cqe));
	return cqe;
}

void fake_complete_end(void)
{
	uint16_t pos = fake.cq.taken - 1;

	fake_use(&fake.cq,
		 from_virtio16(fake.cq.avail->ring[pos % fake.cq.info.num]));
}

void fake_complete(uint64_t wr_id, uint32_t qpn)
{
	struct virtio_rdma_cq_req *cqe = fake_complete_begin();

	cqe->wr_id = htole64(wr_id);
	cqe->qp_num = htole32(qpn);
	fake_complete_end();
}

/**
 * fake_direct_complete() - add a completion to the last CQ
 * @cqe: completion, without its phase
 *
 * Returns whether there is an event: the CQ is armed for any completion.
 */
bool fake_direct_complete(const struct virtio_rdma_cqe *cqe)
{
	const uint32_t depth = fake.cq.info.depth;
	uint32_t slot = fake.cq_tail & (depth - 1);
	struct virtio_rdma_cqe *to = (void *)(fake.cq.slots + slot * fake.cq.info.stride);
	struct virtio_rdma_cqe_timed *timed = (void *)to;
	uint32_t arm;

	while (fake.cq_tail -
	       le32toh(__atomic_load_n((uint32_t *)&fake.cq_control->consumer,
				       __ATOMIC_ACQUIRE)) == depth)
		sched_yield();
	memcpy(to, cqe, offsetof(struct virtio_rdma_cqe, phase));
	if (fake.timed)
		timed->time = htole64(++fake.clock);
	__atomic_store_n(&to->phase, !(fake.cq_tail & depth),
			 __ATOMIC_RELEASE);
	fake.cq_tail++;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	arm = le32toh(__atomic_load_n((uint32_t *)&fake.cq_control->arm,
				      __ATOMIC_RELAXED));
	if (arm == fake.told || !(arm & VIRTIO_RDMA_ARM_NEXT))
		return false;
	fake.told = arm;
	return true;
}

/**
 * fake_share_mappings() - let the device use the provider's mappings of a queue
 * @fake_vq: the queue as the device sees it
 * @vq: the same queue as the provider sees it
 *
 * ThreadSanitizer goes by addresses: it sees which accesses are synchronized, and which
 * are not, only if both sides use the same ones.
 */
void fake_share_mappings(struct fake_vq *fake_vq, struct virtio_roce_vq *vq)
{
	const int rw = PROT_READ | PROT_WRITE;
	unsigned int i;

	for (i = VQ_SLOTS; i <= VQ_USED; i++)
		assert_int_equal(mprotect(vq->part[i].addr, vq->part[i].len, rw), 0);
	fake_vq->slots = vq->part[VQ_SLOTS].addr;
	fake_vq->avail = vq->part[VQ_AVAIL].addr;
	fake_vq->used = vq->part[VQ_USED].addr;
}

/* Another thread */

static void *helper_thread(void *arg)
{
	struct helper *helper = arg;

	__atomic_store_n(&helper->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	helper->body();
	__atomic_store_n(&helper->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool helper_sleeps(const struct helper *helper)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
		 __atomic_load_n(&helper->tid, __ATOMIC_ACQUIRE));
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

/**
 * helper_start() - let another thread do something, until it waits or has done it
 * @helper: to be filled in; belongs to the caller until helper_join()
 * @body: what it does
 */
void helper_start(struct helper *helper, void (*body)(void))
{
	*helper = (struct helper){ .body = body };
	assert_int_equal(pthread_create(&helper->thread, NULL, helper_thread, helper),
			 0);
	while (!__atomic_load_n(&helper->tid, __ATOMIC_ACQUIRE) ||
	       (!helper_sleeps(helper) &&
		!__atomic_load_n(&helper->done, __ATOMIC_ACQUIRE)))
		sched_yield();
}

/** helper_join() - wait until that thread is done */
void helper_join(struct helper *helper)
{
	assert_int_equal(pthread_join(helper->thread, NULL), 0);
}

/* Mappings of this process */

unsigned int count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned int n = 0;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, MEM_NAME);
	fclose(f);
	return n;
}

bool is_writable(const void *addr)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	bool writable = false;
	char line[512];
	char perms[8];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 &&
		    (uintptr_t)addr >= start && (uintptr_t)addr < end)
			writable = perms[1] == 'w';
	fclose(f);
	return writable;
}
