// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The best that the machine can do: two threads and a cache line, memcpy(), eventfds.
 */
#include "tests/bench/bare.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#define LINE		64
#define PINGS		2000u
#define RUNS		50u
#define WAKES		2000u
#define COPY_BYTES	(64ul << 20)
#define COPY_RUNS	8u

double bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_percentile(double *value, unsigned int n, double part)
{
	unsigned int i = n * part;

	qsort(value, n, sizeof(*value), by_size);
	return value[i < n ? i : n - 1];
}

/* ------------------------------------------------------------------------- */
/* A cache line                                                              */
/* ------------------------------------------------------------------------- */

/**
 * struct lines - what two threads tell each other
 * @there:	written by the first
 * @back:	written by the second
 */
struct lines {
	_Alignas(LINE) uint64_t there;
	_Alignas(LINE) uint64_t back;
};

static void wait_for(const uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		__builtin_ia32_pause();
}

static void *line_echo(void *arg)
{
	struct lines *lines = arg;
	uint64_t i;

	for (i = 1; i <= (uint64_t)PINGS * RUNS; i++) {
		wait_for(&lines->there, i);
		__atomic_store_n(&lines->back, i, __ATOMIC_RELEASE);
	}
	return NULL;
}

double bare_line_us(void)
{
	static struct lines lines;
	double best = 0, begin, one;
	pthread_t thread;
	uint64_t i = 0;
	unsigned int r;

	lines = (struct lines) {};
	if (pthread_create(&thread, NULL, line_echo, &lines))
		abort();
	for (r = 0; r < RUNS; r++) {
		begin = bench_now();
		while (i < (uint64_t)PINGS * (r + 1)) {
			__atomic_store_n(&lines.there, ++i, __ATOMIC_RELEASE);
			wait_for(&lines.back, i);
		}
		one = (bench_now() - begin) / PINGS / 2 * 1e6;
		if (!best || one < best)
			best = one;
	}
	pthread_join(thread, NULL);
	return best;
}

/* ------------------------------------------------------------------------- */
/* Copies                                                                    */
/* ------------------------------------------------------------------------- */

double bare_copy(void *to, const void *from, size_t len)
{
	double best = 0, begin, one;
	unsigned int r;
	size_t done;

	for (r = 0; r < COPY_RUNS; r++) {
		begin = bench_now();
		for (done = 0; done < COPY_BYTES; done += len) {
			memcpy(to, from, len);
			__asm__ volatile("" : : : "memory");
		}
		one = done / (bench_now() - begin);
		if (one > best)
			best = one;
	}
	return best;
}

/* ------------------------------------------------------------------------- */
/* Wake-ups                                                                  */
/* ------------------------------------------------------------------------- */

/**
 * struct wakes - two threads that wake each other
 * @there:	eventfd that wakes the second one
 * @back:	eventfd that wakes the first one
 */
struct wakes {
	int there;
	int back;
};

static void *wakes_echo(void *arg)
{
	const struct wakes *wakes = arg;
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);
	eventfd_t value;
	unsigned int i;

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, wakes->there, &event))
		abort();
	for (i = 0; i < WAKES; i++) {
		if (epoll_wait(epoll, &event, 1, -1) != 1 ||
		    eventfd_read(wakes->there, &value) || eventfd_write(wakes->back, 1))
			abort();
	}
	return NULL;
}

double bare_wakes_us(void)
{
	static double one[WAKES];
	struct wakes wakes = { eventfd(0, 0), eventfd(0, 0) };
	struct pollfd back = { .fd = wakes.back, .events = POLLIN };
	pthread_t thread;
	eventfd_t value;
	double begin;
	unsigned int i;

	if (pthread_create(&thread, NULL, wakes_echo, &wakes))
		abort();
	for (i = 0; i < WAKES; i++) {
		begin = bench_now();
		if (eventfd_write(wakes.there, 1) || poll(&back, 1, -1) != 1 ||
		    eventfd_read(wakes.back, &value))
			abort();
		one[i] = (bench_now() - begin) * 1e6;
	}
	pthread_join(thread, NULL);
	return bench_percentile(one, WAKES, 0.5);
}
