/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The states of the requester and the responder of a QP.
 *
 * requester.c and responder.c work on them.  The layers below, the queues and the ways to
 * ERR and RESET, need a little of them, too: the functions here.
 */
#ifndef DEVICE_RDMA_QP_SIDES_H
#define DEVICE_RDMA_QP_SIDES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/loop.h"
#include "rdma/qp/early.h"
#include "rdma/qp/wqe.h"

/**
 * struct requester - the sending half of a QP
 * @ring:	work requests taken from the send queue; @first or a ring of its own
 * @size:	how many it has room for, a power of two
 * @max:	how many are taken at most before the oldest one is completed
 * @first:	room for one
 * @una:	oldest one that is not completed
 * @cur:	the one that is sent from next, or is about to be
 * @prod:	where the next one taken goes
 * @una_pos:	first position that is not acknowledged
 * @snd_pos:	position that is sent next; behind @max_pos after a step back
 * @max_pos:	first position that was never sent
 * @ask_pos:	position behind the last packet that asks for an answer
 * @unasked:	bytes sent since then
 * @seen_pos:	position of the last answer to a READ that came, of those since the last step
 *		back for one that got lost again
 * @timed_pos:	an answer up to here ends a measurement, if it is ahead of @una_pos
 * @timed_at:	when that was asked for
 * @trip:	how long an answer takes, ns, or 0 if nobody knows: the longest one lately
 * @probes:	how often it went back because an answer took much longer than others, since there
 *		was progress.  Not saved, nor is the measurement
 * @gone_at:	when the ACK timeout ends, or 0 if it does not run; @timer may be due before that,
 *		for a probe
 * @reads:	RDMA READs, and what is answered likewise, sent and not completed
 * @retry_left:	retries until RETRY_EXC_ERR
 * @rnr_left:	RNR retries until RNR_RETRY_EXC_ERR
 * @went_back:	something got lost and is sent again; until there is progress, or a sign that
 *		it got lost again, nothing else that tells of it counts
 * @hole:	the peer said what got lost, and that is sent again; until there is progress.
 *		Not saved, nor is @peer_keeps
 * @peer_keeps:	it takes what was sent behind that as soon as that has come
 * @peer_same:	it says that the answers to READs are what it sent first.  Not saved, nor are
 *		the next three
 * @skipped:	what was sent behind something that got lost is not sent again
 * @missed:	there is something at @missed_pos that did not arrive
 * @missed_pos:	position that is to be sent again, as is what is behind it
 * @skip_pos:	@una_pos when what it keeps was last not sent again
 * @early:	answers to READs that came too early, or NULL; lost when the QP is saved, as is
 *		what follows
 * @gap_end:	behind what was missing when a part of a READ was last asked for
 * @part_max:	@max_pos at that time
 * @parts_failed: how often in a row a peer then sent that part and nothing more
 * @parts:	parts may have been asked for, and their answers be under way
 * @parted:	that was the last thing that was heard of, or nothing was
 * @icrc_twice:	the peer takes FLUSHs with the ICRC of Soft-RoCE
 * @rnr_wait:	the peer was not ready; @timer ends the wait
 * @draining:	the QP is in SQD, and that it is drained was not reported yet
 * @timer:	ACK timeout or RNR delay
 *
 * @una, @cur and @prod count without end; @cur is never behind @una nor ahead
 * of @prod.  Positions are PSNs that count without end.
 */
struct requester {
	struct wqe *ring;
	uint32_t size;
	uint32_t max;
	uint32_t una;
	uint32_t cur;
	uint32_t prod;
	uint32_t una_pos;
	uint32_t snd_pos;
	uint32_t max_pos;
	uint32_t ask_pos;
	uint32_t unasked;
	uint32_t seen_pos;
	uint32_t timed_pos;
	uint64_t timed_at;
	uint64_t trip;
	uint64_t gone_at;
	uint32_t probes;
	uint32_t reads;
	uint8_t retry_left;
	uint8_t rnr_left;
	bool went_back;
	bool hole;
	bool peer_keeps;
	bool peer_same;
	bool skipped;
	bool missed;
	uint32_t missed_pos;
	uint32_t skip_pos;
	struct early *early;
	uint32_t gap_end;
	uint32_t part_max;
	uint8_t parts_failed;
	bool parts;
	bool parted;
	bool icrc_twice;
	bool rnr_wait;
	bool draining;
	struct loop_timer timer;
	struct wqe first;
};

