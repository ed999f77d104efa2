// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: the queues that complete to them, arming, resizing.  poll.c reads
 * the completions.
 *
 * A child after fork() does not have the queue of its parent's CQ, see process.c.
 *
 * A completion names its QP only by number, and a new QP may soon have that number.  So
 * when a QP is destroyed or reset, its unread completions are marked, slot by slot, and
 * skipped from then on.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "compat.h"
#include "virtio_roce.h"

/* No QP or SRQ has this number. */
#define NUMBER_NONE	UINT32_MAX

/* The QP that the completion in a slot belongs to.  One of an XRC SRQ is none of the QP's. */
static uint32_t cq_slot_qpn(const struct virtio_roce_cq *cq, uint32_t slot)
{
	const void *cqe = ring_slot(&cq->vq.ring, slot);
	const struct virtio_rdma_cqe *direct = cqe;

	if (!cq->vq.ring.direct)
		return le32toh(((const struct virtio_rdma_cq_req *)cqe)->qp_num);
	return direct->opcode & VIRTIO_RDMA_CQE_XRC ? NUMBER_NONE :
						      le32toh(direct->qp_num);
}

/* The XRC SRQ that the completion in a slot of a direct CQ belongs to, if any. */
static uint32_t cq_slot_srqn(const struct virtio_roce_cq *cq, uint32_t slot)
{
	const struct virtio_rdma_cqe *cqe = ring_slot(&cq->vq.ring, slot);

	return cqe->opcode & VIRTIO_RDMA_CQE_XRC ? le32toh(cqe->srqn) : NUMBER_NONE;
}
/* The completion in a slot is skipped, but its request is free again. */
static void cq_free_request(const struct virtio_roce_cq *cq, uint32_t slot,
			    struct virtio_roce_srq *srq)
{
	struct virtio_rdma_cqe cqe;

	ring_read(&cq->vq.ring, slot, &cqe, sizeof(cqe));
	if (cqe.opcode & VIRTIO_RDMA_CQE_RECV)
		virtio_roce_srq_complete(srq, le32toh(cqe.wqe));
}

/*
 * Skip the unread completions whose number, as @number_of() tells it, is @number.  The
 * requests of @srq, which may be NULL, that they name are free again.  While the CQ is
 * resized, some are in a ring that is not mapped yet.
 */
static void cq_drop(struct virtio_roce_cq *cq,
		    uint32_t (*number_of)(const struct virtio_roce_cq *cq, uint32_t slot),
		    uint32_t number, struct virtio_roce_srq *srq)
{
	struct ring *ring = &cq->vq.ring;
	struct ring walk;
	uint32_t slot;

	if (cq_is_parents(cq))
		return;

	pthread_mutex_lock(&cq->resize.mutex);
	vq_lock(&cq->vq);
	for (walk = *ring; !ring_peek(&walk, &slot); walk.taken++) {
		if (number_of(cq, slot) != number || cq->stale[slot])
			continue;
		cq->stale[slot] = true;
		cq->num_stale++;
		if (srq)
			cq_free_request(cq, slot, srq);
	}
	vq_unlock(&cq->vq);
	pthread_mutex_unlock(&cq->resize.mutex);
}

/**
 * virtio_roce_cq_drop_qp() - skip the unread completions of a QP
 * @cq: CQ of the QP
 * @qpn: QP, for which the device adds no more completions
 * @srq: its SRQ, or NULL; the requests that they name are free again
 */
void virtio_roce_cq_drop_qp(struct virtio_roce_cq *cq, uint32_t qpn,
			    struct virtio_roce_srq *srq)
{
	cq_drop(cq, cq_slot_qpn, qpn, srq);
}

/**
 * virtio_roce_cq_drop_srq() - skip the unread completions of an XRC SRQ
 * @cq: CQ of the SRQ, which does not find it any more
 * @srqn: number of the SRQ, for which the device adds no more completions
 *
 * If the CQ finds an SRQ by this number, it is a new one, and nothing is skipped: there is
 * nothing of the old one any more, see xsrq_link().
 *
 * Context: qp_mutex held.
 */
