// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much a QP may send, and when.
 *
 * Theory of operation
 * ===================
 *
 * In memory nothing gets lost and there is no line to wait in: only the rate
 * limit holds a QP back.  On a wire each QP has a window, in bytes:
 *
 *  - A requester of RC has no more than that under way.  RDMA READs that it
 *    asked for count, because their data will come.
 *  - READ responses and UC are not acknowledged.  Of these no more than the
 *    window is sent in FLOW_PERIOD_NS, the round trip of a long path.  But the peer
 *    asks for the next READ when data has arrived: a loss says nothing against the rate
 *    at which it asks.
 *
 * The window follows the network.  Until the first sign of congestion it grows by
 * what has arrived, so that it doubles in a round trip; from then on it grows by
 * one packet in a round trip.  A CNP or a loss takes an eighth of it, or half while it
 * still doubles, and a loss leaves a few packets.  Packets that were sent in vain may still
 * stand in a queue that overflowed: so what is sent again is bounded by the requester as
 * well.  After a timeout the window is one packet, and it is never smaller.  From there it
 * doubles up to half of what it was.  One event shows many signs: all but timeouts count once
 * in FLOW_PERIOD_NS.
 *
 * Rates are kept as the time at which the next packet may leave.  A packet moves
 * that time on by what it takes at the rate.  Time that was not used allows a
 * burst, up to a bound.
 */
#include "rdma/qp/flow.h"

#define FLOW_WINDOW_FIRST	(128u * 1024)
#define FLOW_PERIOD_NS		100000u

/* The rate of READs is taken over so many windows at least, and averaged. */
#define FLOW_ASKED_WINDOWS	2u
#define FLOW_ASKED_SHARE	4u

/* Packets that a loss leaves. */
#define FLOW_RESTART		4u

/* The rate limit is averaged over so much time, which timers can tell, if nobody says how much. */
#define FLOW_LIMIT_BURST_NS	1000000u

/* A packet marked by the network is told of at most so often (DCQCN). */
#define FLOW_CNP_NS		50000u

/* Ethernet, IPv4, UDP, BTH, ICRC: what a packet takes besides its payload. */
#define FLOW_OVERHEAD		58u

#define NS_PER_S		1000000000u

/* kbit/s as bytes in a second */
#define FLOW_KBIT		125u

void flow_init(struct flow *flow, struct loop *loop, void (*wake)(void *arg),
	       void *arg)
{
	*flow = (struct flow) {
		.loop = loop,
		.window = FLOW_WINDOW_FIRST,
		.threshold = FLOW_WINDOW_MAX,
		.timer = { .fn = wake, .arg = arg },
	};
}

void flow_stop(struct flow *flow)
{
	loop_timer_cancel(flow->loop, &flow->timer);
}

void flow_reset(struct flow *flow)
{
	flow_stop(flow);
	flow_init(flow, flow->loop, flow->timer.fn, flow->timer.arg);
}

void flow_set_mtu(struct flow *flow, uint32_t mtu)
{
	flow->mtu = mtu;
}

/* The time that @bytes take at the rate limit, ns. */
static uint64_t flow_limit_ns(const struct flow *flow, uint64_t bytes)
{
	return bytes * NS_PER_S / ((uint64_t)flow->rate * FLOW_KBIT);
}

void flow_set_rate(struct flow *flow, uint32_t rate, uint32_t max_burst)
{
	flow->rate = rate;
	flow->burst = rate && max_burst ? flow_limit_ns(flow, max_burst) : FLOW_LIMIT_BURST_NS;
	flow->limit_at = 0;
}