/**
 * enum read_share - what a READ that is to be answered counts for
 * @READ_SHARE_PEER: the peer's own limit, max_dest_rd_atomic
 * @READ_SHARE_FLUSH: FLUSHs and ATOMIC_WRITEs, which not every requester counts as READs
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
 * struct read_job - an RDMA READ that is being answered, or what was carried out and is
 *		     answered in the same order
 * @va:		address of the next byte
 * @orig:	@atomic: what was there before
 * @rkey:	its key
 * @srqn:	XRC: the SRQ that was named, whose protection domain that is of
 * @left:	bytes still to be sent
 * @psn:	PSN of the next packet of the response
 * @msn:	messages completed when it was asked for
 * @begun:	part of it was sent
 * @atomic:	it is a CMP_SWAP or FETCH_ADD
 * @share:	&enum read_share
 */
struct read_job {
	union {
		uint64_t va;
		uint64_t orig;
	};
	uint32_t rkey;
	uint32_t srqn;
	uint32_t left;
	uint32_t psn;
	uint32_t msn;
	bool begun;
	bool atomic;
	uint8_t share;
};

/**
 * struct atomic_done - a CMP_SWAP or FETCH_ADD that was carried out
 * @orig:	what was there before
 * @psn:	PSN of the request
 *
 * The answer may get lost.  A request that comes again is answered by what is
 * remembered, and not carried out again.
 */
struct atomic_done {
	uint64_t orig;
	uint32_t psn;
};

/**
 * struct responder - the receiving half of a QP
 * @epsn:	PSN that is expected next
 * @by_data:	so many PSNs before @epsn are those of requests that data answer: no ACK has
 *		one of them, see responder_ack_psn()
 * @msn:	messages completed
 * @kind:	&enum pkt_kind of the message that is under way, or none
 * @off:	bytes of it that have arrived
 * @va:		RDMA WRITE: where it goes
 * @rkey:	RDMA WRITE: key of that
 * @dmalen:	RDMA WRITE: its length
 * @has_rwqe:	a receive request was taken and waits for its message to end
 * @rwqe:	that receive request
 * @read:	READs to answer, a ring, or NULL while there was none lately
 * @room:	how many it has room for, a power of two
 * @read_head:	the one being answered
 * @reads:	number of them
 * @share:	number of them by &enum read_share
 * @done:	atomic operations carried out last, a ring of RNIC_MAX_RD_ATOMIC, as no
 *		peer has more under way; NULL before the first one
 * @done_n:	how many there were, without end
 * @nak:	syndrome of the NAK that is due, or 0
 * @nak_psn:	PSN of that
 * @nak_sent:	a sequence error was reported; no second time for the same gap
 * @unready:	a peer in memory was told that there is no receive request.  What is loaded
 *		has @nak_sent here, which that sets, too
 * @ack_due:	an ACK is due
 * @dup_acked:	a repetition was acknowledged; further ones in a row that do
 *		not ask for it are not
 * @heard:	a request has come from the peer
 * @tell:	the peer is to be told what has arrived
 * @early:	packets that came too early, or NULL; lost when the QP is saved
 * @sent:	answers to READs as they were sent first, or NULL; lost likewise
 * @sent_psn:	behind the last PSN of an answer to a READ that was sent
 * @sent_left:	so many answers are still to be kept, because the peer has missed some lately
 * @event:	&enum virtio_rdma_event_type to report when the QP goes to ERR, or 0
 * @dead:	nothing is accepted any more; the QP goes to ERR when all that
 *		is due has been sent
 */
