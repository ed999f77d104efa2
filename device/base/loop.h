/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The daemon's event loop: one thread, epoll, one-shot timers and pollers.
 *
 * After an event the loop calls the pollers round after round for as long as one
 * of them finds work and for a short while beyond, then lets them ask for
 * doorbells again and sleeps.  How short that while is depends on how soon work
 * has come lately.
 *
 * While others have work, a poller that has had none for a while sleeps alone.
 */
#ifndef DEVICE_LOOP_H
#define DEVICE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct chores;
struct loop;

/**
 * struct loop_timer - a one-shot timer, embedded in what it belongs to
 * @fn:		called when it is due
 * @arg:	for @fn
 * @due:	monotonic time in ns; 0 while it is not set
 * @slot:	of the loop
 */
struct loop_timer {
	void (*fn)(void *arg);
	void *arg;
	uint64_t due;
	unsigned int slot;
};

/**
 * struct loop_fd - a file descriptor that the loop watches
 * @fd:		the descriptor, owned by the caller
 * @fn:		called with the epoll events that are pending
 * @arg:	for @fn
 * @loop:	of loop_fd_rest()
 * @rest:	ends that; set while it lasts
 *
 * The last two are zeroes at first.
 */
struct loop_fd {
	int fd;
	void (*fn)(void *arg, uint32_t events);
	void *arg;
	struct loop *loop;
	struct loop_timer rest;
};

/**
 * struct loop_poller - something that may have work without an event
 * @poll:	do a bounded amount of work; return true if there was any
 * @sleep:	the loop is about to sleep: ask for doorbells.  Return true if
 *		work turned up meanwhile, and the loop stays awake
 * @wake:	it is called from now on: doorbells are not needed
 * @may_sleep:	may it sleep alone?  Then it is not called before loop_poller_wake(), whatever
 *		happens.  Asked when it has had no work for a while; NULL: never
 * @arg:	for the four
 * @asleep:	of the loop: it sleeps alone
 * @worked:	of the loop: when it had work last
 * @order:	of the loop: those with more come first
 * @entry:	of the loop
 */
struct loop_poller {
	bool (*poll)(void *arg);
	bool (*sleep)(void *arg);
	void (*wake)(void *arg);
	bool (*may_sleep)(void *arg);
	void *arg;
	bool asleep;
	uint64_t worked;
	uint64_t order;
	TAILQ_ENTRY(loop_poller) entry;
};

/**
 * loop_new() - make a loop
 * @poll_us:	how long to look for work before sleeping, at most, microseconds
 *
 * Return: the loop, or NULL with errno set.
 */
struct loop *loop_new(unsigned int poll_us);

/** loop_free() - do its chores, and free it; fds, timers and pollers are the callers' */
void loop_free(struct loop *loop);

/** loop_run() - run until loop_stop(); returns 0 or -errno */
int loop_run(struct loop *loop);

/** loop_stop() - make loop_run() return after the present round */
void loop_stop(struct loop *loop);

/** loop_rouse() - wake up: all pollers look for work once, at least, without an event */
void loop_rouse(struct loop *loop);

/** loop_resume() - the time that has passed since the last round was a pause, all of it */
void loop_resume(struct loop *loop);

/** loop_now() - time of this round in ns, without pauses of the process */
uint64_t loop_now(const struct loop *loop);

/**
 * loop_fd_add() - watch a file descriptor
 * @loop:	loop
 * @lfd:	descriptor and callback; stays the caller's until loop_fd_del()
 * @events:	EPOLLIN, EPOLLOUT …, level-triggered
 *
 * Return: 0 or -errno.
 */
int loop_fd_add(struct loop *loop, struct loop_fd *lfd, uint32_t events);

/** loop_fd_set() - from now on wait for @events instead; 0 or -errno */
int loop_fd_set(struct loop *loop, struct loop_fd *lfd, uint32_t events);

/**
 * loop_fd_rest() - do not watch for a while, because EPOLLIN would come again at once
 * @loop:	loop
 * @lfd:	descriptor that is watched for EPOLLIN
 * @ns:		how long; then it is watched for EPOLLIN again
 */
void loop_fd_rest(struct loop *loop, struct loop_fd *lfd, uint64_t ns);

/** loop_fd_del() - stop watching; no callback comes after it, even if pending */
void loop_fd_del(struct loop *loop, struct loop_fd *lfd);

/**
 * loop_timer_set() - set a timer, or change when it expires
 * @loop:	loop
 * @timer:	timer with @fn and @arg filled in and zeroes else
 * @ns:		from now
 */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t ns);

/**
 * loop_timer_at_least() - the same, but it does not expire early
 * @loop:	loop
 * @timer:	as of loop_timer_set()
 * @ns:		from this very moment, not from the beginning of the round
 */
void loop_timer_at_least(struct loop *loop, struct loop_timer *timer, uint64_t ns);

/** loop_timer_cancel() - unset a timer; harmless if it is not set */
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

/**
 * loop_turn_is_over() - have others waited for as long as they may?
 * @loop:	loop
 *
 * For a poller with much work, which had better go on in the next round then.
 */
bool loop_turn_is_over(const struct loop *loop);

/** loop_chores() - what is to be cleared away bit by bit, for chore_add() */
struct chores *loop_chores(struct loop *loop);

/** loop_poller_add() - start calling a poller; the fields of the loop are zeroes */
void loop_poller_add(struct loop *loop, struct loop_poller *poller);

/** loop_poller_del() - stop calling a poller; may be called by a poller */
void loop_poller_del(struct loop *loop, struct loop_poller *poller);

/**
 * loop_awake() - pollers that may sleep alone and do not
 * @loop:	loop
 *
 * Return: how many there are: those that have had work in the last millisecond, or so.
 */
unsigned int loop_awake(const struct loop *loop);

/** loop_poller_wake_up() - loop_poller_wake() for one that sleeps alone */
void loop_poller_wake_up(struct loop *loop, struct loop_poller *poller);

/**
 * loop_poller_wake() - there may be work for a poller, of which no other event tells
 * @loop:	loop
 * @poller:	poller; if it sleeps alone it does not any more
 *
 * Wherever this is called, the poller is called before the loop sleeps.
 */
static inline void loop_poller_wake(struct loop *loop, struct loop_poller *poller)
{
	if (poller->asleep)
		loop_poller_wake_up(loop, poller);
}

#endif /* DEVICE_LOOP_H */
