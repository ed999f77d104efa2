// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Answers to control commands that are wrong, late, or for another command.
 */
#include <endian.h>
#include <string.h>

#include "tests/hostile/hostile.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define LATE_MS		500

/*
 * A lie about some commands makes the driver free memory that this daemon goes on writing
 * to, by its own idea of what it was given.  Without an IOMMU nothing helps against a
 * device that writes where it must not, so that would test nothing.
 */
static bool is_about_memory(uint8_t command)
{
	return command == CMD(ALLOC_DOORBELL) || command == CMD(FREE_DOORBELL) ||
	       command == CMD(RESIZE_CQ) || command == CMD(RESIZE_SRQ);
}

/* The same for one answer: it was destroyed. */
static bool gives_memory_back(uint8_t command)
{
	return command == CMD(DESTROY_CQ) || command == CMD(DESTROY_QP) ||
	       command == CMD(DEREG_MR);
}

static uint8_t false_ack(const struct hostile *h)
{
	uint8_t ack;

	/* Anything but what means, inside the daemon, that there is no answer yet. */
	do {
		ack = hostile_random() % 4 ? hostile_random() % 4 : hostile_random();
	} while (ack == RNIC_COMMAND_MORE ||
		 (ack == VIRTIO_NET_OK && gives_memory_back(h->asked)));
	return ack;
}

uint8_t hostile_answer(struct hostile *h, uint8_t ack, void *rsp, size_t rsp_size,
		       size_t *rsp_len)
{
	uint32_t value;
	size_t at;

	h->roce = true;
	if (h->asked < VIRTIO_NET_CTRL_ROCE_NUM && hostile_roll(REFUSE + h->asked)) {
		*rsp_len = 0;
		return VIRTIO_NET_ERR;
	}
	if (is_about_memory(h->asked))
		return ack;
	if (*rsp_len && hostile_roll(ANSWER_BITS))
		hostile_flip(rsp, *rsp_len);
	if (*rsp_len >= sizeof(value) && hostile_roll(ANSWER_VALUE)) {
		at = hostile_random() % (*rsp_len / sizeof(value)) * sizeof(value);
		memcpy(&value, (uint8_t *)rsp + at, sizeof(value));
		value = htole32(hostile_number(le32toh(value)));
		memcpy((uint8_t *)rsp + at, &value, sizeof(value));
	}
	if (hostile_roll(ANSWER_ACK)) {
		ack = false_ack(h);
		if (ack == VIRTIO_NET_OK)
			*rsp_len = rsp_size;
	}
	return ack;
}

/* ------------------------------------------------------------------------- */
/* Owners of objects                                                         */
/* ------------------------------------------------------------------------- */

static bool pd_of_kernel(const struct hostile *h, uint32_t pdn)
{
	unsigned int i;

	for (i = 0; i < h->pds; i++)
		if (h->pd[i] == pdn)
			return true;
	return false;
}

static void pd_forget(struct hostile *h, uint32_t pdn)
{
	unsigned int i;

	for (i = 0; i < h->pds; i++)
		if (h->pd[i] == pdn)
			h->pd[i--] = h->pd[--h->pds];
}

/* Only the kernel has a region of all memory in its PD. */
static void learn_qp(struct hostile *h, const struct virtio_rdma_cmd_create_qp *req,
		     uint32_t qpn)
{
	uint32_t send = le32toh(req->send_cqn), recv = le32toh(req->recv_cqn);
	enum hostile_owner owner = OWNER_USER;

	if (req->qp_type == VIRTIO_IB_QPT_GSI)
		owner = OWNER_GSI;
	else if (pd_of_kernel(h, le32toh(req->pdn)))
		owner = OWNER_KERNEL;
	h->qp_made[qpn] = true;
	h->qp_owner[qpn] = owner;
	if (owner > h->cq_owner[send])
		h->cq_owner[send] = owner;
	if (owner > h->cq_owner[recv])
		h->cq_owner[recv] = owner;
}