struct responder {
	uint32_t epsn;
	uint32_t by_data;
	uint32_t msn;
	uint8_t kind;
	uint32_t off;
	uint64_t va;
	uint32_t rkey;
	uint32_t dmalen;
	bool has_rwqe;
	struct rwqe rwqe;
	struct read_job *read;
	uint32_t room;
	uint32_t read_head;
	uint32_t reads;
	uint32_t share[READ_SHARES];
	struct atomic_done *done;
	uint64_t done_n;
	uint8_t nak;
	uint32_t nak_psn;
	bool nak_sent;
	bool unready;
	bool ack_due;
	bool dup_acked;
	bool heard;
	bool tell;
	struct early *early;
	struct early *sent;
	uint32_t sent_psn;
	uint32_t sent_left;
	uint8_t event;
	bool dead;
};

/** requester_wqe() - send request @i, which counts without end */
static inline struct wqe *requester_wqe(const struct requester *req, uint32_t i)
{
	return &req->ring[i & (req->size - 1)];
}

/** pos_after() - is position @a ahead of position @b? */
static inline bool pos_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/** requester_end() - the position behind a request that was begun */
static inline uint32_t requester_end(const struct wqe *wqe)
{
	return wqe->pos + wqe->npsn;
}

/** requester_is_local() - is it a request that sends nothing? */
static inline bool requester_is_local(const struct wqe *wqe)
{
	return wqe->kind == PKT_KIND_NONE;
}

/** requester_asked() - can an answer be expected, as far as is known? */
static inline bool requester_asked(const struct requester *req)
{
	return pos_after(req->ask_pos, req->una_pos);
}

/** REQUESTER_MAX - no QP takes more requests than this before one is completed */
#define REQUESTER_MAX	1024u

/** requester_is_full() - is there no room for one more request? */
static inline bool requester_is_full(const struct requester *req)
{
	return req->prod - req->una == req->size;
}

/** requester_grow() - make room for more requests; false if there is not to be any */
bool requester_grow(struct requester *req, struct rnic_ctx *ctx);

/** requester_free() - free the ring; no request is in it */
void requester_free(struct requester *req, struct rnic_ctx *ctx);

/** RESPONDER_BY_DATA_MAX - of &responder.by_data; far fewer than the PSNs that can be told apart */
#define RESPONDER_BY_DATA_MAX	(1u << 22)

/** responder_make_room() - make room for one more READ; false if there is no memory */
bool responder_make_room(struct responder *resp);

/** responder_make_atomic() - make room to remember atomic operations; false likewise */
bool responder_make_atomic(struct responder *resp);

/** responder_remember() - an atomic operation was carried out */
void responder_remember(struct responder *resp, uint32_t psn, uint64_t orig);

/** responder_recall() - the atomic operation at a PSN, or NULL if it is too long ago */
const struct atomic_done *responder_recall(const struct responder *resp, uint32_t psn);

/** responder_forget() - forget all atomic operations */
void responder_forget(struct responder *resp);

/** responder_free() - free the room for READs, of which there are none */
void responder_free(struct responder *resp);

/** requester_not_reading() - a request does not count as an outstanding READ */
static inline void requester_not_reading(struct requester *req, struct wqe *wqe)
{
	req->reads -= wqe->reading;
	wqe->reading = false;
}

/** requester_stop() - no timer, no waiting */
static inline void requester_stop(struct requester *req, struct loop *loop)
{
	loop_timer_cancel(loop, &req->timer);
	req->gone_at = 0;
	req->rnr_wait = false;
}

/** responder_drop_reads() - answer none of the READs any more */
static inline void responder_drop_reads(struct responder *resp)
{
	resp->reads = 0;
	memset(resp->share, 0, sizeof(resp->share));
}

#endif /* DEVICE_RDMA_QP_SIDES_H */
