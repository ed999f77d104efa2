/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How much a QP may send, and when: window, congestion, rate limit.
 */
#ifndef DEVICE_RDMA_QP_FLOW_H
#define DEVICE_RDMA_QP_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "packet/pkt.h"
#include "state/state.h"

/* 100 Gb/s for 100 µs is 1.25 MB; somewhat more, so that ACKs may be late. */
#define FLOW_WINDOW_MAX		(2u << 20)

/**
 * struct flow - how much a QP may send, and when
 * @loop:	event loop
 * @mtu:	path MTU, bytes
 * @rate:	rate limit, kbit/s, 0 = none
 * @burst:	how much time that was not used counts under @rate, ns
 * @on_wire:	packets leave memory and can get lost
 * @window:	bytes that it may have under way on a wire
 * @threshold:	up to there @window grows by what has arrived, then slowly
 * @arrived:	bytes that have arrived since @window grew slowly last
 * @cut_at:	when @window was cut last
 * @asked:	bytes that READs asked for since @asked_at
 * @asked_at:	when @asked_rate was taken last
 * @asked_rate:	how fast READs ask for data, bytes in the time in which @window is sent; or 0.
 *		Not saved, nor are the two before it
 * @stream_at:	when packets that nobody acknowledges may be sent next
 * @limit_at:	when the rate limit allows the next packet
 * @cnp_at:	when the next CNP may be sent
 * @timer:	wakes the QP at the first of these times that it waits for
 */
struct flow {
	struct loop *loop;
	uint32_t mtu;
	uint32_t rate;
	uint64_t burst;
	bool on_wire;
	uint32_t window;
	uint32_t threshold;
	uint32_t arrived;
	uint64_t cut_at;
	uint64_t asked;
	uint64_t asked_at;
	uint32_t asked_rate;
	uint64_t stream_at;
	uint64_t limit_at;
	uint64_t cnp_at;
	struct loop_timer timer;
};

/** enum flow_sign - signs of congestion, from faint to strong */
enum flow_sign {
	FLOW_CNP,	/* a router has marked a packet */
	FLOW_AGAIN,	/* the peer asks for data of a READ that was sent */
	FLOW_LOSS,	/* a packet got lost, the next one did not */
	FLOW_TIMEOUT,	/* nothing comes back */
};

/** enum flow_kind - how a packet is held back */
enum flow_kind {
	FLOW_ACKED,	/* by the requester's window */
	FLOW_STREAM,	/* nobody acknowledges it: by time */
};

/**
 * flow_init() - before anything else
 * @flow:	state
 * @loop:	event loop
 * @wake:	called when flow_ready() may say yes again
 * @arg:	for @wake
 */
void flow_init(struct flow *flow, struct loop *loop, void (*wake)(void *arg),
	       void *arg);

/** flow_reset() - start again, with nothing known about the network and the path */
void flow_reset(struct flow *flow);

/** flow_set_mtu() - the path MTU, bytes */
void flow_set_mtu(struct flow *flow, uint32_t mtu);

/**
 * flow_set_rate() - how fast it may send at most, from now on
 * @flow:	state
 * @rate:	kbit/s, 0 = without a limit
 * @max_burst:	bytes that may leave at once after a pause, 0 = what leaves in a millisecond
 */
void flow_set_rate(struct flow *flow, uint32_t rate, uint32_t max_burst);

/** flow_set_wire() - do packets leave memory? */
void flow_set_wire(struct flow *flow, bool on_wire);

/** flow_is_free() - is nothing ever held back? */
static inline bool flow_is_free(const struct flow *flow)
{
	return !flow->on_wire && !flow->rate;
}

/** flow_window() - bytes that may be under way; no bound without a wire */
static inline uint64_t flow_window(const struct flow *flow)
{
	return flow->on_wire ? flow->window : UINT64_MAX;
}

/** flow_stop() - no timer */
void flow_stop(struct flow *flow);

/**
 * flow_ready() - may a packet be sent now?
 * @flow:	state
 * @kind:	what for
 *
 * Return: false if not; there is a call of @wake when it may.
 */
bool flow_ready(struct flow *flow, enum flow_kind kind);

/**
 * flow_sent() - a packet with payload was sent
 * @flow:	state
 * @kind:	as asked for
 * @pkt:	the packet
 */
void flow_sent(struct flow *flow, enum flow_kind kind, const struct pkt *pkt);

/** flow_arrived() - @bytes that were under way on a wire have arrived */
void flow_arrived(struct flow *flow, uint64_t bytes);

/** flow_asked() - a READ asks for @bytes, for the first time */
void flow_asked(struct flow *flow, uint64_t bytes);

/** flow_congested() - the network has shown a sign of congestion */
void flow_congested(struct flow *flow, enum flow_sign sign);

/**
 * flow_cnp_due() - a packet has come whose header tells of congestion
 * @flow:	state
 *
 * Return: true if the sender shall be told now: a CNP is to be sent.
 */
bool flow_cnp_due(struct flow *flow);

/** flow_io() - save or load it; the MTU and the rate are set already; without the timer */
void flow_io(struct state *st, struct flow *flow);

#endif /* DEVICE_RDMA_QP_FLOW_H */