void hostile_ask(struct hostile *h, uint8_t command, const struct rnic_request *request)
{
	memset(&h->asks, 0, sizeof(h->asks));
	iov_to_buf(request->iov, request->iov_n, request->off, &h->asks,
		   request->len < sizeof(h->asks) ? request->len : sizeof(h->asks));
	h->asked = command;
}

void hostile_learn(struct hostile *h, const void *rsp)
{
	const struct virtio_rdma_ack_create_cq *cq = rsp;
	const struct virtio_rdma_ack_create_qp *qp = rsp;
	const union hostile_request *req = &h->asks;

	switch (h->asked) {
	case CMD(GET_DMA_MR):
		if (h->pds < HOSTILE_PDS)
			h->pd[h->pds++] = le32toh(req->dma.pdn);
		break;
	case CMD(DESTROY_PD):
		pd_forget(h, le32toh(req->pd.pdn));
		break;
	case CMD(CREATE_CQ):
		h->cq_made[le32toh(cq->cqn)] = true;
		h->cq_owner[le32toh(cq->cqn)] = OWNER_USER;
		break;
	case CMD(DESTROY_CQ):
		h->cq_made[le32toh(req->cq.cqn)] = false;
		break;
	case CMD(DESTROY_QP):
		h->qp_made[le32toh(req->no_qp.qpn)] = false;
		break;
	case CMD(CREATE_QP):
		learn_qp(h, &req->qp, le32toh(qp->qpn));
		break;
	}
}

void hostile_forget(struct hostile *h)
{
	h->pds = 0;
	memset(h->cq_made, 0, VIRTIO_NET_ROCE_MAX_OBJECTS);
	memset(h->qp_made, 0, VIRTIO_NET_ROCE_MAX_OBJECTS);
	memset(h->cq_owner, OWNER_USER, VIRTIO_NET_ROCE_MAX_OBJECTS);
	memset(h->qp_owner, OWNER_USER, VIRTIO_NET_ROCE_MAX_OBJECTS);
	memset(h->late, 0, sizeof(h->late));
}

/* ------------------------------------------------------------------------- */
/* The control queue                                                         */
/* ------------------------------------------------------------------------- */

static bool put_off(struct hostile *h, uint16_t head, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < HOSTILE_LATE; i++) {
		if (h->late[i].due)
			continue;
		h->late[i] = (struct hostile_late) {
			.due = loop_now(h->fn->loop) +
			       (1 + hostile_random() % LATE_MS) * 1000000ULL,
			.head = head,
			.len = len,
		};
		return true;
	}
	return false;
}

void hostile_push_late(struct hostile *h)
{
	struct virtq *vq = h->vq[FUNCTION_CTRL];
	unsigned int i;

	for (i = 0; i < HOSTILE_LATE && vq; i++) {
		if (!h->late[i].due || h->late[i].due > loop_now(h->fn->loop))
			continue;
		h->late[i].due = 0;
		hostile_push(vq, h->late[i].head, h->late[i].len);
		vq->call(vq);
	}
}

bool hostile_push_answer(struct hostile *h, struct virtq *vq, uint16_t *head,
			 uint32_t *len)
{
	const struct virtq_elem *elem = h->elem[vq->index];
	bool roce = h->roce;

	h->roce = false;
	if (!roce) {
		if (elem && elem->in_n && hostile_roll(ETH_ACK))
			*(uint8_t *)elem->iov[elem->out_n].iov_base = hostile_random() % 4;
		return true;
	}
	if (hostile_roll(ANSWER_LOST))
		return false;
	if (h->asked < VIRTIO_NET_CTRL_ROCE_NUM && hostile_roll(SILENT + h->asked))
		return false;
	if (hostile_roll(ANSWER_LENGTH))
		*len = hostile_number(*len);
	if (hostile_roll(ANSWER_ID))
		*head = hostile_random() % 2 ? hostile_random() : hostile_random() % vq->num;
	return !hostile_roll(ANSWER_LATE) || !put_off(h, *head, *len);
}
