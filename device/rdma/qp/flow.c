// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much a QP may send, and when.
 *
 * Theory of operation
 * ===================
 *
 * In memory nothing gets lost and nobody waits in line: there the rate limit is
 * all that holds a QP back.  On a wire each QP has a window, in bytes:
 *
 *  - A requester of RC has no more than that under way.  RDMA READs that it
 *    asked for count, for the data is to come.
 *  - READ responses, and UC, are acknowledged by nobody.  Of them no more than
 *    the window is sent in FLOW_PERIOD_NS, the round trip of a long path.
 *
 * The window follows the network.  It grows by what has arrived until the first
 * sign of congestion, so that it doubles in a round trip, and by one packet in a
 * round trip from then on.  A CNP takes an eighth of it, or half while it still
 * doubles.  After a loss it is a few packets, for those that were sent in vain
 * may still stand in the line where the loss was; after a timeout it is one,
 * which it never falls below.  From there it doubles up to half of what it was.
 * All but timeouts are heard once in FLOW_PERIOD_NS, for one event shows many
 * signs.
 *
 * Rates are kept as the time at which the next packet may leave.  A packet moves
 * it on by the time that it takes at the rate; time that was not used is good
 * for a burst, up to a bound.
 */
#include "rdma/qp/qp.h"

#define FLOW_WINDOW_FIRST	(128u * 1024)
#define FLOW_PERIOD_NS		100000u

/* Packets sent at once behind a loss. */
#define FLOW_RESTART		4u

/* The rate limit is averaged over so much time, which timers can tell. */
#define FLOW_LIMIT_BURST_NS	1000000u

/* A packet marked by the network is told of at most so often (DCQCN). */
#define FLOW_CNP_NS		50000u

/* Ethernet, IPv4, UDP, BTH, ICRC: what a packet takes besides its payload. */
#define FLOW_OVERHEAD		58u

#define NS_PER_S		1000000000u

/* kbit/s as bytes in a second */
#define FLOW_KBIT		125u

static void flow_timer(void *arg)
{
	qp_activate(arg);
}

void flow_stop(struct qp *qp)
{
	loop_timer_cancel(qp->rnic->loop, &qp->flow.timer);
}

void flow_reset(struct qp *qp)
{
	flow_stop(qp);
	qp->flow = (struct flow) {
		.window = FLOW_WINDOW_FIRST,
		.threshold = FLOW_WINDOW_MAX,
		.timer = { .fn = flow_timer, .arg = qp },
	};
}

/* ------------------------------------------------------------------------- */
/* Pace                                                                      */
/* ------------------------------------------------------------------------- */

/* When the next packet may leave, after one that takes @ns. */
static uint64_t flow_after(uint64_t at, uint64_t now, uint64_t burst,
			   uint64_t ns)
{
	if (now > burst && at < now - burst)
		at = now - burst;
	return at + ns;
}

bool flow_ready(struct qp *qp, enum flow_kind kind)
{
	struct flow *flow = &qp->flow;
	struct loop *loop = qp->rnic->loop;
	uint64_t now, at = qp->attr.rate_limit ? flow->limit_at : 0;

	if (kind == FLOW_STREAM && flow->stream_at > at && qp->on_wire)
		at = flow->stream_at;
	if (!at)
		return true;
	now = loop_now(loop);
	if (at <= now)
		return true;
	/* The two halves may wait for different times: wake at the first. */
	if (!flow->timer.due || flow->timer.due > at)
		loop_timer_set(loop, &flow->timer, at - now);
	return false;
}

void flow_sent(struct qp *qp, enum flow_kind kind, const struct pkt *pkt)
{
	bool stream = kind == FLOW_STREAM && qp->on_wire;
	struct flow *flow = &qp->flow;
	uint64_t now, bytes;

	if (!stream && !qp->attr.rate_limit)
		return;
	now = loop_now(qp->rnic->loop);
	bytes = pkt->len + (uint64_t)pkt->npsn * FLOW_OVERHEAD;
	if (qp->attr.rate_limit)
		flow->limit_at = flow_after(flow->limit_at, now,
			FLOW_LIMIT_BURST_NS, bytes * NS_PER_S /
			((uint64_t)qp->attr.rate_limit * FLOW_KBIT));
	if (!stream)
		return;
	flow->stream_at = flow_after(flow->stream_at, now, FLOW_PERIOD_NS,
				     bytes * FLOW_PERIOD_NS / flow->window);
	/* As long as nobody complains it is taken for arrived. */
	flow_arrived(qp, pkt->len);
}

/* ------------------------------------------------------------------------- */
/* Window                                                                    */
/* ------------------------------------------------------------------------- */

void flow_arrived(struct qp *qp, uint64_t bytes)
{
	struct flow *flow = &qp->flow;
	uint64_t window = flow->window;

	if (window == FLOW_WINDOW_MAX)
		return;
	if (bytes > window)
		bytes = window;
	if (window < flow->threshold) {
		window += bytes;
	} else {
		flow->arrived += bytes;
		if (flow->arrived < window)
			return;
		flow->arrived = 0;
		window += qp->mtu;
	}
	flow->window = window < FLOW_WINDOW_MAX ? window : FLOW_WINDOW_MAX;
}

void flow_congested(struct qp *qp, enum flow_sign sign)
{
	struct flow *flow = &qp->flow;
	uint64_t now = loop_now(qp->rnic->loop);
	uint32_t window = flow->window;
	uint32_t restart = sign == FLOW_TIMEOUT ? qp->mtu :
						  FLOW_RESTART * qp->mtu;

	if (!qp->on_wire ||
	    (sign != FLOW_TIMEOUT && now < flow->cut_at + FLOW_PERIOD_NS))
		return;
	if (sign == FLOW_CNP && window >= flow->threshold)
		window -= window / 8;
	else
		window /= 2;
	if (window < qp->mtu)
		window = qp->mtu;
	/* What gets lost while it is that small tells nothing new. */
	if (sign == FLOW_CNP || flow->window > restart)
		flow->threshold = window;
	flow->window = sign == FLOW_CNP || window < restart ? window : restart;
	flow->arrived = 0;
	flow->cut_at = now;
}

/* ------------------------------------------------------------------------- */
/* Congestion notification                                                   */
/* ------------------------------------------------------------------------- */

void flow_ecn_rx(struct qp *qp)
{
	uint64_t now = loop_now(qp->rnic->loop);
	struct pkt pkt = { .opcode = PKT_CNP, .npsn = 1 };

	if (now < qp->flow.cnp_at)
		return;
	qp->flow.cnp_at = now + FLOW_CNP_NS;
	rnic_count(qp->rnic, VIRTIO_RDMA_CNT_SENT_CNP);
	qp_send(qp, &pkt);
}

void qp_cnp_rx(struct qp *qp)
{
	rnic_count(qp->rnic, VIRTIO_RDMA_CNT_RCVD_CNP);
	flow_congested(qp, FLOW_CNP);
}
