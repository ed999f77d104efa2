// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The short way of a message between two QPs of this process.
 *
 * Most messages between guests are alike: a SEND, RDMA WRITE or RDMA READ on an RC
 * connection in RTS, of one element or inline, one slice long, with nothing under way
 * before it and a receive request posted.  For such a message requester and responder
 * exchange a request and an answer, and both look at the same things several times.  Here
 * one function takes it from the sender's slot to both completions.
 *
 * It checks everything before it changes anything.  Whatever it does not expect it leaves
 * to the requester, which finds the request in its slot as if nobody had looked: keys that
 * do not fit, a receive queue that is empty, a CQ that is full or armed, several elements.
 * So no error is reported here, and there is no rule here that is not written there.
 *
 * Conditions that do not change from message to message are checked once, and again when a QP or a
 * route of the fabric has changed (fabric_stamp()).
 */
#include <endian.h>
#include <stddef.h>

#include "base/util.h"
#include "rdma/qp/fused.h"
#include "rdma/qp/qp_queues.h"
#include "virtio/write.h"

bool fused_off;

/* Send flags that this way knows.  A fence waits for READs, and none is under way. */
#define FUSED_FLAGS	(VIRTIO_IB_SEND_FENCE | VIRTIO_IB_SEND_SIGNALED | \
			 VIRTIO_IB_SEND_SOLICITED | VIRTIO_IB_SEND_INLINE)

/**
 * struct fused_op - a kind of request that this way knows
 * @known:	it is one
 * @counter:	&enum virtio_rdma_counter of the sender
 * @wc_opcode:	opcode of its completion
 * @recv_opcode: opcode of the receiver's completion, if it takes a receive request
 * @right:	what the peer must have allowed, or 0: the payload goes to the receive
 *		request
 * @recv:	it takes a receive request
 * @imm:	immediate data
 */
struct fused_op {
	bool known;
	uint8_t counter;
	uint8_t wc_opcode;
	uint8_t recv_opcode;
	uint32_t right;
	bool recv;
	bool imm;
};

static const struct fused_op fused_ops[] = {
	[VIRTIO_IB_WR_SEND] = {
		.known = true,
		.counter = VIRTIO_RDMA_CNT_SENDS,
		.wc_opcode = VIRTIO_IB_WC_SEND,
		.recv = true,
		.recv_opcode = VIRTIO_IB_WC_RECV,
	},
	[VIRTIO_IB_WR_SEND_WITH_IMM] = {
		.known = true,
		.counter = VIRTIO_RDMA_CNT_SENDS,
		.wc_opcode = VIRTIO_IB_WC_SEND,
		.recv = true,
		.recv_opcode = VIRTIO_IB_WC_RECV,
		.imm = true,
	},
	[VIRTIO_IB_WR_RDMA_WRITE] = {
		.known = true,
		.counter = VIRTIO_RDMA_CNT_WRITES,
		.wc_opcode = VIRTIO_IB_WC_RDMA_WRITE,
		.right = VIRTIO_IB_ACCESS_REMOTE_WRITE,
	},
	[VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM] = {
		.known = true,
		.counter = VIRTIO_RDMA_CNT_WRITES,
		.wc_opcode = VIRTIO_IB_WC_RDMA_WRITE,
		.right = VIRTIO_IB_ACCESS_REMOTE_WRITE,
		.recv = true,
		.recv_opcode = VIRTIO_IB_WC_RECV_RDMA_WITH_IMM,
		.imm = true,
	},
	[VIRTIO_IB_WR_RDMA_READ] = {
		.known = true,
		.counter = VIRTIO_RDMA_CNT_READS,
		.wc_opcode = VIRTIO_IB_WC_RDMA_READ,
		.right = VIRTIO_IB_ACCESS_REMOTE_READ,
	},
};

/**
 * struct fused_msg - a message that can be carried out
 * @op:		what it is
 * @swqe:	copy of the send request
 * @cookie:	of the receive request, if that is of an SRQ
 * @len:	bytes
 * @local:	where they are at the sender
 * @remote:	where they are at the peer
 */
struct fused_msg {
	const struct fused_op *op;
	struct virtio_rdma_swqe swqe;
	__le32 cookie;
	uint32_t len;
	uint8_t *local;
	uint8_t *remote;
};

/**
 * struct fused_turn - what was carried out, to be counted at the end, and what is known
 * @msgs:	messages
 * @recvs:	receive requests taken
 * @cqes:	completions of @msgs
 * @sent:	bytes that the sender has sent
 * @fetched:	bytes that it has read
 * @solicited:	a message with a receive request asked for a solicited event
 * @send_room:	completions that the sender's CQ is known to have room for
 * @recv_room:	the same of the peer's, if that is another one
 */
