/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs: the object, its states, its place on the active list.
 */
#ifndef DEVICE_QP_H
#define DEVICE_QP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdma/object/ah.h"
#include "rdma/object/cq.h"
#include "rdma/qp/flow.h"
#include "rdma/rnic_priv.h"
#include "rdma/qp/wqe.h"

/**
 * struct budget - how much may be done before others get their turn
 * @msgs:	packets and completions left
 * @bytes:	payload left; may go below 0 by the last packet
 */
struct budget {
	int msgs;
	int64_t bytes;
};

static inline bool budget_left(const struct budget *budget)
{
	return budget->msgs > 0 && budget->bytes > 0;
}

static inline void budget_take(struct budget *budget, uint64_t bytes)
{
	budget->msgs--;
	budget->bytes -= bytes;
}

/**
 * struct qp_attr - what MODIFY_QP sets
 * @path_mtu:	&enum virtio_ib_mtu
 * @max_rd_atomic: RDMA READs outstanding as requester
 * @max_dest_rd_atomic: RDMA READs served at a time as responder
 * @min_rnr_timer: code of the delay that an RNR NAK asks for
 * @timeout:	ACK timeout, 4.096 µs * 2^n, 0 = for ever
 * @retry_cnt:	retries
 * @rnr_retry:	RNR retries, 7 = without end
 * @rate_limit: kbit/s, 0 = none
 * @qkey:	Q_Key
 * @dest_qpn:	QPN of the peer
 * @access:	what the peer may do, &enum virtio_ib_access_flags
 * @ah_attr:	address vector of the peer, as given
 * @av:		what it says for the headers of packets
 * @sgid:	source GID, as it was when @av was set: the connection outlives
 *		a move of the GID to another index, as when the guest changes
 *		the MAC address of its interface
 * @vlan:	VLAN of that
 */
struct qp_attr {
	uint8_t path_mtu;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint32_t rate_limit;
	uint32_t qkey;
	uint32_t dest_qpn;
	uint32_t access;
	struct virtio_rdma_ah_attr ah_attr;
	struct pkt_av av;
	uint8_t sgid[GID_SIZE];
	uint16_t vlan;
};

/**
 * struct requester - the sending half of a QP
 * @ring:	work requests taken from the send queue, a power of two of them
 * @size:	how many
 * @una:	oldest one that is not completed
 * @cur:	the one that is sent from next, or is about to be
 * @prod:	where the next one taken goes
 * @una_pos:	first position that is not acknowledged
 * @snd_pos:	position that is sent next; behind @max_pos after a step back
 * @max_pos:	first position that was never sent
 * @ask_pos:	position behind the last packet that asks for an answer
 * @unasked:	bytes sent since then
 * @reads:	RDMA READs sent and not completed
 * @retry_left:	retries until RETRY_EXC_ERR
 * @rnr_left:	RNR retries until RNR_RETRY_EXC_ERR
 * @went_back:	something got lost and is sent again; until there is progress
 *		only the timer tells that it got lost again
 * @icrc_twice:	the peer takes FLUSHs with the ICRC of Soft-RoCE
 * @rnr_wait:	the peer was not ready; @timer ends the wait
 * @timer:	ACK timeout or RNR delay
 *
 * @una, @cur and @prod count without end; @cur is never behind @una nor ahead
 * of @prod.  Positions are PSNs that count without end.
 */
struct requester {
	struct wqe *ring;
	uint32_t size;
	uint32_t una;
	uint32_t cur;
	uint32_t prod;
	uint32_t una_pos;
	uint32_t snd_pos;
	uint32_t max_pos;
	uint32_t ask_pos;
	uint32_t unasked;
	uint32_t reads;
	uint8_t retry_left;
	uint8_t rnr_left;
	bool went_back;
	bool icrc_twice;
	bool rnr_wait;
	struct loop_timer timer;
};

