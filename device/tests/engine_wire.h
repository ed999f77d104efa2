/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A transport that loses, repeats and reorders packets of one MTU each, as a
 * wire would.
 */
#ifndef DEVICE_TESTS_ENGINE_WIRE_H
#define DEVICE_TESTS_ENGINE_WIRE_H

#include <stdint.h>

#include "engine_guest.h"

/* What happens to a packet, in a thousandth each; and what has happened. */
struct eg_wire_fate {
	uint32_t lose;
	uint32_t repeat;
	uint32_t reorder;
	uint32_t seed;
	/* Lose all requests (1), or all responses (2). */
	uint32_t cut;
	unsigned int sent;
	unsigned int lost;
};

extern struct eg_wire_fate eg_wire;

/** eg_wire_use() - have an engine use it, as yet without any fault */
void eg_wire_use(struct engine *engine);

/**
 * eg_wire_run() - poll, deliver, let time pass
 * @engine:	engine
 * @ns:		end when nothing happens but timers for so long
 */
void eg_wire_run(struct engine *engine, uint64_t ns);

/** eg_wire_deliver() - deliver one packet; false if there is none */
bool eg_wire_deliver(void);

/** eg_wire_drop() - lose all that is under way */
void eg_wire_drop(void);

#endif /* DEVICE_TESTS_ENGINE_WIRE_H */
