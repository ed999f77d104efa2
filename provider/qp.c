// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: create, modify, query and destroy.  Work requests are in post.c and recv.c.
 */
#include <errno.h>
#include <stdlib.h>

#include <ccan/minmax.h>

#include "cmd.h"
#include "compat.h"
#include "virtio_roce.h"

#define QP_COMP_MASK	(IBV_QP_INIT_ATTR_PD | \
			 IBV_QP_INIT_ATTR_XRCD | \
			 IBV_QP_INIT_ATTR_CREATE_FLAGS | \
			 IBV_QP_INIT_ATTR_IND_TABLE | \
			 IBV_QP_INIT_ATTR_RX_HASH | \
			 IBV_QP_INIT_ATTR_MAX_TSO_HEADER | \
			 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

static bool qp_type_is_xrc(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

/* Has it no queues?  XRC_RECV QPs, and those that spread frames, have none. */
static bool qp_attr_is_bare(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type == IBV_QPT_XRC_RECV ||
	       attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
}

/* Those that may be given must be zero, but for one of QPs of whole frames. */
static bool qp_flags_are_supported(const struct virtio_roce_context *ctx,
				   const struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) || !attr->create_flags)
		return true;
	return attr->create_flags == IBV_QP_CREATE_CVLAN_STRIPPING &&
	       attr->qp_type == IBV_QPT_RAW_PACKET && !qp_attr_is_bare(attr) &&
	       ctx->device_caps & VIRTIO_IB_DEVICE_RAW_VLAN;
}

static uint32_t qp_tso_header(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER ? attr->max_tso_header : 0;
}

static bool qp_attr_is_supported(const struct virtio_roce_context *ctx,
				 const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, QP_COMP_MASK))
		return false;
	if (qp_type_is_xrc(attr->qp_type) && !virtio_roce_has_xrc(ctx))
		return false;
	/* The form of the RFC has none. */
	if (attr->srq && !(ctx->features & VIRTIO_ROCE_FEATURE_DIRECT))
		return false;
	if (!qp_flags_are_supported(ctx, attr))
		return false;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER &&
	    (attr->qp_type != IBV_QPT_RAW_PACKET || qp_attr_is_bare(attr) ||
	     !(ctx->device_caps & VIRTIO_IB_DEVICE_RAW_TSO)))
		return false;

	return !(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
	       !(attr->send_ops_flags & ~virtio_roce_send_ops(ctx, attr->qp_type));
}

/* CQ of the receive queue.  Where there cannot be a queue it is that of the other one. */
static struct virtio_roce_cq *qp_recv_cq(const struct virtio_roce_qp *qp)
{
	const struct ibv_qp *ibqp = &qp->vqp.qp;

	return to_vcq(ibqp->qp_type == IBV_QPT_XRC_SEND ? ibqp->send_cq :
							 ibqp->recv_cq);
}

static void wq_set_gone(struct virtio_roce_vq *wq, struct virtio_roce_cq *cq)
{
	bool shared = !cq_is_parents(cq);

	if (shared)
		vq_lock(&cq->vq);
	wq->gone = true;
	wq->plain_qpn = WQ_NOT_PLAIN;
	if (shared)
		vq_unlock(&cq->vq);
}

/* Completions of the QP are dropped from now on, and nobody uses its queues. */
static void qp_set_gone(struct virtio_roce_qp *qp)
{
	wq_set_gone(&qp->sq, to_vcq(qp->vqp.qp.send_cq));
	wq_set_gone(&qp->rq, qp_recv_cq(qp));
}

/** virtio_roce_vq_rewind() - a QP or work queue went to RESET: all indices are 0 then */
void virtio_roce_vq_rewind(struct virtio_roce_vq *vq, struct virtio_roce_cq *cq)
{
	bool shared = !cq_is_parents(cq);

	if (shared)
		vq_lock(&cq->vq);
	vq_lock(vq);
	vq->ring.next = 0;
	vq->ring.seen = 0;
	ring_publish(&vq->ring);
	vq_unlock(vq);
	if (shared)
		vq_unlock(&cq->vq);
}

