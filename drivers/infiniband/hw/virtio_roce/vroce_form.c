// SPDX-License-Identifier: GPL-2.0
/*
 * The two forms of a queue; see vroce_form.h.
 */
#include <linux/stddef.h>

#include "vroce_doorbell.h"
#include "vroce_form.h"
#include "vroce_ring.h"

#define VROCE_SAME_PLACE(member, of)					\
	static_assert(offsetof(struct virtio_rdma_sq_req, of) ==	\
		      offsetof(struct virtio_rdma_sq_req, opcode) +	\
		      offsetof(struct virtio_rdma_swqe, member))

VROCE_SAME_PLACE(send_flags, send_flags);
VROCE_SAME_PLACE(imm_data, imm_data);
VROCE_SAME_PLACE(invalidate_rkey, invalidate_rkey);
VROCE_SAME_PLACE(rdma.rkey, rdma.rkey);
VROCE_SAME_PLACE(ud.ah, ud.ah);
VROCE_SAME_PLACE(reg.npages, reg.npages);

/* ----- work queues ----- */

/**
 * vroce_form_init_wq() - set the offsets of a work queue
 * @q: queue whose form is known
 * @recv: it is a receive queue
 */
void vroce_form_init_wq(struct vroce_queue *q, bool recv)
{
	if (recv) {
		q->head = q->direct ? 0 : offsetof(struct virtio_rdma_rq_req,
						   num_sge);
		q->sges = q->direct ? offsetof(struct virtio_rdma_rwqe, sg_list) :
				      offsetof(struct virtio_rdma_rq_req, sg_list);
	} else if (q->direct) {
		q->head = 0;
		q->data = offsetof(struct virtio_rdma_swqe, inline_data);
		q->sges = offsetof(struct virtio_rdma_swqe, sg_list);
	} else {
		q->head = offsetof(struct virtio_rdma_sq_req, opcode);
		q->data = offsetof(struct virtio_rdma_sq_req, inline_data);
		q->sges = offsetof(struct virtio_rdma_sq_req, sg_list);
	}
}

/**
 * vroce_form_set_sges() - say how many elements a send request has
 * @q: send queue
 * @slot: request
 * @num: number
 */
void vroce_form_set_sges(const struct vroce_queue *q, void *slot, u32 num)
{
	if (q->direct)
		((struct virtio_rdma_swqe *)slot)->num_sge = cpu_to_le16(num);
	else
		((struct virtio_rdma_sq_req *)slot)->num_sge = cpu_to_le32(num);
}

/**
 * vroce_form_set_inline() - say how many bytes of inline data a send request has
 * @q: send queue
 * @slot: request
 * @len: number
 */
void vroce_form_set_inline(const struct vroce_queue *q, void *slot, u16 len)
{
	struct virtio_rdma_sq_req *req = slot;

	if (q->direct) {
		((struct virtio_rdma_swqe *)slot)->inline_len = cpu_to_le16(len);
		return;
	}
	req->num_sge = 0;
	req->inline_len = cpu_to_le16(len);
}

/**
 * vroce_wq_put() - the request at a position has been written
 * @q: queue
 * @pos: position, which the device does not look at yet
 * @recv: it is a receive queue
 */
void vroce_wq_put(const struct vroce_queue *q, u32 pos, bool recv)
{
	__le64 *wr_id = vroce_queue_slot(q, pos);

	if (q->direct)
		return;
	/* The first member of both kinds of requests. */
	*wr_id = cpu_to_le64((recv ? VROCE_COOKIE_RECV : 0) | (u16)pos);
	vroce_ring_put(&q->vq->vring, pos, pos & (q->depth - 1));
}

/**
 * vroce_wq_announce() - show the device the requests before &vroce_queue.next
 * @aux: device
 * @q: queue
 * @old: what the device has seen
 */
void vroce_wq_announce(struct virtio_net_roce_aux *aux, struct vroce_queue *q,
		       u32 old)
{
	u32 pos = q->next;

	if (!q->direct) {
		vroce_ring_publish(&q->vq->vring, pos);
		if (vroce_ring_wants_kick(&q->vq->vring, aux->event_idx, old,
					  pos))
			aux->ops->kick(aux, q->vq);
		return;
	}
	/* The device sees requests before the index that shows them. */
	dma_wmb();
	WRITE_ONCE(*q->producer, cpu_to_le32(pos));
	if (q->wanted) {
		/* The device stores and loads in the opposite order. */
		mb();
		if (!READ_ONCE(*q->wanted))
			return;
	}
	vroce_doorbell_ring(aux, q->doorbell, q->bit);
}

