// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One queue: mapping it and ringing its doorbell.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <util/mmio.h>
#include <util/udma_barrier.h>

#include "virtio_roce.h"

/* Completions of a CQ in direct form. */
#define CQ_DEPTH_MAX	(1 << 22)

/* The used ring of a queue without memory or of direct form: its used index stays 0. */
static const struct vring_used nothing_used;

static bool is_pow2(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool vq_rings_fit(const struct virtio_roce_queue *info)
{
	size_t num = info->num;

	/* Two bytes for RING_EVENT_IDX follow each ring. */
	return info->avail_len >=
		       offsetof(struct vring_avail, ring[num]) + 2 &&
	       info->used_len >= offsetof(struct vring_used, ring[num]) + 2;
}

static bool vq_slots_fit(const struct virtio_roce_queue *info, size_t slot_size)
{
	return info->stride >= slot_size && !(info->stride % sizeof(__u64)) &&
	       (uint64_t)info->depth * info->stride <= info->slots_len;
}

static bool vq_doorbell_fits(const struct virtio_roce_queue *info)
{
	return !(info->flags & VIRTIO_ROCE_QUEUE_DOORBELL) ||
	       (!(info->doorbell_pos % 2) &&
		(uint64_t)info->doorbell_pos + 2 <= info->doorbell_len);
}

/*
 * The kernel is trusted, but may be of another version than this provider.  So all that
 * the data path relies on is checked once, here.
 */
static bool vq_is_sane(const struct virtio_roce_queue *info, size_t slot_size)
{
	return is_pow2(info->num) && info->num <= VQ_NUM_MAX &&
	       is_pow2(info->depth) && info->depth <= info->num &&
	       vq_rings_fit(info) && vq_slots_fit(info, slot_size) &&
	       vq_doorbell_fits(info);
}

/* So often a thread looks at a lock before it lets others run. */
#define LOOKS_AT_LOCK	1000

static int vq_unusable(struct ibv_context *context)
{
	verbs_err(verbs_get_ctx(context),
		  "kernel driver describes an unusable queue: it is of another version\n");
	return EPROTO;
}

/**
 * virtio_roce_vq_map() - map a virtqueue that the kernel created
 * @vq: to be filled in; belongs to the caller
 * @context: device
 * @info: what the kernel says about it
 * @type: completion queues have read-only slots and no doorbell
 * @slot_size: bytes that the largest request or completion takes
 *
 * The kernel driver makes sure that fork() copies neither the mapping nor the memory.
 *
 * Returns 0 or an errno value.
 */
int virtio_roce_vq_map(struct virtio_roce_vq *vq, struct ibv_context *context,
		       const struct virtio_roce_queue *info,
		       enum virtio_roce_vq_type type, size_t slot_size)
{
	const int rw = PROT_READ | PROT_WRITE;
	const struct {
		uint64_t offset;
		uint32_t len;
		int prot;
	} map[VQ_PARTS] = {
		[VQ_SLOTS] = { info->slots_offset, info->slots_len,
			       type == VQ_COMPLETION ? PROT_READ : rw },
		[VQ_AVAIL] = { info->avail_offset, info->avail_len, rw },
		[VQ_USED] = { info->used_offset, info->used_len, PROT_READ },
		[VQ_DOORBELL] = { info->doorbell_offset, info->doorbell_len,
				  PROT_WRITE },
	};
	bool doorbell = type == VQ_WORK &&
			info->flags & VIRTIO_ROCE_QUEUE_DOORBELL;
	unsigned int parts = doorbell ? VQ_PARTS : VQ_DOORBELL;
	void *addr;
	int err;

	if (!vq_is_sane(info, slot_size))
		return vq_unusable(context);

	for (vq->parts = 0; vq->parts < parts; vq->parts++) {
		addr = mmap(NULL, map[vq->parts].len, map[vq->parts].prot,
			    MAP_SHARED, context->cmd_fd,
			    map[vq->parts].offset);
		if (addr == MAP_FAILED) {
			err = errno;
			goto err_unmap;
		}
		vq->part[vq->parts].addr = addr;
		vq->part[vq->parts].len = map[vq->parts].len;
	}

	vq->ring = (struct ring){
		.slots = vq->part[VQ_SLOTS].addr,
		.stride = info->stride,
		.avail = vq->part[VQ_AVAIL].addr,
		.used = vq->part[VQ_USED].addr,
		.mask = info->num - 1,
		.depth = info->depth,
		.head = type == VQ_WORK ? offsetof(struct virtio_rdma_sq_req,
						   opcode) : 0,
		.data = offsetof(struct virtio_rdma_sq_req, inline_data),
		.sges = offsetof(struct virtio_rdma_sq_req, sg_list),
		.event_idx = info->flags & VIRTIO_ROCE_QUEUE_EVENT_IDX,
		.alive = info->flags & VIRTIO_ROCE_QUEUE_ALIVE ?
			 (void *)((char *)vq->part[VQ_USED].addr +
				  vq->part[VQ_USED].len - sizeof(uint32_t)) :
			 NULL,
	};
	ring_start(&vq->ring);

	vq->doorbell_value = info->doorbell_value;
	vq->doorbell = NULL;
	if (doorbell)
		vq->doorbell = (char *)vq->part[VQ_DOORBELL].addr +
			       info->doorbell_pos;

	return 0;

err_unmap:
	virtio_roce_vq_unmap(vq);
	return err;
}

/* Does a piece of a direct queue fit into its mapping? */
static bool piece_fits(uint32_t pos, uint64_t len, uint32_t mapped)
{
	return !(pos % 64) && pos + len <= mapped;
}

static bool vq_is_sane_direct(const struct virtio_roce_queue *info,
			      uint32_t depth_max, size_t slot_size)
{
	return info->flags & VIRTIO_ROCE_QUEUE_DIRECT && is_pow2(info->depth) &&
	       info->depth <= depth_max && is_pow2(info->stride) &&
	       info->stride >= slot_size &&
	       piece_fits(info->slots_pos, (uint64_t)info->depth * info->stride,
			  info->slots_len) &&
	       piece_fits(info->control_pos, VIRTIO_RDMA_CONTROL_SIZE,
			  info->control_len) && vq_doorbell_fits(info);
}

/* Map one piece more of a queue. */
static int vq_map_part(struct virtio_roce_vq *vq, struct ibv_context *context,
		       uint64_t offset, uint32_t len, int prot)
{
	void *addr;

	addr = mmap(NULL, len, prot, MAP_SHARED, context->cmd_fd, offset);
	if (addr == MAP_FAILED)
		return errno;
	vq->part[vq->parts].addr = addr;
	vq->part[vq->parts].len = len;
	vq->parts++;
	return 0;
}

/**
 * virtio_roce_cq_map_ring() - map the pieces of a CQ in direct form
 * @vq: gets the mappings: all of them, or none
 * @context: device
 * @info: what the kernel says about the ring
 *
 * Returns 0 or an errno value.
 */
int virtio_roce_cq_map_ring(struct virtio_roce_vq *vq, struct ibv_context *context,
			    const struct virtio_roce_queue *info)
{
	int err;

	if (!vq_is_sane_direct(info, CQ_DEPTH_MAX,
			       sizeof(struct virtio_rdma_cqe)))
		return vq_unusable(context);
	err = vq_map_part(vq, context, info->slots_offset, info->slots_len,
			  PROT_READ);
	if (!err)
		err = vq_map_part(vq, context, info->control_offset,
				  info->control_len, PROT_READ | PROT_WRITE);
	if (err)
		virtio_roce_vq_unmap(vq);
	return err;
}

/* Begin with the first slot of what is mapped. */
static void cq_start_direct(struct virtio_roce_cq *cq,
			    const struct virtio_roce_queue *info)
{
	struct virtio_roce_vq *vq = &cq->vq;
	struct ring *ring = &vq->ring;

	cq->control = (void *)((char *)vq->part[VQ_CONTROL].addr +
			       info->control_pos);
	ring->slots = (char *)vq->part[VQ_SLOTS].addr + info->slots_pos;
	ring->stride = info->stride;
	ring->depth = info->depth;
	ring->producer = (__force uint32_t *)&cq->control->consumer;
	ring->error = (__force const uint32_t *)&cq->control->device;
	ring->next = 0;
	ring->shown = 0;
	ring->taken = 0;
}

/**
 * virtio_roce_cq_map_direct() - map a CQ in direct form
 * @cq: to be filled in
 * @context: device
 * @info: what the kernel says about it
 *
 * Returns 0 or an errno value.
 */
int virtio_roce_cq_map_direct(struct virtio_roce_cq *cq,
			      struct ibv_context *context,
			      const struct virtio_roce_queue *info)
{
	struct virtio_roce_vq *vq = &cq->vq;
	int err;

	err = virtio_roce_cq_map_ring(vq, context, info);
	if (err)
		return err;
	vq->ring = (struct ring){ .direct = true, .used = &nothing_used };
	cq_start_direct(cq, info);
	return 0;
}

/* Each gets the mappings of the other. */
static void vq_exchange_parts(struct virtio_roce_vq *a, struct virtio_roce_vq *b)
{
	const unsigned int parts = a->parts;
	struct virtio_roce_vq old;

	memcpy(old.part, a->part, sizeof(old.part));
	memcpy(a->part, b->part, sizeof(a->part));
	a->parts = b->parts;
	memcpy(b->part, old.part, sizeof(b->part));
	b->parts = parts;
}

/**
 * virtio_roce_cq_exchange() - go over to the new ring of a CQ in direct form
 * @cq: CQ
 * @vq: mappings of the new ring, which become those of the old one
 * @info: what the kernel says about the new ring
 *
 * Context: lock of the CQ held.  Other threads look without it whether the queue is
 * there and direct, so these two do not change in between.
 */
void virtio_roce_cq_exchange(struct virtio_roce_cq *cq, struct virtio_roce_vq *vq,
			     const struct virtio_roce_queue *info)
{
	vq_exchange_parts(&cq->vq, vq);
	cq_start_direct(cq, info);
}

/* Map the doorbell page of the context, unless it is.  Context: qp_mutex held. */
static int doorbell_map(struct virtio_roce_context *ctx,
			const struct virtio_roce_create_qp_resp *resp)
{
	const struct virtio_roce_queue *info = &resp->sq;
	struct virtio_roce_doorbell *db = &ctx->doorbell;
	uint64_t process = virtio_roce_process();
	int fd = ctx->vctx.context.cmd_fd;
	void *page, *kick;

	if (!process)
		return errno;
	/* The mappings of a parent are not here. */
	if (db->process != process)
		*db = (struct virtio_roce_doorbell){ .process = process };
	if (db->page)
		return 0;
	page = mmap(NULL, sizeof(*db->page), PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, resp->page_offset);
	if (page == MAP_FAILED)
		return errno;
	if (info->flags & VIRTIO_ROCE_QUEUE_DOORBELL) {
		kick = mmap(NULL, info->doorbell_len, PROT_WRITE, MAP_SHARED, fd,
			    info->doorbell_offset);
		if (kick == MAP_FAILED) {
			munmap(page, sizeof(*db->page));
			return errno;
		}
		db->kick = kick;
		db->kick_len = info->doorbell_len;
		db->reg = (char *)kick + info->doorbell_pos;
		db->value = info->doorbell_value;
	}
	db->page = page;
	return 0;
}

/**
 * virtio_roce_doorbell_free() - unmap the doorbell page of a context
 * @ctx: context without QPs
 */
void virtio_roce_doorbell_free(struct virtio_roce_context *ctx)
{
	struct virtio_roce_doorbell *db = &ctx->doorbell;

	if (db->process !=
	    __atomic_load_n(virtio_roce_here, __ATOMIC_RELAXED))
		return;
	if (db->kick)
		munmap(db->kick, db->kick_len);
	if (db->page)
		munmap(db->page, sizeof(*db->page));
	*db = (struct virtio_roce_doorbell){};
}

/* Fill in one queue of a direct QP, or an SRQ, whose memory is mapped at @base. */
static int vq_start_direct(struct virtio_roce_vq *vq, char *base,
			   const struct virtio_roce_queue *info,
			   const struct virtio_roce_doorbell *db, uint32_t bit)
{
	vq->wr_mask = info->depth - 1;
	vq->wr_ids = calloc(info->depth, sizeof(*vq->wr_ids));
	if (!vq->wr_ids)
		return ENOMEM;
	vq->ring = (struct ring){
		.direct = true,
		.slots = base + info->slots_pos,
		.stride = info->stride,
		.used = &nothing_used,
		.depth = info->depth,
		.data = offsetof(struct virtio_rdma_swqe, inline_data),
		.sges = offsetof(struct virtio_rdma_swqe, sg_list),
	};
	if (!db)
		return 0;
	vq->page = db->page;
	vq->bit = bit;
	vq->pending = &db->page->pending[bit / 64];
	vq->pending_bit = htole64(1ULL << bit % 64);
	vq->doorbell = db->reg;
	vq->doorbell_value = db->value;
	return 0;
}

/**
 * virtio_roce_srq_map_ring() - map the ring and the control block of an SRQ
 * @srq: SRQ, with the number of elements of its requests
 * @vq: gets the mapping
 * @context: device
 * @info: what the kernel says about the ring
 *
 * Returns 0 or an errno value.
 */
int virtio_roce_srq_map_ring(const struct virtio_roce_srq *srq, struct virtio_roce_vq *vq,
			     struct ibv_context *context,
			     const struct virtio_roce_queue *info)
{
	if (!vq_is_sane_direct(info, VQ_NUM_MAX,
			       offsetof(struct virtio_rdma_rwqe,
					sg_list[srq->max_sge])) ||
	    info->control_offset != info->slots_offset ||
	    info->control_len != info->slots_len)
		return vq_unusable(context);
	return vq_map_part(vq, context, info->slots_offset, info->slots_len,
			   PROT_READ | PROT_WRITE);
}

/**
 * virtio_roce_srq_map() - map an SRQ
 * @srq: to be filled in
 * @context: device
 * @max_sge: elements of its requests
 * @info: what the kernel says about it
 *
 * Returns 0 or an errno value.
 */
int virtio_roce_srq_map(struct virtio_roce_srq *srq, struct ibv_context *context,
			uint32_t max_sge, const struct virtio_roce_queue *info)
{
	struct virtio_rdma_srq_control *control;
	struct virtio_roce_vq *vq = &srq->vq;
	char *base;
	int err;

	srq->max_sge = max_sge;
	err = virtio_roce_srq_map_ring(srq, vq, context, info);
	if (err)
		return err;
	base = vq->part[VQ_SLOTS].addr;
	err = vq_start_direct(vq, base, info, NULL, 0);
	if (err) {
		virtio_roce_vq_unmap(vq);
		return err;
	}
	control = (void *)(base + info->control_pos);
	vq->ring.producer = (__force uint32_t *)&control->producer;
	return 0;
}

/**
 * virtio_roce_srq_exchange() - go over to the new ring of an SRQ
 * @srq: SRQ
 * @vq: mapping of the new ring, which becomes that of the old one
 * @info: what the kernel says about the new ring, where requests are at their positions
 *
 * Context: lock of the SRQ held.  The caller sets the depth.
 */
void virtio_roce_srq_exchange(struct virtio_roce_srq *srq, struct virtio_roce_vq *vq,
			      const struct virtio_roce_queue *info)
{
	struct virtio_rdma_srq_control *control;
	struct ring *ring = &srq->vq.ring;
	char *base;

	vq_exchange_parts(&srq->vq, vq);
	base = srq->vq.part[VQ_SLOTS].addr;
	control = (void *)(base + info->control_pos);
	ring->slots = base + info->slots_pos;
	ring->producer = (__force uint32_t *)&control->producer;
}

/* Is the receive queue of a QP in the same mapping as its send queue? */
static bool rq_is_sane_direct(const struct virtio_roce_create_qp_resp *resp,
			      const struct ibv_qp_cap *cap)
{
	return vq_is_sane_direct(&resp->rq, VQ_NUM_MAX,
				 offsetof(struct virtio_rdma_rwqe,
					  sg_list[cap->max_recv_sge])) &&
	       resp->rq.slots_offset == resp->sq.slots_offset &&
	       resp->rq.slots_len == resp->sq.slots_len;
}

/* Where the payload of a send request begins in its slot. */
static size_t sq_payload(const struct virtio_roce_qp *qp)
{
	return qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND ?
	       VIRTIO_RDMA_XRC_OFFSET + offsetof(struct virtio_rdma_xrc, sg_list) :
	       offsetof(struct virtio_rdma_swqe, sg_list);
}

static bool sq_is_sane_direct(const struct virtio_roce_qp *qp,
			      const struct virtio_roce_create_qp_resp *resp,
			      const struct ibv_qp_cap *cap)
{
	size_t sges = cap->max_send_sge * sizeof(struct virtio_rdma_sge);
	size_t payload = sges > cap->max_inline_data ? sges : cap->max_inline_data;

	return vq_is_sane_direct(&resp->sq, VQ_NUM_MAX, sq_payload(qp) + payload) &&
	       resp->bit < VIRTIO_RDMA_DOORBELL_BITS &&
	       resp->sq.control_offset == resp->sq.slots_offset &&
	       resp->sq.control_len == resp->sq.slots_len;
}

/**
 * virtio_roce_qp_map_direct() - map a QP in direct form
 * @qp: to be filled in
 * @context: device
 * @cap: elements and inline data of its requests
 * @resp: what the kernel says about it
 *
 * Context: qp_mutex held.
 * Returns 0 or an errno value.
 */
int virtio_roce_qp_map_direct(struct virtio_roce_qp *qp,
			      struct ibv_context *context,
			      const struct ibv_qp_cap *cap,
			      const struct virtio_roce_create_qp_resp *resp)
{
	struct virtio_roce_context *ctx = to_vctx(context);
	char *base;
	int err;

	if (!sq_is_sane_direct(qp, resp, cap) ||
	    (qp_has_rq(qp) && !rq_is_sane_direct(resp, cap)))
		return vq_unusable(context);
	err = doorbell_map(ctx, resp);
	if (!err)
		err = vq_map_part(&qp->sq, context, resp->sq.slots_offset,
				  resp->sq.slots_len, PROT_READ | PROT_WRITE);
	if (err)
		return err;
	base = qp->sq.part[VQ_SLOTS].addr;
	qp->control = (void *)(base + resp->sq.control_pos);
	err = vq_start_direct(&qp->sq, base, &resp->sq, &ctx->doorbell, resp->bit);
	if (!err && qp_has_rq(qp))
		err = vq_start_direct(&qp->rq, base, &resp->rq, &ctx->doorbell,
				      resp->bit);
	if (err) {
		virtio_roce_vq_unmap(&qp->rq);
		virtio_roce_vq_unmap(&qp->sq);
		return err;
	}
	qp->sq.ring.data = sq_payload(qp);
	qp->sq.ring.sges = sq_payload(qp);
	qp->sq.ring.producer = (__force uint32_t *)&qp->control->send_producer;
	if (!qp_has_rq(qp))
		return 0;
	qp->rq.ring.producer = (__force uint32_t *)&qp->control->recv_producer;
	qp->rq.ring.wanted = (__force const uint32_t *)&qp->control->recv_wanted;
	return 0;
}

/**
 * virtio_roce_wq_map() - map a work queue
 * @vq: to be filled in
 * @context: device
 * @max_sge: elements of its requests
 * @resp: what the kernel says about it
 *
 * Context: qp_mutex held.
 * Returns 0 or an errno value.
 */
int virtio_roce_wq_map(struct virtio_roce_vq *vq, struct ibv_context *context,
		       uint32_t max_sge, const struct virtio_roce_create_qp_resp *resp)
{
	const struct virtio_roce_queue *info = &resp->rq;
	struct virtio_roce_context *ctx = to_vctx(context);
	struct virtio_rdma_qp_control *control;
	char *base;
	int err;

	if (!vq_is_sane_direct(info, VQ_NUM_MAX,
			       offsetof(struct virtio_rdma_rwqe, sg_list[max_sge])) ||
	    info->control_offset != info->slots_offset ||
	    info->control_len != info->slots_len ||
	    resp->bit >= VIRTIO_RDMA_DOORBELL_BITS)
		return vq_unusable(context);
	err = doorbell_map(ctx, resp);
	if (!err)
		err = vq_map_part(vq, context, info->slots_offset, info->slots_len,
				  PROT_READ | PROT_WRITE);
	if (err)
		return err;
	base = vq->part[VQ_SLOTS].addr;
	err = vq_start_direct(vq, base, info, &ctx->doorbell, resp->bit);
	if (err) {
		virtio_roce_vq_unmap(vq);
		return err;
	}
	control = (void *)(base + info->control_pos);
	vq->ring.producer = (__force uint32_t *)&control->recv_producer;
	vq->ring.wanted = (__force const uint32_t *)&control->recv_wanted;
	return 0;
}

/**
 * virtio_roce_vq_unmap() - unmap the memory of a virtqueue
 * @vq: virtqueue, from now on always full (work queue) or empty (completion queue)
 */
void virtio_roce_vq_unmap(struct virtio_roce_vq *vq)
{
	vq->ring = (struct ring){ .used = &nothing_used };
	vq->doorbell = NULL;
	free(vq->wr_ids);
	vq->wr_ids = NULL;
	while (vq->parts) {
		vq->parts--;
		munmap(vq->part[vq->parts].addr, vq->part[vq->parts].len);
	}
}

/**
 * virtio_roce_vq_blank() - unmap the memory of a virtqueue that somebody may still read
 * @vq: virtqueue, whose mappings read as zeros until virtio_roce_vq_unmap()
 */
void virtio_roce_vq_blank(struct virtio_roce_vq *vq)
{
	unsigned int i;
	void *addr;

	for (i = 0; i < vq->parts; i++) {
		addr = mmap(vq->part[i].addr, vq->part[i].len, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		/* Whose the addresses are then is not known, so they are not unmapped. */
		if (addr == MAP_FAILED)
			vq->part[i].len = 0;
	}
}

/** virtio_roce_vq_free() - undo virtio_roce_vq_map() */
void virtio_roce_vq_free(struct virtio_roce_vq *vq)
{
	virtio_roce_vq_unmap(vq);
}

/**
 * virtio_roce_vq_spin() - take the lock of a queue that another thread has
 * @vq: queue
 *
 * The holder may be a thread that does not run, so this one looks on without writing, and
 * lets others run now and then.
 */
void virtio_roce_vq_spin(struct virtio_roce_vq *vq)
{
	unsigned int looks = 0;

	do {
		while (__atomic_load_n(&vq->lock, __ATOMIC_RELAXED))
			if (!(++looks % LOOKS_AT_LOCK))
				sched_yield();
	} while (__atomic_exchange_n(&vq->lock, 1, __ATOMIC_ACQUIRE));
}

/**
 * virtio_roce_vq_publish() - make requests in the queue visible to the device
 * @vq: work queue
 *
 * Context: lock of the queue held.
 * Returns whether the device asks for a doorbell, which may then be rung without
 * the lock.
 */
bool virtio_roce_vq_publish(struct virtio_roce_vq *vq)
{
	uint32_t old = vq->ring.shown;

	if (vq->ring.next == old)
		return false;

	ring_publish(&vq->ring);
	return ring_wants_doorbell(&vq->ring, old);
}

/* Set a bit of the device's, unless it is set.  Returns whether it was. */
static bool doorbell_bit(__le64 *words, uint32_t bit)
{
	uint64_t *word = (__force uint64_t *)&words[bit / 64];
	uint64_t mask = (__force uint64_t)htole64(1ULL << bit % 64);

	/* Not before the bit that was set before: the device takes them the other way. */
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) & mask)
		return true;
	__atomic_fetch_or(word, mask, __ATOMIC_SEQ_CST);
	return false;
}

/*
 * Announce requests of a QP in direct form.  The first fence orders our store of the
 * index before our load of the bit: the device takes the bit before it reads the index.
 * The second orders our stores of the bits before our load of the flag: the device sets
 * the flag before it looks at the bits for the last time.
 *
 * Returns whether the device asks for a notification.
 */
static bool doorbell_announce(struct virtio_rdma_doorbell_page *page,
			      uint32_t bit)
{
	uint32_t *ring_me = (__force uint32_t *)&page->ring_me;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (doorbell_bit(page->pending, bit))
		return false;
	doorbell_bit(page->words, bit / 64);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(ring_me, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(ring_me, 0, __ATOMIC_SEQ_CST);
}

/**
 * virtio_roce_vq_ring_doorbell() - tell the device that there are requests
 * @vq: work queue
 *
 * Returns false if that needs a command, because there is no doorbell mapped.
 */
bool virtio_roce_vq_ring_doorbell(const struct virtio_roce_vq *vq)
{
	if (vq->page && !doorbell_announce(vq->page, vq->bit))
		return true;
	if (!vq->doorbell)
		return false;

	udma_to_device_barrier();
	mmio_write16(vq->doorbell, vq->doorbell_value);
	return true;
}