struct fused_turn {
	uint32_t msgs;
	uint32_t recvs;
	uint32_t cqes;
	uint64_t sent;
	uint64_t fetched;
	bool solicited;
	uint32_t send_room;
	uint32_t recv_room;
};

static bool fused_fetches(const struct fused_msg *msg)
{
	return msg->op->right == VIRTIO_IB_ACCESS_REMOTE_READ;
}

/* ------------------------------------------------------------------------- */
/* What stays the same                                                       */
/* ------------------------------------------------------------------------- */

static bool fused_has_rings(const struct qp *qp)
{
	return qp->type == VIRTIO_IB_QPT_RC && !qp->offload && qp->sq.direct && qp->sq.block &&
	       qp->rq.direct && qp->send_cq->plain && qp->recv_cq->plain;
}

/* Does what @qp sends go to @peer in memory, and does @peer take it as from its peer? */
static bool fused_leads_to(struct qp *qp, struct qp *peer)
{
	const struct route *route = qp_route(qp);

	return route->transport == &transport_local && route->to == peer->end &&
	       flow_is_free(&qp->flow) &&
	       qp->attr.dest_qpn == peer->qpn && qp->attr.vlan == peer->attr.vlan &&
	       gid_equal(qp->attr.ah_attr.grh.dgid, peer->attr.sgid);
}

static struct qp *fused_look_up(struct qp *qp)
{
	struct fabric_end *to;
	struct qp *peer;

	if (fused_off || !fused_has_rings(qp))
		return NULL;
	to = qp_route(qp)->to;
	peer = to ? qp_get(to->qps, qp->attr.dest_qpn) : NULL;
	if (!peer || !fused_has_rings(peer) || peer->mtu != qp->mtu)
		return NULL;
	return fused_leads_to(qp, peer) && fused_leads_to(peer, qp) ? peer : NULL;
}

/* The QP at the other end of a connection that this way can serve, or NULL. */
static struct qp *fused_peer(struct qp *qp)
{
	const uint64_t stamp = fabric_stamp(qp->end->fabric);

	if (qp->peer_stamp != stamp) {
		qp->peer = fused_look_up(qp);
		qp->peer_stamp = stamp;
	}
	return qp->peer;
}

/* ------------------------------------------------------------------------- */
/* What may be different for each message                                    */
/* ------------------------------------------------------------------------- */

static bool fused_sender_idle(const struct qp *qp)
{
	const struct requester *req = &qp->req;

	return qp->state == VIRTIO_IB_QPS_RTS && req->una == req->prod &&
	       req->snd_pos == req->una_pos && req->max_pos == req->una_pos &&
	       !req->rnr_wait;
}

static bool fused_receiver_idle(const struct qp *peer, uint32_t pos)
{
	const struct responder *resp = &peer->resp;

	return qp_receives(peer) && resp->heard && !resp->dead &&
	       resp->kind == PKT_KIND_NONE && !resp->reads && !resp->has_rwqe &&
	       !resp->nak && !resp->ack_due && !resp->early && resp->epsn == (pos & PSN_MASK);
}

/* A request that this way knows, by its opcode and flags alone. */
static bool fused_knows(const struct qp *qp, const struct qp *peer, struct fused_msg *msg)
{
	const struct virtio_rdma_swqe *swqe = &msg->swqe;

	if (swqe->opcode >= ARRAY_SIZE(fused_ops) || swqe->send_flags & ~FUSED_FLAGS)
		return false;
	msg->op = &fused_ops[swqe->opcode];
	if (!msg->op->known || (peer->attr.access & msg->op->right) != msg->op->right)
		return false;
	return !fused_fetches(msg) ||
	       (!(swqe->send_flags & VIRTIO_IB_SEND_INLINE) && qp->attr.max_rd_atomic &&
		peer->attr.max_dest_rd_atomic);
}

/* Where the sender has the payload; @slot is only used for bytes of payload. */
static bool fused_local(struct qp *qp, const uint8_t *slot, struct fused_msg *msg)
{
	const uint32_t access = fused_fetches(msg) ? VIRTIO_IB_ACCESS_LOCAL_WRITE : 0;
	const size_t head = offsetof(struct virtio_rdma_swqe, inline_data);
	const struct virtio_rdma_swqe *swqe = &msg->swqe;
	const struct virtio_rdma_sge *sge = &swqe->sg_list[0];

	if (swqe->send_flags & VIRTIO_IB_SEND_INLINE) {
		msg->len = le16toh(swqe->inline_len);
		msg->local = (uint8_t *)slot + head;
		return msg->len && msg->len <= (1u << qp->sq.shift) - head &&
		       msg->len <= VIRTIO_RDMA_INLINE_SIZE;
	}
	if (swqe->num_sge != htole16(1))
		return false;
	msg->len = le32toh(sge->length);
	if (!msg->len || msg->len > RNIC_SLICE)
		return false;
	msg->local = mr_at(qp->mrs, &qp->send_place, qp->pd, 0, le32toh(sge->lkey),
			   le64toh(sge->addr), msg->len, access);
	return msg->local;
}

