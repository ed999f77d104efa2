// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder of connected QPs: carries out what arrives, and answers.
 *
 * An answer is not sent where its reason is found.  responder_rx() notes that an
 * ACK or a NAK is due.  responder_answer() sends it once all READs before it are
 * answered, because the requester takes answers in the order of PSNs.
 * responder_run() answers READs, slice by slice.  A FLUSH or an ATOMIC_WRITE is carried
 * out when it arrives and then answered as a READ of no bytes.  A CMP_SWAP or FETCH_ADD is
 * carried out then, too, and has an answer of its own.
 *
 * An ACK acknowledges all before it.  While the packets that a port has received are
 * looked at, ACKs wait for each other: one for RESP_ACKS_HELD of them, or the last one
 * when the port has been looked at.  That is in the same round, so that none is late, and
 * none can be forgotten.
 *
 * An error that ends the QP makes a NAK due and sets "dead": nothing more is
 * taken, and the QP goes to ERR when the NAK has left.
 */
#include <endian.h>
#include <stdatomic.h>

#include "rdma/qp/qp_queues.h"
#include "rdma/qp/responder.h"
#include "virtio/virtq.h"

/* One ACK goes for so many at most. */
#define RESP_ACKS_HELD	16

/* The outcome of a request; also says how an RC responder answers. */
enum resp_result {
	RESP_OK,
	RESP_RNR,	/* no receive request: try again */
	RESP_INV_REQ,	/* the requester broke a rule */
	RESP_ACCESS,	/* key, bounds or rights of an RDMA operation */
	RESP_OP_ERR,	/* a fault of this side, unknown to the requester */
	RESP_GONE,	/* a repetition that nobody waits for */
};

static const uint8_t resp_naks[] = {
	[RESP_INV_REQ] = AETH_NAK_INV_REQ,
	[RESP_ACCESS] = AETH_NAK_ACCESS,
	[RESP_OP_ERR] = AETH_NAK_OP_ERR,
};

void responder_reset(struct qp *qp, uint32_t psn)
{
	responder_free(&qp->resp);
	responder_forget(&qp->resp);
	qp->resp = (struct responder) { .epsn = psn };
}

static struct read_job *responder_read(struct responder *resp, uint32_t i)
{
	return &resp->read[(resp->read_head + i) & (resp->room - 1)];
}

/* ------------------------------------------------------------------------- */
/* XRC                                                                       */
/* ------------------------------------------------------------------------- */

/* Protection domain of the keys that the peer names, with the XRC SRQ if any; or NULL. */
static const struct pd *responder_pd(const struct qp *qp, uint32_t srqn)
{
	const struct srq *srq;

	if (!qp->xrcd)
		return qp->pd;
	srq = srq_of_xrcd(qp->table->srqs, qp->xrcd, srqn);
	return srq ? srq->pd : NULL;
}

/*
 * A message is for the SRQ that its packets name, all of them the same one.  It may go
 * before the message has ended: then there is none of this number.
 */
static bool responder_turn_to_srq(struct qp *qp, const struct pkt_op *op,
				  const struct pkt *pkt)
{
	struct srq *srq;

	if (!qp->xrcd)
		return true;
	srq = srq_of_xrcd(qp->table->srqs, qp->xrcd, pkt->srqn);
	if (!srq || (!op->first && srq != qp->rq.srq))
		return false;
	if (srq == qp->rq.srq)
		return true;
	qp_return_recv(qp);
	srq_let_go(&qp->xrcd_user);
	srq_hold(srq, &qp->xrcd_user);
	qp->rq.srq = srq;
	return true;
}

/* ------------------------------------------------------------------------- */
/* Answers                                                                   */
/* ------------------------------------------------------------------------- */

static void responder_send_aeth(struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct pkt pkt = {
		.opcode = PKT_ACK,
		.psn = psn & PSN_MASK,
		.npsn = 1,
		.syndrome = syndrome,
		.msn = qp->resp.msn,
	};

	qp_send(qp, &pkt);
}