/* ----- completion queues; context: lock of the CQ held ----- */

static u8 vroce_cq_phase(const struct vroce_queue *q, u32 pos)
{
	return pos & q->depth ? 0 : VIRTIO_RDMA_CQE_PHASE;
}

/* Number of completions that were not polled, 0 if it is impossible. */
static u16 vroce_cq_rfc_pending(const struct vroce_queue *q)
{
	u16 n = vroce_ring_used_idx(&q->vq->vring) - q->next;

	return n <= q->depth ? n : 0;
}

/**
 * vroce_cq_entry() - look at a completion that was not polled
 * @q: CQ
 * @i: how many come before it
 *
 * In the RFC's form the device chooses the slot, and may write any number, so it is
 * taken modulo the depth.
 *
 * Return: its slot, or NULL if there is none.
 */
void *vroce_cq_entry(const struct vroce_queue *q, u32 i)
{
	struct virtio_rdma_cqe *cqe;
	const struct vring *vring;
	const __virtio32 *id;

	if (q->direct) {
		cqe = vroce_queue_slot(q, q->next + i);
		if (i >= q->depth ||
		    (READ_ONCE(cqe->phase) & VIRTIO_RDMA_CQE_PHASE) !=
		    vroce_cq_phase(q, q->next + i))
			return NULL;
		/* The device writes the phase last. */
		dma_rmb();
		return cqe;
	}
	if (i >= vroce_cq_rfc_pending(q))
		return NULL;
	vring = &q->vq->vring;
	id = &vring->used->ring[(q->next + i) & (vring->num - 1)].id;
	return vroce_queue_slot(q, __virtio32_to_cpu(true, READ_ONCE(*id)));
}

/* Translates a direct completion to the driver's own form. */
static void vroce_cqe_from_direct(const struct virtio_rdma_cqe *wire,
				  struct vroce_cqe *cqe)
{
	struct virtio_rdma_cqe copy;

	/* Copy it once, because the device could change it between two reads. */
	memcpy(&copy, wire, sizeof(copy));
	barrier();
	*cqe = (struct vroce_cqe) {
		.req = {
			.status = copy.status,
			.opcode = copy.opcode & VIRTIO_RDMA_CQE_OPCODE,
			.vlan = copy.vlan,
			.vendor_err = copy.vendor_err,
			.byte_len = copy.byte_len,
			.imm_data = copy.imm_data,
			.src_qp = copy.src_qp,
			.wc_flags = cpu_to_le32(le16_to_cpu(copy.wc_flags)),
		},
		.qpn = le32_to_cpu(copy.qp_num),
		.pos = le32_to_cpu(copy.wqe),
		.recv = copy.opcode & VIRTIO_RDMA_CQE_RECV,
	};
}

/**
 * vroce_cq_read() - copy a completion
 * @q: CQ
 * @entry: its slot
 * @cqe: result, not to be trusted, but not changing any more
 */
void vroce_cq_read(const struct vroce_queue *q, const void *entry,
		   struct vroce_cqe *cqe)
{
	u64 wr_id;

	if (q->direct) {
		vroce_cqe_from_direct(entry, cqe);
		return;
	}
	memcpy(&cqe->req, entry, sizeof(cqe->req));
	barrier();
	wr_id = le64_to_cpu(cqe->req.wr_id);
	cqe->qpn = le32_to_cpu(cqe->req.qp_num);
	cqe->pos = (u16)wr_id;
	cqe->recv = wr_id & VROCE_COOKIE_RECV;
	cqe->odd = wr_id & ~(VROCE_COOKIE_RECV | U16_MAX);
}

/**
 * vroce_cq_advance() - the oldest completion was read
 * @q: CQ
 * @entry: its slot
 */