/* The region in the peer's memory that an RDMA WRITE or READ names. */
static bool fused_remote(struct qp *peer, struct fused_msg *msg)
{
	msg->remote = mr_at(peer->mrs, &peer->remote_place, peer->pd, peer->serial,
			    le32toh(msg->swqe.rdma.rkey),
			    le64toh(msg->swqe.rdma.remote_addr), msg->len,
			    msg->op->right);
	return msg->remote;
}

/* The receive request that comes next.  A SEND goes to its one element. */
static bool fused_receive(struct qp *peer, struct fused_msg *msg)
{
	struct srq *srq = peer->rq.srq;
	const struct virtio_rdma_rwqe *slot = srq ? srq_peek(srq) : wq_peek(&peer->rq);
	struct {
		struct virtio_rdma_rwqe fixed;
		struct virtio_rdma_sge sge;
	} recv;

	if (!slot)
		return false;
	guest_mem_read_once(&recv, slot, sizeof(recv));
	msg->cookie = recv.fixed.cookie;
	if (recv.fixed.num_sge != htole32(1) ||
	    !(srq ? srq->max_sge : peer->max_recv_sge))
		return false;
	if (msg->op->right)
		return true;
	if (le32toh(recv.sge.length) < msg->len)
		return false;
	msg->remote = mr_at(peer->mrs, &peer->recv_place, qp_recv_pd(peer), 0,
			    le32toh(recv.sge.lkey), le64toh(recv.sge.addr), msg->len,
			    VIRTIO_IB_ACCESS_LOCAL_WRITE);
	return msg->remote;
}

/*
 * Room for @n completions, 1 or 2, in a CQ that nobody waits for.  It is looked for once in a
 * turn: the cache line is the driver's, and an arming that comes later is seen at the end.
 */
static bool fused_room(struct cq *cq, uint32_t *room, uint32_t n)
{
	const bool known = *room >= n;

	if (!known)
		*room = cq_quiet_room(cq);
	/* Of the second one the first one is not read. */
	if (known || n > 1)
		cq->read = false;
	if (*room < n || !cq_slot(cq, 0) || (n > 1 && !cq_slot(cq, 1)))
		return false;
	*room -= n;
	return true;
}

/* Is there room for all completions, and does nobody wait for one? */
static bool fused_completes(const struct qp *qp, const struct qp *peer,
			    const struct fused_msg *msg, struct fused_turn *turn)
{
	const bool both = msg->op->recv && peer->recv_cq == qp->send_cq;

	return fused_room(qp->send_cq, &turn->send_room, both ? 2 : 1) &&
	       (both || !msg->op->recv || fused_room(peer->recv_cq, &turn->recv_room, 1));
}

/* Can the next request be carried out here?  Nothing has changed if not. */
static bool fused_check(struct qp *qp, struct qp *peer, struct fused_msg *msg,
			struct fused_turn *turn)
{
	const uint8_t *slot;

	if (!fused_sender_idle(qp) || !fused_receiver_idle(peer, qp->req.snd_pos) ||
	    !peer->ctx->mem->n)
		return false;
	slot = wq_peek(&qp->sq);
	if (!slot)
		return false;
	guest_mem_read_once(&msg->swqe, slot, sizeof(msg->swqe));
	return fused_knows(qp, peer, msg) && fused_local(qp, slot, msg) &&
	       (!msg->op->right || fused_remote(peer, msg)) &&
	       (!msg->op->recv || fused_receive(peer, msg)) &&
	       fused_completes(qp, peer, msg, turn);
}

/* ------------------------------------------------------------------------- */
/* Carry out                                                                 */
/* ------------------------------------------------------------------------- */

static void fused_received(struct qp *peer, const struct fused_msg *msg)
{
	struct virtio_rdma_cqe cqe = {
		.byte_len = htole32(msg->len),
		.imm_data = msg->op->imm ? msg->swqe.imm_data : 0,
		.qp_num = htole32(peer->qpn),
		.wqe = msg->cookie,
		.opcode = msg->op->recv_opcode | VIRTIO_RDMA_CQE_RECV,
		.wc_flags = htole16(msg->op->imm ? VIRTIO_IB_WC_WITH_IMM : 0),
	};

	if (peer->rq.srq) {
		srq_took(peer->rq.srq);
	} else {
		cqe.wqe = htole32(wq_took(&peer->rq));
		wq_give(&peer->rq, 0);
	}
	cq_store_quiet(peer->recv_cq, &cqe);
}