void virtio_roce_cq_drop_srq(struct virtio_roce_cq *cq, uint32_t srqn)
{
	bool is_new;

	if (cq_is_parents(cq))
		return;
	vq_lock(&cq->vq);
	is_new = cq_find_srq(cq, srqn);
	vq_unlock(&cq->vq);
	if (!is_new)
		cq_drop(cq, cq_slot_srqn, srqn, NULL);
}

/*
 * Let the table have as many buckets as there are queues.  Without memory for that the
 * chains get longer.
 * Context: qp_mutex held.
 */
static void cq_grow_wqs(struct virtio_roce_cq *cq)
{
	struct virtio_roce_vq **wqs, **old = cq->wqs, *wq;
	uint32_t i, n = cq->wqs_mask + 1;

	if (cq->num_wqs < n)
		return;
	wqs = calloc(2 * n, sizeof(*wqs));
	if (!wqs)
		return;
	vq_lock(&cq->vq);
	for (i = 0; i < n; i++) {
		while ((wq = old[i])) {
			old[i] = wq->chain;
			wq->chain = wqs[wq->key & (2 * n - 1)];
			wqs[wq->key & (2 * n - 1)] = wq;
		}
	}
	cq->wqs = wqs;
	cq->wqs_mask = 2 * n - 1;
	vq_unlock(&cq->vq);
	if (old != cq->few)
		free(old);
}

/**
 * virtio_roce_cq_link() - completions of a work queue find it from now on
 * @cq: CQ that it completes to
 * @wq: work queue
 * @qpn: its QP, of which the CQ has no queue
 * @recv: it is the receive queue
 *
 * Context: qp_mutex held.
 */
void virtio_roce_cq_link(struct virtio_roce_cq *cq, struct virtio_roce_vq *wq,
			 uint32_t qpn, bool recv)
{
	struct virtio_roce_vq **bucket;

	if (cq_is_parents(cq))
		return;
	cq_grow_wqs(cq);
	vq_lock(&cq->vq);
	wq->key = wq_key(qpn, recv);
	wq->plain_qpn = wq->srq || !wq->wr_ids ? WQ_NOT_PLAIN : qpn;
	wq->plain_word = recv ? WORD_RECV : 0;
	bucket = &cq->wqs[wq->key & cq->wqs_mask];
	wq->chain = *bucket;
	*bucket = wq;
	wq->linked = true;
	cq->num_wqs++;
	vq_unlock(&cq->vq);
}

/* Context: lock of the CQ held. */
static void cq_take_out(struct virtio_roce_cq *cq, struct virtio_roce_vq *wq)
{
	struct virtio_roce_vq **link = &cq->wqs[wq->key & cq->wqs_mask];

	while (*link != wq)
		link = &(*link)->chain;
	*link = wq->chain;
	if (cq->last == wq)
		cq->last = &virtio_roce_no_wq;
	wq->linked = false;
	cq->num_wqs--;
}

/**
 * virtio_roce_cq_unlink() - they do not any more, and those that are there are skipped
 * @cq: CQ that a work queue completes to
 * @wq: the queue, whose QP the kernel has destroyed
 *
 * Completions of both queues of the QP are skipped, so the receive queue comes first, whose
 * requests in an SRQ are free again.  This does nothing if virtio_roce_cq_replace() did it.
 *
 * Context: qp_mutex held.
 */
void virtio_roce_cq_unlink(struct virtio_roce_cq *cq, struct virtio_roce_vq *wq)
{
	if (!wq->linked)
		return;
	virtio_roce_cq_drop_qp(cq, wq->key / 2, wq->srq);
	vq_lock(&cq->vq);
	cq_take_out(cq, wq);
	vq_unlock(&cq->vq);
}

/**
 * virtio_roce_cq_replace() - unlink the queues of a QP whose number is in use again
 * @cq: CQ
 * @qpn: number; the kernel has destroyed the QP that had it
 *
 * Context: qp_mutex held.
 */
void virtio_roce_cq_replace(struct virtio_roce_cq *cq, uint32_t qpn)
{
	struct virtio_roce_vq *wq;
	int recv;

	if (cq_is_parents(cq))
		return;
	/* In this order, see virtio_roce_cq_unlink(). */
	for (recv = 1; recv >= 0; recv--) {
		vq_lock(&cq->vq);
		wq = cq_find_wq(cq, wq_key(qpn, recv));
		vq_unlock(&cq->vq);
		if (wq)
			virtio_roce_cq_unlink(cq, wq);
	}
}

