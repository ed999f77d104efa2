/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An event loop whose clock is set by the test.
 */
#ifndef DEVICE_TESTS_ENGINE_LOOP_H
#define DEVICE_TESTS_ENGINE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

/** engine_loop_advance() - let time pass and run the timers that come due */
void engine_loop_advance(struct loop *loop, uint64_t ns);

/** engine_loop_next() - ns until the first timer is due, or UINT64_MAX */
uint64_t engine_loop_next(const struct loop *loop);

/** engine_loop_timers() - number of timers that are set */
unsigned int engine_loop_timers(const struct loop *loop);

/* More than two: a turn of a NIC is small. */
#define ENGINE_LOOP_AWAKE	3

/* The return value of loop_awake(). */
extern unsigned int engine_loop_awake;

/** engine_loop_poll() - call each poller once; true if one had work */
bool engine_loop_poll(struct loop *loop);

#endif /* DEVICE_TESTS_ENGINE_LOOP_H */
