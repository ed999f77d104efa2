/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How a requester notices losses, and which packets it sends again.
 */
#ifndef DEVICE_RDMA_QP_REQUESTER_LOSS_H
#define DEVICE_RDMA_QP_REQUESTER_LOSS_H

#include "rdma/qp/qp.h"

/**
 * REQ_AGAIN - so many packets are sent again before there is an answer
 *
 * The one that got lost, and one behind it, which says so if it gets lost again.
 */
#define REQ_AGAIN	2u

/** requester_rewind() - step back to what is not acknowledged, and wait for it anew */
void requester_rewind(struct qp *qp);

/**
 * requester_lost() - something got lost on the way
 *
 * Every packet behind it reports that, and copies made by the network do as well: going back
 * once is enough.  That it got lost once more takes no further retry: the path works, so only
 * the ACK timer counts.
 */
void requester_lost(struct qp *qp);

/** requester_missed() - the peer says that it misses the oldest packet */
void requester_missed(struct qp *qp);

/** requester_see() - an answer to a READ has come for position @pos */
void requester_see(struct requester *req, uint32_t pos);

/** requester_part_came() - has the gap been closed for which a part of a READ was asked for? */
static inline bool requester_part_came(const struct requester *req)
{
	return !pos_after(req->gap_end, req->una_pos);
}

/**
 * requester_part() - how much of a READ to ask for again
 * @qp:		QP, whose next packet asks for data of the READ
 * @left:	bytes of the READ that have not come
 *
 * If the answer has a gap and what is behind it was kept, only the gap is asked for, and one
 * packet more than is missing, which says so if the others get lost again.
 *
 * Soft-RoCE sends a part, but then stops to answer the READ itself: a peer that does that is
 * asked for all.
 *
 * Return: bytes, or 0: all that is left.
 */
uint32_t requester_part(struct qp *qp, uint32_t left);

/**
 * requester_skip() - go on where nothing was sent yet, if only what was sent again is missing
 * @qp:		QP that has sent something again
 *
 * The peer has to keep what was sent behind the hole, as far as is known.  If that is wrong, it
 * says what is missing next, and is taken for one that does not.
 */
void requester_skip(struct qp *qp);

/**
 * requester_skip_reads() - the same behind a part of a READ that was asked for again
 * @qp:		QP
 *
 * Its peer has to say that it sends what it sent first: else what was kept of later READs may be
 * older than the part, and is asked for again.
 */
void requester_skip_reads(struct qp *qp);

/** requester_note_missed() - a position has not arrived: see to it when it is the next one */
void requester_note_missed(struct requester *req, uint32_t pos);

/**
 * requester_missed_later() - something has not arrived, while an answer before it is missing
 * @qp:		QP
 * @pos:	its position
 *
 * If what was sent behind that answer was skipped, it is sent again from @pos on.
 */
void requester_missed_later(struct qp *qp, uint32_t pos);

/** requester_reach_missed() - go back if what was noted is the oldest thing that is missing */
void requester_reach_missed(struct qp *qp);

/** requester_measure_from() - as requester_measure(), on a wire */
void requester_measure_from(struct qp *qp, uint32_t pos);

/** requester_measure() - an answer up to @pos is asked for: if for the first time, take the time */
static inline void requester_measure(struct qp *qp, uint32_t pos)
{
	if (qp->flow.on_wire)
		requester_measure_from(qp, pos);
}

/** requester_measured() - all before @una_pos has arrived: how long did the answer take? */
void requester_measured(struct qp *qp, uint32_t una_pos);

/** requester_timer_start() - wait for the ACK timeout, or for what comes long before it */
void requester_timer_start(struct qp *qp);

/** requester_timer() - a &struct loop_timer's function, with the QP: the wait is over */
void requester_timer(void *arg);

#endif /* DEVICE_RDMA_QP_REQUESTER_LOSS_H */
