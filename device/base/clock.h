/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The clock by which it is measured how long something took.
 */
#ifndef DEVICE_CLOCK_H
#define DEVICE_CLOCK_H

#include <stdint.h>
#include <time.h>

/** CLOCK_NS_PER_S - nanoseconds of a second */
#define CLOCK_NS_PER_S	1000000000ULL

/** clock_ns() - the time now; loop_now() is for what happens within the loop */
static inline uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * CLOCK_NS_PER_S + ts.tv_nsec;
}

/** clock_ms_since() - milliseconds that have passed since @began, of clock_ns() */
static inline double clock_ms_since(uint64_t began)
{
	return (double)(clock_ns() - began) / 1e6;
}

#endif /* DEVICE_CLOCK_H */
