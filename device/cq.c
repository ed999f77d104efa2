// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues.
 *
 * The slots that the driver made available are the room that a CQ has; one is
 * available again once its completion was read.  A CQ without a free slot has
 * lost a completion and with it the trust in all that are to come: it stays in
 * error until it is destroyed, and its QPs go to ERR.
 */
#include <stdlib.h>

#include "cq.h"
#include "qp.h"

#define NOTIFY_ALL	(VIRTIO_IB_NOTIFY_SOLICITED | \
			 VIRTIO_IB_NOTIFY_NEXT_COMPLETION)

static bool cq_number_fits(const struct nic *nic, uint32_t cqn, uint32_t cqe)
{
	const struct virtq *vq = nic->cq_vq[cqn];

	return !nic->cq[cqn] && vq && vq->num >= cqe;
}

const char *cq_create(struct nic *nic, uint32_t cqe, uint32_t *cqn)
{
	struct cq *cq;
	uint32_t i;

	if (!cqe || cqe > nic->limits.queue_size)
		return "depth out of range";
	for (i = 0; i < nic->limits.cqs; i++)
		if (cq_number_fits(nic, i, cqe))
			break;
	if (i == nic->limits.cqs)
		return "no free completion queue with a virtqueue for it";

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return "out of memory";
	cq->cqn = i;
	cq->cqe = cqe;
	nic->cq[i] = cq;
	virtq_restart(nic->cq_vq[i]);
	virtq_want_kick(nic->cq_vq[i], false);
	*cqn = i;
	return NULL;
}

static void cq_free(struct nic *nic, struct cq *cq)
{
	nic->cq[cq->cqn] = NULL;
	if (nic->cq_vq[cq->cqn])
		virtq_restart(nic->cq_vq[cq->cqn]);
	free(cq);
}

const char *cq_destroy(struct nic *nic, uint32_t cqn)
{
	struct cq *cq = nic_cq(nic, cqn);

	if (!cq)
		return "unknown completion queue";
	if (cq->refs)
		return "completion queue in use";
	cq_free(nic, cq);
	return NULL;
}

void cq_free_all(struct nic *nic)
{
	uint32_t i;

	for (i = 0; i < nic->limits.cqs; i++)
		if (nic->cq[i])
			cq_free(nic, nic->cq[i]);
}

const char *cq_arm(struct nic *nic, uint32_t cqn, uint32_t flags)
{
	struct cq *cq = nic_cq(nic, cqn);

	if (!cq)
		return "unknown completion queue";
	if (!flags || flags & ~NOTIFY_ALL)
		return "unknown notification flags";
	cq->armed |= flags;
	return NULL;
}

static bool cq_raises(const struct cq *cq, const struct virtio_rdma_cq_req *wc,
		      bool solicited)
{
	if (cq->armed & VIRTIO_IB_NOTIFY_NEXT_COMPLETION)
		return true;
	return cq->armed & VIRTIO_IB_NOTIFY_SOLICITED &&
	       (solicited || wc->status != VIRTIO_IB_WC_SUCCESS);
}

/* Returns why not, or NULL. */
static const char *cq_put(struct nic *nic, struct virtq *vq,
			  const struct virtio_rdma_cq_req *wc)
{
	struct virtq_elem *elem = &nic->elem;
	int ret;

	if (!vq)
		return "its virtqueue was stopped";
	ret = virtq_pop(vq, elem);
	if (ret < 0)
		return "its virtqueue is broken";
	if (!ret)
		return "overrun";
	if (elem->in_len < sizeof(*wc)) {
		virtq_push(vq, elem->head, 0);
		return "a slot is too short";
	}
	iov_from_buf(&elem->iov[elem->out_n], elem->in_n, 0, wc, sizeof(*wc));
	virtq_push(vq, elem->head, sizeof(*wc));
	return NULL;
}

void cq_add(struct nic *nic, struct cq *cq, const struct virtio_rdma_cq_req *wc,
	    bool solicited)
{
	struct virtq *vq = nic->cq_vq[cq->cqn];
	const char *why;

	if (cq->error)
		return;
	why = cq_put(nic, vq, wc);
	if (why) {
		nic_warn(nic, "CQ %u in error: %s", cq->cqn, why);
		cq->error = true;
		qp_fail_cq(nic, cq);
		return;
	}
	if (cq_raises(cq, wc, solicited)) {
		cq->armed = 0;
		vq->call(vq);
	}
}
