// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests, slots for completions, doorbells.
 *
 * In the RFC a work request is one descriptor that the device reads, and a completion
 * is one that it writes.  Keys and addresses are not looked at here: they come from
 * processes, and any device has to check them.
 */
#include <endian.h>
#include <string.h>

#include "tests/strict/strict.h"

static uint16_t ring_index(const void *p)
{
	return le16toh(__atomic_load_n((const uint16_t *)p, __ATOMIC_ACQUIRE));
}

uint16_t strict_avail(const struct strict_queue *queue)
{
	return ring_index(&queue->vq->avail->idx) - queue->vq->last_avail;
}

uint16_t strict_pending(const struct strict_queue *queue)
{
	return ring_index(&queue->vq->avail->idx) - queue->vq->used_idx;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* One descriptor with a fixed part and up to @max elements after it. */
static void slot_size(const struct strict *s, const struct strict_queue *queue,
		      const struct virtq_elem *elem, size_t fixed, uint32_t max)
{
	const size_t sge = sizeof(struct virtio_rdma_sge);

	if (elem->out_n != 1 || elem->in_n)
		strict_fail(s, "QP %u: a work request of %u and %u descriptors",
			    queue->number, elem->out_n, elem->in_n);
	if ((uintptr_t)elem->iov[0].iov_base % STRICT_ALIGN)
		strict_fail(s, "QP %u: a work request that is not aligned",
			    queue->number);
	if (elem->out_len < fixed || (elem->out_len - fixed) % sge ||
	    (elem->out_len - fixed) / sge > max)
		strict_fail(s, "QP %u: a work request of %zu bytes", queue->number,
			    elem->out_len);
}

static void slot_elements(const struct strict *s, const struct strict_queue *queue,
			  const struct virtq_elem *elem, size_t fixed, uint32_t n,
			  uint32_t max)
{
	if (n > max)
		strict_fail(s, "QP %u: %u elements, of %u promised", queue->number, n,
			    max);
	if (elem->out_len < fixed + n * sizeof(struct virtio_rdma_sge))
		strict_fail(s, "QP %u: %u elements in a slot of %zu bytes",
			    queue->number, n, elem->out_len);
}

static bool opcode_fits(uint8_t type, uint8_t opcode)
{
	switch (opcode) {
	case VIRTIO_IB_WR_SEND:
	case VIRTIO_IB_WR_SEND_WITH_IMM:
		return true;
	case VIRTIO_IB_WR_RDMA_WRITE:
	case VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM:
		return type == VIRTIO_IB_QPT_RC || type == VIRTIO_IB_QPT_UC;
	case VIRTIO_IB_WR_RDMA_READ:
		return type == VIRTIO_IB_QPT_RC;
	}
	return false;
}

/* The union after the immediate data: bytes that its member leaves are reserved. */
static void slot_operand(const struct strict *s, const struct strict_object *qp,
			 const struct virtio_rdma_sq_req *req)
{
	const uint8_t *operand = (const uint8_t *)req->reserved;
	const struct strict_object *ah;
	size_t used = 0;

	if (qp->type == VIRTIO_IB_QPT_UD || qp->type == VIRTIO_IB_QPT_GSI) {
		used = sizeof(req->ud);
		ah = strict_find(s, STRICT_AH, le32toh(req->ud.ah));
		if (!ah || ah->pd != qp->pd)
			strict_fail(s, "QP %u: a datagram with an unknown address handle",
				    qp->handle);
	} else if (req->opcode != VIRTIO_IB_WR_SEND &&
		   req->opcode != VIRTIO_IB_WR_SEND_WITH_IMM) {
		used = offsetof(struct virtio_rdma_sq_req, rdma.rkey) +
		       sizeof(req->rdma.rkey) -
		       offsetof(struct virtio_rdma_sq_req, reserved);
	}
	strict_zero(s, operand + used, sizeof(req->reserved) - used,
		    "reserved part of a send request");
}

static void slot_send(const struct strict *s, const struct strict_queue *queue,
		      const struct strict_object *qp, const struct virtq_elem *elem)
{
	uint32_t max = le32toh(qp->cap.max_send_sge);
	struct virtio_rdma_sq_req req;

	slot_size(s, queue, elem, sizeof(req), le32toh(s->device.max_send_sge));
	memcpy(&req, elem->iov[0].iov_base, sizeof(req));
	if (!opcode_fits(qp->type, req.opcode))
		strict_fail(s, "QP %u: opcode %u on a QP of type %u", qp->handle,
			    req.opcode, qp->type);
	if (req.send_flags & ~(VIRTIO_IB_SEND_FENCE | VIRTIO_IB_SEND_SIGNALED |
			       VIRTIO_IB_SEND_SOLICITED | VIRTIO_IB_SEND_INLINE))
		strict_fail(s, "QP %u: unknown send flags %#x", qp->handle,
			    req.send_flags);
	strict_zero(s, &req.padding, sizeof(req.padding), "padding of a send request");
	strict_zero(s, req.reserved2, sizeof(req.reserved2),
		    "reserved part of a send request");
	slot_operand(s, qp, &req);
	if (req.send_flags & VIRTIO_IB_SEND_INLINE) {
		if (req.opcode == VIRTIO_IB_WR_RDMA_READ)
			strict_fail(s, "QP %u: an inline READ", qp->handle);
		if (le16toh(req.inline_len) > le32toh(qp->cap.max_inline_data))
			strict_fail(s, "QP %u: %u bytes inline, of %u promised",
				    qp->handle, le16toh(req.inline_len),
				    le32toh(qp->cap.max_inline_data));
		if (le32toh(req.num_sge) != le16toh(req.inline_len))
			strict_fail(s, "QP %u: more behind inline_len", qp->handle);
		return;
	}
	if (req.opcode == VIRTIO_IB_WR_RDMA_READ)
		max = least(max, le32toh(s->device.max_sge_rd));
	slot_elements(s, queue, elem, sizeof(req), le32toh(req.num_sge), max);
}

static void slot_receive(const struct strict *s, const struct strict_queue *queue,
			 const struct strict_object *qp,
			 const struct virtq_elem *elem)
{
	struct virtio_rdma_rq_req req;

	slot_size(s, queue, elem, sizeof(req), le32toh(s->device.max_recv_sge));
	memcpy(&req, elem->iov[0].iov_base, sizeof(req));
	strict_zero(s, req.reserved, sizeof(req.reserved),
		    "reserved part of a receive request");
	slot_elements(s, queue, elem, sizeof(req), le32toh(req.num_sge),
		      le32toh(qp->cap.max_recv_sge));
}

static void slot_completion(const struct strict *s, const struct strict_queue *queue,
			    const struct virtq_elem *elem)
{
	if (elem->out_n || elem->in_n != 1 ||
	    elem->in_len != sizeof(struct virtio_rdma_cq_req))
		strict_fail(s, "CQ %u: a slot of %u and %u descriptors, %zu bytes",
			    queue->number, elem->out_n, elem->in_n, elem->in_len);
	if ((uintptr_t)elem->iov[0].iov_base % STRICT_ALIGN)
		strict_fail(s, "CQ %u: a slot that is not aligned", queue->number);
}

void strict_slot(const struct strict *s, const struct strict_queue *queue,
		 const struct virtq_elem *elem)
{
	const struct strict_object *qp = strict_find(s, STRICT_QP, queue->number);

	if (queue->kind == RNIC_CQ)
		slot_completion(s, queue, elem);
	else if (!qp)
		strict_fail(s, "a request of QP %u, which is not there", queue->number);
	else if (queue->kind == RNIC_SQ)
		slot_send(s, queue, qp, elem);
	else
		slot_receive(s, queue, qp, elem);
}

/*
 * A front-end may ring once when a queue starts, and a process that was killed may
 * have rung for a QP that is destroyed before the device sees the doorbell.
 */
void strict_kick(const struct strict *s, struct strict_queue *queue)
{
	if (queue->kicks++ && !queue->made)
		strict_fail(s, "a doorbell of %s %u, which never was",
			    queue->kind == RNIC_CQ ? "CQ" : "QP", queue->number);
}
