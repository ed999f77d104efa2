/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two guests of a daemon of its own that play ping-pong over RC, and a third one.
 *
 * $SANDBOXED is the path of the daemon.  The guests are the test's thread.
 */
#ifndef DEVICE_TESTS_PINGPONG_H
#define DEVICE_TESTS_PINGPONG_H

#include <sys/types.h>
#include <time.h>

#include "tests/lib/front.h"

#define PP_GUESTS	3

/* Pings of a block, and pairs of blocks of a test: more of them if all are bad. */
#define PP_PINGS	200
#define PP_PAIRS	3
#define PP_PAIRS_MOST	10

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
 * @clock:	CPU time of the daemon and of this thread
 * @sched:	/proc/…/schedstat of both
 * @guest:	A and B; C is the test's affair
 * @end:	the ends of the connection of A and B
 * @frames:	device address of what A and B receive frames in, 0 at first
 * @ping:	device address of what A and B send and receive
 * @lkey:	key of that
 * @stored:	descriptor that a service manager has stored, for daemons to come, or 0
 * @last:	what the scheduler counted of the daemon and of this thread in the last ping
 */
struct pingpong {
	char dir[32];
	char path[PP_GUESTS][64];
	pid_t pid;
	clockid_t clock[2];
	int sched[2];
	struct front guest[PP_GUESTS];
	struct front_qp end[2];
	uint64_t frames[2];
	uint64_t ping[2];
	uint32_t lkey[2];
	int stored;
	struct pp_sched last[2];
};

extern struct pingpong pp;

/** pp_start() - start the daemon with further options up to NULL, A and B; connect them */
void pp_start(char *const *options, uint64_t features);

/** pp_pair() - connect A and B, which are new or were reset, and let them receive frames */
void pp_pair(void);

/**
 * pp_spawn() - start a program with the options of the daemon
 * @program:	its path
 * @more:	further options up to NULL
 *
 * Return: its process.
 */
pid_t pp_spawn(const char *program, char *const *more);

/** pp_is() - from now on @pid is the daemon; the one before has ended */
void pp_is(pid_t pid);

/** pp_end() - the same as pp_stop() of a daemon that has ended, and whose sockets are gone */
void pp_end(void);

/** pp_stop() - end them */
void pp_stop(void);

/** pp_now() - time in ns */
uint64_t pp_now(void);

/*
 * So long a thread looks for what the daemon is to do next.  It is CPU time of the thread: the
 * daemon has as much of the machine as that has, so that a busy machine does not count.
 */
#define PP_LOOK_NS	20000000000ULL

/** pp_ran() - CPU time of this thread in ns */
uint64_t pp_ran(void);

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

/** pp_pause() - how long the daemon let the last ping wait, which took @took, while it ran */
uint64_t pp_pause(uint64_t took);

/**
 * pp_unit() - how quick the machine is at present
 *
 * Return: ns to copy a MiB.  A turn of a guest is bounded by its work, and costs a few of
 *	   these at most.
 */
uint64_t pp_unit(void);

/**
 * pp_block() - %PP_PINGS pings that did not wait for a processor, or fewer after 4 s
 * @again:	called before each, or NULL
 * @enough:	after so many, go on until this returns true; or NULL
 *
 * Return: p99 of the last of them, %PP_PINGS at most; of few ones that is the longest.
 */
uint64_t pp_block(void (*again)(void), bool (*enough)(void));

/**
 * struct pp_worse - how much worse pings are with noise
 * @alone:	p99 without
 * @noisy:	p99 with
 * @unit:	of pp_unit(), meanwhile
 *
 * A ping may wait for a turn of the guest that makes noise.  The cost of a turn does not
 * depend on how quick a ping is alone, so that this or the unit is the measure, whichever
 * is more.
 */
struct pp_worse {
	uint64_t alone;
	uint64_t noisy;
	uint64_t unit;
};

/**
 * pp_worse_add() - another pair of blocks
 * @worse:	zeroes at first; the pair for which the noise did least
 * @alone:	p99 without noise
 * @noisy:	p99 with noise
 *
 * A fault of the daemon shows in each pair.  The work of others on the machine does not.
 */
void pp_worse_add(struct pp_worse *worse, uint64_t alone, uint64_t noisy);

/** pp_worse_more() - after @n pairs, should there be another one? */
bool pp_worse_more(const struct pp_worse *worse, unsigned int n, unsigned int times);

/** pp_worse_expect() - print it; with noise it is @times times the measure at most */
void pp_worse_expect(const struct pp_worse *worse, const char *what, unsigned int times);

#endif /* DEVICE_TESTS_PINGPONG_H */