/**
 * enum read_share - what a READ that is to be answered counts for
 * @READ_SHARE_PEER: the peer's own limit, max_dest_rd_atomic
 * @READ_SHARE_FLUSH: FLUSHs, which not every requester counts as READs
 * @READ_SHARE_AGAIN: those asked for once more; an error ends one, not the QP
 *
 * Of each share there are never more than RNIC_MAX_RD_ATOMIC.
 */
enum read_share {
	READ_SHARE_PEER,
	READ_SHARE_FLUSH,
	READ_SHARE_AGAIN,
	READ_SHARES
};

/**
 * struct read_job - an RDMA READ that is being answered, or a FLUSH
 * @va:		address of the next byte
 * @rkey:	its key
 * @left:	bytes still to be sent
 * @psn:	PSN of the next packet of the response
 * @msn:	messages completed when it was asked for
 * @begun:	part of it was sent
 * @share:	&enum read_share
 */
struct read_job {
	uint64_t va;
	uint32_t rkey;
	uint32_t left;
	uint32_t psn;
	uint32_t msn;
	bool begun;
	uint8_t share;
};

#define RESP_READS	(READ_SHARES * RNIC_MAX_RD_ATOMIC)

/**
 * struct responder - the receiving half of a QP
 * @epsn:	PSN that is expected next
 * @msn:	messages completed
 * @kind:	&enum pkt_kind of the message that is under way, or none
 * @off:	bytes of it that have arrived
 * @va:		RDMA WRITE: where it goes
 * @rkey:	RDMA WRITE: key of that
 * @dmalen:	RDMA WRITE: its length
 * @has_rwqe:	a receive request was taken and waits for its message to end
 * @rwqe:	that receive request
 * @read:	READs to answer, a ring
 * @read_head:	the one being answered
 * @reads:	number of them
 * @share:	number of them by &enum read_share
 * @nak:	syndrome of the NAK that is due, or 0
 * @nak_psn:	PSN of that
 * @nak_sent:	a sequence error was reported; no second time for the same gap
 * @ack_due:	an ACK is due
 * @dup_acked:	a repetition was acknowledged; further ones in a row that do
 *		not ask for it are not
 * @dead:	nothing is accepted any more; the QP goes to ERR when all that
 *		is due has been sent
 */
struct responder {
	uint32_t epsn;
	uint32_t msn;
	uint8_t kind;
	uint32_t off;
	uint64_t va;
	uint32_t rkey;
	uint32_t dmalen;
	bool has_rwqe;
	struct rwqe rwqe;
	struct read_job read[RESP_READS];
	uint32_t read_head;
	uint32_t reads;
	uint32_t share[READ_SHARES];
	uint8_t nak;
	uint32_t nak_psn;
	bool nak_sent;
	bool ack_due;
	bool dup_acked;
	bool dead;
};

/**
 * struct qp - queue pair
 * @rnic:	NIC that it belongs to
 * @qpn:	its number
 * @type:	&enum virtio_ib_qp_type
 * @service:	&enum pkt_service
 * @state:	&enum virtio_ib_qp_state
 * @sig_all:	each send request leaves a completion
 * @fast_reg:	send requests may register and invalidate memory regions
 * @pd:		protection domain
 * @send_cq:	where send requests complete
 * @recv_cq:	where receive requests complete
 * @cap:	capabilities, as given
 * @max_send_sge: elements of a send request
 * @max_recv_sge: elements of a receive request
 * @attr:	what MODIFY_QP has set
 * @mtu:	path MTU, bytes
 * @req:	sending half
 * @resp:	receiving half
 * @flow:	how much it may send, and when
 * @route:	where the peer is, as of @epoch
 * @epoch:	of the fabric
 * @on_wire:	@route leaves memory, so that packets can get lost
 * @active:	on the NIC's active list
 * @busy_at:	when it had work last
 * @sq_kick:	its send queue asks for doorbells
 * @rq_kick:	its receive queue does
 * @entry:	of the NIC's active list
 */
