/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The best that the machine can do, to compare with.
 */
#ifndef DEVICE_TESTS_BENCH_BARE_H
#define DEVICE_TESTS_BENCH_BARE_H

#include <stddef.h>

/** bench_now() - seconds since some time */
double bench_now(void);

/** bench_percentile() - the value that @part of @n values are below; sorts them */
double bench_percentile(double *value, unsigned int n, double part);

/** bare_line_us() - microseconds from a store of one thread to its sight by another */
double bare_line_us(void);

/** bare_copy() - bytes in a second that memcpy() copies from @from to @to, @len at a time */
double bare_copy(void *to, const void *from, size_t len);

/**
 * bare_wakes_us() - microseconds of two wake-ups in a row
 *
 * One thread sleeps in epoll_wait() and is woken by an eventfd, and then wakes the other
 * one, which sleeps in poll(): as daemon and program do it for an event.
 */
double bare_wakes_us(void);

#endif /* DEVICE_TESTS_BENCH_BARE_H */
