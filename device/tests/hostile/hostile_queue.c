// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions that are not true, and used rings that say nonsense.
 */
#include <endian.h>
#include <string.h>

#include "tests/hostile/hostile.h"

/* Of a completion, behind wr_id, which is a kind of its own. */
#define REST	offsetof(struct virtio_rdma_cq_req, status)

static bool is_cq(const struct hostile *h, const struct virtq *vq)
{
	return vq->index - FUNCTION_QUEUES < (int)h->fn->config.limits.cqs;
}

/* Not one of events or doorbells. */
static bool is_queue(const struct hostile *h, const struct virtq *vq)
{
	const struct rnic_limits *limits = &h->fn->config.limits;

	return vq->index - FUNCTION_QUEUES < (int)(limits->cqs + 2 * limits->qps);
}

/* Its CQ or QP exists. */
static bool is_made(const struct hostile *h, const struct virtq *vq)
{
	unsigned int at = vq->index - FUNCTION_QUEUES, cqs = h->fn->config.limits.cqs;

	return is_cq(h, vq) ? h->cq_made[at] : h->qp_made[(at - cqs) / 2];
}

/* The kind for whoever has the queue, from the one for a process. */
static enum hostile_kind of(const struct hostile *h, const struct virtq *vq,
			    enum hostile_kind kind)
{
	const struct rnic_limits *limits = &h->fn->config.limits;
	unsigned int at = vq->index - FUNCTION_QUEUES;
	enum hostile_owner owner = is_cq(h, vq) ? h->cq_owner[at] :
				   h->qp_owner[(at - limits->cqs) / 2];

	return kind + owner * OWNER_KINDS;
}

/* A field of a completion becomes one that would change what it means. */
static void change_field(struct hostile *h, struct virtio_rdma_cq_req *wc)
{
	uint32_t qps = h->fn->config.limits.qps;

	switch (hostile_random() % 7) {
	case 0:
		wc->status = hostile_random() % 2 ? 0 : hostile_random() % 24;
		break;
	case 1:
		wc->opcode = hostile_random() % 2 ? hostile_random() : hostile_random() % 12;
		break;
	case 2:
		wc->byte_len = htole32(hostile_number(le32toh(wc->byte_len)));
		break;
	case 3:
		wc->qp_num = htole32(hostile_random() % (qps + 1));
		break;
	case 4:
		wc->qp_num = htole32(hostile_random());
		break;
	case 5:
		wc->src_qp = htole32(hostile_random());
		break;
	case 6:
		wc->wc_flags = htole32(hostile_random());
		break;
	}
}

static void forge(struct hostile *h, struct virtio_rdma_cq_req *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = htole64(hostile_random() % 2 ? hostile_random() % 256 :
			    (uint64_t)hostile_random() << 32 | hostile_random());
	wc->qp_num = htole32(hostile_random() % h->fn->config.limits.qps);
	change_field(h, wc);
	if (!(hostile_random() % 4))
		hostile_flip(wc, sizeof(*wc));
}

/* A completion by the next slot, if there is one. */
static void add(struct virtq *vq, const struct virtio_rdma_cq_req *wc)
{
	static struct virtq_elem elem;

	if (hostile_pop(vq, &elem) <= 0)
		return;
	iov_from_buf(&elem.iov[elem.out_n], elem.in_n, 0, wc, sizeof(*wc));
	hostile_push(vq, elem.head, sizeof(*wc));
}

static void change_completion(struct hostile *h, struct virtq *vq, uint16_t head)
{
	const struct virtq_elem *elem = h->elem[vq->index];
	struct virtio_rdma_cq_req wc;

	if (!elem || elem->head != head || elem->in_len < sizeof(wc))
		return;
	iov_to_buf(&elem->iov[elem->out_n], elem->in_n, 0, &wc, sizeof(wc));
	if (hostile_roll(of(h, vq, USER_WR_ID)))
		hostile_flip(&wc.wr_id, sizeof(wc.wr_id));
	if (hostile_roll(of(h, vq, USER_BITS)))
		hostile_flip((uint8_t *)&wc + REST, sizeof(wc) - REST);
	if (hostile_roll(of(h, vq, USER_VALUE)))
		change_field(h, &wc);
	iov_from_buf(&elem->iov[elem->out_n], elem->in_n, 0, &wc, sizeof(wc));
	if (virtq_pending(vq) && hostile_roll(of(h, vq, USER_REPEAT)))
		add(vq, &wc);
}

