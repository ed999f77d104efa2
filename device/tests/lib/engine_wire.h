/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A transport that loses, repeats, reorders, delays and marks packets of one MTU
 * each, as a wire would.
 */
#ifndef DEVICE_TESTS_ENGINE_WIRE_H
#define DEVICE_TESTS_ENGINE_WIRE_H

#include <stdint.h>

#include "tests/lib/engine_guest.h"

/**
 * struct eg_wire_fate - what happens to packets, and what has happened
 * @lose:	of a thousand, those that get lost, or arrive with a bad ICRC
 * @repeat:	of a thousand, those that arrive twice
 * @reorder:	of a thousand, those that overtake the one before
 * @seed:	of the random numbers that decide
 * @cut:	lose all requests (1), all responses (2), or all (3)
 * @plain:	answers to READs do not say that they are what was sent first, as those of others
 * @latency:	ns that a packet is under way
 * @mbps:	bandwidth of each direction, 0 = unlimited
 * @queue:	bytes that may wait for bandwidth; what does not fit is lost
 * @mark:	packets are marked while more bytes than this wait for bandwidth
 * @sent:	packets sent
 * @lost:	packets lost
 * @bytes:	payload sent, in requests and in responses
 * @most:	largest number of payload bytes under way at a time
 */
struct eg_wire_fate {
	uint32_t lose;
	uint32_t repeat;
	uint32_t reorder;
	uint32_t seed;
	uint32_t cut;
	bool plain;
	uint64_t latency;
	uint64_t mbps;
	uint64_t queue;
	uint64_t mark;
	unsigned int sent;
	unsigned int lost;
	uint64_t bytes[2];
	uint64_t most;
};

/* Ethernet, IPv4, UDP, BTH, ICRC. */
#define EG_WIRE_OVERHEAD	58u

extern struct eg_wire_fate eg_wire;

/** eg_wire_use() - let an engine use the wire, without faults at first */
void eg_wire_use(struct engine *engine);

/**
 * eg_wire_run() - poll, deliver, let time pass
 * @engine:	engine
 * @ns:		end when only timers have run for so long
 */
void eg_wire_run(struct engine *engine, uint64_t ns);

/** eg_wire_for() - poll and deliver for @ns */
void eg_wire_for(struct engine *engine, uint64_t ns);

/** eg_wire_deliver() - deliver one packet; false if none has arrived */
bool eg_wire_deliver(void);

/** eg_wire_drop() - lose all that is under way */
void eg_wire_drop(void);

/** eg_wire_teardown() - cmocka fixture: lose all that is under way, then eg_teardown() */
int eg_wire_teardown(void **state);

/** eg_wire_connect() - RC, as eg_connect(), with retries for a path that loses much */
void eg_wire_connect(struct eg_end *a, struct eg_end *b, uint8_t mtu);

#endif /* DEVICE_TESTS_ENGINE_WIRE_H */