/* Send what is due, unless READs come before it. */
static void responder_answer(struct qp *qp)
{
	struct responder *resp = &qp->resp;
	uint8_t nak = resp->nak;
	bool ack = resp->ack_due;

	if (resp->reads)
		return;
	resp->nak = 0;
	resp->ack_due = false;
	/* A NAK acknowledges all before it, too. */
	if (nak)
		responder_send_aeth(qp, nak, resp->nak_psn);
	else if (ack)
		responder_send_aeth(qp, AETH_ACK | AETH_UNLIMITED, resp->epsn - 1);
	if (!resp->dead)
		return;
	qp_fail(qp);
	if (resp->event)
		qp_report(qp, resp->event);
	resp->event = 0;
}

static void responder_nak(struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	qp->resp.nak = syndrome;
	qp->resp.nak_psn = psn;
}

static const uint8_t resp_events[] = {
	[RESP_INV_REQ] = VIRTIO_RDMA_EVENT_QP_REQ_ERR,
	[RESP_ACCESS] = VIRTIO_RDMA_EVENT_QP_ACCESS_ERR,
	[RESP_OP_ERR] = 0,
};

/*
 * The request at @psn is the last one that this QP has looked at.  If a receive request
 * has failed, its completion tells of that; else an event does.
 */
static void responder_refuse(struct qp *qp, enum resp_result result, uint32_t psn)
{
	if (!qp->resp.dead)
		qp->resp.event = resp_events[result];
	qp->resp.dead = true;
	qp_count(qp, VIRTIO_RDMA_CNT_REFUSED);
	responder_nak(qp, resp_naks[result], psn);
}

/* ------------------------------------------------------------------------- */
/* SEND                                                                      */
/* ------------------------------------------------------------------------- */

static enum resp_result responder_take_recv(struct qp *qp)
{
	switch (qp_take_recv(qp)) {
	case QP_TAKE_OK:
		return RESP_OK;
	case QP_TAKE_EMPTY:
		return RESP_RNR;
	case QP_TAKE_BAD:
		break;
	}
	qp->resp.dead = true;
	return RESP_OP_ERR;
}

/* The receive request fails, and the QP with it. */
static enum resp_result responder_recv_error(struct qp *qp, uint8_t status,
					     uint8_t vendor_err,
					     enum resp_result result)
{
	struct virtio_rdma_cq_req wc = {
		.status = status,
		.opcode = VIRTIO_IB_WC_RECV,
		.vendor_err = htole32(vendor_err),
	};

	qp->resp.dead = true;
	qp_complete_recv(qp, &wc, false);
	return result;
}