void hostile_before_push(struct hostile *h, struct virtq *vq, uint16_t *head,
			 uint32_t *len)
{
	if (!is_queue(h, vq))
		return;
	if (is_cq(h, vq))
		change_completion(h, vq, *head);
	if (hostile_roll(of(h, vq, USER_ID)))
		*head = hostile_random() % 2 ? hostile_random() : hostile_random() % vq->num;
	if (hostile_roll(of(h, vq, USER_LENGTH)))
		*len = hostile_number(*len);
}

void hostile_after_push(struct hostile *h, struct virtq *vq)
{
	uint16_t by;

	if (!is_queue(h, vq) || !vq->ready || !hostile_roll(of(h, vq, USER_INDEX)))
		return;
	by = hostile_random() % 2 ? hostile_random() : hostile_random() % vq->num;
	__atomic_store_n(&vq->used->idx, htole16(vq->used_idx + by), __ATOMIC_RELEASE);
}

void hostile_out_of_nothing(struct hostile *h, struct virtq *vq)
{
	struct virtio_rdma_cq_req wc;

	if (!is_queue(h, vq) || !is_made(h, vq))
		return;
	if (is_cq(h, vq) && virtq_pending(vq) && hostile_roll(of(h, vq, USER_FORGED))) {
		forge(h, &wc);
		add(vq, &wc);
		vq->call(vq);
	}
	if (hostile_roll(of(h, vq, USER_FLAGS))) {
		vq->used->flags = htole16(hostile_random());
		memset(&vq->used->ring[vq->num], hostile_random(), sizeof(uint16_t));
	}
}

/* ------------------------------------------------------------------------- */
/* Direct CQs                                                                */
/* ------------------------------------------------------------------------- */

/* The phase is what tells a new completion from one of the round before. */
static void change_phase(struct cq *cq)
{
	const uint32_t slot = hostile_random() & (cq->cqe - 1);
	struct virtio_rdma_cqe *cqe = pages_ptr(&cq->pages, (uint64_t)slot << cq->shift);

	if (cqe)
		cqe->phase ^= VIRTIO_RDMA_CQE_PHASE;
}

void hostile_add(struct hostile *h, struct cq *cq, struct cq_user *user,
		 const struct virtio_rdma_cq_req *wc, uint32_t wqe, bool solicited)
{
	const enum hostile_kind kinds = h->cq_owner[cq->cqn] * OWNER_KINDS;
	struct virtio_rdma_cq_req changed = *wc;

	if (hostile_roll(kinds + USER_WR_ID))
		wqe = hostile_number(wqe);
	if (hostile_roll(kinds + USER_BITS))
		hostile_flip((uint8_t *)&changed + REST, sizeof(changed) - REST);
	if (hostile_roll(kinds + USER_VALUE))
		change_field(h, &changed);
	hostile_cq_add(cq, user, &changed, wqe, solicited);
	if (!cq->error && hostile_roll(kinds + USER_REPEAT))
		hostile_cq_add(cq, user, &changed, wqe, solicited);
	if (hostile_roll(kinds + USER_INDEX))
		change_phase(cq);
}

void hostile_add_from_nothing(struct hostile *h, struct cq *cq)
{
	struct cq_user *user = TAILQ_FIRST(&cq->users);
	struct virtio_rdma_cq_req wc;

	if (!user || cq->error ||
	    !hostile_roll(h->cq_owner[cq->cqn] * OWNER_KINDS + USER_FORGED))
		return;
	forge(h, &wc);
	hostile_cq_add(cq, user, &wc, hostile_number(0), hostile_random() % 2);
}

void hostile_event(struct hostile *h, struct virtq *vq)
{
	struct virtio_rdma_event event = { 0 };
	static struct virtq_elem elem;

	if (is_queue(h, vq) || !hostile_roll(EVENT_FORGED) || hostile_pop(vq, &elem) <= 0)
		return;
	event.number = htole32(hostile_random() % 4 ? hostile_random() % 1024 :
			       hostile_random());
	if (!(hostile_random() % 4))
		event.type = htole16(VIRTIO_RDMA_EVENT_NUM + hostile_random() % 16);
	event.detail = htole16(hostile_random());
	iov_from_buf(&elem.iov[elem.out_n], elem.in_n, 0, &event, sizeof(event));
	hostile_push(vq, elem.head, sizeof(event));
	vq->call(vq);
}
