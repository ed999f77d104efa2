// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder of RDMA READ, FLUSH and atomic operations: requests that data answer.
 *
 * They are carried out when they arrive, a READ but for its data, and stand in a line then.
 * responder_read_answer() answers the one at the head: a READ slice by slice, a FLUSH or an
 * ATOMIC_WRITE as a READ of no bytes, a CMP_SWAP or FETCH_ADD by an answer of its own.
 */
#include <stdatomic.h>

#include "rdma/qp/responder_read.h"
#include "virtio/write.h"
#include "virtio/virtq.h"

/*
 * When an answer got lost, so many are kept.  They may have half of the memory that packets which
 * came too early have.
 */
#define RESP_SENT_KEPT		16384u
#define RESP_SENT_BYTES		(RNIC_EARLY_MAX / 2)

static struct read_job *responder_read(struct responder *resp, uint32_t i)
{
	return &resp->read[(resp->read_head + i) & (resp->room - 1)];
}

static uint32_t responder_flush_access(uint8_t type)
{
	return (type & VIRTIO_IB_FLUSH_GLOBAL ?
		VIRTIO_IB_ACCESS_FLUSH_GLOBAL : 0) |
	       (type & VIRTIO_IB_FLUSH_PERSISTENT ?
		VIRTIO_IB_ACCESS_FLUSH_PERSISTENT : 0);
}

/*
 * No region gives the right to make data persistent: see mr_access_check().  The
 * key must be right even if there is not a byte, unlike that of a READ.
 */
static enum resp_result responder_flush_check(struct qp *qp, const struct pkt *pkt)
{
	uint32_t access = responder_flush_access(pkt->flush_type);
	const struct mr *mr;

	if (!flush_is_known(pkt->flush_type, pkt->flush_level) ||
	    (qp->attr.access & access) != access || pkt->len)
		return RESP_INV_REQ;
	if (pkt->flush_level == VIRTIO_IB_FLUSH_MR)
		mr = mr_get_whole(qp->mrs, qp->pd, qp->serial, pkt->rkey, access);
	else
		mr = mr_get_remote(qp->mrs, qp->pd, qp->serial, pkt->rkey, pkt->va,
				   pkt->dmalen, access);
	return mr ? RESP_OK : RESP_ACCESS;
}

/*
 * This very thread has copied what the QP wrote to memory that the guest shares,
 * before it looked at this request, and processors keep their caches coherent.
 * One thing is left to do: no write may be seen later than the answer.  A fence does
 * that for a range as for a whole region.
 */
