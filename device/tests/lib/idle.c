// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Running a loop until it has no work.
 *
 * Theory of operation
 *
 * A loop that goes to sleep has no work.  A poller of ours learns of that, and of it
 * that the loop was woken again before it looked for events once more.  That look takes
 * no time, because a timer of ours is due.  The timer ends the run if the loop still
 * sleeps then.  So nothing here is measured by a clock, but for the deadline of what
 * never ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/loop.h"
#include "tests/lib/idle.h"

/* Only what has failed takes so long. */
#define DEADLINE_S	60

/* How often run_until() looks. */
#define LOOK_NS		100000

/**
 * struct idle - a run
 * @loop:	loop
 * @poller:	learns that the loop sleeps
 * @timer:	first wakes the loop, then ends the run
 * @asleep:	the loop sleeps
 * @done:	of run_until(): ends the run, or NULL
 * @arg:	for @done
 * @end:	when the run has failed, by the clock
 * @ok:		it has not
 */
struct idle {
	struct loop *loop;
	struct loop_poller poller;
	struct loop_timer timer;
	bool asleep;
	bool (*done)(void *arg);
	void *arg;
	time_t end;
	bool ok;
};

static time_t seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static bool idle_poll(void *arg)
{
	struct idle *idle = arg;

	if (seconds() < idle->end)
		return false;
	idle->ok = false;
	loop_stop(idle->loop);
	return false;
}

static bool idle_sleep(void *arg)
{
	struct idle *idle = arg;

	idle->asleep = true;
	if (!idle->done)
		loop_timer_set(idle->loop, &idle->timer, 1);
	return false;
}

static void idle_wake(void *arg)
{
	struct idle *idle = arg;

	idle->asleep = false;
}

static void idle_timer(void *arg)
{
	struct idle *idle = arg;

	if (idle->done) {
		idle_poll(idle);
		if (idle->done(idle->arg))
			loop_stop(idle->loop);
		else
			loop_timer_set(idle->loop, &idle->timer, LOOK_NS);
	} else if (idle->asleep) {
		loop_stop(idle->loop);
	}
}

static void idle_run(struct idle *idle)
{
	idle->poller = (struct loop_poller) {
		.poll = idle_poll,
		.sleep = idle_sleep,
		.wake = idle_wake,
		.arg = idle,
	};
	idle->timer = (struct loop_timer) { .fn = idle_timer, .arg = idle };
	idle->end = seconds() + DEADLINE_S;
	idle->ok = true;
	loop_poller_add(idle->loop, &idle->poller);
	/* Tests queue without ringing.  So all pollers are called, also those that sleep alone. */
	loop_rouse(idle->loop);
	loop_timer_set(idle->loop, &idle->timer, 1);
	assert_int_equal(loop_run(idle->loop), 0);
	loop_timer_cancel(idle->loop, &idle->timer);
	loop_poller_del(idle->loop, &idle->poller);
}

void run_idle(struct loop *loop)
{
	struct idle idle = { .loop = loop };

	idle_run(&idle);
	assert_true(idle.ok);
}

bool run_until(struct loop *loop, bool (*done)(void *arg), void *arg)
{
	struct idle idle = { .loop = loop, .done = done, .arg = arg };

	idle_run(&idle);
	return idle.ok;
}