/** virtio_roce_cq_add_srq() - completions find an XRC SRQ from now on */
void virtio_roce_cq_add_srq(struct virtio_roce_cq *cq, struct virtio_roce_srq *srq)
{
	if (cq_is_parents(cq))
		return;
	vq_lock(&cq->vq);
	srq->next = cq->srqs;
	cq->srqs = srq;
	vq_unlock(&cq->vq);
}

/** virtio_roce_cq_remove_srq() - they do not any more, and nobody uses it who found it */
void virtio_roce_cq_remove_srq(struct virtio_roce_cq *cq, struct virtio_roce_srq *srq)
{
	struct virtio_roce_srq **link;

	if (cq_is_parents(cq))
		return;
	vq_lock(&cq->vq);
	for (link = &cq->srqs; *link; link = &(*link)->next) {
		if (*link != srq)
			continue;
		*link = srq->next;
		break;
	}
	vq_unlock(&cq->vq);
}

static struct virtio_roce_cq *cq_alloc(void)
{
	uint64_t process = virtio_roce_process();
	struct virtio_roce_cq *cq;

	cq = process ? virtio_roce_alloc(sizeof(*cq)) : NULL;
	if (!cq)
		return NULL;
	cq->vq.process = process;
	cq->wqs = cq->few;
	cq->wqs_mask = FEW_WQS - 1;
	cq->last = &virtio_roce_no_wq;
	pthread_mutex_init(&cq->resize.mutex, NULL);
	return cq;
}

static bool cq_is_single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return true;
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	       virtio_roce_single_threaded(attr->parent_domain);
}

/* Values that completions have; a tag only if rules have one. */
static uint64_t cq_wc_flags(struct ibv_context *context)
{
	const struct virtio_roce_context *ctx = to_vctx(context);
	uint64_t flags = (uint64_t)IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_CVLAN;

	if (ctx->device_caps & VIRTIO_IB_DEVICE_FLOW_COUNT)
		flags |= IBV_WC_EX_WITH_FLOW_TAG;
	if (ctx->device_caps & VIRTIO_IB_DEVICE_CQ_TIMESTAMP &&
	    ctx->features & VIRTIO_ROCE_FEATURE_DIRECT)
		flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	return flags;
}

struct ibv_cq_ex *virtio_roce_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr)
{
	struct uvirtio_roce_create_cq_resp resp = {};
	const struct virtio_roce_queue *info = &resp.drv_payload.cq;
	struct virtio_roce_cq *cq;
	int err;