static void responder_flush(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

static enum resp_result responder_read_check(struct qp *qp, const struct pkt *pkt)
{
	if (!(qp->attr.access & VIRTIO_IB_ACCESS_REMOTE_READ) ||
	    pkt->dmalen > RNIC_MAX_MSG)
		return RESP_INV_REQ;
	if (pkt->dmalen &&
	    !mr_get_remote(qp->mrs, responder_pd(qp, pkt->srqn), qp->serial,
			   pkt->rkey, pkt->va, pkt->dmalen, VIRTIO_IB_ACCESS_REMOTE_READ))
		return RESP_ACCESS;
	return RESP_OK;
}

/* The 8 bytes that an atomic operation is about.  None is carried out in parts. */
static enum resp_result responder_word(struct qp *qp, const struct pkt *pkt,
				       uint32_t access, uint64_t **word)
{
	const struct mr *mr;
	uint32_t hint = 0;
	uint8_t *p;

	if (!(qp->attr.access & access) || pkt->va % PKT_ATOMIC_SIZE)
		return RESP_INV_REQ;
	mr = mr_get_remote(qp->mrs, responder_pd(qp, pkt->srqn), qp->serial,
			   pkt->rkey, pkt->va, PKT_ATOMIC_SIZE, access);
	if (!mr)
		return RESP_ACCESS;
	/* The front-end may have mapped the guest's memory askew. */
	if (mr_contig(qp->mrs, mr, pkt->va, PKT_ATOMIC_SIZE, &hint, &p) !=
	    PKT_ATOMIC_SIZE || !p || (uintptr_t)p % PKT_ATOMIC_SIZE)
		return RESP_OP_ERR;
	*word = (uint64_t *)p;
	return RESP_OK;
}

/**
 * responder_check() - may a request be carried out?
 * @qp:		QP
 * @op:		its opcode
 * @pkt:	request
 * @word:	atomic operations: set to what it is about
 */
static enum resp_result responder_check(struct qp *qp, const struct pkt_op *op,
					const struct pkt *pkt, uint64_t **word)
{
	switch (op->kind) {
	case PKT_KIND_FLUSH:
		qp->req.icrc_twice = pkt->icrc_twice;
		return responder_flush_check(qp, pkt);
	case PKT_KIND_ATOMIC:
		return responder_word(qp, pkt, VIRTIO_IB_ACCESS_REMOTE_ATOMIC, word);
	case PKT_KIND_ATOMIC_WRITE:
		if (pkt->len != PKT_ATOMIC_SIZE || pkt->dmalen != PKT_ATOMIC_SIZE)
			return RESP_INV_REQ;
		return responder_word(qp, pkt, VIRTIO_IB_ACCESS_REMOTE_WRITE, word);
	default:
		return responder_read_check(qp, pkt);
	}
}

static void responder_atomic_write(uint64_t *word, struct sg *payload)
{
	uint64_t value;
	struct sg dst;

	sg_init_flat(&dst, &value);
	sg_copy(&dst, payload, sizeof(value));
	write_swap(word, value);
}

/*
 * By an instruction of the host, so that it is atomic to all that access that memory by
 * such instructions: this device for any guest, another device, the guest's processors.
 */
static uint64_t responder_atomic(uint64_t *word, const struct pkt *pkt)
{
	if (PKT_CODE(pkt->opcode) == PKT_FETCH_ADD)
		return write_add(word, pkt->swap_add);
	return write_swap_if(word, pkt->compare, pkt->swap_add);
}

/* Carry out what is to be done before the answer. */
static void responder_carry_out(struct qp *qp, const struct pkt_op *op,
				const struct pkt *pkt, uint64_t *word,
				struct read_job *job)
{
	switch (op->kind) {
	case PKT_KIND_FLUSH:
		responder_flush();
		break;
	case PKT_KIND_ATOMIC:
		job->orig = responder_atomic(word, pkt);
		responder_remember(&qp->resp, pkt->psn, job->orig);
		break;
	case PKT_KIND_ATOMIC_WRITE:
		responder_atomic_write(word, pkt->payload);
		break;
	}
}

/* The part of the answer that is known before the request is carried out. */
static struct read_job responder_job(const struct qp *qp, const struct pkt_op *op,
				     const struct pkt *pkt)
{
	struct read_job job = {
		.psn = pkt->psn,
		.msn = qp->resp.msn,
		.srqn = pkt->srqn,
		.atomic = op->kind == PKT_KIND_ATOMIC,
		.share = READ_SHARE_PEER,
	};

	if (op->kind == PKT_KIND_READ) {
		job.va = pkt->va;
		job.rkey = pkt->rkey;
		job.left = pkt->dmalen;
	} else if (!job.atomic) {
		job.share = READ_SHARE_FLUSH;
	}
	return job;
}

static uint32_t responder_share_max(const struct qp *qp, uint8_t share)
{
	return share == READ_SHARE_PEER ? qp->attr.max_dest_rd_atomic :
					  RNIC_MAX_RD_ATOMIC;
}

enum resp_result responder_read_request(struct qp *qp, const struct pkt_op *op,
					const struct pkt *pkt)
{
	struct read_job job = responder_job(qp, op, pkt);
	struct responder *resp = &qp->resp;
	enum resp_result result;
	uint64_t *word = NULL;

	result = responder_check(qp, op, pkt, &word);
	if (result)
		return result;
	if (resp->share[job.share] >= responder_share_max(qp, job.share))
		return RESP_INV_REQ;
	/* All before it was sent.  In memory a READ may be answered elsewhere, see fused.c. */
	if (!resp->reads)
		resp->sent_psn = job.psn;
	flow_asked(&qp->flow, job.left);
	if (!responder_make_room(resp) ||
	    (job.atomic && !responder_make_atomic(resp)))
		return RESP_OP_ERR;
	responder_carry_out(qp, op, pkt, word, &job);
	/* It counts as carried out now. */
	job.msn = (job.msn + 1) & PSN_MASK;
	*responder_read(resp, resp->reads++) = job;
	resp->share[job.share]++;
	return RESP_OK;
}

/* Position behind the answer to a READ, or behind the rest of it. */
static uint32_t responder_read_end(const struct qp *qp, const struct read_job *job)
{
	return job->psn + psn_count(job->left, qp->mtu);
}

/*
 * The first job whose answer ends behind @psn, or @reads.  Jobs stand in the order of
 * their PSNs.
 */
static uint32_t responder_read_find(struct qp *qp, uint32_t psn)
{
	struct responder *resp = &qp->resp;
	uint32_t low = 0, high = resp->reads, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (psn_diff(responder_read_end(qp, responder_read(resp, mid)), psn) > 0)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/*
 * Put one that was answered before in front of job @at.  As a rule these come before all
 * others, so the jobs before @at move if they are fewer than those behind it.  Each that
 * moves counts as a piece: a peer may repeat many READs so that the most have to.
 */
static void responder_read_insert(struct responder *resp, uint32_t at,
				  struct read_job job)
{
	uint32_t i;

	if (resp->share[READ_SHARE_AGAIN] == RNIC_MAX_RD_ATOMIC ||
	    !responder_make_room(resp))
		return;
	virtq_charge(at < resp->reads / 2 ? at : resp->reads - at);
	if (at < resp->reads / 2) {
		resp->read_head = (resp->read_head - 1) & (resp->room - 1);
		for (i = 0; i < at; i++)
			*responder_read(resp, i) = *responder_read(resp, i + 1);
	} else {
		for (i = resp->reads; i > at; i--)
			*responder_read(resp, i) = *responder_read(resp, i - 1);
	}
	job.share = READ_SHARE_AGAIN;
	*responder_read(resp, at) = job;
	resp->reads++;
	resp->share[READ_SHARE_AGAIN]++;
}

/*
 * The answer to a request that comes again.  A READ is carried out once more, and
 * to FLUSH again does no harm.  Requests that change memory are not: the answer to an
 * atomic operation is remembered, unless it is so long ago that the peer has got it.
 */
static enum resp_result responder_job_again(struct qp *qp, const struct pkt_op *op,
					    const struct pkt *pkt, struct read_job *job)
{
	const struct atomic_done *done;
	enum resp_result result;

	*job = responder_job(qp, op, pkt);
	switch (op->kind) {
	case PKT_KIND_ATOMIC:
		done = responder_recall(&qp->resp, pkt->psn);
		if (!done)
			return RESP_GONE;
		job->orig = done->orig;
		return RESP_OK;
	case PKT_KIND_ATOMIC_WRITE:
		return RESP_OK;
	}
	result = responder_check(qp, op, pkt, NULL);
	if (!result)
		responder_carry_out(qp, op, pkt, NULL, job);
	return result;
}

void responder_read_again(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	struct read_job job, *old = NULL;
	enum resp_result result;
	uint32_t i;

	result = responder_job_again(qp, op, pkt, &job);
	if (result == RESP_GONE)
		return;
	if (result) {
		responder_refuse_again(qp, result, pkt->psn);
		return;
	}
	i = responder_read_find(qp, job.psn);
	if (i < resp->reads)
		old = responder_read(resp, i);
	/* The same one: what is left of it, or more. */
	if (old &&
	    !psn_diff(responder_read_end(qp, old), responder_read_end(qp, &job))) {
		if (!psn_diff(old->psn, job.psn))
			return;
		job.share = old->share;
		*old = job;
	} else {
		responder_read_insert(resp, i, job);
	}
	flow_congested(&qp->flow, FLOW_AGAIN);
	resp->sent_left = RESP_SENT_KEPT;
}

static void responder_read_done(struct responder *resp)
{
	resp->share[responder_read(resp, 0)->share]--;
	resp->read_head = (resp->read_head + 1) & (resp->room - 1);
	resp->reads--;
}

/* The key has gone while the READ at the head of the line was answered. */
static void responder_read_fail(struct qp *qp, const struct read_job *job)
{
	struct responder *resp = &qp->resp;

	if (job->share == READ_SHARE_AGAIN) {
		responder_refuse_again(qp, RESP_ACCESS, job->psn);
		responder_read_done(resp);
		return;
	}
	responder_drop_reads(resp);
	responder_refuse(qp, RESP_ACCESS, job->psn);
}

/* Send the answer to the atomic operation at the head of the line. */
static void responder_atomic_answer(struct qp *qp, struct budget *budget)
{
	const struct read_job *job = responder_read(&qp->resp, 0);
	struct pkt pkt = {
		.opcode = PKT_ATOMIC_ACK,
		.psn = job->psn & PSN_MASK,
		.npsn = 1,
		.syndrome = AETH_ACK | AETH_UNLIMITED,
		.msn = job->msn,
		.orig = job->orig,
	};

	responder_read_done(&qp->resp);
	budget_take(budget, 0);
	flow_sent(&qp->flow, FLOW_STREAM, &pkt);
	qp_send(qp, &pkt);
}

/* Send what was kept, and not what is in memory now. */
static void responder_send_kept(struct early_packet *kept, struct pkt *pkt)
{
	if (!pkt->len)
		return;
	sg_init_flat(&kept->sg, kept->payload);
	pkt->payload = &kept->sg;
}

/* An answer that was not sent before: keep it, if some got lost lately. */
static void responder_keep_sent(struct qp *qp, struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	struct early_packet *kept;

	pkt->same = true;
	early_make_way(&resp->sent, qp->ctx, pkt->psn);
	if (qp->ctx->early >= RESP_SENT_BYTES)
		return;
	early_keep(&resp->sent, qp->ctx, pkt);
	kept = early_find(resp->sent, pkt->psn);
	/* The guest may change its memory at any time: what is sent is the copy. */
	if (kept)
		responder_send_kept(kept, pkt);
}

/*
 * Data of a later READ may not be older than that of an earlier one.  So a requester that has data
 * of later READs can make use of it only if what it asks for again is what was sent first: it is
 * told so.  That says nothing of right: the key was looked at again.
 */
static void responder_send_same(struct qp *qp, struct pkt *pkt, const struct read_job *job)
{
	struct early_packet *kept = early_find(qp->resp.sent, pkt->psn);

	/* The copies of later packets are older than the memory that is read now. */
	if (!kept || kept->pkt.len != pkt->len || kept->pkt.va != job->va ||
	    kept->pkt.rkey != job->rkey) {
		early_drop_from(&qp->resp.sent, qp->ctx, pkt->psn & PSN_MASK);
		return;
	}
	pkt->same = true;
	responder_send_kept(kept, pkt);
}

/* The answer to a READ as it leaves: what was sent with its PSN first, if that is known. */
static void responder_read_sent(struct qp *qp, struct pkt *pkt, const struct read_job *job)
{
	struct responder *resp = &qp->resp;

	if (psn_diff(pkt->psn, resp->sent_psn) < 0) {
		responder_send_same(qp, pkt, job);
		return;
	}
	resp->sent_psn = (pkt->psn + pkt->npsn) & PSN_MASK;
	/* No copy may stay until PSNs come round again. */
	if (!qp->flow.on_wire || pkt->npsn != 1 || !resp->sent_left || !--resp->sent_left) {
		early_drop(&resp->sent, qp->ctx, EARLY_ALL);
		return;
	}
	pkt->va = job->va;
	pkt->rkey = job->rkey;
	responder_keep_sent(qp, pkt);
}

/* Send one slice of the answer to the READ at the head of the line. */
static void responder_read_slice(struct qp *qp, struct budget *budget)
{
	struct responder *resp = &qp->resp;
	struct read_job *job = responder_read(resp, 0);
	uint32_t max = qp_seg_max(qp);
	uint32_t len = job->left < max ? job->left : max;
	struct sge sge = {
		.addr = job->va,
		.length = len,
		.key = job->rkey,
	};
	struct pkt pkt;
	struct sg src;

	if (!sg_init_remote(&src, qp->mrs, responder_pd(qp, job->srqn), qp->serial,
			    VIRTIO_IB_ACCESS_REMOTE_READ, &sge)) {
		responder_read_fail(qp, job);
		return;
	}
	pkt = (struct pkt) {
		.opcode = pkt_code(PKT_KIND_READ_RESPONSE, !job->begun,
				   len == job->left, PKT_EXTRA_NONE),
		.psn = job->psn & PSN_MASK,
		.npsn = psn_count(len, qp->mtu),
		.syndrome = AETH_ACK | AETH_UNLIMITED,
		.msn = job->msn,
		.len = len,
		.payload = len ? &src : NULL,
	};
	responder_read_sent(qp, &pkt, job);
	job->begun = true;
	job->va += len;
	job->left -= len;
	job->psn += pkt.npsn;
	if (!job->left)
		responder_read_done(resp);
	budget_take(budget, len);
	flow_sent(&qp->flow, FLOW_STREAM, &pkt);
	qp_send(qp, &pkt);
}

void responder_read_answer(struct qp *qp, struct budget *budget)
{
	if (responder_read(&qp->resp, 0)->atomic)
		responder_atomic_answer(qp, budget);
	else
		responder_read_slice(qp, budget);
}
