/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two guests of a daemon of its own that play ping-pong over RC, and a third one.
 *
 * $SANDBOXED is the path of the daemon.  The guests are the test's thread.
 */
#ifndef DEVICE_TESTS_PINGPONG_H
#define DEVICE_TESTS_PINGPONG_H

#include <sys/types.h>

#include "tests/lib/front.h"

#define PP_GUESTS	3

/**
 * struct pp_sched - what the scheduler counts of a thread, in ns
 * @ran:	it had a CPU
 * @waited:	it waited for one that others had
 */
struct pp_sched {
	uint64_t ran;
	uint64_t waited;
};

/**
 * struct pingpong - the daemon and its guests
 * @dir:	folder of the sockets
 * @path:	sockets
 * @pid:	the daemon
 * @sched:	/proc/…/schedstat of the daemon and of this thread
 * @guest:	A and B; C is the test's affair
 * @end:	the ends of the connection of A and B
 * @ping:	device address of what A and B send and receive
 * @lkey:	key of that
 * @last:	what the scheduler counted of the daemon and of this thread in the last ping
 */
struct pingpong {
	char dir[32];
	char path[PP_GUESTS][64];
	pid_t pid;
	int sched[2];
	struct front guest[PP_GUESTS];
	struct front_qp end[2];
	uint64_t ping[2];
	uint32_t lkey[2];
	struct pp_sched last[2];
};

extern struct pingpong pp;

/** pp_start() - start the daemon with further options up to NULL, A and B; connect them */
void pp_start(char *const *options, uint64_t features);

/** pp_stop() - end them */
void pp_stop(void);

/** pp_now() - time in ns */
uint64_t pp_now(void);

/** pp_pd() - a protection domain of a guest */
uint32_t pp_pd(struct front *front);

/**
 * pp_ping() - there and back
 * @took:	set to how long it took, in ns
 *
 * Return: false if the daemon or this thread waited for a CPU that others had, as the
 *	   scheduler counts it: other processes are not what is measured.
 */
bool pp_ping(uint64_t *took);

#endif /* DEVICE_TESTS_PINGPONG_H */