void flow_set_wire(struct flow *flow, bool on_wire)
{
	flow->on_wire = on_wire;
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

bool flow_ready(struct flow *flow, enum flow_kind kind)
{
	uint64_t now, at = flow->rate ? flow->limit_at : 0;

	if (kind == FLOW_STREAM && flow->stream_at > at && flow->on_wire)
		at = flow->stream_at;
	if (!at)
		return true;
	now = loop_now(flow->loop);
	if (at <= now)
		return true;
	/* The two halves may wait for different times: wake at the first. */
	if (!flow->timer.due || flow->timer.due > at)
		loop_timer_set(flow->loop, &flow->timer, at - now);
	return false;
}

void flow_sent(struct flow *flow, enum flow_kind kind, const struct pkt *pkt)
{
	bool stream = kind == FLOW_STREAM && flow->on_wire;
	uint64_t now, bytes;

	if (!stream && !flow->rate)
		return;
	now = loop_now(flow->loop);
	bytes = pkt->len + (uint64_t)pkt->npsn * FLOW_OVERHEAD;
	if (flow->rate)
		flow->limit_at = flow_after(flow->limit_at, now, flow->burst,
					    flow_limit_ns(flow, bytes));
	if (!stream)
		return;
	flow->stream_at = flow_after(flow->stream_at, now, FLOW_PERIOD_NS,
				     bytes * FLOW_PERIOD_NS / flow->window);
	/* It counts as arrived unless there is a sign of congestion. */
	flow_arrived(flow, pkt->len);
}

/* ------------------------------------------------------------------------- */
/* Window                                                                    */
/* ------------------------------------------------------------------------- */

void flow_arrived(struct flow *flow, uint64_t bytes)
{
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
		window += flow->mtu;
	}
	flow->window = window < FLOW_WINDOW_MAX ? window : FLOW_WINDOW_MAX;
}

void flow_asked(struct flow *flow, uint64_t bytes)
{
	uint64_t now, rate;

	if (!flow->on_wire)
		return;
	now = loop_now(flow->loop);
	if (flow->asked >= (uint64_t)FLOW_ASKED_WINDOWS * flow->window && now > flow->asked_at) {
		rate = flow->asked * FLOW_PERIOD_NS / (now - flow->asked_at);
		if (rate > FLOW_WINDOW_MAX)
			rate = FLOW_WINDOW_MAX;
		if (flow->asked_rate)
			rate = flow->asked_rate - flow->asked_rate / FLOW_ASKED_SHARE +
			       rate / FLOW_ASKED_SHARE;
		flow->asked_rate = rate;
		flow->asked = 0;
		flow->asked_at = now;
	}
	flow->asked += bytes;
}

/* Data arrives at the rate at which the next one is asked for: nothing is won by less. */
static uint32_t flow_at_least(const struct flow *flow, enum flow_sign sign)
{
	if (sign != FLOW_AGAIN)
		return 0;
	return flow->asked_rate < flow->window ? flow->asked_rate : flow->window;
}

void flow_congested(struct flow *flow, enum flow_sign sign)
{
	uint64_t now = loop_now(flow->loop);
	uint32_t window = flow->window;
	uint32_t restart = sign == FLOW_LOSS || sign == FLOW_AGAIN ? FLOW_RESTART * flow->mtu :
								     flow->mtu;
	uint32_t least = flow_at_least(flow, sign);

	if (!flow->on_wire ||
	    (sign != FLOW_TIMEOUT && now < flow->cut_at + FLOW_PERIOD_NS))
		return;
	if (sign != FLOW_TIMEOUT && window >= flow->threshold)
		window -= window / 8;
	else
		window /= 2;
	if (window < restart)
		window = restart < flow->window ? restart : flow->window;
	if (window < least)
		window = least;
	/* Losses of a window that small tell nothing new. */
	if (sign == FLOW_CNP || flow->window > restart)
		flow->threshold = window;
	flow->window = sign == FLOW_TIMEOUT ? restart : window;
	flow->arrived = 0;
	flow->cut_at = now;
}

/* ------------------------------------------------------------------------- */
/* Congestion notification                                                   */
/* ------------------------------------------------------------------------- */

bool flow_cnp_due(struct flow *flow)
{
	uint64_t now = loop_now(flow->loop);

	if (now < flow->cnp_at)
		return false;
	flow->cnp_at = now + FLOW_CNP_NS;
	return true;
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

void flow_io(struct state *st, struct flow *flow)
{
	const uint64_t now = loop_now(flow->loop);

	state_bool(st, "on_wire", &flow->on_wire);
	state_u32(st, "window", &flow->window, FLOW_WINDOW_MAX);
	state_u32(st, "threshold", &flow->threshold, FLOW_WINDOW_MAX);
	state_u32(st, "arrived", &flow->arrived, FLOW_WINDOW_MAX);
	state_need(st, flow->window, "window", "it is 0");
	state_time(st, "cut_at", &flow->cut_at, now);
	state_time(st, "stream_at", &flow->stream_at, now);
	state_time(st, "limit_at", &flow->limit_at, now);
	state_time(st, "cnp_at", &flow->cnp_at, now);
}
