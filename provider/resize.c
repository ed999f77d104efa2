// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Another ring for a CQ or an SRQ in direct form that is in use.
 *
 * The kernel makes the ring, and the device goes over to it, while a command runs, which
 * takes as long as the device likes.  Nobody spins for that time: a mutex orders those who
 * resize, and the lock of the queue is held only where the mappings are exchanged.
 *
 * Meanwhile completions are polled from the old ring of a CQ, and posting to an SRQ and
 * arming a CQ wait for the mutex: the kernel has copied requests, or the arming, by then.
 *
 * The device writes nothing to the old ring of a CQ any more when the command is done.  So
 * as many completions are unread there as this process has to take of those that the kernel
 * copied.  It skips the others, which were polled since.
 */
#include <errno.h>
#include <stdlib.h>

#include <util/util.h>

#include "cmd.h"
#include "virtio_roce.h"

/**
 * virtio_roce_resize_wait() - sleep until a resize is done
 * @resize: of the queue, whose lock is not held
 */
void virtio_roce_resize_wait(struct virtio_roce_resize *resize)
{
	pthread_mutex_lock(&resize->mutex);
	pthread_mutex_unlock(&resize->mutex);
}

/* How many completions are unread, up to @most?  Context: lock of the CQ held. */
static uint32_t cq_unread(const struct virtio_roce_cq *cq, uint32_t most)
{
	struct ring walk = cq->vq.ring;
	uint32_t slot, found = 0;

	while (found < most && !ring_peek(&walk, &slot)) {
		walk.taken++;
		found++;
	}
	return found;
}

/* The old control block says that the CQ is in error as soon as it is the old one. */
static const uint32_t no_error;

static int cq_begin(struct virtio_roce_cq *cq, uint32_t cqe)
{
	int err = 0;

	vq_lock(&cq->vq);
	if (cqe < cq->vq.ring.depth && cq_unread(cq, cqe + 1) > cqe) {
		err = EINVAL;
	} else {
		cq->resize.running = true;
		cq->vq.ring.error = &no_error;
	}
	vq_unlock(&cq->vq);
	return err;
}

static void cq_end(struct virtio_roce_cq *cq)
{
	vq_lock(&cq->vq);
	cq->vq.ring.error = (__force const uint32_t *)&cq->control->device;
	cq->resize.running = false;
	vq_unlock(&cq->vq);
}

/*
 * Go over to the ring that is mapped at @new.  It gets the old mappings, and @stale gets
 * the old marks.  Context: lock of the CQ held.
 */
static int cq_exchange(struct virtio_roce_cq *cq, struct virtio_roce_vq *new,
		       const struct virtio_roce_resize_cq_resp *to, bool **stale)
{
	const struct ring old = cq->vq.ring;
	uint32_t left = cq_unread(cq, old.depth), taken = to->unread - left, i;
	struct ring *ring = &cq->vq.ring;
	bool *marks = *stale;

	if (left > to->unread)
		return EPROTO;
	for (i = 0; cq->num_stale && i < left; i++)
		marks[taken + i] = cq->stale[(old.taken + i) & (old.depth - 1)];
	*stale = cq->stale;
	cq->stale = marks;
	virtio_roce_cq_exchange(cq, new, &to->cq);
	ring->taken = taken;
	ring->next = taken;
	ring_publish(ring);
	cq->resized = true;
	virtio_roce_cq_set_head(cq);
	return 0;
}

/*
 * The kernel has given the CQ a new ring, whose first slots hold what was unread in the
 * old one.  If this fails, the old ring remains, and its control block says that the CQ
 * is in error.
 */
static int cq_move(struct virtio_roce_cq *cq,
		   const struct virtio_roce_resize_cq_resp *to)
{
	struct virtio_roce_vq new = {};
	bool *stale, first = !cq->resized;
	int err;

	if (to->unread > cq->vq.ring.depth || to->unread > to->cq.depth)
		return EPROTO;
	err = virtio_roce_cq_map_ring(&new, cq->vcq.cq.context, &to->cq);
	if (err)
		return err;
	stale = calloc(to->cq.depth, sizeof(*stale));
	if (!cq_has_times(cq, &to->cq)) {
		err = EPROTO;
	} else if (stale) {
		vq_lock(&cq->vq);
		err = cq_exchange(cq, &new, to, &stale);
		vq_unlock(&cq->vq);
	} else {
		err = ENOMEM;
	}
	free(stale);
	if (!err && first) {
		virtio_roce_vq_blank(&new);
		cq->first = new;
	} else {
		virtio_roce_vq_unmap(&new);
	}
	return err;
}