struct qp {
	struct rnic *rnic;
	uint32_t qpn;
	uint8_t type;
	uint8_t service;
	uint8_t state;
	bool sig_all;
	bool fast_reg;
	struct pd *pd;
	struct cq *send_cq;
	struct cq *recv_cq;
	struct virtio_rdma_qp_cap cap;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	struct qp_attr attr;
	uint32_t mtu;
	struct requester req;
	struct responder resp;
	struct flow flow;
	struct route route;
	uint32_t epoch;
	bool on_wire;
	bool active;
	uint64_t busy_at;
	bool sq_kick;
	bool rq_kick;
	TAILQ_ENTRY(qp) entry;
};

/* ------------------------------------------------------------------------- */
/* qp.c: the object                                                          */
/* ------------------------------------------------------------------------- */

/**
 * qp_create() - make a QP
 * @rnic:	NIC
 * @req:	request
 * @qpn:	set to its number
 *
 * Return: NULL, or why it failed.
 */
const char *qp_create(struct rnic *rnic,
		      const struct virtio_rdma_cmd_create_qp *req,
		      uint32_t *qpn);

/** qp_destroy() - destroy a QP, whatever it is doing; NULL, or why not */
const char *qp_destroy(struct rnic *rnic, uint32_t qpn);

/** qp_free_all() - destroy all QPs of a NIC */
void qp_free_all(struct rnic *rnic);

/**
 * qp_reset() - go to RESET
 * @qp:		QP
 *
 * Drops what is under way.  Slots of its queues are given back used, without
 * completions, so that the driver's count of free ones is right again.
 */
void qp_reset(struct qp *qp);

/**
 * qp_fail() - go to ERR
 * @qp:		QP
 *
 * Its requests are flushed by qp_poll(), never from here.
 */
void qp_fail(struct qp *qp);

/** qp_fail_cq() - all QPs that complete to a CQ go to ERR */
void qp_fail_cq(struct rnic *rnic, const struct cq *cq);

/** qp_fail_queue() - a virtqueue of the QP is broken: say so, and go to ERR */
void qp_fail_queue(struct qp *qp, const char *queue);

/* ------------------------------------------------------------------------- */
/* qp_work.c: scheduling, completions, flushing                              */
/* ------------------------------------------------------------------------- */

/** qp_usable() - are its queues and memory there?  If not, it stands still */
bool qp_usable(const struct qp *qp);

/** qp_receives() - is it in a state in which it takes packets from its peer? */
bool qp_receives(const struct qp *qp);

/** qp_activate() - have rnic_poll() look at it */
void qp_activate(struct qp *qp);

/** qp_deactivate() - have rnic_poll() not look at it any more */
void qp_deactivate(struct qp *qp);

/**
 * qp_poll() - do some of the work that is due
 * @qp:		QP
 * @budget:	how much
 *
 * Return: true if there was any.
 */
bool qp_poll(struct qp *qp, struct budget *budget);

/**
 * qp_doorbells_on() - ask for the doorbells of the queues that have a use for one
 * @qp:		QP
 *
 * Return: true if there is work for which no doorbell will come.
 */
bool qp_doorbells_on(struct qp *qp);

/** qp_doorbells_off() - ask not to ring while the QP is being polled */
void qp_doorbells_off(struct qp *qp);

/** qp_complete_send() - give a slot of the send queue back, and complete it */
void qp_complete_send(struct qp *qp, const struct wqe *wqe, uint8_t status);

/**
 * qp_complete_recv() - give back the receive request taken, and complete it
 * @qp:		QP that has one
 * @wc:		completion; @wr_id and @qp_num are filled in
 * @solicited:	the sender set the solicited event
 */
void qp_complete_recv(struct qp *qp, struct virtio_rdma_cq_req *wc,
		      bool solicited);

/** enum qp_take - outcome of qp_take_recv() */
enum qp_take {
	QP_TAKE_OK,
	QP_TAKE_EMPTY,
	QP_TAKE_BAD,
};

