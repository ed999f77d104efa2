// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues.
 *
 * An SRQ is a ring of requests, which the device takes in the order in which they were
 * posted.  They complete in any order, so each has a cookie, which its completion names.
 * A cookie is an index of the table of wr_ids.  No more requests are outstanding than there
 * are slots, so that the next one has a slot: the device has copied the request that
 * was in it.  The device looks for requests when a message comes; nothing is announced.
 *
 * An XRC SRQ completes to a CQ of its own, by which a completion finds it: the QP may be
 * that of another process.
 *
 * A child after fork() does not have the ring of its parent's SRQ, see process.c.
 */
#include <errno.h>
#include <stdlib.h>

#include <util/util.h>

#include "cmd.h"
#include "virtio_roce.h"

static struct virtio_roce_srq *srq_alloc(void)
{
	uint64_t process = virtio_roce_process();
	struct virtio_roce_srq *srq;

	srq = process ? virtio_roce_alloc(sizeof(*srq)) : NULL;
	if (!srq)
		return NULL;
	srq->vq.process = process;
	pthread_mutex_init(&srq->resize.mutex, NULL);
	return srq;
}

static void srq_free(struct virtio_roce_srq *srq)
{
	pthread_mutex_destroy(&srq->resize.mutex);
	free(srq->free);
	free(srq);
}

/**
 * virtio_roce_srq_start() - all cookies are free
 * @srq: SRQ whose ring is mapped
 *
 * Returns 0 or ENOMEM.
 */
int virtio_roce_srq_start(struct virtio_roce_srq *srq)
{
	uint32_t depth = srq->vq.ring.depth;

	srq->free = calloc(depth, sizeof(*srq->free));
	if (!srq->free)
		return ENOMEM;
	srq->cookies = depth;
	for (srq->num_free = 0; srq->num_free < depth; srq->num_free++)
		srq->free[srq->num_free] = depth - 1 - srq->num_free;
	return 0;
}

/* Map an SRQ that the kernel has made, with requests of up to @max_sge elements. */
static int srq_map(struct virtio_roce_srq *srq, uint32_t max_sge,
		   const struct virtio_roce_queue *info)
{
	int err;

	err = virtio_roce_srq_map(srq, srq->vsrq.srq.context, max_sge, info);
	if (err)
		return err;
	err = virtio_roce_srq_start(srq);
	if (err)
		virtio_roce_vq_free(&srq->vq);
	return err;
}

struct ibv_srq *virtio_roce_create_srq(struct ibv_pd *pd,
				       struct ibv_srq_init_attr *attr)
{
	struct uvirtio_roce_create_srq_resp resp = {};
	struct virtio_roce_srq *srq;
	struct ibv_create_srq cmd;
	int err;

	srq = srq_alloc();
	if (!srq)
		return NULL;
	err = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd, sizeof(cmd),
				 &resp.ibv_resp, sizeof(resp));
	if (err)
		goto err_free;
	err = srq_map(srq, attr->attr.max_sge, &resp.drv_payload.srq);
	if (err)
		goto err_destroy;
	return &srq->vsrq.srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_free:
	srq_free(srq);
	errno = err;
	return NULL;
}

/* CQ of an XRC SRQ, NULL of another one. */
static struct virtio_roce_cq *srq_cq(const struct virtio_roce_srq *srq)
{
	return srq->vsrq.srq_type == IBV_SRQT_XRC ? to_vcq(srq->vsrq.cq) : NULL;
}

/*
 * The number may be that of an SRQ that another thread is destroying and that the kernel
 * has destroyed.  Completions in the CQ with this number are of that one.
 */
static void xsrq_link(struct virtio_roce_srq *srq)
{
	struct virtio_roce_context *ctx = to_vctx(srq->vsrq.srq.context);
	struct virtio_roce_cq *cq = srq_cq(srq);

	pthread_mutex_lock(&ctx->qp_mutex);
	cq->users++;
	virtio_roce_cq_drop_srq(cq, srq->vsrq.srq_num);
	virtio_roce_cq_add_srq(cq, srq);
	pthread_mutex_unlock(&ctx->qp_mutex);
}

static struct ibv_srq *xsrq_create(struct ibv_context *context,
				   struct ibv_srq_init_attr_ex *attr)
{
	struct uvirtio_roce_create_xsrq_resp resp = {};
	struct virtio_roce_srq *srq;
	struct ibv_create_xsrq cmd;
	int err;

	srq = srq_alloc();
	if (!srq)
		return NULL;
	err = ibv_cmd_create_srq_ex(context, &srq->vsrq, attr, &cmd, sizeof(cmd),
				    &resp.ibv_resp, sizeof(resp));
	if (err)
		goto err_free;
	err = srq_map(srq, attr->attr.max_sge, &resp.drv_payload.srq);
	if (err)
		goto err_destroy;
	xsrq_link(srq);
	return &srq->vsrq.srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_free:
	srq_free(srq);
	errno = err;
	return NULL;
}

struct ibv_srq *virtio_roce_create_srq_ex(struct ibv_context *context,
					  struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	/* libibverbs makes those without an extension by virtio_roce_create_srq(). */
	if (attr->comp_mask != xrc || attr->srq_type != IBV_SRQT_XRC ||
	    !virtio_roce_has_xrc(to_vctx(context))) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return xsrq_create(context, attr);
}

int virtio_roce_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	struct virtio_roce_srq *srq = to_vsrq(ibsrq);

	if (!srq_cq(srq))
		return EOPNOTSUPP;

	*srq_num = srq->vsrq.srq_num;
	return 0;
}