/* Where the rest of a message goes; false if a key, or its bounds, are wrong. */
static bool responder_recv_sg(struct qp *qp, uint32_t len, struct sg *dst)
{
	const struct responder *resp = &qp->resp;
	const struct sge *sge = resp->rwqe.sge;
	uint8_t *p = NULL;

	/* As a rule that is one piece of memory, and the one of the message before. */
	if (resp->rwqe.num_sge == 1 && len)
		p = mr_at(qp->mrs, &qp->recv_place, qp_recv_pd(qp), 0, sge->key,
			  sge->addr + resp->off, len, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	if (p) {
		sg_init_guest(dst, p);
		return true;
	}
	return sg_init(dst, qp->mrs, qp_recv_pd(qp), VIRTIO_IB_ACCESS_LOCAL_WRITE, sge,
		       resp->rwqe.num_sge, resp->off, len);
}

static enum resp_result responder_send(struct qp *qp, const struct pkt_op *op,
				       const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	enum resp_result result;
	struct sg dst;

	if (op->first) {
		result = responder_take_recv(qp);
		if (result)
			return result;
		resp->off = 0;
	}
	if (pkt->len > resp->rwqe.length - resp->off ||
	    pkt->len > RNIC_MAX_MSG - resp->off)
		return responder_recv_error(qp, VIRTIO_IB_WC_LOC_LEN_ERR,
					    VENDOR_ERR_RQ_SHORT, RESP_INV_REQ);
	if (!responder_recv_sg(qp, pkt->len, &dst))
		return responder_recv_error(qp, VIRTIO_IB_WC_LOC_PROT_ERR,
					    VENDOR_ERR_SGE, RESP_OP_ERR);
	sg_copy(&dst, pkt->payload, pkt->len);
	resp->off += pkt->len;
	/* Payload first: it may go to, or come from, that very region. */
	if (op->inv &&
	    !mr_invalidate(qp->mrs, responder_pd(qp, pkt->srqn), qp->serial,
			   pkt->inv_rkey))
		return responder_recv_error(qp, VIRTIO_IB_WC_REM_INV_REQ_ERR,
					    VENDOR_ERR_INVALIDATE, RESP_ACCESS);
	return RESP_OK;
}

/* ------------------------------------------------------------------------- */
/* RDMA WRITE                                                                */
/* ------------------------------------------------------------------------- */

static enum resp_result responder_write_begin(struct qp *qp, const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;

	if (!(qp->attr.access & VIRTIO_IB_ACCESS_REMOTE_WRITE) ||
	    pkt->dmalen > RNIC_MAX_MSG)
		return RESP_INV_REQ;
	if (pkt->dmalen &&
	    !mr_get_remote(qp->mrs, responder_pd(qp, pkt->srqn), qp->serial,
			   pkt->rkey, pkt->va, pkt->dmalen, VIRTIO_IB_ACCESS_REMOTE_WRITE))
		return RESP_ACCESS;
	resp->va = pkt->va;
	resp->rkey = pkt->rkey;
	resp->dmalen = pkt->dmalen;
	resp->off = 0;
	return RESP_OK;
}

static enum resp_result responder_write(struct qp *qp, const struct pkt_op *op,
					const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	enum resp_result result = RESP_OK;
	struct sge sge;
	struct sg dst;

	if (op->first)
		result = responder_write_begin(qp, pkt);
	if (result)
		return result;
	if (pkt->len > resp->dmalen - resp->off ||
	    op->last != (pkt->len == resp->dmalen - resp->off))
		return RESP_INV_REQ;

	/* Looked up for each segment: the key may be gone in the meantime. */
	sge = (struct sge) {
		.addr = resp->va + resp->off,
		.length = pkt->len,
		.key = resp->rkey,
	};
	if (!sg_init_remote(&dst, qp->mrs, responder_pd(qp, pkt->srqn), qp->serial,
			    VIRTIO_IB_ACCESS_REMOTE_WRITE, &sge))
		return RESP_ACCESS;
	/* Report that no receive request is ready before anything is written. */
	if (op->imm)
		result = responder_take_recv(qp);
	if (result)
		return result;
	sg_copy(&dst, pkt->payload, pkt->len);
	resp->off += pkt->len;
	return RESP_OK;
}

/* ------------------------------------------------------------------------- */
/* RDMA READ, FLUSH, atomic operations                                       */
/* ------------------------------------------------------------------------- */

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
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/*
 * By an instruction of the host, so that it is atomic to all that access that memory by
 * such instructions: this device for any guest, another device, the guest's processors.
 */
static uint64_t responder_atomic(uint64_t *word, const struct pkt *pkt)
{
	uint64_t orig = pkt->compare;

	if (PKT_CODE(pkt->opcode) == PKT_FETCH_ADD)
		return __atomic_fetch_add(word, pkt->swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &orig, pkt->swap_add, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return orig;
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

static enum resp_result responder_read_request(struct qp *qp,
					       const struct pkt_op *op,
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

/**
 * responder_read_again() - a READ is asked for once more, or the rest of one
 * @qp:		QP
 * @op:		its opcode
 * @pkt:	request
 *
 * The network may have repeated the request, or the answer got lost.  A READ that
 * was not answered yet needs nothing more.  A refusal goes to the requester, which
 * looks at it only if it waits for that very READ.  It does not end the QP: a late
 * repetition may name a key that has rightly gone in the meantime.
 */
static void responder_read_again(struct qp *qp, const struct pkt_op *op,
				 const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	struct read_job job, *old = NULL;
	enum resp_result result;
	uint32_t i;

	result = responder_job_again(qp, op, pkt, &job);
	if (result == RESP_GONE)
		return;
	if (result) {
		qp_count(qp, VIRTIO_RDMA_CNT_REFUSED);
		responder_send_aeth(qp, resp_naks[result], pkt->psn);
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
	flow_congested(&qp->flow, FLOW_LOSS);
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
		qp_count(qp, VIRTIO_RDMA_CNT_REFUSED);
		responder_send_aeth(qp, AETH_NAK_ACCESS, job->psn);
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

bool responder_run(struct qp *qp, struct budget *budget)
{
	struct responder *resp = &qp->resp;
	bool worked = false;

	if (!resp->reads)
		return false;
	while (budget_left(budget) && resp->reads &&
	       flow_ready(&qp->flow, FLOW_STREAM)) {
		if (responder_read(resp, 0)->atomic)
			responder_atomic_answer(qp, budget);
		else
			responder_read_slice(qp, budget);
		worked = true;
	}
	if (qp_receives(qp))
		responder_answer(qp);
	return worked;
}

/* ------------------------------------------------------------------------- */
/* Dispatch                                                                  */
/* ------------------------------------------------------------------------- */

/* Does it continue what is under way, or begin something if nothing is? */
static bool responder_in_sequence(const struct responder *resp,
				  const struct pkt_op *op)
{
	return resp->kind == (op->first ? PKT_KIND_NONE : op->kind);
}

static enum resp_result responder_execute(struct qp *qp, const struct pkt_op *op,
					  const struct pkt *pkt)
{
	if (!responder_in_sequence(&qp->resp, op) ||
	    !responder_turn_to_srq(qp, op, pkt))
		return RESP_INV_REQ;
	if (pkt_is_answered(op->kind))
		return responder_read_request(qp, op, pkt);
	if (!pkt_fits(op, pkt, qp->mtu))
		return RESP_INV_REQ;
	return op->kind == PKT_KIND_SEND ? responder_send(qp, op, pkt) :
					   responder_write(qp, op, pkt);
}

/* A message has ended: complete the receive request that it used, if any. */
static void responder_finish(struct qp *qp, const struct pkt_op *op,
			     const struct pkt *pkt)
{
	struct virtio_rdma_cq_req wc = {
		.opcode = op->kind == PKT_KIND_SEND ?
			  VIRTIO_IB_WC_RECV : VIRTIO_IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = htole32(qp->resp.off),
		.imm_data = op->imm ? pkt->imm : 0,
		.wc_flags = htole32(op->imm ? VIRTIO_IB_WC_WITH_IMM : 0),
	};

	if (op->inv) {
		wc.invalidate_rkey = htole32(pkt->inv_rkey);
		wc.wc_flags |= htole32(VIRTIO_IB_WC_WITH_INVALIDATE);
	}
	qp->resp.kind = PKT_KIND_NONE;
	qp->resp.msn = (qp->resp.msn + 1) & PSN_MASK;
	if (op->kind == PKT_KIND_SEND || op->imm)
		qp_complete_recv(qp, &wc, pkt->solicited);
}

static uint32_t responder_npsn(const struct qp *qp, const struct pkt_op *op,
			       const struct pkt *pkt)
{
	return op->kind == PKT_KIND_READ ? psn_count(pkt->dmalen, qp->mtu) :
					   pkt->npsn;
}

static void responder_accept(struct qp *qp, const struct pkt_op *op,
			     const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;

	resp->epsn = (pkt->psn + responder_npsn(qp, op, pkt)) & PSN_MASK;
	resp->nak_sent = false;
	resp->dup_acked = false;
	/* A NAK that has not left yet asks for what has come now. */
	resp->nak = 0;
	if (op->last)
		responder_finish(qp, op, pkt);
	else
		resp->kind = op->kind;
	/* A READ is answered by its data. */
	if (!pkt->ack_req || pkt_is_answered(op->kind))
		return;
	resp->ack_due = true;
	if (resp->reads)
		qp_count(qp, VIRTIO_RDMA_CNT_ACK_DEFERRED);
}

/*
 * A request that was carried out before: the answer got lost or was too late, or
 * the network has made a copy.  One ACK is enough for many repetitions in a row.
 */
static void responder_duplicate(struct qp *qp, const struct pkt_op *op,
				const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;

	qp_count(qp, VIRTIO_RDMA_CNT_DUP_REQUEST);
	if (pkt_is_answered(op->kind)) {
		responder_read_again(qp, op, pkt);
	} else if (pkt->ack_req || !resp->dup_acked) {
		resp->ack_due = true;
		resp->dup_acked = true;
	}
}

/*
 * Does a slice end with something new, though it does not begin so?  That is a message
 * that came by packets in part and is sent again in memory.
 */
static bool responder_is_half_new(const struct pkt_op *op, const struct pkt *pkt,
				  uint32_t old)
{
	return !pkt_is_answered(op->kind) && pkt->npsn > old && pkt->payload;
}

/* Leaves of a slice what is new, behind its first @old PSNs; returns its opcode. */
static const struct pkt_op *responder_cut_old(const struct qp *qp, const struct pkt_op *op,
					      struct pkt *pkt, uint32_t old)
{
	enum pkt_extra extra = op->imm ? PKT_EXTRA_IMM :
			       op->inv ? PKT_EXTRA_INV : PKT_EXTRA_NONE;

	sg_skip(pkt->payload, (uint64_t)old * qp->mtu);
	pkt->len -= old * qp->mtu;
	pkt->psn = (pkt->psn + old) & PSN_MASK;
	pkt->npsn -= old;
	pkt->opcode = PKT_OPCODE(PKT_SERVICE(pkt->opcode),
				 pkt_code(op->kind, false, op->last, extra));
	return pkt_op(pkt->opcode);
}

static void responder_rx_rc(struct qp *qp, const struct pkt_op *op,
			    const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;
	int32_t gap = psn_diff(pkt->psn, resp->epsn);
	enum resp_result result;
	struct pkt rest;

	if (gap > 0) {
		qp_count(qp, VIRTIO_RDMA_CNT_OUT_OF_SEQ);
		if (!resp->nak_sent)
			responder_nak(qp, AETH_NAK_PSN, resp->epsn);
		resp->nak_sent = true;
		return;
	}
	if (gap < 0 && !responder_is_half_new(op, pkt, -gap)) {
		responder_duplicate(qp, op, pkt);
		return;
	}
	if (gap < 0) {
		rest = *pkt;
		op = responder_cut_old(qp, op, &rest, -gap);
		pkt = &rest;
	}
	result = responder_execute(qp, op, pkt);
	if (result == RESP_OK) {
		responder_accept(qp, op, pkt);
		/* Its completion found no room, so that nobody hears of the message. */
		if (!qp_receives(qp))
			responder_refuse(qp, RESP_OP_ERR, pkt->psn);
	} else if (result == RESP_RNR) {
		/* Packets sent after it are not reported as a gap. */
		resp->nak_sent = true;
		qp_count(qp, VIRTIO_RDMA_CNT_SENT_RNR);
		responder_nak(qp, AETH_RNR | qp->attr.min_rnr_timer, pkt->psn);
	} else {
		responder_refuse(qp, result, pkt->psn);
	}
}

/*
 * UC has no answers: a message that does not arrive whole is dropped, and its
 * receive request is used for the next one.
 */
static void responder_rx_uc(struct qp *qp, const struct pkt_op *op,
			    const struct pkt *pkt)
{
	struct responder *resp = &qp->resp;

	if (psn_diff(pkt->psn, resp->epsn) || op->first)
		resp->kind = PKT_KIND_NONE;
	resp->epsn = (pkt->psn + pkt->npsn) & PSN_MASK;
	if (responder_execute(qp, op, pkt) == RESP_OK)
		responder_accept(qp, op, pkt);
	else
		resp->kind = PKT_KIND_NONE;
	resp->ack_due = false;
}

/* Can what is due be sent later in this round?  A NAK, or the end of the QP, cannot. */
static bool responder_waits(struct qp *qp)
{
	const struct responder *resp = &qp->resp;
	struct qp_table *qps = qp->table;

	if (!qps->hold || !resp->ack_due || resp->nak || resp->dead || resp->reads)
		return false;
	if (!qp->acks_held)
		SLIST_INSERT_HEAD(&qps->held, qp, held);
	return ++qp->acks_held % RESP_ACKS_HELD;
}

void responder_hold(struct qp_table *qps)
{
	qps->hold = true;
}

void responder_release(struct qp_table *qps)
{
	struct qp *qp;

	qps->hold = false;
	while ((qp = SLIST_FIRST(&qps->held))) {
		SLIST_REMOVE_HEAD(&qps->held, held);
		qp->acks_held = 0;
		responder_answer(qp);
	}
}

void responder_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt)
{
	if (qp->resp.dead)
		return;
	if (qp_is_reliable(qp))
		responder_rx_rc(qp, op, pkt);
	else
		responder_rx_uc(qp, op, pkt);
	if (!responder_waits(qp))
		responder_answer(qp);
	if (qp->resp.reads)
		qp_activate(qp);
}