/* The slot is given back before the completion shows, as by qp_complete_send(). */
static void fused_sent(struct qp *qp, const struct fused_msg *msg, struct fused_turn *turn)
{
	const struct virtio_rdma_cqe cqe = {
		.byte_len = htole32(fused_fetches(msg) ? msg->len : 0),
		.qp_num = htole32(qp->qpn),
		.wqe = htole32(wq_took(&qp->sq)),
		.opcode = msg->op->wc_opcode,
	};

	wq_give(&qp->sq, 0);
	if (!(msg->swqe.send_flags & VIRTIO_IB_SEND_SIGNALED) && !qp->sig_all)
		return;
	turn->cqes++;
	cq_store_quiet(qp->send_cq, &cqe);
	if (qp->send_cq->read)
		wq_awaited(&qp->sq);
}

/* PSNs and states as after the request and its ACK. */
static void fused_advance(struct qp *qp, struct qp *peer, uint32_t npsn)
{
	struct requester *req = &qp->req;
	struct responder *resp = &peer->resp;

	req->snd_pos += npsn;
	req->una_pos = req->snd_pos;
	req->max_pos = req->snd_pos;
	req->ask_pos = req->snd_pos;
	req->unasked = 0;
	req->went_back = false;
	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	resp->epsn = req->snd_pos & PSN_MASK;
	/* Data of a READ is there. */
	resp->by_data = 0;
	resp->msn = (resp->msn + 1) & PSN_MASK;
	resp->nak_sent = false;
	resp->dup_acked = false;
}

static void fused_copy(const struct fused_msg *msg, struct fused_turn *turn)
{
	if (fused_fetches(msg)) {
		write_place(msg->local, msg->remote, msg->len);
		turn->fetched += msg->len;
	} else {
		write_place(msg->remote, msg->local, msg->len);
		turn->sent += msg->len;
	}
}

static void fused_count_qp(struct qp *qp, enum virtio_rdma_counter counter, uint64_t n)
{
	qp->counter[counter] += n;
	qp->ctx->counter[counter] += n;
}

static void fused_do(struct qp *qp, struct qp *peer, const struct fused_msg *msg,
		     struct fused_turn *turn)
{
	fused_copy(msg, turn);
	fused_advance(qp, peer, psn_count(msg->len, qp->mtu));
	if (msg->op->recv) {
		fused_received(peer, msg);
		turn->recvs++;
		turn->solicited |= msg->swqe.send_flags & VIRTIO_IB_SEND_SOLICITED;
	}
	fused_sent(qp, msg, turn);
	fused_count_qp(qp, msg->op->counter, 1);
	turn->msgs++;
}

/* ------------------------------------------------------------------------- */
/* A turn                                                                    */
/* ------------------------------------------------------------------------- */

/* Each message is a packet to the peer and one back: the ACK, or what was read. */
static void fused_count(struct qp *qp, struct qp *peer, const struct fused_turn *turn)
{
	fused_count_qp(qp, VIRTIO_RDMA_CNT_SENT_PKTS, turn->msgs);
	fused_count_qp(qp, VIRTIO_RDMA_CNT_SENT_BYTES, turn->sent);
	fused_count_qp(qp, VIRTIO_RDMA_CNT_RCVD_PKTS, turn->msgs);
	fused_count_qp(qp, VIRTIO_RDMA_CNT_RCVD_BYTES, turn->fetched);
	fused_count_qp(peer, VIRTIO_RDMA_CNT_RECVS, turn->recvs);
	fused_count_qp(peer, VIRTIO_RDMA_CNT_RCVD_PKTS, turn->msgs);
	fused_count_qp(peer, VIRTIO_RDMA_CNT_RCVD_BYTES, turn->sent);
	fused_count_qp(peer, VIRTIO_RDMA_CNT_SENT_PKTS, turn->msgs);
	fused_count_qp(peer, VIRTIO_RDMA_CNT_SENT_BYTES, turn->fetched);
	qp->ctx->fused += turn->msgs;
}

bool fused_run(struct qp *qp, struct budget *budget)
{
	struct qp *peer = fused_peer(qp);
	struct fused_turn turn = {};
	struct fused_msg msg;

	if (!peer)
		return false;
	while (budget_left(budget) && fused_check(qp, peer, &msg, &turn)) {
		fused_do(qp, peer, &msg, &turn);
		budget_take(budget, msg.len);
	}
	if (!turn.msgs)
		return false;
	fused_count(qp, peer, &turn);
	/* Nobody waited for a completion when it was stored; somebody may now. */
	if (turn.recvs)
		cq_look(peer->recv_cq, turn.solicited);
	if (turn.cqes)
		cq_look(qp->send_cq, false);
	return true;
}