/**
 * virtio_roce_cq_resize() - see to it that a direct CQ has room
 * @cq: CQ of this process
 * @cqe: for how many completions
 *
 * Returns 0 or an errno value.
 */
int virtio_roce_cq_resize(struct virtio_roce_cq *cq, int cqe)
{
	struct uvirtio_roce_resize_cq_resp resp = {};
	struct ibv_resize_cq cmd;
	int err;

	pthread_mutex_lock(&cq->resize.mutex);
	err = cq_begin(cq, cqe);
	if (err)
		goto out_unlock;
	err = ibv_cmd_resize_cq(&cq->vcq.cq, cqe, &cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	/* Without a new ring the CQ is large enough as it is. */
	if (!err && resp.drv_payload.cq.flags)
		err = cq_move(cq, &resp.drv_payload);
	cq_end(cq);
out_unlock:
	pthread_mutex_unlock(&cq->resize.mutex);
	return err;
}

/*
 * See to it that there are as many cookies.  They never get fewer, because requests that
 * are outstanding have any of them.  Context: lock of the SRQ held.
 */
static int srq_add_cookies(struct virtio_roce_srq *srq, uint32_t cookies)
{
	uint64_t *wr_ids;
	uint32_t *free_ones;

	if (cookies <= srq->cookies)
		return 0;
	wr_ids = realloc(srq->vq.wr_ids, cookies * sizeof(*wr_ids));
	if (!wr_ids)
		return ENOMEM;
	srq->vq.wr_ids = wr_ids;
	free_ones = realloc(srq->free, cookies * sizeof(*free_ones));
	if (!free_ones)
		return ENOMEM;
	srq->free = free_ones;
	while (srq->cookies < cookies)
		srq->free[srq->num_free++] = srq->cookies++;
	return 0;
}

static int srq_begin(struct virtio_roce_srq *srq, uint32_t max_wr)
{
	int err;

	vq_lock(&srq->vq);
	if (max_wr < virtio_roce_srq_outstanding(srq))
		err = EINVAL;
	else
		err = srq_add_cookies(srq, roundup_pow_of_two(max_wr));
	if (!err) {
		/* The ring seems to be full, so nothing is posted. */
		srq->vq.ring.depth = 0;
		srq->resize.running = true;
	}
	vq_unlock(&srq->vq);
	return err;
}

static void srq_end(struct virtio_roce_srq *srq, uint32_t depth)
{
	vq_lock(&srq->vq);
	srq->vq.ring.depth = depth;
	srq->resize.running = false;
	vq_unlock(&srq->vq);
}

static int srq_move(struct virtio_roce_srq *srq, const struct virtio_roce_queue *to)
{
	struct virtio_roce_vq new = {};
	int err;

	err = virtio_roce_srq_map_ring(srq, &new, srq->vsrq.srq.context, to);
	if (err)
		return err;
	vq_lock(&srq->vq);
	virtio_roce_srq_exchange(srq, &new, to);
	vq_unlock(&srq->vq);
	virtio_roce_vq_unmap(&new);
	return 0;
}

/**
 * virtio_roce_srq_resize() - give an SRQ another number of slots
 * @srq: SRQ of this process
 * @attr: as for ibv_modify_srq(), with a number of requests that a ring can have
 * @attr_mask: likewise
 *
 * The kernel copies the requests, each to the slot of its position in the new ring.
 *
 * Returns 0 or an errno value.
 */
int virtio_roce_srq_resize(struct virtio_roce_srq *srq, struct ibv_srq_attr *attr,
			   int attr_mask)
{
	struct virtio_roce_create_srq_resp resp = {};
	struct uvirtio_roce_modify_srq cmd = {
		.drv_payload.resp = (uintptr_t)&resp,
		.drv_payload.resp_len = sizeof(resp),
	};
	int err, moved = 0;
	uint32_t depth;

	pthread_mutex_lock(&srq->resize.mutex);
	depth = srq->vq.ring.depth;
	err = srq_begin(srq, attr->max_wr);
	if (err)
		goto out_unlock;
	err = ibv_cmd_modify_srq(&srq->vsrq.srq, attr, attr_mask, &cmd.ibv_cmd,
				 sizeof(cmd));
	/* There may be a new ring though the limit was refused. */
	if (resp.srq.flags) {
		moved = srq_move(srq, &resp.srq);
		/* The device does not look at the old one. */
		depth = moved ? 0 : resp.srq.depth;
	}
	srq_end(srq, depth);
out_unlock:
	pthread_mutex_unlock(&srq->resize.mutex);
	return err ? err : moved;
}
