/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How much a QP may send, and when: window, congestion, rate limit.
 */
#ifndef DEVICE_FLOW_H
#define DEVICE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct pkt;
struct qp;

/* 100 Gb/s for 100 µs is 1.25 MB; somewhat more, so that ACKs may be late. */
#define FLOW_WINDOW_MAX		(2u << 20)

/**
 * struct flow - state of a QP
 * @window:	bytes that it may have under way on a wire
 * @threshold:	up to there @window grows by what has arrived, then slowly
 * @arrived:	bytes that have arrived since @window grew slowly last
 * @cut_at:	when @window was cut last
 * @stream_at:	when packets that nobody acknowledges may be sent next
 * @limit_at:	when the rate limit allows the next packet
 * @cnp_at:	when the next CNP may be sent
 * @timer:	wakes the QP that waits for one of these times
 */
struct flow {
	uint32_t window;
	uint32_t threshold;
	uint32_t arrived;
	uint64_t cut_at;
	uint64_t stream_at;
	uint64_t limit_at;
	uint64_t cnp_at;
	struct loop_timer timer;
};

/** enum flow_sign - signs of congestion, from faint to strong */
enum flow_sign {
	FLOW_CNP,	/* a router has marked a packet */
	FLOW_LOSS,	/* a packet got lost, the next one did not */
	FLOW_TIMEOUT,	/* nothing comes back */
};

/** enum flow_kind - how a packet is held back */
enum flow_kind {
	FLOW_ACKED,	/* by the requester's window */
	FLOW_STREAM,	/* nobody acknowledges it: by time */
};

/** flow_reset() - begin anew, nothing known of the network */
void flow_reset(struct qp *qp);

/** flow_stop() - no timer */
void flow_stop(struct qp *qp);

/**
 * flow_ready() - may a packet be sent now?
 * @qp:		QP
 * @kind:	what for
 *
 * Return: false if not; the QP is activated when it may.
 */
bool flow_ready(struct qp *qp, enum flow_kind kind);

/**
 * flow_sent() - a packet with payload was sent
 * @qp:		QP
 * @kind:	as asked for
 * @pkt:	the packet
 */
void flow_sent(struct qp *qp, enum flow_kind kind, const struct pkt *pkt);

/** flow_arrived() - @bytes of what was under way on a wire have arrived */
void flow_arrived(struct qp *qp, uint64_t bytes);

/** flow_congested() - the network has shown a sign of congestion */
void flow_congested(struct qp *qp, enum flow_sign sign);

/** flow_ecn_rx() - a packet has come whose header tells of congestion */
void flow_ecn_rx(struct qp *qp);

#endif /* DEVICE_FLOW_H */