void vroce_cq_advance(struct vroce_queue *q, const void *entry)
{
	/* Available indices are @depth ahead of those polled. */
	if (!q->direct)
		vroce_ring_put(&q->vq->vring, q->next + q->depth,
			       (entry - q->slots) / q->stride);
	q->next++;
}

/**
 * vroce_cq_publish() - give the slots of completions that were read back
 * @q: CQ
 */
void vroce_cq_publish(struct vroce_queue *q)
{
	if (!q->direct) {
		vroce_ring_publish(&q->vq->vring, q->next + q->depth);
		return;
	}
	/* Release: the device does not write to a slot before it was read. */
	virt_store_release(q->consumer, cpu_to_le32(q->next));
}

/**
 * vroce_cq_entry_qpn() - where a completion has the number of its QP
 * @q: CQ
 * @entry: its slot
 *
 * Return: the number.
 */
__le32 *vroce_cq_entry_qpn(const struct vroce_queue *q, void *entry)
{
	return q->direct ? &((struct virtio_rdma_cqe *)entry)->qp_num :
			   &((struct virtio_rdma_cq_req *)entry)->qp_num;
}

/* ----- the device's part of a CQ, when the device is quiesced ----- */

/**
 * vroce_cq_flush_begin() - add completions in place of the device
 * @q: CQ whose completions have all been polled
 */
void vroce_cq_flush_begin(struct vroce_queue *q)
{
	q->flushed = 0;
	/* The device may have left any number there. */
	if (!q->direct)
		vroce_ring_set16(&q->vq->vring.used->idx, q->next);
}

static void vroce_cq_flush_put_rfc(struct vroce_queue *q, u32 qpn, u64 wr_id,
				   u8 opcode, u8 status)
{
	struct vring *vring = &q->vq->vring;
	u16 used = vroce_ring_used_idx(vring);
	u16 pos = used & (vring->num - 1);
	u16 slot = vroce_ring_get16(&vring->avail->ring[pos]) & (q->depth - 1);
	struct virtio_rdma_cq_req *req = vroce_queue_slot(q, slot);

	*req = (struct virtio_rdma_cq_req) {
		.wr_id = cpu_to_le64(wr_id),
		.status = status,
		.opcode = opcode,
		.qp_num = cpu_to_le32(qpn),
	};
	vring->used->ring[pos].id = __cpu_to_virtio32(true, slot);
	/* Write the completion before the index that shows it. */
	smp_wmb();
	vroce_ring_set16(&vring->used->idx, used + 1);
}

/**
 * vroce_cq_flush_put() - add the completion of a request that is flushed
 * @q: CQ
 * @qpn: QP
 * @pos: position of the request
 * @recv: it is one of the receive queue
 * @status: &enum virtio_ib_wc_status
 *
 * Return: false if the CQ has no slot for it.
 */
bool vroce_cq_flush_put(struct vroce_queue *q, u32 qpn, u32 pos, bool recv,
			u8 status)
{
	u8 opcode = recv ? VIRTIO_IB_WC_RECV : VIRTIO_IB_WC_SEND;
	u32 at = q->next + q->flushed;
	struct virtio_rdma_cqe *cqe;

	if (q->flushed == q->depth)
		return false;
	q->flushed++;
	if (!q->direct) {
		vroce_cq_flush_put_rfc(q, qpn, (recv ? VROCE_COOKIE_RECV : 0) |
				       (u16)pos, opcode, status);
		return true;
	}
	cqe = vroce_queue_slot(q, at);
	*cqe = (struct virtio_rdma_cqe) {
		.qp_num = cpu_to_le32(qpn),
		.wqe = cpu_to_le32(pos),
		.status = status,
		.opcode = opcode | (recv ? VIRTIO_RDMA_CQE_RECV : 0),
		.phase = vroce_cq_phase(q, at),
	};
	return true;
}

/**
 * vroce_cq_flush_end() - the last completion was added
 * @q: CQ
 */
void vroce_cq_flush_end(struct vroce_queue *q)
{
	struct virtio_rdma_cqe *cqe;
	u32 at = q->next + q->flushed;

	/* The device may have left anything in the next slot. */
	if (q->direct && q->flushed < q->depth) {
		cqe = vroce_queue_slot(q, at);
		cqe->phase = vroce_cq_phase(q, at) ^ VIRTIO_RDMA_CQE_PHASE;
	}
}