int virtio_roce_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
			   int attr_mask)
{
	struct virtio_roce_context *ctx = to_vctx(ibsrq->context);
	struct ibv_modify_srq cmd;

	if (vq_is_parents(&to_vsrq(ibsrq)->vq))
		return EFAULT;
	if (!(attr_mask & IBV_SRQ_MAX_WR))
		return ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd));
	if (!(ctx->device_caps & VIRTIO_IB_DEVICE_SRQ_RESIZE))
		return EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > VQ_NUM_MAX)
		return EINVAL;
	return virtio_roce_srq_resize(to_vsrq(ibsrq), attr, attr_mask);
}

int virtio_roce_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

/*
 * Completions that come to the CQ for an XRC SRQ are dropped, those that are there, too.
 *
 * The command waits until all events of the SRQ are acknowledged.  No lock is held
 * meanwhile: the thread that acknowledges them may create or destroy something before.
 */
static int srq_cmd_destroy(struct virtio_roce_srq *srq)
{
	struct virtio_roce_context *ctx = to_vctx(srq->vsrq.srq.context);
	struct virtio_roce_cq *cq = srq_cq(srq);
	int err;

	err = ibv_cmd_destroy_srq(&srq->vsrq.srq);
	if (err || !cq)
		return err;

	pthread_mutex_lock(&ctx->qp_mutex);
	virtio_roce_cq_drop_srq(cq, srq->vsrq.srq_num);
	cq->users--;
	pthread_mutex_unlock(&ctx->qp_mutex);
	return 0;
}

/*
 * The kernel destroys an object at once only if nothing of it is mapped.  So the only
 * reason for which it may refuse is checked before the ring is unmapped.  Nobody who polls
 * finds the SRQ any more then.
 */
int virtio_roce_destroy_srq(struct ibv_srq *ibsrq)
{
	struct virtio_roce_context *ctx = to_vctx(ibsrq->context);
	struct virtio_roce_srq *srq = to_vsrq(ibsrq);
	bool in_use;
	int err;

	if (vq_is_parents(&srq->vq))
		return EFAULT;
	pthread_mutex_lock(&ctx->qp_mutex);
	in_use = srq->users;
	pthread_mutex_unlock(&ctx->qp_mutex);
	if (in_use)
		return EBUSY;

	if (srq_cq(srq))
		virtio_roce_cq_remove_srq(srq_cq(srq), srq);
	virtio_roce_vq_unmap(&srq->vq);
	err = srq_cmd_destroy(srq);
	if (err)
		return err;
	virtio_roce_vq_free(&srq->vq);
	srq_free(srq);
	return 0;
}

/* Returns EAGAIN while the SRQ is resized.  Context: lock of the ring held. */
static int post_one(struct virtio_roce_srq *srq, const struct ibv_recv_wr *wr)
{
	struct ring *ring = &srq->vq.ring;
	struct virtio_rdma_rwqe *slot;
	uint32_t cookie, num_sge = wr->num_sge;

	if (unlikely(num_sge > srq->max_sge))
		return EINVAL;
	/* One that is outstanding may be in its slot. */
	if (unlikely(virtio_roce_srq_outstanding(srq) >= ring->depth))
		return srq->resize.running ? EAGAIN : ENOMEM;

	cookie = srq->free[--srq->num_free];
	srq->vq.wr_ids[cookie] = wr->wr_id;
	slot = ring_slot(ring, ring_next_slot(ring));
	*slot = (struct virtio_rdma_rwqe){
		.num_sge = htole32(num_sge),
		.cookie = htole32(cookie),
	};
	virtio_roce_copy_sges(slot->sg_list, wr->sg_list, num_sge);
	ring_put(ring, ring_next_slot(ring));
	return 0;
}

/* Context: lock of the ring held, which is released meanwhile. */
static __attribute__((noinline)) void srq_wait(struct virtio_roce_srq *srq)
{
	vq_unlock(&srq->vq);
	virtio_roce_resize_wait(&srq->resize);
	vq_lock(&srq->vq);
}

int virtio_roce_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr)
{
	struct virtio_roce_srq *srq = to_vsrq(ibsrq);
	int err = 0;

	if (unlikely(!wr))
		return 0;
	if (vq_is_parents(&srq->vq)) {
		*bad_wr = wr;
		return EFAULT;
	}

	vq_lock(&srq->vq);
	while (wr) {
		err = post_one(srq, wr);
		if (unlikely(err)) {
			if (err == EAGAIN) {
				srq_wait(srq);
				continue;
			}
			*bad_wr = wr;
			break;
		}
		wr = wr->next;
	}
	if (srq->vq.ring.next != srq->vq.ring.shown)
		ring_publish(&srq->vq.ring);
	vq_unlock(&srq->vq);
	return err;
}

/**
 * virtio_roce_srq_complete() - a request is complete, and its cookie free
 * @srq: SRQ
 * @cookie: what its completion says
 *
 * Returns its wr_id; 0 in a child of the process that made the SRQ.
 */
uint64_t virtio_roce_srq_complete(struct virtio_roce_srq *srq, uint32_t cookie)
{
	uint64_t wr_id;

	if (vq_is_parents(&srq->vq))
		return 0;
	vq_lock(&srq->vq);
	cookie &= srq->cookies - 1;
	wr_id = srq->vq.wr_ids[cookie];
	/* A device that names requests that are not posted harms this SRQ only. */
	if (likely(srq->num_free < srq->cookies))
		srq->free[srq->num_free++] = cookie;
	vq_unlock(&srq->vq);
	return wr_id;
}