	if (attr->wc_flags & ~cq_wc_flags(context) ||
	    attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS |
				IBV_CQ_INIT_ATTR_MASK_PD) ||
	    (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	     attr->flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	cq = cq_alloc();
	if (!cq)
		return NULL;

	err = compat_create_cq_ex(context, attr, &cq->vcq, &resp.ibv_resp,
				  sizeof(resp));
	if (err)
		goto err_free;

	if (to_vctx(context)->features & VIRTIO_ROCE_FEATURE_DIRECT)
		err = virtio_roce_cq_map_direct(cq, context, info);
	else
		err = virtio_roce_vq_map(&cq->vq, context, info, VQ_COMPLETION,
					 sizeof(struct virtio_rdma_cq_req));
	if (err)
		goto err_destroy;
	cq->timed = attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	if (!cq_has_times(cq, info)) {
		err = EPROTO;
		goto err_unmap;
	}

	cq->stale = calloc(info->depth, sizeof(*cq->stale));
	if (!cq->stale) {
		err = ENOMEM;
		goto err_unmap;
	}

	cq->vq.unlocked = cq_is_single_threaded(attr);
	virtio_roce_cq_set_head(cq);
	virtio_roce_cq_set_ops(cq);

	return &cq->vcq.cq_ex;

err_unmap:
	virtio_roce_vq_free(&cq->vq);
err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	pthread_mutex_destroy(&cq->resize.mutex);
	free(cq);
	errno = err;
	return NULL;
}

struct ibv_cq *virtio_roce_create_cq(struct ibv_context *context, int cqe,
				     struct ibv_comp_channel *channel,
				     int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *ex;

	ex = virtio_roce_create_cq_ex(context, &attr);
	return ex ? ibv_cq_ex_to_cq(ex) : NULL;
}

/*
 * Returns what to arm a CQ for.  The device sees only the last arming, so an arming repeats what
 * earlier ones asked for and may not have got: one for solicited completions must not
 * take the wake-up of one for any completion.
 *
 * There is at most one event for each arming, and they come in order.  So with @events of
 * them the armings up to this number are answered.  Later ones may be, too, if an
 * earlier one was never answered; then one event more than needed can come.
 *
 * Context: lock of the CQ held.
 */
static uint32_t cq_arm_bits(struct virtio_roce_cq *cq, bool solicited_only)
{
	if (!solicited_only)
		cq->any = cq->armings;
	return cq->any > __atomic_load_n(&cq->events, __ATOMIC_RELAXED) ?
	       VIRTIO_RDMA_ARM_NEXT : VIRTIO_RDMA_ARM_SOLICITED;
}

/*
 * Arming is a store.  The fence orders it before what is polled next; the device stores
 * a completion before it looks at the number.
 */
static int cq_arm(struct virtio_roce_cq *cq, bool solicited_only)
{
	uint32_t *arm, value;
	bool dead;

	vq_lock(&cq->vq);
	/* The kernel has copied the last arming to another control block. */
	while (unlikely(cq->resize.running)) {
		vq_unlock(&cq->vq);
		virtio_roce_resize_wait(&cq->resize);
		vq_lock(&cq->vq);
	}
	arm = (__force uint32_t *)&cq->control->arm;
	cq->armings++;
	value = cq->armings * VIRTIO_RDMA_ARM_NUMBER + cq_arm_bits(cq, solicited_only);
	__atomic_store_n(arm, (__force uint32_t)htole32(value), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	dead = ring_is_dead(&cq->vq.ring);
	vq_unlock(&cq->vq);
	return dead ? EIO : 0;
}

/**
 * virtio_roce_cq_event() - the application has taken an event of a CQ
 * @ibcq: CQ
 *
 * Context: any thread, also of a CQ that one thread uses at a time.
 */
void virtio_roce_cq_event(struct ibv_cq *ibcq)
{
	__atomic_fetch_add(&to_vcq(ibcq)->events, 1, __ATOMIC_RELAXED);
}

int virtio_roce_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct virtio_roce_cq *cq = to_vcq(ibcq);

	if (cq_is_parents(cq))
		return EFAULT;
	if (cq->vq.ring.direct)
		return cq_arm(cq, solicited_only);

	return ibv_cmd_req_notify_cq(ibcq, solicited_only);
}

/* The kernel knows how long an event may wait. */
int virtio_roce_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd;

	if (cq_is_parents(to_vcq(ibcq)))
		return EFAULT;

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

/* In the form of the RFC the slots stay the same. */
int virtio_roce_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct ib_uverbs_resize_cq_resp resp;
	struct ibv_resize_cq cmd;

	if (cq_is_parents(to_vcq(ibcq)))
		return EFAULT;
	if (to_vcq(ibcq)->vq.ring.direct)
		return virtio_roce_cq_resize(to_vcq(ibcq), cqe);

	return ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp,
				 sizeof(resp));
}

/*
 * The kernel destroys an object at once only if nothing of it is mapped.  So the only
 * reason for which it may refuse is checked before the queue is unmapped.
 */
int virtio_roce_destroy_cq(struct ibv_cq *ibcq)
{
	struct virtio_roce_context *ctx = to_vctx(ibcq->context);
	struct virtio_roce_cq *cq = to_vcq(ibcq);
	bool in_use;
	int err;

	if (cq_is_parents(cq))
		return EFAULT;

	pthread_mutex_lock(&ctx->qp_mutex);
	in_use = cq->users;
	pthread_mutex_unlock(&ctx->qp_mutex);
	if (in_use)
		return EBUSY;

	virtio_roce_vq_unmap(&cq->vq);
	virtio_roce_cq_set_head(cq);
	err = ibv_cmd_destroy_cq(ibcq);
	if (err)
		return err;

	virtio_roce_vq_free(&cq->vq);
	virtio_roce_vq_free(&cq->first);
	if (cq->wqs != cq->few)
		free(cq->wqs);
	free(cq->stale);
	pthread_mutex_destroy(&cq->resize.mutex);
	free(cq);
	return 0;
}
