// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting receive requests to the queue of a QP, as post.c posts send requests.  srq.c
 * has those of SRQs.
 */
#include <errno.h>

#include <util/compiler.h>

#include "virtio_roce.h"

/*
 * In states that are not named here posting fails at once.  In error states the device
 * completes the request as flushed.
 */
static const bool may_post_recv[] = {
	[IBV_QPS_INIT] = true,
	[IBV_QPS_RTR] = true,
	[IBV_QPS_RTS] = true,
	[IBV_QPS_SQD] = true,
	[IBV_QPS_SQE] = true,
	[IBV_QPS_ERR] = true,
	[IBV_QPS_UNKNOWN] = false,
};

static __attribute__((noinline)) void rq_ring(struct virtio_roce_qp *qp)
{
	struct ibv_recv_wr *bad_wr;

	if (!virtio_roce_vq_ring_doorbell(&qp->rq))
		ibv_cmd_post_recv(&qp->vqp.qp, NULL, &bad_wr);
}

/* Publish, release the receive queue and ring the doorbell, as sq_end() does. */
static void rq_end(struct virtio_roce_qp *qp)
{
	bool wanted = virtio_roce_vq_publish(&qp->rq);

	vq_unlock(&qp->rq);
	if (wanted)
		rq_ring(qp);
}

/* The errno if nothing can be received by a QP, or 0. */
static int post_recv_error(const struct virtio_roce_qp *qp)
{
	if (qp_is_parents(qp))
		return EFAULT;
	return likely(may_post_recv[qp->vqp.qp.state] && qp_has_rq(qp)) ? 0 : EINVAL;
}

/* The header of a receive request.  Returns where its elements go. */
static struct virtio_rdma_sge *rq_begin(const struct ring *ring, void *slot,
					uint64_t wr_id, uint32_t num_sge)
{
	struct virtio_rdma_rwqe *direct = slot;
	struct virtio_rdma_rq_req *rfc = slot;

	if (ring->direct) {
		*direct = (struct virtio_rdma_rwqe){
			.num_sge = htole32(num_sge),
		};
		return direct->sg_list;
	}
	*rfc = (struct virtio_rdma_rq_req){
		.wr_id = htole64(wr_id),
		.num_sge = htole32(num_sge),
	};
	return rfc->sg_list;
}

static inline int put_recv(struct virtio_roce_vq *rq, uint32_t max_sge,
			   const struct ibv_recv_wr *wr)
{
	struct ring *ring = &rq->ring;
	uint32_t slot, num_sge = wr->num_sge;

	if (unlikely(num_sge > max_sge))
		return EINVAL;
	if (unlikely(!ring_has_room(ring)))
		return ENOMEM;

	slot = ring_next_slot(ring);
	if (ring->direct)
		rq->wr_ids[slot] = wr->wr_id;
	virtio_roce_copy_sges(rq_begin(ring, ring_slot(ring, slot), wr->wr_id,
				       num_sge), wr->sg_list, num_sge);
	ring_put(ring, slot);
	return 0;
}

/**
 * virtio_roce_put_recv() - write a request into the next slot of a work queue
 * @rq: its ring
 * @max_sge: elements that a request may have
 * @wr: request
 *
 * Context: lock of the queue held.
 * Returns 0 or an errno value.
 */
int virtio_roce_put_recv(struct virtio_roce_vq *rq, uint32_t max_sge,
			 const struct ibv_recv_wr *wr)
{
	return put_recv(rq, max_sge, wr);
}

/*
 * The most common request: one that is posted to a direct queue, with one element.  Does what
 * put_recv() does, or nothing: then it returns false.
 * Context: lock of the receive queue held.
 */
static inline bool put_plain(struct virtio_roce_vq *rq, const struct ibv_recv_wr *wr)
{
	struct ring *ring = &rq->ring;
	const uint32_t next = ring->next;
	const uint32_t slot = next & (ring->depth - 1);
	struct virtio_rdma_rwqe *req;

	if (unlikely(wr->num_sge != 1 ||
		     next - __atomic_load_n(&ring->seen, __ATOMIC_ACQUIRE) >= ring->depth))
		return false;
	req = ring_slot(ring, slot);
	*req = (struct virtio_rdma_rwqe){ .num_sge = htole32(1) };
	virtio_roce_copy_sges(req->sg_list, wr->sg_list, 1);
	rq->wr_ids[slot] = wr->wr_id;
	ring->next = next + 1;
	return true;
}

/* Posts what put_plain() has left.  Context: lock of the receive queue held, and released. */
static __attribute__((noinline)) int post_others(struct virtio_roce_qp *qp,
						 struct ibv_recv_wr *wr,
						 struct ibv_recv_wr **bad_wr)
{
	int err = 0;

	for (; wr; wr = wr->next) {
		err = put_recv(&qp->rq, qp->max_recv_sge, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	rq_end(qp);
	return err;
}

int virtio_roce_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr)
{
	struct virtio_roce_qp *qp = to_vqp(ibqp);
	struct ring *ring = &qp->rq.ring;
	bool wanted;
	int err;

	if (unlikely(!wr))
		return 0;
	err = post_recv_error(qp);
	if (unlikely(err)) {
		*bad_wr = wr;
		return err;
	}

	vq_lock(&qp->rq);
	/* A queue whose QP has an element at all. */
	if (unlikely(!ring->direct || !qp->max_recv_sge))
		return post_others(qp, wr, bad_wr);
	for (; wr; wr = wr->next)
		if (unlikely(!put_plain(&qp->rq, wr)))
			return post_others(qp, wr, bad_wr);
	ring_publish_direct(ring);
	wanted = ring_wants_doorbell_direct(ring);
	vq_unlock(&qp->rq);
	if (wanted)
		rq_ring(qp);

	return 0;
}
