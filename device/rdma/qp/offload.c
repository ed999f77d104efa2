// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Offloads of QPs: what requester and responder ask of them.
 */
#include <stddef.h>
#include <string.h>

#include "rdma/qp/offload.h"

void qp_offload_start(struct qp *qp, struct qp_offload *offload)
{
	offload->qp = qp;
	offload->turn = false;
	offload->ending = false;
	TAILQ_INIT(&offload->posts);
	qp->offload = offload;
	/* The short way of messages looks at no offload. */
	fabric_touch(qp->end->fabric);
}

void qp_offload_stop(struct qp *qp, bool failed)
{
	struct qp_offload *offload = qp->offload;
	struct requester *req = &qp->req;
	uint32_t i;

	if (!offload)
		return;
	qp->offload = NULL;
	for (i = req->una; i != req->prod; i++)
		requester_wqe(req, i)->post = NULL;
	fabric_touch(qp->end->fabric);
	offload->ops->gone(offload, failed);
}

bool qp_offload_busy(const struct qp *qp)
{
	const struct requester *req = &qp->req;
	uint32_t i;

	for (i = req->una; i != req->prod; i++)
		if (requester_wqe(req, i)->posted)
			return true;
	return qp->offload && !TAILQ_EMPTY(&qp->offload->posts);
}

void qp_offload_end(struct qp_offload *offload)
{
	offload->ending = true;
	qp_activate(offload->qp);
}

void qp_offload_post(struct qp_offload *offload, struct qp_post *post)
{
	TAILQ_INSERT_TAIL(&offload->posts, post, entry);
	qp_activate(offload->qp);
}

bool qp_offload_next(struct qp *qp, struct wqe *wqe)
{
	struct qp_post *post = TAILQ_FIRST(&qp->offload->posts);

	if (!post)
		return false;
	TAILQ_REMOVE(&qp->offload->posts, post, entry);
	memset(wqe, 0, offsetof(struct wqe, sge));
	wqe->opcode = post->opcode;
	wqe_set_opcode(wqe, qp->type);
	wqe->inlined = true;
	wqe->posted = true;
	wqe->post = post;
	wqe->flat = post->buf;
	wqe->length = post->len;
	wqe->remote_addr = post->remote_addr;
	wqe->rkey = post->key;
	wqe->inv_rkey = post->key;
	return true;
}

bool qp_offload_read(struct qp *qp, void *buf, uint32_t len)
{
	const struct rwqe *rwqe = &qp->resp.rwqe;
	struct sg src, dst;

	if (!sg_init(&src, qp->mrs, qp_recv_pd(qp), 0, rwqe->sge, rwqe->num_sge, 0, len))
		return false;
	sg_init_flat(&dst, buf);
	sg_copy(&dst, &src, len);
	return true;
}