/* Map both queues, which hold requests of up to as many SGEs as @cap says. */
static int qp_map(struct virtio_roce_qp *qp, struct ibv_context *context,
		  const struct ibv_qp_cap *cap,
		  const struct virtio_roce_create_qp_resp *resp)
{
	size_t sq_slot = offsetof(struct virtio_rdma_sq_req,
				  sg_list[cap->max_send_sge]);
	size_t rq_slot = offsetof(struct virtio_rdma_rq_req,
				  sg_list[cap->max_recv_sge]);
	struct virtio_roce_context *ctx = to_vctx(context);
	int err;

	if (ctx->features & VIRTIO_ROCE_FEATURE_DIRECT) {
		pthread_mutex_lock(&ctx->qp_mutex);
		err = virtio_roce_qp_map_direct(qp, context, cap, resp);
		pthread_mutex_unlock(&ctx->qp_mutex);
		return err;
	}
	err = virtio_roce_vq_map(&qp->sq, context, &resp->sq, VQ_WORK, sq_slot);
	if (err)
		return err;

	err = virtio_roce_vq_map(&qp->rq, context, &resp->rq, VQ_WORK, rq_slot);
	if (err)
		virtio_roce_vq_free(&qp->sq);
	return err;
}

/*
 * Headers and elements of a TSO request share the room for inline data, which is bounded: with
 * long headers such a request has fewer elements than others.
 */
static void qp_make_tso_room(struct ibv_qp_cap *cap, uint32_t header_len)
{
	uint32_t room = tso_room(header_len) +
			max(cap->max_send_sge, 1U) * sizeof(struct virtio_rdma_sge);

	if (!header_len)
		return;
	room = min_t(uint32_t, room, VIRTIO_RDMA_INLINE_SIZE);
	cap->max_inline_data = max(cap->max_inline_data, room);
}

/* Inline bytes that the slots of the send queue have room for. */
static uint32_t qp_inline_room(const struct virtio_roce_qp *qp)
{
	const struct ring *ring = &qp->sq.ring;

	return ring->direct ? ring->stride - ring->data : VIRTIO_RDMA_INLINE_SIZE;
}

/*
 * Tell the application what it got, and remember it.  It gets all the room for inline data
 * that there is: some programs send inline though they asked for none.
 */
static void qp_set_cap(struct virtio_roce_qp *qp, uint32_t max_inline_data,
		       struct ibv_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.ring.depth;
	cap->max_recv_wr = qp->rq.ring.depth;
	cap->max_inline_data = min(qp_inline_room(qp), max_inline_data);

	qp->max_send_sge = cap->max_send_sge;
	qp->max_recv_sge = cap->max_recv_sge;
	qp->max_inline_data = cap->max_inline_data;
	qp->plain_ops = virtio_roce_plain_ops(qp);
}

/* The device drops requests of this QP; drop the completions, too. */
static void qp_drop_completions(struct virtio_roce_qp *qp)
{
	struct virtio_roce_cq *send = to_vcq(qp->vqp.qp.send_cq);
	struct virtio_roce_cq *recv = qp_recv_cq(qp);

	virtio_roce_cq_drop_qp(recv, qp->vqp.qp.qp_num, qp->srq);
	if (recv != send)
		virtio_roce_cq_drop_qp(send, qp->vqp.qp.qp_num, NULL);
}

static void qp_count(struct virtio_roce_context *ctx,
		     const struct ibv_qp_init_attr_ex *attr,
		     struct virtio_roce_srq *srq, int by)
{
	if (qp_attr_is_bare(attr))
		return;
	pthread_mutex_lock(&ctx->qp_mutex);
	to_vcq(attr->send_cq)->users += by;
	if (attr->qp_type != IBV_QPT_XRC_SEND)
		to_vcq(attr->recv_cq)->users += by;
	if (srq)
		srq->users += by;
	pthread_mutex_unlock(&ctx->qp_mutex);
}