/**
 * qp_take_recv() - have a receive request at hand
 * @qp:		QP
 *
 * Return: QP_TAKE_OK if @qp->resp.rwqe is one, QP_TAKE_EMPTY if the receive
 *	   queue is empty, QP_TAKE_BAD if its next entry is malformed (and was
 *	   completed so) or the virtqueue is broken.
 */
enum qp_take qp_take_recv(struct qp *qp);

/**
 * qp_send() - send a packet to the peer of a connected QP
 * @qp:		QP
 * @pkt:	packet; opcode's service, unless it is a CNP, QPNs and addresses are
 *		filled in
 *
 * Without a way to the peer the packet is lost, as it would be on a wire.
 * Context: the answer may be delivered before this returns.
 */
void qp_send(struct qp *qp, struct pkt *pkt);

/** qp_route() - where the peer of a connected QP is */
const struct route *qp_route(struct qp *qp);

/** qp_window() - bytes that may be under way; no bound without a wire */
static inline uint64_t qp_window(const struct qp *qp)
{
	return qp->on_wire ? qp->flow.window : UINT64_MAX;
}

/** qp_seg_max() - largest payload of a packet to the peer */
uint32_t qp_seg_max(struct qp *qp);

/* ------------------------------------------------------------------------- */
/* qp_state.c: MODIFY_QP, QUERY_QP                                           */
/* ------------------------------------------------------------------------- */

/** qp_modify() - carry out MODIFY_QP; returns NULL, or why not */
const char *qp_modify(struct rnic *rnic,
		      const struct virtio_rdma_cmd_modify_qp *req);

/** qp_query() - carry out QUERY_QP; returns NULL, or why not */
const char *qp_query(struct rnic *rnic, uint32_t qpn,
		     struct virtio_rdma_ack_query_qp *rsp);

/* ------------------------------------------------------------------------- */
/* requester.c, ud.c: the sending half                                       */
/* ------------------------------------------------------------------------- */

/** requester_reset() - forget all, begin at @psn */
void requester_reset(struct qp *qp, uint32_t psn);

/** requester_stop() - no timer, no waiting */
void requester_stop(struct qp *qp);

/** requester_run() - send what may be sent (RC, UC); true if there was any */
bool requester_run(struct qp *qp, struct budget *budget);

/** requester_rx() - a response has arrived (RC) */
void requester_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

/** requester_can_fetch() - would it take another request from the send queue? */
bool requester_can_fetch(const struct qp *qp);

/** requester_draining() - is a request under way that was begun? */
bool requester_draining(const struct qp *qp);

/** requester_current() - request to send from, taken from the send queue, or NULL */
struct wqe *requester_current(struct qp *qp);

/** requester_done() - the oldest request is completed */
void requester_done(struct qp *qp, uint8_t status);

/** requester_fail() - the oldest request has failed, and the QP with it */
void requester_fail(struct qp *qp, uint8_t status);

/** ud_run() - send what may be sent (UD, GSI); true if there was any */
bool ud_run(struct qp *qp, struct budget *budget);

/* ------------------------------------------------------------------------- */
/* responder.c, ud.c: the receiving half                                     */
/* ------------------------------------------------------------------------- */

/** responder_reset() - forget all, expect @psn */
void responder_reset(struct qp *qp, uint32_t psn);

/** responder_drop_reads() - answer none of the READs any more */
void responder_drop_reads(struct responder *resp);

/** responder_run() - answer READs; true if there was any */
bool responder_run(struct qp *qp, struct budget *budget);

/** responder_rx() - a request has arrived (RC, UC) */
void responder_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

/** qp_cnp_rx() - the peer tells of congestion on the way to it (RC, UC) */
void qp_cnp_rx(struct qp *qp);

/** ud_rx() - a datagram has arrived (UD, GSI); false if it is not wanted */
bool ud_rx(struct qp *qp, const struct pkt_op *op, const struct pkt *pkt);

#endif /* DEVICE_QP_H */
