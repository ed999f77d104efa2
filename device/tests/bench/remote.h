/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The NIC of the engine's tests, in a daemon: what rnic.h declares goes there by
 * vhost-user, as QEMU would do it.
 */
#ifndef DEVICE_TESTS_BENCH_REMOTE_H
#define DEVICE_TESTS_BENCH_REMOTE_H

#include "tests/lib/engine_guest.h"

/* Guests that remote_guests() can add. */
#define REMOTE_GUESTS	62u

/** remote_daemon() - run @path with a socket for each guest of an engine, and more; its PID */
int remote_daemon(const char *path);

/** remote_daemon_end() - end it */
void remote_daemon_end(void);

/** remote_guests() - add guests whose queues run and that do nothing, %REMOTE_GUESTS of them */
void remote_guests(void);

/** remote_daemon_rss() - its resident memory, bytes */
size_t remote_daemon_rss(void);

/** remote_index() - virtqueue that is queue @number of its kind */
uint32_t remote_index(const struct rnic *rnic, enum rnic_queue kind, uint32_t number);

/** remote_kick() - ring for virtqueue @index */
void remote_kick(struct rnic *rnic, uint32_t index);

/** remote_call() - eventfd that interrupts for queue @number of its kind */
int remote_call(const struct rnic *rnic, enum rnic_queue kind, uint32_t number);

/** remote_kicks() - doorbells rung so far, of all queues */
unsigned int remote_kicks(const struct rnic *rnic);

#endif /* DEVICE_TESTS_BENCH_REMOTE_H */