static int qp_cmd_create(struct virtio_roce_qp *qp, struct ibv_context *context,
			 struct ibv_qp_init_attr_ex *attr,
			 struct uvirtio_roce_create_qp_resp *resp)
{
	struct virtio_roce_context *ctx = to_vctx(context);
	struct uvirtio_roce_create_qp cmd = {};
	int err;

	err = virtio_roce_rx_hash_attr(ctx, attr, &cmd.drv_payload);
	if (err > 0)
		return err;
	qp_count(ctx, attr, qp->srq, 1);
	err = compat_create_qp_ex2(context, &qp->vqp, attr,
				   err ? NULL : &cmd.ibv_cmd, err ? 0 : sizeof(cmd),
				   &resp->ibv_resp, sizeof(*resp));
	if (err)
		qp_count(ctx, attr, qp->srq, -1);
	return err;
}

/*
 * From now on completions find the QP.  Its number may be that of one that another thread
 * is destroying and that the kernel has destroyed.  The completions of that one must be
 * gone before this one can have any.
 */
static void qp_link(struct virtio_roce_context *ctx, struct virtio_roce_qp *qp)
{
	struct virtio_roce_cq *send = to_vcq(qp->vqp.qp.send_cq);
	struct virtio_roce_cq *recv = qp_recv_cq(qp);
	uint32_t qpn = qp->vqp.qp.qp_num;

	pthread_mutex_lock(&ctx->qp_mutex);
	virtio_roce_cq_replace(send, qpn);
	virtio_roce_cq_replace(recv, qpn);
	virtio_roce_cq_link(send, &qp->sq, qpn, false);
	if (qp->vqp.qp.qp_type != IBV_QPT_XRC_SEND)
		virtio_roce_cq_link(recv, &qp->rq, qpn, true);
	pthread_mutex_unlock(&ctx->qp_mutex);
}

/*
 * The command waits until all events of the QP are acknowledged.  No lock is held
 * meanwhile: the thread that acknowledges them may create or destroy something before.
 */
static int qp_cmd_destroy(struct virtio_roce_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;
	struct virtio_roce_context *ctx = to_vctx(ibqp->context);
	int err;

	err = ibv_cmd_destroy_qp(ibqp);
	if (err || !qp_has_sq(qp))
		return err;

	pthread_mutex_lock(&ctx->qp_mutex);
	/* In this order, see virtio_roce_cq_unlink(). */
	virtio_roce_cq_unlink(qp_recv_cq(qp), &qp->rq);
	virtio_roce_cq_unlink(to_vcq(ibqp->send_cq), &qp->sq);
	to_vcq(ibqp->send_cq)->users--;
	if (ibqp->qp_type != IBV_QPT_XRC_SEND)
		to_vcq(ibqp->recv_cq)->users--;
	if (qp->srq)
		qp->srq->users--;
	pthread_mutex_unlock(&ctx->qp_mutex);
	return 0;
}

static struct virtio_roce_qp *qp_alloc(void)
{
	uint64_t process = virtio_roce_process();
	struct virtio_roce_qp *qp;

	qp = process ? virtio_roce_alloc(sizeof(*qp)) : NULL;
	if (!qp)
		return NULL;
	qp->sq.process = process;
	qp->rq.process = process;
	return qp;
}

