/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Running a loop until it has no work, however long this process has to wait for a CPU.
 */
#ifndef DEVICE_TESTS_IDLE_H
#define DEVICE_TESTS_IDLE_H

#include <stdbool.h>

struct loop;

/**
 * run_idle() - run a loop until it would sleep, and no event waits either
 * @loop:	loop whose pollers have work, or whose descriptors have events
 *
 * Timers of others run if they are due by then, but are not waited for.
 */
void run_idle(struct loop *loop);

/**
 * run_until() - run a loop until what a timer or another process does is done
 * @loop:	loop
 * @done:	is it?
 * @arg:	for @done
 *
 * Return: false if that took longer than any machine needs.
 */
bool run_until(struct loop *loop, bool (*done)(void *arg), void *arg);

#endif /* DEVICE_TESTS_IDLE_H */