/* Sets up, for this process, the QP that the kernel has made. */
static int qp_start(struct virtio_roce_qp *qp, struct ibv_context *context,
		    struct ibv_qp_init_attr_ex *attr,
		    const struct virtio_roce_create_qp_resp *resp)
{
	int err;

	err = qp_map(qp, context, &attr->cap, resp);
	if (err)
		return err;
	qp->rq.srq = qp->srq;
	qp_link(to_vctx(context), qp);

	qp_set_cap(qp, to_vctx(context)->max_inline_data, &attr->cap);
	/* Whatever the kernel has made of it. */
	qp->max_tso_header = min(qp->max_tso_header, qp->max_inline_data & ~15U);
	qp->sq.unlocked = virtio_roce_single_threaded(attr->pd);
	qp->rq.unlocked = qp->sq.unlocked;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		virtio_roce_qp_set_ops(qp);
		qp->vqp.comp_mask |= VERBS_QP_EX;
	}
	return 0;
}

struct ibv_qp *virtio_roce_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr)
{
	struct virtio_roce_context *ctx = to_vctx(context);
	struct uvirtio_roce_create_qp_resp resp = {};
	struct virtio_roce_qp *qp;
	int err;

	if (!qp_attr_is_supported(ctx, attr)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	if (qp_tso_header(attr) > VIRTIO_RDMA_TSO_HEADER) {
		errno = EINVAL;
		return NULL;
	}
	qp = qp_alloc();
	if (!qp)
		return NULL;

	qp->bare = qp_attr_is_bare(attr);
	if (attr->srq && !qp_type_is_xrc(attr->qp_type))
		qp->srq = to_vsrq(attr->srq);
	if (attr->srq || qp_type_is_xrc(attr->qp_type)) {
		/* They have no meaning then, and the driver could find them too large. */
		attr->cap.max_recv_wr = 0;
		attr->cap.max_recv_sge = 0;
	}
	qp->max_tso_header = qp_tso_header(attr);
	qp_make_tso_room(&attr->cap, qp->max_tso_header);
	err = qp_cmd_create(qp, context, attr, &resp);
	if (err)
		goto err_free;
	if (qp_has_sq(qp))
		err = qp_start(qp, context, attr, &resp.drv_payload);
	if (err)
		goto err_destroy;

	return &qp->vqp.qp;

err_destroy:
	qp_cmd_destroy(qp);
err_free:
	free(qp);
	errno = err;
	return NULL;
}

struct ibv_qp *virtio_roce_create_qp(struct ibv_pd *pd,
				     struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *ibqp;

	ibqp = virtio_roce_create_qp_ex(pd->context, &attr_ex);
	if (ibqp)
		attr->cap = attr_ex.cap;
	return ibqp;
}

/* An XRC_RECV QP that another process has made. */
struct ibv_qp *virtio_roce_open_qp(struct ibv_context *context,
				   struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp;
	struct virtio_roce_qp *qp;
	struct ibv_open_qp cmd;
	int err;

	qp = qp_alloc();
	if (!qp)
		return NULL;

	qp->bare = true;
	err = ibv_cmd_open_qp(context, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(qp);
		errno = err;
		return NULL;
	}

	return &qp->vqp.qp;
}

/*
 * The kernel takes a rate limit by the newer command only.  A @max_burst of 0 leaves the
 * length of its bursts to the device, and says nothing that an older driver does not know.
 */
static int qp_modify(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		     uint32_t max_burst)
{
	struct uvirtio_roce_modify_qp cmd_ex = {
		.drv_payload.max_burst = max_burst,
	};
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	struct ibv_modify_qp cmd = {};

	if (attr_mask & IBV_QP_RATE_LIMIT)
		return ibv_cmd_modify_qp_ex(ibqp, attr, attr_mask, &cmd_ex.ibv_cmd,
					    max_burst ? sizeof(cmd_ex) : sizeof(cmd_ex.ibv_cmd),
					    &resp, sizeof(resp));
	return ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
}

int virtio_roce_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
			  int attr_mask)
{
	struct virtio_roce_qp *qp = to_vqp(ibqp);
	int err;

	if (qp_is_parents(qp))
		return EFAULT;

	err = qp_modify(ibqp, attr, attr_mask, 0);
	if (err)
		return err;

	/*
	 * The device has marked all slots of both queues used; the indices of the
	 * rings go on from there.  Those of the direct form start again.
	 */
	if (attr_mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET &&
	    qp_has_sq(qp)) {
		qp_drop_completions(qp);
		if (qp->sq.ring.direct) {
			virtio_roce_vq_rewind(&qp->sq, to_vcq(ibqp->send_cq));
			if (qp_has_rq(qp))
				virtio_roce_vq_rewind(&qp->rq,
						      to_vcq(ibqp->recv_cq));
		}
	}
	return 0;
}

/*
 * The device counts the bytes of each packet, so that it need not know how long packets are as
 * a rule.
 */
int virtio_roce_modify_qp_rate_limit(struct ibv_qp *ibqp,
				     struct ibv_qp_rate_limit_attr *limit)
{
	struct ibv_qp_attr attr = { .rate_limit = limit->rate_limit };

	if (limit->comp_mask)
		return EINVAL;
	if (limit->max_burst_sz &&
	    !(to_vctx(ibqp->context)->device_caps & VIRTIO_IB_DEVICE_RATE_BURST))
		return EOPNOTSUPP;
	if (qp_is_parents(to_vqp(ibqp)))
		return EFAULT;

	return qp_modify(ibqp, &attr, IBV_QP_RATE_LIMIT, limit->max_burst_sz);
}

int virtio_roce_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
			 int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

/* IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG, which old versions of libibverbs do not name. */
#define WHOLE_MESSAGE	1

/*
 * Does a reader see the bytes of a message in order?  The device must have promised it.
 * libibverbs derives the answer for aligned pieces of 128 bytes from this.
 */
int virtio_roce_query_qp_data_in_order(struct ibv_qp *ibqp, enum ibv_wr_opcode op,
				       uint32_t flags)
{
	const struct virtio_roce_context *ctx = to_vctx(ibqp->context);

	if (!(ctx->device_caps & VIRTIO_IB_DEVICE_DATA_IN_ORDER))
		return 0;

	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_READ:
		return WHOLE_MESSAGE;
	default:
		return 0;
	}
}

int virtio_roce_attach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid,
			     uint16_t lid)
{
	int err = ibv_cmd_attach_mcast(ibqp, gid, lid);

	if (!err)
		__atomic_fetch_add(&to_vqp(ibqp)->holds, 1, __ATOMIC_RELAXED);
	return err;
}

int virtio_roce_detach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid,
			     uint16_t lid)
{
	int err = ibv_cmd_detach_mcast(ibqp, gid, lid);

	if (!err)
		__atomic_fetch_sub(&to_vqp(ibqp)->holds, 1, __ATOMIC_RELAXED);
	return err;
}

static void qp_unmap(struct virtio_roce_qp *qp)
{
	if (qp->sq.ring.direct)
		qp_set_gone(qp);
	virtio_roce_vq_unmap(&qp->rq);
	virtio_roce_vq_unmap(&qp->sq);
}

/*
 * The kernel destroys an object at once only if nothing of it is mapped, so the queues
 * are unmapped first.  If it refuses all the same, the QP remains, but nothing can be
 * posted to it.
 *
 * The kernel refuses to destroy a QP that is attached to a multicast group or has a flow
 * rule, and such a QP must go on as before.  So where that may be, the kernel is asked first.
 * If it does destroy the QP, its number is free a moment after the queues are unmapped.
 */
int virtio_roce_destroy_qp(struct ibv_qp *ibqp)
{
	struct virtio_roce_qp *qp = to_vqp(ibqp);
	bool held = __atomic_load_n(&qp->holds, __ATOMIC_RELAXED);
	int err;

	if (qp_is_parents(qp))
		return EFAULT;

	if (!held)
		qp_unmap(qp);
	err = qp_cmd_destroy(qp);
	if (err)
		return err;
	if (held)
		qp_unmap(qp);

	virtio_roce_vq_free(&qp->rq);
	virtio_roce_vq_free(&qp->sq);
	free(qp);
	return 0;
}
